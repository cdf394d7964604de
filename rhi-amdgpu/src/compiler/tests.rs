//! Tests that compile all sample kernels with the installed hipRTC.

use std::{env, ffi::OsString, process::Command, thread, time::Instant};

use quadrants_codegen::{CompileRequest, Compiler, Error};
use quadrants_ir::{
    BlockId, Offloaded, Stmt,
    abi::{Form, Passing},
};
use quadrants_rhi::DeviceInfo;
use quadrants_samples as samples;

use super::{HipCompiler, compiler, hiprtc::Hiprtc};

/// Whether hipRTC is installed; prints the searched locations if not.
fn hiprtc_is_here() -> bool {
    match HipCompiler.identity() {
        Ok(_) => true,
        Err(Error::CompilerNotFound { searched, .. }) => {
            println!("skipped: no hipRTC (searched {})", searched.join("; "));
            false
        }
        Err(error) => panic!("{error}"),
    }
}

fn compile(kernel: &Offloaded, arch: &str, form: Form, passing: Passing) -> Vec<u8> {
    match HipCompiler.compile(kernel, &CompileRequest::new(arch, form, passing)) {
        Ok(compiled) => {
            assert_eq!(compiled.log, "");
            compiled.image
        }
        Err(Error::Rejected { log, text, .. }) => panic!("{log}\n{text}"),
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn a_device_runs_what_is_made_for_any_features() {
    assert_eq!(HipCompiler.compatible_archs("gfx90a:sramecc+:xnack-"), ["gfx90a"]);
    assert!(HipCompiler.compatible_archs("gfx1030").is_empty());
}

/// In a child process, because hipRTC aborts the process if it is called by two threads at once.
#[test]
fn threads_can_compile_at_the_same_time() {
    const CHILD: &str = "QUADRANTS_TEST_THREADS_CHILD";
    if !hiprtc_is_here() {
        return;
    }
    if env::var_os(CHILD).is_none() {
        let ran = Command::new(env::current_exe().unwrap())
            .args(["--exact", "compiler::tests::threads_can_compile_at_the_same_time"])
            .env(CHILD, "1")
            .output()
            .unwrap();
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
        return;
    }
    let kernels = samples::all();
    thread::scope(|scope| {
        for kernels in kernels[..32].chunks(4) {
            scope.spawn(move || {
                for kernel in kernels {
                    compile(kernel, "gfx90a", Form::Proven, Passing::Value);
                }
            });
        }
    });
}

#[test]
fn every_sample_compiles_to_a_code_object_with_all_its_functions() {
    if !hiprtc_is_here() {
        return;
    }
    let start = Instant::now();
    let mut compiled = 0;
    let step = if quadrants_samples::full_size() { 1 } else { 5 };
    for (i, kernel) in samples::all().iter().enumerate().step_by(step) {
        // One of the four combinations per sample, because a compilation takes most of a second.
        let form = if i % 2 == 0 { Form::Proven } else { Form::Checked };
        let passing = if i / 2 % 2 == 0 { Passing::Value } else { Passing::Buffer };
        let image = compile(kernel, "gfx90a", form, passing);
        assert!(image.starts_with(b"\x7fELF"));
        for (task, _) in kernel.tasks() {
            let name = format!("\0{}.kd\0", kernel.function_name(task));
            assert!(image.windows(name.len()).any(|bytes| bytes == name.as_bytes()), "{name}");
        }
        compiled += 1;
    }
    let each = start.elapsed().as_secs_f64() * 1e3 / f64::from(compiled);
    println!("{compiled} compiled by {}, {each:.0} ms each", HipCompiler.identity().unwrap());
}

#[test]
fn both_passings_compile_in_both_forms() {
    if !hiprtc_is_here() {
        return;
    }
    for kernel in [samples::saxpy(), samples::stencil()] {
        for form in [Form::Proven, Form::Checked] {
            for passing in [Passing::Value, Passing::Buffer] {
                compile(&kernel, "gfx90a", form, passing);
            }
        }
    }
}

#[test]
fn features_of_a_processor_are_accepted() {
    if !hiprtc_is_here() {
        return;
    }
    compile(&samples::saxpy(), "gfx90a:sramecc+:xnack-", Form::Proven, Passing::Value);
}

#[test]
fn an_unknown_architecture_is_an_error_and_does_not_abort_the_process() {
    if !hiprtc_is_here() {
        return;
    }
    for arch in ["sm_90", "gfx1", "gfx90", ""] {
        let request = CompileRequest::new(arch, Form::Proven, Passing::Value);
        let refused = HipCompiler.compile(&samples::saxpy(), &request);
        assert!(matches!(refused, Err(Error::UnknownArch { .. })), "{refused:?}");
    }
}

#[test]
fn a_missing_library_is_reported_with_the_searched_locations() {
    let nowhere = |name: &str| {
        (name == super::LIBRARY_VARIABLE).then(|| OsString::from("/nonexistent/libhiprtc.so"))
    };
    let Err(Error::CompilerNotFound { compiler, searched }) = Hiprtc::find(&nowhere) else {
        panic!("something was found");
    };
    assert_eq!(compiler, "hipRTC");
    assert!(
        searched.iter().any(|place| place.contains("/nonexistent/libhiprtc.so")),
        "{searched:?}"
    );
}

/// A library with hipRTC's functions, like that of ROCm 5.4 to 6.4: it does not report HIP's version.
const OLD_HIPRTC: &str = "
int hiprtcVersion(int *major, int *minor) { *major = 9; *minor = 0; return 0; }
int hiprtcCreateProgram() { return 1; }
int hiprtcDestroyProgram() { return 1; }
int hiprtcCompileProgram() { return 1; }
int hiprtcGetCodeSize() { return 1; }
int hiprtcGetCode() { return 1; }
int hiprtcGetProgramLogSize() { return 1; }
int hiprtcGetProgramLog() { return 1; }
";

#[test]
fn the_minor_version_of_an_old_hiprtc_is_read_from_its_file_name() {
    let folder = std::env::temp_dir().join(format!("quadrants-old-hiprtc-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let source = folder.join("hiprtc.c");
    std::fs::write(&source, OLD_HIPRTC).unwrap();
    for (soname, version, knows, does_not) in [
        ("libhiprtc.so.6", "6.4.43482", "gfx1201", "gfx950"),
        ("libhiprtc.so.6", "6.2.41133", "gfx1151", "gfx1200"),
        ("libhiprtc.so.5", "5.6.50600", "gfx1100", "gfx942"),
    ] {
        // The loader identifies a loaded library by its path.
        let its = folder.join(version);
        std::fs::create_dir_all(&its).unwrap();
        let file = its.join(format!("libhiprtc.so.{version}"));
        let made = std::process::Command::new("cc")
            .args(["-shared", "-fPIC", "-w", "-o"])
            .args([&file, &source])
            .status();
        if !made.is_ok_and(|status| status.success()) {
            println!("skipped: no C compiler");
            return;
        }
        let link = its.join(soname);
        std::os::unix::fs::symlink(&file, &link).unwrap();
        let env =
            |name: &str| (name == super::LIBRARY_VARIABLE).then(|| link.clone().into_os_string());
        let hiprtc = Hiprtc::find(&env).unwrap();
        hiprtc.check_arch(knows).unwrap();
        let refused = hiprtc.check_arch(does_not);
        assert!(matches!(refused, Err(Error::UnknownArch { .. })), "{refused:?}");
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_library_other_than_hiprtc_is_reported_by_its_missing_symbol() {
    let other = |name: &str| (name == super::LIBRARY_VARIABLE).then(|| OsString::from("libc.so.6"));
    let refused = Hiprtc::find(&other);
    let Err(Error::MissingSymbol { symbol, .. }) = refused else { panic!("{refused:?}") };
    assert_eq!(symbol, "hiprtcVersion");
}

#[test]
fn a_kernel_that_breaks_a_rule_does_not_reach_the_compiler() {
    let mut kernel = samples::saxpy();
    let body: BlockId = kernel.tasks[0].body;
    kernel.blocks[body].stmts.push(Stmt::Break);
    let request = CompileRequest::new("gfx90a", Form::Proven, Passing::Value);
    let refused = HipCompiler.compile(&kernel, &request);
    assert!(matches!(refused, Err(Error::InvalidKernel(_))), "{refused:?}");
}

#[test]
fn a_simulated_device_takes_the_ir() {
    let mut info = DeviceInfo::new("amdgpu", 0, "toy".to_owned(), "gfx90a".to_owned());
    info.simulated = true;
    assert_eq!(compiler(&info).identity().unwrap(), "simulator");
    info.simulated = false;
    assert_eq!(format!("{:?}", compiler(&info)), "HipCompiler");
}
