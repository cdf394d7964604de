//! Cases about events: records, queries and waits.

use crate::{
    Outcome::Passed,
    Subject,
    support::{Buffer, CaseResult, Event, Stream, becomes, ensure},
};

pub(crate) fn an_event_never_recorded_is_complete(subject: &Subject) -> CaseResult {
    let device = &*subject.device;
    let (event, stream) = (Event::new(device)?, Stream::new(device)?);
    ensure!(event.is_complete()?, "the query returned false");
    event.synchronize()?;
    stream.wait_for(&event)?;
    let buffer = Buffer::new(device, 16)?;
    buffer.fill(6, stream.handle)?;
    ensure!(buffer.read(stream.handle)? == [6; 16], "a stream that waits for it does not run");
    Ok(Passed)
}

pub(crate) fn repeated_event_queries_make_progress(subject: &Subject) -> CaseResult {
    let device = &*subject.device;
    let (event, stream) = (Event::new(device)?, Stream::new(device)?);
    let buffer = Buffer::new(device, 1 << 20)?;
    buffer.fill(1, stream.handle)?;
    event.record(stream.handle)?;
    ensure!(becomes(|| event.is_complete())?, "the event never became complete");
    Ok(Passed)
}

pub(crate) fn waiting_for_an_event_waits_for_its_work(subject: &Subject) -> CaseResult {
    let device = &*subject.device;
    let (event, stream, other) = (Event::new(device)?, Stream::new(device)?, Stream::new(device)?);
    let buffer = Buffer::new(device, 1 << 16)?;
    for value in 1..10 {
        buffer.fill(value, stream.handle)?;
        event.record(stream.handle)?;
        event.synchronize()?;
        ensure!(event.is_complete()?, "not complete after the wait");
        // Read on another stream, which only the wait orders after the first.
        let right = buffer.read(other.handle)?.iter().all(|byte| *byte == value);
        ensure!(right, "the work before the record is not complete");
    }
    Ok(Passed)
}

pub(crate) fn time_passes_between_timing_events(subject: &Subject) -> CaseResult {
    let device = &*subject.device;
    let (start, end) = (Event::with_timing(device)?, Event::with_timing(device)?);
    let stream = Stream::new(device)?;
    let buffer = Buffer::new(device, 1 << 20)?;
    start.record(stream.handle)?;
    buffer.fill(1, stream.handle)?;
    end.record(stream.handle)?;
    stream.synchronize()?;
    // SAFETY: both handles are valid, recorded and complete.
    let milliseconds = unsafe { device.event_elapsed_ms(start.handle, end.handle) }?;
    ensure!((0.0..10_000.0).contains(&milliseconds), "{milliseconds} ms");
    Ok(Passed)
}
