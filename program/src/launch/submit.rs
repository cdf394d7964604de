//! The slow path of a launch: fills the argument block, decides form and shapes, orders against hazards, enqueues the
//! plan, and stamps the tensors.

use std::{
    panic::Location,
    sync::{Arc, atomic::Ordering::Relaxed},
};

use quadrants_ir::abi::{self, Passing};
use quadrants_rhi::LaunchConfig;

use super::{
    arguments::ArgList,
    block_head::write_head,
    context::KernelContext,
    errors::launch_error,
    launch_cache::LaunchDecision,
    stamp_guard::StampGuard,
    temporaries::{LaunchBlock, StreamScratch},
};
use crate::{
    Result,
    hazards::{LaunchUses, waiting},
    kernel::image::LoadedForm,
    program::ProgramShared,
    stream::StreamState,
};

/// Whether a launch proves its accesses or trusts the caller.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Checks {
    On,
    Off,
}

/// Where a launch goes, and how.
#[derive(Clone, Copy)]
pub(crate) struct LaunchTarget<'a> {
    pub(crate) stream: &'a Arc<StreamState>,
    pub(crate) checks: Checks,
    /// Where it is written.
    pub(crate) at: &'static Location<'static>,
}

/// A launch under way.
#[derive(Clone, Copy)]
pub(super) struct Submission<'a> {
    pub(super) shared: &'a ProgramShared,
    pub(super) context: &'a KernelContext,
    /// The kernel's number.
    pub(super) id: u32,
    pub(super) target: LaunchTarget<'a>,
}

impl Submission<'_> {
    /// Launches within the context, with memory of the launch's own, and waits for a value.
    #[inline(never)]
    pub(super) fn with_memory(self, args: &mut ArgList<'_>) -> Result<Option<u64>> {
        let Self { shared, context, target: LaunchTarget { stream, .. }, .. } = self;
        // SAFETY: the device's calls alone, and no code of the user: devices that run native functions
        // have no contexts.
        let _current = unsafe { shared.context.make_current()? };
        stream.check()?;
        let scratch = match context.scratch {
            0 => None,
            bytes => Some(LaunchBlock::new(stream, bytes)?),
        };
        self.submit(args, scratch.as_ref().map_or(0, |block| block.address().raw()))?;
        let word = match (context.kernel.result, &scratch) {
            (Some(_), Some(block)) => {
                let at = block.address().offset(8 * abi::result_word(&context.kernel));
                let read = || read_word(stream, at);
                Some(waiting(shared, |tracker| tracker.up_to(&stream.stream), read)?)
            }
            _ => None,
        };
        if context.reports_at_once {
            stream.check()?;
        }
        Ok(word)
    }

    /// Fills the argument block, judges, and enqueues.
    #[inline(always)]
    pub(super) fn submit(self, args: &mut ArgList<'_>, scratch: u64) -> Result<()> {
        let Self { shared, context, id, target: LaunchTarget { stream, checks, at } } = self;
        let number = shared.launches.fetch_add(1, Relaxed);
        let ArgList { words, shapes, tensors, .. } = args;
        let LaunchDecision { form, first } =
            context.decide(shared, stream, checks, words, shapes)?;
        write_head(words, stream.record_address(), scratch, context.launch_word(form, number));
        let loaded = context.loaded(shared, form)?;
        let (params, tensors) = (&*context.tensors, &**tensors);
        let guard = match &shared.hazards {
            Some(tracker) => {
                let uses = LaunchUses { kernel: id, params, tensors, at };
                tracker.before(shared, &uses, stream)?;
                StampGuard::tracked(tracker, uses, stream)
            }
            None => StampGuard::new(params, tensors, stream),
        };
        let turn = shared.host_exclusion.of_launch(tensors);
        let enqueued = self.enqueue(loaded, first, shapes, words);
        drop(turn);
        guard.finish();
        enqueued
    }

    #[inline(always)]
    pub(super) fn enqueue(
        self,
        loaded: &LoadedForm,
        first: Option<LaunchConfig>,
        shapes: &[Option<LaunchConfig>],
        words: &[u64],
    ) -> Result<()> {
        let Self { shared, context, target: LaunchTarget { stream, .. }, .. } = self;
        if context.passing == Passing::Buffer {
            return self.enqueue_by_buffer(loaded, first, shapes, words);
        }
        let enqueued = context.plan.enqueue(shared, loaded, first, shapes, words, stream);
        enqueued.map_err(|f| launch_error(&context.kernel, f.started, f.source))
    }

    #[cold]
    fn enqueue_by_buffer(
        self,
        loaded: &LoadedForm,
        first: Option<LaunchConfig>,
        shapes: &[Option<LaunchConfig>],
        words: &[u64],
    ) -> Result<()> {
        let Self { shared, context, target: LaunchTarget { stream, .. }, .. } = self;
        let fail = |started, source| launch_error(&context.kernel, started, source);
        let bytes = size_of_val(words);
        let block = LaunchBlock::new(stream, bytes)?;
        let staged = StreamScratch::stage(stream, words)?;
        // SAFETY: the block has the bytes; the staged words stay until the copy is complete.
        let copied = unsafe {
            let device = shared.context.device();
            device.copy_htod_async(block.address(), staged.as_ptr(), bytes, stream.stream.handle())
        };
        shared.context.observe(copied).map_err(|source| fail(false, source))?;
        let address = [block.address().raw()];
        let enqueued = context.plan.enqueue(shared, loaded, first, shapes, &address, stream);
        enqueued.map_err(|f| fail(f.started, f.source))
    }
}

/// Reads one word behind everything on the stream, and waits for it.
fn read_word(stream: &StreamState, at: quadrants_rhi::DevicePtr) -> Result<u64> {
    let mut word = [0u8; 8];
    // SAFETY: the launch's scratch memory holds the word until its block is dropped.
    unsafe { stream.stream.read(at, &mut word)? };
    Ok(u64::from_le_bytes(word))
}
