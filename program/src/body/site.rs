//! Type sites: compares the types of expressions in a CPU body with the types that the IR has for them.
//!
//! The IR takes types from the type-inference copy of a function, in which rustc inferred them. rustc infers the types
//! of the CPU body separately. Each place at which the IR uses an inferred type is a *type site* with a number. The
//! copy fills a table with the identity of the type at each site. The body compares its own type with that entry at
//! compile time. So a program in which the two differ does not compile, whatever the reason.

use std::marker::PhantomData;

use quadrants_ir::{
    ScalarType,
    types::{ParamType, StructKind, Type},
};

use super::probe::{FuncResult, Probe};
use crate::value::{
    KernelValue,
    callable::HasMethod,
    identity::{Identity, TypePart},
};

/// The table of a function's type sites.
pub trait SiteTable {
    /// The identity of the type at each site, by number; 0 if the source states the type.
    const IDENTITIES: &'static [&'static Identity];
}

/// The table of a method, from its [`HasMethod`] implementation.
#[derive(Debug)]
pub struct MethodTable<T, const NAME: u64, By = ()>(PhantomData<(T, By)>);

impl<T: HasMethod<NAME, By>, const NAME: u64, By> SiteTable for MethodTable<T, NAME, By> {
    const IDENTITIES: &'static [&'static Identity] = T::IDENTITIES;
}

/// The type site of a call and the type of the called function: the first argument of emitted functions.
#[derive(Debug)]
pub struct CallSite<S, const IX: usize, F>(PhantomData<(S, F)>);

impl<S, const IX: usize, F> CallSite<S, IX, F> {
    /// The site of a call of this function.
    #[inline(always)]
    #[must_use]
    pub fn of(_function: F) -> Self {
        Self(PhantomData)
    }
}

/// Fails to compile if a type is not the one at a site.
///
/// # Panics
/// At compile time.
pub const fn check_site<S: SiteTable, const IX: usize>(identity: &'static Identity) {
    assert!(
        S::IDENTITIES[IX].is(identity),
        "rustc infers another type for an expression of this kernel or func where it type-checks the source than where \
         it compiles it for the CPU; write the type, such as `3_u64`"
    );
}

/// Checks that the type of a value is the one at a site, and returns the value.
#[inline(always)]
pub fn typed<T: KernelValue, S: SiteTable, const IX: usize>(value: T) -> T {
    const { check_site::<S, IX>(T::TYPE_IDENTITY) }
    value
}

/// Checks that the type of a value is the one at a site.
#[inline(always)]
pub fn seen<T: KernelValue, S: SiteTable, const IX: usize>(_value: &T) {
    const { check_site::<S, IX>(T::TYPE_IDENTITY) }
}

/// Whether kernels have the operators that compute with values of a type, or those that order them.
#[must_use]
pub const fn has_operators(ty: Type, orders: bool) -> bool {
    match ty {
        Type::Scalar(_) => true,
        Type::Struct(of) => matches!(of.kind, StructKind::Complex) && !orders,
        _ => !orders,
    }
}

/// The type of a parameter that is a value, or of the elements of a tensor.
#[must_use]
pub const fn value_of(param: ParamType) -> Type {
    match param {
        ParamType::Value(ty) | ParamType::Tensor { elem: ty, .. } => ty,
        ParamType::Struct { .. } => UNKNOWN,
    }
}

/// The type of a field; a number if there is no such field.
#[must_use]
pub const fn field_of(ty: Type, name: &str) -> Type {
    let (first, from_end) = name.split_at(1);
    if same_text(first, "-") {
        return match (ty, usize::from_str_radix(from_end, 10)) {
            (Type::Tuple(parts), Ok(by)) if 0 < by && by <= parts.len() => parts[parts.len() - by],
            (Type::Struct(of), Ok(by)) if 0 < by && by <= of.fields.len() => {
                of.fields[of.fields.len() - by].ty
            }
            (Type::Array(element, _), Ok(_)) => *element,
            _ => UNKNOWN,
        };
    }
    match ty {
        Type::Struct(of) => {
            let mut at = 0;
            while at < of.fields.len() {
                if same_text(of.fields[at].name, name) {
                    return of.fields[at].ty;
                }
                at += 1;
            }
            UNKNOWN
        }
        Type::Tuple(parts) => match usize::from_str_radix(name, 10) {
            Ok(at) if at < parts.len() => parts[at],
            _ => UNKNOWN,
        },
        _ => UNKNOWN,
    }
}

/// The type of an element of an array; a number for other types.
#[must_use]
pub const fn element_of(ty: Type) -> Type {
    match ty {
        Type::Array(element, _) => *element,
        _ => UNKNOWN,
    }
}

/// Accepted by all checks.
const UNKNOWN: Type = Type::Scalar(ScalarType::Bool);

const fn same_text(one: &str, other: &str) -> bool {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    let mut at = 0;
    while at < one.len() && at < other.len() && one[at] == other[at] {
        at += 1;
    }
    at == one.len() && at == other.len()
}

/// The identity of the type that a probe inferred.
#[must_use]
pub const fn identity_of<T: KernelValue>(_probe: &Probe<T>) -> &'static Identity {
    T::TYPE_IDENTITY
}

/// The identity of the types of an associated function's arguments and result.
pub(super) const fn signature<A: ArgumentTypes, R: FuncResult>() -> &'static Identity {
    const {
        &Identity {
            name: "function",
            parts: &[TypePart::Type(A::TYPE_IDENTITY), TypePart::Type(R::RESULT_IDENTITY)],
        }
    }
}

/// The arguments of a function as a tuple.
pub trait ArgumentTypes {
    /// The identity of their types.
    const TYPE_IDENTITY: &'static Identity;
}

macro_rules! arguments {
    ($($name:ident)*) => {
        impl<$($name: KernelValue),*> ArgumentTypes for ($($name,)*) {
            const TYPE_IDENTITY: &'static Identity =
                &Identity { name: "arguments", parts: &[$(TypePart::Type($name::TYPE_IDENTITY)),*] };
        }
    };
}

macro_rules! all_arguments {
    ($first:ident $($rest:ident)*) => {
        arguments!($first $($rest)*);
        all_arguments!($($rest)*);
    };
    () => { arguments!(); };
}

all_arguments!(A B C D E F G H I J K L M N O P Q R S T U V W X);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Matrix, Vector};

    #[test]
    fn types_with_equal_layout_have_different_identities() {
        let all = [
            usize::TYPE_IDENTITY,
            u64::TYPE_IDENTITY,
            <(u64,) as KernelValue>::TYPE_IDENTITY,
            <[u64; 1]>::TYPE_IDENTITY,
            <[u64; 2]>::TYPE_IDENTITY,
            <[[u64; 1]; 2]>::TYPE_IDENTITY,
            <[[u64; 2]; 1]>::TYPE_IDENTITY,
            <(u64, u64) as KernelValue>::TYPE_IDENTITY,
            <((u64,), u64) as KernelValue>::TYPE_IDENTITY,
            <Vector<u64, 2>>::TYPE_IDENTITY,
            <Matrix<u64, 1, 2>>::TYPE_IDENTITY,
            <Matrix<u64, 2, 1>>::TYPE_IDENTITY,
        ];
        for (at, one) in all.iter().enumerate() {
            assert!(all[..at].iter().all(|other| !other.is(one)) && one.is(one), "{at}");
        }
    }
}
