//! Tests that compile all sample kernels with the installed NVRTC.

use std::{ffi::OsString, time::Instant};

use quadrants_codegen::{CompileRequest, Compiler, Error};
use quadrants_ir::{
    BlockId, Offloaded, Stmt,
    abi::{Form, Passing},
};
use quadrants_rhi::DeviceInfo;
use quadrants_samples as samples;

use super::{CudaCompiler, compiler, nvrtc::Nvrtc};

/// Whether NVRTC is installed; prints the searched locations if not.
fn nvrtc_is_here() -> bool {
    match CudaCompiler.identity() {
        Ok(_) => true,
        Err(Error::CompilerNotFound { searched, .. }) => {
            println!("skipped: no NVRTC (searched {})", searched.join("; "));
            false
        }
        Err(error) => panic!("{error}"),
    }
}

fn compile(kernel: &Offloaded, arch: &str, form: Form, passing: Passing) -> Vec<u8> {
    match CudaCompiler.compile(kernel, &CompileRequest::new(arch, form, passing)) {
        Ok(compiled) => {
            assert_eq!(compiled.log, "");
            compiled.image
        }
        Err(Error::Rejected { log, text, .. }) => panic!("{log}\n{text}"),
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn every_sample_compiles_to_machine_code_with_all_its_functions() {
    if !nvrtc_is_here() {
        return;
    }
    let kernels = samples::all();
    let start = Instant::now();
    let mut compiled = 0;
    for (i, kernel) in kernels.iter().enumerate() {
        for form in [Form::Proven, Form::Checked] {
            // All combinations of form and passing would double the time without testing more text.
            let passing = if i % 2 == 0 { Passing::Value } else { Passing::Buffer };
            let image = compile(kernel, "sm_90", form, passing);
            assert!(image.starts_with(b"\x7fELF"));
            for (task, _) in kernel.tasks() {
                let name = format!(".text.{}\0", kernel.function_name(task));
                assert!(image.windows(name.len()).any(|bytes| bytes == name.as_bytes()), "{name}");
            }
            compiled += 1;
        }
    }
    let each = start.elapsed().as_secs_f64() * 1e3 / f64::from(compiled);
    println!("{compiled} compiled by {}, {each:.0} ms each", CudaCompiler.identity().unwrap());
}

#[test]
fn both_passings_compile_in_both_forms() {
    if !nvrtc_is_here() {
        return;
    }
    for kernel in [samples::saxpy(), samples::stencil()] {
        for form in [Form::Proven, Form::Checked] {
            for passing in [Passing::Value, Passing::Buffer] {
                compile(&kernel, "sm_90", form, passing);
            }
        }
    }
}

#[test]
fn a_device_newer_than_nvrtc_gets_ptx() {
    if !nvrtc_is_here() {
        return;
    }
    let ptx = compile(&samples::saxpy(), "sm_999", Form::Proven, Passing::Value);
    assert_eq!(ptx.last(), Some(&0));
    let ptx = String::from_utf8(ptx).unwrap();
    assert!(ptx.contains(".entry saxpy_0("), "{ptx}");
}

#[test]
fn contraction_is_on_unless_the_kernel_is_strict() {
    if !nvrtc_is_here() {
        return;
    }
    let mut kernel = samples::saxpy();
    let fused = |kernel: &Offloaded| {
        let ptx = compile(kernel, "sm_999", Form::Proven, Passing::Value);
        String::from_utf8(ptx).unwrap().contains("fma.rn.f32")
    };
    assert!(fused(&kernel));
    kernel.options.strict = true;
    assert!(!fused(&kernel));
}

#[test]
fn a_device_runs_what_is_older_and_nothing_of_another_family() {
    let also = CudaCompiler.compatible_archs("sm_89");
    assert_eq!(also[..3], ["sm_88", "sm_86", "sm_85"]);
    assert!(also.contains(&"compute_89".to_owned()) && also.contains(&"compute_75".to_owned()));
    assert!(!also.contains(&"sm_75".to_owned()) && !also.contains(&"sm_87".to_owned()));
    assert_eq!(CudaCompiler.compatible_archs("sm_87")[0], "compute_87");
    assert_eq!(CudaCompiler.compatible_archs("sm_120")[0], "compute_120");
    assert!(CudaCompiler.compatible_archs("gfx90a").is_empty());
}

#[test]
fn text_for_an_architecture_depends_only_on_its_name() {
    if !nvrtc_is_here() {
        return;
    }
    let text = compile(&samples::saxpy(), "compute_80", Form::Proven, Passing::Value);
    assert!(String::from_utf8(text).unwrap().contains(".target sm_80"));
    let request = CompileRequest::new("compute_999", Form::Proven, Passing::Value);
    let refused = CudaCompiler.compile(&samples::saxpy(), &request);
    assert!(matches!(refused, Err(Error::UnknownArch { .. })), "{refused:?}");
}

#[test]
fn an_unknown_architecture_is_an_error_with_its_name() {
    if !nvrtc_is_here() {
        return;
    }
    for arch in ["gfx90a", "sm_20", "sm_x"] {
        let request = CompileRequest::new(arch, Form::Proven, Passing::Value);
        let refused = CudaCompiler.compile(&samples::saxpy(), &request);
        assert!(matches!(refused, Err(Error::UnknownArch { .. })), "{refused:?}");
    }
}

#[test]
fn a_missing_library_is_reported_with_the_searched_locations() {
    let nowhere = |name: &str| {
        (name == super::LIBRARY_VARIABLE).then(|| OsString::from("/nonexistent/libnvrtc.so"))
    };
    let Err(Error::CompilerNotFound { compiler, searched }) = Nvrtc::find(&nowhere) else {
        panic!("something was found");
    };
    assert_eq!(compiler, "NVRTC");
    assert!(
        searched.iter().any(|place| place.contains("/nonexistent/libnvrtc.so")),
        "{searched:?}"
    );
}

#[test]
fn a_library_other_than_nvrtc_is_reported_by_its_missing_symbol() {
    let other = |name: &str| (name == super::LIBRARY_VARIABLE).then(|| OsString::from("libc.so.6"));
    let refused = Nvrtc::find(&other);
    let Err(Error::MissingSymbol { symbol, .. }) = refused else { panic!("{refused:?}") };
    assert_eq!(symbol, "nvrtcVersion");
}

#[test]
fn a_kernel_that_breaks_a_rule_does_not_reach_the_compiler() {
    let mut kernel = samples::saxpy();
    let body: BlockId = kernel.tasks[0].body;
    kernel.blocks[body].stmts.push(Stmt::Break);
    let request = CompileRequest::new("sm_90", Form::Proven, Passing::Value);
    let refused = CudaCompiler.compile(&kernel, &request);
    assert!(matches!(refused, Err(Error::InvalidKernel(_))), "{refused:?}");
}

#[test]
fn a_simulated_device_takes_the_ir() {
    let mut info = DeviceInfo::new("cuda", 0, "toy".to_owned(), "sm_90".to_owned());
    info.simulated = true;
    assert_eq!(compiler(&info).identity().unwrap(), "simulator");
    info.simulated = false;
    assert_eq!(format!("{:?}", compiler(&info)), "CudaCompiler");
}
