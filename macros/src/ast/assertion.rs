//! The arguments of `assert!` in a kernel.

use quote::quote;
use syn::{
    Expr, LitStr, Token,
    parse::{Parse, ParseStream, Result},
};

/// The arguments of `assert!`: a condition, and at most a text without values.
pub(crate) struct Assert {
    pub(crate) cond: Expr,
    pub(crate) message: Option<LitStr>,
    /// Whether the message is written as the value of the format `"{}"`. Only this crate writes it so.
    is_value: bool,
}

impl Assert {
    /// The arguments as tokens. A message of the author's stays a format.
    pub(crate) fn tokens(&self) -> proc_macro2::TokenStream {
        let Self { cond, message, is_value } = self;
        let format = is_value.then(|| quote!("{}",));
        let message = message.as_ref().map(|message| quote!(, #format #message));
        quote!(#cond #message)
    }

    /// Sets a message that contains braces literally, unless there is one.
    pub(crate) fn set_default_message(&mut self, text: &str) {
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
