//! The thread that watches the communicators of this process.
//!
//! The host may be blocked where it cannot look: in a wait, or in a launch that waits for space in the queue of a
//! device whose work waits for another rank.

use std::{
    sync::{Arc, Weak},
    thread,
    time::Duration,
};

use parking_lot::Mutex;

/// What is watched.
pub(crate) trait Supervised: Send + Sync {
    /// Ends operations that cannot complete any more. Returns whether none are pending.
    fn supervise(&self) -> bool;
}

/// How long a failure stays unnoticed.
const INTERVAL: Duration = Duration::from_millis(50);

static WATCHED: Mutex<Watched> = Mutex::new(Watched { communicators: Vec::new(), running: false });

/// Locked while the thread looks at communicators.
static ROUND: Mutex<()> = Mutex::new(());

struct Watched {
    communicators: Vec<Weak<dyn Supervised>>,
    /// Whether the thread runs. It ends when there are no communicators.
    running: bool,
}

/// Watches a communicator until it is dropped.
pub(crate) fn add(inner: &Arc<impl Supervised + 'static>) {
    let mut watched = WATCHED.lock();
    let inner: Weak<dyn Supervised> = Arc::downgrade(&(inner.clone() as Arc<dyn Supervised>));
    watched.communicators.push(inner);
    if !watched.running {
        let started = thread::Builder::new().name("quadrants-collectives".to_owned()).spawn(run);
        match started {
            Ok(_) => watched.running = true,
            // Without the thread, operations and drops look themselves.
            Err(error) => tracing::warn!(%error, "communicators are not watched"),
        }
    }
}

/// Ends the watch of a communicator. Afterwards the thread has no reference to it, so that its program is not dropped
/// there.
pub(crate) fn remove(inner: &Arc<impl Supervised>) {
    let address = Arc::as_ptr(inner).addr();
    WATCHED.lock().communicators.retain(|other| other.as_ptr().addr() != address);
    drop(ROUND.lock());
}

fn run() {
    loop {
        thread::sleep(INTERVAL);
        let _round = ROUND.lock();
        let mut watched = WATCHED.lock();
        watched.communicators.retain(|inner| inner.strong_count() > 0);
        if watched.communicators.is_empty() {
            watched.running = false;
            return;
        }
        let all: Vec<_> = watched.communicators.iter().filter_map(Weak::upgrade).collect();
        drop(watched);
        for inner in all {
            inner.supervise();
        }
    }
}
