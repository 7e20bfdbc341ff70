//! Decides what a tool may touch.
//!
//! A decision looks through layers, and the first that has an answer gives it:
//!
//! 1. Dunlin's own folders and files, wherever links place them: never.
//! 2. a tool that was set to *never* for the session: nothing.
//! 3. the session's mode *plan*: no to everything that changes something.
//! 4. *once*: what was answered for this very call.
//! 5. *session*: what was answered until the session ends.
//! 6. *always*: the permission file, the most specific key first. A stored allow holds for the plugin
//!    it was given to, as long as its component is the same; what a person set by hand holds for all.
//! 7. defaults: reading inside the project is allowed, except where secrets usually are; so is searching with the
//!    engine that the user has configured. A home folder, what lies above one, and `/` are not projects: nothing is
//!    inside.
//! 8. a tool that was set to *always* for the session: what it declared, secrets excepted.
//! 9. the session's mode *accept-edits*: declared edits of ordinary files in the project by the built-in editors.
//! 10. the user.
//!
//! This module decides and remembers; it neither asks nor opens anything. `crate::capability` does,
//! at the moment of use. The file is read again whenever it changed, so an answer given in another
//! Dunlin counts here at the next use. When it cannot be read nothing is allowed: a deny might stand
//! in it.

mod answers;
mod command_files;
mod command_lines;
mod decide;
mod entries;
mod error;
mod file;
mod grantee;
pub mod key;
mod loopback;
mod mode;
mod own;
mod procfs;
mod report;
mod rule;
mod session_mode;
mod stored;
#[cfg(test)]
mod tests;
mod typed;
mod words;

use std::collections::{HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use parking_lot::{Mutex, MutexGuard};
use url::Url;

pub use self::error::PermissionError;
use self::file::{Files, Runs, Stamp};
pub(crate) use self::grantee::Caller;
pub use self::grantee::{PluginId, identity};
use self::key::Key;
pub use self::mode::{ToolMode, ToolModeError};
use self::own::OwnFiles;
pub use self::report::{Explained, ExplainedCommand, Stored};
pub use self::rule::{Change, Decision, Revert, Rule, Verdict, WayOut};
pub use self::session_mode::{ModeSwitch, SessionMode, SessionModeError};
use self::stored::{StoredEntry, index};
use crate::command::Line;
use crate::resolve::{self, Mounts, Places, ResolveError};
use crate::secrets::{self, Surroundings};
use crate::target::{Need, Operation, Target};

/// The permission store. Works without an engine, so that commands can show and change it.
#[derive(Debug)]
pub struct Permissions {
    places: Places,
    /// Whether reading in the project needs no question.
    is_project: bool,
    search_path: Vec<PathBuf>,
    own: OwnFiles,
    /// Where secrets usually are on this machine, resolved.
    secrets: HashSet<PathBuf>,
    /// The address of the search engine that the user has chosen.
    search: Option<Target>,
    files: Files,
    /// What commands may write besides the project, by the configuration.
    writable: Vec<PathBuf>,
    /// What the dynamic linker reads for every program that a command starts.
    libraries: Vec<PathBuf>,
    /// Whether no variable tells a shell to take folders and patterns for others, or that it is another shell.
    has_usual_shell: bool,
    /// What runs command lines, resolved.
    shell: PathBuf,
    /// The files of the project that hooks name.
    run_by_hooks: HashSet<PathBuf>,
    /// The command lines of hooks and servers.
    run_unasked: Vec<Line>,
    /// What holds for all tools together.
    mode: ModeSwitch,
    state: Mutex<State>,
}

/// What is remembered in memory.
#[derive(Debug, Default)]
struct State {
    stamp: Option<(Stamp, Stamp)>,
    stored: HashMap<Key, StoredEntry>,
    session: HashMap<(Key, Operation), Vec<SessionAnswer>>,
    /// What was answered for one call, by its id and by who asked.
    once: HashMap<String, HashMap<PluginId, HashMap<Need, OnceAnswer>>>,
    /// By the names of tools; those that are not here are asked about.
    modes: HashMap<String, ToolMode>,
    /// The options of the command line that set such a mode, by the names of tools.
    mode_options: HashMap<String, String>,
    /// The tools of MCP servers that may be called until the session ends, and the digest of what each was when that was
    /// answered.
    calls: HashMap<String, String>,
}

/// An answer for one call.
#[derive(Debug, Clone, Copy)]
struct OnceAnswer {
    allow: bool,
    /// Whether plan mode was on: then a command could change nothing, and a yes to it ends with the mode.
    in_plan_mode: bool,
}

#[derive(Debug, Clone)]
struct SessionAnswer {
    allow: bool,
    /// `None`: for every tool.
    plugin: Option<PluginId>,
    /// What the command ran when it was allowed.
    runs: Option<Runs>,
    /// The option of the command line that allowed it, as it was typed. `None`: an answer.
    option: Option<String>,
}

impl SessionAnswer {
    /// The rule that it makes under a key.
    fn rule(&self, key: &Key) -> Rule {
        match &self.option {
            Some(option) => Rule::Option(option.clone()),
            None => Rule::Session(key.to_string()),
        }
    }
}

/// What the store is made of; see [`HostOptions`](crate::HostOptions) for each.
pub(crate) struct PermissionOptions<'a> {
    pub(crate) project: &'a Path,
    pub(crate) is_project: bool,
    pub(crate) home: Option<&'a Path>,
    pub(crate) search_path: &'a [PathBuf],
    /// The permission file.
    pub(crate) file: &'a Path,
    /// Dunlin's own files and folders: never granted.
    pub(crate) own: Vec<PathBuf>,
    pub(crate) secrets: Option<&'a Surroundings>,
    /// What commands may write besides the project.
    pub(crate) writable: &'a [PathBuf],
    /// All variables of commands.
    pub(crate) environment: &'a [(OsString, OsString)],
    /// What runs commands.
    pub(crate) shell: &'a Path,
    /// The search engine that the user has chosen.
    pub(crate) search: Option<Url>,
    pub(crate) mode: ModeSwitch,
    /// The files that hooks name.
    pub(crate) run_by_hooks: HashSet<PathBuf>,
    /// The command lines of hooks and servers.
    pub(crate) run_unasked: Vec<Line>,
}

/// Variables that change which folder `cd` leads to, which files match a pattern, and which shell a script takes its own for. No
/// command gets them unless the configuration names them.
const SHELL_SETTINGS: &[&str] = &[
    "BASHOPTS",
    "CDPATH",
    "GLOBIGNORE",
    "KSH_VERSION",
    "SHELLOPTS",
];

/// The paths in the variables whose names begin with `LD_`: ld.so(8) has no others, and reads them for every program.
fn libraries(environment: &[(OsString, OsString)]) -> impl Iterator<Item = PathBuf> {
    let own = environment.iter();
    let own = own.filter(|(name, _)| name.as_bytes().starts_with(b"LD_"));
    let parts = own.flat_map(|(_, value)| value.as_bytes().split(|byte| b": ".contains(byte)));
    let paths = parts.map(|part| PathBuf::from(OsStr::from_bytes(part)));
    paths.filter(|path| path.is_absolute())
}

impl Permissions {
    /// Makes the store. The permission file is not read before the first decision.
    pub(crate) fn new(options: PermissionOptions<'_>) -> Result<Permissions, PermissionError> {
        let writable = options.writable.iter().map(|path| resolve::real_path(path));
        let writable = writable.collect::<Result<Vec<PathBuf>, ResolveError>>()?;
        // The process itself: its memory and environment hold the keys of the providers.
        let mut own = options.own;
        own.push(PathBuf::from(format!("/proc/{}", std::process::id())));
        // One that cannot be looked at cannot be read either.
        let secrets = options.secrets.iter();
        let secrets = secrets.flat_map(|it| it.locations());
        let secrets = secrets.filter_map(|path| resolve::real_path(&path).ok());
        let mounts = Mounts::now();
        let secrets = secrets.flat_map(|path| {
            let names = mounts.other_names(&path);
            std::iter::once(path).chain(names)
        });
        let search = options.search;
        Ok(Permissions {
            search: search.and_then(|url| resolve::url(url.as_str()).ok()),
            places: Places {
                project: resolve::real_path(options.project)?,
                home: options.home.map(Path::to_path_buf),
            },
            is_project: options.is_project,
            search_path: options.search_path.to_vec(),
            own: OwnFiles::new(own)?,
            secrets: secrets.collect(),
            files: Files::new(options.file),
            writable,
            libraries: libraries(options.environment).collect(),
            has_usual_shell: !options.environment.iter().any(|(name, _)| {
                let name = name.to_str();
                name.is_some_and(|name| SHELL_SETTINGS.contains(&name))
            }),
            shell: resolve::real_path(options.shell)?,
            run_by_hooks: options.run_by_hooks,
            run_unasked: options.run_unasked,
            mode: options.mode,
            state: Mutex::default(),
        })
    }

    /// The project folder, resolved.
    pub fn project(&self) -> &Path {
        &self.places.project
    }

    /// What `~` means.
    pub(crate) fn home(&self) -> Option<&Path> {
        self.places.home.as_deref()
    }

    /// The folders in which programs of commands are searched for.
    pub(crate) fn search_path(&self) -> &[PathBuf] {
        &self.search_path
    }

    /// Whether a tool may look through all of a folder: one that a home folder lies in is nobody's project, and has no end.
    pub(crate) fn is_searchable(&self, folder: &Path) -> bool {
        let home = self.places.home.as_deref();
        let holds_home = home.is_some_and(|home| home.starts_with(folder));
        !holds_home && (self.is_project || folder != self.places.project)
    }

    /// Whether the project folder is a project: in a home folder, above one, and in `/` nothing counts as inside.
    pub fn is_project(&self) -> bool {
        self.is_project
    }

    /// Whether a path, resolved, is one where secrets usually are.
    pub(crate) fn is_secret(&self, path: &Path) -> bool {
        secrets::looks_secret(path)
            || self.is_secret_place(path)
            || procfs::visibility(path)
                .is_some_and(|visibility| visibility != procfs::Visibility::Machine)
    }

    /// The same, for what only this machine makes a place of secrets, whatever it is called.
    pub(crate) fn is_secret_place(&self, path: &Path) -> bool {
        path.ancestors().any(|place| self.secrets.contains(place))
    }

    /// Resolves a path, relative to the project.
    pub(crate) fn resolve_path(&self, written: &str) -> Result<Target, ResolveError> {
        Ok(Target::Path(self.places.path(written)?))
    }

    /// The same for what has this name itself, which may be a symbolic link.
    pub(crate) fn resolve_name(&self, written: &str) -> Result<Target, ResolveError> {
        Ok(Target::Path(self.places.name(written)?))
    }

    /// The same for a folder with everything below it.
    pub fn resolve_folder(&self, written: &str) -> Result<Target, ResolveError> {
        Ok(Target::Folder(self.places.path(written)?))
    }

    /// Resolves a program name or path.
    pub(crate) fn resolve_program(&self, written: &str) -> Result<Target, ResolveError> {
        Ok(Target::Program(self.program_file(written)?.real))
    }

    /// The program that runs command lines.
    pub(crate) fn shell(&self) -> &Path {
        &self.shell
    }

    /// The permission file's path, for messages.
    pub fn file(&self) -> &Path {
        self.files.path()
    }

    /// Reads the file again when it changed.
    fn refresh(&self, state: &mut State) -> Result<(), PermissionError> {
        let stamp = self.files.stamp();
        if state.stamp == Some(stamp) {
            return Ok(());
        }
        let project = self.is_project.then(|| self.places.project.clone());
        let written = state
            .session
            .iter()
            .filter(|((_, operation), answers)| {
                *operation == Operation::Write && answers.iter().any(|answer| answer.allow)
            })
            .filter_map(|((key, _), _)| match key {
                Key::Exact(path) | Key::Below(path) => Some(path.clone()),
                Key::Url(_) | Key::UrlBelow(_) | Key::Command(_) => None,
            });
        let writable = self.writable.iter().cloned();
        let changeable: Vec<PathBuf> = project.into_iter().chain(writable).chain(written).collect();
        state.stored = index(&self.files.load()?, &changeable);
        // Taken before reading: a change while reading shows at the next decision.
        state.stamp = Some(stamp);
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }
}
