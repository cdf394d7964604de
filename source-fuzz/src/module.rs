//! A module of a generated crate: items, a kernel, and what runs it.

use crate::{generate::Generator, grammar::Coverage, rng::Rng, traps::Trap};

/// The percentage of modules with a trap.
const TRAPPED: usize = 55;

/// A generated module.
#[derive(Clone, Debug)]
pub struct Module {
    /// The seed of the run.
    pub seed: u64,
    /// The module's number. With the seed, it determines the module.
    pub number: u64,
    /// The kind of trap that was requested.
    pub kind: Option<String>,
    /// The traps: kind and name.
    pub traps: Vec<String>,
    /// The known defects that the traps find.
    pub bugs: Vec<u8>,
    /// The whole file.
    pub source: String,
    /// The productions used.
    pub coverage: Coverage,
}

impl Module {
    /// The module with this number; with `kind`, it has a trap of that kind.
    #[must_use]
    pub fn new(seed: u64, number: u64, kind: Option<&str>) -> Self {
        let mut generator = Generator::new(Rng::part(seed, number));
        let trapped = generator.rng.percent(TRAPPED) || kind.is_some();
        let mut traps: Vec<Trap> = Vec::new();
        let mut items = String::new();
        for _ in 0..generator.rng.below(3) {
            let text = generator.structure(None);
            items.push_str(&text);
        }
        let structs = generator.structs.len();
        for _ in 0..generator.rng.below(3) {
            let text = generator.table();
            items.push_str(&text);
        }
        if trapped {
            let mut trap = generator.trap(kind);
            if trap.params.is_empty() && !trap.glob && generator.rng.percent(25) {
                generator.hit("trap.by_glob");
                let macros = if trap.items.contains("macro_rules") { "#[macro_use]\n" } else { "" };
                trap.items = format!(
                    "{macros}pub mod given {{\nuse quadrants::{{self as qd, Tensor, Vector, Matrix}};\n{}}}\nuse given::*;\n",
                    trap.items
                );
                trap.label.push_str(" by glob");
            }
            traps.push(trap);
            if generator.rng.percent(25) {
                generator.hit("trap.second");
                traps.push(generator.second_trap());
            }
        }
        let helpers = generator.items(structs);
        items.push_str(&helpers);
        let trap = traps.first().cloned().unwrap_or_default();
        let (generics, instance) = match &trap.generics {
            Some((generics, instance)) => (generics.clone(), instance.clone()),
            None if !trapped && generator.rng.percent(20) => {
                generator.hit("kernel.generic");
                let (bound, num) = generator.some_bound();
                generator.with_param("T", bound, num);
                (format!("<T: qd::{}>", bound.name()), format!("::<{}>", num.name()))
            }
            None => (String::new(), String::new()),
        };
        // An argument determines the type parameter.
        let mut params = trap.params.clone();
        if !instance.is_empty() && params.is_empty() {
            params.push(("n".to_owned(), crate::types::Ty::Param));
        }
        let given: String = traps.iter().map(|trap| trap.items.as_str()).collect();
        let kernel = generator.kernel(&generics, &instance, &params);
        generator.param = None;
        let values = generator.values();
        let imports = match (&trap.library, trap.glob) {
            (Some(item), _) => format!(
                "pub mod qd {{ pub use quadrants::*; {item} }}\nuse quadrants::{{Tensor, Vector, Matrix}};\n"
            ),
            (None, true) => "use quadrants::{self as qd};\nuse quadrants::*;\n".to_owned(),
            (None, false) => "use quadrants::{self as qd, Tensor, Vector, Matrix};\n".to_owned(),
        };
        let named: Vec<_> = traps.iter().map(|trap| trap.label.clone()).collect();
        let bugs: Vec<_> = traps.iter().filter_map(|trap| trap.bug).collect();
        let what = if named.is_empty() { "no trap".to_owned() } else { named.join(", ") };
        let source = format!(
            "//! Seed {seed}, number {number}: {what}.\n\nuse quadrants_source_fuzz::{{rng::Rng, stage::{{Stage, Value}}}};\n\n\
             pub mod user {{\n{imports}\n{}{items}\n{}}}\n\n{values}\n{}",
            given, kernel.kernel, kernel.run
        );
        let (kind, coverage) = (kind.map(str::to_owned), generator.coverage);
        Self { seed, number, kind, traps: named, bugs, source, coverage }
    }

    /// The file's name.
    #[must_use]
    pub fn file(&self) -> String {
        format!("k{}.rs", self.number)
    }
}

impl Generator {
    /// Funcs, methods and funcs of traits.
    fn items(&mut self, structs: usize) -> String {
        let mut items = String::new();
        // Funcs cannot use the kernel's type parameter.
        let outer = self.param.take();
        for at in 0..structs {
            if self.rng.percent(40) {
                items.push_str(&self.methods(at));
            }
        }
        if structs > 0 && self.rng.percent(25) {
            let of = self.rng.below(structs);
            items.push_str(&self.func_trait(of));
        }
        for _ in 0..self.rng.below(3) {
            match self.rng.below(6) {
                5 => items.push_str(&self.writer()),
                0 => items.push_str(&self.generic_func("")),
                1 => items.push_str(&self.func_of_constant()),
                2 => {
                    self.hit("item.module");
                    let text = self.func(Some("helpers"));
                    let open = "pub mod helpers {\nuse super::*;\n";
                    if items.contains(open) {
                        items = items.replace(open, &format!("{open}{text}"));
                    } else {
                        items.push_str(&format!("{open}{text}}}\n"));
                    }
                }
                _ => items.push_str(&self.func(None)),
            }
        }
        self.param = outer;
        items
    }

    /// The implementations of `Value` for the structs.
    fn values(&self) -> String {
        let mut text = String::new();
        for of in &self.structs {
            let (name, all) = (&of.name, format!("{}{}", of.name, of.of));
            let fields: Vec<_> =
                of.fields.iter().map(|(field, _)| format!("{field}: Value::sample(rng)")).collect();
            let bits: Vec<_> = of
                .fields
                .iter()
                .map(|(field, _)| format!("Value::bits(&self.{field}, out);"))
                .collect();
            text.push_str(&format!(
                "impl Value for user::{all} {{\nfn sample(rng: &mut Rng) -> Self {{ user::{name} {{ {} }} }}\nfn bits(&self, out: &mut Vec<u64>) {{ {} }}\n}}\n",
                fields.join(", "),
                bits.join(" ")
            ));
        }
        text
    }
}
