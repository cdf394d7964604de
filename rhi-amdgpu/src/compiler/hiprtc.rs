//! hipRTC: its function table, the search for its library, and compilation.

use std::{
    ffi::{CStr, c_char, c_int, c_void},
    path::{Path, PathBuf},
    ptr,
    sync::{Mutex, PoisonError},
};

use quadrants_codegen::{
    Error, Result,
    search::{LIBRARIES, LibrarySearch},
};
use quadrants_rhi::table::{Library, loaded_files};

use super::arch;

/// The environment variable that selects the hipRTC library.
pub const LIBRARY_VARIABLE: &str = "QUADRANTS_HIPRTC_LIBRARY";

/// hipRTC is part of libamdhip64 in ROCm 5, part of it and a separate library in ROCm 6, and only a separate library in
/// ROCm 7.
const SEARCH: LibrarySearch = LibrarySearch {
    variable: LIBRARY_VARIABLE,
    roots: &["ROCM_PATH", "ROCM_HOME", "HIP_PATH"],
    installations: &[("/opt", "rocm")],
    libraries: LIBRARIES,
    wheels: &[],
    names: &[
        "libhiprtc.so.7",
        "libhiprtc.so.6",
        "libhiprtc.so.5",
        "libhiprtc.so",
        "libamdhip64.so.6",
        "libamdhip64.so.5",
        "libamdhip64.so",
    ],
};

macro_rules! hiprtc_functions {
    ([$($consumer:tt)*] $($header:tt)*) => { $($consumer)*! { $($header)*
        /// hipRTC's version; ROCm 5 and 6 return 9.0.
        version = hiprtcVersion(major: *mut c_int, minor: *mut c_int), required;
        /// Makes a program from a text.
        create = hiprtcCreateProgram(program: *mut *mut c_void, text: *const c_char, name: *const c_char, headers: c_int, header_texts: *const *const c_char, header_names: *const *const c_char), required;
        /// Destroys a program and sets the handle to null.
        destroy = hiprtcDestroyProgram(program: *mut *mut c_void), required;
        /// Compiles a program.
        compile = hiprtcCompileProgram(program: *mut c_void, count: c_int, options: *const *const c_char), required;
        /// The length of a program's code object.
        code_size = hiprtcGetCodeSize(program: *mut c_void, bytes: *mut usize), required;
        /// A program's code object.
        code = hiprtcGetCode(program: *mut c_void, code: *mut c_char), required;
        /// The length of the compiler's messages, with the zero byte.
        log_size = hiprtcGetProgramLogSize(program: *mut c_void, bytes: *mut usize), required;
        /// The compiler's messages.
        log = hiprtcGetProgramLog(program: *mut c_void, log: *mut c_char), required;
        /// The version of the HIP runtime, if it is the same library or a dependency of it.
        runtime_version = hipRuntimeGetVersion(version: *mut c_int), optional("3.5");
        /// Counts the architectures of the compiler library that hipRTC uses, if it is linked to it.
        isa_count = amd_comgr_get_isa_count(count: *mut usize), optional("2.0");
        /// The name of an architecture: `amdgcn-amd-amdhsa--gfx90a`.
        isa_name = amd_comgr_get_isa_name(index: usize, name: *mut *const c_char), optional("2.0");
    } };
}

hiprtc_functions! { [quadrants_rhi::driver_table]
    /// The functions of hipRTC and of its dependencies.
    struct Table: check;
}

quadrants_codegen::run_time_compiler! { Hiprtc, Table, "hipRTC", "HIPRTC_ERROR", "hip" }

/// A loaded hipRTC.
#[derive(Debug)]
pub(super) struct Hiprtc {
    table: Table,
    identity: String,
    processors: Vec<String>,
}

impl Hiprtc {
    fn open(path: &Path) -> quadrants_rhi::Result<Self> {
        // SAFETY: it is hipRTC by its name, or the user selected it as hipRTC.
        let library = unsafe { Library::open(crate::BACKEND, &[path], LIBRARY_VARIABLE) }?;
        // SAFETY: the rows state the documented signatures, and the library stays loaded. Functions of its dependencies
        // are found through it, so they are those that it uses.
        let table = unsafe { Table::load(library.name(), &|symbol| library.resolve(symbol)) }?;
        let (mut major, mut minor) = (0, 0);
        // SAFETY: it writes two numbers.
        unsafe { table.version(&mut major, &mut minor) }?;
        let runtime = table.runtime();
        // The loader may have found it by its name alone.
        let loaded = library.file_of("hiprtcVersion");
        let file = loaded.or_else(|| path.canonicalize().ok()).unwrap_or_else(|| path.to_owned());
        let version = match runtime {
            Some((major, minor, _)) => (major, minor),
            None => version_of(&file, &mut loaded_files().map(|(_, file)| file)),
        };
        let file = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let mut identity = format!("hiprtc {major}.{minor} of {file}");
        if let Some((major, minor, patch)) = runtime {
            identity += &format!(", hip {major}.{minor}.{patch}");
        }
        let processors = table.processors().unwrap_or_else(|| arch::of_version(version));
        Ok(Self { table, identity, processors })
    }

    /// Name and versions, as far as they are known.
    pub(super) fn identity(&self) -> &str {
        &self.identity
    }

    /// Returns an error for an architecture that this hipRTC does not support.
    pub(super) fn check_arch(&self, arch: &str) -> Result<()> {
        if self.processors.iter().any(|known| known == arch::processor(arch)) {
            return Ok(());
        }
        Err(Error::UnknownArch {
            compiler: self.identity.clone(),
            arch: arch.to_owned(),
            known: self.processors.clone(),
        })
    }

    /// Compiles a text for an architecture that [`check_arch`](Self::check_arch) accepted. Returns the image and the
    /// compiler's messages.
    pub(super) fn compile(
        &self,
        kernel: &str,
        text: &str,
        arch: &str,
        options: &[&str],
    ) -> Result<(Vec<u8>, String)> {
        let arch = format!("--offload-arch={arch}");
        let options = options.iter().copied().chain([arch.as_str()]);
        // The options of LLVM are global to a process. Two compilations at once may both register the same option,
        // which ends the process, or corrupt memory (seen with hipRTC 5.2.3).
        static COMPILING: Mutex<()> = Mutex::new(());
        let _one = COMPILING.lock().unwrap_or_else(PoisonError::into_inner);
        self.compile_text(kernel, text, options, |program| program.image())
    }
}

impl Table {
    /// The HIP runtime's version, if it can be queried.
    fn runtime(&self) -> Option<(c_int, c_int, c_int)> {
        let mut version = 0;
        // SAFETY: it writes a number, and needs no device.
        unsafe { self.runtime_version(&mut version) }.ok()?;
        Some((version / 10_000_000, version / 100_000 % 100, version % 100_000))
    }

    /// The processors that the compiler library of hipRTC supports, if it can be queried.
    fn processors(&self) -> Option<Vec<String>> {
        let mut count = 0;
        // SAFETY: it writes a number.
        unsafe { self.isa_count(&mut count) }.ok()?;
        let mut processors = Vec::with_capacity(count);
        for index in 0..count {
            let mut name = ptr::null();
            // SAFETY: the index is less than the count. The name is a C string that lives as long as the library, which
            // stays loaded.
            let name = unsafe {
                self.isa_name(index, &mut name).ok()?;
                CStr::from_ptr(name)
            };
            let name = name.to_string_lossy();
            processors.extend(name.rsplit('-').next().map(str::to_owned));
        }
        Some(processors)
    }
}

impl ProgramHandle<'_> {
    fn image(&self) -> quadrants_rhi::Result<Vec<u8>> {
        let mut bytes = 0;
        // SAFETY: the program is valid and compiled.
        unsafe { self.table.code_size(self.raw, &mut bytes) }?;
        let mut image = vec![0u8; bytes];
        // SAFETY: the buffer has the size that it returned.
        unsafe { self.table.code(self.raw, image.as_mut_ptr().cast()) }?;
        Ok(image)
    }
}

/// The HIP version of a library that cannot report it: from its file name (`libhiprtc.so.6.4.43482`), from the runtime
/// in the same folder, or from the loaded runtime. If none has a minor version, the oldest of its major version, which
/// supports the fewest architectures.
fn version_of(file: &Path, loaded: &mut dyn Iterator<Item = PathBuf>) -> (c_int, c_int) {
    let own = in_name(file);
    if let Some((major, Some(minor))) = own {
        return (major, minor);
    }
    let major = own.map_or(5, |(major, _)| major);
    let beside = [format!("libamdhip64.so.{major}"), "libamdhip64.so".to_owned()];
    let beside = beside.iter().filter_map(|name| file.with_file_name(name).canonicalize().ok());
    let is_runtime = |file: &PathBuf| {
        file.file_name().is_some_and(|name| name.to_string_lossy().starts_with("libamdhip64.so"))
    };
    let runtimes = beside.chain(loaded.filter(is_runtime));
    let minor = runtimes.filter_map(|file| in_name(&file)).find_map(|(of, minor)| {
        // A runtime of another major version is unrelated to this library.
        minor.filter(|_| of == major)
    });
    (major, minor.unwrap_or(0))
}

/// The major and minor version in a library's file name: 6 and 0 in `libhiprtc.so.6.0.2`.
fn in_name(file: &Path) -> Option<(c_int, Option<c_int>)> {
    let name = file.file_name()?.to_string_lossy();
    let mut numbers = name.split_once(".so.")?.1.split('.').map(|digits| digits.parse().ok());
    Some((numbers.next()??, numbers.next().flatten()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_read_from_the_file_or_from_the_runtime_next_to_it() {
        let none = || std::iter::empty();
        let at = |file: &str, loaded: &[&str]| {
            version_of(Path::new(file), &mut loaded.iter().map(PathBuf::from))
        };
        assert_eq!(at("/opt/rocm/lib/libhiprtc.so.6.4.43482", &[]), (6, 4));
        assert_eq!(at("/opt/rocm/lib/libhiprtc.so.5.7.50700", &[]), (5, 7));
        assert_eq!(at("/x/libhiprtc.so.6", &["/y/libamdhip64.so.6.3.42133"]), (6, 3));
        assert_eq!(at("/x/libhiprtc.so.6", &["/y/libamdhip64.so.5.7.1", "/y/libc.so.6.4"]), (6, 0));
        assert_eq!(at("libhiprtc.so", &[]), (5, 0));

        let folder = std::env::temp_dir().join(format!("quadrants-hiprtc-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("libamdhip64.so.6.2.41133"), "").unwrap();
        std::os::unix::fs::symlink("libamdhip64.so.6.2.41133", folder.join("libamdhip64.so.6"))
            .unwrap();
        assert_eq!(version_of(&folder.join("libhiprtc.so.6"), &mut none()), (6, 2));
        assert_eq!(version_of(&folder.join("libhiprtc.so.5"), &mut none()), (5, 0));
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
