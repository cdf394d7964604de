//! The macros that kernels can call, except `matches!`, which is desugared: `assert!` and `println!`.

use proc_macro2::{Ident, TokenStream};
use quadrants_frontend::syntax::{Argument, Format};
use quote::{ToTokens, quote};
use syn::{
    Expr, LitStr, Macro, Token,
    parse::{Parse, ParseStream, Parser, Result},
};

use crate::text::text_of;

/// The most arguments of a `println!`.
const MOST_ARGUMENTS: usize = 24;

/// A call of a macro that kernels can call.
pub(crate) enum Invocation {
    Assert(Assert),
    Print(Print),
}

/// The arguments of `assert!`: a condition, and at most a text without values.
pub(crate) struct Assert {
    pub(crate) cond: Expr,
    pub(crate) message: Option<LitStr>,
    /// Whether the message is written as the value of the format `"{}"`. Only this crate writes it so.
    is_value: bool,
}

/// The arguments of `println!`, in order: those that the text names follow the others.
pub(crate) struct Print {
    pub(crate) format: Format,
    pub(crate) args: Vec<Expr>,
    /// The text with the positions of the arguments.
    pub(crate) text: LitStr,
}

impl Invocation {
    /// The call of a macro; none if kernels have no such macro.
    pub(crate) fn of(call: &Macro) -> Option<Result<Self>> {
        if call.path.is_ident("assert") {
            return Some(call.parse_body().map(Self::Assert));
        }
        call.path.is_ident("println").then(|| call.parse_body().map(Self::Print))
    }

    /// The expressions that it evaluates.
    pub(crate) fn exprs(&self) -> &[Expr] {
        match self {
            Self::Assert(assert) => std::slice::from_ref(&assert.cond),
            Self::Print(print) => &print.args,
        }
    }

    /// The arguments as tokens.
    pub(crate) fn tokens(&self) -> TokenStream {
        match self {
            Self::Assert(assert) => assert.tokens(),
            Self::Print(print) => print.tokens(),
        }
    }

    /// Rewrites the expressions of a macro that kernels can call. The message of an `assert!` without one stays the
    /// author's text.
    pub(crate) fn rewrite(call: &mut Macro, mut rewrite: impl FnMut(&mut Expr)) {
        let Some(Ok(mut this)) = Self::of(call) else { return };
        match &mut this {
            Self::Assert(assert) => {
                let (text, before) = (text_of(&assert.cond), printed(&assert.cond));
                rewrite(&mut assert.cond);
                if printed(&assert.cond) == before {
                    return;
                }
                assert.set_default_message(&text);
            }
            Self::Print(print) => print.args.iter_mut().for_each(rewrite),
        }
        call.tokens = this.tokens();
    }
}

fn printed(expr: &Expr) -> String {
    expr.to_token_stream().to_string()
}

impl Assert {
    /// The arguments as tokens. A message of the author's stays a format.
    pub(crate) fn tokens(&self) -> TokenStream {
        let Self { cond, message, is_value } = self;
        let format = is_value.then(|| quote!("{}",));
        let message = message.as_ref().map(|message| quote!(, #format #message));
        quote!(#cond #message)
    }

    /// Sets a message that contains braces literally, unless there is one.
    fn set_default_message(&mut self, text: &str) {
        if self.message.is_none() {
            self.message = Some(LitStr::new(text, proc_macro2::Span::call_site()));
            self.is_value = true;
        }
    }
}

impl Parse for Assert {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let cond = input.parse()?;
        let (mut message, mut is_value) = (None, false);
        if input.parse::<Option<Token![,]>>()?.is_some() && !input.is_empty() {
            let text: LitStr = input.parse()?;
            input.parse::<Option<Token![,]>>()?;
            is_value = text.value() == "{}" && !input.is_empty();
            message = Some(if is_value { input.parse()? } else { text });
        }
        Ok(Self { cond, message, is_value })
    }
}

impl Print {
    fn tokens(&self) -> TokenStream {
        let Self { text, args, .. } = self;
        quote!(#text #(, #args)*)
    }
}

impl Parse for Print {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let text = match input.is_empty() {
            true => LitStr::new("", input.span()),
            false => input.parse().map_err(|error| {
                syn::Error::new(error.span(), "`println!` takes a literal text")
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
            Argument::Position(at) if at < given => Ok(at),
            Argument::Position(at) => Err(format!("`println!` has no argument {at}")),
            Argument::Name(name) => {
                if let Some((_, at)) = names.iter().find(|(known, _)| *known == name) {
                    return Ok(*at);
                }
                let parse =
                    |input: ParseStream<'_>| input.call(<Ident as syn::ext::IdentExt>::parse_any);
                let mut ident = parse.parse_str(&name).map_err(|_| {
                    format!("`{{{name}}}`: only names can be in the text of `println!`")
                })?;
                ident.set_span(text.span());
                args.push(syn::parse_quote!(#ident));
                names.push((name, args.len() - 1));
                Ok(args.len() - 1)
            }
        };
        let format = Format::parse(&text.value(), position);
        let format = format.map_err(|what| syn::Error::new(text.span(), what))?;
        if args.len() > MOST_ARGUMENTS {
            let what = format!("`println!` in kernels has at most {MOST_ARGUMENTS} arguments");
            return Err(syn::Error::new(text.span(), what));
        }
        let text = LitStr::new(&format.to_string(), text.span());
        Ok(Self { format, args, text })
    }
}
