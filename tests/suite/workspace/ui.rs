//! Compile errors of invalid kernels: `tests/ui` has a program per subject, and beside it the messages of rustc.
//!
//! rustc is called directly, with the library that cargo built for this test, so that nothing is built twice. After a
//! change of the messages, `QUADRANTS_BLESS=1` rewrites the files; review the difference.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};

use serde_json::Value;

use super::metadata::list;

/// What the messages depend on and the files do not contain: each text with its placeholder.
struct Placeholders(Vec<(String, &'static str)>);

#[test]
fn compile_errors_have_the_recorded_messages() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let library = library();
    let placeholders = placeholders(folder);
    let mut programs: Vec<PathBuf> = fs::read_dir(folder.join("ui"))
        .expect("tests/ui exists")
        .map(|entry| entry.expect("the folder is readable").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
        .collect();
    programs.sort();
    assert!(!programs.is_empty(), "no programs in tests/ui");
    let bless = env::var_os("QUADRANTS_BLESS").is_some();
    let output = tempfile::tempdir().expect("a temporary folder can be made");
    let next = AtomicUsize::new(0);
    let check_all = || {
        let mut differences = Vec::new();
        while let Some(program) = programs.get(next.fetch_add(1, Ordering::Relaxed)) {
            let found = messages(program, &library, output.path(), &placeholders);
            let file = program.with_extension("stderr");
            if bless {
                fs::write(&file, &found).expect("the file can be written");
            }
            let recorded = fs::read_to_string(&file).unwrap_or_default();
            if found != recorded {
                let name = program.display();
                differences.push(format!("{name}: recorded\n{recorded}\nfound\n{found}"));
            }
        }
        differences
    };
    let threads = thread::available_parallelism().map_or(2, usize::from);
    let differences: Vec<String> = thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(check_all)).collect();
        workers.into_iter().flat_map(|worker| worker.join().expect("a check panicked")).collect()
    });
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

/// The facade's library: that of `QUADRANTS_TEST_LIBRARY`, or else from cargo, which has just built it.
fn library() -> PathBuf {
    if let Some(library) = env::var_os("QUADRANTS_TEST_LIBRARY") {
        return library.into();
    }
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--quiet", "--tests", "--message-format=json"]);
    cargo.args(["--package", env!("CARGO_PKG_NAME")]).current_dir(env!("CARGO_MANIFEST_DIR"));
    if !cfg!(debug_assertions) {
        cargo.arg("--release");
    }
    let output = cargo.output().expect("cargo starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let messages = output.stdout.split(|&byte| byte == b'\n');
    let messages = messages.filter_map(|line| serde_json::from_slice::<Value>(line).ok());
    let files = messages
        .filter(|message| message["target"]["name"] == "quadrants")
        .flat_map(|message| list(&message, "filenames").to_vec());
    let mut libraries = files.filter_map(|file| file.as_str().map(PathBuf::from));
    let is_library = |file: &PathBuf| file.extension().is_some_and(|kind| kind == "rlib");
    libraries.find(is_library).expect("cargo names the library")
}

fn placeholders(folder: &Path) -> Placeholders {
    let read = |args: &[&str]| {
        let output = rustc().args(args).output().expect("rustc starts");
        String::from_utf8(output.stdout).expect("rustc prints UTF-8")
    };
    let verbose = read(&["-vV"]);
    let hash = verbose.lines().find_map(|line| line.strip_prefix("commit-hash: "));
    let sysroot = read(&["--print", "sysroot"]);
    let workspace = folder.parent().expect("the tests are in a workspace");
    Placeholders(vec![
        (format!("/rustc/{}/library", hash.unwrap_or("unknown")), "$RUST"),
        (format!("{}/lib/rustlib/src/rust/library", sysroot.trim_end()), "$RUST"),
        (format!("{}/", workspace.display()), ""),
    ])
}

fn rustc() -> Command {
    Command::new(env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()))
}

/// What rustc prints for a program, with placeholders and without its closing summary.
fn messages(program: &Path, library: &Path, output: &Path, placeholders: &Placeholders) -> String {
    let mut rustc = rustc();
    rustc.current_dir(env!("CARGO_MANIFEST_DIR"));
    let name = program.file_name().expect("a file has a name");
    rustc.arg(Path::new("ui").join(name));
    rustc.args(["--edition", "2024", "--crate-type", "bin", "--emit=metadata", "--color=never"]);
    rustc.arg("-o").arg(output.join(name).with_extension("rmeta"));
    rustc.arg("--extern").arg(format!("quadrants={}", library.display()));
    let folder = library.parent().expect("a library is in a folder");
    for folder in [folder.to_owned(), folder.join("deps")] {
        rustc.arg("-L").arg(format!("dependency={}", folder.display()));
    }
    let result = rustc.output().expect("rustc starts");
    assert!(!result.status.success(), "{} compiles", program.display());
    normalize(&String::from_utf8_lossy(&result.stderr), placeholders)
}

fn normalize(text: &str, placeholders: &Placeholders) -> String {
    let mut lines = Vec::new();
    let mut in_foreign_file = false;
    for line in text.lines() {
        let is_summary =
            ["error: aborting due to", "For more information about", "Some errors have"]
                .iter()
                .any(|start| line.starts_with(start));
        if is_summary {
            continue;
        }
        let mut line = line.to_owned();
        for (text, placeholder) in &placeholders.0 {
            line = line.replace(text, placeholder);
        }
        // Of files other than the program the path alone: the rest changes without the messages.
        if let Some(at) = ["--> ", "::: "].iter().find_map(|mark| Some(line.find(mark)? + 4)) {
            in_foreign_file = !line[at..].starts_with("ui/");
            if in_foreign_file {
                let end = line[at..].find(".rs:").map_or(line.len(), |end| at + end + 3);
                let path = line[at..end].to_owned();
                let registry = path.find("/registry/src/").map(|at| at + "/registry/src/".len());
                let package = registry.and_then(|at| path[at..].split('/').nth(1));
                let package = package.map(|name| name.rsplit_once('-').map_or(name, |n| n.0));
                line.truncate(at);
                line.push_str(package.unwrap_or(&path));
            }
        } else if in_foreign_file {
            let rest = line.trim_start().trim_start_matches(|c: char| c.is_ascii_digit());
            in_foreign_file = rest.trim_start().starts_with('|') || rest.starts_with("...");
            if in_foreign_file {
                continue;
            }
        }
        if line.trim_start().starts_with("and ") && line.ends_with(" others") {
            line.truncate(line.find("and ").unwrap_or_default());
            line.push_str("and $N others");
        }
        lines.push(line);
    }
    lines.join("\n").trim_end().to_owned() + "\n"
}
