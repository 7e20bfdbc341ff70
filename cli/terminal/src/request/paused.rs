//! One paused request: what a typed line comes to.

use dunlin_chat::request::editor::{
    Change, Counts, EditError, EditableRequest, LastRequest, SavedEdit, SectionStep, Target,
    Unsendable,
};
use dunlin_chat::request::measure::Measure;
use dunlin_chat::tokens::counted;
use dunlin_chat::turn::PausedRequest;
use dunlin_host::display::{escape, grouped, needs_escape, one_line};

use super::pins::Pins;
use super::words::{self, Command, KEY, NotUnderstood, Place, WORDS};
use super::{list, show};
use crate::approval::look::{MARGIN, Window};
use crate::ui::calls::fit;
use crate::ui::prompts;
use crate::ui::style::Label;
use crate::ui::wrap;

/// The prompt below a paused request.
pub const PROMPT: &str = prompts::REQUEST;

/// Rows beside the sections that have to fit on the screen with them: the heading, the help line and the prompt.
const OTHER_ROWS: usize = 8;

/// The fewest rows for sections, however small the screen is.
const MIN_ROWS: usize = 6;

/// What a line comes to.
#[derive(Debug)]
pub enum Reply {
    /// These rows are shown, and another line is read.
    Say(Vec<String>),
    /// The same, in a pager where they do not fit on the screen.
    Page(Vec<String>),
    /// The request is sent.
    Send,
    /// It is not sent.
    Cancel,
    /// A value is edited.
    Edit(Draft),
    /// A text is copied to the clipboard; the second says what it is.
    Copy(String, &'static str),
    /// A field of the request's metadata is copied to the clipboard; its name is not checked.
    CopyField(String),
    /// The request is opened in the inspector.
    Open,
    /// A text is saved as a prompt template.
    Save(Saved),
    /// The line is a command of the chat.
    Slash,
    /// The line may be a message: it is kept, and these rows are shown.
    Keep(Vec<String>),
}

/// A text to be saved as a prompt template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Saved {
    /// The name that was typed for it, not checked.
    pub name: String,
    /// What it was: `user`, `system prompt`. Names in it may be the model's or a plugin's.
    pub label: String,
    /// The text.
    pub text: String,
}

/// What is edited.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Edited {
    /// A value.
    Leaf(Target),
    /// An object, an array or the whole request as JSON, by its path.
    Tree(String),
}

/// A value to be edited.
#[derive(Debug, Clone)]
pub struct Draft {
    /// The value.
    pub edited: Edited,
    /// Its path, escaped.
    pub path: String,
    /// Its text as it is now; of values other than strings the JSON.
    pub now: String,
    /// The text to begin with: another one where the last attempt was refused.
    pub text: String,
    /// Whether it is for a text editor: it has several lines, or characters that a line editor cannot show.
    pub is_long: bool,
}

impl Draft {
    /// Whether it has characters that a text area cannot show.
    pub fn has_hidden_characters(&self) -> bool {
        let hidden = |c: char| !matches!(c, '\n' | '\t') && needs_escape(c);
        self.text.chars().any(hidden)
    }
}

/// A request that waits to be sent.
#[derive(Debug)]
pub struct Paused {
    request: EditableRequest,
    counts: Counts,
    measure: Measure,
    room: u64,
    window_tokens: Option<u64>,
    last_sent: Option<LastRequest>,
    round: u32,
    number: Option<u64>,
    notice: Option<String>,
    /// How many sections are shown of a request whose edits are saved.
    captured: Option<usize>,
    /// A text that was refused, and the path of what it was to be.
    refused: Option<(String, String)>,
    pins: Pins,
    /// Edits that are kept for later requests, with what is said of them.
    saved: Vec<(SavedEdit, String)>,
}

impl Paused {
    /// Takes over a request, and counts it.
    pub fn new(paused: PausedRequest<'_>) -> Paused {
        Paused {
            counts: Counts::of(&paused.request, &paused.measure),
            request: paused.request,
            measure: paused.measure,
            room: paused.room,
            window_tokens: paused.window,
            last_sent: paused.last_sent.map(|last| LastRequest::new(&last)),
            round: paused.round,
            number: paused.number,
            notice: paused.notice,
            captured: None,
            refused: None,
            pins: Pins::default(),
            saved: Vec::new(),
        }
    }

    /// The same with these sections at the top.
    #[must_use]
    pub fn with_pins(self, pins: Pins) -> Paused {
        Paused { pins, ..self }
    }

    /// The same with these edits known as saved ones. What is said of each is escaped.
    #[must_use]
    pub fn with_saved(self, saved: Vec<(SavedEdit, String)>) -> Paused {
        Paused { saved, ..self }
    }

    /// The sections at the top.
    pub fn pins(&self) -> &Pins {
        &self.pins
    }

    /// Pins a section, or unpins it. `false`: it was so already, or there is no such section.
    pub fn pin(&mut self, number: usize, pinned: bool) -> bool {
        let section = self.request.section(number);
        section.is_some_and(|section| self.pins.set(&section.id, pinned))
    }

    /// Moves a pin by one place among the pins. Whether it could be moved.
    pub fn shift_pin(&mut self, number: usize, down: bool) -> bool {
        let section = self.request.section(number);
        section.is_some_and(|section| self.pins.shift(&section.id, down))
    }

    /// The tokens of the pinned sections; `None`: none is pinned.
    pub fn pinned_tokens(&self) -> Option<u64> {
        let numbers = self.pins.numbers(&self.request);
        let sent = numbers
            .iter()
            .filter(|number| !self.request.is_deleted(**number));
        let tokens = sent.map(|number| self.counts.section(*number)).sum();
        (!numbers.is_empty()).then(|| self.measure.real(tokens))
    }

    /// How many sections are pinned, with their tokens; `None`: none is.
    pub fn pinned(&self) -> Option<String> {
        let tokens = counted_tokens(self.pinned_tokens()?);
        let count = self.pins.numbers(&self.request).len();
        Some(format!("{count} pinned ({tokens})"))
    }

    /// Says that the edits are saved, and shows only the first so many sections.
    pub fn capture(&mut self, sections: usize) {
        self.captured = Some(sections);
    }

    /// Why the request cannot be sent as it is now.
    pub fn problem(&self) -> Option<Unsendable> {
        self.request.check(&self.counts, Some(self.room)).err()
    }

    /// The request as it is now.
    pub fn request(&self) -> &EditableRequest {
        &self.request
    }

    /// The request as it is now.
    pub fn into_request(self) -> EditableRequest {
        self.request
    }

    /// The rows that are shown first: the heading, the sections and the help line.
    pub fn open(&self, window: Window) -> Vec<String> {
        self.overview(false, window)
    }

    /// What a line comes to.
    pub fn answer(&mut self, line: &str, window: Window) -> Reply {
        let command = match words::parse(line) {
            Ok(command) => command,
            Err(NotUnderstood::Unknown {
                near: None,
                is_text: true,
                ..
            }) => {
                let note = "That is not a word of the request editor; the text is back in the input line afterwards.";
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
            Command::Undo => self.change("undone: ", EditableRequest::undo, window),
            Command::Redo => self.change("done again: ", EditableRequest::redo, window),
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
                let done = format!("{} set", counted(changes.len(), "value", "values"));
                self.done(&done, before, window)
            }
            Err(error) => {
                self.refused = Some((path.clone(), text.to_owned()));
                let error =
                    format!("Nothing is changed: {error}. `e {path}` opens your text again.");
                foreign(&error, window)
            }
        }
    }

    /// One sentence, or several in a row.
    pub fn say(&self, text: &str, window: Window) -> Vec<String> {
        say(text, window)
    }

    fn page_of(&self, rows: Vec<String>, all: bool) -> Reply {
        match all {
            true => Reply::Page(rows),
            false => Reply::Say(rows),
        }
    }

    fn overview(&self, all: bool, window: Window) -> Vec<String> {
        let styles = window.styles;
        let heading = format!("⏸ {}", self.heading());
        let heading = wrap::hanging(
            MARGIN,
            MARGIN.len() + 2,
            &heading,
            window.columns.saturating_sub(1),
        );
        let heading = heading
            .into_iter()
            .map(|row| styles.paint(Label::Warning, &row));
        let notice = self
            .notice
            .iter()
            .flat_map(|notice| self.say(notice, window));
        let most = window.rows.saturating_sub(OTHER_ROWS).max(MIN_ROWS);
        let most = (!all).then_some(most);
        let tokens = |count| self.measure.real(count);
        let pins = self.pins.numbers(&self.request);
        let mut sections = list::rows(&self.request, &self.counts, tokens, (&pins, most), window);
        if let Some(shown) = self
            .captured
            .filter(|shown| !all && *shown < sections.len())
        {
            sections.truncate(shown);
            sections.push(format!("{MARGIN}  … list all shows the others"));
        }
        let mut rows: Vec<String> = notice.chain(heading).chain(sections).collect();
        if self.captured.is_some() {
            let sentence = "What you change in this request is saved and applied to later ones.";
            rows.extend(self.say(sentence, window));
        }
        rows.push(key(window));
        rows
    }

    /// Which request it is, in words.
    pub fn title(&self) -> String {
        match (self.number, self.round) {
            (Some(number), _) => format!("request {number}"),
            (None, 1) => "the request".to_owned(),
            (None, round) => format!("request {round} of this turn"),
        }
    }

    fn heading(&self) -> String {
        let request = format!("{} is paused", self.title());
        let sections = counted(self.request.sections().len(), "section", "sections");
        let mut parts = vec![request, sections, self.total()];
        if self.edits() > 0 {
            let edits = counted(self.edits(), "edit", "edits");
            parts.push(format!("{edits} (the conversation is unchanged)"));
        }
        parts.extend(self.pinned());
        parts.extend(self.kept());
        parts.join(" · ")
    }

    /// How its tokens are counted.
    pub fn measure(&self) -> &Measure {
        &self.measure
    }

    /// How many tokens it may have, in the measure's own counts.
    pub fn room(&self) -> u64 {
        self.room
    }

    /// Which request of its turn it is, from 1.
    pub fn round(&self) -> u32 {
        self.round
    }

    /// Its number in the session, if the session keeps requests.
    pub fn number(&self) -> Option<u64> {
        self.number
    }

    /// The model that it names, as it is now.
    pub fn model(&self) -> Option<String> {
        let target = self.request.target("model").ok()?;
        Some(self.request.leaf(&target).ok()??.text())
    }

    /// Whether it is another one than was composed.
    pub fn is_edited(&self) -> bool {
        self.request.is_dirty()
    }

    /// How many edits there are to be sent: what was undone, or done and taken back, is none.
    pub fn edits(&self) -> usize {
        self.request.difference_count()
    }

    /// Its tokens, and the context window.
    pub fn total(&self) -> String {
        let total = self.measure.real(self.counts.total());
        let tokens = grouped(total);
        match self.window_tokens {
            Some(window) => {
                let share = percent(total, window);
                format!("{tokens} of {} tokens ({share})", grouped(window))
            }
            None => format!("{tokens} tokens (context window not known)"),
        }
    }

    /// The tokens of what would be sent.
    pub fn tokens(&self) -> u64 {
        self.measure.real(self.counts.total())
    }

    /// The tokens of a section, also of one that is deleted.
    pub fn section_tokens(&self, number: usize) -> u64 {
        self.measure.real(self.counts.section(number))
    }

    /// The model's context window in tokens, as far as known.
    pub fn window_tokens(&self) -> Option<u64> {
        self.window_tokens
    }

    /// How much of the last request is kept, where there was one.
    pub fn kept(&self) -> Option<String> {
        let last = self.last_sent.as_ref()?;
        let kept = self.request.kept_prefix(last, &self.counts);
        let tokens = grouped(self.measure.real(kept));
        Some(format!("the server has read the first {tokens} before"))
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
        let text = leaf.map_or_else(String::new, |leaf| leaf.text());
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
        let refused = self.refused.take().filter(|(of, _)| of == path);
        Draft {
            is_long: true,
            path: fit(&escape(path), window.columns / 2),
            edited: Edited::Tree(path.to_owned()),
            text: refused.map_or_else(|| now.clone(), |(_, text)| text),
            now,
        }
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
        // A path of one word is an option, which /metadata may know by the same name.
        if !part.contains(['.', '[']) {
            return Reply::CopyField(part);
        }
        let target = self.request.target(&part);
        match target.and_then(|target| self.draft(&target)) {
            Ok(draft) => Reply::Copy(draft.text, "the value"),
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
            Ok(leaf) => leaf.map_or_else(String::new, |leaf| leaf.text()),
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

    /// Does one step; what was done and what it costs, in a sentence that is escaped.
    ///
    /// # Errors
    /// The step is not possible; nothing has changed then.
    pub fn step(
        &mut self,
        edit: impl FnOnce(&mut EditableRequest) -> Result<Change, EditError>,
    ) -> Result<String, EditError> {
        let before = self.tokens();
        let change = self.apply(edit)?;
        let mut parts = vec![escape(&change.to_string()).into_owned()];
        if change.edit.is_some() {
            parts.extend(self.costs(before));
        }
        Ok(parts.join(" · "))
    }

    /// What an edit saves and costs. `before`: the tokens before it.
    fn costs(&self, before: u64) -> Vec<String> {
        let after = self.tokens();
        let tokens = format!("{} → {} tokens", grouped(before), grouped(after));
        let tokens = (before != after).then_some(tokens).into_iter();
        tokens.chain(self.kept()).collect()
    }

    fn apply(
        &mut self,
        edit: impl FnOnce(&mut EditableRequest) -> Result<Change, EditError>,
    ) -> Result<Change, EditError> {
        let change = edit(&mut self.request)?;
        self.counts.update(&self.request, &change, &self.measure);
        Ok(change)
    }

    fn error(&self, error: &EditError, window: Window) -> Vec<String> {
        foreign(&error.to_string(), window)
    }

    fn unsendable(&self, error: Unsendable, window: Window) -> Vec<String> {
        let mut rows = foreign(&format!("Not sent: {error}"), window);
        if let Some(first) = rows.first_mut() {
            *first = window.styles.paint(Label::Bad, first);
        }
        rows
    }
}

fn counted_tokens(tokens: u64) -> String {
    match tokens {
        1 => "1 token".to_owned(),
        tokens => format!("{} tokens", grouped(tokens)),
    }
}

/// A share, rounded down; of a whole of nothing it is nothing.
fn percent(part: u64, whole: u64) -> String {
    match u128::from(part) * 100 / u128::from(whole.max(1)) {
        0 if part > 0 => "under 1 %".to_owned(),
        share => format!("{share} %"),
    }
}

/// A sentence with paths or labels in it. Rows below the first stand behind a bar: a word at the beginning of one could
/// look like a row of Dunlin's own.
fn foreign(text: &str, window: Window) -> Vec<String> {
    let columns = window.columns.saturating_sub(1);
    wrap::barred(MARGIN, MARGIN.len(), &one_line(text), columns)
}

fn say(text: &str, window: Window) -> Vec<String> {
    let columns = window.columns.saturating_sub(1);
    wrap::hanging(MARGIN, MARGIN.len(), text, columns)
}

/// The words in one row, as many as fit; `?` is always there.
fn key(window: Window) -> String {
    const SEPARATOR: &str = " · ";
    let room = window.columns.saturating_sub(MARGIN.len() + 1);
    let mut words: Vec<&str> = KEY.to_vec();
    let columns = |words: &[&str]| words.join(SEPARATOR).chars().count();
    while columns(&words) > room && words.len() > 2 {
        words.remove(words.len() - 2);
    }
    let words = words
        .iter()
        .map(|word| window.styles.paint(Label::Key, word));
    format!("{MARGIN}{}", words.collect::<Vec<String>>().join(SEPARATOR))
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
