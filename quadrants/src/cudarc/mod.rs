//! Feature `cudarc`: contexts, streams and memory of the crate `cudarc`, and tensors for it.
//!
//! A program and cudarc share the primary context of a device. A [`SharedStream`] is a stream of both. With it, memory
//! of cudarc becomes a tensor, and tensors become views of cudarc, without copies and without host waits.
//!
//! | from | to | by |
//! |---|---|---|
//! | `CudaContext` | [`Program`] | [`open`], [`open_with`] |
//! | [`Program`] | `CudaContext` | [`context`] |
//! | `CudaStream` | [`Stream`](crate::Stream) | [`SharedStream::new`] |
//! | [`Stream`](crate::Stream) | `CudaStream` | [`SharedStream::cudarc`], [`borrow_stream`] |
//! | `CudaSlice` | [`Tensor`](crate::Tensor) | [`SharedStream::tensor`] |
//! | `CudaView`, `CudaViewMut` | [`Tensor`](crate::Tensor) | [`SharedStream::with_view`], [`SharedStream::with_view_mut`] |
//! | [`Tensor`](crate::Tensor) | `CudaView`, `CudaViewMut` | [`SharedStream::foreign`] |
//!
//! # Examples
//! ```no_run
//! use cudarc::driver::CudaContext;
//! use quadrants::{self as qd, Tensor, cudarc::SharedStream, reads, writes};
//!
//! #[qd::kernel]
//! fn double(x: &mut Tensor<f32, 1>) {
//!     for i in 0..x.len() {
//!         x[i] *= 2.0;
//!     }
//! }
//!
//! let context = CudaContext::new(0).unwrap();
//! let prog = qd::cudarc::open(&context)?;
//! let stream = SharedStream::new(&prog, context.new_stream().unwrap())?;
//!
//! // Memory of cudarc as a tensor.
//! let slice = stream.cudarc().clone_htod(&[1.0_f32, 2.0, 3.0]).unwrap();
//! let mut x: Tensor<f32, 1> = stream.tensor(slice, [3])?;
//! double(&mut x).launch_on(&stream)?;
//!
//! // Tensors as views of cudarc.
//! let mut y = prog.zeros::<f32, 1>([3])?;
//! stream.foreign("copy", reads![&x], writes![&mut y], |stream, [x], [mut y]| {
//!     stream.memcpy_dtod(&x.view::<f32>()?, &mut y.view_mut::<f32>()?)?;
//!     Ok::<(), qd::cudarc::Error>(())
//! })??;
//! assert_eq!(y.to_vec()?, [2.0, 4.0, 6.0]);
//! # Ok::<(), qd::cudarc::Error>(())
//! ```
//!
//! # Order
//! cudarc orders the work of several streams by two events of each slice, if the context has streams besides the
//! default one and its event tracking is on, as it is by default. All functions here use these events as cudarc's own
//! functions do. In addition they order their stream with the stream that the slice was allocated on. So nothing else
//! is needed between work of cudarc and of the program on shared memory, with three exceptions:
//!
//! - After `CudaContext::disable_event_tracking`, work on streams other than these two must be ordered by hand.
//! - cudarc's event for reads stands for the last read only. Where two of its streams read a slice at once, as its own
//!   functions do not order a later write after the first of them either, order it by hand.
//! - Between streams of the program, [`Hazards`](crate::Hazards) decide, as for any tensor.

mod error;
mod guard;
mod memory;
mod stream;
mod views;

use std::sync::Arc;

use cudarc::driver::{
    CudaContext, DeviceRepr, ValidAsZeroBits,
    result::ctx,
    sys::{self, CUcontext},
};

pub use error::{Error, Result};
pub use stream::{SharedStream, borrow_stream};
pub use views::{ReadView, WriteView};

use crate::{Complex, KernelValue, Program, ProgramBuilder};

/// An element that both crates know: a number or a complex number, of which any bits are a valid value.
///
/// Elements of other types, such as vectors, are shared as their numbers, by `transmute` of cudarc.
pub trait Element: KernelValue + DeviceRepr + sealed::Sealed {}

mod sealed {
    pub trait Sealed {}
}

macro_rules! elements {
    ($($element:ty),*) => {$(
        impl sealed::Sealed for $element {}
        impl Element for $element {}
    )*};
}

elements!(i8, i16, i32, i64, isize, u8, u16, u32, u64, usize, f32, f64);
elements!(Complex<f32>, Complex<f64>);

// SAFETY: two numbers in C's order without padding, as device code has them.
unsafe impl<T: DeviceRepr> DeviceRepr for Complex<T> {}
// SAFETY: two numbers that may be zero.
unsafe impl<T: ValidAsZeroBits> ValidAsZeroBits for Complex<T> {}

/// Opens a program on the device and context of cudarc.
///
/// # Errors
/// [`Error::OtherContext`] where the context is not the primary one of its device, or where the program uses another
/// driver library; [`Error::Quadrants`] where the device cannot be opened.
pub fn open(context: &Arc<CudaContext>) -> Result<Program> {
    open_with(context, Program::builder())
}

/// As [`open`], with options.
///
/// # Errors
/// As for [`open`].
pub fn open_with(context: &Arc<CudaContext>, builder: ProgramBuilder) -> Result<Program> {
    let program = builder.open(crate::Arch::Cuda.device(context.ordinal()))?;
    check_context(&program, context, CONTEXT)?;
    Ok(program)
}

/// The context of a program for cudarc: a new handle of the primary context, which becomes current on this thread.
///
/// # Errors
/// [`Error::OtherBackend`], [`Error::NoDriver`], [`Error::OtherContext`] where the program uses another driver library,
/// or [`Error::Driver`].
pub fn context(program: &Program) -> Result<Arc<CudaContext>> {
    check_backend(program)?;
    // SAFETY: loading libcuda has no effects that anything here depends on.
    if !unsafe { sys::is_culib_present() } {
        return Err(Error::NoDriver);
    }
    let context = CudaContext::new(program.device_info().ordinal)?;
    check_context(program, &context, CONTEXT)?;
    Ok(context)
}

const CONTEXT: &str = "the context";

fn check_backend(program: &Program) -> Result<()> {
    match program.arch() {
        "cuda" => Ok(()),
        backend => Err(Error::OtherBackend { backend }),
    }
}

/// Compares a context with that of the program, which is current while other code enqueues work.
fn check_context(program: &Program, context: &CudaContext, what: &'static str) -> Result<()> {
    check_backend(program)?;
    let (found, expected) = (context.ordinal(), program.device_info().ordinal);
    if found != expected {
        return Err(Error::OtherDevice { what, found, expected });
    }
    let ask = |_: &crate::ForeignCall<'_>| ctx::get_current();
    let current: Option<CUcontext> =
        program.foreign("the context", program.default_stream(), [], [], ask)??;
    if current != Some(context.cu_ctx()) {
        return Err(Error::OtherContext { what, ordinal: found });
    }
    Ok(())
}
