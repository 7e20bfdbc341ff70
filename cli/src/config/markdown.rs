//! Folders of Markdown files: one in the user's configuration and one in a project's `.dunlin`.
//!
//! A project's is opened without following links: a link could lead to a file of the user's, which would then be taken for
//! the project's text. Files are UTF-8 and of bounded size.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Dir, Mode, OFlags, openat};
use rustix::io::Errno;

/// How the files end.
pub const SUFFIX: &str = ".md";

/// The longest file, in bytes. What a model is told has rarely more than a page.
pub const MAX_BYTES: usize = 64 * 1024;

/// How many entries a folder may have: completing must not take noticeable time.
pub const MAX_ENTRIES: usize = 2000;

/// The longest name, in bytes.
const MAX_NAME_BYTES: usize = 64;

/// What [`is_name`] wants, for messages.
pub const NAME_RULE: &str =
    "its name may have letters, digits, - and _, and begins with a letter or digit";

/// Whose file it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owner {
    /// The user's.
    User,
    /// The project's: foreign text.
    Project,
}

/// What is wrong with the text of a file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{problem}")]
pub struct TextError {
    /// The line, counted from 1.
    pub line: usize,
    /// What is wrong, and the way out.
    pub problem: String,
}

/// Why a file cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The system says so, or it is too long.
    #[error(transparent)]
    Read(#[from] io::Error),
    /// It is not text.
    #[error(transparent)]
    Text(#[from] TextError),
}

/// The two folders of one name.
#[derive(Debug, Clone)]
pub struct MarkdownFolders {
    name: &'static str,
    user: PathBuf,
    /// The project, if it is one.
    project: Option<PathBuf>,
}

impl MarkdownFolders {
    /// `config` is the folder of the user's configuration, and `project` that of the project, if it is one.
    pub fn new(name: &'static str, config: &Path, project: Option<&Path>) -> MarkdownFolders {
        MarkdownFolders {
            name,
            user: config.join(name),
            project: project.map(Path::to_path_buf),
        }
    }

    /// The folder in the user's configuration.
    pub fn user(&self) -> &Path {
        &self.user
    }

    /// The folder in the project, if it is one.
    pub fn project(&self) -> Option<PathBuf> {
        let project = self.project.as_ref()?;
        Some(project.join(".dunlin").join(self.name))
    }

    /// The folder of an owner.
    pub fn of(&self, owner: Owner) -> Option<PathBuf> {
        match owner {
            Owner::User => Some(self.user.clone()),
            Owner::Project => self.project(),
        }
    }

    /// The names in the folder of an owner, sorted; what is hidden is left out. None where there is no folder.
    ///
    /// # Errors
    /// The folder cannot be read, or has too many entries.
    pub fn names(&self, owner: Owner) -> io::Result<Vec<String>> {
        self.open(owner)?.map_or(Ok(Vec::new()), names)
    }

    /// Reads a file in the folder of an owner; a project's without following any link.
    ///
    /// # Errors
    /// It cannot be read, is too long, or is not UTF-8.
    pub fn read(&self, owner: Owner, name: &OsStr) -> Result<String, FileError> {
        let folder = self.open(owner)?.ok_or(io::Error::from(Errno::NOENT))?;
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let file = openat(&folder, name, flags | links(owner), Mode::empty());
        let file = File::from(file.map_err(said)?);
        if !file.metadata()?.is_file() {
            return Err(io::Error::other("it is not a regular file").into());
        }
        let mut bytes = Vec::new();
        file.take(MAX_BYTES as u64 + 1).read_to_end(&mut bytes)?;
        if bytes.len() > MAX_BYTES {
            let problem = format!("it is longer than {} kB", MAX_BYTES / 1024);
            return Err(io::Error::other(problem).into());
        }
        String::from_utf8(bytes).map_err(|error| {
            let valid = error.as_bytes().get(..error.utf8_error().valid_up_to());
            let before = valid.unwrap_or_default().iter();
            let line = before.filter(|byte| **byte == b'\n').count() + 1;
            let problem = "this is not UTF-8".to_owned();
            TextError { line, problem }.into()
        })
    }

    /// Opens the folder of an owner. `None`: there is none.
    fn open(&self, owner: Owner) -> io::Result<Option<OwnedFd>> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let below = flags | links(owner);
        let opened = match (owner, &self.project) {
            (Owner::User, _) => openat(CWD, &self.user, flags, Mode::empty()),
            (Owner::Project, None) => return Ok(None),
            (Owner::Project, Some(project)) => openat(CWD, project, flags, Mode::empty())
                .and_then(|project| openat(&project, ".dunlin", below, Mode::empty()))
                .and_then(|folder| openat(&folder, self.name, below, Mode::empty())),
        };
        match opened {
            Ok(folder) => Ok(Some(folder)),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(said(error)),
        }
    }
}

/// Whether something can have this name.
pub fn is_name(name: &str) -> bool {
    let mut bytes = name.bytes();
    name.len() <= MAX_NAME_BYTES
        && bytes
            .next()
            .is_some_and(|byte| byte.is_ascii_alphanumeric())
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}

/// The names in a folder, sorted; what is hidden and what is not text is left out.
fn names(folder: OwnedFd) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for (index, entry) in Dir::new(folder)?.enumerate() {
        let entry = entry?;
        if index >= MAX_ENTRIES {
            let problem = format!("it has more than {MAX_ENTRIES} entries");
            return Err(io::Error::other(problem));
        }
        let name = OsStr::from_bytes(entry.file_name().to_bytes()).to_string_lossy();
        if !name.starts_with('.') {
            names.push(name.into_owned());
        }
    }
    names.sort();
    Ok(names)
}

/// Whether a file of this owner may be a link.
fn links(owner: Owner) -> OFlags {
    match owner {
        Owner::User => OFlags::empty(),
        Owner::Project => OFlags::NOFOLLOW,
    }
}

/// What the system says of a link that is not followed, in words.
fn said(error: Errno) -> io::Error {
    match error {
        Errno::LOOP => io::Error::other("it is a symbolic link, which is not followed here"),
        // Also what `O_DIRECTORY` says of a link.
        Errno::NOTDIR => io::Error::other("it is not a folder, or a symbolic link"),
        error => error.into(),
    }
}
