//! The target of a launch: its stream, and how it is launched.

use std::{panic::Location, sync::Arc};

use crate::{launcher::launch_cache::Checks, state::StreamState};

#[derive(Clone, Copy)]
pub(crate) struct LaunchTarget<'a> {
    pub(crate) stream: &'a Arc<StreamState>,
    pub(crate) checks: Checks,
    pub(crate) at: &'static Location<'static>,
}
