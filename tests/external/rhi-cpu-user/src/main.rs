//! Drives the host processor through its backend crate alone.

use quadrants_rhi_cpu::{
    driver,
    rhi::{Device, Error, StreamOptions},
};

fn main() -> Result<(), Error> {
    drive(&*driver()?.open(0)?)
}

/// Fills, copies and compares memory of a device.
fn drive(device: &dyn Device) -> Result<(), Error> {
    const BYTES: usize = 4096;
    let data: Vec<u8> = (0..BYTES).map(|n| (n % 251) as u8).collect();
    let mut back = vec![0u8; BYTES];
    let stream = device.create_stream(StreamOptions::default())?;
    let (first, second) = (device.alloc(BYTES)?, device.alloc(BYTES)?);
    // SAFETY: all memories have `BYTES` and live until the wait; what is created is destroyed once, after it.
    unsafe {
        device.copy_htod_async(first, data.as_ptr(), BYTES, stream)?;
        device.copy_dtod_async(second, first, BYTES, stream)?;
        device.copy_dtoh_async(back.as_mut_ptr(), second, BYTES, stream)?;
        device.stream_synchronize(stream)?;
        device.free(first)?;
        device.free(second)?;
        device.destroy_stream(stream)?;
    }
    assert_eq!(back, data, "the bytes came back changed");
    println!("{} ({}): {BYTES} bytes went and came back", device.info().name, device.info().arch);
    Ok(())
}
