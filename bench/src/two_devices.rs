//! The rivals on two devices: copies by the CUDA driver and collective operations by NCCL, called by hand.

use std::{
    env,
    ffi::{c_int, c_uint, c_void},
    ptr::null_mut,
};

use libloading::Library;

use crate::{
    driver::{Handle, check},
    table::functions,
};

functions! {
    /// The driver's functions for two devices.
    Driver:
    retain = "cuDevicePrimaryCtxRetain" (*mut Handle, c_int);
    set_current = "cuCtxSetCurrent" (Handle);
    enable_peer = "cuCtxEnablePeerAccess" (Handle, c_uint);
    alloc = "cuMemAlloc_v2" (*mut u64, usize);
    fill = "cuMemsetD8_v2" (u64, u8, usize);
    copy_peer = "cuMemcpyPeerAsync" (u64, Handle, u64, Handle, usize, Handle);
    stream_create = "cuStreamCreate" (*mut Handle, c_uint);
    stream_sync = "cuStreamSynchronize" (Handle);
    event_create = "cuEventCreate" (*mut Handle, c_uint);
    record = "cuEventRecord" (Handle, Handle);
    wait = "cuStreamWaitEvent" (Handle, Handle, c_uint);
}

functions! {
    /// NCCL's functions.
    Nccl:
    init_all = "ncclCommInitAll" (*mut Handle, c_int, *const c_int);
    group_start = "ncclGroupStart" ();
    group_end = "ncclGroupEnd" ();
    all_reduce = "ncclAllReduce" (
        *const c_void, *mut c_void, usize, c_int, c_int, Handle, Handle
    );
}

/// `CU_STREAM_NON_BLOCKING` and `CU_EVENT_DISABLE_TIMING`.
const NON_BLOCKING: c_uint = 1;
const NO_TIMING: c_uint = 2;
/// `CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED`.
const ALREADY: c_int = 704;
/// `ncclFloat` and `ncclSum`.
const FLOAT: c_int = 7;
const SUM: c_int = 0;

/// Two devices with a stream, an event and a buffer each. Everything lives as long as the process.
pub struct TwoDevices {
    driver: Driver,
    nccl: Nccl,
    contexts: [Handle; 2],
    streams: [Handle; 2],
    events: [Handle; 2],
    buffers: [u64; 2],
    communicators: [Handle; 2],
}

impl TwoDevices {
    /// Makes the objects in the primary contexts of devices 0 and 1, with buffers of this size.
    pub fn new(bytes: usize) -> Self {
        let nccl = env::var_os("QUADRANTS_NCCL_LIBRARY").unwrap_or_else(|| "libnccl.so.2".into());
        // SAFETY: the libraries by their names, and their functions by the documented signatures.
        let (driver, nccl) = unsafe {
            (
                Driver::resolve(Library::new("libcuda.so.1").expect("libcuda")),
                Nccl::resolve(Library::new(nccl).expect("libnccl")),
            )
        };
        let mut contexts = [null_mut(); 2];
        let (mut streams, mut events) = ([null_mut(); 2], [null_mut(); 2]);
        let (mut buffers, mut communicators) = ([0; 2], [null_mut(); 2]);
        // SAFETY: the program that is measured has initialized the driver and both devices; each call writes one
        // object of the current context.
        unsafe {
            for (at, context) in contexts.iter_mut().enumerate() {
                check((driver.retain)(context, at as c_int));
            }
            for at in 0..2 {
                check((driver.set_current)(contexts[at]));
                let enabled = (driver.enable_peer)(contexts[1 - at], 0);
                assert!(enabled == 0 || enabled == ALREADY, "no peer access: {enabled}");
                check((driver.stream_create)(&mut streams[at], NON_BLOCKING));
                check((driver.event_create)(&mut events[at], NO_TIMING));
                check((driver.alloc)(&mut buffers[at], bytes));
                check((driver.fill)(buffers[at], 0, bytes));
            }
            check((nccl.init_all)(communicators.as_mut_ptr(), 2, [0, 1].as_ptr()));
            check((driver.set_current)(contexts[0]));
        }
        Self { driver, nccl, contexts, streams, events, buffers, communicators }
    }

    /// Enqueues a copy from device 0 to device 1, between the earlier and the later work of both streams.
    pub fn copy(&self, bytes: usize) {
        let Self { driver, contexts, streams, events, buffers, .. } = self;
        // SAFETY: the objects of `new`; the buffers have the bytes.
        unsafe {
            check((driver.record)(events[0], streams[0]));
            check((driver.wait)(streams[1], events[0], 0));
            check((driver.copy_peer)(
                buffers[1],
                contexts[1],
                buffers[0],
                contexts[0],
                bytes,
                streams[1],
            ));
            check((driver.set_current)(contexts[1]));
            check((driver.record)(events[1], streams[1]));
            check((driver.set_current)(contexts[0]));
            check((driver.wait)(streams[0], events[1], 0));
        }
    }

    /// Enqueues the sum of both buffers, in place.
    pub fn all_reduce(&self, floats: usize) {
        let Self { nccl, streams, buffers, communicators, .. } = self;
        // SAFETY: the objects of `new`; the buffers have the floats.
        unsafe {
            check((nccl.group_start)());
            for at in 0..2 {
                let buffer = buffers[at] as usize as *mut c_void;
                check((nccl.all_reduce)(
                    buffer,
                    buffer,
                    floats,
                    FLOAT,
                    SUM,
                    communicators[at],
                    streams[at],
                ));
            }
            check((nccl.group_end)());
        }
    }

    /// Waits for both streams.
    pub fn wait(&self) {
        for stream in self.streams {
            // SAFETY: a stream of `new`.
            check(unsafe { (self.driver.stream_sync)(stream) });
        }
    }
}
