//! Cases about the ordering of streams by events.

use quadrants_rhi::StreamHandle;

use crate::{
    Outcome::Passed,
    Subject,
    support::{Buffer, CaseResult, Event, Pinned, Stream, ensure},
};

const BYTES: usize = 1 << 16;

pub(crate) fn a_consumer_waits_for_its_producer(subject: &Subject) -> CaseResult {
    let device = &*subject.device;
    let (producer, consumer) = (Stream::new(device)?, Stream::new(device)?);
    let produced = Event::new(device)?;
    let (source, target) = (Buffer::new(device, BYTES)?, Buffer::new(device, BYTES)?);
    let staging = Pinned::new(device, BYTES)?;
    for value in 1..20 {
        source.fill(value, producer.handle)?;
        // SAFETY: all have `BYTES`; the event orders the second copy after the first, and the read
        // below waits for both before the next round.
        unsafe {
            device.copy_dtoh_async(staging.memory, source.memory, BYTES, producer.handle)?;
            produced.record(producer.handle)?;
            consumer.wait_for(&produced)?;
            device.copy_htod_async(target.memory, staging.memory, BYTES, consumer.handle)?;
        }
        let right = target.read(consumer.handle)?.iter().all(|byte| *byte == value);
        ensure!(right, "in round {value} the consumer ran before the producer");
    }
    Ok(Passed)
}

pub(crate) fn a_wait_keeps_the_record_it_was_made_for(subject: &Subject) -> CaseResult {
    let device = &*subject.device;
    let (first, second, third) = (Stream::new(device)?, Stream::new(device)?, Stream::new(device)?);
    let event = Event::new(device)?;
    let (source, target) = (Buffer::new(device, BYTES)?, Buffer::new(device, BYTES)?);
    let unrelated = Buffer::new(device, BYTES)?;
    for value in 1..20 {
        source.fill(value, first.handle)?;
        event.record(first.handle)?;
        second.wait_for(&event)?;
        // Record again on another stream, where it may be complete before the first record.
        event.record(third.handle)?;
        unrelated.fill(value, third.handle)?;
        event.record(third.handle)?;
        source.copy_to(&target, second.handle)?;
        let right = target.read(second.handle)?.iter().all(|byte| *byte == value);
        ensure!(right, "in round {value} the wait was for the later record");
    }
    Ok(Passed)
}

pub(crate) fn a_wait_outlives_its_event(subject: &Subject) -> CaseResult {
    let device = &*subject.device;
    let (first, second) = (Stream::new(device)?, Stream::new(device)?);
    let (source, target) = (Buffer::new(device, BYTES)?, Buffer::new(device, BYTES)?);
    for value in 1..20 {
        source.fill(value, first.handle)?;
        let event = Event::new(device)?;
        event.record(first.handle)?;
        second.wait_for(&event)?;
        drop(event);
        source.copy_to(&target, second.handle)?;
        let right = target.read(second.handle)?.iter().all(|byte| *byte == value);
        ensure!(right, "in round {value} destroying the event removed the wait");
    }
    Ok(Passed)
}

pub(crate) fn two_streams_hand_a_buffer_back_and_forth(subject: &Subject) -> CaseResult {
    const ROUNDS: u8 = 30;
    let device = &*subject.device;
    let streams = [Stream::new(device)?, Stream::new(device)?];
    let events = [Event::new(device)?, Event::new(device)?];
    let buffers = [Buffer::holding(device, &[0; 4096])?, Buffer::holding(device, &[0; 4096])?];
    let log = Buffer::holding(device, &[0; ROUNDS as usize])?;
    for round in 0..ROUNDS {
        let (mine, yours) = (usize::from(round % 2), usize::from((round + 1) % 2));
        streams[mine].wait_for(&events[yours])?;
        buffers[mine].fill(round + 1, streams[mine].handle)?;
        buffers[mine].copy_to(&buffers[yours], streams[mine].handle)?;
        // SAFETY: one byte each, inside the buffers.
        unsafe {
            device.copy_dtod_async(
                log.memory.offset(usize::from(round)),
                buffers[yours].memory.offset(4095),
                1,
                streams[mine].handle,
            )?;
        }
        events[mine].record(streams[mine].handle)?;
    }
    device.synchronize()?;
    let seen = log.read(StreamHandle::DEFAULT)?;
    let expected: Vec<u8> = (1..=ROUNDS).collect();
    ensure!(seen == expected, "the rounds overlapped: {seen:?}");
    Ok(Passed)
}

pub(crate) fn a_fork_and_a_join_order_all_branches(subject: &Subject) -> CaseResult {
    const BRANCHES: usize = 4;
    let device = &*subject.device;
    let trunk = Stream::new(device)?;
    let branches = (0..BRANCHES).map(|_| Stream::new(device)).collect::<Result<Vec<_>, _>>()?;
    let joins = (0..BRANCHES).map(|_| Event::new(device)).collect::<Result<Vec<_>, _>>()?;
    let fork = Event::new(device)?;
    let source = Buffer::new(device, BYTES)?;
    let parts = (0..BRANCHES).map(|_| Buffer::new(device, BYTES)).collect::<Result<Vec<_>, _>>()?;
    let target = Buffer::new(device, BRANCHES)?;
    for value in 1..10 {
        source.fill(value, trunk.handle)?;
        fork.record(trunk.handle)?;
        for ((branch, join), part) in branches.iter().zip(&joins).zip(&parts) {
            branch.wait_for(&fork)?;
            source.copy_to(part, branch.handle)?;
            join.record(branch.handle)?;
            trunk.wait_for(join)?;
        }
        for (index, part) in parts.iter().enumerate() {
            let (to, from) = (target.memory.offset(index), part.memory.offset(BYTES - 1));
            // SAFETY: one byte each, inside the buffers.
            unsafe { device.copy_dtod_async(to, from, 1, trunk.handle) }?;
        }
        let seen = target.read(trunk.handle)?;
        ensure!(seen == [value; BRANCHES], "in round {value} the join saw {seen:?}");
    }
    Ok(Passed)
}
