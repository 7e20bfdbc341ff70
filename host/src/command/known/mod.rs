//! Programs and subcommands about which a promise can be kept.
//!
//! A lasting yes covers more than the exact line only where one of two things is known: that the program runs nothing
//! else and writes nothing ([`INERT`]), or that the leading words run no more than the project's own code
//! ([`SUBCOMMANDS`]). Both are allow-lists. What is missing costs a question: then the exact line is remembered.
//!
//! An option counts as harmless only if it is listed with its subcommand, and its value only if it is of the listed kind. So
//! `cargo test --config …`, which names programs to run, is another line than `cargo test`, and so is whatever a later
//! version of cargo invents. An operand counts as harmless only if its subcommand says so of every word, or if it names a
//! file or folder in the project.

mod sed;
mod table;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod words_tests;

use std::borrow::Cow;
use std::path::Path;

use self::table::{
    FILE_NAMES, GLOBAL_OPTIONS, INERT, Inert, MULTI_CALL, NAMES_OF_SUBCOMMANDS, Operands,
    SUBCOMMANDS, Subcommand, Value, WRAPPERS, Wrapper,
};
use super::{Names, Way};
use crate::target::ProgramFile;

pub(super) use self::table::SHELLS;

/// What is known of a program with these arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Known {
    /// It runs nothing else and writes nothing, nor would it with other arguments that are read as inert.
    Inert,
    /// These of its arguments run no more than the project's own code. They lead, but for options before and between them:
    /// `git --no-pager log`, `make -s test`.
    Words(Vec<String>),
    /// Nothing: the exact line has to be remembered.
    Nothing,
}

/// The name under which something may be known of a program; empty: nothing is.
///
/// A name promises nothing where it leads to another program, as `ls` to `env`.
pub(super) fn name_of(program: &ProgramFile) -> Cow<'_, str> {
    let name = program.called.file_name().unwrap_or_default();
    let name = name.to_string_lossy();
    let file = program.real.file_name().unwrap_or_default();
    match is_file_of(&name, &file.to_string_lossy()) {
        true => name,
        false => Cow::Borrowed(""),
    }
}

/// Whether a program of this name may be a link to a file of that name: to its own, to one of its versions
/// (`python3.11`), or to a program that is many.
fn is_file_of(name: &str, file: &str) -> bool {
    let version = file.strip_prefix(name);
    let is_version = version.is_some_and(|version| {
        version
            .chars()
            .all(|c| c.is_ascii_digit() || ".-".contains(c))
    });
    is_version || MULTI_CALL.contains(&file) || FILE_NAMES.contains(&(name, file))
}

/// Looks up what is known of a program that is found by this way.
pub(super) fn of_program(
    program: &ProgramFile,
    way: Way,
    arguments: &[String],
    names: &dyn Names,
) -> Known {
    // Elsewhere anything may lie under any name.
    if way != Way::Fixed {
        return Known::Nothing;
    }
    match known(&name_of(program), arguments, names) {
        Known::Inert if names.loads_changeable() => Known::Nothing,
        // A script runs programs, and its interpreter may read more settings and files.
        Known::Inert if names.is_script(program) && !is_harmless_script(program, names) => {
            Known::Nothing
        }
        known => known,
    }
}

/// Debian's `which` starts no program and writes nothing: its shell carries out all of it itself, unless a variable tells it
/// that it is another shell.
fn is_harmless_script(program: &ProgramFile, names: &dyn Names) -> bool {
    program.real.ends_with("which.debianutils") && names.has_usual_shell()
}

/// Looks up what is known of a program under its [`name_of`].
pub(super) fn known(name: &str, arguments: &[String], names: &dyn Names) -> Known {
    if name == "find" && !arguments.iter().any(|word| acts_in_find(word))
        || name == "sed" && sed::reads_only(arguments)
        || name == "uniq" && uniq_reads_only(arguments)
    {
        return Known::Inert;
    }
    if let Some(inert) = INERT.iter().find(|inert| inert.name == name) {
        return match arguments.iter().any(|word| breaks(inert, word)) {
            true => Known::Nothing,
            false => Known::Inert,
        };
    }
    let Some((before, is_elsewhere)) = before_subcommand(name, arguments, names) else {
        return Known::Nothing;
    };
    let arguments = &arguments[before..];
    if is_elsewhere && !arguments.first().is_some_and(|word| only_looks(word)) {
        return Known::Nothing;
    }
    let of_program = SUBCOMMANDS.iter().filter(|known| program_of(known) == name);
    let found = of_program
        .filter_map(|known| leading(known, arguments, names))
        .max_by_key(Vec::len);
    found.map_or(Known::Nothing, Known::Words)
}

/// Whether a program runs nothing else and writes nothing, whatever its words are, those that look like options included.
pub(super) fn takes_any_word(name: &str) -> bool {
    let inert = INERT.iter().find(|inert| inert.name == name);
    inert.is_some_and(|inert| inert.short.is_empty() && inert.long.is_empty())
}

/// How many arguments stand before the subcommand that change nothing about it, and whether it runs in another folder of the
/// project; `None`: not in one in which git finds the repository of the project.
fn before_subcommand(name: &str, arguments: &[String], names: &dyn Names) -> Option<(usize, bool)> {
    let harmless = GLOBAL_OPTIONS.iter().find(|known| known.name == name);
    let harmless = harmless.map_or(&[][..], |known| known.harmless);
    let flags = arguments
        .iter()
        .take_while(|word| harmless.contains(&word.as_str()));
    let mut before = flags.count();
    let Some(folder) = folder_of_git(name, &arguments[before..]) else {
        return Some((before, false));
    };
    names.folder(folder).filter(|it| it.is_of_repository)?;
    before += 2;
    let flags = arguments[before..].iter();
    before += flags
        .take_while(|word| harmless.contains(&word.as_str()))
        .count();
    Some((before, true))
}

/// The folder that git is told to run in by the first of these options of it.
fn folder_of_git<'a>(name: &str, options: &'a [String]) -> Option<&'a str> {
    match options {
        [option, folder, ..] if name == "git" && option == "-C" => Some(folder),
        _ => None,
    }
}

/// The folder that a command names to run in. It means something only where something is known of the command.
pub(super) fn folder(words: &[String]) -> Option<&str> {
    let start = words
        .iter()
        .position(|word| Path::new(word).file_name() == Some("git".as_ref()))?;
    let options = &words[start + 1..];
    let count = options
        .iter()
        .take_while(|word| word.starts_with('-'))
        .count();
    (0..count).find_map(|at| folder_of_git("git", &options[at..]))
}

/// The known subcommands of git that change nothing in a repository.
const LOOKING: &[&str] = &[
    "blame",
    // Known without an operand only: it lists branches then.
    "branch",
    "cat-file",
    "describe",
    "diff",
    "diff-tree",
    "for-each-ref",
    "grep",
    "log",
    "ls-files",
    "ls-tree",
    "merge-base",
    // The same: it lists them.
    "reflog",
    "remote",
    "rev-list",
    "rev-parse",
    "shortlog",
    "show",
    "show-ref",
    "status",
    // The same.
    "tag",
];

/// Whether a subcommand of git is known to change nothing in a repository.
pub(super) fn only_looks(subcommand: &str) -> bool {
    LOOKING.contains(&subcommand)
}

/// `uniq` that writes to no file: its second operand is one. Words that may be the value of an option count as operands.
fn uniq_reads_only(arguments: &[String]) -> bool {
    let is_option = |word: &&String| {
        let letters = word.strip_prefix('-');
        letters.is_some_and(|it| !it.is_empty() && it.chars().all(|c| "cdDiuz".contains(c)))
    };
    let mut others = arguments.iter().filter(|word| !is_option(word));
    let is_file = |word: &String| word == "-" || !word.starts_with(['-', '+']);
    others.next().is_none_or(is_file) && others.next().is_none()
}

/// Programs that take every file they are given as data, whatever their options are: they neither run it nor read
/// settings from it.
const TAKE_DATA: &[&str] = &[
    "chmod", "cp", "ln", "mkdir", "mv", "rm", "rmdir", "touch", "truncate",
];

/// Whether a program takes all files that stand in its line as data. What they hold decides nothing then, and the program
/// itself may change it.
pub(super) fn takes_data(name: &str, arguments: &[String]) -> bool {
    match name {
        "sed" => sed::replaces_only(arguments),
        "rustfmt" | "gofmt" => arguments.iter().all(|word| {
            matches!(word.as_str(), "--check" | "-l" | "-w" | "-d" | "-s") || !word.starts_with('-')
        }),
        name => TAKE_DATA.contains(&name),
    }
}

fn program_of(known: &Subcommand) -> &str {
    known.line.split(' ').next().unwrap_or(known.line)
}

/// Where a program's subcommand stands, as `push` in `git -C . push`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SubcommandPlace {
    /// How many arguments stand before it.
    pub(super) at: usize,
    /// Whether the program may take another word for its subcommand, or run something else under its name: an option before
    /// it is not known to be harmless, or the word is known only when the line runs.
    pub(super) is_unread: bool,
}

/// Finds the subcommand behind the options that are known to stand before one; a `None` is a word that is not known yet.
///
/// Of a program without known options, the first word that is an option leaves the subcommand open.
pub(super) fn subcommand(name: &str, arguments: &[Option<String>]) -> SubcommandPlace {
    let known = GLOBAL_OPTIONS.iter().find(|known| known.name == name);
    let mut place = SubcommandPlace {
        at: 0,
        is_unread: false,
    };
    loop {
        let word = match arguments.get(place.at) {
            Some(Some(word)) if word.starts_with(['-', '+']) => word.as_str(),
            Some(Some(_)) => return place,
            next => {
                place.is_unread |= next.is_some();
                return place;
            }
        };
        let (option, has_value) = match word.split_once('=') {
            Some((option, _)) => (option, true),
            None => (word, false),
        };
        let is_in = |list: &[&str]| list.contains(&option);
        place.at += match known {
            Some(known) if is_in(known.flags) && !has_value => 1,
            Some(known) if is_in(known.valued) || is_in(known.redefining) => {
                place.is_unread |= is_in(known.redefining);
                if has_value { 1 } else { 2 }
            }
            _ => {
                place.is_unread = true;
                return place;
            }
        };
    }
}

/// Whether a program with these arguments may do what it does with the denied ones, although they do not begin with them: an
/// option stands where another word is expected, or the subcommand is not known to be another one (`cargo t` is `cargo test`).
pub(crate) fn may_mean(name: &str, arguments: &[String], denied: &[String]) -> bool {
    // Of these programs, denied words are looked for among all words.
    if takes_targets(name) {
        return false;
    }
    let is_option = |word: &String| word.starts_with(['-', '+']);
    let words: Vec<Option<String>> = arguments.iter().cloned().map(Some).collect();
    let plain = &arguments[subcommand(name, &words).at.min(arguments.len())..];
    let differing = denied
        .iter()
        .enumerate()
        .find(|(at, word)| plain.get(*at) != Some(word));
    let Some((at, denied)) = differing else {
        return false;
    };
    match plain.get(at) {
        // Without any word the program chooses itself, as `just` does among its recipes.
        None => at == 0,
        // It may stand anywhere, also under another name.
        Some(_) if is_option(denied) => plain[at..].iter().any(is_option),
        Some(word) if is_option(word) => true,
        Some(word) if at == 0 => {
            !(is_one_subcommand(name, word) && is_one_subcommand(name, denied))
        }
        // The names of scripts are the project's own; what follows other subcommands may have several names, too.
        Some(_) => !(name == "npm" && plain[0] == "run"),
    }
}

/// Whether a word is known to stand for one subcommand and nothing else, and that subcommand to have no other name in this list.
fn is_one_subcommand(name: &str, word: &str) -> bool {
    let known = NAMES_OF_SUBCOMMANDS.iter().find(|(of, _)| *of == name);
    known.is_some_and(|(_, words)| words.contains(&word))
}

/// Whether a program runs the command among its words.
pub(super) fn is_wrapper(name: &str) -> bool {
    WRAPPERS.iter().any(|wrapper| wrapper.name == name)
}

/// Where the command of a wrapper begins, if the program is one and all before the command is known.
pub(super) fn behind_wrapper(name: &str, arguments: &[String]) -> Option<usize> {
    let wrapper = WRAPPERS.iter().find(|wrapper| wrapper.name == name)?;
    let mut at = 0;
    while let Some(word) = arguments.get(at).filter(|word| word.starts_with('-')) {
        at += if wrapper.flags.contains(&word.as_str()) {
            1
        } else if wrapper.valued.contains(&word.as_str()) {
            2
        } else if has_value(wrapper, word) {
            1
        } else {
            return None;
        };
    }
    for _ in 0..wrapper.operands {
        arguments
            .get(at)
            .filter(|word| word.starts_with(|c: char| c.is_ascii_digit()))?;
        at += 1;
    }
    let command = arguments.get(at)?;
    (!command.starts_with('-') && !command.contains('=')).then_some(at)
}

fn has_value(wrapper: &Wrapper, word: &str) -> bool {
    if let Some((option, value)) = word.split_once('=') {
        return word.starts_with("--") && wrapper.valued.contains(&option) && !value.is_empty();
    }
    let Some((option, value)) = word.split_at_checked(2) else {
        return false;
    };
    option != "--"
        && wrapper.valued.contains(&option)
        && value.chars().all(|c| c.is_ascii_alphanumeric())
}

/// Whether a word may be one of the options that break the promise of an inert program. What looks like one counts
/// wherever it stands.
fn breaks(inert: &Inert, word: &str) -> bool {
    if let Some(long) = word.strip_prefix("--") {
        let name = long.split('=').next().unwrap_or(long);
        return !name.is_empty() && inert.long.split(' ').any(|other| other.starts_with(name));
    }
    word.strip_prefix('-')
        .is_some_and(|letters| letters.contains(|c| inert.short.contains(c)))
}

/// Actions of `find` that run programs, write or remove.
fn acts_in_find(word: &str) -> bool {
    ["-delete", "-exec", "-fls", "-fprint", "-ok"]
        .iter()
        .any(|action| word.starts_with(action))
}

/// The arguments that belong to the key; `None`: the arguments are not those of this subcommand, or one of them is not known
/// to be harmless.
fn leading(known: &Subcommand, arguments: &[String], names: &dyn Names) -> Option<Vec<String>> {
    let words = known.line.split(' ').skip(1);
    let mut length = words.clone().count();
    if arguments.len() < length || !arguments.iter().zip(words).all(|(a, b)| a == b) {
        return None;
    }
    if known.is_named {
        arguments.get(length).filter(|word| is_name(word))?;
        length += 1;
    }
    let mut leading = arguments[..length].to_vec();
    let mut words = arguments[length..].iter().map(String::as_str).peekable();
    while let Some(word) = words.next() {
        if word == "--" {
            let is_harmless =
                known.has_rest && words.all(|word| is_harmless_operand(known, word, names));
            return is_harmless.then_some(leading);
        }
        if word.len() < 2 || !word.starts_with('-') {
            match known.operands {
                Operands::Targets if is_name(word) => leading.push(word.to_owned()),
                _ if is_harmless_operand(known, word, names) => {}
                _ => return None,
            }
            continue;
        }
        let next = words.peek().copied();
        match (harmless_option(known, word)?, next) {
            (None, _) => {}
            // A program that can do without the number reads the next word as any other.
            (Some(Value::Number), next) => {
                words.next_if(|_| next.is_some_and(|next| is_value(Value::Number, next)));
            }
            // Whether a word with a dash is the value or an option is for the program to say.
            (Some(value), Some(next)) if !next.starts_with('-') && is_value(value, next) => {
                words.next();
            }
            (Some(_), _) => return None,
        }
    }
    let is_whole = known.operands != Operands::Targets || leading.len() > length;
    is_whole.then_some(leading)
}

/// The words that may be targets, if the program takes several: a no to some of them is found among options.
pub(super) fn targets(name: &str, arguments: &[Option<String>]) -> Vec<String> {
    if !takes_targets(name) {
        return Vec::new();
    }
    let words = arguments.iter().flatten().map(|word| without_here(word));
    words
        .filter(|word| is_name(word))
        .map(str::to_owned)
        .collect()
}

/// Whether the program takes several targets.
pub(super) fn takes_targets(name: &str) -> bool {
    let takes =
        |known: &Subcommand| known.operands == Operands::Targets && program_of(known) == name;
    SUBCOMMANDS.iter().any(takes)
}

/// A target without `./` in front, which make takes away.
fn without_here(mut word: &str) -> &str {
    while let Some(rest) = word.strip_prefix("./") {
        word = rest.trim_start_matches('/');
    }
    word
}

/// Whether a word can be the name of a script or a target, and neither sets a variable nor leads to another folder.
fn is_name(word: &str) -> bool {
    !word.is_empty()
        && !word.starts_with('-')
        && word
            .chars()
            .all(|c| c.is_alphanumeric() || "_-.:".contains(c))
}

fn is_harmless_operand(known: &Subcommand, word: &str, names: &dyn Names) -> bool {
    // Many programs read more options from a file that is named like this.
    let is_response_file = word.starts_with('@') && program_of(known) != "git";
    let path = match known.operands {
        Operands::None | Operands::Targets => return false,
        Operands::Any => return !is_response_file,
        Operands::Inside => word,
        Operands::GoPackages => word.strip_suffix("/...").unwrap_or(word),
        Operands::PytestTests => word.split("::").next().unwrap_or(word),
        Operands::PythonFiles if word.ends_with(".py") => word,
        Operands::PythonFiles => return false,
    };
    // What looks like code or like an option is none of the names that files usually have.
    let is_usual = |c: char| c.is_alphanumeric() || "_-.+/".contains(c);
    !path.starts_with('-') && path.chars().all(is_usual) && names.is_inside(path)
}

/// The value that a harmless option takes as the next word: `Some(None)` for nothing, `None` if the option is not known to
/// be harmless.
fn harmless_option(known: &Subcommand, word: &str) -> Option<Option<Value>> {
    let long = word
        .strip_prefix("--")
        .or_else(|| word.strip_prefix('-').filter(|_| known.is_single_dash));
    if let Some(long) = long {
        let (name, value) = match long.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (long, None),
        };
        let mut kinds = long_options(known).filter(|(long, _)| *long == name);
        return kinds.find_map(|(_, kind)| match (kind, value) {
            (Value::None | Value::Optional, None) => Some(None),
            (kind, None) => Some(Some(kind)),
            (kind, Some(value)) => is_value(kind, value).then_some(None),
        });
    }
    let letters = &word[1..];
    if is_value(Value::Number, letters) {
        // `git log -5`; a number is nothing else anywhere.
        return Some(None);
    }
    for (at, c) in letters.char_indices() {
        if let Some(kind) = short_value(known, c) {
            let value = &letters[at + c.len_utf8()..];
            return match value {
                "" => Some(Some(kind)),
                value => is_value(kind, value).then_some(None),
            };
        }
        if !known.flags.contains(c) {
            return None;
        }
    }
    Some(None)
}

/// The names of long options, and what values they take.
fn long_options(known: &Subcommand) -> impl Iterator<Item = (&str, Value)> {
    known
        .long
        .split(' ')
        .filter(|option| !option.is_empty())
        .map(|option| {
            let mark = option.chars().next_back().and_then(Value::of_mark);
            mark.map_or((option, Value::None), |value| {
                (&option[..option.len() - 1], value)
            })
        })
}

/// What value the option of this letter takes, if it takes one.
fn short_value(known: &Subcommand, letter: char) -> Option<Value> {
    let at = known.valued.find(letter)?;
    let mark = known.valued[at..].chars().nth(1);
    letter
        .is_ascii_alphabetic()
        .then(|| mark.and_then(Value::of_mark))
        .flatten()
}

fn is_value(kind: Value, value: &str) -> bool {
    let is_of = |is_usual: fn(char) -> bool| !value.is_empty() && value.chars().all(is_usual);
    match kind {
        Value::None => false,
        // Many programs read more options from a file that is named like this, also where a value stands.
        Value::Text => !value.starts_with('@'),
        Value::Number => is_of(|c| c.is_ascii_digit()),
        // Without dots, brackets and quotes nothing can be reached by evaluating it.
        Value::Names => is_of(|c| c.is_alphanumeric() || "_ ".contains(c)),
        Value::Optional => is_of(|c| c.is_ascii_alphanumeric() || "_-.,:".contains(c)),
    }
}
