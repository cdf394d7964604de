//! Executables: what a driver launches as one. An executable never overlaps itself, and reports to its stream; so each
//! stream has its own, with memory for temporaries that nobody else has.

use quadrants_ir::abi::LAUNCH_WORD;
use quadrants_rhi::FunctionHandle;
use quadrants_runtime::{self as rt, Buffer, GraphBuilder, NodeLaunch, Stamp};
use smallvec::SmallVec;

use super::{
    args::{Replaced, Replacements},
    record::{Behind, CapturedCopy, CapturedLaunch, Recorded, Work},
};
use crate::{
    Error, Result,
    launch::{block_head::write_head, prepared::PreparedLaunch, temporaries::StreamScratch},
    program::ProgramShared,
    stream::StreamState,
};

/// A graph has at most so many; the oldest makes room.
const EXECUTABLES: usize = 32;

/// The executables of a graph.
#[derive(Debug, Default)]
pub(super) struct Executables(Vec<Executable>);

/// A launch whose arguments are not those that were captured.
pub(super) struct Change<'a> {
    pub(super) op: usize,
    pub(super) launch: &'a CapturedLaunch,
    pub(super) prepared: PreparedLaunch,
}

#[derive(Debug)]
struct Executable {
    // First: its end waits for what uses the memory.
    graph: rt::Graph,
    stream: u32,
    /// Where its launches report.
    record: u64,
    /// Whether it can do what was captured.
    as_captured: bool,
    /// Of each launch.
    ops: Vec<Option<Nodes>>,
    has_memory: bool,
    /// Which operations are set to something else than what was captured, in order.
    changed: Vec<usize>,
    /// By which names, where they differ from what was captured in the words that were given alone; else 0.
    set_by: u64,
    /// An argument block under construction.
    words: Vec<u64>,
}

/// The nodes of an operation.
#[derive(Debug)]
struct Nodes {
    /// The first of its tasks with work; the others follow.
    first: usize,
    /// Those tasks, and their functions.
    functions: SmallVec<[(usize, FunctionHandle); 1]>,
    set: PreparedLaunch,
    /// Written by the launch before it is read.
    scratch: Option<Buffer>,
    /// The argument block, where it is not passed by value.
    block: Option<Buffer>,
}

impl Executables {
    /// Launches what was captured, with these changes.
    ///
    /// # Errors
    /// What the device returns: then nothing is enqueued that could be seen.
    pub(super) fn launch(
        &mut self,
        replaced: Replacements<'_>,
        after: &[Behind],
        changes: &[Change<'_>],
        stream: &StreamState,
    ) -> Result<()> {
        let at = match self.find(replaced.recorded, changes, stream) {
            Some(at) => at,
            None => self.make(replaced, after, changes, stream)?,
        };
        let executable = &mut self.0[at];
        let launched = executable.set_all(replaced, changes, stream).and_then(|()| {
            // SAFETY: the stream is live as long as its state; the graph's launch stamps what is used.
            let launched = unsafe { executable.graph.launch(stream.stream.handle()) };
            launched.map_err(Into::into)
        });
        if launched.is_err() {
            // What it is set to is not known.
            drop(self.0.remove(at));
        } else if self.0[at].has_memory {
            self.0[at].stamp(stream.stream.next_stamp());
        }
        launched
    }

    /// Launches what was captured with one call, where the last launch on the stream was that too; none where more is to
    /// be done, and nothing is enqueued.
    ///
    /// # Errors
    /// As for [`launch`](Self::launch).
    ///
    /// # Safety
    /// What the graph uses is stamped behind this.
    pub(super) unsafe fn launch_again(&mut self, stream: &StreamState) -> Option<Result<()>> {
        let (id, record) = (stream.stream.id(), stream.record_address());
        let at = self.0.iter().position(|known| known.is_as_captured(id, record))?;
        // SAFETY: the stream is live as long as its state; the rest is the caller's promise.
        let launched = unsafe { self.0[at].graph.launch(stream.stream.handle()) };
        if launched.is_err() {
            // As in `launch`.
            drop(self.0.remove(at));
        }
        Some(launched.map_err(Into::into))
    }

    /// They have other edges than the graph.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    fn find(
        &self,
        recorded: &Recorded,
        changes: &[Change<'_>],
        stream: &StreamState,
    ) -> Option<usize> {
        let plain = changes.iter().all(Change::is_like_captured);
        let (id, record) = (stream.stream.id(), stream.record_address());
        self.0.iter().position(|executable| {
            let serves = || {
                recorded.launches().all(|(at, launch)| {
                    let nodes = executable.ops[at].as_ref();
                    nodes.is_some_and(|nodes| nodes.set.is_like(wanted(launch, changes, at)))
                })
            };
            executable.stream == id
                && executable.record == record
                && if plain { executable.as_captured } else { serves() }
        })
    }

    #[cold]
    fn make(
        &mut self,
        replaced: Replacements<'_>,
        after: &[Behind],
        changes: &[Change<'_>],
        stream: &StreamState,
    ) -> Result<usize> {
        let (id, record) = (stream.stream.id(), stream.record_address());
        // Those of a stream that is gone, whose number this one has.
        self.0.retain(|old| old.stream != id || old.record == record);
        if self.0.len() == EXECUTABLES {
            self.0.remove(0);
        }
        let made = Executable::new(replaced, after, changes, stream)?;
        tracing::debug!(nodes = made.graph.len(), stream = id, "captured graph");
        self.0.push(made);
        Ok(self.0.len() - 1)
    }
}

impl Executable {
    fn new(
        replaced: Replacements<'_>,
        after: &[Behind],
        changes: &[Change<'_>],
        stream: &StreamState,
    ) -> Result<Self> {
        let recorded = replaced.recorded;
        let shared = &recorded.program.shared;
        let mut builder = GraphBuilder::new(&shared.context)?;
        let mut ops = Vec::with_capacity(recorded.ops.len());
        // Behind which nodes each operation is over.
        let mut ends: Vec<Behind> = Vec::with_capacity(recorded.ops.len());
        for (at, op) in recorded.ops.iter().enumerate() {
            let mut before = Behind::new();
            for &end in after[at].iter().flat_map(|&earlier| &ends[earlier]) {
                if !before.contains(&end) {
                    before.push(end);
                }
            }
            let (nodes, end) = match &op.work {
                Work::Launch(launch) => {
                    let mut wanted = wanted(launch, changes, at).clone();
                    if let Some(replaced) = replaced.get(at) {
                        replaced.put(&mut wanted.words, 0);
                    }
                    let (nodes, end) =
                        Nodes::new(&mut builder, recorded, launch, wanted, before, stream)?;
                    (Some(nodes), end)
                }
                Work::Copy(copy) => (None, copy_nodes(&mut builder, copy, before)?),
            };
            ends.push(end);
            ops.push(nodes);
        }
        let has_memory = ops.iter().flatten().any(|nodes: &Nodes| nodes.memory().next().is_some());
        Ok(Self {
            graph: builder.finish()?,
            stream: stream.stream.id(),
            record: stream.record_address(),
            as_captured: changes.iter().all(Change::is_like_captured),
            has_memory,
            ops,
            changed: replaced.ops().collect(),
            set_by: if changes.is_empty() { replaced.named.number } else { 0 },
            words: Vec::new(),
        })
    }

    /// Whether a launch on that stream, as it was captured, is one call of the driver.
    fn is_as_captured(&self, stream: u32, record: u64) -> bool {
        self.stream == stream
            && self.record == record
            && self.as_captured
            && self.changed.is_empty()
            && !self.has_memory
    }

    /// Sets all operations to what they shall do.
    fn set_all(
        &mut self,
        replaced: Replacements<'_>,
        changes: &[Change<'_>],
        stream: &StreamState,
    ) -> Result<()> {
        let (recorded, number) = (replaced.recorded, replaced.named.number);
        let before = std::mem::take(&mut self.set_by);
        if changes.is_empty() && number != 0 && number == before {
            // They differ from what is wanted in nothing else.
            for named in &replaced.named.launches {
                let Some(nodes) = &mut self.ops[named.op] else { continue };
                if named.put(replaced.given, &mut nodes.set.words, 0) {
                    self.set_nodes(recorded, named.op, true, stream)?;
                }
            }
            self.set_by = number;
            return Ok(());
        }
        for at in 0..self.changed.len() {
            let op = self.changed[at];
            if let (None, Some(launch)) = (replaced.get(op), recorded.ops[op].launch()) {
                self.set(recorded, op, &launch.prepared, None, stream)?;
            }
        }
        self.changed.clear();
        for replaced in replaced.iter() {
            let (op, launch) = (replaced.op, replaced.launch);
            let wanted = wanted(launch, changes, op);
            self.set(recorded, op, wanted, Some(replaced), stream)?;
            self.changed.push(op);
        }
        if changes.is_empty() {
            self.set_by = number;
        }
        Ok(())
    }

    fn set(
        &mut self,
        recorded: &Recorded,
        op: usize,
        wanted: &PreparedLaunch,
        replaced: Option<Replaced<'_>>,
        stream: &StreamState,
    ) -> Result<()> {
        let Some(nodes) = &mut self.ops[op] else { return Ok(()) };
        let same_shapes = nodes.set.shapes == wanted.shapes;
        self.words.clear();
        self.words.extend_from_slice(&wanted.words[LAUNCH_WORD..]);
        if let Some(replaced) = replaced {
            replaced.put(&mut self.words, LAUNCH_WORD);
        }
        if same_shapes && nodes.set.words[LAUNCH_WORD..] == self.words[..] {
            return Ok(());
        }
        nodes.set.words.truncate(LAUNCH_WORD);
        nodes.set.words.extend_from_slice(&self.words);
        nodes.set.shapes.clone_from(&wanted.shapes);
        self.set_nodes(recorded, op, same_shapes, stream)
    }

    /// Tells the driver what an operation's nodes are set to.
    fn set_nodes(
        &mut self,
        recorded: &Recorded,
        op: usize,
        same_shapes: bool,
        stream: &StreamState,
    ) -> Result<()> {
        let Some(nodes) = &self.ops[op] else { return Ok(()) };
        let address;
        let args = match &nodes.block {
            None => &nodes.set.words[..],
            Some(block) => {
                nodes.put(&recorded.program.shared, block, stream)?;
                if same_shapes {
                    return Ok(());
                }
                address = [block.address().raw()];
                &address
            }
        };
        for (at, &(task, function)) in nodes.functions.iter().enumerate() {
            let Some(config) = nodes.set.shapes[task] else { continue };
            // SAFETY: as where the node was made.
            let set =
                unsafe { self.graph.set(nodes.first + at, NodeLaunch { function, config, args }) };
            if let Err(source) = set {
                return Err(recorded.failed(op, source));
            }
        }
        Ok(())
    }

    fn stamp(&self, stamp: Stamp) {
        self.ops
            .iter()
            .flatten()
            .flat_map(Nodes::memory)
            .for_each(|memory| memory.stamp_write(stamp));
    }
}

impl Nodes {
    /// A launch's nodes behind others, and those behind which it is over.
    fn new(
        builder: &mut GraphBuilder,
        recorded: &Recorded,
        launch: &CapturedLaunch,
        mut set: PreparedLaunch,
        mut before: Behind,
        stream: &StreamState,
    ) -> Result<(Self, Behind)> {
        let shared = &recorded.program.shared;
        let context = recorded.context(launch);
        let scratch = match context.scratch_bytes() {
            0 => None,
            // SAFETY: read by the kernel alone, which writes each temporary before it uses it.
            bytes => Some(unsafe { Buffer::uninit(&shared.context, bytes)? }),
        };
        let temporaries = scratch.as_ref().map_or(0, |memory| memory.address().raw());
        let launch_word = set.words[LAUNCH_WORD];
        write_head(&mut set.words, stream.record_address(), temporaries, launch_word);
        let block = match context.by_buffer() {
            true => Some(Buffer::from_bytes(&shared.context, &bytes_of(&set.words))?),
            false => None,
        };
        let address = block.as_ref().map(|block| [block.address().raw()]);
        let args = address.as_ref().map_or(&set.words[..], |address| &address[..]);
        let first = builder.len();
        let mut functions = SmallVec::new();
        for step in context.steps() {
            let mut over = Behind::new();
            for chain in step {
                let mut last: Option<usize> = None;
                for &task in chain {
                    let Some(config) = set.shapes[task.index()] else { continue };
                    let function = context.function(shared, set.form, task)?;
                    functions.push((task.index(), function));
                    let behind = last.as_ref().map_or(&before[..], std::slice::from_ref);
                    let launch = NodeLaunch { function, config, args };
                    // SAFETY: the graph keeps the kernel, and so its functions; the block is the kernel's.
                    last = Some(unsafe { builder.launch(behind, launch)? });
                }
                over.extend(last);
            }
            if !over.is_empty() {
                before = over;
            }
        }
        Ok((Self { first, functions, set, scratch, block }, before))
    }

    fn memory(&self) -> impl Iterator<Item = &Buffer> {
        self.scratch.iter().chain(&self.block)
    }

    /// Writes the argument block behind the launches that read it.
    fn put(&self, shared: &ProgramShared, block: &Buffer, stream: &StreamState) -> Result<()> {
        let words = &self.set.words;
        let staged = StreamScratch::stage(stream, words)?;
        // SAFETY: the block has as many bytes as the longest form; the staged words stay until the copy is complete.
        let copied = unsafe {
            let device = shared.context.device();
            let (from, bytes) = (staged.as_ptr(), size_of_val(&words[..]));
            device.copy_htod_async(block.address(), from, bytes, stream.stream.handle())
        };
        Ok(shared.context.observe(copied)?)
    }
}

impl Change<'_> {
    fn is_like_captured(&self) -> bool {
        self.prepared.is_like(&self.launch.prepared)
    }
}

/// The nodes of a copy behind others, and those behind which it is over.
fn copy_nodes(builder: &mut GraphBuilder, copy: &CapturedCopy, before: Behind) -> Result<Behind> {
    let mut over = Behind::new();
    for span in &copy.spans {
        let (dst, src) =
            (copy.to.address().offset(span.device), copy.from.address().offset(span.host));
        // SAFETY: the graph keeps both buffers, which have the bytes, and are two.
        over.push(unsafe { builder.copy(&before, dst, src, span.bytes)? });
    }
    Ok(if over.is_empty() { before } else { over })
}

/// What a launch shall do.
fn wanted<'a>(
    launch: &'a CapturedLaunch,
    changes: &'a [Change<'_>],
    op: usize,
) -> &'a PreparedLaunch {
    change_of(changes, op).map_or(&launch.prepared, |change| &change.prepared)
}

/// What is changed of an operation. They are in order.
pub(super) fn change_of<'a, 'b>(changes: &'a [Change<'b>], op: usize) -> Option<&'a Change<'b>> {
    let at = changes.binary_search_by_key(&op, |change| change.op).ok()?;
    changes.get(at)
}

impl Recorded {
    /// What went wrong at the device with an operation.
    #[cold]
    fn failed(&self, op: usize, source: rt::Error) -> Error {
        match self.ops[op].launch() {
            Some(launch) => self.context(launch).failed(source),
            None => source.into(),
        }
    }
}

fn bytes_of(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_ne_bytes()).collect()
}
