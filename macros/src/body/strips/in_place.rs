//! Updates in place, such as `a[[i, j]] -= a[[i, k]] * a[[k, j]];`. The iterations of a parallel loop are independent,
//! but LLVM does not know that no iteration reads what another one writes. So a strip computes the values of all its
//! iterations first, and then stores them.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{BinOp, Expr, ExprAssign, ExprBinary, ExprIndex, Stmt};

use super::StripBuilder;
use crate::{
    ast::{is_assignment, pattern_names, unparenthesized},
    tokens::{idents, internal},
};

/// The element that the last statement of a body assigns, and the value. The other statements define locals, and the
/// body reads other elements of the tensor.
fn update(stmts: &[Stmt]) -> Option<(ExprIndex, Expr)> {
    let (Stmt::Expr(last, _), locals) = stmts.split_last()? else { return None };
    let (target, value) = match last {
        Expr::Assign(assign) => (&assign.left, (*assign.right).clone()),
        Expr::Binary(ExprBinary { left, op, right, .. }) if is_assignment(op) => {
            let op = operator(op)?;
            let value = Expr::Binary(ExprBinary {
                attrs: Vec::new(),
                left: left.clone(),
                op,
                right: Box::new(syn::parse_quote!((#right))),
            });
            (left, value)
        }
        _ => return None,
    };
    let Expr::Index(target) = unparenthesized(target) else { return None };
    let Expr::Path(tensor) = unparenthesized(&target.expr) else { return None };
    let tensor = tensor.path.get_ident()?;
    let all = idents(&quote!(#(#stmts)*));
    let is_read = all.iter().filter(|name| *name == tensor).count() > 1;
    // The element is found again after the values are computed.
    let index = idents(&target.index);
    let only_locals = locals.iter().all(|stmt| match stmt {
        Stmt::Local(local) => !pattern_names(&local.pat).iter().any(|name| index.contains(name)),
        _ => false,
    });
    (is_read && only_locals).then(|| (target.clone(), value))
}

/// Whether a body updates a tensor in place.
pub(super) fn is_update(stmts: &[Stmt]) -> bool {
    update(stmts).is_some()
}

fn operator(assigning: &BinOp) -> Option<BinOp> {
    Some(match assigning {
        BinOp::AddAssign(_) => BinOp::Add(Default::default()),
        BinOp::SubAssign(_) => BinOp::Sub(Default::default()),
        BinOp::MulAssign(_) => BinOp::Mul(Default::default()),
        BinOp::BitAndAssign(_) => BinOp::BitAnd(Default::default()),
        BinOp::BitOrAssign(_) => BinOp::BitOr(Default::default()),
        BinOp::BitXorAssign(_) => BinOp::BitXor(Default::default()),
        _ => return None,
    })
}

impl StripBuilder<'_, '_> {
    /// A body that updates a tensor in place.
    pub(super) fn in_place(&mut self, stmts: &[Stmt]) -> Option<TokenStream> {
        let (target, value) = update(stmts)?;
        if !self.all_vectorizable(stmts, true) || !self.is_early(&target.index) {
            return None;
        }
        let (support, width) = (self.scope.support, &self.width);
        let [lane, array, new] = ["lane", "updated", "new"].map(internal);
        let variable = self.variable();
        let mut before = stmts[..stmts.len() - 1].to_vec();
        before.push(syn::parse_quote!(let #new = #value;));
        let value = self.rewritten(before, Some(&new));
        let store = ExprAssign {
            attrs: Vec::new(),
            left: Box::new(Expr::Index(target)),
            eq_token: Default::default(),
            right: Box::new(Expr::Verbatim(quote!(#array[#lane]))),
        };
        let store = self.rewritten_stmt(&Stmt::Expr(Expr::Assign(store), Some(Default::default())));
        Some(quote! {
            let #array = #support::lanes::<_, #width>(
                #[inline(always)] |#lane| { #variable #value }
            );
            for #lane in 0..#width { #variable #store }
        })
    }
}
