//! Makes out which programs a command line runs.
//!
//! For a simple line its words are known, and so is its program. What else it may run is made out roughly and
//! generously: a denied program refuses every line in which it is found, so a name too many costs a refusal that
//! the user asked for, and a name that is missed leaves a line that is asked about anyway.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::find::{self, Word};
use super::known::{self, Known};
use super::{CommandError, Names, Way};
use crate::target::ProgramFile;

/// Command lines within words of others that are followed: `sh -c "sh -c '…'"` is two.
const MAX_DEPTH: usize = 6;

/// Programs of one line that are listed.
const MAX_PROGRAMS: usize = 64;

/// Words of one command that are kept, to be compared with denied commands.
const MAX_WORDS: usize = 64;

/// Different names of one line that are looked up. Each is a look into every folder of the search path.
const MAX_LOOK_UPS: usize = 400;

/// A simple command behind its wrappers.
#[derive(Debug)]
pub(super) struct Simple {
    /// The wrappers, and last the program of the command.
    pub(super) programs: Vec<ProgramFile>,
    /// What can happen on the way to that program.
    pub(super) way: Way,
    /// Where the words of the command begin, its program first.
    pub(super) start: usize,
}

/// Finds the command of a simple line behind wrappers such as `timeout 5`.
pub(super) fn of_simple(words: &[String], names: &dyn Names) -> Result<Simple, CommandError> {
    let mut programs = Vec::new();
    let mut start = 0;
    loop {
        let program = names.program(&words[start])?;
        let way = names.way(&words[start]);
        let name = known::name_of(&program);
        let behind = match way {
            Way::Fixed => known::behind_wrapper(&name, &words[start + 1..]),
            Way::Changeable | Way::Unclear => None,
        };
        programs.push(program);
        match behind {
            Some(at) if programs.len() < MAX_DEPTH => start += at + 1,
            _ => {
                return Ok(Simple {
                    programs,
                    way,
                    start,
                });
            }
        }
    }
}

/// Whether a command runs nothing else and writes nothing, whatever words are added to it. They may look like options.
pub(super) fn takes_any_word(words: &[String], names: &dyn Names) -> bool {
    let Some((name, arguments)) = words.split_first() else {
        return false;
    };
    names.program(name).is_ok_and(|program| {
        known::takes_any_word(&known::name_of(&program))
            && known::of_program(&program, names.way(name), arguments, names) == Known::Inert
    })
}

/// Collects the programs that can be made out.
pub(super) struct Programs<'a> {
    names: &'a dyn Names,
    /// Those that stand where a command begins.
    pub(super) run: Vec<ProgramFile>,
    /// Those that stand among the words of a program that may run them.
    pub(super) mentioned: Vec<ProgramFile>,
    /// The commands that begin with one of them, as far as their words are known; also without the options that stand before
    /// a subcommand, or among targets.
    pub(super) commands: Vec<Vec<String>>,
    /// Those whose subcommand was not made out.
    pub(super) unread: Vec<PathBuf>,
    /// Whether the name of a program is known only when the line runs: `$x`.
    pub(super) hides_program: bool,
    /// Whether any word that a shell reads is known only when the line runs.
    pub(super) hides_words: bool,
    /// Whether there is more than commands of which something is known.
    pub(super) has_unknown: bool,
    /// Whether there was more than could be looked at.
    pub(super) is_incomplete: bool,
    seen: BTreeMap<String, Vec<(ProgramFile, Way)>>,
}

impl<'a> Programs<'a> {
    pub(super) fn new(names: &'a dyn Names) -> Programs<'a> {
        Programs {
            names,
            run: Vec::new(),
            mentioned: Vec::new(),
            commands: Vec::new(),
            unread: Vec::new(),
            hides_program: false,
            hides_words: false,
            has_unknown: false,
            is_incomplete: false,
            seen: BTreeMap::new(),
        }
    }

    /// All that were found under any name, in the order of the names.
    pub(super) fn all(&self) -> Vec<(ProgramFile, Way)> {
        self.seen.values().flatten().cloned().collect()
    }

    /// Collects from a text that is a command line itself.
    pub(super) fn line(&mut self, text: &str) {
        self.nested_line(text, true, 0);
    }

    /// `is_shell`: a shell reads the text as a command line; otherwise a program perhaps does.
    fn nested_line(&mut self, text: &str, is_shell: bool, depth: usize) {
        if depth > MAX_DEPTH {
            self.is_incomplete = true;
            return;
        }
        let found = find::commands(text);
        self.is_incomplete |= found.is_incomplete;
        self.has_unknown |= found.says_more;
        self.hides_words |= is_shell && found.hides_values;
        if found.takes_time {
            for (program, _) in self.look_up("time") {
                self.is_incomplete |= !add(&mut self.mentioned, program);
            }
        }
        for command in found.commands {
            self.command(&command, is_shell, depth);
        }
    }

    /// Collects from the words behind the program of a simple command.
    pub(super) fn arguments_of(&mut self, program: &ProgramFile, way: Way, arguments: &[String]) {
        let name = program.called.file_name().unwrap_or_default();
        let name = name.to_string_lossy();
        let is_unknown = known::of_program(program, way, arguments, self.names) == Known::Nothing;
        let words: Vec<Word> = arguments.iter().cloned().map(Some).collect();
        let subcommand = known::subcommand(&name, &words);
        let has_targets = !known::targets(&name, &words).is_empty();
        if subcommand.at > 0 || has_targets || is_unknown && subcommand.is_unread {
            self.add_command(program, way, &words);
        }
        if is_unknown {
            self.arguments(&name, &words, 0);
        }
    }

    fn command(&mut self, words: &[Word], is_shell: bool, depth: usize) {
        // `exec -a`, `command -p`: their own name is gone already.
        let is_option = |word: &&Word| word.as_deref().is_some_and(|word| word.starts_with('-'));
        let skipped = words.iter().take_while(is_option).count();
        let Some((name, arguments)) = words[skipped..].split_first() else {
            return;
        };
        self.hides_words |= is_shell && words.contains(&None);
        // `exec -a NAME git push`: what is run may stand further behind.
        if skipped > 0 {
            self.arguments("", arguments, depth);
        }
        let Some(name) = name else {
            self.hides_program |= is_shell;
            self.has_unknown = true;
            return;
        };
        let short = name.rsplit('/').next().unwrap_or(name);
        let found = self.look_up(name);
        let mut is_unknown = found.is_empty();
        for (program, way) in found {
            is_unknown |= self.is_nothing_known(&program, way, arguments);
            self.add_command(&program, way, arguments);
            self.is_incomplete |= !add(&mut self.run, program);
        }
        if is_unknown {
            self.has_unknown = true;
            let runs_its_words = matches!(short, "eval" | "trap") || known::is_wrapper(short);
            self.hides_program |= runs_its_words && is_shell && arguments.contains(&None);
            // What a name stands for from here on, and what a shell gets, is not read.
            self.hides_program |= matches!(short, "alias" | "hash");
            if skipped == 0 && self.is_shell(short) {
                self.hides_program |= arguments.contains(&None) || reads_its_input(arguments);
                let words: Option<Vec<&str>> = arguments.iter().map(Option::as_deref).collect();
                if let Some(words) = words.filter(|words| short == "eval" && words.len() > 1) {
                    self.nested_line(&words.join(" "), is_shell, depth + 1);
                }
            }
            self.arguments(short, arguments, depth);
        }
    }

    /// Any word of a program of which nothing is known may be one that it runs, or a line for a shell.
    fn arguments(&mut self, program: &str, words: &[Word], depth: usize) {
        // What a trap carries out is a line for the shell.
        let mut is_shell = program == "trap" || self.is_shell(program);
        for (at, word) in words.iter().enumerate() {
            let Some(word) = word else { continue };
            // To a shell `$x` is a line as well.
            let is_line = |c: char| c.is_whitespace() || is_shell && "$`{}*?[;&|<>()".contains(c);
            if word.contains(is_line) {
                // The value of an option can stand in its word, too: `--split-string=git push`, `-Sgit push`. So can what an alias
                // stands for: `g=git push`.
                let of_alias = || word.split_once('=').filter(|_| program == "alias");
                let values = value_of_option(word).or_else(|| of_alias().map(|(_, value)| value));
                for line in std::iter::once(word.as_str()).chain(values) {
                    self.nested_line(line, is_shell, depth + 1);
                }
                continue;
            }
            // `env sh`, at the end of a pipe
            if self.is_shell(word.rsplit('/').next().unwrap_or(word)) {
                is_shell = true;
                self.hides_program |= reads_its_input(&words[at + 1..]);
            }
            // `--to-command=x`
            let value = word.split_once('=').map(|(_, value)| value);
            for name in [Some(word.as_str()), value].into_iter().flatten() {
                for (program, way) in self.look_up(name) {
                    self.add_command(&program, way, &words[at + 1..]);
                    self.is_incomplete |= !add(&mut self.mentioned, program);
                }
            }
        }
    }

    /// Notes the known words of a command, up to the first that is not known before the line runs.
    fn add_command(&mut self, program: &ProgramFile, way: Way, arguments: &[Word]) {
        if self.commands.len() >= MAX_PROGRAMS {
            self.is_incomplete = true;
            return;
        }
        self.is_incomplete |= arguments.len() > MAX_WORDS;
        let name = program.called.file_name().unwrap_or_default();
        let name = name.to_string_lossy();
        let subcommand = known::subcommand(&name, arguments);
        // No promise is made of a command of so many words.
        let is_unread = subcommand.is_unread
            && (arguments.len() > MAX_WORDS || self.is_nothing_known(program, way, arguments));
        let mut starts = vec![0];
        if subcommand.at > 0 {
            starts.push(subcommand.at);
        }
        let starts = starts.into_iter().map(|start| {
            let words = arguments.iter().skip(start);
            words.take(MAX_WORDS).map_while(Clone::clone).collect()
        });
        let is_unread = is_unread || known::takes_targets(&name) && arguments.contains(&None);
        let targets = known::targets(&name, &arguments[..arguments.len().min(MAX_WORDS)]);
        let among_options = (0..targets.len()).map(|at| targets[at..].to_vec());
        let found: Vec<Vec<String>> = starts.chain(among_options).collect();
        for path in [&program.called, &program.real] {
            if is_unread {
                self.is_incomplete |= !add(&mut self.unread, path.clone());
            }
            let path = path.to_string_lossy().into_owned();
            for words in &found {
                let command = std::iter::once(path.clone()).chain(words.iter().cloned());
                self.is_incomplete |= !add(&mut self.commands, command.collect());
            }
        }
    }

    /// Whether no promise is known about a program with these arguments.
    fn is_nothing_known(&self, program: &ProgramFile, way: Way, arguments: &[Word]) -> bool {
        let words: Option<Vec<String>> = arguments.iter().cloned().collect();
        words.is_none_or(|words| {
            known::of_program(program, way, &words, self.names) == Known::Nothing
        })
    }

    fn is_shell(&self, name: &str) -> bool {
        name == "eval" || known::SHELLS.contains(&name) || self.names.shell().ends_with(name)
    }

    /// The programs that a word may mean: a shell may put the home folder in the place of its `~`.
    fn look_up(&mut self, name: &str) -> Vec<(ProgramFile, Way)> {
        if name.is_empty() || name.starts_with('-') {
            return Vec::new();
        }
        if let Some(found) = self.seen.get(name) {
            return found.clone();
        }
        if self.seen.len() >= MAX_LOOK_UPS {
            self.is_incomplete = true;
            return Vec::new();
        }
        let readings = std::iter::once(name.to_owned()).chain(self.names.at_home(name));
        let found: Vec<(ProgramFile, Way)> = readings
            .filter_map(|word| Some((self.names.program(&word).ok()?, self.names.way(&word))))
            .collect();
        self.seen.insert(name.to_owned(), found.clone());
        found
    }
}

/// What an option has as its value within its own word.
fn value_of_option(word: &str) -> Option<&str> {
    let rest = word.strip_prefix('-')?;
    match rest.strip_prefix('-') {
        Some(long) => long.split_once('=').map(|(_, value)| value),
        None => rest.get(rest.chars().next()?.len_utf8()..),
    }
}

/// Whether a shell with these arguments carries out what stands on its standard input: it gets no script and no line, or `-s`.
fn reads_its_input(arguments: &[Word]) -> bool {
    let mut words = arguments.iter().flatten();
    while let Some(word) = words.next() {
        let letters = word.strip_prefix(['-', '+']);
        match letters {
            Some(letters) if !letters.starts_with('-') => {
                if letters.contains('c') {
                    return false;
                }
                if letters.contains('s') || letters.is_empty() {
                    return true;
                }
                if letters.contains(['o', 'O']) {
                    let _ = words.next();
                }
            }
            Some("-version" | "-help") => return false,
            Some("-rcfile" | "-init-file") => {
                let _ = words.next();
            }
            Some(_) => {}
            None => return false,
        }
    }
    true
}

/// Adds what is not there yet; `false`: there is no room.
fn add<T: PartialEq>(all: &mut Vec<T>, one: T) -> bool {
    if all.contains(&one) {
        return true;
    }
    let has_room = all.len() < MAX_PROGRAMS;
    if has_room {
        all.push(one);
    }
    has_room
}
