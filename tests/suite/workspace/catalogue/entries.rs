//! A remedy for each variant of the error enums, and an example for most of them.

use super::{Example, examples};

/// An error enum of the page.
pub(super) struct Listed {
    /// Its name on the page.
    pub(super) name: &'static str,
    /// Its file in the repository.
    pub(super) file: &'static str,
    pub(super) ident: &'static str,
    pub(super) about: &'static str,
    /// One per variant, in their order.
    pub(super) entries: &'static [Entry],
}

pub(super) struct Entry {
    pub(super) variant: &'static str,
    /// Empty where there is nothing to say.
    pub(super) remedy: &'static str,
    pub(super) example: Option<Example>,
}

/// `Variant: "remedy"`, with `=> example` where there is one.
macro_rules! entries {
    ($($variant:ident: $remedy:literal $(=> $example:ident)?;)*) => {
        &[$(Entry {
            variant: stringify!($variant),
            remedy: $remedy,
            example: entries!(@ $($example)?),
        }),*]
    };
    (@) => { None };
    (@ $example:ident) => { Some((stringify!($example), examples::$example)) };
}

pub(super) const ENUMS: &[Listed] = &[
    Listed {
        name: "Error",
        file: "program/src/error.rs",
        ident: "Error",
        about: "What calls of a program return: `qd::Error`.",
        entries: entries! {
            Runtime: "See the cause, an error of the [runtime](#runtimeerror) or of the \
                [device](#rhierror). Out of memory: smaller tensors, or drop some; \
                `Program::trim_pools` gives kept memory back." => out_of_memory;
            Build: "See the cause. Replace recursion by a loop, and large arrays by a tensor." => recursion;
            Asserted: "Make the kernel with `unsafe { Kernel::asserting(…) }`, if no two iterations \
                access the same element." => asserted;
            LocalMemory: "A tensor with a part per iteration, or a smaller array." => local_memory;
            SharedMemory: "Smaller arrays, or a tensor. `DeviceInfo::max_shared_bytes` is the limit." => shared_memory;
            Compile: "Install the [run-time compiler](installation.md#what-a-backend-needs), or \
                [export](deployment.md) the kernels. If the compiler rejected the kernel, report it."
                => no_compiler_library;
            NotExported: "Export the kernel for this architecture, with each type that it is launched with."
                => not_exported;
            Kernels: "See the cause, an error of the [file](#bundleerror)." => no_bundle;
            ProfileActive: "One profile at a time for a program." => profile_active;
            Trace: "Set `QUADRANTS_TRACE` to a file in a folder that can be written.";
            TraceFormat: "A file that `QUADRANTS_TRACE` or `Timeline::chrome_trace` wrote." => no_trace;
            NotKept: "Export with a compiler that has an identity; those of the library have." => not_kept;
            UnknownTarget: "A name such as `sm_90`, `compute_90` or `gfx90a`." => unknown_target;
            NoCompiler: "Open the program with an `Arch`, which brings its compiler, or give it \
                exported kernels." => no_compiler;
            Launch: "See the cause. If a part was enqueued, discard the outputs." => launch;
            Kernel: "See the [cause](#kernelerrorcause). Discard the outputs." => index_in_kernel;
            Panicked: "`wrapping_add` and its like where a wrap is intended; else correct the kernel \
                ([example](errors.md#panicked)).";
            Race: "See the [reason](#racereason), and [what to write \
                instead](races.md#rejected-at-compile-time)." => race;
            Hazard: "An event between the two launches, or one stream ([repairs](hazards.md#repairs))." => hazard;
            RegionConflict: "Put both operations into one block, or give each block memory of its own."
                => region_conflict;
            UnknownHazards: "Correct the variable `QUADRANTS_HAZARDS`." => unknown_hazards;
            UnknownSwitch: "Correct the variable that the message names.";
            Argument: "Give a value of the parameter's type: `1.0_f32` for `f32`." => argument;
            ResultType: "Expect the type that the kernel returns." => result_type;
            TooManyKernels: "Drop kernels that are made at run time; reuse them.";
            NestedCompilation: "Launch after `compile` has returned.";
            NoProgram: "`launch_on(&stream)`." => no_program;
            OtherProgram: "Tensors, streams and events of one program in one call; `copy_to` copies a tensor to another \
                program." => other_program;
            Shape: "As many elements as the shape has." => shape;
            Range: "A range inside the first axis." => range;
            View: "See the [problem](#viewproblem)." => view_range;
            Index: "An index inside the tensor." => index;
            CopyShape: "`reshape` or `slice` one of them." => copy_shape;
            CopyLayout: "The same layout for both, or a kernel that copies." => copy_layout;
            ForeignMemory: "See the [problem](#foreignmemoryproblem)." => null;
            Dlpack: "See the [problem](#dlpackproblem)." => read_only_dlpack;
            ArrayStrides: "`array.as_standard_layout()`, or `Program::tensor_from_array`." => array_strides;
            Npy: "See the [problem](#npyproblem)." => npy_nowhere;
            HostArray: "Make a tensor of it: `prog.tensor_from`." => host_array;
            MovedSlice: "Do not swap or move the tensor out of a `SliceMut`; pass `&mut *slice`." => moved_slice;
            NotDistinct: "Correct the indices, or write by an atomic." => not_distinct;
            WrittenByGraph: "Copy the indices to a tensor that no graph writes." => written_by_graph;
            NoLongerDistinct: "Call `qd::distinct` again after the write." => no_longer_distinct;
            TooLarge: "A smaller shape." => too_large;
            UnknownBackend: "One of the listed names, or a build with the backend's feature." => unknown_backend;
            ForeignCapture: "Enqueue the work before or after the capture, or make a graph by `Program::capture`."
                => foreign_capture;
            Capture: "Do it before or after the capture, or replace it ([what is \
                rejected](graphs.md#what-is-rejected))." => capture;
            UnknownArgument: "One of `Graph::arguments`." => unknown_argument;
            Overlap: "Give the two parameters different memory." => overlap;
            Grid: "`saturating_sub`, so that the bound does not wrap." => grid;
        },
    },
    Listed {
        name: "RaceReason",
        file: "program/src/error.rs",
        ident: "RaceReason",
        about: "The reason in `Error::Race`. [Which iterations may share data](races.md) explains the check.",
        entries: entries! {
            CounterOverflow: "A `u64` counter, or limits of the loops and amounts." => counter_overflow;
            Example: "Other arguments, or an index that differs between these iterations." => race;
            Unproven: "An atomic, a ticket, `&Distinct`, or an assertion in `unsafe`." => unproven;
        },
    },
    Listed {
        name: "KernelErrorCause",
        file: "program/src/error/kernel_error.rs",
        ident: "KernelErrorCause",
        about: "The cause in `Error::Kernel`.",
        entries: entries! {
            IndexOutOfRange: "A condition around the access, or other extents." => index_in_kernel;
            Assert: "The kernel's author says what must hold." => assertion;
            Comparison: "As for `Assert`." => comparison;
            DivideByZero: "A condition around the division." => division;
            BoundWrapped: "`saturating_sub` in the bound." => wrapped_bound;
            Unknown: "Look for wrong `unsafe` code in kernels and on the host.";
        },
    },
    Listed {
        name: "ForeignMemoryProblem",
        file: "program/src/error/foreign_memory_problem.rs",
        ident: "ForeignMemoryProblem",
        about: "The problem in `Error::ForeignMemory`.",
        entries: entries! {
            Null: "The address of an allocation." => null;
            Misaligned: "An address that is aligned for the elements." => misaligned;
            NotOfDriver: "Memory that the program's driver allocated." => not_of_driver;
            OtherDevice: "Memory of the program's device, or a program on the other one.";
            OtherContext: "Allocate in the primary context.";
            TooSmall: "A shape that fits the allocation." => too_small;
        },
    },
    Listed {
        name: "ViewProblem",
        file: "program/src/error/view_problem.rs",
        ident: "ViewProblem",
        about: "The problem in `Error::View`. [Memory](memory.md#views) explains views.",
        entries: entries! {
            NoAxis: "A number from 0 to the number of dimensions less one." => view_axis;
            Range: "A range or an index inside the axis." => view_range;
            NoStep: "A step of at least 1." => view_step;
            Permutation: "Each axis once." => view_permutation;
            NotContiguous: "`try_clone`, or a kernel that copies to a tensor." => view_not_contiguous;
        },
    },
    Listed {
        name: "DlpackProblem",
        file: "program/src/error/dlpack_problem.rs",
        ident: "DlpackProblem",
        about: "The problem in `Error::Dlpack`. [PyTorch and DLPack](pytorch.md) explains the protocol.",
        entries: entries! {
            Null: "Take a capsule once.";
            Version: "Ask the producer for `max_version=(1, 0)`." => other_dlpack_version;
            NoShape: "A producer that fills in the shape.";
            Backend: "A backend that DLPack has a name for.";
            Device: "Copy the tensor to the program's device, or open a program on the other one.";
            DataType: "Convert the elements, or ask for a tensor of the type." => dlpack_data_type;
            Rank: "Reshape the tensor. The scalars of vectors are a dimension of their own." => dlpack_rank;
            Extent: "An extent that is not negative; for vectors, as many scalars as they have." => dlpack_extent;
            Strides: "Make the tensor contiguous first: `x.contiguous()`." => dlpack_strides;
            ReadOnly: "`Program::from_dlpack_read_only`, or a copy." => read_only_dlpack;
            Address: "A producer that fills in the address.";
            Struct: "One tensor for each field." => dlpack_struct;
        },
    },
    Listed {
        name: "cudarc::Error",
        file: "quadrants/src/cudarc/error.rs",
        ident: "Error",
        about: "What sharing with the crate cudarc returns. [cudarc](cudarc.md) explains it.",
        entries: entries! {
            Quadrants: "See the cause, which is an `Error`.";
            Driver: "See the driver's error. cudarc also keeps errors of drops until a later call.";
            NoDriver: "Add the folder of `libcuda.so` to `LD_LIBRARY_PATH`.";
            OtherBackend: "Open the program by `cudarc::open`, or with `Arch::Cuda`.";
            OtherDevice: "Open a program on that device, or copy the memory to the device of this one.";
            OtherContext: "Make the context by `CudaContext::new`.";
            PerThreadStream: "Make a stream by `CudaContext::new_stream`.";
            Length: "A shape with as many elements, or a part of the memory by `slice` of cudarc.";
            ElementType: "Make a view of the tensor's own type, and another one of it by `transmute` of cudarc.";
            Gaps: "Make the tensor with `Layout::ArrayOfStructs`.";
        },
    },
    Listed {
        name: "NpyProblem",
        file: "program/src/error/npy_problem.rs",
        ident: "NpyProblem",
        about: "The problem in `Error::Npy`.",
        entries: entries! {
            Io: "Check the path and its permissions." => npy_nowhere;
            Format: "A file that `numpy.save` or `Tensor::save_npy` wrote.";
            DataType: "Load the file with the type of its elements.";
            Rank: "Load the file with its number of dimensions, and `reshape`.";
            Truncated: "Write the file again.";
        },
    },
    Listed {
        name: "BundleError",
        file: "runtime/src/image_bundle.rs",
        ident: "BundleError",
        about: "Why a file of exported kernels cannot be used: the cause in `Error::Kernels`.",
        entries: entries! {
            Io: "Check the path and its permissions." => no_file;
            NotABundle: "A file that `Program::export_cache` wrote." => no_bundle;
            Version: "Export again with this release." => other_version;
            Release: "Export again with this release.";
            Truncated: "Copy or export the file again." => truncated;
            Damaged: "Copy or export the file again." => damaged;
        },
    },
    Listed {
        name: "ImageProblem",
        file: "runtime/src/cache_entry.rs",
        ident: "ImageProblem",
        about: "Why a file of the kernel cache counts as missing. `quadrants cache verify` reports it.",
        entries: entries! {
            Unreadable: "Check the permissions of the folder.";
            Untrusted: "Remove the file, or give the folder to the user who runs the program; \
                `chmod -R go-w` takes write access from others.";
            Version: "Nothing: the file of another release is replaced when its kernel is compiled again.";
            Damaged: "Nothing, or `quadrants cache clear`.";
        },
    },
    Listed {
        name: "runtime::Error",
        file: "runtime/src/error.rs",
        ident: "Error",
        about: "The cause in `Error::Runtime` and `Error::Launch`.",
        entries: entries! {
            Device: "See the cause, an error of the [device](#rhierror)." => out_of_memory;
            ContextLost: "Drop the program and open it again; its tensors are lost. The first cause is \
                in the text." => context_lost;
            OtherContext: "Objects of one program together.";
            TooManyStreams: "Reuse streams.";
            Watched: "See the cause: the [failure](#collectivesfailure) of a communicator. Write the tensors \
                again, and make another communicator.";
            Foreign: "See the cause: the error of other code, such as `collectives::Error::NotRun`.";
            OutOfBuffer: "The facade checks ranges before; direct users of the crate correct the range.";
        },
    },
    Listed {
        name: "collectives::Error",
        file: "collectives/src/error.rs",
        ident: "Error",
        about: "What communicators and [collective operations](collectives.md) return.",
        entries: entries! {
            Program: "See the cause, an [error of a program](#error).";
            Bootstrap: "See the cause, an error of the [rendezvous](#bootstraperror).";
            Library: "Install NCCL or RCCL, or set the variable to its library.";
            Backend: "Communicators of devices of one backend; `copy_to` between others.";
            Rank: "Ranks from 0 to the number of ranks - 1, and the same number on all of them.";
            Length: "A tensor of that length; `slice` and `flat` select parts.";
            Parts: "Pass a tensor whose length is a multiple of that number, or a slice of it.";
            Strided: "Copy it with `try_clone` first.";
            Id: "The bytes of `UniqueId::to_bytes`, all of them.";
            Joined: "An id for each communicator, and each rank once.";
            NotRun: "`group.run()`.";
            OtherProcess: "A GPU backend, or a thread for each rank.";
            Failed: "See the [failure](#collectivesfailure). Make another communicator.";
            Aborted: "Make another communicator. The failure, if there was one, is in the text.";
        },
    },
    Listed {
        name: "collectives::Failure",
        file: "collectives/src/error.rs",
        ident: "Failure",
        about: "Why a communicator failed: a cause of `collectives::Error::Failed`, or of `Error::Runtime` from a wait.",
        entries: entries! {
            Call: "See what the library says; `NCCL_DEBUG=INFO` makes it say more.";
            Async: "See what the library says. Another rank has failed, or the network between them.";
            PeerLost: "Look at the output of that process.";
            Timeout: "All ranks make the same operations in the same order; several ranks of one thread in one \
                `Group`. `CommunicatorBuilder::timeout` sets the limit.";
            Mismatch: "All ranks make the same operations, of the same type and length, in the same order and in the \
                same groups.";
            Libraries: "Install the same version of NCCL or RCCL for all ranks, or select the same one with \
                `QUADRANTS_NCCL_LIBRARY` or `QUADRANTS_RCCL_LIBRARY`.";
            Comparison: "See the cause. Rank 0 must run until the other ranks are done.";
            PeerAborted: "See the error of that rank.";
            Enqueue: "See the cause.";
        },
    },
    Listed {
        name: "bootstrap::Error",
        file: "collectives/src/bootstrap/error.rs",
        ident: "Error",
        about: "Why the processes of a run did not find each other, or lost each other.",
        entries: entries! {
            Variable: "Start the program with `torchrun`, `srun` or `mpirun`, or set the variables by hand.";
            Config: "Correct the field.";
            SecretMissing: "`export QUADRANTS_RENDEZVOUS_SECRET=$(openssl rand -hex 32)` before the launcher, the same on \
                all machines.";
            SecretFile: "Remove the file, or set `QUADRANTS_RENDEZVOUS_SECRET`.";
            Listen: "An address of the machine of rank 0, and a free port.";
            Timeout: "Look at the output of the missing ranks; they need the same address, port and secret.";
            PeerLost: "Look at the output of that process.";
            Left: "All ranks must make the same calls before they end.";
            Rejected: "See the [reason](#bootstraprejection).";
            Io: "See the system's error.";
            Protocol: "Another program uses the port: choose another one.";
            OutOfOrder: "All ranks make the same calls in the same order.";
            TooLong: "Send larger data by a collective operation.";
        },
    },
    Listed {
        name: "bootstrap::Rejection",
        file: "collectives/src/bootstrap/error.rs",
        ident: "Rejection",
        about: "Why rank 0 rejected a process.",
        entries: entries! {
            Version: "One build for all ranks.";
            Secret: "One value of `QUADRANTS_RENDEZVOUS_SECRET` for all processes.";
            WorldSize: "One value of `WORLD_SIZE` for all processes.";
            RankOutOfRange: "Ranks from 0 to the world size - 1.";
            DuplicateRank: "A rank of its own for each process, and a port of its own for each run.";
        },
    },
    Listed {
        name: "rhi::Error",
        file: "rhi/src/error.rs",
        ident: "Error",
        about: "What drivers and devices return.",
        entries: entries! {
            LibraryNotFound: "Install the driver, or set the variable to its library \
                ([installation](installation.md#common-failures))." => library_not_found;
            SymbolMissing: "A newer driver; or the variable names a library that is no driver." => symbol_missing;
            DriverTooOld: "A newer driver.";
            NoDevice: "Make the device visible to the process.";
            DeviceOrdinal: "An ordinal below the count; `qd::devices()` lists them." => device_ordinal;
            Driver: "See the [class](#drivererrorkind) of the driver's code." => out_of_memory;
            ImageRejected: "Export for this device's architecture; else report it.";
            Unsupported: "The reason says what is missing." => image_of_another_kind;
            Environment: "Change or unset the variable.";
            InvalidArgument: "The text names the rule.";
            Panicked: "See `Error::Panicked`.";
        },
    },
    Listed {
        name: "DriverErrorKind",
        file: "rhi/src/error.rs",
        ident: "DriverErrorKind",
        about: "The class of a driver's result code, `DriverError::kind`. `DriverError::name` has the \
            driver's own name.",
        entries: entries! {
            OutOfMemory: "Smaller tensors, or drop some." => out_of_memory;
            InvalidValue: "" => launch;
            InvalidHandle: "Check foreign handles: were they destroyed?" => invalid_handle;
            NotFound: "" => not_found;
            NoDevice: "Make the device visible to the process." => no_device;
            NotSupported: "" => not_supported;
            NotReady: "";
            Capturing: "End the capture first. A wait for the device repeats the call for a second.";
            ShuttingDown: "Drop programs before the process ends." => shutting_down;
            ContextLost: "Open the program again." => context_lost;
            Other: "" => any_other_code;
        },
    },
    Listed {
        name: "codegen::Error",
        file: "codegen/src/error.rs",
        ident: "Error",
        about: "The cause in `Error::Compile` and `Error::NotExported`.",
        entries: entries! {
            CompilerNotFound: "Install the compiler ([where it is \
                searched](installation.md#what-a-backend-needs)).";
            MissingSymbol: "A newer release of the compiler; or the variable names another library.";
            UnknownArch: "A release of the compiler that knows the device.";
            InvalidKernel: "This is a bug in the library; please report it with the kernel.";
            Rejected: "This is a bug in the library; please report it with the kernel. \
                `QUADRANTS_DUMP` writes the source.";
            Call: "See the compiler's output.";
        },
    },
    Listed {
        name: "frontend::Error",
        file: "frontend/src/error.rs",
        ident: "Error",
        about: "The cause in `Error::Build`. For kernels of the macro, all but `Recursion` and limits \
            are bugs of the library.",
        entries: entries! {
            Tree: "This is a bug in the library; please report it with the kernel.";
            Rejected: "The message says what to write instead.";
            Recursion: "A loop." => recursion;
            TypeMismatch: "This is a bug in the library; please report it with the kernel.";
            Type: "The message names the limit or the type." => large_array;
            Inconsistent: "This is a bug in the library; please report it with the kernel.";
            Unknown: "This is a bug in the library; please report it with the kernel.";
            Misuse: "Correct the call of the builder.";
            Invalid: "This is a bug in the library; please report it with the kernel.";
        },
    },
    Listed {
        name: "OffloadError",
        file: "ir/src/offload.rs",
        ident: "OffloadError",
        about: "For users of `quadrants-ir`.",
        entries: entries! {
            Invalid: "Correct the kernel that was built by hand.";
        },
    },
    Listed {
        name: "ImageError",
        file: "ir/src/image.rs",
        ident: "ImageError",
        about: "Of the simulator's images.",
        entries: entries! {
            NotAnImage: "An image of the simulator's compiler.";
            Version: "Build program and simulator from one release.";
            Damaged: "Export the image again.";
            Invalid: "This is a bug in the library; please report it with the kernel.";
        },
    },
];
