//! How the inspector changes the request, and copies parts of it.

use dunlin_chat::request::editor::{
    Change, EditError, EditableRequest, Path, SectionKind, SectionStep, Target,
};
use dunlin_host::display::{escape, needs_escape};

use super::entry::{Entry, Purpose};
use super::keymap::Action;
use super::lines::Lines;
use super::state::{Changed, Effect, Inspector, Mode, Pane, Typed};
use super::tabs::Tab;
use crate::request::paused::Paused;

/// The longest text that is edited in the text area, in bytes: it lays out the whole text for each key. Nobody finds their
/// way in a longer one through so few rows.
const MAX_BYTES_IN_PLACE: usize = 128 * 1024;

impl Inspector {
    /// Takes over what a value was edited to. Where somebody else has changed the value meanwhile it stays as it is, and
    /// the text is kept in the text area.
    pub fn set(&mut self, typed: Typed, paused: &mut Paused) -> Effect {
        if typed.new == typed.old {
            self.say("Nothing is changed.");
            return Effect::None;
        }
        if let Mode::ReadOnly(why) = self.mode() {
            let why = why.clone();
            self.keep(typed, &why, paused);
            return Effect::None;
        }
        let problem = match paused.draft(&typed.target) {
            Ok(draft) if draft.now == typed.old => {
                let set = |it: &mut EditableRequest| it.set_target(&typed.target, &typed.new);
                let before = paused.request().revision();
                self.let_go();
                match paused.step(set) {
                    Ok(done) => {
                        self.say(&done);
                        return match paused.request().revision() == before {
                            true => Effect::None,
                            false => last_edit(paused, Some(typed)),
                        };
                    }
                    Err(error) => error.to_string(),
                }
            }
            Ok(_) => "this text was changed elsewhere meanwhile".to_owned(),
            Err(error) => error.to_string(),
        };
        self.keep(typed, &problem, paused);
        Effect::None
    }

    /// Keeps a text that was not taken over in the text area, and says why it was not.
    pub fn keep(&mut self, typed: Typed, problem: &str, paused: &Paused) {
        let path = paused.request().path_of(&typed.target);
        let path = escape(&path).into_owned();
        if has_hidden(&typed.new) {
            self.say(&format!("Not saved: {problem}."));
            return;
        }
        self.entry = Some(Entry::new(
            Purpose::Value(typed.target, typed.old),
            path,
            &typed.new,
        ));
        let then = match self.mode() {
            Mode::Paused => "; e then edits the current value",
            Mode::ReadOnly(_) => "",
        };
        self.say(&format!(
            "Not saved: {problem}. Esc discards your text{then}."
        ));
    }

    /// Shows a text that cannot be saved any more, so that nothing of it is lost. `why` ends a sentence.
    pub fn show_text(&mut self, why: &str, text: &str) {
        if !has_hidden(text) {
            self.entry = Some(Entry::new(Purpose::Lost, "your text".to_owned(), text));
        }
        self.say(&format!("Not saved: {why}."));
    }

    /// Makes a new edit, if it is possible.
    pub(super) fn change(
        &mut self,
        how: &str,
        paused: &mut Paused,
        edit: impl FnOnce(&mut EditableRequest) -> Result<Change, EditError>,
    ) -> Effect {
        match self.step_and_say(how, paused, edit) {
            true => last_edit(paused, None),
            false => Effect::None,
        }
    }

    /// Undoes the last edit, or redoes it.
    pub(super) fn go(&mut self, back: bool, paused: &mut Paused) -> Effect {
        let (is_changed, changed) = match back {
            true => (
                self.step_and_say("undone: ", paused, EditableRequest::undo),
                Changed::Undo,
            ),
            false => (
                self.step_and_say("redone: ", paused, EditableRequest::redo),
                Changed::Redo,
            ),
        };
        match is_changed {
            true => Effect::Changed(changed),
            false => Effect::None,
        }
    }

    /// Does a step and says what came of it. Whether the request was changed.
    pub(super) fn step_and_say(
        &mut self,
        how: &str,
        paused: &mut Paused,
        edit: impl FnOnce(&mut EditableRequest) -> Result<Change, EditError>,
    ) -> bool {
        let before = paused.request().revision();
        self.let_go();
        match paused.step(edit) {
            Ok(done) => self.say(&format!("{how}{done}")),
            Err(error) => self.say(&error.to_string()),
        }
        paused.request().revision() != before
    }

    /// Lets go of the body that an edit is about to replace: the old and the new one may be large. It is laid out again for
    /// the next frame.
    fn let_go(&mut self) {
        self.values = Vec::new();
        self.lines = Lines::default();
        self.made = None;
    }

    /// The value to edit or copy: the selected one, or the only text of the selected section.
    pub(super) fn target(&self, request: &EditableRequest) -> Result<Target, EditError> {
        let row = match self.focus() {
            Pane::Detail => self.value(),
            Pane::Sections => None,
        };
        match row {
            Some(row) => Ok(row.target.clone()),
            None => request.only_text(self.number),
        }
    }

    pub(super) fn ask_for_option(&mut self, text: &str) {
        let title = "add an option: name and value, as in seed 7".to_owned();
        self.entry = Some(Entry::new(Purpose::Option, title, text));
    }

    /// Adds an option whose name and value were typed.
    pub(super) fn add_option(&mut self, typed: &str, paused: &mut Paused) -> Effect {
        let parsed = Path::parse_first(typed.trim());
        let problem = match parsed {
            _ if let Mode::ReadOnly(why) = self.mode() => why.clone(),
            _ if typed.trim().is_empty() => "a name and a value are missing".to_owned(),
            Ok((path, value)) if !value.trim().is_empty() => {
                let path = path.to_string();
                match paused.step(|request| request.add(&path, value)) {
                    Ok(done) => {
                        self.say(&match paused.request().misspelt_option(&path) {
                            Some(known) => format!("{done} · did you mean {known}?"),
                            None => done,
                        });
                        return last_edit(paused, None);
                    }
                    Err(error) => error.to_string(),
                }
            }
            Ok(_) => "a value is missing behind the name".to_owned(),
            Err(error) => error.to_string(),
        };
        self.ask_for_option(typed);
        self.say(&format!("Not added: {problem}."));
        Effect::None
    }

    pub(super) fn edit(&mut self, outside: bool, paused: &Paused) -> Effect {
        let target = match self.target(paused.request()) {
            Ok(target) => target,
            Err(EditError::NoSingleText { .. }) if self.focus() == Pane::Sections => {
                self.show(Tab::Request);
                self.pane = Pane::Detail;
                self.say("It has several values: select one, and e edits it.");
                return Effect::None;
            }
            Err(error) => {
                self.say(&error.to_string());
                return Effect::None;
            }
        };
        let draft = match paused.draft(&target) {
            Ok(draft) => draft,
            Err(error) => {
                self.say(&error.to_string());
                return Effect::None;
            }
        };
        if outside || draft.text.len() > MAX_BYTES_IN_PLACE {
            return Effect::EditOutside(target, draft);
        }
        if draft.has_hidden_characters() {
            self.say("The text has characters that cannot be shown here: o edits it in $EDITOR.");
            return Effect::None;
        }
        let purpose = Purpose::Value(target, draft.text.clone());
        self.entry = Some(Entry::new(purpose, draft.path, &draft.text));
        Effect::None
    }

    /// Deletes what is selected, or restores it: a section in the left pane, an option in the right one. No other value can
    /// be left out by itself.
    pub(super) fn delete_or_restore(&mut self, paused: &mut Paused) -> Effect {
        let number = self.number;
        let request = paused.request();
        if request.is_deleted(number) {
            return self.change("", paused, |it| it.step(SectionStep::Restore, number));
        }
        if self.focus() == Pane::Sections {
            return self.change("", paused, |it| it.step(SectionStep::Delete, number));
        }
        let section = request.section(number);
        let kind = section.map(|section| section.kind);
        match (self.value().map(|row| row.target.clone()), kind) {
            (Some(target), Some(SectionKind::Options)) => {
                return self.change("", paused, |it| it.remove_target(&target));
            }
            (None, _) if self.tab != Tab::Request => {
                self.say("Sections are deleted in the list (h), options in the request tab.");
            }
            (None, Some(SectionKind::Options)) => self.say("Select an option first."),
            _ => self.say(&format!(
                "Only sections and options can be deleted: e edits this value, and d in the left pane (h) deletes section {number}."
            )),
        }
        Effect::None
    }

    pub(super) fn copy(&mut self, action: Action, request: &EditableRequest) -> Effect {
        match action {
            Action::CopyRequest => {
                let bytes = String::from_utf8_lossy(request.bytes()).into_owned();
                Effect::Copy(bytes, "the request")
            }
            Action::CopySection => match request.text(self.number) {
                Some(text) => Effect::Copy(text.to_owned(), "the section"),
                None => {
                    self.say("A deleted section cannot be copied; d restores it.");
                    Effect::None
                }
            },
            _ => {
                let target = self.target(request);
                match target.and_then(|target| request.leaf(&target)) {
                    Ok(leaf) => {
                        let text = leaf.map_or_else(String::new, |leaf| leaf.text().into_owned());
                        Effect::Copy(text, "the value")
                    }
                    Err(error) => {
                        self.say(&error.to_string());
                        Effect::None
                    }
                }
            }
        }
    }
}

/// Whether a text has characters that a text area cannot show.
fn has_hidden(text: &str) -> bool {
    let mut chars = text.chars();
    chars.any(|c| !matches!(c, '\n' | '\t') && needs_escape(c))
}

/// The edit that was just done. `typed`: the text that it came of.
fn last_edit(paused: &Paused, typed: Option<Typed>) -> Effect {
    let edit = paused.request().edits().last().cloned();
    edit.map_or(Effect::None, |edit| {
        Effect::Changed(Changed::Edit(edit, typed))
    })
}
