//! Error texts: the whole cause chain in one text, for every way of printing.

use std::{error::Error as _, io, path::PathBuf};

use quadrants::{
    self as qd, BundleError, Error, KernelError, Program, Result, Tensor,
    builder::KernelBuilder,
    codegen,
    ir::{ParamId, verify},
    rhi::{self, DriverError, DriverErrorKind},
};
use quadrants_frontend as frontend;
use quadrants_runtime as rt;

fn driver_error() -> DriverError {
    DriverError::new(
        "launch",
        "cuLaunchKernel",
        1,
        "CUDA_ERROR_INVALID_VALUE",
        DriverErrorKind::Other,
    )
}

fn verify_error() -> quadrants::ir::VerifyError {
    let (at, rule) =
        (verify::IrLocation::Param(ParamId::new(3)), verify::IrRule::TensorRank { rank: 9 });
    verify::VerifyError { kernel: "step".to_owned(), at, rule }
}

/// An error of each kind that has a reason, with words that only its innermost reason has.
fn table() -> Vec<(Error, &'static str)> {
    let kernel = || "step".to_owned();
    let rhi_errors = || {
        vec![
            (rhi::Error::Driver(driver_error()), "CUDA_ERROR_INVALID_VALUE"),
            (
                rhi::Error::NoDevice { backend: "cuda", source: Some(driver_error()) },
                "cuLaunchKernel",
            ),
            (
                rhi::Error::ImageRejected { log: "line 7".into(), source: Some(driver_error()) },
                "cuLaunchKernel",
            ),
            (rhi::Error::ImageRejected { log: "line 7".into(), source: None }, "line 7"),
        ]
    };
    let mut table = Vec::new();
    for (error, says) in rhi_errors() {
        table.push((Error::from(error), says));
    }
    for (cause, says) in rhi_errors() {
        let lost = rt::Error::ContextLost { cause: Box::new(cause.clone()) };
        table.push((lost.clone().into(), says));
        table.push((Error::Launch { kernel: kernel(), started: true, source: lost }, says));
    }
    let span = frontend::syntax::Span::new(0, 12, 5);
    let frontends = [
        (
            frontend::Error::Recursion { function: kernel(), func: "again".to_owned(), span },
            "recursion is not supported in kernels",
        ),
        (
            frontend::Error::Type {
                function: kernel(),
                what: "a value of 1025 numbers".to_owned(),
                span,
            },
            "1025 numbers",
        ),
        (
            frontend::Error::Invalid { function: kernel(), source: verify_error() },
            "at most 6 dimensions",
        ),
    ];
    for (error, says) in frontends {
        table.push((Error::Build { kernel: kernel(), source: error.into() }, says));
    }
    let searched = vec!["/opt/cuda has none".to_owned()];
    let missing =
        || codegen::Error::CompilerNotFound { compiler: "NVRTC", searched: searched.clone() };
    table.push((Error::Compile { kernel: kernel(), source: missing() }, "/opt/cuda has none"));
    let invalid = codegen::Error::InvalidKernel(verify_error());
    table.push((Error::Compile { kernel: kernel(), source: invalid }, "at most 6 dimensions"));
    let (arch, files) = ("sm_90".to_owned(), vec!["kernels.qdk".to_owned()]);
    let not_exported =
        Error::NotExported { kernel: kernel(), arch, files, source: Box::new(missing()) };
    table.push((not_exported, "/opt/cuda has none"));
    let source = io::Error::other("the disk is full");
    let io = BundleError::Io { path: PathBuf::from("kernels.qdk"), source };
    table.push((Error::Kernels(io), "the disk is full"));
    table
}

#[test]
fn an_error_text_contains_the_whole_cause_chain_once() {
    for (error, says) in table() {
        let text = error.to_string();
        assert_eq!(text.matches(says).count(), 1, "{text}");
        assert!(!text.contains(": :") && !text.trim().ends_with(':'), "{text}");
        let mut cause = error.source();
        while let Some(reason) = cause {
            assert!(text.contains(&reason.to_string()), "`{reason}` is missing in `{text}`");
            cause = reason.source();
        }
        // What a `main` prints that returns it.
        let lines = format!("{error:?}");
        let one_line = lines.replace("\n  caused by: ", ": ").replace("\n  help: ", "; help: ");
        assert_eq!(one_line, text);
        let fields = format!("{error:#?}");
        assert!(fields != text && fields.contains(['{', '(']), "{fields}");
    }
}

#[qd::func]
fn factorial(n: u32) -> u32 {
    if n < 2 { 1 } else { n * factorial(n - 1) }
}

#[qd::kernel]
fn recursive(x: &mut Tensor<u32, 1>) {
    for i in 0..x.len() {
        x[i] = factorial(i as u32);
    }
}

#[qd::kernel]
fn wrapped(n: usize, by: usize, x: &mut Tensor<u32, 1>) {
    for i in 0..n {
        x[i % by] = i as u32;
    }
}

#[qd::kernel]
fn beyond(by: usize, x: &mut Tensor<u32, 1>) {
    for i in 0..x.len() {
        x[i + by] = 1;
    }
}

#[qd::kernel]
fn large(k: usize, x: &mut Tensor<u32, 1>) {
    let table = [7; 257];
    for i in 0..x.len() {
        x[i] = table[k];
    }
}

#[test]
fn a_main_that_returns_an_error_shows_its_causes_on_lines() -> Result<()> {
    let shown = |error: &Error| format!("Error: {error:?}");
    let program = Program::open(quadrants::Arch::Cpu)?;
    let mut x = program.zeros::<u32, 1>([4])?;
    let file = file!();
    let recursion = shown(&recursive(&mut x).launch().unwrap_err());
    let [first, second, help] = recursion.lines().collect::<Vec<_>>()[..] else {
        panic!("{recursion}")
    };
    assert_eq!(help, "  help: use a loop");
    assert_eq!(first, "Error: kernel `recursive` cannot be built");
    assert!(second.starts_with("  caused by: "), "{second}");
    assert!(second.contains("func `factorial` calls itself; recursion is not supported"));
    let too_large = shown(&large(1, &mut x).launch().unwrap_err());
    assert!(too_large.starts_with("Error: kernel `large` cannot be built\n  caused by: "));
    assert!(
        too_large.contains("\n  help: copy it to a local of the loop, or use a tensor"),
        "{too_large}"
    );
    let race = shown(&wrapped(8, 4, &mut x).launch().unwrap_err());
    assert!(race.starts_with(&format!("Error: kernel `wrapped` ({file}:")), "{race}");
    assert!(race.contains("for example, `i` = 0 and `i` = 4 both access `x[0]`"), "{race}");
    let index = beyond(4, &mut x).launch().and_then(|()| program.sync()).unwrap_err();
    let index = shown(&index);
    assert!(index.starts_with(&format!("Error: kernel `beyond` ({file}:")), "{index}");
    assert!(index.contains("of `x` is out of range for its shape [4]\n  help: "), "{index}");
    let memory = DriverError::new(
        "alloc",
        "cuMemAllocAsync",
        2,
        "CUDA_ERROR_OUT_OF_MEMORY",
        DriverErrorKind::OutOfMemory,
    );
    let source = rt::Error::from(rhi::Error::Driver(memory));
    let launch = Error::Launch { kernel: "step".into(), started: false, source };
    let lines = shown(&launch);
    let [first, second, help] = lines.lines().collect::<Vec<_>>()[..] else { panic!("{lines}") };
    assert_eq!(help, "  help: use smaller tensors, or drop some");
    assert_eq!(first, "Error: the launch of kernel `step` failed");
    let expected =
        "  caused by: alloc failed: cuMemAllocAsync returned CUDA_ERROR_OUT_OF_MEMORY (2)";
    assert_eq!(second, expected);
    for (error, says) in table() {
        let lines = shown(&error);
        assert_eq!(lines.matches(says).count(), 1, "{lines}");
        assert!(!lines.contains(" { "), "{lines}");
        let missing = matches!(error, Error::Compile { .. } | Error::NotExported { .. });
        assert_eq!(lines.contains("\n  caused by: ") && missing, missing, "{lines}");
    }
    Ok(())
}

#[test]
fn debug_output_names_the_fields() {
    let error = Error::NoProgram { kernel: "step".to_owned() };
    assert_eq!(format!("{error:#?}"), "NoProgram {\n    kernel: \"step\",\n}");
    let error = Error::from(rhi::Error::Driver(driver_error()));
    assert!(format!("{error:#?}").contains("code: 1"), "{error:#?}");
}

#[test]
fn errors_of_real_calls_describe_the_problem() {
    let program = Program::open(quadrants::Arch::Cpu).unwrap();
    let refused = program.zeros::<f64, 1>([usize::MAX]);
    assert!(format!("{:?}", refused.unwrap_err()).contains("too large"));
    let b = KernelBuilder::new("racing");
    let x = b.param_tensor_mut("x", quadrants::ir::ScalarType::F32, 1);
    b.range_for(0u64, x.len(), |_| x.store(0u64, 1.0f32));
    let refused = b.build().unwrap_err();
    assert!(refused.to_string().contains("x"), "{refused}");
    fn is_shown<T: std::fmt::Debug>(_: &T) {}
    is_shown(&None::<KernelError>);
}
