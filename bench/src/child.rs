//! Child processes for benchmarks of process start: runs this executable again, and makes the rival's driver calls up
//! to a loaded kernel in a process of its own.

use std::{
    ffi::{CString, OsStr, c_char, c_int, c_uint, c_void},
    io::{BufRead as _, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    ptr::null_mut,
    time::Instant,
};

use libloading::Library;
use quadrants::{self as qd, Program, Tensor};

use crate::{
    driver::{Handle, check},
    nvrtc::Nvrtc,
    table::functions,
};

/// Rows and columns of the stencil's tensors.
pub const N: usize = 256;
/// The option that makes this program a child.
pub const CHILD: &str = "--child";

/// One step of a five-point stencil.
#[qd::kernel]
pub fn stencil(a: &Tensor<f32, 2>, b: &mut Tensor<f32, 2>) {
    for (i, j) in qd::ndrange(a.shape()) {
        if i > 0 && j > 0 && i + 1 < a.shape()[0] && j + 1 < a.shape()[1] {
            b[[i, j]] = 0.25 * (a[[i - 1, j]] + a[[i + 1, j]] + a[[i, j - 1]] + a[[i, j + 1]]);
        }
    }
}

/// What this process is asked to do as a child: its work, and the folder for it.
pub fn requested_work() -> Option<(String, PathBuf)> {
    let mut args = std::env::args().skip_while(|arg| arg != CHILD).skip(1);
    Some((args.next()?, args.next()?.into()))
}

/// A child at work.
fn start(work: &str, folder: &Path, environment: &[(&str, &OsStr)]) -> Child {
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command.arg(CHILD).arg(work).arg(folder).envs(environment.iter().copied());
    command.stdout(Stdio::piped()).spawn().expect("a child")
}

/// The line that the child of this work writes, and how many milliseconds after its start it does.
pub fn line(work: &str, folder: &Path, environment: &[(&str, &OsStr)]) -> (String, f64) {
    let start_of_it = Instant::now();
    let mut child = start(work, folder, environment);
    let mut line = String::new();
    let mut output = BufReader::new(child.stdout.take().expect("its output"));
    output.read_line(&mut line).expect("a line");
    let time = start_of_it.elapsed().as_secs_f64() * 1e3;
    assert!(child.wait().expect("its end").success(), "the child `{work}` failed");
    (line, time)
}

/// The number that the child of this work writes.
pub fn number(work: &str, folder: &Path) -> f64 {
    line(work, folder, &[]).0.trim().parse().expect("a number")
}

/// The stencil's tensors.
pub fn tensors(program: &Program) -> qd::Result<[Tensor<f32, 2>; 2]> {
    Ok([program.tensor_from(&vec![1.0; N * N], [N, N])?, program.zeros([N, N])?])
}

/// Makes what the rivals need, by running ours once: the stencil's text in the folder, and the image that NVRTC makes
/// of it.
pub fn prepare(folder: &Path, work: &str) {
    let _ = line(work, folder, &[("QUADRANTS_DUMP", folder.as_os_str())]);
    let hand = DriverBaseline::open();
    std::fs::write(folder.join(IMAGE), Nvrtc::load().compile(&text(folder), &hand.arch(), OPTIONS))
        .expect("the image is written");
}

const IMAGE: &str = "stencil.cubin";

/// As ours compiles it.
const OPTIONS: &[&str] = &["--disable-warnings"];

/// The image that [`prepare`] made.
pub fn image(folder: &Path) -> Vec<u8> {
    std::fs::read(folder.join(IMAGE)).expect("the image")
}

/// The text that [`prepare`] left.
pub fn text(folder: &Path) -> CString {
    let ours = |path: &PathBuf| path.to_string_lossy().ends_with(".cu");
    let mut files =
        std::fs::read_dir(folder).expect("the folder").map(|entry| entry.expect("an entry").path());
    let text = std::fs::read(files.find(ours).expect("the text that ours has left"));
    CString::new(text.expect("the text")).expect("text")
}

functions! {
    /// The driver's functions that a program needs for one launch.
    Driver:
    init = "cuInit" (c_uint);
    attribute = "cuDeviceGetAttribute" (*mut c_int, c_int, c_int);
    retain = "cuDevicePrimaryCtxRetain" (*mut Handle, c_int);
    set_current = "cuCtxSetCurrent" (Handle);
    sync = "cuCtxSynchronize" ();
    alloc = "cuMemAlloc_v2" (*mut u64, usize);
    htod = "cuMemcpyHtoDAsync_v2" (u64, *const c_void, usize, Handle);
    dtoh = "cuMemcpyDtoHAsync_v2" (*mut c_void, u64, usize, Handle);
    load = "cuModuleLoadData" (*mut Handle, *const c_void);
    function = "cuModuleGetFunction" (*mut Handle, Handle, *const c_char);
    launch = "cuLaunchKernel" (
        Handle, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, Handle,
        *mut *mut c_void, *mut *mut c_void
    );
}

/// A program with the stencil's memory, written with the driver's calls alone.
pub struct DriverBaseline {
    driver: Driver,
    memory: [u64; 2],
}

impl DriverBaseline {
    /// From nothing to two tensors on device 0.
    pub fn open() -> Self {
        // The driver that ours takes.
        let library = std::env::var_os(quadrants_rhi_cuda::LIBRARY_VARIABLE);
        let library = library.unwrap_or_else(|| "libcuda.so.1".into());
        let mut context = null_mut();
        let mut memory = [0; 2];
        let (bytes, ones) = (4 * N * N, vec![1.0f32; N * N]);
        // SAFETY: the driver's library and its functions by their documented signatures; the copies are as long as
        // the memory.
        unsafe {
            let driver = Driver::resolve(Library::new(library).expect("libcuda"));
            check((driver.init)(0));
            check((driver.retain)(&mut context, 0));
            check((driver.set_current)(context));
            for address in &mut memory {
                check((driver.alloc)(address, bytes));
                check((driver.htod)(*address, ones.as_ptr().cast(), bytes, null_mut()));
            }
            check((driver.sync)());
            Self { driver, memory }
        }
    }

    fn arch(&self) -> String {
        let [mut major, mut minor] = [0; 2];
        // SAFETY: these are the numbers of the compute capability's attributes, of device 0.
        unsafe {
            check((self.driver.attribute)(&mut major, 75, 0));
            check((self.driver.attribute)(&mut minor, 76, 0));
        }
        format!("sm_{major}{minor}")
    }

    /// Loads the image and runs it once.
    pub fn run(&self, image: &[u8]) {
        let [mut module, mut function] = [null_mut(); 2];
        let [a, b] = self.memory;
        let n = N as u64;
        let block = [0, 0, 0, a, n, n, b, n, n];
        let mut parameters = [block.as_ptr().cast_mut().cast::<c_void>()];
        let (x, y) = (N as c_uint / 64, N as c_uint / 4);
        // SAFETY: the image is whole, has that function, and the function takes this block.
        unsafe {
            check((self.driver.load)(&mut module, image.as_ptr().cast()));
            check((self.driver.function)(&mut function, module, c"stencil_0".as_ptr()));
            check((self.driver.launch)(
                function,
                x,
                y,
                1,
                64,
                4,
                1,
                0,
                null_mut(),
                parameters.as_mut_ptr(),
                null_mut(),
            ));
            check((self.driver.sync)());
        }
    }

    /// What the launch has written.
    pub fn read(&self) -> Vec<f32> {
        let mut read = vec![0.0f32; N * N];
        // SAFETY: both are as long, and the copy is waited for.
        unsafe {
            let to = read.as_mut_ptr().cast();
            check((self.driver.dtoh)(to, self.memory[1], 4 * N * N, null_mut()));
            check((self.driver.sync)());
        }
        read
    }

    /// Compiles the text for the device with a compiler that is loaded for it, and runs it once.
    pub fn compile_and_run(&self, text: &CString) {
        let image = Nvrtc::load().compile(text, &self.arch(), OPTIONS);
        self.run(&image);
    }
}
