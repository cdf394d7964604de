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
    values: "../../docs/book/src/values.md";
    blocks: "../../docs/book/src/blocks.md";
    regions: "../../docs/book/src/regions.md";
    numerics: "../../docs/book/src/numerics.md";
    checks: "../../docs/book/src/checks.md";
    attributes: "../../docs/book/src/attributes.md";
    errors: "../../docs/book/src/errors.md";
    reference: "../../docs/book/src/reference.md";
}
