//! The command line of the halo exchange.

use std::{path::PathBuf, process::ExitCode, sync::Arc, time::Duration};

use clap::Parser;
use quadrants::{
    self as qd,
    collectives::bootstrap::{ProcessGroup, RankConfig},
};
use quadrants_tests::TestBackend;

use super::{Devices, Equations, Exchange, Problem, measure, open, picture};
use crate::{command::BackendChoice, trace::TraceOption};

/// A field on several devices, with an exchange of rows beside the computation
#[derive(Parser, Debug)]
#[command(name = "halo", max_term_width = 100)]
pub(crate) struct Options {
    /// What is computed
    #[arg(value_enum, default_value_t = Equations::Fluid)]
    pub(crate) equations: Equations,
    /// The devices
    #[arg(long, value_enum, default_value_t = BackendChoice::Auto)]
    pub(crate) backend: BackendChoice,
    /// How many devices [default: all; one for each process of a launcher such as torchrun]
    #[arg(long, value_name = "N")]
    pub(crate) devices: Option<usize>,
    /// Runs on N simulated devices, with the worst order of operations that the dependencies allow
    #[arg(long, value_name = "N", conflicts_with_all = ["backend", "devices"])]
    pub(crate) simulated: Option<usize>,
    /// Rows and columns of the field [default: 512; 24 if simulated]
    #[arg(long, value_name = "N")]
    pub(crate) size: Option<usize>,
    /// How many steps [default: 2000; 12 if simulated]
    #[arg(long, value_name = "N")]
    pub(crate) steps: Option<usize>,
    /// Prints times on one device and on all, instead of writing a picture
    #[arg(long, conflicts_with = "trace")]
    pub(crate) measure: bool,
    /// Lets calls of NCCL block, which takes the host less time
    #[arg(long)]
    pub(crate) blocking: bool,
    /// Leaves out the order between the computation and the exchange: a mistake for the simulator to find
    #[arg(long)]
    pub(crate) omit_order: bool,
    /// The folder for the picture
    #[arg(long, value_name = "DIR", default_value = "target/halo")]
    pub(crate) out: PathBuf,
    #[command(flatten)]
    pub(crate) trace: TraceOption,
}

/// The program's entry point.
#[must_use]
pub fn main() -> ExitCode {
    let options = Options::parse();
    match execute(&options) {
        Ok(text) => {
            print!("{text}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("halo: {}", error.one_line());
            ExitCode::FAILURE
        }
    }
}

/// Does what the options ask for, and returns what is to be printed.
pub(crate) fn execute(options: &Options) -> crate::Result<String> {
    let mut devices = devices(options)?;
    if options.blocking {
        devices.builder = devices.builder.blocking(true);
    }
    let simulated = options.simulated.is_some();
    let size = options.size.unwrap_or(if simulated { 24 } else { 512 });
    let steps = options.steps.unwrap_or(if simulated { 12 } else { 2000 });
    let is_first = devices.processes.as_ref().is_none_or(|processes| processes.rank() == 0);
    if options.measure {
        let table = measure::table(&devices, options.equations, size, steps)?;
        return Ok(if is_first { table } else { String::new() });
    }
    let exchange = match options.omit_order {
        true => Exchange::Unordered,
        false => Exchange::Overlapped,
    };
    let problem = Problem { equations: options.equations, size: [size, size], steps, exchange };
    let (outcome, files) =
        options.trace.record(&devices.programs, || devices.run(&problem, true))?;
    if !is_first {
        return Ok(String::new());
    }
    let mut text = describe(&devices);
    text +=
        &format!("{size} × {size} cells, {steps} steps, {:.3} ms each\n", outcome.seconds * 1e3);
    text += &files;
    if !simulated {
        let (path, folder) = (options.out.join("halo.png"), &options.out);
        std::fs::create_dir_all(folder)
            .map_err(|source| crate::Error::Folder { path: folder.clone(), source })?;
        picture(&problem, &outcome.field)
            .save(&path)
            .map_err(|source| crate::Error::Write { path: path.clone(), source })?;
        text += &format!("{:<11}{}\n", "picture", path.display());
        return Ok(text);
    }
    let races: Vec<_> = devices.worlds.iter().flat_map(|world| world.races()).collect();
    match races.first() {
        None => text += "no operation raced with another\n",
        Some(first) => {
            text += &format!("{} races; the first: {first}\n", races.len());
            // Dropped worlds would report them again.
            devices.worlds.iter().for_each(|world| world.allow_races());
        }
    }
    Ok(text)
}

fn devices(options: &Options) -> crate::Result<Devices> {
    if let Some(count) = options.simulated {
        if !(1..=16).contains(&count) {
            return Err(crate::Error::Usage("1 to 16 devices can be simulated".to_owned()));
        }
        return Devices::simulated(TestBackend::Cuda, count);
    }
    let arch = match options.backend {
        BackendChoice::Cpu => qd::Arch::Cpu,
        BackendChoice::Cuda => qd::Arch::Cuda,
        BackendChoice::Amdgpu => qd::Arch::AmdGpu,
        BackendChoice::Auto => best()?,
    };
    let launched = std::env::var_os("MASTER_ADDR").is_some() && options.devices.is_none();
    if !launched {
        return open(arch, options.devices);
    }
    let processes = ProcessGroup::join(&RankConfig::from_env()?)?;
    let program = match arch {
        qd::Arch::Cpu => qd::Program::open(arch)?,
        _ => qd::Program::open(arch.device(processes.local_rank()))?,
    };
    let builder = qd::collectives::Communicator::builder().timeout(Duration::from_secs(60));
    Ok(Devices {
        programs: vec![program],
        builder,
        processes: Some(Arc::new(processes)),
        worlds: Vec::new(),
    })
}

/// The first backend with a device.
fn best() -> crate::Result<qd::Arch> {
    let name = qd::Program::open(qd::Arch::from_env_or_best())?.arch();
    let all = [qd::Arch::Cuda, qd::Arch::AmdGpu, qd::Arch::Cpu];
    Ok(all.into_iter().find(|arch| arch.name() == name).unwrap_or(qd::Arch::Cpu))
}

fn describe(devices: &Devices) -> String {
    let info = devices.programs[0].device_info();
    let simulated = if info.simulated { ", simulated" } else { "" };
    let processes = if devices.processes.is_some() { ", a process for each" } else { "" };
    format!("{} × {} ({}{simulated}{processes})\n", devices.count(), info.name, info.backend)
}

impl From<qd::collectives::bootstrap::Error> for crate::Error {
    fn from(source: qd::collectives::bootstrap::Error) -> Self {
        qd::collectives::Error::from(source).into()
    }
}
