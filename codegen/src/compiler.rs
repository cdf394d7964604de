//! The compiler trait: from an offloaded kernel to the image that a device loads.

use std::{fmt, path::PathBuf};

use quadrants_ir::{
    Offloaded,
    abi::{Form, Passing},
};

use crate::Result;

/// Makes module images for one device.
///
/// # Safety
/// Images are run on memory that safe code vouches for. An implementation promises that each function of an image does
/// what the kernel's task means and no more: in the proven form it touches the elements that the task accesses, of the
/// tensors whose addresses are in its argument block as [`quadrants_ir::abi`] lays it out, and in the checked form none
/// out of range. Images that are [kept](Self::kept_as) or that other architectures [also run](Self::also_runs) are as good
/// as those made anew.
///
/// So no safe code implements it:
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
    /// Name, version and fixed options of the compiler: what its images depend on beside kernel
    /// and request, and so a part of the key that they are cached under.
    ///
    /// # Errors
    /// [`Error::CompilerNotFound`](crate::Error::CompilerNotFound) and
    /// [`Error::MissingSymbol`](crate::Error::MissingSymbol) where there is no compiler.
    fn identity(&self) -> Result<String>;

    /// The name by which the images of this compiler may be kept on disk, with all of its options that are always the
    /// same; none where they are not worth keeping. Told without loading or looking for it.
    fn kept_as(&self) -> Option<String> {
        None
    }

    /// The file of the compiler's library, told without loading it: an image on disk is good where the same file made
    /// it. None where that is not known before it is loaded, or there is none; images of any are then good.
    fn library(&self) -> Option<PathBuf> {
        None
    }

    /// The other architectures whose images a device of `arch` runs too, the best first.
    fn also_runs(&self, arch: &str) -> Vec<String> {
        let _ = arch;
        Vec::new()
    }

    /// Compiles all tasks of a kernel into one image, which has a function for each, named
    /// [`Offloaded::function_name`].
    ///
    /// # Errors
    /// Those of [`identity`](Self::identity), and all others of [`Error`](crate::Error).
    fn compile(&self, kernel: &Offloaded, request: &CompileRequest<'_>) -> Result<Compiled>;

    /// The text that a verified kernel is compiled from, and the ending of a file that holds it; for a
    /// simulated device the text that the real one would get. None where there is no text.
    fn text(&self, kernel: &Offloaded, request: &CompileRequest<'_>) -> Option<SourceText> {
        let _ = (kernel, request);
        None
    }
}

/// The text of a kernel in one language.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct SourceText {
    /// The text.
    pub text: String,
    /// The usual ending of its files, without the dot: `cu`, `hip`.
    pub extension: &'static str,
}

impl SourceText {
    /// A text, and the ending of a file that holds it.
    #[must_use]
    pub const fn new(text: String, extension: &'static str) -> Self {
        Self { text, extension }
    }
}

/// What a kernel is compiled for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct CompileRequest<'a> {
    /// The device's architecture, as its description names it: `sm_90`, `gfx90a`.
    pub arch: &'a str,
    /// Whether accesses are checked.
    pub form: Form,
    /// How the functions get their arguments.
    pub passing: Passing,
}

impl<'a> CompileRequest<'a> {
    /// A request for `arch`.
    #[must_use]
    pub const fn new(arch: &'a str, form: Form, passing: Passing) -> Self {
        Self { arch, form, passing }
    }
}

/// A compiled kernel.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Compiled {
    /// What the device loads.
    pub image: Vec<u8>,
    /// The text it was compiled from, where there is one.
    pub source: Option<String>,
    /// What the compiler said besides: warnings. Mostly empty.
    pub log: String,
}

impl Compiled {
    /// An image, the text that it was made from and the compiler's words.
    #[must_use]
    pub const fn new(image: Vec<u8>, source: Option<String>, log: String) -> Self {
        Self { image, source, log }
    }
}
