//! `quadrants cache`: lists, clears and checks the files that programs have stored.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, SystemTime},
};

use quadrants::ImageLabel;
use quadrants_runtime::ImageCache;

use super::{ends_with, fails, quadrants, succeeds};

const DAY: Duration = Duration::from_secs(24 * 3600);

/// Stores so many kernels, as programs do: `saxpy0` is stored first.
pub(crate) fn fill(folder: &Path, count: u8) {
    let cache = ImageCache::new(folder, 1 << 30);
    for k in 0..count {
        let label = ImageLabel {
            name: format!("saxpy{k}, proven"),
            arch: format!("sm_{}", 80 + k),
            compiler_library: "/usr/lib/libnvrtc.so.13 1000 5".to_owned(),
        };
        cache.put(&[k; 32], &label, &vec![k; 1000 * usize::from(k + 1)]);
    }
}

/// The file of a kernel.
fn file(folder: &Path, k: u8) -> PathBuf {
    folder.join(format!("{k:02x}").repeat(32)).with_extension("image")
}

fn set_age(path: &Path, age: Duration) {
    let file = File::options().write(true).open(path).expect("a file");
    file.set_modified(SystemTime::now() - age).expect("a time");
}

fn cache(folder: &Path, args: &[&str]) -> Command {
    let mut command = quadrants();
    command.env("QUADRANTS_CACHE", folder).arg("cache").args(args);
    command
}

#[test]
fn kernels_are_listed_with_target_size_and_age() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path();
    fill(path, 3);
    set_age(&file(path, 1), 3 * DAY);
    set_age(&file(path, 0), 2 * Duration::from_secs(3600));
    fs::write(path.join("notes.txt"), "of a user").expect("a file");
    let out = succeeds(&mut cache(path, &["list"]));
    let lines: Vec<&str> = out.lines().collect();
    let [head, two, zero, one, total] = lines[..] else { panic!("{out}") };
    assert_eq!(head.split("  ").next(), Some("KERNEL"));
    for (line, parts) in [
        (two, ["saxpy2, proven", "sm_82", "3.1 KiB", "second"]),
        (zero, ["saxpy0, proven", "sm_80", "1.1 KiB", "2 hours ago"]),
        (one, ["saxpy1, proven", "sm_81", "2.1 KiB", "3 days ago"]),
    ] {
        assert!(parts.iter().all(|part| line.contains(part)), "{parts:?}: {out}");
    }
    assert!(
        total.starts_with("3 kernels, ") && total.ends_with(&path.display().to_string()),
        "{out}"
    );
    assert_eq!(succeeds(&mut cache(path, &["list"])), out, "a list is no use of a kernel");
}

#[test]
fn an_empty_cache_is_no_error() {
    let folder = tempfile::tempdir().expect("a folder");
    let missing = folder.path().join("missing");
    for (action, begin) in [
        ("list", "0 kernels, 0 B in "),
        ("verify", "0 kernels whole, 0 damaged in "),
        ("clear", "removed 0 kernels, 0 B from "),
    ] {
        let out = succeeds(&mut cache(&missing, &[action]));
        assert!(out.starts_with(begin) && out.lines().count() == 1, "{out}");
    }
    assert!(!missing.exists());
}

#[test]
fn damaged_files_are_found_and_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path();
    fill(path, 4);
    let out = succeeds(&mut cache(path, &["verify"]));
    assert!(out.starts_with("4 kernels whole, 0 damaged in "), "{out}");

    let mut flipped = fs::read(file(path, 1)).expect("a kernel");
    *flipped.last_mut().expect("bytes") ^= 1;
    fs::write(file(path, 1), flipped).expect("damage");
    let whole = fs::read(file(path, 2)).expect("a kernel");
    fs::write(file(path, 2), &whole[..whole.len() / 2]).expect("damage");
    fs::write(file(path, 200), &whole).expect("the file of another kernel");
    fs::write(path.join("short.image"), "").expect("a file");
    fs::create_dir(file(path, 201)).expect("a folder");
    let mut older = fs::read(file(path, 3)).expect("a kernel");
    older[7] = 1;
    fs::write(file(path, 3), older).expect("another version");

    let (out, err) = ends_with(1, &mut cache(path, &["verify"]));
    assert!(out.contains("\n1 kernel whole, 5 damaged, 1 of another version"), "{out}");
    assert!(err.starts_with("error: 5 files of the kernel cache"), "{err}");
    for damaged in [file(path, 1), file(path, 2), file(path, 200), path.join("short.image")] {
        assert!(out.contains(&format!("{}: ", damaged.display())), "{damaged:?}: {out}");
    }
    assert!(!out.contains(&file(path, 0).display().to_string()), "{out}");
    // The list names them too.
    let list = succeeds(&mut cache(path, &["list"]));
    assert!(list.contains("format version 1") && list.contains("saxpy0, proven"), "{list}");
}

#[test]
fn what_a_clear_frees_is_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path();
    fill(path, 3);
    set_age(&file(path, 0), 30 * DAY);
    set_age(&file(path, 1), 6 * DAY);
    fs::write(path.join("notes.txt"), "of a user").expect("a file");
    let out = succeeds(&mut cache(path, &["clear", "--older-than", "7"]));
    assert!(out.starts_with("removed 1 kernel, 1.1 KiB from "), "{out}");
    assert_eq!([0, 1, 2].map(|k| file(path, k).exists()), [false, true, true]);
    let out = succeeds(&mut cache(path, &["clear"]));
    assert!(out.starts_with("removed 2 kernels, "), "{out}");
    let left: Vec<_> =
        fs::read_dir(path).expect("the folder").map(|f| f.expect("a file").file_name()).collect();
    assert_eq!(left, ["notes.txt"], "a user's files stay");
}

#[test]
fn a_cache_that_is_off_or_no_folder_is_an_error() {
    let folder = tempfile::tempdir().expect("a folder");
    let no_folder = folder.path().join("file");
    fs::write(&no_folder, "").expect("a file");
    for action in ["list", "verify", "clear"] {
        let error = fails(&mut cache(Path::new("off"), &[action]));
        assert!(error.contains("QUADRANTS_CACHE"), "{error}");
        let error = fails(&mut cache(&no_folder, &[action]));
        assert!(error.contains(no_folder.to_str().expect("UTF-8")), "{error}");
    }
    // A damaged entry that is a folder cannot be removed.
    fs::create_dir(file(folder.path(), 9)).expect("a folder");
    let error = fails(&mut cache(folder.path(), &["clear"]));
    assert!(error.contains("cannot remove"), "{error}");
}
