//! The kernel loader: compiles kernels, or finds their images in the kernel cache, and loads them.

use std::sync::Arc;

use quadrants_codegen::{CompileRequest, Compiler};
use quadrants_ir::{
    Offloaded, Task, TaskKind,
    abi::{self, DEFAULT_BLOCK_SIZE, Forms, Passing},
    interp::Interpreter,
};
use quadrants_rhi::{
    FunctionHandle, FunctionUsage, Image, ImageKind, LaunchConfig, NativeEntry, NativeFunction,
    NativeImage, Severity,
};
use quadrants_runtime::{Context, Module};

use crate::{
    Error, ExportedKernels, Result,
    body::{CheckedParts, NativeBody, Run},
    kernel::{dump, interpreter_memory::InterpreterMemory},
    kernel_cache::{CachedKernel, KernelCache},
};

/// The number of threads of a small block: for functions with many registers, of which more small blocks fit on a
/// multiprocessor.
pub(crate) const SMALL_BLOCK: u32 = 128;

/// A loaded image of a kernel: a module, and its functions in the order of the tasks.
#[derive(Debug)]
pub(crate) struct LoadedImage {
    functions: Vec<FunctionHandle>,
    /// The block sizes of the tasks; empty for native functions.
    block_sizes: Vec<u32>,
    // Keeps the functions valid.
    module: Module,
}

/// What a program compiles and loads its kernels with.
pub(crate) struct KernelLoader {
    pub(crate) context: Arc<Context>,
    /// None where the device runs native functions.
    pub(crate) compiler: Option<Arc<dyn Compiler>>,
    pub(crate) cache: KernelCache,
    /// The size in bytes up to which an argument block is passed by value.
    pub(crate) argument_limit: usize,
}

impl LoadedImage {
    #[inline]
    pub(crate) fn first_function(&self) -> Option<FunctionHandle> {
        self.functions.first().copied()
    }

    #[inline]
    pub(crate) fn function(&self, task: usize) -> FunctionHandle {
        self.functions[task]
    }

    /// The functions, in the order of the tasks.
    pub(crate) fn functions(&self) -> &[FunctionHandle] {
        &self.functions
    }

    /// What a task's function uses in launches of this shape; `kernel` is for errors. None if the device cannot tell.
    ///
    /// # Errors
    /// [`Error::Launch`].
    pub(crate) fn usage(
        &self,
        kernel: &str,
        task: usize,
        config: &LaunchConfig,
    ) -> Result<Option<FunctionUsage>> {
        let threads = config.block_dim.iter().product();
        let function = self.function(task);
        // SAFETY: a function of the module.
        let usage = unsafe { self.module.function_usage(function, threads, config.shared_bytes) };
        usage.map_err(|source| Error::Launch { kernel: kernel.to_owned(), started: false, source })
    }

    fn load(
        context: &Arc<Context>,
        kernel: &str,
        image: Image<'_>,
        names: &[String],
        dynamic_shared: &[Option<u32>],
    ) -> Result<Self> {
        let failed = |source| Error::Launch { kernel: kernel.to_owned(), started: false, source };
        let module = Module::load(context, &image).map_err(failed)?;
        let functions: Vec<_> =
            names.iter().map(|n| module.function(n)).collect::<Result<_, _>>().map_err(failed)?;
        for (function, bytes) in functions.iter().zip(dynamic_shared) {
            if let Some(bytes) = *bytes {
                // SAFETY: a function of the module.
                unsafe { module.allow_shared_bytes(*function, bytes) }.map_err(failed)?;
            }
        }
        tracing::debug!(kernel, functions = names.len(), "load");
        Ok(Self { functions, block_sizes: Vec::new(), module })
    }

    /// The number of threads of a block of a task, unless the kernel or its schedule says otherwise.
    pub(crate) fn block_size(&self, task: usize) -> u32 {
        self.block_sizes.get(task).copied().unwrap_or(DEFAULT_BLOCK_SIZE)
    }

    /// Small blocks for a task of which they have clearly more threads at once on a multiprocessor. Registers are
    /// allocated by block: with 72 per thread, three blocks of 256 threads fit on one of an H100, or seven of 128.
    fn choose_block_size(&self, kernel: &str, task: usize) -> Result<u32> {
        let threads = |size: u32| -> Result<u32> {
            let config =
                LaunchConfig { grid_dim: [1; 3], block_dim: [size, 1, 1], shared_bytes: 0 };
            let usage = self.usage(kernel, task, &config)?;
            Ok(usage.map_or(0, |usage| usage.blocks_per_multiprocessor * size))
        };
        let default = threads(DEFAULT_BLOCK_SIZE)?;
        let is_clear = default > 0 && 8 * threads(SMALL_BLOCK)? >= 9 * default;
        Ok(if is_clear { SMALL_BLOCK } else { DEFAULT_BLOCK_SIZE })
    }
}

/// Whether results are the same bits for each block size of a task, and its author sets none.
pub(crate) fn has_free_block_size(task: &Task) -> bool {
    matches!(task.kind, TaskKind::RangeFor { block_size: None, .. })
        && task.schedule.has_free_grid()
}

impl KernelLoader {
    /// How launches of a kernel pass its argument block.
    pub(crate) fn passing(&self, kernel: &Offloaded) -> Passing {
        // A native body gets the argument block itself, and needs no argument buffer.
        if self.image_kind() == ImageKind::Native {
            return Passing::Value;
        }
        passing(kernel, self.argument_limit)
    }

    pub(crate) fn image_kind(&self) -> ImageKind {
        self.context.device().capabilities().image
    }

    /// Loads a kernel in these forms: `scheduled` on devices. `native` is its CPU body, if it has one.
    ///
    /// # Errors
    /// Why the kernel cannot be compiled or loaded.
    pub(crate) fn load(
        &self,
        kernel: &Offloaded,
        scheduled: &Offloaded,
        native: Option<&NativeBody>,
        forms: Forms,
    ) -> Result<LoadedImage> {
        if self.image_kind() == ImageKind::Native {
            let image = native_image(kernel, native, forms);
            let names = ["body".to_owned()];
            return LoadedImage::load(&self.context, &kernel.name, image, &names, &[]);
        }
        dump::schedule(kernel, scheduled, forms);
        if let Some(compiler) = &self.compiler {
            let arch = &self.context.device().info().arch;
            let request = CompileRequest::new(arch, forms, self.passing(scheduled));
            dump::source(kernel, forms, || compiler.text(scheduled, &request));
        }
        self.compile(scheduled, forms)
    }

    fn compile(&self, kernel: &Offloaded, forms: Forms) -> Result<LoadedImage> {
        let Some(compiler) = &self.compiler else {
            return Err(Error::NoCompiler { kernel: kernel.name.clone() });
        };
        let device = self.context.device();
        let request = CompileRequest::new(&device.info().arch, forms, self.passing(kernel));
        let cached = self.cache.of(&**compiler, kernel, &request);
        if let Some(cached) = &cached
            && let Some(loaded) = self.load_cached(kernel, &**compiler, cached)?
        {
            return Ok(loaded);
        }
        let failed = |source| self.compile_error(kernel, source);
        let compiled = compiler.compile(kernel, &request).map_err(failed)?;
        tracing::debug!(kernel = kernel.name, ?forms, bytes = compiled.image.len(), "compile");
        let loaded = self.load_compiled(kernel, &compiled.image)?;
        if let Some(cached) = cached {
            cached.put(request.arch, &compiled.image);
        }
        Ok(loaded)
    }

    /// The result of the autotuner that the kernel cache has for launches of a scheduled kernel with sizes of a class.
    pub(crate) fn tuned(&self, kernel: &Offloaded, forms: Forms, class: &[u64]) -> Option<Vec<u8>> {
        let (compiler, info) = (self.compiler.as_ref()?, self.context.device().info());
        let request = CompileRequest::new(&info.arch, forms, self.passing(kernel));
        let cached = self.cache.of(&**compiler, kernel, &request)?;
        cached.get_tuned(info, class)
    }

    /// Stores a result of the autotuner in the kernel cache.
    pub(crate) fn store_tuned(
        &self,
        kernel: &Offloaded,
        forms: Forms,
        class: &[u64],
        result: &[u8],
    ) {
        let Some(compiler) = &self.compiler else { return };
        let info = self.context.device().info();
        let request = CompileRequest::new(&info.arch, forms, self.passing(kernel));
        if let Some(cached) = self.cache.of(&**compiler, kernel, &request) {
            cached.put_tuned(info, class, result);
        }
    }

    /// Loads the image from the kernel cache, if it has it. An image that the driver refuses counts as missing.
    fn load_cached(
        &self,
        kernel: &Offloaded,
        compiler: &dyn Compiler,
        cached: &CachedKernel<'_>,
    ) -> Result<Option<LoadedImage>> {
        let load = |image: Vec<u8>| match self.load_compiled(kernel, &image) {
            Err(error) if error.severity() != Severity::ContextLost => {
                tracing::debug!(kernel = kernel.name, %error, "a kept image");
                Ok(None)
            }
            loaded => loaded.map(Some),
        };
        let arch = &self.context.device().info().arch;
        if !self.cache.exported().is_empty() {
            for image in cached.exported(arch, &compiler.compatible_archs(arch)) {
                if let Some(loaded) = load(image)? {
                    cached.count_exported_hit();
                    return Ok(Some(loaded));
                }
            }
        }
        cached.get(arch).map_or(Ok(None), load)
    }

    fn load_compiled(&self, kernel: &Offloaded, image: &[u8]) -> Result<LoadedImage> {
        let names: Vec<String> = kernel.tasks().map(|(id, _)| kernel.function_name(id)).collect();
        let image = match self.context.device().capabilities().image {
            ImageKind::Text => match std::str::from_utf8(image) {
                Ok(text) => Image::Text(text),
                Err(_) => Image::Binary(image),
            },
            _ => Image::Binary(image),
        };
        let limit = self.context.device().info().max_shared_bytes;
        let shared: Vec<_> =
            kernel.tasks().map(|(_, task)| dynamic_shared_limit(kernel, task, limit)).collect();
        let mut loaded = LoadedImage::load(&self.context, &kernel.name, image, &names, &shared)?;
        let sizes =
            kernel.tasks.iter().enumerate().map(|(at, task)| match has_free_block_size(task) {
                true if task.schedule.grid.small_blocks => Ok(SMALL_BLOCK),
                true => loaded.choose_block_size(&kernel.name, at),
                false => Ok(DEFAULT_BLOCK_SIZE),
            });
        loaded.block_sizes = sizes.collect::<Result<_>>()?;
        Ok(loaded)
    }

    /// The error for a kernel that could not be compiled, after the exported kernels were searched.
    #[cold]
    fn compile_error(&self, kernel: &Offloaded, source: quadrants_codegen::Error) -> Error {
        let kernel = kernel.name.clone();
        let absent = matches!(source, quadrants_codegen::Error::CompilerNotFound { .. });
        match self.cache.exported() {
            files if absent && !files.is_empty() => Error::NotExported {
                kernel,
                arch: self.context.device().info().arch.clone(),
                files: files.iter().map(ExportedKernels::describe).collect(),
                source: Box::new(source),
            },
            _ => Error::Compile { kernel, source },
        }
    }
}

/// The most dynamic shared memory of a task on a device with this limit, if it is more than launches can have anyway.
fn dynamic_shared_limit(kernel: &Offloaded, task: &Task, limit: u32) -> Option<u32> {
    if u64::from(limit) <= abi::MAX_SHARED_BYTES || kernel.dynamic_arrays(task).is_empty() {
        return None;
    }
    let fixed = u32::try_from(kernel.fixed_shared_bytes(task)).unwrap_or(u32::MAX);
    Some(limit.saturating_sub(fixed))
}

/// How the argument block of a kernel is passed where blocks of up to `limit` bytes are passed by value.
pub(crate) fn passing(kernel: &Offloaded, limit: usize) -> Passing {
    let bytes = 8 * abi::block_words(kernel, Forms::CHECKED);
    if bytes <= limit { Passing::Value } else { Passing::Buffer }
}

/// The native image of a kernel: the CPU body at the processor's instruction level, or the interpreter for a kernel
/// made at run time.
fn native_image(kernel: &Offloaded, native: Option<&NativeBody>, forms: Forms) -> Image<'static> {
    let entry: NativeEntry = match native {
        Some(body) => {
            let run = Run {
                result_word: abi::result_word(kernel),
                prints: kernel.prints(),
                checked: CheckedParts::of(kernel, forms),
            };
            let body = *body;
            let arguments = abi::block_words(kernel, Forms::PROVEN);
            Arc::new(move |call| {
                let (args, inside) = call.args.split_at(arguments);
                // SAFETY: the launcher made the argument block for this kernel's parameters, with live tensors, and
                // proved the accesses of the unchecked parts and of the interiors, and that the launch does not race.
                unsafe { body.run(args, inside, run) }
            })
        }
        None => {
            let interpreter = Interpreter::new(kernel);
            let tasks: Vec<_> = kernel.tasks().map(|(id, _)| id).collect();
            Arc::new(move |call| {
                // SAFETY: the argument block holds addresses of live tensors of this kernel's shape, and every access
                // is proven or checked.
                let mut memory = unsafe { InterpreterMemory::new() };
                for task in &tasks {
                    if let Err(fault) =
                        interpreter.run_task(*task, forms.of(*task), call.args, &mut memory)
                    {
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
