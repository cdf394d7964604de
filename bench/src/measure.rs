//! Comparison of sides: alternating samples, so that drift affects all sides, and medians.

use std::time::Instant;

use crate::line::{Line, Rate, Side, SpeedTarget};

/// Warm-up rounds, for caches, clocks and lazy initialization.
const WARM_UP: usize = 3;

/// Measures cases and their rivals, and prints a line of JSON for each.
#[derive(clap::Parser)]
pub struct Options {
    /// Only this backend.
    #[arg(long, value_parser = ["all", "cpu", "cuda"])]
    backend: Option<String>,
    /// Only cases whose `bench: case` has this text.
    #[arg(long, value_name = "TEXT")]
    filter: Option<String>,
    /// How many samples each side gives.
    #[arg(long, value_name = "N")]
    samples: Option<usize>,
    /// Compares results without timing them (corpus only).
    #[arg(long)]
    small: bool,
}

/// One case to measure.
pub struct Case {
    bench: &'static str,
    name: String,
    unit: &'static str,
    target: Option<SpeedTarget>,
    rate: Option<(f64, &'static str)>,
}

/// A rival: its name, and a function that takes one sample in the unit of the case.
pub type Rival<'a> = (&'a str, &'a mut dyn FnMut() -> f64);

impl Options {
    /// Reads the command line. Prints the help, or what is wrong with the arguments, and ends the process where that
    /// is all there is to do.
    pub fn from_args() -> Self {
        clap::Parser::parse()
    }

    /// Whether results are to be compared without timing.
    pub fn small(&self) -> bool {
        self.small
    }

    /// Whether the cases of this backend are to run: all do where none is named.
    pub fn wants(&self, backend: &str) -> bool {
        self.backend.as_deref().is_none_or(|wanted| wanted == backend || wanted == "all")
    }

    /// Whether the case is to run: making its data is often the longest part of it.
    pub fn selects(&self, case: &Case) -> bool {
        let name = format!("{}: {}", case.bench, case.name);
        self.filter.as_ref().is_none_or(|filter| name.contains(filter))
    }

    /// How many samples each side gives, where the command line does not say.
    pub fn samples(&self, otherwise: usize) -> usize {
        self.samples.unwrap_or(otherwise)
    }

    /// Measures ours and the rivals in turns, and prints the line.
    pub fn run(
        &self,
        case: &Case,
        samples: usize,
        ours: &mut dyn FnMut() -> f64,
        rivals: &mut [Rival<'_>],
    ) {
        if !self.selects(case) {
            return;
        }
        let samples = self.samples(samples).max(1);
        let mut times = vec![Vec::with_capacity(samples); rivals.len() + 1];
        for turn in 0..samples + WARM_UP.min(samples) {
            let turns = std::iter::once(ours()).chain(rivals.iter_mut().map(|(_, run)| run()));
            for (times, time) in times.iter_mut().zip(turns) {
                if turn >= WARM_UP.min(samples) {
                    times.push(time);
                }
            }
        }
        let mut times = times.into_iter();
        let ours = Side::new("ours", times.next().expect("ours is the first side"));
        let mut sides: Vec<_> =
            rivals.iter().zip(times).map(|((name, _), times)| Side::new(name, times)).collect();
        sides.sort_by(|a, b| a.median.total_cmp(&b.median));
        println!("{}", serde_json::to_string(&case.line(ours, sides)).expect("a line is JSON"));
    }

    /// Prints the line of a case that is counted instead of timed, where it is selected.
    pub fn count(&self, case: &Case, counter: impl FnOnce() -> f64) {
        if self.selects(case) {
            let line = case.line(Side::new("ours", vec![counter()]), Vec::new());
            println!("{}", serde_json::to_string(&line).expect("a line is JSON"));
        }
    }
}

impl Case {
    /// A case whose times are in `unit`: `"ns"`, `"us"` or `"ms"`; or one that is counted in another unit.
    pub fn new(bench: &'static str, name: impl Into<String>, unit: &'static str) -> Self {
        Self { bench, name: name.into(), unit, target: None, rate: None }
    }

    /// The target of the case.
    pub fn target(mut self, target: SpeedTarget) -> Self {
        self.target = Some(target);
        self
    }

    /// The work of one call, in 10^9 of `unit` (`"GB/s"`, `"Gpair/s"`), for its rate.
    pub fn work(mut self, giga: f64, unit: &'static str) -> Self {
        self.rate = Some((giga, unit));
        self
    }

    fn line(&self, ours: Side, rivals: Vec<Side>) -> Line {
        self.line_of(self.bench, ours, rivals)
    }

    /// The line of the case under the name of another bench.
    pub(crate) fn line_of(&self, bench: &str, ours: Side, rivals: Vec<Side>) -> Line {
        let seconds = match self.unit {
            "ns" => 1e-9,
            "us" => 1e-6,
            _ => 1e-3,
        };
        let rate = |(work, unit): (f64, &str)| Rate {
            value: work / (ours.median * seconds),
            unit: unit.to_owned(),
        };
        Line {
            bench: bench.to_owned(),
            case: self.name.clone(),
            unit: self.unit.to_owned(),
            ratio: rivals.first().map(|rival| ours.median / rival.median),
            rate: self.rate.map(rate),
            target: self.target,
            rivals,
            ours,
        }
    }
}

/// Seconds of a call.
pub fn seconds(call: impl FnOnce()) -> f64 {
    let start = Instant::now();
    call();
    start.elapsed().as_secs_f64()
}

/// A sample of what the host pays: microseconds of one of `count` calls, which are waited for outside the clock.
pub fn enqueue(
    count: usize,
    mut call: impl FnMut(),
    mut wait: impl FnMut(),
) -> impl FnMut() -> f64 {
    move || {
        let time = seconds(|| (0..count).for_each(|_| call()));
        wait();
        time * 1e6 / count as f64
    }
}

/// A sample of what the work takes: milliseconds of one of `count` calls, until the last is done.
pub fn until_done(
    count: usize,
    mut call: impl FnMut(),
    mut wait: impl FnMut(),
) -> impl FnMut() -> f64 {
    move || {
        let time = seconds(|| {
            (0..count).for_each(|_| call());
            wait();
        });
        time * 1e3 / count as f64
    }
}
