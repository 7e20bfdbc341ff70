//! Knows where secrets usually are: one table (`table.rs`) for commands, files and search.
//!
//! - [`locations`] gives the folders and files of this machine that commands do not see.
//! - `looks_secret` knows a secret by its path alone, wherever it lies. Reading such a file is asked about, also
//!   inside the project and for a tool that is set to `always`; searches leave it out.
//!
//! The table errs on the side of asking: one question too many costs a keystroke, a key that was sent to a provider is
//! gone. A grant of reading in the permission file opens a location again.

mod table;

use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};
use std::sync::LazyLock;

use self::table::{RULES, Rule};
use crate::resolve::lower_name;

/// Entries of a home folder that are looked at for telling names.
const MAX_HOME_ENTRIES: usize = 10_000;

/// What [`locations`] needs to know: the host reads no environment and knows no user.
#[derive(Debug)]
pub struct Surroundings<'a, V> {
    /// The user's home folder first; then those of other users of this machine.
    pub homes: &'a [PathBuf],
    /// Where relative paths in variables start.
    pub current: &'a Path,
    /// The value of an environment variable; `None` also for an empty one.
    pub variable: V,
}

/// The folders and files of this machine that usually hold secrets. Those of the first home are listed whether they
/// exist or not, since they may come into being.
///
/// Lists each home folder once.
pub fn locations<'a, V>(surroundings: &Surroundings<'a, V>) -> Vec<PathBuf>
where
    V: Fn(&str) -> Option<&'a OsStr>,
{
    let mut found = Vec::new();
    for rule in RULES {
        surroundings.add(*rule, &mut found);
    }
    for home in surroundings.homes {
        let entries = std::fs::read_dir(home).into_iter().flatten().flatten();
        let paths = entries.take(MAX_HOME_ENTRIES).map(|entry| entry.path());
        found.extend(paths.filter(|path| INDEX.has_telling_name(&lower_name(path))));
    }
    found.sort();
    found.dedup();
    found
}

impl<'a, V> Surroundings<'a, V>
where
    V: Fn(&str) -> Option<&'a OsStr>,
{
    fn add(&self, rule: Rule, found: &mut Vec<PathBuf>) {
        match rule {
            Rule::Home(path) | Rule::Anywhere(path) => self.in_homes(Path::new(path), found),
            Rule::Config(path) => self.in_base("XDG_CONFIG_HOME", ".config", path, found),
            Rule::Data(path) => self.in_base("XDG_DATA_HOME", ".local/share", path, found),
            Rule::Root(path) => found.push(Path::new("/").join(path)),
            Rule::Variable(name) => found.extend(self.named(name)),
            Rule::Below(name, path) => {
                found.extend(self.named(name).into_iter().map(|named| named.join(path)));
            }
            // In a home folder directly; this one by its name, whether it exists or not.
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
        let base = (self.variable)(variable).map(Path::new);
        // Their specification wants relative ones to be ignored.
        found.extend(
            base.filter(|base| base.is_absolute())
                .map(|base| base.join(path)),
        );
        self.in_homes(&Path::new(below).join(path), found);
    }

    /// What a variable names. A home folder, or what lies above one, is not among it: hiding that would hide
    /// everything.
    fn named(&self, variable: &str) -> Vec<PathBuf> {
        let value = (self.variable)(variable).unwrap_or_default();
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

/// Whether a path is one that secrets usually have: by its name, or by the folders it lies in. Looks at the path only,
/// and takes small and large letters for the same.
pub(crate) fn looks_secret(path: &Path) -> bool {
    INDEX.knows(path)
}

/// The rules that need no knowledge of the machine, ready for being asked about many paths.
struct Index {
    names: HashSet<&'static str>,
    starts: Vec<&'static str>,
    ends: Vec<&'static str>,
    /// Paths that count anywhere, by their first part: the other parts, and whether the path has to end there.
    parts: HashMap<String, Vec<(Vec<String>, bool)>>,
    /// The same from the root of the file system.
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
                // These need the machine: whoever decides has their places.
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
        if self.has_telling_name(name) {
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
        self.names.contains(name)
            || self.starts.iter().any(|start| name.starts_with(start))
            || self.ends.iter().any(|end| name.ends_with(end))
    }
}

/// What no path of the table can say.
fn is_special(path: &Path, parts: &[String]) -> bool {
    match parts {
        // Submodules keep their settings deeper than `.git/config`.
        [above @ .., name] if name == "config" => above
            .windows(2)
            .any(|pair| matches!(pair, [git, modules] if git == ".git" && modules == "modules")),
        // What every process was started with, keys of providers included.
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
