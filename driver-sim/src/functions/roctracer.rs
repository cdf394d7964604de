//! The exported functions of libroctracer64.

use std::ffi::{c_int, c_void};

use crate::{
    activity::roctracer::{self as activity, Callback},
    entry::driver_functions,
    pointer::{Array, Out},
};

/// `roctracer_properties_t`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Properties {
    mode: u32,
    buffer_size: usize,
    /// An allocator, which is not used.
    allocate: usize,
    allocate_argument: usize,
    function:
        Option<unsafe extern "C" fn(*const activity::Record, *const activity::Record, *mut c_void)>,
    argument: usize,
}

/// The version of the interface: 4.1.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn roctracer_version_major() -> c_int {
    4
}

/// The minor version.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn roctracer_version_minor() -> c_int {
    1
}

// The functions are of no driver: nothing depends on this one.
driver_functions! {
    /// Makes a pool, or with null the default one, if there is none yet.
    fn [Cuda roctracer_open_pool_expl](properties: Array<Properties>, pool: Out<usize>) |_call| {
        let invalid = activity::INVALID_ARGUMENT;
        let properties = properties.read(1)?.first().copied().ok_or(invalid)?;
        let function = properties.function.ok_or(invalid)?;
        let (callback, bytes) =
            (Callback { function, argument: properties.argument }, properties.buffer_size);
        if pool.is_null() {
            activity::open_default_pool(callback, bytes)?;
        } else {
            pool.set(activity::open_pool(callback, bytes))?;
        }
    }

    /// Records a domain in a pool, or with 0 in the default one.
    fn [Cuda roctracer_enable_domain_activity_expl](domain: u32, pool: usize) |_call| {
        activity::enable(domain, pool)?;
    }

    /// Records a domain no longer.
    fn [Cuda roctracer_disable_domain_activity](domain: u32) |_call| {
        activity::disable(domain)?;
    }

    /// Passes on the records of a pool, or with 0 of the default one.
    fn [Cuda roctracer_flush_activity_expl](pool: usize) |_call| {
        activity::flush(pool)?;
    }

    /// The address of the record after one.
    fn [Cuda roctracer_next_record](record: usize, next: Out<usize>) |_call| {
        next.set(record.wrapping_add(size_of::<activity::Record>()))?;
    }

    /// Attaches an external id to the calls of the thread.
    fn [Cuda roctracer_activity_push_external_correlation_id](id: u64) |_call| {
        activity::push_external_id(id);
    }

    /// Takes the last id back. `last` may be null.
    fn [Cuda roctracer_activity_pop_external_correlation_id](last: Out<u64>) |_call| {
        let id = activity::pop_external_id();
        if !last.is_null() {
            last.set(id.unwrap_or(0))?;
        }
        id.ok_or(activity::MISMATCHED_ID)?;
    }
}

/// The functions of the library by name.
pub(crate) fn rows() -> impl Iterator<Item = (&'static str, *const c_void)> {
    let version = [
        ("roctracer_version_major", roctracer_version_major as *const c_void),
        ("roctracer_version_minor", roctracer_version_minor as *const c_void),
    ];
    ROWS.iter().map(|(_, name, address)| (*name, *address)).chain(version)
}
