//! HIP's C types, as bindgen writes them. `cargo xtask bindgen` makes them again.

#[rustfmt::skip]
#[allow(
    missing_docs,
    non_camel_case_types,
    non_snake_case,
    non_upper_case_globals,
    unreachable_pub,
    dead_code,
    clippy::all,
    clippy::undocumented_unsafe_blocks
)]
pub(crate) mod hip;
