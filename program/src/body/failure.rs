//! Device errors that a CPU body raises, and how they get into the launch's error record.
//!
//! A body does not know the numbers of the IR's sites, but rustc tells it where it stands
//! (`#[track_caller]`). So the record's `site` holds [`LOCATION_SITE`] and the kind, the last two values
//! hold line and column, and [`resolve_site`] finds the site of that place.

use std::{
    any::{Any, TypeId},
    cell::Cell,
    panic::{AssertUnwindSafe, Location, catch_unwind, resume_unwind},
    ptr,
    sync::atomic::{AtomicU32, Ordering},
};

use quadrants_ir::{Site, SiteId, SiteKind, abi::ErrorRecord};

/// The bit of [`ErrorRecord::site`] that says: this error came from a CPU body, and its place is in
/// the last two values. The low bits then are the kind.
pub const LOCATION_SITE: u32 = 0x8000_0000;

/// Where among [`ErrorRecord::values`] a CPU body's place is.
const LINE: usize = ErrorRecord::VALUES - 2;
const COLUMN: usize = LINE + 1;

/// [`ErrorRecord::task`] of a CPU body, which runs all tasks in one.
const ALL_TASKS: u32 = u32::MAX;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ErrorKind {
    Index = 0,
    Assert = 1,
    DivideByZero = 2,
    Bounds = 3,
}

/// Where a launch's device errors go.
#[derive(Clone, Copy)]
pub(super) struct Errors {
    record: *mut ErrorRecord,
    launch: u64,
}

/// The panic payload of an error that ends the code that raised it.
struct RaisedError {
    kind: ErrorKind,
    location: &'static Location<'static>,
}

thread_local! {
    static IN_BODY: Cell<u32> = const { Cell::new(0) };
}

/// The site that `record` speaks of, also where a CPU body wrote it. None where the kernel has no
/// such site.
#[must_use]
pub fn resolve_site(record: &ErrorRecord, sites: &[Site]) -> Option<SiteId> {
    if record.site & LOCATION_SITE == 0 {
        return sites.get(record.site as usize).map(|_| SiteId::new(record.site));
    }
    let kind = record.site & !LOCATION_SITE;
    let [.., line, column] = record.values;
    let of_kind = |site: &Site| match site.kind {
        SiteKind::Index(_) | SiteKind::SharedIndex(_) => kind == ErrorKind::Index as u32,
        SiteKind::Assert { .. } => kind == ErrorKind::Assert as u32,
        SiteKind::DivideByZero => kind == ErrorKind::DivideByZero as u32,
        SiteKind::Bounds => kind == ErrorKind::Bounds as u32,
    };
    // Where a write is out of range, rustc names the place of the bracket, and a site that of the
    // tensor before it. So the place may be some columns further right.
    let on_line = || {
        sites.iter().enumerate().filter(|(_, site)| of_kind(site) && u64::from(site.line) == line)
    };
    let before = on_line().filter(|(_, site)| u64::from(site.column) <= column);
    let nearest = before.max_by_key(|(_, site)| site.column);
    nearest.or_else(|| on_line().next()).map(|(at, _)| SiteId::new(at as u32))
}

/// `assert!` in serial code and in a func: ends the caller's chunk of iterations, and is reported as a
/// device error. In an iteration itself it is [`Cx::holds`](super::Cx::holds).
///
/// # Panics
/// Outside a kernel, as `assert!` does.
#[inline(always)]
#[track_caller]
pub fn check(condition: bool, message: &'static str) {
    if !condition {
        raise(ErrorKind::Assert, message);
    }
}

/// The divisor of `/` and `%` in a kernel: zero of an integer type is a device error.
///
/// Takes any type, because the macro that writes the call does not know which division it is.
///
/// # Panics
/// Outside a kernel, as the division would.
#[inline(always)]
#[track_caller]
pub fn divisor<T: Copy + 'static>(value: T) -> T {
    if is_zero_int(value) {
        raise(ErrorKind::DivideByZero, "attempt to divide by zero");
    }
    value
}

/// The value, of which LLVM knows nothing. Of `x.powf(2.0)` it would make `x * x`, and the like of other constants, which
/// differs in the last bit from what the library's function gives for the same numbers.
#[inline(always)]
#[must_use]
pub(super) fn opaque<T>(value: T) -> T {
    std::hint::black_box(value)
}

/// `value.clamp(low, high)` as kernels have it: std's panics where the bounds are no range.
#[inline(always)]
#[must_use]
pub fn clamped<T: PartialOrd + Copy>(value: T, low: T, high: T) -> T {
    let at_least_low = if value < low { low } else { value };
    if at_least_low > high { high } else { at_least_low }
}

/// What can be indexed in a kernel. The index of a local array that is out of range is a device error,
/// as on other devices; tensors, and what threads share, look at an index when they are indexed.
pub trait Bounded<I> {
    /// The index, where it is in range.
    ///
    /// # Panics
    /// Where it is not: in a kernel quietly, as [`check`] does.
    fn bounded(&self, index: I) -> I;
}

impl<T, const N: usize> Bounded<usize> for [T; N] {
    #[inline(always)]
    #[track_caller]
    fn bounded(&self, index: usize) -> usize {
        check_index(index, N)
    }
}

/// An index of a local array, or of a vector, of so many elements.
///
/// # Panics
/// Where it is out of range: in a kernel quietly, as [`check`] does.
#[inline(always)]
#[track_caller]
pub(crate) fn check_index(index: usize, len: usize) -> usize {
    check(index < len, "an index is beyond the elements of an array");
    index
}

impl Errors {
    /// # Safety
    /// `record` is null, or the record is valid, and shared by atomics alone, as long as the value
    /// and its copies are used.
    pub(super) const unsafe fn new(record: *mut ErrorRecord, launch: u64) -> Self {
        Self { record, launch }
    }

    /// Records the error, unless one is recorded already.
    #[cold]
    #[inline(never)]
    pub(super) fn report(self, kind: ErrorKind, location: &Location<'_>, values: &[u64]) {
        if self.record.is_null() {
            return;
        }
        // SAFETY: the maker of `self` vouches for the record; `state` is touched by atomics alone,
        // and the other fields by the one who claimed it.
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

    /// Runs a piece of a body on a thread that is not in one yet. What [`check`] and [`divisor`] raise
    /// in it ends it and is recorded; any other panic goes on.
    pub(super) fn run(self, piece: impl FnOnce()) {
        IN_BODY.set(IN_BODY.get() + 1);
        let outcome = catch_unwind(AssertUnwindSafe(|| self.run_inside(piece)));
        IN_BODY.set(IN_BODY.get() - 1);
        if let Err(payload) = outcome {
            resume_unwind(payload);
        }
    }

    /// As [`run`](Self::run), on a thread that is in a body already.
    #[inline(always)]
    pub(super) fn run_inside(self, piece: impl FnOnce()) {
        if let Err(payload) = catch_unwind(AssertUnwindSafe(piece)) {
            self.handle_panic(payload);
        }
    }

    #[cold]
    #[inline(never)]
    fn handle_panic(self, payload: Box<dyn Any + Send>) {
        match payload.downcast::<RaisedError>() {
            Ok(error) => self.report(error.kind, error.location, &[]),
            Err(payload) => resume_unwind(payload),
        }
    }
}

// SAFETY: the record is written under a claim made by compare-and-swap, from any thread.
unsafe impl Send for Errors {}
// SAFETY: as above; `Errors` has no other state that changes.
unsafe impl Sync for Errors {}

#[cold]
#[inline(never)]
#[track_caller]
fn raise(kind: ErrorKind, message: &str) -> ! {
    if IN_BODY.get() == 0 {
        // A func called by ordinary code: then it is an ordinary panic.
        match kind {
            ErrorKind::Assert => panic!("assertion failed: {message}"),
            ErrorKind::Index | ErrorKind::DivideByZero | ErrorKind::Bounds => panic!("{message}"),
        }
    }
    // Quietly: the panic hook would print what the launch reports as an error.
    resume_unwind(Box::new(RaisedError { kind, location: Location::caller() }))
}

/// The divisor of `dividend / value` and `dividend % value`: as [`divisor`], and 1 where the quotient would not
/// fit: so that it wraps, as elsewhere. The smallest number by 1 is what it is by -1, wrapped.
///
/// # Panics
/// As [`divisor`].
#[inline(always)]
#[track_caller]
pub fn divisor_of<A: Copy + 'static, T: Copy + 'static>(dividend: &A, value: T) -> T {
    macro_rules! wrapping {
        ($($int:ty)*) => {
            $(if TypeId::of::<T>() == TypeId::of::<$int>() && TypeId::of::<A>() == TypeId::of::<$int>() {
                // SAFETY: the types are the same.
                let (a, b): ($int, $int) = unsafe {
                    (std::mem::transmute_copy(dividend), std::mem::transmute_copy(&value))
                };
                let fitting: $int = if a == <$int>::MIN && b == -1 { 1 } else { b };
                // SAFETY: as above.
                return divisor(unsafe { std::mem::transmute_copy::<$int, T>(&fitting) });
            })*
        };
    }
    wrapping!(i8 i16 i32 i64);
    divisor(value)
}

/// Whether `value` is zero and of an integer type. The type is known when this is compiled, so one
/// comparison at most is left of it.
#[inline(always)]
fn is_zero_int<T: Copy + 'static>(value: T) -> bool {
    macro_rules! any {
        ($($int:ty)*) => {
            false $(|| (TypeId::of::<T>() == TypeId::of::<$int>() && {
                // SAFETY: the two types are the same.
                unsafe { std::mem::transmute_copy::<T, $int>(&value) == 0 }
            }))*
        };
    }
    any!(i8 u8 i16 u16 i32 u32 i64 u64 usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn site(kind: SiteKind, line: u32, column: u32) -> Site {
        Site { kind, file: None, line, column, asserted: false }
    }

    #[test]
    fn a_place_resolves_to_the_site_of_its_kind() {
        let sites = [
            site(SiteKind::DivideByZero, 4, 9),
            site(SiteKind::Assert { message: "a".into() }, 4, 9),
            site(SiteKind::Assert { message: "b".into() }, 4, 30),
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
        errors.run(|| check(false, "never"));
        errors.run(|| assert_eq!(divisor(0_i32), 1));
        assert_eq!(record.state, ErrorRecord::FULL);
        assert_eq!(record.site, LOCATION_SITE | ErrorKind::Assert as u32);
        assert_eq!(record.launch, 7);
        assert_ne!(record.values[LINE], 0);
    }

    #[test]
    fn a_quotient_that_does_not_fit_wraps() {
        for (a, b) in [(i32::MIN, -1), (i32::MIN, 2), (7, -1), (-7, 2)] {
            assert_eq!(a / divisor_of(&a, b), a.wrapping_div(b));
            assert_eq!(a % divisor_of(&a, b), a.wrapping_rem(b));
        }
        assert_eq!(i8::MIN / divisor_of(&i8::MIN, -1), i8::MIN);
        assert_eq!(divisor_of(&1.0_f32, -1.0_f32), -1.0);
    }

    #[test]
    fn only_integer_zeros_are_refused() {
        assert_eq!(divisor(0.0_f32), 0.0);
        assert_eq!(divisor(3_u64), 3);
        assert!(!divisor(false));
        for zero in [
            catch_unwind(|| divisor(0_i32) == 0),
            catch_unwind(|| divisor(0_u32) == 0),
            catch_unwind(|| divisor(0_i64) == 0),
            catch_unwind(|| divisor(0_u64) == 0),
            catch_unwind(|| divisor(0_usize) == 0),
        ] {
            assert!(zero.is_err());
        }
    }

    #[test]
    fn other_panics_pass_through() {
        // SAFETY: no record.
        let errors = unsafe { Errors::new(ptr::null_mut(), 0) };
        let outcome = catch_unwind(|| errors.run(|| resume_unwind(Box::new(5_u8))));
        assert_eq!(outcome.unwrap_err().downcast_ref::<u8>(), Some(&5));
        assert_eq!(IN_BODY.get(), 0);
    }
}
