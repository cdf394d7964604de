//! The image cache: compiled images on disk, with eviction.
//!
//! One file per image, named by its key. A file is written under a temporary name and then renamed, so processes can
//! share a folder, and a crash leaves no incomplete file. A file that cannot be read, is damaged, or has another key is
//! a cache miss. Failures of the cache are logged and never fail the program.
//!
//! Devices execute the images. So only files are read that nobody but this user and root can have written.

use std::{
    fs::{self, File},
    io::{self, Read, Write},
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    time::{Duration, SystemTime},
};

use crate::cache_entry::{
    self, ENTRY_LIMIT, HASH_BYTES, HEADER_BYTES, ImageKey, ImageLabel, ImageProblem,
};

const EXTENSION: &str = "image";
/// A hit updates the modification time of a file that is older than this. The order of use need not be more precise.
const REFRESH_AFTER: Duration = Duration::from_secs(600);

/// A folder of compiled images with a size limit. The least recently used images are removed first.
#[derive(Debug)]
pub struct ImageCache {
    folder: PathBuf,
    max_bytes: u64,
    hits: AtomicU64,
    misses: AtomicU64,
    stored: AtomicU64,
}

/// A file of an image cache.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CachedImage {
    path: PathBuf,
    bytes: u64,
    used: SystemTime,
}

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
    /// Makes a cache of at most `max_bytes` bytes in `folder`, which is created when needed.
    #[must_use]
    pub fn new(folder: impl Into<PathBuf>, max_bytes: u64) -> Self {
        let count = || AtomicU64::new(0);
        Self { folder: folder.into(), max_bytes, hits: count(), misses: count(), stored: count() }
    }

    /// The key of an image that depends only on these bytes.
    #[must_use]
    pub fn key(depends_on: &[u8]) -> ImageKey {
        *blake3::hash(depends_on).as_bytes()
    }

    /// Looks up the image of a key. If `compiler_library` is given, only an image of that compiler library is found.
    #[must_use]
    pub fn get(&self, key: &ImageKey, compiler_library: Option<&str>) -> Option<Vec<u8>> {
        let found = self.find(key, compiler_library);
        let count = if found.is_some() { &self.hits } else { &self.misses };
        count.fetch_add(1, Relaxed);
        found
    }

    fn find(&self, key: &ImageKey, compiler_library: Option<&str>) -> Option<Vec<u8>> {
        let mut file = open(&self.path(key)).ok()?;
        let bytes = read(&mut file, key).ok()?;
        let entry = cache_entry::decode(&bytes, key).ok()?;
        refresh(&file);
        let is_wanted = compiler_library.is_none_or(|wanted| entry.compiler_library() == wanted);
        is_wanted.then(|| entry.image.to_vec())
    }

    /// Stores an image. Only [`get`](Self::get) with the `compiler_library` of the label, or with none, finds it.
    /// Failures are logged.
    pub fn put(&self, key: &ImageKey, label: &ImageLabel, image: &[u8]) {
        let stored = self.write(key, label, image);
        match stored.and_then(|()| self.evict_least_recently_used()) {
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

    fn write(&self, key: &ImageKey, label: &ImageLabel, image: &[u8]) -> io::Result<()> {
        if cache_entry::entry_bytes(label, image) > ENTRY_LIMIT {
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, "the image is too large"));
        }
        create_private(&self.folder)?;
        let mut file = tempfile::NamedTempFile::new_in(&self.folder)?;
        file.write_all(&cache_entry::encode(key, label, image))?;
        file.persist(self.path(key)).map_err(|failed| failed.error)?;
        Ok(())
    }

    /// Removes the least recently used images until the rest is within the limit.
    fn evict_least_recently_used(&self) -> io::Result<()> {
        let mut files = cached_images(&self.folder)?;
        let mut bytes = files.iter().fold(0u64, |sum, file| sum.saturating_add(file.bytes));
        files.sort_by_key(|file| file.used);
        for file in files {
            if bytes <= self.max_bytes {
                break;
            }
            file.remove()?;
            bytes = bytes.saturating_sub(file.bytes);
        }
        Ok(())
    }
}

/// The files of the image cache in a folder, in no order. A folder that does not exist has none.
///
/// # Errors
/// If the folder cannot be read.
pub fn cached_images(folder: &Path) -> io::Result<Vec<CachedImage>> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut files = Vec::new();
    for entry in entries {
        let entry = entry?;
        let path = entry.path();
        if path.extension().is_none_or(|extension| extension != EXTENSION) {
            continue;
        }
        // Another process may have removed the file since.
        let Ok(about) = entry.metadata() else { continue };
        files.push(CachedImage { path, bytes: about.len(), used: about.modified()? });
    }
    Ok(files)
}

/// Creates the folder of an image cache if it does not exist, and checks that files can be stored in it.
///
/// # Errors
/// Why they cannot.
pub fn check_cache_folder(folder: &Path) -> io::Result<()> {
    create_private(folder)?;
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(b"a check of the cache folder")?;
    file.close()
}

impl CachedImage {
    /// The path of the file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its size in bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// When it was stored or used last, to ten minutes.
    #[must_use]
    pub fn used(&self) -> SystemTime {
        self.used
    }

    /// Reads the whole file as a lookup does; returns what it describes. This does not count as a use.
    ///
    /// # Errors
    /// Why lookups do not find it.
    pub fn check(&self) -> Result<ImageLabel, ImageProblem> {
        let key =
            self.key().ok_or(ImageProblem::Damaged { what: "does not have the name of a key" })?;
        let bytes = read(&mut open(&self.path)?, &key)?;
        Ok(cache_entry::decode(&bytes, &key)?.label())
    }

    /// Removes the file. It may be gone already.
    ///
    /// # Errors
    /// If it cannot be removed.
    pub fn remove(&self) -> io::Result<()> {
        match fs::remove_file(&self.path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// The key that the file is named by.
    fn key(&self) -> Option<ImageKey> {
        let name = self.path.file_stem()?.to_str()?;
        if name.len() != 2 * HASH_BYTES || !name.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        let mut key = [0; HASH_BYTES];
        for (byte, at) in key.iter_mut().zip((0..name.len()).step_by(2)) {
            *byte = u8::from_str_radix(&name[at..at + 2], 16).ok()?;
        }
        Some(key)
    }
}

/// Opens a file that nobody but this user and root can have written.
fn open(path: &Path) -> Result<File, ImageProblem> {
    // Opening a named pipe would wait for its writer.
    if !fs::metadata(path)?.is_file() {
        return Err(ImageProblem::Damaged { what: "is not a file" });
    }
    let file = File::open(path)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        // Of the open file: another user may have replaced the one of that name.
        let about = file.metadata()?;
        check_trust(about.uid(), about.mode(), rustix::process::geteuid().as_raw())?;
    }
    Ok(file)
}

/// Checks the owner and the permissions of a file for a user.
#[cfg(unix)]
fn check_trust(owner: u32, mode: u32, user: u32) -> Result<(), ImageProblem> {
    const ROOT: u32 = 0;
    const OTHERS_WRITE: u32 = 0o022;
    if owner != user && owner != ROOT {
        return Err(ImageProblem::Untrusted { what: "belongs to another user" });
    }
    if mode & OTHERS_WRITE != 0 {
        return Err(ImageProblem::Untrusted { what: "can be written by other users" });
    }
    Ok(())
}

/// Reads a file that begins as an entry of this key.
fn read(file: &mut File, key: &ImageKey) -> Result<Vec<u8>, ImageProblem> {
    // The length in the metadata is not trusted: no more memory is reserved than an entry can have.
    let len = file.metadata()?.len();
    if len > ENTRY_LIMIT {
        return Err(ImageProblem::Damaged { what: "is larger than any compiled kernel" });
    }
    let mut bytes = Vec::with_capacity(HEADER_BYTES);
    Read::by_ref(file).take(HEADER_BYTES as u64).read_to_end(&mut bytes)?;
    cache_entry::check_header(&bytes, key)?;
    bytes.reserve_exact((len as usize).saturating_sub(HEADER_BYTES));
    Read::by_ref(file).take(ENTRY_LIMIT - HEADER_BYTES as u64).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Notes that a file was used.
fn refresh(file: &File) {
    let age = file.metadata().and_then(|about| about.modified()).map(|at| at.elapsed());
    if age.is_ok_and(|age| age.is_ok_and(|age| age > REFRESH_AFTER)) {
        // If this fails, the file is only removed earlier.
        let _ = file.set_modified(SystemTime::now());
    }
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

    fn by(compiler_library: &str) -> ImageLabel {
        ImageLabel {
            name: "scale".into(),
            arch: "sm_90".into(),
            compiler_library: compiler_library.into(),
        }
    }

    fn cache(limit: u64) -> (tempfile::TempDir, ImageCache) {
        let folder = tempfile::tempdir().unwrap();
        let cache = ImageCache::new(folder.path().join("kernels"), limit);
        (folder, cache)
    }

    #[test]
    fn a_stored_image_is_found_by_key_and_compiler() {
        let (_folder, cache) = cache(1 << 20);
        assert_eq!(cache.get(&KEY, None), None, "no folder yet");
        cache.put(&KEY, &by("one"), b"image");
        assert_eq!(cache.get(&KEY, Some("one")).as_deref(), Some(&b"image"[..]));
        assert_eq!(cache.get(&KEY, None).as_deref(), Some(&b"image"[..]));
        assert_eq!(cache.get(&KEY, Some("two")), None, "another compiler");
        assert_eq!(cache.get(&[8; HASH_BYTES], None), None);
        cache.put(&KEY, &by("two"), b"newer");
        assert_eq!(cache.get(&KEY, Some("two")).as_deref(), Some(&b"newer"[..]));
        let statistics = cache.statistics();
        assert_eq!((statistics.hits, statistics.misses, statistics.stored), (3, 3, 2));
    }

    #[test]
    fn damaged_truncated_and_foreign_files_are_misses() {
        let (_folder, cache) = cache(1 << 20);
        cache.put(&KEY, &by(""), &[1; 100]);
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
        fs::remove_dir(&path).unwrap();
        let made = std::process::Command::new("mkfifo").arg(&path).status();
        if made.is_ok_and(|status| status.success()) {
            assert_eq!(cache.get(&KEY, None), None, "a pipe without a writer");
        }
        cache.put(&[9; HASH_BYTES], &by(""), &whole);
        assert_eq!(cache.get(&[9; HASH_BYTES], None), Some(whole));
    }

    #[test]
    fn a_file_with_a_false_length_is_a_miss_without_large_allocation() {
        let (_folder, cache) = cache(1 << 20);
        cache.put(&KEY, &by(""), &[1; 100]);
        let path = cache.path(&KEY);
        let whole = fs::read(&path).unwrap();
        for begin in [&whole[..], &whole[..HEADER_BYTES], &[]] {
            fs::write(&path, begin).unwrap();
            // A sparse file. Reading all of it into memory would kill the process.
            fs::File::options().write(true).open(&path).unwrap().set_len(1 << 43).unwrap();
            assert_eq!(cache.get(&KEY, None), None);
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_file_that_another_user_can_have_written_is_not_used() {
        use std::os::unix::fs::{PermissionsExt, chown};
        const USER: u32 = 1000;
        for (owner, mode, is_trusted) in [
            (USER, 0o100_600, true),
            (USER, 0o100_644, true),
            (0, 0o100_444, true),
            (USER + 1, 0o100_600, false),
            (USER, 0o100_620, false),
            (USER, 0o100_602, false),
            (0, 0o100_666, false),
        ] {
            assert_eq!(check_trust(owner, mode, USER).is_ok(), is_trusted, "{owner} {mode:o}");
        }
        assert!(check_trust(USER, 0o100_600, 0).is_err(), "root does not trust others");

        let (_folder, cache) = cache(1 << 20);
        cache.put(&KEY, &by(""), b"image");
        let [file] = &cached_images(&cache.folder).unwrap()[..] else { panic!("one file") };
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&cache.folder), mode(&file.path)), (0o700, 0o600));
        fs::set_permissions(&file.path, fs::Permissions::from_mode(0o666)).unwrap();
        assert_eq!(cache.get(&KEY, None), None);
        assert!(file.check().unwrap_err().to_string().starts_with("can be written by other"));
        cache.put(&KEY, &by(""), b"image");
        assert!(cache.get(&KEY, None).is_some(), "it is replaced");
        // Only root can give a file away.
        if chown(&file.path, Some(USER), None).is_ok() {
            assert_eq!(cache.get(&KEY, None), None);
            assert!(file.check().unwrap_err().to_string().starts_with("belongs to another"));
        }
    }

    #[test]
    fn the_least_recently_used_image_is_removed_first() {
        let (_folder, cache) = cache(3500);
        let day = Duration::from_secs(24 * 3600);
        for k in 0..3u8 {
            cache.put(&[k; HASH_BYTES], &by(""), &[k; 1000]);
            let file = File::open(cache.path(&[k; HASH_BYTES])).unwrap();
            file.set_modified(SystemTime::now() - day * (10 - u32::from(k))).unwrap();
        }
        assert!(cache.get(&[0; HASH_BYTES], None).is_some());
        cache.put(&[3; HASH_BYTES], &by(""), &[3; 1000]);
        let left: Vec<bool> = (0..4).map(|k| cache.get(&[k; HASH_BYTES], None).is_some()).collect();
        assert_eq!(left, [true, false, true, true]);
    }

    #[test]
    fn concurrent_writes_never_expose_an_incomplete_file() {
        let (_folder, cache) = cache(1 << 24);
        let images: Vec<Vec<u8>> = (0..4).map(|k| vec![k; 100_000]).collect();
        cache.put(&KEY, &by(""), &images[0]);
        std::thread::scope(|scope| {
            for image in &images {
                scope.spawn(|| (0..20).for_each(|_| cache.put(&KEY, &by(""), image)));
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
        cache.put(&KEY, &by(""), b"image");
        assert_eq!(cache.get(&KEY, None), None);
        assert_eq!(cache.statistics().stored, 0);
        check_cache_folder(&cache.folder).expect_err("a file is in the way");
        check_cache_folder(&folder.path().join("new")).expect("it is created");
        assert_eq!(fs::read_dir(folder.path().join("new")).unwrap().count(), 0);
    }

    #[test]
    fn a_listed_file_has_its_label_and_damage_is_named() {
        let (_folder, cache) = cache(1 << 20);
        assert_eq!(cached_images(&cache.folder).unwrap(), [], "no folder yet");
        cache.put(&KEY, &by("one"), b"image");
        fs::write(cache.folder.join("notes.txt"), "not of the cache").unwrap();
        let [file] = &cached_images(&cache.folder).unwrap()[..] else { panic!("one file") };
        let day = Duration::from_secs(24 * 3600);
        File::open(&file.path).unwrap().set_modified(SystemTime::now() - day).unwrap();
        assert_eq!(file.check().unwrap(), by("one"));
        let listed = cached_images(&cache.folder).unwrap();
        assert!(listed[0].used().elapsed().unwrap() > day / 2, "a check is no use");
        assert_eq!(listed[0].bytes(), fs::metadata(file.path()).unwrap().len());

        let problem = || file.check().unwrap_err().to_string();
        let whole = fs::read(&file.path).unwrap();
        let mut damaged = whole.clone();
        *damaged.last_mut().unwrap() ^= 1;
        for (contents, expected) in [
            (&damaged[..], "hash"),
            (&whole[..20], "truncated"),
            (&whole[..whole.len() - 1], "hash"),
            (b"", "not a compiled kernel"),
        ] {
            fs::write(&file.path, contents).unwrap();
            assert!(problem().contains(expected), "{}", problem());
        }
        let other = cache.path(&[8; HASH_BYTES]);
        fs::write(&other, &whole).unwrap();
        fs::write(cache.folder.join("name.image"), &whole).unwrap();
        file.remove().unwrap();
        file.remove().unwrap();
        assert!(problem().contains("cannot be read"), "{}", problem());
        let mut problems: Vec<_> = cached_images(&cache.folder).unwrap();
        problems.sort_by_key(|file| file.path.clone());
        let problems: Vec<_> =
            problems.iter().map(|f| f.check().unwrap_err().to_string()).collect();
        assert_eq!(problems, ["is the file of another kernel", "does not have the name of a key"]);
    }
}
