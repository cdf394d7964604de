//! Memory of the process, handed out as device memory.
//!
//! An allocation is freed by its address alone, so its size stands in a header in front of it. There is no
//! table of allocations, and so no lock.

use std::alloc::{Layout, alloc, alloc_zeroed, dealloc};

use quadrants_rhi::{DriverError, DriverErrorKind, Error, Result};

/// The alignment that the trait promises. The header takes as much, to keep what follows aligned.
const ALIGN: usize = 256;

/// From this size on an allocation has pages of the larger kind, where the system gives them to who asks. A loop that walks
/// through memory on small pages waits for their addresses more than for what is in them.
const LARGE: usize = 4 << 20;

/// Allocates `bytes`, zeroed where asked.
pub(crate) fn allocate(bytes: usize, zeroed: bool) -> Result<*mut u8> {
    if bytes == 0 {
        return Err(Error::InvalidArgument { what: "an allocation of zero bytes".to_owned() });
    }
    let layout = bytes
        .checked_add(ALIGN)
        .and_then(|bytes| Layout::from_size_align(bytes, ALIGN).ok())
        .ok_or_else(out_of_memory)?;
    // SAFETY: the size is not zero.
    let start = unsafe { if zeroed { alloc_zeroed(layout) } else { alloc(layout) } };
    if start.is_null() {
        return Err(out_of_memory());
    }
    if layout.size() >= LARGE {
        // SAFETY: the block has that many bytes.
        unsafe { ask_for_large_pages(start, layout.size()) };
    }
    // SAFETY: the block begins with `ALIGN` bytes that are the header, aligned for any number; what
    // follows is inside the block.
    unsafe {
        start.cast::<usize>().write(layout.size());
        Ok(start.add(ALIGN))
    }
}

/// Asks for large pages where whole ones of them fit. What is said about memory is kept when it is freed and used again, and
/// changes nothing but how the system maps it; so whether it listens does not matter.
///
/// # Safety
/// `start` is the address of that many bytes, which the caller owns.
#[cfg(target_os = "linux")]
unsafe fn ask_for_large_pages(start: *mut u8, bytes: usize) {
    use std::ffi::{c_int, c_void};

    // Of the C library, which std links. A number of Linux, the same for all its processors.
    unsafe extern "C" {
        fn madvise(address: *mut c_void, length: usize, advice: c_int) -> c_int;
    }
    const MADV_HUGEPAGE: c_int = 14;
    // A multiple of every page size there is; no system call fails for it.
    const PAGE: usize = 64 << 10;

    let before = start.align_offset(PAGE);
    if let Some(length) = bytes.checked_sub(before) {
        // SAFETY: the range is within the block; the advice leaves what is in it as it is.
        unsafe { madvise(start.add(before).cast(), length / PAGE * PAGE, MADV_HUGEPAGE) };
    }
}

/// Elsewhere the system decides.
///
/// # Safety
/// None.
#[cfg(not(target_os = "linux"))]
unsafe fn ask_for_large_pages(_: *mut u8, _: usize) {}

/// Frees what [`allocate`] gave.
///
/// # Safety
/// The pointer came from `allocate`, and nothing uses it any more.
pub(crate) unsafe fn free(memory: *mut u8) {
    // SAFETY: `allocate` put the header there, with the size that the block was allocated with.
    unsafe {
        let start = memory.sub(ALIGN);
        let size = start.cast::<usize>().read();
        dealloc(start, Layout::from_size_align_unchecked(size, ALIGN));
    }
}

/// Free and total memory of the machine, where the system says so.
pub(crate) fn machine() -> Option<(u64, u64)> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let kilobytes = |key: &str| -> Option<u64> {
        let line = text.lines().find_map(|line| line.strip_prefix(key))?;
        line.trim().strip_suffix("kB")?.trim().parse().ok()
    };
    Some((kilobytes("MemAvailable:")? << 10, kilobytes("MemTotal:")? << 10))
}

fn out_of_memory() -> Error {
    let kind = DriverErrorKind::OutOfMemory;
    DriverError::new("alloc", "std::alloc::alloc", 0, "null", kind).into()
}

#[cfg(test)]
mod tests {
    use super::{allocate, free};

    #[test]
    fn sizes_above_the_machine_are_out_of_memory() {
        for bytes in [usize::MAX, usize::MAX - 300, isize::MAX as usize, 1 << 60] {
            assert!(allocate(bytes, false).unwrap_err().is_out_of_memory(), "{bytes}");
        }
    }

    #[test]
    fn large_blocks_are_zeroed_and_writable() {
        for bytes in [super::LARGE, super::LARGE + 12_345, 9 * super::LARGE] {
            let block = allocate(bytes, true).unwrap();
            // SAFETY: the block has that many bytes, all initialized to zero, and is freed once.
            unsafe {
                let all = std::slice::from_raw_parts_mut(block, bytes);
                assert!(all.iter().all(|b| *b == 0));
                all.fill(0xff);
                assert_eq!(all.iter().map(|b| usize::from(*b)).sum::<usize>(), 0xff * bytes);
                free(block);
            }
        }
    }

    #[test]
    fn blocks_are_aligned_zeroed_and_separate() {
        let blocks: Vec<_> = (1..200).map(|n| (allocate(n, true).unwrap(), n)).collect();
        for &(block, bytes) in &blocks {
            assert_eq!(block as usize % 256, 0);
            // SAFETY: the block has that many bytes, all initialized to zero.
            let bytes = unsafe { std::slice::from_raw_parts_mut(block, bytes) };
            assert!(bytes.iter().all(|b| *b == 0), "zeroed, and not touched through another");
            bytes.fill(0xff);
        }
        for (block, _) in blocks {
            // SAFETY: from `allocate`, once each.
            unsafe { free(block) };
        }
    }
}
