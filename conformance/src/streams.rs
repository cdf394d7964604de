//! Cases about streams: creation, destruction, queries and threads.

use quadrants_rhi::StreamHandle;

use crate::{
    CaseFailure,
    Outcome::Passed,
    Subject,
    support::{Buffer, CaseResult, Stream, becomes, ensure},
};

pub(crate) fn streams_come_and_go(subject: &Subject) -> CaseResult {
    let device = &*subject.device;
    let streams = (0..32).map(|_| Stream::new(device)).collect::<Result<Vec<_>, _>>()?;
    for stream in &streams {
        if device.capabilities().asynchronous {
            ensure!(stream.handle != StreamHandle::DEFAULT, "a new stream is the default stream");
            let same = streams.iter().filter(|other| other.handle == stream.handle).count();
            ensure!(same == 1, "two streams have the handle {:?}", stream.handle);
        }
        stream.synchronize()?;
        // SAFETY: the stream is valid.
        ensure!(unsafe { device.stream_query(stream.handle) }?, "a new stream has pending work");
    }
    Ok(Passed)
}

pub(crate) fn any_priority_is_accepted(subject: &Subject) -> CaseResult {
    let device = &*subject.device;
    for priority in [i32::MIN, -1, 0, 1, i32::MAX] {
        let stream = Stream::with_priority(device, priority)?;
        let buffer = Buffer::new(device, 64)?;
        buffer.fill(3, stream.handle)?;
        ensure!(buffer.read(stream.handle)? == [3; 64], "priority {priority}");
    }
    Ok(Passed)
}

pub(crate) fn repeated_stream_queries_make_progress(subject: &Subject) -> CaseResult {
    let device = &*subject.device;
    let stream = Stream::new(device)?;
    let buffer = Buffer::new(device, 1 << 20)?;
    for value in 0..20 {
        buffer.fill(value, stream.handle)?;
    }
    // SAFETY: the stream is valid.
    let idle = becomes(|| Ok(unsafe { device.stream_query(stream.handle) }?))?;
    ensure!(idle, "the stream never became idle");
    Ok(Passed)
}

pub(crate) fn a_destroyed_stream_finishes_its_work(subject: &Subject) -> CaseResult {
    let device = &*subject.device;
    let buffer = Buffer::holding(device, &[0; 4096])?;
    let stream = Stream::new(device)?.into_handle();
    buffer.fill(9, stream)?;
    // SAFETY: created above, and not used again.
    unsafe { device.destroy_stream(stream) }?;
    device.synchronize()?;
    ensure!(buffer.read(StreamHandle::DEFAULT)? == [9; 4096], "its work was lost");
    Ok(Passed)
}

pub(crate) fn the_default_stream_works(subject: &Subject) -> CaseResult {
    let device = &*subject.device;
    let buffer = Buffer::new(device, 1000)?;
    buffer.fill(1, StreamHandle::DEFAULT)?;
    buffer.fill(2, StreamHandle::DEFAULT)?;
    ensure!(buffer.read(StreamHandle::DEFAULT)? == [2; 1000], "work ran out of order");
    // SAFETY: the default stream is always valid.
    ensure!(unsafe { device.stream_query(StreamHandle::DEFAULT) }?, "work is pending after a wait");
    Ok(Passed)
}

pub(crate) fn synchronizing_the_device_waits_for_all_streams(subject: &Subject) -> CaseResult {
    let device = &*subject.device;
    let streams = (0..4).map(|_| Stream::new(device)).collect::<Result<Vec<_>, _>>()?;
    let buffers = (0..4).map(|_| Buffer::new(device, 1 << 18)).collect::<Result<Vec<_>, _>>()?;
    for (value, (stream, buffer)) in streams.iter().zip(&buffers).enumerate() {
        buffer.fill(value as u8 + 1, stream.handle)?;
    }
    device.synchronize()?;
    for (value, (stream, buffer)) in streams.iter().zip(&buffers).enumerate() {
        // SAFETY: the stream is valid.
        ensure!(unsafe { device.stream_query(stream.handle) }?, "stream {value} has pending work");
        // Read on the default stream, which only the wait orders after the others.
        let bytes = buffer.read(StreamHandle::DEFAULT)?;
        ensure!(bytes.iter().all(|b| *b == value as u8 + 1), "stream {value} did not finish");
    }
    Ok(Passed)
}

pub(crate) fn other_threads_use_the_device(subject: &Subject) -> CaseResult {
    let device = &*subject.device;
    let buffer = Buffer::new(device, 256)?;
    let (memory, stream) = (buffer.memory, Stream::new(device)?);
    let handle = stream.handle;
    let elsewhere = std::thread::scope(|scope| {
        let thread = scope.spawn(move || -> Result<(), CaseFailure> {
            // SAFETY: memory and stream are valid until the thread is joined.
            unsafe {
                device.fill_u8_async(memory, 4, 256, handle)?;
                device.stream_synchronize(handle)?;
            }
            let own = Stream::new(device)?;
            Buffer::new(device, 64)?.fill(1, own.handle)?;
            own.synchronize()
        });
        thread.join()
    });
    let Ok(result) = elsewhere else {
        return Err(CaseFailure::Contract("the thread panicked".to_owned()));
    };
    result?;
    ensure!(buffer.read(stream.handle)? == [4; 256], "the other thread's work is missing");
    Ok(Passed)
}

pub(crate) fn threads_use_streams_of_their_own_at_once(subject: &Subject) -> CaseResult {
    let device = &*subject.device;
    let work = |seed: u8| -> Result<bool, CaseFailure> {
        let stream = Stream::new(device)?;
        let (first, second) = (Buffer::new(device, 4096)?, Buffer::new(device, 4096)?);
        for round in 0..20u8 {
            let value = seed.wrapping_add(round);
            first.fill(value, stream.handle)?;
            first.copy_to(&second, stream.handle)?;
            if second.read(stream.handle)?.iter().any(|b| *b != value) {
                return Ok(false);
            }
        }
        Ok(true)
    };
    let results = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|n| scope.spawn(move || work(n * 50))).collect();
        threads.into_iter().map(std::thread::ScopedJoinHandle::join).collect::<Vec<_>>()
    });
    for result in results {
        let Ok(result) = result else {
            return Err(CaseFailure::Contract("a thread panicked".to_owned()));
        };
        ensure!(result?, "a thread saw another's values");
    }
    Ok(Passed)
}
