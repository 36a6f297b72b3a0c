//! The layers of `rle`: which part of the library may import which, and which part owns an outside
//! crate. `ARCHITECTURE.md` describes them.
//!
//! Every path of `rle/src` that begins with `crate` or `super`, in a `use` or in an expression, is
//! resolved through the re-exports to the module that defines its item. Code under `#[cfg(test)]`
//! is left out.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use proc_macro2::{Delimiter, Ident, TokenStream, TokenTree};

/// The parts of `rle/src`, from the bottom to the top. A part imports only parts before it.
const ORDER: [&str; 17] = [
    "near_match",
    "sync",
    "value",
    "error",
    "names",
    "machine",
    "fs",
    "timings",
    "profile",
    "metrics",
    "run",
    "record",
    "algorithm",
    "console",
    "suite",
    "cli",
    "private",
];

/// The outside crates that one part owns, and the only modules that may name them.
const OWNERS: [(&str, &[&str]); 7] = [
    ("inventory", &["algorithm::registry", "private"]),
    ("fs2", &["fs::lock"]),
    ("nvml_wrapper", &["machine::hardware::gpu"]),
    ("sysinfo", &["machine"]),
    ("sha2", &["value::digest"]),
    ("clap", &["cli"]),
    ("clap_complete", &["cli"]),
];

const MAX_LINES: usize = 500;

type ModulePath = Vec<String>;

/// A module that is not only for tests.
struct Module {
    file: PathBuf,
    /// The modules in files of their own that it declares, in the order of the declarations.
    parts: Vec<String>,
    /// The modules that it declares, inline ones too.
    children: BTreeSet<String>,
    /// The names that it imports, with their absolute paths.
    imports: BTreeMap<String, ModulePath>,
    references: Vec<Reference>,
    /// The parts list of its documentation.
    listed: Vec<String>,
}

/// A path as written in a module.
struct Reference {
    line: usize,
    path: ModulePath,
}

type Modules = BTreeMap<ModulePath, Module>;

/// Reads modules from their files.
struct Reader<'a> {
    root: &'a Path,
    modules: Modules,
}

impl Reader<'_> {
    /// Reads the module of a file, and those that it declares.
    fn read_file(&mut self, path: &ModulePath, file: &Path) {
        let text = fs::read_to_string(file).expect("a source file can be read");
        let tokens: TokenStream = text.parse().expect("a source file is Rust");
        let listed = text
            .lines()
            .take_while(|line| line.starts_with("//!"))
            .filter_map(|line| line.strip_prefix("//! - `")?.split_once("`: "))
            .map(|(name, _)| name.to_owned())
            .collect();
        self.read_module(path, file, tokens, listed);
    }

    fn read_module(
        &mut self,
        path: &ModulePath,
        file: &Path,
        tokens: TokenStream,
        listed: Vec<String>,
    ) {
        let module = Module {
            file: file.to_owned(),
            parts: Vec::new(),
            children: BTreeSet::new(),
            imports: BTreeMap::new(),
            references: Vec::new(),
            listed,
        };
        self.modules.insert(path.clone(), module);
        self.read_tokens(path, &trees(tokens));
    }

    fn module(&mut self, path: &ModulePath) -> &mut Module {
        self.modules.get_mut(path).expect("a module is added before its content")
    }

    fn read_tokens(&mut self, path: &ModulePath, trees: &[TokenTree]) {
        let mut at = 0;
        while at < trees.len() {
            at += match &trees[at] {
                _ if is_test_attribute(trees, at) => 2 + item_length(&trees[at + 2..]),
                TokenTree::Ident(word) if word == "mod" => self.read_mod(path, &trees[at..]),
                TokenTree::Ident(word) if word == "use" => {
                    let length = item_length(&trees[at..]);
                    self.read_use(path, &[], &trees[at + 1..at + length - 1]);
                    length
                }
                TokenTree::Ident(word) if word == "pub" => {
                    1 + usize::from(is_group(trees.get(at + 1), Delimiter::Parenthesis))
                }
                TokenTree::Ident(word) if !is_after_colons(trees, at) => {
                    self.read_path(path, word, &trees[at..])
                }
                TokenTree::Group(group) => {
                    self.read_tokens(path, &self::trees(group.stream()));
                    1
                }
                _ => 1,
            };
        }
    }

    /// Reads `mod name;` or `mod name { .. }`, and says how many tokens it has.
    fn read_mod(&mut self, path: &ModulePath, trees: &[TokenTree]) -> usize {
        let Some(TokenTree::Ident(name)) = trees.get(1) else { return 1 };
        let child: ModulePath = path.iter().cloned().chain([name.to_string()]).collect();
        let file = self.module(path).file.clone();
        self.module(path).children.insert(name.to_string());
        if let Some(TokenTree::Group(group)) = trees.get(2) {
            self.read_module(&child, &file, group.stream(), Vec::new());
        } else {
            self.module(path).parts.push(name.to_string());
            let stem = child.iter().fold(self.root.to_owned(), |dir, part| dir.join(part));
            let flat = stem.with_extension("rs");
            let file = if flat.is_file() { flat } else { stem.join("mod.rs") };
            self.read_file(&child, &file);
        }
        3
    }

    /// Reads the tree of a `use`: a path that ends in a name, in `*` or in a group of more trees.
    fn read_use(&mut self, module: &ModulePath, prefix: &[Ident], trees: &[TokenTree]) {
        for tree in trees.split(|tree| is_punct(tree, ',')) {
            let mut path = prefix.to_vec();
            let mut alias = None;
            for (at, part) in tree.iter().enumerate() {
                match part {
                    TokenTree::Ident(word) if word == "as" => {
                        alias = tree.get(at + 1).map(ToString::to_string);
                        break;
                    }
                    TokenTree::Ident(word) => path.push(word.clone()),
                    TokenTree::Group(group) => {
                        self.read_use(module, &path, &self::trees(group.stream()));
                        path.clear();
                    }
                    _ => {}
                }
            }
            self.add_import(module, &path, alias);
        }
    }

    fn add_import(&mut self, module: &ModulePath, path: &[Ident], alias: Option<String>) {
        let Some(first) = path.first() else { return };
        let line = first.span().start().line.max(path[path.len() - 1].span().start().line);
        let mut words: ModulePath = path.iter().map(ToString::to_string).collect();
        words.pop_if(|last| last == "self");
        let absolute = absolute(module, &words);
        if let Some(name) = alias.or_else(|| absolute.last().cloned()) {
            self.module(module).imports.insert(name, absolute.clone());
        }
        self.module(module).references.push(Reference { line, path: absolute });
    }

    /// Reads a path in an expression or a type, and says how many tokens it has.
    fn read_path(&mut self, module: &ModulePath, first: &Ident, trees: &[TokenTree]) -> usize {
        let mut words = vec![first.to_string()];
        let mut length = 1;
        while let [colon, second, TokenTree::Ident(word), ..] = &trees[length..]
            && is_punct(colon, ':')
            && is_punct(second, ':')
        {
            words.push(word.to_string());
            length += 3;
        }
        if length > 1 {
            let line = first.span().start().line;
            let path = absolute(module, &words);
            self.module(module).references.push(Reference { line, path });
        }
        length
    }
}

/// A path from the root of the crate where it begins with `crate`, `self` or `super`; else as it
/// is, after the empty name.
fn absolute(module: &ModulePath, words: &[String]) -> ModulePath {
    let mut path = module.clone();
    for (at, word) in words.iter().enumerate() {
        match word.as_str() {
            "crate" => path.clear(),
            "self" => {}
            "super" => drop(path.pop()),
            _ if at == 0 => return [String::new()].into_iter().chain(words.to_vec()).collect(),
            _ => path.push(word.clone()),
        }
    }
    path
}

fn trees(tokens: TokenStream) -> Vec<TokenTree> {
    tokens.into_iter().collect()
}

fn is_punct(tree: &TokenTree, c: char) -> bool {
    matches!(tree, TokenTree::Punct(punct) if punct.as_char() == c)
}

fn is_group(tree: Option<&TokenTree>, delimiter: Delimiter) -> bool {
    matches!(tree, Some(TokenTree::Group(group)) if group.delimiter() == delimiter)
}

fn is_after_colons(trees: &[TokenTree], at: usize) -> bool {
    at > 1 && is_punct(&trees[at - 1], ':') && is_punct(&trees[at - 2], ':')
}

/// Whether `#[cfg(test)]` or a `cfg(all(test, ..))` is at this place.
fn is_test_attribute(trees: &[TokenTree], at: usize) -> bool {
    let Some([hash, TokenTree::Group(group)]) = trees.get(at..at + 2) else { return false };
    let text = group.to_string().replace(' ', "");
    is_punct(hash, '#') && (text == "[cfg(test)]" || text.starts_with("[cfg(all(test,"))
}

/// How many tokens an item has: up to its first `{..}` or `;`, for a `use` up to the `;`.
fn item_length(trees: &[TokenTree]) -> usize {
    let is_use = |tree: &TokenTree| matches!(tree, TokenTree::Ident(word) if word == "use");
    let has_blocks = !trees.iter().take(3).any(is_use);
    let ends = |tree: &TokenTree| {
        is_punct(tree, ';') || has_blocks && is_group(Some(tree), Delimiter::Brace)
    };
    trees.iter().position(ends).map_or(trees.len(), |at| at + 1)
}

/// The module that defines the item of a path, and the item's name; `None` for other crates.
fn resolve(modules: &Modules, from: &ModulePath, path: &[String]) -> Option<(ModulePath, String)> {
    let mut words = path.to_vec();
    for _ in 0..16 {
        let mut module = ModulePath::new();
        let mut rest = words.as_slice();
        if let [empty, first, ..] = rest
            && empty.is_empty()
        {
            let here = &modules[from];
            let is_known = here.children.contains(first)
                || here.imports.get(first).is_some_and(|target| !target[0].is_empty());
            if !is_known {
                return None;
            }
            module.clone_from(from);
            rest = &rest[1..];
        }
        while let [first, after @ ..] = rest
            && modules[&module].children.contains(first)
        {
            module.push(first.clone());
            rest = after;
        }
        let Some((item, after)) = rest.split_first() else { return Some((module, String::new())) };
        match modules[&module].imports.get(item) {
            Some(target) if *target != words => {
                words = if target.first().is_some_and(String::is_empty) {
                    // An import relative to its own module: of a child, or of another crate.
                    let children = &modules[&module].children;
                    children.contains(&target[1]).then_some(())?;
                    module.iter().chain(&target[1..]).chain(after).cloned().collect()
                } else {
                    target.iter().chain(after).cloned().collect()
                };
            }
            _ => return Some((module, item.clone())),
        }
    }
    None
}

/// The parts of a module, from the bottom to the top.
fn order_of<'a>(modules: &'a Modules, module: &ModulePath) -> Vec<&'a str> {
    if module.is_empty() {
        return ORDER.to_vec();
    }
    modules[module].listed.iter().map(String::as_str).collect()
}

/// What is wrong with an import, if anything is.
fn fault_of_import(modules: &Modules, from: &ModulePath, path: &[String]) -> Option<String> {
    let (to, item) = resolve(modules, from, path)?;
    let common = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
    if common == from.len() {
        return None;
    }
    let (ancestor, part) = (from[..common].to_vec(), &from[common]);
    let folder = if common == 0 { "rle/src".to_owned() } else { ancestor.join("::") };
    let Some(imported) = to.get(common) else {
        let is_type = item.is_empty() || item.starts_with(|c: char| c.is_ascii_uppercase());
        return (!is_type).then(|| {
            format!(
                "`{part}` uses the function `{item}` of `{folder}`, which is above it: move the \
                 function into a part below `{part}`"
            )
        });
    };
    let order = order_of(modules, &ancestor);
    let place = |name: &str| order.iter().position(|other| *other == name);
    match (place(imported), place(part)) {
        (Some(below), Some(above)) if below < above => None,
        (Some(_), Some(_)) => Some(format!(
            "`{part}` imports `{imported}` ({}), which comes after it in the order of {folder}: \
             move what is needed into a part before `{part}`, or change the order",
            [to.join("::"), item].join("::")
        )),
        // A missing entry of a list is an error of its own.
        _ => None,
    }
}

static LIBRARY: LazyLock<Modules> = LazyLock::new(|| {
    let root = source();
    let mut reader = Reader { root: &root, modules: Modules::new() };
    reader.read_file(&ModulePath::new(), &root.join("lib.rs"));
    reader.modules
});

fn source() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../rle/src")
}

fn location(file: &Path, line: usize) -> String {
    format!("rle/src/{}:{line}", file.strip_prefix(source()).unwrap_or(file).display())
}

fn assert_none(faults: &[String]) {
    assert!(faults.is_empty(), "{} to mend:\n{}", faults.len(), faults.join("\n"));
}

#[test]
fn imports_point_down() {
    let mut faults = Vec::new();
    for (path, module) in &*LIBRARY {
        for reference in &module.references {
            if let Some(fault) = fault_of_import(&LIBRARY, path, &reference.path) {
                let location = location(&module.file, reference.line);
                faults.push(format!("{location}: {fault}"));
            }
        }
    }
    faults.dedup();
    assert_none(&faults);
}

#[test]
fn folders_list_their_parts() {
    let mut faults = Vec::new();
    for (path, module) in &*LIBRARY {
        let location = location(&module.file, 1);
        let listed = order_of(&LIBRARY, path);
        if module.parts.len() > 1 {
            for part in module.parts.iter().filter(|part| !listed.contains(&part.as_str())) {
                faults.push(format!(
                    "{location}: `{part}` is not in the parts list: add a line \
                     \"//! - `{part}`: what it is.\" after the parts that it imports"
                ));
            }
        }
        for name in listed.iter().filter(|name| !module.children.contains(**name)) {
            faults.push(format!(
                "{location}: the parts list names `{name}`, which is not a module of this folder: \
                 remove the line"
            ));
        }
    }
    assert_none(&faults);
}

#[test]
fn outside_crates_have_one_owner() {
    let mut faults = Vec::new();
    for (path, module) in &*LIBRARY {
        let name = path.join("::");
        let owns = |owner: &&str| name == **owner || name.starts_with(&format!("{owner}::"));
        for Reference { line, path } in &module.references {
            let [empty, outside, ..] = path.as_slice() else { continue };
            let owner = OWNERS.iter().find(|(known, _)| empty.is_empty() && known == outside);
            if let Some((outside, owners)) = owner
                && !owners.iter().any(owns)
            {
                faults.push(format!(
                    "{}: `{outside}` belongs to {}: use what that module offers, or add it there",
                    location(&module.file, *line),
                    owners.join(" and ")
                ));
            }
        }
    }
    assert_none(&faults);
}

#[test]
fn files_are_short() {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut faults = Vec::new();
    let mut dirs = vec![workspace.join("rle/src"), workspace.join("rle-macros/src")];
    while let Some(dir) = dirs.pop() {
        for entry in fs::read_dir(&dir).expect("a source folder can be read") {
            let path = entry.expect("a source folder can be read").path();
            if path.is_dir() {
                dirs.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let lines = fs::read_to_string(&path).expect("UTF-8").lines().count();
                if lines > MAX_LINES {
                    let path = path.strip_prefix(&workspace).unwrap_or(&path).display();
                    faults.push(format!(
                        "{path}: {lines} lines, at most {MAX_LINES} are accepted: split it"
                    ));
                }
            }
        }
    }
    assert_none(&faults);
}

#[test]
fn the_guides_name_files_that_exist() {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut faults = Vec::new();
    for guide in ["ARCHITECTURE.md", "CONTRIBUTING.md"] {
        let text = fs::read_to_string(workspace.join(guide)).expect("a guide can be read");
        for (number, line) in text.lines().enumerate() {
            let is_path = |word: &&str| !word.contains(' ') && word.contains('/');
            for path in line.split('`').skip(1).step_by(2).filter(is_path) {
                if !workspace.join(path).exists() {
                    let line = number + 1;
                    faults.push(format!("{guide}:{line}: `{path}` does not exist: correct it"));
                }
            }
        }
    }
    assert_none(&faults);
}
