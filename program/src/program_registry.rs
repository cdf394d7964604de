//! The registry of the programs of this process, by which the drop of a kernel unloads it in all of them.
//!
//! The registry keeps no program alive. A program that is being called through the registry is leased; its drop waits
//! for the end of the lease.

use std::ptr;

use parking_lot::{Condvar, Mutex};

static PROGRAMS: Mutex<Vec<Entry>> = Mutex::new(Vec::new());
/// Notified when a lease ends.
static LEASE_ENDED: Condvar = Condvar::new();

struct Entry {
    program: ProgramPtr,
    leases: usize,
}

/// A registered program.
#[derive(Clone, Copy)]
struct ProgramPtr(*const dyn UnloadKernel);

// SAFETY: programs are shared between threads.
unsafe impl Send for ProgramPtr {}

impl PartialEq for ProgramPtr {
    fn eq(&self, other: &Self) -> bool {
        ptr::addr_eq(self.0, other.0)
    }
}

/// What the registry knows of a program.
pub(crate) trait UnloadKernel: Sync {
    /// Whether the program has built the kernel with this number.
    fn has_kernel(&self, id: u32) -> bool;

    /// Unloads a kernel whose owner is dropped. Waits for its launches. Returns false where the kernel must stay: a
    /// graph keeps it, or the wait failed.
    ///
    /// # Safety
    /// The kernel is not launched any more.
    unsafe fn unload_kernel(&self, id: u32) -> bool;
}

/// Registers a program.
pub(crate) fn register(program: &(dyn UnloadKernel + 'static)) {
    PROGRAMS.lock().push(Entry { program: ProgramPtr(program), leases: 0 });
}

/// Removes the program at this address, which is being dropped.
pub(crate) fn unregister<P>(program: *const P) {
    let mut programs = PROGRAMS.lock();
    let is_program = |entry: &Entry| ptr::addr_eq(entry.program.0, program);
    while let Some(at) = programs.iter().position(is_program) {
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
        .filter(|entry| unsafe { (*entry.program.0).has_kernel(id) })
        .map(|entry| {
            entry.leases += 1;
            entry.program
        })
        .collect();
    let mut all = true;
    for program in with_kernel {
        // Without the lock: this waits for the device.
        // SAFETY: the program stays registered until the lease ends; the rest is by the caller.
        all &= unsafe { (*program.0).unload_kernel(id) };
        for entry in PROGRAMS.lock().iter_mut().filter(|entry| entry.program == program) {
            entry.leases -= 1;
        }
        LEASE_ENDED.notify_all();
    }
    all
}
