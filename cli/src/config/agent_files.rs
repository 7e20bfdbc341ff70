//! Agents in Markdown files: `agents/NAME.md` in the user's configuration, and `.dunlin/agents/NAME.md` in a project.
//!
//! Each is a subagent at the endpoint of the agent that starts it. A project's is foreign text, which counts only as long as
//! the user trusts it as it is. The folders are read when somebody asks for subagents, not before.

mod text;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use dunlin_host::display::chain;

pub use self::text::AgentText;
use super::markdown::{FileError, MarkdownFolders, NAME_RULE, Owner, SUFFIX, is_name};
use super::paths::Folders;
use super::trust::{self, Trust};

/// The folder of agents, in the user's configuration and in a project's `.dunlin`.
const FOLDER: &str = "agents";

/// The most files of a folder that are read.
const MAX_FILES: usize = 64;

/// An agent that a file describes.
#[derive(Debug, Clone, PartialEq)]
pub struct FileAgent {
    /// Its name.
    pub name: String,
    /// Whose file it is.
    pub owner: Owner,
    /// The file.
    pub path: PathBuf,
    /// What the file says.
    pub text: AgentText,
}

/// A file of a project, as it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForeignFile {
    /// The file.
    pub path: PathBuf,
    /// Its text.
    pub text: String,
}

/// What the folders hold.
#[derive(Debug, Default, PartialEq)]
pub struct AgentFiles {
    /// The agents that can be used, by their names.
    pub agents: Vec<FileAgent>,
    /// What cannot be used and why, a sentence each. Text of the files is in them: escape before showing.
    pub notices: Vec<String>,
}

/// Where the files are.
#[derive(Debug)]
pub struct AgentFolders<'a> {
    folders: &'a Folders,
    markdown: MarkdownFolders,
}

impl<'a> AgentFolders<'a> {
    /// `project` is the folder of the project, if it is one.
    pub fn new(folders: &'a Folders, project: Option<&Path>) -> AgentFolders<'a> {
        AgentFolders {
            folders,
            markdown: MarkdownFolders::new(FOLDER, &folders.config, project),
        }
    }

    /// The folder in the project, if it is one.
    pub fn project(&self) -> Option<PathBuf> {
        self.markdown.project()
    }

    /// The agents of all files that can be used; `known` are the names of those in `config.toml`.
    pub fn read(&self, known: &[&str]) -> AgentFiles {
        let mut found = AgentFiles::default();
        let user = self.texts(Owner::User, &mut found.notices);
        let (project, broken) = self.foreign();
        found.notices.extend(broken);
        found.notices.extend(self.ignored(&project));
        let project = project.into_iter().filter(|file| self.is_trusted(file));
        let user = user.into_iter().map(|file| (Owner::User, file));
        let project = project.map(|file| (Owner::Project, file));
        for (owner, file) in user.chain(project) {
            self.add(owner, file, known, &mut found);
        }
        found.agents.sort_by(|one, other| one.name.cmp(&other.name));
        found
    }

    /// The files of the project that make an agent once they are trusted, and why others do not: nobody is asked about those.
    pub fn foreign(&self) -> (Vec<ForeignFile>, Vec<String>) {
        let mut problems = Vec::new();
        let mut files = self.texts(Owner::Project, &mut problems);
        files.retain(|file| match AgentText::parse(&file.text) {
            Ok(_) => true,
            Err(error) => {
                problems.push(self.note(&file.path, error.line, &error.problem));
                false
            }
        });
        (files, problems)
    }

    /// Which of the project's files do not count, if there are any.
    pub fn ignored(&self, files: &[ForeignFile]) -> Option<String> {
        let strangers = files.iter().filter(|file| !self.is_trusted(file));
        let names: Vec<String> = strangers
            .map(|file| self.folders.short(&file.path))
            .collect();
        (!names.is_empty()).then(|| {
            format!(
                "not used until `dunlin config trust`, since they come with this project: {}",
                names.join(", ")
            )
        })
    }

    fn is_trusted(&self, file: &ForeignFile) -> bool {
        let digest = dunlin_host::sha256_hex(file.text.as_bytes());
        let trust = trust::look_up(&self.folders.trust_file(), &file.path, &digest);
        // Answers that cannot be read trust nothing.
        matches!(trust, Ok(Trust::Trusted))
    }

    fn texts(&self, owner: Owner, notices: &mut Vec<String>) -> Vec<ForeignFile> {
        let Some(folder) = self.markdown.of(owner) else {
            return Vec::new();
        };
        let names = self.markdown.names(owner).unwrap_or_else(|error| {
            notices.push(format!(
                "cannot read {}: {error}",
                self.folders.short(&folder)
            ));
            Vec::new()
        });
        let mut names: Vec<String> = names
            .into_iter()
            .filter(|it| it.ends_with(SUFFIX))
            .collect();
        if names.len() > MAX_FILES {
            notices.push(format!(
                "{} has more than {MAX_FILES} files, so those from {} on are left out",
                self.folders.short(&folder),
                names.get(MAX_FILES).map_or("", String::as_str)
            ));
            names.truncate(MAX_FILES);
        }
        let mut found = Vec::new();
        for name in names {
            let path = folder.join(&name);
            match self.markdown.read(owner, OsStr::new(&name)) {
                Ok(text) => found.push(ForeignFile { path, text }),
                Err(FileError::Read(error)) => {
                    let path = self.folders.short(&path);
                    notices.push(format!("cannot read {path}: {}", chain(&error)));
                }
                Err(FileError::Text(error)) => {
                    notices.push(self.note(&path, error.line, &error.problem));
                }
            }
        }
        found
    }

    fn note(&self, path: &Path, line: usize, text: &str) -> String {
        format!("{}:{line}: {text}", self.folders.short(path))
    }

    fn add(&self, owner: Owner, file: ForeignFile, known: &[&str], found: &mut AgentFiles) {
        let path = file.path;
        let mut text = match AgentText::parse(&file.text) {
            Ok(text) => text,
            Err(error) => {
                let note = self.note(&path, error.line, &error.problem);
                return found.notices.push(note);
            }
        };
        for (line, note) in std::mem::take(&mut text.notes) {
            found.notices.push(self.note(&path, line, &note));
        }
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        let name = text.name.take().unwrap_or_else(|| stem.into_owned());
        let taken = found.agents.iter().find(|agent| agent.name == name);
        let problem = if !is_name(&name) {
            format!("{name:?} is not offered: {NAME_RULE}")
        } else if known.contains(&name.as_str()) {
            format!("{name:?} is not offered: config.toml has [agents.{name}]")
        } else if let Some(taken) = taken {
            let taken = self.folders.short(&taken.path);
            format!("{name:?} is not offered: {taken} has the same name")
        } else {
            if let Some(note) = unusable_agent(owner, &mut text, known) {
                found.notices.push(self.note(&path, note.0, &note.1));
                if owner == Owner::User {
                    return;
                }
            }
            return found.agents.push(FileAgent {
                name,
                owner,
                path,
                text,
            });
        };
        found.notices.push(self.note(&path, 1, &problem));
    }
}

/// Why the agent whose endpoint is to be used is not, with the line. A project chooses no endpoint: there the one of the
/// agent that starts it remains.
fn unusable_agent(owner: Owner, text: &mut AgentText, known: &[&str]) -> Option<(usize, String)> {
    let (name, line) = text.agent.as_ref()?;
    let line = *line;
    if owner == Owner::Project {
        text.agent = None;
        let note = "the key \"agent\" is not used: which endpoint answers is yours to say, not a project's";
        return Some((line, note.to_owned()));
    }
    (!known.contains(&name.as_str())).then(|| {
        let known = match known {
            [] => "none".to_owned(),
            known => known.join(", "),
        };
        (
            line,
            format!("there is no agent {name:?} in config.toml; there are: {known}"),
        )
    })
}

#[cfg(test)]
mod tests;
