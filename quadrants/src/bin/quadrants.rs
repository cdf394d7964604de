//! The `quadrants` command: shows what this machine can run.

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use quadrants::{Arch, rhi::Driver};

/// Kernels on many GPU streams.
#[derive(Parser)]
#[command(version)]
struct Options {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Show the backends, their drivers, devices and capabilities.
    Info,
}

fn main() -> ExitCode {
    match Options::parse().command {
        Command::Info => {
            for arch in Arch::ALL {
                info(*arch);
            }
            ExitCode::SUCCESS
        }
    }
}

fn info(arch: Arch) {
    let driver = match arch.driver() {
        Ok(driver) => driver,
        Err(error) => return println!("{arch}: not available: {error}"),
    };
    match driver.device_count() {
        Ok(0) => println!("{arch}: driver {}, no device", driver.version()),
        Ok(count) => {
            println!("{arch}: driver {}", driver.version());
            devices(arch, &*driver, count);
        }
        Err(error) => println!("{arch}: driver {}: {error}", driver.version()),
    }
}

/// Prints the devices, each run of equal ones once.
fn devices(arch: Arch, driver: &dyn Driver, count: usize) {
    let texts: Vec<String> = (0..count).map(|ordinal| device(arch, driver, ordinal)).collect();
    let mut first = 0;
    for run in texts.chunk_by(PartialEq::eq) {
        let last = first + run.len() - 1;
        let ordinals = if first == last { first.to_string() } else { format!("{first} to {last}") };
        print!("  {ordinals}: {}", run[0]);
        first = last + 1;
    }
}

/// The description of a device, without its ordinal.
fn device(arch: Arch, driver: &dyn Driver, ordinal: usize) -> String {
    let opened = match arch.open_with(driver, ordinal) {
        Ok(opened) => opened,
        Err(error) => return format!("{error}\n"),
    };
    let (info, can) = (opened.device.info(), opened.device.capabilities());
    let kind = if info.simulated { ", simulated" } else { "" };
    let mut lines = vec![
        format!("{} ({}{kind})", info.name, info.arch),
        format!("memory: {} MiB", info.total_memory >> 20),
        match &can.stream_ordered_memory_reason {
            None => "stream-ordered memory: yes".to_owned(),
            Some(reason) => format!("stream-ordered memory: no, {reason}"),
        },
        format!("graphs: {}", if can.graphs { "yes" } else { "no" }),
    ];
    lines.extend(
        arch.details(&*opened.device).iter().map(|(name, value)| format!("{name}: {value}")),
    );
    lines.push(match opened.compiler.map(|compiler| compiler.identity()) {
        None => "compiler: not needed".to_owned(),
        Some(Ok(identity)) => format!("compiler: {identity}"),
        Some(Err(error)) => format!("compiler: {error}"),
    });
    lines.join("\n     ") + "\n"
}
