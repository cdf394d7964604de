//! The kernel launcher: the table of kernel contexts, and the slow path's entry points.
//!
//! A launch looks up or makes the kernel's context, reports what earlier kernels of the stream reported, decides (race
//! check, bounds proofs, form, launch shapes), fills the argument block, enqueues the launch plan, and stamps the
//! tensors. No lock is held across a driver call.

use std::{fmt, sync::Arc};

use parking_lot::Mutex;
use quadrants_ir::{
    Offloaded, ScalarType,
    abi::{ErrorRecord, Form},
};
use quadrants_rhi::{ImageKind, Severity};

use super::{
    arguments::{ArgList, TensorArg},
    block_head::{COPY_KERNEL_ID, kernel_of, number_of},
    context::KernelContext,
    decode::decode_cause,
    errors::{argument_error, launch_error, result_error},
    fast_path::{FastPath, is_direct},
    plan::LaunchFailure,
    submit::{LaunchTarget, Submission},
};
use crate::{
    Error, KernelError, KernelErrorCause, Result, capture,
    kernel::{kernel_def::KernelDef, stable_table::StableTable},
    program::{ProgramInner, ProgramShared},
    tensor::host_array::launch_staged,
};

/// The kernels that a program has built, and how it launches them. [`Program::launcher`](crate::Program::launcher)
/// gives it.
///
/// A kernel is built when it is first launched or [prepared](crate::Launch::prepare), and stays until it is dropped. On
/// devices that take compiled images, each of its two forms is compiled and loaded when a launch first needs it.
pub struct KernelLauncher {
    /// By the kernel's number.
    pub(super) contexts: StableTable<KernelContext>,
    /// Held while a kernel is removed, and by readers of the table that are neither launches nor hold the kernel.
    removal: Mutex<()>,
}

impl KernelLauncher {
    pub(crate) fn new() -> Self {
        Self { contexts: StableTable::new(), removal: Mutex::new(()) }
    }

    /// The number of kernels that were built and not dropped since.
    #[must_use]
    pub fn len(&self) -> usize {
        let _removal = self.removal.lock();
        self.contexts.iter().count()
    }

    /// Whether no kernel is built.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The names of these kernels. Kernels in different modules, and the instances of a generic kernel, can have the
    /// same name.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        let _removal = self.removal.lock();
        self.contexts.iter().map(|context| context.kernel.name.clone()).collect()
    }

    /// Whether a kernel with this name is loaded on the device, in at least one form.
    #[must_use]
    pub fn is_loaded(&self, name: &str) -> bool {
        let _removal = self.removal.lock();
        self.contexts
            .iter()
            .filter(|context| context.kernel.name == name)
            .any(|context| context.is_loaded(Form::Proven) || context.is_loaded(Form::Checked))
    }

    /// Whether the kernel with this number is built.
    pub(crate) fn contains(&self, id: u32) -> bool {
        self.contexts.get(id).is_some()
    }

    /// Unloads a kernel whose owner is dropped. Waits for its launches. Returns false where the kernel must stay: a
    /// graph keeps it, or the wait failed.
    ///
    /// # Safety
    /// The kernel is not launched any more.
    pub(crate) unsafe fn unload(&self, shared: &ProgramShared, id: u32) -> bool {
        if self.contexts.get(id).is_some_and(|context| !context.retention.lock().drop_owner()) {
            return false;
        }
        if let Err(error) = shared.synchronize() {
            let lost = error.severity() == Severity::ContextLost;
            shared.defer(error);
            if !lost {
                return false;
            }
        }
        let removed = shared.records.unload_kernel(
            |record| kernel_of(record.launch) == id,
            |record| self.decode(record),
            || {
                let _removal = self.removal.lock();
                // SAFETY: references are held by launches, which are complete, by `decode`, which is called under the
                // lock of the records, and by readers that hold `removal`.
                unsafe { self.contexts.remove(id) }
            },
        );
        // Outside of the locks: the drop waits for the device and unloads modules.
        drop(removed);
        true
    }

    /// Copies of the kernels that are built.
    pub(crate) fn kernels(&self) -> Vec<Offloaded> {
        let _removal = self.removal.lock();
        self.contexts.iter().map(|context| context.kernel.clone()).collect()
    }

    /// The number and the context of a kernel. Builds it where that is not done yet.
    #[inline]
    pub(super) fn context_of(
        &self,
        shared: &ProgramShared,
        def: &KernelDef,
    ) -> Result<(u32, &KernelContext)> {
        shared.context.check()?;
        let id = def.id()?;
        let make = || KernelContext::new(shared, def, id);
        Ok((id, self.contexts.get_or_try_insert(id, make)?))
    }

    /// Builds a kernel, and loads both forms where the device takes compiled images.
    pub(crate) fn prepare(&self, shared: &ProgramShared, def: &KernelDef) -> Result<()> {
        let (_, context) = self.context_of(shared, def)?;
        if shared.context.device().capabilities().image != ImageKind::Native {
            context.loaded(shared, Form::Proven)?;
            context.loaded(shared, Form::Checked)?;
        }
        Ok(())
    }

    /// Finishes a launch after the fast path: returns its errors, or makes the launch where it declined. Returns the
    /// word of the kernel's value, if it has one. The caller expects a value of the type `requested`.
    #[inline(never)]
    pub(crate) fn submit_slow(
        &self,
        program: &Arc<ProgramInner>,
        def: &KernelDef,
        fast_path: FastPath<'_>,
        requested: Option<ScalarType>,
        target: LaunchTarget<'_>,
    ) -> Result<Option<u64>> {
        let shared = &*program.shared;
        let mut args = match fast_path {
            FastPath::Launched => return Ok(None),
            FastPath::CheckErrors => return target.stream.check().map(|()| None),
            FastPath::LaunchFailure(failure) => {
                let context = def.assigned_id().and_then(|id| self.contexts.get(id));
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
        let launched = if is_direct(&args, program) {
            self.launch(shared, def, &mut args, requested, target)
        } else {
            self.capture_or_stage(program, def, &args, requested, target)
        };
        args.give_back();
        launched
    }

    /// Launches a kernel on arguments in the program's memory. Returns the word of its value, if it has one.
    pub(crate) fn launch(
        &self,
        shared: &ProgramShared,
        def: &KernelDef,
        args: &mut ArgList<'_>,
        requested: Option<ScalarType>,
        target: LaunchTarget<'_>,
    ) -> Result<Option<u64>> {
        let (id, context) = self.context_of(shared, def)?;
        if requested != context.kernel.result {
            return Err(result_error(&context.kernel, requested));
        }
        if !context.accepts(&args.codes) {
            return Err(argument_error(&context.kernel, args));
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
        Ok(None)
    }

    /// A launch that is not [direct](is_direct): refuses tensors that cannot be used here, captures the launch where
    /// the thread captures the program, and else launches with copies of the host arrays.
    #[cold]
    fn capture_or_stage(
        &self,
        program: &Arc<ProgramInner>,
        def: &KernelDef,
        args: &ArgList<'_>,
        requested: Option<ScalarType>,
        target: LaunchTarget<'_>,
    ) -> Result<Option<u64>> {
        for device_tensor in args.tensors.iter().filter_map(TensorArg::device_tensor) {
            if !Arc::ptr_eq(&device_tensor.program, program) {
                return Err(Error::OtherProgram { what: "a tensor argument" });
            }
            device_tensor.required_address.check()?;
        }
        if capture::is_active()
            && let Some(captured) = capture::launch(program, def, args, requested.is_some(), target)
        {
            return captured.map(|()| None);
        }
        let launch =
            |args: &mut ArgList<'_>| self.launch(&program.shared, def, args, requested, target);
        launch_staged(program, args, launch)
    }

    /// The names of a kernel and of one of its parameters, by their numbers.
    pub(crate) fn kernel_and_parameter_names(&self, id: u32, parameter: usize) -> (String, String) {
        if id == COPY_KERNEL_ID {
            return ("Tensor::copy_from".to_owned(), "self".to_owned());
        }
        let kernel = self.contexts.get(id).map(|context| &context.kernel);
        let name = kernel.map(|kernel| kernel.name.clone());
        let parameter = kernel.and_then(|kernel| kernel.params.get(parameter));
        (name.unwrap_or_default(), parameter.map(|param| param.name.clone()).unwrap_or_default())
    }

    /// The error that an error record holds. Only called under the lock of the records, so that its kernel is not
    /// removed meanwhile.
    pub(crate) fn decode(&self, record: &ErrorRecord) -> KernelError {
        let launch = number_of(record.launch);
        match self.contexts.get(kernel_of(record.launch)) {
            Some(context) => {
                let kernel = &context.kernel;
                let (cause, site) = decode_cause(kernel, record);
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

impl fmt::Debug for KernelLauncher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KernelLauncher").field("kernels", &self.names()).finish()
    }
}

#[cfg(test)]
mod tests {
    use quadrants_ir::{Arena, Kernel as Ir, Options};

    use crate::{Kernel, Opened, Program, Result};

    fn empty_kernel(name: &str) -> Ir {
        Ir {
            name: name.to_owned(),
            file: "launcher.rs".to_owned(),
            params: Vec::new(),
            locals: Arena::new(),
            exprs: Arena::new(),
            blocks: Arena::new(),
            sites: Vec::new(),
            body: Vec::new(),
            result: None,
            options: Options::default(),
        }
    }

    #[test]
    fn kernels_are_listed_from_their_build_to_their_drop() -> Result<()> {
        let device = quadrants_rhi_cpu::driver()?.open(0)?;
        let program = Program::open(Opened { device, compiler: None })?;
        let launcher = program.launcher();
        assert!(launcher.is_empty());
        let kernel = Kernel::new(empty_kernel("step"))?;
        kernel.call::<()>().prepare(&program)?;
        assert_eq!((launcher.len(), launcher.names()), (1, vec!["step".to_owned()]));
        assert!(!launcher.is_loaded("step"), "the CPU loads a form when a launch needs it");
        kernel.call::<()>().launch_on(program.default_stream())?;
        assert!(launcher.is_loaded("step") && !launcher.is_loaded("other"));
        drop(kernel);
        assert!(launcher.is_empty());
        Ok(())
    }
}
