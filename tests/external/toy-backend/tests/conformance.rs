//! The toy passes the suite, and one that breaks a promise fails the case of that promise, by its name.

use std::sync::Arc;

use quadrants_conformance::{
    AddKernel, CASES, Outcome, Subject, conformance_tests,
    rhi::{Driver, Image, NativeCall, NativeFunction, NativeImage},
};
use toy_backend::{Promise, Toy};

conformance_tests!(toy);

fn toy(_case: &str) -> Option<Subject> {
    Some(subject(None))
}

fn subject(broken: Option<Promise>) -> Subject {
    let device = Toy(broken).open(0).expect("there is one");
    Subject { device, add: Some(add()), keep: None }
}

/// `for i in 0..n { p[i] += k }` on arguments `p, n, k`.
fn add() -> AddKernel {
    let entry = |call: &NativeCall<'_>| {
        let [p, n, k] = *call.args else { panic!("{} arguments", call.args.len()) };
        for at in 0..n as usize {
            // SAFETY: `p` has `n` words, which nothing else uses at the same time.
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

/// The cases that fail, with what they say.
fn failures(broken: Promise) -> Vec<String> {
    let failed = CASES.iter().filter_map(|case| match (case.run)(&subject(Some(broken))) {
        Ok(Outcome::Passed | Outcome::Skipped(_)) => None,
        Err(failure) => Some(format!("{}: {failure}", case.name)),
    });
    failed.collect()
}

#[test]
fn what_breaks_a_promise_fails_by_its_name() {
    for (broken, expected) in [
        (Promise::Waits, "ordering::a_consumer_waits_for_its_producer: in round 1 the consumer ran before the producer"),
        (Promise::Records, "ordering::a_wait_keeps_the_record_it_was_made_for: in round 1 the wait was for the later record"),
        (Promise::LastWork, "streams::a_destroyed_stream_finishes_its_work: its work was lost"),
        (Promise::Arguments, "launches::launches_on_two_streams_have_their_own_arguments: "),
        (Promise::Memory, "memory::an_allocation_of_nothing_is_refused: alloc(0) was not refused"),
        (Promise::Memory, "memory::pinned_memory_is_zeroed_and_its_own: "),
    ] {
        let failed = failures(broken);
        println!("{broken:?}: {failed:#?}");
        assert!(failed.iter().any(|one| one.starts_with(expected)), "{broken:?}: {failed:#?}");
    }
}
