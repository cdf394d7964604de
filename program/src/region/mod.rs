//! Host-side regions: blocks of launches, copies and foreign operations that run concurrently on streams of their own.
//!
//! A region forks from the thread's current stream and joins it as a kernel's region does: one event at the fork, one
//! for each worker at the join. The first block stays on the stream. The host does not wait.

mod workers;

use std::{fmt, sync::Arc};

#[cfg(doc)]
use crate::Error;
use crate::{
    Program, Result,
    launcher::fork_join::MAX_REGION_WORKERS,
    state::{ProgramInner, RegionWorkerSet, StreamState, Worker},
    thread_state::{
        capture::is_active as is_capturing,
        current_stream::{with_current_or_default, with_scope},
        regions::{self, ActiveRegion, OUTSIDE},
    },
};

/// A region of [`Program::stream_parallel`], to which blocks are added.
pub struct Region<'a> {
    fork: Fork,
    active: &'a ActiveRegion,
    /// The number of blocks so far.
    blocks: usize,
}

/// The fork of a region. Joins the workers on every exit path.
struct Fork {
    program: Arc<ProgramInner>,
    stream: Arc<StreamState>,
    /// None once they are given back.
    set: Option<RegionWorkerSet>,
    /// The number of workers that have a block. They wait for the fork.
    used: usize,
}

impl fmt::Debug for Region<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Region").field("blocks", &self.blocks).finish_non_exhaustive()
    }
}

impl Program {
    /// Runs blocks concurrently: each [`Region::block`] makes another stream this thread's current one, so that
    /// launches, copies between tensors and foreign operations in it run beside those of the other blocks. The region
    /// begins when all earlier work of the current stream has finished, and later work of that stream waits for all of
    /// its blocks. The host does not wait for anything. Regions may be nested, and captured.
    ///
    /// Two blocks must not use the same bytes of a tensor if one of them writes, whatever the program's
    /// [`Hazards`](crate::Hazards): the launch that does is refused, before anything of it is enqueued. A kernel counts
    /// as a user of all elements of its tensor arguments and slices; so use slices for parts. What the region does
    /// outside of blocks counts as a block of its own, and what runs on an explicit stream is ordered only by that.
    ///
    /// Where `body` fails or panics, the work that was submitted stays submitted, and is joined. Errors of kernels are
    /// returned by the next wait for the current stream, or for a tensor that they wrote. On the CPU, the blocks run
    /// one after the other.
    ///
    /// # Errors
    /// Those of `body`, which has [`Error::RegionConflict`] from operations that conflict; or an error of the device.
    ///
    /// # Examples
    /// ```
    /// # fn main() -> quadrants_program::Result<()> {
    /// # let device = quadrants_rhi_cpu::driver()?.open(0)?;
    /// # let opened = quadrants_program::Opened { device, compiler: None };
    /// # let prog = quadrants_program::Program::open(opened)?;
    /// let x = prog.tensor_from(&[1, 2, 3, 4], [4])?;
    /// let (mut a, mut b) = (prog.zeros([2])?, prog.zeros([2])?);
    /// prog.stream_parallel(|p| {
    ///     p.block(|| a.copy_from(&*x.slice(..2)?))?;
    ///     p.block(|| b.copy_from(&*x.slice(2..)?))
    /// })?;
    /// assert_eq!((a.to_vec()?, b.to_vec()?), (vec![1, 2], vec![3, 4]));
    /// # Ok(())
    /// # }
    /// ```
    pub fn stream_parallel<R>(&self, body: impl FnOnce(&mut Region<'_>) -> Result<R>) -> Result<R> {
        let program = self.inner();
        let stream = with_current_or_default(program, Arc::clone);
        let active = ActiveRegion::new(&program.shared, stream.stream.id());
        let fork = Fork::begin(program, stream)?;
        let mut region = Region { fork, active: &active, blocks: 0 };
        let result = regions::within(&active, || body(&mut region));
        let joined = region.fork.join();
        result.and_then(|result| joined.map(|()| result))
    }
}

impl Region<'_> {
    /// Runs `body` with the block's stream as this thread's current stream of the program. Its operations run one after
    /// the other.
    ///
    /// # Errors
    /// Those of `body`, or an error of the device: then `body` did not run.
    pub fn block<R>(&mut self, body: impl FnOnce() -> Result<R>) -> Result<R> {
        struct EndOfBlock<'a>(&'a ActiveRegion);
        impl Drop for EndOfBlock<'_> {
            fn drop(&mut self) {
                self.0.block.set(OUTSIDE);
            }
        }
        let Self { fork, active, blocks } = self;
        let stream = match *blocks {
            0 => fork.stream.clone(),
            block => fork.worker((block - 1) % MAX_REGION_WORKERS, active)?,
        };
        *blocks += 1;
        active.block.set(*blocks);
        let _end = EndOfBlock(active);
        with_scope(&fork.program, &stream, body)
    }
}

impl Fork {
    fn begin(program: &Arc<ProgramInner>, stream: Arc<StreamState>) -> Result<Self> {
        let shared = &program.shared;
        shared.context.check()?;
        let mut set = stream.regions.take(shared)?;
        if let Err(error) = set.fork.record(shared, &stream) {
            stream.regions.give_back(set);
            return Err(error);
        }
        Ok(Self { program: program.clone(), stream, set: Some(set), used: 0 })
    }

    /// The stream of a worker, after the fork.
    fn worker(&mut self, index: usize, active: &ActiveRegion) -> Result<Arc<StreamState>> {
        let shared = &self.program.shared;
        let Some(set) = &mut self.set else { return Ok(self.stream.clone()) };
        if set.workers.len() == index {
            set.workers.push(Worker::new(shared)?);
        }
        let stream = set.workers[index].stream.clone();
        if index == self.used {
            set.fork.wait(shared, &stream)?;
            active.streams.borrow_mut().push(stream.stream.id());
            self.used += 1;
        }
        Ok(stream)
    }

    /// Makes the stream wait for all workers. Those that cannot be joined are waited for by the host, and not used
    /// again.
    fn join(&mut self) -> Result<()> {
        let (shared, stream) = (&self.program.shared, &self.stream);
        let Some(mut set) = self.set.take() else { return Ok(()) };
        let mut joined = Ok(());
        let mut at = 0;
        for _ in 0..self.used {
            let Worker { stream: worker, join } = &mut set.workers[at];
            match join.record(shared, worker).and_then(|()| join.wait(shared, stream)) {
                Ok(()) => at += 1,
                Err(error) => {
                    joined = Err(error);
                    // Its drop waits for its work.
                    drop(set.workers.remove(at));
                }
            }
        }
        if self.used > 0 && !is_capturing() {
            // The join is work of the stream: it is not complete before the workers are.
            let _ = stream.stream.next_stamp();
        }
        stream.regions.give_back(set);
        joined
    }
}

impl Drop for Fork {
    fn drop(&mut self) {
        if let Err(error) = self.join() {
            self.program.shared.defer(error);
        }
    }
}
