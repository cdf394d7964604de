//! The environment variables that programs read.

/// The environment variable that sets the [`Hazards`](crate::Hazards) policy of programs whose builder sets none:
/// `explicit`, `report`, `check` or `auto`.
pub const HAZARDS_VARIABLE: &str = "QUADRANTS_HAZARDS";

/// The environment variable that decides whether repeated regions become graphs: `on` (the default, where the device
/// has graphs) or `off`.
pub const GRAPHS_VARIABLE: &str = "QUADRANTS_GRAPHS";

/// The environment variable that decides whether kernels are [tuned](crate::ProgramBuilder::autotune): `on` or `off`
/// (the default).
pub const AUTOTUNE_VARIABLE: &str = "QUADRANTS_AUTOTUNE";

/// The environment variable with the folder of the kernel cache on disk, or `off`. Default: `quadrants` in the user's
/// cache folder.
pub const CACHE_VARIABLE: &str = "QUADRANTS_CACHE";

/// The environment variable that prints how each launch with new sizes runs, to stderr: `1`. See
/// [`Launch::explain`](crate::Launch::explain).
pub const EXPLAIN_VARIABLE: &str = "QUADRANTS_EXPLAIN";

/// The environment variable with the image bundle for programs that are opened without one.
pub const KERNELS_VARIABLE: &str = "QUADRANTS_KERNELS";

/// The environment variable with the file that the timeline of the whole program is written to, as a trace of Chrome's
/// format. See [`Program::profile`](crate::Program::profile).
pub const TRACE_VARIABLE: &str = "QUADRANTS_TRACE";
