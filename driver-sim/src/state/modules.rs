//! Loads modules and looks up their functions.

use std::sync::Arc;

use quadrants_ir::SimImage;

use super::WorldState;
use crate::{
    code::{Code, Result},
    handle::{HandleKind, Key, encode},
    launch::{KernelLaunch, Module},
    op::{OpKind, Work},
    pointer::ImageBytes,
    stream::StreamRef,
};

impl WorldState {
    /// Loads a module of an image as C callers pass it.
    pub(crate) fn load_image(&mut self, image: &ImageBytes) -> Result<usize, String> {
        let header = image.bytes(SimImage::HEADER_BYTES).map_err(|_| "there is no image")?;
        let length = header.first_chunk().and_then(SimImage::encoded_len);
        // The length is unknown, so only the header may be read; an invalid header is an error.
        let image = image.bytes(length.unwrap_or(header.len())).map_err(|_| "there is no image")?;
        let image = SimImage::decode(image).map_err(|error| error.to_string())?;
        let module = Module::new(image, self.fuel);
        let key = self.modules.insert(module).map_err(|_| "too many modules")?;
        self.creates.modules += 1;
        Ok(encode(HandleKind::Module, self.ordinal, key))
    }

    pub(crate) fn unload_module(&mut self, module: Key) -> Result<()> {
        let module = self.modules.remove(module)?;
        module.unload();
        self.functions.retain(|function| !module.has(function));
        Ok(())
    }

    pub(crate) fn function(&mut self, module: Key, name: &str, max_shared: u32) -> Result<usize> {
        let function =
            self.modules.get(module)?.function(name, max_shared).ok_or(Code::NOT_FOUND)?;
        Ok(encode(HandleKind::Function, self.ordinal, self.functions.insert(function)?))
    }

    pub(crate) fn launch(&mut self, launch: KernelLaunch, stream: StreamRef) -> Result<()> {
        let kind = OpKind::Launch(Arc::clone(launch.name()));
        self.enqueue(stream, Work::Launch(launch), kind, &[], None).map(drop)
    }
}
