//! Promises: no memory is freed, and no host read made, before the streams stamped on the buffer are done with it; no
//! other stream waits for either; slices and host arrays follow the same order.

mod concurrent_uploads;
mod host_arrays;
mod slices;
mod stream_order;
