//! Image bundles in use: files of kernels that were compiled ahead.

use std::{borrow::Cow, collections::BTreeSet, env, ffi::OsString, path::Path, sync::Arc};

use quadrants_runtime::{ImageBundle, ImageKey, ImageLabel};

use crate::{Result, variables::KERNELS_VARIABLE};

/// An image bundle that [`Program::export_cache`](crate::Program::export_cache) or
/// [`Export::write`](crate::Export::write) made, opened for use.
///
/// A program looks for images here first, then in the kernel cache on disk, and then compiles. The key of an image
/// covers what it was made from: the kernel's IR, the blocks of its region, the architecture, and the release of this
/// crate; not its name. So an unsuitable file has no images for a program, and a damaged entry counts as missing. A
/// device takes images of its own architecture, or else of one that it also runs: an `sm_86` runs `sm_80`; all later
/// devices run `compute_80`, which their driver finishes; devices with any features run `gfx90a`.
///
/// The images are executed: the file must come from a trusted source.
#[derive(Clone, Debug)]
pub struct ExportedKernels(Arc<Bundle>);

#[derive(Debug)]
struct Bundle {
    bundle: ImageBundle,
    archs: BTreeSet<String>,
}

impl ExportedKernels {
    /// Opens a file.
    ///
    /// # Errors
    /// [`Error::Kernels`](crate::Error::Kernels) where the file is not an image bundle that this build can use.
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

    fn new(bundle: ImageBundle) -> Self {
        let archs = bundle.entries().map(|(_, entry)| entry.arch.clone()).collect();
        Self(Arc::new(Bundle { bundle, archs }))
    }

    /// The images: the kernel and form, the architecture, and the compiler of each.
    pub fn images(&self) -> impl Iterator<Item = &ImageLabel> {
        self.0.bundle.entries().map(|(_, entry)| entry)
    }

    /// The architectures of the images.
    pub fn archs(&self) -> impl Iterator<Item = &str> {
        self.0.archs.iter().map(String::as_str)
    }

    /// The file and its architectures, for messages.
    pub(crate) fn describe(&self) -> String {
        let archs: Vec<&str> = self.archs().collect();
        format!("`{}` ({})", self.0.bundle.source_name(), archs.join(", "))
    }

    pub(crate) fn has_arch(&self, arch: &str) -> bool {
        self.0.archs.contains(arch)
    }

    pub(crate) fn get(&self, key: &ImageKey) -> Option<Vec<u8>> {
        self.0.bundle.get(key)
    }

    /// Opens the file that the environment names, if any.
    pub(crate) fn from_env() -> Result<Vec<Self>> {
        Self::chosen(env::var_os(KERNELS_VARIABLE))
    }

    fn chosen(file: Option<OsString>) -> Result<Vec<Self>> {
        file.filter(|file| !file.is_empty()).iter().map(Self::open).collect()
    }

    pub(crate) fn entries(&self) -> impl Iterator<Item = (&ImageKey, &ImageLabel)> {
        self.0.bundle.entries()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Error;

    #[test]
    fn the_variable_names_a_file_and_a_missing_one_is_an_error() {
        assert!(ExportedKernels::chosen(None).unwrap().is_empty());
        assert!(ExportedKernels::chosen(Some("".into())).unwrap().is_empty());
        let refused = ExportedKernels::chosen(Some("/nonexistent/kernels".into()));
        assert!(matches!(refused, Err(Error::Kernels(_))), "{refused:?}");
    }
}
