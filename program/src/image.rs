//! Loaded forms of a kernel: compiled for the device, or made of native functions.

use std::sync::Arc;

use quadrants_codegen::CompileRequest;
use quadrants_ir::{
    Offloaded,
    abi::{self, Form, Passing},
    interp::Interpreter,
};
use quadrants_rhi::{
    FunctionHandle, Image, ImageKind, NativeEntry, NativeFunction, NativeImage, Severity,
};
use quadrants_runtime::Module;

use crate::{
    Error, Result, body::NativeBody, dump, host_memory::HostMemory, kept::KeptKernel,
    program::Shared,
};

/// A module with the functions of a plan, in the order of the tasks.
#[derive(Debug)]
pub(crate) struct LoadedForm {
    functions: Vec<FunctionHandle>,
    // Keeps the functions valid.
    _module: Module,
}

impl LoadedForm {
    pub(crate) fn function(&self, task: usize) -> FunctionHandle {
        self.functions[task]
    }

    pub(crate) fn load(
        shared: &Shared,
        kernel: &str,
        image: Image<'_>,
        names: &[String],
    ) -> Result<Self> {
        let failed = |source| Error::Launch { kernel: kernel.to_owned(), started: false, source };
        let module = Module::load(&shared.context, &image).map_err(failed)?;
        let functions =
            names.iter().map(|n| module.function(n)).collect::<Result<_, _>>().map_err(failed)?;
        tracing::debug!(kernel, functions = names.len(), "load");
        Ok(Self { functions, _module: module })
    }

    pub(crate) fn compile(
        shared: &Shared,
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
        let kept = shared.kept.as_ref().and_then(|kept| kept.of(&**compiler, kernel, &request));
        if let Some(image) = kept.as_ref().and_then(KeptKernel::get) {
            // One that the driver refuses is as good as none.
            match Self::load_compiled(shared, kernel, &image) {
                Err(error) if error.severity() != Severity::ContextLost => {
                    tracing::debug!(kernel = kernel.name, %error, "a kept image");
                }
                loaded => return loaded,
            }
        }
        let compiled = compiler
            .compile(kernel, &request)
            .map_err(|source| Error::Compile { kernel: kernel.name.clone(), source })?;
        tracing::debug!(kernel = kernel.name, ?form, bytes = compiled.image.len(), "compile");
        let loaded = Self::load_compiled(shared, kernel, &compiled.image)?;
        if let Some(kept) = kept {
            kept.put(&compiled.image);
        }
        Ok(loaded)
    }

    fn load_compiled(shared: &Shared, kernel: &Offloaded, image: &[u8]) -> Result<Self> {
        let names: Vec<String> = kernel.tasks().map(|(id, _)| kernel.function_name(id)).collect();
        let image = match shared.context.device().capabilities().image {
            ImageKind::Text => match std::str::from_utf8(image) {
                Ok(text) => Image::Text(text),
                Err(_) => Image::Binary(image),
            },
            _ => Image::Binary(image),
        };
        Self::load(shared, &kernel.name, image, &names)
    }
}

/// The native image of a kernel: rustc's body at the processor's level, or the interpreter where the
/// kernel was made at run time.
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
                // SAFETY: the launcher made the argument block for this kernel's parameters, with live
                // tensors, and proved the accesses of a proven form and of the interiors; races are the
                // kernel's checks.
                unsafe { body.run(args, inside, result, form) }
            })
        }
        None => {
            let interpreter = Interpreter::new(kernel);
            let tasks: Vec<_> = kernel.tasks().map(|(id, _)| id).collect();
            Arc::new(move |call| {
                // SAFETY: the argument block holds addresses of live tensors of this kernel's shape,
                // and every access is proven or checked.
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
