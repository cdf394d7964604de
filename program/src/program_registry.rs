//! The registry of the programs of this process, by which the drop of a kernel unloads it in all of them.
//!
//! The registry keeps no program alive. A program that is being called through the registry is leased; its drop waits
//! for the end of the lease.

use std::sync::LazyLock;

use quadrants_runtime::LeaseMap;

static PROGRAMS: LazyLock<LeaseMap<usize, ProgramPtr>> = LazyLock::new(LeaseMap::default);

#[derive(Clone, Copy)]
struct ProgramPtr(*const dyn UnloadKernel);

// SAFETY: programs are shared between threads.
unsafe impl Send for ProgramPtr {}

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

pub(crate) fn register(program: &(dyn UnloadKernel + 'static)) {
    let program = ProgramPtr(program);
    PROGRAMS.insert(program.0.addr(), program);
}

/// Removes the program at this address, which is being dropped.
pub(crate) fn unregister<P>(program: *const P) {
    PROGRAMS.replace(program.addr(), None);
}

/// Unloads a kernel in all programs. Returns whether all could.
///
/// # Safety
/// The kernel is not launched any more.
pub(crate) unsafe fn unload_kernel(id: u32) -> bool {
    let with_kernel: Vec<_> = PROGRAMS
        .lock()
        .iter_mut()
        // SAFETY: registered programs are alive.
        .filter(|(_, entry)| unsafe { (*entry.value.0).has_kernel(id) })
        .map(|(address, entry)| (entry.value, PROGRAMS.lease(*address, entry)))
        .collect();
    let mut all = true;
    for (program, lease) in with_kernel {
        // Without the lock: this waits for the device.
        // SAFETY: the program stays registered until the lease ends; the rest is by the caller.
        all &= unsafe { (*program.0).unload_kernel(id) };
        drop(lease);
    }
    all
}
