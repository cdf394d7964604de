//! Helpers that build syntax trees.

use quadrants_frontend::{Callee, EmittedSource, syntax::*};
use quadrants_ir::{
    ScalarType,
    types::{Constant, ParamType, Type},
};

/// The tests' table of types: [`ScalarType::ALL`].
pub(crate) fn ty(ty: ScalarType) -> TypeIx {
    ScalarType::ALL.iter().position(|t| *t == ty).unwrap() as TypeIx
}

/// An expression from fully parenthesized Rust tokens, which can also be compiled by rustc.
#[macro_export]
macro_rules! e {
    ($lit:literal) => { $crate::tree::literal(stringify!($lit)) };
    ($name:ident) => { $crate::tree::name(stringify!($name)) };
    (($inner:literal)) => { e!($inner) };
    ((- $value:tt as $ty:ident)) => {
        $crate::tree::cast($crate::tree::unary(UnaryOp::Neg, e!($value)), stringify!($ty))
    };
    ((- $value:tt)) => { $crate::tree::unary(UnaryOp::Neg, e!($value)) };
    ((! $value:tt)) => { $crate::tree::unary(UnaryOp::Not, e!($value)) };
    ((if $c:tt { $a:tt } else { $b:tt })) => { $crate::tree::choose(e!($c), e!($a), e!($b)) };
    (($value:tt as $ty:ident)) => { $crate::tree::cast(e!($value), stringify!($ty)) };
    (($t:ident [ $index:tt ])) => { $crate::tree::index(stringify!($t), vec![e!($index)]) };
    (($value:tt . $method:ident ( $($arg:tt),* ))) => {
        $crate::tree::method(e!($value), stringify!($method), vec![$(e!($arg)),*])
    };
    (($lhs:tt $op:tt $rhs:tt)) => { $crate::tree::binary(stringify!($op), e!($lhs), e!($rhs)) };
}

pub(crate) fn expr(kind: ExprKind) -> Expr {
    Expr { kind, span: Span::default() }
}

pub(crate) fn stmt(line: u32, kind: StmtKind) -> Stmt {
    Stmt { kind, span: Span::new(line, line, 1) }
}

pub(crate) fn at(line: u32, mut expr: Expr) -> Expr {
    expr.span = Span::new(line, line, 5);
    expr
}

pub(crate) fn literal(text: &str) -> Expr {
    if let Some(text) = text.strip_prefix('-') {
        return unary(UnaryOp::Neg, literal(text.trim()));
    }
    let suffix = ["f32", "f64", "i32", "i64", "u32", "u64", "usize"]
        .into_iter()
        .find(|suffix| text.ends_with(suffix));
    let text = text.strip_suffix(suffix.unwrap_or("")).unwrap_or(text);
    let kind = match text {
        "true" | "false" => LiteralKind::Bool,
        _ if text.starts_with("0x") => LiteralKind::Int,
        _ if text.contains(['.', 'e']) => LiteralKind::Float,
        _ => LiteralKind::Int,
    };
    let suffix = suffix.map(str::to_owned);
    expr(ExprKind::Literal { kind, text: text.to_owned(), suffix })
}

pub(crate) fn name(name: &str) -> Expr {
    match name {
        "true" | "false" => literal(name),
        _ => expr(ExprKind::Name(name.to_owned())),
    }
}

pub(crate) fn unary(op: UnaryOp, value: Expr) -> Expr {
    expr(ExprKind::Unary { op, value: Box::new(value) })
}

pub(crate) fn binary(op: &str, lhs: Expr, rhs: Expr) -> Expr {
    use BinaryOp::*;
    let (lhs, rhs) = (Box::new(lhs), Box::new(rhs));
    let op = match op {
        "&&" => return expr(ExprKind::Logic { op: LogicOp::And, lhs, rhs }),
        "||" => return expr(ExprKind::Logic { op: LogicOp::Or, lhs, rhs }),
        "+" => Add,
        "-" => Sub,
        "*" => Mul,
        "/" => Div,
        "%" => Rem,
        "&" => And,
        "|" => Or,
        "^" => Xor,
        "<<" => Shl,
        ">>" => Shr,
        "==" => Eq,
        "!=" => Ne,
        "<" => Lt,
        "<=" => Le,
        ">" => Gt,
        ">=" => Ge,
        _ => panic!("no operator {op}"),
    };
    expr(ExprKind::Binary { op, lhs, rhs })
}

pub(crate) fn cast(value: Expr, to: &str) -> Expr {
    let to = if to == "usize" { "u64" } else { to };
    let to = ScalarType::ALL.into_iter().find(|t| t.name() == to).unwrap();
    expr(ExprKind::Cast { value: Box::new(value), ty: ty(to), is_narrow: false })
}

pub(crate) fn choose(cond: Expr, then: Expr, otherwise: Expr) -> Expr {
    let (then, otherwise) = (value(then), Some(value(otherwise)));
    expr(ExprKind::If { cond: Box::new(cond), then, otherwise })
}

pub(crate) fn method(receiver: Expr, name: &str, args: Vec<Expr>) -> Expr {
    expr(ExprKind::Method {
        receiver: Box::new(receiver),
        name: name.to_owned(),
        args,
        callee: None,
    })
}

pub(crate) fn index(base: &str, index: Vec<Expr>) -> Expr {
    expr(ExprKind::Index { base: base.to_owned(), index })
}

pub(crate) fn call(func: u32, args: Vec<Expr>) -> Expr {
    expr(ExprKind::Call { func, args, has_receiver: false, read_only_args: 0 })
}

pub(crate) fn len(base: &str) -> Expr {
    expr(ExprKind::Len { base: base.to_owned() })
}

pub(crate) fn extent(base: &str, axis: u32) -> Expr {
    let axis = Box::new(literal(&axis.to_string()));
    expr(ExprKind::Extent { base: base.to_owned(), axis })
}

pub(crate) fn add_to(base: &str, at: Vec<Expr>, value: Expr) -> Expr {
    let value = Box::new(value);
    let place = expr(ExprKind::Index { base: base.to_owned(), index: at });
    expr(ExprKind::Atomic { op: AtomicOp::Add, place: Box::new(place), expected: None, value })
}

pub(crate) fn parallel(body: Block) -> Expr {
    expr(ExprKind::StreamParallel(StreamParallelArgument::Closure { params: 0, body }))
}

pub(crate) fn if_(cond: Expr, then: Vec<Stmt>) -> Expr {
    expr(ExprKind::If { cond: Box::new(cond), then: block(then), otherwise: None })
}

pub(crate) fn block(stmts: Vec<Stmt>) -> Block {
    Block { stmts, value: None }
}

pub(crate) fn value(value: Expr) -> Block {
    Block { stmts: Vec::new(), value: Some(Box::new(value)) }
}

pub(crate) fn ends_in(stmts: Vec<Stmt>, value: Expr) -> Block {
    Block { stmts, value: Some(Box::new(value)) }
}

pub(crate) fn bind(line: u32, name: &str, of: ScalarType, value: Expr) -> Stmt {
    stmt(line, StmtKind::Let { name: name.to_owned(), mutable: false, ty: ty(of), value })
}

pub(crate) fn bind_mut(line: u32, name: &str, of: ScalarType, value: Expr) -> Stmt {
    stmt(line, StmtKind::Let { name: name.to_owned(), mutable: true, ty: ty(of), value })
}

pub(crate) fn set(line: u32, target: Expr, value: Expr) -> Stmt {
    stmt(line, StmtKind::Assign { target: at(line, target), op: None, value })
}

pub(crate) fn change(line: u32, target: Expr, op: BinaryOp, value: Expr) -> Stmt {
    stmt(line, StmtKind::Assign { target: at(line, target), op: Some(op), value })
}

pub(crate) fn run(line: u32, expr: Expr) -> Stmt {
    stmt(line, StmtKind::Expr(at(line, expr)))
}

pub(crate) fn dim(name: &str, of: ScalarType, begin: Expr, end: Expr) -> Dim {
    let (name, begin) = (name.to_owned(), Some(begin));
    Dim {
        name,
        mutable: false,
        ty: ty(of),
        begin,
        end,
        inclusive: false,
        step: None,
        order: Order::Up,
    }
}

pub(crate) fn each(line: u32, var: &str, end: Expr, body: Vec<Stmt>) -> Stmt {
    let dims = vec![dim(var, ScalarType::U64, literal("0"), end)];
    stmt(
        line,
        StmtKind::For(For {
            dims,
            body: block(body),
            label: None,
            options: LoopOptions::default(),
        }),
    )
}

pub(crate) fn while_(line: u32, cond: Expr, body: Vec<Stmt>) -> Stmt {
    stmt(line, StmtKind::While { cond, body: block(body), label: None })
}

pub(crate) fn break_(line: u32) -> Stmt {
    stmt(line, StmtKind::Break { label: None, value: None })
}

pub(crate) fn continue_(line: u32) -> Stmt {
    stmt(line, StmtKind::Continue { label: None })
}

/// A function whose parameters are written `x` for a scalar, `&t` and `&mut t` for tensors.
pub(crate) fn function(
    kind: FunctionKind,
    params: &[&str],
    result: Option<ScalarType>,
    body: Block,
) -> Function {
    let params = params
        .iter()
        .map(|text| {
            let (passing, name) = match text.strip_prefix('&') {
                None => (ParamPassing::Value, *text),
                Some(rest) => match rest.strip_prefix("mut ") {
                    Some(name) => (ParamPassing::RefMut, name),
                    None => (ParamPassing::Ref, rest),
                },
            };
            let mutable = passing == ParamPassing::Value && name.starts_with("mut ");
            let name = name.trim_start_matches("mut ").to_owned();
            Param {
                name,
                passing,
                mutable,
                by_reference: false,
                rank: None,
                elem: None,
                span: Span::default(),
            }
        })
        .collect();
    Function {
        kind,
        name: "job".to_owned(),
        span: Span::default(),
        params,
        result: result.map(ty),
        body,
        options: Options::default(),
    }
}

pub(crate) fn kernel(params: &[&str], stmts: Vec<Stmt>) -> Function {
    function(FunctionKind::Kernel, params, None, block(stmts))
}

pub(crate) fn source(function: &Function, params: fn() -> Vec<ParamType>) -> EmittedSource {
    source_with(function, params, &[], &[])
}

pub(crate) fn source_with(
    function: &Function,
    params: fn() -> Vec<ParamType>,
    funcs: &'static [fn() -> Callee],
    consts: &'static [fn() -> Constant],
) -> EmittedSource {
    EmittedSource {
        file: "job.rs",
        tree: function.encode().unwrap().leak(),
        params,
        types: || ScalarType::ALL.map(Type::Scalar).to_vec(),
        funcs,
        consts,
    }
}

pub(crate) const fn scalar(ty: ScalarType) -> ParamType {
    ParamType::Value(Type::Scalar(ty))
}

pub(crate) const fn tensor(elem: ScalarType, rank: u8, writable: bool) -> ParamType {
    ParamType::Tensor { elem: Type::Scalar(elem), rank, writable, distinct: false }
}
