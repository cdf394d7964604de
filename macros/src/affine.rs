//! Tensors that a loop accesses only at constant distances from its variables. The CPU body can check such accesses for
//! many iterations at once: the smallest and the largest index of each suffice.

use std::collections::HashSet;

use proc_macro2::{Ident, TokenStream};
use quote::quote;
use syn::{
    BinOp, Block, Expr, ExprBinary, ExprCast, ExprField, ExprIndex, ExprLit, ExprMethodCall, Lit,
    Macro, Pat, PatIdent,
    visit::{self, Visit},
};

use crate::{
    ast::{is_assignment, unparenthesized},
    tokens::idents,
};

/// The most different accesses of a tensor: more are checked one by one.
const MAX_ACCESSES: usize = 16;

/// A tensor of a loop, with its accesses.
pub(crate) struct AffineTensor {
    pub(crate) name: Ident,
    accesses: Vec<Vec<AxisIndex>>,
}

/// An index along one axis: `((base + before) as usize) + after`.
#[derive(Clone, PartialEq)]
struct AxisIndex {
    base: IndexBase,
    before: i64,
    after: i64,
}

#[derive(Clone, PartialEq)]
enum IndexBase {
    /// A variable of the loop, by its position.
    Variable(usize),
    /// A value that is the same in all iterations.
    Name(Ident),
    Zero,
}

/// What a loop does with the tensors in scope.
struct AffineAccesses<'a> {
    variables: &'a [Ident],
    found: Vec<AffineTensor>,
    /// The names that the body binds or assigns.
    changed: HashSet<Ident>,
    /// Names that it uses otherwise.
    used: HashSet<Ident>,
    is_tensor: &'a dyn Fn(&Ident) -> bool,
}

/// The tensors of a loop with these variables that are accessed at constant distances from them only.
pub(crate) fn affine_tensors(
    body: &Block,
    variables: &[Ident],
    is_tensor: &dyn Fn(&Ident) -> bool,
) -> Vec<AffineTensor> {
    let (found, changed, used) = Default::default();
    let mut accesses = AffineAccesses { variables, found, changed, used, is_tensor };
    accesses.visit_block(body);
    let AffineAccesses { mut found, changed, used, .. } = accesses;
    if variables.iter().any(|variable| changed.contains(variable)) {
        return Vec::new();
    }
    let is_fixed = |axis: &AxisIndex| match &axis.base {
        IndexBase::Name(name) => !changed.contains(name),
        IndexBase::Variable(_) | IndexBase::Zero => true,
    };
    found.retain(|tensor| {
        !used.contains(&tensor.name)
            && !changed.contains(&tensor.name)
            && tensor.accesses.len() <= MAX_ACCESSES
            && tensor.accesses.iter().flatten().all(is_fixed)
    });
    found
}

impl AffineTensor {
    /// A statement that checks the accesses of all iterations, if this is an inspection, and then makes `name` mean a
    /// tensor whose accesses are known to be in range. `ok` is a variable that becomes false if they are not.
    pub(crate) fn inspect(
        &self,
        support: &TokenStream,
        ok: &Ident,
        bounds: &[(TokenStream, TokenStream)],
    ) -> TokenStream {
        let name = &self.name;
        let accesses = self.accesses.iter().map(|axes| {
            let axes = axes.iter().map(|AxisIndex { base, before, after }| match base {
                IndexBase::Variable(at) => {
                    let (begin, end) = &bounds[*at];
                    quote!(#support::indices_of(#begin, #end, #before, #after))
                }
                IndexBase::Name(at) => quote!(#support::index_of(#at, #before, #after)),
                IndexBase::Zero => quote!(#support::index_of(0_i64, #before, #after)),
            });
            quote!(&[#(#axes),*])
        });
        quote! {
            let mut #name = #support::WithCheckMode::inspect_boxes(#name, &mut #ok, &[#(#accesses),*]);
        }
    }
}

impl AffineAccesses<'_> {
    fn access(&self, index: &Expr) -> Option<Vec<AxisIndex>> {
        match unparenthesized(index) {
            Expr::Array(array) => array.elems.iter().map(|at| self.axis(at)).collect(),
            // A name may also be that of an array of indices.
            Expr::Path(path)
                if !path.path.get_ident().is_some_and(|n| self.variables.contains(n)) =>
            {
                None
            }
            single => Some(vec![self.axis(single)?]),
        }
    }

    fn axis(&self, index: &Expr) -> Option<AxisIndex> {
        match unparenthesized(index) {
            Expr::Cast(ExprCast { expr, ty, .. }) if matches!(&**ty, syn::Type::Path(path) if path.path.is_ident("usize")) =>
            {
                // What was added before the conversion may wrap in the smaller type.
                let AxisIndex { base, before: 0, after } = self.axis(expr)? else { return None };
                Some(AxisIndex { base, before: after, after: 0 })
            }
            Expr::Binary(ExprBinary { left, op, right, .. }) => {
                let (axis, by) = match (op, literal(left), literal(right)) {
                    (BinOp::Add(_), None, Some(by)) => (self.axis(left)?, by),
                    (BinOp::Add(_), Some(by), None) => (self.axis(right)?, by),
                    (BinOp::Sub(_), None, Some(by)) => (self.axis(left)?, by.checked_neg()?),
                    _ => return None,
                };
                Some(AxisIndex { after: axis.after.checked_add(by)?, ..axis })
            }
            at @ Expr::Lit(_) => {
                Some(AxisIndex { base: IndexBase::Zero, before: 0, after: literal(at)? })
            }
            Expr::Path(path) => {
                let name = path.path.get_ident()?;
                let base = match self.variables.iter().position(|variable| variable == name) {
                    Some(at) => IndexBase::Variable(at),
                    None => IndexBase::Name(name.clone()),
                };
                Some(AxisIndex { base, before: 0, after: 0 })
            }
            _ => None,
        }
    }

    fn tensor<'e>(&self, expr: &'e Expr) -> Option<&'e Ident> {
        match unparenthesized(expr) {
            Expr::Path(path) => path.path.get_ident().filter(|name| (self.is_tensor)(name)),
            _ => None,
        }
    }

    fn assigned(&mut self, target: &Expr) {
        match unparenthesized(target) {
            Expr::Tuple(tuple) => tuple.elems.iter().for_each(|target| self.assigned(target)),
            target => {
                let name = root(target).filter(|name| !(self.is_tensor)(name));
                self.changed.extend(name.cloned());
            }
        }
    }
}

/// The name of the value that a field or an element belongs to.
fn root(mut place: &Expr) -> Option<&Ident> {
    loop {
        place = match unparenthesized(place) {
            Expr::Index(ExprIndex { expr, .. }) | Expr::Field(ExprField { base: expr, .. }) => expr,
            Expr::Path(path) => return path.path.get_ident(),
            _ => return None,
        };
    }
}

impl<'e> Visit<'e> for AffineAccesses<'_> {
    fn visit_expr(&mut self, expr: &'e Expr) {
        match expr {
            Expr::Index(ExprIndex { expr: array, index, .. }) => {
                let Some(name) = self.tensor(array) else { return visit::visit_expr(self, expr) };
                match self.access(index) {
                    Some(access) => self.add(name, access),
                    None => {
                        self.used.insert(name.clone());
                    }
                }
                self.visit_expr(index);
            }
            Expr::MethodCall(ExprMethodCall { receiver, method, args, .. })
                if self.tensor(receiver).is_some() && (method == "len" || method == "shape") =>
            {
                args.iter().for_each(|argument| self.visit_expr(argument));
            }
            // A method may change its receiver, unless this is a variable of the loop. If it changes an element of a
            // tensor, the indices stay the same.
            Expr::MethodCall(call) => {
                let is_known =
                    |name: &Ident| self.variables.contains(name) || (self.is_tensor)(name);
                let name = root(&call.receiver).filter(|name| !is_known(name)).cloned();
                self.changed.extend(name);
                visit::visit_expr(self, expr);
            }
            Expr::Path(path) => self.used.extend(path.path.get_ident().cloned()),
            Expr::Assign(assign) => {
                self.assigned(&assign.left);
                visit::visit_expr(self, expr);
            }
            Expr::Binary(binary) if is_assignment(&binary.op) => {
                self.assigned(&binary.left);
                visit::visit_expr(self, expr);
            }
            Expr::Reference(reference) if reference.mutability.is_some() => {
                self.assigned(&reference.expr);
                visit::visit_expr(self, expr);
            }
            _ => visit::visit_expr(self, expr),
        }
    }

    fn visit_macro(&mut self, call: &'e Macro) {
        self.used.extend(idents(&call.tokens));
    }

    fn visit_pat_ident(&mut self, pattern: &'e PatIdent) {
        self.changed.insert(pattern.ident.clone());
        visit::visit_pat_ident(self, pattern);
    }
}

impl AffineAccesses<'_> {
    fn add(&mut self, name: &Ident, access: Vec<AxisIndex>) {
        match self.found.iter_mut().find(|tensor| tensor.name == *name) {
            Some(tensor) if tensor.accesses.contains(&access) => {}
            Some(tensor) => tensor.accesses.push(access),
            None => self.found.push(AffineTensor { name: name.clone(), accesses: vec![access] }),
        }
    }
}

/// The variable that a pattern binds, if it is no more than a name.
pub(crate) fn variable(pattern: &Pat) -> Option<Ident> {
    match pattern {
        Pat::Ident(PatIdent { by_ref: None, mutability: None, subpat: None, ident, .. }) => {
            Some(ident.clone())
        }
        _ => None,
    }
}

/// The value of an integer literal.
fn literal(expr: &Expr) -> Option<i64> {
    match unparenthesized(expr) {
        Expr::Lit(ExprLit { lit: Lit::Int(number), .. }) => number.base10_parse().ok(),
        _ => None,
    }
}
