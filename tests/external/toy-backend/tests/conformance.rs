//! The toy backend passes the suite, and a device that violates a guarantee fails the case of that guarantee.

use std::sync::Arc;

use quadrants_conformance::{
    AddKernel, CASES, Outcome, Subject, conformance_tests,
    rhi::{Driver, Image, NativeCall, NativeFunction, NativeImage},
};
use toy_backend::{Guarantee, Toy};

conformance_tests!(toy);

fn toy(_case: &str) -> Option<Subject> {
    Some(subject(None))
}

fn subject(broken: Option<Guarantee>) -> Subject {
    let device = Toy(broken).open(0).expect("there is one");
    Subject { device, peer: None, add: Some(add()), keep: None }
}

/// `for i in 0..n { p[i] += k }` on arguments `p, n, k`.
fn add() -> AddKernel {
    let entry = |call: &NativeCall<'_>| {
        let [p, n, k] = *call.args else { panic!("{} arguments", call.args.len()) };
        for at in 0..n as usize {
            // SAFETY: `p` has `n` words, and no other code accesses them concurrently.
            unsafe {
                let word = (p as *mut u32).add(at);
                word.write(word.read().wrapping_add(k as u32));
            }
        }
    };
    let function = NativeFunction { name: "add".to_owned(), entry: Arc::new(entry) };
    AddKernel {
        image: Image::Native(NativeImage { functions: vec![function] }),
        function: "add".to_owned(),
        args: |p, n, k| vec![p, n, u64::from(k)],
        block_dim: 64,
    }
}

/// The names and messages of the cases that fail.
fn failures(broken: Guarantee) -> Vec<String> {
    let failed = CASES.iter().filter_map(|case| match (case.run)(&subject(Some(broken))) {
        Ok(Outcome::Passed | Outcome::Skipped(_)) => None,
        Err(failure) => Some(format!("{}: {failure}", case.name)),
    });
    failed.collect()
}

#[test]
fn a_broken_guarantee_fails_its_case() {
    for (broken, expected) in [
        (Guarantee::Waits, "ordering::a_consumer_waits_for_its_producer: in round 1 the consumer ran before the producer"),
        (Guarantee::Records, "ordering::a_wait_keeps_the_record_it_was_made_for: in round 1 the wait was for the later record"),
        (Guarantee::LastWork, "streams::a_destroyed_stream_finishes_its_work: its work was lost"),
        (Guarantee::Arguments, "launches::launches_on_two_streams_have_their_own_arguments: "),
        (Guarantee::Memory, "memory::an_allocation_of_zero_bytes_is_an_error: alloc(0) is not an InvalidArgument"),
        (Guarantee::Memory, "memory::pinned_memory_is_zeroed_and_separate: "),
    ] {
        let failed = failures(broken);
        println!("{broken:?}: {failed:#?}");
        assert!(failed.iter().any(|one| one.starts_with(expected)), "{broken:?}: {failed:#?}");
    }
}
