//! Launch configurations: the grid and block size of a task for given extents, within the limits of the device.

use quadrants_ir::{TaskKind, abi::DEFAULT_BLOCK_SIZE};
use quadrants_rhi::{DeviceInfo, LaunchConfig};
use smallvec::SmallVec;

/// The launch configuration of each task; none where the task has no iteration.
pub(crate) type LaunchConfigs = SmallVec<[Option<LaunchConfig>; 8]>;

/// The largest grid along y and z.
const LIMIT_YZ: u64 = 65_535;

/// The number of threads that fills a multiprocessor.
pub(super) const THREADS_PER_MULTIPROCESSOR: u32 = 2048;

/// The number of blocks of the default size that fills a multiprocessor.
const BLOCKS_PER_MULTIPROCESSOR: u64 = (THREADS_PER_MULTIPROCESSOR / DEFAULT_BLOCK_SIZE) as u64;

/// The launch configuration of a range loop over these extents, in blocks of `size` threads. The last dimension is
/// along x.
pub(super) fn launch_config(extents: &[u64], size: u32, square: bool) -> LaunchConfig {
    let blocks =
        |n: u64, block: u32, limit: u64| n.div_ceil(u64::from(block)).clamp(1, limit) as u32;
    // No wider than the extent, so that short rows leave no thread idle.
    let width =
        |n: u64, most: u32| n.min(u64::from(most)).next_power_of_two().min(u64::from(most)) as u32;
    match *extents {
        [n] => LaunchConfig::linear(n, size),
        [rows, columns] => {
            let x = width(columns, size.min(if square { 16 } else { 128 }));
            let y = (size / x).max(1);
            LaunchConfig {
                grid_dim: [blocks(columns, x, i32::MAX as u64), blocks(rows, y, LIMIT_YZ), 1],
                block_dim: [x, y, 1],
                shared_bytes: 0,
            }
        }
        [planes, rows, columns] => {
            const MAX_BLOCK_DEPTH: u32 = 64;
            let x = width(columns, size.min(64));
            let y = width(rows, (size / x).max(1)).max(size / x / MAX_BLOCK_DEPTH);
            let z = (size / (x * y)).clamp(1, MAX_BLOCK_DEPTH);
            LaunchConfig {
                grid_dim: [
                    blocks(columns, x, i32::MAX as u64),
                    blocks(rows, y, LIMIT_YZ),
                    blocks(planes, z, LIMIT_YZ),
                ],
                block_dim: [x, y, z],
                shared_bytes: 0,
            }
        }
        _ => LaunchConfig::SERIAL,
    }
}

/// The number of threads of a block of a range loop over these extents: `most`, or fewer where a loop with few
/// iterations would otherwise leave multiprocessors without a block. A block keeps the threads of one warp.
pub(super) fn block_size_for_few_iterations(extents: &[u64], most: u32, info: &DeviceInfo) -> u32 {
    let iterations = extents.iter().fold(1_u64, |product, extent| product.saturating_mul(*extent));
    let each = iterations / u64::from(info.multiprocessors.max(1));
    let least = info.warp_size.clamp(1, most);
    let mut size = most;
    while size / 2 >= least && u64::from(size) > each {
        size /= 2;
    }
    size
}

/// The launch configuration of a block loop. The last dimension of its grid is along x. Where the grid is limited, each
/// block runs several iterations.
pub(super) fn block_config(extents: &[u64], threads: u32) -> LaunchConfig {
    const LIMITS: [u64; 3] = [i32::MAX as u64, LIMIT_YZ, LIMIT_YZ];
    let mut grid_dim = [1; 3];
    for ((size, &extent), limit) in grid_dim.iter_mut().zip(extents.iter().rev()).zip(LIMITS) {
        *size = extent.clamp(1, limit) as u32;
    }
    LaunchConfig { grid_dim, block_dim: [threads, 1, 1], shared_bytes: 0 }
}

/// Whether a task is a loop and has a launch configuration of its own.
pub(super) fn is_loop(kind: &TaskKind) -> bool {
    kind.dims().is_some()
}

/// Limits a grid to the device's largest one. Device loops stride over the grid, so that a smaller one runs all
/// iterations too.
pub(super) fn limit_to_device_max(config: &mut LaunchConfig, info: &DeviceInfo) {
    for axis in 0..3 {
        let by_threads = info.max_grid_threads[axis] / u64::from(config.block_dim[axis].max(1));
        let by_threads = u32::try_from(by_threads).unwrap_or(u32::MAX);
        let most = info.max_grid_dim[axis].min(by_threads).max(1);
        config.grid_dim[axis] = config.grid_dim[axis].min(most);
    }
}

/// Limits a grid to the blocks that fill the device once: for bounds that the host does not know, and for reductions
/// and privatized tensors, whose blocks combine results at their end. Most further threads would have no iteration, and
/// the threads of the smaller grid stride over all of them.
pub(super) fn limit_to_resident_blocks(config: &mut LaunchConfig, multiprocessors: u32) {
    let most = BLOCKS_PER_MULTIPROCESSOR * u64::from(multiprocessors.max(1));
    let grid = &mut config.grid_dim;
    while grid.iter().map(|&size| u64::from(size)).product::<u64>() > most {
        if let Some(largest) = grid.iter_mut().max() {
            *largest = largest.div_ceil(2);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_have_the_requested_size() {
        for extents in [&[1000u64][..], &[10, 1000], &[7, 10, 1000]] {
            for size in [1u32, 32, 64, 96, 256, 1024] {
                let config = launch_config(extents, size, false);
                let threads: u32 = config.block_dim.iter().product();
                assert!(threads <= size && 2 * threads > size, "{extents:?} in {size}: {threads}");
                for (k, &extent) in extents.iter().rev().enumerate() {
                    let covered = u64::from(config.grid_dim[k]) * u64::from(config.block_dim[k]);
                    assert!(covered >= extent, "{extents:?} in {size}: {config:?}");
                }
            }
        }
    }

    #[test]
    fn a_loop_with_few_iterations_is_spread_over_the_device() {
        let mut info = DeviceInfo::new("toy", 0, String::new(), String::new());
        (info.multiprocessors, info.warp_size) = (132, 32);
        let of = |extents: &[u64]| block_size_for_few_iterations(extents, 256, &info);
        assert_eq!([of(&[1]), of(&[6144]), of(&[132 * 64])], [32, 32, 64]);
        assert_eq!([of(&[132 * 128]), of(&[132 * 256]), of(&[u64::MAX, 9])], [128, 256, 256]);
        assert_eq!([of(&[64, 132]), of(&[0, 5])], [64, 32]);
        info.warp_size = 64;
        assert_eq!(
            [
                block_size_for_few_iterations(&[1], 256, &info),
                block_size_for_few_iterations(&[1], 16, &info)
            ],
            [64, 16]
        );
    }

    #[test]
    fn a_grid_is_limited_to_the_devices_blocks_and_threads() {
        let mut info = DeviceInfo::new("toy", 0, String::new(), String::new());
        let fitted = |info: &DeviceInfo, grid_dim, block_dim| {
            let mut config = LaunchConfig { grid_dim, block_dim, shared_bytes: 0 };
            limit_to_device_max(&mut config, info);
            assert_eq!(config.block_dim, block_dim);
            config.grid_dim
        };
        let wide = [u32::MAX, 70_000, 3];
        assert_eq!(fitted(&info, wide, [256, 1, 1]), [i32::MAX as u32, 65_535, 3]);
        info.max_grid_threads = [u32::MAX.into(); 3];
        let grid = fitted(&info, wide, [256, 4, 1]);
        assert_eq!(grid, [(1 << 24) - 1, 65_535, 3]);
        assert_eq!(fitted(&info, wide, [1, 1, 1]), [i32::MAX as u32, 65_535, 3]);
        info.max_grid_dim = [u32::MAX; 3];
        assert_eq!(
            fitted(&info, [u32::MAX, 1 << 31, 9], [1, 2, 3]),
            [u32::MAX, i32::MAX as u32, 9]
        );
        info.max_grid_threads = [100; 3];
        assert_eq!(fitted(&info, [9, 9, 1], [256, 100, 1]), [1, 1, 1]);
    }
}
