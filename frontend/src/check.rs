//! Checks the rules of the kernel language on a syntax tree, for macro and builder alike.
//!
//! It checks what rustc cannot see, or would report in terms of emitted code:
//!
//! * the position and argument of `stream_parallel`, and the statements next to it;
//! * control flow that cannot leave a parallel loop or a function: `break`, `return`, `?`;
//! * the position of `block_for` and its phases, and statements outside phases;
//! * assignments to locals from outside a parallel loop or block, and writes to `&` parameters;
//! * unsupported syntax.
//!
//! rustc checks types, names and argument counts. The race check (`races`) runs on trees without violations.

mod combining;
mod launch_values;
mod top;

use std::collections::HashSet;

use quadrants_ir::abi::{MAX_BLOCK_SIZE, MAX_RANK};

use crate::{
    builtins::{is_builtin_function, is_builtin_method},
    language_rule::{LanguageRule, NotCombined, RuleViolation},
    literal::scalar_suffix,
    races,
    symbol_table::SymbolTable,
    syntax::{
        Block, BlockFor, Construct, Expr, ExprKind, For, Function, FunctionKind, ParamPassing,
        Span, Stmt, StmtKind, StreamParallelArgument,
    },
    visit::{
        Node, base_name, contains_stream_parallel, each_binding, is_stream_parallel,
        is_stream_parallel_stmt, lacks_else, struct_name, walk_expr,
    },
};

/// Returns all violations of the language rules in `function`, in source order.
#[must_use]
pub fn check(function: &Function) -> Vec<RuleViolation> {
    check_with(function, &|_| None)
}

/// Like [`check`]. Messages quote the user's text from `source`, which has it where it is known.
#[must_use]
pub fn check_with(
    function: &Function,
    source: &dyn Fn(Span) -> Option<String>,
) -> Vec<RuleViolation> {
    let mut checker = Checker {
        kind: function.kind,
        violations: Vec::new(),
        names: SymbolTable::new(),
        known: Vec::new(),
        scopes: Vec::new(),
        labels: Vec::new(),
        depth: 0,
        thread: None,
        has_streams: false,
        after_streams: false,
        returns_are_misplaced: false,
        first_return: None,
        parallel: None,
        outside: HashSet::new(),
    };
    for param in &function.params {
        let binding = match param.passing {
            ParamPassing::Value => Binding::Local { depth: 0, mutable: param.mutable },
            passing => Binding::Tensor { writable: passing == ParamPassing::RefMut },
        };
        checker.names.bind(&param.name, binding);
        checker.set_known(&param.name, !param.mutable);
    }
    checker.function(function);
    if checker.violations.is_empty() {
        return races::violations(function, source);
    }
    without_consequences(checker.violations)
}

/// Leaves out what follows from another mistake: further uses of a reference, and what a selection that is rejected
/// assigns besides the extremum.
fn without_consequences(mut violations: Vec<RuleViolation>) -> Vec<RuleViolation> {
    let is_selection = |rule: &LanguageRule| {
        matches!(rule, LanguageRule::AssignOutsideLoop { reason: NotCombined::Selection, .. })
    };
    let has_selection = violations.iter().any(|violation| is_selection(&violation.rule));
    let mut has_reference = false;
    violations.retain(|violation| match &violation.rule {
        LanguageRule::AssignOutsideLoop { reason: NotCombined::Last, .. } => !has_selection,
        LanguageRule::Unsupported(Construct::Reference) => {
            !std::mem::replace(&mut has_reference, true)
        }
        _ => true,
    });
    violations
}

/// Maximum nesting of expressions. Bounds the recursion of all passes over a checked tree.
const MAX_DEPTH: u16 = 256;

struct Checker<'a> {
    kind: FunctionKind,
    violations: Vec<RuleViolation>,
    names: SymbolTable<Binding>,
    /// Which bindings the host knows before a launch, by their positions.
    known: Vec<bool>,
    /// The enclosing constructs, innermost last.
    scopes: Vec<ScopeKind>,
    /// The labels of enclosing loops, and the kinds of those loops.
    labels: Vec<(&'a str, ScopeKind)>,
    /// The number of enclosing expressions.
    depth: u16,
    /// In a phase: the position of the binding of the thread number.
    thread: Option<usize>,
    /// Whether the kernel has `stream_parallel` blocks.
    has_streams: bool,
    /// Whether such a block is before the code.
    after_streams: bool,
    /// Whether the code is the condition of an `if` at the top level, or has the bounds of a parallel loop.
    returns_are_misplaced: bool,
    /// The first misplaced `return` of a kernel so far.
    first_return: Option<Span>,
    /// The enclosing or last parallel loop.
    parallel: Option<&'a For>,
    /// The locals from outside of it that it assigns.
    outside: HashSet<String>,
}

#[derive(Clone, Copy)]
enum Binding {
    Tensor {
        writable: bool,
    },
    Shape,
    /// A block of threads.
    Block,
    Shared,
    /// A value per thread of a block.
    PerThread,
    /// A scalar, and the number of [enclosing](Checker::scopes) constructs of its declaration.
    Local {
        depth: usize,
        mutable: bool,
    },
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ScopeKind {
    StreamParallel,
    ParallelLoop,
    /// The body of `block_for`, outside phases.
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
            self.optional_expr(body.value.as_deref());
            return;
        }

        let blocks = body.stmts.iter().any(is_stream_parallel_stmt)
            || body.value.as_deref().is_some_and(is_stream_parallel);
        self.has_streams = blocks;
        for stmt in &body.stmts {
            let is_mixed = |this: &Self| !this.is_pure_let(stmt) && !this.is_pure_return(stmt);
            if blocks && !contains_stream_parallel(stmt) && is_mixed(self) {
                self.reject(stmt.span, LanguageRule::RegionBlocksMixed);
            }
            self.top_stmt(stmt);
            self.after_streams |= is_stream_parallel_stmt(stmt);
        }
        match body.value.as_deref() {
            Some(Expr { kind: ExprKind::StreamParallel(argument), span })
                if function.result.is_none() =>
            {
                self.stream_parallel(argument, *span);
            }
            Some(value) => {
                if blocks && !is_stream_parallel(value) {
                    self.reject(value.span, LanguageRule::RegionBlocksMixed);
                }
                self.top_expr(value);
            }
            None => {}
        }
    }

    fn block_for(&mut self, each: &'a BlockFor, span: Span) {
        if !(1..=3).contains(&each.blocks.len()) {
            self.reject(span, LanguageRule::Dimensions);
        }
        each.blocks.iter().for_each(|count| self.expr(count));
        self.constant(&each.threads, "the number of threads of a block");
        if let ExprKind::Literal { text, .. } = &each.threads.kind
            && text.parse().is_ok_and(|size: u32| !(1..=MAX_BLOCK_SIZE).contains(&size))
        {
            self.reject(each.threads.span, LanguageRule::BlockSize);
        }
        self.enter(ScopeKind::Blocks, |this| {
            this.names.bind(&each.name, Binding::Block);
            this.block(&each.body);
        });
    }

    /// Rejects an aggregate `block.index()`: its grid is an array that is not written in the call.
    fn check_grid_number(&mut self, value: &Expr) {
        if let ExprKind::Method { receiver, .. } = &value.kind
            && let ExprKind::Name(block) = &receiver.kind
            && matches!(self.lookup(block), Some(Binding::Block))
        {
            self.reject(value.span, LanguageRule::GridElsewhere);
        }
    }

    fn phase(
        &mut self,
        (block, thread): (&str, &'a str),
        span: Span,
        body: impl FnOnce(&mut Self),
    ) {
        let is_block = matches!(self.lookup(block), Some(Binding::Block));
        if !is_block || !self.is_block_level() {
            self.reject(span, LanguageRule::PhasePlace);
        }
        self.enter(ScopeKind::Phase, |this| {
            let outer = this.thread.replace(this.names.mark());
            this.declare(thread, false);
            body(this);
            this.thread = outer;
        });
    }

    /// Checks a read of a per-thread value: the index must be the phase's own thread.
    fn per_thread_read(&mut self, name: &str, index: &[Expr], span: Span) {
        let own = |index: &Expr| match &index.kind {
            ExprKind::Name(name) => self.position(name).is_some_and(|at| Some(at) == self.thread),
            _ => false,
        };
        if !matches!(index, [index] if own(index)) {
            self.reject(span, LanguageRule::PerThread(name.to_owned()));
        }
    }

    /// Whether the code is in a `block_for` and outside phases: all threads of a block do the same.
    fn is_block_level(&self) -> bool {
        self.scopes.contains(&ScopeKind::Blocks) && !self.scopes.contains(&ScopeKind::Phase)
    }

    /// Rejects an effect in a block but outside its phases.
    fn phase_only(&mut self, span: Span, what: impl FnOnce() -> String) {
        if self.is_block_level() {
            self.reject(span, LanguageRule::OutsidePhase(what()));
        }
    }

    fn stream_parallel(&mut self, argument: &'a StreamParallelArgument, span: Span) {
        match argument {
            StreamParallelArgument::Other => {
                self.reject(span, LanguageRule::StreamParallelNotClosure)
            }
            StreamParallelArgument::Closure { params, body } => {
                if *params > 0 {
                    self.reject(span, LanguageRule::StreamParallelParameters);
                }
                self.enter(ScopeKind::StreamParallel, |this| {
                    for stmt in &body.stmts {
                        this.top_stmt(stmt);
                    }
                    if let Some(value) = body.value.as_deref() {
                        this.top_expr(value);
                    }
                });
            }
        }
    }

    fn stmt(&mut self, stmt: &'a Stmt) {
        if let StmtKind::Let { value, .. }
        | StmtKind::LetPattern { value, .. }
        | StmtKind::Assign { value, .. } = &stmt.kind
            && lacks_else(value)
        {
            self.reject(value.span, LanguageRule::IfWithoutElse);
        }
        match &stmt.kind {
            StmtKind::Let { name, mutable, value, .. } => {
                self.expr(value);
                let known = !*mutable && self.is_launch_value(value);
                self.declare(name, *mutable);
                self.set_known(name, known);
            }
            StmtKind::LetPattern { pattern, value } => {
                self.check_grid_number(value);
                self.expr(value);
                each_binding(pattern, &mut |name, mutable, _| self.declare(name, mutable));
            }
            StmtKind::LetShape { name, .. } => {
                self.names.bind(name, Binding::Shape);
                self.set_known(name, true);
            }
            StmtKind::LetExtents { names, .. } => {
                for name in names.iter().flatten() {
                    self.declare(name, false);
                    self.set_known(name, true);
                }
            }
            StmtKind::LetShared { name, block, dims, .. } => {
                let is_block = matches!(self.lookup(block), Some(Binding::Block));
                let repeated = self.scopes.iter().any(|scope| {
                    matches!(scope, ScopeKind::Loop | ScopeKind::NdrangeLoop | ScopeKind::Phase)
                });
                if !is_block {
                    self.unsupported(stmt.span, &Construct::Shared);
                } else if repeated {
                    self.reject(stmt.span, LanguageRule::SharedPlace);
                }
                dims.iter().for_each(|len| self.shared_extent(len));
                self.names.bind(name, Binding::Shared);
            }
            StmtKind::LetCollective(call) => {
                if let Some((_, by)) = &call.by {
                    self.expr(by);
                }
                self.phase((&call.block, &call.thread), stmt.span, |this| this.expr(&call.value));
                match call.op.is_uniform() {
                    true => self.declare(&call.name, false),
                    false => self.names.bind(&call.name, Binding::PerThread),
                }
            }
            StmtKind::Assign { target, value, .. } => {
                self.expr(value);
                self.assign_target(target);
            }
            StmtKind::Reduce { name, value, .. } => {
                self.expr(value);
                let is_branch =
                    |scope: &&ScopeKind| matches!(scope, ScopeKind::Branch | ScopeKind::Braces);
                if let Some(Binding::Local { depth, .. }) = self.lookup(name)
                    && self.scopes[depth..].iter().find(|scope| !is_branch(scope))
                        != Some(&ScopeKind::ParallelLoop)
                {
                    self.assign(name, depth, stmt.span);
                }
            }
            StmtKind::Expr(expr) => self.expr(expr),
            StmtKind::For(each) => {
                if each.options.serial {
                    self.reject(stmt.span, LanguageRule::SerialInside);
                }
                self.serial_loop(each, stmt.span);
            }
            StmtKind::While { cond, body, label } => {
                self.in_loop(ScopeKind::Loop, label.as_deref(), |this| {
                    this.expr(cond);
                    this.block(body);
                });
            }
            StmtKind::Loop { body, label } => {
                self.in_loop(ScopeKind::Loop, label.as_deref(), |this| this.block(body));
            }
            StmtKind::Break { label, value } => {
                self.optional_expr(value.as_ref());
                match self.find_loop(label.as_deref()) {
                    Some(ScopeKind::NdrangeLoop) => {
                        self.reject(stmt.span, LanguageRule::BreakNdrange)
                    }
                    Some(ScopeKind::ParallelLoop) => {
                        self.reject(stmt.span, LanguageRule::BreakParallel)
                    }
                    None if label.is_none() => {
                        self.reject(stmt.span, LanguageRule::OutsideLoop("break"));
                    }
                    // rustc reports unknown labels.
                    Some(_) | None => {}
                }
            }
            StmtKind::Continue { label } => {
                if label.is_none() && self.innermost_loop().is_none() {
                    self.reject(stmt.span, LanguageRule::OutsideLoop("continue"));
                }
            }
            StmtKind::Unreachable => {}
            StmtKind::Return { value } => {
                self.optional_expr(value.as_ref());
                if self.kind == FunctionKind::Kernel {
                    self.kernel_return(stmt.span);
                }
            }
            StmtKind::Assert { cond, report } => {
                self.phase_only(stmt.span, || "`assert!`".to_owned());
                self.expr(cond);
                report.args.iter().for_each(|(arg, _)| self.expr(arg));
            }
            StmtKind::Print { args, .. } => {
                self.phase_only(stmt.span, || "`println!`".to_owned());
                args.iter().for_each(|(arg, _)| self.expr(arg));
            }
            StmtKind::Unsupported(construct) => self.unsupported(stmt.span, construct),
        }
    }

    fn serial_loop(&mut self, each: &'a For, span: Span) {
        if each.options.block_size.is_some() {
            self.reject(span, LanguageRule::BlockSizeOfSerial);
        }
        let is_space = each.dims.len() > 1 || each.options.is_space;
        let scope = if is_space { ScopeKind::NdrangeLoop } else { ScopeKind::Loop };
        self.for_loop(each, span, scope);
    }

    fn for_loop(&mut self, each: &'a For, span: Span, scope: ScopeKind) {
        if each.options.unroll.is_some() && scope == ScopeKind::ParallelLoop {
            self.reject(span, LanguageRule::UnrollParallel);
        }
        if each.options.block_size.is_some_and(|size| !(1..=MAX_BLOCK_SIZE).contains(&size)) {
            self.reject(span, LanguageRule::BlockSize);
        }
        // The macro makes nested loops of a parallel loop over more dimensions.
        let most = if scope == ScopeKind::ParallelLoop { 3 } else { MAX_RANK };
        if !(1..=most).contains(&each.dims.len()) {
            self.reject(span, LanguageRule::Dimensions);
        }
        let is_parallel = scope == ScopeKind::ParallelLoop;
        let misplaced = std::mem::replace(&mut self.returns_are_misplaced, is_parallel);
        for dim in &each.dims {
            self.optional_expr(dim.begin.as_ref());
            self.expr(&dim.end);
            if let Some(step) = &dim.step {
                self.expr(step);
                if matches!(&step.kind, ExprKind::Literal { text, .. } if text == "0") {
                    self.reject(step.span, LanguageRule::StepOfZero);
                }
            }
            if dim.inclusive && each.dims.len() > 1 {
                self.reject(dim.end.span, LanguageRule::InclusiveRange);
            }
        }
        self.returns_are_misplaced = misplaced;
        self.in_loop(scope, each.label.as_deref(), |this| {
            each.dims.iter().for_each(|dim| this.declare(&dim.name, dim.mutable));
            this.block(&each.body);
        });
    }

    fn assign_target(&mut self, target: &'a Expr) {
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
                        self.phase_only(target.span, || format!("a write to `{base}`"));
                        self.write(base, target.span);
                    }
                }
                self.exprs(index);
            }
            ExprKind::Field { .. } | ExprKind::Element { .. } => {
                match base_name(target).and_then(|name| Some((name, self.lookup(name)?))) {
                    Some((name, Binding::Local { depth, .. })) => {
                        self.assign(name, depth, target.span);
                        self.expr(target);
                    }
                    Some((name, Binding::Tensor { .. } | Binding::Shared)) => {
                        self.phase_only(target.span, || format!("a write to `{name}`"));
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

    fn write(&mut self, base: &'a str, span: Span) {
        let name = base.to_owned();
        match self.lookup(base) {
            Some(Binding::Tensor { writable: false }) => {
                self.reject(span, LanguageRule::WriteToShared(name));
            }
            Some(Binding::Shape) => self.reject(span, LanguageRule::AssignToShape(name)),
            Some(Binding::PerThread) => self.reject(span, LanguageRule::PerThread(name)),
            Some(Binding::Local { .. } | Binding::Block) => {
                self.unsupported(span, &Construct::AtomicTarget);
            }
            Some(Binding::Tensor { writable: true } | Binding::Shared) | None => {}
        }
    }

    fn expr(&mut self, expr: &'a Expr) {
        if self.depth == MAX_DEPTH {
            // Siblings may nest as deep; report one of them.
            if self.violations.last().is_none_or(|last| last.rule != LanguageRule::TooDeep) {
                self.reject(expr.span, LanguageRule::TooDeep);
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
                    self.reject(expr.span, LanguageRule::LiteralType(suffix.clone()));
                }
            }
            ExprKind::Name(name) => {
                let rule = match self.lookup(name) {
                    Some(Binding::Tensor { .. }) => LanguageRule::TensorAsValue,
                    Some(Binding::Shape) => LanguageRule::ShapeAsValue,
                    Some(Binding::Block) => LanguageRule::BlockAsValue,
                    Some(Binding::Shared) => LanguageRule::SharedAsValue,
                    Some(Binding::PerThread) => LanguageRule::PerThread,
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
                self.check_grid_number(value);
                self.expr(value);
                self.exprs(index);
            }
            ExprKind::If { cond, then, otherwise } => {
                self.expr(cond);
                self.enter(ScopeKind::Branch, |this| this.block(then));
                if let Some(block) = otherwise {
                    self.enter(ScopeKind::Branch, |this| this.block(block));
                }
            }
            ExprKind::Loop { body, label, .. } => {
                self.in_loop(ScopeKind::Loop, label.as_deref(), |this| this.block(body));
            }
            ExprKind::Block(body) | ExprKind::Unsafe(body) => {
                self.enter(ScopeKind::Braces, |this| this.block(body));
            }
            ExprKind::Index { base, index } => match self.lookup(base) {
                Some(Binding::Shape) => self.axis(index.first(), expr.span),
                Some(Binding::Shared) => {
                    self.phase_only(expr.span, || format!("a read of `{base}`"));
                    self.exprs(index);
                }
                Some(Binding::Block) => {
                    self.reject(expr.span, LanguageRule::BlockAsValue(base.clone()));
                }
                Some(Binding::PerThread) => self.per_thread_read(base, index, expr.span),
                Some(Binding::Local { .. } | Binding::Tensor { .. }) | None => {
                    self.exprs(index);
                }
            },
            ExprKind::Extent { axis, .. } => self.axis(Some(axis), axis.span),
            ExprKind::Method { receiver, name, args, .. }
                if matches!(&receiver.kind, ExprKind::Name(name)
                    if matches!(self.lookup(name), Some(Binding::Block))) =>
            {
                // In a grid of several dimensions, a block has an index per dimension.
                let is_supported = match (name.as_str(), &args[..]) {
                    ("index" | "threads", []) => true,
                    ("index", [axis]) => matches!(axis.kind, ExprKind::Literal { .. }),
                    _ => false,
                };
                if !is_supported {
                    let what = format!(
                        "a block of threads has no `{name}`: it has `index()`, `threads()`, `shared`, phases \
                         `each(|t| …)`, at whose ends its threads wait for each other, and collectives: `all`, `any`, `ballot`, \
                         `reduce_…`, `scan_…` and `exclusive_scan_…` with `add`, `min` or `max`, `shuffle`"
                    );
                    self.unsupported(expr.span, &Construct::Format(what));
                }
            }
            ExprKind::Method { receiver, name, args, .. } => {
                self.expr(receiver);
                self.exprs(args);
                if !is_builtin_method(name) {
                    self.unsupported(expr.span, &Construct::Method(name.clone()));
                }
            }
            ExprKind::Call { args, has_receiver, .. } => {
                // The method may take `&mut self`; only rustc knows.
                if let Some(receiver) = args.first().filter(|_| *has_receiver)
                    && let Some(name) = base_name(receiver)
                    && let Some(Binding::Local { depth, mutable: true }) = self.lookup(name)
                {
                    self.assign(name, depth, receiver.span);
                }
                for arg in args {
                    match self.tensor_name(arg) {
                        Some(Binding::Tensor { writable: true }) => self
                            .phase_only(arg.span, || "a func that may write a tensor".to_owned()),
                        Some(_) => {}
                        None => self.expr(arg),
                    }
                }
            }
            ExprKind::Atomic { place, expected, value, .. } => {
                self.phase_only(expr.span, || "an atomic".to_owned());
                if let Some(base) = base_name(place) {
                    self.write(base, expr.span);
                }
                self.indices(place);
                self.optional_expr(expected.as_deref());
                self.expr(value);
            }
            ExprKind::BlockFor(each) => {
                self.reject(expr.span, LanguageRule::BlockForPlace);
                self.block_for(each, expr.span);
            }
            ExprKind::Phase(phase) => {
                self.phase((&phase.block, &phase.name), expr.span, |this| this.block(&phase.body));
            }
            ExprKind::StreamParallel(argument) => self.misplaced_call(argument, expr.span),
            ExprKind::Unsupported(construct) => self.unsupported(expr.span, construct),
        }
    }

    /// Checks the direct children of `expr`, which has no blocks.
    fn children(&mut self, expr: &'a Expr) {
        walk_expr(expr, &mut |node| match node {
            Node::Expr(expr) => self.expr(expr),
            Node::Stmt(stmt) => self.stmt(stmt),
        });
    }

    fn exprs(&mut self, exprs: &'a [Expr]) {
        exprs.iter().for_each(|expr| self.expr(expr));
    }

    fn block(&mut self, block: &'a Block) {
        let mark = self.names.mark();
        block.stmts.iter().for_each(|stmt| self.stmt(stmt));
        self.optional_expr(block.value.as_deref());
        self.names.leave(mark);
    }

    fn enter(&mut self, scope: ScopeKind, body: impl FnOnce(&mut Self)) {
        let mark = self.names.mark();
        self.scopes.push(scope);
        body(self);
        self.scopes.pop();
        self.names.leave(mark);
    }

    fn optional_expr(&mut self, expr: Option<&'a Expr>) {
        if let Some(expr) = expr {
            self.expr(expr);
        }
    }

    fn axis(&mut self, axis: Option<&'a Expr>, span: Span) {
        if !matches!(axis, Some(Expr { kind: ExprKind::Literal { .. } | ExprKind::Const(_), .. })) {
            self.reject(span, LanguageRule::ShapeAxis);
        }
    }

    fn declare(&mut self, name: &'a str, mutable: bool) {
        self.names.bind(name, Binding::Local { depth: self.scopes.len(), mutable });
        self.set_known(name, false);
    }

    fn lookup(&self, name: &str) -> Option<Binding> {
        self.names.lookup(struct_name(name)).copied()
    }

    fn position(&self, name: &str) -> Option<usize> {
        self.names.position(struct_name(name))
    }

    fn tensor_name(&self, expr: &Expr) -> Option<Binding> {
        match &expr.kind {
            ExprKind::Name(name) => {
                self.lookup(name).filter(|b| matches!(b, Binding::Tensor { .. }))
            }
            _ => None,
        }
    }

    fn in_loop(&mut self, scope: ScopeKind, label: Option<&'a str>, body: impl FnOnce(&mut Self)) {
        let outer = self.labels.len();
        self.labels.extend(label.map(|label| (label, scope)));
        self.enter(scope, body);
        self.labels.truncate(outer);
    }

    /// The kind of the loop with this label, or of the innermost loop.
    fn find_loop(&self, label: Option<&str>) -> Option<ScopeKind> {
        match label {
            Some(label) => {
                self.labels.iter().rev().find(|(name, _)| *name == label).map(|(_, a)| *a)
            }
            None => self.innermost_loop(),
        }
    }

    fn innermost_loop(&self) -> Option<ScopeKind> {
        self.scopes
            .iter()
            .rev()
            .take_while(|scope| !matches!(scope, ScopeKind::Phase | ScopeKind::Blocks))
            .find(|a| {
                matches!(a, ScopeKind::ParallelLoop | ScopeKind::Loop | ScopeKind::NdrangeLoop)
            })
            .copied()
    }

    fn unsupported(&mut self, span: Span, construct: &Construct) {
        self.reject(span, LanguageRule::Unsupported(construct.clone()));
    }

    fn reject(&mut self, span: Span, rule: LanguageRule) {
        self.violations.push(RuleViolation { span, rule });
    }
}
