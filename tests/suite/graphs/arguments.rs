//! The names by which arguments of a captured graph are replaced.

use quadrants as qd;
use quadrants::{Error, Result, Tensor, Vector};
use quadrants_tests::{TestBackend, on_all_backends};

#[derive(Clone, Copy, qd::KernelValue)]
struct Pace {
    dt: f32,
    dt_max: f32,
}

/// Some scalar names are prefixes of others.
#[qd::kernel]
fn limit(dt_max: f32, dt_: f32, dt: f32, x: &mut Tensor<f32, 1>) {
    for i in 0..x.len() {
        x[i] = dt * 100.0 + dt_ * 10.0 + dt_max;
    }
}

#[qd::kernel]
fn advance(dt_0: f32, dt: Vector<f32, 2>, dt_1: f32, x: &mut Tensor<f32, 1>) {
    for i in 0..x.len() {
        x[i] = dt[0] + dt[1] * 10.0 + dt_0 * 100.0 + dt_1 * 1000.0;
    }
}

#[qd::kernel]
fn paced(limit: Pace, limit_dt: f32, x: &mut Tensor<f32, 1>) {
    for i in 0..x.len() {
        x[i] = limit.dt + limit.dt_max * 10.0 + limit_dt * 100.0;
    }
}

#[on_all_backends]
fn an_argument_name_does_not_match_longer_names_with_the_same_prefix(
    backend: TestBackend,
) -> Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let program = &on.program;
    let mut x = program.zeros::<f32, 1>([3])?;
    let mut y = program.zeros::<f32, 1>([3])?;
    let mut graph = program.capture(|| {
        limit(3.0, 2.0, 1.0, &mut x).launch()?;
        advance(1.0, Vector([2.0, 3.0]), 4.0, &mut y).launch()
    })?;

    graph.with("limit.dt", 5.0f32).launch()?;
    assert_eq!((x.to_vec()?[0], y.to_vec()?[0]), (523.0, 4132.0));
    graph.with("limit.dt_", 5.0f32).launch()?;
    assert_eq!(x.to_vec()?[0], 153.0);
    graph.with("advance.dt", Vector([5.0f32, 6.0])).launch()?;
    assert_eq!((x.to_vec()?[0], y.to_vec()?[0]), (123.0, 4165.0));
    graph.with("dt_1", 5.0f32).with("dt_0", 6.0f32).launch()?;
    assert_eq!(y.to_vec()?[0], 5632.0);
    graph.with("advance.dt.1", 5.0f32).launch()?;
    assert_eq!(y.to_vec()?[0], 4152.0);

    // A scalar for one argument, a vector for the other.
    let both = graph.with("dt", 1.0f32).launch();
    assert!(matches!(both, Err(Error::Argument { .. })), "{both:?}");
    for name in [
        "d",
        "dt_m",
        "dt_2",
        "dt.2",
        "dt.x",
        "dt.",
        "dt[]",
        ".dt",
        "",
        ".",
        "limit",
        "limit.",
        "limit.d",
        "limit[].dt",
        "limit[0]dt",
        "limit[+0].dt",
        "limit[00].dt",
        "limit[ 0].dt",
        "limit[1].dt",
        "limit[0.dt",
        "limi.dt",
        "advance.dt_",
    ] {
        let refused = graph.with(name, 1.0f32).launch();
        assert!(matches!(refused, Err(Error::UnknownArgument { .. })), "{name}: {refused:?}");
    }
    Ok(())
}

#[on_all_backends]
fn every_listed_name_replaces_exactly_its_argument(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let program = &on.program;
    let mut x = program.zeros::<f32, 1>([3])?;
    let mut y = program.zeros::<f32, 1>([3])?;
    let pace = Pace { dt: 1.0, dt_max: 2.0 };
    let mut graph = program.capture(|| {
        limit(3.0, 2.0, 1.0, &mut x).launch()?;
        paced(pace, 3.0, &mut y).launch()
    })?;
    for (name, x_after, y_after) in [
        ("limit[0].dt_max", 129.0, 321.0),
        ("limit[0].dt_", 193.0, 321.0),
        // The kernel's parameter, and not the field of another parameter.
        ("limit.dt", 923.0, 321.0),
        ("limit[0].dt", 923.0, 321.0),
        ("paced.limit.dt", 123.0, 329.0),
        ("paced[0].limit.dt_max", 123.0, 391.0),
        ("limit_dt", 123.0, 921.0),
    ] {
        graph.with(name, 9.0f32).launch()?;
        assert_eq!((x.to_vec()?[0], y.to_vec()?[0]), (x_after, y_after), "{name}");
    }
    graph.with("paced.limit", Pace { dt: 4.0, dt_max: 5.0 }).launch()?;
    assert_eq!(y.to_vec()?[0], 354.0);
    let scalars: Vec<_> =
        graph.arguments().into_iter().filter(|name| !name.ends_with(".x")).collect();
    assert_eq!(scalars.len(), 6);
    for name in &scalars {
        graph.with(name, 9.0f32).launch()?;
    }
    Ok(())
}
