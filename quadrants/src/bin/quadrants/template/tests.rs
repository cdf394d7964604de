//! The same result on the CPU and on a simulated GPU, and as plain Rust computes it.

use std::env::{
    consts::{DLL_PREFIX, DLL_SUFFIX},
    current_exe,
};

use quadrants::{Arch, Hazards, Program, Result};

use super::smoothed_wave;

const N: usize = 1000;

fn expected() -> Vec<f32> {
    let x: Vec<f32> = (0..N).map(|i| (0.001 * i as f32).sin()).collect();
    (0..N).map(|i| (x[i.saturating_sub(1)] + x[i] + x[(i + 1).min(N - 1)]) / 3.0).collect()
}

fn check(values: &[f32]) {
    assert_eq!(values.len(), N);
    for (i, (value, expected)) in values.iter().zip(expected()).enumerate() {
        assert!((value - expected).abs() < 1e-5, "{i}: {value}, not {expected}");
    }
}

#[test]
fn the_cpu_computes_it() -> Result<()> {
    check(&smoothed_wave(&Program::open(Arch::Cpu)?, N)?);
    Ok(())
}

/// The simulator needs no GPU. Cargo has built its library, because it is a dependency of the tests.
#[test]
fn a_simulated_gpu_computes_it() -> Result<()> {
    let library = format!("{DLL_PREFIX}quadrants_driver_sim{DLL_SUFFIX}");
    let library = current_exe().expect("a test program").with_file_name(library);
    let driver = quadrants_rhi_cuda::driver_from_path(&library)?;
    let device = Arch::Cuda.open_with(&*driver, 0)?;
    // An event that is missing is an error of the launch.
    let prog = Program::builder().hazards(Hazards::Check).open(device)?;
    assert!(prog.device_info().simulated);
    check(&smoothed_wave(&prog, N)?);
    Ok(())
}
