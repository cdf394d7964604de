//! Host arrays of the crate `ndarray`, files of NumPy, and plain bytes.

use std::{fs, path::PathBuf};

use bytemuck::{Pod, Zeroable};
use ndarray::{Array, Array0, Array1, Array2, Array3, s};
use quadrants::{
    self as qd, Complex, Error, KernelValue, Layout, Matrix, NpyProblem, Result, Tensor, Vector,
    f16, host_array, host_array_mut, ir::ScalarType,
};
use quadrants_tests::{TestBackend, on_all_backends};
use tempfile::TempDir;

#[qd::kernel]
fn double_rows(x: &Tensor<f32, 2>, y: &mut Tensor<f32, 2>) {
    for (i, j) in qd::ndrange(y.shape()) {
        y[[i, j]] = 2.0 * x[[i, j]];
    }
}

#[on_all_backends]
fn arrays_are_arguments_of_kernels(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let prog = &on.program;
    let x = Array2::from_shape_fn((3, 4), |(i, j)| (10 * i + j) as f32);
    let mut y = Array2::<f32>::zeros((3, 4));
    let mut host = host_array_mut(&mut y)?;
    double_rows(&*host_array(&x)?, &mut host).launch_on(prog.default_stream())?;
    drop(host);
    assert_eq!(y, &x * 2.0);
    // Rows of an array are contiguous, columns are not.
    let rows = x.slice(s![1..3, ..]);
    let mut part = y.slice_mut(s![..2, ..]);
    double_rows(&*host_array(&rows)?, &mut *host_array_mut(&mut part)?)
        .launch_on(prog.default_stream())?;
    assert_eq!(y.slice(s![..2, ..]), x.slice(s![1.., ..]).mapv(|of| 2.0 * of));
    let (mut left, mut right) = y.multi_slice_mut((s![.., ..2], s![.., 2..]));
    double_rows(
        &*host_array(&x.slice(s![..;2, 1..;2]))?,
        &mut *host_array_mut(&mut left.slice_mut(s![1.., ..]))?,
    )
    .launch_on(prog.default_stream())?;
    double_rows(&*host_array(&x.t().slice(s![1.., ..2]))?, &mut *host_array_mut(&mut right)?)
        .launch_on(prog.default_stream())?;
    assert_eq!(y.slice(s![1.., ..2]), x.slice(s![..;2, 1..;2]).mapv(|of| 2.0 * of));
    assert_eq!(y.slice(s![.., 2..]), x.t().slice(s![1.., ..2]).mapv(|of| 2.0 * of));
    let row = Array1::from_iter([1.0_f32, 2.0]);
    for refused in [
        host_array(&x.slice(s![..;-1, ..])).map(drop),
        host_array(&row.broadcast((3, 2)).expect("rows")).map(drop),
        host_array_mut(&mut y.slice_mut(s![.., ..;-1])).map(drop),
    ] {
        assert!(matches!(refused, Err(Error::ArrayStrides { .. })), "{refused:?}");
    }
    let Err(Error::ArrayStrides { shape, strides }) = host_array(&x.slice(s![.., ..;-1])) else {
        panic!()
    };
    assert_eq!((shape, strides), (vec![3, 4], vec![4, -1]));
    Ok(())
}

#[on_all_backends]
fn tensors_are_made_of_arrays_and_back(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let prog = &on.program;
    let x = Array3::from_shape_fn((2, 3, 4), |(i, j, k)| (100 * i + 10 * j + k) as u16);
    let mut t = prog.tensor_from_array(&x)?;
    assert_eq!((t.shape(), t.to_array()?), ([2, 3, 4], x.clone()));
    // Any order of axes, gaps, and axes that run backwards.
    let turned = x.view().permuted_axes([2, 0, 1]);
    assert_eq!(prog.tensor_from_array(&turned)?.to_array()?, turned);
    let part = x.slice(s![..;-1, 1.., ..;2]);
    assert_eq!(prog.tensor_from_array(&part)?.to_array()?, part);
    // Without a dimension, and without elements.
    assert_eq!(prog.tensor_from_array(&Array0::from_elem((), 7_i64))?.to_array()?[()], 7);
    let none = Array2::<f64>::zeros((0, 3));
    assert_eq!(prog.tensor_from_array(&none)?.to_array()?, none);
    // Values of several numbers, in both layouts.
    let values = Array1::from_iter((0..5).map(|i| (Vector([i as f32, 0.5]), i as u8)));
    let elements = values.as_slice().expect("contiguous");
    for layout in [Layout::ArrayOfStructs, Layout::StructOfArrays] {
        assert_eq!(prog.tensor_with(elements, [5], layout)?.to_array()?, values);
    }
    // To and from a tensor that is there.
    let mut back = Array::zeros((2, 3, 4));
    t.copy_from(&*host_array(&(&x + 1))?)?;
    host_array_mut(&mut back)?.copy_from(&t)?;
    assert_eq!(back, &x + 1);
    let wrong = t.copy_from(&*host_array(&Array3::zeros((2, 4, 3)))?);
    assert!(matches!(wrong, Err(Error::CopyShape { .. })), "{wrong:?}");
    Ok(())
}

struct Folder(TempDir);

impl Folder {
    fn new() -> Self {
        Self(TempDir::new().expect("a folder"))
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }
}

#[on_all_backends]
fn npy_files_hold_tensors(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let prog = &on.program;
    let (folder, path) = (Folder::new(), "x.npy");
    let path = folder.file(path);
    macro_rules! check {
        ($($ty:ty: $values:expr;)*) => {$(
            let values: [$ty; 6] = $values;
            prog.tensor_from(&values, [3, 2])?.save_npy(&path)?;
            let back = prog.load_npy::<$ty, 2>(&path)?;
            assert_eq!((back.shape(), back.to_vec()?), ([3, 2], values.to_vec()));
        )*};
    }
    check! {
        f16: [0.0, -1.0, 2.5, 1e-3, 65504.0, 3.0].map(f16::from_f32);
        f32: [0.0, -1.0, 2.5, f32::MIN, f32::MAX, f32::INFINITY];
        f64: [0.0, -1.0, 2.5, f64::MIN, f64::MAX, f64::INFINITY];
        i8: [0, -1, 2, i8::MIN, i8::MAX, 5];
        i16: [0, -1, 2, i16::MIN, i16::MAX, 5];
        i32: [0, -1, 2, i32::MIN, i32::MAX, 5];
        i64: [0, -1, 2, i64::MIN, i64::MAX, 5];
        u8: [0, 1, 2, 3, u8::MAX, 5];
        u16: [0, 1, 2, 3, u16::MAX, 5];
        u32: [0, 1, 2, 3, u32::MAX, 5];
        u64: [0, 1, 2, 3, u64::MAX, 5];
        usize: [0, 1, 2, 3, usize::MAX, 5];
        isize: [0, -1, 2, isize::MIN, isize::MAX, 5];
        bool: [true, false, false, true, true, false];
    }
    prog.tensor_from(&[7_u8], [])?.save_npy(&path)?;
    assert_eq!(prog.load_npy::<u8, 0>(&path)?.to_vec()?, [7]);
    prog.zeros::<f32, 3>([2, 0, 5])?.save_npy(&path)?;
    assert_eq!(prog.load_npy::<f32, 3>(&path)?.shape(), [2, 0, 5]);
    // A part of a tensor, and its planes.
    let values: Vec<i32> = (0..12).collect();
    prog.tensor_from(&values, [6, 2])?.slice(1..3)?.save_npy(&path)?;
    assert_eq!(prog.load_npy::<i32, 2>(&path)?.to_vec()?, values[2..6]);
    Ok(())
}

/// A file as NumPy writes it.
fn npy(descr: &str, fortran: bool, shape: &str, data: &[u8]) -> Vec<u8> {
    let order = if fortran { "True" } else { "False" };
    let mut header =
        format!("{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {shape}, }}");
    while (10 + header.len() + 1) % 64 != 0 {
        header.push(' ');
    }
    header.push('\n');
    let len = (header.len() as u16).to_le_bytes();
    [b"\x93NUMPY\x01\x00", &len[..], header.as_bytes(), data].concat()
}

#[on_all_backends]
fn npy_files_of_others_are_read_or_refused(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let prog = &on.program;
    let folder = Folder::new();
    let path = folder.file("theirs.npy");
    let write = |bytes: &[u8]| fs::write(&path, bytes).expect("a file");
    let data: Vec<u8> = [1.0_f32, 4.0, 2.0, 5.0, 3.0, 6.0].map(f32::to_le_bytes).concat();
    write(&npy("<f4", true, "(2, 3)", &data));
    let x = prog.load_npy::<f32, 2>(&path)?;
    assert_eq!((x.shape(), x.to_vec()?), ([2, 3], vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0]));
    let big: Vec<u8> = [1_i32, -2].map(i32::to_be_bytes).concat();
    write(&npy(">i4", false, "(2,)", &big));
    assert_eq!(prog.load_npy::<i32, 1>(&path)?.to_vec()?, [1, -2]);

    let refused = |bytes: &[u8]| {
        write(bytes);
        match prog.load_npy::<f32, 2>(&path) {
            Err(Error::Npy { path: named, problem }) if named == path => problem,
            other => panic!("{other:?}"),
        }
    };
    let whole = npy("<f4", false, "(2, 3)", &data);
    let told = refused(&npy("<f8", false, "(1, 3)", &data));
    assert!(
        matches!(&told, NpyProblem::DataType { found, expected: ScalarType::F32 } if found == "<f8")
    );
    let told = refused(&npy("<f4", false, "(6,)", &data));
    assert!(matches!(told, NpyProblem::Rank { found: 1, expected: 2 }), "{told:?}");
    // A header may claim more than there is, or more than any memory has.
    for shape in ["(200, 3)", "(4294967296, 4294967296)", "(1152921504606846976, 4)"] {
        let told = refused(&npy("<f4", false, shape, &data));
        assert!(matches!(told, NpyProblem::Truncated { .. }), "{told:?}");
    }
    for end in [0, 3, 9, 40, whole.len() - 1] {
        let told = refused(&whole[..end]);
        assert!(
            matches!(
                told,
                NpyProblem::Io(_) | NpyProblem::Format { .. } | NpyProblem::Truncated { .. }
            ),
            "{told:?}"
        );
    }
    assert!(matches!(refused(b"no header at all"), NpyProblem::Format { .. }));
    // Any byte of the header may be wrong: then it is refused, or the file means something else.
    for at in 0..whole.len() - data.len() {
        for bits in [0x01, 0x10, 0x80, 0xff] {
            let mut damaged = whole.clone();
            damaged[at] ^= bits;
            write(&damaged);
            let _ = prog.load_npy::<f32, 2>(&path);
        }
    }
    let nowhere = folder.file("nowhere").join("x.npy");
    let told = [
        prog.load_npy::<f32, 2>(&nowhere).map(drop),
        prog.zeros::<f32, 2>([2, 2])?.save_npy(&nowhere),
    ];
    for told in told {
        assert!(matches!(told, Err(Error::Npy { problem: NpyProblem::Io(_), .. })), "{told:?}");
    }
    Ok(())
}

/// A vertex as graphics code has it.
#[derive(Clone, Copy, Debug, PartialEq, KernelValue, Pod, Zeroable)]
#[repr(C)]
struct Vertex {
    position: Vector<f32, 3>,
    turn: Matrix<f32, 2, 2>,
    phase: Complex<f32>,
    id: u32,
}

#[qd::kernel]
fn lift(vertices: &mut Tensor<Vertex, 1>) {
    for i in 0..vertices.len() {
        vertices[i].position[2] += 1.0;
        vertices[i].id = i as u32;
    }
}

/// Bytes of a file or of another library are host structs, and the other way round, without a copy.
#[on_all_backends]
fn host_structs_are_plain_bytes(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let prog = &on.program;
    let numbers: Vec<f32> = (0..30).map(|i| i as f32).collect();
    let vertices: &[Vertex] = bytemuck::cast_slice(&numbers);
    assert_eq!((vertices.len(), vertices[1].position), (3, Vector([10.0, 11.0, 12.0])));
    assert_eq!((vertices[0].turn[[1, 0]], vertices[0].phase.im), (5.0, 8.0));
    for layout in [Layout::ArrayOfStructs, Layout::StructOfArrays] {
        let mut t = prog.tensor_with(vertices, [3], layout)?;
        lift(&mut t).launch()?;
        let back = t.to_vec()?;
        let back: &[f32] = bytemuck::cast_slice(&back);
        let mut expected = numbers.clone();
        for (i, vertex) in expected.chunks_mut(10).enumerate() {
            vertex[2] += 1.0;
            vertex[9] = f32::from_bits(i as u32);
        }
        assert_eq!(back, expected);
        // In device memory, an array of structs has the bytes of the host.
        if layout == Layout::ArrayOfStructs {
            assert_eq!(t.raw()?.bytes, size_of_val(vertices));
            assert_eq!(t.raw()?.components()[0].element_stride, size_of::<Vertex>());
        }
    }
    Ok(())
}
