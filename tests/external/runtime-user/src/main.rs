//! Orders two streams with the runtime on a device of a backend crate.

use quadrants_runtime::{Buffer, Context, Event, Result, Stream};
use quadrants_runtime::rhi::{EventOptions, StreamOptions};

fn main() -> Result<()> {
    let context = Context::new(quadrants_rhi_cpu::driver()?.open(0)?)?;
    let producer = Stream::new(&context, StreamOptions::default())?;
    let consumer = Stream::new(&context, StreamOptions::default())?;
    let (a, b) = (Buffer::from_bytes(&context, &[1, 2, 3, 4])?, Buffer::zeroed(&context, 4)?);

    let copied = Event::new(&context, EventOptions::default())?;
    // SAFETY: both buffers have 4 bytes, and are stamped below before any other use.
    let copy = unsafe {
        context.device().copy_dtod_async(b.address(), a.address(), 4, producer.handle())
    };
    let stamp = producer.next_stamp();
    a.stamp_read(stamp);
    b.stamp_write(stamp);
    context.observe(copy)?;
    copied.record(&producer)?;
    copied.wait(&consumer)?;              // the host does not wait

    let mut host = [0; 4];
    b.read(0, &mut host)?;                // waits for the producer, because it wrote `b`
    assert_eq!(host, [1, 2, 3, 4]);
    Ok(())
}
