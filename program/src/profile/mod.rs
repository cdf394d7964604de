//! Profiles: what ran when on which stream. [`Program::profile`] returns a [`Timeline`]; the environment variable
//! [`TRACE_VARIABLE`](crate::TRACE_VARIABLE) writes the one of a whole program.
//!
//! While a profile runs, the program's calls go to a recording device that forwards them (`device.rs`), and regions are
//! launched by events, so that each of their tasks has its times. Without a profile nothing of this runs: the fast path
//! of a launch tests that its context is ordinary, which is one test for this and for a lost context.

mod activity;
mod chrome;
pub(crate) mod device;
pub(crate) mod enqueue;
mod json;
pub(crate) mod origin;
mod read;
pub(crate) mod session;
mod svg;
pub(crate) mod table;
pub(crate) mod timeline;
pub(crate) mod timeline_builder;

use std::{
    path::PathBuf,
    sync::{Arc, OnceLock, atomic::AtomicBool},
};

use quadrants_runtime::Context;

use self::device::RecordingDevice;
use crate::{Result, launcher::region_graph::Graphs};

/// The profiles of a program.
#[derive(Debug, Default)]
pub(crate) struct Profiler {
    /// Made by the first profile.
    pub(crate) device: OnceLock<Arc<RecordingDevice>>,
    /// Whether a profile runs.
    pub(crate) is_active: AtomicBool,
    /// The trace of the whole program.
    pub(crate) trace: OnceLock<ProgramTrace>,
}

/// The trace of a whole program: see `program/trace.rs`.
#[derive(Debug)]
pub(crate) struct ProgramTrace {
    pub(crate) path: PathBuf,
    pub(crate) is_written: AtomicBool,
}

impl Profiler {
    pub(crate) fn device(&self, context: &Arc<Context>) -> &Arc<RecordingDevice> {
        self.device.get_or_init(|| {
            let inner = context.direct_device().clone();
            Arc::new(RecordingDevice::new(inner, Arc::downgrade(context)))
        })
    }

    /// Begins to record. All work of the device is complete.
    pub(crate) fn record(&self, context: &Arc<Context>, graphs: &Graphs) -> Result<()> {
        let device = self.device(context);
        device.begin().map_err(quadrants_runtime::Error::from)?;
        graphs.set_for_regions(false);
        context.interpose(true, |_| device.clone());
        Ok(())
    }

    /// The device that records, while it does.
    pub(crate) fn recording(&self, context: &Context) -> Option<&RecordingDevice> {
        self.device.get().filter(|_| context.is_interposed()).map(|device| &**device)
    }
}
