//! Jelly, snow and a liquid in a box: see the module `mpm` of this package.

fn main() -> std::process::ExitCode {
    quadrants_examples::mpm::main()
}
