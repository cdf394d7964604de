//! From the author's tokens to the syntax tree, putting probes into those tokens on the way.
//!
//! The tree numbers the types it needs; a probe after each binding tells rustc which type is meant by a
//! number. Doing both in one walk keeps them in step.

mod blocks;
mod expr;
mod loops;
mod matches;
mod parts;

pub(crate) use blocks::{exchange_of, is_grid, is_shared, phase_of, rank};
pub(crate) use expr::{
    Conversion, SCALARS, atomic, conversion, element, is_block, is_compound, is_of_type,
    is_scalar_method, is_type_name, name_of,
};
pub(crate) use loops::{Chain, chain, is_ndrange, loop_options};
pub(crate) use matches::is_constant;

use proc_macro2::{Delimiter, Ident, Span, TokenStream, TokenTree};
use quadrants_frontend::syntax::{Block, Construct, ExprKind, Stmt, StmtKind, TypeIx};
use quote::{ToTokens, quote};
use syn::{Expr, Local, Pat, PatIdent, visit::Visit};

use crate::{
    sites::{self, Site, Sites},
    spans::{self, Position, Spans},
};

/// The walk's state, and what it found.
#[derive(Default)]
pub(crate) struct Tree {
    pub(crate) spans: Spans,
    /// What the tree's type numbers stand for.
    pub(crate) types: Vec<TypeEntry>,
    /// The paths that are neither parameter nor local.
    pub(crate) consts: Vec<syn::ExprPath>,
    /// The funcs called.
    pub(crate) funcs: Vec<FuncEntry>,
    /// The paths by which `stream_parallel` was called.
    pub(crate) regions: Vec<syn::ExprPath>,
    /// The paths by which `block_for` was called.
    pub(crate) grids: Vec<syn::ExprPath>,
    /// The paths by which `ndrange` was called.
    pub(crate) spaces: Vec<syn::ExprPath>,
    /// The atomics by name, and the paths by which they were called.
    pub(crate) atomics: Vec<(Ident, syn::ExprPath)>,
    /// The paths by which `f16` was named for a function of its own.
    pub(crate) halves: Vec<syn::Path>,
    /// The sites at which the types are the ones that the IR has.
    pub(crate) sites: Sites,
    scopes: Vec<Vec<String>>,
    /// The names in scope that are of shapes and shared arrays, by their place among all names in scope.
    views: Vec<(String, usize)>,
    /// The names in scope that are constants of the body, and how many scopes are around each.
    constants: Vec<(String, usize)>,
    /// The parameters by reference.
    pub(crate) references: Vec<String>,
    /// The names of blocks of threads, and of those in a grid of several dimensions how many it has.
    blocks: Vec<(String, Option<usize>)>,
}

/// A func that is called.
pub(crate) enum FuncEntry {
    /// By its path; the probe has seen the function itself, with its generic arguments.
    Path { probe: Ident, path: syn::ExprPath },
    /// A method of the type that a probe has seen; another has seen its value.
    Method { probe: Ident, result: Ident, name: Ident },
    /// A function of a type, by the type's path. A probe has seen its value.
    OfType { result: Ident, ty: syn::Path, name: Ident },
}

/// How rustc is asked for a type.
pub(crate) enum TypeEntry {
    /// By a probe of this name, which has seen a binding of that name.
    Probe {
        probe: Ident,
        binding: Ident,
        /// Whether nothing but a vector or matrix will do.
        linear: bool,
    },
    /// As written.
    Written(Box<syn::Type>),
    /// By a path, which is a number's.
    Number(syn::Path),
}

impl Tree {
    /// Numbers a type that stands in the source.
    pub(crate) fn written(&mut self, ty: &syn::Type) -> TypeIx {
        self.add_type(TypeEntry::Written(Box::new(ty.clone())))
    }

    /// Makes a name known from here to the end of the scope.
    pub(crate) fn bind(&mut self, name: &Ident) {
        if self.scopes.is_empty() {
            self.scopes.push(Vec::new());
        }
        let place = self.scopes.iter().map(Vec::len).sum();
        self.views.retain(|(_, view)| *view < place);
        self.scopes.last_mut().expect("pushed").push(name.to_string());
    }

    /// As [`bind`](Self::bind), of a shape or a shared array.
    fn bind_view(&mut self, name: &Ident) {
        self.bind(name);
        let place = self.scopes.iter().map(Vec::len).sum::<usize>() - 1;
        self.views.push((name.to_string(), place));
    }

    /// Whether a name is of a tensor, a shape or a shared array, whose length the IR knows by that name. A field of a
    /// struct of tensors is written with that struct.
    pub(crate) fn is_view(&self, name: &str) -> bool {
        if name.contains('.') {
            return true;
        }
        let place = self.scopes.iter().flatten().enumerate().filter(|(_, bound)| *bound == name);
        place.last().is_some_and(|(place, _)| {
            self.views.iter().any(|(_, view)| *view == place) || self.is_reference(name)
        })
    }

    /// A value that is of this type, as rustc has it: of a literal the IR would find another.
    fn typed(
        &mut self,
        value: quadrants_frontend::syntax::Expr,
        ty: TypeIx,
    ) -> quadrants_frontend::syntax::Expr {
        let span = value.span;
        let name = format!("__typed{}", self.types.len());
        let named = quadrants_frontend::syntax::Expr { kind: ExprKind::Name(name.clone()), span };
        let kind = StmtKind::Let { name, mutable: false, ty, value };
        let block = Block { stmts: vec![Stmt { kind, span }], value: Some(Box::new(named)) };
        quadrants_frontend::syntax::Expr { kind: ExprKind::Block(block), span }
    }

    /// A block in a scope of its own.
    pub(crate) fn block(&mut self, block: &mut syn::Block) -> Block {
        self.scopes.push(Vec::new());
        let mut out = Block { stmts: self.constants(block), value: None };
        let count = block.stmts.len();
        for (at, mut stmt) in std::mem::take(&mut block.stmts).into_iter().enumerate() {
            let mut probes = Vec::new();
            let last = at + 1 == count;
            match &mut stmt {
                syn::Stmt::Expr(value, semi @ None) if last && !is_statement(value) => {
                    let tree = self.expr(value);
                    let grid = matches!(tree.kind, ExprKind::BlockFor(_));
                    if grid || matches!(tree.kind, ExprKind::StreamParallel(_)) {
                        // The author may leave out the semicolon that the type of the copy needs.
                        *semi = Some(<syn::Token![;]>::default());
                    }
                    if grid || matches!(tree.kind, ExprKind::Each(_)) {
                        let span = tree.span;
                        out.stmts.push(Stmt { kind: StmtKind::Expr(tree), span });
                    } else {
                        out.value = Some(Box::new(tree));
                    }
                }
                syn::Stmt::Item(syn::Item::Const(_)) => {}
                other => {
                    let stmt = self.stmt(other, &mut probes);
                    out.stmts.push(stmt);
                }
            }
            block.stmts.push(stmt);
            block.stmts.extend(probes);
        }
        self.scopes.pop();
        self.constants.retain(|(_, depth)| *depth <= self.scopes.len());
        out
    }

    /// The constants of a block, which are known in all of it: `let`s to the tree; rustc sees the items, which
    /// no probe may stand in.
    fn constants(&mut self, block: &syn::Block) -> Vec<Stmt> {
        let items = block.stmts.iter().filter_map(|stmt| match stmt {
            syn::Stmt::Item(syn::Item::Const(item)) => Some(item),
            _ => None,
        });
        let items: Vec<_> = items.collect();
        let mut stmts = Vec::with_capacity(items.len());
        for item in items {
            let span = self.spans.of(item);
            let (ty, value) = (self.written(&item.ty), self.expr(&mut item.expr.clone()));
            let name = item.ident.to_string();
            self.bind(&item.ident);
            self.constants.push((name.clone(), self.scopes.len()));
            stmts.push(Stmt { kind: StmtKind::Let { name, mutable: false, ty, value }, span });
        }
        stmts
    }

    fn stmt(&mut self, stmt: &mut syn::Stmt, probes: &mut Vec<syn::Stmt>) -> Stmt {
        let span = match stmt {
            // What a loop reports, it reports from its `for`.
            syn::Stmt::Expr(syn::Expr::ForLoop(each), _) => {
                let attributes = std::mem::take(&mut each.attrs);
                let span = self.spans.of(each);
                each.attrs = attributes;
                span
            }
            _ => self.spans.of(stmt),
        };
        let kind = match stmt {
            syn::Stmt::Local(local) => self.local(local, probes),
            syn::Stmt::Item(_) => StmtKind::Unsupported(Construct::Item),
            syn::Stmt::Macro(call) => self.macro_stmt(&mut call.mac),
            syn::Stmt::Expr(expr, _) => self.expr_stmt(expr),
        };
        Stmt { kind, span }
    }

    fn local(&mut self, local: &mut Local, probes: &mut Vec<syn::Stmt>) -> StmtKind {
        let site = sites::take(&mut local.attrs);
        let Some(init) = &mut local.init else {
            self.bind_all(&local.pat);
            return StmtKind::Unsupported(Construct::LetWithoutValue);
        };
        if init.diverge.is_some() {
            self.bind_all(&local.pat);
            return StmtKind::Unsupported(Construct::LetCondition);
        }
        let pattern = match &local.pat {
            Pat::Type(typed) => &*typed.pat,
            other => other,
        };
        let shape_of = self.shape_of(&init.expr);
        match (pattern, shape_of) {
            (
                Pat::Ident(PatIdent { by_ref: None, subpat: None, ident, mutability, .. }),
                shape_of,
            ) => {
                if let (Some(base), None) = (shape_of, mutability) {
                    self.bind_view(ident);
                    return StmtKind::LetShape { name: ident.to_string(), base };
                }
                if let Some(shared) = self.shared(ident, &mut init.expr) {
                    self.bind_view(ident);
                    return shared;
                }
                if mutability.is_none()
                    && let Some(made) = self.exchange(ident, &mut init.expr, probes)
                {
                    self.bind(ident);
                    return made;
                }
                let value = self.expr(&mut init.expr);
                let (ty, probe) = self.probe(ident, None);
                self.sites.put(site, Site::Type(ty as usize));
                self.bind(ident);
                probes.push(probe);
                let (name, mutable) = (ident.to_string(), mutability.is_some());
                StmtKind::Let { name, mutable, ty, value }
            }
            (Pat::Wild(_), _) => StmtKind::Expr(self.expr(&mut init.expr)),
            (Pat::Slice(slice), Some(base)) => {
                let names: Option<Vec<_>> = slice.elems.iter().map(plain_name).collect();
                self.bind_all(pattern);
                match names {
                    Some(names) => StmtKind::LetExtents {
                        names: names.into_iter().map(|n| n.map(|n| n.to_string())).collect(),
                        base,
                    },
                    None => StmtKind::Unsupported(Construct::Pattern),
                }
            }
            (_, None) => {
                let value = self.expr(&mut init.expr);
                let pattern = pattern.clone();
                let ty = self.passed(&mut init.expr);
                self.sites.put(site, Site::Type(ty as usize));
                match self.taking_apart(&pattern, probes) {
                    Some(pattern) => StmtKind::LetPattern { pattern, value },
                    None => {
                        self.bind_all(&pattern);
                        StmtKind::Unsupported(Construct::Pattern)
                    }
                }
            }
            (other, Some(_)) => {
                self.bind_all(other);
                StmtKind::Unsupported(Construct::Pattern)
            }
        }
    }

    fn macro_stmt(&mut self, call: &mut syn::Macro) -> StmtKind {
        if !call.path.is_ident("assert") {
            let name = call.path.to_token_stream().to_string().replace(' ', "");
            return StmtKind::Unsupported(Construct::Macro(name));
        }
        let Ok(Assert { mut cond, message, is_value }) = call.parse_body() else {
            return StmtKind::Unsupported(Construct::Other(
                "`assert!` takes a condition and at most a text without values".to_owned(),
            ));
        };
        let text = message.as_ref().map_or_else(|| text_of(&cond), syn::LitStr::value);
        let tree = self.expr(&mut cond);
        let format = is_value.then(|| quote!(, "{}"));
        let message = message.map(|message| quote!(#format, #message));
        call.tokens = quote!(#cond #message);
        // The user's crate may have a macro of this name.
        let at = spans::first(&call.path);
        call.path = syn::parse_quote_spanned!(at=> ::core::assert);
        StmtKind::Assert { cond: tree, message: text }
    }

    /// Notes that the type with this number is that of an expression.
    fn typed_at(&mut self, site: Option<usize>, ty: TypeIx) -> TypeIx {
        self.sites.put(site, Site::Type(ty as usize));
        ty
    }

    /// A probe of the type of a binding or of a part of it, and the statement that shows it that.
    fn probe(&mut self, binding: &Ident, part: Option<TokenStream>) -> (TypeIx, syn::Stmt) {
        let probe = Ident::new(&format!("probe{}", self.types.len()), Span::mixed_site());
        let tokens = quote!(#probe.observe(&#binding #part));
        let ty = self.add_type(TypeEntry::Probe { probe, binding: binding.clone(), linear: false });
        (ty, syn::Stmt::Expr(Expr::Verbatim(tokens), Some(<syn::Token![;]>::default())))
    }

    fn add_type(&mut self, entry: TypeEntry) -> TypeIx {
        self.types.push(entry);
        (self.types.len() - 1) as TypeIx
    }

    fn bind_all(&mut self, pattern: &Pat) {
        struct Names<'a>(&'a mut Tree);
        impl Visit<'_> for Names<'_> {
            fn visit_pat_ident(&mut self, pattern: &PatIdent) {
                self.0.bind(&pattern.ident);
            }
        }
        Names(self).visit_pat(pattern);
    }

    /// Whether a name is a parameter by reference. The parameters are the first that are bound.
    fn is_by_reference(&self, name: &Ident) -> bool {
        self.is_reference(&name.to_string())
    }

    fn is_reference(&self, name: &str) -> bool {
        self.references.iter().any(|of| name == of)
            && self.scopes.iter().flatten().filter(|bound| name == *bound).count() == 1
    }

    /// Whether a name is a parameter's or a `let`'s.
    fn is_local(&self, name: &Ident) -> bool {
        let depth = self.scopes.iter().rposition(|names| names.iter().any(|bound| name == bound));
        // A `let` of a constant's name is no Rust.
        depth.is_some_and(|depth| {
            !self.constants.iter().any(|(of, at)| name == of && *at == depth + 1)
        })
    }

    fn is_bound(&self, name: &Ident) -> bool {
        self.scopes.iter().flatten().any(|bound| name == bound)
    }
}

/// What `assert!` is given in a kernel.
pub(crate) struct Assert {
    pub(crate) cond: Expr,
    pub(crate) message: Option<syn::LitStr>,
    /// Whether the message is written as a value of the format `"{}"`.
    pub(crate) is_value: bool,
}

impl syn::parse::Parse for Assert {
    fn parse(input: syn::parse::ParseStream<'_>) -> syn::Result<Self> {
        let cond = input.parse()?;
        let (mut message, mut is_value) = (None, false);
        if input.parse::<Option<syn::Token![,]>>()?.is_some() && !input.is_empty() {
            let text: syn::LitStr = input.parse()?;
            input.parse::<Option<syn::Token![,]>>()?;
            // As this crate writes a text that is no format.
            is_value = text.value() == "{}" && !input.is_empty();
            message = Some(if is_value { input.parse()? } else { text });
        }
        Ok(Self { cond, message, is_value })
    }
}

/// The text of tokens, spaced as the author spaced them, for messages.
pub(crate) fn text_of(tokens: &impl ToTokens) -> String {
    fn put(
        text: &mut String,
        before: &mut Option<Position>,
        (start, end): (Position, Position),
        part: &str,
    ) {
        // A token without extent has no known place.
        if before.is_some_and(|before| before != start || start == end) {
            text.push(' ');
        }
        text.push_str(part);
        *before = Some(end);
    }
    fn all(text: &mut String, end: &mut Option<Position>, tokens: TokenStream) {
        for token in tokens {
            let TokenTree::Group(group) = token else {
                put(text, end, spans::extent(token.span()), &token.to_string());
                continue;
            };
            let (open, close) = match group.delimiter() {
                Delimiter::Parenthesis => ("(", ")"),
                Delimiter::Bracket => ("[", "]"),
                Delimiter::Brace => ("{", "}"),
                Delimiter::None => {
                    all(text, end, group.stream());
                    continue;
                }
            };
            // Parsed groups have one span for both of their delimiters.
            let (start, stop) = spans::extent(group.span());
            put(text, end, (start, (start.0, start.1 + 1)), open);
            all(text, end, group.stream());
            put(text, end, ((stop.0, stop.1.saturating_sub(1)), stop), close);
        }
    }
    let (mut text, mut end) = (String::new(), None);
    all(&mut text, &mut end, sites::without(tokens.to_token_stream()));
    text
}

/// The name of a pattern that is a name, or none for `_`; nothing for other patterns.
fn plain_name(pattern: &Pat) -> Option<Option<Ident>> {
    match pattern {
        Pat::Ident(PatIdent { by_ref: None, subpat: None, ident, .. }) => Some(Some(ident.clone())),
        Pat::Wild(_) => Some(None),
        _ => None,
    }
}

/// Whether an expression at the end of a block is a statement of the tree rather than its value.
fn is_statement(expr: &Expr) -> bool {
    match expr {
        Expr::ForLoop(_)
        | Expr::While(_)
        | Expr::Assign(_)
        | Expr::Break(_)
        | Expr::Continue(_)
        | Expr::Return(_)
        | Expr::Macro(_) => true,
        Expr::Loop(each) => !loops::gives_value(each),
        Expr::Binary(binary) => expr::compound(&binary.op).is_some(),
        _ => false,
    }
}
