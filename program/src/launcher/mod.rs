//! The kernel launcher: the table of the kernel contexts of a program.

pub(crate) mod argument_head;
pub(crate) mod autotune;
mod decode;
pub(crate) mod error_record;
pub(crate) mod errors;
pub(crate) mod explain;
pub(crate) mod fork_join;
pub(crate) mod grid;
mod images;
pub(crate) mod inline_list;
pub(crate) mod kernel_context;
pub(crate) mod launch_cache;
mod launch_history;
pub(crate) mod launch_memory;
pub(crate) mod messages;
pub(crate) mod operation_names;
pub(crate) mod param_code;
pub(crate) mod plan;
pub(crate) mod region_graph;
mod report_slot;
mod seqlock;

use std::fmt;

use parking_lot::Mutex;
use quadrants_ir::{
    Offloaded,
    abi::{ErrorRecord, Forms},
};
use quadrants_rhi::ImageKind;

use self::{
    argument_head::{COPY_KERNEL_ID, kernel_of, number_of},
    decode::decode_cause,
    kernel_context::KernelContext,
    operation_names::OperationNames,
};
use crate::{
    KernelError, KernelErrorCause, Result,
    body::location_of,
    kernel::{kernel_def::KernelDef, loader::KernelLoader, stable_table::StableTable},
};

/// The kernels that a program has built, and how it launches them. [`Program::launcher`](crate::Program::launcher)
/// gives it.
///
/// A kernel is built when it is first launched or [prepared](crate::Launch::prepare), and stays until it is dropped. On
/// devices that take compiled images, it is compiled and loaded when a launch first needs it: in one image for launches
/// whose accesses are all proven, in one that checks all accesses, and in a few for launches that prove some loops and
/// check others.
pub struct KernelLauncher {
    /// By the kernel's number.
    pub(super) contexts: StableTable<KernelContext>,
    /// Held while a kernel is removed, and by readers of the table that are neither launches nor hold the kernel.
    pub(super) removal: Mutex<()>,
    fast_path: bool,
    autotune: bool,
}

impl KernelLauncher {
    /// An empty table. `fast_path` is whether launches may take the fast path, and `autotune` whether they are tuned.
    pub(crate) fn new(fast_path: bool, autotune: bool) -> Self {
        Self { contexts: StableTable::new(), removal: Mutex::new(()), fast_path, autotune }
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

    /// Whether a kernel with this name is loaded on the device, in any form.
    #[must_use]
    pub fn is_loaded(&self, name: &str) -> bool {
        let _removal = self.removal.lock();
        self.contexts
            .iter()
            .filter(|context| context.kernel.name == name)
            .any(|context| context.images.any_loaded())
    }

    #[inline]
    pub(crate) fn get(&self, id: u32) -> Option<&KernelContext> {
        self.contexts.get(id)
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
        loader: &KernelLoader,
        def: &KernelDef,
    ) -> Result<(u32, &KernelContext)> {
        loader.context.check()?;
        let id = def.id()?;
        let make = || KernelContext::new(loader, def, id, self.fast_path, self.autotune);
        Ok((id, self.contexts.get_or_try_insert(id, make)?))
    }

    /// Builds a kernel, and loads it in the forms that most launches need where the device takes compiled images.
    pub(crate) fn prepare(&self, loader: &KernelLoader, def: &KernelDef) -> Result<()> {
        let (_, context) = self.context_of(loader, def)?;
        if loader.image_kind() != ImageKind::Native {
            context.loaded(loader, Forms::NARROW)?;
            context.loaded(loader, Forms::CHECKED)?;
        }
        Ok(())
    }

    /// The names of a kernel or an operation, and of one of its parameters, by their numbers.
    pub(crate) fn kernel_and_parameter_names(
        &self,
        operations: &OperationNames,
        id: u32,
        parameter: usize,
    ) -> (String, String) {
        if id == COPY_KERNEL_ID {
            return ("Tensor::write".to_owned(), "self".to_owned());
        }
        if let Some(names) = operations.names(id, parameter) {
            return names;
        }
        let kernel = self.get(id).map(|context| &context.kernel);
        let name = kernel.map(|kernel| kernel.name.clone());
        let parameter = kernel.and_then(|kernel| kernel.params.get(parameter));
        (name.unwrap_or_default(), parameter.map(|param| param.name.clone()).unwrap_or_default())
    }

    /// The error that an error record holds. Only called under the lock of the records, so that its kernel is not
    /// removed meanwhile.
    pub(crate) fn decode(&self, record: &ErrorRecord) -> KernelError {
        let launch = number_of(record.launch);
        match self.get(kernel_of(record.launch)) {
            Some(context) => {
                let kernel = &context.kernel;
                let (cause, site) = decode_cause(kernel, record);
                let file = site.and_then(|s| s.file.as_ref()).unwrap_or(&kernel.file).clone();
                let of_body = || location_of(record).unwrap_or_default();
                let (line, column) = site.map_or_else(of_body, |s| (s.line, s.column));
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
            results: Vec::new(),
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
