//! The secret of a run, and the file with the user's secret for runs on one machine.

use std::fmt;

#[cfg(not(unix))]
use super::Error;
use super::Result;

/// What all processes of a run know, and nobody else. Only a key derived from it is kept.
#[derive(Clone)]
pub struct Secret {
    key: [u8; 32],
}

impl Secret {
    /// Makes a secret from a text or from bytes. `None` if there are none.
    pub fn new(text: impl AsRef<[u8]>) -> Option<Self> {
        let text = text.as_ref();
        let context = "quadrants-collectives 2026-01-01 rendezvous secret";
        (!text.is_empty()).then(|| Self { key: blake3::derive_key(context, text) })
    }

    /// The key of the MACs of the handshake.
    pub(crate) fn key(&self) -> &[u8; 32] {
        &self.key
    }

    /// The secret in the user's file, which the first process makes.
    #[cfg(unix)]
    pub(crate) fn of_user() -> Result<Self> {
        file::read_or_create(&std::env::temp_dir())
    }

    /// There is no such file on this system.
    #[cfg(not(unix))]
    pub(crate) fn of_user() -> Result<Self> {
        let reason = "this system has no files with a Unix mode".into();
        Err(Error::SecretFile { path: std::env::temp_dir(), reason })
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

#[cfg(unix)]
pub(crate) mod file {
    //! A folder and a file that only the user can access. The checks of the folder are enough in a temporary folder
    //! with the sticky bit, in which nobody else can replace it.

    use std::fs::{self, DirBuilder, File, Metadata, OpenOptions};
    use std::io::{ErrorKind, Read, Write};
    use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
    use std::path::Path;

    use crate::bootstrap::{Error, Result, Secret};

    const LENGTH: usize = 32;

    /// Reads `quadrants-UID/rendezvous-secret` in `base`, and makes it if it is not there.
    pub(crate) fn read_or_create(base: &Path) -> Result<Secret> {
        let user = rustix::process::geteuid().as_raw();
        let folder = base.join(format!("quadrants-{user}"));
        let fail = |reason: String| Error::SecretFile { path: folder.clone(), reason };
        match DirBuilder::new().mode(0o700).create(&folder) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => {
                return Err(fail(error.to_string()));
            }
            _ => {}
        }
        let metadata =
            fs::symlink_metadata(&folder).map_err(|error| fail(format!("its folder: {error}")))?;
        if !metadata.is_dir() {
            return Err(fail("it is not a folder".into()));
        }
        check_private(&metadata, user).map_err(fail)?;

        let path = folder.join("rendezvous-secret");
        let fail = |reason: String| Error::SecretFile { path: path.clone(), reason };
        // Another process may make the file, or remove it, between two steps.
        for _ in 0..8 {
            match File::open(&path) {
                Ok(file) => return read(file, user).map_err(fail),
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) => return Err(fail(error.to_string())),
            }
            create(&path).map_err(|error| fail(error.to_string()))?;
        }
        Err(fail("it disappears".into()))
    }

    /// Makes the file with all its bytes in one step, unless it exists.
    fn create(path: &Path) -> std::io::Result<()> {
        let mut bytes = [0; LENGTH + 8];
        getrandom::fill(&mut bytes)?;
        let (secret, name) = bytes.split_at(LENGTH);
        let name: String = name.iter().map(|byte| format!("{byte:02x}")).collect();
        let draft = path.with_extension(name);
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&draft)?;
        let written = file.write_all(secret).and_then(|()| fs::hard_link(&draft, path));
        fs::remove_file(&draft)?;
        match written {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(error),
            _ => Ok(()),
        }
    }

    fn read(file: File, user: u32) -> Result<Secret, String> {
        let metadata = file.metadata().map_err(|error| error.to_string())?;
        if !metadata.is_file() {
            return Err("it is not a file".into());
        }
        check_private(&metadata, user)?;
        let mut bytes = Vec::new();
        file.take(LENGTH as u64 + 1).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
        if bytes.len() != LENGTH {
            return Err(format!("it does not have {LENGTH} bytes"));
        }
        Secret::new(bytes).ok_or_else(|| "it is empty".into())
    }

    fn check_private(metadata: &Metadata, user: u32) -> Result<(), String> {
        if metadata.uid() != user {
            return Err(format!("it belongs to user {}, not to {user}", metadata.uid()));
        }
        match metadata.mode() & 0o777 {
            mode if mode & 0o077 == 0 => Ok(()),
            mode => Err(format!("other users may access it (mode {mode:o})")),
        }
    }
}
