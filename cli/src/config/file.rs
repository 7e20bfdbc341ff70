//! A configuration file: its typed form, and errors that name the file, the line and the way out.

mod key;
mod problem;

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use toml::Spanned;
use toml::de::{DeTable, Deserializer};

use super::command_variables;
use super::mcp;
use super::origin::{Origin, Sourced};
use super::request_editor::MetadataField;
use super::setting::File;
use super::value::table;
use dunlin_host::display::shell_word;
use dunlin_host::files::open_regular;

/// The largest configuration file in bytes. Real ones have a few kilobytes; this only keeps a mistake
/// such as a device or a data file under that name from filling the memory.
const MAX_FILE_BYTES: u64 = 1024 * 1024;

table! {
    /// `[keys.NAME]`: exactly one of the three.
    #[derive(Debug, Clone, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct KeyEntry {
        /// An environment variable.
        pub env: Option<String>,
        /// A file whose first line is the key; a relative path starts at the configuration folder.
        pub file: Option<String>,
        /// A name in the system's keyring.
        pub keyring: Option<String>,
    }
}

/// A configuration file with its path and its text's lines.
#[derive(Debug)]
pub struct Loaded {
    /// Where it is.
    pub path: PathBuf,
    /// What it says.
    pub file: File,
    /// Its text.
    pub text: String,
    /// SHA-256 of the text.
    pub digest: String,
    /// Where each line ends, in bytes: turns the place of a value into a line.
    line_ends: Vec<usize>,
}

/// Who wrote a configuration file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Author {
    /// The user: every agent is whole, and its key is named in the same file.
    User,
    /// Whoever made the project: it may change agents of the user's.
    Project,
}

/// Why a configuration file cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FileError {
    /// It is there and cannot be read.
    #[error("cannot read the configuration {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It says something that it may not say.
    #[error("{}:{line}: {problem}", path.display())]
    Invalid {
        /// The file.
        path: PathBuf,
        /// The line, counted from 1.
        line: usize,
        /// What is wrong.
        problem: String,
        /// The way out, if there is a good guess.
        hint: Option<String>,
    },
}

impl FileError {
    /// The way out, if there is a good guess.
    pub fn hint(&self) -> Option<String> {
        let (path, source) = match self {
            FileError::Invalid { hint, .. } => return hint.clone(),
            FileError::Read { path, source } => (path, source),
        };
        let folder = path.parent().filter(|_| path.symlink_metadata().is_err());
        match (source.kind(), folder) {
            (io::ErrorKind::PermissionDenied, Some(folder)) => {
                Some(format!("chmod u+rx {} opens its folder", shown(folder)))
            }
            (io::ErrorKind::PermissionDenied, None) => {
                Some(format!("chmod u+r {} makes it readable", shown(path)))
            }
            (io::ErrorKind::NotFound, _) => {
                Some("it is a link that leads nowhere: correct or remove it".to_owned())
            }
            (io::ErrorKind::NotADirectory, Some(folder)) => Some(format!(
                "{} has to be a folder: move it away",
                shown(folder)
            )),
            _ => None,
        }
    }
}

/// A path as it is typed in a shell.
fn shown(path: &Path) -> String {
    shell_word(&path.to_string_lossy())
}

/// The text of a file, valid or not. `Ok(None)`: there is none.
pub fn read_text(path: &Path) -> Result<Option<String>, FileError> {
    match read_bounded(path) {
        Ok(text) => Ok(Some(text)),
        // A link that leads nowhere is no absent file: whoever made it meant that there is one.
        Err(error) if error.kind() == io::ErrorKind::NotFound && !path.is_symlink() => Ok(None),
        Err(source) => Err(FileError::Read {
            path: path.to_path_buf(),
            source,
        }),
    }
}

impl Loaded {
    /// Reads a file. `Ok(None)`: there is none.
    pub fn read(path: &Path, author: Author) -> Result<Option<Loaded>, FileError> {
        let text = read_text(path)?;
        let parsed = text.map(|text| Loaded::parse(path, &text, author));
        parsed.transpose()
    }

    /// Understands the text of a file.
    pub fn parse(path: &Path, text: &str, author: Author) -> Result<Loaded, FileError> {
        let mut loaded = Loaded {
            path: path.to_path_buf(),
            file: File::default(),
            text: text.to_owned(),
            digest: dunlin_host::sha256_hex(text.as_bytes()),
            line_ends: text.match_indices('\n').map(|(at, _)| at).collect(),
        };
        let place = |error: &toml::de::Error| error.span().map_or(0, |span| span.start);
        // There may be no keys and values yet.
        let document = DeTable::parse(text).map_err(|error| {
            loaded.error_at(place(&error), problem::in_one_line(error.message()), None)
        })?;
        let file = File::deserialize(Deserializer::from(document)).map_err(|error| {
            let (problem, hint) = problem::of(error.message(), text, place(&error));
            loaded.error_at(place(&error), problem, hint)
        })?;
        loaded.file = file;
        loaded.check(author)?;
        Ok(loaded)
    }

    /// A value of this file and its place.
    pub fn source<T: Clone>(&self, value: &Spanned<T>) -> Sourced<T> {
        let origin = Origin::File(self.path.clone(), self.line_of(value));
        Sourced {
            value: value.get_ref().clone(),
            origin,
        }
    }

    /// The line of a value, counted from 1.
    pub fn line_of<T>(&self, value: &Spanned<T>) -> usize {
        self.line_at(value.span().start)
    }

    /// The line of a key in a table; where it cannot be told, as in an inline table, that of the table.
    pub fn line_of_key<T>(&self, table: &Spanned<T>, key: &str) -> usize {
        line_of_key(&self.text, self.line_of(table), key)
    }

    /// An error at a value of this file.
    pub fn error_of<T>(&self, value: &Spanned<T>, problem: impl Into<String>) -> FileError {
        self.error_at(value.span().start, problem.into(), None)
    }

    /// Checks what the types leave open.
    fn check(&self, author: Author) -> Result<(), FileError> {
        if let Some(fields) = &self.file.request_editor.metadata {
            let names = fields.get_ref().iter().map(|field| field.as_str());
            if let Err(error) = MetadataField::list(names) {
                return Err(self.error_of(fields, error.to_string()));
            }
        }
        for (name, entry) in &self.file.keys {
            if let Some(problem) = key::entry_problem(name, entry.get_ref()) {
                return Err(self.error_of(entry, problem));
            }
        }
        let names = self.file.commands.environment.iter();
        for (number, name) in (1..).zip(names.flat_map(Spanned::get_ref)) {
            let text = name.get_ref();
            let keys = self.file.keys.iter();
            let mut keys = keys.filter(|(_, key)| key.get_ref().env.as_deref() == Some(text));
            let problem = command_variables::name_problem(text, number).or_else(|| {
                let (key, _) = keys.next()?;
                Some(format!(
                    "commands.environment names {text}, which holds the key of [keys.{key}]: no command gets that"
                ))
            });
            if let Some(problem) = problem {
                return Err(self.error_of(name, problem));
            }
        }
        for (name, agent) in &self.file.agents {
            let patch = agent.get_ref();
            let heading = format!("agents.{name}");
            if let Some(problem) = patch.problem() {
                return Err(self.error_of(agent, format!("[{heading}]: {problem}")));
            }
            let key = patch.api_key.as_deref();
            self.check_key_name(agent, &heading, "api_key", key, author)?;
            // A project's may change an agent that has a description.
            if let Some(problem) = patch.subagent_problem().filter(|_| author == Author::User) {
                let line = self.line_of_key(agent, "subagent");
                return Err(self.error_in(line, format!("[{heading}]: {problem}")));
            }
            // A key that a project names goes only where the user sends it.
            if let Some(problem) = patch
                .exposed_key_problem()
                .filter(|_| author == Author::User)
            {
                let line = self.line_of_key(agent, "base_url");
                return Err(self.error_in(line, format!("[{heading}]: {problem}")));
            }
            if author == Author::User && patch.model.is_none() {
                return Err(self.error_of(agent, "missing field `model`"));
            }
        }
        for (name, server) in &self.file.mcp.servers {
            let entry = server.get_ref();
            // A project may switch one of the user's off, and need not repeat it for that.
            let is_off = author == Author::Project && !entry.is_enabled();
            let heading = format!("mcp.servers.{name}");
            let problem = mcp::name_problem(name).or_else(|| entry.problem().filter(|_| !is_off));
            if let Some(problem) = problem {
                return Err(self.error_of(server, format!("[{heading}]: {problem}")));
            }
            let (key, secret) = (entry.api_key.as_deref(), entry.client_secret.as_deref());
            self.check_key_name(server, &heading, "api_key", key, author)?;
            self.check_key_name(server, &heading, "client_secret", secret, author)?;
        }
        for hook in &self.file.hook {
            if let Some(problem) = hook.get_ref().problem() {
                return Err(self.error_of(hook, format!("[[hook]]: {problem}")));
            }
        }
        for (name, site) in &self.file.web_fetch.auth {
            if let Err(error) = site.get_ref().headers(name) {
                return Err(self.error_of(site, format!("[web_fetch.auth]: {error}")));
            }
        }
        if let Some(search) = &self.file.web_search {
            let entry = search.get_ref();
            if let Some(problem) = entry.problem() {
                return Err(self.error_of(search, format!("[web_search]: {problem}")));
            }
            let key = entry.api_key.as_deref();
            self.check_key_name(search, "web_search", "api_key", key, author)?;
        }
        if let Some(search) = &self.file.codebase_search {
            let entry = search.get_ref();
            if let Some(problem) = entry.problem() {
                return Err(self.error_of(search, format!("[codebase_search]: {problem}")));
            }
            let key = entry.api_key.as_deref();
            self.check_key_name(search, "codebase_search", "api_key", key, author)?;
        }
        Ok(())
    }

    /// Checks that a `field` of a table names one of the keys.
    fn check_key_name<T>(
        &self,
        table: &Spanned<T>,
        heading: &str,
        field: &str,
        key: Option<&str>,
        author: Author,
    ) -> Result<(), FileError> {
        let problem = key::name_problem(field, key, &self.file.keys, author);
        problem.map_or(Ok(()), |problem| {
            let line = self.line_of_key(table, field);
            Err(self.error_in(line, format!("[{heading}]: {problem}")))
        })
    }

    fn error_in(&self, line: usize, problem: String) -> FileError {
        FileError::Invalid {
            path: self.path.clone(),
            line,
            problem,
            hint: None,
        }
    }

    fn error_at(&self, offset: usize, problem: String, hint: Option<String>) -> FileError {
        FileError::Invalid {
            path: self.path.clone(),
            line: self.line_at(offset),
            problem,
            hint,
        }
    }

    fn line_at(&self, offset: usize) -> usize {
        self.line_ends.partition_point(|&end| end < offset) + 1
    }
}

fn read_bounded(path: &Path) -> io::Result<String> {
    let file = open_regular(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    let mut text = String::new();
    file.take(MAX_FILE_BYTES + 1).read_to_string(&mut text)?;
    if text.len() as u64 > MAX_FILE_BYTES {
        return Err(io::Error::other(format!(
            "it has more than {MAX_FILE_BYTES} bytes"
        )));
    }
    Ok(text)
}

/// The line of a key in the table whose header is in line `table`; where it cannot be told, that of the table.
pub fn line_of_key(text: &str, table: usize, key: &str) -> usize {
    let mut lines = text.lines().enumerate().skip(table);
    let found = lines
        .by_ref()
        .take_while(|(_, line)| !line.trim_start().starts_with('['))
        .find(|(_, line)| {
            let rest = line.trim_start().strip_prefix(key);
            rest.is_some_and(|rest| rest.trim_start().starts_with('='))
        });
    found.map_or(table, |(index, _)| index + 1)
}

#[cfg(test)]
mod tests;
