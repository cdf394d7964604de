//! Two galaxies that meet and merge: see the module `nbody` of this package.

fn main() -> std::process::ExitCode {
    quadrants_examples::nbody::main()
}
