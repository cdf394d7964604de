//! Image bundles: kernels compiled ahead into a file, for machines that cannot compile.
//!
//! An export contains the kernels that a program has launched or [prepared](crate::Launch::prepare), for each requested
//! architecture and in both forms. It needs no device of those architectures: a program on the CPU knows the same
//! kernels.

use std::{path::Path, sync::Arc};

use quadrants_codegen::{CompileRequest, Compiler};
use quadrants_ir::{
    Offloaded,
    abi::{Forms, Passing},
    schedule::schedule,
};
use quadrants_rhi::{Capabilities, ImageKind};
use quadrants_runtime::{BundleWriter, ImageLabel};

use crate::{
    Error, Program, Result,
    kernel::loader::passing,
    kernel_cache::{KernelCache, bundle::ExportedKernels},
};

/// An architecture to compile for, with its compiler. It needs no device.
#[derive(Clone, Debug)]
pub struct Target {
    arch: String,
    compiler: Arc<dyn Compiler>,
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

impl Export {
    /// An empty export for these architectures.
    #[must_use]
    pub fn new(targets: impl IntoIterator<Item = Target>) -> Self {
        Self { targets: targets.into_iter().collect(), images: BundleWriter::default() }
    }

    /// Adds the kernels of a program, compiled for all architectures: with all tasks in the proven form and 32-bit
    /// indices; with all tasks in the checked form; and with that for arrays of structs, if the kernel has tensors of
    /// structs. Other launches use the second where there is no compiler. Images that the program's kernel cache has
    /// from the same compiler are not compiled again.
    ///
    /// # Errors
    /// [`Error::Compile`], also where there is no compiler for an architecture; [`Error::NotKept`] for a compiler whose
    /// images cannot be identified.
    pub fn add(&mut self, program: &Program) -> Result<()> {
        let shared = program.shared();
        for kernel in shared.launcher.kernels() {
            for target in &self.targets {
                let interleaved = Forms::CHECKED.without_planes();
                let has_components = kernel.params.iter().any(|param| param.interleaved_step > 0);
                let all = [Forms::NARROW, Forms::CHECKED, interleaved];
                for &forms in &all[..2 + usize::from(has_components)] {
                    let kernel = schedule(&kernel, forms);
                    for passing in passings(shared.loader.argument_limit, &kernel) {
                        let request = CompileRequest::new(&target.arch, forms, passing);
                        compile_into(
                            &mut self.images,
                            &shared.loader.cache,
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
        for (key, entry) in kernels.entries() {
            if !self.images.contains(key)
                && let Some(image) = kernels.get(key)
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

/// How devices pass the arguments of a kernel by default, and how a program with this limit does.
fn passings(argument_limit: usize, kernel: &Offloaded) -> Vec<Passing> {
    let usual = Capabilities::new(ImageKind::Binary).max_argument_bytes;
    let mut passings = vec![passing(kernel, usual), passing(kernel, argument_limit.min(usual))];
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
    let compiler_library = compiler.identity().map_err(failed)?;
    let image = match cached.get(arch) {
        Some(image) => image,
        None => {
            let image = compiler.compile(kernel, request).map_err(failed)?.image;
            cached.put(arch, &image);
            image
        }
    };
    let name = cached.name().to_owned();
    images.add(key, ImageLabel { name, arch: arch.clone(), compiler_library }, image);
    Ok(())
}
