//! [`Communicator`]: a rank of a collective, with its stream and its state.

use std::{
    error::Error as StdError,
    ffi::c_int,
    fmt, hint, ptr,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use parking_lot::{Mutex, MutexGuard};
use quadrants_program::{Event, Program, Stream, Watch};

use crate::{
    Error, Library, Result, UniqueId,
    bootstrap::{self, ProcessGroup, Refusal},
    call::CollectiveCall,
    error::Failure,
    library::{Progress, library_name},
    library_mismatch::NONE,
    local::Exchange,
    local_ranks::{CREATE, LocalRanks},
    table::{CONFIG_MAGIC, CONFIG_VERSION, Config, RawCommunicator, RawUniqueId},
    unique_id::Id,
    watchdog::{self, Supervised},
};

/// The default time limit: that of PyTorch for NCCL.
const TIMEOUT: Duration = Duration::from_secs(600);

/// How long to query without sleeping.
const SPIN: Duration = Duration::from_micros(500);

/// How long to sleep between two queries of a communicator that is in progress.
const PAUSE: Duration = Duration::from_micros(50);

/// How long the creation goes on after a process has left: it may have left because it failed to join. Where it has
/// joined, the library needs no answer of it any more.
const DESERTED: Duration = Duration::from_secs(3);

/// How long to wait for the reason of a failure that the library reports: it may notice that a rank of another process
/// has failed before this process hears why.
const REASON: Duration = Duration::from_millis(250);

/// The options of communicators. [`Communicator::builder`] makes one.
#[derive(Debug, Clone)]
pub struct CommunicatorBuilder {
    timeout: Duration,
    blocking: bool,
    library: Option<Library>,
}

impl Default for CommunicatorBuilder {
    fn default() -> Self {
        Self { timeout: TIMEOUT, blocking: false, library: None }
    }
}

/// One rank of a set of devices that communicate: the device of a program.
///
/// A communicator belongs to one stream, which it creates: all its operations run there, in the order in which they
/// were enqueued. Each comes after the earlier work of the thread's current stream, and before its later work; so an
/// operation is ordered as a launch is. The host does not wait. All ranks must enqueue the same operations in the same
/// order, each on its own thread, or those of one thread in one [`Group`](crate::Group).
///
/// The calls of all ranks must match: they call the same collective operations in the same order and in the same
/// groups, with the same type and number of elements, the same reduction and the same root; and each send has a receive
/// of as many elements of that type. NCCL does not compare that, and writes outside of tensors where it does not hold.
/// So each call is compared with the earlier ones of the other ranks before it is enqueued: in this process at once,
/// between processes through [rank 0](CommunicatorBuilder::join). Where they differ, nothing is enqueued for the later
/// rank, and all ranks fail with [`Failure::Mismatch`].
///
/// An operation cannot be [captured](Program::capture): the launches of a graph could not be compared.
///
/// # Failures
/// An operation waits for other ranks, which may have failed. A thread of this crate watches all communicators of the
/// process. If the library reports an error, if a process of the run is [lost](crate::bootstrap), or if operations are
/// not complete within the time limit, it aborts the communicator: its operations end, and what they write is
/// undefined. The next host wait for the device returns [`Error::Runtime`](quadrants_program::Error::Runtime) with a
/// [`Failure`] among its sources. Every later operation is [`Error::Aborted`].
///
/// The drop waits until the operations are complete, or have failed. While the thread panics, it aborts them.
pub struct Communicator {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub(crate) rank: usize,
    pub(crate) size: usize,
    timeout: Duration,
    link: Link,
    /// The ranks of this process.
    local_ranks: Arc<LocalRanks>,
    /// The other processes.
    processes: Option<Arc<ProcessGroup>>,
    /// The number of the communicator among those whose calls the processes compare.
    compared: Option<u64>,
    /// Locked while operations are enqueued, so that those of two threads have one order.
    order: Mutex<()>,
    /// Locked for calls of the library only, so that the watchdog can abort while a driver call blocks.
    state: Mutex<CommunicatorState>,
    /// Recorded after each operation.
    event: Event,
    pub(crate) stream: Stream,
    pub(crate) program: Program,
}

/// How the ranks are connected.
pub(crate) enum Link {
    Library(Library),
    /// In this process, on the CPU.
    Local,
}

pub(crate) struct CommunicatorState {
    /// None once it is destroyed.
    raw: Option<Raw>,
    /// Why it was aborted.
    failure: Option<Arc<Failure>>,
    /// Whether a wait is still to return the failure.
    unreported: bool,
    /// When the library first reported a failure.
    reported: Option<Instant>,
    /// When the creation first saw that a process has left.
    deserted: Option<Instant>,
    /// The number of enqueued operations.
    operations: u64,
    /// That number when the watchdog last saw a new one or none pending, and when that was.
    observed: (u64, Instant),
}

impl Link {
    /// Whether communicators of both may be in one group.
    pub(crate) fn is(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Library(one), Self::Library(other)) => one.is(other),
            (Self::Local, Self::Local) => true,
            _ => false,
        }
    }
}

/// The library's communicator, or null of the CPU's.
#[derive(Clone, Copy)]
struct Raw(RawCommunicator);

// SAFETY: the library allows calls from any thread, but not from several at once; the state has a lock.
unsafe impl Send for Raw {}

/// A communicator on which this thread enqueues operations.
pub(crate) struct Ordered<'a> {
    pub(crate) inner: &'a Inner,
    _order: MutexGuard<'a, ()>,
}

impl CommunicatorBuilder {
    /// The time limit for joining, and for the operations that were enqueued: where they are not complete by then, and
    /// no further one was enqueued meanwhile, the communicator is aborted. It includes the earlier work that they come
    /// after. Default: 10 minutes.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Whether calls of the library may block. Default: no; then each operation costs the host about 50 microseconds,
    /// because NCCL enqueues it on a thread of its own, instead of about 7. But the first operation between two ranks
    /// connects them, and with blocking calls it waits for the other rank without a time limit, also if that fails.
    #[must_use]
    pub fn blocking(mut self, blocking: bool) -> Self {
        self.blocking = blocking;
        self
    }

    /// The library. Default: the installed one of the program's backend.
    #[must_use]
    pub fn library(mut self, library: Library) -> Self {
        self.library = Some(library);
        self
    }

    /// A communicator of each program, in this process: rank `i` is the device of `programs[i]`.
    ///
    /// # Errors
    /// [`Error::Library`], [`Error::Backend`], [`Error::Failed`], or an error of a device.
    pub fn all(&self, programs: &[&Program]) -> Result<Vec<Communicator>> {
        let Some(first) = programs.first() else { return Ok(Vec::new()) };
        let id = self.unique_id(first)?;
        let members: Vec<_> = programs.iter().copied().enumerate().collect();
        self.create(&members, programs.len(), &id, None, None)
    }

    /// The communicator of rank `rank` of `size`. Each of the other ranks must be created too, on another thread, with
    /// the same id. On GPUs, this waits until all have joined. Ranks in other processes need `unsafe`
    /// ([`UniqueId::from_bytes`]), or [`join`](Self::join).
    ///
    /// # Errors
    /// [`Error::Rank`], [`Error::Joined`], [`Error::Library`], [`Error::Backend`], [`Error::Failed`],
    /// [`Error::OtherProcess`], or an error of the device.
    pub fn rank(
        &self,
        program: &Program,
        id: &UniqueId,
        rank: usize,
        size: usize,
    ) -> Result<Communicator> {
        let mut created = self.create(&[(rank, program)], size, id, None, None)?;
        created.pop().ok_or(Error::Rank { rank, size })
    }

    /// The communicator of this process among those of a run: each calls this once, with the device that it uses.
    ///
    /// Before a call or a [`Group`](crate::Group) is enqueued, it is sent to rank 0, which answers at once whether it
    /// matches the earlier calls of the other ranks, even where some have not made theirs. So it costs a round trip on
    /// the [connection](crate::bootstrap) to rank 0, but waits for no other rank.
    /// [`join_unchecked`](Self::join_unchecked) leaves it out.
    ///
    /// Rank 0 must stay until the others are done: the drop of its [`ProcessGroup`] waits for them. A rank that does
    /// not reach rank 0 gets [`Failure::PeerLost`] or [`Failure::Comparison`].
    ///
    /// The ranks must use the same version of one library. Where two differ, or one has none that loads, all ranks get
    /// [`Failure::Libraries`], which names both, before a library is called to connect them. Another communicator can
    /// be joined after that.
    ///
    /// # Errors
    /// As for [`rank`](Self::rank), and [`Error::Bootstrap`].
    pub fn join(&self, program: &Program, processes: &Arc<ProcessGroup>) -> Result<Communicator> {
        self.join_run(program, processes, true)
    }

    /// [`join`](Self::join) for calls that are not compared, which takes the host less time. All processes must use
    /// it.
    ///
    /// # Errors
    /// As for [`join`](Self::join).
    ///
    /// # Safety
    /// The calls of all ranks match: they call the same collective operations in the same order, in the same groups,
    /// with the same number and type of elements, the same reduction and the same root; and each send has a receive of
    /// as many elements of that type, in the same order for each pair of ranks. Else NCCL may write outside of the
    /// tensors of any rank. (A rank may make fewer calls: the others end by their time limit.)
    pub unsafe fn join_unchecked(
        &self,
        program: &Program,
        processes: &Arc<ProcessGroup>,
    ) -> Result<Communicator> {
        self.join_run(program, processes, false)
    }

    fn join_run(
        &self,
        program: &Program,
        processes: &Arc<ProcessGroup>,
        compare: bool,
    ) -> Result<Communicator> {
        let (rank, size) = (processes.rank(), processes.world_size());
        // A rank without a library says so to the others, which would wait for it.
        let library = self.library_of(program);
        let own = match (rank, &library) {
            (0, Ok(library)) => Some(UniqueId::new(library.as_ref())?.to_bytes()),
            _ => None,
        };
        let own = own.as_ref().map_or(&[][..], |id| id);
        let name =
            library.as_ref().map_or(NONE.to_owned(), |of| library_name(program, of.as_ref()));
        let joined = processes.join_communicator(own, &name, compare)?;
        library?;
        let (id, compared) = joined.map_err(|mismatch| {
            let failure = Arc::new(mismatch.into());
            Error::Failed { operation: CREATE, rank, failure }
        })?;
        let id = UniqueId::parse(&id)?;
        let mut created = self.create(&[(rank, program)], size, &id, Some(processes), compared)?;
        created.pop().ok_or(Error::Rank { rank, size })
    }

    /// Makes an id for a new communicator.
    ///
    /// # Errors
    /// [`Error::Library`], [`Error::Backend`].
    pub fn unique_id(&self, program: &Program) -> Result<UniqueId> {
        UniqueId::new(self.library_of(program)?.as_ref())
    }

    /// The library of a program's device; none of the CPU.
    fn library_of(&self, program: &Program) -> Result<Option<Library>> {
        let info = program.device_info();
        match (&self.library, info.collectives) {
            _ if !program.capabilities().asynchronous => Ok(None),
            (Some(library), Some(_)) => Ok(Some(library.clone())),
            (None, Some(names)) => Library::load(info.backend, names).map(Some),
            (_, None) => Err(Error::Backend { backend: info.backend, mixed: false }),
        }
    }

    fn create(
        &self,
        members: &[(usize, &Program)],
        size: usize,
        id: &UniqueId,
        processes: Option<&Arc<ProcessGroup>>,
        compared: Option<u64>,
    ) -> Result<Vec<Communicator>> {
        let mut created = Vec::new();
        for (rank, program) in members {
            if *rank >= size || c_int::try_from(size).is_err() {
                return Err(Error::Rank { rank: *rank, size });
            }
            let (info, first) = (program.device_info(), members[0].1.device_info());
            if info.backend != first.backend {
                return Err(Error::Backend { backend: first.backend, mixed: true });
            }
            let library = self.library_of(program)?;
            let name = library_name(program, library.as_ref());
            let link = match (id.id(), library) {
                (Id::Local, None) => Link::Local,
                (Id::Library(_), Some(library)) => Link::Library(library),
                _ => return Err(Error::Backend { backend: info.backend, mixed: true }),
            };
            let priority = program.capabilities().priorities.greatest;
            created.push(Communicator {
                inner: Arc::new(Inner {
                    rank: *rank,
                    size,
                    timeout: self.timeout,
                    link,
                    local_ranks: LocalRanks::join(id, *rank, size, &name)?,
                    processes: processes.cloned(),
                    compared,
                    order: Mutex::new(()),
                    state: Mutex::new(CommunicatorState {
                        raw: Some(Raw(ptr::null_mut())),
                        failure: None,
                        unreported: false,
                        reported: None,
                        deserted: None,
                        operations: 0,
                        observed: (0, Instant::now()),
                    }),
                    event: program.create_event()?,
                    stream: program.create_stream_with_priority(priority)?,
                    program: (*program).clone(),
                }),
            });
        }
        if let Id::Library(id) = id.id() {
            initialize(&created, id, self.blocking)?;
        }
        for Communicator { inner } in &created {
            inner.program.watch(inner);
            watchdog::add(inner);
        }
        Ok(created)
    }
}

/// Joins the library's communicator with all of these ranks.
fn initialize(created: &[Communicator], id: RawUniqueId, blocking: bool) -> Result<()> {
    let Some(first) = created.first() else { return Ok(()) };
    let joined = first.inner.group(CREATE, || {
        // The device of a rank is that whose context is current in the call.
        created.iter().try_for_each(|Communicator { inner }| {
            let mut config = Config {
                size: size_of::<Config>(),
                magic: CONFIG_MAGIC,
                version: CONFIG_VERSION,
                blocking: blocking.into(),
            };
            let (size, rank) = (inner.size as c_int, inner.rank as c_int);
            let mut raw: RawCommunicator = ptr::null_mut();
            let joined = inner.program.with_context(|| {
                inner.library_call(CREATE, |library| {
                    // SAFETY: the library writes a communicator and reads the configuration. It stores no address of
                    // either: it writes the communicator before it returns, also in a group.
                    library.progress(|table| unsafe {
                        table.init_rank(&mut raw, size, id, rank, &mut config)
                    })
                })
            })?;
            inner.state.lock().raw = Some(Raw(raw));
            joined.map(drop)
        })
    });
    let all: Vec<_> = created.iter().map(|communicator| communicator.inner.order()).collect();
    let joined = joined.and_then(|()| settle(&all, CREATE));
    let joined = joined.map_err(|error| first.inner.with_reason(error));
    if joined.is_err() {
        created.iter().for_each(|communicator| communicator.inner.abort(None));
    }
    joined
}

/// Waits until the library has finished what it does in the background for calls on these communicators.
///
/// # Errors
/// The first failure; then that communicator was aborted, and the others are to be.
pub(crate) fn settle(all: &[Ordered<'_>], operation: &'static str) -> Result<()> {
    let start = Instant::now();
    for Ordered { inner, .. } in all {
        while inner.progress(operation, start.elapsed())? == Progress::Pending {
            // Usually the library needs some 20 microseconds; the first operation between two ranks, milliseconds.
            match start.elapsed() < SPIN {
                true => hint::spin_loop(),
                false => thread::sleep(PAUSE),
            }
        }
    }
    Ok(())
}

impl CommunicatorState {
    /// The library's communicator, or null of the CPU's.
    ///
    /// # Errors
    /// [`Error::Aborted`]
    pub(crate) fn raw(&self, inner: &Inner) -> Result<RawCommunicator> {
        match &self.raw {
            Some(Raw(raw)) => Ok(*raw),
            None => Err(Error::Aborted { rank: inner.rank, failure: self.failure.clone() }),
        }
    }

    /// The state of the library's work; a failure where it cannot go on.
    fn check(&mut self, inner: &Inner) -> Result<Progress, Arc<Failure>> {
        // First, because the library reports what follows from it.
        if let Some(failure) = inner.failure_of_others() {
            return Err(failure);
        }
        let (Link::Library(library), Some(Raw(raw))) = (&inner.link, self.raw) else {
            return Ok(Progress::Complete);
        };
        // SAFETY: it is not destroyed, and this thread has the lock.
        let failure = match unsafe { library.state(raw) } {
            Ok(progress) => return Ok(progress),
            Err(failure) => failure,
        };
        // Another rank may have failed meanwhile.
        if let Some(failure) = inner.failure_of_others() {
            return Err(failure);
        }
        let reported = self.reported.get_or_insert_with(Instant::now);
        match inner.processes.is_some() && reported.elapsed() < REASON {
            true => Ok(Progress::Pending),
            false => Err(failure.into()),
        }
    }

    /// The process that left while the library waits for all ranks, so that it may wait forever.
    fn deserter(&mut self, inner: &Inner) -> Option<usize> {
        let rank = inner.processes.as_ref()?.left()?;
        let since = *self.deserted.get_or_insert_with(Instant::now);
        (since.elapsed() > DESERTED).then_some(rank)
    }

    /// Ends all operations and destroys the communicator. The other ranks of this process fail, too: their operations
    /// cannot complete any more.
    fn abort(&mut self, inner: &Inner, failure: Option<&Arc<Failure>>) {
        let Some(Raw(raw)) = self.raw.take() else { return };
        self.failure = failure.cloned();
        let of_all = failure.filter(|failure| failure.is_of_all()).cloned();
        inner.local_ranks.fail(&of_all.unwrap_or_else(|| {
            Failure::PeerAborted { rank: inner.rank, failure: failure.cloned() }.into()
        }));
        let Link::Library(library) = &inner.link else { return };
        if !raw.is_null() {
            // SAFETY: it was taken from the state, so nothing uses it afterwards.
            let aborted = inner.program.with_context(|| unsafe { library.table().abort(raw) });
            report(aborted.map_err(Error::from).and_then(|done| done.map_err(Error::from)));
        }
    }
}

impl Inner {
    /// Waits until no other thread enqueues operations.
    pub(crate) fn order(&self) -> Ordered<'_> {
        Ordered { inner: self, _order: self.order.lock() }
    }

    /// Locks the communicator for calls of the library.
    pub(crate) fn state(&self) -> MutexGuard<'_, CommunicatorState> {
        self.state.lock()
    }

    /// The operations of ranks on the CPU.
    pub(crate) fn exchange(&self) -> &Exchange {
        &self.local_ranks.exchange
    }

    pub(crate) fn link(&self) -> &Link {
        &self.link
    }

    pub(crate) fn timeout(&self) -> Duration {
        self.timeout
    }

    pub(crate) fn abort(&self, failure: Option<&Arc<Failure>>) {
        self.state.lock().abort(self, failure);
    }

    /// Compares the next calls with those of the other ranks.
    ///
    /// # Errors
    /// A mismatch, or another failure. Then they must not be enqueued, and the communicator is to be aborted.
    pub(crate) fn compare(
        &self,
        calls: impl IntoIterator<Item = CollectiveCall>,
    ) -> Result<(), Arc<Failure>> {
        match (&self.processes, self.compared) {
            (Some(processes), Some(communicator)) => {
                let calls: Vec<_> = calls.into_iter().collect();
                let ended = || self.local_ranks.failure().is_some();
                let compared = processes.compare(communicator, &calls, self.timeout, &ended);
                compared.map_err(|refusal| self.failure_of(refusal))
            }
            _ => self.local_ranks.compare(self.rank, calls),
        }
    }

    /// Why operations cannot complete because of other ranks.
    fn failure_of_others(&self) -> Option<Arc<Failure>> {
        if let Some(failure) = self.local_ranks.failure() {
            return Some(failure);
        }
        let processes = self.processes.as_ref()?;
        match processes.lost() {
            Some(rank) => Some(Failure::PeerLost { rank }.into()),
            None => Some(Failure::from(processes.mismatch(self.compared?)?).into()),
        }
    }

    /// Why calls were refused.
    fn failure_of(&self, refusal: Refusal) -> Arc<Failure> {
        let failure = match refusal {
            Refusal::Mismatch(mismatch) => mismatch.into(),
            Refusal::Unanswered(bootstrap::Error::PeerLost { rank }) => Failure::PeerLost { rank },
            Refusal::Unanswered(error) => Failure::Comparison(error),
            Refusal::Ended => match self.local_ranks.failure() {
                Some(failure) => return failure,
                None => Failure::PeerAborted { rank: self.rank, failure: None },
            },
        };
        failure.into()
    }

    /// The error of an operation. A failed call of the library may follow from the failure of another rank, which is
    /// the reason then.
    pub(crate) fn with_reason(&self, error: Error) -> Error {
        let (operation, rank) = match &error {
            Error::Failed { operation, rank, failure } if failure.is_call() => (*operation, *rank),
            _ => return error,
        };
        let start = Instant::now();
        loop {
            if let Some(failure) = self.failure_of_others() {
                return Error::Failed { operation, rank, failure };
            }
            if self.processes.is_none() || start.elapsed() > REASON {
                return error;
            }
            thread::sleep(PAUSE);
        }
    }

    /// Refuses operations after a failure.
    ///
    /// # Errors
    /// [`Error::Aborted`]
    pub(crate) fn check_usable(&self) -> Result<()> {
        let mut state = self.state.lock();
        if let (Some(_), Some(failure)) = (&state.raw, self.failure_of_others()) {
            state.abort(self, Some(&failure));
            // The error is that of another operation.
            state.unreported = !self.is_complete();
        }
        state.raw(self).map(drop)
    }

    /// Whether an operation is still to be enqueued by the library.
    ///
    /// # Errors
    /// A failure; then the communicator is aborted.
    fn progress(&self, operation: &'static str, waited: Duration) -> Result<Progress> {
        let mut state = self.state.lock();
        let rank = self.rank;
        let deserter = if operation == CREATE { state.deserter(self) } else { None };
        let failure = match (state.raw(self), state.check(self)) {
            (Err(Error::Aborted { failure: Some(failure), .. }), _) => {
                return Err(Error::Failed { operation, rank, failure });
            }
            (Err(error), _) => return Err(error),
            (_, Ok(Progress::Pending)) if waited > self.timeout => {
                Failure::Timeout { after: self.timeout }.into()
            }
            (_, Ok(progress)) => match deserter {
                Some(rank) if progress == Progress::Pending => Failure::PeerLost { rank }.into(),
                _ => return Ok(progress),
            },
            (_, Err(failure)) => failure,
        };
        state.abort(self, Some(&failure));
        Err(Error::Failed { operation, rank, failure })
    }

    /// Calls the library. A failure has what it says about it.
    pub(crate) fn library_call<R>(
        &self,
        operation: &'static str,
        call: impl FnOnce(&Library) -> Result<R, quadrants_program::rhi::Error>,
    ) -> Result<R> {
        let Link::Library(library) = &self.link else {
            let backend = self.program.device_info().backend;
            return Err(Error::Backend { backend, mixed: false });
        };
        call(library).map_err(|error| {
            let failure = Failure::Call { error, details: library.last_error() };
            Error::Failed { operation, rank: self.rank, failure: Arc::new(failure) }
        })
    }

    /// Enqueues what `body` does as one group of the library.
    pub(crate) fn group(
        &self,
        operation: &'static str,
        body: impl FnOnce() -> Result<()>,
    ) -> Result<()> {
        // SAFETY: the group is ended below, on this thread; `body` is of this crate and does not panic.
        self.library_call(operation, |library| unsafe { library.table().group_start() })?;
        let done = body();
        let ended = self.library_call(operation, |library| {
            // SAFETY: as above.
            library.progress(|table| unsafe { table.group_end() })
        });
        done.and(ended.map(drop))
    }

    /// Notes that an operation was enqueued on the stream.
    pub(crate) fn record(&self) -> Result<()> {
        self.event.record(&self.stream)?;
        self.state.lock().operations += 1;
        Ok(())
    }

    /// Whether all operations are complete. While that cannot be queried, as during a capture, they are not.
    fn is_complete(&self) -> bool {
        self.event.query().unwrap_or(false)
    }
}

impl Supervised for Inner {
    fn supervise(&self) -> bool {
        // Another thread calls the library.
        let Some(mut state) = self.state.try_lock() else { return false };
        if state.raw.is_none() {
            return true;
        }
        if self.is_complete() {
            state.observed = (state.operations, Instant::now());
            return true;
        }
        if state.observed.0 != state.operations {
            state.observed = (state.operations, Instant::now());
        }
        let failure = match state.check(self) {
            Ok(_) if state.observed.1.elapsed() > self.timeout => {
                Failure::Timeout { after: self.timeout }.into()
            }
            Ok(_) => return false,
            Err(failure) => failure,
        };
        tracing::warn!(rank = self.rank, %failure, "a communicator is aborted");
        state.abort(self, Some(&failure));
        // The next wait returns it.
        state.unreported = true;
        true
    }
}

impl Watch for Inner {
    fn take_failure(&self) -> Option<Arc<dyn StdError + Send + Sync>> {
        let mut state = self.state.lock();
        let unreported = std::mem::take(&mut state.unreported);
        let failure = state.failure.clone().filter(|_| unreported)?;
        Some(failure)
    }
}

impl Communicator {
    /// The options of communicators.
    #[must_use]
    pub fn builder() -> CommunicatorBuilder {
        CommunicatorBuilder::default()
    }

    /// A communicator of each program, in this process, with default options. See [`CommunicatorBuilder::all`].
    ///
    /// # Errors
    /// As for [`CommunicatorBuilder::all`].
    pub fn all(programs: &[&Program]) -> Result<Vec<Self>> {
        Self::builder().all(programs)
    }

    /// The communicator of this process among those of a run, with default options. See [`CommunicatorBuilder::join`].
    ///
    /// # Errors
    /// As for [`CommunicatorBuilder::join`].
    pub fn join(program: &Program, processes: &Arc<ProcessGroup>) -> Result<Self> {
        Self::builder().join(program, processes)
    }

    /// The rank, from 0.
    #[must_use]
    pub fn rank(&self) -> usize {
        self.inner.rank
    }

    /// The number of ranks.
    #[must_use]
    pub fn size(&self) -> usize {
        self.inner.size
    }

    /// The program whose device this rank is.
    #[must_use]
    pub fn program(&self) -> &Program {
        &self.inner.program
    }

    /// The stream on which the operations run.
    #[must_use]
    pub fn stream(&self) -> &Stream {
        &self.inner.stream
    }

    /// Ends all operations that are not complete. What they write is undefined. Every later operation is
    /// [`Error::Aborted`]. So it is for the other ranks of this communicator in this process. Ranks in other processes
    /// that wait for this one must be aborted too, or fail by their time limit.
    pub fn abort(&self) {
        self.inner.abort(None);
    }

    /// Whether the communicator was aborted, by a failure or by [`abort`](Self::abort); or another rank of it in this
    /// process.
    #[must_use]
    pub fn is_aborted(&self) -> bool {
        self.inner.local_ranks.failure().is_some() || self.inner.state.lock().raw.is_none()
    }
}

impl fmt::Debug for Communicator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

impl fmt::Debug for Inner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Communicator")
            .field("rank", &self.rank)
            .field("size", &self.size)
            .field("stream", &self.stream.id())
            .finish_non_exhaustive()
    }
}

impl Drop for Communicator {
    fn drop(&mut self) {
        let inner = &self.inner;
        while !thread::panicking() && !inner.supervise() {
            thread::sleep(PAUSE);
        }
        watchdog::remove(inner);
        let mut state = inner.state.lock();
        // The library may wait for the other ranks if it destroys a communicator in order.
        if inner.local_ranks.failure().is_some() || thread::panicking() && !inner.is_complete() {
            state.abort(inner, None);
        }
        let Some(Raw(raw)) = state.raw.take() else { return };
        let Link::Library(library) = &inner.link else { return };
        if raw.is_null() {
            return;
        }
        let destroyed = inner.program.with_context(|| {
            // SAFETY: its operations are complete, and nothing uses it afterwards.
            library.progress(|table| unsafe { table.destroy(raw) })
        });
        report(destroyed.map_err(Error::from).and_then(|done| Ok(done.map(drop)?)));
    }
}

fn report(result: Result<()>) {
    if let Err(error) = result {
        tracing::warn!(%error, "a communicator could not be destroyed");
    }
}
