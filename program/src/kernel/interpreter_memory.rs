//! Host memory as the memory of the IR interpreter, which runs kernels made at run time on the CPU.

use quadrants_ir::interp::{ExecFault, Memory};

/// The memory of this process, accessed without checks.
#[derive(Debug)]
pub(crate) struct InterpreterMemory(());

impl InterpreterMemory {
    /// # Safety
    /// Every address that is loaded or stored through it is valid for the length of the access: the kernel's accesses
    /// are proven or checked, and its argument block holds addresses of live memory.
    pub(crate) unsafe fn new() -> Self {
        Self(())
    }
}

impl Memory for InterpreterMemory {
    #[inline]
    fn load(&mut self, address: u64, bytes: usize) -> Result<u64, ExecFault> {
        let mut word = [0u8; 8];
        // SAFETY: by the contract of `new`.
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
    fn store(&mut self, address: u64, bytes: usize, bits: u64) -> Result<(), ExecFault> {
        let word = bits.to_le_bytes();
        // SAFETY: by the contract of `new`.
        unsafe {
            std::ptr::copy_nonoverlapping(word.as_ptr(), address as usize as *mut u8, bytes.min(8));
        }
        Ok(())
    }
}
