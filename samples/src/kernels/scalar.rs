//! Sample kernels of scalar operations: every operator, function, conversion, constant, division and atomic, of every
//! type.

use quadrants_ir::{
    AtomicOp, BinaryOp, Const, DivRemOp, ExprId, ExprKind, MathFn, Offloaded, Options, ParamId,
    ScalarType, Stmt, UnaryOp,
};

use crate::Builder;

const ARITHMETIC: [BinaryOp; 3] = [BinaryOp::Add, BinaryOp::Sub, BinaryOp::Mul];
const BITS: [BinaryOp; 3] = [BinaryOp::And, BinaryOp::Or, BinaryOp::Xor];
const SHIFTS: [BinaryOp; 2] = [BinaryOp::Shl, BinaryOp::Shr];
const COMPARISONS: [BinaryOp; 6] =
    [BinaryOp::Eq, BinaryOp::Ne, BinaryOp::Lt, BinaryOp::Le, BinaryOp::Gt, BinaryOp::Ge];

pub(super) fn all() -> Vec<Offloaded> {
    let mut kernels = Vec::new();
    for ty in ScalarType::ALL {
        kernels.push(casts(ty));
        kernels.push(constants(ty));
        if ty.is_narrow() {
            kernels.push(elements(ty));
            continue;
        }
        kernels.push(operators(ty, "operators", Options::default()));
        if ty != ScalarType::Bool {
            kernels.push(functions(ty));
            kernels.push(atomics(ty));
        }
        if ty.is_int() {
            kernels.push(divisions(ty));
            kernels.push(counts(ty));
        }
    }
    for ty in [ScalarType::F32, ScalarType::F64] {
        kernels.push(roots(ty));
        let strict = Options { strict: true, ..Options::default() };
        let fast = Options { fast_math: true, ..Options::default() };
        kernels.push(operators(ty, "strict_operators", strict));
        kernels.push(operators(ty, "fast_operators", fast));
    }
    kernels
}

/// A kernel with one loop over `out`, whose elements are set by calls of `put`.
struct Table {
    build: Builder,
    out: ParamId,
    count: u64,
}

impl Table {
    fn put(b: &mut Builder, out: ParamId, count: &mut u64, value: ExprId) {
        let at = b.constant(*count);
        *count += 1;
        b.push_store(out, &[at], value);
    }

    fn new(name: String, elem: ScalarType, options: Options) -> Self {
        let mut build = Builder::with_options(&name, options);
        let out = build.tensor("out", elem, 1);
        Self { build, out, count: 0 }
    }

    /// A single iteration that computes everything.
    fn finish(
        mut self,
        fill: impl FnOnce(&mut Builder, &mut dyn FnMut(&mut Builder, ExprId)),
    ) -> Offloaded {
        let (zero, one) = (self.build.constant(0u64), self.build.constant(1u64));
        let (out, mut count) = (self.out, self.count);
        self.build.parallel_loop(&[("once", zero, one)], |b, _| {
            fill(b, &mut |b, value| Self::put(b, out, &mut count, value));
        });
        self.build.finish()
    }
}

fn operators(ty: ScalarType, name: &str, options: Options) -> Offloaded {
    let mut table = Table::new(format!("{name}_{ty}"), ty, options);
    let flags = table.build.tensor("flags", ScalarType::Bool, 1);
    let x = table.build.scalar("x", ty);
    let y = table.build.scalar("y", ty);
    let count = table.build.scalar("count", ScalarType::I64);
    let narrow = table.build.scalar("narrow", ScalarType::U32);
    table.finish(|b, put| {
        let mut flag = 0;
        for op in COMPARISONS {
            let value = b.binary(op, x, y);
            Table::put(b, flags, &mut flag, value);
        }
        if ty != ScalarType::Bool {
            for op in ARITHMETIC {
                let value = b.binary(op, x, y);
                // Nested both ways, to test parentheses.
                let left = b.binary(BinaryOp::Sub, value, x);
                let right = b.binary(BinaryOp::Sub, x, value);
                let both = b.binary(BinaryOp::Mul, left, right);
                put(b, value);
                put(b, both);
            }
        }
        if ty.is_float() {
            for op in [BinaryOp::Div, BinaryOp::Rem] {
                let value = b.binary(op, x, y);
                put(b, value);
            }
        } else {
            for op in BITS {
                let value = b.binary(op, x, y);
                let nested = b.binary(BinaryOp::Xor, value, y);
                put(b, nested);
            }
            let not = b.unary(UnaryOp::Not, x);
            put(b, not);
        }
        if ty.is_int() {
            let seven = b.constant(-7i32);
            for op in SHIFTS {
                for count in [y, count, narrow, seven] {
                    let value = b.binary(op, x, count);
                    put(b, value);
                }
            }
        }
        if ty.is_float() || ty.is_wide_signed_int() {
            let negative = b.unary(UnaryOp::Neg, x);
            let twice = b.unary(UnaryOp::Neg, negative);
            let sum = b.binary(BinaryOp::Sub, twice, negative);
            put(b, sum);
        }
        let less = b.binary(BinaryOp::Lt, x, y);
        let equal = b.binary(BinaryOp::Eq, x, y);
        let either = b.binary(BinaryOp::Or, less, equal);
        let all = b.binary(BinaryOp::And, either, less);
        let none = b.unary(UnaryOp::Not, all);
        let inner = b.select(less, y, x);
        let chosen = b.select(none, inner, y);
        put(b, chosen);
    })
}

fn casts(to: ScalarType) -> Offloaded {
    let mut table = Table::new(format!("casts_to_{to}"), to, Options::default());
    let from = ScalarType::ALL.map(|ty| table.build.scalar(&format!("x_{ty}"), ty));
    table.finish(|b, put| {
        for x in from {
            let from = b.ty(x);
            let allowed = match (from, to) {
                (ScalarType::Bool, to) => to.is_int(),
                (_, to) => to != ScalarType::Bool,
            };
            if allowed {
                let value = converted(b, x, to);
                put(b, value);
            }
        }
        let value = match to {
            ScalarType::Bool => b.constant(true),
            ScalarType::I64 => converted(b, from[5], to),
            _ => {
                let wide = b.cast(ScalarType::U64, from[6]);
                converted(b, wide, to)
            }
        };
        put(b, value);
    })
}

/// A conversion through the wide types.
fn converted(b: &mut Builder, value: ExprId, to: ScalarType) -> ExprId {
    let mut value = value;
    for ty in [b.ty(value).wide(), to.wide(), to] {
        if b.ty(value) != ty {
            value = b.cast(ty, value);
        }
    }
    value
}

/// Loads, stores, locals and selections of a narrow type, with wide arithmetic.
fn elements(ty: ScalarType) -> Offloaded {
    let mut b = Builder::new(&format!("elements_{ty}"));
    let x = b.read_only("x", ty, 1);
    let out = b.tensor("out", ty, 1);
    let y = b.scalar("y", ty);
    let (zero, n) = (b.constant(0u64), b.dim(out, 0));
    b.parallel_loop(&[("i", zero, n)], |b, i| {
        let element = b.let_load("element", x, &[i[0]]);
        let (wide, other) = (b.cast(ty.wide(), element), b.cast(ty.wide(), y));
        let product = b.binary(BinaryOp::Mul, wide, other);
        let wrapped = b.cast(ty, product);
        let kept = b.named("kept", wrapped);
        let larger = b.binary(BinaryOp::Gt, wide, other);
        let chosen = b.select(larger, kept, y);
        b.push_store(out, &[i[0]], chosen);
    });
    b.finish()
}

/// Functions whose last bits differ between Rust's and C's libraries.
fn roots(ty: ScalarType) -> Offloaded {
    let mut table = Table::new(format!("roots_{ty}"), ty, Options::default());
    let x = table.build.scalar("x", ty);
    table.finish(|b, put| {
        let value = b.math(MathFn::Cbrt, &[x]);
        put(b, value);
    })
}

/// Bit counting, and floats to bits and back.
fn counts(ty: ScalarType) -> Offloaded {
    let mut table = Table::new(format!("counts_{ty}"), ty, Options::default());
    let x = table.build.scalar("x", ty);
    table.finish(|b, put| {
        use UnaryOp::{CountOnes, LeadingZeros, ReverseBits, TrailingZeros};
        for op in [CountOnes, LeadingZeros, TrailingZeros, ReverseBits] {
            let value = b.unary(op, x);
            put(b, value);
        }
        let float = if ty.size() == 4 { ScalarType::F32 } else { ScalarType::F64 };
        let value = b.expr(float, ExprKind::Bits { value: x });
        let value = b.binary(BinaryOp::Add, value, value);
        let value = b.expr(ty, ExprKind::Bits { value });
        put(b, value);
        let unsigned = if ty.size() == 4 { ScalarType::U32 } else { ScalarType::U64 };
        let value = b.expr(unsigned, ExprKind::Bits { value: x });
        let value = b.expr(ty, ExprKind::Bits { value });
        put(b, value);
    })
}

fn constants(ty: ScalarType) -> Offloaded {
    let values: Vec<Const> = match ty {
        ScalarType::Bool => vec![true.into(), false.into()],
        ScalarType::I8 => [0, -1, i8::MIN, i8::MAX].map(Const::from).to_vec(),
        ScalarType::I16 => [0, -1, i16::MIN, i16::MAX].map(Const::from).to_vec(),
        ScalarType::U8 => [0, u8::MAX].map(Const::from).to_vec(),
        ScalarType::U16 => [0, u16::MAX].map(Const::from).to_vec(),
        ScalarType::I32 => [0, -1, i32::MIN, i32::MAX].map(Const::from).to_vec(),
        ScalarType::I64 => [0, -1, i64::MIN, i64::MAX].map(Const::from).to_vec(),
        ScalarType::U32 => [0, u32::MAX].map(Const::from).to_vec(),
        ScalarType::U64 => [0, u64::MAX].map(Const::from).to_vec(),
        ScalarType::F32 => [
            0.0,
            -0.0,
            0.1,
            1e30,
            f32::MAX,
            f32::from_bits(1),
            f32::INFINITY,
            f32::NEG_INFINITY,
            f32::NAN,
        ]
        .map(Const::from)
        .to_vec(),
        ScalarType::F16 => [0, 0x8000, 1, 0x3c00, 0xfbff, 0x7c00, 0xfc00, 0x7e00]
            .map(|bits| Const::from_bits(ty, bits))
            .to_vec(),
        ScalarType::F64 => {
            [0.0, -0.0, 0.1, 1e300, f64::MIN_POSITIVE, f64::from_bits(1), f64::INFINITY, f64::NAN]
                .map(Const::from)
                .to_vec()
        }
    };
    Table::new(format!("constants_{ty}"), ty, Options::default()).finish(|b, put| {
        for value in values {
            let value = b.constant(value);
            put(b, value);
        }
    })
}

fn functions(ty: ScalarType) -> Offloaded {
    let mut table = Table::new(format!("functions_{ty}"), ty, Options::default());
    let x = table.build.scalar("x", ty);
    let y = table.build.scalar("y", ty);
    let n = table.build.scalar("n", ScalarType::I32);
    table.finish(|b, put| {
        let mut list = vec![MathFn::Min, MathFn::Max];
        if ty.is_wide_signed_int() {
            list.push(MathFn::Abs);
        }
        if ty.is_float() {
            use MathFn::*;
            // Without `Asinh`, `Acosh` and `Atanh`: std computes them itself, not by the C library.
            list.extend([
                Sqrt, Sin, Cos, Tan, Exp, Ln, Powf, Powi, Abs, Floor, Ceil, Round, MulAdd, Atan2,
                Tanh, Trunc, Exp2, Log2, Log10, Asin, Acos, Atan, Sinh, Cosh, Hypot, ExpM1, Ln1p,
                RoundEven,
            ]);
        }
        for function in list {
            let args: &[ExprId] = match (function, function.arity()) {
                (MathFn::Powi, _) => &[x, n],
                (_, 1) => &[x],
                (_, 2) => &[x, y],
                _ => &[x, y, x],
            };
            let value = b.math(function, args);
            put(b, value);
        }
    })
}

fn divisions(ty: ScalarType) -> Offloaded {
    let mut table = Table::new(format!("divisions_{ty}"), ty, Options::default());
    let x = table.build.scalar("x", ty);
    let y = table.build.scalar("y", ty);
    table.finish(|b, put| {
        let three = b.constant(Const::from_bits(ty, 3));
        let ones = b.constant(Const::from_bits(ty, u64::MAX));
        let zero = b.constant(Const::from_bits(ty, 0));
        let sum = b.binary(BinaryOp::Add, x, y);
        for op in [DivRemOp::Div, DivRemOp::Rem] {
            for divisor in [y, sum, three, ones, zero] {
                let value = b.let_div_rem("quotient", op, sum, divisor);
                put(b, value);
            }
        }
    })
}

fn atomics(ty: ScalarType) -> Offloaded {
    let mut b = Builder::new(&format!("atomics_{ty}"));
    let counts = b.tensor("counts", ty, 2);
    let old = b.tensor("old", ty, 2);
    let x = b.scalar("x", ty);
    let rows = b.dim(old, 0);
    let zero = b.constant(0u64);
    b.parallel_loop(&[("row", zero, rows)], |b, row| {
        let ops = if ty.is_int() {
            &[AtomicOp::Add, AtomicOp::Min, AtomicOp::Max][..]
        } else {
            &[AtomicOp::Add]
        };
        for (i, &op) in ops.iter().enumerate() {
            let column = b.constant(i as u64);
            let ignored = b.atomic(op, counts, &[zero, column], x);
            b.push(Stmt::Eval { value: ignored });
            let sum = b.binary(BinaryOp::Add, x, x);
            let update = b.atomic(op, counts, &[zero, column], sum);
            let value = b.named("before", update);
            b.push_store(old, &[row[0], column], value);
        }
    });
    b.finish()
}
