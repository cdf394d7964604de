//! Random kernels of every construct, with arguments for them.

use quadrants_ir::*;

use crate::make::{Arg, Bool, F32, F64, I32, I64, Maker, U32, U64};

/// A xorshift generator.
pub(crate) struct Rng(u64);

/// What a generated statement may do.
#[derive(Clone, Copy)]
struct Place {
    depth: u32,
    in_loop: bool,
    parallel: bool,
}

struct Generator<'r> {
    rng: &'r mut Rng,
    make: Maker,
    scalars: Vec<ExprId>,
    tensors: Vec<(ParamId, u8)>,
    /// The locals in scope.
    scope: Vec<LocalId>,
    /// Those before this one are outside the parallel loop.
    own_from: usize,
}

impl Rng {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    pub(crate) fn below(&mut self, end: u64) -> u64 {
        (self.next() >> 11) % end
    }

    pub(crate) fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    pub(crate) fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as u64) as usize]
    }

    fn value(&mut self, ty: ScalarType) -> Const {
        let small = self.below(9) as i64 - 3;
        match ty {
            Bool => self.chance(50).into(),
            F32 => self.pick(&[small as f32 / 2.0, -0.0, 1e30, f32::NAN, f32::INFINITY]).into(),
            F64 => self.pick(&[small as f64 / 2.0, -0.0, 1e300, f64::NAN, -f64::INFINITY]).into(),
            _ if self.chance(85) => Const::from_bits(ty, small.unsigned_abs()),
            _ => {
                let bits = self.next();
                Const::from_bits(
                    ty,
                    self.pick(&[bits, u64::MAX, 1 << 31, 1 << 63, i64::MAX as u64]),
                )
            }
        }
    }
}

/// A kernel that the verifier accepts, and arguments.
pub(crate) fn generate(rng: &mut Rng) -> (Kernel, Vec<Arg>) {
    let mut generator = Generator {
        rng,
        make: Maker::new("random"),
        scalars: Vec::new(),
        tensors: Vec::new(),
        scope: Vec::new(),
        own_from: 0,
    };
    let args = generator.params();
    generator.body();
    (generator.make.0, args)
}

impl Generator<'_> {
    fn params(&mut self) -> Vec<Arg> {
        let mut args = Vec::new();
        for i in 0..2 + self.rng.below(3) {
            let ty = self.rng.pick(&ScalarType::ALL);
            let scalar = self.make.scalar(&format!("s{i}"), ty);
            self.scalars.push(scalar);
            args.push(Arg::Scalar(self.rng.value(ty)));
        }
        for i in 0..2 + self.rng.below(3) {
            let ty = self.rng.pick(&ScalarType::ALL);
            let rank = 1 + self.rng.below(3) as u8;
            let tensor = self.make.tensor(&format!("t{i}"), ty, rank);
            self.tensors.push((tensor, rank));
            let shape: Vec<u64> = (0..rank).map(|_| 1 + self.rng.below(4)).collect();
            let count: u64 = shape.iter().product();
            let elements = (0..count).map(|_| self.rng.value(ty)).collect();
            args.push(Arg::Tensor { shape, elements });
        }
        args
    }

    fn body(&mut self) {
        let grouped = self.rng.chance(25);
        if !grouped {
            let body = self.items(4);
            self.make.0.body = body;
            if self.rng.chance(50) {
                let ty = self.rng.pick(&ScalarType::ALL);
                let value = self.expr(ty, 3);
                self.make.0.result = Some(ty);
                self.make.0.body.push(TopStmt::Return(value));
            }
            return;
        }
        let mut stmts = Vec::new();
        for _ in 0..self.rng.below(4) {
            let ty = self.rng.pick(&ScalarType::ALL);
            let value = self.expr(ty, 2);
            let local = self.make.local("shared", ty);
            stmts.push(Stmt::Let { local, value });
            self.scope.push(local);
        }
        let mut body = vec![self.make.serial(stmts)];
        for group in 1..=1 + self.rng.below(3) as u32 {
            let mark = self.scope.len();
            let items = self.items(3);
            self.scope.truncate(mark);
            body.push(TopStmt::Group { group: GroupId::new(group), body: items });
        }
        self.make.0.body = body;
    }

    fn items(&mut self, most: u64) -> Vec<TopStmt> {
        let mut items = Vec::new();
        for _ in 0..=self.rng.below(most) {
            if self.rng.chance(50) {
                let place = Place { depth: 3, in_loop: false, parallel: false };
                let stmts = self.stmts(place, 5);
                items.push(self.make.serial(stmts));
            } else {
                items.push(self.parallel());
            }
        }
        items
    }

    /// A parallel loop over a tensor's shape or small constants, so that the host knows its bounds.
    fn parallel(&mut self) -> TopStmt {
        let mark = self.scope.len();
        let (tensor, rank) = self.rng.pick(&self.tensors.clone());
        let over_shape = self.rng.chance(60);
        let ty = if over_shape { U64 } else { self.rng.pick(&[I32, I64, U32, U64]) };
        let dims: Vec<_> = (0..rank)
            .map(|axis| {
                let var = self.make.local("i", ty);
                let begin = self.make.constant(Const::from_bits(ty, self.rng.below(2)));
                let end = if over_shape {
                    self.make.dim(tensor, axis)
                } else {
                    self.make.constant(Const::from_bits(ty, self.rng.below(4)))
                };
                (var, begin, end)
            })
            .collect();
        let outside = std::mem::replace(&mut self.own_from, mark);
        self.scope.extend(dims.iter().map(|dim| dim.0));
        let stmts = self.stmts(Place { depth: 3, in_loop: false, parallel: true }, 5);
        self.scope.truncate(mark);
        self.own_from = outside;
        self.make.parallel(&dims, stmts)
    }

    fn stmts(&mut self, place: Place, most: u64) -> Vec<Stmt> {
        let mut stmts = Vec::new();
        for _ in 0..=self.rng.below(most) {
            self.stmt(place, &mut stmts);
        }
        stmts
    }

    fn scoped(&mut self, place: Place) -> BlockId {
        let mark = self.scope.len();
        let stmts = self.stmts(Place { depth: place.depth - 1, ..place }, 3);
        self.scope.truncate(mark);
        self.make.block(stmts)
    }

    fn stmt(&mut self, place: Place, stmts: &mut Vec<Stmt>) {
        let nested = if place.depth > 0 { 12 } else { 8 };
        match self.rng.below(nested) {
            0..=2 => {
                let (ty, value) = self.any_value();
                let mutable = self.rng.chance(40);
                let local =
                    if mutable { self.make.variable("v", ty) } else { self.make.local("l", ty) };
                stmts.push(Stmt::Let { local, value });
                self.scope.push(local);
            }
            3 | 4 => {
                let own = self.scope[self.own_from.min(self.scope.len())..].to_vec();
                let mutable = |id: &LocalId| self.make.0.locals[*id].mutable;
                let own: Vec<LocalId> = own.into_iter().filter(mutable).collect();
                if !own.is_empty() {
                    let local = self.rng.pick(&own);
                    let value = self.expr(self.make.0.locals[local].ty, 3);
                    stmts.push(Stmt::Assign { local, value });
                }
            }
            5 | 6 => {
                let (tensor, rank) = self.rng.pick(&self.tensors.clone());
                let index = self.index(tensor, rank);
                let value = self.expr(self.make.elem(tensor), 3);
                stmts.push(self.make.store(tensor, &index, value));
            }
            7 => match self.rng.below(4) {
                0 if place.in_loop => stmts.push(Stmt::Break),
                1 if place.in_loop || place.parallel => stmts.push(Stmt::Continue),
                2 if place.parallel => {
                    let cond = self.expr(Bool, 2);
                    stmts.push(self.make.assert(cond, "random"));
                }
                _ => {
                    let value = self.effect().1;
                    stmts.push(Stmt::Eval { value });
                }
            },
            8 | 9 => {
                let cond = self.expr(Bool, 3);
                let (then, otherwise) = (self.scoped(place), self.scoped(place));
                let empty = self.make.block(Vec::new());
                let otherwise = self.rng.pick(&[otherwise, empty]);
                stmts.push(Stmt::If { cond, then, otherwise });
            }
            10 => {
                let ty = self.rng.pick(&[I32, I64, U32, U64]);
                let begin = self.expr(ty, 1);
                let three = self.make.constant(Const::from_bits(ty, 3));
                let begin = self.make.math(MathFn::Min, &[begin, three]);
                // At most a few rounds, whatever `begin` is.
                let end = self.make.binary(BinaryOp::Add, begin, three);
                let var = self.make.local("k", ty);
                self.scope.push(var);
                let body = self.scoped(Place { in_loop: true, ..place });
                self.scope.pop();
                stmts.push(Stmt::For { var, begin, end, body });
            }
            _ => self.repeat(place, stmts),
        }
    }

    /// A loop with a counter, so that it ends.
    fn repeat(&mut self, place: Place, stmts: &mut Vec<Stmt>) {
        let counter = self.make.variable("n", U32);
        let zero = self.make.constant(0u32);
        stmts.push(Stmt::Let { local: counter, value: zero });
        let (old, three, one) =
            (self.make.read(counter), self.make.constant(3u32), self.make.constant(1u32));
        let cond = self.make.binary(BinaryOp::Ge, old, three);
        let (then, otherwise) = (self.make.block(vec![Stmt::Break]), self.make.block(Vec::new()));
        let value = self.make.binary(BinaryOp::Add, old, one);
        let mut body =
            vec![Stmt::If { cond, then, otherwise }, Stmt::Assign { local: counter, value }];
        let mark = self.scope.len();
        let place = Place { depth: place.depth - 1, in_loop: true, ..place };
        body.extend(self.stmts(place, 3));
        self.scope.truncate(mark);
        let body = self.make.block(body);
        stmts.push(Stmt::Loop { body });
    }

    fn any_value(&mut self) -> (ScalarType, ExprId) {
        if self.rng.chance(45) {
            return self.effect();
        }
        let ty = self.rng.pick(&ScalarType::ALL);
        (ty, self.expr(ty, 3))
    }

    fn effect(&mut self) -> (ScalarType, ExprId) {
        let (tensor, rank) = self.rng.pick(&self.tensors.clone());
        let ty = self.make.elem(tensor);
        let op = self.rng.pick(&[AtomicOp::Add, AtomicOp::Min, AtomicOp::Max]);
        match self.rng.below(3) {
            0 if ty.is_int() || (ty.is_float() && op == AtomicOp::Add) => {
                let index = self.index(tensor, rank);
                let value = self.expr(ty, 2);
                (ty, self.make.atomic(op, tensor, &index, value))
            }
            1 => {
                let ty = self.rng.pick(&[I32, I64, U32, U64]);
                let (lhs, rhs) = (self.expr(ty, 2), self.expr(ty, 1));
                let op = self.rng.pick(&[DivRemOp::Div, DivRemOp::Rem]);
                (ty, self.make.div_rem(op, lhs, rhs))
            }
            _ => {
                let index = self.index(tensor, rank);
                (ty, self.make.load(tensor, &index))
            }
        }
    }

    fn index(&mut self, tensor: ParamId, rank: u8) -> Vec<ExprId> {
        (0..rank)
            .map(|axis| {
                let index = self.expr(U64, 2);
                if self.rng.chance(10) {
                    return index;
                }
                let (dim, one) = (self.make.dim(tensor, axis), self.make.constant(1u64));
                let last = self.make.binary(BinaryOp::Sub, dim, one);
                self.make.math(MathFn::Min, &[index, last])
            })
            .collect()
    }

    fn leaf(&mut self, ty: ScalarType) -> ExprId {
        let locals: Vec<LocalId> =
            self.scope.iter().copied().filter(|id| self.make.0.locals[*id].ty == ty).collect();
        if !locals.is_empty() && self.rng.chance(70) {
            let local = self.rng.pick(&locals);
            return self.make.read(local);
        }
        let scalars = self.scalars.iter().copied();
        let scalars: Vec<_> = scalars.filter(|id| self.make.0.exprs[*id].ty == ty).collect();
        if !scalars.is_empty() && self.rng.chance(50) {
            return self.rng.pick(&scalars);
        }
        if ty == U64 && self.rng.chance(30) {
            let (tensor, rank) = self.rng.pick(&self.tensors.clone());
            let axis = self.rng.below(u64::from(rank)) as u8;
            return self.make.dim(tensor, axis);
        }
        let value = self.rng.value(ty);
        self.make.constant(value)
    }

    fn expr(&mut self, ty: ScalarType, depth: u32) -> ExprId {
        use BinaryOp::*;
        if depth == 0 || self.rng.chance(20) {
            return self.leaf(ty);
        }
        let depth = depth - 1;
        match self.rng.below(6) {
            0 => {
                let (cond, then) = (self.expr(Bool, depth), self.expr(ty, depth));
                let otherwise = self.expr(ty, depth);
                self.make.expr(ty, ExprKind::Select { cond, then, otherwise })
            }
            _ if ty.is_narrow() => {
                let value = self.expr(ty.wide(), depth);
                self.make.cast(ty, value)
            }
            1 if matches!(ty, I32 | U32) && self.rng.chance(30) => {
                let from = self.rng.pick(&ScalarType::ALL);
                let from = if from.wide() == ty { from } else { ty };
                let value = self.expr(from, depth);
                self.make.cast(ty, value)
            }
            1 if ty.is_int() && self.rng.chance(20) => {
                let from = self.rng.pick(&[I32, U32, F32, I64, U64, F64]);
                let from = if from.size() == ty.size() { from } else { ty };
                let value = self.expr(from, depth);
                self.make.expr(ty, ExprKind::Bits { value })
            }
            1 if ty != Bool => {
                let from = self.rng.pick(&ScalarType::ALL).wide();
                let from = if ty.is_float() && from == Bool { I64 } else { from };
                let value = self.expr(from, depth);
                self.make.cast(ty, value)
            }
            2 if ty.is_float() || ty.is_int() => self.math(ty, depth),
            3 if ty == Bool || ty.is_signed_int() || ty.is_float() => {
                let value = self.expr(ty, depth);
                let op = if ty == Bool { UnaryOp::Not } else { UnaryOp::Neg };
                self.make.expr(ty, ExprKind::Unary { op, value })
            }
            3 => {
                use UnaryOp::{CountOnes, LeadingZeros, TrailingZeros};
                let value = self.expr(ty, depth);
                let op = self.rng.pick(&[UnaryOp::Not, CountOnes, LeadingZeros, TrailingZeros]);
                self.make.expr(ty, ExprKind::Unary { op, value })
            }
            4 if ty == Bool => {
                let operands = self.rng.pick(&ScalarType::ALL).wide();
                let (lhs, rhs) = (self.expr(operands, depth), self.expr(operands, depth));
                let op = self.rng.pick(&[Eq, Ne, Lt, Le, Gt, Ge]);
                self.make.binary(op, lhs, rhs)
            }
            4 if ty.is_int() => {
                let counts = self.rng.pick(&[I32, I64, U32, U64]);
                let (lhs, rhs) = (self.expr(ty, depth), self.expr(counts, depth));
                let op = self.rng.pick(&[Shl, Shr]);
                self.make.binary(op, lhs, rhs)
            }
            _ => {
                let op = match ty {
                    Bool => self.rng.pick(&[And, Or, Xor, Eq, Ne]),
                    F32 | F64 => self.rng.pick(&[Add, Sub, Mul, Div, Rem]),
                    _ => self.rng.pick(&[Add, Sub, Mul, And, Or, Xor]),
                };
                // Now and then one value twice, as an optimizer or a builder shares it.
                let lhs = self.expr(ty, depth);
                let rhs = if self.rng.chance(15) { lhs } else { self.expr(ty, depth) };
                self.make.binary(op, lhs, rhs)
            }
        }
    }

    fn math(&mut self, ty: ScalarType, depth: u32) -> ExprId {
        use MathFn::*;
        let function = match ty {
            F32 | F64 => self.rng.pick(&[
                Sqrt, Sin, Cos, Tan, Exp, Ln, Powf, Powi, Abs, Min, Max, Floor, Ceil, Round,
                MulAdd, Atan2, Tanh, Trunc, Exp2, Log2, Log10, Cbrt, Asin, Acos, Atan, Sinh, Cosh,
                Hypot,
            ]),
            I32 | I64 => self.rng.pick(&[Abs, Min, Max]),
            _ => self.rng.pick(&[Min, Max]),
        };
        let mut args = vec![self.expr(ty, depth)];
        for _ in 1..function.arity() {
            let ty = if function == Powi { I32 } else { ty };
            args.push(self.expr(ty, depth));
        }
        self.make.math(function, &args)
    }
}
