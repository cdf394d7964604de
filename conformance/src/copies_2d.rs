//! Copies of rows with gaps between them.

use quadrants_rhi::{Copy2d, CopySides, Device, DevicePtr, Error, StreamHandle};

use crate::{
    Outcome::Passed,
    Subject,
    support::{Buffer, CaseResult, Pinned, Stream, ensure, pattern},
};

const DEFAULT: StreamHandle = StreamHandle::DEFAULT;

/// Shapes with different pitches, with a single row, with rows next to each other on one side or on both, and with
/// pitches and addresses that are no multiples of anything.
const SHAPES: [Copy2d; 6] = [
    Copy2d { width: 4, height: 100, dst_pitch: 4, src_pitch: 64 },
    Copy2d { width: 4, height: 100, dst_pitch: 64, src_pitch: 4 },
    Copy2d { width: 17, height: 9, dst_pitch: 23, src_pitch: 101 },
    Copy2d { width: 1, height: 300, dst_pitch: 3, src_pitch: 2 },
    Copy2d { width: 50, height: 1, dst_pitch: 50, src_pitch: 700 },
    Copy2d { width: 32, height: 8, dst_pitch: 32, src_pitch: 32 },
];

/// What `target` is after the copy, from byte 5 of `source` to byte 3.
fn copied(shape: &Copy2d, target: &[u8], source: &[u8]) -> Vec<u8> {
    let mut target = target.to_vec();
    for row in 0..shape.height {
        let (to, from) = (3 + row * shape.dst_pitch, 5 + row * shape.src_pitch);
        target[to..to + shape.width].copy_from_slice(&source[from..from + shape.width]);
    }
    target
}

/// Data for both sides of a copy from byte 5 to byte 3, with some bytes more.
fn sides_of(shape: &Copy2d) -> (Vec<u8>, Vec<u8>) {
    let bytes = |pitch| 16 + shape.height * pitch + shape.width;
    (pattern(bytes(shape.dst_pitch), 7), pattern(bytes(shape.src_pitch), 8))
}

pub(crate) fn rows_are_copied_and_nothing_between_them(subject: &Subject) -> CaseResult {
    let device = &*subject.device;
    for shape in SHAPES {
        let (target, source) = sides_of(&shape);
        let expected = copied(&shape, &target, &source);

        let (to, from) = (Buffer::holding(device, &target)?, Buffer::holding(device, &source)?);
        let sides =
            CopySides::WithinDevice { dst: to.memory.offset(3), src: from.memory.offset(5) };
        // SAFETY: both buffers have the rows, and are freed after all work.
        unsafe { device.copy_2d_async(sides, &shape, DEFAULT) }?;
        ensure!(to.read(DEFAULT)? == expected, "within the device: {shape:?}");
        ensure!(from.read(DEFAULT)? == source, "the source changed: {shape:?}");

        let to = Buffer::holding(device, &target)?;
        let src = source[5..].as_ptr();
        let sides = CopySides::HostToDevice { dst: to.memory.offset(3), src };
        // SAFETY: as above; `source` lives longer.
        unsafe { device.copy_2d_async(sides, &shape, DEFAULT) }?;
        ensure!(to.read(DEFAULT)? == expected, "to the device: {shape:?}");

        let mut host = target.clone();
        let dst = host[3..].as_mut_ptr();
        let sides = CopySides::DeviceToHost { dst, src: from.memory.offset(5) };
        // SAFETY: as above, and nothing else uses `host` until the wait.
        unsafe {
            device.copy_2d_async(sides, &shape, DEFAULT)?;
            device.stream_synchronize(DEFAULT)?;
        }
        ensure!(host == expected, "to the host: {shape:?}");
    }
    Ok(Passed)
}

pub(crate) fn rows_are_copied_to_and_from_pinned_memory(subject: &Subject) -> CaseResult {
    let device = &*subject.device;
    let stream = Stream::new(device)?;
    for shape in SHAPES {
        let (target, source) = sides_of(&shape);
        let back = Copy2d { dst_pitch: shape.src_pitch, src_pitch: shape.dst_pitch, ..shape };
        let (mut here, mut there) =
            (Pinned::new(device, source.len())?, Pinned::new(device, source.len())?);
        here.bytes_mut().copy_from_slice(&source);
        there.bytes_mut().copy_from_slice(&source);
        let memory = Buffer::holding(device, &target)?;
        // SAFETY: all three have the rows and live until the wait, and nothing else uses them.
        unsafe {
            let (dst, src) = (memory.memory.offset(3), here.memory.add(5));
            let sides = CopySides::HostToDevice { dst, src };
            device.copy_2d_async(sides, &shape, stream.handle)?;
            let (dst, src) = (there.memory.add(5), memory.memory.offset(3));
            // After the first one, since the stream is the same.
            device.copy_2d_async(CopySides::DeviceToHost { dst, src }, &back, stream.handle)?;
        }
        stream.synchronize()?;
        ensure!(memory.read(DEFAULT)? == copied(&shape, &target, &source), "to: {shape:?}");
        ensure!(there.bytes() == source, "there and back: {shape:?}");
    }
    Ok(Passed)
}

pub(crate) fn rows_are_copied_between_those_of_the_source(subject: &Subject) -> CaseResult {
    let device = &*subject.device;
    let data = pattern(16 * 32, 10);
    let buffer = Buffer::holding(device, &data)?;
    let shape = Copy2d { width: 8, height: 32, dst_pitch: 16, src_pitch: 16 };
    let sides = CopySides::WithinDevice { dst: buffer.memory.offset(8), src: buffer.memory };
    // SAFETY: the rows of both sides are in the buffer, and no two of them overlap.
    unsafe { device.copy_2d_async(sides, &shape, DEFAULT) }?;
    let expected: Vec<_> = data.chunks_exact(16).flat_map(|row| row[..8].repeat(2)).collect();
    ensure!(buffer.read(DEFAULT)? == expected, "the columns differ");
    Ok(Passed)
}

/// Calls `check` with the sides of each kind of copy, each of 64 bytes.
fn for_each_side(
    device: &dyn Device,
    mut check: impl FnMut(CopySides) -> Result<(), crate::CaseFailure>,
) -> CaseResult {
    let (a, b) = (Buffer::holding(device, &[7; 64])?, Buffer::holding(device, &[8; 64])?);
    let (from, mut to) = ([9_u8; 64], [10_u8; 64]);
    for sides in [
        CopySides::WithinDevice { dst: a.memory, src: b.memory },
        CopySides::HostToDevice { dst: a.memory, src: from.as_ptr() },
        CopySides::DeviceToHost { dst: to.as_mut_ptr(), src: b.memory },
    ] {
        check(sides)?;
    }
    device.synchronize()?;
    ensure!(a.read(DEFAULT)? == [7; 64] && to == [10; 64], "something was written");
    Ok(Passed)
}

pub(crate) fn a_copy_of_no_rows_or_empty_rows_does_nothing(subject: &Subject) -> CaseResult {
    let device = &*subject.device;
    let empty = [(0, 4, 0), (4, 0, 4), (0, 4, 8), (8, 0, 1), (0, 0, 0), (64, 0, usize::MAX)];
    let shapes = empty.map(|(width, height, pitch)| Copy2d {
        width,
        height,
        dst_pitch: pitch,
        src_pitch: pitch,
    });
    for shape in shapes {
        for_each_side(device, |sides| {
            // SAFETY: nothing is read or written.
            Ok(unsafe { device.copy_2d_async(sides, &shape, DEFAULT) }?)
        })?;
        for sides in [
            CopySides::WithinDevice { dst: DevicePtr::NULL, src: DevicePtr::NULL },
            CopySides::HostToDevice { dst: DevicePtr::NULL, src: std::ptr::null() },
            CopySides::DeviceToHost { dst: std::ptr::null_mut(), src: DevicePtr::NULL },
        ] {
            // SAFETY: as above.
            unsafe { device.copy_2d_async(sides, &shape, DEFAULT) }?;
        }
    }
    device.synchronize()?;
    Ok(Passed)
}

pub(crate) fn a_pitch_below_the_width_is_an_error(subject: &Subject) -> CaseResult {
    let device = &*subject.device;
    for (height, dst_pitch, src_pitch) in [(4, 7, 8), (4, 8, 7), (4, 0, 0), (1, 7, 8), (1, 8, 0)] {
        let shape = Copy2d { width: 8, height, dst_pitch, src_pitch };
        for_each_side(device, |sides| {
            // SAFETY: both sides have all bytes that the shape names; nothing is to be read or written.
            let copied = unsafe { device.copy_2d_async(sides, &shape, DEFAULT) };
            ensure!(
                matches!(copied, Err(Error::InvalidArgument { .. })),
                "{copied:?} instead of an error, for {shape:?}"
            );
            Ok(())
        })?;
    }
    Ok(Passed)
}

/// Two streams copy every second column of one buffer, without order between them.
pub(crate) fn other_work_uses_the_bytes_between_rows(subject: &Subject) -> CaseResult {
    const ROWS: usize = 64;
    const WIDTH: usize = 8;
    let device = &*subject.device;
    let data = pattern(2 * WIDTH * ROWS, 9);
    let source = Buffer::holding(device, &data)?;
    let target = Buffer::holding(device, &vec![0; data.len()])?;
    let back = Buffer::holding(device, &vec![0; data.len()])?;
    let streams = [Stream::new(device)?, Stream::new(device)?];
    let shape = Copy2d { width: WIDTH, height: ROWS, dst_pitch: 2 * WIDTH, src_pitch: 2 * WIDTH };
    for (from, to) in [(&source, &target), (&target, &back)] {
        for (column, stream) in streams.iter().enumerate() {
            let (dst, src) = (to.memory.offset(column * WIDTH), from.memory.offset(column * WIDTH));
            // SAFETY: the buffers have the rows. What the other stream uses is between them.
            unsafe {
                let sides = CopySides::WithinDevice { dst, src };
                device.copy_2d_async(sides, &shape, stream.handle)?;
            }
        }
    }
    for stream in &streams {
        stream.synchronize()?;
    }
    ensure!(back.read(DEFAULT)? == data, "a column is missing");
    Ok(Passed)
}
