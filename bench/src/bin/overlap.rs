//! Whether the blocks of a region run concurrently: loops of one thread each, as blocks against the same
//! loops in series. The rival is the serial time divided by the number of blocks, a lower bound.

use quadrants::{
    Arch, Kernel, Program, Result,
    builder::KernelBuilder,
    ir::{self, ScalarType},
};
use quadrants_bench::{Case, Options, SpeedTarget, until_done};

/// Long enough for fork and join to be little beside it.
const TURNS: u64 = 10_000_000;
const SAMPLES: usize = 5;

fn main() -> Result<()> {
    let options = Options::from_args();
    if !options.wants("cuda") {
        return Ok(());
    }
    let graphs = Program::open(Arch::Cuda)?;
    let events = Program::builder().graphs(false).open(Arch::Cuda)?;
    for (program, how) in [(&events, "events"), (&graphs, "graph")] {
        for blocks in [2, 4, 8, 16] {
            overlap(&options, program, how, blocks)?;
        }
    }
    Ok(())
}

fn overlap(options: &Options, program: &Program, how: &str, blocks: usize) -> Result<()> {
    let name = format!("{blocks} loops of one thread, {how}");
    let case = Case::new("overlap", name, "ms").target(SpeedTarget::Ratio(1.0 / 0.99));
    if !options.selects(&case) {
        return Ok(());
    }
    let (region, alone) = (Kernel::new(spinning(blocks))?, Kernel::new(spinning(1))?);
    let mut words: Vec<_> =
        (0..blocks).map(|_| program.zeros::<u32, 1>([1])).collect::<Result<_>>()?;
    let mut others: Vec<_> =
        (0..blocks).map(|_| program.zeros::<u32, 1>([1])).collect::<Result<_>>()?;
    let wait = || program.sync().expect("completes");
    let beside = || {
        let mut call = region.call::<()>();
        for word in &mut words {
            call = call.arg(word);
        }
        call.launch().expect("launches");
    };
    let in_series = || {
        for word in &mut others {
            alone.call::<()>().arg(word).launch().expect("launches");
        }
    };
    let mut in_series = until_done(1, in_series, wait);
    options.run(
        &case,
        SAMPLES,
        &mut until_done(1, beside, wait),
        &mut [("the loops in series, over their number", &mut || in_series() / blocks as f64)],
    );
    Ok(())
}

/// Blocks of one iteration each, which computes the next of its number again and again.
fn spinning(blocks: usize) -> ir::Kernel {
    let b = KernelBuilder::new(&format!("spinning{blocks}"));
    let words: Vec<_> =
        (0..blocks).map(|k| b.param_tensor_mut(&format!("w{k}"), ScalarType::U32, 1)).collect();
    for word in words {
        b.stream_parallel(|| {
            b.range_for(0usize, word.len(), |i| {
                let number = b.var("number", word.load([i]));
                b.range_for(0u64, TURNS, |_| {
                    // A square, of which no compiler makes fewer turns.
                    number.set(number.get() * number.get() + 1_013_904_223u32);
                });
                word.store([i], number.get());
            });
        });
    }
    b.build().expect("a valid kernel")
}
