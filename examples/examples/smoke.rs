//! Two jets of smoke in a closed box: see the module `smoke` of this package.

fn main() -> std::process::ExitCode {
    quadrants_examples::smoke::main()
}
