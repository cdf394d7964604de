//! A heat equation or a fluid on several devices: see the module `halo` of this package.

fn main() -> std::process::ExitCode {
    quadrants_examples::halo::main()
}
