//! Which loops run in strips, and how wide those are.

use quadrants_frontend::syntax::FunctionKind;
use syn::parse_quote;

/// The widths of the strips of the only loop in a body.
fn widths(body: syn::Block) -> Vec<String> {
    widths_by("whole_strips", &expanded(body))
}

/// What becomes of a kernel with a body.
fn expanded(body: syn::Block) -> String {
    let kernel = quote::quote! {
        fn kernel(n: usize, x: &Tensor<f32, 1>, b: &Tensor<f32, 2>, y: &mut Tensor<f32, 2>, grid: &mut Tensor<f32, 2>) #body
    };
    let text = crate::expand(FunctionKind::Kernel, proc_macro2::TokenStream::new(), kernel);
    text.to_string()
}

/// The widths that are arguments of a function.
fn widths_by(function: &str, text: &str) -> Vec<String> {
    let start = format!("{function} :: < _ , ");
    let strips = text.split(&start).skip(1);
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
fn chains_of_floats_over_rows_run_in_short_strips() {
    let bodies: [syn::Expr; 5] = [
        parse_quote!({
            for k in 0..n {
                sum += b[[i, k]] * x[k];
            }
        }),
        parse_quote!({
            for k in 0..n {
                sum += x[2 * i + k];
            }
        }),
        parse_quote!({
            let at = (x[i] * 2.0) as usize;
            for k in 0..n {
                sum = sum.max(x[at + k]);
            }
        }),
        parse_quote!({
            for k in 0..n {
                let part = b[[i, k]];
                for l in 0..3 {
                    sum -= part * b[[i, l]];
                }
            }
        }),
        parse_quote!({
            for k in 0..n {
                if b[[i, k]] > 0.5 {
                    sum += 1.0;
                }
            }
        }),
    ];
    for start in ["0.0", "-1.5_f32", "f64::MAX"] {
        let start: syn::Expr = syn::parse_str(start).expect("an expression");
        for body in &bodies {
            let syn::Expr::Block(syn::ExprBlock { block, .. }) = body else { unreachable!() };
            let stmts = &block.stmts;
            let body = parse_quote!({
                for i in 0..x.len() {
                    let mut sum = #start;
                    #(#stmts)*
                    y[[0, i]] = sum;
                }
            });
            assert_eq!(widths(body), ["4usize"], "{}", quote::quote!(#(#stmts)*));
        }
    }
    let integers = parse_quote!({
        for i in 0..x.len() {
            let mut sum = 0;
            for k in 0..n {
                sum += c[[i, k]];
            }
            y[[0, i]] = sum as f32;
        }
    });
    assert_eq!(widths(integers), [""; 0], "LLVM vectorizes sums of integers");
}

#[test]
fn strips_with_conditions_run_where_all_iterations_decide_equally() {
    let columns =
        "let mut sum = 0.0; for k in 0..n { sum += b[[k, i]] * b[[k, j]]; } y[[i, j]] = sum;";
    let rows =
        "let mut sum = 0.0; for k in 0..n { sum += b[[i, k]] * b[[j, k]]; } y[[i, j]] = sum;";
    let simd = &["__WIDE", "32usize", "8usize", "8usize"][..];
    let two = &["64usize", "32usize", "8usize", "8usize"][..];
    for (body, expected) in [
        ("if i <= j { COLUMNS } else { y[[i, j]] = 0.0; }", simd),
        ("if i == j { y[[i, j]] = 1.0; } else if i < j { COLUMNS }", simd),
        ("let here = x[j]; if here > 0.5 { COLUMNS } else { y[[i, j]] = here; }", two),
        ("if i > 3 { y[[i, j]] = 0.0; } else { if j > 3 { COLUMNS } }", simd),
        ("if j <= i { ROWS } else { y[[i, j]] = 0.0; }", &["4usize", "4usize"]),
        // What is before the condition would be done again.
        ("y[[i, j]] = 2.0; if i <= j { COLUMNS }", &[]),
        ("let here = wave(x[j]); if here > 0.5 { COLUMNS }", &[]),
        ("if wave(x[j]) > 0.5 { COLUMNS }", &[]),
        ("for k in 0..n { y[[k, j]] = 1.0; } if x[j] > 0.5 { COLUMNS }", &[]),
        (
            "let mut least = x[j]; for k in 0..n { least = least.min(b[[k, j]]); } if least > 0.5 { COLUMNS }",
            &[],
        ),
    ] {
        let text = body.replace("COLUMNS", columns).replace("ROWS", rows);
        let body = format!("{{ for (i, j) in qd::ndrange(y.shape()) {{ {text} }} }}");
        let tokens = expanded(syn::parse_str(&body).expect("a block"));
        assert_eq!(widths_by("strip_end", &tokens), expected, "{text}");
    }
    // A condition that is equal for all iterations needs no choice.
    let uniform = parse_quote!({
        for (i, j) in qd::ndrange(y.shape()) {
            if i > 3 {
                let mut sum = 0.0;
                for k in 0..n {
                    sum += b[[k, j]];
                }
                y[[i, j]] = sum;
            }
        }
    });
    assert_eq!(widths(uniform), ["__WIDE", "32usize", "8usize"]);
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
            for k in 0..i {
                sum += x[k];
            }
        }),
        parse_quote!({
            for k in 0..n {
                sum += x[k].powi(3);
            }
        }),
        parse_quote!({
            for k in 0..n {
                sum += wave(x);
            }
        }),
        parse_quote!({
            for k in 0..n {
                sum += qd::atomic_add(&mut z[0], x[k]);
            }
        }),
        parse_quote!({
            for k in 0..n {
                let (x, rest) = x[k].sin_cos();
                sum += x + rest;
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

#[test]
fn reductions_with_inner_loops_run_in_strips() {
    let body = |stmts: &str| {
        format!(
            "{{ let mut total = 0.0; let mut least = 9.0f32; for i in 0..x.len() {{
                let mut sum = 0.0; for k in 0..n {{ sum += x[k] * x[i]; }} {stmts}
            }} y[[0, 0]] = total; y[[0, 1]] = least; }}"
        )
    };
    let widths = |stmts| widths(syn::parse_str(&body(stmts)).expect("a block"));
    assert_eq!(widths("total += sum;"), ["64usize", "32usize", "8usize"]);
    assert_eq!(widths("total += sum; least = least.min(sum);"), ["32usize", "8usize"]);
    assert_eq!(widths("if sum > 0.0 { total += sum; }"), ["64usize", "32usize", "8usize"]);
    // Strips of bodies without inner loops are those of the reduction.
    let plain = parse_quote!({
        let mut total = 0.0;
        for i in 0..x.len() {
            total += x[i];
        }
        y[[0, 0]] = total;
    });
    assert_eq!(self::widths(plain), ["64usize"]);
}

#[test]
fn elementary_functions_tuples_and_funcs_run_in_strips() {
    for value in [
        "sum += x[k].sin().powf(0.5);",
        "sum += wave(x[k], k);",
        "let (sin, mut cos) = x[k].sin_cos(); cos *= 2.0; sum += sin * cos;",
    ] {
        let body = format!(
            "{{ for i in 0..x.len() {{
                let mut sum = 0.0; for k in 0..n {{ {value} }} y[[0, i]] = sum;
            }} }}"
        );
        let body = syn::parse_str(&body).expect("a block");
        assert_eq!(widths(body), ["__WIDE", "32usize", "8usize"], "{value}");
    }
}

/// The widths of a body's strips, and how many versions of its statements have successive indices.
fn clamped(body: &str) -> (Vec<String>, usize) {
    let body = format!("{{ for (i, j) in qd::ndrange(y.shape()) {{ {body} }} }}");
    let text = expanded(syn::parse_str(&body).expect("a block"));
    (widths_by("whole_strips", &text), text.matches("if at_first").count())
}

#[test]
fn clamped_indices_run_in_strips_with_a_version_of_successive_ones() {
    let simd = ["__WIDE", "32usize", "8usize"].map(str::to_owned).to_vec();
    let short = ["32usize", "8usize"].map(str::to_owned).to_vec();
    for index in [
        "(j + k).min(n - 1)",
        "j.saturating_sub(k)",
        "(j + k).saturating_sub(2).min(n - 1)",
        "(j as i32 + 1 - k as i32).clamp(0, n as i32 - 1) as usize",
        "(k + j).max(3)",
    ] {
        let inner = |value: &str| {
            format!("let mut sum = 0.0; for k in 0..5 {{ {value} }} y[[i, j]] = sum;")
        };
        let direct = inner(&format!("sum += b[[i, {index}]];"));
        let named = inner(&format!("let at = {index}; sum += b[[i, at]] * b[[k, at]];"));
        let of_locals = inner(&format!("let n = n + k; let at = {index}; sum += b[[i, at]];"));
        for body in [direct, named, of_locals] {
            assert_eq!(clamped(&body), (simd.clone(), 3), "{body}");
        }
        // Without an inner loop.
        let alone = format!("let k = 1usize; y[[i, j]] = b[[i, {index}]] - x[j];");
        assert_eq!(clamped(&alone), (short.clone(), 2), "{alone}");
    }
}

#[test]
fn conditions_on_successive_numbers_have_a_version_without() {
    let (widths, versions) = clamped(
        "let mut sum = 0.0;
        for k in 0..2 * RADIUS + 1 {
            let row = i as i32 + k - RADIUS;
            let column = j as i32 + k - RADIUS;
            if row >= 0 && row < n as i32 && column >= 0 && column < n as i32 {
                sum += b[[row as usize, column as usize]];
            }
        }
        y[[i, j]] = sum;",
    );
    // The ends of a row run in the shortest strips.
    assert_eq!((widths.join(" "), versions), ("8usize __WIDE 32usize 8usize".to_owned(), 4));
    // What another condition guards against an overflow is evaluated after that.
    for (guard, versions) in
        [("j > 3 && j < n", 4), ("n > 3 && j < n - 3", 0), ("x[j] > 0.5 && j - 3 < n", 0)]
    {
        let (_, found) =
            clamped(&format!("for k in 0..3 {{ if {guard} {{ y[[i, j]] = x[j]; }} }}"));
        assert_eq!(found, versions, "{guard}");
    }
}

#[test]
fn indices_that_are_not_successive_have_no_version_with_successive_ones() {
    for body in [
        // Under a condition.
        "if x[j] > 0.5 { y[[i, j]] = b[[i, (j + 1).min(n - 1)]]; }",
        // Of a value that iterations do not share.
        "y[[i, j]] = b[[i, (j + 1).min(c[j])]];",
        "let most = c[j]; y[[i, j]] = b[[i, (j + 1).min(most)]];",
        // Not of successive values.
        "y[[i, j]] = b[[i, (2 * j).min(n - 1)]];",
        "y[[i, j]] = b[[i, (j / 2).min(n - 1)]];",
        "y[[i, j]] = b[[i, (n - j).min(n - 1)]];",
        "y[[i, j]] = b[[i, (j as f32 + 1.0).min(3.0) as usize]];",
        // Elements that the loop may write.
        "y[[i, j]] = b[[i, (j + c[i]).min(n - 1)]];",
        // Along another axis than the last.
        "y[[i, j]] = b[[(j + 1).min(n - 1), i]];",
        // Before the statements, rustc could infer another type.
        "let k = 1; y[[i, j]] = b[[i, (j as i32 + k as i32).min(3) as usize]];",
        "let k = 1; y[[i, j]] = b[[i, (j as i32 + (k + 1) as i32).min(3) as usize]];",
    ] {
        assert_eq!(clamped(body), (Vec::new(), 0), "{body}");
    }
}

/// A name has one meaning before the statements, where the successive numbers are computed.
#[test]
fn names_with_several_meanings_have_no_version_with_successive_ones() {
    let once = "let k = 1; y[[i, j]] = b[[i, (j + k).min(n - 1)]];";
    assert_eq!(clamped(once), (vec!["32usize".to_owned(), "8usize".to_owned()], 2));
    for body in [
        "let k = 1; y[[i, j]] = b[[i, (j + k).min(n)]]; let k = 2; y[[i, j]] = b[[i, (j + k).min(n)]];",
        "y[[i, j]] = b[[i, (j + n).min(3)]]; let n = 2; y[[i, j]] = b[[i, (j + n).min(3)]];",
        "let k = 1; let v = b[[i, (j + k).min(n)]]; let k = i / 2; y[[i, j]] = v + b[[i, (j + k).min(n)]];",
    ] {
        assert_eq!(clamped(body), (Vec::new(), 0), "{body}");
    }
}

/// The widths of the strips of a loop that leaves out the first row and column.
fn updated(body: &str) -> Vec<String> {
    let body = format!("{{ for (i, j) in qd::ndrange((1..n, 1..n)) {{ {body} }} }}");
    let text = expanded(syn::parse_str(&body).expect("a block"));
    assert!(!text.contains("compile_error"), "{text}");
    widths_by("whole_strips", &text)
}

#[test]
fn updates_in_place_run_in_strips_that_store_last() {
    for body in [
        "grid[[i, j]] -= grid[[i, 0]] * grid[[0, j]];",
        "let (k, l) = (0, 1); grid[[i, j]] += grid[[0, j]];",
        "let first = grid[[i, 0]]; let scaled = first * x[j]; grid[[i, j]] = grid[[i, j]].min(scaled);",
        "grid[[i, j]] *= grid[[i, 0]] + 1.0;",
    ] {
        let expected: &[&str] = match body.contains("(k, l)") {
            true => &[],
            false => &["32usize", "8usize"],
        };
        assert_eq!(updated(body), expected, "{body}");
    }
    for body in [
        // LLVM sees that these are independent, or checks it.
        "grid[[i, j]] = b[[i, j]];",
        "grid[[i, j]] += b[[0, j]];",
        // Not one store, or not the last.
        "grid[[i, j]] = grid[[0, j]]; y[[i, j]] = 1.0;",
        "y[[i, j]] = 1.0; grid[[i, j]] = grid[[0, j]];",
        "if x[j] > 0.5 { grid[[i, j]] = grid[[0, j]]; }",
        // Not of neighbours.
        "grid[[j, i]] = grid[[0, i]];",
        "grid[[i, j]] = grid[[0, 2 * j]];",
        "let at = j; grid[[i, at]] = grid[[0, j]];",
        "grid[[i, j]] /= grid[[0, 0]].sin();",
    ] {
        assert_eq!(updated(body), [""; 0], "{body}");
    }
}
