//! The functions that Python calls by `ctypes`: a session, tensors of other libraries by DLPack, and one kernel on
//! them and on streams of those libraries. `python/session.py` has their Python side, and `torch_step.py`,
//! `cupy_step.py` and `numpy_step.py` call the kernel between operations of PyTorch, CuPy and NumPy.

use std::{
    cell::RefCell,
    collections::{HashMap, hash_map::Entry},
    ffi::{CString, c_char, c_int, c_void},
    ptr,
    sync::{Mutex, PoisonError},
};

use quadrants::{self as qd, Program, Stream, Tensor, dlpack::ManagedTensor, rhi::StreamHandle};

/// What a function returns: it worked, it failed, or it was refused because the stream is captured.
pub const OK: c_int = 0;
/// It failed; [`quadrants_error`] has the reason.
pub const FAILED: c_int = 1;
/// Other code captures the stream, and the capture goes on; [`quadrants_error`] has the text.
pub const CAPTURED: c_int = 2;

thread_local! {
    static LAST_ERROR: RefCell<CString> = RefCell::default();
}

/// A program, opened by [`quadrants_open`].
#[derive(Debug)]
pub struct Session {
    program: Program,
    /// The wrapped streams, by handle.
    streams: Mutex<HashMap<StreamHandle, Stream>>,
}

/// The tensors of the session's kernel.
pub type Floats = Tensor<f32, 1>;

impl Session {
    /// # Safety
    /// As for [`Stream::from_raw`], until the session is closed.
    unsafe fn with_stream(
        &self,
        number: i64,
        launch: impl FnOnce(&Stream) -> qd::Result<()>,
    ) -> qd::Result<()> {
        let handle = self.program.dlpack_stream(Some(number)).unwrap_or(StreamHandle::DEFAULT);
        if handle == StreamHandle::DEFAULT {
            return launch(self.program.default_stream());
        }
        let mut streams = self.streams.lock().unwrap_or_else(PoisonError::into_inner);
        launch(match streams.entry(handle) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => {
                // SAFETY: the caller's promise.
                let wrapped = unsafe { Stream::from_raw(&self.program, handle)? };
                entry.insert(wrapped)
            }
        })
    }
}

#[qd::kernel]
fn relax(x: &Tensor<f32, 1>, y: &mut Tensor<f32, 1>) {
    for i in 0..y.len() {
        y[i] = 0.5 * x[i] + 1.0;
    }
}

fn status(result: qd::Result<()>) -> c_int {
    let Err(error) = result else { return OK };
    let text = CString::new(error.to_string()).unwrap_or_default();
    LAST_ERROR.with_borrow_mut(|last| *last = text);
    if matches!(error, qd::Error::ForeignCapture { .. }) { CAPTURED } else { FAILED }
}

/// The text of the last error on this thread. Valid until the next call.
#[unsafe(no_mangle)]
pub extern "C" fn quadrants_error() -> *const c_char {
    LAST_ERROR.with_borrow(|last| last.as_ptr())
}

/// Opens a CUDA device, or the CPU with a negative number. Null if that fails.
#[unsafe(no_mangle)]
pub extern "C" fn quadrants_open(device: c_int) -> *mut Session {
    let opened = match usize::try_from(device) {
        Ok(ordinal) => Program::open(qd::Arch::Cuda.device(ordinal)),
        Err(_) => Program::open(qd::Arch::Cpu),
    };
    match opened {
        Ok(program) => Box::into_raw(Box::new(Session { program, streams: Mutex::default() })),
        Err(error) => {
            status(Err(error));
            ptr::null_mut()
        }
    }
}

/// Makes a tensor of a managed tensor of DLPack, without a copy: the contents of a capsule named `dltensor_versioned`,
/// or of one named `dltensor` where `versioned` is 0. Its deleter is called here if this fails.
///
/// # Safety
/// `session` is from [`quadrants_open`] and not closed. `managed` is such a managed tensor, which nobody else frees,
/// and which is used and ordered as [`Program::from_dlpack`] says. `out` is valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn quadrants_import(
    session: *const Session,
    managed: *mut c_void,
    versioned: c_int,
    out: *mut *mut Floats,
) -> c_int {
    // SAFETY: the caller's promise.
    let import = || unsafe {
        let managed = match versioned {
            0 => ManagedTensor::from_raw_unversioned(managed.cast())?,
            _ => ManagedTensor::from_raw(managed.cast())?,
        };
        let tensor = (*session).program.from_dlpack(managed)?;
        out.write(Box::into_raw(Box::new(tensor)));
        Ok(())
    };
    status(import())
}

/// Makes a tensor of `n` zeros.
///
/// # Safety
/// `session` is from [`quadrants_open`] and not closed. `out` is valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn quadrants_zeros(
    session: *const Session,
    n: usize,
    out: *mut *mut Floats,
) -> c_int {
    // SAFETY: the caller's promise.
    let make = || unsafe {
        let tensor = (*session).program.zeros([n])?;
        out.write(Box::into_raw(Box::new(tensor)));
        Ok(())
    };
    status(make())
}

/// Makes a managed tensor of DLPack of a tensor, without a copy, and makes the consumer's stream wait for all work on
/// the tensor. `stream` is the argument of `__dlpack__`, and -1 is no order.
///
/// # Safety
/// `session` is from [`quadrants_open`] and not closed; `tensor` is one of its tensors and not dropped. `stream` is a
/// stream of the device, or a number of the protocol. `out` is valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn quadrants_export(
    session: *const Session,
    tensor: *const Floats,
    stream: i64,
    versioned: c_int,
    out: *mut *mut c_void,
) -> c_int {
    // SAFETY: the caller's promise.
    let export = || unsafe {
        let (session, tensor) = (&*session, &*tensor);
        if let Some(stream) = session.program.dlpack_stream(Some(stream)) {
            tensor.order_before_raw(stream)?;
        }
        out.write(match versioned {
            0 => tensor.to_dlpack_unversioned()?.cast(),
            _ => tensor.to_dlpack()?.cast(),
        });
        Ok(())
    };
    status(export())
}

/// The DLPack device of a session: its type in the upper 32 bits, and its number.
///
/// # Safety
/// `session` is from [`quadrants_open`] and not closed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn quadrants_device(session: *const Session) -> u64 {
    // SAFETY: the caller's promise.
    let info = unsafe { (*session).program.device_info() };
    let device_type = info.dlpack.map_or(0, |names| names.device_type);
    u64::from(device_type.cast_unsigned()) << 32 | info.ordinal as u64
}

/// Enqueues `y = 0.5 * x + 1` on a stream, without waiting.
///
/// # Safety
/// `session` is from [`quadrants_open`] and not closed. `stream` is the handle of a stream of its device that stays
/// alive until the session is closed, or a number of DLPack's protocol. `x` and `y` are tensors of the session.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn quadrants_relax(
    session: *const Session,
    stream: i64,
    x: *const Floats,
    y: *mut Floats,
) -> c_int {
    // SAFETY: the caller's promise.
    status(unsafe { (*session).with_stream(stream, |on| relax(&*x, &mut *y).launch_on(on)) })
}

/// Drops a tensor. Its memory is freed, or its deleter called, when the work that uses it is complete.
///
/// # Safety
/// `tensor` is from this library, and is not used any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn quadrants_drop(tensor: *mut Floats) {
    // SAFETY: the caller's promise.
    drop(unsafe { Box::from_raw(tensor) });
}

/// Closes a session: waits for its work.
///
/// # Safety
/// `session` is from [`quadrants_open`], and is not used any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn quadrants_close(session: *mut Session) {
    // SAFETY: the caller's promise.
    drop(unsafe { Box::from_raw(session) });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_relaxes_tensors_of_others() {
        let session = quadrants_open(-1);
        assert!(!session.is_null());
        let theirs = Program::open(qd::Arch::Cpu).unwrap();
        let (x, y) = (theirs.tensor_from(&[2.0_f32, 4.0, 6.0], [3]).unwrap(), [0.0_f32; 4]);
        let wrong = theirs.tensor_from(&y, [2, 2]).unwrap().to_dlpack().unwrap();
        let (mut from, mut to, mut back) = (ptr::null_mut(), ptr::null_mut(), ptr::null_mut());
        // SAFETY: each managed tensor is given away once, and each pointer is used until it is dropped.
        unsafe {
            let managed = x.to_dlpack_unversioned().unwrap();
            assert_eq!(quadrants_import(session, managed.cast(), 0, &mut from), OK);
            assert_eq!(quadrants_import(session, wrong.cast(), 1, &mut to), FAILED);
            let text = std::ffi::CStr::from_ptr(quadrants_error()).to_str().unwrap();
            assert!(text.contains("dimensions is 2"), "{text}");
            assert_eq!(quadrants_zeros(session, 3, &mut to), OK);
            assert_eq!(quadrants_relax(session, 0, from, to), OK);
            assert_eq!(quadrants_export(session, to, -1, 1, &mut back), OK);
            assert_eq!(quadrants_device(session), 1 << 32);
            let managed = ManagedTensor::from_raw(back.cast()).unwrap();
            let y = theirs.from_dlpack::<f32, 1>(managed).unwrap();
            quadrants_drop(from);
            quadrants_drop(to);
            quadrants_close(session);
            assert_eq!(y.to_vec().unwrap(), [2.0, 3.0, 4.0]);
        }
    }
}
