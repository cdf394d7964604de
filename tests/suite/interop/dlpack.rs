//! Tensors from and for other libraries by DLPack.

use std::{
    ffi::c_void,
    ptr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    thread,
};

use quadrants::{
    DlpackProblem, Error, ForeignMemoryProblem, Layout, Matrix, Program, Result, Tensor, Vector,
    dlpack::{
        DLDataType, DLDevice, DLManagedTensor, DLManagedTensorVersioned,
        DLPACK_FLAG_BITMASK_READ_ONLY, DLPackVersion, DLTensor, ManagedTensor,
    },
    f16, host,
    rhi::{DevicePtr, StreamHandle},
};
use quadrants_driver_sim::Schedule;
use quadrants_tests::{TestBackend, on_all_backends, on_gpu_backends};

use super::{Library, Scene};
use crate::common::{copy, order, set};

const N: usize = 40;
const F32: DLDataType = DLDataType { code: 2, bits: 32, lanes: 1 };

/// A managed tensor of another library, in memory of its own. The deleter frees it and counts that.
struct Produced {
    versioned: DLManagedTensorVersioned,
    unversioned: DLManagedTensor,
    shape: Vec<i64>,
    strides: Vec<i64>,
    library: Library,
    memory: DevicePtr,
    deleted: Arc<AtomicUsize>,
}

impl Produced {
    fn new(scene: &Scene, bytes: usize, shape: &[i64], deleted: &Arc<AtomicUsize>) -> Box<Self> {
        let library = scene.library.clone();
        let memory = library.0.alloc(bytes).expect("memory");
        let tensor = DLTensor {
            data: memory.as_ptr(),
            device: device_of(&scene.program),
            ndim: shape.len() as i32,
            dtype: F32,
            shape: ptr::null_mut(),
            strides: ptr::null_mut(),
            byte_offset: 0,
        };
        Box::new(Self {
            versioned: DLManagedTensorVersioned {
                version: DLPackVersion { major: 1, minor: 7 },
                manager_ctx: ptr::null_mut(),
                deleter: Some(delete_versioned),
                flags: 0,
                dl_tensor: tensor,
            },
            unversioned: DLManagedTensor {
                dl_tensor: tensor,
                manager_ctx: ptr::null_mut(),
                deleter: Some(delete_unversioned),
            },
            shape: shape.to_vec(),
            strides: Vec::new(),
            library,
            memory,
            deleted: deleted.clone(),
        })
    }

    /// A tensor of `N` floats with the value `value`.
    fn filled(scene: &Scene, value: f32, deleted: &Arc<AtomicUsize>) -> Box<Self> {
        let produced = Self::new(scene, 4 * N, &[N as i64], deleted);
        // SAFETY: the memory has the elements, and nobody else uses it yet.
        unsafe { scene.library.fill(StreamHandle::DEFAULT, produced.memory, value, N) };
        scene.library.0.synchronize().expect("the library works");
        produced
    }

    fn tensor(&mut self) -> &mut DLTensor {
        &mut self.versioned.dl_tensor
    }

    fn finish(self: Box<Self>) -> *mut Self {
        let produced = Box::into_raw(self);
        // SAFETY: just made.
        unsafe {
            let Self { versioned, unversioned, shape, strides, .. } = &mut *produced;
            let tensor = &mut versioned.dl_tensor;
            if !shape.is_empty() {
                tensor.shape = shape.as_mut_ptr();
            }
            if !strides.is_empty() {
                tensor.strides = strides.as_mut_ptr();
            }
            unversioned.dl_tensor = *tensor;
            versioned.manager_ctx = produced.cast();
            unversioned.manager_ctx = produced.cast();
        }
        produced
    }

    fn give(self: Box<Self>) -> Result<ManagedTensor> {
        let produced = self.finish();
        // SAFETY: a managed tensor, which the library gives away.
        unsafe { ManagedTensor::from_raw(&raw mut (*produced).versioned) }
    }

    fn give_unversioned(self: Box<Self>) -> Result<ManagedTensor> {
        let produced = self.finish();
        // SAFETY: as above.
        unsafe { ManagedTensor::from_raw_unversioned(&raw mut (*produced).unversioned) }
    }
}

impl Drop for Produced {
    fn drop(&mut self) {
        self.deleted.fetch_add(1, Relaxed);
        // SAFETY: allocated by the library, and dropped after the last use: that is what is tested.
        unsafe { self.library.0.free(self.memory) }.expect("freed once");
    }
}

unsafe extern "C" fn delete_versioned(managed: *mut DLManagedTensorVersioned) {
    // SAFETY: called once, with what `finish` made.
    drop(unsafe { Box::from_raw((*managed).manager_ctx.cast::<Produced>()) });
}

unsafe extern "C" fn delete_unversioned(managed: *mut DLManagedTensor) {
    // SAFETY: as above.
    drop(unsafe { Box::from_raw((*managed).manager_ctx.cast::<Produced>()) });
}

/// The numbers of `dlpack.h`.
fn device_of(prog: &Program) -> DLDevice {
    let device_type = match prog.arch() {
        "cpu" => 1,
        "cuda" => 2,
        "amdgpu" => 10,
        other => panic!("{other}"),
    };
    DLDevice { device_type, device_id: prog.device_info().ordinal as i32 }
}

#[on_all_backends]
fn a_managed_tensor_is_a_tensor_without_a_copy(
    backend: TestBackend,
    #[values(false, true)] versioned: bool,
) -> Result<()> {
    let Some(scene) = Scene::new(backend)? else { return Ok(()) };
    let (prog, deleted) = (&scene.program, Arc::default());
    let mut produced = Produced::filled(&scene, 3.0, &deleted);
    let memory = produced.memory;
    // Half of it, by the offset; the strides of axes with one element have no meaning.
    produced.shape = vec![1, 5, 4];
    produced.strides = vec![-7, 4, 1];
    produced.tensor().ndim = 3;
    produced.tensor().byte_offset = 80;
    let managed = if versioned { produced.give()? } else { produced.give_unversioned()? };
    assert_eq!((managed.shape(), managed.strides()), (&[1, 5, 4][..], Some(&[-7, 4, 1][..])));
    assert_eq!((managed.device(), managed.data_type()), (device_of(prog), F32));
    assert!(format!("{managed:?}").contains("shape: [1, 5, 4]"), "{managed:?}");
    // SAFETY: the library's work is complete, and it does not use the memory any more.
    let mut x: Tensor<f32, 3> = unsafe { prog.from_dlpack(managed)? };
    assert_eq!((x.shape(), x.raw()?.address), ([1, 5, 4], memory.offset(80)));
    assert_eq!(x.to_vec()?, [3.0; 20]);
    set(4.0, &mut *x.flat_mut()?).launch()?;
    assert_eq!(x.to_vec()?, [4.0; 20]);
    let mut host = [0.0_f32; N];
    // SAFETY: the memory has the bytes, and no work on it is in flight.
    unsafe {
        let to = host.as_mut_ptr().cast();
        scene.library.0.copy_dtoh_async(to, memory, 4 * N, prog.default_stream().handle())?;
    }
    prog.sync()?;
    assert_eq!(host[..], [[3.0; 20], [4.0; 20]].concat());
    assert_eq!(deleted.load(Relaxed), 0);
    prog.device_sync()?;
    drop(x);
    assert_eq!(deleted.load(Relaxed), 1, "at once: all uses are known to be complete");
    Ok(())
}

#[on_all_backends]
fn the_deleter_runs_after_the_last_use_on_every_stream(backend: TestBackend) -> Result<()> {
    let Some(scene) = Scene::new(backend)? else { return Ok(()) };
    let prog = &scene.program;
    let [s1, s2, s3] = [(); 3].map(|()| prog.create_stream().expect("a stream"));
    let (deleted, mut made) = (Arc::default(), 0);
    scene.on_seeds(|value| {
        made += 1;
        let [mut a, mut b] = [(); 2].map(|()| prog.zeros::<f32, 1>([N]).expect("memory"));
        let managed = Produced::filled(&scene, -1.0, &deleted).give()?;
        // SAFETY: the library's work is complete, and it does not use the memory any more.
        let mut x = unsafe { prog.from_dlpack(managed)? };
        set(value, &mut x).launch_on(&s1)?;
        order(prog, &s1, &s2)?;
        order(prog, &s1, &s3)?;
        copy(&x, &mut a).launch_on(&s2)?;
        copy(&x, &mut b).launch_on(&s3)?;
        drop(x);
        assert_eq!((a.to_vec()?, b.to_vec()?), (vec![value; N], vec![value; N]));
        Ok(())
    })?;
    prog.device_sync()?;
    assert_eq!(deleted.load(Relaxed), made);
    Ok(())
}

#[on_gpu_backends]
fn the_host_does_not_wait_for_the_last_use_of_a_managed_tensor(backend: TestBackend) -> Result<()> {
    let Some(scene) = Scene::simulated(backend, Program::builder())? else { return Ok(()) };
    let (world, deleted) = (scene.world.as_ref().expect("simulated"), Arc::default());
    let stream = scene.program.create_stream()?;
    let managed = Produced::filled(&scene, 0.0, &deleted).give()?;
    // SAFETY: as above.
    let mut x = unsafe { scene.program.from_dlpack(managed)? };
    scene.program.device_sync()?;
    world.set_schedule(Schedule::Lazy);
    set(2.0, &mut x).launch_on(&stream)?;
    drop(x);
    assert_eq!((deleted.load(Relaxed), world.live().pending > 0), (0, true));
    scene.program.device_sync()?;
    assert_eq!(deleted.load(Relaxed), 1);
    assert_eq!(world.reports(), []);
    Ok(())
}

/// The memory lives until the deleter is called, on another thread, after the tensor and the program are dropped.
#[on_all_backends]
fn a_tensor_is_given_away_without_a_copy(
    backend: TestBackend,
    #[values(false, true)] versioned: bool,
) -> Result<()> {
    let Some(Scene { program, library, world }) = Scene::new(backend)? else { return Ok(()) };
    let numbers: Vec<i32> = (0..24).collect();
    let x = program.tensor_from(&numbers, [2, 3, 4])?;
    let address = x.raw()?.address;
    let row = x.row(1)?;
    let managed = if versioned {
        // SAFETY: just made, and given away once.
        unsafe { ManagedTensor::from_raw(row.to_dlpack()?)? }
    } else {
        // SAFETY: as above.
        unsafe { ManagedTensor::from_raw_unversioned(row.to_dlpack_unversioned()?)? }
    };
    drop(row);
    assert_eq!((managed.shape(), managed.strides()), (&[3, 4][..], Some(&[4, 1][..])));
    assert_eq!(managed.data_type(), DLDataType { code: 0, bits: 32, lanes: 1 });
    assert_eq!((managed.device(), managed.is_read_only()), (device_of(&program), false));
    drop(x);
    // SAFETY: nothing else uses the memory.
    let back: Tensor<i32, 2> = unsafe { program.from_dlpack(managed)? };
    assert_eq!(back.raw()?.address, address.offset(48), "the same memory");
    assert_eq!(back.to_vec()?, numbers[12..]);
    // SAFETY: given away once.
    let managed = unsafe { ManagedTensor::from_raw(back.to_dlpack()?)? };
    drop(back);
    drop((program, library));
    thread::spawn(move || drop(managed)).join().expect("no panic");
    if let Some(world) = world {
        let live = world.live();
        assert_eq!([live.streams, live.events, live.blocks, live.bytes, live.pinned], [0; 5]);
        assert_eq!(world.reports(), []);
    }
    Ok(())
}

#[on_all_backends]
fn every_type_of_number_and_shape_goes_both_ways(backend: TestBackend) -> Result<()> {
    let Some(scene) = Scene::new(backend)? else { return Ok(()) };
    let prog = &scene.program;
    macro_rules! check {
        ($($ty:ty, $code:literal: $values:expr;)*) => {$(
            let values: [$ty; 4] = $values;
            let x = prog.tensor_from(&values, [2, 2])?;
            // SAFETY: given away once, and only read.
            let managed = unsafe { ManagedTensor::from_raw(x.to_dlpack()?)? };
            let bits = 8 * size_of::<$ty>() as u8;
            assert_eq!(managed.data_type(), DLDataType { code: $code, bits, lanes: 1 });
            // SAFETY: as above.
            let back = unsafe { prog.from_dlpack_read_only::<$ty, 2>(managed)? };
            assert_eq!(back.to_vec()?, values);
        )*};
    }
    check! {
        f16, 2: [1.0, -2.0, 0.5, 65504.0].map(f16::from_f32);
        f32, 2: [1.0, -2.0, 0.5, f32::MAX];
        f64, 2: [1.0, -2.0, 0.5, f64::MAX];
        i8, 0: [1, -2, 0, i8::MIN];
        i16, 0: [1, -2, 0, i16::MIN];
        i32, 0: [1, -2, 0, i32::MIN];
        i64, 0: [1, -2, 0, i64::MIN];
        isize, 0: [1, -2, 0, isize::MIN];
        u8, 1: [1, 2, 0, u8::MAX];
        u16, 1: [1, 2, 0, u16::MAX];
        u32, 1: [1, 2, 0, u32::MAX];
        u64, 1: [1, 2, 0, u64::MAX];
        usize, 1: [1, 2, 0, usize::MAX];
        bool, 6: [true, false, false, true];
    }
    // No dimension, and no elements.
    let one = prog.tensor_from(&[7_u32], [])?;
    // SAFETY: as above.
    let back = unsafe { prog.from_dlpack_read_only(ManagedTensor::from_raw(one.to_dlpack()?)?)? };
    assert_eq!(Tensor::<u32, 0>::to_vec(&back)?, [7]);
    let none = prog.zeros::<u32, 2>([0, 3])?;
    // SAFETY: as above.
    let back = unsafe { prog.from_dlpack_read_only(ManagedTensor::from_raw(none.to_dlpack()?)?)? };
    assert_eq!(Tensor::<u32, 2>::shape(&back), [0, 3]);
    // Vectors and matrices have their scalars as the last dimension.
    let values: Vec<_> = (0..6).map(|i| Vector([i as f32, 0.5, -1.0])).collect();
    let places = prog.tensor_from(&values, [2, 3])?;
    // SAFETY: as above.
    let managed = unsafe { ManagedTensor::from_raw(places.to_dlpack()?)? };
    assert_eq!((managed.shape(), managed.strides()), (&[2, 3, 3][..], Some(&[9, 3, 1][..])));
    // SAFETY: as above.
    let back = unsafe { prog.from_dlpack_read_only::<Vector<f32, 3>, 2>(managed)? };
    assert_eq!(back.to_vec()?, values);
    let matrices = prog.zeros::<Matrix<f64, 2, 3>, 1>([5])?;
    // SAFETY: as above.
    let managed = unsafe { ManagedTensor::from_raw(matrices.to_dlpack()?)? };
    assert_eq!((managed.shape(), managed.strides()), (&[5, 6][..], Some(&[6, 1][..])));
    let planes = prog.tensor_with(&values, [6], Layout::StructOfArrays)?;
    // SAFETY: as above.
    let managed = unsafe { ManagedTensor::from_raw(planes.slice(2..5)?.to_dlpack()?)? };
    assert_eq!((managed.shape(), managed.strides()), (&[3, 3][..], Some(&[1, 6][..])));
    // SAFETY: as above.
    let refused = unsafe { prog.from_dlpack_read_only::<Vector<f32, 3>, 1>(managed) };
    assert!(matches!(refused, Err(Error::Dlpack(DlpackProblem::Strides { .. }))), "{refused:?}");
    Ok(())
}

#[on_all_backends]
fn tensors_that_are_not_contiguous_go_both_ways(backend: TestBackend) -> Result<()> {
    let Some(scene) = Scene::new(backend)? else { return Ok(()) };
    let prog = &scene.program;
    let mut x = prog.tensor_from(&(0..24).map(|at| at as f32).collect::<Vec<_>>(), [4, 6])?;
    let column = x.slice_axis(1, 1..3)?.to_dlpack()?;
    // SAFETY: given away once, and nothing else uses the memory until `back` is dropped.
    let managed = unsafe { ManagedTensor::from_raw(column)? };
    assert_eq!((managed.shape(), managed.strides()), (&[4, 2][..], Some(&[6, 1][..])));
    // SAFETY: as above.
    let mut back: Tensor<f32, 2> = unsafe { prog.from_dlpack(managed)? };
    assert_eq!((back.strides(), back.is_contiguous()), ([6, 1], false));
    assert_eq!(back.to_vec()?, [1.0, 2.0, 7.0, 8.0, 13.0, 14.0, 19.0, 20.0]);
    set(-1.0, &mut *back.index_axis_mut(1, 1)?).launch()?;
    back.row_mut(3)?.fill(0.5)?;
    drop(back);
    assert_eq!(x.index_axis(1, 2)?.to_vec()?, [-1.0, -1.0, -1.0, 0.5]);
    assert_eq!(x.index_axis(1, 1)?.to_vec()?, [1.0, 7.0, 13.0, 0.5]);
    assert_eq!(x.index_axis(1, 3)?.to_vec()?, [3.0, 9.0, 15.0, 21.0]);
    let transposed = x.transposed_mut()?.to_dlpack()?;
    // SAFETY: as above.
    let managed = unsafe { ManagedTensor::from_raw(transposed)? };
    assert_eq!((managed.shape(), managed.strides()), (&[6, 4][..], Some(&[1, 6][..])));
    // Every other vector.
    let values: Vec<_> = (0..6).map(|i| Vector([i as f32, 0.5, -1.0])).collect();
    let places = prog.tensor_from(&values, [6])?;
    let places = places.every(0, 2)?.to_dlpack()?;
    // SAFETY: as above.
    let managed = unsafe { ManagedTensor::from_raw(places)? };
    assert_eq!((managed.shape(), managed.strides()), (&[3, 3][..], Some(&[6, 1][..])));
    // SAFETY: as above.
    let back = unsafe { prog.from_dlpack_read_only::<Vector<f32, 3>, 1>(managed)? };
    assert_eq!(back.to_vec()?, [values[0], values[2], values[4]]);
    Ok(())
}

#[on_all_backends]
fn managed_tensors_that_cannot_be_tensors_are_typed_errors(backend: TestBackend) -> Result<()> {
    let Some(scene) = Scene::new(backend)? else { return Ok(()) };
    let (prog, deleted) = (&scene.program, Arc::<AtomicUsize>::default());
    let mut tried = 0;
    let mut refused = |change: &dyn Fn(&mut Produced)| {
        tried += 1;
        let mut produced = Produced::new(&scene, 64, &[4, 4], &deleted);
        change(&mut produced);
        // SAFETY: either an error, or memory that is not used.
        let made = produced.give().and_then(|of| unsafe { prog.from_dlpack::<f32, 2>(of) });
        let problem = match made {
            Ok(made) => {
                drop(made);
                None
            }
            Err(error) => Some(error),
        };
        assert_eq!(deleted.load(Relaxed), tried, "the deleter ran once");
        problem
    };
    let mut problem = |change: &dyn Fn(&mut Produced)| match refused(change) {
        Some(Error::Dlpack(problem)) => Some(problem),
        None => None,
        Some(other) => panic!("{other}"),
    };
    use DlpackProblem::*;
    let expected = device_of(prog);
    assert_eq!(problem(&|_| ()), None);
    let found = DLDevice { device_type: 4, device_id: expected.device_id };
    let told = problem(&|of| of.tensor().device.device_type = 4);
    assert_eq!(told, Some(Device { found, expected, backend: prog.arch() }));
    let found = DLDevice { device_id: expected.device_id + 1, ..expected };
    let told = problem(&|of| of.tensor().device.device_id += 1);
    assert_eq!(told, Some(Device { found, expected, backend: prog.arch() }));
    let text = told.expect("an error").to_string();
    assert!(text.contains(&format!("device {}", expected.device_id + 1)), "{text}");
    for dtype in [
        DLDataType { bits: 64, ..F32 },
        DLDataType { code: 0, ..F32 },
        DLDataType { code: 4, bits: 16, lanes: 1 },
        DLDataType { lanes: 4, ..F32 },
    ] {
        let told = problem(&|of| of.tensor().dtype = dtype);
        assert_eq!(told, Some(DataType { found: dtype, expected: F32 }));
    }
    let told = problem(&|of| {
        of.tensor().ndim = 1;
        of.shape = vec![16];
    });
    assert_eq!(told, Some(Rank { found: 1, expected: 2 }));
    let told = problem(&|of| {
        of.tensor().ndim = 0;
        of.shape.clear();
    });
    assert_eq!(told, Some(Rank { found: 0, expected: 2 }));
    assert_eq!(problem(&|of| of.tensor().ndim = -1), Some(NoShape { ndim: -1 }));
    assert_eq!(problem(&|of| of.shape.clear()), Some(NoShape { ndim: 2 }));
    let told = problem(&|of| of.shape[1] = -4);
    assert_eq!(told, Some(Extent { axis: 1, extent: -4, expected: None }));
    for strides in [[1, 3], [3, 1], [-4, 1], [0, 1], [4, 0]] {
        let told = problem(&|of| of.strides = strides.to_vec());
        let (shape, strides) = (vec![4, 4], strides.to_vec());
        assert_eq!(told, Some(Strides { shape, strides }));
    }
    assert_eq!(problem(&|of| of.strides = vec![4, 1]), None);
    assert_eq!(problem(&|of| of.strides = vec![1, 4]), None, "columns before rows");
    let told = problem(&|of| of.versioned.flags = DLPACK_FLAG_BITMASK_READ_ONLY);
    assert_eq!(told, Some(ReadOnly));
    assert_eq!(problem(&|of| of.versioned.flags = 2), None, "it was copied, which is its matter");
    let told = problem(&|of| of.versioned.version.major = 2);
    assert_eq!(told, Some(Version { major: 2, minor: 7 }));
    assert_eq!(problem(&|of| of.tensor().byte_offset = u64::MAX), Some(Address));
    // What holds for all foreign memory.
    let mut memory = |change: &dyn Fn(&mut Produced)| match refused(change) {
        Some(Error::ForeignMemory { problem, .. }) => Some(problem),
        other => panic!("{other:?}"),
    };
    let told = memory(&|of| of.tensor().byte_offset = 2);
    assert_eq!(told, Some(ForeignMemoryProblem::Misaligned { alignment: 4 }));
    let told = memory(&|of| of.tensor().data = ptr::null_mut::<c_void>());
    assert_eq!(told, Some(ForeignMemoryProblem::Null));
    if backend != TestBackend::Cpu {
        let told = memory(&|of| of.tensor().byte_offset = 16);
        assert_eq!(told, Some(ForeignMemoryProblem::TooSmall { needed: 64, available: 48 }));
    }
    assert!(matches!(refused(&|of| of.shape = vec![i64::MAX; 2]), Some(Error::TooLarge { .. })));
    // SAFETY: null is refused.
    unsafe {
        let told = [
            ManagedTensor::from_raw(ptr::null_mut()).map(drop),
            ManagedTensor::from_raw_unversioned(ptr::null_mut()).map(drop),
        ];
        assert!(told.iter().all(|told| matches!(told, Err(Error::Dlpack(Null)))), "{told:?}");
    }
    // A number of scalars that the elements do not have; structs; host arrays.
    let produced = Produced::new(&scene, 64, &[4, 4], &Arc::default()).give()?;
    // SAFETY: an error.
    let told = unsafe { prog.from_dlpack::<Vector<f32, 3>, 1>(produced) };
    let expected = Extent { axis: 1, extent: 4, expected: Some(3) };
    assert!(matches!(&told, Err(Error::Dlpack(told)) if *told == expected), "{told:?}");
    let structs = prog.zeros::<(f32, u32), 1>([4])?;
    assert!(matches!(structs.to_dlpack(), Err(Error::Dlpack(Struct))));
    let produced = Produced::new(&scene, 64, &[4, 4], &Arc::default()).give()?;
    // SAFETY: an error.
    let told = unsafe { prog.from_dlpack::<(f32, f32), 1>(produced) };
    assert!(matches!(told, Err(Error::Dlpack(Struct))), "{told:?}");
    assert!(matches!(host(&[1.0], [1])?.to_dlpack(), Err(Error::HostArray { .. })));
    Ok(())
}

/// Pinned memory of the driver is memory of all its devices.
#[on_all_backends]
fn pinned_memory_of_others_is_a_tensor(backend: TestBackend) -> Result<()> {
    let Some(scene) = Scene::new(backend)? else { return Ok(()) };
    let (prog, deleted) = (&scene.program, Arc::default());
    let pinned = scene.library.0.alloc_pinned(4 * N)?;
    let mut produced = Produced::new(&scene, 4 * N, &[N as i64], &deleted);
    let device_type = if backend == TestBackend::AmdGpu { 11 } else { 3 };
    produced.tensor().device = DLDevice { device_type, device_id: 0 };
    produced.tensor().data = pinned.cast();
    // SAFETY: nobody else uses the memory, which is freed below, after the tensor.
    let mut x: Tensor<f32, 1> = unsafe { prog.from_dlpack(produced.give()?)? };
    set(6.0, &mut x).launch()?;
    assert_eq!(x.to_vec()?, [6.0; N]);
    prog.device_sync()?;
    drop(x);
    assert_eq!(deleted.load(Relaxed), 1);
    // SAFETY: allocated above, and not used any more.
    unsafe { scene.library.0.free_pinned(pinned)? };
    Ok(())
}

/// A tensor that other code only lets us read has no way to be written, and may be there twice.
#[on_all_backends]
fn read_only_managed_tensors_are_read(backend: TestBackend) -> Result<()> {
    let Some(scene) = Scene::new(backend)? else { return Ok(()) };
    let (prog, deleted) = (&scene.program, Arc::default());
    let mut out = prog.zeros::<f32, 1>([N])?;
    let mut produced = Produced::filled(&scene, 5.0, &deleted);
    produced.versioned.flags = DLPACK_FLAG_BITMASK_READ_ONLY;
    let managed = produced.give()?;
    assert!(managed.is_read_only());
    // SAFETY: the library's work is complete; the memory is only read.
    let x = unsafe { prog.from_dlpack_read_only(managed)? };
    copy(&x, &mut out).launch()?;
    assert_eq!(out.to_vec()?, [5.0; N]);
    prog.device_sync()?;
    drop(x);
    assert_eq!(deleted.load(Relaxed), 1);
    Ok(())
}

/// What a producer's `__dlpack__(stream=…)` does for a consumer: its stream comes after all work on the tensor.
#[on_all_backends]
fn the_consumers_stream_comes_after_the_work_on_the_tensor(
    backend: TestBackend,
    #[values(false, true)] wrapped: bool,
) -> Result<()> {
    let Some(scene) = Scene::new(backend)? else { return Ok(()) };
    let (prog, library) = (&scene.program, &scene.library);
    let [s1, s2] = [(); 2].map(|()| prog.create_stream().expect("a stream"));
    let theirs = library.0.create_stream(Default::default())?;
    // SAFETY: dropped before the library's stream is destroyed below.
    let as_ours = unsafe { quadrants::Stream::from_raw(prog, theirs)? };
    scene.on_seeds(|value| {
        let (mut x, mut y) = (prog.zeros::<f32, 1>([N])?, prog.zeros::<f32, 1>([N])?);
        let out = prog.zeros::<f32, 1>([N])?;
        set(value, &mut x).launch_on(&s1)?;
        order(prog, &s1, &s2)?;
        copy(&x, &mut y).launch_on(&s2)?;
        // SAFETY: given away once.
        let managed = unsafe { ManagedTensor::from_raw(x.to_dlpack()?)? };
        let to = out.raw()?.address;
        if wrapped {
            x.order_before(&as_ours)?;
        } else {
            // SAFETY: a stream of the device.
            unsafe { x.order_before_raw(theirs)? };
        }
        // The consumer reads the memory and then writes it.
        let from = x.raw()?.address;
        // SAFETY: the memory has the bytes, and is kept until the stream is synchronized.
        unsafe {
            library.copy(theirs, to, from, N);
            library.fill(theirs, from, -1.0, N);
            library.0.stream_synchronize(theirs)?;
        }
        drop(managed);
        assert_eq!((out.to_vec()?, y.to_vec()?), (vec![value; N], vec![value; N]));
        Ok(())
    })?;
    drop(as_ours);
    // SAFETY: created above, and not used any more.
    unsafe { library.0.destroy_stream(theirs)? };
    if let Some(world) = &scene.world {
        assert_eq!(world.races(), []);
    }
    Ok(())
}

#[on_all_backends]
fn streams_have_the_numbers_of_the_protocol(backend: TestBackend) -> Result<()> {
    let Some(scene) = Scene::new(backend)? else { return Ok(()) };
    let (prog, stream) = (&scene.program, scene.program.create_stream()?);
    let default = match backend {
        TestBackend::Cpu => {
            assert_eq!((stream.dlpack_number(), prog.dlpack_stream(None)), (None, None));
            return Ok(());
        }
        TestBackend::Cuda => 1,
        TestBackend::AmdGpu => 0,
    };
    assert_eq!(prog.default_stream().dlpack_number(), Some(default));
    assert_eq!(prog.dlpack_stream(Some(default)), Some(StreamHandle::DEFAULT));
    assert_eq!(prog.dlpack_stream(None), Some(StreamHandle::DEFAULT));
    assert_eq!(prog.dlpack_stream(Some(-1)), None);
    let number = stream.dlpack_number();
    assert_eq!(number, Some(stream.handle().raw().cast_signed()));
    assert_eq!(prog.dlpack_stream(number), Some(stream.handle()));
    Ok(())
}
