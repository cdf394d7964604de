//! Expressions.

use proc_macro2::{Delimiter, Group, Ident, Span};
use quadrants_frontend::syntax::{
    AtomicOp, BinaryOp, Block, Construct, Expr, ExprKind, LiteralKind, LogicOp, RegionArgument,
    TypeIx, UnaryOp,
};
use quote::{ToTokens, quote_spanned};
use syn::{BinOp, Lit, UnOp};

use super::{FuncEntry, Tree, is_grid, text_of};
use crate::{
    sites::{self, Site},
    spans,
};

impl Tree {
    pub(super) fn expr(&mut self, expr: &mut syn::Expr) -> Expr {
        let span = self.spans.of(expr);
        Expr { kind: self.expr_kind(expr), span }
    }

    fn boxed(&mut self, expr: &mut syn::Expr) -> Box<Expr> {
        Box::new(self.expr(expr))
    }

    fn expr_kind(&mut self, expr: &mut syn::Expr) -> ExprKind {
        use syn::Expr as E;
        let unsupported = match expr {
            E::Paren(paren) => return self.expr_kind(&mut paren.expr),
            E::Group(group) => return self.expr_kind(&mut group.expr),
            E::Lit(lit) => return literal(&lit.lit),
            E::Path(path) => return self.path(path),
            E::Unary(unary) => match unary.op {
                UnOp::Neg(_) => {
                    return ExprKind::Unary {
                        op: UnaryOp::Neg,
                        value: self.boxed(&mut unary.expr),
                    };
                }
                UnOp::Not(_) => {
                    return ExprKind::Unary {
                        op: UnaryOp::Not,
                        value: self.boxed(&mut unary.expr),
                    };
                }
                _ => Construct::Reference,
            },
            E::Binary(binary) => {
                let logic = match binary.op {
                    BinOp::And(_) => Some(LogicOp::And),
                    BinOp::Or(_) => Some(LogicOp::Or),
                    _ => None,
                };
                if let Some(op) = logic {
                    let (lhs, rhs) = (self.boxed(&mut binary.left), self.boxed(&mut binary.right));
                    return ExprKind::Logic { op, lhs, rhs };
                }
                match operator(&binary.op) {
                    Some(op) => {
                        let (lhs, rhs) =
                            (self.boxed(&mut binary.left), self.boxed(&mut binary.right));
                        return ExprKind::Binary { op, lhs, rhs };
                    }
                    None => Construct::Other("an assignment used as a value".to_owned()),
                }
            }
            E::Cast(cast) => match &*cast.ty {
                syn::Type::Infer(_) => Construct::InferredCast,
                ty => {
                    let ty = self.written(ty);
                    return ExprKind::Cast { value: self.boxed(&mut cast.expr), ty };
                }
            },
            E::If(branch) => return self.branch(branch),
            E::Block(block) if block.label.is_none() => {
                return ExprKind::Block(self.block(&mut block.block));
            }
            E::Loop(each) if super::loops::gives_value(each) => return self.loop_value(expr),
            E::Unsafe(block) => return ExprKind::Unsafe(self.block(&mut block.block)),
            E::Index(index) => return self.index(index),
            E::MethodCall(_) => return self.method(expr),
            E::Call(_) => return self.call_expr(expr),
            E::Match(each) => return self.match_expr(each),
            E::Let(_) => Construct::LetCondition,
            E::Closure(_) => Construct::Closure,
            E::Array(_) | E::Tuple(_) | E::Repeat(_) | E::Struct(_) | E::Field(_) => {
                return self.aggregate(expr);
            }
            E::Reference(_) | E::RawAddr(_) => Construct::Reference,
            E::Range(_) => Construct::Range,
            E::Try(_) => Construct::Try,
            E::Async(_) | E::Await(_) | E::Const(_) | E::TryBlock(_) | E::Block(_) => {
                Construct::BlockKind
            }
            E::Macro(call) => Construct::Macro(text_of(&call.mac.path)),
            other => Construct::Other(shortened(other)),
        };
        ExprKind::Unsupported(unsupported)
    }

    fn path(&mut self, path: &syn::ExprPath) -> ExprKind {
        if let Some(name) = name_of(path)
            && self.is_bound(name)
        {
            return ExprKind::Name(name.to_string());
        }
        ExprKind::Const(entry(&mut self.consts, path))
    }

    fn branch(&mut self, branch: &mut syn::ExprIf) -> ExprKind {
        let cond = self.boxed(&mut branch.cond);
        let then = self.block(&mut branch.then_branch);
        let otherwise = branch.else_branch.as_mut().map(|(_, otherwise)| match &mut **otherwise {
            syn::Expr::Block(block) => self.block(&mut block.block),
            other => Block { stmts: Vec::new(), value: Some(self.boxed(other)) },
        });
        ExprKind::If { cond, then, otherwise }
    }

    fn index(&mut self, index: &mut syn::ExprIndex) -> ExprKind {
        if let Some(base) = self.shape_of(&index.expr) {
            return ExprKind::Extent { base, axis: self.boxed(&mut index.index) };
        }
        match self.tensor(&index.expr) {
            Some(base) => ExprKind::Index { base, index: self.indices(&mut index.index) },
            None => {
                let value = self.boxed(&mut index.expr);
                ExprKind::Element { value, index: self.indices(&mut index.index) }
            }
        }
    }

    fn indices(&mut self, index: &mut syn::Expr) -> Vec<Expr> {
        match index {
            syn::Expr::Array(array) => array.elems.iter_mut().map(|e| self.expr(e)).collect(),
            other => vec![self.expr(other)],
        }
    }

    fn method(&mut self, expr: &mut syn::Expr) -> ExprKind {
        let syn::Expr::MethodCall(call) = expr else {
            return ExprKind::Unsupported(Construct::Other(shortened(expr)));
        };
        let name = call.method.to_string();
        if call.args.is_empty() {
            match (name.as_str(), self.tensor(&call.receiver)) {
                ("len", Some(base)) if self.is_view(&base) => return ExprKind::Len { base },
                ("shape", _) => return ExprKind::Unsupported(Construct::Shape),
                _ => {}
            }
        }
        if let Some(phase) = self.phase(call) {
            return phase;
        }
        if super::exchange_of(call).is_some() {
            return ExprKind::Unsupported(Construct::Exchange(name));
        }
        if super::blocks::is_shared(&call.method) {
            return ExprKind::Unsupported(Construct::Shared);
        }
        if let Some(index) = self.index_in_grid(call) {
            return index;
        }
        let of_block = self
            .tensor(&call.receiver)
            .is_some_and(|name| self.blocks.iter().any(|(block, _)| *block == name));
        let is_place = super::parts::is_place(&call.receiver);
        let receiver_tree = self.expr(&mut call.receiver);
        let args: Vec<Expr> = call.args.iter_mut().map(|arg| self.argument(arg)).collect();
        if let Some(Conversion::To(scalar)) = conversion(&name)
            && args.is_empty()
        {
            let scalar = Ident::new(scalar, call.method.span());
            // A cast is no hint for the literals in a receiver.
            let receiver_tree = if is_place {
                receiver_tree
            } else {
                // As an argument it needs no parentheses, and rustc would say so.
                *call.receiver = crate::body::unparenthesized(&call.receiver).clone();
                let receiver = self.passed(&mut call.receiver);
                self.typed(receiver_tree, receiver)
            };
            let ty = self.written(&syn::parse_quote!(::core::primitive::#scalar));
            return ExprKind::Cast { value: Box::new(receiver_tree), ty };
        }
        if of_block {
            let receiver = Box::new(receiver_tree);
            return ExprKind::Method { receiver, name, args, callee: None };
        }
        self.method_of_value(expr, receiver_tree, args)
    }

    /// The value of an expression that contains a call, with that call's kind.
    fn call_expr(&mut self, expr: &mut syn::Expr) -> ExprKind {
        let syn::Expr::Call(call) = expr else { return self.expr_kind(expr) };
        match &*call.func {
            syn::Expr::Path(path) if is_of_type(path) => self.made(expr),
            _ => self.call(call),
        }
    }

    fn call(&mut self, call: &mut syn::ExprCall) -> ExprKind {
        let path = match &*call.func {
            syn::Expr::Path(path) => path.clone(),
            other => return ExprKind::Unsupported(Construct::Other(shortened(other))),
        };
        let last = path.path.segments.last().map(|s| s.ident.to_string()).unwrap_or_default();
        if last == "stream_parallel" || is_block(call) {
            self.regions.push(path);
            return ExprKind::StreamParallel(self.region(call));
        }
        if last == "block_for" || is_grid(call) {
            self.grids.push(path);
            return self.block_for(call);
        }
        if let Some(op) = atomic(&last) {
            let name = Ident::new(&last, spans::last(&path));
            self.atomics.push((name, path));
            return self.atomic(op, call);
        }
        if last == "ndrange" {
            return ExprKind::Unsupported(Construct::Ndrange);
        }
        if is_scalar_method(&path) {
            let mut own = path.path.clone();
            own.segments.pop();
            own.segments.pop_punct();
            if own.segments.last().is_some_and(|last| last.ident == "f16") {
                self.halves.push(own.clone());
            }
            let mut args = call.args.iter_mut();
            if args.len() == 1 && (last == "from" || conversion(&last).is_some()) {
                let is_half = own.segments.last().is_some_and(|last| last.ident == "f16");
                if is_half && !is_of_half(&last) {
                    return ExprKind::Unsupported(Construct::Associated(last));
                }
                let ty = self.written(&syn::parse_quote!(#own));
                let arg = args.next().expect("counted");
                let is_place = super::parts::is_place(arg);
                let value = self.expr(arg);
                // The argument of `from` is of any type; the probe knows which.
                let value = if conversion(&last).is_none() && !is_place {
                    let given = self.passed(arg);
                    self.typed(value, given)
                } else {
                    value
                };
                return match conversion(&last) {
                    Some(Conversion::From(scalar)) => self.converted(scalar, value, ty),
                    Some(Conversion::To(scalar)) => {
                        let value = Box::new(self.typed(value, ty));
                        let scalar = Ident::new(scalar, Span::call_site());
                        let ty = self.written(&syn::parse_quote!(::core::primitive::#scalar));
                        ExprKind::Cast { value, ty }
                    }
                    // Lossless, as rustc sees to: what `as` does.
                    None => ExprKind::Cast { value: Box::new(value), ty },
                };
            }
            if let Some(receiver) = args.next() {
                let receiver = self.expr(receiver);
                let of = own.segments.last().map(|last| last.ident.to_string()).unwrap_or_default();
                let ty = match (&*last, &*of) {
                    ("from_bits", "f16") => syn::parse_quote!(::core::primitive::u16),
                    ("from_bits", "f32") => syn::parse_quote!(::core::primitive::u32),
                    ("from_bits", _) => syn::parse_quote!(::core::primitive::u64),
                    _ => syn::parse_quote!(#own),
                };
                let ty = self.written(&ty);
                let receiver = Box::new(self.typed(receiver, ty));
                let args = args.map(|arg| self.expr(arg)).collect();
                return ExprKind::Method { receiver, name: last, args, callee: None };
            }
        }
        let site = sites::take(&mut call.attrs);
        self.sites.put(site, Site::Call(self.funcs.len()));
        let func = self.func(&mut call.func, path);
        let is_shared = |arg: &syn::Expr| {
            matches!(arg, syn::Expr::Reference(syn::ExprReference { mutability: None, .. }))
        };
        let shared = call.args.iter().take(64).enumerate();
        let shared = shared.fold(0, |bits, (at, arg)| bits | u64::from(is_shared(arg)) << at);
        let args = call.args.iter_mut().map(|arg| self.argument(arg)).collect();
        ExprKind::Call { func, args, on_value: false, shared }
    }

    /// `value as scalar as ty`, of which the first says what a literal is.
    pub(super) fn converted(&mut self, scalar: &str, value: Expr, ty: TypeIx) -> ExprKind {
        let scalar = Ident::new(scalar, Span::call_site());
        let from = self.written(&syn::parse_quote!(::core::primitive::#scalar));
        let span = value.span;
        // A cast is no hint for the literals in a function's argument, which has this type.
        let value = match value.kind {
            ExprKind::Name(_) | ExprKind::Index { .. } | ExprKind::Field { .. } => value,
            _ => self.typed(value, from),
        };
        let kind = ExprKind::Cast { value: Box::new(value), ty: from };
        ExprKind::Cast { value: Box::new(Expr { kind, span }), ty }
    }

    /// Lets a func pass through a probe, which so learns its generic arguments.
    fn func(&mut self, callee: &mut syn::Expr, path: syn::ExprPath) -> u32 {
        let func = self.funcs.len() as u32;
        // What is wrong with the call, rustc says of the author's tokens: so all of these are as theirs.
        let (first, last) = (spans::first(&path), spans::last(&path));
        let probe = Ident::new(&format!("__func{func}"), first);
        let mut passed = Group::new(Delimiter::Parenthesis, path.to_token_stream());
        passed.set_span(last);
        *callee = syn::Expr::Verbatim(quote_spanned!(first=> #probe.pass #passed));
        self.funcs.push(FuncEntry::Path { probe, path });
        func
    }

    /// An argument of a func: also a tensor, however it is passed.
    pub(super) fn argument(&mut self, arg: &mut syn::Expr) -> Expr {
        let span = self.spans.of(arg);
        match self.tensor(arg) {
            Some(name) => Expr { kind: ExprKind::Name(name), span },
            None => self.expr(arg),
        }
    }

    fn region(&mut self, call: &mut syn::ExprCall) -> RegionArgument {
        let count = call.args.len();
        match call.args.first_mut() {
            Some(syn::Expr::Closure(closure)) if count == 1 => {
                let params = closure.inputs.len() as u32;
                RegionArgument::Closure { params, body: self.closure_body(closure) }
            }
            _ => RegionArgument::Other,
        }
    }

    pub(super) fn closure_body(&mut self, closure: &mut syn::ExprClosure) -> Block {
        match &mut *closure.body {
            syn::Expr::Block(block) if block.label.is_none() => self.block(&mut block.block),
            other => {
                let mut block = syn::Block {
                    brace_token: syn::token::Brace::default(),
                    stmts: vec![syn::Stmt::Expr(other.clone(), None)],
                };
                let tree = self.block(&mut block);
                *other = syn::parse_quote!(#block);
                tree
            }
        }
    }

    fn atomic(&mut self, op: AtomicOp, call: &mut syn::ExprCall) -> ExprKind {
        let mut args = call.args.iter_mut();
        let (Some(place), Some(value), None) = (args.next(), args.next(), args.next()) else {
            return ExprKind::Unsupported(Construct::AtomicPlace);
        };
        let Some(element) = element(place) else {
            return ExprKind::Unsupported(Construct::AtomicPlace);
        };
        let place = self.boxed(element);
        if !is_element(&place) {
            return ExprKind::Unsupported(Construct::AtomicPlace);
        }
        ExprKind::Atomic { op, place, value: self.boxed(value) }
    }

    /// The tensor that an expression names, also that of a struct of tensors, with any `&`, `&mut`, `*` and parentheses around it.
    pub(super) fn tensor(&self, expr: &syn::Expr) -> Option<String> {
        match expr {
            syn::Expr::Paren(paren) => self.tensor(&paren.expr),
            syn::Expr::Group(group) => self.tensor(&group.expr),
            syn::Expr::Reference(reference) => self.tensor(&reference.expr),
            syn::Expr::Unary(syn::ExprUnary { op: UnOp::Deref(_), expr, .. }) => self.tensor(expr),
            syn::Expr::Path(path) => {
                name_of(path).filter(|name| self.is_bound(name)).map(Ident::to_string)
            }
            syn::Expr::Field(field) => match (&*field.base, &field.member) {
                (syn::Expr::Path(group), syn::Member::Named(tensor)) => name_of(group)
                    .filter(|name| self.is_by_reference(name))
                    .map(|group| format!("{group}.{tensor}")),
                _ => None,
            },
            _ => None,
        }
    }

    /// The tensor whose `shape()` an expression is.
    pub(super) fn shape_of(&self, expr: &syn::Expr) -> Option<String> {
        match expr {
            syn::Expr::Paren(paren) => self.shape_of(&paren.expr),
            syn::Expr::Group(group) => self.shape_of(&group.expr),
            syn::Expr::MethodCall(call) if call.method == "shape" && call.args.is_empty() => {
                self.tensor(&call.receiver)
            }
            _ => None,
        }
    }
}

/// Whether a call is by its shape that of `stream_parallel`, whatever it is called here.
pub(crate) fn is_block(call: &syn::ExprCall) -> bool {
    matches!(call.args.first(), Some(syn::Expr::Closure(_))) && call.args.len() == 1
}

/// The element, or the part of one, that `&mut t[i]` is about.
pub(crate) fn element(place: &mut syn::Expr) -> Option<&mut syn::Expr> {
    match place {
        syn::Expr::Paren(paren) => element(&mut paren.expr),
        syn::Expr::Group(group) => element(&mut group.expr),
        syn::Expr::Reference(syn::ExprReference { mutability: Some(_), expr, .. }) => {
            let mut inner = &mut **expr;
            while let syn::Expr::Paren(paren) = inner {
                inner = &mut paren.expr;
            }
            matches!(inner, syn::Expr::Index(_) | syn::Expr::Field(_)).then_some(inner)
        }
        _ => None,
    }
}

/// Whether a place is an element of something that has a name, or a part of one.
fn is_element(place: &Expr) -> bool {
    match &place.kind {
        ExprKind::Index { .. } => true,
        ExprKind::Element { value, .. } | ExprKind::Field { value, .. } => is_element(value),
        _ => false,
    }
}

pub(crate) fn atomic(name: &str) -> Option<AtomicOp> {
    match name {
        "atomic_add" => Some(AtomicOp::Add),
        "atomic_min" => Some(AtomicOp::Min),
        "atomic_max" => Some(AtomicOp::Max),
        _ => None,
    }
}

/// Whether an operator is that of a compound assignment.
pub(crate) fn is_compound(op: &BinOp) -> bool {
    compound(op).is_some()
}

/// The operation of a compound assignment.
pub(super) fn compound(op: &BinOp) -> Option<BinaryOp> {
    Some(match op {
        BinOp::AddAssign(_) => BinaryOp::Add,
        BinOp::SubAssign(_) => BinaryOp::Sub,
        BinOp::MulAssign(_) => BinaryOp::Mul,
        BinOp::DivAssign(_) => BinaryOp::Div,
        BinOp::RemAssign(_) => BinaryOp::Rem,
        BinOp::BitXorAssign(_) => BinaryOp::Xor,
        BinOp::BitAndAssign(_) => BinaryOp::And,
        BinOp::BitOrAssign(_) => BinaryOp::Or,
        BinOp::ShlAssign(_) => BinaryOp::Shl,
        BinOp::ShrAssign(_) => BinaryOp::Shr,
        _ => return None,
    })
}

fn operator(op: &BinOp) -> Option<BinaryOp> {
    Some(match op {
        BinOp::Add(_) => BinaryOp::Add,
        BinOp::Sub(_) => BinaryOp::Sub,
        BinOp::Mul(_) => BinaryOp::Mul,
        BinOp::Div(_) => BinaryOp::Div,
        BinOp::Rem(_) => BinaryOp::Rem,
        BinOp::BitXor(_) => BinaryOp::Xor,
        BinOp::BitAnd(_) => BinaryOp::And,
        BinOp::BitOr(_) => BinaryOp::Or,
        BinOp::Shl(_) => BinaryOp::Shl,
        BinOp::Shr(_) => BinaryOp::Shr,
        BinOp::Eq(_) => BinaryOp::Eq,
        BinOp::Ne(_) => BinaryOp::Ne,
        BinOp::Lt(_) => BinaryOp::Lt,
        BinOp::Le(_) => BinaryOp::Le,
        BinOp::Gt(_) => BinaryOp::Gt,
        BinOp::Ge(_) => BinaryOp::Ge,
        _ => return None,
    })
}

fn literal(lit: &Lit) -> ExprKind {
    let (text, suffix) = match lit {
        Lit::Bool(value) => {
            let text = value.value.to_string();
            return ExprKind::Literal { kind: LiteralKind::Bool, text, suffix: None };
        }
        Lit::Int(int) => (int.to_string(), int.suffix()),
        Lit::Float(float) => (float.to_string(), float.suffix()),
        _ => return ExprKind::Unsupported(Construct::Text),
    };
    let digits = text.strip_suffix(suffix).unwrap_or(&text);
    // Only a pattern's literal has its sign in it.
    if let Some(magnitude) = digits.strip_prefix('-') {
        let magnitude: Lit = syn::parse_str(&format!("{magnitude}{suffix}")).expect("digits");
        let value = Box::new(Expr { kind: literal(&magnitude), span: Default::default() });
        return ExprKind::Unary { op: UnaryOp::Neg, value };
    }
    let hex = digits.starts_with("0x") || digits.starts_with("0X");
    let float = !hex && digits.contains(['.', 'e', 'E']);
    ExprKind::Literal {
        kind: if float { LiteralKind::Float } else { LiteralKind::Int },
        text: digits.to_owned(),
        suffix: (!suffix.is_empty()).then(|| suffix.to_owned()),
    }
}

/// The name that a path without segments and arguments is.
pub(crate) fn name_of(path: &syn::ExprPath) -> Option<&Ident> {
    if path.qself.is_none() { path.path.get_ident() } else { None }
}

/// Whether a call's path is a tuple struct, `Vector(…)`, or a function of a type, `Vector::splat(…)`: types are
/// written with a capital.
pub(crate) fn is_of_type(path: &syn::ExprPath) -> bool {
    let mut last = path.path.segments.iter().rev().take(2);
    last.any(|segment| is_type_name(&segment.ident.to_string()))
}

/// Whether a name is written as types are.
pub(crate) fn is_type_name(name: &str) -> bool {
    name.starts_with(|first: char| first.is_uppercase())
}

/// The scalar types by name.
pub(crate) const SCALARS: [&str; 13] =
    ["f16", "f32", "f64", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "usize", "bool"];

/// A conversion between numbers, by a method of `Number`.
pub(crate) enum Conversion {
    /// `T::from_f32(x)`: from this type.
    From(&'static str),
    /// `x.to_f32()`: to this type.
    To(&'static str),
}

/// Whether `f16` has a conversion of this name, so that no trait in scope can provide one.
fn is_of_half(name: &str) -> bool {
    matches!(name, "from" | "from_f32" | "from_f64" | "to_f32" | "to_f64")
}

/// The conversion that a method of this name is.
pub(crate) fn conversion(name: &str) -> Option<Conversion> {
    let known = |ty: &str| {
        let types = ["f32", "f64", "i32", "i64", "u32", "u64", "usize"];
        types.into_iter().find(|known| *known == ty)
    };
    if let Some(ty) = name.strip_prefix("from_") {
        return known(ty).map(Conversion::From);
    }
    name.strip_prefix("to_").and_then(known).map(Conversion::To)
}

/// Whether a path is `f32::sqrt` or the like, as [`reading`](crate::hygiene) leaves it: from `::core` on, but for
/// `f16`, which is no type of Rust's own.
pub(crate) fn is_scalar_method(path: &syn::ExprPath) -> bool {
    let segments = &path.path.segments;
    let Some(scalar) = segments.iter().rev().nth(1) else { return false };
    let ours = path.path.leading_colon.is_some()
        && segments.len() == 4
        && segments[0].ident == "core"
        && segments[1].ident == "primitive";
    let known = SCALARS.iter().any(|known| scalar.ident == known);
    path.qself.is_none() && known && (ours || scalar.ident == "f16")
}

/// The position of a path in a table, where it is put if it is new.
fn entry(table: &mut Vec<syn::ExprPath>, path: &syn::ExprPath) -> u32 {
    let text = path.to_token_stream().to_string();
    let known = table.iter().position(|entry| entry.to_token_stream().to_string() == text);
    known.unwrap_or_else(|| {
        table.push(path.clone());
        table.len() - 1
    }) as u32
}

fn shortened(tokens: &impl ToTokens) -> String {
    let text = text_of(tokens);
    let line = text.lines().next().unwrap_or_default();
    line.chars().take(40).collect()
}
