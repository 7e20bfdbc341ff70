//! Reads a line that is one simple command, or a chain of them, and nothing else.
//!
//! The grammar is an allow-list: a character has to be known to stand for itself, in every POSIX shell, at the
//! place where it stands. Whatever is left over is given a name for the question and goes no further. What a
//! shell makes of a line read here is therefore beyond doubt: these words, in this order. `fuzz` holds `sh`
//! and `bash` to that.
//!
//! ```text
//! line        = program { " "+ word } { " "+ redirection } " "*
//! word        = { plain | 'any' | "any, and \" \\ \$ \`" }+
//! redirection = [ "1" | "2" ] ( ">" | ">>" ) " "* "/dev/null"
//!             | [ "0" ] "<" " "* "/dev/null" | [ "1" | "2" ] ">&" ( "1" | "2" )
//!
//! chain       = command { ( "|" | "||" | "&&" | ";" ) " "* command }
//! command     = [ timer ] { variable " "+ } program { " "+ ( word | status | pattern ) } { " "+ redirection } " "*
//!             | { variable " "+ } "[" { " "+ word } " "+ "]" { " "+ redirection } " "*
//! timer       = "time" " "+ [ "-p" " "+ ], in front of a program, without a variable and not behind "|"
//! variable    = name "=" { plain }+, as `variables` lists them
//! status      = a word with "$?" in it, within double quotes or outside of quotes
//! pattern     = { plain | "*" | "?" }+, a path below the folder, without "..", of names that are not hidden
//! ```

use std::borrow::Cow;
use std::fmt;

use super::{builtins, variables};
use crate::display;

/// Longest line that is read as a simple command, in bytes. What is longer is not judged at a glance.
pub(super) const MAX_BYTES: usize = 2_000;

/// Spaces in a row that may push the rest of a line out of sight.
const GAP: &str = "                ";

/// What keeps a line from being one simple command. `Display` says it in few words: `a pipe`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotSimple {
    /// It is several commands.
    Construct(&'static str),
    /// A person would not see all of it.
    Unseen(&'static str),
    /// The shell puts something in the place of a part of it.
    Expansion(&'static str),
    /// It is not finished: a quote is still open.
    OpenQuote,
    /// The shell carries out this command itself.
    Builtin(String),
}

impl NotSimple {
    /// What the line is instead, and why: the start of a sentence.
    pub fn label(&self) -> String {
        match self {
            NotSimple::Construct(_) | NotSimple::Unseen(_) => format!("Compound command ({self})"),
            NotSimple::Expansion(_) => {
                format!("The shell changes this line before it runs it ({self})")
            }
            NotSimple::OpenQuote => "A quote is not closed in this line".to_owned(),
            NotSimple::Builtin(word) => format!("Command of the shell itself ({word})"),
        }
    }
}

impl fmt::Display for NotSimple {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NotSimple::Construct(what) | NotSimple::Unseen(what) | NotSimple::Expansion(what) => {
                f.write_str(what)
            }
            NotSimple::OpenQuote => f.write_str("a quote without end"),
            NotSimple::Builtin(word) => write!(f, "{word} is a shell builtin"),
        }
    }
}

impl From<&'static str> for NotSimple {
    fn from(construct: &'static str) -> NotSimple {
        NotSimple::Construct(construct)
    }
}

/// Characters that end a command, outside of quotes.
const SEPARATE: [char; 3] = ['|', '&', ';'];

/// The exit status of the command before.
const STATUS: &str = "$?";

/// Where a redirection may lead.
const NOWHERE: &str = "/dev/null";

/// The words of a simple command as the program gets them, its name first; or why it is none.
///
/// Pure: looks at nothing but the line.
pub fn simple_words(line: &str) -> Result<Vec<String>, NotSimple> {
    refuse_the_unseen(line)?;
    let mut reader = Reader::new(line);
    let command = reader.command()?;
    command.check_simple()?;
    if let Some(c) = reader.rest.chars().next() {
        return Err(reader.name_of(c));
    }
    match command.is_of_shell {
        true => Err(NotSimple::Builtin(command.words[0].clone())),
        false => Ok(command.words),
    }
}

/// A command of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SimpleCommand {
    /// Variables that are set for it, with their values: none but those that decide nothing about what runs.
    pub variables: Vec<(String, String)>,
    /// As its program gets them, the name first, but for [patterns](SimpleCommand::patterns) and the
    /// [exit status](SimpleCommand::shows_status). There is at least one.
    pub words: Vec<String>,
    /// Which of the words are patterns, by their places, never the first. The shell puts in the place of each the files that
    /// match it, or leaves it as it is if there are none. Whatever it puts there begins with the same characters as the pattern,
    /// up to its first `*` or `?`.
    pub patterns: Vec<usize>,
    /// Whether a `$?` in its words stands for a number, the exit status of the command before it.
    pub shows_status: bool,
    /// Whether the shell carries it out itself, or takes its first word for syntax.
    pub is_of_shell: bool,
    /// What stands in front of it to take its time: `time`, perhaps with `-p`. To some shells it is syntax, to others a program.
    pub timer: &'static [&'static str],
    /// What stands between the command before it and this one: `|`, `||`, `&&` or `;`. Empty: it is the first.
    pub separator: &'static str,
}

impl SimpleCommand {
    /// Says why it is not simple: the shell sets variables for it, or changes its words.
    fn check_simple(&self) -> Result<(), NotSimple> {
        match self {
            it if !it.timer.is_empty() => Err("time in front".into()),
            it if !it.variables.is_empty() => Err("a variable set in front".into()),
            it => it.expansion().map_or(Ok(()), Err),
        }
    }

    /// What the shell puts something else in the place of, if it does.
    pub(super) fn expansion(&self) -> Option<NotSimple> {
        match self {
            it if it.shows_status => Some(NotSimple::Expansion("a variable")),
            it if !it.patterns.is_empty() => Some(NotSimple::Expansion("a pattern")),
            _ => None,
        }
    }

    /// Says why it is no command of a chain: shells read it in several ways.
    fn in_chain(self) -> Result<SimpleCommand, NotSimple> {
        match self.separator == "|" && !self.timer.is_empty() {
            true => Err("time behind a pipe".into()),
            false => Ok(self),
        }
    }
}

/// What a command is the beginning or a part of, if its first word says that.
fn construct(first: &str) -> Option<&'static str> {
    match first {
        "for" | "foreach" | "while" | "until" | "select" | "repeat" | "do" | "done" => {
            Some("a loop")
        }
        "if" | "then" | "elif" | "else" | "fi" | "case" | "esac" => Some("a condition"),
        "function" => Some("a function"),
        _ => None,
    }
}

/// The commands of a line that is nothing but simple commands, or almost simple ones, with `|`, `||`, `&&` and `;` between them; `None`: it is
/// anything else. The shell may skip some of them, and starts no others.
///
/// Pure: looks at nothing but the line.
pub fn chained_commands(line: &str) -> Option<Vec<SimpleCommand>> {
    chain(line).ok()
}

/// The same, or why it is anything else.
pub(super) fn chain(line: &str) -> Result<Vec<SimpleCommand>, NotSimple> {
    refuse_the_unseen(line)?;
    let mut reader = Reader::new(line);
    let mut commands = vec![reader.command()?.in_chain()?];
    while !reader.rest.is_empty() {
        let separator = reader.separator()?;
        let command = SimpleCommand {
            separator,
            ..reader.command()?
        };
        commands.push(command.in_chain()?);
    }
    Ok(commands)
}

/// What a person would not see, or not read to its end.
fn refuse_the_unseen(line: &str) -> Result<(), NotSimple> {
    if line.contains(['\n', '\r']) {
        return Err("several lines".into());
    }
    if line.chars().any(char::is_control) {
        return Err(NotSimple::Unseen("a control character"));
    }
    let is_odd_space = |c: char| c != ' ' && (c.is_whitespace() || c == '\u{2800}');
    if matches!(display::escape(line), Cow::Owned(_)) || line.contains(is_odd_space) {
        return Err(NotSimple::Unseen("an invisible character"));
    }
    if line.contains(GAP) {
        return Err(NotSimple::Unseen("a long gap"));
    }
    if depends_on_locale(line) {
        return Err(NotSimple::Unseen(
            "a character that some locales take for a part of the letter before it",
        ));
    }
    if line.len() > MAX_BYTES {
        return Err("a very long line".into());
    }
    Ok(())
}

/// Whether a shell may read the line otherwise in another locale, which the line itself may set: in GBK, Big5 and Shift JIS
/// the second byte of a letter can be one of these characters. Commands get no such locale from their environment.
pub(super) fn depends_on_locale(line: &str) -> bool {
    let mut pairs = line.chars().zip(line.chars().skip(1));
    pairs.any(|(letter, next)| !letter.is_ascii() && "\\`|{}[]^~".contains(next))
}

struct Reader<'a> {
    rest: &'a str,
    /// The character before `rest`.
    before: char,
    /// Whether there was a `$?` in a word.
    has_status: bool,
}

/// What may stand in front of a command to take its time. All other options (`-o FILE`) make it another line.
const TIMER: &[&str] = &["time", "-p"];

/// How a command that the shell carries out itself begins and ends, if its name is `[`.
const TEST: [&str; 2] = ["[", "]"];

impl Reader<'_> {
    fn new(line: &str) -> Reader<'_> {
        Reader {
            rest: line,
            before: ' ',
            has_status: false,
        }
    }

    /// Takes one command, up to what separates it from the next or the end.
    fn command(&mut self) -> Result<SimpleCommand, NotSimple> {
        let mut variables = Vec::new();
        let mut words: Vec<String> = Vec::new();
        let mut patterns = Vec::new();
        let mut is_redirected = false;
        let mut is_of_shell = false;
        self.has_status = false;
        self.skip_spaces();
        let first = self.rest.split(|c: char| " ;|&<>()".contains(c)).next();
        if let Some(construct) = first.and_then(construct) {
            return Err(construct.into());
        }
        let timer = self.timer();
        loop {
            self.skip_spaces();
            if self.rest.is_empty() || self.rest.starts_with(SEPARATE) {
                break;
            }
            if self.redirection()? {
                is_redirected = true;
                continue;
            }
            if is_redirected {
                return Err("a word behind a redirection".into());
            }
            let is_test = words.first().is_some_and(|word| word == TEST[0]);
            if is_test && words.last().is_some_and(|word| word == TEST[1]) {
                return Err("a word behind a bracket".into());
            }
            if words.is_empty() && self.bracket(TEST[0]) || is_test && self.bracket(TEST[1]) {
                is_of_shell = true;
                words.push(TEST[usize::from(is_test)].to_owned());
                continue;
            }
            let start = self.rest;
            let (word, is_pattern) = self.word()?;
            let written = &start[..start.len() - self.rest.len()];
            if words.is_empty() {
                if let Some(variable) = variables::harmless(written) {
                    variables.push(variable);
                    continue;
                }
                match check_program(written, &word) {
                    _ if is_pattern => return Err(NotSimple::Expansion("a pattern")),
                    _ if self.has_status => return Err(NotSimple::Expansion("a variable")),
                    // Whether there is more than this one command is to be known first.
                    Err(NotSimple::Builtin(_)) => is_of_shell = true,
                    checked => checked?,
                }
            }
            if is_pattern {
                patterns.push(words.len());
            }
            words.push(word);
        }
        if words.first().is_some_and(|it| it == TEST[0])
            && words.last().is_none_or(|it| it != TEST[1])
        {
            return Err(NotSimple::Expansion("a pattern"));
        }
        match (words.is_empty(), self.rest.chars().next()) {
            // Where `time` is a program, it would start programs of such names.
            (false, _) if is_of_shell && !timer.is_empty() => {
                Err(NotSimple::Builtin(words.swap_remove(0)))
            }
            (_, _) if !variables.is_empty() && !timer.is_empty() => {
                Err("a variable behind time".into())
            }
            (false, _) => Ok(SimpleCommand {
                variables,
                words,
                patterns,
                shows_status: self.has_status,
                is_of_shell,
                timer,
                separator: "",
            }),
            (true, _) if !variables.is_empty() => Err("a variable set in front".into()),
            (true, Some(c)) => Err(self.name_of(c)),
            (true, None) => Err("no command".into()),
        }
    }

    /// Takes a bracket that is a word of its own.
    fn bracket(&mut self, bracket: &str) -> bool {
        let Some(after) = self.rest.strip_prefix(bracket) else {
            return false;
        };
        let is_word = after.is_empty() || after.starts_with(' ') || after.starts_with(SEPARATE);
        if is_word {
            self.rest = after;
            self.before = ' ';
        }
        is_word
    }

    /// Takes what stands between two commands.
    fn separator(&mut self) -> Result<&'static str, NotSimple> {
        let separators = ["||", "|", "&&", ";"];
        let found = separators.into_iter().find(|it| self.rest.starts_with(it));
        let is_last = |it: &&str| self.rest[it.len()..].trim_start_matches(' ').is_empty();
        let Some(found) = found.filter(|it| !is_last(it)) else {
            let c = self.rest.chars().next().unwrap_or(' ');
            return Err(self.name_of(c));
        };
        self.rest = &self.rest[found.len()..];
        self.before = ' ';
        Ok(found)
    }

    /// Takes a `time` in front of a command, and its option.
    fn timer(&mut self) -> &'static [&'static str] {
        let mut count = 0;
        for word in TIMER {
            let rest = self.rest.strip_prefix(word);
            let Some(rest) = rest.filter(|rest| rest.starts_with(' ')) else {
                break;
            };
            self.rest = rest;
            self.skip_spaces();
            count += 1;
        }
        &TIMER[..count]
    }

    fn take(&mut self, c: char) {
        self.rest = &self.rest[c.len_utf8()..];
        self.before = c;
    }

    fn skip_spaces(&mut self) {
        while self.rest.starts_with(' ') {
            self.take(' ');
        }
    }

    /// Takes a harmless redirection; `false` when none stands here.
    fn redirection(&mut self) -> Result<bool, NotSimple> {
        let (descriptor, operator) = match self.rest.split_at_checked(1) {
            Some((digit @ ("0" | "1" | "2"), operator)) => (digit, operator),
            _ => ("", self.rest),
        };
        if !operator.starts_with(['<', '>']) {
            return Ok(false);
        }
        let reads = operator.starts_with('<');
        match (descriptor, reads) {
            ("" | "0", true) | ("" | "1" | "2", false) => {}
            _ => return Err("a redirection".into()),
        }
        let target = operator
            .strip_prefix(">>")
            .or_else(|| operator.strip_prefix('>'))
            .or_else(|| operator.strip_prefix('<'))
            .unwrap_or_default();
        if target.starts_with('(') {
            return Err("a process substitution".into());
        }
        if reads && target.starts_with('<') {
            return Err("a here-document".into());
        }
        let after = if operator.starts_with(">&") {
            target
                .strip_prefix("&1")
                .or_else(|| target.strip_prefix("&2"))
        } else {
            target.trim_start_matches(' ').strip_prefix(NOWHERE)
        };
        match after {
            Some(after) if after.is_empty() || after.starts_with([' ', '|', ';']) => {
                self.rest = after;
                Ok(true)
            }
            _ => Err("a redirection".into()),
        }
    }

    /// Takes one word, up to a space or the end, and says whether it is a pattern.
    fn word(&mut self) -> Result<(String, bool), NotSimple> {
        let mut word = String::new();
        let (mut is_pattern, mut is_bare) = (false, true);
        while let Some(c) = self.rest.chars().next() {
            is_bare &= is_plain(c) || matches!(c, ' ' | '*' | '?') || SEPARATE.contains(&c);
            match c {
                c if c == ' ' || SEPARATE.contains(&c) => break,
                '\'' => self.single_quoted(&mut word)?,
                '"' => self.double_quoted(&mut word)?,
                '*' | '?' => {
                    is_pattern = true;
                    self.take(c);
                    word.push(c);
                }
                '$' if self.rest.starts_with(STATUS) => {
                    self.has_status = true;
                    word.push_str(STATUS);
                    self.rest = &self.rest[STATUS.len()..];
                    self.before = '?';
                }
                c if is_plain(c) => {
                    self.take(c);
                    word.push(c);
                }
                // `HEAD~2`: only in front of a word, or behind `=` and `:`, it is somebody's home.
                '~' if self.before.is_ascii_alphanumeric() || matches!(self.before, '~' | '^') => {
                    self.take(c);
                    word.push(c);
                }
                _ => return Err(self.name_of(c)),
            }
        }
        // In quotes such a character stands for itself.
        match is_pattern && !(is_bare && is_pattern_below(&word)) {
            true => Err(NotSimple::Expansion("a pattern")),
            false => Ok((word, is_pattern)),
        }
    }

    fn single_quoted(&mut self, word: &mut String) -> Result<(), NotSimple> {
        let inside = &self.rest[1..];
        let Some(end) = inside.find('\'') else {
            return Err(NotSimple::OpenQuote);
        };
        word.push_str(&inside[..end]);
        self.rest = &inside[end + 1..];
        self.before = '\'';
        Ok(())
    }

    fn double_quoted(&mut self, word: &mut String) -> Result<(), NotSimple> {
        let inside = &self.rest[1..];
        let mut chars = inside.char_indices();
        while let Some((at, c)) = chars.next() {
            match c {
                '"' => {
                    self.rest = &inside[at + 1..];
                    self.before = '"';
                    return Ok(());
                }
                '$' if inside[at..].starts_with(STATUS) => {
                    self.has_status = true;
                    word.push('$');
                }
                '$' if inside[at + 1..].starts_with('(') => {
                    return Err("a command substitution".into());
                }
                '$' => return Err(NotSimple::Expansion("a variable")),
                '`' => return Err("a command substitution".into()),
                '\\' => match chars.next() {
                    Some((_, c @ ('"' | '\\' | '$' | '`'))) => word.push(c),
                    // A backslash before anything else stands for itself.
                    Some((_, c)) => word.extend(['\\', c]),
                    None => break,
                },
                c => word.push(c),
            }
        }
        Err(NotSimple::OpenQuote)
    }

    /// What a character that is not plain does here.
    fn name_of(&self, c: char) -> NotSimple {
        let next = self.rest.chars().nth(1);
        let why = match (c, next) {
            ('|', Some('|')) => "||",
            ('|', _) => "a pipe",
            ('&', Some('&')) => "&&",
            ('&', Some('>')) | ('>' | '<', _) => "a redirection",
            ('&', _) => "a command in the background",
            (';', _) => "several commands",
            ('$', Some('(')) | ('`', _) => "a command substitution",
            ('$', Some('\'' | '"')) => return NotSimple::Expansion("a special quote"),
            ('$', _) => return NotSimple::Expansion("a variable"),
            ('(' | ')', _) => "parentheses",
            ('{' | '}', _) => "braces",
            ('*' | '?' | '[' | ']', _) => return NotSimple::Expansion("a pattern"),
            ('~', _) => return NotSimple::Expansion("a tilde"),
            ('\\', _) => return NotSimple::Expansion("a backslash"),
            ('#', _) => "a comment",
            ('!', _) => "an exclamation mark",
            (c, _) if !c.is_ascii() => "an unusual character",
            _ => "an unusual character",
        };
        why.into()
    }
}

/// Characters that stand for themselves wherever they are in a word.
fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || "_-./,:=+@%^".contains(c)
}

/// Whether a pattern stands for nothing but files below the folder, none of them by way of a hidden one: `.?` also means `..`.
fn is_pattern_below(pattern: &str) -> bool {
    pattern.split('/').enumerate().all(|(at, part)| match part {
        "." => at == 0,
        part => !part.is_empty() && !part.starts_with('.'),
    })
}

/// The first word has to be the name of a program, or lead to one.
fn check_program(written: &str, word: &str) -> Result<(), NotSimple> {
    let is_bare = written == word;
    // Also with a value in quotes: `A="b c" program`.
    let unquoted = written.split(['\'', '"']).next().unwrap_or(written);
    if is_bare && builtins::is_own(word) {
        return Err(NotSimple::Builtin(word.to_owned()));
    }
    if unquoted.contains('=') {
        return Err("a variable set in front".into());
    }
    let is_name = |c: char| c.is_ascii_alphanumeric() || "_-.+/".contains(c);
    let is_usual = word.contains('/') || (is_bare && word.chars().all(is_name));
    if word.is_empty() || word.starts_with('-') || !is_usual {
        return Err("an unusual name of a program".into());
    }
    Ok(())
}
