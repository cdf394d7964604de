//! The structs that C callers pass.

use std::ffi::{c_int, c_uint};

use crate::{
    collectives::{Status, new_unique_id},
    pointer::Array,
};

/// `ncclUniqueId`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct UniqueId([u8; 128]);

/// The first fields of `ncclConfig_t`. Later versions have more.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Config {
    size: usize,
    magic: c_uint,
    version: c_uint,
    blocking: c_int,
}

/// `NCCL_API_MAGIC`.
const MAGIC: c_uint = 0xcafe_beef;
/// The bytes of the fields that the first version has.
const FIRST_FIELDS: usize = size_of::<usize>() + 3 * size_of::<c_int>();
/// Marks an id as one of the simulator.
const MARK: [u8; 8] = *b"quadrant";

impl UniqueId {
    pub(crate) fn new() -> Self {
        let mut bytes = [0; 128];
        bytes[..8].copy_from_slice(&MARK);
        bytes[8..16].copy_from_slice(&new_unique_id().to_le_bytes());
        Self(bytes)
    }

    pub(crate) fn number(&self) -> Result<u64, Status> {
        let number = self.0[8..].first_chunk().map(|bytes| u64::from_le_bytes(*bytes));
        let own = self.0.starts_with(&MARK) && self.0[16..].iter().all(|byte| *byte == 0);
        number.filter(|_| own).ok_or(Status::INVALID_ARGUMENT)
    }
}

/// Whether a communicator blocks, by its configuration. The pointer may be null.
pub(crate) fn is_blocking(config: &Array<Config>) -> Result<bool, Status> {
    if config.is_null() {
        return Ok(true);
    }
    let config = config.first().map_err(|_| Status::INVALID_ARGUMENT)?;
    if config.magic != MAGIC || config.size < FIRST_FIELDS || config.version == 0 {
        return Err(Status::INVALID_ARGUMENT);
    }
    match config.blocking {
        0 => Ok(false),
        // `NCCL_CONFIG_UNDEF_INT`.
        1 | c_int::MIN => Ok(true),
        _ => Err(Status::INVALID_ARGUMENT),
    }
}
