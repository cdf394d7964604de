//! The head of an argument block: the words before the arguments, among them the launch word, by which error records
//! name the kernel and the launch.

use quadrants_ir::abi::{ERROR_WORD, FIRST_PARAM_WORD, LAUNCH_WORD, TEMPORARIES_WORD};

use crate::kernel::kernel_def::{KERNEL_BITS, MAX_KERNELS};

/// A kernel number that no kernel has: hazards name the captured copies of a graph by it.
pub(crate) const COPY_KERNEL_ID: u32 = MAX_KERNELS;

/// The number of low bits of a launch word that hold the launch number, which wraps. The kernel number is in the bits
/// above.
const LAUNCH_NUMBER_BITS: u32 = u64::BITS - KERNEL_BITS;

const _: () = assert!(
    ERROR_WORD == 0 && TEMPORARIES_WORD == 1 && LAUNCH_WORD == 2 && FIRST_PARAM_WORD == 3,
    "`write_head` writes these words in this order"
);

/// Writes the head of the argument block `words`: the address of the stream's error record, the address of the launch's
/// temporaries (0 where it has none), and the launch word.
#[inline(always)]
pub(crate) fn write_head(words: &mut [u64], record: u64, temporaries: u64, launch_word: u64) {
    if let Some(head) = words.first_chunk_mut::<FIRST_PARAM_WORD>() {
        *head = [record, temporaries, launch_word];
    }
}

/// The launch word of a launch: its kernel's number and its own.
pub(crate) fn launch_word(kernel: u32, number: u64) -> u64 {
    (u64::from(kernel) << LAUNCH_NUMBER_BITS) | number_of(number)
}

pub(crate) fn kernel_of(launch_word: u64) -> u32 {
    (launch_word >> LAUNCH_NUMBER_BITS) as u32
}

/// The launch number in a launch word, or what a launch word holds of a larger number.
pub(crate) fn number_of(launch_word: u64) -> u64 {
    launch_word & ((1 << LAUNCH_NUMBER_BITS) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_launch_number_never_overflows_into_the_kernel_number() {
        for number in [1, (1 << LAUNCH_NUMBER_BITS) - 1, 1 << LAUNCH_NUMBER_BITS, u64::MAX] {
            for kernel in [0, 7, COPY_KERNEL_ID] {
                let word = launch_word(kernel, number);
                assert_eq!(
                    (kernel_of(word), number_of(word)),
                    (kernel, number % (1 << LAUNCH_NUMBER_BITS))
                );
            }
        }
    }
}
