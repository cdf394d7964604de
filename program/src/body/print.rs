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
    format::{Argument, Format},
    types::Type,
};

use super::probe::Probe;
use crate::KernelValue;

/// The dimensions of a loop or grid, and one more.
const MOST_DIMS: usize = 4;

/// A type whose values `println!` prints in kernels.
#[diagnostic::on_unimplemented(
    message = "kernels cannot print a value of type `{Self}`",
    label = "neither a number nor a bool",
    note = "`println!` in kernels prints numbers and bools; print the parts of other values"
)]
pub trait Printed: KernelValue + Into<Const> {}

macro_rules! printed {
    ($($ty:ty)*) => { $(impl Printed for $ty {})* };
}

printed! { bool i8 i16 i32 i64 u8 u16 u32 u64 usize f16 f32 f64 }

/// The inferred type as the IR's, for an argument of `println!`.
#[must_use]
pub const fn printed_type_of<T: Printed>(_probe: &Probe<T>) -> Type {
    T::LAYOUT
}

/// An argument of `println!`.
#[inline(always)]
pub fn printed<T: Printed>(value: T) -> Const {
    value.into()
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

/// `println!` in a CPU body. The text has the positions of the values. Outside of kernels it prints at once.
#[cold]
#[inline(never)]
#[track_caller]
pub fn print(text: &str, values: &[Const]) {
    let position = |argument| match argument {
        Argument::Position(at) => Ok(at),
        Argument::Name(name) => Err(name),
    };
    // The macro has parsed the text.
    let text = Format::parse(text, position).unwrap_or_default().fill(values);
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
