//! The syntax tree of a kernel or a func: what its author wrote, before any type is known.
//!
//! The macro makes it from tokens, and embeds it, serialized, in what it emits; so the tree holds no
//! type, only indices into tables that rustc fills when the emitted code is compiled ([`TypeIx`],
//! [`ExprKind::Const`], [`ExprKind::Call`]). It can hold code that kernels do not allow: finding that
//! is [`check`](fn@crate::check)'s work, so that each rejection is written once.

use serde::{Deserialize, Serialize};

pub use quadrants_ir::{AtomicOp, BinaryOp, CollectiveOp, Options, UnaryOp};

/// An index into the type table of a [`Source`](crate::Source).
pub type TypeIx = u32;

/// A kernel or a func.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Function {
    /// Which of the two.
    pub kind: FunctionKind,
    /// Its name.
    pub name: String,
    /// The name's place.
    pub span: Span,
    /// The parameters in order.
    pub params: Vec<Param>,
    /// The type of its value, where it has one.
    pub result: Option<TypeIx>,
    /// Its body.
    pub body: Block,
    /// What the attribute asks for; a func's are its caller's.
    pub options: Options,
}

/// Which attribute a function carries.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum FunctionKind {
    /// `#[kernel]`
    Kernel,
    /// `#[func]`
    Func,
}

/// A place in the source. The macro finds its tokens by `id`, a message its reader by the others.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub struct Span {
    /// The macro's own number for the tokens.
    pub id: u32,
    /// The line, from 1; 0 where there is no source.
    pub line: u32,
    /// The column, from 1.
    pub column: u32,
}

/// A parameter. What it is a tensor or a number of, the source's tables say.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Param {
    /// Its name.
    pub name: String,
    /// How it is passed.
    pub passing: ParamPassing,
    /// Whether the binding is `mut`.
    pub mutable: bool,
    /// Whether it is a method's `&mut self`: what is done to it is done to the receiver.
    pub by_reference: bool,
    /// The name's place.
    pub span: Span,
}

/// How a parameter is passed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum ParamPassing {
    /// A scalar, by value.
    Value,
    /// `&`: a tensor that is only read.
    Ref,
    /// `&mut`: a tensor that may be written.
    RefMut,
}

/// Statements, and the value after them where there is one.
///
/// A last `if`, block, call or atomic without a semicolon is the `value` even where it is of type
/// `()`; a last loop or assignment is a statement.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Block {
    /// The statements in order.
    pub stmts: Vec<Stmt>,
    /// The expression at the end without a semicolon.
    pub value: Option<Box<Expr>>,
}

/// A statement.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Stmt {
    /// What it does.
    pub kind: StmtKind,
    /// Its place.
    pub span: Span,
}

/// What a statement does.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub enum StmtKind {
    /// `let name = value;`, `let mut name: T = value;`
    Let {
        /// The name.
        name: String,
        /// Whether it is `mut`.
        mutable: bool,
        /// The type that rustc gave the binding.
        ty: TypeIx,
        /// The value.
        value: Expr,
    },
    /// `let (a, mut b) = value;`, `let Point { x, .. } = value;`
    LetPattern {
        /// What is taken apart how.
        pattern: Pattern,
        /// The value.
        value: Expr,
    },
    /// `let s = t.shape();`: the name stands for the tensor's extents.
    LetShape {
        /// The name.
        name: String,
        /// The tensor, or an earlier name for its extents.
        base: String,
    },
    /// `let [h, w] = t.shape();`
    LetExtents {
        /// The names in order, each of type `usize`; none for `_`.
        names: Vec<Option<String>>,
        /// The tensor, or an earlier name for its extents.
        base: String,
    },
    /// `let mut name = b.shared::<T>(len);`, `let mut name = b.shared_2d::<T>([rows, columns]);`
    LetShared {
        /// The name.
        name: String,
        /// The block.
        block: String,
        /// `T`.
        ty: TypeIx,
        /// How many elements along each dimension; constants.
        dims: Vec<Expr>,
    },
    /// `let name = b.reduce_add(|t| value);` and its like.
    LetExchange(Box<LetExchange>),
    /// `target = value`, `target op= value`
    Assign {
        /// What is assigned: [`ExprKind::Name`] or [`ExprKind::Index`], or an [`ExprKind::Element`] or
        /// [`ExprKind::Field`] of such.
        target: Expr,
        /// The operation of a compound assignment.
        op: Option<BinaryOp>,
        /// The value, or the right operand.
        value: Expr,
    },
    /// An expression for its effects, `let _ = …` among them.
    Expr(Expr),
    /// A `for` over a range or an `ndrange`; parallel at a kernel's or block's top level.
    For(For),
    /// `while cond { … }`
    While {
        /// The condition.
        cond: Expr,
        /// The body.
        body: Block,
        /// Its label, without the `'`.
        label: Option<String>,
    },
    /// `loop { … }`
    Loop {
        /// The body.
        body: Block,
        /// Its label, without the `'`.
        label: Option<String>,
    },
    /// `break`
    Break {
        /// The label of the loop that it leaves, where it names one.
        label: Option<String>,
        /// The value of the `loop`.
        value: Option<Expr>,
    },
    /// `continue`
    Continue {
        /// The label of the loop that it goes on with, where it names one.
        label: Option<String>,
    },
    /// `return`, `return value`
    Return {
        /// The value.
        value: Option<Expr>,
    },
    /// `assert!(cond)`, `assert!(cond, "message")`
    Assert {
        /// The condition.
        cond: Expr,
        /// The message, or the text of the condition.
        message: String,
    },
    /// What kernels have no statement for.
    Unsupported(Construct),
}

/// A pattern of a `let` that takes a value apart.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub enum Pattern {
    /// `_`
    Wild,
    /// `name`, `mut name`
    Name {
        /// The name.
        name: String,
        /// Whether it is `mut`.
        mutable: bool,
        /// The type that rustc gave the binding.
        ty: TypeIx,
    },
    /// `(a, b)`, `[a, b]`, `Pair(a, b)`: one pattern per part.
    Parts(Vec<Pattern>),
    /// `Point { x, y: (a, b), .. }`: fields and their patterns.
    Fields(Vec<(String, Pattern)>),
}

/// A `for` loop.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct For {
    /// One for a range, as many as the `ndrange` has otherwise; outermost first.
    pub dims: Vec<Dim>,
    /// The body.
    pub body: Block,
    /// Its label, without the `'`.
    pub label: Option<String>,
    /// What its attributes ask for.
    pub options: LoopOptions,
}

/// What the attributes of a loop ask for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct LoopOptions {
    /// `#[serial]`: one thread runs it.
    pub serial: bool,
    /// `#[block_size(n)]`: how many threads a GPU's block has.
    pub block_size: Option<u32>,
    /// `#[unroll]`: 0, for all of it; `#[unroll(n)]`: so often.
    pub unroll: Option<u32>,
}

/// One dimension of a loop. Of `ndrange(t.shape())` dimension `k` ends at `t.shape()[k]`.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Dim {
    /// The variable's name; `_` where there is none.
    pub name: String,
    /// Whether the variable is `mut`.
    pub mutable: bool,
    /// The type that rustc gave the variable.
    pub ty: TypeIx,
    /// The first value; without one, 0.
    pub begin: Option<Expr>,
    /// The value after the last, or the last one of `a..=b`.
    pub end: Expr,
    /// Whether the range is `a..=b`.
    pub inclusive: bool,
    /// `k` of `step_by(k)`.
    pub step: Option<Expr>,
    /// Which way the values are taken.
    pub order: Order,
}

/// Which way a loop takes the values of a range.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub enum Order {
    /// `(a..b)`, `(a..b).step_by(k)`: from the first value up.
    #[default]
    Up,
    /// `(a..b).rev()`, `(a..b).rev().step_by(k)`: from the last value of the range down.
    Down,
    /// `(a..b).step_by(k).rev()`: the values of `(a..b).step_by(k)`, the last first.
    Back,
}

/// An expression. Parentheses are not kept.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Expr {
    /// What it computes.
    pub kind: ExprKind,
    /// Its place.
    pub span: Span,
}

/// What an expression computes.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub enum ExprKind {
    /// A literal.
    Literal {
        /// What its text is.
        kind: LiteralKind,
        /// The text without the suffix: `12`, `0xff`, `1_000`, `1e-3`, `true`.
        text: String,
        /// The suffix: `f32`, `usize`.
        suffix: Option<String>,
    },
    /// A parameter or a local. As an argument of a func also a tensor, with any `&`, `&mut` and `*` before it left out.
    Name(String),
    /// An entry of the source's table of constants.
    Const(u32),
    /// `-x`, `!x`
    Unary {
        /// The operation.
        op: UnaryOp,
        /// The operand.
        value: Box<Expr>,
    },
    /// `a + b`, `a < b`, …; not `&&` and `||`.
    Binary {
        /// The operation.
        op: BinaryOp,
        /// The left operand.
        lhs: Box<Expr>,
        /// The right operand.
        rhs: Box<Expr>,
    },
    /// `a && b`, `a || b`
    Logic {
        /// Which of the two.
        op: LogicOp,
        /// The left operand.
        lhs: Box<Expr>,
        /// The right operand, evaluated where the left one does not decide.
        rhs: Box<Expr>,
    },
    /// `value as T`
    Cast {
        /// What is converted.
        value: Box<Expr>,
        /// `T`.
        ty: TypeIx,
    },
    /// `if cond { … } else { … }`; an `else if` is an `else` block whose value is an `if`.
    If {
        /// The condition.
        cond: Box<Expr>,
        /// The block where it is true.
        then: Block,
        /// The block where it is false.
        otherwise: Option<Block>,
    },
    /// `{ … }`
    Block(Block),
    /// `loop { … break value; … }`
    Loop {
        /// The type of its value.
        ty: TypeIx,
        /// The body.
        body: Block,
        /// Its label, without the `'`.
        label: Option<String>,
    },
    /// `unsafe { … }`: the accesses in it race with nothing, by the author's word.
    Unsafe(Block),
    /// `(a, b)`, `[a, b]`, `Pair(a, b)`
    Aggregate {
        /// Its type.
        ty: TypeIx,
        /// Its parts in order.
        parts: Vec<Expr>,
    },
    /// `Point { x: a, y: b }`
    Struct {
        /// Its type.
        ty: TypeIx,
        /// Its fields in the order in which they are written.
        fields: Vec<(String, Expr)>,
    },
    /// `[value; N]`
    Repeat {
        /// Its type.
        ty: TypeIx,
        /// The value of each element.
        value: Box<Expr>,
    },
    /// `Vector::splat(x)`, `Matrix::identity()`
    Associated {
        /// The type of the value.
        ty: TypeIx,
        /// The function's name.
        name: String,
        /// Its arguments.
        args: Vec<Expr>,
    },
    /// `value.name`, `value.0`
    Field {
        /// The struct or tuple.
        value: Box<Expr>,
        /// The field's name or number.
        name: String,
    },
    /// An index of a value that is no single name: `m.rows[i]`, `a[i][j]`.
    Element {
        /// The array, vector or matrix.
        value: Box<Expr>,
        /// One index per dimension.
        index: Vec<Expr>,
    },
    /// `t[i]`, `t[[i, j]]`; of a name for extents, `s[0]`; of a local array, `a[i]`.
    Index {
        /// The name before the brackets.
        base: String,
        /// One index per dimension.
        index: Vec<Expr>,
    },
    /// `t.len()`
    Len {
        /// The tensor, or a name for its extents.
        base: String,
    },
    /// `t.shape()[k]`
    Extent {
        /// The tensor.
        base: String,
        /// `k`, a literal or a constant.
        axis: Box<Expr>,
    },
    /// `receiver.name(args)`; also `f32::name(receiver, args)`.
    Method {
        /// The receiver.
        receiver: Box<Expr>,
        /// The method.
        name: String,
        /// Its other arguments.
        args: Vec<Expr>,
        /// The entry of the source's table of callees that says whose method it is; none where it can only be
        /// one that numbers, arrays, vectors and matrices have.
        callee: Option<u32>,
    },
    /// A call of a func, an entry of the source's table of callees.
    Call {
        /// The entry.
        func: u32,
        /// The arguments.
        args: Vec<Expr>,
        /// Whether the first argument is a method's receiver, which the method may change.
        on_value: bool,
        /// The arguments that are written `&name`, as bits from the first one up: such a tensor is read
        /// and not written.
        shared: u64,
    },
    /// `qd::atomic_add(&mut t[i], v)` and its like.
    Atomic {
        /// The combination.
        op: AtomicOp,
        /// The element, or the part of one: an [`Index`](Self::Index), or an [`Element`](Self::Element)
        /// or [`Field`](Self::Field) of such.
        place: Box<Expr>,
        /// The value combined in.
        value: Box<Expr>,
    },
    /// A call of `stream_parallel`, wherever it stands.
    StreamParallel(RegionArgument),
    /// A call of `block_for`, wherever it stands.
    BlockFor(Box<BlockFor>),
    /// `b.each(|t| …)`, wherever it stands.
    Each(Box<Each>),
    /// What kernels have no expression for.
    Unsupported(Construct),
}

/// `block_for(blocks, threads, |name| { … })`
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct BlockFor {
    /// How many blocks: in one number, or in each dimension of their grid, outermost first.
    pub blocks: Vec<Expr>,
    /// How many threads each has; a constant.
    pub threads: Expr,
    /// The block's name; `_` where there is none.
    pub name: String,
    /// What a block does.
    pub body: Block,
}

/// A phase of a block, `block.each(|name| { … })`.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Each {
    /// The block.
    pub block: String,
    /// The name of the thread's number; `_` where there is none.
    pub name: String,
    /// What each thread does.
    pub body: Block,
}

/// `let name = block.reduce_add(|thread| value);`, `let name = block.shuffle_up(|thread| value, by);`
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct LetExchange {
    /// The name.
    pub name: String,
    /// The type of what comes of it, or of what each thread gets of it.
    pub ty: TypeIx,
    /// The block.
    pub block: String,
    /// What is exchanged how.
    pub op: CollectiveOp,
    /// Of a shuffle by a distance or mask: which. Without, each thread gives a pair: a value, and the number
    /// in its warp of the thread that it takes one from.
    pub by: Option<(Shuffle, Expr)>,
    /// The name of the thread's number; `_` where there is none.
    pub thread: String,
    /// What each thread gives.
    pub value: Expr,
}

/// From which thread of its warp a thread takes a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Shuffle {
    /// The one whose number differs in the bits of a mask.
    Xor,
    /// The one so many before it.
    Up,
    /// The one so many behind it.
    Down,
}

/// What a method of a block exchanges, and of a shuffle by a distance or mask, which.
#[must_use]
pub fn exchange_named(method: &str) -> Option<(CollectiveOp, Option<Shuffle>)> {
    let by = match method {
        "shuffle_xor" => Shuffle::Xor,
        "shuffle_up" => Shuffle::Up,
        "shuffle_down" => Shuffle::Down,
        _ => return CollectiveOp::from_name(method).map(|op| (op, None)),
    };
    Some((CollectiveOp::Shuffle, Some(by)))
}

/// What a literal's text is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum LiteralKind {
    /// An integer; with a suffix `f32` or `f64` still this.
    Int,
    /// A text with a point or an exponent.
    Float,
    /// `true` or `false`.
    Bool,
}

/// The operators that need not evaluate both sides.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum LogicOp {
    /// `&&`
    And,
    /// `||`
    Or,
}

/// What `stream_parallel` was given.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub enum RegionArgument {
    /// A closure literal.
    Closure {
        /// How many parameters it declares.
        params: u32,
        /// Its body; one that is no block is a block of that value.
        body: Block,
    },
    /// Anything else, no or several arguments among them.
    Other,
}

/// What kernels do not allow, named so that each gets its own advice.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Construct {
    /// A pattern of a `match` that is no number, bool, range, constant, name or `_`.
    MatchPattern,
    /// `if let`, `while let`, `let … else`
    LetCondition,
    /// A closure that is not `stream_parallel`'s.
    Closure,
    /// `S { x, ..base }`
    StructUpdate,
    /// `block_for` of anything but two numbers and a closure with one name.
    BlockFor,
    /// `b.each` of anything but a closure with one name.
    Each,
    /// `b.shared` other than in `let name = b.shared::<T>(n);`
    Shared,
    /// A block's `reduce_add` and its like other than in `let name = b.reduce_add(|t| value);`; its name.
    Exchange(String),
    /// A text, byte or char literal.
    Text,
    /// `&x`, `*x` where no tensor is passed.
    Reference,
    /// An attribute of a loop that is none of [`LoopOptions`]' or has other arguments.
    LoopAttribute,
    /// A `for` over anything but `a..b` and `ndrange`.
    Iterator,
    /// `a..b` outside a `for`.
    Range,
    /// A pattern that is no single name.
    Pattern,
    /// `let x;`
    LetWithoutValue,
    /// `x?`
    Try,
    /// `async`, `.await`, `const { … }`, `try { … }`
    BlockKind,
    /// A function, struct, `use` … inside the body.
    Item,
    /// A macro other than `assert!`; its name.
    Macro(String),
    /// A function of a type that kernels do not know; its name.
    Associated(String),
    /// A method that kernels do not know; its name. Known ones are [`ExprKind::Method`].
    Method(String),
    /// `x.shape()` other than in a `let`, with an index, or in `ndrange`.
    Shape,
    /// An assignment to something that is neither a name nor an element.
    Place,
    /// `as _`
    InferredCast,
    /// An atomic whose first argument is not `&mut t[i]`.
    AtomicPlace,
    /// An `ndrange` outside a `for`, or of more than three dimensions.
    Ndrange,
    /// Any other syntax; its text, shortened.
    Other(String),
}

impl Span {
    /// A place with the macro's number for it.
    #[must_use]
    pub const fn new(id: u32, line: u32, column: u32) -> Self {
        Self { id, line, column }
    }
}
