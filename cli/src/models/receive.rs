//! The receiving end of a download: a part that grows, is checked and becomes the file.
//!
//! What was received stays when a download ends early, and the next one goes on behind it. The part bears the
//! beginning of the checksum in its name, so it is never continued as something else.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::config::paths::PRIVATE_FILE_MODE;
use dunlin_host::files::make_private;

/// Room on the disk that a download leaves to others, in bytes.
const ROOM_TO_LEAVE: u64 = 64 * 1024 * 1024;

/// What is to be received.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expected {
    /// Where it is to be.
    pub target: PathBuf,
    /// Its size in bytes.
    pub bytes: u64,
    /// Its SHA-256 in hexadecimal digits.
    pub sha256: String,
}

/// Why something cannot be received.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReceiveError {
    /// The disk does not let us.
    #[error("cannot write {}", path.display())]
    Write { path: PathBuf, source: io::Error },
    /// There is too little room.
    #[error("{needed_mb} MB are needed for {}, and {free_mb} MB are free", path.display())]
    Room {
        path: PathBuf,
        /// Megabytes that are still to come.
        needed_mb: u64,
        /// Megabytes that can be had.
        free_mb: u64,
    },
    /// Another process is receiving the same.
    #[error("another dunlin is fetching {}", path.display())]
    Busy { path: PathBuf },
    /// More came than there should be, or less.
    #[error("{received} bytes came, and {expected} were expected")]
    Size {
        /// How many came.
        received: u64,
        /// How many there should be.
        expected: u64,
    },
    /// Something else came. It was thrown away.
    #[error("what came is not what was expected: its SHA-256 is {found}, not {expected}")]
    Checksum {
        /// Of what came.
        found: String,
        /// Of what there should be.
        expected: String,
    },
}

/// A download that is under way. Dropping it leaves the part for the next one.
#[derive(Debug)]
pub struct Receiver {
    expected: Expected,
    part: PathBuf,
    file: File,
    hash: Sha256,
    received: u64,
}

impl Receiver {
    /// Opens the part, and reads what is there from before.
    pub fn open(expected: Expected) -> Result<Receiver, ReceiveError> {
        let short: String = expected.sha256.chars().take(8).collect();
        let part = expected.target.with_extension(format!("{short}.part"));
        let cannot = |source| ReceiveError::Write {
            path: part.clone(),
            source,
        };
        make_private(part.parent().unwrap_or(Path::new("."))).map_err(cannot)?;
        let file = loop {
            let file = OpenOptions::new()
                .create(true)
                .truncate(false)
                .read(true)
                .write(true)
                .mode(PRIVATE_FILE_MODE)
                .open(&part)
                .map_err(cannot)?;
            lock(&file, &expected.target)?;
            // Whoever had it until now may have made the model of it meanwhile.
            if is_at(&file, &part) {
                break file;
            }
        };
        let mut receiver = Receiver {
            expected,
            part: part.clone(),
            file,
            hash: Sha256::new(),
            received: 0,
        };
        receiver.take_over().map_err(cannot)?;
        receiver.check_room()?;
        Ok(receiver)
    }

    /// How many bytes are there.
    pub fn received(&self) -> u64 {
        self.received
    }

    /// How many there will be.
    pub fn expected_bytes(&self) -> u64 {
        self.expected.bytes
    }

    /// Throws away what is there: the sender cannot go on behind it.
    pub fn start_over(&mut self) -> Result<(), ReceiveError> {
        self.hash = Sha256::new();
        self.received = 0;
        let emptied = self
            .file
            .set_len(0)
            .and_then(|()| self.file.seek(SeekFrom::Start(0)));
        emptied.map(|_| ()).map_err(|source| self.cannot(source))
    }

    /// Adds bytes. More than there should be are refused at once.
    pub fn add(&mut self, bytes: &[u8]) -> Result<(), ReceiveError> {
        let received = self.received + bytes.len() as u64;
        if received > self.expected.bytes {
            self.throw_away();
            return Err(ReceiveError::Size {
                received,
                expected: self.expected.bytes,
            });
        }
        self.file
            .write_all(bytes)
            .map_err(|source| self.cannot(source))?;
        self.hash.update(bytes);
        self.received = received;
        Ok(())
    }

    /// Checks what came and gives it its name.
    pub fn finish(self) -> Result<PathBuf, ReceiveError> {
        if self.received != self.expected.bytes {
            return Err(ReceiveError::Size {
                received: self.received,
                expected: self.expected.bytes,
            });
        }
        let found = hexadecimal(&self.hash.clone().finalize());
        if !found.eq_ignore_ascii_case(&self.expected.sha256) {
            self.throw_away();
            return Err(ReceiveError::Checksum {
                found,
                expected: self.expected.sha256.clone(),
            });
        }
        let target = self.expected.target.clone();
        let named = self
            .file
            .sync_all()
            .and_then(|()| std::fs::rename(&self.part, &target));
        named.map_err(|source| self.cannot(source))?;
        Ok(target)
    }

    /// Reads the part from before into the checksum.
    fn take_over(&mut self) -> io::Result<()> {
        self.received = take_in(&mut self.file, &mut self.hash)?;
        // A part that is too long is none of this.
        if self.received > self.expected.bytes {
            self.hash = Sha256::new();
            self.received = 0;
            self.file.set_len(0)?;
            self.file.seek(SeekFrom::Start(0))?;
        }
        Ok(())
    }

    fn check_room(&self) -> Result<(), ReceiveError> {
        // Where the system does not say, writing will tell.
        let Some(free) = free_bytes(&self.part) else {
            return Ok(());
        };
        let needed = self.expected.bytes - self.received;
        if free >= needed.saturating_add(ROOM_TO_LEAVE) {
            return Ok(());
        }
        Err(ReceiveError::Room {
            path: self.expected.target.clone(),
            needed_mb: needed / 1_000_000,
            free_mb: free / 1_000_000,
        })
    }

    /// What is wrong must not be continued.
    fn throw_away(&self) {
        let _ = std::fs::remove_file(&self.part);
    }

    fn cannot(&self, source: io::Error) -> ReceiveError {
        ReceiveError::Write {
            path: self.part.clone(),
            source,
        }
    }
}

/// Closing the file is not enough: a program that is about to be started has it open, too, until it begins.
impl Drop for Receiver {
    fn drop(&mut self) {
        let _ = rustix::fs::flock(&self.file, rustix::fs::FlockOperation::Unlock);
    }
}

/// Makes a file this process's own, as long as it is open.
fn lock(file: &File, target: &Path) -> Result<(), ReceiveError> {
    let lock = rustix::fs::FlockOperation::NonBlockingLockExclusive;
    rustix::fs::flock(file, lock).map_err(|_| ReceiveError::Busy {
        path: target.to_owned(),
    })
}

/// Whether an open file still bears this name.
fn is_at(file: &File, path: &Path) -> bool {
    let identity = |metadata: std::fs::Metadata| (metadata.dev(), metadata.ino());
    let there = path.metadata().map(identity).ok();
    there.is_some() && file.metadata().map(identity).ok() == there
}

/// Removes what there is of a download that was never finished, and says how many bytes that frees.
pub fn remove_part(part: &Path) -> Result<u64, ReceiveError> {
    let cannot = |source| ReceiveError::Write {
        path: part.to_owned(),
        source,
    };
    let file = File::open(part).map_err(cannot)?;
    lock(&file, part)?;
    let bytes = file.metadata().map_err(cannot)?.len();
    std::fs::remove_file(part).map_err(cannot)?;
    Ok(bytes)
}

/// Whether a file is what it should be, as far as that is known.
pub fn is_whole(path: &Path, bytes: u64, sha256: Option<&str>) -> io::Result<bool> {
    let mut file = File::open(path)?;
    if file.metadata()?.len() != bytes {
        return Ok(false);
    }
    let Some(sha256) = sha256 else {
        return Ok(true);
    };
    let mut hash = Sha256::new();
    take_in(&mut file, &mut hash)?;
    Ok(hexadecimal(&hash.finalize()).eq_ignore_ascii_case(sha256))
}

/// Reads the rest of a file into a checksum, and says how many bytes that were.
fn take_in(file: &mut File, hash: &mut Sha256) -> io::Result<u64> {
    let mut buffer = vec![0; 256 * 1024];
    let mut count = 0;
    loop {
        let read = file.read(&mut buffer)?;
        let Some(bytes) = buffer.get(..read).filter(|bytes| !bytes.is_empty()) else {
            return Ok(count);
        };
        hash.update(bytes);
        count += read as u64;
    }
}

/// What an unprivileged program can still write to the disk of a folder, in bytes.
pub fn free_bytes(folder: &Path) -> Option<u64> {
    let there = folder.ancestors().find(|above| above.exists())?;
    let disk = rustix::fs::statvfs(there).ok()?;
    disk.f_bavail.checked_mul(disk.f_frsize)
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    const TEXT: &[u8] = b"sandpipers nest in June";

    fn expected(folder: &Path, sha256: &str) -> Expected {
        Expected {
            target: folder.join("models/bird.gguf"),
            bytes: TEXT.len() as u64,
            sha256: sha256.to_owned(),
        }
    }

    fn sum() -> String {
        dunlin_host::sha256_hex(TEXT)
    }

    #[test]
    fn a_part_becomes_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let expected = expected(folder.path(), &sum().to_uppercase());
        let mut receiver = Receiver::open(expected.clone()).unwrap();
        receiver.add(&TEXT[..5]).unwrap();
        let busy = Receiver::open(expected.clone()).unwrap_err();
        assert!(matches!(busy, ReceiveError::Busy { .. }), "{busy}");
        drop(receiver);
        assert!(!expected.target.exists());

        let mut receiver = Receiver::open(expected.clone()).unwrap();
        assert_eq!(receiver.received(), 5);
        receiver.add(&TEXT[5..]).unwrap();
        assert_eq!(receiver.finish().unwrap(), expected.target);
        assert_eq!(std::fs::read(&expected.target).unwrap(), TEXT);
        let whole = |bytes, sum: &str| is_whole(&expected.target, bytes, Some(sum)).unwrap();
        let size = TEXT.len() as u64;
        assert!(whole(size, &sum()) && !whole(size + 1, &sum()) && !whole(size, "00"));
        let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
        let models = expected.target.parent().unwrap();
        assert_eq!((mode(&expected.target), mode(models)), (0o600, 0o700));
        assert_eq!(models.read_dir().unwrap().count(), 1);
    }

    #[test]
    fn what_is_wrong_is_thrown_away() {
        let folder = tempfile::tempdir().unwrap();
        let wrong = expected(folder.path(), &"0".repeat(64));
        let mut receiver = Receiver::open(wrong.clone()).unwrap();
        receiver.add(TEXT).unwrap();
        let refused = receiver.finish().unwrap_err();
        assert!(
            matches!(refused, ReceiveError::Checksum { .. }),
            "{refused}"
        );

        let mut receiver = Receiver::open(wrong.clone()).unwrap();
        assert_eq!(receiver.received(), 0);
        let refused = receiver.add(&[0; 99]).unwrap_err();
        assert!(matches!(refused, ReceiveError::Size { .. }), "{refused}");
        assert_eq!(
            wrong.target.parent().unwrap().read_dir().unwrap().count(),
            0
        );
    }

    #[test]
    fn too_little_is_kept_and_said() {
        let folder = tempfile::tempdir().unwrap();
        let expected = expected(folder.path(), &sum());
        let mut receiver = Receiver::open(expected.clone()).unwrap();
        receiver.add(&TEXT[..7]).unwrap();
        let refused = receiver.finish().unwrap_err();
        assert_eq!(refused.to_string(), "7 bytes came, and 23 were expected");
        let mut receiver = Receiver::open(expected).unwrap();
        assert_eq!(receiver.received(), 7);
        receiver.start_over().unwrap();
        receiver.add(TEXT).unwrap();
        receiver.finish().unwrap();
    }

    #[test]
    fn a_part_that_is_too_long_is_begun_anew() {
        let folder = tempfile::tempdir().unwrap();
        let expected = expected(folder.path(), &sum());
        make_private(expected.target.parent().unwrap()).unwrap();
        let part = expected
            .target
            .with_extension(format!("{}.part", &sum()[..8]));
        std::fs::write(&part, [0; 100]).unwrap();
        assert_eq!(Receiver::open(expected).unwrap().received(), 0);
    }

    #[test]
    fn a_part_can_be_removed_unless_it_is_in_use() {
        let folder = tempfile::tempdir().unwrap();
        let mut receiver = Receiver::open(expected(folder.path(), &sum())).unwrap();
        receiver.add(&TEXT[..7]).unwrap();
        let part = receiver.part.clone();
        let busy = remove_part(&part).unwrap_err();
        assert!(matches!(busy, ReceiveError::Busy { .. }), "{busy}");
        drop(receiver);
        assert_eq!(remove_part(&part).unwrap(), 7);
        assert!(!part.exists());
    }

    #[test]
    fn a_disk_without_room_is_said_before() {
        let folder = tempfile::tempdir().unwrap();
        let mut expected = expected(folder.path(), &sum());
        expected.bytes = u64::MAX / 2;
        let refused = Receiver::open(expected).unwrap_err();
        assert!(matches!(refused, ReceiveError::Room { .. }), "{refused}");
    }
}
