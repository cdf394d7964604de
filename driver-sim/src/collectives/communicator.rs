//! A communicator: one rank's part of a rank set, in the rank's world.

use std::{collections::BTreeMap, sync::Arc};

use super::{
    matched_call::MatchedCallId,
    rank_set::{Rank, RankSet},
    request::{Request, Role},
    status::Status,
};
use crate::op_id::OpId;

/// This many launches of a communicator that does not block are late, as if a thread of the library made them.
const LATE_LAUNCHES: u32 = 2;
/// A late launch is made when the program asks for the state for this time.
const LATE_QUERIES: u32 = 2;

#[derive(Debug)]
pub(crate) struct SimCommunicator {
    pub(crate) rank: Arc<Rank>,
    pub(crate) size: usize,
    /// `None` until it has joined, which in a group is at the end.
    pub(crate) rank_set: Option<Arc<RankSet>>,
    pub(crate) blocking: bool,
    pub(crate) phase: CommunicatorPhase,
    /// The error of a late launch or of the creation.
    pub(crate) error: Option<Status>,
    /// The ends of its calls. It may contain complete ones.
    pub(crate) ends: Vec<OpId>,
    launches: u32,
    late: Option<DeferredEnqueue>,
    collectives: u64,
    sends: BTreeMap<usize, u64>,
    receives: BTreeMap<usize, u64>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum CommunicatorPhase {
    Open,
    /// It takes no calls any more.
    Finalized,
}

/// Calls that are not enqueued yet.
#[derive(Debug)]
struct DeferredEnqueue {
    requests: Vec<Request>,
    queries: u32,
}

impl SimCommunicator {
    pub(crate) fn new(rank: Arc<Rank>, size: usize, blocking: bool) -> Self {
        Self {
            rank,
            size,
            rank_set: None,
            blocking,
            phase: CommunicatorPhase::Open,
            error: None,
            ends: Vec::new(),
            launches: 0,
            late: None,
            collectives: 0,
            sends: BTreeMap::new(),
            receives: BTreeMap::new(),
        }
    }

    /// The asynchronous error, without that of a lost context.
    pub(crate) fn status(&self) -> Status {
        let rank_set = match &self.rank_set {
            Some(rank_set) => rank_set.status(&self.rank),
            None => Status::IN_PROGRESS,
        };
        match (rank_set, self.error) {
            (Status::SUCCESS | Status::IN_PROGRESS, Some(error)) => error,
            (Status::SUCCESS, None) if self.late.is_some() => Status::IN_PROGRESS,
            (status, _) => status,
        }
    }

    /// Whether it takes calls. After an error of other ranks it does, but they never complete.
    pub(crate) fn check_open(&self) -> Result<(), Status> {
        match (self.phase, self.status()) {
            (CommunicatorPhase::Finalized, _) | (_, Status::IN_PROGRESS) => {
                Err(Status::INVALID_USAGE)
            }
            (_, status)
                if !self.rank_set.as_ref().is_some_and(|rank_set| rank_set.is_complete()) =>
            {
                Err(status)
            }
            _ => self.error.map_or(Ok(()), Err),
        }
    }

    /// Keeps calls to enqueue them later, if this launch is late. Otherwise returns them.
    pub(crate) fn delay(&mut self, requests: Vec<Request>) -> Option<Vec<Request>> {
        self.launches += 1;
        if self.blocking || self.launches > LATE_LAUNCHES {
            return Some(requests);
        }
        self.late = Some(DeferredEnqueue { requests, queries: 0 });
        None
    }

    /// The program asks for the state. Returns calls to enqueue now.
    pub(crate) fn query(&mut self) -> Option<Vec<Request>> {
        let late = self.late.as_mut()?;
        late.queries += 1;
        if late.queries < LATE_QUERIES {
            return None;
        }
        self.late.take().map(|late| late.requests)
    }

    /// The position of a call among those of the rank set, and that of the rank among those that call.
    pub(crate) fn next_call(&mut self, role: Role) -> (MatchedCallId, usize) {
        let own = self.rank.number;
        let next = |count: &mut u64| {
            *count += 1;
            *count
        };
        match role {
            Role::All => (MatchedCallId::Collective(next(&mut self.collectives)), own),
            Role::SendTo(to) => {
                let number = next(self.sends.entry(to).or_default());
                (MatchedCallId::Transfer { from: own, to, number }, 0)
            }
            Role::ReceiveFrom(from) => {
                let number = next(self.receives.entry(from).or_default());
                (MatchedCallId::Transfer { from, to: own, number }, 1)
            }
        }
    }
}
