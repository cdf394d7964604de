//! What a kernel consists of on the host: its definition, its IR and its images.

pub(crate) mod dump;
pub(crate) mod interpreter_memory;
pub(crate) mod kernel_def;
pub(crate) mod loader;
pub(crate) mod monomorphizations;
pub(crate) mod stable_table;
