//! Configurations from the variables of launchers.

use std::ffi::OsString;

use crate::bootstrap::{Error, ProcessGroup, RankConfig, Result};

const ADDRESS: [(&str, &str); 2] = [("MASTER_ADDR", "10.0.0.1"), ("MASTER_PORT", "29500")];
const TORCHRUN: [(&str, &str); 3] = [("RANK", "5"), ("WORLD_SIZE", "8"), ("LOCAL_RANK", "1")];
const SLURM: [(&str, &str); 3] =
    [("SLURM_PROCID", "5"), ("SLURM_NTASKS", "8"), ("SLURM_LOCALID", "1")];
const OPEN_MPI: [(&str, &str); 3] = [
    ("OMPI_COMM_WORLD_RANK", "5"),
    ("OMPI_COMM_WORLD_SIZE", "8"),
    ("OMPI_COMM_WORLD_LOCAL_RANK", "1"),
];
const MPICH: [(&str, &str); 3] = [("PMI_RANK", "5"), ("PMI_SIZE", "8"), ("MPI_LOCALRANKID", "1")];

/// Later pairs replace earlier ones.
fn parse(pairs: &[&[(&str, &str)]]) -> Result<RankConfig> {
    RankConfig::from_lookup(|variable| {
        let mut pairs = pairs.iter().copied().flatten().rev();
        pairs.find(|(name, _)| *name == variable).map(|(_, value)| OsString::from(value))
    })
}

/// The variable of an error, and its message.
fn error_of(pairs: &[&[(&str, &str)]]) -> (&'static str, String) {
    let error = parse(pairs).unwrap_err();
    let Error::Variable { variable, .. } = error else { panic!("another error: {error:?}") };
    (variable, error.to_string())
}

#[test]
fn every_launcher_gives_the_same_configuration() {
    for launcher in [TORCHRUN, SLURM, OPEN_MPI, MPICH] {
        let config = parse(&[&ADDRESS, &launcher]).unwrap();
        assert_eq!((config.rank, config.world_size, config.local_rank), (5, 8, 1));
        assert_eq!((&*config.address, config.port), ("10.0.0.1", 29500));
        assert!(config.secret.is_none());
        for (missing, _) in launcher {
            if let Err(error) = parse(&[&ADDRESS, &launcher, &[(missing, "")]]) {
                let Error::Variable { value: None, .. } = error else { panic!("{error:?}") };
            } else {
                panic!("{missing} is not needed");
            }
        }
    }
}

#[test]
fn torchrun_and_mpi_take_precedence_over_slurm() {
    let batch_step = [("SLURM_PROCID", "0"), ("SLURM_NTASKS", "1"), ("SLURM_LOCALID", "0")];
    for launcher in [TORCHRUN, OPEN_MPI, MPICH] {
        assert_eq!(parse(&[&ADDRESS, &batch_step, &launcher]).unwrap().rank, 5);
    }
    // Slurm's own PMI sets no local rank.
    let pmi = [("PMI_RANK", "5"), ("PMI_SIZE", "8")];
    assert_eq!(parse(&[&ADDRESS, &SLURM, &pmi]).unwrap().local_rank, 1);
    assert_eq!(error_of(&[&ADDRESS, &pmi]).0, "MPI_LOCALRANKID");
}

#[test]
fn errors_name_the_variable_its_value_and_what_sets_it() {
    let (variable, message) = error_of(&[&ADDRESS]);
    assert_eq!(variable, "RANK");
    assert!(message.contains("srun"), "{message}");

    for (variable, value) in [
        ("RANK", "8"),
        ("RANK", "-1"),
        ("RANK", "two"),
        ("WORLD_SIZE", "0"),
        ("WORLD_SIZE", "4294967295"),
        ("WORLD_SIZE", "99999999999999999999"),
        ("LOCAL_RANK", "8"),
        ("MASTER_PORT", "0"),
        ("MASTER_PORT", "65536"),
        ("QUADRANTS_RENDEZVOUS_PORT", "x"),
    ] {
        let (name, message) = error_of(&[&ADDRESS, &TORCHRUN, &[(variable, value)]]);
        assert_eq!(name, variable);
        assert!(message.contains(&format!("{value:?}")), "{message}");
        assert!(message.contains("torchrun") || variable.starts_with("QUADRANTS"), "{message}");
    }
    for variable in ["MASTER_ADDR", "MASTER_PORT", "WORLD_SIZE", "LOCAL_RANK"] {
        let (name, message) = error_of(&[&ADDRESS, &TORCHRUN, &[(variable, "")]]);
        assert_eq!(name, variable);
        assert!(message.contains("is not set"), "{message}");
    }
}

#[cfg(unix)]
#[test]
fn a_value_that_is_not_text_is_an_error() {
    use std::os::unix::ffi::OsStringExt;
    let error = RankConfig::from_lookup(|variable| match variable {
        "RANK" | "LOCAL_RANK" => Some("0".into()),
        "WORLD_SIZE" => Some("1".into()),
        _ => Some(OsString::from_vec(vec![b'h', 0xff])),
    });
    let message = error.unwrap_err().to_string();
    assert!(message.contains("MASTER_ADDR is not valid UTF-8"), "{message}");
}

#[test]
fn the_port_beside_the_one_of_torchrun() {
    let agent = [("TORCHELASTIC_USE_AGENT_STORE", "True")];
    assert_eq!(parse(&[&ADDRESS, &TORCHRUN, &agent]).unwrap().port, 29501);
    let no_agent = [("TORCHELASTIC_USE_AGENT_STORE", "False")];
    assert_eq!(parse(&[&ADDRESS, &TORCHRUN, &no_agent]).unwrap().port, 29500);
    let chosen = [("QUADRANTS_RENDEZVOUS_PORT", "4000")];
    assert_eq!(parse(&[&ADDRESS, &TORCHRUN, &agent, &chosen]).unwrap().port, 4000);
    let last = [("MASTER_PORT", "65535")];
    assert_eq!(error_of(&[&ADDRESS, &TORCHRUN, &agent, &last]).0, "MASTER_PORT");
}

#[test]
fn the_secret_is_not_printed() {
    let secret = [("QUADRANTS_RENDEZVOUS_SECRET", "swordfish")];
    let config = parse(&[&ADDRESS, &TORCHRUN, &secret]).unwrap();
    assert!(config.secret.is_some());
    let printed = format!("{config:?}");
    assert!(printed.contains("Secret(…)") && !printed.contains("swordfish"), "{printed}");
}

#[test]
fn contradictions_are_errors() {
    let mut wrong = vec![RankConfig::new(2, 2, "localhost", 1), RankConfig::new(0, 0, "x", 1)];
    wrong.push(RankConfig::new(0, usize::MAX, "localhost", 1));
    let mut config = RankConfig::single();
    config.heartbeat = config.lost_after;
    wrong.push(config);
    for config in wrong {
        assert!(matches!(ProcessGroup::join(&config), Err(Error::Config { .. })), "{config:?}");
    }
}

#[test]
fn only_loopback_works_without_a_secret() {
    for address in ["192.0.2.1", "2001:db8::1", "[2001:db8::1]"] {
        for rank in 0..2 {
            let error = ProcessGroup::join(&RankConfig::new(rank, 2, address, 4000)).unwrap_err();
            assert!(matches!(error, Error::SecretMissing { .. }), "{error:?}");
            assert!(error.to_string().contains("openssl rand -hex 32"), "{error}");
        }
    }
}
