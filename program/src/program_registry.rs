//! The programs of this process, for what they must hear of: that a kernel goes.
//!
//! The list holds no program alive. A program that is told something just now is closed when that is over,
//! by whoever closes it.

use parking_lot::{Condvar, Mutex};

use crate::program::ProgramShared;

static PROGRAMS: Mutex<Vec<Entry>> = Mutex::new(Vec::new());
/// Signalled when a program has been told.
static NOTIFIED: Condvar = Condvar::new();

struct Entry {
    program: ProgramPtr,
    leases: usize,
}

/// A program that is on the list.
#[derive(Clone, Copy, PartialEq)]
struct ProgramPtr(*const ProgramShared);

// SAFETY: what it points to is shared between threads anyway.
unsafe impl Send for ProgramPtr {}

/// Puts a program on the list.
pub(crate) fn register(program: &ProgramShared) {
    PROGRAMS.lock().push(Entry { program: ProgramPtr(program), leases: 0 });
}

/// Takes a program off the list that is about to go.
pub(crate) fn unregister(program: &ProgramShared) {
    let mut programs = PROGRAMS.lock();
    while let Some(at) = programs.iter().position(|entry| entry.program == ProgramPtr(program)) {
        if programs[at].leases == 0 {
            programs.swap_remove(at);
        } else {
            NOTIFIED.wait(&mut programs);
        }
    }
}

/// Lets all programs go of a kernel, and says whether all could.
///
/// # Safety
/// The kernel is launched no more.
pub(crate) unsafe fn unload_kernel(id: u32) -> bool {
    let interested: Vec<ProgramPtr> = PROGRAMS
        .lock()
        .iter_mut()
        // SAFETY: who is on the list is alive.
        .filter(|entry| unsafe { (*entry.program.0).launcher.contains(id) })
        .map(|entry| {
            entry.leases += 1;
            entry.program
        })
        .collect();
    let mut all = true;
    for program in interested {
        // Out of the lock: it waits for the device.
        // SAFETY: it stays on the list until the lease ends; the kernel is the caller's promise.
        all &= unsafe { (*program.0).launcher.unload(&*program.0, id) };
        for entry in PROGRAMS.lock().iter_mut().filter(|entry| entry.program == program) {
            entry.leases -= 1;
        }
        NOTIFIED.notify_all();
    }
    all
}
