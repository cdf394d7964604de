//! A recording: the operations and host calls since a profile began.

use std::{
    collections::{HashMap, HashSet, VecDeque},
    panic::Location,
    sync::Arc,
    thread::{self, ThreadId},
    time::{Duration, Instant},
};

use quadrants_ir::Offloaded;
use quadrants_rhi::{Activity, EventHandle, FunctionHandle};
use smallvec::SmallVec;

use super::{
    activity::ActivityRecording,
    timeline::{GraphNode, SpanKind, TrackKind},
};

/// The largest number of recorded operations and host calls.
pub(super) const MAX_SPANS: usize = 1 << 20;

/// The names in a kernel: what spans of its tasks need, also after the kernel is dropped.
#[derive(Debug)]
pub(super) struct KernelNames {
    pub(super) id: u32,
    pub(super) name: Arc<str>,
    pub(super) file: Arc<str>,
    /// The line and the `stream_parallel` block of each task.
    pub(super) tasks: Vec<(u32, u32)>,
}

/// An operation of a stream.
#[derive(Debug)]
pub(super) struct RecordedOperation {
    pub(super) what: OperationDetails,
    pub(super) track: usize,
    /// Nanoseconds from the begin of the session; none while they are not known.
    pub(super) times: Option<(f64, f64)>,
    pub(super) submitted: Duration,
}

/// What an operation is.
#[derive(Debug, Clone)]
pub(super) enum OperationDetails {
    /// A task of a kernel; none where its kernel is not known.
    Task(Option<(Arc<KernelNames>, usize)>),
    /// An operation on this many bytes.
    Bytes(SpanKind, u64),
    Free,
    Graph(GraphLaunch),
    Foreign(ForeignNames),
}

/// A launch of a graph.
#[derive(Debug, Clone, Default)]
pub(super) struct GraphLaunch {
    pub(super) contents: Option<Arc<GraphContents>>,
    /// When each node started and ended, in nanoseconds from the start of the launch, where that is known.
    pub(super) node_times: Option<Vec<(u64, u64)>>,
}

/// What a graph contains.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct GraphContents {
    /// The operations in a few words.
    pub(crate) summary: String,
    /// In the order in which they were added to the driver's graph.
    pub(crate) nodes: Arc<[GraphNode]>,
}

/// What a span of a foreign operation needs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ForeignNames {
    /// The number that hazards name it by.
    pub(crate) id: u32,
    pub(crate) name: &'static str,
    pub(crate) at: &'static Location<'static>,
    /// How many tensors it reads, and how many it writes.
    pub(crate) tensors: (u32, u32),
}

/// A call of the host.
#[derive(Debug)]
pub(super) struct HostCall {
    pub(super) kind: SpanKind,
    pub(super) name: &'static str,
    pub(super) bytes: Option<u64>,
    pub(super) track: usize,
    pub(super) start: Duration,
    pub(super) end: Duration,
    /// The number of operations that were recorded before.
    pub(super) before: usize,
    pub(super) waits: Waits,
}

/// What a call of the host waits for.
#[derive(Debug)]
pub(super) enum Waits {
    Nothing,
    Device,
    Track(usize),
    Operations(Sources),
}

/// Operations, by their number.
pub(super) type Sources = SmallVec<[usize; 2]>;

/// A place in a recording.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Mark {
    pub(super) operations: usize,
    pub(super) host_calls: usize,
    pub(super) at: Duration,
}

/// An operation whose times the device does not have yet: the events before and after it.
#[derive(Debug, Clone, Copy)]
pub(super) struct UntimedOperation {
    pub(super) operation: usize,
    pub(super) track: usize,
    pub(super) events: (EventHandle, EventHandle),
}

/// A row of the timeline, and the state of the order of its operations.
#[derive(Debug)]
pub(super) struct TrackState {
    pub(super) name: String,
    pub(super) kind: TrackKind,
    last: Option<usize>,
    /// What the next operation waits for, besides the last one.
    waits_for: Sources,
    /// The event of the last operation with known times, and its time. Times are measured from there, because a float
    /// holds short times exactly.
    pub(super) anchor: Option<(EventHandle, f64)>,
}

/// See the module documentation.
#[derive(Debug)]
pub(crate) struct Session {
    pub(super) began: Instant,
    /// The event at time 0; none on a device whose operations are complete when their call returns.
    pub(super) base: Option<EventHandle>,
    pub(super) operations: Vec<RecordedOperation>,
    pub(super) host_calls: Vec<HostCall>,
    pub(super) tracks: Vec<TrackState>,
    /// By the handle of the stream, or by its id where handles are all equal.
    streams: HashMap<u64, usize>,
    threads: HashMap<ThreadId, usize>,
    /// The operations that the last record of an event stands for: the last ones of each track.
    records: HashMap<u64, Sources>,
    pub(super) arrows: Vec<(usize, usize)>,
    /// Launches that conflict without an order.
    pub(super) conflicts: Vec<(usize, usize)>,
    /// Launches that conflict with the next one on a stream, by its id.
    next_conflicts: Vec<(usize, u32)>,
    functions: HashMap<FunctionHandle, (Arc<KernelNames>, usize)>,
    /// Each of them once, because a graph is launched often.
    graphs: HashSet<Arc<GraphContents>>,
    pub(super) pending: VecDeque<UntimedOperation>,
    pub(super) idle_events: Vec<EventHandle>,
    /// Whether a thread reads the times of pending operations.
    pub(super) is_reading: bool,
    pub(super) lost: u64,
    /// Recording by the driver's profiling interface, if it has one.
    pub(super) exact: Option<ActivityRecording>,
    /// What the timeline says about its times.
    pub(super) notes: Vec<String>,
}

impl KernelNames {
    fn new(id: u32, kernel: &Offloaded) -> Self {
        let tasks = kernel.tasks.iter().map(|task| (task.line, task.region_block.index() as u32));
        let (name, file) = (kernel.name.as_str().into(), kernel.file.as_str().into());
        Self { id, name, file, tasks: tasks.collect() }
    }
}

impl GraphContents {
    /// Whether each node is ordered after the node before it.
    fn is_sequence(&self) -> bool {
        let is_next =
            |node: &GraphNode| node.stream == self.nodes[0].stream && node.region_block == 0;
        self.nodes.iter().all(is_next)
    }
}

/// The activities of a graph in the order of its nodes, if it is known which is of which node: by their numbers, or by
/// their starts where the nodes run one after the other.
fn in_order_of_nodes(mut activities: Vec<Activity>, is_sequence: bool) -> Option<Vec<Activity>> {
    let has_numbers = activities.iter().all(|activity| activity.node != 0);
    if has_numbers {
        activities.sort_by_key(|activity| activity.node);
    } else {
        activities.sort_by_key(|activity| (activity.start, activity.end));
    }
    (has_numbers || is_sequence).then_some(activities)
}

impl Session {
    pub(super) fn new(began: Instant, base: Option<EventHandle>) -> Self {
        Self {
            began,
            base,
            operations: Vec::new(),
            host_calls: Vec::new(),
            tracks: Vec::new(),
            streams: HashMap::new(),
            threads: HashMap::new(),
            records: HashMap::new(),
            arrows: Vec::new(),
            conflicts: Vec::new(),
            next_conflicts: Vec::new(),
            functions: HashMap::new(),
            graphs: HashSet::new(),
            pending: VecDeque::new(),
            idle_events: Vec::new(),
            is_reading: false,
            lost: 0,
            exact: None,
            notes: Vec::new(),
        }
    }

    /// Sets the times of the operations that are complete to those of the profiling interface.
    pub(super) fn read_activities(&mut self) {
        let Some(exact) = &mut self.exact else { return };
        let taken = exact.activities.take(&|call| exact.calls.contains_key(&call));
        let mut by_operation: HashMap<usize, Vec<Activity>> = HashMap::new();
        for activity in taken {
            if let Some(operation) = exact.calls.get(&activity.call) {
                by_operation.entry(*operation).or_default().push(activity);
            }
        }
        for (number, activities) in by_operation {
            let operation = &mut self.operations[number];
            let start = activities.iter().map(|activity| activity.start).min().unwrap_or(0);
            let end = activities.iter().map(|activity| activity.end).max().unwrap_or(0);
            let time = |at: u64| at as i64 - exact.origin as i64;
            operation.times = Some((time(start) as f64, time(end) as f64));
            if let OperationDetails::Graph(graph) = &mut operation.what {
                let is_sequence =
                    graph.contents.as_ref().is_some_and(|contents| contents.is_sequence());
                graph.node_times = in_order_of_nodes(activities, is_sequence).map(|nodes| {
                    nodes.iter().map(|node| (node.start - start, node.end - start)).collect()
                });
            }
        }
        let lost = exact.activities.take_lost();
        if lost > 0 {
            let name = exact.activities.name();
            self.notes.push(format!("{name} lost {lost} records, whose operations have no times"));
        }
    }

    /// The track of a stream that was seen before.
    pub(super) fn known_track(&self, key: u64) -> Option<usize> {
        self.streams.get(&key).copied()
    }

    /// Adds the track of a stream, unless another thread has done so.
    pub(super) fn add_track(&mut self, key: u64, kind: TrackKind) -> usize {
        if let Some(track) = self.known_track(key) {
            return track;
        }
        let number = 1 + self.tracks.iter().filter(|track| track.kind == kind).count();
        let name = match kind {
            TrackKind::Stream(id) => format!("stream {id}"),
            TrackKind::Fills if number == 1 => "fills".to_owned(),
            TrackKind::Fills => format!("fills {number}"),
            TrackKind::Frees => "frees".to_owned(),
            // These are named where the timeline is made.
            TrackKind::Worker | TrackKind::Nodes(_) | TrackKind::Copies | TrackKind::Host => {
                String::new()
            }
        };
        let track = self.push_track(name, kind);
        self.streams.insert(key, track);
        track
    }

    fn push_track(&mut self, name: String, kind: TrackKind) -> usize {
        let waits_for = Sources::new();
        self.tracks.push(TrackState { name, kind, last: None, waits_for, anchor: None });
        self.tracks.len() - 1
    }

    /// The track of the calling thread.
    pub(super) fn thread_track(&mut self) -> usize {
        let current = thread::current();
        if let Some(track) = self.threads.get(&current.id()) {
            return *track;
        }
        let name = match self.threads.len() {
            0 => "host".to_owned(),
            n => current.name().map_or_else(|| format!("host {}", n + 1), |n| format!("host: {n}")),
        };
        let track = self.push_track(name, TrackKind::Host);
        self.threads.insert(current.id(), track);
        track
    }

    /// Forgets a stream, whose handle a new one may have.
    pub(super) fn forget_stream(&mut self, key: u64) {
        self.streams.remove(&key);
    }

    pub(super) fn forget_event(&mut self, key: u64) {
        self.records.remove(&key);
    }

    /// Tells the functions of a kernel's tasks. Of a kernel that is one native function, the line is that of its first
    /// task.
    pub(super) fn name_functions(
        &mut self,
        id: u32,
        kernel: &Offloaded,
        functions: &[FunctionHandle],
    ) {
        let Some(first) = functions.first() else { return };
        if self.functions.get(first).is_some_and(|(names, _)| names.id == id) {
            return;
        }
        let mut names = KernelNames::new(id, kernel);
        if functions.len() < names.tasks.len() {
            let line = names.tasks.iter().map(|task| task.0).find(|line| *line != 0);
            names.tasks = vec![(line.unwrap_or(0), 0)];
        }
        let names = Arc::new(names);
        for (task, function) in functions.iter().enumerate() {
            self.functions.insert(*function, (names.clone(), task));
        }
    }

    pub(super) fn task_of(&self, function: FunctionHandle) -> OperationDetails {
        OperationDetails::Task(self.functions.get(&function).cloned())
    }

    /// Whether more spans can be recorded. If not, one is counted as lost.
    pub(super) fn has_room(&mut self) -> bool {
        let has_room = self.operations.len() + self.host_calls.len() < MAX_SPANS;
        self.lost += u64::from(!has_room);
        has_room
    }

    /// Records an operation that was enqueued. Returns its number.
    pub(super) fn push(&mut self, mut operation: RecordedOperation) -> usize {
        if let OperationDetails::Graph(GraphLaunch { contents: Some(contents), .. }) =
            &mut operation.what
        {
            match self.graphs.get(contents) {
                Some(known) => *contents = known.clone(),
                None => drop(self.graphs.insert(contents.clone())),
            }
        }
        let number = self.operations.len();
        let track = &mut self.tracks[operation.track];
        for from in track.waits_for.drain(..) {
            self.arrows.push((from, number));
        }
        track.last = Some(number);
        if let (OperationDetails::Task(_) | OperationDetails::Foreign(_), TrackKind::Stream(id)) =
            (&operation.what, track.kind)
        {
            let ours = self.next_conflicts.extract_if(.., |conflict| conflict.1 == id);
            self.conflicts.extend(ours.map(|(earlier, _)| (earlier, number)));
        }
        self.operations.push(operation);
        number
    }

    /// The next launch on the stream `later` conflicts with the last launch of a kernel on the stream `earlier`, by
    /// the ids of the streams and the number of the kernel. Foreign operations count as launches.
    pub(super) fn conflict(&mut self, (earlier, kernel): (u32, u32), later: u32) {
        let is_earlier = |operation: &RecordedOperation| {
            let track = self.tracks[operation.track].kind;
            let id = match &operation.what {
                OperationDetails::Task(Some((names, _))) => Some(names.id),
                OperationDetails::Foreign(names) => Some(names.id),
                _ => None,
            };
            id == Some(kernel)
                && (track == TrackKind::Stream(earlier) || track == TrackKind::Worker)
        };
        if let Some(number) = self.operations.iter().rposition(is_earlier) {
            self.next_conflicts.push((number, later));
        }
    }

    /// An event was recorded on a track.
    pub(super) fn record(&mut self, event: u64, track: usize) {
        let sources = self.ends_of(track);
        self.records.insert(event, sources);
    }

    /// A track waits for the last record of an event.
    pub(super) fn wait(&mut self, event: u64, track: usize) {
        let Some(sources) = self.records.get(&event) else { return };
        for &source in sources {
            let of = self.operations[source].track;
            if of == track {
                continue;
            }
            let waits_for = &mut self.tracks[track].waits_for;
            match waits_for.iter_mut().find(|other| self.operations[**other].track == of) {
                Some(other) => *other = source.max(*other),
                None => waits_for.push(source),
            }
        }
    }

    pub(super) fn sources_of(&self, event: u64) -> Sources {
        self.records.get(&event).cloned().unwrap_or_default()
    }

    /// The operations after which all work of a track is complete.
    fn ends_of(&self, track: usize) -> Sources {
        let track = &self.tracks[track];
        track.last.into_iter().chain(track.waits_for.iter().copied()).collect()
    }
}

#[cfg(test)]
mod tests;
