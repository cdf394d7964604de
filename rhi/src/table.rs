//! Driver function tables: one list of rows per driver, expanded into everything that needs it.
//!
//! A backend writes a macro that holds a row for each C function it calls, and hands it to
//! [`driver_table!`](crate::driver_table), which makes the table of function pointers, its loader, a
//! checked method for each row, and the list of symbols. So a function is named once, and a new one
//! is one new row.
//!
//! Functions are declared to return a [`Status`], not the enum of the C header: a newer driver may
//! return a code that the enum lacks, which a Rust enum must never hold.

use std::{
    error::Error as _,
    ffi::c_void,
    ops::Range,
    path::{Path, PathBuf},
};

use crate::{Error, Result};

/// A driver's result code. Zero is success in every driver this project knows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(transparent)]
pub struct Status(pub i32);

impl Status {
    /// The call succeeded.
    pub const SUCCESS: Self = Self(0);
}

/// A function that a table calls.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Symbol {
    /// The C name.
    pub name: &'static str,
    /// The driver version that introduced it, where the table does without it.
    pub optional_since: Option<&'static str>,
    /// What it is for.
    pub doc: &'static str,
}

/// Finds a function of a library by its C name.
pub type Resolve<'a> = dyn Fn(&str) -> Option<*const c_void> + 'a;

/// A driver library of this process.
///
/// It is never unloaded. Drivers start threads and register exit handlers of their own, so that no
/// owner in this process can know when the last use of the code is over.
#[derive(Debug)]
pub struct Library {
    name: String,
    library: &'static libloading::Library,
}

impl Library {
    /// Loads the first of `candidates` that can be loaded.
    ///
    /// # Errors
    /// [`Error::LibraryNotFound`] with everything that was tried.
    ///
    /// # Safety
    /// The libraries' initializers run: they must be the driver that they are named for.
    pub unsafe fn open<P: AsRef<Path>>(backend: &'static str, candidates: &[P]) -> Result<Self> {
        let mut reason = "no name was given".to_owned();
        for candidate in candidates {
            let path = candidate.as_ref();
            // SAFETY: the caller vouches for the library's initializers.
            match unsafe { libloading::Library::new(path.as_os_str()) } {
                Ok(library) => {
                    let name = path.display().to_string();
                    tracing::debug!(backend, library = %name, "driver library loaded");
                    return Ok(Self { name, library: Box::leak(Box::new(library)) });
                }
                // The loader's own words are the source of the error.
                Err(error) => {
                    reason = error.source().map_or_else(|| error.to_string(), |e| e.to_string());
                }
            }
        }
        let tried = candidates.iter().map(|c| c.as_ref().display().to_string()).collect();
        Err(Error::LibraryNotFound { backend, tried, reason })
    }

    /// The name that it was loaded by.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The file that a function's code was loaded from, without symbolic links; none where the system does not say.
    #[must_use]
    pub fn file_of(&self, symbol: &str) -> Option<PathBuf> {
        let address = self.resolve(symbol)?.addr();
        loaded_files().find(|(range, _)| range.contains(&address)).map(|(_, file)| file)
    }

    /// The address of a function, where the library has it.
    #[must_use]
    pub fn resolve(&self, symbol: &str) -> Option<*const c_void> {
        // SAFETY: the symbol is read as an address only; whoever calls it vouches for its type.
        let found = unsafe { self.library.get::<*const c_void>(symbol) }.ok()?;
        let address: *const c_void = *found;
        (!address.is_null()).then_some(address)
    }
}

/// The files that are mapped into this process, each with the addresses of a part of it. Linux alone tells.
pub fn loaded_files() -> impl Iterator<Item = (Range<usize>, PathBuf)> {
    let maps = std::fs::read("/proc/self/maps").unwrap_or_default();
    let maps = String::from_utf8_lossy(&maps).into_owned();
    let files: Vec<_> = maps
        .lines()
        .filter_map(|line| {
            // Range, rights, offset, device, inode, and a path that may have spaces.
            let file = &line[line.find('/')?..];
            let (from, to) = line.split_once(' ')?.0.split_once('-')?;
            let address = |hex| usize::from_str_radix(hex, 16).ok();
            Some((address(from)?..address(to)?, PathBuf::from(file)))
        })
        .collect();
    files.into_iter()
}

/// Logs a finished driver call at trace level. For the expansion of [`driver_table!`](crate::driver_table), whose library's
/// name is a `String`: as a `str`, its place and length would be loaded for each call that is not logged.
#[inline(always)]
pub fn trace_call(library: &String, symbol: &'static str, status: Status) {
    // Asked here, so that nothing is put together for nobody.
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

/// Makes a driver's table of a list of rows.
///
/// The list is a macro of the backend that calls the consumer it is given and passes the header on:
///
/// ```
/// use std::ffi::{c_int, c_uint};
/// use quadrants_rhi::{DriverError, DriverErrorKind, Error, table::Status};
///
/// macro_rules! toy_functions {
///     ([$($consumer:tt)*] $($header:tt)*) => {
///         $($consumer)*! { $($header)*
///             /// Initializes the driver.
///             init = "toyInit"(flags: c_uint), required;
///             /// Counts things.
///             count = "toyCount"(count: *mut c_int), optional("2.1");
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
/// // SAFETY: it takes any number.
/// assert!(unsafe { table.init(0) }.is_ok());
/// assert!(unsafe { table.init(7) }.is_err());
/// let mut n = 0;
/// // SAFETY: the function is missing, and nothing is called.
/// assert!(matches!(unsafe { table.count(&mut n) }, Err(Error::SymbolMissing { since: Some("2.1"), .. })));
/// assert_eq!(Table::SYMBOLS.len(), 2);
/// ```
///
/// A row is: doc line, Rust name, C symbol, arguments, and `required` or `optional(version)`. Every C
/// function returns a [`Status`](crate::table::Status). The expansion is
/// - a struct of function pointers, `Option`s where optional, in the field `functions`;
/// - `Table::load(library, resolve)`, which fails on the first required symbol that is missing;
/// - for each row an unsafe method that calls the function, logs it, and turns a bad status into an error
///   by the function `check`, which the header names;
/// - `Table::SYMBOLS`.
#[macro_export]
macro_rules! driver_table {
    (
        $(#[doc = $table_doc:literal])*
        $vis:vis struct $table:ident: $check:path;
        $(
            #[doc = $doc:literal]
            $name:ident = $symbol:literal($($arg:ident: $ty:ty),* $(,)?), $need:ident $(($since:literal))?;
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
                    name: $symbol,
                    optional_since: $crate::driver_table!(@since $need $(($since))?),
                    doc: $doc,
                },
            )*];

            /// Fills the table.
            ///
            /// # Errors
            /// `SymbolMissing` for the first required symbol that `resolve` does not give.
            ///
            /// # Safety
            /// What `resolve` gives is the C function of that name, callable as long as the process runs.
            $vis unsafe fn load(library: &str, resolve: &$crate::table::Resolve<'_>) -> $crate::Result<Self> {
                let functions = Functions {$(
                    $name: {
                        // SAFETY: a function pointer from the address of the function of that name, whose
                        // row states its C signature; the caller vouches for the address.
                        let found = resolve($symbol).map(|address| unsafe {
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

            /// The library that the functions are from.
            #[must_use]
            $vis fn library(&self) -> &str {
                &self.library
            }

            $(
                #[doc = $doc]
                ///
                /// # Errors
                /// What the driver returns, or `SymbolMissing`.
                ///
                /// # Safety
                /// What the C function asks for.
                #[inline]
                #[allow(clippy::too_many_arguments)] // as many as the C function has
                $vis unsafe fn $name(&self, $($arg: $ty),*) -> $crate::Result<()> {
                    let function = $crate::driver_table!(@get $need self, $name, $symbol $(, $since)?);
                    // SAFETY: the caller answers for the arguments, the loader for the signature.
                    let status = unsafe { function($($arg),*) };
                    $crate::table::trace_call(&self.library, $symbol, status);
                    if status == $crate::table::Status::SUCCESS {
                        Ok(())
                    } else {
                        Err($check(self, stringify!($name), $symbol, status))
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

    (@load required $found:ident, $library:ident, $symbol:literal) => {
        match $found {
            Some(function) => function,
            None => {
                return Err($crate::Error::SymbolMissing {
                    library: $library.to_owned(),
                    symbol: $symbol,
                    since: None,
                });
            }
        }
    };
    (@load optional $found:ident, $library:ident, $symbol:literal) => { $found };

    (@get required $self:ident, $name:ident, $symbol:literal) => { $self.functions.$name };
    (@get optional $self:ident, $name:ident, $symbol:literal, $since:literal) => {
        match $self.functions.$name {
            Some(function) => function,
            None => {
                return Err($crate::Error::SymbolMissing {
                    library: $self.library.clone(),
                    symbol: $symbol,
                    since: Some($since),
                });
            }
        }
    };
}
