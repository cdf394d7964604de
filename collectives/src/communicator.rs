//! [`Communicator`]: a rank of a collective, with its stream and its state.

use std::{
    ffi::c_int,
    fmt, hint, ptr,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use parking_lot::{Mutex, MutexGuard};
use quadrants_program::{Event, Program, Stream, Watch, WatchState};

use crate::{
    Error, Library, Result, UniqueId,
    bootstrap::ProcessGroup,
    error::Failure,
    library::Progress,
    local::Clique,
    table::{CONFIG_MAGIC, CONFIG_VERSION, Config, RawCommunicator, RawUniqueId},
    unique_id::Id,
};

/// The default time limit: that of PyTorch for NCCL.
const TIMEOUT: Duration = Duration::from_secs(600);

/// What errors call the creation.
const CREATE: &str = "create a communicator";

/// How long to query without sleeping.
const SPIN: Duration = Duration::from_micros(500);

/// How long to sleep between two queries of a communicator that is in progress.
const PAUSE: Duration = Duration::from_micros(50);

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
/// # Failures
/// An operation waits for other ranks, which may have failed. While a communicator exists, waits of the host poll: if
/// the library reports an error, if a process of the run is [lost](crate::bootstrap), or after the time limit, the
/// communicator is aborted. Then its operations end, what they write is undefined, and the wait returns
/// [`Error::Runtime`](quadrants_program::Error::Runtime) with a [`Failure`] as its source. Every later operation is
/// [`Error::Aborted`].
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
    /// The other processes.
    processes: Option<Arc<ProcessGroup>>,
    state: Mutex<State>,
    /// Recorded after each operation.
    event: Event,
    pub(crate) stream: Stream,
    pub(crate) program: Program,
}

/// How the ranks are connected.
pub(crate) enum Link {
    Library(Library),
    /// In this process, on the CPU.
    Local(Arc<Clique>),
}

/// What a communicator is locked for.
pub(crate) struct State {
    /// None once it is destroyed.
    raw: Option<Raw>,
    /// Why it was aborted.
    failure: Option<Arc<Failure>>,
    /// Whether a wait is still to return the failure.
    unreported: bool,
}

/// The library's communicator, or null of the CPU's.
#[derive(Clone, Copy)]
struct Raw(RawCommunicator);

// SAFETY: the library allows calls from any thread, but not from several at once; the state has a lock.
unsafe impl Send for Raw {}

/// The state of a communicator that this thread may use.
pub(crate) struct Locked<'a> {
    pub(crate) inner: &'a Inner,
    state: MutexGuard<'a, State>,
}

impl CommunicatorBuilder {
    /// The time limit for joining, for enqueueing an operation, and for a wait of the host in which the operations of a
    /// communicator do not become complete. Default: 10 minutes.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Whether calls of the library may block. Default: no; then each operation costs the host about 50 microseconds,
    /// because NCCL enqueues it on a thread of its own, instead of about 7. But the first operation between two ranks
    /// connects them, and with blocking calls it waits for the other rank without a time limit.
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
        self.create(&members, programs.len(), &id, None)
    }

    /// The communicator of rank `rank` of `size`. Each of the other ranks must be created too, on another thread or in
    /// another process, with the same id. This waits until all have joined.
    ///
    /// # Errors
    /// [`Error::Rank`], [`Error::Library`], [`Error::Backend`], [`Error::Failed`], [`Error::OtherProcess`], or an
    /// error of the device.
    pub fn rank(
        &self,
        program: &Program,
        id: &UniqueId,
        rank: usize,
        size: usize,
    ) -> Result<Communicator> {
        let mut created = self.create(&[(rank, program)], size, id, None)?;
        created.pop().ok_or(Error::Rank { rank, size })
    }

    /// The communicator of this process among those of a run: each calls this once, with the device that it uses.
    ///
    /// # Errors
    /// As for [`rank`](Self::rank), and [`Error::Bootstrap`].
    pub fn join(&self, program: &Program, processes: &Arc<ProcessGroup>) -> Result<Communicator> {
        let (rank, size) = (processes.rank(), processes.world_size());
        let own = match rank {
            0 => Some(self.unique_id(program)?.to_bytes()),
            _ => None,
        };
        let id = UniqueId::from_bytes(&processes.broadcast(own.as_ref().map_or(&[], |id| id))?)?;
        let members = [(rank, program)];
        let mut created = self.create(&members, size, &id, Some(processes))?;
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
            let link = match (id.id(), self.library_of(program)?) {
                (Id::Local(id), None) => Link::Local(Clique::join(id, size)?),
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
                    processes: processes.cloned(),
                    state: Mutex::new(State {
                        raw: Some(Raw(ptr::null_mut())),
                        failure: None,
                        unreported: false,
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
        }
        Ok(created)
    }
}

/// Joins the library's communicator with all of these ranks.
fn initialize(created: &[Communicator], id: RawUniqueId, blocking: bool) -> Result<()> {
    let Some(first) = created.first() else { return Ok(()) };
    let mut all: Vec<_> = created.iter().map(|communicator| communicator.inner.lock()).collect();
    let joined = first.inner.group(CREATE, || {
        // The device of a rank is that whose context is current in the call.
        all.iter_mut().try_for_each(|locked| {
            let inner = locked.inner;
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
            locked.state.raw = Some(Raw(raw));
            joined.map(drop)
        })
    });
    let joined = joined.and_then(|()| settle(&mut all, CREATE));
    if joined.is_err() {
        for locked in &mut all {
            locked.abort(None);
        }
    }
    joined
}

/// Waits until the library has finished what it does in the background for calls on these communicators.
///
/// # Errors
/// The first failure; then the communicators are to be aborted.
pub(crate) fn settle(all: &mut [Locked<'_>], operation: &'static str) -> Result<()> {
    let start = Instant::now();
    for locked in all.iter_mut() {
        while locked.progress(operation, start.elapsed())? == Progress::Pending {
            // Usually the library needs some 20 microseconds; the first operation between two ranks, milliseconds.
            match start.elapsed() < SPIN {
                true => hint::spin_loop(),
                false => thread::sleep(PAUSE),
            }
        }
    }
    Ok(())
}

impl Locked<'_> {
    /// The library's communicator, or null of the CPU's.
    ///
    /// # Errors
    /// [`Error::Aborted`]
    pub(crate) fn raw(&self) -> Result<RawCommunicator> {
        match &self.state.raw {
            Some(Raw(raw)) => Ok(*raw),
            None => {
                Err(Error::Aborted { rank: self.inner.rank, failure: self.state.failure.clone() })
            }
        }
    }

    /// Whether an operation is still to be enqueued by the library.
    ///
    /// # Errors
    /// A failure; then the communicator is aborted.
    fn progress(&mut self, operation: &'static str, waited: Duration) -> Result<Progress> {
        self.raw()?;
        match self.check(waited) {
            Ok(progress) => Ok(progress),
            Err(failure) => Err(self.fail(operation, failure)),
        }
    }

    /// The state of the communicator; a failure where it cannot go on.
    fn check(&self, waited: Duration) -> Result<Progress, Failure> {
        let (Link::Library(library), Some(Raw(raw))) = (&self.inner.link, self.state.raw) else {
            return Ok(Progress::Complete);
        };
        // SAFETY: it is not destroyed, and this thread has the lock.
        let progress = unsafe { library.state(raw)? };
        if let Some(rank) = self.inner.processes.as_ref().and_then(|group| group.lost()) {
            return Err(Failure::PeerLost { rank });
        }
        if progress == Progress::Pending && waited > self.inner.timeout {
            return Err(Failure::Timeout { after: self.inner.timeout });
        }
        Ok(progress)
    }

    /// Aborts after a failure.
    pub(crate) fn fail(&mut self, operation: &'static str, failure: Failure) -> Error {
        let (rank, failure) = (self.inner.rank, Arc::new(failure));
        self.abort(Some(&failure));
        Error::Failed { operation, rank, failure }
    }

    /// Ends all operations and destroys the communicator.
    pub(crate) fn abort(&mut self, failure: Option<&Arc<Failure>>) {
        let Some(Raw(raw)) = self.state.raw.take() else { return };
        self.state.failure = failure.cloned();
        // A wait that is in progress on another thread returns it too.
        self.state.unreported = true;
        match &self.inner.link {
            Link::Local(clique) => clique.abort(self.inner.rank),
            Link::Library(_) if raw.is_null() => {}
            Link::Library(library) => {
                // SAFETY: it was taken from the state, so nothing uses it afterwards.
                let aborted =
                    self.inner.program.with_context(|| unsafe { library.table().abort(raw) });
                report(aborted.map_err(Error::from).and_then(|done| done.map_err(Error::from)));
            }
        }
    }

    /// Notes that an operation was enqueued on the stream.
    pub(crate) fn record(&self) -> Result<()> {
        Ok(self.inner.event.record(&self.inner.stream)?)
    }
}

impl Inner {
    pub(crate) fn lock(&self) -> Locked<'_> {
        Locked { inner: self, state: self.state.lock() }
    }

    pub(crate) fn link(&self) -> &Link {
        &self.link
    }

    pub(crate) fn timeout(&self) -> Duration {
        self.timeout
    }

    /// Calls the library. A failure has what it says about it.
    pub(crate) fn library_call<R>(
        &self,
        operation: &'static str,
        call: impl FnOnce(&Library) -> Result<R, quadrants_program::rhi::Error>,
    ) -> Result<R> {
        let Link::Library(library) = &self.link else {
            return Err(Error::Backend {
                backend: self.program.device_info().backend,
                mixed: false,
            });
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
        // SAFETY: the group is ended below, on this thread; `body` does not panic between, except in this crate.
        self.library_call(operation, |library| unsafe { library.table().group_start() })?;
        let done = body();
        // SAFETY: as above.
        let ended = self.library_call(operation, |library| {
            library.progress(|table| unsafe { table.group_end() })
        });
        done.and(ended.map(drop))
    }

    /// Whether all operations are complete. While that cannot be queried, as during a capture, they are not.
    fn is_complete(&self) -> bool {
        self.event.query().unwrap_or(false)
    }
}

impl Watch for Inner {
    fn poll(&self, waited: Duration) -> WatchState {
        // Another thread enqueues an operation, or polls too.
        let Some(state) = self.state.try_lock() else { return WatchState::Pending };
        let mut locked = Locked { inner: self, state };
        if locked.state.raw.is_none() {
            let unreported = std::mem::take(&mut locked.state.unreported);
            return match &locked.state.failure {
                Some(failure) if unreported => WatchState::Failed(failure.clone()),
                _ => WatchState::Idle,
            };
        }
        if self.is_complete() {
            return WatchState::Idle;
        }
        let failure = match locked.check(waited) {
            Ok(_) if waited > self.timeout => Failure::Timeout { after: self.timeout },
            Ok(_) => return WatchState::Pending,
            Err(failure) => failure,
        };
        let failure = Arc::new(failure);
        locked.abort(Some(&failure));
        locked.state.unreported = false;
        WatchState::Failed(failure)
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
    /// [`Error::Aborted`]. Other ranks that wait for this one must be aborted too, or fail by their time limit.
    pub fn abort(&self) {
        self.inner.lock().abort(None);
    }

    /// Whether the communicator was aborted, by a failure or by [`abort`](Self::abort).
    #[must_use]
    pub fn is_aborted(&self) -> bool {
        self.inner.lock().state.raw.is_none()
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
        let start = Instant::now();
        while !thread::panicking() {
            match inner.poll(start.elapsed()) {
                WatchState::Idle => break,
                WatchState::Pending => thread::sleep(PAUSE),
                WatchState::Failed(error) => {
                    tracing::warn!(%error, "a communicator failed in its drop")
                }
            }
        }
        let mut locked = inner.lock();
        if thread::panicking() && !inner.is_complete() {
            locked.abort(None);
        }
        let Some(Raw(raw)) = locked.state.raw.take() else { return };
        match &inner.link {
            Link::Local(_) => {}
            Link::Library(_) if raw.is_null() => {}
            Link::Library(library) => {
                // SAFETY: its operations are complete, and nothing uses it afterwards.
                let destroyed = inner
                    .program
                    .with_context(|| unsafe { library.progress(|table| table.destroy(raw)) });
                report(destroyed.map_err(Error::from).and_then(|done| Ok(done.map(drop)?)));
            }
        }
    }
}

fn report(result: Result<()>) {
    if let Err(error) = result {
        tracing::warn!(%error, "a communicator could not be destroyed");
    }
}
