//! Cases about launches and graphs.

use quadrants_rhi::{Device, Error, GraphExecHandle, GraphHandle, GraphNodeHandle, StreamHandle};

use crate::{
    CaseFailure,
    Outcome::{Passed, Skipped},
    Subject,
    support::{Buffer, CaseResult, Loaded, Stream, ensure, is_invalid_argument},
};

const DEFAULT: StreamHandle = StreamHandle::DEFAULT;

/// Loads the subject's kernel. Skips the case if there is none.
macro_rules! kernel {
    ($subject:expr) => {
        match &$subject.add {
            Some(kernel) => Loaded::new(&*$subject.device, kernel)?,
            None => return Ok(Skipped("no kernel for this device")),
        }
    };
}

macro_rules! skip_without_graphs {
    ($device:expr) => {
        if !$device.capabilities().graphs {
            return Ok(Skipped("this device has no graphs"));
        }
    };
}

pub(crate) fn a_launch_computes(subject: &Subject) -> CaseResult {
    let kernel = kernel!(subject);
    // Not a multiple of the block size, and one more word that the launch must not change.
    let words = 1000usize;
    let data: Vec<u8> = (0..=words as u32).flat_map(u32::to_ne_bytes).collect();
    let mut buffer = Buffer::holding(&*subject.device, &data)?;
    buffer.bytes -= 4;
    kernel.launch(&buffer, u32::MAX, DEFAULT)?;
    buffer.bytes += 4;
    let seen = buffer.read_words(DEFAULT)?;
    for (index, word) in seen.iter().enumerate() {
        let index = index as u32;
        let expected = if (index as usize) < words { index.wrapping_sub(1) } else { index };
        ensure!(*word == expected, "word {index} is {word}, not {expected}");
    }
    Ok(Passed)
}

pub(crate) fn the_argument_block_is_read_at_the_call(subject: &Subject) -> CaseResult {
    let kernel = kernel!(subject);
    let device = &*subject.device;
    let stream = Stream::new(device)?;
    let buffer = Buffer::holding(device, &[0; 4000])?;
    let mut expected = 0u32;
    for add in 1..50 {
        let (config, mut args) = kernel.shape(&buffer, add);
        // SAFETY: the argument block is for this kernel. It is overwritten after the call, which has read it.
        unsafe { device.launch(kernel.function, &config, &args, stream.handle) }?;
        std::hint::black_box(&mut args).fill(0);
        expected += add;
    }
    buffer.expect_words(stream.handle, expected)?;
    Ok(Passed)
}

pub(crate) fn launches_of_a_stream_run_in_order(subject: &Subject) -> CaseResult {
    let kernel = kernel!(subject);
    let device = &*subject.device;
    let stream = Stream::new(device)?;
    let (buffer, copy) = (Buffer::new(device, 4000)?, Buffer::new(device, 4000)?);
    for round in 1..30u32 {
        buffer.fill_words(round, stream.handle)?;
        kernel.launch(&buffer, 1000, stream.handle)?;
        buffer.copy_to(&copy, stream.handle)?;
        kernel.launch(&buffer, 5, stream.handle)?;
        copy.expect_words(stream.handle, round + 1000)?;
    }
    Ok(Passed)
}

pub(crate) fn launches_on_two_streams_have_their_own_arguments(subject: &Subject) -> CaseResult {
    let kernel = kernel!(subject);
    let device = &*subject.device;
    let streams = [Stream::new(device)?, Stream::new(device)?];
    let buffers = [Buffer::holding(device, &[0; 4000])?, Buffer::holding(device, &[0; 4000])?];
    for _ in 0..50 {
        for (add, (stream, buffer)) in [1, 100].into_iter().zip(streams.iter().zip(&buffers)) {
            kernel.launch(buffer, add, stream.handle)?;
        }
    }
    device.synchronize()?;
    for (expected, buffer) in [50, 5000].into_iter().zip(&buffers) {
        buffer.expect_words(DEFAULT, expected)?;
    }
    Ok(Passed)
}

pub(crate) fn an_argument_block_above_the_limit_is_an_error(subject: &Subject) -> CaseResult {
    let kernel = kernel!(subject);
    let device = &*subject.device;
    let limit = device.capabilities().max_argument_bytes;
    if limit > 1 << 20 {
        return Ok(Skipped("the limit is too large to exceed in a test"));
    }
    let buffer = Buffer::holding(device, &[0; 16])?;
    let (config, block) = kernel.shape(&buffer, 1);
    let mut args = vec![0; limit / 8 + 1];
    args[..block.len()].copy_from_slice(&block);
    // SAFETY: the block is above the limit, so the call must return an error without reading it.
    let refused = unsafe { device.launch(kernel.function, &config, &args, DEFAULT) };
    ensure!(is_invalid_argument(&refused), "{refused:?}");
    ensure!(buffer.read(DEFAULT)? == [0; 16], "the launch ran");
    Ok(Passed)
}

pub(crate) fn a_graph_of_two_nodes_runs(subject: &Subject) -> CaseResult {
    let (kernel, device) = (kernel!(subject), &*subject.device);
    skip_without_graphs!(device);
    let stream = Stream::new(device)?;
    let buffer = Buffer::holding(device, &[0; 400])?;
    let (graph, _) = Graph::of_two(device, &kernel, &buffer)?;
    for _ in 0..3 {
        graph.launch(stream.handle)?;
    }
    buffer.expect_words(stream.handle, 3 * 11)?;
    Ok(Passed)
}

pub(crate) fn a_graph_copies_between_its_launches(subject: &Subject) -> CaseResult {
    let (kernel, device) = (kernel!(subject), &*subject.device);
    skip_without_graphs!(device);
    let stream = Stream::new(device)?;
    let (one, other) = (Buffer::holding(device, &[0; 400])?, Buffer::holding(device, &[0; 400])?);
    let graph = device.create_graph()?;
    let ((config, first), (_, last)) = (kernel.shape(&one, 1), kernel.shape(&other, 10));
    // SAFETY: graph and nodes are valid; the argument blocks and the copy use buffers that outlive the graph.
    let exec = unsafe {
        let added = device.add_kernel_node(graph, &[], kernel.function, &config, &first)?;
        let copied = device.add_copy_node(graph, &[added], other.memory, one.memory, 400)?;
        device.add_kernel_node(graph, &[copied], kernel.function, &config, &last)?;
        device.instantiate_graph(graph)?
    };
    let graph = Graph { device, graph, exec };
    for launches in 1..=3 {
        graph.launch(stream.handle)?;
        other.expect_words(stream.handle, launches + 10)?;
    }
    Ok(Passed)
}

pub(crate) fn an_updated_node_keeps_earlier_launches(subject: &Subject) -> CaseResult {
    let (kernel, device) = (kernel!(subject), &*subject.device);
    skip_without_graphs!(device);
    let stream = Stream::new(device)?;
    let buffer = Buffer::holding(device, &[0; 400])?;
    let (graph, node) = Graph::of_two(device, &kernel, &buffer)?;
    graph.launch(stream.handle)?;
    let (config, args) = kernel.shape(&buffer, 500);
    // SAFETY: the node is of the executable's graph, and the argument block is for this kernel.
    unsafe { device.update_kernel_node(graph.exec, node, kernel.function, &config, &args) }?;
    graph.launch(stream.handle)?;
    buffer.expect_words(stream.handle, (1 + 10) + (1 + 500))?;
    Ok(Passed)
}

pub(crate) fn graphs_are_unsupported_without_the_capability(subject: &Subject) -> CaseResult {
    let device = &*subject.device;
    if device.capabilities().graphs {
        return Ok(Skipped("this device has graphs"));
    }
    match device.create_graph() {
        Err(Error::Unsupported { .. } | Error::SymbolMissing { .. }) => Ok(Passed),
        other => Err(CaseFailure::Contract(format!("{other:?}"))),
    }
}

struct Graph<'a> {
    device: &'a dyn Device,
    graph: GraphHandle,
    exec: GraphExecHandle,
}

impl<'a> Graph<'a> {
    /// A graph that adds 1 and then 10, and its second node.
    fn of_two(
        device: &'a dyn Device,
        kernel: &Loaded<'_>,
        buffer: &Buffer<'_>,
    ) -> Result<(Self, GraphNodeHandle), CaseFailure> {
        let graph = device.create_graph()?;
        let ((config, one), (_, ten)) = (kernel.shape(buffer, 1), kernel.shape(buffer, 10));
        // SAFETY: graph and nodes are valid; the argument blocks are for this kernel and a buffer that outlives the
        // graph.
        let (node, exec) = unsafe {
            let first = device.add_kernel_node(graph, &[], kernel.function, &config, &one)?;
            let node = device.add_kernel_node(graph, &[first], kernel.function, &config, &ten)?;
            (node, device.instantiate_graph(graph)?)
        };
        Ok((Self { device, graph, exec }, node))
    }

    fn launch(&self, stream: StreamHandle) -> Result<(), CaseFailure> {
        // SAFETY: executable and stream are valid.
        unsafe { self.device.launch_graph(self.exec, stream) }?;
        Ok(())
    }
}

impl Drop for Graph<'_> {
    fn drop(&mut self) {
        if self.device.synchronize().is_ok() {
            // SAFETY: created by the case; all launches are complete.
            let _ = unsafe { self.device.destroy_graph_exec(self.exec) };
            // SAFETY: as above.
            let _ = unsafe { self.device.destroy_graph(self.graph) };
        }
    }
}
