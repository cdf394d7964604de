//! `Launch::explain`: how a launch runs, and which accesses it could not prove.

use quadrants::{self as qd, Result, Tensor};
use quadrants_tests::{TestBackend, on_all_backends};

#[qd::kernel]
fn gather(index: &Tensor<u32, 1>, x: &mut Tensor<f32, 1>, y: &mut Tensor<f32, 1>) {
    for i in 0..x.len() {
        x[i] *= 2.0;
    }
    for i in 0..y.len() {
        y[i] = x[index[i] as usize];
    }
}

#[qd::kernel]
fn total(x: &Tensor<f32, 1>, shift: usize, sum: &mut Tensor<f32, 1>) {
    for i in 0..x.len() {
        qd::atomic_add(&mut sum[0], x[i + shift]);
    }
}

#[on_all_backends]
fn an_explanation_names_what_was_not_proven(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let prog = &on.program;
    let index = prog.zeros::<u32, 1>([8])?;
    let (mut x, mut y) = (prog.zeros::<f32, 1>([16])?, prog.zeros::<f32, 1>([8])?);
    let explanation = gather(&index, &mut x, &mut y).explain(prog)?;
    let [first, second] = &explanation.tasks[..] else { panic!("{explanation}") };
    assert!(!first.is_checked && first.unproven.is_empty(), "{explanation}");
    assert!(second.is_checked, "{explanation}");
    let [reason] = &second.unproven[..] else { panic!("{explanation}") };
    assert!(reason.contains("of `x` at line 12"), "{explanation}");
    let text = explanation.to_string();
    assert!(text.starts_with("kernel `gather`\n") && text.contains("explain.rs:8: loop"), "{text}");
    assert_eq!(first.grid.is_some(), backend != TestBackend::Cpu, "{text}");

    // The values that an index may have, where the launch knows them.
    let mut sum = prog.zeros::<f32, 1>([1])?;
    let all = total(&x, 0, &mut sum).explain(prog)?;
    assert!(!all.tasks[0].is_checked, "{all}");
    let shifted = total(&x, 3, &mut sum).explain(prog)?;
    assert!(
        shifted.tasks[0]
            .unproven
            .iter()
            .any(|reason| reason.contains("may be 3 to 18; the extent is 16")),
        "{shifted}"
    );
    if backend != TestBackend::Cpu {
        let reduced = |text: &qd::Explanation| {
            text.to_string().contains("reduction atomic_add<f32> into sum[0]")
        };
        assert!(reduced(&all) && reduced(&shifted), "{all}\n{shifted}");
    }
    // Nothing was launched.
    assert_eq!(sum.to_vec()?, [0.0]);
    Ok(())
}
