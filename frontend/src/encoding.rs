//! The bytes of a syntax tree, as the macros embed them.

use crate::{Error, syntax::Function};

impl Function {
    /// The tree as bytes, as the macro embeds them.
    ///
    /// # Errors
    /// [`Error::Tree`] where the serializer refuses.
    pub fn encode(&self) -> Result<Vec<u8>, Error> {
        postcard::to_stdvec(self).map_err(|source| Error::Tree { source })
    }

    /// The tree that [`encode`](Self::encode) made.
    ///
    /// # Errors
    /// [`Error::Tree`] where the bytes are not such a tree.
    pub fn decode(bytes: &[u8]) -> Result<Self, Error> {
        postcard::from_bytes(bytes).map_err(|source| Error::Tree { source })
    }
}
