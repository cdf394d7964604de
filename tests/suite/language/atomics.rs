//! Atomics: their results and the old values that they return.

use quadrants::{self as qd, Tensor};
use quadrants_tests::{
    TestBackend::{self, Cpu},
    on_all_backends,
};

use super::{Array, Same, differential, source};

source! { histogram;
    fn run(
        x: &Tensor<i32, 1>,
        bins: &mut Tensor<u32, 1>,
        sums: &mut Tensor<f32, 2>,
        wide: &mut Tensor<u64, 1>,
        low: &mut Tensor<i32, 1>,
    ) {
        for i in 0..x.len() {
            let bin = (x[i] & 7) as usize;
            qd::atomic_add(&mut bins[bin], 1);
            qd::atomic_add(&mut sums[[bin, i % 2]], x[i] as f32);
            qd::atomic_add(&mut wide[0], 1 << 40);
            qd::atomic_add(&mut low[bin], -x[i]);
        }
    }
}

source! { extremes;
    fn run(
        x: &Tensor<i32, 1>,
        a: &mut Tensor<i32, 1>,
        b: &mut Tensor<u32, 1>,
        c: &mut Tensor<i64, 1>,
        d: &mut Tensor<u64, 1>,
    ) {
        for i in 0..x.len() {
            let v = x[i];
            qd::atomic_min(&mut a[0], v);
            qd::atomic_max(&mut a[1], v);
            qd::atomic_min(&mut b[0], v as u32);
            qd::atomic_max(&mut b[1], v as u32);
            qd::atomic_min(&mut c[0], v as i64 * 10_000_000_000);
            qd::atomic_max(&mut c[1], v as i64 * 10_000_000_000);
            qd::atomic_min(&mut d[0], v as u64);
            qd::atomic_max(&mut d[1], v as u64);
        }
    }
}

source! { bitwise;
    fn run(
        x: &Tensor<i32, 1>,
        a: &mut Tensor<i32, 1>,
        b: &mut Tensor<u32, 1>,
        c: &mut Tensor<i64, 1>,
        d: &mut Tensor<u64, 1>,
        flags: &mut Tensor<bool, 1>,
    ) {
        for i in 0..x.len() {
            let v = x[i];
            qd::atomic_or(&mut a[0], v);
            qd::atomic_and(&mut a[1 + i % 3], v | 0xff);
            qd::atomic_xor(&mut b[i % 2], v as u32);
            qd::atomic_or(&mut b[2], v as u32 & 0xf0f0);
            qd::atomic_and(&mut c[0], v as i64 * 10_000_000_000 | 15);
            qd::atomic_xor(&mut c[1], v as i64 * 10_000_000_000);
            qd::atomic_xor(&mut d[i % 4], v as u64);
            qd::atomic_or(&mut d[4], 1 << (v & 63));
            qd::atomic_or(&mut flags[0], v == 17);
            qd::atomic_and(&mut flags[1], v < 1000);
            // Neighbours in one word.
            qd::atomic_xor(&mut flags[2 + i % 7], v % 2 == 0);
            qd::atomic_or(&mut flags[9 + (v & 7) as usize], true);
        }
    }
}

// One thread, so that the old values are fixed.
source! { old_bits;
    fn run(a: &mut Tensor<u32, 1>, flags: &mut Tensor<bool, 1>, old: &mut Tensor<u32, 1>) {
        for _ in 0..1 {
            old[0] = qd::atomic_or(&mut a[0], 6);
            old[1] = qd::atomic_and(&mut a[0], 12);
            old[2] = qd::atomic_xor(&mut a[0], 5);
            old[3] = qd::atomic_or(&mut flags[2], true) as u32;
            old[4] = qd::atomic_or(&mut flags[2], false) as u32;
            old[5] = qd::atomic_xor(&mut flags[2], true) as u32;
            old[6] = qd::atomic_and(&mut flags[1], false) as u32;
        }
    }
}

// One thread, so that the old values are fixed.
source! { old_values;
    fn run(a: &mut Tensor<i32, 1>, b: &mut Tensor<f32, 1>, c: &mut Tensor<u64, 1>) {
        for _ in 0..1 {
            a[1] = qd::atomic_add(&mut a[0], 5);
            a[2] = qd::atomic_min(&mut a[0], 3) + qd::atomic_max(&mut a[0], 9) * 100;
            let before = qd::atomic_add(&mut b[0], 0.5);
            b[1] = before + qd::atomic_add(&mut b[0], -2.0) * 10.0;
            c[1] = qd::atomic_max(&mut c[0], 1 << 63);
            c[2] = qd::atomic_add(&mut c[0], 1 << 63);
            c[3] = qd::atomic_min(&mut c[0], 7);
            a[3] = a[0];
        }
        let old = qd::atomic_add(&mut a[0], 1);
        a[4] = old;
        let twice = a[0] * 2;
        qd::atomic_max(&mut a[4], twice);
    }
}

#[qd::kernel]
fn append(
    x: &Tensor<f32, 1>,
    count: &mut Tensor<u32, 1>,
    values: &mut Tensor<f32, 1>,
    from: &mut Tensor<usize, 1>,
) {
    for i in 0..x.len() {
        if x[i] > 0.5 {
            let at = qd::atomic_add(&mut count[0], 1) as usize;
            if at < values.len() {
                values[at] = x[i];
                from[at] = i;
            }
        }
    }
}

#[on_all_backends]
fn atomics_leave_the_results_of_plain_rust(backend: TestBackend) -> qd::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    // Enough that the CPU splits the loop among threads.
    let x: Vec<i32> = (0..60_000).map(|i| (i * 7919) % 1000 - 500).collect();
    let x = Array::of(if backend == Cpu { &x } else { &x[..5000] });
    let (bins, sums) = (Array::zeros([8]), Array::zeros([8, 2]));
    let (wide, low) = (Array::zeros([1]), Array::zeros([8]));
    differential!(&on.program, histogram [] [x] [bins, sums, wide, low]);
    let (a, b) = (Array::of(&[0, 0]), Array::of(&[u32::MAX, 0]));
    let (c, d) = (Array::of(&[i64::MAX, i64::MIN]), Array::of(&[u64::MAX, 0]));
    differential!(&on.program, extremes [] [x] [a, b, c, d]);
    let (a, b) = (Array::of(&[0, -1, -1, -1]), Array::of(&[0, 1, 2]));
    let (c, d) = (Array::of(&[-1, 0]), Array::of(&[0; 5]));
    let mut set = [false; 17];
    set[1] = true;
    let flags = Array::of(&set);
    differential!(&on.program, bitwise [] [x] [a, b, c, d, flags]);
    Ok(())
}

#[on_all_backends]
fn atomics_return_the_old_values(backend: TestBackend) -> qd::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let (a, b) = (Array::of(&[1, 0, 0, 0, 0]), Array::of(&[0.25, 0.0]));
    let c = Array::of(&[3, 0, 0, 0]);
    differential!(&on.program, old_values [] [] [a, b, c]);
    let (a, flags, old) =
        (Array::of(&[9]), Array::of(&[true, true, false, true]), Array::of(&[0; 7]));
    differential!(&on.program, old_bits [] [] [a, flags, old]);
    Ok(())
}

#[on_all_backends]
fn elements_appended_by_tickets_appear_exactly_once(
    backend: TestBackend,
    #[values(10_000, 100)] capacity: usize,
) -> qd::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let x: Vec<f32> = (0..20_000).map(|i| (i * 7919 % 1009) as f32 / 1009.0).collect();
    let expected: Vec<usize> = (0..x.len()).filter(|i| x[*i] > 0.5).collect();
    let input = on.program.tensor_from(&x, [x.len()])?;
    let mut count = on.program.zeros::<u32, 1>([1])?;
    let mut values = on.program.zeros::<f32, 1>([capacity])?;
    let mut from = on.program.zeros::<usize, 1>([capacity])?;
    append(&input, &mut count, &mut values, &mut from).launch()?;
    assert_eq!(count.to_vec()?, [expected.len() as u32]);
    let kept = expected.len().min(capacity);
    let (values, mut from) = (values.to_vec()?, from.to_vec()?);
    assert!(values[..kept].iter().zip(&from).all(|(value, from)| *value == x[*from]));
    from.truncate(kept);
    from.sort_unstable();
    from.dedup();
    assert_eq!(from.len(), kept);
    assert!(from.iter().all(|i| x[*i] > 0.5));
    if kept == expected.len() {
        assert_eq!(from, expected);
    }
    Ok(())
}

const SPECIAL: [f32; 6] =
    [f32::NAN, -0.0, 0.0, f32::INFINITY, f32::NEG_INFINITY, f32::MIN_POSITIVE];

source! { each_extreme;
    fn run(x: &Tensor<f32, 1>, each: &mut Tensor<f32, 2>, wide: &mut Tensor<f64, 2>) {
        for i in 0..x.len() {
            qd::atomic_min(&mut each[[i, 0]], x[i]);
            qd::atomic_max(&mut each[[i, 1]], x[i]);
            qd::atomic_min(&mut wide[[i, 0]], -x[i] as f64);
            qd::atomic_max(&mut wide[[i, 1]], -x[i] as f64);
        }
    }
}

source! { one_minimum;
    fn run(x: &Tensor<f32, 1>, low: &mut Tensor<f32, 1>, high: &mut Tensor<f64, 1>) {
        for i in 0..x.len() {
            qd::atomic_min(&mut low[0], x[i]);
            qd::atomic_max(&mut high[0], x[i] as f64);
        }
    }
}

// One thread, so that the old values are fixed.
source! { exchanges;
    fn run(a: &mut Tensor<i32, 1>, b: &mut Tensor<f32, 1>, c: &mut Tensor<u64, 1>, d: &mut Tensor<f64, 1>) {
        for _ in 0..1 {
            a[1] = qd::atomic_exchange(&mut a[0], 5);
            let next = a[1] + 9;
            a[2] = qd::atomic_compare_exchange(&mut a[0], 5, next);
            a[3] = qd::atomic_compare_exchange(&mut a[0], 5, 1);
            b[1] = qd::atomic_exchange(&mut b[0], -0.0);
            b[2] = qd::atomic_compare_exchange(&mut b[0], 0.0, 7.0);
            b[3] = qd::atomic_compare_exchange(&mut b[0], -0.0, f32::NAN);
            qd::atomic_compare_exchange(&mut b[0], f32::NAN, 3.5);
            c[1] = qd::atomic_exchange(&mut c[0], u64::MAX);
            c[2] = qd::atomic_compare_exchange(&mut c[0], !0, { d[1] += 1.0; d[1] as u64 });
            d[1] += qd::atomic_exchange(&mut d[0], 1e300) + qd::atomic_compare_exchange(&mut d[0], 1e300, 2.0);
        }
    }
}

/// Marks the slots of numbers: the first one to come takes a slot.
#[qd::kernel]
fn claims(x: &Tensor<u32, 1>, slots: &mut Tensor<u32, 1>, taken: &mut Tensor<u32, 1>) {
    for i in 0..x.len() {
        let slot = (x[i] % 8) as usize;
        if qd::atomic_compare_exchange(&mut slots[slot], 0, x[i]) == 0 {
            qd::atomic_add(&mut taken[0], 1);
        }
    }
}

#[qd::kernel]
fn shared_exchanges(out: &mut Tensor<u32, 1>, low: &mut Tensor<f32, 1>) {
    qd::block_for(out.len(), 32, |b| {
        let mut cells = b.shared::<u32>(2);
        let mut least = b.shared::<f32>(1);
        b.each(|t| {
            qd::atomic_compare_exchange(&mut cells[0], 0, t as u32 + 1);
            qd::atomic_exchange(&mut cells[1], 9);
            qd::atomic_min(&mut least[0], -(t as f32));
        });
        b.each(|t| {
            if t == 0 {
                out[b.index()] = (cells[0] > 0 && cells[0] <= 32) as u32 * 100 + cells[1];
                low[b.index()] = least[0];
            }
        });
    });
}

#[on_all_backends]
fn minima_and_maxima_of_floats_prefer_numbers(backend: TestBackend) -> qd::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    for start in SPECIAL {
        let mut x: Vec<f32> = SPECIAL.to_vec();
        x.extend((0..200).map(|at| (at * 37 % 101) as f32 - 50.5));
        for x in [x, SPECIAL.to_vec(), vec![f32::NAN; 3], vec![0.0, -0.0], vec![]] {
            let (low, high) = (Array::of(&[start]), Array::of(&[f64::from(start)]));
            let each = Array::new(&vec![start; 2 * x.len()], [x.len(), 2]);
            let wide = Array::new(&vec![f64::from(start); 2 * x.len()], [x.len(), 2]);
            let x = Array::of(&x);
            differential!(&on.program, one_minimum[][x][low, high]);
            differential!(&on.program, each_extreme[][x][each, wide]);
        }
    }
    Ok(())
}

#[on_all_backends]
fn exchanges_return_the_old_element(backend: TestBackend) -> qd::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let (a, b) = (Array::of(&[3, 0, 0, 0]), Array::of(&[2.5_f32, 0.0, 0.0, 0.0]));
    let (c, d) = (Array::of(&[8_u64, 0, 0]), Array::of(&[1.5_f64, 0.0]));
    differential!(&on.program, exchanges[][][a, b, c, d]);
    let values: Vec<u32> = (0..1000).map(|at| at * 7 + 1).collect();
    let x = on.program.tensor_from(&values, [1000])?;
    let (mut slots, mut taken) = (on.program.zeros([8])?, on.program.zeros([1])?);
    claims(&x, &mut slots, &mut taken).launch()?;
    assert_eq!(taken.to_vec()?, [8]);
    for (at, slot) in slots.to_vec()?.into_iter().enumerate() {
        assert!(slot % 8 == at as u32 && values.contains(&slot), "{at}: {slot}");
    }
    let (mut out, mut low) = (on.program.zeros([3])?, on.program.zeros([3])?);
    shared_exchanges(&mut out, &mut low).launch()?;
    assert_eq!((out.to_vec()?, low.to_vec()?), (vec![109; 3], vec![-31.0; 3]));
    Ok(())
}
