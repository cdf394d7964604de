//! The kernel launcher: a context per kernel in an address-stable table, and the path of a launch.
//!
//! A launch goes: look up or make the context; report what the stream's earlier kernels reported;
//! lay out the argument block; prove that nothing races, and the accesses, which chooses the form; stamp
//! the tensors; then enqueue the steps of the plan. No lock is held across a driver call.

mod prepared;

use std::{
    panic::Location,
    sync::{Arc, OnceLock, atomic::Ordering::Relaxed},
};

use parking_lot::Mutex;
use quadrants_ir::{
    Offloaded, ScalarType, SiteKind, TaskKind,
    abi::{self, ArgLayout, ErrorRecord, FIRST_PARAM_WORD, Form, LAUNCH_WORD, Passing},
    host::{HostPlan, Race, Touched},
};
use quadrants_rhi::{ImageKind, LaunchConfig, Severity};
use quadrants_runtime as rt;

pub(crate) use prepared::{Keep, Prepared};

use crate::{
    Error, KernelError, KernelErrorCause, Result,
    arg::{ArgKind, describe},
    body::NativeBody,
    def::KernelDef,
    dump,
    hazards::{LaunchUses, Tracker, waiting},
    image::{LoadedForm, native_image},
    plan::{LaunchShapes, Plan},
    program::Shared,
    scratch::{LaunchBlock, StreamScratch},
    stream::StreamState,
    table::StableTable,
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

/// How many bits of a launch's number count launches, and begin again after the last; the kernel's number
/// stands above them, and is never touched by the count.
const LAUNCH_BITS: u32 = 40;

/// Argument blocks of so many words need no allocation.
const WORDS_INLINE: usize = 32;

/// The kernels of a program and the way they are launched.
pub struct KernelLauncher {
    contexts: StableTable<KernelContext>,
}

/// What the launcher keeps of one kernel.
pub(crate) struct KernelContext {
    pub(crate) kernel: Offloaded,
    pub(crate) host: HostPlan,
    layout: ArgLayout,
    /// How many words the longest argument block has.
    words: usize,
    passing: Passing,
    // Before the forms: its graphs use their functions.
    plan: Plan,
    native: Option<NativeBody>,
    /// Of each parameter, whether its tensor is written; none where it is not used.
    touches: Vec<Option<bool>>,
    forms: [FormSlot; 2],
    may_fail: bool,
    /// Whether the proven form has anything to report: all but indices of tensors.
    reports_when_proven: bool,
    keep: Mutex<Keep>,
    /// By the stream's number, so that threads with streams of their own find their own.
    verdicts: [Mutex<Option<Verdict>>; VERDICTS],
}

const VERDICTS: usize = 8;

/// What was found of a launch, from these numbers alone.
struct Verdict {
    checks: Checks,
    /// The words that the host's plan depends on.
    numbers: Vec<u64>,
    form: Form,
    /// The words of the loops' interiors; none in the proven form.
    inside: Vec<u64>,
    shapes: Vec<Option<LaunchConfig>>,
}

#[derive(Default)]
struct FormSlot {
    loaded: OnceLock<LoadedForm>,
    loading: Mutex<()>,
}

/// Stamps the tensors of a launch on every way out of it, behind all that it enqueued: a wait of
/// another thread that comes in between must not take the stamp for complete.
struct StampedAtEnd<'a> {
    kernel: &'a Offloaded,
    args: &'a [ArgKind<'a>],
    stream: &'a StreamState,
    tracked: Option<(&'a Tracker, LaunchUses<'a>)>,
}

impl Drop for StampedAtEnd<'_> {
    fn drop(&mut self) {
        let stamp = self.stream.stream.next_stamp();
        if let Some((tracker, uses)) = &self.tracked {
            tracker.after(uses, stamp);
        }
        for (arg, param) in self.args.iter().zip(&self.kernel.params) {
            match (arg, param.kind) {
                (ArgKind::Tensor(tensor), param) if param.is_writable() => {
                    tensor.core.buffer.stamp_write(stamp);
                }
                (ArgKind::Tensor(tensor), _) => tensor.core.buffer.stamp_read(stamp),
                (ArgKind::Scalar(_) | ArgKind::Host(_), _) => {}
            }
        }
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
        let make = || KernelContext::new(shared, def);
        let context = self.contexts.get_or_try_make(def.id()?, make)?;
        if shared.context.device().capabilities().image != ImageKind::Native {
            context.loaded(shared, Form::Proven)?;
            context.loaded(shared, Form::Checked)?;
        }
        Ok(())
    }

    /// Launches a kernel, and gives the word of its value where it has one.
    pub(crate) fn launch(
        &self,
        shared: &Shared,
        def: &KernelDef,
        args: &[ArgKind<'_>],
        asked: Option<ScalarType>,
        Submission { stream, checks, at }: Submission<'_>,
    ) -> Result<Option<u64>> {
        shared.context.check()?;
        let id = def.id()?;
        let context = self.contexts.get_or_try_make(id, || KernelContext::new(shared, def))?;
        let kernel = &context.kernel;
        if asked != kernel.result {
            return Err(result_error(kernel, asked));
        }
        check_arguments(kernel, args)?;
        // SAFETY: the device's calls alone, and no code of the user: devices that run native functions
        // have no contexts.
        let _current = unsafe { shared.context.make_current()? };
        stream.check()?;
        let scratch = match abi::scratch_bytes(kernel) {
            0 => None,
            bytes => Some(LaunchBlock::new(stream, bytes)?),
        };
        let number = shared.launches.fetch_add(1, Relaxed);
        let mut inline = [0; WORDS_INLINE];
        let mut more = Vec::new();
        let words = match inline.get_mut(..context.words) {
            Some(words) => words,
            None => {
                more.resize(context.words, 0);
                &mut more[..]
            }
        };
        let scratch_address = scratch.as_ref().map_or(0, |block| block.address().raw());
        fill(words, [stream.record_address(), scratch_address, launch_word(id, number)], args);
        let mut shapes = LaunchShapes::new();
        let form = context.judge(shared, words, stream, checks, &mut shapes)?;
        if form == Form::Proven && !context.reports_when_proven {
            // Nothing names the launch: one with the same arguments has the same block, which a graph need not be
            // told again.
            words[LAUNCH_WORD] = launch_word(id, 0);
        }
        let words = match form {
            Form::Proven => &words[..context.layout.len()],
            Form::Checked => &*words,
        };
        let loaded = context.loaded(shared, form)?;

        let tracked = match &shared.hazards {
            None => None,
            Some(tracker) => {
                let uses = LaunchUses { kernel: id, touches: &context.touches, args, at };
                tracker.before(shared, &uses, stream)?;
                Some((tracker, uses))
            }
        };
        let stamped = StampedAtEnd { kernel, args, stream, tracked };
        let turn = shared.turns.of_launch(args);
        self.enqueue(shared, context, loaded, &shapes, words, stream)?;
        drop(turn);
        // In front of the wait for a value, which shows the launch complete.
        drop(stamped);

        let word = match (kernel.result, &scratch) {
            (Some(_), Some(block)) => {
                let at = block.address().offset(8 * abi::result_word(kernel));
                let read = || read_word(stream, at);
                Some(waiting(shared, |tracker| tracker.up_to(&stream.stream), read)?)
            }
            _ => None,
        };
        // Where nothing runs beside the host, the launch itself can say what its kernel reported.
        let synchronous = !shared.context.device().capabilities().asynchronous;
        if (synchronous || word.is_some()) && context.may_fail {
            stream.check()?;
        }
        Ok(word)
    }

    fn enqueue(
        &self,
        shared: &Shared,
        context: &KernelContext,
        loaded: &LoadedForm,
        shapes: &LaunchShapes,
        words: &[u64],
        stream: &Arc<StreamState>,
    ) -> Result<()> {
        let fail = |started, source| launch_error(&context.kernel, started, source);
        if context.passing == Passing::Value {
            return context
                .plan
                .enqueue(shared, loaded, shapes, words, stream)
                .map_err(|f| fail(f.started, f.source));
        }
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
        context
            .plan
            .enqueue(shared, loaded, shapes, &address, stream)
            .map_err(|f| fail(f.started, f.source))
    }

    /// The names of a kernel and of its parameter.
    pub(crate) fn names(&self, id: u32, parameter: usize) -> (String, String) {
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

impl KernelContext {
    fn new(shared: &Shared, def: &KernelDef) -> Result<Self> {
        let failed = |source| Error::Build { kernel: def.name().to_owned(), source };
        let ir = def.ir().map_err(failed)?;
        quadrants_ir::verify(&ir).map_err(|e| failed(e.into()))?;
        let kernel = quadrants_ir::offload(&ir).map_err(|e| failed(e.into()))?;
        let kernel = quadrants_ir::simplify(&kernel);
        dump::ir(&ir, &kernel);
        let layout = ArgLayout::new(&kernel.params);
        let image = shared.context.device().capabilities().image;
        // A native body is called with the words themselves: there is nothing to pass by buffer.
        let words = abi::block_words(&kernel, Form::Checked);
        let by_value = image == ImageKind::Native || 8 * words <= shared.argument_limit;
        Ok(Self {
            host: HostPlan::new(&kernel),
            plan: Plan::new(&kernel, image),
            passing: if by_value { Passing::Value } else { Passing::Buffer },
            native: def.native().copied(),
            forms: Default::default(),
            keep: Mutex::default(),
            verdicts: Default::default(),
            touches: touches(&kernel),
            may_fail: !kernel.sites.is_empty(),
            // Native bodies also report what rustc checks by itself.
            reports_when_proven: image == ImageKind::Native
                || kernel.sites.iter().any(|site| !matches!(site.kind, SiteKind::Index(_))),
            layout,
            words,
            kernel,
        })
    }

    /// The form of a launch with these words, and its shapes into `shapes`, or why it is refused. The
    /// interiors of its loops are set behind the arguments. What was found for the same numbers is not
    /// looked for again.
    fn judge(
        &self,
        shared: &Shared,
        words: &mut [u64],
        stream: &StreamState,
        checks: Checks,
        shapes: &mut LaunchShapes,
    ) -> Result<Form> {
        let slot = &self.verdicts[stream.stream.id() as usize % VERDICTS];
        let (words, inside) = words.split_at_mut(self.layout.len());
        let numbers = || self.host.inputs().iter().map(|word| words[*word]);
        // Who finds it taken judges by itself, and waits for nobody.
        if let Some(known) = slot.try_lock()
            && let Some(verdict) = &*known
            && verdict.checks == checks
            && verdict.numbers.iter().copied().eq(numbers())
        {
            shapes.extend_from_slice(&verdict.shapes);
            inside.iter_mut().zip(&verdict.inside).for_each(|(to, from)| *to = *from);
            return Ok(verdict.form);
        }
        self.judge_anew(shared, words, inside, slot, checks, shapes)
    }

    #[cold]
    fn judge_anew(
        &self,
        shared: &Shared,
        words: &[u64],
        inside: &mut [u64],
        slot: &Mutex<Option<Verdict>>,
        checks: Checks,
        shapes: &mut LaunchShapes,
    ) -> Result<Form> {
        // A loop without an end is refused for that, whatever its iterations would do to each other.
        *shapes = self.plan.shapes(&self.kernel, &self.host, words, shared)?;
        if let Some(race) = self.host.race(words) {
            return Err(race_error(&self.kernel, race));
        }
        let form = self.form(words, checks);
        let found = match form {
            Form::Proven => Vec::new(),
            Form::Checked => self.inside(words),
        };
        inside.iter_mut().zip(&found).for_each(|(to, from)| *to = *from);
        let numbers = self.host.inputs().iter().map(|word| words[*word]).collect();
        let verdict = Verdict { checks, numbers, form, inside: found, shapes: shapes.to_vec() };
        if let Some(mut known) = slot.try_lock() {
            *known = Some(verdict);
        }
        Ok(form)
    }

    /// The form that a launch with these words runs: proven where every access is.
    fn form(&self, words: &[u64], checks: Checks) -> Form {
        let proven = checks == Checks::Off
            || self.kernel.tasks().all(|(task, _)| self.host.prove(task, words));
        if proven { Form::Proven } else { Form::Checked }
    }

    /// The interiors of all loops, as they stand in an argument block.
    fn inside(&self, words: &[u64]) -> Vec<u64> {
        let all = self.host.interiors(words);
        let mut rest = &all[..];
        for (id, task) in self.kernel.tasks() {
            let inside = rest.split_off(..abi::inside_words(&task.kind)).unwrap_or_default();
            if !inside.is_empty() {
                let lengths = inside.chunks_exact(2).map(|dim| dim[1].wrapping_sub(dim[0]));
                tracing::debug!(
                    kernel = self.kernel.name,
                    line = task.line,
                    inside = lengths.fold(1, u64::saturating_mul),
                    of = self.host.extents(id, words).iterations(),
                    "checked"
                );
            }
        }
        all
    }

    fn loaded(&self, shared: &Shared, form: Form) -> Result<&LoadedForm> {
        let slot = &self.forms[match form {
            Form::Proven => 0,
            Form::Checked => 1,
        }];
        if let Some(loaded) = slot.loaded.get() {
            return Ok(loaded);
        }
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

/// How the tasks together use each parameter.
fn touches(kernel: &Offloaded) -> Vec<Option<bool>> {
    let mut touches = vec![None; kernel.params.len()];
    for access in kernel.tasks.iter().flat_map(|task| &task.accesses) {
        let touch = &mut touches[access.param.index()];
        *touch = Some(touch.unwrap_or(false) || access.write || access.atomic);
    }
    touches
}

/// Fills an argument block: what all launches have, then the arguments.
fn fill(words: &mut [u64], head: [u64; FIRST_PARAM_WORD], args: &[ArgKind<'_>]) {
    let mut left = words.iter_mut();
    let mut put = |word: u64| {
        if let Some(place) = left.next() {
            *place = word;
        }
    };
    head.into_iter().for_each(&mut put);
    for arg in args {
        match arg {
            ArgKind::Scalar(value) => put(value.bits()),
            ArgKind::Host(_) => {}
            ArgKind::Tensor(tensor) => {
                let Some(component) = tensor.component else {
                    put(tensor.core.address().raw());
                    tensor.shape.iter().for_each(|extent| put(*extent as u64));
                    continue;
                };
                put(tensor.core.address_of(component).raw());
                tensor.shape.iter().for_each(|extent| put(*extent as u64));
                if component.scalars > 1 {
                    put(component.scalars as u64);
                }
                put(component.step as u64);
                put(component.plane as u64);
            }
        }
    }
}

fn check_arguments(kernel: &Offloaded, args: &[ArgKind<'_>]) -> Result<()> {
    let params = &kernel.params;
    let fit = args.len() == params.len()
        && args.iter().zip(params).all(|(arg, param)| arg.fits(param.kind));
    if fit { Ok(()) } else { Err(argument_error(kernel, args)) }
}

#[cold]
fn argument_error(kernel: &Offloaded, args: &[ArgKind<'_>]) -> Error {
    let fits = |at: &usize| match (args.get(*at), kernel.params.get(*at)) {
        (Some(arg), Some(param)) => arg.fits(param.kind),
        _ => false,
    };
    let at = (0..).find(|at| !fits(at)).unwrap_or(0);
    let nothing = || "nothing".to_owned();
    Error::Argument {
        kernel: kernel.name.clone(),
        position: at + 1,
        given: args.get(at).map_or_else(nothing, ArgKind::describe),
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
fn race_error(kernel: &Offloaded, race: Race) -> Error {
    Error::Race {
        kernel: kernel.name.clone(),
        file: kernel.file.clone(),
        line: kernel.tasks[race.task.index()].line,
        tensor: match race.object {
            Touched::Tensor(tensor) => kernel.params[tensor.index()].name.clone(),
            Touched::Shared(array) => kernel.locals[array].name.clone(),
        },
        lines: race.sites.map(|site| kernel.sites[site.index()].line),
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
pub(crate) fn launch_config(extents: &[u64], block_size: Option<u32>) -> LaunchConfig {
    const LIMIT_YZ: u64 = 65_535;
    let blocks =
        |n: u64, block: u32, limit: u64| n.div_ceil(u64::from(block)).clamp(1, limit) as u32;
    match *extents {
        [n] => LaunchConfig::linear(n, block_size.unwrap_or(256)),
        [rows, columns] => {
            let [x, y] = block_size.map_or([64, 4], |size| [size.min(64), (size / 64).max(1)]);
            LaunchConfig {
                grid_dim: [blocks(columns, x, i32::MAX as u64), blocks(rows, y, LIMIT_YZ), 1],
                block_dim: [x, y, 1],
                shared_bytes: 0,
            }
        }
        [planes, rows, columns] => {
            let [x, y, z] = match block_size {
                Some(size) => [size.min(32), (size / 32).clamp(1, 4), (size / 128).max(1)],
                None => [32, 4, 2],
            };
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
                let config = launch_config(extents, Some(size));
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
