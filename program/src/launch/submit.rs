//! The slow path of a launch: decides forms and configurations, fills the argument block, checks for hazards, enqueues
//! the launch plan, and stamps the tensors.

use std::sync::atomic::Ordering::Relaxed;

use quadrants_ir::abi::{self, Passing};
use quadrants_rhi::{DevicePtr, LaunchConfig};
use smallvec::SmallVec;

use super::stamp_guard::StampGuard;
use crate::{
    Result,
    arguments::{ArgList, any_shared, launch_uses::LaunchUses, target::LaunchTarget},
    hazards::tracker::{Tracker, wait_tracked},
    kernel::loader::LoadedImage,
    launcher::{
        argument_head::write_head, errors::launch_error, kernel_context::KernelContext,
        launch_cache::LaunchDecision, launch_memory::LaunchMemory,
    },
    state::{ProgramShared, StreamState},
    thread_state::regions,
};

/// The words of a kernel's value, one per scalar.
pub(super) type ResultWords = SmallVec<[u64; 4]>;

/// A launch that takes the slow path.
#[derive(Clone, Copy)]
pub(super) struct Submission<'a> {
    pub(super) shared: &'a ProgramShared,
    pub(super) context: &'a KernelContext,
    /// The kernel's number.
    pub(super) id: u32,
    pub(super) target: LaunchTarget<'a>,
}

impl Submission<'_> {
    /// Submits a launch of several driver calls, or one that needs temporaries or returns a value. Waits for the value.
    #[inline(never)]
    pub(super) fn submit_with_memory(self, args: &mut ArgList<'_>) -> Result<ResultWords> {
        let Self { shared, context, target: LaunchTarget { stream, .. }, .. } = self;
        // SAFETY: only calls of this device are made, and no user code runs: devices that run native functions have no
        // contexts.
        let _current = unsafe { shared.context.make_current()? };
        stream.check()?;
        let temporaries = stream.temporaries(context.temporary_bytes)?;
        self.submit(args, LaunchMemory::address_of(temporaries.as_ref()))?;
        let count = context.kernel.results.len();
        let words = match temporaries {
            Some(memory) if count > 0 => {
                let address = memory.address().offset(8 * abi::result_word(&context.kernel));
                let tracker = shared.hazards.as_ref();
                let clock = |tracker: &Tracker| tracker.clock_of(&stream.stream);
                wait_tracked(tracker, clock, || {
                    // The memory is freed in the order of the stream, so that the free does not come after the wait.
                    read_words(stream, address, count, || drop(memory))
                })?
            }
            _ => ResultWords::new(),
        };
        if count > 0 && context.prints {
            stream.print_all()?;
        }
        if context.check_after_launch {
            stream.check()?;
        }
        Ok(words)
    }

    /// Decides and enqueues the launch, whose temporaries are at the address `temporaries`.
    #[inline(always)]
    pub(super) fn submit(self, args: &mut ArgList<'_>, temporaries: u64) -> Result<()> {
        let Self { shared, context, id, target: LaunchTarget { stream, checks, at } } = self;
        let number = shared.launches.fetch_add(1, Relaxed);
        let ArgList { words, configs, tensors, .. } = args;
        let (loader, of_stream) = (&shared.loader, stream.stream.id());
        let (decision, trial) = match &context.autotuner {
            Some(_) => context.decide_with_trial(loader, of_stream, checks, words, configs)?,
            None => (context.decide(loader, of_stream, checks, words, configs)?, None),
        };
        let LaunchDecision { forms, first } = decision;
        let launch_word = context.launch_word(forms, number);
        write_head(words, stream.record_address(), temporaries, launch_word);
        let loaded = context.loaded(&shared.loader, forms)?;
        let (params, tensors) = (&*context.tensor_params, &**tensors);
        let tracked = shared
            .hazards
            .as_ref()
            .map(|tracker| (tracker, LaunchUses { kernel: id, params, tensors, at }));
        regions::check(shared, &LaunchUses { kernel: id, params, tensors, at }, stream)?;
        if let Some((tracker, uses)) = &tracked {
            shared.check_launch(tracker, uses, stream)?;
        }
        let guard = StampGuard::new(params, tensors, stream, tracked);
        let exclusion = shared.host_exclusion.lock(|| any_shared(tensors));
        let enqueued = match trial {
            None => self.enqueue(loaded, first, configs, words),
            Some(trial) => trial.measure(&shared.context, &stream.stream, || {
                self.enqueue(loaded, first, configs, words)
            }),
        };
        drop(exclusion);
        guard.finish();
        enqueued
    }

    /// Enqueues the launch plan with the argument block `words`.
    #[inline(always)]
    pub(super) fn enqueue(
        self,
        loaded: &LoadedImage,
        first: Option<LaunchConfig>,
        configs: &[Option<LaunchConfig>],
        words: &[u64],
    ) -> Result<()> {
        let Self { shared, context, id, target: LaunchTarget { stream, .. } } = self;
        let _profiled = shared.profile_launch(stream.stream.id(), id, context, loaded.functions());
        let buffer = match context.passing {
            Passing::Value => None,
            Passing::Buffer => Some(self.argument_buffer(words)?),
        };
        let address = buffer.as_ref().map(|buffer| [buffer.address().raw()]);
        let args = address.as_ref().map_or(words, |address| &address[..]);
        let enqueued =
            context.plan.enqueue(stream.target(shared).interposed(), loaded, first, configs, args);
        enqueued.map_err(|f| launch_error(&context.kernel, f.started, f.source))
    }

    /// An argument buffer, with the copy of the argument block enqueued.
    #[cold]
    fn argument_buffer(&self, words: &[u64]) -> Result<LaunchMemory<'_>> {
        let Self { context, target: LaunchTarget { stream, .. }, .. } = self;
        let memory = &stream.launch_memory;
        let buffer = memory.allocate(&stream.stream, size_of_val(words))?;
        // SAFETY: the buffer has the bytes.
        let copied = unsafe { memory.upload(&stream.stream, words, buffer.address())? };
        copied.map_err(|source| launch_error(&context.kernel, false, source))?;
        Ok(buffer)
    }
}

/// Reads words after everything on the stream, and waits for them. Calls `before_wait` after the copy is enqueued.
fn read_words(
    stream: &StreamState,
    address: DevicePtr,
    count: usize,
    before_wait: impl FnOnce(),
) -> Result<ResultWords> {
    let mut bytes: SmallVec<[u8; 32]> = SmallVec::from_elem(0, 8 * count);
    // SAFETY: the launch's temporaries hold the words until they are dropped, in the order of the stream.
    unsafe { stream.stream.read_then(address, &mut bytes, before_wait)? };
    let (words, _) = bytes.as_chunks();
    Ok(words.iter().map(|word| u64::from_le_bytes(*word)).collect())
}
