//! [`Timeline`]: what a profile recorded.

use std::{sync::Arc, time::Duration};

use quadrants_rhi::DeviceInfo;

/// What ran during a profile: spans on tracks, and the arrows between them.
/// [`Program::profile`](crate::Program::profile) returns it.
///
/// Its forms for people are its [`Display`](std::fmt::Display), a table of where time goes; [`svg`](Self::svg), a
/// picture of the streams side by side; and [`chrome_trace`](Self::chrome_trace), for a trace viewer.
#[derive(Debug, Clone)]
pub struct Timeline {
    pub(super) device: String,
    pub(super) clock: TimelineClock,
    pub(super) tracks: Vec<Track>,
    pub(super) spans: Vec<Span>,
    pub(super) arrows: Vec<Arrow>,
    pub(super) lost: u64,
    pub(super) notes: Vec<String>,
}

/// The clock of the times in a [`Timeline`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum TimelineClock {
    /// The device's, by the driver's profiling interface or by events around each operation. Host calls have the host's
    /// clock, which is aligned to the device's at the begin of the profile.
    Device,
    /// The host's: the device is the CPU, and every operation is complete when its call returns.
    Host,
    /// The simulator's logical clock. It shows which operations may overlap, not how long they take on a device.
    Logical,
}

/// A row of a [`Timeline`]: a stream, or a thread of the host.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Track {
    /// Its name, such as `stream 3`.
    pub name: String,
    /// What it is.
    pub kind: TrackKind,
}

/// What a [`Track`] is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TrackKind {
    /// A stream of the program, with its [`Stream::id`](crate::Stream::id).
    Stream(u32),
    /// The nodes of graphs that are launched on the stream with this id. Nodes that overlap are on several such tracks.
    Nodes(u32),
    /// A worker stream, on which blocks of regions run.
    Worker,
    /// An internal stream on which the host reads and writes tensors.
    Copies,
    /// An internal stream of allocations, first fills and uploads; on the CPU, all copies and fills. Threads share it,
    /// so that an operation may seem to end when one of another thread does.
    Fills,
    /// The internal stream of frees, which threads share too.
    Frees,
    /// A thread of the host.
    Host,
}

/// An operation of a stream, or a call of the host.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Span {
    /// What it is.
    pub kind: SpanKind,
    /// The name of the kernel or foreign operation; for others, a description.
    pub name: Arc<str>,
    /// The source file of the kernel, or of the call that a foreign operation or a graph's copy is; empty for others.
    pub file: Arc<str>,
    /// The source line of the task or call, or 0 where it has none.
    pub line: u32,
    /// The number of the task in its kernel.
    pub task: u32,
    /// The number of the task's `stream_parallel` block; 0 for none.
    pub region_block: u32,
    /// How many tensors a foreign operation only reads.
    pub reads: u32,
    /// How many tensors a foreign operation writes.
    pub writes: u32,
    /// The number of bytes of a copy, fill or allocation.
    pub bytes: Option<u64>,
    /// The nodes of a graph; empty for other spans.
    pub nodes: Arc<[GraphNode]>,
    /// Whether the nodes of this graph are spans of their own, on tracks of kind [`TrackKind::Nodes`]. If not, it is
    /// not known when they ran, except that the graph's span contains them.
    pub has_node_times: bool,
    /// The index of its track in [`Timeline::tracks`].
    pub track: usize,
    /// When it started, from the begin of the profile.
    pub start: Duration,
    /// When it ended, from the begin of the profile.
    pub end: Duration,
    /// When the host submitted it, from the begin of the profile; none with a [logical](TimelineClock::Logical) clock.
    pub submitted: Option<Duration>,
}

/// A node of a captured graph.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct GraphNode {
    /// What it is: a task, a copy on the device, or a foreign operation.
    pub kind: SpanKind,
    /// The name of the kernel or foreign operation.
    pub name: Arc<str>,
    /// The source file of the kernel, or of the captured call.
    pub file: Arc<str>,
    /// The source line of the task or captured call, or 0 where it has none.
    pub line: u32,
    /// The number of the task in its kernel.
    pub task: u32,
    /// The number of the task's `stream_parallel` block; 0 for none.
    pub region_block: u32,
    /// The id of the stream that it was captured on.
    pub stream: u32,
    /// The number of bytes of a copy.
    pub bytes: Option<u64>,
}

/// What a [`Span`] is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SpanKind {
    /// A task of a kernel; on the CPU, a whole kernel.
    Task,
    /// What other code enqueued in a call of [`Program::foreign`](crate::Program::foreign), from its first operation to
    /// its last; on the CPU, the call.
    Foreign,
    /// A copy from host to device.
    CopyToDevice,
    /// A copy from device to host.
    CopyToHost,
    /// A copy within the device.
    CopyOnDevice,
    /// A fill.
    Fill,
    /// An allocation in stream order.
    Allocation,
    /// A free in stream order.
    Free,
    /// A launch of a captured graph, from its first operation to its last.
    Graph,
    /// A host wait for the device.
    HostWait,
    /// Another call of the host that takes time: an allocation, the loading of a module, the making of a graph.
    HostCall,
}

/// An order between two spans of different tracks: `to` starts after `from` has ended. Or one that is missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Arrow {
    /// Why.
    pub kind: ArrowKind,
    /// The index of the earlier span in [`Timeline::spans`].
    pub from: usize,
    /// The index of the later span in [`Timeline::spans`].
    pub to: usize,
}

/// What made an [`Arrow`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ArrowKind {
    /// The record of an event and a wait for it.
    Event,
    /// The fork of a region.
    Fork,
    /// The join of a region.
    Join,
    /// The library ordered an allocation, a fill, a copy or a free of its own.
    Memory,
    /// No order: the two launches conflict, and the program should order them. Only where hazards are
    /// [reported](crate::Hazards::Report).
    Missing,
}

impl Timeline {
    pub(crate) fn empty(info: &DeviceInfo) -> Self {
        let (device, clock) = (info.name.clone(), TimelineClock::Host);
        let (tracks, spans, arrows) = (Vec::new(), Vec::new(), Vec::new());
        Self { device, clock, tracks, spans, arrows, lost: 0, notes: Vec::new() }
    }

    /// The name of the device.
    #[must_use]
    pub fn device(&self) -> &str {
        &self.device
    }

    /// The clock of the times.
    #[must_use]
    pub fn clock(&self) -> TimelineClock {
        self.clock
    }

    /// The tracks: threads of the host, then streams.
    #[must_use]
    pub fn tracks(&self) -> &[Track] {
        &self.tracks
    }

    /// All spans, by their start.
    #[must_use]
    pub fn spans(&self) -> &[Span] {
        &self.spans
    }

    /// The arrows between spans.
    #[must_use]
    pub fn arrows(&self) -> &[Arrow] {
        &self.arrows
    }

    /// The number of operations that are missing: the device did not return their times, or there were more than
    /// 1 048 576.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// Where the times are from: the driver's profiling interface, such as CUPTI or roctracer, or events; and then why
    /// not the interface, for example because another profiler is attached. Empty where the device has no such
    /// interface.
    #[must_use]
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// The time from the first start of an operation to the last end.
    #[must_use]
    pub fn duration(&self) -> Duration {
        let start = self.spans.iter().map(|span| span.start).min().unwrap_or_default();
        let end = self.spans.iter().map(|span| span.end).max().unwrap_or_default();
        end.saturating_sub(start)
    }

    /// The time during which at least one stream, and that during which at least two streams were busy.
    #[must_use]
    pub fn busy(&self) -> (Duration, Duration) {
        let mut edges: Vec<(Duration, i32)> = Vec::new();
        for span in self.device_spans() {
            edges.extend([(span.start, 1), (span.end, -1)]);
        }
        // Ends come first, so that spans that only touch do not overlap.
        edges.sort_unstable();
        let (mut one, mut two) = (Duration::ZERO, Duration::ZERO);
        let (mut active, mut last) = (0, Duration::ZERO);
        for (time, change) in edges {
            let passed = time.saturating_sub(last);
            if active >= 1 {
                one += passed;
            }
            if active >= 2 {
                two += passed;
            }
            (active, last) = (active + change, time);
        }
        (one, two)
    }

    /// The number of arrows of a kind.
    #[must_use]
    pub fn count(&self, kind: ArrowKind) -> usize {
        self.arrows.iter().filter(|arrow| arrow.kind == kind).count()
    }

    /// The spans of streams. Of a graph, those of its nodes, where their times are known.
    pub(super) fn device_spans(&self) -> impl Iterator<Item = &Span> {
        self.spans.iter().filter(|span| !span.kind.is_host() && !span.has_node_times)
    }

    /// Each list of nodes whose times are not known, with the name of its graph.
    pub(super) fn nodes_without_times(&self) -> Vec<(&str, &[GraphNode])> {
        let mut found: Vec<(&str, &[GraphNode])> = Vec::new();
        for span in &self.spans {
            let this = (&*span.name, &*span.nodes);
            if !this.1.is_empty() && !span.has_node_times && !found.contains(&this) {
                found.push(this);
            }
        }
        found
    }
}

impl Span {
    /// How long it took.
    #[must_use]
    pub fn duration(&self) -> Duration {
        self.end.saturating_sub(self.start)
    }

    /// Its name with its source line: `saxpy:12`.
    #[must_use]
    pub fn label(&self) -> String {
        label(&self.name, self.line)
    }
}

impl GraphNode {
    /// Its name with its source line: `saxpy:12`.
    #[must_use]
    pub fn label(&self) -> String {
        label(&self.name, self.line)
    }
}

fn label(name: &str, line: u32) -> String {
    match line {
        0 => name.to_owned(),
        line => format!("{name}:{line}"),
    }
}

/// The labels of nodes in a line, each with the stream that it was captured on; of many, the first ones.
pub(super) fn nodes_text(nodes: &[GraphNode]) -> String {
    const SHOWN: usize = 16;
    let label = |node: &GraphNode| format!("{} (stream {})", node.label(), node.stream);
    let mut labels: Vec<String> = nodes.iter().take(SHOWN).map(label).collect();
    if nodes.len() > SHOWN {
        labels.push(format!("{} more", nodes.len() - SHOWN));
    }
    labels.join(", ")
}

impl SpanKind {
    /// Whether it has a place in the source.
    pub(super) fn has_place(self) -> bool {
        matches!(self, Self::Task | Self::Foreign)
    }

    /// Whether spans of this kind differ by their names and lines, not only by their kind.
    pub(super) fn is_named(self) -> bool {
        matches!(self, Self::Task | Self::Foreign | Self::Graph)
    }

    /// Whether it is a call of the host.
    #[must_use]
    pub fn is_host(self) -> bool {
        matches!(self, Self::HostWait | Self::HostCall)
    }
}

impl TrackKind {
    pub(super) fn text(self) -> &'static str {
        match self {
            Self::Stream(_) => "stream",
            Self::Nodes(_) => "nodes",
            Self::Worker => "worker",
            Self::Copies => "copies",
            Self::Fills => "fills",
            Self::Frees => "frees",
            Self::Host => "host",
        }
    }

    /// The number of its stream; 0 where it has none.
    pub(super) fn stream(self) -> u32 {
        if let Self::Stream(id) | Self::Nodes(id) = self { id } else { 0 }
    }
}

/// Gives the values of an enum the texts of traces, tables and pictures.
macro_rules! texts {
    ($of:ident: $($variant:ident = $text:literal,)*) => {
        impl $of {
            pub(super) fn text(self) -> &'static str {
                match self {
                    $(Self::$variant => $text,)*
                }
            }

            /// The value with this text.
            pub(super) fn with_text(text: &str) -> Option<Self> {
                match text {
                    $($text => Some(Self::$variant),)*
                    _ => None,
                }
            }
        }
    };
}

texts! {
    SpanKind:
    Task = "task",
    Foreign = "foreign operation",
    CopyToDevice = "copy to device",
    CopyToHost = "copy to host",
    CopyOnDevice = "copy on device",
    Fill = "fill",
    Allocation = "allocation",
    Free = "free",
    Graph = "graph",
    HostWait = "host wait",
    HostCall = "host call",
}

texts! {
    ArrowKind:
    Event = "event",
    Fork = "fork",
    Join = "join",
    Memory = "memory",
    Missing = "missing order",
}

texts! {
    TimelineClock:
    Device = "device time",
    Host = "host time",
    Logical = "logical time of the simulator",
}

/// A duration with three digits and a unit.
pub(super) fn time_text(time: Duration) -> String {
    let ns = time.as_nanos() as f64;
    let (value, unit) = match ns {
        0.0..1e3 => (ns, "ns"),
        1e3..1e6 => (ns / 1e3, "µs"),
        1e6..1e9 => (ns / 1e6, "ms"),
        _ => (ns / 1e9, "s"),
    };
    let digits = if unit == "ns" || value >= 100.0 {
        0
    } else if value >= 10.0 {
        1
    } else {
        2
    };
    format!("{value:.digits$} {unit}")
}
