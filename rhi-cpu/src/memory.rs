//! Device memory of the CPU: memory of the process.
//!
//! An allocation is freed by its address, so a header before it stores its size. There is no table of allocations, and
//! therefore no lock.

use std::alloc::{Layout, alloc, alloc_zeroed, dealloc};

use quadrants_rhi::{DriverError, DriverErrorKind, Error, Result, table_device::not_empty};

/// The alignment that the `Device` contract requires. The header has the same size, so that the memory after it is
/// aligned.
const ALIGN: usize = 256;

/// From this size on, an allocation asks the system for huge pages. A loop over memory with small pages is limited by
/// address translation.
const LARGE: usize = 4 << 20;

/// Allocates `bytes`, zeroed if requested.
pub(crate) fn allocate(bytes: usize, zeroed: bool) -> Result<*mut u8> {
    not_empty(bytes)?;
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
    // SAFETY: the block begins with the `ALIGN` bytes of the header, aligned for any number; the memory after it is
    // inside the block.
    unsafe {
        start.cast::<usize>().write(layout.size());
        Ok(start.add(ALIGN))
    }
}

/// Asks for huge pages for the part of the block that consists of whole ones. The advice stays in effect when the
/// memory is freed and reused; it only changes how the system maps memory, so it does not matter whether the system
/// follows it.
///
/// # Safety
/// `start` is the address of that many bytes, which the caller owns.
#[cfg(target_os = "linux")]
unsafe fn ask_for_large_pages(start: *mut u8, bytes: usize) {
    use std::ffi::{c_int, c_void};

    // A function of the C library, which std links. The constant is the same on all architectures of Linux.
    unsafe extern "C" {
        fn madvise(address: *mut c_void, length: usize, advice: c_int) -> c_int;
    }
    const MADV_HUGEPAGE: c_int = 14;
    // A multiple of all page sizes; the system call accepts such addresses.
    const PAGE: usize = 64 << 10;

    let before = start.align_offset(PAGE);
    if let Some(length) = bytes.checked_sub(before) {
        // SAFETY: the range is inside the block, and the advice does not change its contents.
        unsafe { madvise(start.add(before).cast(), length / PAGE * PAGE, MADV_HUGEPAGE) };
    }
}

/// Does nothing: other systems choose the page size.
///
/// # Safety
/// None.
#[cfg(not(target_os = "linux"))]
unsafe fn ask_for_large_pages(_: *mut u8, _: usize) {}

/// Frees memory from [`allocate`].
///
/// # Safety
/// The pointer is from `allocate`, and nothing uses the memory any more.
pub(crate) unsafe fn free(memory: *mut u8) {
    // SAFETY: `allocate` wrote the header, with the size of the block.
    unsafe {
        let start = memory.sub(ALIGN);
        let size = start.cast::<usize>().read();
        dealloc(start, Layout::from_size_align_unchecked(size, ALIGN));
    }
}

/// The free and total memory of the machine. `None` if the system does not report it.
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
