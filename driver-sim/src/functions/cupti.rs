//! The exported functions of libcupti.

use std::ffi::c_void;

use crate::{
    activity::cupti::{self, Completed, Requested},
    entry::driver_functions,
    pointer::{Array, Out},
};

/// The version of CUDA 12.9.
const VERSION: u32 = 28;
/// The address of the subscriber, which is used for nothing.
const SUBSCRIBER: usize = 1;

// The functions are of no driver: nothing depends on this one.
driver_functions! {
    /// The version of the interface.
    fn [Cuda cuptiGetVersion](version: Out<u32>) |_call| {
        version.set(VERSION)?;
    }

    /// Makes the only subscriber. No callbacks are called.
    fn [Cuda cuptiSubscribe](subscriber: Out<usize>, _callback: usize, _data: usize) |_call| {
        cupti::subscribe()?;
        subscriber.set(SUBSCRIBER)?;
    }

    /// Removes the subscriber.
    fn [Cuda cuptiUnsubscribe](_subscriber: usize) |_call| {
        cupti::unsubscribe()?;
    }

    /// Sets the callbacks that provide empty buffers and receive full ones.
    fn [Cuda cuptiActivityRegisterCallbacks](
        requested: Option<Requested>,
        completed: Option<Completed>,
    ) |_call| {
        let callbacks = requested.zip(completed).ok_or(cupti::INVALID_PARAMETER)?;
        cupti::register(callbacks.0, callbacks.1);
    }

    /// Records a kind of activity.
    fn [Cuda cuptiActivityEnable](kind: u32) |_call| {
        cupti::enable(kind)?;
    }

    /// Records a kind no longer.
    fn [Cuda cuptiActivityDisable](kind: u32) |_call| {
        cupti::disable(kind)?;
    }

    /// Gives the buffer back.
    fn [Cuda cuptiActivityFlushAll](_flags: u32) |_call| {
        cupti::flush();
    }

    /// The record after the given one, or the first after null.
    fn [Cuda cuptiActivityGetNextRecord](buffer: usize, valid: usize, record: *mut usize) |_call| {
        let last = Array::within(record.cast_const()).first()?;
        Out::within(record).set(cupti::next_record(buffer, valid, last)?)?;
    }

    /// The number of dropped records since the last call.
    fn [Cuda cuptiActivityGetNumDroppedRecords](
        _context: usize,
        _stream: u32,
        dropped: Out<usize>,
    ) |_call| {
        dropped.set(cupti::take_dropped() as usize)?;
    }

    /// Attaches an external id to the calls of the thread.
    fn [Cuda cuptiActivityPushExternalCorrelationId](kind: u32, id: u64) |_call| {
        cupti::push_external_id(kind, id);
    }

    /// Takes the last id of a kind back. `last` may be null.
    fn [Cuda cuptiActivityPopExternalCorrelationId](kind: u32, last: Out<u64>) |_call| {
        let id = cupti::pop_external_id(kind).ok_or(cupti::QUEUE_EMPTY)?;
        if !last.is_null() {
            last.set(id)?;
        }
    }
}

/// The functions of the library by name.
pub(crate) fn rows() -> impl Iterator<Item = (&'static str, *const c_void)> {
    ROWS.iter().map(|(_, name, address)| (*name, *address))
}
