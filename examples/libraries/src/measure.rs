//! Times of work on a device, and work side by side.

use std::time::{Duration, Instant};

use quadrants::Program;

use crate::Result;

const SAMPLES: usize = 21;

/// The time of some work from its first call until the device is idle again.
///
/// # Errors
/// Those of the work.
pub fn time(program: &Program, work: impl FnOnce() -> Result<()>) -> Result<Duration> {
    program.device_sync()?;
    let begin = Instant::now();
    work()?;
    program.device_sync()?;
    Ok(begin.elapsed())
}

/// The median [`time`] of 21 repetitions.
///
/// # Errors
/// Those of the work.
pub fn median(program: &Program, mut work: impl FnMut() -> Result<()>) -> Result<Duration> {
    let mut times = Vec::new();
    for _ in 0..SAMPLES {
        times.push(time(program, &mut work)?);
    }
    times.sort();
    Ok(times[SAMPLES / 2])
}

/// Two works as blocks of a host-side region.
///
/// # Errors
/// Those of the works.
pub fn side_by_side(
    program: &Program,
    first: impl FnOnce() -> Result<()>,
    second: impl FnOnce() -> Result<()>,
) -> Result<()> {
    // Errors of libraries pass the region here.
    let (mut of_first, mut of_second) = (Ok(()), Ok(()));
    program.stream_parallel(|p| {
        p.block(|| {
            of_first = first();
            Ok(())
        })?;
        p.block(|| {
            of_second = second();
            Ok(())
        })
    })?;
    of_first.and(of_second)
}

/// The largest difference of two lists.
#[must_use]
pub fn largest_difference(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| (x - y).abs()).fold(0.0, f64::max)
}
