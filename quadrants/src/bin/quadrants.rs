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
            (0..count).for_each(|ordinal| device(arch, &*driver, ordinal));
        }
        Err(error) => println!("{arch}: driver {}: {error}", driver.version()),
    }
}

fn device(arch: Arch, driver: &dyn Driver, ordinal: usize) {
    let opened = match arch.open_with(driver, ordinal) {
        Ok(opened) => opened,
        Err(error) => return println!("  {ordinal}: {error}"),
    };
    let (info, can) = (opened.device.info(), opened.device.capabilities());
    let kind = if info.simulated { ", simulated" } else { "" };
    println!("  {ordinal}: {} ({}{kind})", info.name, info.arch);
    println!("     memory: {} MiB", info.total_memory >> 20);
    match &can.stream_ordered_memory_reason {
        None => println!("     stream-ordered memory: yes"),
        Some(reason) => println!("     stream-ordered memory: no, {reason}"),
    }
    println!("     graphs: {}", if can.graphs { "yes" } else { "no" });
    for (name, value) in arch.details(&*opened.device) {
        println!("     {name}: {value}");
    }
    match opened.compiler.map(|compiler| compiler.identity()) {
        None => println!("     compiler: not needed"),
        Some(Ok(identity)) => println!("     compiler: {identity}"),
        Some(Err(error)) => println!("     compiler: {error}"),
    }
}
