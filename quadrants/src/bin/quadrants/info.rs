//! `quadrants info`: the backends, devices and compilers of this machine.

use std::io::Write;

use clap::Args;
use quadrants::{
    Arch,
    rhi::{Capabilities, DeviceInfo, Driver},
};
use serde_json::{Map, Value, json};

use crate::{CommandError, cache, text};

/// The version of the JSON form. It grows when the meaning of a field changes or a field is removed, not when one is
/// added.
const SCHEMA: u32 = 1;

#[derive(Args)]
pub(crate) struct Options {
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// A backend that is built in.
struct BackendReport {
    arch: Arch,
    state: State,
}

enum State {
    /// The driver's library is missing, or does not work.
    Missing(String),
    Driver {
        version: String,
        library: Option<String>,
        /// Why there is no device, if there is none.
        no_device: Option<String>,
        /// Or why the driver cannot count its devices.
        devices: Result<Vec<DeviceReport>, String>,
    },
}

/// A device, or why it cannot be opened.
type DeviceReport = Result<OpenDevice, String>;

struct OpenDevice {
    info: DeviceInfo,
    can: Capabilities,
    details: Vec<(&'static str, String)>,
    compiler: Compiler,
}

#[derive(PartialEq, Eq)]
enum Compiler {
    NotNeeded,
    Found { identity: String, library: Option<String> },
    Missing(String),
}

pub(crate) fn run(options: &Options, out: &mut dyn Write) -> Result<(), CommandError> {
    let backends: Vec<_> = Arch::ALL.iter().map(|arch| BackendReport::of(*arch)).collect();
    if options.json {
        let backends = backends.iter().map(BackendReport::json);
        let left_out = Arch::LEFT_OUT.iter().map(|name| left_out_json(name));
        let all: Vec<Value> = backends.chain(left_out).collect();
        let report = json!({
            "schema": SCHEMA,
            "version": env!("CARGO_PKG_VERSION"),
            "backends": all,
            "cache": cache_json()?,
        });
        return Ok(writeln!(out, "{report:#}")?);
    }
    for backend in &backends {
        backend.print(out)?;
    }
    for name in Arch::LEFT_OUT {
        writeln!(out, "{name}: not built in\n  to use it: {}", feature_help(name))?;
    }
    match quadrants::cache_folder() {
        None => writeln!(out, "kernel cache: off")?,
        Some(folder) => {
            let usage = cache::usage(&folder)?;
            let (kernels, bytes) = (text::count_of(usage.kernels, "kernel"), usage.bytes);
            writeln!(out, "kernel cache: {}: {kernels}, {}", folder.display(), text::bytes(bytes))?;
        }
    }
    Ok(())
}

fn feature_help(name: &str) -> String {
    format!("build with the feature `{name}`")
}

fn left_out_json(name: &str) -> Value {
    json!({
        "name": name,
        "status": "not built in",
        "reason": null,
        "install": feature_help(name),
        "driver": null,
        "devices": [],
    })
}

fn cache_json() -> Result<Value, CommandError> {
    let Some(folder) = quadrants::cache_folder() else { return Ok(Value::Null) };
    let usage = cache::usage(&folder)?;
    let folder = folder.to_string_lossy();
    Ok(json!({ "folder": folder, "kernels": usage.kernels, "bytes": usage.bytes }))
}

impl BackendReport {
    fn of(arch: Arch) -> Self {
        let state = match arch.driver() {
            Err(error) => State::Missing(text::split_remedy(&error.to_string()).0),
            Ok(driver) => State::Driver {
                version: driver.version(),
                library: driver.library().map(str::to_owned),
                no_device: no_device(&*driver),
                devices: driver.device_count().map_err(|error| error.to_string()).map(|count| {
                    (0..count).map(|ordinal| device(arch, &*driver, ordinal)).collect()
                }),
            },
        };
        Self { arch, state }
    }

    fn print(&self, out: &mut dyn Write) -> Result<(), CommandError> {
        let Self { arch, state } = self;
        match state {
            State::Missing(reason) => writeln!(out, "{arch}: not available: {reason}")?,
            State::Driver { version, no_device: Some(reason), .. } => {
                writeln!(out, "{arch}: driver {version}, no device: {reason}")?;
            }
            State::Driver { version, devices, .. } => match devices {
                Ok(devices) => {
                    writeln!(out, "{arch}: driver {version}")?;
                    print_devices(devices, out)?;
                }
                Err(error) => writeln!(out, "{arch}: driver {version}: {error}")?,
            },
        }
        if self.needs_installation() {
            writeln!(out, "  to use it: {}", arch.installation())?;
        }
        Ok(())
    }

    /// Whether it has a device that can be opened.
    fn is_ready(&self) -> bool {
        let State::Driver { devices: Ok(devices), .. } = &self.state else { return false };
        devices.iter().any(Result::is_ok)
    }

    /// Whether something is missing: a device, or its compiler.
    fn needs_installation(&self) -> bool {
        let State::Driver { devices: Ok(devices), .. } = &self.state else { return true };
        let lacks_compiler = |device: &OpenDevice| matches!(device.compiler, Compiler::Missing(_));
        !self.is_ready() || devices.iter().flatten().any(lacks_compiler)
    }

    fn json(&self) -> Value {
        let (status, reason, driver, devices) = match &self.state {
            State::Missing(reason) => ("missing", Some(reason.as_str()), Value::Null, &[][..]),
            State::Driver { version, library, no_device, devices } => {
                let driver = json!({ "version": version, "library": library });
                match devices {
                    Err(error) => ("failed", Some(error.as_str()), driver, &[][..]),
                    Ok(devices) if devices.is_empty() => {
                        ("no device", no_device.as_deref(), driver, &[][..])
                    }
                    Ok(devices) if self.is_ready() => ("ready", None, driver, &devices[..]),
                    Ok(devices) => ("failed", None, driver, &devices[..]),
                }
            }
        };
        let devices: Vec<Value> = devices
            .iter()
            .enumerate()
            .map(|(ordinal, device)| match device {
                Ok(device) => device.json(),
                Err(error) => json!({ "ordinal": ordinal, "error": error }),
            })
            .collect();
        json!({
            "name": self.arch.name(),
            "status": status,
            "reason": reason,
            "install": self.needs_installation().then(|| self.arch.installation()),
            "driver": driver,
            "devices": devices,
        })
    }
}

/// Why the driver has no device; none where it has one, or cannot tell.
fn no_device(driver: &dyn Driver) -> Option<String> {
    let is_none = driver.device_count().is_ok_and(|count| count == 0);
    is_none.then(|| driver.open(0).map_or_else(|error| error.to_string(), |_| String::new()))
}

fn device(arch: Arch, driver: &dyn Driver, ordinal: usize) -> DeviceReport {
    let opened = arch.open_with(driver, ordinal).map_err(|error| error.to_string())?;
    let compiler = match &opened.compiler {
        None => Compiler::NotNeeded,
        Some(compiler) => match compiler.identity() {
            Ok(identity) => {
                let library = compiler.library().map(|path| path.display().to_string());
                Compiler::Found { identity, library }
            }
            Err(error) => Compiler::Missing(error.to_string()),
        },
    };
    Ok(OpenDevice {
        info: opened.device.info().clone(),
        can: opened.device.capabilities().clone(),
        details: arch.details(&*opened.device),
        compiler,
    })
}

/// Prints the devices, each run of equal ones once.
fn print_devices(devices: &[DeviceReport], out: &mut dyn Write) -> Result<(), CommandError> {
    let texts: Vec<String> = devices
        .iter()
        .map(|device| match device {
            Ok(device) => device.lines().join("\n     "),
            Err(error) => error.clone(),
        })
        .collect();
    let mut first = 0;
    for run in texts.chunk_by(PartialEq::eq) {
        let last = first + run.len() - 1;
        let ordinals = if first == last { first.to_string() } else { format!("{first} to {last}") };
        writeln!(out, "  {ordinals}: {}", run[0])?;
        first = last + 1;
    }
    Ok(())
}

impl OpenDevice {
    /// The description without the ordinal.
    fn lines(&self) -> Vec<String> {
        let Self { info, can, details, compiler } = self;
        let kind = if info.simulated { ", simulated" } else { "" };
        let mut lines = vec![
            format!("{} ({}{kind})", info.name, info.arch),
            format!("memory: {} MiB", info.total_memory >> 20),
            match &can.stream_ordered_memory_reason {
                None => "stream-ordered memory: yes".to_owned(),
                Some(reason) => format!("stream-ordered memory: no, {reason}"),
            },
            format!("graphs: {}", if can.graphs { "yes" } else { "no" }),
        ];
        lines.extend(details.iter().map(|(name, value)| format!("{name}: {value}")));
        lines.push(match compiler {
            Compiler::NotNeeded => "compiler: not needed".to_owned(),
            Compiler::Found { identity, library: None } => format!("compiler: {identity}"),
            Compiler::Found { identity, library: Some(path) } => {
                format!("compiler: {identity} ({path})")
            }
            Compiler::Missing(error) => format!("compiler: {error}"),
        });
        lines
    }

    fn json(&self) -> Value {
        let Self { info, can, details, compiler } = self;
        let details: Map<String, Value> =
            details.iter().map(|(name, value)| ((*name).to_owned(), json!(value))).collect();
        let (is_needed, identity, library, error) = match compiler {
            Compiler::NotNeeded => (false, None, None, None),
            Compiler::Found { identity, library } => (true, Some(identity), library.as_ref(), None),
            Compiler::Missing(error) => (true, None, None, Some(error)),
        };
        json!({
            "ordinal": info.ordinal,
            "name": info.name,
            "arch": info.arch,
            "simulated": info.simulated,
            "memory_bytes": info.total_memory,
            "multiprocessors": info.multiprocessors,
            "warp_size": info.warp_size,
            "stream_ordered_memory": can.stream_ordered_memory,
            "stream_ordered_memory_reason": can.stream_ordered_memory_reason,
            "graphs": can.graphs,
            "details": details,
            "compiler": {
                "needed": is_needed,
                "version": identity,
                "library": library,
                "error": error,
            },
            "error": null,
        })
    }
}

#[cfg(all(test, feature = "cuda"))]
mod tests {
    use quadrants::rhi::ImageKind;

    use super::*;

    /// A device without a compiler is ready for exported kernels; for others, something must be installed.
    #[test]
    fn a_missing_compiler_is_told_beside_its_device() {
        let info = DeviceInfo::new("cuda", 0, "Some GPU".to_owned(), "sm_90".to_owned());
        let device = OpenDevice {
            info,
            can: Capabilities::new(ImageKind::Binary),
            details: Vec::new(),
            compiler: Compiler::Missing("nvrtc was not found".to_owned()),
        };
        let devices = Ok(vec![Ok(device), Err("the second is broken".to_owned())]);
        let state =
            State::Driver { version: "13.0".to_owned(), library: None, no_device: None, devices };
        let report = BackendReport { arch: Arch::Cuda, state };
        let json = report.json();
        assert_eq!(json["status"], "ready");
        assert_eq!(json["install"], Arch::Cuda.installation());
        assert_eq!(json["devices"][0]["compiler"]["error"], "nvrtc was not found");
        assert_eq!(json["devices"][1]["error"], "the second is broken");
        let mut text = Vec::new();
        report.print(&mut text).expect("memory");
        let text = String::from_utf8(text).expect("UTF-8");
        assert!(text.contains("\n     compiler: nvrtc was not found\n"), "{text}");
        assert!(text.contains("\n  1: the second is broken\n  to use it: "), "{text}");
    }
}
