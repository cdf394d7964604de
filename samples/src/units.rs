//! Source texts for the tests of compilers, combined into a few translation units, so that the compiler starts once for
//! many of them.

use std::{env, fs, io, path::Path};

use quadrants_ir::{
    Offloaded,
    abi::{Form, Passing},
};

/// The number of texts in one translation unit.
const BATCH: usize = 36;

/// How many dumped texts are compiled unless tests run at full size. Compiling all that the suites write takes ten
/// minutes.
const SAMPLED: usize = 2000;

/// Source texts in a few translation units.
pub struct Units {
    pub units: Vec<String>,
    /// The number of texts.
    pub count: usize,
    /// Whether each unit is compiled for one architecture, not for all of them: other tests wrote the texts, of which
    /// there are many, or tests do not run at full size.
    pub in_turn: bool,
}

impl Units {
    /// The texts that other tests wrote, with this extension, or else those that `text` prints for all samples in both
    /// forms.
    pub fn new(extension: &str, text: impl Fn(&Offloaded, Form, Passing) -> String) -> Self {
        let dumped = dumped_sources(extension).expect("the folder is readable");
        let in_turn = dumped.is_some() || !crate::full_size();
        let texts = dumped.unwrap_or_else(|| {
            let mut texts = Vec::new();
            for (i, kernel) in crate::all().iter().enumerate() {
                let passing = if i % 2 == 0 { Passing::Value } else { Passing::Buffer };
                texts.extend([Form::Proven, Form::Checked].map(|form| text(kernel, form, passing)));
            }
            texts
        });
        assert!(!texts.is_empty(), "nothing to compile");
        Self { units: texts.chunks(BATCH).map(combine).collect(), count: texts.len(), in_turn }
    }
}

/// Combines texts into one. Each gets a namespace and C++ linkage; with C linkage, functions of the same name would be
/// the same function.
fn combine(texts: &[String]) -> String {
    let mut all = String::new();
    for (i, text) in texts.iter().enumerate() {
        all += &format!("namespace k{i} {{\n{}}}\n", text.replace("extern \"C\" ", ""));
    }
    all
}

/// The texts of the files `*.extension` in the folder in the variable `QUADRANTS_COMPILE_DUMP`, sorted by name. Test
/// runs with `QUADRANTS_DUMP` write them. Unless tests run at full size, at most [`SAMPLED`] of them, evenly over all
/// names. None if the variable is not set.
fn dumped_sources(extension: &str) -> io::Result<Option<Vec<String>>> {
    let Some(folder) = env::var_os("QUADRANTS_COMPILE_DUMP") else { return Ok(None) };
    let mut paths = Vec::new();
    for entry in fs::read_dir(Path::new(&folder))? {
        let path = entry?.path();
        if path.extension().is_some_and(|found| found == extension) {
            paths.push(path);
        }
    }
    paths.sort();
    if !crate::full_size() && paths.len() > SAMPLED {
        paths = (0..SAMPLED).map(|i| paths[i * paths.len() / SAMPLED].clone()).collect();
    }
    paths.iter().map(fs::read_to_string).collect::<io::Result<_>>().map(Some)
}
