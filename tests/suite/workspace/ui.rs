//! Compile errors of invalid kernels: one `.stderr` file per subject in `tests/ui`.
//!
//! After a change of the messages, `TRYBUILD=overwrite` rewrites the files; review the difference.

#[test]
fn compile_errors_have_the_recorded_messages() {
    trybuild::TestCases::new().compile_fail("ui/*.rs");
}
