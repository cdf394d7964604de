//! The kernel cache on disk: a second program compiles nothing, and no image is used for another kernel.

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
};

use quadrants::{self as qd, Opened, Program, ProgramBuilder, Tensor};
use quadrants_codegen::{CompileRequest, Compiled, Compiler, SourceText};
use quadrants_tests::{TestBackend, on_gpu_backends};

use crate::common::{saxpy, set};

const N: usize = 100;

/// The name and the library of a compiler whose images are cached.
type KeptAs = Option<(&'static str, Option<PathBuf>)>;

/// The simulator's compiler with a cache name, so that its images are cached.
#[derive(Debug)]
struct Counting {
    compiler: Arc<dyn Compiler>,
    disk_cache_name: KeptAs,
    compiled: AtomicUsize,
}

// SAFETY: the images are those of another compiler.
unsafe impl Compiler for Counting {
    fn identity(&self) -> quadrants_codegen::Result<String> {
        self.compiler.identity()
    }

    fn disk_cache_name(&self) -> Option<String> {
        self.disk_cache_name.as_ref().map(|(name, _)| (*name).to_owned())
    }

    fn library(&self) -> Option<PathBuf> {
        self.disk_cache_name.clone()?.1
    }

    fn compile(
        &self,
        kernel: &quadrants::ir::Offloaded,
        request: &CompileRequest<'_>,
    ) -> quadrants_codegen::Result<Compiled> {
        self.compiled.fetch_add(1, Relaxed);
        self.compiler.compile(kernel, request)
    }

    fn text(
        &self,
        kernel: &quadrants::ir::Offloaded,
        request: &CompileRequest<'_>,
    ) -> Option<SourceText> {
        self.compiler.text(kernel, request)
    }
}

/// Runs `body` in a new program with the cache in `folder`; returns how many kernels were compiled.
fn compiled(
    backend: TestBackend,
    folder: Option<&Path>,
    disk_cache_name: KeptAs,
    body: impl FnOnce(&Program) -> qd::Result<()>,
) -> qd::Result<usize> {
    let builder = Program::builder().cache(folder.map(Path::to_path_buf));
    compiled_by(backend, builder, disk_cache_name, body)
}

fn compiled_by(
    backend: TestBackend,
    builder: ProgramBuilder,
    disk_cache_name: KeptAs,
    body: impl FnOnce(&Program) -> qd::Result<()>,
) -> qd::Result<usize> {
    let (_world, opened) = backend.simulated_device();
    let counting = Arc::new(Counting {
        compiler: opened.compiler.clone().expect("a compiler"),
        disk_cache_name,
        compiled: AtomicUsize::new(0),
    });
    let opened = Opened { compiler: Some(counting.clone()), ..opened };
    let program = builder.open(opened)?;
    body(&program)?;
    Ok(counting.compiled.load(Relaxed))
}

/// A compiler by the name of `name`, whose library is that file.
fn named(name: &'static str, library: Option<&Path>) -> KeptAs {
    Some((name, library.map(Path::to_path_buf)))
}

pub(crate) fn two_kernels(program: &Program) -> qd::Result<()> {
    let mut x = program.zeros::<f32, 1>([N])?;
    let mut y = program.zeros::<f32, 1>([N])?;
    for _ in 0..2 {
        set(3.0, &mut x).launch()?;
        set(1.0, &mut y).launch()?;
        saxpy(2.0, &x, &mut y).launch()?;
    }
    assert_eq!(y.to_vec()?, [7.0; N]);
    Ok(())
}

#[on_gpu_backends]
fn a_second_program_loads_cached_images_without_compiling(backend: TestBackend) -> qd::Result<()> {
    let folder = tempfile::tempdir().expect("a folder");
    let library = folder.path().join("library");
    std::fs::write(&library, "1").expect("written");
    let kernels = folder.path().join("kernels");
    let run = |disk_cache_name| compiled(backend, Some(&kernels), disk_cache_name, two_kernels);
    assert_eq!(run(named("one", Some(&library)))?, 2);
    assert_eq!(run(named("one", Some(&library)))?, 0);
    assert_eq!(run(named("two", Some(&library)))?, 2, "another compiler");
    assert_eq!(run(named("two", None))?, 0, "one that is not there: as good as any");
    std::fs::write(&library, "23").expect("written");
    assert_eq!(run(named("one", Some(&library)))?, 2, "another library");
    assert_eq!(run(None)?, 2, "not to be kept");
    assert_eq!(compiled(backend, None, named("one", Some(&library)), two_kernels)?, 2, "off");
    Ok(())
}

#[on_gpu_backends]
fn an_image_that_the_driver_rejects_is_recompiled(backend: TestBackend) -> qd::Result<()> {
    let folder = tempfile::tempdir().expect("a folder");
    let run = || compiled(backend, Some(folder.path()), named("one", None), two_kernels);
    assert_eq!(run()?, 2);
    // Complete files with the right keys and invalid images.
    for entry in std::fs::read_dir(folder.path()).expect("the folder") {
        let path = entry.expect("an entry").path();
        let stem = path.file_stem().expect("a name").to_string_lossy().into_owned();
        let byte = |at: usize| u8::from_str_radix(&stem[2 * at..2 * at + 2], 16).expect("hex");
        let key = std::array::from_fn(byte);
        let label = quadrants::ImageLabel::default();
        quadrants_runtime::ImageCache::new(folder.path(), 1 << 20).put(&key, &label, b"nothing");
    }
    assert_eq!(run()?, 2);
    assert_eq!(run()?, 0, "and kept");
    Ok(())
}

/// Two loops in one block of a region.
pub(crate) mod one_block {
    use quadrants as qd;
    use quadrants::Tensor;
    #[qd::kernel]
    pub(crate) fn grouped(a: &mut Tensor<f32, 1>, b: &mut Tensor<f32, 1>) {
        qd::stream_parallel(|| {
            for i in 0..a.len() {
                a[i] += 1.0;
            }
            for i in 0..b.len() {
                b[i] += 2.0;
            }
        });
    }
}
/// The same loops, each in its own block.
pub(crate) mod two_blocks {
    use quadrants as qd;
    use quadrants::Tensor;
    #[qd::kernel]
    pub(crate) fn grouped(a: &mut Tensor<f32, 1>, b: &mut Tensor<f32, 1>) {
        qd::stream_parallel(|| {
            for i in 0..a.len() {
                a[i] += 1.0;
            }
        });
        qd::stream_parallel(|| {
            for i in 0..b.len() {
                b[i] += 2.0;
            }
        });
    }
}

/// The same loops give the same source, but another launch plan.
#[on_gpu_backends]
fn the_cache_key_contains_the_stream_parallel_groups(backend: TestBackend) -> qd::Result<()> {
    let folder = tempfile::tempdir().expect("a folder");
    type Both<'a> = (&'a mut Tensor<f32, 1>, &'a mut Tensor<f32, 1>);
    let run = |launch: fn(Both<'_>) -> qd::Result<()>| {
        compiled(backend, Some(folder.path()), named("one", None), |program| {
            let [mut a, mut b] = [(); 2].map(|()| program.zeros::<f32, 1>([N]).expect("memory"));
            launch((&mut a, &mut b))?;
            assert_eq!((a.to_vec()?, b.to_vec()?), (vec![1.0; N], vec![2.0; N]));
            Ok(())
        })
    };
    assert_eq!(run(|(a, b)| one_block::grouped(a, b).launch())?, 1);
    assert_eq!(run(|(a, b)| two_blocks::grouped(a, b).launch())?, 1);
    assert_eq!(run(|(a, b)| one_block::grouped(a, b).launch())?, 0);
    assert_eq!(run(|(a, b)| two_blocks::grouped(a, b).launch())?, 0);
    Ok(())
}

/// A loop with enough iterations for autotuning, whose threads execute several iterations together.
fn tuned(program: &Program, launches: usize) -> qd::Result<()> {
    let x = program.zeros::<f32, 1>([3000])?;
    let mut y = program.zeros::<f32, 1>([3000])?;
    for _ in 0..launches {
        saxpy(2.0, &x, &mut y).launch()?;
        program.default_stream().synchronize()?;
    }
    Ok(())
}

#[on_gpu_backends]
fn results_of_autotuning_are_stored(backend: TestBackend) -> qd::Result<()> {
    let folder = tempfile::tempdir().expect("a folder");
    let run = |launches| {
        let builder = Program::builder().cache(Some(folder.path().into())).autotune(true);
        compiled_by(backend, builder, named("one", None), |program| tuned(program, launches))
    };
    let results = || {
        let listed = qd::cached_images(folder.path()).expect("the folder");
        listed
            .iter()
            .filter(|image| image.check().is_ok_and(|label| label.name.ends_with("autotuned")))
            .count()
    };
    // The image as scheduled; the others are compiled when their trials begin.
    assert_eq!((run(1)?, results()), (1, 0));
    assert_eq!((run(80)?, results()), (2, 1));
    let before = std::fs::read_dir(folder.path()).expect("the folder").count();
    assert_eq!((run(80)?, results()), (0, 1));
    assert_eq!(std::fs::read_dir(folder.path()).expect("the folder").count(), before);
    Ok(())
}
