//! `/remember`: adds a line to an instruction file, which the user has typed.
//!
//! The file of a project stays trusted if it was, or if there was none: all that is new in it is the user's. A link is not
//! followed in a project, whatever it leads to. The user's own file may be one: many keep their configuration elsewhere.

use std::fs::{self, Permissions};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use dunlin_host::files::{make_private, open_regular};
use dunlin_host::open_folder;

use crate::config::instruction_files::{MAX_BYTES, NAMES, in_folder, text_of};
use crate::config::markdown::Owner;
use crate::config::trust::{self, Trust, TrustError};
use crate::settings::Settings;

/// The mode of a new file, before the process's mask.
const NEW_FILE_MODE: u32 = 0o666;

/// Why a line cannot be added. Nothing was written.
#[derive(Debug, thiserror::Error)]
pub enum RememberError {
    #[error("{name} is a symbolic link: write into the file that it leads to")]
    Link { name: String },
    #[error("{name} would be longer than the {} kB that are used of it", MAX_BYTES / 1024)]
    TooLong { name: String },
    #[error("{name} has changed since the line was shown: nothing was written")]
    Changed { name: String },
    #[error("the text has characters that a terminal acts on")]
    Control,
    #[error("cannot read {name}")]
    Read { name: String, source: io::Error },
    #[error("cannot write {name}")]
    Write { name: String, source: io::Error },
    #[error("the line was written, but the file is not trusted")]
    Trust(#[source] TrustError),
}

/// A line that is to be added.
#[derive(Debug)]
pub struct Addition {
    owner: Owner,
    path: PathBuf,
    /// How the file is called.
    pub name: String,
    /// The line, without its end.
    pub line: String,
    /// What the file says before; `None`: there is none.
    before: Option<String>,
}

impl Addition {
    /// Looks what would be written. `text` is in one line.
    ///
    /// # Errors
    /// The file cannot be read, or the line cannot be added to it.
    pub fn new(settings: &Settings, owner: Owner, text: &str) -> Result<Addition, RememberError> {
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        if text.chars().any(dunlin_host::display::needs_escape) {
            return Err(RememberError::Control);
        }
        let folder = match owner {
            Owner::User => &settings.folders.config,
            Owner::Project => &settings.project,
        };
        let [name, _] = NAMES;
        let path = in_folder(folder).unwrap_or_else(|| folder.join(name));
        let name = settings.instruction_places().name_of(owner, &path);
        let path = match (path.is_symlink(), owner) {
            (false, _) => path,
            (true, Owner::Project) => return Err(RememberError::Link { name }),
            (true, Owner::User) => path.canonicalize().map_err(|source| {
                let name = name.clone();
                RememberError::Read { name, source }
            })?,
        };
        let before = read(&path, &name)?;
        let addition = Addition {
            owner,
            path,
            line: format!("- {text}"),
            before,
            name,
        };
        match addition.after().len() > MAX_BYTES {
            true => Err(RememberError::TooLong {
                name: addition.name,
            }),
            false => Ok(addition),
        }
    }

    /// Whether there is no such file yet.
    pub fn is_new(&self) -> bool {
        self.before.is_none()
    }

    /// The whole file with the line.
    fn after(&self) -> String {
        let before = self.before.as_deref().unwrap_or_default();
        let end = match before.is_empty() || before.ends_with('\n') {
            true => "",
            false => "\n",
        };
        format!("{before}{end}{}\n", self.line)
    }

    /// Writes it. Whether the file counts: a project's does not if it was not trusted before.
    ///
    /// # Errors
    /// It is not as it was when it was looked at, or cannot be written.
    pub fn write(&self, settings: &Settings) -> Result<bool, RememberError> {
        let name = || self.name.clone();
        if self.path.is_symlink() || read(&self.path, &self.name)? != self.before {
            return Err(RememberError::Changed { name: name() });
        }
        let answers = settings.folders.trust_file();
        // Of the text that is replaced, whatever the file says by now. What is empty says nothing that could be trusted.
        let before = self
            .before
            .as_deref()
            .filter(|text| !text.trim().is_empty());
        let counted = match before {
            Some(text) if self.owner == Owner::Project => {
                let digest = dunlin_host::sha256_hex(text.as_bytes());
                let trust = trust::look_up(&answers, &self.path, &digest);
                trust.map_err(RememberError::Trust)? == Trust::Trusted
            }
            _ => true,
        };
        let text = self.after();
        self.replace(&text).map_err(|source| RememberError::Write {
            name: name(),
            source,
        })?;
        if self.owner == Owner::Project && counted {
            let digest = dunlin_host::sha256_hex(text.as_bytes());
            trust::keep(&answers, &self.path, Some((&digest, true)))
                .map_err(RememberError::Trust)?;
        }
        Ok(self.owner == Owner::User || counted)
    }

    /// Puts a new file in the place of the old one.
    fn replace(&self, text: &str) -> io::Result<()> {
        let name = self.path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
        let folder = self.path.parent().unwrap_or(Path::new("/"));
        if self.owner == Owner::User {
            make_private(folder)?;
        }
        let opened = open_folder(&folder.canonicalize()?)?;
        // The folder that was opened, whatever has its name by now.
        let folder = PathBuf::from(format!("/proc/self/fd/{}", opened.as_raw_fd()));
        let mut new = tempfile::Builder::new()
            .prefix(".new.")
            .permissions(Permissions::from_mode(NEW_FILE_MODE))
            .tempfile_in(&folder)?;
        new.write_all(text.as_bytes())?;
        let path = folder.join(name);
        match self.is_new() {
            true => {
                new.as_file().sync_all()?;
                new.persist_noclobber(path).map_err(|error| error.error)?;
            }
            false => {
                let mode = fs::symlink_metadata(&path)?.permissions();
                new.as_file().set_permissions(mode)?;
                new.as_file().sync_all()?;
                new.persist(path).map_err(|error| error.error)?;
            }
        }
        Ok(())
    }
}

/// What a file says. `None`: there is none.
fn read(path: &Path, name: &str) -> Result<Option<String>, RememberError> {
    let failed = |source| RememberError::Read {
        name: name.to_owned(),
        source,
    };
    if path.symlink_metadata().is_err() {
        return Ok(None);
    }
    let file = open_regular(path).map_err(failed)?;
    match text_of(&file).map_err(failed)? {
        (text, false) => Ok(Some(text)),
        (_, true) => Err(RememberError::TooLong {
            name: name.to_owned(),
        }),
    }
}

#[cfg(test)]
mod tests;
