//! Programs that return one error each. The page shows their bodies.

use std::{fs, path::Path, sync::Arc};

use quadrants::{
    self as qd, Arch, Distinct, ExportedKernels, Hazards, Kernel, Layout, Opened, Program, Tensor,
    Vector,
    builder::KernelBuilder,
    codegen::{self, CompileRequest, Compiled, Compiler},
    dlpack::{DLPACK_FLAG_BITMASK_READ_ONLY, ManagedTensor},
    ir::{
        Offloaded,
        ScalarType::{F32, U32, U64},
    },
    rhi::DevicePtr,
};
use quadrants_driver_sim::Code;
use quadrants_tests::TestBackend::Cuda;

/// How messages name this file.
pub(super) const FILE: &str = file!();

#[qd::kernel]
fn set(value: f32, x: &mut Tensor<f32, 1>) {
    for i in 0..x.len() {
        x[i] = value;
    }
}

#[qd::kernel]
fn copy(from: &Tensor<f32, 1>, to: &mut Tensor<f32, 1>) {
    for i in 0..to.len() {
        to[i] = from[i];
    }
}

#[qd::kernel]
fn scatter(x: &Tensor<f32, 1>, to: &Distinct<u32, 1>, out: &mut Tensor<f32, 1>) {
    for i in 0..to.len() {
        out[to[i] as usize] = x[i];
    }
}

#[qd::kernel]
fn count(x: &mut Tensor<u32, 1>) {
    for i in 0..x.len() {
        x[i] = i as u32;
    }
}

/// A compiler whose library is missing.
#[derive(Debug)]
struct NotInstalled;

// SAFETY: it makes no images.
unsafe impl Compiler for NotInstalled {
    fn identity(&self) -> codegen::Result<String> {
        Err(codegen::Error::CompilerNotFound {
            compiler: "mine",
            searched: vec!["no library in /opt/mine".to_owned()],
        })
    }

    fn compile(&self, _: &Offloaded, _: &CompileRequest<'_>) -> codegen::Result<Compiled> {
        Err(self.identity().expect_err("there is no library"))
    }
}

/// The bytes of a file without kernels.
fn exported() -> qd::Result<Vec<u8>> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("kernels.qdk");
    Program::open(Arch::Cpu)?.export_cache(&file, &[])?;
    Ok(fs::read(file).expect("the file was written"))
}

pub(super) fn out_of_memory() -> qd::Result<()> {
    let (world, device) = Cuda.simulated_device();
    world.set_memory_limit(64 << 20);
    let prog = Program::open(device)?;
    prog.zeros::<f32, 1>([32 << 20]).map(drop)
}

pub(super) fn recursion() -> qd::Result<()> {
    #[qd::func]
    fn factorial(n: u32) -> u32 {
        if n < 2 { 1 } else { n * factorial(n - 1) }
    }
    #[qd::kernel]
    fn factorials(x: &mut Tensor<u32, 1>) {
        for i in 0..x.len() {
            x[i] = factorial(i as u32);
        }
    }
    let prog = Program::open(Arch::Cpu)?;
    factorials(&mut prog.zeros([4])?).launch()
}

pub(super) fn asserted() -> qd::Result<()> {
    let b = KernelBuilder::new("permute");
    let (x, to) = (b.param_tensor_mut("x", U32, 1), b.param_tensor("to", U64, 1));
    b.range_for(0u64, to.len(), |i| b.race_free(|| x.store(to.load(i), i.cast(U32))));
    Kernel::new(b.build().expect("a valid kernel")).map(drop)
}

pub(super) fn local_memory() -> qd::Result<()> {
    #[qd::kernel]
    fn large(k: usize, x: &mut Tensor<u32, 1>) {
        for i in 0..x.len() {
            let mut table = [0u32; 20000];
            table[k] = i as u32;
            x[i] = table[i];
        }
    }
    let (_world, device) = Cuda.simulated_device();
    let prog = Program::open(device)?;
    large(1, &mut prog.zeros([4])?).launch()
}

pub(super) fn shared_memory() -> qd::Result<()> {
    #[qd::kernel]
    fn rows(n: usize, x: &mut Tensor<f32, 1>) {
        qd::block_for(1, 64, |b| {
            let mut row = b.shared::<f32>(n);
            b.each(|t| row[t] = t as f32);
            b.each(|t| x[t] = row[63 - t]);
        });
    }
    let prog = Program::open(Arch::Cpu)?;
    rows(1 << 20, &mut prog.zeros([64])?).launch()
}

pub(super) fn no_trace() -> qd::Result<()> {
    qd::Timeline::from_chrome_trace("[1, 2]").map(drop)
}

pub(super) fn no_bundle() -> qd::Result<()> {
    ExportedKernels::from_bytes(b"not a file of kernels").map(drop)
}

pub(super) fn no_file() -> qd::Result<()> {
    ExportedKernels::open("/nowhere/kernels.qdk").map(drop)
}

pub(super) fn other_version() -> qd::Result<()> {
    let mut bytes = exported()?;
    bytes[7] = 99;
    ExportedKernels::from_bytes(bytes).map(drop)
}

pub(super) fn truncated() -> qd::Result<()> {
    let mut bytes = exported()?;
    bytes.pop();
    ExportedKernels::from_bytes(bytes).map(drop)
}

pub(super) fn damaged() -> qd::Result<()> {
    let mut bytes = exported()?;
    bytes[20] ^= 1;
    ExportedKernels::from_bytes(bytes).map(drop)
}

pub(super) fn profile_active() -> qd::Result<()> {
    let prog = Program::open(Arch::Cpu)?;
    let (inner, _timeline) = prog.profile(|| prog.profile(|| ()).map(drop))?;
    inner
}

pub(super) fn unknown_target() -> qd::Result<()> {
    qd::target("tpu_v5").map(drop)
}

pub(super) fn no_compiler() -> qd::Result<()> {
    let (_world, Opened { device, .. }) = Cuda.simulated_device();
    let prog = Program::open(Opened { device, compiler: None })?;
    set(1.0, &mut prog.zeros([4])?).launch()
}

pub(super) fn launch() -> qd::Result<()> {
    let (world, device) = Cuda.simulated_device();
    let prog = Program::open(device)?;
    let mut x = prog.zeros([4])?;
    world.fail("cuLaunchKernel", 1, Code::INVALID_VALUE);
    set(1.0, &mut x).launch()
}

pub(super) fn index_in_kernel() -> qd::Result<()> {
    let prog = Program::open(Arch::Cpu)?;
    let (x, mut y) = (prog.zeros([3])?, prog.zeros([4])?);
    copy(&x, &mut y).launch()?;
    prog.sync()
}

pub(super) fn assertion() -> qd::Result<()> {
    #[qd::kernel]
    fn positive(x: &Tensor<f32, 1>) {
        for i in 0..x.len() {
            assert!(x[i] > 0.0, "x[{i}] is {}", x[i]);
        }
    }
    let prog = Program::open(Arch::Cpu)?;
    positive(&prog.tensor_from(&[1.0, -2.0], [2])?).launch()?;
    prog.sync()
}

pub(super) fn comparison() -> qd::Result<()> {
    #[qd::kernel]
    fn even(x: &Tensor<u32, 1>) {
        for i in 0..x.len() {
            assert_eq!(x[i] % 2, 0);
        }
    }
    let prog = Program::open(Arch::Cpu)?;
    even(&prog.tensor_from(&[2, 3], [2])?).launch()?;
    prog.sync()
}

pub(super) fn division() -> qd::Result<()> {
    #[qd::kernel]
    fn ratio(d: u32, x: &mut Tensor<u32, 1>) {
        for i in 0..x.len() {
            x[i] = 100 / d;
        }
    }
    let prog = Program::open(Arch::Cpu)?;
    ratio(0, &mut prog.zeros([2])?).launch()?;
    prog.sync()
}

pub(super) fn wrapped_bound() -> qd::Result<()> {
    #[qd::kernel]
    fn but_the_last(n: &Tensor<usize, 1>, x: &mut Tensor<u32, 1>) {
        let end = n[0].wrapping_sub(1);
        for i in 0..end {
            x[i] = 1;
        }
    }
    let prog = Program::open(Arch::Cpu)?;
    but_the_last(&prog.zeros([1])?, &mut prog.zeros([4])?).launch()?;
    prog.sync()
}

pub(super) fn race() -> qd::Result<()> {
    #[qd::kernel]
    fn wrapped(n: usize, m: usize, y: &mut Tensor<u32, 1>) {
        for i in 0..n {
            y[i % m] = i as u32;
        }
    }
    let prog = Program::open(Arch::Cpu)?;
    wrapped(8, 4, &mut prog.zeros([8])?).launch()
}

pub(super) fn unproven() -> qd::Result<()> {
    #[qd::func]
    fn place(i: usize) -> usize {
        (i as f32 * 2.0) as usize
    }
    #[qd::kernel]
    fn spread(n: usize, y: &mut Tensor<u32, 1>) {
        for i in 0..n {
            y[place(i)] = 1;
        }
    }
    let prog = Program::open(Arch::Cpu)?;
    spread(32, &mut prog.zeros([64])?).launch()
}

pub(super) fn counter_overflow() -> qd::Result<()> {
    #[qd::kernel]
    fn spans(lengths: &Tensor<u32, 1>, count: &mut Tensor<u32, 1>, out: &mut Tensor<u32, 1>) {
        for i in 0..lengths.len() {
            let n = lengths[i];
            let first = qd::atomic_add(&mut count[0], n);
            for j in 0..n {
                out[(first + j) as usize] = i as u32;
            }
        }
    }
    let prog = Program::open(Arch::Cpu)?;
    let lengths = prog.tensor_from(&[1, 2], [2])?;
    spans(&lengths, &mut prog.zeros([1])?, &mut prog.zeros([3])?).launch()
}

pub(super) fn hazard() -> qd::Result<()> {
    let prog = Program::builder().hazards(Hazards::Check).open(Arch::Cpu)?;
    let (one, two) = (prog.create_stream()?, prog.create_stream()?);
    let (mut x, mut y) = (prog.zeros([4])?, prog.zeros([4])?);
    set(1.0, &mut x).launch_on(&one)?;
    copy(&x, &mut y).launch_on(&two)
}

pub(super) fn region_conflict() -> qd::Result<()> {
    let prog = Program::open(Arch::Cpu)?;
    let mut x = prog.zeros([4])?;
    prog.stream_parallel(|p| {
        p.block(|| set(1.0, &mut x).launch())?;
        p.block(|| set(2.0, &mut x).launch())
    })
}

pub(super) fn unknown_hazards() -> qd::Result<()> {
    "sometimes".parse::<Hazards>().map(drop)
}

pub(super) fn argument() -> qd::Result<()> {
    let prog = Program::open(Arch::Cpu)?;
    let mut x = prog.zeros([4])?;
    let mut graph = prog.capture(|| set(1.0, &mut x).launch())?;
    graph.with("value", 1_i32).launch()
}

pub(super) fn result_type() -> qd::Result<()> {
    let b = KernelBuilder::new("first");
    let x = b.param_tensor("x", F32, 1);
    b.return_(x.load(0u64));
    let first = Kernel::new(b.build().expect("a valid kernel"))?;
    let prog = Program::open(Arch::Cpu)?;
    let x = prog.tensor_from(&[1.0_f32], [1])?;
    first.call::<u32>().arg(&x).launch().map(drop)
}

pub(super) fn no_program() -> qd::Result<()> {
    #[qd::kernel]
    fn positive(a: i32) {
        assert!(a > 0);
    }
    positive(1).launch()
}

pub(super) fn other_program() -> qd::Result<()> {
    let (one, two) = (Program::open(Arch::Cpu)?, Program::open(Arch::Cpu)?);
    copy(&one.zeros([4])?, &mut two.zeros([4])?).launch()
}

pub(super) fn shape() -> qd::Result<()> {
    Program::open(Arch::Cpu)?.tensor_from(&[1.0; 5], [2, 3]).map(drop)
}

pub(super) fn range() -> qd::Result<()> {
    let x = Program::open(Arch::Cpu)?.zeros::<f32, 1>([4])?;
    x.slice(2..9).map(drop)
}

pub(super) fn view_axis() -> qd::Result<()> {
    let x = Program::open(Arch::Cpu)?.zeros::<f32, 2>([4, 4])?;
    x.index_axis(2, 0).map(drop)
}

pub(super) fn view_range() -> qd::Result<()> {
    let x = Program::open(Arch::Cpu)?.zeros::<f32, 2>([4, 4])?;
    x.slice_axis(1, 3..5).map(drop)
}

pub(super) fn view_step() -> qd::Result<()> {
    let x = Program::open(Arch::Cpu)?.zeros::<f32, 2>([4, 4])?;
    x.every(1, 0).map(drop)
}

pub(super) fn view_permutation() -> qd::Result<()> {
    let x = Program::open(Arch::Cpu)?.zeros::<f32, 3>([4, 4, 4])?;
    x.permuted_axes([0, 2, 2]).map(drop)
}

pub(super) fn view_not_contiguous() -> qd::Result<()> {
    let x = Program::open(Arch::Cpu)?.zeros::<f32, 2>([4, 4])?;
    x.slice_axis(1, ..2)?.flat().map(drop)
}

pub(super) fn index() -> qd::Result<()> {
    let x = Program::open(Arch::Cpu)?.zeros::<f32, 2>([4, 4])?;
    x.get([0, 4]).map(drop)
}

pub(super) fn copy_shape() -> qd::Result<()> {
    let prog = Program::open(Arch::Cpu)?;
    let (x, mut y) = (prog.zeros::<f32, 1>([4])?, prog.zeros([5])?);
    y.copy_from(&x)
}

pub(super) fn copy_layout() -> qd::Result<()> {
    let prog = Program::open(Arch::Cpu)?;
    let x = prog.zeros_with::<Vector<f32, 3>, 1>([4], Layout::StructOfArrays)?;
    prog.zeros([4])?.copy_from(&x)
}

pub(super) fn null() -> qd::Result<()> {
    let prog = Program::open(Arch::Cpu)?;
    // SAFETY: there is no memory at the address, and none is used.
    unsafe {
        prog.tensor_from_raw::<f32, 1>(DevicePtr::from_ptr::<f32>(std::ptr::null_mut()), [4], ())
    }
    .map(drop)
}

pub(super) fn too_small() -> qd::Result<()> {
    let (_world, device) = Cuda.simulated_device();
    let prog = Program::open(device)?;
    let theirs = prog.zeros::<f32, 1>([4])?;
    let address = theirs.raw()?.address;
    // SAFETY: the memory is too small, so that none of it is used.
    unsafe { prog.tensor_from_raw::<f32, 1>(address, [1 << 20], ()) }.map(drop)
}

pub(super) fn read_only_dlpack() -> qd::Result<()> {
    let prog = Program::open(Arch::Cpu)?;
    let theirs = prog.zeros::<f32, 1>([4])?.to_dlpack()?;
    // SAFETY: given away once, and not used after the error.
    unsafe {
        (*theirs).flags = DLPACK_FLAG_BITMASK_READ_ONLY;
        prog.from_dlpack::<f32, 1>(ManagedTensor::from_raw(theirs)?).map(drop)
    }
}

pub(super) fn other_dlpack_version() -> qd::Result<()> {
    let prog = Program::open(Arch::Cpu)?;
    let theirs = prog.zeros::<f32, 1>([4])?.to_dlpack()?;
    // SAFETY: given away once.
    unsafe {
        (*theirs).version.major = 2;
        ManagedTensor::from_raw(theirs).map(drop)
    }
}

pub(super) fn dlpack_data_type() -> qd::Result<()> {
    let prog = Program::open(Arch::Cpu)?;
    let theirs = prog.zeros::<f64, 1>([4])?.to_dlpack()?;
    // SAFETY: given away once, and not used after the error.
    unsafe { prog.from_dlpack::<f32, 1>(ManagedTensor::from_raw(theirs)?).map(drop) }
}

pub(super) fn dlpack_rank() -> qd::Result<()> {
    let prog = Program::open(Arch::Cpu)?;
    let theirs = prog.zeros::<f32, 1>([4])?.to_dlpack()?;
    // SAFETY: given away once, and not used after the error.
    unsafe { prog.from_dlpack::<f32, 2>(ManagedTensor::from_raw(theirs)?).map(drop) }
}

pub(super) fn dlpack_extent() -> qd::Result<()> {
    let prog = Program::open(Arch::Cpu)?;
    let theirs = prog.zeros::<f32, 2>([4, 2])?.to_dlpack()?;
    // SAFETY: given away once, and not used after the error.
    unsafe { prog.from_dlpack::<Vector<f32, 3>, 1>(ManagedTensor::from_raw(theirs)?).map(drop) }
}

pub(super) fn dlpack_strides() -> qd::Result<()> {
    let prog = Program::open(Arch::Cpu)?;
    let places = prog.zeros_with::<Vector<f32, 3>, 1>([4], Layout::StructOfArrays)?;
    let theirs = places.to_dlpack()?;
    // SAFETY: given away once, and not used after the error.
    unsafe { prog.from_dlpack::<Vector<f32, 3>, 1>(ManagedTensor::from_raw(theirs)?).map(drop) }
}

pub(super) fn dlpack_struct() -> qd::Result<()> {
    let prog = Program::open(Arch::Cpu)?;
    prog.zeros::<(f32, u32), 1>([4])?.to_dlpack().map(drop)
}

pub(super) fn foreign_capture() -> qd::Result<()> {
    let (_world, device) = Cuda.simulated_device();
    let (library, prog) = (device.device.clone(), Program::open(device)?);
    let mut x = prog.zeros([4])?;
    let theirs = library.create_stream(Default::default())?;
    // SAFETY: a stream of the device, which is not destroyed.
    unsafe {
        let stream = qd::Stream::from_raw(&prog, theirs)?;
        library.begin_capture(theirs)?;
        set(1.0, &mut x).launch_on(&stream)
    }
}

pub(super) fn array_strides() -> qd::Result<()> {
    let rows = ndarray::array![[1.0, 2.0], [3.0, 4.0]];
    qd::host_array(&rows.slice(ndarray::s![.., ..;-1])).map(drop)
}

pub(super) fn npy_nowhere() -> qd::Result<()> {
    let prog = Program::open(Arch::Cpu)?;
    prog.load_npy::<f32, 1>("nowhere/x.npy").map(drop)
}

pub(super) fn host_array() -> qd::Result<()> {
    qd::host(&[1.0], [1])?.raw().map(drop)
}

pub(super) fn moved_slice() -> qd::Result<()> {
    let prog = Program::open(Arch::Cpu)?;
    let (mut x, mut other) = (prog.zeros::<f32, 1>([4])?, prog.zeros([2])?);
    let mut slice = x.slice_mut(..2)?;
    std::mem::swap(&mut *slice, &mut other);
    let result = other.to_vec().map(drop);
    std::mem::swap(&mut *slice, &mut other);
    result
}

pub(super) fn not_distinct() -> qd::Result<()> {
    let prog = Program::open(Arch::Cpu)?;
    qd::distinct(&prog.tensor_from(&[2, 0, 2], [3])?).map(drop)
}

pub(super) fn written_by_graph() -> qd::Result<()> {
    let prog = Program::open(Arch::Cpu)?;
    let mut to = prog.zeros([3])?;
    let _graph = prog.capture(|| count(&mut to).launch())?;
    qd::distinct(&to).map(drop)
}

pub(super) fn no_longer_distinct() -> qd::Result<()> {
    let prog = Program::open(Arch::Cpu)?;
    let (x, mut out) = (prog.zeros([3])?, prog.zeros([3])?);
    let mut to = prog.tensor_from(&[2, 0, 1], [3])?;
    qd::distinct(&to)?;
    let mut graph = prog.capture(|| scatter(&x, qd::distinct(&to)?, &mut out).launch())?;
    to.write(&[2, 0, 2])?;
    graph.launch()
}

pub(super) fn too_large() -> qd::Result<()> {
    Program::open(Arch::Cpu)?.zeros::<f32, 2>([usize::MAX, 2]).map(drop)
}

pub(super) fn unknown_backend() -> qd::Result<()> {
    "gpu".parse::<Arch>().map(drop)
}

pub(super) fn capture() -> qd::Result<()> {
    let prog = Program::open(Arch::Cpu)?;
    prog.capture(|| prog.sync()).map(drop)
}

pub(super) fn unknown_argument() -> qd::Result<()> {
    let prog = Program::open(Arch::Cpu)?;
    let mut x = prog.zeros([4])?;
    let mut graph = prog.capture(|| set(1.0, &mut x).launch())?;
    graph.with("dt", 0.5_f32).launch()
}

pub(super) fn overlap() -> qd::Result<()> {
    let prog = Program::open(Arch::Cpu)?;
    let (x, mut y) = (prog.zeros([4])?, prog.zeros([4])?);
    let mut graph = prog.capture(|| copy(&x, &mut y).launch())?;
    graph.with("from", &y).launch()
}

pub(super) fn grid() -> qd::Result<()> {
    #[qd::kernel]
    fn but_the_last(n: usize, x: &mut Tensor<u32, 1>) {
        for i in 0..n.wrapping_sub(1) {
            x[i] = 1;
        }
    }
    but_the_last(0, &mut Program::open(Arch::Cpu)?.zeros([4])?).launch()
}

pub(super) fn library_not_found() -> qd::Result<()> {
    quadrants_rhi_cuda::driver_from_path(Path::new("/nowhere/libcuda.so"))?;
    Ok(())
}

pub(super) fn symbol_missing() -> qd::Result<()> {
    // SAFETY: no function is returned.
    unsafe { quadrants_rhi_cuda::driver_from_symbols("an empty library", |_| None)? };
    Ok(())
}

pub(super) fn device_ordinal() -> qd::Result<()> {
    Program::open(Arch::Cpu.device(7)).map(drop)
}

pub(super) fn image_of_another_kind() -> qd::Result<()> {
    let device = Arch::Cpu.driver()?.open(0)?;
    device.load_module(&qd::rhi::Image::Binary(&[0; 64]))?;
    Ok(())
}

pub(super) fn context_lost() -> qd::Result<()> {
    let (world, device) = Cuda.simulated_device();
    let prog = Program::open(device)?;
    world.lose(None, 1, Code::ILLEGAL_ADDRESS);
    let _first = prog.create_stream();
    prog.create_stream().map(drop)
}

pub(super) fn misaligned() -> qd::Result<()> {
    let prog = Program::open(Arch::Cpu)?;
    let mut bytes = vec![0_u64; 4];
    let address = DevicePtr::from_ptr(bytes.as_mut_ptr()).offset(1);
    // SAFETY: the address is refused, so that no memory is used.
    unsafe { prog.tensor_from_raw::<f32, 1>(address, [4], bytes) }.map(drop)
}

pub(super) fn not_of_driver() -> qd::Result<()> {
    let (_world, device) = Cuda.simulated_device();
    let prog = Program::open(device)?;
    let mut on_host = vec![0.0_f32; 4];
    let address = DevicePtr::from_ptr(on_host.as_mut_ptr());
    // SAFETY: the address is refused, so that no memory is used.
    unsafe { prog.tensor_from_raw::<f32, 1>(address, [4], on_host) }.map(drop)
}

pub(super) fn large_array() -> qd::Result<()> {
    #[qd::kernel]
    fn table(k: usize, x: &mut Tensor<u32, 1>) {
        let large = [7; 257];
        for i in 0..x.len() {
            x[i] = large[k];
        }
    }
    table(1, &mut Program::open(Arch::Cpu)?.zeros([4])?).launch()
}

pub(super) fn invalid_handle() -> qd::Result<()> {
    let (world, device) = Cuda.simulated_device();
    let prog = Program::open(device)?;
    world.fail("cuStreamCreateWithPriority", 1, Code::INVALID_HANDLE);
    prog.create_stream().map(drop)
}

pub(super) fn not_found() -> qd::Result<()> {
    let (world, device) = Cuda.simulated_device();
    let prog = Program::open(device)?;
    world.fail("cuStreamCreateWithPriority", 1, Code::NOT_FOUND);
    prog.create_stream().map(drop)
}

pub(super) fn no_device() -> qd::Result<()> {
    let (world, device) = Cuda.simulated_device();
    let prog = Program::open(device)?;
    world.fail("cuStreamCreateWithPriority", 1, Code::NO_DEVICE);
    prog.create_stream().map(drop)
}

pub(super) fn not_supported() -> qd::Result<()> {
    let (world, device) = Cuda.simulated_device();
    let prog = Program::open(device)?;
    world.fail("cuStreamCreateWithPriority", 1, Code::NOT_SUPPORTED);
    prog.create_stream().map(drop)
}

pub(super) fn shutting_down() -> qd::Result<()> {
    let (world, device) = Cuda.simulated_device();
    let prog = Program::open(device)?;
    world.fail("cuStreamCreateWithPriority", 1, Code::DEINITIALIZED);
    prog.create_stream().map(drop)
}

pub(super) fn any_other_code() -> qd::Result<()> {
    let (world, device) = Cuda.simulated_device();
    let prog = Program::open(device)?;
    world.fail("cuStreamCreateWithPriority", 1, Code::INVALID_IMAGE);
    prog.create_stream().map(drop)
}

pub(super) fn no_compiler_library() -> qd::Result<()> {
    let (_world, Opened { device, .. }) = Cuda.simulated_device();
    let prog = Program::open(Opened { device, compiler: Some(Arc::new(NotInstalled)) })?;
    set(1.0, &mut prog.zeros([4])?).launch()
}

pub(super) fn not_exported() -> qd::Result<()> {
    let (_world, Opened { device, .. }) = Cuda.simulated_device();
    let kernels = ExportedKernels::from_bytes(exported()?)?;
    let opened = Opened { device, compiler: Some(Arc::new(NotInstalled)) };
    let prog = Program::builder().kernels(kernels).open(opened)?;
    set(1.0, &mut prog.zeros([4])?).launch()
}

pub(super) fn not_kept() -> qd::Result<()> {
    let prog = Program::open(Arch::Cpu)?;
    set(1.0, &mut prog.zeros([4])?).launch()?;
    let target = qd::Target::new("mine_1", Arc::new(NotInstalled));
    prog.export_cache("kernels.qdk", &[target]).map(drop)
}
