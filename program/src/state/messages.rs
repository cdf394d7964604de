//! Messages of the kernels of a stream: when they are read and printed.

use super::StreamState;
use crate::{Result, launcher::messages::Messages};

impl StreamState {
    /// Prepares the stream for a launch of kernels that print.
    pub(crate) fn prepare_messages(&self) -> Result<()> {
        let messages = match self.messages.get() {
            Some(messages) => messages,
            None => {
                let _making = self.making_messages.lock();
                if self.messages.get().is_none() {
                    let made = Messages::new(&self.shared().context, self.record_address())?;
                    self.set_message_buffer(made.address());
                    // Not set yet: only the holder of the lock sets it.
                    let _ = self.messages.set(made);
                }
                let Some(messages) = self.messages.get() else { return Ok(()) };
                messages
            }
        };
        messages.set_launched();
        Ok(())
    }

    /// Prints the messages of complete work, after a wait for a part of the stream's work.
    #[inline]
    pub(crate) fn print_complete(&self) {
        if let Some(messages) = self.messages.get() {
            messages.read_complete(&self.shared.launcher);
            messages.print(&self.shared.printer);
        }
    }

    /// Prints the messages of all work, after a wait for it.
    #[inline]
    pub(crate) fn print_all(&self) -> Result<()> {
        let Some(messages) = self.messages.get() else { return Ok(()) };
        let read = messages.read_all(&self.stream, &self.shared.launcher);
        messages.print(&self.shared.printer);
        read
    }

    /// Reads the messages of complete work, to be printed later: a kernel that may have printed them is about to be
    /// removed.
    pub(crate) fn read_messages(&self) -> Result<()> {
        let Some(messages) = self.messages.get() else { return Ok(()) };
        messages.read_all(&self.stream, &self.shared.launcher)
    }
}
