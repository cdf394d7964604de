//! The error catalogue of the book, `docs/book/src/error-catalogue.md`, is made from the sources of the error enums,
//! from a remedy per variant (`entries.rs`), and from examples that this test runs (`examples.rs`).
//!
//! A variant without an entry fails a test. After a change, `QUADRANTS_BLESS=1` rewrites the page.

mod entries;
mod examples;
mod source;

use std::{collections::BTreeSet, fmt::Write as _, path::Path};

use quadrants as qd;

use self::{
    entries::{ENUMS, Entry, Listed},
    source::{Variant, variants},
};
use super::book;

/// A program that returns an error: its function's name, and the function.
type Example = (&'static str, fn() -> qd::Result<()>);

/// The crates whose errors users see.
const CRATES: [&str; 12] = [
    "rhi",
    "rhi-cuda",
    "rhi-amdgpu",
    "rhi-cpu",
    "ir",
    "codegen",
    "runtime",
    "program",
    "collectives",
    "frontend",
    "macros",
    "quadrants",
];

#[test]
fn the_error_catalogue_is_made_from_the_error_enums() {
    let names: Vec<&str> = ENUMS.iter().map(|listed| listed.name).collect();
    book::check_generated("error-catalogue.md", &names, |name| {
        let listed = ENUMS.iter().find(|listed| listed.name == name).expect("a listed enum");
        section(listed)
    });
}

#[test]
fn each_error_enum_and_each_variant_has_an_entry() {
    let listed: BTreeSet<(String, String)> =
        ENUMS.iter().map(|of| (of.file.to_owned(), of.ident.to_owned())).collect();
    let root = book::root();
    let found: BTreeSet<(String, String)> = CRATES
        .iter()
        .flat_map(|name| source::error_enums(&root, Path::new(name).join("src")))
        .collect();
    assert_eq!(listed, found, "entries.rs lists other enums than there are");
    for of in ENUMS {
        let variants = variants(&root.join(of.file), of.ident);
        let there: Vec<&str> = variants.iter().map(|variant| &*variant.name).collect();
        let entries: Vec<&str> = of.entries.iter().map(|entry| entry.variant).collect();
        assert_eq!(there, entries, "the variants of {} and their entries in entries.rs", of.name);
    }
}

/// Runs an example, and returns the text of its error.
fn run(of: &Listed, entry: &Entry, (name, example): Example) -> String {
    let error = example().expect_err(name);
    let fields = format!("{error:#?}");
    let mut words = fields.split(|c: char| !c.is_alphanumeric());
    let is_one = words.any(|word| word == entry.variant);
    assert!(is_one, "example `{name}` is no {}::{}: {fields}", of.name, entry.variant);
    let text = error.to_string().replace(examples::FILE, "src/main.rs");
    let cpu = qd::Program::open(qd::Arch::Cpu).expect("the CPU is always there");
    without_addresses(&text.replace(&*cpu.device_info().name, "…"))
}

/// The part of the page about an enum.
fn section(of: &Listed) -> String {
    let mut text = format!("{}\n", of.about);
    let variants = variants(&book::root().join(of.file), of.ident);
    for variant in variants {
        let entry = of.entries.iter().find(|entry| entry.variant == variant.name);
        let entry = entry.unwrap_or_else(|| panic!("{}::{} has no entry", of.name, variant.name));
        text += &described(of, entry, &variant);
    }
    text
}

fn described(of: &Listed, entry: &Entry, variant: &Variant) -> String {
    let mut text = format!("\n### {}::{}\n\n{}", of.name, variant.name, wrapped(&variant.doc));
    if !entry.remedy.is_empty() {
        text += &format!("\n{}", wrapped(&format!("**Remedy**: {}", entry.remedy)));
    }
    match (entry.example, &variant.message) {
        (Some(example), _) => {
            let message = run(of, entry, example);
            let (shown, at) = first_use(example.0);
            if (shown.name, at.variant) == (of.name, entry.variant) {
                let code = source::body(example.0);
                let _ = write!(text, "\n```text\n{code}```\n\n```text\n{}```\n", wrapped(&message));
            } else {
                let (name, anchor) = (format!("{}::{}", shown.name, at.variant), shown.name);
                let anchor = format!("{anchor}{}", at.variant).replace("::", "").to_lowercase();
                let _ = write!(text, "\n**Example**: that of [{name}](#{anchor}).\n");
            }
        }
        (None, Some(message)) => {
            let _ = write!(text, "\n```text\n{}```\n", wrapped(message));
        }
        (None, None) => {}
    }
    text
}

/// The first entry with an example, where the page shows it.
fn first_use(example: &str) -> (&'static Listed, &'static Entry) {
    let all = ENUMS.iter().flat_map(|of| of.entries.iter().map(move |entry| (of, entry)));
    let mut uses = all.filter(|(_, entry)| entry.example.is_some_and(|(name, _)| name == example));
    uses.next().expect("the example is in the table")
}

/// A message without addresses, which differ from run to run.
fn without_addresses(message: &str) -> String {
    let mut parts = message.split("0x");
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let digits = part.len() - part.trim_start_matches(|c: char| c.is_ascii_hexdigit()).len();
        let shown = if digits > 8 { "…" } else { &part[..digits] };
        text += &format!("0x{shown}{}", &part[digits..]);
    }
    text
}

/// Lines of at most 120 columns.
fn wrapped(text: &str) -> String {
    let mut out = String::new();
    for line in text.lines() {
        let mut columns = 0;
        let indent = &line[..line.len() - line.trim_start().len()];
        out += indent;
        for word in line.split_whitespace() {
            if columns > 0 && indent.len() + columns + 1 + word.chars().count() > 120 {
                out.push('\n');
                columns = 0;
            }
            if columns > 0 {
                out.push(' ');
                columns += 1;
            }
            out += word;
            columns += word.chars().count();
        }
        out.push('\n');
    }
    out
}
