//! The kernel cache of a program: compiled images in image bundles and on disk, and their keys. The files on disk and
//! their eviction are in [`ImageCache`](quadrants_runtime::ImageCache).
//!
//! A key covers everything that an image depends on except the compiler's library. The library is stored beside images
//! on disk; so a machine without a compiler finds images that another machine has made. The kernel's source location is
//! not part of the key.

pub(crate) mod bundle;

use std::{
    env,
    ffi::OsString,
    fs,
    path::PathBuf,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    time::SystemTime,
};

use quadrants_codegen::{self as codegen, CompileRequest, Compiler};
use quadrants_ir::{self as ir, Offloaded, abi::Passing, hash};
use quadrants_rhi::DeviceInfo;
use quadrants_runtime::{CacheStatistics, ImageCache, ImageKey, ImageLabel};

use crate::{kernel_cache::bundle::ExportedKernels, variables::CACHE_VARIABLE};

/// The largest size of the cache on disk; `quadrants_runtime::ImageCache` removes the least recently used images.
const MAX_CACHE_BYTES: u64 = 256 << 20;

/// The compiled kernels that a program finds without a compiler.
#[derive(Debug)]
pub(crate) struct KernelCache {
    exported: Vec<ExportedKernels>,
    exported_hits: AtomicU64,
    /// The cache on disk; none where it is off.
    cache: Option<ImageCache>,
    /// Identifies the library of the program's compiler, for images on disk.
    library: Option<String>,
}

/// The images of one kernel in the cache, whether or not there are any.
pub(crate) struct CachedKernel<'a> {
    cache: &'a KernelCache,
    key_prefix: KeyPrefix,
    library: Option<&'a str>,
    /// The kernel and its form, as listings show them.
    name: String,
}

/// Everything that the images of a kernel depend on except the architecture.
pub(crate) struct KeyPrefix(Vec<u8>);

impl KernelCache {
    /// The cache of these image bundles and that folder. Looks for the compiler's library now, when the device is
    /// opened, because it takes long, and not in a first launch.
    pub(crate) fn new(
        exported: Vec<ExportedKernels>,
        folder: Option<PathBuf>,
        compiler: Option<&dyn Compiler>,
    ) -> Self {
        let cache = folder.map(|folder| ImageCache::new(folder, MAX_CACHE_BYTES));
        let mut cache = Self { exported, exported_hits: AtomicU64::new(0), cache, library: None };
        cache.library = compiler.and_then(|compiler| cache.compiler_library(compiler));
        cache
    }

    /// Identifies the library of a compiler: its path, length and modification time. None where it is unknown, or there
    /// is no cache on disk.
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
        statistics.exported = self.exported_hits.load(Relaxed);
        statistics
    }

    /// The images of a kernel; none where the cache is off, or cannot keep images of the program's compiler.
    pub(crate) fn of(
        &self,
        compiler: &dyn Compiler,
        kernel: &Offloaded,
        request: &CompileRequest<'_>,
    ) -> Option<CachedKernel<'_>> {
        if self.exported.is_empty() && self.cache.is_none() {
            return None;
        }
        self.images_of(compiler, self.library.as_deref(), kernel, request)
    }

    /// The images of a kernel for any compiler and its library; none where images of the compiler cannot be kept.
    pub(crate) fn images_of<'a>(
        &'a self,
        compiler: &dyn Compiler,
        library: Option<&'a str>,
        kernel: &Offloaded,
        request: &CompileRequest<'_>,
    ) -> Option<CachedKernel<'a>> {
        let key_prefix = KeyPrefix::new(&compiler.disk_cache_name()?, kernel, request);
        let name = format!("{}, {}", kernel.name, request.forms);
        Some(CachedKernel { cache: self, key_prefix, library, name })
    }
}

impl<'k> CachedKernel<'k> {
    /// Its images in image bundles for a device of `arch` that also runs those of `also`; the best first.
    pub(crate) fn exported<'a>(
        &'a self,
        arch: &'a str,
        also: &'a [String],
    ) -> impl Iterator<Item = Vec<u8>> + use<'a, 'k> {
        let archs = [arch].into_iter().chain(also.iter().map(String::as_str));
        let files = &self.cache.exported;
        archs.flat_map(move |arch| {
            let with = files.iter().filter(move |file| file.has_arch(arch));
            with.filter_map(move |file| file.get(&self.key_prefix.key(arch)))
        })
    }

    pub(crate) fn count_exported_hit(&self) {
        self.cache.exported_hits.fetch_add(1, Relaxed);
    }

    /// Its image on disk.
    pub(crate) fn get(&self, arch: &str) -> Option<Vec<u8>> {
        self.cache.cache.as_ref()?.get(&self.key_prefix.key(arch), self.library)
    }

    pub(crate) fn put(&self, arch: &str, image: &[u8]) {
        if let Some(cache) = &self.cache.cache {
            let compiler_library = self.library.unwrap_or_default().to_owned();
            let label =
                ImageLabel { name: self.name.clone(), arch: arch.to_owned(), compiler_library };
            cache.put(&self.key_prefix.key(arch), &label, image);
        }
    }

    /// A result of the autotuner on disk, for launches of a class of sizes.
    pub(crate) fn get_tuned(&self, info: &DeviceInfo, class: &[u64]) -> Option<Vec<u8>> {
        self.cache.cache.as_ref()?.get(&self.key_prefix.key(&tuned(info, class)), None)
    }

    pub(crate) fn put_tuned(&self, info: &DeviceInfo, class: &[u64], result: &[u8]) {
        if let Some(cache) = &self.cache.cache {
            let (name, arch) = (format!("{}, autotuned", self.name), info.arch.clone());
            let label = ImageLabel { name, arch, compiler_library: String::new() };
            cache.put(&self.key_prefix.key(&tuned(info, class)), &label, result);
        }
    }

    /// The kernel and its form, as listings show them.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn key_prefix(&self) -> &KeyPrefix {
        &self.key_prefix
    }
}

impl KeyPrefix {
    fn new(compiled_by: &str, kernel: &Offloaded, request: &CompileRequest<'_>) -> Self {
        // Not the text, which takes long to print: it depends on the IR and on the sources that print it.
        let mut all = Vec::with_capacity(256);
        let version = env!("CARGO_PKG_VERSION");
        for part in [version, ir::VERSION, ir::SOURCES, codegen::SOURCES, compiled_by] {
            all.extend_from_slice(&(part.len() as u64).to_le_bytes());
            all.extend_from_slice(part.as_bytes());
        }
        all.extend_from_slice(&request.forms.bits().to_le_bytes());
        all.push(u8::from(request.passing == Passing::Buffer));
        all.extend_from_slice(&hash(&without_source_locations(kernel)));
        Self(all)
    }

    pub(crate) fn key(&self, arch: &str) -> ImageKey {
        ImageCache::key(&[&self.0, arch.as_bytes()].concat())
    }
}

/// What a result of the autotuner depends on, besides the kernel: other devices of an architecture have other times.
fn tuned(info: &DeviceInfo, class: &[u64]) -> String {
    format!("{} autotuned on {}: {class:?}", info.arch, info.name)
}

/// The kernel without source locations: its image is the same when lines above it change, and on a machine that has its
/// source in another folder.
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

/// The folder of the kernel cache by the environment: [`CACHE_VARIABLE`], or else `quadrants` in the user's cache
/// folder: in `$XDG_CACHE_HOME`, or else `$HOME/.cache`, if these are absolute paths. None where it is `off` or
/// unknown. [`cached_images`](crate::cached_images) lists its files.
#[must_use]
pub fn cache_folder() -> Option<PathBuf> {
    cache_folder_by(&|name| env::var_os(name))
}

fn cache_folder_by(env: &dyn Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    match env(CACHE_VARIABLE).filter(|value| !value.is_empty()) {
        Some(off) if off == "off" => None,
        Some(folder) => Some(folder.into()),
        None => {
            // A relative path would be one in whatever folder the program runs.
            let absolute = |name: &str| env(name).map(PathBuf::from).filter(|at| at.is_absolute());
            let home = || Some(absolute("HOME")?.join(".cache"));
            Some(absolute("XDG_CACHE_HOME").or_else(home)?.join("quadrants"))
        }
    }
}

#[cfg(test)]
mod tests {
    use quadrants_ir::{
        RegionBlockId, TaskId,
        abi::{Form, Forms},
    };
    use quadrants_samples as samples;

    use super::*;

    #[test]
    fn the_cache_is_in_a_folder_of_the_user() {
        let found = |set: &[(&str, &str)]| {
            let value =
                |name: &str| set.iter().find(|(set, _)| *set == name).map(|(_, v)| v.into());
            cache_folder_by(&value)
        };
        let home = ("HOME", "/home/a");
        assert_eq!(found(&[home]), Some("/home/a/.cache/quadrants".into()));
        assert_eq!(found(&[home, ("XDG_CACHE_HOME", "/x")]), Some("/x/quadrants".into()));
        let relative = found(&[home, ("XDG_CACHE_HOME", "x")]);
        assert_eq!(relative, Some("/home/a/.cache/quadrants".into()));
        assert_eq!(found(&[("HOME", ""), ("XDG_CACHE_HOME", "")]), None);
        assert_eq!(found(&[home, (CACHE_VARIABLE, "off")]), None);
        assert_eq!(found(&[home, (CACHE_VARIABLE, "here")]), Some("here".into()));
    }

    #[test]
    fn keys_differ_for_everything_but_the_source_location() {
        fn keyed(
            by: &str,
            kernel: &Offloaded,
            forms: impl Into<Forms>,
            passing: Passing,
        ) -> KeyPrefix {
            KeyPrefix::new(by, kernel, &CompileRequest::new("", forms, passing))
        }
        let mixed = Forms::PROVEN.with_checked(TaskId::new(1));
        let kernel = samples::saxpy();
        let first = keyed("a", &kernel, Form::Proven, Passing::Value);
        let mut moved = kernel.clone();
        moved.file = "elsewhere.rs".into();
        moved.tasks.iter_mut().for_each(|task| task.line += 1);
        moved.sites.iter_mut().for_each(|site| site.line += 1);
        assert_eq!(keyed("a", &moved, Form::Proven, Passing::Value).key("x"), first.key("x"));

        let mut grouped = kernel.clone();
        grouped.tasks[0].region_block = RegionBlockId::new(1);
        let mut strict = kernel.clone();
        strict.options.strict = true;
        let others = [
            keyed("b", &kernel, Form::Proven, Passing::Value).key("x"),
            keyed("a", &kernel, Form::Checked, Passing::Value).key("x"),
            keyed("a", &kernel, mixed, Passing::Value).key("x"),
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
