//! Decides what a tool may touch.
//!
//! A decision looks through layers, and the first that has an answer gives it:
//!
//! 1. Dunlin's own folders: never.
//! 2. *once*: what was answered for this very call.
//! 3. *session*: what was answered until the session ends.
//! 4. *always*: the permission file, the most specific key first. A stored allow holds for the plugin
//!    it was given to, as long as its component is the same; what a person set by hand holds for all.
//! 5. defaults: reading inside the project is allowed, except files that look like secrets.
//! 6. the user.
//!
//! This module decides and remembers; it neither asks nor opens anything. `crate::capability` does,
//! at the moment of use. The file is read again whenever it changed, so an answer given in another
//! Dunlin counts here at the next use. When it cannot be read nothing is allowed: a deny might stand
//! in it.

mod file;
pub mod key;
pub mod secret;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use self::file::{BUILT_IN, Contents, Files, Grantee, OperationName, Order, Stamp};
use self::key::{Bits, BitsError, Decided, Key};
use crate::HostOptions;
use crate::ask::{Answer, Scope};
use crate::resolve::{self, Places, ResolveError};
use crate::target::{Need, Operation, Target};

/// Why the store cannot decide or remember.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PermissionError {
    /// One of its files cannot be read.
    #[error("cannot read the permission file {path}, so nothing can be allowed", path = .path.display())]
    Read {
        /// Which.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// One of its files is not what it should be.
    #[error("the permission file {path} is damaged, so nothing can be allowed; mend it or move it away", path = .path.display())]
    Parse {
        /// Which.
        path: PathBuf,
        /// What is wrong, with line and column.
        source: serde_json::Error,
    },
    /// An answer cannot be stored.
    #[error("cannot write {path}", path = .path.display())]
    Write {
        /// Which file or folder.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// The target is none.
    #[error(transparent)]
    Target(#[from] ResolveError),
    /// The three characters are none.
    #[error(transparent)]
    Bits(#[from] BitsError),
    /// Dunlin's own folders are never granted.
    #[error("{target} belongs to Dunlin itself and is never granted to a tool")]
    Protected {
        /// What was to be granted.
        target: String,
    },
}

/// What holds for one need.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// Go on.
    Allow,
    /// Refuse.
    Deny,
    /// Ask the user.
    Ask,
}

/// Which layer, and which rule in it, gave the verdict. `Display` says it in words.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Rule {
    /// Dunlin's own folders.
    Protected,
    /// An answer for this call.
    Once,
    /// An answer for this session, given for this key.
    Session(String),
    /// The permission file, under this key; the plugins it was given to, if not all.
    Stored {
        /// The deciding key.
        key: String,
        /// Names of the plugins; empty when set by hand.
        plugins: Vec<String>,
    },
    /// The default for reading inside the project.
    InsideProject,
    /// The default for files that look like secrets.
    Secret,
    /// The default for everything outside the project.
    OutsideProject,
    /// The default for writing.
    Writing,
    /// The default for programs.
    Executing,
    /// The default for the web.
    Web,
    /// A stored allow was given to another version of the plugin.
    PluginChanged {
        /// The key it stands under.
        key: String,
    },
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Rule::Protected => f.write_str("Dunlin's own folders are never granted"),
            Rule::Once => f.write_str("answered for this call"),
            Rule::Session(key) => write!(f, "answered for this session, for {key}"),
            Rule::Stored { key, plugins } if plugins.is_empty() => write!(f, "stored under {key}"),
            Rule::Stored { key, plugins } => {
                write!(f, "stored under {key}, for {}", plugins.join(", "))
            }
            Rule::InsideProject => f.write_str("default: reading inside the project is allowed"),
            Rule::Secret => f.write_str("default: what looks like a secret is asked"),
            Rule::OutsideProject => f.write_str("default: outside the project is asked"),
            Rule::Writing => f.write_str("default: writing is asked"),
            Rule::Executing => f.write_str("default: programs are asked"),
            Rule::Web => f.write_str("default: addresses are asked"),
            Rule::PluginChanged { key } => {
                write!(f, "stored under {key} for an earlier version of the plugin")
            }
        }
    }
}

/// A verdict and its reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// What holds.
    pub verdict: Verdict,
    /// Why.
    pub rule: Rule,
}

/// Who wants something: a plugin in the version that is loaded.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PluginId {
    /// The plugin's name.
    pub name: String,
    /// SHA-256 of its component.
    pub digest: String,
    /// Whether it came with Dunlin; then its digest may change with the program.
    pub built_in: bool,
}

/// One stored line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stored {
    /// The key as it stands in the file.
    pub key: String,
    /// Three characters: `rw-`, `r??`.
    pub bits: String,
    /// Which plugins its allows were given to, in words; `None`: they hold for every tool.
    pub bound_to: Option<String>,
}

/// What holds for one operation on a target, for `permissions explain`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explained {
    /// The operation.
    pub operation: Operation,
    /// What holds.
    pub verdict: Verdict,
    /// Which rule decided.
    pub rule: Rule,
}

/// The permission store. Works without an engine, so that commands can show and change it.
#[derive(Debug)]
pub struct Permissions {
    places: Places,
    search_path: Vec<PathBuf>,
    protected: Vec<PathBuf>,
    files: Files,
    state: Mutex<State>,
}

/// What is remembered in memory.
#[derive(Debug, Default)]
struct State {
    stamp: Option<(Stamp, Stamp)>,
    stored: HashMap<Key, StoredEntry>,
    session: HashMap<(Key, Operation), Vec<SessionAnswer>>,
    once: HashMap<String, HashMap<Need, bool>>,
}

/// A stored key, resolved, as used for decisions.
#[derive(Debug, Default, Clone)]
struct StoredEntry {
    key: String,
    bits: Bits,
    grants: HashMap<OperationName, Vec<Grantee>>,
}

#[derive(Debug, Clone)]
struct SessionAnswer {
    allow: bool,
    /// `None`: for every tool.
    plugin: Option<PluginId>,
}

impl Permissions {
    /// Opens the store. Reads no file before the first decision.
    pub fn open(options: &HostOptions) -> Result<Permissions, PermissionError> {
        let project = resolve::real_path(&options.project)?;
        let mut protected = Vec::new();
        for path in options.protected.iter().chain([
            &options.permissions_file,
            &options.audit_file,
            &options.log_file,
            &options.cache_dir,
            &options.undo_dir,
        ]) {
            protected.push(resolve::real_path(path)?);
        }
        // The process itself: its memory and environment hold the keys of the providers.
        protected.push(PathBuf::from(format!("/proc/{}", std::process::id())));
        protected.sort();
        protected.dedup();
        Ok(Permissions {
            places: Places {
                project,
                home: options.home.clone(),
            },
            search_path: options.search_path.clone(),
            protected,
            files: Files::new(&options.permissions_file),
            state: Mutex::default(),
        })
    }

    /// The project folder, resolved.
    pub fn project(&self) -> &Path {
        &self.places.project
    }

    /// Resolves a path, relative to the project.
    pub(crate) fn resolve_path(&self, written: &str) -> Result<Target, ResolveError> {
        Ok(Target::Path(self.places.path(written)?))
    }

    /// Resolves a program name or path.
    pub(crate) fn resolve_program(&self, written: &str) -> Result<Target, ResolveError> {
        Ok(Target::Program(
            self.places.program(written, &self.search_path)?,
        ))
    }

    /// Decides about one need of one call.
    pub(crate) fn decide(
        &self,
        call: &str,
        plugin: &PluginId,
        need: &Need,
    ) -> Result<Decision, PermissionError> {
        self.decide_for(Some((call, plugin)), need)
    }

    /// Remembers an answer to the needs of one call.
    ///
    /// `Always` writes the file, under a lock and through a rename, and returns when it is on the disk.
    /// When it cannot be written the answer does not hold at all.
    pub(crate) fn remember(
        &self,
        call: &str,
        plugin: &PluginId,
        needs: &[Need],
        answer: Answer,
    ) -> Result<(), PermissionError> {
        if let Some(need) = needs
            .iter()
            .find(|need| answer.allow && self.is_protected(&need.target))
        {
            return Err(PermissionError::Protected {
                target: need.target.to_string(),
            });
        }
        match answer.scope {
            Scope::Once => {
                let mut state = self.lock();
                let once = state.once.entry(call.to_owned()).or_default();
                once.extend(needs.iter().map(|need| (need.clone(), answer.allow)));
            }
            Scope::Session => {
                let mut state = self.lock();
                for need in needs {
                    let plugin = answer.allow.then(|| plugin.clone());
                    state
                        .session
                        .entry((Key::exact(&need.target), need.operation))
                        .or_default()
                        .push(SessionAnswer {
                            allow: answer.allow,
                            plugin,
                        });
                }
            }
            Scope::Always => {
                let grantee = grantee(plugin);
                self.files.update(Order::DigestsFirst, |contents| {
                    for need in needs {
                        store_answer(contents, need, &grantee, answer.allow);
                    }
                })?;
                // An answer for the session would outrank the new one.
                let mut state = self.lock();
                for need in needs {
                    state
                        .session
                        .remove(&(Key::exact(&need.target), need.operation));
                }
            }
        }
        Ok(())
    }

    /// Forgets what was answered for one call only. Called when the call has ended.
    pub(crate) fn forget_call(&self, call: &str) {
        self.lock().once.remove(call);
    }

    /// Allows a target to every tool until the session ends, as a person asked for on the command line.
    pub fn allow_for_session(&self, target: &str, bits: &str) -> Result<(), PermissionError> {
        let bits: Bits = bits.parse()?;
        let key = self.typed_key(target)?;
        self.refuse_protected(&key, bits)?;
        let mut state = self.lock();
        for operation in Operation::ALL {
            let allow = match bits.get(operation) {
                Decided::Allow => true,
                Decided::Deny => false,
                Decided::Open => continue,
            };
            let answers = state.session.entry((key.clone(), operation)).or_default();
            answers.push(SessionAnswer {
                allow,
                plugin: None,
            });
        }
        Ok(())
    }

    /// Stores three characters for a target, for every tool. `???` removes the key. Returns the key.
    ///
    /// A target that ends with `/` means all below it.
    pub fn set(&self, target: &str, bits: &str) -> Result<String, PermissionError> {
        let bits: Bits = bits.parse()?;
        let key = self.typed_key(target)?;
        self.refuse_protected(&key, bits)?;
        let stored = key.to_string();
        self.files.update(Order::PermissionsFirst, |contents| {
            contents
                .entries
                .retain(|(other, _)| *other != stored && resolved_key(other) != key);
            if !bits.is_open() {
                contents.entries.push((stored.clone(), bits));
            }
            contents.digests.grants.remove(&stored);
        })?;
        Ok(stored)
    }

    /// Removes a key. `false` when there was none.
    pub fn unset(&self, target: &str) -> Result<bool, PermissionError> {
        // What stands in the file must be removable even if it resolves to something else by now.
        let key = self.typed_key(target).ok();
        self.files.update(Order::PermissionsFirst, |contents| {
            let before = contents.entries.len();
            contents.entries.retain(|(other, _)| {
                let same =
                    other == target || key.as_ref().is_some_and(|key| resolved_key(other) == *key);
                if same {
                    contents.digests.grants.remove(other);
                }
                !same
            });
            contents.entries.len() < before
        })
    }

    /// What is stored, sorted by key.
    pub fn list(&self) -> Result<Vec<Stored>, PermissionError> {
        let contents = self.files.load()?;
        let mut list: Vec<Stored> = contents
            .entries
            .iter()
            .map(|(key, bits)| {
                let grants = contents.digests.grants.get(key);
                let mut names: Vec<String> = grants
                    .into_iter()
                    .flat_map(|g| g.values().flatten())
                    .map(describe_grantee)
                    .collect();
                names.sort();
                names.dedup();
                Stored {
                    key: key.clone(),
                    bits: bits.to_string(),
                    bound_to: (!names.is_empty()).then(|| names.join(", ")),
                }
            })
            .collect();
        list.sort_by(|a, b| a.key.cmp(&b.key));
        Ok(list)
    }

    /// What was answered for this session, sorted by key.
    pub fn session_answers(&self) -> Vec<Stored> {
        let state = self.lock();
        let mut merged: HashMap<&Key, (Bits, Vec<String>)> = HashMap::new();
        for ((key, operation), answers) in &state.session {
            let Some(last) = answers.last() else { continue };
            let entry = merged.entry(key).or_default();
            let decided = if last.allow {
                Decided::Allow
            } else {
                Decided::Deny
            };
            entry.0 = entry.0.with(*operation, decided);
            entry
                .1
                .extend(last.plugin.iter().map(|plugin| plugin.name.clone()));
        }
        let mut list: Vec<Stored> = merged
            .into_iter()
            .map(|(key, (bits, mut names))| {
                names.sort();
                names.dedup();
                Stored {
                    key: key.to_string(),
                    bits: bits.to_string(),
                    bound_to: (!names.is_empty()).then(|| names.join(", ")),
                }
            })
            .collect();
        list.sort_by(|a, b| a.key.cmp(&b.key));
        list
    }

    /// Resolves what a person typed and says, for each operation, what holds and which rule decided.
    /// A stored allow counts whichever plugin it was given to; the rule names it.
    pub fn explain(&self, target: &str) -> Result<(Target, Vec<Explained>), PermissionError> {
        let target = match self.typed_key(target)? {
            Key::Exact(path) | Key::Below(path) => Target::Path(path),
            Key::Url(url) | Key::UrlBelow(url) => Target::Url(url),
        };
        let mut explained = Vec::new();
        for operation in Operation::ALL {
            let need = Need {
                target: target.clone(),
                operation,
            };
            let Decision { verdict, rule } = self.decide_for(None, &need)?;
            explained.push(Explained {
                operation,
                verdict,
                rule,
            });
        }
        Ok((target, explained))
    }

    /// The permission file's path, for messages.
    pub fn file(&self) -> &Path {
        self.files.path()
    }

    /// Whether the target lies in one of Dunlin's own folders.
    pub(crate) fn is_protected(&self, target: &Target) -> bool {
        target.path().is_some_and(|path| {
            self.protected.iter().any(|own| path.starts_with(own)) || is_own_thread(path)
        })
    }

    /// `who`: the call and the plugin; `None` for explaining.
    fn decide_for(
        &self,
        who: Option<(&str, &PluginId)>,
        need: &Need,
    ) -> Result<Decision, PermissionError> {
        let decided = |verdict, rule| Ok(Decision { verdict, rule });
        if self.is_protected(&need.target) {
            return decided(Verdict::Deny, Rule::Protected);
        }
        let mut state = self.lock();
        self.refresh(&mut state)?;
        if let Some((call, _)) = who
            && let Some(allow) = state.once.get(call).and_then(|once| once.get(need))
        {
            return decided(
                if *allow {
                    Verdict::Allow
                } else {
                    Verdict::Deny
                },
                Rule::Once,
            );
        }
        let candidates = Key::candidates(&need.target);
        if !state.session.is_empty() {
            for key in &candidates {
                let Some(answers) = state.session.get(&(key.clone(), need.operation)) else {
                    continue;
                };
                let holds = |answer: &&SessionAnswer| match (&answer.plugin, who) {
                    (None, _) | (_, None) => true,
                    (Some(granted), Some((_, plugin))) => granted == plugin,
                };
                if let Some(answer) = answers.iter().rev().find(holds) {
                    let verdict = if answer.allow {
                        Verdict::Allow
                    } else {
                        Verdict::Deny
                    };
                    return decided(verdict, Rule::Session(key.to_string()));
                }
            }
        }
        let mut changed = None;
        for key in &candidates {
            let Some(entry) = state.stored.get(key) else {
                continue;
            };
            match entry.bits.get(need.operation) {
                Decided::Open => {}
                Decided::Deny => {
                    let rule = Rule::Stored {
                        key: entry.key.clone(),
                        plugins: Vec::new(),
                    };
                    return decided(Verdict::Deny, rule);
                }
                Decided::Allow => {
                    let grantees = entry.grants.get(&need.operation.into());
                    let plugins: Vec<String> = grantees
                        .into_iter()
                        .flatten()
                        .map(|g| g.plugin.clone())
                        .collect();
                    let holds = match (grantees, who) {
                        (None, _) | (_, None) => true,
                        (Some(grantees), Some((_, plugin))) => {
                            let holds = grantees.contains(&grantee(plugin));
                            if !holds && grantees.iter().any(|g| g.plugin == plugin.name) {
                                changed.get_or_insert_with(|| entry.key.clone());
                            }
                            holds
                        }
                    };
                    if holds {
                        return decided(
                            Verdict::Allow,
                            Rule::Stored {
                                key: entry.key.clone(),
                                plugins,
                            },
                        );
                    }
                }
            }
        }
        let default = self.default_for(need);
        match (default.verdict, changed) {
            (Verdict::Ask, Some(key)) => decided(Verdict::Ask, Rule::PluginChanged { key }),
            _ => Ok(default),
        }
    }

    fn default_for(&self, need: &Need) -> Decision {
        let ask = |rule| Decision {
            verdict: Verdict::Ask,
            rule,
        };
        let inside = |path: &Path| path.starts_with(&self.places.project);
        match (&need.target, need.operation) {
            (_, Operation::Execute) => ask(Rule::Executing),
            (Target::Url(_), _) => ask(Rule::Web),
            (Target::Path(path) | Target::Program(path), Operation::Read) => {
                if secret::looks_secret(path) {
                    ask(Rule::Secret)
                } else if inside(path) {
                    Decision {
                        verdict: Verdict::Allow,
                        rule: Rule::InsideProject,
                    }
                } else {
                    ask(Rule::OutsideProject)
                }
            }
            (Target::Path(path) | Target::Program(path), Operation::Write) => {
                ask(if inside(path) {
                    Rule::Writing
                } else {
                    Rule::OutsideProject
                })
            }
        }
    }

    fn refuse_protected(&self, key: &Key, bits: Bits) -> Result<(), PermissionError> {
        let allows = Operation::ALL
            .iter()
            .any(|operation| bits.get(*operation) == Decided::Allow);
        match key {
            Key::Exact(path) | Key::Below(path)
                if allows && self.is_protected(&Target::Path(path.clone())) =>
            {
                Err(PermissionError::Protected {
                    target: path.display().to_string(),
                })
            }
            _ => Ok(()),
        }
    }

    /// The key for what a person typed.
    fn typed_key(&self, typed: &str) -> Result<Key, PermissionError> {
        if key::is_url(typed) {
            let Target::Url(url) = resolve::url(typed)? else {
                return Ok(Key::Url(typed.to_owned()));
            };
            // `https://host` means the host; the URL standard adds the slash.
            return Ok(if url.ends_with('/') {
                Key::UrlBelow(url)
            } else {
                Key::Url(url)
            });
        }
        let path = self.places.path(typed)?;
        Ok(if typed.ends_with('/') {
            Key::Below(path)
        } else {
            Key::Exact(path)
        })
    }

    /// Reads the file again when it changed.
    fn refresh(&self, state: &mut State) -> Result<(), PermissionError> {
        let stamp = self.files.stamp();
        if state.stamp == Some(stamp) {
            return Ok(());
        }
        state.stored = index(&self.files.load()?);
        // Taken before reading: a change while reading shows at the next decision.
        state.stamp = Some(stamp);
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Every change to the state is a single insertion or removal: nothing is half done.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Resolves the keys of the file. When two mean the same target, what is stricter holds.
fn index(contents: &Contents) -> HashMap<Key, StoredEntry> {
    let mut stored: HashMap<Key, StoredEntry> = HashMap::new();
    for (key, bits) in &contents.entries {
        let grants = contents
            .digests
            .grants
            .get(key)
            .cloned()
            .unwrap_or_default()
            .into_iter()
            .collect();
        let entry = StoredEntry {
            key: key.clone(),
            bits: *bits,
            grants,
        };
        stored
            .entry(resolved_key(key))
            .and_modify(|other| {
                for operation in Operation::ALL {
                    let stricter = match (other.bits.get(operation), bits.get(operation)) {
                        (Decided::Deny, _) | (_, Decided::Deny) => Decided::Deny,
                        (Decided::Open, _) | (_, Decided::Open) => Decided::Open,
                        (Decided::Allow, Decided::Allow) => Decided::Allow,
                    };
                    other.bits = other.bits.with(operation, stricter);
                    // Only those hold that both keys name; a key set by hand names everybody.
                    let name = OperationName::from(operation);
                    if let Some(more) = entry.grants.get(&name) {
                        other
                            .grants
                            .entry(name)
                            .and_modify(|grantees| grantees.retain(|g| more.contains(g)))
                            .or_insert_with(|| more.clone());
                    }
                }
            })
            .or_insert_with(|| entry.clone());
    }
    stored
}

/// Whether a path is below `/proc/<number>` of a thread of this process: each has such a folder beside
/// the process's own, which no listing shows and which holds the same memory and environment.
fn is_own_thread(path: &Path) -> bool {
    let Ok(below) = path.strip_prefix("/proc") else {
        return false;
    };
    match below.components().next() {
        Some(number) => Path::new("/proc/self/task").join(number).exists(),
        None => false,
    }
}

/// What a stored key means. A person may have written it through a symbolic link; a key that cannot be
/// resolved stands for itself.
fn resolved_key(stored: &str) -> Key {
    if key::is_url(stored) {
        let url = match resolve::url(stored) {
            Ok(Target::Url(url)) => url,
            _ => stored.to_owned(),
        };
        return if stored.ends_with('/') {
            Key::UrlBelow(url)
        } else {
            Key::Url(url)
        };
    }
    let path = key::stored_path(stored);
    let path = resolve::real_path(&path).unwrap_or(path);
    if stored.ends_with('/') {
        Key::Below(path)
    } else {
        Key::Exact(path)
    }
}

fn store_answer(contents: &mut Contents, need: &Need, grantee: &Grantee, allow: bool) {
    let key = Key::exact(&need.target);
    let stored = key.to_string();
    let operation = OperationName::from(need.operation);
    let at = contents
        .entries
        .iter()
        .position(|(other, _)| *other == stored)
        .unwrap_or_else(|| {
            contents.entries.push((stored.clone(), Bits::default()));
            contents.entries.len() - 1
        });
    let bits = &mut contents.entries[at].1;
    let before = bits.get(need.operation);
    let grants = contents.digests.grants.entry(stored.clone()).or_default();
    if allow {
        *bits = bits.with(need.operation, Decided::Allow);
        match (before, grants.contains_key(&operation)) {
            // Set by hand for every tool: nothing to add.
            (Decided::Allow, false) => {}
            (Decided::Allow, true) => {
                let grantees = grants.entry(operation).or_default();
                grantees.retain(|other| other.plugin != grantee.plugin);
                grantees.push(grantee.clone());
            }
            (Decided::Deny | Decided::Open, _) => {
                grants.insert(operation, vec![grantee.clone()]);
            }
        }
    } else {
        *bits = bits.with(need.operation, Decided::Deny);
        grants.remove(&operation);
    }
    if grants.is_empty() {
        contents.digests.grants.remove(&stored);
    }
}

fn grantee(plugin: &PluginId) -> Grantee {
    Grantee {
        plugin: plugin.name.clone(),
        digest: if plugin.built_in {
            BUILT_IN.to_owned()
        } else {
            plugin.digest.clone()
        },
    }
}

fn describe_grantee(grantee: &Grantee) -> String {
    if grantee.digest == BUILT_IN {
        return grantee.plugin.clone();
    }
    let short: String = grantee.digest.chars().take(8).collect();
    format!("{} ({short})", grantee.plugin)
}
