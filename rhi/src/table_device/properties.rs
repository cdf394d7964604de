//! [`table_properties!`](crate::table_properties): reads the properties and capabilities of a device.

/// Expands to functions that read a device through its driver table: `attribute`, `read_info` and `read_capabilities`.
///
/// The arguments are the table, the name of the backend, the type of attributes, and the driver's attributes.
#[macro_export]
macro_rules! table_properties {
    (
        $table:ident, $backend:expr, $attribute:ty,
        multiprocessors: $multiprocessors:expr, warp_size: $warp_size:expr, max_threads: $max_threads:expr,
        resident_threads: $resident_threads:expr, clock: $clock:expr,
        memory_clock: $memory_clock:expr, memory_bus: $memory_bus:expr,
        max_shared: [$($max_shared:expr),+],
        max_grid: [$max_x:expr, $max_y:expr, $max_z:expr], has_pools: $has_pools:expr,
        reuse_with_waits: $reuse:expr, release_threshold: $threshold:expr $(,)?
    ) => {
        /// A device attribute. Negative values are 0.
        fn attribute(
            table: &$table,
            device: ::std::ffi::c_int,
            attribute: $attribute,
        ) -> $crate::Result<u32> {
            let mut value = 0;
            // SAFETY: the driver writes a number.
            unsafe { table.device_attribute(&mut value, attribute, device) }?;
            Ok(u32::try_from(value).unwrap_or(0))
        }

        /// The properties of a device.
        fn read_info(
            table: &$table,
            device: ::std::ffi::c_int,
            ordinal: usize,
            arch: String,
            driver_version: String,
        ) -> $crate::Result<$crate::DeviceInfo> {
            let number = |name| attribute(table, device, name);
            // SAFETY: the driver writes at most that many bytes with a final zero.
            let name = $crate::table_device::read_text(|text, bytes| unsafe {
                table.device_name(text, bytes, device)
            })?;
            let mut total = 0;
            // SAFETY: the driver writes a number.
            unsafe { table.device_total_memory(&mut total, device) }?;
            let mut info = $crate::DeviceInfo::new($backend, ordinal, name, arch);
            info.driver_version = driver_version;
            info.simulated = table.functions.simulator.is_some();
            info.total_memory = total as u64;
            info.multiprocessors = number($multiprocessors)?;
            info.warp_size = number($warp_size)?;
            info.max_threads_per_block = number($max_threads)?;
            // Only explanations use these, so that a driver may lack them.
            let known = |name| number(name).unwrap_or(0);
            info.max_threads_per_multiprocessor = known($resident_threads);
            info.clock_khz = known($clock);
            // Two transfers per clock.
            info.memory_bandwidth =
                2 * u64::from(known($memory_clock)) * 1000 * u64::from(known($memory_bus)) / 8;
            // A driver may report a limit of launches that ask for more.
            info.max_shared_bytes = 0;
            $(info.max_shared_bytes = info.max_shared_bytes.max(number($max_shared)?);)+
            info.max_grid_dim = [number($max_x)?, number($max_y)?, number($max_z)?];
            Ok(info)
        }

        /// Reads the capabilities of a device whose context is current, and logs that it is opened. `pools` is
        /// `Err(reason)` if its memory pools must not be used.
        fn read_capabilities(
            table: &$table,
            device: ::std::ffi::c_int,
            info: &$crate::DeviceInfo,
            graphs: bool,
            pools: ::std::result::Result<(), String>,
        ) -> $crate::Result<$crate::Capabilities> {
            let mut capabilities = $crate::Capabilities::new($crate::ImageKind::Binary);
            let range = &mut capabilities.priorities;
            // SAFETY: the driver writes two numbers about the current context.
            unsafe { table.priority_range(&mut range.least, &mut range.greatest) }?;
            capabilities.graphs = graphs;
            $crate::table_device::prepare_pools(
                &mut capabilities,
                || pools.and_then(|()| check_pools(table, device)),
                || tune_default_pool(table, device),
            )?;
            $crate::table_device::log_opened(info);
            Ok(capabilities)
        }

        /// Returns why the device cannot allocate in stream order as an error.
        fn check_pools(
            table: &$table,
            device: ::std::ffi::c_int,
        ) -> ::std::result::Result<(), String> {
            if table.functions.alloc_async.is_none() || table.functions.free_async.is_none() {
                let row = $table::SYMBOLS.iter().find(|row| row.call == "alloc_async");
                let (name, since) = row.map_or(("", None), |row| (row.name, row.optional_since));
                return Err(format!("the driver has no {name} (since {})", since.unwrap_or("?")));
            }
            match attribute(table, device, $has_pools) {
                Ok(0) => Err("the device has no memory pools".to_owned()),
                Ok(_) => Ok(()),
                Err(error) => Err(error.to_string()),
            }
        }

        /// Configures the device's default memory pool for streams that run concurrently.
        fn tune_default_pool(table: &$table, device: ::std::ffi::c_int) -> $crate::Result<()> {
            let mut pool = ::std::ptr::null_mut();
            // The driver may reuse memory that was freed on another stream by inserting a wait between the streams.
            // Unordered streams must stay independent, so this is turned off.
            let mut reuse_with_waits: ::std::ffi::c_int = 0;
            // By default, every synchronization returns free memory to the system, and later allocations map it again.
            let mut release_threshold = u64::MAX;
            // SAFETY: the driver writes the pool, and reads an int and a u64, as documented for the attributes.
            unsafe {
                table.device_default_pool(&mut pool, device)?;
                table.set_pool_attribute(pool, $reuse, (&raw mut reuse_with_waits).cast())?;
                table.set_pool_attribute(pool, $threshold, (&raw mut release_threshold).cast())
            }
        }
    };
}
