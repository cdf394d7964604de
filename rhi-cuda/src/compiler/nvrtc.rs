//! NVRTC: its function table, the search for its library, and compilation.

use std::{
    ffi::{c_char, c_int, c_void},
    fs,
    path::Path,
};

use quadrants_codegen::{
    Error, Result,
    search::{LIBRARIES, LibrarySearch},
};
use quadrants_rhi::table::Library;

/// The environment variable that selects the NVRTC library.
pub const LIBRARY_VARIABLE: &str = "QUADRANTS_NVRTC_LIBRARY";

const SEARCH: LibrarySearch = LibrarySearch {
    variable: LIBRARY_VARIABLE,
    roots: &["CUDA_PATH", "CUDA_HOME"],
    installations: &[("/usr/local", "cuda"), ("/opt", "cuda")],
    libraries: LIBRARIES,
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

quadrants_codegen::run_time_compiler! { Nvrtc, Table, "NVRTC", "NVRTC_ERROR", "cu" }

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum ImageFormat {
    /// Machine code for this architecture: `sm_90`.
    Machine(String),
    /// PTX for this virtual architecture: `compute_90`.
    Ptx(String),
}

#[derive(Debug)]
pub(super) struct Nvrtc {
    table: Table,
    version: (c_int, c_int),
    /// In ascending order.
    archs: Vec<c_int>,
}

impl ImageFormat {
    pub(super) fn option(&self) -> &str {
        match self {
            Self::Machine(arch) | Self::Ptx(arch) => arch,
        }
    }
}

impl Nvrtc {
    fn open(path: &Path) -> quadrants_rhi::Result<Self> {
        // Loaded first, so that NVRTC finds it by name also in a folder that the loader does not search. If it is
        // missing, NVRTC reports that when it compiles.
        let builtins: Vec<_> = builtins_beside(path);
        if !builtins.is_empty() {
            // SAFETY: by its name and folder it is NVRTC's own library.
            let _held = unsafe { Library::open(crate::BACKEND, &builtins, LIBRARY_VARIABLE) };
        }
        // SAFETY: it is NVRTC by its name, or the user selected it as NVRTC.
        let library = unsafe { Library::open(crate::BACKEND, &[path], LIBRARY_VARIABLE) }?;
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
    pub(super) fn target(&self, arch: &str) -> Result<ImageFormat> {
        let unknown = || Error::UnknownArch {
            compiler: self.identity(),
            arch: arch.to_owned(),
            known: self.archs.iter().map(|arch| format!("sm_{arch}")).collect(),
        };
        let number_of = |digits: &str| digits.trim_end_matches(['a', 'f']).parse::<c_int>();
        if let Some(digits) = arch.strip_prefix("compute_") {
            let known = number_of(digits).is_ok_and(|number| self.archs.contains(&number));
            return known.then(|| ImageFormat::Ptx(arch.to_owned())).ok_or_else(unknown);
        }
        let digits = arch.strip_prefix("sm_").ok_or_else(unknown)?;
        let number = number_of(digits).map_err(|_| unknown())?;
        if self.archs.contains(&number) {
            return Ok(ImageFormat::Machine(arch.to_owned()));
        }
        let older = self.archs.iter().rev().find(|&&known| known < number).ok_or_else(unknown)?;
        Ok(ImageFormat::Ptx(format!("compute_{older}")))
    }

    /// Compiles a text. Returns the image and the compiler's messages.
    pub(super) fn compile(
        &self,
        kernel: &str,
        text: &str,
        target: &ImageFormat,
        options: &[String],
    ) -> Result<(Vec<u8>, String)> {
        let arch = format!("--gpu-architecture={}", target.option());
        let options = options.iter().map(String::as_str).chain([arch.as_str()]);
        self.compile_text(kernel, text, options, |program| program.image(target))
    }
}

impl ProgramHandle<'_> {
    fn image(&self, target: &ImageFormat) -> quadrants_rhi::Result<Vec<u8>> {
        let mut bytes = 0;
        let mut image = Vec::new();
        // SAFETY: the program is valid and compiled for this target, and the buffer has the size that it returned.
        unsafe {
            match target {
                ImageFormat::Machine(_) => {
                    self.table.cubin_size(self.raw, &mut bytes)?;
                    image.resize(bytes, 0u8);
                    self.table.cubin(self.raw, image.as_mut_ptr().cast())?;
                }
                ImageFormat::Ptx(_) => {
                    self.table.ptx_size(self.raw, &mut bytes)?;
                    image.resize(bytes, 0u8);
                    self.table.ptx(self.raw, image.as_mut_ptr().cast())?;
                }
            }
        }
        Ok(image)
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
