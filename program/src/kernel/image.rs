//! Loaded forms of kernels: compiled for the device, or made of native functions.

use std::sync::Arc;

use quadrants_codegen::{CompileRequest, Compiler};
use quadrants_ir::{
    Offloaded,
    abi::{self, Form, Passing},
    interp::Interpreter,
};
use quadrants_rhi::{
    FunctionHandle, Image, ImageKind, NativeEntry, NativeFunction, NativeImage, Severity,
};
use quadrants_runtime::{Context, Module};

use crate::{
    Error, ExportedKernels, Result,
    body::NativeBody,
    kernel::{dump, host_memory::HostMemory},
    kernel_cache::CachedKernel,
    program::ProgramShared,
};

/// A loaded form of a kernel: a module, and its functions in the order of the tasks.
#[derive(Debug)]
pub(crate) struct LoadedForm {
    functions: Vec<FunctionHandle>,
    // Keeps the functions valid.
    _module: Module,
}

impl LoadedForm {
    /// The function of the first task.
    #[inline]
    pub(crate) fn first_function(&self) -> Option<FunctionHandle> {
        self.functions.first().copied()
    }

    #[inline]
    pub(crate) fn function(&self, task: usize) -> FunctionHandle {
        self.functions[task]
    }

    pub(crate) fn load(
        context: &Arc<Context>,
        kernel: &str,
        image: Image<'_>,
        names: &[String],
    ) -> Result<Self> {
        let failed = |source| Error::Launch { kernel: kernel.to_owned(), started: false, source };
        let module = Module::load(context, &image).map_err(failed)?;
        let functions =
            names.iter().map(|n| module.function(n)).collect::<Result<_, _>>().map_err(failed)?;
        tracing::debug!(kernel, functions = names.len(), "load");
        Ok(Self { functions, _module: module })
    }

    pub(crate) fn compile(
        shared: &ProgramShared,
        kernel: &Offloaded,
        form: Form,
        passing: Passing,
    ) -> Result<Self> {
        let Some(compiler) = &shared.compiler else {
            return Err(Error::NoCompiler { kernel: kernel.name.clone() });
        };
        let device = shared.context.device();
        let request = CompileRequest::new(&device.info().arch, form, passing);
        dump::source(kernel, form, || compiler.text(kernel, &request));
        let cached = shared.kernel_cache.of(&**compiler, kernel, &request);
        if let Some(cached) = &cached
            && let Some(loaded) = Self::load_cached(shared, kernel, &**compiler, cached)?
        {
            return Ok(loaded);
        }
        let failed = |source| compile_error(shared, kernel, source);
        let compiled = compiler.compile(kernel, &request).map_err(failed)?;
        tracing::debug!(kernel = kernel.name, ?form, bytes = compiled.image.len(), "compile");
        let loaded = Self::load_compiled(shared, kernel, &compiled.image)?;
        if let Some(cached) = cached {
            cached.put(request.arch, &compiled.image);
        }
        Ok(loaded)
    }

    /// Loads the form from the kernel cache, if it has it. An image that the driver refuses counts as missing.
    fn load_cached(
        shared: &ProgramShared,
        kernel: &Offloaded,
        compiler: &dyn Compiler,
        cached: &CachedKernel<'_>,
    ) -> Result<Option<Self>> {
        let load = |image: Vec<u8>| match Self::load_compiled(shared, kernel, &image) {
            Err(error) if error.severity() != Severity::ContextLost => {
                tracing::debug!(kernel = kernel.name, %error, "a kept image");
                Ok(None)
            }
            loaded => loaded.map(Some),
        };
        let arch = &shared.context.device().info().arch;
        if !shared.kernel_cache.exported().is_empty() {
            for image in cached.exported(arch, &compiler.compatible_archs(arch)) {
                if let Some(loaded) = load(image)? {
                    cached.count_exported_hit();
                    return Ok(Some(loaded));
                }
            }
        }
        cached.get(arch).map_or(Ok(None), load)
    }

    fn load_compiled(shared: &ProgramShared, kernel: &Offloaded, image: &[u8]) -> Result<Self> {
        let names: Vec<String> = kernel.tasks().map(|(id, _)| kernel.function_name(id)).collect();
        let image = match shared.context.device().capabilities().image {
            ImageKind::Text => match std::str::from_utf8(image) {
                Ok(text) => Image::Text(text),
                Err(_) => Image::Binary(image),
            },
            _ => Image::Binary(image),
        };
        Self::load(&shared.context, &kernel.name, image, &names)
    }
}

/// The error for a kernel that could not be compiled, after the exported kernels were searched.
#[cold]
fn compile_error(
    shared: &ProgramShared,
    kernel: &Offloaded,
    source: quadrants_codegen::Error,
) -> Error {
    let kernel = kernel.name.clone();
    let absent = matches!(source, quadrants_codegen::Error::CompilerNotFound { .. });
    match shared.kernel_cache.exported() {
        files if absent && !files.is_empty() => Error::NotExported {
            kernel,
            arch: shared.context.device().info().arch.clone(),
            files: files.iter().map(ExportedKernels::describe).collect(),
            source: Box::new(source),
        },
        _ => Error::Compile { kernel, source },
    }
}

/// The native image of a kernel: the CPU body at the processor's instruction level, or the interpreter for a kernel
/// made at run time.
pub(crate) fn native_image(
    kernel: &Offloaded,
    native: Option<&NativeBody>,
    form: Form,
) -> Image<'static> {
    let entry: NativeEntry = match native {
        Some(body) => {
            let (body, result) = (*body, abi::result_word(kernel));
            let arguments = abi::block_words(kernel, Form::Proven);
            Arc::new(move |call| {
                let (args, inside) = call.args.split_at(arguments);
                // SAFETY: the launcher made the argument block for this kernel's parameters, with live tensors, and
                // proved the accesses of the proven form and of the interiors, and that the launch does not race.
                unsafe { body.run(args, inside, result, form) }
            })
        }
        None => {
            let interpreter = Interpreter::new(kernel);
            let tasks: Vec<_> = kernel.tasks().map(|(id, _)| id).collect();
            Arc::new(move |call| {
                // SAFETY: the argument block holds addresses of live tensors of this kernel's shape, and every access
                // is proven or checked.
                let mut memory = unsafe { HostMemory::new() };
                for task in &tasks {
                    if let Err(fault) = interpreter.run_task(*task, form, call.args, &mut memory) {
                        std::panic::resume_unwind(Box::new(fault.to_string()));
                    }
                }
            })
        }
    };
    Image::Native(NativeImage {
        functions: vec![NativeFunction { name: "body".to_owned(), entry }],
    })
}
