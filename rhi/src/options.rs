//! Options of streams and events.

/// Options of [`Device::create_stream`](crate::Device::create_stream).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct StreamOptions {
    /// The priority; lower numbers run first. Clamped to [`Capabilities::priorities`](crate::Capabilities::priorities).
    pub priority: i32,
}

/// Options of [`Device::create_event`](crate::Device::create_event).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct EventOptions {
    /// Whether [`Device::event_elapsed_ms`](crate::Device::event_elapsed_ms) can read the event. Recording is
    /// slightly slower with timing.
    pub timing: bool,
}
