//! Files of the kernel cache: any contents are a miss, or an image that is no longer than the file.
#![no_main]

use std::{fs, sync::LazyLock};

use libfuzzer_sys::fuzz_target;
use quadrants_runtime::{ImageCache, ImageLabel, cached_images};
use tempfile::TempDir;

static FOLDER: LazyLock<TempDir> = LazyLock::new(|| tempfile::tempdir().expect("a folder"));

fuzz_target!(|bytes: &[u8]| {
    let folder = FOLDER.path();
    let (cache, key) = (ImageCache::new(folder, 1 << 20), ImageCache::key(b"fuzz"));
    cache.put(&key, &ImageLabel::default(), b"");
    let file = cached_images(folder).expect("a folder").remove(0);
    fs::write(file.path(), bytes).expect("a file");
    let image = cache.get(&key, None);
    assert_eq!(file.check().is_ok(), image.is_some());
    assert!(image.is_none_or(|image| image.len() <= bytes.len()));
});
