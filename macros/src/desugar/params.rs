//! Patterns that become a name and a `let`: parameters such as `(a, b): (f32, f32)`, and `let whole @ (a, b) = …;`.

use proc_macro2::Ident;
use syn::{FnArg, Pat, PatIdent, Signature, Stmt};

use super::generated;
use crate::spans;

/// Gives each parameter without a name one, and binds the parts of its pattern at the start of the body.
pub(crate) fn bind_patterns(sig: &mut Signature, body: &mut syn::Block) {
    let mut lets: Vec<Stmt> = Vec::new();
    for (position, input) in sig.inputs.iter_mut().enumerate() {
        let FnArg::Typed(param) = input else { continue };
        // A struct of tensors cannot be taken apart.
        let is_reference = matches!(*param.ty, syn::Type::Reference(_));
        match &*param.pat {
            Pat::Wild(_) => {}
            pattern if is_pattern(pattern) && !is_reference => {}
            _ => continue,
        }
        let at = generated(spans::first(&param.pat));
        let name = Ident::new(&format!("__parameter{position}"), at);
        let pattern = std::mem::replace(&mut *param.pat, syn::parse_quote!(#name));
        if !matches!(pattern, Pat::Wild(_)) {
            lets.push(syn::parse_quote_spanned!(at=> let #pattern = #name;));
        }
    }
    body.stmts.splice(0..0, lets);
}

/// `let whole @ (a, b) = value;` as `let whole = value; let (a, b) = whole;`.
pub(super) fn bind_parts(stmts: &mut Vec<Stmt>) {
    let mut all = Vec::with_capacity(stmts.len());
    for mut stmt in std::mem::take(stmts) {
        let mut parts = None;
        if let Stmt::Local(local) = &mut stmt
            && local.init.as_ref().is_some_and(|init| init.diverge.is_none())
        {
            let pattern = match &mut local.pat {
                Pat::Type(typed) => &mut *typed.pat,
                pattern => pattern,
            };
            if let Pat::Ident(PatIdent { by_ref: None, subpat, ident, .. }) = pattern
                && let Some((_, inner)) = subpat.take()
            {
                let at = generated(ident.span());
                parts = Some(syn::parse_quote_spanned!(at=> let #inner = #ident;));
            }
        }
        all.push(stmt);
        all.extend(parts);
    }
    *stmts = all;
}

/// Whether a pattern takes a value apart, as patterns of `let` in kernels do.
fn is_pattern(pattern: &Pat) -> bool {
    matches!(pattern, Pat::Tuple(_) | Pat::TupleStruct(_) | Pat::Struct(_) | Pat::Slice(_))
}
