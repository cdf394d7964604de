//! Assignments to locals from outside a parallel loop or block, and why such a loop does not only combine values into
//! them.

use std::ptr;

use super::{Checker, ScopeKind};
use crate::{
    language_rule::{LanguageRule, NotCombined},
    syntax::{BinaryOp, Expr, ExprKind, For, LogicOp, Span, StmtKind},
    visit::{Node, any_in_block, any_in_expr, base_name, each_binding},
};

impl Checker<'_> {
    /// Checks an assignment to a local declared at `depth`, or to a part of it.
    pub(super) fn assign(&mut self, name: &str, depth: usize, span: Span) {
        let crossed = &self.scopes[depth..];
        let owned = name.to_owned();
        let rule = if crossed.contains(&ScopeKind::Phase) {
            LanguageRule::AssignOutsidePhase(owned)
        } else if crossed.contains(&ScopeKind::Blocks) {
            LanguageRule::AssignOutsideBlockFor(owned)
        } else if crossed.contains(&ScopeKind::StreamParallel) {
            LanguageRule::AssignOutsideRegionBlock(owned)
        } else if let Some(each) =
            self.parallel.filter(|_| crossed.contains(&ScopeKind::ParallelLoop))
        {
            // One message per local.
            if !self.outside.insert(owned.clone()) {
                return;
            }
            LanguageRule::AssignOutsideLoop { reason: reason(each, name), name: owned }
        } else {
            return;
        };
        self.reject(span, rule);
    }
}

/// What a statement combines into a local.
#[derive(Clone, Copy, PartialEq)]
enum CombineOp {
    Sum,
    Least,
    Most,
    And,
    Or,
    Xor,
}

/// How a loop uses a local, in source order. All vectors have the lines.
#[derive(Default)]
struct LoopUses<'a> {
    /// `let`s of the same name.
    hidden: Vec<u32>,
    combined: Vec<(u32, CombineOp)>,
    /// Assignments that combine nothing.
    reasons: Vec<NotCombined>,
    compared: bool,
    /// Whether `&&` or `||` combines into it.
    lazy: bool,
    /// All expressions that use it.
    all: Vec<(u32, &'a Expr)>,
    /// Those that are a part of an assignment to it.
    assigned: Vec<&'a Expr>,
}

/// Why the loop `each`, which assigns the local `name`, does not only combine values into it.
fn reason(each: &For, name: &str) -> NotCombined {
    let mut uses = LoopUses::default();
    any_in_block(&each.body, &mut |node| {
        uses.add(node, name);
        false
    });
    let is_assigned = |expr: &Expr| uses.assigned.iter().any(|known| ptr::eq(*known, expr));
    let other = uses.all.iter().find(|(_, expr)| !is_assigned(expr)).map(|(line, _)| *line);
    let mixed = uses.combined.iter().find(|(_, kind)| *kind != uses.combined[0].1);
    if let Some(line) = uses.hidden.first() {
        return NotCombined::Hidden { line: *line };
    }
    if let Some(NotCombined::Last) = uses.reasons.first()
        && uses.compared
    {
        return NotCombined::Selection;
    }
    match (uses.reasons.into_iter().next(), other, mixed) {
        (Some(reason), ..) => reason,
        (None, Some(line), _) => NotCombined::Use { line },
        (None, None, Some((line, _))) => NotCombined::Mixed { line: *line },
        (None, None, None) if uses.lazy => NotCombined::Effect,
        (None, None, None) => NotCombined::Form,
    }
}

impl<'a> LoopUses<'a> {
    fn add(&mut self, node: Node<'a>, name: &str) {
        match node {
            Node::Stmt(stmt) => {
                let line = stmt.span.line;
                match &stmt.kind {
                    StmtKind::Let { name: bound, .. } if bound == name => self.hidden.push(line),
                    StmtKind::LetPattern { pattern, .. } => {
                        each_binding(pattern, &mut |bound, _, _| {
                            if bound == name {
                                self.hidden.push(line);
                            }
                        });
                    }
                    StmtKind::Assign { target, op, value } if base_name(target) == Some(name) => {
                        self.assigned.extend(occurrences(target, name).into_iter().next());
                        let own = occurrences(value, name);
                        match combine_op(target, *op, value, own.len()) {
                            Ok(op) => self.combined.push((line, op)),
                            Err(reason) => self.reasons.push(reason),
                        }
                        self.lazy |= matches!(value.kind, ExprKind::Logic { .. });
                        if op.is_none() && own.len() == 1 {
                            self.assigned.extend(own);
                        }
                    }
                    _ => {}
                }
            }
            Node::Expr(expr) => {
                let is_local = |expr: &Expr| base_name(expr) == Some(name);
                if is_use(expr, name) {
                    self.all.push((expr.span.line, expr));
                }
                if let ExprKind::Binary { op, lhs, rhs, .. } = &expr.kind {
                    self.compared |= op.is_comparison() && (is_local(lhs) || is_local(rhs));
                }
            }
        }
    }
}

fn is_use(expr: &Expr, name: &str) -> bool {
    matches!(&expr.kind, ExprKind::Name(of) | ExprKind::Index { base: of, .. } if of == name)
}

fn occurrences<'a>(expr: &'a Expr, name: &str) -> Vec<&'a Expr> {
    let mut found = Vec::new();
    any_in_expr(expr, &mut |node| {
        if let Node::Expr(expr) = node
            && is_use(expr, name)
        {
            found.push(expr);
        }
        false
    });
    found
}

/// What an assignment combines. `own` is how often its value has the local.
fn combine_op(
    target: &Expr,
    op: Option<BinaryOp>,
    value: &Expr,
    own: usize,
) -> Result<CombineOp, NotCombined> {
    if has_variable_index(target) {
        let of_field = any_in_expr(target, &mut |node| {
            matches!(node, Node::Expr(Expr { kind: ExprKind::Field { .. }, .. }))
        });
        return Err(NotCombined::Part { of_field });
    }
    let of_operator = |op: BinaryOp| match op {
        BinaryOp::Add | BinaryOp::Sub => Ok(CombineOp::Sum),
        BinaryOp::And => Ok(CombineOp::And),
        BinaryOp::Or => Ok(CombineOp::Or),
        BinaryOp::Xor => Ok(CombineOp::Xor),
        other => Err(NotCombined::Operator(other.symbol())),
    };
    match (op, &value.kind) {
        (Some(op), _) => of_operator(op),
        (None, ExprKind::Literal { text, .. }) if text == "true" => Ok(CombineOp::Or),
        (None, ExprKind::Literal { text, .. }) if text == "false" => Ok(CombineOp::And),
        _ if own == 0 => Err(NotCombined::Last),
        (None, ExprKind::Binary { op, .. }) => of_operator(*op),
        (None, ExprKind::Logic { op: LogicOp::And, .. }) => Ok(CombineOp::And),
        (None, ExprKind::Logic { op: LogicOp::Or, .. }) => Ok(CombineOp::Or),
        (None, ExprKind::Method { name, .. } | ExprKind::Associated { name, .. }) => {
            match name.as_str() {
                "min" => Ok(CombineOp::Least),
                "max" => Ok(CombineOp::Most),
                _ => Err(NotCombined::Form),
            }
        }
        _ => Err(NotCombined::Form),
    }
}

/// Whether a place is an element whose index is no literal.
fn has_variable_index(place: &Expr) -> bool {
    match &place.kind {
        ExprKind::Index { index, .. } => !index.iter().all(is_literal),
        ExprKind::Element { value, index } => {
            !index.iter().all(is_literal) || has_variable_index(value)
        }
        ExprKind::Field { value, .. } => has_variable_index(value),
        _ => false,
    }
}

fn is_literal(index: &Expr) -> bool {
    matches!(index.kind, ExprKind::Literal { .. })
}
