//! Puts what is emitted for a function together.

mod rejected;

use proc_macro2::{Ident, Span, TokenStream};
use quadrants_frontend::{
    check,
    syntax::{Function, FunctionKind, ParamPassing},
};
use quote::{quote, quote_spanned};
use syn::{ItemFn, spanned::Spanned};

use crate::{
    attribute::Attribute,
    body::{Body, Rewritable, Rewrite, Typing, internal, tensors},
    generics::Generics,
    hygiene, methods,
    signature::{self, Param, Signature},
    sites,
    tree::{FuncEntry, Tree, TypeEntry},
};

use rejected::rejected;

/// Paths of the facade crate.
pub(crate) struct Paths {
    pub(crate) private: TokenStream,
    pub(crate) body: TokenStream,
    pub(crate) frontend: TokenStream,
}

/// All that is known of the function.
pub(crate) struct Emission {
    kind: FunctionKind,
    paths: Paths,
    signature: Signature,
    generics: Generics,
    item: ItemFn,
    tree: Tree,
    /// The author's block with probes in it.
    probed: syn::Block,
    bytes: Vec<u8>,
    /// Whether sums of floats stay as they are written.
    strict: bool,
}

impl Paths {
    pub(crate) fn new(krate: &syn::Path) -> Self {
        let private = quote!(#krate::__private);
        Self { body: quote!(#private::body), frontend: quote!(#private::frontend), private }
    }
}

/// What a kernel or func becomes.
pub(crate) fn function(kind: FunctionKind, attribute: &Attribute, item: ItemFn) -> TokenStream {
    let paths = Paths::new(&attribute.krate);
    let signature = match signature::parse(kind, &item.sig) {
        Ok(signature) => signature,
        Err(error) => return rejected(kind, &paths, None, &item, error),
    };
    match Emission::new(kind, attribute, signature, item) {
        Ok(emission) => match kind {
            FunctionKind::Kernel => emission.kernel(),
            FunctionKind::Func => emission.func(),
        },
        Err(rejected_one) => {
            let (error, signature, item) = *rejected_one;
            rejected(kind, &paths, Some(&signature), &item, error)
        }
    }
}

fn syntax(
    kind: FunctionKind,
    attribute: &Attribute,
    signature: &Signature,
    item: &ItemFn,
    tree: &mut Tree,
    probed: &mut syn::Block,
) -> Function {
    let params = signature.params.iter().map(|param| {
        tree.bind(&param.name);
        if param.passing != ParamPassing::Value {
            tree.references.push(param.name.to_string());
        }
        quadrants_frontend::syntax::Param {
            name: param.name.to_string(),
            passing: param.passing,
            mutable: param.mutable,
            by_reference: param.by_reference,
            span: tree.spans.of(&param.name),
        }
    });
    let params = params.collect();
    let result = signature.result.as_ref().map(|ty| tree.written(ty));
    Function {
        kind,
        name: item.sig.ident.to_string(),
        span: tree.spans.of(&item.sig.ident),
        params,
        result,
        body: tree.block(probed),
        options: attribute.options,
    }
}

/// A kernel's function as its callers see it, up to its body.
fn header(paths: &Paths, signature: &Signature, item: &ItemFn) -> TokenStream {
    let private = &paths.private;
    let ItemFn { attrs, vis, sig, .. } = item;
    let name = &sig.ident;
    let generics = Generics::new(&sig.generics);
    let (declared, bounds) = (generics.declared(), generics.bounds());
    let declared = (!generics.is_empty()).then(|| quote!(, #declared));
    let params = signature.params.iter().map(|Param { name, passing, ty, .. }| match passing {
        ParamPassing::Value => quote!(#name: #ty),
        ParamPassing::Ref => quote!(#name: &'launch #ty),
        ParamPassing::RefMut => quote!(#name: &'launch mut #ty),
    });
    let result = signature.result.as_ref().map_or_else(|| quote!(()), |ty| quote!(#ty));
    quote! {
        #(#attrs)*
        #vis fn #name<'launch #declared>(#(#params),*) -> #private::Launch<'launch, #result> #bounds
    }
}

impl Emission {
    /// Makes the tree, and checks it.
    pub(crate) fn new(
        kind: FunctionKind,
        attribute: &Attribute,
        signature: Signature,
        mut item: ItemFn,
    ) -> Result<Self, Box<(syn::Error, Signature, ItemFn)>> {
        let mut tree = Tree::default();
        let refused = hygiene::refused(&item.sig, &item.block);
        sites::number(&mut item.block);
        let mut probed = (*item.block).clone();
        let syntax = syntax(kind, attribute, &signature, &item, &mut tree, &mut probed);
        let rejections = check(&syntax).into_iter();
        let errors = rejections.map(|r| tree.spans.error(r.span, r.rule.to_string()));
        let errors = errors.chain(refused);
        let error = errors.reduce(|mut all, error| {
            all.combine(error);
            all
        });
        if let Some(error) = error {
            return Err(Box::new((error, signature, item)));
        }
        match syntax.encode() {
            Ok(bytes) => {
                let paths = Paths::new(&attribute.krate);
                let strict = attribute.options.strict;
                let generics = Generics::new(&item.sig.generics);
                Ok(Self { kind, paths, signature, generics, item, tree, probed, bytes, strict })
            }
            Err(error) => {
                let error = syn::Error::new(item.sig.ident.span(), error);
                Err(Box::new((error, signature, item)))
            }
        }
    }

    fn kernel(&self) -> TokenStream {
        let Paths { private, body: support, .. } = &self.paths;
        let header = header(&self.paths, &self.signature, &self.item);
        let arguments = self.signature.params.iter().map(|Param { name, .. }| {
            let gated = quote_spanned!(name.span()=> #support::gate::<__OK, _>(#name));
            quote!(#private::Launch::push(&mut __launch, #gated);)
        });
        let source = self.source();
        let native = self.native();
        let body = self.body_type();
        let made = quote!(#private::KernelDef::of::<#body>());
        let def = if self.generics.is_empty() {
            quote! {
                static __DEF: #private::KernelDef = #made;
                let __def = &__DEF;
            }
        } else {
            quote! {
                static __INSTANCES: #private::Monomorphizations = #private::Monomorphizations::new();
                let __def = #private::Monomorphizations::of::<#body>(&__INSTANCES);
            }
        };
        // A launch is long: it is made where it is used.
        let inline = |attr: &syn::Attribute| attr.path().is_ident("inline");
        let inlined = (!self.item.attrs.iter().any(inline)).then(|| quote!(#[inline(always)]));
        quote! {
            #inlined
            #header {
                #source
                #native
                #def
                #[allow(unused_mut)]
                let mut __launch = #private::Launch::new(__def);
                #(#arguments)*
                __launch
            }
        }
    }

    /// The author's block, with the numbers of its sites.
    pub(crate) fn block(&self) -> syn::Block {
        (*self.item.block).clone()
    }

    /// What the CPU body checks its types by.
    pub(crate) fn typing(&self, table: TokenStream) -> Typing<'_> {
        Typing { sites: &self.tree.sites, table, types: self.tree.types.len() }
    }

    /// The identities that [`source`](Self::source) has found, as `&'static [u128]`.
    pub(crate) fn identities(&self) -> TokenStream {
        if self.generics.is_empty() {
            return quote!(&__IDENTITIES);
        }
        let of = self.generics.carrier();
        quote!(&#of::__IDENTITIES)
    }

    /// The type that has the table of a func's sites, with its generic arguments.
    fn sites_of_func(&self) -> TokenStream {
        let name = &self.item.sig.ident;
        if self.generics.is_empty() {
            return quote!(#name);
        }
        let (name, arguments) = (self.sites_name(), self.generics.arguments());
        quote!(#name::<#arguments>)
    }

    /// The name of that type, for a generic func.
    fn sites_name(&self) -> Ident {
        use syn::ext::IdentExt;
        quote::format_ident!("__sites_of_{}", self.item.sig.ident.unraw())
    }

    /// The type that the body hangs on.
    fn body_type(&self) -> TokenStream {
        if self.generics.is_empty() { quote!(__Body) } else { self.generics.carrier() }
    }

    /// The source that [`source`](Self::source) made, as `&'static Source`.
    pub(crate) fn found(&self) -> TokenStream {
        if self.generics.is_empty() {
            return quote!(&__SOURCE);
        }
        let of = self.generics.carrier();
        quote!(#of::__SOURCE)
    }

    /// The body that a processor runs.
    fn native(&self) -> TokenStream {
        let support = &self.paths.body;
        let (cx, args, value) = (internal("cx"), internal("args"), internal("value"));
        let mut elements = quote!(0usize);
        let params: TokenStream = self
            .signature
            .params
            .iter()
            .map(|Param { name, passing, ty, .. }| match passing {
                ParamPassing::Value => {
                    let mutable = quote_spanned!(name.span()=> mut);
                    quote!(let #mutable #name = #support::gate::<__OK, _>(#args.value::<#ty>());)
                }
                ParamPassing::Ref | ParamPassing::RefMut => {
                    elements =
                        quote!(::core::cmp::Ord::max(#elements, #support::ElementCount::element_count(&#name)));
                    quote!(let mut #name = #support::gate::<__OK, _>(#args.tensor::<#ty>());)
                }
            })
            .collect();
        let elements_of = internal("elements");
        let size = self.tree.regions.first().map(|_| quote!(let #elements_of = #elements;));
        let typing = self.typing(self.body_type());
        let body = Body::new(support, &self.signature.params, self.strict, typing)
            .kernel(&self.item.block, &quote!(#elements_of));
        let body = match &self.signature.result {
            Some(ty) => quote! {
                let #value = #support::gate::<__OK, _>({ #body });
                #support::Cx::finish::<#ty>(#cx, #value);
            },
            None => body,
        };
        let quiet = quiet();
        let (declared, bounds) = (self.generics.declared(), self.generics.bounds());
        let (name, found) = (self.item.sig.ident.to_string(), self.found());
        let (private, frontend) = (&self.paths.private, &self.paths.frontend);
        let (of, declared) = if self.generics.is_empty() {
            (quote!(__Body), None)
        } else {
            (self.generics.carrier(), Some(quote!(<#declared>)))
        };
        let item = self.generics.is_empty().then(|| {
            quote!(
                struct __Body;
            )
        });
        let identities = self.identities();
        quote! {
            #item
            impl #declared #support::SiteTable for #of #bounds {
                const IDENTITIES: &'static [::core::primitive::u128] = #identities;
            }
            // SAFETY: the tree and `run` are made of the same tokens. `run` uses `cx` as the tree's function says, and no
            // token of the author's can name it.
            #quiet
            unsafe impl #declared #support::Body for #of #bounds {
                const NAME: &'static ::core::primitive::str = #name;

                fn ir() -> ::core::result::Result<#private::ir::Kernel, #private::BoxError> {
                    ::core::result::Result::Ok(#frontend::lower_checked(#found)?)
                }

                #[inline(always)]
                fn run<__Level: #support::Level, const __CHECKED: ::core::primitive::bool, const __WIDE: ::core::primitive::usize>(
                    #cx: &#support::Cx<'_, __Level, __CHECKED>,
                ) {
                    // By reference, so that its own methods come before those of traits in scope.
                    let #args = &mut #support::Cx::args(#cx);
                    #params
                    #size
                    #body
                }
            }
        }
    }

    fn func(&self) -> TokenStream {
        let ItemFn { attrs, vis, sig, .. } = &self.item;
        let name = &sig.ident;
        let support = &self.paths.body;
        let called = self.called();
        let (declared, bounds) = (self.generics.declared(), self.generics.bounds());
        let arguments = self.generics.arguments();
        let (kept, found) = self.kept();
        let table = self.table();
        let inputs = self.item.sig.inputs.iter().filter_map(|input| match input {
            syn::FnArg::Typed(input) => Some(&input.ty),
            syn::FnArg::Receiver(_) => None,
        });
        let output = &sig.output;
        // By these bounds, rustc finds the generic arguments in a function's type; and what hides the function
        // by its name has its type at least.
        let of = quote!(#declared __F: ::core::ops::Fn(#(#inputs),*) #output);
        let body = if self.takes_tensors() {
            let text = format!("`{name}` takes tensors: it can be called in kernels alone");
            quote!(#[allow(unused_variables)] #vis #sig { ::core::panic!(#text) })
        } else {
            let (sig, arguments) = (methods::immutable(sig), self.generics.arguments());
            let names = self.signature.params.iter().map(|param| &param.name);
            quote! {
                #[allow(clippy::used_underscore_binding)]
                #[inline(always)]
                #vis #sig { <#name>::__call::<#arguments>(#(#names),*) }
            }
        };
        quote! {
            #(#attrs)*
            #body

            #[allow(non_camel_case_types)]
            #[doc(hidden)]
            #vis struct #name {}
            // SAFETY: its functions are the func's source and body, made of the same tokens. The names that kernels
            // use are all taken here, so that no other `impl` of the type can have them.
            unsafe impl #support::Func for #name {}
            #table
            impl #name {
                #called
                #kept

                #[allow(unused)]
                #[doc(hidden)]
                pub fn __callee<#declared>() -> #support::Callee #bounds {
                    #support::Callee::Func(#found.0)
                }

                #[allow(unused)]
                #[doc(hidden)]
                pub const fn __callee_of<#of>(
                    _: &#support::Probe<__F>,
                ) -> (fn() -> #support::Callee, ::core::primitive::u128) #bounds {
                    (Self::__callee::<#arguments>, Self::__arguments::<#arguments>())
                }
            }
        }
    }

    /// The table of a func's sites.
    fn table(&self) -> TokenStream {
        let (name, vis, support) = (&self.item.sig.ident, &self.item.vis, &self.paths.body);
        if self.generics.is_empty() {
            return quote! {
                impl #support::SiteTable for #name {
                    const IDENTITIES: &'static [::core::primitive::u128] = <#name>::__FOUND.1;
                }
            };
        }
        let (declared, bounds) = (self.generics.declared(), self.generics.bounds());
        let (of, arguments) = (self.sites_name(), self.generics.arguments());
        let item = self.generics.item(&of);
        quote! {
            #[allow(non_camel_case_types)]
            #[doc(hidden)]
            #vis #item
            impl<#declared> #support::SiteTable for #of<#arguments> #bounds {
                const IDENTITIES: &'static [::core::primitive::u128] =
                    <#name>::__found::<#arguments>().1;
            }
        }
    }

    /// The constant of a func in which its source is kept, and the source. That of a generic one is found anew
    /// by each instantiation.
    fn kept(&self) -> (TokenStream, TokenStream) {
        let (source, found, frontend) = (self.source(), self.found(), &self.paths.frontend);
        let identities = self.identities();
        let ty = quote!((&'static #frontend::Source, &'static [::core::primitive::u128]));
        if !self.generics.is_empty() {
            let (declared, bounds) = (self.generics.declared(), self.generics.bounds());
            let arguments = self.generics.arguments();
            let kept = quote! {
                #[allow(unused)]
                #[doc(hidden)]
                pub const fn __found<#declared>() -> #ty #bounds {
                    #source
                    (#found, #identities)
                }
            };
            return (kept, quote!(Self::__found::<#arguments>()));
        }
        let kept = quote! {
            #[allow(unused)]
            #[doc(hidden)]
            const __FOUND: #ty = { #source (#found, #identities) };
        };
        (kept, quote!(Self::__FOUND))
    }

    /// Whether it is a method that takes `&mut self`.
    pub(crate) fn changes_receiver(&self) -> bool {
        self.signature.params.first().is_some_and(|param| param.by_reference)
    }

    fn takes_tensors(&self) -> bool {
        self.signature.params.iter().any(|param| param.passing != ParamPassing::Value)
    }

    /// What a kernel's body calls.
    fn called(&self) -> TokenStream {
        let syn::Signature { ident: name, output, .. } = &self.item.sig;
        let support = &self.paths.body;
        let (declared, bounds) = (self.generics.declared(), self.generics.bounds());
        let arguments = self.generics.arguments();
        let names: Vec<_> = self.signature.params.iter().map(|param| &param.name).collect();
        let types = self.signature.params.iter().map(|Param { passing, ty, .. }| match passing {
            ParamPassing::Value => quote!(#ty),
            ParamPassing::Ref | ParamPassing::RefMut => {
                quote!(<#ty as #support::TensorParam>::View<__CHECKED>)
            }
        });
        let types: Vec<_> = types.collect();
        let form = self.takes_tensors().then(|| quote!(__CHECKED));
        let private = &self.paths.private;
        let values = self.signature.params.iter().filter(|p| p.passing == ParamPassing::Value);
        let values = values.map(|param| &param.ty);
        // Where generic arguments are written, form and site cannot be among them; they are in the first argument.
        let with = quote! {
            #[allow(unused, clippy::too_many_arguments)]
            #[doc(hidden)]
            #[inline(always)]
            pub fn __call_at<
                #declared
                __Sites: #support::SiteTable,
                const __SITE: ::core::primitive::usize,
                const __CHECKED: ::core::primitive::bool,
            >(
                _: #support::CallSite<__Sites, __SITE, __CHECKED>,
                #(#names: #types),*
            ) #output #bounds {
                const {
                    #support::check_site::<__Sites, __SITE>(Self::__arguments::<#arguments>())
                }
                Self::__call::<#arguments #form>(#(#names),*)
            }

            #[allow(unused)]
            #[doc(hidden)]
            pub const fn __arguments<#declared>() -> ::core::primitive::u128 #bounds {
                let all = #support::type_identity("arguments");
                #(let all = #support::with_part(all, <#values as #private::KernelValue>::TYPE_IDENTITY);)*
                all
            }
        };
        // The author's function knows tensors; what runs, what stands for them in a body.
        let params =
            self.signature.params.iter().map(|Param { name, passing, ty, .. }| match passing {
                ParamPassing::Value => {
                    let mutable = quote_spanned!(name.span()=> mut);
                    quote!(#mutable #name: #ty)
                }
                ParamPassing::Ref | ParamPassing::RefMut => {
                    quote!(mut #name: <#ty as #support::TensorParam>::View<__CHECKED>)
                }
            });
        let mut rewrite = Rewrite::new(support, self.typing(self.sites_of_func()));
        rewrite.tensors = tensors(&self.signature.params);
        let values = self.signature.params.iter().filter(|p| p.passing == ParamPassing::Value);
        rewrite.locals = values.map(|param| param.name.clone()).collect();
        let body = (*self.item.block).clone().rewritten(&mut rewrite);
        let quiet = quiet();
        let (checked, form) = match self.takes_tensors() {
            true => (Some(quote!(const __CHECKED: ::core::primitive::bool)), None),
            false => (
                None,
                Some(quote!(
                    const __CHECKED: ::core::primitive::bool = true;
                )),
            ),
        };
        let gate = if self.generics.is_empty() {
            quote!(const __OK: ::core::primitive::bool = { let _ = <#name>::__FOUND; true };)
        } else {
            ungated()
        };
        quote! {
            #with
            #quiet
            #[allow(dead_code, private_interfaces)]
            #[doc(hidden)]
            #[inline(always)]
            pub fn __call<#declared #checked>(#(#params),*) #output #bounds {
                #gate
                #form
                #body
            }
        }
    }

    /// The probed copy, and the source made of the tree and what the probes found.
    pub(crate) fn source(&self) -> TokenStream {
        let Paths { private, body: support, frontend } = &self.paths;
        let probes = self.tree.types.iter().filter_map(|entry| match entry {
            TypeEntry::Probe { probe, .. } => Some(probe),
            TypeEntry::Written(_) | TypeEntry::Number(_) => None,
        });
        let probes = probes.chain(self.tree.funcs.iter().map(|entry| match entry {
            FuncEntry::Path { probe, .. } => probe,
            FuncEntry::OfType { result, .. } | FuncEntry::Method { result, .. } => result,
        }));
        let types = self.tree.types.iter().map(|entry| match entry {
            TypeEntry::Probe { probe, binding, linear } => {
                // An argument is where rustc says that its type does not do.
                let mut probe = probe.clone();
                probe.set_span(probe.span().located_at(binding.span()));
                if *linear {
                    quote_spanned!(binding.span()=> #support::linear_type_of(#probe))
                } else {
                    quote_spanned!(binding.span()=> #support::type_of(#probe))
                }
            }
            TypeEntry::Written(ty) => {
                quote_spanned!(ty.span()=> <#ty as #private::KernelValue>::LAYOUT)
            }
            TypeEntry::Number(ty) => quote_spanned!(ty.span()=> #support::number_type::<#ty>()),
        });
        let kinds = self.signature.params.iter().map(|Param { passing, ty, .. }| match passing {
            ParamPassing::Value => quote_spanned! {ty.span()=>
                #support::value_type::<#ty>()
            },
            ParamPassing::Ref | ParamPassing::RefMut => {
                let writable = *passing == ParamPassing::RefMut;
                quote_spanned!(ty.span()=> #support::tensor_type::<#ty>(#writable))
            }
        });
        let generic = !self.generics.is_empty();
        // Where the constants are: in a function, or on the type that has its parameters.
        let at = |name: TokenStream| if generic { quote!(Self::#name) } else { name };
        let all_probed = at(quote!(__PROBED));
        let mut methods = Vec::new();
        let mut funcs = Vec::with_capacity(self.tree.funcs.len());
        let mut identities: Vec<TokenStream> = Vec::new();
        for entry in &self.tree.types {
            identities.push(match entry {
                TypeEntry::Probe { probe, binding, .. } => {
                    let probe = located(probe, binding.span());
                    quote_spanned!(binding.span()=> #support::identity_of(#probe))
                }
                TypeEntry::Written(_) | TypeEntry::Number(_) => quote!(0),
            });
        }
        for entry in &self.tree.funcs {
            funcs.push(match entry {
                FuncEntry::Path { probe, path } => {
                    let at = methods.len();
                    let index = syn::Index::from(at);
                    let (bare, arguments) = without_arguments(path);
                    let arguments = arguments.map(|arguments| quote!(::<#arguments _>));
                    let place = probe.span();
                    identities.push(quote!(__calls.#index.1));
                    methods.push(quote_spanned! {place=> {
                        let () = <#bare as #support::Func>::IS;
                        <#bare>::__callee_of #arguments (#probe)
                    }});
                    quote!(#all_probed.1[#at])
                }
                FuncEntry::OfType { result, ty, name } => {
                    let (number, at) = (methods::number(name), methods.len());
                    let result = located(result, name.span());
                    let index = syn::Index::from(at);
                    identities.push(quote!(__calls.#index.1));
                    methods.push(quote_spanned! {ty.span()=>
                        #support::function_of::<#number, #ty, _, _>(#result)
                    });
                    quote!(#all_probed.1[#at])
                }
                FuncEntry::Method { probe, result, name } => {
                    let (number, at) = (methods::number(name), methods.len());
                    let (probe, result) =
                        (located(probe, name.span()), located(result, name.span()));
                    // The receiver's type is among the types.
                    identities.push(quote!(0));
                    methods.push(quote_spanned! {name.span()=>
                        (#support::method_of::<#number, _, _>(#probe, #result), 0_u128)
                    });
                    quote!(#all_probed.1[#at])
                }
            });
        }
        let numbers = (0..methods.len()).map(syn::Index::from);
        let (method_count, identity_count) = (methods.len(), identities.len());
        let consts = self
            .tree
            .consts
            .iter()
            .map(|path| quote_spanned!(path.span()=> || #private::constant(#path)));
        // No function can stand in a pattern: so the paths are those of this crate's struct.
        let proofs =
            self.tree
                .regions
                .iter()
                .map(|path| quote!(let _ = |#path(_): #private::dsl::stream_parallel<fn()>| {};))
                .chain(self.tree.grids.iter().map(|path| {
                    let grid = quote!(#private::dsl::block_for<::core::primitive::usize, fn(#private::dsl::Block)>);
                    quote!(let _ = |#path(..): #grid| {};)
                }))
                .chain(self.tree.spaces.iter().map(
                    |path| quote!(let _ = |#path(..): #private::dsl::ndrange<[::core::primitive::usize; 1]>| {};),
                ))
                // These are functions; but two functions are of one type only where they are the same.
                .chain(self.tree.atomics.iter().map(|(name, path)| {
                    let (path, _) = without_arguments(path);
                    quote_spanned! {name.span()=>
                        let _ = || #support::same_function(#private::dsl::#name::<i32>, #path);
                    }
                }))
                .chain(
                    self.tree
                        .halves
                        .iter()
                        .map(|half| quote_spanned!(half.span()=> let _ = |half: #half| -> #private::f16 { half };)),
                );
        let count = self.tree.types.len();
        let parameters = self.signature.params.len();
        let bytes = proc_macro2::Literal::byte_string(&self.bytes);
        let inputs = &self.item.sig.inputs;
        let output = &self.item.sig.output;
        let output = match (output, self.kind) {
            (syn::ReturnType::Default, _) => quote!(-> ()),
            (output, _) => quote!(#output),
        };
        let (probed, in_scope) = (&self.probed, in_scope(support));
        let (types_found, params_found) = (at(quote!(__TYPES)), at(quote!(__PARAMS)));
        let constants = quote! {
            const __PROBED: (
                [#private::ir::types::Type; #count],
                [fn() -> #support::Callee; #method_count],
                [::core::primitive::u128; #identity_count],
            ) = {
                #in_scope
                #(let #probes = &#support::Probe::new();)*
                #[allow(unused_unsafe, unused_variables, unused_assignments, unused_qualifications, clippy::no_effect, clippy::unit_arg, clippy::unnecessary_operation)]
                let _ = |#inputs| #output #probed;
                #(#proofs)*
                let __calls = (#(#methods,)*);
                ([#(#types),*], [#(__calls.#numbers.0),*], [#(#identities),*])
            };
            const __IDENTITIES: [::core::primitive::u128; #identity_count] = #all_probed.2;
            const __TYPES: [#private::ir::types::Type; #count] = #all_probed.0;
            const __PARAMS: [#private::ir::types::ParamType; #parameters] = [#(#kinds),*];
        };
        let source = quote! {
            #frontend::Source {
                file: ::core::file!(),
                tree: #bytes,
                params: || #params_found.to_vec(),
                types: || #types_found.to_vec(),
                funcs: &[#(#funcs),*],
                consts: &[#(#consts),*],
            }
        };
        if !generic {
            return quote! {
                #constants
                const __OK: ::core::primitive::bool = { let _ = (__TYPES, __PARAMS); true };
                static __SOURCE: #frontend::Source = #source;
            };
        }
        let (item, of) = (self.generics.carrier_item(), self.generics.carrier());
        let (declared, bounds) = (self.generics.declared(), self.generics.bounds());
        let ungated = ungated();
        quote! {
            #item
            impl<#declared> #of #bounds {
                #constants
                const __SOURCE: &'static #frontend::Source = &#source;
            }
            #ungated
        }
    }
}

/// A name of the emitted code, which errors show as being there.
fn located(name: &Ident, at: Span) -> Ident {
    let mut name = name.clone();
    name.set_span(name.span().located_at(at));
    name
}

/// What stands for the gate in a generic function: no gate can hang on what a parameter decides. So what is
/// wrong with its body may be said twice.
pub(crate) fn ungated() -> TokenStream {
    quote!(
        const __OK: ::core::primitive::bool = true;
    )
}

/// A path without the generic arguments of its last segment, and these, each followed by a comma.
pub(crate) fn without_arguments(path: &syn::ExprPath) -> (syn::ExprPath, Option<TokenStream>) {
    let mut bare = path.clone();
    let last = bare.path.segments.last_mut().map(|last| std::mem::take(&mut last.arguments));
    let arguments = match last {
        Some(syn::PathArguments::AngleBracketed(written)) => {
            let arguments = written.args.into_iter();
            Some(arguments.map(|argument| quote!(#argument,)).collect())
        }
        _ => None,
    };
    (bare, arguments)
}

/// What the author's tokens have in scope beside what they stand in.
pub(crate) fn in_scope(support: &TokenStream) -> TokenStream {
    quote! {
        #[allow(unused_imports)]
        use #support::in_scope::*;
    }
}

/// Silences what rustc already says of the probed copy, where the author's lint levels hold. Unused
/// names stay: in that copy, the probes use them all.
pub(crate) fn quiet() -> TokenStream {
    quote! {
        #[allow(
            deprecated, nonstandard_style, path_statements, trivial_casts, trivial_numeric_casts,
            unreachable_code, unused_braces, unused_comparisons, unused_labels, unused_must_use,
            unused_mut, unused_parens, unused_qualifications, unused_unsafe, clippy::all,
            clippy::pedantic
        )]
    }
}
