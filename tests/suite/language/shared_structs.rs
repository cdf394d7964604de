//! Shared arrays of structs, vectors, matrices and tuples: the same results on every backend, bounds and races as for
//! arrays of numbers.

use quadrants::{self as qd, KernelErrorCause, KernelValue, Matrix, Tensor, Vector};
use quadrants_tests::{TestBackend, on_all_backends};

use crate::errors::kernel_error;

#[derive(Clone, Copy, Debug, PartialEq, KernelValue)]
struct Particle {
    place: Vector<f32, 3>,
    mass: f32,
    kind: (u32, bool),
    history: [i32; 4],
}

#[qd::func]
impl Particle {
    fn of(i: usize) -> Self {
        let x = i as f32;
        Self {
            place: Vector([x, x + 0.5, -x]),
            mass: 2.0,
            kind: (i as u32, i as u32 & 1 == 0),
            history: [i as i32; 4],
        }
    }

    fn age(&mut self, by: i32) {
        self.history[3] = self.history[0] + by;
        self.kind.0 += 1;
    }
}

#[qd::kernel]
fn exchange(bodies: &mut Tensor<Particle, 1>, sums: &mut Tensor<f32, 1>) {
    qd::block_for(bodies.len() / 32, 32, |b| {
        let mut tile = b.shared::<Particle>(32);
        let mut pairs = b.shared_2d::<(u32, Vector<f32, 2>)>([4, 8]);
        let mut counts = b.shared::<(u32, i32)>(2);
        let mut frames = b.shared::<Matrix<f32, 2, 2>>(32);
        let first = b.index() * 32;
        b.each(|t| tile[t] = bodies[first + t]);
        b.each(|t| {
            tile[t].mass += 1.0;
            tile[t].place[t % 3] = 10.0;
            tile[t].place[1] -= 0.5;
            tile[t].age(t as i32);
            if tile[t].kind.1 {
                qd::atomic_add(&mut counts[t % 2].0, 1);
            }
            qd::atomic_max(&mut counts[1].1, tile[t].history[3]);
            pairs[[t / 8, t % 8]] = (t as u32, Vector([1.0, t as f32]));
            frames[t][[t % 2, 1]] = 3.0;
        });
        b.each(|t| {
            let other = tile[31 - t];
            let Particle { place, mass, .. } = tile[(t + 1) % 32];
            bodies[first + t] = Particle { mass: other.mass + mass + counts[0].0 as f32, ..other };
            let (n, v) = pairs[[t % 4, t / 4]];
            sums[first + t] = place.sum()
                + v[1] * 100.0
                + (n - pairs[[t % 4, t / 4]].0) as f32
                + counts[1].1 as f32
                + frames[(t + 3) % 32].determinant()
                + frames[t][[0, 1]];
        });
    });
}

#[on_all_backends]
fn phases_exchange_structs(backend: TestBackend) -> quadrants::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let start: Vec<Particle> = (0..64).map(Particle::of).collect();
    let mut bodies = on.program.tensor_from(&start, [64])?;
    let mut sums = on.program.zeros([64])?;
    exchange(&mut bodies, &mut sums).launch()?;
    let changed: Vec<Particle> = (0..64)
        .map(|i| {
            let (mut p, t) = (start[i], i % 32);
            p.mass += 1.0;
            p.place[t % 3] = 10.0;
            p.place[1] -= 0.5;
            p.age(t as i32);
            p
        })
        .collect();
    let mut expected = Vec::new();
    let mut expected_sums = Vec::new();
    for i in 0..64 {
        let (first, t) = (i / 32 * 32, i % 32);
        let other = changed[first + 31 - t];
        expected.push(Particle { mass: 3.0 + 3.0 + 16.0, ..other });
        let largest = changed[first..][..32].iter().map(|p| p.history[3]).max().unwrap();
        let place = changed[first + (t + 1) % 32].place;
        let frame = if t % 2 == 0 { 3.0 } else { 0.0 };
        expected_sums
            .push(place.sum() + (t % 4 * 8 + t / 4) as f32 * 100.0 + largest as f32 + frame);
    }
    assert_eq!(bodies.to_vec()?, expected);
    assert_eq!(sums.to_vec()?, expected_sums);
    Ok(())
}

#[qd::kernel]
fn beyond(of: u32, at: usize, out: &mut Tensor<f32, 1>) {
    qd::block_for(out.len() / 8, 8, |b| {
        let mut tile = b.shared::<Particle>(8);
        let mut grid = b.shared_2d::<Vector<f32, 2>>([2, 3]);
        b.each(|t| {
            if of == 0 {
                tile[at + t].mass = 1.0;
            }
            if of == 1 {
                tile[t].place[at] = 1.0;
            }
            if of == 2 && t == 0 {
                grid[[1, at]][1] = 1.0;
            }
        });
        b.each(|t| out[b.index() * 8 + t] = tile[t].mass + grid[[t % 2, t % 3]][0]);
    });
}

#[on_all_backends]
fn an_index_out_of_range_names_array_index_and_extents(
    backend: TestBackend,
    #[values(0, 1, 2)] of: u32,
) -> quadrants::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let mut out = on.program.zeros::<f32, 1>([8])?;
    beyond(of, 0, &mut out).launch()?;
    on.program.sync()?;
    let launched = beyond(of, if of == 0 { 1 } else { 3 }, &mut out).launch();
    let error = kernel_error(launched, || on.program.sync());
    let (tensor, index, shape) = match of {
        0 => ("tile", vec![8], vec![8]),
        1 => ("tile[].place", vec![3], vec![3]),
        _ => ("grid", vec![1, 3], vec![2, 3]),
    };
    assert_eq!(
        error.cause,
        KernelErrorCause::IndexOutOfRange { tensor: tensor.into(), index, shape }
    );
    Ok(())
}

/// Threads write different fields of one element, which is no race, or the same field.
#[qd::kernel]
fn fields(stride: usize, out: &mut Tensor<f32, 1>) {
    qd::block_for(1, 8, |b| {
        let mut pairs = b.shared::<(f32, Vector<f32, 2>)>(16);
        b.each(|t| {
            pairs[t].0 = 1.0;
            pairs[7 - t].1 = Vector([2.0, 3.0]);
        });
        b.each(|t| pairs[stride * t].1[0] += 1.0);
        b.each(|t| out[t] = pairs[t].0 + pairs[t].1.sum());
    });
}

#[on_all_backends]
fn the_race_check_compares_fields(backend: TestBackend) -> quadrants::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let mut out = on.program.zeros::<f32, 1>([8])?;
    fields(1, &mut out).launch()?;
    assert_eq!(out.to_vec()?, [7.0; 8]);
    fields(2, &mut out).launch()?;
    let raced = fields(0, &mut out).launch();
    let Err(quadrants::Error::Race { tensor, .. }) = raced else { panic!("{raced:?}") };
    assert_eq!(tensor, "pairs");
    Ok(())
}
