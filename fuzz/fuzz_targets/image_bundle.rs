//! Image bundles: opening any bytes is an error or gives a bundle, all of whose entries can be looked up.
#![no_main]

use libfuzzer_sys::fuzz_target;
use quadrants_runtime::ImageBundle;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(bundle) = ImageBundle::from_bytes(bytes.to_vec()) {
        for (key, label) in bundle.entries() {
            let image = bundle.get(key);
            assert!(image.is_none_or(|image| image.len() <= bytes.len()), "{label:?}");
        }
    }
});
