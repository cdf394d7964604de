//! Kernels for machines that cannot compile: compiled ahead for given architectures into one file, from which a
//! program there takes them.
//!
//! What goes in are the kernels that a program has launched or [prepared](crate::Launch::prepare), each for every
//! architecture asked for, in both forms. No device of those architectures is needed: a program on the processor
//! knows the same kernels.

use std::{borrow::Cow, collections::BTreeSet, env, ffi::OsString, path::Path, sync::Arc};

use quadrants_codegen::{CompileRequest, Compiler};
use quadrants_ir::{
    Offloaded,
    abi::{self, Form, Passing},
};
use quadrants_rhi::{Capabilities, ImageKind};
use quadrants_runtime::{ImageKey, ImagePack, PackEntry, PackWriter};

use crate::{Error, Program, Result, kernel_cache::KernelCache, program::ProgramShared};

/// The environment variable that names a file of exported kernels for programs that are opened without one.
pub const KERNELS_VARIABLE: &str = "QUADRANTS_KERNELS";

/// An architecture to compile for, which no device need have, with its compiler.
#[derive(Clone, Debug)]
pub struct Target {
    arch: String,
    compiler: Arc<dyn Compiler>,
}

/// A file of kernels that [`Program::export_cache`] or [`Export::write`] made, opened to run from.
///
/// A program asks it first, then the folder of kept kernels, then a compiler. An image is found by what it was made
/// from: the kernel's text and IR, the blocks of its region, the architecture, the release of this crate; never by
/// its name. So a file that does not fit gives nothing rather than something else, and an entry that is damaged is
/// one that is not there. A device takes the image of its own architecture, else of one whose images it runs too:
/// `sm_80` on an `sm_86`; `compute_80` on all later ones, finished by the driver; `gfx90a` on one with any features.
///
/// What lies there is run: it must come from who is trusted.
#[derive(Clone, Debug)]
pub struct ExportedKernels(Arc<Pack>);

#[derive(Debug)]
struct Pack {
    pack: ImagePack,
    archs: BTreeSet<String>,
}

/// Compiled kernels on their way into a file: of several programs, or several files.
#[derive(Clone, Debug)]
pub struct Export {
    targets: Vec<Target>,
    images: PackWriter,
}

/// What an export has written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Exported {
    /// How many images: one for each kernel, form and architecture.
    pub images: usize,
    /// How many bytes.
    pub bytes: u64,
}

impl Target {
    /// An architecture by the name that its devices give it, `sm_90` or `gfx90a`, and a compiler for it.
    #[must_use]
    pub fn new(arch: impl Into<String>, compiler: Arc<dyn Compiler>) -> Self {
        Self { arch: arch.into(), compiler }
    }

    /// The architecture's name.
    #[must_use]
    pub fn arch(&self) -> &str {
        &self.arch
    }
}

impl ExportedKernels {
    /// Those in a file.
    ///
    /// # Errors
    /// [`Error::Kernels`] with why it is no file of exported kernels that this build can use.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Ok(Self::new(ImagePack::open(path.as_ref())?))
    }

    /// Those in memory: `ExportedKernels::from_bytes(include_bytes!("kernels.qdk"))`.
    ///
    /// # Errors
    /// As for [`open`](Self::open).
    pub fn from_bytes(bytes: impl Into<Cow<'static, [u8]>>) -> Result<Self> {
        Ok(Self::new(ImagePack::from_bytes(bytes)?))
    }

    fn new(pack: ImagePack) -> Self {
        let archs = pack.entries().map(|(_, entry)| entry.arch.clone()).collect();
        Self(Arc::new(Pack { pack, archs }))
    }

    /// Each image: kernel and form, architecture, and by what it was made.
    pub fn images(&self) -> impl Iterator<Item = &PackEntry> {
        self.0.pack.entries().map(|(_, entry)| entry)
    }

    /// The architectures that there are images for.
    pub fn archs(&self) -> impl Iterator<Item = &str> {
        self.0.archs.iter().map(String::as_str)
    }

    /// The file and what it has, for messages.
    pub(crate) fn describe(&self) -> String {
        let archs: Vec<&str> = self.archs().collect();
        format!("`{}` ({})", self.0.pack.origin(), archs.join(", "))
    }

    pub(crate) fn has_arch(&self, arch: &str) -> bool {
        self.0.archs.contains(arch)
    }

    pub(crate) fn get(&self, key: &ImageKey) -> Option<Vec<u8>> {
        self.0.pack.get(key)
    }

    /// Those that the environment names.
    pub(crate) fn from_env() -> Result<Vec<Self>> {
        Self::chosen(env::var_os(KERNELS_VARIABLE))
    }

    fn chosen(file: Option<OsString>) -> Result<Vec<Self>> {
        file.filter(|file| !file.is_empty()).iter().map(Self::open).collect()
    }
}

impl Export {
    /// Nothing yet, for these architectures.
    #[must_use]
    pub fn new(targets: impl IntoIterator<Item = Target>) -> Self {
        Self { targets: targets.into_iter().collect(), images: PackWriter::default() }
    }

    /// Adds the kernels of a program, compiled for all architectures. What the program finds compiled on disk by the
    /// same compiler is not compiled again.
    ///
    /// # Errors
    /// [`Error::Compile`], also where there is no compiler for an architecture; [`Error::NotKept`] for a compiler
    /// whose images cannot be found again.
    pub fn add(&mut self, program: &Program) -> Result<()> {
        let shared = program.shared();
        for kernel in shared.launcher.kernels() {
            for target in &self.targets {
                for form in [Form::Proven, Form::Checked] {
                    for passing in passings(shared, &kernel) {
                        let request = CompileRequest::new(&target.arch, form, passing);
                        compile_into(
                            &mut self.images,
                            &shared.kernel_cache,
                            target,
                            &kernel,
                            &request,
                        )?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Adds what a file has; of an image that is there already, this one is kept.
    pub fn add_file(&mut self, kernels: &ExportedKernels) {
        for (key, entry) in kernels.0.pack.entries() {
            if !self.images.contains(key)
                && let Some(image) = kernels.0.pack.get(key)
            {
                self.images.add(*key, entry.clone(), image);
            }
        }
    }

    /// Writes the file, in one step for whoever reads it. The same images make the same file.
    ///
    /// # Errors
    /// [`Error::Kernels`] where it cannot be written.
    pub fn write(&self, path: impl AsRef<Path>) -> Result<Exported> {
        let bytes = self.images.write(path.as_ref())?;
        Ok(Exported { images: self.images.len(), bytes })
    }
}

impl Program {
    /// Writes the kernels that this program has launched or [prepared](crate::Launch::prepare) so far, compiled for
    /// these architectures, into a file that [`ProgramBuilder::kernels`](crate::ProgramBuilder::kernels) takes.
    /// A machine that has it needs a driver and no compiler. Needs no device: a program on the processor will do.
    ///
    /// # Errors
    /// Those of [`Export::add`] and [`Export::write`].
    pub fn export_cache(&self, path: impl AsRef<Path>, targets: &[Target]) -> Result<Exported> {
        let mut export = Export::new(targets.iter().cloned());
        export.add(self)?;
        export.write(path)
    }
}

/// How a device passes the arguments of a kernel, and how this program does.
fn passings(shared: &ProgramShared, kernel: &Offloaded) -> Vec<Passing> {
    let bytes = 8 * abi::block_words(kernel, Form::Checked);
    let usual = Capabilities::new(ImageKind::Binary).max_argument_bytes;
    let passing = |limit: usize| if bytes <= limit { Passing::Value } else { Passing::Buffer };
    let mut passings = vec![passing(usual), passing(shared.argument_limit.min(usual))];
    passings.dedup();
    passings
}

fn compile_into(
    images: &mut PackWriter,
    kernel_cache: &KernelCache,
    target: &Target,
    kernel: &Offloaded,
    request: &CompileRequest<'_>,
) -> Result<()> {
    let Target { arch, compiler } = target;
    let failed = |source| Error::Compile { kernel: kernel.name.clone(), source };
    let library = kernel_cache.compiler_library(&**compiler);
    let place = kernel_cache.place(&**compiler, library.as_deref(), kernel, request);
    let place = place.ok_or_else(|| Error::NotKept { arch: arch.clone() })?;
    let key = place.keyed().key(arch);
    if images.contains(&key) {
        return Ok(());
    }
    let made_by = compiler.identity().map_err(failed)?;
    let image = match place.get(arch) {
        Some(image) => image,
        None => {
            let image = compiler.compile(kernel, request).map_err(failed)?.image;
            place.put(arch, &image);
            image
        }
    };
    let form = match request.form {
        Form::Proven => "proven",
        Form::Checked => "checked",
    };
    let name = format!("{}, {form}", kernel.name);
    images.add(key, PackEntry { name, arch: arch.clone(), made_by }, image);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variable_names_a_file_and_one_that_is_wrong_is_told() {
        assert!(ExportedKernels::chosen(None).unwrap().is_empty());
        assert!(ExportedKernels::chosen(Some("".into())).unwrap().is_empty());
        let refused = ExportedKernels::chosen(Some("/nonexistent/kernels".into()));
        assert!(matches!(refused, Err(Error::Kernels(_))), "{refused:?}");
    }
}
