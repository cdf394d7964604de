//! The regions that a thread is in, and the memory that their blocks use.
//!
//! The regions of a thread are a linked list through the stack frames of their `within` calls, as its stream scopes
//! are.

use std::{
    cell::{Cell, RefCell},
    collections::HashMap,
    ptr,
    sync::Arc,
};

use quadrants_runtime::{AccessOrigin, Buffer, BufferUse};

use super::mode::SlowPathGuard;
use crate::{
    Error, Result,
    arguments::launch_uses::LaunchUses,
    state::{ProgramShared, StreamState},
};

thread_local! {
    static INNERMOST: Cell<*const ActiveRegion> = const { Cell::new(ptr::null()) };
}

/// What a region does outside of its blocks is like a block with this number.
pub(crate) const OUTSIDE: usize = 0;

/// The uses of memory in a region, by block.
pub(crate) struct ActiveRegion {
    shared: Arc<ProgramShared>,
    /// The number of the block that runs, or [`OUTSIDE`].
    pub(crate) block: Cell<usize>,
    /// The numbers of the stream that it forked from, and of its workers.
    pub(crate) streams: RefCell<Vec<u32>>,
    /// Keeps the buffers, so that no other one gets the address.
    uses: RefCell<HashMap<*const Buffer, BufferUses>>,
    outer: Cell<*const ActiveRegion>,
    /// Whether its stream is one of the outer region's, so that its blocks are parts of the outer block.
    inside_outer: Cell<bool>,
}

struct BufferUses {
    _buffer: Arc<Buffer>,
    by_block: Vec<(usize, BufferUse)>,
}

impl ActiveRegion {
    pub(crate) fn new(shared: &Arc<ProgramShared>, stream: u32) -> Self {
        Self {
            shared: shared.clone(),
            block: Cell::new(OUTSIDE),
            streams: RefCell::new(vec![stream]),
            uses: RefCell::default(),
            outer: Cell::new(ptr::null()),
            inside_outer: Cell::new(false),
        }
    }

    /// Checks the uses of a launch on a stream of the region against those of other blocks, and adds them.
    fn check(&self, launch: &LaunchUses<'_>, stream: &StreamState) -> Result<()> {
        let (block, stamp) = (self.block.get(), stream.stream.newest());
        let mut uses = self.uses.borrow_mut();
        let used = launch.tensors.iter().zip(launch.params).filter_map(|(tensor, param)| {
            let (device_tensor, writes) = (tensor.device_tensor()?, param.writes?);
            let by = AccessOrigin { kernel: launch.kernel, parameter: param.index, at: launch.at };
            Some((&device_tensor.buffer, BufferUse { stamp, bytes: tensor.bytes(), writes, by }))
        });
        let used: Vec<_> = used.collect();
        for (buffer, later) in &used {
            let earlier = uses.get(&Arc::as_ptr(buffer)).map_or(&[][..], |uses| &uses.by_block);
            let conflict =
                earlier.iter().find(|(of, earlier)| *of != block && earlier.conflicts_with(later));
            if let Some((_, earlier)) = conflict {
                let hazard = self.shared.hazard(earlier, later);
                return Err(Error::RegionConflict(Box::new(hazard)));
            }
        }
        for (buffer, one) in used {
            let new = || BufferUses { _buffer: buffer.clone(), by_block: Vec::new() };
            let known = &mut uses.entry(Arc::as_ptr(buffer)).or_insert_with(new).by_block;
            let covers = |(of, known): &(usize, BufferUse)| {
                *of == block && known.bytes == one.bytes && known.writes >= one.writes
            };
            if !known.iter().any(covers) {
                known.push((block, one));
            }
        }
        Ok(())
    }
}

/// Ends the region on every exit path.
struct RegionGuard {
    outer: *const ActiveRegion,
    _observed: SlowPathGuard,
}

impl Drop for RegionGuard {
    fn drop(&mut self) {
        INNERMOST.set(self.outer);
    }
}

/// Runs `body` with `region` as this thread's innermost region.
pub(crate) fn within<R>(region: &ActiveRegion, body: impl FnOnce() -> R) -> R {
    let outer = INNERMOST.get();
    region.outer.set(outer);
    // SAFETY: as in `check`.
    let inside = unsafe { outer.as_ref() }.is_some_and(|outer| {
        let (outer, own) = (outer.streams.borrow(), region.streams.borrow());
        own.first().is_some_and(|stream| outer.contains(stream))
    });
    region.inside_outer.set(inside);
    let _guard = RegionGuard { outer, _observed: SlowPathGuard::begin() };
    INNERMOST.set(region);
    body()
}

/// Runs `body`, in which work on `stream` is ordered as that of `current`: it counts as work of the same blocks.
pub(crate) fn with_stream<R>(
    program: &ProgramShared,
    current: u32,
    stream: u32,
    body: impl FnOnce() -> R,
) -> R {
    struct Added<'a>(&'a ActiveRegion, u32);
    impl Drop for Added<'_> {
        fn drop(&mut self) {
            let mut streams = self.0.streams.borrow_mut();
            if let Some(last) = streams.iter().rposition(|stream| *stream == self.1) {
                streams.remove(last);
            }
        }
    }
    let mut next = INNERMOST.get();
    // SAFETY: as in `check_all`; `body` returns before the region ends.
    while let Some(region) = unsafe { next.as_ref() } {
        let mut streams = region.streams.borrow_mut();
        if ptr::eq(&*region.shared, program) && streams.contains(&current) {
            streams.push(stream);
            drop(streams);
            let _added = Added(region, stream);
            return body();
        }
        drop(streams);
        next = region.outer.get();
    }
    body()
}

/// Checks a launch on `stream` against the other blocks of the regions that this thread is in, before anything of the
/// launch is enqueued. What runs on a stream that is no region's is not checked.
///
/// # Errors
/// [`Error::RegionConflict`]
#[inline]
pub(crate) fn check(
    program: &ProgramShared,
    launch: &LaunchUses<'_>,
    stream: &StreamState,
) -> Result<()> {
    let innermost = INNERMOST.get();
    if innermost.is_null() { Ok(()) } else { check_all(innermost, program, launch, stream) }
}

#[cold]
fn check_all(
    innermost: *const ActiveRegion,
    program: &ProgramShared,
    launch: &LaunchUses<'_>,
    stream: &StreamState,
) -> Result<()> {
    let (mut next, mut belongs) = (innermost, false);
    // SAFETY: a region is on the list while `within` runs, whose argument it is, below this frame on the same stack.
    while let Some(region) = unsafe { next.as_ref() } {
        if ptr::eq(&*region.shared, program) {
            belongs |= region.streams.borrow().contains(&stream.stream.id());
            if belongs {
                region.check(launch, stream)?;
            }
            belongs &= region.inside_outer.get();
        }
        next = region.outer.get();
    }
    Ok(())
}
