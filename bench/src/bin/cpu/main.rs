//! Kernels on the processor against C with OpenMP and plain Rust with rayon.
//!
//! C is compiled when the bench runs, with `-ffast-math` and without; where there is no compiler or no OpenMP, a line
//! on standard error says so and rayon stays. Our side is launched with bounds checked. What the sides compute is
//! compared before it is timed. Each sample rests until the threads of the side before sleep, and runs once to wake
//! its own. Cases whose name ends in `lanes` are those that C cannot know to be parallel: their rival is C without
//! `-ffast-math`, and the target is what iterations across SIMD lanes once gave on a processor with AVX-512.

mod c;
mod rust;

use std::{
    thread::sleep,
    time::{Duration, Instant},
};

use c::C;
use quadrants::{Arch, Program, Result, Tensor};
use quadrants_bench::{Case, Options, Rival, SpeedTarget, kernels};

/// A sample repeats its call for about this many seconds.
const SAMPLE_SECONDS: f64 = 10e-3;

/// OpenMP's threads wait for more work in a loop of their own, of 300 000 rounds that pause: on some processors 15 ms.
const REST: Duration = Duration::from_millis(40);

const SAMPLES: usize = 15;

/// Steps of Mandelbrot's sequence at most.
const STEPS: u32 = 256;

struct Bench {
    options: Options,
    program: Program,
    fast: Option<C>,
    plain: Option<C>,
}

/// What all sides have of a case: one set of data each, so that all write to memory of their own.
type Sides<T> = [T; 3];

type Boxed<'a> = Box<dyn FnMut() + 'a>;

fn main() -> Result<()> {
    let options = Options::from_args();
    if !options.wants("cpu") {
        return Ok(());
    }
    let load = |fast_math| {
        let loaded = C::load(fast_math);
        loaded.inspect_err(|error| eprintln!("no rival in C: {error}")).ok()
    };
    let program = Program::open(Arch::Cpu)?;
    let bench = Bench { options, program, fast: load(true), plain: load(false) };
    bench.touch(1, Some(SpeedTarget::Most(0.15)))?;
    bench.touch(1 << 10, Some(SpeedTarget::Ratio(1.0)))?;
    bench.saxpy("saxpy", 1 << 24, Some(SpeedTarget::Ratio(1.0)))?;
    bench.jacobi("jacobi", 2048, Some(SpeedTarget::Ratio(1.0)))?;
    bench.sum(1 << 24)?;
    bench.mandelbrot(1024)?;
    bench.nbody(4096)?;
    bench.chains(1 << 20)?;
    // Five decades, from what a first-level cache holds to what none does.
    for bits in (7..=24).step_by(2).chain([24]) {
        bench.saxpy("growth of saxpy", 1 << bits, None)?;
    }
    for n in [12, 23, 45, 90, 181, 362, 724, 1448, 2896, 4096] {
        bench.jacobi("growth of jacobi", n, None)?;
    }
    Ok(())
}

impl Bench {
    fn touch(&self, n: usize, target: Option<SpeedTarget>) -> Result<()> {
        let mut ours = self.program.zeros::<f32, 1>([n])?;
        let mut theirs = vec![0.0f32; n];
        let rival = self.fast.as_ref().map(|c| move || c.touch(&mut theirs));
        self.compare(
            case(format!("launch of {n}"), target),
            || kernels::touch(&mut ours).launch(),
            [("C with OpenMP", rival.map(boxed))],
        );
        Ok(())
    }

    fn saxpy(&self, name: &str, n: usize, target: Option<SpeedTarget>) -> Result<()> {
        let case = case(format!("{name}, {n}"), target).work(12e-9 * n as f64, "GB/s");
        if !self.options.selects(&case) {
            return Ok(());
        }
        let x: Vec<f32> = (0..n).map(|k| (k % 7) as f32).collect();
        let ours_x = self.program.tensor_from(&x, [n])?;
        let mut ours = self.program.zeros::<f32, 1>([n])?;
        let [mut fast, mut plain, mut rust]: Sides<Vec<f32>> = [(); 3].map(|()| vec![0.0; n]);
        kernels::saxpy(0.5, &ours_x, &mut ours).launch()?;
        rust::saxpy(0.5, &x, &mut rust);
        close("saxpy", &ours, &rust)?;
        for (c, y) in self.both([&mut fast, &mut plain]) {
            c.saxpy(0.5, &x, y);
            close("saxpy", &ours, y)?;
        }
        let x = &x;
        self.compare(
            case,
            || kernels::saxpy(0.5, &ours_x, &mut ours).launch(),
            [
                (FAST, self.fast.as_ref().map(|c| boxed(|| c.saxpy(0.5, x, &mut fast)))),
                (PLAIN, self.plain.as_ref().map(|c| boxed(|| c.saxpy(0.5, x, &mut plain)))),
                (RAYON, Some(boxed(|| rust::saxpy(0.5, x, &mut rust)))),
            ],
        );
        Ok(())
    }

    fn jacobi(&self, name: &str, n: usize, target: Option<SpeedTarget>) -> Result<()> {
        let case = case(format!("{name}, {n} by {n}"), target).work(8e-9 * (n * n) as f64, "GB/s");
        if !self.options.selects(&case) {
            return Ok(());
        }
        let a: Vec<f32> = (0..n * n).map(|k| (k % 11) as f32).collect();
        let ours_a = self.program.tensor_from(&a, [n, n])?;
        let mut ours = self.program.zeros::<f32, 2>([n, n])?;
        let [mut fast, mut plain, mut rust]: Sides<Vec<f32>> = [(); 3].map(|()| vec![0.0; n * n]);
        kernels::jacobi(&ours_a, &mut ours).launch()?;
        rust::jacobi(&a, &mut rust, n);
        close("jacobi", &ours, &rust)?;
        for (c, b) in self.both([&mut fast, &mut plain]) {
            c.jacobi(&a, b, n);
            close("jacobi", &ours, b)?;
        }
        let a = &a;
        self.compare(
            case,
            || kernels::jacobi(&ours_a, &mut ours).launch(),
            [
                (FAST, self.fast.as_ref().map(|c| boxed(|| c.jacobi(a, &mut fast, n)))),
                (PLAIN, self.plain.as_ref().map(|c| boxed(|| c.jacobi(a, &mut plain, n)))),
                (RAYON, Some(boxed(|| rust::jacobi(a, &mut rust, n)))),
            ],
        );
        Ok(())
    }

    fn sum(&self, n: usize) -> Result<()> {
        let x: Vec<f32> = (0..n).map(|k| (k % 7) as f32).collect();
        let ours_x = self.program.tensor_from(&x, [n])?;
        let mut ours = self.program.zeros::<f32, 1>([1])?;
        let [mut fast, mut plain, mut rust]: Sides<f32> = [0.0; 3];
        kernels::sum(&ours_x, &mut ours).launch()?;
        rust::sum(&x, &mut rust);
        close("sum", &ours, &[rust])?;
        if let Some(c) = &self.fast {
            c.sum(&x, &mut fast);
            close("sum", &ours, &[fast])?;
        }
        let x = &x;
        let work = 4e-9 * n as f64;
        self.compare(
            case(format!("sum, {n}"), Some(SpeedTarget::Ratio(1.0))).work(work, "GB/s"),
            || kernels::sum(&ours_x, &mut ours).launch(),
            [
                (FAST, self.fast.as_ref().map(|c| boxed(|| c.sum(x, &mut fast)))),
                (RAYON, Some(boxed(|| rust::sum(x, &mut rust)))),
            ],
        );
        self.compare(
            case(format!("sum, {n}, lanes"), Some(SpeedTarget::Ratio(0.39))),
            || kernels::sum(&ours_x, &mut ours).launch(),
            [(PLAIN, self.plain.as_ref().map(|c| boxed(|| c.sum(x, &mut plain))))],
        );
        Ok(())
    }

    fn mandelbrot(&self, n: usize) -> Result<()> {
        let mut ours = self.program.zeros::<u32, 2>([n, n])?;
        let [mut fast, mut plain, mut rust]: Sides<Vec<u32>> = [(); 3].map(|()| vec![0; n * n]);
        kernels::mandelbrot(STEPS, &mut ours).launch()?;
        rust::mandelbrot(STEPS, &mut rust, n);
        // Steps of one operation each: not even the last bit differs.
        assert!(ours.to_vec()? == rust, "mandelbrot");
        self.compare(
            case(format!("mandelbrot, {n} by {n}"), Some(SpeedTarget::Ratio(1.0))),
            || kernels::mandelbrot(STEPS, &mut ours).launch(),
            [
                (FAST, self.fast.as_ref().map(|c| boxed(|| c.mandelbrot(STEPS, &mut fast, n)))),
                (RAYON, Some(boxed(|| rust::mandelbrot(STEPS, &mut rust, n)))),
            ],
        );
        self.compare(
            case(format!("mandelbrot, {n} by {n}, lanes"), Some(SpeedTarget::Ratio(0.23))),
            || kernels::mandelbrot(STEPS, &mut ours).launch(),
            [(PLAIN, self.plain.as_ref().map(|c| boxed(|| c.mandelbrot(STEPS, &mut plain, n))))],
        );
        Ok(())
    }

    fn nbody(&self, n: usize) -> Result<()> {
        let bodies: [Vec<f32>; 4] = [1, 2, 3, 4]
            .map(|of| (0..n).map(|k| ((k * 7919 + of * 104_729) % 1000) as f32 * 1e-3).collect());
        let [x, y, z, m] = bodies.each_ref().map(|of| self.program.tensor_from(of, [n]));
        let (x, y, z, m) = (x?, y?, z?, m?);
        let [ax, ay, az] = [(); 3].map(|()| self.program.zeros::<f32, 1>([n]));
        let (mut ax, mut ay, mut az) = (ax?, ay?, az?);
        let [mut fast, mut plain, mut rust]: Sides<[Vec<f32>; 3]> =
            [(); 3].map(|()| [(); 3].map(|()| vec![0.0; n]));
        kernels::nbody(&x, &y, &z, &m, &mut ax, &mut ay, &mut az).launch()?;
        rust::nbody(&bodies, &mut rust);
        let all_close = |with: &[Vec<f32>; 3]| {
            [&ax, &ay, &az].iter().zip(with).try_for_each(|(ours, with)| close("nbody", ours, with))
        };
        all_close(&rust)?;
        for (c, out) in self.both([&mut fast, &mut plain]) {
            c.nbody(&bodies, out);
            all_close(out)?;
        }
        let (bodies, work) = (&bodies, 1e-9 * (n * n) as f64);
        let mut ours = || kernels::nbody(&x, &y, &z, &m, &mut ax, &mut ay, &mut az).launch();
        self.compare(
            case(format!("nbody, {n}"), Some(SpeedTarget::Ratio(1.0))).work(work, "Gpair/s"),
            &mut ours,
            [
                (FAST, self.fast.as_ref().map(|c| boxed(|| c.nbody(bodies, &mut fast)))),
                (RAYON, Some(boxed(|| rust::nbody(bodies, &mut rust)))),
            ],
        );
        self.compare(
            case(format!("nbody, {n}, lanes"), Some(SpeedTarget::Ratio(0.12))),
            &mut ours,
            [(PLAIN, self.plain.as_ref().map(|c| boxed(|| c.nbody(bodies, &mut plain))))],
        );
        Ok(())
    }

    fn chains(&self, n: usize) -> Result<()> {
        let (a, b) = (0.999, 0.001);
        let x: Vec<f32> = (0..n).map(|k| (k % 7) as f32).collect();
        let mut ours = self.program.tensor_from(&x, [n])?;
        let [mut fast, mut plain, mut rust]: Sides<Vec<f32>> = [(); 3].map(|()| x.clone());
        kernels::chain(a, b, &mut ours).launch()?;
        rust::chains(&mut rust, a, b);
        close("chains", &ours, &rust)?;
        for (c, x) in self.both([&mut fast, &mut plain]) {
            c.chains(x, a, b);
            close("chains", &ours, x)?;
        }
        let work = 256e-9 * n as f64;
        self.compare(
            case(format!("chains, {n} by 256"), Some(SpeedTarget::Ratio(1.0)))
                .work(work, "Gstep/s"),
            || kernels::chain(a, b, &mut ours).launch(),
            [
                (FAST, self.fast.as_ref().map(|c| boxed(|| c.chains(&mut fast, a, b)))),
                (RAYON, Some(boxed(|| rust::chains(&mut rust, a, b)))),
            ],
        );
        self.compare(
            case(format!("chains, {n} by 256, lanes"), Some(SpeedTarget::Ratio(0.34))),
            || kernels::chain(a, b, &mut ours).launch(),
            [(PLAIN, self.plain.as_ref().map(|c| boxed(|| c.chains(&mut plain, a, b))))],
        );
        Ok(())
    }

    /// C of both kinds, where it is there, each with data of its own.
    fn both<T>(&self, data: [T; 2]) -> impl Iterator<Item = (&C, T)> {
        [&self.fast, &self.plain]
            .into_iter()
            .zip(data)
            .filter_map(|(c, of)| Some((c.as_ref()?, of)))
    }

    fn compare<const N: usize>(
        &self,
        case: Case,
        mut ours: impl FnMut() -> Result<()>,
        rivals: [(&'static str, Option<Boxed<'_>>); N],
    ) {
        if !self.options.selects(&case) {
            return;
        }
        let rivals = rivals.into_iter().filter_map(|(name, run)| Some((name, run?)));
        let mut rivals: Vec<_> = rivals.map(|(name, run)| (name, with_cooldown(run))).collect();
        let mut rivals: Vec<Rival<'_>> =
            rivals.iter_mut().map(|(name, run)| (*name, run as &mut dyn FnMut() -> f64)).collect();
        self.options.run(
            &case,
            SAMPLES,
            &mut with_cooldown(|| ours().expect("it launches")),
            &mut rivals,
        );
    }
}

const FAST: &str = "C with OpenMP and -ffast-math";
const PLAIN: &str = "C with OpenMP";
const RAYON: &str = "plain Rust with rayon";

fn case(name: String, target: Option<SpeedTarget>) -> Case {
    let case = Case::new("cpu", name, "us");
    match target {
        Some(target) => case.target(target),
        None => case,
    }
}

fn boxed<'a>(run: impl FnMut() + 'a) -> Boxed<'a> {
    Box::new(run)
}

/// A sample of a call: microseconds of one of as many as fill the time, behind a rest and one that nobody counts.
fn with_cooldown(mut run: impl FnMut()) -> impl FnMut() -> f64 {
    let mut calls = None;
    move || {
        sleep(REST);
        run();
        let calls = *calls.get_or_insert_with(|| {
            let start = Instant::now();
            let counted = (1u32..).find(|_| {
                run();
                start.elapsed().as_secs_f64() > SAMPLE_SECONDS
            });
            counted.expect("time goes on")
        });
        let start = Instant::now();
        (0..calls).for_each(|_| run());
        start.elapsed().as_secs_f64() * 1e6 / f64::from(calls)
    }
}

/// Sums in another order differ a little.
fn close<const N: usize>(case: &str, ours: &Tensor<f32, N>, theirs: &[f32]) -> Result<()> {
    let ours = ours.to_vec()?;
    assert_eq!(ours.len(), theirs.len(), "{case}");
    for (at, (ours, theirs)) in ours.iter().zip(theirs).enumerate() {
        let apart = (ours - theirs).abs();
        assert!(apart <= 2e-3 * (1.0 + theirs.abs()), "{case} at {at}: {ours} and {theirs}");
    }
    Ok(())
}
