//! Cases about memory: allocation, copies, fills and frees.

use quadrants_rhi::{DevicePtr, Error, MemoryAt, StreamHandle};

use crate::{
    Outcome::{Passed, Skipped},
    Subject,
    support::{Buffer, CaseResult, Pinned, Stream, ensure, is_invalid_argument, pattern},
};

const DEFAULT: StreamHandle = StreamHandle::DEFAULT;

pub(crate) fn info_is_filled_in(subject: &Subject) -> CaseResult {
    let info = subject.device.info();
    ensure!(!info.backend.is_empty() && !info.name.is_empty(), "a name is empty: {info:?}");
    ensure!(!info.arch.is_empty() && !info.driver_version.is_empty(), "a name is empty: {info:?}");
    let counts =
        [info.multiprocessors, info.warp_size, info.max_threads_per_block, info.max_shared_bytes];
    ensure!(counts.iter().chain(&info.max_grid_dim).all(|n| *n > 0), "a count is zero: {info:?}");
    let capabilities = subject.device.capabilities();
    let range = capabilities.priorities;
    ensure!(
        range.greatest <= range.least,
        "the greatest priority must be the lowest number: {range:?}"
    );
    ensure!(
        capabilities.stream_ordered_memory != capabilities.stream_ordered_memory_reason.is_some(),
        "there must be a reason if and only if stream-ordered memory is off: {capabilities:?}"
    );
    ensure!(
        capabilities.max_argument_bytes >= 1024,
        "max_argument_bytes must be at least 1024: {capabilities:?}"
    );
    Ok(Passed)
}

pub(crate) fn memory_info_is_consistent(subject: &Subject) -> CaseResult {
    match subject.device.memory_info() {
        Ok((free, total)) => {
            ensure!(0 < free && free <= total, "{free} free of {total}");
            Ok(Passed)
        }
        Err(Error::Unsupported { .. }) => {
            Ok(crate::Outcome::Skipped("the system does not report its memory"))
        }
        Err(error) => Err(error.into()),
    }
}

pub(crate) fn an_allocation_of_zero_bytes_is_an_error(subject: &Subject) -> CaseResult {
    let device = &*subject.device;
    ensure!(is_invalid_argument(&device.alloc(0)), "alloc(0) is not an InvalidArgument");
    ensure!(
        is_invalid_argument(&device.alloc_pinned(0)),
        "alloc_pinned(0) is not an InvalidArgument"
    );
    // SAFETY: the default stream is always valid.
    let in_stream_order = unsafe { device.alloc_async(0, DEFAULT) };
    ensure!(is_invalid_argument(&in_stream_order), "alloc_async(0) is not an InvalidArgument");
    Ok(Passed)
}

pub(crate) fn an_allocation_of_too_much_is_out_of_memory(subject: &Subject) -> CaseResult {
    let device = &*subject.device;
    match device.alloc(1 << 52) {
        Ok(_) => ensure!(false, "the device allocated four petabytes"),
        Err(error) => ensure!(error.is_out_of_memory(), "another error: {error}"),
    }
    let after = Buffer::holding(device, &[1, 2, 3])?;
    ensure!(after.read(DEFAULT)? == [1, 2, 3], "the device does not work after an error");
    Ok(Passed)
}

pub(crate) fn allocations_are_aligned_and_separate(subject: &Subject) -> CaseResult {
    let sizes = [1, 3, 255, 256, 257, 4096, 100_000];
    let buffers = sizes.iter().map(|bytes| Buffer::new(&*subject.device, *bytes));
    let buffers = buffers.collect::<Result<Vec<_>, _>>()?;
    let mut ranges: Vec<_> =
        buffers.iter().map(|b| (b.memory.raw(), b.memory.raw() + b.bytes as u64)).collect();
    ranges.sort_unstable();
    for (start, _) in &ranges {
        ensure!(*start != 0 && start % 256 == 0, "{start:#x} is not aligned to 256 bytes");
    }
    for pair in ranges.windows(2) {
        ensure!(pair[0].1 <= pair[1].0, "two allocations overlap: {pair:x?}");
    }
    Ok(Passed)
}

pub(crate) fn bytes_survive_a_round_trip(subject: &Subject) -> CaseResult {
    for (bytes, seed) in [(1, 1), (3, 2), (4096, 3), (1 << 20, 4)] {
        let data = pattern(bytes, seed);
        let buffer = Buffer::holding(&*subject.device, &data)?;
        ensure!(buffer.read(DEFAULT)? == data, "a round trip changed the {bytes} bytes");
    }
    Ok(Passed)
}

pub(crate) fn pageable_memory_is_read_before_the_call_returns(subject: &Subject) -> CaseResult {
    let device = &*subject.device;
    if !device.capabilities().pageable_uploads {
        return Ok(Skipped("copies from pageable memory may wait"));
    }
    // A simulated stream runs work when its schedule says so, however short it is.
    let bytes = if device.info().simulated { 4096 } else { 64 << 20 };
    let (buffer, large) = (Buffer::new(device, 4096)?, Buffer::new(device, bytes)?);
    for value in 0..4 {
        // Work ahead in the stream, which takes longer than the rest of the round.
        (0..8).try_for_each(|fill| large.fill(fill, DEFAULT))?;
        let mut source = vec![value; 4096];
        // SAFETY: both have the bytes. The source does not change during the call.
        unsafe { device.copy_htod_async(buffer.memory, source.as_ptr(), 4096, DEFAULT)? };
        source.fill(9);
        let read = buffer.read(DEFAULT)?;
        ensure!(read == [value; 4096], "the copy read what was written after its call");
    }
    Ok(Passed)
}

pub(crate) fn copies_and_fills_of_zero_bytes_do_nothing(subject: &Subject) -> CaseResult {
    let device = &*subject.device;
    let (buffer, other) = (Buffer::holding(device, &[7; 16])?, Buffer::holding(device, &[8; 16])?);
    let mut host = [9u8; 16];
    // SAFETY: operations of zero bytes read and write nothing.
    unsafe {
        device.copy_htod_async(buffer.memory, host.as_ptr(), 0, DEFAULT)?;
        device.copy_dtoh_async(host.as_mut_ptr(), buffer.memory, 0, DEFAULT)?;
        device.copy_dtod_async(buffer.memory, other.memory, 0, DEFAULT)?;
        device.fill_u8_async(buffer.memory, 1, 0, DEFAULT)?;
        device.fill_u32_async(buffer.memory, 1, 0, DEFAULT)?;
    }
    ensure!(buffer.read(DEFAULT)? == [7; 16] && host == [9; 16], "something was written");
    Ok(Passed)
}

pub(crate) fn a_copy_within_the_device_copies(subject: &Subject) -> CaseResult {
    let device = &*subject.device;
    let data = pattern(10_000, 5);
    let source = Buffer::holding(device, &data)?;
    let target = Buffer::holding(device, &vec![0; data.len()])?;
    // SAFETY: 1000 bytes from the middle of one allocation to the middle of another.
    unsafe {
        device.copy_dtod_async(
            target.memory.offset(17),
            source.memory.offset(500),
            1000,
            DEFAULT,
        )?;
    }
    let mut expected = vec![0; data.len()];
    expected[17..1017].copy_from_slice(&data[500..1500]);
    ensure!(target.read(DEFAULT)? == expected, "the target is wrong");
    ensure!(source.read(DEFAULT)? == data, "the source changed");
    Ok(Passed)
}

pub(crate) fn fills_write_exactly_their_range(subject: &Subject) -> CaseResult {
    let device = &*subject.device;
    let buffer = Buffer::holding(device, &[0; 64])?;
    // SAFETY: the ranges are inside the buffer; the word fill's is aligned to 4 bytes.
    unsafe {
        device.fill_u8_async(buffer.memory.offset(3), 0xab, 5, DEFAULT)?;
        device.fill_u32_async(buffer.memory.offset(16), 0x0102_0304, 3, DEFAULT)?;
    }
    let mut expected = [0; 64];
    expected[3..8].fill(0xab);
    for word in 4..7 {
        expected[4 * word..4 * word + 4].copy_from_slice(&0x0102_0304u32.to_ne_bytes());
    }
    ensure!(buffer.read(DEFAULT)? == expected, "{:x?}", buffer.read(DEFAULT)?);
    Ok(Passed)
}

pub(crate) fn pinned_memory_is_zeroed_and_separate(subject: &Subject) -> CaseResult {
    let device = &*subject.device;
    let data = pattern(5000, 6);
    let mut source = Pinned::new(device, data.len())?;
    let target = Pinned::new(device, data.len())?;
    for memory in [source.memory, target.memory] {
        ensure!(memory.addr() % 256 == 0, "{memory:?} is not aligned to 256 bytes");
    }
    ensure!(source.bytes().iter().chain(target.bytes()).all(|b| *b == 0), "it is not zeroed");
    source.bytes_mut().copy_from_slice(&data);
    ensure!(target.bytes().iter().all(|b| *b == 0), "two allocations overlap");
    let buffer = Buffer::new(device, data.len())?;
    // SAFETY: all three have that many bytes and live until the wait.
    unsafe {
        device.copy_htod_async(buffer.memory, source.memory, data.len(), DEFAULT)?;
        device.copy_dtoh_async(target.memory, buffer.memory, data.len(), DEFAULT)?;
        device.stream_synchronize(DEFAULT)?;
    }
    ensure!(target.bytes() == data, "the round trip changed the bytes");
    Ok(Passed)
}

pub(crate) fn memory_allocated_in_stream_order_works(subject: &Subject) -> CaseResult {
    let device = &*subject.device;
    let stream = Stream::new(device)?;
    let mut host = [0u8; 512];
    // SAFETY: 512 bytes, used on the stream between allocation and free; `host` lives until the wait.
    unsafe {
        let memory = device.alloc_async(512, stream.handle)?;
        ensure!(memory.raw() != 0 && memory.raw() % 256 == 0, "{memory:?} is not aligned");
        device.fill_u8_async(memory, 0x5a, 512, stream.handle)?;
        device.copy_dtoh_async(host.as_mut_ptr(), memory, 512, stream.handle)?;
        device.free_async(memory, stream.handle)?;
    }
    stream.synchronize()?;
    ensure!(host == [0x5a; 512], "the fill is missing");
    Ok(Passed)
}

pub(crate) fn the_driver_knows_its_memory(subject: &Subject) -> CaseResult {
    const BYTES: usize = 4096;
    let device = &*subject.device;
    let buffer = Buffer::new(device, BYTES)?;
    for address in [buffer.memory, buffer.memory.offset(BYTES - 1)] {
        match device.memory_at(address)? {
            MemoryAt::Unknown => return Ok(crate::Outcome::Skipped("the device cannot tell")),
            MemoryAt::Managed(memory) => {
                ensure!(memory.ordinal == Some(device.info().ordinal), "{memory:?}");
                ensure!(memory.in_context, "{memory:?}");
                let Some((start, bytes)) = memory.allocation else { continue };
                let end = start.offset(bytes);
                let inside = start <= buffer.memory && buffer.memory.offset(BYTES) <= end;
                ensure!(inside, "{memory:?} does not contain {:?}", buffer.memory);
            }
            other => ensure!(false, "{other:?} at {address:?}"),
        }
    }
    let pageable = Box::new(0_u64);
    let at = device.memory_at(DevicePtr((&raw const *pageable) as u64))?;
    ensure!(at == MemoryAt::Nothing, "{at:?} in memory of the process");
    Ok(Passed)
}

pub(crate) fn memory_freed_in_stream_order_stays_valid_for_earlier_work(
    subject: &Subject,
) -> CaseResult {
    const BYTES: usize = 1 << 16;
    let device = &*subject.device;
    let streams = [Stream::new(device)?, Stream::new(device)?];
    let results: Vec<_> = (0..16).map(|_| Buffer::new(device, BYTES)).collect::<Result<_, _>>()?;
    for (round, result) in results.iter().enumerate() {
        let stream = streams[round % 2].handle;
        // SAFETY: `BYTES` each, used on the stream between allocation and free.
        unsafe {
            let memory = device.alloc_async(BYTES, stream)?;
            device.fill_u8_async(memory, round as u8 + 1, BYTES, stream)?;
            device.copy_dtod_async(result.memory, memory, BYTES, stream)?;
            device.free_async(memory, stream)?;
        }
    }
    device.synchronize()?;
    for (round, result) in results.iter().enumerate() {
        let expected = round as u8 + 1;
        let right = result.read(DEFAULT)?.iter().all(|byte| *byte == expected);
        ensure!(right, "memory of round {round} was reused while it was in use");
    }
    Ok(Passed)
}
