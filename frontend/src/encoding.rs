//! Serialization of syntax trees; the macros embed the bytes in emitted code.

use crate::{Error, syntax::Function};

impl Function {
    /// Serializes the tree.
    ///
    /// # Errors
    /// [`Error::Tree`] if serialization fails.
    pub fn encode(&self) -> Result<Vec<u8>, Error> {
        postcard::to_stdvec(self).map_err(|source| Error::Tree { source })
    }

    /// Deserializes a tree that [`encode`](Self::encode) serialized.
    ///
    /// # Errors
    /// [`Error::Tree`] if the bytes are not a valid tree.
    pub fn decode(bytes: &[u8]) -> Result<Self, Error> {
        postcard::from_bytes(bytes).map_err(|source| Error::Tree { source })
    }
}
