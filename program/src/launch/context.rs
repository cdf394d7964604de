//! The context of a kernel: what the launcher keeps of it between launches.

use std::sync::OnceLock;

use parking_lot::Mutex;
use quadrants_ir::{
    Offloaded, ParamKind, SiteKind,
    abi::{self, Form, Passing},
    launch_analysis::HostPlan,
};
use quadrants_rhi::ImageKind;

use super::{
    arguments::{Code, Words},
    launch_cache::{LaunchCache, LaunchDecision},
    block_head::{launch_word, number_of},
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

/// A parameter that is a tensor, or a component of one.
#[derive(Debug)]
pub(crate) struct TensorParam {
    /// Its number among all.
    pub(crate) number: usize,
    pub(crate) writable: bool,
    /// Whether the tasks write it; none where they do not use it.
    pub(crate) touch: Option<bool>,
}

impl TensorParam {
    /// One that is written.
    pub(crate) fn written(number: usize) -> Self {
        Self { number, writable: true, touch: Some(true) }
    }
}

/// What the launcher keeps of one kernel.
pub(crate) struct KernelContext {
    pub(crate) kernel: Offloaded,
    pub(crate) host: HostPlan,
    /// What the parameters are.
    pub(super) codes: Box<[Code]>,
    pub(super) passing: Passing,
    /// Bytes of each launch's own memory.
    pub(super) scratch: usize,
    /// The launch word of launch number 0.
    kernel_word: u64,
    /// For each form, the bits of the launch number that the launch word holds: none where nothing is reported.
    number_masks: [u64; 2],
    /// Whether launches can take the fast path, and which.
    pub(super) fast_path: FastPathKind,
    // Before the forms: its graphs use their functions.
    pub(crate) plan: Plan,
    pub(super) native: Option<NativeBody>,
    /// Its tensor parameters.
    pub(super) tensors: Box<[TensorParam]>,
    pub(super) forms: [FormSlot; 2],
    /// Whether what it may report is there when the launch returns, and it may report something.
    pub(super) reports_at_once: bool,
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

#[derive(Default)]
pub(super) struct FormSlot {
    pub(super) loaded: OnceLock<LoadedForm>,
    pub(super) loading: Mutex<()>,
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
        // A native body is called with the words themselves: there is nothing to pass by buffer.
        let words = abi::block_words(&kernel, Form::Checked);
        let by_value = image == ImageKind::Native || 8 * words <= shared.argument_limit;
        let (host, plan) = (HostPlan::new(&kernel), Plan::new(&kernel, image));
        let scratch = abi::scratch_bytes(&kernel);
        // Native bodies also report what rustc checks by itself.
        let reports_when_proven = image == ImageKind::Native
            || kernel.sites.iter().any(|site| !matches!(site.kind, SiteKind::Index(_)));
        let fast_path = if !by_value || scratch != 0 || shared.hazards.is_some() {
            FastPathKind::None
        } else if plan.is_one_call() {
            FastPathKind::SingleCall
        } else {
            FastPathKind::SeveralCalls
        };
        Ok(Self {
            launch_cache: LaunchCache::new(&kernel, &host, &plan),
            host,
            codes: kernel.params.iter().map(|param| Code::of(param.kind)).collect(),
            scratch,
            kernel_word: launch_word(id, 0),
            number_masks: {
                let all = number_of(u64::MAX);
                let mut masks = [all; 2];
                masks[Form::Proven as usize] = if reports_when_proven { all } else { 0 };
                masks
            },
            fast_path,
            plan,
            passing: if by_value { Passing::Value } else { Passing::Buffer },
            native: def.native().copied(),
            forms: Default::default(),
            retention: Mutex::default(),
            tensors: tensors(&kernel),
            // Where nothing runs beside the host, or it waits for a value.
            reports_at_once: !kernel.sites.is_empty()
                && (!capabilities.asynchronous || kernel.result.is_some()),
            kernel,
        })
    }

    /// As [`LaunchCache::decide`].
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

    /// Whether a launch needs device memory of its own: temporaries, or a buffer for its arguments.
    #[inline]
    pub(super) fn needs_memory(&self) -> bool {
        self.scratch != 0 || self.passing == Passing::Buffer
    }

    /// Whether a launch is one driver call, which makes the context current by itself.
    #[inline]
    pub(super) fn is_single_call(&self) -> bool {
        self.plan.is_one_call() && !self.needs_memory()
    }

    /// The launch word of a launch. It has no launch number in a form that reports nothing: so launches with equal
    /// arguments have equal argument blocks, which a graph need not set again.
    #[inline(always)]
    pub(super) fn launch_word(&self, form: Form, number: u64) -> u64 {
        self.kernel_word | number & self.number_masks[form as usize]
    }

    /// Whether these are its arguments.
    #[inline(always)]
    pub(super) fn takes(&self, codes: &[Code]) -> bool {
        codes.len() == self.codes.len()
            && codes.iter().zip(&self.codes).all(|(given, param)| given.fits(*param))
    }

    /// Whether these are its arguments, and none may be written that it only reads; most lists are like that.
    #[inline(always)]
    pub(super) fn is_for(&self, codes: &[Code]) -> bool {
        codes.len() == self.codes.len()
            && codes.iter().zip(&self.codes).all(|(given, param)| given == param)
    }

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
        let _loading = slot.loading.lock();
        if let Some(loaded) = slot.loaded.get() {
            return Ok(loaded);
        }
        let loaded = if shared.context.device().capabilities().image == ImageKind::Native {
            let image = native_image(&self.kernel, self.native.as_ref(), form);
            LoadedForm::load(shared, &self.kernel.name, image, &["body".to_owned()])?
        } else {
            LoadedForm::compile(shared, &self.kernel, form, self.passing)?
        };
        Ok(slot.loaded.get_or_init(|| loaded))
    }
}

/// The tensor parameters, and how the tasks together use them.
fn tensors(kernel: &Offloaded) -> Box<[TensorParam]> {
    let mut touches = vec![None; kernel.params.len()];
    for access in kernel.tasks.iter().flat_map(|task| &task.accesses) {
        let touch = &mut touches[access.param.index()];
        *touch = Some(touch.unwrap_or(false) || access.write || access.atomic);
    }
    let tensors = kernel.params.iter().zip(touches).enumerate();
    tensors
        .filter(|(_, (param, _))| !matches!(param.kind, ParamKind::Scalar(_)))
        .map(|(number, (param, touch))| TensorParam {
            number,
            writable: param.kind.is_writable(),
            touch,
        })
        .collect()
}
