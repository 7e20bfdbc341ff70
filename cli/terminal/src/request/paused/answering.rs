//! What a typed line does to a paused request.

use dunlin_chat::request::editor::{
    Change, EditError, EditableRequest, SectionStep, Target, Unsendable,
};
use dunlin_chat::tokens::counted;
use dunlin_host::display::{escape, grouped, needs_escape, one_line};

use super::{Draft, Edited, Paused, Reply, Saved, foreign, percent, say};
use crate::approval::look::{MARGIN, Window};
use crate::request::words::{self, Command, NotUnderstood, Place, WORDS};
use crate::request::{list, show};
use crate::ui::calls::fit;
use crate::ui::style::Label;
use crate::ui::wrap;

impl Paused {
    /// What a line comes to.
    pub fn answer(&mut self, line: &str, window: Window) -> Reply {
        let command = match words::parse(line) {
            Ok(command) => command,
            Err(NotUnderstood::Unknown {
                near: None,
                is_text: true,
                ..
            }) => {
                let note = "That is not a word of the request editor; the text is kept for your next message.";
                return Reply::Keep(self.say(note, window));
            }
            Err(error) => return Reply::Say(self.say(&error.to_string(), window)),
        };
        match command {
            Command::Send => match self.problem() {
                None => Reply::Send,
                Some(problem) => Reply::Say(self.unsendable(problem, window)),
            },
            Command::Cancel => Reply::Cancel,
            Command::List(all) => self.page_of(self.overview(all, window), all),
            Command::Show(numbers) => self.show(&numbers, window),
            Command::Edit(place, value) => self.edit(&place, value, window),
            Command::Delete(numbers) => self.each(SectionStep::Delete, &numbers, window),
            Command::Restore(numbers) => self.each(SectionStep::Restore, &numbers, window),
            Command::Add(path, value) => Reply::Say(self.add(&path, &value, window)),
            Command::Remove(path) => self.change("", |request| request.remove(&path), window),
            Command::RestoreOption(path) => {
                self.change("", |request| request.restore_option(&path), window)
            }
            Command::Undo => self.change("undone: ", EditableRequest::undo, window),
            Command::Redo => self.change("redone: ", EditableRequest::redo, window),
            Command::Reset => self.change("", EditableRequest::reset, window),
            Command::Diff => match show::differences(&self.request, &self.saved, window) {
                rows if rows.is_empty() => Reply::Say(self.say("Nothing is edited.", window)),
                rows => Reply::Page(rows),
            },
            Command::Payload => {
                let (json, notice) = show::payload(&self.request);
                let mut rows = vec![json];
                rows.extend(notice.iter().flat_map(|notice| self.say(notice, window)));
                Reply::Page(rows)
            }
            Command::Copy(part) => self.copy(part, window),
            Command::Find(text) => Reply::Page(show::found(&self.request, &text, window)),
            Command::Pin(numbers, pinned) => Reply::Say(self.pin_all(&numbers, pinned, window)),
            Command::Open => Reply::Open,
            Command::Save(number, name) => self.save(number, name, window),
            Command::Help => Reply::Say(help(window)),
            Command::Slash => Reply::Slash,
        }
    }

    /// Takes over what a value was edited to.
    pub fn edited(&mut self, edited: &Edited, text: &str, window: Window) -> Vec<String> {
        let path = match edited {
            Edited::Leaf(target) => {
                return self.changed("", |request| request.set_target(target, text), window);
            }
            Edited::Tree(path) => path,
        };
        let before = self.measure.real(self.counts.total());
        match self.request.set_tree(path, text) {
            Ok(changes) => {
                for change in &changes {
                    self.counts.update(&self.request, change, &self.measure);
                }
                let mut done = format!("{} set", counted(changes.len(), "value", "values"));
                if changes.len() > 1 {
                    done.push_str("; each undo takes one back");
                }
                self.done(&done, before, window)
            }
            Err(error) => {
                let revision = self.request.revision();
                self.refused = Some((path.clone(), text.to_owned(), revision));
                let error =
                    format!("Nothing is changed: {error}. `e {path}` opens your text again.");
                foreign(&error, window)
            }
        }
    }

    fn page_of(&self, rows: Vec<String>, all: bool) -> Reply {
        match all {
            true => Reply::Page(rows),
            false => Reply::Say(rows),
        }
    }

    /// One section in full, or a row for each of several.
    fn show(&self, numbers: &[usize], window: Window) -> Reply {
        if let Some(rows) = self.unknown(numbers, window) {
            return Reply::Say(rows);
        }
        let [number] = *numbers else {
            let tokens = |count| self.measure.real(count);
            let pins = self.pins.numbers(&self.request);
            let pinned = (pins.as_slice(), window);
            let rows = list::rows_of(numbers, &self.request, &self.counts, tokens, pinned);
            return Reply::Page(rows);
        };
        let section = self.request.section(number);
        let label = section.map_or("", |section| section.label.as_str());
        let label = match show::arguments(&self.request, number) {
            Some(arguments) => one_line(&format!("{label} {arguments}")),
            None => one_line(label),
        };
        let label = fit(&label, window.columns / 2);
        let count = self.counts.section(number);
        let tokens = grouped(self.measure.real(count));
        let state = match (
            self.request.is_deleted(number),
            self.request.is_edited(number),
        ) {
            (true, _) => " · deleted".to_owned(),
            (false, is_edited) => {
                let share = percent(count, self.counts.total());
                let edited = if is_edited { " · edited" } else { "" };
                format!(" ({share} of the request){edited}")
            }
        };
        let heading = format!("{number} {label} · {tokens} tokens{state}");
        Reply::Page(show::section(&self.request, number, &heading, window))
    }

    fn edit(&mut self, place: &Place, value: Option<String>, window: Window) -> Reply {
        if let (Place::Path(path), None) = (place, &value)
            && let Ok(now) = self.request.tree(path)
        {
            return Reply::Edit(self.tree(path, now, window));
        }
        if matches!(place, Place::Path(path) if path == "$") {
            let alone = "`e $` takes no value: alone it opens the whole request as JSON";
            return Reply::Say(self.say(alone, window));
        }
        let target = match place {
            Place::Section(number) => self.request.only_text(*number),
            Place::Path(path) => self.request.target(path),
        };
        let target = match target {
            Ok(target) => target,
            Err(error) => return Reply::Say(self.error(&error, window)),
        };
        if let Some(value) = value {
            return Reply::Say(self.edited(&Edited::Leaf(target), &value, window));
        }
        match self.draft(&target) {
            Ok(draft) => Reply::Edit(Draft {
                is_long: draft.is_long || draft.text.chars().count() > 4 * window.columns,
                path: fit(&draft.path, window.columns / 2),
                ..draft
            }),
            Err(error) => Reply::Say(self.error(&error, window)),
        }
    }

    /// A value to be edited.
    ///
    /// # Errors
    /// There is no such value, or its section is deleted.
    pub fn draft(&self, target: &Target) -> Result<Draft, EditError> {
        let leaf = self.request.leaf(target)?;
        let text = leaf.map_or_else(String::new, |leaf| leaf.text().into_owned());
        Ok(Draft {
            is_long: text.contains(['\n', '\t']) || text.chars().any(needs_escape),
            path: escape(&self.request.path_of(target)).into_owned(),
            edited: Edited::Leaf(target.clone()),
            now: text.clone(),
            text,
        })
    }

    /// Several values to be edited as JSON, which are `now` as given.
    fn tree(&mut self, path: &str, now: String, window: Window) -> Draft {
        // It would take back what was edited since.
        let revision = self.request.revision();
        let refused = self.refused.take();
        let refused = refused.filter(|(of, _, made)| of == path && *made == revision);
        Draft {
            is_long: true,
            path: fit(&escape(path), window.columns / 2),
            edited: Edited::Tree(path.to_owned()),
            text: refused.map_or_else(|| now.clone(), |(_, text, _)| text),
            now,
        }
    }

    /// Adds an option. One that the dialect does not know is sent as it is, and may be a misspelling.
    fn add(&mut self, path: &str, value: &str, window: Window) -> Vec<String> {
        let before = self.request.revision();
        let mut rows = self.changed("", |request| request.add(path, value), window);
        if self.request.revision() != before
            && let Some(known) = self.request.misspelt_option(path)
        {
            let path = escape(path);
            let note =
                format!("{path} is sent as you typed it; did you mean {known}? undo takes it back");
            rows.extend(self.say(&note, window));
        }
        rows
    }

    /// Deletes or restores sections. Where several are named, what is so already is passed over, as the results of a call
    /// that went with it.
    fn each(&mut self, step: SectionStep, numbers: &[usize], window: Window) -> Reply {
        if let [number] = numbers {
            return self.change("", |request| request.step(step, *number), window);
        }
        if let Some(error) = self.first_unknown(numbers) {
            let nothing = format!("Nothing is {}: {error}", step.done());
            return Reply::Say(foreign(&nothing, window));
        }
        let before = self.measure.real(self.counts.total());
        let (change, refused) = self.request.step_each(step, numbers);
        self.counts.update(&self.request, &change, &self.measure);
        let mut rows = match change.sections.len() {
            0 if refused.is_some() => Vec::new(),
            0 => self.say("nothing to change", window),
            count => {
                let sections = counted(count, "section", "sections");
                self.done(&format!("{sections} {}", step.done()), before, window)
            }
        };
        rows.extend(refused.iter().flat_map(|error| self.error(error, window)));
        Reply::Say(rows)
    }

    /// What was done, and what it saves and costs, on rows of their own where one is too short. `before`: the tokens
    /// before it.
    fn done(&self, done: &str, before: u64, window: Window) -> Vec<String> {
        let costs = self.costs(before).join(" · ");
        let mut rows = foreign(done, window);
        match costs.is_empty() {
            true => rows,
            false => match &*self.say(&format!("{done} · {costs}"), window) {
                [row] => vec![row.clone()],
                _ => {
                    rows.extend(self.say(&costs, window));
                    rows
                }
            },
        }
    }

    /// Copies the request or a part of it.
    fn copy(&self, part: Option<String>, window: Window) -> Reply {
        let Some(part) = part else {
            let bytes = String::from_utf8_lossy(self.request.bytes());
            return Reply::Copy(bytes.into_owned(), "the request");
        };
        if let Ok(number) = part.parse() {
            return match self.request.text(number) {
                Some(text) => Reply::Copy(text.to_owned(), "the section"),
                None => Reply::Say(match self.unknown(&[number], window) {
                    Some(rows) => rows,
                    None => {
                        let deleted = format!(
                            "section {number} is deleted: `restore {number}` brings it back"
                        );
                        self.say(&deleted, window)
                    }
                }),
            };
        }
        let target = self.request.target(&part);
        match target.and_then(|target| self.draft(&target)) {
            Ok(draft) => Reply::Copy(draft.text, "the value"),
            // What is no value may be a field of /metadata.
            Err(_) if !part.contains(['.', '[']) => Reply::CopyField(part),
            Err(error) => Reply::Say(self.error(&error, window)),
        }
    }

    /// Says that there is no such section, if one of them does not exist.
    fn unknown(&self, numbers: &[usize], window: Window) -> Option<Vec<String>> {
        let error = self.first_unknown(numbers)?;
        Some(self.error(&error, window))
    }

    fn first_unknown(&self, numbers: &[usize]) -> Option<EditError> {
        let is_unknown = |number: &&usize| self.request.section(**number).is_none();
        let name = numbers.iter().find(is_unknown)?.to_string();
        let count = self.request.sections().len();
        Some(EditError::UnknownSection { name, count })
    }

    fn pin_all(&mut self, numbers: &[usize], pinned: bool, window: Window) -> Vec<String> {
        if let Some(rows) = self.unknown(numbers, window) {
            return rows;
        }
        let mut count = 0;
        for number in numbers {
            count += usize::from(self.pin(*number, pinned));
        }
        let done = match pinned {
            true => "pinned at the top; what is sent keeps its order",
            false => "unpinned",
        };
        match (count, numbers) {
            (0, [number]) => {
                let not = if pinned { "already" } else { "not" };
                self.say(&format!("section {number} is {not} pinned"), window)
            }
            (0, _) => {
                let none = if pinned { "all" } else { "none" };
                self.say(&format!("{none} of these sections are pinned"), window)
            }
            (count, _) => {
                let sections = counted(count, "section", "sections");
                self.say(&format!("{sections} {done}"), window)
            }
        }
    }

    fn save(&self, number: usize, name: String, window: Window) -> Reply {
        let target = self.request.only_text(number);
        let leaf = target.and_then(|target| self.request.leaf(&target));
        let text = match leaf {
            Ok(leaf) => leaf.map_or_else(String::new, |leaf| leaf.text().into_owned()),
            Err(EditError::NoSingleText { .. }) => {
                let none = format!("section {number} has no single text that could be a template");
                return Reply::Say(self.say(&none, window));
            }
            Err(error) => return Reply::Say(self.error(&error, window)),
        };
        let section = self.request.section(number);
        let label = section.map_or_else(String::new, |section| one_line(&section.label));
        Reply::Save(Saved { name, label, text })
    }

    fn change(
        &mut self,
        how: &str,
        edit: impl FnOnce(&mut EditableRequest) -> Result<Change, EditError>,
        window: Window,
    ) -> Reply {
        Reply::Say(self.changed(how, edit, window))
    }

    /// Does a step and says what came of it; `how` stands before that.
    fn changed(
        &mut self,
        how: &str,
        edit: impl FnOnce(&mut EditableRequest) -> Result<Change, EditError>,
        window: Window,
    ) -> Vec<String> {
        let before = self.tokens();
        match self.apply(edit) {
            Ok(change) => {
                let done = format!("{how}{}", escape(&change.to_string()));
                match change.edit {
                    Some(_) => self.done(&done, before, window),
                    None => foreign(&done, window),
                }
            }
            Err(error) => self.error(&error, window),
        }
    }

    fn unsendable(&self, error: Unsendable, window: Window) -> Vec<String> {
        let mut rows = foreign(&format!("Not sent: {error}"), window);
        if let Some(first) = rows.first_mut() {
            *first = window.styles.paint(Label::Bad, first);
        }
        rows
    }
}

fn help(window: Window) -> Vec<String> {
    let left = WORDS.iter().map(|(word, arguments, _)| match *arguments {
        "" => (*word).to_owned(),
        arguments => format!("{word} {arguments}"),
    });
    let left: Vec<String> = left.collect();
    let widest = left.iter().map(|word| word.len()).max().unwrap_or(0);
    let rows = left.iter().zip(WORDS).flat_map(|(word, (.., about))| {
        let margin = MARGIN.len() + widest + 2;
        let first = format!("{MARGIN}{word:widest$}  ");
        wrap::hanging(&first, margin, about, window.columns.saturating_sub(1))
    });
    let mut rows: Vec<String> = rows.collect();
    let modes = "/pause MODE chooses which requests are paused; /pause off cancels this one.";
    rows.extend(say(modes, window));
    rows
}
