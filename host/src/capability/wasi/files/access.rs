//! From a handle and a path to something open: the ways in which everything else here comes by a file.

use std::fs::{File, Metadata};
use std::os::fd::OwnedFd;
use std::sync::Arc;

use wasmtime::component::Resource;
use wasmtime_wasi_io::streams::DynOutputStream;

use super::handle::{Descriptor, Folder, OpenFile};
use super::lease::Lease;
use super::place::{self, Base, Link, Place};
use super::stream::Writing;
use super::{Answer, ErrorCode, link_of, need, types};
use crate::History;
use crate::bindings::dunlin::tool::types::Target as Written;
use crate::capability::context::{Phase, View};
use crate::capability::resources::UseId;
use crate::capability::wasi::machine::Machine;
use crate::open;
use crate::target::Operation;

impl View<'_, Machine> {
    /// Where a path leads from a folder. Looks at no more than that takes.
    pub(super) fn place(
        &self,
        handle: &Resource<Descriptor>,
        written: &str,
        link: Link,
        makes: bool,
    ) -> Answer<Place> {
        self.only_while_running()?;
        match self.handles.table.get(handle)? {
            Descriptor::Folder(folder) => {
                let base = Base {
                    path: &folder.path,
                    is_start: folder.is_start,
                };
                place::resolve(base, written, link, makes)
            }
            Descriptor::File(_) => Err(ErrorCode::NotDirectory.into()),
        }
    }

    /// In `describe` and `prepare` there is a file system that lets nobody do anything, the same everywhere.
    pub(super) fn only_while_running(&self) -> Answer<()> {
        match self.phase {
            Phase::Run => Ok(()),
            Phase::Describe | Phase::Prepare => Err(ErrorCode::NotPermitted.into()),
        }
    }

    /// Authorises one use of a place.
    pub(super) async fn authorise_path(
        &mut self,
        place: &Place,
        operation: Operation,
        written: &str,
    ) -> Answer<UseId> {
        let need = need(place, operation);
        let written = Written::Path(written.to_owned());
        Ok(self.authorise(need, written).await?)
    }

    pub(super) async fn open_path(
        &mut self,
        handle: &Resource<Descriptor>,
        link: Link,
        written: &str,
        open_flags: types::OpenFlags,
        flags: types::DescriptorFlags,
    ) -> Answer<Descriptor> {
        let creates = open_flags.contains(types::OpenFlags::CREATE);
        let truncates = open_flags.contains(types::OpenFlags::TRUNCATE);
        let writes = flags.contains(types::DescriptorFlags::WRITE);
        let changes = creates || truncates || writes;
        let reads = flags.contains(types::DescriptorFlags::READ) || !changes;
        let place = self.place(handle, written, link, creates)?;
        let is_folder = place.is_folder || open_flags.contains(types::OpenFlags::DIRECTORY);
        if is_folder && changes {
            return Err(ErrorCode::IsDirectory.into());
        }
        let mut needs = Vec::new();
        if reads {
            needs.push(need(&place, Operation::Read));
        }
        if changes {
            needs.push(need(&place, Operation::Write));
        }
        let verbs = match (reads, changes) {
            (true, true) => "read and write",
            (false, true) => "write",
            _ => "read",
        };
        let what = format!("{verbs} '{}'", place.path.display());
        let under = self
            .authorise_together(needs.clone(), written, &what, None)
            .await?;
        let mut leases = needs.into_iter().zip(&under);
        let mut lease = || {
            let (need, under) = leases.next()?;
            Some(Lease::new(self.context, need, *under))
        };
        let reading = reads.then(&mut lease).flatten();
        let writing = changes.then(&mut lease).flatten();
        if !changes {
            let file = open::for_reading(&place.path)?;
            let meta = file.metadata()?;
            return match (meta.is_dir(), is_folder) {
                (true, _) => Ok(Descriptor::Folder(Folder {
                    path: place.path,
                    handle: Some(file.into()),
                    is_start: false,
                })),
                (false, true) => Err(ErrorCode::NotDirectory.into()),
                (false, false) if !meta.is_file() => Err(ErrorCode::NoSuchDevice.into()),
                (false, false) => Ok(Descriptor::File(OpenFile {
                    file: Arc::new(file),
                    reads: reading,
                    writes: None,
                })),
            };
        }
        let (folder, name) = place.parts()?;
        let how = open::Change {
            creates,
            is_new: creates && open_flags.contains(types::OpenFlags::EXCLUSIVE),
        };
        let file = open::for_changing(folder, name, how)?;
        if !file.metadata()?.is_file() {
            return Err(ErrorCode::NoSuchDevice.into());
        }
        // Not while opening: until here it might have been anything.
        if truncates {
            file.set_len(0)?;
        }
        self.changed(&place);
        let written_under = under.last().copied();
        if let Some(under) = written_under {
            self.log_use(under)?;
        }
        Ok(Descriptor::File(OpenFile {
            file: Arc::new(file),
            reads: reading,
            writes: writing.filter(|_| writes),
        }))
    }

    /// A file whose content is not what a tool has seen any more.
    pub(super) fn changed(&self, place: &Place) {
        self.shared.history.mark(&place.path, History::EDITED, None);
    }

    pub(super) fn readable(&self, handle: &Resource<Descriptor>) -> Answer<(Arc<File>, Lease)> {
        self.usable(handle, |open| open.reads.as_ref())
    }

    pub(super) fn writable(&self, handle: &Resource<Descriptor>) -> Answer<(Arc<File>, Lease)> {
        self.usable(handle, |open| open.writes.as_ref())
    }

    /// The file behind a handle, if it was opened for this use, and may still be used.
    fn usable(
        &self,
        handle: &Resource<Descriptor>,
        of: impl FnOnce(&OpenFile) -> Option<&Lease>,
    ) -> Answer<(Arc<File>, Lease)> {
        match self.handles.table.get(handle)? {
            Descriptor::Folder(_) => Err(ErrorCode::IsDirectory.into()),
            Descriptor::File(open) => match of(open) {
                Some(lease) if lease.holds() => Ok((Arc::clone(&open.file), lease.clone())),
                Some(_) => Err(ErrorCode::Access.into()),
                None => Err(ErrorCode::BadDescriptor.into()),
            },
        }
    }

    pub(super) fn writing(
        &mut self,
        handle: &Resource<Descriptor>,
        at: Option<u64>,
    ) -> Answer<Resource<DynOutputStream>> {
        let (file, lease) = self.writable(handle)?;
        let stream: DynOutputStream = Box::new(Writing {
            file,
            at,
            meter: self.meter(lease.under()),
            lease,
            written: Arc::clone(&self.own.written),
        });
        Ok(self.handles.table.push(stream)?)
    }

    /// The folder behind a handle, once it may be looked at.
    pub(super) async fn checked(&mut self, handle: &Resource<Descriptor>) -> Answer<OwnedFd> {
        self.only_while_running()?;
        let path = match self.handles.table.get(handle)? {
            Descriptor::File(_) => return Err(ErrorCode::NotDirectory.into()),
            Descriptor::Folder(folder) => folder.path.clone(),
        };
        let place = Place {
            path,
            is_folder: true,
        };
        self.authorise_path(&place, Operation::Read, ".").await?;
        match self.handles.table.get(handle)? {
            Descriptor::Folder(Folder {
                handle: Some(handle),
                ..
            }) => Ok(handle.try_clone()?),
            _ => Ok(open::folder(&place.path)?),
        }
    }

    pub(super) async fn metadata(&mut self, handle: &Resource<Descriptor>) -> Answer<Metadata> {
        if let Descriptor::File(open) = self.handles.table.get(handle)? {
            return Ok(open.file.metadata()?);
        }
        Ok(File::from(self.checked(handle).await?).metadata()?)
    }

    pub(super) async fn metadata_at(
        &mut self,
        handle: &Resource<Descriptor>,
        flags: types::PathFlags,
        written: &str,
    ) -> Answer<Metadata> {
        let place = self.place(handle, written, link_of(flags), false)?;
        let need = self.need_for_metadata(&place.path)?;
        self.authorise(need, Written::Path(written.to_owned()))
            .await?;
        let found = open::for_metadata_of_name(&place.path)?;
        let meta = File::from(found).metadata()?;
        if place.is_folder && !meta.is_dir() {
            return Err(ErrorCode::NotDirectory.into());
        }
        Ok(meta)
    }
}
