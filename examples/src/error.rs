//! Errors of the examples, each printed in one line.

use std::{io, path::PathBuf};

use quadrants as qd;

/// The result of an example's functions.
pub type Result<T> = std::result::Result<T, Error>;

/// Why a run failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The command line is wrong.
    #[error("{0}")]
    Usage(String),
    /// The simulation cannot be made in this size.
    #[error("the size {size} is not within {smallest} to {largest}")]
    Size {
        /// The requested size.
        size: usize,
        /// The smallest size.
        smallest: usize,
        /// The largest size.
        largest: usize,
    },
    /// The folder for the pictures is not usable.
    #[error("cannot write into the folder {path}: {source}")]
    Folder {
        /// The folder.
        path: PathBuf,
        /// The error of the file.
        source: io::Error,
    },
    /// A picture cannot be written.
    #[error("cannot write {path}: {source}")]
    Write {
        /// The picture.
        path: PathBuf,
        /// The error of the image library.
        source: image::ImageError,
    },
    /// The trace of a run, or its picture, cannot be written.
    #[error("cannot write {path}: {source}")]
    Trace {
        /// The file.
        path: PathBuf,
        /// The error of the file.
        source: io::Error,
    },
    /// The requested device does not exist on this machine.
    #[error("the device {device} is not usable: {source}")]
    Open {
        /// The device.
        device: &'static str,
        /// The error of the program.
        source: Box<qd::Error>,
    },
    /// A collective operation failed, or the devices did not find each other.
    #[error("the devices did not work together: {source}")]
    Collective {
        /// The error of the communicator.
        source: Box<qd::collectives::Error>,
    },
    /// An operation of the device failed.
    #[error("the work on the device failed: {source}")]
    Device {
        /// The error of the program.
        source: Box<qd::Error>,
    },
}

impl Error {
    /// The error with its causes, in one line.
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
