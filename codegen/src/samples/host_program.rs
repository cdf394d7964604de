//! Kernels' text through the host's C++ compiler, which is on most machines where no GPU is: a header stands in for
//! the device, and a grid is run thread by thread.

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

/// What printed kernels need of their compiler.
const HEADER: &str = include_str!("host.hpp");
/// Added to the number of threads that a block of a task has.
const BLOCKS: u64 = 1 << 32;

/// A kernel's text, and how its functions get their arguments. Names of kernels are not twice in a program.
#[derive(Clone, Debug)]
pub struct HostText<'a> {
    /// The kernel.
    pub kernel: &'a Offloaded,
    /// Its text, in the dialect of any backend.
    pub text: String,
    /// As the text was printed.
    pub passing: Passing,
}

/// Kernels as a program, which is deleted at the end.
#[derive(Debug)]
pub struct HostProgram {
    folder: PathBuf,
}

/// How carefully a program is compiled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Checks {
    /// In the shortest time.
    None,
    /// With the compiler's checks for undefined behaviour where it has them, optimized.
    Undefined,
}

impl HostProgram {
    /// Compiles kernels; none where there is no C++ compiler.
    ///
    /// # Errors
    /// What each compiler that there is said, where none took the text; and where files cannot be written.
    pub fn build(kernels: &[HostText<'_>], checks: Checks) -> Result<Option<Self>, String> {
        let program = Self { folder: folder().map_err(|e| e.to_string())? };
        let source = program.folder.join("kernels.cpp");
        fs::write(program.folder.join("host.hpp"), HEADER).map_err(|e| e.to_string())?;
        fs::write(&source, whole_text(kernels)).map_err(|e| e.to_string())?;
        // Calls stay calls: a compiler computes those of constants to other last bits than the library.
        let fast = ["-O0", "-fno-builtin"];
        let undefined =
            ["-O1", "-fsanitize=undefined,float-cast-overflow", "-fno-sanitize-recover=all"];
        let mut compilers = vec!["c++", "g++", "clang++", "clang++-19"];
        let choices: &[&[&str]] = match checks {
            Checks::None => {
                // Clang takes half the time.
                compilers.reverse();
                &[&fast]
            }
            Checks::Undefined => &[&undefined, &["-O1"]],
        };
        let mut said = Vec::new();
        let own = env::var("CXX");
        for compiler in own.as_deref().into_iter().chain(compilers) {
            for flags in choices {
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
                said.push(format!("{compiler}: {}", String::from_utf8_lossy(&ran.stderr)));
            }
        }
        if said.is_empty() { Ok(None) } else { Err(said.join("\n")) }
    }

    /// Runs cases, each of the kernel at that position, and gives what each leaves in its buffers. Where the
    /// program dies, that case and those after it are not there.
    ///
    /// # Errors
    /// Where the program cannot be started.
    pub fn run(&self, cases: &[(usize, &Case<'_>)]) -> io::Result<Ran> {
        let input: Vec<u8> = cases.iter().flat_map(|(at, case)| encode(*at, case)).collect();
        let mut child = Command::new(self.folder.join("kernels"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let stdin = child.stdin.take();
        let output = thread::scope(|scope| {
            scope.spawn(move || {
                // A program that died reads no more; what it did not run is missing then.
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
        Ok(Ran { outputs, said: String::from_utf8_lossy(&output.stderr).into_owned() })
    }
}

/// What a program did.
#[derive(Clone, Debug)]
pub struct Ran {
    /// Of each case, as far as it came, the buffers.
    pub outputs: Vec<Vec<Vec<u8>>>,
    /// What it said where it died.
    pub said: String,
}

impl Drop for HostProgram {
    fn drop(&mut self) {
        // In the system's folder for what nobody keeps.
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
        let _ = writeln!(text, "namespace k{at} {{\n{printed}}}");
        // Its threads wait for each other, and so are there at the same time.
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

/// As the header's `main` reads it.
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
            // A row of blocks, of the threads that these have.
            Some(threads) => BLOCKS + u64::from(threads),
            None => case.rank(task) as u64,
        };
        bytes.extend(grid.to_le_bytes());
    }
    bytes
}
