//! Rows of a question: what Dunlin says, and behind a bar what is foreign.

use std::borrow::Cow;
use std::path::Path;

use dunlin_chat::tokens::counted;
use dunlin_host::ask::{Question, Scope};
use dunlin_host::call::Action;
use dunlin_host::display::{self, one_line};
use dunlin_host::target::{Operation, ProgramFile, Target};

use super::{MAX_VIEW_CHARS, Window, asks_to_run, only_command, pretty, shows_arguments};
use crate::approval::entry::Entry;
use crate::approval::storing::{self, READS, UNDO};
use crate::approval::text::{BAR, room, wrap};
use crate::ui::style::Label;
use crate::ui::wrap::{self as words, visible};
use crate::ui::{command, diff, sampling_request, web_request};

/// How far in the target of a need stands.
const NEED_INDENT: usize = 10;

/// Where the programs of the machine are, which nobody but its administrator changes: a command that runs one of them by its
/// name says all that there is to know.
const SYSTEM_FOLDERS: [&str; 6] = [
    "/bin",
    "/sbin",
    "/usr/bin",
    "/usr/sbin",
    "/usr/local/bin",
    "/usr/local/sbin",
];

/// What the links in these folders may lead to.
const SYSTEM: [&str; 5] = ["/bin", "/sbin", "/usr", "/lib", "/opt"];

/// Rows with one margin.
pub(super) struct Page {
    window: Window,
    indent: usize,
    pub(super) rows: Vec<String>,
}

impl Page {
    pub(super) fn new(window: Window, indent: usize) -> Page {
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
    pub(super) fn own(&mut self, text: &str) {
        let row = format!("{}{text}", self.margin());
        self.rows.push(row);
    }

    /// The sentence that asks. A command stands by itself, where nothing of the sentence can be taken for a part of it; that it
    /// is to be run, the heading says.
    pub(super) fn asked(&mut self, entry: &Entry, wording: &str) {
        let Some(line) = only_command(entry) else {
            return self.wording(wording);
        };
        if !asks_to_run(entry) {
            self.wording("Run this command?");
        }
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
    pub(super) fn foreign(&mut self, text: &str, label: Option<Label>) {
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

    /// What would be granted: the operation in Dunlin's words, the target behind it; and what a permanent yes would store.
    /// `whole`: with everything that says no more than the command, and with what takes the answers back.
    pub(super) fn needs(&mut self, entry: &Entry, whole: bool) {
        let question = &entry.question;
        let files = diff::files(question);
        let mut programs = Vec::new();
        for need in &question.needs {
            match need.target.command() {
                None if files.iter().any(|file| file.says(need)) => {}
                None => {
                    let verb = need.operation.verb();
                    let mut urls = web_request::read_under(need, &question.actions).peekable();
                    if urls.peek().is_none() {
                        let any = match (&need.target, need.operation) {
                            (Target::Site(_), Operation::Read) => format!(", {READS}"),
                            _ => String::new(),
                        };
                        self.need(verb, &format!("{}{any}", target_text(&need.target)));
                    }
                    for url in urls {
                        self.need(verb, &display::escape(url));
                    }
                }
                Some(command) => {
                    for program in &command.programs {
                        let path = program.called.to_string_lossy();
                        // Several servers may run with one program.
                        if (whole || !is_of_system(program)) && !programs.contains(&path) {
                            self.need(need.operation.verb(), &display::escape(&path));
                            programs.push(path);
                        }
                    }
                }
            }
        }
        for file in &files {
            self.need(file.verb, &file.text);
        }
        // What a lasting answer would store is part of the question.
        let always = entry.longest == Scope::Always && entry.problem.is_none();
        let stored = match whole {
            true => storing::details(question, always),
            false => {
                let stored = always.then(|| storing::always(question));
                let stored = stored.into_iter().flatten();
                stored.chain(storing::never(question)).collect()
            }
        };
        for (label, text) in stored {
            if !self.fold(question, label, &text) {
                self.stored(label, &text);
            }
        }
    }

    /// Adds what is stored for the only target to the row of this, if the row is the last and has room. `false`: it does not
    /// belong there.
    fn fold(&mut self, question: &Question, label: &str, text: &str) -> bool {
        let [need] = question.needs.as_slice() else {
            return false;
        };
        // In a name with gaps it could stand as well.
        let target = target_text(&need.target);
        let is_plain = need.target.path().is_some() && !target.contains(' ');
        let more = format!(" ({label}: {text})");
        let room = self.window.columns.saturating_sub(1);
        match self.rows.last_mut() {
            Some(row)
                if is_plain
                    && !text.contains('\n')
                    && visible(row).saturating_sub(target.len()) <= self.indent + NEED_INDENT
                    && visible(row) + visible(&more) <= room =>
            {
                row.push_str(&self.window.styles.paint(Label::Quiet, &more));
                true
            }
            _ => false,
        }
    }

    /// How long a yes to its commands may hold, and what changes that.
    pub(super) fn explanations(&mut self, entry: &Entry) {
        let commands = entry.question.actions.iter();
        let commands = commands.filter_map(|action| match action {
            Action::Command(command) => command.explanation(entry.longest),
            _ => None,
        });
        for text in commands {
            self.stored("note", &display::escape(&text));
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
        if label.starts_with(UNDO) && visible(&text) > room {
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
        let room = self
            .window
            .columns
            .saturating_sub(self.indent + NEED_INDENT + 1);
        let mut rows = wrap(target, room).into_iter();
        let first = rows.next().unwrap_or_default();
        let styles = self.window.styles;
        let first = styles.paint(Label::Target, &first);
        self.own(&format!("  {verb:<7} {first}"));
        for row in rows {
            let bar = styles.paint(Label::Quiet, BAR.trim_end());
            let row = styles.paint(Label::Target, &row);
            self.own(&format!("{}{bar} {row}", " ".repeat(NEED_INDENT - 2)));
        }
    }

    /// What would be run, sent or changed, behind the bar like everything that is foreign. `whole`: as under `v`.
    pub(super) fn difference(&self, entry: &Entry, whole: bool) -> Vec<String> {
        let actions = &entry.question.actions;
        let said = one_line(&entry.question.wording);
        let commands = command::lines(actions, &said).into_iter();
        commands
            .map(|line| (line, None))
            .chain(diff::lines(actions, whole))
            .chain(sampling_request::lines(actions))
            .chain(web_request::lines(actions, whole))
            .chain(
                shows_arguments(entry)
                    .then(|| self.arguments(entry))
                    .into_iter()
                    .flatten(),
            )
            .flat_map(|(text, label)| self.barred(&text, label))
            .collect()
    }

    pub(super) fn notices(&self, entry: &Entry) -> Vec<String> {
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
    pub(super) fn arguments(&self, entry: &Entry) -> Vec<(String, Option<Label>)> {
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

    pub(super) fn more(&mut self, rows: usize) {
        let rows = counted(rows, "more row", "more rows");
        let text = format!("… {rows}: v shows all of it");
        self.own(&self.window.styles.paint(Label::Quiet, &text));
    }
}

fn target_text(target: &Target) -> String {
    display::escape(&target.shown()).into_owned()
}

/// Whether it is one of the machine's programs, by its own path and by where that leads.
fn is_of_system(program: &ProgramFile) -> bool {
    let folder = program.called.parent();
    SYSTEM_FOLDERS
        .iter()
        .any(|it| folder == Some(Path::new(it)))
        && SYSTEM.iter().any(|it| program.real.starts_with(it))
}

/// A line with a space at its end made visible: behind a backslash, it decides what a command does.
fn with_end_seen(line: &str) -> Cow<'_, str> {
    match line.strip_suffix(' ') {
        Some(rest) if !rest.trim().is_empty() => Cow::Owned(format!("{rest}\\u{{20}}")),
        _ => Cow::Borrowed(line),
    }
}
