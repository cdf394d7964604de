//! Finding and loading NCCL or RCCL.

use std::{
    collections::HashMap,
    env,
    ffi::{CStr, c_char, c_int, c_void},
    fmt,
    sync::Arc,
};

use parking_lot::Mutex;
use quadrants_program::{
    Program,
    codegen::search::{LIBRARIES, LibrarySearch},
    rhi::{
        CollectiveLibrary, Error as RhiError,
        table::{Library as SharedLibrary, Resolve, Status},
    },
};

use crate::{
    Result,
    error::Failure,
    library_mismatch::CPU,
    table::{IN_PROGRESS, RawCommunicator, Table, name_of},
};

/// The oldest supported version: the first with communicators that do not block.
const OLDEST: (i32, &str) = (21_400, "2.14");

type LastError = unsafe extern "C" fn(RawCommunicator) -> *const c_char;

/// A loaded NCCL or RCCL, or a simulator with the same functions. A clone is another handle.
#[derive(Clone)]
pub struct Library(Arc<Loaded>);

struct Loaded {
    table: Table,
    /// Since version 2.13.
    last_error: Option<LastError>,
    version: i32,
}

/// Whether a call has finished its work.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Progress {
    Complete,
    /// It goes on in a thread of the library.
    Pending,
}

/// The libraries of this process, by the variables that select them.
static LOADED: Mutex<Option<HashMap<&'static str, Library>>> = Mutex::new(None);

impl Library {
    /// Loads the library of a backend once per process: that in the environment variable, or else an installed one.
    pub(crate) fn load(backend: &'static str, names: &'static CollectiveLibrary) -> Result<Self> {
        let mut loaded = LOADED.lock();
        let loaded = loaded.get_or_insert_default();
        if let Some(library) = loaded.get(names.variable) {
            return Ok(library.clone());
        }
        let search = LibrarySearch {
            variable: names.variable,
            roots: names.roots,
            installations: names.installations,
            libraries: LIBRARIES,
            wheels: names.wheels,
            names: names.names,
        };
        let candidates = search.search_paths(&|name| env::var_os(name)).candidates;
        // SAFETY: each is the library by its name, or the user selected it as that.
        let library = unsafe { SharedLibrary::open(backend, &candidates, names.variable) }?;
        // SAFETY: the rows are the documented signatures, and the library stays loaded.
        let library = unsafe { Self::from_symbols(library.name(), |name| library.resolve(name)) }?;
        tracing::debug!(library = %library.0.table.library(), version = %library.version(), "loaded {}", names.name);
        loaded.insert(names.variable, library.clone());
        Ok(library)
    }

    /// A library whose functions `resolve` finds by name, such as one that is linked into this program.
    ///
    /// # Errors
    /// [`Error::Library`](crate::Error::Library): a function is missing, or the version is older than 2.14.
    ///
    /// # Safety
    /// `resolve` returns the C function of that name of NCCL or RCCL, or one with the same behaviour. It stays callable
    /// until the process ends.
    pub unsafe fn from_symbols(
        name: &str,
        resolve: impl Fn(&str) -> Option<*const c_void>,
    ) -> Result<Self> {
        let resolve: &Resolve<'_> = &resolve;
        // SAFETY: by the caller.
        let table = unsafe { Table::load(name, resolve) }?;
        let last_error = resolve("ncclGetLastError")
            // SAFETY: the documented signature of this function.
            .map(|address| unsafe { std::mem::transmute::<*const c_void, LastError>(address) });
        let mut version: c_int = 0;
        // SAFETY: it writes a number.
        unsafe { table.version(&mut version) }?;
        if version < OLDEST.0 {
            let (found, required) = (version_text(version), OLDEST.1);
            return Err(RhiError::DriverTooOld { backend: "NCCL or RCCL", found, required }.into());
        }
        Ok(Self(Arc::new(Loaded { table, last_error, version })))
    }

    /// The version: `2.28.3`.
    #[must_use]
    pub fn version(&self) -> String {
        version_text(self.0.version)
    }

    /// Whether both are one library.
    pub(crate) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    pub(crate) fn table(&self) -> &Table {
        &self.0.table
    }

    /// Calls a function that may go on in the background.
    pub(crate) fn progress(
        &self,
        call: impl FnOnce(&Table) -> Result<(), RhiError>,
    ) -> Result<Progress, RhiError> {
        match call(self.table()) {
            Ok(()) => Ok(Progress::Complete),
            Err(RhiError::Driver(error)) if error.code == IN_PROGRESS.0 => Ok(Progress::Pending),
            Err(error) => Err(error),
        }
    }

    /// The state of a communicator.
    ///
    /// # Safety
    /// The communicator is live, and no other thread uses it.
    pub(crate) unsafe fn state(&self, communicator: RawCommunicator) -> Result<Progress, Failure> {
        let mut status = Status::SUCCESS;
        // SAFETY: by the caller; it writes a status.
        let asked = unsafe { self.table().async_error(communicator, &mut status) };
        if let Err(error) = asked {
            return Err(Failure::Call { error, details: self.last_error() });
        }
        match status {
            Status::SUCCESS => Ok(Progress::Complete),
            IN_PROGRESS => Ok(Progress::Pending),
            other => Err(Failure::Async { name: name_of(other), details: self.last_error() }),
        }
    }

    /// What the library says of the last error of this thread; empty if nothing.
    pub(crate) fn last_error(&self) -> String {
        let Some(last_error) = self.0.last_error else { return String::new() };
        // SAFETY: a null communicator is allowed, and the result is a string that the library owns, or null. It is
        // copied before the next call on this thread.
        unsafe {
            let text = last_error(std::ptr::null_mut());
            if text.is_null() {
                String::new()
            } else {
                CStr::from_ptr(text).to_string_lossy().trim().to_owned()
            }
        }
    }
}

/// What ranks call the library of a program's device, to compare it with theirs.
pub(crate) fn library_name(program: &Program, library: Option<&Library>) -> String {
    let Some(library) = library else { return CPU.to_owned() };
    let name = program.device_info().collectives.map_or("a library", |names| names.name);
    format!("{name} {}", library.version())
}

/// 2.28.3 is 22803; before 2.9, the minor version had two digits fewer.
fn version_text(version: i32) -> String {
    match version {
        10_000.. => format!("{}.{}.{}", version / 10_000, version % 10_000 / 100, version % 100),
        _ => format!("{}.{}.{}", version / 1000, version % 1000 / 100, version % 100),
    }
}

impl fmt::Debug for Library {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Library")
            .field("name", &self.0.table.library())
            .field("version", &self.version())
            .finish()
    }
}
