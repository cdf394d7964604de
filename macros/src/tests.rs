//! Emitted code as text: snapshots show in review how a change affects users' code.

mod races;

use proc_macro2::{Group, Ident, Literal, Span, TokenStream, TokenTree};
use quadrants_frontend::{MACROS, syntax::FunctionKind};
use quote::quote;

use crate::{expand, user_macros::STD};

/// The tokens without the bytes of the embedded tree.
fn without_bytes(tokens: TokenStream) -> TokenStream {
    let tokens = tokens.into_iter().map(|token| match token {
        TokenTree::Group(group) => {
            Group::new(group.delimiter(), without_bytes(group.stream())).into()
        }
        TokenTree::Literal(literal) if literal.to_string().starts_with("b\"") => {
            Literal::byte_string(b"...").into()
        }
        other => other,
    });
    tokens.collect()
}

fn emitted(kind: FunctionKind, item: TokenStream) -> String {
    let file = syn::parse2(without_bytes(expand(kind, TokenStream::new(), item)));
    prettyplease::unparse(&file.expect("what is emitted is Rust"))
}

fn saxpy() -> TokenStream {
    quote! {
        /// y += a x
        pub fn saxpy(a: f32, x: &Tensor<f32, 1>, y: &mut Tensor<f32, 1>) {
            for i in 0..x.len() {
                y[i] += a * x[i];
            }
        }
    }
}

fn step() -> TokenStream {
    quote! {
        fn step(dt: f32, a: &mut Tensor<f32, 1>, b: &mut Tensor<i32, 2>) {
            let half = 0.5 * dt;
            qd::stream_parallel(|| {
                for i in 0..a.len() { a[i] += wave(half) / dt; }
            });
            qd::stream_parallel(|| {
                for (i, j) in qd::ndrange(b.shape()) {
                    assert!(i != j, "diagonal");
                    qd::atomic_add(&mut b[[i, LAST]], 1);
                }
            });
        }
    }
}

/// Compares text with a file in `snapshots`; `QUADRANTS_BLESS=1` writes it.
fn snapshot(name: &str, text: &str) {
    let path = format!("{}/src/snapshots/{name}.rs", env!("CARGO_MANIFEST_DIR"));
    if std::env::var_os("QUADRANTS_BLESS").is_some() {
        std::fs::write(&path, text).expect("the snapshot can be written");
    }
    let expected = std::fs::read_to_string(&path).expect("the snapshot is there");
    assert_eq!(text, expected, "the emitted code changed; QUADRANTS_BLESS=1 accepts it");
}

#[test]
fn emitted_code_equals_the_snapshots() {
    snapshot("saxpy", &emitted(FunctionKind::Kernel, saxpy()));
    snapshot("step", &emitted(FunctionKind::Kernel, step()));
    snapshot("escape", &emitted(FunctionKind::Kernel, escape()));
    snapshot("sum", &emitted(FunctionKind::Kernel, sum()));
    let func = quote!(
        fn wave(x: f32) -> f32 {
            (x * 0.01).sin()
        }
    );
    snapshot("wave", &emitted(FunctionKind::Func, func));
    let generic = quote!(
        fn scaled<T: Float, const N: usize>(x: &Tensor<T, 1>, at: usize) -> T {
            half::<T>(x[at]) * T::from_usize(N)
        }
    );
    snapshot("scaled", &emitted(FunctionKind::Func, generic));
    let generic = quote!(
        fn scale<T: Float>(a: T, x: &Tensor<T, 1>, y: &mut Tensor<T, 1>) {
            for i in 0..x.len() {
                y[i] = a * scaled::<_, 2>(x, i);
            }
        }
    );
    snapshot("scale", &emitted(FunctionKind::Kernel, generic));
}

/// Iterations with two inner loops, in strips.
fn escape() -> TokenStream {
    quote! {
        fn escape(limit: i32, c: &Tensor<f32, 1>, steps: &mut Tensor<i32, 1>) {
            for i in 0..c.len() {
                let mut z = 0.0f32;
                let mut n = 0;
                while n < limit && z * z < 4.0 {
                    z = z * z + c[i];
                    n += 1;
                }
                for k in 0..c.len() {
                    if c[k] == z {
                        n -= 1;
                    }
                }
                steps[i] = n;
            }
        }
    }
}

/// A reduction, in whole strips and the rest.
fn sum() -> TokenStream {
    quote! {
        fn sum(x: &Tensor<f32, 1>, total: &mut Tensor<f32, 1>) {
            for i in 0..x.len() {
                qd::atomic_add(&mut total[0], x[i]);
            }
        }
    }
}

#[test]
fn kernels_accept_the_macros_of_std_that_messages_list_and_no_others() {
    for name in STD {
        let ident = Ident::new(name, Span::call_site());
        let text = emitted(FunctionKind::Kernel, quote!(fn run(n: i32) { #ident!(n); }));
        let is_rejected =
            text.contains(&format!("`{name}!` is not supported in kernels; they have"));
        assert_eq!(is_rejected, !MACROS.contains(&name), "{name}: {text}");
    }
    assert!(MACROS.iter().all(|name| STD.contains(name)));
}

#[test]
fn the_only_emitted_unsafe_is_that_of_impls() {
    fn has_unsafe(tokens: TokenStream) -> bool {
        let mut tokens = tokens.into_iter().peekable();
        while let Some(token) = tokens.next() {
            let has = match token {
                TokenTree::Ident(ident) => {
                    ident == "unsafe"
                        && !matches!(tokens.peek(), Some(TokenTree::Ident(next)) if next == "impl")
                }
                TokenTree::Group(group) => has_unsafe(group.stream()),
                _ => false,
            };
            if has {
                return true;
            }
        }
        false
    }
    for item in [saxpy(), step(), escape(), sum()] {
        assert!(!has_unsafe(expand(FunctionKind::Kernel, TokenStream::new(), item)));
    }
}

#[test]
fn emitted_paths_use_the_given_facade_crate() {
    let text = expand(FunctionKind::Kernel, quote!(crate = my::qd, strict), saxpy()).to_string();
    assert!(text.contains("my :: qd :: macro_support"));
    assert!(!text.contains("quadrants"));
}
