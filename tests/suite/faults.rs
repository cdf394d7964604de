//! Every driver call of a launch, a region, a copy and a drop fails in turn: the error is the call's own,
//! nothing is left over, and the next launch works.

use quadrants::{self as qd, Program, Result, Stream, Tensor, rhi::DriverError};
use quadrants_driver_sim::{Code, Schedule};
use quadrants_tests::TestBackend::{self, AmdGpu, Cuda};
use rstest::rstest;

use crate::common::{set, three_blocks};

const N: usize = 64;

#[qd::kernel]
fn sum_of_ends(x: &Tensor<f32, 1>) -> f32 {
    x[0] + x[x.len() - 1]
}

struct Things {
    stream: Stream,
    x: Tensor<f32, 1>,
    y: Tensor<f32, 1>,
    z: Tensor<f32, 1>,
}

type Scenario = fn(&Program, &mut Option<Things>) -> Result<()>;

/// What is done, over and over, with one call failing.
const SCENARIOS: [(&str, Scenario); 6] = [
    ("a launch", |_, things| {
        let Some(Things { stream, x, .. }) = things else { return Ok(()) };
        set(2.0, x).launch_on(stream)?;
        stream.scope(|| set(3.0, x).launch())
    }),
    ("a launch with a value", |_, things| {
        let Some(Things { stream, x, .. }) = things else { return Ok(()) };
        sum_of_ends(x).launch_on(stream).map(drop)
    }),
    ("a region", |_, things| {
        let Some(Things { stream, x, y, z }) = things else { return Ok(()) };
        three_blocks(x, y, z).launch_on(stream)
    }),
    ("copies", |program, things| {
        let Some(Things { stream, x, .. }) = things else { return Ok(()) };
        set(2.0, x).launch_on(stream)?;
        x.copy_from(&[5.0; N])?;
        x.to_vec()?;
        program.tensor_from(&[1.0f32; N], [N])?.to_vec().map(drop)
    }),
    ("events", |program, things| {
        let Some(Things { stream, x, .. }) = things else { return Ok(()) };
        let event = program.create_event()?;
        set(2.0, x).launch_on(stream)?;
        event.record(stream)?;
        event.wait(program.default_stream())?;
        event.synchronize()
    }),
    ("drops", |_, things| {
        if let Some(Things { stream, x, y, z }) = things {
            three_blocks(x, y, z).launch_on(stream)?;
        }
        *things = None;
        Ok(())
    }),
];

/// A program of its own in a world of its own, with every kernel compiled and every pool warm.
struct Stage {
    // The world goes last: the program gives back into it.
    things: Option<Things>,
    program: Option<Program>,
    world: quadrants_driver_sim::Claim,
}

impl Stage {
    fn new(backend: TestBackend, argument_limit: Option<usize>, seed: u64) -> Result<Self> {
        let (opened, world) = backend.simulated_device();
        world.set_schedule(Schedule::Random);
        world.set_seed(seed);
        let builder = match argument_limit {
            Some(limit) => Program::builder().argument_limit(limit),
            None => Program::builder(),
        };
        let program = builder.open(opened)?;
        let [mut x, mut y, mut z] = [(); 3].map(|()| program.zeros::<f32, 1>([N]).expect("memory"));
        let stream = program.create_stream()?;
        set(1.0, &mut x).launch_on(&stream)?;
        three_blocks(&mut x, &mut y, &mut z).launch_on(&stream)?;
        sum_of_ends(&x).launch_on(&stream)?;
        program.device_sync()?;
        let things = Some(Things { stream, x, y, z });
        Ok(Self { world, program: Some(program), things })
    }

    fn run(&mut self, scenario: Scenario) -> Result<()> {
        let Some(program) = &self.program else { return Ok(()) };
        scenario(program, &mut self.things)
    }
}

/// The driver's error that an error comes from.
fn driver_error(error: &qd::Error) -> Option<&DriverError> {
    let mut at: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(error) = at {
        if let Some(found) = error.downcast_ref::<DriverError>() {
            return Some(found);
        }
        if let Some(rhi) = error.downcast_ref::<qd::rhi::Error>() {
            return rhi.driver_error();
        }
        if let Some(quadrants_runtime::Error::Device(rhi)) = error.downcast_ref() {
            return rhi.driver_error();
        }
        if let Some(qd::Error::Runtime(quadrants_runtime::Error::Device(rhi))) =
            error.downcast_ref()
        {
            return rhi.driver_error();
        }
        at = error.source();
    }
    None
}

/// What is current on this thread; 0 where nothing is.
fn current_context() -> usize {
    let symbol = quadrants_driver_sim::cuda_symbol("cuCtxGetCurrent").expect("it has that");
    let mut context = 0;
    // SAFETY: the function has this signature, and writes the context.
    let code = unsafe {
        let ask: extern "C" fn(*mut usize) -> i32 = std::mem::transmute(symbol);
        ask(&raw mut context)
    };
    assert_eq!(code, 0);
    context
}

#[rstest]
fn every_call_may_fail(
    #[values(Cuda, AmdGpu)] backend: TestBackend,
    #[values(None, Some(0))] argument_limit: Option<usize>,
    #[values(Code::UNKNOWN, Code::OUT_OF_MEMORY)] code: Code,
) -> Result<()> {
    let Some(_on) = backend.open_simulated() else { return Ok(()) };
    let mut walked = 0;
    for (name, scenario) in SCENARIOS {
        let mut stage = Stage::new(backend, argument_limit, 0)?;
        let before = stage.world.all_calls();
        stage.run(scenario)?;
        let calls = stage.world.all_calls().into_iter().map(|(call, after)| {
            let earlier = before.iter().find(|(other, _)| *other == call);
            (call, after - earlier.map_or(0, |(_, count)| *count))
        });
        for (call, count) in calls.collect::<Vec<_>>() {
            for nth in 1..=count {
                let what = format!("{backend:?}, {argument_limit:?}, {name}: {call}, number {nth}");
                // On a thread of its own: where putting back fails, the context stays current.
                let fault = (call, nth, code);
                let walk = || fail(backend, argument_limit, scenario, fault, &what);
                std::thread::scope(|scope| scope.spawn(walk).join()).unwrap_or_else(|panic| {
                    std::panic::resume_unwind(panic);
                })?;
                walked += 1;
            }
        }
    }
    println!("{backend:?}, {argument_limit:?}, {code:?}: {walked} calls failed in turn");
    assert!(walked > 60, "{walked} calls");
    Ok(())
}

fn fail(
    backend: TestBackend,
    argument_limit: Option<usize>,
    scenario: Scenario,
    (call, nth, code): (&'static str, u64, Code),
    what: &str,
) -> Result<()> {
    let mut stage = Stage::new(backend, argument_limit, nth)?;
    stage.world.fail(call, nth, code);
    let outcome = stage.run(scenario);
    assert_eq!(stage.world.armed_faults(), 0, "{what}: it was not made");
    let program = stage.program.take().expect("a program");

    // The error is told, and it is that call's.
    let mut errors = program.take_deferred_errors();
    errors.extend(outcome.err());
    let told = errors.iter().filter_map(driver_error).any(|e| e.symbol == call);
    // Memory is asked for once more behind a wait. Putting back what was current is only logged.
    let retried = code == Code::OUT_OF_MEMORY && call.contains("llocAsync");
    let logged = ["cuCtxPopCurrent_v2", "hipSetDevice"].contains(&call);
    assert!(told || retried || logged, "{what}: {errors:?}");
    assert!(errors.iter().all(|e| e.severity() != qd::Severity::ContextLost), "{what}");

    assert!(current_context() == 0 || logged, "{what}: a context stays current");

    // The next launch works, on the stream that was current before.
    let mut next = program.tensor_from(&[1.0f32; N], [N])?;
    set(4.0, &mut next).launch()?;
    let on = stage.world.trace().launches("set_0").last().map(|launch| launch.stream);
    assert_eq!(on, Some(0), "{what}: the current stream");
    assert_eq!(next.to_vec()?, [4.0; N], "{what}");
    if let Some(Things { stream, x, y, z }) = &mut stage.things {
        three_blocks(x, y, z).launch_on(stream)?;
        x.copy_from(&[1.0; N])?;
        assert_eq!(sum_of_ends(x).launch_on(stream)?, 2.0, "{what}");
    }
    program.device_sync()?;
    let pools = program.pool_statistics();
    let busy = stage.things.is_some();
    assert!(busy || pools.streams_created - pools.streams_destroyed == pools.streams_idle as u64);
    assert_eq!(pools.events_created - pools.events_destroyed, pools.events_idle as u64, "{what}");

    // Nothing is left over, but what the driver refused to take back, or to make the context current for.
    drop((next, stage.things.take(), program));
    let back = ["Destroy", "Free", "Unload", "PushCurrent", "SetDevice"];
    let refused = back.iter().any(|back| call.contains(back));
    let mut left = [0; 5];
    for live in [stage.world.live(), stage.world.left_behind()] {
        let things = [live.streams, live.events, live.modules, live.blocks, live.pinned];
        left.iter_mut().zip(things).for_each(|(sum, count)| *sum += count);
    }
    let sum: usize = left.iter().sum();
    assert!(sum <= usize::from(refused), "{what}: left {left:?}");
    assert_eq!(stage.world.reports(), [], "{what}");
    Ok(())
}
