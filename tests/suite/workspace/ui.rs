//! What rustc says about kernels that are wrong: one `.stderr` file per subject in `tests/ui`.
//!
//! After a change of the messages, `TRYBUILD=overwrite` writes the files anew; read what changed.

#[test]
fn messages() {
    trybuild::TestCases::new().compile_fail("ui/*.rs");
}
