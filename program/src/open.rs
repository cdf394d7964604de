//! The programs of this process, for what they must hear of: that a kernel goes.
//!
//! The list holds no program alive. A program that is told something just now is closed when that is over,
//! by whoever closes it.

use parking_lot::{Condvar, Mutex};

use crate::program::Shared;

static OPEN: Mutex<Vec<Entry>> = Mutex::new(Vec::new());
/// Signalled when a program has been told.
static TOLD: Condvar = Condvar::new();

struct Entry {
    program: Open,
    leases: usize,
}

/// A program that is on the list.
#[derive(Clone, Copy, PartialEq)]
struct Open(*const Shared);

// SAFETY: what it points to is shared between threads anyway.
unsafe impl Send for Open {}

/// Puts a program on the list.
pub(crate) fn enter(program: &Shared) {
    OPEN.lock().push(Entry { program: Open(program), leases: 0 });
}

/// Takes a program off the list that is about to go.
pub(crate) fn leave(program: &Shared) {
    let mut open = OPEN.lock();
    while let Some(at) = open.iter().position(|entry| entry.program == Open(program)) {
        if open[at].leases == 0 {
            open.swap_remove(at);
        } else {
            TOLD.wait(&mut open);
        }
    }
}

/// Lets all programs go of a kernel, and says whether all could.
///
/// # Safety
/// The kernel is launched no more.
pub(crate) unsafe fn forget_kernel(id: u32) -> bool {
    let its: Vec<Open> = OPEN
        .lock()
        .iter_mut()
        // SAFETY: who is on the list is alive.
        .filter(|entry| unsafe { (*entry.program.0).launcher.knows(id) })
        .map(|entry| {
            entry.leases += 1;
            entry.program
        })
        .collect();
    let mut all = true;
    for program in its {
        // Out of the lock: it waits for the device.
        // SAFETY: it stays on the list until the lease ends; the kernel is the caller's promise.
        all &= unsafe { (*program.0).launcher.forget(&*program.0, id) };
        for entry in OPEN.lock().iter_mut().filter(|entry| entry.program == program) {
            entry.leases -= 1;
        }
        TOLD.notify_all();
    }
    all
}
