//! [`UniqueId`]: by which the ranks of a communicator find each other.

use std::{
    fmt, process,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
};

use crate::{Error, Library, Result, table::RawUniqueId};

/// An id of a new communicator: one rank makes it, and the others receive a copy, on another thread or in another
/// process. Each communicator needs its own.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct UniqueId([u8; 128]);

/// What an id stands for.
pub(crate) enum Id {
    Library(RawUniqueId),
    /// Of a communicator on the CPU.
    Local(u64),
}

/// The first bytes of an id of the CPU. Those of a library begin with the address of a socket.
const LOCAL: &[u8; 16] = b"quadrants: local";

static NEXT: AtomicU64 = AtomicU64::new(0);

impl UniqueId {
    pub(crate) fn new(library: Option<&Library>) -> Result<Self> {
        let mut bytes = [0; 128];
        match library {
            Some(library) => {
                let mut id = RawUniqueId(bytes);
                // SAFETY: it writes an id.
                unsafe { library.table().unique_id(&mut id) }?;
                bytes = id.0;
            }
            None => {
                bytes[..16].copy_from_slice(LOCAL);
                bytes[16..20].copy_from_slice(&process::id().to_le_bytes());
                bytes[24..32].copy_from_slice(&NEXT.fetch_add(1, Relaxed).to_le_bytes());
            }
        }
        Ok(Self(bytes))
    }

    /// The bytes, for another process.
    #[must_use]
    pub fn to_bytes(self) -> [u8; 128] {
        self.0
    }

    /// An id from the bytes of another process.
    ///
    /// # Errors
    /// [`Error::OtherProcess`] if the id is of a communicator on the CPU in another process.
    /// [`Error::Id`] if it has not 128 bytes.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let bytes: [u8; 128] = bytes.try_into().map_err(|_| Error::Id { bytes: bytes.len() })?;
        if bytes.starts_with(LOCAL) && bytes[16..20] != process::id().to_le_bytes() {
            return Err(Error::OtherProcess);
        }
        Ok(Self(bytes))
    }

    pub(crate) fn id(&self) -> Id {
        match self.0.starts_with(LOCAL) {
            true => {
                let mut number = [0; 8];
                number.copy_from_slice(&self.0[24..32]);
                Id::Local(u64::from_le_bytes(number))
            }
            false => Id::Library(RawUniqueId(self.0)),
        }
    }
}

impl fmt::Debug for UniqueId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UniqueId").finish_non_exhaustive()
    }
}
