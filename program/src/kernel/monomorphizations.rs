//! Monomorphizations: a generic kernel with the types and constants of its calls.

use std::{any::TypeId, sync::OnceLock};

use crate::{body::Body, kernel::kernel_def::KernelDef};

/// The monomorphizations of a generic kernel so far: a list that only grows, so that a launch reads it without a lock.
/// Its length is limited by the program's source.
#[derive(Debug)]
pub struct Monomorphizations {
    first: Link,
}

type Link = OnceLock<Box<Instance>>;

#[derive(Debug)]
struct Instance {
    of: TypeId,
    def: KernelDef,
    next: Link,
}

impl Monomorphizations {
    /// An empty list.
    #[must_use]
    #[allow(clippy::new_without_default)] // only used for a `static`
    pub const fn new() -> Self {
        Self { first: OnceLock::new() }
    }

    /// The kernel of the instance with body `B`, added if it is missing.
    pub fn of<B: Body + 'static>(&'static self) -> &'static KernelDef {
        let of = TypeId::of::<B>();
        let mut link = &self.first;
        loop {
            let instance = link.get_or_init(|| {
                Box::new(Instance { of, def: KernelDef::of::<B>(), next: OnceLock::new() })
            });
            if instance.of == of {
                return &instance.def;
            }
            link = &instance.next;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        BoxError,
        body::{Cx, Level},
    };

    #[test]
    fn each_type_has_a_kernel_of_its_own_and_one_alone() {
        struct Instance<T>(T);
        // SAFETY: never launched.
        unsafe impl<T> Body for Instance<T> {
            const NAME: &'static str = "k";
            fn ir() -> Result<quadrants_ir::Kernel, BoxError> {
                Err("not made".into())
            }
            fn run<L: Level, const WIDE: usize>(_: &Cx<'_, L>) {}
        }
        static INSTANCES: Monomorphizations = Monomorphizations::new();
        let (a, b) = (INSTANCES.of::<Instance<f32>>(), INSTANCES.of::<Instance<f64>>());
        assert!(!std::ptr::eq(a, b));
        assert!(std::ptr::eq(a, INSTANCES.of::<Instance<f32>>()));
        assert!(std::ptr::eq(b, INSTANCES.of::<Instance<f64>>()));
    }
}
