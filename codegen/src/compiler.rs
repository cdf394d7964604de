//! The trait of run-time compilers: from an offloaded kernel to the module image that a device loads.

use std::{fmt, path::PathBuf};

use quadrants_ir::{
    Offloaded,
    abi::{Forms, Passing},
};

use crate::Result;

/// Compiles kernels to module images for one kind of device.
///
/// # Safety
/// Safe code relies on images to access memory correctly. An implementation must guarantee that each function of an
/// image does exactly what the kernel's task does. In the proven form it accesses only the elements that the task
/// accesses, of the tensors whose addresses are in its argument block as defined by [`quadrants_ir::abi`]. In the
/// checked form it accesses nothing out of range. The same holds for images from the [disk
/// cache](Self::disk_cache_name) and for those of [compatible architectures](Self::compatible_archs).
///
/// The trait is therefore unsafe to implement:
/// ```compile_fail,E0200
/// use quadrants_codegen::{CompileRequest, Compiled, Compiler, Result};
/// #[derive(Debug)]
/// struct Liar;
/// impl Compiler for Liar {
///     fn identity(&self) -> Result<String> { Ok(String::new()) }
///     fn compile(&self, _: &quadrants_ir::Offloaded, _: &CompileRequest<'_>) -> Result<Compiled> { unreachable!() }
/// }
/// ```
#[allow(unsafe_code)] // the promise alone: nothing here is done without checks
pub unsafe trait Compiler: Send + Sync + fmt::Debug {
    /// The compiler's name, version and fixed options: everything besides kernel and request that its images depend on.
    /// Part of the key of the in-memory cache.
    ///
    /// # Errors
    /// [`Error::CompilerNotFound`](crate::Error::CompilerNotFound) and
    /// [`Error::MissingSymbol`](crate::Error::MissingSymbol) where there is no compiler.
    fn identity(&self) -> Result<String>;

    /// The name, with all constant options, under which images may be cached on disk. None if caching is not
    /// worthwhile. Must not load or search for the library.
    fn disk_cache_name(&self) -> Option<String> {
        None
    }

    /// The file of the compiler's library, found without loading it. A cached image is valid if the same file produced
    /// it. None if the file is unknown before loading, or if there is no library; then any cached image is valid.
    fn library(&self) -> Option<PathBuf> {
        None
    }

    /// Other architectures whose images a device of `arch` can run, best first.
    fn compatible_archs(&self, arch: &str) -> Vec<String> {
        let _ = arch;
        Vec::new()
    }

    /// Compiles all tasks of a kernel into one image. It has one function per task, named by
    /// [`Offloaded::function_name`].
    ///
    /// # Errors
    /// Those of [`identity`](Self::identity), and all others of [`Error`](crate::Error).
    fn compile(&self, kernel: &Offloaded, request: &CompileRequest<'_>) -> Result<Compiled>;

    /// The source text that a verified kernel is compiled from. For a simulated device this is the text for the real
    /// one. None if there is no text.
    fn text(&self, kernel: &Offloaded, request: &CompileRequest<'_>) -> Option<SourceText> {
        let _ = (kernel, request);
        None
    }
}

/// The source text of a kernel.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct SourceText {
    /// The text.
    pub text: String,
    /// The usual file extension, without the dot: `cu`, `hip`.
    pub extension: &'static str,
}

impl SourceText {
    /// A text with its file extension.
    #[must_use]
    pub const fn new(text: String, extension: &'static str) -> Self {
        Self { text, extension }
    }
}

/// The target and the forms of a compilation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct CompileRequest<'a> {
    /// The device's architecture as in its description: `sm_90`, `gfx90a`.
    pub arch: &'a str,
    /// Which tasks check their accesses.
    pub forms: Forms,
    /// How the functions receive their arguments.
    pub passing: Passing,
}

impl<'a> CompileRequest<'a> {
    /// A request for `arch`.
    #[must_use]
    pub fn new(arch: &'a str, forms: impl Into<Forms>, passing: Passing) -> Self {
        Self { arch, forms: forms.into(), passing }
    }
}

/// A compiled kernel.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Compiled {
    /// The image that the device loads.
    pub image: Vec<u8>,
    /// The source text, if there is one.
    pub source: Option<String>,
    /// The compiler's warnings; usually empty.
    pub log: String,
}

impl Compiled {
    /// A compiled image, with its source text and the compiler's warnings.
    #[must_use]
    pub const fn new(image: Vec<u8>, source: Option<String>, log: String) -> Self {
        Self { image, source, log }
    }
}
