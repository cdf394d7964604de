//! The entry of every exported C function: counts the call, applies faults, finds the world by the rules of the
//! simulated driver, and catches panics.

use std::{
    ffi::c_int,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::atomic::{AtomicU32, Ordering},
};

use parking_lot::Mutex;

pub(crate) use crate::family::Family;
use crate::{
    activity,
    code::{Code, Result},
    context,
    fault::Action,
    handle::{HandleKind, Key, decode},
    state::WorldState,
    stream::StreamRef,
    worlds::{self, WorldGuard},
};

/// An exported function, for counting its calls.
#[derive(Debug)]
pub(crate) struct ExportedFunction {
    name: &'static str,
    /// Its index in [`NAMES`] plus one, or 0 before the first call.
    index: AtomicU32,
}

#[derive(Debug)]
pub(crate) struct ApiCall {
    pub(crate) family: Family,
    function: &'static ExportedFunction,
}

/// The reason why a call ends early.
#[derive(Debug)]
pub(crate) enum Stop {
    Code(Code),
    /// A fault makes the call return success and do nothing.
    Ignored,
}

/// The largest number of calls in a world's call log.
const MAX_LOGGED: usize = 1 << 16;

static NAMES: Mutex<Vec<&'static str>> = Mutex::new(Vec::new());

/// The functions called so far, in the order of their indices.
pub(crate) fn names() -> Vec<&'static str> {
    NAMES.lock().clone()
}

pub(crate) fn run(
    family: Family,
    function: &'static ExportedFunction,
    body: impl FnOnce(&ApiCall) -> Result<(), Stop>,
) -> c_int {
    let call = ApiCall::new(family, function);
    let _record = function.is_of_driver().then(|| activity::enter_call(family)).flatten();
    match catch_unwind(AssertUnwindSafe(|| body(&call))) {
        Ok(Ok(()) | Err(Stop::Ignored)) => 0,
        Ok(Err(Stop::Code(code))) => code.0,
        Err(_panic) => Code::UNKNOWN.0,
    }
}

impl ExportedFunction {
    pub(crate) const fn new(name: &'static str) -> Self {
        Self { name, index: AtomicU32::new(0) }
    }

    /// Whether it is a function of a driver, such as `cuInit` or `hipInit`, and not of the simulator or another
    /// library.
    fn is_of_driver(&self) -> bool {
        let rest = self.name.strip_prefix("cu").or_else(|| self.name.strip_prefix("hip"));
        rest.is_some_and(|rest| rest.starts_with(|first: char| first.is_ascii_uppercase()))
    }

    fn index(&self) -> usize {
        let index = self.index.load(Ordering::Relaxed);
        if index != 0 {
            return index as usize - 1;
        }
        let mut names = NAMES.lock();
        // Another thread may have added it since.
        let found = names.iter().position(|name| *name == self.name).unwrap_or_else(|| {
            names.push(self.name);
            names.len() - 1
        });
        self.index.store(found as u32 + 1, Ordering::Relaxed);
        found
    }
}

impl ApiCall {
    pub(crate) const fn new(family: Family, function: &'static ExportedFunction) -> Self {
        Self { family, function }
    }

    pub(crate) fn name(&self) -> &'static str {
        self.function.name
    }

    /// Enters a world. Returns an error if its context is lost.
    pub(crate) fn enter(&self, world: u16) -> Result<WorldGuard, Stop> {
        let mut state = self.enter_lost(world)?;
        state.check_lost()?;
        state.point();
        Ok(state)
    }

    /// Enters a world, even if its context is lost.
    pub(crate) fn enter_lost(&self, world: u16) -> Result<WorldGuard, Stop> {
        let mut state = worlds::lock(world)?;
        let index = self.function.index();
        if state.calls.len() <= index {
            state.calls.resize(index + 1, 0);
        }
        state.calls[index] += 1;
        state.call_count += 1;
        if state.call_log.len() < MAX_LOGGED {
            state.call_log.push(index as u32);
        }
        match state.faults.apply(self.function.name) {
            None => Ok(state),
            Some(Action::Fail(code)) => Err(Stop::Code(code)),
            Some(Action::Ignore) => Err(Stop::Ignored),
            Some(Action::Lose(code)) => {
                state.lose(code);
                Err(Stop::Code(code))
            }
        }
    }

    /// Enters the world of the current context or device.
    pub(crate) fn here(&self) -> Result<WorldGuard, Stop> {
        self.enter(self.current()?)
    }

    /// Enters the world of a handle, which may be another than the current one. There must be a current one.
    pub(crate) fn at(&self, kind: HandleKind, handle: usize) -> Result<(WorldGuard, Key), Stop> {
        self.current()?;
        let (world, key) = decode(kind, handle)?;
        Ok((self.enter(world)?, key))
    }

    /// Enters the world of a stream for a query or a wait. It may be another than the current one.
    pub(crate) fn at_stream(&self, handle: usize) -> Result<(WorldGuard, StreamRef), Stop> {
        let current = self.current()?;
        let (world, stream) = StreamRef::decode(handle)?;
        let state = self.enter(world.unwrap_or(current))?;
        state.stream(stream)?;
        Ok((state, stream))
    }

    /// Enters the world of a stream, to enqueue work. It must be the current one.
    pub(crate) fn on_stream(&self, handle: usize) -> Result<(WorldGuard, StreamRef), Stop> {
        let current = self.current()?;
        let (world, stream) = StreamRef::decode(handle)?;
        if world.is_some_and(|world| world != current) {
            return Err(Code::INVALID_HANDLE.into());
        }
        let state = self.enter(current)?;
        state.stream(stream)?;
        Ok((state, stream))
    }

    /// The key of a handle of the entered world. Handles of other worlds are an error.
    pub(crate) fn sibling(
        &self,
        state: &WorldState,
        kind: HandleKind,
        handle: usize,
    ) -> Result<Key> {
        match decode(kind, handle)? {
            (world, key) if world == state.ordinal => Ok(key),
            _ => Err(Code::INVALID_HANDLE),
        }
    }

    /// Makes a stream wait for an event, which may belong to another world.
    pub(crate) fn wait(
        &self,
        mut state: WorldGuard,
        stream: StreamRef,
        event: usize,
    ) -> Result<(), Stop> {
        let (world, key) = decode(HandleKind::Event, event)?;
        if world == state.ordinal {
            return Ok(state.wait(stream, key)?);
        }
        let ordinal = state.ordinal;
        // Two worlds are never locked at once.
        drop(state);
        let Some((remote, at)) = worlds::lock(world)?.latest_record(key)? else { return Ok(()) };
        state = worlds::lock(ordinal)?;
        Ok(state.wait_remote(stream, event as u64, remote, at)?)
    }

    fn current(&self) -> Result<u16> {
        match self.family {
            Family::Cuda => context::cuda_world(),
            Family::Hip => context::hip_device(),
        }
    }
}

impl From<Code> for Stop {
    fn from(code: Code) -> Self {
        Self::Code(code)
    }
}

/// Defines exported C functions and `ROWS`, their list. The names in brackets, each with its driver, are functions with
/// the same body. A body has access to its [`ApiCall`].
macro_rules! driver_functions {
    ($($(#[$meta:meta])* fn [$($family:ident $name:ident),+] $parameters:tt |$call:ident| $body:block)*) => {
        $($crate::entry::driver_function! {
            [$($family $name),+] { $(#[$meta])* } $parameters |$call| $body
        })*

        /// The functions of this module with their drivers and names.
        pub(crate) const ROWS: &[($crate::entry::Family, &str, *const ::std::ffi::c_void)] = &[
            $($((
                $crate::entry::Family::$family,
                stringify!($name),
                $name as *const ::std::ffi::c_void,
            )),+),*
        ];
    };
}

macro_rules! driver_function {
    ([$($family:ident $name:ident),+] $meta:tt $parameters:tt |$call:ident| $body:block) => {
        $($crate::entry::driver_function! { $family $name $meta $parameters |$call| $body })+
    };
    ($family:ident $name:ident { $(#[$meta:meta])* } ($($arg:ident: $ty:ty),* $(,)?) |$call:ident| $body:block) => {
        $(#[$meta])*
        ///
        /// # Safety
        /// The conditions of the C function of this name.
        #[unsafe(no_mangle)]
        #[allow(non_snake_case, clippy::too_many_arguments)] // the C function's own
        pub(crate) unsafe extern "C" fn $name($($arg: $ty),*) -> ::std::ffi::c_int {
            static FUNCTION: $crate::entry::ExportedFunction = $crate::entry::ExportedFunction::new(stringify!($name));
            $crate::entry::run(
                $crate::entry::Family::$family,
                &FUNCTION,
                |$call: &$crate::entry::ApiCall| -> ::std::result::Result<(), $crate::entry::Stop> {
                    $body
                    Ok(())
                },
            )
        }
    };
}

pub(crate) use {driver_function, driver_functions};
