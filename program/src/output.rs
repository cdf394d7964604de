//! What kernels print, and where it goes.

use std::{
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

/// What [`ProgramBuilder::print_to`](crate::ProgramBuilder::print_to) receives. `{}` is the line that is printed by
/// default, without a line break.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum KernelOutput {
    /// A message of a `println!`.
    Message(KernelMessage),
    /// Between two waits, a stream keeps 1024 messages; later ones are dropped.
    Dropped {
        /// The number of messages that were dropped.
        dropped: u64,
        /// The number of messages of the stream since the last wait for all of its work.
        of: u64,
    },
}

/// A message of a kernel.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct KernelMessage {
    /// The name of the kernel.
    pub kernel: String,
    /// The source file of the `println!`.
    pub file: String,
    /// The source line of the `println!`.
    pub line: u32,
    /// The loop variables of the parallel loop that it is in, outermost first; of a grid of blocks, the block's index.
    /// Empty in serial code.
    pub iteration: Vec<i64>,
    /// The text.
    pub text: String,
}

impl fmt::Display for KernelOutput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Message(message) => message.fmt(f),
            Self::Dropped { dropped, of } => {
                write!(f, "{dropped} of {of} messages of kernels were dropped")
            }
        }
    }
}

impl fmt::Display for KernelMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kernel, file, line, iteration, text } = self;
        write!(f, "{kernel} ({file}:{line})")?;
        match &iteration[..] {
            [] => {}
            [at] => write!(f, " at {at}")?,
            [first, rest @ ..] => {
                write!(f, " at ({first}")?;
                rest.iter().try_for_each(|at| write!(f, ", {at}"))?;
                f.write_str(")")?;
            }
        }
        write!(f, ": {text}")
    }
}

/// A callback for what kernels print.
type Callback = Arc<dyn Fn(&KernelOutput) + Send + Sync>;

/// Where a program's kernels print.
#[derive(Clone, Default)]
pub(crate) struct Printer(Option<Callback>);

impl Printer {
    pub(crate) fn to(callback: impl Fn(&KernelOutput) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(callback)))
    }

    /// Prints. A panic of the callback, or of a standard output that is closed, is only logged: a wait may be that of a
    /// drop.
    pub(crate) fn print(&self, output: &KernelOutput) {
        let printed = catch_unwind(AssertUnwindSafe(|| match &self.0 {
            Some(callback) => callback(output),
            None => println!("{output}"),
        }));
        if printed.is_err() {
            tracing::warn!(%output, "a message of a kernel could not be printed");
        }
    }
}

impl fmt::Debug for Printer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "callback" } else { "standard output" })
    }
}
