//! Slices along any axis: on the host, as kernel arguments, and against plain Rust.

use std::fmt::Debug;

use quadrants::{
    self as qd, Error, KernelValue, Layout, Result, Tensor, Vector, ViewProblem, host, host_mut,
};
use quadrants_samples::generate::Rng;
use quadrants_tests::{TestBackend, on_all_backends};

#[on_all_backends]
fn a_slice_of_an_axis_shares_the_elements(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let data: Vec<i32> = (0..24).collect();
    let mut t = on.program.tensor_from(&data, [2, 3, 4])?;
    let middle = t.slice_axis(1, 1..)?;
    assert_eq!((middle.shape(), middle.strides()), ([2, 2, 4], [12, 4, 1]));
    assert_eq!(middle.to_vec()?, [4, 5, 6, 7, 8, 9, 10, 11, 16, 17, 18, 19, 20, 21, 22, 23]);
    assert_eq!(t.slice_axis(2, ..=0)?.to_vec()?, [0, 4, 8, 12, 16, 20]);
    assert_eq!(t.slice_axis(2, 1..3)?.slice_axis(0, 1..)?.index_axis(1, 2)?.to_vec()?, [21, 22]);
    let column = t.index_axis(2, 1)?;
    assert_eq!((column.shape(), column.strides()), ([2, 3], [12, 4]));
    assert_eq!((column.get([1, 2])?, column.len()), (21, 6));
    assert_eq!(column.row(1)?.to_vec()?, [13, 17, 21]);
    assert_eq!(column.transposed()?.to_vec()?, [1, 13, 5, 17, 9, 21]);
    assert_eq!(t.every(2, 3)?.to_vec()?, [0, 3, 4, 7, 8, 11, 12, 15, 16, 19, 20, 23]);
    assert_eq!(t.every(0, 5)?.to_vec()?, data[..12]);
    assert_eq!(t.permuted_axes([1, 2, 0])?.shape(), [3, 4, 2]);
    assert_eq!(t.permuted_axes([1, 2, 0])?.slice(..1)?.to_vec()?, [0, 12, 1, 13, 2, 14, 3, 15]);
    for contiguous in [t.slice_axis(0, 1..)?, t.slice_axis(1, ..)?, t.every(2, 1)?] {
        assert!(contiguous.is_contiguous() && !column.is_contiguous());
    }
    assert!(t.transposed()?.transposed()?.is_contiguous(), "as before");
    assert!(t.slice_axis(2, 2..2)?.is_contiguous(), "no elements");
    assert!(t.slice_axis(2, 2..2)?.to_vec()?.is_empty());
    assert!(t.slice_axis(2, 4..)?.slice_axis(1, 3..)?.to_vec()?.is_empty());
    t.index_axis_mut(1, 1)?.fill(-1)?;
    t.slice_axis_mut(2, 3..)?.write(&[30, 31, 32, 33, 34, 35])?;
    t.every_mut(2, 3)?.index_axis_mut(2, 0)?.set([1, 2], 9)?;
    let (mut left, mut right) = t.split_axis_at_mut(2, 2)?;
    assert_eq!((left.shape(), right.shape()), ([2, 3, 2], [2, 3, 2]));
    left.row_mut(0)?.row_mut(0)?.fill(5)?;
    right.transposed_mut()?.row_mut(0)?.row_mut(2)?.write(&[6, 7])?;
    let mut out = [0; 12];
    right.read_into(&mut out)?;
    assert_eq!(out, [2, 30, -1, 31, 6, 32, 14, 33, -1, 34, 7, 35]);
    left.copy_from(&right.try_clone()?)?;
    let expected =
        [2, 30, 2, 30, -1, 31, -1, 31, 6, 32, 6, 32, 14, 33, 14, 33, -1, 34, -1, 34, 7, 35, 7, 35];
    drop((left, right));
    assert_eq!(t.to_vec()?, expected);
    Ok(())
}

#[on_all_backends]
fn wrong_axes_are_errors(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let mut t = on.program.zeros::<i32, 2>([4, 2])?;
    let problem = |error: Error| match error {
        Error::View(problem) => problem,
        other => panic!("{other:?}"),
    };
    let shape = || vec![4, 2];
    let no_axis = |axis| ViewProblem::NoAxis { axis, shape: shape() };
    let range = |axis, begin, end| ViewProblem::Range { axis, begin, end, shape: shape() };
    assert_eq!(problem(t.slice_axis(2, ..).unwrap_err()), no_axis(2));
    assert_eq!(problem(t.index_axis(7, 0).unwrap_err()), no_axis(7));
    assert_eq!(problem(t.every(2, 1).unwrap_err()), no_axis(2));
    assert_eq!(problem(t.split_axis_at_mut(2, 0).unwrap_err()), no_axis(2));
    assert_eq!(problem(t.slice_axis(1, 1..3).unwrap_err()), range(1, 1, 3));
    #[allow(clippy::reversed_empty_ranges)] // the subject
    let inverted = t.slice_axis_mut(1, 2..1).unwrap_err();
    assert_eq!(problem(inverted), range(1, 2, 1));
    assert_eq!(problem(t.index_axis_mut(1, 2).unwrap_err()), range(1, 2, 3));
    assert_eq!(problem(t.index_axis(0, usize::MAX).unwrap_err()), range(0, usize::MAX, usize::MAX));
    assert_eq!(problem(t.split_axis_at_mut(0, 5).unwrap_err()), range(0, 5, 4));
    assert_eq!(problem(t.every_mut(1, 0).unwrap_err()), ViewProblem::NoStep { axis: 1 });
    let axes = ViewProblem::Permutation { axes: vec![1, 1], shape: shape() };
    assert_eq!(problem(t.permuted_axes([1, 1]).unwrap_err()), axes);
    // An extent of 0 beside extents whose product overflows.
    let none = on.program.zeros::<i32, 3>([usize::MAX / 2, usize::MAX / 2, 0])?;
    assert!(none.slice_axis(0, 5..)?.to_vec()?.is_empty());
    assert!(none.index_axis(1, usize::MAX / 2 - 1)?.to_vec()?.is_empty());
    let none = on.program.zeros::<i32, 3>([0, usize::MAX / 2, usize::MAX / 2])?;
    assert!(none.index_axis(1, usize::MAX / 2 - 1)?.slice_axis(1, 7..)?.to_vec()?.is_empty());
    assert!(none.every(1, usize::MAX)?.transposed()?.to_vec()?.is_empty());
    Ok(())
}

#[on_all_backends]
fn what_needs_contiguous_elements_refuses_others(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let program = &on.program;
    let mut t = program.tensor_from(&(0..12).collect::<Vec<i32>>(), [3, 4])?;
    let refused = |result: Result<()>| match result {
        Err(Error::View(ViewProblem::NotContiguous { shape, strides, .. })) => (shape, strides),
        other => panic!("{other:?}"),
    };
    let expected = (vec![3, 2], vec![4, 1]);
    let part = t.slice_axis(1, 1..3)?;
    assert_eq!(refused(part.raw().map(drop)), expected);
    assert_eq!(refused(part.flat().map(drop)), expected);
    assert_eq!(refused(part.reshape([2, 3]).map(drop)), expected);
    assert_eq!(refused(qd::distinct(&part).map(drop)), expected);
    // SAFETY: all elements differ.
    assert_eq!(refused(unsafe { qd::Distinct::new_unchecked(&part) }.map(drop)), expected);
    let stream = program.default_stream();
    let called =
        program.foreign("other", stream, qd::reads![&part], qd::writes![], |_| panic!("called"));
    assert_eq!(refused(called), expected);
    let mut pinned = program.pinned::<i32>(6)?;
    assert_eq!(refused(part.read_async(&mut pinned)), expected);
    let mut part = t.slice_axis_mut(1, 1..3)?;
    assert_eq!(refused(part.write_async(&pinned)), expected);
    let called = program
        .foreign("other", stream, qd::reads![], qd::writes![&mut part], |_| panic!("called"));
    assert_eq!(refused(called), expected);
    assert_eq!(refused(part.flat_mut().map(drop)), expected);
    // A copy of it is contiguous.
    assert_eq!(part.try_clone()?.flat()?.to_vec()?, [1, 2, 5, 6, 9, 10]);
    Ok(())
}

#[qd::kernel]
fn twice(x: &Tensor<i32, 3>, out: &mut Tensor<i32, 3>) {
    for (i, j, k) in qd::ndrange(out.shape()) {
        out[[i, j, k]] += 2 * x[[i, j, k]] + (100 * i + 10 * j + k) as i32;
    }
}

#[qd::kernel]
fn gather(index: &Tensor<u32, 1>, x: &Tensor<f64, 2>, out: &mut Tensor<f64, 1>) {
    for i in 0..out.len() {
        out[i] = x[[index[i] as usize, i]];
    }
}

#[qd::kernel]
fn smooth(x: &Tensor<f32, 2>, out: &mut Tensor<f32, 2>) {
    for (i, j) in qd::ndrange((1..x.shape()[0] - 1, 1..x.shape()[1] - 1)) {
        out[[i, j]] = x[[i - 1, j]] + x[[i + 1, j]] + 10.0 * x[[i, j - 1]] + 100.0 * x[[i, j + 1]];
    }
}

#[qd::kernel]
fn sums(x: &Tensor<i64, 2>, rows: &mut Tensor<i64, 1>, total: &mut Tensor<i64, 1>) {
    for i in 0..rows.len() {
        let mut sum = 0;
        for j in 0..x.shape()[1] {
            sum += x[[i, j]];
        }
        rows[i] = sum;
    }
    for (i, j) in qd::ndrange(x.shape()) {
        qd::atomic_add(&mut total[1], x[[i, j]]);
    }
}

#[qd::kernel]
fn histogram(x: &Tensor<u8, 1>, bins: &mut Tensor<u32, 1>, total: &mut Tensor<i32, 1>) {
    for i in 0..x.len() {
        qd::atomic_add(&mut bins[x[i] as usize], 1);
    }
    for i in 0..x.len() {
        qd::atomic_add(&mut total[0], x[i] as i32);
    }
}

/// A view in plain Rust: where its elements are in the whole.
#[derive(Clone, Debug)]
struct Model {
    first: usize,
    shape: Vec<usize>,
    strides: Vec<usize>,
}

impl Model {
    fn of(shape: &[usize]) -> Self {
        let strides = (0..shape.len()).map(|axis| shape[axis + 1..].iter().product()).collect();
        Self { first: 0, shape: shape.to_vec(), strides }
    }

    /// The positions of the elements, in row-major order.
    fn positions(&self) -> Vec<usize> {
        let mut all = vec![self.first];
        for (extent, stride) in self.shape.iter().zip(&self.strides) {
            all = all.iter().flat_map(|at| (0..*extent).map(move |i| at + i * stride)).collect();
        }
        all
    }

    fn elements<T: Copy>(&self, whole: &[T]) -> Vec<T> {
        self.positions().into_iter().map(|at| whole[at]).collect()
    }
}

/// A change of a view that keeps its number of axes.
#[derive(Clone, Copy, Debug)]
enum Change<const N: usize> {
    Range(usize, usize, usize),
    Every(usize, usize),
    Axes([usize; N]),
}

impl<const N: usize> Change<N> {
    fn random(random: &mut Rng, shape: &[usize; N], smallest: usize) -> Self {
        let axis = random.index(N);
        match random.index(3) {
            0 => {
                let begin = random.index(2).min(shape[axis] - smallest);
                let len = smallest + random.index(shape[axis] - begin - smallest + 1);
                Self::Range(axis, begin, begin + len)
            }
            1 if shape[axis] >= 2 * smallest => Self::Every(axis, 1 + random.index(2)),
            _ => {
                let mut axes = std::array::from_fn(|axis| axis);
                axes.swap(axis, random.index(N));
                Self::Axes(axes)
            }
        }
    }

    fn apply(self, model: &Model) -> Model {
        let mut of = model.clone();
        match self {
            Self::Range(axis, begin, end) => {
                of.first += begin * of.strides[axis];
                of.shape[axis] = end - begin;
            }
            Self::Every(axis, step) => {
                of.shape[axis] = of.shape[axis].div_ceil(step);
                of.strides[axis] *= step;
            }
            Self::Axes(axes) => {
                of.shape = axes.iter().map(|axis| model.shape[*axis]).collect();
                of.strides = axes.iter().map(|axis| model.strides[*axis]).collect();
            }
        }
        of
    }
}

/// Calls `body` with random views of a tensor, each of the one before it.
fn with_view<T: KernelValue, const N: usize>(
    changes: &[Change<N>],
    of: &mut Tensor<T, N>,
    body: &mut dyn FnMut(&mut Tensor<T, N>) -> Result<()>,
) -> Result<()> {
    let Some((change, rest)) = changes.split_first() else { return body(of) };
    let mut view = match *change {
        Change::Range(axis, begin, end) => of.slice_axis_mut(axis, begin..end)?,
        Change::Every(axis, step) => of.every_mut(axis, step)?,
        Change::Axes(axes) => of.permuted_axes_mut(axes)?,
    };
    with_view(rest, &mut view, body)
}

/// Random changes of a tensor, and what they select.
fn changes<const N: usize>(
    random: &mut Rng,
    shape: [usize; N],
    smallest: usize,
) -> (Vec<Change<N>>, Model) {
    let (mut model, mut all) = (Model::of(&shape), Vec::new());
    for _ in 0..random.index(4) {
        let shape = std::array::from_fn(|axis| model.shape[axis]);
        let change = Change::random(random, &shape, smallest);
        model = change.apply(&model);
        all.push(change);
    }
    (all, model)
}

fn same<T: PartialEq + Debug>(found: &[T], expected: &[T], what: &dyn Debug) {
    assert_eq!(found, expected, "{what:?}");
}

/// A tensor of this shape with numbers as elements, and these.
fn numbered<T: KernelValue, const N: usize>(
    program: &qd::Program,
    shape: [usize; N],
    layout: Layout,
    of: impl Fn(usize) -> T,
) -> Result<(Tensor<T, N>, Vec<T>)> {
    let elements: Vec<T> = (0..shape.iter().product()).map(of).collect();
    let mut tensor = program.zeros_with(shape, layout)?;
    tensor.write(&elements)?;
    Ok((tensor, elements))
}

const SEEDS: u64 = 100;

#[on_all_backends]
fn random_views_are_read_and_written_as_in_plain_rust(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    for seed in 0..SEEDS {
        let random = &mut Rng::new(seed);
        let shape = [2, 3, 4].map(|least| least + random.index(3));
        let layout = [Layout::ArrayOfStructs, Layout::StructOfArrays][random.index(2)];
        let of = |at: usize| (at as u8, Vector([at as f32, -(at as f32)]), at as i64);
        let (mut t, mut whole) = numbered(&on.program, shape, layout, of)?;
        let (list, model) = changes(random, shape, 0);
        let (positions, count) = (model.positions(), model.positions().len());
        let elements = model.elements(&whole);
        let others: Vec<_> = (0..count).map(|at| of(at + 100)).collect();
        let (other, _) = numbered(&on.program, [count], layout, |at| of(at + 50))?;
        with_view(&list, &mut t, &mut |view| {
            same(&view.shape(), &model.shape, &list);
            same(&view.to_vec()?, &elements, &list);
            let copy = view.try_clone()?;
            assert!(copy.is_contiguous());
            same(&copy.to_vec()?, &elements, &list);
            view.copy_from(&*other.reshape(view.shape())?)?;
            same(&view.to_vec()?, &other.to_vec()?, &list);
            view.write(&others)
        })?;
        positions.iter().zip(&others).for_each(|(at, other)| whole[*at] = *other);
        same(&t.to_vec()?, &whole, &list);
    }
    Ok(())
}

#[on_all_backends]
fn random_views_are_kernel_arguments(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    for seed in 0..SEEDS {
        let random = &mut Rng::new(seed);
        let shape = [3, 4, 5];
        let (mut x, of_x) = numbered(&on.program, shape, Layout::default(), |at| at as i32)?;
        let (of_view, model) = changes(random, shape, 0);
        let extents: [usize; 3] = std::array::from_fn(|axis| model.shape[axis]);
        // The output has room for the view in any order of the axes.
        let (mut out, mut of_out) =
            numbered(&on.program, [10, 10, 10], Layout::default(), |at| 1000 - at as i32)?;
        let mut in_out: Vec<_> =
            (0..3).map(|axis| Change::Every(axis, 1 + random.index(2))).collect();
        in_out.push(Change::Axes([[0, 1, 2], [2, 0, 1], [1, 0, 2]][random.index(3)]));
        in_out.extend((0..3).map(|axis| Change::Range(axis, 0, extents[axis])));
        let out_model =
            in_out.iter().fold(Model::of(&[10; 3]), |model, change| change.apply(&model));
        with_view(&of_view, &mut x, &mut |view| {
            with_view(&in_out, &mut out, &mut |out| twice(view, out).launch())
        })?;
        let index = |n: usize| {
            let (j, k) = (n / extents[2] % extents[1], n % extents[2]);
            100 * (n / extents[2] / extents[1]) + 10 * j + k
        };
        for (n, (to, from)) in out_model.positions().into_iter().zip(model.positions()).enumerate()
        {
            of_out[to] += 2 * of_x[from] + index(n) as i32;
        }
        same(&out.to_vec()?, &of_out, &(&of_view, &in_out));
        same(&x.to_vec()?, &of_x, &"only read");
    }
    Ok(())
}

#[on_all_backends]
fn indices_from_tensors_are_checked_against_the_view(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    for seed in 0..SEEDS {
        let random = &mut Rng::new(seed);
        let (mut x, of_x) = numbered(&on.program, [6, 7], Layout::default(), |at| at as f64)?;
        let (list, model) = changes(random, [6, 7], 2);
        let [rows, columns] = [model.shape[0], model.shape[1]];
        let picks: Vec<u32> = (0..columns).map(|_| random.index(rows) as u32).collect();
        let mut wrong = picks.clone();
        wrong[columns / 2] = rows as u32;
        let mut index = on.program.zeros::<u32, 2>([columns, 3])?;
        let mut out = on.program.zeros::<f64, 2>([2, columns])?;
        let of_view = model.elements(&of_x);
        with_view(&list, &mut x, &mut |view| {
            index.index_axis_mut(1, 2)?.write(&picks)?;
            gather(&*index.index_axis(1, 2)?, view, &mut *out.row_mut(1)?).launch()?;
            let expected: Vec<_> = picks
                .iter()
                .enumerate()
                .map(|(i, row)| of_view[*row as usize * columns + i])
                .collect();
            same(&out.row(1)?.to_vec()?, &expected, &list);
            index.index_axis_mut(1, 2)?.write(&wrong)?;
            let failed = gather(&*index.index_axis(1, 2)?, view, &mut *out.row_mut(1)?).launch();
            let failed = failed.and_then(|()| on.program.sync()).unwrap_err().to_string();
            let message = format!(
                "index [{rows}, {}] of `x` is out of range for its shape [{rows}, {columns}]",
                columns / 2
            );
            assert!(failed.contains(&message), "{failed}");
            Ok(())
        })?;
    }
    Ok(())
}

#[on_all_backends]
fn reductions_and_neighbours_in_views(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    for seed in 0..SEEDS {
        let random = &mut Rng::new(seed);
        let (mut x, of_x) = numbered(&on.program, [30, 40], Layout::default(), |at| at as i64)?;
        let (list, model) = changes(random, [30, 40], 3);
        let [rows, columns] = [model.shape[0], model.shape[1]];
        let mut out = on.program.zeros::<i64, 2>([rows, 2])?;
        let mut total = on.program.zeros::<i64, 2>([2, 3])?;
        with_view(&list, &mut x, &mut |view| {
            let mut rows = out.index_axis_mut(1, 1)?;
            sums(view, &mut rows, &mut *total.index_axis_mut(1, 2)?).launch()
        })?;
        let elements = model.elements(&of_x);
        let expected: Vec<i64> =
            elements.chunks(columns).flat_map(|row| [0, row.iter().sum()]).collect();
        same(&out.to_vec()?, &expected, &list);
        same(&total.to_vec()?, &[0, 0, 0, 0, 0, elements.iter().sum()], &list);

        let (mut x, of_x) = numbered(&on.program, [30, 40], Layout::default(), |at| at as f32)?;
        let mut out = on.program.zeros::<f32, 2>([columns, rows])?;
        with_view(&list, &mut x, &mut |view| smooth(view, &mut *out.transposed_mut()?).launch())?;
        let (x, out) = (model.elements(&of_x), out.transposed()?.to_vec()?);
        for (i, j) in (0..rows).flat_map(|i| (0..columns).map(move |j| (i, j))) {
            let at = |i: usize, j: usize| x[i * columns + j];
            let inside = (1..rows - 1).contains(&i) && (1..columns - 1).contains(&j);
            let expected = match inside {
                true => at(i - 1, j) + at(i + 1, j) + 10.0 * at(i, j - 1) + 100.0 * at(i, j + 1),
                false => 0.0,
            };
            assert_eq!(out[i * columns + j], expected, "[{i}, {j}] {list:?}");
        }
    }
    Ok(())
}

/// Contiguous bytes are read by words, and small histograms are counted in shared memory. Views are not.
#[on_all_backends]
fn views_of_bytes_and_of_histograms(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let of = |at: usize| (at * at / 7) as u8;
    let (x, of_x) = numbered(&on.program, [300, 3], Layout::default(), of)?;
    for (column, bins_column, step) in [(0, 1, 1), (1, 0, 2), (2, 1, 3)] {
        let mut bins = on.program.zeros::<u32, 2>([256, 2])?;
        let mut total = on.program.zeros::<i32, 1>([1])?;
        let bytes = x.index_axis(1, column)?;
        let bytes = bytes.every(0, step)?;
        histogram(&bytes, &mut *bins.index_axis_mut(1, bins_column)?, &mut total).launch()?;
        let picked = || of_x.iter().skip(column).step_by(3 * step);
        let mut expected = vec![0; 512];
        picked().for_each(|byte| expected[2 * usize::from(*byte) + bins_column] += 1);
        same(&bins.to_vec()?, &expected, &column);
        same(&total.to_vec()?, &[picked().map(|byte| i32::from(*byte)).sum()], &column);
    }
    Ok(())
}

#[derive(qd::KernelValue, Clone, Copy, PartialEq, Debug)]
struct Body {
    place: Vector<f32, 2>,
    mass: f64,
    tag: u8,
}

#[qd::kernel]
fn advance(from: &Tensor<Body, 2>, to: &mut Tensor<Body, 2>) {
    for (i, j) in qd::ndrange(from.shape()) {
        let body = from[[i, j]];
        to[[i, j]].place[1] = body.place[0] + 1.0;
        to[[i, j]].mass += body.mass;
        to[[i, j]].tag = body.tag;
    }
}

#[on_all_backends]
fn views_of_structs(
    backend: TestBackend,
    #[values(Layout::ArrayOfStructs, Layout::StructOfArrays)] layout: Layout,
) -> Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let of = |at: usize| Body { place: Vector([at as f32, 0.5]), mass: at as f64, tag: at as u8 };
    let (from, of_from) = numbered(&on.program, [4, 5], layout, of)?;
    let (mut to, mut of_to) = numbered(&on.program, [9, 6], layout, |at| of(at + 100))?;
    {
        let mut part = to.slice_axis_mut(0, 1..9)?;
        let mut part = part.every_mut(0, 2)?;
        let mut part = part.slice_axis_mut(1, 2..5)?;
        advance(&*from.slice_axis(1, 1..4)?, &mut part).launch()?;
    }
    for (i, j) in (0..4).flat_map(|i| (0..3).map(move |j| (i, j))) {
        let (from, to) = (of_from[i * 5 + j + 1], &mut of_to[(2 * i + 1) * 6 + j + 2]);
        to.place.0[1] = from.place.0[0] + 1.0;
        to.mass += from.mass;
        to.tag = from.tag;
    }
    same(&to.to_vec()?, &of_to, &layout);
    Ok(())
}

#[qd::kernel]
fn in_two_blocks(a: &mut Tensor<i32, 1>, b: &mut Tensor<i32, 1>) {
    qd::stream_parallel(|| {
        for i in 0..a.len() {
            a[i] += 1;
        }
    });
    qd::stream_parallel(|| {
        for i in 0..b.len() {
            b[i] *= 2;
        }
    });
}

#[on_all_backends]
fn regions_take_views(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let (mut t, mut of_t) = numbered(&on.program, [50, 4], Layout::default(), |at| at as i32)?;
    // Repeated regions become graphs.
    for _ in 0..8 {
        let (mut left, mut right) = t.split_axis_at_mut(1, 2)?;
        let (mut a, mut b) = (left.index_axis_mut(1, 1)?, right.index_axis_mut(1, 1)?);
        in_two_blocks(&mut a, &mut b).launch()?;
        for row in of_t.chunks_mut(4) {
            row[1] += 1;
            row[3] *= 2;
        }
    }
    same(&t.to_vec()?, &of_t, &());
    // Disjoint columns in two blocks of a host-side region.
    {
        let (mut left, mut right) = t.split_axis_at_mut(1, 2)?;
        on.program.stream_parallel(|region| {
            region.block(|| number(&mut *left.index_axis_mut(1, 0)?).launch())?;
            region.block(|| number(&mut *right.index_axis_mut(1, 0)?).launch())
        })?;
    }
    for (i, row) in of_t.chunks_mut(4).enumerate() {
        (row[0], row[2]) = (i as i32, i as i32);
    }
    same(&t.to_vec()?, &of_t, &());
    Ok(())
}

#[qd::kernel]
fn number(out: &mut Tensor<i32, 1>) {
    for i in 0..out.len() {
        out[i] = i as i32;
    }
}

#[qd::kernel]
fn last(x: &Tensor<i32, 1>) -> i32 {
    x[x.len() - 1]
}

#[on_all_backends]
fn host_arrays_have_views(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let mut all: Vec<i32> = (0..12).collect();
    let whole = host(&all, [3, 4])?;
    assert_eq!(whole.slice_axis(1, 1..3)?.to_vec()?, [1, 2, 5, 6, 9, 10]);
    assert_eq!(whole.transposed()?.row(1)?.to_vec()?, [1, 5, 9]);
    let on_device = on.program.zeros::<i32, 2>([3, 2])?;
    on.program.default_stream().scope(|| {
        assert_eq!(last(&*host(&all, [3, 4])?.index_axis(1, 2)?).launch()?, 10);
        let mut array = host_mut(&mut all, [3, 4])?;
        number(&mut *array.index_axis_mut(1, 3)?).launch()?;
        array.index_axis_mut(1, 0)?.fill(-1)?;
        array.slice_axis_mut(1, 1..2)?.copy_from(&*on_device.slice_axis(1, 1..)?)
    })?;
    assert_eq!(all, [-1, 0, 2, 0, -1, 0, 6, 1, -1, 0, 10, 2]);
    Ok(())
}
