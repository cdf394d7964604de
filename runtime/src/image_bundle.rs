//! Image bundles: files of exported, compiled kernels, for machines without a compiler. Written once, then read only.
//!
//! A file has a header and the entries, which have the format of the files of an [`ImageCache`](crate::ImageCache). The
//! header is validated when the file is opened, an entry when it is read. Numbers are little-endian; a text is its
//! length in 32 bits and its bytes:
//!
//! | bytes | contents |
//! |---|---|
//! | 8 | `qdpack\0` and the format version |
//! | 4 | the length of the header |
//! | 32 | the BLAKE3 hash of the header |
//! | … | the header: the release of the crates (text), the number of entries (32 bits), the entry descriptions |
//! | … | the entries |
//!
//! An entry description is: key (32 bytes), offset from the end of the header (64 bits), length (64 bits), name,
//! architecture and compiler library (texts).

use std::{
    borrow::Cow,
    collections::BTreeMap,
    fs::File,
    io::{self, Read, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
};

use parking_lot::Mutex;

use crate::cache_entry::{self, ENTRY_LIMIT, HEADER_BYTES, ImageKey, ImageLabel};

const MAGIC: &[u8; 7] = b"qdpack\0";
const VERSION: u8 = 2;
pub(crate) const PREFIX_BYTES: usize = 8 + 4 + 32;
/// The size limit of a header in bytes: some hundred thousand entries.
const HEADER_LIMIT: u32 = 64 << 20;
/// Images of another release have other keys and calling conventions.
const RELEASE: &str = env!("CARGO_PKG_VERSION");

/// Compiled images in a file or in memory, by key.
#[derive(Debug)]
pub struct ImageBundle {
    source_name: String,
    entries: BTreeMap<ImageKey, EntryLocation>,
    data: BundleData,
    /// The offset of the first entry.
    base: u64,
}

/// A bundle under construction.
#[derive(Clone, Debug, Default)]
pub struct BundleWriter {
    entries: BTreeMap<ImageKey, (ImageLabel, Vec<u8>)>,
}

/// The reason why a bundle cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BundleError {
    /// The file cannot be read or written.
    #[error("cannot read or write `{path}`: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// The reason.
        #[source]
        source: io::Error,
    },
    /// The data is not an image bundle.
    #[error(
        "`{source_name}` is not a file of exported kernels; help: use a file that `Program::export_cache` wrote"
    )]
    NotABundle {
        /// The file name, or a note that the data is in memory.
        source_name: String,
    },
    /// The bundle has a format version that this build does not read.
    #[error(
        "`{source_name}` has format version {found}, and this build reads version {VERSION}; help: export it again"
    )]
    Version {
        /// The file name, or a note that the data is in memory.
        source_name: String,
        /// The format version of the bundle.
        found: u8,
    },
    /// The bundle was made by another release of these crates, whose images have other keys.
    #[error(
        "`{source_name}` was exported by release {found}, and this is release {RELEASE}; help: export it again"
    )]
    Release {
        /// The file name, or a note that the data is in memory.
        source_name: String,
        /// The release that exported the bundle.
        found: String,
    },
    /// The data ends before the last entry does.
    #[error(
        "`{source_name}` is truncated: it has {found} of {expected} bytes; help: copy or export it again"
    )]
    Truncated {
        /// The file name, or a note that the data is in memory.
        source_name: String,
        /// The expected length in bytes.
        expected: u64,
        /// The length in bytes.
        found: u64,
    },
    /// The header is damaged, or describes entries above the size limit.
    #[error("the header of `{source_name}` is damaged; help: copy or export it again")]
    Damaged {
        /// The file name, or a note that the data is in memory.
        source_name: String,
    },
}

#[derive(Debug)]
struct EntryLocation {
    offset: u64,
    len: u64,
    label: ImageLabel,
}

#[derive(Debug)]
enum BundleData {
    File(Mutex<File>),
    Memory(Cow<'static, [u8]>),
}

impl ImageBundle {
    /// Opens a bundle in a file. Images are read when they are requested.
    ///
    /// # Errors
    /// One variant of [`BundleError`] per reason.
    pub fn open(path: &Path) -> Result<Self, BundleError> {
        let failed = |source| BundleError::Io { path: path.to_owned(), source };
        let file = File::open(path).map_err(failed)?;
        let len = file.metadata().map_err(failed)?.len();
        Self::new(path.display().to_string(), BundleData::File(Mutex::new(file)), len)
    }

    /// Opens a bundle in memory, for example from `include_bytes!`.
    ///
    /// # Errors
    /// As for [`open`](Self::open).
    pub fn from_bytes(bytes: impl Into<Cow<'static, [u8]>>) -> Result<Self, BundleError> {
        let bytes = bytes.into();
        let len = bytes.len() as u64;
        Self::new("bytes in memory".to_owned(), BundleData::Memory(bytes), len)
    }

    fn new(source_name: String, data: BundleData, len: u64) -> Result<Self, BundleError> {
        let damaged = || BundleError::Damaged { source_name: source_name.clone() };
        let truncated = |expected| BundleError::Truncated {
            source_name: source_name.clone(),
            expected,
            found: len,
        };
        let not_a_bundle = || BundleError::NotABundle { source_name: source_name.clone() };
        let start = data.read(0, 8.min(len)).ok_or_else(damaged)?;
        let after_magic = start.strip_prefix(MAGIC.as_slice()).ok_or_else(not_a_bundle)?;
        match *after_magic {
            [] => return Err(not_a_bundle()),
            [VERSION] => {}
            [found, ..] => return Err(BundleError::Version { source_name, found }),
        }
        if len < PREFIX_BYTES as u64 {
            return Err(truncated(PREFIX_BYTES as u64));
        }
        let prefix = data.read(8, 36).ok_or_else(damaged)?;
        let (header_len, hash) = prefix.split_first_chunk().ok_or_else(damaged)?;
        let header_len = u32::from_le_bytes(*header_len);
        if header_len > HEADER_LIMIT {
            return Err(damaged());
        }
        let base = PREFIX_BYTES as u64 + u64::from(header_len);
        if len < base {
            return Err(truncated(base));
        }
        let header = data.read(PREFIX_BYTES as u64, header_len.into()).ok_or_else(damaged)?;
        if blake3::hash(&header).as_bytes() != hash {
            return Err(damaged());
        }
        let mut header = Reader(&header);
        let release = header.text().ok_or_else(damaged)?;
        // The release is printed in an error: no control characters.
        if release.contains(char::is_control) {
            return Err(damaged());
        }
        if release != RELEASE {
            return Err(BundleError::Release { source_name, found: release });
        }
        let entries = header.entries().ok_or_else(damaged)?;
        if entries.values().any(|location| location.len > ENTRY_LIMIT) {
            return Err(damaged());
        }
        let end = |location: &EntryLocation| {
            base.saturating_add(location.offset).saturating_add(location.len)
        };
        match entries.values().map(end).max() {
            Some(end) if end > len => Err(truncated(end)),
            _ => Ok(Self { source_name, entries, data, base }),
        }
    }

    /// The file name, or a note that the data is in memory.
    #[must_use]
    pub fn source_name(&self) -> &str {
        &self.source_name
    }

    /// The keys and descriptions of all images.
    pub fn entries(&self) -> impl Iterator<Item = (&ImageKey, &ImageLabel)> {
        self.entries.iter().map(|(key, location)| (key, &location.label))
    }

    /// Reads the image of a key. `None` if there is no such image, or it is damaged.
    #[must_use]
    pub fn get(&self, key: &ImageKey) -> Option<Vec<u8>> {
        let location = self.entries.get(key)?;
        let header = location.len.min(HEADER_BYTES as u64);
        let header = self.data.read(self.base + location.offset, header);
        // The header is checked first, so that no memory is reserved for other data.
        let is_entry = header.is_some_and(|header| cache_entry::check_header(&header, key).is_ok());
        let found =
            if is_entry { self.data.read(self.base + location.offset, location.len) } else { None };
        let image = found.as_deref().and_then(|entry| cache_entry::decode(entry, key).ok());
        if image.is_none() {
            let (file, name) = (&self.source_name, &location.label.name);
            tracing::warn!(file, name, "an exported kernel is damaged");
        }
        Some(image?.image.to_vec())
    }
}

impl BundleWriter {
    /// Adds an image. It replaces an image with the same key.
    pub fn add(&mut self, key: ImageKey, label: ImageLabel, image: Vec<u8>) {
        self.entries.insert(key, (label, image));
    }

    /// Whether there is an image with this key.
    #[must_use]
    pub fn contains(&self, key: &ImageKey) -> bool {
        self.entries.contains_key(key)
    }

    /// The number of images.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are no images.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Encodes the bundle. The same images give the same bytes.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let (mut header, mut data) = (Vec::new(), Vec::new());
        let text = |header: &mut Vec<u8>, text: &str| {
            header.extend_from_slice(&(text.len() as u32).to_le_bytes());
            header.extend_from_slice(text.as_bytes());
        };
        text(&mut header, RELEASE);
        header.extend_from_slice(&(self.entries.len() as u32).to_le_bytes());
        for (key, (label, image)) in &self.entries {
            let encoded = cache_entry::encode(key, label, image);
            header.extend_from_slice(key);
            header.extend_from_slice(&(data.len() as u64).to_le_bytes());
            header.extend_from_slice(&(encoded.len() as u64).to_le_bytes());
            for part in [&label.name, &label.arch, &label.compiler_library] {
                text(&mut header, part);
            }
            data.extend_from_slice(&encoded);
        }
        let len = (header.len() as u32).to_le_bytes();
        let hash = *blake3::hash(&header).as_bytes();
        [MAGIC.as_slice(), &[VERSION], &len, &hash, &header, &data].concat()
    }

    /// Writes the bundle under a temporary name and renames it to `path`, so that readers never see an incomplete file.
    /// Returns its size in bytes.
    ///
    /// # Errors
    /// [`BundleError::Io`].
    pub fn write(&self, path: &Path) -> Result<u64, BundleError> {
        let failed = |source| BundleError::Io { path: path.to_owned(), source };
        for (label, image) in self.entries.values() {
            if cache_entry::entry_bytes(label, image) > ENTRY_LIMIT {
                let message = format!("the image of `{}` is too large", label.name);
                return Err(failed(io::Error::new(io::ErrorKind::FileTooLarge, message)));
            }
        }
        let bytes = self.to_bytes();
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let write = || {
            let mut file = tempfile::NamedTempFile::new_in(folder.unwrap_or(Path::new(".")))?;
            file.write_all(&bytes)?;
            make_readable(file.as_file())?;
            file.persist(path).map_err(|failed| failed.error)
        };
        write().map_err(failed)?;
        Ok(bytes.len() as u64)
    }
}

impl BundleData {
    fn read(&self, offset: u64, len: u64) -> Option<Cow<'_, [u8]>> {
        let bytes = usize::try_from(len).ok()?;
        match self {
            Self::Memory(memory) => {
                let begin = usize::try_from(offset).ok()?;
                memory.get(begin..begin.checked_add(bytes)?).map(Cow::Borrowed)
            }
            Self::File(file) => {
                let mut file = file.lock();
                let mut read = vec![0; bytes];
                file.seek(SeekFrom::Start(offset)).and_then(|_| file.read_exact(&mut read)).ok()?;
                Some(Cow::Owned(read))
            }
        }
    }
}

/// Decodes a header. Methods return `None` if the data ends too early.
struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn chunk<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (chunk, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*chunk)
    }

    fn text(&mut self) -> Option<String> {
        let len = u32::from_le_bytes(self.chunk()?) as usize;
        let (text, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        String::from_utf8(text.to_vec()).ok()
    }

    fn entries(&mut self) -> Option<BTreeMap<ImageKey, EntryLocation>> {
        let count = u32::from_le_bytes(self.chunk()?);
        let mut entries = BTreeMap::new();
        for _ in 0..count {
            let key = self.chunk()?;
            let [offset, len] = [self.chunk()?, self.chunk()?].map(u64::from_le_bytes);
            let label = ImageLabel {
                name: self.text()?,
                arch: self.text()?,
                compiler_library: self.text()?,
            };
            entries.insert(key, EntryLocation { offset, len, label });
        }
        self.0.is_empty().then_some(entries)
    }
}

/// Makes a temporary file, which only its owner can read, readable for all.
#[cfg(unix)]
fn make_readable(file: &File) -> io::Result<()> {
    file.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(0o644))
}

#[cfg(not(unix))]
fn make_readable(_: &File) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEYS: [ImageKey; 3] = [[1; 32], [2; 32], [3; 32]];

    fn image(k: usize) -> Vec<u8> {
        vec![k as u8 + 10; 40 + k]
    }

    fn three() -> BundleWriter {
        let mut writer = BundleWriter::default();
        for (k, key) in KEYS.into_iter().enumerate() {
            let entry = ImageLabel {
                name: format!("kernel {k}"),
                arch: "sm_90".to_owned(),
                compiler_library: "a compiler".to_owned(),
            };
            writer.add(key, entry, image(k));
        }
        writer
    }

    #[test]
    fn a_written_bundle_is_read_from_a_file_and_from_memory() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("bundle");
        let bytes = three().write(&path).unwrap();
        assert_eq!(bytes, std::fs::metadata(&path).unwrap().len());
        let bundles = [
            ImageBundle::open(&path).unwrap(),
            ImageBundle::from_bytes(three().to_bytes()).unwrap(),
        ];
        for bundle in bundles {
            for (k, key) in KEYS.iter().enumerate() {
                assert_eq!(bundle.get(key), Some(image(k)));
            }
            assert_eq!(bundle.get(&[4; 32]), None);
            let names: Vec<&str> = bundle.entries().map(|(_, entry)| &*entry.name).collect();
            assert_eq!(names, ["kernel 0", "kernel 1", "kernel 2"]);
        }
        assert!(matches!(
            ImageBundle::open(folder.path()),
            Err(BundleError::Io { .. } | BundleError::Damaged { .. })
        ));
        let nowhere = folder.path().join("no/bundle");
        assert!(matches!(ImageBundle::open(&nowhere), Err(BundleError::Io { .. })));
        assert!(matches!(three().write(&nowhere), Err(BundleError::Io { .. })));
    }

    #[test]
    fn a_damaged_byte_is_an_error_or_the_miss_of_one_entry() {
        let whole = three().to_bytes();
        let (mut refused, mut missed) = (0, 0);
        for at in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 0x21;
            let Ok(bundle) = ImageBundle::from_bytes(bytes) else {
                refused += 1;
                continue;
            };
            let misses = (0..3).filter(|&k| match bundle.get(&KEYS[k]) {
                None => true,
                Some(found) => {
                    assert_eq!(found, image(k), "damaged at {at}");
                    false
                }
            });
            assert_eq!(misses.count(), 1, "damaged at {at}");
            missed += 1;
        }
        assert!(refused > 100 && missed > 100, "{refused} {missed}");
    }

    #[test]
    fn a_truncated_bundle_is_reported_at_every_length() {
        let whole = three().to_bytes();
        for len in 0..whole.len() {
            match ImageBundle::from_bytes(whole[..len].to_vec()) {
                Err(BundleError::Truncated { found, .. }) => assert_eq!(found, len as u64),
                Err(BundleError::NotABundle { .. }) if len < 8 => {}
                other => panic!("truncated at {len}: {other:?}"),
            }
        }
    }

    #[test]
    fn entries_with_a_false_length_are_rejected_or_missed_without_large_allocation() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("bundle");
        let claiming = |len: u64| {
            let mut header = Vec::from((RELEASE.len() as u32).to_le_bytes());
            header.extend_from_slice(RELEASE.as_bytes());
            header.extend_from_slice(&1u32.to_le_bytes());
            header.extend_from_slice(&KEYS[0]);
            header.extend_from_slice(&[0u64.to_le_bytes(), len.to_le_bytes()].concat());
            header.extend_from_slice(&[0; 12]);
            let header_len = (header.len() as u32).to_le_bytes();
            let hash = *blake3::hash(&header).as_bytes();
            let file = [MAGIC.as_slice(), &[VERSION], &header_len, &hash, &header].concat();
            std::fs::write(&path, &file).unwrap();
            // A sparse file. Reading all of it into memory would kill the process.
            let all = file.len() as u64 + len;
            File::options().write(true).open(&path).unwrap().set_len(all).unwrap();
            ImageBundle::open(&path)
        };
        for len in [1 << 43, ENTRY_LIMIT + 1] {
            let refused = claiming(len);
            assert!(matches!(refused, Err(BundleError::Damaged { .. })), "{refused:?}");
        }
        assert_eq!(claiming(ENTRY_LIMIT).unwrap().get(&KEYS[0]), None);
    }

    #[test]
    fn other_files_versions_and_other_releases_are_distinct_errors() {
        let mut other = three().to_bytes();
        let newer = VERSION + 1;
        other[7] = newer;
        let refused = ImageBundle::from_bytes(other);
        let is_named = matches!(refused, Err(BundleError::Version { found, .. }) if found == newer);
        assert!(is_named, "{refused:?}");
        for not_a_bundle in [&b"\x7fELF, and more of it"[..], b""] {
            let refused = ImageBundle::from_bytes(not_a_bundle);
            assert!(matches!(refused, Err(BundleError::NotABundle { .. })), "{refused:?}");
        }
        let mut header = Vec::from(5u32.to_le_bytes());
        header.extend_from_slice(b"0.0.0\0\0\0\0");
        let len = (header.len() as u32).to_le_bytes();
        let hash = *blake3::hash(&header).as_bytes();
        let other = [MAGIC.as_slice(), &[VERSION], &len, &hash, &header].concat();
        let refused = ImageBundle::from_bytes(other);
        assert!(matches!(&refused, Err(BundleError::Release { found, .. }) if found == "0.0.0"));
    }
}
