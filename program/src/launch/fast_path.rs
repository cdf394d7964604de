//! The fast path of a launch: a kernel that was launched before with the same extents and scalars, on tensors in device
//! memory, in a program that tracks no hazards. It calls the driver with a cached launch decision.
//!
//! It makes no decision itself. Where anything else is needed it declines before it has done anything, and the slow
//! path (`slow_path.rs`, `submit.rs`) makes the launch.

use std::sync::{Arc, atomic::Ordering::Relaxed};

use quadrants_ir::abi::Forms;
use quadrants_rhi::{FunctionHandle, LaunchConfig};
use quadrants_runtime as rt;

use super::stamp_guard::StampGuard;
use crate::{
    arguments::{ArgList, ReusedArgList, TensorArg, any_shared},
    kernel::kernel_def::KernelDef,
    launcher::{
        argument_head::write_head,
        kernel_context::{FastPathKind, KernelContext},
        launch_cache::{AcceptedForms, Checks, LaunchDecision},
        plan::LaunchFailure,
    },
    state::{ProgramInner, ProgramShared, StreamState},
    thread_state::mode::is_observed,
};

/// What the fast path did. Small, so that it is returned in registers.
pub(crate) enum FastPath<'a> {
    Launched,
    /// Launched. What the kernel reports is complete, and the stream's error record must be checked.
    CheckErrors,
    LaunchFailure(Box<LaunchFailure>),
    /// The context could not be made current.
    ContextError(Box<rt::Error>),
    /// Nothing: the launch must take the slow path.
    Declined(ReusedArgList<'a>),
}

/// Launches a kernel that returns no value, if the fast path can.
#[inline(never)]
pub(crate) fn submit_fast<'a>(
    mut args: ReusedArgList<'a>,
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
        return submit_several_calls(args, context, shared, stream, checks);
    }
    let ArgList { words, tensors, .. } = &mut *args;
    let (Some(words), Some(tensors)) = (words.inline_mut(), tensors.inline_items()) else {
        return FastPath::Declined(args);
    };
    let mut config = LaunchConfig { grid_dim: [0; 3], block_dim: [0; 3], shared_bytes: 0 };
    let entry = context.launch_cache.find(stream.stream.id(), checks, AcceptedForms::Narrow, words);
    match entry.and_then(|entry| entry.single_call(&mut config)) {
        Some(function) => {
            let launch = SingleCall { context, function, config: &config, words, tensors };
            let launched = launch.submit(shared, stream, Forms::NARROW);
            args.give_back();
            launched
        }
        None => submit_other_forms(args, context, shared, stream, checks),
    }
}

/// [`submit_fast`] where the forms are not [`Forms::NARROW`].
#[inline(never)]
fn submit_other_forms<'a>(
    mut args: ReusedArgList<'a>,
    context: &KernelContext,
    shared: &ProgramShared,
    stream: &StreamState,
    checks: Checks,
) -> FastPath<'a> {
    let ArgList { words, configs, tensors, .. } = &mut *args;
    let entry = context.launch_cache.find(stream.stream.id(), checks, AcceptedForms::Others, words);
    let Some(entry) = entry else {
        return submit_from_history(args, context, shared, stream, checks);
    };
    let function = entry.function();
    let Some(LaunchDecision { forms, first: Some(config) }) = entry.read(words, configs) else {
        words.truncate(context.launch_cache.argument_words());
        return FastPath::Declined(args);
    };
    let launch = SingleCall { context, function, config: &config, words, tensors };
    let launched = launch.submit(shared, stream, forms);
    args.give_back();
    launched
}

/// [`submit_fast`] for inputs that are not in the launch cache, but in the launch history.
#[inline(never)]
fn submit_from_history<'a>(
    mut args: ReusedArgList<'a>,
    context: &KernelContext,
    shared: &ProgramShared,
    stream: &StreamState,
    checks: Checks,
) -> FastPath<'a> {
    let ArgList { words, tensors, .. } = &mut *args;
    let Some(decided) = context.find_in_history(stream.stream.id(), checks, words) else {
        return FastPath::Declined(args);
    };
    let (Some(function), Some(Some(config))) = (decided.function, decided.configs.first()) else {
        return FastPath::Declined(args);
    };
    decided.push_interiors(words);
    let launch = SingleCall { context, function, config, words, tensors };
    let launched = launch.submit(shared, stream, decided.forms);
    args.give_back();
    launched
}

/// [`submit_fast`] for a kernel whose launch is several driver calls.
#[inline(never)]
fn submit_several_calls<'a>(
    mut args: ReusedArgList<'a>,
    context: &KernelContext,
    shared: &ProgramShared,
    stream: &StreamState,
    checks: Checks,
) -> FastPath<'a> {
    let ArgList { words, configs, tensors, .. } = &mut *args;
    let entry = context.launch_cache.find(stream.stream.id(), checks, AcceptedForms::All, words);
    let decision = entry.and_then(|entry| entry.read(words, configs));
    let forms = match decision {
        Some(LaunchDecision { forms, .. }) => Some(forms),
        None => context.find_in_history(stream.stream.id(), checks, words).map(|decided| {
            configs.clear();
            configs.extend_from_slice(&decided.configs);
            decided.push_interiors(words);
            decided.forms
        }),
    };
    let loaded = forms.and_then(|forms| Some((forms, context.images.get(forms)?)));
    let Some((forms, loaded)) = loaded else {
        words.truncate(context.launch_cache.argument_words());
        return FastPath::Declined(args);
    };
    // SAFETY: only calls of this device are made, and no user code runs: devices that run native functions have no
    // contexts.
    let current = match unsafe { shared.context.make_current() } {
        Ok(current) => current,
        Err(error) => return FastPath::ContextError(Box::new(error)),
    };
    let number = shared.launches.fetch_add(1, Relaxed);
    let words = &mut words[..];
    write_head(words, stream.record_address(), 0, context.launch_word(forms, number));
    let (params, tensors) = (&*context.tensor_params, &tensors[..]);
    let guard = StampGuard::new(params, tensors, stream, ());
    let enqueued = context.plan.enqueue(stream.target(shared), loaded, None, configs, words);
    guard.finish();
    drop(current);
    args.give_back();
    match enqueued {
        Err(failure) => FastPath::LaunchFailure(Box::new(failure)),
        Ok(()) if context.check_after_launch => FastPath::CheckErrors,
        Ok(()) => FastPath::Launched,
    }
}

/// The kernel's context, where the launch is eligible for the fast path. The only place that decides this; what depends
/// on the kernel alone is [`KernelContext::fast_path`].
#[inline(always)]
fn eligible<'a>(
    args: &ArgList<'_>,
    def: &KernelDef,
    program: &'a Arc<ProgramInner>,
    stream: &StreamState,
) -> Option<&'a KernelContext> {
    let shared = &*program.shared;
    let context = shared.launcher.get(def.assigned_id()?)?;
    let eligible = context.fast_path != FastPathKind::None
        && is_direct(args, program)
        && shared.context.is_ordinary()
        && !stream.has_report()
        && !stream.is_captured();
    if !eligible {
        return None;
    }
    let (codes, tensors) = (args.codes.inline_items()?, args.tensors.inline_items()?);
    let accepted = context.matches_exactly(codes) || context.accepts(codes);
    (accepted && !shared.host_exclusion.applies_to(|| any_shared(tensors))).then_some(context)
}

/// Whether a launch runs now and on the tensors as they are: none is a host array, of another program or moved out of
/// its slice, and the thread is in no capture and no region.
#[inline(always)]
pub(super) fn is_direct(args: &ArgList<'_>, program: &Arc<ProgramInner>) -> bool {
    args.all_on_device(program) && !is_observed()
}

/// A launch that is one driver call.
struct SingleCall<'a, 'b> {
    context: &'b KernelContext,
    function: FunctionHandle,
    config: &'b LaunchConfig,
    words: &'b mut [u64],
    tensors: &'b [TensorArg<'a>],
}

impl SingleCall<'_, '_> {
    #[inline(always)]
    fn submit(
        self,
        shared: &ProgramShared,
        stream: &StreamState,
        forms: Forms,
    ) -> FastPath<'static> {
        let Self { context, function, config, words, tensors } = self;
        let number = shared.launches.fetch_add(1, Relaxed);
        write_head(words, stream.record_address(), 0, context.launch_word(forms, number));
        let guard = StampGuard::new(&context.tensor_params, tensors, stream, ());
        // SAFETY: as in `Enqueue::launch`.
        let launched = unsafe {
            let device = shared.context.direct_device();
            device.launch(function, config, words, stream.stream.handle())
        };
        guard.finish();
        match launched {
            Err(error) => launch_failure(shared.context.failed(error)),
            Ok(()) if context.check_after_launch => FastPath::CheckErrors,
            Ok(()) => FastPath::Launched,
        }
    }
}

#[cold]
#[inline(never)]
fn launch_failure(source: rt::Error) -> FastPath<'static> {
    FastPath::LaunchFailure(Box::new(LaunchFailure { started: false, source }))
}
