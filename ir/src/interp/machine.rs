//! The register machine: its typed operations and the loop that executes them.
//!
//! A register holds the zero-extended bits of a value. So one operation often serves several types: a 32-bit addition
//! both signs, an unsigned comparison both widths, equality all integers.

use super::{
    memory::{ExecFault, Memory, Size},
    record::{print_message, report},
    shared,
};
use smallvec::SmallVec;

use crate::abi::MAX_RANK;
use crate::elementary::Elementary;
use crate::{ExactFloat, MathFn, ScalarType, collective};

/// The index of a register. The first ones hold the argument block.
pub(super) type Reg = u32;
/// The position of an operation in its code. Beyond the end, execution stops.
pub(super) type JumpTarget = u32;

/// A Rust type as stored in registers.
trait Word: Copy {
    fn get(bits: u64) -> Self;
    fn put(self) -> u64;
}

#[derive(Clone, Copy, Debug)]
pub(super) enum CombineOp {
    Add32,
    Add64,
    AddF32,
    AddF64,
    MinI32,
    MinI64,
    MinU32,
    MinU64,
    MaxI32,
    MaxI64,
    MaxU32,
    MaxU64,
    MinF32,
    MinF64,
    MaxF32,
    MaxF64,
    Replace32,
    Replace64,
    And,
    Or,
    Xor,
    And32,
    And64,
    Or32,
    Or64,
    Xor32,
    Xor64,
}

/// Marks the site of a check in a speculative run. The other bits are the register that records a failure.
pub(super) const SPECULATIVE: u32 = 1 << 31;

/// The constant state of a task's execution.
pub(super) struct Run<'r, M> {
    pub(super) regs: &'r mut [u64],
    pub(super) memory: &'r mut M,
    pub(super) task: u32,
    pub(super) fuel: u64,
    /// The words of dynamic shared arrays.
    pub(super) shared: Vec<u64>,
}

macro_rules! words {
    ($($ty:ty, |$bits:ident| $get:expr, |$value:ident| $put:expr;)*) => {$(
        impl Word for $ty {
            #[inline(always)]
            fn get($bits: u64) -> Self {
                $get
            }
            #[inline(always)]
            fn put(self) -> u64 {
                let $value = self;
                $put
            }
        }
    )*};
}

words! {
    bool, |bits| bits != 0, |v| u64::from(v);
    i32, |bits| bits as i32, |v| u64::from(v as u32);
    u32, |bits| bits as u32, |v| u64::from(v);
    i64, |bits| bits as i64, |v| v as u64;
    u64, |bits| bits, |v| v;
    f32, |bits| f32::from_bits(bits as u32), |v| u64::from(v.to_bits());
    f64, |bits| f64::from_bits(bits), |v| v.to_bits();
}

#[inline(always)]
fn put(value: impl Word) -> u64 {
    value.put()
}

/// Generates the operations and the loop that executes them from lists of expressions.
macro_rules! machine {
    (
        float_functions { $($f:ident $f32:ident $f64:ident |$fx:ident| $fe:expr;)* }
        unary { $($u:ident($ut:ty) |$ux:ident| $ue:expr;)* }
        binary { $($b:ident($bt:ty) |$bx:ident, $by:ident| $be:expr;)* }
        ternary { $($t:ident($tt:ty) |$tx:ident, $ty:ident, $tz:ident| $te:expr;)* }
        compare { $($c:ident $c_if:ident $c_unless:ident ($ct:ty) |$cx:ident, $cy:ident| $ce:expr;)* }
        divide { $($v:ident($vt:ty) |$vx:ident, $vy:ident| $ve:expr;)* }
        next { $($n:ident($nt:ty);)* }
    ) => {
        /// An operation. The operands are in the order: result register, operand registers.
        #[derive(Clone, Copy, Debug)]
        pub(super) enum Op {
            $($f32(Reg, Reg), $f64(Reg, Reg),)*
            $($u(Reg, Reg),)*
            $($b(Reg, Reg, Reg),)*
            $($t(Reg, Reg, Reg, Reg),)*
            $($c(Reg, Reg, Reg), $c_if(Reg, Reg, JumpTarget), $c_unless(Reg, Reg, JumpTarget),)*
            $(
                /// The last operand is the site of a zero divisor.
                $v(Reg, Reg, Reg, u32),
            )*
            $(
                /// Increments a loop variable and jumps back while it is below the end.
                $n(Reg, Reg, JumpTarget),
            )*
            /// Operands: result, condition, then, otherwise.
            Select(Reg, Reg, Reg, Reg),
            If(Reg, JumpTarget),
            Unless(Reg, JumpTarget),
            Jump(JumpTarget),
            /// A jump back to the start of a loop.
            Back(JumpTarget),
            /// Jumps to `to` if the condition is false, after a report of the site with the values in registers from
            /// `first` on.
            Assert { cond: Reg, site: u32, first: Reg, count: u32, to: JumpTarget },
            /// Operands: result (the linear index), tensor, two indices.
            Index2(Reg, Reg, Reg, Reg),
            /// Operands: result (the linear index), tensor, three indices.
            Index3(Reg, Reg, Reg, Reg, Reg),
            /// Operands: tensor, index, register to clear, site. If the index is out of range: clears the register,
            /// reports the site and skips the next operation.
            Check1 { tensor: Reg, index: [Reg; 1], clear: Reg, site: u32 },
            Check2 { tensor: Reg, index: [Reg; 2], clear: Reg, site: u32 },
            Check3 { tensor: Reg, index: [Reg; 3], clear: Reg, site: u32 },
            /// The same for more indices, in registers from `first` on.
            CheckMore { tensor: Reg, first: Reg, rank: u8, clear: Reg, site: u32 },
            /// Operands: result, tensor, linear index.
            Load1(Reg, Reg, Reg, Size),
            /// Operands: result, tensor, two indices.
            Load2(Reg, Reg, Reg, Reg, Size),
            /// Operands: value, tensor, linear index.
            Store1(Reg, Reg, Reg, Size),
            /// Operands: value, tensor, two indices.
            Store2(Reg, Reg, Reg, Reg, Size),
            /// Operands: result, tensor, linear index, value.
            Atomic(Reg, Reg, Reg, Reg, CombineOp),
            /// Combines only if the element is equal to the expected value.
            CompareExchange { to: Reg, tensor: Reg, index: Reg, expected: Reg, value: Reg, combine: CombineOp },
            /// Sets the registers of a shared array to zero.
            Clear { first: Reg, len: u32 },
            /// The same checks for an index of a shared array.
            CheckShared { index: Reg, len: u32, clear: Reg, site: u32 },
            CheckShared2 { index: [Reg; 2], dims: [u32; 2], clear: Reg, site: u32 },
            CheckShared3 { index: [Reg; 3], dims: [u32; 3], clear: Reg, site: u32 },
            /// Operands: result, first register of a shared array, its length, index.
            SharedLoad(Reg, Reg, u32, Reg),
            /// Operands: value, first register of a shared array, its length, index.
            SharedStore(Reg, Reg, u32, Reg),
            /// Operands: result, first register of a shared array, its length, index, value.
            SharedAtomic(Reg, Reg, u32, Reg, Reg, CombineOp),
            SharedCompareExchange { to: Reg, first: Reg, len: u32, index: Reg, expected: Reg, value: Reg },
            /// Allocates a dynamic array. Its registers are the offset, three extents, and the length.
            NewShared { array: Reg },
            /// Operands: result, registers of a dynamic array, linear index.
            DynamicLoad(Reg, Reg, Reg),
            /// Operands: value, registers of a dynamic array, linear index.
            DynamicStore(Reg, Reg, Reg),
            /// Operands: result, registers of a dynamic array, linear index, value.
            DynamicAtomic(Reg, Reg, Reg, Reg, CombineOp),
            DynamicCompareExchange { to: Reg, array: Reg, index: Reg, expected: Reg, value: Reg },
            /// Reduces the values of a block's threads, in registers from `first` on. Their contents are unspecified
            /// afterwards.
            Reduce { to: Reg, first: Reg, len: u32, combine: CombineOp },
            /// Collectives on the values of a block's threads, in place, in registers from `first` on.
            Scan { first: Reg, len: u32, combine: CombineOp, exclusive: bool },
            /// The same, with the source lanes in registers from `from` on.
            Shuffle { first: Reg, len: u32, from: Reg },
            Ballot { first: Reg, len: u32 },
            /// Prints a message with the values in registers from `first` on.
            Print { site: u32, first: Reg, count: u32 },
            /// Operands: result, register of an address, offset in words.
            LoadWord(Reg, Reg, u32, Size),
            /// Operands: value, register of an address, offset in words.
            StoreWord(Reg, Reg, u32),
        }

        impl Op {
            pub(super) fn set_target(&mut self, target: JumpTarget) {
                match self {
                    $(Self::$c_if(_, _, to) | Self::$c_unless(_, _, to) => *to = target,)*
                    Self::If(_, to)
                    | Self::Unless(_, to)
                    | Self::Jump(to)
                    | Self::Assert { to, .. } => *to = target,
                    _ => {}
                }
            }
        }

        /// The operation of a float function with one argument. `None` if the function has more.
        pub(super) fn float_function(function: MathFn, ty: ScalarType) -> Option<fn(Reg, Reg) -> Op> {
            match (function, ty) {
                $(
                    (MathFn::$f, ScalarType::F32) => Some(Op::$f32),
                    (MathFn::$f, _) => Some(Op::$f64),
                )*
                _ => None,
            }
        }

        /// Executes `code` to its end, or to a failed assertion.
        #[inline]
        pub(super) fn run<M: Memory>(code: &[Op], run: &mut Run<'_, M>) -> Result<(), ExecFault> {
            run_from(code, 0, run)
        }

        /// Executes `code` from an operation on.
        #[inline]
        pub(super) fn run_from<M: Memory>(code: &[Op], start: usize, run: &mut Run<'_, M>) -> Result<(), ExecFault> {
            let Run { regs, memory, task, fuel, shared: dynamic } = run;
            let regs: &mut [u64] = regs;
            let task = *task;
            let mut pc = start;
            macro_rules! r { ($reg:expr) => { regs[$reg as usize] }; }
            macro_rules! word {
                ($array:ident, $at:ident, $write:literal) => {{
                    let array = &regs[$array as usize..][..shared::REGISTERS];
                    shared::word(dynamic, array, r!($at), $write)?
                }};
            }
            macro_rules! out_of_range {
                ($clear:ident, $site:ident, $values:expr) => {{
                    let values = $values;
                    r!($clear) = 0;
                    pc += 1;
                    match $site & SPECULATIVE {
                        0 => report(regs, *memory, task, $site, &values)?,
                        _ => r!($site & !SPECULATIVE) = 1,
                    }
                }};
            }
            while let Some(&op) = code.get(pc) {
                pc += 1;
                match op {
                    $(
                        Op::$f32(d, a) => {
                            let $fx = f32::get(r!(a));
                            r!(d) = put($fe);
                        }
                        Op::$f64(d, a) => {
                            let $fx = f64::get(r!(a));
                            r!(d) = put($fe);
                        }
                    )*
                    $(Op::$u(d, a) => {
                        let $ux = <$ut>::get(r!(a));
                        r!(d) = put($ue);
                    })*
                    $(Op::$b(d, a, b) => {
                        let ($bx, $by) = (<$bt>::get(r!(a)), <$bt>::get(r!(b)));
                        r!(d) = put($be);
                    })*
                    $(Op::$t(d, a, b, c) => {
                        let ($tx, $ty, $tz) = (<$tt>::get(r!(a)), <$tt>::get(r!(b)), <$tt>::get(r!(c)));
                        r!(d) = put($te);
                    })*
                    $(
                        Op::$c(d, a, b) => {
                            let ($cx, $cy) = (<$ct>::get(r!(a)), <$ct>::get(r!(b)));
                            r!(d) = put($ce);
                        }
                        Op::$c_if(a, b, to) => {
                            let ($cx, $cy) = (<$ct>::get(r!(a)), <$ct>::get(r!(b)));
                            if $ce {
                                pc = to as usize;
                            }
                        }
                        Op::$c_unless(a, b, to) => {
                            let ($cx, $cy) = (<$ct>::get(r!(a)), <$ct>::get(r!(b)));
                            let holds = $ce;
                            if !holds {
                                pc = to as usize;
                            }
                        }
                    )*
                    $(Op::$v(d, a, b, site) => {
                        let ($vx, $vy) = (<$vt>::get(r!(a)), <$vt>::get(r!(b)));
                        r!(d) = if $vy == 0 {
                            report(regs, *memory, task, site, &[])?;
                            0
                        } else {
                            put($ve)
                        };
                    })*
                    $(Op::$n(var, end, to) => {
                        let next = <$nt>::get(r!(var)).wrapping_add(1);
                        r!(var) = put(next);
                        if next < <$nt>::get(r!(end)) {
                            pc = to as usize;
                            consume_fuel(fuel)?;
                        }
                    })*
                    Op::Select(d, c, a, b) => r!(d) = if r!(c) != 0 { r!(a) } else { r!(b) },
                    Op::If(c, to) => {
                        if r!(c) != 0 {
                            pc = to as usize;
                        }
                    }
                    Op::Unless(c, to) => {
                        if r!(c) == 0 {
                            pc = to as usize;
                        }
                    }
                    Op::Jump(to) => pc = to as usize,
                    Op::Back(to) => {
                        pc = to as usize;
                        consume_fuel(fuel)?;
                    }
                    Op::Assert { cond, site, first, count, to } => {
                        if r!(cond) == 0 {
                            let values = &regs[first as usize..][..count as usize];
                            report(regs, *memory, task, site, values)?;
                            pc = to as usize;
                        }
                    }
                    Op::Index2(d, t, i, j) => {
                        r!(d) = r!(i).wrapping_mul(r!(t + 2)).wrapping_add(r!(j));
                    }
                    Op::Index3(d, t, i, j, k) => {
                        let row = r!(i).wrapping_mul(r!(t + 2)).wrapping_add(r!(j));
                        r!(d) = row.wrapping_mul(r!(t + 3)).wrapping_add(r!(k));
                    }
                    Op::Check1 { tensor, index: [i], clear, site } => {
                        if r!(i) >= r!(tensor + 1) {
                            out_of_range!(clear, site, [r!(i), r!(tensor + 1)]);
                        }
                    }
                    Op::Check2 { tensor, index: [i, j], clear, site } => {
                        if r!(i) >= r!(tensor + 1) || r!(j) >= r!(tensor + 2) {
                            out_of_range!(clear, site, [r!(i), r!(j), r!(tensor + 1), r!(tensor + 2)]);
                        }
                    }
                    Op::Check3 { tensor: t, index: [i, j, k], clear, site } => {
                        if r!(i) >= r!(t + 1) || r!(j) >= r!(t + 2) || r!(k) >= r!(t + 3) {
                            out_of_range!(clear, site, [r!(i), r!(j), r!(k), r!(t + 1), r!(t + 2), r!(t + 3)]);
                        }
                    }
                    Op::CheckMore { tensor, first, rank, clear, site } => {
                        let of = |reg: Reg| reg as usize..reg as usize + usize::from(rank);
                        let (index, shape) = (&regs[of(first)], &regs[of(tensor + 1)]);
                        if index.iter().zip(shape).any(|(at, extent)| at >= extent) {
                            let values: SmallVec<[u64; 2 * MAX_RANK]> =
                                index.iter().chain(shape).copied().collect();
                            out_of_range!(clear, site, values);
                        }
                    }
                    Op::Load1(d, t, i, size) => {
                        r!(d) = load(*memory, element(r!(t), r!(i), size), size)?;
                    }
                    Op::Load2(d, t, i, j, size) => {
                        let at = r!(i).wrapping_mul(r!(t + 2)).wrapping_add(r!(j));
                        r!(d) = load(*memory, element(r!(t), at, size), size)?;
                    }
                    Op::Store1(v, t, i, size) => {
                        store(*memory, element(r!(t), r!(i), size), size, r!(v))?;
                    }
                    Op::Store2(v, t, i, j, size) => {
                        let at = r!(i).wrapping_mul(r!(t + 2)).wrapping_add(r!(j));
                        store(*memory, element(r!(t), at, size), size, r!(v))?;
                    }
                    Op::Atomic(d, t, i, v, combine) => {
                        let size = combine.size();
                        let address = element(r!(t), r!(i), size);
                        let (old, new) = (load(*memory, address, size)?, r!(v));
                        store(*memory, address, size, combine.combine(old, new))?;
                        r!(d) = old;
                    }
                    Op::CompareExchange { to, tensor, index, expected, value, combine } => {
                        let size = combine.size();
                        let address = element(r!(tensor), r!(index), size);
                        let old = load(*memory, address, size)?;
                        let new = if old == r!(expected) { r!(value) } else { old };
                        store(*memory, address, size, new)?;
                        r!(to) = old;
                    }
                    Op::Clear { first, len } => {
                        regs[first as usize..][..len as usize].fill(0);
                    }
                    Op::CheckShared { index, len, clear, site } => {
                        if r!(index) >= u64::from(len) {
                            out_of_range!(clear, site, [r!(index), u64::from(len)]);
                        }
                    }
                    Op::CheckShared2 { index: [i, j], dims: [rows, columns], clear, site } => {
                        if r!(i) >= u64::from(rows) || r!(j) >= u64::from(columns) {
                            out_of_range!(clear, site, [r!(i), r!(j), u64::from(rows), u64::from(columns)]);
                        }
                    }
                    Op::CheckShared3 { index, dims, clear, site } => {
                        let (index, dims) = (index.map(|at| r!(at)), dims.map(u64::from));
                        if index.iter().zip(dims).any(|(at, dim)| *at >= dim) {
                            let ([i, j, k], [a, b, c]) = (index, dims);
                            out_of_range!(clear, site, [i, j, k, a, b, c]);
                        }
                    }
                    Op::SharedLoad(d, first, len, i) => {
                        r!(d) = regs[shared::register(first, len, r!(i), false)?];
                    }
                    Op::SharedStore(v, first, len, i) => {
                        regs[shared::register(first, len, r!(i), true)?] = r!(v);
                    }
                    Op::SharedAtomic(d, first, len, i, v, combine) => {
                        let at = shared::register(first, len, r!(i), true)?;
                        let old = regs[at];
                        regs[at] = combine.combine(old, r!(v));
                        r!(d) = old;
                    }
                    Op::SharedCompareExchange { to, first, len, index, expected, value } => {
                        let at = shared::register(first, len, r!(index), true)?;
                        let old = regs[at];
                        if old == r!(expected) {
                            regs[at] = r!(value);
                        }
                        r!(to) = old;
                    }
                    Op::NewShared { array } => {
                        shared::allocate(dynamic, &mut regs[array as usize..][..shared::REGISTERS])?;
                    }
                    Op::DynamicLoad(d, array, i) => r!(d) = *word!(array, i, false),
                    Op::DynamicStore(v, array, i) => *word!(array, i, true) = r!(v),
                    Op::DynamicAtomic(d, array, i, v, combine) => {
                        let word = word!(array, i, true);
                        let new = combine.combine(*word, r!(v));
                        r!(d) = std::mem::replace(word, new);
                    }
                    Op::DynamicCompareExchange { to, array, index, expected, value } => {
                        let word = word!(array, index, true);
                        let new = if *word == r!(expected) { r!(value) } else { *word };
                        r!(to) = std::mem::replace(word, new);
                    }
                    Op::Reduce { to, first, len, combine } => {
                        let values = &mut regs[first as usize..][..len as usize];
                        let total = collective::reduce(values, 0, |a, b| combine.combine(a, b));
                        r!(to) = total;
                    }
                    Op::Scan { first, len, combine, exclusive } => {
                        let values = &mut regs[first as usize..][..len as usize];
                        let identity = exclusive.then(|| combine.identity());
                        collective::scan(values, identity, |a, b| combine.combine(a, b));
                    }
                    Op::Shuffle { first, len, from } => {
                        let from = regs[from as usize..][..len as usize].to_vec();
                        collective::shuffle(&mut regs[first as usize..][..len as usize], &from);
                    }
                    Op::Ballot { first, len } => {
                        let values = &mut regs[first as usize..][..len as usize];
                        let votes: Vec<bool> = values.iter().map(|vote| *vote != 0).collect();
                        for (warp, bits) in values.chunks_mut(collective::WARP).zip(collective::ballots(&votes)) {
                            warp.fill(u64::from(bits));
                        }
                    }
                    Op::Print { site, first, count } => {
                        let values = &regs[first as usize..][..count as usize];
                        print_message(regs, *memory, site, values)?;
                    }
                    Op::LoadWord(d, at, words, size) => {
                        let address = r!(at).wrapping_add(8 * u64::from(words));
                        r!(d) = load(*memory, address, size)?;
                    }
                    Op::StoreWord(v, at, words) => {
                        let address = r!(at).wrapping_add(8 * u64::from(words));
                        memory.store(address, 8, r!(v))?;
                    }
                }
            }
            Ok(())
        }
    };
}

machine! {
    float_functions {
        Sqrt SqrtF32 SqrtF64 |x| x.sqrt();
        Sin SinF32 SinF64 |x| Elementary::sin(x);
        Cos CosF32 CosF64 |x| Elementary::cos(x);
        Tan TanF32 TanF64 |x| Elementary::tan(x);
        Exp ExpF32 ExpF64 |x| Elementary::exp(x);
        Ln LnF32 LnF64 |x| Elementary::ln(x);
        Abs AbsF32 AbsF64 |x| x.abs();
        Floor FloorF32 FloorF64 |x| x.floor();
        Ceil CeilF32 CeilF64 |x| x.ceil();
        Round RoundF32 RoundF64 |x| x.round();
        Tanh TanhF32 TanhF64 |x| Elementary::tanh(x);
        Trunc TruncF32 TruncF64 |x| x.trunc();
        Exp2 Exp2F32 Exp2F64 |x| Elementary::exp2(x);
        Log2 Log2F32 Log2F64 |x| Elementary::log2(x);
        Log10 Log10F32 Log10F64 |x| Elementary::log10(x);
        Cbrt CbrtF32 CbrtF64 |x| Elementary::cbrt(x);
        Asin AsinF32 AsinF64 |x| Elementary::asin(x);
        Acos AcosF32 AcosF64 |x| Elementary::acos(x);
        Atan AtanF32 AtanF64 |x| Elementary::atan(x);
        Sinh SinhF32 SinhF64 |x| Elementary::sinh(x);
        Cosh CoshF32 CoshF64 |x| Elementary::cosh(x);
        ExpM1 ExpM1F32 ExpM1F64 |x| Elementary::exp_m1(x);
        Ln1p Ln1pF32 Ln1pF64 |x| Elementary::ln_1p(x);
        Asinh AsinhF32 AsinhF64 |x| Elementary::asinh(x);
        Acosh AcoshF32 AcoshF64 |x| Elementary::acosh(x);
        Atanh AtanhF32 AtanhF64 |x| Elementary::atanh(x);
        RoundEven RoundEvenF32 RoundEvenF64 |x| x.round_ties_even();
    }
    unary {
        Move(u64) |x| x;
        Neg32(i32) |x| x.wrapping_neg();
        Neg64(i64) |x| x.wrapping_neg();
        NegF32(f32) |x| -x;
        NegF64(f64) |x| -x;
        NotBool(bool) |x| !x;
        Not32(u32) |x| !x;
        Not64(u64) |x| !x;
        AbsI32(i32) |x| x.wrapping_abs();
        AbsI64(i64) |x| x.wrapping_abs();
        CountOnes32(u32) |x| x.count_ones();
        CountOnes64(u64) |x| x.count_ones();
        LeadingZeros32(u32) |x| x.leading_zeros();
        LeadingZeros64(u64) |x| x.leading_zeros();
        TrailingZeros32(u32) |x| x.trailing_zeros();
        TrailingZeros64(u64) |x| x.trailing_zeros();
        ReverseBits32(u32) |x| x.reverse_bits();
        ReverseBits64(u64) |x| x.reverse_bits();
        Extend8(u32) |x| i32::from(x as u8 as i8);
        Extend16(u32) |x| i32::from(x as u16 as i16);
        Extend32(i32) |x| i64::from(x);
        Truncate8(u32) |x| x & 0xff;
        Truncate16(u32) |x| x & 0xffff;
        Truncate32(u64) |x| x as u32;
        I32ToF32(i32) |x| x as f32;
        I32ToF64(i32) |x| f64::from(x);
        I64ToF32(i64) |x| x as f32;
        I64ToF64(i64) |x| x as f64;
        UToF32(u64) |x| x as f32;
        UToF64(u64) |x| x as f64;
        F32ToI32(f32) |x| x as i32;
        F32ToI64(f32) |x| x as i64;
        F32ToU32(f32) |x| x as u32;
        F32ToU64(f32) |x| x as u64;
        F64ToI32(f64) |x| x as i32;
        F64ToI64(f64) |x| x as i64;
        F64ToU32(f64) |x| x as u32;
        F64ToU64(f64) |x| x as u64;
        F16ToF32(u32) |x| half::f16::from_bits(x as u16).to_f32();
        F32ToF16(f32) |x| u32::from(half::f16::from_f32(x).to_bits());
        F32ToF64(f32) |x| f64::from(x);
        F64ToF32(f64) |x| x as f32;
    }
    binary {
        Add32(u32) |x, y| x.wrapping_add(y);
        Add64(u64) |x, y| x.wrapping_add(y);
        AddF32(f32) |x, y| x + y;
        AddF64(f64) |x, y| x + y;
        Sub32(u32) |x, y| x.wrapping_sub(y);
        Sub64(u64) |x, y| x.wrapping_sub(y);
        SubF32(f32) |x, y| x - y;
        SubF64(f64) |x, y| x - y;
        Mul32(u32) |x, y| x.wrapping_mul(y);
        Mul64(u64) |x, y| x.wrapping_mul(y);
        MulF32(f32) |x, y| x * y;
        MulF64(f64) |x, y| x * y;
        DivF32(f32) |x, y| x / y;
        DivF64(f64) |x, y| x / y;
        RemF32(f32) |x, y| x % y;
        RemF64(f64) |x, y| x % y;
        And(u64) |x, y| x & y;
        Or(u64) |x, y| x | y;
        Xor(u64) |x, y| x ^ y;
        Shl32(u32) |x, y| x.wrapping_shl(y);
        Shl64(u64) |x, y| x.wrapping_shl(y as u32);
        ShrI32(i32) |x, y| x.wrapping_shr(y as u32);
        ShrI64(i64) |x, y| x.wrapping_shr(y as u32);
        ShrU32(u32) |x, y| x.wrapping_shr(y);
        ShrU64(u64) |x, y| x.wrapping_shr(y as u32);
        MinI32(i32) |x, y| x.min(y);
        MinI64(i64) |x, y| x.min(y);
        MinU(u64) |x, y| x.min(y);
        MinF32(f32) |x, y| x.minimum_number(y);
        MinF64(f64) |x, y| x.minimum_number(y);
        MaxI32(i32) |x, y| x.max(y);
        MaxI64(i64) |x, y| x.max(y);
        MaxU(u64) |x, y| x.max(y);
        MaxF32(f32) |x, y| x.maximum_number(y);
        MaxF64(f64) |x, y| x.maximum_number(y);
        PowfF32(f32) |x, y| Elementary::powf(x, y);
        PowfF64(f64) |x, y| Elementary::powf(x, y);
        PowiF32(u64) |x, y| f32::get(x).power(i32::get(y));
        PowiF64(u64) |x, y| f64::get(x).power(i32::get(y));
        HypotF32(f32) |x, y| Elementary::hypot(x, y);
        HypotF64(f64) |x, y| Elementary::hypot(x, y);
        Atan2F32(f32) |x, y| Elementary::atan2(x, y);
        Atan2F64(f64) |x, y| Elementary::atan2(x, y);
    }
    ternary {
        FusedF32(f32) |x, y, z| x.mul_add(y, z);
        FusedF64(f64) |x, y, z| x.mul_add(y, z);
        // Rounds twice; only the dispatch is fused.
        MulAddF32(f32) |x, y, z| x * y + z;
        MulAddF64(f64) |x, y, z| x * y + z;
        MulAdd32(u32) |x, y, z| x.wrapping_mul(y).wrapping_add(z);
        MulAdd64(u64) |x, y, z| x.wrapping_mul(y).wrapping_add(z);
    }
    compare {
        Eq IfEq UnlessEq (u64) |x, y| x == y;
        Ne IfNe UnlessNe (u64) |x, y| x != y;
        EqF32 IfEqF32 UnlessEqF32 (f32) |x, y| x == y;
        EqF64 IfEqF64 UnlessEqF64 (f64) |x, y| x == y;
        NeF32 IfNeF32 UnlessNeF32 (f32) |x, y| x != y;
        NeF64 IfNeF64 UnlessNeF64 (f64) |x, y| x != y;
        LtI32 IfLtI32 UnlessLtI32 (i32) |x, y| x < y;
        LtI64 IfLtI64 UnlessLtI64 (i64) |x, y| x < y;
        LtU IfLtU UnlessLtU (u64) |x, y| x < y;
        LtF32 IfLtF32 UnlessLtF32 (f32) |x, y| x < y;
        LtF64 IfLtF64 UnlessLtF64 (f64) |x, y| x < y;
        LeI32 IfLeI32 UnlessLeI32 (i32) |x, y| x <= y;
        LeI64 IfLeI64 UnlessLeI64 (i64) |x, y| x <= y;
        LeU IfLeU UnlessLeU (u64) |x, y| x <= y;
        LeF32 IfLeF32 UnlessLeF32 (f32) |x, y| x <= y;
        LeF64 IfLeF64 UnlessLeF64 (f64) |x, y| x <= y;
    }
    divide {
        DivI32(i32) |x, y| x.wrapping_div(y);
        DivI64(i64) |x, y| x.wrapping_div(y);
        DivU(u64) |x, y| x / y;
        RemI32(i32) |x, y| x.wrapping_rem(y);
        RemI64(i64) |x, y| x.wrapping_rem(y);
        RemU(u64) |x, y| x % y;
    }
    next {
        NextI32(i32);
        NextI64(i64);
        NextU(u64);
    }
}

impl CombineOp {
    fn size(self) -> Size {
        match self {
            Self::Add32 | Self::AddF32 | Self::MinI32 | Self::MaxI32 => Size::Four,
            Self::MinU32 | Self::MaxU32 | Self::MinF32 | Self::MaxF32 => Size::Four,
            Self::Replace32 | Self::And32 | Self::Or32 | Self::Xor32 => Size::Four,
            Self::And | Self::Or | Self::Xor => Size::Bool,
            _ => Size::Eight,
        }
    }

    /// The identity element, for the first thread of an exclusive scan.
    pub(super) fn identity(self) -> u64 {
        match self {
            Self::Add32 | Self::Add64 | Self::AddF32 | Self::AddF64 | Self::Or => 0,
            Self::MaxU32 | Self::MaxU64 | Self::Replace32 | Self::Replace64 => 0,
            Self::Or32 | Self::Or64 | Self::Xor | Self::Xor32 | Self::Xor64 => 0,
            Self::And => 1,
            Self::And32 => put(u32::MAX),
            Self::And64 => u64::MAX,
            Self::MinI32 => put(i32::MAX),
            Self::MinI64 => put(i64::MAX),
            Self::MinU32 => put(u32::MAX),
            Self::MinU64 => put(u64::MAX),
            Self::MaxI32 => put(i32::MIN),
            Self::MaxI64 => put(i64::MIN),
            Self::MinF32 => put(f32::INFINITY),
            Self::MinF64 => put(f64::INFINITY),
            Self::MaxF32 => put(f32::NEG_INFINITY),
            Self::MaxF64 => put(f64::NEG_INFINITY),
        }
    }

    fn combine(self, old: u64, new: u64) -> u64 {
        match self {
            Self::Add32 => put(u32::get(old).wrapping_add(u32::get(new))),
            Self::Add64 => old.wrapping_add(new),
            Self::AddF32 => put(f32::get(old) + f32::get(new)),
            Self::AddF64 => put(f64::get(old) + f64::get(new)),
            Self::MinI32 => put(i32::get(old).min(i32::get(new))),
            Self::MinI64 => put(i64::get(old).min(i64::get(new))),
            Self::MaxI32 => put(i32::get(old).max(i32::get(new))),
            Self::MaxI64 => put(i64::get(old).max(i64::get(new))),
            Self::MinF32 => put(f32::get(old).minimum_number(f32::get(new))),
            Self::MinF64 => put(f64::get(old).minimum_number(f64::get(new))),
            Self::MaxF32 => put(f32::get(old).maximum_number(f32::get(new))),
            Self::MaxF64 => put(f64::get(old).maximum_number(f64::get(new))),
            Self::Replace32 | Self::Replace64 => new,
            Self::And | Self::And32 | Self::And64 => old & new,
            Self::Or | Self::Or32 | Self::Or64 => old | new,
            Self::Xor | Self::Xor32 | Self::Xor64 => old ^ new,
            Self::MinU32 | Self::MinU64 => old.min(new),
            Self::MaxU32 | Self::MaxU64 => old.max(new),
        }
    }
}

#[inline(always)]
pub(super) fn consume_fuel(fuel: &mut u64) -> Result<(), ExecFault> {
    *fuel = fuel.checked_sub(1).ok_or(ExecFault::OutOfFuel)?;
    Ok(())
}

#[inline(always)]
fn element(base: u64, at: u64, size: Size) -> u64 {
    base.wrapping_add(at.wrapping_mul(size.bytes() as u64))
}

#[inline(always)]
fn load<M: Memory>(memory: &mut M, address: u64, size: Size) -> Result<u64, ExecFault> {
    // One call per size, so that each is inlined with a constant size.
    match size {
        Size::Four => memory.load(address, 4),
        Size::Eight => memory.load(address, 8),
        Size::One => memory.load(address, 1),
        Size::Two => memory.load(address, 2),
        Size::Bool => Ok(u64::from(memory.load(address, 1)? != 0)),
    }
}

#[inline(always)]
fn store<M: Memory>(memory: &mut M, address: u64, size: Size, bits: u64) -> Result<(), ExecFault> {
    match size {
        Size::Four => memory.store(address, 4, bits),
        Size::Eight => memory.store(address, 8, bits),
        Size::Bool | Size::One => memory.store(address, 1, bits),
        Size::Two => memory.store(address, 2, bits),
    }
}
