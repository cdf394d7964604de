//! A dam breaks: see the module `sph` of this package.

fn main() -> std::process::ExitCode {
    quadrants_examples::sph::main()
}
