//! Kernel contexts: the data that the launcher keeps for a kernel between launches.

use std::sync::Arc;

use parking_lot::Mutex;
use quadrants_ir::{
    Array, Offloaded, ParamKind, SiteKind,
    abi::{self, Form, Forms, MAX_LOCAL_BYTES, Passing},
    launch_analysis::LaunchAnalysis,
};
use quadrants_rhi::{FunctionHandle, ImageKind, LaunchConfig};
use smallvec::SmallVec;

use super::{
    argument_head::{launch_word, number_of},
    autotune::{Autotuner, Candidate, SearchSpace, SizeClass, Trial, TuningChoice, size_class},
    errors::race_error,
    grid::LaunchConfigs,
    images::Images,
    inline_list::Words,
    launch_cache::{AcceptedForms, CacheableDecision, Checks, LaunchCache, LaunchDecision},
    launch_history::{LaunchHistory, LaunchKey},
    param_code::ParamCode,
    plan::{Plan, TaskSizes},
};
use crate::{
    Error, Result,
    body::NativeBody,
    kernel::{
        dump,
        kernel_def::KernelDef,
        loader::{KernelLoader, LoadedImage, has_free_block_size},
    },
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

pub(crate) struct KernelContext {
    pub(crate) kernel: Offloaded,
    pub(crate) host: LaunchAnalysis,
    pub(crate) param_codes: Box<[ParamCode]>,
    pub(crate) passing: Passing,
    /// The bytes of temporaries that each launch needs.
    pub(crate) temporary_bytes: usize,
    /// The launch word of launch number 0.
    kernel_word: u64,
    /// The bits of the launch number that the launch word holds: for launches whose tasks are all proven, and for
    /// others. Zero if such a launch reports nothing.
    number_masks: [u64; 2],
    pub(crate) fast_path: FastPathKind,
    // Before the images: its graphs use their functions.
    pub(crate) plan: Plan,
    native: Option<NativeBody>,
    pub(crate) tensor_params: Box<[TensorParamUse]>,
    pub(crate) images: Images,
    /// Whether the kernel prints.
    pub(crate) prints: bool,
    /// Whether a launch may report errors that are complete when it returns.
    pub(crate) check_after_launch: bool,
    pub(crate) retention: Mutex<Retention>,
    pub(crate) launch_cache: LaunchCache,
    history: LaunchHistory,
    /// None where the program does not tune, or the kernel cannot be tuned.
    pub(crate) autotuner: Option<Autotuner>,
}

/// Whether the launches of a kernel can take the fast path: a property of the kernel and of the program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum FastPathKind {
    /// Never: a launch needs device memory of its own, the kernel prints, or the program tracks hazards.
    None,
    /// A launch is one driver call, which makes the context current by itself.
    SingleCall,
    SeveralCalls,
}

/// What keeps a kernel loaded: its owner, and the graphs that launch it.
#[derive(Debug, Default)]
pub(crate) struct Retention {
    pub(crate) graphs: usize,
    pub(crate) owner_dropped: bool,
}

impl KernelContext {
    /// Builds a kernel. `fast_path` is whether the program allows the fast path, and `autotune` whether it tunes.
    pub(super) fn new(
        loader: &KernelLoader,
        def: &KernelDef,
        id: u32,
        fast_path: bool,
        autotune: bool,
    ) -> Result<Self> {
        let failed = |source| Error::Build { kernel: def.name().to_owned(), source };
        let ir = def.ir().map_err(failed)?;
        let kernel = quadrants_ir::offload(&ir).map_err(|e| failed(e.into()))?;
        let kernel = quadrants_ir::simplify(&kernel);
        dump::ir(&ir, &kernel);
        let capabilities = loader.context.device().capabilities();
        let image = capabilities.image;
        let (bytes, limit) = (kernel.local_bytes(), MAX_LOCAL_BYTES);
        if image != ImageKind::Native && bytes > limit {
            return Err(Error::LocalMemory { kernel: kernel.name, bytes, limit });
        }
        let passing = loader.passing(&kernel);
        let (host, plan) = (LaunchAnalysis::new(&kernel), Plan::new(&kernel, image));
        let temporary_bytes = abi::temporary_bytes(&kernel);
        // The proven form reports everything but tensor indices. Native bodies also report the checks of rustc.
        let reports_when_proven = image == ImageKind::Native
            || kernel
                .sites
                .iter()
                .any(|site| !matches!(site.kind, SiteKind::Index(Array::Tensor(_))));
        let mut number_masks = [number_of(u64::MAX); 2];
        if !reports_when_proven {
            number_masks[0] = 0;
        }
        let prints = kernel.prints();
        let slow = passing == Passing::Buffer || temporary_bytes != 0 || prints;
        let fast_path = if slow || !fast_path {
            FastPathKind::None
        } else if plan.is_one_call() {
            FastPathKind::SingleCall
        } else {
            FastPathKind::SeveralCalls
        };
        // The order of messages is that of the iterations.
        let can_tune = autotune && !plan.is_native() && !prints;
        Ok(Self {
            autotuner: can_tune.then(Autotuner::default),
            history: LaunchHistory::default(),
            launch_cache: LaunchCache::new(&kernel, &host, plan.shape_count(), plan.is_one_call()),
            host,
            param_codes: kernel.params.iter().map(ParamCode::of_param).collect(),
            temporary_bytes,
            kernel_word: launch_word(id, 0),
            number_masks,
            fast_path,
            plan,
            passing,
            native: def.native().copied(),
            prints,
            images: Images::default(),
            retention: Mutex::default(),
            tensor_params: tensor_params(&kernel),
            // The launch runs on this thread, or waits for the kernel's value.
            check_after_launch: !kernel.sites.is_empty()
                && (!capabilities.asynchronous || !kernel.results.is_empty()),
            kernel,
        })
    }

    /// The decision for a launch with the argument block `words` on the stream with number `stream`, cached or new.
    /// Where a launch has several tasks, `configs` gets their configurations. If any task is checked, `words` gets the
    /// interiors of the loops.
    ///
    /// # Errors
    /// [`Error::Race`], [`Error::Grid`] and [`Error::SharedMemory`].
    #[inline(always)]
    pub(crate) fn decide(
        &self,
        loader: &KernelLoader,
        stream: u32,
        checks: Checks,
        words: &mut Words,
        configs: &mut LaunchConfigs,
    ) -> Result<LaunchDecision> {
        match self.cached_decision(stream, checks, words, configs) {
            Some(decision) => Ok(decision),
            None => {
                let decided =
                    self.decide_uncached(loader, stream, checks, words, configs, false)?;
                Ok(decided.0)
            }
        }
    }

    /// [`decide`](Self::decide) for a launch that may be a trial of the autotuner.
    #[cold]
    pub(crate) fn decide_with_trial(
        &self,
        loader: &KernelLoader,
        stream: u32,
        checks: Checks,
        words: &mut Words,
        configs: &mut LaunchConfigs,
    ) -> Result<(LaunchDecision, Option<Trial<'_>>)> {
        match self.cached_decision(stream, checks, words, configs) {
            Some(decision) => Ok((decision, None)),
            None => self.decide_uncached(loader, stream, checks, words, configs, true),
        }
    }

    #[inline(always)]
    fn cached_decision(
        &self,
        stream: u32,
        checks: Checks,
        words: &mut Words,
        configs: &mut LaunchConfigs,
    ) -> Option<LaunchDecision> {
        let entry = self.launch_cache.find(stream, checks, AcceptedForms::All, words);
        entry.and_then(|entry| entry.read(words, configs))
    }

    #[cold]
    fn decide_uncached(
        &self,
        loader: &KernelLoader,
        stream: u32,
        checks: Checks,
        words: &mut Words,
        configs: &mut LaunchConfigs,
        may_try: bool,
    ) -> Result<(LaunchDecision, Option<Trial<'_>>)> {
        let (decided, trial) = match self.find_in_history(stream, checks, words) {
            Some(decided) => (decided, None),
            None => {
                let (decided, is_final, trial) =
                    self.decide_anew(loader, checks, words, may_try)?;
                let decided = match is_final {
                    true => {
                        let decided = self.history.insert(self.launch_key(checks, words), decided);
                        self.cache_decision(stream, checks, words, &decided);
                        decided
                    }
                    false => Arc::new(decided),
                };
                (decided, trial)
            }
        };
        *configs = SmallVec::from_slice(&decided.configs);
        decided.push_interiors(words);
        let first = configs.first().copied().flatten();
        Ok((LaunchDecision { forms: decided.forms, first }, trial))
    }

    /// The decision of an earlier launch with the same inputs. The second time in a row, it is written to the launch
    /// cache; a number that changes with each launch would overwrite the entry each time.
    pub(crate) fn find_in_history(
        &self,
        stream: u32,
        checks: Checks,
        words: &[u64],
    ) -> Option<Arc<CacheableDecision>> {
        let (decided, again) = self.history.find(&self.launch_key(checks, words))?;
        if again {
            self.cache_decision(stream, checks, words, &decided);
        }
        Some(decided)
    }

    #[inline]
    fn launch_key(&self, checks: Checks, words: &[u64]) -> LaunchKey {
        let inputs = self.host.inputs();
        let mut key = LaunchKey::with_capacity(inputs.len() + 1);
        key.extend(inputs.iter().map(|word| words[*word]));
        key.push(checks as u64);
        key
    }

    fn cache_decision(
        &self,
        stream: u32,
        checks: Checks,
        words: &[u64],
        decided: &CacheableDecision,
    ) {
        let inputs = self.host.inputs().iter();
        let inputs: Vec<_> = inputs.flat_map(|word| [*word as u64, words[*word]]).collect();
        self.launch_cache.write(stream, checks, &inputs, decided);
    }

    /// Decides a launch anew: with the result of the autotuner, with the candidate of a trial if it `may_try` one, or
    /// as scheduled. Also returns whether later launches with the same inputs are decided equally.
    fn decide_anew(
        &self,
        loader: &KernelLoader,
        checks: Checks,
        words: &[u64],
        may_try: bool,
    ) -> Result<(CacheableDecision, bool, Option<Trial<'_>>)> {
        let (forms, sizes) = self.analyse(loader, checks, words)?;
        let analysed = Analysed { loader, forms, sizes: &sizes, words };
        let Some(tuner) = &self.autotuner else {
            return Ok((self.scheduled(&analysed)?, true, None));
        };
        let class = analysed.size_class();
        loop {
            let choice = match may_try {
                true => tuner.choose(&class, || self.begin_search(&analysed, &class)),
                false => tuner.result(&class).map_or(TuningChoice::Scheduled, TuningChoice::Final),
            };
            match choice {
                TuningChoice::Scheduled => return Ok((self.scheduled(&analysed)?, false, None)),
                TuningChoice::Trial(candidate) => {
                    match self.with_candidate(&analysed, &candidate)? {
                        Some(decided) => {
                            return Ok((decided, false, Some(Trial { tuner, class, candidate })));
                        }
                        None => tuner.skip(&class, &candidate),
                    }
                }
                TuningChoice::Found(best) => {
                    tracing::debug!(kernel = self.kernel.name, ?best, "autotuned");
                    let scheduled = self.images.scheduled(forms, &self.kernel);
                    loader.store_tuned(scheduled, forms, &class, &best.to_bytes());
                }
                TuningChoice::Final(best) => {
                    let decided = match self.with_candidate(&analysed, &best)? {
                        Some(decided) => decided,
                        None => self.scheduled(&analysed)?,
                    };
                    self.print_explanation(loader, decided.forms, &decided.configs, words);
                    return Ok((decided, true, None));
                }
            }
        }
    }

    /// An earlier result of the autotuner, or what it can vary.
    fn begin_search(
        &self,
        analysed: &Analysed<'_>,
        class: &SizeClass,
    ) -> std::result::Result<Candidate, SearchSpace> {
        let Analysed { loader, forms, sizes, .. } = *analysed;
        let scheduled = self.images.scheduled(forms, &self.kernel);
        let known = loader.tuned(scheduled, forms, class);
        if let Some(known) = known.and_then(|bytes| Candidate::from_bytes(&bytes)) {
            return Ok(known);
        }
        let info = loader.context.device().info();
        let loaded = self.loaded(loader, forms);
        let configs = loaded.and_then(|loaded| {
            self.plan.launch_configs((scheduled, loaded), sizes, info, &Candidate::default())
        });
        let configs = configs.unwrap_or_default();
        let all = scheduled.tasks.iter().zip(sizes).zip(&configs).enumerate();
        let free = all.filter_map(|(at, ((task, size), config))| {
            let iterations = iterations(size.as_ref()?);
            let threads = config.as_ref()?.block_dim.iter().product::<u32>();
            let is_free = has_free_block_size(task) && !task.kind.has_device_bounds();
            (is_free && iterations > FEW_ITERATIONS).then_some((at, threads))
        });
        let loops: SmallVec<[_; 4]> = free.collect();
        let is_coarsened = |(at, _): &(usize, u32)| {
            scheduled.tasks[*at].schedule.can_limit_coarsening() && !forms.is_checked()
        };
        Err(SearchSpace { coarsening: loops.iter().any(is_coarsened), loops })
    }

    /// The forms of a launch, and the sizes of its loops.
    fn analyse(
        &self,
        loader: &KernelLoader,
        checks: Checks,
        words: &[u64],
    ) -> Result<(Forms, TaskSizes)> {
        let Self { kernel, host, plan, .. } = self;
        let info = loader.context.device().info();
        // Before the race check: a loop whose bounds wrapped is refused for that.
        let sizes = Plan::sizes(kernel, host, words, info)?;
        if let Some(race) = host.race(words) {
            return Err(race_error(kernel, race));
        }
        let mut forms = match checks {
            Checks::Off => host.unchecked_forms(words),
            Checks::On => host.forms(words),
        };
        // Native bodies have one width of indices, and take all strides from the launch.
        if plan.is_native() {
            forms = match forms.is_checked() {
                true => Forms::CHECKED,
                false => forms.without_planes().with_narrow_indices(),
            };
        }
        let forms = self.images.choose(forms, &kernel.name, || self.load(loader, forms))?;
        Ok((forms, sizes))
    }

    /// The decision for a launch as scheduled.
    fn scheduled(&self, analysed: &Analysed<'_>) -> Result<CacheableDecision> {
        let Analysed { loader, forms, words, .. } = *analysed;
        let configs = self.launch_configs(analysed, forms, &Candidate::default())?;
        self.print_explanation(loader, forms, &configs, words);
        self.decided(analysed, forms, &configs)
    }

    /// The decision for a launch with a candidate of the autotuner; none where its image cannot be had, or the device
    /// cannot run its blocks.
    fn with_candidate(
        &self,
        analysed: &Analysed<'_>,
        candidate: &Candidate,
    ) -> Result<Option<CacheableDecision>> {
        let loader = analysed.loader;
        let forms = analysed.forms.with_coarsening(candidate.coarsening);
        let load = || self.load(loader, forms);
        if self.images.choose(forms, &self.kernel.name, load)? != forms {
            return Ok(None);
        }
        let Ok(configs) = self.launch_configs(analysed, forms, candidate) else { return Ok(None) };
        let loaded = self.loaded(loader, forms)?;
        for (at, config) in configs.iter().enumerate() {
            if let (Some(config), Some(_)) = (config, candidate.block(at)) {
                let usage = loaded.usage(&self.kernel.name, at, config)?;
                if usage.is_some_and(|usage| usage.blocks_per_multiprocessor == 0) {
                    return Ok(None);
                }
            }
        }
        self.decided(analysed, forms, &configs).map(Some)
    }

    fn launch_configs(
        &self,
        analysed: &Analysed<'_>,
        forms: Forms,
        candidate: &Candidate,
    ) -> Result<LaunchConfigs> {
        let info = analysed.loader.context.device().info();
        match self.plan.is_native() {
            true => Ok(SmallVec::from_slice(&[Some(LaunchConfig::SERIAL)])),
            false => {
                let scheduled = self.images.scheduled(forms, &self.kernel);
                let loaded = self.loaded(analysed.loader, forms)?;
                self.plan.launch_configs((scheduled, loaded), analysed.sizes, info, candidate)
            }
        }
    }

    fn decided(
        &self,
        analysed: &Analysed<'_>,
        forms: Forms,
        configs: &LaunchConfigs,
    ) -> Result<CacheableDecision> {
        let Self { kernel, host, plan, launch_cache, .. } = self;
        let mut interiors = Vec::new();
        if !forms.is_proven() {
            interiors = loop_interiors(kernel, host, forms, analysed.words);
        }
        interiors.resize(launch_cache.interior_words(), 0);
        let function = match plan.is_one_call() {
            true => self.loaded(analysed.loader, forms)?.first_function(),
            false => Some(FunctionHandle::default()),
        };
        Ok(CacheableDecision {
            forms,
            function,
            interiors: interiors.into(),
            configs: configs.to_vec().into(),
        })
    }

    /// Whether a launch is one driver call without device memory of its own. The call makes the context current by
    /// itself.
    #[inline]
    pub(crate) fn is_single_call(&self) -> bool {
        self.plan.is_one_call() && self.temporary_bytes == 0 && self.passing == Passing::Value
    }

    /// The launch word of a launch. It has no launch number where nothing is reported: so launches with equal
    /// arguments have equal argument blocks, which a graph need not set again.
    #[inline(always)]
    pub(crate) fn launch_word(&self, forms: Forms, number: u64) -> u64 {
        self.kernel_word | number & self.number_masks[usize::from(!forms.is_proven())]
    }

    #[inline(always)]
    pub(crate) fn accepts(&self, codes: &[ParamCode]) -> bool {
        codes.len() == self.param_codes.len()
            && codes.iter().zip(&self.param_codes).all(|(arg, param)| arg.accepted_by(*param))
    }

    /// Whether the arguments have the codes of the parameters: cheaper than [`accepts`](Self::accepts), and true for
    /// most launches that it accepts.
    #[inline(always)]
    pub(crate) fn matches_exactly(&self, codes: &[ParamCode]) -> bool {
        codes.len() == self.param_codes.len()
            && codes.iter().zip(&self.param_codes).all(|(arg, param)| arg == param)
    }

    /// The loaded image for these forms. Compiles and loads it where that is not done yet.
    #[inline(always)]
    pub(crate) fn loaded(&self, loader: &KernelLoader, forms: Forms) -> Result<&LoadedImage> {
        self.images.get_or_load(forms, &self.kernel.name, || self.load(loader, forms))
    }

    #[cold]
    fn load(&self, loader: &KernelLoader, forms: Forms) -> Result<LoadedImage> {
        let scheduled = match self.plan.is_native() {
            true => &self.kernel,
            false => self.images.scheduled(forms, &self.kernel),
        };
        loader.load(&self.kernel, scheduled, self.native.as_ref(), forms)
    }
}

/// Loops with at most so many iterations are not tuned: their launch takes longer than they do.
const FEW_ITERATIONS: u64 = 1024;

/// A launch that was analysed: what its decision depends on.
struct Analysed<'a> {
    loader: &'a KernelLoader,
    forms: Forms,
    sizes: &'a TaskSizes,
    /// The argument block.
    words: &'a [u64],
}

impl Analysed<'_> {
    fn size_class(&self) -> SizeClass {
        size_class(self.forms.bits(), self.sizes.iter().map(|size| size.as_ref().map(iterations)))
    }
}

/// The number of iterations of a loop. An empty loop may have extents whose product exceeds 64 bits.
fn iterations((counts, _): &(SmallVec<[u64; 3]>, u32)) -> u64 {
    counts.iter().fold(1, |product, count| product.saturating_mul(*count))
}

/// The interiors of all loops, in the layout of the argument block.
fn loop_interiors(
    kernel: &Offloaded,
    host: &LaunchAnalysis,
    forms: Forms,
    words: &[u64],
) -> Vec<u64> {
    let all = host.interiors(words);
    let mut rest = &all[..];
    for (id, task) in kernel.tasks() {
        let interior = rest.split_off(..abi::interior_words(&task.kind)).unwrap_or_default();
        if !interior.is_empty() && forms.of(id) == Form::Checked {
            let lengths = interior.chunks_exact(2).map(|dim| dim[1].wrapping_sub(dim[0]));
            tracing::debug!(
                kernel = kernel.name,
                line = task.line,
                inside = lengths.fold(1, u64::saturating_mul),
                of = host.extents(id, words).iterations(),
                "checked"
            );
        }
    }
    all
}

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
