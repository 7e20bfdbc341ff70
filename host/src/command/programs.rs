//! Makes out which programs a command line runs.
//!
//! For a simple line its words are known, and so is its program. What else it may run is made out roughly and
//! generously: a denied program refuses every line in which it is found, so a name too many costs a refusal that
//! the user asked for, and a name that is missed leaves a line that is asked about anyway.

use std::collections::HashMap;

use super::find::{self, Word};
use super::known::{self, Known};
use super::{CommandError, Names};
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
    /// Where the words of the command begin, its program first.
    pub(super) start: usize,
}

/// Finds the command of a simple line behind wrappers such as `timeout 5`.
pub(super) fn of_simple(words: &[String], names: &dyn Names) -> Result<Simple, CommandError> {
    let mut programs = Vec::new();
    let mut start = 0;
    loop {
        let program = names.program(&words[start])?;
        let name = program.called.file_name().unwrap_or_default();
        let behind = match names.is_writable(&program) {
            true => None,
            false => known::behind_wrapper(&name.to_string_lossy(), &words[start + 1..]),
        };
        programs.push(program);
        match behind {
            Some(at) if programs.len() < MAX_DEPTH => start += at + 1,
            _ => return Ok(Simple { programs, start }),
        }
    }
}

/// Collects the programs that can be made out.
pub(super) struct Programs<'a> {
    names: &'a dyn Names,
    /// Those that stand where a command begins.
    pub(super) run: Vec<ProgramFile>,
    /// Those that stand among the words of a program that may run them.
    pub(super) mentioned: Vec<ProgramFile>,
    /// The commands that begin with one of them, as far as their words are known.
    pub(super) commands: Vec<Vec<String>>,
    /// Whether there was more than could be looked at.
    pub(super) is_incomplete: bool,
    seen: HashMap<String, Option<ProgramFile>>,
}

impl<'a> Programs<'a> {
    pub(super) fn new(names: &'a dyn Names) -> Programs<'a> {
        Programs {
            names,
            run: Vec::new(),
            mentioned: Vec::new(),
            commands: Vec::new(),
            is_incomplete: false,
            seen: HashMap::new(),
        }
    }

    /// Collects from a text that is a command line itself.
    pub(super) fn line(&mut self, text: &str) {
        self.nested_line(text, 0);
    }

    fn nested_line(&mut self, text: &str, depth: usize) {
        if depth > MAX_DEPTH {
            self.is_incomplete = true;
            return;
        }
        let found = find::commands(text);
        self.is_incomplete |= found.is_incomplete;
        for command in found.commands {
            self.command(&command, depth);
        }
    }

    /// Collects from the words behind the program of a simple command.
    pub(super) fn arguments_of(&mut self, program: &ProgramFile, arguments: &[String]) {
        let name = program.called.file_name().unwrap_or_default();
        if known::known(&name.to_string_lossy(), arguments) == Known::Nothing {
            let words: Vec<Word> = arguments.iter().cloned().map(Some).collect();
            self.arguments(&words, 0);
        }
    }

    fn command(&mut self, words: &[Word], depth: usize) {
        // `exec -a`, `command -p`: their own name is gone already.
        let is_option = |word: &&Word| word.as_deref().is_some_and(|word| word.starts_with('-'));
        let skipped = words.iter().take_while(is_option).count();
        let Some((Some(name), arguments)) = words[skipped..].split_first() else {
            return;
        };
        if let Some(program) = self.look_up(name) {
            self.add_command(&program, arguments);
            self.is_incomplete |= !add(&mut self.run, program);
        }
        let short = name.rsplit('/').next().unwrap_or(name);
        let known_words: Option<Vec<String>> = arguments.iter().cloned().collect();
        let known = known_words.map(|words| known::known(short, &words));
        if known.is_none_or(|known| known == Known::Nothing) {
            self.arguments(arguments, depth);
        }
    }

    /// Any word of a program of which nothing is known may be one that it runs, or a line for a shell.
    fn arguments(&mut self, words: &[Word], depth: usize) {
        for (at, word) in words.iter().enumerate() {
            let Some(word) = word else { continue };
            if word.contains(char::is_whitespace) {
                self.nested_line(word, depth + 1);
                continue;
            }
            // `--to-command=x`
            let value = word.split_once('=').map(|(_, value)| value);
            for name in [Some(word.as_str()), value].into_iter().flatten() {
                if let Some(program) = self.look_up(name) {
                    self.add_command(&program, &words[at + 1..]);
                    self.is_incomplete |= !add(&mut self.mentioned, program);
                }
            }
        }
    }

    /// Notes the known words of a command, up to the first that is not known before the line runs.
    fn add_command(&mut self, program: &ProgramFile, arguments: &[Word]) {
        if self.commands.len() >= MAX_PROGRAMS {
            self.is_incomplete = true;
            return;
        }
        self.is_incomplete |= arguments.len() > MAX_WORDS;
        for path in [&program.called, &program.real] {
            let path = path.to_string_lossy().into_owned();
            let known = arguments.iter().take(MAX_WORDS).map_while(Clone::clone);
            let command = std::iter::once(path).chain(known).collect();
            self.is_incomplete |= !add(&mut self.commands, command);
        }
    }

    fn look_up(&mut self, name: &str) -> Option<ProgramFile> {
        if name.is_empty() || name.starts_with('-') {
            return None;
        }
        if let Some(found) = self.seen.get(name) {
            return found.clone();
        }
        if self.seen.len() >= MAX_LOOK_UPS {
            self.is_incomplete = true;
            return None;
        }
        let found = self.names.program(name).ok();
        self.seen.insert(name.to_owned(), found.clone());
        found
    }
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
