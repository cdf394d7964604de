//! Messages of running kernels (`println!`), one buffer per stream on which a kernel that prints was launched.
//!
//! Messages are read at waits. A wait for a part of a stream's work reads those that are complete, without a driver
//! call. A wait for all of it also reads the counter, in the order of the stream, and so learns how many were dropped.

use std::{
    collections::VecDeque,
    mem::offset_of,
    ptr,
    sync::{
        Arc,
        atomic::{
            AtomicBool, AtomicU64,
            Ordering::{Acquire, Release},
        },
    },
};

use parking_lot::{Mutex, ReentrantMutex};
use quadrants_ir::{
    Const, SiteKind,
    abi::{self, MessageBuffer},
};
use quadrants_runtime::{self as rt, Buffer, Context, Pinned};

use super::{KernelLauncher, argument_head::kernel_of};
use crate::{
    KernelMessage, KernelOutput, Result,
    body::{HostMessageList, HostMessages},
    output::Printer,
};

/// The messages of a stream.
#[derive(Debug)]
pub(crate) struct Messages {
    buffer: Pinned,
    counter: Buffer,
    /// Of CPU bodies.
    host: Arc<HostMessages>,
    /// The address of the stream's error record.
    record: u64,
    /// Whether kernels that print were launched since the counter was read.
    launched: AtomicBool,
    reading: Mutex<Reading>,
    /// Held while messages are printed, so that they are printed in order. A callback may wait for the stream again.
    printing: ReentrantMutex<()>,
}

#[derive(Debug, Default)]
struct Reading {
    /// The number of messages read or counted as dropped.
    read: u64,
    /// What the buffer's `printed` says: the number of messages at the last read of the counter.
    settled: u64,
    /// What is read and not printed yet.
    pending: VecDeque<KernelOutput>,
}

impl Messages {
    pub(crate) fn new(context: &Arc<Context>, record: u64) -> Result<Self> {
        let buffer = Pinned::new(context, MessageBuffer::BYTES)?;
        let counter = Buffer::from_bytes(context, &0_u64.to_ne_bytes())?;
        let head = MessageBuffer { counter: counter.address().raw(), printed: 0 };
        // SAFETY: the block has the bytes and is aligned to pages, and nothing else has its address yet.
        unsafe { buffer.as_ptr().cast::<MessageBuffer>().write(head) };
        let host = Arc::new(HostMessages::default());
        host.register(record);
        let (launched, reading) = (AtomicBool::new(false), Mutex::default());
        let printing = ReentrantMutex::new(());
        Ok(Self { buffer, counter, host, record, launched, reading, printing })
    }

    /// The address of the buffer, for the error record.
    pub(crate) fn address(&self) -> u64 {
        self.buffer.as_ptr().expose_provenance() as u64
    }

    fn word(&self, offset: usize) -> &AtomicU64 {
        // SAFETY: the offset is that of a word in the block, which is aligned to pages; these words are accessed by
        // atomics only once kernels have the address.
        unsafe { AtomicU64::from_ptr(self.buffer.as_ptr().add(offset).cast()) }
    }

    /// The message with this number, where it is complete.
    fn message(&self, number: u64) -> Option<abi::Message> {
        let offset = MessageBuffer::message_offset(number);
        let complete = self.word(offset + offset_of!(abi::Message, number)).load(Acquire);
        (complete == number + 1)
            // SAFETY: its number was stored after all fields with a system-wide fence, and no kernel writes the slot
            // again before `printed` has passed the message.
            .then(|| unsafe { ptr::read_volatile(self.buffer.as_ptr().add(offset).cast()) })
    }

    /// Tells the next [`read_all`](Self::read_all) that a kernel that prints is launched.
    pub(crate) fn set_launched(&self) {
        self.launched.store(true, Release);
    }

    /// Reads the next messages as long as they are complete.
    pub(crate) fn read_complete(&self, launcher: &KernelLauncher) {
        self.read_complete_into(&mut self.reading.lock(), launcher);
    }

    fn read_complete_into(&self, reading: &mut Reading, launcher: &KernelLauncher) {
        while reading.read - reading.settled < MessageBuffer::MESSAGES as u64
            && let Some(message) = self.message(reading.read)
        {
            reading.read += 1;
            reading.pending.extend(launcher.decode_message(&message));
        }
        let HostMessageList { messages, dropped } = self.host.take();
        let printed = messages.len() as u64;
        for message in messages {
            reading.pending.push_back(KernelOutput::Message(KernelMessage {
                kernel: launcher.kernel_name(message.launch),
                file: message.file.to_owned(),
                line: message.line,
                iteration: message.iteration,
                text: message.text,
            }));
        }
        if dropped > 0 {
            let of = dropped + printed;
            reading.pending.push_back(KernelOutput::Dropped { dropped, of });
        }
    }

    /// Reads all messages of the work enqueued so far, and counts those that were dropped.
    pub(crate) fn read_all(&self, stream: &rt::Stream, launcher: &KernelLauncher) -> Result<()> {
        let reading = &mut *self.reading.lock();
        self.read_complete_into(reading, launcher);
        if !self.launched.swap(false, Acquire) {
            return Ok(());
        }
        let mut count = [0; size_of::<u64>()];
        // SAFETY: the counter lives as long as `self`.
        unsafe { stream.read(self.counter.address(), &mut count)? };
        let (count, first) = (u64::from_ne_bytes(count), reading.settled);
        let mut dropped = 0;
        while reading.read < count {
            let is_kept = reading.read - first < MessageBuffer::MESSAGES as u64;
            match self.message(reading.read).filter(|_| is_kept) {
                Some(message) => reading.pending.extend(launcher.decode_message(&message)),
                None => dropped += 1,
            }
            reading.read += 1;
        }
        if dropped > 0 {
            let of = count - first;
            reading.pending.push_back(KernelOutput::Dropped { dropped, of });
        }
        reading.settled = count;
        self.word(offset_of!(MessageBuffer, printed)).store(count, Release);
        Ok(())
    }

    /// Prints what is read and not printed yet.
    pub(crate) fn print(&self, printer: &Printer) {
        let _turn = self.printing.lock();
        loop {
            let next = self.reading.lock().pending.pop_front();
            let Some(output) = next else { return };
            printer.print(&output);
        }
    }
}

impl Drop for Messages {
    fn drop(&mut self) {
        HostMessages::unregister(self.record);
    }
}

impl KernelLauncher {
    fn kernel_name(&self, launch: u64) -> String {
        let _removal = self.removal.lock();
        let context = self.get(kernel_of(launch));
        context.map(|context| context.kernel.name.clone()).unwrap_or_default()
    }

    /// None where the kernel is gone.
    fn decode_message(&self, message: &abi::Message) -> Option<KernelOutput> {
        let _removal = self.removal.lock();
        let kernel = &self.get(kernel_of(message.launch))?.kernel;
        let site = kernel.sites.get(message.site as usize)?;
        let SiteKind::Print { format, iteration, types } = &site.kind else { return None };
        let values = types.iter().zip(message.values);
        let values: Vec<Const> = values.map(|(ty, bits)| Const::from_bits(*ty, bits)).collect();
        let (iteration, values) = values.split_at_checked(*iteration as usize)?;
        Some(KernelOutput::Message(KernelMessage {
            kernel: kernel.name.clone(),
            file: site.file.as_ref().unwrap_or(&kernel.file).clone(),
            line: site.line,
            iteration: iteration.iter().map(|at| at.as_int().unwrap_or(0) as i64).collect(),
            text: format.fill(values),
        }))
    }
}
