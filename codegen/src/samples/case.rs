//! A kernel with arguments and memory: what the interpreter makes of it, and whether a device made the same.

use std::mem::offset_of;

use quadrants_ir::{
    Const, Offloaded, ParamId, ScalarType, TaskId, TaskKind,
    abi::{
        ArgLayout, ERROR_WORD, ErrorRecord, Form, LAUNCH_WORD, SCRATCH_WORD, block_words,
        scratch_bytes,
    },
    interp::{Fault, Interpreter, SliceMemory},
    launch_analysis::HostPlan,
    samples::make::{Arg, strides},
};

/// So many iterations and rounds no task of a case has.
const FUEL: u64 = 1_000_000;

/// A kernel with arguments and memory.
#[derive(Clone, Debug)]
pub struct Case<'a> {
    /// The kernel.
    pub kernel: &'a Offloaded,
    /// The argument block; addresses are filled in by who runs it.
    pub words: Vec<u64>,
    /// What the addresses in it are of.
    pub buffers: Vec<Buffer>,
    /// The tasks that are run.
    pub tasks: Vec<TaskId>,
    /// Run by many threads. The order of iterations is then not the interpreter's.
    pub large: bool,
    /// Which of several errors is reported depends on the order of iterations.
    pub any_error: bool,
}

/// Memory that a word of the argument block has the address of.
#[derive(Clone, PartialEq, Debug)]
pub struct Buffer {
    /// The word.
    pub word: usize,
    /// The contents.
    pub bytes: Vec<u8>,
    elems: Elems,
}

/// What lies in a buffer.
#[derive(Clone, PartialEq, Debug)]
enum Elems {
    Packed(ScalarType),
    /// Values of these types, each in 8 bytes.
    Words(Vec<ScalarType>),
}

impl Buffer {
    fn new(word: usize, elem: ScalarType, bytes: Vec<u8>) -> Self {
        Self { word, bytes, elems: Elems::Packed(elem) }
    }

    /// The first byte at which two contents differ; all NaNs are the same.
    #[must_use]
    pub fn difference(&self, left: &[u8], right: &[u8]) -> Option<usize> {
        match &self.elems {
            Elems::Packed(ty) => difference(*ty, ty.size(), left, right),
            Elems::Words(types) => types.iter().enumerate().find_map(|(at, ty)| {
                let at = 8 * at;
                let word = at..at + 8;
                difference(*ty, 8, &left[word.clone()], &right[word]).map(|byte| at + byte)
            }),
        }
    }

    /// Where the interpreter has it.
    fn address(&self) -> u64 {
        0x10_0000 * (self.word as u64 + 1)
    }
}

/// Of values of one type, each in so many bytes; the rest of them is compared too.
fn difference(ty: ScalarType, stride: usize, left: &[u8], right: &[u8]) -> Option<usize> {
    let is_nan = |bytes: &[u8]| {
        let mut word = [0; 8];
        word[..stride].copy_from_slice(bytes);
        let value = Const::from_bits(ty, u64::from_le_bytes(word));
        value.as_float().is_some_and(f64::is_nan) && bytes[ty.size()..].iter().all(|b| *b == 0)
    };
    let mut pairs = left.chunks(stride).zip(right.chunks(stride));
    pairs.position(|(l, r)| l != r && !(is_nan(l) && is_nan(r))).map(|at| at * stride)
}

impl<'a> Case<'a> {
    /// A kernel whose error record is empty, with memory for temporaries and result, and no tensors yet.
    #[must_use]
    pub fn new(kernel: &'a Offloaded, launch: u64) -> Self {
        let mut words = vec![0; block_words(kernel, Form::Checked)];
        words[LAUNCH_WORD] = launch;
        let record = vec![0; size_of::<ErrorRecord>()];
        let mut buffers = vec![Buffer::new(ERROR_WORD, ScalarType::U32, record)];
        if kernel.needs_scratch() {
            let types = kernel.temps.iter().copied().chain(kernel.result).collect();
            let bytes = vec![0; scratch_bytes(kernel)];
            buffers.push(Buffer { word: SCRATCH_WORD, bytes, elems: Elems::Words(types) });
        }
        let tasks = kernel.tasks().map(|(task, _)| task).collect();
        Self { kernel, words, buffers, tasks, large: false, any_error: false }
    }

    /// With these arguments.
    #[must_use]
    pub fn with(kernel: &'a Offloaded, args: &[Arg]) -> Self {
        let mut case = Self::new(kernel, 42);
        for (at, arg) in args.iter().enumerate() {
            let param = ParamId::new(at as u32);
            match arg {
                Arg::Scalar(value) => case.scalar(param, value.bits()),
                Arg::Tensor { shape, elements } => {
                    let bytes = elements.iter().flat_map(|element| {
                        element.bits().to_le_bytes().into_iter().take(element.ty().size())
                    });
                    match strides(kernel.params[at].kind, shape) {
                        Some(strides) => case.component(param, shape, strides, bytes.collect()),
                        None => case.tensor(param, shape, bytes.collect()),
                    }
                }
            }
        }
        case.find_interiors();
        case
    }

    /// Has the interiors of the loops found, as a launch does, when all arguments are set.
    pub fn find_interiors(&mut self) {
        let inside = HostPlan::new(self.kernel).interiors(&self.words);
        let first = block_words(self.kernel, Form::Proven);
        self.words[first..].copy_from_slice(&inside);
    }

    /// The argument block of a form.
    #[must_use]
    pub fn block(&self, form: Form) -> &[u64] {
        &self.words[..block_words(self.kernel, form)]
    }

    /// Sets a scalar's bits.
    pub fn scalar(&mut self, param: ParamId, bits: u64) {
        let word = ArgLayout::new(&self.kernel.params).word(param);
        self.words[word] = bits;
    }

    /// Sets a tensor's shape and elements.
    pub fn tensor(&mut self, param: ParamId, shape: &[u64], bytes: Vec<u8>) {
        let Some(elem) = self.kernel.params[param.index()].kind.elem() else { return };
        let word = ArgLayout::new(&self.kernel.params).word(param);
        self.words[word + 1..=word + shape.len()].copy_from_slice(shape);
        self.buffers.push(Buffer::new(word, elem, bytes));
    }

    /// Sets a component's shape, its step and plane, and its scalars.
    pub fn component(&mut self, param: ParamId, shape: &[u64], strides: [u64; 2], bytes: Vec<u8>) {
        let layout = ArgLayout::new(&self.kernel.params);
        let kind = self.kernel.params[param.index()].kind;
        if let Some(choices) = kind.choices() {
            self.words[layout.word(param) + 1 + shape.len()] = choices.into();
        }
        for (word, stride) in layout.strides(param, kind).into_iter().zip(strides) {
            self.words[word] = stride;
        }
        self.tensor(param, shape, bytes);
    }

    /// The dimensions of the grid that a task is run by.
    #[must_use]
    pub fn rank(&self, task: TaskId) -> usize {
        match &self.kernel.tasks[task.index()].kind {
            TaskKind::RangeFor { dims, .. } | TaskKind::BlockFor { dims, .. } => dims.len(),
            // One thread is to run it, whatever the grid is.
            TaskKind::Serial => 3,
        }
    }

    /// What the interpreter leaves in the buffers.
    ///
    /// # Errors
    /// What it says, above all where the kernel has no end.
    pub fn interpret(&self, form: Form) -> Result<Vec<Vec<u8>>, Fault> {
        let mut memory = SliceMemory::new();
        let mut words = self.block(form).to_vec();
        for buffer in &self.buffers {
            memory.insert(buffer.address(), buffer.bytes.clone());
            words[buffer.word] = buffer.address();
        }
        let interpreter = Interpreter::new(self.kernel).with_fuel(FUEL);
        for &task in &self.tasks {
            interpreter.run_task(task, form, &words, &mut memory)?;
        }
        let bytes = |buffer: &Buffer| memory.bytes(buffer.address()).unwrap_or_default().to_vec();
        Ok(self.buffers.iter().map(bytes).collect())
    }

    /// Where what was found differs from what the interpreter leaves, in words. What was never found differs.
    #[must_use]
    pub fn disagreement(&self, expected: &[Vec<u8>], found: Option<&[Vec<u8>]>) -> Option<String> {
        let Some(found) = found else { return Some("it did not run to its end".to_owned()) };
        self.buffers.iter().zip(expected).zip(found).find_map(|((buffer, expected), found)| {
            let (mut left, mut right) = (&expected[..], &found[..]);
            if buffer.word == ERROR_WORD && self.any_error {
                let state = offset_of!(ErrorRecord, state)..size_of::<u32>();
                (left, right) = (&left[state.clone()], &right[state]);
            }
            let at = buffer.difference(left, right)?;
            let end = (at + 8).min(expected.len());
            Some(format!(
                "word {}, byte {at}: expected {:?}, found {:?}\nthe block: {:?}",
                buffer.word,
                &expected[at..end],
                &found[at..end],
                self.words
            ))
        })
    }
}
