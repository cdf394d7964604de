//! The kernel launcher: a context per kernel in an address-stable table, and the path of a launch.
//!
//! A launch goes: look up or make the context; report what the stream's earlier kernels reported;
//! lay out the argument block; prove that nothing races, and the accesses, which chooses the form; stamp
//! the tensors; then enqueue the steps of the plan. No lock is held across a driver call.

mod prepared;
mod quick;

use std::{
    mem,
    panic::Location,
    sync::{Arc, OnceLock, atomic::Ordering::Relaxed},
};

use parking_lot::Mutex;
use quadrants_ir::{
    Offloaded, ParamKind, ScalarType, SiteKind, TaskKind,
    abi::{self, ErrorRecord, FIRST_PARAM_WORD, Form, LAUNCH_WORD, Passing},
    host::{HostPlan, Overflow, Race, Touched},
};
use quadrants_rhi::{ImageKind, LaunchConfig, Severity};
use quadrants_runtime as rt;

pub(crate) use prepared::{Keep, Prepared};
pub(crate) use quick::{Quick, quick};

use crate::{
    CounterOverflow, Error, KernelError, KernelErrorCause, Result,
    arg::{ArgList, Code, TensorArg, Words, describe},
    body::NativeBody,
    capture,
    def::KernelDef,
    dump,
    hazards::{LaunchUses, Tracker, waiting},
    host::staged,
    image::{LoadedForm, native_image},
    plan::{Failed, LaunchShapes, Plan},
    program::{ProgramInner, Shared},
    scratch::{LaunchBlock, StreamScratch},
    stream::StreamState,
    table::StableTable,
    verdict::{Verdict, Verdicts},
};

/// Whether a launch proves its accesses or trusts the caller.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Checks {
    On,
    Off,
}

/// Where a launch goes, and how.
#[derive(Clone, Copy)]
pub(crate) struct Submission<'a> {
    pub(crate) stream: &'a Arc<StreamState>,
    pub(crate) checks: Checks,
    /// Where it is written.
    pub(crate) at: &'static Location<'static>,
}

/// A number that no kernel has: hazards know copies of the host's in graphs by it.
pub(crate) const COPY: u32 = (1 << 24) - 1;

/// How many bits of a launch's number count launches, and begin again after the last; the kernel's number
/// stands above them, and is never touched by the count.
const LAUNCH_BITS: u32 = 40;

/// The kernels of a program and the way they are launched.
pub struct KernelLauncher {
    contexts: StableTable<KernelContext>,
}

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
    codes: Box<[Code]>,
    passing: Passing,
    /// Bytes of each launch's own memory.
    scratch: usize,
    /// Whether a launch is one call of the driver, which makes the context current by itself, and needs no memory of
    /// its own.
    plain: bool,
    /// What stands in the argument block of a launch without a number.
    word: u64,
    /// The bits of a launch's number that stand there in the proven form.
    number_when_proven: u64,
    /// Whether a launch needs no memory of its own, and nobody looks for hazards.
    quick: bool,
    // Before the forms: its graphs use their functions.
    pub(crate) plan: Plan,
    native: Option<NativeBody>,
    /// Its tensor parameters.
    tensors: Box<[TensorParam]>,
    forms: [FormSlot; 2],
    /// Whether what it may report is there when the launch returns, and it may report something.
    reports_at_once: bool,
    /// Whether the proven form has anything to report: all but indices of tensors.
    reports_when_proven: bool,
    keep: Mutex<Keep>,
    verdicts: Verdicts,
}

#[derive(Default)]
struct FormSlot {
    loaded: OnceLock<LoadedForm>,
    loading: Mutex<()>,
}

/// A launch under way.
#[derive(Clone, Copy)]
struct Going<'a> {
    shared: &'a Shared,
    context: &'a KernelContext,
    /// The kernel's number.
    id: u32,
    submission: Submission<'a>,
}

/// Stamps the tensors of a launch on every way out of it, behind all that it enqueued: a wait of
/// another thread that comes in between must not take the stamp for complete.
struct StampedAtEnd<'a> {
    params: &'a [TensorParam],
    tensors: &'a [TensorArg<'a>],
    stream: &'a StreamState,
    /// Where hazards are looked for: by whom, and of which launch.
    tracked: Option<&'a Tracker>,
    kernel: u32,
    at: &'static Location<'static>,
}

impl<'a> StampedAtEnd<'a> {
    /// The usual way.
    #[inline(always)]
    fn end(self) {
        self.stamp();
        mem::forget(self);
    }

    fn uses(&self) -> LaunchUses<'a> {
        let Self { params, tensors, kernel, at, .. } = *self;
        LaunchUses { kernel, params, tensors, at }
    }

    #[inline(always)]
    fn stamp(&self) {
        let stamp = self.stream.stream.next_stamp();
        if let Some(tracker) = self.tracked {
            tracker.after(&self.uses(), stamp);
        }
        for (tensor, param) in self.tensors.iter().zip(self.params) {
            let Some(core) = tensor.core() else { continue };
            if param.writable {
                core.buffer.stamp_write(stamp);
            } else {
                core.buffer.stamp_read(stamp);
            }
        }
    }
}

impl Drop for StampedAtEnd<'_> {
    #[cold]
    fn drop(&mut self) {
        self.stamp();
    }
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
    pub(crate) unsafe fn forget(&self, shared: &Shared, id: u32) -> bool {
        if self.contexts.get(id).is_some_and(|context| !context.keep.lock().may_go()) {
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
    pub(crate) fn kernels(&self, shared: &Shared) -> Vec<Offloaded> {
        // What goes meanwhile may go behind the copies alone.
        shared
            .records
            .while_all_stay(|| self.contexts.iter().map(|context| context.kernel.clone()).collect())
    }

    /// Builds a kernel, and loads it in both forms where the device takes compiled images.
    pub(crate) fn prepare(&self, shared: &Shared, def: &KernelDef) -> Result<()> {
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
    pub(crate) fn go_on(
        &self,
        program: &Arc<ProgramInner>,
        def: &KernelDef,
        quick: Quick<'_>,
        asked: Option<ScalarType>,
        submission: Submission<'_>,
    ) -> Result<Option<u64>> {
        let shared = &*program.shared;
        let mut args = match quick {
            Quick::Launched => return Ok(None),
            Quick::Reported => return submission.stream.check().map(|()| None),
            Quick::Failed(failed) => {
                let context = def.known_id().and_then(|id| self.contexts.get(id));
                return Err(match (context, *failed) {
                    (Some(context), Failed { started, source }) => {
                        launch_error(&context.kernel, started, source)
                    }
                    (None, Failed { source, .. }) => source.into(),
                });
            }
            Quick::NotCurrent(error) => return Err((*error).into()),
            Quick::Unusual(args) => args,
        };
        let launched = if args.is_usual(program) && !capture::is_on() {
            self.launch(shared, def, &mut args, asked, submission)
        } else {
            self.launch_unusual(program, def, &args, asked, submission)
        };
        args.give_back();
        launched
    }

    /// Launches a kernel on arguments in the program's memory, and gives the word of its value where it has one.
    pub(crate) fn launch(
        &self,
        shared: &Shared,
        def: &KernelDef,
        args: &mut ArgList<'_>,
        asked: Option<ScalarType>,
        submission: Submission<'_>,
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
        let going = Going { shared, context, id, submission };
        if !context.plain {
            return going.with_memory(args);
        }
        submission.stream.check()?;
        going.go(args, 0)?;
        if context.reports_at_once {
            submission.stream.check()?;
        }
        Ok(None)
    }

    /// As [`launch`](Self::launch), where some tensors are arrays of the host, or may not be used here, or where the
    /// thread captures.
    #[cold]
    fn launch_unusual(
        &self,
        program: &Arc<ProgramInner>,
        def: &KernelDef,
        args: &ArgList<'_>,
        asked: Option<ScalarType>,
        submission: Submission<'_>,
    ) -> Result<Option<u64>> {
        for core in args.tensors.iter().filter_map(TensorArg::core) {
            if !Arc::ptr_eq(&core.program, program) {
                return Err(Error::OtherProgram { what: "a tensor argument" });
            }
            core.home.check()?;
        }
        if capture::is_on()
            && let Some(captured) = capture::launch(program, def, args, asked.is_some(), submission)
        {
            return captured.map(|()| None);
        }
        staged(program, args, |args| self.launch(&program.shared, def, args, asked, submission))
    }

    /// The names of a kernel and of its parameter.
    pub(crate) fn names(&self, id: u32, parameter: usize) -> (String, String) {
        if id == COPY {
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

impl Going<'_> {
    /// Launches within the context, with memory of the launch's own, and waits for a value.
    #[inline(never)]
    fn with_memory(self, args: &mut ArgList<'_>) -> Result<Option<u64>> {
        let Self { shared, context, submission: Submission { stream, .. }, .. } = self;
        // SAFETY: the device's calls alone, and no code of the user: devices that run native functions
        // have no contexts.
        let _current = unsafe { shared.context.make_current()? };
        stream.check()?;
        let scratch = match context.scratch {
            0 => None,
            bytes => Some(LaunchBlock::new(stream, bytes)?),
        };
        self.go(args, scratch.as_ref().map_or(0, |block| block.address().raw()))?;
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
    fn go(self, args: &mut ArgList<'_>, scratch: u64) -> Result<()> {
        let Self { shared, context, id, submission: Submission { stream, checks, at } } = self;
        let number = shared.launches.fetch_add(1, Relaxed);
        let ArgList { words, shapes, tensors, .. } = args;
        if let Some(head) = words.first_chunk_mut::<FIRST_PARAM_WORD>() {
            *head = [stream.record_address(), scratch, launch_word(id, number)];
        }
        let Verdict { form, first } = context.judge(shared, stream, checks, words, shapes)?;
        if !context.names(form) {
            // Nothing names the launch: one with the same arguments has the same block, which a graph need not be
            // told again.
            words[LAUNCH_WORD] = launch_word(id, 0);
        }
        let loaded = context.loaded(shared, form)?;
        let (params, tensors) = (&*context.tensors, &**tensors);
        let tracked = shared.hazards.as_ref();
        if let Some(tracker) = tracked {
            tracker.before(shared, &LaunchUses { kernel: id, params, tensors, at }, stream)?;
        }
        let stamped = StampedAtEnd { params, tensors, stream, tracked, kernel: id, at };
        let turn = shared.turns.of_launch(tensors);
        let enqueued = self.enqueue(loaded, first, shapes, words);
        drop(turn);
        stamped.end();
        enqueued
    }

    #[inline(always)]
    fn enqueue(
        self,
        loaded: &LoadedForm,
        first: Option<LaunchConfig>,
        shapes: &[Option<LaunchConfig>],
        words: &[u64],
    ) -> Result<()> {
        let Self { shared, context, submission: Submission { stream, .. }, .. } = self;
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
        let Self { shared, context, submission: Submission { stream, .. }, .. } = self;
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

impl KernelContext {
    fn new(shared: &Shared, def: &KernelDef, id: u32) -> Result<Self> {
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
        let plain = by_value && scratch == 0 && plan.is_one_call();
        Ok(Self {
            verdicts: Verdicts::new(&kernel, &host, &plan),
            host,
            codes: kernel.params.iter().map(|param| Code::of(param.kind)).collect(),
            scratch,
            plain,
            word: launch_word(id, 0),
            number_when_proven: if reports_when_proven { number_of(u64::MAX) } else { 0 },
            quick: by_value && scratch == 0 && shared.hazards.is_none(),
            plan,
            passing: if by_value { Passing::Value } else { Passing::Buffer },
            native: def.native().copied(),
            forms: Default::default(),
            keep: Mutex::default(),
            tensors: tensors(&kernel),
            // Where nothing runs beside the host, or it waits for a value.
            reports_at_once: !kernel.sites.is_empty()
                && (!capabilities.asynchronous || kernel.result.is_some()),
            reports_when_proven,
            kernel,
        })
    }

    /// As [`Verdicts::judge`].
    #[inline(always)]
    fn judge(
        &self,
        shared: &Shared,
        stream: &StreamState,
        checks: Checks,
        words: &mut Words,
        shapes: &mut LaunchShapes,
    ) -> Result<Verdict> {
        self.verdicts.judge(stream.stream.id(), shared, self, checks, words, shapes)
    }

    /// Whether what a launch reports names it.
    #[inline]
    pub(crate) fn names(&self, form: Form) -> bool {
        form == Form::Checked || self.reports_when_proven
    }

    /// Whether these are its arguments.
    #[inline(always)]
    fn takes(&self, codes: &[Code]) -> bool {
        codes.len() == self.codes.len()
            && codes.iter().zip(&self.codes).all(|(given, param)| given.fits(*param))
    }

    /// Whether these are its arguments, and none may be written that it only reads; most lists are like that.
    #[inline(always)]
    fn is_for(&self, codes: &[Code]) -> bool {
        codes.len() == self.codes.len()
            && codes.iter().zip(&self.codes).all(|(given, param)| given == param)
    }

    #[inline(always)]
    pub(crate) fn loaded(&self, shared: &Shared, form: Form) -> Result<&LoadedForm> {
        let slot = &self.forms[form as usize];
        match slot.loaded.get() {
            Some(loaded) => Ok(loaded),
            None => self.load(shared, form, slot),
        }
    }

    #[cold]
    fn load<'a>(&self, shared: &Shared, form: Form, slot: &'a FormSlot) -> Result<&'a LoadedForm> {
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

/// Why a kernel does not take the arguments.
#[cold]
fn argument_error(kernel: &Offloaded, args: &ArgList<'_>) -> Error {
    let fits = |at: &usize| match (args.codes.get(*at), kernel.params.get(*at)) {
        (Some(code), Some(param)) => code.fits(Code::of(param.kind)),
        _ => false,
    };
    let at = (0..).find(|at| !fits(at)).unwrap_or(0);
    let nothing = || "nothing".to_owned();
    Error::Argument {
        kernel: kernel.name.clone(),
        position: at + 1,
        given: args.codes.get(at).map_or_else(nothing, |code| describe(code.kind())),
        expected: kernel.params.get(at).map_or_else(nothing, |param| describe(param.kind)),
    }
}

/// Reads one word behind everything on the stream, and waits for it.
fn read_word(stream: &StreamState, at: quadrants_rhi::DevicePtr) -> Result<u64> {
    let mut word = [0u8; 8];
    // SAFETY: the launch's scratch memory holds the word until its block is dropped.
    unsafe { stream.stream.read(at, &mut word)? };
    Ok(u64::from_le_bytes(word))
}

/// A launch's word in the argument block.
fn launch_word(kernel: u32, number: u64) -> u64 {
    (u64::from(kernel) << LAUNCH_BITS) | number_of(number)
}

fn kernel_of(launch: u64) -> u32 {
    (launch >> LAUNCH_BITS) as u32
}

fn number_of(launch: u64) -> u64 {
    launch & ((1 << LAUNCH_BITS) - 1)
}

#[cold]
fn result_error(kernel: &Offloaded, asked: Option<ScalarType>) -> Error {
    let name =
        |ty: Option<ScalarType>| ty.map_or_else(|| "nothing".to_owned(), |ty| ty.to_string());
    Error::ResultType {
        kernel: kernel.name.clone(),
        asked: name(asked),
        returns: name(kernel.result),
    }
}

#[cold]
pub(crate) fn race_error(kernel: &Offloaded, race: Race) -> Error {
    Error::Race {
        kernel: kernel.name.clone(),
        file: kernel.file.clone(),
        line: kernel.tasks[race.task.index()].line,
        tensor: match race.object {
            Touched::Tensor(tensor) => kernel.params[tensor.index()].name.clone(),
            Touched::Shared(array) => kernel.locals[array].name.clone(),
        },
        lines: race.sites.map(|site| kernel.sites[site.index()].line),
        counter: race.counter.map(|Overflow { tensor, bits, draws }| {
            let tensor = kernel.params[tensor.index()].name.clone();
            Box::new(CounterOverflow { tensor, bits, draws })
        }),
    }
}

#[cold]
fn launch_error(kernel: &Offloaded, started: bool, source: rt::Error) -> Error {
    if let rt::Error::Device(quadrants_rhi::Error::Panicked { message }) = source {
        return Error::Panicked { kernel: kernel.name.clone(), message };
    }
    Error::Launch { kernel: kernel.name.clone(), started, source }
}

/// The launch shape of a task over these extents, in blocks of the size that its author wants: the last
/// dimension along x.
pub(crate) fn launch_config(
    extents: &[u64],
    block_size: Option<u32>,
    square: bool,
) -> LaunchConfig {
    const LIMIT_YZ: u64 = 65_535;
    const THREADS: u32 = 256;
    let size = block_size.unwrap_or(THREADS);
    let blocks =
        |n: u64, block: u32, limit: u64| n.div_ceil(u64::from(block)).clamp(1, limit) as u32;
    // No wider than what there is, so that short rows leave no thread idle.
    let width =
        |n: u64, most: u32| n.min(u64::from(most)).next_power_of_two().min(u64::from(most)) as u32;
    match *extents {
        [n] => LaunchConfig::linear(n, size),
        [rows, columns] => {
            let x = width(columns, size.min(if square { 16 } else { 128 }));
            let y = (size / x).max(1);
            LaunchConfig {
                grid_dim: [blocks(columns, x, i32::MAX as u64), blocks(rows, y, LIMIT_YZ), 1],
                block_dim: [x, y, 1],
                shared_bytes: 0,
            }
        }
        [planes, rows, columns] => {
            const DEEPEST: u32 = 64;
            let x = width(columns, size.min(64));
            let y = width(rows, (size / x).max(1)).max(size / x / DEEPEST);
            let z = (size / (x * y)).clamp(1, DEEPEST);
            LaunchConfig {
                grid_dim: [
                    blocks(columns, x, i32::MAX as u64),
                    blocks(rows, y, LIMIT_YZ),
                    blocks(planes, z, LIMIT_YZ),
                ],
                block_dim: [x, y, z],
                shared_bytes: 0,
            }
        }
        _ => LaunchConfig::SERIAL,
    }
}

/// The launch shape of blocks of threads: the last dimension of the grid along x. Each block takes as many
/// turns as a smaller grid needs.
pub(crate) fn block_config(extents: &[u64], threads: u32) -> LaunchConfig {
    const LIMITS: [u64; 3] = [i32::MAX as u64, 65_535, 65_535];
    let mut grid_dim = [1; 3];
    for ((size, &extent), limit) in grid_dim.iter_mut().zip(extents.iter().rev()).zip(LIMITS) {
        *size = extent.clamp(1, limit) as u32;
    }
    LaunchConfig { grid_dim, block_dim: [threads, 1, 1], shared_bytes: 0 }
}

/// Whether a task loops, and so has a shape of its own.
pub(crate) fn is_loop(kind: &TaskKind) -> bool {
    kind.dims().is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_have_the_size_that_is_asked_for() {
        for extents in [&[1000u64][..], &[10, 1000], &[7, 10, 1000]] {
            for size in [1u32, 32, 64, 96, 256, 1024] {
                let config = launch_config(extents, Some(size), false);
                let threads: u32 = config.block_dim.iter().product();
                assert!(threads <= size && 2 * threads > size, "{extents:?} in {size}: {threads}");
                for (k, &extent) in extents.iter().rev().enumerate() {
                    let covered = u64::from(config.grid_dim[k]) * u64::from(config.block_dim[k]);
                    assert!(covered >= extent, "{extents:?} in {size}: {config:?}");
                }
            }
        }
    }

    #[test]
    fn the_count_of_launches_never_reaches_into_the_kernels_number() {
        for number in [1, (1 << LAUNCH_BITS) - 1, 1 << LAUNCH_BITS, u64::MAX] {
            for kernel in [0, 7, (1 << 24) - 1] {
                let word = launch_word(kernel, number);
                assert_eq!(
                    (kernel_of(word), number_of(word)),
                    (kernel, number % (1 << LAUNCH_BITS))
                );
            }
        }
    }
}
