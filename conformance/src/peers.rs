//! Cases about two devices of one driver. They run on one device where there is no other.

use quadrants_rhi::{Device, DevicePtr, Error, StreamHandle};

use crate::{
    Outcome::{Passed, Skipped},
    Subject,
    support::{Buffer, CaseResult, Event, Stream, ensure},
};

const BYTES: usize = 1 << 16;
const NO_PEERS: &str = "the device has no peers";

/// The other device. `None` if the device has no peers.
fn peer(subject: &Subject) -> Option<&(dyn Device + 'static)> {
    let peer = &**subject.peer.as_ref().unwrap_or(&subject.device);
    subject.device.is_peer(peer).then_some(peer)
}

pub(crate) fn a_copy_from_a_peer_has_the_order_of_events(subject: &Subject) -> CaseResult {
    let (device, Some(peer)) = (&*subject.device, peer(subject)) else {
        return Ok(Skipped(NO_PEERS));
    };
    ensure!(device.is_peer(device), "a device is its own peer");
    ensure!(peer.is_peer(device), "the other device is a peer in one direction only");
    let (producer, consumer) = (Stream::new(peer)?, Stream::new(device)?);
    let (produced, consumed) = (Event::new(peer)?, Event::new(device)?);
    let (source, target) = (Buffer::new(peer, BYTES)?, Buffer::new(device, BYTES)?);
    for value in 1..20 {
        source.fill(value, producer.handle)?;
        produced.record(producer.handle)?;
        consumer.wait_for(&produced)?;
        // SAFETY: both have `BYTES`, are two allocations, and are freed after all work.
        unsafe {
            let (to, from) = (target.memory, source.memory);
            device.copy_from_peer_async(to, peer, from, BYTES, consumer.handle)?;
        }
        consumed.record(consumer.handle)?;
        producer.wait_for(&consumed)?;
        // After the copy, which must not see it.
        source.fill(100 + value, producer.handle)?;
        let right = target.read(consumer.handle)?.iter().all(|byte| *byte == value);
        ensure!(right, "in round {value} the copy was not between the two fills");
    }
    peer.synchronize()?;
    Ok(Passed)
}

pub(crate) fn a_copy_of_zero_bytes_from_a_peer_does_nothing(subject: &Subject) -> CaseResult {
    let (device, Some(peer)) = (&*subject.device, peer(subject)) else {
        return Ok(Skipped(NO_PEERS));
    };
    // SAFETY: the addresses of no bytes need not be valid.
    unsafe {
        let (null, stream) = (DevicePtr::NULL, StreamHandle::DEFAULT);
        device.copy_from_peer_async(null, peer, null, 0, stream)?;
    }
    Ok(Passed)
}

pub(crate) fn the_device_knows_which_peers_it_can_access(subject: &Subject) -> CaseResult {
    let (device, Some(peer)) = (&*subject.device, peer(subject)) else {
        return Ok(Skipped(NO_PEERS));
    };
    let own = device.info().ordinal;
    ensure!(!device.can_access_peer(own)?, "a device is not its own peer for access");
    device.can_access_peer(peer.info().ordinal)?;
    ensure!(device.can_access_peer(1 << 20).is_err(), "access to a device that does not exist");
    Ok(Passed)
}

pub(crate) fn without_peers_a_copy_is_unsupported(subject: &Subject) -> CaseResult {
    let device = &*subject.device;
    if device.is_peer(device) {
        return Ok(Skipped("the device has peers"));
    }
    let (source, target) = (Buffer::new(device, 4)?, Buffer::new(device, 4)?);
    // SAFETY: both have the bytes and are two allocations.
    let copied = unsafe {
        let (to, from) = (target.memory, source.memory);
        device.copy_from_peer_async(to, device, from, 4, StreamHandle::DEFAULT)
    };
    ensure!(
        matches!(copied, Err(Error::Unsupported { .. })),
        "a copy from what is no peer gives {copied:?}"
    );
    Ok(Passed)
}
