//! `println!` in CPU bodies.
//!
//! A kernel that prints runs its loops iteration by iteration, so that the iteration of a message is known: each thread
//! keeps it while it runs the iteration. Messages are filled in at once and left in the [`HostMessages`] of the
//! stream's error record, for the next wait.

use std::{
    cell::Cell,
    collections::HashMap,
    panic::Location,
    sync::{Arc, LazyLock},
};

use half::f16;
use parking_lot::Mutex;
use quadrants_ir::{
    Const,
    abi::{ErrorRecord, MessageBuffer},
    format::{Format, FormatArgument},
    types::Type,
};

use super::probe::Probe;
use crate::KernelValue;

/// The most numbers that identify an iteration in a message.
const MOST_DIMS: usize = 4;

/// A type whose values kernels print by `{}`.
#[diagnostic::on_unimplemented(
    message = "kernels cannot print a value of type `{Self}` by `{{}}`",
    label = "neither a number nor a bool",
    note = "print it by `{{:?}}`, as a derived `Debug` does, or print its parts"
)]
pub trait Printed: KernelValue {}

/// A type whose values kernels print by `{:e}` and `{:E}`.
#[diagnostic::on_unimplemented(
    message = "kernels cannot print a value of type `{Self}` by `{{:e}}`",
    label = "not a number"
)]
pub trait PrintedNumber: Printed {}

/// A type whose values kernels print by `{:x}`, `{:X}`, `{:b}` and `{:o}`.
#[diagnostic::on_unimplemented(
    message = "kernels cannot print a value of type `{Self}` by `{{:x}}`, `{{:b}}` or `{{:o}}`",
    label = "not an integer"
)]
pub trait PrintedInteger: PrintedNumber {}

macro_rules! implement {
    ($($trait:ident: $($ty:ty)*;)*) => { $($(
        #[diagnostic::do_not_recommend]
        impl $trait for $ty {}
    )*)* };
}

implement! {
    Printed: bool i8 i16 i32 i64 isize u8 u16 u32 u64 usize f16 f32 f64;
    PrintedNumber: i8 i16 i32 i64 isize u8 u16 u32 u64 usize f16 f32 f64;
    PrintedInteger: i8 i16 i32 i64 isize u8 u16 u32 u64 usize;
}

/// The inferred type as the IR's, for an argument of a text that is written by `{}`.
#[must_use]
pub const fn printed_type_of<T: Printed>(_probe: &Probe<T>) -> Type {
    T::LAYOUT
}

/// As [`printed_type_of`], for `{:e}`.
#[must_use]
pub const fn printed_number_type_of<T: PrintedNumber>(_probe: &Probe<T>) -> Type {
    T::LAYOUT
}

/// As [`printed_type_of`], for `{:x}`.
#[must_use]
pub const fn printed_integer_type_of<T: PrintedInteger>(_probe: &Probe<T>) -> Type {
    T::LAYOUT
}

/// An argument of a text.
#[derive(Debug)]
pub struct TextArgument {
    ty: Type,
    scalars: Vec<Const>,
}

/// An argument of a text.
#[cold]
#[inline(never)]
pub fn printed<T: KernelValue>(value: T) -> TextArgument {
    let mut scalars = Vec::new();
    value.push_scalars(&mut |scalar| scalars.push(scalar));
    TextArgument { ty: T::LAYOUT, scalars }
}

impl TextArgument {
    /// The scalars of arguments.
    pub(super) fn scalars(args: &[Self]) -> impl Iterator<Item = Const> {
        args.iter().flat_map(|arg| &arg.scalars).copied()
    }

    /// The text with the arguments in it. It has the positions of the arguments.
    pub(super) fn fill(text: &str, args: &[Self]) -> String {
        let position = |argument| match argument {
            FormatArgument::Position(at) => Ok(at),
            FormatArgument::Name(name) => Err(name),
        };
        // The macro has parsed the text.
        let format = Format::parse(text, position).unwrap_or_default();
        let types: Vec<Type> = args.iter().map(|arg| arg.ty).collect();
        let scalars: Vec<Const> = Self::scalars(args).collect();
        format.of_scalars(&types).fill(&scalars)
    }

    /// The argument as by `{:?}`.
    pub(super) fn debug(&self) -> String {
        Format::debug(0).of_scalars(&[self.ty]).fill(&self.scalars)
    }
}

/// The messages that CPU bodies left since the last wait for their stream.
#[derive(Debug, Default)]
pub(crate) struct HostMessages(Mutex<HostMessageList>);

/// The messages in order, and how many were dropped since there were too many.
#[derive(Debug, Default)]
pub(crate) struct HostMessageList {
    pub(crate) messages: Vec<HostMessage>,
    pub(crate) dropped: u64,
}

/// A message of a CPU body.
#[derive(Debug)]
pub(crate) struct HostMessage {
    pub(crate) launch: u64,
    pub(crate) file: &'static str,
    pub(crate) line: u32,
    pub(crate) iteration: Vec<i64>,
    pub(crate) text: String,
}

/// Where a thread leaves the messages of the code that it runs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Printer {
    /// The address of the error record.
    record: usize,
    launch: u64,
    iteration: [i64; MOST_DIMS],
    dims: usize,
}

/// Restores the printer of this thread on drop.
pub(super) struct PrinterGuard(Option<Printer>);

thread_local! {
    static PRINTER: Cell<Option<Printer>> = const { Cell::new(None) };
}

/// By the address of the stream's error record.
static ALL: LazyLock<Mutex<HashMap<usize, Arc<HostMessages>>>> = LazyLock::new(Mutex::default);

impl HostMessages {
    /// Makes this the place for messages of launches with this error record.
    pub(crate) fn register(self: &Arc<Self>, record: u64) {
        ALL.lock().insert(record as usize, self.clone());
    }

    /// Ends [`register`](Self::register).
    pub(crate) fn unregister(record: u64) {
        ALL.lock().remove(&(record as usize));
    }

    pub(crate) fn take(&self) -> HostMessageList {
        std::mem::take(&mut self.0.lock())
    }

    fn push(&self, message: HostMessage) {
        let mut list = self.0.lock();
        if list.messages.len() < MessageBuffer::MESSAGES {
            list.messages.push(message);
        } else {
            list.dropped += 1;
        }
    }
}

impl Printer {
    pub(super) fn new(record: *mut ErrorRecord, launch: u64) -> Self {
        Self { record: record.addr(), launch, iteration: [0; MOST_DIMS], dims: 0 }
    }

    /// This thread's printer in an iteration.
    pub(super) fn at(mut self, iteration: &[i64]) -> Self {
        self.dims = iteration.len().min(MOST_DIMS);
        self.iteration[..self.dims].copy_from_slice(&iteration[..self.dims]);
        self
    }

    /// Makes this the thread's printer until the guard is dropped.
    #[cold]
    #[inline(never)]
    pub(super) fn enter(self) -> PrinterGuard {
        PrinterGuard(PRINTER.replace(Some(self)))
    }

    /// Changes the iteration of this thread's printer.
    #[cold]
    #[inline(never)]
    pub(super) fn move_to(iteration: &[i64]) {
        PRINTER.set(PRINTER.get().map(|printer| printer.at(iteration)));
    }
}

impl Drop for PrinterGuard {
    #[cold]
    #[inline(never)]
    fn drop(&mut self) {
        PRINTER.set(self.0);
    }
}

/// `println!` in a CPU body. The text has the positions of the arguments. Outside of kernels it prints at once.
#[cold]
#[inline(never)]
#[track_caller]
pub fn print(text: &str, args: &[TextArgument]) {
    let text = TextArgument::fill(text, args);
    let Some(Printer { record, launch, iteration, dims }) = PRINTER.get() else {
        println!("{text}");
        return;
    };
    let messages = ALL.lock().get(&record).cloned();
    if let Some(messages) = messages {
        let (at, iteration) = (Location::caller(), iteration[..dims].to_vec());
        let (file, line) = (at.file(), at.line());
        messages.push(HostMessage { launch, file, line, iteration, text });
    }
}
