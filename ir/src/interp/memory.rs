//! The memory that the interpreter accesses, and its errors.

use crate::ScalarType;

/// Memory as seen by tasks: byte addresses, little-endian values.
///
/// Both methods are called with 1, 2, 4 or 8 bytes. They should be inlined.
pub trait Memory {
    /// Reads `bytes` bytes, zero-extended.
    ///
    /// # Errors
    /// [`ExecFault::Address`] if the bytes cannot be read.
    fn load(&mut self, address: u64, bytes: usize) -> Result<u64, ExecFault>;

    /// Writes the low `bytes` bytes of `bits`.
    ///
    /// # Errors
    /// [`ExecFault::Address`] if the bytes cannot be written.
    fn store(&mut self, address: u64, bytes: usize, bits: u64) -> Result<(), ExecFault>;
}

/// Why execution of a task stopped.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExecFault {
    /// An access to an invalid address.
    #[error("illegal {} of {bytes} bytes at address {address:#x}", if *.write { "write" } else { "read" })]
    Address {
        /// The address of the first byte.
        address: u64,
        /// The number of bytes.
        bytes: usize,
        /// Whether it was a write.
        write: bool,
    },
    /// The fuel limit was reached.
    #[error(
        "the task ran more loop iterations than its fuel limit; help: look for an endless loop, or raise the limit (`Interpreter::with_fuel`, or `World::set_fuel` of the simulator)"
    )]
    OutOfFuel,
    /// The argument block is too short for the kernel's parameters.
    #[error("the argument block has {found} words, but the kernel needs {needed}")]
    Arguments {
        /// The required number of words.
        needed: usize,
        /// The actual number of words.
        found: usize,
    },
    /// The kernel has no task with this id.
    #[error("the kernel has no task {task}")]
    NoTask {
        /// The id.
        task: u32,
    },
}

/// Memory made of byte vectors at fixed addresses, for tests.
///
/// # Examples
/// ```
/// use quadrants_ir::interp::{Memory, SliceMemory};
/// let mut memory = SliceMemory::new();
/// memory.insert(0x1000, vec![0; 16]);
/// memory.store(0x1008, 4, 7).unwrap();
/// assert_eq!(memory.load(0x1008, 8).unwrap(), 7);
/// assert!(memory.load(0x1010, 1).is_err());
/// ```
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SliceMemory {
    /// Sorted by address.
    regions: Vec<(u64, Vec<u8>)>,
}

/// The type of an element, which determines its size and encoding.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Size {
    /// A bool: any nonzero byte is true.
    Bool,
    One,
    Two,
    Four,
    Eight,
}

impl SliceMemory {
    /// Empty memory.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Places `bytes` at `address`, replacing a vector that begins there.
    pub fn insert(&mut self, address: u64, bytes: Vec<u8>) {
        let at = self.regions.partition_point(|(start, _)| *start < address);
        match self.regions.get_mut(at) {
            Some((start, old)) if *start == address => *old = bytes,
            _ => self.regions.insert(at, (address, bytes)),
        }
    }

    /// The current contents of the vector at `address`.
    #[must_use]
    pub fn bytes(&self, address: u64) -> Option<&[u8]> {
        self.regions.iter().find(|(start, _)| *start == address).map(|(_, bytes)| &bytes[..])
    }

    fn find(&mut self, address: u64, bytes: usize) -> Option<&mut [u8]> {
        let after = self.regions.partition_point(|(start, _)| *start <= address);
        let (start, region) = self.regions[..after].last_mut()?;
        let offset = usize::try_from(address - *start).ok()?;
        region.get_mut(offset..offset.checked_add(bytes)?)
    }
}

impl Memory for SliceMemory {
    #[inline]
    fn load(&mut self, address: u64, bytes: usize) -> Result<u64, ExecFault> {
        let found = self.find(address, bytes);
        let found = found.ok_or(ExecFault::Address { address, bytes, write: false })?;
        let mut word = [0; 8];
        word[..bytes].copy_from_slice(found);
        Ok(u64::from_le_bytes(word))
    }

    #[inline]
    fn store(&mut self, address: u64, bytes: usize, bits: u64) -> Result<(), ExecFault> {
        let found = self.find(address, bytes);
        let found = found.ok_or(ExecFault::Address { address, bytes, write: true })?;
        found.copy_from_slice(&bits.to_le_bytes()[..bytes]);
        Ok(())
    }
}

impl Size {
    pub(super) const fn of(ty: ScalarType) -> Self {
        match ty.size() {
            1 if matches!(ty, ScalarType::Bool) => Self::Bool,
            1 => Self::One,
            2 => Self::Two,
            4 => Self::Four,
            _ => Self::Eight,
        }
    }

    #[inline(always)]
    pub(super) const fn bytes(self) -> usize {
        match self {
            Self::Bool | Self::One => 1,
            Self::Two => 2,
            Self::Four => 4,
            Self::Eight => 8,
        }
    }
}
