//! Finds the other names that mounts give to a file or folder.
//!
//! A bind mount, or a second mount of the same file system, shows a file under another path, which no symbolic link
//! tells of: containers and desktops on other systems show the whole file system of the host in such a way.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// Where the kernel lists the mounts of this process, see `proc_pid_mountinfo(5)`.
const LIST: &str = "/proc/self/mountinfo";

/// The mounts of this process, as they were at one moment.
#[derive(Debug, Default)]
pub(crate) struct Mounts(Vec<Mount>);

#[derive(Debug)]
struct Mount {
    /// The numbers of the file system.
    device: Vec<u8>,
    /// Which folder of the file system is mounted.
    root: PathBuf,
    /// Where.
    place: PathBuf,
    /// The type of the file system.
    kind: Vec<u8>,
}

/// File systems that show the processes, terminals and devices of the machine, and not only those of a command.
const OF_THE_MACHINE: [&[u8]; 3] = [b"devpts", b"devtmpfs", b"proc"];

impl Mounts {
    /// Reads the kernel's list. Without one, as in some containers, there are no other names that could be known.
    pub(crate) fn now() -> Mounts {
        Mounts::parse(&std::fs::read(LIST).unwrap_or_default())
    }

    fn parse(list: &[u8]) -> Mounts {
        let mounts = list.split(|byte| *byte == b'\n').filter_map(|line| {
            let mut fields = line.split(|byte| *byte == b' ').skip(2);
            Some(Mount {
                device: fields.next()?.to_owned(),
                root: unescaped(fields.next()?),
                place: unescaped(fields.next()?),
                // Behind options, of which there may be any number.
                kind: fields.skip_while(|field| *field != b"-").nth(1)?.to_owned(),
            })
        });
        Mounts(mounts.collect())
    }

    /// Where processes, terminals and devices of the machine are found besides `/proc` and `/dev`, in whose place commands
    /// have others.
    pub(crate) fn of_the_machine(&self) -> impl Iterator<Item = &Path> {
        let mounts = self.0.iter();
        let mounts = mounts.filter(|mount| OF_THE_MACHINE.contains(&&*mount.kind));
        let places = mounts.map(|mount| mount.place.as_path());
        places.filter(|place| !["/proc", "/dev"].iter().any(|own| place.starts_with(own)))
    }

    /// The other paths at which a path, free of links, or something in it is found.
    pub(crate) fn other_names(&self, path: &Path) -> Vec<PathBuf> {
        let names = self.names(path);
        names.into_iter().map(|(name, _)| name).collect()
    }

    /// The other paths at which all of a path, free of links, is found.
    pub(crate) fn other_names_of_all(&self, path: &Path) -> Vec<PathBuf> {
        let names = self.names(path).into_iter();
        names
            .filter_map(|(name, is_all)| is_all.then_some(name))
            .collect()
    }

    /// The other paths at which a path or something in it is found, and whether it is the path itself.
    fn names(&self, path: &Path) -> Vec<(PathBuf, bool)> {
        // Of mounts over each other, the last one is seen.
        let around = self.0.iter().enumerate();
        let around = around.filter(|(_, mount)| path.starts_with(&mount.place));
        let holds = around.max_by_key(|(number, mount)| (mount.place.as_os_str().len(), *number));
        let Some((own, mount)) = holds else {
            return Vec::new();
        };
        let Ok(below) = path.strip_prefix(&mount.place) else {
            return Vec::new();
        };
        let in_file_system = joined(&mount.root, below);
        let others = self.0.iter().enumerate();
        let others =
            others.filter(|(number, other)| *number != own && other.device == mount.device);
        let names = others.filter_map(|(_, other)| {
            match in_file_system.strip_prefix(&other.root) {
                Ok(below) => Some((joined(&other.place, below), true)),
                // Only a part of it is mounted there.
                Err(_) if other.root.starts_with(&in_file_system) => {
                    Some((other.place.clone(), false))
                }
                Err(_) => None,
            }
        });
        names.filter(|(name, _)| name != path).collect()
    }
}

/// The other paths at which mounts show these folders, whole and free of links.
pub fn mounted_elsewhere(folders: &[PathBuf]) -> Vec<PathBuf> {
    let mounts = Mounts::now();
    let names = folders.iter();
    names
        .flat_map(|folder| mounts.other_names_of_all(folder))
        .collect()
}

fn joined(folder: &Path, below: &Path) -> PathBuf {
    match below.as_os_str().is_empty() {
        true => folder.to_owned(),
        false => folder.join(below),
    }
}

/// A path of the list: the kernel writes a space, a tab, a line end and a backslash as three octal digits.
fn unescaped(field: &[u8]) -> PathBuf {
    let mut path = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((first, more)) = rest.split_first() {
        let digits = more.get(..3).filter(|_| *first == b'\\');
        let digits = digits.and_then(|digits| OsStr::from_bytes(digits).to_str());
        match digits.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            Some(byte) => {
                path.push(byte);
                rest = &more[3..];
            }
            None => {
                path.push(*first);
                rest = more;
            }
        }
    }
    PathBuf::from(OsString::from_vec(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "\
22 1 254:0 / / rw,relatime - ext4 /dev/vda rw
23 22 0:21 / /proc rw - proc proc rw
30 22 254:0 /home/ada /mirror\\040of\\134it rw - ext4 /dev/vda rw
31 22 254:0 /home/ada/.ssh/keys /keys rw - ext4 /dev/vda rw
32 22 254:1 / /data rw - ext4 /dev/vdb rw
33 22 254:0 / /run/host ro - ext4 /dev/vda rw
34 22 0:5 / /dev rw,nosuid - devtmpfs udev rw
35 34 0:22 / /dev/pts rw shared:3 - devpts devpts rw
36 33 0:22 / /run/host/dev/pts rw shared:3 master:1 - devpts devpts rw
37 33 0:21 /sys /run/host/sys\\040x rw - proc proc rw
38 33 0:40 / /run/host/run rw - tmpfs proc rw
broken
";

    #[test]
    fn other_mounts_of_the_file_system_give_other_names() {
        let mounts = Mounts::parse(MOUNTS.as_bytes());
        let check = |path: &str, expected: &[&str]| {
            let mut names = mounts.other_names(Path::new(path));
            names.sort();
            assert_eq!(
                names,
                expected.iter().map(PathBuf::from).collect::<Vec<_>>(),
                "{path}"
            );
        };
        check(
            "/home/ada/.ssh",
            &["/keys", "/mirror of\\it/.ssh", "/run/host/home/ada/.ssh"],
        );
        // A part that is mounted elsewhere is not the folder.
        let mut whole = mounts.other_names_of_all(Path::new("/home/ada"));
        whole.sort();
        assert_eq!(
            whole,
            ["/mirror of\\it", "/run/host/home/ada"].map(PathBuf::from)
        );
        check("/mirror of\\it/x", &["/home/ada/x", "/run/host/home/ada/x"]);
        check("/etc/shadow", &["/run/host/etc/shadow"]);
        check("/data/x", &[]);
        check("/proc/1", &[]);
        assert!(Mounts::default().other_names(Path::new("/x")).is_empty());
    }

    #[test]
    fn second_mounts_of_processes_and_terminals_are_found() {
        let mounts = Mounts::parse(MOUNTS.as_bytes());
        let found: Vec<&Path> = mounts.of_the_machine().collect();
        assert_eq!(
            found,
            ["/run/host/dev/pts", "/run/host/sys x"].map(Path::new)
        );
    }

    #[test]
    fn the_kernels_list_is_read() {
        let mounts = Mounts::now();
        assert!(mounts.0.iter().any(|mount| mount.place == Path::new("/")));
    }
}
