//! Loom's versions of the types in the modules `sync` of runtime and program.

use std::ops::{Deref, DerefMut};

use loom::sync;

pub(crate) use loom::sync::atomic::{AtomicU32, AtomicU64, fence};

#[derive(Debug, Default)]
pub(crate) struct Mutex<T>(sync::Mutex<T>);

pub(crate) struct MutexGuard<'a, T>(Option<sync::MutexGuard<'a, T>>);

#[derive(Debug)]
pub(crate) struct Condvar(sync::Condvar);

impl<T> Mutex<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(sync::Mutex::new(value))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
        MutexGuard(Some(self.0.lock().expect("no thread panics")))
    }

    pub(crate) fn get_mut(&mut self) -> &mut T {
        self.0.get_mut().expect("no thread panics")
    }
}

impl<T> Deref for MutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.0.as_ref().expect("only `wait` takes it")
    }
}

impl<T> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        self.0.as_mut().expect("only `wait` takes it")
    }
}

impl Condvar {
    pub(crate) fn new() -> Self {
        Self(sync::Condvar::new())
    }

    pub(crate) fn wait<T>(&self, guard: &mut MutexGuard<'_, T>) {
        if let Some(held) = guard.0.take() {
            guard.0 = Some(self.0.wait(held).expect("no thread panics"));
        }
    }

    pub(crate) fn notify_all(&self) {
        self.0.notify_all();
    }
}
