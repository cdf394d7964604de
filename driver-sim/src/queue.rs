//! Pending operations and their dependencies.
//!
//! The order of streams and events is an acyclic graph: each operation has the operations that must be complete before
//! it. An operation is *ready* when all of these are complete.

use std::{
    collections::{HashSet, VecDeque},
    sync::Arc,
};

use crate::{
    collectives::Blocker,
    op::Work,
    op_id::{OpId, Ops},
    remote::{Completion, Remote},
};

#[derive(Debug, Default)]
struct Op {
    /// `None` while it runs and afterwards.
    work: Option<Work>,
    /// The handle of its stream.
    stream: u64,
    /// The number of its stream in the order of first use under this seed: the same in every run.
    turn: u64,
    after: Ops,
    dependents: Ops,
    blockers: u32,
    done: bool,
    /// The operation of another world that it waits for, too.
    remote: Option<Remote>,
    /// Whether more is known of what is complete before it than when it was enqueued.
    was_extended: bool,
    /// Set when it is complete, for operations of other worlds.
    watch: Option<Arc<Completion>>,
}

#[derive(Debug)]
pub(crate) struct Queue {
    /// The number of the first element of `ops`. All operations before it are complete.
    base: OpId,
    ops: VecDeque<Op>,
    ready: Vec<OpId>,
    pending: usize,
}

impl Default for Queue {
    fn default() -> Self {
        Self { base: 1, ops: VecDeque::new(), ready: Vec::new(), pending: 0 }
    }
}

impl Queue {
    /// Adds an operation that runs after `after`, and after an operation of another world.
    pub(crate) fn push(
        &mut self,
        work: Work,
        (stream, turn): (u64, u64),
        after: &[OpId],
        remote: Option<Remote>,
    ) -> OpId {
        let id = self.next_id();
        let after: Ops = after.iter().copied().filter(|&op| !self.is_done(op)).collect();
        for &before in &after {
            if let Some(op) = self.get_mut(before) {
                op.dependents.push(id);
            }
        }
        let blockers = after.len() as u32;
        if blockers == 0 {
            self.ready.push(id);
        }
        let work = Some(work);
        self.ops.push_back(Op { work, stream, turn, after, blockers, remote, ..Op::default() });
        self.pending += 1;
        id
    }

    /// Uses a number for an operation that is complete already.
    pub(crate) fn push_done(&mut self) -> OpId {
        let id = self.next_id();
        if self.ops.is_empty() {
            self.base += 1;
        } else {
            self.ops.push_back(Op { done: true, ..Op::default() });
        }
        id
    }

    /// Takes the work of a ready operation that does not wait for another world. The caller runs it and then calls
    /// [`finish`](Self::finish).
    pub(crate) fn begin(&mut self, id: OpId) -> Option<(Work, u64)> {
        if self.blocked_by(id).is_some() {
            return None;
        }
        let at = self.ready.iter().position(|&op| op == id)?;
        self.ready.swap_remove(at);
        let op = self.get_mut(id)?;
        let stream = op.stream;
        op.work.take().map(|work| (work, stream))
    }

    pub(crate) fn finish(&mut self, id: OpId) {
        let Some(op) = self.get_mut(id) else { return };
        op.done = true;
        if let Some(watch) = op.watch.take() {
            watch.set();
        }
        let dependents = std::mem::take(&mut op.dependents);
        self.pending -= 1;
        for next in dependents {
            if let Some(op) = self.get_mut(next) {
                op.blockers -= 1;
                if op.blockers == 0 {
                    self.ready.push(next);
                }
            }
        }
        while self.ops.front().is_some_and(|op| op.done) {
            self.ops.pop_front();
            self.base += 1;
        }
    }

    /// Forgets all operations, as if they were complete.
    pub(crate) fn abandon(&mut self) {
        self.base = self.next_id();
        for watch in self.ops.drain(..).filter_map(|op| op.watch) {
            watch.set();
        }
        self.ready.clear();
        self.pending = 0;
    }

    pub(crate) fn is_done(&self, id: OpId) -> bool {
        self.get(id).is_none_or(|op| op.done)
    }

    /// The operations whose dependencies in this world are complete.
    pub(crate) fn ready(&self) -> &[OpId] {
        &self.ready
    }

    /// What an operation still waits for in other worlds.
    pub(crate) fn blocked_by(&self, id: OpId) -> Option<Blocker> {
        let op = self.get(id)?;
        let remote = op.remote.as_ref().filter(|remote| !remote.is_done());
        remote.map(Blocker::from).or_else(|| op.work.as_ref()?.blocker())
    }

    /// The operation of another world that an operation waits for or waited for.
    pub(crate) fn remote(&self, id: OpId) -> Option<&Remote> {
        self.get(id)?.remote.as_ref()
    }

    /// The operations that wait for one whose clock was extended after it was enqueued, now if `is_extended`: their
    /// clocks must be extended, too.
    pub(crate) fn take_dependents_to_update(&mut self, id: OpId, is_extended: bool) -> Option<Ops> {
        let op = self.get(id).filter(|op| op.was_extended || is_extended)?;
        let next = op.dependents.clone();
        for &op in &next {
            if let Some(op) = self.get_mut(op) {
                op.was_extended = true;
            }
        }
        Some(next)
    }

    /// The completion of an operation.
    pub(crate) fn watch(&mut self, id: OpId) -> Arc<Completion> {
        match self.get_mut(id).filter(|op| !op.done) {
            Some(op) => op.watch.get_or_insert_default().clone(),
            None => Arc::new(Completion::complete()),
        }
    }

    /// The completion of an operation, if another world knows the operation.
    pub(crate) fn watched(&self, id: OpId) -> Option<&Completion> {
        self.get(id)?.watch.as_deref()
    }

    pub(crate) fn pending(&self) -> usize {
        self.pending
    }

    pub(crate) fn oldest(&self) -> Option<OpId> {
        self.ops.front().map(|_| self.base)
    }

    /// The youngest operation that is not complete.
    pub(crate) fn last(&self) -> Option<OpId> {
        let at = self.ops.iter().rposition(|op| !op.done)?;
        Some(self.base + at as u64)
    }

    pub(crate) fn next_id(&self) -> OpId {
        self.base + self.ops.len() as u64
    }

    /// All operations before this number are complete.
    pub(crate) fn done_before(&self) -> OpId {
        self.base
    }

    pub(crate) fn turn(&self, id: OpId) -> u64 {
        self.get(id).map_or(0, |op| op.turn)
    }

    pub(crate) fn is_waited_for(&self, id: OpId) -> bool {
        self.get(id).is_some_and(|op| !op.dependents.is_empty())
    }

    /// The work of an operation that has not started.
    pub(crate) fn work(&self, id: OpId) -> Option<&Work> {
        self.get(id)?.work.as_ref()
    }

    /// The pending operations that `targets` depend on, including `targets`.
    pub(crate) fn ancestors(&self, targets: &[OpId]) -> HashSet<OpId> {
        let mut found = HashSet::new();
        let mut open: Vec<OpId> = targets.to_vec();
        while let Some(id) = open.pop() {
            if !self.is_done(id) && found.insert(id) {
                open.extend(self.get(id).into_iter().flat_map(|op| op.after.iter().copied()));
            }
        }
        found
    }

    /// A ready operation that `target` depends on, or `target` itself; `None` if `target` is complete.
    pub(crate) fn first_step(&self, target: OpId, path: &mut Vec<OpId>) -> Option<OpId> {
        while path.last().is_some_and(|&id| self.is_done(id)) {
            path.pop();
        }
        if path.is_empty() {
            path.push(target);
        }
        loop {
            let top = *path.last()?;
            let op = self.get(top).filter(|op| !op.done)?;
            match op.after.iter().copied().find(|&before| !self.is_done(before)) {
                Some(before) => path.push(before),
                None => return Some(top),
            }
        }
    }

    fn get(&self, id: OpId) -> Option<&Op> {
        self.ops.get(usize::try_from(id.checked_sub(self.base)?).ok()?)
    }

    fn get_mut(&mut self, id: OpId) -> Option<&mut Op> {
        self.ops.get_mut(usize::try_from(id.checked_sub(self.base)?).ok()?)
    }
}
