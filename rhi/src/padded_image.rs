//! [`PaddedImage`]: an image for drivers that take a pointer without a length.
//!
//! `cuModuleLoadData` and `hipModuleLoadData` take only a pointer. They read as far as the image's headers say, or up
//! to a zero byte, so a truncated image would make them read past its end.

use std::ffi::c_void;

use crate::{Error, Result};

/// The number of zero bytes after the image: they terminate a text and a truncated header.
const PADDING: usize = 64;

/// A copy of an image that a driver can read without knowing its length.
#[derive(Debug)]
pub struct PaddedImage {
    words: Vec<u64>,
}

impl PaddedImage {
    /// Copies `image` to memory aligned to 8 bytes and appends zeros.
    ///
    /// # Errors
    /// [`Error::ImageRejected`] if the image is empty, or is an ELF file with a part outside the image.
    pub fn new(image: &[u8]) -> Result<Self> {
        if image.is_empty() {
            return Err(rejected("the image is empty"));
        }
        if image.starts_with(b"\x7fELF") && !elf_is_whole(image) {
            return Err(rejected("the image is a truncated ELF file"));
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

    /// The start of the image, aligned to 8 bytes.
    #[must_use]
    pub fn as_ptr(&self) -> *const c_void {
        self.words.as_ptr().cast()
    }
}

fn rejected(log: &str) -> Error {
    Error::ImageRejected { log: log.to_owned(), source: None }
}

/// Whether the header, both header tables and everything that they refer to are inside a 64-bit ELF file.
fn elf_is_whole(image: &[u8]) -> bool {
    let inside = |offset: u64, bytes: u64| {
        offset.checked_add(bytes).is_some_and(|end| end <= image.len() as u64)
    };
    let number = |at: u64, bytes: usize| -> Option<u64> {
        let at = usize::try_from(at).ok()?;
        let field = image.get(at..at.checked_add(bytes)?)?;
        Some(field.iter().rev().fold(0, |n, byte| (n << 8) | u64::from(*byte)))
    };
    // Offsets in the ELF-64 header: table offset, entry size, entry count. Then offsets in an entry: file offset, size,
    // type. A section of type 8 (NOBITS) has no bytes in the file.
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
        image[0x28] = 0x40; // one section header, directly after the file header
        image[0x3a] = 0x40;
        image[0x3c] = 1;
        image[0x40 + 0x18] = 0x80;
        image[0x40 + 0x20..0x40 + 0x28].copy_from_slice(&section_bytes.to_le_bytes());
        image
    }

    #[test]
    fn a_text_is_zero_terminated() {
        let staged = PaddedImage::new(b"// no zero").unwrap();
        let bytes: Vec<u8> = staged.words.iter().flat_map(|w| w.to_ne_bytes()).collect();
        assert_eq!(&bytes[..10], b"// no zero");
        assert!(bytes.len() >= 10 + 64 && bytes[10..].iter().all(|b| *b == 0));
    }

    #[test]
    fn an_elf_file_with_a_part_outside_it_is_rejected() {
        assert!(PaddedImage::new(&elf(16)).is_ok());
        for image in [&elf(17)[..], &elf(u64::MAX), &elf(16)[..0x50], &elf(16)[..4], b""] {
            assert!(matches!(PaddedImage::new(image), Err(Error::ImageRejected { .. })));
        }
    }
}
