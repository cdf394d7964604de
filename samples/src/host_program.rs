//! Runs kernels' text with the host's C++ compiler, for machines without a GPU. A header emulates the device, and a
//! grid runs thread by thread.

use std::{
    env,
    fmt::Write as _,
    fs, io,
    io::Write as _,
    path::PathBuf,
    process::{Command, Stdio},
    sync::atomic::{AtomicU32, Ordering},
    thread,
};

use quadrants_ir::{Offloaded, abi::Passing};

use super::case::Case;

/// The header that emulates the device.
const HEADER: &str = include_str!("host.hpp");
/// Added to the number of threads of a task with blocks, to mark it.
const BLOCKS: u64 = 1 << 32;

/// The source text of a kernel. The names of the kernels of a program must be unique.
#[derive(Clone, Debug)]
pub struct HostText<'a> {
    /// The kernel.
    pub kernel: &'a Offloaded,
    /// The source text, in the dialect of any backend.
    pub text: String,
    /// How the functions receive their arguments.
    pub passing: Passing,
}

/// Kernels compiled into a host program. Dropping it deletes the program.
#[derive(Debug)]
pub struct HostProgram {
    folder: PathBuf,
}

/// How thoroughly a program is checked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Checks {
    /// Shortest total time.
    None,
    /// With the compiler's undefined behaviour sanitizer if available. Not optimized then: that removes the checks of
    /// values that are not used.
    Undefined,
}

impl HostProgram {
    /// Compiles kernels. None if there is no C++ compiler.
    ///
    /// # Errors
    /// The output of each compiler if none accepts the text, and I/O errors.
    pub fn build(kernels: &[HostText<'_>], checks: Checks) -> Result<Option<Self>, String> {
        let program = Self { folder: folder().map_err(|e| e.to_string())? };
        let source = program.folder.join("kernels.cpp");
        fs::write(program.folder.join("host.hpp"), HEADER).map_err(|e| e.to_string())?;
        fs::write(&source, whole_text(kernels)).map_err(|e| e.to_string())?;
        // No builtins: constant folding of library calls may differ from the library in the last bits.
        let fast = ["-O0", "-fno-builtin"];
        let undefined =
            ["-O0", "-fsanitize=undefined,float-cast-overflow", "-fno-sanitize-recover=all"];
        let mut compilers = vec!["c++", "g++", "clang++", "clang++-19"];
        let flag_sets: &[&[&str]] = match checks {
            Checks::None => {
                // Clang takes half the time.
                compilers.reverse();
                &[&fast]
            }
            Checks::Undefined => &[&undefined, &["-O1"]],
        };
        let mut outputs = Vec::new();
        let own = env::var("CXX");
        for compiler in own.as_deref().into_iter().chain(compilers) {
            for flags in flag_sets {
                let ran = Command::new(compiler)
                    .args(["-std=c++17", "-w", "-pthread", "-ffp-contract=off"])
                    .args(*flags)
                    .arg(&source)
                    .arg("-o")
                    .arg(program.folder.join("kernels"))
                    .output();
                let Ok(ran) = ran else { continue };
                if ran.status.success() {
                    return Ok(Some(program));
                }
                outputs.push(format!("{compiler}: {}", String::from_utf8_lossy(&ran.stderr)));
            }
        }
        if outputs.is_empty() { Ok(None) } else { Err(outputs.join("\n")) }
    }

    /// Runs cases, each with the index of its kernel. Returns the buffers after each case. If the program crashes, that
    /// case and the following ones are missing.
    ///
    /// # Errors
    /// The program cannot be started.
    pub fn run(&self, cases: &[(usize, &Case<'_>)]) -> io::Result<ProgramRun> {
        let input: Vec<u8> = cases.iter().flat_map(|(at, case)| encode(*at, case)).collect();
        let mut child = Command::new(self.folder.join("kernels"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let stdin = child.stdin.take();
        let output = thread::scope(|scope| {
            scope.spawn(move || {
                // A crashed program reads no more input; the cases it did not run are missing.
                stdin.map(|mut stdin| stdin.write_all(&input))
            });
            child.wait_with_output()
        })?;
        let mut rest = &output.stdout[..];
        let mut outputs = Vec::new();
        for (_, case) in cases {
            let lengths = case.buffers.iter().map(|buffer| buffer.bytes.len().next_multiple_of(8));
            if rest.len() < lengths.sum() {
                break;
            }
            let take = |buffer: &super::case::Buffer| {
                let (found, after) = rest.split_at(buffer.bytes.len().next_multiple_of(8));
                rest = after;
                found[..buffer.bytes.len()].to_vec()
            };
            outputs.push(case.buffers.iter().map(take).collect());
        }
        Ok(ProgramRun { outputs, stderr: String::from_utf8_lossy(&output.stderr).into_owned() })
    }
}

/// The result of running a program.
#[derive(Clone, Debug)]
pub struct ProgramRun {
    /// The buffers after each case that was completed.
    pub outputs: Vec<Vec<Vec<u8>>>,
    /// The output of a crashed program.
    pub stderr: String,
}

impl Drop for HostProgram {
    fn drop(&mut self) {
        // In the system's folder for temporary files.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn folder() -> io::Result<PathBuf> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let folder = env::temp_dir().join(format!("quadrants-host-{}-{number}", std::process::id()));
    fs::create_dir_all(&folder)?;
    Ok(folder)
}

fn whole_text(kernels: &[HostText<'_>]) -> String {
    let mut text = "#include \"host.hpp\"\n".to_owned();
    let mut dispatch = String::new();
    for (at, HostText { kernel, text: printed, passing }) in kernels.iter().enumerate() {
        // The memory of dynamic arrays is part of a launch on a device.
        let printed =
            printed.replace("extern __shared__ u8 qd_shared[]", "static u8 qd_shared[65536]");
        let _ = writeln!(text, "namespace k{at} {{\n{printed}}}");
        // The threads of a block wait for each other, so they must run concurrently.
        let barriers = if printed.contains("__syncthreads") { "true" } else { "barriers" };
        for (task, _) in kernel.tasks() {
            let function = kernel.function_name(task);
            let argument = if *passing == Passing::Value { "args" } else { "&args" };
            let _ = writeln!(
                dispatch,
                "    if (kernel == {at} && task == {}) return run_grid<k{at}::qd_args>(words, count, grid, block, {barriers}, \
                 [](const k{at}::qd_args& args) {{ k{at}::{function}({argument}); }});",
                task.raw()
            );
        }
    }
    text + &format!(
        "static void run_task(uint64_t kernel, uint64_t task, const uint64_t* words, size_t count, \
         Place grid, Place block, bool barriers) {{\n{dispatch}}}\n"
    )
}

/// The input format of the header's `main`.
fn encode(kernel: usize, case: &Case<'_>) -> Vec<u8> {
    let mut words = vec![kernel as u64, u64::from(case.large), case.words.len() as u64];
    words.extend(&case.words);
    words.push(case.buffers.len() as u64);
    let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    for buffer in &case.buffers {
        bytes.extend((buffer.word as u64).to_le_bytes());
        bytes.extend((buffer.bytes.len().next_multiple_of(8) as u64).to_le_bytes());
        bytes.extend(&buffer.bytes);
        bytes.resize(bytes.len().next_multiple_of(8), 0);
    }
    bytes.extend((case.tasks.len() as u64).to_le_bytes());
    for &task in &case.tasks {
        bytes.extend(u64::from(task.raw()).to_le_bytes());
        let grid = match case.kernel.tasks[task.index()].kind.threads() {
            // A one-dimensional grid of blocks.
            Some(threads) => BLOCKS + u64::from(threads),
            None => case.rank(task) as u64,
        };
        bytes.extend(grid.to_le_bytes());
    }
    bytes
}
