//! Promise: every kernel means the same on every backend, namely what the same source means in plain Rust.
//!
//! [`source!`] makes one function both a kernel and a host function over
//! [`Array`]s; [`differential!`] runs both on the same data and compares everything written. On the CPU
//! this tests the CPU body, on the simulator the interpreter, on hardware the
//! compiled code.

/// The same functions in a kernel and on the host.
macro_rules! on_host_too {
    ($($(#[$attribute:meta])* fn $name:ident($($params:tt)*) -> $to:ty $body:block)*) => {
        #[allow(clippy::all, clippy::pedantic)] // code as people write it
        mod device {
            use super::*;
            $(#[qd::func] $(#[$attribute])* pub(super) fn $name($($params)*) -> $to $body)*
        }
        #[allow(clippy::all, clippy::pedantic)] // as above
        mod host {
            use super::*;
            $($(#[$attribute])* pub(super) fn $name($($params)*) -> $to $body)*
        }
    };
}

mod accumulators;
mod aggregates;
mod agreement;
mod ambiguous_syntax;
mod array;
mod atomics;
mod backends;
mod blocks;
mod builder;
mod calls;
mod casts;
mod closures;
mod collectives;
mod complex;
mod conditional;
mod distinct;
mod elements;
mod enums;
mod exits;
mod fields;
mod floats;
mod flow;
mod generics;
mod guards;
mod halves;
mod idioms;
mod inner_jumps;
mod jumps;
mod local_arrays;
mod loops;
mod match_expressions;
mod methods;
mod mismatch_regressions;
mod narrow;
mod ordering;
mod own_funcs;
mod patterns;
mod print;
mod random;
mod ranks;
mod reductions;
mod resolution;
mod results;
mod scalars;
mod scatters;
mod shared_extents;
mod shared_structs;
mod shorthand;
mod strips;
mod tensor_structs;
mod tensors;
mod top_level;
mod user_macros;

use array::{Array, Same, same};

/// A function `run` as `$name::device::run`, a kernel, and as `$name::host::run`, plain Rust.
macro_rules! source {
    ($name:ident; $($function:tt)*) => {
        mod $name {
            // Kernels index where plain Rust would iterate, and say things in more ways than one.
            #[allow(clippy::all, clippy::pedantic)]
            pub(super) mod device {
                #[allow(unused_imports)] // not every function needs all of them
                use super::super::*;
                #[allow(unused_imports)] // as above
                use quadrants::{self as qd, Tensor};

                #[qd::kernel]
                pub(crate) $($function)*
            }

            #[allow(clippy::all, clippy::pedantic)] // as above
            pub(super) mod host {
                #[allow(unused_imports)] // as above
                use super::super::*;
                #[allow(unused_imports)] // as above
                use crate::language::Array as Tensor;
                #[allow(unused_imports)] // as above
                use quadrants as qd;

                pub(crate) $($function)*
            }
        }
    };
}

/// Runs kernel and host function on the same data, and compares the value and all that is written:
/// scalars, then tensors read, then tensors written. `within` is a relative tolerance; without it
/// all bits are the same.
macro_rules! differential {
    ($program:expr, $name:ident [$($scalar:expr),*] [$($input:expr),*] [$($output:ident),*]) => {
        differential!($program, $name [$($scalar),*] [$($input),*] [$($output),*] within 0.0)
    };
    (
        $program:expr,
        $name:ident [$($scalar:expr),*] [$($input:expr),*] [$($output:ident),*] within $tolerance:expr
    ) => {{
        $(let mut $output = ($output.on($program)?, $output.clone());)*
        let found = $name::device::run(
            $($scalar,)* $(&$input.on($program)?,)* $(&mut $output.0,)*
        ).launch()?;
        let expected = $name::host::run($($scalar,)* $(&$input,)* $(&mut $output.1,)*);
        let what = stringify!($name);
        assert!(found.same(&expected, $tolerance), "{what}: {found:?}, not {expected:?}");
        $($crate::language::same(
            concat!(stringify!($name), ": ", stringify!($output)),
            &$output.0,
            &$output.1,
            $tolerance,
        )?;)*
    }};
}

pub(crate) use {differential, source};
