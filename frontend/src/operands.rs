//! The operands of operators in a syntax tree whose types a declaration shows. rustc accepts operators that kernels do
//! not have, those of the user's own types; emitted code checks these types when it is compiled.

use quadrants_ir::BinaryOp;

use crate::{
    syntax::{Expr, ExprKind, Function, ParamPassing, Span, StmtKind, TypeIx},
    visit::{Node, any_in_block, each_binding},
};

/// An operator.
#[derive(Debug)]
pub struct Operator {
    /// The operands whose types are known: what each is a part of, and which part, from the outside in.
    pub operands: Vec<(Root, Vec<Projection>)>,
    /// Whether the operator is `<`, `<=`, `>` or `>=`.
    pub orders: bool,
    /// Where it is.
    pub span: Span,
}

/// How the type of a value is given.
#[derive(Clone, Copy, Debug)]
pub enum Root {
    /// By its number in the tree.
    Type(TypeIx),
    /// As that of the parameter at a position.
    Param(usize),
    /// As that of an element of the tensor at a position.
    ElementOf(usize),
}

/// A part of a value, by its field or index.
#[derive(Clone, Debug)]
pub enum Projection {
    /// The field of a name.
    Field(String),
    /// An element of an array.
    Element,
}

/// The operators of a function with operands whose types are known. `is_unique` says whether a name is declared once.
pub fn operators(function: &Function, is_unique: &dyn Fn(&str) -> bool) -> Vec<Operator> {
    let mut names: Vec<(&str, Root)> = Vec::new();
    for (at, param) in function.params.iter().enumerate() {
        let root = match param.passing {
            ParamPassing::Value => Root::Param(at),
            _ => Root::ElementOf(at),
        };
        names.push((&param.name, root));
    }
    any_in_block(&function.body, &mut |node| {
        if let Node::Stmt(stmt) = node {
            match &stmt.kind {
                StmtKind::Let { name, ty, .. } => names.push((name, Root::Type(*ty))),
                StmtKind::LetPattern { pattern, .. } => {
                    each_binding(pattern, &mut |name, _, ty| names.push((name, Root::Type(ty))));
                }
                _ => {}
            }
        }
        false
    });
    let known = TypedNames { names, is_unique };
    let mut operators = Vec::new();
    let mut add = |op: Option<BinaryOp>, operands: &[&Expr], span| {
        let orders = matches!(op, Some(BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge));
        // An operand that is itself an operator's value is checked there.
        let is_checked = operands.iter().any(|operand| known.has_operands(operand));
        let operands: Vec<_> = operands.iter().filter_map(|operand| known.part(operand)).collect();
        let compares = matches!(op, Some(BinaryOp::Eq | BinaryOp::Ne));
        if !operands.is_empty() && !compares && !is_checked {
            operators.push(Operator { operands, orders, span });
        }
    };
    any_in_block(&function.body, &mut |node| {
        match node {
            Node::Expr(expr) => match &expr.kind {
                ExprKind::Binary { op, lhs, rhs } => add(Some(*op), &[lhs, rhs], expr.span),
                ExprKind::Unary { value, .. } => add(None, &[value], expr.span),
                _ => {}
            },
            Node::Stmt(stmt) => {
                if let StmtKind::Assign { target, op: Some(op), value } = &stmt.kind {
                    add(Some(*op), &[target, value], stmt.span);
                }
            }
        }
        false
    });
    operators
}

/// What is known of names.
struct TypedNames<'a> {
    names: Vec<(&'a str, Root)>,
    is_unique: &'a dyn Fn(&str) -> bool,
}

impl TypedNames<'_> {
    /// Whether an expression is an operator's value that is checked.
    fn has_operands(&self, expr: &Expr) -> bool {
        match &expr.kind {
            ExprKind::Binary { lhs, rhs, .. } => {
                let mut both = [lhs, rhs].into_iter();
                both.any(|expr| self.part(expr).is_some() || self.has_operands(expr))
            }
            ExprKind::Unary { value, .. } => self.part(value).is_some() || self.has_operands(value),
            _ => false,
        }
    }

    fn part(&self, expr: &Expr) -> Option<(Root, Vec<Projection>)> {
        let within = |value: &Expr, projection: Projection| {
            let (root, mut projections) = self.part(value)?;
            projections.push(projection);
            Some((root, projections))
        };
        match &expr.kind {
            ExprKind::Name(name) => match self.root(name)? {
                Root::ElementOf(_) => None,
                root => Some((root, Vec::new())),
            },
            ExprKind::Aggregate { ty, .. }
            | ExprKind::Struct { ty, .. }
            | ExprKind::Repeat { ty, .. }
            | ExprKind::Associated { ty, .. } => Some((Root::Type(*ty), Vec::new())),
            ExprKind::Field { value, name } => within(value, Projection::Field(name.clone())),
            ExprKind::Element { value, index } if index.len() == 1 => {
                within(value, Projection::Element)
            }
            ExprKind::Index { base, index } => match self.root(base)? {
                root @ Root::ElementOf(_) => Some((root, Vec::new())),
                root if index.len() == 1 => Some((root, vec![Projection::Element])),
                // Two indices select a number of a matrix.
                _ => None,
            },
            ExprKind::Block(block) => match (&block.stmts[..], block.value.as_deref()) {
                ([stmt], Some(Expr { kind: ExprKind::Name(value), .. })) => match &stmt.kind {
                    StmtKind::Let { name, ty, .. } if name == value => {
                        Some((Root::Type(*ty), Vec::new()))
                    }
                    _ => None,
                },
                _ => None,
            },
            _ => None,
        }
    }

    fn root(&self, name: &str) -> Option<Root> {
        let mut all = self.names.iter().filter(|(known, _)| *known == name);
        match (all.next(), all.next()) {
            (Some((_, root)), None) if (self.is_unique)(name) => Some(*root),
            _ => None,
        }
    }
}
