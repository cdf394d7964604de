//! Uses the CPU device through its backend crate only.

use quadrants_rhi_cpu::{
    driver,
    rhi::{Device, Error, StreamOptions},
};

fn main() -> Result<(), Error> {
    round_trip(&*driver()?.open(0)?)
}

/// Copies bytes to the device, within it and back, and compares them.
fn round_trip(device: &dyn Device) -> Result<(), Error> {
    const BYTES: usize = 4096;
    let data: Vec<u8> = (0..BYTES).map(|n| (n % 251) as u8).collect();
    let mut back = vec![0u8; BYTES];
    let stream = device.create_stream(StreamOptions::default())?;
    let (first, second) = (device.alloc(BYTES)?, device.alloc(BYTES)?);
    // SAFETY: all buffers have `BYTES` and live until the wait; each object is destroyed once, after it.
    unsafe {
        device.copy_htod_async(first, data.as_ptr(), BYTES, stream)?;
        device.copy_dtod_async(second, first, BYTES, stream)?;
        device.copy_dtoh_async(back.as_mut_ptr(), second, BYTES, stream)?;
        device.stream_synchronize(stream)?;
        device.free(first)?;
        device.free(second)?;
        device.destroy_stream(stream)?;
    }
    assert_eq!(back, data, "the round trip changed the bytes");
    println!("{} ({}): {BYTES} bytes copied and compared", device.info().name, device.info().arch);
    Ok(())
}
