//! Facts about files, in WASI's words.

use std::fs::Metadata;
use std::os::unix::fs::{FileTypeExt, MetadataExt};

use sha2::{Digest, Sha256};

use super::DescriptorType;
use super::types;
use crate::capability::wasi::bindings::wasi::clocks::wall_clock::Datetime;

pub(super) fn stat_of(meta: &Metadata) -> types::DescriptorStat {
    let kind = meta.file_type();
    let type_ = match () {
        () if kind.is_file() => DescriptorType::RegularFile,
        () if kind.is_dir() => DescriptorType::Directory,
        () if kind.is_symlink() => DescriptorType::SymbolicLink,
        () if kind.is_fifo() => DescriptorType::Fifo,
        () if kind.is_socket() => DescriptorType::Socket,
        () if kind.is_char_device() => DescriptorType::CharacterDevice,
        () if kind.is_block_device() => DescriptorType::BlockDevice,
        () => DescriptorType::Unknown,
    };
    types::DescriptorStat {
        type_,
        link_count: meta.nlink(),
        size: meta.len(),
        data_access_timestamp: time(meta.atime(), meta.atime_nsec()),
        data_modification_timestamp: time(meta.mtime(), meta.mtime_nsec()),
        status_change_timestamp: time(meta.ctime(), meta.ctime_nsec()),
    }
}

/// A time that WASI can say: none before 1970.
fn time(seconds: i64, nanoseconds: i64) -> Option<Datetime> {
    Some(Datetime {
        seconds: u64::try_from(seconds).ok()?,
        nanoseconds: u32::try_from(nanoseconds).ok()?,
    })
}

/// Tells two files apart without saying where on the disk they are.
pub(super) fn hash_of(meta: &Metadata) -> types::MetadataHashValue {
    let mut hasher = Sha256::new();
    hasher.update(meta.dev().to_le_bytes());
    hasher.update(meta.ino().to_le_bytes());
    hasher.update(meta.mtime().to_le_bytes());
    hasher.update(meta.mtime_nsec().to_le_bytes());
    hasher.update(meta.len().to_le_bytes());
    let hash = hasher.finalize();
    let number = |at: usize| {
        let mut bytes = [0; 8];
        bytes.copy_from_slice(&hash[at..at + 8]);
        u64::from_le_bytes(bytes)
    };
    types::MetadataHashValue {
        lower: number(0),
        upper: number(8),
    }
}
