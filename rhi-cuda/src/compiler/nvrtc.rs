//! NVRTC: its function table, the search for its library, and compilation.

use std::{
    ffi::{CString, c_char, c_int, c_void},
    fs,
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
    table::{Library, Status},
};

const NAME: &str = "NVRTC";

const SEARCH: LibrarySearch = LibrarySearch {
    variable: super::LIBRARY_VARIABLE,
    roots: &["CUDA_PATH", "CUDA_HOME"],
    installations: &[("/usr/local", "cuda"), ("/opt", "cuda")],
    wheels: &["nvidia/cu13/lib", "nvidia/cuda_nvrtc/lib"],
    names: &["libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"],
};

macro_rules! nvrtc_functions {
    ([$($consumer:tt)*] $($header:tt)*) => { $($consumer)*! { $($header)*
        /// NVRTC's version.
        version = nvrtcVersion(major: *mut c_int, minor: *mut c_int), required;
        /// Counts the supported architectures.
        arch_count = nvrtcGetNumSupportedArchs(count: *mut c_int), required;
        /// The supported architectures: 90 is sm_90.
        archs = nvrtcGetSupportedArchs(archs: *mut c_int), required;
        /// Makes a program from a text.
        create = nvrtcCreateProgram(program: *mut *mut c_void, text: *const c_char, name: *const c_char, headers: c_int, header_texts: *const *const c_char, header_names: *const *const c_char), required;
        /// Destroys a program and sets the handle to null.
        destroy = nvrtcDestroyProgram(program: *mut *mut c_void), required;
        /// Compiles a program.
        compile = nvrtcCompileProgram(program: *mut c_void, count: c_int, options: *const *const c_char), required;
        /// The length of a program's PTX, with its zero byte.
        ptx_size = nvrtcGetPTXSize(program: *mut c_void, bytes: *mut usize), required;
        /// A program's PTX.
        ptx = nvrtcGetPTX(program: *mut c_void, ptx: *mut c_char), required;
        /// The length of a program's machine code.
        cubin_size = nvrtcGetCUBINSize(program: *mut c_void, bytes: *mut usize), required;
        /// A program's machine code.
        cubin = nvrtcGetCUBIN(program: *mut c_void, cubin: *mut c_char), required;
        /// The length of the compiler's messages, with the zero byte.
        log_size = nvrtcGetProgramLogSize(program: *mut c_void, bytes: *mut usize), required;
        /// The compiler's messages.
        log = nvrtcGetProgramLog(program: *mut c_void, log: *mut c_char), required;
    } };
}

nvrtc_functions! { [quadrants_rhi::driver_table]
    /// The functions of NVRTC.
    struct Table: check;
}

/// The target of a compilation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Target {
    /// Machine code for this architecture: `sm_90`.
    Machine(String),
    /// PTX for this virtual architecture: `compute_90`.
    Ptx(String),
}

/// A loaded NVRTC.
#[derive(Debug)]
pub(super) struct Nvrtc {
    table: Table,
    version: (c_int, c_int),
    /// In ascending order.
    archs: Vec<c_int>,
}

/// A program; destroyed on drop.
struct ProgramHandle<'a> {
    table: &'a Table,
    raw: *mut c_void,
}

impl Target {
    /// The value of the architecture option.
    pub(super) fn option(&self) -> &str {
        match self {
            Self::Machine(arch) | Self::Ptx(arch) => arch,
        }
    }
}

impl Nvrtc {
    /// Returns NVRTC. The first successful call loads it for the process.
    pub(super) fn get() -> Result<&'static Self> {
        static LOADED: Mutex<Option<&'static Nvrtc>> = Mutex::new(None);
        let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(nvrtc) = *loaded {
            return Ok(nvrtc);
        }
        let nvrtc: &'static Self = Box::leak(Box::new(Self::find(&|name| std::env::var_os(name))?));
        *loaded = Some(nvrtc);
        Ok(nvrtc)
    }

    /// The library that [`get`](Self::get) would try first in the process's environment, if that is a file.
    pub(super) fn library() -> Option<PathBuf> {
        SEARCH.first(&|name| std::env::var_os(name))
    }

    /// Loads the first existing library of the candidates in `env`.
    pub(super) fn find(env: &Environment<'_>) -> Result<Self> {
        let search_paths = SEARCH.search_paths(env);
        let mut searched = search_paths.failures;
        let mut unusable = None;
        for path in &search_paths.candidates {
            match Self::open(path) {
                Err(RhiError::LibraryNotFound { reason, .. }) => searched.push(reason),
                Err(error) => unusable = unusable.or(Some(error)),
                Ok(nvrtc) => {
                    tracing::debug!(library = %path.display(), version = ?nvrtc.version, "NVRTC loaded");
                    return Ok(nvrtc);
                }
            }
        }
        match unusable {
            Some(error) => Err(translate(error)),
            None => Err(Error::CompilerNotFound { compiler: NAME, searched }),
        }
    }

    fn open(path: &Path) -> quadrants_rhi::Result<Self> {
        // Loaded first, so that NVRTC finds it by name also in a folder that the loader does not search. If it is
        // missing, NVRTC reports that when it compiles.
        let builtins: Vec<_> = builtins_beside(path);
        if !builtins.is_empty() {
            // SAFETY: by its name and folder it is NVRTC's own library.
            let _held =
                unsafe { Library::open(crate::BACKEND, &builtins, super::LIBRARY_VARIABLE) };
        }
        // SAFETY: it is NVRTC by its name, or the user selected it as NVRTC.
        let library = unsafe { Library::open(crate::BACKEND, &[path], super::LIBRARY_VARIABLE) }?;
        // SAFETY: the table's rows are NVRTC's documented signatures, and the library stays loaded.
        let table = unsafe { Table::load(library.name(), &|symbol| library.resolve(symbol)) }?;
        let (mut major, mut minor, mut count) = (0, 0, 0);
        // SAFETY: both write their numbers through the pointers.
        unsafe {
            table.version(&mut major, &mut minor)?;
            table.arch_count(&mut count)?;
        }
        let mut archs = vec![0; usize::try_from(count).unwrap_or(0)];
        // SAFETY: the buffer has as many elements as it counted.
        unsafe { table.archs(archs.as_mut_ptr()) }?;
        archs.sort_unstable();
        Ok(Self { table, version: (major, minor), archs })
    }

    /// Name and version.
    pub(super) fn identity(&self) -> String {
        format!("nvrtc {}.{}", self.version.0, self.version.1)
    }

    /// The compilation target for a device of `arch`.
    pub(super) fn target(&self, arch: &str) -> Result<Target> {
        let unknown = || Error::UnknownArch {
            compiler: self.identity(),
            arch: arch.to_owned(),
            known: self.archs.iter().map(|arch| format!("sm_{arch}")).collect(),
        };
        let number_of = |digits: &str| digits.trim_end_matches(['a', 'f']).parse::<c_int>();
        if let Some(digits) = arch.strip_prefix("compute_") {
            let known = number_of(digits).is_ok_and(|number| self.archs.contains(&number));
            return known.then(|| Target::Ptx(arch.to_owned())).ok_or_else(unknown);
        }
        let digits = arch.strip_prefix("sm_").ok_or_else(unknown)?;
        let number = number_of(digits).map_err(|_| unknown())?;
        if self.archs.contains(&number) {
            return Ok(Target::Machine(arch.to_owned()));
        }
        let older = self.archs.iter().rev().find(|&&known| known < number).ok_or_else(unknown)?;
        Ok(Target::Ptx(format!("compute_{older}")))
    }

    /// Compiles a text. Returns the image and the compiler's messages.
    pub(super) fn compile(
        &self,
        kernel: &str,
        text: &str,
        target: &Target,
        options: &[&str],
    ) -> Result<(Vec<u8>, String)> {
        let arch = format!("--gpu-architecture={}", target.option());
        let options: Vec<CString> = options
            .iter()
            .copied()
            .chain([arch.as_str()])
            .filter_map(|o| CString::new(o).ok())
            .collect();
        let pointers: Vec<*const c_char> = options.iter().map(|option| option.as_ptr()).collect();
        let program = self.program(kernel, text)?;
        // SAFETY: the program is valid, and `options` has the given number of C strings.
        let status =
            unsafe { self.table.compile(program.raw, pointers.len() as c_int, pointers.as_ptr()) };
        let log = program.log().unwrap_or_default();
        match status {
            Ok(()) => Ok((program.image(target).map_err(translate)?, log)),
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
        let name = CString::new(format!("{kernel}.cu")).unwrap_or_default();
        let mut raw = ptr::null_mut();
        // SAFETY: both are C strings, which it copies; there are no headers.
        unsafe {
            self.table.create(&mut raw, text.as_ptr(), name.as_ptr(), 0, ptr::null(), ptr::null())
        }
        .map_err(translate)?;
        Ok(ProgramHandle { table: &self.table, raw })
    }
}

impl ProgramHandle<'_> {
    fn log(&self) -> quadrants_rhi::Result<String> {
        let mut bytes = 0;
        // SAFETY: the program is valid.
        unsafe { self.table.log_size(self.raw, &mut bytes) }?;
        let mut log = vec![0u8; bytes];
        // SAFETY: the buffer has the size that it returned.
        unsafe { self.table.log(self.raw, log.as_mut_ptr().cast()) }?;
        Ok(String::from_utf8_lossy(&log).trim_end_matches('\0').trim().to_owned())
    }

    fn image(&self, target: &Target) -> quadrants_rhi::Result<Vec<u8>> {
        let mut bytes = 0;
        let mut image = Vec::new();
        // SAFETY: the program is valid and compiled for this target, and the buffer has the size that it returned.
        unsafe {
            match target {
                Target::Machine(_) => {
                    self.table.cubin_size(self.raw, &mut bytes)?;
                    image.resize(bytes, 0u8);
                    self.table.cubin(self.raw, image.as_mut_ptr().cast())?;
                }
                Target::Ptx(_) => {
                    self.table.ptx_size(self.raw, &mut bytes)?;
                    image.resize(bytes, 0u8);
                    self.table.ptx(self.raw, image.as_mut_ptr().cast())?;
                }
            }
        }
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

/// NVRTC's result code for a rejected text.
const COMPILATION: i32 = 6;

fn check(_: &Table, call: &'static str, symbol: &'static str, status: Status) -> RhiError {
    let name = match status.0 {
        1 => "NVRTC_ERROR_OUT_OF_MEMORY",
        2 => "NVRTC_ERROR_PROGRAM_CREATION_FAILURE",
        3 => "NVRTC_ERROR_INVALID_INPUT",
        4 => "NVRTC_ERROR_INVALID_PROGRAM",
        5 => "NVRTC_ERROR_INVALID_OPTION",
        COMPILATION => "NVRTC_ERROR_COMPILATION",
        7 => "NVRTC_ERROR_BUILTIN_OPERATION_FAILURE",
        11 => "NVRTC_ERROR_INTERNAL_ERROR",
        _ => "an NVRTC error",
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

/// NVRTC's second library in the same folder; empty if the loader must find both.
fn builtins_beside(library: &Path) -> Vec<std::path::PathBuf> {
    let folder = library.parent().filter(|folder| !folder.as_os_str().is_empty());
    let Some(entries) = folder.and_then(|folder| fs::read_dir(folder).ok()) else {
        return Vec::new();
    };
    entries
        .filter_map(|entry| entry.ok())
        .filter(|entry| entry.file_name().to_string_lossy().starts_with("libnvrtc-builtins.so"))
        .map(|entry| entry.path())
        .collect()
}
