//! Every driver release, with and without memory pools, runs the scenarios of streams, events, regions,
//! results, copies and drops, and reports its capabilities.

use quadrants::Program;
use quadrants_driver_sim::{
    CudaVersion::{self, V11_0, V11_8, V12_0, V13_0},
    RocmVersion::{self, V5_1, V5_7, V6_4, V7_0},
    Schedule,
};
use quadrants_tests::Release::{self, Cuda, Rocm};
use rstest::rstest;

use crate::faults::mutations::scenarios::{LONG_COPIES, SCENARIOS};

/// Whether a release has the functions of pools, and those of graphs.
fn has(release: Release) -> (bool, bool) {
    match release {
        Cuda(release) => (release >= CudaVersion::V11_8, release >= CudaVersion::V11_8),
        Rocm(release) => (release >= RocmVersion::V5_7, release >= RocmVersion::V6_4),
    }
}

#[rstest]
fn every_driver_release_gives_the_same_results(
    #[values(
        Cuda(V11_0),
        Cuda(V11_8),
        Cuda(V12_0),
        Cuda(V13_0),
        Rocm(V5_1),
        Rocm(V5_7),
        Rocm(V6_4),
        Rocm(V7_0)
    )]
    release: Release,
    #[values(true, false)] pools: bool,
    #[values(None, Some(0))] limit: Option<usize>,
) -> Result<(), Box<dyn std::error::Error>> {
    let seeds = (0..5).map(|seed| (Schedule::Random, seed));
    for (schedule, seed) in seeds.chain([(Schedule::Adversarial, 0)]) {
        for (name, hazards, scenario) in SCENARIOS {
            if name == LONG_COPIES {
                continue;
            }
            let Some((world, opened)) = release.open_device(pools) else { return Ok(()) };
            world.set_schedule(schedule);
            world.set_seed(seed);
            let builder = Program::builder().hazards(hazards);
            let builder = match limit {
                Some(limit) => builder.argument_limit(limit),
                None => builder,
            };
            let program = builder.open(opened)?;
            scenario(&program)
                .map_err(|error| format!("{name}, {schedule}, seed {seed}: {error}"))?;
            assert_eq!(program.take_deferred_errors().len(), 0, "{name}");
            drop(program);
            assert_eq!(world.reports(), [], "{name}");
            assert_eq!(world.live(), Default::default(), "{name}");
        }
    }
    Ok(())
}

#[rstest]
#[case(Cuda(V11_0), "11.0", "sm_90")]
#[case(Cuda(V11_8), "11.8", "sm_90")]
#[case(Cuda(V12_0), "12.0", "sm_90")]
#[case(Cuda(V13_0), "13.0", "sm_90")]
#[case(Rocm(V5_1), "5.1.0", "gfx90a")]
#[case(Rocm(V5_7), "5.7.0", "gfx90a")]
#[case(Rocm(V6_4), "6.4.0", "gfx90a")]
#[case(Rocm(V7_0), "7.0.0", "gfx90a")]
fn every_driver_release_reports_its_version_and_capabilities(
    #[case] release: Release,
    #[case] version: &str,
    #[case] arch: &str,
    #[values(true, false)] pools: bool,
) {
    let Some((world, opened)) = release.open_device(pools) else { return };
    let (info, can) = (opened.device.info(), opened.device.capabilities());
    assert_eq!((&*info.driver_version, &*info.arch), (version, arch));
    let (has_pools, has_graphs) = has(release);
    let off = std::env::var_os("QUADRANTS_MEMPOOL").is_some_and(|value| value == "0");
    assert_eq!(can.stream_ordered_memory, has_pools && pools && !off);
    let reason = can.stream_ordered_memory_reason.as_deref().unwrap_or_default();
    let expected = match (has_pools, pools) {
        _ if off => "QUADRANTS_MEMPOOL=0",
        (false, _) => "(since ",
        (true, false) => "no memory pools",
        (true, true) => "",
    };
    assert!(reason.contains(expected), "{reason}");
    assert_eq!(can.graphs, has_graphs);
    drop(opened);
    assert_eq!(world.reports(), []);
}
