//! The disjointness test against an enumeration of all iterations of small loops.

use quadrants_ir::races::{AffineForm, Var, VarKind, VarSpace, disjoint, disjoint_in_loop};

use quadrants_samples::generate::Rng;

/// Ranges of variables, those of the parallel loop first.
struct Small {
    parallel: Vec<(i128, i128)>,
    inner: Vec<(i128, i128)>,
}

/// A coefficient per variable, and a constant.
type Linear = (Vec<i128>, i128);

impl Small {
    fn draw(random: &mut Rng) -> Self {
        let range = |random: &mut Rng| {
            let first = i128::from(random.below(4));
            (first, first + i128::from(random.below(6)))
        };
        let parallel = (0..1 + random.below(2)).map(|_| range(random)).collect();
        let inner = (0..random.below(2)).map(|_| range(random)).collect();
        Self { parallel, inner }
    }

    fn linear(&self, random: &mut Rng) -> Linear {
        let count = self.parallel.len() + self.inner.len();
        let coefs = (0..count).map(|_| {
            let size = [0, 0, 1, 1, 1, 2, 3, 4, 6][random.below(9) as usize];
            if random.below(5) == 0 { -size } else { size }
        });
        (coefs.collect(), i128::from(random.below(7)))
    }

    fn space(&self) -> VarSpace {
        let mut space = VarSpace::new();
        for (kind, ranges) in [(VarKind::Parallel, &self.parallel), (VarKind::Inner, &self.inner)] {
            for (first, last) in ranges {
                space.push(Var::new(kind, *first, *last)).unwrap();
            }
        }
        space
    }

    /// Every iteration, with all values of an index in it.
    fn iterations(&self, index: &[Linear]) -> Vec<(Vec<i128>, Vec<i128>)> {
        let mut values: Vec<Vec<i128>> = vec![Vec::new()];
        for (first, last) in self.parallel.iter().chain(&self.inner) {
            let with = |v: &Vec<i128>| -> Vec<Vec<i128>> {
                (*first..=*last).map(|x| [&v[..], &[x]].concat()).collect()
            };
            values = values.iter().flat_map(with).collect();
        }
        let at = |values: &Vec<i128>| {
            let one = |(coefs, constant): &Linear| {
                coefs.iter().zip(values).map(|(c, v)| c * v).sum::<i128>() + constant
            };
            (values[..self.parallel.len()].to_vec(), index.iter().map(one).collect())
        };
        values.iter().map(at).collect()
    }
}

fn forms(index: &[Linear]) -> Vec<Option<AffineForm>> {
    let form = |(coefs, constant): &Linear| {
        coefs.iter().enumerate().try_fold(AffineForm::constant(*constant), |sum, (at, coef)| {
            sum.add(AffineForm::var(at).mul(AffineForm::constant(*coef))?)
        })
    };
    index.iter().map(form).collect()
}

#[test]
fn disjoint_accesses_of_a_loop_never_touch_the_same_element() {
    let mut random = Rng::new(11);
    let (mut fine, mut refused, mut racing) = (0, 0, 0);
    for case in 0..20_000 {
        let small = Small::draw(&mut random);
        let rank = 1 + random.below(2);
        let a: Vec<Linear> = (0..rank).map(|_| small.linear(&mut random)).collect();
        let mut b = a.clone();
        match random.below(3) {
            0 => {}
            1 => b.iter_mut().for_each(|b| b.1 = i128::from(random.below(7))),
            _ => b = (0..rank).map(|_| small.linear(&mut random)).collect(),
        }
        let (of_a, of_b) = (small.iterations(&a), small.iterations(&b));
        let meet = of_a.iter().any(|(u, x)| of_b.iter().any(|(v, y)| u != v && x == y));
        let disjoint = disjoint_in_loop(&small.space(), &forms(&a), &forms(&b));
        assert!(!(meet && disjoint), "case {case}: {a:?} and {b:?} over {:?}", small.parallel);
        match (meet, disjoint) {
            (true, _) => racing += 1,
            (_, true) => fine += 1,
            _ => refused += 1,
        }
    }
    println!(
        "of {} pairs that never meet, {refused} were not proven; {racing} meet",
        fine + refused
    );
    assert!(refused * 4 < fine, "too many are refused: {refused} beside {fine}");
    assert!(racing > 2_000 && fine > 2_000);
}

#[test]
fn disjoint_accesses_of_concurrent_blocks_never_touch_the_same_element() {
    let mut random = Rng::new(12);
    let (mut fine, mut refused) = (0, 0);
    for case in 0..20_000 {
        let (first, second) = (Small::draw(&mut random), Small::draw(&mut random));
        let mut a = first.linear(&mut random);
        a.1 += i128::from(random.below(20));
        let b = second.linear(&mut random);
        let (a, b) = ([a], [b]);
        let (of_a, of_b) = (first.iterations(&a), second.iterations(&b));
        let meet = of_a.iter().any(|(_, x)| of_b.iter().any(|(_, y)| x == y));
        let disjoint = disjoint(&first.space(), &forms(&a), &second.space(), &forms(&b));
        assert!(!(meet && disjoint), "case {case}: {a:?} and {b:?}");
        fine += u32::from(disjoint);
        refused += u32::from(!meet && !disjoint);
    }
    println!("of {} pairs that never meet, {refused} were not proven", fine + refused);
    assert!(refused * 4 < fine, "too many are refused: {refused} beside {fine}");
}

#[test]
fn quotients_and_remainders_split_a_variable() {
    let loop_of = |count: i128| {
        let mut space = VarSpace::new();
        let i = space.push(Var::new(VarKind::Parallel, 0, count - 1)).unwrap();
        (space, AffineForm::var(i))
    };
    let (mut space, i) = loop_of(1000);
    let (row, column) = space.div_rem(i, 32).unwrap();
    let whole = [Some(row), Some(column)];
    assert!(disjoint_in_loop(&space, &whole, &whole));
    assert!(!disjoint_in_loop(&space, &whole[..1], &whole[..1]));
    assert!(!disjoint_in_loop(&space, &whole[1..], &whole[1..]));
    // Recombined, it is the variable again.
    let flat = row.mul(AffineForm::constant(32)).and_then(|row| row.add(column));
    assert!(disjoint_in_loop(&space, &[flat], &[Some(i)]));

    // In two steps: i = (z * 5 + y) * 7 + x
    let (mut space, i) = loop_of(5 * 7 * 9);
    let (rest, x) = space.div_rem(i, 7).unwrap();
    let (z, y) = space.div_rem(rest, 5).unwrap();
    assert!(disjoint_in_loop(&space, &[Some(z), Some(y), Some(x)], &[Some(z), Some(y), Some(x)]));
    assert!(!disjoint_in_loop(&space, &[Some(z), None, Some(x)], &[Some(z), None, Some(x)]));
    // The large steps first
    let (mut space, i) = loop_of(5 * 7 * 9);
    let (z, _) = space.div_rem(i, 35).unwrap();
    let (rest, x) = space.div_rem(i, 7).unwrap();
    let (_, y) = space.div_rem(rest, 5).unwrap();
    assert!(disjoint_in_loop(&space, &[Some(z), Some(y), Some(x)], &[Some(z), Some(y), Some(x)]));

    let (mut space, i) = loop_of(30);
    assert_eq!(space.div_rem(i, 32), Some((AffineForm::constant(0), i)));
    assert_eq!(space.div_rem(i.sub(AffineForm::constant(1)).unwrap(), 4), None);
}

#[test]
fn disjointness_accounts_for_indices_modulo_2_64() {
    let mut space = VarSpace::new();
    let i = space.push(Var::new(VarKind::Parallel, 0, (1 << 63) + 1)).unwrap();
    let i = AffineForm::var(i);
    assert!(disjoint_in_loop(&space, &[Some(i)], &[Some(i)]));
    // 2 i wraps: the iterations 0 and 2⁶³ meet.
    let double = i.add(i);
    assert!(!disjoint_in_loop(&space, &[double], &[double]));
    let huge = i.mul(AffineForm::constant(i128::MAX));
    assert!(!disjoint_in_loop(&space, &[huge], &[huge]));
    let far = i.add(AffineForm::constant(1 << 64));
    assert!(!disjoint_in_loop(&space, &[Some(i)], &[far]));
}

#[test]
fn a_fixed_variable_is_equal_within_a_loop_but_not_across_loops() {
    let mut space = VarSpace::new();
    let i = AffineForm::var(space.push(Var::new(VarKind::Parallel, 0, 9)).unwrap());
    let k = AffineForm::var(space.push(Var::new(VarKind::Fixed, 0, (1 << 64) - 1)).unwrap());
    let shifted = i.add(k);
    assert!(disjoint_in_loop(&space, &[shifted], &[shifted]));
    assert!(!disjoint_in_loop(&space, &[shifted], &[Some(i)]));
    assert!(!disjoint(&space, &[shifted], &space, &[i.add(AffineForm::constant(100))]));
}

#[test]
fn a_sum_below_the_divisor_of_all_other_terms_is_zero() {
    // `y[[left + h, top + l]]`, where `left` is any multiple of 16 in any iteration.
    let turned = |rows: i128| {
        let mut space = VarSpace::new();
        let mut var = |kind, last| {
            AffineForm::var(space.push(Var::new(kind, 0, last)).expect("there is room"))
        };
        let (block, high) = (var(VarKind::Parallel, 9), var(VarKind::Parallel, rows - 1));
        let (low, left) = (var(VarKind::Parallel, 15), var(VarKind::Inner, 7));
        let times = |form: AffineForm| form.mul(AffineForm::constant(16)).expect("small");
        let index =
            [times(left).add(high), times(block).add(low)].map(|form| Some(form.expect("small")));
        disjoint_in_loop(&space, &index, &index)
    };
    assert!(turned(16));
    assert!(!turned(17));
}
