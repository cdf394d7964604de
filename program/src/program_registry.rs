//! The registry of the programs of this process, by which the drop of a kernel unloads it in all of them.
//!
//! The registry keeps no program alive. A program that is being called through the registry is leased; its drop waits
//! for the end of the lease.

use parking_lot::{Condvar, Mutex};

use crate::program::ProgramShared;

static PROGRAMS: Mutex<Vec<Entry>> = Mutex::new(Vec::new());
/// Notified when a lease ends.
static LEASE_ENDED: Condvar = Condvar::new();

struct Entry {
    program: ProgramPtr,
    leases: usize,
}

/// A registered program.
#[derive(Clone, Copy, PartialEq)]
struct ProgramPtr(*const ProgramShared);

// SAFETY: programs are shared between threads.
unsafe impl Send for ProgramPtr {}

/// Registers a program.
pub(crate) fn register(program: &ProgramShared) {
    PROGRAMS.lock().push(Entry { program: ProgramPtr(program), leases: 0 });
}

/// Removes a program that is being dropped.
pub(crate) fn unregister(program: &ProgramShared) {
    let mut programs = PROGRAMS.lock();
    while let Some(at) = programs.iter().position(|entry| entry.program == ProgramPtr(program)) {
        if programs[at].leases == 0 {
            programs.swap_remove(at);
        } else {
            LEASE_ENDED.wait(&mut programs);
        }
    }
}

/// Unloads a kernel in all programs. Returns whether all could.
///
/// # Safety
/// The kernel is not launched any more.
pub(crate) unsafe fn unload_kernel(id: u32) -> bool {
    let with_kernel: Vec<ProgramPtr> = PROGRAMS
        .lock()
        .iter_mut()
        // SAFETY: registered programs are alive.
        .filter(|entry| unsafe { (*entry.program.0).launcher.contains(id) })
        .map(|entry| {
            entry.leases += 1;
            entry.program
        })
        .collect();
    let mut all = true;
    for program in with_kernel {
        // Without the lock: this waits for the device.
        // SAFETY: the program stays registered until the lease ends; the rest is by the caller.
        all &= unsafe { (*program.0).launcher.unload(&*program.0, id) };
        for entry in PROGRAMS.lock().iter_mut().filter(|entry| entry.program == program) {
            entry.leases -= 1;
        }
        LEASE_ENDED.notify_all();
    }
    all
}
