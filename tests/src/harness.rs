//! Backends under test, and the programs that tests run on.

use std::sync::Arc;

use quadrants::{Arch, Backend as _, Opened, Program, ProgramBuilder, rhi::Driver};
use quadrants_driver_sim as sim;

/// A backend under test.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TestBackend {
    /// This processor.
    Cpu,
    /// CUDA: a GPU or the simulator.
    Cuda,
    /// HIP: a GPU or the simulator.
    AmdGpu,
}

/// A release of a driver that the simulator passes for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Release {
    /// One of CUDA's.
    Cuda(sim::CudaVersion),
    /// One of ROCm.
    Rocm(sim::RocmVersion),
}

/// Where the tests of a GPU backend run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DevicePolicy {
    /// On hardware where there is some, else on the simulator.
    Auto,
    /// On hardware, or they fail.
    Hardware,
    /// On the simulator.
    Simulated,
}

/// A program under test, and the simulated world it runs in, where it does.
#[derive(Debug)]
pub struct On {
    /// The program. Goes first: the world is reset when it is given back.
    pub program: Program,
    /// The world; none on hardware and on the CPU.
    pub world: Option<sim::WorldLease>,
}

impl On {
    /// For tests of programs whose streams are not ordered where they should be: a race is no failure.
    pub fn allow_races(&self) {
        if let Some(world) = &self.world {
            world.allow_races();
        }
    }
}

impl DevicePolicy {
    /// What `QUADRANTS_TEST_DEVICE` says.
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
    /// The backend that it is a driver of.
    #[must_use]
    pub fn backend(self) -> TestBackend {
        match self {
            Self::Cuda(_) => TestBackend::Cuda,
            Self::Rocm(_) => TestBackend::AmdGpu,
        }
    }

    /// A device of this release, with or without memory pools, as
    /// [`simulated_device`](TestBackend::simulated_device); none where its backend is not under test.
    #[must_use]
    pub fn open_device(self, pools: bool) -> Option<(sim::WorldLease, Opened)> {
        if !self.backend().is_selected() {
            println!("skipped: {self:?} is not in QUADRANTS_TEST_BACKENDS");
            return None;
        }
        // SAFETY: as in `TestBackend::simulator`.
        let driver = unsafe {
            match self {
                Self::Cuda(release) => {
                    quadrants_rhi_cuda::driver_from_symbols("simulator", |name| {
                        release.symbol(name)
                    })
                }
                Self::Rocm(release) => {
                    quadrants_rhi_amdgpu::driver_from_symbols("simulator", |name| {
                        release.symbol(name)
                    })
                }
            }
        };
        let world = sim::lease_world();
        world.forbid_races();
        world.set_pools(pools);
        let driver = driver.expect("every release has what is required");
        let opened = self.backend().arch().open_with(&*driver, world.ordinal());
        Some((world, opened.expect("the simulator opens")))
    }
}

impl TestBackend {
    /// The backend's place in the facade's list.
    #[must_use]
    pub fn arch(self) -> Arch {
        match self {
            Self::Cpu => Arch::Cpu,
            Self::Cuda => Arch::Cuda,
            Self::AmdGpu => Arch::AmdGpu,
        }
    }

    /// A program on this backend; none, with a line that says so, where it is not under test.
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

    /// A program on the simulator whatever the policy says; none on the CPU, and where the backend is
    /// not under test.
    #[must_use]
    pub fn open_simulated(self) -> Option<On> {
        self.open_simulated_with(Program::builder())
    }

    /// As [`open_simulated`](Self::open_simulated), with options.
    #[must_use]
    pub fn open_simulated_with(self, builder: ProgramBuilder) -> Option<On> {
        if self == Self::Cpu || !self.is_selected() {
            println!("skipped: {self:?} has no simulator, or is not under test");
            return None;
        }
        Some(self.simulated(builder))
    }

    /// A GPU, or one of the simulator, as [`open`](Self::open) chooses; none on the CPU.
    #[must_use]
    pub fn open_device(self) -> Option<(Option<sim::WorldLease>, Opened)> {
        if self == Self::Cpu || !self.is_selected() {
            println!("skipped: {self:?} is no GPU's, or is not in QUADRANTS_TEST_BACKENDS");
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

    /// A device of the simulator, in a world of its own. The world comes first, so that it is given back after all that a
    /// test makes of the device: a context that is released later would be the next claim's. A test whose operations race fails there when the
    /// world is given back, unless it says that they may.
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

    /// The simulator, linked in, as this backend's driver.
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

    fn is_selected(self) -> bool {
        match std::env::var("QUADRANTS_TEST_BACKENDS") {
            Ok(list) => list.split(',').any(|name| name == self.arch().name() || name == "all"),
            Err(_) => true,
        }
    }
}
