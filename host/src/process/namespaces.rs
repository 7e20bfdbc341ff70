//! Namespaces for a command: its own processes, mounts, devices and, unless granted, network.
//!
//! A user namespace gives them to everybody. In it the command sees only its own processes, so there is nobody to
//! signal, to trace or to read keys from; when its process 1 ends the kernel ends the rest.
//!
//! All mounts are read-only, and what the command may change is mounted over them once more. Landlock has no right for
//! changing the owner, the mode, the times or the attributes of a file; a read-only mount refuses all of them.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use rustix::fs::CWD;
use rustix::mount::{MountFlags, MountPropagationFlags, mount, mount_change, mount_remount};

use super::access::Trees;
use super::git::{self, Repositories};
use super::mounts::{self, Entry};
use super::order::Order;
use super::sandbox::DEVICES;
use super::sys;
use crate::files::make_private;
use crate::limits::{MAX_PROCESSES, MAX_TEMPORARY_BYTES, MAX_TEMPORARY_FILES};

const DEV: &str = "/dev";
const SHARED_MEMORY: &str = "/dev/shm";

/// A file without content: what programs find instead of their credentials, and take for having none.
const EMPTY_FILE: &str = "/dev/.empty";

/// A folder without content, for the same use.
const EMPTY_FOLDER: &str = "/dev/.nothing";

/// The files of a stopped operation whose objects git keeps (`add_rebase_files` in git's `reachable.c`).
const KEPT_OF_STATES: [&str; 2] = ["autostash", "orig-head"];

/// Bytes of such a file: the name of an object and a line end.
const MAX_KEPT_BYTES: usize = 200;

/// Where nothing is, and nothing can be made.
const NOWHERE: &str = "/dev/.nothing/nowhere";

/// Mounts of git repositories, at most: half of those that the kernel allows in a namespace.
const MAX_MOUNTS: usize = 50_000;

/// The namespaces of a command. A cgroup namespace would hide nothing of worth.
pub(super) fn flags(network: bool) -> libc::c_int {
    let own = libc::CLONE_NEWUSER | libc::CLONE_NEWPID | libc::CLONE_NEWNS | libc::CLONE_NEWIPC;
    if network {
        own
    } else {
        own | libc::CLONE_NEWNET
    }
}

/// Why the namespaces could not be set up.
#[derive(Debug, thiserror::Error)]
#[error("{step}: {source}")]
pub(super) struct NoNamespaces {
    step: String,
    source: io::Error,
}

/// Names a step for its error.
fn step<T, E: Into<io::Error>>(
    what: impl Into<String>,
    done: Result<T, E>,
) -> Result<T, NoNamespaces> {
    done.map_err(|source| NoNamespaces {
        step: what.into(),
        source: source.into(),
    })
}

/// Sets the namespaces up, as their process 1. `user` and `group` are those before.
pub(super) fn set_up(
    order: &Order,
    repositories: &Repositories,
    user: u32,
    group: u32,
) -> Result<(), NoNamespaces> {
    // The command stays who it is: whatever it makes belongs to the user.
    step("setgroups", fs::write("/proc/self/setgroups", "deny"))?;
    step(
        "uid_map",
        fs::write("/proc/self/uid_map", format!("{user} {user} 1")),
    )?;
    step(
        "gid_map",
        fs::write("/proc/self/gid_map", format!("{group} {group} 1")),
    )?;
    let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    step("private mounts", mount_change("/", private))?;
    let devices = copy_devices()?;
    // A second mount of the machine's devices would have all of them, and the user's terminals.
    step(
        "mounts without devices",
        sys::mount_without_devices(CWD, c"/"),
    )?;
    let writable = copy_writable(order)?;
    if let Some(writable) = &writable {
        step("read-only mounts", sys::mount_read_only(CWD, c"/"))?;
        make_dev(order, devices, writable)?;
        for (path, copy) in writable {
            let over = existing(path)?;
            step(format!("mount {}", path.display()), mounts::put(copy, over))?;
        }
    } else {
        make_dev(order, devices, &[])?;
    }
    let room = format!("mode=0700,size={MAX_TEMPORARY_BYTES},nr_inodes={MAX_TEMPORARY_FILES}");
    step(
        "temporary folder",
        tmpfs(&order.temporary, MountFlags::empty(), &room),
    )?;
    keep(order, repositories)?;
    processes()?;
    if !order.network {
        step("loopback", sys::loopback_up())?;
    }
    Ok(())
}

/// Copies of the mounts that the command may change, made before the rest becomes read-only. `None`: it may change
/// everything.
fn copy_writable(order: &Order) -> Result<Option<Vec<(PathBuf, OwnedFd)>>, NoNamespaces> {
    let mut copies = Vec::new();
    for path in order.access.roots() {
        if path == Path::new("/") {
            return Ok(None);
        }
        let in_dev = path.starts_with(DEV) && !path.starts_with(SHARED_MEMORY);
        if in_dev || path == Path::new(SHARED_MEMORY) || path.starts_with("/proc") {
            let refused = io::Error::other("commands cannot be given this to write");
            return step(path.display().to_string(), Err(refused));
        }
        let name = || format!("copy the mount of {}", path.display());
        let entry = step(name(), mounts::look(path))?;
        // A link is not what was granted: whoever made it must not choose what can be written.
        if let Some(opened) = entry.file_or_folder() {
            copies.push((path.to_owned(), step(name(), mounts::copy(opened))?));
        }
    }
    // What the machine has in its shared memory is not there for the command.
    let project = &order.access.project;
    if order.access.is_read_only && project.starts_with(SHARED_MEMORY) {
        let name = || format!("copy the mount of {}", project.display());
        if let Some(opened) = step(name(), mounts::look(project))?.file_or_folder() {
            copies.push((project.clone(), step(name(), read_only_copy(opened))?));
        }
    }
    Ok(Some(copies))
}

fn existing(path: &Path) -> Result<OwnedFd, NoNamespaces> {
    let entry = step(path.display().to_string(), mounts::look(path))?;
    let gone = || io::Error::other("it is not there any more");
    step(
        path.display().to_string(),
        entry.file_or_folder().ok_or_else(gone),
    )
}

/// Mounts what keeps the command from what it may not change or see, within what it may change.
fn keep(order: &Order, repositories: &Repositories) -> Result<(), NoNamespaces> {
    let access = &order.access;
    let mut pins: BTreeSet<&Path> = BTreeSet::new();
    // The folders between what can be written and what in it cannot. Otherwise a command would move such a folder away
    // and make another in its place.
    let rules = access.read_only.iter().chain(&access.hidden);
    let rules = rules.chain(access.held().map(|held| &held.path));
    let settings: Vec<PathBuf> = repositories.settings(access).collect();
    let kept = rules.chain(&settings);
    let between: HashSet<&Path> = kept.flat_map(|path| path.ancestors().skip(1)).collect();
    let written = Trees::new(access.written());
    let between = between.into_iter();
    pins.extend(between.filter(|folder| written.hold_below(folder)));
    // These are pinned as what they were when they were found.
    let found: BTreeMap<&Path, _> = repositories.folders().collect();
    pins.extend(repositories.folders_in_place(access).map(|(path, _)| path));
    let read_only = repositories.read_only(access);
    let of_git = repositories.held(access);
    let unread = repositories.unread().map(|(path, _)| path);
    let links = repositories.links().map(|(path, _, _)| path);
    let mounted = pins.iter().copied().chain(unread).chain(links);
    let mounted = mounted.chain(settings.iter().chain(&read_only).map(PathBuf::as_path));
    let objects = repositories.shared_objects(access);
    let mounted = mounted.chain(objects.iter().map(PathBuf::as_path));
    let mounted = mounted.chain(of_git.iter().map(|held| held.path.as_path()));
    step(
        "protect git repositories",
        expect_few(mounted, &access.project, MAX_MOUNTS),
    )?;
    // A folder sorts before what lies in it, and so it is mounted before.
    for folder in pins {
        let name = || format!("hold {} in place", folder.display());
        let entry = step(name(), mounts::look(folder))?;
        if let Some(id) = found.get(folder) {
            step(name(), expect(&entry, *id))?;
        }
        if let Entry::Folder(opened) = entry {
            step(name(), mounts::pin(opened))?;
        }
    }
    let hidden: BTreeSet<&Path> = repositories.hidden_states().collect();
    for path in &settings {
        if hidden.contains(path.as_path()) {
            step(format!("hide {}", path.display()), hide_state(path))?;
        } else if !access.writable.contains(path) {
            step(format!("protect {}", path.display()), freeze(path))?;
        }
    }
    let frozen = Trees::new(&read_only);
    let mut copies = Vec::new();
    for path in access.writable.iter().filter(|path| frozen.hold(path)) {
        let name = || format!("copy the mount of {}", path.display());
        if let Some(opened) = step(name(), mounts::look(path))?.file_or_folder() {
            copies.push((path, step(name(), mounts::copy(opened))?));
        }
    }
    for path in &read_only {
        let name = || format!("protect {}", path.display());
        if let Some(id) = found.get(path.as_path()) {
            step(name(), expect(&step(name(), mounts::look(path))?, *id))?;
        }
        step(name(), freeze(path))?;
    }
    for (path, copy) in copies {
        let name = || format!("give {} to write", path.display());
        step(name(), mounts::put(copy, existing(path)?))?;
    }
    // Their folders stay as they are: git moves objects from one to another.
    for path in &objects {
        step(format!("protect {}", path.display()), freeze(path))?;
    }
    // A repository in it could not be protected otherwise.
    for (path, is_git) in repositories.unread() {
        if is_git || !access.writable.iter().any(|granted| granted == path) {
            step(format!("protect {}", path.display()), freeze(path))?;
        }
    }
    for (path, target, number) in repositories.links() {
        let name = || format!("hold {} in place", path.display());
        step(name(), hold_git_link(path, target, number))?;
    }
    // Of two rules about one path the stricter holds, so it is mounted last. Where nothing can be changed, everything is
    // read-only already but the temporary folder, which may lie in the project.
    if !access.is_read_only {
        for path in &access.read_only {
            step(format!("protect {}", path.display()), freeze(path))?;
        }
    }
    for held in access.held().chain(&of_git) {
        step(format!("hold {}", held.path.display()), hold(&held.path))?;
    }
    for path in &access.hidden {
        step(format!("hide {}", path.display()), hide(path))?;
    }
    match &access.narrowed {
        Some(folder) => narrow(folder, &access.writable),
        None => Ok(()),
    }
}

/// Leaves of the repository of a linked worktree only those folders to be changed that are `writable` themselves.
///
/// Git makes locks in the folder itself with every commit, also where nothing comes of them. So in its place there is a
/// folder of the command's own, which holds what it did, and what is made in it besides is gone with the command. Two files
/// there would be missed, `packed-refs` and `shallow`, and git must not believe that it has written them: it cannot replace
/// the first, since that is a mount, and the lock of the second cannot be made.
fn narrow(folder: &Path, writable: &[PathBuf]) -> Result<(), NoNamespaces> {
    let name = || format!("narrow {}", folder.display());
    let mut open = Vec::new();
    for path in writable {
        if path != folder && path.starts_with(folder) {
            let entry = step(name(), mounts::look(path))?;
            if let Some(opened) = entry.file_or_folder() {
                open.push((path, step(name(), mounts::copy(opened))?));
            }
        }
    }
    let mut kept = Vec::new();
    for entry in step(name(), fs::read_dir(folder))? {
        let path = step(name(), entry)?.path();
        let copied = match step(name(), mounts::look(&path))? {
            Entry::Nothing => continue,
            Entry::Link(_) => Kept::Link(step(name(), fs::read_link(&path))?),
            Entry::Folder(opened) => Kept::Folder(step(name(), read_only_copy(opened))?),
            Entry::File(opened) => Kept::File(step(name(), read_only_copy(opened))?),
        };
        kept.push((path, copied));
    }
    let room = format!("mode=0700,size={MAX_TEMPORARY_BYTES},nr_inodes={MAX_TEMPORARY_FILES}");
    step(name(), tmpfs(folder, MountFlags::empty(), &room))?;
    for (path, copied) in kept {
        step(name(), copied.put_back(&path))?;
    }
    for (path, copied) in open {
        step(name(), mounts::put(copied, existing(path)?))?;
    }
    let packed = folder.join("packed-refs");
    if !packed.exists() {
        step(name(), File::create(&packed))?;
        step(name(), put_empty(EMPTY_FILE, existing(&packed)?))?;
    }
    let shallow = folder.join("shallow");
    if shallow.symlink_metadata().is_err() {
        step(name(), symlink(NOWHERE, shallow))?;
    }
    Ok(())
}

/// What was in a folder in whose place there is another one.
enum Kept {
    File(OwnedFd),
    Folder(OwnedFd),
    Link(PathBuf),
}

impl Kept {
    fn put_back(self, path: &Path) -> io::Result<()> {
        let gone = || io::Error::other(format!("{} is not there", path.display()));
        let copied = match self {
            Kept::Link(target) => return symlink(target, path),
            Kept::Folder(copied) => {
                fs::create_dir(path)?;
                copied
            }
            Kept::File(copied) => {
                File::create(path)?;
                copied
            }
        };
        let place = mounts::look(path)?.file_or_folder().ok_or_else(gone)?;
        mounts::put(copied, place)
    }
}

/// A read-only copy of the mount of a file or folder.
fn read_only_copy(opened: OwnedFd) -> io::Result<OwnedFd> {
    let copy = mounts::copy(opened)?;
    mounts::make_read_only(copy.as_fd())?;
    Ok(copy)
}

/// Another command may move a folder between the look at it and its mount: what lies there now would not be protected.
fn expect(entry: &Entry, id: mounts::FileId) -> io::Result<()> {
    match entry {
        Entry::Folder(opened) if mounts::id(opened)? == id => Ok(()),
        _ => Err(moved()),
    }
}

/// The kernel bounds the mounts of a namespace.
fn expect_few<'a>(
    mounted: impl Iterator<Item = &'a Path>,
    project: &Path,
    most: usize,
) -> io::Result<()> {
    let mut count = 0;
    let mut parts: BTreeMap<&Path, usize> = BTreeMap::new();
    for path in mounted {
        count += 1;
        let below = path.strip_prefix(project).unwrap_or(path);
        let part = below.components().next();
        let part = part.map_or(path, |part| Path::new(part.as_os_str()));
        *parts.entry(part).or_default() += 1;
    }
    let largest = parts.into_iter().max_by_key(|(_, mounts)| *mounts);
    match largest {
        Some((part, mounts)) if count > most => Err(io::Error::other(format!(
            "they take {count} mounts, and there are at most {most}; {mounts} of them are for what is in {}: remove or move the repositories there that you do not need, and what was set aside",
            part.display()
        ))),
        _ => Ok(()),
    }
}

fn moved() -> io::Error {
    io::Error::other("it was moved while the sandbox was set up; run the command again")
}

/// Keeps a file or folder from being changed. A link on the way is replaced: see [`hold`].
fn freeze(path: &Path) -> io::Result<()> {
    match mounts::look(path)? {
        Entry::Nothing => Ok(()),
        Entry::Folder(opened) | Entry::File(opened) => mounts::freeze(opened),
        Entry::Link(_) => hold(path),
    }
}

/// Puts something empty before a file or folder.
fn hide(path: &Path) -> io::Result<()> {
    match mounts::look(path)? {
        Entry::Nothing => Ok(()),
        Entry::Folder(opened) => put_empty(EMPTY_FOLDER, opened),
        Entry::File(opened) => put_empty(EMPTY_FILE, opened),
        Entry::Link(_) => hold(path),
    }
}

/// The same for what git keeps of an operation that has stopped. What is left of it names objects, which git would otherwise
/// take for garbage: `git prune` would remove the user's changes that a rebase has stashed.
fn hide_state(path: &Path) -> io::Result<()> {
    let Entry::Folder(opened) = mounts::look(path)? else {
        return hide(path);
    };
    let read = |name| {
        let text = git::read_short(&path.join(name), MAX_KEPT_BYTES);
        text.ok().map(|text| (name, text))
    };
    let kept: Vec<_> = KEPT_OF_STATES.into_iter().filter_map(read).collect();
    let over = PathBuf::from(format!("/proc/self/fd/{}", opened.as_raw_fd()));
    tmpfs(&over, MountFlags::empty(), "mode=0755,size=64k")?;
    for (name, text) in kept {
        fs::write(path.join(name), text)?;
    }
    freeze(path)
}

/// Keeps anything from coming into being at a path. An empty file takes the place of a link that stands in the way:
/// whatever it leads to is judged where it is, and a command must not put something else in its place.
fn hold(path: &Path) -> io::Result<()> {
    if super::placeholder::is_at(path)? {
        // It holds nothing of anybody's.
        return freeze(path);
    }
    match mounts::first_link(path)? {
        Some(link) => put_empty(EMPTY_FILE, link),
        None => Ok(()),
    }
}

/// A `.git` that leads to the repository elsewhere. A link is replaced by a file that says the same.
fn hold_git_link(path: &Path, target: Option<&Path>, number: u64) -> io::Result<()> {
    let entry = mounts::look(path)?;
    if let Entry::File(opened) | Entry::Link(Some(opened)) = &entry
        && mounts::id(opened)?.number != number
    {
        return Err(moved());
    }
    match (entry, target) {
        (Entry::File(opened), _) => mounts::freeze(opened),
        (Entry::Link(Some(link)), Some(target)) => {
            let mut text = b"gitdir: ".to_vec();
            text.extend(target.as_os_str().as_encoded_bytes());
            text.push(b'\n');
            let name = format!("{SHARED_MEMORY}/.gitdir-{}", std::process::id());
            fs::write(&name, text)?;
            let put = existing_copy(Path::new(&name)).and_then(|copy| mounts::put(copy, link));
            fs::remove_file(&name)?;
            put
        }
        // What leads nowhere is not a repository; one that is made of it is found afterwards.
        _ => Ok(()),
    }
}

/// A read-only copy of the mount of a file or folder that must be there.
fn existing_copy(path: &Path) -> io::Result<OwnedFd> {
    let gone = || io::Error::other(format!("{} is not there", path.display()));
    let opened = mounts::look(path)?.file_or_folder().ok_or_else(gone)?;
    read_only_copy(opened)
}

fn put_empty(empty: &str, over: OwnedFd) -> io::Result<()> {
    mounts::put(existing_copy(Path::new(empty))?, over)
}

fn tmpfs(at: &Path, flags: MountFlags, options: &str) -> io::Result<()> {
    let flags = flags | MountFlags::NOSUID | MountFlags::NODEV;
    let options = std::ffi::CString::new(options).map_err(io::Error::other)?;
    Ok(mount("tmpfs", at, "tmpfs", flags, options.as_c_str())?)
}

/// Copies of the mounts of the harmless devices.
fn copy_devices() -> Result<Vec<(&'static str, OwnedFd)>, NoNamespaces> {
    let copy = |name| {
        let device = existing(&Path::new(DEV).join(name))?;
        Ok((name, step(name, mounts::copy(device))?))
    };
    DEVICES.into_iter().map(copy).collect()
}

/// A `/dev` with these devices, terminals and shared memory of its own.
fn make_dev(
    order: &Order,
    devices: Vec<(&'static str, OwnedFd)>,
    writable: &[(PathBuf, OwnedFd)],
) -> Result<(), NoNamespaces> {
    let dev = Path::new(DEV);
    step(DEV, tmpfs(dev, MountFlags::empty(), "mode=0755,size=64k"))?;
    for (name, device) in devices {
        let at = dev.join(name);
        step(name, File::create(&at))?;
        step(name, mounts::put(device, existing(&at)?))?;
    }
    for (name, leads_to) in [
        ("fd", "/proc/self/fd"),
        ("stdin", "/proc/self/fd/0"),
        ("stdout", "/proc/self/fd/1"),
        ("stderr", "/proc/self/fd/2"),
        ("ptmx", "pts/ptmx"),
    ] {
        step(name, symlink(leads_to, dev.join(name)))?;
    }
    let terminals = dev.join("pts");
    for folder in [
        Path::new(SHARED_MEMORY),
        &terminals,
        Path::new(EMPTY_FOLDER),
    ] {
        step(folder.display().to_string(), fs::create_dir(folder))?;
    }
    step(EMPTY_FILE, File::create(EMPTY_FILE))?;
    // Also the devices: their owner could change who may use them.
    step("/dev read-only", sys::mount_read_only(CWD, c"/dev"))?;
    let room = format!("mode=1777,size={MAX_TEMPORARY_BYTES},nr_inodes={MAX_TEMPORARY_FILES}");
    step(
        SHARED_MEMORY,
        tmpfs(Path::new(SHARED_MEMORY), MountFlags::empty(), &room),
    )?;
    // Pseudo-terminals are for programs that test terminals; without them the rest works.
    let flags = MountFlags::NOSUID | MountFlags::NOEXEC;
    let options = c"newinstance,ptmxmode=0666,mode=620";
    let _ = mount("devpts", &terminals, "devpts", flags, options);
    // A project or a temporary folder in the shared memory of the machine keeps its path.
    let kept = writable.iter().map(|(path, _)| path);
    for path in kept.chain([&order.temporary]) {
        if path.starts_with(SHARED_MEMORY) {
            step(path.display().to_string(), make_private(path))?;
        }
    }
    Ok(())
}

/// A `/proc` of its own processes, which cannot be written: it holds settings of the whole machine.
fn processes() -> Result<(), NoNamespaces> {
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    step("/proc", mount("proc", "/proc", "proc", flags, None))?;
    // Since Linux 6.14 each process namespace counts for itself, and the superuser is counted, too.
    let _ = fs::write("/proc/sys/kernel/pid_max", MAX_PROCESSES.to_string());
    step(
        "/proc read-only",
        mount_remount("/proc", flags | MountFlags::RDONLY, c""),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_part_is_named_where_mounts_are_too_many() {
        let paths = ["/p/a/.git", "/p/b", "/p/b/x", "/other"].map(Path::new);
        let few = |most| expect_few(paths.into_iter(), Path::new("/p"), most);
        assert!(few(4).is_ok());
        let error = few(3).unwrap_err().to_string();
        assert!(
            error.contains("take 4 mounts") && error.contains("2 of them are for what is in b:"),
            "{error}"
        );
    }
}
