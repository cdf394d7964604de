//! `quadrants doctor`: each step from the driver's library to the result of a kernel, until one fails.

use std::{fmt::Display, fs, io::Write, path::Path, sync::Arc};

use clap::Args;
use quadrants::{
    self as qd, Arch, Opened, Program, Tensor,
    rhi::{self, Device, Driver, StreamHandle},
};

use crate::{CommandError, parse_arch, text};

/// The bytes of the memory test.
const TESTED_BYTES: usize = 1 << 20;
/// The elements of the kernel's tensors.
const N: usize = 1000;

#[derive(Args)]
pub(crate) struct Options {
    /// The backends to try [default: the one that programs use].
    #[arg(long, value_name = "NAME", value_parser = parse_arch)]
    arch: Vec<Arch>,
}

/// What a step that failed says.
struct Problem {
    what: String,
    remedy: String,
}

/// The result of a step, with what is printed.
type StepResult<T> = Result<(T, String), Problem>;

/// Prints steps as they happen. After one that fails, the others are skipped.
struct Steps<'a> {
    out: &'a mut dyn Write,
    has_failed: bool,
}

/// A small kernel with a branch. The caller makes one element negative, so that both sides run.
#[qd::kernel]
fn doctor(by: f32, x: &Tensor<f32, 1>, y: &mut Tensor<f32, 1>) {
    for i in 0..x.len() {
        if x[i] < 0.0 {
            y[i] = 0.0;
        } else {
            y[i] = by * x[i] + 1.0;
        }
    }
}

pub(crate) fn run(options: &Options, out: &mut dyn Write) -> Result<(), CommandError> {
    let archs =
        if options.arch.is_empty() { backends_of_environment(out)? } else { options.arch.clone() };
    let mut has_failed = false;
    for arch in archs {
        writeln!(out, "{arch}")?;
        let mut steps = Steps { out: &mut *out, has_failed: false };
        try_all(arch, &mut steps)?;
        has_failed |= steps.has_failed;
    }
    if has_failed { Err(CommandError::Printed) } else { Ok(()) }
}

/// The backend that a program of this environment uses, after a line for each that it prefers and cannot use.
fn backends_of_environment(out: &mut dyn Write) -> Result<Vec<Arch>, CommandError> {
    if let Some(name) = rhi::environment::text(qd::ARCH_VARIABLE)? {
        return Ok(vec![name.parse()?]);
    }
    for arch in Arch::ALL {
        match arch.driver().and_then(|driver| driver.open(0)) {
            Ok(_) => return Ok(vec![*arch]),
            Err(error) => {
                let (what, _) = text::split_remedy(&error.to_string());
                writeln!(out, "{arch} is not used: {what} (`--arch {arch}` tries each step)")?;
            }
        }
    }
    Ok(Arch::ALL.to_vec())
}

fn try_all(arch: Arch, steps: &mut Steps<'_>) -> Result<(), CommandError> {
    let driver = try_driver(arch, steps)?;
    let driver = driver.as_deref();
    steps.run("device", || {
        let driver = needed(driver)?;
        let count = driver.device_count().map_err(problem(arch.installation()))?;
        match count {
            0 => {
                let none = driver.open(0).err();
                let what = none.map_or("the driver reports no device".to_owned(), |error| {
                    text::split_remedy(&error.to_string()).0
                });
                Err(Problem {
                    what,
                    remedy: "check that the device is visible to this user, container or machine"
                        .to_owned(),
                })
            }
            count => Ok(((), text::count_of(count as u64, "device"))),
        }
    })?;
    let opened = steps.run("context", || {
        let opened = arch.open_with(needed(driver)?, 0);
        let opened =
            opened.map_err(problem("close programs that use the device, or restart the driver"))?;
        let info = opened.device.info();
        let kind = if info.simulated { ", simulated" } else { "" };
        let said = format!("{} ({}{kind})", info.name, info.arch);
        Ok((opened, said))
    })?;
    let opened = opened.as_ref();
    steps.run("memory", || memory(&*needed(opened)?.device))?;
    steps.run("compiler", || match &needed(opened)?.compiler {
        None => Ok(((), "not needed".to_owned())),
        Some(compiler) => {
            let identity = compiler.identity().map_err(problem(arch.installation()))?;
            let path = compiler.library().map(|path| format!(" ({})", path.display()));
            Ok(((), identity + &path.unwrap_or_default()))
        }
    })?;
    try_kernel(opened, steps)?;
    steps.run("cache", || match qd::cache_folder() {
        None => Ok(((), "off".to_owned())),
        Some(folder) => match qd::check_cache_folder(&folder) {
            Ok(()) => Ok(((), format!("{} is writable", folder.display()))),
            Err(error) => Err(Problem {
                what: format!("cannot write to `{}`: {error}", folder.display()),
                remedy:
                    "make the folder writable, or set QUADRANTS_CACHE to another folder or to `off`"
                        .to_owned(),
            }),
        },
    })?;
    Ok(())
}

/// The library, and the driver in it.
fn try_driver(arch: Arch, steps: &mut Steps<'_>) -> Result<Option<Arc<dyn Driver>>, CommandError> {
    let driver = arch.driver();
    steps.run("library", || match &driver {
        Err(error @ rhi::Error::LibraryNotFound { .. }) => Err(problem(arch.installation())(error)),
        Err(_) => Ok(((), "found".to_owned())),
        Ok(driver) => {
            let said = driver.library().map_or("built in".to_owned(), loaded_path);
            Ok(((), said))
        }
    })?;
    steps.run("driver", || {
        let driver = driver.map_err(|error| problem(arch.installation())(&error))?;
        let version = driver.version();
        Ok((driver, format!("version {version}")))
    })
}

/// A kernel of its own, and two streams of which one waits for the other.
fn try_kernel(opened: Option<&Opened>, steps: &mut Steps<'_>) -> Result<(), CommandError> {
    const DRIVER: &str =
        "update the driver; if that does not help, report this as an error of Quadrants";
    let program = steps.run("program", || {
        // Without the cache, so that the compiler really runs.
        let opened = needed(opened)?;
        let opened = Opened { device: opened.device.clone(), compiler: opened.compiler.clone() };
        let program = Program::builder().cache(None).open(opened);
        Ok((program.map_err(problem(DRIVER))?, "opened".to_owned()))
    })?;
    let program = program.as_ref();
    let host: Vec<f32> = (0..N).map(|i| if i == 7 { -1.0 } else { i as f32 }).collect();
    let once: Vec<f32> = host.iter().map(|x| if *x < 0.0 { 0.0 } else { 2.0 * x + 1.0 }).collect();
    let twice: Vec<f32> = once.iter().map(|x| 3.0 * x + 1.0).collect();
    let tensors = steps.run("tensors", || {
        let program = needed(program)?;
        let x = program.tensor_from(&host, [N]).map_err(problem(DRIVER))?;
        let tensor = || program.zeros::<f32, 1>([N]).map_err(problem(DRIVER));
        Ok(((x, tensor()?, tensor()?), text::count_of(3, "tensor")))
    })?;
    let mut tensors = tensors;
    steps.run("compile", || {
        let (x, y, _) = needed(tensors.as_mut())?;
        let compiled = doctor(2.0, x, y).prepare(needed(program)?);
        compiled.map_err(problem("install another version of the compiler"))?;
        Ok(((), "a kernel".to_owned()))
    })?;
    steps.run("launch", || {
        let (x, y, _) = needed(tensors.as_mut())?;
        doctor(2.0, x, y).launch().map_err(problem(DRIVER))?;
        Ok(((), "on the default stream".to_owned()))
    })?;
    steps.run("result", || {
        let (_, y, _) = needed(tensors.as_ref())?;
        check(&y.to_vec().map_err(problem(DRIVER))?, &once)
    })?;
    steps.run("two streams", || {
        let program = needed(program)?;
        let (x, y, z) = needed(tensors.as_mut())?;
        let mut both = || -> qd::Result<Vec<f32>> {
            let (one, two) = (program.create_stream()?, program.create_stream()?);
            let done = program.create_event()?;
            y.fill(-1.0)?;
            doctor(2.0, x, y).launch_on(&one)?;
            done.record(&one)?;
            done.wait(&two)?;
            doctor(3.0, y, z).launch_on(&two)?;
            z.to_vec()
        };
        check(&both().map_err(problem(DRIVER))?, &twice)
    })?;
    Ok(())
}

impl Steps<'_> {
    /// Runs a step unless an earlier one has failed. An error is one of the output.
    fn run<T>(
        &mut self,
        name: &str,
        step: impl FnOnce() -> StepResult<T>,
    ) -> Result<Option<T>, CommandError> {
        let out = &mut *self.out;
        write!(out, "  {name:12} ")?;
        if self.has_failed {
            writeln!(out, "skipped")?;
            return Ok(None);
        }
        // Seen before the step is done: it may take long, or never return.
        out.flush()?;
        match step() {
            Ok((value, said)) => {
                writeln!(out, "ok       {said}")?;
                Ok(Some(value))
            }
            Err(Problem { what, remedy }) => {
                self.has_failed = true;
                writeln!(out, "failed   {what}\n  {:12} remedy:  {remedy}", "")?;
                Ok(None)
            }
        }
    }
}

/// What an earlier step made. A step whose predecessor failed does not run, so that this does not fail.
fn needed<T>(made: Option<T>) -> Result<T, Problem> {
    made.ok_or_else(|| Problem {
        what: "an earlier step made nothing".to_owned(),
        remedy: "report this as an error of Quadrants".to_owned(),
    })
}

/// Makes a problem of an error, with the remedy that its text names, or else this one.
fn problem<E: Display>(remedy: &str) -> impl FnOnce(E) -> Problem {
    let otherwise = remedy.to_owned();
    move |error| {
        let (what, remedy) = text::split_remedy(&error.to_string());
        let remedy = match remedy.as_deref() {
            // How to install it is known better here.
            Some(remedy) if otherwise.contains("install") => {
                let set = remedy.split_once(", or ").map(|(_, set)| format!("; or {set}"));
                otherwise + &set.unwrap_or_default()
            }
            Some(remedy) => remedy.to_owned(),
            None => otherwise,
        };
        Problem { what, remedy }
    }
}

/// Compares the result of a kernel with that of the host. All its values are exact.
fn check(found: &[f32], expected: &[f32]) -> StepResult<()> {
    match found.iter().zip(expected).position(|(found, expected)| found != expected) {
        None if found.len() == expected.len() => {
            Ok(((), format!("all {} values are right", expected.len())))
        }
        at => {
            let at = at.unwrap_or_default();
            let what = format!("value {at} is {:?}, not {:?}", found.get(at), expected.get(at));
            let remedy = "update driver and compiler; if that does not help, report this as an error of Quadrants";
            Err(Problem { what, remedy: remedy.to_owned() })
        }
    }
}

/// Writes and reads memory of the device; says how much there is.
fn memory(device: &dyn Device) -> StepResult<()> {
    let sent: Vec<u8> = (0..TESTED_BYTES).map(|i| (i % 251) as u8).collect();
    let read = through_device(device, &sent).map_err(problem("free memory of the device"))?;
    if sent != read {
        return Err(Problem {
            what: "what was read from the device's memory is not what was written".to_owned(),
            remedy: "check the device's hardware".to_owned(),
        });
    }
    let tested = format!("{} written and read", text::bytes(TESTED_BYTES as u64));
    let said = match device.memory_info() {
        Ok((free, all)) => format!("{} of {} free; {tested}", text::bytes(free), text::bytes(all)),
        Err(_) => tested,
    };
    Ok(((), said))
}

/// What comes back of bytes that are copied to the device.
fn through_device(device: &dyn Device, sent: &[u8]) -> rhi::Result<Vec<u8>> {
    let (bytes, stream) = (sent.len(), StreamHandle::DEFAULT);
    let mut read = vec![0; bytes];
    let memory = device.alloc(bytes)?;
    // SAFETY: the memory and both host arrays have these bytes, and live until the wait below has returned. The default
    // stream always exists.
    let copied = unsafe {
        device
            .copy_htod_async(memory, sent.as_ptr(), bytes, stream)
            .and_then(|()| device.copy_dtoh_async(read.as_mut_ptr(), memory, bytes, stream))
    };
    let waited = device.synchronize();
    // SAFETY: the memory is from `alloc`. Nothing uses it: the wait has returned, or the context is lost.
    let freed = unsafe { device.free(memory) };
    copied.and(waited).and(freed)?;
    Ok(read)
}

/// The path of a loaded library: where the system has found it, if that is known.
fn loaded_path(name: &str) -> String {
    let base = Path::new(name).file_name().unwrap_or_default().to_string_lossy();
    let base = base.split_inclusive(".so").next().unwrap_or_default();
    let maps = fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let paths = maps.lines().filter_map(|line| Some(&line[line.find('/')?..]));
    let mut of_library = paths.filter(|path| {
        Path::new(path).file_name().is_some_and(|file| file.to_string_lossy().starts_with(base))
    });
    of_library.next().unwrap_or(name).to_owned()
}
