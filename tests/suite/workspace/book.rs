//! The book in `docs/book`: its table of contents, its documentation tests, its quotations of `tests/ui`, and its
//! reference page, whose tables are made from the compiler's.
//!
//! After a change of a table, `QUADRANTS_BLESS=1` rewrites the reference page; review the difference.

use std::{
    collections::{BTreeMap, BTreeSet},
    env, fs,
    path::{Path, PathBuf},
};

use quadrants::{
    ir::{
        AtomicOp, MathFn, ScalarType,
        abi::{MAX_BLOCK_SIZE, MAX_BOUND, MAX_LOCAL_BYTES, MAX_RANK, MAX_SHARED_BYTES},
    },
    macro_support::body::{BUILTIN_FUNCTIONS, BUILTIN_METHODS, Builtin},
};
use quadrants_frontend::{CONVERSIONS, builtin_functions, builtin_methods, syntax};

/// A page may not be longer, except for the error catalogue, which is made from the sources.
const MAX_LINES: usize = 300;

/// Names for the groups of types in the tables.
const GROUPS: [(&str, &str); 5] = [
    ("f32 f64 i8 i16 i32 i64 isize u8 u16 u32 u64 usize", "numbers"),
    ("i8 i16 i32 i64 isize u8 u16 u32 u64 usize", "integers"),
    ("i8 i16 i32 i64 isize", "signed integers"),
    ("u8 u16 u32 u64 usize", "unsigned integers"),
    ("f32 f64", "floats"),
];

pub(super) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("a workspace").to_owned()
}

fn read(path: impl AsRef<Path>) -> String {
    let path = root().join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The files that the table of contents lists, which are all there are.
fn pages() -> BTreeMap<String, String> {
    let summary = read("docs/book/src/SUMMARY.md");
    let listed: BTreeSet<String> = summary
        .split("](")
        .skip(1)
        .map(|rest| rest[..rest.find(')').expect("a link ends")].to_owned())
        .collect();
    let found: BTreeSet<String> = fs::read_dir(root().join("docs/book/src"))
        .expect("the book exists")
        .map(|entry| entry.expect("the folder is readable").file_name())
        .map(|name| name.into_string().expect("names are UTF-8"))
        .filter(|name| name.ends_with(".md") && name != "SUMMARY.md")
        .collect();
    assert_eq!(listed, found, "SUMMARY.md lists other pages than docs/book/src contains");
    found.into_iter().map(|name| (name.clone(), read(format!("docs/book/src/{name}")))).collect()
}

#[test]
fn each_page_is_listed_tested_and_short() {
    let tests = read("tests/src/book.rs");
    for (name, text) in pages() {
        let lines = text.lines().count();
        let is_short = lines <= MAX_LINES || name == "error-catalogue.md";
        assert!(is_short, "{name} has {lines} lines, over {MAX_LINES}");
        let path = format!("../../docs/book/src/{name}");
        assert!(tests.contains(&path), "tests/src/book.rs does not run {name}");
    }
}

#[test]
fn links_between_pages_and_to_files_have_targets() {
    let pages = pages();
    for (name, text) in &pages {
        for rest in text.split("](").skip(1) {
            let target = &rest[..rest.find(')').expect("a link ends")];
            if target.starts_with("http") {
                continue;
            }
            let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
            let file = if file.is_empty() { name } else { file };
            match pages.get(file) {
                Some(page) => {
                    let mut anchors = page.lines().filter(|l| l.starts_with('#')).map(anchor_of);
                    let is_known = anchor.is_empty() || anchors.any(|known| known == anchor);
                    assert!(is_known, "{name}: {file} has no heading `{anchor}`");
                }
                None => {
                    let path = root().join("docs/book/src").join(file);
                    assert!(path.exists(), "{name}: {file} does not exist");
                }
            }
        }
    }
}

/// Pictures are in the book's folder, so that its HTML contains them. A reader downloads all of a page.
#[test]
fn pictures_are_used_and_small() {
    let text: String = pages().into_values().collect();
    let mut sum = 0;
    for entry in fs::read_dir(root().join("docs/book/src/images")).expect("the book has pictures") {
        let entry = entry.expect("the folder is readable");
        let name = entry.file_name().into_string().expect("names are UTF-8");
        assert!(text.contains(&format!("](images/{name})")), "no page shows {name}");
        sum += entry.metadata().expect("the file is readable").len();
    }
    assert!(sum < 600 << 10, "the pictures have {sum} bytes");
}

/// The anchor that mdBook makes of a heading.
fn anchor_of(heading: &str) -> String {
    let text = heading.trim_start_matches('#').trim().to_lowercase();
    let kept = text.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

/// A code block below a comment `<!-- quoted from FILE -->` is in that file. The files in `tests/ui` are what rustc
/// prints now (`ui.rs`), so that quoted messages are current.
#[test]
fn quotations_are_in_their_files() {
    let mut count = 0;
    for (name, text) in pages() {
        for rest in text.split("<!-- quoted from ").skip(1) {
            let (file, rest) = rest.split_once(" -->\n").expect("a comment ends");
            let rest = rest.trim_start();
            let block = rest.strip_prefix("```text\n").expect("a block of text follows");
            let block = &block[..block.find("```").expect("a block ends")];
            let source = read(file);
            assert!(source.contains(block), "{name}: {file} does not contain\n{block}");
            count += 1;
        }
    }
    assert!(count > 0, "the book quotes nothing");
}

/// The examples of `#[kernel]` and `#[func]` cannot be tests of their crate, which has no facade; the book runs them.
#[test]
fn the_examples_of_the_attributes_are_in_the_book() {
    let text = read("macros/src/lib.rs");
    let pages: String = pages().into_values().collect();
    for attribute in ["kernel", "func"] {
        let start = format!("/// ```text\n/// #[qd::{attribute}]\n");
        let (_, rest) = text.split_once(&start).expect("an example");
        let (example, _) = rest.split_once("/// ```").expect("an example ends");
        let lines = example.lines().map(|line| line.strip_prefix("/// ").unwrap_or_default());
        let code: Vec<&str> = lines.collect();
        let example = format!("#[qd::{attribute}]\n{}\n", code.join("\n"));
        assert!(pages.contains(&example), "no page contains\n{example}");
    }
}

#[test]
fn the_language_rules_know_the_methods_that_types_have() {
    let known: BTreeSet<&str> = builtin_methods().chain(builtin_functions()).collect();
    let implemented: BTreeSet<&str> = all().map(|method| method.name).collect();
    assert_eq!(known, implemented);
    assert!(MathFn::ALL.into_iter().all(|function| known.contains(function.name())));
}

fn all() -> impl Iterator<Item = &'static Builtin> {
    BUILTIN_METHODS.into_iter().flatten().chain(BUILTIN_FUNCTIONS)
}

#[test]
fn the_reference_page_is_made_from_the_compilers_tables() {
    check_generated("reference.md", &PARTS, part);
}

/// Compares the generated parts of a page, which comments name, with what `part` makes, or rewrites them.
pub(super) fn check_generated(page: &str, names: &[&str], part: impl Fn(&str) -> String) {
    let path = root().join("docs/book/src").join(page);
    let page = fs::read_to_string(&path).expect("the page exists");
    let mut made = String::new();
    let mut rest = page.as_str();
    while let Some((before, block)) = rest.split_once("<!-- generated: ") {
        let (name, block) = block.split_once(" -->\n").expect("a comment ends");
        let (_, after) = block.split_once("<!-- end -->").expect("a generated part ends");
        made += &format!("{before}<!-- generated: {name} -->\n\n{}\n<!-- end -->", part(name));
        rest = after;
    }
    made += rest;
    for name in names {
        assert!(made.contains(&format!("<!-- generated: {name} -->")), "the page lacks `{name}`");
    }
    if env::var_os("QUADRANTS_BLESS").is_some() {
        fs::write(&path, &made).expect("the page can be written");
    }
    assert!(page == made || env::var_os("QUADRANTS_BLESS").is_some(), "the parts are\n{made}");
}

/// The generated parts of the page.
const PARTS: [&str; 8] =
    ["types", "numbers", "conversions", "vectors", "functions", "atomics", "collectives", "limits"];

fn part(name: &str) -> String {
    let of_number = |method: &&Builtin| method.generics.is_empty() && method.of != "Ordering";
    match name {
        "types" => paragraph(scalar_types().into_iter()),
        "numbers" => {
            let methods = BUILTIN_METHODS.into_iter().flatten();
            number_table(methods.filter(of_number))
        }
        "conversions" => {
            let names = ["from", "to"].into_iter();
            paragraph(names.flat_map(|way| CONVERSIONS.map(|of| format!("{way}_{of}"))))
        }
        "vectors" => {
            let methods = BUILTIN_METHODS.into_iter().flatten();
            generic_table(methods.filter(|method| !of_number(method)).collect())
        }
        "functions" => generic_table(BUILTIN_FUNCTIONS.iter().collect()),
        "atomics" => paragraph(AtomicOp::ALL.into_iter().map(AtomicOp::name)),
        "collectives" => paragraph(syntax::collectives()),
        "limits" => limits(),
        other => panic!("no table makes `{other}`"),
    }
}

fn scalar_types() -> Vec<&'static str> {
    // `usize` is `u64` in the IR.
    ScalarType::ALL.into_iter().map(ScalarType::name).chain(["usize", "isize"]).collect()
}

fn limits() -> String {
    let rows = [
        ("dimensions of a tensor, and of a loop over an `ndrange`", format!("up to {MAX_RANK}")),
        ("dimensions of a grid of thread blocks", "up to 3".to_owned()),
        ("threads of a thread block", format!("up to {MAX_BLOCK_SIZE}")),
        (
            "bytes of all shared arrays of a thread block",
            format!(
                "up to {MAX_SHARED_BYTES} of constant lengths; all: `DeviceInfo::max_shared_bytes`"
            ),
        ),
        ("bytes of all local arrays of a task on GPUs", format!("up to {MAX_LOCAL_BYTES}")),
        ("bounds of a parallel loop", format!("up to 2^{} from zero", MAX_BOUND.ilog2())),
    ];
    let rows = rows.map(|(what, limit)| format!("| {what} | {limit} |\n"));
    format!("| limit | value |\n|---|---|\n{}", rows.concat())
}

/// Names, in lines of at most 120 columns.
fn paragraph(names: impl Iterator<Item = impl AsRef<str>>) -> String {
    let mut lines = vec![String::new()];
    for name in names {
        let word = format!("`{}`", name.as_ref());
        let last = lines.last_mut().expect("there is a line");
        match last.len() + word.len() {
            0..=115 if last.is_empty() => *last = word,
            0..=115 => *last += &format!(", {word}"),
            _ => {
                last.push(',');
                lines.push(word);
            }
        }
    }
    lines.join("\n") + "\n"
}

/// The methods of numbers by name, each with its types.
fn number_table<'a>(methods: impl Iterator<Item = &'a Builtin>) -> String {
    let mut rows: BTreeMap<(&str, String, &str), BTreeSet<usize>> = BTreeMap::new();
    let names = scalar_types();
    for method in methods {
        let types = method.of.split_whitespace().map(|of| {
            let at = names.iter().position(|name| *name == of);
            at.unwrap_or_else(|| panic!("`{of}` is not a scalar type"))
        });
        let key = (method.name, signature(method), method.result);
        rows.entry(key).or_default().extend(types);
    }
    let mut table = "| method | result | types |\n|---|---|---|\n".to_owned();
    for ((_, signature, result), types) in rows {
        let found: Vec<&str> = types.iter().map(|at| names[*at]).collect();
        table += &format!("| `{signature}` | `{result}` | {} |\n", group(&found));
    }
    table
}

/// The types of a row: the name of a group, or a list.
fn group(types: &[&str]) -> String {
    let is_same = |members: &str| {
        let members: BTreeSet<&str> = members.split(' ').collect();
        members == types.iter().copied().collect()
    };
    let listed = |types: &[&str]| {
        types.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
    };
    if let Some((_, name)) = GROUPS.into_iter().find(|(members, _)| is_same(members)) {
        return name.to_owned();
    }
    // A group and one more type, such as `f16`.
    for (members, name) in GROUPS {
        let members: BTreeSet<&str> = members.split(' ').collect();
        let (inside, outside): (Vec<&str>, Vec<&str>) =
            types.iter().partition(|name| members.contains(*name));
        if inside.len() == members.len() {
            return format!("{name}, {}", listed(&outside));
        }
    }
    listed(types)
}

fn generic_table(methods: Vec<&Builtin>) -> String {
    let mut table = "| type | name | result | with |\n|---|---|---|---|\n".to_owned();
    for method in methods {
        let bounds = match method.generics {
            "" => String::new(),
            bounds => format!("`{bounds}`"),
        };
        let (of, result) = (method.of, method.result);
        table += &format!("| `{of}` | `{}` | `{result}` | {bounds} |\n", signature(method));
    }
    table
}

fn signature(method: &Builtin) -> String {
    // `stringify!` writes a space before a colon.
    format!("{}({})", method.name, method.parameters.replace(" :", ":"))
}
