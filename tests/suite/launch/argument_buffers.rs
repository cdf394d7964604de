//! Argument buffers of repeated launches: on explicit streams each launch allocates and frees its buffer in stream
//! order; on the default stream the buffer persists, and a repeated launch allocates nothing.

use quadrants::{Program, Result};
use quadrants_driver_sim::World;
use quadrants_tests::{TestBackend, on_gpu_backends};

use crate::common::set;

const N: usize = 64;
const LAUNCHES: u64 = 10;

/// How often the driver functions were called whose names contain `part`.
fn calls(world: World, part: &str) -> u64 {
    world
        .all_calls()
        .into_iter()
        .filter(|(name, _)| name.contains(part))
        .map(|(_, count)| count)
        .sum()
}

/// The calls of all functions that allocate or free device memory.
fn allocations_and_frees(world: World) -> [u64; 4] {
    [
        calls(world, "MallocAsync") + calls(world, "MemAllocAsync"),
        calls(world, "FreeAsync"),
        calls(world, "hipMalloc") + calls(world, "cuMemAlloc"),
        calls(world, "hipFree") + calls(world, "cuMemFree"),
    ]
}

#[on_gpu_backends]
fn launches_on_an_explicit_stream_allocate_and_free_argument_buffers_in_stream_order(
    backend: TestBackend,
) -> Result<()> {
    let Some(on) = backend.open_simulated_with(Program::builder().argument_limit(0)) else {
        return Ok(());
    };
    let world = **on.world.as_ref().expect("simulated");
    let stream = on.program.create_stream()?;
    let mut x = on.program.zeros::<f32, 1>([N])?;
    set(0.0, &mut x).launch_on(&stream)?;
    let [allocated, freed, all_allocated, all_freed] = allocations_and_frees(world);
    for value in 0..LAUNCHES {
        set(value as f32, &mut x).launch_on(&stream)?;
    }
    // Each launch makes one stream-ordered allocation and one stream-ordered free, and no other.
    assert_eq!(
        allocations_and_frees(world),
        [allocated + LAUNCHES, freed + LAUNCHES, all_allocated + LAUNCHES, all_freed + LAUNCHES]
    );
    assert_eq!(x.to_vec()?, [LAUNCHES as f32 - 1.0; N]);
    Ok(())
}

#[on_gpu_backends]
fn repeated_launches_on_the_default_stream_allocate_nothing(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open_simulated_with(Program::builder().argument_limit(0)) else {
        return Ok(());
    };
    let world = **on.world.as_ref().expect("simulated");
    let mut x = on.program.zeros::<f32, 1>([N])?;
    set(0.0, &mut x).launch()?;
    let before = allocations_and_frees(world);
    for value in 0..LAUNCHES {
        set(value as f32, &mut x).launch()?;
    }
    assert_eq!(allocations_and_frees(world), before);
    assert_eq!(x.to_vec()?, [LAUNCHES as f32 - 1.0; N]);
    Ok(())
}
