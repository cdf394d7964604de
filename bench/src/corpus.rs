//! Runs one case of the benchmark suite: a kernel as a user would write it, against plain CUDA C++ or plain C with
//! OpenMP.
//!
//! A case creates its data once and gives every side a copy. Each side runs once, and the results are compared; then
//! all sides are timed in turns. A case must be repeatable: an algorithm that works in place copies its input first,
//! on every side.

use std::{
    cell::RefCell,
    ffi::{c_long, c_void},
    panic::{AssertUnwindSafe, catch_unwind},
    thread::sleep,
    time::{Duration, Instant},
};

use quadrants::{Arch, Program, Result};

use crate::{
    Case, Options,
    c::compile,
    driver::Raw,
    line::Side,
    nvrtc::{ByText, Function},
};

/// The names of the plain baseline on GPUs and of the tuned one, if there is one.
const PLAIN_CUDA: &str = "plain CUDA";
const TUNED_CUDA: &str = "tuned CUDA";
const C_WITH_OPENMP: &str = "C with OpenMP";

/// Samples of each side.
const SAMPLES: usize = 9;

/// A sample repeats its launches for about this long.
const SAMPLE_SECONDS: f64 = 5e-3;

/// OpenMP's threads spin for up to 15 ms after a loop; a sample of another side waits until they sleep.
const SLEEP_BEFORE_OTHER_SIDE: Duration = Duration::from_millis(40);

/// What all cases share: the program, the rival's driver and the command line.
pub struct Corpus {
    options: Options,
    program: Program,
    /// On a GPU, unless there is no driver for the rivals: on the simulator only our side runs.
    raw: Option<Raw>,
    on_gpu: bool,
    small: bool,
    failures: RefCell<Vec<String>>,
}

/// A function that runs one case of the suite, unless the command line excludes it.
pub type CaseFn = fn(&Corpus) -> Result<()>;

/// The size of a case: on a GPU, on two CPU cores, and for a quick check of the results (`--small`).
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    /// On a GPU.
    pub gpu: usize,
    /// On a CPU.
    pub cpu: usize,
    /// With `--small`.
    pub small: usize,
}

/// A host array of a case.
#[derive(Clone, Debug)]
pub enum Data {
    /// `float`
    F32(Vec<f32>),
    /// `double`
    F64(Vec<f64>),
    /// `int`
    I32(Vec<i32>),
    /// `unsigned`
    U32(Vec<u32>),
    /// `long long`
    I64(Vec<i64>),
    /// `unsigned char`
    U8(Vec<u8>),
}

/// An argument of a CUDA kernel.
#[derive(Clone, Copy, Debug)]
pub enum CudaArg {
    /// The address of a buffer, by its index in [`CaseBuilder::buffers`].
    Buffer(usize),
    /// `int` or `unsigned`
    I32(i32),
    /// `long long`
    I64(i64),
    /// `float`
    F32(f32),
    /// `double`
    F64(f64),
}

/// One launch of a CUDA kernel.
#[derive(Clone, Debug)]
pub struct CudaLaunch {
    function: &'static str,
    grid: [u32; 3],
    block: [u32; 3],
    args: Vec<CudaArg>,
}

/// A case under construction.
pub struct CaseBuilder<'a> {
    corpus: &'a Corpus,
    case: Case,
    name: &'static str,
    n: usize,
    buffers: Vec<Data>,
    results: Vec<(usize, f64)>,
    cuda: Vec<(&'static str, &'static str, Vec<CudaLaunch>)>,
    c: Option<(&'static str, Vec<c_long>)>,
}

/// A rival that is ready to run.
struct PreparedRival<'a> {
    name: &'static str,
    run: Box<dyn FnMut() + 'a>,
    wait: Box<dyn Fn() + 'a>,
    read: Box<dyn Fn(usize) -> Data + 'a>,
}

impl Corpus {
    /// Opens the backends that the command line asks for; calls `cases` once for each.
    ///
    /// # Errors
    ///
    /// The names of the cases that failed, or that differed from their rivals.
    pub fn run_all(cases: &[CaseFn]) -> std::result::Result<(), String> {
        let mut failed = Vec::new();
        for (name, arch) in [("cpu", Arch::Cpu), ("cuda", Arch::Cuda)] {
            let options = Options::from_args();
            if !options.wants(name) {
                continue;
            }
            let program = match Program::open(arch) {
                Ok(program) => program,
                Err(error) => {
                    eprintln!("no {name}: {error}");
                    continue;
                }
            };
            let on_gpu = arch == Arch::Cuda;
            let raw = (on_gpu && Raw::is_installed()).then(Raw::load);
            let small = options.small();
            let failures = RefCell::default();
            let corpus = Corpus { options, program, raw, on_gpu, small, failures };
            for case in cases {
                match catch_unwind(AssertUnwindSafe(|| case(&corpus))) {
                    Ok(Ok(())) => {}
                    Ok(Err(error)) => corpus.fail(error.to_string()),
                    Err(_) => corpus.fail("a panic, which is printed above".to_owned()),
                }
            }
            failed.append(&mut corpus.failures.borrow_mut());
        }
        if failed.is_empty() { Ok(()) } else { Err(format!("failed:\n{}", failed.join("\n"))) }
    }

    /// The program that runs our side.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// Starts a case, unless the command line excludes it. The name is `suite/kernel`.
    pub fn case(&self, name: &'static str, sizes: Sizes) -> Option<CaseBuilder<'_>> {
        let n = match (self.small, self.on_gpu) {
            (true, _) => sizes.small,
            (false, true) => sizes.gpu,
            (false, false) => sizes.cpu,
        };
        let case = Case::new("corpus", format!("{name}, {n}"), "ms");
        self.options.selects(&case).then(|| CaseBuilder {
            corpus: self,
            case,
            name,
            n,
            buffers: Vec::new(),
            results: Vec::new(),
            cuda: Vec::new(),
            c: None,
        })
    }

    fn fail(&self, reason: String) {
        eprintln!("{reason}");
        self.failures.borrow_mut().push(reason);
    }
}

impl CudaLaunch {
    /// A launch of `function` with this many blocks of this many threads.
    pub fn new(
        function: &'static str,
        grid: [usize; 3],
        block: [u32; 3],
        args: &[CudaArg],
    ) -> Self {
        Self { function, grid: grid.map(|n| n as u32), block, args: args.to_vec() }
    }

    /// A launch with one thread for each of `n` elements, in blocks of 256.
    pub fn linear(function: &'static str, n: usize, args: &[CudaArg]) -> Self {
        Self::new(function, [n.div_ceil(256), 1, 1], [256, 1, 1], args)
    }

    /// A launch with one thread for each of `height` by `width` elements, in blocks of 8 by 32; x is the width.
    pub fn grid_2d(function: &'static str, [height, width]: [usize; 2], args: &[CudaArg]) -> Self {
        Self::new(function, [width.div_ceil(32), height.div_ceil(8), 1], [32, 8, 1], args)
    }
}

impl<'a> CaseBuilder<'a> {
    /// The size of the case.
    pub fn n(&self) -> usize {
        self.n
    }

    /// The arrays of the rivals, inputs and outputs, in the order of the C function's `buffers`.
    pub fn buffers(mut self, buffers: impl IntoIterator<Item = Data>) -> Self {
        self.buffers = buffers.into_iter().collect();
        self
    }

    /// The buffers that hold results, in the order in which our side returns them, each with the largest difference
    /// that is accepted, relative to the largest magnitude in the buffer. Integers must be equal with 0.
    pub fn results(mut self, results: &[(usize, f64)]) -> Self {
        self.results = results.to_vec();
        self
    }

    /// Plain CUDA C++ and its launches.
    pub fn cuda(mut self, text: &'static str, steps: Vec<CudaLaunch>) -> Self {
        self.cuda.push((PLAIN_CUDA, text, steps));
        self
    }

    /// CUDA C++ that an expert would write, and its launches.
    pub fn tuned(mut self, text: &'static str, steps: Vec<CudaLaunch>) -> Self {
        self.cuda.push((TUNED_CUDA, text, steps));
        self
    }

    /// Plain C with OpenMP: `void run(void **buffers, const long *sizes)`, and the sizes it gets.
    pub fn c(mut self, text: &'static str, sizes: &[usize]) -> Self {
        self.c = Some((text, sizes.iter().map(|size| *size as c_long).collect()));
        self
    }

    /// Runs all sides once, compares the results, and measures. `launch` must not wait on GPUs where the kernel as
    /// such need not; `read` returns the results in the order of [`CaseBuilder::results`].
    ///
    /// # Errors
    ///
    /// What launching or reading returns.
    pub fn run<S>(
        self,
        mut state: S,
        mut launch: impl FnMut(&mut S) -> Result<()>,
        read: impl Fn(&S) -> Result<Vec<Data>>,
    ) -> Result<()> {
        let corpus = self.corpus;
        let mut rivals = match &corpus.raw {
            Some(raw) => self.cuda_rivals(raw),
            None if corpus.on_gpu => Vec::new(),
            None => self.c_rival(),
        };
        launch(&mut state)?;
        let ours = read(&state)?;
        assert_eq!(ours.len(), self.results.len(), "{}: results", self.name);
        for rival in &mut rivals {
            (rival.run)();
            (rival.wait)();
            for (ours, (buffer, tolerance)) in ours.iter().zip(&self.results) {
                if let Err(difference) = ours.compare(&(rival.read)(*buffer), *tolerance) {
                    corpus.fail(format!(
                        "{}: buffer {buffer} of {} differs: {difference}",
                        self.name, rival.name
                    ));
                }
            }
        }
        if corpus.small {
            eprintln!("{}: compared with {} rivals", self.name, rivals.len());
            return Ok(());
        }
        let rest = if corpus.on_gpu { Duration::ZERO } else { SLEEP_BEFORE_OTHER_SIDE };
        let sample = |run: &mut dyn FnMut(), wait: &dyn Fn(), calls: &mut u32| {
            sleep(rest);
            run();
            wait();
            if *calls == 0 {
                let start = Instant::now();
                run();
                wait();
                let once = start.elapsed().as_secs_f64().max(1e-7);
                *calls = (SAMPLE_SECONDS / once).clamp(1.0, 500.0) as u32;
            }
            let start = Instant::now();
            (0..*calls).for_each(|_| run());
            wait();
            start.elapsed().as_secs_f64() * 1e3 / f64::from(*calls)
        };
        let samples = corpus.options.samples(SAMPLES).max(1);
        let mut times = vec![Vec::new(); rivals.len() + 1];
        let mut calls = vec![0; rivals.len() + 1];
        for turn in 0..=samples {
            let mut run = || launch(&mut state).expect("launches");
            let wait = || corpus.program.sync().expect("completes");
            let mut turns = vec![sample(&mut run, &wait, &mut calls[0])];
            for (rival, calls) in rivals.iter_mut().zip(&mut calls[1..]) {
                turns.push(sample(&mut rival.run, &rival.wait, calls));
            }
            if turn > 0 {
                times.iter_mut().zip(turns).for_each(|(times, time)| times.push(time));
            }
        }
        let mut times = times.into_iter();
        let ours = Side::new("ours", times.next().expect("our side is the first"));
        for (rival, times) in rivals.iter().zip(times) {
            let bench = if rival.name == TUNED_CUDA { "corpus, tuned" } else { "corpus" };
            let line = self.case.line_of(bench, ours.clone(), vec![Side::new(rival.name, times)]);
            println!("{}", serde_json::to_string(&line).expect("a line is JSON"));
        }
        Ok(())
    }

    fn cuda_rivals<'r>(&self, raw: &'r Raw) -> Vec<PreparedRival<'r>> {
        let rival = |(name, text, steps): &(&'static str, &str, Vec<CudaLaunch>)| {
            let text = ByText::compile(raw, text, &[]);
            let addresses: Vec<u64> = self.buffers.iter().map(|data| data.upload(raw)).collect();
            let word = |arg: &CudaArg| match *arg {
                CudaArg::Buffer(at) => addresses[at],
                CudaArg::I32(value) => u64::from(value as u32),
                CudaArg::I64(value) => value as u64,
                CudaArg::F32(value) => u64::from(value.to_bits()),
                CudaArg::F64(value) => value.to_bits(),
            };
            let steps: Vec<(Function<'r>, _, _, Vec<u64>)> = steps
                .iter()
                .map(|step| {
                    let args = step.args.iter().map(word).collect();
                    (text.function(step.function), step.grid, step.block, args)
                })
                .collect();
            let buffers = self.buffers.clone();
            let run = move || {
                for (function, grid, block, args) in &steps {
                    function.launch(*grid, *block, args);
                }
            };
            let memory = Addresses { raw, addresses };
            PreparedRival {
                name,
                run: Box::new(run),
                wait: Box::new(|| raw.synchronize()),
                read: Box::new(move |at| buffers[at].download(raw, memory.addresses[at])),
            }
        };
        self.cuda.iter().map(rival).collect()
    }

    fn c_rival(&self) -> Vec<PreparedRival<'static>> {
        let Some((text, sizes)) = self.c.clone() else { return Vec::new() };
        let library = match compile(text, &[]) {
            Ok(library) => library,
            Err(error) => {
                self.corpus.fail(format!("{}: {error}", self.name));
                return Vec::new();
            }
        };
        // SAFETY: the signature that every C file of the corpus has.
        let function: unsafe extern "C" fn(*const *mut c_void, *const c_long) =
            unsafe { *library.get(b"run\0").expect("the C file defines `run`") };
        let buffers = std::rc::Rc::new(RefCell::new(self.buffers.clone()));
        let results = buffers.clone();
        let run = move || {
            let mut buffers = buffers.borrow_mut();
            let addresses: Vec<_> = buffers.iter_mut().map(Data::address).collect();
            // SAFETY: the function accesses the case's buffers within the given sizes.
            unsafe { function(addresses.as_ptr(), sizes.as_ptr()) };
        };
        vec![PreparedRival {
            name: C_WITH_OPENMP,
            run: Box::new(run),
            wait: Box::new(|| ()),
            read: Box::new(move |at| results.borrow()[at].clone()),
        }]
    }
}

/// Device memory that is freed with its case.
struct Addresses<'a> {
    raw: &'a Raw,
    addresses: Vec<u64>,
}

impl Drop for Addresses<'_> {
    fn drop(&mut self) {
        self.raw.synchronize();
        self.addresses.iter().for_each(|address| self.raw.free(*address));
    }
}

macro_rules! each_data {
    ($($variant:ident: $ty:ty),*) => {
        impl Data {
            fn upload(&self, raw: &Raw) -> u64 {
                match self {
                    $(Self::$variant(values) => {
                        let address = raw.buffers(1, size_of_val(&values[..]).max(16))[0];
                        raw.write(address, values);
                        address
                    })*
                }
            }

            fn download(&self, raw: &Raw, address: u64) -> Self {
                match self {
                    $(Self::$variant(values) => Self::$variant(raw.read(address, values.len())),)*
                }
            }

            fn address(&mut self) -> *mut c_void {
                match self {
                    $(Self::$variant(values) => values.as_mut_ptr().cast(),)*
                }
            }

            fn values(&self) -> Vec<f64> {
                match self {
                    $(Self::$variant(values) => values.iter().map(|value| *value as f64).collect(),)*
                }
            }
        }

        $(
            impl From<Vec<$ty>> for Data {
                fn from(values: Vec<$ty>) -> Self {
                    Self::$variant(values)
                }
            }

            impl From<&Vec<$ty>> for Data {
                fn from(values: &Vec<$ty>) -> Self {
                    Self::$variant(values.clone())
                }
            }
        )*
    };
}

each_data!(F32: f32, F64: f64, I32: i32, U32: u32, I64: i64, U8: u8);

impl Data {
    /// Describes the first difference above the tolerance, which is relative to the largest magnitude.
    fn compare(&self, other: &Self, tolerance: f64) -> std::result::Result<(), String> {
        let (ours, theirs) = (self.values(), other.values());
        if ours.len() != theirs.len() {
            return Err(format!("{} elements, the rival has {}", ours.len(), theirs.len()));
        }
        let largest = theirs.iter().fold(0.0f64, |largest, value| largest.max(value.abs()));
        if !largest.is_finite() {
            return Err("the rival's result is not finite".to_owned());
        }
        if ours.len() > 8 && theirs.iter().all(|value| *value == theirs[0]) {
            return Err(format!(
                "all elements of the rival are {}: the case tests nothing",
                theirs[0]
            ));
        }
        let near = |(a, b): (&f64, &f64)| (a - b).abs() <= tolerance * largest;
        match ours.iter().zip(&theirs).position(|pair| !near(pair)) {
            None => Ok(()),
            Some(at) => Err(format!(
                "element {at} is {}, the rival has {} (largest {largest:e})",
                ours[at], theirs[at]
            )),
        }
    }
}

/// A reproducible sequence of `n` numbers in [0, 1).
pub fn uniform(n: usize, seed: u64) -> impl Iterator<Item = f64> {
    // SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014).
    (0..n as u64).map(move |k| {
        let mut x = (k + 1).wrapping_add(seed << 40).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((x ^ (x >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    })
}

/// [`uniform`] in single precision.
pub fn uniform_f32(n: usize, seed: u64) -> Vec<f32> {
    uniform(n, seed).map(|x| (x as f32).min(1.0 - f32::EPSILON)).collect()
}
