//! Random kernels with all IR constructs, and arguments for them.
//!
//! Results that may differ between correct implementations are avoided or hidden: the bits of a NaN, and the sign of a
//! zero that is the minimum or maximum of two zeros.

use quadrants_ir::{
    ScalarType::{Bool, F32, F64, I32, I64, U32, U64},
    abi::MAX_RANK,
    *,
};

use crate::{Builder, run::SampleArg};

/// A xorshift generator.
pub struct Rng(u64);

/// Constraints on the generated kernels.
#[derive(Clone, Copy, Default, Debug)]
pub struct Style {
    /// Only functions with exact results, and no sums that a GPU may flush to zero: strict kernels, bit-identical
    /// everywhere.
    pub exact: bool,
    /// The result must not depend on the order of iterations and of the blocks of a region.
    pub separate: bool,
}

/// The context of a generated statement.
#[derive(Clone, Copy)]
struct StatementContext {
    depth: u32,
    in_loop: bool,
    parallel: bool,
}

/// A tensor and its rank.
type Tensor = (ParamId, u8);

/// The tensors that generated statements may access.
#[derive(Clone, Default)]
struct May {
    load: Vec<Tensor>,
    store: Vec<Tensor>,
    atomic: Vec<Tensor>,
    /// The only allowed atomic operation; its result is not used.
    only: Option<AtomicOp>,
    /// The tensor of which only the iteration's own element may be accessed.
    own: Option<(ParamId, Vec<LocalId>)>,
}

struct Generator<'r> {
    rng: &'r mut Rng,
    style: Style,
    builder: Builder,
    scalars: Vec<ExprId>,
    tensors: Vec<Tensor>,
    may: May,
    /// The locals in scope.
    scope: Vec<LocalId>,
    /// The index of the first local in `scope` that is defined in the parallel loop.
    own_from: usize,
    /// The locals that the parallel loop combines into, and the operation of each.
    combined: Vec<(LocalId, AtomicOp)>,
}

impl Rng {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn draw(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    pub fn below(&mut self, end: u64) -> u64 {
        (self.draw() >> 11) % end
    }

    /// A random index below `count`.
    pub fn index(&mut self, count: usize) -> usize {
        self.below(count as u64) as usize
    }

    pub fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as u64) as usize]
    }

    /// A random value, often an edge case.
    pub fn value(&mut self, ty: ScalarType) -> Const {
        let small = self.below(9) as i64 - 3;
        match ty {
            Bool => self.chance(50).into(),
            F32 => self.pick(&[small as f32 / 2.0, -0.0, 1e30, f32::NAN, f32::INFINITY]).into(),
            ScalarType::F16 => {
                let bits = [0x3c00, 0x8000, 0x7c00, 0x7e00, 1, 0x03ff, 0x7bff, 0xc580];
                Const::from_bits(ty, self.pick(&bits))
            }
            F64 => self.pick(&[small as f64 / 2.0, -0.0, 1e300, f64::NAN, -f64::INFINITY]).into(),
            _ if self.chance(85) => Const::from_bits(ty, small.unsigned_abs()),
            _ => {
                let bits = self.draw();
                Const::from_bits(
                    ty,
                    self.pick(&[bits, u64::MAX, 1 << 31, 1 << 63, i64::MAX as u64]),
                )
            }
        }
    }
}

/// A kernel that passes verification, with arguments.
pub fn generate(rng: &mut Rng, style: Style) -> (Kernel, Vec<SampleArg>) {
    let mut generator = Generator {
        rng,
        style,
        builder: Builder::new("random"),
        scalars: Vec::new(),
        tensors: Vec::new(),
        may: May::default(),
        scope: Vec::new(),
        own_from: 0,
        combined: Vec::new(),
    };
    generator.builder.kernel.options.strict |= style.exact;
    let args = generator.params();
    generator.body();
    (generator.builder.kernel, args)
}

impl Generator<'_> {
    fn params(&mut self) -> Vec<SampleArg> {
        let mut args = Vec::new();
        for i in 0..2 + self.rng.below(3) {
            let ty = self.rng.pick(&ScalarType::ALL);
            let scalar = self.builder.scalar(&format!("s{i}"), ty);
            self.scalars.push(scalar);
            args.push(SampleArg::Scalar(self.rng.value(ty)));
        }
        for i in 0..2 + self.rng.below(3) {
            let elem = self.rng.pick(&ScalarType::ALL);
            let rank = match self.rng.below(10) {
                0 => self.rng.below(MAX_RANK as u64 + 1) as u8,
                _ => 1 + self.rng.below(3) as u8,
            };
            let writable = i == 0 || self.rng.chance(75);
            let scalars = 1 + self.rng.below(3) as u32;
            let kind = match self.rng.chance(30) {
                true => ParamKind::Component { elem, rank, writable, scalars },
                false => ParamKind::Tensor { elem, rank, writable, distinct: false },
            };
            let tensor = (self.builder.param(&format!("t{i}"), kind), rank);
            self.tensors.push(tensor);
            self.may.load.push(tensor);
            if writable {
                self.may.store.push(tensor);
                self.may.atomic.push(tensor);
            }
            let most = if rank > 3 { 2 } else { 4 };
            let shape: Vec<u64> = (0..rank).map(|_| 1 + self.rng.below(most)).collect();
            let of_each = kind.component_extent().map_or(1, u64::from);
            let count = of_each * shape.iter().product::<u64>();
            let elements = (0..count).map(|_| self.rng.value(elem)).collect();
            args.push(SampleArg::Tensor { shape, elements });
        }
        args
    }

    fn body(&mut self) {
        let grouped = self.rng.chance(25);
        if !grouped {
            let body = self.items(4);
            self.builder.kernel.body = body;
            if self.rng.chance(50) {
                let types: Vec<_> =
                    (0..=self.rng.below(3)).map(|_| self.rng.pick(&ScalarType::ALL)).collect();
                let values: Vec<_> = types.iter().map(|ty| self.expr(*ty, 3)).collect();
                self.builder.result(&values);
            }
            return;
        }
        let mut stmts = Vec::new();
        for _ in 0..self.rng.below(4) {
            let ty = self.rng.pick(&ScalarType::ALL);
            let value = self.expr(ty, 2);
            let local = self.builder.local("shared", ty);
            stmts.push(Stmt::Let { local, value });
            self.scope.push(local);
        }
        let mut body = vec![self.builder.serial(stmts)];
        let all = self.may.clone();
        let groups = 1 + self.rng.below(3) as u32;
        for group in 1..=groups {
            if self.style.separate {
                self.may = all.clone().of_group(group, groups);
            }
            let mark = self.scope.len();
            let items = self.items(3);
            self.scope.truncate(mark);
            body.push(TopStmt::RegionBlock {
                region_block: RegionBlockId::new(group),
                body: items,
            });
        }
        self.builder.kernel.body = body;
    }

    fn items(&mut self, most: u64) -> Vec<TopStmt> {
        let mut items = Vec::new();
        for _ in 0..=self.rng.below(most) {
            if self.rng.chance(50) {
                let place = StatementContext { depth: 3, in_loop: false, parallel: false };
                let stmts = self.stmts(place, 5);
                items.push(self.builder.serial(stmts));
            } else if self.rng.chance(15) {
                self.counted(&mut items);
            } else {
                let loop_ = self.parallel(None);
                items.push(loop_);
            }
        }
        items
    }

    /// A parallel loop with a bound loaded from a tensor, or computed from a loaded value.
    fn counted(&mut self, items: &mut Vec<TopStmt>) {
        let ty = self.rng.pick(&[I32, I64, U32, U64]);
        let mut stmts = Vec::new();
        let (read_ty, value) = self.effect();
        let read = self.builder.local("read", read_ty);
        stmts.push(Stmt::Let { local: read, value });
        self.scope.push(read);
        let (value, four) = (self.expr(ty, 2), self.builder.constant(Const::from_bits(ty, 4)));
        let value = self.builder.math(MathFn::Min, &[value, four]);
        let count = self.builder.local("count", ty);
        stmts.push(Stmt::Let { local: count, value });
        self.scope.push(count);
        items.push(self.builder.serial(stmts));
        let loop_ = self.parallel(Some(count));
        items.push(loop_);
    }

    /// A parallel loop over a tensor's shape or small constants, whose bounds the host can evaluate; or up to a local.
    fn parallel(&mut self, count: Option<LocalId>) -> TopStmt {
        let may = self.may.clone();
        let fits = |(_, rank): &Tensor| (1..=3).contains(rank);
        let written: Vec<Tensor> = may.store.iter().copied().filter(fits).collect();
        let over: Vec<Tensor> = match self.style.separate && !written.is_empty() {
            true => written,
            false => self.tensors.iter().copied().filter(fits).collect(),
        };
        let shape = (!over.is_empty()).then(|| self.rng.pick(&over));
        let shape = shape.filter(|_| self.style.separate || self.rng.chance(60));
        let rank = shape.map_or_else(|| 1 + self.rng.below(3) as u8, |(_, rank)| rank);
        let ty = match (count, shape) {
            (Some(local), _) => self.builder.kernel.locals[local].ty,
            (None, Some(_)) => U64,
            (None, None) => self.rng.pick(&[I32, I64, U32, U64]),
        };
        let dims: Vec<_> = (0..rank)
            .map(|axis| {
                let var = self.builder.local("i", ty);
                let begin = self.builder.constant(Const::from_bits(ty, self.rng.below(2)));
                let end = match (count, shape) {
                    (Some(local), _) => self.builder.read(local),
                    (None, Some((tensor, _))) => self.builder.dim(tensor, axis),
                    (None, None) => self.builder.constant(Const::from_bits(ty, self.rng.below(4))),
                };
                (var, begin, end)
            })
            .collect();
        let vars: Vec<LocalId> = dims.iter().map(|dim| dim.0).collect();
        if self.style.separate {
            let own = shape.filter(|own| count.is_none() && may.store.contains(own));
            self.separate(own.map(|(tensor, _)| (tensor, vars.clone())));
        }
        let before = self.scope.clone();
        self.choose_combined();
        let mark = self.scope.len();
        let outside = std::mem::replace(&mut self.own_from, mark);
        self.scope.extend(vars);
        let stmts = self.stmts(StatementContext { depth: 3, in_loop: false, parallel: true }, 5);
        self.scope = before;
        self.combined.clear();
        self.own_from = outside;
        self.may = may;
        let TopStmt::ParallelFor(mut parallel) = self.builder.parallel(&dims, stmts) else {
            unreachable!()
        };
        parallel.block_size = self.rng.chance(20).then(|| self.rng.pick(&[1, 32, 100, 256]));
        TopStmt::ParallelFor(parallel)
    }

    /// Takes locals out of the scope that the next loop combines into.
    fn choose_combined(&mut self) {
        for local in self.scope.clone() {
            let &Local { ty, mutable, .. } = &self.builder.kernel.locals[local];
            if mutable && (ty.is_int() || ty == Bool) && self.rng.chance(40) {
                let is_bitwise = ty == Bool || self.rng.chance(40);
                let ops = combining(|op| op.is_bitwise() == is_bitwise);
                self.combined.push((local, self.rng.pick(&ops)));
                self.scope.retain(|other| *other != local);
            }
        }
    }

    /// Restricts iterations to writing their own element, one kind of atomic on one tensor, and reading other tensors.
    fn separate(&mut self, own: Option<(ParamId, Vec<LocalId>)>) {
        let is_own = |id| own.as_ref().is_some_and(|own| own.0 == id);
        let elem = |id| self.builder.elem(id);
        let integers = self.may.atomic.iter().copied();
        let integers: Vec<Tensor> =
            integers.filter(|&(id, _)| elem(id).is_int() && !is_own(id)).collect();
        let combined = (!integers.is_empty()).then(|| self.rng.pick(&integers));
        self.may.load.retain(|tensor| !is_own(tensor.0) && Some(*tensor) != combined);
        self.may.store.clear();
        self.may.atomic = combined.into_iter().collect();
        self.may.only = Some(self.rng.pick(&combining(|_| true)));
        self.may.own = own;
    }

    fn stmts(&mut self, place: StatementContext, most: u64) -> Vec<Stmt> {
        let mut stmts = Vec::new();
        for _ in 0..=self.rng.below(most) {
            self.stmt(place, &mut stmts);
        }
        stmts
    }

    fn scoped(&mut self, place: StatementContext) -> BlockId {
        let mark = self.scope.len();
        let stmts = self.stmts(StatementContext { depth: place.depth - 1, ..place }, 3);
        self.scope.truncate(mark);
        self.builder.block(stmts)
    }

    fn stmt(&mut self, place: StatementContext, stmts: &mut Vec<Stmt>) {
        let nested = if place.depth > 0 { 12 } else { 8 };
        match self.rng.below(nested) {
            0..=2 => {
                let (ty, value) = self.any_value();
                let mutable = self.rng.chance(40);
                let local = if mutable {
                    self.builder.variable("v", ty)
                } else {
                    self.builder.local("l", ty)
                };
                stmts.push(Stmt::Let { local, value });
                self.scope.push(local);
            }
            3 | 4 => {
                let own = self.scope[self.own_from.min(self.scope.len())..].to_vec();
                let mutable = |id: &LocalId| self.builder.kernel.locals[*id].mutable;
                let own: Vec<LocalId> = own.into_iter().filter(mutable).collect();
                if !own.is_empty() {
                    let local = self.rng.pick(&own);
                    let value = self.expr(self.builder.kernel.locals[local].ty, 3);
                    stmts.push(Stmt::Assign { local, value });
                }
            }
            5 if place.parallel && !self.combined.is_empty() => {
                let (local, op) = self.rng.pick(&self.combined.clone());
                let value = self.expr(self.builder.kernel.locals[local].ty, 3);
                stmts.push(Stmt::Reduce { local, op, value });
            }
            5 | 6 => self.store(stmts),
            7 => match self.rng.below(4) {
                0 if place.in_loop => stmts.push(Stmt::Break),
                1 if place.in_loop || place.parallel => stmts.push(Stmt::Continue),
                2 if place.parallel => {
                    let cond = self.expr(Bool, 2);
                    stmts.push(self.builder.assert(cond, "random"));
                }
                _ => {
                    let value = self.effect().1;
                    stmts.push(Stmt::Eval { value });
                }
            },
            8 | 9 => {
                let cond = self.expr(Bool, 3);
                let (then, otherwise) = (self.scoped(place), self.scoped(place));
                let empty = self.builder.block(Vec::new());
                let otherwise = self.rng.pick(&[otherwise, empty]);
                stmts.push(Stmt::If { cond, then, otherwise });
            }
            10 => {
                let ty = self.rng.pick(&[I32, I64, U32, U64]);
                let begin = self.expr(ty, 1);
                let three = self.builder.constant(Const::from_bits(ty, 3));
                let begin = self.builder.math(MathFn::Min, &[begin, three]);
                // At most a few iterations, whatever `begin` is.
                let end = self.builder.binary(BinaryOp::Add, begin, three);
                let var = self.builder.local("k", ty);
                self.scope.push(var);
                let body = self.scoped(StatementContext { in_loop: true, ..place });
                self.scope.pop();
                let unroll = self.rng.pick(&[None, None, Some(0), Some(2)]);
                let down = self.rng.pick(&[false, true]);
                stmts.push(Stmt::For { var, begin, end, body, unroll, down });
            }
            _ => self.repeat(place, stmts),
        }
    }

    /// A `loop` with a counter, so that it terminates.
    fn repeat(&mut self, place: StatementContext, stmts: &mut Vec<Stmt>) {
        let counter = self.builder.variable("n", U32);
        let zero = self.builder.constant(0u32);
        stmts.push(Stmt::Let { local: counter, value: zero });
        let (old, three, one) =
            (self.builder.read(counter), self.builder.constant(3u32), self.builder.constant(1u32));
        let cond = self.builder.binary(BinaryOp::Ge, old, three);
        let (then, otherwise) =
            (self.builder.block(vec![Stmt::Break]), self.builder.block(Vec::new()));
        let value = self.builder.binary(BinaryOp::Add, old, one);
        let mut body =
            vec![Stmt::If { cond, then, otherwise }, Stmt::Assign { local: counter, value }];
        let mark = self.scope.len();
        let place = StatementContext { depth: place.depth - 1, in_loop: true, ..place };
        body.extend(self.stmts(place, 3));
        self.scope.truncate(mark);
        let body = self.builder.block(body);
        stmts.push(Stmt::Loop { body });
    }

    fn any_value(&mut self) -> (ScalarType, ExprId) {
        if self.rng.chance(45) {
            return self.effect();
        }
        let ty = self.rng.pick(&ScalarType::ALL);
        (ty, self.expr(ty, 3))
    }

    fn store(&mut self, stmts: &mut Vec<Stmt>) {
        let own = self.may.own.clone();
        let (tensor, index) = match own {
            Some((tensor, vars)) => (tensor, self.at(tensor, &vars)),
            None if self.may.store.is_empty() => return,
            None => {
                let (tensor, rank) = self.rng.pick(&self.may.store.clone());
                (tensor, self.index(tensor, rank))
            }
        };
        let value = self.expr(self.builder.elem(tensor), 3);
        stmts.push(self.builder.store(tensor, &index, value));
        if self.may.only.is_some() && self.rng.chance(40) && !self.may.atomic.is_empty() {
            let value = self.atomic().1;
            stmts.push(Stmt::Eval { value });
        }
    }

    fn effect(&mut self) -> (ScalarType, ExprId) {
        match self.rng.below(3) {
            0 if self.may.only.is_none() && !self.may.atomic.is_empty() => self.atomic(),
            1 => {
                let ty = self.rng.pick(&[I32, I64, U32, U64]);
                let (lhs, rhs) = (self.expr(ty, 2), self.expr(ty, 1));
                let op = self.rng.pick(&[DivRemOp::Div, DivRemOp::Rem]);
                (ty, self.builder.div_rem(op, lhs, rhs))
            }
            _ => {
                let own = self.may.own.clone();
                if let Some((tensor, vars)) = own
                    && (self.may.load.is_empty() || self.rng.chance(50))
                {
                    let index = self.at(tensor, &vars);
                    return (self.builder.elem(tensor), self.builder.load(tensor, &index));
                }
                if self.may.load.is_empty() {
                    let (one, two) = (self.expr(U64, 2), self.builder.constant(2u64));
                    return (U64, self.builder.div_rem(DivRemOp::Div, one, two));
                }
                let tensor = self.rng.pick(&self.may.load.clone());
                (self.builder.elem(tensor.0), self.load(tensor))
            }
        }
    }

    fn load(&mut self, (tensor, rank): Tensor) -> ExprId {
        let index = self.index(tensor, rank);
        self.builder.load(tensor, &index)
    }

    /// An atomic on a tensor of numbers, if there is one; else a load.
    fn atomic(&mut self) -> (ScalarType, ExprId) {
        let (tensor, rank) = self.rng.pick(&self.may.atomic.clone());
        let ty = self.builder.elem(tensor);
        let mut ops = combining(|_| true);
        ops.push(AtomicOp::Exchange);
        let op = self.rng.pick(&ops);
        let op = self.may.only.unwrap_or(op);
        // GPUs may flush subnormal sums of `f32` to zero.
        let adds = ty == F64 || ty == F32 && !self.style.exact;
        let fits = match op {
            AtomicOp::Add => ty.is_int() || adds,
            _ if op.is_bitwise() => ty.is_int() || ty == Bool,
            _ => ty.is_int() || ty.is_float(),
        };
        if !fits {
            return (ty, self.load((tensor, rank)));
        }
        // In a strict kernel, the additions have the order of iterations.
        self.builder.kernel.options.strict |= ty.is_float();
        let index = self.index(tensor, rank);
        let value = self.expr(ty, 2);
        if op == AtomicOp::Exchange && ty.is_int() && self.rng.chance(50) {
            let expected = self.expr(ty, 1);
            return (ty, self.builder.compare_exchange(tensor, &index, [expected, value]));
        }
        (ty, self.builder.atomic(op, tensor, &index, value))
    }

    /// The iteration's own element.
    fn at(&mut self, tensor: ParamId, vars: &[LocalId]) -> Vec<ExprId> {
        let at = |var: &LocalId| {
            let var = self.builder.read(*var);
            if self.builder.kernel.exprs[var].ty == U64 { var } else { self.builder.cast(U64, var) }
        };
        let mut index: Vec<ExprId> = vars.iter().map(at).collect();
        index.extend(self.choice(tensor));
        index
    }

    /// The index of a scalar in an element of a component with several.
    fn choice(&mut self, tensor: ParamId) -> Option<ExprId> {
        let component_extent =
            self.builder.kernel.params[tensor.index()].kind.component_extent()?;
        let choice = self.expr(U64, 1);
        if self.rng.chance(5) {
            return Some(choice);
        }
        let last = self.builder.constant(u64::from(component_extent) - 1);
        Some(self.builder.math(MathFn::Min, &[choice, last]))
    }

    fn index(&mut self, tensor: ParamId, rank: u8) -> Vec<ExprId> {
        let mut index: Vec<ExprId> = (0..rank)
            .map(|axis| {
                let index = self.expr(U64, 2);
                if self.rng.chance(10) {
                    return index;
                }
                let (dim, one) = (self.builder.dim(tensor, axis), self.builder.constant(1u64));
                let last = self.builder.binary(BinaryOp::Sub, dim, one);
                self.builder.math(MathFn::Min, &[index, last])
            })
            .collect();
        index.extend(self.choice(tensor));
        index
    }

    fn leaf(&mut self, ty: ScalarType) -> ExprId {
        let locals: Vec<LocalId> = self
            .scope
            .iter()
            .copied()
            .filter(|id| self.builder.kernel.locals[*id].ty == ty)
            .collect();
        if !locals.is_empty() && self.rng.chance(70) {
            let local = self.rng.pick(&locals);
            return self.builder.read(local);
        }
        let scalars = self.scalars.iter().copied();
        let scalars: Vec<_> =
            scalars.filter(|id| self.builder.kernel.exprs[*id].ty == ty).collect();
        if !scalars.is_empty() && self.rng.chance(50) {
            return self.rng.pick(&scalars);
        }
        let (tensor, rank) = self.rng.pick(&self.tensors);
        if ty == U64 && rank > 0 && self.rng.chance(30) {
            let axis = self.rng.below(u64::from(rank)) as u8;
            return self.builder.dim(tensor, axis);
        }
        let value = self.rng.value(ty);
        self.builder.constant(value)
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
                self.builder.expr(ty, ExprKind::Select { cond, then, otherwise })
            }
            _ if ty.is_narrow() => {
                let value = self.expr(ty.wide(), depth);
                self.builder.cast(ty, value)
            }
            1 if matches!(ty, I32 | U32) && self.rng.chance(30) => {
                let from = self.rng.pick(&ScalarType::ALL);
                let from = if from.wide() == ty { from } else { ty };
                let value = self.expr(from, depth);
                self.builder.cast(ty, value)
            }
            1 if ty.is_int() && self.rng.chance(20) => {
                let from = self.rng.pick(&[I32, U32, F32, I64, U64, F64]);
                let from = if from.size() == ty.size() { from } else { ty };
                let value = self.number(from, depth);
                self.builder.expr(ty, ExprKind::Bits { value })
            }
            1 if ty.is_float() && self.rng.chance(20) => {
                let from = if ty == F32 { [I32, U32, F32] } else { [I64, U64, F64] };
                let from = self.rng.pick(&from);
                let value = self.number(from, depth);
                let value = self.builder.expr(ty, ExprKind::Bits { value });
                self.unless_nan(value)
            }
            1 if ty != Bool => {
                let from = self.rng.pick(&ScalarType::ALL).wide();
                let from = if ty.is_float() && from == Bool { I64 } else { from };
                let value = self.expr(from, depth);
                self.builder.cast(ty, value)
            }
            2 if ty.is_float() || ty.is_int() => self.math(ty, depth),
            3 if ty == Bool || ty.is_wide_signed_int() || ty.is_float() => {
                let value = self.expr(ty, depth);
                let op = if ty == Bool { UnaryOp::Not } else { UnaryOp::Neg };
                self.builder.expr(ty, ExprKind::Unary { op, value })
            }
            3 => {
                use UnaryOp::{CountOnes, LeadingZeros, TrailingZeros};
                let value = self.expr(ty, depth);
                let op = self.rng.pick(&[UnaryOp::Not, CountOnes, LeadingZeros, TrailingZeros]);
                self.builder.expr(ty, ExprKind::Unary { op, value })
            }
            4 if ty == Bool => {
                let operands = self.rng.pick(&ScalarType::ALL).wide();
                let (lhs, rhs) = (self.expr(operands, depth), self.expr(operands, depth));
                let op = self.rng.pick(&[Eq, Ne, Lt, Le, Gt, Ge]);
                self.builder.binary(op, lhs, rhs)
            }
            4 if ty.is_int() => {
                let counts = self.rng.pick(&[I32, I64, U32, U64]);
                let (lhs, rhs) = (self.expr(ty, depth), self.expr(counts, depth));
                let op = self.rng.pick(&[Shl, Shr]);
                self.builder.binary(op, lhs, rhs)
            }
            _ => {
                let op = match ty {
                    Bool => self.rng.pick(&[And, Or, Xor, Eq, Ne]),
                    F32 | F64 => self.rng.pick(&[Add, Sub, Mul, Div, Rem]),
                    _ => self.rng.pick(&[Add, Sub, Mul, And, Or, Xor]),
                };
                // Sometimes a shared subexpression, as optimizers and builders create them.
                let lhs = self.expr(ty, depth);
                let rhs = if self.rng.chance(15) { lhs } else { self.expr(ty, depth) };
                self.builder.binary(op, lhs, rhs)
            }
        }
    }

    /// A value whose bits are the same everywhere.
    fn number(&mut self, ty: ScalarType, depth: u32) -> ExprId {
        let value = self.expr(ty, depth);
        if ty.is_float() { self.unless_nan(value) } else { value }
    }

    /// Replaces NaN by zero. NaN has many bit patterns, and some operations change them.
    fn unless_nan(&mut self, value: ExprId) -> ExprId {
        let ty = self.builder.kernel.exprs[value].ty;
        let cond = self.builder.binary(BinaryOp::Eq, value, value);
        let otherwise = self.builder.constant(Const::from_bits(ty, 0));
        self.builder.expr(ty, ExprKind::Select { cond, then: value, otherwise })
    }

    fn math(&mut self, ty: ScalarType, depth: u32) -> ExprId {
        use MathFn::*;
        const EXACT: [MathFn; 11] =
            [Sqrt, Powi, Abs, Min, Max, Floor, Ceil, Round, RoundEven, MulAdd, Trunc];
        let function = match ty {
            F32 | F64 if self.style.exact => self.rng.pick(&EXACT),
            F32 | F64 => self.rng.pick(&[
                Sqrt, Sin, Cos, Tan, Exp, Ln, Powf, Powi, Abs, Min, Max, Floor, Ceil, Round,
                MulAdd, Atan2, Tanh, Trunc, Exp2, Log2, Log10, Cbrt, Asin, Acos, Atan, Sinh, Cosh,
                Hypot, ExpM1, Ln1p, Asinh, Acosh, Atanh, RoundEven,
            ]),
            I32 | I64 => self.rng.pick(&[Abs, Min, Max]),
            _ => self.rng.pick(&[Min, Max]),
        };
        let mut args = vec![self.expr(ty, depth)];
        for _ in 1..function.arity() {
            let ty = if function == Powi { I32 } else { ty };
            args.push(self.expr(ty, depth));
        }
        let value = self.builder.math(function, &args);
        if ty.is_float() && matches!(function, Min | Max) {
            // Of two zeros either may be the smaller.
            let zero = self.builder.constant(Const::from_bits(ty, 0));
            return self.builder.binary(BinaryOp::Add, value, zero);
        }
        value
    }
}

impl May {
    /// Restricts a block of a region: it writes only its own tensors.
    fn of_group(self, group: u32, groups: u32) -> Self {
        let is_own = |(id, _): &Tensor| id.raw() % groups + 1 == group;
        let written = self.store.clone();
        let own = |list: Vec<Tensor>| list.into_iter().filter(is_own).collect();
        let load = self.load.into_iter();
        Self {
            load: load.filter(|t| is_own(t) || !written.contains(t)).collect(),
            store: own(self.store),
            atomic: own(self.atomic),
            only: None,
            own: None,
        }
    }
}

/// The operations whose order does not matter, and which `of` selects.
fn combining(of: impl Fn(AtomicOp) -> bool) -> Vec<AtomicOp> {
    AtomicOp::ALL.into_iter().filter(|op| op.combines() && of(*op)).collect()
}
