//! Knows where secrets usually are: one table (`table.rs`) for commands, files and search.
//!
//! - [`Surroundings::locations`] lists the folders and files of this machine that are hidden from commands.
//! - `looks_secret` recognizes a secret by its path alone, wherever the file is. Dunlin asks before a tool reads such a
//!   file, even inside the project and for a tool that is set to `always`; searches skip it.
//!
//! In doubt a location is in the table: a needless question costs a keystroke, but a key that was sent to a provider
//! cannot be taken back. A grant of reading in the permission file opens a location again.

mod table;

use std::collections::{HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::path::{Component, Path, PathBuf};
use std::sync::LazyLock;

use self::table::{RULES, Rule};
use crate::edit::sibling::{Original, original};
use crate::resolve::lower_name;

/// How many entries of a home folder are checked for names that secrets have.
const MAX_HOME_ENTRIES: usize = 10_000;

/// Where programs have a folder each in a home folder, apart from hidden folders in the home folder itself.
const SETTINGS_OF_PROGRAMS: [&str; 3] = [".config", ".local/share", ".local/state"];

/// What programs append to the name of a file for its copy, or for its next content while they write it.
const COPY_ENDS: [&str; 10] = [
    "~",
    ".backup",
    ".bak",
    ".dpkg-old",
    ".lock",
    ".old",
    ".orig",
    ".rpmsave",
    ".save",
    ".tmp",
];

/// The variables that name folders of settings and of data.
const CONFIG_BASE: &str = "XDG_CONFIG_HOME";
const DATA_BASE: &str = "XDG_DATA_HOME";

/// What decides where secrets are: the host itself reads neither the environment nor the list of users.
#[derive(Debug, Clone)]
pub struct Surroundings {
    /// The user's home folder first; then those of other users of this machine.
    homes: Vec<PathBuf>,
    /// Where relative paths in variables start.
    current: PathBuf,
    /// The environment variables that the table names.
    variables: HashMap<&'static str, OsString>,
}

/// The entries of a folder; of a large one not all.
fn entries(folder: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.take(MAX_HOME_ENTRIES).map(|entry| entry.path())
}

/// What lies in the folder of a program and is named as only secrets are. The ends of names do not count here: toolchains
/// have certificates and keys of their own, which builds need.
fn named_below(folder: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    entries(folder).filter(|path| INDEX.names.contains(&*lower_name(path)))
}

impl Surroundings {
    /// `homes`: the user's home folder first; then those of other users of this machine. `current`: where relative paths
    /// in variables start. `variable`: the value of an environment variable.
    pub fn new<'a>(
        homes: &[PathBuf],
        current: &Path,
        variable: impl Fn(&str) -> Option<&'a OsStr>,
    ) -> Surroundings {
        let of_rules = RULES.iter().filter_map(|rule| match rule {
            Rule::Variable(name) | Rule::Below(name, _) => Some(*name),
            _ => None,
        });
        let names = of_rules.chain([CONFIG_BASE, DATA_BASE]);
        let variables = names.filter_map(|name| Some((name, variable(name)?.to_owned())));
        Surroundings {
            homes: homes.to_owned(),
            current: current.to_owned(),
            variables: variables.collect(),
        }
    }

    /// The folders and files of this machine that usually hold secrets, as they are now: programs make new ones all the
    /// time. Those in the first home folder are listed even if they do not exist.
    ///
    /// Lists each home folder once, and the folders of programs in it.
    pub fn locations(&self) -> Vec<PathBuf> {
        let mut found = Vec::new();
        for rule in RULES {
            self.add(*rule, &mut found);
        }
        for home in &self.homes {
            for path in entries(home) {
                let name = lower_name(&path);
                if INDEX.has_telling_name(&name) {
                    found.push(path);
                } else if name.starts_with('.') {
                    found.extend(named_below(&path));
                }
            }
            for base in SETTINGS_OF_PROGRAMS {
                found.extend(entries(&home.join(base)).flat_map(|path| named_below(&path)));
            }
        }
        found.sort();
        found.dedup();
        found
    }

    fn add(&self, rule: Rule, found: &mut Vec<PathBuf>) {
        match rule {
            Rule::Home(path) | Rule::Anywhere(path) => self.in_homes(Path::new(path), found),
            Rule::Config(path) => self.in_base(CONFIG_BASE, ".config", path, found),
            Rule::Data(path) => self.in_base(DATA_BASE, ".local/share", path, found),
            Rule::Root(path) => found.push(Path::new("/").join(path)),
            Rule::Variable(name) => found.extend(self.named(name)),
            Rule::Below(name, path) => {
                found.extend(self.named(name).into_iter().map(|named| named.join(path)));
            }
            // Directly in the first home folder, whether it exists or not. `locations` finds those that exist in the others.
            Rule::Name(name) => found.extend(self.homes.first().map(|home| home.join(name))),
            Rule::Start(_) | Rule::End(_) | Rule::Tail(_) => {}
        }
    }

    fn in_homes(&self, path: &Path, found: &mut Vec<PathBuf>) {
        for (i, home) in self.homes.iter().enumerate() {
            let place = home.join(path);
            if i == 0 || place.symlink_metadata().is_ok() {
                found.push(place);
            }
        }
    }

    fn in_base(&self, variable: &str, below: &str, path: &str, found: &mut Vec<PathBuf>) {
        let base = self.variables.get(variable).map(Path::new);
        // The XDG specification demands that relative paths are ignored.
        found.extend(
            base.filter(|base| base.is_absolute())
                .map(|base| base.join(path)),
        );
        self.in_homes(&Path::new(below).join(path), found);
    }

    /// The paths that a variable names, without home folders and folders above them: hiding one of those would hide
    /// everything.
    fn named(&self, variable: &str) -> Vec<PathBuf> {
        let value = self.variables.get(variable);
        let value = value.map(OsString::as_os_str).unwrap_or_default();
        std::env::split_paths(value)
            .filter(|path| !path.as_os_str().is_empty())
            .map(|path| self.current.join(path))
            .filter(|path| {
                let holds = |home: &PathBuf| home.starts_with(path);
                path.parent().is_some() && !self.homes.iter().any(holds)
            })
            .collect()
    }
}

/// Whether secrets usually have such a path: by the file's name, or by the folders above it. Looks at the path alone and
/// ignores case.
pub fn looks_secret(path: &Path) -> bool {
    INDEX.knows(path)
}

/// The rules that do not depend on the machine, indexed for fast checks of many paths.
struct Index {
    names: HashSet<&'static str>,
    starts: Vec<&'static str>,
    ends: Vec<&'static str>,
    /// Paths that match anywhere, by their first part: the other parts, and whether the path has to end there.
    parts: HashMap<String, Vec<(Vec<String>, bool)>>,
    /// Paths from the root of the file system, by their first part: the other parts.
    roots: HashMap<String, Vec<Vec<String>>>,
}

static INDEX: LazyLock<Index> = LazyLock::new(Index::new);

impl Index {
    fn new() -> Index {
        let mut index = Index {
            names: HashSet::new(),
            starts: Vec::new(),
            ends: Vec::new(),
            parts: HashMap::new(),
            roots: HashMap::new(),
        };
        for &rule in RULES {
            match rule {
                Rule::Name(name) => {
                    index.names.insert(name);
                }
                Rule::Start(start) => index.starts.push(start),
                Rule::End(end) => index.ends.push(end),
                Rule::Anywhere(path) | Rule::Tail(path) => {
                    let (first, rest) = split(path);
                    let is_end = matches!(rule, Rule::Tail(_));
                    index.parts.entry(first).or_default().push((rest, is_end));
                }
                Rule::Root(path) => {
                    let (first, rest) = split(path);
                    index.roots.entry(first).or_default().push(rest);
                }
                // These depend on the machine: callers compare with what `locations` found.
                Rule::Home(_)
                | Rule::Config(_)
                | Rule::Data(_)
                | Rule::Variable(_)
                | Rule::Below(..) => {}
            }
        }
        index
    }

    fn knows(&self, path: &Path) -> bool {
        let name = lower_name(path);
        let mut originals = originals(&name).into_iter();
        self.knows_itself(path) || originals.any(|it| self.knows_itself(&path.with_file_name(it)))
    }

    /// The same without what the file may be a copy of.
    fn knows_itself(&self, path: &Path) -> bool {
        let parts: Vec<String> = path
            .components()
            .filter_map(|part| match part {
                Component::Normal(part) => Some(part.to_string_lossy().to_ascii_lowercase()),
                _ => None,
            })
            .collect();
        let Some(name) = parts.last() else {
            return false;
        };
        if self.is_telling(name) {
            return true;
        }
        let from = |at: usize| parts.get(at + 1..).unwrap_or_default();
        let anywhere = parts.iter().enumerate().any(|(at, part)| {
            let paths = self.parts.get(part).into_iter().flatten();
            let mut paths = paths.map(|(rest, is_end)| (rest, *is_end));
            paths.any(|(rest, is_end)| match is_end {
                true => from(at) == rest,
                false => from(at).starts_with(rest),
            })
        });
        let from_root = |first: &String| {
            let mut paths = self.roots.get(first).into_iter().flatten();
            path.is_absolute() && paths.any(|rest| from(0).starts_with(rest))
        };
        anywhere || parts.first().is_some_and(from_root) || is_special(path, &parts)
    }

    fn has_telling_name(&self, name: &str) -> bool {
        let mut originals = originals(name).into_iter();
        self.is_telling(name) || originals.any(|original| self.is_telling(original))
    }

    /// The same without what the name may be a copy of.
    fn is_telling(&self, name: &str) -> bool {
        original(name) == Some(Original::Cut)
            || self.names.contains(name)
            || self.starts.iter().any(|start| name.starts_with(start))
            || self.ends.iter().any(|end| name.ends_with(end))
    }
}

/// All names of which this one may be a copy that a program has made beside the file, or the copy of a copy. A copy of a
/// secret is one.
fn originals(name: &str) -> HashSet<&str> {
    let mut found = HashSet::new();
    let mut open = vec![name];
    while let Some(name) = open.pop() {
        open.extend(copied(name).filter(|original| found.insert(*original)));
    }
    found
}

/// The names of which this one may be a copy: of Dunlin, an editor, a package manager. Each is shorter than the name.
fn copied(name: &str) -> impl Iterator<Item = &str> {
    let of_dunlin = match original(name) {
        Some(Original::Name(name)) => Some(name),
        _ => None,
    };
    let marked = COPY_ENDS.iter().find_map(|end| name.strip_suffix(end));
    // Emacs: a lock, what is not saved yet, and numbered backups, whose last `~` is gone above by then.
    let lock = name.strip_prefix(".#");
    let unsaved = || name.strip_prefix('#')?.strip_suffix('#');
    let numbered = || {
        let (name, number) = name.rsplit_once(".~")?;
        number
            .bytes()
            .all(|byte| byte.is_ascii_digit())
            .then_some(name)
    };
    // Vim: from `.NAME.swp` down to `.NAME.saa`. A name that begins with a dot gets no other one.
    let swap = || {
        let (name, end) = name.rsplit_once('.')?;
        let is_swap = matches!(end.as_bytes(), [b's', b'a'..=b'z', b'a'..=b'z']);
        (is_swap && name.starts_with('.')).then_some(name)
    };
    let swap = swap();
    let swap_of_visible = swap.and_then(|name| name.strip_prefix('.'));
    let found = [
        of_dunlin,
        marked,
        lock,
        unsaved(),
        numbered(),
        swap,
        swap_of_visible,
    ];
    let found = found.into_iter().flatten();
    found.filter(|original| !original.is_empty())
}

/// Matches that no rule of the table can express.
fn is_special(path: &Path, parts: &[String]) -> bool {
    match parts {
        // The settings of submodules are in `.git/modules/NAME/config`.
        [above @ .., name] if name == "config" => above
            .windows(2)
            .any(|pair| matches!(pair, [git, modules] if git == ".git" && modules == "modules")),
        // The environment of a process, which may hold keys of providers.
        [first, .., name] if first == "proc" => path.is_absolute() && name == "environ",
        _ => false,
    }
}

fn split(path: &str) -> (String, Vec<String>) {
    let mut parts = path.split('/').map(str::to_ascii_lowercase);
    (parts.next().unwrap_or_default(), parts.collect())
}

#[cfg(test)]
mod tests;
