//! [`run_time_compiler!`](crate::run_time_compiler): what NVRTC and hipRTC share, whose functions differ only in names.

/// Expands to the search for the library of a run-time compiler and to the compilation of a text with it.
///
/// The arguments are the type of the loaded library, its driver table, the library's name, the prefix of the names of
/// its result codes, and the extension of its source files. The type has a field `table`, the method `identity()` and
/// the function `open(path)`; the table has the rows `create`, `destroy`, `compile`, `log_size` and `log`. The module
/// has a constant `SEARCH`, and its crate depends on `quadrants-rhi` and `tracing`.
#[doc(hidden)]
#[macro_export]
macro_rules! run_time_compiler {
    ($compiler:ident, $table:ident, $name:literal, $codes:literal, $extension:literal) => {
        /// A program; destroyed on drop.
        struct ProgramHandle<'a> {
            table: &'a $table,
            raw: *mut ::std::ffi::c_void,
        }

        impl $compiler {
            /// Returns the compiler. The first successful call loads it for the process.
            pub(super) fn get() -> $crate::Result<&'static Self> {
                use ::std::sync::{Mutex, PoisonError};
                static LOADED: Mutex<Option<&'static $compiler>> = Mutex::new(None);
                let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
                if let Some(compiler) = *loaded {
                    return Ok(compiler);
                }
                let found = Self::find(&|name| ::std::env::var_os(name))?;
                let compiler: &'static Self = Box::leak(Box::new(found));
                *loaded = Some(compiler);
                Ok(compiler)
            }

            /// The library that [`get`](Self::get) would try first in the process's environment, if that is a file.
            pub(super) fn library() -> Option<::std::path::PathBuf> {
                SEARCH.first(&|name| ::std::env::var_os(name))
            }

            /// Loads the first existing library of the candidates in `env` that has the compiler's functions.
            pub(super) fn find(env: &$crate::search::Environment<'_>) -> $crate::Result<Self> {
                let search_paths = SEARCH.search_paths(env);
                let mut searched = search_paths.failures;
                let mut unusable = None;
                for path in &search_paths.candidates {
                    match Self::open(path) {
                        Err(quadrants_rhi::Error::LibraryNotFound { reason, .. }) => {
                            searched.push(reason);
                        }
                        Err(error) => unusable = unusable.or(Some(error)),
                        Ok(found) => {
                            let (library, identity) = (path.display(), found.identity());
                            tracing::debug!(%library, %identity, "compiler loaded");
                            return Ok(found);
                        }
                    }
                }
                match unusable {
                    Some(error) => Err(translate(error)),
                    None => Err($crate::Error::CompilerNotFound { compiler: $name, searched }),
                }
            }

            /// Compiles a text. `read_image` reads the image of the compiled program. Returns the image and the
            /// compiler's messages.
            fn compile_text(
                &self,
                kernel: &str,
                text: &str,
                options: impl Iterator<Item = impl Into<Vec<u8>>>,
                read_image: impl FnOnce(&ProgramHandle<'_>) -> quadrants_rhi::Result<Vec<u8>>,
            ) -> $crate::Result<(Vec<u8>, String)> {
                use ::std::ffi::{CString, c_char, c_int};
                let texts: Vec<CString> =
                    options.filter_map(|option| CString::new(option).ok()).collect();
                let options: Vec<*const c_char> = texts.iter().map(|text| text.as_ptr()).collect();
                let program = self.program(kernel, text)?;
                let (count, options) = (texts.len() as c_int, options.as_ptr());
                // SAFETY: the program is valid, and `options` has the given number of C strings.
                let status = unsafe { self.table.compile(program.raw, count, options) };
                let log = program.log().unwrap_or_default();
                match status {
                    Ok(()) => Ok((read_image(&program).map_err(translate)?, log)),
                    Err(quadrants_rhi::Error::Driver(error)) if error.code == COMPILATION => {
                        Err($crate::Error::Rejected {
                            compiler: $name,
                            kernel: kernel.to_owned(),
                            log,
                            text: text.to_owned(),
                        })
                    }
                    Err(error) => Err(match translate(error) {
                        $crate::Error::Call { symbol, code, name, .. } => {
                            $crate::Error::Call { symbol, code, name, log }
                        }
                        error => error,
                    }),
                }
            }

            fn program(&self, kernel: &str, text: &str) -> $crate::Result<ProgramHandle<'_>> {
                use ::std::{ffi::CString, ptr};
                let text = CString::new(text).unwrap_or_default();
                let name = CString::new(format!("{kernel}.{}", $extension)).unwrap_or_default();
                let (text, name, mut raw) = (text.as_ptr(), name.as_ptr(), ptr::null_mut());
                // SAFETY: both are C strings, which it copies; there are no headers.
                unsafe { self.table.create(&mut raw, text, name, 0, ptr::null(), ptr::null()) }
                    .map_err(translate)?;
                Ok(ProgramHandle { table: &self.table, raw })
            }
        }

        impl ProgramHandle<'_> {
            fn log(&self) -> quadrants_rhi::Result<String> {
                let mut bytes = 0;
                // SAFETY: the program is valid.
                unsafe { self.table.log_size(self.raw, &mut bytes) }?;
                // One more byte, because versions of hipRTC differ on whether the size includes the zero byte.
                let mut log = vec![0u8; bytes + 1];
                // SAFETY: the buffer has the size that it returned.
                unsafe { self.table.log(self.raw, log.as_mut_ptr().cast()) }?;
                Ok(String::from_utf8_lossy(&log).trim_end_matches('\0').trim().to_owned())
            }
        }

        impl Drop for ProgramHandle<'_> {
            fn drop(&mut self) {
                // SAFETY: the program is valid, and nothing uses it afterwards. A failure has no consequence, and the
                // call is traced.
                let _ = unsafe { self.table.destroy(&mut self.raw) };
            }
        }

        /// The result code for a rejected text.
        const COMPILATION: i32 = 6;

        fn check(
            _: &$table,
            call: &'static str,
            symbol: &'static str,
            status: quadrants_rhi::table::Status,
        ) -> quadrants_rhi::Error {
            let name = match status.0 {
                1 => concat!($codes, "_OUT_OF_MEMORY"),
                2 => concat!($codes, "_PROGRAM_CREATION_FAILURE"),
                3 => concat!($codes, "_INVALID_INPUT"),
                4 => concat!($codes, "_INVALID_PROGRAM"),
                5 => concat!($codes, "_INVALID_OPTION"),
                COMPILATION => concat!($codes, "_COMPILATION"),
                7 => concat!($codes, "_BUILTIN_OPERATION_FAILURE"),
                11 => concat!($codes, "_INTERNAL_ERROR"),
                _ => concat!("an error of ", $name),
            };
            let kind = quadrants_rhi::DriverErrorKind::Other;
            quadrants_rhi::DriverError::new(call, symbol, status.0, name, kind).into()
        }

        /// Converts the table's errors to compiler errors.
        fn translate(error: quadrants_rhi::Error) -> $crate::Error {
            match error {
                quadrants_rhi::Error::SymbolMissing { library, symbol, .. } => {
                    $crate::Error::MissingSymbol { compiler: $name, library, symbol }
                }
                quadrants_rhi::Error::Driver(error) => $crate::Error::Call {
                    symbol: error.symbol,
                    code: error.code,
                    name: error.name,
                    log: String::new(),
                },
                error => $crate::Error::CompilerNotFound {
                    compiler: $name,
                    searched: vec![error.to_string()],
                },
            }
        }
    };
}
