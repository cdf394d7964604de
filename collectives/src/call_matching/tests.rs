//! Random sequences of calls in random interleavings, of which one call is altered or none.

use super::{Ledger, Mismatch, Ranks};
use crate::{
    call::{CallKind, CollectiveCall, GroupPosition},
    element::{DataType, Reduction},
    random::Random,
};

fn call(kind: CallKind, count: usize) -> CollectiveCall {
    let group_position = match kind {
        CallKind::Send { .. } | CallKind::Receive { .. } => GroupPosition::default(),
        _ => GroupPosition { index: 0, of: 1 },
    };
    CollectiveCall { kind, count, data_type: DataType::F32, group_position }
}

/// The calls of each rank, which match.
fn calls(ranks: usize, steps: usize, random: &mut Random) -> Vec<Vec<CollectiveCall>> {
    let mut calls = vec![vec![]; ranks];
    for _ in 0..steps {
        let (one, other, count) = (random.below(ranks), random.below(ranks), random.below(3));
        let kind = match random.below(7) {
            0 => CallKind::AllReduce(Reduction::Sum),
            1 => CallKind::Reduce { reduction: Reduction::Max, root: one },
            2 => CallKind::Broadcast { root: one },
            3 => CallKind::AllGather,
            4 => CallKind::ReduceScatter(Reduction::Min),
            _ => {
                // Also to itself.
                calls[one].push(call(CallKind::Send { to: other }, count));
                calls[other].push(call(CallKind::Receive { from: one }, count));
                continue;
            }
        };
        calls.iter_mut().for_each(|calls| calls.push(call(kind, count)));
    }
    calls
}

/// Records the calls in a random order of the ranks.
fn record(
    ledger: &mut Ledger,
    calls: &[Vec<CollectiveCall>],
    random: &mut Random,
) -> Result<(), Mismatch> {
    let mut next = vec![0; calls.len()];
    loop {
        let open: Vec<_> =
            (0..calls.len()).filter(|rank| next[*rank] < calls[*rank].len()).collect();
        let Some(rank) = open.get(random.below(open.len().max(1))) else { return Ok(()) };
        ledger.record(*rank, [calls[*rank][next[*rank]]])?;
        next[*rank] += 1;
    }
}

fn ledger(ranks: usize, all: bool) -> Ledger {
    if all {
        return Ledger::new(Ranks::All(ranks));
    }
    let mut ledger = Ledger::new(Ranks::Some([].into()));
    assert!((0..ranks).all(|rank| ledger.join(rank)));
    assert!(!ledger.join(0));
    ledger
}

#[test]
fn calls_that_match_are_accepted_in_any_order_and_forgotten() {
    for seed in 1..400 {
        let mut random = Random(seed);
        let ranks = 1 + random.below(4);
        let calls = calls(ranks, 30, &mut random);
        let mut ledger = ledger(ranks, seed % 2 == 0);
        record(&mut ledger, &calls, &mut random).unwrap();
        assert!(ledger.open.is_empty());
        assert!(ledger.transfers.values().all(|transfers| transfers.open.is_empty()));
        assert!(!ledger.join(ranks) || seed % 2 == 0, "a rank joins after a call");
    }
}

#[test]
fn an_altered_call_is_found() {
    for seed in 1..4000 {
        let mut random = Random(seed);
        let ranks = 2 + random.below(3);
        let mut calls = calls(ranks, 20, &mut random);
        let rank = random.below(ranks);
        if calls[rank].is_empty() {
            continue;
        }
        let at = random.below(calls[rank].len());
        let original = calls[rank][at];
        let altered = &mut calls[rank][at];
        match random.below(4) {
            0 => altered.count += 1,
            1 => altered.data_type = DataType::I32,
            2 => match &mut altered.kind {
                CallKind::AllReduce(reduction)
                | CallKind::ReduceScatter(reduction)
                | CallKind::Reduce { reduction, .. } => *reduction = Reduction::Product,
                CallKind::Broadcast { root } => *root += 1,
                kind @ CallKind::AllGather => *kind = CallKind::AllReduce(Reduction::Sum),
                CallKind::Send { .. } | CallKind::Receive { .. } => altered.count += 1,
            },
            _ if original.pair(rank).is_none() => altered.group_position.of += 1,
            _ => altered.count += 1,
        }
        let altered = *altered;
        let mut ledger = ledger(ranks, seed % 2 == 0);
        let found = record(&mut ledger, &calls, &mut random).unwrap_err();
        let ends = [(found.rank, found.call), (found.other, found.other_call)];
        // A wrong count of a send to itself is found between two calls of one rank.
        assert!(ends.contains(&(rank, altered)), "{found}, but {altered} was {original}");
    }
}

#[test]
fn transfers_with_ranks_of_other_processes_are_left_out() {
    let mut ledger = Ledger::new(Ranks::Some([].into()));
    assert!(ledger.join(0) && ledger.join(2));
    for _ in 0..5 {
        ledger
            .record(0, [call(CallKind::Send { to: 1 }, 3), call(CallKind::AllGather, 4)])
            .unwrap();
        ledger.record(2, [call(CallKind::AllGather, 4)]).unwrap();
    }
    assert!(ledger.transfers.is_empty() && ledger.open.is_empty());
    ledger.record(0, [call(CallKind::Send { to: 2 }, 3)]).unwrap();
    let text = ledger.record(2, [call(CallKind::Receive { from: 0 }, 4)]).unwrap_err().to_string();
    assert_eq!(
        text,
        "the calls of ranks 2 and 0 differ in transfer 1 from rank 0 to rank 2: rank 2 called `receive` from rank 0 (4 \
         elements of `f32`), rank 0 called `send` to rank 2 (3 elements of `f32`); help: all \
         ranks must make the same calls in the same order"
    );
}
