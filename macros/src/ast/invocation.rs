//! The macros that kernels can call: `assert!`, `assert_eq!`, `assert_ne!` and `println!`. Others are rewritten to
//! these or to simpler syntax before ([`desugar`](crate::desugar)).

use proc_macro2::{Ident, Span, TokenStream};
use quadrants_frontend::syntax::{ASSERT_VALUES, Format, FormatArgument, FormatPiece, Notation};
use quote::{ToTokens, quote};
use syn::{
    Expr, LitStr, Macro, Token,
    parse::{ParseStream, Parser, Result},
};

use crate::text::text_of;

/// The most arguments of a `println!`.
const MOST_ARGUMENTS: usize = 24;

/// A call of a macro that kernels can call.
#[allow(clippy::large_enum_variant)] // never stored
pub(crate) enum Invocation {
    Assert(AssertCall),
    Print(FormatText),
}

/// The arguments of an assertion.
pub(crate) struct AssertCall {
    pub(crate) checks: AssertCheck,
    pub(crate) message: Option<FormatText>,
}

/// What an assertion checks.
pub(crate) enum AssertCheck {
    /// The condition of `assert!`.
    Condition(Expr),
    /// The operands of `assert_eq!`, if they must be equal, or of `assert_ne!`.
    Comparison { equal: bool, operands: [Expr; 2] },
}

/// A text with arguments, in order: those that the text names follow the others.
pub(crate) struct FormatText {
    pub(crate) format: Format,
    pub(crate) args: Vec<Expr>,
    /// The text with the positions of the arguments.
    pub(crate) text: LitStr,
}

/// What the type of a value must be, such as that of an argument of a text.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum ExpectedType {
    Any,
    /// A type that texts write by `{}`.
    Printed,
    /// A type that texts write by `{:e}`.
    PrintedNumber,
    /// A type that texts write by `{:x}`.
    PrintedInteger,
}

/// Whether kernels can call a macro of this name for its effect.
pub(crate) fn is_invocation(call: &Macro) -> bool {
    call.path.get_ident().is_some_and(|name| {
        let name = name.to_string();
        let name =
            name.strip_prefix("debug_assert").map_or(name.clone(), |of| format!("assert{of}"));
        ["assert", "assert_eq", "assert_ne", "println"].contains(&name.as_str())
    })
}

impl Invocation {
    /// The call of a macro; none if kernels have no such macro.
    pub(crate) fn of(call: &Macro) -> Option<Result<Self>> {
        let name = call.path.get_ident()?.to_string();
        let assert = |parse: fn(ParseStream<'_>) -> Result<AssertCheck>| {
            let parse = |input: ParseStream<'_>| AssertCall::parse(input, &name, parse);
            Some(call.parse_body_with(parse).map(Self::Assert))
        };
        match name.as_str() {
            "assert" => assert(|input| Ok(AssertCheck::Condition(input.parse()?))),
            "assert_eq" => assert(|input| AssertCheck::comparison(true, input)),
            "assert_ne" => assert(|input| AssertCheck::comparison(false, input)),
            "println" => {
                let parse =
                    |input: ParseStream<'_>| FormatText::parse(input, &name, MOST_ARGUMENTS);
                Some(call.parse_body_with(parse).map(Self::Print))
            }
            _ => None,
        }
    }

    /// The expressions that it evaluates.
    pub(crate) fn exprs(&self) -> Vec<&Expr> {
        match self {
            Self::Assert(AssertCall { checks, message }) => {
                checks.exprs().iter().chain(message.iter().flat_map(|text| &text.args)).collect()
            }
            Self::Print(print) => print.args.iter().collect(),
        }
    }

    /// The arguments as tokens.
    pub(crate) fn tokens(&self) -> TokenStream {
        match self {
            Self::Assert(AssertCall { checks, message }) => {
                let (checked, message) = (checks.exprs(), message.iter().map(FormatText::tokens));
                quote!(#(#checked),* #(, #message)*)
            }
            Self::Print(print) => print.tokens(),
        }
    }

    /// Rewrites the expressions of a macro that kernels can call. The message of an `assert!` without one stays the
    /// user's text.
    pub(crate) fn rewrite(call: &mut Macro, mut rewrite: impl FnMut(&mut Expr)) {
        let Some(Ok(mut this)) = Self::of(call) else { return };
        match &mut this {
            Self::Assert(AssertCall { checks, message }) => {
                let default = match checks {
                    AssertCheck::Condition(cond) => Some((text_of(cond), printed(cond))),
                    AssertCheck::Comparison { .. } => None,
                };
                checks.exprs_mut().iter_mut().for_each(&mut rewrite);
                if let (Some((text, before)), AssertCheck::Condition(cond), None) =
                    (default, &*checks, &message)
                {
                    if printed(cond) == before {
                        return;
                    }
                    *message = Some(FormatText::literal(&text));
                }
                message.iter_mut().flat_map(|text| &mut text.args).for_each(rewrite);
            }
            Self::Print(print) => print.args.iter_mut().for_each(rewrite),
        }
        call.tokens = this.tokens();
    }
}

fn printed(expr: &Expr) -> String {
    expr.to_token_stream().to_string()
}

impl AssertCheck {
    fn comparison(equal: bool, input: ParseStream<'_>) -> Result<Self> {
        let left = input.parse()?;
        input.parse::<Token![,]>()?;
        Ok(Self::Comparison { equal, operands: [left, input.parse()?] })
    }

    fn exprs(&self) -> &[Expr] {
        match self {
            Self::Condition(cond) => std::slice::from_ref(cond),
            Self::Comparison { operands, .. } => operands,
        }
    }

    fn exprs_mut(&mut self) -> &mut [Expr] {
        match self {
            Self::Condition(cond) => std::slice::from_mut(cond),
            Self::Comparison { operands, .. } => operands,
        }
    }
}

impl AssertCall {
    fn parse(
        input: ParseStream<'_>,
        name: &str,
        checks: fn(ParseStream<'_>) -> Result<AssertCheck>,
    ) -> Result<Self> {
        let what = || match name {
            "assert" => "`assert!` takes a condition, and then a text with values".to_owned(),
            name => format!("`{name}!` takes two values, and then a text with values"),
        };
        let checks = checks(input).map_err(|error| syn::Error::new(error.span(), what()))?;
        if input.parse::<Option<Token![,]>>()?.is_none() && !input.is_empty() {
            return Err(input.error(what()));
        }
        let most = match checks {
            AssertCheck::Condition(_) => ASSERT_VALUES,
            AssertCheck::Comparison { .. } => ASSERT_VALUES - 2,
        };
        let message =
            (!input.is_empty()).then(|| FormatText::parse(input, name, most)).transpose()?;
        Ok(Self { checks, message })
    }

    /// The condition that must hold.
    pub(crate) fn condition(&self) -> Expr {
        match &self.checks {
            AssertCheck::Condition(cond) => cond.clone(),
            AssertCheck::Comparison { equal: true, operands: [left, right] } => {
                syn::parse_quote!(#left == #right)
            }
            AssertCheck::Comparison { equal: false, operands: [left, right] } => {
                syn::parse_quote!(#left != #right)
            }
        }
    }

    /// The values that it reports: the arguments of the text, then the operands.
    pub(crate) fn values(&self) -> Vec<Expr> {
        let operands = match &self.checks {
            AssertCheck::Condition(_) => &[][..],
            AssertCheck::Comparison { operands, .. } => operands,
        };
        let args = self.message.iter().flat_map(|text| &text.args);
        args.chain(operands).cloned().collect()
    }

    /// Whether the operands must be equal, for a comparison.
    pub(crate) fn comparison(&self) -> Option<bool> {
        match self.checks {
            AssertCheck::Condition(_) => None,
            AssertCheck::Comparison { equal, .. } => Some(equal),
        }
    }

    /// The text that it reports, which by default is that of the condition.
    pub(crate) fn text(&self) -> (Format, LitStr) {
        match (&self.message, &self.checks) {
            (Some(FormatText { format, text, .. }), _) => (format.clone(), text.clone()),
            (None, AssertCheck::Condition(cond)) => {
                let FormatText { format, text, .. } = FormatText::literal(&text_of(cond));
                (format, text)
            }
            (None, AssertCheck::Comparison { .. }) => {
                (Format::default(), LitStr::new("", Span::call_site()))
            }
        }
    }
}

impl FormatText {
    /// A text without arguments, in which braces are literal.
    fn literal(text: &str) -> Self {
        let format = Format::text(text);
        let text = LitStr::new(&format.to_string(), Span::call_site());
        Self { format, args: Vec::new(), text }
    }

    fn tokens(&self) -> TokenStream {
        let Self { text, args, .. } = self;
        quote!(#text #(, #args)*)
    }

    /// What the type of an argument must be for the notations that the text has for it. For `{:?}` any, if it has a
    /// `Debug`.
    pub(crate) fn expected(&self, argument: usize) -> ExpectedType {
        let of_argument = |piece: &FormatPiece| match piece {
            FormatPiece::Value { at, spec } if *at as usize == argument => {
                Some(match spec.notation {
                    Notation::Debug => ExpectedType::Any,
                    Notation::Display => ExpectedType::Printed,
                    Notation::LowerExp | Notation::UpperExp => ExpectedType::PrintedNumber,
                    _ => ExpectedType::PrintedInteger,
                })
            }
            _ => None,
        };
        let all: Vec<_> = self.format.pieces.iter().filter_map(of_argument).collect();
        let strictest =
            [ExpectedType::PrintedInteger, ExpectedType::PrintedNumber, ExpectedType::Printed];
        strictest.into_iter().find(|of| all.contains(of)).unwrap_or(ExpectedType::Any)
    }

    /// Parses a literal text and its arguments, of the macro called `of`.
    fn parse(input: ParseStream<'_>, of: &str, most: usize) -> Result<Self> {
        let text = match input.is_empty() {
            true => LitStr::new("", input.span()),
            false => input.parse().map_err(|error| {
                syn::Error::new(error.span(), format!("the text of `{of}!` must be a literal"))
            })?,
        };
        let mut args: Vec<Expr> = Vec::new();
        let mut names: Vec<(String, usize)> = Vec::new();
        while input.parse::<Option<Token![,]>>()?.is_some() && !input.is_empty() {
            if input.peek(syn::Ident) && input.peek2(Token![=]) && !input.peek2(Token![==]) {
                let name: Ident = input.parse()?;
                input.parse::<Token![=]>()?;
                names.push((name.to_string(), args.len()));
            }
            args.push(input.parse()?);
        }
        let given = args.len();
        let position = |argument| match argument {
            FormatArgument::Position(at) if at < given => Ok(at),
            FormatArgument::Position(at) => Err(format!("`{of}!` has no argument {at}")),
            FormatArgument::Name(name) => {
                if let Some((_, at)) = names.iter().find(|(known, _)| *known == name) {
                    return Ok(*at);
                }
                let parse =
                    |input: ParseStream<'_>| input.call(<Ident as syn::ext::IdentExt>::parse_any);
                let mut ident = parse.parse_str(&name).map_err(|_| {
                    format!("`{{{name}}}`: only names can be in the text of `{of}!`")
                })?;
                ident.set_span(text.span());
                args.push(syn::parse_quote!(#ident));
                names.push((name, args.len() - 1));
                Ok(args.len() - 1)
            }
        };
        let format = Format::parse(&text.value(), position);
        let format = format.map_err(|what| syn::Error::new(text.span(), what))?;
        let is_used = |argument: usize| {
            let is_it = |of: &FormatPiece| matches!(of, FormatPiece::Value { at, .. } if *at as usize == argument);
            format.pieces.iter().any(is_it)
        };
        if let Some(unused) = (0..args.len()).find(|at| !is_used(*at)) {
            let what = format!("argument {unused} of `{of}!` is not in the text");
            return Err(syn::Error::new_spanned(&args[unused], what));
        }
        if args.len() > most {
            let what = format!(
                "the text of `{of}!` in kernels has at most {most} arguments; leave some out"
            );
            return Err(syn::Error::new(text.span(), what));
        }
        let text = LitStr::new(&format.to_string(), text.span());
        Ok(Self { format, args, text })
    }
}
