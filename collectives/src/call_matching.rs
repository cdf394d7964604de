//! [`Ledger`]: compares the calls of the ranks of a communicator.
//!
//! NCCL requires that the calls of all ranks match, and does not compare them. A call that does not match may write
//! outside of the tensors of any rank. So each call is compared before it is enqueued: with the first call of the same
//! number, which the calls of all other ranks were compared with. NCCL moves data between ranks that have called an
//! operation, which all match then.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::call::{CallKind, CollectiveCall};

/// Two ranks have called different operations, where they must be the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "the calls of ranks {rank} and {other} differ in {}: rank {rank} called {call}, rank {other} called {other_call}; \
     help: all ranks must make the same calls in the same order",
    position(.call, *.rank, *.number)
)]
#[non_exhaustive]
pub struct Mismatch {
    /// The rank that called later.
    pub rank: usize,
    /// What it called.
    pub call: CollectiveCall,
    /// The rank that called earlier.
    pub other: usize,
    /// What it called.
    pub other_call: CollectiveCall,
    /// The number of the operation, from 1: among the collective operations of the communicator, or among the transfers
    /// from the sender to the receiver.
    pub number: u64,
}

/// The calls of a communicator that not all ranks have made.
#[derive(Debug)]
pub(crate) struct Ledger {
    ranks: Ranks,
    /// Whether there was a call.
    started: bool,
    /// The number of collective operations that each rank has called.
    called: BTreeMap<usize, u64>,
    /// The number of collective operations that all ranks have called.
    complete: u64,
    /// The following ones.
    open: VecDeque<UnmatchedCall>,
    /// By sender and receiver.
    transfers: BTreeMap<(usize, usize), Transfers>,
}

/// The ranks whose calls are compared.
#[derive(Debug)]
pub(crate) enum Ranks {
    /// All of so many.
    All(usize),
    /// These, before the first call.
    Some(BTreeSet<usize>),
}

/// A collective operation that not all ranks have called.
#[derive(Debug)]
struct UnmatchedCall {
    /// The first call, and its rank.
    call: CollectiveCall,
    rank: usize,
    /// The number of ranks that have not called it.
    missing: usize,
}

/// The sends and receives of a pair of ranks.
#[derive(Debug, Default)]
struct Transfers {
    /// The number of those that both have called.
    complete: u64,
    /// The following ones: all sends, or all receives.
    open: VecDeque<CollectiveCall>,
}

impl Ledger {
    pub(crate) fn new(ranks: Ranks) -> Self {
        Self {
            ranks,
            started: false,
            called: BTreeMap::new(),
            complete: 0,
            open: VecDeque::new(),
            transfers: BTreeMap::new(),
        }
    }

    /// Adds a rank. Returns whether it may join: it is new, and there was no call.
    pub(crate) fn join(&mut self, rank: usize) -> bool {
        match &mut self.ranks {
            Ranks::All(_) => true,
            Ranks::Some(ranks) => !self.started && ranks.insert(rank),
        }
    }

    /// Adds the next calls of a rank. The other ranks may have made them or not.
    ///
    /// # Errors
    /// A mismatch. Then no further calls may be added.
    pub(crate) fn record(
        &mut self,
        rank: usize,
        calls: impl IntoIterator<Item = CollectiveCall>,
    ) -> Result<(), Mismatch> {
        self.started = true;
        calls.into_iter().try_for_each(|call| match call.pair(rank) {
            Some(pair) => self.transfer(rank, pair, call),
            None => self.collective(rank, call),
        })
    }

    fn collective(&mut self, rank: usize, call: CollectiveCall) -> Result<(), Mismatch> {
        let called = self.called.entry(rank).or_default();
        // No rank has called less than all have.
        let at = (*called - self.complete) as usize;
        *called += 1;
        let Some(open) = self.open.get_mut(at) else {
            let missing = self.ranks.count() - 1;
            if missing > 0 {
                self.open.push_back(UnmatchedCall { call, rank, missing });
            } else {
                self.complete += 1;
            }
            return Ok(());
        };
        if open.call != call {
            let (other, other_call, number) = (open.rank, open.call, *called);
            return Err(Mismatch { rank, call, other, other_call, number });
        }
        open.missing -= 1;
        // The first one is complete first, since each rank makes its calls in order.
        if open.missing == 0 {
            self.open.pop_front();
            self.complete += 1;
        }
        Ok(())
    }

    fn transfer(
        &mut self,
        rank: usize,
        pair: (usize, usize),
        call: CollectiveCall,
    ) -> Result<(), Mismatch> {
        let other = if rank == pair.0 { pair.1 } else { pair.0 };
        if !self.ranks.contain(other) {
            return Ok(());
        }
        let transfers = self.transfers.entry(pair).or_default();
        let is_send = |call: &CollectiveCall| matches!(call.kind, CallKind::Send { .. });
        match transfers.open.front() {
            Some(first) if is_send(first) != is_send(&call) => {
                let other_call = *first;
                transfers.open.pop_front();
                transfers.complete += 1;
                if (call.count, call.data_type) != (other_call.count, other_call.data_type) {
                    let number = transfers.complete;
                    return Err(Mismatch { rank, call, other, other_call, number });
                }
            }
            _ => transfers.open.push_back(call),
        }
        Ok(())
    }
}

impl Ranks {
    fn count(&self) -> usize {
        match self {
            Self::All(count) => *count,
            Self::Some(ranks) => ranks.len(),
        }
    }

    fn contain(&self, rank: usize) -> bool {
        match self {
            Self::All(count) => rank < *count,
            Self::Some(ranks) => ranks.contains(&rank),
        }
    }
}

/// What a call of a rank is the `number`th of.
fn position(call: &CollectiveCall, rank: usize, number: u64) -> String {
    match call.pair(rank) {
        Some((from, to)) => format!("transfer {number} from rank {from} to rank {to}"),
        None => format!("collective operation {number}"),
    }
}

#[cfg(test)]
mod tests;
