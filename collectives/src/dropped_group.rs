//! [`Unrun`]: the report of a group that is dropped with operations.

use std::{panic::Location, sync::Arc, thread};

use quadrants_program::Program;

use crate::Error;

/// The operations of a group that is not run yet. If it is dropped with any, that is a deferred error. It borrows
/// nothing, so that a group may be dropped after its tensors.
#[derive(Debug, Default)]
pub(crate) struct Unrun {
    first: Option<First>,
    operations: usize,
}

/// The first operation.
#[derive(Debug)]
struct First {
    program: Program,
    operation: &'static str,
    at: &'static Location<'static>,
}

impl Unrun {
    /// Adds an operation.
    #[track_caller]
    pub(crate) fn add(&mut self, program: &Program, operation: &'static str) {
        self.operations += 1;
        if self.first.is_none() {
            self.first =
                Some(First { program: program.clone(), operation, at: Location::caller() });
        }
    }

    /// Forgets the operations: they are run, or an error is returned.
    pub(crate) fn clear(&mut self) {
        (self.first, self.operations) = (None, 0);
    }
}

impl Drop for Unrun {
    fn drop(&mut self) {
        let Some(First { program, operation: first, at }) = self.first.take() else { return };
        if !thread::panicking() {
            let operations = self.operations;
            program.defer_error(Arc::new(Error::NotRun { operations, first, at }));
        }
    }
}
