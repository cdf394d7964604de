//! Foreign operations: work that other code, such as a library, enqueues on a stream of a program, with the order,
//! stamps and hazards of a launch.

use std::{any::TypeId, error::Error as StdError, panic::Location, sync::Arc};

use quadrants_rhi::{LentContext, StreamHandle};
use quadrants_runtime::{Error as RuntimeError, Watch};
use smallvec::SmallVec;

use crate::{
    Error, KernelValue, Program, RawTensor, Result, Slice, SliceMut, Stream, Tensor,
    arguments::operation_tensors::OperationTensors,
    launcher::operation_names::OperationUse,
    profile::session::ForeignNames,
    state::{ProgramInner, StreamState, device_tensor::DeviceTensor},
    tensor::Elements,
    thread_state::{capture, current_stream::with_current_or_default},
};

/// A tensor that a foreign operation reads. [`reads!`](crate::reads) makes a list of them.
#[derive(Debug, Clone, Copy)]
pub struct ForeignRead<'a>(ForeignTensor<'a>);

/// A tensor that a foreign operation reads and writes. [`writes!`](crate::writes) makes a list of them.
#[derive(Debug)]
pub struct ForeignWrite<'a>(ForeignTensor<'a>);

#[derive(Debug, Clone, Copy)]
struct ForeignTensor<'a> {
    /// None of a host array.
    memory: Option<&'a DeviceTensor>,
    shape: &'a [usize],
    element: TypeId,
}

/// What the closure of a foreign operation gets: the stream and the addresses.
#[derive(Debug)]
#[non_exhaustive]
pub struct ForeignCall<'a> {
    /// The driver's stream, on which the work is enqueued. 0 on the CPU, where the work is done by the closure itself.
    pub stream: StreamHandle,
    /// Where the tensors of [`reads!`](crate::reads) are, in the same order.
    pub reads: &'a [RawTensor],
    /// Where the tensors of [`writes!`](crate::writes) are, in the same order.
    pub writes: &'a [RawTensor],
}

/// The tensors that a foreign operation only reads: `reads![&a, &b]`.
#[macro_export]
macro_rules! reads {
    ($($tensor:expr),* $(,)?) => {
        [$($crate::ForeignRead::from($tensor)),*]
    };
}

/// The tensors that a foreign operation reads and writes: `writes![&mut c]`.
#[macro_export]
macro_rules! writes {
    ($($tensor:expr),* $(,)?) => {
        [$($crate::ForeignWrite::from($tensor)),*]
    };
}

impl<'a> ForeignTensor<'a> {
    fn new<T: KernelValue, const N: usize>(tensor: &'a Tensor<T, N>) -> Self {
        let (elements, shape) = tensor.elements();
        let memory = match elements {
            Elements::Device(device_tensor) => Some(device_tensor),
            Elements::Host(_) => None,
        };
        Self { memory, shape, element: TypeId::of::<T>() }
    }

    /// Its memory, after whose first fill later work of the stream comes.
    #[inline]
    fn usable(
        &self,
        name: &'static str,
        program: &Arc<ProgramInner>,
        stream: &StreamState,
    ) -> Result<&'a DeviceTensor> {
        let Some(memory) = self.memory else { return Err(Error::HostArray { what: name }) };
        memory.check_argument_of(program, Some(name))?;
        memory.check_contiguous(name)?;
        memory.order_fill_before(&stream.stream)?;
        Ok(memory)
    }
}

impl<'a, T: KernelValue, const N: usize> From<&'a Tensor<T, N>> for ForeignRead<'a> {
    fn from(tensor: &'a Tensor<T, N>) -> Self {
        Self(ForeignTensor::new(tensor))
    }
}

impl<'a, T: KernelValue, const N: usize> From<&'a Slice<'_, T, N>> for ForeignRead<'a> {
    fn from(tensor: &'a Slice<'_, T, N>) -> Self {
        Self(ForeignTensor::new(tensor))
    }
}

impl<'a, T: KernelValue, const N: usize> From<&'a mut Tensor<T, N>> for ForeignWrite<'a> {
    fn from(tensor: &'a mut Tensor<T, N>) -> Self {
        Self(ForeignTensor::new(tensor))
    }
}

impl<'a, T: KernelValue, const N: usize> From<&'a mut SliceMut<'_, T, N>> for ForeignWrite<'a> {
    fn from(tensor: &'a mut SliceMut<'_, T, N>) -> Self {
        Self(ForeignTensor::new(tensor))
    }
}

impl Program {
    /// Lets other code enqueue work on `stream`: calls `call` once, with the driver's stream and the addresses of the
    /// tensors. The work has the order of the stream, and is seen as a launch is: the tensors are stamped, so that
    /// reads and frees wait for it, and [`Hazards`](crate::Hazards) and regions see it under `name`.
    ///
    /// The program's context is current in `call`. Afterwards the context that was current before is current again,
    /// also where `call` changed it or panics. A panic goes on after the tensors are stamped.
    ///
    /// Inside [`Program::capture`], `call` is called once, during the capture, with a stream that the driver captures:
    /// what it enqueues there becomes nodes of the graph. A device without graphs refuses it.
    ///
    /// # What `call` must promise
    /// This function is safe, because an address alone does nothing. `call` needs `unsafe` to use it, and its `unsafe`
    /// block must promise, besides what the other code requires:
    /// - Only the listed tensors are accessed: those of `reads` are only read. Their elements stay valid values.
    /// - All work is enqueued on the given stream, or is ordered by the driver before and after it: work on other
    ///   streams waits for it first, and it waits for them at the end. On the CPU, the work is done when `call`
    ///   returns.
    /// - Neither an address nor the stream is used after that work. The stream is not destroyed.
    ///
    /// # Errors
    /// [`Error::OtherProgram`], [`Error::HostArray`], [`Error::Capture`], [`Error::RegionConflict`]; [`Error::View`]
    /// where a tensor is not [contiguous](Tensor::is_contiguous); under
    /// [`Hazards::Check`](crate::Hazards::Check), [`Error::Hazard`]; [`Error::Kernel`] where an earlier kernel on the
    /// stream reported an error that was not returned yet; or an error of the device. Then `call` is not called. What
    /// `call` returns is passed on.
    ///
    /// # Examples
    /// ```
    /// # fn main() -> quadrants_program::Result<()> {
    /// # let device = quadrants_rhi_cpu::driver()?.open(0)?;
    /// # let opened = quadrants_program::Opened { device, compiler: None };
    /// # let prog = quadrants_program::Program::open(opened)?;
    /// use quadrants_program::{reads, writes};
    /// let (x, mut y) = (prog.tensor_from(&[3.0_f32, 1.0, 2.0], [3])?, prog.zeros::<f32, 1>([3])?);
    /// // On the CPU, addresses are those of this process.
    /// prog.foreign("sort", prog.default_stream(), reads![&x], writes![&mut y], |raw| {
    ///     let (from, to) = (raw.reads[0].address.as_ptr::<f32>(), raw.writes[0].address.as_ptr::<f32>());
    ///     // SAFETY: both have three elements, and nothing else uses them now.
    ///     let to = unsafe {
    ///         to.copy_from_nonoverlapping(from, 3);
    ///         std::slice::from_raw_parts_mut(to, 3)
    ///     };
    ///     to.sort_by(f32::total_cmp);
    /// })?;
    /// assert_eq!(y.to_vec()?, [1.0, 2.0, 3.0]);
    /// # Ok(())
    /// # }
    /// ```
    #[track_caller]
    pub fn foreign<R, const READS: usize, const WRITES: usize>(
        &self,
        name: &'static str,
        stream: &Stream,
        reads: [ForeignRead<'_>; READS],
        writes: [ForeignWrite<'_>; WRITES],
        call: impl FnOnce(&ForeignCall<'_>) -> R,
    ) -> Result<R> {
        self.inner().check_same(&stream.program, "the stream")?;
        let at = Location::caller();
        self.foreign_on::<_, READS, WRITES>(name, &stream.state, (&reads, &writes), at, call)
    }

    /// [`foreign`](Self::foreign) with lists whose lengths are not known at compile time, and for crates that wrap a
    /// library: `at` is where their user called them, which hazards name.
    ///
    /// # Errors
    /// As for [`foreign`](Self::foreign).
    pub fn foreign_with_lists<R>(
        &self,
        name: &'static str,
        stream: &Stream,
        reads: &[ForeignRead<'_>],
        writes: &[ForeignWrite<'_>],
        at: &'static Location<'static>,
        call: impl FnOnce(&ForeignCall<'_>) -> R,
    ) -> Result<R> {
        self.inner().check_same(&stream.program, "the stream")?;
        self.foreign_on::<_, 2, 2>(name, &stream.state, (reads, writes), at, call)
    }

    /// [`foreign`](Self::foreign) on this thread's current stream: that of the innermost
    /// [`Stream::scope`](crate::Stream::scope) or block of a region, or else the default stream.
    ///
    /// # Errors
    /// As for [`foreign`](Self::foreign).
    #[track_caller]
    pub fn foreign_on_current<R, const READS: usize, const WRITES: usize>(
        &self,
        name: &'static str,
        reads: [ForeignRead<'_>; READS],
        writes: [ForeignWrite<'_>; WRITES],
        call: impl FnOnce(&ForeignCall<'_>) -> R,
    ) -> Result<R> {
        let (program, at) = (self.inner(), Location::caller());
        with_current_or_default(program, |stream| {
            self.foreign_on::<_, READS, WRITES>(name, stream, (&reads, &writes), at, call)
        })
    }

    /// Runs `body` with the program's context current, for calls of other code that enqueue nothing: a library's
    /// initialization, say. Afterwards the context that was current before is current again, also where `body` changed
    /// it or panics.
    ///
    /// # Errors
    /// An error of the device; then `body` did not run.
    pub fn with_context<R>(&self, body: impl FnOnce() -> R) -> Result<R> {
        let context = &self.shared().context;
        context.check()?;
        // SAFETY: dropped at the end of this scope, also where `body` panics, and guards that `body` creates are
        // dropped in it.
        let lent = unsafe { LentContext::enter(&**context.device()) };
        let _lent = context.observe(lent)?;
        Ok(body())
    }

    /// Registers a watch of work that other code has enqueued and that may never complete by itself, until the watch is
    /// dropped. Waits of the host return the failures that it reports.
    pub fn watch(&self, watch: &Arc<impl Watch + 'static>) {
        self.shared().context.watch(watch);
    }

    /// Keeps an error of other code that no call can return, such as that of a drop, for
    /// [`take_deferred_errors`](Self::take_deferred_errors). It is the source of the error that is taken.
    pub fn defer_error(&self, error: Arc<dyn StdError + Send + Sync>) {
        self.shared().context.defer(RuntimeError::foreign(error));
    }

    /// Refuses an operation of other code that cannot be captured, where this thread [captures](Self::capture) the
    /// program.
    ///
    /// # Errors
    /// [`Error::Capture`] with the name of the operation.
    pub fn refuse_capture(&self, what: &'static str) -> Result<()> {
        capture::refuse(self.shared(), what)
    }

    /// The lists usually have `READS` and `WRITES` tensors.
    fn foreign_on<R, const READS: usize, const WRITES: usize>(
        &self,
        name: &'static str,
        stream: &StreamState,
        (reads, writes): (&[ForeignRead<'_>], &[ForeignWrite<'_>]),
        at: &'static Location<'static>,
        call: impl FnOnce(&ForeignCall<'_>) -> R,
    ) -> Result<R> {
        let (program, shared) = (self.inner(), self.shared());
        stream.refuse_captured()?;
        let mut tensors = OperationTensors::default();
        let of = |name, position, writes| OperationUse { name, position: Some(position), writes };
        let mut raw_reads = RawTensors::<READS>::new();
        for (position, ForeignRead(tensor)) in reads.iter().enumerate() {
            let memory = tensor.usable(name, program, stream)?;
            raw_reads.push(RawTensor::of(memory, tensor.shape, tensor.element));
            tensors.push(memory, tensor.shape, of("reads", position, false));
        }
        let mut raw_writes = RawTensors::<WRITES>::new();
        for (position, ForeignWrite(tensor)) in writes.iter().enumerate() {
            let memory = tensor.usable(name, program, stream)?;
            raw_writes.push(RawTensor::of(memory, tensor.shape, tensor.element));
            tensors.push(memory, tensor.shape, of("writes", position, true));
        }
        let mut call = Some(call);
        let mut enqueue = |stream: StreamHandle| {
            let Some(call) = call.take() else { return Err(Error::Capture { what: name }) };
            // SAFETY: dropped at the end of this scope, also where `call` panics, and guards that `call` creates are
            // dropped in it.
            let lent = unsafe { LentContext::enter(&**shared.context.device()) };
            let _lent = shared.context.observe(lent)?;
            Ok(call(&ForeignCall { stream, reads: &raw_reads, writes: &raw_writes }))
        };
        let mut result = None;
        let captured = capture::with(shared, |recorder| {
            recorder.foreign(name, &tensors, stream, at, &mut |stream| {
                result = Some(enqueue(stream)?);
                Ok(())
            })
        });
        if let Some(captured) = captured {
            captured?;
            return result.ok_or(Error::Capture { what: name });
        }
        let handle = stream.stream.handle();
        shared.submit_operation(stream, name, &tensors, at, || {
            let _profiled = shared.profile_foreign((stream.stream.id(), handle), || ForeignNames {
                id: shared.operation_names.id(name),
                name,
                at,
                tensors: (reads.len() as u32, writes.len() as u32),
            });
            enqueue(handle)
        })
    }
}

type RawTensors<const COUNT: usize> = SmallVec<[RawTensor; COUNT]>;
