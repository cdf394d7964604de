//! The `Debug` text of tensors: shape, layout and the first elements.
//!
//! It never waits for work of a stream and never panics. Where the elements cannot be read now, it says why.

use std::fmt;

use quadrants_ir::Const;

use super::{Elements, Tensor};
use crate::{state::device_tensor::DeviceTensor, thread_state::capture, value::layout::count};

/// How many elements are shown.
const MAX_SHOWN_ELEMENTS: usize = 8;

/// The first elements of a tensor, or why they are not shown.
enum ElementPreview {
    Elements { first: Vec<Vec<Const>>, more: bool },
    InFlight,
    Captured,
    Moved,
    Failed(String),
}

impl<T, const N: usize> fmt::Debug for Tensor<T, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = f.debug_struct("Tensor");
        text.field("element", &format_args!("{}", std::any::type_name::<T>()));
        text.field("shape", &self.shape);
        if !self.is_contiguous() {
            text.field("strides", &self.strides());
        }
        text.field("address", &format_args!("{:#x}", self.address()));
        match &self.elements {
            Elements::Device(device_tensor) => text
                .field("layout", &device_tensor.storage.layout())
                .field("elements", &device_tensor.preview(count(&self.shape)))
                .finish(),
            Elements::Host(array) => text.field("host_array", array).finish(),
        }
    }
}

impl DeviceTensor {
    /// The first of `count` elements, if no work that writes them is in flight. Waits for no work but the copy.
    fn preview(&self, count: usize) -> ElementPreview {
        let shared = &self.program.shared;
        if self.usability.check_address().is_err() {
            return ElementPreview::Moved;
        }
        if capture::is_active() {
            return ElementPreview::Captured;
        }
        let shown = count.min(MAX_SHOWN_ELEMENTS);
        let host_storage = self.storage.resized(shown);
        let mut memory = vec![0; host_storage.bytes];
        // Held while a kernel runs on the CPU, perhaps by a frame below this one.
        let Some(_exclusion) = shared.host_exclusion.try_lock(|| self.buffer.is_shared()) else {
            return ElementPreview::InFlight;
        };
        for span in self.spans(&host_storage) {
            let part = &mut memory[span.host..][..span.bytes];
            match self.buffer.read_if_complete(span.device, part) {
                Ok(true) => {}
                Ok(false) => return ElementPreview::InFlight,
                Err(error) => return ElementPreview::Failed(error.to_string()),
            }
        }
        ElementPreview::Elements { first: host_storage.scalars(&memory), more: shown < count }
    }
}

impl fmt::Debug for ElementPreview {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (first, more) = match self {
            Self::InFlight => return f.write_str("(work that writes them is in flight)"),
            Self::Captured => return f.write_str("(not read during a capture)"),
            Self::Moved => return f.write_str("(moved out of its slice)"),
            Self::Failed(error) => return write!(f, "(not readable: {error})"),
            Self::Elements { first, more } => (first, more),
        };
        f.write_str("[")?;
        for (at, element) in first.iter().enumerate() {
            f.write_str(if at > 0 { ", " } else { "" })?;
            match &element[..] {
                [scalar] => write_scalar(f, scalar)?,
                scalars => {
                    for (number, scalar) in scalars.iter().enumerate() {
                        f.write_str(if number > 0 { ", " } else { "(" })?;
                        write_scalar(f, scalar)?;
                    }
                    f.write_str(")")?;
                }
            }
        }
        f.write_str(if *more { ", …]" } else { "]" })
    }
}

/// Writes a scalar without its type, which the text of a constant ends in.
fn write_scalar(f: &mut fmt::Formatter<'_>, scalar: &Const) -> fmt::Result {
    let text = format!("{scalar:?}");
    f.write_str(text.strip_suffix(&scalar.ty().to_string()).unwrap_or(&text))
}
