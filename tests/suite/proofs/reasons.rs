//! Refused launches say what prevented the proof, in the author's names.

use quadrants::{self as qd, Arch, Error, Program, Result, Tensor};

/// The text of the race for which a launch is refused.
#[track_caller]
fn refused(launched: Result<()>) -> String {
    let Err(error @ Error::Race { .. }) = launched else { panic!("{launched:?}") };
    error.to_string()
}

#[track_caller]
fn says(text: &str, parts: &[&str]) {
    assert!(parts.iter().all(|part| text.contains(part)), "{text}");
}

#[qd::kernel]
fn per_cell(cell: &Tensor<u32, 1>, count: &mut Tensor<u32, 1>, list: &mut Tensor<u32, 2>) {
    for i in 0..cell.len() {
        let c = cell[i] as usize;
        let at = qd::atomic_add(&mut count[c], 1) as usize;
        list[[c, at]] = i as u32;
    }
}

#[qd::func]
fn doubled(i: u32) -> u32 {
    i * 2
}

/// Through a func, so that it is decided at launch.
#[qd::kernel]
fn sorted(count: &mut Tensor<u32, 1>, list: &mut Tensor<u32, 1>) {
    for i in 0..list.len() {
        let c = doubled(i as u32) as usize;
        let at = qd::atomic_add(&mut count[c], 1);
        list[at as usize] = i as u32;
    }
}

#[qd::kernel]
fn red_black(red: bool, u: &mut Tensor<f32, 2>) {
    let [h, w] = u.shape();
    for (i, j) in qd::ndrange((1..h - 1, 1..w - 1)) {
        if ((i | j) & 1 == 0) == red {
            u[[i, j]] = u[[i - 1, j]] + u[[i + 1, j]];
        }
    }
}

#[qd::kernel]
fn wrapped_twice(s: usize, y: &mut Tensor<u32, 1>) {
    let n = y.len();
    for i in 0..n {
        let mut a = i * i + s;
        if a >= n {
            a -= n;
        }
        if a >= n {
            a -= n;
        }
        y[a] = 1;
    }
}

#[qd::kernel]
fn streamed(w: usize, f: &mut Tensor<u32, 2>) {
    for x in 0..w {
        let c = [0, 1, 7, 3, 2, 5, 6, 4, 9, 8, 11, 10, 12, 13, 14, 15, 17, 16, 19, 18];
        for q in 0..20 {
            f[[q, (x + c[q]) % w]] = 1;
        }
    }
}

#[qd::func]
fn grown(i: usize) -> usize {
    let mut far = i;
    while far < 100 {
        far = far * far + 1;
    }
    far
}

#[qd::kernel]
fn in_a_func(y: &mut Tensor<u32, 1>) {
    for i in 0..y.len() {
        y[grown(i)] = 1;
    }
}

const LANES_LINE: u32 = line!() + 5;
#[qd::kernel]
fn lanes(w: usize, y: &mut Tensor<u32, 1>) {
    qd::block_for(4, 32, |b| {
        b.each(|lane| {
            y[b.index() * w + lane] = 1;
        });
    });
}

#[test]
fn a_list_with_more_rows_than_counters() -> Result<()> {
    let program = Program::open(Arch::Cpu)?;
    let cell = program.tensor_from(&[0, 1], [2])?;
    let (mut count, mut list) = (program.zeros([2])?, program.zeros([3, 4])?);
    let text = refused(per_cell(&cell, &mut count, &mut list).launch());
    says(&text, &["`list` has 3 rows for 2 counters in `count`", "always gives 0; help: "]);
    let mut list = program.zeros([2, 4])?;
    per_cell(&cell, &mut count, &mut list).launch()
}

#[test]
fn tickets_of_several_counters() -> Result<()> {
    let program = Program::open(Arch::Cpu)?;
    let (mut count, mut list) = (program.zeros([20])?, program.zeros([20])?);
    let text = refused(sorted(&mut count, &mut list).launch());
    says(
        &text,
        &["on different counters in `count` returns (tickets) may be equal", "`atomic_exchange`"],
    );
    Ok(())
}

#[test]
fn operations_that_are_not_followed() -> Result<()> {
    let program = Program::open(Arch::Cpu)?;
    let mut u = program.zeros([16, 16])?;
    let text = refused(red_black(true, &mut u).launch());
    says(&text, &["a condition depends on a bit operation", "; help: "]);
    let mut y = program.zeros([16])?;
    let text = refused(wrapped_twice(3, &mut y).launch());
    says(&text, &["for example, `i` = "]);
    Ok(())
}

#[test]
fn values_that_are_not_known() -> Result<()> {
    let program = Program::open(Arch::Cpu)?;
    let text = refused(streamed(8, &mut program.zeros([20, 8])?).launch());
    says(&text, &["an element of the local array `c` (line "]);
    let text = refused(in_a_func(&mut program.zeros([16])?).launch());
    says(&text, &["an index depends on `far`, which changes in a loop"]);
    Ok(())
}

#[test]
fn the_names_are_those_of_the_author() -> Result<()> {
    let program = Program::open(Arch::Cpu)?;
    let mut y = program.zeros([128])?;
    let text = refused(lanes(8, &mut y).launch());
    let line = format!("its accesses in line {LANES_LINE} may");
    says(&text, &[&line, "`lane`) = (0, 8) and (1, 0) both access `y[8]`"]);
    assert!(!text.contains("thread"), "{text}");
    lanes(32, &mut y).launch()
}
