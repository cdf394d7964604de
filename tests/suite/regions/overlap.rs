//! The blocks of a region run at the same time on the CPU.

use std::time::Duration;

use quadrants::{self as qd, Result, Tensor};
use quadrants_tests::TestBackend::{self, Cpu};

use crate::child;

/// How often a block looks for the other's flag: seconds of work, and far less where the blocks overlap.
const LOOKS: u32 = 50_000_000;

/// The works of children.
pub(crate) const WORKS: &[child::Work] = &[("blocks that wait for each other", rendezvous)];

/// Elements of a block: the CPU runs the blocks of a region concurrently only if they have enough work.
const N: usize = 1 << 20;

/// The first iteration of each block sets the block's flag and waits for the other's. Blocks that run one after
/// another would not see both.
#[qd::kernel]
fn meet(looks: u32, flags: &mut Tensor<u32, 1>, a: &mut Tensor<u32, 1>, b: &mut Tensor<u32, 1>) {
    qd::stream_parallel(|| {
        for i in 0..a.len() {
            let mut look = looks;
            if i == 0 {
                // SAFETY: the other block touches the flags by atomics only.
                unsafe { qd::atomic_add(&mut flags[0], 1) };
                look = 0;
            }
            while look < looks {
                // SAFETY: the other block touches the flags by atomics only.
                let other = unsafe { qd::atomic_add(&mut flags[1], 0) };
                if other > 0 {
                    a[i] = 1;
                    break;
                }
                look += 1;
            }
        }
    });
    qd::stream_parallel(|| {
        for i in 0..b.len() {
            let mut look = looks;
            if i == 0 {
                // SAFETY: the other block touches the flags by atomics only.
                unsafe { qd::atomic_add(&mut flags[1], 1) };
                look = 0;
            }
            while look < looks {
                // SAFETY: the other block touches the flags by atomics only.
                let other = unsafe { qd::atomic_add(&mut flags[0], 0) };
                if other > 0 {
                    b[i] = 1;
                    break;
                }
                look += 1;
            }
        }
    });
}

fn rendezvous(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let program = &on.program;
    let mut flags = program.zeros::<u32, 1>([2])?;
    let (mut a, mut b) = (program.zeros::<u32, 1>([N])?, program.zeros::<u32, 1>([N])?);
    meet(LOOKS, &mut flags, &mut a, &mut b).launch()?;
    assert_eq!((a.to_vec()?[0], b.to_vec()?[0]), (1, 1), "the blocks did not overlap");
    Ok(())
}

#[test]
fn region_blocks_overlap_on_the_cpu() {
    if Cpu.open().is_none() {
        return;
    }
    if std::thread::available_parallelism().is_ok_and(|threads| threads.get() == 1) {
        println!("skipped: the machine has one thread");
        return;
    }
    let output = child::output("blocks that wait for each other", Cpu, Duration::from_secs(60));
    assert!(output.status.success(), "{output:#?}");
}
