//! Watches of work of other code that may never complete by itself: a collective operation waits for devices of other
//! processes, for example. [`Context::watch`](crate::Context::watch) registers one.

use std::{
    error::Error as StdError,
    fmt,
    sync::{
        Arc, Weak,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
};

use parking_lot::Mutex;

use crate::error::{Error, Result, SharedError};

/// Watches work of other code. See [`Context::watch`](crate::Context::watch).
///
/// If the work cannot complete any more, the watch ends it, on a thread of its own, so that waits for it end.
pub trait Watch: fmt::Debug + Send + Sync {
    /// The failure of the work, once. Called after each host wait for work of the context; that wait returns the
    /// failure.
    fn take_failure(&self) -> Option<Arc<dyn StdError + Send + Sync>>;
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

    /// Returns a failure that no wait has returned yet.
    #[inline]
    pub(crate) fn check(&self) -> Result<()> {
        if self.count.load(Relaxed) == 0 { Ok(()) } else { self.check_all() }
    }

    #[cold]
    fn check_all(&self) -> Result<()> {
        let mut list = self.list.lock();
        list.retain(|watch| watch.strong_count() > 0);
        self.count.store(list.len(), Relaxed);
        let watches: Vec<_> = list.iter().filter_map(Weak::upgrade).collect();
        drop(list);
        match watches.iter().find_map(|watch| watch.take_failure()) {
            Some(failure) => Err(Error::Watched { source: SharedError(failure) }),
            None => Ok(()),
        }
    }
}

impl fmt::Debug for Watches {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Watches").field(&self.count.load(Relaxed)).finish()
    }
}
