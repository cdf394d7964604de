//! The comparison of calls of communicators between processes.
//!
//! Rank 0 has a ledger for each communicator. Another rank sends its calls, and waits for the answer before it enqueues
//! them. Rank 0 answers at once, whether other ranks have made the calls or not.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::group_state::{GroupState, Shared, deadline};
use super::message::{MOST_CALLS, Message};
use super::{Error, ProcessGroup};
use crate::{
    call::CollectiveCall,
    call_matching::{Ledger, Mismatch, Ranks},
};

/// Why calls must not be enqueued.
#[derive(Debug)]
pub(crate) enum Refusal {
    Mismatch(Mismatch),
    /// Rank 0 does not answer.
    Unanswered(Error),
    /// The communicator was aborted.
    Ended,
}

/// How often a waiting rank looks whether its communicator was aborted.
const CHECK: Duration = Duration::from_millis(50);

/// What rank 0 keeps of the calls of all ranks, by the numbers of their communicators; or the mismatch.
#[derive(Debug, Default)]
pub(crate) struct Ledgers(Mutex<BTreeMap<u64, Result<Ledger, Mismatch>>>);

impl Ledgers {
    /// Adds a communicator of all ranks.
    pub(crate) fn add(&self, communicator: u64, ranks: usize) {
        let ledger = Ledger::new(Ranks::All(ranks));
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(communicator, Ok(ledger));
    }

    /// Removes a communicator that was not joined.
    pub(crate) fn remove(&self, communicator: u64) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&communicator);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    /// Compares calls. `None` if there is no such communicator.
    pub(crate) fn record(
        &self,
        communicator: u64,
        rank: usize,
        calls: &[CollectiveCall],
    ) -> Option<Result<(), Mismatch>> {
        let mut ledgers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let slot = ledgers.get_mut(&communicator)?;
        let recorded = match slot {
            Ok(ledger) => ledger.record(rank, calls.iter().copied()),
            Err(mismatch) => Err(*mismatch),
        };
        if let Err(mismatch) = recorded {
            *slot = Err(mismatch);
        }
        Some(recorded)
    }
}

impl Shared {
    /// On rank 0: compares calls of a rank. After a mismatch, all ranks hear of it. `None` if there is no such
    /// communicator.
    pub(crate) fn record(
        &self,
        communicator: u64,
        rank: usize,
        calls: &[CollectiveCall],
    ) -> Option<Result<(), Mismatch>> {
        let recorded = self.ledgers.record(communicator, rank, calls)?;
        if let Err(mismatch) = recorded {
            self.note_mismatch(&mut self.state(), communicator, mismatch);
            self.tell_all(&Message::Mismatch(communicator, mismatch));
        }
        Some(recorded)
    }

    /// Notes that the calls of a communicator do not match.
    pub(crate) fn note_mismatch(
        &self,
        state: &mut GroupState,
        communicator: u64,
        mismatch: Mismatch,
    ) {
        state.mismatches.entry(communicator).or_insert(mismatch);
        self.mismatched.store(true, Ordering::Release);
        self.wake();
    }
}

impl ProcessGroup {
    /// Compares the next calls of this rank in a communicator with those of the other ranks.
    ///
    /// # Errors
    /// A mismatch; or rank 0 does not answer; or `ended`, which is called from time to time, returns true.
    pub(crate) fn compare(
        &self,
        communicator: u64,
        calls: &[CollectiveCall],
        timeout: Duration,
        ended: &dyn Fn() -> bool,
    ) -> Result<(), Refusal> {
        let (shared, rank) = (&self.shared, self.rank());
        if rank == 0 {
            let unknown = || Refusal::Unanswered(Error::protocol("an unknown communicator"));
            let recorded = shared.record(communicator, rank, calls).ok_or_else(unknown)?;
            return recorded.map_err(Refusal::Mismatch);
        }
        let until = deadline(timeout);
        for part in calls.chunks(MOST_CALLS) {
            shared.tell_all(&Message::Compare(communicator, part.to_vec()));
            let mut state = shared.state();
            while !state.matched.remove(&communicator) {
                if let Some(mismatch) = state.mismatches.get(&communicator) {
                    return Err(Refusal::Mismatch(*mismatch));
                }
                if let Some(rank) = shared.lost() {
                    return Err(Refusal::Unanswered(Error::PeerLost { rank }));
                }
                if state.left[0] {
                    return Err(Refusal::Unanswered(Error::Left { rank: 0 }));
                }
                let remaining = until.saturating_duration_since(Instant::now());
                if remaining.is_zero() {
                    let (what, missing) = ("a comparison of calls".into(), vec![0]);
                    let error = Error::Timeout { what, after: timeout, missing, rejected: 0 };
                    return Err(Refusal::Unanswered(error));
                }
                if ended() {
                    return Err(Refusal::Ended);
                }
                state = shared.wait(state, remaining.min(CHECK));
            }
        }
        Ok(())
    }

    /// The mismatch of calls of a communicator.
    pub(crate) fn mismatch(&self, communicator: u64) -> Option<Mismatch> {
        match self.shared.mismatched.load(Ordering::Acquire) {
            true => self.shared.state().mismatches.get(&communicator).copied(),
            false => None,
        }
    }

    /// On rank 0: waits until the others have left, because it compares their calls.
    pub(super) fn wait_for_others(&self) {
        let shared = &self.shared;
        if self.rank() != 0 || shared.ledgers.is_empty() || std::thread::panicking() {
            return;
        }
        let until = deadline(shared.timeout);
        let mut state = shared.state();
        let all_left = |state: &GroupState| !state.left[1..].contains(&false);
        while shared.lost().is_none() && !all_left(&state) && !state.is_leaving() {
            let remaining = until.saturating_duration_since(Instant::now());
            if remaining.is_zero() {
                return;
            }
            state = shared.wait(state, remaining);
        }
    }
}
