//! Patterns of tuples, structs and vectors in `match`, loops over references to arrays, and `isize`.

use quadrants::{self as qd, Error, KernelValue, Matrix, Result, Tensor, Vector};
use quadrants_tests::{TestBackend, on_all_backends};

#[derive(KernelValue, Clone, Copy, Debug, PartialEq)]
enum Cell {
    Empty,
    Sand,
    Water,
}

#[derive(KernelValue, Clone, Copy, Debug, PartialEq)]
struct Point {
    x: i32,
    y: i32,
}

#[derive(KernelValue, Clone, Copy, Debug, PartialEq)]
struct Pair(i32, (u32, bool));

#[qd::func]
fn cell(number: u32) -> Cell {
    match number {
        0 => Cell::Empty,
        1 => Cell::Sand,
        _ => Cell::Water,
    }
}

fn host_cell(number: u32) -> Cell {
    [Cell::Empty, Cell::Sand, Cell::Water][number.min(2) as usize]
}

on_host_too! {
    fn falls(above: Cell, here: Cell, below: Cell) -> Cell {
        match (above, here, below) {
            (Cell::Sand | Cell::Water, Cell::Empty, _) => above,
            (_, Cell::Sand, Cell::Empty) | (_, Cell::Water, Cell::Empty) => Cell::Empty,
            (_, same, _) => same,
        }
    }

    /// Alternatives that bind a name in different parts, with guards, in tuples and structs.
    fn parts(a: i32, b: i32) -> i32 {
        let near = match (a, b) {
            (0, n) | (n, 0) if n != 3 => n * 10,
            (1 | 2, n @ 1..=4) | (n @ 3, _) => n,
            _ => -1,
        };
        let of = match Pair(a, (b as u32, a > b)) {
            Pair(x, (0 | 2, true)) | Pair(x @ 1, (_, false)) if x > 0 => x + b,
            Pair(x, (1, _)) => x,
            _ => 7,
        };
        near * 100 + of + match (Point { x: a, y: b }, a) {
            (Point { x: 1 | 4, y: n }, _) | (Point { y: 5, .. }, n) | (Point { x: n, .. }, 2) => n,
            (p, _) => p.x - p.y,
        }
    }

    /// `if let`, `while let`, and patterns of arrays.
    fn conditions(a: i32, b: i32) -> i32 {
        let mut sum = if let (0 | 1, n) = (a, b) { n } else if let [x, 3] = [a, b] { x * 7 } else { -5 };
        let mut left = a;
        while let 2..=9 = left {
            left -= 2;
            if let Point { x: 3, y } = (Point { x: left, y: b }) {
                sum += y;
                continue;
            }
            sum += 100;
        }
        let mut k = 0;
        'outer: while let [0..20, ..] = [k, left] {
            k += 3;
            if let 9 = k { break 'outer; }
        }
        sum * 1000 + k * 10 + match [a, b, left] {
            [0, n, _] | [n, 0, ..] => n,
            [x @ 1..=3, y, z] if y > z => x - y,
            _ => 4,
        }
    }

    /// Parts after `..`, in `let`, `match`, `if let` and `matches!`.
    fn ends(a: i32, b: i32) -> i32 {
        let array = [a, b, a - b, a + b];
        let [first, .., last] = array;
        let mut low;
        let mut high;
        [low, .., high] = [a, 2, 3, b];
        if let [.., 9] = array {
            low += 100;
        }
        if let (.., 3) | (2, ..) = (b, a, a - 1) {
            high += 7;
        }
        let ends = match (Pair(a, (b as u32, a > b)), [[a, b], [b, 4]]) {
            (Pair(.., (.., true)), [.., [.., 4]]) if a > 5 => 1,
            (Pair(x, ..), [[y, ..], .., [n @ 1..=3, _]]) => x + 2 * y + 3 * n,
            (_, [..]) => 5,
        };
        let Vector([x, ..]) = Vector([last, 2, 3]);
        let v = match Vector([a, b, 8]) {
            Vector([.., 0, 8]) => 11,
            Vector([.., n]) => n,
        };
        let by_end = matches!(array, [0, ..] | [.., 1] | [_, .., 5, _]) as i32;
        first * 1000 + last * 100 + low + high * 10 + ends + x + v + by_end * 10_000
    }

    /// Loops over references to the elements of arrays and vectors.
    fn references(a: i32, b: i32) -> i32 {
        let (array, vector) = ([a, b, a - b], Vector([b, a]));
        let mut sum = 0;
        for x in array.iter() {
            if *x > 1 { sum += *x * 2; } else { sum -= x; }
        }
        for (k, x) in array.iter().enumerate() {
            sum += k as i32 * *x;
        }
        for (k, &(x, y)) in [(a, 1), (b, 2)].iter().enumerate() {
            sum += x * y + k as i32;
        }
        for x in &array {
            sum = sum * 3 + *x;
        }
        for x in vector {
            sum ^= x;
        }
        sum
    }

    /// Loops that change the elements of arrays, also of those in structs and arrays.
    fn changed(a: i32, b: i32) -> i32 {
        let mut array = [a, b, a - b];
        for x in &mut array {
            *x += 2;
        }
        for (k, x) in array.iter_mut().enumerate().rev() {
            if *x == 3 {
                continue;
            }
            *x = x.abs() * (k as i32 + 1);
            if *x > 9 {
                break;
            }
        }
        let mut points = [Point { x: a, y: b }, Point { x: b, y: 7 }];
        for (p, by) in points.iter_mut().zip(array) {
            p.x += by;
            *p = Point { x: p.y, y: p.x };
        }
        let mut parts = ([1, 2], [[a, b], [3, 4]]);
        for x in parts.0.iter_mut() {
            *x *= points[0].x;
        }
        for (by, row) in parts.0.iter().zip(parts.1.iter_mut()) {
            row[1] += by;
            for x in [5, 6] {
                row[0] ^= x;
            }
        }
        let mut sum = array[0] + array[1] * 3 + array[2] * 5;
        for row in parts.1 {
            sum = sum * 3 + row[0] - row[1];
        }
        sum + points[0].x + points[1].y * 2
    }

    fn quadrant(p: Point) -> u32 {
        match p {
            Point { x: 0, y: 0 } => 0,
            Point { x, y: 0 } if x > 0 => 10 + x as u32,
            Point { x: 1.., y: up @ 1..=9 } => 20 + up as u32,
            Point { y, .. } if y < -3 => 30,
            Point { x: a, y: b } => (40 + a * 3 + b) as u32,
        }
    }

    fn nested(pair: Pair) -> u32 {
        match pair {
            Pair(_, (_, false)) => 0,
            Pair(-1 | 1, (n, true)) => n,
            Pair(k, (n @ (2 | 5), _)) => n * 10 + k.unsigned_abs(),
            Pair(k, (n, _)) if n as i32 == k => 77,
            Pair(-9, ..) => 88,
            _ => 99,
        }
    }

    /// The guard is evaluated for each alternative.
    fn guarded(a: u32, b: u32) -> u32 {
        match (a, b) {
            (3, n) | (4, n) if n != 7 => n,
            (0 | 2, 0..=2) if a != b => 2,
            (first, second) => first * 10 + second,
        }
    }

    fn is_edge(a: u32, b: u32) -> bool {
        matches!((a, b), (0, _) | (_, 0))
    }

    fn neighbors(y: usize, x: usize) -> isize {
        let mut sum = 0;
        for &(dy, dx) in &[(-1, 0), (1, 0), (0, -1_isize), (0, 1)] {
            let (v, u) = (y as isize + dy, x as isize + dx);
            if v < 0 || u < 0 {
                continue;
            }
            sum += v * 3 - u.rem_euclid(4) + (dy * dx).abs();
        }
        let weights = [1, -2, 3isize];
        for weight in &weights {
            sum += weight * (x as isize - 4).clamp(-2, isize::MAX);
        }
        sum.wrapping_mul(isize::MAX).min(1 << 40) ^ -1
    }
}

#[qd::kernel]
fn all_parts(out: &mut Tensor<[i32; 5], 2>) {
    for (i, j) in qd::ndrange(out.shape()) {
        let (a, b) = (i as i32 - 1, j as i32 - 1);
        out[[i, j]] = [
            device::parts(a, b),
            device::conditions(a, b),
            device::references(a, b),
            device::ends(a, b),
            device::changed(a, b),
        ];
    }
}

#[on_all_backends]
fn alternatives_bind_different_parts(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let mut out = on.program.zeros([9, 9])?;
    all_parts(&mut out).launch()?;
    let of = |at: usize| {
        let (a, b) = ((at / 9) as i32 - 1, (at % 9) as i32 - 1);
        [
            host::parts(a, b),
            host::conditions(a, b),
            host::references(a, b),
            host::ends(a, b),
            host::changed(a, b),
        ]
    };
    assert_eq!(out.to_vec()?, (0..81).map(of).collect::<Vec<_>>());
    Ok(())
}

#[qd::kernel]
fn cells(numbers: &Tensor<u32, 1>, out: &mut Tensor<u32, 1>) {
    for i in 0..out.len() {
        let (a, b, c) = (numbers[i] % 3, numbers[i] / 3 % 3, numbers[i] / 9);
        out[i] = device::falls(cell(a), cell(b), cell(c)) as u32;
    }
}

#[qd::kernel]
fn numbers(out: &mut Tensor<u32, 2>, edges: &mut Tensor<u8, 2>, sums: &mut Tensor<isize, 2>) {
    for (i, j) in qd::ndrange(out.shape()) {
        let (x, y) = (i as i32 - 5, j as i32 - 5);
        let pair = Pair(x, (j as u32, i % 4 != 0));
        out[[i, j]] = device::quadrant(Point { x, y })
            + 1000 * device::nested(pair)
            + 1_000_000 * device::guarded(i as u32, j as u32);
        edges[[i, j]] = device::is_edge(i as u32, j as u32) as u8;
        sums[[i, j]] = device::neighbors(i, j);
    }
}

#[on_all_backends]
fn patterns_have_parts(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let all: Vec<u32> = (0..27).collect();
    let input = on.program.tensor_from(&all, [27])?;
    let mut out = on.program.zeros([27])?;
    cells(&input, &mut out).launch()?;
    let expected = all
        .iter()
        .map(|n| host::falls(host_cell(n % 3), host_cell(n / 3 % 3), host_cell(n / 9)) as u32);
    assert_eq!(out.to_vec()?, expected.collect::<Vec<_>>());

    const N: usize = 12;
    let (mut out, mut edges) = (on.program.zeros([N, N])?, on.program.zeros([N, N])?);
    let mut sums = on.program.zeros([N, N])?;
    numbers(&mut out, &mut edges, &mut sums).launch()?;
    let (out, edges, sums) = (out.to_vec()?, edges.to_vec()?, sums.to_vec()?);
    for (i, j) in (0..N).flat_map(|i| (0..N).map(move |j| (i, j))) {
        let (x, y) = (i as i32 - 5, j as i32 - 5);
        let pair = Pair(x, (j as u32, i % 4 != 0));
        let expected = host::quadrant(Point { x, y })
            + 1000 * host::nested(pair)
            + 1_000_000 * host::guarded(i as u32, j as u32);
        assert_eq!(out[i * N + j], expected, "{i} {j}");
        assert_eq!(edges[i * N + j], u8::from(host::is_edge(i as u32, j as u32)));
        assert_eq!(sums[i * N + j], host::neighbors(i, j), "{i} {j}");
    }
    Ok(())
}

#[qd::kernel]
fn components(edges: &Tensor<Vector<u32, 2>, 1>, out: &mut Tensor<Vector<f32, 3>, 1>) {
    for i in 0..out.len() {
        let [a, b] = edges[i].0;
        let Vector([c, _]) = edges[i] + edges[i];
        let mut v = Vector([a as f32, b as f32, c as f32]);
        v.0[1] += 0.5;
        for x in v.0 {
            v.0[2] += x;
        }
        out[i] = v;
        out[i].0[0] *= 2.0;
        let m = Matrix([[1.0, 2.0, 3.0], [b as f32, 5.0, 6.0]]);
        let [first, second] = m.0;
        out[i][2] += first[1] * second[0] + m.0[1][2];
    }
}

#[on_all_backends]
fn the_field_of_a_vector_or_matrix_is_its_array(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let edges: Vec<_> = (0..5).map(|i| Vector([i, 7 * i + 1])).collect();
    let input = on.program.tensor_from(&edges, [5])?;
    let mut out = on.program.zeros([5])?;
    components(&input, &mut out).launch()?;
    let expected = edges.iter().map(|Vector([a, b])| {
        let (a, b) = (*a as f32, *b as f32);
        Vector([2.0 * a, b + 0.5, 2.0 * a + (a + (b + 0.5) + 2.0 * a) + (2.0 * b + 6.0)])
    });
    assert_eq!(out.to_vec()?, expected.collect::<Vec<_>>());
    Ok(())
}

#[qd::func]
fn width(image: &Tensor<u32, 3>) -> usize {
    let [.., width] = image.shape();
    width
}

#[qd::kernel]
fn rows(image: &mut Tensor<u32, 3>, flat: &mut Tensor<u32, 1>) {
    let [planes, ..] = image.shape();
    let [first, .., last] = image.shape();
    let [.., h, w] = image.shape();
    for (k, i, j) in qd::ndrange([planes, h, w]) {
        flat[(k * h + i) * last + j] = (100 * k + 10 * i + j) as u32;
    }
    for (k, i, j) in qd::ndrange([first, h, width(image)]) {
        image[[k, i, j]] = flat[(k * h + i) * w + j];
    }
}

/// The rows overlap unless the image is as high as it is wide.
#[qd::kernel]
fn by_height(image: &Tensor<u32, 2>, flat: &mut Tensor<u32, 1>) {
    let [h, ..] = image.shape();
    let [.., w] = image.shape();
    for (i, j) in qd::ndrange([h, w]) {
        flat[i * h + j] = image[[i, j]];
    }
}

#[on_all_backends]
fn extents_before_and_after_the_rest(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let (mut image, mut flat) = (on.program.zeros([2, 3, 4])?, on.program.zeros([24])?);
    rows(&mut image, &mut flat).launch()?;
    let expected: Vec<u32> =
        (0..24).map(|at| 100 * (at / 12) + 10 * (at / 4 % 3) + at % 4).collect();
    assert_eq!(image.to_vec()?, expected);
    let (square, wide) = (on.program.zeros([4, 4])?, on.program.zeros([3, 5])?);
    by_height(&square, &mut flat).launch()?;
    assert!(matches!(by_height(&wide, &mut flat).launch(), Err(Error::Race { .. })));
    Ok(())
}
