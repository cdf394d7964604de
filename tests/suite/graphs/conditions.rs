//! Loops under conditions of arguments that a replay replaces: the recorded launch may have run other loops.

use quadrants as qd;
use quadrants::{Result, Tensor};
use quadrants_tests::{TestBackend, on_all_backends};

#[qd::kernel]
fn modes(mode: u32, limit: f32, x: &mut Tensor<u32, 1>, y: &mut Tensor<u32, 1>) {
    if mode == 0 {
        return;
    }
    if mode % 2 == 1 {
        for i in 0..x.len() {
            x[i] += 1;
        }
        if limit > 2.0 {
            for i in 0..x.len() {
                x[i] += 10;
            }
        }
    } else {
        for i in 0..y.len() {
            y[i] += 100;
        }
        y[0] += 1;
    }
    if mode > 2 && x[0] > 3 {
        for i in 0..y.len() {
            y[i] += x[i];
        }
    }
}

fn on_host(mode: u32, limit: f32, x: &mut [u32], y: &mut [u32]) {
    if mode == 0 {
        return;
    }
    if mode % 2 == 1 {
        x.iter_mut().for_each(|x| *x += if limit > 2.0 { 11 } else { 1 });
    } else {
        y.iter_mut().for_each(|y| *y += 100);
        y[0] += 1;
    }
    if mode > 2 && x[0] > 3 {
        y.iter_mut().zip(x).for_each(|(y, x)| *y += *x);
    }
}

#[on_all_backends]
fn a_replay_decides_conditions_anew(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let replaced = [(0, 1.0), (1, 1.0), (2, 1.0), (3, 3.0), (4, 1.0), (0, 3.0), (3, 1.0), (1, 3.0)];
    for recorded in 0..5 {
        let mut x = on.program.zeros::<u32, 1>([3])?;
        let mut y = on.program.zeros::<u32, 1>([3])?;
        let mut expected = ([0; 3], [0; 3]);
        let mut graph = on.program.capture(|| modes(recorded, 1.0, &mut x, &mut y).launch())?;
        for (mode, limit) in replaced {
            graph.with("mode", mode).with("limit", limit).launch()?;
            graph.launch()?;
            on_host(mode, limit, &mut expected.0, &mut expected.1);
            on_host(recorded, 1.0, &mut expected.0, &mut expected.1);
            let found = (x.to_vec()?, y.to_vec()?);
            assert!(
                found.0 == expected.0 && found.1 == expected.1,
                "{recorded}, {mode}: {found:?}"
            );
        }
    }
    Ok(())
}
