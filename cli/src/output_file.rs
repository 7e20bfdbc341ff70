//! Files that the user names for output: nothing is replaced that was not agreed to, and no link leads elsewhere.

use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use dunlin_host::open_folder;
use rustix::io::Errno;

use crate::error::CliError;

/// The file cannot be written.
#[derive(Debug, thiserror::Error)]
#[error("cannot write {}", path.display())]
struct CannotWrite {
    path: PathBuf,
    source: io::Error,
}

/// It exists, and nobody said that it may be replaced.
#[derive(Debug, thiserror::Error)]
#[error("{} already exists", path.display())]
struct AlreadyExists {
    path: PathBuf,
}

/// What a file cannot take the place of.
#[derive(Debug, thiserror::Error)]
enum NotAFile {
    #[error("{} is a folder", .0.display())]
    Folder(PathBuf),
    #[error("{} is a {}", .0.display(), .1)]
    Special(PathBuf, &'static str),
}

impl NotAFile {
    /// What to do instead on a command line.
    fn hint(&self) -> String {
        match self {
            NotAFile::Folder(folder) => {
                let file = folder.join("export");
                format!("name a file in it, such as {}", file.display())
            }
            NotAFile::Special(..) => "leave out --output to write to standard output".to_owned(),
        }
    }
}

/// Refuses what a file must not take the place of, whatever the user says: it would be gone, and nothing written to it.
fn is_replaceable(path: &Path) -> Result<(), NotAFile> {
    let Ok(metadata) = path.symlink_metadata() else {
        return Ok(());
    };
    let kind = metadata.file_type();
    let name = if kind.is_fifo() {
        "FIFO"
    } else if kind.is_socket() {
        "socket"
    } else {
        "device"
    };
    match kind.is_file() || kind.is_symlink() {
        true => Ok(()),
        false if kind.is_dir() => Err(NotAFile::Folder(path.to_path_buf())),
        false => Err(NotAFile::Special(path.to_path_buf(), name)),
    }
}

/// Refuses a file that exists, unless it may be replaced, and what is no file.
///
/// # Errors
/// There is something of this name.
pub fn may_write(path: &Path, replaces: bool) -> Result<(), CliError> {
    is_replaceable(path).map_err(|error| {
        let hint = error.hint();
        CliError::failed(error).with_hint(hint)
    })?;
    match replaces || path.symlink_metadata().is_err() {
        true => Ok(()),
        false => {
            let path = path.to_path_buf();
            let error = CliError::failed(AlreadyExists { path });
            Err(error.with_hint("--force replaces it".to_owned()))
        }
    }
}

/// The same file, with the links of its folder resolved. A folder that is not there is met again when it is written to.
pub fn with_real_folder(path: PathBuf) -> PathBuf {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    match (folder.canonicalize(), path.file_name()) {
        (Ok(folder), Some(name)) => folder.join(name),
        _ => path,
    }
}

/// Writes a file for the user alone, whole or not at all. Without `replaces` the name must be free at the moment in which
/// the file appears, whoever may have taken it since somebody looked. `path` comes from [`with_real_folder`]: if there is
/// a link on the way by now, it leads elsewhere than what the user agreed to, and nothing is written.
///
/// # Errors
/// The name is taken, or the file cannot be written.
pub fn write(path: &Path, text: &str, replaces: bool) -> Result<(), CliError> {
    write_with(path, replaces, |file| file.write_all(text.as_bytes()))
}

/// The same for what is written piece by piece.
///
/// # Errors
/// The name is taken, or the file cannot be written.
pub fn write_with(
    path: &Path,
    replaces: bool,
    content: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), CliError> {
    if replaces {
        is_replaceable(path).map_err(CliError::failed)?;
    }
    let write = || -> io::Result<()> {
        let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
        let folder = path.parent().unwrap_or(Path::new("/"));
        let opened = open_folder(folder).map_err(|error| {
            let folder = folder.display();
            let problem = match error.kind() {
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {
                    format!("there is no folder {folder}")
                }
                _ if error.raw_os_error() == Some(Errno::LOOP.raw_os_error()) => {
                    format!("a link has appeared on the way to {folder}")
                }
                _ => return error,
            };
            io::Error::new(error.kind(), problem)
        })?;
        // The folder that was opened, whatever has its name by now.
        let real = PathBuf::from(format!("/proc/self/fd/{}", opened.as_raw_fd()));
        // `tempfile` creates with 0600.
        let file = tempfile::NamedTempFile::new_in(&real);
        let mut file = file.map_err(|error| cannot_create(&error, folder))?;
        let folder = real;
        content(&mut file)?;
        let path = folder.join(name);
        match replaces {
            true => file.persist(path),
            false => file.persist_noclobber(path),
        }
        .map_err(|error| error.error)?;
        Ok(())
    };
    write().map_err(|source| {
        let path = path.to_path_buf();
        match source.kind() {
            io::ErrorKind::AlreadyExists => CliError::failed(AlreadyExists { path }),
            _ => CliError::failed(CannotWrite { path, source }),
        }
    })
}

/// Why there can be no file in a folder. The error itself names a file that nobody knows.
fn cannot_create(error: &io::Error, folder: &Path) -> io::Error {
    match error.kind() {
        io::ErrorKind::PermissionDenied => {
            let problem = format!("no permission to write in {}", folder.display());
            io::Error::new(error.kind(), problem)
        }
        kind => kind.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_appeared_since_somebody_looked_is_not_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let other = folder.path().join("other");
        let path = folder.path().join("a.md");
        std::fs::write(&other, "mine").unwrap();
        // A file, a link to one, and a link that leads nowhere yet.
        for target in [None, Some(&*other), Some(Path::new("nowhere"))] {
            match target {
                None => std::fs::write(&path, "mine").unwrap(),
                Some(target) => std::os::unix::fs::symlink(target, &path).unwrap(),
            }
            let error = write(&path, "new", false).unwrap_err().in_one_line();
            assert!(error.contains("already exists"), "{error}");
            // What is replaced on purpose is the link, and not what it leads to.
            write(&path, "new", true).unwrap();
            assert_eq!(std::fs::read_to_string(&path).unwrap(), "new");
            assert!(path.symlink_metadata().unwrap().is_file());
            std::fs::remove_file(&path).unwrap();
        }
        assert_eq!(std::fs::read_to_string(&other).unwrap(), "mine");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
        write(&path, "new", false).unwrap();
    }

    #[test]
    fn what_is_no_file_is_not_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("socket");
        let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        let fifo = folder.path().join("fifo");
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, mode, 0).unwrap();
        for (path, expected) in [
            (&*socket, "is a socket"),
            (&*fifo, "is a FIFO"),
            (folder.path(), "is a folder"),
        ] {
            for result in [
                may_write(path, true),
                may_write(path, false),
                write(path, "new", true),
            ] {
                let error = result.unwrap_err().in_one_line();
                assert!(error.contains(expected), "{error}");
            }
        }
        assert!(socket.symlink_metadata().unwrap().file_type().is_socket());
        assert!(fifo.symlink_metadata().unwrap().file_type().is_fifo());
        // A link is replaced, whatever it leads to.
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(&fifo, &link).unwrap();
        assert!(may_write(&link, false).is_err() && may_write(&link, true).is_ok());
        may_write(&folder.path().join("new"), false).unwrap();
    }

    #[test]
    fn a_folder_that_may_not_be_written_in_is_named() {
        let folder = Path::new("/srv/terns");
        let error = |kind| cannot_create(&io::Error::new(kind, "at /proc/self/fd/5/.tmp"), folder);
        let denied = error(io::ErrorKind::PermissionDenied).to_string();
        assert_eq!(denied, "no permission to write in /srv/terns");
        let other = error(io::ErrorKind::StorageFull).to_string();
        assert!(!other.contains("/proc"), "{other}");
    }
}
