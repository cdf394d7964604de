//! The slow path of a launch: launches that the fast path declines.
//!
//! A launch looks up or makes the kernel's context, reports what earlier kernels of the stream reported, decides (race
//! check, bounds proofs, forms, launch configurations), fills the argument block, enqueues the launch plan, and stamps
//! the tensors. No lock is held across a driver call.

use std::sync::Arc;

use quadrants_ir::types::Type;

use super::{
    argument_copies::{copies_strided, launch_with_copies},
    fast_path::{FastPath, is_direct},
    strided::with_strides,
    submit::{ResultWords, Submission},
};
use crate::{
    Result,
    arguments::{ArgList, TensorArg, target::LaunchTarget},
    kernel::kernel_def::KernelDef,
    launcher::{
        errors::{argument_error, launch_error, result_error},
        plan::LaunchFailure,
    },
    state::{ProgramInner, ProgramShared, device_tensor::DeviceTensor},
    thread_state::capture,
};

/// Finishes a launch after the fast path: returns its errors, or makes the launch where it declined. Returns the words
/// of the kernel's value, one per scalar. The caller expects a value of the type `requested`.
#[inline(never)]
pub(crate) fn submit_slow(
    program: &Arc<ProgramInner>,
    def: &KernelDef,
    fast_path: FastPath<'_>,
    requested: Option<Type>,
    target: LaunchTarget<'_>,
) -> Result<ResultWords> {
    let shared = &*program.shared;
    let mut args = match fast_path {
        FastPath::Launched => return Ok(ResultWords::new()),
        FastPath::CheckErrors => return target.stream.check().map(|()| ResultWords::new()),
        FastPath::LaunchFailure(failure) => {
            let context = def.assigned_id().and_then(|id| shared.launcher.get(id));
            return Err(match (context, *failure) {
                (Some(context), LaunchFailure { started, source }) => {
                    launch_error(&context.kernel, started, source)
                }
                (None, LaunchFailure { source, .. }) => source.into(),
            });
        }
        FastPath::ContextError(error) => return Err((*error).into()),
        FastPath::Declined(args) => args,
    };
    target.stream.refuse_captured()?;
    let launched = if is_direct(&args, program) {
        launch(shared, def, &mut args, requested, target)
    } else {
        launch_indirect(program, def, &mut args, requested, target)
    };
    args.give_back();
    launched
}

/// Launches a kernel on arguments in the program's memory. Returns the words of its value.
fn launch(
    shared: &ProgramShared,
    def: &KernelDef,
    args: &mut ArgList<'_>,
    requested: Option<Type>,
    target: LaunchTarget<'_>,
) -> Result<ResultWords> {
    let (id, context) = shared.launcher.context_of(&shared.loader, def)?;
    let types = requested.map_or_else(Vec::new, Type::leaf_types);
    if types != context.kernel.results {
        return Err(result_error(&context.kernel, requested));
    }
    if !context.accepts(&args.codes) {
        return Err(argument_error(&context.kernel, &args.codes));
    }
    if context.prints {
        target.stream.prepare_messages()?;
    }
    let submission = Submission { shared, context, id, target };
    if !context.is_single_call() {
        return submission.submit_with_memory(args);
    }
    target.stream.check()?;
    submission.submit(args, 0)?;
    if context.check_after_launch {
        target.stream.check()?;
    }
    Ok(ResultWords::new())
}

/// A launch that is not [direct](is_direct): refuses tensors that cannot be used here, chooses the kernel's variant for
/// tensors that are not contiguous, captures the launch where the thread captures the program, orders it after the
/// first fills of its tensors, and copies host arrays to the device.
#[cold]
fn launch_indirect(
    program: &Arc<ProgramInner>,
    def: &KernelDef,
    args: &mut ArgList<'_>,
    requested: Option<Type>,
    target: LaunchTarget<'_>,
) -> Result<ResultWords> {
    for device_tensor in args.tensors.iter().filter_map(TensorArg::device_tensor) {
        device_tensor.check_argument_of(program, Some(def.name()))?;
    }
    let mut device_tensors = args.tensors.iter().filter_map(TensorArg::device_tensor);
    let has_strided = device_tensors.any(DeviceTensor::needs_strides);
    let mut has_copies = false;
    let mut of_variant;
    let (def, args) = match (has_strided, copies_strided(&program.shared)) {
        (false, _) => (def, args),
        (true, true) => {
            capture::refuse(&program.shared, "a tensor that is not contiguous, on the CPU")?;
            has_copies = true;
            (def, args)
        }
        (true, false) => {
            let (variant, list) = with_strides(def, args)?;
            of_variant = list;
            (variant, &mut of_variant)
        }
    };
    let captured = capture::with(&program.shared, |recorder| {
        recorder.launch(def, args, requested.is_some(), target)
    });
    if let Some(captured) = captured {
        return captured.map(|()| ResultWords::new());
    }
    let (shared, stream) = (&program.shared, &target.stream.stream);
    for tensor in args.tensors.iter() {
        match tensor.device_tensor() {
            Some(device_tensor) => device_tensor.order_fill_before(stream)?,
            None => has_copies = true,
        }
    }
    if has_copies {
        let launch = |args: &mut ArgList<'_>| launch(shared, def, args, requested, target);
        launch_with_copies(program, args, stream, launch)
    } else {
        launch(shared, def, args, requested, target)
    }
}
