//! The list of backends: the one place, besides the tests and chores, that knows it.

use std::{ffi::OsString, fmt, str::FromStr, sync::Arc};

use quadrants_program::{Backend, Error, Opened, Result, Target};
use quadrants_rhi::{Driver, environment};

/// The environment variable that [`Arch::from_env_or_best`] reads.
pub const ARCH_VARIABLE: &str = "QUADRANTS_ARCH";

/// A backend that was built in.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Arch {
    /// NVIDIA GPUs, through the CUDA driver.
    #[cfg(feature = "cuda")]
    Cuda,
    /// AMD GPUs, through HIP.
    #[cfg(feature = "amdgpu")]
    AmdGpu,
    /// This machine's processor.
    #[cfg(feature = "cpu")]
    Cpu,
}

/// A device of a backend, by ordinal: what [`Program::open`](crate::Program::open) takes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct DeviceChoice {
    arch: Arch,
    ordinal: usize,
}

/// The backend that the environment names, or the best that has a device; found when it is opened.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BestArch {
    name: Option<OsString>,
}

impl Arch {
    /// All backends built in, the best first.
    pub const ALL: &'static [Self] = &[
        #[cfg(feature = "cuda")]
        Self::Cuda,
        #[cfg(feature = "amdgpu")]
        Self::AmdGpu,
        #[cfg(feature = "cpu")]
        Self::Cpu,
    ];

    /// The backend named by `QUADRANTS_ARCH` (`cuda`, `amdgpu`, `cpu`), else the first of CUDA, AMDGPU
    /// and CPU that has a device. An unknown name, and one that is no text, is an error when the program is opened.
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

    /// A device of the backend; `Arch` itself stands for device 0.
    #[must_use]
    pub const fn device(self, ordinal: usize) -> DeviceChoice {
        DeviceChoice { arch: self, ordinal }
    }

    /// The backend's driver.
    ///
    /// # Errors
    /// Why there is none: library, symbol or version.
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

    /// A device of `driver`, which is of this backend, with the compiler for it.
    ///
    /// # Errors
    /// Why there is no device.
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
}

/// An architecture to [export](crate::Program::export_cache) kernels for, which this machine need not have:
/// `sm_90` runs on that NVIDIA architecture and later minor ones, `compute_90` on all later ones (their driver
/// finishes it at the first launch), `gfx90a` on that AMD architecture with any features.
///
/// # Errors
/// [`Error::UnknownTarget`] where no backend that is built in has such names. Whether the compiler knows the
/// architecture shows when it compiles.
///
/// # Examples
/// Kernels compiled at build time, by a program that runs where there is no GPU, and run from the file:
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
///     // What is launched is known. What is not is named by a call with any arguments of its types.
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
    let compiler = Arch::ALL.iter().find_map(|arch| match arch {
        #[cfg(feature = "cuda")]
        Arch::Cuda => quadrants_rhi_cuda::compiler::for_arch(name),
        #[cfg(feature = "amdgpu")]
        Arch::AmdGpu => quadrants_rhi_amdgpu::compiler::for_arch(name),
        #[cfg(feature = "cpu")]
        Arch::Cpu => None,
    });
    let unknown = || Error::UnknownTarget { name: name.to_owned() };
    Ok(Target::new(name, compiler.ok_or_else(unknown)?))
}

impl fmt::Display for Arch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Arch {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        let found = Self::ALL.iter().copied().find(|arch| arch.name() == name);
        found.ok_or_else(|| Error::UnknownBackend {
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
