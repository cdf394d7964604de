//! Wrappers of the pointers that C callers pass, one type per permitted use.
//!
//! Values of these types are only made from parameters of the exported functions. These are unsafe: their callers
//! guarantee that each pointer is null or valid for what its C function does.

use std::{
    ffi::{CStr, c_char, c_void},
    slice,
};

use crate::code::{Code, Result};

/// A location that the function writes a value to.
#[repr(transparent)]
pub(crate) struct Out<T>(*mut T);

/// An array that the function reads.
#[repr(transparent)]
pub(crate) struct Array<T>(*const T);

/// Host memory that a copy reads.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct HostSource(*const c_void);

/// Host memory that a copy writes.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct HostTarget(*mut c_void);

#[repr(transparent)]
pub(crate) struct Text(*const c_char);

/// A launch's `void **kernelParams`: one pointer per parameter.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Parameters(*const *const c_void);

/// A module's image, without a length.
#[repr(transparent)]
pub(crate) struct ImageBytes(*const c_void);

impl<T> Out<T> {
    /// A pointer that the caller passed inside another parameter.
    pub(crate) fn within(pointer: *mut T) -> Self {
        Self(pointer)
    }

    pub(crate) fn set(self, value: T) -> Result<()> {
        if self.0.is_null() {
            return Err(Code::INVALID_VALUE);
        }
        // SAFETY: the caller of the exported function guarantees that the location is writable. Nothing is read from
        // it, so it may be uninitialized.
        unsafe { self.0.write_unaligned(value) };
        Ok(())
    }

    pub(crate) fn set_all(self, values: &[T]) -> Result<()>
    where
        T: Copy,
    {
        for (index, value) in values.iter().enumerate() {
            // The addition cannot wrap for memory that the caller owns.
            Out(self.0.wrapping_add(index)).set(*value)?;
        }
        Ok(())
    }

    /// The location `count` values further on.
    pub(crate) fn offset(&self, count: usize) -> Self {
        Self(self.0.wrapping_add(count))
    }

    pub(crate) fn is_null(&self) -> bool {
        self.0.is_null()
    }
}

impl Out<c_char> {
    /// Writes a C string into `room` bytes, truncated if it is too long.
    pub(crate) fn set_text(self, text: &str, room: usize) -> Result<()> {
        let kept = text.len().min(room.checked_sub(1).ok_or(Code::INVALID_VALUE)?);
        let bytes = text.as_bytes()[..kept].iter().copied().chain([0]);
        let text: Vec<c_char> = bytes.map(|byte| byte as c_char).collect();
        self.set_all(&text)
    }
}

impl<T: Copy> Array<T> {
    /// A pointer that the caller passed inside another parameter.
    pub(crate) fn within(pointer: *const T) -> Self {
        Self(pointer)
    }

    /// An address that the caller passed.
    pub(crate) fn at(address: usize) -> Self {
        Self(std::ptr::with_exposed_provenance(address))
    }

    /// The first `count` elements.
    pub(crate) fn read(&self, count: usize) -> Result<Vec<T>> {
        if count == 0 {
            return Ok(Vec::new());
        }
        if self.0.is_null() {
            return Err(Code::INVALID_VALUE);
        }
        // SAFETY: the caller guarantees `count` elements; each is read unaligned.
        Ok((0..count).map(|i| unsafe { self.0.add(i).read_unaligned() }).collect())
    }

    pub(crate) fn is_null(&self) -> bool {
        self.0.is_null()
    }

    pub(crate) fn first(&self) -> Result<T> {
        self.read(1)?.first().copied().ok_or(Code::INVALID_VALUE)
    }
}

impl HostSource {
    pub(crate) fn address(self) -> usize {
        self.0 as usize
    }

    /// The memory `count` bytes further on.
    pub(crate) fn offset(self, count: usize) -> Self {
        Self(self.0.wrapping_byte_add(count))
    }

    /// The bytes, during the call.
    pub(crate) fn bytes(&self, count: usize) -> Result<&[u8]> {
        match (count, self.0.is_null()) {
            (0, _) => Ok(&[]),
            (_, true) => Err(Code::INVALID_VALUE),
            // SAFETY: the caller guarantees `count` readable bytes that do not change during the call, and the slice
            // borrows the parameter, which the call owns.
            (_, false) => Ok(unsafe { slice::from_raw_parts(self.0.cast(), count) }),
        }
    }
}

impl HostTarget {
    /// An address that the caller passed.
    pub(crate) fn at(address: usize) -> Self {
        Self(std::ptr::with_exposed_provenance_mut(address))
    }

    pub(crate) fn address(self) -> usize {
        self.0 as usize
    }

    /// The memory `count` bytes further on.
    pub(crate) fn offset(self, count: usize) -> Self {
        Self(self.0.wrapping_byte_add(count))
    }

    /// The bytes, during the call.
    pub(crate) fn bytes(&mut self, count: usize) -> Result<&mut [u8]> {
        match (count, self.0.is_null()) {
            (0, _) => Ok(&mut []),
            (_, true) => Err(Code::INVALID_VALUE),
            // SAFETY: the caller guarantees `count` writable bytes that nothing else accesses during the call, and the
            // slice borrows the parameter, which the call owns.
            (_, false) => Ok(unsafe { slice::from_raw_parts_mut(self.0.cast(), count) }),
        }
    }
}

impl Text {
    pub(crate) fn read(&self) -> Result<&str> {
        if self.0.is_null() {
            return Err(Code::INVALID_VALUE);
        }
        // SAFETY: the caller guarantees a C string that is valid during the call.
        unsafe { CStr::from_ptr(self.0) }.to_str().map_err(|_| Code::NOT_FOUND)
    }
}

impl Parameters {
    /// The first parameter, as `count` words.
    pub(crate) fn words(self, count: usize) -> Result<Vec<u64>> {
        let first = Array(self.0).first()?;
        Array(first.cast::<u64>()).read(count)
    }
}

impl ImageBytes {
    /// The first `count` bytes: the size of the header, or the size that the header states.
    pub(crate) fn bytes(&self, count: usize) -> Result<&[u8]> {
        if self.0.is_null() {
            return Err(Code::INVALID_VALUE);
        }
        // SAFETY: the caller guarantees an image, which is at least as long as its header, and whose header states the
        // length that is requested next.
        Ok(unsafe { slice::from_raw_parts(self.0.cast(), count) })
    }
}
