//! Spheres under a sunny sky: see the module `path_tracer` of this package.

fn main() -> std::process::ExitCode {
    quadrants_examples::path_tracer::main()
}
