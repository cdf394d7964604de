//! What generated crates run on: a program per backend, arguments from a seed, and the comparison of the outcomes.
//!
//! The same kernel runs as the CPU body, as IR on the interpreter, and on both simulated GPUs. All arguments are
//! slices of larger tensors. The elements around a slice are compared too, so that writes out of bounds are noticed.

use std::{
    io::Write as _,
    panic::{AssertUnwindSafe, catch_unwind},
    process::ExitCode,
};

use quadrants::{
    Element, Error, Hazards, Kernel, KernelResult, KernelValue, Layout, Matrix, Program, Result,
    Tensor, Vector, f16, ir,
};
use quadrants_tests::{On, TestBackend};

use crate::rng::Rng;

/// Rows of the first axis before and after the slice that a kernel gets.
const AROUND: usize = 3;

/// A kernel value that can be sampled and compared.
pub trait Value: KernelValue {
    /// A random one.
    fn sample(rng: &mut Rng) -> Self;
    /// Adds the bits of its scalars. All NaNs have the same bits.
    fn bits(&self, out: &mut Vec<u64>);
}

macro_rules! integers {
    ($($ty:ident)*) => {$(
        impl Value for $ty {
            fn sample(rng: &mut Rng) -> Self {
                match rng.below(8) {
                    0 => $ty::MAX.wrapping_sub(rng.below(3) as $ty),
                    1 => $ty::MIN.wrapping_add(rng.below(3) as $ty),
                    2 => rng.word() as $ty,
                    3 => (rng.below(9) as $ty).wrapping_neg(),
                    4 => rng.below(100) as $ty,
                    _ => rng.below(12) as $ty,
                }
            }

            fn bits(&self, out: &mut Vec<u64>) {
                out.push(*self as u64);
            }
        }
    )*};
}

integers!(i8 i16 i32 i64 u8 u16 u32 u64 usize);

macro_rules! floats {
    ($($ty:ident)*) => {$(
        impl Value for $ty {
            fn sample(rng: &mut Rng) -> Self {
                match rng.below(12) {
                    0 => *rng.pick(&[0.0, -0.0, $ty::INFINITY, $ty::NEG_INFINITY, $ty::NAN]),
                    1 => *rng.pick(&[$ty::MAX, $ty::MIN_POSITIVE, 1e-40, -3e9, 7e18]),
                    2..5 => rng.below(2000) as $ty * 0.37 - 300.0,
                    _ => rng.below(80) as $ty * 0.25 - 8.0,
                }
            }

            fn bits(&self, out: &mut Vec<u64>) {
                out.push(if self.is_nan() { $ty::NAN.to_bits() } else { self.to_bits() }.into());
            }
        }
    )*};
}

floats!(f32 f64);

impl Value for f16 {
    fn sample(rng: &mut Rng) -> Self {
        f16::from_f32(rng.below(200) as f32 * 0.125 - 9.0)
    }

    fn bits(&self, out: &mut Vec<u64>) {
        out.push(if self.is_nan() { 0x7e00 } else { self.to_bits().into() });
    }
}

impl Value for bool {
    fn sample(rng: &mut Rng) -> Self {
        rng.percent(50)
    }

    fn bits(&self, out: &mut Vec<u64>) {
        out.push((*self).into());
    }
}

impl<T: Value, const N: usize> Value for [T; N] {
    fn sample(rng: &mut Rng) -> Self {
        std::array::from_fn(|_| T::sample(rng))
    }

    fn bits(&self, out: &mut Vec<u64>) {
        self.iter().for_each(|part| part.bits(out));
    }
}

impl<T: Value + Element, const N: usize> Value for Vector<T, N> {
    fn sample(rng: &mut Rng) -> Self {
        Self(<[T; N]>::sample(rng))
    }

    fn bits(&self, out: &mut Vec<u64>) {
        self.0.bits(out);
    }
}

impl<T: Value + Element, const R: usize, const C: usize> Value for Matrix<T, R, C> {
    fn sample(rng: &mut Rng) -> Self {
        Self(<[[T; C]; R]>::sample(rng))
    }

    fn bits(&self, out: &mut Vec<u64>) {
        self.0.bits(out);
    }
}

macro_rules! tuples {
    ($($($name:ident $at:tt)*;)*) => {$(
        impl<$($name: Value),*> Value for ($($name,)*) {
            fn sample(rng: &mut Rng) -> Self {
                ($($name::sample(rng),)*)
            }

            fn bits(&self, out: &mut Vec<u64>) {
                $(self.$at.bits(out);)*
            }
        }
    )*};
}

tuples! {
    A 0;
    A 0 B 1;
    A 0 B 1 C 2;
}

/// The outcome of a kernel.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct Outcome {
    /// The kind of the launch's error.
    error: Option<String>,
    /// Its text.
    text: String,
    /// The value of the kernel, then each tensor.
    bits: Vec<Vec<u64>>,
}

/// How a kernel is run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Mode {
    /// By a launch on the program's device.
    Launched,
    /// Its IR, by the interpreter.
    Interpreted,
}

/// A program, on which one kernel runs once.
#[derive(Debug)]
pub struct Stage<'a> {
    program: &'a Program,
    mode: Mode,
    rng: Rng,
    outcome: Outcome,
}

/// What a generated module exports: its number, and what runs it.
pub type Case = (u64, fn(&mut Stage<'_>) -> Result<()>);

impl Stage<'_> {
    /// A random value.
    pub fn value<T: Value>(&mut self) -> T {
        T::sample(&mut self.rng)
    }

    /// A tensor of random elements, with `AROUND` more rows before and after those of the shape.
    ///
    /// # Errors
    /// Errors of the program.
    pub fn tensor<T: Value, const N: usize>(
        &mut self,
        mut shape: [usize; N],
    ) -> Result<Tensor<T, N>> {
        if let Some(rows) = shape.first_mut() {
            *rows += 2 * AROUND;
        }
        let count = shape.iter().product();
        let elements: Vec<T> = (0..count).map(|_| T::sample(&mut self.rng)).collect();
        let layout = *self.rng.pick(&[Layout::ArrayOfStructs, Layout::StructOfArrays]);
        self.program.tensor_with(&elements, shape, layout)
    }

    /// The rows of the slice that the kernel gets.
    #[must_use]
    pub fn rows<T: KernelValue, const N: usize>(tensor: &Tensor<T, N>) -> std::ops::Range<usize> {
        AROUND..tensor.shape()[0] - AROUND
    }

    /// Whether the kernel's IR is to be interpreted.
    #[must_use]
    pub fn interprets(&self) -> bool {
        self.mode == Mode::Interpreted
    }

    /// A kernel that the interpreter runs, from IR without `unsafe` assertions.
    ///
    /// # Errors
    /// Errors of the verifier.
    pub fn interpreted(&self, mut ir: ir::Kernel) -> Result<Kernel> {
        // Generated kernels are free of races without the assertion.
        ir.sites.iter_mut().for_each(|site| site.asserted = false);
        Kernel::new(ir)
    }

    /// Records the value of a launch, or its error.
    pub fn launched<R: KernelResult + Shown>(&mut self, launched: Result<R>) {
        match launched.and_then(|value| self.program.sync().map(|()| value)) {
            Ok(value) => self.outcome.bits.push(value.shown()),
            Err(error) => {
                // The first word of the debug text is the kind.
                let debug = format!("{error:#?}");
                let mut kind: String =
                    debug.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
                if let Error::Build { .. } = error {
                    kind = "Build".to_owned();
                }
                self.outcome.error = Some(kind);
                self.outcome.text = chain(&error);
            }
        }
    }

    /// Records the elements of a tensor. After an error they are unspecified.
    ///
    /// # Errors
    /// Errors of the program.
    pub fn keep<T: Value, const N: usize>(&mut self, tensor: &Tensor<T, N>) -> Result<()> {
        if self.outcome.error.is_none() {
            let mut bits = Vec::new();
            tensor.to_vec()?.iter().for_each(|element| element.bits(&mut bits));
            self.outcome.bits.push(bits);
        }
        Ok(())
    }
}

/// A return value of kernels.
pub trait Shown {
    /// Its bits.
    fn shown(&self) -> Vec<u64>;
}

impl Shown for () {
    fn shown(&self) -> Vec<u64> {
        Vec::new()
    }
}

impl<T: Value> Shown for T {
    fn shown(&self) -> Vec<u64> {
        let mut bits = Vec::new();
        self.bits(&mut bits);
        bits
    }
}

/// Runs the kernels of a generated crate and prints a line before and after each. `--from N` begins with the kernel
/// number N, `--only N` runs one alone.
pub fn main(cases: &[Case]) -> ExitCode {
    let args: Vec<String> = std::env::args().collect();
    let number = |name: &str| {
        let at = args.iter().position(|arg| arg == name)?;
        args.get(at + 1)?.parse::<u64>().ok()
    };
    let (from, only) = (number("--from").unwrap_or(0), number("--only"));
    let open = |backend: TestBackend| {
        backend.open_with(Program::builder().hazards(Hazards::Explicit)).expect("all are chosen")
    };
    let on = [TestBackend::Cpu, TestBackend::Cuda, TestBackend::AmdGpu].map(open);
    let chosen = |number: u64| number >= from && only.is_none_or(|only| only == number);
    for (number, run) in cases.iter().filter(|(number, _)| chosen(*number)) {
        print_line(&format!("begin {number}"));
        print_line(&format!("{number} {}", verdict(&on, *number, *run)));
    }
    print_line("end");
    ExitCode::SUCCESS
}

fn print_line(line: &str) {
    println!("{line}");
    let _ = std::io::stdout().flush();
}

/// In the report of a `PartialEq` that does not compare the fields.
const OWN_EQUALITY: &str = "its own `PartialEq` has another result";

/// The comparison of the four runs of one kernel, in a line.
fn verdict(on: &[On; 3], number: u64, run: fn(&mut Stage<'_>) -> Result<()>) -> String {
    let [cpu, cuda, amdgpu] = on;
    let runs = [
        ("interpreter", cpu, Mode::Interpreted),
        ("cuda", cuda, Mode::Launched),
        ("amdgpu", amdgpu, Mode::Launched),
        // Last, because an access out of bounds may end the process.
        ("cpu", cpu, Mode::Launched),
    ];
    let mut first: Option<Outcome> = None;
    for (name, on, mode) in runs {
        // Errors that another kernel left are not this one's.
        let drained = (0..8).any(|_| on.program.device_sync().is_ok());
        if !drained {
            return format!("panic {name}, whose device says errors without end");
        }
        let rng = Rng::part(number, 1);
        let mut stage = Stage { program: &on.program, mode, rng, outcome: Outcome::default() };
        let ran = catch_unwind(AssertUnwindSafe(|| run(&mut stage)));
        let found = match ran {
            Ok(Ok(())) => stage.outcome,
            Ok(Err(error)) => {
                let text = chain(&error);
                Outcome { error: Some("Setup".to_owned()), text, bits: Vec::new() }
            }
            Err(_) => return format!("panic {name}"),
        };
        match &first {
            None => first = Some(found),
            // Builds with debug assertions report it on the CPU, which ends the comparison.
            Some(_) if found.text.contains(OWN_EQUALITY) => {
                return format!("error PartialEq: {}", found.text);
            }
            Some(expected) => {
                if let Some(what) = difference(expected, &found) {
                    return format!("differs {name}, not as the interpreter: {what}");
                }
            }
        }
    }
    match first {
        Some(Outcome { error: Some(kind), text, .. }) => format!("error {kind}: {text}"),
        _ => "agrees".to_owned(),
    }
}

fn difference(expected: &Outcome, found: &Outcome) -> Option<String> {
    if expected.error != found.error {
        let of = |outcome: &Outcome| match &outcome.error {
            Some(kind) => format!("{kind} ({})", outcome.text),
            None => "no error".to_owned(),
        };
        return Some(format!("{} instead of {}", of(found), of(expected)));
    }
    let both = expected.bits.iter().zip(&found.bits).enumerate();
    for (tensor, (expected, found)) in both {
        if let Some(at) = (0..expected.len()).find(|at| expected[*at] != found[*at]) {
            let what = if tensor == 0 { "value".to_owned() } else { format!("tensor {tensor}") };
            let (found, expected) = (found[at], expected[at]);
            return Some(format!("{what} at {at} is {found:#x} instead of {expected:#x}"));
        }
    }
    None
}

/// An error with all its sources, in one line.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(inner) = source {
        text.push_str(": ");
        text.push_str(&inner.to_string());
        source = inner.source();
    }
    text.replace('\n', " ")
}
