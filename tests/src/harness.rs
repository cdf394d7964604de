//! The backends under test, and the programs, devices and simulated worlds that tests run on.

use std::sync::Arc;

use quadrants::{
    Arch, Backend as _, GRAPHS_VARIABLE, Opened, Program, ProgramBuilder,
    collectives::Library,
    rhi::{Driver, table::Symbol},
};
use quadrants_driver_sim as sim;

/// A backend under test.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TestBackend {
    /// The CPU of this machine.
    Cpu,
    /// CUDA: a GPU or the simulator.
    Cuda,
    /// HIP: a GPU or the simulator.
    AmdGpu,
}

/// A driver release that the simulator imitates.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Release {
    /// A release of CUDA.
    Cuda(sim::CudaVersion),
    /// A release of ROCm.
    Rocm(sim::RocmVersion),
}

/// Where the tests of a GPU backend run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DevicePolicy {
    /// On hardware if present, else on the simulator.
    Auto,
    /// On hardware; a test fails without it.
    Hardware,
    /// On the simulator.
    Simulated,
}

/// A program under test, and its simulated world if it runs on the simulator.
#[derive(Debug)]
pub struct On {
    /// The program. Declared first: it must be dropped before the world, which is reset on drop.
    pub program: Program,
    /// The world; `None` on hardware and on the CPU.
    pub world: Option<sim::WorldLease>,
}

impl On {
    /// Whether launches become graphs of the driver: it can, and `QUADRANTS_GRAPHS` does not turn them off.
    #[must_use]
    pub fn uses_graphs(&self) -> bool {
        let off = std::env::var_os(GRAPHS_VARIABLE).is_some_and(|value| value == "off");
        self.program.capabilities().graphs && !off
    }

    /// Allows races, for tests of programs whose streams lack an ordering on purpose.
    pub fn allow_races(&self) {
        if let Some(world) = &self.world {
            world.allow_races();
        }
    }
}

impl DevicePolicy {
    /// The policy in `QUADRANTS_TEST_DEVICE`.
    #[must_use]
    pub fn from_env() -> Self {
        match std::env::var("QUADRANTS_TEST_DEVICE").as_deref() {
            Ok("auto") => Self::Auto,
            Ok("hardware") => Self::Hardware,
            Ok("simulated") | Err(_) => Self::Simulated,
            Ok(other) => panic!("QUADRANTS_TEST_DEVICE is `{other}`: auto, hardware or simulated"),
        }
    }
}

impl Release {
    /// The backend of this driver release.
    #[must_use]
    pub fn backend(self) -> TestBackend {
        match self {
            Self::Cuda(_) => TestBackend::Cuda,
            Self::Rocm(_) => TestBackend::AmdGpu,
        }
    }

    /// A device of this release, with or without memory pools, as
    /// [`simulated_device`](TestBackend::simulated_device). `None` if its backend is not selected.
    #[must_use]
    pub fn open_device(self, pools: bool) -> Option<(sim::WorldLease, Opened)> {
        if !self.backend().is_selected() {
            println!("skipped: {self:?} is not in QUADRANTS_TEST_BACKENDS");
            return None;
        }
        // The rows of the driver tables state which versions have a function.
        let has = |rows: &[Symbol], version, name: &str| {
            rows.iter().any(|row| row.name == name && row.is_in(version))
        };
        // SAFETY: as in `TestBackend::simulator`.
        let driver = unsafe {
            match self {
                Self::Cuda(release) => {
                    quadrants_rhi_cuda::driver_from_symbols("simulator", |name| {
                        let rows = quadrants_rhi_cuda::symbols();
                        release.symbol(name).filter(|_| has(rows, release.number(), name))
                    })
                }
                Self::Rocm(release) => {
                    quadrants_rhi_amdgpu::driver_from_symbols("simulator", |name| {
                        let rows = quadrants_rhi_amdgpu::symbols();
                        release.symbol(name).filter(|_| has(rows, release.number(), name))
                    })
                }
            }
        };
        let world = sim::lease_world();
        world.forbid_races();
        world.set_pools(pools);
        let driver = driver.expect("every release has the required functions");
        let opened = self.backend().arch().open_with(&*driver, world.ordinal());
        Some((world, opened.expect("the simulator opens")))
    }
}

impl TestBackend {
    /// All backends.
    pub const ALL: [Self; 3] = [Self::Cpu, Self::Cuda, Self::AmdGpu];

    /// The backend in the facade's list.
    #[must_use]
    pub fn arch(self) -> Arch {
        match self {
            Self::Cpu => Arch::Cpu,
            Self::Cuda => Arch::Cuda,
            Self::AmdGpu => Arch::AmdGpu,
        }
    }

    /// A program on this backend. `None`, with a `skipped:` line, if the backend is not selected.
    #[must_use]
    pub fn open(self) -> Option<On> {
        self.open_with(Program::builder())
    }

    /// As [`open`](Self::open), with options.
    #[must_use]
    pub fn open_with(self, builder: ProgramBuilder) -> Option<On> {
        if !self.is_selected() {
            println!("skipped: {self:?} is not in QUADRANTS_TEST_BACKENDS");
            return None;
        }
        let builder = match std::env::var("QUADRANTS_ARGUMENT_LIMIT") {
            Ok(limit) => builder.argument_limit(limit.parse().expect("a number of bytes")),
            Err(_) => builder,
        };
        if self == Self::Cpu {
            let program = builder.open(Arch::Cpu).expect("the CPU is always there");
            return Some(On { program, world: None });
        }
        match DevicePolicy::from_env() {
            DevicePolicy::Simulated => Some(self.simulated(builder)),
            DevicePolicy::Hardware => {
                let program = builder.open(self.arch()).expect("no hardware to test on");
                Some(On { program, world: None })
            }
            DevicePolicy::Auto => match builder.clone().open(self.arch()) {
                Ok(program) => Some(On { program, world: None }),
                Err(_) => Some(self.simulated(builder)),
            },
        }
    }

    /// A program on the simulator, whatever the policy. `None` on the CPU and if the backend is not selected.
    #[must_use]
    pub fn open_simulated(self) -> Option<On> {
        self.open_simulated_with(Program::builder())
    }

    /// As [`open_simulated`](Self::open_simulated), with options.
    #[must_use]
    pub fn open_simulated_with(self, builder: ProgramBuilder) -> Option<On> {
        if self == Self::Cpu || !self.is_selected() {
            println!("skipped: {self:?} has no simulator, or is not in QUADRANTS_TEST_BACKENDS");
            return None;
        }
        Some(self.simulated(builder))
    }

    /// A GPU or a simulated one, chosen as by [`open`](Self::open). `None` on the CPU.
    #[must_use]
    pub fn open_device(self) -> Option<(Option<sim::WorldLease>, Opened)> {
        if self == Self::Cpu || !self.is_selected() {
            println!(
                "skipped: {self:?} is not a GPU backend, or is not in QUADRANTS_TEST_BACKENDS"
            );
            return None;
        }
        let opened = match DevicePolicy::from_env() {
            DevicePolicy::Simulated => None,
            DevicePolicy::Hardware => Some(self.arch().open().expect("no hardware to test on")),
            DevicePolicy::Auto => self.arch().open().ok(),
        };
        Some(match opened {
            Some(opened) => (None, opened),
            None => {
                let (world, opened) = self.simulated_device();
                (Some(world), opened)
            }
        })
    }

    /// A simulated device in its own world. The world comes first in the pair, so that it is dropped after everything
    /// made from the device: a context released later would belong to the next lease. When the world is dropped, the
    /// test fails if operations raced, unless the test allowed races.
    #[must_use]
    pub fn simulated_device(self) -> (sim::WorldLease, Opened) {
        let world = sim::lease_world();
        world.forbid_races();
        let opened = self.arch().open_with(&*self.simulator(), world.ordinal());
        (world, opened.expect("the simulator opens"))
    }

    fn simulated(self, builder: ProgramBuilder) -> On {
        let (world, opened) = self.simulated_device();
        let program = builder.open(opened).expect("the simulator opens");
        On { program, world: Some(world) }
    }

    /// The linked-in simulator as this backend's driver.
    #[must_use]
    pub fn simulator(self) -> Arc<dyn Driver> {
        // SAFETY: the simulator's functions have the driver's signatures and live as long as the
        // process.
        let driver = unsafe {
            match self {
                Self::Cpu => panic!("the CPU has no simulator"),
                Self::Cuda => {
                    quadrants_rhi_cuda::driver_from_symbols("simulator", sim::cuda_symbol)
                }
                Self::AmdGpu => {
                    quadrants_rhi_amdgpu::driver_from_symbols("simulator", sim::hip_symbol)
                }
            }
        };
        driver.expect("the simulator has all required functions")
    }

    /// The collective operations of the simulator.
    #[must_use]
    pub fn collective_library(self) -> Library {
        // SAFETY: as in `simulator`.
        let library = unsafe { Library::from_symbols("simulator", sim::collective_symbol) };
        library.expect("the simulator has all functions")
    }

    fn is_selected(self) -> bool {
        match std::env::var("QUADRANTS_TEST_BACKENDS") {
            Ok(list) => list.split(',').any(|name| name == self.arch().name() || name == "all"),
            Err(_) => true,
        }
    }
}
