//! The generator: its modules depend only on the seed, parse as Rust, and cover the grammar.

use crate::{Coverage, Module, traps::TRAPS};

#[test]
fn the_same_seed_and_number_give_the_same_module() {
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
fn a_module_with_a_kind_of_trap_has_a_trap_of_that_kind() {
    for (kind, _) in TRAPS {
        for number in 0..5 {
            let module = Module::new(1, number, Some(kind));
            let label = module.traps.first().expect("it has one");
            assert!(label.starts_with(&format!("{kind}/")), "{label}");
        }
    }
}

#[test]
fn all_modules_parse_as_rust() {
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
