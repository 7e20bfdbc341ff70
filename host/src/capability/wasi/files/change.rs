//! What changes the tree of files rather than a file: each name that comes, goes or leads somewhere else.
//!
//! Everything here is done by name in a folder that was opened without following links, and with the name itself
//! and never with what it might lead to: a link that is put there in the meantime is removed or moved, not followed.
//!
//! Two names for one file are one right for both: whoever may read under the new name could read the old one. So a
//! hard link and a new name need reading and writing of the old one, too. A folder keeps its name: the rules of
//! what lies in it are written down under it.

use std::os::fd::OwnedFd;
use std::path::{Component, Path};

use rustix::fs::{
    AtFlags, FileType, Mode, Timespec, Timestamps, UTIME_NOW, UTIME_OMIT, futimens, linkat,
    mkdirat, statat, symlinkat, unlinkat, utimensat,
};
use wasmtime::component::Resource;

use super::handle::Descriptor;
use super::place::{Link, Place};
use super::rename::Name;
use super::types::NewTimestamp;
use super::{Answer, ErrorCode, Fault, need};
use crate::capability::context::View;
use crate::capability::resources::UseId;
use crate::capability::wasi::machine::Machine;
use crate::open;
use crate::resolve::real_path;
use crate::target::Operation;

/// Nanoseconds of a second: a time has fewer.
const NANOSECONDS: u32 = 1_000_000_000;

impl View<'_, Machine> {
    pub(super) async fn make_folder(
        &mut self,
        handle: &Resource<Descriptor>,
        written: &str,
    ) -> Answer<()> {
        let place = self.place(handle, written, Link::Itself, true)?;
        let what = format!("make the folder '{}'", place.path.display());
        let under = self
            .authorise_together(vec![need(&place, Operation::Write)], written, &what, None)
            .await?;
        let (folder, name) = place.parts()?;
        mkdirat(open::folder(folder)?, name, Mode::from_raw_mode(0o777))?;
        self.log_uses(&under)
    }

    /// Removes a name: of a file or a link, or with `REMOVEDIR` of an empty folder.
    pub(super) async fn remove(
        &mut self,
        handle: &Resource<Descriptor>,
        written: &str,
        flags: AtFlags,
    ) -> Answer<()> {
        let place = self.place(handle, written, Link::Itself, false)?;
        if place.is_folder && !flags.contains(AtFlags::REMOVEDIR) {
            return Err(ErrorCode::IsDirectory.into());
        }
        let what = format!("remove '{}'", place.path.display());
        let under = self
            .authorise_together(vec![need(&place, Operation::Write)], written, &what, None)
            .await?;
        let (folder, name) = place.parts()?;
        unlinkat(open::folder(folder)?, name, flags)?;
        self.changed(&place);
        self.log_uses(&under)
    }

    pub(super) async fn rename(
        &mut self,
        from: &Resource<Descriptor>,
        old: &str,
        to: &Resource<Descriptor>,
        new: &str,
    ) -> Answer<()> {
        let before = self.place(from, old, Link::Itself, false)?;
        let after = self.place(to, new, Link::Itself, true)?;
        let under = self.may_have_both(&before, &after, old, "rename").await?;
        let ((from, old_name), (to, new_name)) = (before.parts()?, after.parts()?);
        let (old_folder, new_folder) = (open::folder(from)?, open::folder(to)?);
        let (old, new) = (
            Name::at(&old_folder, old_name),
            Name::at(&new_folder, new_name),
        );
        let found = old.look()?.ok_or(ErrorCode::NoEntry)?;
        // A folder keeps its name. A link in another folder could lead out of the project.
        if found.kind.is_dir() || found.kind.is_symlink() && from != to {
            return Err(ErrorCode::NotPermitted.into());
        }
        old.rename(&found, &new)?;
        self.changed(&before);
        self.changed(&after);
        self.log_uses(&under)
    }

    pub(super) async fn link(
        &mut self,
        from: &Resource<Descriptor>,
        link: Link,
        old: &str,
        to: &Resource<Descriptor>,
        new: &str,
    ) -> Answer<()> {
        let before = self.place(from, old, link, false)?;
        let after = self.place(to, new, Link::Itself, true)?;
        let under = self.may_have_both(&before, &after, old, "link").await?;
        let (old_folder, old_name) = file_at(&before)?;
        stays_where_it_leads(&before, &after)?;
        let (new_folder, new_name) = (open::folder(after.parts()?.0)?, after.parts()?.1);
        let flags = AtFlags::empty();
        linkat(&old_folder, old_name, &new_folder, new_name, flags)?;
        self.changed(&after);
        self.log_uses(&under)
    }

    /// Makes a symbolic link that leads to something in the project. Others are a trap for whoever follows them.
    pub(super) async fn make_link(
        &mut self,
        handle: &Resource<Descriptor>,
        leads_to: &str,
        written: &str,
    ) -> Answer<()> {
        let place = self.place(handle, written, Link::Itself, true)?;
        if place.is_folder {
            return Err(ErrorCode::NoEntry.into());
        }
        if leads_to.is_empty() || leads_to.contains('\0') {
            return Err(ErrorCode::Invalid.into());
        }
        let (folder, name) = place.parts()?;
        let target = real_path(&folder.join(leads_to))?;
        if !leads_plainly(Path::new(leads_to))
            || !target.starts_with(self.shared.permissions.project())
        {
            return Err(ErrorCode::NotPermitted.into());
        }
        let what = format!(
            "make '{}' a link to '{}'",
            place.path.display(),
            target.display()
        );
        let needs = vec![need(&place, Operation::Write)];
        let under = self.authorise_together(needs, written, &what, None).await?;
        symlinkat(leads_to, open::folder(folder)?, name)?;
        self.changed(&place);
        self.log_uses(&under)
    }

    pub(super) async fn touch(
        &mut self,
        handle: &Resource<Descriptor>,
        accessed: NewTimestamp,
        modified: NewTimestamp,
    ) -> Answer<()> {
        let times = times(accessed, modified)?;
        if let Descriptor::File(_) = self.handles.table.get(handle)? {
            let (file, _) = self.writable(handle)?;
            return Ok(futimens(file, &times)?);
        }
        self.set_times_of(handle, Link::Follow, ".", &times).await
    }

    pub(super) async fn touch_at(
        &mut self,
        handle: &Resource<Descriptor>,
        link: Link,
        written: &str,
        accessed: NewTimestamp,
        modified: NewTimestamp,
    ) -> Answer<()> {
        let times = times(accessed, modified)?;
        self.set_times_of(handle, link, written, &times).await
    }

    async fn set_times_of(
        &mut self,
        handle: &Resource<Descriptor>,
        link: Link,
        written: &str,
        times: &Timestamps,
    ) -> Answer<()> {
        let place = self.place(handle, written, link, false)?;
        let what = format!("change the times of '{}'", place.path.display());
        let needs = vec![need(&place, Operation::Write)];
        let under = self.authorise_together(needs, written, &what, None).await?;
        let (folder, name) = place.parts()?;
        let folder = open::folder(folder)?;
        // What is resolved leads nowhere else, or it is the link itself that is meant.
        utimensat(folder, name, times, AtFlags::SYMLINK_NOFOLLOW)?;
        self.log_uses(&under)
    }

    /// Authorises that what is known as one name is known as another.
    async fn may_have_both(
        &mut self,
        before: &Place,
        after: &Place,
        written: &str,
        verb: &str,
    ) -> Answer<Vec<UseId>> {
        if before.is_folder || after.is_folder {
            return Err(ErrorCode::NotDirectory.into());
        }
        let needs = vec![
            need(before, Operation::Read),
            need(before, Operation::Write),
            need(after, Operation::Write),
        ];
        let what = format!(
            "{verb} '{}' to '{}'",
            before.path.display(),
            after.path.display()
        );
        let warning = self.shared.warning_of_rename(&before.path, &after.path);
        Ok(self
            .authorise_together(needs, written, &what, warning)
            .await?)
    }

    fn log_uses(&mut self, uses: &[UseId]) -> Answer<()> {
        for under in uses {
            self.log_use(*under)?;
        }
        Ok(())
    }
}

/// The open folder and the name in it of something that is not a folder.
fn file_at(place: &Place) -> Answer<(OwnedFd, &std::ffi::OsStr)> {
    let (folder, name) = place.parts()?;
    let folder = open::folder(folder)?;
    let stat = statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW)?;
    if FileType::from_raw_mode(stat.st_mode).is_dir() {
        return Err(ErrorCode::NotPermitted.into());
    }
    Ok((folder, name))
}

/// Refuses a symbolic link that would stand in another folder: from there it could lead out of the project.
fn stays_where_it_leads(before: &Place, after: &Place) -> Answer<()> {
    let ((from, name), (to, _)) = (before.parts()?, after.parts()?);
    if from == to {
        return Ok(());
    }
    let stat = statat(open::folder(from)?, name, AtFlags::SYMLINK_NOFOLLOW)?;
    match FileType::from_raw_mode(stat.st_mode).is_symlink() {
        true => Err(ErrorCode::NotPermitted.into()),
        false => Ok(()),
    }
}

/// Whether a link leads up first, if at all, and then down: what is on the way down may be made a link later, and up
/// from there is somewhere else.
fn leads_plainly(leads_to: &Path) -> bool {
    let mut parts = leads_to
        .components()
        .skip_while(|part| matches!(part, Component::ParentDir | Component::CurDir));
    parts.all(|part| matches!(part, Component::Normal(_)))
}

fn times(accessed: NewTimestamp, modified: NewTimestamp) -> Result<Timestamps, Fault> {
    Ok(Timestamps {
        last_access: timespec(accessed)?,
        last_modification: timespec(modified)?,
    })
}

fn timespec(time: NewTimestamp) -> Result<Timespec, Fault> {
    let (tv_sec, tv_nsec) = match time {
        NewTimestamp::NoChange => (0, UTIME_OMIT),
        NewTimestamp::Now => (0, UTIME_NOW),
        NewTimestamp::Timestamp(time) if time.nanoseconds >= NANOSECONDS => {
            return Err(ErrorCode::Invalid.into());
        }
        NewTimestamp::Timestamp(time) => {
            let seconds = i64::try_from(time.seconds).map_err(|_| ErrorCode::Overflow)?;
            (seconds, i64::from(time.nanoseconds))
        }
    };
    Ok(Timespec { tv_sec, tv_nsec })
}
