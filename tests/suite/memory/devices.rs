//! Several devices in one process: copies between their tensors, and the order of those with the work of both.

use std::thread;

use quadrants::{
    self as qd, Error, Hazards, KernelValue, Layout, Program, ProgramBuilder, Result, Stream,
    Tensor, Vector,
};
use quadrants_driver_sim::{Code, Schedule, WorldLease};
use quadrants_samples::generate::Rng;
use quadrants_tests::{DevicePolicy, On, TestBackend, on_all_backends, on_gpu_backends};

use crate::common::{copy, saxpy, set};

const N: usize = 40;

/// Programs on two devices, or on the CPU two programs. `None` where there are no two.
fn pair(backend: TestBackend, builder: &ProgramBuilder) -> Option<[On; 2]> {
    let hardware =
        backend != TestBackend::Cpu && DevicePolicy::from_env() == DevicePolicy::Hardware;
    if !hardware {
        return Some([backend.open_with(builder.clone())?, backend.open_with(builder.clone())?]);
    }
    // Also says so where the backend is not selected.
    backend.open_device()?;
    let count = backend.arch().driver().and_then(|driver| driver.device_count());
    if count.unwrap_or(0) < 2 {
        println!("skipped: there are no two {backend:?} devices");
        return None;
    }
    let open = |ordinal| {
        let program =
            builder.clone().open(backend.arch().device(ordinal)).expect("the device opens");
        On { program, world: None }
    };
    Some([open(0), open(1)])
}

fn two(backend: TestBackend) -> Option<[On; 2]> {
    pair(backend, &Program::builder())
}

fn worlds(both: &[On; 2]) -> impl Iterator<Item = &WorldLease> {
    both.iter().filter_map(|on| on.world.as_ref())
}

/// Runs `body` with each schedule and several seeds where the devices are simulated, else a few times.
fn on_schedules(both: &[On; 2], seeds: u64, mut body: impl FnMut(u64) -> Result<()>) -> Result<()> {
    if both[0].world.is_none() {
        return (0..seeds.min(20)).try_for_each(body);
    }
    let others = [Schedule::Adversarial, Schedule::Lazy, Schedule::Eager];
    let random = (0..seeds).map(|seed| (Schedule::Random, seed));
    for (schedule, seed) in others.map(|schedule| (schedule, 0)).into_iter().chain(random) {
        for (world, of) in worlds(both).zip([0, 1 << 32]) {
            world.set_schedule(schedule);
            world.set_seed(seed + of);
        }
        body(seed)?;
        for world in worlds(both) {
            assert_eq!(world.reports(), [], "{schedule:?}, seed {seed}");
            assert_eq!(world.races(), [], "{schedule:?}, seed {seed}");
        }
    }
    Ok(())
}

fn numbers(program: &Program, value: f32) -> Tensor<f32, 1> {
    program.tensor_from(&[value; N], [N]).expect("memory")
}

/// Between programs of one driver, and by the host between backends.
#[on_all_backends]
fn slices_that_are_not_contiguous_are_copied_between_programs(backend: TestBackend) -> Result<()> {
    let Some(both) = two(backend) else { return Ok(()) };
    let cpu = Program::open(qd::Arch::Cpu)?;
    for (here, there) in [(&both[0].program, &both[1].program), (&both[0].program, &cpu)] {
        for layout in [Layout::ArrayOfStructs, Layout::StructOfArrays] {
            let of = |at: usize| (at as u8, at as f32);
            let numbers: Vec<_> = (0..12).map(of).collect();
            let (from, mut to) =
                (here.tensor_with(&numbers, [3, 4], layout)?, there.zeros_with([2, 5], layout)?);
            from.slice_axis(1, 1..3)?.slice(1..)?.copy_to(&mut *to.slice_axis_mut(1, 2..4)?)?;
            let mut expected = [of(0); 10];
            (expected[2], expected[3]) = (of(5), of(6));
            (expected[7], expected[8]) = (of(9), of(10));
            assert_eq!(to.to_vec()?, expected);
            let mut back = here.tensor_with(&numbers, [3, 4], layout)?;
            back.transposed_mut()?
                .slice_axis_mut(1, ..2)?
                .slice_mut(..3)?
                .slice_axis_mut(0, 1..)?
                .copy_from(&*to.slice_axis(1, 2..4)?)?;
            let mut expected = numbers.clone();
            (expected[1], expected[5], expected[2], expected[6]) = (of(5), of(6), of(9), of(10));
            assert_eq!(back.to_vec()?, expected);
        }
    }
    Ok(())
}

#[on_all_backends]
fn a_copy_is_between_the_earlier_and_the_later_work_of_both(backend: TestBackend) -> Result<()> {
    let Some(both) = two(backend) else { return Ok(()) };
    let [here, there] = [&both[0].program, &both[1].program];
    let (mut a, mut b, mut c) = (numbers(here, 0.0), numbers(there, 0.0), numbers(there, 0.0));
    on_schedules(&both, 200, |seed| {
        let value = seed as f32 + 1.0;
        set(7.0, &mut b).launch()?;
        set(value, &mut a).launch()?;
        copy(&b, &mut c).launch()?;
        a.copy_to(&mut b)?;
        set(-1.0, &mut a).launch()?;
        saxpy(1.0, &b, &mut c).launch()?;
        b.copy_to(&mut a)?;
        set(-2.0, &mut b).launch()?;
        assert_eq!(a.to_vec()?, [value; N], "seed {seed}");
        assert_eq!(c.to_vec()?, [value + 7.0; N], "seed {seed}");
        assert_eq!(b.to_vec()?, [-2.0; N], "seed {seed}");
        Ok(())
    })
}

/// Kernels and copies on random tensors and streams of both devices do what plain Rust does.
#[on_all_backends]
fn random_interleavings_match_plain_rust(
    backend: TestBackend,
    #[values(false, true)] several_streams: bool,
) -> Result<()> {
    const TENSORS: usize = 3;
    // Launches on several streams of a device are ordered by it.
    let hazards = if several_streams { Hazards::Auto } else { Hazards::Check };
    let Some(both) = pair(backend, &Program::builder().hazards(hazards)) else { return Ok(()) };
    let programs = [&both[0].program, &both[1].program];
    let streams: Vec<[Stream; 2]> = programs
        .iter()
        .map(|program| [(); 2].map(|()| program.create_stream().expect("a stream")))
        .collect();
    let mut tensors: [[Tensor<f32, 1>; TENSORS]; 2] =
        programs.map(|program| [(); TENSORS].map(|()| numbers(program, 0.0)));
    let mut expected = [[0.0_f32; TENSORS]; 2];
    on_schedules(&both, 100, |seed| {
        let mut rng = Rng::new(seed);
        for step in 0..30 {
            let chosen = [rng.index(3), rng.index(3)];
            let (device, to) = (rng.index(2), rng.index(TENSORS));
            let (other, from) = (1 - device, rng.index(TENSORS));
            let [left, right] = &mut tensors;
            let (mine, theirs) = if device == 0 { (left, right) } else { (right, left) };
            let mut work = || match rng.index(4) {
                0 => {
                    let value = step as f32;
                    expected[device][to] = value;
                    set(value, &mut mine[to]).launch()
                }
                1 => {
                    expected[device][to] += expected[device][(to + 1) % TENSORS];
                    expected[device][to] %= 1000.0;
                    let mut out = std::mem::replace(&mut mine[to], numbers(programs[device], 0.0));
                    saxpy(1.0, &mine[(to + 1) % TENSORS], &mut out).launch()?;
                    wrap(&mut out).launch()?;
                    mine[to] = out;
                    Ok(())
                }
                2 => {
                    expected[device][to] = expected[other][from];
                    theirs[from].copy_to(&mut mine[to])
                }
                _ => {
                    // The source is dropped with the copy in flight.
                    expected[device][to] = expected[other][from];
                    let fresh = theirs[from].try_clone()?;
                    fresh.copy_to(&mut mine[to])
                }
            };
            let scope = |of: usize, work: &mut dyn FnMut() -> Result<()>| match chosen[of] {
                stream @ (0 | 1) if several_streams => streams[of][stream].scope(work),
                _ => work(),
            };
            scope(0, &mut || scope(1, &mut work))?;
        }
        for (tensors, expected) in tensors.iter().zip(&expected) {
            for (tensor, expected) in tensors.iter().zip(expected) {
                assert_eq!(tensor.to_vec()?, [*expected; N], "seed {seed}");
            }
        }
        Ok(())
    })
}

#[qd::kernel]
fn wrap(x: &mut Tensor<f32, 1>) {
    for i in 0..x.len() {
        x[i] %= 1000.0;
    }
}

/// Also where neither is on the current stream: the copy comes after all work that the stamps of the two name.
#[on_all_backends]
fn a_copy_waits_for_work_on_other_streams(backend: TestBackend) -> Result<()> {
    let Some(both) = two(backend) else { return Ok(()) };
    let [here, there] = [&both[0].program, &both[1].program];
    let (writer, reader) = (here.create_stream()?, there.create_stream()?);
    let (mut a, mut b, mut c) = (numbers(here, 0.0), numbers(there, 7.0), numbers(there, 0.0));
    on_schedules(&both, 100, |seed| {
        let value = seed as f32;
        b.write(&[7.0; N])?;
        set(value, &mut a).launch_on(&writer)?;
        copy(&b, &mut c).launch_on(&reader)?;
        a.copy_to(&mut b)?;
        assert_eq!(c.to_vec()?, [7.0; N], "seed {seed}");
        assert_eq!(b.to_vec()?, [value; N], "seed {seed}");
        a.write(&[-1.0; N])?;
        assert_eq!(b.to_vec()?, [value; N], "seed {seed}");
        Ok(())
    })
}

#[on_all_backends]
fn a_dropped_source_is_freed_after_the_copy(backend: TestBackend) -> Result<()> {
    let Some(both) = two(backend) else { return Ok(()) };
    let [here, there] = [&both[0].program, &both[1].program];
    // Of the second size, the memory is not kept by the cache of blocks.
    for n in [N, (2 << 20) / 4] {
        let seeds = if n == N { 100 } else { 4 };
        let mut b = there.zeros::<f32, 1>([n])?;
        on_schedules(&both, seeds, |seed| {
            let value = seed as f32;
            // With a stamp of its writer, and with that of the copy alone.
            let a = if seed % 2 == 0 {
                let mut a = here.zeros::<f32, 1>([n])?;
                set(value, &mut a).launch()?;
                a
            } else {
                let a = here.tensor_from(&vec![value; n], [n])?;
                assert_eq!(a.get([0])?, value);
                a
            };
            a.copy_to(&mut b)?;
            drop(a);
            // The next owner of the memory writes it at once.
            let stream = here.create_stream()?;
            let mut next = here.zeros::<f32, 1>([n])?;
            set(-1.0, &mut next).launch_on(&stream)?;
            assert_eq!(next.get([n - 1])?, -1.0);
            let copied = b.to_vec()?;
            assert!(copied.iter().all(|copied| *copied == value), "seed {seed}: {}", copied[0]);
            Ok(())
        })?;
    }
    Ok(())
}

#[on_all_backends]
fn either_program_may_end_first(backend: TestBackend, #[values(0, 1)] first: usize) -> Result<()> {
    for seed in 0..10 {
        let Some([one, two]) = two(backend) else { return Ok(()) };
        for world in [&one, &two].into_iter().filter_map(|on| on.world.as_ref()) {
            let schedule = if seed == 0 { Schedule::Adversarial } else { Schedule::Random };
            world.set_schedule(schedule);
            world.set_seed(seed);
        }
        let (mut a, mut b) = (numbers(&one.program, 0.0), numbers(&two.program, 0.0));
        set(3.0, &mut a).launch()?;
        a.copy_to(&mut b)?;
        if first == 0 {
            drop((a, one));
            assert_eq!(b.to_vec()?, [3.0; N]);
        } else {
            drop((b, two));
            assert_eq!(a.to_vec()?, [3.0; N]);
        }
    }
    Ok(())
}

#[on_all_backends]
fn threads_copy_in_both_directions(backend: TestBackend) -> Result<()> {
    let Some(both) = two(backend) else { return Ok(()) };
    let [here, there] = [&both[0].program, &both[1].program];
    for world in worlds(&both) {
        world.set_schedule(Schedule::Random);
    }
    thread::scope(|scope| {
        let copies = [0, 1, 2, 3].map(|thread| {
            let (from, to) = if thread % 2 == 0 { (here, there) } else { (there, here) };
            scope.spawn(move || -> Result<()> {
                let (mut a, mut b) = (numbers(from, 0.0), numbers(to, 0.0));
                let (source, target) = (from.create_stream()?, to.create_stream()?);
                // Graphs that are captured use both, so that copies lock them out on the CPU.
                let mut graphs = (
                    from.capture(|| set(-1.0, &mut a).launch())?,
                    to.capture(|| set(-2.0, &mut b).launch())?,
                );
                for round in 0..50 {
                    let value = (round * 4 + thread) as f32;
                    source.scope(|| {
                        target.scope(|| -> Result<()> {
                            graphs.0.launch()?;
                            graphs.1.launch()?;
                            set(value, &mut a).launch()?;
                            a.copy_to(&mut b)?;
                            set(-1.0, &mut a).launch()
                        })
                    })?;
                    assert_eq!(b.to_vec()?, [value; N]);
                }
                Ok(())
            })
        });
        copies.into_iter().try_for_each(|copies| copies.join().expect("no panic"))
    })
}

/// Two programs on one device, each with its own streams.
#[on_all_backends]
fn programs_on_one_device_copy_too(backend: TestBackend) -> Result<()> {
    let Some((world, opened)) = device(backend) else { return Ok(()) };
    let [one, two] = [(); 2].map(|()| Program::open(opened.clone()).expect("it opens"));
    let (mut a, mut b) = (numbers(&one, 0.0), numbers(&two, 0.0));
    for seed in 0..20 {
        if let Some(world) = &world {
            world.set_schedule(Schedule::Random);
            world.set_seed(seed);
        }
        set(seed as f32, &mut a).launch()?;
        a.copy_to(&mut b)?;
        set(-1.0, &mut a).launch()?;
        assert_eq!(b.to_vec()?, [seed as f32; N]);
    }
    let error = saxpy(1.0, &a, &mut b).launch().unwrap_err();
    let name = &one.device_info().name;
    let (backend, ordinal) = (backend.arch().name(), one.device_info().ordinal);
    assert_eq!(
        error.to_string(),
        format!(
            "a tensor argument of `saxpy` belongs to another program on {backend} device {ordinal} ({name}); \
             help: copy it with `copy_to`"
        )
    );
    drop((a, b, one, two, opened));
    Ok(())
}

fn device(backend: TestBackend) -> Option<(Option<WorldLease>, qd::Opened)> {
    use quadrants::Backend as _;
    match backend {
        TestBackend::Cpu => backend.open().map(|_| (None, backend.arch().open().expect("the CPU"))),
        _ => backend.open_device(),
    }
}

#[on_all_backends]
fn other_backends_copy_through_the_host(backend: TestBackend) -> Result<()> {
    let (Some(on), cpu) = (backend.open(), Program::open(qd::Arch::Cpu)?) else { return Ok(()) };
    let mut far = [(); 2].map(|()| numbers(&on.program, 0.0));
    let mut near = numbers(&cpu, 0.0);
    crate::common::on_seeds(on.world.as_ref(), 50, |seed| {
        let value = seed as f32;
        set(value, &mut near).launch()?;
        near.copy_to(&mut far[0])?;
        set(-1.0, &mut near).launch()?;
        let [first, second] = &mut far;
        copy(first, second).launch()?;
        set(-2.0, first).launch()?;
        near.copy_from(second)?;
        assert_eq!(near.to_vec()?, [value; N], "seed {seed}");
        Ok(())
    })?;
    // More than a piece of host memory, and a part of a tensor.
    let many = 17 << 20;
    let values: Vec<f32> = (0..many).map(|i| i as f32).collect();
    let (long, mut copied) = (cpu.tensor_from(&values, [many])?, on.program.zeros([many + 2])?);
    long.copy_to(&mut *copied.slice_mut(1..many + 1)?)?;
    for at in [0, 1, 1 << 24, (1 << 24) + 1, many, many + 1] {
        let expected = if at == 0 || at > many { 0.0 } else { values[at - 1] };
        assert_eq!(copied.get([at])?, expected, "{at}");
    }
    Ok(())
}

#[on_gpu_backends]
fn the_other_gpu_backend_copies_through_the_host(backend: TestBackend) -> Result<()> {
    let other = match backend {
        TestBackend::Cuda => TestBackend::AmdGpu,
        _ => TestBackend::Cuda,
    };
    let (Some(one), Some(two)) = (backend.open_simulated(), other.open_simulated()) else {
        return Ok(());
    };
    let (mut a, mut b) = (numbers(&one.program, 0.0), numbers(&two.program, 0.0));
    set(4.0, &mut a).launch()?;
    a.copy_to(&mut b)?;
    set(-1.0, &mut a).launch()?;
    assert_eq!(b.to_vec()?, [4.0; N]);
    Ok(())
}

#[derive(Clone, Copy, Debug, PartialEq, KernelValue)]
struct Body {
    place: Vector<f32, 2>,
    mass: f64,
}

#[on_all_backends]
fn layouts_and_shapes_are_those_of_copies_within_a_program(backend: TestBackend) -> Result<()> {
    let Some(both) = two(backend) else { return Ok(()) };
    let cpu = Program::open(qd::Arch::Cpu)?;
    let [here, there] = [&both[0].program, &both[1].program];
    let body = |i: usize| Body { place: Vector([i as f32, -1.0]), mass: i as f64 };
    let bodies: Vec<Body> = (0..8).map(body).collect();
    for there in [there, &cpu] {
        for layout in [Layout::ArrayOfStructs, Layout::StructOfArrays] {
            let from = here.tensor_with(&bodies, [8], layout)?;
            let mut to = there.zeros_with::<Body, 1>([10], layout)?;
            from.slice(1..7)?.copy_to(&mut *to.slice_mut(3..9)?)?;
            assert_eq!(to.slice(3..9)?.to_vec()?, bodies[1..7]);
            assert_eq!((to.get([2])?.mass, to.get([9])?.mass), (0.0, 0.0));
            let other = match layout {
                Layout::ArrayOfStructs => Layout::StructOfArrays,
                _ => Layout::ArrayOfStructs,
            };
            let error = from.copy_to(&mut there.zeros_with([8], other)?).unwrap_err();
            assert!(
                matches!(&error, Error::CopyLayout { from, to } if (*from, *to) == (layout, other))
            );
            let error = from.copy_to(&mut to).unwrap_err();
            assert!(
                matches!(&error, Error::CopyShape { from, to } if *from == [8] && *to == [10]),
                "{error}"
            );
        }
        let empty = here.zeros::<f32, 1>([0])?;
        empty.copy_to(&mut there.zeros([0])?)?;
        let mut x = there.zeros::<f32, 1>([2])?;
        let refused = there.capture(|| here.zeros([2])?.copy_to(&mut x));
        assert!(matches!(refused, Err(Error::Capture { .. })), "{refused:?}");
    }
    Ok(())
}

#[on_all_backends]
fn the_wrong_device_is_an_error_with_both_names(backend: TestBackend) -> Result<()> {
    let Some(both) = two(backend) else { return Ok(()) };
    let [here, there] = [&both[0].program, &both[1].program];
    let (a, mut b) = (numbers(here, 1.0), numbers(there, 2.0));
    let name = |program: &Program| {
        let info = program.device_info();
        format!("{} device {} ({})", info.backend, info.ordinal, info.name)
    };
    let place = |of: &Program, on: &Program| match name(of) == name(on) {
        true => format!("belongs to another program on {}", name(of)),
        false => format!("belongs to a program on {}, but is used on {}", name(of), name(on)),
    };
    let error = saxpy(1.0, &a, &mut b).launch_on(there.default_stream()).unwrap_err();
    let expected = place(here, there);
    let Error::OtherProgram { what, user, belongs_to, used_on } = &error else { panic!("{error}") };
    assert_eq!((*what, user.as_deref()), ("a tensor argument", Some("saxpy")));
    assert_eq!((belongs_to.to_string(), used_on.to_string()), (name(here), name(there)));
    let help = "; help: copy it with `copy_to`";
    assert_eq!(error.to_string(), format!("a tensor argument of `saxpy` {expected}{help}"));
    let error = set(0.0, &mut b).launch_on(here.default_stream()).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("a tensor argument of `set` {}{help}", place(there, here))
    );
    let error = here.create_event()?.record(there.default_stream()).unwrap_err();
    let help = "; help: use objects of one program together";
    assert_eq!(error.to_string(), format!("the stream {}{help}", place(there, here)));
    assert_eq!(b.to_vec()?, [2.0; N]);
    Ok(())
}

#[on_gpu_backends]
fn the_host_waits_for_no_copy(backend: TestBackend) -> Result<()> {
    let (Some(here), Some(there)) = (backend.open_simulated(), backend.open_simulated()) else {
        return Ok(());
    };
    let worlds = [&here, &there].map(|on| on.world.as_ref().expect("simulated"));
    let (mut a, mut b) = (numbers(&here.program, 0.0), numbers(&there.program, 0.0));
    a.copy_to(&mut b)?;
    assert_eq!(b.to_vec()?, [0.0; N]);
    worlds.iter().for_each(|world| world.set_schedule(Schedule::Lazy));
    let before = worlds.map(|world| world.call_log().len());
    set(3.0, &mut a).launch()?;
    a.copy_to(&mut b)?;
    let calls = worlds.map(|world| world.call_log());
    for (calls, before) in calls.iter().zip(before) {
        let waits = calls[before..].iter().filter(|call| call.ends_with("Synchronize")).count();
        assert_eq!(waits, 0, "{:?}", &calls[before..]);
        let creates = calls[before..].iter().filter(|call| call.contains("Create")).count();
        assert_eq!(creates, 0, "the events are pooled");
    }
    let copies = calls[1].iter().filter(|call| call.contains("MemcpyPeerAsync")).count();
    assert_eq!(copies, 2);
    assert!(worlds.iter().all(|world| world.live().pending > 0));
    assert_eq!(b.to_vec()?, [3.0; N]);
    Ok(())
}

/// Each record and each wait of a copy is ignored in turn; the race detector of one device reports it.
#[on_gpu_backends]
fn a_copy_without_one_of_its_waits_is_a_race(backend: TestBackend) -> Result<()> {
    let calls = match backend {
        TestBackend::Cuda => ["cuEventRecord", "cuStreamWaitEvent"],
        _ => ["hipEventRecord", "hipStreamWaitEvent"],
    };
    for schedule in [Schedule::Lazy, Schedule::Eager, Schedule::Random, Schedule::Adversarial] {
        // How many races there are without the `nth` call of a function on a device; `None` if it is not made.
        let races = |missing: Option<(usize, &'static str, u64)>| -> Result<Option<usize>> {
            let (Some(here), Some(there)) = (backend.open_simulated(), backend.open_simulated())
            else {
                return Ok(None);
            };
            let worlds = [&here, &there].map(|on| on.world.as_ref().expect("simulated"));
            let (mut a, mut b) = (numbers(&here.program, 0.0), numbers(&there.program, 0.0));
            let mut c = numbers(&there.program, 0.0);
            // The first fills are complete.
            [&a, &b, &c].into_iter().try_for_each(|tensor| tensor.to_vec().map(drop))?;
            for world in worlds {
                world.allow_races();
                world.set_schedule(schedule);
                world.set_seed(5);
            }
            if let Some((device, call, nth)) = missing {
                worlds[device].ignore(call, nth);
            }
            set(1.0, &mut a).launch()?;
            copy(&b, &mut c).launch()?;
            a.copy_to(&mut b)?;
            set(2.0, &mut a).launch()?;
            set(3.0, &mut b).launch()?;
            // All work runs, and no host wait is between.
            let unused = worlds.map(|world| world.armed_faults()) != [0, 0];
            for on in [&here, &there] {
                on.program.device_sync()?;
            }
            let races = worlds.map(|world| world.races().len());
            worlds.iter().for_each(|world| world.disarm_faults());
            Ok(if unused { None } else { Some(races.iter().sum()) })
        };
        let Some(none) = races(None)? else { return Ok(()) };
        assert_eq!(none, 0, "{schedule:?}");
        let mut ignored = 0;
        for (device, call) in [0, 1].into_iter().flat_map(|device| calls.map(|call| (device, call)))
        {
            for nth in 1.. {
                let Some(found) = races(Some((device, call, nth)))? else { break };
                assert!(found > 0, "{schedule:?}: {call}, number {nth} of device {device}");
                ignored += 1;
            }
        }
        assert_eq!(ignored, 4, "{schedule:?}: a record and a wait for each direction");
    }
    Ok(())
}

#[on_gpu_backends]
fn a_copy_that_fails_leaves_both_programs_usable(backend: TestBackend) -> Result<()> {
    for (device, nth) in [0, 1].into_iter().flat_map(|device| (1..40).map(move |nth| (device, nth)))
    {
        let (Some(here), Some(there)) = (backend.open_simulated(), backend.open_simulated()) else {
            return Ok(());
        };
        let worlds = [&here, &there].map(|on| on.world.as_ref().expect("simulated"));
        worlds.iter().for_each(|world| world.set_schedule(Schedule::Adversarial));
        let (mut a, mut b) = (numbers(&here.program, 0.0), numbers(&there.program, 0.0));
        set(1.0, &mut a).launch()?;
        worlds[device].fail_any(nth, Code::OUT_OF_MEMORY);
        let copied = a.copy_to(&mut b);
        let unused = worlds[device].armed_faults() > 0;
        worlds[device].disarm_faults();
        set(2.0, &mut a).launch()?;
        if let Err(error) = &copied {
            assert_eq!(error.severity(), qd::Severity::Recoverable, "{error}");
        } else {
            assert_eq!(b.to_vec()?, [1.0; N], "device {device}, call {nth}");
        }
        a.copy_to(&mut b)?;
        assert_eq!(b.to_vec()?, [2.0; N], "device {device}, call {nth}");
        drop((a, b));
        for (on, world) in [&here, &there].into_iter().zip(worlds) {
            on.program.device_sync()?;
            assert_eq!(world.reports(), [], "device {device}, call {nth}");
        }
        if unused {
            break;
        }
    }
    Ok(())
}

#[on_gpu_backends]
fn a_lost_source_is_an_error_and_the_target_goes_on(backend: TestBackend) -> Result<()> {
    let (Some(here), Some(there)) = (backend.open_simulated(), backend.open_simulated()) else {
        return Ok(());
    };
    let world = here.world.as_ref().expect("simulated");
    let (a, mut b) = (numbers(&here.program, 1.0), numbers(&there.program, 2.0));
    world.lose(None, 1, Code::ILLEGAL_ADDRESS);
    let error = a.copy_to(&mut b).unwrap_err();
    assert_eq!(error.severity(), qd::Severity::ContextLost, "{error}");
    set(3.0, &mut b).launch()?;
    assert_eq!(b.to_vec()?, [3.0; N]);
    Ok(())
}

#[on_all_backends]
fn profiles_of_both_change_nothing(backend: TestBackend) -> Result<()> {
    let Some(both) = two(backend) else { return Ok(()) };
    let [here, there] = [&both[0].program, &both[1].program];
    let (mut a, mut b) = (numbers(here, 0.0), numbers(there, 0.0));
    let (copied, _timeline) = here.profile(|| {
        there.profile(|| {
            set(5.0, &mut a).launch()?;
            a.copy_to(&mut b)?;
            set(-1.0, &mut a).launch()?;
            b.to_vec()
        })
    })?;
    let (copied, timeline) = copied?;
    assert_eq!(copied?, [5.0; N]);
    assert!(timeline.to_string().contains("copy"), "{timeline}");
    Ok(())
}
