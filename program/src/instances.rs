//! The kernels that one generic kernel is, by the types and numbers that it is called with.

use std::{any::TypeId, sync::OnceLock};

use crate::def::KernelDef;

/// All instantiations of a generic kernel so far: a list that only grows, so that a launch reads it without a
/// lock. It is as long as the program's text makes it, which is short.
#[derive(Debug)]
pub struct Instances {
    first: Link,
}

type Link = OnceLock<Box<Instance>>;

#[derive(Debug)]
struct Instance {
    of: TypeId,
    def: KernelDef,
    next: Link,
}

impl Instances {
    /// None yet.
    #[must_use]
    #[allow(clippy::new_without_default)] // it stands in a `static` alone
    pub const fn new() -> Self {
        Self { first: OnceLock::new() }
    }

    /// The kernel of the instantiation that `T` stands for, made by `make` where there is none yet.
    pub fn of<T: 'static>(&'static self, make: impl Fn() -> KernelDef) -> &'static KernelDef {
        let of = TypeId::of::<T>();
        let mut link = &self.first;
        loop {
            let instance =
                link.get_or_init(|| Box::new(Instance { of, def: make(), next: OnceLock::new() }));
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

    #[test]
    fn each_type_has_a_kernel_of_its_own_and_one_alone() {
        static INSTANCES: Instances = Instances::new();
        let make = || KernelDef::new("k", || Err("not made".into()), None);
        let (a, b) = (INSTANCES.of::<f32>(make), INSTANCES.of::<f64>(make));
        assert!(!std::ptr::eq(a, b));
        assert!(std::ptr::eq(a, INSTANCES.of::<f32>(|| unreachable!("it is there"))));
        assert!(std::ptr::eq(b, INSTANCES.of::<f64>(|| unreachable!("it is there"))));
    }
}
