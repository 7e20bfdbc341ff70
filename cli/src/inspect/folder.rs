//! Where the sockets of running chats are, and whether the folder and the peer are the user's own.

use std::fs;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use dunlin_host::files::make_private;
use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, socket_with};
use rustix::process::geteuid;

/// Only the user may look into the folder.
const FOLDER_MODE: u32 = 0o700;

/// Only the user may connect.
pub const SOCKET_MODE: u32 = 0o600;

/// How the names of the sockets begin and end; the process is between.
const PREFIX: &str = "chat-";
const SUFFIX: &str = ".sock";

/// How the names of sockets begin that are not listened on yet.
const TEMPORARY: &str = "new-";

/// How long a chat may take to listen on a socket that it has made.
const LONGEST_START: Duration = Duration::from_secs(60);

/// Why no socket of this folder is used.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// It cannot be made or looked at.
    #[error("cannot use the folder {}", path.display())]
    Io { path: PathBuf, source: io::Error },
    /// It is a link or a file.
    #[error("{} is not a folder", path.display())]
    NotAFolder { path: PathBuf },
    /// It belongs to somebody else.
    #[error("the folder {} belongs to user {owner}, not to you", path.display())]
    Owner {
        path: PathBuf,
        /// Whose it is.
        owner: u32,
    },
    /// Others may look into it.
    #[error("the folder {} has mode {mode:03o}, and must have 700", path.display())]
    Mode { path: PathBuf, mode: u32 },
}

/// Whose sockets are in the folder of another owner or mode: nobody's that we trust.
fn check_owner(path: &Path, (owner, mode): (u32, u32), user: u32) -> Result<(), FolderError> {
    let path = || path.to_path_buf();
    if owner != user {
        return Err(FolderError::Owner {
            path: path(),
            owner,
        });
    }
    match mode & 0o777 {
        FOLDER_MODE => Ok(()),
        mode => Err(FolderError::Mode { path: path(), mode }),
    }
}

/// Whether the folder is the user's own and private.
///
/// # Errors
/// It is not, or is not there.
pub fn check(folder: &Path) -> Result<(), FolderError> {
    let metadata = fs::symlink_metadata(folder).map_err(|source| FolderError::Io {
        path: folder.to_path_buf(),
        source,
    })?;
    if !metadata.is_dir() {
        return Err(FolderError::NotAFolder {
            path: folder.to_path_buf(),
        });
    }
    let found = (metadata.uid(), metadata.permissions().mode());
    check_owner(folder, found, geteuid().as_raw())
}

/// Makes the folder if it is not there, and checks it.
///
/// # Errors
/// See [`check`].
pub fn make(folder: &Path) -> Result<(), FolderError> {
    make_private(folder).map_err(|source| FolderError::Io {
        path: folder.to_path_buf(),
        source,
    })?;
    check(folder)
}

/// The socket of the chat with this process. `attempt` tells several of one number apart: processes in other namespaces.
pub fn socket(folder: &Path, pid: u32, attempt: u32) -> PathBuf {
    let name = match attempt {
        0 => format!("{PREFIX}{pid}{SUFFIX}"),
        attempt => format!("{PREFIX}{pid}-{attempt}{SUFFIX}"),
    };
    folder.join(name)
}

/// The sockets in the folder.
pub fn sockets(folder: &Path) -> Vec<PathBuf> {
    named(folder, |name| {
        name.starts_with(PREFIX) && name.ends_with(SUFFIX)
    })
}

fn named(folder: &Path, is_one: impl Fn(&str) -> bool) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let is_one = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str());
        name.is_some_and(&is_one)
    };
    let mut found: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(is_one).collect();
    found.sort();
    found
}

/// Where a socket is until it is listened on. It is none of [`sockets`].
pub fn temporary(folder: &Path) -> PathBuf {
    let random = RandomState::new().hash_one(std::process::id());
    folder.join(format!("{TEMPORARY}{random:016x}"))
}

/// Gives a file another name, if nothing has it.
///
/// # Errors
/// Something has it, or that cannot be done.
pub fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        // Some file systems cannot do that in one step.
        Err(Errno::INVAL) if to.symlink_metadata().is_err() => fs::rename(from, to),
        Err(Errno::INVAL) => Err(io::ErrorKind::AlreadyExists.into()),
        renamed => Ok(renamed?),
    }
}

/// Connects to a socket. Never waits: whoever listens there may be stopped, or may never accept.
///
/// # Errors
/// Nobody listens (`ConnectionRefused`), too many wait to be accepted (`WouldBlock`), or that cannot be done.
pub fn connect(path: &Path) -> io::Result<UnixStream> {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    rustix::net::connect(&socket, &SocketAddrUnix::new(path)?)?;
    let stream = UnixStream::from(socket);
    stream.set_nonblocking(false)?;
    Ok(stream)
}

/// Removes a socket on which nobody listens. Whether it was one.
pub fn remove_stale(path: &Path) -> bool {
    let is_socket = fs::symlink_metadata(path).is_ok_and(|it| it.file_type().is_socket());
    let is_refused =
        || connect(path).is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused);
    is_socket && is_refused() && fs::remove_file(path).is_ok()
}

/// Removes the sockets beside this one on which nobody listens.
pub fn remove_all_stale(own: &Path) {
    let Some(folder) = own.parent() else { return };
    for path in sockets(folder).iter().filter(|path| *path != own) {
        remove_stale(path);
    }
    for path in named(folder, |name| name.starts_with(TEMPORARY)) {
        let changed = fs::symlink_metadata(&path).and_then(|it| it.modified());
        let age = changed.ok().and_then(|changed| changed.elapsed().ok());
        // A chat that begins just now does not listen yet.
        if age.is_some_and(|age| age > LONGEST_START) {
            remove_stale(&path);
        }
    }
}

/// Somebody else is at the other end of a connection.
#[derive(Debug, thiserror::Error)]
pub enum PeerError {
    #[error("the system does not say who is connected")]
    Unknown(#[source] rustix::io::Errno),
    #[error("the peer is user {0}, not you")]
    Other(u32),
}

/// Whether the process at the other end belongs to the user.
///
/// # Errors
/// It does not, or that cannot be known.
pub fn check_peer(stream: &UnixStream) -> Result<(), PeerError> {
    let peer = rustix::net::sockopt::socket_peercred(stream).map_err(PeerError::Unknown)?;
    check_user(peer.uid.as_raw(), geteuid().as_raw())
}

fn check_user(peer: u32, user: u32) -> Result<(), PeerError> {
    match peer == user {
        true => Ok(()),
        false => Err(PeerError::Other(peer)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_must_be_private() {
        let folder = tempfile::tempdir().unwrap();
        let run = folder.path().join("a/run");
        make(&run).unwrap();
        make(&run).unwrap();
        let check_mode = |mode, expected: bool| {
            fs::set_permissions(&run, fs::Permissions::from_mode(mode)).unwrap();
            assert_eq!(make(&run).is_ok(), expected, "{mode:o}");
        };
        check_mode(0o755, false);
        check_mode(0o770, false);
        check_mode(0o500, false);
        check_mode(0o700, true);
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(&run, &link).unwrap();
        assert!(matches!(check(&link), Err(FolderError::NotAFolder { .. })));
        let file = folder.path().join("file");
        fs::write(&file, "").unwrap();
        assert!(check(&file).is_err());
        assert!(check(&folder.path().join("none")).is_err());
    }

    #[test]
    fn another_users_folder_and_process_are_refused() {
        let path = Path::new("/run/user/1000/dunlin");
        assert!(check_owner(path, (1000, 0o40700), 1000).is_ok());
        let error = check_owner(path, (1001, 0o40700), 1000).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the folder /run/user/1000/dunlin belongs to user 1001, not to you"
        );
        assert!(check_user(1000, 1000).is_ok());
        for (peer, user) in [(1001, 1000), (0, 1000), (65_534, 0)] {
            assert!(matches!(check_user(peer, user), Err(PeerError::Other(_))));
        }
        let (one, _other) = UnixStream::pair().unwrap();
        assert!(check_peer(&one).is_ok());
    }

    #[test]
    fn only_sockets_that_nobody_listens_on_are_removed() {
        use std::os::unix::net::UnixListener;
        let folder = tempfile::tempdir().unwrap();
        let (gone, there) = (socket(folder.path(), 1, 0), socket(folder.path(), 2, 1));
        drop(UnixListener::bind(&gone).unwrap());
        let _listens = UnixListener::bind(&there).unwrap();
        fs::write(folder.path().join("other"), "").unwrap();
        assert_eq!(sockets(folder.path()), [gone.clone(), there.clone()]);
        assert!(remove_stale(&gone));
        assert!(!remove_stale(&there));
        assert!(!remove_stale(&folder.path().join("other")));
        assert_eq!(sockets(folder.path()), [there]);
    }
}
