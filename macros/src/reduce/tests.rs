//! Which atomics are recognized as reductions.

use super::{ReductionPlace, find};

fn found(each: &syn::ExprForLoop) -> Vec<String> {
    let text = |of: &super::LoopReduction| match &of.target {
        ReductionPlace::Element { tensor, index } => format!("{tensor}[{index}]"),
        ReductionPlace::Local { name, .. } => name.to_string(),
    };
    find(each, false).iter().map(text).collect()
}

#[test]
fn atomics_on_the_same_element_in_all_iterations_are_reductions() {
    let each = syn::parse_quote!(for i in 0..x.len() {
        atomic_add(&mut a[K], x[i]);
        atomic_add(&mut b[[0, (N)]], x[i]);
        qd::atomic_min(&mut c[of::K as usize], x[i]);
        atomic_max(&mut d[chosen], x[i]);
    });
    assert_eq!(found(&each), ["a[K]", "b[[0 , (N)]]", "c[of :: K as usize]", "d[chosen]"]);
}

#[test]
fn atomics_on_elements_that_iterations_choose_are_not_reductions() {
    let each = syn::parse_quote!(for i in 0..x.len() {
        const INNER: usize = 1;
        let chosen = x[i] as usize;
        atomic_add(&mut a[i], 1);
        atomic_add(&mut b[chosen], 1);
        atomic_add(&mut c[INNER], 1);
        atomic_add(&mut d[K + 1], 1);
        atomic_add(&mut e[K], 1);
        atomic_add(&mut e[L], 1);
    });
    assert_eq!(found(&each), [""; 0]);
}
