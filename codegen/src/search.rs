//! Finds the shared library of a compiler or profiler. Backends provide the names; the search order is common.

use std::{
    collections::HashSet,
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
};

/// Reads an environment variable. Passed as a parameter, so that tests need not change the environment of the process.
pub type Environment<'a> = dyn Fn(&str) -> Option<OsString> + 'a;

/// The names of a compiler's library and of its installation folders.
#[derive(Clone, Copy, Debug)]
pub struct LibrarySearch {
    /// The environment variable with the path of the library. If it is set, nothing else is tried.
    pub variable: &'static str,
    /// The environment variables with the path of an installation.
    pub roots: &'static [&'static str],
    /// The usual locations of installations: a folder, and a prefix of folder names in it.
    pub installations: &'static [(&'static str, &'static str)],
    /// The folders of the library in an installation, best first.
    pub libraries: &'static [&'static str],
    /// The folder of the library in the packages of a Python environment.
    pub wheels: &'static [&'static str],
    /// The file names of the library, best first. They are also tried without a folder, for the dynamic loader to find.
    pub names: &'static [&'static str],
}

/// Where installations usually have their libraries.
pub const LIBRARIES: &[&str] = &["lib64", "lib", "lib/x86_64-linux-gnu"];

/// The result of a search.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SearchPaths {
    /// The libraries to try to load, in order.
    pub candidates: Vec<PathBuf>,
    /// The searched locations without a library, as text for error messages.
    pub failures: Vec<String>,
}

impl LibrarySearch {
    /// Whether a library that is not necessary is searched for: not if the variable says `off`. For simulated devices,
    /// which an installed library does not know, only if the variable names one.
    #[must_use]
    pub fn is_wanted(&self, env: &Environment<'_>, simulated: bool) -> bool {
        match env(self.variable).filter(|value| !value.is_empty()) {
            Some(value) => value != "off",
            None => !simulated,
        }
    }

    /// All existing libraries in search order, then the bare file names.
    #[must_use]
    pub fn search_paths(&self, env: &Environment<'_>) -> SearchPaths {
        let mut search_paths = SearchPaths::default();
        if let Some(library) = env(self.variable).filter(|value| !value.is_empty()) {
            search_paths.candidates.push(library.into());
            return search_paths;
        }
        search_paths.failures.push(format!("{} is not set", self.variable));
        let mut seen = HashSet::new();
        for folder in self.folders(env) {
            if seen.insert(folder.clone()) {
                let before = search_paths.candidates.len();
                search_paths.candidates.extend(self.files_in(&folder));
                if search_paths.candidates.len() == before {
                    search_paths.failures.push(format!("no library in {}", folder.display()));
                }
            }
        }
        search_paths.candidates.extend(self.names.iter().map(PathBuf::from));
        search_paths
    }

    /// The first existing library. None if only the dynamic loader may find one. Stops at the first match.
    #[must_use]
    pub fn first(&self, env: &Environment<'_>) -> Option<PathBuf> {
        match env(self.variable).filter(|value| !value.is_empty()) {
            Some(library) => Some(PathBuf::from(library)).filter(|library| library.is_file()),
            None => self.folders(env).find_map(|folder| self.files_in(&folder).next()),
        }
    }

    fn files_in(&self, folder: &Path) -> impl Iterator<Item = PathBuf> {
        self.names.iter().map(|name| folder.join(name)).filter(|file| file.is_file())
    }

    /// The existing library folders, evaluated lazily.
    fn folders(&self, env: &Environment<'_>) -> impl Iterator<Item = PathBuf> {
        // An empty path would be that of the current folder, which no setting names.
        let root = |name: &&str| env(name).filter(|value| !value.is_empty());
        let named = self.roots.iter().filter_map(root).map(PathBuf::from);
        let usual = self.installations.iter().flat_map(|(at, prefix)| entries(at.as_ref(), prefix));
        let libraries = |root: PathBuf| self.libraries.iter().map(move |lib| root.join(lib));
        let installed = named.chain(usual).flat_map(libraries).filter(|folder| folder.is_dir());
        let wheels = |package: PathBuf| self.wheels.iter().map(move |wheel| package.join(wheel));
        installed.chain(python_packages(env).flat_map(wheels))
    }
}

/// The package folders of Python environments: of the active environment, the user, pyenv, the system.
fn python_packages(env: &Environment<'_>) -> impl Iterator<Item = PathBuf> {
    let path = |name: &str| env(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let home = path("HOME");
    let local = home.as_ref().map(|home| home.join(".local"));
    let active = [path("VIRTUAL_ENV"), path("CONDA_PREFIX"), local];
    let pyenv = path("PYENV_ROOT").or_else(|| home.map(|home| home.join(".pyenv")));
    let versions = pyenv.into_iter().flat_map(|root| entries(&root.join("versions"), ""));
    let system = ["/usr/local", "/usr"].map(PathBuf::from);
    let prefixes = active.into_iter().flatten().chain(versions).chain(system);
    prefixes
        .flat_map(|prefix| entries(&prefix.join("lib"), "python3"))
        .flat_map(|python| ["site-packages", "dist-packages"].map(|name| python.join(name)))
        .filter(|packages| packages.is_dir())
}

/// The entries of a folder whose names begin with `prefix`, highest version first. Empty if the folder cannot be read.
fn entries(folder: &Path, prefix: &str) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = fs::read_dir(folder)
        .into_iter()
        .flatten()
        .filter_map(Result::ok)
        .filter(|entry| entry.file_name().to_string_lossy().starts_with(prefix))
        .map(|entry| entry.path())
        .collect();
    found.sort_by_cached_key(|path| std::cmp::Reverse(numbers(path)));
    found
}

/// The numbers in a file name, so that `cuda-12.10` sorts after `cuda-12.9`.
fn numbers(path: &Path) -> Vec<u64> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    name.split(|c: char| !c.is_ascii_digit()).filter_map(|digits| digits.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEARCH: LibrarySearch = LibrarySearch {
        variable: "TOY_LIBRARY",
        roots: &["TOY_PATH"],
        installations: &[],
        libraries: LIBRARIES,
        wheels: &["toy/lib"],
        names: &["libtoy.so.2", "libtoy.so.1"],
    };

    fn folder(test: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("quadrants-{}-{test}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    #[test]
    fn the_variable_overrides_all_other_locations() {
        let env = |name: &str| (name == "TOY_LIBRARY").then(|| OsString::from("/x/libmine.so"));
        let search_paths = SEARCH.search_paths(&env);
        assert_eq!(search_paths.candidates, [PathBuf::from("/x/libmine.so")]);
        assert_eq!(SEARCH.first(&env), None, "no file");
        assert_eq!(search_paths.failures, Vec::<String>::new());
    }

    #[test]
    fn simulated_devices_want_only_a_library_that_is_named() {
        let is_wanted = |value: Option<&str>, simulated| {
            SEARCH.is_wanted(
                &|name| value.filter(|_| name == "TOY_LIBRARY").map(Into::into),
                simulated,
            )
        };
        for simulated in [false, true] {
            assert!(is_wanted(Some("/x/libmine.so"), simulated));
            assert!(!is_wanted(Some("off"), simulated));
            assert_eq!(
                (is_wanted(None, simulated), is_wanted(Some(""), simulated)),
                (!simulated, !simulated)
            );
        }
    }

    #[test]
    fn installations_precede_wheels_and_bare_names_are_last() {
        let base = folder("order");
        let lib = base.join("toolkit/lib64");
        let wheel = base.join("venv/lib/python3.12/site-packages/toy/lib");
        let bare = base.join("venv/lib/python3.9/site-packages");
        for folder in [&lib, &wheel, &bare] {
            fs::create_dir_all(folder).unwrap();
        }
        fs::write(lib.join("libtoy.so.1"), "").unwrap();
        fs::write(wheel.join("libtoy.so.2"), "").unwrap();
        let env = |name: &str| match name {
            "TOY_PATH" => Some(base.join("toolkit").into_os_string()),
            "VIRTUAL_ENV" => Some(base.join("venv").into_os_string()),
            _ => None,
        };
        let search_paths = SEARCH.search_paths(&env);
        let expected = [
            lib.join("libtoy.so.1"),
            wheel.join("libtoy.so.2"),
            "libtoy.so.2".into(),
            "libtoy.so.1".into(),
        ];
        assert_eq!(search_paths.candidates, expected);
        assert_eq!(SEARCH.first(&env).as_ref(), Some(&expected[0]));
        assert_eq!(SEARCH.first(&|_| None), None);
        assert_eq!(search_paths.failures[0], "TOY_LIBRARY is not set");
        assert!(
            search_paths
                .failures
                .contains(&format!("no library in {}", bare.join("toy/lib").display()))
        );
        fs::remove_dir_all(base).unwrap();
    }

    #[test]
    fn an_empty_variable_does_not_name_the_current_folder() {
        let empty = |_: &str| Some(OsString::new());
        let folders: Vec<PathBuf> = SEARCH.folders(&empty).collect();
        assert!(folders.iter().all(|folder| folder.is_absolute()), "{folders:?}");
        let candidates = SEARCH.search_paths(&empty).candidates;
        let named = |path: &PathBuf| path.is_absolute() || path.parent() == Some(Path::new(""));
        assert!(candidates.iter().all(named), "{candidates:?}");
    }

    #[test]
    fn newer_versions_come_first() {
        let base = folder("newer");
        for name in ["cuda-12.9", "cuda-12.10", "other"] {
            fs::create_dir_all(base.join(name)).unwrap();
        }
        let expected = [base.join("cuda-12.10"), base.join("cuda-12.9")];
        assert_eq!(entries(&base, "cuda"), expected);
        fs::remove_dir_all(base).unwrap();
    }
}
