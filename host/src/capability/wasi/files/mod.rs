//! `wasi:filesystem`: the files of the machine that a component believes to be in, each of them a real one.
//!
//! The order is that of the contract's own `files`: find out where a path leads ([`place`]), authorise that, then
//! open or change exactly that, without following links ([`crate::open`]). A file stays bound to what was checked when it was
//! opened. A folder is not a right to anything: whatever is done below it is resolved and authorised anew, so the two
//! folders that everybody gets, the project as `.` and the root as `/`, are places to start from and no more.
//!
//! What is written this way is written as the program does it, without a diff and without `/undo`; a tool that
//! changes texts has `dunlin:tool/files`.

mod access;
mod change;
pub(crate) mod error;
pub(super) mod handle;
mod lease;
pub(crate) mod listing;
mod metadata;
mod place;
mod rename;
mod stream;

use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::PathBuf;

use wasmtime::component::Resource;
use wasmtime_wasi_io::streams::{DynInputStream, DynOutputStream};

pub(super) use self::error::Fault;
use self::handle::{Descriptor, Folder};
use self::listing::Listing;
use self::metadata::{hash_of, stat_of};
use self::place::{Link, Place};
use self::stream::{Reading, write_all};
pub(super) use super::bindings::wasi::filesystem::types::{DescriptorType, ErrorCode};
use super::bindings::wasi::filesystem::{preopens, types};
use crate::capability::context::View;
use crate::capability::wasi::machine::Machine;
use crate::limits::{MAX_FILE_BYTES, MAX_READ_BYTES};
use crate::open;
use crate::target::{Need, Operation, Target};

type Answer<T> = Result<T, Fault>;

impl preopens::Host for View<'_, Machine> {
    fn get_directories(&mut self) -> wasmtime::Result<Vec<(Resource<Descriptor>, String)>> {
        let project = self.shared.permissions.project().to_owned();
        let mut given = Vec::new();
        // Of two that fit, C libraries take the last.
        for (path, name, is_start) in [(PathBuf::from("/"), "/", false), (project, ".", true)] {
            let folder = Descriptor::Folder(Folder {
                path,
                handle: None,
                is_start,
            });
            given.push((self.handles.table.push(folder)?, name.to_owned()));
        }
        Ok(given)
    }
}

impl types::Host for View<'_, Machine> {
    fn convert_error_code(&mut self, fault: Fault) -> wasmtime::Result<ErrorCode> {
        match fault {
            Fault::Code(code) => Ok(code),
            Fault::Trap(error) => Err(error),
        }
    }

    fn filesystem_error_code(
        &mut self,
        error: Resource<wasmtime_wasi_io::streams::Error>,
    ) -> wasmtime::Result<Option<ErrorCode>> {
        let error = self.handles.table.get(&error)?;
        let Some(error) = error.downcast_ref::<io::Error>() else {
            return Ok(None);
        };
        let errno = rustix::io::Errno::from_io_error(error);
        Ok(match errno.map(Fault::from) {
            Some(Fault::Code(code)) => Some(code),
            _ => None,
        })
    }
}

impl types::HostDirectoryEntryStream for View<'_, Machine> {
    fn read_directory_entry(
        &mut self,
        listing: Resource<Listing>,
    ) -> Answer<Option<types::DirectoryEntry>> {
        let next = self.handles.table.get_mut(&listing)?.next()?;
        Ok(next.map(|(type_, name)| types::DirectoryEntry { type_, name }))
    }

    fn drop(&mut self, listing: Resource<Listing>) -> wasmtime::Result<()> {
        self.handles.table.delete(listing)?;
        Ok(())
    }
}

impl types::HostDescriptor for View<'_, Machine> {
    fn read_via_stream(
        &mut self,
        handle: Resource<Descriptor>,
        offset: u64,
    ) -> Answer<Resource<DynInputStream>> {
        let (file, lease) = self.readable(&handle)?;
        let stream: DynInputStream = Box::new(Reading {
            file,
            at: offset,
            meter: self.meter(lease.under()),
            lease,
        });
        Ok(self.handles.table.push(stream)?)
    }

    fn write_via_stream(
        &mut self,
        handle: Resource<Descriptor>,
        offset: u64,
    ) -> Answer<Resource<DynOutputStream>> {
        self.writing(&handle, Some(offset))
    }

    fn append_via_stream(
        &mut self,
        handle: Resource<Descriptor>,
    ) -> Answer<Resource<DynOutputStream>> {
        self.writing(&handle, None)
    }

    fn advise(
        &mut self,
        handle: Resource<Descriptor>,
        _offset: u64,
        _length: u64,
        _advice: types::Advice,
    ) -> Answer<()> {
        self.handles.table.get(&handle)?;
        Ok(())
    }

    fn sync(&mut self, handle: Resource<Descriptor>) -> Answer<()> {
        if let Descriptor::File(open) = self.handles.table.get(&handle)? {
            open.file.sync_all()?;
        }
        Ok(())
    }

    fn sync_data(&mut self, handle: Resource<Descriptor>) -> Answer<()> {
        if let Descriptor::File(open) = self.handles.table.get(&handle)? {
            open.file.sync_data()?;
        }
        Ok(())
    }

    fn get_flags(&mut self, handle: Resource<Descriptor>) -> Answer<types::DescriptorFlags> {
        use types::DescriptorFlags as Flags;
        Ok(match self.handles.table.get(&handle)? {
            Descriptor::Folder(_) => Flags::READ | Flags::MUTATE_DIRECTORY,
            Descriptor::File(open) => {
                let mut flags = Flags::empty();
                if open.reads.is_some() {
                    flags |= Flags::READ;
                }
                if open.writes.is_some() {
                    flags |= Flags::WRITE;
                }
                flags
            }
        })
    }

    fn get_type(&mut self, handle: Resource<Descriptor>) -> Answer<DescriptorType> {
        Ok(match self.handles.table.get(&handle)? {
            Descriptor::Folder(_) => DescriptorType::Directory,
            Descriptor::File(_) => DescriptorType::RegularFile,
        })
    }

    fn set_size(&mut self, handle: Resource<Descriptor>, size: u64) -> Answer<()> {
        let (file, _) = self.writable(&handle)?;
        if size > MAX_FILE_BYTES {
            return Err(ErrorCode::FileTooLarge.into());
        }
        Ok(file.set_len(size)?)
    }

    fn read(
        &mut self,
        handle: Resource<Descriptor>,
        length: u64,
        offset: u64,
    ) -> Answer<(Vec<u8>, bool)> {
        let (file, lease) = self.readable(&handle)?;
        let most = usize::try_from(length)
            .unwrap_or(MAX_READ_BYTES)
            .min(MAX_READ_BYTES);
        // Files of `/proc` say that they are empty and are not.
        let rest = file.metadata()?.len().saturating_sub(offset).max(4096);
        let rest = usize::try_from(rest).unwrap_or(MAX_READ_BYTES);
        let mut bytes = vec![0; most.min(rest)];
        let read = file.read_at(&mut bytes, offset)?;
        bytes.truncate(read);
        self.count(lease.under(), read);
        Ok((bytes, read == 0 && length > 0))
    }

    fn write(&mut self, handle: Resource<Descriptor>, bytes: Vec<u8>, offset: u64) -> Answer<u64> {
        let (file, lease) = self.writable(&handle)?;
        write_all(&file, &bytes, offset, &self.own.written)?;
        self.count(lease.under(), bytes.len());
        Ok(bytes.len() as u64)
    }

    async fn read_directory(&mut self, handle: Resource<Descriptor>) -> Answer<Resource<Listing>> {
        let folder = self.checked(&handle).await?;
        Ok(self.handles.table.push(Listing::of(folder)?)?)
    }

    async fn stat(&mut self, handle: Resource<Descriptor>) -> Answer<types::DescriptorStat> {
        Ok(stat_of(&self.metadata(&handle).await?))
    }

    async fn stat_at(
        &mut self,
        handle: Resource<Descriptor>,
        flags: types::PathFlags,
        path: String,
    ) -> Answer<types::DescriptorStat> {
        Ok(stat_of(&self.metadata_at(&handle, flags, &path).await?))
    }

    async fn metadata_hash(
        &mut self,
        handle: Resource<Descriptor>,
    ) -> Answer<types::MetadataHashValue> {
        Ok(hash_of(&self.metadata(&handle).await?))
    }

    async fn metadata_hash_at(
        &mut self,
        handle: Resource<Descriptor>,
        flags: types::PathFlags,
        path: String,
    ) -> Answer<types::MetadataHashValue> {
        Ok(hash_of(&self.metadata_at(&handle, flags, &path).await?))
    }

    fn is_same_object(
        &mut self,
        one: Resource<Descriptor>,
        other: Resource<Descriptor>,
    ) -> wasmtime::Result<bool> {
        let (one, other) = (
            self.handles.table.get(&one)?,
            self.handles.table.get(&other)?,
        );
        Ok(match (one, other) {
            (Descriptor::Folder(one), Descriptor::Folder(other)) => one.path == other.path,
            (Descriptor::File(one), Descriptor::File(other)) => {
                match (one.file.metadata(), other.file.metadata()) {
                    (Ok(one), Ok(other)) => (one.dev(), one.ino()) == (other.dev(), other.ino()),
                    _ => false,
                }
            }
            _ => false,
        })
    }

    async fn readlink_at(&mut self, handle: Resource<Descriptor>, path: String) -> Answer<String> {
        let place = self.place(&handle, &path, Link::Itself, false)?;
        self.authorise_path(&place, Operation::Read, &path).await?;
        let (folder, name) = place.parts()?;
        let folder = open::folder(folder)?;
        let leads_to = rustix::fs::readlinkat(folder, name, Vec::new())?;
        let leads_to = leads_to
            .into_string()
            .map_err(|_| ErrorCode::IllegalByteSequence)?;
        // What lies outside is nobody's business who only asks where a link leads.
        if leads_to.starts_with('/') {
            return Err(ErrorCode::NotPermitted.into());
        }
        Ok(leads_to)
    }

    async fn open_at(
        &mut self,
        handle: Resource<Descriptor>,
        path_flags: types::PathFlags,
        path: String,
        open_flags: types::OpenFlags,
        flags: types::DescriptorFlags,
    ) -> Answer<Resource<Descriptor>> {
        let opened = self
            .open_path(&handle, link_of(path_flags), &path, open_flags, flags)
            .await?;
        Ok(self.handles.table.push(opened)?)
    }

    async fn create_directory_at(
        &mut self,
        handle: Resource<Descriptor>,
        path: String,
    ) -> Answer<()> {
        self.make_folder(&handle, &path).await
    }

    async fn set_times(
        &mut self,
        handle: Resource<Descriptor>,
        accessed: types::NewTimestamp,
        modified: types::NewTimestamp,
    ) -> Answer<()> {
        self.touch(&handle, accessed, modified).await
    }

    async fn set_times_at(
        &mut self,
        handle: Resource<Descriptor>,
        flags: types::PathFlags,
        path: String,
        accessed: types::NewTimestamp,
        modified: types::NewTimestamp,
    ) -> Answer<()> {
        self.touch_at(&handle, link_of(flags), &path, accessed, modified)
            .await
    }

    async fn link_at(
        &mut self,
        from: Resource<Descriptor>,
        flags: types::PathFlags,
        old: String,
        to: Resource<Descriptor>,
        new: String,
    ) -> Answer<()> {
        self.link(&from, link_of(flags), &old, &to, &new).await
    }

    async fn rename_at(
        &mut self,
        from: Resource<Descriptor>,
        old: String,
        to: Resource<Descriptor>,
        new: String,
    ) -> Answer<()> {
        self.rename(&from, &old, &to, &new).await
    }

    async fn symlink_at(
        &mut self,
        handle: Resource<Descriptor>,
        leads_to: String,
        path: String,
    ) -> Answer<()> {
        self.make_link(&handle, &leads_to, &path).await
    }

    async fn remove_directory_at(
        &mut self,
        handle: Resource<Descriptor>,
        path: String,
    ) -> Answer<()> {
        self.remove(&handle, &path, rustix::fs::AtFlags::REMOVEDIR)
            .await
    }

    async fn unlink_file_at(&mut self, handle: Resource<Descriptor>, path: String) -> Answer<()> {
        self.remove(&handle, &path, rustix::fs::AtFlags::empty())
            .await
    }

    fn drop(&mut self, handle: Resource<Descriptor>) -> wasmtime::Result<()> {
        self.handles.table.delete(handle)?;
        Ok(())
    }
}

fn need(place: &Place, operation: Operation) -> Need {
    Need {
        target: Target::Path(place.path.clone()),
        operation,
    }
}

fn link_of(flags: types::PathFlags) -> Link {
    if flags.contains(types::PathFlags::SYMLINK_FOLLOW) {
        Link::Follow
    } else {
        Link::Itself
    }
}
