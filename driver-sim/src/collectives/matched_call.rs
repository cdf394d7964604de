//! The calls of ranks that belong together: what each of them has done, and what it still waits for.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
};

use parking_lot::Mutex;

use super::{
    blocker::Blocker,
    rank_set::Rank,
    request::{CollectiveKind, Signature},
};
use crate::{memory::Payload, remote::Remote};

/// The position of a matched call among those of its rank set.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum MatchedCallId {
    /// The collective call of this number.
    Collective(u64),
    /// The send of this number from one rank to another, and its receive.
    Transfer { from: usize, to: usize, number: u64 },
}

#[derive(Debug)]
pub(crate) struct MatchedCall {
    id: MatchedCallId,
    signature: Signature,
    /// The rank that came first, whose signature it is.
    first: usize,
    /// Of a transfer, the sender and the receiver, which may be the same.
    ranks: Vec<Arc<Rank>>,
    mismatched: AtomicBool,
    progress: Mutex<Vec<RankProgress>>,
}

/// What a rank has done so far. It owns no lock of a world, so a matched call may be used in any.
#[derive(Debug, Default)]
struct RankProgress {
    called: bool,
    /// The operations of its call, once they are enqueued.
    start: Option<Remote>,
    read: Option<Remote>,
    /// Whether its start was reached in the stream.
    started: bool,
    /// What it sends, once it is read.
    sent: Option<Payload>,
}

/// A rank's part of a matched call.
#[derive(Clone, Debug)]
pub(crate) struct RankCall {
    pub(crate) call: Arc<MatchedCall>,
    pub(crate) index: usize,
}

impl MatchedCall {
    pub(crate) fn new(
        id: MatchedCallId,
        signature: Signature,
        first: usize,
        ranks: Vec<Arc<Rank>>,
    ) -> Self {
        let progress = Mutex::new(ranks.iter().map(|_| RankProgress::default()).collect());
        Self { id, signature, first, ranks, mismatched: AtomicBool::new(false), progress }
    }

    /// Compares the call of a rank with the first one. Returns a description if they do not match.
    pub(crate) fn compare(&self, signature: &Signature, rank: usize) -> Option<String> {
        if *signature == self.signature {
            return None;
        }
        self.mismatched.store(true, Relaxed);
        let Self { id, signature: expected, first, .. } = self;
        Some(format!("rank {rank}: {signature}, rank {first}: {expected}, {id}"))
    }

    /// Notes that a rank calls now.
    pub(crate) fn join(self: &Arc<Self>, index: usize) -> RankCall {
        if let Some(rank) = self.progress.lock().get_mut(index) {
            rank.called = true;
        }
        RankCall { call: self.clone(), index }
    }

    /// Whether all ranks have called, so that none has to find it any more.
    pub(crate) fn is_full(&self) -> bool {
        self.progress.lock().iter().all(|rank| rank.called)
    }

    /// The ranks whose calls are missing, or will never be complete.
    pub(crate) fn describe_missing(&self) -> String {
        let mut text = format!("{}, {}", self.signature, self.id);
        if self.mismatched.load(Relaxed) {
            text += ": the calls of the ranks do not match";
        }
        for (index, (rank, progress)) in self.ranks.iter().zip(&*self.progress.lock()).enumerate() {
            let call = match (self.signature.kind, index) {
                (CollectiveKind::Transfer, 0) => " its send",
                (CollectiveKind::Transfer, _) => " its receive",
                _ => "",
            };
            let number = rank.number;
            if rank.is_aborted() {
                text += &format!(": rank {number} was aborted");
            } else if rank.is_gone() {
                text += &format!(": the context of rank {number} is lost");
            } else if rank.is_broken() {
                text += &format!(": the communicator of rank {number} is broken");
            } else if progress.start.is_none() {
                text += &format!(": rank {number} has not enqueued{call}");
            }
        }
        text
    }
}

impl RankCall {
    pub(crate) fn rank(&self) -> &Rank {
        &self.call.ranks[self.index]
    }

    /// The operations of the call, before any of them can run.
    pub(crate) fn enqueue(&self, start: Remote, read: Option<Remote>) {
        self.with(|rank| (rank.start, rank.read) = (Some(start), read));
    }

    /// The start is reached.
    pub(crate) fn start(&self) {
        self.with(|rank| rank.started = true);
    }

    /// The send buffer is read.
    pub(crate) fn send(&self, payload: Payload) {
        self.with(|rank| rank.sent = Some(payload));
    }

    /// What a read still waits for: the starts of all ranks.
    pub(crate) fn before_read(&self) -> Option<Blocker> {
        self.first_missing(|rank| (!rank.started).then_some(rank.start.as_ref()))
    }

    /// What a write still waits for: the reads of all ranks that send something.
    pub(crate) fn before_write(&self) -> Option<Blocker> {
        self.first_missing(|rank| match (&rank.start, &rank.read, &rank.sent) {
            (Some(_), None, _) | (_, _, Some(_)) => None,
            (_, read, None) => Some(read.as_ref()),
        })
    }

    /// The starts, for the clock of a read.
    pub(crate) fn starts(&self) -> Vec<Remote> {
        self.call.progress.lock().iter().filter_map(|rank| rank.start.clone()).collect()
    }

    /// The reads, for the clock of a write.
    pub(crate) fn reads(&self) -> Vec<Remote> {
        self.call.progress.lock().iter().filter_map(|rank| rank.read.clone()).collect()
    }

    /// What the ranks sent, in their order. `None` if something is missing.
    pub(crate) fn sent(&self) -> Vec<Option<Payload>> {
        self.call.progress.lock().iter().map(|rank| rank.sent.clone()).collect()
    }

    fn with(&self, action: impl FnOnce(&mut RankProgress)) {
        if let Some(rank) = self.call.progress.lock().get_mut(self.index) {
            action(rank);
        }
    }

    /// The first rank that is not as far as this one needs: `missing` gives its operation, if it exists.
    fn first_missing(
        &self,
        missing: impl Fn(&RankProgress) -> Option<Option<&Remote>>,
    ) -> Option<Blocker> {
        let call = &self.call;
        if self.rank().is_aborted() {
            return None;
        }
        let stuck = || Some(Blocker::MatchedCall(call.clone()));
        if self.rank().is_broken() || call.mismatched.load(Relaxed) {
            return stuck();
        }
        let mut first = None;
        for (progress, rank) in call.progress.lock().iter().zip(&call.ranks) {
            match missing(progress) {
                None => {}
                Some(Some(operation)) if !rank.is_gone() => {
                    first.get_or_insert_with(|| Blocker::from(operation));
                }
                Some(_) => return stuck(),
            }
        }
        first
    }
}

impl fmt::Display for MatchedCallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Collective(number) => write!(f, "collective call {number} of the communicator"),
            Self::Transfer { from, to, number } => {
                write!(f, "transfer {number} from rank {from} to rank {to}")
            }
        }
    }
}
