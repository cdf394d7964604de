//! The rank of a process in its group, from the variables of launchers.

use std::ffi::OsString;
use std::time::Duration;

use super::{Error, Result, Secret};

const SECRET: &str = "QUADRANTS_RENDEZVOUS_SECRET";
const PORT: &str = "QUADRANTS_RENDEZVOUS_PORT";

/// The largest world size. Rank 0 has one connection and one thread for each other rank.
const LARGEST_WORLD: u32 = 65_536;

/// The rank of a process in its group, and how it finds the others.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct RankConfig {
    /// The number of this process in the group, from 0.
    pub rank: usize,
    /// The number of processes.
    pub world_size: usize,
    /// The number of this process among those of its machine, from 0: usually the ordinal of its device.
    pub local_rank: usize,
    /// The address that rank 0 listens on: a name or an IP address.
    pub address: String,
    /// The port that rank 0 listens on.
    pub port: u16,
    /// What all processes of the run know. `None`: the user's secret file, which works on loopback addresses only.
    pub secret: Option<Secret>,
    /// How long joining, a broadcast or a barrier may take. 5 minutes by default.
    pub timeout: Duration,
    /// Time between two signs of life on a connection. 2 seconds by default. The same for all processes.
    pub heartbeat: Duration,
    /// A process is lost after so long without a sign of life. 10 seconds by default; more than `heartbeat`. It covers
    /// machines that disappear: the end of a process is noticed at once.
    pub lost_after: Duration,
}

/// The variables that one launcher sets.
struct Launcher {
    /// This launcher started the process if this variable is set.
    marker: &'static str,
    rank: &'static str,
    world_size: &'static str,
    local_rank: &'static str,
    set_by: &'static str,
}

const MPICH: Launcher = Launcher {
    marker: "MPI_LOCALRANKID",
    rank: "PMI_RANK",
    world_size: "PMI_SIZE",
    local_rank: "MPI_LOCALRANKID",
    set_by: "mpiexec of MPICH and Intel MPI sets it",
};

/// In the order of precedence. Slurm comes after MPI's launchers: what they start in a Slurm job also sees the
/// variables of the job step that started the launcher.
const LAUNCHERS: [Launcher; 5] = [
    Launcher {
        marker: "RANK",
        rank: "RANK",
        world_size: "WORLD_SIZE",
        local_rank: "LOCAL_RANK",
        set_by: "torchrun sets it",
    },
    Launcher {
        marker: "OMPI_COMM_WORLD_RANK",
        rank: "OMPI_COMM_WORLD_RANK",
        world_size: "OMPI_COMM_WORLD_SIZE",
        local_rank: "OMPI_COMM_WORLD_LOCAL_RANK",
        set_by: "mpirun of Open MPI sets it",
    },
    MPICH,
    Launcher {
        marker: "SLURM_PROCID",
        rank: "SLURM_PROCID",
        world_size: "SLURM_NTASKS",
        local_rank: "SLURM_LOCALID",
        set_by: "srun of Slurm sets it",
    },
    // Slurm's PMI sets the rank as well, but no local rank.
    Launcher { marker: "PMI_RANK", ..MPICH },
];

impl RankConfig {
    /// A configuration with the default times.
    pub fn new(rank: usize, world_size: usize, address: impl Into<String>, port: u16) -> Self {
        Self {
            rank,
            world_size,
            local_rank: rank,
            address: address.into(),
            port,
            secret: None,
            timeout: Duration::from_secs(300),
            heartbeat: Duration::from_secs(2),
            lost_after: Duration::from_secs(10),
        }
    }

    /// A group of one process, which needs no address and no secret.
    pub fn single() -> Self {
        Self::new(0, 1, "localhost", 0)
    }

    /// Reads the variables of the launcher that started this process, `MASTER_ADDR`, `MASTER_PORT`,
    /// `QUADRANTS_RENDEZVOUS_PORT` and `QUADRANTS_RENDEZVOUS_SECRET`. Empty values count as not set.
    ///
    /// Rank, world size and local rank come from the first launcher whose variables are there:
    /// `RANK`, `WORLD_SIZE`, `LOCAL_RANK` (torchrun);
    /// `OMPI_COMM_WORLD_RANK`, `OMPI_COMM_WORLD_SIZE`, `OMPI_COMM_WORLD_LOCAL_RANK` (Open MPI);
    /// `PMI_RANK`, `PMI_SIZE`, `MPI_LOCALRANKID` (MPICH, Intel MPI);
    /// `SLURM_PROCID`, `SLURM_NTASKS`, `SLURM_LOCALID` (Slurm).
    ///
    /// # Errors
    /// [`Error::Variable`] if a variable is missing or invalid.
    pub fn from_env() -> Result<Self> {
        Self::from_lookup(|variable| std::env::var_os(variable))
    }

    /// Like [`from_env`](Self::from_env), with the values that `lookup` returns.
    ///
    /// # Errors
    /// [`Error::Variable`] if a variable is missing or invalid.
    pub fn from_lookup(lookup: impl Fn(&str) -> Option<OsString>) -> Result<Self> {
        let lookup = |variable: &str| lookup(variable).filter(|value| !value.is_empty());
        let launcher = LAUNCHERS.iter().find(|launcher| lookup(launcher.marker).is_some());
        let launcher = launcher.ok_or_else(|| Error::Variable {
            variable: "RANK",
            value: None,
            problem: "is not set, and no variable of another launcher is".into(),
            set_by: "start the program with torchrun, mpirun, mpiexec or srun",
        })?;
        let set_by = launcher.set_by;
        let world_size = number(&lookup, launcher.world_size, set_by, 1..=LARGEST_WORLD)?;
        let below = 0..=world_size - 1;
        let rank = number(&lookup, launcher.rank, set_by, below.clone())?;
        let local_rank = number(&lookup, launcher.local_rank, set_by, below)?;

        let help =
            "torchrun sets it; with other launchers, export the address of the machine of rank 0";
        let address = text(&lookup, "MASTER_ADDR", help)?;
        let port = port(&lookup)?;

        let mut config = Self::new(rank as usize, world_size as usize, address, port);
        config.local_rank = local_rank as usize;
        config.secret = lookup(SECRET).and_then(|value| Secret::new(value.as_encoded_bytes()));
        Ok(config)
    }

    /// Checks the fields against each other.
    pub(crate) fn check(&self) -> Result<()> {
        let fail = |what: String| Err(Error::Config { what });
        let (rank, size) = (self.rank, self.world_size);
        if size == 0 || size > LARGEST_WORLD as usize {
            return fail(format!("the world size {size}; help: use one in 1..={LARGEST_WORLD}"));
        }
        if rank >= size {
            return fail(format!("rank {rank}; help: use a rank in 0..{size}, the world size"));
        }
        if self.heartbeat.is_zero() || self.lost_after <= self.heartbeat {
            let (heartbeat, lost_after) = (self.heartbeat, self.lost_after);
            return fail(format!(
                "lost_after ({lost_after:?}) and heartbeat ({heartbeat:?}); help: choose a heartbeat that is not zero, and a \
                 longer lost_after"
            ));
        }
        Ok(())
    }
}

/// The port of the rendezvous.
fn port(lookup: &impl Fn(&str) -> Option<OsString>) -> Result<u16> {
    let all = 1..=u32::from(u16::MAX);
    if lookup(PORT).is_some() {
        let help = "set it to a free port, the same for all processes";
        return number(lookup, PORT, help, all).map(|port| port as u16);
    }
    let help =
        "torchrun sets it; with other launchers, export a free port on the machine of rank 0";
    let port = number(lookup, "MASTER_PORT", help, all)?;
    if lookup("TORCHELASTIC_USE_AGENT_STORE").is_none_or(|value| value != "True") {
        return Ok(port as u16);
    }
    // torchrun's agent listens on MASTER_PORT.
    u16::try_from(port + 1).map_err(|_| Error::Variable {
        variable: "MASTER_PORT",
        value: Some(port.to_string()),
        problem: format!("is {port}, which torchrun uses itself, and there is no next port"),
        set_by: "set QUADRANTS_RENDEZVOUS_PORT to a free port",
    })
}

fn text(
    lookup: &impl Fn(&str) -> Option<OsString>,
    variable: &'static str,
    set_by: &'static str,
) -> Result<String> {
    let Some(value) = lookup(variable) else {
        let problem = "is not set".into();
        return Err(Error::Variable { variable, value: None, problem, set_by });
    };
    value.into_string().map_err(|value| {
        let problem = format!("is not valid UTF-8: {value:?}");
        let value = Some(value.to_string_lossy().into_owned());
        Error::Variable { variable, value, problem, set_by }
    })
}

fn number(
    lookup: &impl Fn(&str) -> Option<OsString>,
    variable: &'static str,
    set_by: &'static str,
    range: std::ops::RangeInclusive<u32>,
) -> Result<u32> {
    let value = text(lookup, variable, set_by)?;
    value.parse().ok().filter(|number| range.contains(number)).ok_or_else(|| {
        let problem =
            format!("is {value:?}, not a number from {} to {}", range.start(), range.end());
        Error::Variable { variable, value: Some(value), problem, set_by }
    })
}
