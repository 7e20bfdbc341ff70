//! How calls that wait look: rows of text, made of an entry, the size of the window and nothing else.

mod page;

use dunlin_host::ask::{Answer, Origin, Scope};
use dunlin_host::call::Action;
use dunlin_host::display;
use dunlin_host::target::Need;

use self::page::Page;
use super::entry::Entry;
use super::line::{WORDS, Word, others_for};
use crate::ui::calls::{fit, look};
use crate::ui::style::{Label, Styles};
use crate::ui::wrap::{self as words, visible};
use crate::ui::{diff, web_request};
use dunlin_chat::turn::CallState;
use dunlin_host::display::one_line;

/// The margin of everything that Dunlin says about calls.
pub const MARGIN: &str = "  ";

/// What stands between the words of the key.
const SEPARATOR: &str = " · ";

/// How many columns the key takes with its meanings and the margin.
const KEY_COLUMNS: usize = 80;

/// How many lines of a difference are shown on however small a screen.
const MIN_DIFF_ROWS: usize = 6;

/// How many rows of a body are shown that does not fit on the screen: its beginning says what it is.
const CUT_BODY_ROWS: usize = 8;

/// How many columns of a command line are to be seen among others, however narrow the screen.
const MIN_ABOUT_COLUMNS: usize = 24;

/// How much of the name of a subagent is shown, in columns.
const MAX_SUBAGENT_COLUMNS: usize = 20;

/// How many rows of one call are shown unasked, however large the screen: a question is for reading.
const MAX_ROWS: usize = 200;

/// The longest arguments under `v`, in characters, and the longest difference, in rows. A hostile plugin
/// must not be able to scroll for minutes; what is longer is read in an editor.
const MAX_VIEW_CHARS: usize = 100_000;
const MAX_VIEW_DIFF_ROWS: usize = 20_000;

/// The window, and how it can be painted.
#[derive(Debug, Clone, Copy)]
pub struct Window {
    pub columns: usize,
    pub rows: usize,
    pub styles: Styles,
}

/// A call as rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shown {
    /// The rows, complete with margin and colours.
    pub rows: Vec<String>,
    /// Whether nothing was left out: only then does a yes count.
    pub complete: bool,
    /// Whether a part of the arguments is all that was left out: an editor shows them.
    pub lacks_arguments: bool,
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
    page.needs(entry, false);
    let needs = page.rows.len() - before;
    let notices = page.notices(entry);
    let rest = most.min(MAX_ROWS).saturating_sub(notices.len());
    let mut shown = Shown {
        complete: true,
        lacks_arguments: false,
        targets: true,
        rows: Vec::new(),
    };
    if page.rows.len() > rest {
        // Even without the difference it does not fit: the heading and as much of the wording as there is room for.
        shown.complete = false;
        shown.targets = needs == 0;
        let kept = rest.saturating_sub(1).max(2);
        let left_out = page.rows.len().saturating_sub(kept) + page.difference(entry, false).len();
        page.rows.truncate(kept);
        page.more(left_out);
    } else {
        let changes = page.difference(entry, false);
        let actions = &entry.question.actions;
        shown.complete &= !web_request::is_cut(actions) && !diff::is_cut(actions);
        let room = rest - page.rows.len();
        if changes.len() > room {
            shown.complete = false;
            let room = match web_request::sent(&entry.question.actions) {
                Some(_) => room.min(CUT_BODY_ROWS),
                None => room,
            };
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
    let about = match only_command(entry) {
        Some(line) => one_line(line),
        None => one_line(&entry.question.wording),
    };
    in_short(entry, about, &word, window)
}

/// The only call that waits in one row, in the host's words as far as there are any, below what was printed since it was shown.
pub fn title(entry: &Entry, seen: bool, window: Window) -> String {
    let need = |need: &Need| {
        one_line(&format!(
            "{} {}",
            need.operation.verb(),
            need.target.shown()
        ))
    };
    let about = match (only_command(entry), entry.question.needs.as_slice()) {
        (Some(line), _) => one_line(line),
        (None, []) => one_line(&entry.question.wording),
        (None, [only]) => need(only),
        (None, [first, others @ ..]) => format!("{} and {} more", need(first), others.len()),
    };
    let word = match seen {
        true => " · v shows it again",
        false if !entry.question.notices.is_empty() => " · ! v shows all of it",
        false => " · v shows all of it",
    };
    in_short(entry, about, word, window)
}

/// A call in one row with what it is about, escaped, and a word at its end.
fn in_short(entry: &Entry, mut about: String, word: &str, window: Window) -> String {
    let (mark, label, _) = look(entry.state);
    let styles = window.styles;
    let edited = if entry.edited { " · edited" } else { "" };
    let head = match entry.index {
        0 => format!("{MARGIN}{mark} "),
        index => format!("{MARGIN}{mark} {index} "),
    };
    let end = format!("{edited}{word}");
    let mut left = window
        .columns
        .saturating_sub(display::width(&head) + display::width(&end) + 1);
    let subagent = subagent(entry, window);
    left = left.saturating_sub(visible(&subagent));
    let mut tool = fit(&name(&entry.question.tool), left);
    // What a command does is in its line; every one is run by the same tool.
    if only_command(entry).is_some() && left < display::width(&tool) + MIN_ABOUT_COLUMNS {
        tool.clear();
    }
    left = left.saturating_sub(display::width(&tool) + 1);
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
        subagent,
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

/// How many rows stand below a view: a sentence or the key in a narrow window, the key and the line to answer in.
const ROWS_BELOW_VIEW: usize = 4;

/// Whether a view is in the window as a whole, together with what stands below it.
pub fn fits(rows: &[String], window: Window) -> bool {
    let taken: usize = rows.iter().map(|row| height(row, window)).sum();
    taken + ROWS_BELOW_VIEW <= window.rows
}

/// Everything about a call, up to what a person could read.
pub fn view(entry: &Entry, numbered: bool, window: Window) -> Shown {
    let indent = if numbered { 4 } else { 2 };
    let mut page = Page::new(window, indent);
    page.rows.push(heading(entry, numbered, window));
    page.asked(entry, &display::escape(&entry.question.wording));
    page.needs(entry, true);
    page.explanations(entry);
    let counts = diff::counts(&entry.question.actions);
    // The overview of several files says it.
    if diff::files(&entry.question).is_empty() {
        for row in &counts {
            page.foreign(row, None);
        }
    }
    let mut changes = page.difference(entry, true);
    let more = changes.len().saturating_sub(MAX_VIEW_DIFF_ROWS);
    changes.truncate(MAX_VIEW_DIFF_ROWS);
    page.rows.append(&mut changes);
    if more > 0 {
        page.own(&format!("… {more} more rows, too many to show"));
    }
    // The difference says all that the arguments of an edit say. Those that are part of the question are there, too.
    // What an app does no call has announced: there are no arguments.
    let has_arguments = counts.is_empty() && !entry.question.arguments.is_null();
    if has_arguments && !shows_arguments(entry) {
        for (line, _) in page.arguments(entry) {
            page.foreign(&line, None);
        }
    }
    // What leaves is the body, whatever the call was told.
    let is_shortened = has_arguments
        && web_request::sent(&entry.question.actions).is_none()
        && pretty(entry).chars().count() > MAX_VIEW_CHARS;
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
        lacks_arguments: more == 0 && is_shortened,
        targets: true,
    }
}

/// What can be answered: one row, or as many as a narrow window needs.
pub fn key(entries: &[&Entry], several: bool, always: bool, window: Window) -> String {
    let parts = answers(entries, several, always);
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

/// The words that answer now, each with what it means where that has to be said.
pub fn answers(
    entries: &[&Entry],
    several: bool,
    always: bool,
) -> Vec<(&'static str, &'static str)> {
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
    parts.push(("v", "details"));
    if entries.iter().any(|entry| is_waiting(entry)) {
        parts.push(("e", "edit"));
    }
    parts.push(("?", "help"));
    parts
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
            &format!(
                "no, and the model hears TEXT and continues; never {first} TEXT and ns {first} TEXT also tell the model TEXT"
            ),
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
            "without a text a no ends the turn, or the subagent whose call it is, unless on_denial = \"continue\"; Dunlin still runs what you approved",
        );
    }
    let others = |word| {
        let others: Vec<&str> = others_for(word).collect();
        others.join(", ")
    };
    add("", &format!("y can also be typed as {}", others("y")));
    add("", &format!("n can also be typed as {}", others("n")));
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
            "the mode that accepts edits of ordinary files in the project without a question, from the next call on",
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
    entry.question.origin == Origin::Declared && entry.index > 0 && !entry.runs
}

/// Whether the arguments are part of the question: where they are all that says what a call is going to do, and where they
/// say what is sent.
fn shows_arguments(entry: &Entry) -> bool {
    let question = &entry.question;
    let sends = || question.needs.iter().any(Need::sends);
    question.actions.contains(&Action::ServerCall)
        || web_request::sent(&question.actions).is_none() && sends()
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

/// Whether the heading says that a command is to be run.
fn asks_to_run(entry: &Entry) -> bool {
    let is_plain = matches!(entry.question.origin, Origin::Declared | Origin::App);
    is_plain && only_command(entry).is_some()
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

/// The subagent whose call it is, before the name of the tool.
fn subagent(entry: &Entry, window: Window) -> String {
    let name = entry.subagent.as_deref().map(one_line);
    let name = name.map(|name| format!("[{}] ", fit(&name, MAX_SUBAGENT_COLUMNS)));
    window
        .styles
        .paint(Label::Target, &name.unwrap_or_default())
}

/// The line above the body of a call.
fn heading(entry: &Entry, numbered: bool, window: Window) -> String {
    let styles = window.styles;
    // A name fit to be sent has 64 characters at most; what a model makes up may be of any length.
    let tool = match entry.question.origin {
        // The host has made it, with the app's name in quotes.
        Origin::App => one_line(&entry.question.tool),
        _ => name(&entry.question.tool),
    };
    let tool = fit(&tool, window.columns.saturating_sub(40).max(16));
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
        _ if asks_to_run(entry) => " asks to run",
        Origin::Declared if web_request::sent(&entry.question.actions).is_some() => {
            " asks before it sends this"
        }
        Origin::Declared | Origin::App => " asks",
        Origin::Undeclared | Origin::Address => " asks while it runs",
        Origin::Redirect => " asks to follow a redirect",
        Origin::Server => " asks in the middle of its call",
    };
    let subagent = subagent(entry, window);
    format!("{MARGIN}{number} {subagent}{tool}{asks}{edited}{mode}")
}

#[cfg(test)]
#[path = "look_tests.rs"]
pub(super) mod tests;

#[cfg(test)]
#[path = "question_tests.rs"]
mod question_tests;
