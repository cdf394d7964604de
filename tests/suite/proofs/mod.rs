//! Guarantees: an access without a bounds check is in bounds for all iterations of the launch, and iterations do not
//! race unless the author asserts it with `unsafe`.

mod attacks;
mod counters;
mod device_bounds;
mod forms;
mod index_width;
mod inspections;
mod interiors;
mod neighbours;
mod patterns;
mod races;
mod reasons;
mod soundness;
