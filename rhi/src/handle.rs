//! Typed handles: the driver's own pointers and ordinals, told apart by type.
//!
//! A handle is a number. Copying one copies no ownership, and a handle that was destroyed must not
//! be used again; the [`Device`](crate::Device) methods say so where it matters.

use std::fmt;

macro_rules! handles {
    ($($(#[$doc:meta])* $name:ident, $text:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
        #[repr(transparent)]
        pub struct $name(pub u64);

        impl $name {
            /// The driver's value, as it would stand in a C variable of the handle's type.
            #[must_use]
            pub const fn raw(self) -> u64 {
                self.0
            }

            /// The driver's value as a pointer, for calls through a C signature.
            #[must_use]
            pub fn as_ptr<T>(self) -> *mut T {
                self.0 as usize as *mut T
            }

            /// The handle of a C pointer.
            #[must_use]
            pub fn from_ptr<T>(pointer: *mut T) -> Self {
                Self(pointer as usize as u64)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($text, ":{:#x}"), self.0)
            }
        }
    )*};
}

handles! {
    /// A stream. Zero is the default (legacy) stream, and on the CPU the only one.
    StreamHandle, "stream";
    /// An event. Always zero on the CPU, where every event is complete.
    EventHandle, "event";
    /// A loaded module.
    ModuleHandle, "module";
    /// A function of a loaded module; valid until the module is unloaded.
    FunctionHandle, "function";
    /// A graph under construction.
    GraphHandle, "graph";
    /// A node of a graph.
    GraphNodeHandle, "node";
    /// An instantiated graph.
    GraphExecHandle, "exec";
    /// An address in the device's memory.
    DevicePtr, "device";
}

impl StreamHandle {
    /// The device's default (legacy) stream.
    pub const DEFAULT: Self = Self(0);
}

impl DevicePtr {
    /// No address. Never returned by an allocation.
    pub const NULL: Self = Self(0);

    /// The address `bytes` further on.
    ///
    /// # Examples
    /// ```
    /// # use quadrants_rhi::DevicePtr;
    /// assert_eq!(DevicePtr(0x100).offset(16), DevicePtr(0x110));
    /// ```
    #[must_use]
    pub const fn offset(self, bytes: usize) -> Self {
        Self(self.0 + bytes as u64)
    }
}
