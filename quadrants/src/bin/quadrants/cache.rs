//! `quadrants cache`: what is in the kernel cache on disk.

use std::{
    io::Write,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use clap::{Args, Subcommand};
use quadrants::{CachedImage, ImageProblem};

use crate::{CommandError, text};

const DAY: Duration = Duration::from_secs(24 * 3600);

#[derive(Args)]
pub(crate) struct Options {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// List the compiled kernels, the last used first.
    List,
    /// Remove the compiled kernels. Programs compile them again when they need them.
    Clear {
        /// Only those that were not used for so many days.
        #[arg(long, value_name = "DAYS")]
        older_than: Option<u32>,
    },
    /// Read each compiled kernel as programs do, and report those that are damaged.
    Verify,
}

/// The size of the kernel cache.
pub(crate) struct Usage {
    pub(crate) kernels: u64,
    pub(crate) bytes: u64,
}

pub(crate) fn run(options: &Options, out: &mut dyn Write) -> Result<(), CommandError> {
    let folder = quadrants::cache_folder().ok_or_else(|| {
        let why = "the kernel cache is off: QUADRANTS_CACHE is `off`, or no home folder is known";
        CommandError::Refused(why.to_owned())
    })?;
    match options.action {
        Action::List => list(&folder, out),
        Action::Clear { older_than } => clear(&folder, older_than, out),
        Action::Verify => verify(&folder, out),
    }
}

/// The files of the cache, the last used first.
fn files_of(folder: &Path) -> Result<Vec<CachedImage>, CommandError> {
    let mut files = quadrants::cached_images(folder).map_err(|source| CommandError::File {
        what: "cannot read the kernel cache",
        path: folder.to_owned(),
        source,
    })?;
    files.sort_by_key(|file| std::cmp::Reverse(file.used()));
    Ok(files)
}

pub(crate) fn usage(folder: &Path) -> Result<Usage, CommandError> {
    let files = files_of(folder)?;
    Ok(Usage { kernels: files.len() as u64, bytes: files.iter().map(CachedImage::bytes).sum() })
}

fn list(folder: &Path, out: &mut dyn Write) -> Result<(), CommandError> {
    let files = files_of(folder)?;
    let row = |file: &CachedImage| {
        let (name, target) = match file.check() {
            Ok(label) => (label.name, label.arch),
            Err(problem) => (format!("({}: {problem})", name_of(file)), "-".to_owned()),
        };
        let age = file.used().elapsed().unwrap_or_default();
        [name, target, text::bytes(file.bytes()), format!("{} ago", text::age(age))]
    };
    let mut rows = vec![["KERNEL", "TARGET", "SIZE", "LAST USED"].map(str::to_owned)];
    rows.extend(files.iter().map(row));
    if files.is_empty() {
        rows.clear();
    }
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max();
    let [name, target, size] = [0, 1, 2].map(|column| width(column).unwrap_or(0));
    for [kernel, arch, bytes, used] in &rows {
        writeln!(out, "{kernel:name$}  {arch:target$}  {bytes:>size$}  {used}")?;
    }
    let bytes = text::bytes(files.iter().map(CachedImage::bytes).sum());
    let kernels = text::count_of(files.len() as u64, "kernel");
    Ok(writeln!(out, "{kernels}, {bytes} in {}", folder.display())?)
}

fn clear(folder: &Path, older_than: Option<u32>, out: &mut dyn Write) -> Result<(), CommandError> {
    let kept_for = older_than.map(|days| DAY * days);
    let is_old = |used: SystemTime| match kept_for {
        None => true,
        // A time in the future is not old.
        Some(kept_for) => used.elapsed().is_ok_and(|age| age > kept_for),
    };
    let (mut count, mut bytes) = (0, 0);
    for file in files_of(folder)?.iter().filter(|file| is_old(file.used())) {
        file.remove().map_err(|source| CommandError::File {
            what: "cannot remove",
            path: file.path().to_owned(),
            source,
        })?;
        (count, bytes) = (count + 1, bytes + file.bytes());
    }
    let (kernels, bytes) = (text::count_of(count, "kernel"), text::bytes(bytes));
    Ok(writeln!(out, "removed {kernels}, {bytes} from {}", folder.display())?)
}

fn verify(folder: &Path, out: &mut dyn Write) -> Result<(), CommandError> {
    let (mut whole, mut others, mut damaged) = (0, 0, 0);
    for file in files_of(folder)? {
        match file.check() {
            Ok(_) => whole += 1,
            Err(ImageProblem::Version { .. }) => others += 1,
            Err(problem) => {
                damaged += 1;
                writeln!(out, "{}: {problem}", file.path().display())?;
            }
        }
    }
    let whole = text::count_of(whole, "kernel");
    write!(out, "{whole} whole, {damaged} damaged")?;
    if others > 0 {
        write!(out, ", {others} of another version of Quadrants")?;
    }
    writeln!(out, " in {}", folder.display())?;
    if damaged == 0 {
        return Ok(());
    }
    let what = text::count_of(damaged, "file");
    Err(CommandError::Refused(format!(
        "{what} of the kernel cache cannot be used; programs compile these kernels again; remove them with `quadrants \
         cache clear`"
    )))
}

/// The begin of the name of a file, which is its key.
fn name_of(file: &CachedImage) -> String {
    let name = file.path().file_stem().map(PathBuf::from).unwrap_or_default();
    name.to_string_lossy().chars().take(12).collect()
}
