//! Guarantees: no memory is freed or reused, and no host read made, before the streams stamped on the buffer are done
//! with it; no other stream waits for either; slices, host arrays and tensors of other devices follow the same order.

mod concurrent_uploads;
mod deferred;
mod devices;
mod host_api;
mod host_arrays;
mod reuse;
mod slices;
mod stream_order;
mod view_copies;
mod view_order;
mod views;
mod writes;
