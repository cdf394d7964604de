//! The order between streams of a program and those of other code, as DLPack's protocol requires.

use quadrants_rhi::StreamHandle;

use crate::{
    Error, KernelValue, Program, Result, Stream, Tensor, state::order::order_after,
    tensor::Elements, thread_state::capture,
};

impl Stream {
    /// The number of this stream in DLPack's protocol, for the argument `stream` of a producer's `__dlpack__`. The
    /// producer then makes this stream wait for its own work. `None` on a device without streams.
    #[must_use]
    pub fn dlpack_number(&self) -> Option<i64> {
        let default = self.program.shared.context.device().info().dlpack?.default_stream?;
        match self.handle() {
            StreamHandle::DEFAULT => Some(default),
            StreamHandle(handle) => Some(handle.cast_signed()),
        }
    }
}

impl Program {
    /// The driver's stream that a consumer names by the argument `stream` of `__dlpack__`: the default stream without a
    /// number, and none for -1, with which the consumer asks for no order, and on a device without streams.
    #[must_use]
    pub fn dlpack_stream(&self, number: Option<i64>) -> Option<StreamHandle> {
        let default = self.device_info().dlpack?.default_stream?;
        match number {
            None => Some(StreamHandle::DEFAULT),
            Some(-1) => None,
            Some(number) if number == default => Some(StreamHandle::DEFAULT),
            Some(number) => Some(StreamHandle(number.cast_unsigned())),
        }
    }
}

impl<T: KernelValue, const N: usize> Tensor<T, N> {
    /// Makes later work of a stream wait for all work so far that uses the tensor. The host does not wait.
    ///
    /// # Errors
    /// [`Error::HostArray`], [`Error::OtherProgram`], [`Error::Capture`], or an error of the device.
    pub fn order_before(&self, stream: &Stream) -> Result<()> {
        self.check_address()?;
        let Elements::Device(memory) = &self.elements else {
            return Err(Error::HostArray { what: "`order_before`" });
        };
        memory.program.check_same(&stream.program, "the stream")?;
        capture::refuse(&memory.program.shared, "an order after the users of a tensor")?;
        stream.state.refuse_captured()?;
        memory.order_fill_before(&stream.state.stream)?;
        order_after(&memory.program.shared, &stream.state, memory.buffer.users())
    }

    /// As [`order_before`](Self::order_before), for a stream of other code: the one that
    /// [`Program::dlpack_stream`] returns.
    ///
    /// # Errors
    /// As for [`order_before`](Self::order_before).
    ///
    /// # Safety
    /// `stream` is a stream of the program's device and context.
    pub unsafe fn order_before_raw(&self, stream: StreamHandle) -> Result<()> {
        self.check_address()?;
        let Elements::Device(memory) = &self.elements else {
            return Err(Error::HostArray { what: "`order_before_raw`" });
        };
        let shared = &memory.program.shared;
        capture::refuse(shared, "an order after the users of a tensor")?;
        memory.finish_fill()?;
        // SAFETY: until the guard is dropped, this thread only calls this device.
        let _current = unsafe { shared.context.make_current()? };
        // SAFETY: by the caller.
        unsafe { shared.context.order_after(stream, memory.buffer.users())? };
        Ok(())
    }
}
