//! Runs test kernels with the interpreter.

use quadrants_ir::{
    Const, Offloaded, ParamKind,
    abi::{self, Form},
    interp::{ExecFault, Interpreter, Memory, SliceMemory},
    launch_analysis::LaunchAnalysis,
};

/// The address of the error record.
pub const RECORD: u64 = 0x100;
/// The address of the scratch memory.
pub const SCRATCH: u64 = 0x1000;
/// The distance between the addresses of tensors.
const TENSORS: u64 = 0x10_0000;
/// The number of the launch in the argument block.
const LAUNCH_NUMBER: u64 = 42;

/// An argument of a kernel.
#[derive(Clone, PartialEq, Debug)]
pub enum SampleArg {
    Scalar(Const),
    Tensor { shape: Vec<u64>, elements: Vec<Const> },
}

/// The result of a launch.
#[derive(Clone, PartialEq, Debug)]
pub struct Outcome {
    /// The elements of each tensor, in parameter order.
    pub tensors: Vec<Vec<Const>>,
    /// The scalars of the returned value.
    pub results: Vec<Const>,
    /// The site and values of the device error.
    pub error: Option<(u32, Vec<u64>)>,
}

/// The step and plane of a component's argument; none for others. Components of odd rank are stored element by element.
pub fn strides(kind: ParamKind, shape: &[u64]) -> Option<[u64; 2]> {
    match kind {
        ParamKind::Component { scalars, .. } if shape.len() % 2 == 1 => Some([scalars.into(), 1]),
        ParamKind::Component { .. } => Some([1, shape.iter().product()]),
        _ => None,
    }
}

/// Places the tensors in memory and returns the argument block, with the interiors of the checked form.
pub fn argument_block(
    kernel: &Offloaded,
    args: &[SampleArg],
    memory: &mut SliceMemory,
) -> Vec<u64> {
    memory.insert(RECORD, vec![0; size_of::<abi::ErrorRecord>()]);
    memory.insert(SCRATCH, vec![0; abi::temporary_bytes(kernel)]);
    let mut words = vec![RECORD, SCRATCH, LAUNCH_NUMBER];
    for (i, arg) in args.iter().enumerate() {
        match arg {
            SampleArg::Scalar(value) => words.push(value.bits()),
            SampleArg::Tensor { shape, elements } => {
                let address = TENSORS * (i as u64 + 1);
                let bytes = elements.iter().flat_map(|element| {
                    element.bits().to_le_bytes().into_iter().take(element.ty().size())
                });
                memory.insert(address, bytes.collect());
                words.push(address);
                words.extend(shape);
                let kind = kernel.params[i].kind;
                words.extend(kind.component_extent().map(u64::from));
                words.extend(strides(kind, shape).into_iter().flatten());
            }
        }
    }
    words.extend(LaunchAnalysis::new(kernel).interiors(&words));
    words
}

/// Runs all tasks, in order.
pub fn run(kernel: &Offloaded, form: Form, args: &[SampleArg]) -> Result<Outcome, ExecFault> {
    run_with_fuel(kernel, form, args, 1_000_000)
}

/// As [`run`], with a fuel limit per task.
pub fn run_with_fuel(
    kernel: &Offloaded,
    form: Form,
    args: &[SampleArg],
    fuel: u64,
) -> Result<Outcome, ExecFault> {
    let mut memory = SliceMemory::new();
    let words = argument_block(kernel, args, &mut memory);
    let interpreter = Interpreter::new(kernel).with_fuel(fuel);
    for (task, _) in kernel.tasks() {
        interpreter.run_task(task, form, &words, &mut memory)?;
    }
    let after = memory.clone();
    let tensors = args.iter().enumerate().filter_map(|(i, arg)| {
        let SampleArg::Tensor { elements, .. } = arg else { return None };
        let mut memory = after.clone();
        let read = |(at, element): (usize, &Const)| {
            let (ty, base) = (element.ty(), TENSORS * (i as u64 + 1));
            let bits = memory.load(base + (at * ty.size()) as u64, ty.size()).unwrap();
            Const::from_bits(ty, bits)
        };
        Some(elements.iter().enumerate().map(read).collect())
    });
    let tensors = tensors.collect();
    let word = |memory: &mut SliceMemory, at| memory.load(at, 4).unwrap() as u32;
    let error = (word(&mut memory, RECORD) == abi::ErrorRecord::FULL).then(|| {
        let site = word(&mut memory, RECORD + 4);
        let count = u64::from(word(&mut memory, RECORD + 20));
        let values = (0..count).map(|i| memory.load(RECORD + 24 + 8 * i, 8).unwrap());
        (site, values.collect())
    });
    let first = SCRATCH + 8 * abi::result_word(kernel) as u64;
    let result =
        |(ty, at): (&_, u64)| Const::from_bits(*ty, memory.load(first + 8 * at, 8).unwrap());
    let results = kernel.results.iter().zip(0..).map(result).collect();
    Ok(Outcome { tensors, results, error })
}
