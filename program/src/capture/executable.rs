//! Executable graphs. An executable cannot run concurrently with itself, and it reports to one stream's error record;
//! so each stream has its own, with temporaries of its own.

use quadrants_ir::abi::LAUNCH_WORD;
use quadrants_rhi::FunctionHandle;
use quadrants_runtime::{self as rt, Buffer, GraphBuilder, NodeLaunch, Stamp};
use smallvec::SmallVec;

use super::{
    args::{ReplacedLaunch, Replacements},
    recorded::{CapturedCopy, CapturedLaunch, Dependencies, Recorded, RecordedWork},
};
use crate::{
    Error, Result,
    launch::prepared::PreparedLaunch,
    launcher::argument_head::write_head,
    profile::{
        origin::{GraphGuard, OriginGuard},
        session::GraphContents,
        timeline::{GraphNode, SpanKind},
    },
    state::StreamState,
};

/// The largest number of executables of a graph; the oldest is evicted.
const EXECUTABLES: usize = 32;

#[derive(Debug, Default)]
pub(super) struct Executables(Vec<Executable>);

/// A launch that was decided again, because arguments were replaced that the decision depends on.
pub(super) struct Change<'a> {
    pub(super) op: usize,
    pub(super) launch: &'a CapturedLaunch,
    pub(super) prepared: PreparedLaunch,
}

#[derive(Debug)]
struct Executable {
    // First: its drop waits for the work that uses the memory.
    graph: rt::Graph,
    stream: u32,
    /// The address of the error record that its launches report to.
    record: u64,
    /// Whether its nodes are those of the captured launches.
    as_captured: bool,
    /// The nodes of each operation; none of a copy.
    ops: Vec<Option<Nodes>>,
    has_memory: bool,
    /// The operations that are set to something else than what was captured, in order.
    changed: Vec<usize>,
    /// The names whose given words are the only difference to what was captured; 0 where that does not hold.
    set_for_names: u64,
    /// Reused for building argument blocks.
    words: Vec<u64>,
}

#[derive(Debug)]
struct Nodes {
    /// The node of its first task with iterations; those of the other tasks follow.
    first: usize,
    /// The tasks with iterations, and their functions.
    functions: SmallVec<[(usize, FunctionHandle); 1]>,
    set: PreparedLaunch,
    temporaries: Option<Buffer>,
    /// The argument buffer, where the argument block is not passed by value.
    block: Option<Buffer>,
}

impl Executables {
    /// Launches the captured operations with replaced arguments. `is_ordinary` is whether the context was
    /// [ordinary](rt::Context::is_ordinary).
    ///
    /// # Errors
    /// Errors of the device; then nothing with visible effects is enqueued.
    pub(super) fn launch(
        &mut self,
        replacements: Replacements<'_>,
        after: &[Dependencies],
        changes: &[Change<'_>],
        stream: &StreamState,
        is_ordinary: bool,
    ) -> Result<()> {
        let at = match self.find(replacements.recorded, changes, stream) {
            Some(at) => at,
            None => self.make(replacements, after, changes, stream)?,
        };
        let executable = &mut self.0[at];
        let launched = executable.set_all(replacements, changes, stream).and_then(|()| {
            let handle = stream.stream.handle();
            let launched = if is_ordinary {
                // SAFETY: the stream is live as long as its state; the caller stamps what the graph uses.
                unsafe { executable.graph.launch(handle) }
            } else {
                let _profiled = executable.profile(replacements.recorded, stream);
                // SAFETY: as above.
                unsafe { executable.graph.launch_interposed(handle) }
            };
            launched.map_err(Into::into)
        });
        if launched.is_err() {
            // It is unknown which nodes are set.
            drop(self.0.remove(at));
        } else if self.0[at].has_memory {
            self.0[at].stamp(stream.stream.next_stamp());
        }
        launched
    }

    /// Launches what was captured by one driver call, where the executable of the stream is set to that. Returns none
    /// where more must be done; then nothing is enqueued.
    ///
    /// # Errors
    /// As for [`launch`](Self::launch).
    ///
    /// # Safety
    /// The caller stamps what the graph uses afterwards.
    pub(super) unsafe fn launch_unchanged(&mut self, stream: &StreamState) -> Option<Result<()>> {
        let (id, record) = (stream.stream.id(), stream.record_address());
        let at = self.0.iter().position(|known| known.is_as_captured(id, record))?;
        // SAFETY: the stream is live as long as its state; the rest is by the caller.
        let launched = unsafe { self.0[at].graph.launch(stream.stream.handle()) };
        if launched.is_err() {
            // As in `launch`.
            drop(self.0.remove(at));
        }
        Some(launched.map_err(Into::into))
    }

    /// Drops all executables, because the graph has new edges.
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
                    nodes.is_some_and(|nodes| nodes.set.has_same_nodes(wanted(launch, changes, at)))
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
        replacements: Replacements<'_>,
        after: &[Dependencies],
        changes: &[Change<'_>],
        stream: &StreamState,
    ) -> Result<usize> {
        let (id, record) = (stream.stream.id(), stream.record_address());
        // Executables of a destroyed stream whose number this one has now.
        self.0.retain(|old| old.stream != id || old.record == record);
        if self.0.len() == EXECUTABLES {
            self.0.remove(0);
        }
        let made = Executable::new(replacements, after, changes, stream)?;
        tracing::debug!(nodes = made.graph.len(), stream = id, "captured graph");
        self.0.push(made);
        Ok(self.0.len() - 1)
    }
}

impl Executable {
    fn new(
        replacements: Replacements<'_>,
        after: &[Dependencies],
        changes: &[Change<'_>],
        stream: &StreamState,
    ) -> Result<Self> {
        let recorded = replacements.recorded;
        let shared = &recorded.program.shared;
        let mut builder = GraphBuilder::new(&shared.context)?;
        let mut ops = Vec::with_capacity(recorded.ops.len());
        // The nodes after which each operation is complete.
        let mut ends: Vec<Dependencies> = Vec::with_capacity(recorded.ops.len());
        for (at, op) in recorded.ops.iter().enumerate() {
            let mut before = Dependencies::new();
            for &end in after[at].iter().flat_map(|&earlier| &ends[earlier]) {
                if !before.contains(&end) {
                    before.push(end);
                }
            }
            let (nodes, end) = match &op.work {
                RecordedWork::Launch(launch) => {
                    let mut wanted = wanted(launch, changes, at).clone();
                    if let Some(replaced) = replacements.get(at) {
                        replaced.write(&mut wanted.words, 0);
                    }
                    let (nodes, end) =
                        Nodes::new(&mut builder, recorded, launch, wanted, before, stream)?;
                    (Some(nodes), end)
                }
                RecordedWork::Copy(copy) => (None, copy_nodes(&mut builder, copy, before)?),
                RecordedWork::Foreign(foreign) => {
                    // SAFETY: the graph keeps the buffers that the operation declared.
                    let node = unsafe { builder.child(&before, &foreign.child)? };
                    (None, Dependencies::from_slice(&[node]))
                }
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
            changed: replacements.ops().collect(),
            set_for_names: if changes.is_empty() { replacements.resolved.id } else { 0 },
            words: Vec::new(),
        })
    }

    /// Whether a launch on that stream with the captured arguments is one driver call.
    fn is_as_captured(&self, stream: u32, record: u64) -> bool {
        self.stream == stream
            && self.record == record
            && self.as_captured
            && self.changed.is_empty()
            && !self.has_memory
    }

    fn set_all(
        &mut self,
        replacements: Replacements<'_>,
        changes: &[Change<'_>],
        stream: &StreamState,
    ) -> Result<()> {
        let (recorded, names) = (replacements.recorded, replacements.resolved.id);
        let before = std::mem::take(&mut self.set_for_names);
        if changes.is_empty() && names != 0 && names == before {
            // Nothing else differs from what is wanted.
            for launch in &replacements.resolved.launches {
                let Some(nodes) = &mut self.ops[launch.op] else { continue };
                if launch.write(replacements.given, &mut nodes.set.words, 0) {
                    self.set_nodes(recorded, launch.op, true, stream)?;
                }
            }
            self.set_for_names = names;
            return Ok(());
        }
        for at in 0..self.changed.len() {
            let op = self.changed[at];
            if let (None, Some(launch)) = (replacements.get(op), recorded.ops[op].launch()) {
                self.set(recorded, op, &launch.prepared, None, stream)?;
            }
        }
        self.changed.clear();
        for replaced in replacements.iter() {
            let (op, launch) = (replaced.op, replaced.launch);
            let wanted = wanted(launch, changes, op);
            self.set(recorded, op, wanted, Some(replaced), stream)?;
            self.changed.push(op);
        }
        if changes.is_empty() {
            self.set_for_names = names;
        }
        Ok(())
    }

    fn set(
        &mut self,
        recorded: &Recorded,
        op: usize,
        wanted: &PreparedLaunch,
        replaced: Option<ReplacedLaunch<'_>>,
        stream: &StreamState,
    ) -> Result<()> {
        let Some(nodes) = &mut self.ops[op] else { return Ok(()) };
        let same_configs = nodes.set.configs == wanted.configs;
        self.words.clear();
        self.words.extend_from_slice(&wanted.words[LAUNCH_WORD..]);
        if let Some(replaced) = replaced {
            replaced.write(&mut self.words, LAUNCH_WORD);
        }
        if same_configs && nodes.set.words[LAUNCH_WORD..] == self.words[..] {
            return Ok(());
        }
        nodes.set.words.truncate(LAUNCH_WORD);
        nodes.set.words.extend_from_slice(&self.words);
        nodes.set.configs.clone_from(&wanted.configs);
        self.set_nodes(recorded, op, same_configs, stream)
    }

    /// Sets the nodes of an operation at the driver. Not their configurations, where those are unchanged and the
    /// argument block is in a buffer.
    fn set_nodes(
        &mut self,
        recorded: &Recorded,
        op: usize,
        same_configs: bool,
        stream: &StreamState,
    ) -> Result<()> {
        let Some(nodes) = &self.ops[op] else { return Ok(()) };
        let address;
        let args = match &nodes.block {
            None => &nodes.set.words[..],
            Some(block) => {
                // After the launches that read it.
                // SAFETY: the buffer is as large as the largest block.
                unsafe {
                    stream.launch_memory.upload(
                        &stream.stream,
                        &nodes.set.words,
                        block.address(),
                    )??
                };
                if same_configs {
                    return Ok(());
                }
                address = [block.address().raw()];
                &address
            }
        };
        for (at, &(task, function)) in nodes.functions.iter().enumerate() {
            let Some(config) = nodes.set.configs[task] else { continue };
            // SAFETY: as for the node's creation.
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
    /// Adds the nodes of a launch. Returns them, and the nodes after which the launch is complete.
    fn new(
        builder: &mut GraphBuilder,
        recorded: &Recorded,
        launch: &CapturedLaunch,
        mut set: PreparedLaunch,
        mut before: Dependencies,
        stream: &StreamState,
    ) -> Result<(Self, Dependencies)> {
        let shared = &recorded.program.shared;
        let context = recorded.context(launch);
        let temporaries = match context.temporary_bytes() {
            0 => None,
            // SAFETY: read only by the kernel, which writes each temporary before it uses it.
            bytes => Some(unsafe { Buffer::uninit(&shared.context, bytes)? }),
        };
        let address = temporaries.as_ref().map_or(0, |memory| memory.address().raw());
        let launch_word = set.words[LAUNCH_WORD];
        write_head(&mut set.words, stream.record_address(), address, launch_word);
        let block = match context.by_buffer() {
            true => Some(Buffer::from_bytes(&shared.context, &bytes_of(&set.words))?),
            false => None,
        };
        let block_address = block.as_ref().map(|block| [block.address().raw()]);
        let args = block_address.as_ref().map_or(&set.words[..], |address| &address[..]);
        let first = builder.len();
        let mut functions = SmallVec::new();
        for step in context.plan.steps() {
            let mut over = Dependencies::new();
            for chain in step {
                let mut last: Option<usize> = None;
                for &task in chain {
                    let Some(config) = set.configs[task.index()] else { continue };
                    let function = context.function(&shared.loader, set.forms, task)?;
                    functions.push((task.index(), function));
                    let dependencies = last.as_ref().map_or(&before[..], std::slice::from_ref);
                    let launch = NodeLaunch { function, config, args };
                    // SAFETY: the graph keeps the kernel, and so its functions; the argument block is the kernel's.
                    last = Some(unsafe { builder.launch(dependencies, launch)? });
                }
                over.extend(last);
            }
            if !over.is_empty() {
                before = over;
            }
        }
        Ok((Self { first, functions, set, temporaries, block }, before))
    }

    fn memory(&self) -> impl Iterator<Item = &Buffer> {
        self.temporaries.iter().chain(&self.block)
    }
}

impl Change<'_> {
    fn is_like_captured(&self) -> bool {
        self.prepared.has_same_nodes(&self.launch.prepared)
    }
}

/// Adds the nodes of a copy. Returns the nodes after which it is complete.
fn copy_nodes(
    builder: &mut GraphBuilder,
    copy: &CapturedCopy,
    before: Dependencies,
) -> Result<Dependencies> {
    let mut over = Dependencies::new();
    for span in &copy.spans {
        let (dst, src) =
            (copy.to.address().offset(span.device), copy.from.address().offset(span.host));
        // SAFETY: the graph keeps both buffers, which are different and have the bytes.
        over.push(unsafe { builder.copy(&before, dst, src, span.bytes)? });
    }
    Ok(if over.is_empty() { before } else { over })
}

/// The launch that an operation shall be set to. Changes are in order.
pub(super) fn wanted<'a>(
    launch: &'a CapturedLaunch,
    changes: &'a [Change<'_>],
    op: usize,
) -> &'a PreparedLaunch {
    let at = changes.binary_search_by_key(&op, |change| change.op);
    at.map_or(&launch.prepared, |at| &changes[at].prepared)
}

impl Executable {
    /// Tells a profile what is launched on a stream, if one runs.
    #[cold]
    fn profile(
        &self,
        recorded: &Recorded,
        stream: &StreamState,
    ) -> Option<(OriginGuard, GraphGuard)> {
        let contents =
            || GraphContents { summary: recorded.summary(), nodes: self.nodes(recorded).into() };
        recorded.program.shared.profile_graph(stream.stream.id(), contents)
    }

    /// The nodes in the order in which [`new`](Self::new) adds them.
    #[cold]
    fn nodes(&self, recorded: &Recorded) -> Vec<GraphNode> {
        let mut nodes = Vec::new();
        for (op, made) in recorded.ops.iter().zip(&self.ops) {
            let mut push = |kind: SpanKind, name: &str, bytes| {
                nodes.push(GraphNode {
                    kind,
                    name: name.into(),
                    file: op.at.file().into(),
                    line: op.at.line(),
                    task: 0,
                    region_block: 0,
                    stream: op.stamp.stream,
                    bytes,
                });
            };
            match &op.work {
                RecordedWork::Launch(launch) => {
                    let kernel = &recorded.context(launch).kernel;
                    let functions = made.iter().flat_map(|made| &made.functions);
                    let node = |&(task, _): &(usize, FunctionHandle)| GraphNode {
                        kind: SpanKind::Task,
                        name: kernel.name.as_str().into(),
                        file: kernel.file.as_str().into(),
                        line: kernel.tasks[task].line,
                        task: task as u32,
                        region_block: kernel.tasks[task].region_block.index() as u32,
                        stream: op.stamp.stream,
                        bytes: None,
                    };
                    nodes.extend(functions.map(node));
                }
                RecordedWork::Copy(copy) => {
                    for span in &copy.spans {
                        for part in span.parts(rt::Graph::MAX_COPY_BYTES) {
                            push(SpanKind::CopyOnDevice, "copy", Some(part.bytes as u64));
                        }
                    }
                }
                RecordedWork::Foreign(foreign) => {
                    let names = recorded.program.shared.operation_names.names(foreign.id, 0);
                    let name = names.map_or_else(String::new, |(name, _)| name);
                    push(SpanKind::Foreign, &name, None);
                }
            }
        }
        nodes
    }
}

impl Recorded {
    /// The operations in a few words, for profiles.
    #[cold]
    fn summary(&self) -> String {
        let copies = self.ops.iter().filter(|op| op.is_copy()).count();
        let mut names: Vec<(&str, usize)> = Vec::new();
        for (_, launch) in self.launches() {
            let name = self.name(launch);
            match names.iter_mut().find(|(other, _)| *other == name) {
                Some((_, count)) => *count += 1,
                None => names.push((name, 1)),
            }
        }
        let mut words: Vec<String> = names
            .into_iter()
            .map(
                |(name, count)| {
                    if count == 1 { name.to_owned() } else { format!("{name} {count}×") }
                },
            )
            .collect();
        if copies > 0 {
            words.push(format!("{copies} copies"));
        }
        format!("graph of {}", words.join(", "))
    }

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
