//! The generator itself: what it draws is the same for the same seed, is Rust, and is all of the grammar.

use crate::{Coverage, Module, collide::WAYS};

#[test]
fn a_seed_and_a_number_are_all_of_a_module() {
    for number in 0..50 {
        let (one, other) = (Module::new(3, number, None), Module::new(3, number, None));
        assert_eq!(one.source, other.source);
    }
    assert_ne!(Module::new(3, 0, None).source, Module::new(4, 0, None).source);
    assert_ne!(Module::new(3, 0, None).source, Module::new(3, 1, None).source);
}

#[test]
fn every_production_is_reached() {
    let mut coverage = Coverage::default();
    for number in 0..2000 {
        coverage.add(&Module::new(1, number, None).coverage);
    }
    let unused: Vec<_> =
        coverage.all().into_iter().filter(|(_, count)| *count == 0).map(|(name, _)| name).collect();
    assert!(unused.is_empty(), "never used: {unused:?}");
}

#[test]
fn a_module_can_be_asked_for_by_the_way_of_its_trap() {
    for (way, _) in WAYS {
        for number in 0..5 {
            let module = Module::new(1, number, Some(way));
            let label = module.traps.first().expect("it has one");
            assert!(label.starts_with(&format!("{way}/")), "{label}");
        }
    }
}

#[test]
fn what_is_drawn_is_rust() {
    for number in 0..300 {
        let module = Module::new(2, number, None);
        if let Err(error) = syn::parse_file(&module.source) {
            panic!("number {number}: {error}\n{}", module.source);
        }
    }
}

#[test]
fn each_known_defect_has_a_trap() {
    for bug in 1..=4 {
        let found = (0..400).any(|number| Module::new(1, number, None).bugs.contains(&bug));
        assert!(found, "defect {bug}");
    }
}
