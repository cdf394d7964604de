//! What printed text means, against the reference interpreter: the host's C++ compiler compiles the
//! samples, with its checks for undefined behaviour where it has them, and both run on the same memory.

use std::{
    env,
    fmt::Write as _,
    fs,
    io::Write as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use quadrants_codegen::{print_kernel, samples};
use quadrants_ir::{
    Offloaded, ParamKind, ScalarType, TaskId, TaskKind,
    abi::{
        ArgLayout, ERROR_WORD, ErrorRecord, Form, LAUNCH_WORD, Passing, SCRATCH_WORD, scratch_bytes,
    },
    host,
    interp::{Interpreter, SliceMemory},
};

use crate::Plain;

/// Elements of each tensor; a power of 2 and of 4, for the shapes.
const ELEMENTS: usize = 64;
/// Added to the number of threads that a block of a task has.
const BLOCKS: u64 = 1 << 32;
/// How many sets of arguments each kernel gets.
const ROUNDS: usize = 12;

/// A kernel with arguments and memory.
struct Case<'a> {
    index: usize,
    kernel: &'a Offloaded,
    /// Run by many threads. The order of iterations is then not the interpreter's.
    large: bool,
    words: Vec<u64>,
    buffers: Vec<Buffer>,
    tasks: Vec<TaskId>,
}

#[derive(Clone)]
struct Buffer {
    word: usize,
    elem: ScalarType,
    bytes: Vec<u8>,
}

#[test]
fn the_text_means_what_the_ir_means() {
    let mut kernels = samples::all();
    kernels.retain(|kernel| !kernel.name.starts_with("roots"));
    let cases: Vec<_> =
        kernels.iter().enumerate().flat_map(|(i, kernel)| cases(i, kernel)).collect();
    let mut compared = 0;
    let mut clean = vec![true; cases.len()];
    for (form, passing) in [(Form::Checked, Passing::Buffer), (Form::Proven, Passing::Value)] {
        let Some(program) = build(&kernels, form, passing) else {
            println!("skipped: no C++ compiler (tried $CXX, c++, g++, clang++)");
            return;
        };
        // What raised an index error in the checked form is not for the other.
        let chosen: Vec<_> =
            (0..cases.len()).filter(|&i| form == Form::Checked || clean[i]).collect();
        let input: Vec<u8> = chosen.iter().flat_map(|&i| cases[i].encode()).collect();
        let mut output = &execute(&program, input)[..];
        for &i in &chosen {
            let case = &cases[i];
            let expected = case.interpret(form);
            for (buffer, expected) in case.buffers.iter().zip(&expected) {
                let (found, rest) = output.split_at(buffer.bytes.len());
                output = rest;
                if let Some(at) = buffer.difference(found, expected) {
                    panic!(
                        "{} {form:?}, large {}, word {}, byte {at}:\nC++ {:?}\nIR  {:?}\nargs {:?}\n{}",
                        case.kernel.name,
                        case.large,
                        buffer.word,
                        &found[at..at + buffer.elem.size()],
                        &expected[at..at + buffer.elem.size()],
                        case.words,
                        print_kernel(case.kernel, &Plain, form, passing)
                    );
                }
                if buffer.word == ERROR_WORD && expected[0] != 0 {
                    clean[i] = false;
                }
            }
            compared += 1;
        }
        assert!(output.is_empty());
    }
    println!("{compared} runs of {} kernels compared", kernels.len());
    assert!(compared > 2 * kernels.len());
}

impl Buffer {
    /// The first byte at which two contents differ; all NaNs are the same.
    fn difference(&self, left: &[u8], right: &[u8]) -> Option<usize> {
        let size = self.elem.size();
        let is_nan = |bytes: &[u8]| match self.elem {
            ScalarType::F32 => f32::from_le_bytes(bytes.try_into().unwrap()).is_nan(),
            ScalarType::F64 => f64::from_le_bytes(bytes.try_into().unwrap()).is_nan(),
            _ => false,
        };
        let mut pairs = left.chunks(size).zip(right.chunks(size));
        pairs.position(|(l, r)| l != r && !(is_nan(l) && is_nan(r))).map(|at| at * size)
    }

    /// Where the interpreter has it.
    fn address(&self) -> u64 {
        0x10_0000 * (self.word as u64 + 1)
    }
}

impl Case<'_> {
    fn encode(&self) -> Vec<u8> {
        let mut words = vec![self.index as u64, u64::from(self.large), self.words.len() as u64];
        words.extend(&self.words);
        words.push(self.buffers.len() as u64);
        let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        for buffer in &self.buffers {
            bytes.extend((buffer.word as u64).to_le_bytes());
            bytes.extend((buffer.bytes.len() as u64).to_le_bytes());
            bytes.extend(&buffer.bytes);
        }
        bytes.extend((self.tasks.len() as u64).to_le_bytes());
        for &task in &self.tasks {
            bytes.extend(u64::from(task.raw()).to_le_bytes());
            bytes.extend(self.rank(task).to_le_bytes());
        }
        bytes
    }

    /// The dimensions of the grid that a task is run by.
    fn rank(&self, task: TaskId) -> u64 {
        match &self.kernel.tasks[task.index()].kind {
            TaskKind::RangeFor { dims, .. } => dims.len() as u64,
            // A row of blocks, of the threads that these have.
            TaskKind::BlockFor { threads, .. } => BLOCKS + u64::from(*threads),
            // One thread is to run it, whatever the grid is.
            TaskKind::Serial => 3,
        }
    }

    fn interpret(&self, form: Form) -> Vec<Vec<u8>> {
        let mut memory = SliceMemory::new();
        let mut words = self.words.clone();
        for buffer in &self.buffers {
            memory.insert(buffer.address(), buffer.bytes.clone());
            words[buffer.word] = buffer.address();
        }
        let interpreter = Interpreter::new(self.kernel);
        for &task in &self.tasks {
            let ran = interpreter.run_task(task, form, &words, &mut memory);
            ran.unwrap_or_else(|fault| panic!("{}: {fault}", self.kernel.name));
        }
        self.buffers.iter().map(|buffer| memory.bytes(buffer.address()).unwrap().to_vec()).collect()
    }
}

/// Cases of a kernel: each with other arguments, alternately by one thread and by many.
fn cases(index: usize, kernel: &Offloaded) -> Vec<Case<'_>> {
    let layout = ArgLayout::new(&kernel.params);
    let mut random = Random(index as u64 + 1);
    let mut list = Vec::new();
    for round in 0..ROUNDS {
        let mut words = vec![0; layout.len()];
        words[LAUNCH_WORD] = 7 + round as u64;
        let record = size_of::<ErrorRecord>();
        let mut buffers =
            vec![Buffer { word: ERROR_WORD, elem: ScalarType::U32, bytes: vec![0; record] }];
        if kernel.needs_scratch() {
            let scratch = vec![0; scratch_bytes(kernel)];
            buffers.push(Buffer { word: SCRATCH_WORD, elem: ScalarType::U64, bytes: scratch });
        }
        for (i, param) in kernel.params.iter().enumerate() {
            let word = layout.word(quadrants_ir::ParamId::new(i as u32));
            match param.kind {
                ParamKind::Scalar(ty) => words[word] = random.value(ty),
                ParamKind::Tensor { elem, rank, .. } => {
                    let bytes = (0..ELEMENTS)
                        .flat_map(|_| random.value(elem).to_le_bytes()[..elem.size()].to_vec())
                        .collect();
                    buffers.push(Buffer { word, elem, bytes });
                    let extent = [1, 64, 8, 4, 2, 2, 2][usize::from(rank)];
                    words[word + 1..=word + usize::from(rank)].fill(extent);
                }
            }
        }
        let plan = host::HostPlan::new(kernel);
        // The bounds that only the device finds are short or refused.
        let short = |task: &TaskId| {
            kernel.tasks[task.index()].kind.is_bounded_on_device()
                || plan.extents(*task, &words).iterations() < 10_000
        };
        let tasks: Vec<_> = kernel.tasks().map(|(task, _)| task).filter(short).collect();
        let large = round % 2 == 1 && is_free_of_races(&kernel.name);
        list.push(Case { index, kernel, large, words, buffers, tasks });
    }
    list
}

/// Whether the order of iterations changes nothing, the error record included.
fn is_free_of_races(name: &str) -> bool {
    [
        "saxpy",
        "stencil",
        "volume",
        "element_types",
        "serial",
        "groups",
        "names",
        "control",
        "device_bounds",
        "blocks",
    ]
    .contains(&name)
}

/// A generator of arguments that likes the awkward ones.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        let mixed = (self.0 ^ self.0 >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed ^ mixed >> 32
    }

    fn value(&mut self, ty: ScalarType) -> u64 {
        let (pick, raw) = (self.next(), self.next());
        let small = (raw % 17) as i64 - 8;
        match ty {
            ScalarType::Bool => raw & 1,
            ScalarType::F32 => u64::from(
                match pick % 8 {
                    0 => f32::from_bits(raw as u32),
                    1 => [f32::NAN, f32::INFINITY, -f32::INFINITY, 2147483648.0][raw as usize % 4],
                    2 => raw as i64 as f32,
                    _ => small as f32 * 0.37,
                }
                .to_bits(),
            ),
            ScalarType::F64 => match pick % 8 {
                0 => f64::from_bits(raw),
                1 => [f64::NAN, f64::INFINITY, -f64::INFINITY, 4294967295.5][raw as usize % 4],
                2 => raw as i64 as f64,
                _ => small as f64 * 0.37,
            }
            .to_bits(),
            _ => {
                let (low, high) = ty.int_range().unwrap();
                let value = match pick % 8 {
                    0 => raw as i128,
                    1 => low + i128::from(raw % 3),
                    2 => high - i128::from(raw % 3),
                    _ => i128::from(small),
                };
                if ty.size() == 4 { u64::from(value as u32) } else { value as u64 }
            }
        }
    }
}

/// Compiles all kernels into one program; none where there is no compiler.
fn build(kernels: &[Offloaded], form: Form, passing: Passing) -> Option<PathBuf> {
    let mut text = "#include \"device.hpp\"\n".to_owned();
    let mut dispatch = String::new();
    for (i, kernel) in kernels.iter().enumerate() {
        let printed = print_kernel(kernel, &Plain, form, passing);
        let _ = writeln!(text, "namespace k{i} {{\n{printed}}}");
        for (task, _) in kernel.tasks() {
            let function = kernel.function_name(task);
            let argument = if passing == Passing::Value { "args" } else { "&args" };
            let _ = writeln!(
                dispatch,
                "    if (kernel == {i} && task == {}) run_grid<k{i}::qd_args>(words, count, grid, block, barriers, \
                 [](const k{i}::qd_args& args) {{ k{i}::{function}({argument}); }});",
                task.raw()
            );
        }
    }
    let _ = writeln!(
        text,
        "static void run_task(uint64_t kernel, uint64_t task, const uint64_t* words, size_t count, \
         Place grid, Place block, bool barriers) {{\n{dispatch}}}"
    );
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let source = folder.join(format!("meaning_{form:?}.cpp"));
    let program = folder.join(format!("meaning_{form:?}"));
    fs::write(&source, text).unwrap();
    let include = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/meaning");
    let checks: [&[&str]; 2] =
        [&["-fsanitize=undefined,float-cast-overflow", "-fno-sanitize-recover=all"], &[]];
    let mut said = Vec::new();
    for compiler in env::var("CXX").into_iter().chain(["c++", "g++", "clang++"].map(str::to_owned))
    {
        for checks in checks {
            let ran = Command::new(&compiler)
                .args(["-std=c++17", "-O1", "-w", "-pthread", "-ffp-contract=off", "-I"])
                .arg(&include)
                .args(checks)
                .args([&source, Path::new("-o"), &program])
                .output();
            match ran {
                Ok(ran) if ran.status.success() => return Some(program),
                Ok(ran) => {
                    said.push((
                        compiler.clone(),
                        String::from_utf8_lossy(&ran.stderr).into_owned(),
                    ));
                }
                Err(_) => continue,
            };
        }
    }
    assert!(said.is_empty(), "rejected: {said:?}");
    None
}

fn execute(program: &Path, input: Vec<u8>) -> Vec<u8> {
    let mut child = Command::new(program)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let writer = std::thread::spawn(move || stdin.write_all(&input));
    let output = child.wait_with_output().unwrap();
    let written = writer.join().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    written.unwrap();
    output.stdout
}
