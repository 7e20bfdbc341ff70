//! What the words of a command line lead to: programs and files.
//!
//! A shell has read the words already, so they are final: `~` is a name. What Dunlin finds at a path has to be what the
//! command finds there. It is not where the path leads through procfs, which says something else to each process, and it
//! cannot be known where a look-up fails.

use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, Mode, OFlags};

use super::Permissions;
use crate::command::MAX_BOUND_BYTES;
use crate::command::{Named, Way};
use crate::resolve::{self, ResolveError};
use crate::target::ProgramFile;

/// What a path passes.
pub(crate) struct Passed {
    /// Each part that exists, and whether it is a link.
    parts: Vec<(PathBuf, bool)>,
    /// Where it ends; `None`: nothing can be there.
    pub(crate) real: Result<Option<PathBuf>, ResolveError>,
    /// Whether one of the parts lies in procfs.
    pub(crate) is_in_procfs: bool,
}

impl Passed {
    fn on(path: &Path) -> Passed {
        let mut parts = Vec::new();
        let mut is_in_procfs = false;
        let mut device = None;
        let real = resolve::walk(path, |part| {
            if device.replace(part.device) != Some(part.device) {
                is_in_procfs |= is_in_procfs_itself(part.path);
            }
            parts.push((part.path.to_owned(), part.is_link));
        });
        Passed {
            parts,
            real: unless_too_long(real),
            is_in_procfs,
        }
    }

    /// What is there; `None`: nothing.
    fn found(&self) -> io::Result<Option<(std::fs::Metadata, &Path)>> {
        let real = match &self.real {
            Ok(Some(real)) => real,
            Ok(None) => return Ok(None),
            Err(e) => return Err(io::Error::other(e.to_string())),
        };
        match std::fs::metadata(real) {
            Ok(meta) => Ok(Some((meta, real))),
            Err(e)
                if matches!(
                    e.kind(),
                    io::ErrorKind::NotFound
                        | io::ErrorKind::NotADirectory
                        | io::ErrorKind::InvalidFilename
                ) =>
            {
                Ok(None)
            }
            Err(e) => Err(e),
        }
    }
}

/// A name that is longer than the kernel takes leads nowhere for the command either.
fn unless_too_long(real: Result<PathBuf, ResolveError>) -> Result<Option<PathBuf>, ResolveError> {
    match real {
        Ok(real) => Ok(Some(real)),
        Err(ResolveError::TooLong { .. } | ResolveError::Empty | ResolveError::Nul { .. }) => {
            Ok(None)
        }
        Err(ResolveError::Io { source, .. }) if source.kind() == io::ErrorKind::InvalidFilename => {
            Ok(None)
        }
        Err(e) => Err(e),
    }
}

/// Whether something lies in procfs, wherever that is mounted. What does not say is taken for it.
fn is_in_procfs_itself(path: &Path) -> bool {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file: Result<OwnedFd, _> = rustix::fs::open(path, flags, Mode::empty());
    let kind = file.and_then(rustix::fs::fstatfs).map(|it| it.f_type);
    kind.is_ok_and(|kind| kind == rustix::fs::PROC_SUPER_MAGIC) || kind.is_err()
}

impl Permissions {
    /// What a word passes as a path.
    pub(crate) fn passed(&self, word: &str) -> Passed {
        match unless_too_long(self.places.word(word)) {
            Ok(Some(path)) => {
                let mut passed = Passed::on(&path);
                let mut parts = passed.parts.iter().map(|(part, _)| part);
                // A circle that stays one ends for the command, too.
                if matches!(passed.real, Err(ResolveError::Links { .. }))
                    && !parts.any(|part| self.can_replace(part))
                {
                    passed.real = Ok(None);
                }
                passed
            }
            real => Passed {
                parts: Vec::new(),
                real,
                is_in_procfs: false,
            },
        }
    }

    /// What a shell puts in the place of a word that begins with an unquoted `~`.
    pub(crate) fn at_home(&self, word: &str) -> Option<String> {
        let path = self.places.at_home(word)?;
        path.to_str().map(str::to_owned)
    }

    /// The path by which a word is found as a program in these folders.
    pub(crate) fn program_in(&self, word: &str, search_path: &[PathBuf]) -> Option<PathBuf> {
        let path = self.places.program_path(word, search_path).ok()?;
        let found = resolve::program_at(&path).ok()?;
        Some(found.called)
    }

    /// Looks the program of a command up.
    pub(crate) fn word_program(&self, word: &str) -> Result<ProgramFile, ResolveError> {
        resolve::program_at(&self.places.program_path(word, &self.search_path)?)
    }

    /// What can happen on the way to the program of a command.
    pub(crate) fn way(&self, word: &str) -> Way {
        let Ok(path) = self.places.program_path(word, &self.search_path) else {
            return Way::Unclear;
        };
        let passed = Passed::on(&path);
        let Ok(Some((_, real))) = passed.found() else {
            return Way::Unclear;
        };
        if passed.is_in_procfs {
            return Way::Unclear;
        }
        let mut parts = passed.parts.iter().map(|(part, _)| part);
        let is_changeable =
            self.is_writable_for_commands(real) || parts.any(|part| self.can_replace(part));
        match is_changeable {
            true => Way::Changeable,
            false => Way::Fixed,
        }
    }

    /// Whether commands can put something else in the place of a part of a path. The project itself is mounted.
    fn can_replace(&self, part: &Path) -> bool {
        part != self.places.project && self.is_writable_for_commands(part)
    }

    /// What a word leads to as a path. Commands can change what is there, or where the path leads, if anything on the way to
    /// it lies where they can write.
    pub(crate) fn named(&self, word: &str) -> Named {
        let passed = self.passed(word);
        if passed.is_in_procfs {
            return Named::Unclear;
        }
        let (meta, path) = match passed.found() {
            Ok(Some(found)) => found,
            Ok(None) => return Named::Absent,
            Err(_) => return Named::Unclear,
        };
        let is_inside = self.is_writable_for_commands(path);
        let mut parts = passed.parts.iter();
        let can_lead_elsewhere =
            parts.any(|(part, is_link)| (*is_link || !is_inside) && self.can_replace(part));
        let (is_file, is_folder) = (meta.is_file(), meta.is_dir());
        if !is_inside && !can_lead_elsewhere {
            return Named::Fixed { is_folder };
        }
        // What cannot be read to its end binds nothing.
        let is_readable = || rustix::fs::access(path, Access::READ_OK).is_ok();
        match (is_file, is_folder) {
            (true, _) if meta.len() > MAX_BOUND_BYTES || !is_readable() => Named::Unclear,
            (true, _) => Named::File(path.to_owned()),
            (false, true) if !can_lead_elsewhere => Named::Folder,
            (false, is_folder) => Named::Other {
                path: path.to_owned(),
                is_folder,
            },
        }
    }
}
