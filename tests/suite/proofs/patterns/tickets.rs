//! Tickets: old values of atomic additions, which reserve elements.

use quadrants::{self as qd, Error, Result};
use quadrants_tests::{TestBackend, on_all_backends};

use super::{Bench, launch, patterns};

patterns! {
    /// A list per cell; the cell is read.
    kernel per_cell(cell: &Tensor<u32, 1>, count: &mut Tensor<u32, 1>, list: &mut Tensor<u32, 2>)
    [] for i in [0..cell.len()] {
        let c = cell[i] as usize;
        let at = qd::atomic_add(&mut count[c], 1) as usize;
        list[[c, at]] = i as u32 + 1;
    }

    /// A list per cell; the cell is computed.
    kernel per_residue(n: usize, m: usize, count: &mut Tensor<u32, 1>, list: &mut Tensor<u32, 2>)
    [] for i in [0..n] {
        let c = i % m;
        let at = qd::atomic_add(&mut count[c], 1) as usize;
        list[[c, at]] = i as u32 + 1;
    }

    kernel per_cell_of_a_plane(
        cell: &Tensor<u32, 1>,
        count: &mut Tensor<u32, 2>,
        list: &mut Tensor<u32, 3>
    )
    [] for i in [0..cell.len()] {
        let (a, b) = (cell[i] as usize % 2, cell[i] as usize / 2);
        let at = qd::atomic_add(&mut count[[a, b]], 1) as usize;
        list[[a, b, at]] = i as u32 + 1;
    }

    kernel per_cell_of_a_box(
        cell: &Tensor<u32, 1>,
        count: &mut Tensor<u32, 3>,
        list: &mut Tensor<u32, 4>
    )
    [] for i in [0..cell.len()] {
        let (a, b) = (cell[i] as usize % 2, cell[i] as usize / 2);
        let at = qd::atomic_add(&mut count[[b, a, 0]], 1) as usize;
        list[[b, a, 0, at]] = i as u32 + 1;
    }

    /// The cell of a point, whose coordinates are rounded in two places.
    kernel per_cell_of_a_point(
        place: &Tensor<u32, 1>,
        count: &mut Tensor<u32, 2>,
        list: &mut Tensor<u32, 3>
    )
    [] for i in [0..place.len()] {
        let v = [place[i] as f32 * 0.5, 2.0 - place[i] as f32 * 0.5];
        let at = qd::atomic_add(&mut count[[v[0].floor() as usize, v[1] as usize]], 1) as usize;
        list[[v[0].floor() as usize, v[1] as usize, at]] = i as u32 + 1;
    }

    /// As above, with an array of indices.
    kernel per_cell_of_an_array(
        place: &Tensor<u32, 1>,
        count: &mut Tensor<u32, 2>,
        list: &mut Tensor<u32, 3>
    )
    [] for i in [0..place.len()] {
        let c = [place[i] as f32 * 0.5, 2.0 - place[i] as f32 * 0.5].map(|x| x as usize);
        let at = qd::atomic_add(&mut count[c], 1) as usize;
        list[[c[0], c[1], at]] = i as u32 + 1;
    }

    /// A list per cell, of `most` elements each, one after the other in one dimension.
    kernel flat_list(most: usize, cell: &Tensor<u32, 1>, count: &mut Tensor<u32, 1>, list: &mut Tensor<u32, 1>)
    [] for i in [0..cell.len()] {
        let c = cell[i] as usize;
        let at = qd::atomic_add(&mut count[c], 1) as usize;
        if at < most {
            list[c * most + at] = (i / cell.len()) as u32 + 1;
        }
    }

    /// As above, with lists that are `more` elements too long.
    kernel too_long(most: usize, more: usize, cell: &Tensor<u32, 1>, count: &mut Tensor<u32, 1>, list: &mut Tensor<u32, 1>)
    [] for i in [0..cell.len()] {
        let c = (cell[i] % 2 + 2 * (cell[i] / 2)) as usize;
        let at = qd::atomic_add(&mut count[c], 1) as usize;
        if at >= most + more {
            continue;
        }
        list[most * c + at] = i as u32 + 1;
    }

    /// Between 0 and 3 elements per iteration.
    kernel few_elements(x: &Tensor<u32, 1>, count: &mut Tensor<u32, 1>, o: &mut Tensor<u32, 1>)
    [] for i in [0..x.len()] {
        let n = x[i] % 4;
        let first = qd::atomic_add(&mut count[0], n);
        for j in 0..n {
            o[(first + j) as usize] = i as u32 + 1;
        }
    }

    /// The amounts may overflow the counter.
    kernel any_number_of_elements(x: &Tensor<u32, 1>, count: &mut Tensor<u32, 1>, o: &mut Tensor<u32, 1>)
    [] for i in [0..x.len()] {
        let n = x[i];
        let first = qd::atomic_add(&mut count[0], n);
        for j in 0..n {
            o[(first + j) as usize] = i as u32 + 1;
        }
    }

    /// One element more than reserved, if `more` is 1.
    kernel more_than_reserved(more: u32, x: &Tensor<u32, 1>, count: &mut Tensor<u32, 1>, o: &mut Tensor<u32, 1>)
    [] for i in [0..x.len()] {
        let n = x[i] % 4;
        let first = qd::atomic_add(&mut count[0], n);
        for j in 0..n + more {
            o[(first + j) as usize] = i as u32 + 1;
        }
    }

    kernel pairs_of_elements(n: usize, amount: u32, count: &mut Tensor<u32, 1>, o: &mut Tensor<u32, 1>)
    [] for i in [0..n] {
        let at = qd::atomic_add(&mut count[0], amount) as usize;
        o[at] = i as u32 + 1;
        o[at + 1] = i as u32 + 1;
    }

    kernel named_counter(n: usize, m: usize, count: &mut Tensor<u32, 1>, o: &mut Tensor<u32, 1>)
    [] for i in [0..n] {
        let at = qd::atomic_add(&mut count[m], 1) as usize;
        o[at] = i as u32 + 1;
    }

    kernel compacted(x: &Tensor<u32, 1>, count: &mut Tensor<u32, 1>, o: &mut Tensor<u32, 1>)
    [] for i in [0..x.len()] {
        if x[i] > 3 {
            let at = qd::atomic_add(&mut count[0], 1) as usize;
            o[at] = x[i];
        }
    }

    kernel rows(n: usize, w: usize, count: &mut Tensor<u32, 1>, o: &mut Tensor<u32, 2>)
    [] for i in [0..n] {
        let at = qd::atomic_add(&mut count[0], 1) as usize;
        for j in 0..w {
            o[[at, j]] = i as u32 + 1;
        }
    }

    kernel flat_rows(n: usize, w: usize, length: usize, count: &mut Tensor<u32, 1>, o: &mut Tensor<u32, 1>)
    [] for i in [0..n] {
        let begin = qd::atomic_add(&mut count[0], 1) as usize * w;
        for k in begin..begin + length {
            o[k] = i as u32 + 1;
        }
    }

    kernel first_come(n: u32, m: u32, by: u32, count: &mut Tensor<u32, 1>, o: &mut Tensor<u32, 1>)
    [] for i in [0..n] {
        let ticket = qd::atomic_add(&mut count[0], by);
        if ticket == 0 && i * m == 0 {
            o[0] = i / n + 1;
        }
    }

    kernel only_below(n: usize, most: usize, count: &mut Tensor<u32, 1>, o: &mut Tensor<u32, 1>)
    [] for i in [0..n] {
        let at = qd::atomic_add(&mut count[0], 1) as usize;
        if at < most {
            o[at] = 1 + (i / n) as u32;
        }
    }

    kernel in_the_loop(n: usize, m: usize, count: &mut Tensor<u32, 1>, o: &mut Tensor<u32, 1>)
    [] for i in [0..n] {
        for _k in 0..m {
            let at = qd::atomic_add(&mut count[0], 1) as usize;
            o[at] = i as u32 + 1;
        }
    }

}

#[on_all_backends]
fn tickets_of_a_cell_reserve_elements_of_its_list(on: TestBackend) -> Result<()> {
    let Some(on) = on.open() else { return Ok(()) };
    let mut bench = Bench::new(on);
    bench.sorted = true;
    let cell = bench.tensor(&[0, 3, 1, 1, 2, 3, 3], [21])?;
    let (mut count, mut list) = (bench.zeros([4])?, bench.zeros([4, 22])?);
    launch!(bench, Accept, per_cell(; cell; count, list));
    for (n, m) in [(20, 4), (7, 1), (0, 3), (9, 2)] {
        launch!(bench, Accept, per_residue(n, m; ; count, list));
    }
    let (mut count, mut list) = (bench.zeros([2, 2])?, bench.zeros([2, 2, 22])?);
    launch!(bench, Accept, per_cell_of_a_plane(; cell; count, list));
    let (mut count, mut list) = (bench.zeros([2, 2, 1])?, bench.zeros([2, 2, 1, 22])?);
    launch!(bench, Accept, per_cell_of_a_box(; cell; count, list));
    let place = bench.tensor(&[1, 4, 3, 0, 2], [21])?;
    let (mut count, mut list) = (bench.zeros([3, 3])?, bench.zeros([3, 3, 22])?);
    launch!(bench, Accept, per_cell_of_a_point(; place; count, list));
    launch!(bench, Accept, per_cell_of_an_array(; place; count, list));
    let mut count = bench.zeros([4])?;
    for (most, len) in [(22, 88), (3, 12), (1, 4), (5, 20)] {
        let mut list = bench.zeros([len])?;
        launch!(bench, Accept, flat_list(most; cell; count, list));
    }
    // With three cells, all of it: the fourth one draws no tickets. With more elements, further cells could draw none.
    let mut list = bench.zeros([12])?;
    launch!(bench, Sound, flat_list(4; cell; count, list));
    launch!(bench, Collide, too_long(2, 1; cell; count, list));
    launch!(bench, Sound, too_long(3, 0; cell; count, list));
    let mut list = bench.zeros([16])?;
    launch!(bench, Refuse, flat_list(3; cell; count, list));
    assert!(bench.accepted >= 11);
    Ok(())
}

#[on_all_backends]
fn tickets_reserve_as_many_elements_as_were_added(on: TestBackend) -> Result<()> {
    let Some(on) = on.open() else { return Ok(()) };
    let mut bench = Bench::new(on);
    bench.sorted = true;
    let x = bench.tensor(&[2, 5, 0, 7, 1], [20])?;
    let (mut count, mut o) = (bench.zeros([3])?, bench.zeros([80])?);
    launch!(bench, Accept, few_elements(; x; count, o));
    launch!(bench, Sound, more_than_reserved(0; x; count, o));
    launch!(bench, Collide, more_than_reserved(1; x; count, o));
    launch!(bench, Refuse, any_number_of_elements(; x; count, o));
    launch!(bench, Accept, compacted(; x; count, o));
    for (n, amount) in [(30, 2), (20, 3), (1, 1), (1, 0)] {
        launch!(bench, Accept, pairs_of_elements(n, amount; ; count, o));
    }
    launch!(bench, Collide, pairs_of_elements(9, 1; ; count, o));
    launch!(bench, Collide, pairs_of_elements(2, 0; ; count, o));
    for m in 0..3 {
        launch!(bench, Accept, named_counter(9, m; ; count, o));
    }
    launch!(bench, Accept, in_the_loop(9, 7; ; count, o));
    for n in [0, 1, 2, 9] {
        for w in [0, 1, 2, 5] {
            for length in [0, 1, 2, 4, 5] {
                launch!(bench, Sound, flat_rows(n, w, length; ; count, o));
            }
            launch!(bench, Sound, only_below(n, w; ; count, o));
        }
    }
    launch!(bench, Sound, flat_rows(9, 4, 4; ; count, o));
    launch!(bench, Accept, only_below(9, 4; ; count, o));
    launch!(bench, Accept, first_come(9, 0, 1; ; count, o));
    launch!(bench, Collide, first_come(9, 0, 0; ; count, o));
    launch!(bench, Collide, first_come(3, 0, 1_u32 << 31; ; count, o));
    launch!(bench, Accept, first_come(2, 0, 1_u32 << 31; ; count, o));
    let mut o = bench.zeros([10, 4])?;
    launch!(bench, Accept, rows(9, 4; ; count, o));
    assert!(bench.accepted >= 60, "{} accepted, {} rejected", bench.accepted, bench.rejected);
    Ok(())
}

/// 64-bit counters take any 32-bit amounts.
#[qd::kernel]
fn wide_counter(
    x: &qd::Tensor<u32, 1>,
    count: &mut qd::Tensor<u64, 1>,
    o: &mut qd::Tensor<u32, 1>,
) {
    for i in 0..x.len() {
        let n = u64::from(x[i]);
        let first = qd::atomic_add(&mut count[0], n);
        for j in 0..n {
            o[(first + j) as usize] += 1;
        }
    }
}

#[on_all_backends]
fn tickets_need_a_counter_of_enough_bits_inside_its_tensor(on: TestBackend) -> Result<()> {
    let Some(on) = on.open() else { return Ok(()) };
    let x = on.program.tensor_from(&[3u32, 0, 5, 1], [4])?;
    let mut count = on.program.zeros::<u64, 1>([1])?;
    let mut o = on.program.zeros::<u32, 1>([9])?;
    wide_counter(&x, &mut count, &mut o).launch()?;
    assert_eq!((o.to_vec()?, count.to_vec()?), (vec![1; 9], vec![9]));
    // Outside of the tensor, every ticket is 0.
    let mut count = on.program.zeros::<u32, 1>([2])?;
    let launched = kernels::named_counter(2, 5, &mut count, &mut o).launch();
    assert!(matches!(launched, Err(Error::Race { .. })), "{launched:?}");
    Ok(())
}
