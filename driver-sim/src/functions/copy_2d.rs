//! Copies of rows with gaps between them.

use std::{
    ffi::c_uint,
    mem::{offset_of, size_of},
};

use crate::{
    code::Code,
    copy_shape::CopyShape,
    entry::{ApiCall, Stop, driver_functions},
    op::OpKind,
    peer,
    pointer::{Array, HostSource, HostTarget},
};

/// `CUDA_MEMCPY2D`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Copy2d {
    src_x: usize,
    src_y: usize,
    src_kind: c_uint,
    src_host: HostSource,
    src_device: u64,
    src_array: usize,
    src_pitch: usize,
    dst_x: usize,
    dst_y: usize,
    dst_kind: c_uint,
    dst_host: HostTarget,
    dst_device: u64,
    dst_array: usize,
    dst_pitch: usize,
    width: usize,
    height: usize,
}

// The layout of the C header.
const _: () = {
    assert!(size_of::<Copy2d>() == 128);
    assert!(offset_of!(Copy2d, src_host) == 24);
    assert!(offset_of!(Copy2d, src_pitch) == 48);
    assert!(offset_of!(Copy2d, dst_kind) == 72);
    assert!(offset_of!(Copy2d, width) == 112);
};

/// Where the first rows are.
#[derive(Clone, Copy)]
enum Sides {
    HostToDevice(u64, HostSource),
    DeviceToHost(HostTarget, u64),
    WithinDevice(u64, u64),
}

driver_functions! {
    /// Copies rows in stream order: only to, from and within device memory, from the first row on.
    fn [Cuda cuMemcpy2DAsync_v2](copy: Array<Copy2d>, stream: usize) |call| {
        /// `CU_MEMORYTYPE_HOST` and `CU_MEMORYTYPE_DEVICE`.
        const HOST: c_uint = 1;
        const DEVICE: c_uint = 2;
        let of = copy.first()?;
        let sides = match (of.src_kind, of.dst_kind) {
            (HOST, DEVICE) => Sides::HostToDevice(of.dst_device, of.src_host),
            (DEVICE, HOST) => Sides::DeviceToHost(of.dst_host, of.src_device),
            (DEVICE, DEVICE) => Sides::WithinDevice(of.dst_device, of.src_device),
            _ => return Err(Code::NOT_SUPPORTED.into()),
        };
        if [of.src_x, of.src_y, of.dst_x, of.dst_y] != [0; 4] {
            return Err(Code::NOT_SUPPORTED.into());
        }
        let Copy2d { width, height, dst_pitch, src_pitch, .. } = of;
        copy_rows(call, sides, CopyShape { width, height, dst_pitch, src_pitch }, stream)?;
    }

    /// The same. The kind is a `hipMemcpyKind`.
    fn [Hip hipMemcpy2DAsync](
        dst: HostTarget,
        dst_pitch: usize,
        src: HostSource,
        src_pitch: usize,
        width: usize,
        height: usize,
        kind: c_uint,
        stream: usize,
    ) |call| {
        let (to, from) = (dst.address() as u64, src.address() as u64);
        let sides = match kind {
            1 => Sides::HostToDevice(to, src),
            2 => Sides::DeviceToHost(dst, from),
            3 => Sides::WithinDevice(to, from),
            _ => return Err(Code::NOT_SUPPORTED.into()),
        };
        copy_rows(call, sides, CopyShape { width, height, dst_pitch, src_pitch }, stream)?;
    }
}

fn copy_rows(call: &ApiCall, sides: Sides, rows: CopyShape, stream: usize) -> Result<(), Stop> {
    let (mut state, stream) = call.on_stream(stream)?;
    rows.check()?;
    match sides {
        Sides::WithinDevice(dst, src) => state.copy(OpKind::CopyDtod, dst, src, rows, stream)?,
        Sides::HostToDevice(dst, src) if state.is_device_accessible(src.address()) => {
            state.copy(OpKind::CopyHtod, dst, src.address() as u64, rows, stream)?;
        }
        Sides::HostToDevice(dst, src) => {
            let mut data = Vec::with_capacity(rows.bytes());
            for (_, from) in rows.each() {
                data.extend_from_slice(src.offset(from).bytes(rows.width)?);
            }
            state.upload(stream, dst, data.into(), rows)?;
        }
        Sides::DeviceToHost(dst, src) if state.is_device_accessible(dst.address()) => {
            state.copy(OpKind::CopyDtoh, dst.address() as u64, src, rows, stream)?;
        }
        Sides::DeviceToHost(dst, src) => {
            let id = state.begin_download(stream)?;
            let mut data = vec![0; rows.bytes()];
            peer::wait(state, |state| state.download((id, stream), src, rows, &mut data))?;
            for ((to, _), row) in rows.each().zip(data.chunks_exact(rows.width.max(1))) {
                dst.offset(to).bytes(rows.width)?.copy_from_slice(row);
            }
        }
    }
    Ok(())
}
