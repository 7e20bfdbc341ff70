//! The tool `search_text`: finds lines by a regular expression.
//!
//! The pattern and the files are somebody else's. A pattern is compiled to an automaton that looks at each byte a bounded number
//! of times, within a bound of memory; files are those that the host shows without a question; and the answer has an end.
//!
//! [`pattern`] compiles, [`lines`] finds the lines of one file, [`report`] collects what the model gets.

pub mod lines;
pub mod pattern;
pub mod report;

use dunlin_project_files::Scope;
use dunlin_sdk::files::File;
use dunlin_sdk::tree::Also;
use dunlin_sdk::{Error, Failure, Output, Parameters, Plan, Schema, Tool, chat, clock};
use serde::Deserialize;

use pattern::Pattern;
use report::{Report, Show};

/// Lines of an answer unless another number is asked for: about 5,000 tokens.
const DEFAULT_RESULTS: usize = 100;

/// The most lines of an answer.
const MAX_RESULTS: usize = 1_000;

/// Lines around each match.
const MAX_CONTEXT: usize = 20;

/// Bytes of a file that is named itself. The host reads files of a folder up to 1 MiB.
const MAX_FILE_BYTES: u64 = 16 << 20;

/// Bytes that are read of a file at once; a host gives no more.
const PIECE_BYTES: u32 = 1 << 20;

/// How long a call searches, in milliseconds. Trees of a gigabyte take a few seconds; what is left out then is said, while a
/// call that the host ends has no answer.
const TIME_MS: u64 = 25_000;

/// Files between two messages of progress.
const FILES_OF_A_MESSAGE: usize = 2_000;

/// Characters of a pattern that are shown when it is approved.
const SHOWN_PATTERN_CHARS: usize = 120;

/// The tool.
#[derive(Debug)]
pub struct SearchText;

/// What the model asks for.
#[derive(Debug, Default, Deserialize, Schema)]
pub struct Arguments {
    /// Regular expression, such as fn \w+_file|TODO
    pattern: String,
    /// File or folder; the project if left out
    path: Option<String>,
    /// Only files that match, such as *.rs, src/**/*.ts or !tests/**
    #[serde(default)]
    globs: Vec<String>,
    /// Take the pattern as plain text
    #[serde(default)]
    literal: bool,
    /// Treat upper and lower case as the same
    #[serde(default)]
    ignore_case: bool,
    /// Lines around each match, 0 to 20
    #[serde(default)]
    context: usize,
    /// lines (default), files that have a match, or counts of their matching lines
    #[serde(default)]
    show: Show,
    /// Also files whose name begins with a dot
    #[serde(default)]
    include_hidden: bool,
    /// Also files that .gitignore excludes
    #[serde(default)]
    include_ignored: bool,
    /// 1 to 1000; 100 if left out
    max_results: Option<usize>,
}

impl Arguments {
    fn scope(&self) -> Result<Scope, Failure> {
        let also = Also {
            hidden: self.include_hidden,
            ignored: self.include_ignored,
        };
        Scope::new(self.path.as_deref(), &self.globs, also)
    }

    fn pattern(&self) -> Result<Pattern, Failure> {
        Pattern::new(&self.pattern, self.literal, self.ignore_case)
    }

    fn report(&self) -> Result<Report, Failure> {
        let most = self.max_results.unwrap_or(DEFAULT_RESULTS);
        if !(1..=MAX_RESULTS).contains(&most) {
            return Err(Failure::invalid_arguments(format!(
                "max_results: {most} is not 1 to {MAX_RESULTS}"
            )));
        }
        if self.context > MAX_CONTEXT {
            return Err(Failure::invalid_arguments(format!(
                "context: {} is not 0 to {MAX_CONTEXT}; read the file with read_file instead",
                self.context
            )));
        }
        Ok(Report::new(self.show, self.context, most))
    }
}

impl Tool for SearchText {
    const NAME: &'static str = "search_text";
    const TITLE: Option<&'static str> = Some("Search for text");
    const IS_DESTRUCTIVE: Option<bool> = Some(false);
    const IS_IDEMPOTENT: Option<bool> = Some(true);

    const DESCRIPTION: &'static str = "Searches files for a regular expression, and returns lines as grep -n does. Use it \
        where you know a name or a text: the uses of a function, an error message, a setting. To find code by what it does use \
        codebase_search, to find files by name list_files.";

    const PARAMETERS: Parameters = Parameters::of::<Arguments>();

    type Arguments = Arguments;

    fn prepare(arguments: &Arguments) -> Result<Plan, Failure> {
        arguments.pattern()?;
        arguments.report()?;
        let scope = arguments.scope()?;
        let mut shown: String = arguments
            .pattern
            .chars()
            .take(SHOWN_PATTERN_CHARS)
            .collect();
        if shown.len() < arguments.pattern.len() {
            shown.push('…');
        }
        let question = format!("Search {} for '{shown}'?", scope.name());
        Ok(scope.plan(question))
    }

    fn run(arguments: Arguments) -> Result<Output, Failure> {
        let pattern = arguments.pattern()?;
        let mut report = arguments.report()?;
        let scope = arguments.scope()?;
        match scope.open() {
            Ok(folder) => {
                search_folder(&scope, &folder, pattern, &mut report)?;
            }
            Err(Error::WrongKind(_)) => search_file(&scope, pattern, &mut report)?,
            Err(error) => return Err(error.into()),
        }
        Ok(report.text(&scope).into())
    }
}

dunlin_sdk::export!(SearchText);

fn search_folder(
    scope: &Scope,
    folder: &dunlin_sdk::tree::Folder,
    mut pattern: Pattern,
    report: &mut Report,
) -> Result<(), Failure> {
    let begin = clock::now_ms();
    let files = scope.files(folder)?;
    let all = files.entries.len();
    for (index, entry) in files.entries.iter().enumerate() {
        if entry.size_bytes > u64::from(PIECE_BYTES) {
            report.too_large(scope.shown(&entry.path));
            continue;
        }
        let is_late = || clock::now_ms().saturating_sub(begin) > TIME_MS;
        if is_late() {
            report.not_searched(all - index);
            break;
        }
        if index % FILES_OF_A_MESSAGE == FILES_OF_A_MESSAGE - 1 {
            let percent = u8::try_from(index * 100 / all).ok();
            chat::progress(&format!("searched {index} of {all} files"), percent);
        }
        let bytes = match folder.read_file(&entry.path) {
            Ok(bytes) => bytes,
            // Something is wrong with this file, and the others may be read.
            Err(Error::Failed(_) | Error::Invalid(_)) => None,
            Err(error) => return Err(error.into()),
        };
        match bytes {
            Some(bytes) => report.file(&scope.shown(&entry.path), &bytes, &mut pattern, &is_late),
            None => report.unreadable(),
        }
    }
    report.searched(files);
    Ok(())
}

/// A file that is named itself.
fn search_file(scope: &Scope, mut pattern: Pattern, report: &mut Report) -> Result<(), Failure> {
    if scope.has_globs() {
        return Err(Failure::invalid_arguments(format!(
            "globs: path is the file {}, so there is nothing to choose from; leave them out",
            scope.name()
        )));
    }
    let path = scope.folder();
    let file = File::open(path)?;
    let size = file.metadata()?.size_bytes;
    if size > MAX_FILE_BYTES {
        return Err(Failure::too_large(format!(
            "'{path}' has {} MB; files up to {} MB are searched. Use run_terminal_command with grep",
            size / 1_000_000,
            MAX_FILE_BYTES / 1_000_000
        )));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or(0));
    while (bytes.len() as u64) < MAX_FILE_BYTES {
        let piece = file.read_at(bytes.len() as u64, PIECE_BYTES)?;
        if piece.is_empty() {
            break;
        }
        bytes.extend(piece);
    }
    let begin = clock::now_ms();
    let is_late = || clock::now_ms().saturating_sub(begin) > TIME_MS;
    report.is_of_file();
    report.file(path, &bytes, &mut pattern, &is_late);
    Ok(())
}

#[cfg(test)]
mod tests;
