//! The host's own memory for the interpreter: kernels made at run time run on it on the CPU.

use quadrants_ir::interp::{Fault, Memory};

/// All memory of this process, unchecked.
#[derive(Debug)]
pub(crate) struct HostMemory(());

impl HostMemory {
    /// # Safety
    /// Every address that is loaded or stored through it is valid for its length: the kernel's
    /// accesses are proven or checked, and its argument block holds live memory.
    pub(crate) unsafe fn new() -> Self {
        Self(())
    }
}

impl Memory for HostMemory {
    #[inline]
    fn load(&mut self, address: u64, bytes: usize) -> Result<u64, Fault> {
        let mut word = [0u8; 8];
        // SAFETY: the constructor's promise.
        unsafe {
            std::ptr::copy_nonoverlapping(
                address as usize as *const u8,
                word.as_mut_ptr(),
                bytes.min(8),
            );
        }
        Ok(u64::from_le_bytes(word))
    }

    #[inline]
    fn store(&mut self, address: u64, bytes: usize, bits: u64) -> Result<(), Fault> {
        let word = bits.to_le_bytes();
        // SAFETY: the constructor's promise.
        unsafe {
            std::ptr::copy_nonoverlapping(word.as_ptr(), address as usize as *mut u8, bytes.min(8));
        }
        Ok(())
    }
}
