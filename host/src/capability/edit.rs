//! `files.edit` and its like: they change files.
//!
//! What the user agreed to is a difference, so that is what is compared: the edit is worked out anew from
//! the file as it is now, and has to turn the same content into the same content as the one that was shown.
//! Whatever does not is a new question with a difference of its own, even where writing is allowed: a tool
//! that shows one edit and makes another gains nothing by what it was granted before. Only where it announced that it
//! cannot tell before, a rule that allows writing is enough.

mod planned;

use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use super::context::{BrokenFile, CallContext, CallerKind};
use super::refusal::Refusal;
use super::resources::UseId;
use super::shared::Shared;
use crate::History;
use crate::ask::Origin;
use crate::bindings::dunlin::tool::files::Edited;
use crate::bindings::dunlin::tool::types::{self, Error, Target as Written};
use crate::call::Action;
use crate::display::{chain, shown};
use crate::edit::names::{make_folder, remove, rename};
use crate::edit::prepare::{Names, PrepareError, Prepared, prepare};
use crate::edit::replace::{ReplaceError, replace};
use crate::edit::{
    ApplyError, EditKind, FileChange, FileEdit, LineEdit, Syntax, TextEdit, TextError,
};
use crate::file_history::Seen;
use crate::limits;
use crate::open;
use crate::permission::{Caller, PermissionError, Rule, Verdict};
use crate::resolve::ResolveError;
use crate::target::{Need, Operation, Target};
use crate::undo::{Kept, UndoError};

/// Why an edit cannot even be shown.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LookError {
    /// A rule refuses it: nothing was looked at.
    #[error("{0:?} is denied")]
    Denied(Need),
    /// Whether the file may be read is undecided, and what there is to say would tell what it holds, or that it exists: the
    /// user is asked first.
    #[error("{0:?} is undecided")]
    Unseen(Need),
    /// The permission store cannot decide.
    #[error(transparent)]
    Permission(#[from] PermissionError),
    /// It does not fit.
    #[error(transparent)]
    Prepare(#[from] PrepareError),
}

impl Shared {
    /// Which file a change is about, and where it goes.
    pub(crate) fn names_of(
        &self,
        written: &str,
        change: &FileChange,
    ) -> Result<Names, ResolveError> {
        let target = match change.is_of_name() {
            true => self.permissions.resolve_name(written)?,
            false => self.permissions.resolve_path(written)?,
        };
        let to = match change {
            FileChange::Rename { to } => Some(self.permissions.resolve_name(to)?),
            _ => None,
        };
        let path = |target: Target| target.path().map(Path::to_owned).unwrap_or_default();
        Ok(Names {
            path: path(target),
            to: to.map(path),
        })
    }

    /// What the user has to know of a rename that ends or begins the protection of a secret.
    pub(crate) fn warning_of_rename(&self, path: &Path, to: &Path) -> Option<String> {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let is_secret = |path| self.permissions.is_secret(path);
        match (is_secret(path), is_secret(to)) {
            (true, false) => Some(format!(
                "Dunlin protects '{name}' as a secret. Under its new name, it would no longer be protected."
            )),
            (false, true) => Some(format!(
                "The new name of '{name}' is one that usually holds secrets: programs may use what is in it as such."
            )),
            _ => None,
        }
    }

    /// Works out what a change would make of a file, once the rules about it were looked at.
    ///
    /// `is_shown`: whatever comes of it, the user sees it before the tool does, as when a plan is made.
    pub(crate) fn look_at_edit(
        &self,
        caller: &Caller<'_>,
        names: &Names,
        change: &FileChange,
        is_shown: bool,
    ) -> Result<Prepared, LookError> {
        let decide = |path: &Path, operation| {
            let need = Need {
                target: Target::Path(path.to_owned()),
                operation,
            };
            let verdict = self.permissions.decide(caller, &need)?.verdict;
            Ok::<_, PermissionError>((need, verdict))
        };
        let path = names.path.as_path();
        let (need, may_read) = decide(path, Operation::Read)?;
        // Nothing is read of a folder.
        if may_read == Verdict::Deny && !change.is_of_folder() {
            return Err(LookError::Denied(need));
        }
        for written in [Some(path), names.to.as_deref()].into_iter().flatten() {
            if let (need, Verdict::Deny) = decide(written, Operation::Write)? {
                return Err(LookError::Denied(need));
            }
        }
        let may_read = may_read == Verdict::Allow;
        if *change == FileChange::RemoveFolder && self.permissions.project().starts_with(path) {
            return Err(LookError::Prepare(PrepareError::WrongKind {
                path: path.to_owned(),
                problem: "is where the project is",
            }));
        }
        // What is made must not be there. Where that may not be looked at, it turns out when it happens.
        let made = match change {
            FileChange::CreateFolder => Some(path),
            _ => names.to.as_deref(),
        };
        if let Some(made) = made
            && decide(made, Operation::Read)?.1 == Verdict::Allow
            && open::for_metadata_of_name(made).is_ok()
        {
            return Err(LookError::Prepare(PrepareError::Exists {
                path: made.to_owned(),
            }));
        }
        let seen = self.history.seen(path);
        let unseen = || match (seen, change.needs_to_be_seen()) {
            // Its lines were counted by nobody: to read it now would not help.
            (None, true) if !is_shown => LookError::Prepare(PrepareError::NotRead {
                path: path.to_owned(),
            }),
            _ => LookError::Unseen(Need {
                target: Target::Path(path.to_owned()),
                operation: Operation::Read,
            }),
        };
        // Whether a change fits is what the file holds: only the user may know it before the tool may read the file. What
        // another plugin has read of it tells this one nothing.
        let is_unseen = !may_read && !change.is_of_folder();
        if is_unseen && !is_shown {
            return Err(unseen());
        }
        match prepare(names, change, seen, may_read, is_shown) {
            Err(_) if is_unseen => Err(unseen()),
            prepared => Ok(prepared?),
        }
    }
}

impl CallContext {
    /// Edits a file. Once it is allowed it happens without giving way: it cannot be interrupted halfway.
    pub(super) async fn edit_file(
        &mut self,
        written: String,
        change: FileChange,
    ) -> Result<Edited, Refusal> {
        let names = self.shared.names_of(&written, &change)?;
        let change = self.decide_about_edit(written, &names, &change).await?;
        self.make(&change)?;
        self.log_made(&change)?;
        let prepared = &change.prepared;
        let edited = Edited {
            created: prepared.base.is_none(),
            lines_before: prepared.lines_before,
            lines_after: prepared.lines_after,
        };
        self.note_broken(change);
        Ok(edited)
    }

    /// Works out what a change comes to, and has it allowed.
    async fn decide_about_edit(
        &mut self,
        written: String,
        names: &Names,
        change: &FileChange,
    ) -> Result<AllowedChange, Refusal> {
        let path = names.path.as_path();
        let is_this = |action: &Action| matches!(action, Action::Edit(edit) if edit.path == path && *edit.change == *change);
        // Once: what comes of the same change of a file that was changed already was not shown.
        let is_shown = self.plan.actions.iter().any(is_this) && !self.changes.edits.has(path);
        let looked =
            self.shared
                .look_at_edit(&self.permission_caller(false), names, change, is_shown);
        let mut prepared = match looked {
            Ok(prepared) => prepared,
            Err(LookError::Denied(need)) => {
                // Decides the same, and writes it down.
                let written = written_as(&need, names, change, &written);
                self.authorise(need, written).await?;
                return Err(decided_otherwise());
            }
            Err(LookError::Unseen(need)) => {
                self.authorise(need, Written::Path(written.clone())).await?;
                let seen = self.shared.history.seen(path);
                prepare(names, change, seen, true, true)?
            }
            Err(LookError::Permission(error)) => return Err(Error::Failed(chain(&error)).into()),
            Err(LookError::Prepare(error)) => return Err(error.into()),
        };
        let was_known = self.check_syntax(&mut prepared).await;
        let name = written.clone();
        let under = self.authorise_edit(&prepared.edit, names, written).await?;
        Ok(AllowedChange {
            prepared,
            under,
            name,
            was_known,
        })
    }

    fn note_broken(&mut self, change: AllowedChange) {
        if let Syntax::Broken { line } = change.prepared.edit.syntax {
            self.changes.broken_files.push(BrokenFile {
                name: change.name,
                is_new: change.prepared.base.is_none(),
                line,
                was_known: change.was_known,
            });
        }
    }

    /// Finds out whether an edit breaks the file, unless the plan says so already. Whether it does.
    async fn check_syntax(&mut self, prepared: &mut Prepared) -> bool {
        let planned = self.plan.actions.iter().find_map(|action| match action {
            Action::Edit(planned) if planned.is_same(&prepared.edit) => Some(planned.syntax),
            _ => None,
        });
        prepared.edit.syntax = planned.unwrap_or_default();
        let was_known = prepared.edit.syntax != Syntax::Unchecked;
        let mut left = limits::SYNTAX_TIME;
        self.shared.syntax.check(prepared, &mut left).await;
        was_known
    }

    /// Decides about an edit: as it was shown it needs what it needs, otherwise it is shown now.
    async fn authorise_edit(
        &mut self,
        edit: &FileEdit,
        names: &Names,
        written: String,
    ) -> Result<Vec<UseId>, Refusal> {
        let declared = self.plan.actions.iter().find_map(|action| match action {
            Action::Edit(declared) if declared.path == edit.path => Some(declared),
            _ => None,
        });
        // What was shown is done once.
        let is_first = !edit.paths().any(|path| self.changes.edits.has(path));
        let is_declared = match declared {
            // Another call of this session was faster, and this one adds what was shown to what that has left.
            Some(declared)
                if declared.is_same_addition(edit)
                    && is_first
                    && self.shared.history.seen(&edit.path) == edit.base.map(Seen::Content) =>
            {
                true
            }
            // What this call has changed itself is no conflict: it is shown anew.
            Some(declared) if declared.base != edit.base && !self.changes.edits.has(&edit.path) => {
                let path = shown(&edit.path);
                let what = match edit.change.is_of_name() {
                    true => format!("{path} changed since this was proposed; propose it again"),
                    false => format!(
                        "{path} changed since this edit was proposed; read it again, then edit it"
                    ),
                };
                return Err(Error::Conflict(what).into());
            }
            declared => is_first && declared.is_some_and(|declared| declared.is_same(edit)),
        };
        let is_announced = self.announces(edit);
        let needs = edit.needs();
        let mut asking = Vec::new();
        let mut asked = Vec::with_capacity(needs.len());
        let mut rules = Vec::with_capacity(needs.len());
        for need in &needs {
            let decision = self.decide(need)?;
            rules.push(decision.rule.to_string());
            // A question is about what is undecided and about the difference, which is of what is written.
            if decision.verdict == Verdict::Ask || need.operation == Operation::Write {
                asked.push(need.clone());
            }
            match decision.verdict {
                Verdict::Deny => {
                    let written = written_as(need, names, &edit.change, &written);
                    self.authorise(need.clone(), written).await?;
                    return Err(decided_otherwise());
                }
                Verdict::Allow if need.operation == Operation::Read => {}
                Verdict::Allow if decision.rule == Rule::AcceptEdits && !edit.is_of_text() => {
                    asking.push(decision.rule);
                }
                Verdict::Allow if is_declared => {}
                // A yes for this call is a yes to a difference, and this is another.
                Verdict::Allow if is_announced && decision.rule != Rule::Once => {}
                Verdict::Allow | Verdict::Ask => asking.push(decision.rule),
            }
        }
        let answer = match asking.as_slice() {
            [] => None,
            rules => {
                let what = edit.in_words();
                let actions = vec![Action::Edit(edit.clone())];
                let written = Written::Path(written.clone());
                let origin = match self.caller.kind == CallerKind::Tool && is_announced && is_first
                {
                    true => Origin::Declared,
                    false => Origin::Undeclared,
                };
                let about = (origin, what.as_str());
                let asked = asked.clone();
                let warning = match &edit.kind {
                    EditKind::Renamed(to) => self.shared.warning_of_rename(&edit.path, to),
                    _ => None,
                };
                let answer = self.ask_in_call(about, &written, asked, actions, (rules, warning));
                Some(answer.await?)
            }
        };
        let mut under = Vec::with_capacity(needs.len());
        for (need, rule) in needs.into_iter().zip(rules) {
            let written = written_as(&need, names, &edit.change, &written);
            let (allowed, rule) = match &answer {
                Some(answer) if asked.contains(&need) => answer.clone(),
                _ => (true, rule),
            };
            under.push(self.note(need, written, allowed, rule)?);
        }
        Ok(under)
    }

    /// Whether the plan says that what the file holds is changed, without saying how, or that exactly this is done. That a name
    /// goes or comes has to be said. Where there is no plan, nothing could be said.
    pub(super) fn announces(&self, edit: &FileEdit) -> bool {
        let is_announced = |path: &Path| {
            self.plan.actions.iter().any(|action| match action {
                Action::EditLater { path: it, change } => it == path && change.is_none(),
                _ => false,
            })
        };
        // It said how, and the file may not have been read.
        let is_this = |action: &Action| match action {
            Action::EditLater { path, change } => {
                *path == edit.path && change.as_ref() == Some(&*edit.change)
            }
            _ => false,
        };
        let is_of_content = !edit.change.is_of_name();
        if self.caller.kind == CallerKind::App {
            return is_of_content;
        }
        self.plan.actions.iter().any(is_this) || (is_of_content && edit.paths().all(is_announced))
    }

    /// Makes a change, keeping what the file held for `/undo`. What it is kept in.
    fn make(&mut self, change: &AllowedChange) -> Result<Vec<PathBuf>, Refusal> {
        let Prepared {
            edit, base, new, ..
        } = &change.prepared;
        let bytes = self.changes.bytes + change.prepared.bytes();
        is_within_limit(bytes)?;
        self.changes.bytes = bytes;
        let shared = &self.shared;
        let path = edit.path.as_path();
        let mut entries = Vec::new();
        let content = base.as_deref().unwrap_or_default();
        let mut keep = |mode, new_folders: &[PathBuf]| {
            let kept = Kept {
                session: &self.caller.session,
                turn: shared.turn.load(Ordering::Relaxed),
                project: shared.permissions.project(),
                path,
                base: edit.base,
                new: edit.new,
                kind: edit.kind.entry(),
                mode,
                new_folders,
                content,
            };
            // A file that is renamed goes under one name and comes under another.
            let EditKind::Renamed(to) = &edit.kind else {
                entries.push(shared.undo.keep(&kept)?);
                return Ok::<(), WriteError>(());
            };
            let gone = Kept {
                new_folders: &[],
                ..kept
            };
            entries.push(shared.undo.keep(&gone)?);
            let come = Kept {
                path: to,
                base: None,
                new: edit.base,
                mode: None,
                content: &[],
                ..kept
            };
            entries.push(shared.undo.keep(&come)?);
            Ok(())
        };
        let changed = match (&edit.kind, edit.base, edit.new) {
            (EditKind::Renamed(to), Some(base), _) => {
                rename(path, to, base, |mode, folders| keep(Some(mode), folders))
            }
            (EditKind::Folder, _, Some(_)) => {
                make_folder(path, None, |folders| keep(None, folders))
            }
            (kind, Some(base), None) => {
                remove(path, kind.entry(), base, &[], |mode| keep(mode, &[]))
            }
            _ => replace(path, edit.base, new, |new_folders| keep(None, new_folders)),
        };
        if let Err(error) = changed {
            for entry in &entries {
                shared.undo.forget(entry);
            }
            return Err(error.into());
        }
        let history = &shared.history;
        if edit.kind != EditKind::Folder {
            history.mark(path, History::EDITED, edit.new);
        }
        if edit.new.is_none() {
            history.mark_absent(path);
        }
        if let EditKind::Renamed(to) = &edit.kind {
            history.mark(to, History::EDITED, edit.base);
        }
        self.changes.edits.push(edit.clone());
        if let Some(under) = change.under.last() {
            self.count(*under, new.len());
        }
        Ok(entries)
    }

    fn log_made(&mut self, change: &AllowedChange) -> Result<(), Refusal> {
        for under in &change.under {
            self.log_change(*under, change.prepared.edit.phrase().logged)?;
        }
        Ok(())
    }
}

/// A change that is allowed and can be made.
struct AllowedChange {
    prepared: Prepared,
    under: Vec<UseId>,
    /// The file, as the tool wrote it.
    name: String,
    /// Whether the plan said that it breaks the file.
    was_known: bool,
}

/// Fails where a call changes more than it may.
fn is_within_limit(bytes: usize) -> Result<(), Refusal> {
    if bytes <= limits::MAX_EDITED_BYTES {
        return Ok(());
    }
    let most = limits::MAX_EDITED_BYTES / (1024 * 1024);
    Err(Error::TooLarge(format!(
        "the files that this call edits have more than {most} MiB, before and after together"
    ))
    .into())
}

/// The name of a target in the guest's own words.
fn written_as(need: &Need, names: &Names, change: &FileChange, written: &str) -> Written {
    let to = match change {
        FileChange::Rename { to } if need.target.path() == names.to.as_deref() => to,
        _ => written,
    };
    Written::Path(to.to_owned())
}

/// A decision is taken twice: once to see what may be looked at, once to write it down.
fn decided_otherwise() -> Refusal {
    Error::Failed("the permissions changed meanwhile; try again".into()).into()
}

/// Why a prepared edit did not happen.
#[derive(Debug, thiserror::Error)]
enum WriteError {
    #[error(transparent)]
    Replace(#[from] ReplaceError),
    #[error("cannot keep what /undo would need")]
    Undo(#[from] UndoError),
}

impl From<WriteError> for Refusal {
    fn from(error: WriteError) -> Self {
        let text = chain(&error);
        Refusal::Guest(match error {
            WriteError::Replace(
                ReplaceError::Changed { .. }
                | ReplaceError::LeftAside { .. }
                | ReplaceError::Busy { .. }
                | ReplaceError::Exists { .. }
                | ReplaceError::NotEmpty { .. },
            ) => Error::Conflict(text),
            WriteError::Replace(ReplaceError::NotFound { .. }) => Error::NotFound(text),
            WriteError::Replace(ReplaceError::NotFolder { .. }) => Error::WrongKind(text),
            _ => Error::Failed(text),
        })
    }
}

impl From<PrepareError> for Refusal {
    fn from(error: PrepareError) -> Self {
        let text = chain(&error);
        Refusal::Guest(match error {
            PrepareError::NotRead { .. }
            | PrepareError::Changed { .. }
            | PrepareError::Exists { .. }
            | PrepareError::Apply {
                source: ApplyError::Text(TextError::NotThere { .. } | TextError::Several { .. }),
                ..
            } => Error::Conflict(text),
            PrepareError::Apply {
                source: ApplyError::NotText { .. },
                ..
            }
            | PrepareError::WrongKind { .. } => Error::WrongKind(text),
            PrepareError::Apply {
                source: ApplyError::TooLarge { .. },
                ..
            } => Error::TooLarge(text),
            PrepareError::Apply { .. } => Error::Invalid(text),
            PrepareError::Unkept { .. } => Error::TooLarge(text),
            PrepareError::NotFound { .. } => Error::NotFound(text),
            PrepareError::Io { .. } => Error::Failed(text),
        })
    }
}

impl From<types::LineEdit> for LineEdit {
    fn from(edit: types::LineEdit) -> Self {
        LineEdit {
            first: edit.first,
            end: edit.end,
            replacement: edit.replacement,
        }
    }
}

impl From<types::TextEdit> for TextEdit {
    fn from(edit: types::TextEdit) -> Self {
        TextEdit {
            old: edit.old,
            new: edit.new,
            every: edit.every,
        }
    }
}
