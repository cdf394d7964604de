//! Driver tables: the list of a driver's functions, loaded at run time.
//!
//! A backend writes a macro with one row per C function and passes it to [`driver_table!`](crate::driver_table), which
//! makes the table of function pointers, its loader, a checked method per row, and the list of symbols. Each function
//! is named once; to add a function, add a row.
//!
//! Functions return a [`Status`], not the enum of the C header: a newer driver may return a code that the enum lacks,
//! and a Rust enum with an invalid value is undefined behaviour.

use std::{
    error::Error as _,
    ffi::c_void,
    ops::Range,
    path::{Path, PathBuf},
};

use crate::{Error, Result};

/// A driver's result code. Zero is success in all supported drivers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(transparent)]
pub struct Status(pub i32);

impl Status {
    /// The code of a successful call.
    pub const SUCCESS: Self = Self(0);
}

/// A row of a driver table: a C function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Symbol {
    /// The Rust name of the row, by which errors name the operation.
    pub call: &'static str,
    /// The C name.
    pub name: &'static str,
    /// The driver version that introduced the function, if the table loads without it: `5.2`. If a later version
    /// removed it, also that one: `1.0, until 7.0`.
    pub optional_since: Option<&'static str>,
    /// The documentation of the row.
    pub doc: &'static str,
}

impl Symbol {
    /// Whether the driver of this major and minor version has the function.
    ///
    /// # Examples
    /// ```
    /// # use quadrants_rhi::table::Symbol;
    /// let row = Symbol { call: "f", name: "hipF", optional_since: Some("1.0, until 7.0"), doc: "" };
    /// assert!(row.is_in((1, 0)) && row.is_in((6, 4)));
    /// assert!(!row.is_in((0, 9)) && !row.is_in((7, 0)));
    /// ```
    #[must_use]
    pub fn is_in(&self, version: (u32, u32)) -> bool {
        let Some(text) = self.optional_since else { return true };
        let (since, until) = text.split_once(", until ").unwrap_or((text, ""));
        let number = |text: &str| -> Option<(u32, u32)> {
            let (major, minor) = text.split_once('.')?;
            Some((major.parse().ok()?, minor.parse().ok()?))
        };
        // The function of the simulator has no version.
        number(since).is_none_or(|since| since <= version)
            && number(until).is_none_or(|until| version < until)
    }
}

/// Looks up a function of a library by its C name.
pub type Resolve<'a> = dyn Fn(&str) -> Option<*const c_void> + 'a;

/// A loaded driver library.
///
/// It is never unloaded: drivers start threads and register exit handlers, so the process cannot know when the last use
/// of the code ends.
#[derive(Debug)]
pub struct Library {
    name: String,
    library: &'static libloading::Library,
}

impl Library {
    /// Loads the first of `candidates` that can be loaded.
    ///
    /// # Errors
    /// [`Error::LibraryNotFound`] with all candidates, and with `variable`, the environment variable that selects
    /// another library.
    ///
    /// # Safety
    /// The initializers of the libraries run. Each candidate must be the driver that its name states.
    pub unsafe fn open<P: AsRef<Path>>(
        backend: &'static str,
        candidates: &[P],
        variable: &'static str,
    ) -> Result<Self> {
        let mut reason = "no name was given".to_owned();
        for candidate in candidates {
            let path = candidate.as_ref();
            // SAFETY: the caller guarantees that the library is the driver, whose initializers may run.
            match unsafe { libloading::Library::new(path.as_os_str()) } {
                Ok(library) => {
                    let name = path.display().to_string();
                    tracing::debug!(backend, library = %name, "driver library loaded");
                    return Ok(Self { name, library: Box::leak(Box::new(library)) });
                }
                // The loader's message is the source of the error.
                Err(error) => {
                    reason = error.source().map_or_else(|| error.to_string(), |e| e.to_string());
                }
            }
        }
        let tried = candidates.iter().map(|c| c.as_ref().display().to_string()).collect();
        Err(Error::LibraryNotFound { backend, tried, reason, variable })
    }

    /// The name that the library was loaded by.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The file that contains a function's code, with symbolic links resolved. `None` if the system does not report it.
    #[must_use]
    pub fn file_of(&self, symbol: &str) -> Option<PathBuf> {
        let address = self.resolve(symbol)?.addr();
        loaded_files().find(|(range, _)| range.contains(&address)).map(|(_, file)| file)
    }

    /// The address of a function. `None` if the library does not export it.
    #[must_use]
    pub fn resolve(&self, symbol: &str) -> Option<*const c_void> {
        // SAFETY: the symbol is only read as an address; the caller of the function guarantees its type.
        let found = unsafe { self.library.get::<*const c_void>(symbol) }.ok()?;
        let address: *const c_void = *found;
        (!address.is_null()).then_some(address)
    }
}

/// The files that are mapped into this process, each with an address range. Empty on systems other than Linux.
pub fn loaded_files() -> impl Iterator<Item = (Range<usize>, PathBuf)> {
    let maps = std::fs::read("/proc/self/maps").unwrap_or_default();
    let maps = String::from_utf8_lossy(&maps).into_owned();
    let files: Vec<_> = maps
        .lines()
        .filter_map(|line| {
            // Columns: range, permissions, offset, device, inode, path. The path may contain spaces.
            let file = &line[line.find('/')?..];
            let (from, to) = line.split_once(' ')?.0.split_once('-')?;
            let address = |hex| usize::from_str_radix(hex, 16).ok();
            Some((address(from)?..address(to)?, PathBuf::from(file)))
        })
        .collect();
    files.into_iter()
}

/// Logs a finished driver call at trace level. Used by the expansion of [`driver_table!`](crate::driver_table).
///
/// `library` is a `&String`: with a `&str`, each call would load its address and length, also when nothing is logged.
#[inline(always)]
pub fn trace_call(library: &String, symbol: &'static str, status: Status) {
    // Checked here, so that no event is built unless it is logged.
    if tracing::level_filters::LevelFilter::current() == tracing::level_filters::LevelFilter::TRACE
    {
        trace(library, symbol, status);
    }
}

#[cold]
#[inline(never)]
fn trace(library: &String, symbol: &'static str, status: Status) {
    let library = &**library;
    tracing::trace!(target: "quadrants::driver", library, symbol, status = status.0);
}

/// Makes a driver table from a list of rows.
///
/// The list is a macro of the backend. It calls the given consumer macro and passes the header on:
///
/// ```
/// use std::ffi::{c_int, c_uint};
/// use quadrants_rhi::{DriverError, DriverErrorKind, Error, table::Status};
///
/// macro_rules! toy_functions {
///     ([$($consumer:tt)*] $($header:tt)*) => {
///         $($consumer)*! { $($header)*
///             /// Initializes the driver.
///             init = toyInit(flags: c_uint), required;
///             /// Counts things.
///             count = toyCount(count: *mut c_int), optional("2.1");
///         }
///     };
/// }
///
/// toy_functions! { [quadrants_rhi::driver_table]
///     /// The toy driver's functions.
///     pub(crate) struct Table: check;
/// }
///
/// fn check(_: &Table, call: &'static str, symbol: &'static str, status: Status) -> Error {
///     DriverError::new(call, symbol, status.0, "TOY", DriverErrorKind::Other).into()
/// }
///
/// extern "C" fn init(flags: c_uint) -> Status { Status(flags as i32) }
///
/// let resolve = |name: &str| (name == "toyInit").then_some(init as *const std::ffi::c_void);
/// // SAFETY: `init` has the signature of its row.
/// let table = unsafe { Table::load("linked in", &resolve) }.unwrap();
/// // SAFETY: every number is a valid argument.
/// assert!(unsafe { table.init(0) }.is_ok());
/// assert!(unsafe { table.init(7) }.is_err());
/// let mut n = 0;
/// // SAFETY: the function is missing, so nothing is called.
/// assert!(matches!(unsafe { table.count(&mut n) }, Err(Error::SymbolMissing { since: Some("2.1"), .. })));
/// assert_eq!(Table::SYMBOLS.len(), 2);
/// ```
///
/// A row has a doc line, a Rust name, a C symbol, arguments, and `required` or `optional(version)`. Every C function
/// returns a [`Status`]. The expansion is:
/// - the field `functions`, a struct of function pointers; those of optional rows are `Option`s;
/// - `Table::load(library, resolve)`, which fails with the first required symbol that is missing;
/// - one unsafe method per row, which calls the function, logs the call, and converts an error status to an error with
///   the function `check`, which the header names;
/// - `Table::SYMBOLS`, the list of rows.
#[macro_export]
macro_rules! driver_table {
    (
        $(#[doc = $table_doc:literal])*
        $vis:vis struct $table:ident: $check:path;
        $(
            #[doc = $doc:literal]
            $name:ident = $symbol:ident($($arg:ident: $ty:ty),* $(,)?), $need:ident $(($since:literal))?;
        )*
    ) => {
        $(#[doc = $table_doc])*
        $vis struct $table {
            library: String,
            $vis functions: Functions,
        }

        /// The table's function pointers.
        #[derive(Clone, Copy)]
        $vis struct Functions {
            $(
                #[doc = $doc]
                $vis $name: $crate::driver_table!(@type $need unsafe extern "C" fn($($ty),*) -> $crate::table::Status),
            )*
        }

        impl $table {
            /// Every function of the table, in the order of its rows.
            $vis const SYMBOLS: &'static [$crate::table::Symbol] = &[$(
                $crate::table::Symbol {
                    call: stringify!($name),
                    name: stringify!($symbol),
                    optional_since: $crate::driver_table!(@since $need $(($since))?),
                    doc: $doc,
                },
            )*];

            /// Loads all functions.
            ///
            /// # Errors
            /// `SymbolMissing` with the first required symbol that `resolve` does not find.
            ///
            /// # Safety
            /// `resolve` returns the C function of the given name, which stays callable until the process ends.
            $vis unsafe fn load(library: &str, resolve: &$crate::table::Resolve<'_>) -> $crate::Result<Self> {
                let functions = Functions {$(
                    $name: {
                        // SAFETY: the address is that of the function with this name, by the caller's guarantee, and
                        // the row states its C signature.
                        let found = resolve(stringify!($symbol)).map(|address| unsafe {
                            ::std::mem::transmute::<
                                *const ::std::ffi::c_void,
                                unsafe extern "C" fn($($ty),*) -> $crate::table::Status,
                            >(address)
                        });
                        $crate::driver_table!(@load $need found, library, $symbol)
                    },
                )*};
                Ok(Self { library: library.to_owned(), functions })
            }

            /// The name of the library that exports the functions.
            #[must_use]
            $vis fn library(&self) -> &str {
                &self.library
            }

            $(
                #[doc = $doc]
                ///
                /// # Errors
                /// The driver's error, or `SymbolMissing`.
                ///
                /// # Safety
                /// The conditions of the C function.
                #[inline]
                #[allow(clippy::too_many_arguments)] // the C function's own
                $vis unsafe fn $name(&self, $($arg: $ty),*) -> $crate::Result<()> {
                    let function = $crate::driver_table!(@get $need self, $name, $symbol $(, $since)?);
                    // SAFETY: the caller guarantees the arguments, and the caller of `load` the signature.
                    let status = unsafe { function($($arg),*) };
                    $crate::table::trace_call(&self.library, stringify!($symbol), status);
                    if status == $crate::table::Status::SUCCESS {
                        Ok(())
                    } else {
                        Err($check(self, stringify!($name), stringify!($symbol), status))
                    }
                }
            )*
        }

        impl ::std::fmt::Debug for $table {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.debug_struct(stringify!($table)).field("library", &self.library).finish_non_exhaustive()
            }
        }
    };

    (@type required $function:ty) => { $function };
    (@type optional $function:ty) => { Option<$function> };

    (@since required) => { None };
    (@since optional ($since:literal)) => { Some($since) };

    (@load required $found:ident, $library:ident, $symbol:ident) => {
        match $found {
            Some(function) => function,
            None => {
                return Err($crate::Error::SymbolMissing {
                    library: $library.to_owned(),
                    symbol: stringify!($symbol),
                    since: None,
                });
            }
        }
    };
    (@load optional $found:ident, $library:ident, $symbol:ident) => { $found };

    (@get required $self:ident, $name:ident, $symbol:ident) => { $self.functions.$name };
    (@get optional $self:ident, $name:ident, $symbol:ident, $since:literal) => {
        match $self.functions.$name {
            Some(function) => function,
            None => {
                return Err($crate::Error::SymbolMissing {
                    library: $self.library.clone(),
                    symbol: stringify!($symbol),
                    since: Some($since),
                });
            }
        }
    };
}
