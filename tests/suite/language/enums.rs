//! Enums without fields match plain Rust on every backend.

use quadrants::{self as qd, KernelValue};
use quadrants_tests::{TestBackend, on_all_backends};

use super::{Array, Same, differential, source};

/// Discriminants that the compiler numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, KernelValue)]
enum Colour {
    Red,
    Black,
    Green,
}

/// Discriminants that the source gives, with a type of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, KernelValue)]
#[repr(u8)]
enum Level {
    Low = 3,
    Middle = 200,
    High,
}

const MOST: i64 = 1 << 40;

/// Discriminants that need 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, KernelValue)]
#[repr(i64)]
enum Wide {
    Least = -7,
    Most = MOST,
}

/// An enum whose `PartialEq` in kernels is that of the discriminants.
#[derive(Clone, Copy, Debug, KernelValue)]
enum Equal {
    One,
    Two,
}

impl PartialEq for Equal {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// An enum as a field.
#[derive(Clone, Copy, Debug, PartialEq, KernelValue)]
struct Node {
    colour: Colour,
    key: i32,
}

const START: Colour = Colour::Green;

#[qd::func]
impl Colour {
    const DEFAULT: Self = Self::Black;

    fn next(self) -> Self {
        match self {
            Self::Red => Self::Black,
            Self::Black => Colour::Green,
            Self::Green => Self::Red,
        }
    }

    fn painted(&self, by: Self) -> Self {
        if matches!(by, Self::Red) { Self::Green } else { by }
    }

    fn of(number: i32) -> Self {
        if number % 3 == 0 {
            return Self::Red;
        }
        if number % 3 == 1 { Self::Black } else { Self::Green }
    }
}

#[qd::func]
fn painted(node: Node) -> Node {
    let colour =
        if node.key > 3 && node.colour == Colour::Red { START } else { node.colour.next() };
    Node { colour, ..node }
}

source! { uses;
    fn run(given: Colour, level: Level, x: &Tensor<i32, 1>, out: &mut Tensor<i32, 2>) {
        for i in 0..x.len() {
            let mut colour = given;
            for _ in 0..i {
                colour = colour.next();
            }
            out[[i, 0]] = match colour {
                Colour::Red => 1,
                Colour::Black | Colour::Green if x[i] > 4 => 2,
                Colour::DEFAULT => 3,
                other => other as i32 * 10,
            };
            out[[i, 1]] = (colour == given) as i32 + (colour != Colour::Red) as i32 * 2;
            out[[i, 2]] = matches!(colour, Colour::Red | Colour::Green) as i32;
            out[[i, 3]] = level as i32 + level as i8 as i32 * 1000 + (level == Level::High) as i32;
            let node = painted(Node { colour: Colour::of(x[i]), key: x[i] });
            out[[i, 4]] = node.colour as i32 * 100 + node.key;
            let pair = (node.colour, [colour, Colour::Black]);
            out[[i, 5]] = (pair.1[i % 2] == Colour::Black) as i32 + pair.0 as u8 as i32 * 7;
            colour = colour.painted(Colour::of(x[i] + 1));
            let wide = if x[i] > 2 { Wide::Most } else { Wide::Least };
            out[[i, 6]] = (wide as i64 / 1_000_000) as i32 + wide as i16 as i32 + colour as i32;
            let (a, mut b) = (colour, Colour::of(i as i32));
            let mut steps = 0;
            while b != a {
                b = b.next();
                steps += 1;
            }
            out[[i, 7]] = steps + (if x[i] > 1 { Level::Low } else { Level::Middle }) as i32;
        }
    }
}

#[qd::kernel]
fn compares(a: Equal, node: Node, out: &mut qd::Tensor<i32, 1>) {
    for i in 0..out.len() {
        let b = if i == 0 { Equal::One } else { Equal::Two };
        out[i] = (a == b) as i32 + node.colour as i32 * 10 + node.key * 100;
    }
}

#[on_all_backends]
fn enums_are_values(backend: TestBackend) -> qd::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let x = Array::of(&(-2..9).collect::<Vec<_>>());
    for (colour, level) in
        [(Colour::Red, Level::Low), (Colour::Black, Level::Middle), (Colour::Green, Level::High)]
    {
        let out = Array::<i32, 2>::zeros([x.len(), 8]);
        differential!(&on.program, uses[colour, level][x][out]);
    }
    Ok(())
}

#[on_all_backends]
fn equality_of_enums_is_that_of_discriminants(backend: TestBackend) -> qd::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    if backend == TestBackend::Cpu && cfg!(debug_assertions) {
        // There, a result that is not that of `PartialEq` is reported: `language::idioms`.
        return Ok(());
    }
    let mut out = on.program.zeros([2])?;
    compares(Equal::Two, Node { colour: Colour::Green, key: 4 }, &mut out).launch()?;
    assert_eq!(out.to_vec()?, [420, 421]);
    Ok(())
}
