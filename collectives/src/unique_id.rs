//! [`UniqueId`]: by which the ranks of a communicator find each other.

use std::{
    fmt, process,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
};

use crate::{Error, Library, Result, table::RawUniqueId};

/// An id of a new communicator: one rank makes it, and the others receive a copy on their threads. Each communicator
/// needs its own.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct UniqueId([u8; 128]);

/// What an id stands for.
pub(crate) enum Id {
    Library(RawUniqueId),
    /// Of a communicator on the CPU.
    Local,
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

    /// An id from the bytes of another process. [`Communicator::join`](crate::Communicator::join) needs none, and is
    /// safe.
    ///
    /// # Errors
    /// [`Error::OtherProcess`] if the id is of a communicator on the CPU in another process.
    /// [`Error::Id`] if it has not 128 bytes.
    ///
    /// # Safety
    /// - The bytes are those that [`to_bytes`](Self::to_bytes) returned in a process of the same run.
    /// - The calls of the ranks that join with this id in different processes match, because nothing compares them: all
    ///   ranks call the same collective operations in the same order, in the same groups, with the same number and type
    ///   of elements, the same reduction and the same root; and each send has a receive of as many elements of that
    ///   type, in the same order for each pair of ranks. Else NCCL may write outside of the tensors of any rank. (A
    ///   rank may make fewer calls: the others end by their time limit.)
    pub unsafe fn from_bytes(bytes: &[u8]) -> Result<Self> {
        Self::parse(bytes)
    }

    /// See [`from_bytes`](Self::from_bytes).
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self> {
        let bytes: [u8; 128] = bytes.try_into().map_err(|_| Error::Id { bytes: bytes.len() })?;
        if bytes.starts_with(LOCAL) && bytes[16..20] != process::id().to_le_bytes() {
            return Err(Error::OtherProcess);
        }
        Ok(Self(bytes))
    }

    pub(crate) fn id(&self) -> Id {
        match self.0.starts_with(LOCAL) {
            true => Id::Local,
            false => Id::Library(RawUniqueId(self.0)),
        }
    }
}

impl fmt::Debug for UniqueId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UniqueId").finish_non_exhaustive()
    }
}
