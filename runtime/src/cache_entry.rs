//! The format of one compiled image in a file, which the image cache and image bundles share.
//!
//! Numbers are little-endian; a text is its length in 32 bits and its bytes:
//!
//! | bytes | contents |
//! |---|---|
//! | 8 | `qdkern\0` and the format version |
//! | 32 | the BLAKE3 hash of the rest |
//! | 32 | the key |
//! | … | the label: compiler, name, architecture (texts) |
//! | … | the image |

use std::io;

/// A hash of everything that an image depends on.
pub type ImageKey = [u8; HASH_BYTES];

const MAGIC: &[u8; 7] = b"qdkern\0";
const VERSION: u8 = 2;
pub(crate) const HASH_BYTES: usize = 32;
/// The size of an entry's header: magic, version, hash of the rest, key.
pub(crate) const HEADER_BYTES: usize = MAGIC.len() + 1 + HASH_BYTES + size_of::<ImageKey>();
/// The size limit of an entry in bytes. Images have kilobytes, rarely megabytes.
pub(crate) const ENTRY_LIMIT: u64 = 256 << 20;

/// The description of a compiled image.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Default, Debug)]
pub struct ImageLabel {
    /// A readable name: the kernel and its form.
    pub name: String,
    /// The architecture that the image is for.
    pub arch: String,
    /// The compiler that made it; empty where it is not known.
    pub compiler_library: String,
}

/// Why a file of the image cache counts as missing.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ImageProblem {
    /// The file cannot be read.
    #[error("cannot be read: {0}")]
    Unreadable(#[from] io::Error),
    /// Another user can have written the file.
    #[error(
        "{what}, and compiled kernels are executed; help: remove the file, or give the folder to the user who runs the \
         program and take write access from others (`chmod -R go-w`)"
    )]
    Untrusted {
        /// Why that is possible.
        what: &'static str,
    },
    /// Another version of these crates stored it. This is no damage.
    #[error(
        "has format version {found}, and this build reads version {VERSION}; the kernel is compiled again when it is needed"
    )]
    Version {
        /// The format version of the file.
        found: u8,
    },
    /// The contents are not those that were stored.
    #[error("{what}")]
    Damaged {
        /// What is wrong.
        what: &'static str,
    },
}

/// A decoded entry.
#[derive(Debug)]
pub(crate) struct CacheEntry<'a> {
    compiler_library: &'a str,
    name: &'a str,
    arch: &'a str,
    pub(crate) image: &'a [u8],
}

impl CacheEntry<'_> {
    pub(crate) fn compiler_library(&self) -> &str {
        self.compiler_library
    }

    pub(crate) fn label(&self) -> ImageLabel {
        let [name, arch, compiler_library] =
            [self.name, self.arch, self.compiler_library].map(str::to_owned);
        ImageLabel { name, arch, compiler_library }
    }
}

/// Checks that [`HEADER_BYTES`] or fewer bytes are the header of an entry of this key.
pub(crate) fn check_header(begin: &[u8], key: &ImageKey) -> Result<(), ImageProblem> {
    let damaged = |what| Err(ImageProblem::Damaged { what });
    match begin.strip_prefix(MAGIC.as_slice()) {
        None => return damaged("is not a compiled kernel"),
        Some([]) => return damaged("is truncated"),
        Some([VERSION, ..]) => {}
        Some([found, ..]) => return Err(ImageProblem::Version { found: *found }),
    }
    if begin.len() < HEADER_BYTES {
        return damaged("is truncated");
    }
    if !begin.ends_with(key) {
        return damaged("is the file of another kernel");
    }
    Ok(())
}

/// Encodes an entry.
pub(crate) fn encode(key: &ImageKey, label: &ImageLabel, image: &[u8]) -> Vec<u8> {
    let mut body = Vec::with_capacity(entry_bytes(label, image) as usize);
    body.extend_from_slice(key);
    for text in texts(label) {
        body.extend_from_slice(&(text.len() as u32).to_le_bytes());
        body.extend_from_slice(text.as_bytes());
    }
    body.extend_from_slice(image);
    [MAGIC.as_slice(), &[VERSION], blake3::hash(&body).as_bytes(), &body].concat()
}

/// Decodes an entry of this key.
pub(crate) fn decode<'a>(entry: &'a [u8], key: &ImageKey) -> Result<CacheEntry<'a>, ImageProblem> {
    check_header(&entry[..entry.len().min(HEADER_BYTES)], key)?;
    let damaged = || ImageProblem::Damaged { what: "is damaged: its hash is another one" };
    let (_, rest) = entry.split_at_checked(MAGIC.len() + 1).ok_or_else(damaged)?;
    let (hash, body) = rest.split_at_checked(HASH_BYTES).ok_or_else(damaged)?;
    if blake3::hash(body).as_bytes() != hash {
        return Err(damaged());
    }
    let texts = || {
        let (compiler_library, rest) = text(body.strip_prefix(key.as_slice())?)?;
        let (name, rest) = text(rest)?;
        let (arch, image) = text(rest)?;
        Some(CacheEntry { compiler_library, name, arch, image })
    };
    texts().ok_or(ImageProblem::Damaged { what: "has no valid label" })
}

/// The size of an entry in bytes.
pub(crate) fn entry_bytes(label: &ImageLabel, image: &[u8]) -> u64 {
    let texts: usize = texts(label).iter().map(|text| 4 + text.len()).sum();
    (HEADER_BYTES + texts + image.len()) as u64
}

/// The texts of a label, in the order of the format.
fn texts(label: &ImageLabel) -> [&str; 3] {
    [&label.compiler_library, &label.name, &label.arch]
}

/// Splits a text off.
fn text(bytes: &[u8]) -> Option<(&str, &[u8])> {
    let (len, rest) = bytes.split_first_chunk()?;
    let (text, rest) = rest.split_at_checked(usize::try_from(u32::from_le_bytes(*len)).ok()?)?;
    Some((std::str::from_utf8(text).ok()?, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_false_label_in_an_entry_with_a_right_hash_is_damage() {
        let key = [3; HASH_BYTES];
        let whole = encode(&key, &ImageLabel::default(), b"image");
        let at = HEADER_BYTES;
        for (label, is_valid) in [
            ([0u8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], true),
            ([255, 255, 255, 255, 0, 0, 0, 0, 0, 0, 0, 0], false),
            ([1, 0, 0, 0, 0xff, 0, 0, 0, 0, 0, 0, 0], false),
            ([0, 0, 0, 0, 0, 0, 0, 0, 200, 0, 0, 0], false),
        ] {
            let mut entry = whole.clone();
            entry[at..at + 12].copy_from_slice(&label);
            let hash = *blake3::hash(&entry[8 + HASH_BYTES..]).as_bytes();
            entry[8..8 + HASH_BYTES].copy_from_slice(&hash);
            assert_eq!(decode(&entry, &key).is_ok(), is_valid, "{label:?}");
        }
    }

    #[test]
    fn another_format_version_is_no_damage() {
        let key = [3; HASH_BYTES];
        let mut entry = encode(&key, &ImageLabel::default(), b"image");
        entry[MAGIC.len()] = 1;
        let problem = decode(&entry, &key).expect_err("another version");
        assert!(matches!(problem, ImageProblem::Version { found: 1 }), "{problem}");
        entry[0] = b'x';
        let problem = decode(&entry, &key).expect_err("no entry");
        assert!(matches!(problem, ImageProblem::Damaged { .. }), "{problem}");
    }
}
