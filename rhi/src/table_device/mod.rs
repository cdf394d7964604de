//! What devices over a driver table share: entering the context, and the operations that are one row of the table.
//!
//! A backend implements [`DriverContext`], has a device struct with the fields `context`, `info` and `capabilities`,
//! and implements [`Device`](crate::Device) with the macro [`table_operations!`](crate::table_operations). It writes
//! what differs between drivers: making a context current, loading an image, and graph nodes.

mod driver;
mod operations;
mod properties;

use std::{
    ffi::{CStr, CString, c_char, c_int, c_void},
    marker::PhantomData,
    sync::Once,
};

use crate::{
    Capabilities, Copy2d, CopySides, DeviceInfo, DevicePtr, DriverError, DriverErrorKind, Error,
    Image, ManagedMemory, MemoryAt, PriorityRange, Result, environment,
};

/// The context of a device, in a driver with a current context per thread.
pub trait DriverContext {
    /// The driver table.
    type Table;

    /// The driver's functions.
    fn table(&self) -> &Self::Table;

    /// Whether this context is current on this thread.
    ///
    /// # Errors
    /// The driver's error.
    fn is_current(&self) -> Result<bool>;

    /// Makes this context current. Returns what [`restore`](Self::restore) needs.
    ///
    /// # Errors
    /// The driver's error.
    fn make_current(&self) -> Result<u64>;

    /// Undoes [`make_current`](Self::make_current), after everything that was made current later is undone.
    fn restore(&self, before: u64);
}

/// A guard that keeps a context current.
pub struct InContext<'a, C: DriverContext> {
    /// The functions, to be called while the context is current.
    pub table: &'a C::Table,
    context: &'a C,
    /// What the context is restored from, if it was not current before.
    before: Option<u64>,
    /// A context is current on one thread, so the guard must not move to another.
    not_send: PhantomData<*const ()>,
}

/// Makes a context current if it is not. Dropping the result restores the previous context.
///
/// # Errors
/// The driver's error.
#[inline(always)]
pub fn enter<C: DriverContext>(context: &C) -> Result<InContext<'_, C>> {
    let before = make_current(context)?;
    Ok(InContext { table: context.table(), context, before, not_send: PhantomData })
}

/// Makes a context current if it is not. Returns what restores the previous one, if it was another one.
///
/// # Errors
/// The driver's error.
#[inline(always)]
pub fn make_current<C: DriverContext>(context: &C) -> Result<Option<u64>> {
    if context.is_current()? { Ok(None) } else { context.make_current().map(Some) }
}

/// Makes a call with the context current, for frequent calls: if the context is current already, nothing is to be
/// restored.
///
/// # Errors
/// The driver's error.
#[inline(always)]
pub fn in_context<C: DriverContext>(
    context: &C,
    call: impl FnOnce(&C::Table) -> Result<()>,
) -> Result<()> {
    if context.is_current()? { call(context.table()) } else { enter_and(context, call) }
}

#[cold]
#[inline(never)]
fn enter_and<C: DriverContext>(
    context: &C,
    call: impl FnOnce(&C::Table) -> Result<()>,
) -> Result<()> {
    call(enter(context)?.table)
}

impl<C: DriverContext> Drop for InContext<'_, C> {
    #[inline(always)]
    fn drop(&mut self) {
        if let Some(before) = self.before {
            // The guard cannot leave its thread, and guards that were created later are dropped before.
            self.context.restore(before);
        }
    }
}

/// Logs an error that a drop cannot return, unless the driver is shutting down: then nothing is leaked.
pub fn report_unless_shutting_down(what: &'static str, result: Result<()>) {
    if let Err(error) = result {
        let kind = error.driver_error().map(|e| e.kind);
        if kind != Some(DriverErrorKind::ShuttingDown) {
            tracing::warn!(%error, "{what} failed");
        }
    }
}

/// Converts the result of a query: "not ready" is `Ok(false)`.
///
/// # Errors
/// Every other error.
pub fn not_ready_is_false(result: Result<()>) -> Result<bool> {
    match result {
        Ok(()) => Ok(true),
        Err(Error::Driver(error)) if error.kind == DriverErrorKind::NotReady => Ok(false),
        Err(error) => Err(error),
    }
}

/// An attribute of a pointer. Both drivers give them the same numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum PointerAttribute {
    /// The context, as a pointer; null for memory of no single context. HIP has none.
    Context = 1,
    /// Whether all devices can access the memory, as a bool.
    IsManaged = 8,
    /// The number of the device, as an `int`.
    Ordinal = 9,
    /// The first address of the allocation.
    RangeStart = 11,
    /// The size of the allocation in bytes.
    RangeSize = 12,
}

/// What a driver knows of the memory at an address: `read` reads an attribute into a zeroed number, and `is_own` tells
/// whether the context with that number is the device's.
///
/// # Errors
/// Errors of the driver, except that it has no memory there or cannot tell.
pub fn memory_at(
    read: impl Fn(PointerAttribute, &mut u64) -> Result<()>,
    is_own: impl Fn(u64) -> bool,
) -> Result<MemoryAt> {
    let value = |attribute| {
        let mut value = 0;
        read(attribute, &mut value).map(|()| value)
    };
    // Little-endian, as all platforms of both drivers: the low half is an `int`.
    let ordinal = match value(PointerAttribute::Ordinal) {
        Ok(ordinal) => (ordinal as u32).cast_signed(),
        Err(Error::SymbolMissing { .. }) => return Ok(MemoryAt::Unknown),
        Err(Error::Driver(error)) if error.kind == DriverErrorKind::InvalidValue => {
            return Ok(MemoryAt::Nothing);
        }
        Err(error) => return Err(error),
    };
    let Ok(ordinal) = usize::try_from(ordinal) else { return Ok(MemoryAt::Nothing) };
    // What a driver does not answer about memory that it knows is not checked.
    let known = |attribute| value(attribute).ok().filter(|value| *value != 0);
    let allocation = known(PointerAttribute::RangeStart).zip(known(PointerAttribute::RangeSize));
    Ok(MemoryAt::Managed(ManagedMemory {
        ordinal: known(PointerAttribute::IsManaged).is_none().then_some(ordinal),
        in_context: known(PointerAttribute::Context).is_none_or(is_own),
        allocation: allocation.map(|(start, bytes)| (DevicePtr(start), bytes as usize)),
    }))
}

/// Rejects an allocation of zero bytes.
///
/// # Errors
/// [`Error::InvalidArgument`].
pub fn not_empty(bytes: usize) -> Result<()> {
    if bytes == 0 {
        let what = "an allocation of zero bytes; help: allocate at least 1 byte".to_owned();
        return Err(Error::InvalidArgument { what });
    }
    Ok(())
}

/// Whether a 2-D copy is made by plain copies: because it is one, or because a pitch is greater than the greatest that
/// drivers accept.
///
/// # Errors
/// [`Error::InvalidArgument`] if a pitch is less than the width.
pub fn is_copied_by_rows(shape: &Copy2d) -> Result<bool> {
    /// `CU_DEVICE_ATTRIBUTE_MAX_PITCH` and `hipDeviceAttributeMaxPitch` of all devices.
    const MAX_PITCH: usize = i32::MAX as usize;
    shape.check()?;
    let pitch = shape.dst_pitch.max(shape.src_pitch);
    Ok(shape.is_empty() || shape.is_plain() || pitch > MAX_PITCH)
}

/// Whether the driver refuses the pitches of a 2-D copy: within a device, it may accept only those that it computes
/// itself.
#[must_use]
pub fn is_pitch_refused(error: &Error, sides: CopySides) -> bool {
    let kind = error.driver_error().map(|error| error.kind);
    matches!(sides, CopySides::WithinDevice { .. }) && kind == Some(DriverErrorKind::InvalidValue)
}

/// The error of a copy from a device that is no peer.
#[must_use]
pub fn not_a_peer() -> Error {
    Error::Unsupported {
        operation: "copy_from_peer_async",
        reason: "the source is not a device of the same driver; help: check `Device::is_peer`"
            .to_owned(),
    }
}

/// The priority in the range that is closest to the requested one.
#[must_use]
pub fn clamp_priority(priority: i32, range: PriorityRange) -> i32 {
    // Not `clamp`, which would panic if a driver swapped the two ends.
    priority.min(range.least).max(range.greatest)
}

/// The array of parameter addresses of a launch. There is one parameter, the argument block.
///
/// # Errors
/// [`Error::InvalidArgument`] if the argument block has more than `limit` bytes.
#[inline(always)]
pub fn launch_parameters(args: &[u64], limit: usize) -> Result<[*mut c_void; 1]> {
    if size_of_val(args) > limit {
        return Err(too_long(args, limit));
    }
    Ok([args.as_ptr().cast_mut().cast()])
}

#[cold]
fn too_long(args: &[u64], limit: usize) -> Error {
    let bytes = size_of_val(args);
    let what = format!(
        "an argument block of {bytes} bytes, which exceeds the limit of {limit}; help: pass the address of larger data"
    );
    Error::InvalidArgument { what }
}

/// The bytes of a binary image. `what` is what the device loads.
///
/// # Errors
/// [`Error::Unsupported`] if the image is of another kind.
pub fn binary<'a>(image: &Image<'a>, what: &str) -> Result<&'a [u8]> {
    match image {
        Image::Binary(bytes) => Ok(bytes),
        _ => Err(Error::Unsupported {
            operation: "load_module",
            reason: format!("the device loads `Image::Binary` ({what})"),
        }),
    }
}

/// Converts the error of a failed load, for which the loader wrote `log`.
#[must_use]
pub fn load_error(error: Error, log: &str, is_image_rejected: fn(&DriverError) -> bool) -> Error {
    match error {
        Error::Driver(error) if is_image_rejected(&error) => {
            let log = log.trim();
            let log = if log.is_empty() { error.to_string() } else { log.to_owned() };
            Error::ImageRejected { log, source: Some(error) }
        }
        error => error,
    }
}

/// The name of a function as a C string.
///
/// # Errors
/// [`Error::InvalidArgument`] if it contains a zero byte.
pub fn function_name(name: &str) -> Result<CString> {
    CString::new(name).map_err(|_| Error::InvalidArgument {
        what: "a function name must not contain a zero byte".to_owned(),
    })
}

/// Reads a text of at most 255 bytes: `read` receives a buffer and its usable length.
///
/// # Errors
/// That of `read`.
pub fn read_text(read: impl FnOnce(*mut c_char, c_int) -> Result<()>) -> Result<String> {
    let mut text = [0u8; 256];
    // The driver may not write the last byte, so it stays zero.
    read(text.as_mut_ptr().cast(), text.len() as c_int - 1)?;
    let text = CStr::from_bytes_until_nul(&text).unwrap_or_default();
    Ok(text.to_string_lossy().into_owned())
}

/// Decides whether stream-ordered memory is used, and logs once per process if not. `check` returns the reason why the
/// device cannot use it as an error; `tune` configures the device's default pool.
///
/// # Errors
/// [`Error::Environment`].
pub fn prepare_pools(
    capabilities: &mut Capabilities,
    check: impl FnOnce() -> Result<(), String>,
    tune: impl FnOnce() -> Result<()>,
) -> Result<()> {
    static LOGGED: Once = Once::new();
    let checked = if environment::memory_pools_disabled()? {
        Err("QUADRANTS_MEMPOOL=0".to_owned())
    } else {
        check()
    };
    if let Err(reason) = &checked {
        LOGGED.call_once(|| {
            tracing::warn!(reason, "stream-ordered memory is off, so allocations block");
        });
    } else if let Err(error) = tune() {
        // Allocation also works with the driver's default settings, but slower and with more waits.
        tracing::warn!(%error, "the memory pool keeps the driver's settings");
    }
    capabilities.stream_ordered_memory = checked.is_ok();
    capabilities.stream_ordered_memory_reason = checked.err();
    Ok(())
}

/// Logs that a device is opened.
pub fn log_opened(info: &DeviceInfo) {
    let DeviceInfo { backend, ordinal, name, arch, simulated, .. } = info;
    tracing::info!(backend, ordinal, name, arch, simulated, "device opened");
}

/// Converts an ordinal to the number that drivers take.
///
/// # Errors
/// [`Error::DeviceOrdinal`] if it is too large.
pub fn device_number(backend: &'static str, ordinal: usize) -> Result<c_int> {
    c_int::try_from(ordinal).map_err(|_| Error::DeviceOrdinal { backend, ordinal, count: 0 })
}
