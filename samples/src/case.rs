//! Test cases: a kernel with arguments and memory, the result of the interpreter, and the comparison with a device's
//! result.

use std::mem::offset_of;

use quadrants_ir::{
    Const, Expr, ExprKind, MathFn, Offloaded, ParamId, ScalarType, TaskId, TaskKind,
    abi::{
        ArgLayout, ERROR_WORD, ErrorRecord, Form, LAUNCH_WORD, MessageBuffer, TEMPORARIES_WORD,
        block_words, temporary_bytes,
    },
    interp::{ExecFault, Interpreter, Memory as _, SliceMemory},
    launch_analysis::LaunchAnalysis,
};

use crate::run::{SampleArg, strides};

/// More than the total number of iterations of a task in any case.
const FUEL: u64 = 1_000_000;

/// A kernel with arguments and memory.
#[derive(Clone, Debug)]
pub struct Case<'a> {
    /// The kernel.
    pub kernel: &'a Offloaded,
    /// The argument block. The runner fills in the addresses.
    pub words: Vec<u64>,
    /// The buffers that the argument block refers to.
    pub buffers: Vec<Buffer>,
    /// The tasks to run.
    pub tasks: Vec<TaskId>,
    /// Whether many threads run it. The order of iterations then differs from the interpreter's.
    pub large: bool,
    /// Whether the reported error depends on the order of iterations.
    pub any_error: bool,
}

/// In [`Buffer::word`]: the address is in another buffer. Its index follows from bit 32 on, then the offset in bytes.
const IN_BUFFER: usize = 1 << 63;

/// A buffer whose address is in a word of the argument block, or of another buffer.
#[derive(Clone, PartialEq, Debug)]
pub struct Buffer {
    /// The word.
    pub word: usize,
    /// The initial contents.
    pub bytes: Vec<u8>,
    elems: Elems,
}

/// The contents of a buffer.
#[derive(Clone, PartialEq, Debug)]
enum Elems {
    Packed(ScalarType),
    /// Scratch memory: values of these types, 8 bytes each.
    Words(Vec<ScalarType>),
}

impl Buffer {
    fn new(word: usize, elem: ScalarType, bytes: Vec<u8>) -> Self {
        Self { word, bytes, elems: Elems::Packed(elem) }
    }

    /// The first byte at which two contents differ. All NaNs are equal, and so are `f32`s that are `spacings` apart.
    fn difference(&self, left: &[u8], right: &[u8], spacings: u32) -> Option<usize> {
        let difference = |ty, stride, left, right| difference(ty, stride, left, right, spacings);
        match &self.elems {
            Elems::Packed(ty) => difference(*ty, ty.size(), left, right),
            Elems::Words(types) => types.iter().enumerate().find_map(|(at, ty)| {
                let at = 8 * at;
                let word = at..at + 8;
                difference(*ty, 8, &left[word.clone()], &right[word]).map(|byte| at + byte)
            }),
        }
    }

    /// The address of the buffer in the interpreter's memory.
    fn address(&self) -> u64 {
        match self.owner() {
            Some((buffer, _)) => 0x100_0000_0000 * (buffer as u64 + 1),
            None => 0x10_0000 * (self.word as u64 + 1),
        }
    }

    /// The index of the buffer that has the address, and where.
    fn owner(&self) -> Option<(usize, usize)> {
        let (buffer, offset) = ((self.word & !IN_BUFFER) >> 32, self.word & 0xffff_ffff);
        (self.word & IN_BUFFER != 0).then_some((buffer, offset))
    }
}

/// Compares values of one type with a distance of `stride` bytes. Padding is compared too.
fn difference(
    ty: ScalarType,
    stride: usize,
    left: &[u8],
    right: &[u8],
    spacings: u32,
) -> Option<usize> {
    let bits = |bytes: &[u8]| bytes.first_chunk().map_or(0, |bits| u32::from_le_bytes(*bits));
    let is_close = |left: &[u8], right: &[u8]| {
        ty == ScalarType::F32
            && bits(left).abs_diff(bits(right)) <= spacings
            && left[ty.size()..] == right[ty.size()..]
    };
    let is_nan = |bytes: &[u8]| {
        let mut word = [0; 8];
        word[..stride].copy_from_slice(bytes);
        let value = Const::from_bits(ty, u64::from_le_bytes(word));
        value.as_float().is_some_and(f64::is_nan) && bytes[ty.size()..].iter().all(|b| *b == 0)
    };
    let mut pairs = left.chunks(stride).zip(right.chunks(stride));
    let at = pairs.position(|(l, r)| l != r && !is_close(l, r) && !(is_nan(l) && is_nan(r)))?;
    Some(at * stride)
}

impl<'a> Case<'a> {
    /// A case with an empty error record and memory for temporaries and result, but without tensors.
    #[must_use]
    pub fn new(kernel: &'a Offloaded, launch: u64) -> Self {
        let mut words = vec![0; block_words(kernel, Form::Checked)];
        words[LAUNCH_WORD] = launch;
        let record = vec![0; size_of::<ErrorRecord>()];
        let mut buffers = vec![Buffer::new(ERROR_WORD, ScalarType::U32, record)];
        if !kernel.temps.is_empty() || !kernel.results.is_empty() {
            let types = kernel.temps.iter().chain(&kernel.results).copied().collect();
            let bytes = vec![0; temporary_bytes(kernel)];
            buffers.push(Buffer { word: TEMPORARIES_WORD, bytes, elems: Elems::Words(types) });
        }
        let tasks = kernel.tasks().map(|(task, _)| task).collect();
        Self { kernel, words, buffers, tasks, large: false, any_error: false }
    }

    /// A case with these arguments.
    #[must_use]
    pub fn with(kernel: &'a Offloaded, args: &[SampleArg]) -> Self {
        let mut case = Self::new(kernel, 42);
        for (at, arg) in args.iter().enumerate() {
            let param = ParamId::new(at as u32);
            match arg {
                SampleArg::Scalar(value) => case.scalar(param, value.bits()),
                SampleArg::Tensor { shape, elements } => {
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

    /// Gives the error record a message buffer.
    pub fn add_messages(&mut self) {
        let record = self.buffers.iter().position(|buffer| buffer.word == ERROR_WORD);
        let mut owner = (record.unwrap_or(0), offset_of!(ErrorRecord, messages));
        let counter = offset_of!(MessageBuffer, counter);
        for (bytes, next) in [(MessageBuffer::BYTES, counter), (size_of::<u64>(), 0)] {
            let word = IN_BUFFER | owner.0 << 32 | owner.1;
            owner = (self.buffers.len(), next);
            self.buffers.push(Buffer::new(word, ScalarType::U64, vec![0; bytes]));
        }
    }

    /// Computes the interiors of the loops, as a launch does. All arguments must be set.
    pub fn find_interiors(&mut self) {
        let inside = LaunchAnalysis::new(self.kernel).interiors(&self.words);
        let first = block_words(self.kernel, Form::Proven);
        self.words[first..].copy_from_slice(&inside);
    }

    /// The argument block of a form.
    #[must_use]
    pub fn block(&self, form: Form) -> &[u64] {
        &self.words[..block_words(self.kernel, form)]
    }

    /// Sets the bits of a scalar.
    pub fn scalar(&mut self, param: ParamId, bits: u64) {
        let word = ArgLayout::new(&self.kernel.params).word(param);
        self.words[word] = bits;
    }

    /// Sets the shape and elements of a tensor.
    pub fn tensor(&mut self, param: ParamId, shape: &[u64], bytes: Vec<u8>) {
        let Some(elem) = self.kernel.params[param.index()].kind.elem() else { return };
        let word = ArgLayout::new(&self.kernel.params).word(param);
        self.words[word + 1..=word + shape.len()].copy_from_slice(shape);
        self.buffers.push(Buffer::new(word, elem, bytes));
    }

    /// Sets the shape, step, plane and scalars of a component.
    pub fn component(&mut self, param: ParamId, shape: &[u64], strides: [u64; 2], bytes: Vec<u8>) {
        let layout = ArgLayout::new(&self.kernel.params);
        let kind = self.kernel.params[param.index()].kind;
        if let Some(component_extent) = kind.component_extent() {
            self.words[layout.word(param) + 1 + shape.len()] = component_extent.into();
        }
        for (word, stride) in layout.strides(param, kind).into_iter().zip(strides) {
            self.words[word] = stride;
        }
        self.tensor(param, shape, bytes);
    }

    /// Sets the strides of a strided parameter.
    pub fn element_strides(&mut self, param: ParamId, strides: &[u64]) {
        let layout = ArgLayout::new(&self.kernel.params);
        let first = layout.element_strides(param, self.kernel.params[param.index()].kind);
        self.words[first..first + strides.len()].copy_from_slice(strides);
    }

    /// The number of dimensions of the grid for a task.
    #[must_use]
    pub fn rank(&self, task: TaskId) -> usize {
        match &self.kernel.tasks[task.index()].kind {
            TaskKind::RangeFor { dims, .. } | TaskKind::BlockFor { dims, .. } => dims.len(),
            // One thread must run it, whatever the grid is.
            TaskKind::Serial => 3,
        }
    }

    /// The buffers after the interpreter has run the tasks.
    ///
    /// # Errors
    /// Those of the interpreter, above all if the kernel does not terminate.
    pub fn interpret(&self, form: Form) -> Result<Vec<Vec<u8>>, ExecFault> {
        let mut memory = SliceMemory::new();
        let mut words = self.block(form).to_vec();
        for buffer in &self.buffers {
            memory.insert(buffer.address(), buffer.bytes.clone());
            match self.place(buffer) {
                Some(place) => memory.store(place, 8, buffer.address())?,
                None => words[buffer.word] = buffer.address(),
            }
        }
        let interpreter = Interpreter::new(self.kernel).with_fuel(FUEL);
        for &task in &self.tasks {
            interpreter.run_task(task, form, &words, &mut memory)?;
        }
        // Addresses in buffers are not compared.
        for place in self.buffers.iter().filter_map(|buffer| self.place(buffer)) {
            memory.store(place, 8, 0)?;
        }
        let bytes = |buffer: &Buffer| memory.bytes(buffer.address()).unwrap_or_default().to_vec();
        Ok(self.buffers.iter().map(bytes).collect())
    }

    /// The address of the word in another buffer with the address of a buffer.
    fn place(&self, buffer: &Buffer) -> Option<u64> {
        buffer.owner().map(|(owner, offset)| self.buffers[owner].address() + offset as u64)
    }

    /// How far apart equal `f32`s may be: the elementary functions of other implementations have other last bits.
    fn spacings(&self) -> u32 {
        let is_elementary = |expr: &Expr| {
            let ExprKind::Math { function, .. } = expr.kind else { return false };
            use MathFn::{Abs, Ceil, Floor, Max, Min, MulAdd, Round, RoundEven, Sqrt, Trunc};
            expr.ty == ScalarType::F32
                && !matches!(
                    function,
                    Abs | Ceil | Floor | Max | Min | MulAdd | Round | RoundEven | Sqrt | Trunc
                )
        };
        if self.kernel.exprs.iter().any(|(_, expr)| is_elementary(expr)) { 2 } else { 0 }
    }

    /// Describes the first difference from the interpreter's result. A missing result is a difference.
    #[must_use]
    pub fn disagreement(&self, expected: &[Vec<u8>], found: Option<&[Vec<u8>]>) -> Option<String> {
        let Some(found) = found else {
            return Some("the program did not complete this case".to_owned());
        };
        self.buffers.iter().zip(expected).zip(found).find_map(|((buffer, expected), found)| {
            let (mut left, mut right) = (&expected[..], &found[..]);
            if buffer.word == ERROR_WORD && self.any_error {
                let state = offset_of!(ErrorRecord, state)..size_of::<u32>();
                (left, right) = (&left[state.clone()], &right[state]);
            }
            let at = buffer.difference(left, right, self.spacings())?;
            let end = (at + 8).min(expected.len());
            Some(format!(
                "word {}, byte {at}: expected {:?}, found {:?}\nargument block: {:?}",
                buffer.word,
                &expected[at..end],
                &found[at..end],
                self.words
            ))
        })
    }
}
