//! Streams and events.

use std::ffi::{c_int, c_uint};

use crate::{
    code::{Code, Result},
    entry::{Family, driver_functions},
    handle::HandleKind,
    peer,
    pointer::Out,
};

/// `CU_STREAM_NON_BLOCKING`, `hipStreamNonBlocking`.
const NON_BLOCKING: c_uint = 1;
/// `CU_EVENT_DISABLE_TIMING`, `hipEventDisableTiming`.
const NO_TIMING: c_uint = 2;
/// Blocking, no timing, interprocess.
const CUDA_EVENT_FLAGS: c_uint = 7;
/// Those of CUDA and the release scopes.
const HIP_EVENT_FLAGS: c_uint = 0xe000_0007;

driver_functions! {
    /// Creates a stream.
    fn [Cuda cuStreamCreate, Hip hipStreamCreateWithFlags](stream: Out<usize>, flags: c_uint) |call| {
        let mut state = call.here()?;
        check_flags(flags, NON_BLOCKING)?;
        stream.set(state.create_stream(flags & NON_BLOCKING == 0, 0)?)?;
    }

    /// Creates a stream with a priority.
    fn [Cuda cuStreamCreateWithPriority, Hip hipStreamCreateWithPriority](
        stream: Out<usize>,
        flags: c_uint,
        priority: c_int,
    ) |call| {
        let mut state = call.here()?;
        check_flags(flags, NON_BLOCKING)?;
        stream.set(state.create_stream(flags & NON_BLOCKING == 0, priority)?)?;
    }

    /// A stream's priority.
    fn [Cuda cuStreamGetPriority, Hip hipStreamGetPriority](stream: usize, priority: Out<c_int>) |call| {
        let (state, stream) = call.at_stream(stream)?;
        priority.set(state.stream(stream)?.priority)?;
    }

    /// Destroys a stream; its pending work runs.
    fn [Cuda cuStreamDestroy_v2, Hip hipStreamDestroy](stream: usize) |call| {
        let (mut state, stream) = call.at_stream(stream)?;
        state.destroy_stream(stream)?;
    }

    /// Whether the work of a stream is complete.
    fn [Cuda cuStreamQuery, Hip hipStreamQuery](stream: usize) |call| {
        let (state, stream) = call.at_stream(stream)?;
        if !peer::wait(state, |state| state.query_stream(stream))? {
            return Err(Code::NOT_READY.into());
        }
    }

    /// Waits for a stream's work.
    fn [Cuda cuStreamSynchronize, Hip hipStreamSynchronize](stream: usize) |call| {
        let (state, stream) = call.at_stream(stream)?;
        peer::wait(state, |state| state.synchronize_stream(stream))?;
    }

    /// Makes a stream's later work wait for an event's latest record.
    fn [Cuda cuStreamWaitEvent, Hip hipStreamWaitEvent](stream: usize, event: usize, _flags: c_uint) |call| {
        let (state, stream) = call.at_stream(stream)?;
        call.wait(state, stream, event)?;
    }

    /// Creates an event.
    fn [Cuda cuEventCreate, Hip hipEventCreateWithFlags](event: Out<usize>, flags: c_uint) |call| {
        let mut state = call.here()?;
        check_flags(flags, match call.family {
            Family::Cuda => CUDA_EVENT_FLAGS,
            Family::Hip => HIP_EVENT_FLAGS,
        })?;
        event.set(state.create_event(flags & NO_TIMING == 0)?)?;
    }

    /// Destroys an event; enqueued waits stay in effect.
    fn [Cuda cuEventDestroy_v2, Hip hipEventDestroy](event: usize) |call| {
        let (mut state, event) = call.at(HandleKind::Event, event)?;
        state.destroy_event(event)?;
    }

    /// Records an event.
    fn [Cuda cuEventRecord, Hip hipEventRecord](event: usize, stream: usize) |call| {
        let (mut state, stream) = call.on_stream(stream)?;
        let event = call.sibling(&state, HandleKind::Event, event)?;
        state.record(event, stream)?;
    }

    /// Whether the latest record of an event is complete.
    fn [Cuda cuEventQuery, Hip hipEventQuery](event: usize) |call| {
        let (state, event) = call.at(HandleKind::Event, event)?;
        if !peer::wait(state, |state| state.query_event(event))? {
            return Err(Code::NOT_READY.into());
        }
    }

    /// Waits for an event's latest record.
    fn [Cuda cuEventSynchronize, Hip hipEventSynchronize](event: usize) |call| {
        let (state, event) = call.at(HandleKind::Event, event)?;
        peer::wait(state, |state| state.synchronize_event(event))?;
    }

    /// Milliseconds between two records in the simulated device's clock.
    fn [Cuda cuEventElapsedTime, Hip hipEventElapsedTime](milliseconds: Out<f32>, start: usize, end: usize) |call| {
        let (state, start) = call.at(HandleKind::Event, start)?;
        let end = call.sibling(&state, HandleKind::Event, end)?;
        milliseconds.set(state.elapsed(start, end)?)?;
    }
}

fn check_flags(flags: c_uint, known: c_uint) -> Result<()> {
    if flags & !known == 0 { Ok(()) } else { Err(Code::INVALID_VALUE) }
}
