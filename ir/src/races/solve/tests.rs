//! The refutation procedure against an enumeration of small systems.

use std::cell::Cell;

use super::{Constraint, LinearExpr, LinearSystem, MAX_WORK};

/// A pseudorandom number below `n`.
fn below(state: &mut u64, n: u64) -> u64 {
    *state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
    (*state >> 33) % n
}

fn linear(random: &mut u64, vars: u32) -> LinearExpr {
    let mut value = LinearExpr::constant(i128::from(below(random, 15)) - 7);
    for var in 0..vars {
        let coef = [0, 0, 1, -1, 1, -1, 2, -2, 3, -4, 6][below(random, 11) as usize];
        value = value.plus(coef, &LinearExpr::var(var)).unwrap();
    }
    value
}

fn formula(random: &mut u64, vars: u32, depth: u32) -> Constraint {
    match below(random, if depth == 0 { 5 } else { 8 }) {
        0 | 1 => Constraint::Zero(linear(random, vars)),
        2..=4 => Constraint::NonNegative(linear(random, vars)),
        kind => {
            let parts = (0..2 + below(random, 2)).map(|_| formula(random, vars, depth - 1));
            if kind == 5 {
                Constraint::All(parts.collect())
            } else {
                Constraint::Any(parts.collect())
            }
        }
    }
}

fn value(linear: &LinearExpr, at: &[i128]) -> i128 {
    linear.terms().iter().map(|(var, coef)| coef * at[*var as usize]).sum::<i128>()
        + linear.constant_term()
}

fn holds(formula: &Constraint, at: &[i128]) -> bool {
    match formula {
        Constraint::NonNegative(linear) => value(linear, at) >= 0,
        Constraint::Zero(linear) => value(linear, at) == 0,
        Constraint::All(all) => all.iter().all(|each| holds(each, at)),
        Constraint::Any(any) => any.iter().any(|each| holds(each, at)),
    }
}

#[test]
fn refuted_systems_have_no_solution() {
    let mut random = 5;
    let (mut refuted, mut unsatisfiable) = (0, 0);
    for _ in 0..6_000 {
        let mut system = LinearSystem::default();
        let vars = 1 + below(&mut random, 4) as u32;
        let mut points: Vec<Vec<i128>> = vec![Vec::new()];
        for _ in 0..vars {
            let lo = i128::from(below(&mut random, 6)) - 3;
            let hi = lo + i128::from(below(&mut random, 5));
            system.variable(lo, hi);
            let with = |v: &Vec<i128>| -> Vec<Vec<i128>> {
                (lo..=hi).map(|x| [&v[..], &[x]].concat()).collect()
            };
            points = points.iter().flat_map(with).collect();
        }
        let facts: Vec<Constraint> =
            (0..1 + below(&mut random, 4)).map(|_| formula(&mut random, vars, 2)).collect();
        facts.iter().for_each(|fact| system.add(fact.clone()));
        let has_solution = points.iter().any(|at| facts.iter().all(|fact| holds(fact, at)));
        let is_refuted = system.is_refuted(&Cell::new(MAX_WORK));
        assert!(!(is_refuted && has_solution), "{system:#?}");
        refuted += u32::from(is_refuted);
        unsatisfiable += u32::from(!has_solution);
    }
    // The procedure is incomplete, but rarely fails on small systems.
    assert!(refuted * 100 >= unsatisfiable * 95, "{refuted} of {unsatisfiable}");
}

/// `2 p == 3 q` has solutions, also for values whose third exceeds 2^120.
#[test]
fn equations_of_large_values_have_their_solutions() {
    let mut system = LinearSystem::default();
    let [p, q] = [3, 2].map(|times: i128| {
        let value = times << 122;
        LinearExpr::var(system.variable(value - 9, value + 9))
    });
    let difference = p.scale(2).unwrap().plus(-3, &q).unwrap();
    system.add(Constraint::Zero(difference));
    assert!(!system.is_refuted(&Cell::new(MAX_WORK)));
}
