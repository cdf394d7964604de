//! Compiled kernels that need not be compiled: those of exported files and those kept on disk, and their keys.
//!
//! A key is all that an image depends on but the compiler's own library: that is noted beside the image, so that a
//! machine without a compiler finds what another has made. Where a kernel is written is no part of it.

pub(crate) mod export;

use std::{
    env, fs,
    path::PathBuf,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    time::SystemTime,
};

use quadrants_codegen::{CompileRequest, Compiler, SOURCES};
use quadrants_ir::{
    Offloaded,
    abi::{Form, Passing},
    hash,
};
use quadrants_runtime::{CacheStatistics, ImageCache, ImageKey};

use crate::ExportedKernels;

/// The environment variable that says in which folder compiled kernels are kept, or `off`. Where it is not set, that is
/// `quadrants` in the user's folder for caches.
pub const CACHE_VARIABLE: &str = "QUADRANTS_CACHE";

/// The folder holds so much at most.
const LIMIT_BYTES: u64 = 256 << 20;

/// A program's compiled kernels.
#[derive(Debug)]
pub(crate) struct KernelCache {
    exported: Vec<ExportedKernels>,
    found_exported: AtomicU64,
    /// None where compiled kernels are not kept on disk.
    cache: Option<ImageCache>,
    /// The library of the program's compiler, where images on disk are told apart by it.
    library: Option<String>,
}

/// One kernel among them, or its place.
pub(crate) struct CachedKernel<'a> {
    cache: &'a KernelCache,
    keyed: KeyPrefix,
    library: Option<&'a str>,
}

/// All that the images of a kernel depend on but their architecture.
pub(crate) struct KeyPrefix(Vec<u8>);

impl KernelCache {
    /// In these files, and in that folder. The library of the compiler is looked for now, when a device is opened, which
    /// takes long, and not in a first launch.
    pub(crate) fn new(
        exported: Vec<ExportedKernels>,
        folder: Option<PathBuf>,
        compiler: Option<&dyn Compiler>,
    ) -> Self {
        let cache = folder.map(|folder| ImageCache::new(folder, LIMIT_BYTES));
        let mut cache = Self { exported, found_exported: AtomicU64::new(0), cache, library: None };
        cache.library = compiler.and_then(|compiler| cache.compiler_library(compiler));
        cache
    }

    /// The library that makes a compiler's images: its path, its length, the time of its last change. None where nothing
    /// asks for it, or it is not known.
    pub(crate) fn compiler_library(&self, compiler: &dyn Compiler) -> Option<String> {
        self.cache.as_ref()?;
        let path = compiler.library()?;
        let about = fs::metadata(&path).ok().filter(fs::Metadata::is_file)?;
        let changed = about.modified().ok()?.duration_since(SystemTime::UNIX_EPOCH).ok()?;
        Some(format!("{} {} {}", path.display(), about.len(), changed.as_nanos()))
    }

    pub(crate) fn exported(&self) -> &[ExportedKernels] {
        &self.exported
    }

    pub(crate) fn statistics(&self) -> CacheStatistics {
        let mut statistics = self.cache.as_ref().map(ImageCache::statistics).unwrap_or_default();
        statistics.exported = self.found_exported.load(Relaxed);
        statistics
    }

    /// The place of a kernel; none where the images of the program's compiler are not kept.
    pub(crate) fn of(
        &self,
        compiler: &dyn Compiler,
        kernel: &Offloaded,
        request: &CompileRequest<'_>,
    ) -> Option<CachedKernel<'_>> {
        if self.exported.is_empty() && self.cache.is_none() {
            return None;
        }
        self.place(compiler, self.library.as_deref(), kernel, request)
    }

    /// The place of a kernel of any compiler, with its library.
    pub(crate) fn place<'a>(
        &'a self,
        compiler: &dyn Compiler,
        library: Option<&'a str>,
        kernel: &Offloaded,
        request: &CompileRequest<'_>,
    ) -> Option<CachedKernel<'a>> {
        let keyed = KeyPrefix::new(&compiler.kept_as()?, kernel, request);
        Some(CachedKernel { cache: self, keyed, library })
    }
}

impl<'k> CachedKernel<'k> {
    /// Its images in exported files for a device of `arch`, which runs those of `also` too, the best first.
    pub(crate) fn exported<'a>(
        &'a self,
        arch: &'a str,
        also: &'a [String],
    ) -> impl Iterator<Item = Vec<u8>> + use<'a, 'k> {
        let archs = [arch].into_iter().chain(also.iter().map(String::as_str));
        let files = &self.cache.exported;
        archs.flat_map(move |arch| {
            let with = files.iter().filter(move |file| file.has_arch(arch));
            with.filter_map(move |file| file.get(&self.keyed.key(arch)))
        })
    }

    /// Notes that an exported image is used.
    pub(crate) fn found_exported(&self) {
        self.cache.found_exported.fetch_add(1, Relaxed);
    }

    /// Its image on disk.
    pub(crate) fn get(&self, arch: &str) -> Option<Vec<u8>> {
        self.cache.cache.as_ref()?.get(&self.keyed.key(arch), self.library)
    }

    pub(crate) fn put(&self, arch: &str, image: &[u8]) {
        if let Some(cache) = &self.cache.cache {
            cache.put(&self.keyed.key(arch), self.library, image);
        }
    }

    pub(crate) fn keyed(&self) -> &KeyPrefix {
        &self.keyed
    }
}

impl KeyPrefix {
    fn new(compiled_by: &str, kernel: &Offloaded, request: &CompileRequest<'_>) -> Self {
        // The text is not asked for, whose printing takes long: it depends on the IR and on what prints it.
        let mut all = Vec::with_capacity(256);
        for part in [env!("CARGO_PKG_VERSION"), quadrants_ir::VERSION, SOURCES, compiled_by] {
            all.extend_from_slice(&(part.len() as u64).to_le_bytes());
            all.extend_from_slice(part.as_bytes());
        }
        all.push(u8::from(request.form == Form::Checked));
        all.push(u8::from(request.passing == Passing::Buffer));
        all.extend_from_slice(&hash(&without_source_locations(kernel)));
        Self(all)
    }

    /// The key of the image for an architecture.
    pub(crate) fn key(&self, arch: &str) -> ImageKey {
        ImageCache::key(&[&self.0, arch.as_bytes()].concat())
    }
}

/// The kernel as if it were written nowhere: its image is the same when lines above it change, and on a machine that
/// has its source in another folder.
fn without_source_locations(kernel: &Offloaded) -> Offloaded {
    let mut kernel = kernel.clone();
    kernel.file.clear();
    for site in &mut kernel.sites {
        (site.file, site.line, site.column) = (None, 0, 0);
    }
    for task in &mut kernel.tasks {
        task.line = 0;
    }
    kernel
}

/// Where kernels are kept by the environment; none where it says `off`, or knows no folder.
pub(crate) fn folder_from_env() -> Option<PathBuf> {
    let variable = |name: &str| env::var_os(name).filter(|value| !value.is_empty());
    match variable(CACHE_VARIABLE) {
        Some(off) if off == "off" => None,
        Some(folder) => Some(folder.into()),
        None => {
            let caches = variable("XDG_CACHE_HOME").map(PathBuf::from);
            let home = || Some(PathBuf::from(variable("HOME")?).join(".cache"));
            Some(caches.or_else(home)?.join("quadrants"))
        }
    }
}

#[cfg(test)]
mod tests {
    use quadrants_codegen::samples;
    use quadrants_ir::GroupId;

    use super::*;

    #[test]
    fn keys_tell_all_apart_but_where_a_kernel_is_written() {
        let keyed = |by: &str, kernel: &Offloaded, form, passing| {
            KeyPrefix::new(by, kernel, &CompileRequest::new("", form, passing))
        };
        let kernel = samples::saxpy();
        let first = keyed("a", &kernel, Form::Proven, Passing::Value);
        let mut moved = kernel.clone();
        moved.file = "elsewhere.rs".into();
        moved.tasks.iter_mut().for_each(|task| task.line += 1);
        moved.sites.iter_mut().for_each(|site| site.line += 1);
        assert_eq!(keyed("a", &moved, Form::Proven, Passing::Value).key("x"), first.key("x"));

        let mut grouped = kernel.clone();
        grouped.tasks[0].group = GroupId::new(1);
        let mut strict = kernel.clone();
        strict.options.strict = true;
        let others = [
            keyed("b", &kernel, Form::Proven, Passing::Value).key("x"),
            keyed("a", &kernel, Form::Checked, Passing::Value).key("x"),
            keyed("a", &kernel, Form::Proven, Passing::Buffer).key("x"),
            keyed("a", &grouped, Form::Proven, Passing::Value).key("x"),
            keyed("a", &strict, Form::Proven, Passing::Value).key("x"),
            first.key("y"),
            first.key("x"),
        ];
        for (k, key) in others.iter().enumerate() {
            assert!(others[..k].iter().all(|other| other != key), "{k}");
        }
    }
}
