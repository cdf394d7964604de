//! CUDA C++ written by hand, compiled by the same NVRTC that ours is, and launched by the driver.

use std::{
    ffi::{CString, c_char, c_int, c_void},
    ptr::{null, null_mut},
};

use libloading::Library;

use crate::driver::{Handle, Raw, check};

/// Where NVRTC may be; the program that is measured has usually loaded it already.
const LIBRARIES: [&str; 4] =
    ["libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so", "/usr/local/cuda/lib64/libnvrtc.so"];

/// A loaded module of kernels written by hand.
pub struct ByText<'a> {
    raw: &'a Raw,
    module: Handle,
}

/// One of its kernels.
pub struct Function<'a> {
    raw: &'a Raw,
    function: Handle,
}

impl<'a> ByText<'a> {
    /// Compiles the text for device 0 with these options more, and loads it.
    ///
    /// # Panics
    ///
    /// If there is no NVRTC, or the text is wrong.
    pub fn compile(raw: &'a Raw, text: &str, options: &[&str]) -> Self {
        let image = image(text, options);
        let mut module = null_mut();
        // SAFETY: the image is whole, and the context is current.
        check(unsafe { (raw.load)(&mut module, image.as_ptr().cast()) });
        Self { raw, module }
    }

    /// The kernel of that name.
    pub fn function(&self, name: &str) -> Function<'a> {
        let name = CString::new(name).expect("a C name");
        let mut function = null_mut();
        // SAFETY: the module is loaded.
        check(unsafe { (self.raw.function)(&mut function, self.module, name.as_ptr()) });
        Function { raw: self.raw, function }
    }
}

impl Function<'_> {
    /// Launches on the default stream. Each argument has at most 8 bytes, in the low end of a word.
    pub fn launch(&self, grid: [u32; 3], block: [u32; 3], args: &[u64]) {
        let mut parameters: Vec<*mut c_void> =
            args.iter().map(|arg| (&raw const *arg).cast_mut().cast()).collect();
        // SAFETY: the arguments are those of the kernel, as whoever wrote it says.
        check(unsafe {
            (self.raw.launch)(
                self.function,
                grid[0],
                grid[1],
                grid[2],
                block[0],
                block[1],
                block[2],
                0,
                null_mut(),
                parameters.as_mut_ptr(),
                null_mut(),
            )
        });
    }
}

type Create = unsafe extern "C" fn(
    *mut Handle,
    *const c_char,
    *const c_char,
    c_int,
    *const *const c_char,
    *const *const c_char,
) -> c_int;
type Compile = unsafe extern "C" fn(Handle, c_int, *const *const c_char) -> c_int;
type Size = unsafe extern "C" fn(Handle, *mut usize) -> c_int;
type Read = unsafe extern "C" fn(Handle, *mut c_char) -> c_int;

/// Machine code for device 0.
pub fn image(text: &str, options: &[&str]) -> Vec<u8> {
    let device = quadrants_rhi_cuda::driver().and_then(|d| d.open(0)).expect("the device opens");
    let arch = format!("--gpu-architecture={}", device.info().arch);
    let options: Vec<CString> = [arch.as_str(), "--std=c++17"]
        .iter()
        .chain(options)
        .map(|option| CString::new(*option).expect("a C string"))
        .collect();
    let pointers: Vec<_> = options.iter().map(|option| option.as_ptr()).collect();
    let text = CString::new(text).expect("a C string");
    // SAFETY: NVRTC's functions by their documented signatures; every buffer has the size it asked for.
    unsafe {
        let library = LIBRARIES.iter().find_map(|name| Library::new(*name).ok()).expect("NVRTC");
        let create: Create = *library.get(b"nvrtcCreateProgram\0").expect("create");
        let compile: Compile = *library.get(b"nvrtcCompileProgram\0").expect("compile");
        let get = |symbol: &[u8]| -> Size { *library.get(symbol).expect("a size") };
        let read = |symbol: &[u8]| -> Read { *library.get(symbol).expect("a text") };
        let mut program = null_mut();
        check(create(&mut program, text.as_ptr(), null(), 0, null(), null()));
        let code = compile(program, pointers.len() as c_int, pointers.as_ptr());
        if code != 0 {
            let mut bytes = 0;
            check(get(b"nvrtcGetProgramLogSize\0")(program, &mut bytes));
            let mut log = vec![0u8; bytes];
            check(read(b"nvrtcGetProgramLog\0")(program, log.as_mut_ptr().cast()));
            panic!("NVRTC said: {}", String::from_utf8_lossy(&log));
        }
        let mut bytes = 0;
        check(get(b"nvrtcGetCUBINSize\0")(program, &mut bytes));
        let mut image = vec![0u8; bytes];
        check(read(b"nvrtcGetCUBIN\0")(program, image.as_mut_ptr().cast()));
        image
    }
}
