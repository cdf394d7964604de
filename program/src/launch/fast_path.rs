//! The launch as it mostly is: one call of the driver, of a kernel that was launched with the same numbers before, by a
//! program that does not look for hazards. It makes no decision that another place does not make too: where
//! anything is not as usual, nothing has happened, and the launch is made at length.

use std::sync::{Arc, atomic::Ordering::Relaxed};

use quadrants_ir::abi::Form;
use quadrants_rhi::{FunctionHandle, LaunchConfig};
use quadrants_runtime as rt;

use super::{
    block_head::write_head,
    context::{FastPathKind, KernelContext},
    launch_cache::{CacheEntry, LaunchDecision},
    stamp_guard::StampGuard,
    submit::Checks,
};
use crate::{
    capture,
    kernel::kernel_def::KernelDef,
    launch::{
        arguments::{ArgList, Args, TensorArg},
        plan::LaunchFailure,
    },
    program::{ProgramInner, ProgramShared},
    stream::StreamState,
};

/// What became of a launch. In registers.
pub(crate) enum FastPath<'a> {
    Launched,
    /// And what it may report is there.
    Reported,
    LaunchFailure(Box<LaunchFailure>),
    /// The context could not be made current.
    ContextError(Box<rt::Error>),
    /// This is not the place to do it, and nothing has happened.
    Declined(Args<'a>),
}

/// Launches a kernel that has no value.
#[inline(never)]
pub(crate) fn submit_fast<'a>(
    mut args: Args<'a>,
    def: &KernelDef,
    program: &Arc<ProgramInner>,
    stream: &StreamState,
    checks: Checks,
) -> FastPath<'a> {
    let Some(context) = eligible(&args, def, program, stream) else {
        return FastPath::Declined(args);
    };
    let shared = &*program.shared;
    if context.fast_path == FastPathKind::SeveralCalls {
        return steps(args, context, shared, stream, checks);
    }
    let mut config = LaunchConfig { grid_dim: [0; 3], block_dim: [0; 3], shared_bytes: 0 };
    let ArgList { words, tensors, .. } = &mut *args;
    let (Some(words), Some(tensors)) = (words.in_place_mut(), tensors.in_place()) else {
        return FastPath::Declined(args);
    };
    let Some(entry) = context.launch_cache.find(stream.stream.id(), checks, words) else {
        return FastPath::Declined(args);
    };
    if entry.form == Form::Checked {
        return submit_checked(args, context, shared, stream, &entry);
    }
    let function = entry.function();
    match entry.first_shape() {
        Some(shape) => config = shape,
        None => return FastPath::Declined(args),
    }
    if !entry.is_current() {
        return FastPath::Declined(args);
    }
    let launch = Found { context, function, config: &config, words, tensors };
    let launched = launch.submit(shared, stream, Form::Proven);
    args.give_back();
    launched
}

/// [`submit_fast`] in the checked form.
#[inline(never)]
fn submit_checked<'a>(
    mut args: Args<'a>,
    context: &KernelContext,
    shared: &ProgramShared,
    stream: &StreamState,
    entry: &CacheEntry<'_>,
) -> FastPath<'a> {
    let ArgList { words, shapes, tensors, .. } = &mut *args;
    let function = entry.function();
    let Some(LaunchDecision { first: Some(config), .. }) = entry.read(words, shapes) else {
        words.truncate(context.launch_cache.argument_words());
        return FastPath::Declined(args);
    };
    let launch = Found { context, function, config: &config, words, tensors };
    let launched = launch.submit(shared, stream, Form::Checked);
    args.give_back();
    launched
}

#[cold]
#[inline(never)]
fn failed(source: rt::Error) -> FastPath<'static> {
    FastPath::LaunchFailure(Box::new(LaunchFailure { started: false, source }))
}

/// As [`submit_fast`], of a kernel whose launch is several calls.
#[inline(never)]
fn steps<'a>(
    mut args: Args<'a>,
    context: &KernelContext,
    shared: &ProgramShared,
    stream: &StreamState,
    checks: Checks,
) -> FastPath<'a> {
    let ArgList { words, shapes, tensors, .. } = &mut *args;
    let entry = context.launch_cache.find(stream.stream.id(), checks, words);
    let decision = entry.and_then(|entry| entry.read(words, shapes));
    let loaded = decision.and_then(|LaunchDecision { form, .. }| {
        Some((form, context.forms[form as usize].loaded.get()?))
    });
    let Some((form, loaded)) = loaded else {
        words.truncate(context.launch_cache.argument_words());
        return FastPath::Declined(args);
    };
    // SAFETY: the device's calls alone, and no code of the user: devices that run native functions have no contexts.
    let current = match unsafe { shared.context.make_current() } {
        Ok(current) => current,
        Err(error) => return FastPath::ContextError(Box::new(error)),
    };
    let number = shared.launches.fetch_add(1, Relaxed);
    let words = &mut words[..];
    write_head(words, stream.record_address(), 0, context.launch_word(form, number));
    let (params, tensors) = (&*context.tensors, &tensors[..]);
    let guard = StampGuard::new(params, tensors, stream);
    let enqueued = context.plan.enqueue(shared, loaded, None, shapes, words, stream);
    guard.finish();
    drop(current);
    args.give_back();
    match enqueued {
        Err(failed) => FastPath::LaunchFailure(Box::new(failed)),
        Ok(()) if context.reports_at_once => FastPath::Reported,
        Ok(()) => FastPath::Launched,
    }
}

/// Whether a launch enqueues its kernel on the tensors as they are: none is a host array, of another program or moved out
/// of its slice, and the thread does not capture.
#[inline(always)]
pub(super) fn is_direct(args: &ArgList<'_>, program: &Arc<ProgramInner>) -> bool {
    args.all_on_device(program) && !capture::is_on()
}

/// The kernel, where its launch is as usual.
#[inline(always)]
fn eligible<'a>(
    args: &ArgList<'_>,
    def: &KernelDef,
    program: &'a Arc<ProgramInner>,
    stream: &StreamState,
) -> Option<&'a KernelContext> {
    let shared = &*program.shared;
    let context = shared.launcher.contexts.get(def.known_id()?)?;
    let eligible = context.fast_path != FastPathKind::None
        && is_direct(args, program)
        && !shared.context.is_lost()
        && !stream.has_report();
    if !eligible {
        return None;
    }
    let (codes, tensors) = (args.codes.in_place()?, args.tensors.in_place()?);
    let fits = context.is_for(codes) || context.takes(codes);
    (fits && !shared.host_exclusion.are_due(tensors)).then_some(context)
}

/// A launch of which all is found.
struct Found<'a, 'b> {
    context: &'b KernelContext,
    function: FunctionHandle,
    config: &'b LaunchConfig,
    words: &'b mut [u64],
    tensors: &'b [TensorArg<'a>],
}

impl Found<'_, '_> {
    #[inline(always)]
    fn submit(self, shared: &ProgramShared, stream: &StreamState, form: Form) -> FastPath<'static> {
        let Self { context, function, config, words, tensors } = self;
        let number = shared.launches.fetch_add(1, Relaxed);
        write_head(words, stream.record_address(), 0, context.launch_word(form, number));
        let params = &*context.tensors;
        let guard = StampGuard::new(params, tensors, stream);
        // SAFETY: as in `Enqueue::launch`.
        let launched = unsafe {
            let device = shared.context.device();
            device.launch(function, config, words, stream.stream.handle())
        };
        guard.finish();
        match launched {
            Err(error) => failed(shared.context.failed(error)),
            Ok(()) if context.reports_at_once => FastPath::Reported,
            Ok(()) => FastPath::Launched,
        }
    }
}
