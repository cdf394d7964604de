//! Tuples, arrays, structs, vectors and matrices match plain Rust on every backend.

use quadrants::{self as qd, KernelValue, Matrix, Vector};
use quadrants_tests::{TestBackend, on_all_backends};

use super::{Array, Same, differential, source};

/// What a particle has.
#[derive(Clone, Copy, Debug, PartialEq, KernelValue)]
struct Particle {
    place: Vector<f32, 3>,
    mass: f32,
    kind: (u32, bool),
    history: [i32; 4],
}

/// A struct without names, of any number.
#[derive(Clone, Copy, Debug, PartialEq, KernelValue)]
struct Pair<T>(T, T);

#[qd::func]
fn swapped(pair: Pair<i32>) -> Pair<i32> {
    Pair(pair.1, pair.0)
}

#[qd::func]
fn parts(x: i32) -> (i32, [i32; 2]) {
    if x < 0 {
        return (-x, [0; 2]);
    }
    (x, [x % 3, x / 3])
}

#[qd::func]
fn moved(mut particle: Particle, by: Vector<f32, 3>) -> Particle {
    particle.place += by * particle.mass;
    particle.history[particle.kind.0 as usize % 4] += 1;
    let Particle { place, mass, history, .. } = particle;
    Particle { kind: (particle.kind.0 + 1, by[0] > 0.0), place, history, mass }
}

source! { tuples;
    fn run(x: &Tensor<i32, 1>, out: &mut Tensor<i32, 2>) {
        for i in 0..x.len() {
            let pair = (x[i], x[i] as f32 * 0.5);
            let (a, mut b) = pair;
            b += 1.0;
            let (n, [rest, third]) = parts(a);
            let nested = ((n, rest), third);
            let ((p, _), q) = nested;
            out[[i, 0]] = pair.0 + b as i32;
            out[[i, 1]] = nested.0.1 * 100 + nested.1;
            out[[i, 2]] = p - q;
            let chosen = if a > 3 { (a, 1) } else { (2, a * 2) };
            out[[i, 3]] = chosen.0 * chosen.1;
            let mut ends = (a, a);
            for k in 0..4 {
                if k % 2 == 0 {
                    ends.0 = ends.1 + k;
                } else {
                    ends = (ends.1, ends.0 * 2);
                }
            }
            out[[i, 4]] = ends.0 * 7 + ends.1;
            out[[i, 5]] = (ends == (0, 4)) as i32;
            let Pair(first, second) = swapped(Pair(a, n));
            out[[i, 6]] = first * 5 - second;
        }
    }
}

source! { arrays;
    fn run(x: &Tensor<i32, 1>, out: &mut Tensor<i32, 2>) {
        for i in 0..x.len() {
            let mut table = [0; 5];
            for k in 0..5 {
                table[k] = x[i] * k as i32;
            }
            table[(x[i] & 3) as usize] += 1000;
            let mut grid = [[1, 2, 3], [4, 5, 6]];
            for r in 0..2 {
                for c in 0..3 {
                    grid[r][c] *= table[r + c];
                }
            }
            grid[1] = [7, grid[0][1], table[4]];
            let [first, _, last] = [grid[0][0], grid[0][1], grid[1][2]];
            let mut sum = 0;
            for k in 0..table.len() {
                sum += table[k];
            }
            let copy = table;
            table[0] = -1;
            out[[i, 0]] = sum;
            out[[i, 1]] = first + last;
            out[[i, 2]] = grid[0][2] + grid[1][1];
            out[[i, 3]] = copy[0] + table[0];
            out[[i, 4]] = [x[i], 5, 6][(x[i] & 1) as usize];
        }
    }
}

const WEIGHTS: [f32; 3] = [0.25, 0.5, 2.0];
const ORIGIN: Vector<f32, 2> = Vector([3.0, 4.0]);
const RULES: ([[i32; 2]; 2], bool) = ([[1, 2], [3, 4]], true);

source! { constants;
    fn run(x: &Tensor<f32, 1>, out: &mut Tensor<f32, 1>) {
        const FACTORS: [f32; 2] = [0.5, 0.125];
        for i in 0..x.len() {
            const STEPS: [[i32; 2]; 2] = [[1, -2], [3, 4]];
            const PAIR: (f32, u32) = (2.0, 7);
            let mut sum = ORIGIN.dot(Vector([x[i], 1.0]));
            for k in 0..WEIGHTS.len() {
                sum += WEIGHTS[k] * x[i];
            }
            sum += FACTORS[i % 2] * STEPS[1][i % 2] as f32 + PAIR.0 + PAIR.1 as f32;
            if RULES.1 {
                sum += (RULES.0[i % 2][1] * 10) as f32 + WEIGHTS[2];
            }
            out[i] = sum;
        }
    }
}

source! { structs;
    fn run(start: Particle, x: &Tensor<f32, 1>, out: &mut Tensor<f32, 2>) {
        for i in 0..x.len() {
            let by = Vector([x[i], 1.0, -2.0]);
            let mut particle = start;
            for _ in 0..3 {
                particle = moved(particle, by);
            }
            particle.place[1] = particle.place[1] * 2.0;
            let Particle { place, kind: (kind, right), .. } = particle;
            out[[i, 0]] = place[0];
            out[[i, 1]] = place.sum();
            out[[i, 2]] = kind as f32 + if right { 0.5 } else { 0.0 };
            out[[i, 3]] = (particle.history[1] * 10 + particle.history[2]) as f32;
        }
    }
}

source! { vectors;
    fn run(x: &Tensor<f32, 1>, out: &mut Tensor<f32, 2>) {
        for i in 0..x.len() {
            let a = Vector([x[i], 2.0, -1.0]);
            let b = qd::Vector::splat(0.5) + a * 2.0;
            let mut c = a - b;
            c += 3.0 * a;
            c -= b / 4.0;
            c *= 2.0;
            c[(i % 3) as usize] = 9.0;
            let e = -c.cross(a);
            out[[i, 0]] = a.dot(b);
            out[[i, 1]] = c.norm_squared();
            out[[i, 2]] = e[0];
            out[[i, 3]] = e[1] + e[2];
            out[[i, 4]] = (a == b) as i32 as f32;
            out[[i, 5]] = a.component_mul(c).sum();
            let z: Vector<f32, 2> = Vector::zero();
            out[[i, 6]] = z[0] + z[1];
        }
    }
}

source! { lengths;
    fn run(x: &Tensor<f32, 1>, out: &mut Tensor<f32, 2>) {
        for i in 0..x.len() {
            let a = Vector([x[i], 2.0, -1.0]);
            let n = a.normalized();
            out[[i, 0]] = a.norm();
            out[[i, 1]] = n[0];
            out[[i, 2]] = n.norm();
            let m = Matrix([[x[i], 2.0, 0.5], [1.0, 3.0, 1.0], [0.25, 0.0, 2.0]]);
            let back = m.inverse() * m;
            for r in 0..3 {
                for c in 0..3 {
                    out[[i, 3 + 3 * r + c]] = back[[r, c]] + 10.0;
                }
            }
        }
    }
}

source! { matrices;
    fn run(x: &Tensor<f32, 1>, out: &mut Tensor<f32, 2>) {
        for i in 0..x.len() {
            let m = Matrix([[x[i], 2.0], [3.0, -1.0]]);
            let wide = Matrix([[1.0, 2.0, 3.0], [4.0, 5.0, x[i]]]);
            let v = m * Vector([1.0, 2.0]);
            let p = m * wide;
            let t = wide.transpose();
            let one: Matrix<f32, 3, 3> = Matrix::identity();
            let four = Matrix([
                [2.0, 0.0, 1.0, x[i]],
                [1.0, 3.0, 0.0, 1.0],
                [0.0, 1.0, 1.0, 2.0],
                [4.0, 0.0, 2.0, 1.0],
            ]);
            let mut s = m + Matrix::diagonal(2.0) - m * 0.5;
            s[[0, 1]] += 4.0;
            s /= 2.0;
            out[[i, 0]] = v[0] * 10.0 + v[1];
            out[[i, 1]] = p[[0, 2]] + p[[1, 0]];
            out[[i, 2]] = t[[2, 1]] - t[[0, 0]];
            out[[i, 3]] = (one + one).trace();
            out[[i, 4]] = four.determinant();
            out[[i, 5]] = m.determinant();
            out[[i, 6]] = (-s)[[0, 1]] + s.trace();
            out[[i, 7]] = (2.0 * t)[[1, 1]];
        }
    }
}

#[on_all_backends]
fn aggregates_of_integers(backend: TestBackend) -> quadrants::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let x = Array::of(&[0, 1, 2, 3, 4, 5, -6, 77]);
    let out = Array::zeros([x.len(), 7]);
    differential!(&on.program, tuples [] [x] [out]);
    let out = Array::zeros([x.len(), 5]);
    differential!(&on.program, arrays [] [x] [out]);
    Ok(())
}

#[on_all_backends]
fn aggregates_of_floats(backend: TestBackend) -> quadrants::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    // Small integers and halves: exact, contracted or not.
    let x = Array::of(&[0.0, 1.0, 2.0, -3.0, 4.0, 8.0]);
    let start = Particle {
        place: Vector([1.0, 2.0, 3.0]),
        mass: 0.5,
        kind: (1, false),
        history: [0, 1, 2, 3],
    };
    let out = Array::zeros([x.len()]);
    differential!(&on.program, constants [] [x] [out]);
    let out = Array::zeros([x.len(), 4]);
    differential!(&on.program, structs[start][x][out]);
    let out = Array::zeros([x.len(), 7]);
    differential!(&on.program, vectors [] [x] [out]);
    let out = Array::zeros([x.len(), 8]);
    differential!(&on.program, matrices [] [x] [out]);
    let out = Array::zeros([x.len(), 12]);
    differential!(&on.program, lengths [] [x] [out] within 1e-5);
    Ok(())
}

/// An out-of-bounds index of a local array is an error that ends the chunk of the loop.
#[on_all_backends]
fn an_out_of_bounds_component_index_is_reported(backend: TestBackend) -> quadrants::Result<()> {
    use quadrants::Tensor;

    #[qd::kernel]
    fn beyond(at: usize, out: &mut Tensor<i32, 1>) {
        for i in 0..out.len() {
            let table = [4, 5, 6];
            out[i] = table[at];
        }
    }

    let Some(on) = backend.open() else { return Ok(()) };
    let mut out = on.program.zeros([2])?;
    beyond(2, &mut out).launch()?;
    assert_eq!(out.to_vec()?, [6, 6]);
    let error = beyond(3, &mut out).launch().and_then(|()| on.program.sync()).unwrap_err();
    assert!(
        error.to_string().contains("index [3] of `table` is out of range for its shape [3]"),
        "{error}"
    );
    Ok(())
}

/// Counts, and says how often.
#[derive(Clone, Copy, Debug, PartialEq, KernelValue)]
struct Counter {
    sum: i32,
    calls: [i32; 2],
}

#[qd::func]
impl Counter {
    fn from_sum(sum: i32) -> Self {
        Self { sum, calls: [0; 2] }
    }

    fn add(&mut self, value: i32) -> i32 {
        self.note(0);
        let old = self.sum;
        self.sum += value;
        old
    }

    fn note(&mut self, which: usize) {
        self.calls[which] += 1;
    }

    fn halved(mut self) -> Self {
        self.sum /= 2;
        self
    }

    fn score(&self, weight: i32) -> i32 {
        if self.calls[0] == 0 {
            return -1;
        }
        self.sum * weight + self.calls[0] * 10 + self.calls[1]
    }
}

source! { methods;
    fn run(x: &Tensor<i32, 1>, out: &mut Tensor<i32, 2>) {
        for i in 0..x.len() {
            let mut one = Counter::from_sum(x[i]);
            let mut two = (one, 7);
            let before = one.score(1);
            let mut olds = 0;
            for k in 0..3 {
                olds = olds * 10 + one.add(k);
            }
            two.0.add(one.sum);
            two.0.note(1);
            let mut many = [one.halved(), two.0];
            many[(i + 1) % 2].add(5);
            out[[i, 0]] = before + olds;
            out[[i, 1]] = one.score(2) + one.halved().score(3);
            out[[i, 2]] = two.0.score(1);
            out[[i, 3]] = many[0].sum - many[1].sum + many[0].calls[0];
        }
    }
}

#[on_all_backends]
fn methods_of_structs(backend: TestBackend) -> quadrants::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let x = Array::of(&[0, 3, -8, 100]);
    let out = Array::zeros([x.len(), 4]);
    differential!(&on.program, methods [] [x] [out]);
    Ok(())
}

/// A matrix and arrays of vectors inside a struct.
#[derive(Clone, Copy, Debug, PartialEq, KernelValue)]
struct Parts {
    square: Matrix<f32, 2, 2>,
    pairs: [Vector<i32, 2>; 2],
    nested: [[(u8, i64); 2]; 2],
}

source! { numbers_inside;
    fn run(
        tables: ([Matrix<i32, 1, 2>; 2], Matrix<f32, 2, 3>),
        x: &Tensor<f32, 1>,
        out: &mut Tensor<i32, 2>,
    ) {
        for i in 0..x.len() {
            let two = 1 + i % 2;
            let parts = Parts {
                square: Matrix([[x[i], 1.0], [2.0, -x[i]]]),
                pairs: [Vector([i as i32, 2]), Vector([-1, 3])],
                nested: [[(1, 2), (3, 4)], [(5, i as i64), (7, 8)]],
            };
            let local = parts.square;
            let all = [local, Matrix([[0.5, 0.25], [x[i], 4.0]])];
            out[[i, 0]] = (local[[0, 0]] >= local[[0, 1]]) as i32 + 2 * (parts.square[[1, 1]] < -1.0) as i32;
            out[[i, 1]] = (all[i % 2][[1, 0]] <= all[1][[0, 1]]) as i32 - (-parts.square[[1, 1]] > 1.5) as i32;
            out[[i, 2]] = (parts.pairs[i % 2][0] > parts.pairs[0][1]) as i32 + parts.pairs[1][i % 2];
            out[[i, 3]] = (parts.nested[1][0].1 >= 3) as i32 * 10 + (parts.nested[0][i % 2].0 < 2) as i32;
            out[[i, 4]] = (tables.0[i % 2][[0, 1]] > tables.0[0][[0, 0]]) as i32 - tables.0[1][[0, i % 2]];
            out[[i, 5]] = (tables.1[[1, two]] < x[i]) as i32 + !(tables.1[[0, 0]] > 0.0) as i32;
        }
    }
}

#[on_all_backends]
fn numbers_inside_of_values_are_ordered_and_computed(
    backend: TestBackend,
) -> quadrants::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let x = Array::of(&[0.0, 1.5, -2.0, 3.5]);
    let out = Array::zeros([x.len(), 6]);
    let tables =
        ([Matrix([[1, 2]]), Matrix([[-3, 0]])], Matrix([[0.5, 1.0, 2.0], [-1.0, 0.25, 1.25]]));
    differential!(&on.program, numbers_inside[tables][x][out]);
    Ok(())
}
