//! Structs of tensors as one parameter.

use quadrants::{self as qd, Error, KernelErrorCause, Layout, Tensor, Tensors, Vector};
use quadrants_tests::{TestBackend, on_all_backends};

/// A struct of tensors, some read-only.
#[derive(Tensors)]
struct Particles<'a> {
    place: &'a mut Tensor<Vector<f32, 2>, 1>,
    flow: &'a mut Tensor<(f32, i32), 1>,
    mass: &'a Tensor<f32, 1>,
    moves: &'a mut Tensor<u32, 0>,
}

#[qd::func]
fn push(p: &mut Particles<'_>, at: usize, by: f32) {
    p.place[at][1] += by * p.mass[at];
}

#[qd::func]
fn doubled(of: &mut Tensor<(f32, i32), 1>, at: usize) {
    of[at].0 *= 2.0;
}

#[qd::kernel]
fn step(by: f32, p: &mut Particles<'_>) {
    for i in 0..p.place.len() {
        p.place[i][0] = p.place[i][1] + p.flow[i].0;
        p.flow[i].1 += i as i32;
        qd::atomic_add(&mut p.moves[[]], 1);
    }
    push(p, 2, by);
    let last = p.flow.shape()[0] - 1;
    doubled(p.flow, last);
}

/// Blocks that write different tensors of one struct.
#[qd::kernel]
fn beside(p: &mut Particles<'_>) {
    qd::stream_parallel(|| {
        for i in 0..p.place.len() {
            p.place[i] = Vector([p.mass[i], 1.0]);
        }
    });
    qd::stream_parallel(|| {
        for i in 0..p.flow.len() {
            p.flow[i].0 = p.mass[i] * 3.0;
        }
    });
}

#[qd::kernel]
fn sum(p: &Particles<'_>, out: &mut Tensor<f32, 0>) {
    for i in 0..p.mass.len() {
        qd::atomic_add(&mut out[[]], p.mass[i] + p.place[i][0]);
    }
}

#[qd::kernel]
fn beyond(at: usize, p: &mut Particles<'_>) {
    for i in 0..1 {
        p.place[i] = Vector([p.mass[at], 0.0]);
    }
}

#[on_all_backends]
fn tensors_of_a_struct_parameter_are_read_and_written(backend: TestBackend) -> qd::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let on = &on.program;
    let places: Vec<_> = (0..5).map(|i| Vector([0.0, i as f32])).collect();
    let mut place = on.tensor_with(&places, [5], Layout::StructOfArrays)?;
    let mut flow = on.tensor_from(&[(0.5, 10); 5], [5])?;
    let mass = on.tensor_from(&[1.0, 2.0, 4.0, 8.0, 16.0], [5])?;
    let mut moves = on.zeros([])?;
    let mut all = Particles { place: &mut place, flow: &mut flow, mass: &mass, moves: &mut moves };
    step(0.25, &mut all).launch()?;
    let mut total = on.zeros([])?;
    sum(&all, &mut total).launch()?;
    assert_eq!(total.to_vec()?, [31.0 + 2.5 + 10.0]);
    assert_eq!(all.place.to_vec()?[2], Vector([2.5, 3.0]));
    assert_eq!(all.flow.to_vec()?, [(0.5, 10), (0.5, 11), (0.5, 12), (0.5, 13), (1.0, 14)]);
    assert_eq!(all.moves.to_vec()?, [5]);
    beside(&mut all).launch()?;
    assert_eq!(place.to_vec()?[3], Vector([8.0, 1.0]));
    assert_eq!(flow.to_vec()?[3], (24.0, 13));
    Ok(())
}

#[on_all_backends]
fn an_out_of_bounds_error_names_the_tensor_in_the_struct(backend: TestBackend) -> qd::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let on = &on.program;
    let (mut place, mut flow) = (on.zeros([3])?, on.zeros([3])?);
    let (mass, mut moves) = (on.zeros([2])?, on.zeros([])?);
    let mut all = Particles { place: &mut place, flow: &mut flow, mass: &mass, moves: &mut moves };
    let failed = beyond(2, &mut all).launch().and_then(|()| on.sync());
    let Err(Error::Kernel(error)) = failed else { panic!("{failed:?}") };
    let KernelErrorCause::IndexOutOfRange { tensor, index, shape } = &error.cause else {
        panic!("{error:?}")
    };
    assert_eq!((tensor.as_str(), &index[..], &shape[..]), ("p.mass", &[2][..], &[2][..]));
    Ok(())
}
