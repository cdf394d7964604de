//! Calls in a CPU body. No call is resolved by what its caller has in scope: a method goes through the impl that also
//! gives its source to the IR, keyed by its name and the receiver's type, and a free func through the type of its name.

use proc_macro2::{Ident, TokenStream};
use quadrants_frontend::{is_builtin_function, is_builtin_method};
use quote::{quote, quote_spanned};
use syn::{Expr, ExprCall, ExprMethodCall, ExprPath, Path, visit_mut::VisitMut};

use crate::{
    body::{Rewrite, internal, unparenthesized},
    emit::without_arguments,
    methods::number,
    sites, spans, tree,
};

impl Rewrite<'_> {
    /// What a method call becomes; none where its tokens stay, which then name a method of the support code.
    pub(crate) fn method(&mut self, call: &mut ExprMethodCall) -> Option<TokenStream> {
        let site = sites::take(&mut call.attrs);
        let is_shape = call.method == "shape" && call.args.is_empty();
        if is_shape
            || tree::is_shared(&call.method)
            || tree::exchange_of(call).is_some()
            || self.is_block(&call.receiver)
        {
            return None;
        }
        let start = spans::first(&call.receiver);
        let support = spans::at(self.support, start);
        if is_range(&call.receiver) && (call.method == "rev" || call.method == "step_by") {
            self.visit_expr_mut(&mut call.receiver);
            call.args.iter_mut().for_each(|arg| self.visit_expr_mut(arg));
            self.divided_step(call);
            let (receiver, method, args) = (&call.receiver, &call.method, &call.args);
            return Some(quote_spanned!(start=> ::core::iter::Iterator::#method(#receiver, #args)));
        }
        let name = call.method.to_string();
        let place = (!is_of_numbers(&name) && self.is_local_place(&call.receiver))
            .then(|| self.target(&mut call.receiver));
        if place.is_none() {
            self.visit_expr_mut(&mut call.receiver);
        }
        call.args.iter_mut().for_each(|arg| self.visit_expr_mut(arg));
        let (receiver, args) = (unparenthesized(&call.receiver), &call.args);
        if let Some(tree::Conversion::To(_)) = tree::conversion(&name)
            && args.is_empty()
        {
            let conversion = conversion(&support, &call.method);
            return Some(quote_spanned!(start=> #conversion(#receiver)));
        }
        let list = call.args.iter();
        let args = quote!((#(#list,)*));
        let number = number(&call.method);
        let [this, given, result] = ["receiver", "given", "result"].map(internal);
        let at = self.type_at(site);
        let Some(before) = place else {
            let receiver = match &at {
                Some(at) => quote_spanned! {start=>
                    #support::typed::<_, #at>(#support::gate::<__OK, _>(#receiver))
                },
                None => quote_spanned!(start=> #support::gate::<__OK, _>(#receiver)),
            };
            return Some(quote_spanned! {start=>
                #support::call::<#number, _, _>(#receiver, #args)
            });
        };
        let seen = at.map(|at| quote!(#support::seen::<_, #at>(&#this);));
        Some(quote_spanned! {start=> #support::identity({
            #before
            let mut #this = #receiver;
            #seen
            let #given = #args;
            #support::reload_receiver::<#number, _>(&mut #this, #receiver);
            let #result = #support::call_in_place::<#number, _, _>(&mut #this, #given);
            #support::write_back_local::<#number, _>(&mut #receiver, #this);
            #result
        })})
    }

    /// What a call by a path becomes, whose arguments are rewritten already; none where its tokens stay.
    pub(crate) fn path_call(&self, call: &mut ExprCall) -> Option<TokenStream> {
        let site = sites::take(&mut call.attrs);
        let Expr::Path(path) = &*call.func else { return None };
        if tree::is_scalar_method(path) || tree::is_of_type(path) {
            return self.call_of_type(path, call, site);
        }
        if is_ndrange_path(path) {
            return None;
        }
        self.call_of_func(call, site);
        None
    }

    /// A function of a type: `f32::max(a, b)`, `Vector::splat(x)`, `Pair::new(a, b)`.
    fn call_of_type(
        &self,
        path: &ExprPath,
        call: &ExprCall,
        site: Option<usize>,
    ) -> Option<TokenStream> {
        let mut of: Path = path.path.clone();
        let name = of.segments.pop()?.ident;
        of.segments.pop_punct();
        let text = name.to_string();
        if tree::is_type_name(&text) {
            // A struct's value, which a pattern in the probed copy has proved.
            return None;
        }
        let start = spans::first(path);
        let support = spans::at(self.support, start);
        let args = call.args.iter();
        let args = quote!((#(#args,)*));
        let number = number(&name);
        if is_builtin_function(&text) {
            return Some(quote_spanned! {start=>
                #support::call_associated::<#number, _, _>(|#of { .. }| (), #support::gate::<__OK, _>(#args))
            });
        }
        let is_half = of.segments.last().is_some_and(|last| last.ident == "f16");
        // `from` of any other type is a func.
        let converts =
            (text == "from" && tree::is_scalar_method(path)) || tree::conversion(&text).is_some();
        if converts && call.args.len() == 1 {
            let args = &call.args;
            return Some(match tree::conversion(&text) {
                None => quote_spanned!(start=> <#of as ::core::convert::From<_>>::from(#args)),
                Some(tree::Conversion::From(_)) if is_half => {
                    quote_spanned!(start=> <#of as #support::FromFloat>::#name(#args))
                }
                Some(tree::Conversion::From(_)) => {
                    quote_spanned!(start=> <#of as #support::Number>::#name(#args))
                }
                Some(tree::Conversion::To(_)) => {
                    let conversion = conversion(&support, &name);
                    quote_spanned!(start=> #conversion(#support::identity::<#of>(#args)))
                }
            });
        }
        Some(match self.call_at(site) {
            Some(at) => quote_spanned! {start=>
                #support::function::<#number, #of, _, #at>(#support::gate::<__OK, _>(#args))
            },
            None => quote_spanned! {start=>
                <#of as #support::Function<#number, _>>::call(#support::gate::<__OK, _>(#args))
            },
        })
    }

    /// A call of a free func, through the type that `#[func]` emits under its name. A tensor is passed as its view, which is
    /// `Copy`. The form and the site are the type of the first argument, because rustc does not infer some generic
    /// arguments where others are written.
    fn call_of_func(&self, call: &mut ExprCall, site: Option<usize>) {
        for arg in &mut call.args {
            while let Expr::Reference(syn::ExprReference { expr, .. })
            | Expr::Paren(syn::ExprParen { expr, .. }) = arg
            {
                *arg = (**expr).clone();
            }
        }
        let Expr::Path(path) = &*call.func else { return };
        let support = self.support;
        let (bare, arguments) = without_arguments(path);
        let at = spans::first(&bare);
        // Without a site it is rejected already.
        let Some(here) = self.call_at(site) else { return };
        let arguments = arguments.map(|arguments| quote!(::<#arguments _, _, _>));
        *call.func = Expr::Verbatim(quote_spanned!(at=> <#bare>::__call_at #arguments));
        self.gate(&mut call.func);
        call.args.insert(0, Expr::Verbatim(quote!(#support::CallSite::<#here, __CHECKED>::HERE)));
    }

    /// `a == b`, which compares numbers, whatever the operands' types say of `==`.
    pub(crate) fn compared(&self, binary: &syn::ExprBinary) -> Option<TokenStream> {
        let negated = match binary.op {
            syn::BinOp::Eq(_) => None,
            syn::BinOp::Ne(_) => Some(quote!(!)),
            _ => return None,
        };
        let start = spans::first(&binary.left);
        let support = spans::at(self.support, start);
        let (left, right) = (unparenthesized(&binary.left), unparenthesized(&binary.right));
        Some(quote_spanned!(start=> #negated #support::equal(#left, #right)))
    }

    /// Whether an expression names a block of threads.
    fn is_block(&self, expr: &Expr) -> bool {
        match unparenthesized(expr) {
            Expr::Path(path) => tree::name_of(path).is_some_and(|name| self.blocks.contains(name)),
            _ => false,
        }
    }

    /// Whether an expression is a local or a part of one, which a method may change where it is.
    fn is_local_place(&self, expr: &Expr) -> bool {
        match expr {
            Expr::Path(path) => tree::name_of(path).is_some_and(|name| self.locals.contains(name)),
            Expr::Field(field) => self.is_local_place(&field.base),
            Expr::Paren(paren) => self.is_local_place(&paren.expr),
            Expr::Index(index) => self.is_local_place(&index.expr),
            _ => false,
        }
    }
}

/// The conversion of a number by its method's name.
fn conversion(support: &TokenStream, name: &Ident) -> TokenStream {
    let of = if name == "to_f32" || name == "to_f64" { quote!(ToFloat) } else { quote!(Number) };
    quote_spanned!(name.span()=> #support::#of::#name)
}

/// Whether a method never changes its receiver: it has the name of a built-in one, or is a conversion.
pub(crate) fn is_of_numbers(method: &str) -> bool {
    is_builtin_method(method) || tree::conversion(method).is_some()
}

/// Whether an expression is a range, in reverse or with a step or not.
fn is_range(expr: &Expr) -> bool {
    match unparenthesized(expr) {
        Expr::Range(_) => true,
        Expr::MethodCall(call) if call.method == "rev" || call.method == "step_by" => {
            is_range(&call.receiver)
        }
        _ => false,
    }
}

fn is_ndrange_path(path: &ExprPath) -> bool {
    path.path.segments.last().is_some_and(|segment| segment.ident == "ndrange")
}
