//! No import cycle within a crate has more than three files: what imports each other can only be understood, tested and
//! changed together.
//!
//! The sources are read as tokens. A file imports another one where a `use` or a path (`crate::…`, `super::…`, `self::…`, or
//! the name of a child) leads to something that the other one defines; a name that a module only passes on (`pub use`) is
//! followed to where it comes from. `mod x;` and passing on the names of one's own children import nothing, and tests may
//! import what they like.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// The most files that may import each other.
const MOST: usize = 3;

/// Files that only tests and benches have, though their names do not say so. All others are read.
const OF_TESTS: [&str; 8] = [
    "cli/chat/src/provider/plain.rs",
    "cli/provider/src/samples.rs",
    "cli/provider/src/script.rs",
    "host/src/command/fuzz.rs",
    "host/src/command/fuzz/lines.rs",
    "host/src/edit/apply/model.rs",
    "host/src/resolve/fuzz.rs",
    "tests/src/imports.rs",
];

/// A path in the source, and the module that it is written in.
#[derive(Clone)]
struct Import {
    module: Vec<String>,
    path: Vec<String>,
    /// `pub use`
    is_public: bool,
}

#[derive(Default)]
struct Module {
    file: PathBuf,
    /// What `use` names here: public or not, since children see both.
    names: BTreeMap<String, Vec<String>>,
}

/// The modules of a crate by their paths, and all that is imported.
#[derive(Default)]
struct Crate {
    modules: BTreeMap<Vec<String>, Module>,
    imports: Vec<Import>,
}

fn ident(token: Option<&TokenTree>) -> Option<String> {
    match token {
        Some(TokenTree::Ident(ident)) => Some(ident.to_string()),
        _ => None,
    }
}

fn is_mark(token: Option<&TokenTree>, mark: char) -> bool {
    matches!(token, Some(TokenTree::Punct(punct)) if punct.as_char() == mark)
}

fn group(token: Option<&TokenTree>, delimiter: Delimiter) -> Option<TokenStream> {
    match token {
        Some(TokenTree::Group(group)) if group.delimiter() == delimiter => Some(group.stream()),
        _ => None,
    }
}

/// Whether `::` is at this place.
fn is_joint(tokens: &[TokenTree], at: usize) -> bool {
    is_mark(tokens.get(at), ':') && is_mark(tokens.get(at + 1), ':')
}

impl Crate {
    fn read(root: &Path) -> Crate {
        let mut found = Crate::default();
        let folder = root.parent().expect("a folder");
        found.read_file(root, folder, &[]);
        found
    }

    /// `folder` is where the files of the module's children are.
    fn read_file(&mut self, file: &Path, folder: &Path, module: &[String]) {
        let source = fs::read_to_string(file).expect("a source");
        let tokens = source.parse().expect("Rust");
        self.read_module(tokens, file, folder, module);
    }

    fn read_module(&mut self, tokens: TokenStream, file: &Path, folder: &Path, module: &[String]) {
        let new = Module {
            file: file.to_owned(),
            ..Module::default()
        };
        self.modules.insert(module.to_vec(), new);
        self.scan(tokens, file, folder, module);
    }

    fn scan(&mut self, tokens: TokenStream, file: &Path, folder: &Path, module: &[String]) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let mut at = 0;
        while at < tokens.len() {
            let attribute = group(tokens.get(at + 1), Delimiter::Bracket);
            if let Some(attribute) = attribute.filter(|_| is_mark(tokens.get(at), '#')) {
                let text = attribute.to_string().replace(' ', "");
                at += 2;
                if text.starts_with("cfg(") && text.contains("test") && !text.contains("not(test") {
                    let is_end = |token: &TokenTree| {
                        is_mark(Some(token), ';') || group(Some(token), Delimiter::Brace).is_some()
                    };
                    at += tokens[at..]
                        .iter()
                        .position(is_end)
                        .map_or(0, |end| end + 1);
                }
                continue;
            }
            let word = ident(tokens.get(at));
            match word.as_deref() {
                // `pub(in crate::a)` imports nothing.
                Some("pub") if group(tokens.get(at + 1), Delimiter::Parenthesis).is_some() => {
                    at += 2;
                    continue;
                }
                Some("mod") => {
                    if let Some(name) = ident(tokens.get(at + 1)) {
                        self.child(&name, tokens.get(at + 2), file, folder, module);
                        at += 3;
                        continue;
                    }
                }
                Some("use") => {
                    let end = tokens[at..].iter().position(|it| is_mark(Some(it), ';'));
                    let end = end.map_or(tokens.len(), |end| at + end);
                    let before = at.checked_sub(1).and_then(|before| tokens.get(before));
                    let is_public = ident(before).as_deref() == Some("pub")
                        || group(before, Delimiter::Parenthesis).is_some();
                    self.names(&tokens[at + 1..end], &[], is_public, module);
                    at = end;
                    continue;
                }
                Some(first) if is_joint(&tokens, at + 1) => {
                    let mut path = vec![first.to_owned()];
                    at += 1;
                    while is_joint(&tokens, at)
                        && let Some(next) = ident(tokens.get(at + 2))
                    {
                        path.push(next);
                        at += 3;
                    }
                    self.imports.push(Import {
                        module: module.to_vec(),
                        path,
                        is_public: false,
                    });
                    continue;
                }
                _ => {}
            }
            if let Some(TokenTree::Group(group)) = tokens.get(at) {
                self.scan(group.stream(), file, folder, module);
            }
            at += 1;
        }
    }

    fn child(
        &mut self,
        name: &str,
        body: Option<&TokenTree>,
        file: &Path,
        folder: &Path,
        module: &[String],
    ) {
        let mut path = module.to_vec();
        path.push(name.to_owned());
        let inner = folder.join(name);
        if let Some(body) = group(body, Delimiter::Brace) {
            return self.read_module(body, file, &inner, &path);
        }
        let files = [inner.with_extension("rs"), inner.join("mod.rs")];
        // One of another kind (`#[path]`) is none of the crate's modules to us.
        if let Some(file) = files.iter().find(|file| file.exists()) {
            self.read_file(file, &inner, &path);
        }
    }

    /// The names of a tree of `use`.
    fn names(
        &mut self,
        tokens: &[TokenTree],
        prefix: &[String],
        is_public: bool,
        module: &[String],
    ) {
        for tree in tokens.split(|token| is_mark(Some(token), ',')) {
            let mut path = prefix.to_vec();
            let mut alias = None;
            let mut tokens = tree.iter();
            while let Some(token) = tokens.next() {
                match token {
                    TokenTree::Ident(word) if word == "as" => alias = ident(tokens.next()),
                    TokenTree::Ident(word) => path.push(word.to_string()),
                    TokenTree::Group(group) => {
                        let inner: Vec<TokenTree> = group.stream().into_iter().collect();
                        self.names(&inner, &path, is_public, module);
                        path.clear();
                    }
                    _ => {}
                }
            }
            // `use a::{self}`
            if path.len() > 1 && path.last().is_some_and(|last| last == "self") {
                path.pop();
            }
            let Some(name) = alias.or_else(|| path.last().cloned()) else {
                continue;
            };
            if let Some(module) = self.modules.get_mut(module) {
                module.names.insert(name, path.clone());
            }
            self.imports.push(Import {
                module: module.to_vec(),
                path,
                is_public,
            });
        }
    }

    /// The module that defines what a path leads to from a module; `None`: it is in another crate.
    fn definition(&self, module: &[String], path: &[String], depth: usize) -> Option<Vec<String>> {
        let mut here = module.to_vec();
        let mut rest = path;
        match rest.first()?.as_str() {
            "crate" => {
                here.clear();
                rest = &rest[1..];
            }
            "self" => rest = &rest[1..],
            "super" => {}
            first => {
                here.push(first.to_owned());
                let is_child = self.modules.contains_key(&here);
                here.pop();
                // Another name is that of a crate, or one that a `use` brought here.
                if !is_child {
                    let known = self.modules.get(module)?.names.get(first)?;
                    let is_itself = known.as_slice() == &path[..1];
                    return match is_itself || depth == 0 {
                        true => None,
                        false => {
                            let whole: Vec<String> =
                                known.iter().chain(&path[1..]).cloned().collect();
                            self.definition(module, &whole, depth - 1)
                        }
                    };
                }
            }
        }
        while let Some(next) = rest.first() {
            if next == "super" {
                here.pop();
            } else {
                here.push(next.clone());
                if !self.modules.contains_key(&here) {
                    here.pop();
                    let passed = self.modules.get(&here)?.names.get(next);
                    return match passed.filter(|_| depth > 0) {
                        Some(path) => {
                            let whole: Vec<String> =
                                path.iter().chain(&rest[1..]).cloned().collect();
                            self.definition(&here, &whole, depth - 1)
                        }
                        None => Some(here),
                    };
                }
            }
            rest = &rest[1..];
        }
        Some(here)
    }

    /// The files that each file imports.
    fn edges(&self) -> BTreeMap<&Path, BTreeSet<&Path>> {
        let mut edges: BTreeMap<&Path, BTreeSet<&Path>> = BTreeMap::new();
        for import in &self.imports {
            let definition = self.definition(&import.module, &import.path, 8);
            let Some(definition) = definition else {
                continue;
            };
            if import.is_public && definition.starts_with(&import.module) {
                continue;
            }
            let from = self.modules[&import.module].file.as_path();
            let to = self.modules[&definition].file.as_path();
            if from != to {
                edges.entry(from).or_default().insert(to);
            }
        }
        edges
    }
}

/// All that can be reached from a file.
fn reached<'a>(
    edges: &BTreeMap<&'a Path, BTreeSet<&'a Path>>,
    from: &'a Path,
) -> BTreeSet<&'a Path> {
    let mut reached = BTreeSet::new();
    let mut open = vec![from];
    while let Some(file) = open.pop() {
        for next in edges.get(file).into_iter().flatten() {
            if reached.insert(*next) {
                open.push(next);
            }
        }
    }
    reached
}

/// The groups of files that import each other, directly or not.
fn cycles<'a>(edges: &BTreeMap<&'a Path, BTreeSet<&'a Path>>) -> BTreeSet<Vec<&'a Path>> {
    let all: BTreeMap<&Path, BTreeSet<&Path>> = edges
        .keys()
        .map(|file| (*file, reached(edges, file)))
        .collect();
    let group = |file: &&'a Path| {
        let reached = all[file].iter();
        let back = reached.filter(|other| all.get(*other).is_some_and(|it| it.contains(*file)));
        let group: Vec<&Path> = back.copied().collect();
        group
    };
    all.keys()
        .map(group)
        .filter(|group| group.len() > 1)
        .collect()
}

/// The files of a library that are not those of tests by their names, nor programs of their own.
fn source_files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let stem = path.file_stem().expect("a name").to_string_lossy();
        if stem == "tests" || stem.ends_with("_tests") || stem == "main" || stem == "bin" {
            continue;
        }
        if path.is_dir() {
            source_files(&path, found);
        } else if path.extension().is_some_and(|it| it == "rs") {
            found.push(path);
        }
    }
}

#[test]
fn no_import_cycle_has_more_than_three_files() {
    let repository = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
    let manifest = fs::read_to_string(repository.join("Cargo.toml")).expect("the workspace");
    let members = manifest.split_once("members = [").expect("members").1;
    let members = members.split_once(']').expect("an end").0;
    let members = members.split('"').skip(1).step_by(2);
    let short = |path: &Path| {
        let path = path.strip_prefix(repository).expect("below");
        path.display().to_string()
    };
    let mut long = String::new();
    let (mut unread, mut crates) = (Vec::new(), 0);
    for member in members.filter(|member| !member.ends_with('*')) {
        crates += 1;
        let folder = repository.join(member).join("src");
        let found = Crate::read(&folder.join("lib.rs"));
        let read: BTreeSet<&Path> = found.modules.values().map(|it| it.file.as_path()).collect();
        let mut sources = Vec::new();
        source_files(&folder, &mut sources);
        let others = sources.iter().filter(|path| !read.contains(path.as_path()));
        unread.extend(others.map(|path| short(path)));
        let edges = found.edges();
        for cycle in cycles(&edges)
            .into_iter()
            .filter(|cycle| cycle.len() > MOST)
        {
            long.push_str(&format!("{} files import each other:\n", cycle.len()));
            for file in &cycle {
                let inside = edges[file].iter().filter(|to| cycle.contains(to));
                let inside: Vec<String> = inside.map(|to| short(to)).collect();
                long.push_str(&format!("  {} → {}\n", short(file), inside.join(", ")));
            }
        }
    }
    unread.retain(|path| !OF_TESTS.contains(&path.as_str()));
    assert!(crates > 25, "{crates} crates were found");
    assert!(
        unread.is_empty(),
        "not read; a file of tests is named tests.rs or ends in _tests.rs: {unread:#?}"
    );
    assert!(long.is_empty(), "{long}");
}

#[test]
fn commands_and_chat_are_on_top_and_the_configuration_imports_nothing() {
    let source = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../cli/src"));
    let found = Crate::read(&source.join("lib.rs"));
    let edges = found.edges();
    let part = |file: &Path| {
        let file = file.strip_prefix(source).expect("below");
        let first = file.iter().next().expect("a name");
        first.to_string_lossy().trim_end_matches(".rs").to_owned()
    };
    let imports = edges
        .iter()
        .flat_map(|(from, to)| to.iter().map(|to| (*from, *to)));
    let (mut upward, mut seen, mut of_config) = (Vec::new(), 0, 0);
    for (from, to) in imports {
        let (part_of_from, part_of_to) = (part(from), part(to));
        if part_of_from == part_of_to {
            continue;
        }
        seen += 1;
        of_config += usize::from(part_of_to == "config");
        let is_above = matches!(&*part_of_to, "acp" | "commands" | "repl" | "serve");
        // These start the chat and the servers, and give the app its slash commands.
        let composes = part_of_from == "lib"
            || from.ends_with("commands/acp.rs")
            || from.ends_with("commands/make_app.rs")
            || from.ends_with("commands/chat.rs")
            || from.ends_with("commands/mcp/serve.rs");
        if is_above && !composes || part_of_from == "config" {
            let short = |path: &Path| {
                path.strip_prefix(source)
                    .expect("below")
                    .display()
                    .to_string()
            };
            upward.push(format!("{} → {}", short(from), short(to)));
        }
    }
    assert!(seen > 100, "{seen} imports between parts were found");
    assert!(of_config > 50, "{of_config} of them lead to config");
    assert_eq!(upward, Vec::<String>::new());
}

#[test]
fn imports_are_followed_to_what_defines_them() {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in [
        (
            "lib.rs",
            "mod a; mod b; pub mod c; #[cfg(test)] mod tests { use crate::c::D; }",
        ),
        // A name that is passed on, and a child that is used by its name.
        (
            "a.rs",
            "mod inner; pub use self::inner::Inner; pub fn f() { crate::c::g(); }",
        ),
        (
            "a/inner.rs",
            "use super::f; pub struct Inner; fn g() -> crate::b::B { f() }",
        ),
        (
            "b.rs",
            "use crate::{a::Inner as Other, c::{self}}; pub struct B(Other); fn f() { c::g() }",
        ),
        ("c.rs", "use std::fmt; pub struct D; pub fn g() {}"),
    ] {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let found = Crate::read(&folder.path().join("lib.rs"));
    let edges = found.edges();
    let name = |path: &Path| {
        path.strip_prefix(folder.path())
            .unwrap()
            .display()
            .to_string()
    };
    let shown: Vec<String> = edges
        .iter()
        .flat_map(|(from, to)| to.iter().map(|to| format!("{} → {}", name(from), name(to))))
        .collect();
    let expected = [
        "a/inner.rs → a.rs",
        "a/inner.rs → b.rs",
        "a.rs → c.rs",
        "b.rs → a/inner.rs",
        "b.rs → c.rs",
    ];
    assert_eq!(shown, expected);
    let cycles: Vec<Vec<String>> = cycles(&edges)
        .iter()
        .map(|cycle| cycle.iter().map(|file| name(file)).collect())
        .collect();
    assert_eq!(cycles, [["a/inner.rs", "b.rs"]]);
}
