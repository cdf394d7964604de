//! Images for drivers that are not told how long an image is.
//!
//! `cuModuleLoadData` and `hipModuleLoadData` take a pointer alone and read as far as the image's own
//! headers say, or up to a zero byte. An image cut short would make them read past its end.

use std::ffi::c_void;

use crate::{Error, Result};

/// What a driver finds behind the image: it ends any text, and any header cut short.
const PADDING: usize = 64;

/// A copy of an image that is safe to pass without its length.
#[derive(Debug)]
pub struct PaddedImage {
    words: Vec<u64>,
}

impl PaddedImage {
    /// Copies `image` to aligned memory with zeros behind it.
    ///
    /// # Errors
    /// [`Error::ImageRejected`] where it is empty, or an ELF file whose parts lie outside it.
    pub fn new(image: &[u8]) -> Result<Self> {
        if image.is_empty() {
            return Err(rejected("the image is empty"));
        }
        if image.starts_with(b"\x7fELF") && !elf_is_whole(image) {
            return Err(rejected("the image is an ELF file that was cut short"));
        }
        let (whole, rest) = image.as_chunks::<8>();
        let mut padded = [0; 8];
        padded[..rest.len()].copy_from_slice(rest);
        let length = (image.len() + PADDING).div_ceil(8);
        let mut words = Vec::with_capacity(length);
        words.extend(whole.iter().chain([&padded]).map(|bytes| u64::from_ne_bytes(*bytes)));
        words.resize(length, 0);
        Ok(Self { words })
    }

    /// Where it begins; aligned to 8 bytes.
    #[must_use]
    pub fn as_ptr(&self) -> *const c_void {
        self.words.as_ptr().cast()
    }
}

fn rejected(log: &str) -> Error {
    Error::ImageRejected { log: log.to_owned(), source: None }
}

/// Whether the header, both header tables, and all that these name lie inside a 64-bit ELF file.
fn elf_is_whole(image: &[u8]) -> bool {
    let inside = |offset: u64, bytes: u64| {
        offset.checked_add(bytes).is_some_and(|end| end <= image.len() as u64)
    };
    let number = |at: u64, bytes: usize| -> Option<u64> {
        let at = usize::try_from(at).ok()?;
        let field = image.get(at..at.checked_add(bytes)?)?;
        Some(field.iter().rev().fold(0, |n, byte| (n << 8) | u64::from(*byte)))
    };
    // Offsets within the ELF-64 header of: table offset, entry size, entry count. Then, within an entry,
    // of: file offset, size, type. Type 8 (NOBITS) is a section without bytes in the file.
    let tables = [(0x20, 0x36, 0x38, 0x08, 0x20, None), (0x28, 0x3a, 0x3c, 0x18, 0x20, Some(0x04))];
    let is_whole =
        |(table, size, count, at, bytes, kind): (u64, u64, u64, u64, u64, Option<u64>)| {
            let (table, size, count) = (number(table, 8)?, number(size, 2)?, number(count, 2)?);
            for entry in (0..count).map(|n| table.checked_add(n * size)) {
                let entry = entry?;
                let no_bytes = match kind {
                    Some(kind) => number(entry + kind, 4)? == 8,
                    None => false,
                };
                let (at, bytes) = (number(entry + at, 8)?, number(entry + bytes, 8)?);
                if !no_bytes && !inside(at, bytes) {
                    return None;
                }
            }
            Some(())
        };
    image.len() >= 0x40 && tables.into_iter().all(|table| is_whole(table).is_some())
}

#[cfg(test)]
mod tests {
    use super::PaddedImage;
    use crate::Error;

    fn elf(section_bytes: u64) -> Vec<u8> {
        let mut image = vec![0u8; 0x40 + 0x40 + 16];
        image[..4].copy_from_slice(b"\x7fELF");
        image[0x28] = 0x40; // one section header, right behind the file header
        image[0x3a] = 0x40;
        image[0x3c] = 1;
        image[0x40 + 0x18] = 0x80;
        image[0x40 + 0x20..0x40 + 0x28].copy_from_slice(&section_bytes.to_le_bytes());
        image
    }

    #[test]
    fn text_gets_its_zero_byte() {
        let staged = PaddedImage::new(b"// no zero").unwrap();
        let bytes: Vec<u8> = staged.words.iter().flat_map(|w| w.to_ne_bytes()).collect();
        assert_eq!(&bytes[..10], b"// no zero");
        assert!(bytes.len() >= 10 + 64 && bytes[10..].iter().all(|b| *b == 0));
    }

    #[test]
    fn parts_of_an_elf_file_lie_inside_it() {
        assert!(PaddedImage::new(&elf(16)).is_ok());
        for image in [&elf(17)[..], &elf(u64::MAX), &elf(16)[..0x50], &elf(16)[..4], b""] {
            assert!(matches!(PaddedImage::new(image), Err(Error::ImageRejected { .. })));
        }
    }
}
