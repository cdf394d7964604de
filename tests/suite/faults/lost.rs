//! The device is lost at each driver call in turn: every later call fails at once and names the first
//! cause, and drops neither wait nor abort.

use quadrants::{Error, Result, Severity};
use quadrants_driver_sim::Code;
use quadrants_tests::{TestBackend, on_gpu_backends};

use super::{
    apart, calls_since, driver_error,
    scenario_env::{Fixture, N, ScenarioEnv},
    scenarios::{SCENARIOS, Scenario, sum_of_ends},
};
use crate::common::{set, three_blocks};

#[on_gpu_backends]
fn a_device_lost_at_any_driver_call_is_reported_by_all_later_calls(
    backend: TestBackend,
    #[values(None, Some(0), Some(4096))] argument_limit: Option<usize>,
) -> Result<()> {
    let Some(_on) = backend.open_simulated() else { return Ok(()) };
    let mut walked = 0;
    for (name, scenario) in SCENARIOS {
        let mut stage = ScenarioEnv::new(backend, argument_limit)?;
        let before = stage.world.all_calls();
        scenario(&mut stage)?;
        let calls = calls_since(*stage.world, &before);
        drop(stage);
        for (call, count) in calls {
            for nth in 1..=count {
                let what = format!("{backend:?}, {argument_limit:?}, {name}: {call}, number {nth}");
                apart(|| lose(backend, argument_limit, scenario, (call, nth), &what))?;
                walked += 1;
            }
        }
    }
    println!("{backend:?}, {argument_limit:?}: the device was lost at {walked} calls in turn");
    assert!(walked > 200, "{walked} calls");
    Ok(())
}

fn lose(
    backend: TestBackend,
    argument_limit: Option<usize>,
    scenario: Scenario,
    (call, nth): (&'static str, u64),
    what: &str,
) -> Result<()> {
    let mut stage = ScenarioEnv::new(backend, argument_limit)?;
    stage.world.lose(Some(call), nth, Code::LAUNCH_FAILED);
    let outcome = scenario(&mut stage);
    assert_eq!(stage.world.armed_faults(), 0, "{what}: it was not made");

    // Where the failing call can only be logged, the next call reports the loss.
    let first = match &outcome {
        Err(error) => Some(driver_error(error).expect("the driver's")),
        Ok(()) => None,
    };
    if let Some(first) = &first {
        assert_eq!(first.code, Code::LAUNCH_FAILED.0, "{what}: {outcome:?}");
        assert_eq!(outcome.as_ref().map_err(Error::severity), Err(Severity::ContextLost), "{what}");
    }
    if stage.program.is_some() {
        let cause = stays_lost(&mut stage, what)?;
        if let Some(first) = first.filter(|_| !what.contains("another program")) {
            assert_eq!(first, cause, "{what}: the first cause");
        }
    }
    // Nothing can be returned to the driver any more, but every drop ends.
    (stage.things, stage.program, stage.opened) = (None, None, None);
    let refs = stage.world.live().context_refs;
    assert!(refs == 0 || call.contains("Release"), "{what}: the context is still retained");
    assert_eq!(stage.world.reports(), [], "{what}");
    Ok(())
}

/// Every operation fails, without driver calls after the first failure; returns the first cause.
fn stays_lost(stage: &mut ScenarioEnv, what: &str) -> Result<quadrants::rhi::DriverError> {
    let ScenarioEnv { program: Some(program), things, world, .. } = stage else {
        unreachable!("asked for a program alone")
    };
    let mut cause = None;
    let mut check = |operation: &str, outcome: Result<()>| {
        let error = outcome.expect_err(operation);
        assert_eq!(error.severity(), Severity::ContextLost, "{what}: {operation}: {error:?}");
        let found = driver_error(&error).expect("the driver's");
        let first = cause.get_or_insert_with(|| found.clone());
        assert_eq!(found, *first, "{what}: {operation}");
    };
    check("a first fill", program.zeros::<f32, 1>([N]).and_then(|x| x.to_vec()).map(drop));
    let before = world.all_calls();
    check("a stream", program.create_stream().map(drop));
    check("an event", program.create_event().map(drop));
    check("a tensor", program.tensor_from(&[1.0f32; N], [N]).map(drop));
    check("waiting for the default stream", program.sync());
    check("asking the default stream", program.default_stream().query().map(drop));
    check("waiting for the device", program.device_sync());
    if let Some(Fixture { stream, x, y, z }) = things {
        check("a launch", set(1.0, x).launch_on(stream));
        check("a value", sum_of_ends(x).launch_on(stream).map(drop));
        check("a region", three_blocks(x, y, z).launch());
        check("a copy to the device", x.write(&[1.0; N]));
        check("a copy to the host", x.to_vec().map(drop));
        check("waiting for a stream", stream.synchronize());
        check("asking a stream", stream.query().map(drop));
    }
    assert_eq!(calls_since(**world, &before), [], "{what}: calls although the device is lost");
    // Another handle reports it too.
    if let Some(opened) = &stage.opened {
        let another = quadrants::Program::open(opened.clone()).map(drop);
        let error = another.expect_err("another program");
        assert_eq!(error.severity(), Severity::ContextLost, "{what}: {error:?}");
    }
    Ok(cause.expect("it was asked"))
}
