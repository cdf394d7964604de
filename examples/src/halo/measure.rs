//! Times of steps, and how they grow with the number of devices.

use std::time::Instant;

use quadrants::collectives::Communicator;

use super::{Devices, Equations, Exchange, Outcome, Problem, largest};

/// The seconds that `work` takes on the slowest device, to its end on the device.
pub(crate) fn slowest(
    communicator: &Communicator,
    work: impl FnOnce() -> crate::Result<()>,
) -> crate::Result<f64> {
    let program = communicator.program();
    // All begin at once, after this.
    largest(communicator, 0.0)?;
    program.device_sync()?;
    let start = Instant::now();
    work()?;
    program.device_sync()?;
    Ok(largest(communicator, start.elapsed().as_secs_f64())?)
}

/// How often each time is measured; the median counts.
const REPEATS: usize = 5;

/// Measures a field of `size` rows and columns: on one device and on all, with the exchange and without it; and a field
/// that grows with the number of devices. Returns a table.
pub(crate) fn table(
    devices: &Devices,
    equations: Equations,
    size: usize,
    steps: usize,
) -> crate::Result<String> {
    let count = devices.count();
    let one = devices.first();
    let rows = |rows: usize, exchange| Problem { equations, size: [rows, size], steps, exchange };
    let cases = [
        ("one device", &one, rows(size, Exchange::Overlapped)),
        ("strong", devices, rows(size, Exchange::Overlapped)),
        ("strong, no exchange", devices, rows(size, Exchange::Left)),
        ("weak", devices, rows(size * count, Exchange::Overlapped)),
        ("weak, no exchange", devices, rows(size * count, Exchange::Left)),
    ];
    let mut times = [const { Vec::new() }; 5];
    for _ in 0..REPEATS {
        for ((_, devices, problem), times) in cases.iter().zip(&mut times) {
            let Outcome { seconds, .. } = devices.run(problem, false)?;
            times.push(seconds);
        }
    }
    let [alone, strong, strong_alone, weak, weak_alone] = times.map(median);
    let mut text = format!(
        "{count} devices, {size} columns, {steps} steps, median of {REPEATS}\n\
         | case | rows | ms per step | 10^9 cells/s | efficiency | against no exchange |\n\
         |---|---|---|---|---|---|\n"
    );
    let lines = [
        (0, alone, 1.0, 1.0),
        (1, strong, alone / (strong * count as f64), strong / strong_alone),
        (2, strong_alone, alone / (strong_alone * count as f64), 1.0),
        (3, weak, alone / weak, weak / weak_alone),
        (4, weak_alone, alone / weak_alone, 1.0),
    ];
    for (case, seconds, efficiency, ratio) in lines {
        let (name, _, problem) = &cases[case];
        let cells = (problem.size[0] * problem.size[1]) as f64 / seconds / 1e9;
        text += &format!(
            "| {name} | {} | {:.4} | {cells:.1} | {efficiency:.3} | {ratio:.3} |\n",
            problem.size[0],
            seconds * 1e3
        );
    }
    Ok(text)
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

impl Devices {
    /// The first device alone.
    fn first(&self) -> Self {
        let programs = self.programs.iter().take(1).cloned().collect();
        Self { programs, builder: self.builder.clone(), processes: None, worlds: Vec::new() }
    }
}
