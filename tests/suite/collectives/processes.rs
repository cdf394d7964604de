//! Processes that make communicators. The simulator's NCCL does not connect processes, so one of them cannot join.

use std::{ffi::OsStr, net::TcpListener, sync::Arc, time::Duration};

use quadrants::{
    Result,
    collectives::{
        Communicator, Error, Failure,
        bootstrap::{ProcessGroup, RankConfig},
    },
};
use quadrants_tests::{TestBackend, on_gpu_backends};

use crate::child;

/// The works of children.
pub(crate) const WORKS: &[child::Work] = &[("a communicator of two processes", communicator)];

fn communicator(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open_simulated() else { return Ok(()) };
    let config = RankConfig::from_env().expect("the variables");
    let processes = Arc::new(ProcessGroup::join(&config).expect("joins"));
    let builder = Communicator::builder().library(backend.collective_library());
    let Err(Error::Failed { failure, .. }) = builder.join(&on.program, &processes) else {
        panic!("the simulator connects processes")
    };
    match &*failure {
        Failure::Call { .. } => println!("cannot join"),
        Failure::PeerLost { rank } => println!("rank {rank} is not there"),
        other => panic!("{other}"),
    }
    Ok(())
}

/// Without a look at the other processes, rank 0 would wait for the time limit of 10 minutes.
#[on_gpu_backends]
fn a_process_does_not_wait_for_one_that_could_not_join(backend: TestBackend) {
    if backend.open_simulated().is_none() {
        return;
    }
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
    let port = listener.local_addr().expect("a port").port().to_string();
    drop(listener);
    let start = |rank: &str| {
        let environment = [
            ("RANK", rank),
            ("WORLD_SIZE", "2"),
            ("LOCAL_RANK", rank),
            ("MASTER_ADDR", "127.0.0.1"),
            ("MASTER_PORT", &port),
            ("TORCHELASTIC_USE_AGENT_STORE", ""),
            ("QUADRANTS_RENDEZVOUS_PORT", ""),
            ("QUADRANTS_RENDEZVOUS_SECRET", "of the tests"),
        ];
        let environment = environment.map(|(name, value)| (name, OsStr::new(value)));
        let work = "a communicator of two processes";
        let output = child::output_in(work, backend, Duration::from_secs(60), &environment);
        assert!(output.status.success(), "{output:?}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let (first, second) = std::thread::scope(|scope| {
        let first = scope.spawn(|| start("0"));
        let second = start("1");
        (first.join().expect("no panic"), second)
    });
    assert!(second.contains("cannot join\n"), "{second}");
    assert!(first.contains("rank 1 is not there\n"), "{first}");
}
