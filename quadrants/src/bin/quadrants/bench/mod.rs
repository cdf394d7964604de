//! `quadrants bench`: measures the library's overhead on this machine in a few seconds. Both sides of a line do the
//! same work in one process, in turns.

mod by_hand;

use std::{
    io::{IsTerminal, Write},
    time::{Duration, Instant},
};

use clap::Args;
use quadrants::{self as qd, Arch, Backend, Opened, Program, Tensor};

use self::by_hand::{ByHand, CopyByHand};
use crate::{CommandError, parse_arch};

/// The elements of a tensor: too few for the device to fall behind.
const N: usize = 256;
/// Launches per sample, which are waited for outside the clock.
const IN_FLIGHT: usize = 200;
/// The number of samples of each side, unless [`LIMIT`] is over before.
const SAMPLES: usize = 21;
const WARM_UP: usize = 2;
/// The time for a line.
const LIMIT: Duration = Duration::from_secs(3);
/// The time that a loop of the overlap takes at least.
const SPIN: Duration = Duration::from_millis(10);
const BLOCKS: usize = 4;
/// The elements of a large tensor, on a GPU and on the CPU, where kernels of a debug build are slow.
const LARGE: [usize; 2] = [1 << 26, if cfg!(debug_assertions) { 1 << 18 } else { 1 << 24 }];

#[derive(Args)]
pub(crate) struct Options {
    /// The backend [default: the one that programs use].
    #[arg(long, value_name = "NAME", value_parser = parse_arch)]
    arch: Option<Arch>,
}

#[qd::kernel]
fn touch(a: &mut Tensor<f32, 1>) {
    for i in 0..a.len() {
        a[i] += 1.0;
    }
}

#[qd::kernel]
fn touch_four(
    a: &mut Tensor<f32, 1>,
    b: &mut Tensor<f32, 1>,
    c: &mut Tensor<f32, 1>,
    d: &mut Tensor<f32, 1>,
) {
    qd::stream_parallel(|| {
        for i in 0..a.len() {
            a[i] += 1.0;
        }
    });
    qd::stream_parallel(|| {
        for i in 0..b.len() {
            b[i] += 1.0;
        }
    });
    qd::stream_parallel(|| {
        for i in 0..c.len() {
            c[i] += 1.0;
        }
    });
    qd::stream_parallel(|| {
        for i in 0..d.len() {
            d[i] += 1.0;
        }
    });
}

/// Squares a number again and again, which compilers do not shorten.
#[qd::func]
fn turned(number: u32, turns: u64) -> u32 {
    let mut number = number;
    for _ in 0..turns {
        number = number.wrapping_mul(number).wrapping_add(1_013_904_223);
    }
    number
}

/// A loop that keeps one thread busy.
#[qd::kernel]
fn spin(turns: u64, a: &mut Tensor<u32, 1>) {
    for i in 0..a.len() {
        a[i] = turned(a[i], turns);
    }
}

#[qd::kernel]
fn spin_four(
    turns: u64,
    a: &mut Tensor<u32, 1>,
    b: &mut Tensor<u32, 1>,
    c: &mut Tensor<u32, 1>,
    d: &mut Tensor<u32, 1>,
) {
    qd::stream_parallel(|| {
        for i in 0..a.len() {
            a[i] = turned(a[i], turns);
        }
    });
    qd::stream_parallel(|| {
        for i in 0..b.len() {
            b[i] = turned(b[i], turns);
        }
    });
    qd::stream_parallel(|| {
        for i in 0..c.len() {
            c[i] = turned(c[i], turns);
        }
    });
    qd::stream_parallel(|| {
        for i in 0..d.len() {
            d[i] = turned(d[i], turns);
        }
    });
}

#[qd::kernel]
fn copy(x: &Tensor<f32, 1>, y: &mut Tensor<f32, 1>) {
    for i in 0..x.len() {
        y[i] = x[i];
    }
}

/// The table under construction.
struct Bench<'a> {
    out: &'a mut dyn Write,
    opened: Opened,
    program: Program,
}

/// A side of a line: takes one sample.
type Side<'a> = &'a mut dyn FnMut() -> Result<Duration, CommandError>;

pub(crate) fn run(options: &Options, out: &mut dyn Write) -> Result<(), CommandError> {
    let opened = match options.arch {
        Some(arch) => arch.open()?,
        None => Arch::from_env_or_best().open()?,
    };
    let program = Program::open(opened.clone())?;
    let info = program.device_info();
    writeln!(out, "{} ({})", info.name, program.arch())?;
    if info.simulated {
        writeln!(out, "The simulator interprets kernels: these times say nothing about a device.")?;
    }
    if cfg!(debug_assertions) {
        writeln!(out, "This is a debug build: its times say nothing about a release build.")?;
    }
    if opened.compiler.is_none() {
        writeln!(out, "The CPU has no driver: launches and regions have no baseline.")?;
    }
    writeln!(
        out,
        "{:32} {:>11} {:>11} {:>6}  what is done by hand",
        "median of a call", "quadrants", "by hand", "ratio"
    )?;
    let mut bench = Bench { out, opened, program };
    bench.launch()?;
    bench.region("events", false)?;
    if bench.opened.device.capabilities().graphs {
        bench.region("a graph", true)?;
    }
    bench.overlap()?;
    bench.bandwidth()
}

impl Bench<'_> {
    fn launch(&mut self) -> Result<(), CommandError> {
        let program = self.program.clone();
        let stream = program.create_stream()?;
        let mut a = program.zeros::<f32, 1>([N])?;
        let by_hand = ByHand::new(&self.opened, 1)?;
        self.line(
            "launch",
            "the driver's launch",
            &mut || {
                let launches = || (0..IN_FLIGHT).try_for_each(|_| touch(&mut a).launch_on(&stream));
                per_launch(launches, || stream.synchronize())
            },
            by_hand
                .as_ref()
                .map(|by_hand| || per_launch(|| by_hand.launch(IN_FLIGHT), || by_hand.wait())),
            None,
        )
    }

    fn region(&mut self, how: &str, with_graphs: bool) -> Result<(), CommandError> {
        let program = Program::builder().graphs(with_graphs).open(self.opened.clone())?;
        let stream = program.create_stream()?;
        let [mut a, mut b, mut c, mut d] = four(&program, N)?;
        let by_hand = ByHand::new(&self.opened, BLOCKS)?;
        self.line(
            &format!("region of {BLOCKS} blocks by {how}"),
            "fork and join by events",
            &mut || {
                let launches = || {
                    (0..IN_FLIGHT).try_for_each(|_| {
                        touch_four(&mut a, &mut b, &mut c, &mut d).launch_on(&stream)
                    })
                };
                per_launch(launches, || stream.synchronize())
            },
            by_hand.as_ref().map(|by_hand| {
                || per_launch(|| by_hand.fork_and_join(IN_FLIGHT), || by_hand.wait())
            }),
            None,
        )
    }

    /// Loops of one thread in blocks of a region, against the same loops in series, divided by their number.
    fn overlap(&mut self) -> Result<(), CommandError> {
        let program = self.program.clone();
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let at_once = if program.capabilities().asynchronous { BLOCKS } else { BLOCKS.min(cores) };
        let [mut a, mut b, mut c, mut d] = four::<u32>(&program, 1)?;
        let mut alone = program.zeros::<u32, 1>([1])?;
        let mut spin_once = |turns| {
            time(|| {
                spin(turns, &mut alone).launch()?;
                program.sync()
            })
        };
        let mut turns = 64;
        spin_once(turns)?;
        while !program.device_info().simulated && spin_once(turns)? < SPIN {
            turns *= 2;
        }
        self.line(
            &format!("overlap of {BLOCKS} loops in a region"),
            &format!("the loops in series, over {at_once}"),
            &mut || {
                time(|| {
                    spin_four(turns, &mut a, &mut b, &mut c, &mut d).launch()?;
                    program.sync()
                })
            },
            Some(|| {
                let times: Result<Vec<_>, _> = (0..BLOCKS).map(|_| spin_once(turns)).collect();
                Ok(times?.iter().sum::<Duration>() / at_once as u32)
            }),
            None,
        )
    }

    fn bandwidth(&mut self) -> Result<(), CommandError> {
        let program = self.program.clone();
        let is_cpu = self.opened.compiler.is_none();
        let free = self.opened.device.memory_info().map_or(u64::MAX, |(free, _)| free);
        let elements = match program.device_info().simulated {
            true => N,
            // Four tensors, with room for others.
            false => LARGE[usize::from(is_cpu)].min(usize::try_from(free / 64).unwrap_or(N)).max(N),
        };
        let (bytes, times) = (size_of::<f32>() * elements, 4);
        let x = program.zeros::<f32, 1>([elements])?;
        let mut y = program.zeros::<f32, 1>([elements])?;
        let mut ours = || {
            let time = time(|| {
                (0..times).try_for_each(|_| copy(&x, &mut y).launch())?;
                program.sync()
            })?;
            Ok(time / times as u32)
        };
        let name = format!("copy of {}", crate::text::bytes(bytes as u64));
        if is_cpu {
            let (from, mut to) = (vec![0.0f32; elements], vec![1.0f32; elements]);
            let plain = || {
                let time = time(|| {
                    (0..times).for_each(|_| std::hint::black_box(&mut to).copy_from_slice(&from));
                    Ok::<_, qd::Error>(())
                })?;
                Ok(time / times as u32)
            };
            return self.line(
                &name,
                "one thread of plain Rust",
                &mut ours,
                Some(plain),
                Some(bytes),
            );
        }
        let by_hand = CopyByHand::new(&self.opened, bytes)?;
        let rival = || Ok(time(|| by_hand.copy(times))? / times as u32);
        self.line(&name, "the driver's copy", &mut ours, Some(rival), Some(bytes))
    }

    /// Measures a line and prints it; with the bandwidth of each side, if it copies so many bytes.
    fn line<R: FnMut() -> Result<Duration, CommandError>>(
        &mut self,
        name: &str,
        rival_is: &str,
        ours: Side<'_>,
        mut rival: Option<R>,
        copies: Option<usize>,
    ) -> Result<(), CommandError> {
        let progress = std::io::stderr().is_terminal();
        if progress {
            eprint!("measuring: {name}");
        }
        let measured = medians(ours, rival.as_mut().map(|rival| rival as Side<'_>));
        if progress {
            eprint!("\r\x1b[K");
        }
        let (ours, rival) = measured?;
        let out = &mut *self.out;
        let Some(rival) = rival else {
            return Ok(writeln!(out, "{name:32} {:>11} {:>11} {:>6}", shown(ours), "-", "-")?);
        };
        let ratio = ours.as_secs_f64() / rival.as_secs_f64().max(1e-9);
        let (left, right) = (shown(ours), shown(rival));
        writeln!(out, "{name:32} {left:>11} {right:>11} {ratio:>6.2}  {rival_is}")?;
        if let Some(bytes) = copies {
            // A copy reads and writes.
            let rate = |time: Duration| {
                format!("{:.1} GB/s", 2.0 * bytes as f64 / time.as_secs_f64().max(1e-9) / 1e9)
            };
            let (left, right) = (rate(ours), rate(rival));
            writeln!(out, "{:32} {left:>11} {right:>11}", "  read and written")?;
        }
        Ok(())
    }
}

/// The medians of both sides, measured in turns, so that drift affects both.
fn medians(
    ours: Side<'_>,
    mut rival: Option<Side<'_>>,
) -> Result<(Duration, Option<Duration>), CommandError> {
    let begin = Instant::now();
    let mut times = [Vec::new(), Vec::new()];
    for turn in 0..WARM_UP + SAMPLES {
        let [mine, other] = &mut times;
        let time = ours()?;
        let rival_time = rival.as_mut().map(|rival| rival()).transpose()?;
        let is_over = begin.elapsed() > LIMIT;
        // A slow machine has no time for the warm-up.
        if turn >= WARM_UP || is_over {
            mine.push(time);
            other.extend(rival_time);
        }
        if is_over {
            break;
        }
    }
    let median = |times: &mut Vec<Duration>| {
        times.sort_unstable();
        times.get(times.len() / 2).copied()
    };
    let [mut mine, mut other] = times;
    Ok((median(&mut mine).unwrap_or_default(), median(&mut other)))
}

fn four<T: qd::KernelValue>(program: &Program, n: usize) -> qd::Result<[Tensor<T, 1>; BLOCKS]> {
    let one = || program.zeros::<T, 1>([n]);
    Ok([one()?, one()?, one()?, one()?])
}

/// The time of a launch: [`IN_FLIGHT`] launches without the wait for them.
fn per_launch<E: Into<CommandError>>(
    launches: impl FnOnce() -> Result<(), E>,
    wait: impl FnOnce() -> Result<(), E>,
) -> Result<Duration, CommandError> {
    let time = time(launches)?;
    wait().map_err(Into::into)?;
    Ok(time / IN_FLIGHT as u32)
}

/// The time of a call.
fn time<E: Into<CommandError>>(
    call: impl FnOnce() -> Result<(), E>,
) -> Result<Duration, CommandError> {
    let start = Instant::now();
    call().map_err(Into::into)?;
    Ok(start.elapsed())
}

/// A time with three digits.
fn shown(time: Duration) -> String {
    let us = time.as_secs_f64() * 1e6;
    match us {
        0.0..1000.0 => format!("{us:.2} µs"),
        _ => format!("{:.2} ms", us / 1e3),
    }
}
