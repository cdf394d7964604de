//! The user's secret file.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;

use super::{joined, listener};
use crate::bootstrap::secret::file::read_or_create;
use crate::bootstrap::{Error, ProcessGroup, RankConfig, Secret};

/// A folder with a secret file, and the path of the latter.
fn folder() -> (tempfile::TempDir, PathBuf) {
    let base = tempfile::tempdir().unwrap();
    read_or_create(base.path()).unwrap();
    let user = rustix::process::geteuid().as_raw();
    let path = base.path().join(format!("quadrants-{user}/rendezvous-secret"));
    (base, path)
}

#[test]
fn processes_that_start_together_get_one_secret() {
    let base = tempfile::tempdir().unwrap();
    let threads: Vec<_> = (0..8)
        .map(|_| {
            let base = base.path().to_owned();
            std::thread::spawn(move || *read_or_create(&base).unwrap().key())
        })
        .collect();
    let keys: Vec<_> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
    assert!(keys.iter().all(|key| *key == keys[0]));

    let (other, path) = folder();
    assert_ne!(*read_or_create(other.path()).unwrap().key(), keys[0]);
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    let parent = path.parent().unwrap();
    assert_eq!(fs::metadata(parent).unwrap().permissions().mode() & 0o777, 0o700);
    // No draft stays.
    assert_eq!(fs::read_dir(parent).unwrap().count(), 1);
}

#[test]
fn a_file_that_others_could_use_is_refused() {
    let reason = |base: &tempfile::TempDir| match read_or_create(base.path()).unwrap_err() {
        Error::SecretFile { reason, .. } => reason,
        error => panic!("another error: {error:?}"),
    };
    let (base, path) = folder();
    fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
    assert!(reason(&base).contains("mode 640"));

    let (base, path) = folder();
    fs::set_permissions(path.parent().unwrap(), Permissions::from_mode(0o711)).unwrap();
    assert!(reason(&base).contains("mode 711"));

    let (base, path) = folder();
    fs::write(&path, b"short").unwrap();
    assert!(reason(&base).contains("32 bytes"));

    let (base, path) = folder();
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    assert!(reason(&base).contains("not a file"));

    let (base, path) = folder();
    let parent = path.parent().unwrap();
    fs::rename(parent, base.path().join("elsewhere")).unwrap();
    symlink(base.path().join("elsewhere"), parent).unwrap();
    assert!(reason(&base).contains("not a folder"));
}

#[test]
fn a_secret_is_not_empty() {
    assert!(Secret::new("").is_none());
}

#[test]
fn a_loopback_address_needs_no_variable() {
    let (free, port) = listener();
    drop(free);
    let configs = [0, 1].map(|rank| RankConfig::new(rank, 2, "localhost", port));
    let threads = configs.map(|config| std::thread::spawn(move || ProcessGroup::join(&config)));
    let groups = threads.map(joined);
    super::at_once(&groups, |group| group.barrier().unwrap());
}
