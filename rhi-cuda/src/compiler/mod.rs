//! The kernel compiler of this backend: CUDA C++ with NVRTC, which is loaded at run time. A simulated device takes the
//! IR instead.

mod cubin;
mod dialect;
mod nvrtc;
#[cfg(test)]
mod targets;
#[cfg(test)]
mod tests;

use std::{path::PathBuf, sync::Arc};

use quadrants_codegen::{
    CompileRequest, Compiled, Compiler, Result, SimulatorCompiler, SourceText, WITHOUT_FAILURES,
    print_kernel,
};
use quadrants_ir::{Offloaded, Options, verify_offloaded};
use quadrants_rhi::DeviceInfo;

use self::{
    dialect::Cuda,
    nvrtc::{ImageFormat, Nvrtc},
};

pub use self::nvrtc::LIBRARY_VARIABLE;

/// Architectures of embedded devices. Machine code of other architectures with the same major version does not run on
/// them.
const EMBEDDED: [u32; 4] = [72, 87, 101, 110];
const OLDEST: u32 = 70;

/// Makes the compiler for a device. NVRTC is loaded at the first use.
#[must_use]
pub fn compiler(info: &DeviceInfo) -> Arc<dyn Compiler> {
    if info.simulated {
        Arc::new(SimulatorCompiler::with_text(text))
    } else {
        Arc::new(CudaCompiler)
    }
}

/// Makes the compiler for an architecture name, without a device. `None` if it is not a CUDA architecture. `sm_90` is
/// machine code for that architecture and later minor versions; `compute_90` is PTX for all later ones.
#[must_use]
pub fn for_arch(arch: &str) -> Option<Arc<dyn Compiler>> {
    let number = arch.strip_prefix("sm_").or_else(|| arch.strip_prefix("compute_"))?;
    number.starts_with(|c: char| c.is_ascii_digit()).then(|| Arc::new(CudaCompiler) as _)
}

/// Compiles with NVRTC: to machine code if NVRTC supports the device's architecture, else to PTX for the newest older
/// architecture, which the driver compiles.
#[derive(Clone, Copy, Debug)]
struct CudaCompiler;

// SAFETY: NVRTC compiles the text of a verified kernel, and tests compare its behaviour with the interpreter.
unsafe impl Compiler for CudaCompiler {
    fn identity(&self) -> Result<String> {
        Ok(Nvrtc::get()?.identity())
    }

    fn disk_cache_name(&self) -> Option<String> {
        let (version, sources) = (env!("CARGO_PKG_VERSION"), env!("QUADRANTS_SOURCES"));
        Some(format!("NVRTC of {version}, sources {sources}"))
    }

    fn library(&self) -> Option<PathBuf> {
        Nvrtc::library()
    }

    fn compatible_archs(&self, arch: &str) -> Vec<String> {
        let Some(number) = arch.strip_prefix("sm_").and_then(|arch| arch.parse::<u32>().ok())
        else {
            return Vec::new();
        };
        let embedded = |number: &u32| EMBEDDED.contains(number);
        let minors = (number / 10 * 10..number).rev();
        let machine = minors.filter(|older| !embedded(older) && !embedded(&number));
        let text = (OLDEST..=number).rev();
        machine
            .map(|older| format!("sm_{older}"))
            .chain(text.map(|older| format!("compute_{older}")))
            .collect()
    }

    fn compile(&self, kernel: &Offloaded, request: &CompileRequest<'_>) -> Result<Compiled> {
        verify_offloaded(kernel)?;
        let nvrtc = Nvrtc::get()?;
        let target = nvrtc.target(request.arch)?;
        let text = text(kernel, request).text;
        let mut options = options(&kernel.options);
        if let Some(limit) = register_limit(nvrtc, kernel, &text, &target, &options) {
            options.push(format!("--maxrregcount={limit}"));
        }
        let (image, log) = nvrtc.compile(&kernel.name, &text, &target, &options)?;
        tracing::debug!(
            kernel = kernel.name,
            arch = %target.option(),
            bytes = image.len(),
            "kernel compiled"
        );
        debug_assert!(matches!(target, ImageFormat::Machine(_)) || image.ends_with(&[0]));
        Ok(Compiled::new(image, Some(text), log))
    }

    fn text(&self, kernel: &Offloaded, request: &CompileRequest<'_>) -> Option<SourceText> {
        Some(text(kernel, request))
    }
}

fn text(kernel: &Offloaded, request: &CompileRequest<'_>) -> SourceText {
    SourceText::new(print_kernel(kernel, &Cuda, request.forms, request.passing), "cu")
}

/// The number of registers that a kernel which is to have [few](quadrants_ir::schedule::TaskSchedule::few_registers)
/// needs without the functions that execute failed iterations. These need more, which would leave fewer threads on a
/// multiprocessor; with the limit, they keep values in memory instead. None for other kernels, and where the compiler's
/// output is not machine code.
///
/// Measured on an H200: forces between atoms, by lists of neighbours, take 0.15 ms with 32 registers and 0.20 with 44.
/// A product with a sparse matrix, whose loads overlap, takes 0.29 ms with 32 registers and 0.26 with 60.
fn register_limit(
    nvrtc: &Nvrtc,
    kernel: &Offloaded,
    text: &str,
    target: &ImageFormat,
    options: &[String],
) -> Option<u32> {
    /// With this many, a multiprocessor has all the threads that it can have.
    const FEWEST: u32 = 32;
    let is_limited = kernel.tasks.iter().any(|task| task.schedule.few_registers);
    if !is_limited || !matches!(target, ImageFormat::Machine(_)) {
        return None;
    }
    let mut without_failures = options.to_vec();
    without_failures.push(format!("--define-macro={WITHOUT_FAILURES}"));
    let (image, _) = nvrtc.compile(&kernel.name, text, target, &without_failures).ok()?;
    Some(cubin::max_registers(&image)?.next_multiple_of(8).max(FEWEST))
}

/// Warnings are off, because no user wrote the text.
fn options(options: &Options) -> Vec<String> {
    let mut list = vec!["--std=c++17", "--disable-warnings"];
    if options.strict {
        list.push("--fmad=false");
    } else if options.fast_math {
        list.push("--use_fast_math");
    }
    list.into_iter().map(str::to_owned).collect()
}
