//! Matter, smoke and a cloth beside each other: see the module `coupled` of this package.

fn main() -> std::process::ExitCode {
    quadrants_examples::coupled::main()
}
