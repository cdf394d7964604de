//! Prepared launches: decided once, enqueued later and repeatedly. Captured graphs are made of them.

use std::ops::Range;

use quadrants_ir::{
    TaskId,
    abi::{Forms, LAUNCH_WORD, Passing},
};
use quadrants_rhi::FunctionHandle;

use super::submit::Submission;
use crate::{
    Error, Result,
    arguments::{ArgKind, ArgList, target::LaunchTarget},
    kernel::loader::KernelLoader,
    launcher::{
        argument_head::{number_of, write_head},
        errors::{argument_error, launch_error},
        grid::LaunchConfigs,
        kernel_context::{KernelContext, TensorParamUse},
        launch_cache::{Checks, LaunchDecision},
        launch_memory::LaunchMemory,
        param_code::ParamCode,
    },
    state::ProgramShared,
};

/// A decided launch. The head of its argument block has no addresses yet: those depend on the stream.
#[derive(Clone, Debug)]
pub(crate) struct PreparedLaunch {
    pub(crate) forms: Forms,
    pub(crate) configs: LaunchConfigs,
    pub(crate) words: Vec<u64>,
}

impl PreparedLaunch {
    /// Whether the launch may report errors: only then does its launch word have a launch number.
    pub(crate) fn may_report(&self) -> bool {
        number_of(self.words[LAUNCH_WORD]) != 0
    }

    /// Whether both launches are the same graph nodes, up to launch configurations and arguments: the same forms, and
    /// the same tasks have iterations.
    pub(crate) fn has_same_nodes(&self, other: &Self) -> bool {
        fn has_work(of: &PreparedLaunch) -> impl Iterator<Item = bool> {
            of.configs.iter().map(Option::is_some)
        }
        self.forms == other.forms && has_work(self).eq(has_work(other))
    }
}

impl KernelContext {
    /// Decides a launch as every launch is decided, and loads its image.
    pub(crate) fn prepare<'a>(
        &self,
        loader: &KernelLoader,
        number: u64,
        given: impl Iterator<Item = ArgKind<'a>>,
        checks: Checks,
        stream: u32,
    ) -> Result<PreparedLaunch> {
        let mut args = ArgList::new();
        given.for_each(|arg| args.push(arg));
        if !self.accepts(&args.codes) {
            return Err(argument_error(&self.kernel, &args.codes));
        }
        let mut words = args.words;
        let mut configs = LaunchConfigs::new();
        let LaunchDecision { forms, first } =
            self.decide(loader, stream, checks, &mut words, &mut configs)?;
        if configs.is_empty() {
            configs.push(first);
        }
        write_head(&mut words, 0, 0, self.launch_word(forms, number));
        self.loaded(loader, forms)?;
        Ok(PreparedLaunch { forms, configs, words: words.to_vec() })
    }

    /// Enqueues a prepared launch by itself, not as a graph, with the argument block `words`.
    pub(crate) fn enqueue_prepared(
        &self,
        shared: &ProgramShared,
        id: u32,
        prepared: &PreparedLaunch,
        mut words: Vec<u64>,
        target: LaunchTarget<'_>,
    ) -> Result<()> {
        let stream = target.stream;
        let temporaries = stream.temporaries(self.temporary_bytes)?;
        let (address, launch_word) =
            (LaunchMemory::address_of(temporaries.as_ref()), words[LAUNCH_WORD]);
        write_head(&mut words, stream.record_address(), address, launch_word);
        let loaded = self.loaded(&shared.loader, prepared.forms)?;
        let submission = Submission { shared, context: self, id, target };
        let first = prepared.configs.first().copied().flatten();
        submission.enqueue(loaded, first, &prepared.configs, &words)?;
        if self.check_after_launch { stream.check() } else { Ok(()) }
    }

    pub(crate) fn function(
        &self,
        loader: &KernelLoader,
        forms: Forms,
        task: TaskId,
    ) -> Result<FunctionHandle> {
        Ok(self.loaded(loader, forms)?.function(task.index()))
    }

    pub(crate) fn temporary_bytes(&self) -> usize {
        self.temporary_bytes
    }

    /// Whether launches pass the argument block in an argument buffer.
    pub(crate) fn by_buffer(&self) -> bool {
        self.passing == Passing::Buffer
    }

    pub(crate) fn tensor_params(&self) -> &[TensorParamUse] {
        &self.tensor_params
    }

    /// Whether the tensor of the parameter with this index is written; none where it is not used.
    pub(crate) fn writes(&self, index: usize) -> Option<bool> {
        self.tensor_params.iter().find(|param| param.index == index)?.writes
    }

    /// Whether the kernel accepts arguments with these codes for these parameters.
    pub(crate) fn accepts_for(&self, parameters: &Range<usize>, codes: &[ParamCode]) -> bool {
        let params = self.param_codes.get(parameters.clone()).unwrap_or_default();
        codes.len() == params.len()
            && codes.iter().zip(params).all(|(arg, param)| arg.accepted_by(*param))
    }

    /// The error of a launch of this kernel that failed at the device.
    pub(crate) fn failed(&self, source: quadrants_runtime::Error) -> Error {
        launch_error(&self.kernel, false, source)
    }
}
