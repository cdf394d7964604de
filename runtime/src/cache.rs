//! The image cache: compiled images on disk, with eviction.
//!
//! One file per image, named by its key. A file is written under a temporary name and then renamed, so processes can
//! share a folder, and a crash leaves no incomplete file. A file that cannot be read, is damaged, or has another key is
//! a cache miss. Failures of the cache are logged and never fail the program.

use std::{
    fs::{self, File},
    io::{self, Read, Write},
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    time::{Duration, SystemTime},
};

/// The first bytes of each file: the format and its version.
const MAGIC: &[u8; 8] = b"qdkern\x00\x01";
const HASH_BYTES: usize = 32;
/// The size of an entry's header: magic, hash of the rest, key.
pub(crate) const HEADER_BYTES: usize = MAGIC.len() + HASH_BYTES + size_of::<ImageKey>();
/// The size limit of an entry in bytes. Images have kilobytes, rarely megabytes.
pub(crate) const ENTRY_LIMIT: u64 = 256 << 20;
const EXTENSION: &str = "image";
/// A hit updates the modification time of a file that is older than this. The order of use need not be more precise.
const REFRESH_AFTER: Duration = Duration::from_secs(600);

/// A folder of compiled images with a size limit. The least recently used images are removed first.
#[derive(Debug)]
pub struct ImageCache {
    folder: PathBuf,
    limit: u64,
    hits: AtomicU64,
    misses: AtomicU64,
    stored: AtomicU64,
}

/// The key of an image: a hash of everything that the image depends on.
pub type ImageKey = [u8; HASH_BYTES];

/// The counters of a kernel cache.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[non_exhaustive]
pub struct CacheStatistics {
    /// Kernels that were found in the folder.
    pub hits: u64,
    /// Kernels that were not found and had to be compiled.
    pub misses: u64,
    /// Kernels that were stored.
    pub stored: u64,
    /// Kernels that were found in image bundles; the folder was not searched for them.
    pub exported: u64,
}

impl ImageCache {
    /// Makes a cache of at most `limit` bytes in `folder`, which is created when needed.
    #[must_use]
    pub fn new(folder: impl Into<PathBuf>, limit: u64) -> Self {
        let count = || AtomicU64::new(0);
        Self { folder: folder.into(), limit, hits: count(), misses: count(), stored: count() }
    }

    /// The key of an image that depends only on these bytes.
    #[must_use]
    pub fn key(depends_on: &[u8]) -> ImageKey {
        *blake3::hash(depends_on).as_bytes()
    }

    /// Looks up the image of a key. If `made_by` is given, only an image of that compiler library is found.
    #[must_use]
    pub fn get(&self, key: &ImageKey, made_by: Option<&str>) -> Option<Vec<u8>> {
        let found = read(&self.path(key), key)
            .filter(|(by, _)| made_by.is_none_or(|wanted| by == wanted.as_bytes()))
            .map(|(_, image)| image);
        let count = if found.is_some() { &self.hits } else { &self.misses };
        count.fetch_add(1, Relaxed);
        found
    }

    /// Stores an image. Failures are logged.
    pub fn put(&self, key: &ImageKey, made_by: Option<&str>, image: &[u8]) {
        let stored = self.write(key, made_by.unwrap_or_default(), image);
        match stored.and_then(|()| self.evict()) {
            Ok(()) => {
                self.stored.fetch_add(1, Relaxed);
            }
            Err(error) => {
                let folder = self.folder.display();
                tracing::warn!(%error, %folder, "a compiled kernel could not be stored in the kernel cache");
            }
        }
    }

    /// The counters of the cache.
    #[must_use]
    pub fn statistics(&self) -> CacheStatistics {
        CacheStatistics {
            hits: self.hits.load(Relaxed),
            misses: self.misses.load(Relaxed),
            stored: self.stored.load(Relaxed),
            exported: 0,
        }
    }

    fn path(&self, key: &ImageKey) -> PathBuf {
        let name: String = key.iter().map(|byte| format!("{byte:02x}")).collect();
        self.folder.join(name).with_extension(EXTENSION)
    }

    fn write(&self, key: &ImageKey, made_by: &str, image: &[u8]) -> io::Result<()> {
        if entry_bytes(made_by, image) > ENTRY_LIMIT {
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, "the image is too large"));
        }
        create_private(&self.folder)?;
        let mut file = tempfile::NamedTempFile::new_in(&self.folder)?;
        file.write_all(&encode(key, made_by, image))?;
        file.persist(self.path(key)).map_err(|failed| failed.error)?;
        Ok(())
    }

    /// Removes the least recently used images until the rest is within the limit.
    fn evict(&self) -> io::Result<()> {
        let mut files: Vec<(SystemTime, u64, PathBuf)> = Vec::new();
        for entry in fs::read_dir(&self.folder)? {
            let entry = entry?;
            let path = entry.path();
            // Another process may have removed the file since.
            let Ok(about) = entry.metadata() else { continue };
            if path.extension().is_some_and(|extension| extension == EXTENSION) {
                files.push((about.modified()?, about.len(), path));
            }
        }
        let mut bytes = files.iter().fold(0u64, |sum, (_, bytes, _)| sum.saturating_add(*bytes));
        files.sort();
        for (_, its, path) in files {
            if bytes <= self.limit {
                break;
            }
            match fs::remove_file(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => bytes = bytes.saturating_sub(its),
            }
        }
        Ok(())
    }
}

/// Reads the compiler library and the image of a file. `None` if the file is not a complete entry of this key.
fn read(path: &Path, key: &ImageKey) -> Option<(Vec<u8>, Vec<u8>)> {
    let mut file = File::open(path).ok()?;
    // The length in the metadata is not trusted: no more memory is reserved than an entry can have.
    let len = file.metadata().ok().map(|about| about.len()).filter(|len| *len <= ENTRY_LIMIT)?;
    let mut bytes = vec![0; HEADER_BYTES];
    file.read_exact(&mut bytes).ok().filter(|()| is_header_of(&bytes, key))?;
    bytes.reserve_exact(usize::try_from(len).ok()?.saturating_sub(HEADER_BYTES));
    Read::by_ref(&mut file).take(ENTRY_LIMIT - HEADER_BYTES as u64).read_to_end(&mut bytes).ok()?;
    let (made_by, image) = decode(&bytes, key)?;
    let age = file.metadata().and_then(|about| about.modified()).ok()?.elapsed();
    if age.is_ok_and(|age| age > REFRESH_AFTER) {
        // If this fails, the file is only removed earlier.
        let _ = file.set_modified(SystemTime::now());
    }
    Some((made_by.to_vec(), image.to_vec()))
}

/// Whether these [`HEADER_BYTES`] bytes are the header of an entry of this key.
pub(crate) fn is_header_of(begin: &[u8], key: &ImageKey) -> bool {
    begin.starts_with(MAGIC.as_slice()) && begin.ends_with(key)
}

/// Encodes an entry: magic, hash of the rest, key, compiler library, image.
pub(crate) fn encode(key: &ImageKey, made_by: &str, image: &[u8]) -> Vec<u8> {
    let mut body = Vec::with_capacity(HASH_BYTES + 4 + made_by.len() + image.len());
    body.extend_from_slice(key);
    body.extend_from_slice(&(made_by.len() as u32).to_le_bytes());
    body.extend_from_slice(made_by.as_bytes());
    body.extend_from_slice(image);
    [MAGIC.as_slice(), blake3::hash(&body).as_bytes(), &body].concat()
}

/// Decodes the compiler library and the image of an entry. `None` if it is not a complete entry of this key.
pub(crate) fn decode<'a>(entry: &'a [u8], key: &ImageKey) -> Option<(&'a [u8], &'a [u8])> {
    let body = entry.strip_prefix(MAGIC.as_slice())?;
    let (hash, body) = body.split_at_checked(HASH_BYTES)?;
    if blake3::hash(body).as_bytes() != hash {
        return None;
    }
    let body = body.strip_prefix(key.as_slice())?;
    let (len, body) = body.split_first_chunk()?;
    body.split_at_checked(u32::from_le_bytes(*len) as usize)
}

pub(crate) fn entry_bytes(made_by: &str, image: &[u8]) -> u64 {
    (HEADER_BYTES + 4 + made_by.len() + image.len()) as u64
}

/// Creates a folder that other users can neither read nor write, because its contents are executed.
fn create_private(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: ImageKey = [7; HASH_BYTES];

    fn cache(limit: u64) -> (tempfile::TempDir, ImageCache) {
        let folder = tempfile::tempdir().unwrap();
        let cache = ImageCache::new(folder.path().join("kernels"), limit);
        (folder, cache)
    }

    #[test]
    fn a_stored_image_is_found_by_key_and_compiler() {
        let (_folder, cache) = cache(1 << 20);
        assert_eq!(cache.get(&KEY, None), None, "no folder yet");
        cache.put(&KEY, Some("one"), b"image");
        assert_eq!(cache.get(&KEY, Some("one")).as_deref(), Some(&b"image"[..]));
        assert_eq!(cache.get(&KEY, None).as_deref(), Some(&b"image"[..]));
        assert_eq!(cache.get(&KEY, Some("two")), None, "another compiler");
        assert_eq!(cache.get(&[8; HASH_BYTES], None), None);
        cache.put(&KEY, Some("two"), b"newer");
        assert_eq!(cache.get(&KEY, Some("two")).as_deref(), Some(&b"newer"[..]));
        let statistics = cache.statistics();
        assert_eq!((statistics.hits, statistics.misses, statistics.stored), (3, 3, 2));
    }

    #[test]
    fn damaged_truncated_and_foreign_files_are_misses() {
        let (_folder, cache) = cache(1 << 20);
        cache.put(&KEY, None, &[1; 100]);
        let path = cache.path(&KEY);
        let whole = fs::read(&path).unwrap();
        for len in 0..whole.len() {
            fs::write(&path, &whole[..len]).unwrap();
            assert_eq!(cache.get(&KEY, None), None, "truncated at {len}");
        }
        for at in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[at] ^= 0x40;
            fs::write(&path, damaged).unwrap();
            assert_eq!(cache.get(&KEY, None), None, "damaged at {at}");
        }
        fs::write(cache.path(&[8; HASH_BYTES]), &whole).unwrap();
        assert_eq!(cache.get(&[8; HASH_BYTES], None), None, "a file of another key");
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        assert_eq!(cache.get(&KEY, None), None, "a folder");
        cache.put(&[9; HASH_BYTES], None, &whole);
        assert_eq!(cache.get(&[9; HASH_BYTES], None), Some(whole));
    }

    #[test]
    fn a_file_with_a_false_length_is_a_miss_without_large_allocation() {
        let (_folder, cache) = cache(1 << 20);
        cache.put(&KEY, None, &[1; 100]);
        let path = cache.path(&KEY);
        let whole = fs::read(&path).unwrap();
        for begin in [&whole[..], &whole[..HEADER_BYTES], &[]] {
            fs::write(&path, begin).unwrap();
            // A sparse file. Reading all of it into memory would kill the process.
            fs::File::options().write(true).open(&path).unwrap().set_len(1 << 43).unwrap();
            assert_eq!(cache.get(&KEY, None), None);
        }
    }

    #[test]
    fn the_least_recently_used_image_is_removed_first() {
        let (_folder, cache) = cache(3500);
        let day = Duration::from_secs(24 * 3600);
        for k in 0..3u8 {
            cache.put(&[k; HASH_BYTES], None, &[k; 1000]);
            let file = File::open(cache.path(&[k; HASH_BYTES])).unwrap();
            file.set_modified(SystemTime::now() - day * (10 - u32::from(k))).unwrap();
        }
        assert!(cache.get(&[0; HASH_BYTES], None).is_some());
        cache.put(&[3; HASH_BYTES], None, &[3; 1000]);
        let left: Vec<bool> = (0..4).map(|k| cache.get(&[k; HASH_BYTES], None).is_some()).collect();
        assert_eq!(left, [true, false, true, true]);
    }

    #[test]
    fn concurrent_writes_never_expose_an_incomplete_file() {
        let (_folder, cache) = cache(1 << 24);
        let images: Vec<Vec<u8>> = (0..4).map(|k| vec![k; 100_000]).collect();
        cache.put(&KEY, None, &images[0]);
        std::thread::scope(|scope| {
            for image in &images {
                scope.spawn(|| (0..20).for_each(|_| cache.put(&KEY, None, image)));
            }
            for _ in 0..200 {
                let found = cache.get(&KEY, None).expect("always complete");
                assert!(images.contains(&found));
            }
        });
    }

    #[test]
    fn a_folder_that_is_not_writable_is_not_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, "").unwrap();
        let cache = ImageCache::new(file.join("kernels"), 1000);
        cache.put(&KEY, None, b"image");
        assert_eq!(cache.get(&KEY, None), None);
        assert_eq!(cache.statistics().stored, 0);
    }
}
