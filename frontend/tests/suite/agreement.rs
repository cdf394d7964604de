//! rustc and lowering give the same types and values for the same tokens.

use quadrants_frontend::{lower, syntax::*};
use quadrants_ir::{Const, ScalarType, types::ParamType};

use crate::{
    e,
    run::{self, Number},
    tree,
};

fn params(out: ScalarType) -> Vec<ParamType> {
    vec![
        tree::scalar(ScalarType::F32),
        tree::scalar(ScalarType::I32),
        tree::scalar(ScalarType::U64),
        tree::tensor(ScalarType::F32, 1, false),
        tree::tensor(out, 1, true),
    ]
}

fn params_of(out: ScalarType) -> fn() -> Vec<ParamType> {
    match out {
        ScalarType::Bool => || params(ScalarType::Bool),
        ScalarType::I8 => || params(ScalarType::I8),
        ScalarType::I16 => || params(ScalarType::I16),
        ScalarType::U8 => || params(ScalarType::U8),
        ScalarType::U16 => || params(ScalarType::U16),
        ScalarType::I32 => || params(ScalarType::I32),
        ScalarType::I64 => || params(ScalarType::I64),
        ScalarType::U32 => || params(ScalarType::U32),
        ScalarType::U64 => || params(ScalarType::U64),
        ScalarType::F32 => || params(ScalarType::F32),
        ScalarType::F64 => || params(ScalarType::F64),
        ScalarType::F16 => || params(ScalarType::F16),
    }
}

fn agree<T: Number>(text: &str, rust: T, expr: Expr) {
    let rust: Const = rust.into();
    let body = vec![
        tree::bind(1, "r", rust.ty(), expr),
        tree::set(2, tree::index("out", vec![e!(0)]), e!(r)),
    ];
    let function = tree::kernel(&["x", "n", "k", "&t", "&mut out"], body);
    let kernel = lower(&tree::source(&function, params_of(rust.ty())))
        .unwrap_or_else(|error| panic!("{text}: {error}"));
    let args = [
        run::scalar(X),
        run::scalar(N),
        run::scalar(K),
        run::tensor(&T_VALUES),
        run::tensor(&[T::from_bits(0)]),
    ];
    let outcome = run::run(&kernel, &args);
    let found: Const = outcome.tensor::<T>(1)[0].into();
    assert_eq!(found, rust, "{text}");
}

const X: f32 = -1.75;
const N: i32 = 7;
const K: usize = 2;
const T_VALUES: [f32; 4] = [0.5, 1.5, 2.5, 3.5];

macro_rules! agree {
    ($names:pat => $($expr:tt)*) => {
        #[test]
        #[allow(unused_parens, unused_variables, clippy::all)]
        fn rustc_and_lowering_agree() {
            let $names = (X, N, K, T_VALUES);
            $(agree(stringify!($expr), $expr, e!($expr));)*
        }
    };
}

agree! {
    (x, n, k, t) =>
    1
    1.5
    0xff
    1_000u64
    (-1)
    (-1 as i64)
    (-1 as f64)
    (1 + 2)
    ((1 + 2) as u64)
    (2 * n)
    (n * 2)
    (2.0 * x)
    ((2.0 * 3.0) * x)
    (x * (2.0 + 3.0))
    (1 << 20)
    (1u64 << 40)
    ((1 as u64) << 40)
    (k << 3)
    (n << k)
    (3 < n)
    (1.0 > x)
    ((1 + 2) == (3))
    ((n as f32) * 0.1)
    ((x as i32) + 1)
    ((300.7 as i32) - 1)
    ((x * 1000.0) as u32)
    ((0.1 + 0.2) as f32)
    (0.1 as f32)
    (3000000000u32 as i32)
    ((n as i64) * 5000000000)
    (0.5f32 + x)
    (x.max(0.0))
    (x.abs())
    ((x * x).sqrt())
    (x.powi(2))
    (x.mul_add(2.0, 1.0))
    (n.min(3))
    (3.min(n))
    (n.wrapping_mul(1000000000))
    (if (n > 3) { 1 } else { 2 })
    (if (n > 3) { 1.0 } else { x })
    (if (x > 3.0) { (2 * 3) } else { n })
    ((if (n > 3) { 1 } else { 2 }) as u64)
    ((t[k]) * 2.0)
    (t[(k + 1)])
    (t[((n as usize) % 4)])
    ((t[1]) > 1.0)
    ((n > 3) && (x < 0.0))
    ((n > 30) || (k == 2))
    ((n > 3) & (!(x < 0.0)))
    (!n)
    (!0u32)
    (n / 2)
    ((-7) / 2)
    ((-7) % n)
    (x % 1.0)
    (x / 2.0)
    (n ^ 0x55)
    (((k as i32) - 5) as usize)
    (true as i32)
}
