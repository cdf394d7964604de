//! Errors of invalid calls: wrong shapes, wrong names, no compiler.

use std::process::Command;

use quadrants::{Arch, Error, Opened, Program, Result, Severity};
use quadrants_tests::{
    TestBackend::{self, AmdGpu, Cuda},
    on_all_backends, on_gpu_backends,
};
use rstest::rstest;

use crate::common::set;

#[on_all_backends]
fn data_of_the_wrong_length_for_the_shape_is_rejected(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let shape = |result: Result<()>, of: &[usize], wants: usize, has: usize| match result {
        Err(Error::Shape { shape, expected, given }) => {
            assert_eq!((&shape[..], expected, given), (of, wants, has));
        }
        other => panic!("{other:?}"),
    };
    shape(on.program.tensor_from(&[1.0f32; 5], [2, 3]).map(drop), &[2, 3], 6, 5);
    shape(on.program.tensor_from(&[1i64], [0]).map(drop), &[0], 0, 1);
    let mut x = on.program.tensor_from(&[1.0f32; 6], [2, 3])?;
    shape(x.write(&[0.0; 7]), &[2, 3], 6, 7);
    assert_eq!(x.to_vec()?, [1.0; 6]);
    Ok(())
}

#[on_all_backends]
fn a_tensor_larger_than_the_address_space_is_rejected(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    for too_large in [[usize::MAX, 2, 2], [1 << 31, 1 << 31, 2], [1 << 20, 1 << 20, 1 << 20]] {
        match on.program.zeros::<f64, 3>(too_large) {
            Err(error @ Error::TooLarge { .. }) => {
                assert!(error.to_string().contains(&format!("{too_large:?}")), "{error}");
                assert_eq!(error.severity(), Severity::Recoverable);
            }
            other => panic!("{other:?}"),
        }
    }
    Ok(())
}

#[on_all_backends]
fn a_tensor_without_elements_may_have_huge_extents(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    for shape in [[usize::MAX, 0], [0, usize::MAX], [0, 0]] {
        let empty = on.program.zeros::<f64, 2>(shape)?;
        assert_eq!((empty.shape(), empty.len()), (shape, 0));
        assert!(on.program.tensor_from::<f32, 2>(&[], shape)?.to_vec()?.is_empty());
    }
    Ok(())
}

#[test]
fn an_unknown_backend_error_lists_the_known_backends() {
    for name in ["tpu", "CUDA", "", "cpu "] {
        match name.parse::<Arch>() {
            Err(Error::UnknownBackend { name: found, known }) => {
                assert_eq!((found.as_str(), &known[..]), (name, &["cuda", "amdgpu", "cpu"][..]));
            }
            other => panic!("{other:?}"),
        }
    }
    for arch in Arch::ALL {
        assert_eq!(arch.name().parse::<Arch>().ok(), Some(*arch));
    }
}

#[on_gpu_backends]
fn a_program_without_a_compiler_opens_and_only_launches_fail(backend: TestBackend) -> Result<()> {
    let Some(_on) = backend.open_simulated() else { return Ok(()) };
    let (_world, Opened { device, .. }) = backend.simulated_device();
    let program = Program::open(Opened { device, compiler: None })?;
    let mut x = program.tensor_from(&[1.0f32, 2.0], [2])?;
    match set(3.0, &mut x).launch() {
        Err(Error::NoCompiler { kernel }) => assert_eq!(kernel, "set"),
        other => panic!("{other:?}"),
    }
    assert_eq!(x.to_vec()?, [1.0, 2.0]);
    program.device_sync()
}

/// The compiler is searched where the environment says, which is a process's own: so this test runs
/// itself again with another one.
#[rstest]
#[case::cuda(Cuda, "QUADRANTS_NVRTC_LIBRARY")]
#[case::amdgpu(AmdGpu, "QUADRANTS_HIPRTC_LIBRARY")]
fn a_missing_compiler_error_lists_the_searched_paths(
    #[case] backend: TestBackend,
    #[case] variable: &str,
) -> Result<()> {
    const AGAIN: &str = "QUADRANTS_TEST_AGAIN";
    const NOWHERE: &str = "/nonexistent/compiler.so";
    let Some(_on) = backend.open_simulated() else { return Ok(()) };
    if std::env::var_os(AGAIN).is_none() {
        let number = if backend == Cuda { "case_1_cuda" } else { "case_2_amdgpu" };
        let test =
            format!("errors::calls::a_missing_compiler_error_lists_the_searched_paths::{number}");
        let again = Command::new(std::env::current_exe().expect("this program"))
            .args([&test, "--exact"])
            .env(AGAIN, "1")
            .env(variable, NOWHERE)
            .output()
            .expect("this program runs");
        let said = String::from_utf8_lossy(&again.stdout);
        assert!(again.status.success() && said.contains("1 passed"), "{said}");
        return Ok(());
    }

    let (_world, Opened { device, .. }) = backend.simulated_device();
    let mut hardware = device.info().clone();
    hardware.simulated = false;
    let compiler = match backend {
        Cuda => quadrants_rhi_cuda::compiler::compiler(&hardware),
        _ => quadrants_rhi_amdgpu::compiler::compiler(&hardware),
    };
    let program = Program::open(Opened { device, compiler: Some(compiler) })?;
    let mut x = program.tensor_from(&[1.0f32, 2.0], [2])?;
    // Every launch returns the error, not only the first.
    for _ in 0..2 {
        let error = set(3.0, &mut x).launch().expect_err("there is no compiler");
        let Error::Compile { kernel, source } = &error else { panic!("{error:?}") };
        let quadrants_codegen::Error::CompilerNotFound { searched, .. } = source else {
            panic!("{source:?}");
        };
        assert_eq!(kernel, "set");
        assert!(searched.iter().any(|place| place.contains(NOWHERE)), "{searched:?}");
        assert_eq!(error.severity(), Severity::Recoverable);
    }
    assert_eq!(x.to_vec()?, [1.0, 2.0]);
    program.device_sync()
}
