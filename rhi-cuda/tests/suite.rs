//! The conformance suite on the simulator and on the installed driver, and tests of the CUDA backend.

#[path = "../../conformance/fixtures/installed.rs"]
mod installed;
#[path = "../../conformance/fixtures/selected.rs"]
mod selected;
#[path = "../../conformance/fixtures/simulated.rs"]
mod simulated;

#[path = "suite/broken.rs"]
mod broken;
#[path = "suite/context.rs"]
mod context;
#[path = "suite/pools.rs"]
mod pools;
#[path = "suite/support.rs"]
mod support;
#[path = "suite/system.rs"]
mod system;

use quadrants_conformance::CASES;
use quadrants_driver_sim::Schedule;

mod lazy {
    fn subject(_case: &str) -> Option<quadrants_conformance::Subject> {
        crate::selected::is_selected("cuda")
            .then(|| crate::support::subject(quadrants_driver_sim::Schedule::Lazy, 0))
    }
    quadrants_conformance::conformance_tests!(subject);
}

/// Other schedules, so that no case passes only because of the lazy schedule's order.
#[test]
fn every_case_passes_on_other_schedules() {
    if !crate::selected::is_selected("cuda") {
        return;
    }
    let schedules = (0..10).map(|seed| (Schedule::Random, seed)).chain([(Schedule::Eager, 0)]);
    for (schedule, seed) in schedules {
        for case in CASES {
            if let Err(failure) = (case.run)(&support::subject(schedule, seed)) {
                panic!("{} with {schedule:?}, seed {seed}: {failure}", case.name);
            }
        }
    }
}
