//! Device errors of CPU bodies, and how they are written to the launch's error record.
//!
//! A body does not know the site numbers of the IR, but `#[track_caller]` gives its source location. So the record's
//! `site` holds [`LOCATION_SITE`] and the kind of error, its last two values hold line and column, and [`resolve_site`]
//! finds the site of that location.

use std::{
    any::Any,
    panic::{AssertUnwindSafe, Location, catch_unwind, resume_unwind},
    ptr,
    sync::atomic::{AtomicU32, Ordering},
};

use quadrants_ir::{
    Site, SiteId, SiteKind,
    abi::{ASSERT_VALUES, ErrorRecord, MAX_RANK},
    format::comparison_text,
};

use super::{
    index::along_axes,
    println::{Printer, TextArgument},
};
use crate::device_error::{ErrorKind, IN_BODY, RaisedError, raise};

/// The bit of [`ErrorRecord::site`] that marks an error of a CPU body: the low bits are the kind of error, and the last
/// two values its source location.
pub const LOCATION_SITE: u32 = 0x8000_0000;

/// The positions of line and column in [`ErrorRecord::values`].
const LINE: usize = ErrorRecord::VALUES - 2;
const COLUMN: usize = LINE + 1;

/// [`ErrorRecord::task`] of a CPU body, which runs all tasks as one.
const ALL_TASKS: u32 = u32::MAX;

/// Writes the device errors of one launch to its error record.
#[derive(Clone, Copy)]
pub(super) struct Errors {
    record: *mut ErrorRecord,
    launch: u64,
}

/// The line and column of an error that a CPU body wrote; none if a device did.
#[must_use]
pub fn location_of(record: &ErrorRecord) -> Option<(u32, u32)> {
    let [.., line, column] = record.values;
    let number = |value: u64| u32::try_from(value).unwrap_or(0);
    (record.site & LOCATION_SITE != 0).then(|| (number(line), number(column)))
}

/// Whether a record of a CPU body is about an index out of range.
#[must_use]
pub const fn is_index_error(record: &ErrorRecord) -> bool {
    record.site == LOCATION_SITE | ErrorKind::Index as u32
}

/// The site that `record` refers to, also if a CPU body wrote the record. `None` if the kernel has no such site.
#[must_use]
pub fn resolve_site(record: &ErrorRecord, sites: &[Site]) -> Option<SiteId> {
    if record.site & LOCATION_SITE == 0 {
        return sites.get(record.site as usize).map(|_| SiteId::new(record.site));
    }
    let kind = record.site & !LOCATION_SITE;
    let [.., line, column] = record.values;
    let of_kind = |site: &Site| match site.kind {
        SiteKind::Index(_) => kind == ErrorKind::Index as u32,
        SiteKind::ArrayIndex { .. } => kind == ErrorKind::ArrayIndex as u32 && site.line != 0,
        SiteKind::Assert(_) => kind == ErrorKind::Assert as u32,
        SiteKind::DivideByZero => kind == ErrorKind::DivideByZero as u32,
        SiteKind::Bounds => kind == ErrorKind::Bounds as u32,
        SiteKind::Print { .. } => false,
    };
    // If a write is out of range, rustc gives the location of the bracket, and the site has that of the tensor before
    // it. So the location may be some columns to the right of the site's.
    let on_line = || {
        sites.iter().enumerate().filter(|(_, site)| of_kind(site) && u64::from(site.line) == line)
    };
    let before = on_line().filter(|(_, site)| u64::from(site.column) <= column);
    let nearest = before.max_by_key(|(_, site)| site.column);
    // rustc gives the location of a macro's call for all that the macro contains.
    let only = || {
        let mut all = sites.iter().enumerate().filter(|(_, site)| of_kind(site));
        all.next().filter(|_| all.next().is_none())
    };
    nearest.or_else(|| on_line().next()).or_else(only).map(|(at, _)| SiteId::new(at as u32))
}

/// A failed `assert!` whose text has arguments, in serial code and in funcs.
///
/// # Panics
/// As [`check`](super::check).
#[cold]
#[inline(never)]
#[track_caller]
pub fn fail(text: &str, values: &[TextArgument]) {
    raise(ErrorKind::Assert, bits_of(values), || TextArgument::fill(text, values));
}

/// A failed `assert_eq!`, as [`fail`]. The last two values are the operands.
///
/// # Panics
/// As [`check`](super::check).
#[cold]
#[inline(never)]
#[track_caller]
pub fn fail_equal(text: &str, values: &[TextArgument]) {
    raise(ErrorKind::Assert, bits_of(values), || comparison("==", text, values));
}

/// A failed `assert_ne!`, as [`fail_equal`].
///
/// # Panics
/// As [`check`](super::check).
#[cold]
#[inline(never)]
#[track_caller]
pub fn fail_unequal(text: &str, values: &[TextArgument]) {
    raise(ErrorKind::Assert, bits_of(values), || comparison("!=", text, values));
}

/// The error values that stand for the arguments of a text.
fn bits_of(values: &[TextArgument]) -> Vec<u64> {
    TextArgument::scalars(values).map(|value| value.bits()).collect()
}

/// The text of a failed comparison.
fn comparison(operator: &'static str, text: &str, values: &[TextArgument]) -> String {
    let operand = |back: usize| {
        let operand = values.len().checked_sub(back).and_then(|at| values.get(at));
        operand.map_or_else(String::new, TextArgument::debug)
    };
    let (left, right) = (operand(2), operand(1));
    let message = (!text.is_empty()).then(|| TextArgument::fill(text, values));
    comparison_text(operator, &left, &right, message.as_deref())
}

/// `value.clamp(low, high)` in kernels. Unlike std's, it does not panic if `low > high`.
#[inline(always)]
#[must_use]
pub fn clamped<T: PartialOrd + Copy>(value: T, low: T, high: T) -> T {
    let at_least_low = if value < low { low } else { value };
    if at_least_low > high { high } else { at_least_low }
}

impl Errors {
    /// # Safety
    /// `record` must be null, or valid and accessed only by atomics, as long as the value and its copies are used.
    pub(super) const unsafe fn new(record: *mut ErrorRecord, launch: u64) -> Self {
        Self { record, launch }
    }

    /// What prints the messages of the launch.
    pub(super) fn printer(self) -> Printer {
        Printer::new(self.record, self.launch)
    }

    /// Reports an index out of range.
    #[inline(always)]
    pub(super) fn report_index<const N: usize>(
        self,
        index: &[usize; N],
        shape: &[usize; N],
        location: &Location<'_>,
    ) {
        // Copied here, where it is rarely needed: an index whose address a call receives stays in memory in the loop.
        let mut values = [0; 2 * MAX_RANK];
        along_axes::<N>(|axis| {
            values[axis] = index[axis] as u64;
            values[N + axis] = shape[axis] as u64;
        });
        self.report_values::<N>(values, location);
    }

    #[cold]
    #[inline(never)]
    fn report_values<const N: usize>(self, values: [u64; 2 * MAX_RANK], location: &Location<'_>) {
        self.report(ErrorKind::Index, location, &values[..2 * N]);
    }

    /// Records the error, unless one has been recorded already.
    #[cold]
    #[inline(never)]
    pub(super) fn report(self, kind: ErrorKind, location: &Location<'_>, values: &[u64]) {
        if self.record.is_null() {
            return;
        }
        // SAFETY: the maker of `self` guarantees the record; `state` is accessed only by atomics, and the other fields
        // only by the thread that claimed the record.
        unsafe {
            let state = AtomicU32::from_ptr(&raw mut (*self.record).state);
            let claimed = state.compare_exchange(
                ErrorRecord::EMPTY,
                ErrorRecord::CLAIMED,
                Ordering::Acquire,
                Ordering::Relaxed,
            );
            if claimed.is_err() {
                return;
            }
            let values = &values[..values.len().min(ASSERT_VALUES)];
            let mut all = [0; ErrorRecord::VALUES];
            all.iter_mut().zip(values).for_each(|(to, from)| *to = *from);
            all[LINE] = u64::from(location.line());
            all[COLUMN] = u64::from(location.column());
            ptr::write(&raw mut (*self.record).site, LOCATION_SITE | kind as u32);
            ptr::write(&raw mut (*self.record).launch, self.launch);
            ptr::write(&raw mut (*self.record).task, ALL_TASKS);
            ptr::write(&raw mut (*self.record).count, values.len() as u32);
            ptr::write(&raw mut (*self.record).values, all);
            state.store(ErrorRecord::FULL, Ordering::Release);
        }
    }

    /// Runs a chunk of a body on a thread that is not inside a body yet. A device error ends the chunk and is recorded;
    /// any other panic propagates.
    pub(super) fn run(self, chunk: &mut dyn FnMut()) {
        IN_BODY.set(IN_BODY.get() + 1);
        let outcome = catch_unwind(AssertUnwindSafe(|| self.run_inside(chunk)));
        IN_BODY.set(IN_BODY.get() - 1);
        if let Err(payload) = outcome {
            resume_unwind(payload);
        }
    }

    /// As [`run`](Self::run), on a thread that is inside a body already.
    pub(super) fn run_inside(self, chunk: &mut dyn FnMut()) {
        if let Err(payload) = catch_unwind(AssertUnwindSafe(chunk)) {
            self.handle_panic(payload);
        }
    }

    #[cold]
    #[inline(never)]
    fn handle_panic(self, payload: Box<dyn Any + Send>) {
        match payload.downcast::<RaisedError>() {
            Ok(error) => self.report(error.kind, error.location, &error.values),
            Err(payload) => resume_unwind(payload),
        }
    }
}

// SAFETY: any thread may write the record; a compare-and-swap claims it first.
unsafe impl Send for Errors {}
// SAFETY: as above; `Errors` has no other mutable state.
unsafe impl Sync for Errors {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device_error::{check, divisor};

    fn site(kind: SiteKind, line: u32, column: u32) -> Site {
        Site { kind, file: None, line, column, asserted: false }
    }

    #[test]
    fn a_source_location_resolves_to_the_site_of_its_kind() {
        let sites = [
            site(SiteKind::DivideByZero, 4, 9),
            site(SiteKind::Assert("a".into()), 4, 9),
            site(SiteKind::Assert("b".into()), 4, 30),
        ];
        let mut record = ErrorRecord { site: LOCATION_SITE | 1, ..ErrorRecord::default() };
        record.values[LINE] = 4;
        record.values[COLUMN] = 30;
        assert_eq!(resolve_site(&record, &sites), Some(SiteId::new(2)));
        record.values[COLUMN] = 29;
        assert_eq!(resolve_site(&record, &sites), Some(SiteId::new(1)));
        record.values[COLUMN] = 2;
        assert_eq!(resolve_site(&record, &sites), Some(SiteId::new(1)));
        record.values[LINE] = 5;
        assert_eq!(resolve_site(&record, &sites), None);
        record.site = 0;
        assert_eq!(resolve_site(&record, &sites), Some(SiteId::new(0)));
        record.site = 3;
        assert_eq!(resolve_site(&record, &sites), None);
    }

    #[test]
    fn raised_errors_are_recorded_once_and_quietly() {
        let mut record = ErrorRecord::default();
        // SAFETY: the record outlives its use.
        let errors = unsafe { Errors::new(&raw mut record, 7) };
        errors.run(&mut || check(false, "never"));
        errors.run(&mut || assert_eq!(divisor(0_i32), 1));
        assert_eq!(record.state, ErrorRecord::FULL);
        assert_eq!(record.site, LOCATION_SITE | ErrorKind::Assert as u32);
        assert_eq!(record.launch, 7);
        assert_ne!(record.values[LINE], 0);
    }

    #[test]
    fn other_panics_propagate() {
        // SAFETY: no record.
        let errors = unsafe { Errors::new(ptr::null_mut(), 0) };
        let outcome = catch_unwind(|| errors.run(&mut || resume_unwind(Box::new(5_u8))));
        assert_eq!(outcome.unwrap_err().downcast_ref::<u8>(), Some(&5));
        assert_eq!(IN_BODY.get(), 0);
    }
}
