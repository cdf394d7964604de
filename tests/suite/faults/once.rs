//! Each driver call fails once: the error is that of the call, nothing leaks, and the next launch works.

use std::collections::HashSet;

use quadrants::{Error, Result, Severity};
use quadrants_driver_sim::{Code, OpKind, World};
use quadrants_tests::{TestBackend, on_gpu_backends};

use super::{
    apart, calls_since, current, driver_error,
    scenario_env::{Fixture, N, ScenarioEnv},
    scenarios::{SCENARIOS, Scenario, sum_of_ends},
};
use crate::common::{set, three_blocks};

/// Failures of these calls are only logged: they restore the context, or are optional.
const LOGGED: [&str; 2] = ["cuCtxPopCurrent_v2", "hipSetDevice"];
/// If these fail, the driver keeps an object.
const GIVES_BACK: [&str; 6] = ["Destroy", "Free", "Unload", "PushCurrent", "SetDevice", "Release"];

#[on_gpu_backends]
fn any_driver_call_may_fail_once_without_leaks(
    backend: TestBackend,
    #[values(None, Some(0), Some(4096))] argument_limit: Option<usize>,
    #[values(Code::UNKNOWN, Code::OUT_OF_MEMORY)] code: Code,
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
            if code == Code::OUT_OF_MEMORY && !may_be_out_of_memory(call) {
                continue;
            }
            for nth in 1..=count {
                let what = format!("{backend:?}, {argument_limit:?}, {name}: {call}, number {nth}");
                apart(|| fail(backend, argument_limit, scenario, (call, nth, code), &what))?;
                walked += 1;
            }
        }
    }
    println!("{backend:?}, {argument_limit:?}, {code:?}: {walked} calls failed in turn");
    assert!(walked > 20, "{walked} calls");
    Ok(())
}

/// Whether a call takes memory, the driver's own included.
fn may_be_out_of_memory(call: &str) -> bool {
    ["lloc", "Create", "Launch", "Load", "Retain"].iter().any(|takes| call.contains(takes))
}

fn fail(
    backend: TestBackend,
    argument_limit: Option<usize>,
    scenario: Scenario,
    (call, nth, code): (&'static str, u64, Code),
    what: &str,
) -> Result<()> {
    let current_before = current(backend);
    let mut stage = ScenarioEnv::new(backend, argument_limit)?;
    let mut users = HashSet::from([0, stage.things.as_ref().map_or(0, |t| t.stream.handle().0)]);
    let launched = launches(*stage.world);
    stage.world.fail(call, nth, code);
    let outcome = scenario(&mut stage);
    assert_eq!(stage.world.armed_faults(), 0, "{what}: it was not made");

    // The error is reported, and it is that of the call.
    if let Err(Error::Launch { kernel, started, .. }) = &outcome {
        let its = |(name, _): &&(String, u64)| {
            name.strip_prefix(kernel.as_str()).is_some_and(|rest| rest.starts_with('_'))
        };
        let count = |all: &[(String, u64)]| all.iter().filter(its).map(|(_, n)| n).sum::<u64>();
        let began = count(&launches(*stage.world)) > count(&launched);
        // Where a scenario launches it more than once, an earlier launch may have begun.
        let earlier = what.contains(" graph") && began;
        assert!(*started == began || earlier, "{what}: {outcome:?}");
    }
    let mut errors = stage.program.as_ref().map(|p| p.take_deferred_errors()).unwrap_or_default();
    errors.extend(outcome.err());
    let told = errors
        .iter()
        .filter_map(driver_error)
        .any(|error| error.symbol == call && error.code == code.0 && !error.call.is_empty());
    // An allocation is retried after a wait. Failures after the end of a program are only logged.
    let retried = code == Code::OUT_OF_MEMORY && call.contains("llocAsync");
    // A rejected graph is counted, and events replace it.
    let refused = |program: &quadrants::Program| program.region_statistics().graphs_refused;
    let counted = call.contains("Graph") && stage.program.as_ref().map(refused) == Some(1);
    let logged = LOGGED.contains(&call) || stage.program.is_none() || what.contains("another");
    assert!(told || retried || logged || counted, "{what}: {errors:?}");
    assert!(errors.iter().all(|e| e.severity() != Severity::ContextLost), "{what}: {errors:?}");
    assert!(current(backend) == current_before || LOGGED.contains(&call), "{what}: current");

    // No part of the launch is left on a stream that nothing waits for. A first fill may be: it is on the stream that
    // allocated the memory, and whatever uses or frees the memory waits for it.
    let trace = stage.world.trace();
    let allocations = trace.records().iter().filter(|record| record.kind == OpKind::Alloc);
    users.extend(allocations.map(|record| record.stream));
    let unjoined: HashSet<u64> = stage.world.unjoined().into_iter().collect();
    assert!(unjoined.is_subset(&users), "{what}: {unjoined:x?} is waited for by none");

    if stage.program.is_some() {
        next_works(&mut stage, what)?;
    }

    // Nothing leaks, except objects whose destruction or context switch failed.
    (stage.things, stage.program, stage.opened) = (None, None, None);
    let refused = GIVES_BACK.iter().any(|back| call.contains(back));
    let left: usize = stage.left().iter().sum();
    assert!(left <= usize::from(refused), "{what}: left {:?}", stage.left());
    assert_eq!(stage.world.reports(), [], "{what}");
    let waited = !refused && !call.contains("Synchronize");
    assert!(stage.world.live().pending == 0 || !waited, "{what}: work that nobody waited for");
    Ok(())
}

/// The next launch works on the previous current stream, and the pools have all their objects.
fn next_works(stage: &mut ScenarioEnv, what: &str) -> Result<()> {
    let Some(program) = &stage.program else { return Ok(()) };
    let mut next = program.tensor_from(&[1.0f32; N], [N])?;
    set(4.0, &mut next).launch()?;
    let on = stage.world.trace().launches("set_0").last().map(|launch| launch.stream);
    assert_eq!(on, Some(0), "{what}: the current stream");
    assert_eq!(next.to_vec()?, [4.0; N], "{what}");
    program.device_sync()?;
    if let Some(Fixture { stream, x, y, z }) = &mut stage.things {
        three_blocks(x, y, z).launch_on(stream)?;
        x.write(&[1.0; N])?;
        assert_eq!(sum_of_ends(x).launch_on(stream)?, 2.0, "{what}");
        // Their first fills are known to be complete, so that they keep no event.
        [x, y, z].into_iter().try_for_each(|tensor| tensor.to_vec().map(drop))?;
    }
    program.device_sync()?;
    let pools = program.pool_statistics();
    let streams = pools.streams_created - pools.streams_destroyed - pools.streams_idle as u64;
    let events = pools.events_created - pools.events_destroyed - pools.events_idle as u64;
    if stage.things.is_none() {
        assert_eq!(streams, 0, "{what}: {pools:?}");
    }
    // A worker keeps the event of its join, and a launch stream with workers that of its fork.
    assert!((streams..=2 * streams).contains(&events), "{what}: {pools:?}");
    Ok(())
}

/// How often each function was launched.
fn launches(world: World) -> Vec<(String, u64)> {
    let mut found: Vec<(String, u64)> = Vec::new();
    for record in world.trace().records() {
        let OpKind::Launch(name) = &record.kind else { continue };
        match found.iter_mut().find(|(other, _)| *other == **name) {
            Some((_, count)) => *count += 1,
            None => found.push((name.to_string(), 1)),
        }
    }
    found
}
