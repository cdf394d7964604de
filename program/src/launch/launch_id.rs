//! The word of the argument block that names a launch in error records: the kernel's number and the launch's number.

/// A number that no kernel has: hazards know copies of the host's in graphs by it.
pub(crate) const COPY_KERNEL_ID: u32 = (1 << 24) - 1;

/// How many bits of a launch's number count launches, and begin again after the last; the kernel's number
/// stands above them, and is never touched by the count.
const LAUNCH_BITS: u32 = 40;

/// A launch's word in the argument block.
pub(super) fn launch_word(kernel: u32, number: u64) -> u64 {
    (u64::from(kernel) << LAUNCH_BITS) | number_of(number)
}

pub(super) fn kernel_of(launch: u64) -> u32 {
    (launch >> LAUNCH_BITS) as u32
}

pub(super) fn number_of(launch: u64) -> u64 {
    launch & ((1 << LAUNCH_BITS) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_count_of_launches_never_reaches_into_the_kernels_number() {
        for number in [1, (1 << LAUNCH_BITS) - 1, 1 << LAUNCH_BITS, u64::MAX] {
            for kernel in [0, 7, (1 << 24) - 1] {
                let word = launch_word(kernel, number);
                assert_eq!(
                    (kernel_of(word), number_of(word)),
                    (kernel, number % (1 << LAUNCH_BITS))
                );
            }
        }
    }
}
