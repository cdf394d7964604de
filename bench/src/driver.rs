//! The rival: the CUDA driver's functions, called by hand with everything made beforehand.

use std::{
    ffi::{CString, c_char, c_int, c_uint, c_void},
    ptr::{null, null_mut},
};

use libloading::Library;
use quadrants::{
    codegen::CompileRequest,
    ir::{
        self,
        abi::{ArgLayout, FIRST_PARAM_WORD, Form, Passing},
    },
};
use quadrants_rhi_cuda::{compiler::compiler, driver};

use crate::table::functions;

pub(crate) type Handle = *mut c_void;

functions! {
    /// The driver's functions, in the primary context of device 0.
    Raw:
    retain = "cuDevicePrimaryCtxRetain" (*mut Handle, c_int);
    set_current = "cuCtxSetCurrent" (Handle);
    sync = "cuCtxSynchronize" ();
    alloc = "cuMemAlloc_v2" (*mut u64, usize);
    fill = "cuMemsetD8_v2" (u64, u8, usize);
    free = "cuMemFree_v2" (u64);
    write = "cuMemcpyHtoD_v2" (u64, *const c_void, usize);
    read = "cuMemcpyDtoH_v2" (*mut c_void, u64, usize);
    alloc_async = "cuMemAllocAsync" (*mut u64, usize, Handle);
    free_async = "cuMemFreeAsync" (u64, Handle);
    fill_async = "cuMemsetD8Async" (u64, u8, usize, Handle);
    write_async = "cuMemcpyHtoDAsync_v2" (u64, *const c_void, usize, Handle);
    read_async = "cuMemcpyDtoHAsync_v2" (*mut c_void, u64, usize, Handle);
    stream_sync = "cuStreamSynchronize" (Handle);
    stream_create = "cuStreamCreate" (*mut Handle, c_uint);
    stream_destroy = "cuStreamDestroy_v2" (Handle);
    event_create = "cuEventCreate" (*mut Handle, c_uint);
    record = "cuEventRecord" (Handle, Handle);
    wait = "cuStreamWaitEvent" (Handle, Handle, c_uint);
    load = "cuModuleLoadData" (*mut Handle, *const c_void);
    function = "cuModuleGetFunction" (*mut Handle, Handle, *const c_char);
    launch = "cuLaunchKernel" (
        Handle, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, Handle,
        *mut *mut c_void, *mut *mut c_void
    );
    graph_create = "cuGraphCreate" (*mut Handle, c_uint);
    graph_add = "cuGraphAddKernelNode_v2" (*mut Handle, Handle, *const Handle, usize, *const KernelNodeParams);
    graph_instantiate = "cuGraphInstantiateWithFlags" (*mut Handle, Handle, u64);
    graph_set = "cuGraphExecKernelNodeSetParams_v2" (Handle, Handle, *const KernelNodeParams);
    graph_launch = "cuGraphLaunch" (Handle, Handle);
}

/// `CUDA_KERNEL_NODE_PARAMS_v2`.
#[repr(C)]
pub(crate) struct KernelNodeParams {
    function: Handle,
    grid: [c_uint; 3],
    block: [c_uint; 3],
    shared_bytes: c_uint,
    parameters: *mut *mut c_void,
    extra: *mut *mut c_void,
    kernel: Handle,
    context: Handle,
}

pub(crate) fn check(code: c_int) {
    assert_eq!(code, 0, "a driver call by hand failed");
}

impl Raw {
    /// Whether the driver is installed.
    pub fn is_installed() -> bool {
        // SAFETY: the driver's library, whose initializers have no conditions.
        unsafe { Library::new("libcuda.so.1") }.is_ok()
    }

    /// Loads the driver and makes the device's primary context current on this thread.
    pub fn load() -> Self {
        let mut context = null_mut();
        // SAFETY: the driver's library and its functions by their documented signatures; the program that is
        // measured has initialized the driver and device 0.
        unsafe {
            let raw = Self::resolve(Library::new("libcuda.so.1").expect("libcuda"));
            check((raw.retain)(&mut context, 0));
            check((raw.set_current)(context));
            raw
        }
    }

    /// Waits for everything in the context.
    pub fn synchronize(&self) {
        // SAFETY: the context is current.
        check(unsafe { (self.sync)() });
    }

    /// Zeroed blocks of device memory; they live as long as the process.
    pub fn buffers(&self, count: usize, bytes: usize) -> Vec<u64> {
        let one = |_| {
            let mut address = 0;
            // SAFETY: the context is current, and the block has the bytes.
            unsafe {
                check((self.alloc)(&mut address, bytes));
                check((self.fill)(address, 0, bytes));
            }
            address
        };
        (0..count).map(one).collect()
    }

    /// Gives a block of [`Raw::buffers`] back.
    pub fn free(&self, address: u64) {
        // SAFETY: the caller's block, which nothing uses any more.
        check(unsafe { (self.free)(address) });
    }

    /// Writes host data to a block that is large enough.
    pub fn write<T: Copy>(&self, address: u64, data: &[T]) {
        // SAFETY: the caller's block has the bytes.
        check(unsafe { (self.write)(address, data.as_ptr().cast(), size_of_val(data)) });
    }

    /// Reads the first `count` values of a block.
    pub fn read<T: Copy + Default>(&self, address: u64, count: usize) -> Vec<T> {
        let mut data = vec![T::default(); count];
        // SAFETY: the caller's block has the bytes, and any bytes are values of the plain numbers that benches use.
        check(unsafe { (self.read)(data.as_mut_ptr().cast(), address, count * size_of::<T>()) });
        data
    }

    /// Allocates in stream order.
    pub fn alloc_async(&self, bytes: usize, stream: usize) -> u64 {
        let mut address = 0;
        // SAFETY: the context is current, and the caller's stream is live.
        check(unsafe { (self.alloc_async)(&mut address, bytes, stream as Handle) });
        address
    }

    /// Zeroes a block in stream order.
    pub fn fill_async(&self, address: u64, bytes: usize, stream: usize) {
        // SAFETY: the caller's block has the bytes.
        check(unsafe { (self.fill_async)(address, 0, bytes, stream as Handle) });
    }

    /// Frees a block of [`Raw::alloc_async`] in stream order.
    pub fn free_async(&self, address: u64, stream: usize) {
        // SAFETY: the caller's block, which is used only on this stream.
        check(unsafe { (self.free_async)(address, stream as Handle) });
    }

    /// Writes host data in stream order. From pageable memory the driver copies it before it returns.
    pub fn write_async<T: Copy>(&self, address: u64, data: &[T], stream: usize) {
        // SAFETY: the caller's block has the bytes.
        check(unsafe {
            let bytes = size_of_val(data);
            (self.write_async)(address, data.as_ptr().cast(), bytes, stream as Handle)
        });
    }

    /// Reads into host memory in stream order, and waits for it.
    pub fn read_wait<T: Copy>(&self, address: u64, data: &mut [T], stream: usize) {
        // SAFETY: the block has the bytes, and any bytes are values of the plain numbers that benches use.
        check(unsafe {
            let bytes = size_of_val(data);
            (self.read_async)(data.as_mut_ptr().cast(), address, bytes, stream as Handle)
        });
        self.stream_synchronize(stream);
    }

    /// Waits for a stream.
    pub fn stream_synchronize(&self, stream: usize) {
        // SAFETY: the caller's stream is live.
        check(unsafe { (self.stream_sync)(stream as Handle) });
    }

    /// Destroys a stream of [`Raw::stream`].
    pub fn destroy_stream(&self, stream: usize) {
        // SAFETY: the caller's stream, which is not used again.
        check(unsafe { (self.stream_destroy)(stream as Handle) });
    }

    /// A non-blocking stream.
    pub fn stream(&self) -> usize {
        let mut stream = null_mut();
        // SAFETY: the context is current.
        check(unsafe { (self.stream_create)(&mut stream, 1) });
        stream as usize
    }

    fn event(&self) -> Handle {
        let mut event = null_mut();
        // SAFETY: the context is current; 2 is CU_EVENT_DISABLE_TIMING.
        check(unsafe { (self.event_create)(&mut event, 2) });
        event
    }

    /// A graph of the kernel's tasks without edges, made once.
    pub fn graph<'a>(&'a self, kernel: &'a DriverBaseline<'a>, args: &[u64]) -> Graph<'a> {
        self.graph_of(kernel, args, 0..kernel.functions.len(), false)
    }

    /// A graph of so many launches of the kernel's first task, one behind the other, made once.
    pub fn chain<'a>(
        &'a self,
        kernel: &'a DriverBaseline<'a>,
        args: &[u64],
        count: usize,
    ) -> Graph<'a> {
        self.graph_of(kernel, args, std::iter::repeat_n(0, count), true)
    }

    fn graph_of<'a>(
        &'a self,
        kernel: &'a DriverBaseline<'a>,
        args: &[u64],
        tasks: impl Iterator<Item = usize>,
        in_order: bool,
    ) -> Graph<'a> {
        let (mut graph, mut exec) = (null_mut(), null_mut());
        // SAFETY: the context is current; functions and handles live as long as the process, and each node's
        // parameters until the call is over.
        unsafe {
            check((self.graph_create)(&mut graph, 0));
            let mut last: Option<Handle> = None;
            let nodes = tasks
                .map(|task| {
                    let mut parameters = [args.as_ptr().cast_mut().cast::<c_void>()];
                    let mut node = null_mut();
                    let wanted = kernel.node(task, &mut parameters);
                    let before = last.as_ref().filter(|_| in_order);
                    let (behind, count) =
                        (before.map_or(null(), |b| b), usize::from(before.is_some()));
                    check((self.graph_add)(&mut node, graph, behind, count, &wanted));
                    last = Some(node);
                    (task, node)
                })
                .collect();
            check((self.graph_instantiate)(&mut exec, graph, 0));
            Graph { raw: self, kernel, stream: self.stream() as Handle, exec, nodes }
        }
    }

    /// Streams and events for a fork into `blocks` and a join, made once.
    pub fn fork_join(&self, blocks: usize) -> ForkJoin<'_> {
        ForkJoin {
            raw: self,
            stream: self.stream() as Handle,
            fork: self.event(),
            workers: (1..blocks).map(|_| (self.stream() as Handle, self.event())).collect(),
        }
    }
}

/// A kernel compiled as ours is, launched by hand.
pub struct DriverBaseline<'a> {
    raw: &'a Raw,
    functions: Vec<Handle>,
    layout: ArgLayout,
}

impl<'a> DriverBaseline<'a> {
    /// Compiles the kernel's tasks with the product's own compiler and options, and loads them.
    pub fn load(raw: &'a Raw, kernel: &ir::Kernel) -> Self {
        let kernel = ir::offload(kernel).expect("offloads");
        let device = driver().and_then(|d| d.open(0)).expect("the device opens");
        let info = device.info();
        let request = CompileRequest::new(&info.arch, Form::Proven, Passing::Value);
        let compiled = compiler(info).compile(&kernel, &request).expect("compiles");
        let mut module = null_mut();
        // SAFETY: the image is whole, and the context is current.
        check(unsafe { (raw.load)(&mut module, compiled.image.as_ptr().cast()) });
        let functions = kernel
            .tasks()
            .map(|(id, _)| {
                let name = CString::new(kernel.function_name(id)).expect("a C name");
                let mut function = null_mut();
                // SAFETY: the module is loaded.
                check(unsafe { (raw.function)(&mut function, module, name.as_ptr()) });
                function
            })
            .collect();
        Self { raw, functions, layout: ArgLayout::new(&kernel.params) }
    }

    /// The argument block: a scalar first, where there is one, then one-dimensional tensors.
    pub fn args(&self, tensors: &[(u64, usize)], scalar: Option<f32>) -> Vec<u64> {
        let mut words = vec![0; FIRST_PARAM_WORD];
        words.extend(scalar.map(|s| u64::from(s.to_bits())));
        words.extend(tensors.iter().flat_map(|(address, len)| [*address, *len as u64]));
        assert_eq!(words.len(), self.layout.len());
        words
    }

    fn node(&self, task: usize, parameters: &mut [*mut c_void; 1]) -> KernelNodeParams {
        KernelNodeParams {
            function: self.functions[task],
            grid: [1; 3],
            block: [256, 1, 1],
            shared_bytes: 0,
            parameters: parameters.as_mut_ptr(),
            extra: null_mut(),
            kernel: null_mut(),
            context: null_mut(),
        }
    }

    /// Launches one task as one block of threads.
    pub fn launch(&self, task: usize, args: &[u64], stream: usize) {
        let mut parameters = [args.as_ptr().cast_mut().cast::<c_void>()];
        // SAFETY: the block is the one that the function was compiled for.
        check(unsafe {
            (self.raw.launch)(
                self.functions[task],
                1,
                1,
                1,
                256,
                1,
                1,
                0,
                stream as Handle,
                parameters.as_mut_ptr(),
                null::<c_void>() as *mut *mut c_void,
            )
        });
    }
}

/// A fork and a join by hand.
pub struct ForkJoin<'a> {
    raw: &'a Raw,
    stream: Handle,
    fork: Handle,
    workers: Vec<(Handle, Handle)>,
}

impl ForkJoin<'_> {
    /// Forks, launches each task on a stream of its own, and joins.
    pub fn run(&self, kernel: &DriverBaseline<'_>, args: &[u64]) {
        let raw = self.raw;
        // SAFETY: streams and events live as long as the process.
        unsafe {
            check((raw.record)(self.fork, self.stream));
            for (worker, _) in &self.workers {
                check((raw.wait)(*worker, self.fork, 0));
            }
            kernel.launch(0, args, self.stream as usize);
            for (at, (worker, _)) in self.workers.iter().enumerate() {
                kernel.launch(at + 1, args, *worker as usize);
            }
            for (worker, joined) in &self.workers {
                check((raw.record)(*joined, *worker));
                check((raw.wait)(self.stream, *joined, 0));
            }
        }
    }
}

/// A graph by hand.
pub struct Graph<'a> {
    raw: &'a Raw,
    kernel: &'a DriverBaseline<'a>,
    stream: Handle,
    exec: Handle,
    /// The task of each, and the node.
    nodes: Vec<(usize, Handle)>,
}

impl Graph<'_> {
    /// Sets every node.
    pub fn set(&self, args: &[u64]) {
        (0..self.nodes.len()).for_each(|at| self.set_one(at, args));
    }

    /// Sets one node.
    pub fn set_one(&self, at: usize, args: &[u64]) {
        let (task, node) = self.nodes[at];
        let mut parameters = [args.as_ptr().cast_mut().cast::<c_void>()];
        let wanted = self.kernel.node(task, &mut parameters);
        // SAFETY: the executable and its node live as long as the process; the driver copies the block.
        check(unsafe { (self.raw.graph_set)(self.exec, node, &wanted) });
    }

    /// Launches the graph on its stream.
    pub fn launch(&self) {
        // SAFETY: the executable and the stream live as long as the process.
        check(unsafe { (self.raw.graph_launch)(self.exec, self.stream) });
    }
}
