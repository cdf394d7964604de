//! The syntax tree of a kernel or func, before type inference.
//!
//! The macro builds it from tokens and embeds it, serialized, in emitted code. The tree holds no types, only indices
//! into tables that rustc fills when it compiles the emitted code ([`TypeIx`], [`ExprKind::Const`],
//! [`ExprKind::Call`]). It can represent code that kernels do not allow; [`check`](fn@crate::check) reports it.

use serde::{Deserialize, Serialize};

pub use quadrants_ir::{
    AtomicOp, BinaryOp, CollectiveOp, Options, UnaryOp,
    abi::ASSERT_VALUES,
    format::{Format, FormatArgument, FormatPiece, Notation},
};

/// An index into the type table of an [`EmittedSource`](crate::EmittedSource).
pub type TypeIx = u32;

/// A kernel or a func.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Function {
    /// Kernel or func.
    pub kind: FunctionKind,
    /// The name of the function, as in the source.
    pub name: String,
    /// The location of the name.
    pub span: Span,
    /// The parameters in order.
    pub params: Vec<Param>,
    /// The type of the result, if any.
    pub result: Option<TypeIx>,
    /// The statements of the function.
    pub body: Block,
    /// The options of the attribute. A func has those of its caller.
    pub options: Options,
}

/// The attribute of a function.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum FunctionKind {
    /// `#[kernel]`
    Kernel,
    /// `#[func]`
    Func,
}

/// A location in the source. The macro finds its tokens by `id`; messages show line and column.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub struct Span {
    /// The macro's number of the tokens.
    pub id: u32,
    /// The line, from 1; 0 without a source.
    pub line: u32,
    /// The column, from 1.
    pub column: u32,
}

/// A parameter. Its type is in the source's table of parameters.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Param {
    /// The name of the parameter.
    pub name: String,
    /// How it is passed.
    pub passing: ParamPassing,
    /// Whether the binding is `mut`.
    pub mutable: bool,
    /// Whether it is a method's `&mut self`: assignments to it change the receiver.
    pub by_reference: bool,
    /// The number of dimensions of a tensor, if its type says it.
    pub rank: Option<u32>,
    /// The type of the elements of a tensor, if its type says it.
    pub elem: Option<String>,
    /// The location of the name.
    pub span: Span,
}

/// How a parameter is passed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum ParamPassing {
    /// A value.
    Value,
    /// `&`: a tensor that is only read.
    Ref,
    /// `&Distinct<…>`: a tensor that is only read, and whose elements all differ.
    RefDistinct,
    /// `&mut`: a tensor that may be written.
    RefMut,
}

/// A block: statements and an optional value.
///
/// A final `if`, block, call or atomic without a semicolon is the `value`, also if its type is `()`. A final loop or
/// assignment is a statement.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Block {
    /// The statements in order.
    pub stmts: Vec<Stmt>,
    /// The final expression without a semicolon.
    pub value: Option<Box<Expr>>,
}

/// A statement.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Stmt {
    /// The kind.
    pub kind: StmtKind,
    /// The source location.
    pub span: Span,
}

/// The kind of a statement.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub enum StmtKind {
    /// `let name = value;`, `let mut name: T = value;`
    Let {
        /// The name.
        name: String,
        /// Whether it is `mut`.
        mutable: bool,
        /// The type that rustc inferred.
        ty: TypeIx,
        /// The value.
        value: Expr,
    },
    /// `let (a, mut b) = value;`, `let Point { x, .. } = value;`
    LetPattern {
        /// The pattern.
        pattern: Pattern,
        /// The value.
        value: Expr,
    },
    /// `let s = t.shape();`: the name denotes the tensor's extents.
    LetShape {
        /// The name.
        name: String,
        /// The tensor, or an earlier name of its extents.
        base: String,
    },
    /// `let [h, w] = t.shape();`, `let [.., w] = t.shape();`
    LetExtents {
        /// The names in order, each of type `usize`; `None` for `_`.
        names: Vec<Option<String>>,
        /// The number of names before `..`.
        rest: Option<usize>,
        /// The tensor, or an earlier name of its extents.
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
        /// The number of elements along each dimension; constants.
        dims: Vec<Expr>,
    },
    /// `let name = b.reduce_add(|t| value);` and other collectives.
    LetCollective(Box<LetCollective>),
    /// `target = value`, `target op= value`
    Assign {
        /// The place: [`ExprKind::Name`] or [`ExprKind::Index`], or an [`ExprKind::Element`] or [`ExprKind::Field`]
        /// of one.
        target: Expr,
        /// The operation of a compound assignment.
        op: Option<BinaryOp>,
        /// The value, or the right operand.
        value: Expr,
    },
    /// An expression statement, also `let _ = …`.
    Expr(Expr),
    /// A `for` over a range or an `ndrange`; parallel at the top level of a kernel or `stream_parallel` block.
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
        /// The label of the loop to leave, if given.
        label: Option<String>,
        /// The value of the `loop`.
        value: Option<Expr>,
    },
    /// `continue`
    Continue {
        /// The label of the loop to continue, if given.
        label: Option<String>,
    },
    /// `return`, `return value`
    Return {
        /// The value.
        value: Option<Expr>,
    },
    /// The end of code that always fails an assertion before.
    Unreachable,
    /// In a parallel loop: combines a value into a local of the kernel that the loop does not use otherwise, as in
    /// `sum += x;` and `least = least.min(x);`.
    Reduce {
        /// The local.
        name: String,
        /// The operation, which [combines](AtomicOp::combines).
        op: AtomicOp,
        /// Whether the value is subtracted, with [`AtomicOp::Add`].
        subtracts: bool,
        /// The value.
        value: Expr,
    },
    /// `assert!(cond)`, `assert!(cond, "message")`, and the comparison of `assert_eq!` and `assert_ne!`
    Assert {
        /// The condition.
        cond: Expr,
        /// What it reports if the condition is false.
        report: AssertionReport,
    },
    /// `println!("x = {x}")`
    Print {
        /// The text.
        format: Format,
        /// The arguments, with the types that rustc inferred.
        args: Vec<(Expr, TypeIx)>,
    },
    /// An unsupported statement.
    Unsupported(Construct),
}

/// What an assertion reports.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct AssertionReport {
    /// The text, or that of the condition. Empty for a comparison without a text.
    pub message: Format,
    /// For `assert_eq!` and `assert_ne!`: whether the operands must be equal. They are the arguments after those of the
    /// text, left and right.
    pub comparison: Option<bool>,
    /// The arguments, with the types that rustc inferred.
    pub args: Vec<(Expr, TypeIx)>,
}

impl From<&str> for AssertionReport {
    fn from(message: &str) -> Self {
        Self { message: Format::text(message), ..Self::default() }
    }
}

/// A destructuring pattern of a `let`.
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
        /// The type that rustc inferred.
        ty: TypeIx,
    },
    /// `..` among the patterns of parts: those that have no pattern.
    Rest,
    /// `(a, b)`, `[a, b, ..]`, `Pair(a, b)`: one pattern per part, and at most one [`Rest`](Self::Rest).
    Parts(Vec<Pattern>),
    /// `Point { x, y: (a, b), .. }`: fields and their patterns.
    Fields(Vec<(String, Pattern)>),
}

/// The axes of the names of [`StmtKind::LetExtents`] in a shape of `rank` axes; `None` if it has too few or too many.
#[must_use]
pub fn extent_axes(names: usize, rest: Option<usize>, rank: usize) -> Option<Vec<usize>> {
    let left_out = rank.checked_sub(names)?;
    match rest {
        None => (left_out == 0).then(|| (0..rank).collect()),
        Some(rest) => {
            Some((0..names).map(|at| at + if at < rest { 0 } else { left_out }).collect())
        }
    }
}

/// A `for` loop.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct For {
    /// One for a range, several for an `ndrange`; outermost first.
    pub dims: Vec<Dim>,
    /// The body.
    pub body: Block,
    /// Its label, without the `'`.
    pub label: Option<String>,
    /// The attributes of the loop.
    pub options: LoopOptions,
}

/// The attributes of a loop.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct LoopOptions {
    /// `#[serial]`: one thread runs the loop.
    pub serial: bool,
    /// `#[block_size(n)]`: the number of threads of a thread block.
    pub block_size: Option<u32>,
    /// `#[unroll]`: 0, unroll fully; `#[unroll(n)]`: unroll by `n`.
    pub unroll: Option<u32>,
    /// Whether the loop is the serial part of a parallel one over an `ndrange` of more than three dimensions.
    pub is_space: bool,
}

/// One dimension of a loop. Dimension `k` of `ndrange(t.shape())` ends at `t.shape()[k]`.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Dim {
    /// The variable's name, or `_`.
    pub name: String,
    /// Whether the variable is `mut`.
    pub mutable: bool,
    /// The type that rustc inferred.
    pub ty: TypeIx,
    /// The first value; 0 if absent.
    pub begin: Option<Expr>,
    /// The end, exclusive unless `inclusive`.
    pub end: Expr,
    /// Whether the range is `a..=b`.
    pub inclusive: bool,
    /// `k` of `step_by(k)`.
    pub step: Option<Expr>,
    /// The order of the values.
    pub order: Order,
}

/// The order in which a loop takes the values of a range.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub enum Order {
    /// `(a..b)`, `(a..b).step_by(k)`: ascending from the first value.
    #[default]
    Up,
    /// `(a..b).rev()`, `(a..b).rev().step_by(k)`: descending from the last value of the range.
    Down,
    /// `(a..b).step_by(k).rev()`: the values of `(a..b).step_by(k)` in reverse.
    Back,
}

/// An expression. Parentheses are not kept.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Expr {
    /// The kind.
    pub kind: ExprKind,
    /// The source location.
    pub span: Span,
}

/// The kind of an expression.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub enum ExprKind {
    /// A literal.
    Literal {
        /// The kind of literal.
        kind: LiteralKind,
        /// The text without the suffix: `12`, `0xff`, `1_000`, `1e-3`, `true`.
        text: String,
        /// The suffix: `f32`, `usize`.
        suffix: Option<String>,
    },
    /// A parameter or a local. As an argument of a func also a tensor, without a leading `&`, `&mut` or `*`.
    Name(String),
    /// An entry of the table of constants.
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
        /// The operator.
        op: LogicOp,
        /// The left operand.
        lhs: Box<Expr>,
        /// The right operand, evaluated only if the left one does not decide.
        rhs: Box<Expr>,
    },
    /// `value as T`
    Cast {
        /// The operand.
        value: Box<Expr>,
        /// `T`.
        ty: TypeIx,
        /// Whether the author wrote an integer type of 8 or 16 bits.
        is_narrow: bool,
    },
    /// `if cond { … } else { … }`; an `else if` is an `else` block whose value is an `if`.
    If {
        /// The condition.
        cond: Box<Expr>,
        /// The block if it is true.
        then: Block,
        /// The block if it is false.
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
    /// `unsafe { … }`: the user asserts that the accesses in it do not race.
    Unsafe(Block),
    /// `(a, b)`, `[a, b]`, `Pair(a, b)`
    Aggregate {
        /// The type of the aggregate.
        ty: TypeIx,
        /// The parts in order.
        parts: Vec<Expr>,
    },
    /// `Point { x: a, y: b }`, `Point { x: a, ..base }`
    Struct {
        /// The type of the struct.
        ty: TypeIx,
        /// The fields in source order.
        fields: Vec<(String, Expr)>,
        /// The value of the same type that has the other fields. It is evaluated last.
        base: Option<Box<Expr>>,
    },
    /// `[value; N]`
    Repeat {
        /// The type of the array.
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
        /// The arguments in order.
        args: Vec<Expr>,
        /// Its number in the table of callees, where it may be a func of the type; none in kernels built at run time.
        callee: Option<u32>,
    },
    /// `value.name`, `value.0`
    Field {
        /// The struct or tuple.
        value: Box<Expr>,
        /// The field's name or number.
        name: String,
    },
    /// An index of an expression other than a name: `m.rows[i]`, `a[i][j]`.
    Element {
        /// The array, vector or matrix.
        value: Box<Expr>,
        /// One index per dimension.
        index: Vec<Expr>,
    },
    /// An index of a name: an element of a tensor, `t[i]`, `t[[i, j]]`; an extent of a shape, `s[0]`; an element of a
    /// local array, `a[i]`.
    Index {
        /// The name before the brackets.
        base: String,
        /// One index per dimension.
        index: Vec<Expr>,
    },
    /// `t.len()`
    Len {
        /// The tensor, or a name of its extents.
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
        /// The entry of the table of callees that resolves the method; `None` if it can only be a built-in method.
        callee: Option<u32>,
    },
    /// A call of a func.
    Call {
        /// The entry of the table of callees.
        func: u32,
        /// The arguments.
        args: Vec<Expr>,
        /// Whether the first argument is the receiver of a method, which may change it.
        has_receiver: bool,
        /// A bit per argument, the lowest for the first: set for `&name`, a tensor that is only read.
        read_only_args: u64,
    },
    /// An atomic such as `qd::atomic_add(&mut t[i], v)`.
    Atomic {
        /// The operation.
        op: AtomicOp,
        /// The element or part of one: an [`Index`](Self::Index), or an [`Element`](Self::Element) or
        /// [`Field`](Self::Field) of one.
        place: Box<Expr>,
        /// The bits that the element must have; only of [`AtomicOp::CompareExchange`].
        expected: Option<Box<Expr>>,
        /// The operand.
        value: Box<Expr>,
    },
    /// A call of `stream_parallel`, at any position.
    StreamParallel(StreamParallelArgument),
    /// A call of `block_for`, at any position.
    BlockFor(Box<BlockFor>),
    /// `b.each(|t| …)`, at any position.
    Phase(Box<Phase>),
    /// An unsupported expression.
    Unsupported(Construct),
}

/// `block_for(blocks, threads, |name| { … })`
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct BlockFor {
    /// The number of blocks along each dimension of the grid, outermost first.
    pub blocks: Vec<Expr>,
    /// The number of threads per block; a constant.
    pub threads: Expr,
    /// The name of the block, or `_`.
    pub name: String,
    /// The body.
    pub body: Block,
}

/// A phase of a block, `block.each(|name| { … })`.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Phase {
    /// The block.
    pub block: String,
    /// The name of the thread number, or `_`.
    pub name: String,
    /// The body.
    pub body: Block,
}

/// A collective: `let name = block.reduce_add(|thread| value);`, `let name = block.shuffle_up(|thread| value, by);`
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct LetCollective {
    /// The name.
    pub name: String,
    /// The type of the result, or of each thread's result.
    pub ty: TypeIx,
    /// The block.
    pub block: String,
    /// The operation.
    pub op: CollectiveOp,
    /// For a shuffle: the kind, and the distance or mask. Without it, each thread's input is a pair: a value, and the
    /// lane to read from.
    pub by: Option<(Shuffle, Expr)>,
    /// The name of the thread number, or `_`.
    pub thread: String,
    /// The input of each thread.
    pub value: Expr,
}

/// The lane that a shuffle reads from, relative to the thread's own lane.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Shuffle {
    /// The own lane XOR a mask.
    Xor,
    /// The own lane minus a distance.
    Up,
    /// The own lane plus a distance.
    Down,
}

/// The collective with this method name, and for a shuffle by a distance or mask its kind.
#[must_use]
pub fn collective_named(method: &str) -> Option<(CollectiveOp, Option<Shuffle>)> {
    match SHUFFLES.into_iter().find(|(name, _)| *name == method) {
        Some((_, by)) => Some((CollectiveOp::Shuffle, Some(by))),
        None => CollectiveOp::from_name(method).map(|op| (op, None)),
    }
}

/// The shuffles by a distance or mask.
const SHUFFLES: [(&str, Shuffle); 3] =
    [("shuffle_xor", Shuffle::Xor), ("shuffle_up", Shuffle::Up), ("shuffle_down", Shuffle::Down)];

/// The method names of all collectives.
pub fn collectives() -> impl Iterator<Item = &'static str> {
    CollectiveOp::all().map(CollectiveOp::name).chain(SHUFFLES.map(|(name, _)| name))
}

/// The kind of a literal.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum LiteralKind {
    /// An integer, also with a suffix `f32` or `f64`.
    Int,
    /// A number with a point or an exponent.
    Float,
    /// `true` or `false`.
    Bool,
}

/// The short-circuiting operators.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum LogicOp {
    /// `&&`
    And,
    /// `||`
    Or,
}

/// The argument of `stream_parallel`.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub enum StreamParallelArgument {
    /// A closure literal.
    Closure {
        /// The number of its parameters.
        params: u32,
        /// Its body. An expression body is a block with that value.
        body: Block,
    },
    /// Anything else, including no argument or several.
    Other,
}

/// Unsupported syntax. Each variant has its own error message.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Construct {
    /// A `match` pattern other than a number, bool, range, constant, name or `_`.
    MatchPattern,
    /// `if let`, `while let`, `let … else`
    LetCondition,
    /// A closure other than the argument of `stream_parallel`, `block_for` or a method of a block.
    Closure,
    /// `S { x, .. }` outside of a pattern.
    StructUpdate,
    /// `block_for` with arguments other than two numbers and a closure with one parameter.
    BlockFor,
    /// `b.each` with an argument other than a closure with one parameter.
    Phase,
    /// `b.shared` other than in `let name = b.shared::<T>(n);`
    Shared,
    /// A collective other than in `let name = b.reduce_add(|t| value);`; its name.
    Collective(String),
    /// A text, byte or char literal.
    Text,
    /// `&x` or `*x` other than a tensor argument.
    Reference,
    /// A loop attribute other than those of [`LoopOptions`], or with wrong arguments.
    LoopAttribute,
    /// A `for` over anything except ranges and `ndrange`.
    Iterator,
    /// `x.iter().map(…).sum()` and other chains of iterators.
    IteratorChain,
    /// `a..b` outside a `for`.
    Range,
    /// An unsupported pattern.
    Pattern,
    /// `let x;`
    LetWithoutValue,
    /// `x?`
    Try,
    /// `async`, `.await`, `const { … }`, `try { … }`
    BlockKind,
    /// A function, struct, `use` or other item inside the body.
    Item,
    /// A macro that kernels do not have; its name.
    Macro(String),
    /// A text of `println!` that kernels do not support; what is wrong with it.
    Format(String),
    /// An unsupported associated function; its name.
    Associated(String),
    /// An unsupported method; its name.
    Method(String),
    /// `x.shape()` other than in a `let`, with an index, or in `ndrange`.
    Shape,
    /// An assignment to anything except a name, an element or a part of one.
    Place,
    /// `as _`
    InferredCast,
    /// An atomic whose first argument is not `&mut t[i]`.
    AtomicTarget,
    /// An `ndrange` outside a `for`, or of more than six dimensions.
    Ndrange,
    /// Any other syntax; its text, shortened.
    Other(String),
}

impl Span {
    /// A location with the macro's number of its tokens.
    #[must_use]
    pub const fn new(id: u32, line: u32, column: u32) -> Self {
        Self { id, line, column }
    }
}
