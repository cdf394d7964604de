//! `#[on_all_backends]` and `#[on_gpu_backends]`: one `#[test]` per backend from one function.
//!
//! This is the only list of backends in the tests. `#[on_all_backends] fn f(backend: TestBackend)` keeps `f` as it is
//! and adds the tests `f::backend_1_Cpu`, `f::backend_2_Cuda` and `f::backend_3_AmdGpu`, which call it. Other
//! parameters take rstest's `#[values(..)]` and `#[case]`. `cargo xtask test` selects a backend's tests by these
//! names.
//!
//! The tokens are rewritten by hand, without a parser: test functions have a simple form, and every build of the tests
//! waits for this crate.

use std::iter::once;

use proc_macro::{Delimiter, Group, Ident, Span, TokenStream, TokenTree};

/// A backend: the variant of `TestBackend`, its number in test names, and whether it is a GPU backend.
const BACKENDS: [(&str, u32, bool); 3] =
    [("Cpu", 1, false), ("Cuda", 2, true), ("AmdGpu", 3, true)];

/// Makes a test for each backend of a function with a parameter of type `TestBackend`.
#[proc_macro_attribute]
pub fn on_all_backends(_: TokenStream, item: TokenStream) -> TokenStream {
    expand(item, |_| true)
}

/// Makes a test for each GPU backend of a function with a parameter of type `TestBackend`.
#[proc_macro_attribute]
pub fn on_gpu_backends(_: TokenStream, item: TokenStream) -> TokenStream {
    expand(item, |is_gpu| is_gpu)
}

/// A parameter: its attributes, its name and its type.
struct Param {
    attributes: TokenStream,
    name: Ident,
    ty: Vec<TokenTree>,
}

impl Param {
    fn is_backend(&self) -> bool {
        matches!(self.ty.last(), Some(TokenTree::Ident(last)) if last.to_string() == "TestBackend")
    }
}

fn expand(item: TokenStream, selects: impl Fn(bool) -> bool) -> TokenStream {
    let (attributes, rest) = split_attributes(item.into_iter().collect());
    let Some((name, params, tail)) = split_function(&rest) else {
        return error("a function with a body is expected");
    };
    let params: Option<Vec<Param>> = split_at_commas(params).into_iter().map(param).collect();
    let Some(params) = params.filter(|params| params.iter().any(Param::is_backend)) else {
        return error(
            "a parameter `backend: TestBackend` is expected, and no patterns as parameters",
        );
    };

    // rstest's attributes, and those about the test, belong to the tests; others to the function.
    let is_of_test = |attribute: &TokenStream| {
        let text = attribute.to_string().replace(' ', "");
        ["#[case", "#[should_panic"].iter().any(|start| text.starts_with(start))
    };
    let (of_test, of_function): (Vec<_>, Vec<_>) = attributes.into_iter().partition(is_of_test);
    let plain = params.len() == 1 && of_test.is_empty();

    let without_attributes: Vec<TokenStream> = params.iter().map(declared).collect();
    let function_head = rest.iter().take_while(|t| !is_ident(t, &name.to_string())).cloned();
    let mut function: TokenStream = of_function.into_iter().collect();
    function.extend(function_head);
    function.extend(once(TokenTree::from(name.clone())));
    function.extend(once(parenthesized(comma_separated(without_attributes))));
    function.extend(tail.iter().cloned());

    let result: TokenStream = tail[..tail.len() - 1].iter().cloned().collect();
    let others = params.iter().filter(|param| !param.is_backend()).map(|param| {
        let mut with_attributes = param.attributes.clone();
        with_attributes.extend(declared(param));
        with_attributes
    });
    let others = parenthesized(comma_separated(others.collect()));
    let mut tests = TokenStream::new();
    for (variant, number, _) in BACKENDS.into_iter().filter(|(_, _, is_gpu)| selects(*is_gpu)) {
        tests.extend(parse(if plain { "#[test]" } else { "#[::rstest::rstest]" }));
        tests.extend(of_test.iter().cloned());
        tests.extend(parse(&format!("fn backend_{number}_{variant}")));
        tests.extend(once(others.clone()));
        tests.extend(result.clone());
        let arguments = params.iter().map(|param| {
            if param.is_backend() {
                parse(&format!("::quadrants_tests::TestBackend::{variant}"))
            } else {
                TokenTree::from(param.name.clone()).into()
            }
        });
        let mut call = parse("super::");
        call.extend(once(TokenTree::from(name.clone())));
        call.extend(once(parenthesized(comma_separated(arguments.collect()))));
        tests.extend(once(TokenTree::from(Group::new(Delimiter::Brace, call))));
    }

    let mut module = parse("#[allow(non_snake_case)] mod");
    module.extend(once(TokenTree::from(name)));
    let mut content = parse("#[allow(unused_imports)] use super::*;");
    content.extend(tests);
    module.extend(once(TokenTree::from(Group::new(Delimiter::Brace, content))));
    function.extend(module);
    function
}

/// The attributes before an item, and the rest.
fn split_attributes(tokens: Vec<TokenTree>) -> (Vec<TokenStream>, Vec<TokenTree>) {
    let mut attributes = Vec::new();
    let mut tokens = tokens.as_slice();
    while let [hash @ TokenTree::Punct(punct), group @ TokenTree::Group(_), rest @ ..] = tokens {
        if punct.as_char() != '#' {
            break;
        }
        attributes.push([hash.clone(), group.clone()].into_iter().collect());
        tokens = rest;
    }
    (attributes, tokens.to_vec())
}

/// The name of a function, its parameters, and all that comes after them.
fn split_function(tokens: &[TokenTree]) -> Option<(Ident, TokenStream, &[TokenTree])> {
    let start = tokens.iter().position(|token| is_ident(token, "fn"))?;
    let [_, TokenTree::Ident(name), TokenTree::Group(params), tail @ ..] = &tokens[start..] else {
        return None;
    };
    let has_body =
        matches!(tail.last(), Some(TokenTree::Group(g)) if g.delimiter() == Delimiter::Brace);
    (params.delimiter() == Delimiter::Parenthesis && has_body)
        .then(|| (name.clone(), params.stream(), tail))
}

/// Splits at the commas outside of groups and angle brackets.
fn split_at_commas(tokens: TokenStream) -> Vec<Vec<TokenTree>> {
    let mut parts = vec![Vec::new()];
    let mut depth = 0;
    let mut after_dash = false;
    for token in tokens {
        let mut is_comma = false;
        if let TokenTree::Punct(punct) = &token {
            match punct.as_char() {
                '<' => depth += 1,
                '>' if !after_dash => depth -= 1,
                ',' => is_comma = depth == 0,
                _ => {}
            }
            after_dash = punct.as_char() == '-';
        }
        if is_comma {
            parts.push(Vec::new());
        } else if let Some(part) = parts.last_mut() {
            part.push(token);
        }
    }
    parts.retain(|part| !part.is_empty());
    parts
}

/// `name: type` with the attributes before it; none for other patterns.
fn param(tokens: Vec<TokenTree>) -> Option<Param> {
    let (attributes, rest) = split_attributes(tokens);
    match rest.as_slice() {
        [TokenTree::Ident(name), TokenTree::Punct(colon), ty @ ..] if colon.as_char() == ':' => {
            Some(Param {
                attributes: attributes.into_iter().collect(),
                name: name.clone(),
                ty: ty.to_vec(),
            })
        }
        _ => None,
    }
}

/// `name: type`.
fn declared(param: &Param) -> TokenStream {
    let mut tokens = TokenStream::from(TokenTree::from(param.name.clone()));
    tokens.extend(parse(":"));
    tokens.extend(param.ty.iter().cloned());
    tokens
}

fn comma_separated(parts: Vec<TokenStream>) -> TokenStream {
    parts.into_iter().flat_map(|part| [part, parse(",")]).collect()
}

fn parenthesized(tokens: TokenStream) -> TokenTree {
    Group::new(Delimiter::Parenthesis, tokens).into()
}

fn is_ident(token: &TokenTree, name: &str) -> bool {
    matches!(token, TokenTree::Ident(ident) if ident.to_string() == name)
}

/// Tokens of this file's own text.
fn parse(text: &str) -> TokenStream {
    text.parse().unwrap_or_default()
}

fn error(message: &str) -> TokenStream {
    let mut tokens = parse("::core::compile_error!");
    let text = TokenTree::from(proc_macro::Literal::string(message));
    let mut group = Group::new(Delimiter::Parenthesis, text.into());
    group.set_span(Span::call_site());
    tokens.extend(once(TokenTree::from(group)));
    tokens.extend(parse(";"));
    tokens
}
