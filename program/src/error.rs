//! The errors of programs, and their severity.

pub(crate) mod captured;
mod device_name;
mod dlpack_problem;
mod foreign_memory_problem;
mod hazard;
mod kernel_error;
mod npy_problem;
mod view_problem;

use std::fmt;

use quadrants_rhi::Severity;

use crate::{
    value::layout::Layout,
    variables::{HAZARDS_VARIABLE, TRACE_VARIABLE},
};

pub use device_name::DeviceName;
pub use dlpack_problem::DlpackProblem;
pub use foreign_memory_problem::ForeignMemoryProblem;
pub use hazard::{Hazard, HazardUse};
pub use kernel_error::{KernelError, KernelErrorCause};
pub use npy_problem::NpyProblem;
pub use view_problem::ViewProblem;

/// An error of any type, from the frontend.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// A result with this crate's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error of a program.
///
/// `{}` prints what happened, where, and how to fix it. So does `{:?}`, which is what a `main` that returns the error
/// shows, with each cause and each remedy on a line of its own; `{:#?}` prints the fields. The text of an error has
/// that of its [`source`](std::error::Error::source), which need not be printed too.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An error of the device or the runtime.
    #[error(transparent)]
    Runtime(#[from] quadrants_runtime::Error),
    /// A kernel's IR could not be made.
    #[error("kernel `{kernel}` cannot be built: {source}")]
    Build {
        /// The name of the kernel.
        kernel: String,
        /// The error of the frontend or of the verifier.
        #[source]
        source: BoxError,
    },
    /// A kernel made at run time asserts that an access does not race. Only `unsafe` code can make such a kernel.
    #[error(
        "kernel `{kernel}` asserts in line {line} that it does not race; help: make it with `unsafe {{ Kernel::asserting(..) }}`, if that is true"
    )]
    Asserted {
        /// The name of the kernel.
        kernel: String,
        /// The line of the first such access.
        line: u32,
    },
    /// The local arrays of a kernel need more memory per thread than GPUs have. On the CPU there is no limit.
    #[error(
        "the local arrays of kernel `{kernel}` need {bytes} bytes per thread; the maximum on GPUs is {limit}; help: use smaller arrays, or a tensor with a part per iteration"
    )]
    LocalMemory {
        /// The name of the kernel.
        kernel: String,
        /// The size of the arrays in a task.
        bytes: u64,
        /// The maximum.
        limit: u64,
    },
    /// The shared arrays of a block need more memory than the device has.
    #[error(
        "the shared arrays of kernel `{kernel}` in line {line} need {bytes} bytes per block; the maximum of the device is {limit}; help: use smaller arrays, or a tensor"
    )]
    SharedMemory {
        /// The name of the kernel.
        kernel: String,
        /// The line of the `block_for`.
        line: u32,
        /// The size of the arrays, and of what collectives need.
        bytes: u64,
        /// The maximum.
        limit: u64,
    },
    /// A kernel could not be compiled for the device.
    #[error("kernel `{kernel}` cannot be compiled: {source}")]
    Compile {
        /// The name of the kernel.
        kernel: String,
        /// Why: [`CompilerNotFound`](quadrants_codegen::Error::CompilerNotFound) lists the searched locations.
        #[source]
        source: quadrants_codegen::Error,
    },
    /// No image bundle has the kernel for the device, and there is no compiler.
    #[error(
        "kernel `{kernel}` for `{arch}` is not among the exported kernels of {}, and cannot be compiled: {source}; help: \
         export it for that architecture",
        files.join(", ")
    )]
    NotExported {
        /// The name of the kernel.
        kernel: String,
        /// The device's architecture.
        arch: String,
        /// The searched files, with the architectures of each.
        files: Vec<String>,
        /// Why it cannot be compiled, with the searched locations.
        #[source]
        source: Box<quadrants_codegen::Error>,
    },
    /// An image bundle cannot be read or written.
    #[error(transparent)]
    Kernels(#[from] quadrants_runtime::BundleError),
    /// A profile of the program runs already.
    #[error(
        "a profile of this program runs already, here or on another thread; help: end it first, or measure both parts in one profile"
    )]
    ProfileActive,
    /// The trace that the environment variable [`TRACE_VARIABLE`](crate::TRACE_VARIABLE) asks for cannot be written.
    #[error(
        "the trace `{}` cannot be written: {source}; help: change or unset {TRACE_VARIABLE}", path.display()
    )]
    Trace {
        /// The file.
        path: std::path::PathBuf,
        /// The error of the file.
        #[source]
        source: std::io::Error,
    },
    /// A file is not the trace of a program, or is damaged.
    #[error(
        "this is not a trace that {TRACE_VARIABLE} wrote: {what}; help: use a file that {TRACE_VARIABLE} or \
         `Timeline::chrome_trace` wrote"
    )]
    TraceFormat {
        /// What is wrong with it.
        what: String,
    },
    /// Kernels cannot be exported for an architecture, because the images of its compiler cannot be identified.
    #[error(
        "kernels for `{arch}` cannot be exported: the images of its compiler cannot be cached; help: use a compiler that \
         has an identity, as those of this library have"
    )]
    NotKept {
        /// The architecture.
        arch: String,
    },
    /// No backend of this build compiles for an architecture with that name.
    #[error(
        "no backend of this build compiles for `{name}`; help: use a name such as `sm_90`, `compute_90` or `gfx90a`, and the feature of its backend"
    )]
    UnknownTarget {
        /// The name.
        name: String,
    },
    /// The device needs compiled images, and the program was opened without a compiler.
    #[error(
        "kernel `{kernel}` must be compiled, but the program was opened without a compiler; help: open it with an `Arch`, \
         which brings its compiler, or give it exported kernels"
    )]
    NoCompiler {
        /// The name of the kernel.
        kernel: String,
    },
    /// A launch failed at the device.
    #[error(
        "the launch of kernel `{kernel}` failed{}: {source}",
        if *.started { " after a part of it was enqueued, so that its outputs are undefined" } else { "" }
    )]
    Launch {
        /// The name of the kernel.
        kernel: String,
        /// Whether some of its tasks had been enqueued: then its outputs are undefined.
        started: bool,
        /// The error of the driver or of the runtime.
        #[source]
        source: quadrants_runtime::Error,
    },
    /// A kernel reported an error while it ran. The outputs of its launch are undefined.
    #[error(transparent)]
    Kernel(#[from] Box<KernelError>),
    /// The CPU body of a kernel panicked.
    #[error("kernel `{kernel}` ({file}{}) panicked: {message}", line.map(|line| format!(":{line}")).unwrap_or_default())]
    Panicked {
        /// The name of the kernel.
        kernel: String,
        /// The source file of the kernel.
        file: String,
        /// The source line of the loop that panicked; none if serial code did. The panic's own message on standard
        /// error names the statement.
        line: Option<u32>,
        /// The panic's message.
        message: String,
    },
    /// With these arguments, two iterations of a loop or two blocks of a region may access the same element, and one of
    /// the accesses writes. Nothing was launched.
    #[error(
        "kernel `{kernel}` ({file}:{line}) may race on `{tensor}` with these arguments: its accesses in \
         {} may access the same element at the same time; {reason}", lines_text(.lines)
    )]
    Race {
        /// The name of the kernel.
        kernel: String,
        /// The source file.
        file: String,
        /// The line of the loop, or of the block's first statement.
        line: u32,
        /// The tensor parameter, the shared array of a block, or the indexed local value.
        tensor: String,
        /// The lines of the two accesses; equal for an access that races with itself.
        lines: [u32; 2],
        /// Why they may.
        reason: Box<RaceReason>,
    },
    /// A launch on another stream uses the same memory, one of the two writes it, and nothing orders them; under
    /// [`Hazards::Check`](crate::Hazards::Check). Nothing was launched.
    #[error("{0}")]
    Hazard(Box<Hazard>),
    /// Two blocks of a region use the same memory, and one of them writes it. Nothing of the later operation was
    /// submitted; what its block submitted before is joined with the region.
    #[error(
        "`{}` ({}) {} `{}` in a block of a region, and `{}` ({}) {} the same memory as `{}` in another one; help: put both \
         into one block, or give each block memory of its own",
        .0.later.kernel, .0.later.at, .0.later.does(), .0.later.parameter,
        .0.earlier.kernel, .0.earlier.at, .0.earlier.does(), .0.earlier.parameter
    )]
    RegionConflict(Box<Hazard>),
    /// The environment variable for hazards is not `explicit`, `report`, `check` or `auto`.
    #[error(
        "{HAZARDS_VARIABLE} is `{name}`; help: set it to `explicit`, `report`, `check` or `auto`"
    )]
    UnknownHazards {
        /// The value of the variable.
        name: String,
    },
    /// The environment variable for graphs or for autotuning is not `on` or `off`.
    #[error("{variable} is `{name}`; help: set it to `on` or `off`")]
    UnknownSwitch {
        /// The variable.
        variable: &'static str,
        /// The value of the variable.
        name: String,
    },
    /// The kernel does not accept an argument of a launch.
    #[error(
        "argument {position} of kernel `{kernel}` is {given}, but the kernel takes {expected}; help: pass the arguments in \
         the order and with the types of the kernel's parameters"
    )]
    Argument {
        /// The name of the kernel.
        kernel: String,
        /// The argument's position, from 1.
        position: usize,
        /// The argument's type.
        given: String,
        /// The parameter's type.
        expected: String,
    },
    /// The caller expects another type of value than the kernel returns. Nothing was launched.
    #[error(
        "kernel `{kernel}` returns {returns}, but the launch expects {asked}; help: launch it as a kernel that returns \
         {returns}"
    )]
    ResultType {
        /// The name of the kernel.
        kernel: String,
        /// The expected type, or `nothing`.
        asked: String,
        /// The type of the kernel's value, or `nothing`.
        returns: String,
    },
    /// Too many kernels exist at once.
    #[error(
        "kernel `{kernel}` cannot be launched: a process has at most {limit} kernels at once; help: drop kernels that were \
         made at run time, or use them again"
    )]
    TooManyKernels {
        /// The name of the kernel.
        kernel: String,
        /// The largest number of kernels.
        limit: u32,
    },
    /// A kernel is launched by the compiler that compiles it.
    #[error(
        "kernel `{kernel}` is launched inside the compiler that compiles it; help: launch it after `compile` has returned"
    )]
    NestedCompilation {
        /// The kernel's name.
        kernel: String,
    },
    /// A launch has no program: no tensor argument, no stream and no enclosing stream scope.
    #[error("kernel `{kernel}` has no tensor argument; help: launch it on a stream")]
    NoProgram {
        /// The name of the kernel.
        kernel: String,
    },
    /// An object of another program was used, which may be on another device.
    #[error("{what}{}", other_program(.what, .user, .belongs_to, .used_on))]
    OtherProgram {
        /// The object.
        what: &'static str,
        /// The kernel or foreign operation whose argument it is.
        user: Option<Box<str>>,
        /// The device of its program.
        belongs_to: Box<DeviceName>,
        /// The device of the program that it was used in.
        used_on: Box<DeviceName>,
    },
    /// The number of elements is not that of the shape.
    #[error(
        "the shape {shape:?} has {expected} elements, but {given} were given; help: pass {expected} elements, or a shape of \
         {given} elements"
    )]
    Shape {
        /// The shape.
        shape: Vec<usize>,
        /// The number of elements of the shape.
        expected: usize,
        /// The number of given elements.
        given: usize,
    },
    /// A range or row is not inside the first axis of a tensor.
    #[error(
        "{begin}..{end} is not inside the first axis of a tensor of shape {shape:?}; help: use a range within 0..{}",
        shape.first().copied().unwrap_or_default()
    )]
    Range {
        /// The range's start.
        begin: usize,
        /// The range's end.
        end: usize,
        /// The tensor's shape.
        shape: Vec<usize>,
    },
    /// A part of a tensor cannot be taken, or cannot be used as it is.
    #[error(transparent)]
    View(ViewProblem),
    /// An index is not inside a tensor.
    #[error(
        "the index {index:?} is not inside a tensor of shape {shape:?}; help: {}", index_help(.index, .shape)
    )]
    Index {
        /// The index.
        index: Vec<usize>,
        /// The tensor's shape.
        shape: Vec<usize>,
    },
    /// A tensor was copied into one of another shape.
    #[error(
        "a tensor of shape {from:?} cannot be copied into one of shape {to:?}; help: `reshape` or `slice` one of them"
    )]
    CopyShape {
        /// The shape of the copied tensor.
        from: Vec<usize>,
        /// The shape of the other tensor.
        to: Vec<usize>,
    },
    /// A tensor of structs was copied into one of another memory layout.
    #[error(
        "a tensor with the layout {from:?} cannot be copied into one with the layout {to:?}; help: copy it in a kernel"
    )]
    CopyLayout {
        /// The layout of the copied tensor.
        from: Layout,
        /// The layout of the other tensor.
        to: Layout,
    },
    /// Memory of other code cannot be a tensor of this program.
    #[error("the memory at {address:#x} cannot be a tensor of shape {shape:?}: {problem}")]
    ForeignMemory {
        /// The address.
        address: u64,
        /// The shape.
        shape: Vec<usize>,
        /// Why not.
        problem: ForeignMemoryProblem,
    },
    /// A tensor cannot be shared with other libraries by DLPack.
    #[error("the tensor cannot be shared by DLPack: {0}")]
    Dlpack(DlpackProblem),
    /// An axis of an array of `ndarray` runs backwards, or two indices have one element.
    #[error(
        "an array of shape {shape:?} has the strides {strides:?}: they must be positive, and no two indices have one \
         element; help: use `as_standard_layout`, or `Program::tensor_from_array`, which copies it"
    )]
    ArrayStrides {
        /// The shape of the array.
        shape: Vec<usize>,
        /// Its strides, in elements.
        strides: Vec<isize>,
    },
    /// A `.npy` file cannot be read or written.
    #[error("`{}`: {problem}", path.display())]
    Npy {
        /// The file.
        path: std::path::PathBuf,
        /// Why not.
        #[source]
        problem: NpyProblem,
    },
    /// An operation needs a tensor in device memory, and was given a host array.
    #[error(
        "{what} needs a tensor in device memory, but was given a host array; help: copy the array to a tensor with \
         `Program::tensor_from`"
    )]
    HostArray {
        /// The operation.
        what: &'static str,
    },
    /// The tensor of a slice was moved out of its [`SliceMut`](crate::SliceMut), and cannot be used elsewhere.
    #[error(
        "a tensor was moved out of its slice, and cannot be used elsewhere; help: pass `&mut *slice`, and do not swap or \
         move the tensor out of a `SliceMut`"
    )]
    MovedSlice,
    /// A tensor of indices has an element twice.
    #[error(
        "elements {} and {} of the tensor are both {value}, but all must differ; help: correct the elements, or write by an atomic",
        positions[0], positions[1]
    )]
    NotDistinct {
        /// The element.
        value: String,
        /// Its first two positions, in row-major order.
        positions: [usize; 2],
    },
    /// A captured graph writes a tensor, so that its elements may change at any launch of the graph.
    #[error(
        "a captured graph writes this tensor, so its elements may not stay distinct; help: copy them to a tensor that no graph writes"
    )]
    WrittenByGraph,
    /// A graph relies on the distinct elements of a tensor that was written since they were checked.
    #[error(
        "a launch of the graph relies on the distinct elements of `{parameter}` of kernel `{kernel}`, which was written since; help: call `distinct` again after the write"
    )]
    NoLongerDistinct {
        /// The name of the kernel.
        kernel: String,
        /// The name of the parameter.
        parameter: String,
    },
    /// A tensor of that shape is larger than any memory.
    #[error("a tensor of shape {shape:?} is too large for any memory; help: use a smaller shape")]
    TooLarge {
        /// The shape.
        shape: Vec<usize>,
    },
    /// No backend of this build has that name.
    #[error("unknown backend `{name}`; help: use one of this build ({}), or build with the feature of the backend", .known.join(", "))]
    UnknownBackend {
        /// The name.
        name: String,
        /// The names of this build's backends.
        known: Vec<&'static str>,
    },
    /// Other code captures the stream, which was made by other code, too. The work of a program has stamps and
    /// lifetimes that such a capture does not know. Nothing was enqueued, and the capture goes on.
    #[error(
        "other code captures the stream {stream:#x}, and cannot capture the work of this program; help: enqueue it \
         before or after the capture, or make a graph by `Program::capture`"
    )]
    ForeignCapture {
        /// The driver's handle of the stream.
        stream: u64,
    },
    /// An operation during a capture cannot be captured. It had no effect, and the capture can go on.
    #[error("{what} cannot be captured; help: {}", captured::help(.what))]
    Capture {
        /// The operation.
        what: &'static str,
    },
    /// No launch of a graph has an argument with that name.
    #[error("no launch of the graph has an argument `{name}`; help: use one of {}", .known.join(", "))]
    UnknownArgument {
        /// The name.
        name: String,
        /// The full names of all arguments.
        known: Vec<String>,
    },
    /// With the given tensor, two arguments of a graph's launch share memory, and one of them is written. Nothing was
    /// launched.
    #[error(
        "the arguments `{}` and `{}` of kernel `{kernel}` share memory, and one of them is written; help: pass \
         different memory to them", .parameters[0],
        .parameters[1]
    )]
    Overlap {
        /// The name of the kernel.
        kernel: String,
        /// The parameters.
        parameters: [String; 2],
    },
    /// A loop's bounds or a launch's grid exceed a limit.
    #[error("kernel `{kernel}`: {what}")]
    Grid {
        /// The name of the kernel.
        kernel: String,
        /// What exceeds which limit.
        what: String,
    },
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !f.alternate() {
            return write_lines(self, f);
        }
        macro_rules! fields {
            ($($one:ident)*; $($name:ident { $($field:ident),* })*) => {
                match self {
                    $(Self::$one(inner) => f.debug_tuple(stringify!($one)).field(inner).finish(),)*
                    $(Self::$name { $($field),* } => f
                        .debug_struct(stringify!($name))
                        $(.field(stringify!($field), $field))*
                        .finish(),)*
                    Self::MovedSlice => f.write_str("MovedSlice"),
                    Self::WrittenByGraph => f.write_str("WrittenByGraph"),
                    Self::ProfileActive => f.write_str("ProfileActive"),
                }
            };
        }
        fields! {
            Runtime Kernels Kernel Hazard RegionConflict Dlpack View;
            Build { kernel, source }
            Asserted { kernel, line }
            LocalMemory { kernel, bytes, limit }
            SharedMemory { kernel, line, bytes, limit }
            Compile { kernel, source }
            NotExported { kernel, arch, files, source }
            NotKept { arch }
            UnknownTarget { name }
            NoCompiler { kernel }
            Launch { kernel, started, source }
            Panicked { kernel, file, line, message }
            Race { kernel, file, line, tensor, lines, reason }
            UnknownHazards { name }
            UnknownSwitch { variable, name }
            Argument { kernel, position, given, expected }
            ResultType { kernel, asked, returns }
            TooManyKernels { kernel, limit }
            NestedCompilation { kernel }
            NoProgram { kernel }
            OtherProgram { what, user, belongs_to, used_on }
            Shape { shape, expected, given }
            Range { begin, end, shape }
            Index { index, shape }
            CopyShape { from, to }
            CopyLayout { from, to }
            HostArray { what }
            ArrayStrides { shape, strides }
            Npy { path, problem }
            ForeignMemory { address, shape, problem }
            NotDistinct { value, positions }
            NoLongerDistinct { kernel, parameter }
            TooLarge { shape }
            UnknownBackend { name, known }
            ForeignCapture { stream }
            Capture { what }
            UnknownArgument { name, known }
            Overlap { kernel, parameters }
            Grid { kernel, what }
            Trace { path, source }
            TraceFormat { what }
        }
    }
}

/// " of `saxpy` belongs to a program on cuda device 1 (..), but is used on cuda device 0 (..)"
fn other_program(what: &str, user: &Option<Box<str>>, of: &DeviceName, on: &DeviceName) -> String {
    let user = user.as_ref().map_or_else(String::new, |user| format!(" of `{user}`"));
    let place = match of == on {
        true => format!("another program on {of}"),
        false => format!("a program on {of}, but is used on {on}"),
    };
    let remedy = if what.contains("tensor") {
        "; help: copy it with `copy_to`"
    } else {
        "; help: use objects of one program together"
    };
    format!("{user} belongs to {place}{remedy}")
}

/// "use an index less than 4 on axis 1"
fn index_help(index: &[usize], shape: &[usize]) -> String {
    let outside = index.iter().zip(shape).position(|(index, extent)| index >= extent);
    match outside.map(|axis| (axis, shape[axis])) {
        Some((axis, 0)) => format!("axis {axis} has no elements, so use no index"),
        Some((axis, extent)) => format!("use an index less than {extent} on axis {axis}"),
        None => "use one index for each axis".to_owned(),
    }
}

/// "line 12", "lines 12 and 14"
fn lines_text(lines: &[u32; 2]) -> String {
    match lines {
        [one, other] if one == other => format!("line {one}"),
        [one, other] => format!("lines {one} and {other}"),
    }
}

/// Writes an error, its causes and the remedies, each on a line. The text of an error ends in that of its cause, or in
/// that of its cause and a remedy. `; help: ` begins a remedy.
fn write_lines(error: &dyn std::error::Error, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let (mut text, mut source) = (error.to_string(), error.source());
    // The remedies of the causes that are written, the innermost first.
    let mut remedies = String::new();
    while let Some(cause) = source {
        let inner = cause.to_string();
        if let Some((own, remedy)) = text.rsplit_once(&inner)
            && !own.is_empty()
            && (remedy.is_empty() || remedy.starts_with("; help: "))
        {
            let own = own.trim_end();
            write!(f, "{}\n  caused by: ", own.strip_suffix(':').unwrap_or(own))?;
            remedies.insert_str(0, remedy);
            text = inner;
        }
        source = cause.source();
    }
    f.write_str(&(text + &remedies).replace("; help: ", "\n  help: "))
}

impl From<quadrants_rhi::Error> for Error {
    fn from(error: quadrants_rhi::Error) -> Self {
        Self::Runtime(error.into())
    }
}

impl Error {
    /// Whether a kernel could not be compiled because there is no compiler.
    pub(crate) fn has_no_compiler(&self) -> bool {
        match self {
            Self::Compile { source, .. } => {
                matches!(source, quadrants_codegen::Error::CompilerNotFound { .. })
            }
            Self::NotExported { .. } | Self::NoCompiler { .. } => true,
            _ => false,
        }
    }

    /// How severe the error is: what cannot be used any more after it.
    ///
    /// # Examples
    /// ```
    /// use quadrants_program::{Error, Severity};
    /// let error = Error::NoProgram { kernel: "step".into() };
    /// assert_eq!(error.severity(), Severity::Recoverable);
    /// ```
    #[must_use]
    pub fn severity(&self) -> Severity {
        match self {
            Self::Runtime(e) => e.severity(),
            Self::Launch { started: true, source, .. } => source.severity().max(Severity::LostData),
            Self::Launch { source, .. } => source.severity(),
            Self::Kernel(_) | Self::Panicked { .. } => Severity::LostData,
            _ => Severity::Recoverable,
        }
    }
}

/// Why two accesses may race.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum RaceReason {
    /// The tickets of a counter would separate the accesses, but may repeat.
    CounterOverflow(CounterOverflow),
    /// Two iterations that access the same element.
    Example(RaceExample),
    /// What prevents the proof: a value that only the device knows, or an operation that is not followed.
    Unproven(String),
}

impl fmt::Display for RaceReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CounterOverflow(overflow) => overflow.fmt(f),
            Self::Example(example) => example.fmt(f),
            Self::Unproven(cause) => f.write_str(cause),
        }
    }
}

/// Two iterations that access the same element.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RaceExample {
    /// The names of the loop's variables.
    pub variables: Vec<String>,
    /// Their values in the two iterations.
    pub iterations: [Vec<i128>; 2],
    /// The tensor or shared array.
    pub tensor: String,
    /// The indices of the element.
    pub element: Vec<i128>,
}

impl fmt::Display for RaceExample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { variables, iterations: [first, second], tensor, element } = self;
        let element = match &element[..] {
            [at] => at.to_string(),
            element => format!("{element:?}"),
        };
        match (&variables[..], &first[..], &second[..]) {
            ([name], [first], [second]) => {
                write!(f, "for example, `{name}` = {first} and `{name}` = {second}")?;
            }
            _ => {
                let list = |values: &[i128]| {
                    values.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
                };
                let (names, first, second) = (variables.join("`, `"), list(first), list(second));
                write!(f, "for example, (`{names}`) = ({first}) and ({second})")?;
            }
        }
        write!(
            f,
            " both access `{tensor}[{element}]`; help: launch with other arguments, or access an element by one iteration \
             only"
        )
    }
}

/// A counter whose tickets may repeat within a launch.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CounterOverflow {
    /// The counter's tensor.
    pub tensor: String,
    /// Its size in bits.
    pub bits: u32,
    /// The largest sum of the amounts added; none where the iterations of an inner loop have no limit, or an amount
    /// may be negative.
    pub draws: Option<u128>,
    /// Whether an amount may be negative.
    pub may_decrease: bool,
}

impl fmt::Display for CounterOverflow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { tensor, bits, draws, may_decrease } = self;
        if *may_decrease {
            return write!(
                f,
                "an amount that is added to an element of `{tensor}` may be negative, so that `atomic_add` may return \
                 a value twice; help: add an amount that is bounded from below, as `n.max(0)` is, or of an unsigned type"
            );
        }
        match draws {
            Some(draws) => {
                write!(f, "the launch may add up to {draws} to an element of `{tensor}`")?
            }
            None => write!(f, "what a launch may add to an element of `{tensor}` has no limit")?,
        }
        write!(
            f,
            ", and the values that `atomic_add` returns from a counter of {bits} bits repeat after \
             2^{bits}; help: use a 64-bit counter, or limit the loops around it"
        )
    }
}
