//! The state of the toy device: streams of work, events as positions in streams, and memory.

use std::{
    alloc::{Layout, alloc_zeroed, dealloc},
    collections::{HashMap, VecDeque},
    fmt,
    sync::{Arc, Mutex},
};

use quadrants_rhi::{DriverError, DriverErrorKind, Error, Result};

/// A guarantee of the trait that a device can violate for tests.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Guarantee {
    /// A wait for an event delays the stream.
    Waits,
    /// A wait keeps the record that was the latest when the wait was enqueued.
    Records,
    /// The pending work of a destroyed stream runs.
    LastWork,
    /// A launch reads its arguments before it returns.
    Arguments,
    /// Pinned memory is zeroed, and an allocation of zero bytes is an error.
    Memory,
}

/// A position in a stream: after its first `end` operations.
#[derive(Clone, Copy)]
pub(crate) struct Position {
    pub(crate) stream: u64,
    pub(crate) end: u64,
}

enum Op {
    Work(Box<dyn FnOnce() + Send>),
    /// Waits for a position in another stream.
    Wait(Position),
    /// Waits for the event's latest record at the time of running; violates [`Guarantee::Records`].
    WaitForEvent(u64),
}

#[derive(Default)]
struct Queue {
    ops: VecDeque<Op>,
    done: u64,
}

/// The state of a device.
#[derive(Default)]
pub(crate) struct World {
    broken: Option<Guarantee>,
    events: HashMap<u64, Position>,
    streams: HashMap<u64, Queue>,
    memory: HashMap<u64, Layout>,
    numbers: u64,
    arguments: Arc<Mutex<Vec<u64>>>,
}

impl fmt::Debug for World {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("World").finish_non_exhaustive()
    }
}

impl World {
    pub(crate) fn new(broken: Option<Guarantee>) -> Self {
        Self { broken, ..Self::default() }
    }

    pub(crate) fn number(&mut self) -> u64 {
        self.numbers += 1;
        self.numbers
    }

    pub(crate) fn enqueue(&mut self, stream: u64, work: Box<dyn FnOnce() + Send>) {
        self.streams.entry(stream).or_default().ops.push_back(Op::Work(work));
    }

    pub(crate) fn record(&mut self, event: u64, stream: u64) {
        let queue = self.streams.entry(stream).or_default();
        let end = queue.done + queue.ops.len() as u64;
        self.events.insert(event, Position { stream, end });
    }

    pub(crate) fn wait(&mut self, stream: u64, event: u64) {
        let op = match self.broken {
            Some(Guarantee::Waits) => return,
            Some(Guarantee::Records) => Op::WaitForEvent(event),
            _ => Op::Wait(self.latest_record(event)),
        };
        self.streams.entry(stream).or_default().ops.push_back(op);
    }

    /// Destroys an event. Enqueued waits keep their position.
    pub(crate) fn destroy_event(&mut self, event: u64) {
        self.events.remove(&event);
    }

    /// The position of an event's latest record. For an event that was never recorded, the start of stream 0.
    pub(crate) fn latest_record(&self, event: u64) -> Position {
        self.events.get(&event).copied().unwrap_or(Position { stream: 0, end: 0 })
    }

    /// Runs a stream up to a position.
    pub(crate) fn run_until(&mut self, position: Position) {
        while let Some(queue) = self.streams.get_mut(&position.stream) {
            if queue.done >= position.end {
                break;
            }
            let Some(op) = queue.ops.pop_front() else { break };
            match op {
                Op::Work(work) => work(),
                Op::Wait(other) => self.run_until(other),
                Op::WaitForEvent(event) => self.run_until(self.latest_record(event)),
            }
            self.streams.entry(position.stream).or_default().done += 1;
        }
    }

    /// Returns whether the position is reached, and then runs one operation, so that repeated queries make progress.
    pub(crate) fn query(&mut self, position: Position) -> bool {
        let Some(queue) = self.streams.get(&position.stream) else { return true };
        let (done, left) = (queue.done, queue.ops.len());
        self.run_until(Position { end: position.end.min(done + 1), ..position });
        left == 0 || done >= position.end
    }

    pub(crate) fn finish(&mut self, stream: u64) {
        self.run_until(Position { stream, end: u64::MAX });
    }

    pub(crate) fn finish_all(&mut self) {
        let streams: Vec<u64> = self.streams.keys().copied().collect();
        streams.into_iter().for_each(|stream| self.finish(stream));
    }

    /// Destroys a stream. Its pending work runs when something waits for the device or for its events.
    pub(crate) fn destroy(&mut self, stream: u64) {
        if self.broken == Some(Guarantee::LastWork) {
            self.streams.remove(&stream);
        }
    }

    /// Stores the arguments of a launch until it runs.
    pub(crate) fn arguments(&mut self, args: &[u64]) -> Arc<Mutex<Vec<u64>>> {
        if self.broken != Some(Guarantee::Arguments) {
            return Arc::new(Mutex::new(args.to_vec()));
        }
        // Violates the guarantee: one block for all launches.
        *self.arguments.lock().expect("no thread panics") = args.to_vec();
        self.arguments.clone()
    }

    pub(crate) fn allocate(&mut self, bytes: usize) -> Result<u64> {
        let violated = self.broken == Some(Guarantee::Memory);
        if bytes == 0 && !violated {
            return Err(Error::InvalidArgument { what: "an allocation of zero bytes".to_owned() });
        }
        let none = || DriverError::new("alloc", "alloc", 2, "none", DriverErrorKind::OutOfMemory);
        let layout = Layout::from_size_align(bytes.max(1), 256).map_err(|_| none())?;
        // SAFETY: the layout has at least 1 byte.
        let memory = unsafe { alloc_zeroed(layout) };
        if memory.is_null() {
            return Err(none().into());
        }
        if violated {
            // SAFETY: just allocated with that many bytes.
            unsafe { memory.write_bytes(0xa5, bytes) };
        }
        self.memory.insert(memory as u64, layout);
        Ok(memory as u64)
    }

    pub(crate) fn free(&mut self, memory: u64) {
        if let Some(layout) = self.memory.remove(&memory) {
            // SAFETY: `allocate` returned it with this layout, and it is removed from the map.
            unsafe { dealloc(memory as *mut u8, layout) };
        }
    }
}
