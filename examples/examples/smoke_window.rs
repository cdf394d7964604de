//! Smoke that the mouse stirs: see the module `smoke::live` of this package.

fn main() -> std::process::ExitCode {
    quadrants_examples::smoke::live::main()
}
