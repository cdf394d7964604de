//! Kernel contexts: what the launcher keeps of a kernel between launches.

use std::{cell::Cell, sync::OnceLock};

use parking_lot::{Mutex, ReentrantMutex};
use quadrants_ir::{
    Offloaded, ParamKind, SiteKind,
    abi::{self, Form, Passing},
    launch_analysis::LaunchAnalysis,
};
use quadrants_rhi::ImageKind;

use super::{
    arguments::Words,
    block_head::{launch_word, number_of},
    launch_cache::{LaunchCache, LaunchDecision},
    param_code::ParamCode,
    plan::{LaunchShapes, Plan},
    prepared::Retention,
    submit::Checks,
};
use crate::{
    Error, Result,
    body::NativeBody,
    kernel::{
        dump,
        image::{LoadedForm, native_image},
        kernel_def::KernelDef,
    },
    program::ProgramShared,
    stream::StreamState,
};

/// A parameter that is a tensor or a component of one, and how the kernel uses it.
#[derive(Debug)]
pub(crate) struct TensorParamUse {
    /// Its index among all parameters.
    pub(crate) index: usize,
    pub(crate) writable: bool,
    /// Whether the tasks write it; none where they do not use it.
    pub(crate) writes: Option<bool>,
}

impl TensorParamUse {
    /// The use of a parameter that is written.
    pub(crate) fn written(index: usize) -> Self {
        Self { index, writable: true, writes: Some(true) }
    }
}

/// What the launcher keeps of one kernel.
pub(crate) struct KernelContext {
    pub(crate) kernel: Offloaded,
    pub(crate) host: LaunchAnalysis,
    pub(super) param_codes: Box<[ParamCode]>,
    pub(super) passing: Passing,
    /// The bytes of temporaries that each launch needs.
    pub(super) temporary_bytes: usize,
    /// The launch word of launch number 0.
    kernel_word: u64,
    /// For each form, the bits of the launch number that the launch word holds: none where nothing is reported.
    number_masks: [u64; 2],
    /// Whether launches can take the fast path.
    pub(super) fast_path: FastPathKind,
    // Before the forms: its graphs use their functions.
    pub(crate) plan: Plan,
    pub(super) native: Option<NativeBody>,
    pub(super) tensor_params: Box<[TensorParamUse]>,
    /// Indexed by [`Form`].
    pub(super) forms: [FormSlot; 2],
    /// Whether a launch may report errors that are complete when it returns.
    pub(super) check_after_launch: bool,
    pub(super) retention: Mutex<Retention>,
    pub(super) launch_cache: LaunchCache,
}

/// Whether the launches of a kernel can take the fast path: a property of the kernel and of the program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum FastPathKind {
    /// Never: a launch needs device memory of its own, or the program tracks hazards.
    None,
    /// A launch is one driver call, which makes the context current by itself.
    SingleCall,
    /// A launch is several driver calls.
    SeveralCalls,
}

/// A form of a kernel, loaded when it is first needed.
#[derive(Default)]
pub(super) struct FormSlot {
    pub(super) loaded: OnceLock<LoadedForm>,
    /// Held while the form is loaded, so that it is loaded once; true while its thread loads.
    loading: ReentrantMutex<Cell<bool>>,
}

impl KernelContext {
    pub(super) fn new(shared: &ProgramShared, def: &KernelDef, id: u32) -> Result<Self> {
        let failed = |source| Error::Build { kernel: def.name().to_owned(), source };
        let ir = def.ir().map_err(failed)?;
        let kernel = quadrants_ir::offload(&ir).map_err(|e| failed(e.into()))?;
        let kernel = quadrants_ir::simplify(&kernel);
        dump::ir(&ir, &kernel);
        let capabilities = shared.context.device().capabilities();
        let image = capabilities.image;
        // A native body gets the argument block itself, and needs no argument buffer.
        let words = abi::block_words(&kernel, Form::Checked);
        let by_value = image == ImageKind::Native || 8 * words <= shared.argument_limit;
        let (host, plan) = (LaunchAnalysis::new(&kernel), Plan::new(&kernel, image));
        let temporary_bytes = abi::scratch_bytes(&kernel);
        // The proven form reports everything but tensor indices. Native bodies also report the checks of rustc.
        let reports_when_proven = image == ImageKind::Native
            || kernel.sites.iter().any(|site| !matches!(site.kind, SiteKind::Index(_)));
        let mut number_masks = [number_of(u64::MAX); 2];
        if !reports_when_proven {
            number_masks[Form::Proven as usize] = 0;
        }
        let fast_path = if !by_value || temporary_bytes != 0 || shared.hazards.is_some() {
            FastPathKind::None
        } else if plan.is_one_call() {
            FastPathKind::SingleCall
        } else {
            FastPathKind::SeveralCalls
        };
        Ok(Self {
            launch_cache: LaunchCache::new(&kernel, &host, &plan),
            host,
            param_codes: kernel.params.iter().map(|param| ParamCode::of(param.kind)).collect(),
            temporary_bytes,
            kernel_word: launch_word(id, 0),
            number_masks,
            fast_path,
            plan,
            passing: if by_value { Passing::Value } else { Passing::Buffer },
            native: def.native().copied(),
            forms: Default::default(),
            retention: Mutex::default(),
            tensor_params: tensor_params(&kernel),
            // The launch runs on this thread, or waits for the kernel's value.
            check_after_launch: !kernel.sites.is_empty()
                && (!capabilities.asynchronous || kernel.result.is_some()),
            kernel,
        })
    }

    /// [`LaunchCache::decide`] for a launch on `stream`.
    #[inline(always)]
    pub(super) fn decide(
        &self,
        shared: &ProgramShared,
        stream: &StreamState,
        checks: Checks,
        words: &mut Words,
        shapes: &mut LaunchShapes,
    ) -> Result<LaunchDecision> {
        self.launch_cache.decide(stream.stream.id(), shared, self, checks, words, shapes)
    }

    /// Whether a launch is one driver call without device memory of its own. The call makes the context current by
    /// itself.
    #[inline]
    pub(super) fn is_single_call(&self) -> bool {
        self.plan.is_one_call() && self.temporary_bytes == 0 && self.passing == Passing::Value
    }

    /// The launch word of a launch. It has no launch number in a form that reports nothing: so launches with equal
    /// arguments have equal argument blocks, which a graph need not set again.
    #[inline(always)]
    pub(super) fn launch_word(&self, form: Form, number: u64) -> u64 {
        self.kernel_word | number & self.number_masks[form as usize]
    }

    /// Whether the kernel accepts arguments with these codes.
    #[inline(always)]
    pub(super) fn accepts(&self, codes: &[ParamCode]) -> bool {
        codes.len() == self.param_codes.len()
            && codes.iter().zip(&self.param_codes).all(|(arg, param)| arg.accepted_by(*param))
    }

    /// Whether the arguments have the codes of the parameters: cheaper than [`accepts`](Self::accepts), and true for
    /// most launches that it accepts.
    #[inline(always)]
    pub(super) fn matches_exactly(&self, codes: &[ParamCode]) -> bool {
        codes.len() == self.param_codes.len()
            && codes.iter().zip(&self.param_codes).all(|(arg, param)| arg == param)
    }

    /// Whether a form is loaded.
    pub(super) fn is_loaded(&self, form: Form) -> bool {
        self.forms[form as usize].loaded.get().is_some()
    }

    /// The loaded form. Compiles and loads it where that is not done yet.
    #[inline(always)]
    pub(crate) fn loaded(&self, shared: &ProgramShared, form: Form) -> Result<&LoadedForm> {
        let slot = &self.forms[form as usize];
        match slot.loaded.get() {
            Some(loaded) => Ok(loaded),
            None => self.load(shared, form, slot),
        }
    }

    #[cold]
    fn load<'a>(
        &self,
        shared: &ProgramShared,
        form: Form,
        slot: &'a FormSlot,
    ) -> Result<&'a LoadedForm> {
        let loading = slot.loading.lock();
        if let Some(loaded) = slot.loaded.get() {
            return Ok(loaded);
        }
        // The thread has the lock already: a compiler launches the kernel that it compiles.
        if loading.replace(true) {
            return Err(Error::NestedCompilation { kernel: self.kernel.name.clone() });
        }
        let loaded = self.load_now(shared, form);
        loading.set(false);
        let loaded = loaded?;
        Ok(slot.loaded.get_or_init(|| loaded))
    }

    fn load_now(&self, shared: &ProgramShared, form: Form) -> Result<LoadedForm> {
        if shared.context.device().capabilities().image == ImageKind::Native {
            let image = native_image(&self.kernel, self.native.as_ref(), form);
            LoadedForm::load(&shared.context, &self.kernel.name, image, &["body".to_owned()])
        } else {
            LoadedForm::compile(shared, &self.kernel, form, self.passing)
        }
    }
}

/// The tensor parameters, and how all tasks together use them.
fn tensor_params(kernel: &Offloaded) -> Box<[TensorParamUse]> {
    let mut writes = vec![None; kernel.params.len()];
    for access in kernel.tasks.iter().flat_map(|task| &task.accesses) {
        let writes = &mut writes[access.param.index()];
        *writes = Some(writes.unwrap_or(false) || access.write || access.atomic);
    }
    let params = kernel.params.iter().zip(writes).enumerate();
    params
        .filter(|(_, (param, _))| !matches!(param.kind, ParamKind::Scalar(_)))
        .map(|(index, (param, writes))| TensorParamUse {
            index,
            writable: param.kind.is_writable(),
            writes,
        })
        .collect()
}
