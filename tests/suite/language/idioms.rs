//! Code as people write it first: compound assignments with methods of their types, byte literals, `map` of arrays to
//! another type, rotations of narrow integers.

use quadrants::{self as qd, Complex, KernelValue, Matrix, Result, Tensor, Vector};
use quadrants_tests::{TestBackend, on_all_backends};

#[derive(KernelValue, Clone, Copy, Debug, PartialEq)]
struct Spring {
    stiffness: f32,
    calls: i32,
}

#[qd::func]
impl Spring {
    fn force(self, d: Vector<f32, 2>) -> Vector<f32, 2> {
        d * -self.stiffness
    }

    fn next(&mut self) -> f32 {
        self.calls += 1;
        self.calls as f32
    }
}

#[derive(KernelValue, Clone, Copy, Debug, PartialEq)]
struct Particle {
    position: Vector<f32, 2>,
    velocity: Vector<f32, 2>,
}

#[qd::kernel]
fn pushes(
    spring: Spring,
    particles: &mut Tensor<Particle, 1>,
    forces: &mut Tensor<Vector<f32, 2>, 1>,
    spins: &mut Tensor<Complex<f32>, 1>,
    frames: &mut Tensor<Matrix<f32, 2, 2>, 1>,
) {
    for i in 0..forces.len() {
        let mut own = spring;
        let d = particles[i].position;
        forces[i] += spring.force(d);
        particles[i].velocity += spring.force(d * 2.0);
        let (spin, frame) = (spins[i], frames[i]);
        spins[i] *= spin.conj();
        frames[i] += frame.transpose();
        let mut local = [Vector([0.0_f32, 1.0]); 2];
        for k in 0..2 {
            local[k] += spring.force(d + local[1 - k]);
        }
        forces[i] -= local[0] + local[1];
        // A method that changes its receiver, which the index does not use.
        forces[i] *= own.next();
        forces[i] += Vector([own.next(), own.calls as f32]);
    }
}

#[on_all_backends]
fn compound_assignments_take_methods(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let particle = |i: usize| Particle {
        position: Vector([i as f32, 2.0 - i as f32]),
        velocity: Vector([1.0, -1.0]),
    };
    let all: Vec<_> = (0..5).map(particle).collect();
    let mut particles = on.program.tensor_from(&all, [5])?;
    let mut forces = on.program.tensor_from(&[Vector([0.5, 0.25]); 5], [5])?;
    let mut spins = on.program.tensor_from(&[Complex::new(1.0, 2.0); 5], [5])?;
    let mut frames = on.program.tensor_from(&[Matrix([[1.0, 2.0], [3.0, 4.0]]); 5], [5])?;
    let spring = Spring { stiffness: 0.5, calls: 1 };
    pushes(spring, &mut particles, &mut forces, &mut spins, &mut frames).launch()?;
    let (forces, particles) = (forces.to_vec()?, particles.to_vec()?);
    for i in 0..5 {
        let (mut own, d) = (spring, all[i].position);
        let mut force = Vector([0.5, 0.25]) + spring.force(d);
        let mut local = [Vector([0.0, 1.0]); 2];
        for k in 0..2 {
            local[k] += spring.force(d + local[1 - k]);
        }
        force -= local[0] + local[1];
        force *= own.next();
        force += Vector([own.next(), own.calls as f32]);
        assert_eq!(forces[i], force);
        assert_eq!(particles[i].velocity, all[i].velocity + spring.force(d * 2.0));
    }
    assert_eq!(spins.to_vec()?[4], Complex::new(1.0, 2.0) * Complex::new(1.0, -2.0));
    assert_eq!(frames.to_vec()?[3], Matrix([[2.0, 5.0], [5.0, 8.0]]));
    Ok(())
}

macro_rules! rotations {
    ($($name:ident: $ty:ident, $bits:literal;)*) => {$(
        #[qd::kernel]
        fn $name(x: &Tensor<$ty, 1>, count: u32, out: &mut Tensor<[$ty; 4], 1>) {
            for i in 0..x.len() {
                out[i] = [
                    x[i].rotate_left(count),
                    x[i].rotate_right(count),
                    x[i].wrapping_shl(count),
                    x[i].wrapping_shr(count),
                ];
            }
        }
    )*

    #[on_all_backends]
    fn rotations_of_narrow_integers_are_those_of_std(backend: TestBackend) -> Result<()> {
        let Some(on) = backend.open() else { return Ok(()) };
        $({
            let all = [0, 1, 5, $ty::MAX, $ty::MIN, $ty::MAX / 3, $ty::MAX - 2];
            let x = on.program.tensor_from(&all, [7])?;
            let mut out = on.program.zeros([7])?;
            for count in [0, 1, 3, $bits - 1, $bits, $bits + 5, u32::MAX] {
                $name(&x, count, &mut out).launch()?;
                let expected = all.map(|x| [
                    x.rotate_left(count),
                    x.rotate_right(count),
                    x.wrapping_shl(count),
                    x.wrapping_shr(count),
                ]);
                assert_eq!(out.to_vec()?, expected, "{} by {count}", stringify!($ty));
            }
        })*
        Ok(())
    }
    };
}

rotations! {
    rotate_i8: i8, 8;
    rotate_u8: u8, 8;
    rotate_i16: i16, 16;
    rotate_u16: u16, 16;
}

#[qd::func]
fn digit(c: u8) -> u8 {
    match c {
        b'0'..=b'9' => c - b'0',
        b'a' | b'A' => 10,
        _ => b'\xff',
    }
}

#[qd::kernel]
fn texts(text: &Tensor<u8, 1>, out: &mut Tensor<[f32; 3], 1>) {
    for i in 0..out.len() {
        let bytes = [digit(text[i]), digit(text[i + 1]), b'\n'];
        let wide = bytes.map(|c| c as u16 * 256);
        let pairs = wide.map(|c| Vector([c as f32, 1.0]));
        out[i] = pairs.map(|pair| pair[0] + pair[1]);
    }
}

#[on_all_backends]
fn bytes_and_arrays_of_other_types(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let text = on.program.tensor_from(b"09aA?", [5])?;
    let mut out = on.program.zeros([4])?;
    texts(&text, &mut out).launch()?;
    let of = |a: u8, b: u8| [a, b, b'\n'].map(|c| f32::from(c) * 256.0 + 1.0);
    assert_eq!(out.to_vec()?, [of(0, 9), of(9, 10), of(10, 10), of(10, 255)]);
    Ok(())
}

#[derive(KernelValue, Clone, Copy)]
struct Angle(i32);

/// Not what kernels compare.
impl PartialEq for Angle {
    fn eq(&self, other: &Self) -> bool {
        (self.0 - other.0) % 360 == 0
    }
}

#[qd::func]
fn is_zero(angle: Angle) -> bool {
    angle == Angle(0)
}

/// Builds with debug assertions find a `PartialEq` that does not compare the fields.
#[test]
#[cfg(debug_assertions)]
fn another_equality_is_reported() {
    assert!(is_zero(Angle(0)) && !is_zero(Angle(1)));
    let panic = std::panic::catch_unwind(|| is_zero(Angle(360))).expect_err("another result");
    let text = panic.downcast_ref::<String>().expect("a text");
    assert!(text.contains("Angle") && text.contains("PartialEq"), "{text}");
}
