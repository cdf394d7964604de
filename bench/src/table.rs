//! Functions of a C library, resolved when it is loaded.

/// A struct of a library's functions by their signatures, each of which returns a code.
macro_rules! functions {
    ($(#[$doc:meta])* $struct:ident: $($name:ident = $symbol:literal ($($arg:ty),*);)*) => {
        $(#[$doc])*
        pub struct $struct {
            $(pub(crate) $name: unsafe extern "C" fn($($arg),*) -> ::std::ffi::c_int,)*
            _library: ::libloading::Library,
        }

        impl $struct {
            /// # Safety
            /// The library has these functions, by these signatures.
            unsafe fn resolve(library: ::libloading::Library) -> Self {
                // SAFETY: the caller's.
                unsafe {
                    Self { $($name: *library.get($symbol).expect($symbol),)* _library: library }
                }
            }
        }
    };
}

pub(crate) use functions;
