//! Fields whose names are keywords, and fields without scalars.

use quadrants::{self as qd, Layout, Result, Tensor, Vector};
use quadrants_tests::{TestBackend, on_all_backends};

#[derive(Clone, Copy, PartialEq, Debug, qd::KernelValue)]
struct Keywords {
    r#type: f32,
    r#match: Vector<f32, 2>,
    r#fn: (i32, bool),
}

#[derive(qd::Tensors)]
struct Raw<'a> {
    r#in: &'a Tensor<Keywords, 1>,
    r#mut: &'a mut Tensor<Keywords, 1>,
}

#[derive(Clone, Copy, PartialEq, Debug, qd::KernelValue)]
struct Nothing;

#[derive(Clone, Copy, PartialEq, Debug, qd::KernelValue)]
struct Hollow {
    before: [f32; 0],
    x: f32,
    nothing: Nothing,
    pairs: [(Nothing, [i32; 0]); 3],
    y: (Vector<f64, 0>, i32),
    behind: [Nothing; 2],
}

const fn hollow(x: f32, y: i32) -> Hollow {
    Hollow {
        before: [],
        x,
        nothing: Nothing,
        pairs: [(Nothing, []); 3],
        y: (Vector([]), y),
        behind: [Nothing; 2],
    }
}

#[qd::kernel]
fn raw(by: Keywords, scale: f32, all: &mut Raw<'_>) {
    for i in 0..all.r#in.len() {
        let mut got = all.r#in[i];
        got.r#type += by.r#type * scale;
        all.r#mut[i] = got;
        all.r#mut[i].r#match[1] = by.r#match[0];
        all.r#mut[i].r#fn.0 += by.r#fn.0;
    }
}

#[qd::kernel]
fn swapped(by: Hollow, from: &Tensor<Hollow, 1>, to: &mut Tensor<Hollow, 1>) {
    for i in 0..from.len() {
        let mut got = from[i];
        got.x += by.x;
        got.before = by.before;
        to[i] = got;
        to[i].y.1 = by.y.1 + from[i].y.1;
        to[i].nothing = by.nothing;
        to[i].y.0 = from[i].y.0;
    }
}

#[on_all_backends]
fn raw_keywords_may_name_fields(
    backend: TestBackend,
    #[values(Layout::ArrayOfStructs, Layout::StructOfArrays)] layout: Layout,
) -> Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let program = &on.program;
    let at = |x: f32| Keywords { r#type: x, r#match: Vector([x, x]), r#fn: (x as i32, true) };
    let from = program.tensor_with(&[at(1.0), at(2.0)], [2], layout)?;
    let mut to = program.zeros_with::<Keywords, 1>([2], layout)?;
    let mut graph =
        program.capture(|| raw(at(3.0), 2.0, &mut Raw { r#in: &from, r#mut: &mut to }).launch())?;
    graph.launch()?;
    let want = |x: f32, by: f32, times: f32| Keywords {
        r#type: x + by * times,
        r#match: Vector([x, by]),
        r#fn: (x as i32 + by as i32, true),
    };
    assert_eq!(to.to_vec()?, [want(1.0, 3.0, 2.0), want(2.0, 3.0, 2.0)]);
    let known = graph.arguments();
    assert!(known.iter().all(|name| !name.contains('#')), "{known:?}");
    for name in ["by.type", "raw.by.type", "raw[0].by.type"] {
        graph.with(name, 5.0f32).launch()?;
        assert_eq!(to.to_vec()?[0].r#type, 11.0);
        graph.launch()?;
    }
    graph.with("scale", 0.0f32).launch()?;
    assert_eq!(to.to_vec()?[0].r#type, 1.0);
    Ok(())
}

#[on_all_backends]
fn fields_without_scalars_are_allowed(
    backend: TestBackend,
    #[values(Layout::ArrayOfStructs, Layout::StructOfArrays)] layout: Layout,
) -> Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let program = &on.program;
    let from =
        program.tensor_with(&[hollow(1.0, 2), hollow(3.0, 4), hollow(5.0, 6)], [3], layout)?;
    let mut to = program.zeros_with::<Hollow, 1>([3], layout)?;
    swapped(hollow(10.0, 20), &from, &mut to).launch()?;
    assert_eq!(to.to_vec()?, [hollow(11.0, 22), hollow(13.0, 24), hollow(15.0, 26)]);
    Ok(())
}
