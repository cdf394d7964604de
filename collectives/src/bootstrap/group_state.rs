//! What the threads of a group share, and the thread that serves one connection.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::Error;
use super::comparison::Ledgers;
use super::link::{Link, Received, Receiver};
use super::message::{GroupCall, Message, OperationFailure};
use crate::{call_matching::Mismatch, library_mismatch::LibraryMismatch};

/// No rank is lost.
const NONE: usize = usize::MAX;
/// The longest timeout, which can be added to any time.
const YEAR: Duration = Duration::from_secs(365 * 24 * 3600);
/// How long a group waits for the other end of a connection when it leaves.
const FAREWELL: Duration = Duration::from_secs(1);

/// The payload of an operation; or why all ranks called it and none does it.
pub(crate) type Released = Result<Vec<u8>, LibraryMismatch>;

/// The time when a timeout is over.
pub(crate) fn deadline(timeout: Duration) -> Instant {
    Instant::now() + timeout.min(YEAR)
}

pub(crate) struct Shared {
    pub(crate) rank: usize,
    pub(crate) world_size: usize,
    pub(crate) timeout: Duration,
    pub(crate) heartbeat: Duration,
    pub(crate) lost_after: Duration,
    /// On rank 0: to all other ranks, from 1. Else: to rank 0.
    pub(crate) links: Vec<Link>,
    /// On rank 0: the calls of communicators.
    pub(crate) ledgers: Ledgers,
    lost: AtomicUsize,
    /// Whether the calls of any communicator do not match.
    pub(crate) mismatched: AtomicBool,
    state: Mutex<GroupState>,
    changed: Condvar,
}

#[derive(Default)]
pub(crate) struct GroupState {
    /// The error that ended the group's operations.
    pub(crate) failure: Option<Error>,
    /// By rank: the operation that it has called, and its library if that joins a communicator. On rank 0 only.
    pub(crate) arrived: Vec<Option<(GroupCall, String)>>,
    /// The last operation that rank 0 has released, and its payload; or why it has refused it.
    pub(crate) released: Option<(GroupCall, Released)>,
    /// The ranks that rank 0 said it is waiting for.
    pub(crate) waiting_for: Option<Vec<usize>>,
    /// By rank: whether it has left in order.
    pub(crate) left: Vec<bool>,
    /// The communicators whose last calls rank 0 has found to match.
    pub(crate) matched: BTreeSet<u64>,
    /// The mismatches of calls, by communicator.
    pub(crate) mismatches: BTreeMap<u64, Mismatch>,
    /// Set when this process leaves: until when its connections stay open.
    leaving: Option<Instant>,
}

impl GroupState {
    pub(crate) fn is_leaving(&self) -> bool {
        self.leaving.is_some()
    }
}

impl Shared {
    pub(crate) fn new(config: &super::RankConfig, links: Vec<Link>) -> Self {
        let state = GroupState {
            arrived: vec![None; config.world_size],
            left: vec![false; config.world_size],
            ..GroupState::default()
        };
        Self {
            rank: config.rank,
            world_size: config.world_size,
            timeout: config.timeout,
            heartbeat: config.heartbeat,
            lost_after: config.lost_after,
            links,
            ledgers: Ledgers::default(),
            lost: AtomicUsize::new(NONE),
            mismatched: AtomicBool::new(false),
            state: Mutex::new(state),
            changed: Condvar::new(),
        }
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, GroupState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a change of the state.
    pub(crate) fn wait<'a>(
        &self,
        state: MutexGuard<'a, GroupState>,
        most: Duration,
    ) -> MutexGuard<'a, GroupState> {
        self.changed.wait_timeout(state, most).unwrap_or_else(PoisonError::into_inner).0
    }

    /// Wakes the threads that wait for a change.
    pub(crate) fn wake(&self) {
        self.changed.notify_all();
    }

    pub(crate) fn lost(&self) -> Option<usize> {
        Some(self.lost.load(Ordering::Acquire)).filter(|&rank| rank != NONE)
    }

    pub(crate) fn tell_all(&self, message: &Message) {
        for link in &self.links {
            link.send(message);
        }
    }

    /// Tells the other processes that this one leaves. Its threads end when these have heard it, or soon.
    pub(crate) fn leave(&self) {
        self.state().leaving = Some(deadline(FAREWELL));
        for link in &self.links {
            // The thread that noticed a loss may not have told the others yet, to which this process would be the one
            // that is missing.
            if let (0, Some(lost)) = (self.rank, self.lost()) {
                link.send(&Message::Lost(lost));
            }
            link.finish(Some(&Message::Goodbye));
        }
    }

    /// Closes all connections without a word, as the system does when the process dies.
    #[cfg(test)]
    pub(crate) fn die(&self) {
        self.state().leaving = Some(deadline(FAREWELL));
        self.links.iter().for_each(Link::cut);
    }

    /// Serves a connection until it ends. This is the body of a thread.
    pub(crate) fn serve(&self, link: &Link, mut receiver: Receiver) {
        let (mut heard, mut sent) = (Instant::now(), Instant::now());
        loop {
            match receiver.receive() {
                Received::Message(Message::Goodbye) => return self.peer_left(link),
                Received::Message(message) => {
                    heard = Instant::now();
                    if !self.handle(link, message) {
                        return self.lose(link);
                    }
                }
                Received::Nothing => {}
                Received::End => return self.lose(link),
            }
            if let Some(until) = self.state().leaving {
                if Instant::now() >= until {
                    return;
                }
            } else if heard.elapsed() >= self.lost_after {
                return self.lose(link);
            } else if sent.elapsed() >= self.heartbeat {
                link.send(&Message::Heartbeat);
                sent = Instant::now();
            }
        }
    }

    /// Takes a message. Returns whether its sender may send it.
    fn handle(&self, link: &Link, message: Message) -> bool {
        if let (0, Message::Compare(communicator, calls)) = (self.rank, &message) {
            let compared = self.record(*communicator, link.peer, calls);
            if let Some(Ok(())) = compared {
                link.send(&Message::Matched(*communicator));
            }
            return compared.is_some();
        }
        let mut state = self.state();
        match message {
            Message::Heartbeat => return true,
            Message::Arrive(call, library) if self.rank == 0 => {
                if state.arrived[link.peer].replace((call, library)).is_some() {
                    return false;
                }
            }
            // The rest comes from rank 0.
            _ if self.rank == 0 => return false,
            Message::Waiting(mut ranks) => {
                // This process may have called the operation in the meantime.
                ranks.retain(|&rank| rank != self.rank);
                state.waiting_for = Some(ranks);
            }
            Message::Release(call, payload) => state.released = Some((call, Ok(payload))),
            Message::Refused(call, mismatch) => state.released = Some((call, Err(mismatch))),
            Message::Failed(failure) => {
                let error = failure.error("an operation of the group", self.timeout);
                state.failure.get_or_insert(error);
            }
            Message::Matched(communicator) => _ = state.matched.insert(communicator),
            Message::Mismatch(communicator, mismatch) => {
                self.note_mismatch(&mut state, communicator, mismatch);
            }
            Message::Lost(rank) if rank < self.world_size => self.note_lost(&mut state, rank),
            _ => return false,
        }
        self.changed.notify_all();
        true
    }

    fn note_lost(&self, state: &mut GroupState, rank: usize) {
        // The first one counts.
        let _ = self.lost.compare_exchange(NONE, rank, Ordering::AcqRel, Ordering::Relaxed);
        state.failure.get_or_insert(Error::PeerLost { rank });
    }

    /// The peer of a connection is lost. Rank 0 tells the others.
    fn lose(&self, link: &Link) {
        let mut state = self.state();
        if state.leaving.is_some() {
            return;
        }
        self.note_lost(&mut state, link.peer);
        self.changed.notify_all();
        drop(state);
        link.cut();
        if self.rank == 0 {
            for other in self.links.iter().filter(|other| other.peer != link.peer) {
                other.send(&Message::Lost(link.peer));
            }
        }
    }

    fn peer_left(&self, link: &Link) {
        self.state().left[link.peer] = true;
        self.changed.notify_all();
        link.finish(None);
    }

    /// Ends the operations of the group with an error, unless they have ended. Rank 0 tells the others.
    pub(crate) fn fail(&self, error: &Error) {
        let mut state = self.state();
        if state.failure.is_some() {
            return;
        }
        state.failure = Some(error.clone());
        drop(state);
        let failure = match error {
            Error::Timeout { missing, .. } => OperationFailure::Timeout(missing.clone()),
            Error::Left { rank } => OperationFailure::Left(*rank),
            Error::OutOfOrder { rank } => OperationFailure::OutOfOrder(*rank),
            _ => return,
        };
        if self.rank == 0 {
            self.tell_all(&Message::Failed(failure));
        }
    }
}
