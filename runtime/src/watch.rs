//! Watches of work of other code that may never complete by itself: a collective operation waits for devices of other
//! processes, for example. [`Context::watch`](crate::Context::watch) registers one.

use std::{
    error::Error as StdError,
    fmt,
    sync::{
        Arc, Weak,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    time::Duration,
};

use parking_lot::Mutex;

use crate::error::{Error, SharedError};

/// Watches work of other code that may never complete by itself. See [`Context::watch`](crate::Context::watch).
pub trait Watch: fmt::Debug + Send + Sync {
    /// Called again and again while the host waits for work of the context, on the waiting thread; `waited` is the
    /// duration of that wait so far. If the watched work cannot complete any more, the watch ends it, so that the
    /// device goes on.
    fn poll(&self, waited: Duration) -> WatchState;
}

/// The state of watched work.
#[derive(Debug, Clone)]
pub enum WatchState {
    /// All of it is complete.
    Idle,
    /// It is not complete, and may become so.
    Pending,
    /// It has failed and was ended. Returned by one call for each failure: the wait in which it is made returns the
    /// error, after the work that it waits for.
    Failed(Arc<dyn StdError + Send + Sync>),
}

/// The watches of a context.
#[derive(Default)]
pub(crate) struct Watches {
    /// The number of watches, so that waits need no lock without any.
    count: AtomicUsize,
    list: Mutex<Vec<Weak<dyn Watch>>>,
}

impl Watches {
    pub(crate) fn add(&self, watch: &Arc<impl Watch + 'static>) {
        let mut list = self.list.lock();
        let watch: Weak<dyn Watch> = Arc::downgrade(&(watch.clone() as Arc<dyn Watch>));
        list.push(watch);
        self.count.store(list.len(), Relaxed);
    }

    /// Whether there is none, perhaps. No lock.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.count.load(Relaxed) == 0
    }

    /// Polls all. Returns whether all are idle.
    pub(crate) fn poll(&self, waited: Duration, failure: &mut Option<Error>) -> bool {
        let mut list = self.list.lock();
        list.retain(|watch| watch.strong_count() > 0);
        self.count.store(list.len(), Relaxed);
        let watches: Vec<_> = list.iter().filter_map(Weak::upgrade).collect();
        drop(list);
        let mut idle = true;
        for watch in watches {
            match watch.poll(waited) {
                WatchState::Idle => {}
                WatchState::Pending => idle = false,
                WatchState::Failed(source) => {
                    let source = SharedError(source);
                    failure.get_or_insert(Error::Watched { source });
                }
            }
        }
        idle
    }
}

impl fmt::Debug for Watches {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Watches").field(&self.count.load(Relaxed)).finish()
    }
}
