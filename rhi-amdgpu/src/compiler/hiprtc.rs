//! hipRTC: its function table, the search for its library, and compilation.

use std::{
    ffi::{CStr, CString, c_char, c_int, c_void},
    path::{Path, PathBuf},
    ptr,
    sync::{Mutex, PoisonError},
};

use quadrants_codegen::{
    Error, Result,
    search::{Environment, LibrarySearch},
};
use quadrants_rhi::{
    DriverError, DriverErrorKind, Error as RhiError,
    table::{Library, Status, loaded_files},
};

use super::arch;

const NAME: &str = "hipRTC";

/// hipRTC is part of libamdhip64 in ROCm 5, part of it and a separate library in ROCm 6, and only a separate library in
/// ROCm 7.
const SEARCH: LibrarySearch = LibrarySearch {
    variable: super::LIBRARY_VARIABLE,
    roots: &["ROCM_PATH", "ROCM_HOME", "HIP_PATH"],
    installations: &[("/opt", "rocm")],
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

/// A loaded hipRTC.
#[derive(Debug)]
pub(super) struct Hiprtc {
    table: Table,
    identity: String,
    /// The supported processors.
    processors: Vec<String>,
}

/// A program; destroyed on drop.
struct ProgramHandle<'a> {
    table: &'a Table,
    raw: *mut c_void,
}

impl Hiprtc {
    /// Returns hipRTC. The first successful call loads it for the process.
    pub(super) fn get() -> Result<&'static Self> {
        static LOADED: Mutex<Option<&'static Hiprtc>> = Mutex::new(None);
        let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(hiprtc) = *loaded {
            return Ok(hiprtc);
        }
        let hiprtc: &'static Self =
            Box::leak(Box::new(Self::find(&|name| std::env::var_os(name))?));
        *loaded = Some(hiprtc);
        Ok(hiprtc)
    }

    /// The library that [`get`](Self::get) would try first in the process's environment, if that is a file.
    pub(super) fn library() -> Option<PathBuf> {
        SEARCH.first(&|name| std::env::var_os(name))
    }

    /// Loads the first existing library of the candidates in `env` that has hipRTC's functions.
    pub(super) fn find(env: &Environment<'_>) -> Result<Self> {
        let search_paths = SEARCH.search_paths(env);
        let mut searched = search_paths.failures;
        let mut unusable = None;
        for path in &search_paths.candidates {
            match Self::open(path) {
                Err(RhiError::LibraryNotFound { reason, .. }) => searched.push(reason),
                Err(error) => unusable = unusable.or(Some(error)),
                Ok(hiprtc) => {
                    tracing::debug!(library = %path.display(), identity = hiprtc.identity, "hipRTC loaded");
                    return Ok(hiprtc);
                }
            }
        }
        match unusable {
            Some(error) => Err(translate(error)),
            None => Err(Error::CompilerNotFound { compiler: NAME, searched }),
        }
    }

    fn open(path: &Path) -> quadrants_rhi::Result<Self> {
        // SAFETY: it is hipRTC by its name, or the user selected it as hipRTC.
        let library = unsafe { Library::open(crate::BACKEND, &[path], super::LIBRARY_VARIABLE) }?;
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
        let options: Vec<CString> = options
            .iter()
            .copied()
            .chain([arch.as_str()])
            .filter_map(|option| CString::new(option).ok())
            .collect();
        let pointers: Vec<*const c_char> = options.iter().map(|option| option.as_ptr()).collect();
        let program = self.program(kernel, text)?;
        // SAFETY: the program is valid, and `options` has the given number of C strings.
        let status =
            unsafe { self.table.compile(program.raw, pointers.len() as c_int, pointers.as_ptr()) };
        let log = program.log().unwrap_or_default();
        match status {
            Ok(()) => Ok((program.image().map_err(translate)?, log)),
            Err(RhiError::Driver(error)) if error.code == COMPILATION => Err(Error::Rejected {
                compiler: NAME,
                kernel: kernel.to_owned(),
                log,
                text: text.to_owned(),
            }),
            Err(error) => Err(with_log(translate(error), log)),
        }
    }

    fn program(&self, kernel: &str, text: &str) -> Result<ProgramHandle<'_>> {
        let text = CString::new(text).unwrap_or_default();
        let name = CString::new(format!("{kernel}.hip")).unwrap_or_default();
        let mut raw = ptr::null_mut();
        // SAFETY: both are C strings, which it copies; there are no headers.
        unsafe {
            self.table.create(&mut raw, text.as_ptr(), name.as_ptr(), 0, ptr::null(), ptr::null())
        }
        .map_err(translate)?;
        Ok(ProgramHandle { table: &self.table, raw })
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
    fn log(&self) -> quadrants_rhi::Result<String> {
        let mut bytes = 0;
        // SAFETY: the program is valid.
        unsafe { self.table.log_size(self.raw, &mut bytes) }?;
        // One more byte, because versions differ on whether the size includes the zero byte.
        let mut log = vec![0u8; bytes + 1];
        // SAFETY: the buffer has the size that it returned.
        unsafe { self.table.log(self.raw, log.as_mut_ptr().cast()) }?;
        Ok(String::from_utf8_lossy(&log).trim_end_matches('\0').trim().to_owned())
    }

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

impl Drop for ProgramHandle<'_> {
    fn drop(&mut self) {
        // SAFETY: the program is valid, and nothing uses it afterwards. A failure has no consequence, and the call is
        // traced.
        let _ = unsafe { self.table.destroy(&mut self.raw) };
    }
}

/// hipRTC's result code for a rejected text.
const COMPILATION: i32 = 6;

fn check(_: &Table, call: &'static str, symbol: &'static str, status: Status) -> RhiError {
    let name = match status.0 {
        1 => "HIPRTC_ERROR_OUT_OF_MEMORY",
        2 => "HIPRTC_ERROR_PROGRAM_CREATION_FAILURE",
        3 => "HIPRTC_ERROR_INVALID_INPUT",
        4 => "HIPRTC_ERROR_INVALID_PROGRAM",
        5 => "HIPRTC_ERROR_INVALID_OPTION",
        COMPILATION => "HIPRTC_ERROR_COMPILATION",
        7 => "HIPRTC_ERROR_BUILTIN_OPERATION_FAILURE",
        11 => "HIPRTC_ERROR_INTERNAL_ERROR",
        _ => "a hipRTC error",
    };
    DriverError::new(call, symbol, status.0, name, DriverErrorKind::Other).into()
}

/// Converts the table's errors to compiler errors.
fn translate(error: RhiError) -> Error {
    match error {
        RhiError::SymbolMissing { library, symbol, .. } => {
            Error::MissingSymbol { compiler: NAME, library, symbol }
        }
        RhiError::Driver(error) => Error::Call {
            symbol: error.symbol,
            code: error.code,
            name: error.name,
            log: String::new(),
        },
        error => Error::CompilerNotFound { compiler: NAME, searched: vec![error.to_string()] },
    }
}

fn with_log(error: Error, said: String) -> Error {
    match error {
        Error::Call { symbol, code, name, .. } => Error::Call { symbol, code, name, log: said },
        error => error,
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
