//! Streams of work, events as points in them, and memory.

use std::{
    alloc::{Layout, alloc_zeroed, dealloc},
    collections::{HashMap, VecDeque},
    fmt,
    sync::{Arc, Mutex},
};

use quadrants_rhi::{DriverError, DriverErrorKind, Error, Result};

/// A promise of the trait that a device can be told to break.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Promise {
    /// A wait for an event holds the stream up.
    Waits,
    /// A wait keeps the record that there was when it was made.
    Records,
    /// A destroyed stream's work still runs.
    LastWork,
    /// A launch reads its arguments before it returns.
    Arguments,
    /// Page-locked memory is zeroed, and nothing is not allocated.
    Memory,
}

/// A point in a stream: the first so many operations.
#[derive(Clone, Copy)]
pub(crate) struct Ticket {
    pub(crate) stream: u64,
    pub(crate) upto: u64,
}

enum Op {
    Work(Box<dyn FnOnce() + Send>),
    /// Until a point in another stream; or, broken, until wherever an event is then.
    Wait(Ticket),
    WaitFor(u64),
}

#[derive(Default)]
struct Queue {
    ops: VecDeque<Op>,
    done: u64,
}

/// All of a device.
#[derive(Default)]
pub(crate) struct World {
    broken: Option<Promise>,
    events: HashMap<u64, Ticket>,
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
    pub(crate) fn new(broken: Option<Promise>) -> Self {
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
        let upto = queue.done + queue.ops.len() as u64;
        self.events.insert(event, Ticket { stream, upto });
    }

    pub(crate) fn wait(&mut self, stream: u64, event: u64) {
        let op = match self.broken {
            Some(Promise::Waits) => return,
            Some(Promise::Records) => Op::WaitFor(event),
            _ => Op::Wait(self.mark(event)),
        };
        self.streams.entry(stream).or_default().ops.push_back(op);
    }

    /// Waits that were made for the event hold the point that it had.
    pub(crate) fn forget(&mut self, event: u64) {
        self.events.remove(&event);
    }

    /// Where an event's latest record is; of none, where everything is already.
    pub(crate) fn mark(&self, event: u64) -> Ticket {
        self.events.get(&event).copied().unwrap_or(Ticket { stream: 0, upto: 0 })
    }

    /// Runs a stream up to a point.
    pub(crate) fn reach(&mut self, ticket: Ticket) {
        while let Some(queue) = self.streams.get_mut(&ticket.stream) {
            if queue.done >= ticket.upto {
                break;
            }
            let Some(op) = queue.ops.pop_front() else { break };
            match op {
                Op::Work(work) => work(),
                Op::Wait(other) => self.reach(other),
                Op::WaitFor(event) => self.reach(self.mark(event)),
            }
            self.streams.entry(ticket.stream).or_default().done += 1;
        }
    }

    /// Runs one operation, and says whether the point had been reached before: so who asks again comes to an end.
    pub(crate) fn ask(&mut self, ticket: Ticket) -> bool {
        let Some(queue) = self.streams.get(&ticket.stream) else { return true };
        let (done, left) = (queue.done, queue.ops.len());
        self.reach(Ticket { upto: ticket.upto.min(done + 1), ..ticket });
        left == 0 || done >= ticket.upto
    }

    pub(crate) fn finish(&mut self, stream: u64) {
        self.reach(Ticket { stream, upto: u64::MAX });
    }

    pub(crate) fn finish_all(&mut self) {
        let streams: Vec<u64> = self.streams.keys().copied().collect();
        streams.into_iter().for_each(|stream| self.finish(stream));
    }

    /// The stream's work stays; whoever waits for the device, or for its events, still runs it.
    pub(crate) fn destroy(&mut self, stream: u64) {
        if self.broken == Some(Promise::LastWork) {
            self.streams.remove(&stream);
        }
    }

    /// The arguments of a launch, kept until it runs.
    pub(crate) fn arguments(&mut self, args: &[u64]) -> Arc<Mutex<Vec<u64>>> {
        if self.broken != Some(Promise::Arguments) {
            return Arc::new(Mutex::new(args.to_vec()));
        }
        // One block for all launches.
        *self.arguments.lock().expect("nobody panics") = args.to_vec();
        self.arguments.clone()
    }

    pub(crate) fn allocate(&mut self, bytes: usize) -> Result<u64> {
        let careless = self.broken == Some(Promise::Memory);
        if bytes == 0 && !careless {
            return Err(Error::InvalidArgument { what: "an allocation of nothing".to_owned() });
        }
        let none = || DriverError::new("alloc", "alloc", 2, "none", DriverErrorKind::OutOfMemory);
        let layout = Layout::from_size_align(bytes.max(1), 256).map_err(|_| none())?;
        // SAFETY: not of zero bytes.
        let memory = unsafe { alloc_zeroed(layout) };
        if memory.is_null() {
            return Err(none().into());
        }
        if careless {
            // SAFETY: just allocated.
            unsafe { memory.write_bytes(0xa5, bytes) };
        }
        self.memory.insert(memory as u64, layout);
        Ok(memory as u64)
    }

    pub(crate) fn free(&mut self, memory: u64) {
        if let Some(layout) = self.memory.remove(&memory) {
            // SAFETY: from `allocate`, once.
            unsafe { dealloc(memory as *mut u8, layout) };
        }
    }
}
