//! Compiled kernels that are kept on disk: where, and under which key.

use std::{env, path::PathBuf, sync::OnceLock};

use quadrants_codegen::{CompileRequest, Compiler, KeptAs};
use quadrants_ir::{
    Offloaded,
    abi::{Form, Passing},
    hash,
};
use quadrants_runtime::{CacheStatistics, ImageCache, ImageKey};

/// The environment variable that says in which folder compiled kernels are kept, or `off`. Where it is not set, that is
/// `quadrants` in the user's folder for caches.
pub const CACHE_VARIABLE: &str = "QUADRANTS_CACHE";

/// The folder holds so much at most.
const LIMIT_BYTES: u64 = 256 << 20;

/// A program's compiled kernels on disk.
#[derive(Debug)]
pub(crate) struct Kept {
    cache: ImageCache,
    /// What those of the program's compiler are kept as; asked for once.
    kept_as: OnceLock<Option<KeptAs>>,
}

/// One kernel on disk, or its place.
pub(crate) struct KeptKernel<'a> {
    cache: &'a ImageCache,
    key: ImageKey,
    library: Option<&'a str>,
}

impl Kept {
    /// In that folder.
    pub(crate) fn new(folder: PathBuf) -> Self {
        Self { cache: ImageCache::new(folder, LIMIT_BYTES), kept_as: OnceLock::new() }
    }

    pub(crate) fn statistics(&self) -> CacheStatistics {
        self.cache.statistics()
    }

    /// The place of a kernel; none where the compiler's images are not kept.
    pub(crate) fn of(
        &self,
        compiler: &dyn Compiler,
        kernel: &Offloaded,
        request: &CompileRequest<'_>,
    ) -> Option<KeptKernel<'_>> {
        let kept_as = self.kept_as.get_or_init(|| compiler.kept_as()).as_ref()?;
        // The text is what is compiled; what the IR says besides, the blocks of a region above all, is in its hash.
        let text = compiler.text(kernel, request).map(|source| source.text).unwrap_or_default();
        let mut all = Vec::with_capacity(text.len() + 256);
        for part in [env!("CARGO_PKG_VERSION"), &kept_as.compiler, request.arch, &text] {
            all.extend_from_slice(&(part.len() as u64).to_le_bytes());
            all.extend_from_slice(part.as_bytes());
        }
        all.push(u8::from(request.form == Form::Checked));
        all.push(u8::from(request.passing == Passing::Buffer));
        all.extend_from_slice(&hash(kernel));
        Some(KeptKernel {
            cache: &self.cache,
            key: ImageCache::key(&all),
            library: kept_as.library.as_deref(),
        })
    }
}

impl KeptKernel<'_> {
    pub(crate) fn get(&self) -> Option<Vec<u8>> {
        self.cache.get(&self.key, self.library)
    }

    pub(crate) fn put(&self, image: &[u8]) {
        self.cache.put(&self.key, self.library, image);
    }
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
