//! Mutation tests: every wait, record, synchronization and context switch that the scenarios make is ignored in
//! turn, and a scenario must fail. A call that can be ignored is superfluous or untested; those
//! that remain are listed with a reason.
//!
//! `QUADRANTS_MUTATION_SEEDS` is the number of random-schedule seeds for a call that the adversarial schedule does not
//! detect: 24 by default, 1000 for the full test.

pub(crate) mod scenarios;

use std::panic::{AssertUnwindSafe, catch_unwind};

use quadrants::{Hazards, Program, Result};
use quadrants_driver_sim::{Schedule, WorldLease};
use quadrants_tests::{TestBackend, full_size, on_gpu_backends};
use scenarios::{Outcome, SCENARIOS, Scenario};

use crate::faults::current;

/// The calls that are ignored.
const CALLS: [&str; 14] = [
    "cuStreamWaitEvent",
    "cuEventRecord",
    "cuStreamSynchronize",
    "cuEventSynchronize",
    "cuCtxSynchronize",
    "cuCtxPushCurrent_v2",
    "cuCtxPopCurrent_v2",
    "cuCtxSetCurrent",
    "hipStreamWaitEvent",
    "hipEventRecord",
    "hipStreamSynchronize",
    "hipEventSynchronize",
    "hipDeviceSynchronize",
    "hipSetDevice",
];

/// Calls that no scenario detects when ignored, and why they stay.
struct UndetectedCall {
    /// The only scenario that it applies to.
    scenario: Option<&'static str>,
    /// The end of the function's name.
    call: &'static str,
    /// The call that it precedes: the next one that does not switch contexts.
    before: &'static [&'static str],
    reason: &'static str,
}

const KEPT: &[UndetectedCall] = &[
    UndetectedCall {
        scenario: None,
        call: "hipSetDevice",
        before: &[
            "hipStreamQuery",
            "hipStreamSynchronize",
            "hipStreamWaitEvent",
            "hipStreamDestroy",
            "hipEventRecord",
            "hipEventQuery",
            "hipEventSynchronize",
            "hipEventDestroy",
            "hipModuleGetFunction",
            "hipModuleUnload",
            "hipGraphExecDestroy",
            "hipGraphDestroy",
        ],
        reason: "a handle names its device; but 0 is the current one's default stream, and one rule holds for all",
    },
    UndetectedCall {
        scenario: None,
        call: "hipSetDevice",
        before: &["hipFreeAsync"],
        reason: "a free that fails is made again behind a wait",
    },
    UndetectedCall {
        scenario: None,
        call: "hipSetDevice",
        before: &["hipEventCreateWithFlags"],
        reason: "an event of another device that is never recorded, which is all the runner wants of it",
    },
    UndetectedCall {
        scenario: None,
        call: "StreamSynchronize",
        before: &["cuStreamSynchronize", "hipStreamSynchronize"],
        reason: "the context's end, whose streams have no work left; but HIP does not promise to run what they have",
    },
    UndetectedCall {
        scenario: Some("values"),
        call: "StreamSynchronize",
        before: &["cuModuleUnload", "hipModuleUnload"],
        reason: "the default stream's block was given back behind the wait for the value, and counts as used",
    },
];

/// A call that is ignored: the function, and which of its calls.
type Mutant = Option<(&'static str, u64)>;
/// The calls that opening the program makes, and all.
type Calls = (usize, Vec<&'static str>);
type ScenarioResult = std::result::Result<Calls, String>;

#[on_gpu_backends]
fn every_wait_record_and_context_switch_is_necessary(
    backend: TestBackend,
    #[values(None, Some(0))] limit: Option<usize>,
) -> Result<()> {
    let Some(_on) = backend.open_simulated() else { return Ok(()) };
    // Argument buffers are the same code on both backends.
    if limit.is_some() && backend == TestBackend::AmdGpu && !full_size() {
        return Ok(());
    }
    let seeds = std::env::var("QUADRANTS_MUTATION_SEEDS").ok().and_then(|text| text.parse().ok());
    let tries = [Schedule::Adversarial, Schedule::Lazy, Schedule::Eager].map(|how| (how, 0));
    let random = (0..seeds.unwrap_or(24)).map(|seed| (Schedule::Random, seed));
    let tries: Vec<(Schedule, u64)> = tries.into_iter().chain(random).collect();
    let (mut made, mut killed, mut kept, mut survivors) = (0, 0, Vec::new(), Vec::new());
    let (mut staging_is_needed, mut fills_are_needed, mut memory_is_needed) = (false, false, 0);
    for (name, hazards, scenario) in SCENARIOS {
        let apart = |how: &(Schedule, u64), mutant| {
            apart(backend, (limit, hazards), scenario, *how, mutant)
        };
        let whole = tries[..4].iter().map(|how| {
            let whole = apart(how, None);
            whole.unwrap_or_else(|wrong| panic!("{name}, {how:?}: without a mutation: {wrong}"))
        });
        let (opening, calls) = whole.collect::<Vec<_>>().swap_remove(0);
        for (at, call) in calls.iter().enumerate().filter(|(_, call)| CALLS.contains(call)) {
            // Calls that all scenarios make are tested in one scenario only, and long copies are slow.
            let again = at < opening && name != scenarios::A_REPORT;
            let long = name == scenarios::LONG_COPIES;
            if again || (long && !call.ends_with("StreamSynchronize")) {
                continue;
            }
            made += 1;
            let nth = calls[..=at].iter().filter(|other| *other == call).count() as u64;
            // No schedule is expected to detect a call that is kept.
            let kept_reason = kept_for(name, &calls, at);
            let tries = match (long, kept_reason) {
                (true, _) => &tries[..2],
                (false, Some(_)) => &tries[..4],
                (false, None) => &tries[..],
            };
            if tries.iter().any(|how| apart(how, Some((call, nth))).is_err()) {
                killed += 1;
                staging_is_needed |= releases_staging(&calls, at);
                fills_are_needed |= releases_fill(&calls, at);
                let is_again = name == scenarios::MEMORY_AGAIN;
                memory_is_needed += usize::from(is_again && releases_memory(&calls, at));
                continue;
            }
            let which = format!("{name}: {call}, number {nth}, in front of {}", next(&calls, at).1);
            match kept_reason {
                Some(reason) => kept.push(format!("{which}: {reason}")),
                None => survivors.push(which),
            }
        }
    }
    println!(
        "{backend:?}, {limit:?}: {made} calls ignored in turn, {killed} missed, {} kept",
        kept.len()
    );
    for kept in &kept {
        println!("kept: {kept}");
    }
    assert!(survivors.is_empty(), "not missed:\n{}", survivors.join("\n"));
    assert!(staging_is_needed, "no scenario used staging memory again");
    assert!(fills_are_needed, "no scenario used a first fill on another stream");
    // Each of three readers was the last one once, and one was at work when the memory was freed.
    assert!(memory_is_needed >= 4, "{memory_is_needed} records keep memory from its next user");
    Ok(())
}

/// The call that it precedes, and its index.
fn next(calls: &[&'static str], at: usize) -> (usize, &'static str) {
    let later = calls.iter().enumerate().skip(at + 1);
    later
        .map(|(at, call)| (at, *call))
        .find(|(_, call)| !is_switch(call))
        .unwrap_or((at, "the end"))
}

/// Why an undetected call is kept. A context switch is kept with the call that it precedes.
fn kept_for(scenario: &str, calls: &[&'static str], at: usize) -> Option<&'static str> {
    let (next_at, next) = next(calls, at);
    let is_it = |kept: &&UndetectedCall| {
        calls[at].ends_with(kept.call)
            && kept.before.contains(&next)
            && kept.scenario.is_none_or(|only| only == scenario)
    };
    if releases_staging(calls, at) {
        return Some("the event of staging memory that no later copy of the scenario uses");
    }
    if releases_fill(calls, at) {
        return Some("the event of a first fill that no other stream of the scenario uses");
    }
    let drops = [
        scenarios::COPIES,
        scenarios::FIRST_FILLS,
        scenarios::MEMORY_AGAIN,
        scenarios::HOST_REGIONS,
        scenarios::PINNED_MEMORY,
    ];
    if releases_memory(calls, at) && drops.contains(&scenario) {
        return Some(
            "the event of memory that is used again after a wait, in stream order, or never",
        );
    }
    let found = KEPT.iter().find(is_it).map(|kept| kept.reason);
    let made_for = calls[at].ends_with("PushCurrent_v2") && next_at > at;
    found.or_else(|| if made_for { kept_for(scenario, calls, next_at) } else { None })
}

/// Whether the call records the event after which an upload's staging memory is used again.
fn releases_staging(calls: &[&'static str], at: usize) -> bool {
    let mut before = calls[..at].iter().rev();
    let before = before.find(|call| !is_switch(call) && !call.contains("EventCreate"));
    calls[at].ends_with("EventRecord")
        && before.is_some_and(|call| call.contains("MemcpyHtoDAsync"))
}

/// Whether the call records the event after which other streams may use a new tensor.
fn releases_fill(calls: &[&'static str], at: usize) -> bool {
    let before = |at: &usize| !is_switch(calls[*at]) && !calls[*at].contains("EventCreate");
    let Some(before) = (0..at).rev().find(before) else { return false };
    calls[at].ends_with("EventRecord")
        && (calls[before].contains("Memset") || releases_staging(calls, before))
}

/// Whether the call records an event after which a dropped tensor's memory is used again. All other records are behind
/// an upload, or in front of a wait.
fn releases_memory(calls: &[&'static str], at: usize) -> bool {
    let mut later = calls[at + 1..].iter().filter(|call| !is_switch(call));
    calls[at].ends_with("EventRecord")
        && !releases_staging(calls, at)
        && !releases_fill(calls, at)
        && later.next().is_none_or(|call| !call.ends_with("StreamWaitEvent"))
}

fn is_switch(call: &str) -> bool {
    call.starts_with("cuCtx") && !call.ends_with("Synchronize")
        || ["hipSetDevice", "hipGetDevice"].contains(&call)
}

/// On its own thread: the current context may be left changed.
fn apart(
    backend: TestBackend,
    options: (Option<usize>, Hazards),
    scenario: Scenario,
    how: (Schedule, u64),
    mutant: Mutant,
) -> ScenarioResult {
    let run = || run(backend, options, scenario, how, mutant);
    std::thread::scope(|scope| scope.spawn(run).join())
        .unwrap_or_else(|_| Err("a panic".to_owned()))
}

/// Runs a scenario in a new world.
fn run(
    backend: TestBackend,
    (limit, hazards): (Option<usize>, Hazards),
    scenario: Scenario,
    (schedule, seed): (Schedule, u64),
    mutant: Mutant,
) -> ScenarioResult {
    let (world, opened) = backend.simulated_device();
    world.allow_races();
    world.set_schedule(schedule);
    world.set_seed(seed);
    let before = current(backend);
    let calls_before = world.call_log();
    if let Some((call, nth)) = mutant {
        world.ignore(call, nth);
    }
    let mut opening = 0;
    let body = || -> Outcome {
        let builder = Program::builder().hazards(hazards);
        let builder = match limit {
            Some(limit) => builder.argument_limit(limit),
            None => builder,
        };
        let program = builder.open(opened.clone())?;
        opening = world.call_log().len() - calls_before.len();
        scenario(&program)?;
        // If a drop found the context lost, the next call reports it.
        program.create_event()?;
        match program.take_deferred_errors().pop() {
            Some(error) => Err(error.into()),
            None => Ok(()),
        }
    };
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => judge(&world)?,
        Ok(Err(error)) => return Err(format!("error: {error}")),
        Err(_) => return Err("a panic".to_owned()),
    }
    // The device is dropped last, with CUDA's context and everything leaked in it.
    drop(opened);
    judge(&world)?;
    if current(backend) != before {
        return Err("another context is current".to_owned());
    }
    Ok((opening, world.call_log().split_off(calls_before.len())))
}

/// The world's reports about a program that was dropped.
fn judge(world: &WorldLease) -> std::result::Result<(), String> {
    if let Some(race) = world.races().first() {
        return Err(race.to_string());
    }
    if let Some(report) = world.reports().first() {
        return Err(report.to_string());
    }
    for left in [world.live(), world.left_behind()] {
        let things =
            [left.streams, left.events, left.modules, left.blocks, left.pinned, left.pending];
        if things != [0; 6] || left.graphs + left.graph_execs > 0 {
            return Err(format!("left behind: {left:?}"));
        }
    }
    Ok(())
}
