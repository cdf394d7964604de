//! Kernels with and without races. Kernels that are free of races for some arguments are accepted: their launches prove
//! the arguments.

use proc_macro2::TokenStream;
use quadrants_frontend::syntax::FunctionKind;

use crate::expand;

/// The parameters of the kernels below.
const PARAMS: &str = "n: usize, k: usize, s: f32, a: &Tensor<f32, 1>, at: &Tensor<u32, 1>, \
    plane: &Tensor<f32, 2>, t: &mut Tensor<f32, 1>, u: &mut Tensor<f32, 1>, \
    grid: &mut Tensor<f32, 2>, cube: &mut Tensor<f32, 3>, count: &mut Tensor<u32, 1>, \
    bins: &mut Tensor<u32, 1>";

/// The errors of a kernel with this body.
fn messages(body: &str) -> Vec<String> {
    let item = format!("fn job({PARAMS}) {{ {body} }}");
    let item: TokenStream = item.parse().unwrap_or_else(|e| panic!("{body}: {e}"));
    let file: syn::File = syn::parse2(expand(FunctionKind::Kernel, TokenStream::new(), item))
        .unwrap_or_else(|e| panic!("{body}: {e}"));
    let message = |item: syn::Item| match item {
        syn::Item::Macro(call) if call.mac.path.segments.last()?.ident == "compile_error" => {
            Some(call.mac.parse_body::<syn::LitStr>().expect("a message").value())
        }
        _ => None,
    };
    file.items.into_iter().filter_map(message).collect()
}

/// Checks that kernels with these bodies have no errors.
#[track_caller]
fn accepted(bodies: &[&str]) {
    for body in bodies {
        assert_eq!(messages(body), [""; 0], "{body}");
    }
}

/// Checks the errors of bodies: one text per error.
#[track_caller]
fn rejected(bodies: &[(&str, &[&str])]) {
    for (body, expected) in bodies {
        let found = messages(body);
        let all = found.len() == expected.len()
            && found.iter().zip(*expected).all(|(found, expected)| found.contains(expected));
        assert!(all, "{body}\nfound {found:#?}\nexpected {expected:#?}");
        let advice = |found: &String| found.contains("unsafe { … }") && found.contains("; ");
        assert!(found.iter().all(advice), "{found:#?}");
    }
}

#[test]
fn elements_of_their_own_are_accepted() {
    accepted(&[
        "for i in 0..t.len() { t[i] = s; }",
        "for i in 0..n { t[i] += a[i]; }",
        "for i in 0..n { t[i] = 0.5 * t[i]; u[i] = t[i]; }",
        "for i in 0..n { t[i + 1] = s; }",
        "for i in 1..n { t[i - 1] = s; }",
        "for i in 0..t.len() { t[t.len() - 1 - i] = a[i]; }",
        "for i in 0..n { t[i * 3 + 1] = s; }",
        "for i in 0..n { t[2 * i] = s; t[2 * i + 1] = -s; }",
        "for i in 0..n { t[3 * i] = s; t[3 * i + 1] = s; u[i] = t[3 * i] + t[3 * i + 1]; }",
        "for i in 0..n { t[4 * i + 1] = t[4 * i]; }",
        "for i in 0..n { for c in 0..4 { t[i * 4 + c] = s; } }",
        "for i in 0..n { let from = i * 8; for c in 0..8 { t[from + c] += a[c]; } }",
        "for i in 0..n { t[i << 1] = s; }",
        "for i in 0..n { t[(i as u32 + 2) as usize] = s; }",
        "for i in 0..n as i32 { t[i as usize] = s; }",
        "for i in 0..n { let i = i + 1; let j = i; t[j] = s; }",
        "for i in 0..n { if a[i] > s { t[i] = s; } else { t[i] = -s; } }",
        "for i in 0..n { let mut v = 0.0; for j in 0..k { v += a[j]; } t[i] = v; }",
        "for (i, j) in qd::ndrange(grid.shape()) { grid[[i, j]] = plane[[j, i]]; }",
        "for (i, j) in qd::ndrange(plane.shape()) { grid[[j, i]] = plane[[i, j]]; }",
        "for (i, j) in qd::ndrange((1..n, 2..k)) { grid[[i - 1, j + 2]] = s; }",
        "for (i, j, l) in qd::ndrange(cube.shape()) { cube[[i, j, l]] *= s; }",
        "for i in 0..n { for j in 0..i { grid[[i, j]] = s; } }",
        "for i in 0..n { for j in 0..k { grid[[i, j]] = grid[[i, k - j]]; } }",
        "for i in 0..n { grid[[i, 0]] = grid[[i, k]]; }",
        "for i in 0..n { grid[[i, at[i] as usize]] = s; }",
        "for i in 0..n { cube[[k, i, 0]] = cube[[k, i, 1]]; }",
        "for (i, j) in qd::ndrange((8, 4)) { t[i * 4 + j] = s; }",
        "for i in 0..1 { t[0] = s; t[1] = t[0]; }",
        "for i in 0..n { u[i] = mean(&t, i); }",
        "for i in 0..n { u[i] = mean(&t, i) + mean(a, i); }",
        "for _ in 0..1 { t[0] += t[k]; }",
    ]);
}

#[test]
fn what_one_launch_proves_is_accepted() {
    accepted(&[
        "let [h, w] = plane.shape(); for (y, x) in qd::ndrange((h, w)) { t[y * w + x] = plane[[y, x]]; }",
        "for (y, x) in qd::ndrange((n, k)) { t[y * k + x] = s; }",
        "for (y, x) in qd::ndrange(plane.shape()) { t[y * k + x] = s; }",
        "for i in 0..n { t[i * k] = s; }",
        "for i in 0..n { t[i] = t[i + n]; }",
        "for i in 0..k { t[i] += t[i + k]; }",
        "for i in 0..n { t[i] = t[i + k]; }",
        "for i in 0..t.len() / 2 { let v = t[i]; t[i] = t[t.len() - 1 - i]; t[t.len() - 1 - i] = v; }",
        "for i in 0..n { t[WIDTH * i] = s; }",
        "for (y, x) in qd::ndrange((n, WIDTH)) { t[y * WIDTH + x] = s; }",
        "for i in 0..n { t[place(i, k)] = s; }",
        "let [_, w] = grid.shape(); for i in 0..grid.len() { grid[[i / w, i % w]] = s; }",
        "for i in 0..cube.len() { let x = i % k; let y = i / k % n; cube[[i / k / n, y, x]] = s; }",
        "let from = at[0] as usize; for i in 0..n { t[from + i] = s; }",
        "for i in 0..n { let mut p = 0; while p < k { t[i * k + p] = s; p += 1; } }",
        "for i in 0..n { u[i] = mean(t, i); }",
        "for i in 0..n { smooth(&mut t, &u, i); }",
        "for i in 0..n { let k = qd::atomic_add(&mut count[0], 2); t[k as usize] = s; }",
        "for i in 0..n { t[i * i] = s; }",
        "for i in 0..n { t[i] = mean(&t, i); }",
    ]);
}

#[test]
fn atomics_and_what_they_make_safe_are_accepted() {
    accepted(&[
        "for i in 0..n { qd::atomic_add(&mut t[0], a[i]); }",
        "for i in 0..n { qd::atomic_add(&mut bins[at[i] as usize], 1); }",
        "for i in 0..n { qd::atomic_min(&mut bins[0], at[i]); qd::atomic_max(&mut bins[0], at[i]); }",
        "for i in 0..n { let v = qd::atomic_add(&mut bins[i % 7], 2); t[i] = v as f32; }",
        "for i in 0..n { if a[i] > s { let k = qd::atomic_add(&mut count[0], 1); t[k as usize] = a[i]; } }",
        "for i in 0..n { let at = qd::atomic_add(&mut count[1], 1) as usize; if at < t.len() { t[at] = s; u[at] = t[at]; } }",
        "for i in 0..n { t[qd::atomic_add(&mut count[0], 1) as usize] = s; }",
        "for i in 0..n { let p = qd::atomic_add(&mut count[0], 1) as usize; let q = qd::atomic_add(&mut count[0], 1) as usize; t[p] = s; t[q] = s; }",
        "for i in 0..n { for j in 0..k { let p = qd::atomic_add(&mut count[k], 1) as usize; grid[[p, j]] = s; } }",
    ]);
}

#[test]
fn loops_one_after_the_other_are_accepted() {
    accepted(&[
        "for i in 0..n { t[i] = s; } for i in 0..n { u[i] = t[i + 1] + t[at[i] as usize]; }",
        "for i in 1..n { u[i] = t[i - 1] + t[i + 1]; } for i in 1..n { t[i] = u[i]; }",
        "t[0] = s; t[1] = t[0]; for i in 0..n { u[i] = t[0]; } t[0] += u[0];",
        "qd::stream_parallel(|| { t[0] = s; for i in 0..n { u[i] = t[0]; } t[0] = u[0]; });",
        "for i in 0..n { t[i] = s; } for i in 0..n { t[n - i] = s; }",
    ]);
}

#[test]
fn blocks_that_share_nothing_they_write_are_accepted() {
    accepted(&[
        "qd::stream_parallel(|| { for i in 0..n { t[i] = a[i]; } }); qd::stream_parallel(|| { for i in 0..n { u[i] = a[i]; } });",
        "qd::stream_parallel(|| { for i in 0..n / 2 { t[i] = s; } }); qd::stream_parallel(|| { for i in n / 2..n { t[i] = -s; } });",
        "let half = t.len() / 2; qd::stream_parallel(|| { for i in 0..half { t[i] = s; } }); qd::stream_parallel(|| { for i in half..t.len() { t[i] = -s; } });",
        "qd::stream_parallel(|| { count[0] = 1; }); qd::stream_parallel(|| { count[1] = 2; });",
        "qd::stream_parallel(|| { for i in 0..n { grid[[i, 0]] = s; } }); qd::stream_parallel(|| { for i in 0..n { grid[[i, 1]] = s; } });",
        "qd::stream_parallel(|| { for i in 0..n { t[2 * i] = s; } }); qd::stream_parallel(|| { for i in 0..n { t[2 * i + 1] = s; } });",
        "qd::stream_parallel(|| { for i in 0..n { t[i] = s; } }); qd::stream_parallel(|| { for i in 0..n { t[n + i] = s; } });",
        "qd::stream_parallel(|| { for i in 0..n { qd::atomic_add(&mut bins[at[i] as usize], 1); } }); qd::stream_parallel(|| { for i in 0..n { qd::atomic_add(&mut bins[0], 2); } });",
        "qd::stream_parallel(|| { for i in 0..n { t[qd::atomic_add(&mut count[0], 1) as usize] = s; } }); qd::stream_parallel(|| { for i in 0..n { t[qd::atomic_add(&mut count[0], 1) as usize] = -s; } });",
    ]);
}

#[test]
fn what_unsafe_asserts_is_accepted() {
    accepted(&[
        "for i in 0..n { unsafe { t[at[i] as usize] = s; } }",
        "for i in 1..n { let before = unsafe { t[i - 1] }; t[i] = before; }",
        "for i in 0..n { unsafe { t[0] = s } }",
        "for i in 0..n { let next = unsafe { let v = t[i + 1]; v * 2.0 }; t[i] = next; }",
        "qd::stream_parallel(|| { for i in 0..n { t[i] = s; } }); qd::stream_parallel(|| { for i in 0..n { unsafe { u[i] = t[i]; } } });",
    ]);
}

#[test]
fn elements_that_iterations_share_are_rejected() {
    rejected(&[
        (
            "for i in 0..n { t[0] = s; }",
            &["iterations of `i` may write the same element by `t[0]`"],
        ),
        ("for i in 0..n { t[k] += a[i]; }", &["by `t[k]`"]),
        ("for i in 0..n { for j in 0..k { t[j] = s; } }", &["by `t[j]`"]),
        ("for i in 0..n { t[at[i] as usize] = s; }", &["by `t[at[i]]`"]),
        ("for i in 0..n { let p = at[i] as usize; t[p] += s; }", &["by `t[p]`"]),
        ("for i in 0..n { t[i / 2] = s; }", &["by `t[i / 2]`"]),
        ("for i in 0..n { t[i % 4] = s; }", &["by `t[i % 4]`"]),
        ("for i in 0..n { t[i & 3] = s; }", &["by `t[i & 3]`"]),
        ("for i in 0..n { t[i >> 1] = s; }", &["by `t[i >> 1]`"]),
        ("for i in 0..n { t[i - i] = s; }", &["by `t[i - i]`"]),
        ("for i in 0..n { t[if a[i] > s { i } else { 0 }] = s; }", &["by `t[…]`"]),
        ("for i in 0..n { t[i.min(4)] = s; }", &["by `t[i.min(4)]`"]),
        (
            "for (i, j) in qd::ndrange(plane.shape()) { t[i] = s; }",
            &["of `i`, `j` may write the same element by `t[i]`"],
        ),
        ("for (i, j) in qd::ndrange(plane.shape()) { t[i + j] = s; }", &["by `t[i + j]`"]),
        ("for (i, j) in qd::ndrange(plane.shape()) { grid[[i, i]] = s; }", &["by `grid[[i, i]]`"]),
        (
            "for (i, j) in qd::ndrange(plane.shape()) { grid[[i, j / 2]] = s; }",
            &["by `grid[[i, j / 2]]`"],
        ),
        ("for (i, j) in qd::ndrange((9, 5)) { t[i * 4 + j] = s; }", &["by `t[i * 4 + j]`"]),
        (
            "for (i, j, l) in qd::ndrange(cube.shape()) { cube[[i, j, 0]] = s; }",
            &["by `cube[[i, j, 0]]`"],
        ),
        ("for i in 0..n { for c in 0..5 { t[i * 4 + c] = s; } }", &["by `t[i * 4 + c]`"]),
        ("for i in 0..n { for c in 0..k { t[i + c] = s; } }", &["by `t[i + c]`"]),
        ("for _ in 0..n { t[0] = s; }", &["iterations may write the same element by `t[0]`"]),
        ("for i in 0..2 { t[0] = s; }", &["by `t[0]`"]),
        ("for i in 0..n { t[0] = s; u[1] = s; }", &["by `t[0]`", "by `u[1]`"]),
    ]);
}

#[test]
fn elements_that_one_iteration_writes_and_another_touches_are_rejected() {
    rejected(&[
        (
            "for i in 0..n { t[i] = t[i + 1]; }",
            &["one iteration of `i` may read `t[i + 1]` while another writes `t[i]`"],
        ),
        (
            "for i in 1..n { t[i] = t[i - 1] + t[i + 1]; }",
            &["read `t[i - 1]` while another writes `t[i]`"],
        ),
        ("for i in 0..n { t[i] = t[i + 100]; }", &["read `t[i + 100]`"]),
        ("for i in 0..n { t[i] = t[0]; }", &["read `t[0]` while another writes `t[i]`"]),
        (
            "for i in 0..n { t[i] = t[at[i] as usize]; }",
            &["read `t[at[i]]` while another writes `t[i]`"],
        ),
        ("for i in 0..t.len() { t[i] = t[t.len() - 1 - i]; }", &["read `t[t.len() - 1 - i]`"]),
        (
            "for i in 0..n { t[i] = s; t[i + 1] = s; }",
            &["may write `t[i]` while another writes `t[i + 1]`"],
        ),
        ("for i in 0..n { t[2 * i] = s; t[2 * i + 2] = s; }", &["may write `t[2 * i]`"]),
        ("for i in 0..n { t[2 * i] = t[3 * i + 1]; }", &["may read `t[3 * i + 1]`"]),
        (
            "for i in 0..n { let mut v = 0.0; for j in 0..n { v += t[j]; } t[i] = v; }",
            &["read `t[j]` while another writes `t[i]`"],
        ),
        (
            "for (i, j) in qd::ndrange(grid.shape()) { grid[[i, j]] = grid[[j, i]]; }",
            &["read `grid[[j, i]]` while another writes `grid[[i, j]]`"],
        ),
        (
            "for (i, j) in qd::ndrange((1..n, 1..k)) { grid[[i, j]] = grid[[i - 1, j]] + grid[[i, j + 1]]; }",
            &["read `grid[[i - 1, j]]`"],
        ),
        (
            "for (i, j) in qd::ndrange(grid.shape()) { grid[[i, j]] = grid[[i, 0]]; }",
            &["read `grid[[i, 0]]`"],
        ),
        (
            "for i in 0..n { for j in 0..k { grid[[i, j]] = grid[[j, i]]; } }",
            &["read `grid[[j, i]]`"],
        ),
        (
            "for i in 0..n { qd::atomic_add(&mut t[0], a[i]); u[i] = t[0]; }",
            &["read `t[0]` while another atomically combines into `t[0]`"],
        ),
        (
            "for i in 0..n { qd::atomic_add(&mut bins[at[i] as usize], 1); bins[i] = 0; }",
            &["atomically combine into `bins[at[i]]` while another writes `bins[i]`"],
        ),
        (
            "for i in 0..n { let k = qd::atomic_add(&mut count[0], 1); t[k as usize] = s; t[0] = s; }",
            &["by `t[0]`"],
        ),
        (
            "for i in 0..n { let k = qd::atomic_add(&mut count[0], 1); qd::atomic_min(&mut count[0], 5); t[k as usize] = s; }",
            &["by `t[k]`"],
        ),
        (
            "for i in 0..n { let k = qd::atomic_add(&mut count[at[i] as usize], 1); t[k as usize] = s; }",
            &["by `t[k]`"],
        ),
        (
            "for i in 0..n { let p = qd::atomic_add(&mut count[0], 1); let q = qd::atomic_add(&mut count[1], 1); t[p as usize] = s; t[q as usize] = s; }",
            &["may write `t[p]` while another writes `t[q]`"],
        ),
    ]);
}

#[test]
fn blocks_that_touch_what_another_writes_are_rejected() {
    rejected(&[
        (
            "qd::stream_parallel(|| { for i in 0..n { t[i] = s; } }); qd::stream_parallel(|| { for i in 0..n { t[i] = -s; } });",
            &["may write `t[i]` while the one at line 0 writes `t[i]`"],
        ),
        (
            "qd::stream_parallel(|| { for i in 0..n { t[i] = s; } }); qd::stream_parallel(|| { for i in 0..n { u[i] = t[i]; } });",
            &["may read `t[i]` while the one at line 0 writes `t[i]`"],
        ),
        (
            "qd::stream_parallel(|| { for i in 0..n { u[i] = t[i]; } }); qd::stream_parallel(|| { for i in 0..k { t[i] = s; } });",
            &["may write `t[i]` while the one at line 0 reads `t[i]`"],
        ),
        (
            "qd::stream_parallel(|| { count[0] = 1; }); qd::stream_parallel(|| { count[0] = 2; });",
            &["may write `count[0]` while the one at line 0 writes `count[0]`"],
        ),
        (
            "qd::stream_parallel(|| { for i in 0..n { qd::atomic_add(&mut t[0], a[i]); } }); qd::stream_parallel(|| { u[0] = t[0]; });",
            &["may read `t[0]` while the one at line 0 atomically combines into `t[0]`"],
        ),
        (
            "qd::stream_parallel(|| { for i in 0..n / 2 + 1 { t[i] = s; } }); qd::stream_parallel(|| { for i in n / 2..n { t[i] = -s; } });",
            &["may write `t[i]`"],
        ),
        (
            "qd::stream_parallel(|| { for i in 0..n { t[2 * i] = s; } }); qd::stream_parallel(|| { for i in 0..n { t[i] = s; } });",
            &["may write `t[i]` while the one at line 0 writes `t[2 * i]`"],
        ),
        (
            "let p = at.len(); qd::stream_parallel(|| { t[p] = s; }); qd::stream_parallel(|| { for i in 0..n { t[at[i] as usize + 0 * p] = a[i]; } });",
            &["by `t[at[i] + 0 * p]`", "while the one at line 0 writes `t[p]`"],
        ),
        (
            "qd::stream_parallel(|| { for i in 0..n { t[i] = s; } }); qd::stream_parallel(|| { u[0] = s; }); qd::stream_parallel(|| { for i in 0..n { cube[[0, 0, i]] = t[i] + u[0]; } });",
            &["may read `t[i]`", "may read `u[0]`"],
        ),
    ]);
}
