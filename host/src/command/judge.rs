//! From the words of a command to the programs that have to be granted for it.
//!
//! A program is judged by the name that was typed and by the name of the file that it leads to: a link called
//! `list` that leads to `xargs` is `xargs`, and `python` is what `python3.11` is.

use std::path::{Path, PathBuf};

use super::find::{self, Word};
use super::options;
use super::table::{self, Rule, Wrapper};
use super::words::Why;
use super::{CommandError, Names};
use crate::resolve::lower_name;

/// Commands within commands that are followed: `nice timeout 5 sh script` is three.
const MAX_DEPTH: usize = 6;

/// Programs of one line that are listed. More are not judged by anybody.
const MAX_PROGRAMS: usize = 32;

/// Names of one line that are looked up. Each is a look into every folder of the search path, and commands within
/// commands can be read in many ways.
const MAX_LOOK_UPS: usize = 400;

/// Options that make any interpreter say something of itself and nothing more.
const INFORMING: &[&str] = &["--version", "--help", "-V", "-h"];

/// How a program goes on from its own name.
enum Onward {
    /// Its words are its own.
    Plain,
    /// Another command begins at this word.
    Command(usize),
    /// It runs the file that this word names.
    Script(usize),
    /// It may run anything.
    Runs(Why),
}

/// Collects the programs of a simple command, its words known to the letter. `Some`: it is not simple after all.
pub(super) fn strictly(
    words: &[String],
    names: &dyn Names,
    programs: &mut Vec<PathBuf>,
) -> Result<Option<Why>, CommandError> {
    let mut start = 0;
    for _ in 0..MAX_DEPTH {
        let words = &words[start..];
        let Some((name, arguments)) = words.split_first() else {
            return Ok(None);
        };
        let path = names.executable(name)?;
        add(programs, path.clone());
        if table::is_many_in_one(&lower_name(&path)) {
            let file = lower_name(&path);
            return Ok(Some(format!("{file} is many programs in one file").into()));
        }
        let mut next = None;
        for known_as in known_as(name, &path) {
            match onward(&known_as, arguments) {
                Onward::Plain => {}
                Onward::Runs(why) => return Ok(Some(why)),
                Onward::Script(at) => match names.script(&arguments[at]) {
                    Some(script) => add(programs, script),
                    None => return Ok(Some(format!("{known_as} runs code").into())),
                },
                Onward::Command(at) => next = Some(at + 1),
            }
        }
        match next {
            None => return Ok(None),
            Some(at) => start += at,
        }
    }
    Ok(Some("many commands within one another".into()))
}

/// Collects the programs that can be made out in lines that are not simple.
pub(super) struct Rough<'a> {
    names: &'a dyn Names,
    programs: &'a mut Vec<PathBuf>,
    /// Names that may still be looked up.
    look_ups: usize,
}

impl<'a> Rough<'a> {
    pub(super) fn new(names: &'a dyn Names, programs: &'a mut Vec<PathBuf>) -> Rough<'a> {
        Rough {
            names,
            programs,
            look_ups: MAX_LOOK_UPS,
        }
    }

    /// Collects from a text that is a command line itself.
    pub(super) fn line(&mut self, text: &str, depth: usize) {
        if depth > MAX_DEPTH {
            return;
        }
        for command in find::commands(text).commands {
            self.command(&command, depth + 1);
        }
    }

    fn executable(&mut self, name: &str) -> Option<PathBuf> {
        self.look_ups = self.look_ups.checked_sub(1)?;
        self.names.executable(name).ok()
    }

    /// Collects from a command, some of its words unknown.
    fn command(&mut self, words: &[Word], depth: usize) {
        if depth > MAX_DEPTH {
            return;
        }
        // `exec -a`, `command -p`: their own name is gone already.
        let is_option = |word: &&Word| word.as_deref().is_some_and(|word| word.starts_with('-'));
        let skipped = words.iter().take_while(is_option).count();
        let Some((Some(name), arguments)) = words[skipped..].split_first() else {
            return;
        };
        if name == "eval" {
            let text: Vec<&str> = arguments.iter().flatten().map(String::as_str).collect();
            return self.line(&text.join(" "), depth);
        }
        let Some(path) = self.executable(name) else {
            return;
        };
        add(self.programs, path.clone());
        for known_as in known_as(name, &path) {
            self.onward(&known_as, arguments, depth);
        }
    }

    fn onward(&mut self, known_as: &str, arguments: &[Word], depth: usize) {
        let plain_words = || {
            arguments
                .iter()
                .flatten()
                .filter(|word| !word.starts_with('-'))
        };
        match table::rule(known_as) {
            Some(Rule::Shell) => {
                for text in plain_words() {
                    match self.names.script(text) {
                        Some(script) => add(self.programs, script),
                        None => self.line(text, depth),
                    }
                }
            }
            Some(Rule::Interpreter(_)) => {
                if let Some(script) = plain_words()
                    .next()
                    .and_then(|file| self.names.script(file))
                {
                    add(self.programs, script);
                }
            }
            Some(Rule::RunnerOf | Rule::Wrapper(_)) => self.behind(arguments, depth),
            Some(Rule::Prefixes(prefixes)) => {
                for (at, word) in arguments.iter().enumerate() {
                    let begins =
                        |word: &str| prefixes.iter().any(|prefix| word.starts_with(prefix));
                    if word.as_deref().is_some_and(begins) {
                        self.command(&arguments[at + 1..], depth + 1);
                    }
                }
            }
            // `git rebase --exec 'x y'`, `tar --to-command=x`, `tar --checkpoint-action=exec=x`
            Some(Rule::Options(_) | Rule::Special(_)) => {
                let known: Vec<String> = arguments.iter().flatten().cloned().collect();
                if matches!(onward(known_as, &known), Onward::Plain) {
                    return;
                }
                for word in &known {
                    match word.rsplit_once('=') {
                        Some((_, value)) if word.starts_with('-') => self.line(value, depth),
                        _ if word.contains(' ') => self.line(word, depth),
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }

    /// The command among the words of a program that runs one: the first that names a program; behind an option it
    /// may be the option's value, so the next one counts as well.
    fn behind(&mut self, arguments: &[Word], depth: usize) {
        let mut may_be_value = false;
        for (at, word) in arguments.iter().enumerate() {
            let Some(word) = word else {
                may_be_value = false;
                continue;
            };
            if word.starts_with('-') {
                may_be_value = !word.contains('=');
                continue;
            }
            if word.contains(' ') {
                self.line(word, depth);
            } else if self.executable(word).is_some() {
                self.command(&arguments[at..], depth + 1);
                if !may_be_value {
                    return;
                }
            }
            may_be_value = false;
        }
    }
}

/// The names by which a program is judged.
fn known_as(typed: &str, path: &Path) -> Vec<String> {
    let typed = lower_name(Path::new(typed));
    let real = lower_name(path);
    if typed == real || table::is_toolchain_link(&typed, &real) {
        vec![typed]
    } else {
        vec![typed, real]
    }
}

fn onward(name: &str, arguments: &[String]) -> Onward {
    let more = || Onward::Runs(format!("{name} with words that may run other programs").into());
    let Some(rule) = table::rule(name) else {
        return Onward::Plain;
    };
    let runs_more = match rule {
        Rule::Runner | Rule::RunnerOf => {
            return Onward::Runs(format!("{name} runs other programs").into());
        }
        Rule::Wrapper(wrapper) => return behind_wrapper(name, &wrapper, arguments),
        Rule::Interpreter(quiet) => return behind_interpreter(name, quiet, arguments),
        Rule::Shell => {
            let quiet = &["-e", "-x", "-u", "-v", "-eu", "-ex", "-eux"];
            return behind_interpreter(name, quiet, arguments);
        }
        Rule::Prefixes(prefixes) => arguments
            .iter()
            .any(|word| prefixes.iter().any(|prefix| word.starts_with(prefix))),
        Rule::Options(these) => options::has(&these, arguments),
        Rule::Words(these) => options::operand(arguments).is_some_and(|word| these.contains(&word)),
        Rule::Special(check) => check(arguments),
    };
    if runs_more { more() } else { Onward::Plain }
}

/// Where the command of a wrapper begins, if all before it is known.
fn behind_wrapper(name: &str, wrapper: &Wrapper, arguments: &[String]) -> Onward {
    let runs = || Onward::Runs(format!("{name} runs other programs").into());
    let mut at = 0;
    while let Some(word) = arguments.get(at).filter(|word| word.starts_with('-')) {
        if wrapper.flags.contains(&word.as_str()) {
            at += 1;
        } else if wrapper.valued.contains(&word.as_str()) {
            at += 2;
        } else if is_option_with_value(wrapper, word) {
            at += 1;
        } else {
            return runs();
        }
    }
    let operands = arguments.iter().skip(at).take(wrapper.operands);
    // `timeout 5m`: a number, so that no program is taken for one.
    if operands
        .clone()
        .any(|word| !word.starts_with(|c: char| c.is_ascii_digit()))
    {
        return runs();
    }
    at += wrapper.operands;
    match arguments.get(at) {
        // `env` and `nice` say something of themselves then.
        None if arguments.is_empty() => Onward::Plain,
        None => runs(),
        Some(word) if word.starts_with('-') || word.contains('=') => runs(),
        Some(_) => Onward::Command(at),
    }
}

fn is_option_with_value(wrapper: &Wrapper, word: &str) -> bool {
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

/// Which file an interpreter runs, if nothing before it can be code.
fn behind_interpreter(name: &str, quiet: &[&str], arguments: &[String]) -> Onward {
    if let [only] = arguments
        && INFORMING.contains(&only.as_str())
    {
        return Onward::Plain;
    }
    let script = arguments
        .iter()
        .position(|word| !quiet.contains(&word.as_str()));
    match script {
        Some(at) if !arguments[at].starts_with('-') => Onward::Script(at),
        _ => Onward::Runs(format!("{name} runs code").into()),
    }
}

fn add(programs: &mut Vec<PathBuf>, path: PathBuf) {
    if programs.len() < MAX_PROGRAMS && !programs.contains(&path) {
        programs.push(path);
    }
}
