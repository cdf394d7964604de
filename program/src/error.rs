//! What can go wrong with a program, in types, and what each error leaves behind.

use std::fmt;

use quadrants_ir::{Offloaded, Site, SiteKind, abi::ErrorRecord};
use quadrants_rhi::Severity;

use crate::{GRAPHS_VARIABLE, HAZARDS_VARIABLE, Hazard, body::resolve_site};

/// An error of any kind that the frontend gives.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// A result with this crate's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What can go wrong with a program.
///
/// `{}` prints the full reason: what happened, where, and what to do. So does `{:?}`, which is what a `main` that returns
/// the error shows; `{:#?}` prints the fields. An error's text has that of its [`source`](std::error::Error::source) in
/// it, so that who prints the one need not print the other.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The device, or the runtime around it.
    #[error(transparent)]
    Runtime(#[from] quadrants_runtime::Error),
    /// A kernel's IR could not be made.
    #[error("kernel `{kernel}` cannot be built: {source}")]
    Build {
        /// The kernel.
        kernel: String,
        /// Why.
        #[source]
        source: BoxError,
    },
    /// A kernel made at run time asserts that an access does not race, which is `unsafe` to believe.
    #[error(
        "kernel `{kernel}` asserts in line {line} that it does not race; `unsafe {{ Kernel::asserting(..) }}` takes it"
    )]
    Asserted {
        /// The kernel.
        kernel: String,
        /// The line of the first such access.
        line: u32,
    },
    /// A kernel could not be compiled for the device.
    #[error("kernel `{kernel}` cannot be compiled: {source}")]
    Compile {
        /// The kernel.
        kernel: String,
        /// Why: [`CompilerNotFound`](quadrants_codegen::Error::CompilerNotFound) names the places
        /// searched.
        #[source]
        source: quadrants_codegen::Error,
    },
    /// No file of exported kernels has a kernel for the device, and there is no compiler.
    #[error(
        "kernel `{kernel}` for `{arch}` is not among the exported kernels of {}, and cannot be compiled: {source}",
        files.join(", ")
    )]
    NotExported {
        /// The kernel.
        kernel: String,
        /// The device's architecture.
        arch: String,
        /// The files that were asked, with the architectures in each.
        files: Vec<String>,
        /// Why it cannot be compiled, with the places searched.
        #[source]
        source: Box<quadrants_codegen::Error>,
    },
    /// A file of exported kernels cannot be used, or not be written.
    #[error(transparent)]
    Kernels(#[from] quadrants_runtime::BundleError),
    /// Kernels cannot be exported for an architecture: images of its compiler would not be found again.
    #[error("kernels for `{arch}` cannot be exported: its compiler's images are not kept")]
    NotKept {
        /// The architecture.
        arch: String,
    },
    /// No backend compiles for an architecture of that name, or it was not built in.
    #[error(
        "no backend of this build compiles for `{name}`; names are like `sm_90`, `compute_90` and `gfx90a`"
    )]
    UnknownTarget {
        /// The name.
        name: String,
    },
    /// The device takes compiled images, and the program was opened without a compiler.
    #[error("kernel `{kernel}` needs a compiler, and the program was opened without one")]
    NoCompiler {
        /// The kernel.
        kernel: String,
    },
    /// A launch failed at the device.
    #[error(
        "the launch of `{kernel}` failed{}: {source}",
        if *.started { " half-way, so that what it writes is undefined" } else { "" }
    )]
    Launch {
        /// The kernel.
        kernel: String,
        /// Whether some of its tasks had been enqueued: then what it writes is undefined.
        started: bool,
        /// Why.
        #[source]
        source: quadrants_runtime::Error,
    },
    /// A kernel reported an error while it ran. What its launch wrote is undefined.
    #[error(transparent)]
    Kernel(#[from] Box<KernelError>),
    /// The body of a kernel panicked on the CPU.
    #[error("kernel `{kernel}` panicked: {message}")]
    Panicked {
        /// The kernel.
        kernel: String,
        /// The panic's message.
        message: String,
    },
    /// With these arguments the kernel would race with itself: two iterations of a loop, or two blocks
    /// of a region, may touch one element at a time, one of them writing. Nothing was launched.
    #[error(
        "kernel `{kernel}` ({file}:{line}) may race on `{tensor}` with these arguments: its accesses in \
         lines {} and {} may touch one element at the same time{}", .lines[0], .lines[1],
        .counter.as_ref().map_or(String::new(), |overflow| format!("; {overflow}"))
    )]
    Race {
        /// The kernel.
        kernel: String,
        /// The source file.
        file: String,
        /// The line of the loop, or of the block's first statement.
        line: u32,
        /// The tensor parameter, or the array that a block's threads share.
        tensor: String,
        /// The lines of the two accesses; of an access that races with itself, twice the same.
        lines: [u32; 2],
        /// Where the numbers of a counter would keep the accesses apart: why they do not.
        counter: Option<Box<CounterOverflow>>,
    },
    /// Another stream's launch uses the same memory, one of the two writes it, and nothing orders them: under
    /// [`Hazards::Check`](crate::Hazards::Check). Nothing was launched.
    #[error("{0}")]
    Hazard(Box<Hazard>),
    /// The environment asks for something else about hazards than `explicit`, `report`, `check` or `auto`.
    #[error(
        "`{name}` in {HAZARDS_VARIABLE} is not one of `explicit`, `report`, `check` and `auto`"
    )]
    UnknownHazards {
        /// What it says.
        name: String,
    },
    /// The environment asks for something else about graphs than `on` or `off`.
    #[error("`{name}` in {GRAPHS_VARIABLE} is not one of `on` and `off`")]
    UnknownGraphs {
        /// What it says.
        name: String,
    },
    /// A launch's arguments do not fit the kernel's parameters.
    #[error("argument {position} of kernel `{kernel}` is {given}, but the kernel takes {expected}")]
    Argument {
        /// The kernel.
        kernel: String,
        /// The argument's position, from 1.
        position: usize,
        /// What was given.
        given: String,
        /// What the kernel takes.
        expected: String,
    },
    /// The kernel's value was asked for by another type than its own. Nothing was launched.
    #[error("kernel `{kernel}` returns {returns}, but {asked} was asked for")]
    ResultType {
        /// The kernel.
        kernel: String,
        /// The type asked for, or `nothing`.
        asked: String,
        /// The type of the kernel's value, or `nothing`.
        returns: String,
    },
    /// More kernels exist at once than launches can tell apart.
    #[error("kernel `{kernel}` cannot be launched: a process has at most {limit} kernels at once")]
    TooManyKernels {
        /// The kernel.
        kernel: String,
        /// The most there can be.
        limit: u32,
    },
    /// A launch names no program: it has no tensor, no stream and no enclosing stream scope.
    #[error("kernel `{kernel}` has no tensor argument; launch it on a stream")]
    NoProgram {
        /// The kernel.
        kernel: String,
    },
    /// Something of another program was used.
    #[error("{what} belongs to another program")]
    OtherProgram {
        /// What.
        what: &'static str,
    },
    /// A shape has not as many elements as the data.
    #[error("the shape {shape:?} has {expected} elements, but {given} were given")]
    Shape {
        /// The shape.
        shape: Vec<usize>,
        /// How many elements it has.
        expected: usize,
        /// How many were given.
        given: usize,
    },
    /// A range or row is not within a tensor's first axis.
    #[error("{begin}..{end} is not within the first axis of a tensor of shape {shape:?}")]
    Range {
        /// Its begin.
        begin: usize,
        /// Its end.
        end: usize,
        /// The tensor's shape.
        shape: Vec<usize>,
    },
    /// A tensor that stands for a part of another was swapped out of its [`SliceMut`](crate::SliceMut):
    /// it can be used nowhere else.
    #[error("a tensor was moved out of the slice that it stands for")]
    MovedSlice,
    /// A tensor of that shape is larger than memory can be.
    #[error("a tensor of shape {shape:?} is too large")]
    TooLarge {
        /// The shape.
        shape: Vec<usize>,
    },
    /// No backend has that name, or it was not built in.
    #[error("unknown backend `{name}`: this build has {}", .known.join(", "))]
    UnknownBackend {
        /// The name.
        name: String,
        /// The names that there are.
        known: Vec<&'static str>,
    },
    /// Something that a graph cannot do stands in a capture. Nothing was done, and the capture can go on.
    #[error("{what} cannot be captured")]
    Capture {
        /// What.
        what: &'static str,
    },
    /// No launch of a graph has an argument of that name.
    #[error("no launch of the graph has an argument `{name}`: there is {}", .known.join(", "))]
    UnknownArgument {
        /// The name.
        name: String,
        /// The full names that there are.
        known: Vec<String>,
    },
    /// With the tensor that was given, two arguments of a graph's launch share memory that it writes. Nothing was
    /// launched.
    #[error(
        "the arguments `{}` and `{}` of kernel `{kernel}` share memory, and one of them is written", .parameters[0],
        .parameters[1]
    )]
    Overlap {
        /// The kernel.
        kernel: String,
        /// The parameters.
        parameters: [String; 2],
    },
    /// A loop's bounds or a launch's grid do not fit the device.
    #[error("kernel `{kernel}`: {what}")]
    Grid {
        /// The kernel.
        kernel: String,
        /// What does not fit.
        what: String,
    },
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !f.alternate() {
            return fmt::Display::fmt(self, f);
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
                }
            };
        }
        fields! {
            Runtime Kernels Kernel Hazard;
            Build { kernel, source }
            Asserted { kernel, line }
            Compile { kernel, source }
            NotExported { kernel, arch, files, source }
            NotKept { arch }
            UnknownTarget { name }
            NoCompiler { kernel }
            Launch { kernel, started, source }
            Panicked { kernel, message }
            Race { kernel, file, line, tensor, lines, counter }
            UnknownHazards { name }
            UnknownGraphs { name }
            Argument { kernel, position, given, expected }
            ResultType { kernel, asked, returns }
            TooManyKernels { kernel, limit }
            NoProgram { kernel }
            OtherProgram { what }
            Shape { shape, expected, given }
            Range { begin, end, shape }
            TooLarge { shape }
            UnknownBackend { name, known }
            Capture { what }
            UnknownArgument { name, known }
            Overlap { kernel, parameters }
            Grid { kernel, what }
        }
    }
}

impl From<quadrants_rhi::Error> for Error {
    fn from(error: quadrants_rhi::Error) -> Self {
        Self::Runtime(error.into())
    }
}

impl Error {
    /// What the error leaves behind.
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

/// A counter that a launch may count up so often that its numbers come again.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CounterOverflow {
    /// The counter's tensor.
    pub tensor: String,
    /// How many bits it has.
    pub bits: u32,
    /// How often it is counted up at most; none where an inner loop may have any number of iterations.
    pub draws: Option<u128>,
}

impl fmt::Display for CounterOverflow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { tensor, bits, draws } = self;
        match draws {
            Some(draws) => write!(f, "the launch may count up in `{tensor}` {draws} times")?,
            None => write!(f, "nothing limits how often the launch counts up in `{tensor}`")?,
        }
        write!(
            f,
            ", and the numbers of a counter of {bits} bits come again after 2^{bits}: count in 64 bits, or limit the loops \
             around it"
        )
    }
}

/// What a kernel reported while it ran, with the launch that caused it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub struct KernelError {
    /// The kernel.
    pub kernel: String,
    /// Its source file.
    pub file: String,
    /// The source line; 0 where it is unknown.
    pub line: u32,
    /// The column; 0 where it is unknown.
    pub column: u32,
    /// The number of the launch within the program, from 1.
    pub launch: u64,
    /// What happened.
    pub cause: KernelErrorCause,
}

/// What a kernel reported.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum KernelErrorCause {
    /// An index was out of range.
    Index {
        /// The tensor parameter, or the array that a block's threads share.
        tensor: String,
        /// The index.
        index: Vec<u64>,
        /// The tensor's shape.
        shape: Vec<u64>,
    },
    /// An `assert!` failed.
    Assert {
        /// Its message, or the text of its condition.
        message: String,
    },
    /// An integer was divided by zero.
    DivideByZero,
    /// A parallel loop, whose bounds the device computed, had more iterations than any loop has: one
    /// of the bounds has wrapped, as `0..n - 1` does where `n` is 0. The loop ran nothing.
    Bounds {
        /// How many, per dimension.
        iterations: Vec<u64>,
    },
    /// The record names no site of the kernel: device memory was overwritten.
    Unknown {
        /// The site's number.
        site: u32,
    },
}

impl fmt::Display for KernelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "kernel `{}` ({}:{}): ", self.kernel, self.file, self.line)?;
        match &self.cause {
            KernelErrorCause::Index { tensor, index, shape } => {
                write!(f, "index {index:?} of `{tensor}` is out of range for its shape {shape:?}")
            }
            KernelErrorCause::Assert { message } => write!(f, "assertion failed: {message}"),
            KernelErrorCause::DivideByZero => write!(f, "division by zero"),
            KernelErrorCause::Bounds { iterations } => {
                write!(f, "the loop has {iterations:?} iterations: one of its bounds has wrapped")
            }
            KernelErrorCause::Unknown { site } => write!(f, "an error at the unknown site {site}"),
        }
    }
}

impl KernelErrorCause {
    /// What `record` says of `kernel`, and the site that it speaks of.
    pub(crate) fn decode<'a>(
        kernel: &'a Offloaded,
        record: &ErrorRecord,
    ) -> (Self, Option<&'a Site>) {
        let Some(site) = resolve_site(record, &kernel.sites) else {
            return (Self::Unknown { site: record.site }, None);
        };
        let at = &kernel.sites[site.index()];
        let values = &record.values[..(record.count as usize).min(record.values.len())];
        let cause = match &at.kind {
            SiteKind::Assert { message } => Self::Assert { message: message.clone() },
            SiteKind::DivideByZero => Self::DivideByZero,
            SiteKind::Bounds => Self::Bounds { iterations: values.to_vec() },
            SiteKind::SharedIndex(array) => {
                let (index, shape) = values.split_at(values.len() / 2);
                Self::Index {
                    tensor: kernel.locals[*array].name.clone(),
                    index: index.to_vec(),
                    shape: shape.to_vec(),
                }
            }
            SiteKind::Index(param) => {
                let param = &kernel.params[param.index()];
                let (mut index, mut shape) = values.split_at(values.len() / 2);
                let rank = usize::from(param.kind.rank());
                let mut tensor = param.tensor();
                if rank < index.len() {
                    // A component's index is that of the element, and which of its scalars.
                    let beyond =
                        index.iter().zip(shape).take(rank).any(|(at, extent)| at >= extent);
                    let wrong = if beyond { 0..rank } else { rank..index.len() };
                    (index, shape) = (&index[wrong.clone()], &shape[wrong]);
                    tensor = if beyond { tensor } else { &param.name };
                }
                Self::Index {
                    tensor: tensor.to_owned(),
                    index: index.to_vec(),
                    shape: shape.to_vec(),
                }
            }
        };
        (cause, Some(at))
    }
}
