//! The number of host instructions of a launch, with a driver that does nothing.
//!
//! Counted by valgrind, which repeats exactly: this program runs itself in it once per case. JSON lines on
//! standard output. `instructions CASE COUNT` makes the launches of one case.

use std::process::Command;

use quadrants::{self as qd, Graph, Kernel, Program, Result, Stream, Tensor};
use quadrants_bench::{
    Case, Options, SpeedTarget,
    child::CHILD,
    idle,
    kernels::{saxpy, saxpy_at_run_time},
};

const COUNT: usize = 10_000;
const N: usize = 1 << 14;
/// The steps of an elimination.
const STEPS: usize = 100;

#[qd::kernel]
fn region(
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

/// As [`region`], with a number that makes launches different.
#[qd::kernel]
fn region_of_two(by: f32, a: &mut Tensor<f32, 1>, b: &mut Tensor<f32, 1>) {
    qd::stream_parallel(|| {
        for i in 0..a.len() {
            a[i] += by;
        }
    });
    qd::stream_parallel(|| {
        for i in 0..b.len() {
            b[i] += by;
        }
    });
}

/// A step of an elimination: its proofs depend on the number.
#[qd::kernel]
fn eliminate(k: usize, a: &mut Tensor<f32, 1>, b: &mut Tensor<f32, 1>) {
    for i in k + 1..a.len() {
        a[i] -= a[k] * b[i - k];
    }
}

struct Fixture {
    stream: Stream,
    tensors: [Tensor<f32, 1>; 4],
    built: Kernel,
    captured: Graph,
}

/// Launches that a captured graph has.
const CAPTURED: usize = 64;

/// The cases, each a separate function that valgrind recognizes by the module's name.
mod counted {
    use super::*;

    type Case = fn(&mut Fixture, usize) -> Result<()>;

    pub(super) const CASES: [(&str, Case); 12] = [
        ("launch, 3 arguments, default stream", on_default),
        ("launch, 3 arguments, explicit stream", on_explicit),
        ("launch, 3 arguments, explicit stream, kernel made at run time", built),
        ("slices that are not contiguous, 3 arguments, explicit stream", strided),
        ("launch, another number each time, explicit stream", changing),
        ("launch, a new number each time, explicit stream", anew),
        ("region of 4 blocks, explicit stream", region_of_4),
        ("region of 2 blocks as a graph, the same arguments", region_same_args),
        ("region of 2 blocks as a graph, other arguments", region_new_args),
        ("captured chain of 64, as captured", captured),
        ("captured chain of 64, another argument of one launch", captured_but_one),
        ("captured chain of 64, another argument of all launches", captured_but_all),
    ];

    #[inline(never)]
    fn on_default(things: &mut Fixture, count: usize) -> Result<()> {
        let [x, y, ..] = &mut things.tensors;
        (0..count).try_for_each(|_| saxpy(2.0, x, y).launch())
    }

    #[inline(never)]
    fn on_explicit(things: &mut Fixture, count: usize) -> Result<()> {
        let [x, y, ..] = &mut things.tensors;
        (0..count).try_for_each(|_| saxpy(2.0, x, y).launch_on(&things.stream))
    }

    #[inline(never)]
    fn built(things: &mut Fixture, count: usize) -> Result<()> {
        let [x, y, ..] = &mut things.tensors;
        (0..count).try_for_each(|_| {
            things.built.call::<()>().arg(2.0f32).arg(&*x).arg(&mut *y).launch_on(&things.stream)
        })
    }

    #[inline(never)]
    fn strided(things: &mut Fixture, count: usize) -> Result<()> {
        let [x, y, ..] = &mut things.tensors;
        let (x, mut y) = (x.every(0, 2)?, y.every_mut(0, 2)?);
        (0..count).try_for_each(|_| saxpy(2.0, &x, &mut y).launch_on(&things.stream))
    }

    #[inline(never)]
    fn changing(things: &mut Fixture, count: usize) -> Result<()> {
        let [a, b, ..] = &mut things.tensors;
        (0..count).try_for_each(|turn| eliminate(turn % STEPS, a, b).launch_on(&things.stream))
    }

    #[inline(never)]
    fn anew(things: &mut Fixture, count: usize) -> Result<()> {
        let [a, b, ..] = &mut things.tensors;
        // The last launches have the numbers that no other launch had.
        (0..count).try_for_each(|turn| eliminate(STEPS + turn, a, b).launch_on(&things.stream))
    }

    #[inline(never)]
    fn region_of_4(things: &mut Fixture, count: usize) -> Result<()> {
        let [a, b, c, d] = &mut things.tensors;
        (0..count).try_for_each(|_| region(a, b, c, d).launch_on(&things.stream))
    }

    #[inline(never)]
    fn region_same_args(things: &mut Fixture, count: usize) -> Result<()> {
        let [a, b, ..] = &mut things.tensors;
        (0..count).try_for_each(|_| region_of_two(1.0, a, b).launch_on(&things.stream))
    }

    #[inline(never)]
    fn region_new_args(things: &mut Fixture, count: usize) -> Result<()> {
        let [a, b, ..] = &mut things.tensors;
        (0..count).try_for_each(|turn| region_of_two(turn as f32, a, b).launch_on(&things.stream))
    }

    #[inline(never)]
    fn captured(things: &mut Fixture, count: usize) -> Result<()> {
        (0..count).try_for_each(|_| things.captured.launch_on(&things.stream))
    }

    #[inline(never)]
    fn captured_but_one(things: &mut Fixture, count: usize) -> Result<()> {
        (0..count).try_for_each(|turn| {
            things.captured.with("saxpy[40].a", turn as f32).launch_on(&things.stream)
        })
    }

    #[inline(never)]
    fn captured_but_all(things: &mut Fixture, count: usize) -> Result<()> {
        (0..count).try_for_each(|turn| {
            things.captured.with("saxpy.a", turn as f32).launch_on(&things.stream)
        })
    }
}

fn main() -> Result<()> {
    let mut args = std::env::args().skip(1);
    if args.next().as_deref() == Some(CHILD) {
        let (case, count) = (args.next().expect("a case"), args.next().expect("how many launches"));
        return launches(&case, count.parse().expect("a number of launches"));
    }
    let options = Options::from_args();
    if let Err(error) = Command::new("valgrind").arg("--version").output() {
        eprintln!("valgrind, which counts instructions: {error}");
        return Ok(());
    }
    for (name, _) in counted::CASES {
        let case = Case::new("instructions", name, "instructions");
        let case =
            if name.starts_with("launch") { case.target(SpeedTarget::Most(400.0)) } else { case };
        options.count(&case, || (count(name, COUNT) - count(name, 0)) as f64 / COUNT as f64);
    }
    Ok(())
}

/// Counts the instructions of a case's launches.
fn count(case: &str, launches: usize) -> u64 {
    let program = std::env::current_exe().expect("this program");
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg("--toggle-collect=*counted::*")
        .arg(program)
        .args([CHILD, case, &launches.to_string()])
        .output()
        .expect("valgrind runs");
    let said = String::from_utf8_lossy(&output.stderr);
    let collected = said.lines().find_map(|line| line.split_once("Collected : "));
    match collected.and_then(|(_, number)| number.trim().parse().ok()) {
        Some(number) if output.status.success() => number,
        _ => panic!("valgrind said: {said}"),
    }
}

fn launches(case: &str, count: usize) -> Result<()> {
    // By events, where a case does not say that it is of graphs.
    let graphs = case.contains("graph") || case.contains("captured");
    let program = Program::builder().graphs(graphs).open(idle::open())?;
    let mut tensors = [(); 4].map(|()| program.zeros([N]).expect("memory"));
    let built = Kernel::new(saxpy_at_run_time())?;
    let captured = program.capture(|| {
        let [x, y, ..] = &mut tensors;
        (0..CAPTURED)
            .try_for_each(|_| built.call::<()>().arg(2.0f32).arg(&*x).arg(&mut *y).launch())
    })?;
    let mut things = Fixture { stream: program.create_stream()?, tensors, built, captured };
    let (_, launches) = counted::CASES.iter().find(|(name, _)| *name == case).expect("a case");
    // What the first launch makes is no part of the count: without launches the function is never entered.
    let [x, y, z, w] = &mut things.tensors;
    saxpy(2.0, x, y).launch()?;
    saxpy(2.0, x, y).launch_on(&things.stream)?;
    things.built.call::<()>().arg(2.0f32).arg(&*x).arg(&mut *y).launch_on(&things.stream)?;
    (0..STEPS).try_for_each(|k| eliminate(k, x, y).launch_on(&things.stream))?;
    region(x, y, z, w).launch_on(&things.stream)?;
    // Behind these regions are graphs.
    (0..4).try_for_each(|_| region_of_two(1.0, x, y).launch_on(&things.stream))?;
    things.captured.launch_on(&things.stream)?;
    things.captured.with("saxpy[40].a", 1.0f32).launch_on(&things.stream)?;
    things.captured.with("saxpy.a", 1.0f32).launch_on(&things.stream)?;
    things.captured.launch_on(&things.stream)?;
    launches(&mut things, count)
}
