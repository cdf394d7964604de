//! Traversal of the IR: the operands of expressions and statements, and the set of nodes reachable from a piece of
//! code.

use std::collections::HashSet;

use crate::{
    Arena, Array, Block, BlockId, Element, Expr, ExprId, ExprKind, Kernel, Local, LocalId, MathFn,
    Offloaded, Param, ParamAccess, ParamId, SharedExtent, Site, SiteId, Stmt,
};

/// The node lists that kernels have both before and after offloading.
#[derive(Clone, Copy)]
pub(crate) struct Nodes<'a> {
    pub(crate) params: &'a [Param],
    pub(crate) locals: &'a Arena<Local>,
    pub(crate) exprs: &'a Arena<Expr>,
    pub(crate) blocks: &'a Arena<Block>,
    pub(crate) sites: &'a [Site],
}

/// The nodes reachable from a piece of code, as collected by [`Nodes::reach_block`] and related methods.
pub(crate) struct Reach {
    seen: Vec<bool>,
    /// Locals that are read or assigned.
    pub(crate) locals: Vec<bool>,
    pub(crate) assigned: Vec<bool>,
    /// Locals that a parallel loop combines values into.
    pub(crate) combined: Vec<bool>,
    /// Whether a temporary is read.
    pub(crate) temps: bool,
    accesses: Vec<ParamAccess>,
    /// The first source line that can raise an error, or 0.
    pub(crate) line: u32,
}

impl ExprKind {
    /// The direct operands, in source order.
    pub fn operands(&self) -> impl Iterator<Item = ExprId> + '_ {
        let (list, rest): (&[ExprId], [Option<ExprId>; 3]) = match self {
            Self::Const(_) | Self::Local(_) | Self::Param(_) | Self::Dim { .. } | Self::Temp(_) => {
                (&[], [None; 3])
            }
            Self::Unary { value, .. } | Self::Cast { value } | Self::Bits { value } => {
                (&[], [Some(*value), None, None])
            }
            Self::Binary { lhs, rhs, .. } | Self::DivRem { lhs, rhs, .. } => {
                (&[], [Some(*lhs), Some(*rhs), None])
            }
            Self::Math { args, .. } => (args, [None; 3]),
            Self::Select { cond, then, otherwise } => {
                (&[], [Some(*cond), Some(*then), Some(*otherwise)])
            }
            Self::Load(element) => (&element.index, [None; 3]),
            Self::Atomic { element, expected, value, .. } => {
                (&element.index, [*expected, Some(*value), None])
            }
        };
        list.iter().copied().chain(rest.into_iter().flatten())
    }
}

impl Stmt {
    /// If it defines a shared array: the array, and the extents of all indices of an access.
    #[must_use]
    pub fn shared_extents(&self) -> Option<(LocalId, Vec<SharedExtent>)> {
        let Self::Shared { array, dims, scalars } = self else { return None };
        let scalars = scalars.filter(|scalars| *scalars > 1).map(SharedExtent::Constant);
        Some((*array, dims.iter().copied().chain(scalars).collect()))
    }

    /// The locals that are extents of the shared array that it defines.
    pub fn extent_locals(&self) -> impl Iterator<Item = LocalId> + '_ {
        let dims = match self {
            Self::Shared { dims, .. } => &dims[..],
            _ => &[],
        };
        dims.iter().filter_map(|dim| dim.local())
    }

    /// The expressions directly in this statement, in source order.
    pub fn exprs(&self) -> impl Iterator<Item = ExprId> + '_ {
        let (list, rest): (&[ExprId], [Option<ExprId>; 2]) = match self {
            Self::Let { value, .. }
            | Self::Assign { value, .. }
            | Self::Eval { value }
            | Self::Reduce { value, .. }
            | Self::ReduceTemp { value, .. }
            | Self::SetTemp { value, .. }
            | Self::SetResult { value, .. } => (&[], [Some(*value), None]),
            Self::Store { element, value } => (&element.index, [Some(*value), None]),
            Self::Print { values, .. } => (values, [None; 2]),
            Self::If { cond, .. } => (&[], [Some(*cond), None]),
            Self::Assert { cond, values, .. } => (values, [Some(*cond), None]),
            Self::For { begin, end, .. } => (&[], [Some(*begin), Some(*end)]),
            Self::CollectiveInput { value, from } => (&[], [Some(*value), *from]),
            Self::Loop { .. }
            | Self::Break
            | Self::Continue
            | Self::Shared { .. }
            | Self::Array { .. }
            | Self::Phase { .. } => (&[], [None; 2]),
        };
        list.iter().copied().chain(rest.into_iter().flatten())
    }

    /// The blocks directly in this statement, in source order.
    pub fn blocks(&self) -> impl Iterator<Item = BlockId> + use<> {
        let blocks = match *self {
            Self::If { then, otherwise, .. } => [Some(then), Some(otherwise)],
            Self::For { body, .. } | Self::Loop { body } | Self::Phase { body, .. } => {
                [Some(body), None]
            }
            _ => [None; 2],
        };
        blocks.into_iter().flatten()
    }
}

macro_rules! nodes_from {
    ($($kernel:ident),*) => {$(
        impl<'a> From<&'a $kernel> for Nodes<'a> {
            fn from(kernel: &'a $kernel) -> Self {
                let $kernel { params, locals, exprs, blocks, sites, .. } = kernel;
                Self { params, locals, exprs, blocks, sites }
            }
        }
    )*};
}

nodes_from!(Kernel, Offloaded);

impl Offloaded {
    /// Whether a value has no effect and depends on no local that is assigned, so that it is the same wherever these
    /// locals are in scope.
    #[must_use]
    pub fn is_invariant(&self, value: ExprId) -> bool {
        match &self.exprs[value].kind {
            ExprKind::Local(local) => !self.locals[*local].mutable,
            kind => !kind.is_effect() && kind.operands().all(|value| self.is_invariant(value)),
        }
    }
}

impl Nodes<'_> {
    pub(crate) fn is_constant(self, value: ExprId) -> bool {
        matches!(self.exprs[value].kind, ExprKind::Const(_))
    }

    /// Whether a value reads one of these locals. Elements of arrays do not count.
    pub(crate) fn reads_any(self, value: ExprId, locals: &HashSet<LocalId>) -> bool {
        match &self.exprs[value].kind {
            ExprKind::Local(local) => locals.contains(local),
            kind => kind.operands().any(|operand| self.reads_any(operand, locals)),
        }
    }
}

impl Reach {
    /// Whether no mutable local is read.
    pub(crate) fn reads_only_immutable(&self, nodes: Nodes<'_>) -> bool {
        let mut locals = self.locals.iter().enumerate();
        locals.all(|(at, used)| !used || !nodes.locals[LocalId::new(at as u32)].mutable)
    }

    pub(crate) fn new(nodes: Nodes<'_>) -> Self {
        let access = |i| ParamAccess {
            param: ParamId::new(i as u32),
            read: false,
            write: false,
            atomic: false,
        };
        Self {
            seen: vec![false; nodes.exprs.len()],
            locals: vec![false; nodes.locals.len()],
            assigned: vec![false; nodes.locals.len()],
            combined: vec![false; nodes.locals.len()],
            temps: false,
            accesses: (0..nodes.params.len()).map(access).collect(),
            line: 0,
        }
    }

    /// Whether the expression is reachable.
    pub(crate) fn contains(&self, expr: ExprId) -> bool {
        self.seen[expr.index()]
    }

    /// The accessed tensors, by ascending id.
    pub(crate) fn accesses(&self) -> Vec<ParamAccess> {
        self.accesses.iter().copied().filter(|a| a.read || a.write || a.atomic).collect()
    }
}

impl Nodes<'_> {
    /// Whether a [`Stmt::Loop`] with this body runs at most once. The lowering puts such a loop around a func with an
    /// early `return`.
    pub(crate) fn runs_once(&self, body: BlockId) -> bool {
        matches!(self.blocks[body].stmts.last(), Some(Stmt::Break)) && !self.continues(body)
    }

    /// Whether a block continues with the next iteration of the loop around it.
    pub(crate) fn continues(&self, block: BlockId) -> bool {
        self.blocks[block].stmts.iter().any(|stmt| match *stmt {
            Stmt::Continue => true,
            Stmt::If { then, otherwise, .. } => self.continues(then) || self.continues(otherwise),
            _ => false,
        })
    }

    /// Whether `value` may be evaluated any number of times, or never, with no observable difference: it is pure, or a
    /// division that cannot fail.
    pub(crate) fn is_side_effect_free(self, value: ExprId) -> bool {
        match &self.exprs[value].kind {
            ExprKind::DivRem { rhs, .. } => {
                let positive = |value: &ExprId| matches!(self.exprs[*value].kind, ExprKind::Const(c) if c.as_int() > Some(0));
                match &self.exprs[*rhs].kind {
                    ExprKind::Const(c) => c.bits() != 0,
                    // The maximum is at least as large as its positive operand.
                    ExprKind::Math { function: MathFn::Max, args } => args.iter().any(positive),
                    _ => false,
                }
            }
            kind => !kind.is_effect(),
        }
    }

    /// Whether `value` can be evaluated before a launch; `is_known` decides that for locals.
    pub(crate) fn is_host_value(self, value: ExprId, is_known: &dyn Fn(LocalId) -> bool) -> bool {
        let mut reach = Reach::new(self);
        self.reach_expr(value, &mut reach);
        let locals = reach.locals.iter().enumerate().filter(|(_, used)| **used);
        self.is_side_effect_free(value)
            && !reach.temps
            && locals.into_iter().all(|(i, _)| is_known(LocalId::new(i as u32)))
    }

    /// Whether host and device compute bit-identical results for `value`; `is_known` decides that for locals. Float
    /// arithmetic and float functions may be rounded differently.
    pub(crate) fn is_exact(self, value: ExprId, is_known: &dyn Fn(LocalId) -> bool) -> bool {
        use MathFn::{Abs, Ceil, Floor, Max, Min, Round, RoundEven, Trunc};
        let mut reach = Reach::new(self);
        self.reach_expr(value, &mut reach);
        let reached = self.exprs.iter().filter(|(id, _)| reach.contains(*id));
        reached.into_iter().all(|(_, expr)| match expr.kind {
            ExprKind::Local(local) => is_known(local),
            // Also float comparisons: some devices treat denormal numbers as zero.
            ExprKind::Binary { lhs, .. } => !self.exprs[lhs].ty.is_float(),
            ExprKind::Math { function, .. } => {
                !expr.ty.is_float()
                    || matches!(
                        function,
                        Abs | Ceil | Floor | Max | Min | Round | RoundEven | Trunc
                    )
            }
            _ => true,
        })
    }

    pub(crate) fn reach_expr(self, id: ExprId, reach: &mut Reach) {
        if std::mem::replace(&mut reach.seen[id.index()], true) {
            return;
        }
        let kind = &self.exprs[id].kind;
        match *kind {
            ExprKind::Local(local) => reach.locals[local.index()] = true,
            ExprKind::Temp(_) => reach.temps = true,
            ExprKind::Load(ref element) => self.reach_element(element, reach, |a| a.read = true),
            ExprKind::Atomic { ref element, .. } => {
                self.reach_element(element, reach, |a| a.atomic = true);
            }
            ExprKind::DivRem { site, .. } => self.reach_site(site, reach),
            _ => {}
        }
        for operand in kind.operands() {
            self.reach_expr(operand, reach);
        }
    }

    fn reach_element(self, element: &Element, reach: &mut Reach, change: fn(&mut ParamAccess)) {
        match element.array {
            Array::Tensor(tensor) => change(&mut reach.accesses[tensor.index()]),
            Array::Shared(array) | Array::Local(array) => reach.locals[array.index()] = true,
        }
        self.reach_site(element.site, reach);
    }

    fn reach_site(self, site: SiteId, reach: &mut Reach) {
        if reach.line == 0 {
            reach.line = self.sites[site.index()].line;
        }
    }

    pub(crate) fn reach_stmt(self, stmt: &Stmt, reach: &mut Reach) {
        for value in stmt.exprs() {
            self.reach_expr(value, reach);
        }
        match *stmt {
            Stmt::Assign { local, .. } => {
                reach.locals[local.index()] = true;
                reach.assigned[local.index()] = true;
            }
            Stmt::Reduce { local, .. } => reach.combined[local.index()] = true,
            Stmt::Print { site, .. } => self.reach_site(site, reach),
            Stmt::Shared { .. } => {
                stmt.extent_locals().for_each(|local| reach.locals[local.index()] = true);
            }
            Stmt::Store { ref element, .. } => {
                self.reach_element(element, reach, |access| access.write = true);
            }
            _ => {}
        }
        for block in stmt.blocks() {
            self.reach_block(block, reach);
        }
    }

    pub(crate) fn reach_block(self, block: BlockId, reach: &mut Reach) {
        for stmt in &self.blocks[block].stmts {
            self.reach_stmt(stmt, reach);
        }
    }
}

/// The locals from outside of a block that it assigns, also under conditions. A speculative run saves them.
#[must_use]
pub fn assigned_outer_locals(blocks: &Arena<Block>, block: BlockId) -> Vec<LocalId> {
    fn collect(
        blocks: &Arena<Block>,
        block: BlockId,
        own: &mut Vec<LocalId>,
        assigned: &mut Vec<LocalId>,
    ) {
        for stmt in &blocks[block].stmts {
            match *stmt {
                Stmt::Let { local, .. } => own.push(local),
                Stmt::Assign { local, .. } if !assigned.contains(&local) => assigned.push(local),
                _ => {}
            }
            stmt.blocks().for_each(|inner| collect(blocks, inner, own, assigned));
        }
    }
    let (mut own, mut assigned) = (Vec::new(), Vec::new());
    collect(blocks, block, &mut own, &mut assigned);
    assigned.retain(|local| !own.contains(local));
    assigned
}
