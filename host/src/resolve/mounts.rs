//! Finds the other names that mounts give to a file or folder.
//!
//! A bind mount, or a second mount of the same file system, shows a file under another path, which no symbolic link
//! tells of: containers and desktops on other systems show the whole file system of the host in such a way. A folder that is
//! a layer of an overlay shows the files of the overlay, and the other way round.

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
    /// The folders whose files it shows, if it is an overlay.
    layers: Vec<PathBuf>,
}

/// File systems that show the processes, terminals and devices of the machine, and not only those of a command.
const OF_THE_MACHINE: [&[u8]; 3] = [b"devpts", b"devtmpfs", b"proc"];

impl Mounts {
    /// Reads the kernel's list. Without one, as in some containers, there are no other names that could be known.
    pub(crate) fn now() -> Mounts {
        let mut mounts = Mounts::parse(&std::fs::read(LIST).unwrap_or_default());
        for mount in &mut mounts.0 {
            // As they were written when it was mounted. Those of a container are often in no folder that it sees.
            let layers = mount.layers.iter();
            mount.layers = layers.filter_map(|it| it.canonicalize().ok()).collect();
        }
        mounts
    }

    fn parse(list: &[u8]) -> Mounts {
        let mounts = list.split(|byte| *byte == b'\n').filter_map(|line| {
            let mut fields = line.split(|byte| *byte == b' ').skip(2);
            let device = fields.next()?.to_owned();
            let root = unescaped(fields.next()?);
            let place = unescaped(fields.next()?);
            // Behind options, of which there may be any number.
            let mut fields = fields.skip_while(|field| *field != b"-").skip(1);
            let kind = fields.next()?.to_owned();
            let layers = match kind.as_slice() {
                b"overlay" => layers(fields.nth(1).unwrap_or_default()),
                _ => Vec::new(),
            };
            Some(Mount {
                device,
                root,
                place,
                kind,
                layers,
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
        let mut names: Vec<(PathBuf, bool)> = Vec::new();
        // The path, and what it is called in overlays and their layers: each is found under the names of its mounts.
        let mut wholes = vec![path.to_owned()];
        let mut next = 0;
        while let Some(whole) = wholes.get(next).cloned() {
            next += 1;
            let mounted = self.mounted(&whole);
            let same = mounted.iter().filter(|(_, is_all)| *is_all);
            let same = same.map(|(name, _)| name).chain([&whole]);
            let mut layered: Vec<_> = same.flat_map(|name| self.over(name)).collect();
            layered.extend(self.under(&whole).map(|name| (name, true)));
            for (name, is_all) in &layered {
                if *is_all && !wholes.contains(name) {
                    wholes.push(name.clone());
                }
            }
            for name in mounted.into_iter().chain(layered) {
                if name.0 != path && !names.contains(&name) {
                    names.push(name);
                }
            }
        }
        names
    }

    /// In which mount a path is, with its number, and where in that file system.
    fn around(&self, path: &Path) -> Option<(usize, &Mount, PathBuf)> {
        // Of mounts over each other, the last one is seen.
        let around = self.0.iter().enumerate();
        let around = around.filter(|(_, mount)| path.starts_with(&mount.place));
        let (number, mount) =
            around.max_by_key(|(number, mount)| (mount.place.as_os_str().len(), *number))?;
        let below = path.strip_prefix(&mount.place).ok()?;
        Some((number, mount, joined(&mount.root, below)))
    }

    /// What a path of an overlay is called in its layers.
    fn under(&self, path: &Path) -> impl Iterator<Item = PathBuf> {
        let around = self.around(path).into_iter();
        around.flat_map(|(_, mount, in_file_system)| {
            let below = in_file_system.strip_prefix("/").map(PathBuf::from);
            let below = below.unwrap_or_default();
            mount.layers.iter().map(move |layer| joined(layer, &below))
        })
    }

    /// What a path of a layer, or what is in it, is called in the overlay; and whether it is the path itself.
    fn over(&self, path: &Path) -> impl Iterator<Item = (PathBuf, bool)> {
        let all = self.0.iter();
        let layers = all.flat_map(|mount| mount.layers.iter().map(move |layer| (mount, layer)));
        layers.filter_map(move |(mount, layer)| match path.strip_prefix(layer) {
            Ok(below) => mount.shows(&joined(Path::new("/"), below)),
            Err(_) => layer
                .starts_with(path)
                .then(|| (mount.place.clone(), false)),
        })
    }

    /// The other paths at which mounts of its file system show a path or something in it, and whether it is the path itself.
    fn mounted(&self, path: &Path) -> Vec<(PathBuf, bool)> {
        let Some((own, mount, in_file_system)) = self.around(path) else {
            return Vec::new();
        };
        let others = self.0.iter().enumerate();
        let others =
            others.filter(|(number, other)| *number != own && other.device == mount.device);
        others
            .filter_map(|(_, other)| other.shows(&in_file_system))
            .collect()
    }
}

impl Mount {
    /// Where it shows what is at this place of its file system, or a part of that; and whether it is all of it.
    fn shows(&self, in_file_system: &Path) -> Option<(PathBuf, bool)> {
        match in_file_system.strip_prefix(&self.root) {
            Ok(below) => Some((joined(&self.place, below), true)),
            // Only a part of it is mounted there.
            Err(_) if self.root.starts_with(in_file_system) => Some((self.place.clone(), false)),
            Err(_) => None,
        }
    }
}

/// The layers of an overlay, of its options. Relative ones started at a folder that nobody knows any more.
fn layers(options: &[u8]) -> Vec<PathBuf> {
    let options = options.split(|byte| *byte == b',');
    let layers = options.flat_map(|option| {
        let split = option.iter().position(|byte| *byte == b'=');
        let (name, value) = option.split_at(split.unwrap_or(option.len()));
        let value = unescaped(value.get(1..).unwrap_or_default());
        match name {
            b"lowerdir" => separated(&value, Some(b':')),
            b"upperdir" | b"lowerdir+" | b"datadir+" => separated(&value, None),
            _ => Vec::new(),
        }
    });
    layers.filter(|layer| layer.is_absolute()).collect()
}

/// The paths of an option: a backslash stands before what means nothing.
fn separated(value: &Path, by: Option<u8>) -> Vec<PathBuf> {
    let mut paths = vec![Vec::new()];
    let mut bytes = value.as_os_str().as_bytes().iter();
    while let Some(&byte) = bytes.next() {
        if Some(byte) == by {
            paths.push(Vec::new());
            continue;
        }
        let literal = match byte {
            b'\\' => bytes.next().copied().unwrap_or(byte),
            byte => byte,
        };
        if let Some(path) = paths.last_mut() {
            path.push(literal);
        }
    }
    let paths = paths.into_iter().map(OsString::from_vec);
    paths.map(PathBuf::from).collect()
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
    fn the_layers_of_an_overlay_are_other_names() {
        let mounts = Mounts::parse(
            b"\
22 1 254:0 / / rw - ext4 /dev/vda rw
30 22 0:50 / /home/ada rw shared:1 - overlay overlay rw,lowerdir=/low\\134:er:/a\\040b::/data,upperdir=/disk/up,workdir=/disk/work
31 22 0:50 /.ssh /keys rw - overlay overlay rw,lowerdir=/low\\134:er:/a\\040b::/data,upperdir=/disk/up,workdir=/disk/work
32 22 254:0 /disk /mirror rw - ext4 /dev/vda rw
33 22 0:51 / /merged rw - overlay none rw,lowerdir+=/x:y,lowerdir=l/AB:l/CD
",
        );
        let check = |path: &str, expected: &[&str]| {
            let mut names = mounts.other_names_of_all(Path::new(path));
            names.sort();
            let expected: Vec<PathBuf> = expected.iter().map(PathBuf::from).collect();
            assert_eq!(names, expected, "{path}");
        };
        check(
            "/home/ada/.ssh/id",
            &[
                "/a b/.ssh/id",
                "/data/.ssh/id",
                "/disk/up/.ssh/id",
                "/keys/id",
                "/low:er/.ssh/id",
                "/mirror/up/.ssh/id",
            ],
        );
        // From a layer, and from another name of one, the overlay is found.
        for layer in ["/disk/up/.ssh/id", "/mirror/up/.ssh/id"] {
            let names = mounts.other_names_of_all(Path::new(layer));
            for name in ["/home/ada/.ssh/id", "/keys/id", "/low:er/.ssh/id"] {
                assert!(names.contains(&PathBuf::from(name)), "{layer}: {names:?}");
            }
        }
        // What is above a layer is seen there in part.
        let part = mounts.other_names(Path::new("/disk"));
        assert!(part.contains(&PathBuf::from("/home/ada")), "{part:?}");
        check("/merged/f", &["/x:y/f"]);
        check("/etc/shadow", &[]);
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
