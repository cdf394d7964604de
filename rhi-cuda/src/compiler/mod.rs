//! The kernel compiler of this backend: CUDA C++ through NVRTC, which is found at run time as the
//! driver is. A simulated device takes the IR itself.

mod dialect;
mod nvrtc;
#[cfg(test)]
mod targets;
#[cfg(test)]
mod tests;

use std::{path::PathBuf, sync::Arc};

use quadrants_codegen::{
    CompileRequest, Compiled, Compiler, Result, SimulatorCompiler, SourceText, print_kernel,
};
use quadrants_ir::{Offloaded, Options, verify_offloaded};
use quadrants_rhi::DeviceInfo;

use self::{
    dialect::Cuda,
    nvrtc::{Nvrtc, Target},
};

/// The variable that names NVRTC's library.
pub const LIBRARY_VARIABLE: &str = "QUADRANTS_NVRTC_LIBRARY";

/// Architectures of embedded devices, whose machine code is not that of others of their major number.
const EMBEDDED: [u32; 4] = [72, 87, 101, 110];
/// The oldest architecture that the text is for.
const OLDEST: u32 = 70;

/// Counts changes of the options or the text below that change what is compiled.
const REVISION: u32 = 1;

/// The compiler for a device. Nothing is loaded before the first use.
#[must_use]
pub fn compiler(info: &DeviceInfo) -> Arc<dyn Compiler> {
    if info.simulated {
        Arc::new(SimulatorCompiler::with_text(text))
    } else {
        Arc::new(CudaCompiler)
    }
}

/// The compiler for an architecture's name, which no device need have; none where it is no name of CUDA's:
/// `sm_90` is machine code for that architecture and later minor ones, `compute_90` text that drivers of all
/// later ones finish.
#[must_use]
pub fn for_arch(arch: &str) -> Option<Arc<dyn Compiler>> {
    let number = arch.strip_prefix("sm_").or_else(|| arch.strip_prefix("compute_"))?;
    number.starts_with(|c: char| c.is_ascii_digit()).then(|| Arc::new(CudaCompiler) as _)
}

/// Compiles with NVRTC, to machine code for the device where NVRTC knows it, and else to PTX for the
/// newest architecture before it, which the driver finishes.
#[derive(Clone, Copy, Debug)]
struct CudaCompiler;

// SAFETY: NVRTC compiles the text of a verified kernel, whose meaning the tests hold against the interpreter.
unsafe impl Compiler for CudaCompiler {
    fn identity(&self) -> Result<String> {
        Ok(format!("{} revision {REVISION}", Nvrtc::get()?.identity()))
    }

    fn disk_cache_name(&self) -> Option<String> {
        Some(format!("NVRTC revision {REVISION} of {}", env!("CARGO_PKG_VERSION")))
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
        let (image, log) =
            nvrtc.compile(&kernel.name, &text, &target, &options(&kernel.options))?;
        tracing::debug!(
            kernel = kernel.name,
            arch = %target.option(),
            bytes = image.len(),
            "kernel compiled"
        );
        debug_assert!(matches!(target, Target::Machine(_)) || image.ends_with(&[0]));
        Ok(Compiled::new(image, Some(text), log))
    }

    fn text(&self, kernel: &Offloaded, request: &CompileRequest<'_>) -> Option<SourceText> {
        Some(text(kernel, request))
    }
}

fn text(kernel: &Offloaded, request: &CompileRequest<'_>) -> SourceText {
    SourceText::new(print_kernel(kernel, &Cuda, request.form, request.passing), "cu")
}

/// Warnings are off, for they are about text that no one wrote.
fn options(options: &Options) -> Vec<&'static str> {
    let mut list = vec!["--std=c++17", "--disable-warnings"];
    if options.strict {
        list.push("--fmad=false");
    } else if options.fast_math {
        list.push("--use_fast_math");
    }
    list
}
