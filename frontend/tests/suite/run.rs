//! Helpers that offload kernels and run them in the interpreter.

use quadrants_ir::{
    Const, Kernel, Offloaded, RegionBlockId,
    abi::{ErrorRecord, Form, result_word, temporary_bytes},
    interp::{Interpreter, SliceMemory},
    offload,
};

const RECORD: u64 = 0x1000;
const SCRATCH: u64 = 0x2000;
const FIRST_TENSOR: u64 = 0x10_0000;
const BETWEEN: u64 = 0x1_0000;

/// An argument of a launch.
pub(crate) enum Arg {
    Scalar(Const),
    /// Extents and contents.
    Tensor(Vec<u64>, Vec<u8>),
}

/// The state after a launch.
pub(crate) struct Outcome {
    tensors: Vec<Vec<u8>>,
    pub(crate) result: u64,
    /// The site of the device error.
    pub(crate) error: Option<u32>,
}

pub(crate) trait Number: Copy + Into<Const> {
    fn from_bits(bits: u64) -> Self;
}

macro_rules! numbers {
    ($($ty:ty, |$bits:ident| $value:expr;)*) => {$(
        impl Number for $ty {
            fn from_bits($bits: u64) -> Self {
                $value
            }
        }
    )*};
}

numbers! {
    bool, |b| b != 0;
    i32, |b| b as i32;
    i64, |b| b as i64;
    u32, |b| b as u32;
    u64, |b| b;
    usize, |b| b as usize;
    f32, |b| f32::from_bits(b as u32);
    f64, |b| f64::from_bits(b);
}

pub(crate) fn scalar(value: impl Into<Const>) -> Arg {
    Arg::Scalar(value.into())
}

pub(crate) fn tensor<T: Number>(values: &[T]) -> Arg {
    matrix(&[values.len() as u64], values)
}

pub(crate) fn matrix<T: Number>(shape: &[u64], values: &[T]) -> Arg {
    let mut bytes = Vec::new();
    for value in values {
        let value: Const = (*value).into();
        bytes.extend_from_slice(&value.bits().to_le_bytes()[..value.ty().size()]);
    }
    Arg::Tensor(shape.to_vec(), bytes)
}

impl Outcome {
    /// The contents of the tensor argument number `at`.
    pub(crate) fn tensor<T: Number>(&self, at: usize) -> Vec<T> {
        let zero: Const = T::from_bits(0).into();
        let size = zero.ty().size();
        let word = |bytes: &[u8]| {
            let mut word = [0; 8];
            word[..size].copy_from_slice(bytes);
            T::from_bits(u64::from_le_bytes(word))
        };
        self.tensors[at].chunks(size).map(word).collect()
    }
}

pub(crate) fn run(kernel: &Kernel, args: &[Arg]) -> Outcome {
    let offloaded = offload(kernel).unwrap();
    run_offloaded(&offloaded, args)
}

pub(crate) fn groups(kernel: &Kernel) -> Vec<u32> {
    let offloaded = offload(kernel).unwrap();
    let group = |(_, task): (_, &quadrants_ir::Task)| -> RegionBlockId { task.region_block };
    offloaded.tasks().map(group).map(RegionBlockId::raw).collect()
}

fn run_offloaded(kernel: &Offloaded, args: &[Arg]) -> Outcome {
    let mut memory = SliceMemory::new();
    memory.insert(RECORD, vec![0; size_of::<ErrorRecord>()]);
    memory.insert(SCRATCH, vec![0; temporary_bytes(kernel).max(8)]);
    let mut words = vec![RECORD, SCRATCH, 1];
    let mut addresses = Vec::new();
    for arg in args {
        match arg {
            Arg::Scalar(value) => words.push(value.bits()),
            Arg::Tensor(shape, bytes) => {
                let address = FIRST_TENSOR + BETWEEN * addresses.len() as u64;
                addresses.push(address);
                memory.insert(address, bytes.clone());
                words.push(address);
                words.extend(shape);
            }
        }
    }
    let interpreter = Interpreter::new(kernel);
    for (task, _) in kernel.tasks() {
        interpreter.run_task(task, Form::Checked, &words, &mut memory).unwrap();
    }
    let word = |address: u64, offset: usize, bytes: usize| {
        let mut word = [0; 8];
        word[..bytes].copy_from_slice(&memory.bytes(address).unwrap()[offset..offset + bytes]);
        u64::from_le_bytes(word)
    };
    let failed = word(RECORD, std::mem::offset_of!(ErrorRecord, state), 4) != 0;
    let site = word(RECORD, std::mem::offset_of!(ErrorRecord, site), 4) as u32;
    let result = kernel.results.first().map_or(0, |_| word(SCRATCH, 8 * result_word(kernel), 8));
    Outcome {
        tensors: addresses.iter().map(|a| memory.bytes(*a).unwrap().to_vec()).collect(),
        result,
        error: failed.then_some(site),
    }
}
