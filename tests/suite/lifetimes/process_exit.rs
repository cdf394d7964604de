//! Process exit with work in flight, in any order of drops and from any thread, neither hangs nor crashes.

use std::{
    cell::RefCell,
    mem::forget,
    process::exit,
    sync::{Mutex, mpsc},
    thread,
    time::Duration,
};

use quadrants::{
    Event, Kernel, Program, Result, Stream, Tensor, builder::KernelBuilder, ir::ScalarType::F32,
};
use quadrants_driver_sim::Schedule;
use quadrants_tests::{On, TestBackend, on_all_backends};

use crate::{
    child,
    common::{copy, set, three_blocks},
};

const N: usize = 64;

/// Something that a program is made of.
#[expect(dead_code, reason = "held to be dropped")]
enum OwnedObject {
    Program(Program),
    Stream(Stream),
    Event(Event),
    Tensor(Tensor<f32, 1>),
    Kernel(Kernel),
}

/// A program with work in flight, in parts.
fn things(backend: TestBackend) -> Option<(Vec<OwnedObject>, On)> {
    let on = backend.open()?;
    if let Some(world) = &on.world {
        // What nobody waits for does not run.
        world.set_schedule(Schedule::Lazy);
    }
    let make = || -> Result<Vec<OwnedObject>> {
        let program = on.program.clone();
        let (stream, event) = (program.create_stream()?, program.create_event()?);
        let [mut a, mut b, mut c] = [(); 3].map(|()| program.zeros::<f32, 1>([N]).expect("memory"));
        let built = KernelBuilder::new("built");
        let out = built.param_tensor_mut("out", F32, 1);
        built.range_for(0u64, out.len(), |i| out.store(i, 7.0f32));
        let kernel = Kernel::new(built.build().expect("a valid kernel"))?;
        set(1.0, &mut a).launch()?;
        set(2.0, &mut b).launch_on(&stream)?;
        event.record(program.default_stream())?;
        event.wait(&stream)?;
        three_blocks(&mut a, &mut b, &mut c).launch_on(&stream)?;
        kernel.call::<()>().arg(&mut c).launch_on(&stream)?;
        event.record(&stream)?;
        event.wait(program.default_stream())?;
        copy(&b, &mut a).launch()?;
        let things = [a, b, c].map(OwnedObject::Tensor).into_iter();
        let others = [
            OwnedObject::Program(program),
            OwnedObject::Stream(stream),
            OwnedObject::Event(event),
            OwnedObject::Kernel(kernel),
        ];
        Ok(things.chain(others).collect())
    };
    Some((make().expect("a program at work"), on))
}

static KEPT: Mutex<Vec<(Vec<OwnedObject>, On)>> = Mutex::new(Vec::new());

thread_local! {
    static OF_THREAD: RefCell<Vec<(Vec<OwnedObject>, On)>> = const { RefCell::new(Vec::new()) };
}

unsafe extern "C" {
    fn atexit(then: extern "C" fn()) -> i32;
}

/// Drops all that is kept, when the process is about to end.
extern "C" fn drop_kept() {
    let kept = KEPT.lock().map(|mut kept| std::mem::take(&mut *kept));
    drop(kept);
}

/// The works of children.
pub(crate) const WORKS: &[child::Work] = &[
    ("exit with all alive", |backend| {
        let _things = things(backend);
        exit(0)
    }),
    ("exit with all in a static", |backend| {
        KEPT.lock().expect("nobody panicked").extend(things(backend));
        exit(0)
    }),
    ("exit with all forgotten", |backend| {
        forget(things(backend));
        exit(0)
    }),
    ("exit that drops all in a handler", |backend| {
        KEPT.lock().expect("nobody panicked").extend(things(backend));
        // SAFETY: a function of the right type, which may be called at any time.
        assert_eq!(unsafe { atexit(drop_kept) }, 0);
        exit(0)
    }),
    ("return with all in a thread's destructor", |backend| {
        // This test's own thread, which ends before the process.
        OF_THREAD.with_borrow_mut(|kept| kept.extend(things(backend)));
        Ok(())
    }),
    ("exit while another thread launches", |backend| {
        let (ready, go) = mpsc::channel();
        thread::spawn(move || -> Result<()> {
            let Some((mut things, _on)) = things(backend) else { return Ok(()) };
            ready.send(()).expect("somebody waits");
            loop {
                for thing in &mut things {
                    if let OwnedObject::Tensor(x) = thing {
                        set(3.0, x).launch()?;
                    }
                }
            }
        });
        // Where the backend is not under test nobody is ready.
        let _ = go.recv();
        thread::sleep(Duration::from_millis(20));
        exit(0)
    }),
    ("exit while another thread drops", |backend| {
        let (ready, go) = mpsc::channel();
        thread::spawn(move || {
            loop {
                let things = things(backend);
                let _ = ready.send(());
                drop(things);
            }
        });
        let _ = go.recv();
        exit(0)
    }),
    ("exit from another thread", |backend| {
        let things = things(backend);
        thread::scope(|scope| {
            scope.spawn(|| exit(0));
        });
        drop(things);
        Ok(())
    }),
    ("drop in any order, on any thread", |backend| {
        for seed in 0..60u64 {
            let Some((mut things, on)) = things(backend) else { return Ok(()) };
            drop(on.program);
            // A permutation by the seed.
            let mut number = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 8;
            while !things.is_empty() {
                let at = (number % things.len() as u64) as usize;
                number /= 7;
                let thing = things.swap_remove(at);
                match number % 3 {
                    0 => thread::spawn(move || drop(thing)).join().expect("no panic"),
                    _ => drop(thing),
                }
            }
            if let Some(world) = &on.world {
                assert_eq!(world.reports(), [], "seed {seed}");
                let live = world.live();
                assert_eq!((live.streams, live.events, live.blocks), (0, 0, 0), "seed {seed}");
            }
        }
        exit(0)
    }),
    ("exit behind a panic of another thread", |backend| {
        let panicked = thread::spawn(move || {
            let _things = things(backend);
            panic!("on purpose");
        });
        assert!(panicked.join().is_err());
        exit(0)
    }),
];

#[on_all_backends]
fn a_process_exits_cleanly_with_work_in_flight(
    backend: TestBackend,
    #[values(0, 1, 2, 3, 4, 5, 6, 7, 8, 9)] work: usize,
) {
    let (name, _) = WORKS[work];
    let output = child::output(name, backend, Duration::from_secs(60));
    assert!(output.status.success(), "`{name}` on {backend:?}: {output:#?}");
}

#[test]
fn every_exit_scenario_runs() {
    assert_eq!(WORKS.len(), 10);
}
