//! The words that can be typed while a request is paused.

use dunlin_chat::request::editor::{Path, PathSyntax};
use dunlin_host::display::{escape, shorten};
use dunlin_host::nearest::misspelt;

/// How much of a word that is none is quoted, in characters.
const MAX_WORD_CHARS: usize = 40;

/// The most sections that one line names.
const MAX_RANGE: usize = 10_000;

/// What can be typed: the word, what comes after it, and what it does.
pub const WORDS: &[(&str, &str, &str)] = &[
    ("send", "", "send the request as it is now"),
    (
        "cancel",
        "",
        "do not send it; the message goes back to the input line",
    ),
    (
        "list",
        "[all]",
        "list the sections; all lists those that are folded, too",
    ),
    (
        "show",
        "N ...",
        "show a section in full, with the path of each value; list several, as in show 7-90",
    ),
    (
        "e",
        "N [TEXT]",
        "edit the text of a section, or replace it by TEXT",
    ),
    (
        "e",
        "PATH [VALUE]",
        "edit any value, such as messages[1].content or temperature; several as JSON, as in e messages[1] or e $ (all)",
    ),
    (
        "d",
        "N ...|OPTION",
        "delete sections, as in d 3 7-9, or an option, as in d seed; a call and its results go together",
    ),
    (
        "restore",
        "N ...|OPTION",
        "bring deleted sections or an option back",
    ),
    (
        "add",
        "OPTION VALUE",
        "add an option, as in add seed 7 or add reasoning {\"effort\": \"low\"}",
    ),
    ("undo", "", "undo the last edit"),
    ("redo", "", "do it again"),
    ("reset", "", "undo all edits; undo brings them back"),
    ("diff", "", "show what you changed, word by word"),
    ("payload", "", "print the exact JSON that would be sent"),
    (
        "copy",
        "[N|PATH|FIELD]",
        "copy that JSON to the clipboard, or a section, a value, or a field of /metadata",
    ),
    ("find", "TEXT", "list the values that contain a text"),
    (
        "pin",
        "N ...",
        "keep sections at the top of the list; what is sent keeps its order",
    ),
    ("unpin", "N ...", "list them at their place again"),
    ("open", "", "open the request on the whole screen"),
    (
        "save",
        "N NAME",
        "save the text of a section as a prompt template, which /NAME sends",
    ),
    ("?", "", "list these words"),
];

/// The help line of the prompt, the most important words first. Where not all fit, the last ones before `?` are left out.
pub const KEY: &[&str] = &[
    "send",
    "cancel",
    "e N",
    "d N",
    "show N",
    "diff",
    "undo",
    "open",
    "restore N",
    "redo",
    "reset",
    "?",
];

/// Other names of words.
const ALIASES: [(&str, &str); 6] = [
    ("edit", "e"),
    ("delete", "d"),
    ("help", "?"),
    ("s", "send"),
    ("u", "undo"),
    ("l", "list"),
];

/// What is to be edited.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// The only text of a section.
    Section(usize),
    /// A value, by its path.
    Path(String),
}

/// A line that was understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    Send,
    Cancel,
    /// List the sections; `true`: all of them.
    List(bool),
    /// Show a section, or list several.
    Show(Vec<usize>),
    /// Change a value; `None`: in an editor.
    Edit(Place, Option<String>),
    Delete(Vec<usize>),
    Restore(Vec<usize>),
    /// Add an option: its path and its value.
    Add(String, String),
    Remove(String),
    /// Bring an option back that was removed.
    RestoreOption(String),
    Undo,
    Redo,
    /// Undo all edits.
    Reset,
    Diff,
    Payload,
    /// Copy the request, or a part of it: a section's number, a path, or a field of its metadata.
    Copy(Option<String>),
    /// List the values that contain a text.
    Find(String),
    /// Keep sections at the top, or not any more.
    Pin(Vec<usize>, bool),
    Open,
    /// Save the text of a section as a template with this name.
    Save(usize, String),
    Help,
    /// A command of the chat.
    Slash,
}

/// A line that was not understood.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotUnderstood {
    #[error("{word:?} is not a word of the request editor{}; ? lists them", did_you_mean(.near))]
    Unknown {
        word: String,
        /// The nearest one.
        near: Option<&'static str>,
        /// Whether more stands there: it may be a message.
        is_text: bool,
    },
    /// Numbers are missing or wrong.
    #[error(
        "{word} takes numbers of sections{}, as in {word} 2 or {word} 2 5-7",
        or_option(word)
    )]
    Numbers { word: &'static str },
    #[error(
        "save takes the number of a section and a name of letters, digits, - and _ for the template, as in save 2 review"
    )]
    Save,
    /// Nothing is named that could be found.
    #[error("find takes a text, as in find notes.txt")]
    Find,
    /// Nothing that could be listed is named.
    #[error("list takes all or no argument, as in list all")]
    List,
    /// The word stands alone.
    #[error("{word} takes no argument")]
    Surplus { word: &'static str },
    /// Nothing is named that could be edited.
    #[error(
        "e takes the number of a section or the path of a value, as in e 2 or e temperature 0.2"
    )]
    NoPlace,
    #[error("add takes the name of an option and its value, as in add seed 7")]
    NoOption,
    /// The path is none.
    #[error(transparent)]
    Path(#[from] PathSyntax),
}

fn or_option(word: &str) -> &'static str {
    match word {
        "d" | "restore" => " or an option",
        _ => "",
    }
}

fn did_you_mean(near: &Option<&'static str>) -> String {
    near.map_or_else(String::new, |near| format!(", did you mean {near}?"))
}

/// Understands a line. The value of an edit is everything after one space behind the number or path, as it is.
///
/// # Errors
/// The line is none of the words, or something in it is missing or too much.
pub fn parse(line: &str) -> Result<Command, NotUnderstood> {
    let line = line.trim_start();
    if line.starts_with('/') {
        return Ok(Command::Slash);
    }
    let (first, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let lower = first.to_ascii_lowercase();
    let word = match word(&lower) {
        Some(word) => word,
        None if line.trim().is_empty() => return Ok(Command::List(false)),
        None => {
            let near = misspelt(&lower, WORDS.iter().map(|(word, ..)| *word));
            let near = WORDS.iter().find(|(word, ..)| Some(*word) == near);
            return Err(NotUnderstood::Unknown {
                word: escape(&shorten(first, MAX_WORD_CHARS)).into_owned(),
                near: near.map(|(word, ..)| *word),
                is_text: !rest.trim().is_empty(),
            });
        }
    };
    let alone = |command| match rest.trim().is_empty() {
        true => Ok(command),
        false => Err(NotUnderstood::Surplus { word }),
    };
    match word {
        "send" => alone(Command::Send),
        "cancel" => alone(Command::Cancel),
        "list" => match rest.trim() {
            "" => Ok(Command::List(false)),
            "all" => Ok(Command::List(true)),
            _ => Err(NotUnderstood::List),
        },
        "show" => numbers(word, rest).map(Command::Show),
        "d" => match option(rest)? {
            Some(path) => Ok(Command::Remove(path)),
            None => numbers(word, rest).map(Command::Delete),
        },
        "restore" => match option(rest)? {
            Some(path) => Ok(Command::RestoreOption(path)),
            None => numbers(word, rest).map(Command::Restore),
        },
        "add" => match Path::parse_first(rest.trim_start()) {
            Ok((path, value)) if !value.trim().is_empty() => {
                Ok(Command::Add(path.to_string(), value.to_owned()))
            }
            _ => Err(NotUnderstood::NoOption),
        },
        "undo" => alone(Command::Undo),
        "redo" => alone(Command::Redo),
        "reset" => alone(Command::Reset),
        "diff" => alone(Command::Diff),
        "payload" => alone(Command::Payload),
        "copy" => match rest.trim() {
            "" => Ok(Command::Copy(None)),
            field => Ok(Command::Copy(Some(field.to_owned()))),
        },
        "find" if rest.trim().is_empty() => Err(NotUnderstood::Find),
        "find" => Ok(Command::Find(rest.trim().to_owned())),
        "pin" => numbers(word, rest).map(|numbers| Command::Pin(numbers, true)),
        "unpin" => numbers(word, rest).map(|numbers| Command::Pin(numbers, false)),
        "open" => alone(Command::Open),
        "save" => save(rest),
        "?" => alone(Command::Help),
        _ => edit(rest.trim_start()),
    }
}

/// The word that is meant by a word in small letters.
pub(super) fn word(typed: &str) -> Option<&'static str> {
    let alias = ALIASES.iter().find(|(alias, _)| *alias == typed);
    let name = alias.map_or(typed, |(_, word)| word);
    let mut words = WORDS.iter().map(|(word, ..)| *word);
    words.find(|word| *word == name)
}

/// The path of an option, where no numbers stand.
fn option(rest: &str) -> Result<Option<String>, NotUnderstood> {
    let rest = rest.trim();
    let is_path = |c: char| c.is_alphabetic() || matches!(c, '_' | '$' | '[');
    if !rest.starts_with(is_path) {
        return Ok(None);
    }
    match Path::parse_first(rest)? {
        (path, "") => Ok(Some(path.to_string())),
        _ => Ok(None),
    }
}

/// Numbers and ranges of them.
fn numbers(word: &'static str, rest: &str) -> Result<Vec<usize>, NotUnderstood> {
    let wrong = || NotUnderstood::Numbers { word };
    let number = |digits: &str| {
        let is_number = digits.bytes().all(|byte| byte.is_ascii_digit());
        digits.parse().ok().filter(|_| is_number)
    };
    let mut numbers = Vec::new();
    for part in rest.split([' ', '\t', ',']).filter(|part| !part.is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (usize, usize) = number(first).zip(number(last)).ok_or_else(wrong)?;
        if first > last || last - first >= MAX_RANGE {
            return Err(wrong());
        }
        numbers.extend(first..=last);
        if numbers.len() > MAX_RANGE {
            return Err(wrong());
        }
    }
    match numbers.is_empty() {
        true => Err(wrong()),
        false => Ok(numbers),
    }
}

fn save(rest: &str) -> Result<Command, NotUnderstood> {
    let mut words = rest.split_whitespace();
    let number = words
        .next()
        .filter(|word| word.bytes().all(|byte| byte.is_ascii_digit()));
    match (
        number.and_then(|number| number.parse().ok()),
        words.next(),
        words.next(),
    ) {
        (Some(number), Some(name), None) => Ok(Command::Save(number, name.to_owned())),
        _ => Err(NotUnderstood::Save),
    }
}

fn edit(rest: &str) -> Result<Command, NotUnderstood> {
    let value = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    let (first, after) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    if first.is_empty() {
        return Err(NotUnderstood::NoPlace);
    }
    if first.bytes().all(|byte| byte.is_ascii_digit()) {
        let number = first.parse().map_err(|_| NotUnderstood::NoPlace)?;
        return Ok(Command::Edit(Place::Section(number), value(after)));
    }
    let (path, after) = Path::parse_first(rest)?;
    Ok(Command::Edit(Place::Path(path.to_string()), value(after)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> Place {
        Place::Path(text.to_owned())
    }

    #[test]
    fn lines_are_understood() {
        let check =
            |line: &str, expected: Command| assert_eq!(parse(line), Ok(expected), "{line:?}");
        check("send", Command::Send);
        check(" Send ", Command::Send);
        check("cancel", Command::Cancel);
        check("", Command::List(false));
        check("list all", Command::List(true));
        check("show 12", Command::Show(vec![12]));
        check("show 2 5-7", Command::Show(vec![2, 5, 6, 7]));
        check("d 3", Command::Delete(vec![3]));
        check("delete 3 7-9, 12", Command::Delete(vec![3, 7, 8, 9, 12]));
        check("restore 3", Command::Restore(vec![3]));
        check("d seed", Command::Remove("seed".to_owned()));
        check(
            "d options.top_k ",
            Command::Remove("options.top_k".to_owned()),
        );
        check("restore seed", Command::RestoreOption("seed".to_owned()));
        let removed = |path: &str| Command::Remove(path.to_owned());
        check("d [\"a b\"]", removed("[\"a b\"]"));
        check("d größe", removed("[\"größe\"]"));
        let added = |value: &str| Command::Add("x.y".to_owned(), value.to_owned());
        check("add x.y 7", added("7"));
        check("add  x.y {\"a\": [1]}", added("{\"a\": [1]}"));
        check("save 2  review ", Command::Save(2, "review".to_owned()));
        check("copy", Command::Copy(None));
        check("copy session", Command::Copy(Some("session".to_owned())));
        check("pin 3 5-6", Command::Pin(vec![3, 5, 6], true));
        check("unpin 3", Command::Pin(vec![3], false));
        check("find  two words ", Command::Find("two words".to_owned()));
        check("open", Command::Open);
        check("?", Command::Help);
        check("/pause off", Command::Slash);
        check("e 2", Command::Edit(Place::Section(2), None));
        let text = Some(" \"two\"  words ".to_owned());
        check(
            "e 2  \"two\"  words ",
            Command::Edit(Place::Section(2), text),
        );
        let value = Some("0.2".to_owned());
        check(
            "e temperature 0.2",
            Command::Edit(path("temperature"), value),
        );
        check(
            "edit messages[1].content",
            Command::Edit(path("messages[1].content"), None),
        );
        let value = Some("x y".to_owned());
        check(
            "e messages[0][\"a b\"] x y",
            Command::Edit(path("messages[0][\"a b\"]"), value),
        );
    }

    #[test]
    fn what_is_wrong_with_a_line_is_said() {
        let check = |line: &str, expected: &str| {
            assert_eq!(parse(line).unwrap_err().to_string(), expected, "{line:?}");
        };
        check(
            "snd",
            "\"snd\" is not a word of the request editor, did you mean send?; ? lists them",
        );
        check(
            "Shwo",
            "\"Shwo\" is not a word of the request editor, did you mean show?; ? lists them",
        );
        for word in ["Read", "dunlin", "first", "d2", "x"] {
            let expected = format!("{word:?} is not a word of the request editor; ? lists them");
            check(word, &expected);
        }
        check(
            "show",
            "show takes numbers of sections, as in show 2 or show 2 5-7",
        );
        let numbers = "d takes numbers of sections or an option, as in d 2 or d 2 5-7";
        for line in [
            "d",
            "d x y",
            "d -1",
            "d 1-",
            "d 3-2",
            "d 1-99999999999",
            "d 1-9999 1-9999",
            "d 2 x",
        ] {
            check(line, numbers);
        }
        let save = "save takes the number of a section and a name of letters, digits, - and _ for the template, as in save 2 review";
        check("save", save);
        check("save 2", save);
        check("save review 2", save);
        check("save 2 review it", save);
        let add = "add takes the name of an option and its value, as in add seed 7";
        check("add", add);
        check("add seed", add);
        check("add seed ", add);
        assert!(parse("d a[").is_err() && parse("restore a..b").is_err());
        check("send it", "send takes no argument");
        check("list foo", "list takes all or no argument, as in list all");
        check(
            "e",
            "e takes the number of a section or the path of a value, as in e 2 or e temperature 0.2",
        );
        assert!(matches!(
            parse("what is in it?"),
            Err(NotUnderstood::Unknown { is_text: true, .. })
        ));
        assert!(parse("e messages[").is_err());
        assert!(parse("e 99999999999999999999999").is_err());
    }
}
