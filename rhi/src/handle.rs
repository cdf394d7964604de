//! Typed handles: the driver's pointers and numbers, with one type per kind of object.
//!
//! A handle owns nothing: it is a copyable number. A handle of a destroyed object must not be used; see the
//! [handle rule](crate::device#the-handle-rule).

use std::{ffi::c_void, fmt};

macro_rules! handles {
    ($($(#[$doc:meta])* $name:ident, $text:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
        #[repr(transparent)]
        pub struct $name(pub u64);

        impl $name {
            /// The driver's value, as in a C variable of the handle's type.
            #[must_use]
            pub const fn raw(self) -> u64 {
                self.0
            }

            /// The driver's value as a pointer, for arguments of C functions.
            #[must_use]
            pub fn as_ptr<T>(self) -> *mut T {
                self.0 as usize as *mut T
            }

            /// Makes a handle of a C pointer.
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
    /// A stream. Zero is the default (legacy) stream, which is the only one on the CPU.
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
    /// The null address. Allocations never return it.
    pub const NULL: Self = Self(0);

    /// The address plus `bytes`.
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

// Drivers declare device addresses as numbers or as pointers.

impl From<DevicePtr> for u64 {
    fn from(address: DevicePtr) -> Self {
        address.0
    }
}

impl From<u64> for DevicePtr {
    fn from(address: u64) -> Self {
        Self(address)
    }
}

impl From<DevicePtr> for *mut c_void {
    fn from(address: DevicePtr) -> Self {
        address.as_ptr()
    }
}

impl From<*mut c_void> for DevicePtr {
    fn from(address: *mut c_void) -> Self {
        Self::from_ptr(address)
    }
}
