//! The files of templates: `prompts/NAME.md` in the user's configuration, and `.dunlin/prompts/NAME.md` in a project.
//!
//! Looking for names reads the folders and no file. A project's folder is opened without following links: a link could
//! lead to a file of the user's, which would then be sent.

use std::fs::Permissions;
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use dunlin_host::files::make_private;

use super::text::{TemplateText, file_of};
pub use crate::config::markdown::Owner;
use crate::config::markdown::{
    FileError, MAX_BYTES, MarkdownFolders, NAME_RULE, SUFFIX, TextError, is_name,
};
use crate::config::paths::{Folders, PRIVATE_FILE_MODE};
use crate::settings::Settings;

/// A template that was found; its text is not read yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    /// Its name, without the slash.
    pub name: String,
    /// Whose it is.
    pub owner: Owner,
    pub path: PathBuf,
}

/// What the folders hold.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Listing {
    /// The templates that can be used, by their names.
    pub templates: Vec<Template>,
    /// What cannot be used and why, a sentence each. Names of files are in them: escape before showing.
    pub problems: Vec<String>,
}

/// Why a template cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    #[error("cannot read the template {}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("{}:{}: {error}", path.display(), error.line)]
    Text { path: PathBuf, error: TextError },
}

/// Why a text cannot be saved as a template.
#[derive(Debug, thiserror::Error)]
pub enum SaveError {
    #[error(
        "{0:?} is not a name for a template: use letters, digits, - and _, and a letter or digit first"
    )]
    Name(String),
    #[error("/{0} is a command of Dunlin: choose another name")]
    Command(String),
    /// There is one.
    #[error("{} already exists: choose another name, or delete the file", path.display())]
    Exists { path: PathBuf },
    #[error("the text is longer than the {} kB that a template may have", MAX_BYTES / 1024)]
    TooLong,
    #[error("there is no text to save")]
    Empty,
    /// It cannot be written.
    #[error("cannot write {}", path.display())]
    Write { path: PathBuf, source: io::Error },
}

/// Where templates are.
#[derive(Debug, Clone)]
pub struct Places(MarkdownFolders);

impl Places {
    /// The user's folder, and that of the project if it is one.
    pub fn new(folders: &Folders, (project, is_project): (&Path, bool)) -> Places {
        let project = is_project.then_some(project);
        Places(MarkdownFolders::new("prompts", &folders.config, project))
    }

    /// The same from the settings.
    pub fn of(settings: &Settings) -> Places {
        Places::new(&settings.folders, (&settings.project, settings.is_project))
    }

    /// The folder in the user's configuration.
    pub fn user(&self) -> &Path {
        self.0.user()
    }

    /// The folder in the project, if it is one.
    pub fn project(&self) -> Option<PathBuf> {
        self.0.project()
    }

    /// What there is. `is_command` knows the names that commands have; where both folders have a name, the user's counts.
    pub fn list(&self, is_command: impl Fn(&str) -> bool) -> Listing {
        let mut listing = Listing::default();
        self.list_folder(Owner::User, &is_command, &mut listing);
        self.list_folder(Owner::Project, &is_command, &mut listing);
        listing
            .templates
            .sort_by(|one, other| one.name.cmp(&other.name));
        listing
    }

    /// The template with this name.
    pub fn find(&self, name: &str, is_command: impl Fn(&str) -> bool) -> Option<Template> {
        if !is_name(name) || is_command(name) {
            return None;
        }
        let owners = [Owner::User, Owner::Project].into_iter();
        owners
            .filter_map(|owner| {
                let path = self.0.of(owner)?.join(format!("{name}{SUFFIX}"));
                let name = name.to_owned();
                Some(Template { name, owner, path })
            })
            .find(|template| template.path.symlink_metadata().is_ok())
    }

    /// Reads the file of a template: UTF-8, of bounded size; a project's without following any link.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn read(&self, template: &Template) -> Result<String, ReadError> {
        let name = template.path.file_name().unwrap_or_default();
        let path = template.path.clone();
        let read = self.0.read(template.owner, name);
        read.map_err(|error| match error {
            FileError::Read(source) => ReadError::Read { path, source },
            FileError::Text(error) => ReadError::Text { path, error },
        })
    }

    /// Reads a template: the text of its file, and what that means.
    ///
    /// # Errors
    /// The file cannot be read, or its text is not a valid template.
    pub fn load(&self, template: &Template) -> Result<(String, TemplateText), ReadError> {
        let file = self.read(template)?;
        let text = TemplateText::parse(&file).map_err(|error| ReadError::Text {
            path: template.path.clone(),
            error,
        })?;
        Ok((file, text))
    }

    /// Saves a text as a template of the user's, which sends it without blank lines before it and white space behind it. The
    /// file, and whether `{{placeholders}}` in it are escaped.
    ///
    /// # Errors
    /// The name cannot be used, or the file cannot be written; nothing is changed then.
    pub fn save(
        &self,
        name: &str,
        is_command: impl Fn(&str) -> bool,
        description: &str,
        text: &str,
    ) -> Result<(PathBuf, bool), SaveError> {
        if !is_name(name) {
            return Err(SaveError::Name(name.to_owned()));
        }
        if is_command(name) {
            return Err(SaveError::Command(name.to_owned()));
        }
        if text.trim().is_empty() {
            return Err(SaveError::Empty);
        }
        let (file, escaped) = file_of(description, text);
        if file.len() > MAX_BYTES {
            return Err(SaveError::TooLong);
        }
        let path = self.user().join(format!("{name}{SUFFIX}"));
        let failed = |source| SaveError::Write {
            path: path.clone(),
            source,
        };
        let new = || {
            make_private(self.user())?;
            let mut new = tempfile::Builder::new()
                .prefix(".new.")
                .permissions(Permissions::from_mode(PRIVATE_FILE_MODE))
                .tempfile_in(self.user())?;
            new.write_all(file.as_bytes())?;
            new.as_file().sync_all()?;
            Ok(new)
        };
        let new = new().map_err(failed)?;
        match new.persist_noclobber(&path) {
            Ok(_) => Ok((path, escaped)),
            Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => {
                Err(SaveError::Exists { path })
            }
            Err(error) => Err(failed(error.error)),
        }
    }

    fn list_folder(&self, owner: Owner, is_command: &impl Fn(&str) -> bool, listing: &mut Listing) {
        let Some(folder) = self.0.of(owner) else {
            return;
        };
        let shown = |name: &str| folder.join(name).display().to_string();
        let names = match self.0.names(owner) {
            Ok(names) => names,
            Err(error) => {
                listing
                    .problems
                    .push(format!("cannot read {}: {error}", folder.display()));
                return;
            }
        };
        for file in names {
            let Some(name) = file.strip_suffix(SUFFIX) else {
                continue;
            };
            let taken = listing.templates.iter().find(|it| it.name == name);
            let problem = if !is_name(name) {
                NAME_RULE.to_owned()
            } else if is_command(name) {
                format!("/{name} is a command of Dunlin; rename the file")
            } else if let Some(taken) = taken {
                format!("{} has the same name", taken.path.display())
            } else {
                listing.templates.push(Template {
                    name: name.to_owned(),
                    owner,
                    path: folder.join(&file),
                });
                continue;
            };
            listing
                .problems
                .push(format!("{} is not offered: {problem}", shown(&file)));
        }
    }
}

#[cfg(test)]
mod tests;
