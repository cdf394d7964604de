//! [`LocalRanks`]: the ranks of a communicator that are in this process.

use std::{
    collections::{BTreeSet, HashMap},
    sync::{
        Arc, Weak,
        atomic::{AtomicBool, Ordering},
    },
};

use parking_lot::{Mutex, MutexGuard};

use crate::{
    Error, Result, UniqueId,
    call::CollectiveCall,
    call_matching::{Ledger, Ranks},
    error::Failure,
    library_mismatch::LibraryMismatch,
    local::Exchange,
    unique_id::Id,
};

/// What errors call the creation of a communicator.
pub(crate) const CREATE: &str = "create a communicator";

/// The ranks in this process. If one fails, all do, since the operations of the others cannot complete.
#[derive(Debug)]
pub(crate) struct LocalRanks {
    size: usize,
    state: Mutex<State>,
    /// Whether the state has a failure.
    failed: AtomicBool,
    /// The operations of ranks on the CPU.
    pub(crate) exchange: Exchange,
}

#[derive(Debug)]
struct State {
    joined: BTreeSet<usize>,
    /// The first rank that joined, and the name of its library.
    first: Option<(usize, String)>,
    ledger: Ledger,
    /// The first failure.
    failure: Option<Arc<Failure>>,
}

/// The ranks of an id in this process.
struct KnownRanks {
    local_ranks: Weak<LocalRanks>,
    /// Until all ranks have joined, where they do not wait for each other: those that come late are to find a failure.
    incomplete: Option<Arc<LocalRanks>>,
}

/// The ranks in this process, by the bytes of their ids.
static BY_ID: Mutex<Option<HashMap<[u8; 128], KnownRanks>>> = Mutex::new(None);

impl KnownRanks {
    fn new(id: &UniqueId, size: usize) -> Self {
        let ranks = match id.id() {
            // They need not join before one of them calls an operation.
            Id::Local => Ranks::All(size),
            // All join first, because the library waits for them.
            Id::Library(_) => Ranks::Some(BTreeSet::new()),
        };
        let (joined, ledger) = (BTreeSet::new(), Ledger::new(ranks));
        let local_ranks = Arc::new(LocalRanks {
            size,
            state: Mutex::new(State { joined, first: None, ledger, failure: None }),
            failed: AtomicBool::new(false),
            exchange: Exchange::new(size),
        });
        Self { local_ranks: Arc::downgrade(&local_ranks), incomplete: Some(local_ranks) }
    }
}

impl State {
    /// Why a rank with this library cannot join.
    fn refuse(&mut self, rank: usize, library: &str) -> Option<Arc<Failure>> {
        if let Some(failure) = &self.failure
            && matches!(**failure, Failure::Libraries(_))
        {
            return Some(failure.clone());
        }
        let (other, other_library) = self.first.get_or_insert_with(|| (rank, library.to_owned()));
        if other_library == library {
            return None;
        }
        let (library, other_library) = (library.to_owned(), other_library.clone());
        let mismatch = LibraryMismatch { rank, library, other: *other, other_library };
        Some(Failure::from(mismatch).into())
    }
}

impl LocalRanks {
    /// The ranks of an id in this process, with a new rank.
    ///
    /// # Errors
    /// [`Error::Rank`] if another rank has another size, [`Error::Joined`] if the rank cannot join any more;
    /// [`Error::Failed`] if the libraries of two ranks differ, also of two others: then the library would wait for
    /// ranks that do not come.
    pub(crate) fn join(
        id: &UniqueId,
        rank: usize,
        size: usize,
        library: &str,
    ) -> Result<Arc<Self>> {
        let mut by_id = BY_ID.lock();
        let by_id = by_id.get_or_insert_default();
        by_id.retain(|_, known| known.local_ranks.strong_count() > 0);
        let known = by_id.entry(id.to_bytes()).or_insert_with(|| KnownRanks::new(id, size));
        let Some(local_ranks) = known.local_ranks.upgrade() else {
            return Err(Error::Joined { rank });
        };
        if local_ranks.size != size {
            let (rank, size) = (size.max(local_ranks.size) - 1, size.min(local_ranks.size));
            return Err(Error::Rank { rank, size });
        }
        let mut state = local_ranks.state.lock();
        if !state.joined.insert(rank) || !state.ledger.join(rank) {
            return Err(Error::Joined { rank });
        }
        if let Some(failure) = state.refuse(rank, library) {
            // Those that come late are to find the failure, also where the others are gone by then.
            known.incomplete = (state.joined.len() < size).then(|| local_ranks.clone());
            local_ranks.note(state, &failure);
            return Err(Error::Failed { operation: CREATE, rank, failure });
        }
        if state.joined.len() == size || matches!(id.id(), Id::Library(_)) {
            known.incomplete = None;
        }
        drop(state);
        Ok(local_ranks)
    }

    /// Compares the next calls of a rank with those of the others in this process.
    ///
    /// # Errors
    /// The failure of the ranks; a mismatch is one.
    pub(crate) fn compare(
        &self,
        rank: usize,
        calls: impl IntoIterator<Item = CollectiveCall>,
    ) -> Result<(), Arc<Failure>> {
        let mut state = self.state.lock();
        if let Some(failure) = &state.failure {
            return Err(failure.clone());
        }
        let Err(mismatch) = state.ledger.record(rank, calls) else { return Ok(()) };
        let mismatch = Arc::new(mismatch.into());
        self.note(state, &mismatch);
        Err(mismatch)
    }

    /// Fails all ranks, unless they have failed.
    pub(crate) fn fail(&self, failure: &Arc<Failure>) {
        self.note(self.state.lock(), failure);
    }

    fn note(&self, mut state: MutexGuard<'_, State>, failure: &Arc<Failure>) {
        let first = state.failure.get_or_insert_with(|| failure.clone()).clone();
        self.failed.store(true, Ordering::Release);
        drop(state);
        self.exchange.fail(&first);
    }

    /// Why a rank of this process has failed.
    pub(crate) fn failure(&self) -> Option<Arc<Failure>> {
        match self.failed.load(Ordering::Acquire) {
            true => self.state.lock().failure.clone(),
            false => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mismatch(joined: Result<Arc<LocalRanks>>) -> LibraryMismatch {
        let Err(Error::Failed { failure, .. }) = joined else { panic!("{joined:?}") };
        let Failure::Libraries(mismatch) = &*failure else { panic!("{failure}") };
        mismatch.clone()
    }

    #[test]
    fn ranks_with_different_libraries_cannot_join() {
        let id = UniqueId::parse(&[9; 128]).unwrap();
        let first = LocalRanks::join(&id, 1, 3, "NCCL 2.28.3").unwrap();
        let (library, other_library) = ("RCCL 2.28.3".to_owned(), "NCCL 2.28.3".to_owned());
        let expected = LibraryMismatch { rank: 2, library, other: 1, other_library };
        assert_eq!(mismatch(LocalRanks::join(&id, 2, 3, "RCCL 2.28.3")), expected);
        // Those that wait for it hear of it, and those that come later.
        let failure = first.failure().unwrap();
        assert!(matches!(&*failure, Failure::Libraries(found) if *found == expected), "{failure}");
        drop(first);
        assert_eq!(mismatch(LocalRanks::join(&id, 0, 3, "NCCL 2.28.3")), expected);
        let id = UniqueId::parse(&[8; 128]).unwrap();
        let all: Vec<_> =
            (0..3).map(|rank| LocalRanks::join(&id, rank, 3, "NCCL 2.28.3")).collect();
        assert!(all.iter().all(Result::is_ok), "{all:?}");
    }
}
