//! Compiles modules in a few crates, without those that rustc rejects.
//!
//! rustc is called directly, with the libraries that cargo built for the workspace, so that nothing is built twice.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use quadrants_source_fuzz::Module;
use serde_json::Value;

use crate::FuzzError;

/// The number of modules in one crate.
const TOGETHER: usize = 40;

/// The libraries that generated crates are linked with.
#[derive(Debug)]
pub(crate) struct Library {
    quadrants: PathBuf,
    own: PathBuf,
    pub(crate) target: PathBuf,
}

/// A crate, with the numbers of its modules.
#[derive(Debug)]
pub(crate) struct Binary {
    pub(crate) path: PathBuf,
    pub(crate) numbers: Vec<u64>,
}

/// rustc's errors in a module.
#[derive(Debug, Default)]
pub(crate) struct RustcRejection {
    /// Code and message of the first error, in a line.
    pub(crate) why: String,
    /// All errors.
    pub(crate) rendered: String,
    /// Whether the first error follows from another one.
    echo: bool,
}

/// The crates, and the modules that rustc rejected.
#[derive(Debug, Default)]
pub(crate) struct Built {
    pub(crate) binaries: Vec<Binary>,
    pub(crate) rejected: BTreeMap<u64, RustcRejection>,
}

/// Builds the library with cargo, and finds its files.
pub(crate) fn library() -> Result<Library, FuzzError> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(&cargo);
    command.current_dir(env!("CARGO_MANIFEST_DIR"));
    command.args([
        "build",
        "--quiet",
        "--lib",
        "--message-format=json",
        "--package",
        env!("CARGO_PKG_NAME"),
    ]);
    if !cfg!(debug_assertions) {
        command.arg("--release");
    }
    let start = |source| FuzzError::Start { program: "cargo".to_owned(), source };
    let output = command.stderr(Stdio::inherit()).output().map_err(start)?;
    let mut found = BTreeMap::new();
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let Ok(message) = serde_json::from_str::<Value>(line) else { continue };
        let name = message["target"]["name"].as_str().unwrap_or_default();
        let files = message["filenames"].as_array().into_iter().flatten();
        if let Some(file) = files.filter_map(Value::as_str).find(|file| file.ends_with(".rlib")) {
            found.insert(name.to_owned(), PathBuf::from(file));
        }
    }
    let mut take = |name: &str| {
        let text = format!("cargo named no library `{name}`");
        found.remove(name).ok_or(FuzzError::Library { text })
    };
    let (quadrants, own) = (take("quadrants")?, take("quadrants_source_fuzz")?);
    // In the folder `debug` of the target folder, or in its `deps`.
    let within = own.ancestors().find(|folder| folder.join("deps").is_dir());
    let profile = within.unwrap_or(&own).to_owned();
    let target = profile.parent().unwrap_or(&profile).to_owned();
    Ok(Library { quadrants, own, target })
}

/// Compiles all modules.
pub(crate) fn all(
    library: &Library,
    modules: &[Module],
    folder: &Path,
    opt: &str,
) -> Result<Built, FuzzError> {
    fs::create_dir_all(folder).map_err(at(folder))?;
    // A copy, because the workspace may be built during the run.
    let own = folder.join("libquadrants_source_fuzz.rlib");
    fs::copy(&library.own, &own).map_err(at(&library.own))?;
    for module in modules {
        let path = folder.join(module.file());
        fs::write(&path, &module.source).map_err(at(&path))?;
    }
    let crates: Vec<&[Module]> = modules.chunks(TOGETHER).collect();
    let next = AtomicUsize::new(0);
    let built = Mutex::new(Ok(Built::default()));
    let threads = std::thread::available_parallelism().map_or(2, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let Some(modules) = crates.get(number) else { break };
                    let result = one(library, modules, folder, number, opt);
                    let mut built = built.lock().expect("no thread panics");
                    match (&mut *built, result) {
                        (Ok(built), Ok(mut one)) => {
                            built.binaries.append(&mut one.binaries);
                            built.rejected.append(&mut one.rejected);
                        }
                        (Ok(_), Err(failure)) => *built = Err(failure),
                        (Err(_), _) => {}
                    }
                }
            });
        }
    });
    let mut built = built.into_inner().expect("no thread panics")?;
    built.binaries.sort_by_key(|binary| binary.numbers.first().copied());
    Ok(built)
}

/// Compiles the modules of one crate. Removes those that rustc rejects and repeats, because rustc does not report all
/// errors at once.
fn one(
    library: &Library,
    modules: &[Module],
    folder: &Path,
    number: usize,
    opt: &str,
) -> Result<Built, FuzzError> {
    let mut built = Built::default();
    let name = format!("crate{number}");
    let source = folder.join(format!("{name}.rs"));
    let binary = folder.join(&name);
    let mut checked = false;
    loop {
        let left: Vec<u64> = modules
            .iter()
            .map(|module| module.number)
            .filter(|number| !built.rejected.contains_key(number))
            .collect();
        if left.is_empty() {
            return Ok(built);
        }
        fs::write(&source, root(&left)).map_err(at(&source))?;
        let mut rustc = Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
        rustc.current_dir(folder).arg(&source);
        rustc.args(["--edition", "2024", "--crate-type", "bin", "--error-format=json"]);
        // Integers wrap, as on GPUs. Lints would reject unusual code.
        rustc.args(["-C", "overflow-checks=off", "-C", "debuginfo=0", "--cap-lints", "allow"]);
        rustc.arg("-C").arg(format!("opt-level={opt}"));
        let deps = library.quadrants.parent().unwrap_or(folder);
        let own = library.own.parent().unwrap_or(folder);
        for folder in [deps, own, &deps.join("deps"), &own.join("deps")] {
            rustc.arg("-L").arg(format!("dependency={}", folder.display()));
        }
        rustc.arg("--extern").arg(format!("quadrants={}", library.quadrants.display()));
        rustc.arg("--extern").arg("quadrants_source_fuzz=libquadrants_source_fuzz.rlib");
        if checked {
            rustc.arg("-o").arg(&binary);
        } else {
            rustc.args(["--emit=metadata", "-o"]).arg(folder.join(format!("{name}.rmeta")));
        }
        let start = |source| FuzzError::Start { program: "rustc".to_owned(), source };
        let output = rustc.output().map_err(start)?;
        if output.status.success() {
            if checked {
                built.binaries.push(Binary { path: binary, numbers: left });
                return Ok(built);
            }
            checked = true;
            continue;
        }
        let text = String::from_utf8_lossy(&output.stderr);
        let before = built.rejected.len();
        let mut found: BTreeMap<u64, RustcRejection> = BTreeMap::new();
        let is_lost = text.contains("\"E0463\"");
        for line in text.lines() {
            let Ok(message) = serde_json::from_str::<Value>(line) else { continue };
            if message["level"] != "error" && message["level"] != "error: internal compiler error" {
                continue;
            }
            // The library was rebuilt during the run.
            let lost = message["code"]["code"] == "E0463";
            let number = module_of(&message).or_else(|| of_type(&message));
            if let Some(number) = number.filter(|_| !lost) {
                let why = message["message"].as_str().unwrap_or_default();
                let code = message["code"]["code"].as_str().unwrap_or("-");
                let rendered = message["rendered"].as_str().unwrap_or_default();
                let of = found.entry(number).or_default();
                of.rendered.push_str(rendered);
                // Errors of the library's gate follow from others.
                let echo = why.contains("Gate<") || why.contains("aborting");
                if of.why.is_empty() || of.echo && !echo {
                    of.why = format!("{code}: {}", why.replace('\n', " "));
                    of.echo = echo;
                }
            }
        }
        // An error in one module can cause errors in others: modules with traps are removed first.
        let trapped: Vec<u64> = found
            .iter()
            .filter(|(number, of)| !of.echo && is_trapped(modules, **number))
            .map(|(number, _)| *number)
            .collect();
        if trapped.is_empty() {
            let any = found.values().any(|of| !of.echo);
            found.retain(|_, of| !any || !of.echo);
        } else {
            found.retain(|number, _| trapped.contains(number));
        }
        built.rejected.append(&mut found);
        if built.rejected.len() == before || is_lost {
            let text = text.lines().filter(|line| line.contains("error")).collect::<Vec<_>>();
            let text = text.join("\n").chars().take(4000).collect();
            return Err(FuzzError::Unattributed { crate_name: name, text });
        }
    }
}

fn is_trapped(modules: &[Module], number: u64) -> bool {
    modules.iter().any(|module| module.number == number && !module.traps.is_empty())
}

/// The root of a crate of these modules.
fn root(numbers: &[u64]) -> String {
    let mut text = String::from("//! Generated kernels.\n");
    for number in numbers {
        let _ = writeln!(text, "#[path = \"k{number}.rs\"]\nmod k{number};");
    }
    text.push_str("fn main() -> std::process::ExitCode {\nquadrants_source_fuzz::stage::main(&[\n");
    for number in numbers {
        let _ = writeln!(text, "({number}, k{number}::run),");
    }
    text.push_str("])\n}\n");
    text
}

/// The module of a type that a message names: errors in constants may have no span in the module's file.
fn of_type(message: &Value) -> Option<u64> {
    let rendered = message["rendered"].as_str()?;
    rendered.match_indices("::user::").find_map(|(at, _)| {
        let before = &rendered[..at];
        let digits = before.rsplit(|c: char| !c.is_ascii_digit()).next()?;
        before[..before.len() - digits.len()].ends_with('k').then(|| digits.parse().ok())?
    })
}

/// The module in which a message of rustc has its span.
fn module_of(message: &Value) -> Option<u64> {
    match message {
        Value::Object(fields) => {
            let of_file = fields.get("file_name").and_then(Value::as_str).and_then(|file| {
                let name = Path::new(file).file_name()?.to_str()?;
                name.strip_prefix('k')?.strip_suffix(".rs")?.parse().ok()
            });
            // The first span is the error's location.
            of_file
                .or_else(|| fields.get("spans").and_then(module_of))
                .or_else(|| fields.values().find_map(module_of))
        }
        Value::Array(list) => list.iter().find_map(module_of),
        _ => None,
    }
}

fn at(path: &Path) -> impl FnOnce(std::io::Error) -> FuzzError + '_ {
    move |source| FuzzError::File { path: path.to_owned(), source }
}
