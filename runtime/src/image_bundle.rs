//! Compiled images in one file, for machines that cannot compile: written at once, read only.
//!
//! A file is a header and, behind it, entries as the folder of an [`ImageCache`](crate::ImageCache) has them. The
//! header has a checksum of its own and says of each entry where it is, what it is called, for which architecture
//! it was made and by what; so a file is judged when it is opened, without reading it whole, and an entry when it is
//! asked for. Numbers are little-endian, texts begin with their length in 32 bits:
//!
//! | bytes | what |
//! |---|---|
//! | 8 | `qdpack\0` and the form's version |
//! | 4 | the header's length |
//! | 32 | the header's BLAKE3 hash |
//! | … | the header: the release of the crates (text), the number of entries (32 bits), and of each its key (32 bytes), offset (64 bits, from the header's end), length (64 bits), name, architecture, maker |
//! | … | the entries |

use std::{
    borrow::Cow,
    collections::BTreeMap,
    fs::File,
    io::{self, Read, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
};

use parking_lot::Mutex;

use crate::cache::{self, ImageKey};

const MAGIC: &[u8; 7] = b"qdpack\0";
const VERSION: u8 = 1;
const PREFIX_BYTES: usize = 8 + 4 + 32;
/// What a header can have at most: some hundred thousand entries.
const HEADER_LIMIT: u32 = 64 << 20;
/// Images of another release are made of other text, and called in another way.
const RELEASE: &str = env!("CARGO_PKG_VERSION");

/// Compiled images in one file or piece of memory, found by their keys.
#[derive(Debug)]
pub struct ImageBundle {
    origin: String,
    entries: BTreeMap<ImageKey, Place>,
    data: Data,
    /// Where the entries begin.
    base: u64,
}

/// What a pack says of an entry.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct BundleEntry {
    /// What it is called, for people.
    pub name: String,
    /// The architecture that it was made for.
    pub arch: String,
    /// What made it, for people.
    pub made_by: String,
}

/// A pack under construction.
#[derive(Clone, Debug, Default)]
pub struct BundleWriter {
    entries: BTreeMap<ImageKey, (BundleEntry, Vec<u8>)>,
}

/// Why something is no pack that can be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BundleError {
    /// It cannot be read or written.
    #[error("cannot read or write `{path}`: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// It does not begin as such a file does.
    #[error("`{origin}` is no file of exported kernels")]
    Foreign {
        /// The file, or that it is memory.
        origin: String,
    },
    /// It has another form than this build reads.
    #[error("`{origin}` has version {found}, and this build reads version {VERSION}")]
    Version {
        /// The file, or that it is memory.
        origin: String,
        /// Its version.
        found: u8,
    },
    /// Another release of these crates made it: none of its images would be found.
    #[error("`{origin}` was made by release {found}, and this is {RELEASE}")]
    Release {
        /// The file, or that it is memory.
        origin: String,
        /// The release that made it.
        found: String,
    },
    /// It ends before its last entry does.
    #[error("`{origin}` is cut off: it has {found} bytes, and should have {expected}")]
    CutOff {
        /// The file, or that it is memory.
        origin: String,
        /// How long it should be.
        expected: u64,
        /// How long it is.
        found: u64,
    },
    /// Its header is not as it was written, or claims entries larger than there are.
    #[error("the header of `{origin}` is damaged")]
    Damaged {
        /// The file, or that it is memory.
        origin: String,
    },
}

#[derive(Debug)]
struct Place {
    offset: u64,
    len: u64,
    entry: BundleEntry,
}

#[derive(Debug)]
enum Data {
    File(Mutex<File>),
    Memory(Cow<'static, [u8]>),
}

impl ImageBundle {
    /// The pack in a file, which is read as images are asked for.
    ///
    /// # Errors
    /// One variant of [`BundleError`] per reason.
    pub fn open(path: &Path) -> Result<Self, BundleError> {
        let failed = |source| BundleError::Io { path: path.to_owned(), source };
        let file = File::open(path).map_err(failed)?;
        let len = file.metadata().map_err(failed)?.len();
        Self::new(path.display().to_string(), Data::File(Mutex::new(file)), len)
    }

    /// The pack in memory, as `include_bytes!` gives it.
    ///
    /// # Errors
    /// As for [`open`](Self::open).
    pub fn from_bytes(bytes: impl Into<Cow<'static, [u8]>>) -> Result<Self, BundleError> {
        let bytes = bytes.into();
        let len = bytes.len() as u64;
        Self::new("bytes in memory".to_owned(), Data::Memory(bytes), len)
    }

    fn new(origin: String, data: Data, len: u64) -> Result<Self, BundleError> {
        let damaged = || BundleError::Damaged { origin: origin.clone() };
        let cut_off =
            |expected| BundleError::CutOff { origin: origin.clone(), expected, found: len };
        let foreign = || BundleError::Foreign { origin: origin.clone() };
        let start = data.read(0, 8.min(len)).ok_or_else(damaged)?;
        let version = start.strip_prefix(MAGIC.as_slice()).ok_or_else(foreign)?;
        match *version {
            [] => return Err(foreign()),
            [VERSION] => {}
            [found, ..] => return Err(BundleError::Version { origin, found }),
        }
        if len < PREFIX_BYTES as u64 {
            return Err(cut_off(PREFIX_BYTES as u64));
        }
        let prefix = data.read(8, 36).ok_or_else(damaged)?;
        let (header_len, hash) = prefix.split_first_chunk().ok_or_else(damaged)?;
        let header_len = u32::from_le_bytes(*header_len);
        if header_len > HEADER_LIMIT {
            return Err(damaged());
        }
        let base = PREFIX_BYTES as u64 + u64::from(header_len);
        if len < base {
            return Err(cut_off(base));
        }
        let header = data.read(PREFIX_BYTES as u64, header_len.into()).ok_or_else(damaged)?;
        if blake3::hash(&header).as_bytes() != hash {
            return Err(damaged());
        }
        let mut header = Reader(&header);
        let release = header.text().ok_or_else(damaged)?;
        if release != RELEASE {
            return Err(BundleError::Release { origin, found: release });
        }
        let entries = header.entries().ok_or_else(damaged)?;
        if entries.values().any(|place| place.len > cache::ENTRY_LIMIT) {
            return Err(damaged());
        }
        let end = |place: &Place| base.saturating_add(place.offset).saturating_add(place.len);
        match entries.values().map(end).max() {
            Some(end) if end > len => Err(cut_off(end)),
            _ => Ok(Self { origin, entries, data, base }),
        }
    }

    /// The file's name, or that it is memory.
    #[must_use]
    pub fn origin(&self) -> &str {
        &self.origin
    }

    /// Its entries with their keys.
    pub fn entries(&self) -> impl Iterator<Item = (&ImageKey, &BundleEntry)> {
        self.entries.iter().map(|(key, place)| (key, &place.entry))
    }

    /// The image of a key; none where there is none, or it is not as it was written.
    #[must_use]
    pub fn get(&self, key: &ImageKey) -> Option<Vec<u8>> {
        let place = self.entries.get(key)?;
        let begin = place.len.min(cache::BEGIN_BYTES as u64);
        let begin = self.data.read(self.base + place.offset, begin);
        // Nothing is reserved for what is no entry of the key.
        let is_entry = begin.is_some_and(|begin| cache::begins_as(&begin, key));
        let found =
            if is_entry { self.data.read(self.base + place.offset, place.len) } else { None };
        let image = found.as_deref().and_then(|entry| cache::decode(entry, key));
        if image.is_none() {
            let (file, name) = (&self.origin, &place.entry.name);
            tracing::warn!(file, name, "an exported kernel is damaged");
        }
        Some(image?.1.to_vec())
    }
}

impl BundleWriter {
    /// Adds an image. One that is there under the same key goes.
    pub fn add(&mut self, key: ImageKey, entry: BundleEntry, image: Vec<u8>) {
        self.entries.insert(key, (entry, image));
    }

    /// Whether there is an image of that key.
    #[must_use]
    pub fn contains(&self, key: &ImageKey) -> bool {
        self.entries.contains_key(key)
    }

    /// How many images there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The pack as bytes; the same for the same images.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let (mut header, mut data) = (Vec::new(), Vec::new());
        let text = |header: &mut Vec<u8>, text: &str| {
            header.extend_from_slice(&(text.len() as u32).to_le_bytes());
            header.extend_from_slice(text.as_bytes());
        };
        text(&mut header, RELEASE);
        header.extend_from_slice(&(self.entries.len() as u32).to_le_bytes());
        for (key, (entry, image)) in &self.entries {
            let encoded = cache::encode(key, &entry.made_by, image);
            header.extend_from_slice(key);
            header.extend_from_slice(&(data.len() as u64).to_le_bytes());
            header.extend_from_slice(&(encoded.len() as u64).to_le_bytes());
            for part in [&entry.name, &entry.arch, &entry.made_by] {
                text(&mut header, part);
            }
            data.extend_from_slice(&encoded);
        }
        let len = (header.len() as u32).to_le_bytes();
        let hash = *blake3::hash(&header).as_bytes();
        [MAGIC.as_slice(), &[VERSION], &len, &hash, &header, &data].concat()
    }

    /// Writes the pack beside `path` and renames it, so that a reader finds all of a file or none.
    ///
    /// # Errors
    /// [`BundleError::Io`].
    pub fn write(&self, path: &Path) -> Result<u64, BundleError> {
        for (entry, image) in self.entries.values() {
            if cache::entry_bytes(&entry.made_by, image) > cache::ENTRY_LIMIT {
                let what = format!("the image of `{}` is too large", entry.name);
                let source = io::Error::new(io::ErrorKind::FileTooLarge, what);
                return Err(BundleError::Io { path: path.to_owned(), source });
            }
        }
        let bytes = self.to_bytes();
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let write = || {
            let mut file = tempfile::NamedTempFile::new_in(folder.unwrap_or(Path::new(".")))?;
            file.write_all(&bytes)?;
            open_to_all(file.as_file())?;
            file.persist(path).map_err(|failed| failed.error)
        };
        write().map_err(|source| BundleError::Io { path: path.to_owned(), source })?;
        Ok(bytes.len() as u64)
    }
}

impl Data {
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

/// Reads a header from its begin; none where it ends too early.
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

    fn entries(&mut self) -> Option<BTreeMap<ImageKey, Place>> {
        let count = u32::from_le_bytes(self.chunk()?);
        let mut entries = BTreeMap::new();
        for _ in 0..count {
            let key = self.chunk()?;
            let [offset, len] = [self.chunk()?, self.chunk()?].map(u64::from_le_bytes);
            let entry =
                BundleEntry { name: self.text()?, arch: self.text()?, made_by: self.text()? };
            entries.insert(key, Place { offset, len, entry });
        }
        self.0.is_empty().then_some(entries)
    }
}

/// A temporary file is its owner's alone, and this one is to be given to others.
#[cfg(unix)]
fn open_to_all(file: &File) -> io::Result<()> {
    file.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(0o644))
}

#[cfg(not(unix))]
fn open_to_all(_: &File) -> io::Result<()> {
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
            let entry = BundleEntry {
                name: format!("kernel {k}"),
                arch: "sm_90".to_owned(),
                made_by: "a compiler".to_owned(),
            };
            writer.add(key, entry, image(k));
        }
        writer
    }

    #[test]
    fn what_is_written_is_read_from_a_file_and_from_memory() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pack");
        let bytes = three().write(&path).unwrap();
        assert_eq!(bytes, std::fs::metadata(&path).unwrap().len());
        let packs = [
            ImageBundle::open(&path).unwrap(),
            ImageBundle::from_bytes(three().to_bytes()).unwrap(),
        ];
        for pack in packs {
            for (k, key) in KEYS.iter().enumerate() {
                assert_eq!(pack.get(key), Some(image(k)));
            }
            assert_eq!(pack.get(&[4; 32]), None);
            let names: Vec<&str> = pack.entries().map(|(_, entry)| &*entry.name).collect();
            assert_eq!(names, ["kernel 0", "kernel 1", "kernel 2"]);
        }
        assert!(matches!(
            ImageBundle::open(folder.path()),
            Err(BundleError::Io { .. } | BundleError::Damaged { .. })
        ));
        let nowhere = folder.path().join("no/pack");
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
            let Ok(pack) = ImageBundle::from_bytes(bytes) else {
                refused += 1;
                continue;
            };
            let misses = (0..3).filter(|&k| match pack.get(&KEYS[k]) {
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
    fn what_is_cut_off_at_any_place_is_told_so() {
        let whole = three().to_bytes();
        for len in 0..whole.len() {
            match ImageBundle::from_bytes(whole[..len].to_vec()) {
                Err(BundleError::CutOff { found, .. }) => assert_eq!(found, len as u64),
                Err(BundleError::Foreign { .. }) if len < 8 => {}
                other => panic!("cut off at {len}: {other:?}"),
            }
        }
    }

    #[test]
    fn a_file_that_only_claims_to_be_long_is_refused_or_missed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pack");
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
            // Without blocks on disk. All of it in memory would end the process.
            let all = file.len() as u64 + len;
            File::options().write(true).open(&path).unwrap().set_len(all).unwrap();
            ImageBundle::open(&path)
        };
        for len in [1 << 43, cache::ENTRY_LIMIT + 1] {
            let refused = claiming(len);
            assert!(matches!(refused, Err(BundleError::Damaged { .. })), "{refused:?}");
        }
        assert_eq!(claiming(cache::ENTRY_LIMIT).unwrap().get(&KEYS[0]), None);
    }

    #[test]
    fn foreign_files_and_other_versions_are_told_apart() {
        let mut other = three().to_bytes();
        other[7] = VERSION + 1;
        let refused = ImageBundle::from_bytes(other);
        assert!(matches!(refused, Err(BundleError::Version { found: 2, .. })), "{refused:?}");
        for foreign in [&b"\x7fELF, and more of it"[..], b""] {
            let refused = ImageBundle::from_bytes(foreign);
            assert!(matches!(refused, Err(BundleError::Foreign { .. })), "{refused:?}");
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
