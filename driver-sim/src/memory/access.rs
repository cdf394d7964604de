//! Reads and writes of simulated operations, in device and pinned memory. Any other access is an [`AccessError`].

use std::ptr;

use super::{AccessKind, BlockState, CachedRange, DEVICE_BASE, Memory, Origin};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct AccessError {
    pub(crate) kind: InvalidAccess,
    pub(crate) address: u64,
    pub(crate) bytes: usize,
    pub(crate) access: AccessKind,
    pub(crate) allocated: Option<Origin>,
    pub(crate) freed: Option<Origin>,
}

/// The kind of an invalid access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum InvalidAccess {
    /// There is and was no device memory at the address.
    Unmapped,
    /// The access begins in a block and ends outside it.
    OutOfBounds,
    /// The block was freed.
    AfterFree,
    /// The block is allocated in stream order by an operation that has not run yet.
    BeforeAlloc,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Uninitialized {
    pub(crate) address: u64,
    pub(crate) bytes: usize,
    pub(crate) allocated: Origin,
}

/// The contents of a range of memory, for a copy.
#[derive(Clone, Debug, Default)]
pub(crate) struct Payload {
    pub(crate) data: Box<[u8]>,
    /// The positions of those that are not initialized, in order.
    pub(crate) undefined: Vec<usize>,
}

impl Memory {
    /// Reads up to 8 bytes as a little-endian number.
    #[inline]
    pub(crate) fn load(&mut self, address: u64, bytes: usize) -> Result<u64, AccessError> {
        if address < DEVICE_BASE {
            return self.load_pinned(address, bytes);
        }
        let (at, offset) = self.span(address, bytes, AccessKind::Read)?;
        self.check_defined(at, offset, bytes);
        let data = &self.blocks[at].data[offset..];
        if bytes == 4
            && let Some(word) = data.first_chunk()
        {
            return Ok(u64::from(u32::from_le_bytes(*word)));
        }
        let mut word = [0; 8];
        word[..bytes].copy_from_slice(&data[..bytes]);
        Ok(u64::from_le_bytes(word))
    }

    /// Writes the low `bytes` bytes of a number.
    #[inline]
    pub(crate) fn store(
        &mut self,
        address: u64,
        bytes: usize,
        bits: u64,
    ) -> Result<(), AccessError> {
        if address < DEVICE_BASE {
            return self.write_pinned(address, &bits.to_le_bytes()[..bytes]);
        }
        let (at, offset) = self.span(address, bytes, AccessKind::Write)?;
        let block = &mut self.blocks[at];
        block.defined.set(offset, bytes);
        let data = &mut block.data[offset..];
        if bytes == 4
            && let Some(word) = data.first_chunk_mut()
        {
            *word = (bits as u32).to_le_bytes();
        } else {
            data[..bytes].copy_from_slice(&bits.to_le_bytes()[..bytes]);
        }
        Ok(())
    }

    /// Reads bytes; records uninitialized ones.
    pub(crate) fn read(&mut self, address: u64, target: &mut [u8]) -> Result<(), AccessError> {
        // Zero bytes may be read from any address, as in drivers.
        if target.is_empty() {
            return Ok(());
        }
        if address < DEVICE_BASE {
            return self.read_pinned(address, target);
        }
        let (at, offset) = self.span(address, target.len(), AccessKind::Read)?;
        self.check_defined(at, offset, target.len());
        target.copy_from_slice(&self.blocks[at].data[offset..offset + target.len()]);
        Ok(())
    }

    pub(crate) fn write(&mut self, address: u64, source: &[u8]) -> Result<(), AccessError> {
        if source.is_empty() {
            return Ok(());
        }
        if address < DEVICE_BASE {
            return self.write_pinned(address, source);
        }
        let (at, offset) = self.span(address, source.len(), AccessKind::Write)?;
        let block = &mut self.blocks[at];
        block.data[offset..offset + source.len()].copy_from_slice(source);
        block.defined.set(offset, source.len());
        Ok(())
    }

    /// Writes a repeated pattern. The length of the pattern divides the length of the range.
    pub(crate) fn fill(
        &mut self,
        address: u64,
        pattern: &[u8],
        bytes: usize,
    ) -> Result<(), AccessError> {
        if bytes == 0 {
            return Ok(());
        }
        if address < DEVICE_BASE {
            return self.write_pinned(address, &pattern.repeat(bytes / pattern.len()));
        }
        let (at, offset) = self.span(address, bytes, AccessKind::Write)?;
        let block = &mut self.blocks[at];
        for chunk in block.data[offset..offset + bytes].chunks_exact_mut(pattern.len()) {
            chunk.copy_from_slice(pattern);
        }
        block.defined.set(offset, bytes);
        Ok(())
    }

    /// Copies bytes together with their initialization state.
    pub(crate) fn copy(&mut self, dst: u64, src: u64, bytes: usize) -> Result<(), AccessError> {
        if bytes == 0 {
            return Ok(());
        }
        if dst < DEVICE_BASE {
            let mut buffer = vec![0; bytes];
            self.read(src, &mut buffer)?;
            return self.write(dst, &buffer);
        }
        let payload = self.take(src, bytes)?;
        self.put(dst, &payload)
    }

    /// Bytes with their initialization state. Pinned memory counts as initialized.
    pub(crate) fn take(&mut self, src: u64, bytes: usize) -> Result<Payload, AccessError> {
        if bytes == 0 {
            return Ok(Payload::default());
        }
        if src < DEVICE_BASE {
            let mut data = vec![0; bytes].into_boxed_slice();
            self.read_pinned(src, &mut data)?;
            return Ok(Payload { data, undefined: Vec::new() });
        }
        let (from, offset) = self.span(src, bytes, AccessKind::Read)?;
        let block = &self.blocks[from];
        let data = block.data[offset..offset + bytes].into();
        let undefined = match block.defined.covers(offset, bytes) {
            true => Vec::new(),
            false => (0..bytes).filter(|i| !block.defined.get(offset + i)).collect(),
        };
        Ok(Payload { data, undefined })
    }

    /// Writes what [`take`](Self::take) returned.
    pub(crate) fn put(
        &mut self,
        dst: u64,
        Payload { data, undefined }: &Payload,
    ) -> Result<(), AccessError> {
        if data.is_empty() {
            return Ok(());
        }
        if dst < DEVICE_BASE {
            return self.write_pinned(dst, data);
        }
        let (to, offset) = self.span(dst, data.len(), AccessKind::Write)?;
        let block = &mut self.blocks[to];
        block.data[offset..offset + data.len()].copy_from_slice(data);
        block.defined.set(offset, data.len());
        for i in undefined {
            block.defined.unset(offset + i, 1);
        }
        Ok(())
    }

    /// Makes bytes uninitialized, as what was written to them is unknown. Pinned memory does not change.
    pub(crate) fn undefine(&mut self, dst: u64, bytes: usize) -> Result<(), AccessError> {
        if bytes > 0 && dst >= DEVICE_BASE {
            let (at, offset) = self.span(dst, bytes, AccessKind::Write)?;
            self.blocks[at].defined.unset(offset, bytes);
        }
        Ok(())
    }

    /// Initialized bytes of a live block, read by no operation.
    pub(crate) fn peek(&self, address: u64, bytes: usize) -> Option<&[u8]> {
        let after = self.blocks.partition_point(|block| block.base <= address);
        let block = &self.blocks[after.checked_sub(1)?];
        let offset = usize::try_from(address - block.base).ok()?;
        let data = block.data.get(offset..offset.checked_add(bytes)?)?;
        block.defined.covers(offset, bytes).then_some(data)
    }

    /// Records a read of uninitialized bytes if it is the operation's first.
    #[inline]
    fn check_defined(&mut self, at: usize, offset: usize, bytes: usize) {
        let block = &self.blocks[at];
        if !block.defined.complete() && !block.defined.covers(offset, bytes) {
            let found = Uninitialized {
                address: block.base + offset as u64,
                bytes,
                allocated: block.allocated,
            };
            self.uninitialized.get_or_insert(found);
        }
    }

    /// The block and offset of an accessible range of device memory.
    #[inline]
    fn span(
        &mut self,
        address: u64,
        bytes: usize,
        access: AccessKind,
    ) -> Result<(usize, usize), AccessError> {
        let inside = |hot: &&CachedRange| {
            hot.base <= address && address < hot.end && bytes as u64 <= hot.end - address
        };
        let found = self.hot.iter().find(inside).map(|hot| (hot.at, (address - hot.base) as usize));
        let (at, offset) = match found {
            Some(found) => found,
            None => self.find(address, bytes, access)?,
        };
        if self.recorder.on {
            self.touch(at, offset, bytes, access);
        }
        Ok((at, offset))
    }

    #[cold]
    fn find(
        &mut self,
        address: u64,
        bytes: usize,
        access: AccessKind,
    ) -> Result<(usize, usize), AccessError> {
        let after = self.blocks.partition_point(|block| block.base <= address);
        let Some(at) = after.checked_sub(1) else {
            return Err(AccessError::unmapped(address, bytes, access));
        };
        let block = &self.blocks[at];
        let offset = address - block.base;
        let kind = if offset >= block.capacity as u64 {
            return Err(AccessError::unmapped(address, bytes, access));
        } else if block.phase == BlockState::Unborn {
            InvalidAccess::BeforeAlloc
        } else if block.phase == BlockState::Freed {
            InvalidAccess::AfterFree
        } else if bytes as u64 > (block.bytes as u64).saturating_sub(offset) {
            InvalidAccess::OutOfBounds
        } else {
            self.hot[self.hot_next] =
                CachedRange { base: block.base, end: block.base + block.bytes as u64, at };
            self.hot_next = (self.hot_next + 1) % self.hot.len();
            return Ok((at, offset as usize));
        };
        let (allocated, freed) = (Some(block.allocated), block.freed);
        Err(AccessError { kind, address, bytes, access, allocated, freed })
    }

    #[cold]
    fn load_pinned(&mut self, address: u64, bytes: usize) -> Result<u64, AccessError> {
        let mut word = [0; 8];
        self.read_pinned(address, &mut word[..bytes])?;
        Ok(u64::from_le_bytes(word))
    }

    fn read_pinned(&mut self, address: u64, target: &mut [u8]) -> Result<(), AccessError> {
        let from = self.pinned_range(address, target.len(), AccessKind::Read)?;
        // SAFETY: the range is inside a live pinned allocation. The program must not access it while an operation uses
        // it, as on a real device.
        unsafe { ptr::copy_nonoverlapping(from.cast_const(), target.as_mut_ptr(), target.len()) };
        Ok(())
    }

    fn write_pinned(&mut self, address: u64, source: &[u8]) -> Result<(), AccessError> {
        let to = self.pinned_range(address, source.len(), AccessKind::Write)?;
        // SAFETY: as in `read_pinned`.
        unsafe { ptr::copy_nonoverlapping(source.as_ptr(), to, source.len()) };
        Ok(())
    }

    fn pinned_range(
        &mut self,
        address: u64,
        bytes: usize,
        access: AccessKind,
    ) -> Result<*mut u8, AccessError> {
        let host = address as usize;
        if self.pinned.contains(host, bytes) {
            if self.recorder.on {
                self.touch_pinned(host, bytes, access);
            }
            return Ok(host as *mut u8);
        }
        let kind = if self.pinned.contains(host, 1) {
            InvalidAccess::OutOfBounds
        } else if self.pinned.freed(host).is_some() {
            InvalidAccess::AfterFree
        } else {
            InvalidAccess::Unmapped
        };
        Err(AccessError { kind, ..AccessError::unmapped(address, bytes, access) })
    }
}

impl AccessError {
    fn unmapped(address: u64, bytes: usize, access: AccessKind) -> Self {
        Self { kind: InvalidAccess::Unmapped, address, bytes, access, allocated: None, freed: None }
    }
}
