//! Why there is no picture, in one line.

use std::{io, path::PathBuf};

use quadrants as qd;

/// What an example's functions give.
pub type Result<T> = std::result::Result<T, Error>;

/// Why there is no picture.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The command line is wrong.
    #[error("{0}")]
    Usage(String),
    /// The simulation cannot be made in this size.
    #[error("the size {size} is not within {smallest} to {largest}")]
    Size {
        /// What was asked for.
        size: usize,
        /// What there must be.
        smallest: usize,
        /// What memory and patience allow.
        largest: usize,
    },
    /// The folder for the pictures is not usable.
    #[error("cannot write into the folder {path}: {source}")]
    Folder {
        /// The folder.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A picture cannot be written.
    #[error("cannot write {path}: {source}")]
    Write {
        /// The picture.
        path: PathBuf,
        /// Why.
        source: image::ImageError,
    },
    /// There is no such device here.
    #[error("the device {device} is not usable: {source}")]
    Open {
        /// The device.
        device: &'static str,
        /// Why.
        source: Box<qd::Error>,
    },
    /// The device refused or failed.
    #[error("the work on the device failed: {source}")]
    Device {
        /// Why.
        source: Box<qd::Error>,
    },
}

impl Error {
    /// The error, which names its causes, in one line.
    #[must_use]
    pub fn one_line(&self) -> String {
        let text = self.to_string();
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }
}

impl From<qd::Error> for Error {
    fn from(source: qd::Error) -> Self {
        Self::Device { source: Box::new(source) }
    }
}
