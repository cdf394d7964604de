//! The kernel compiler of this backend: HIP C++ with hipRTC, which is loaded at run time. A simulated device takes the
//! IR instead.

mod arch;
mod dialect;
mod hiprtc;
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

use self::{dialect::Hip, hiprtc::Hiprtc};

pub use self::hiprtc::LIBRARY_VARIABLE;

/// Makes the compiler for a device. hipRTC is loaded at the first use.
#[must_use]
pub fn compiler(info: &DeviceInfo) -> Arc<dyn Compiler> {
    if info.simulated {
        Arc::new(SimulatorCompiler::with_text(text))
    } else {
        Arc::new(HipCompiler)
    }
}

/// Makes the compiler for an architecture name, without a device. `None` if it is not an AMD architecture. A name
/// without features, such as `gfx90a`, is for devices with any features.
#[must_use]
pub fn for_arch(arch: &str) -> Option<Arc<dyn Compiler>> {
    arch.starts_with("gfx").then(|| Arc::new(HipCompiler) as _)
}

/// Compiles with hipRTC to a code object for the device.
#[derive(Clone, Copy, Debug)]
struct HipCompiler;

// SAFETY: hipRTC compiles the text of a verified kernel, and tests compare its behaviour with the interpreter.
unsafe impl Compiler for HipCompiler {
    fn identity(&self) -> Result<String> {
        Ok(Hiprtc::get()?.identity().to_owned())
    }

    fn disk_cache_name(&self) -> Option<String> {
        let (version, sources) = (env!("CARGO_PKG_VERSION"), env!("QUADRANTS_SOURCES"));
        Some(format!("hipRTC of {version}, sources {sources}"))
    }

    fn library(&self) -> Option<PathBuf> {
        Hiprtc::library()
    }

    fn compatible_archs(&self, arch: &str) -> Vec<String> {
        let processor = arch::processor(arch);
        let general = (processor != arch).then(|| processor.to_owned());
        general.into_iter().collect()
    }

    fn compile(&self, kernel: &Offloaded, request: &CompileRequest<'_>) -> Result<Compiled> {
        verify_offloaded(kernel)?;
        let hiprtc = Hiprtc::get()?;
        hiprtc.check_arch(request.arch)?;
        let text = text(kernel, request).text;
        let (image, log) =
            hiprtc.compile(&kernel.name, &text, request.arch, &options(&kernel.options))?;
        tracing::debug!(
            kernel = kernel.name,
            arch = request.arch,
            bytes = image.len(),
            "kernel compiled"
        );
        Ok(Compiled::new(image, Some(text), log))
    }

    fn text(&self, kernel: &Offloaded, request: &CompileRequest<'_>) -> Option<SourceText> {
        Some(text(kernel, request))
    }
}

fn text(kernel: &Offloaded, request: &CompileRequest<'_>) -> SourceText {
    SourceText::new(print_kernel(kernel, &Hip, request.forms, request.passing), "hip")
}

/// Warnings are off, because no user wrote the text. Fast mathematics keeps NaN and infinity, because conversions to
/// integers test for them.
///
/// `-munsafe-fp-atomics` allows the chip's own atomic operations on floats, where the compiler otherwise emits a loop
/// until a compare-and-exchange succeeds. They lose updates in fine-grained memory, that is, host and managed memory.
/// Tensors are in coarse-grained memory: `hipMalloc` and the default pool give no other, and whoever makes a tensor of
/// foreign memory promises it.
fn options(options: &Options) -> Vec<&'static str> {
    let mut list = vec!["-O3", "-std=c++17", "-w", "-munsafe-fp-atomics"];
    if options.strict {
        list.push("-ffp-contract=off");
    } else if options.fast_math {
        list.push("-funsafe-math-optimizations");
    }
    list
}
