//! The times of operations by a profiling interface.

use std::sync::Mutex;

use quadrants_rhi::Activities;

use super::*;

/// An interface that has recorded these activities, and lost a number of records.
#[derive(Debug)]
struct Recorded {
    activities: Mutex<Vec<Activity>>,
    lost: Mutex<u64>,
}

impl Activities for Recorded {
    fn name(&self) -> &str {
        "an interface"
    }

    fn begin(&self) -> quadrants_rhi::Result<()> {
        Ok(())
    }

    fn enter(&self, _: u64) {}

    fn leave(&self) {}

    fn take(&self, is_wanted: &dyn Fn(u64) -> bool) -> Vec<Activity> {
        let mut activities = self.activities.lock().expect("a lock");
        activities.extract_if(.., |activity| is_wanted(activity.call)).collect()
    }

    fn take_lost(&self) -> u64 {
        std::mem::take(&mut self.lost.lock().expect("a lock"))
    }

    fn end(&self) {}
}

fn activity(call: u64, node: u64, start: u64) -> Activity {
    Activity { call, node, start: 1000 + start, end: 1000 + start + 5 }
}

/// A node that was captured on a stream.
fn node(stream: u32, region_block: u32) -> GraphNode {
    let (name, file) = ("kernel".into(), "file.rs".into());
    let kind = SpanKind::Task;
    GraphNode { kind, name, file, line: 1, task: 0, region_block, stream, bytes: None }
}

fn graph(nodes: &[GraphNode]) -> OperationDetails {
    let contents = GraphContents { summary: "graph".to_owned(), nodes: nodes.into() };
    OperationDetails::Graph(GraphLaunch { contents: Some(Arc::new(contents)), node_times: None })
}

/// A session that recorded these operations, as the calls 1, 2, ….
fn session(operations: Vec<OperationDetails>, recorded: &Arc<Recorded>) -> Session {
    let mut session = Session::new(Instant::now(), None);
    let calls = (0..operations.len()).map(|number| (number as u64 + 1, number)).collect();
    let activities = recorded.clone() as Arc<dyn Activities>;
    session.exact = Some(ActivityRecording { activities, origin: 1000, calls });
    let submitted = Duration::ZERO;
    let track = session.add_track(0, TrackKind::Stream(1));
    for what in operations {
        session.push(RecordedOperation { what, track, times: None, submitted });
    }
    session
}

fn recorded(activities: Vec<Activity>, lost: u64) -> Arc<Recorded> {
    Arc::new(Recorded { activities: Mutex::new(activities), lost: Mutex::new(lost) })
}

fn node_times(session: &Session, operation: usize) -> Option<Vec<(u64, u64)>> {
    match &session.operations[operation].what {
        OperationDetails::Graph(graph) => graph.node_times.clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn operations_have_the_times_of_their_activities() {
    // The second is split, and the third has none.
    let recorded = recorded(vec![activity(2, 0, 40), activity(1, 0, 10), activity(2, 0, 30)], 0);
    let task = || OperationDetails::Task(None);
    let mut session = session(vec![task(), task(), task()], &recorded);
    session.read_activities();
    let times: Vec<_> = session.operations.iter().map(|operation| operation.times).collect();
    assert_eq!(times, [Some((10.0, 15.0)), Some((30.0, 45.0)), None]);
    assert_eq!(session.notes, [""; 0]);
}

#[test]
fn nodes_are_known_by_their_numbers_or_their_order() {
    let activities = vec![
        // By numbers, in another order of starts.
        activity(1, 8, 10),
        activity(1, 7, 20),
        // Without numbers.
        activity(2, 0, 40),
        activity(2, 0, 30),
        activity(3, 0, 50),
        activity(3, 0, 60),
        activity(4, 0, 70),
        activity(4, 0, 80),
        // Only one has a number.
        activity(5, 0, 90),
        activity(5, 3, 95),
    ];
    let recorded = recorded(activities, 0);
    let graphs = vec![
        graph(&[node(1, 1), node(2, 0)]),
        graph(&[node(1, 0), node(1, 0)]),
        graph(&[node(1, 0), node(2, 0)]),
        graph(&[node(1, 0), node(1, 1)]),
        graph(&[node(1, 0), node(2, 0)]),
    ];
    let mut session = session(graphs, &recorded);
    session.read_activities();
    let times = |graph| node_times(&session, graph);
    assert_eq!(times(0), Some(vec![(10, 15), (0, 5)]), "in the order of the numbers");
    assert_eq!(times(1), Some(vec![(0, 5), (10, 15)]), "one after the other");
    assert_eq!((times(2), times(3), times(4)), (None, None, None), "they may run at once");
    assert!(session.operations.iter().all(|operation| operation.times.is_some()));
}

#[test]
fn lost_records_are_in_the_notes() {
    let recorded = recorded(vec![activity(1, 0, 10)], 3);
    let mut session = session(vec![OperationDetails::Free, OperationDetails::Free], &recorded);
    session.read_activities();
    session.read_activities();
    let note = "an interface lost 3 records, whose operations have no times";
    assert_eq!(session.notes, [note], "once");
}
