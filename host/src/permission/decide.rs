//! Decides: goes through the layers, and the first that has an answer gives it.

use std::collections::HashMap;
use std::path::Path;

use super::command_lines::{self, Found};
use super::file::Runs;
use super::grantee::{Caller, grantee};
use super::key::{Bits, Decided, Key};
use super::mode::ToolMode;
use super::own;
use super::procfs::{self, Visibility};
use super::session_mode::ToChange;
use super::{
    Change, Decision, OnceAnswer, PermissionError, Permissions, Rule, SessionAnswer, SessionMode,
    State, Verdict, loopback,
};
use crate::declared_permissions::{ANY_ADDRESS, DeclaredPermissions};
use crate::edit::sibling::{Original, original};
use crate::egress::{Place, Url, named_place};
use crate::process::{is_git_name, may_be_repository};
use crate::resolve::loosely_read;
use crate::search::SEARCH_PLUGIN;
use crate::target::{CommandTarget, Need, Operation, ProgramFile, Target};

impl Permissions {
    /// Decides about one need of one call.
    pub(crate) fn decide(
        &self,
        caller: &Caller<'_>,
        need: &Need,
    ) -> Result<Decision, PermissionError> {
        self.decide_for(Some(caller), need)
    }

    /// Decides about many needs of one call at one moment, none of them a command: Dunlin's own files and the permission file
    /// are looked at once.
    pub(crate) fn decide_all<'a>(
        &self,
        needs: impl Iterator<Item = (Caller<'a>, &'a Need)>,
    ) -> Result<Vec<Verdict>, PermissionError> {
        let own = self.own.now();
        let looked_at: Vec<_> = needs
            .map(|(caller, need)| {
                let refused = self.refused_by_nature(&own, Some(&caller), need);
                (caller, need, refused)
            })
            .collect();
        let mut state = self.lock();
        self.refresh(&mut state)?;
        let decided = looked_at.into_iter().map(|(caller, need, refused)| {
            let decide = || self.decide_in(&state, Some(&caller), need, None);
            refused.unwrap_or_else(decide).verdict
        });
        Ok(decided.collect())
    }

    /// Whether a need is denied, whichever tool has it. What cannot be found out counts as denied.
    pub(crate) fn denies(&self, need: &Need) -> bool {
        let decision = self.decide_for(None, need);
        !matches!(decision, Ok(decision) if decision.verdict != Verdict::Deny)
    }

    /// Whether the target is one of Dunlin's own files, or lies in one of its folders.
    pub(crate) fn is_protected(&self, target: &Target) -> bool {
        holds(&self.own.now(), target)
    }

    /// Whether a plugin with these declared permissions may ask for it at all.
    fn is_within(&self, declared_permissions: &DeclaredPermissions, need: &Need) -> bool {
        if let Target::Command(command) = &need.target {
            return self.is_command_within(declared_permissions, command);
        }
        let keys = Key::candidates(&need.target);
        let is_address = matches!(need.target, Target::Url(_) | Target::Site(_));
        let mut targets = declared_permissions.with(need.operation);
        targets.any(|target| {
            (is_address && target == ANY_ADDRESS)
                || self
                    .declared_key(target)
                    .is_some_and(|key| keys.contains(&key))
        })
    }

    /// Whether a plugin with these declared permissions may ask for each program of a command.
    fn is_command_within(
        &self,
        declared_permissions: &DeclaredPermissions,
        command: &CommandTarget,
    ) -> bool {
        let keys: Vec<Key> = declared_permissions
            .with(Operation::Execute)
            .filter_map(|target| self.declared_key(target))
            .collect();
        let is_within = |program: &ProgramFile| {
            let target = Target::Program(program.real.clone());
            Key::candidates(&target)
                .iter()
                .any(|key| keys.contains(key))
        };
        command.programs.iter().all(is_within)
    }

    /// What a target of the declared permissions means here; `None`: nothing, as a program that is not there.
    fn declared_key(&self, target: &str) -> Option<Key> {
        if target.contains('/') {
            return self.typed_key(target, Bits::default()).ok();
        }
        let program = self.places.program(target, &self.search_path).ok()?;
        Some(Key::Exact(program.real))
    }

    /// `caller`: `None` for explaining, where an allow counts whomever it was given to.
    pub(super) fn decide_for(
        &self,
        caller: Option<&Caller<'_>>,
        need: &Need,
    ) -> Result<Decision, PermissionError> {
        if let Some(refused) = self.refused_by_nature(&self.own.now(), caller, need) {
            return Ok(refused);
        }
        // Read before anything is locked: the file may be large.
        let change = caller.and_then(|caller| self.look_at_change(caller, need));
        let mut state = self.lock();
        self.refresh(&mut state)?;
        Ok(self.decide_in(&state, caller, need, change.as_ref()))
    }

    /// Whether a lasting yes covers this command of a line.
    pub(crate) fn allows_command(&self, caller: &Caller<'_>, command: &CommandTarget) -> bool {
        let mut state = self.lock();
        // A file that cannot be read allows nothing.
        if self.refresh(&mut state).is_err() {
            return false;
        }
        let now = Runs::of(command);
        let found = lasting_of_names(&state, Some(caller), command, now.as_ref(), None);
        matches!(found, Found::Allow(_))
    }

    /// What is refused whatever anybody has answered.
    fn refused_by_nature(
        &self,
        own: &own::Found,
        caller: Option<&Caller<'_>>,
        need: &Need,
    ) -> Option<Decision> {
        let command = need.target.command();
        if holds(own, &need.target) || command.is_some_and(|command| self.runs_protected(command)) {
            return Some(Decision::deny(Rule::Protected));
        }
        if let Some(Place::Never(what)) = place(&need.target) {
            return Some(Decision::deny(Rule::Unreachable(what)));
        }
        if let Some(caller) = caller
            && caller
                .declared_permissions
                .is_some_and(|declared_permissions| !self.is_within(declared_permissions, need))
        {
            let plugin = caller.plugin.name.clone();
            return Some(Decision::deny(Rule::NotDeclared(plugin)));
        }
        None
    }

    /// What answers, rules and defaults say. `change`: of [`Permissions::look_at_change`].
    fn decide_in(
        &self,
        state: &State,
        caller: Option<&Caller<'_>>,
        need: &Need,
        change: Option<&ToChange>,
    ) -> Decision {
        let command = need.target.command();
        let now = command.and_then(Runs::of);
        let now = now.as_ref();
        let mode = caller.and_then(|caller| state.modes.get(caller.tool).copied());
        if let (Some(ToolMode::Never), Some(caller)) = (mode, caller) {
            return Decision::deny(Rule::ToolNever(caller.tool.to_owned()));
        }
        if caller.is_some() && self.refused_by_mode(need) {
            return Decision::deny(Rule::Plan);
        }
        if let Some(decision) = self
            .answered_once(state, caller, need)
            .or_else(|| denied_elsewhere(state, caller, need))
        {
            return decision;
        }
        let hidden = command.and_then(|command| self.may_hide_denied(state, command));
        let changed = match command {
            Some(command) => {
                match lasting(state, caller, command, now, hidden.as_ref()) {
                    Found::Allow(Rule::Stored { key, plugins })
                        if command.is_server() && !plugins.is_empty() =>
                    {
                        // Earlier builds stored answers to starts.
                        Some(Rule::CommandChanged(key, Change::Server))
                    }
                    Found::Allow(rule) => return Decision::allow(rule),
                    Found::Deny(rule) => return Decision::deny(rule),
                    Found::Open(stale) => stale,
                }
            }
            None => {
                let keys = Key::candidates(&need.target);
                let is_secret = self.is_apart(&need.target);
                let leaves_out = |key: &Key| {
                    (is_secret && self.leaves_out_secrets(key))
                        || is_denied_before(state, &keys, key, need.operation)
                };
                if let Some(decision) =
                    answered_for_session(state, caller, need, &keys, &leaves_out)
                {
                    return decision;
                }
                match stored(state, caller, need, &keys, &leaves_out) {
                    FromFile::Decided(decision) => return decision,
                    FromFile::Open { changed } => changed.map(|key| Rule::PluginChanged {
                        key,
                        default: Box::new(self.default_for(need).rule),
                    }),
                }
            }
        };
        if caller.is_some_and(|caller| self.is_chosen_search(caller, need)) {
            return Decision::allow(Rule::SearchEngine);
        }
        let default = self.default_for(need);
        if default.verdict != Verdict::Ask {
            return default;
        }
        if let Some(decision) = self.answered_for_all_below(state, caller, need, &default.rule) {
            return decision;
        }
        match (mode, caller) {
            (Some(ToolMode::Always), Some(caller))
                if command.is_none_or(|command| !command.is_incomplete)
                    && hidden.is_none()
                    && caller.declared
                    && !self.looks_secret(&need.target)
                    && git_folder(need).is_none()
                    && !is_near(&need.target) =>
            {
                Decision::allow(match state.mode_options.get(caller.tool) {
                    Some(option) => Rule::Option(option.clone()),
                    None => Rule::ToolAlways(caller.tool.to_owned()),
                })
            }
            (_, Some(caller)) if self.accepts_edit(state, caller, need, &default.rule) => {
                match self.is_bound(state, need, change) {
                    true => Decision::ask(Rule::WritingBound),
                    false => Decision::allow(Rule::AcceptEdits),
                }
            }
            _ => match changed.or(hidden) {
                Some(rule) => Decision::ask(rule),
                None if self.is_over(state, caller, need) => Decision::ask(Rule::PlanModeEnded),
                None => default,
            },
        }
    }

    /// Whether this is a search with the engine that the user has chosen. Through the door for searches alone: whoever
    /// fetches pages might send anything there.
    fn is_chosen_search(&self, caller: &Caller<'_>, need: &Need) -> bool {
        caller.plugin.built_in
            && caller.plugin.name == SEARCH_PLUGIN
            && need.operation == Operation::Read
            && self.search.as_ref() == Some(&need.target)
    }

    fn default_for(&self, need: &Need) -> Decision {
        let inside = |path: &Path| self.is_project && path.starts_with(&self.places.project);
        let outside = || match self.is_project {
            true => Rule::OutsideProject,
            false => Rule::NoProject,
        };
        match (&need.target, need.operation) {
            (Target::Command(command), _) if command.is_server() => Decision::ask(Rule::Starting),
            (_, Operation::Execute) | (Target::Command(_), _) => Decision::ask(Rule::Executing),
            (Target::Url(_) | Target::Site(_), _) => Decision::ask(match place(&need.target) {
                Some(Place::ThisMachine) => Rule::ThisMachine,
                Some(Place::PrivateNetwork) => Rule::PrivateNetwork,
                _ => Rule::Web,
            }),
            (
                Target::Path(path) | Target::Folder(path) | Target::Program(path),
                Operation::Read,
            ) => {
                if self.is_secret(path) {
                    Decision::ask(Rule::Secret)
                } else if inside(path) {
                    Decision::allow(Rule::InsideProject)
                } else {
                    Decision::ask(outside())
                }
            }
            (
                Target::Path(path) | Target::Folder(path) | Target::Program(path),
                Operation::Write,
            ) => Decision::ask(match (git_folder(need), inside(path)) {
                (Some(_), _) => Rule::WritingGit,
                (None, true) => Rule::Writing,
                (None, false) => outside(),
            }),
        }
    }

    /// What was answered for one call about a folder or a site that this lies in.
    ///
    /// A yes was given for the reason that was shown: a file in the folder that would be asked about for another one, as it
    /// holds secrets or settings of git, is asked about.
    fn answered_for_all_below(
        &self,
        state: &State,
        caller: Option<&Caller<'_>>,
        need: &Need,
        rule: &Rule,
    ) -> Option<Decision> {
        let answers = once(state, caller)?;
        let around = Key::candidates(&need.target).into_iter();
        around.filter_map(Key::all_below).find_map(|target| {
            let around = Need {
                target,
                operation: need.operation,
            };
            let allow = answers.get(&around)?.allow;
            let is_secret = self.is_apart(&need.target) && !self.is_apart(&around.target);
            let holds = !allow || (self.default_for(&around).rule == *rule && !is_secret);
            holds.then(|| Decision::answered(allow, Rule::Once))
        })
    }

    fn answered_once(
        &self,
        state: &State,
        caller: Option<&Caller<'_>>,
        need: &Need,
    ) -> Option<Decision> {
        let answer = once(state, caller)?.get(need)?;
        let is_over = self.is_over(state, caller, need);
        (!is_over).then(|| Decision::answered(answer.allow, Rule::Once))
    }

    /// Whether a yes for this call to a command was given in plan mode, which has ended.
    fn is_over(&self, state: &State, caller: Option<&Caller<'_>>, need: &Need) -> bool {
        let answer = once(state, caller).and_then(|answers| answers.get(need));
        let is_of_plan_mode = answer.is_some_and(|answer| answer.allow && answer.in_plan_mode);
        is_of_plan_mode
            && need.target.command().is_some()
            && self.session_mode() != SessionMode::Plan
    }

    /// Whether an answer to a plugin under this key leaves out the secrets below it.
    fn leaves_out_secrets(&self, key: &Key) -> bool {
        matches!(key, Key::Below(folder) if !self.is_apart(&Target::Folder(folder.clone())))
    }

    /// Whether an answer about a folder leaves this out: secrets, and what Dunlin reads when it is started there.
    fn is_apart(&self, target: &Target) -> bool {
        let is_own = |path: &Path| path.components().any(|part| part.as_os_str() == ".dunlin");
        self.looks_secret(target) || target.path().is_some_and(is_own)
    }

    fn looks_secret(&self, target: &Target) -> bool {
        target.path().is_some_and(|path| self.is_secret(path))
    }
}

impl Decision {
    fn allow(rule: Rule) -> Decision {
        Decision {
            verdict: Verdict::Allow,
            rule,
        }
    }

    fn deny(rule: Rule) -> Decision {
        Decision {
            verdict: Verdict::Deny,
            rule,
        }
    }

    fn ask(rule: Rule) -> Decision {
        Decision {
            verdict: Verdict::Ask,
            rule,
        }
    }

    fn answered(allow: bool, rule: Rule) -> Decision {
        if allow {
            Decision::allow(rule)
        } else {
            Decision::deny(rule)
        }
    }
}

/// What was answered to this plugin for this call.
fn once<'a>(
    state: &'a State,
    caller: Option<&Caller<'_>>,
) -> Option<&'a HashMap<Need, OnceAnswer>> {
    let caller = caller?;
    state.once.get(caller.call)?.get(caller.plugin)
}

/// What was answered about a command for longer than one call.
fn lasting(
    state: &State,
    caller: Option<&Caller<'_>>,
    command: &CommandTarget,
    now: Option<&Runs>,
    hidden: Option<&Rule>,
) -> Found {
    match lasting_of_names(state, caller, command, now, hidden) {
        Found::Allow(_) if command.is_unclear => Found::Open(None),
        Found::Open(stale) if !command.is_unclear && hidden.is_none() => {
            allowed_by_parts(state, caller, command).map_or(Found::Open(stale), Found::Allow)
        }
        found => found,
    }
}

/// Why each command of a compound line is allowed; `None`: not all are. A no to one of them was found by the line's own keys.
fn allowed_by_parts(
    state: &State,
    caller: Option<&Caller<'_>>,
    command: &CommandTarget,
) -> Option<Rule> {
    let rules: Option<Vec<Rule>> = command
        .parts
        .iter()
        .map(|part| {
            let now = Runs::of(part);
            match lasting_of_names(state, caller, part, now.as_ref(), None) {
                Found::Allow(rule) => Some(rule),
                Found::Deny(_) | Found::Open(_) => None,
            }
        })
        .collect();
    rules.filter(|rules| !rules.is_empty()).map(Rule::Parts)
}

/// Whether the permission file allows this command of a line.
pub(super) fn is_in_file(state: &State, caller: &Caller<'_>, command: &CommandTarget) -> bool {
    let now = Runs::of(command);
    let found = command_lines::in_file(state, Some(caller), command, now.as_ref(), None);
    matches!(found, Found::Allow(_))
}

/// The same, if all names lead for the command where they lead for Dunlin.
fn lasting_of_names(
    state: &State,
    caller: Option<&Caller<'_>>,
    command: &CommandTarget,
    now: Option<&Runs>,
    hidden: Option<&Rule>,
) -> Found {
    let stale = match command_lines::in_session(state, caller, command, now, hidden) {
        Found::Open(stale) => stale,
        Found::Allow(rule) => {
            return match command_lines::refused_by_file(state, command) {
                Some(refused) => Found::Deny(refused),
                None => Found::Allow(rule),
            };
        }
        Found::Deny(rule) => return Found::Deny(rule),
    };
    match command_lines::in_file(state, caller, command, now, hidden) {
        Found::Open(more) => Found::Open(stale.or(more)),
        found => found,
    }
}

/// A no to what may be the same: the server of this machine under another of its names, the address that a server may take
/// this one for, and the file that this one is put beside while it is changed. A yes holds for what it was given to.
fn denied_elsewhere(state: &State, caller: Option<&Caller<'_>>, need: &Need) -> Option<Decision> {
    let keys = || {
        state
            .stored
            .keys()
            .chain(state.session.keys().map(|(key, _)| key))
    };
    let mut targets: Vec<Target> = loopback::other_names(&need.target, keys()).collect();
    let loose: Vec<_> = [&need.target]
        .into_iter()
        .chain(&targets)
        .filter_map(loose)
        .collect();
    targets.extend(loose);
    targets.extend(changed_file(&need.target));
    targets.into_iter().find_map(|target| {
        let need = Need {
            target,
            operation: need.operation,
        };
        let keys = Key::candidates(&need.target);
        let decision = answered_for_session(state, caller, &need, &keys, &|_| false).or_else(
            || match stored(state, caller, &need, &keys, &|_| false) {
                FromFile::Decided(decision) => Some(decision),
                FromFile::Open { .. } => None,
            },
        );
        decision.filter(|decision| decision.verdict == Verdict::Deny)
    })
}

/// The file of which Dunlin has put this one beside it.
fn changed_file(target: &Target) -> Option<Target> {
    let Target::Path(path) = target else {
        return None;
    };
    match original(path.file_name()?.to_str()?)? {
        Original::Name(name) => Some(Target::Path(path.with_file_name(name))),
        Original::Cut => None,
    }
}

/// A target as a server may read it.
fn loose(target: &Target) -> Option<Target> {
    match target {
        Target::Url(url) => Some(Target::Url(loosely_read(url)?.into())),
        Target::Site(url) => Some(Target::Site(loosely_read(url)?.into())),
        _ => None,
    }
}

fn answered_for_session(
    state: &State,
    caller: Option<&Caller<'_>>,
    need: &Need,
    keys: &[Key],
    leaves_out: &dyn Fn(&Key) -> bool,
) -> Option<Decision> {
    if state.session.is_empty() {
        return None;
    }
    let git = git_folder(need);
    keys.iter().find_map(|key| {
        let answers = state.session.get(&(key.clone(), need.operation))?;
        let holds = |answer: &&SessionAnswer| match (&answer.plugin, caller) {
            (None, _) | (_, None) => true,
            (Some(granted), Some(caller)) => granted == caller.plugin,
        };
        let answer = answers.iter().rev().find(holds)?;
        // An option for a folder includes the secrets in it: a person typed it. A stored no to something in the folder is more
        // specific.
        let is_left_out = match answer.plugin {
            Some(_) => leaves_out(key),
            None => is_denied_before(state, keys, key, need.operation),
        };
        if answer.allow && (is_left_out || !names_git(key, git)) {
            return None;
        }
        Some(Decision::answered(answer.allow, answer.rule(key)))
    })
}

/// Whether the permission file denies something under a key that is more specific than this one.
fn is_denied_before(state: &State, keys: &[Key], key: &Key, operation: Operation) -> bool {
    let denies = |key: &Key| {
        let entry = state.stored.get(key);
        entry.is_some_and(|entry| entry.bits.get(operation) == Decided::Deny)
    };
    keys.iter().take_while(|more| *more != key).any(denies)
}

/// What the permission file says.
enum FromFile {
    Decided(Decision),
    Open {
        /// The key under which an earlier version of the plugin is allowed.
        changed: Option<String>,
    },
}

/// `leaves_out`: whether an answer to a plugin under this key does not cover the target.
fn stored(
    state: &State,
    caller: Option<&Caller<'_>>,
    need: &Need,
    keys: &[Key],
    leaves_out: &dyn Fn(&Key) -> bool,
) -> FromFile {
    let mut changed = None;
    let git = git_folder(need);
    let entries = keys
        .iter()
        .filter_map(|key| Some((key, state.stored.get(key)?)));
    for (key, entry) in entries {
        let rule = |plugins| Rule::Stored {
            key: entry.key.clone(),
            plugins,
        };
        match entry.bits.get(need.operation) {
            Decided::Open => {}
            Decided::Deny => return FromFile::Decided(Decision::deny(rule(Vec::new()))),
            Decided::Allow if !names_git(key, git) => {}
            Decided::Allow => {
                let grantees = entry.grants.get(&need.operation.into());
                if grantees.is_some() && leaves_out(key) {
                    continue;
                }
                let holds = match (grantees, caller) {
                    (None, _) => true,
                    (Some(grantees), None) => !grantees.is_empty(),
                    (Some(grantees), Some(caller)) => grantees.contains(&grantee(caller.plugin)),
                };
                let names = grantees.into_iter().flatten().map(|g| g.plugin.clone());
                if holds {
                    return FromFile::Decided(Decision::allow(rule(names.collect())));
                }
                let mut names = names;
                if caller.is_some_and(|caller| names.any(|name| name == caller.plugin.identity())) {
                    changed.get_or_insert_with(|| entry.key.clone());
                }
            }
        }
    }
    FromFile::Open { changed }
}

/// The folder of a git repository that a file lies in which is to be written, or the file itself that makes one.
///
/// What git keeps there can name programs, which the user's own git runs outside of the sandbox. Who grants a folder of
/// sources does not mean that, so only a key that names this folder, or something in it, covers it. Git takes a folder
/// of any name for a repository if there is a `HEAD` and some more in it, which may come later.
fn git_folder(need: &Need) -> Option<&Path> {
    let path = need
        .target
        .path()
        .filter(|_| need.operation == Operation::Write)?;
    let mut around = path.ancestors();
    around.find(|folder| {
        let name = folder.file_name();
        // Some file systems do not tell upper case from lower case.
        let is = |known: &str| name.is_some_and(|name| name.eq_ignore_ascii_case(known));
        // The user's own settings: they hold for every repository.
        let is_global = is(".gitconfig")
            || is("git")
                && folder
                    .parent()
                    .and_then(Path::file_name)
                    .is_some_and(|it| it == ".config");
        // What Dunlin has set aside will be renamed back one day.
        is_git_name(folder)
            || is_global
            || *folder == path && is("HEAD")
            || may_be_repository(folder)
    })
}

/// Whether a key names what lies in a `.git`, if there is one.
fn names_git(key: &Key, git: Option<&Path>) -> bool {
    git.is_none_or(|git| match key {
        Key::Exact(path) | Key::Below(path) => path.starts_with(git),
        Key::Url(_) | Key::UrlBelow(_) | Key::Command(_) => false,
    })
}

/// Whether the target is an address that says itself that it does not lead onto the internet.
fn is_near(target: &Target) -> bool {
    place(target).is_some_and(|place| place != Place::Public)
}

/// Where an address leads, if it says so itself.
fn place(target: &Target) -> Option<Place> {
    match target {
        Target::Url(url) | Target::Site(url) => named_place(&Url::parse(url).ok()?),
        _ => None,
    }
}

/// Whether a target is one of these files of Dunlin's, or another name of one; a process's memory may be that of Dunlin.
fn holds(own: &own::Found, target: &Target) -> bool {
    let is_own = |path: &Path| {
        own.holds(path)
            || own.has_other_name(path)
            || procfs::visibility(path) == Some(Visibility::Own)
    };
    target.path().is_some_and(is_own)
}
