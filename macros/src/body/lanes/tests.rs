//! Which loops run in strips, and how wide those are.

use quadrants_frontend::syntax::FunctionKind;
use syn::parse_quote;

/// The widths of the strips of the only loop in a body.
fn widths(body: syn::Block) -> Vec<String> {
    let kernel = quote::quote! {
        fn kernel(n: usize, x: &Tensor<f32, 1>, b: &Tensor<f32, 2>, y: &mut Tensor<f32, 2>) #body
    };
    let text = crate::expand(FunctionKind::Kernel, proc_macro2::TokenStream::new(), kernel);
    let text = text.to_string();
    let strips = text.split("whole_strips :: < _ , ").skip(1);
    strips.filter_map(|rest| Some(rest.split_once(" >")?.0.to_owned())).collect()
}

#[test]
fn inner_loops_with_uniform_ranges_run_in_strips() {
    let chain = parse_quote!({
        for i in 0..x.len() {
            let mut v = x[i];
            for _ in 0..256 {
                v = v.mul_add(2.0, 1.0);
            }
            y[[0, i]] = v;
        }
    });
    assert_eq!(widths(chain), ["__WIDE", "32usize", "8usize"], "one local");
    let both = parse_quote!({
        for i in 0..x.len() {
            let mut v = x[i];
            let mut w = v;
            for _ in 0..256 {
                v = v.mul_add(2.0, 1.0);
                w = w * v;
            }
            y[[0, i]] = w;
        }
    });
    assert_eq!(widths(both), ["64usize", "32usize", "8usize"], "two");
    let sums = parse_quote!({
        for (i, j) in qd::ndrange(y.shape()) {
            let from = x[j];
            let (low, high) = (0, 0);
            y[[i, j]] = from;
        }
    });
    assert_eq!(widths(sums), [""; 0], "there is no inner loop");
    let product = parse_quote!({
        for (i, j) in qd::ndrange(y.shape()) {
            let mut sum = 0.0;
            let mut least = x[j];
            let mut most = wave(x[j]);
            for k in 0..b.shape()[1] {
                let from = b[[i, k]] * b[[k, j + 1]];
                sum += from;
                least = least.min(from);
                if most < from {
                    most = from;
                }
            }
            y[[i, j]] = sum + least + most;
        }
    });
    assert_eq!(widths(product), ["32usize", "8usize"]);
}

#[test]
fn inner_loops_that_iterations_leave_run_in_strips() {
    let escape = parse_quote!({
        for i in 0..x.len() {
            let (c, mut z) = (x[i], 0.0);
            while z < 4.0 {
                z = z * z + c;
            }
            y[[0, i]] = z;
        }
    });
    assert_eq!(widths(escape), [""; 0], "a pattern of several names");
    let escape = parse_quote!({
        for i in 0..x.len() {
            let mut z = 0.0;
            while z < 4.0 {
                z = z * z + x[i];
            }
            loop {
                if z > 9.0 {
                    break;
                }
                z += 1.0;
            }
            y[[0, i]] = z;
        }
    });
    assert_eq!(widths(escape), ["32usize", "8usize"]);
}

#[test]
fn accesses_that_are_not_contiguous_keep_the_plain_body() {
    let bodies: [syn::Expr; 9] = [
        parse_quote!({
            for k in 1..n {
                y[[i, k]] = b[[i, k - 1]];
            }
        }),
        parse_quote!({
            for k in 0..n {
                sum += x[2 * i + k];
            }
        }),
        parse_quote!({
            for k in 0..i {
                sum += x[k];
            }
        }),
        parse_quote!({
            let at = (x[i] * 2.0) as usize;
            for k in 0..n {
                sum += x[at + k];
            }
        }),
        parse_quote!({
            for k in 0..n {
                sum += x[k].sin();
            }
        }),
        parse_quote!({
            for k in 0..n {
                sum += wave(x[k]);
            }
        }),
        parse_quote!({
            for k in 0..n {
                assert!(k < 9);
                sum += x[k];
            }
        }),
        parse_quote!({
            if n > 3 {
                continue;
            }
            for k in 0..n {
                sum += x[k];
            }
        }),
        parse_quote!({
            for k in 0..n {
                let sum = x[k];
                y[[k, i]] = sum;
            }
        }),
    ];
    for body in bodies {
        let syn::Expr::Block(syn::ExprBlock { block: syn::Block { stmts, .. }, .. }) = body else {
            unreachable!()
        };
        let text = quote::quote!(#(#stmts)*).to_string();
        let body = parse_quote!({
            for i in 0..x.len() {
                let mut sum = 0.0;
                #(#stmts)*
                y[[0, i]] = sum;
            }
        });
        assert_eq!(widths(body), [""; 0], "{text}");
    }
}
