//! Rewrites calls in a CPU body, so that names in the user's scope cannot change which function is called. A method
//! call becomes a call of the trait impl (`value/callable.rs`) that also holds the method's IR source, keyed by a hash
//! of the method name and by the receiver type. A call of a free func goes through the type that `#[func]` emits under
//! its name.

use proc_macro2::{Ident, Span, TokenStream};
use quadrants_frontend::FILLED;
use quote::{quote, quote_spanned};
use syn::{Expr, ExprCall, ExprMethodCall, ExprPath, visit_mut::VisitMut};

use super::BodyRewriter;
use crate::{
    ast::{
        Conversion, callee_type, callee_value, collective_of, compared_value, conversion,
        is_inferred, is_ndrange, is_of_type, is_one_of, is_scalar_method, is_shared_array,
        is_tensor_method, is_type_name, keeps_receiver, name_of, place_root, split_function,
        taking, unparenthesized, without_arguments,
    },
    marks, spans,
    tokens::{internal, method_number},
};

impl BodyRewriter<'_> {
    /// The replacement of a method call; `None` if the call stays as written and resolves to a method of the support
    /// code.
    pub(super) fn method_call(&mut self, call: &mut ExprMethodCall) -> Option<TokenStream> {
        let site = marks::take(&mut call.attrs);
        if call.method == FILLED {
            let (support, receiver, args) = (self.support, &call.receiver, &call.args);
            return Some(quote!(#support::MapMethods::__filled(#receiver, #args)));
        }
        let is_shape = call.method == "shape" && call.args.is_empty();
        if is_shared_array(&call.method) {
            self.gate(&mut call.receiver);
        }
        if is_shape
            || is_shared_array(&call.method)
            || collective_of(call).is_some()
            || is_one_of(&call.receiver, &self.blocks)
        {
            return None;
        }
        let start = spans::first(&call.receiver);
        let support = spans::at(self.support, start);
        if is_range_method(call) && is_range(&call.receiver) {
            self.visit_expr_mut(&mut call.receiver);
            let step = call.args.first().map(spans::first);
            call.args.iter_mut().for_each(|arg| self.visit_expr_mut(arg));
            self.check_step(call, step);
            let (receiver, method, args) = (&call.receiver, &call.method, &call.args);
            return Some(quote_spanned!(start=> ::core::iter::Iterator::#method(#receiver, #args)));
        }
        let name = call.method.to_string();
        let indices = (!keeps_receiver(&name) && self.is_local_place(&call.receiver))
            .then(|| self.target(&mut call.receiver));
        if indices.is_none() {
            self.visit_expr_mut(&mut call.receiver);
        }
        for arg in &mut call.args {
            *arg = compared_value(&name, arg).clone();
            self.visit_expr_mut(arg);
        }
        let (receiver, args) = (unparenthesized(&call.receiver), call.args.iter());
        if let (Some(Conversion::To(_)), 0) = (conversion(&name), args.len()) {
            let function = conversion_function(&support, &call.method);
            return Some(quote_spanned!(start=> #function(#receiver)));
        }
        let args = quote!((#(#args,)*));
        let number = method_number(&call.method);
        let at = self.typing.value(site);
        let Some(indices) = indices else {
            let gated = quote_spanned!(start=> #support::gate::<__OK, _>(#receiver));
            let receiver = match &at {
                Some(at) => quote_spanned!(start=> #support::typed::<_, #at>(#gated)),
                None => gated,
            };
            return Some(quote_spanned! {start=>
                #support::call_method::<#number, _, _, _>(#receiver, #args)
            });
        };
        let [this, given, result] = ["receiver", "given", "result"].map(internal);
        let check = at.map(|at| quote!(#support::seen::<_, #at>(&#this);));
        // As in the IR, where `self` stands for a whole local, but for a copy of a part of one.
        let reload = matches!(receiver, Expr::Path(_))
            .then(|| quote!(#support::reload_receiver::<#number, _, _>(&mut #this, #receiver);));
        Some(quote_spanned! {start=> #support::identity({
            #indices
            let mut #this = #receiver;
            #check
            let #given = #args;
            #reload
            let #result = #support::call_in_place::<#number, _, _, _>(&mut #this, #given);
            #support::write_back_local::<#number, _, _>(&mut #receiver, #this);
            #result
        })})
    }

    /// The replacement of a call by path, whose arguments are rewritten; `None` if its tokens stay.
    pub(super) fn path_call(&self, call: &mut ExprCall) -> Option<TokenStream> {
        let site = marks::take(&mut call.attrs);
        let Expr::Path(path) = &*call.func else { return None };
        if is_scalar_method(path) || is_of_type(path) {
            return self.associated_call(path, call, site);
        }
        if !is_ndrange(call) {
            self.func_call(call, site);
        }
        None
    }

    /// A call of an associated function: `f32::max(a, b)`, `Vector::splat(x)`, `Pair::new(a, b)`.
    fn associated_call(
        &self,
        path: &ExprPath,
        call: &ExprCall,
        site: Option<usize>,
    ) -> Option<TokenStream> {
        let (of, name) = split_function(&path.path)?;
        let text = name.to_string();
        if is_type_name(&text) {
            // The value of a tuple struct: a pattern in the type-inference copy proves that.
            return None;
        }
        let start = spans::first(path);
        let support = spans::at(self.support, start);
        let args = call.args.iter();
        let args = quote!((#(#args,)*));
        let number = method_number(&name);
        // `from` of any other type is a func.
        let converts = (text == "from" && is_scalar_method(path)) || conversion(&text).is_some();
        if converts && call.args.len() == 1 {
            let args = &call.args;
            let is_half = of.segments.last().is_some_and(|last| last.ident == "f16");
            return Some(match conversion(&text) {
                None => quote_spanned!(start=> <#of as ::core::convert::From<_>>::from(#args)),
                Some(Conversion::From(_)) if is_half => {
                    quote_spanned!(start=> <#of as #support::FromFloat>::#name(#args))
                }
                Some(Conversion::From(_)) => {
                    quote_spanned!(start=> <#of as #support::Number>::#name(#args))
                }
                Some(Conversion::To(_)) => {
                    let function = conversion_function(&support, &name);
                    quote_spanned!(start=> #function(#support::identity::<#of>(#args)))
                }
            });
        }
        Some(match self.typing.call(site) {
            Some(at) if is_inferred(&of) => {
                let of = taking(&support, &of);
                quote_spanned! {start=>
                    #support::call_by_type::<#number, _, _, _, #at>(
                        #support::gate::<__OK, fn(_)>(#of),
                        #support::gate::<__OK, _>(#args)
                    )
                }
            }
            None if is_inferred(&of) => {
                let of = taking(&support, &of);
                quote_spanned! {start=>
                    #support::call_associated::<#number, _, _, _>(
                        #support::gate::<__OK, fn(_)>(#of),
                        #support::gate::<__OK, _>(#args)
                    )
                }
            }
            Some(at) => quote_spanned! {start=>
                #support::call_function::<#number, #support::Gated<__OK, #of>, _, _, #at>(
                    #support::gate::<__OK, _>(#args))
            },
            None => quote_spanned! {start=>
                <#support::Gated<__OK, #of> as #support::Function<#number, _, _>>::call(#support::gate::<__OK, _>(#args))
            },
        })
    }

    /// Rewrites a call of a free func to one through the type that `#[func]` emits under its name. A tensor is passed
    /// as its view, which is `Copy`. The form and the site are the type of the first argument, because rustc infers no
    /// generic arguments where others are written.
    fn func_call(&self, call: &mut ExprCall, site: Option<usize>) {
        let support = self.support;
        let passing = call.args.iter().map(|arg| match arg {
            arg if self.is_tensor(arg) => quote!(#support::ByView),
            Expr::Reference(syn::ExprReference { expr, .. }) if self.is_tensor(expr) => {
                quote!(#support::ByView)
            }
            Expr::Reference(syn::ExprReference { mutability: Some(_), .. }) => {
                quote!(#support::ByMut)
            }
            Expr::Reference(_) => quote!(#support::ByRef),
            _ => quote!(#support::ByValue),
        });
        let passing: Vec<_> = passing.collect();
        for arg in &mut call.args {
            while let Expr::Reference(syn::ExprReference { expr, .. })
            | Expr::Paren(syn::ExprParen { expr, .. }) = arg
            {
                *arg = (**expr).clone();
            }
        }
        let Expr::Path(path) = (*call.func).clone() else { return };
        let (bare, arguments) = without_arguments(&path);
        let at = spans::first(&bare);
        // A call without a site was rejected when sites were numbered.
        let Some(here) = self.typing.call(site) else { return };
        let arguments = arguments.map(|arguments| quote!(::<#arguments _, _, _>));
        let function = |of| quote_spanned!(at=> <#of>::__call_at #arguments);
        *call.func = Expr::Verbatim(callee_type(support, &path, &passing, function));
        self.gate(&mut call.func);
        let value = match is_tensor_method(&path) {
            true => quote!(()),
            false => callee_value(&path),
        };
        let here = quote!(#support::CallSite::<#here, _>::of(#value));
        call.args.insert(0, Expr::Verbatim(here));
    }

    /// `a == b` as a comparison of kernel values, which ignores the operands' `PartialEq`.
    pub(super) fn comparison(&self, binary: &syn::ExprBinary, start: Span) -> Option<TokenStream> {
        let negation = match binary.op {
            syn::BinOp::Eq(_) => None,
            syn::BinOp::Ne(_) => Some(quote!(!)),
            _ => return None,
        };
        let support = spans::at(self.support, start);
        let (left, right) = (unparenthesized(&binary.left), unparenthesized(&binary.right));
        Some(quote_spanned!(start=> #negation #support::equal(#left, #right)))
    }

    /// Whether an expression is a local or a part of one, which a method may change.
    fn is_local_place(&self, expr: &Expr) -> bool {
        place_root(expr).and_then(name_of).is_some_and(|name| self.locals.contains(name))
    }
}

fn conversion_function(support: &TokenStream, name: &Ident) -> TokenStream {
    let of = if name == "to_f32" || name == "to_f64" { quote!(ToFloat) } else { quote!(Number) };
    quote_spanned!(name.span()=> #support::#of::#name)
}

fn is_range_method(call: &ExprMethodCall) -> bool {
    call.method == "rev" || call.method == "step_by"
}

/// Whether an expression is a range, with or without `rev` and `step_by`.
fn is_range(expr: &Expr) -> bool {
    match unparenthesized(expr) {
        Expr::Range(_) => true,
        Expr::MethodCall(call) => is_range_method(call) && is_range(&call.receiver),
        _ => false,
    }
}
