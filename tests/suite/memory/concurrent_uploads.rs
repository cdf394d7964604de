//! Uploads from several threads at once: each thread gets back the bytes that it wrote, whatever staging memory the
//! threads share.

use std::{sync::Barrier, thread};

use quadrants::Result;
use quadrants_driver_sim::Schedule;
use quadrants_tests::{TestBackend, on_all_backends};

const THREADS: usize = 8;
const ROUNDS: usize = 20;

#[on_all_backends]
fn concurrent_uploads_from_several_threads_keep_their_data(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    if let Some(world) = &on.world {
        world.set_schedule(Schedule::Random);
    }
    let (program, barrier) = (&on.program, &Barrier::new(THREADS));
    thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|thread| {
                scope.spawn(move || -> Result<()> {
                    // Sizes below and above those of pooled staging blocks.
                    let len = 1 + thread * 40_000;
                    let value =
                        |round: usize, k: usize| (thread * 1_000_003 + round * 7919 + k) as u32;
                    let mut tensor = program.zeros::<u32, 1>([len])?;
                    barrier.wait();
                    for round in 0..ROUNDS {
                        let data: Vec<u32> = (0..len).map(|k| value(round, k)).collect();
                        tensor.write(&data)?;
                        let created = program.tensor_from(&data, [len])?;
                        assert!(tensor.to_vec()? == data, "thread {thread}, round {round}: write");
                        assert!(created.to_vec()? == data, "thread {thread}, round {round}: new");
                    }
                    Ok(())
                })
            })
            .collect();
        threads.into_iter().try_for_each(|thread| thread.join().expect("no panic"))
    })
}
