//! The kernel launcher: a context per kernel in an address-stable table, and the entry points of a launch.
//!
//! A launch looks up or makes the context, reports what earlier kernels of the stream reported, lays out the argument
//! block, checks for races, proves the accesses (which chooses the form), enqueues the steps of the plan, and stamps the
//! tensors. No lock is held across a driver call.

use std::sync::Arc;

use quadrants_ir::{
    Offloaded, ScalarType,
    abi::{ErrorRecord, Form},
};
use quadrants_rhi::{ImageKind, Severity};

use super::{
    arguments::{ArgList, TensorArg},
    context::KernelContext,
    errors::{argument_error, launch_error, result_error},
    fast_path::{FastPath, is_direct},
    block_head::{COPY_KERNEL_ID, kernel_of, number_of},
    plan::LaunchFailure,
    submit::{LaunchTarget, Submission},
};
use crate::{
    Error, KernelError, KernelErrorCause, Result, capture,
    kernel::{kernel_def::KernelDef, stable_table::StableTable},
    program::{ProgramInner, ProgramShared},
    tensor::host_array::staged,
};

/// The kernels of a program and the way they are launched.
pub struct KernelLauncher {
    pub(super) contexts: StableTable<KernelContext>,
}

impl KernelLauncher {
    pub(crate) fn new() -> Self {
        Self { contexts: StableTable::new() }
    }

    /// Whether the kernel of that number was launched here.
    pub(crate) fn knows(&self, id: u32) -> bool {
        self.contexts.get(id).is_some()
    }

    /// Lets go of a kernel, and says whether it was possible: its launches must be waited for.
    ///
    /// # Safety
    /// The kernel is launched no more.
    pub(crate) unsafe fn forget(&self, shared: &ProgramShared, id: u32) -> bool {
        if self.contexts.get(id).is_some_and(|context| !context.retention.lock().may_go()) {
            return false;
        }
        if let Err(error) = shared.synchronize() {
            let lost = error.severity() == Severity::ContextLost;
            shared.defer(error);
            if !lost {
                return false;
            }
        }
        let gone = shared.records.forget_kernel(
            |record| kernel_of(record.launch) == id,
            |record| self.decode(record),
            // SAFETY: references are held by launches, which are over, and by `decode`, which is called
            // while records are understood, and so not now.
            || unsafe { self.contexts.remove(id) },
        );
        // Outside of the lock: it waits for the device, and unloads modules.
        drop(gone);
        true
    }

    /// The kernels that were launched or prepared here, and are still there.
    pub(crate) fn kernels(&self, shared: &ProgramShared) -> Vec<Offloaded> {
        // What goes meanwhile may go behind the copies alone.
        shared
            .records
            .while_all_stay(|| self.contexts.iter().map(|context| context.kernel.clone()).collect())
    }

    /// Builds a kernel, and loads it in both forms where the device takes compiled images.
    pub(crate) fn prepare(&self, shared: &ProgramShared, def: &KernelDef) -> Result<()> {
        shared.context.check()?;
        let id = def.id()?;
        let context = self.contexts.get_or_try_make(id, || KernelContext::new(shared, def, id))?;
        if shared.context.device().capabilities().image != ImageKind::Native {
            context.loaded(shared, Form::Proven)?;
            context.loaded(shared, Form::Checked)?;
        }
        Ok(())
    }

    /// Launches a kernel where that is not done yet, and gives the word of its value where it has one.
    #[inline(never)]
    pub(crate) fn submit_slow(
        &self,
        program: &Arc<ProgramInner>,
        def: &KernelDef,
        submit_fast: FastPath<'_>,
        asked: Option<ScalarType>,
        target: LaunchTarget<'_>,
    ) -> Result<Option<u64>> {
        let shared = &*program.shared;
        let mut args = match submit_fast {
            FastPath::Launched => return Ok(None),
            FastPath::Reported => return target.stream.check().map(|()| None),
            FastPath::LaunchFailure(failed) => {
                let context = def.known_id().and_then(|id| self.contexts.get(id));
                return Err(match (context, *failed) {
                    (Some(context), LaunchFailure { started, source }) => {
                        launch_error(&context.kernel, started, source)
                    }
                    (None, LaunchFailure { source, .. }) => source.into(),
                });
            }
            FastPath::ContextError(error) => return Err((*error).into()),
            FastPath::Declined(args) => args,
        };
        let launched = if is_direct(&args, program) {
            self.launch(shared, def, &mut args, asked, target)
        } else {
            self.launch_staged(program, def, &args, asked, target)
        };
        args.give_back();
        launched
    }

    /// Launches a kernel on arguments in the program's memory, and gives the word of its value where it has one.
    pub(crate) fn launch(
        &self,
        shared: &ProgramShared,
        def: &KernelDef,
        args: &mut ArgList<'_>,
        asked: Option<ScalarType>,
        target: LaunchTarget<'_>,
    ) -> Result<Option<u64>> {
        shared.context.check()?;
        let id = def.id()?;
        let context = self.contexts.get_or_try_make(id, || KernelContext::new(shared, def, id))?;
        if asked != context.kernel.result {
            return Err(result_error(&context.kernel, asked));
        }
        if !context.takes(&args.codes) {
            return Err(argument_error(&context.kernel, args));
        }
        let submission = Submission { shared, context, id, target };
        if !context.is_single_call() {
            return submission.with_memory(args);
        }
        target.stream.check()?;
        submission.submit(args, 0)?;
        if context.reports_at_once {
            target.stream.check()?;
        }
        Ok(None)
    }

    /// As [`launch`](Self::launch), where some tensors are arrays of the host, or may not be used here, or where the
    /// thread captures.
    #[cold]
    fn launch_staged(
        &self,
        program: &Arc<ProgramInner>,
        def: &KernelDef,
        args: &ArgList<'_>,
        asked: Option<ScalarType>,
        target: LaunchTarget<'_>,
    ) -> Result<Option<u64>> {
        for core in args.tensors.iter().filter_map(TensorArg::core) {
            if !Arc::ptr_eq(&core.program, program) {
                return Err(Error::OtherProgram { what: "a tensor argument" });
            }
            core.home.check()?;
        }
        if capture::is_on()
            && let Some(captured) = capture::launch(program, def, args, asked.is_some(), target)
        {
            return captured.map(|()| None);
        }
        staged(program, args, |args| self.launch(&program.shared, def, args, asked, target))
    }

    /// The names of a kernel and of its parameter.
    pub(crate) fn names(&self, id: u32, parameter: usize) -> (String, String) {
        if id == COPY_KERNEL_ID {
            return ("Tensor::copy_from".to_owned(), "self".to_owned());
        }
        let kernel = self.contexts.get(id).map(|context| &context.kernel);
        let name = kernel.map(|kernel| kernel.name.clone());
        let parameter = kernel.and_then(|kernel| kernel.params.get(parameter));
        (name.unwrap_or_default(), parameter.map(|param| param.name.clone()).unwrap_or_default())
    }

    /// What a device error record says. Called while records are understood alone, so that its kernel is not
    /// forgotten meanwhile.
    pub(crate) fn decode(&self, record: &ErrorRecord) -> KernelError {
        let launch = number_of(record.launch);
        match self.contexts.get(kernel_of(record.launch)) {
            Some(context) => {
                let kernel = &context.kernel;
                let (cause, site) = KernelErrorCause::decode(kernel, record);
                let file = site.and_then(|s| s.file.as_ref()).unwrap_or(&kernel.file).clone();
                let (line, column) = site.map_or((0, 0), |s| (s.line, s.column));
                KernelError { kernel: kernel.name.clone(), file, line, column, launch, cause }
            }
            None => KernelError {
                kernel: String::new(),
                file: String::new(),
                line: 0,
                column: 0,
                launch,
                cause: KernelErrorCause::Unknown { site: record.site },
            },
        }
    }
}
