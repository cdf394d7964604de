//! Image bundles: a machine with a driver and no compiler runs from the file, and no image is used for another kernel.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    thread,
    time::Duration,
};

use quadrants::{
    self as qd, Arch, Error, ExportedKernels, Layout, Opened, Program, ProgramBuilder, Target,
    Tensor, Vector, ir::Offloaded,
};
use quadrants_codegen::{self as codegen, CompileRequest, Compiled, Compiler, SourceText};
use quadrants_runtime::ImageBundle;
use quadrants_tests::{
    TestBackend::{self, Cpu, Cuda},
    on_gpu_backends,
};

use crate::{
    cache::disk::{one_block, two_blocks, two_kernels},
    child,
    common::{copy, saxpy, set},
};

pub(crate) const WORKS: &[child::Work] =
    &[("export again and again", export_often), ("run from the file", run_from_environment)];

/// The variable with the file that a child exports to.
const FILE: &str = "QUADRANTS_TEST_EXPORT";

/// The simulator's compiler under a cache name, or a compiler that is not installed.
#[derive(Debug)]
struct Simulated {
    compiler: Arc<dyn Compiler>,
    installed: bool,
    compatible_archs: Vec<String>,
}

impl Simulated {
    fn there(&self) -> codegen::Result<()> {
        let searched = vec!["everywhere".to_owned()];
        let absent = codegen::Error::CompilerNotFound { compiler: "a compiler", searched };
        if self.installed { Ok(()) } else { Err(absent) }
    }
}

// SAFETY: the images are those of another compiler.
unsafe impl Compiler for Simulated {
    fn identity(&self) -> codegen::Result<String> {
        self.there().map(|()| "a compiler 1.0".to_owned())
    }

    fn disk_cache_name(&self) -> Option<String> {
        Some("a compiler".to_owned())
    }

    /// Only cached images depend on it, and nothing is cached here.
    fn library(&self) -> Option<PathBuf> {
        panic!("a program that runs from a file looks for a compiler");
    }

    fn compatible_archs(&self, _: &str) -> Vec<String> {
        self.compatible_archs.clone()
    }

    fn compile(&self, kernel: &Offloaded, of: &CompileRequest<'_>) -> codegen::Result<Compiled> {
        self.there()?;
        self.compiler.compile(kernel, of)
    }

    fn text(&self, kernel: &Offloaded, request: &CompileRequest<'_>) -> Option<SourceText> {
        self.compiler.text(kernel, request)
    }
}

/// The architecture of a simulated device, or another, with a compiler for it.
fn target(backend: TestBackend, arch: Option<&str>) -> Target {
    let (_world, opened) = backend.simulated_device();
    let compiler = opened.compiler.expect("a compiler");
    let compiler = Simulated { compiler, installed: true, compatible_archs: Vec::new() };
    let arch = arch.unwrap_or(&opened.device.info().arch);
    Target::new(arch, Arc::new(compiler))
}

/// Runs `body` in a program on the simulator without a cache.
fn run<T>(
    backend: TestBackend,
    builder: ProgramBuilder,
    installed: bool,
    compatible_archs: &[&str],
    body: impl FnOnce(&Program) -> qd::Result<T>,
) -> qd::Result<T> {
    let (_world, opened) = backend.simulated_device();
    let compatible_archs = compatible_archs.iter().map(|&arch| arch.to_owned()).collect();
    let compiler = opened.compiler.clone().expect("a compiler");
    let compiler = Simulated { compiler, installed, compatible_archs };
    let opened = Opened { compiler: Some(Arc::new(compiler)), ..opened };
    body(&builder.cache(None).open(opened)?)
}

/// As [`run`], without a compiler, from these exported kernels.
fn run_from<T>(
    backend: TestBackend,
    kernels: &ExportedKernels,
    body: impl FnOnce(&Program) -> qd::Result<T>,
) -> qd::Result<T> {
    run(backend, Program::builder().kernels(kernels.clone()), false, &[], body)
}

/// A CPU program that has launched the kernels of [`two_kernels`], and registered `copy` without a launch.
fn on_the_processor(builder: ProgramBuilder) -> qd::Result<Program> {
    let program = builder.cache(None).open(Arch::Cpu)?;
    two_kernels(&program)?;
    copy(&*qd::host(&[], [0])?, &mut *qd::host_mut(&mut [], [0])?).prepare(&program)?;
    Ok(program)
}

fn exported(backend: TestBackend, arch: Option<&str>) -> qd::Result<ExportedKernels> {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("kernels.qdk");
    let program = on_the_processor(Program::builder())?;
    let written = program.export_cache(&file, &[target(backend, arch)])?;
    assert_eq!(written.images, 6, "three kernels in two forms");
    let bytes = std::fs::read(&file).expect("the file");
    assert_eq!(written.bytes, bytes.len() as u64);
    ExportedKernels::from_bytes(bytes)
}

#[qd::kernel]
fn gather(points: &Tensor<Vector<f32, 2>, 1>, order: &Tensor<u32, 1>, x: &mut Tensor<f32, 1>) {
    for i in 0..x.len() {
        let point = points[order[i] as usize];
        x[i] = point[0] + point[1];
    }
}

/// A kernel with tensors of structs is also exported with checks for arrays of structs; structs of arrays use the image
/// with checks in all loops for every layout.
#[on_gpu_backends]
fn a_kernel_with_checks_is_exported_for_arrays_of_structs(backend: TestBackend) -> qd::Result<()> {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("kernels.qdk");
    let launch = |program: &Program| -> qd::Result<()> {
        let (order, mut x) =
            (program.tensor_from(&[1_u32, 0], [2])?, program.zeros::<f32, 1>([2])?);
        let points = [Vector([1.0, 2.0]), Vector([3.0, 4.0])];
        for layout in [Layout::ArrayOfStructs, Layout::StructOfArrays] {
            let tensor = program.tensor_with(&points, [2], layout)?;
            gather(&tensor, &order, &mut x).launch()?;
            assert_eq!(x.to_vec()?, [7.0, 3.0], "{layout:?}");
        }
        Ok(())
    };
    let exporter = Program::builder().cache(None).open(Arch::Cpu)?;
    launch(&exporter)?;
    assert_eq!(exporter.export_cache(&file, &[target(backend, None)])?.images, 3);
    let kernels = ExportedKernels::open(&file)?;
    assert!(kernels.images().any(|image| image.name == "gather, checked-interleaved"));
    run_from(backend, &kernels, |program| {
        launch(program)?;
        assert_eq!(program.cache_statistics().exported, 2);
        Ok(())
    })
}

#[on_gpu_backends]
fn a_program_without_a_compiler_runs_from_an_image_bundle(
    backend: TestBackend,
    #[values(None, Some(0))] argument_limit: Option<usize>,
) -> qd::Result<()> {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("kernels.qdk");
    let limited = || match argument_limit {
        Some(bytes) => Program::builder().argument_limit(bytes),
        None => Program::builder(),
    };
    on_the_processor(limited())?.export_cache(&file, &[target(backend, None)])?;
    let kernels = ExportedKernels::open(&file)?;
    assert!(kernels.images().any(|image| image.name == "saxpy, checked"
        && image.compiler_library == "a compiler 1.0"
        && kernels.archs().eq([&*image.arch])));
    run(backend, limited().kernels(kernels), false, &[], |program| {
        two_kernels(program)?;
        assert_eq!(program.cache_statistics().exported, 2);
        // The checked form reports locations in this source, whatever source the bundle was made from.
        let x = program.zeros::<f32, 1>([10])?;
        let mut y = program.zeros::<f32, 1>([11])?;
        copy(&x, &mut y).launch()?;
        let error = program.sync().expect_err("an index out of range");
        let Error::Kernel(error) = error else { panic!("{error:?}") };
        assert!(error.file.ends_with("main.rs") && error.line > 0, "{error}");
        assert_eq!(program.cache_statistics().exported, 3);
        Ok(())
    })
}

#[on_gpu_backends]
fn a_kernel_that_the_bundle_lacks_is_compiled_or_a_typed_error(
    backend: TestBackend,
) -> qd::Result<()> {
    let kernels = exported(backend, None)?;
    let other = |program: &Program| {
        let [mut a, mut b] = [program.zeros::<f32, 1>([4])?, program.zeros::<f32, 1>([4])?];
        one_block::grouped(&mut a, &mut b).launch()
    };
    let refused = run_from(backend, &kernels, other).expect_err("not exported");
    let Error::NotExported { kernel, files, .. } = &refused else { panic!("{refused:?}") };
    assert_eq!(kernel, "grouped");
    assert!(files[0].contains("memory") && refused.to_string().contains(&files[0]), "{refused}");
    let builder = || Program::builder().kernels(kernels.clone());
    run(backend, builder(), true, &[], other)?;
    // Without such a file the error is that of the missing compiler.
    let refused = run(backend, Program::builder(), false, &[], other).expect_err("no compiler");
    assert!(matches!(refused, Error::Compile { .. }), "{refused:?}");
    Ok(())
}

/// The same loops give the same source, but another launch plan.
#[on_gpu_backends]
fn a_bundle_does_not_match_kernels_with_other_stream_parallel_groups(
    backend: TestBackend,
) -> qd::Result<()> {
    let program = Program::builder().cache(None).open(Arch::Cpu)?;
    let nothing = || qd::host_mut::<f32, 1>(&mut [], [0]);
    one_block::grouped(&mut *nothing()?, &mut *nothing()?).prepare(&program)?;
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("kernels.qdk");
    program.export_cache(&file, &[target(backend, None)])?;
    run_from(backend, &ExportedKernels::open(&file)?, |program| {
        let [mut a, mut b] = [program.zeros::<f32, 1>([4])?, program.zeros::<f32, 1>([4])?];
        one_block::grouped(&mut a, &mut b).launch()?;
        assert_eq!((a.to_vec()?, b.to_vec()?), (vec![1.0; 4], vec![2.0; 4]));
        let refused = two_blocks::grouped(&mut a, &mut b).launch().expect_err("another kernel");
        assert!(matches!(refused, Error::NotExported { .. }), "{refused:?}");
        Ok(())
    })
}

#[on_gpu_backends]
fn a_device_uses_images_of_compatible_architectures(backend: TestBackend) -> qd::Result<()> {
    let older = exported(backend, Some("older"))?;
    let refused = run_from(backend, &older, two_kernels).expect_err("another architecture");
    assert!(refused.to_string().contains("(older)"), "{refused}");
    let with = |kernels: &[&ExportedKernels]| {
        kernels
            .iter()
            .fold(Program::builder(), |builder, &kernels| builder.kernels(kernels.clone()))
    };
    let found = |program: &Program| {
        two_kernels(program)?;
        Ok(program.cache_statistics().exported)
    };
    assert_eq!(run(backend, with(&[&older]), false, &["old", "older"], found)?, 2);
    // Several files act as one.
    let own = exported(backend, None)?;
    assert_eq!(run(backend, with(&[&older, &own]), false, &[], found)?, 2);
    let mut both = qd::Export::new([]);
    both.add_file(&older);
    both.add_file(&own);
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("kernels.qdk");
    assert_eq!(both.write(&file)?.images, 12);
    assert_eq!(run_from(backend, &ExportedKernels::open(&file)?, found)?, 2);
    Ok(())
}

#[on_gpu_backends]
fn a_corrupt_bundle_is_an_error_and_a_corrupt_image_is_recompiled(
    backend: TestBackend,
) -> qd::Result<()> {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("kernels.qdk");
    on_the_processor(Program::builder())?.export_cache(&file, &[target(backend, None)])?;
    let whole = std::fs::read(&file).expect("the file");
    let (mut refused, mut ran) = (0, 0);
    for at in (0..whole.len()).step_by(whole.len() / 50) {
        let mut damaged = whole.clone();
        damaged[at] ^= 1 << (at % 8);
        match ExportedKernels::from_bytes(damaged) {
            Ok(kernels) => {
                run(backend, Program::builder().kernels(kernels), true, &[], two_kernels)?;
                ran += 1;
            }
            Err(Error::Kernels(_)) => refused += 1,
            Err(other) => panic!("{other:?}"),
        }
    }
    assert!(refused > 1 && ran > 10, "{refused} {ran}");
    for len in (0..whole.len()).step_by(whole.len() / 50) {
        let cut_off = ExportedKernels::from_bytes(whole[..len].to_vec());
        assert!(matches!(cut_off, Err(Error::Kernels(_))), "{cut_off:?}");
    }
    Ok(())
}

/// The work of a child: exports the file repeatedly.
fn export_often(backend: TestBackend) -> qd::Result<()> {
    let file = std::env::var_os(FILE).expect("a file");
    let program = on_the_processor(Program::builder())?;
    let targets = [target(backend, None)];
    (0..20).try_for_each(|_| program.export_cache(&file, &targets).map(drop))
}

#[test]
fn concurrent_exports_to_one_file_are_atomic() -> qd::Result<()> {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("kernels.qdk");
    on_the_processor(Program::builder())?.export_cache(&file, &[target(Cuda, None)])?;
    let limit = Duration::from_secs(60);
    let environment = &[(FILE, file.as_os_str())];
    let write = || child::output_in("export again and again", Cuda, limit, environment);
    thread::scope(|scope| {
        let writers = [(); 2].map(|()| scope.spawn(write));
        while !writers.iter().all(|writer| writer.is_finished()) {
            run_from(Cuda, &ExportedKernels::open(&file)?, two_kernels)?;
        }
        for writer in writers {
            let output = writer.join().expect("no panic");
            assert!(output.status.success(), "{output:?}");
        }
        Ok(())
    })
}

#[test]
fn an_architecture_name_selects_its_compiler() {
    for name in ["sm_90", "sm_90a", "compute_80", "gfx90a", "gfx90a:xnack-"] {
        assert_eq!(qd::target(name).expect("a known form").arch(), name);
    }
    for name in ["", "sm_", "sm_x", "x86_64", "simulated"] {
        let refused = qd::target(name);
        assert!(matches!(refused, Err(Error::UnknownTarget { .. })), "{refused:?}");
    }
}

/// An architecture each, and an image for it.
type Images = Vec<(String, Vec<u8>)>;

/// Exports for architectures that need not exist on this machine.
fn images(names: &[&str]) -> qd::Result<Option<Images>> {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("kernels.qdk");
    let targets = names.iter().map(|name| qd::target(name)).collect::<qd::Result<Vec<_>>>()?;
    match on_the_processor(Program::builder())?.export_cache(&file, &targets) {
        Err(Error::Compile {
            source: codegen::Error::CompilerNotFound { searched, .. }, ..
        }) => {
            println!("skipped: no compiler for {names:?} (searched {})", searched.join("; "));
            return Ok(None);
        }
        written => assert_eq!(written?.images, 6 * names.len()),
    }
    let pack = ImageBundle::open(&file).expect("whole");
    let image = |(key, entry): (&_, &quadrants::ImageLabel)| {
        assert!(!entry.compiler_library.is_empty());
        (entry.arch.clone(), pack.get(key).expect("whole"))
    };
    Ok(Some(pack.entries().map(image).collect()))
}

#[test]
fn an_nvidia_bundle_contains_machine_code_for_each_architecture() -> qd::Result<()> {
    let Some(images) = images(&["sm_80", "sm_90", "compute_80"])? else { return Ok(()) };
    for (arch, image) in images {
        if arch == "compute_80" {
            let text = String::from_utf8(image).expect("text");
            assert!(text.contains(".target sm_80"), "{text}");
            continue;
        }
        assert!(image.starts_with(b"\x7fELF"), "{arch}");
        // The architecture's number stands in the flags of the file's header: in the lowest byte, or since CUDA 13 in
        // the next.
        let number: u8 = arch["sm_".len()..].parse().expect("a number");
        assert!(image[48..50].contains(&number), "{arch}: {:?}", &image[48..52]);
    }
    Ok(())
}

#[test]
fn an_amd_bundle_contains_code_objects() -> qd::Result<()> {
    for (arch, image) in images(&["gfx90a", "gfx1030"])?.unwrap_or_default() {
        assert!(image.starts_with(b"\x7fELF"), "{arch}");
    }
    Ok(())
}

/// The work of a child that gets a bundle and no compiler through its environment.
fn run_from_environment(backend: TestBackend) -> qd::Result<()> {
    let program = Program::open(backend.arch())?;
    two_kernels(&program)?;
    assert_eq!(program.cache_statistics().exported, 2);
    Ok(())
}

/// On a real device: compile ahead, then run in a process without a compiler.
#[on_gpu_backends]
fn a_device_runs_from_a_bundle_in_a_process_without_a_compiler(
    backend: TestBackend,
) -> qd::Result<()> {
    let opened = match backend.open_device() {
        Some((None, opened)) => opened,
        _ => {
            println!("skipped: {backend:?} has no hardware here");
            return Ok(());
        }
    };
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("kernels.qdk");
    let arch = &opened.device.info().arch;
    on_the_processor(Program::builder())?.export_cache(&file, &[qd::target(arch)?])?;
    let nowhere = Path::new("/nonexistent/library").as_os_str();
    let environment = [
        (qd::KERNELS_VARIABLE, file.as_os_str()),
        (qd::CACHE_VARIABLE, "off".as_ref()),
        ("QUADRANTS_NVRTC_LIBRARY", nowhere),
        ("QUADRANTS_HIPRTC_LIBRARY", nowhere),
    ];
    let limit = Duration::from_secs(60);
    let output = child::output_in("run from the file", backend, limit, &environment);
    assert!(output.status.success(), "{output:?}");
    Ok(())
}

#[test]
fn a_cpu_program_needs_no_image_bundle() -> qd::Result<()> {
    let kernels = exported(Cuda, None)?;
    let program = Program::builder().kernels(kernels).open(Cpu.arch())?;
    let mut x = program.zeros::<f32, 1>([3])?;
    set(2.0, &mut x).launch()?;
    let y = program.tensor_from(&x.to_vec()?, [3])?;
    saxpy(1.0, &y, &mut x).launch()?;
    assert_eq!(x.to_vec()?, [4.0; 3]);
    Ok(())
}
