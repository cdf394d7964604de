//! The modules of a crate have an order: no top-level module imports from one that imports from it, directly or through
//! others. `impl` blocks of one type in several files are no cycle, since nothing is imported from such a file.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use syn::{
    Attribute, Item, ItemMod, ItemUse, UseTree, Visibility,
    visit::{self, Visit},
};

/// The crates whose modules are checked.
const CRATES: [&str; 13] = [
    "rhi",
    "rhi-cpu",
    "rhi-cuda",
    "rhi-amdgpu",
    "runtime",
    "ir",
    "codegen",
    "frontend",
    "macros",
    "driver-sim",
    "program",
    "collectives",
    "quadrants",
];

type Module = Vec<String>;

/// The paths that a file names, and those that it exports under other modules' names.
#[derive(Default)]
struct File {
    paths: Vec<Module>,
    exports: Vec<Module>,
}

/// Whether an item is for tests only.
fn is_test(attributes: &[Attribute]) -> bool {
    let is_test = |attribute: &Attribute| {
        attribute.path().is_ident("cfg")
            && attribute.parse_args::<syn::Ident>().is_ok_and(|name| name == "test")
    };
    attributes.iter().any(is_test)
}

fn expand(tree: &UseTree, prefix: &Module, out: &mut Vec<Module>) {
    let with = |name: String| [prefix.clone(), vec![name]].concat();
    match tree {
        UseTree::Path(path) => expand(&path.tree, &with(path.ident.to_string()), out),
        UseTree::Group(group) => group.items.iter().for_each(|tree| expand(tree, prefix, out)),
        UseTree::Name(name) => out.push(with(name.ident.to_string())),
        UseTree::Rename(name) => out.push(with(name.ident.to_string())),
        UseTree::Glob(_) => out.push(with("*".to_owned())),
    }
}

impl<'ast> Visit<'ast> for File {
    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        let out = match item.vis {
            Visibility::Inherited => &mut self.paths,
            _ => &mut self.exports,
        };
        expand(&item.tree, &Vec::new(), out);
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let names: Module = path.segments.iter().map(|part| part.ident.to_string()).collect();
        if ["crate", "super"].contains(&names[0].as_str()) {
            self.paths.push(names);
        }
        visit::visit_path(self, path);
    }

    fn visit_item(&mut self, item: &'ast Item) {
        let attributes = match item {
            Item::Mod(ItemMod { attrs, .. }) | Item::Fn(syn::ItemFn { attrs, .. }) => &attrs[..],
            Item::Impl(syn::ItemImpl { attrs, .. }) | Item::Use(ItemUse { attrs, .. }) => attrs,
            _ => &[],
        };
        if !is_test(attributes) {
            visit::visit_item(self, item);
        }
    }
}

fn read(folder: &Path, module: &Module, files: &mut BTreeMap<Module, File>) {
    for entry in std::fs::read_dir(folder).expect("a folder of sources") {
        let path = entry.expect("an entry").path();
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let own = match name.as_str() {
            "tests" | "bin" => continue,
            "lib" | "mod" | "main" => module.clone(),
            _ => [module.clone(), vec![name]].concat(),
        };
        if path.is_dir() {
            read(&path, &own, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = std::fs::read_to_string(&path).expect("a source");
            let parsed =
                syn::parse_file(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
            files.entry(own).or_default().visit_file(&parsed);
        }
    }
}

/// The module that has the item of a path in a module. None for paths into other crates.
fn module_of(files: &BTreeMap<Module, File>, from: &Module, path: &[String]) -> Option<Module> {
    fn find(
        files: &BTreeMap<Module, File>,
        from: &Module,
        path: &[String],
        depth: u32,
    ) -> Option<Module> {
        let (mut module, mut rest) = match path.first()?.as_str() {
            "crate" => (Vec::new(), &path[1..]),
            "self" => (from.clone(), &path[1..]),
            "super" => (from.clone(), path),
            _ => (from.clone(), path),
        };
        while rest.first().is_some_and(|name| name == "super") {
            module.pop();
            rest = &rest[1..];
        }
        let mut inside = path[0] == "crate" || path[0] == "self" || path[0] == "super";
        while let Some((name, after)) = rest.split_first() {
            let child = [module.clone(), vec![name.clone()]].concat();
            if !files.contains_key(&child) {
                break;
            }
            (module, rest, inside) = (child, after, true);
        }
        let (true, Some(name)) = (inside && depth < 8, rest.first()) else {
            return inside.then_some(module);
        };
        let exports = files.get(&module).map_or(&[][..], |file| &file.exports);
        let export = exports.iter().find(|export| export.last() == Some(name));
        export.and_then(|export| find(files, &module, export, depth + 1)).or(Some(module))
    }
    find(files, from, path, 0)
}

/// The top-level modules that each imports from.
fn imports(files: &BTreeMap<Module, File>) -> BTreeMap<String, BTreeSet<String>> {
    let mut imports: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (module, file) in files {
        let Some(top) = module.first() else { continue };
        for path in file.paths.iter().chain(&file.exports) {
            let other = module_of(files, module, path).and_then(|other| other.first().cloned());
            if let Some(other) = other.filter(|other| other != top) {
                imports.entry(top.clone()).or_default().insert(other);
            }
        }
    }
    imports
}

fn reachable(imports: &BTreeMap<String, BTreeSet<String>>, from: &str) -> BTreeSet<String> {
    let (mut found, mut left) = (BTreeSet::new(), vec![from.to_owned()]);
    while let Some(module) = left.pop() {
        for next in imports.get(&module).into_iter().flatten() {
            if found.insert(next.clone()) {
                left.push(next.clone());
            }
        }
    }
    found
}

#[test]
fn modules_do_not_import_from_each_other_in_a_cycle() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("a workspace");
    for name in CRATES {
        let mut files = BTreeMap::new();
        read(&root.join(name).join("src"), &Vec::new(), &mut files);
        let imports = imports(&files);
        let all: BTreeSet<&String> = imports.keys().collect();
        let cycles: BTreeSet<Vec<String>> = all
            .iter()
            .map(|module| {
                let mutual = |other: &&&String| {
                    reachable(&imports, module).contains(**other)
                        && reachable(&imports, other).contains(*module)
                };
                all.iter().filter(mutual).map(|module| (**module).clone()).collect()
            })
            .filter(|cycle: &Vec<String>| cycle.len() > 1)
            .collect();
        assert!(cycles.is_empty(), "{name}: modules that import from each other: {cycles:?}");
        assert!(imports.len() > 1 || name == "quadrants", "{name}: {imports:?}");
    }
}
