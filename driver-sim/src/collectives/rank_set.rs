//! The ranks of a communicator.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
};

use parking_lot::Mutex;

use super::{
    matched_call::{MatchedCall, MatchedCallId, RankCall},
    progress::changed,
    request::Signature,
    status::Status,
};

/// One rank. Its flags are shared with its operations.
#[derive(Debug)]
pub(crate) struct Rank {
    pub(crate) number: usize,
    pub(crate) world: u16,
    pub(crate) aborted: AtomicBool,
    /// Its context was lost or destroyed.
    pub(crate) lost: AtomicBool,
    /// Its connection to the others was lost.
    pub(crate) broken: AtomicBool,
}

/// The ranks that use one unique id.
#[derive(Debug)]
pub(crate) struct RankSet {
    id: u64,
    size: usize,
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    /// Those that have joined.
    ranks: BTreeMap<usize, Arc<Rank>>,
    /// Why the communicators cannot be created.
    failed: Option<Status>,
    /// Whether calls of the ranks did not match.
    mismatched: bool,
    /// The calls that some ranks have not made yet.
    open: BTreeMap<MatchedCallId, Arc<MatchedCall>>,
}

/// Unique ids that are given out, with the rank set once a rank has joined. Removed when all ranks have joined.
static RANK_SETS: Mutex<BTreeMap<u64, Option<Arc<RankSet>>>> = Mutex::new(BTreeMap::new());
static NEXT: AtomicU64 = AtomicU64::new(1);

/// A new unique id.
pub(crate) fn new_unique_id() -> u64 {
    let id = NEXT.fetch_add(1, Relaxed);
    RANK_SETS.lock().insert(id, None);
    id
}

/// Joins the rank set of a unique id.
pub(crate) fn join_rank_set(
    id: u64,
    size: usize,
    rank: &Arc<Rank>,
) -> Result<Arc<RankSet>, Status> {
    let mut rank_sets = RANK_SETS.lock();
    let slot = rank_sets.get_mut(&id).ok_or(Status::INVALID_ARGUMENT)?;
    let new = || Arc::new(RankSet { id, size, inner: Mutex::default() });
    let rank_set = slot.get_or_insert_with(new).clone();
    let mut inner = rank_set.inner.lock();
    if rank_set.size != size || inner.ranks.contains_key(&rank.number) {
        return Err(Status::INVALID_ARGUMENT);
    }
    if let Some(failed) = inner.failed {
        return Err(failed);
    }
    if inner.ranks.values().any(|other| other.world == rank.world) {
        // NCCL gives each rank a device of its own.
        inner.failed = Some(Status::INVALID_USAGE);
        changed();
        return Err(Status::INVALID_USAGE);
    }
    inner.ranks.insert(rank.number, rank.clone());
    if inner.ranks.len() == size {
        rank_sets.remove(&id);
    }
    drop(inner);
    changed();
    Ok(rank_set)
}

impl Rank {
    pub(crate) fn new(number: usize, world: u16) -> Self {
        let [aborted, lost, broken] = [const { AtomicBool::new(false) }; 3];
        Self { number, world, aborted, lost, broken }
    }

    pub(crate) fn is_aborted(&self) -> bool {
        self.aborted.load(Relaxed)
    }

    pub(crate) fn is_broken(&self) -> bool {
        self.broken.load(Relaxed)
    }

    /// Whether operations of the rank that have not run never will, or have no effect.
    pub(crate) fn is_gone(&self) -> bool {
        self.is_aborted() || self.lost.load(Relaxed)
    }
}

impl RankSet {
    /// Whether all ranks have joined.
    pub(crate) fn is_complete(&self) -> bool {
        let inner = self.inner.lock();
        inner.failed.is_none() && inner.ranks.len() == self.size
    }

    /// Gives up the creation of the communicators.
    pub(crate) fn fail(&self, status: Status) {
        self.inner.lock().failed.get_or_insert(status);
        RANK_SETS.lock().remove(&self.id);
        changed();
    }

    /// The state of a rank's communicator as far as the rank set knows.
    pub(crate) fn status(&self, own: &Rank) -> Status {
        let inner = self.inner.lock();
        let gone = |rank: &Arc<Rank>| rank.number != own.number && rank.is_gone();
        if inner.mismatched {
            Status::INVALID_USAGE
        } else if own.is_broken() || inner.ranks.values().any(gone) {
            Status::REMOTE_ERROR
        } else if let Some(failed) = inner.failed {
            failed
        } else if inner.ranks.len() < self.size {
            Status::IN_PROGRESS
        } else {
            Status::SUCCESS
        }
    }

    /// Finds the matched call that a rank's call is a part of. `index` is the position of the rank among those that
    /// call: in collective calls its number, else 0 to send and 1 to receive. Also returns a description if the call
    /// does not match those of other ranks.
    pub(crate) fn match_call(
        &self,
        id: MatchedCallId,
        signature: Signature,
        own: &Rank,
        index: usize,
    ) -> (RankCall, Option<String>) {
        let mut inner = self.inner.lock();
        let ranks: Vec<Arc<Rank>> = match id {
            MatchedCallId::Collective(_) => inner.ranks.values().cloned().collect(),
            MatchedCallId::Transfer { from, to, .. } => {
                [from, to].iter().filter_map(|rank| inner.ranks.get(rank).cloned()).collect()
            }
        };
        let new = || Arc::new(MatchedCall::new(id, signature, own.number, ranks));
        let matched = inner.open.entry(id).or_insert_with(new).clone();
        let mismatch = matched.compare(&signature, own.number);
        inner.mismatched |= mismatch.is_some();
        let call = matched.join(index);
        if matched.is_full() {
            inner.open.remove(&id);
        }
        (call, mismatch)
    }
}
