//! Operations of communicators, alone and in groups.

use std::{ffi::c_void, panic::Location};

use quadrants_program::{ForeignRead, ForeignWrite, RawTensor, Tensor};

use crate::{
    Communicator, Element, Error, Reduction, Result,
    call::{CallKind, CollectiveCall, GroupPosition},
    communicator::{Link, Ordered, settle},
    dropped_group::Unrun,
    element::DataType,
    error::Failure,
    library::Progress,
    resolved::Resolved,
};

/// Operations that are enqueued together. It borrows their tensors until it is [run](Self::run). A group that is
/// dropped instead enqueues nothing, and leaves [`Error::NotRun`] among the [deferred
/// errors](quadrants_program::Program::take_deferred_errors) of the first program, unless an operation could not be
/// added.
///
/// A thread with several communicators must enqueue an operation of all of them in one group: the first would wait for
/// the others. So must a rank that sends and receives: the operations of a group run at once.
///
/// # Examples
/// A ring, in which each rank sends to the next:
/// ```
/// # use quadrants_program::{Opened, Program};
/// use quadrants_collectives::{Communicator, Group};
/// # fn main() -> quadrants_collectives::Result<()> {
/// # let device = quadrants_rhi_cpu::driver()?.open(0)?;
/// # let opened = Opened { device, compiler: None };
/// # let (first, second) = (Program::open(opened.clone())?, Program::open(opened)?);
/// let ranks = Communicator::all(&[&first, &second])?;
/// let (a, b) = (first.tensor_from(&[1.0_f32], [1])?, second.tensor_from(&[2.0_f32], [1])?);
/// let (mut from_b, mut from_a) = (first.zeros::<f32, 1>([1])?, second.zeros::<f32, 1>([1])?);
/// let mut group = Group::new();
/// group.send(&ranks[0], &a, 1)?.receive(&ranks[0], &mut from_b, 1)?;
/// group.send(&ranks[1], &b, 0)?.receive(&ranks[1], &mut from_a, 0)?;
/// group.run()?;
/// assert_eq!((from_b.to_vec()?, from_a.to_vec()?), (vec![2.0], vec![1.0]));
/// # Ok(())
/// # }
/// ```
#[must_use = "nothing is enqueued until `run` is called"]
#[derive(Debug, Default)]
pub struct Group<'a> {
    /// The operations of each communicator.
    members: Vec<Member<'a>>,
    unrun: Unrun,
}

#[derive(Debug)]
struct Member<'a> {
    communicator: &'a Communicator,
    calls: Vec<Listed>,
    /// The number of collective operations among them.
    collectives: u32,
    reads: Vec<ForeignRead<'a>>,
    writes: Vec<ForeignWrite<'a>>,
}

/// A call with the positions of its tensors among those of its communicator.
#[derive(Debug, Clone, Copy)]
struct Listed {
    call: CollectiveCall,
    from: From,
    to: Option<usize>,
    /// The numbers of elements that are read and written.
    counts: (usize, usize),
}

/// The lengths of the two tensors of an operation.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Lengths {
    Equal,
    /// The second one has the elements of all ranks.
    Gathered,
    /// The first one has the elements of all ranks.
    Scattered,
}

#[derive(Debug, Clone, Copy)]
enum From {
    Nothing,
    Read(usize),
    /// The tensor that is written.
    InPlace,
}

impl Lengths {
    /// The length of the second tensor.
    fn expected(self, from: usize, size: usize) -> usize {
        match self {
            Self::Equal => from,
            // No tensor has so many elements.
            Self::Gathered => from.saturating_mul(size),
            Self::Scattered => from / size,
        }
    }
}

impl Member<'_> {
    /// Adds a call.
    fn list(
        &mut self,
        kind: CallKind,
        count: usize,
        data_type: DataType,
        (from, to): (From, Option<usize>),
        counts: (usize, usize),
    ) {
        let is_transfer = matches!(kind, CallKind::Send { .. } | CallKind::Receive { .. });
        let index = self.collectives;
        self.collectives += u32::from(!is_transfer);
        // The number of all is not known yet.
        let call = CollectiveCall {
            kind,
            count,
            data_type,
            group_position: GroupPosition { index, of: 0 },
        };
        self.calls.push(Listed { call, from, to, counts });
    }
}

impl<'a> Group<'a> {
    /// An empty group.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an operation that combines the elements of all ranks into `to` of each rank.
    ///
    /// # Errors
    /// [`Error::Length`]
    #[track_caller]
    pub fn all_reduce<T: Element, const N: usize, const M: usize>(
        &mut self,
        communicator: &'a Communicator,
        from: &'a Tensor<T, N>,
        to: &'a mut Tensor<T, M>,
        reduction: Reduction,
    ) -> Result<&mut Self> {
        let kind = CallKind::AllReduce(reduction);
        self.add(communicator, kind, Some(from), Some(to), Lengths::Equal)
    }

    /// Adds an operation that replaces the elements of all ranks by their combination.
    ///
    /// # Errors
    /// None today.
    #[track_caller]
    pub fn all_reduce_in_place<T: Element, const N: usize>(
        &mut self,
        communicator: &'a Communicator,
        tensor: &'a mut Tensor<T, N>,
        reduction: Reduction,
    ) -> Result<&mut Self> {
        self.in_place(communicator, CallKind::AllReduce(reduction), tensor)
    }

    /// Adds an operation that combines the elements of all ranks into `to` of the rank `root`. The other ranks give a
    /// tensor of that length too, which may be changed.
    ///
    /// # Errors
    /// [`Error::Length`], [`Error::Rank`]
    #[track_caller]
    pub fn reduce<T: Element, const N: usize, const M: usize>(
        &mut self,
        communicator: &'a Communicator,
        from: &'a Tensor<T, N>,
        to: &'a mut Tensor<T, M>,
        reduction: Reduction,
        root: usize,
    ) -> Result<&mut Self> {
        let kind = CallKind::Reduce { reduction, root: self.check_rank(communicator, root)? };
        self.add(communicator, kind, Some(from), Some(to), Lengths::Equal)
    }

    /// Adds an operation that copies the tensor of the rank `root` to those of all ranks.
    ///
    /// # Errors
    /// [`Error::Rank`]
    #[track_caller]
    pub fn broadcast<T: Element, const N: usize>(
        &mut self,
        communicator: &'a Communicator,
        tensor: &'a mut Tensor<T, N>,
        root: usize,
    ) -> Result<&mut Self> {
        let root = self.check_rank(communicator, root)?;
        self.in_place(communicator, CallKind::Broadcast { root }, tensor)
    }

    /// Adds an operation that writes the elements of all ranks to `to` of each rank, in the order of the ranks: `to`
    /// has as many elements as all of them.
    ///
    /// # Errors
    /// [`Error::Length`]
    #[track_caller]
    pub fn all_gather<T: Element, const N: usize, const M: usize>(
        &mut self,
        communicator: &'a Communicator,
        from: &'a Tensor<T, N>,
        to: &'a mut Tensor<T, M>,
    ) -> Result<&mut Self> {
        self.add(communicator, CallKind::AllGather, Some(from), Some(to), Lengths::Gathered)
    }

    /// Adds an operation that combines the elements of all ranks and gives each rank its part, in the order of the
    /// ranks: `from` has as many elements as all parts.
    ///
    /// # Errors
    /// [`Error::Length`]
    #[track_caller]
    pub fn reduce_scatter<T: Element, const N: usize, const M: usize>(
        &mut self,
        communicator: &'a Communicator,
        from: &'a Tensor<T, N>,
        to: &'a mut Tensor<T, M>,
        reduction: Reduction,
    ) -> Result<&mut Self> {
        let kind = CallKind::ReduceScatter(reduction);
        self.add(communicator, kind, Some(from), Some(to), Lengths::Scattered)
    }

    /// Adds an operation that sends the elements to the rank `to`, which must [receive](Self::receive) as many.
    ///
    /// # Errors
    /// [`Error::Rank`]
    #[track_caller]
    pub fn send<T: Element, const N: usize>(
        &mut self,
        communicator: &'a Communicator,
        from: &'a Tensor<T, N>,
        to: usize,
    ) -> Result<&mut Self> {
        let kind = CallKind::Send { to: self.check_rank(communicator, to)? };
        self.add::<T, N, 1>(communicator, kind, Some(from), None, Lengths::Equal)
    }

    /// Adds an operation that receives the elements from the rank `from`.
    ///
    /// # Errors
    /// [`Error::Rank`]
    #[track_caller]
    pub fn receive<T: Element, const N: usize>(
        &mut self,
        communicator: &'a Communicator,
        to: &'a mut Tensor<T, N>,
        from: usize,
    ) -> Result<&mut Self> {
        let kind = CallKind::Receive { from: self.check_rank(communicator, from)? };
        self.add::<T, 1, N>(communicator, kind, None, Some(to), Lengths::Equal)
    }

    /// Checks that a communicator has a rank.
    fn check_rank(&mut self, communicator: &Communicator, rank: usize) -> Result<usize> {
        let size = communicator.size();
        if rank < size { Ok(rank) } else { self.refuse(Error::Rank { rank, size }) }
    }

    /// An error of an operation, which is not added. The user hears of it, so the drop of the group need not say that
    /// it was not run.
    fn refuse<R>(&mut self, error: Error) -> Result<R> {
        self.unrun.clear();
        Err(error)
    }

    #[track_caller]
    fn in_place<T: Element, const N: usize>(
        &mut self,
        communicator: &'a Communicator,
        kind: CallKind,
        tensor: &'a mut Tensor<T, N>,
    ) -> Result<&mut Self> {
        let count = tensor.len();
        self.unrun.add(communicator.program(), kind.name());
        let member = self.member(communicator);
        let to = Some(member.writes.len());
        member.writes.push(tensor.into());
        member.list(kind, count, T::TYPE, (From::InPlace, to), (count, count));
        Ok(self)
    }

    /// Adds a call.
    #[track_caller]
    fn add<T: Element, const N: usize, const M: usize>(
        &mut self,
        communicator: &'a Communicator,
        kind: CallKind,
        from: Option<&'a Tensor<T, N>>,
        to: Option<&'a mut Tensor<T, M>>,
        lengths: Lengths,
    ) -> Result<&mut Self> {
        let (read, written) = (from.map(Tensor::len), to.as_ref().map(|to| to.len()));
        let counts = (read.unwrap_or(0), written.unwrap_or(0));
        let count = match (read, written) {
            (Some(from), Some(to)) => {
                let (operation, size) = (kind.name(), communicator.size());
                let expected = lengths.expected(from, size);
                if lengths == Lengths::Scattered && !from.is_multiple_of(size) {
                    return self.refuse(Error::Parts { operation, size, from });
                }
                if to != expected {
                    return self.refuse(Error::Length { operation, size, from, expected, to });
                }
                from.min(to)
            }
            (from, to) => from.or(to).unwrap_or(0),
        };
        self.unrun.add(communicator.program(), kind.name());
        let member = self.member(communicator);
        let listed_from =
            if from.is_some() { From::Read(member.reads.len()) } else { From::Nothing };
        let listed_to = to.is_some().then_some(member.writes.len());
        member.reads.extend(from.map(ForeignRead::from));
        member.writes.extend(to.map(ForeignWrite::from));
        member.list(kind, count, T::TYPE, (listed_from, listed_to), counts);
        Ok(self)
    }

    fn member(&mut self, communicator: &'a Communicator) -> &mut Member<'a> {
        let same = |member: &Member<'_>| std::ptr::eq(member.communicator, communicator);
        let at = self.members.iter().position(same).unwrap_or_else(|| {
            let (calls, reads, writes) = (Vec::new(), Vec::new(), Vec::new());
            self.members.push(Member { communicator, calls, reads, writes, collectives: 0 });
            self.members.len() - 1
        });
        &mut self.members[at]
    }

    /// Enqueues the operations, each on the stream of its communicator. The host does not wait for them; on the CPU,
    /// they are complete when this returns.
    ///
    /// # Errors
    /// As for [`Program::foreign`](quadrants_program::Program::foreign), and [`Error::Aborted`]: then nothing was
    /// enqueued. [`Error::Failed`]: then the communicators were aborted.
    #[track_caller]
    pub fn run(mut self) -> Result<()> {
        let at = Location::caller();
        self.unrun.clear();
        let name = match &*self.members {
            [] => return Ok(()),
            [Member { calls, .. }] if calls.len() == 1 => calls[0].call.kind.name(),
            _ => "a group of collective operations",
        };
        // All threads lock in one order.
        self.members.sort_by_key(|member| std::ptr::from_ref(&*member.communicator.inner).addr());
        let ordered: Vec<_> =
            self.members.iter().map(|member| member.communicator.inner.order()).collect();
        for Ordered { inner, .. } in &ordered {
            let first = ordered[0].inner;
            if !inner.link().is(first.link()) {
                let backend = first.program.device_info().backend;
                return Err(Error::Backend { backend, mixed: true });
            }
            inner.program.refuse_capture(name)?;
            inner.check_usable()?;
        }
        let mut run = Run { name, at, ordered: &ordered, resolved: Vec::new(), started: false };
        match run.enqueue(&self.members) {
            Err(error) if run.started => Err(abort_all(&ordered, name, error)),
            enqueued => enqueued,
        }
    }
}

/// Aborts the communicators of a group of which a part may be enqueued.
fn abort_all(all: &[Ordered<'_>], name: &'static str, error: Error) -> Error {
    let error = all.iter().fold(error, |error, ordered| ordered.inner.with_reason(error));
    let first = all.first().map_or(0, |first| first.inner.rank);
    let (rank, failure) = match error {
        Error::Failed { rank, failure, .. } => (rank, failure),
        Error::Program(error) => (first, Failure::Enqueue(error).into()),
        other => {
            all.iter().for_each(|ordered| ordered.inner.abort(None));
            return other;
        }
    };
    all.iter().for_each(|ordered| ordered.inner.abort(Some(&failure)));
    Error::Failed { operation: name, rank, failure }
}

/// A group that is being enqueued.
struct Run<'r, 'l> {
    name: &'static str,
    at: &'static Location<'static>,
    ordered: &'r [Ordered<'l>],
    /// The calls of each communicator.
    resolved: Vec<Vec<Resolved>>,
    /// Whether the library was called.
    started: bool,
}

impl Run<'_, '_> {
    /// Makes the operations of each communicator one foreign operation, inside that of the communicator before it; and
    /// inside the last of them enqueues all. So all tensors are stamped after that.
    fn enqueue(&mut self, members: &[Member<'_>]) -> Result<()> {
        let Some((member, rest)) = members.split_first() else { return self.call() };
        let inner = &member.communicator.inner;
        let (name, at, reads, writes) = (self.name, self.at, &member.reads, &member.writes);
        inner.stream.in_current_order(|| {
            inner.program.foreign_with_lists(name, &inner.stream, reads, writes, at, |raw| {
                let all = member.collectives;
                let resolve = |listed: &Listed| listed.resolve(all, raw.reads, raw.writes);
                self.resolved.push(member.calls.iter().map(resolve).collect::<Result<_>>()?);
                self.enqueue(rest)
            })??;
            inner.record()
        })
    }

    fn call(&mut self) -> Result<()> {
        self.started = true;
        self.compare()?;
        let Some(first) = self.ordered.first() else { return Ok(()) };
        match first.inner.link() {
            Link::Local => self.call_local(),
            Link::Library(_) => self.call_library(),
        }
    }

    /// Compares the calls of all communicators, before one of them is enqueued.
    fn compare(&self) -> Result<()> {
        self.ordered.iter().zip(&self.resolved).try_for_each(|(Ordered { inner, .. }, calls)| {
            let (operation, rank) = (self.name, inner.rank);
            let compared = inner.compare(calls.iter().map(|resolved| resolved.call));
            compared.map_err(|failure| Error::Failed { operation, rank, failure })
        })
    }

    fn call_local(&mut self) -> Result<()> {
        let mut posted = Vec::new();
        for (Ordered { inner, .. }, calls) in self.ordered.iter().zip(&self.resolved) {
            // SAFETY: the addresses are those of the tensors, which the group borrows, and which the program keeps from
            // other users during the foreign operation. All are waited for below. The calls were compared, and as long
            // as the communicator is locked, the rank has no others between.
            posted.push(unsafe { inner.exchange().post(inner.rank, calls) });
        }
        let mut result = Ok(());
        for (Ordered { inner, .. }, numbers) in self.ordered.iter().zip(&posted) {
            if let Err(failure) = inner.exchange().wait(numbers, inner.timeout()) {
                let (operation, rank) = (self.name, inner.rank);
                result = result.and(Err(Error::Failed { operation, rank, failure }));
            }
        }
        result
    }

    fn call_library(&mut self) -> Result<()> {
        let (ordered, resolved, name) = (self.ordered, &self.resolved, self.name);
        // Until the calls are made, nothing aborts a communicator.
        let mut states = Vec::with_capacity(ordered.len());
        states.extend(ordered.iter().map(|ordered| ordered.inner.state()));
        let mut pending = false;
        let mut calls = || {
            for ((Ordered { inner, .. }, state), calls) in ordered.iter().zip(&states).zip(resolved)
            {
                let raw = state.raw(inner)?;
                for resolved in calls {
                    // SAFETY: the addresses are those of the tensors of a foreign operation on the stream, and the
                    // communicator is locked. The call was compared with those of the other ranks.
                    let progress = inner.library_call(name, |library| unsafe {
                        resolved.enqueue(library, raw, inner.stream.handle())
                    })?;
                    pending |= progress == Progress::Pending;
                }
            }
            Ok(())
        };
        if resolved.iter().map(Vec::len).sum::<usize>() == 1 {
            calls()?;
        } else {
            // A group ends with the state of the communicators.
            ordered[0].inner.group(name, &mut calls)?;
            pending = true;
        }
        drop(states);
        if pending { settle(ordered, name) } else { Ok(()) }
    }
}

impl Listed {
    /// The call with its addresses. `collectives` is the number of collective operations of its rank in the group.
    fn resolve(
        &self,
        collectives: u32,
        reads: &[RawTensor],
        writes: &[RawTensor],
    ) -> Result<Resolved> {
        let to = self.to.map(|to| &writes[to]);
        let from = match self.from {
            From::Nothing => None,
            From::Read(from) => Some(&reads[from]),
            From::InPlace => to,
        };
        let data_type: DataType = self.call.data_type;
        for (tensor, count) in [(from, self.counts.0), (to, self.counts.1)] {
            if tensor.is_some_and(|tensor| tensor.bytes != count * data_type.bytes()) {
                return Err(Error::Strided { operation: self.call.kind.name() });
            }
        }
        let from =
            from.map_or(std::ptr::null(), |from| from.address.as_ptr::<c_void>().cast_const());
        let to = to.map_or(std::ptr::null_mut(), |to| to.address.as_ptr());
        let mut call = self.call;
        call.group_position = match call.kind {
            CallKind::Send { .. } | CallKind::Receive { .. } => GroupPosition::default(),
            _ => GroupPosition { of: collectives, ..call.group_position },
        };
        Ok(Resolved { call, from, to })
    }
}

impl Communicator {
    /// Combines the elements of all ranks into `to` of each rank.
    ///
    /// # Errors
    /// [`Error::Length`], and those of [`Group::run`].
    #[track_caller]
    pub fn all_reduce<T: Element, const N: usize, const M: usize>(
        &self,
        from: &Tensor<T, N>,
        to: &mut Tensor<T, M>,
        reduction: Reduction,
    ) -> Result<()> {
        let mut group = Group::new();
        group.all_reduce(self, from, to, reduction)?;
        group.run()
    }

    /// Replaces the elements of all ranks by their combination.
    ///
    /// # Errors
    /// Those of [`Group::run`].
    #[track_caller]
    pub fn all_reduce_in_place<T: Element, const N: usize>(
        &self,
        tensor: &mut Tensor<T, N>,
        reduction: Reduction,
    ) -> Result<()> {
        let mut group = Group::new();
        group.all_reduce_in_place(self, tensor, reduction)?;
        group.run()
    }

    /// Combines the elements of all ranks into `to` of the rank `root`. See [`Group::reduce`].
    ///
    /// # Errors
    /// [`Error::Length`], [`Error::Rank`], and those of [`Group::run`].
    #[track_caller]
    pub fn reduce<T: Element, const N: usize, const M: usize>(
        &self,
        from: &Tensor<T, N>,
        to: &mut Tensor<T, M>,
        reduction: Reduction,
        root: usize,
    ) -> Result<()> {
        let mut group = Group::new();
        group.reduce(self, from, to, reduction, root)?;
        group.run()
    }

    /// Copies the tensor of the rank `root` to those of all ranks.
    ///
    /// # Errors
    /// [`Error::Rank`], and those of [`Group::run`].
    #[track_caller]
    pub fn broadcast<T: Element, const N: usize>(
        &self,
        tensor: &mut Tensor<T, N>,
        root: usize,
    ) -> Result<()> {
        let mut group = Group::new();
        group.broadcast(self, tensor, root)?;
        group.run()
    }

    /// Writes the elements of all ranks to `to` of each rank, in the order of the ranks. See [`Group::all_gather`].
    ///
    /// # Errors
    /// [`Error::Length`], and those of [`Group::run`].
    #[track_caller]
    pub fn all_gather<T: Element, const N: usize, const M: usize>(
        &self,
        from: &Tensor<T, N>,
        to: &mut Tensor<T, M>,
    ) -> Result<()> {
        let mut group = Group::new();
        group.all_gather(self, from, to)?;
        group.run()
    }

    /// Combines the elements of all ranks and gives each rank its part. See [`Group::reduce_scatter`].
    ///
    /// # Errors
    /// [`Error::Length`], and those of [`Group::run`].
    #[track_caller]
    pub fn reduce_scatter<T: Element, const N: usize, const M: usize>(
        &self,
        from: &Tensor<T, N>,
        to: &mut Tensor<T, M>,
        reduction: Reduction,
    ) -> Result<()> {
        let mut group = Group::new();
        group.reduce_scatter(self, from, to, reduction)?;
        group.run()
    }

    /// Sends the elements to the rank `to`. Two ranks that send to each other must do so in a [`Group`] with the
    /// operations that receive.
    ///
    /// # Errors
    /// [`Error::Rank`], and those of [`Group::run`].
    #[track_caller]
    pub fn send<T: Element, const N: usize>(&self, from: &Tensor<T, N>, to: usize) -> Result<()> {
        let mut group = Group::new();
        group.send(self, from, to)?;
        group.run()
    }

    /// Receives the elements from the rank `from`.
    ///
    /// # Errors
    /// [`Error::Rank`], and those of [`Group::run`].
    #[track_caller]
    pub fn receive<T: Element, const N: usize>(
        &self,
        to: &mut Tensor<T, N>,
        from: usize,
    ) -> Result<()> {
        let mut group = Group::new();
        group.receive(self, to, from)?;
        group.run()
    }
}
