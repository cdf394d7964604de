//! Soak test: many launches from many threads on many streams; process memory and driver objects do not grow.
//!
//! `QUADRANTS_TEST_SOAK` is the number of launches; ten million take five minutes on the simulator.

use std::{sync::Barrier, thread, time::Duration};

use quadrants::{PoolStatistics, Program, Result, host};
use quadrants_driver_sim::{LiveCounts, Schedule};
use quadrants_tests::{TestBackend, full_size, on_all_backends};

use crate::{
    child,
    common::{copy, saxpy, set, three_blocks},
};

const THREADS: usize = 8;
const STREAMS: usize = 2;
const N: usize = 16;
/// Launches of one round of a thread.
const ROUND: usize = 10;
/// The parts after which memory is measured.
const PARTS: usize = 8;
/// The last parts. A leak shows in each of them; an allocator that is still filling its arenas does not.
const LATE: usize = 4;
/// What the process may grow by in each of the last parts.
const SLACK: usize = 4 << 20;

fn launches() -> usize {
    let default = if full_size() { 50_000 } else { 20_000 };
    let asked = std::env::var("QUADRANTS_TEST_SOAK").ok();
    asked.map_or(default, |asked| asked.parse().expect("a number of launches"))
}

/// The works of children.
pub(crate) const WORKS: &[child::Work] = &[("soak", soak)];

/// Pages of the process that are in memory, in bytes.
fn resident() -> usize {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = statm.split_whitespace().nth(1).and_then(|pages| pages.parse().ok());
    pages.unwrap_or(0) * 4096
}

#[derive(Debug, Default)]
struct Measure {
    resident: usize,
    pools: PoolStatistics,
    live: Option<LiveCounts>,
}

fn soak(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    if let Some(world) = &on.world {
        world.set_schedule(Schedule::Random);
    }
    let program = &on.program;
    let rounds = launches() / (THREADS * ROUND);
    let barrier = Barrier::new(THREADS);
    let measure = || -> Result<Measure> {
        program.device_sync()?;
        let live = on.world.as_ref().map(|world| world.live());
        Ok(Measure { resident: resident(), pools: program.pool_statistics(), live })
    };
    let measures = thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|thread| {
                let (barrier, measure) = (&barrier, &measure);
                scope.spawn(move || -> Result<Vec<Measure>> {
                    let mut measures = Vec::new();
                    let mut work = Work::new(program)?;
                    for part in 0..PARTS {
                        for round in 0..rounds / PARTS {
                            work.round((part * rounds + round) as f32)?;
                        }
                        // Nobody launches while one looks.
                        barrier.wait();
                        if thread == 0 {
                            measures.push(measure()?);
                        }
                        barrier.wait();
                    }
                    Ok(measures)
                })
            })
            .collect();
        let all: Result<Vec<_>> =
            threads.into_iter().map(|thread| thread.join().expect("no panic")).collect();
        all.map(|mut all| all.swap_remove(0))
    })?;
    for measure in &measures {
        println!("{measure:?}");
    }
    let late = &measures[PARTS - LATE - 1..];
    let (first, last) = (&late[0], &late[LATE]);
    let growths = late.windows(2).map(|pair| pair[1].resident.saturating_sub(pair[0].resident));
    let grown = growths.min().unwrap_or_default();
    println!("{} launches, at least {grown} bytes more in each part", rounds * THREADS * ROUND);
    assert!(grown < SLACK, "{grown} bytes more: {measures:#?}");
    let out = |pools: &PoolStatistics| {
        let streams = pools.streams_created - pools.streams_destroyed;
        let events = pools.events_created - pools.events_destroyed;
        (streams as usize - pools.streams_idle, events as usize - pools.events_idle)
    };
    let (workers, events) = out(&last.pools);
    assert!(workers <= 2 * THREADS * STREAMS, "workers: {last:?}");
    // A worker keeps the event of its join, and a launch stream with workers that of its fork.
    assert!(events <= 2 * workers, "events that never came back: {last:?}");
    assert!(
        last.pools.staging_bytes <= 2 * first.pools.staging_bytes.max(1 << 20),
        "{measures:#?}"
    );
    // How much memory is kept for later tensors depends on how many the threads had at once.
    let blocks = |of: &Measure| of.live.map(|live| live.blocks - of.pools.memory_blocks_cached);
    assert_eq!(blocks(first), blocks(last));
    assert!(last.pools.memory_blocks_cached <= 4 * THREADS, "{last:?}");
    if let (Some(first), Some(last)) = (&first.live, &last.live) {
        assert_eq!(first.modules, last.modules);
        assert_eq!(last.pending, 0);
    }
    assert!(program.take_deferred_errors().is_empty());
    if let Some(world) = &on.world {
        assert_eq!(world.reports(), []);
    }
    Ok(())
}

/// What one thread launches.
struct Work<'a> {
    program: &'a Program,
    streams: [quadrants::Stream; STREAMS],
    tensors: [quadrants::Tensor<f32, 1>; 3],
    event: quadrants::Event,
}

impl<'a> Work<'a> {
    fn new(program: &'a Program) -> Result<Self> {
        let streams = [program.create_stream()?, program.create_stream()?];
        let tensors = [program.zeros([N])?, program.zeros([N])?, program.zeros([N])?];
        Ok(Self { program, streams, tensors, event: program.create_event()? })
    }

    fn round(&mut self, value: f32) -> Result<()> {
        let Self { program, streams: [s1, s2], tensors: [a, b, c], event } = self;
        let mut passing = program.zeros::<f32, 1>([N])?;
        set(value, a).launch_on(s1)?;
        set(1.0, b).launch_on(s1)?;
        set(2.0, c).launch_on(s1)?;
        three_blocks(a, b, c).launch_on(s1)?;
        event.record(s1)?;
        event.wait(s2)?;
        copy(a, &mut passing).launch_on(s2)?;
        saxpy(1.0, b, &mut passing).launch_on(s2)?;
        saxpy(2.0, &*host(&[0.5; N], [N])?, &mut passing).launch_on(s2)?;
        s2.scope(|| saxpy(1.0, c, &mut passing).launch())?;
        event.record(s2)?;
        event.wait(s1)?;
        set(0.0, a).launch_on(s1)?;
        copy(b, a).launch_on(s1)?;
        let expected = (value + 1.0) * 2.0 + 4.0 + 1.0 + 7.0;
        assert_eq!(passing.to_vec()?, [expected; N]);
        Ok(())
    }
}

#[on_all_backends]
fn memory_does_not_grow_over_many_launches(backend: TestBackend) {
    // A thousand launches a second are slow.
    let limit = Duration::from_secs(120 + launches() as u64 / 500);
    let output = child::output("soak", backend, limit);
    let [printed, errors] =
        [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
    println!("{printed}");
    assert!(output.status.success(), "{backend:?}: {}\n{errors}", output.status);
}
