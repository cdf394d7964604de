//! Tests of the language rules: for each rule, a tree that breaks it and the reported line.

use quadrants_frontend::{Error, LanguageRule, NotCombined, check, lower, syntax::*};
use quadrants_ir::ScalarType::{F32, I32, U64};

use crate::{e, tree::*};

/// `t[i] = 1.0` for every `i`.
fn fill(line: u32) -> Stmt {
    fill_of(line, "t")
}

fn fill_of(line: u32, tensor: &str) -> Stmt {
    each(line, "i", len(tensor), vec![set(line, index(tensor, vec![e!(i)]), e!(1.0))])
}

fn side_by_side(line: u32) -> Stmt {
    side_by_side_of(line, "t")
}

fn side_by_side_of(line: u32, tensor: &str) -> Stmt {
    run(line, parallel(block(vec![fill_of(line, tensor)])))
}

fn named(name: &str) -> String {
    name.to_owned()
}

#[track_caller]
fn rejected(function: &Function, expected: &[(u32, LanguageRule)]) {
    let found: Vec<_> = check(function).into_iter().map(|r| (r.span.id, r.rule)).collect();
    assert_eq!(found, expected);
    for (_, rule) in found {
        let text = rule.to_string();
        assert!(
            text.contains(';') || text.contains(": ") || text.contains("takes"),
            "no advice: {text}"
        );
    }
}

#[track_caller]
fn kernel_rejected(stmts: Vec<Stmt>, expected: &[(u32, LanguageRule)]) {
    rejected(&kernel(&["n", "&s", "&mut t", "&mut u"], stmts), expected);
}

#[test]
fn consecutive_blocks_with_scalar_lets_between_are_accepted() {
    let value = binary("/", cast(len("t"), "i32"), e!(n));
    let shape =
        StmtKind::LetExtents { names: vec![Some(named("w"))], rest: None, base: named("t") };
    kernel_rejected(
        vec![bind(1, "half", I32, value), side_by_side(2), stmt(3, shape), side_by_side_of(4, "u")],
        &[],
    );
}

#[test]
fn a_block_inside_a_block_is_rejected() {
    let inner = side_by_side(2);
    kernel_rejected(
        vec![run(1, parallel(block(vec![fill(1), inner])))],
        &[(2, LanguageRule::RegionBlockNested)],
    );
    let deep = each(2, "i", len("t"), vec![run(3, if_(e!((n > 1)), vec![side_by_side(4)]))]);
    kernel_rejected(
        vec![run(1, parallel(block(vec![deep])))],
        &[(4, LanguageRule::RegionBlockNested)],
    );
}

#[test]
fn a_block_inside_a_loop_branch_or_braces_is_rejected() {
    kernel_rejected(
        vec![each(1, "k", e!(4), vec![side_by_side(2)])],
        &[(2, LanguageRule::RegionBlockInLoop)],
    );
    kernel_rejected(
        vec![side_by_side(1), while_(2, e!((n > 1)), vec![side_by_side(3)])],
        &[(3, LanguageRule::RegionBlockInLoop)],
    );
    kernel_rejected(
        vec![side_by_side(1), run(2, if_(e!((n > 1)), vec![side_by_side(3)]))],
        &[(3, LanguageRule::RegionBlockInBranch)],
    );
    kernel_rejected(
        vec![run(2, expr(ExprKind::Block(block(vec![side_by_side(3)]))))],
        &[(3, LanguageRule::RegionBlockInBraces)],
    );
}

#[test]
fn a_block_inside_a_func_is_rejected() {
    let body = block(vec![side_by_side(3)]);
    rejected(
        &function(FunctionKind::Func, &["&mut t"], None, body),
        &[(3, LanguageRule::RegionBlockInFunc)],
    );
}

#[test]
fn other_statements_next_to_blocks_are_rejected() {
    let load = bind(2, "first", F32, index("t", vec![e!(0)]));
    kernel_rejected(vec![side_by_side(1), load], &[(2, LanguageRule::RegionBlocksMixed)]);
    kernel_rejected(vec![fill(1), side_by_side(2)], &[(1, LanguageRule::RegionBlocksMixed)]);
    let bump = run(2, add_to("t", vec![e!(0)], e!(1.0)));
    kernel_rejected(vec![side_by_side(1), bump], &[(2, LanguageRule::RegionBlocksMixed)]);
    let assert = StmtKind::Assert { cond: e!((n > 1)), report: "n > 1".into() };
    kernel_rejected(
        vec![side_by_side(1), stmt(2, assert)],
        &[(2, LanguageRule::RegionBlocksMixed)],
    );
    let call = bind(2, "first", F32, call(0, vec![e!(t)]));
    kernel_rejected(vec![side_by_side(1), call], &[(2, LanguageRule::RegionBlocksMixed)]);

    let valued = ends_in(vec![side_by_side(1)], at(2, e!(n)));
    rejected(
        &function(FunctionKind::Kernel, &["n", "&mut t"], Some(I32), valued),
        &[(2, LanguageRule::RegionBlocksMixed)],
    );
}

#[test]
fn stream_parallel_takes_a_closure_literal_without_parameters_and_has_no_value() {
    let other = expr(ExprKind::StreamParallel(StreamParallelArgument::Other));
    kernel_rejected(vec![run(1, other)], &[(1, LanguageRule::StreamParallelNotClosure)]);
    let taking = StreamParallelArgument::Closure { params: 1, body: block(vec![fill(1)]) };
    kernel_rejected(
        vec![run(1, expr(ExprKind::StreamParallel(taking)))],
        &[(1, LanguageRule::StreamParallelParameters)],
    );
    let used = at(2, parallel(block(vec![fill(2)])));
    kernel_rejected(vec![bind(2, "x", I32, used)], &[(2, LanguageRule::StreamParallelValue)]);
}

#[test]
fn a_final_block_without_a_semicolon_is_accepted() {
    let last = at(2, parallel(block(vec![fill_of(2, "u")])));
    let body = ends_in(vec![side_by_side(1)], last);
    rejected(&function(FunctionKind::Kernel, &["&mut t", "&mut u"], None, body), &[]);
}

#[test]
fn assignments_to_outer_locals_are_rejected() {
    let total = || bind_mut(1, "total", F32, e!(0.0));
    let add = |line| change(line, e!(total), BinaryOp::Add, e!(1.0));
    kernel_rejected(
        vec![total(), each(2, "i", e!(9), vec![add(3)])],
        &[(3, LanguageRule::AssignOutsideLoop { name: named("total"), reason: NotCombined::Form })],
    );
    kernel_rejected(
        vec![total(), run(2, parallel(block(vec![add(3)])))],
        &[(3, LanguageRule::AssignOutsideRegionBlock(named("total")))],
    );
    // Inside the iteration, and in a serial loop, it may be assigned.
    kernel_rejected(
        vec![each(1, "i", e!(9), vec![total(), each(2, "j", e!(9), vec![add(3)])])],
        &[],
    );
    kernel_rejected(vec![total(), while_(2, e!((n > 1)), vec![add(3)])], &[]);
}

#[test]
fn writes_to_read_only_parameters_are_rejected() {
    let shared = LanguageRule::WriteToShared(named("s"));
    kernel_rejected(vec![set(1, index("s", vec![e!(0)]), e!(1.0))], &[(1, shared.clone())]);
    kernel_rejected(vec![run(1, add_to("s", vec![e!(0)], e!(1.0)))], &[(1, shared)]);
    let shape = StmtKind::LetShape { name: named("hw"), base: named("t") };
    kernel_rejected(
        vec![stmt(1, shape), set(2, index("hw", vec![e!(0)]), e!(1))],
        &[(2, LanguageRule::AssignToShape(named("hw")))],
    );
}

#[test]
fn tensors_and_shapes_are_not_scalars() {
    kernel_rejected(
        vec![bind(1, "x", F32, at(1, e!(t)))],
        &[(1, LanguageRule::TensorAsValue(named("t")))],
    );
    let shape = StmtKind::LetShape { name: named("hw"), base: named("t") };
    kernel_rejected(
        vec![stmt(1, shape), bind(2, "x", U64, at(2, e!(hw)))],
        &[(2, LanguageRule::ShapeAsValue(named("hw")))],
    );
    let axis = Box::new(at(1, e!(n)));
    let extent = expr(ExprKind::Extent { base: named("t"), axis });
    kernel_rejected(vec![bind(1, "x", U64, extent)], &[(1, LanguageRule::ShapeAxis)]);
}

#[test]
fn invalid_breaks_and_continues_are_rejected() {
    kernel_rejected(
        vec![each(1, "i", e!(9), vec![run(2, if_(e!((n > 1)), vec![break_(3)]))])],
        &[(3, LanguageRule::BreakParallel)],
    );
    kernel_rejected(vec![each(1, "i", e!(9), vec![while_(2, e!(true), vec![break_(3)])])], &[]);
    kernel_rejected(vec![each(1, "i", e!(9), vec![continue_(2)])], &[]);
    kernel_rejected(vec![continue_(1)], &[(1, LanguageRule::OutsideLoop("continue"))]);
    kernel_rejected(vec![break_(1)], &[(1, LanguageRule::OutsideLoop("break"))]);

    let dims = vec![dim("a", U64, e!(0), e!(2)), dim("b", U64, e!(0), e!(2))];
    let nest =
        For { dims, body: block(vec![break_(2)]), label: None, options: LoopOptions::default() };
    kernel_rejected(
        vec![each(1, "i", e!(9), vec![stmt(2, StmtKind::For(nest))])],
        &[(2, LanguageRule::BreakNdrange)],
    );

    let outer = || Some("outer".to_owned());
    let labelled = |body: Stmt| {
        let inner = while_(2, e!(true), vec![body]);
        let dims = vec![dim("i", U64, e!(0), e!(9))];
        let options = LoopOptions::default();
        let each = For { dims, body: block(vec![inner]), label: outer(), options };
        vec![stmt(1, StmtKind::For(each))]
    };
    kernel_rejected(labelled(stmt(3, StmtKind::Continue { label: outer() })), &[]);
    let outer_break = StmtKind::Break { label: outer(), value: None };
    kernel_rejected(labelled(stmt(3, outer_break)), &[(3, LanguageRule::BreakParallel)]);
}

#[test]
fn return_is_rejected_in_kernels_and_accepted_in_funcs() {
    let return_ = |line| stmt(line, StmtKind::Return { value: Some(e!(1)) });
    kernel_rejected(vec![return_(1)], &[]);
    kernel_rejected(
        vec![each(1, "i", e!(9), vec![return_(2)])],
        &[(2, LanguageRule::ReturnInLoop)],
    );
    let before = vec![return_(1), each(2, "i", e!(9), vec![]), each(3, "i", e!(9), vec![])];
    kernel_rejected(before, &[]);
    let in_branch = run(1, if_(e!((n > 1)), vec![return_(2), each(3, "i", e!(9), vec![])]));
    kernel_rejected(vec![in_branch, each(4, "i", e!(9), vec![])], &[]);
    // In bounds, and in a condition, also of a branch of its own.
    let value = Block { stmts: vec![return_(2)], value: Some(Box::new(e!(9))) };
    let value = || Expr { kind: ExprKind::Block(value.clone()), span: e!(9).span };
    kernel_rejected(vec![each(3, "i", value(), vec![])], &[(2, LanguageRule::ReturnBeforeLoop(3))]);
    let decides = run(1, if_(value(), vec![]));
    kernel_rejected(
        vec![decides, each(3, "i", e!(9), vec![])],
        &[(2, LanguageRule::ReturnBeforeLoop(3))],
    );
    kernel_rejected(vec![run(1, if_(value(), vec![]))], &[]);
    let early = block(vec![run(1, if_(e!((n > 1)), vec![return_(2)])), return_(3)]);
    rejected(&function(FunctionKind::Func, &["n"], Some(I32), early), &[]);
}

#[test]
fn inclusive_ndranges_and_loops_without_dimensions_are_rejected() {
    let mut closed = dim("i", U64, e!(0), at(1, e!(9)));
    closed.inclusive = true;
    let closed = For {
        dims: vec![closed.clone(), closed],
        body: block(vec![]),
        label: None,
        options: LoopOptions::default(),
    };
    kernel_rejected(
        vec![stmt(1, StmtKind::For(closed))],
        &[(1, LanguageRule::InclusiveRange), (1, LanguageRule::InclusiveRange)],
    );
    let none =
        For { dims: Vec::new(), body: block(vec![]), label: None, options: LoopOptions::default() };
    kernel_rejected(vec![stmt(1, StmtKind::For(none))], &[(1, LanguageRule::Dimensions)]);
}

#[test]
fn every_unsupported_construct_has_a_message() {
    let all = [
        Construct::MatchPattern,
        Construct::LetCondition,
        Construct::Closure,
        Construct::StructUpdate,
        Construct::Text,
        Construct::Reference,
        Construct::Iterator,
        Construct::Range,
        Construct::Pattern,
        Construct::LetWithoutValue,
        Construct::Try,
        Construct::BlockKind,
        Construct::Item,
        Construct::Macro(named("eprintln")),
        Construct::Method(named("push")),
        Construct::Shape,
        Construct::Place,
        Construct::InferredCast,
        Construct::AtomicTarget,
        Construct::Ndrange,
        Construct::Other(named("x.await")),
    ];
    for construct in all {
        let rule = LanguageRule::Unsupported(construct.clone());
        assert!(rule.to_string().contains("not supported in kernels; "), "{rule}");
        kernel_rejected(
            vec![run(1, expr(ExprKind::Unsupported(construct.clone())))],
            &[(1, rule.clone())],
        );
        kernel_rejected(vec![stmt(1, StmtKind::Unsupported(construct))], &[(1, rule)]);
    }
    let unknown = run(1, method(e!(n), "push", vec![]));
    kernel_rejected(
        vec![unknown],
        &[(1, LanguageRule::Unsupported(Construct::Method(named("push"))))],
    );
    let byte =
        ExprKind::Literal { kind: LiteralKind::Int, text: named("1"), suffix: Some(named("u128")) };
    kernel_rejected(vec![run(1, expr(byte))], &[(1, LanguageRule::LiteralType(named("u128")))]);
    kernel_rejected(
        vec![set(1, e!((n + 1)), e!(1))],
        &[(1, LanguageRule::Unsupported(Construct::Place))],
    );
    let made = ExprKind::Associated { ty: 0, name: named("new"), args: vec![], callee: None };
    kernel_rejected(
        vec![run(1, expr(made))],
        &[(1, LanguageRule::Unsupported(Construct::Associated(named("new"))))],
    );
}

#[test]
fn lowering_rejects_what_the_rules_reject() {
    let function = kernel(&["&t"], vec![set(7, index("t", vec![e!(0)]), e!(1.0))]);
    let error = lower(&source(&function, || vec![tensor(F32, 1, false)])).unwrap_err();
    assert!(matches!(&error, Error::Rejected { violations, .. } if violations.len() == 1));
    let text = error.to_string();
    assert!(text.starts_with("job: line 7: `t` is a `&` parameter"), "{text}");
}
