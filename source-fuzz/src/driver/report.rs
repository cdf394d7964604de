//! The report of a run.

use std::{collections::BTreeMap, path::PathBuf};

use quadrants_source_fuzz::{Coverage, Module};

use super::{compile::RustcRejection, execute::RunOutcome};

/// The defects that traps find if their fixes are reverted.
const KNOWN: [u8; 4] = [1, 2, 3, 4];

/// The results of a run.
#[derive(Debug)]
pub(crate) struct FuzzReport<'a> {
    seed: u64,
    modules: &'a [Module],
    rejected: &'a BTreeMap<u64, RustcRejection>,
    verdicts: &'a BTreeMap<u64, RunOutcome>,
    folder: PathBuf,
}

/// The outcomes of the modules with one kind of trap.
#[derive(Default)]
struct Sums {
    all: usize,
    rejected: usize,
    agree: usize,
    errors: usize,
    differ: usize,
    crash: usize,
}

impl<'a> FuzzReport<'a> {
    pub(crate) fn new(
        seed: u64,
        modules: &'a [Module],
        rejected: &'a BTreeMap<u64, RustcRejection>,
        verdicts: &'a BTreeMap<u64, RunOutcome>,
        folder: &std::path::Path,
    ) -> Self {
        Self { seed, modules, rejected, verdicts, folder: folder.to_owned() }
    }

    /// Why a module failed, if it did.
    fn wrong(&self, module: &Module) -> Option<String> {
        let plain = module.traps.is_empty();
        if let Some(of) = self.rejected.get(&module.number) {
            return plain.then(|| format!("rejected without a trap:\n{}", of.rendered.trim_end()));
        }
        match self.verdicts.get(&module.number) {
            Some(RunOutcome::Agrees) => None,
            Some(RunOutcome::Error(text)) if plain && !text.starts_with("Kernel") => {
                Some(format!("no trap, and all runs return an error: {text}"))
            }
            Some(RunOutcome::Error(_)) => None,
            Some(RunOutcome::Differs(text)) => Some(format!("differs: {text}")),
            Some(RunOutcome::Crashed(text)) => Some(format!("crashed: {text}")),
            None => Some("did not run".to_owned()),
        }
    }

    pub(crate) fn is_fine(&self) -> bool {
        self.modules.iter().all(|module| self.wrong(module).is_none())
    }

    /// Whether all known defects were found.
    pub(crate) fn finds_all(&self) -> bool {
        KNOWN.iter().all(|bug| !self.of_bug(*bug).is_empty())
    }

    /// The modules in which a trap found this defect.
    fn of_bug(&self, bug: u8) -> Vec<u64> {
        let of = self.modules.iter().filter(|module| module.bugs.contains(&bug));
        of.filter(|module| self.wrong(module).is_some()).map(|module| module.number).collect()
    }

    pub(crate) fn print(&self, rejections: bool) {
        let mut coverage = Coverage::default();
        let mut kinds: BTreeMap<String, Sums> = BTreeMap::new();
        let mut all = Sums::default();
        for module in self.modules {
            coverage.add(&module.coverage);
            let kind = module.traps.first().and_then(|trap| trap.split_once('/'));
            let kind = kind.map_or("none".to_owned(), |(kind, _)| kind.to_owned());
            for sums in [&mut all, kinds.entry(kind).or_default()] {
                sums.all += 1;
                match self.verdicts.get(&module.number) {
                    _ if self.rejected.contains_key(&module.number) => sums.rejected += 1,
                    Some(RunOutcome::Agrees) => sums.agree += 1,
                    Some(RunOutcome::Error(_)) => sums.errors += 1,
                    Some(RunOutcome::Differs(_)) => sums.differ += 1,
                    Some(RunOutcome::Crashed(_)) | None => sums.crash += 1,
                }
            }
        }
        println!("\nproductions, and how often each was used");
        let mut unused = Vec::new();
        let counts = coverage.all();
        let used: Vec<_> = counts.iter().filter(|(_, count)| *count > 0).collect();
        for row in used.chunks(4) {
            let cells: Vec<_> =
                row.iter().map(|(name, count)| format!("{name:<24}{count:>6}")).collect();
            println!("  {}", cells.join("   "));
        }
        unused
            .extend(counts.iter().filter(|(_, count)| *count == 0).map(|(name, _)| name.as_str()));
        let covered = counts.len() - unused.len();
        println!(
            "productions never used: {}",
            if unused.is_empty() { "none".to_owned() } else { unused.join(", ") }
        );

        println!("\ntrap               kernels rejected    agree   errors   differ    crash");
        for (kind, sums) in
            kinds.iter().map(|(kind, sums)| (kind.as_str(), sums)).chain([("all", &all)])
        {
            let Sums { all, rejected, agree, errors, differ, crash } = sums;
            println!(
                "{kind:<18}{all:>8} {rejected:>8} {agree:>8} {errors:>8} {differ:>8} {crash:>8}"
            );
        }
        let mut causes: BTreeMap<String, usize> = BTreeMap::new();
        for (number, RustcRejection { why, .. }) in self.rejected {
            let module = self.modules.iter().find(|module| module.number == *number);
            let traps = module.map(|module| module.traps.join(", ")).unwrap_or_default();
            let code = why.split(':').next().unwrap_or_default();
            *causes.entry(code.to_owned()).or_default() += 1;
            if rejections {
                println!("rejected {number} ({traps}): {why}");
            }
        }
        let causes: Vec<_> = causes.iter().map(|(code, count)| format!("{code} {count}")).collect();
        println!("rejected by rustc's code: {}", causes.join(", "));
        for bug in KNOWN {
            let found = self.of_bug(bug);
            let of = self.modules.iter().filter(|module| module.bugs.contains(&bug)).count();
            println!("defect {bug}: found by {} of {of} traps {found:?}", found.len());
        }
        for module in self.modules {
            if let Some(what) = self.wrong(module) {
                let traps = if module.traps.is_empty() {
                    "no trap".to_owned()
                } else {
                    module.traps.join(", ")
                };
                println!(
                    "\nFAILED: seed {}, number {} ({traps}): {what}",
                    self.seed, module.number
                );
                println!("  source: {}", self.folder.join(module.file()).display());
                println!(
                    "  alone:  cargo xtask fuzz --seed {} --only {}",
                    self.seed, module.number
                );
            }
        }
        println!(
            "\n{} kernels, {} rejected, {} agree, {} agree on an error, {} differ, {} crash; {covered} of {} productions",
            all.all,
            all.rejected,
            all.agree,
            all.errors,
            all.differ,
            all.crash,
            counts.len()
        );
    }
}
