//! State of the kernel builder: values, names, constants and open blocks.

use std::{
    cell::RefCell,
    collections::{HashMap, HashSet},
    panic::Location,
};

use quadrants_ir::{
    Const, Options, ScalarType,
    types::{ParamType, Type},
};

use crate::misuse::Misuse;
use crate::syntax::{Expr, ExprKind, LiteralKind, Param, Span, Stmt, StmtKind, TypeIx};

/// Builds a kernel by calls; see the [module](super).
#[derive(Debug)]
pub struct KernelBuilder {
    pub(super) state: RefCell<BuilderState>,
    pub(super) file: &'static str,
    pub(super) span: Span,
}

/// A scalar of a kernel that is being built. It is evaluated where it was created, and usable in that block.
#[derive(Clone, Copy, Debug)]
pub struct Value<'b> {
    pub(super) builder: &'b KernelBuilder,
    pub(super) atom: Atom,
    pub(super) ty: ScalarType,
    pub(super) block: u32,
}

/// The definition of a value: an index of the builder's names or constants.
#[derive(Clone, Copy, Debug)]
pub(super) enum Atom {
    Name(u32),
    Const(u32),
}

#[derive(Debug)]
pub(super) struct BuilderState {
    pub(super) name: String,
    pub(super) options: Options,
    pub(super) params: Vec<(Param, ParamType)>,
    pub(super) consts: Vec<Const>,
    const_indices: HashMap<Const, u32>,
    /// The open blocks, outermost first.
    pub(super) blocks: Vec<OpenBlock>,
    pub(super) result: Option<(Expr, ScalarType)>,
    /// The first misuse.
    pub(super) misuse: Option<(Misuse, Span)>,
    /// All names in use. They are unique, so that no binding shadows the one of another value.
    names: Vec<String>,
    taken: HashSet<String>,
    /// The last number of a block or generated name.
    last_id: u32,
}

#[derive(Debug)]
pub(super) struct OpenBlock {
    id: u32,
    pub(super) stmts: Vec<Stmt>,
}

impl BuilderState {
    pub(super) fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            options: Options::default(),
            params: Vec::new(),
            consts: Vec::new(),
            const_indices: HashMap::new(),
            blocks: vec![OpenBlock { id: 0, stmts: Vec::new() }],
            result: None,
            misuse: None,
            names: Vec::new(),
            taken: HashSet::new(),
            last_id: 0,
        }
    }

    pub(super) fn depth(&self) -> usize {
        self.blocks.len() - 1
    }

    pub(super) fn fail(&mut self, misuse: Misuse, span: Span) {
        self.misuse.get_or_insert((misuse, span));
    }

    pub(super) fn constant(&mut self, value: Const) -> u32 {
        *self.const_indices.entry(value).or_insert_with(|| {
            self.consts.push(value);
            self.consts.len() as u32 - 1
        })
    }

    /// Adds the name, or if it is taken, a name derived from it; returns its index.
    pub(super) fn unique_name(&mut self, name: &str) -> u32 {
        let mut unique_name = name.to_owned();
        while !self.taken.insert(unique_name.clone()) {
            self.last_id += 1;
            unique_name = format!("{name}_{}", self.last_id);
        }
        self.names.push(unique_name);
        self.names.len() as u32 - 1
    }

    /// Adds a generated name; returns its index. Messages print the value of such a name instead.
    pub(super) fn generated_name(&mut self, name: &str) -> u32 {
        self.last_id += 1;
        self.unique_name(&format!("_{name}{}", self.last_id))
    }

    pub(super) fn name_of(&self, number: u32) -> String {
        self.names[number as usize].clone()
    }

    pub(super) fn open(&mut self) -> usize {
        self.last_id += 1;
        self.blocks.push(OpenBlock { id: self.last_id, stmts: Vec::new() });
        self.depth()
    }

    fn current(&self) -> u32 {
        self.blocks.last().map_or(0, |block| block.id)
    }
}

impl KernelBuilder {
    pub(super) fn name_of(&self, number: u32) -> String {
        self.state.borrow().name_of(number)
    }

    /// The value of the current block with this definition.
    pub(super) fn handle(&self, atom: Atom, ty: ScalarType) -> Value<'_> {
        let block = match atom {
            Atom::Name(_) => self.state.borrow().current(),
            Atom::Const(_) => 0,
        };
        Value { builder: self, atom, ty, block }
    }

    /// The expression that uses a value; checks its builder and scope.
    #[track_caller]
    pub(super) fn expr(&self, value: Value<'_>) -> Expr {
        let span = caller();
        if !std::ptr::eq(self, value.builder) {
            self.misuse(Misuse::ForeignValue);
            return literal(0);
        }
        let mut state = self.state.borrow_mut();
        if !state.blocks.iter().any(|block| block.id == value.block) {
            state.fail(Misuse::OutOfScope, span);
        }
        let kind = match value.atom {
            Atom::Const(ix) => ExprKind::Const(ix),
            Atom::Name(at) => ExprKind::Name(state.name_of(at)),
        };
        Expr { kind, span }
    }

    #[track_caller]
    pub(super) fn stmt(&self, kind: StmtKind) {
        let mut state = self.state.borrow_mut();
        if state.result.is_some() {
            state.fail(Misuse::AfterReturn, caller());
        }
        if let Some(block) = state.blocks.last_mut() {
            block.stmts.push(Stmt { kind, span: caller() });
        }
    }

    /// Adds a local with the value of `kind`; returns the value.
    #[track_caller]
    pub(super) fn compute(&self, name: &str, kind: ExprKind, ty: ScalarType) -> Value<'_> {
        let number = self.state.borrow_mut().generated_name(name);
        let value = Expr { kind, span: caller() };
        let name = self.name_of(number);
        self.stmt(StmtKind::Let { name, mutable: false, ty: type_ix(ty), value });
        self.handle(Atom::Name(number), ty)
    }

    #[track_caller]
    pub(super) fn check_name(&self, name: &str) {
        let mut chars = name.chars();
        let first = chars.next().is_some_and(|c| c == '_' || c.is_ascii_alphabetic());
        if !first || name == "_" || !chars.all(|c| c == '_' || c.is_ascii_alphanumeric()) {
            self.misuse(Misuse::Name { name: name.to_owned() });
        }
    }

    #[track_caller]
    pub(super) fn misuse(&self, misuse: Misuse) {
        self.state.borrow_mut().fail(misuse, caller());
    }
}

#[track_caller]
pub(super) fn caller() -> Span {
    let at = Location::caller();
    Span::new(0, at.line(), at.column())
}

#[track_caller]
pub(super) fn literal(value: u32) -> Expr {
    let kind = ExprKind::Literal { kind: LiteralKind::Int, text: value.to_string(), suffix: None };
    Expr { kind, span: caller() }
}

pub(super) fn type_ix(ty: ScalarType) -> TypeIx {
    ScalarType::ALL.iter().position(|t| *t == ty).unwrap_or_default() as TypeIx
}

/// The index in [`types`] of the tuple of a `ty` and a `u64`.
pub(super) fn pair_ix(ty: ScalarType) -> TypeIx {
    type_ix(ty) + ScalarType::ALL.len() as TypeIx
}

/// The type table of built kernels.
pub(super) fn types() -> Vec<Type> {
    let pairs = PAIRS.iter().map(|pair| Type::Tuple(pair));
    ScalarType::ALL.into_iter().map(Type::Scalar).chain(pairs).collect()
}

static PAIRS: [[Type; 2]; ScalarType::ALL.len()] = {
    let mut pairs = [[Type::Scalar(ScalarType::U64); 2]; ScalarType::ALL.len()];
    let mut at = 0;
    while at < pairs.len() {
        pairs[at][0] = Type::Scalar(ScalarType::ALL[at]);
        at += 1;
    }
    pairs
};
