//! Index arithmetic with 32 bits: GPUs have 32-bit registers, so that an operation on 64-bit integers takes two to four
//! instructions, and a division many more.
//!
//! Values become `i32`, and sums and products [exact](crate::Expr::exact), because a device compiler adds the constant
//! distances of adjacent elements to an address at no cost only if it knows that the sum does not wrap. Divisions are
//! unsigned where the operands are.
//!
//! In tasks with [batches of loads](super::batch_loads), which are sums of few threads or matrix products, indices that
//! are sums of products keep 64 bits, except outside of serial loops if one of them has another operation: narrow
//! indices took up to 1.2 times as long there. In all other tasks every index, and the counters of serial loops, are
//! narrowed.
//!
//! A launch has [these forms](crate::abi::Forms::with_narrow_indices) only if the bounds proof showed that every value
//! that it [examined](Narrowable) fits. The rewrite therefore follows the proof: it changes a value only where the
//! proof examined it, with the conditions that hold there. Elsewhere, values keep 64 bits.

use std::collections::{HashMap, HashSet};

use super::{batch_loads, substitute::Substitution};
use crate::{
    Array, BinaryOp, BlockId, Const, Element, Expr, ExprId, ExprKind, Local, LocalId, MathFn,
    Offloaded, ScalarType, Stmt, TaskId, UnaryOp, launch_analysis::Narrowable,
};

/// How much of a task's index arithmetic has 32 bits.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) enum Width {
    /// Nothing.
    #[default]
    Wide,
    /// Indices with costly operations.
    Mixed,
    /// All indices and counters.
    Narrow,
}

/// Rewrites the body of a task, if that pays. Returns what it has done.
pub(super) fn run(kernel: &mut Offloaded, id: TaskId) -> Width {
    let everywhere = !batch_loads::applies(kernel, id);
    let narrowable = Narrowable::new(kernel, id);
    let body = kernel.tasks[id.index()].body;
    let mut extents = HashSet::new();
    find_extents(kernel, body, &mut extents);
    let loop_bounds = loop_bound_locals(kernel, body);
    let before = kernel.clone();
    let mut narrower = Narrower {
        copies: Substitution::new(kernel),
        narrowable,
        extents,
        loop_bounds,
        everywhere,
        loops: 0,
        in_innermost_loop: false,
        locals: HashMap::new(),
        computed: HashSet::new(),
        mixed: HashMap::new(),
        of_computed: HashMap::new(),
        selections: HashMap::new(),
        in_arm: false,
        narrow: HashMap::new(),
        rewritten: HashMap::new(),
        is_profitable: false,
    };
    narrower.block(body);
    match (narrower.is_profitable, everywhere) {
        (false, _) => {
            *kernel = before;
            Width::Wide
        }
        (true, false) => Width::Mixed,
        (true, true) => Width::Narrow,
    }
}

/// The locals that are extents of shared arrays, which have 64 bits.
fn find_extents(kernel: &Offloaded, block: BlockId, extents: &mut HashSet<LocalId>) {
    for stmt in &kernel.blocks[block].stmts {
        extents.extend(stmt.extent_locals());
        stmt.blocks().for_each(|inner| find_extents(kernel, inner, extents));
    }
}

/// The locals that bounds of serial loops depend on.
fn loop_bound_locals(kernel: &Offloaded, body: BlockId) -> HashSet<LocalId> {
    let (mut found, mut seen) = (HashSet::new(), HashSet::new());
    loop {
        let before = found.len();
        find_loop_bounds(kernel, body, &mut found, &mut seen);
        if found.len() == before {
            return found;
        }
    }
}

/// Adds the locals that bounds read, and those that values of already found locals read.
fn find_loop_bounds(
    kernel: &Offloaded,
    block: BlockId,
    found: &mut HashSet<LocalId>,
    seen: &mut HashSet<ExprId>,
) {
    for stmt in &kernel.blocks[block].stmts {
        match stmt {
            Stmt::For { begin, end, .. } => {
                find_locals(kernel, *begin, found, seen);
                find_locals(kernel, *end, found, seen);
            }
            Stmt::Let { local, value } | Stmt::Assign { local, value } if found.contains(local) => {
                find_locals(kernel, *value, found, seen);
            }
            _ => {}
        }
        stmt.blocks().for_each(|inner| find_loop_bounds(kernel, inner, found, seen));
    }
}

/// Adds the locals that a value reads, unless it was `seen` before.
fn find_locals(
    kernel: &Offloaded,
    value: ExprId,
    found: &mut HashSet<LocalId>,
    seen: &mut HashSet<ExprId>,
) {
    if !seen.insert(value) {
        return;
    }
    match &kernel.exprs[value].kind {
        ExprKind::Local(local) => {
            found.insert(*local);
        }
        kind => kind.operands().for_each(|operand| find_locals(kernel, operand, found, seen)),
    }
}

struct Narrower<'k> {
    /// With the values of locals that were replaced by locals of 32 bits.
    copies: Substitution<'k>,
    narrowable: Narrowable,
    extents: HashSet<LocalId>,
    /// The locals that bounds of serial loops depend on. Sums and selections for them keep 64 bits: for a bound such as
    /// `i + 1` with 32 bits, the compiler of ROCm 5.2 fails ("cannot select"), also if it has to move a selection out
    /// of the outer loop to get there.
    loop_bounds: HashSet<LocalId>,
    /// Whether all indices and loop counters are narrowed, not only those with a costly operation.
    everywhere: bool,
    /// The number of serial loops around the current position.
    loops: u32,
    /// Whether the innermost of them has no other loop or branch.
    in_innermost_loop: bool,
    /// The narrow values of locals that were replaced.
    locals: HashMap<LocalId, ExprId>,
    /// The locals of 32-bit types whose values are not sums of products.
    computed: HashSet<LocalId>,
    /// The results of [`is_mixed`](Self::is_mixed), [`is_computed`](Self::is_computed) and
    /// [`has_selection`](Self::has_selection): expressions share operands.
    mixed: HashMap<ExprId, bool>,
    of_computed: HashMap<ExprId, bool>,
    selections: HashMap<ExprId, bool>,
    /// Whether the current expression is part of an arm of a selection. The proof examines it with the condition, but
    /// the printer may compute a part that occurs twice before the selection, so that nothing in it is exact.
    in_arm: bool,
    /// The 32-bit expressions of examined ones, in arms of selections and elsewhere.
    narrow: HashMap<(ExprId, bool), Option<ExprId>>,
    /// The results of [`examined`](Self::examined), in arms of selections and elsewhere.
    rewritten: HashMap<(ExprId, bool), ExprId>,
    /// Whether an operation was found that [pays](Self::is_costly).
    is_profitable: bool,
}

impl Narrower<'_> {
    fn block(&mut self, block: BlockId) {
        let mut stmts = std::mem::take(&mut self.copies.kernel.blocks[block].stmts);
        for stmt in &mut stmts {
            self.stmt(stmt);
        }
        self.copies.kernel.blocks[block].stmts = stmts;
    }

    fn stmt(&mut self, stmt: &mut Stmt) {
        match stmt {
            Stmt::Let { local, value } => {
                if !is_wide(self.copies.kernel.locals[*local].ty) && self.is_computed(*value) {
                    self.computed.insert(*local);
                }
                match self.narrow_definition(*local, *value) {
                    Some((narrow, new)) => (*local, *value) = (narrow, new),
                    None if self.is_selected_bound(*local, *value) => {
                        *value = self.copies.value(*value);
                    }
                    None if self.narrowable.follows(*local) => *value = self.defined(*value),
                    None => *value = self.effect(*value),
                };
            }
            Stmt::Assign { local, value }
                if self.narrowable.follows(*local) && !self.is_selected_bound(*local, *value) =>
            {
                *value = self.examined(*value);
            }
            Stmt::Eval { value } => *value = self.effect(*value),
            Stmt::Store { element, value } => {
                self.element(element);
                *value = self.copies.value(*value);
            }
            Stmt::If { cond, then, otherwise } => {
                *cond = self.examined(*cond);
                let (then, otherwise) = (*then, *otherwise);
                self.block(then);
                self.block(otherwise);
            }
            Stmt::For { var, begin, end, body, .. } => {
                match self.narrow_bounds(*var, *begin, *end) {
                    Some(bounds) => {
                        (*begin, *end) = bounds;
                        *var = self.replaced(*var, ScalarType::I32);
                    }
                    None => (*begin, *end) = (self.loop_bound(*begin), self.loop_bound(*end)),
                }
                self.serial_loop(*body);
            }
            Stmt::Loop { body } => self.serial_loop(*body),
            Stmt::Phase { body, .. } => self.block(*body),
            Stmt::Assign { value, .. }
            | Stmt::Reduce { value, .. }
            | Stmt::ReduceTemp { value, .. }
            | Stmt::SetTemp { value, .. }
            | Stmt::SetResult { value, .. } => *value = self.copies.value(*value),
            Stmt::CollectiveInput { value, from } => {
                *value = self.copies.value(*value);
                *from = from.map(|from| self.copies.value(from));
            }
            Stmt::Assert { cond, values, .. } => {
                *cond = self.copies.value(*cond);
                values.iter_mut().for_each(|value| *value = self.copies.value(*value));
            }
            Stmt::Print { values, .. } => {
                values.iter_mut().for_each(|value| *value = self.copies.value(*value));
            }
            Stmt::Break | Stmt::Continue | Stmt::Shared { .. } | Stmt::Array { .. } => {}
        }
    }

    /// The bounds of a serial loop whose counter is narrowed.
    fn narrow_bounds(
        &mut self,
        var: LocalId,
        begin: ExprId,
        end: ExprId,
    ) -> Option<(ExprId, ExprId)> {
        let narrows = self.everywhere && is_wide(self.copies.kernel.locals[var].ty);
        if narrows { Some((self.narrow(begin)?, self.narrow(end)?)) } else { None }
    }

    /// A bound of a serial loop.
    fn loop_bound(&mut self, value: ExprId) -> ExprId {
        match self.has_selection(value) {
            true => self.copies.value(value),
            false => self.examined(value),
        }
    }

    /// Whether a bound of a serial loop depends on `local`, which gets the result of a selection.
    fn is_selected_bound(&mut self, local: LocalId, value: ExprId) -> bool {
        self.loop_bounds.contains(&local) && self.has_selection(value)
    }

    fn has_selection(&mut self, value: ExprId) -> bool {
        if let Some(known) = self.selections.get(&value) {
            return *known;
        }
        let kind = self.copies.kernel.exprs[value].kind.clone();
        let has = matches!(kind, ExprKind::Select { .. })
            || kind.operands().any(|operand| self.has_selection(operand));
        self.selections.insert(value, has);
        has
    }

    fn serial_loop(&mut self, body: BlockId) {
        let stmts = &self.copies.kernel.blocks[body].stmts;
        let innermost = !stmts.iter().any(|stmt| stmt.blocks().next().is_some());
        let outer = std::mem::replace(&mut self.in_innermost_loop, innermost);
        self.rewritten.clear();
        self.loops += 1;
        self.block(body);
        self.loops -= 1;
        self.in_innermost_loop = outer;
        self.rewritten.clear();
    }

    /// The local and the value that replace a definition, if they can have 32 bits.
    fn narrow_definition(&mut self, local: LocalId, value: ExprId) -> Option<(LocalId, ExprId)> {
        let Local { ty, mutable, .. } = self.copies.kernel.locals[local];
        if mutable
            || !is_wide(ty)
            || !self.narrowable.follows(local)
            || !self.narrowable.may_fit(value)
            || self.extents.contains(&local)
        {
            return None;
        }
        let kind = self.copies.kernel.exprs[value].kind.clone();
        let (new, narrow_ty) = if let ExprKind::DivRem { op, lhs, rhs, site } = kind {
            let narrow_ty = narrow_type(ty);
            let [lhs, rhs] = [self.narrow(lhs)?, self.narrow(rhs)?]
                .map(|operand| self.converted(operand, narrow_ty));
            let kind = ExprKind::DivRem { op, lhs, rhs, site };
            (self.copies.push(narrow_ty, kind), narrow_ty)
        } else {
            let narrows =
                self.everywhere || !self.loop_bounds.contains(&local) && self.is_mixed(value);
            if kind.is_effect() || !narrows {
                return None;
            }
            (self.narrow(value)?, ScalarType::I32)
        };
        Some((self.replaced(local, narrow_ty), new))
    }

    /// The local of a 32-bit type that replaces `local`.
    fn replaced(&mut self, local: LocalId, narrow: ScalarType) -> LocalId {
        self.is_profitable = true;
        let kernel = &mut self.copies.kernel;
        let wide = kernel.locals[local].ty;
        let new = Local { ty: narrow, ..kernel.locals[local].clone() };
        let new = kernel.locals.push(new);
        let read = self.copies.push(narrow, ExprKind::Local(new));
        let signed = self.converted(read, ScalarType::I32);
        self.locals.insert(local, signed);
        let wide = self.converted(read, wide);
        self.copies.values.insert(local, wide);
        new
    }

    /// The value of a definition that the proof follows.
    fn defined(&mut self, value: ExprId) -> ExprId {
        match self.copies.kernel.exprs[value].kind.is_effect() {
            true => self.effect(value),
            false => self.examined(value),
        }
    }

    /// A side effect, of which the proof examines the indices, or a value that it does not examine.
    fn effect(&mut self, value: ExprId) -> ExprId {
        let element = self.copies.kernel.exprs[value].kind.element().cloned();
        let new = self.copies.value(value);
        if let Some(mut element) = element {
            self.element(&mut element);
            let mut kind = self.copies.kernel.exprs[new].kind.clone();
            if let ExprKind::Load(at) | ExprKind::Atomic { element: at, .. } = &mut kind {
                *at = element;
            }
            let ty = self.copies.kernel.exprs[new].ty;
            return self.copies.push(ty, kind);
        }
        new
    }

    fn element(&mut self, element: &mut Element) {
        let index = &mut element.index;
        if let Array::Local(_) = element.array {
            index.iter_mut().for_each(|index| *index = self.copies.value(*index));
            return;
        }
        let mixed = index.iter().any(|index| self.is_mixed(*index));
        self.is_profitable |= mixed;
        let narrows = mixed || self.everywhere || self.loops == 0;
        for index in index {
            *index = match if narrows { self.narrow(*index) } else { None } {
                Some(_) if self.copies.constant(*index).is_some() => *index,
                Some(narrow) => {
                    self.is_profitable |= self.everywhere;
                    self.converted(narrow, ScalarType::U64)
                }
                None => self.examined(*index),
            };
        }
    }

    /// Whether a sum has a part that [is costly](Self::is_costly), or that was computed with 32 bits.
    fn is_mixed(&mut self, value: ExprId) -> bool {
        if let Some(known) = self.mixed.get(&value) {
            return *known;
        }
        let mixed = match self.copies.kernel.exprs[value].kind {
            ExprKind::Local(local) => self.locals.contains_key(&local),
            ExprKind::Binary { op: BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul, lhs, rhs } => {
                self.is_mixed(lhs) || self.is_mixed(rhs)
            }
            ExprKind::Cast { value: from } => match is_wide(self.copies.kernel.exprs[from].ty) {
                true => self.is_mixed(from),
                false => self.narrowable.may_fit(value) && self.is_computed(from),
            },
            _ => self.is_costly(value),
        };
        self.mixed.insert(value, mixed);
        mixed
    }

    /// The 32-bit value of an expression of 64 bits at a position where the proof examined it. None if it may not fit.
    fn narrow(&mut self, value: ExprId) -> Option<ExprId> {
        if let Some(known) = self.narrow.get(&(value, self.in_arm)) {
            return *known;
        }
        let new = self.narrow_anew(value);
        // The value of a local that is replaced later is another one, but this one is not used before its definition.
        self.narrow.insert((value, self.in_arm), new);
        new
    }

    /// The results of `rewrite` for both arms of a selection.
    fn arms<T>(&mut self, arms: [ExprId; 2], rewrite: fn(&mut Self, ExprId) -> T) -> [T; 2] {
        let outer = std::mem::replace(&mut self.in_arm, true);
        let new = arms.map(|arm| rewrite(self, arm));
        self.in_arm = outer;
        new
    }

    fn narrow_anew(&mut self, value: ExprId) -> Option<ExprId> {
        let ty = self.copies.kernel.exprs[value].ty;
        if !is_wide(ty) || !self.narrowable.may_fit(value) {
            return None;
        }
        let to = ScalarType::I32;
        if !self.is_narrow_operation(value) {
            let wide = self.rebuilt(value);
            return Some(self.converted(wide, to));
        }
        let mut kind = self.copies.kernel.exprs[value].kind.clone();
        match &mut kind {
            ExprKind::Const(constant) => {
                *constant = Const::from_bits(to, constant.bits());
            }
            ExprKind::Local(local) => match self.locals.get(local) {
                Some(narrow) => return Some(*narrow),
                None => return Some(self.converted(value, to)),
            },
            ExprKind::Cast { value } => {
                let value = match is_wide(self.copies.kernel.exprs[*value].ty) {
                    true => self.narrow(*value)?,
                    false => self.examined(*value),
                };
                return Some(self.converted(value, to));
            }
            ExprKind::Binary { op: BinaryOp::Shl | BinaryOp::Shr, lhs, .. } => {
                *lhs = self.narrow(*lhs)?;
            }
            ExprKind::Select { cond, then, otherwise } => {
                *cond = self.examined(*cond);
                let [first, second] = self.arms([*then, *otherwise], Self::narrow);
                (*then, *otherwise) = (first?, second?);
            }
            kind => {
                let mut fits = true;
                kind.operands_mut(|operand| match self.narrow(*operand) {
                    Some(narrow) => *operand = narrow,
                    None => fits = false,
                });
                if !fits {
                    return None;
                }
            }
        }
        // The proof examined this value and all of its operands.
        use BinaryOp::{Add, Mul, Sub};
        let exact = !self.in_arm && matches!(kind, ExprKind::Binary { op: Add | Sub | Mul, .. });
        Some(self.copies.push_expr(Expr { ty: to, kind, exact }))
    }

    /// Whether an expression gives the same value when it is computed with 32 bits, because all operands of 64 bits
    /// fit.
    fn is_narrow_operation(&self, value: ExprId) -> bool {
        let kernel = &self.copies.kernel;
        let fits = |value: &ExprId| self.narrowable.may_fit(*value);
        match &kernel.exprs[value].kind {
            ExprKind::Const(_) | ExprKind::Local(_) => true,
            ExprKind::Cast { value } => {
                !is_wide(kernel.exprs[*value].ty) || self.narrowable.may_fit(*value)
            }
            ExprKind::Binary { op: BinaryOp::Shl | BinaryOp::Shr, lhs, rhs } => {
                let count = self.copies.constant(*rhs).and_then(Const::as_int);
                fits(lhs) && count.is_some_and(|count| (0..32).contains(&count))
            }
            ExprKind::Binary { lhs, rhs, .. } => fits(lhs) && fits(rhs),
            ExprKind::Math { function: MathFn::Min | MathFn::Max | MathFn::Abs, args } => {
                args.iter().all(fits)
            }
            ExprKind::Select { then, otherwise, .. } => fits(then) && fits(otherwise),
            ExprKind::Unary { op: UnaryOp::Neg | UnaryOp::Not, value } => fits(value),
            _ => false,
        }
    }

    /// Whether a value of a 32-bit type is not a sum of products.
    fn is_computed(&mut self, value: ExprId) -> bool {
        if let Some(known) = self.of_computed.get(&value) {
            return *known;
        }
        let computed = match self.copies.kernel.exprs[value].kind {
            ExprKind::Local(local) => self.computed.contains(&local),
            ExprKind::Binary { op: BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul, lhs, rhs } => {
                self.is_computed(lhs) || self.is_computed(rhs)
            }
            ExprKind::Cast { value: from } => match is_wide(self.copies.kernel.exprs[from].ty) {
                true => self.is_mixed(from),
                false => self.is_computed(from),
            },
            ExprKind::Binary { .. }
            | ExprKind::Math { .. }
            | ExprKind::Select { .. }
            | ExprKind::DivRem { .. } => true,
            _ => false,
        };
        self.of_computed.insert(value, computed);
        computed
    }

    /// Whether an operation with 64 bits takes so many instructions that conversions pay.
    fn is_costly(&self, value: ExprId) -> bool {
        let op = match self.copies.kernel.exprs[value].kind {
            ExprKind::Math { .. } | ExprKind::Select { .. } => true,
            ExprKind::Binary { op, .. } => {
                !matches!(op, BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul)
            }
            ExprKind::Cast { value } => return self.is_costly(value),
            _ => false,
        };
        op && self.is_narrow_operation(value)
    }

    /// An expression at a position where the proof examined it, with the same type.
    fn examined(&mut self, value: ExprId) -> ExprId {
        if let Some(new) = self.rewritten.get(&(value, self.in_arm)) {
            return *new;
        }
        let ty = self.copies.kernel.exprs[value].ty;
        let narrow = if self.is_costly(value) { self.narrow(value) } else { None };
        let new = match narrow {
            Some(narrow) => {
                self.is_profitable = true;
                self.converted(narrow, ty)
            }
            None => self.rebuilt(value),
        };
        self.rewritten.insert((value, self.in_arm), new);
        new
    }

    /// An expression at a position where the proof examined it, computed with its own type. Follows the proof, which
    /// does not examine the operands of floats and of most functions.
    fn rebuilt(&mut self, value: ExprId) -> ExprId {
        let expr = self.copies.kernel.exprs[value].clone();
        let mut kind = expr.kind;
        let type_of = |this: &Self, value: ExprId| this.copies.kernel.exprs[value].ty;
        if expr.ty.is_float() {
            return self.copies.value(value);
        }
        match &mut kind {
            ExprKind::Binary { lhs, .. } if type_of(self, *lhs).is_float() => {
                return self.copies.value(value);
            }
            ExprKind::Binary { op, lhs, rhs } if op.is_comparison() => {
                let narrow = [*lhs, *rhs].map(|operand| self.narrow(operand));
                if let [Some(left), Some(right)] = narrow {
                    (*lhs, *rhs) = (left, right);
                } else {
                    (*lhs, *rhs) = (self.examined(*lhs), self.examined(*rhs));
                }
            }
            // The product of two 32-bit numbers is one instruction. In an innermost loop, device compilers replace
            // products by sums, which conversions would prevent.
            ExprKind::Binary { op: BinaryOp::Mul, lhs, rhs }
                if is_wide(expr.ty) && !self.in_innermost_loop =>
            {
                let narrow = [*lhs, *rhs].map(|operand| self.narrow(operand));
                if let [Some(left), Some(right)] = narrow {
                    (*lhs, *rhs) = (self.converted(left, expr.ty), self.converted(right, expr.ty));
                } else {
                    (*lhs, *rhs) = (self.examined(*lhs), self.examined(*rhs));
                }
            }
            ExprKind::Cast { value: from } if type_of(self, *from).is_float() => {
                return self.copies.value(value);
            }
            ExprKind::Cast { value: from } => {
                let value = match is_wide(expr.ty) {
                    true => self.examined(*from),
                    false => self.narrow(*from).unwrap_or_else(|| self.examined(*from)),
                };
                return self.converted(value, expr.ty);
            }
            ExprKind::Select { cond, then, otherwise } => {
                *cond = self.examined(*cond);
                [*then, *otherwise] = self.arms([*then, *otherwise], Self::examined);
            }
            ExprKind::Binary { .. }
            | ExprKind::Unary { op: UnaryOp::Neg | UnaryOp::Not, .. }
            | ExprKind::Math { function: MathFn::Min | MathFn::Max | MathFn::Abs, .. } => {
                kind.operands_mut(|operand| *operand = self.examined(*operand));
            }
            _ => return self.copies.value(value),
        }
        self.copies.push(expr.ty, kind)
    }

    fn converted(&mut self, value: ExprId, ty: ScalarType) -> ExprId {
        let constant = self.copies.constant(value).and_then(Const::as_int);
        match constant {
            _ if self.copies.kernel.exprs[value].ty == ty => value,
            Some(constant) if ty.is_int() => {
                self.copies.push(ty, ExprKind::Const(Const::from_bits(ty, constant as u64)))
            }
            _ => self.copies.push(ty, ExprKind::Cast { value }),
        }
    }
}

const fn is_wide(ty: ScalarType) -> bool {
    matches!(ty, ScalarType::U64 | ScalarType::I64)
}

/// The 32-bit type of the same signedness, for divisions.
const fn narrow_type(ty: ScalarType) -> ScalarType {
    match ty {
        ScalarType::I64 => ScalarType::I32,
        _ => ScalarType::U32,
    }
}
