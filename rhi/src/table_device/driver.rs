//! [`table_driver!`](crate::table_driver): loads a driver library, and counts and opens its devices.

/// Expands to the functions `driver`, `driver_from_path`, `driver_from_symbols` and `symbols`, and to a
/// [`Driver`](crate::Driver) with the given name over a driver table.
///
/// The arguments are the name of the driver type, the table, the name of the backend, and what the library is. The
/// module has `LIBRARY_VARIABLE`, `NAMES` (of the library, the preferred first), `version_text`, `no_device`, which
/// separates that there is no device from other errors, and the methods `new` and `open_device` of the driver.
#[macro_export]
macro_rules! table_driver {
    ($driver:ident, $table:ident, $backend:expr, $what:literal) => {
        /// Loads the driver: the library in [`LIBRARY_VARIABLE`] if it is set, else
        #[doc = concat!("the system's newest ", $what, ".")]
        ///
        /// Repeated calls are cheap, because the system loads a library once.
        ///
        /// # Errors
        /// `LibraryNotFound`, `SymbolMissing`, `DriverTooOld`, or the error of the driver's initialization. A machine
        /// without a device is an error of `Driver::open`, not of this function.
        pub fn driver() -> $crate::Result<::std::sync::Arc<dyn $crate::Driver>> {
            match ::std::env::var_os(LIBRARY_VARIABLE).filter(|path| !path.is_empty()) {
                Some(path) => from_candidates(&[path]),
                None => from_candidates(&NAMES.iter().map(::std::ffi::OsString::from).collect::<Vec<_>>()),
            }
        }

        /// Loads the driver in the library at `path`.
        ///
        /// The library is trusted like a library on the system's search path: its initializers run, and its functions
        #[doc = concat!("are called with the signatures of ", $what, ".")]
        ///
        /// # Errors
        /// As for [`driver`].
        pub fn driver_from_path(path: &::std::path::Path) -> $crate::Result<::std::sync::Arc<dyn $crate::Driver>> {
            from_candidates(&[::std::ffi::OsString::from(path)])
        }

        /// Makes a driver of functions that `resolve` finds by name, for a driver that is linked into this program.
        ///
        /// # Errors
        /// As for [`driver`], except `LibraryNotFound`.
        ///
        /// # Safety
        #[doc = concat!("`resolve` returns the C function of that name of ", $what, ", or a function with the same")]
        /// behaviour. It stays callable until the process ends.
        pub unsafe fn driver_from_symbols(
            library_name: &str,
            resolve: impl Fn(&str) -> Option<*const ::std::ffi::c_void>,
        ) -> $crate::Result<::std::sync::Arc<dyn $crate::Driver>> {
            // SAFETY: the caller guarantees the conditions.
            let table = unsafe { $table::load(library_name, &resolve) }?;
            Ok(::std::sync::Arc::new($driver::new(::std::sync::Arc::new(table))?))
        }

        /// The rows of the driver table: all functions that this crate loads. For replacements of the driver.
        #[must_use]
        pub fn symbols() -> &'static [$crate::table::Symbol] {
            $table::SYMBOLS
        }

        fn from_candidates(
            candidates: &[::std::ffi::OsString],
        ) -> $crate::Result<::std::sync::Arc<dyn $crate::Driver>> {
            // SAFETY: these are the names of the driver, or a library that the user selected as the driver.
            let library =
                unsafe { $crate::table::Library::open($backend, candidates, LIBRARY_VARIABLE) }?;
            // SAFETY: the functions of the driver, which is never unloaded.
            unsafe { driver_from_symbols(library.name(), |symbol| library.resolve(symbol)) }
        }

        #[derive(Debug)]
        struct $driver {
            table: ::std::sync::Arc<$table>,
            version: ::std::ffi::c_int,
            /// The error of the initialization if there is no device.
            no_device: Option<$crate::DriverError>,
        }

        // SAFETY: devices of one ordinal share the device's primary context.
        unsafe impl $crate::Driver for $driver {
            fn backend(&self) -> &'static str {
                $backend
            }

            fn version(&self) -> String {
                version_text(self.version)
            }

            fn library(&self) -> Option<&str> {
                Some(self.table.library())
            }

            fn device_count(&self) -> $crate::Result<usize> {
                if self.no_device.is_some() {
                    return Ok(0);
                }
                let mut count = 0;
                // SAFETY: the driver is initialized and writes a number.
                match no_device(unsafe { self.table.device_count(&mut count) })? {
                    None => Ok(usize::try_from(count).unwrap_or(0)),
                    Some(_) => Ok(0),
                }
            }

            fn open(&self, ordinal: usize) -> $crate::Result<::std::sync::Arc<dyn $crate::Device>> {
                let (backend, count) = ($backend, self.device_count()?);
                if count == 0 {
                    return Err($crate::Error::NoDevice { backend, source: self.no_device.clone() });
                }
                if ordinal >= count {
                    return Err($crate::Error::DeviceOrdinal { backend, ordinal, count });
                }
                Ok(::std::sync::Arc::new(self.open_device(ordinal)?))
            }
        }
    };
}
