//! Tensors of structs, tuples, arrays, vectors and matrices, in both layouts, match plain Rust.

use quadrants::{self as qd, Error, KernelErrorCause, KernelValue, Layout, Matrix, Tensor, Vector};
use quadrants_tests::{TestBackend, on_all_backends};

use super::{Array, Same, differential, source};

const LAYOUTS: [Layout; 2] = [Layout::ArrayOfStructs, Layout::StructOfArrays];

/// Scalars of all sizes, at all depths.
#[derive(Clone, Copy, Debug, PartialEq, KernelValue)]
struct Body {
    place: Vector<f32, 3>,
    mass: f64,
    kind: (u8, bool),
    history: [i16; 4],
    turn: Matrix<f32, 2, 2>,
    hits: u32,
}

/// A struct of any type.
#[derive(Clone, Copy, Debug, PartialEq, KernelValue)]
struct Pair<T>(T, i32);

macro_rules! exact {
    ($($ty:ty)*) => {$(
        impl Same for $ty {
            fn same(&self, other: &Self, _: f64) -> bool {
                self == other
            }
        }
    )*};
}

exact!(Body [Pair<[u16; 3]>; 2] Vector<f32, 3> Matrix<f64, 2, 3> (i64, bool) [i32; 4]);

#[qd::func]
impl Body {
    fn age(&mut self, by: i16) -> i16 {
        let old = self.history[0];
        self.history[0] += by;
        self.kind.1 = !self.kind.1;
        old
    }

    fn weight(&self) -> f64 {
        self.mass * 9.5
    }
}

#[qd::func]
fn fall(bodies: &mut Tensor<Body, 1>, at: usize, by: f32) -> f32 {
    bodies[at].place[1] -= by;
    bodies[at].place[1]
}

fn body(at: usize) -> Body {
    let x = at as f32;
    Body {
        place: Vector([x, x * 0.5, -x]),
        mass: x as f64 + 0.25,
        kind: (at as u8, at.is_multiple_of(3)),
        history: [at as i16, -1, 2, 100],
        turn: Matrix([[1.0, x], [2.0, 0.5]]),
        hits: 7,
    }
}

source! { parts;
    fn run(by: f32, bodies: &mut Tensor<Body, 1>) {
        for i in 0..bodies.len() {
            let before = bodies[i];
            bodies[i].place[0] += by;
            bodies[i].place[(i + 1) % 3] *= 2.0;
            bodies[i].place += Vector([0.5, before.place[2], by]);
            bodies[i].kind.0 = before.kind.0 * 2 + 1;
            bodies[i].mass = bodies[i].weight() - bodies[i].place.norm_squared() as f64;
            for k in 0..4 {
                bodies[i].history[k] -= k as i16;
            }
            let old = bodies[i].age(3);
            bodies[i].history[1] = old;
            bodies[i].turn = bodies[i].turn * Matrix([[by, 0.0], [1.0, 2.0]]);
            bodies[i].turn[[1, i % 2]] -= 1.0;
            if bodies[i].kind.1 && before.mass < 4.0 {
                let mut again = before;
                again.hits += bodies[i].hits;
                bodies[i] = again;
            }
        }
    }
}

source! { between;
    fn run(from: &Tensor<Body, 1>, to: &mut Tensor<[Pair<[u16; 3]>; 2], 1>, sums: &mut Tensor<(i64, bool), 1>) {
        for i in 0..to.len() {
            let Body { kind: (kind, odd), hits, .. } = from[i];
            for k in 0..2 {
                for j in 0..3 {
                    to[i][k].0[j] = kind as u16 * 10 + (k * 3 + j) as u16;
                }
                to[i][k].1 += hits as i32 * k as i32;
            }
            sums[i] = ((from[i].history[2] - to[i][1].0[2] as i16) as i64, odd);
        }
    }
}

source! { planes;
    fn run(scale: &Tensor<[i32; 4], 0>, flow: &mut Tensor<Vector<f32, 3>, 2>, bend: &mut Tensor<Matrix<f64, 2, 3>, 3>) {
        for (i, j) in qd::ndrange(flow.shape()) {
            flow[[i, j]] = flow[[i, j]] * 2.0 + Vector::splat(scale[[]][j % 4] as f32);
            flow[[i, j]][i % 3] += 1.0;
            for k in 0..bend.shape()[2] {
                bend[[i, j, k]][[1, k % 3]] = (i * 100 + j * 10 + k) as f64;
                bend[[i, j, k]] /= 2.0;
            }
        }
    }
}

source! { high;
    fn run(
        x: &Tensor<Pair<[u16; 3]>, 4>,
        y: &mut Tensor<(i64, bool), 5>,
        z: &mut Tensor<[i32; 4], 6>,
    ) {
        let [a, b, c, d] = x.shape();
        for (i, j, k) in qd::ndrange([a, b, c]) {
            for l in 0..d {
                let Pair(parts, number) = x[[i, j, k, l]];
                y[[i, j, k, l, 1]].0 -= number as i64 * 1_000_000_007;
                y[[i, j, k, l, 0]] = (parts[l % 3] as i64, number % 2 == 0);
                y[[i, j, k, l, l % 2]].1 = x[[a - 1 - i, j, k, l]].1 > 100;
                z[[i, 1, j, k, 0, l]] = [number, parts[0] as i32, z.shape()[5] as i32, 7];
                z[[i, 0, j, k, 0, l]][l % 4] += number;
            }
        }
    }
}

source! { counted;
    fn run(x: &Tensor<i32, 1>, total: &mut Tensor<(i64, bool), 0>, most: &mut Tensor<[i32; 4], 1>) -> i64 {
        total[[]].0 = 5;
        for i in 0..x.len() {
            qd::atomic_add(&mut total[[]].0, x[i] as i64);
            qd::atomic_max(&mut most[i % 2][3], x[i]);
            qd::atomic_add(&mut most[0][i % 3], 1);
        }
        total[[]].1 = total[[]].0 > 10;
        total[[]].0 * 2
    }
}

#[qd::kernel]
fn calls(bodies: &mut Tensor<Body, 1>, out: &mut Tensor<f32, 1>) {
    out[0] = fall(bodies, 2, 1.5);
}

/// Different fields of the same element: nothing races.
#[qd::kernel]
fn beside(bodies: &mut Tensor<Body, 1>) {
    qd::stream_parallel(|| {
        for i in 0..bodies.len() {
            bodies[i].mass = bodies[bodies.len() - 1 - i].place[0] as f64;
        }
    });
    qd::stream_parallel(|| {
        for i in 0..bodies.len() {
            bodies[i].kind.0 += 1;
            qd::atomic_add(&mut bodies[0].hits, 1);
        }
    });
}

/// The numbers that a counter gives are different elements.
#[qd::kernel]
fn appended(x: &Tensor<i32, 1>, count: &mut Tensor<(u32, u32), 0>, out: &mut Tensor<(i32, u8), 1>) {
    for i in 0..x.len() {
        if x[i] > 0 {
            let at = qd::atomic_add(&mut count[[]].1, 1);
            out[at as usize].0 = x[i];
        }
    }
}

#[qd::kernel]
fn beyond(at: usize, choice: usize, bodies: &mut Tensor<Body, 2>) {
    for i in 0..1 {
        bodies[[at, i]].history[choice] = bodies[[0, i]].history[choice] + 1;
    }
}

#[on_all_backends]
fn fields_and_components_of_elements_are_read_and_written(backend: TestBackend) -> qd::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let all: Vec<Body> = (0..67).map(body).collect();
    for layout in LAYOUTS {
        let bodies = Array::of(&all).laid(layout);
        differential!(&on.program, parts[0.5][][bodies]);
        let from = Array::of(&all).laid(layout);
        let to = Array::of(&[[Pair([1, 2, 3], 4), Pair([0; 3], -1)]; 67]).laid(layout);
        let sums = Array::of(&[(1i64, true); 67]).laid(layout);
        differential!(&on.program, between [] [from] [to, sums]);
    }
    Ok(())
}

#[on_all_backends]
fn tensors_of_aggregates_have_any_rank(backend: TestBackend) -> qd::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    for layout in LAYOUTS {
        let scale = Array::new(&[[3, 1, 4, 1]], []).laid(layout);
        let flow = Array::new(&[Vector([1.0f32, 2.0, -0.5]); 15], [3, 5]).laid(layout);
        let bend = Array::new(&[Matrix([[1.0; 3]; 2]); 60], [3, 5, 4]).laid(layout);
        differential!(&on.program, planes [] [scale] [flow, bend]);
        let all: Vec<_> = (0..120).map(|at| Pair([at as u16, 2, 60_000], at * 3)).collect();
        let x = Array::new(&all, [2, 3, 4, 5]).laid(layout);
        let y = Array::new(&[(3i64, false); 240], [2, 3, 4, 5, 2]).laid(layout);
        let z = Array::new(&[[1, -2, 3, -4]; 480], [2, 2, 3, 4, 2, 5]).laid(layout);
        differential!(&on.program, high [] [x] [y, z]);
        let x = Array::of(&[1, -2, 30, 4, 5]);
        let total = Array::new(&[(0i64, false)], []).laid(layout);
        let most = Array::of(&[[0; 4]; 2]).laid(layout);
        differential!(&on.program, counted [] [x] [total, most]);
    }
    Ok(())
}

#[on_all_backends]
fn aggregate_elements_work_in_funcs_blocks_and_counters(backend: TestBackend) -> qd::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let all: Vec<Body> = (0..8).map(body).collect();
    for layout in LAYOUTS {
        let mut bodies = on.program.tensor_with(&all, [8], layout)?;
        let mut out = on.program.zeros([1])?;
        calls(&mut bodies, &mut out).launch()?;
        assert_eq!(
            (out.to_vec()?, bodies.to_vec()?[2].place),
            (vec![-0.5], Vector([2.0, -0.5, -2.0]))
        );
        beside(&mut bodies).launch()?;
        let found = bodies.to_vec()?;
        assert_eq!((found[0].hits, found[1].hits, found[5].kind.0), (15, 7, 6));
        assert!((0..8).all(|i| found[i].mass == 7.0 - i as f64));
        let x = on.program.tensor_from(&[1, -2, 30, 4, -5], [5])?;
        let mut count = on.program.zeros_with([], layout)?;
        let mut list = on.program.zeros_with([5], layout)?;
        appended(&x, &mut count, &mut list).launch()?;
        let mut kept = list.to_vec()?;
        kept.sort_unstable();
        assert_eq!(
            (kept, count.to_vec()?),
            (vec![(0, 0), (0, 0), (1, 0), (4, 0), (30, 0)], vec![(0, 3)])
        );
    }
    Ok(())
}

#[on_all_backends]
fn slices_of_tensors_of_structs_are_read_and_written(backend: TestBackend) -> qd::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let all: Vec<Body> = (0..12).map(body).collect();
    for layout in LAYOUTS {
        let mut grid = on.program.tensor_with(&all, [4, 3], layout)?;
        assert_eq!(grid.slice(1..3)?.to_vec()?, all[3..9]);
        assert_eq!(grid.row(3)?.row(1)?.to_vec()?, [all[10]]);
        let (mut low, mut high) = grid.split_at_mut(2)?;
        calls(&mut *low.row_mut(1)?, &mut on.program.zeros([1])?).launch()?;
        high.row_mut(0)?.fill(body(50))?;
        beside(&mut *high.row_mut(1)?).launch()?;
        drop((low, high));
        let found = grid.to_vec()?;
        assert_eq!((&found[..5], found[6], found[8]), (&all[..5], body(50), body(50)));
        assert_eq!(found[5].place, Vector([5.0, 1.0, -5.0]));
        assert_eq!((found[9].hits, found[10].mass), (10, 10.0));
        grid.write(&all)?;
        assert_eq!(grid.to_vec()?, all);
    }
    Ok(())
}

#[on_all_backends]
fn an_out_of_bounds_error_names_the_element_or_the_component(
    backend: TestBackend,
) -> qd::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    for layout in LAYOUTS {
        let all: Vec<Body> = (0..2).map(body).collect();
        let mut bodies = on.program.tensor_with(&all, [2, 1], layout)?;
        beyond(1, 3, &mut bodies).launch()?;
        assert_eq!(bodies.to_vec()?[1].history, [1, -1, 2, 101]);
        let failed = beyond(2, 1, &mut bodies).launch().and_then(|()| on.program.sync());
        let Err(Error::Kernel(error)) = failed else { panic!("{failed:?}") };
        let KernelErrorCause::IndexOutOfRange { tensor, index, shape } = &error.cause else {
            panic!("{error:?}")
        };
        assert_eq!((tensor.as_str(), &index[..], &shape[..]), ("bodies", &[2, 0][..], &[2, 1][..]));
        let error = beyond(1, 4, &mut bodies).launch().and_then(|()| on.program.sync());
        let error = error.unwrap_err().to_string();
        assert!(
            error.contains("index [4] of `bodies[].history` is out of range for its shape [4]"),
            "{error}"
        );
        assert_eq!(bodies.to_vec()?[1].history, [1, -1, 2, 101]);
    }
    Ok(())
}

/// The element to the left.
#[qd::func]
fn left_of(c: [usize; 2]) -> [usize; 2] {
    [c[0], c[1] - 1]
}

/// Arrays that hold all indices of an element.
#[qd::kernel]
fn by_array(x: &qd::Tensor<u32, 2>, o: &mut qd::Tensor<u32, 2>, p: &mut qd::Tensor<[u32; 2], 2>) {
    for (i, j) in qd::ndrange((0..x.shape()[0], 1..x.shape()[1])) {
        let c = [i, j];
        o[c] = x[left_of(c)];
        o[c] += x[c];
        qd::atomic_max(&mut o[c], 7);
        p[c][1] = o[c];
    }
}

#[on_all_backends]
fn an_array_may_hold_all_indices_of_an_element(backend: TestBackend) -> qd::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let x = on.program.tensor_from(&(0..15).collect::<Vec<u32>>(), [3, 5])?;
    let (mut o, mut p) = (on.program.zeros([3, 5])?, on.program.zeros([3, 5])?);
    by_array(&x, &mut o, &mut p).launch()?;
    let at = |k: u32| if k.is_multiple_of(5) { 0 } else { (2 * k - 1).max(7) };
    assert_eq!(o.to_vec()?, (0..15).map(at).collect::<Vec<_>>());
    assert_eq!(p.to_vec()?, (0..15).map(|k| [0, at(k)]).collect::<Vec<_>>());
    Ok(())
}
