//! [`Arch`]: the list of backends that are built in. The only file of the library that names the backends.

// Without a backend, `Arch` has no values.
#![cfg_attr(
    not(any(feature = "cuda", feature = "amdgpu", feature = "cpu")),
    allow(unreachable_code, unused_variables)
)]

use std::{ffi::OsString, fmt, str::FromStr, sync::Arc};

use quadrants_program::{Backend, Error, Opened, Result, Target};
use quadrants_rhi::{Device, Driver, environment};

/// The environment variable that [`Arch::from_env_or_best`] reads.
pub const ARCH_VARIABLE: &str = "QUADRANTS_ARCH";

/// A backend. Which variants exist depends on the crate's features.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Arch {
    /// NVIDIA GPUs, through the CUDA driver.
    #[cfg(feature = "cuda")]
    Cuda,
    /// AMD GPUs, through HIP.
    #[cfg(feature = "amdgpu")]
    AmdGpu,
    /// The processor of this machine.
    #[cfg(feature = "cpu")]
    Cpu,
}

/// A device of a backend, by ordinal; an argument of [`Program::open`](crate::Program::open).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct DeviceChoice {
    arch: Arch,
    ordinal: usize,
}

/// The backend that the environment names, or else the best one that has a device. Chosen when a program is opened.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BestArch {
    name: Option<OsString>,
}

impl Arch {
    /// All backends that are built in, the preferred first.
    pub const ALL: &'static [Self] = &[
        #[cfg(feature = "cuda")]
        Self::Cuda,
        #[cfg(feature = "amdgpu")]
        Self::AmdGpu,
        #[cfg(feature = "cpu")]
        Self::Cpu,
    ];

    /// The names of the backends that are not built in: the features of this crate that are off.
    pub const LEFT_OUT: &'static [&'static str] = &[
        #[cfg(not(feature = "cuda"))]
        "cuda",
        #[cfg(not(feature = "amdgpu"))]
        "amdgpu",
        #[cfg(not(feature = "cpu"))]
        "cpu",
    ];

    /// The backend named by `QUADRANTS_ARCH` (`cuda`, `amdgpu`, `cpu`); if the variable is not set, the first of CUDA,
    /// AMDGPU and CPU that has a device.
    ///
    /// Opening a program with it fails if the name is unknown or is not valid UTF-8.
    #[must_use]
    pub fn from_env_or_best() -> BestArch {
        BestArch { name: std::env::var_os(ARCH_VARIABLE) }
    }

    /// The backend's name.
    ///
    /// # Examples
    /// ```
    /// use quadrants::Arch;
    /// assert_eq!(Arch::Cpu.name(), "cpu");
    /// assert_eq!("cpu".parse::<Arch>()?, Arch::Cpu);
    /// assert!("tpu".parse::<Arch>().is_err());
    /// # Ok::<(), quadrants::Error>(())
    /// ```
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            #[cfg(feature = "cuda")]
            Self::Cuda => "cuda",
            #[cfg(feature = "amdgpu")]
            Self::AmdGpu => "amdgpu",
            #[cfg(feature = "cpu")]
            Self::Cpu => "cpu",
        }
    }

    /// A device of the backend. `Arch` itself means device 0.
    #[must_use]
    pub const fn device(self, ordinal: usize) -> DeviceChoice {
        DeviceChoice { arch: self, ordinal }
    }

    /// The backend's driver.
    ///
    /// # Errors
    /// If the driver's library, one of its symbols, or a sufficient version is missing.
    pub fn driver(self) -> quadrants_rhi::Result<Arc<dyn Driver>> {
        match self {
            #[cfg(feature = "cuda")]
            Self::Cuda => quadrants_rhi_cuda::driver(),
            #[cfg(feature = "amdgpu")]
            Self::AmdGpu => quadrants_rhi_amdgpu::driver(),
            #[cfg(feature = "cpu")]
            Self::Cpu => quadrants_rhi_cpu::driver(),
        }
    }

    /// Opens a device of `driver`, which must be the driver of this backend, with the compiler for it.
    ///
    /// # Errors
    /// If the driver has no device with this ordinal or cannot open it.
    pub fn open_with(self, driver: &dyn Driver, ordinal: usize) -> Result<Opened> {
        let device = driver.open(ordinal)?;
        let compiler = match self {
            #[cfg(feature = "cuda")]
            Self::Cuda => Some(quadrants_rhi_cuda::compiler::compiler(device.info())),
            #[cfg(feature = "amdgpu")]
            Self::AmdGpu => Some(quadrants_rhi_amdgpu::compiler::compiler(device.info())),
            #[cfg(feature = "cpu")]
            Self::Cpu => None,
        };
        Ok(Opened { device, compiler })
    }

    /// How to install what the backend needs, as a sentence for messages.
    #[must_use]
    pub const fn installation(self) -> &'static str {
        match self {
            #[cfg(feature = "cuda")]
            Self::Cuda => {
                "install NVIDIA's driver (https://www.nvidia.com/drivers), and NVRTC: \
                 `pip install nvidia-cuda-nvrtc` or the CUDA toolkit"
            }
            #[cfg(feature = "amdgpu")]
            Self::AmdGpu => {
                "install AMD's driver and ROCm 5.1 or newer, with hipRTC (https://rocm.docs.amd.com)"
            }
            #[cfg(feature = "cpu")]
            Self::Cpu => "nothing is needed",
        }
    }

    /// What only this backend's driver reports about a device, as names and values for people. Empty if the device is
    /// of another backend.
    #[must_use]
    pub fn details(self, device: &(dyn Device + 'static)) -> Vec<(&'static str, String)> {
        match self {
            #[cfg(feature = "cuda")]
            Self::Cuda => {
                let cuda = quadrants_rhi_cuda::CudaDevice::from_device(device);
                let mode = |lazy| if lazy { "at the first use" } else { "with the module" };
                let lazy = cuda.and_then(|cuda| cuda.loads_lazily().ok());
                lazy.map(|lazy| ("code is loaded", mode(lazy).to_owned())).into_iter().collect()
            }
            #[cfg(feature = "amdgpu")]
            Self::AmdGpu => {
                let amd = quadrants_rhi_amdgpu::HipDevice::from_device(device);
                let arch = amd.map(|amd| amd.arch_with_modes().to_owned());
                arch.map(|arch| ("architecture with modes", arch)).into_iter().collect()
            }
            #[cfg(feature = "cpu")]
            Self::Cpu => {
                // Only GPUs have details.
                let _ = device;
                Vec::new()
            }
        }
    }
}

/// An architecture to [export](crate::Program::export_cache) kernels for. This machine does not need to have it.
///
/// - `sm_90`: NVIDIA GPUs of that architecture and of later minor versions of it.
/// - `compute_90`: all later NVIDIA GPUs; their driver finishes the compilation at the first launch.
/// - `gfx90a`: AMD GPUs of that architecture with any features.
///
/// # Errors
/// [`Error::UnknownTarget`] if no backend that is built in has architectures of such names. A name that the compiler
/// does not know is an error at the export.
///
/// # Examples
/// A program compiles kernels ahead of time, on a machine without a GPU; another loads them from the file:
/// ```no_run
/// use quadrants::{self as qd, Tensor};
///
/// #[qd::kernel]
/// fn saxpy(a: f32, x: &Tensor<f32, 1>, y: &mut Tensor<f32, 1>) {
///     for i in 0..x.len() {
///         y[i] += a * x[i];
///     }
/// }
///
/// fn precompile() -> qd::Result<()> {
///     let prog = qd::Program::open(qd::Arch::Cpu)?;
///     // Kernels that were launched are exported. Others are added by a call with any arguments of the right types.
///     saxpy(0.0, &*qd::host(&[], [0])?, &mut *qd::host_mut(&mut [], [0])?).prepare(&prog)?;
///     prog.export_cache("kernels.qdk", &[qd::target("sm_80")?, qd::target("gfx90a")?])?;
///     Ok(())
/// }
///
/// fn main() -> qd::Result<()> {
///     let kernels = qd::ExportedKernels::open("kernels.qdk")?; // or `from_bytes(include_bytes!("kernels.qdk"))`
///     let prog = qd::Program::builder().kernels(kernels).open(qd::Arch::Cuda)?;
///     let (x, mut y) = (prog.zeros::<f32, 1>([64])?, prog.zeros::<f32, 1>([64])?);
///     saxpy(2.0, &x, &mut y).launch() // needs no compiler
/// }
/// # let _ = precompile;
/// ```
pub fn target(name: &str) -> Result<Target> {
    let of_backend = |arch: Arch| match arch {
        #[cfg(feature = "cuda")]
        Arch::Cuda => quadrants_rhi_cuda::compiler::for_arch(name),
        #[cfg(feature = "amdgpu")]
        Arch::AmdGpu => quadrants_rhi_amdgpu::compiler::for_arch(name),
        #[cfg(feature = "cpu")]
        Arch::Cpu => None,
    };
    let compiler = Arch::ALL.iter().find_map(|&arch| of_backend(arch));
    let unknown = || Error::UnknownTarget { name: name.to_owned() };
    Ok(Target::new(name, compiler.ok_or_else(unknown)?))
}

/// All devices of all backends that are built in, the preferred backend first. Each can be opened by
/// [`Program::open`](crate::Program::open). A backend whose driver is missing, or finds no device, has none.
///
/// # Examples
/// ```
/// use quadrants as qd;
/// for device in qd::devices() {
///     let program = qd::Program::open(device)?;
///     assert_eq!((program.arch(), program.device_info().ordinal), (device.arch().name(), device.ordinal()));
///     println!("{device}: {}", program.device_info().name);
/// }
/// # Ok::<(), qd::Error>(())
/// ```
#[must_use]
pub fn devices() -> Vec<DeviceChoice> {
    let of = |arch: &Arch| {
        let count = arch.driver().and_then(|driver| driver.device_count()).unwrap_or(0);
        let arch = *arch;
        (0..count).map(move |ordinal| arch.device(ordinal))
    };
    Arch::ALL.iter().flat_map(of).collect()
}

impl DeviceChoice {
    /// The backend.
    #[must_use]
    pub const fn arch(self) -> Arch {
        self.arch
    }

    /// The number of the device in its driver, from 0.
    #[must_use]
    pub const fn ordinal(self) -> usize {
        self.ordinal
    }
}

impl fmt::Display for DeviceChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.arch, self.ordinal)
    }
}

impl fmt::Display for Arch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Arch {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        let arch = Self::ALL.iter().copied().find(|arch| arch.name() == name);
        arch.ok_or_else(|| Error::UnknownBackend {
            name: name.to_owned(),
            known: Self::ALL.iter().map(|arch| arch.name()).collect(),
        })
    }
}

impl Backend for Arch {
    fn open(&self) -> Result<Opened> {
        self.device(0).open()
    }
}

impl Backend for DeviceChoice {
    fn open(&self) -> Result<Opened> {
        self.arch.open_with(&*self.arch.driver()?, self.ordinal)
    }
}

impl Backend for BestArch {
    fn open(&self) -> Result<Opened> {
        if let Some(name) = environment::text_of(ARCH_VARIABLE, self.name.clone())? {
            return name.parse::<Arch>()?.open();
        }
        let mut last = Error::UnknownBackend { name: "best".to_owned(), known: Vec::new() };
        for arch in Arch::ALL {
            match arch.open() {
                Ok(opened) => return Ok(opened),
                Err(error) => last = error,
            }
        }
        Err(last)
    }
}
