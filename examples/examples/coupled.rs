//! Matter, smoke and a cloth, stepped concurrently: see the module `coupled` of this package.

fn main() -> std::process::ExitCode {
    quadrants_examples::coupled::main()
}
