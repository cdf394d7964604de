//! The rules of the kernel language: one walk over a syntax tree, the same for macro and builder.
//!
//! What is checked here is what rustc cannot see, or would explain in terms of emitted code:
//!
//! * where `stream_parallel` stands, what it is given, and what stands beside it;
//! * control flow that cannot leave a parallel loop or a function: `break`, `return`, `?`;
//! * where `block_for` and its phases stand, and what stands outside phases;
//! * assignments to locals from outside a parallel loop or block, and writes to `&` parameters;
//! * syntax that kernels do not have.
//!
//! Types, unknown names and numbers of arguments are rustc's. Races are a question of their own, which
//! `races` asks of a tree that breaks none of these rules.

use quadrants_ir::abi::MAX_BLOCK_SIZE;

use crate::{
    builtins::{is_builtin_function, is_builtin_method},
    literal::scalar_suffix,
    names::Names,
    races,
    rule::{Rejection, Rule},
    syntax::{
        BinaryOp, Block, BlockFor, Construct, Expr, ExprKind, For, Function, FunctionKind,
        ParamPassing, RegionArgument, Span, Stmt, StmtKind,
    },
    visit::{Node, any_in_expr, any_in_stmt, each_bound, in_expr, root},
};

/// All rules that `function` breaks, in source order; none for a function that may be compiled.
#[must_use]
pub fn check(function: &Function) -> Vec<Rejection> {
    let mut checker = Checker {
        kind: function.kind,
        rejections: Vec::new(),
        names: Names::new(),
        around: Vec::new(),
        labels: Vec::new(),
        depth: 0,
        thread: None,
    };
    for param in &function.params {
        let binding = match param.passing {
            ParamPassing::Value => Binding::Local { depth: 0, mutable: param.mutable },
            ParamPassing::Ref => Binding::Tensor { writable: false },
            ParamPassing::RefMut => Binding::Tensor { writable: true },
        };
        checker.names.bind(&param.name, binding);
    }
    checker.function(function);
    if checker.rejections.is_empty() {
        return races::rejections(function);
    }
    checker.rejections
}

/// How deep expressions may nest; everything that walks a checked tree may recurse.
const MAX_DEPTH: u16 = 256;

struct Checker<'a> {
    kind: FunctionKind,
    rejections: Vec<Rejection>,
    /// All names in scope.
    names: Names<Binding>,
    /// What the walk is inside of, innermost last.
    around: Vec<Around>,
    /// The labels of loops around it, and what these are.
    labels: Vec<(&'a str, Around)>,
    /// How many expressions the walk is inside of.
    depth: u16,
    /// The place among the names of the number of the phase's thread.
    thread: Option<usize>,
}

#[derive(Clone, Copy)]
enum Binding {
    Tensor {
        writable: bool,
    },
    Shape,
    /// A block of threads.
    Block,
    /// An array that a block's threads share.
    Shared,
    /// What each thread of a block has a value of.
    OfThreads,
    /// A scalar, and how much was [around](Checker::around) it where it was declared.
    Local {
        depth: usize,
        mutable: bool,
    },
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Around {
    Region,
    ParallelLoop,
    /// What a block of threads does as a whole.
    Blocks,
    Phase,
    Loop,
    NdrangeLoop,
    Branch,
    Braces,
}

impl<'a> Checker<'a> {
    fn function(&mut self, function: &'a Function) {
        let body = &function.body;
        if self.kind == FunctionKind::Func {
            body.stmts.iter().for_each(|stmt| self.stmt(stmt));
            self.optional(body.value.as_deref());
            return;
        }

        let blocks =
            body.stmts.iter().any(is_region_stmt) || body.value.as_deref().is_some_and(is_region);
        for stmt in &body.stmts {
            if blocks && !contains_region(stmt) && !self.pure_let(stmt) {
                self.reject(stmt.span, Rule::StreamParallelMixed);
            }
            self.top_stmt(stmt);
        }
        match body.value.as_deref() {
            Some(Expr { kind: ExprKind::StreamParallel(argument), span })
                if function.result.is_none() =>
            {
                self.region(argument, *span);
            }
            Some(value) => {
                if blocks && !is_region(value) {
                    self.reject(value.span, Rule::StreamParallelMixed);
                }
                self.expr(value);
            }
            None => {}
        }
    }

    /// A statement at the top level of a kernel or of a `stream_parallel` block.
    fn top_stmt(&mut self, stmt: &'a Stmt) {
        match &stmt.kind {
            StmtKind::For(each) if !each.options.serial => {
                self.each(each, stmt.span, Around::ParallelLoop);
            }
            StmtKind::For(each) => self.serial(each, stmt.span),
            StmtKind::Expr(Expr { kind: ExprKind::StreamParallel(argument), span })
                if self.around.is_empty() =>
            {
                self.region(argument, *span);
            }
            StmtKind::Expr(Expr { kind: ExprKind::BlockFor(each), span }) => {
                self.blocks(each, *span);
            }
            _ => self.stmt(stmt),
        }
    }

    fn blocks(&mut self, each: &'a BlockFor, span: Span) {
        if !(1..=3).contains(&each.blocks.len()) {
            self.reject(span, Rule::Dimensions);
        }
        each.blocks.iter().for_each(|count| self.expr(count));
        self.constant(&each.threads, "the number of threads of a block");
        if let ExprKind::Literal { text, .. } = &each.threads.kind
            && text.parse().is_ok_and(|size: u32| !(1..=MAX_BLOCK_SIZE).contains(&size))
        {
            self.reject(each.threads.span, Rule::BlockSize);
        }
        self.inside(Around::Blocks, |this| {
            this.names.bind(&each.name, Binding::Block);
            this.block(&each.body);
        });
    }

    /// A value of several parts: the number of a block is none, unless the grid's array was seen.
    fn number_of_grid(&mut self, value: &Expr) {
        if let ExprKind::Method { receiver, .. } = &value.kind
            && let ExprKind::Name(block) = &receiver.kind
            && matches!(self.lookup(block), Some(Binding::Block))
        {
            self.reject(value.span, Rule::GridElsewhere);
        }
    }

    fn phase(
        &mut self,
        (block, thread): (&str, &'a str),
        span: Span,
        body: impl FnOnce(&mut Self),
    ) {
        let of_block = matches!(self.lookup(block), Some(Binding::Block));
        if !of_block || !self.is_between_phases() {
            self.reject(span, Rule::PhasePlace);
        }
        self.inside(Around::Phase, |this| {
            let outer = this.thread.replace(this.names.mark());
            this.declare(thread, false);
            body(this);
            this.thread = outer;
        });
    }

    /// A read of what each thread has a value of.
    fn of_threads(&mut self, name: &str, index: &[Expr], span: Span) {
        let own = |index: &Expr| match &index.kind {
            ExprKind::Name(name) => self.place(name).is_some_and(|at| Some(at) == self.thread),
            _ => false,
        };
        if !matches!(index, [index] if own(index)) {
            self.reject(span, Rule::OfThreads(name.to_owned()));
        }
    }

    /// Whether all threads of a block do the same here.
    fn is_between_phases(&self) -> bool {
        self.around.contains(&Around::Blocks) && !self.around.contains(&Around::Phase)
    }

    /// An effect that only the threads of a phase have.
    fn in_phase(&mut self, span: Span, what: impl FnOnce() -> String) {
        if self.is_between_phases() {
            self.reject(span, Rule::OutsidePhase(what()));
        }
    }

    fn constant(&mut self, expr: &'a Expr, what: &'static str) {
        let constant = |node| match node {
            Node::Expr(expr) => match expr.kind {
                ExprKind::Literal { .. } | ExprKind::Const(_) => false,
                ExprKind::Binary { op, .. } => {
                    !matches!(op, BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::Div)
                }
                _ => true,
            },
            Node::Stmt(_) => true,
        };
        if any_in_expr(expr, &mut { constant }) {
            self.reject(expr.span, Rule::NotConstant(what));
        }
    }

    fn region(&mut self, argument: &'a RegionArgument, span: Span) {
        match argument {
            RegionArgument::Other => self.reject(span, Rule::StreamParallelNotClosure),
            RegionArgument::Closure { params, body } => {
                if *params > 0 {
                    self.reject(span, Rule::StreamParallelParameters);
                }
                self.inside(Around::Region, |this| {
                    for stmt in &body.stmts {
                        this.top_stmt(stmt);
                    }
                    this.optional(body.value.as_deref());
                });
            }
        }
    }

    fn stmt(&mut self, stmt: &'a Stmt) {
        match &stmt.kind {
            StmtKind::Let { name, mutable, value, .. } => {
                self.expr(value);
                self.declare(name, *mutable);
            }
            StmtKind::LetPattern { pattern, value } => {
                self.number_of_grid(value);
                self.expr(value);
                each_bound(pattern, &mut |name, mutable, _| self.declare(name, mutable));
            }
            StmtKind::LetShape { name, .. } => self.names.bind(name, Binding::Shape),
            StmtKind::LetExtents { names, .. } => {
                names.iter().flatten().for_each(|name| self.declare(name, false));
            }
            StmtKind::LetShared { name, block, dims, .. } => {
                let of_block = matches!(self.lookup(block), Some(Binding::Block));
                let looped = self.around.iter().any(|around| {
                    matches!(around, Around::Loop | Around::NdrangeLoop | Around::Phase)
                });
                if !of_block {
                    self.unsupported(stmt.span, &Construct::Shared);
                } else if looped {
                    self.reject(stmt.span, Rule::SharedPlace);
                }
                for len in dims {
                    self.constant(len, "the length of a shared array");
                }
                self.names.bind(name, Binding::Shared);
            }
            StmtKind::LetExchange(made) => {
                if let Some((_, by)) = &made.by {
                    self.expr(by);
                }
                self.phase((&made.block, &made.thread), stmt.span, |this| this.expr(&made.value));
                match made.op.is_uniform() {
                    true => self.declare(&made.name, false),
                    false => self.names.bind(&made.name, Binding::OfThreads),
                }
            }
            StmtKind::Assign { target, value, .. } => {
                self.expr(value);
                self.target(target);
            }
            StmtKind::Expr(expr) => self.expr(expr),
            StmtKind::For(each) => {
                if each.options.serial {
                    self.reject(stmt.span, Rule::SerialInside);
                }
                self.serial(each, stmt.span);
            }
            StmtKind::While { cond, body, label } => {
                self.looped(Around::Loop, label.as_deref(), |this| {
                    this.expr(cond);
                    this.block(body);
                });
            }
            StmtKind::Loop { body, label } => {
                self.looped(Around::Loop, label.as_deref(), |this| this.block(body));
            }
            StmtKind::Break { label, value } => {
                self.optional(value.as_ref());
                match self.loop_of(label.as_deref()) {
                    Some(Around::NdrangeLoop) => self.reject(stmt.span, Rule::BreakNdrange),
                    Some(Around::ParallelLoop) => self.reject(stmt.span, Rule::BreakParallel),
                    None if label.is_none() => {
                        self.reject(stmt.span, Rule::OutsideLoop("break"));
                    }
                    // A label that there is not is rustc's to report.
                    Some(_) | None => {}
                }
            }
            StmtKind::Continue { label } => {
                if label.is_none() && self.innermost_loop().is_none() {
                    self.reject(stmt.span, Rule::OutsideLoop("continue"));
                }
            }
            StmtKind::Return { value } => {
                self.optional(value.as_ref());
                if self.kind == FunctionKind::Kernel {
                    self.reject(stmt.span, Rule::ReturnInKernel);
                }
            }
            StmtKind::Assert { cond, .. } => {
                self.in_phase(stmt.span, || "`assert!`".to_owned());
                self.expr(cond);
            }
            StmtKind::Unsupported(construct) => self.unsupported(stmt.span, construct),
        }
    }

    fn serial(&mut self, each: &'a For, span: Span) {
        if each.options.block_size.is_some() {
            self.reject(span, Rule::BlockSizeOfSerial);
        }
        let around = if each.dims.len() > 1 { Around::NdrangeLoop } else { Around::Loop };
        self.each(each, span, around);
    }

    fn each(&mut self, each: &'a For, span: Span, around: Around) {
        if each.options.unroll.is_some() && around == Around::ParallelLoop {
            self.reject(span, Rule::UnrollParallel);
        }
        if each.options.block_size.is_some_and(|size| !(1..=MAX_BLOCK_SIZE).contains(&size)) {
            self.reject(span, Rule::BlockSize);
        }
        if !(1..=3).contains(&each.dims.len()) {
            self.reject(span, Rule::Dimensions);
        }
        for dim in &each.dims {
            self.optional(dim.begin.as_ref());
            self.expr(&dim.end);
            if let Some(step) = &dim.step {
                self.expr(step);
                if matches!(&step.kind, ExprKind::Literal { text, .. } if text == "0") {
                    self.reject(step.span, Rule::StepOfZero);
                }
            }
            if dim.inclusive && each.dims.len() > 1 {
                self.reject(dim.end.span, Rule::InclusiveRange);
            }
        }
        self.looped(around, each.label.as_deref(), |this| {
            each.dims.iter().for_each(|dim| this.declare(&dim.name, dim.mutable));
            this.block(&each.body);
        });
    }

    fn target(&mut self, target: &'a Expr) {
        match &target.kind {
            ExprKind::Name(name) => match self.lookup(name) {
                Some(Binding::Local { depth, .. }) => self.assign(name, depth, target.span),
                Some(_) => self.expr(target),
                None => {}
            },
            ExprKind::Index { base, index } => {
                match self.lookup(base) {
                    Some(Binding::Local { depth, .. }) => self.assign(base, depth, target.span),
                    _ => {
                        self.in_phase(target.span, || format!("a write to `{base}`"));
                        self.write(base, target.span);
                    }
                }
                self.exprs(index);
            }
            ExprKind::Field { .. } | ExprKind::Element { .. } => {
                match root(target).and_then(|name| Some((name, self.lookup(name)?))) {
                    Some((name, Binding::Local { depth, .. })) => {
                        self.assign(name, depth, target.span);
                        self.expr(target);
                    }
                    Some((name, Binding::Tensor { .. })) => {
                        self.in_phase(target.span, || format!("a write to `{name}`"));
                        self.write(name, target.span);
                        self.indices(target);
                    }
                    Some(_) | None => self.unsupported(target.span, &Construct::Place),
                }
            }
            ExprKind::Unsupported(construct) => self.unsupported(target.span, construct),
            _ => self.unsupported(target.span, &Construct::Place),
        }
    }

    /// The indices of a place.
    fn indices(&mut self, place: &'a Expr) {
        match &place.kind {
            ExprKind::Index { index, .. } => self.exprs(index),
            ExprKind::Element { value, index } => {
                self.indices(value);
                self.exprs(index);
            }
            ExprKind::Field { value, .. } => self.indices(value),
            _ => {}
        }
    }

    /// An assignment to a local declared at `depth`, or to a part of it.
    fn assign(&mut self, name: &str, depth: usize, span: Span) {
        let crossed = &self.around[depth..];
        let rule = if crossed.contains(&Around::Phase) {
            Rule::AssignOutsidePhase
        } else if crossed.contains(&Around::ParallelLoop) || crossed.contains(&Around::Blocks) {
            Rule::AssignOutsideLoop
        } else if crossed.contains(&Around::Region) {
            Rule::AssignOutsideBlock
        } else {
            return;
        };
        self.reject(span, rule(name.to_owned()));
    }

    fn write(&mut self, base: &'a str, span: Span) {
        let name = base.to_owned();
        match self.lookup(base) {
            Some(Binding::Tensor { writable: false }) => {
                self.reject(span, Rule::WriteToShared(name));
            }
            Some(Binding::Shape) => self.reject(span, Rule::AssignToShape(name)),
            Some(Binding::OfThreads) => self.reject(span, Rule::OfThreads(name)),
            Some(Binding::Local { .. } | Binding::Block) => {
                self.unsupported(span, &Construct::AtomicPlace);
            }
            Some(Binding::Tensor { writable: true } | Binding::Shared) | None => {}
        }
    }

    fn expr(&mut self, expr: &'a Expr) {
        if self.depth == MAX_DEPTH {
            // Its siblings nest as deep; one of them is enough.
            if self.rejections.last().is_none_or(|last| last.rule != Rule::TooDeep) {
                self.reject(expr.span, Rule::TooDeep);
            }
            return;
        }
        self.depth += 1;
        self.expr_kind(expr);
        self.depth -= 1;
    }

    fn expr_kind(&mut self, expr: &'a Expr) {
        match &expr.kind {
            ExprKind::Literal { suffix, .. } => {
                if let Some(suffix) = suffix
                    && scalar_suffix(suffix).is_none()
                {
                    self.reject(expr.span, Rule::LiteralType(suffix.clone()));
                }
            }
            ExprKind::Name(name) => {
                let rule = match self.lookup(name) {
                    Some(Binding::Tensor { .. }) => Rule::TensorAsValue,
                    Some(Binding::Shape) => Rule::ShapeAsValue,
                    Some(Binding::Block) => Rule::BlockAsValue,
                    Some(Binding::Shared) => Rule::SharedAsValue,
                    Some(Binding::OfThreads) => Rule::OfThreads,
                    Some(Binding::Local { .. }) | None => return,
                };
                self.reject(expr.span, rule(name.clone()));
            }
            ExprKind::Const(_)
            | ExprKind::Len { .. }
            | ExprKind::Unary { .. }
            | ExprKind::Cast { .. }
            | ExprKind::Repeat { .. }
            | ExprKind::Field { .. }
            | ExprKind::Aggregate { .. }
            | ExprKind::Struct { .. }
            | ExprKind::Binary { .. }
            | ExprKind::Logic { .. } => self.children(expr),
            ExprKind::Associated { name, args, .. } => {
                self.exprs(args);
                if !is_builtin_function(name) {
                    self.unsupported(expr.span, &Construct::Associated(name.clone()));
                }
            }
            ExprKind::Element { value, index } => {
                self.number_of_grid(value);
                self.expr(value);
                self.exprs(index);
            }
            ExprKind::If { cond, then, otherwise } => {
                self.expr(cond);
                self.inside(Around::Branch, |this| this.block(then));
                if let Some(block) = otherwise {
                    self.inside(Around::Branch, |this| this.block(block));
                }
            }
            ExprKind::Loop { body, label, .. } => {
                self.looped(Around::Loop, label.as_deref(), |this| this.block(body));
            }
            ExprKind::Block(body) | ExprKind::Unsafe(body) => {
                self.inside(Around::Braces, |this| this.block(body));
            }
            ExprKind::Index { base, index } => match self.lookup(base) {
                Some(Binding::Shape) => self.axis(index.first(), expr.span),
                Some(Binding::Shared) => {
                    self.in_phase(expr.span, || format!("a read of `{base}`"));
                    self.exprs(index);
                }
                Some(Binding::Block) => {
                    self.reject(expr.span, Rule::BlockAsValue(base.clone()));
                }
                Some(Binding::OfThreads) => self.of_threads(base, index, expr.span),
                Some(Binding::Local { .. } | Binding::Tensor { .. }) | None => {
                    self.exprs(index);
                }
            },
            ExprKind::Extent { axis, .. } => self.axis(Some(axis), axis.span),
            ExprKind::Method { receiver, name, args, .. }
                if matches!(&receiver.kind, ExprKind::Name(name)
                    if matches!(self.lookup(name), Some(Binding::Block))) =>
            {
                // In a grid of several dimensions, a block has a number in each.
                let known = match (name.as_str(), &args[..]) {
                    ("index" | "threads", []) => true,
                    ("index", [axis]) => matches!(axis.kind, ExprKind::Literal { .. }),
                    _ => false,
                };
                if !known {
                    self.unsupported(expr.span, &Construct::Method(name.clone()));
                }
            }
            ExprKind::Method { receiver, name, args, .. } => {
                self.expr(receiver);
                self.exprs(args);
                if !is_builtin_method(name) {
                    self.unsupported(expr.span, &Construct::Method(name.clone()));
                }
            }
            ExprKind::Call { args, on_value, .. } => {
                // A method may take `&mut self`: only rustc knows.
                if let Some(receiver) = args.first().filter(|_| *on_value)
                    && let Some(name) = root(receiver)
                    && let Some(Binding::Local { depth, mutable: true }) = self.lookup(name)
                {
                    self.assign(name, depth, receiver.span);
                }
                for arg in args {
                    match self.tensor_name(arg) {
                        Some(Binding::Tensor { writable: true }) => {
                            self.in_phase(arg.span, || "a func that may write a tensor".to_owned())
                        }
                        Some(_) => {}
                        None => self.expr(arg),
                    }
                }
            }
            ExprKind::Atomic { place, value, .. } => {
                self.in_phase(expr.span, || "an atomic".to_owned());
                if let Some(base) = root(place) {
                    self.write(base, expr.span);
                }
                self.indices(place);
                self.expr(value);
            }
            ExprKind::BlockFor(each) => {
                self.reject(expr.span, Rule::BlockForPlace);
                self.blocks(each, expr.span);
            }
            ExprKind::Each(each) => {
                self.phase((&each.block, &each.name), expr.span, |this| this.block(&each.body));
            }
            ExprKind::StreamParallel(argument) => self.misplaced_region(argument, expr.span),
            ExprKind::Unsupported(construct) => self.unsupported(expr.span, construct),
        }
    }

    /// The expressions directly in `expr`, which has no blocks.
    fn children(&mut self, expr: &'a Expr) {
        in_expr(expr, &mut |node| match node {
            Node::Expr(expr) => self.expr(expr),
            Node::Stmt(stmt) => self.stmt(stmt),
        });
    }

    fn exprs(&mut self, exprs: &'a [Expr]) {
        exprs.iter().for_each(|expr| self.expr(expr));
    }

    fn misplaced_region(&mut self, argument: &'a RegionArgument, span: Span) {
        let innermost = self.around.last().copied();
        let rule = if self.kind == FunctionKind::Func {
            Rule::StreamParallelInFunc
        } else if self.around.contains(&Around::Region) {
            Rule::StreamParallelNested
        } else {
            match innermost {
                None => Rule::StreamParallelValue,
                Some(Around::Branch) => Rule::StreamParallelInBranch,
                Some(Around::Braces) => Rule::StreamParallelInBlock,
                Some(_) => Rule::StreamParallelInLoop,
            }
        };
        self.reject(span, rule);
        self.region(argument, span);
    }

    fn block(&mut self, block: &'a Block) {
        let scope = self.names.mark();
        block.stmts.iter().for_each(|stmt| self.stmt(stmt));
        self.optional(block.value.as_deref());
        self.names.leave(scope);
    }

    fn inside(&mut self, around: Around, body: impl FnOnce(&mut Self)) {
        let scope = self.names.mark();
        self.around.push(around);
        body(self);
        self.around.pop();
        self.names.leave(scope);
    }

    fn optional(&mut self, expr: Option<&'a Expr>) {
        if let Some(expr) = expr {
            self.expr(expr);
        }
    }

    fn axis(&mut self, axis: Option<&'a Expr>, span: Span) {
        if !matches!(axis, Some(Expr { kind: ExprKind::Literal { .. } | ExprKind::Const(_), .. })) {
            self.reject(span, Rule::ShapeAxis);
        }
    }

    fn declare(&mut self, name: &'a str, mutable: bool) {
        self.names.bind(name, Binding::Local { depth: self.around.len(), mutable });
    }

    fn lookup(&self, name: &str) -> Option<Binding> {
        self.names.lookup(whole(name)).copied()
    }

    fn place(&self, name: &str) -> Option<usize> {
        self.names.place(whole(name))
    }

    fn tensor_name(&self, expr: &Expr) -> Option<Binding> {
        match &expr.kind {
            ExprKind::Name(name) => {
                self.lookup(name).filter(|b| matches!(b, Binding::Tensor { .. }))
            }
            _ => None,
        }
    }

    /// A loop, with what its label names.
    fn looped(&mut self, around: Around, label: Option<&'a str>, body: impl FnOnce(&mut Self)) {
        let outer = self.labels.len();
        self.labels.extend(label.map(|label| (label, around)));
        self.inside(around, body);
        self.labels.truncate(outer);
    }

    /// The loop that a label names, or the innermost one.
    fn loop_of(&self, label: Option<&str>) -> Option<Around> {
        match label {
            Some(label) => self.labels.iter().rev().find(|(of, _)| *of == label).map(|(_, a)| *a),
            None => self.innermost_loop(),
        }
    }

    fn innermost_loop(&self) -> Option<Around> {
        self.around
            .iter()
            .rev()
            .take_while(|around| !matches!(around, Around::Phase | Around::Blocks))
            .find(|a| matches!(a, Around::ParallelLoop | Around::Loop | Around::NdrangeLoop))
            .copied()
    }

    /// Whether the statement only names scalars: it can be repeated wherever they are used.
    fn pure_let(&self, stmt: &'a Stmt) -> bool {
        match &stmt.kind {
            StmtKind::LetShape { .. } | StmtKind::LetExtents { .. } => true,
            StmtKind::Let { value, .. } | StmtKind::LetPattern { value, .. } => {
                !any_in_expr(value, &mut |node| match node {
                    Node::Expr(expr) => match &expr.kind {
                        ExprKind::Index { base, .. } => {
                            matches!(self.lookup(base), Some(Binding::Tensor { .. }))
                        }
                        ExprKind::Call { args, .. } => {
                            args.iter().any(|arg| self.tensor_name(arg).is_some())
                        }
                        ExprKind::Atomic { .. } => true,
                        _ => false,
                    },
                    Node::Stmt(stmt) => matches!(stmt.kind, StmtKind::Assert { .. }),
                })
            }
            _ => false,
        }
    }

    fn unsupported(&mut self, span: Span, construct: &Construct) {
        self.reject(span, Rule::Unsupported(construct.clone()));
    }

    fn reject(&mut self, span: Span, rule: Rule) {
        self.rejections.push(Rejection { span, rule });
    }
}

/// The name of what a name is a part of: a tensor of a struct of tensors, `p.place`, is what the struct is.
fn whole(name: &str) -> &str {
    name.split_once('.').map_or(name, |(group, _)| group)
}

fn is_region_stmt(stmt: &Stmt) -> bool {
    matches!(&stmt.kind, StmtKind::Expr(expr) if is_region(expr))
}

fn is_region(expr: &Expr) -> bool {
    matches!(expr.kind, ExprKind::StreamParallel(_))
}

/// A misplaced block gets a message of its own, and its statement no second one.
fn contains_region(stmt: &Stmt) -> bool {
    any_in_stmt(stmt, &mut |node| matches!(node, Node::Expr(expr) if is_region(expr)))
}
