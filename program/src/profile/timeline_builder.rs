//! Makes the timeline of a recording.

use std::{sync::Arc, time::Duration};

use quadrants_rhi::DeviceInfo;

use super::{
    session::{
        GraphLaunch, HostCall, Mark, OperationDetails, RecordedOperation, Session, TrackState,
        Waits,
    },
    timeline::{
        Arrow, ArrowKind, GraphNode, Span, SpanKind, Timeline, TimelineClock, Track, TrackKind,
    },
};

/// The timeline of what was recorded after `from`.
pub(crate) fn timeline(session: &Session, from: Mark, info: &DeviceInfo) -> Timeline {
    let clock = match session.base {
        None => TimelineClock::Host,
        Some(_) if info.simulated => TimelineClock::Logical,
        Some(_) => TimelineClock::Device,
    };
    let origin = from.at.as_nanos() as f64;
    let mut build = Build { session, clock, origin, node_tracks: Vec::new() };
    let host_times = build.host_times(from);
    let mut spans: Vec<(Option<usize>, Span)> = Vec::new();
    let mut lost = session.lost;
    for (number, operation) in session.operations.iter().enumerate().skip(from.operations) {
        match operation.times {
            Some(times) => {
                spans.push((Some(number), build.operation(operation, times)));
                build.nodes(operation, times, &mut spans);
            }
            None => lost += 1,
        }
    }
    for (call, times) in session.host_calls.iter().zip(host_times).skip(from.host_calls) {
        spans.push((None, build.host_call(call, times)));
    }
    spans.sort_by_key(|(_, span)| (span.start, span.end));
    let mut place_of = vec![None; session.operations.len()];
    for (place, (number, _)) in spans.iter().enumerate() {
        if let Some(number) = number {
            place_of[*number] = Some(place);
        }
    }
    let track_kinds = track_kinds(session, from, &build.node_tracks);
    let arrow = |&(from, to): &(usize, usize)| {
        let kind = |operation: usize| track_kinds[session.operations[operation].track];
        let kind = arrow_kind(kind(from), kind(to));
        Some(Arrow { kind, from: place_of[from]?, to: place_of[to]? })
    };
    let missing = |&(from, to): &(usize, usize)| {
        Some(Arrow { kind: ArrowKind::Missing, from: place_of[from]?, to: place_of[to]? })
    };
    let arrows = session.arrows.iter().filter_map(arrow);
    let arrows = arrows.chain(session.conflicts.iter().filter_map(missing)).collect();
    let mut spans: Vec<Span> = spans.into_iter().map(|(_, span)| span).collect();
    let tracks = used_tracks(session, &track_kinds, &mut spans);
    let device = format!("{}:{} {}", info.backend, info.ordinal, info.name);
    Timeline { device, clock, tracks, spans, arrows, lost, notes: session.notes.clone() }
}

/// The kinds of the tracks: a pooled stream is a worker only where it runs kernels.
fn track_kinds(session: &Session, from: Mark, node_tracks: &[NodeTrack]) -> Vec<TrackKind> {
    let mut runs_kernels = vec![false; session.tracks.len()];
    for operation in &session.operations[from.operations..] {
        runs_kernels[operation.track] |= matches!(
            operation.what,
            OperationDetails::Task(_) | OperationDetails::Graph(_) | OperationDetails::Foreign(_)
        );
    }
    let kind = |(track, runs_kernels): (&TrackState, bool)| match track.kind {
        TrackKind::Worker if !runs_kernels => TrackKind::Copies,
        kind => kind,
    };
    let nodes = node_tracks.iter().map(|nodes| TrackKind::Nodes(nodes.stream));
    session.tracks.iter().zip(runs_kernels).map(kind).chain(nodes).collect()
}

fn arrow_kind(from: TrackKind, to: TrackKind) -> ArrowKind {
    use TrackKind::{Copies, Fills, Frees};
    match (from, to) {
        (Copies | Fills | Frees, _) | (_, Copies | Fills | Frees) => ArrowKind::Memory,
        (_, TrackKind::Worker) => ArrowKind::Fork,
        (TrackKind::Worker, _) => ArrowKind::Join,
        _ => ArrowKind::Event,
    }
}

/// The tracks that have spans, in the order in which they are shown. Changes the spans to their numbers.
fn used_tracks(session: &Session, kinds: &[TrackKind], spans: &mut [Span]) -> Vec<Track> {
    let mut used: Vec<usize> = spans.iter().map(|span| span.track).collect();
    used.sort_unstable();
    used.dedup();
    used.sort_by_key(|&track| match kinds[track] {
        TrackKind::Host => (0, 0, 0),
        TrackKind::Stream(id) => (1, id, 0),
        TrackKind::Nodes(id) => (1, id, 1),
        TrackKind::Worker => (2, 0, 0),
        TrackKind::Copies => (3, 0, 0),
        TrackKind::Fills => (4, 0, 0),
        TrackKind::Frees => (5, 0, 0),
    });
    let mut shown = vec![0; kinds.len()];
    for (place, &track) in used.iter().enumerate() {
        shown[track] = place;
    }
    spans.iter_mut().for_each(|span| span.track = shown[span.track]);
    let (mut workers, mut copies) = (0, 0);
    let mut numbered = |track: usize| {
        let kind = kinds[track];
        let name = match kind {
            TrackKind::Worker => {
                workers += 1;
                format!("worker {workers}")
            }
            TrackKind::Copies => {
                copies += 1;
                if copies == 1 { "copies".to_owned() } else { format!("copies {copies}") }
            }
            TrackKind::Nodes(id) => format!("nodes of stream {id}"),
            _ => session.tracks[track].name.clone(),
        };
        Track { name, kind }
    };
    used.into_iter().map(&mut numbered).collect()
}

struct Build<'a> {
    session: &'a Session,
    clock: TimelineClock,
    /// The begin of the timeline, in nanoseconds from the begin of the session.
    origin: f64,
    /// The tracks of nodes, whose numbers come after those of the session's tracks.
    node_tracks: Vec<NodeTrack>,
}

/// A track of nodes that do not overlap.
struct NodeTrack {
    stream: u32,
    /// When its last node ends.
    end: Duration,
}

/// The nodes of a graph, and when each started and ended.
type KnownNodes<'a> = (&'a [GraphNode], &'a [(u64, u64)]);

impl GraphLaunch {
    /// The nodes with their times, where these are known.
    fn known_nodes(&self) -> Option<KnownNodes<'_>> {
        let (contents, times) = (self.contents.as_ref()?, self.node_times.as_ref()?);
        (contents.nodes.len() == times.len()).then_some((&contents.nodes, times))
    }
}

impl Build<'_> {
    /// The times of all calls of the host. With a logical clock, a wait ends when what it waits for has ended, and
    /// other calls take no time; the origin is then set to that of `from`.
    fn host_times(&mut self, from: Mark) -> Vec<(f64, f64)> {
        let Self { session, .. } = *self;
        if self.clock != TimelineClock::Logical {
            let times =
                |call: &HostCall| (call.start.as_nanos() as f64, call.end.as_nanos() as f64);
            return session.host_calls.iter().map(times).collect();
        }
        let mut ends = vec![0.0f64; session.tracks.len()];
        let end_of = |number: usize| session.operations[number].times.map_or(0.0, |times| times.1);
        let (mut now, mut next) = (0.0f64, 0);
        let mut times = Vec::with_capacity(session.host_calls.len());
        self.origin = 0.0;
        for (at, call) in session.host_calls.iter().enumerate() {
            if at == from.host_calls {
                self.origin = now;
            }
            for operation in &session.operations[next..call.before] {
                let end = &mut ends[operation.track];
                *end = operation.times.map_or(*end, |times| end.max(times.1));
            }
            next = call.before;
            let reached = match &call.waits {
                Waits::Nothing => now,
                Waits::Device => ends.iter().copied().fold(now, f64::max),
                Waits::Track(track) => now.max(ends[*track]),
                Waits::Operations(sources) => {
                    sources.iter().fold(now, |now, source| now.max(end_of(*source)))
                }
            };
            times.push((now, reached));
            now = reached;
        }
        if from.host_calls >= session.host_calls.len() && from.operations > 0 {
            self.origin = now;
        }
        times
    }

    fn time(&self, nanoseconds: f64) -> Duration {
        Duration::from_nanos((nanoseconds - self.origin).max(0.0).round() as u64)
    }

    fn submitted(&self, at: Duration) -> Option<Duration> {
        (self.clock != TimelineClock::Logical).then(|| self.time(at.as_nanos() as f64))
    }

    fn operation(&self, operation: &RecordedOperation, times: (f64, f64)) -> Span {
        let mut span = Span {
            kind: SpanKind::Task,
            name: "".into(),
            file: "".into(),
            line: 0,
            task: 0,
            region_block: 0,
            reads: 0,
            writes: 0,
            nodes: Arc::default(),
            has_node_times: false,
            bytes: None,
            track: operation.track,
            start: self.time(times.0),
            end: self.time(times.1),
            submitted: self.submitted(operation.submitted),
        };
        match &operation.what {
            OperationDetails::Task(None) => span.name = "a kernel without a name".into(),
            OperationDetails::Task(Some((names, task))) => {
                (span.name, span.file) = (names.name.clone(), names.file.clone());
                span.task = *task as u32;
                (span.line, span.region_block) =
                    names.tasks.get(*task).copied().unwrap_or_default();
            }
            OperationDetails::Bytes(kind, bytes) => {
                (span.kind, span.bytes) = (*kind, Some(*bytes));
                span.name = kind.text().into();
            }
            OperationDetails::Free => (span.kind, span.name) = (SpanKind::Free, "free".into()),
            OperationDetails::Graph(graph) => {
                (span.kind, span.name) = (SpanKind::Graph, "graph".into());
                if let Some(contents) = &graph.contents {
                    span.name = contents.summary.as_str().into();
                    span.nodes = contents.nodes.clone();
                    span.has_node_times = graph.known_nodes().is_some();
                }
            }
            OperationDetails::Foreign(names) => {
                span.kind = SpanKind::Foreign;
                (span.name, span.file) = (names.name.into(), names.at.file().into());
                span.line = names.at.line();
                (span.reads, span.writes) = names.tensors;
            }
        }
        span
    }

    /// Adds the spans of a graph's nodes, where their times are known.
    fn nodes(
        &mut self,
        operation: &RecordedOperation,
        (began, _): (f64, f64),
        spans: &mut Vec<(Option<usize>, Span)>,
    ) {
        let OperationDetails::Graph(graph) = &operation.what else { return };
        let Some((nodes, times)) = graph.known_nodes() else { return };
        let TrackKind::Stream(stream) = self.session.tracks[operation.track].kind else { return };
        let mut order: Vec<usize> = (0..nodes.len()).collect();
        order.sort_by_key(|&node| times[node]);
        for node in order {
            let (node, (start, end)) = (&nodes[node], times[node]);
            let time = |after: u64| self.time(began + after as f64);
            let (start, end) = (time(start), time(end));
            let is_free = |track: &NodeTrack| track.stream == stream && track.end <= start;
            let track = self.node_tracks.iter().position(is_free).unwrap_or_else(|| {
                self.node_tracks.push(NodeTrack { stream, end });
                self.node_tracks.len() - 1
            });
            self.node_tracks[track].end = end;
            let span = Span {
                kind: node.kind,
                name: node.name.clone(),
                file: node.file.clone(),
                line: node.line,
                task: node.task,
                region_block: node.region_block,
                reads: 0,
                writes: 0,
                bytes: node.bytes,
                nodes: Arc::default(),
                has_node_times: false,
                track: self.session.tracks.len() + track,
                start,
                end,
                submitted: self.submitted(operation.submitted),
            };
            spans.push((None, span));
        }
    }

    fn host_call(&self, call: &HostCall, times: (f64, f64)) -> Span {
        let HostCall { kind, name, bytes, track, .. } = *call;
        Span {
            kind,
            name: name.into(),
            file: "".into(),
            line: 0,
            task: 0,
            region_block: 0,
            reads: 0,
            writes: 0,
            nodes: Arc::default(),
            has_node_times: false,
            bytes,
            track,
            start: self.time(times.0),
            end: self.time(times.1),
            submitted: self.submitted(call.start),
        }
    }
}
