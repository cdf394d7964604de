//! Cases about modules: rejected images and function lookup.

use quadrants_rhi::{DriverErrorKind, Error, Image, ImageKind, NativeImage};

use crate::{
    CaseFailure,
    Outcome::{Passed, Skipped},
    Subject,
    support::{Buffer, CaseResult, Loaded, ensure},
};

pub(crate) fn an_image_of_another_kind_is_unsupported(subject: &Subject) -> CaseResult {
    let device = &*subject.device;
    let images = [
        (ImageKind::Binary, Image::Binary(b"\x7fELF")),
        (ImageKind::Text, Image::Text("kernel void f() {}")),
        (ImageKind::Native, Image::Native(NativeImage::default())),
    ];
    for (kind, image) in images {
        if kind == device.capabilities().image {
            continue;
        }
        match device.load_module(&image) {
            Err(Error::Unsupported { .. }) => {}
            other => ensure!(false, "a {kind:?} image: {other:?}"),
        }
    }
    Ok(Passed)
}

pub(crate) fn a_broken_image_is_rejected(subject: &Subject) -> CaseResult {
    let device = &*subject.device;
    let images = match device.capabilities().image {
        ImageKind::Binary => vec![
            Image::Binary(b""),
            Image::Binary(b"this is no image"),
            Image::Binary(b"\x7fELF\x02\x01\x01 cut short"),
        ],
        ImageKind::Text => vec![Image::Text("this is not a kernel")],
        ImageKind::Native => return Ok(Skipped("a native image cannot be broken")),
    };
    for image in images {
        match device.load_module(&image) {
            Err(Error::ImageRejected { log, .. }) => ensure!(!log.is_empty(), "the log is empty"),
            other => ensure!(false, "{image:?}: {other:?}"),
        }
    }
    let after = Buffer::holding(device, &[1, 2, 3])?;
    ensure!(
        after.read(quadrants_rhi::StreamHandle::DEFAULT)? == [1, 2, 3],
        "the device does not work after an error"
    );
    Ok(Passed)
}

pub(crate) fn a_missing_function_is_not_found(subject: &Subject) -> CaseResult {
    let Some(kernel) = &subject.add else { return Ok(Skipped("no kernel for this device")) };
    let device = &*subject.device;
    let module = device.load_module(&kernel.image)?;
    // SAFETY: just loaded.
    let missing = unsafe { device.function(module, "there_is_no_such_function") };
    // SAFETY: none of its functions was launched.
    unsafe { device.unload_module(module) }?;
    match missing {
        Ok(function) => Err(CaseFailure::Contract(format!("found: {function:?}"))),
        Err(error) => {
            let kind = error.driver_error().map(|error| error.kind);
            ensure!(kind == Some(DriverErrorKind::NotFound), "another error: {error}");
            Ok(Passed)
        }
    }
}

pub(crate) fn a_module_can_be_loaded_again(subject: &Subject) -> CaseResult {
    let Some(kernel) = &subject.add else { return Ok(Skipped("no kernel for this device")) };
    let device = &*subject.device;
    let buffer = Buffer::holding(device, &[0; 400])?;
    let stream = quadrants_rhi::StreamHandle::DEFAULT;
    let first = Loaded::new(device, kernel)?;
    for _ in 0..3 {
        let module = Loaded::new(device, kernel)?;
        module.launch(&buffer, 1, stream)?;
    }
    first.launch(&buffer, 10, stream)?;
    buffer.expect_words(stream, 13)?;
    Ok(Passed)
}
