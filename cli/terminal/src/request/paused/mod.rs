//! One paused request: what it is, what its edits cost, and the rows that show it.

mod answering;

use dunlin_chat::request::editor::{
    Change, Counts, EditError, EditableRequest, LastRequest, SavedEdit, Target, Unsendable,
};
use dunlin_chat::request::measure::Measure;
use dunlin_chat::tokens::counted;
use dunlin_chat::turn::PausedRequest;
use dunlin_host::display::{escape, grouped, needs_escape, one_line};
use jiff::Timestamp;

use super::list;
use super::pins::Pins;
use super::words::KEY;
use crate::approval::look::{MARGIN, Window};
use crate::ui::input_marks;
use crate::ui::style::Label;
use crate::ui::wrap;

/// The prompt below a paused request.
pub const PROMPT: &str = input_marks::REQUEST;

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
    Send,
    Cancel,
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
    pub text: String,
}

/// What is edited.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Edited {
    Leaf(Target),
    /// An object, an array or the whole request as JSON, by its path.
    Tree(String),
}

/// A value to be edited.
#[derive(Debug, Clone)]
pub struct Draft {
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
    max_request_tokens: u64,
    window_tokens: Option<u64>,
    last_sent: Option<LastRequest>,
    round: u32,
    number: Option<u64>,
    time: Option<Timestamp>,
    notice: Option<String>,
    /// How many sections are shown of a request whose edits are saved.
    captured: Option<usize>,
    /// A text that was refused, the path of what it was to be, and the revision that it was made from.
    refused: Option<(String, String, u64)>,
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
            max_request_tokens: paused.max_request_tokens,
            window_tokens: paused.window,
            last_sent: paused.last_sent.map(|last| LastRequest::new(&last)),
            round: paused.round,
            number: paused.number,
            time: paused.time,
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
        self.request
            .check(&self.counts, Some(self.max_request_tokens))
            .err()
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

    /// One sentence, or several in a row.
    pub fn say(&self, text: &str, window: Window) -> Vec<String> {
        say(text, window)
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
    pub fn max_request_tokens(&self) -> u64 {
        self.max_request_tokens
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
        self.request.model()
    }

    /// What a section is, where it is in the payload, and its tokens and share; `None`: there is none.
    pub fn about(&self, number: usize) -> Option<String> {
        let label = &self.request.section(number)?.label;
        let tokens = counted_tokens(self.section_tokens(number));
        let share = percent(self.counts.section(number), self.counts.total());
        let Some(path) = self.request.path(number) else {
            return Some(format!("{label} · {tokens} · deleted"));
        };
        let about = format!("{label} · {tokens} ({share})");
        match path.steps() {
            [] => Some(about),
            _ => Some(format!("{about} · {path}")),
        }
    }

    /// Edits that are kept for later requests, each with what is said of it.
    pub fn saved(&self) -> &[(SavedEdit, String)] {
        &self.saved
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
            None => format!("{tokens} tokens (context window unknown)"),
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

    /// When it was composed, or sent.
    pub fn time(&self) -> Option<Timestamp> {
        self.time
    }

    /// The model's context window in tokens, as far as known.
    pub fn window_tokens(&self) -> Option<u64> {
        self.window_tokens
    }

    /// The last request that the endpoint was sent, as far as known.
    pub fn last_sent(&self) -> Option<&str> {
        self.last_sent.as_ref().map(LastRequest::text)
    }

    /// This is the last request that the endpoint was sent.
    pub fn set_last_sent(&mut self, body: &[u8]) {
        self.last_sent = Some(LastRequest::new(body));
    }

    /// Makes the request as it was composed, without a history of edits.
    pub fn forget_edits(&mut self) {
        let original = self.request.original().clone();
        self.request = EditableRequest::new(original, self.request.outline());
        self.counts = Counts::of(&self.request, &self.measure);
        self.refused = None;
    }

    /// How much of the last request is kept, where there was one.
    pub fn kept(&self) -> Option<String> {
        let last = self.last_sent.as_ref()?;
        let kept = self.request.kept_prefix(last, &self.counts);
        let tokens = grouped(self.measure.real(kept));
        Some(format!("the server has read the first {tokens} before"))
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
