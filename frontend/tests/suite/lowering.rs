//! Tests of lowering by running the IR: evaluation order, effects, funcs, top level.

use quadrants_frontend::{Callee, EmittedSource, Error, LanguageRule, lower, syntax::*};
use quadrants_ir::{
    Const, Kernel,
    ScalarType::{Bool, F32, F64, I32, U64},
    SiteKind, TopStmt,
    types::{ParamType, Type},
};

use crate::{
    e,
    run::{groups, matrix, run as launch, scalar as number, tensor as values},
    tree::*,
};

fn lowered(params: &[&str], kinds: fn() -> Vec<ParamType>, stmts: Vec<Stmt>) -> Kernel {
    lower(&source(&kernel(params, stmts), kinds)).unwrap()
}

/// A kernel over `&mut t` of i32, which starts as 0, 1, 2, …
#[track_caller]
fn on_eight(stmts: Vec<Stmt>, expected: [i32; 8]) {
    let kernel = lowered(&["&mut t"], || vec![tensor(I32, 1, true)], stmts);
    let outcome = launch(&kernel, &[values(&[0, 1, 2, 3, 4, 5, 6, 7])]);
    assert_eq!(outcome.tensor::<i32>(0), expected);
    assert_eq!(outcome.error, None);
}

fn t(at: Expr) -> Expr {
    index("t", vec![at])
}

/// `{ m = to; value }`
fn assign_then(to: Expr, value: Expr) -> Expr {
    expr(ExprKind::Block(ends_in(vec![set(0, e!(m), to)], value)))
}

#[test]
fn saxpy() {
    let params = || vec![scalar(F32), tensor(F32, 1, false), tensor(F32, 1, true)];
    let product = binary("*", e!(a), index("x", vec![e!(i)]));
    let body = change(2, index("y", vec![e!(i)]), BinaryOp::Add, product);
    let kernel = lowered(&["a", "&x", "&mut y"], params, vec![each(1, "i", len("x"), vec![body])]);
    let outcome =
        launch(&kernel, &[number(2.0f32), values(&[1.0f32, 2.0, 3.0]), values(&[0.5f32; 3])]);
    assert_eq!(outcome.tensor::<f32>(1), [2.5, 4.5, 6.5]);
    assert_eq!(kernel.sites.iter().map(|site| site.line).collect::<Vec<_>>(), [0, 2, 2]);
}

#[test]
fn a_value_read_before_an_assignment_does_not_change() {
    // m + { m = 10; m } and t[{ m = 5; m }] = m
    let sum = binary("+", e!(m), assign_then(e!(10), e!(m)));
    let at = assign_then(e!(5), cast(e!(m), "usize"));
    on_eight(
        vec![
            bind_mut(1, "m", I32, e!(1)),
            set(2, t(e!(0)), sum),
            set(3, t(at), e!(m)),
            set(4, t(e!(6)), e!(m)),
        ],
        [11, 1, 2, 3, 4, 10, 5, 7],
    );
}

#[test]
fn a_compound_assignment_evaluates_its_right_operand_first_and_its_index_once() {
    let bump = |base: usize| add_to("t", vec![literal(&base.to_string())], e!(1));
    // t[t[7]++ as usize] += t[0]++ , with t[7] = 2
    let at = cast(bump(7), "usize");
    on_eight(
        vec![
            set(1, t(e!(7)), e!(2)),
            change(2, t(at), BinaryOp::Add, binary("+", bump(0), e!(10))),
            bind_mut(3, "m", I32, e!(1)),
            change(4, e!(m), BinaryOp::Add, assign_then(e!(100), e!(5))),
            set(5, t(e!(1)), e!(m)),
        ],
        [1, 105, 12, 3, 4, 5, 6, 3],
    );
}

#[test]
fn short_circuit_operators_skip_effects_of_the_right_operand() {
    let bump = |at: usize| {
        let at = literal(&at.to_string());
        binary(">", add_to("t", vec![at], e!(10)), e!(0))
    };
    let both = |op, left| binary(op, left, bump(1));
    on_eight(
        vec![
            bind(1, "a", Bool, both("&&", e!((1 > 2)))),
            bind(2, "b", Bool, both("||", e!((1 < 2)))),
            bind(3, "c", Bool, both("&&", e!((1 < 2)))),
            set(4, t(e!(2)), cast(e!(a), "i32")),
            set(5, t(e!(3)), cast(e!(b), "i32")),
            set(6, t(e!(4)), cast(e!(c), "i32")),
        ],
        [0, 11, 0, 1, 1, 5, 6, 7],
    );
}

#[test]
fn an_if_with_a_value_runs_one_arm() {
    let arm = |at: Expr| add_to("t", vec![at], e!(10));
    let chosen = choose(e!((1 > 2)), arm(e!(0)), arm(e!(1)));
    on_eight(vec![set(1, t(e!(2)), chosen)], [0, 11, 1, 3, 4, 5, 6, 7]);
}

#[test]
fn loops_break_and_continue() {
    // for i in 0..8 { let mut m = 0; while true { m += 1; if m == 2 { continue; } if m > i { break; }
    // t[i] += m; } }
    let body = vec![
        bind_mut(2, "m", I32, e!(0)),
        while_(
            3,
            e!(true),
            vec![
                change(4, e!(m), BinaryOp::Add, e!(1)),
                run(5, if_(e!((m == 2)), vec![continue_(5)])),
                run(6, if_(e!((m > (i as i32))), vec![break_(6)])),
                change(7, t(e!(i)), BinaryOp::Add, e!(m)),
            ],
        ),
    ];
    on_eight(vec![each(1, "i", len("t"), body)], [0, 2, 3, 7, 12, 18, 25, 33]);
    // A `continue` of the parallel loop ends the iteration; a serial `for` sums inside.
    let body = vec![
        run(2, if_(e!(((i % 2) == 0)), vec![continue_(2)])),
        each(3, "k", e!(i), vec![change(4, t(e!(i)), BinaryOp::Add, e!(1))]),
    ];
    on_eight(vec![each(1, "i", len("t"), body)], [0, 2, 2, 6, 4, 10, 6, 14]);
    let body = vec![
        change(2, t(e!(0)), BinaryOp::Add, e!(3)),
        run(3, if_(binary(">", t(e!(0)), e!(10)), vec![break_(3)])),
    ];
    let endless = StmtKind::Loop { body: block(body), label: None };
    on_eight(vec![stmt(1, endless)], [12, 1, 2, 3, 4, 5, 6, 7]);
}

#[test]
fn shapes_and_nested_dimensions() {
    let params = || vec![tensor(F32, 2, true)];
    let names = vec![Some("h".to_owned()), None];
    let nest = For {
        dims: vec![dim("i", U64, e!(0), e!(h)), dim("j", U64, e!(1), extent("b", 1))],
        body: block(vec![set(3, index("b", vec![e!(i), e!(j)]), e!((((i * 10) + j) as f32)))]),
        label: None,
        options: LoopOptions::default(),
    };
    let shape = StmtKind::LetExtents { names, rest: None, base: "b".to_owned() };
    let again = StmtKind::LetShape { name: "s".to_owned(), base: "b".to_owned() };
    let total = binary("+", len("b"), index("s", vec![e!(1)]));
    let stmts = vec![
        stmt(1, shape),
        stmt(2, again),
        stmt(3, StmtKind::For(nest.clone())),
        set(4, index("b", vec![e!(0), e!(0)]), cast(total, "f32")),
    ];
    let kernel = lowered(&["&mut b"], params, stmts);
    let outcome = launch(&kernel, &[matrix(&[2, 3], &[9.0f32; 6])]);
    assert_eq!(outcome.tensor::<f32>(0), [9.0, 1.0, 2.0, 9.0, 11.0, 12.0]);

    // The same nest, serial inside a parallel loop of one iteration.
    let shape =
        StmtKind::LetExtents { names: vec![Some("h".into()), None], rest: None, base: "b".into() };
    let stmts = vec![stmt(1, shape), each(2, "once", e!(1), vec![stmt(3, StmtKind::For(nest))])];
    let kernel = lowered(&["&mut b"], params, stmts);
    let outcome = launch(&kernel, &[matrix(&[2, 3], &[9.0f32; 6])]);
    assert_eq!(outcome.tensor::<f32>(0), [9.0, 1.0, 2.0, 9.0, 11.0, 12.0]);
}

/// `fn add(mut by: i32, t: &mut Tensor<i32, 1>, at: usize) -> i32 { by *= 2; t[at] += by; return by }`
fn add_func() -> &'static EmittedSource {
    let body = block(vec![
        change(1, e!(by), BinaryOp::Mul, e!(2)),
        change(2, t(e!(at)), BinaryOp::Add, e!(by)),
        stmt(3, StmtKind::Return { value: Some(e!(by)) }),
    ]);
    let function = function(FunctionKind::Func, &["mut by", "&mut t", "at"], Some(I32), body);
    Box::leak(Box::new(source(&function, || vec![scalar(I32), tensor(I32, 1, true), scalar(U64)])))
}

fn endless_func() -> &'static EmittedSource {
    static ENDLESS: std::sync::LazyLock<EmittedSource> = std::sync::LazyLock::new(|| {
        let body = value(call(0, vec![e!(n)]));
        let function = function(FunctionKind::Func, &["n"], Some(I32), body);
        source_with(&function, || vec![scalar(I32)], &[|| Callee::Func(endless_func())], &[])
    });
    &ENDLESS
}

#[test]
fn funcs_evaluate_their_arguments_once_and_in_order() {
    // m = 1; t[0] = add(m, t, { m = 3; m as usize }) + m
    let at = assign_then(e!(3), cast(e!(m), "usize"));
    let called = call(0, vec![e!(m), e!(t), at]);
    let function = kernel(
        &["&mut t"],
        vec![
            bind_mut(1, "m", I32, e!(1)),
            set(2, t(e!(0)), binary("+", called, e!(m))),
            run(3, call(0, vec![add_to("t", vec![e!(7)], e!(1)), e!(t), e!(6)])),
        ],
    );
    let kernel = lower(&source_with(
        &function,
        || vec![tensor(I32, 1, true)],
        &[|| Callee::Func(add_func())],
        &[],
    ))
    .unwrap();
    let outcome = launch(&kernel, &[values(&[0, 1, 2, 3, 4, 5, 6, 7])]);
    assert_eq!(outcome.tensor::<i32>(0), [5, 1, 2, 5, 4, 5, 20, 8]);
}

#[test]
fn a_func_that_calls_itself_is_an_error() {
    let function = kernel(&["n"], vec![run(4, call(0, vec![e!(n)]))]);
    let source =
        source_with(&function, || vec![scalar(I32)], &[|| Callee::Func(endless_func())], &[]);
    assert!(matches!(lower(&source), Err(Error::Recursion { .. })));
}

#[test]
fn names_may_be_shadowed() {
    let inner = expr(ExprKind::Block(ends_in(
        vec![bind(2, "a", F64, e!(2.5)), set(3, t(e!(1)), e!((a as i32)))],
        e!((a > 2.0)),
    )));
    on_eight(
        vec![
            bind(1, "a", I32, e!(1)),
            bind(2, "b", Bool, inner),
            bind(4, "a", I32, e!((a + 40))),
            set(5, t(e!(0)), e!(a)),
            set(6, t(e!(2)), e!((b as i32))),
        ],
        [41, 2, 1, 3, 4, 5, 6, 7],
    );
}

#[test]
fn a_let_that_is_copied_is_not_renamed() {
    // let x = t[3]; let mut y = x; y += 1; t[0] = x; t[1] = y
    on_eight(
        vec![
            bind(1, "x", I32, t(e!(3))),
            bind_mut(2, "y", I32, e!(x)),
            change(3, e!(y), BinaryOp::Add, e!(1)),
            set(4, t(e!(0)), e!(x)),
            set(5, t(e!(1)), e!(y)),
        ],
        [3, 4, 2, 3, 4, 5, 6, 7],
    );
}

#[test]
fn a_deep_expression_lowers_and_a_deeper_one_is_rejected() {
    let sum = |terms| (1..terms).fold(e!(1), |sum, _| binary("+", sum, e!(1)));
    on_eight(vec![set(1, t(e!(0)), sum(250))], [250, 1, 2, 3, 4, 5, 6, 7]);
    let function = kernel(&["&mut t"], vec![set(1, t(e!(0)), sum(300))]);
    let error = lower(&source(&function, || vec![tensor(I32, 1, true)])).unwrap_err();
    assert!(matches!(&error, Error::Rejected { violations, .. }
        if violations.len() == 1 && violations[0].rule == LanguageRule::TooDeep));
}

#[test]
fn a_site_of_a_func_in_another_file_names_that_file() {
    fn elsewhere() -> &'static EmittedSource {
        let stmts = vec![set(70, t(e!(0)), e!(1))];
        let function = function(FunctionKind::Func, &["&mut t"], None, block(stmts));
        let source = source(&function, || vec![tensor(I32, 1, true)]);
        Box::leak(Box::new(EmittedSource { file: "elsewhere.rs", ..source }))
    }
    let stmts = vec![run(4, call(0, vec![e!(t)])), run(5, call(1, vec![e!(t)]))];
    let function = kernel(&["&mut t"], stmts);
    let funcs: &[fn() -> Callee] = &[
        || Callee::Func(elsewhere()),
        || Callee::Func(Box::leak(Box::new(EmittedSource { file: "job.rs", ..*elsewhere() }))),
    ];
    let source = source_with(&function, || vec![tensor(I32, 1, true)], funcs, &[]);
    let kernel = lower(&source).unwrap();
    let places: Vec<_> = kernel.sites.iter().map(|s| (s.file.as_deref(), s.line)).collect();
    assert_eq!(places, [(Some("elsewhere.rs"), 70), (None, 70)]);
}

#[test]
fn device_errors_have_source_locations() {
    let assert = StmtKind::Assert { cond: e!((i < 3)), report: "too far".into() };
    let quotient = binary("/", e!(1), e!(n));
    let stmts = vec![each(1, "i", e!(4), vec![stmt(2, assert)]), set(3, t(e!(0)), at(4, quotient))];
    let params = || vec![scalar(I32), tensor(I32, 1, true)];
    let kernel = lowered(&["n", "&mut t"], params, stmts);
    let outcome = launch(&kernel, &[number(1), values(&[0])]);
    let site = &kernel.sites[outcome.error.unwrap() as usize];
    assert_eq!(site.kind, SiteKind::Assert("too far".into()));
    assert_eq!((site.line, site.column), (2, 1));
    let division = kernel.sites.iter().find(|s| s.kind == SiteKind::DivideByZero).unwrap();
    assert_eq!((division.line, division.column), (4, 5));
}

#[test]
fn a_kernel_returns_its_result() {
    let body = ends_in(vec![bind(1, "x", F32, index("t", vec![e!(1)]))], e!((x * 2.0)));
    let function = function(FunctionKind::Kernel, &["&t"], Some(F32), body);
    let kernel = lower(&source(&function, || vec![tensor(F32, 1, false)])).unwrap();
    let outcome = launch(&kernel, &[values(&[1.0f32, 4.5])]);
    assert_eq!(f32::from_bits(outcome.result as u32), 9.0);
}

#[test]
fn blocks_become_groups_with_the_lets_that_they_use() {
    // let d = n / m; block { t[i] += d } ; let e = d + C; block { u[i] += e }
    let add = |line, tensor, name| {
        let target = index(tensor, vec![e!(i)]);
        let body = change(line, target, BinaryOp::Add, expr(ExprKind::Name(name)));
        run(line, parallel(block(vec![each(line, "i", len(tensor), vec![body])])))
    };
    let shifted = binary("+", e!(d), expr(ExprKind::Const(0)));
    let function = kernel(
        &["mut n", "m", "&mut t", "&mut u"],
        vec![
            bind_mut(1, "d", I32, e!((n / m))),
            add(2, "t", "d".to_owned()),
            bind(3, "e", I32, shifted),
            add(4, "u", "e".to_owned()),
        ],
    );
    let params = || vec![scalar(I32), scalar(I32), tensor(I32, 1, true), tensor(I32, 1, true)];
    let source = source_with(&function, params, &[], &[|| Const::from(100).into()]);
    let kernel = lower(&source).unwrap();
    assert!(kernel.body.iter().all(|stmt| matches!(stmt, TopStmt::RegionBlock { .. })));
    let groups = groups(&kernel);
    assert!(groups.is_sorted() && groups.first() == Some(&1) && groups.last() == Some(&2));
    let args = [number(7), number(2), values(&[0, 10]), values(&[20, 30])];
    let outcome = launch(&kernel, &args);
    assert_eq!(outcome.tensor::<i32>(0), [3, 13]);
    assert_eq!(outcome.tensor::<i32>(1), [123, 133]);
}

#[test]
fn sources_with_wrong_types_or_names_are_errors() {
    let wrong = kernel(&["n"], vec![bind(3, "x", F32, e!((n + 1)))]);
    let error = lower(&source(&wrong, || vec![scalar(I32)])).unwrap_err();
    assert_eq!(
        error,
        Error::TypeMismatch {
            function: "job".to_owned(),
            name: "x".to_owned(),
            rustc: Type::Scalar(F32),
            found: Type::Scalar(I32),
            span: Span::new(3, 3, 1),
        }
    );
    let wrong = kernel(&["n"], vec![bind(3, "x", I32, e!((n + 1.5)))]);
    assert!(matches!(lower(&source(&wrong, || vec![scalar(I32)])), Err(Error::Type { .. })));
    let wrong = kernel(&["n"], vec![bind(3, "x", I32, e!(missing))]);
    assert!(matches!(lower(&source(&wrong, || vec![scalar(I32)])), Err(Error::Unknown { .. })));
    let wrong = kernel(&["n"], Vec::new());
    let error = lower(&source(&wrong, Vec::new)).unwrap_err();
    assert!(matches!(error, Error::Inconsistent { .. }) && error.to_string().contains("a bug"));
}

#[test]
fn trees_round_trip_and_invalid_bytes_are_an_error() {
    let function = kernel(&["n"], vec![bind(3, "x", I32, e!((n + 1)))]);
    let bytes = function.encode().unwrap();
    assert_eq!(Function::decode(&bytes).unwrap(), function);
    assert!(matches!(Function::decode(&bytes[..bytes.len() / 2]), Err(Error::Tree { .. })));
}
