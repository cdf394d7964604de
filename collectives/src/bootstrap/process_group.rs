//! A group of processes and its operations.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use super::group_state::{Released, Shared, deadline};
use super::link::Connection;
use super::listen::{NOTICE, gather, listen};
use super::message::{GroupCall, GroupOperation, MAX_NAME_BYTES, Message};
use super::{Error, RankConfig, Result, connect};
use crate::library_mismatch::{LibraryMismatch, NONE};

/// The longest payload of a broadcast, in bytes.
pub const MAX_PAYLOAD: usize = 64 * 1024;

/// The id of a communicator, and its number if the calls of its ranks are compared.
pub(crate) type Joined = (Vec<u8>, Option<u64>);

/// The processes of a run, connected to each other.
///
/// All ranks must call the same operations in the same order. After an error of an operation the group is only good for
/// [`lost`](Self::lost): every later operation returns that error.
///
/// Dropping a group tells the others that this process leaves, which is not a loss. Dropping takes up to a second or
/// two if a process does not answer. If a [`Communicator`](crate::Communicator) was joined, dropping the group of rank
/// 0 waits until the other processes have left, or are lost, or for the timeout: it compares their calls. A process
/// that ends without dropping its group is lost to the others.
pub struct ProcessGroup {
    pub(super) shared: Arc<Shared>,
    local_rank: usize,
    rejected: u64,
    /// The number of operations so far.
    calls: Mutex<u64>,
    threads: Vec<JoinHandle<()>>,
}

impl ProcessGroup {
    /// Waits until all processes of the group are there, and connects them. A group of one needs no connection.
    ///
    /// # Errors
    /// - [`Error::Config`] if the configuration contradicts itself.
    /// - [`Error::SecretMissing`] or [`Error::SecretFile`] if there is no secret.
    /// - [`Error::Listen`] if rank 0 cannot listen.
    /// - [`Error::Timeout`] if not all processes come in time.
    /// - [`Error::Rejected`] if rank 0 rejects this process.
    /// - [`Error::PeerLost`] if rank 0 ends before all processes are there.
    /// - [`Error::Protocol`] if another program answers, or a process without the secret.
    /// - [`Error::Io`] if a system call fails.
    pub fn join(config: &RankConfig) -> Result<Self> {
        config.check()?;
        if config.world_size == 1 {
            return Self::start(config, vec![], 0);
        }
        if config.rank == 0 {
            let until = deadline(config.timeout);
            let (listener, secret) = listen(config, until)?;
            let (connections, rejected) = gather(&listener, config, &secret, until)?;
            return Self::start(config, connections, rejected);
        }
        Self::start(config, vec![connect::join(config)?], 0)
    }

    /// Like [`join`](Self::join) for rank 0, with a socket that listens.
    #[cfg(test)]
    pub(crate) fn join_on(
        config: &RankConfig,
        listener: &std::net::TcpListener,
        secret: &super::Secret,
    ) -> Result<Self> {
        config.check()?;
        let (connections, rejected) = gather(listener, config, secret, deadline(config.timeout))?;
        Self::start(config, connections, rejected)
    }

    fn start(config: &RankConfig, connections: Vec<Connection>, rejected: u64) -> Result<Self> {
        let tick = config.heartbeat.min(Duration::from_millis(500));
        let first = usize::from(config.rank == 0);
        let halves = connections
            .into_iter()
            .enumerate()
            .map(|(at, connection)| connection.split(at + first, config.lost_after, tick));
        let halves: std::io::Result<Vec<_>> = halves.collect();
        let halves = halves.map_err(Error::io("preparing a connection"))?;
        let (links, receivers): (Vec<_>, Vec<_>) = halves.into_iter().unzip();
        let mut group = Self {
            shared: Arc::new(Shared::new(config, links)),
            local_rank: config.local_rank,
            rejected,
            calls: Mutex::new(0),
            threads: vec![],
        };
        for (at, receiver) in receivers.into_iter().enumerate() {
            let shared = group.shared.clone();
            let builder = Builder::new().name("quadrants-rendezvous".into()).stack_size(256 * 1024);
            let thread = builder.spawn(move || shared.serve(&shared.links[at], receiver));
            group.threads.push(thread.map_err(Error::io("starting a thread"))?);
        }
        Ok(group)
    }

    /// The number of this process in the group.
    pub fn rank(&self) -> usize {
        self.shared.rank
    }

    /// The number of processes.
    pub fn world_size(&self) -> usize {
        self.shared.world_size
    }

    /// The number of this process among those of its machine.
    pub fn local_rank(&self) -> usize {
        self.local_rank
    }

    /// On rank 0: how many connections did not become a member of the group. 0 on other ranks.
    pub fn rejected(&self) -> u64 {
        self.rejected
    }

    /// The first process known to be lost: its connection closed although it did not leave, or it was silent for too
    /// long. This is an atomic load. Losses are no longer noticed after rank 0 has left.
    pub fn lost(&self) -> Option<usize> {
        self.shared.lost()
    }

    /// A process that has left in order, if this one knows of any: rank 0 knows all, and the others know of rank 0.
    pub(crate) fn left(&self) -> Option<usize> {
        self.shared.state().left.iter().position(|left| *left)
    }

    /// Gives the payload of rank 0 to all ranks. Other ranks' payloads are ignored. Waits until all ranks have called
    /// it.
    ///
    /// # Errors
    /// - [`Error::TooLong`] on rank 0 if the payload has more than [`MAX_PAYLOAD`] bytes. The call does not count then.
    /// - [`Error::Timeout`] if not all ranks call it in time.
    /// - [`Error::PeerLost`] if a process is lost.
    /// - [`Error::Left`] if a process that did not call it leaves.
    /// - [`Error::OutOfOrder`] if a rank calls another operation.
    pub fn broadcast(&self, payload: &[u8]) -> Result<Vec<u8>> {
        if self.rank() == 0 && payload.len() > MAX_PAYLOAD {
            return Err(Error::TooLong { length: payload.len(), limit: MAX_PAYLOAD });
        }
        self.call(GroupOperation::Broadcast, payload, "")?.1.map_err(|_| unexpected())
    }

    /// Waits until all ranks have called it.
    ///
    /// # Errors
    /// As [`broadcast`](Self::broadcast), without [`Error::TooLong`].
    pub fn barrier(&self) -> Result<()> {
        self.call(GroupOperation::Barrier, &[], "")?.1.map(drop).map_err(|_| unexpected())
    }

    /// Gives the id of a new communicator to all ranks, and its number if the calls of the ranks are to be
    /// [compared](Self::compare). On other ranks than 0, `id` is ignored. Where the ranks name different libraries, or
    /// one has [none](NONE), all ranks get the mismatch, and the group goes on.
    pub(crate) fn join_communicator(
        &self,
        id: &[u8],
        library: &str,
        compare: bool,
    ) -> Result<Result<Joined, LibraryMismatch>> {
        let operation = if compare { GroupOperation::Join } else { GroupOperation::JoinUnchecked };
        let library = &library[..library.floor_char_boundary(MAX_NAME_BYTES)];
        let (number, id) = self.call(operation, id, library)?;
        Ok(id.map(|id| (id, compare.then_some(number))))
    }

    /// Calls an operation. Returns its number and its result.
    fn call(
        &self,
        operation: GroupOperation,
        payload: &[u8],
        library: &str,
    ) -> Result<(u64, Released)> {
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        let call = GroupCall { number: *calls, operation };
        *calls += 1;
        if self.rank() == 0 && operation == GroupOperation::Join {
            // Before the others may make calls.
            self.shared.ledgers.add(call.number, self.world_size());
        }
        let result = match self.rank() {
            0 => self.lead(call, payload, library),
            _ => self.follow(call, library),
        };
        if let Err(error) = &result {
            self.shared.fail(error);
        }
        if !matches!(result, Ok(Ok(_))) {
            self.shared.ledgers.remove(call.number);
        }
        result.map(|payload| (call.number, payload))
    }

    /// An operation on rank 0: waits for the others, then releases them.
    fn lead(&self, call: GroupCall, payload: &[u8], library: &str) -> Result<Released> {
        let until = deadline(self.shared.timeout);
        let mut noticed = Instant::now();
        let mismatch = loop {
            let mut state = self.shared.state();
            if let Some(error) = &state.failure {
                return Err(error.clone());
            }
            let mut missing = Vec::new();
            for rank in 1..self.world_size() {
                match &state.arrived[rank] {
                    Some((arrived, _)) if *arrived == call => {}
                    Some(_) => return Err(Error::OutOfOrder { rank }),
                    None if state.left[rank] => return Err(Error::Left { rank }),
                    None => missing.push(rank),
                }
            }
            if missing.is_empty() {
                let arrived: Vec<_> = state.arrived.iter_mut().map(Option::take).collect();
                let others = arrived.into_iter().enumerate();
                let mut others = others.flat_map(|(rank, arrived)| Some((rank, arrived?.1)));
                let other = others.find(|(_, other)| other != library || library == NONE);
                break other.map(|(rank, of)| LibraryMismatch {
                    rank,
                    library: of,
                    other: 0,
                    other_library: library.to_owned(),
                });
            }
            let remaining = until.saturating_duration_since(Instant::now());
            if remaining.is_zero() {
                return Err(self.timeout(call, missing));
            }
            state = self.shared.wait(state, remaining.min(NOTICE));
            drop(state);
            if noticed.elapsed() >= NOTICE {
                self.shared.tell_all(&Message::Waiting(missing));
                noticed = Instant::now();
            }
        };
        if let Some(mismatch) = mismatch {
            self.shared.tell_all(&Message::Refused(call, mismatch.clone()));
            return Ok(Err(mismatch));
        }
        self.shared.tell_all(&Message::Release(call, payload.to_vec()));
        Ok(Ok(payload.to_vec()))
    }

    /// An operation on another rank: tells rank 0, and waits until that releases it.
    fn follow(&self, call: GroupCall, library: &str) -> Result<Released> {
        let until = deadline(self.shared.timeout);
        let mut state = self.shared.state();
        if let Some(error) = &state.failure {
            return Err(error.clone());
        }
        state.waiting_for = None;
        drop(state);
        self.shared.tell_all(&Message::Arrive(call, library.to_owned()));
        let mut state = self.shared.state();
        loop {
            match state.released.take() {
                Some((released, payload)) if released == call => return Ok(payload),
                Some(_) => return Err(Error::OutOfOrder { rank: self.rank() }),
                None => {}
            }
            if let Some(error) = &state.failure {
                return Err(error.clone());
            }
            if state.left[0] {
                return Err(Error::Left { rank: 0 });
            }
            let remaining = until.saturating_duration_since(Instant::now());
            if remaining.is_zero() {
                // Rank 0 names the missing ranks while it waits for them.
                let missing = state.waiting_for.take().unwrap_or_else(|| vec![0]);
                return Err(self.timeout(call, missing));
            }
            state = self.shared.wait(state, remaining);
        }
    }

    fn timeout(&self, call: GroupCall, missing: Vec<usize>) -> Error {
        let what = call.operation.name().into();
        Error::Timeout { what, after: self.shared.timeout, missing, rejected: 0 }
    }

    /// Closes the connections as if the process had died.
    #[cfg(test)]
    pub(crate) fn die(&self) {
        self.shared.die();
    }
}

/// Only the creation of communicators is refused.
fn unexpected() -> Error {
    Error::protocol("a refusal of an operation without libraries")
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        self.wait_for_others();
        self.shared.leave();
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

impl fmt::Debug for ProcessGroup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProcessGroup")
            .field("rank", &self.rank())
            .field("world_size", &self.world_size())
            .field("local_rank", &self.local_rank)
            .field("lost", &self.lost())
            .finish_non_exhaustive()
    }
}
