//! Expressions.

use proc_macro2::{Delimiter, Group, Ident, Span};
use quadrants_frontend::FILLED;
use quadrants_frontend::syntax::{
    AtomicOp, Block, Construct, Expr, ExprKind, LiteralKind, LogicOp, StreamParallelArgument,
    TypeIx, UnaryOp,
};
use quote::{ToTokens, quote_spanned};
use syn::{BinOp, Lit, UnOp};

use super::{FuncEntry, TreeBuilder, value_block};
use crate::{
    ast::{
        Conversion, atomic_op, binary_op, borrowed_element, callee_value, collective_of,
        compared_value, conversion, ends_in_branch, gives_value, is_assignment, is_block_for,
        is_cfg, is_iterator_chain, is_ndrange, is_of_type, is_scalar_func, is_scalar_method,
        is_shared_array, is_stream_parallel, is_tensor_method, name_of, place_root, split_function,
        unparenthesized,
    },
    marks,
    sites::TypeSite,
    spans,
    text::{depends_on_macro, text_of},
};

impl TreeBuilder {
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
            E::Unary(unary) => {
                let op = match unary.op {
                    UnOp::Neg(_) => UnaryOp::Neg,
                    UnOp::Not(_) => UnaryOp::Not,
                    _ => return ExprKind::Unsupported(Construct::Reference),
                };
                return ExprKind::Unary { op, value: self.boxed(&mut unary.expr) };
            }
            E::Binary(binary) => return self.binary(binary),
            E::Cast(cast) => match &*cast.ty {
                syn::Type::Infer(_) => Construct::InferredCast,
                syn::Type::Path(of) if is_wide(&of.path) => Construct::Format(format!(
                    "kernels have no `{}`; numbers are f16, f32, f64, bool and integers of up to 64 bits",
                    text_of(&of.path)
                )),
                ty => {
                    let ty = self.written_type(ty);
                    let site = marks::take(&mut cast.attrs);
                    let is_branch = ends_in_branch(&cast.expr);
                    let mut value = self.expr(&mut cast.expr);
                    if is_branch {
                        // Parentheses of an argument raise a lint.
                        *cast.expr = unparenthesized(&cast.expr).clone();
                        let from = self.pass(&mut cast.expr);
                        self.put_site(site, from);
                        value = self.typed(value, from);
                    }
                    let is_narrow = is_narrow(&cast.ty);
                    return ExprKind::Cast { value: Box::new(value), ty, is_narrow };
                }
            },
            E::If(branch) => return self.branch(branch),
            E::Block(block) if block.label.is_none() => {
                return ExprKind::Block(self.block(&mut block.block));
            }
            E::Loop(each) if gives_value(each) => return self.loop_value(expr),
            E::Unsafe(block) => return ExprKind::Unsafe(self.block(&mut block.block)),
            E::Index(index) => return self.index(index),
            E::MethodCall(_) => return self.method(expr),
            E::Call(call) => {
                return match &*call.func {
                    E::Path(path)
                        if path.qself.as_ref().is_some_and(|of| of.as_token.is_some()) =>
                    {
                        let text = "call a function of a trait by its type, as in `Type::name(x)`, or as a method";
                        ExprKind::Unsupported(Construct::Format(text.to_owned()))
                    }
                    E::Path(path) if is_scalar_func(path) && is_of_std(&path.path) => {
                        let name = path.path.segments.last().map(|last| last.ident.to_string());
                        ExprKind::Unsupported(Construct::Associated(name.unwrap_or_default()))
                    }
                    E::Path(path) if is_of_type(path) || is_scalar_func(path) => {
                        self.associated_call(expr)
                    }
                    E::Path(path) if is_tensor_method(path) => self.tensor_method(expr),
                    _ => self.call(call),
                };
            }
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
            E::Macro(call) if is_cfg(&call.mac) => {
                return ExprKind::Const(position_of(&mut self.consts, expr.clone()));
            }
            E::Macro(call) => Construct::Macro(text_of(&call.mac.path)),
            other => Construct::Other(shortened(other)),
        };
        ExprKind::Unsupported(unsupported)
    }

    fn binary(&mut self, binary: &mut syn::ExprBinary) -> ExprKind {
        if is_assignment(&binary.op) {
            let construct = Construct::Other("an assignment used as a value".to_owned());
            return ExprKind::Unsupported(construct);
        }
        let (lhs, rhs) = (self.boxed(&mut binary.left), self.boxed(&mut binary.right));
        match (&binary.op, binary_op(&binary.op)) {
            (BinOp::And(_), _) => ExprKind::Logic { op: LogicOp::And, lhs, rhs },
            (BinOp::Or(_), _) => ExprKind::Logic { op: LogicOp::Or, lhs, rhs },
            (_, Some(op)) => ExprKind::Binary { op, lhs, rhs },
            (_, None) => ExprKind::Unsupported(Construct::Other(shortened(binary))),
        }
    }

    fn path(&mut self, path: &syn::ExprPath) -> ExprKind {
        if let Some(name) = name_of(path)
            && self.is_bound(name)
        {
            return ExprKind::Name(name.to_string());
        }
        ExprKind::Const(position_of(&mut self.consts, syn::Expr::Path(path.clone())))
    }

    fn branch(&mut self, branch: &mut syn::ExprIf) -> ExprKind {
        let cond = self.boxed(&mut branch.cond);
        let then = self.block(&mut branch.then_branch);
        let otherwise = branch.else_branch.as_mut().map(|(_, otherwise)| match &mut **otherwise {
            syn::Expr::Block(block) => self.block(&mut block.block),
            other => value_block(self.expr(other)),
        });
        ExprKind::If { cond, then, otherwise }
    }

    fn index(&mut self, index: &mut syn::ExprIndex) -> ExprKind {
        if let Some(message) = self.index_per_dimension(index) {
            return ExprKind::Unsupported(Construct::Format(message));
        }
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

    /// The message for `a[i][j]` of a tensor of several dimensions whose elements are scalars.
    fn index_per_dimension(&self, index: &syn::ExprIndex) -> Option<String> {
        let (mut all, mut of) = (vec![text_of(&index.index)], unparenthesized(&index.expr));
        while let syn::Expr::Index(inner) = of {
            if matches!(*inner.index, syn::Expr::Array(_)) {
                return None;
            }
            all.insert(0, text_of(&inner.index));
            of = unparenthesized(&inner.expr);
        }
        let name = self.tensor(of).filter(|name| self.is_reference(name))?;
        let (_, rank) = self.scalar_tensors.iter().find(|(of, _)| *of == name)?;
        if let [one] = &all[..]
            && *rank > 1
            && self.is_number(&index.index)
        {
            return Some(format!(
                "`{name}` has {rank} dimensions, and this index has one: write `{name}[[{one}, …]]`, with an index per \
                 dimension"
            ));
        }
        (all.len() > 1 && *rank > 1).then(|| {
            let all = all.join(", ");
            format!("`{name}` has {rank} dimensions, of which one index chooses an element: write `{name}[[{all}]]`")
        })
    }

    /// Whether an index is evidently one number.
    fn is_number(&self, index: &syn::Expr) -> bool {
        match unparenthesized(index) {
            syn::Expr::Lit(_) | syn::Expr::Cast(_) | syn::Expr::Binary(_) => true,
            syn::Expr::Path(path) => name_of(path).is_some_and(|name| {
                let binds = |names: &Vec<String>| names.iter().any(|bound| name == bound);
                self.scopes.iter().rposition(binds).is_some_and(|at| self.loop_scopes.contains(&at))
            }),
            _ => false,
        }
    }

    fn indices(&mut self, index: &mut syn::Expr) -> Vec<Expr> {
        match index {
            syn::Expr::Array(array) => array.elems.iter_mut().map(|e| self.expr(e)).collect(),
            syn::Expr::Tuple(tuple) => {
                let text = text_of(&tuple.elems);
                let what = format!("an index is `usize` or `[usize; N]`: write `[[{text}]]`");
                let kind = ExprKind::Unsupported(Construct::Format(what));
                vec![Expr { kind, span: self.spans.of(tuple) }]
            }
            syn::Expr::Range(range) => {
                let what =
                    "kernels have no slices; write a loop: `for k in begin..end { … a[k] … }`"
                        .to_owned();
                let kind = ExprKind::Unsupported(Construct::Format(what));
                vec![Expr { kind, span: self.spans.of(range) }]
            }
            other => vec![self.expr(other)],
        }
    }

    fn method(&mut self, expr: &mut syn::Expr) -> ExprKind {
        let syn::Expr::MethodCall(call) = expr else {
            return ExprKind::Unsupported(Construct::Other(shortened(expr)));
        };
        let name = call.method.to_string();
        if is_iterator_chain(call) {
            return ExprKind::Unsupported(Construct::IteratorChain);
        }
        if name == FILLED {
            let receiver = self.boxed(&mut call.receiver);
            let args = call.args.iter_mut().map(|arg| self.expr(arg)).collect();
            return ExprKind::Method { receiver, name, args, callee: None };
        }
        if call.args.is_empty() {
            match (name.as_str(), self.tensor(&call.receiver)) {
                ("len", Some(base)) if self.is_view(&base) => return ExprKind::Len { base },
                ("shape", _) => return ExprKind::Unsupported(Construct::Shape),
                _ => {}
            }
        }
        if let Some(tensor) = self.tensor(&call.receiver)
            && (tensor.contains('.') || self.is_reference(&tensor))
        {
            return ExprKind::Unsupported(Construct::Format(format!(
                "a tensor has no method `{name}` in kernels, only `len()` and `shape()`; read and write its elements \
                 by `{tensor}[i]`"
            )));
        }
        if let Some(phase) = self.phase(call) {
            return phase;
        }
        if collective_of(call).is_some() {
            return ExprKind::Unsupported(Construct::Collective(name));
        }
        if is_shared_array(&call.method) {
            return ExprKind::Unsupported(Construct::Shared);
        }
        if let Some(index) = self.index_in_grid(call) {
            return index;
        }
        let of_block = self
            .tensor(&call.receiver)
            .is_some_and(|name| self.blocks.iter().any(|(block, _)| *block == name));
        let is_place = place_root(&call.receiver).is_some();
        let receiver = self.expr(&mut call.receiver);
        let args = call.args.iter_mut();
        let args: Vec<Expr> = args.map(|arg| self.argument(compared_value(&name, arg))).collect();
        if let Some(Conversion::To(scalar)) = conversion(&name)
            && args.is_empty()
        {
            // A cast does not determine the type of literals in its operand.
            let receiver = if is_place {
                receiver
            } else {
                // Arguments need no parentheses; rustc would report them.
                *call.receiver = unparenthesized(&call.receiver).clone();
                let ty = self.pass(&mut call.receiver);
                self.typed(receiver, ty)
            };
            let ty = self.scalar_type(&Ident::new(scalar, call.method.span()));
            return ExprKind::Cast { value: Box::new(receiver), ty, is_narrow: false };
        }
        if of_block {
            let receiver = Box::new(receiver);
            return ExprKind::Method { receiver, name, args, callee: None };
        }
        self.method_of_value(expr, receiver, args)
    }

    fn call(&mut self, call: &mut syn::ExprCall) -> ExprKind {
        let path = match &*call.func {
            syn::Expr::Path(path) => path.clone(),
            other => return ExprKind::Unsupported(Construct::Other(shortened(other))),
        };
        if path.path.segments.last().is_some_and(|last| last.ident == "from_fn") {
            let what = "`from_fn` is not supported in kernels; declare `let mut a = [0; N];` and set the elements in a \
                        loop, or use `map`";
            return ExprKind::Unsupported(Construct::Format(what.to_owned()));
        }
        if is_stream_parallel(call) {
            self.regions.push(path);
            return ExprKind::StreamParallel(self.region(call));
        }
        if is_block_for(call) {
            self.grids.push(path);
            return self.block_for(call);
        }
        let last = path.path.segments.last().map(|s| s.ident.to_string()).unwrap_or_default();
        if let Some(op) = atomic_op(&last) {
            let name = Ident::new(&last, spans::last(&path));
            self.atomics.push((name, path));
            return self.atomic(op, call);
        }
        if is_ndrange(call) {
            return ExprKind::Unsupported(Construct::Ndrange);
        }
        if is_scalar_method(&path) {
            let function = self.scalar_function(&path.path, call);
            return function.unwrap_or(ExprKind::Unsupported(Construct::Associated(last)));
        }
        if let Some(instead) = unknown_atomic(&last, call) {
            return ExprKind::Unsupported(Construct::Format(instead));
        }
        if let Some(instead) = instead_of_std(&path.path, call) {
            return ExprKind::Unsupported(Construct::Format(instead));
        }
        if let Some(name) = name_of(&path)
            && self.is_bound(name)
            && !self.closures.contains(&name.to_string())
        {
            let what = format!("`{name}` is a local here, which cannot be called");
            return ExprKind::Unsupported(Construct::Format(what));
        }
        let site = marks::take(&mut call.attrs);
        self.sites.put(site, TypeSite::Call(self.funcs.len()));
        let func = self.func(&mut call.func, path);
        let read_only_args = read_only_args(call);
        let args = call.args.iter_mut().map(|arg| self.argument(arg)).collect();
        ExprKind::Call { func, args, has_receiver: false, read_only_args }
    }

    /// An associated function of a scalar type: `f32::max(a, b)`, `u64::from(a)`. `None` if it has no arguments.
    fn scalar_function(&mut self, path: &syn::Path, call: &mut syn::ExprCall) -> Option<ExprKind> {
        let (own, name) = split_function(path)?;
        let name = name.to_string();
        let of = own.segments.last().map(|last| last.ident.to_string()).unwrap_or_default();
        let is_half = of == "f16";
        if is_half {
            self.halves.push(own.clone());
        }
        let own: syn::Type = syn::parse_quote!(#own);
        let mut args = call.args.iter_mut();
        let count = args.len();
        let arg = args.next()?;
        let conversion = conversion(&name);
        if count == 1 && (name == "from" || conversion.is_some()) {
            if is_half && !is_half_conversion(&name) {
                return Some(ExprKind::Unsupported(Construct::Associated(name)));
            }
            let ty = self.written_type(&own);
            let is_place = place_root(arg).is_some();
            let value = self.expr(arg);
            return Some(match conversion {
                Some(Conversion::From(scalar)) => self.converted(scalar, value, ty),
                Some(Conversion::To(scalar)) => {
                    let value = Box::new(self.typed(value, ty));
                    let ty = self.scalar_type(&Ident::new(scalar, Span::call_site()));
                    ExprKind::Cast { value, ty, is_narrow: false }
                }
                // `from` is a lossless `as`, as rustc checks. Only a probe knows the type of its argument.
                None => {
                    let value = if is_place {
                        value
                    } else {
                        let given = self.pass(arg);
                        self.typed(value, given)
                    };
                    ExprKind::Cast { value: Box::new(value), ty, is_narrow: false }
                }
            });
        }
        let receiver = self.expr(arg);
        let ty = match (&*name, &*of) {
            ("from_bits", "f16") => syn::parse_quote!(::core::primitive::u16),
            ("from_bits", "f32") => syn::parse_quote!(::core::primitive::u32),
            ("from_bits", _) => syn::parse_quote!(::core::primitive::u64),
            _ => own,
        };
        let ty = self.written_type(&ty);
        let receiver = Box::new(self.typed(receiver, ty));
        let args = args.map(|arg| self.expr(arg)).collect();
        Some(ExprKind::Method { receiver, name, args, callee: None })
    }

    fn scalar_type(&mut self, name: &Ident) -> TypeIx {
        self.written_type(&syn::parse_quote!(::core::primitive::#name))
    }

    /// `value as scalar as ty`. The first cast determines the type of a literal.
    pub(super) fn converted(&mut self, scalar: &str, value: Expr, ty: TypeIx) -> ExprKind {
        let from = self.scalar_type(&Ident::new(scalar, Span::call_site()));
        let span = value.span;
        // A cast does not determine the type of other literals; that of a function's argument does.
        let value = match value.kind {
            ExprKind::Name(_) | ExprKind::Index { .. } | ExprKind::Field { .. } => value,
            _ => self.typed(value, from),
        };
        let kind = ExprKind::Cast { value: Box::new(value), ty: from, is_narrow: false };
        ExprKind::Cast { value: Box::new(Expr { kind, span }), ty, is_narrow: false }
    }

    /// Passes a func through a probe, which sees its generic arguments.
    fn func(&mut self, callee: &mut syn::Expr, path: syn::ExprPath) -> u32 {
        let func = self.funcs.len() as u32;
        // rustc reports errors in the call at these tokens: so all have spans of the user's.
        let (first, last) = (spans::first(&path), spans::last(&path));
        let probe = Ident::new(&format!("__func{func}"), first);
        let mut passed = Group::new(Delimiter::Parenthesis, callee_value(&path));
        passed.set_span(last);
        *callee = syn::Expr::Verbatim(quote_spanned!(first=> #probe.pass #passed));
        self.funcs.push(FuncEntry::Path { probe, path });
        func
    }

    /// An argument of a func, which may be a tensor.
    pub(super) fn argument(&mut self, arg: &mut syn::Expr) -> Expr {
        let span = self.spans.of(arg);
        match self.tensor(arg) {
            Some(name) => Expr { kind: ExprKind::Name(name), span },
            None => self.expr(arg),
        }
    }

    fn region(&mut self, call: &mut syn::ExprCall) -> StreamParallelArgument {
        let count = call.args.len();
        match call.args.first_mut() {
            Some(syn::Expr::Closure(closure)) if count == 1 => {
                let params = closure.inputs.len() as u32;
                StreamParallelArgument::Closure { params, body: self.closure_body(closure) }
            }
            _ => StreamParallelArgument::Other,
        }
    }

    pub(super) fn closure_body(&mut self, closure: &mut syn::ExprClosure) -> Block {
        match &mut *closure.body {
            syn::Expr::Block(block) if block.label.is_none() => self.block(&mut block.block),
            other => self.expr_as_block(other),
        }
    }

    fn atomic(&mut self, op: AtomicOp, call: &mut syn::ExprCall) -> ExprKind {
        let compares = op == AtomicOp::CompareExchange;
        let is_complete = call.args.len() == 2 + usize::from(compares);
        let mut args = call.args.iter_mut();
        if let Some(place) = args.next().filter(|_| is_complete)
            && let Some(element) = borrowed_element(place)
        {
            let place = self.boxed(element);
            let value = args.next_back();
            let expected = args.next().map(|expected| self.boxed(expected));
            if let Some(value) = value.filter(|_| is_element(&place)) {
                return ExprKind::Atomic { op, place, expected, value: self.boxed(value) };
            }
        }
        ExprKind::Unsupported(Construct::AtomicTarget)
    }

    /// The name of the tensor that an expression is, in any `&`, `&mut`, `*` and parentheses. A field of a struct of
    /// tensors is written `struct.field`.
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
                    .filter(|name| self.is_reference(&name.to_string()))
                    .map(|group| format!("{group}.{tensor}")),
                _ => None,
            },
            _ => None,
        }
    }

    /// The tensor of a call `tensor.shape()`.
    pub(super) fn shape_of(&self, expr: &syn::Expr) -> Option<String> {
        match unparenthesized(expr) {
            syn::Expr::MethodCall(call) if call.method == "shape" && call.args.is_empty() => {
                self.tensor(&call.receiver)
            }
            _ => None,
        }
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

/// Whether a function of a scalar type is one of a trait of std, which kernels do not have.
fn is_of_std(path: &syn::Path) -> bool {
    const NAMES: [&str; 4] = ["default", "from_str", "from_str_radix", "try_from"];
    path.segments.last().is_some_and(|last| NAMES.iter().any(|name| last.ident == name))
}

/// Whether a type is a number of std that kernels do not have.
fn is_wide(ty: &syn::Path) -> bool {
    ["u128", "i128", "char"].iter().any(|name| ty.is_ident(name))
}

/// What to write instead of a function of std that has a name in kernels of its own.
fn instead_of_std(path: &syn::Path, call: &syn::ExprCall) -> Option<String> {
    let mut names = path.segments.iter().rev().map(|segment| segment.ident.to_string());
    let (name, module) = (names.next()?, names.next()?);
    let arguments: Vec<String> = call.args.iter().map(|arg| text_of(&place_of(arg))).collect();
    let [first, second] = &arguments[..] else { return None };
    let instead = match (module.as_str(), name.as_str()) {
        ("mem", "swap") => format!("({first}, {second}) = ({second}, {first})"),
        ("cmp", "min" | "max") => format!("{first}.{name}({second})"),
        _ => return None,
    };
    Some(format!("`{module}::{name}` is not supported in kernels; write `{instead}`"))
}

/// What to write instead of an atomic operation that does not exist, such as `atomic_sub(&mut x[0], 1)`.
fn unknown_atomic(name: &str, call: &mut syn::ExprCall) -> Option<String> {
    borrowed_element(call.args.first_mut().filter(|_| name.starts_with("atomic_"))?)?;
    let instead = match name {
        "atomic_sub" => "add the negated value by `atomic_add`".to_owned(),
        _ => {
            let names = AtomicOp::ALL.map(|op| format!("`{}`", op.name()));
            format!("use one of {}", names.join(", "))
        }
    };
    Some(format!("there is no atomic operation `{name}`; {instead}"))
}

/// A place that an argument refers to, or the argument.
fn place_of(arg: &syn::Expr) -> &syn::Expr {
    match unparenthesized(arg) {
        syn::Expr::Reference(of) => &of.expr,
        other => other,
    }
}

/// Which arguments of a call are `&` of something, as bits.
pub(super) fn read_only_args(call: &syn::ExprCall) -> u64 {
    let is_read_only = |arg: &syn::Expr| {
        matches!(arg, syn::Expr::Reference(syn::ExprReference { mutability: None, .. }))
    };
    let args = call.args.iter().take(64).enumerate();
    args.fold(0, |bits, (at, arg)| bits | u64::from(is_read_only(arg)) << at)
}

fn literal(lit: &Lit) -> ExprKind {
    let (text, suffix) = match lit {
        Lit::Bool(value) => {
            let text = value.value.to_string();
            return ExprKind::Literal { kind: LiteralKind::Bool, text, suffix: None };
        }
        Lit::Int(int) => (int.to_string(), int.suffix()),
        Lit::Byte(byte) => (byte.value().to_string(), "u8"),
        Lit::Float(float) => (float.to_string(), float.suffix()),
        _ => return ExprKind::Unsupported(Construct::Text),
    };
    let digits = text.strip_suffix(suffix).unwrap_or(&text);
    // Only the literal of a pattern includes its sign.
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

/// Whether `f16` has a conversion of this name, so that no trait in scope can provide one.
fn is_half_conversion(name: &str) -> bool {
    matches!(name, "from" | "from_f32" | "from_f64" | "to_f32" | "to_f64")
}

/// The position of a path or of a `cfg!` in a table, to which it is added if it is new. Equal texts are one path only
/// in the user's scope: `$crate` and a leading `::` mean what the macro that wrote them makes them mean.
fn position_of(table: &mut Vec<syn::Expr>, path: syn::Expr) -> u32 {
    let text = path.to_token_stream().to_string();
    let known = (!depends_on_macro(&text))
        .then(|| table.iter().position(|entry| entry.to_token_stream().to_string() == text));
    known.flatten().unwrap_or_else(|| {
        table.push(path);
        table.len() - 1
    }) as u32
}

/// The first line of tokens' text, for messages.
fn shortened(tokens: &impl ToTokens) -> String {
    let text = text_of(tokens);
    let line = text.lines().next().unwrap_or_default();
    line.chars().take(40).collect()
}

/// Whether a type is an integer type of 8 or 16 bits.
fn is_narrow(ty: &syn::Type) -> bool {
    let syn::Type::Path(path) = ty else { return false };
    ["u8", "i8", "u16", "i16"].iter().any(|name| path.path.is_ident(name))
}
