//! The module image of the simulator, and the content hash that keys the caches. Both are made from the serialized
//! kernel.

use serde::{Deserialize, Serialize};

use crate::{
    Offloaded, VerifyError,
    abi::{Forms, Passing},
    verify_offloaded,
};

const MAGIC: [u8; 8] = *b"QUADSIM\0";
const VERSION: u32 = 6;

/// The module image of a simulated device: the kernel, and how its functions are called.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct SimImage {
    /// The kernel.
    pub kernel: Offloaded,
    /// Which of its functions check indices.
    pub forms: Forms,
    /// How its functions receive their arguments.
    pub passing: Passing,
}

/// Why bytes are not a valid image.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ImageError {
    /// The bytes do not begin with the magic number of an image.
    #[error(
        "this is not a simulator image; help: use an image that the compiler of the simulator made"
    )]
    NotAnImage,
    /// The image has another format version.
    #[error(
        "the simulator image has version {found}, but this build reads version {VERSION}; help: compile it again"
    )]
    Version {
        /// The version of the image.
        found: u32,
    },
    /// The bytes after the header do not decode to a kernel.
    #[error("the simulator image is damaged and must be compiled again: {0}")]
    Damaged(#[from] postcard::Error),
    /// The kernel breaks a rule of the IR.
    #[error(
        "the kernel of the simulator image is invalid: {0}; help: this is a bug in quadrants, report it with the kernel"
    )]
    Invalid(#[from] VerifyError),
}

/// The content hash of a kernel, including the group numbers.
#[must_use]
pub fn hash(kernel: &Offloaded) -> [u8; 32] {
    *blake3::hash(&serialize(kernel)).as_bytes()
}

impl SimImage {
    /// The number of bytes that [`encoded_len`](Self::encoded_len) needs.
    pub const HEADER_BYTES: usize = 20;

    /// Encodes the image: magic number, format version, length of the rest, the serialized rest. The length is included
    /// because drivers receive images without one.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let body = serialize(self);
        let length = body.len() as u64;
        [&MAGIC[..], &VERSION.to_le_bytes(), &length.to_le_bytes(), &body].concat()
    }

    /// The length in bytes, header included, of the image with this header. None if the header is not of an image of
    /// this version.
    #[must_use]
    pub fn encoded_len(header: &[u8; Self::HEADER_BYTES]) -> Option<usize> {
        let (version, length) = header.strip_prefix(&MAGIC)?.split_first_chunk()?;
        let length = u64::from_le_bytes(*length.first_chunk()?);
        let length = usize::try_from(length).ok()?.checked_add(Self::HEADER_BYTES)?;
        (u32::from_le_bytes(*version) == VERSION).then_some(length)
    }

    /// Decodes an image and verifies its kernel.
    ///
    /// # Errors
    /// A variant of [`ImageError`] for each kind of invalid image.
    pub fn decode(bytes: &[u8]) -> Result<Self, ImageError> {
        let rest = bytes.strip_prefix(&MAGIC).ok_or(ImageError::NotAnImage)?;
        let (version, rest) = rest.split_first_chunk().ok_or(ImageError::NotAnImage)?;
        let found = u32::from_le_bytes(*version);
        if found != VERSION {
            return Err(ImageError::Version { found });
        }
        let (length, rest) = rest.split_first_chunk().ok_or(ImageError::NotAnImage)?;
        let length = usize::try_from(u64::from_le_bytes(*length)).ok();
        let body = length.and_then(|length| rest.get(..length));
        let image: Self = postcard::from_bytes(body.unwrap_or_default())?;
        verify_offloaded(&image.kernel)?;
        Ok(image)
    }
}

fn serialize(value: &impl Serialize) -> Vec<u8> {
    postcard::to_stdvec(value).expect("plain data always serializes into memory")
}
