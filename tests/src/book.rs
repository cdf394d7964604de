//! Runs the code of the book in `docs/book` as documentation tests. A test in `suite/workspace/book.rs` checks that all
//! pages are here.

macro_rules! pages {
    ($($name:ident: $path:literal;)*) => {$(
        #[doc = include_str!($path)]
        mod $name {}
    )*};
}

pages! {
    introduction: "../../docs/book/src/introduction.md";
    loops: "../../docs/book/src/loops.md";
    races: "../../docs/book/src/races.md";
    atomics: "../../docs/book/src/atomics.md";
    syntax: "../../docs/book/src/syntax.md";
    values: "../../docs/book/src/values.md";
    blocks: "../../docs/book/src/blocks.md";
    regions: "../../docs/book/src/regions.md";
    numerics: "../../docs/book/src/numerics.md";
    checks: "../../docs/book/src/checks.md";
    attributes: "../../docs/book/src/attributes.md";
    errors: "../../docs/book/src/errors.md";
    interop: "../../docs/book/src/interop.md";
    cudarc: "../../docs/book/src/cudarc.md";
    pytorch: "../../docs/book/src/pytorch.md";
    ndarray: "../../docs/book/src/ndarray.md";
    reference: "../../docs/book/src/reference.md";
    profiling: "../../docs/book/src/profiling.md";
    installation: "../../docs/book/src/installation.md";
    first_kernel: "../../docs/book/src/first-kernel.md";
    migration: "../../docs/book/src/migration.md";
    cookbook: "../../docs/book/src/cookbook.md";
    cookbook_algorithms: "../../docs/book/src/cookbook-algorithms.md";
    cookbook_simulations: "../../docs/book/src/cookbook-simulations.md";
    gallery: "../../docs/book/src/gallery.md";
    glossary: "../../docs/book/src/glossary.md";
    faq: "../../docs/book/src/faq.md";
    streams: "../../docs/book/src/streams.md";
    memory: "../../docs/book/src/memory.md";
    devices: "../../docs/book/src/devices.md";
    collectives: "../../docs/book/src/collectives.md";
    graphs: "../../docs/book/src/graphs.md";
    hazards: "../../docs/book/src/hazards.md";
    testing: "../../docs/book/src/testing.md";
    deployment: "../../docs/book/src/deployment.md";
    amd: "../../docs/book/src/amd.md";
    extending: "../../docs/book/src/extending.md";
    error_catalogue: "../../docs/book/src/error-catalogue.md";
    command: "../../docs/book/src/command.md";
}
