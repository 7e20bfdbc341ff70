//! How calls that wait look: rows of text, made of an entry, the size of the window and nothing else.

use std::borrow::Cow;

use dunlin_host::ask::{Answer, Origin, Scope};
use dunlin_host::call::Action;
use dunlin_host::display;
use dunlin_host::target::{Need, Operation, Target};

use super::entry::Entry;
use super::line::{WORDS, Word};
use super::storing;
use super::text::{BAR, room, wrap};
use crate::ui::calls::{fit, look};
use crate::ui::style::{Label, Styles};
use crate::ui::wrap::{self as words, visible};
use crate::ui::{command, diff, prompt_of_server};
use dunlin_chat::tokens::counted;
use dunlin_chat::turn::CallState;
use dunlin_host::display::one_line;

/// The margin of everything that Dunlin says about calls.
pub const MARGIN: &str = "  ";

/// What stands between the words of the key.
const SEPARATOR: &str = " · ";

/// The label of a command that takes back what would be stored.
const UNDO: &str = "undo";

/// How many columns the key takes with its meanings and the margin.
const KEY_COLUMNS: usize = 80;

/// How many lines of a difference are shown on however small a screen.
const MIN_DIFF_ROWS: usize = 6;

/// How many columns of a command line are to be seen among others, however narrow the screen.
const MIN_ABOUT_COLUMNS: usize = 24;

/// How many rows of one call are shown unasked, however large the screen: a question is for reading.
const MAX_ROWS: usize = 200;

/// The longest arguments under `v`, in characters, and the longest difference, in rows. A hostile plugin
/// must not be able to scroll for minutes; what is longer is read in an editor.
const MAX_VIEW_CHARS: usize = 100_000;
const MAX_VIEW_DIFF_ROWS: usize = 20_000;

/// The window, and how it can be painted.
#[derive(Debug, Clone, Copy)]
pub struct Window {
    /// Columns.
    pub columns: usize,
    /// Rows.
    pub rows: usize,
    /// Colours.
    pub styles: Styles,
}

/// A call as rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shown {
    /// The rows, complete with margin and colours.
    pub rows: Vec<String>,
    /// Whether nothing was left out: only then does a yes count.
    pub complete: bool,
    /// Whether every target is there whole: only then may it be allowed for always.
    pub targets: bool,
}

/// One question, in at most `most` rows as far as that is possible. `numbered`: it is one of several.
pub fn question(entry: &Entry, numbered: bool, window: Window, most: usize) -> Shown {
    let indent = if numbered { 4 } else { 2 };
    let mut page = Page::new(window, indent);
    page.rows.push(heading(entry, numbered, window));
    page.asked(entry, &one_line(&entry.question.wording));
    let before = page.rows.len();
    page.needs(entry);
    let needs = page.rows.len() - before;
    let notices = page.notices(entry);
    let rest = most.min(MAX_ROWS).saturating_sub(notices.len());
    let mut shown = Shown {
        complete: true,
        targets: true,
        rows: Vec::new(),
    };
    if page.rows.len() > rest {
        // Even without the difference it does not fit: the heading and as much of the wording as there is room for.
        shown.complete = false;
        shown.targets = needs == 0;
        let kept = rest.saturating_sub(1).max(2);
        let left_out = page.rows.len().saturating_sub(kept) + page.difference(entry).len();
        page.rows.truncate(kept);
        page.more(left_out);
    } else {
        let changes = page.difference(entry);
        let room = rest - page.rows.len();
        if changes.len() > room {
            shown.complete = false;
            let least = room.max(MIN_DIFF_ROWS.min(changes.len()));
            let most = least.saturating_sub(1);
            let left_out = changes.len().saturating_sub(most);
            page.rows.extend(changes.into_iter().take(most));
            page.more(left_out);
        } else {
            page.rows.extend(changes);
        }
    }
    shown.rows = page.rows;
    shown.rows.extend(notices);
    shown
}

/// A call in one row, among others. `seen`: whether it was shown in full, so that a yes to it counts.
pub fn row(entry: &Entry, seen: bool, window: Window) -> String {
    let (mark, label, _) = look(entry.state);
    let styles = window.styles;
    let word = match entry.state {
        CallState::Asking if entry.problem.is_some() => " · cannot be run like this".to_owned(),
        // What Dunlin warns of is in the question, which is not shown.
        CallState::Asking if !seen && !entry.question.notices.is_empty() => {
            format!(" · ! v {} shows it", entry.index)
        }
        CallState::Asking if !seen => format!(" · v {} shows it", entry.index),
        CallState::Approved => " · approved".to_owned(),
        _ => String::new(),
    };
    let edited = if entry.edited { " · edited" } else { "" };
    let head = format!("{MARGIN}{mark} {} ", entry.index);
    let end = format!("{edited}{word}");
    let mut left = window
        .columns
        .saturating_sub(display::width(&head) + display::width(&end) + 1);
    let mut tool = fit(&name(&entry.question.tool), left);
    // What a command does is in its line; every one is run by the same tool.
    if only_command(entry).is_some() && left < display::width(&tool) + MIN_ABOUT_COLUMNS {
        tool.clear();
    }
    left = left.saturating_sub(display::width(&tool) + 1);
    let mut about = match only_command(entry) {
        Some(line) => one_line(line),
        None => one_line(&entry.question.wording),
    };
    if shows_arguments(entry) {
        let arguments = entry.question.arguments.to_string();
        about = format!("{about} {}", one_line(&arguments));
    }
    let about = match fit(&about, left) {
        about if about.is_empty() => about,
        about if tool.is_empty() => styles.paint(Label::Quiet, &about),
        about => format!(" {}", styles.paint(Label::Quiet, &about)),
    };
    [
        styles.paint(label, &head),
        styles.paint(Label::Name, &tool),
        about,
        styles.paint(label, &end),
    ]
    .concat()
}

/// How many rows of the window a row takes: several where the window is too narrow for it.
pub fn height(row: &str, window: Window) -> usize {
    let lines = row.split('\n');
    lines
        .map(|line| visible(line).div_ceil(window.columns.max(1)).max(1))
        .sum()
}

/// Everything about a call, up to what a person could read.
pub fn view(entry: &Entry, numbered: bool, window: Window) -> Shown {
    let indent = if numbered { 4 } else { 2 };
    let mut page = Page::new(window, indent);
    page.rows.push(heading(entry, numbered, window));
    page.asked(entry, &display::escape(&entry.question.wording));
    page.needs(entry);
    let counts = diff::counts(&entry.question.actions);
    for row in &counts {
        page.foreign(row, None);
    }
    let mut changes = page.difference(entry);
    let more = changes.len().saturating_sub(MAX_VIEW_DIFF_ROWS);
    changes.truncate(MAX_VIEW_DIFF_ROWS);
    page.rows.append(&mut changes);
    if more > 0 {
        page.own(&format!("… {more} more rows, too many to show"));
    }
    // The difference says all that the arguments of an edit say. Those that are part of the question are there, too.
    let has_arguments = counts.is_empty();
    if has_arguments && !shows_arguments(entry) {
        for (line, _) in page.arguments(entry) {
            page.foreign(&line, None);
        }
    }
    let is_shortened = has_arguments && pretty(entry).chars().count() > MAX_VIEW_CHARS;
    if let Some(mode) = entry.mode {
        page.own(&format!(
            "tool      {mode} (/tools NAME prompt|always|never)"
        ));
    }
    let notices = page.notices(entry);
    page.rows.extend(notices);
    Shown {
        rows: page.rows,
        complete: more == 0 && !is_shortened,
        targets: true,
    }
}

/// What can be answered: one row, or as many as a narrow window needs.
pub fn key(entries: &[&Entry], several: bool, always: bool, window: Window) -> String {
    let session = entries.iter().any(|entry| entry.longest != Scope::Once);
    let runs = entries.iter().any(|entry| entry.problem.is_none());
    let mut parts = Vec::new();
    if several {
        parts.extend([("y N", "yes"), ("n N", "no")]);
    } else if runs {
        parts.extend([("y", "yes"), ("n", "no")]);
    } else {
        parts.push(("n", "no"));
    }
    if session && runs {
        parts.push(("s", "session"));
    }
    if always && runs {
        parts.push(("always", ""));
    }
    parts.push(("never", ""));
    if several {
        parts.extend([("skip", ""), ("y all", ""), ("run", "")]);
    }
    parts.push(("v", "view"));
    if entries.iter().any(|entry| is_waiting(entry)) {
        parts.push(("e", "edit"));
    }
    parts.push(("?", "help"));
    let narrow = window.columns < KEY_COLUMNS;
    let mut key = String::new();
    let mut used = window.columns;
    for (word, meaning) in parts {
        let meaning = match meaning {
            "" => String::new(),
            _ if narrow => String::new(),
            meaning => format!(" {meaning}"),
        };
        let width = display::width(word) + display::width(&meaning);
        if used + display::width(SEPARATOR) + width >= window.columns {
            let end = if key.is_empty() { "" } else { "\n" };
            key += &format!("{end}{MARGIN}");
            used = display::width(MARGIN);
        } else {
            key += SEPARATOR;
            used += display::width(SEPARATOR);
        }
        key += &window.styles.paint(Label::Key, word);
        key += &meaning;
        used += width;
    }
    key
}

/// What can be typed at a question about these calls, and what it means: no more than what works there.
pub fn help(entries: &[&Entry], several: bool, always: bool, window: Window) -> Vec<String> {
    let waits = entries.iter().any(|entry| is_waiting(entry));
    let session = entries.iter().any(|entry| entry.longest != Scope::Once);
    let works = |word: Word| match word {
        Word::Answer(Answer { allow: true, scope }) => match scope {
            Scope::Once => true,
            Scope::Session => session,
            Scope::Always => always,
        },
        Word::Skip | Word::Edit | Word::Tool(_) => waits,
        Word::Run => several,
        Word::Answer(_) | Word::View | Word::Help => true,
    };
    let words = WORDS.iter().filter(|(_, word, _)| works(*word));
    let first = entries.first().map_or(1, |entry| entry.index);
    let mut entries_of_help: Vec<(String, String)> = words
        .map(|(word, kind, meaning)| {
            let more = match kind {
                Word::Run => format!("; run {first} runs call {first} now and keeps the rest"),
                _ => String::new(),
            };
            ((*word).to_owned(), format!("{meaning}{more}"))
        })
        .collect();
    let mut add = |typed: &str, meaning: &str| {
        entries_of_help.push((typed.to_owned(), meaning.to_owned()));
    };
    if waits {
        let number = if several {
            format!(" {first}")
        } else {
            String::new()
        };
        add(
            &format!("tool{number} always"),
            "run calls of this tool without a question until the session ends; tool never refuses them, tool prompt asks",
        );
        add(
            &format!("y {first} TEXT"),
            "yes, and the model hears TEXT; the number is needed",
        );
        add(
            &format!("n{number} TEXT"),
            "no, and the model hears TEXT and continues",
        );
    }
    if several {
        let second = entries.get(1).map_or(first + 1, |entry| entry.index);
        add(
            &format!("y {first} {second}"),
            "the numbers of the calls stand behind any of these words",
        );
        add(
            "y all",
            "all undecided calls; n all, s all and v all work, too",
        );
        add(
            &format!("n {first}"),
            "without a text a no ends the turn, unless on_denial = \"continue\"; Dunlin still runs what you approved",
        );
    }
    add("yes, no", "mean y and n");
    add(
        "Ctrl-C",
        "no to everything, and the turn ends; so does Ctrl-D on an empty line",
    );
    let edits = |entry: &&Entry| {
        let mut actions = entry.question.actions.iter();
        actions.any(|action| matches!(action, Action::Edit(_)))
    };
    if waits && entries.iter().any(edits) {
        add(
            "Shift-Tab",
            "at the prompt, not here: accept edits of ordinary files in the project without a question",
        );
    }
    if waits {
        add("/help", "lists the commands; most of them work here");
    }
    let widest = entries_of_help
        .iter()
        .map(|(typed, _)| display::width(typed))
        .max();
    let margin = display::width(MARGIN) + widest.unwrap_or_default() + 2;
    let columns = window.columns.saturating_sub(1);
    let row = |(typed, meaning): (String, String)| {
        let first = format!("{:<margin$}", format!("{MARGIN}{typed}"));
        words::hanging(&first, margin, &meaning, columns)
    };
    entries_of_help.into_iter().flat_map(row).collect()
}

/// Whether a call is only proposed: one that runs, and one that the user made, can have a yes or a no and nothing else.
fn is_waiting(entry: &Entry) -> bool {
    entry.question.origin == Origin::Declared && entry.index > 0
}

/// Whether the arguments are part of the question: where they are all that says what a call is going to do, and where they
/// say what is sent.
fn shows_arguments(entry: &Entry) -> bool {
    let sends = |need: &Need| {
        need.operation == Operation::Write
            && matches!(need.target, Target::Url(_) | Target::Site(_))
    };
    let question = &entry.question;
    question.actions.contains(&Action::ServerCall) || question.needs.iter().any(sends)
}

/// The arguments on a line for each value. Not escaped.
fn pretty(entry: &Entry) -> String {
    let arguments = &entry.question.arguments;
    serde_json::to_string_pretty(arguments).unwrap_or_else(|_| arguments.to_string())
}

/// The command line that is all that a call is going to do.
fn only_command(entry: &Entry) -> Option<&str> {
    match entry.question.actions.as_slice() {
        [Action::Command(command)] => Some(&command.line),
        _ => None,
    }
}

/// A tool's name; one that is none stands in quotes, so that it cannot begin a row as if it were more.
fn name(tool: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    if !tool.is_empty() && tool.chars().all(plain) {
        tool.to_owned()
    } else {
        format!("\"{}\"", one_line(tool))
    }
}

/// The line above the body of a call.
fn heading(entry: &Entry, numbered: bool, window: Window) -> String {
    let styles = window.styles;
    // A name fit to be sent has 64 characters at most; what a model makes up may be of any length.
    let tool = fit(
        &name(&entry.question.tool),
        window.columns.saturating_sub(40).max(16),
    );
    let tool = styles.paint(Label::Name, &tool);
    let edited = if entry.edited {
        ", as you edited it"
    } else {
        ""
    };
    let mode = match entry.mode {
        Some(mode) => styles.paint(Label::Quiet, &format!(" · {mode}")),
        None => String::new(),
    };
    let (mark, label, _) = look(entry.state);
    let number = match entry.index {
        0 => mark.to_owned(),
        index => format!("{mark} {index}"),
    };
    let number = styles.paint(label, &number);
    let asks = match entry.question.origin {
        Origin::Declared if numbered => "",
        Origin::Declared => " asks",
        Origin::Undeclared => " asks while it runs",
        Origin::Redirect => " asks to follow a redirect",
        Origin::Server => " asks in the middle of its call",
    };
    format!("{MARGIN}{number} {tool}{asks}{edited}{mode}")
}

/// Rows with one margin.
struct Page {
    window: Window,
    indent: usize,
    rows: Vec<String>,
}

impl Page {
    fn new(window: Window, indent: usize) -> Page {
        Page {
            window,
            indent,
            rows: Vec::new(),
        }
    }

    fn margin(&self) -> String {
        " ".repeat(self.indent)
    }

    fn bar(&self) -> String {
        let bar = self.window.styles.paint(Label::Quiet, BAR.trim_end());
        format!("{}{bar} ", self.margin())
    }

    /// A row of Dunlin's own.
    fn own(&mut self, text: &str) {
        let row = format!("{}{text}", self.margin());
        self.rows.push(row);
    }

    /// The sentence that asks. A command stands below it, where nothing of the sentence can be taken for a part of it.
    fn asked(&mut self, entry: &Entry, wording: &str) {
        let Some(line) = only_command(entry) else {
            return self.wording(wording);
        };
        self.wording("Run this command?");
        let said = one_line(&entry.question.wording);
        // One of several lines, or with gaps, is shown with the difference.
        if command::lines(&entry.question.actions, &said).is_empty() {
            self.wording(&display::escape(line));
        }
    }

    /// What a tool asks, escaped, behind the bar: broken between words where a row has room for them.
    fn wording(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        let bar = self.bar();
        let columns = room(self.indent, self.window.columns);
        // Where a word is cut, a space that was left out between rows would make it another one.
        let is_cut = text.split(' ').any(|word| visible(word) >= columns);
        let rows = match is_cut {
            true => wrap(text, columns),
            false => words::rows(text, columns),
        };
        let rows = rows.iter().map(|row| format!("{bar}{row}"));
        self.rows.extend(rows.map(|row| row.trim_end().to_owned()));
    }

    /// Foreign text, escaped by whoever has it, behind the bar.
    fn foreign(&mut self, text: &str, label: Option<Label>) {
        if text.is_empty() {
            return;
        }
        let rows = self.barred(text, label);
        self.rows.extend(rows);
    }

    fn barred(&self, text: &str, label: Option<Label>) -> Vec<String> {
        let bar = self.bar();
        // A row that goes on stands as far in as its line: nobody writes what looks like a label of ours.
        let (inset, text) = match text.strip_prefix("  ") {
            Some(rest) => ("  ", rest),
            None => ("", text),
        };
        let room = room(self.indent, self.window.columns).saturating_sub(inset.len());
        let rows = wrap(&with_end_seen(text), room.max(1));
        let paint = |row: String| match label {
            Some(label) => self.window.styles.paint(label, &row),
            None => row,
        };
        rows.into_iter()
            .map(|row| format!("{bar}{inset}{}", paint(row)).trim_end().to_owned())
            .collect()
    }

    /// What would be granted: the operation in Dunlin's words, the target behind it.
    fn needs(&mut self, entry: &Entry) {
        let mut programs = Vec::new();
        for need in &entry.question.needs {
            match need.target.command() {
                None => self.need(need.operation.verb(), &target_text(&need.target)),
                Some(command) => {
                    for program in &command.programs {
                        let path = program.called.to_string_lossy();
                        // Several servers may run with one program.
                        if !programs.contains(&path) {
                            self.need(need.operation.verb(), &display::escape(&path));
                            programs.push(path);
                        }
                    }
                }
            }
        }
        // What a lasting answer would store is part of the question.
        let always = entry.longest == Scope::Always && entry.problem.is_none();
        for (label, text) in storing::before(&entry.question, always) {
            self.stored(label, &text);
        }
    }

    /// A row of what would be stored, broken between words, and the command that takes it back, as it can be copied.
    fn stored(&mut self, label: &str, text: &str) {
        let styles = self.window.styles;
        let columns = self.window.columns.saturating_sub(self.indent + 3);
        let first = format!("{:<7} ", format!("{label}:"));
        let room = columns.saturating_sub(first.len());
        let (text, undo) = match text.split_once('\n') {
            Some((text, undo)) if visible(text) + undo.len() + 2 > room => {
                (text.to_owned(), Some(undo))
            }
            Some((text, undo)) => (format!("{text}; {undo}"), None),
            None => (text.to_owned(), None),
        };
        let quiet = |row: &str| styles.paint(Label::Quiet, row);
        // Below its label there is more room for a command.
        if label == UNDO && visible(&text) > room {
            let columns = self.window.columns.saturating_sub(1);
            let rows = words::command(self.indent + 2, first.trim_end(), &text, columns);
            self.rows.extend(rows.iter().map(|row| quiet(row)));
            return;
        }
        let bar = quiet(BAR.trim_end());
        let below = format!("{}{bar} ", " ".repeat(first.len().saturating_sub(2)));
        for (number, row) in words::rows(&text, room).into_iter().enumerate() {
            let before = if number == 0 { &first } else { &below };
            self.own(&format!("  {before}{}", quiet(&row)));
        }
        if let Some(command) = undo.and_then(|undo| undo.split_once(' ')) {
            self.stored(UNDO, command.1);
        }
    }

    /// A row of what would be granted, and more rows where it does not fit.
    fn need(&mut self, verb: &str, target: &str) {
        const OPERATION: usize = 8;
        let room = self
            .window
            .columns
            .saturating_sub(self.indent + 2 + OPERATION + 1);
        let mut rows = wrap(target, room).into_iter();
        let first = rows.next().unwrap_or_default();
        let styles = self.window.styles;
        let first = styles.paint(Label::Target, &first);
        self.own(&format!("  {verb:<7} {first}"));
        for row in rows {
            let bar = styles.paint(Label::Quiet, BAR.trim_end());
            let row = styles.paint(Label::Target, &row);
            self.own(&format!("{}{bar} {row}", " ".repeat(OPERATION)));
        }
    }

    /// What would be run or change, behind the bar like everything that is foreign.
    fn difference(&self, entry: &Entry) -> Vec<String> {
        let actions = &entry.question.actions;
        let said = one_line(&entry.question.wording);
        let commands = command::lines(actions, &said).into_iter();
        commands
            .map(|line| (line, None))
            .chain(diff::lines(actions))
            .chain(prompt_of_server::lines(actions))
            .chain(
                shows_arguments(entry)
                    .then(|| self.arguments(entry))
                    .into_iter()
                    .flatten(),
            )
            .flat_map(|(text, label)| self.barred(&text, label))
            .collect()
    }

    fn notices(&self, entry: &Entry) -> Vec<String> {
        let styles = self.window.styles;
        let room = self.window.columns.saturating_sub(self.indent + 3);
        let mut rows = Vec::new();
        let problem = entry
            .problem
            .as_ref()
            .map(|problem| format!("It cannot be run like this: {problem}"));
        let broken = diff::broken(&entry.question.actions);
        let notices = entry.question.notices.iter().chain(&broken);
        for notice in notices.chain(&problem) {
            // Notices quote keys and names.
            for (number, row) in words::rows(&one_line(notice), room).into_iter().enumerate() {
                let mark = if number == 0 { "!" } else { "│" };
                let row = styles.paint(Label::Warning, &format!("{mark} {row}"));
                rows.push(format!("{}{row}", self.margin()));
            }
        }
        rows
    }

    /// The arguments on one line if there is room for them, else a line for each value; escaped.
    fn arguments(&self, entry: &Entry) -> Vec<(String, Option<Label>)> {
        let arguments = &entry.question.arguments;
        let line = display::escape(&arguments.to_string()).into_owned();
        let head = "arguments";
        if display::width(&line) + head.len() + 1 < room(self.indent, self.window.columns) {
            return vec![(format!("{head} {line}"), None)];
        }
        let pretty = pretty(entry);
        let pretty = display::shorten(&pretty, MAX_VIEW_CHARS);
        let lines = pretty
            .lines()
            .map(|line| display::escape(line).into_owned());
        let lines = std::iter::once(head.to_owned()).chain(lines);
        lines.map(|line| (line, None)).collect()
    }

    fn more(&mut self, rows: usize) {
        let rows = counted(rows, "more row", "more rows");
        let text = format!("… {rows}: v shows all of it");
        self.own(&self.window.styles.paint(Label::Quiet, &text));
    }
}

fn target_text(target: &Target) -> String {
    display::escape(&target.shown()).into_owned()
}

#[cfg(test)]
#[path = "look_tests.rs"]
pub(super) mod tests;

/// A line with a space at its end made visible: behind a backslash, it decides what a command does.
fn with_end_seen(line: &str) -> Cow<'_, str> {
    match line.strip_suffix(' ') {
        Some(rest) if !rest.trim().is_empty() => Cow::Owned(format!("{rest}\\u{{20}}")),
        _ => Cow::Borrowed(line),
    }
}
