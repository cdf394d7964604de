//! The loaded images of a kernel: one for each value of [`Forms`] that its launches had.

use std::{cell::Cell, sync::OnceLock};

use parking_lot::ReentrantMutex;
use quadrants_ir::{Offloaded, abi::Forms, schedule::schedule};

use crate::{Error, Result, kernel::loader::LoadedImage};

/// The most images with other forms than [`Forms::NARROW`] and [`Forms::CHECKED`]. Launches that would need more use
/// the image in which all tasks are checked.
const MAX_OTHER_IMAGES: usize = 6;

/// The images of a kernel, loaded when they are first needed.
#[derive(Default)]
pub(crate) struct Images {
    narrow: Image,
    checked: Image,
    others: [OtherImage; MAX_OTHER_IMAGES],
}

#[derive(Default)]
struct OtherImage {
    forms: OnceLock<Forms>,
    image: Image,
    /// Whether there is neither an image nor a compiler for one.
    missing: OnceLock<()>,
}

#[derive(Default)]
struct Image {
    /// The kernel as it is compiled for a device.
    scheduled: OnceLock<Offloaded>,
    loaded: OnceLock<LoadedImage>,
    /// Held while the image is loaded, so that it is loaded once; true while its thread loads.
    loading: ReentrantMutex<Cell<bool>>,
}

impl Images {
    /// Whether any image is loaded.
    pub(super) fn any_loaded(&self) -> bool {
        let all = [&self.narrow, &self.checked].into_iter();
        let mut all = all.chain(self.others.iter().map(|other| &other.image));
        all.any(|image| image.loaded.get().is_some())
    }

    /// The image for these forms, if it is loaded.
    #[inline(always)]
    pub(crate) fn get(&self, forms: Forms) -> Option<&LoadedImage> {
        self.image(forms).loaded.get()
    }

    /// The image for these forms. Where it is not loaded yet, it is the value of `load`.
    ///
    /// # Errors
    /// That of `load`, and [`Error::NestedCompilation`] where `load` needs the same image of the kernel.
    #[inline(always)]
    pub(super) fn get_or_load(
        &self,
        forms: Forms,
        kernel: &str,
        load: impl FnOnce() -> Result<LoadedImage>,
    ) -> Result<&LoadedImage> {
        let image = self.image(forms);
        match image.loaded.get() {
            Some(loaded) => Ok(loaded),
            None => image.load(kernel, load),
        }
    }

    /// The forms of the image that a launch with the forms `wanted` uses: those, or all checked where there is no such
    /// image. `load` loads an image.
    ///
    /// # Errors
    /// As [`get_or_load`](Self::get_or_load).
    pub(super) fn choose(
        &self,
        wanted: Forms,
        kernel: &str,
        load: impl FnOnce() -> Result<LoadedImage>,
    ) -> Result<Forms> {
        if matches!(wanted, Forms::NARROW | Forms::CHECKED) {
            return Ok(wanted);
        }
        // Slots are taken in order, and never freed.
        let of = |other: &&OtherImage| *other.forms.get_or_init(|| wanted) == wanted;
        let Some(other) = self.others.iter().find(of) else { return Ok(Forms::CHECKED) };
        if other.missing.get().is_some() {
            return Ok(Forms::CHECKED);
        }
        match self.get_or_load(wanted, kernel, load) {
            Ok(_) => Ok(wanted),
            Err(error) if error.has_no_compiler() => {
                other.missing.get_or_init(|| ());
                Ok(Forms::CHECKED)
            }
            Err(error) => Err(error),
        }
    }

    /// The kernel as it is compiled for a device in these forms, which [`choose`](Self::choose) returned.
    pub(super) fn scheduled(&self, forms: Forms, kernel: &Offloaded) -> &Offloaded {
        self.image(forms).scheduled.get_or_init(|| schedule(kernel, forms))
    }

    /// The image for these forms: where it has no slot, the one in which all tasks are checked, which serves all
    /// launches.
    #[inline(always)]
    fn image(&self, forms: Forms) -> &Image {
        if forms == Forms::NARROW { &self.narrow } else { self.other_image(forms) }
    }

    fn other_image(&self, forms: Forms) -> &Image {
        let other = self.others.iter().find(|other| other.forms.get() == Some(&forms));
        other.map_or(&self.checked, |other| &other.image)
    }
}

impl Image {
    #[cold]
    fn load(
        &self,
        kernel: &str,
        load: impl FnOnce() -> Result<LoadedImage>,
    ) -> Result<&LoadedImage> {
        let loading = self.loading.lock();
        if let Some(loaded) = self.loaded.get() {
            return Ok(loaded);
        }
        // The thread has the lock already: a compiler launches the kernel that it compiles.
        if loading.replace(true) {
            return Err(Error::NestedCompilation { kernel: kernel.to_owned() });
        }
        let loaded = load();
        loading.set(false);
        let loaded = loaded?;
        Ok(self.loaded.get_or_init(|| loaded))
    }
}
