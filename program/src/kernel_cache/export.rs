//! Image bundles: kernels compiled ahead into a file, for machines that cannot compile.
//!
//! An export contains the kernels that a program has launched or [prepared](crate::Launch::prepare), for each requested
//! architecture and in both forms. It needs no device of those architectures: a program on the CPU knows the same
//! kernels.

use std::{borrow::Cow, collections::BTreeSet, env, ffi::OsString, path::Path, sync::Arc};

use quadrants_codegen::{CompileRequest, Compiler};
use quadrants_ir::{
    Offloaded,
    abi::{self, Form, Passing},
};
use quadrants_rhi::{Capabilities, ImageKind};
use quadrants_runtime::{BundleEntry, BundleWriter, ImageBundle, ImageKey};

use crate::{Error, Program, Result, kernel_cache::KernelCache, program::ProgramShared};

/// The environment variable with the image bundle for programs that are opened without one.
pub const KERNELS_VARIABLE: &str = "QUADRANTS_KERNELS";

/// An architecture to compile for, with its compiler. It needs no device.
#[derive(Clone, Debug)]
pub struct Target {
    arch: String,
    compiler: Arc<dyn Compiler>,
}

/// An image bundle that [`Program::export_cache`] or [`Export::write`] made, opened for use.
///
/// A program looks for images here first, then in the kernel cache on disk, and then compiles. The key of an image
/// covers what it was made from: the kernel's IR, the blocks of its region, the architecture, and the release of this
/// crate; not its name. So an unsuitable file has no images for a program, and a damaged entry counts as missing. A
/// device takes images of its own architecture, or else of one that it also runs: an `sm_86` runs `sm_80`; all later
/// devices run `compute_80`, which their driver finishes; devices with any features run `gfx90a`.
///
/// The images are executed: the file must come from a trusted source.
#[derive(Clone, Debug)]
pub struct ExportedKernels(Arc<Pack>);

#[derive(Debug)]
struct Pack {
    pack: ImageBundle,
    archs: BTreeSet<String>,
}

/// An image bundle under construction: of the kernels of several programs, or of several files.
#[derive(Clone, Debug)]
pub struct Export {
    targets: Vec<Target>,
    images: BundleWriter,
}

/// The size of a written export.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Exported {
    /// The number of images: one for each kernel, form and architecture.
    pub images: usize,
    /// The size in bytes.
    pub bytes: u64,
}

impl Target {
    /// An architecture by the name that its devices report, such as `sm_90` or `gfx90a`, and a compiler for it.
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
    /// Opens a file.
    ///
    /// # Errors
    /// [`Error::Kernels`] where the file is not an image bundle that this build can use.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Ok(Self::new(ImageBundle::open(path.as_ref())?))
    }

    /// Uses bytes in memory: `ExportedKernels::from_bytes(include_bytes!("kernels.qdk"))`.
    ///
    /// # Errors
    /// As for [`open`](Self::open).
    pub fn from_bytes(bytes: impl Into<Cow<'static, [u8]>>) -> Result<Self> {
        Ok(Self::new(ImageBundle::from_bytes(bytes)?))
    }

    fn new(pack: ImageBundle) -> Self {
        let archs = pack.entries().map(|(_, entry)| entry.arch.clone()).collect();
        Self(Arc::new(Pack { pack, archs }))
    }

    /// The images: the kernel and form, the architecture, and the compiler of each.
    pub fn images(&self) -> impl Iterator<Item = &BundleEntry> {
        self.0.pack.entries().map(|(_, entry)| entry)
    }

    /// The architectures of the images.
    pub fn archs(&self) -> impl Iterator<Item = &str> {
        self.0.archs.iter().map(String::as_str)
    }

    /// The file and its architectures, for messages.
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

    /// Opens the file that the environment names, if any.
    pub(crate) fn from_env() -> Result<Vec<Self>> {
        Self::chosen(env::var_os(KERNELS_VARIABLE))
    }

    fn chosen(file: Option<OsString>) -> Result<Vec<Self>> {
        file.filter(|file| !file.is_empty()).iter().map(Self::open).collect()
    }
}

impl Export {
    /// An empty export for these architectures.
    #[must_use]
    pub fn new(targets: impl IntoIterator<Item = Target>) -> Self {
        Self { targets: targets.into_iter().collect(), images: BundleWriter::default() }
    }

    /// Adds the kernels of a program, compiled for all architectures. Images that the program's kernel cache has from
    /// the same compiler are not compiled again.
    ///
    /// # Errors
    /// [`Error::Compile`], also where there is no compiler for an architecture; [`Error::NotKept`] for a compiler whose
    /// images cannot be identified.
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

    /// Adds the images of a file, except those that are there already.
    pub fn add_file(&mut self, kernels: &ExportedKernels) {
        for (key, entry) in kernels.0.pack.entries() {
            if !self.images.contains(key)
                && let Some(image) = kernels.0.pack.get(key)
            {
                self.images.add(*key, entry.clone(), image);
            }
        }
    }

    /// Writes the file in one step: readers never see a part of it. The same images make the same file.
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
    /// these architectures, to a file for [`ProgramBuilder::kernels`](crate::ProgramBuilder::kernels). A machine with
    /// the file needs a driver but no compiler. Exporting needs no device of these architectures: a program on the CPU
    /// can export.
    ///
    /// # Errors
    /// The errors of [`Export::add`] and [`Export::write`].
    pub fn export_cache(&self, path: impl AsRef<Path>, targets: &[Target]) -> Result<Exported> {
        let mut export = Export::new(targets.iter().cloned());
        export.add(self)?;
        export.write(path)
    }
}

/// How devices pass the arguments of a kernel by default, and how this program does.
fn passings(shared: &ProgramShared, kernel: &Offloaded) -> Vec<Passing> {
    let bytes = 8 * abi::block_words(kernel, Form::Checked);
    let usual = Capabilities::new(ImageKind::Binary).max_argument_bytes;
    let passing = |limit: usize| if bytes <= limit { Passing::Value } else { Passing::Buffer };
    let mut passings = vec![passing(usual), passing(shared.argument_limit.min(usual))];
    passings.dedup();
    passings
}

fn compile_into(
    images: &mut BundleWriter,
    kernel_cache: &KernelCache,
    target: &Target,
    kernel: &Offloaded,
    request: &CompileRequest<'_>,
) -> Result<()> {
    let Target { arch, compiler } = target;
    let failed = |source| Error::Compile { kernel: kernel.name.clone(), source };
    let library = kernel_cache.compiler_library(&**compiler);
    let cached = kernel_cache.images_of(&**compiler, library.as_deref(), kernel, request);
    let cached = cached.ok_or_else(|| Error::NotKept { arch: arch.clone() })?;
    let key = cached.key_prefix().key(arch);
    if images.contains(&key) {
        return Ok(());
    }
    let made_by = compiler.identity().map_err(failed)?;
    let image = match cached.get(arch) {
        Some(image) => image,
        None => {
            let image = compiler.compile(kernel, request).map_err(failed)?.image;
            cached.put(arch, &image);
            image
        }
    };
    let form = match request.form {
        Form::Proven => "proven",
        Form::Checked => "checked",
    };
    let name = format!("{}, {form}", kernel.name);
    images.add(key, BundleEntry { name, arch: arch.clone(), made_by }, image);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variable_names_a_file_and_a_missing_one_is_an_error() {
        assert!(ExportedKernels::chosen(None).unwrap().is_empty());
        assert!(ExportedKernels::chosen(Some("".into())).unwrap().is_empty());
        let refused = ExportedKernels::chosen(Some("/nonexistent/kernels".into()));
        assert!(matches!(refused, Err(Error::Kernels(_))), "{refused:?}");
    }
}
