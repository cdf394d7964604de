//! Hand-written CUDA C++ kernels, compiled by the same NVRTC and launched through the driver.

use std::{
    ffi::{CStr, CString, c_char, c_int, c_void},
    path::PathBuf,
    ptr::{null, null_mut},
};

use libloading::Library;
use quadrants::codegen::search::{LIBRARIES, LibrarySearch, SearchPaths};

use crate::{
    driver::{Handle, Raw, check},
    table::functions,
};

functions! {
    /// NVRTC, loaded by hand.
    Nvrtc:
    create = "nvrtcCreateProgram" (
        *mut Handle, *const c_char, *const c_char, c_int, *const *const c_char, *const *const c_char
    );
    compile = "nvrtcCompileProgram" (Handle, c_int, *const *const c_char);
    log_size = "nvrtcGetProgramLogSize" (Handle, *mut usize);
    log = "nvrtcGetProgramLog" (Handle, *mut c_char);
    image_size = "nvrtcGetCUBINSize" (Handle, *mut usize);
    image = "nvrtcGetCUBIN" (Handle, *mut c_char);
}

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
        let device =
            quadrants_rhi_cuda::driver().and_then(|d| d.open(0)).expect("the device opens");
        let text = CString::new(text).expect("a C string");
        let image = Nvrtc::load().compile(&text, &device.info().arch, options);
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
        self.launch_on(0, grid, block, args);
    }

    /// Launches on a stream.
    pub fn launch_on(&self, stream: usize, grid: [u32; 3], block: [u32; 3], args: &[u64]) {
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
                stream as Handle,
                parameters.as_mut_ptr(),
                null_mut(),
            )
        });
    }
}

impl Nvrtc {
    /// The library that ours would take.
    ///
    /// # Panics
    ///
    /// If there is none.
    pub fn load() -> Self {
        const SEARCH: LibrarySearch = LibrarySearch {
            variable: "QUADRANTS_NVRTC_LIBRARY",
            roots: &["CUDA_PATH", "CUDA_HOME"],
            installations: &[("/usr/local", "cuda"), ("/opt", "cuda")],
            libraries: LIBRARIES,
            wheels: &["nvidia/cu13/lib", "nvidia/cuda_nvrtc/lib"],
            names: &["libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"],
        };
        let SearchPaths { candidates, .. } = SEARCH.search_paths(&|name| std::env::var_os(name));
        let open = |path: &PathBuf| {
            for beside in
                path.parent().and_then(|folder| folder.read_dir().ok()).into_iter().flatten()
            {
                let beside = beside.expect("an entry");
                if beside.file_name().to_string_lossy().starts_with("libnvrtc-builtins.so") {
                    // SAFETY: NVRTC's own second library, which is never unloaded.
                    std::mem::forget(unsafe { Library::new(beside.path()) });
                }
            }
            // SAFETY: NVRTC, by its name and its place.
            unsafe { Library::new(path) }.ok()
        };
        let library = candidates.iter().find_map(open).expect("NVRTC");
        // SAFETY: NVRTC's documented signatures.
        unsafe { Self::resolve(library) }
    }

    /// Machine code for the architecture.
    ///
    /// # Panics
    ///
    /// With NVRTC's log, if the text is wrong.
    pub fn compile(&self, text: &CStr, arch: &str, options: &[&str]) -> Vec<u8> {
        let arch = format!("--gpu-architecture={arch}");
        let options: Vec<CString> = [arch.as_str(), "--std=c++17"]
            .iter()
            .chain(options)
            .map(|option| CString::new(*option).expect("a C string"))
            .collect();
        let pointers: Vec<_> = options.iter().map(|option| option.as_ptr()).collect();
        let mut program = null_mut();
        // SAFETY: C texts that live as long as the calls; each buffer has room for the bytes that were counted.
        unsafe {
            let name = c"by_hand.cu".as_ptr();
            check((self.create)(&mut program, text.as_ptr(), name, 0, null(), null()));
            let code = (self.compile)(program, pointers.len() as c_int, pointers.as_ptr());
            let read =
                |size: unsafe extern "C" fn(Handle, *mut usize) -> c_int,
                 get: unsafe extern "C" fn(Handle, *mut c_char) -> c_int| {
                    let mut bytes = 0;
                    check(size(program, &mut bytes));
                    let mut buffer = vec![0u8; bytes];
                    check(get(program, buffer.as_mut_ptr().cast()));
                    buffer
                };
            if code != 0 {
                panic!("NVRTC said: {}", String::from_utf8_lossy(&read(self.log_size, self.log)));
            }
            read(self.image_size, self.image)
        }
    }
}
