//! Instruction files: what the user and a project want each conversation to begin with.
//!
//! They are `AGENTS.md` next to the user's `config.toml`, and in the folders of the project from its top down to the one that
//! Dunlin was started in. A project's are foreign text, which counts only as long as the user trusts it as it is. Where one of
//! them leads is decided by its resolved path: not out of the project, not to Dunlin's own files, and not to a secret. A file with
//! several names is none of them.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use dunlin_host::files::open_regular;
use dunlin_host::open_folder;
use dunlin_host::secrets::looks_secret;
use rustix::fs::{Mode, OFlags, openat};

use super::markdown::Owner;
use super::paths::Folders;
use super::trust::{self, Trust};

/// The names of instruction files. In each folder the first one that exists counts.
pub const NAMES: [&str; 2] = ["AGENTS.md", "CLAUDE.md"];

/// The most that is read of a file, and the most that all of them together may say, in bytes. It is about 8,000 tokens, a
/// quarter of a small window, and stands in each request.
pub const MAX_BYTES: usize = 32 * 1024;

/// An instruction file, as it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstructionFile {
    /// Whose it is.
    pub owner: Owner,
    pub path: PathBuf,
    /// How it is called: from the top of the project on, or from the home folder on.
    pub name: String,
    /// The text, at most [`MAX_BYTES`] of it.
    pub text: String,
    /// What the user said of a project's file.
    trust: Trust,
}

impl InstructionFile {
    /// Whether it counts: it is the user's, or trusted as it is.
    pub fn counts(&self) -> bool {
        self.owner == Owner::User || self.trust == Trust::Trusted
    }

    /// The SHA-256 of the text, in hex.
    pub fn digest(&self) -> String {
        dunlin_host::sha256_hex(self.text.as_bytes())
    }
}

/// What the folders hold.
#[derive(Debug, Default, PartialEq)]
pub struct InstructionFiles {
    /// The files that can be read, the nearest one last.
    pub files: Vec<InstructionFile>,
    /// What of others is not used and why, a sentence each. Names of files are in them: escape before showing.
    pub notices: Vec<String>,
}

/// Where the files are.
#[derive(Debug)]
pub struct InstructionPlaces<'a> {
    /// Dunlin's folders.
    pub folders: &'a Folders,
    /// The folder of the project, if it is one.
    pub project: Option<&'a Path>,
    /// The folder that Dunlin was started in.
    pub started_in: &'a Path,
    /// What is never read: Dunlin's own files.
    pub protected: Vec<PathBuf>,
}

impl InstructionPlaces<'_> {
    /// Reads the files.
    pub fn read(&self) -> InstructionFiles {
        let mut found = InstructionFiles::default();
        let mut resolved: Vec<PathBuf> = Vec::new();
        let users = in_folder(&self.folders.config).map(|path| (Owner::User, path));
        let projects = self.project_folders().into_iter();
        let projects = projects.filter_map(|folder| Some((Owner::Project, in_folder(&folder)?)));
        for (owner, path) in users.into_iter().chain(projects) {
            let real = path.canonicalize();
            // Two names of one file.
            if real.as_ref().is_ok_and(|real| resolved.contains(real)) {
                continue;
            }
            let file = match (owner, &real) {
                (Owner::User, _) => open_regular(&path),
                (Owner::Project, Ok(real)) => self.open(real),
                (Owner::Project, Err(error)) => Err(match error.kind() {
                    io::ErrorKind::NotFound => io::Error::other("it is a link that leads nowhere"),
                    kind => kind.into(),
                }),
            };
            let read = file.and_then(|file| text_of(&file));
            resolved.extend(real);
            let short = self.folders.short(&path);
            match read {
                Err(error) => found.notices.push(format!("cannot read {short}: {error}")),
                Ok((text, _)) if text.trim().is_empty() => {}
                Ok((text, is_cut)) => {
                    if is_cut {
                        found.notices.push(cut(&short, &text));
                    }
                    found.files.push(self.file(owner, path, text));
                }
            }
        }
        found
    }

    /// A file, with what the user said of it.
    fn file(&self, owner: Owner, path: PathBuf, text: String) -> InstructionFile {
        let digest = dunlin_host::sha256_hex(text.as_bytes());
        // Answers that cannot be read trust nothing.
        let trust = trust::look_up(&self.folders.trust_file(), &path, &digest);
        let trust = trust.unwrap_or(Trust::Unknown);
        let name = self.name_of(owner, &path);
        InstructionFile {
            owner,
            path,
            name,
            text,
            trust,
        }
    }

    /// How a file is called.
    pub fn name_of(&self, owner: Owner, path: &Path) -> String {
        let below = self.project.filter(|_| owner == Owner::Project);
        match below.and_then(|project| path.strip_prefix(project).ok()) {
            Some(below) => below.display().to_string(),
            None => self.folders.short(path),
        }
    }

    /// From the top of the project down to the folder that Dunlin was started in.
    fn project_folders(&self) -> Vec<PathBuf> {
        let Some(project) = self.project else {
            return Vec::new();
        };
        let below = self.started_in.strip_prefix(project);
        let mut folders = vec![project.to_path_buf()];
        for part in below.into_iter().flatten() {
            let next = folders.last().map(|folder| folder.join(part));
            folders.extend(next);
        }
        folders
    }

    /// Opens a file of the project by its resolved path, without following links.
    fn open(&self, real: &Path) -> io::Result<File> {
        if !self
            .project
            .is_some_and(|project| real.starts_with(project))
        {
            return Err(io::Error::other(
                "it is a link that leads out of the project",
            ));
        }
        if self.protected.iter().any(|own| real.starts_with(own)) {
            return Err(io::Error::other("it is one of Dunlin's own files"));
        }
        if looks_secret(real) {
            return Err(io::Error::other("files of this name usually hold secrets"));
        }
        let (Some(folder), Some(name)) = (real.parent(), real.file_name()) else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        let flags =
            OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = File::from(openat(open_folder(folder)?, name, flags, Mode::empty())?);
        let found = file.metadata()?;
        // The other name may be that of a secret, here or elsewhere; which one it is cannot be told.
        if found.is_file() && found.nlink() > 1 {
            return Err(io::Error::other(
                "it has another name (a hard link), which may be that of a secret; a copy of it can be used",
            ));
        }
        Ok(file)
    }
}

impl InstructionFiles {
    /// Takes the files that count, as far as there is room for them; says which do not count, and which have no room. The
    /// user's own comes first, then those nearest to where Dunlin was started.
    pub fn usable(mut self) -> (Vec<InstructionFile>, Vec<String>) {
        self.notices.extend(self.ignored());
        self.files.retain(InstructionFile::counts);
        let is_user = |file: &InstructionFile| file.owner == Owner::User;
        let (users, projects): (Vec<_>, Vec<_>) = self.files.iter_mut().partition(|it| is_user(it));
        let mut room = MAX_BYTES;
        for file in users.into_iter().chain(projects.into_iter().rev()) {
            if file.text.len() > room {
                file.text.truncate(whole_lines(&file.text, room));
                let name = &file.name;
                self.notices.push(match file.text.is_empty() {
                    false => cut(name, &file.text),
                    true => format!(
                        "{name} is left out: all instruction files together may have {} kB",
                        MAX_BYTES / 1024
                    ),
                });
            }
            room -= file.text.len();
        }
        self.files.retain(|file| !file.text.is_empty());
        (self.files, self.notices)
    }

    /// Which of the project's files do not count, if there are any.
    pub fn ignored(&self) -> Option<String> {
        let strangers = self.files.iter().filter(|file| !file.counts());
        let names: Vec<&str> = strangers.map(|file| file.name.as_str()).collect();
        (!names.is_empty()).then(|| {
            format!(
                "not used until `dunlin config trust`, since they come with this project: {}",
                names.join(", ")
            )
        })
    }
}

/// The instruction file of a folder, if it has one.
pub fn in_folder(folder: &Path) -> Option<PathBuf> {
    let mut paths = NAMES.iter().map(|name| folder.join(name));
    paths.find(|path| path.symlink_metadata().is_ok())
}

/// What is said of a file of which only a part is sent.
fn cut(name: &str, text: &str) -> String {
    format!(
        "{name} is too long: all instruction files together may have {} kB, and only its first {} lines are used",
        MAX_BYTES / 1024,
        text.lines().count()
    )
}

/// The text of a file, and whether that is only its beginning.
///
/// # Errors
/// It cannot be read, or is not text.
pub fn text_of(file: &File) -> io::Result<(String, bool)> {
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    let mut bytes = Vec::new();
    file.take(MAX_BYTES as u64 + 1).read_to_end(&mut bytes)?;
    let is_cut = bytes.len() > MAX_BYTES;
    let mut text = match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => {
            let (at, is_half) = (
                error.utf8_error().valid_up_to(),
                error.utf8_error().error_len().is_none(),
            );
            let mut bytes = error.into_bytes();
            if !(is_cut && is_half) {
                let before = bytes.iter().take(at).filter(|byte| **byte == b'\n');
                let problem = format!("line {} is not UTF-8", before.count() + 1);
                return Err(io::Error::other(problem));
            }
            bytes.truncate(at);
            String::from_utf8(bytes).unwrap_or_default()
        }
    };
    if is_cut {
        text.truncate(whole_lines(&text, MAX_BYTES));
    }
    Ok((text, is_cut))
}

/// How many bytes of a text its first lines have that fit; of a longer line its beginning.
fn whole_lines(text: &str, most: usize) -> usize {
    let fitting = text
        .get(..text.floor_char_boundary(most))
        .unwrap_or_default();
    fitting.rfind('\n').map_or(fitting.len(), |end| end + 1)
}

#[cfg(test)]
mod tests;
