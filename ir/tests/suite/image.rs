//! Images and hashes.

use quadrants_ir::{
    abi::{Forms, Passing},
    *,
};

use quadrants_samples::{Builder, F32, U64};

/// Two groups, each writing one tensor.
fn grouped() -> Kernel {
    let mut m = Builder::new("grouped");
    let zero = m.constant(0u64);
    let body = ["a", "b"].into_iter().zip(1..).map(|(name, group)| {
        let tensor = m.tensor(name, F32, 1);
        let (i, end, value) = (m.local("i", U64), m.dim(tensor, 0), m.constant(1.0f32));
        let at = m.read(i);
        let store = m.store(tensor, &[at], value);
        let body = vec![m.parallel(&[(i, zero, end)], vec![store])];
        TopStmt::RegionBlock { region_block: RegionBlockId::new(group), body }
    });
    let body = body.collect();
    m.kernel.body = body;
    m.kernel
}

fn image() -> SimImage {
    let kernel = offload(&grouped()).unwrap();
    SimImage { kernel, forms: Forms::PROVEN, passing: Passing::Buffer }
}

#[test]
fn an_encoded_image_decodes_to_the_same_kernel() {
    assert_eq!(SimImage::decode(&image().encode()).unwrap(), image());
}

#[test]
fn the_header_of_an_image_contains_its_length() {
    let bytes = image().encode();
    let (header, _) = bytes.split_first_chunk().unwrap();
    assert_eq!(SimImage::encoded_len(header), Some(bytes.len()));
    let mut other = *header;
    other[8] = 9;
    assert_eq!(SimImage::encoded_len(&other), None);
    assert_eq!(SimImage::encoded_len(&[0; 20]), None);
}

#[test]
fn each_kind_of_invalid_bytes_has_its_own_error() {
    assert_eq!(SimImage::decode(b"\x7fELF and so on"), Err(ImageError::NotAnImage));
    assert_eq!(SimImage::decode(b""), Err(ImageError::NotAnImage));
    let bytes = image().encode();
    let mut newer = bytes.clone();
    newer[8] = 9;
    assert_eq!(SimImage::decode(&newer), Err(ImageError::Version { found: 9 }));
    for len in SimImage::HEADER_BYTES..bytes.len() {
        let error = SimImage::decode(&bytes[..len]).unwrap_err();
        assert!(matches!(error, ImageError::Damaged(_)), "{len} bytes: {error}");
    }
}

#[test]
fn an_image_of_an_invalid_kernel_is_rejected() {
    let mut broken = image();
    broken.kernel.tasks[0].body = BlockId::new(1000);
    let error = SimImage::decode(&broken.encode()).unwrap_err();
    assert!(matches!(error, ImageError::Invalid(_)), "{error}");
}

#[test]
fn decoding_damaged_images_does_not_panic() {
    let bytes = image().encode();
    for at in SimImage::HEADER_BYTES..bytes.len() {
        for value in [0, 1, 7, 0x7f, 0xff] {
            let mut damaged = bytes.clone();
            damaged[at] = value;
            if let Ok(image) = SimImage::decode(&damaged) {
                // Accepted kernels are usable.
                let _ = interp::Interpreter::new(&image.kernel);
                let _ = launch_analysis::LaunchAnalysis::new(&image.kernel);
                assert!(!image.kernel.to_string().is_empty());
            }
        }
    }
}

#[test]
fn the_hash_depends_on_the_content_only() {
    let kernel = image().kernel;
    assert_eq!(hash(&kernel), hash(&kernel.clone()));
    let mut regrouped = kernel.clone();
    regrouped.tasks[1].region_block = RegionBlockId::new(1);
    assert_ne!(hash(&kernel), hash(&regrouped), "group numbers count");
    let mut strict = kernel.clone();
    strict.options.strict = true;
    assert_ne!(hash(&kernel), hash(&strict));
}
