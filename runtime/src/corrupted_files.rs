//! Tests of the file formats with random changes: what is read is what was stored, or an error. The changes are the
//! same in every run. Hashes are made right again in half of the cases, so that the changes reach the code behind their
//! check.

use std::{fs, ops::Range};

use crate::{
    ImageCache, ImageKey, ImageLabel,
    cache_entry::{self, HASH_BYTES},
    cached_images,
    image_bundle::{BundleWriter, ImageBundle, PREFIX_BYTES},
};

const ROUNDS: u64 = 20_000;
const KEYS: [ImageKey; 3] = [[1; HASH_BYTES], [2; HASH_BYTES], [3; HASH_BYTES]];
/// Magic and version, before the hash of the rest.
const ENTRY_HASH: Range<usize> = 8..8 + HASH_BYTES;

/// SplitMix64.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `bound`; 0 if that is 0.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound.max(1) as u64) as usize
    }

    /// Changes some places: bits, numbers of both widths at the limits of their types, and pieces that are removed,
    /// repeated or inserted.
    fn change(&mut self, bytes: &mut Vec<u8>) {
        const LIMITS: [u64; 8] =
            [0, 1, 0x7f, 0xff, i32::MAX as u64, u32::MAX as u64, i64::MAX as u64, u64::MAX];
        for _ in 0..=self.below(3) {
            let at = self.below(bytes.len());
            let piece = at..(at + 1 + self.below(40)).min(bytes.len());
            match self.below(7) {
                0 | 1 if !bytes.is_empty() => bytes[at] ^= 1 << self.below(8),
                2 | 3 => {
                    let width = [1, 4, 8][self.below(3)];
                    let number = LIMITS[self.below(LIMITS.len())].to_le_bytes();
                    let end = (at + width).min(bytes.len());
                    bytes[at..end].copy_from_slice(&number[..end - at]);
                }
                4 => drop(bytes.drain(piece)),
                5 => {
                    let copy = bytes[piece].to_vec();
                    let to = self.below(bytes.len() + 1);
                    bytes.splice(to..to, copy);
                }
                _ => bytes.truncate(at),
            }
        }
    }
}

fn label(k: usize) -> ImageLabel {
    let compiler_library = if k == 1 { "/usr/lib/libcompiler.so 1 2" } else { "" };
    ImageLabel {
        name: format!("kernel {k}"),
        arch: "sm_90".into(),
        compiler_library: compiler_library.into(),
    }
}

fn image(k: usize) -> Vec<u8> {
    vec![k as u8 + 10; 50 * k]
}

/// Writes the hash of the bytes after `hash` into it.
fn make_hash_right(bytes: &mut [u8], hash: Range<usize>, end: usize) {
    if let Some(body) = bytes.get(hash.end..end) {
        let right = *blake3::hash(body).as_bytes();
        bytes[hash].copy_from_slice(&right);
    }
}

#[test]
fn mutated_entries_are_misses_or_what_was_stored() {
    let folder = tempfile::tempdir().unwrap();
    let cache = ImageCache::new(folder.path(), 1 << 20);
    let mut random = Random(1);
    let (mut refused, mut read) = (0, 0);
    for round in 0..ROUNDS {
        let k = random.below(3);
        let mut bytes = cache_entry::encode(&KEYS[k], &label(k), &image(k));
        let whole = bytes.clone();
        random.change(&mut bytes);
        let is_right = round % 2 == 0;
        if is_right {
            let end = bytes.len();
            make_hash_right(&mut bytes, ENTRY_HASH, end);
        }
        let entry = cache_entry::decode(&bytes, &KEYS[k]);
        match &entry {
            Err(_) => refused += 1,
            Ok(entry) => {
                // An entry has one form.
                let again = cache_entry::encode(&KEYS[k], &entry.label(), entry.image);
                assert_eq!(again, bytes, "round {round}");
                assert!(is_right || bytes == whole, "round {round}: a hash that is wrong");
                read += 1;
            }
        }
        if round % 50 == 0 {
            // The same from a file.
            cache.put(&KEYS[k], &label(k), b"");
            let [file] = &cached_images(folder.path()).unwrap()[..] else { panic!("one file") };
            fs::write(file.path(), &bytes).unwrap();
            let found = cache.get(&KEYS[k], None);
            assert_eq!(found.as_deref(), entry.as_ref().ok().map(|entry| entry.image));
            assert_eq!(file.check().is_ok(), entry.is_ok());
            file.remove().unwrap();
        }
    }
    assert!(refused > 1000 && read > 1000, "{refused} {read}");
}

#[test]
fn mutated_bundles_are_errors_or_give_the_stored_images() {
    let mut writer = BundleWriter::default();
    for (k, key) in KEYS.into_iter().enumerate() {
        writer.add(key, label(k), image(k));
    }
    let whole = writer.to_bytes();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("bundle");
    let header_len = u32::from_le_bytes(*whole[8..].first_chunk().unwrap()) as usize;
    let mut random = Random(2);
    let (mut refused, mut opened, mut found, mut missed) = (0, 0, 0, 0);
    for round in 0..ROUNDS {
        // The header, the entries, or all.
        let mut bytes = whole.clone();
        match random.below(3) {
            0 => {
                let mut header = whole[PREFIX_BYTES..PREFIX_BYTES + header_len].to_vec();
                random.change(&mut header);
                let len = header.len();
                bytes[8..12].copy_from_slice(&(len as u32).to_le_bytes());
                bytes.splice(PREFIX_BYTES..PREFIX_BYTES + header_len, header);
                make_hash_right(&mut bytes, 12..PREFIX_BYTES, PREFIX_BYTES + len);
            }
            1 => {
                let mut entries = bytes.split_off(PREFIX_BYTES + header_len);
                random.change(&mut entries);
                bytes.extend(entries);
            }
            _ => random.change(&mut bytes),
        }
        if round % 50 == 0 {
            fs::write(&path, &bytes).unwrap();
            let (file, memory) = (ImageBundle::open(&path), ImageBundle::from_bytes(bytes.clone()));
            assert_eq!(file.is_ok(), memory.is_ok(), "round {round}");
            if let (Ok(file), Ok(memory)) = (file, memory) {
                assert!(KEYS.iter().all(|key| file.get(key) == memory.get(key)), "round {round}");
            }
        }
        let Ok(bundle) = ImageBundle::from_bytes(bytes) else {
            refused += 1;
            continue;
        };
        opened += 1;
        let keys: Vec<ImageKey> = bundle.entries().map(|(key, _)| *key).collect();
        for key in keys {
            match bundle.get(&key) {
                None => missed += 1,
                Some(image_found) => {
                    let k = KEYS.iter().position(|known| *known == key);
                    assert_eq!(Some(image_found), k.map(image), "round {round}");
                    found += 1;
                }
            }
        }
    }
    let counts = [refused, opened, found, missed];
    assert!(counts.iter().all(|count| *count > 1000), "{counts:?}");
}
