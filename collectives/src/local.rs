//! Collective operations on the CPU, between the ranks of one process.
//!
//! Kernels of the CPU are complete when their launch returns, so an operation is too: its thread waits until all ranks
//! have called it. The last of them does the work of all, while the others wait.

use std::{
    collections::{BTreeMap, HashMap, HashSet, VecDeque},
    ffi::c_void,
    ptr,
    sync::Arc,
    time::{Duration, Instant},
};

use parking_lot::{Condvar, Mutex};

use crate::{
    Result,
    call::{CallKind, CollectiveCall},
    error::Failure,
    reduce::reduce,
    resolved::Resolved,
};

/// The operations of the ranks of a communicator.
#[derive(Debug)]
pub(crate) struct Exchange {
    size: usize,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// The number of collective operations that each rank has called.
    called: HashMap<usize, u64>,
    /// Collective operations that not all ranks have called, by their number.
    collectives: HashMap<u64, BTreeMap<usize, Posted>>,
    /// Sends and receives without their counterpart, by sender and receiver.
    messages: HashMap<(usize, usize), Messages>,
    /// The numbers of calls that are not complete.
    pending: HashSet<u64>,
    next: u64,
    /// The first failure; every later operation of the communicator fails.
    failure: Option<Arc<Failure>>,
}

/// Sends and receives of a pair of ranks. One of the lists is empty.
#[derive(Debug, Default)]
struct Messages {
    sends: VecDeque<Posted>,
    receives: VecDeque<Posted>,
}

/// A call of a rank.
#[derive(Debug, Clone, Copy)]
struct Posted {
    number: u64,
    rank: usize,
    resolved: Resolved,
}

// SAFETY: the thread that posted it waits until it is complete or withdrawn, so its addresses stay valid; they are used
// while the state is locked.
unsafe impl Send for Posted {}

impl Exchange {
    pub(crate) fn new(size: usize) -> Self {
        Self { size, state: Mutex::default(), changed: Condvar::new() }
    }

    /// Ends all operations; none is done any more.
    pub(crate) fn fail(&self, failure: &Arc<Failure>) {
        self.state.lock().fail(failure.clone());
        self.changed.notify_all();
    }

    /// Calls operations of a rank, without waiting. Returns their numbers.
    ///
    /// # Safety
    /// [`wait`](Self::wait) is called for the numbers. Until it has returned, the addresses are of the elements that
    /// the calls need, and nothing else writes these, or reads those that are written. The calls match those of all
    /// ranks that were posted before, as a [`Ledger`](crate::call_matching::Ledger) compares them.
    pub(crate) unsafe fn post(&self, rank: usize, calls: &[Resolved]) -> Vec<u64> {
        let mut state = self.state.lock();
        let numbers = calls.iter().map(|resolved| {
            let number = state.next;
            state.next += 1;
            state.pending.insert(number);
            state.post(self.size, Posted { number, rank, resolved: *resolved });
            number
        });
        let numbers = numbers.collect();
        self.changed.notify_all();
        numbers
    }

    /// Waits until the calls are complete.
    ///
    /// # Errors
    /// The failure of the communicator. Then no address of the calls is used any more.
    pub(crate) fn wait(&self, numbers: &[u64], timeout: Duration) -> Result<(), Arc<Failure>> {
        let deadline = Instant::now() + timeout;
        let mut state = self.state.lock();
        while numbers.iter().any(|number| state.pending.contains(number)) {
            if let Some(failure) = state.failure.clone() {
                numbers.iter().for_each(|number| _ = state.pending.remove(number));
                return Err(failure);
            }
            if self.changed.wait_until(&mut state, deadline).timed_out() {
                state.fail(Arc::new(Failure::Timeout { after: timeout }));
                self.changed.notify_all();
            }
        }
        Ok(())
    }
}

impl State {
    /// After a failure, no call is done any more, so that their threads may go on.
    fn fail(&mut self, failure: Arc<Failure>) {
        self.failure.get_or_insert(failure);
        self.collectives.clear();
        self.messages.clear();
    }

    fn post(&mut self, size: usize, posted: Posted) {
        if self.failure.is_some() {
            return;
        }
        match posted.resolved.call.kind {
            CallKind::Send { to } => self.message((posted.rank, to), posted, true),
            CallKind::Receive { from } => self.message((from, posted.rank), posted, false),
            _ => self.collective(size, posted),
        }
    }

    /// Copies a message if both sides are there.
    fn message(&mut self, pair: (usize, usize), posted: Posted, is_send: bool) {
        let messages = self.messages.entry(pair).or_default();
        let other = match is_send {
            true => messages.receives.pop_front(),
            false => messages.sends.pop_front(),
        };
        let Some(other) = other else {
            return match is_send {
                true => messages.sends.push_back(posted),
                false => messages.receives.push_back(posted),
            };
        };
        let (send, receive) = if is_send { (posted, other) } else { (other, posted) };
        let CollectiveCall { count, data_type, .. } = send.resolved.call;
        // SAFETY: both have the elements, since they match, and `wait` has not returned for either. A rank may send to
        // itself, even from the elements that it receives.
        unsafe {
            let (from, to) = (send.resolved.from.cast::<u8>(), receive.resolved.to.cast::<u8>());
            ptr::copy(from, to, count * data_type.bytes());
        }
        self.pending.remove(&send.number);
        self.pending.remove(&receive.number);
    }

    /// Does a collective operation if all ranks have called it.
    fn collective(&mut self, size: usize, posted: Posted) {
        let called = self.called.entry(posted.rank).or_default();
        let position = *called;
        *called += 1;
        let ranks = self.collectives.entry(position).or_default();
        ranks.insert(posted.rank, posted);
        if ranks.len() < size {
            return;
        }
        let ranks = self.collectives.remove(&position).unwrap_or_default();
        let resolved: Vec<_> = ranks.values().map(|posted| posted.resolved).collect();
        // SAFETY: the calls match, and all have their elements, since `wait` has not returned for any of them.
        unsafe { perform(&resolved) };
        ranks.values().for_each(|posted| _ = self.pending.remove(&posted.number));
    }
}

/// Does a collective operation, with the call of each rank.
///
/// # Safety
/// The calls are equal. The addresses are of the elements that they need, and nothing else uses these. Of one rank,
/// both may be equal.
unsafe fn perform(ranks: &[Resolved]) {
    let Some(first) = ranks.first() else { return };
    let CollectiveCall { kind, count, data_type, .. } = first.call;
    let bytes = count * data_type.bytes();
    let inputs = |offset: usize| -> Vec<*const u8> {
        ranks.iter().map(|rank| rank.from.cast::<u8>().wrapping_add(offset)).collect()
    };
    // Results are made in memory of their own: an output may be an input of another rank.
    let copy = |result: &[u8], to: *mut c_void| {
        // SAFETY: by the caller, `to` has the bytes of the result.
        unsafe { ptr::copy_nonoverlapping(result.as_ptr(), to.cast::<u8>(), result.len()) };
    };
    let reduced = |reduction, offset| {
        // SAFETY: by the caller, each rank has the elements.
        unsafe { reduce(data_type, reduction, &inputs(offset), count) }
    };
    match kind {
        CallKind::AllReduce(reduction) => {
            let result = reduced(reduction, 0);
            ranks.iter().for_each(|rank| copy(&result, rank.to));
        }
        CallKind::Reduce { reduction, root } => copy(&reduced(reduction, 0), ranks[root].to),
        CallKind::ReduceScatter(reduction) => {
            let parts = (0..ranks.len()).map(|part| reduced(reduction, part * bytes));
            let results: Vec<_> = parts.collect();
            results.iter().zip(ranks).for_each(|(result, rank)| copy(result, rank.to));
        }
        CallKind::Broadcast { root } => {
            let from = ranks[root].from.cast::<u8>();
            for (_, of) in ranks.iter().enumerate().filter(|(rank, _)| *rank != root) {
                // SAFETY: by the caller; tensors of two ranks do not overlap.
                unsafe { ptr::copy_nonoverlapping(from, of.to.cast(), bytes) };
            }
        }
        CallKind::AllGather => {
            for to in ranks {
                for (part, of) in ranks.iter().enumerate() {
                    let to = to.to.cast::<u8>().wrapping_add(part * bytes);
                    // SAFETY: by the caller, the output has the elements of all ranks.
                    unsafe { ptr::copy(of.from.cast::<u8>(), to, bytes) };
                }
            }
        }
        CallKind::Send { .. } | CallKind::Receive { .. } => {}
    }
}
