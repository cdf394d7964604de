//! The shape of a launch: grid and block dimensions.

/// The grid and block dimensions of a launch. The CPU, which has no blocks, ignores them.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct LaunchConfig {
    /// The number of blocks in x, y and z; each at least 1.
    pub grid_dim: [u32; 3],
    /// The number of threads of a block in x, y and z; each at least 1.
    pub block_dim: [u32; 3],
    /// The dynamic shared memory of a block in bytes.
    pub shared_bytes: u32,
}

/// What a function uses of a device, and how many of its blocks run at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FunctionUsage {
    /// Registers per thread.
    pub registers: u32,
    /// Bytes of a thread's local memory: for local arrays, and for values that did not fit into registers.
    pub local_bytes: u32,
    /// Bytes of shared memory per block that the code has, without the [dynamic](LaunchConfig::shared_bytes) ones.
    pub shared_bytes: u32,
    /// The number of blocks that run on a multiprocessor at once.
    pub blocks_per_multiprocessor: u32,
}

impl LaunchConfig {
    /// One block of one thread.
    pub const SERIAL: Self = Self { grid_dim: [1; 3], block_dim: [1; 3], shared_bytes: 0 };

    /// A one-dimensional shape with at least `threads` threads, at least one block, and at most `i32::MAX` blocks.
    ///
    /// # Examples
    /// ```
    /// # use quadrants_rhi::LaunchConfig;
    /// assert_eq!(LaunchConfig::linear(1000, 256).grid_dim, [4, 1, 1]);
    /// assert_eq!(LaunchConfig::linear(0, 256).grid_dim, [1, 1, 1]);
    /// ```
    #[must_use]
    pub const fn linear(threads: u64, block: u32) -> Self {
        let blocks = threads.div_ceil(block as u64);
        let blocks = if blocks == 0 {
            1
        } else if blocks > i32::MAX as u64 {
            i32::MAX as u64
        } else {
            blocks
        };
        Self { grid_dim: [blocks as u32, 1, 1], block_dim: [block, 1, 1], shared_bytes: 0 }
    }
}
