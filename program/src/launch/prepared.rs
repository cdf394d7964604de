//! Launches that are judged once and enqueued later, and again: what captured graphs are made of.

use std::{ops::Range, sync::atomic::Ordering::Relaxed};

use quadrants_ir::{
    Offloaded, TaskId,
    abi::{Form, LAUNCH_WORD, Passing},
};
use quadrants_rhi::FunctionHandle;

use super::{
    context::{KernelContext, TensorParam},
    errors::{argument_error, launch_error, result_error},
    launch_cache::LaunchDecision,
    block_head::{number_of, write_head},
    launcher::KernelLauncher,
    submit::{Checks, LaunchTarget, Submission},
};
use crate::{
    Error, Result,
    kernel::kernel_def::KernelDef,
    launch::{
        arguments::{ArgKind, ArgList, Code},
        plan::LaunchShapes,
        temporaries::LaunchBlock,
    },
    program::ProgramShared,
    stream::StreamState,
};

/// What a launch's numbers decide. Its argument block lacks the addresses that are the stream's.
#[derive(Clone, Debug)]
pub(crate) struct PreparedLaunch {
    pub(crate) form: Form,
    pub(crate) shapes: LaunchShapes,
    pub(crate) words: Vec<u64>,
}

/// Whether a kernel may go: not while graphs keep it.
#[derive(Debug, Default)]
pub(crate) struct Retention {
    graphs: usize,
    /// Its owner is gone.
    orphan: bool,
}

impl PreparedLaunch {
    /// Whether the launch has a number, by which what it reports is known.
    pub(crate) fn may_report(&self) -> bool {
        number_of(self.words[LAUNCH_WORD]) != 0
    }

    /// Whether a graph that was made for the other can be set to this.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        fn live(of: &PreparedLaunch) -> impl Iterator<Item = bool> {
            of.shapes.iter().map(Option::is_some)
        }
        self.form == other.form && live(self).eq(live(other))
    }
}

impl KernelLauncher {
    /// The kernel of a launch that is captured, which stays until [`release`](Self::release). It has no value.
    pub(crate) fn retain(
        &self,
        shared: &ProgramShared,
        def: &KernelDef,
    ) -> Result<(u32, &KernelContext)> {
        shared.context.check()?;
        let id = def.id()?;
        let context = self.contexts.get_or_try_make(id, || KernelContext::new(shared, def, id))?;
        if context.kernel.result.is_some() {
            return Err(result_error(&context.kernel, None));
        }
        context.retention.lock().graphs += 1;
        Ok((id, context))
    }

    /// Lets go of a kernel that was kept; where it was the last to need it, for good.
    pub(crate) fn release(&self, shared: &ProgramShared, id: u32) {
        let Some(context) = self.contexts.get(id) else { return };
        let last = {
            let mut retention = context.retention.lock();
            retention.graphs -= 1;
            retention.graphs == 0 && retention.orphan
        };
        if last {
            // SAFETY: its owner is gone, and so are the graphs that launched it.
            unsafe { self.forget(shared, id) };
        }
    }

    /// A kernel that is kept.
    pub(crate) fn retained(&self, id: u32) -> Option<&KernelContext> {
        self.contexts.get(id)
    }
}

impl Retention {
    /// Whether the kernel may go now that its owner does.
    pub(super) fn may_go(&mut self) -> bool {
        self.orphan = true;
        self.graphs == 0
    }
}

impl KernelContext {
    /// Judges a launch as all are judged, and loads what it runs.
    pub(crate) fn prepare<'a>(
        &self,
        shared: &ProgramShared,
        number: u64,
        given: impl Iterator<Item = ArgKind<'a>>,
        checks: Checks,
        stream: &StreamState,
    ) -> Result<PreparedLaunch> {
        let mut args = ArgList::new();
        given.for_each(|arg| args.push(arg));
        if !self.takes(&args.codes) {
            return Err(argument_error(&self.kernel, &args));
        }
        let mut words = args.words;
        let mut shapes = LaunchShapes::new();
        let LaunchDecision { form, first } =
            self.decide(shared, stream, checks, &mut words, &mut shapes)?;
        if shapes.is_empty() {
            shapes.push(first);
        }
        write_head(&mut words, 0, 0, self.launch_word(form, number));
        self.loaded(shared, form)?;
        Ok(PreparedLaunch { form, shapes, words: words.to_vec() })
    }

    /// Enqueues a launch by itself, as if it had just been made, with this argument block.
    pub(crate) fn enqueue_prepared(
        &self,
        shared: &ProgramShared,
        id: u32,
        prepared: &PreparedLaunch,
        mut words: Vec<u64>,
        target: LaunchTarget<'_>,
    ) -> Result<()> {
        let stream = target.stream;
        let scratch = match self.scratch_bytes() {
            0 => None,
            bytes => Some(LaunchBlock::new(stream, bytes)?),
        };
        let temporaries = scratch.as_ref().map_or(0, |block| block.address().raw());
        let launch_word = words[LAUNCH_WORD];
        write_head(&mut words, stream.record_address(), temporaries, launch_word);
        let loaded = self.loaded(shared, prepared.form)?;
        let submission = Submission { shared, context: self, id, target };
        let first = prepared.shapes.first().copied().flatten();
        submission.enqueue(loaded, first, &prepared.shapes, &words)?;
        if self.reports_at_once { stream.check() } else { Ok(()) }
    }

    /// The functions of a form that was loaded.
    pub(crate) fn function(
        &self,
        shared: &ProgramShared,
        form: Form,
        task: TaskId,
    ) -> Result<FunctionHandle> {
        Ok(self.loaded(shared, form)?.function(task.index()))
    }

    /// The tasks, as steps of chains that run side by side.
    pub(crate) fn steps(&self) -> impl Iterator<Item = Vec<&[TaskId]>> {
        self.plan.steps()
    }

    pub(crate) fn scratch_bytes(&self) -> usize {
        self.scratch
    }

    /// Whether the argument block goes through memory of the device.
    pub(crate) fn by_buffer(&self) -> bool {
        self.passing == Passing::Buffer
    }

    /// Its tensor parameters.
    pub(crate) fn tensors(&self) -> &[TensorParam] {
        &self.tensors
    }

    /// Whether a parameter's tensor is written; none where it is not used.
    pub(crate) fn touch(&self, parameter: usize) -> Option<bool> {
        self.tensors.iter().find(|tensor| tensor.number == parameter)?.touch
    }

    /// Whether these can stand for those parameters.
    pub(crate) fn takes_at(&self, parameters: &Range<usize>, codes: &[Code]) -> bool {
        let params = self.codes.get(parameters.clone()).unwrap_or_default();
        codes.len() == params.len()
            && codes.iter().zip(params).all(|(given, param)| given.fits(*param))
    }

    /// What went wrong at the device with a launch of it.
    pub(crate) fn failed(&self, source: quadrants_runtime::Error) -> Error {
        launch_error(&self.kernel, false, source)
    }

    pub(crate) fn offloaded(&self) -> &Offloaded {
        &self.kernel
    }
}

impl ProgramShared {
    /// The next launch's number.
    pub(crate) fn next_launch(&self) -> u64 {
        self.launches.fetch_add(1, Relaxed)
    }
}
