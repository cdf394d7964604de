//! The simulator's module image, and the content hash that keys caches: both the serialized kernel.

use serde::{Deserialize, Serialize};

use crate::{
    Offloaded, VerifyError,
    abi::{Form, Passing},
    verify_offloaded,
};

const MAGIC: [u8; 8] = *b"QUADSIM\0";
const VERSION: u32 = 5;

/// What a module is on a simulated device: the kernel and how its functions are called.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct SimImage {
    /// The kernel.
    pub kernel: Offloaded,
    /// Whether its functions check their indices.
    pub form: Form,
    /// How its functions get their arguments.
    pub passing: Passing,
}

/// Why bytes are no image.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ImageError {
    /// The bytes do not begin as an image does.
    #[error("this is not a simulator image")]
    NotAnImage,
    /// The image was made by another version of this crate.
    #[error("the simulator image has version {found}, but this build reads version {VERSION}")]
    Version {
        /// The image's version.
        found: u32,
    },
    /// The bytes after the header make no kernel.
    #[error("the simulator image is damaged: {0}")]
    Damaged(#[from] postcard::Error),
    /// The kernel breaks a rule of the IR.
    #[error("the simulator image holds an invalid kernel: {0}")]
    Invalid(#[from] VerifyError),
}

/// The content hash of a kernel: equal for equal kernels, group numbers included.
#[must_use]
pub fn hash(kernel: &Offloaded) -> [u8; 32] {
    *blake3::hash(&serialize(kernel)).as_bytes()
}

impl SimImage {
    /// The bytes from which [`encoded_len`](Self::encoded_len) tells an image's length.
    pub const HEADER_BYTES: usize = 20;

    /// The image as bytes, which [`decode`](Self::decode) reads: magic, version, the length of the
    /// rest, the rest. The length is there because drivers are given images without one.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let body = serialize(self);
        let length = body.len() as u64;
        [&MAGIC[..], &VERSION.to_le_bytes(), &length.to_le_bytes(), &body].concat()
    }

    /// The length in bytes, header included, of the image that begins with `header`; none where no
    /// image of this version does.
    #[must_use]
    pub fn encoded_len(header: &[u8; Self::HEADER_BYTES]) -> Option<usize> {
        let (version, length) = header.strip_prefix(&MAGIC)?.split_first_chunk()?;
        let length = u64::from_le_bytes(*length.first_chunk()?);
        let length = usize::try_from(length).ok()?.checked_add(Self::HEADER_BYTES)?;
        (u32::from_le_bytes(*version) == VERSION).then_some(length)
    }

    /// Reads an image and verifies its kernel.
    ///
    /// # Errors
    /// One variant of [`ImageError`] per way in which bytes are no valid image.
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
