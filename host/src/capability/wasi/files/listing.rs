//! The names in an open folder, one after the other, so that a large one costs no memory.

use rustix::fs::{AtFlags, Dir, FileType, statat};

use super::error::Fault;
use super::{DescriptorType, ErrorCode};

/// Names of a folder that one listing gives.
const MAX_NAMES: usize = 200_000;

/// What stands behind `directory-entry-stream`.
pub struct Listing {
    names: Dir,
    folder: rustix::fd::OwnedFd,
    given: usize,
}

impl Listing {
    pub(super) fn of(folder: rustix::fd::OwnedFd) -> Result<Listing, Fault> {
        Ok(Listing {
            names: Dir::read_from(&folder)?,
            folder,
            given: 0,
        })
    }

    /// The next name and what bears it; a link is a link.
    pub(super) fn next(&mut self) -> Result<Option<(DescriptorType, String)>, Fault> {
        for entry in self.names.by_ref() {
            let entry = entry?;
            let name = entry.file_name();
            if matches!(name.to_bytes(), b"." | b"..") {
                continue;
            }
            if self.given == MAX_NAMES {
                return Err(ErrorCode::Overflow.into());
            }
            self.given += 1;
            let mut kind = entry.file_type();
            if kind == FileType::Unknown {
                // Some file systems do not say.
                let stat = statat(&self.folder, name, AtFlags::SYMLINK_NOFOLLOW);
                kind = stat.map_or(FileType::Unknown, |stat| {
                    FileType::from_raw_mode(stat.st_mode)
                });
            }
            let name = name.to_string_lossy().into_owned();
            return Ok(Some((kind_of(kind), name)));
        }
        Ok(None)
    }
}

pub(super) fn kind_of(kind: FileType) -> DescriptorType {
    match kind {
        FileType::RegularFile => DescriptorType::RegularFile,
        FileType::Directory => DescriptorType::Directory,
        FileType::Symlink => DescriptorType::SymbolicLink,
        FileType::Fifo => DescriptorType::Fifo,
        FileType::Socket => DescriptorType::Socket,
        FileType::CharacterDevice => DescriptorType::CharacterDevice,
        FileType::BlockDevice => DescriptorType::BlockDevice,
        FileType::Unknown => DescriptorType::Unknown,
    }
}
