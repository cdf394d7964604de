//! Guarantees: `Hazards` reports, refuses or orders exactly the conflicting launches that nothing orders; the
//! simulator's race detector finds the same from the bytes that were touched.

pub(crate) mod policies;
pub(crate) mod race_detector;
