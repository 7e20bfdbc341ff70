//! Reads what a command has written of an index, to tell one that git can be trusted with.
//!
//! Git verifies a path when it is added to an index and not when an index is read: what an index names is written by
//! the user's next `git checkout`, outside of the project or among the hooks, too. So every path is verified here,
//! as git does before it adds one. The format is that of [gitformat-index]; whatever is not understood is not trusted.
//!
//! [gitformat-index]: https://git-scm.com/docs/gitformat-index

use std::borrow::Cow;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use super::read::read_short;
use super::settings;

/// Bytes of an index that is read: a million files.
const MAX_INDEX_BYTES: usize = 128 * 1024 * 1024;

/// Bytes of a path: the kernel takes no longer ones.
const MAX_PATH_BYTES: usize = 4096;

/// Bytes of all paths together: several times those of the largest projects. Each path may repeat the one before.
const MAX_NAME_BYTES: usize = 64 * 1024 * 1024;

/// Bytes of an index of several packs: one of a hundred million objects has more.
const MAX_PACKS_BYTES: usize = 512 * 1024 * 1024;

/// Where the index of several packs has the number of its chunks, and where their table begins.
const CHUNKS_AT: usize = 6;
const CHUNK_TABLE_AT: usize = 12;

/// Bytes of an entry of that table: what it is, and where it begins.
const CHUNK_BYTES: usize = 12;

/// Bytes of a list of tables of references: git keeps them few.
const MAX_TABLES_BYTES: usize = 1024 * 1024;

/// Bytes of SHA-1 and of SHA-256.
const HASH_BYTES: (usize, usize) = (20, 32);

/// Bytes of times, numbers and sizes before the hash of an entry, and where its mode is among them.
const STATUS_BYTES: usize = 40;
const MODE_AT: usize = 24;

/// The mode of a folder of which a sparse index holds no files.
const FOLDER_MODE: u32 = 0o040_000;

/// The mode of a submodule.
const SUBMODULE_MODE: u32 = 0o160_000;

/// Entries begin at multiples of this before version 4.
const ENTRY_ALIGNMENT: usize = 8;

/// What git writes for files, programs, links, submodules and folders.
const MODES: [u32; 5] = [0o100_644, 0o100_755, 0o120_000, SUBMODULE_MODE, FOLDER_MODE];

/// The flag of an entry with a second half of flags.
const EXTENDED: u16 = 0x4000;

/// The flags of that half: a file that is to be added, and one that is not in the worktree.
const MORE_FLAGS: u16 = 0x6000;

/// Where the flags have the number of the side of a conflict, and the length of the name.
const STAGE: u16 = 0x3000;
const MAX_NAME_LENGTH: u16 = 0x0fff;

/// The version of the table of blocks.
const BLOCKS_VERSION: u32 = 1;

/// Whether the index at this path names nothing but files of its worktree. `folder` has the settings of its repository.
pub(super) fn is_trustworthy(path: &Path, folder: &Path) -> bool {
    let Ok(bytes) = read_short(path, MAX_INDEX_BYTES) else {
        return false;
    };
    read(&bytes, hash_bytes(folder)).is_some()
}

/// What an index names that is not a file, relative to its worktree.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Named {
    pub(super) submodules: Vec<PathBuf>,
    /// Folders whose files and submodules a sparse index does not name.
    pub(super) folders: Vec<PathBuf>,
}

/// The submodules that an index names, or the other one that it shares entries with. `None`: one of them cannot be read.
pub(super) fn submodules(path: &Path, folder: &Path) -> Option<Named> {
    let hash_bytes = hash_bytes(folder);
    let mut named = Named::default();
    let shared = named.add(path, hash_bytes)?;
    if let Some(hash) = shared {
        let name: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
        let is_shared_again = named.add(
            &path.with_file_name(format!("sharedindex.{name}")),
            hash_bytes,
        )?;
        if is_shared_again.is_some() {
            return None;
        }
    }
    Some(named)
}

impl Named {
    /// Adds what an index names. Returns the hash of the one that it shares entries with.
    fn add(&mut self, path: &Path, hash_bytes: usize) -> Option<Option<Vec<u8>>> {
        let bytes = read_short(path, MAX_INDEX_BYTES).ok()?;
        let entries = read(&bytes, hash_bytes)?;
        for path in entries.submodules {
            // It takes the place of a shared entry: which one is not read.
            if path.is_empty() {
                return None;
            }
            self.submodules.push(OsString::from_vec(path).into());
        }
        let folders = entries.folders.into_iter();
        self.folders
            .extend(folders.map(|path| PathBuf::from(OsString::from_vec(path))));
        Some(entries.shared)
    }
}

/// How long hashes are in the repository whose settings are in `folder`.
fn hash_bytes(folder: &Path) -> usize {
    match settings::uses_sha256(&folder.join("config")) {
        true => HASH_BYTES.1,
        false => HASH_BYTES.0,
    }
}

/// Whether a list of tables of references names nothing but tables beside it: `0x…-0x…-….ref` in each line.
pub(super) fn tables_are_trustworthy(path: &Path) -> bool {
    let text = read_short(path, MAX_TABLES_BYTES).ok();
    let text = text.and_then(|text| String::from_utf8(text).ok());
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '-';
    text.is_some_and(|text| {
        text.lines().all(|line| {
            let name = line.strip_suffix(".ref").unwrap_or_default();
            !name.is_empty() && name.chars().all(is_name)
        })
    })
}

/// Whether the index of several packs ([gitformat-pack]) names nothing but packs beside it: git removes those that it names.
///
/// [gitformat-pack]: https://git-scm.com/docs/gitformat-pack
pub(super) fn packs_are_trustworthy(path: &Path) -> bool {
    let bytes = read_short(path, MAX_PACKS_BYTES);
    bytes.is_ok_and(|bytes| pack_names(&bytes).is_some_and(are_names_of_packs))
}

/// The chunk with the names of packs. `None`: there is none, or more than one.
fn pack_names(bytes: &[u8]) -> Option<&[u8]> {
    let count = usize::from(*bytes.get(CHUNKS_AT)?);
    let mut table = bytes.get(CHUNK_TABLE_AT..)?;
    let mut chunks = Vec::new();
    // One more entry says where the last one ends.
    for _ in 0..=count {
        let mut entry = take(&mut table, CHUNK_BYTES)?;
        let name = take(&mut entry, 4)?;
        chunks.push((
            name,
            usize::try_from(u64::from_be_bytes(entry.try_into().ok()?)).ok()?,
        ));
    }
    let mut named = chunks.windows(2).filter_map(|pair| match pair {
        [(b"PNAM", start), (_, end)] => Some(bytes.get(*start..*end)),
        _ => None,
    });
    let names = named.next()??;
    named.next().is_none().then_some(names)
}

fn are_names_of_packs(names: &[u8]) -> bool {
    // The rest up to a multiple of four is filled.
    let mut names = names
        .split(|byte| *byte == 0)
        .filter(|name| !name.is_empty());
    names.all(|name| {
        let name = name.strip_prefix(b"pack-").unwrap_or_default();
        let hash = name.strip_suffix(b".idx").or(name.strip_suffix(b".pack"));
        hash.is_some_and(|hash| !hash.is_empty() && hash.iter().all(u8::is_ascii_hexdigit))
    })
}

/// Reads a whole index exactly as git does. `None`: it is broken or unusual, or holds a path that git would not add.
fn read(bytes: &[u8], hash_bytes: usize) -> Option<Entries> {
    let (content, _checksum) = bytes.split_at_checked(bytes.len().checked_sub(hash_bytes)?)?;
    let mut rest = content;
    if take(&mut rest, 4)? != b"DIRC" {
        return None;
    }
    let version = number(&mut rest)?;
    if !(2..=4).contains(&version) {
        return None;
    }
    let mut entries = Entries::default();
    for _ in 0..number(&mut rest)? {
        let start = content.len() - rest.len();
        entries.read(&mut rest, start, version, hash_bytes)?;
    }
    let end = content.len() - rest.len();
    while !rest.is_empty() {
        let name = take(&mut rest, 4)?;
        let length = usize::try_from(number(&mut rest)?).ok()?;
        let mut extension = take(&mut rest, length)?;
        match name {
            b"FSMN" | b"REUC" | b"TREE" | b"UNTR" | b"sdir" => {}
            b"link" => {
                let hash = take(&mut extension, hash_bytes)?;
                // Without one, nothing is shared.
                let is_split = hash.iter().any(|byte| *byte != 0);
                entries.shared = is_split.then(|| hash.to_owned());
            }
            // Git reads with several threads, from where these two say that entries begin and end.
            b"EOIE" if usize::try_from(number(&mut extension)?).ok()? == end => {}
            b"IEOT" if entries.are_split_by(extension)? => {}
            _ => return None,
        }
    }
    // Only a split index has entries without a name: those of the shared one that they replace.
    (entries.shared.is_some() || !entries.has_empty_name).then_some(entries)
}

/// The entries that were read so far.
#[derive(Default)]
struct Entries {
    name: Vec<u8>,
    /// Bytes of all names so far.
    name_bytes: usize,
    stage: u16,
    has_empty_name: bool,
    submodules: Vec<Vec<u8>>,
    /// Folders whose entries are left out.
    folders: Vec<Vec<u8>>,
    /// The hash of the index that holds the other entries.
    shared: Option<Vec<u8>>,
    /// Where each begins, and whether its name is written without regard to the one before.
    starts: Vec<(usize, bool)>,
}

impl Entries {
    fn read(
        &mut self,
        rest: &mut &[u8],
        start: usize,
        version: u32,
        hash_bytes: usize,
    ) -> Option<()> {
        let before = rest.len();
        let status = take(rest, STATUS_BYTES)?;
        let mode = u32::from_be_bytes(status.get(MODE_AT..MODE_AT + 4)?.try_into().ok()?);
        take(rest, hash_bytes)?;
        let flags = short_number(rest)?;
        if flags & EXTENDED != 0 && (version == 2 || short_number(rest)? & !MORE_FLAGS != 0) {
            return None;
        }
        let last = self.name.clone();
        let kept = match version {
            4 => self.name.len().checked_sub(offset(rest)?)?,
            _ => 0,
        };
        self.name.truncate(kept);
        self.name.extend_from_slice(split_at_nul(rest)?);
        self.name_bytes += self.name.len();
        if self.name.len() > MAX_PATH_BYTES || self.name_bytes > MAX_NAME_BYTES {
            return None;
        }
        if version < 4 {
            // At least one NUL was taken.
            let over = (before - rest.len()) % ENTRY_ALIGNMENT;
            let padding = (ENTRY_ALIGNMENT - over) % ENTRY_ALIGNMENT;
            if take(rest, padding)?.iter().any(|byte| *byte != 0) {
                return None;
            }
        }
        // Git goes by this length and not by the NUL, unless the name is longer than it can say.
        if usize::from(flags & MAX_NAME_LENGTH) != self.name.len().min(MAX_NAME_LENGTH.into()) {
            return None;
        }
        let stage = flags & STAGE;
        let is_after = (last.as_slice(), self.stage) < (self.name.as_slice(), stage);
        let is_first = self.starts.is_empty();
        let path = match (mode, self.name.strip_suffix(b"/")) {
            (FOLDER_MODE, Some(path)) => path,
            (FOLDER_MODE, None) => return None,
            _ => &self.name,
        };
        let is_path = path.is_empty() || is_of_worktree(path);
        if !MODES.contains(&mode) || !is_path || !(is_first || is_after || path.is_empty()) {
            return None;
        }
        self.has_empty_name |= path.is_empty();
        match mode {
            SUBMODULE_MODE => self.submodules.push(path.to_owned()),
            FOLDER_MODE => self.folders.push(path.to_owned()),
            _ => {}
        }
        self.stage = stage;
        self.starts.push((start, kept == 0));
        Some(())
    }

    /// Whether a table of blocks (where one begins, how many entries it has) divides the entries as they are.
    fn are_split_by(&self, mut table: &[u8]) -> Option<bool> {
        if number(&mut table)? != BLOCKS_VERSION {
            return None;
        }
        let mut next = 0_usize;
        while !table.is_empty() {
            let begin = usize::try_from(number(&mut table)?).ok()?;
            let (start, is_whole) = *self.starts.get(next)?;
            if begin != start || !is_whole {
                return None;
            }
            next = next.checked_add(usize::try_from(number(&mut table)?).ok()?)?;
        }
        Some(next == self.starts.len())
    }
}

/// Whether git would add this path: relative, without `.` and `..`, and not in a `.git`.
fn is_of_worktree(path: &[u8]) -> bool {
    let mut parts = path.split(|byte| *byte == b'/');
    parts.all(|part| {
        // Some file systems ignore letters that nobody sees.
        let ascii = match part.is_ascii() {
            true => Cow::Borrowed(part),
            false => part.iter().copied().filter(u8::is_ascii).collect(),
        };
        // Windows, and its file systems elsewhere, take `.git. ` and `git~1` for `.git`.
        let trimmed = ascii.trim_ascii_end().strip_suffix(b".");
        let plain = std::iter::successors(trimmed, |it| it.trim_ascii_end().strip_suffix(b"."));
        let plain = plain.last().unwrap_or(&ascii).trim_ascii_end();
        let is_git = [&b".git"[..], b"git~1"]
            .iter()
            .any(|git| plain.eq_ignore_ascii_case(git));
        !part.is_empty() && part != b"." && part != b".." && !is_git
    })
}

fn take<'a>(rest: &mut &'a [u8], length: usize) -> Option<&'a [u8]> {
    let (taken, left) = rest.split_at_checked(length)?;
    *rest = left;
    Some(taken)
}

fn number(rest: &mut &[u8]) -> Option<u32> {
    take(rest, 4)?.try_into().ok().map(u32::from_be_bytes)
}

fn short_number(rest: &mut &[u8]) -> Option<u16> {
    take(rest, 2)?.try_into().ok().map(u16::from_be_bytes)
}

/// A number as version 4 and pack files write it: seven bits in each byte, and one is added for each that follows.
fn offset(rest: &mut &[u8]) -> Option<usize> {
    let mut value = 0_usize;
    loop {
        let byte = *take(rest, 1)?.first()?;
        value = value
            .checked_shl(7)?
            .checked_add(usize::from(byte & 0x7f))?;
        if byte & 0x80 == 0 {
            return Some(value);
        }
        value = value.checked_add(1)?;
        if value > MAX_INDEX_BYTES {
            return None;
        }
    }
}

fn split_at_nul<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let end = rest.iter().position(|byte| *byte == 0)?;
    let text = take(rest, end)?;
    take(rest, 1)?;
    Some(text)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::process::Command;

    use proptest::prelude::*;

    use super::*;

    /// Versions 2 and 3 with SHA-1, as git writes them.
    fn index(version: u32, paths: &[&str]) -> Vec<u8> {
        let mut bytes = b"DIRC".to_vec();
        bytes.extend(version.to_be_bytes());
        bytes.extend((paths.len() as u32).to_be_bytes());
        for path in paths {
            let start = bytes.len();
            bytes.extend([0; MODE_AT]);
            bytes.extend(MODES[0].to_be_bytes());
            bytes.extend([0; STATUS_BYTES - MODE_AT - 4 + HASH_BYTES.0]);
            bytes.extend((path.len() as u16).to_be_bytes());
            bytes.extend(path.as_bytes());
            bytes.push(0);
            while !(bytes.len() - start).is_multiple_of(ENTRY_ALIGNMENT) {
                bytes.push(0);
            }
        }
        bytes.extend([0; HASH_BYTES.0]);
        bytes
    }

    #[test]
    fn paths_are_verified_as_git_does() {
        let is_trusted = |path: &str| read(&index(2, &[path]), HASH_BYTES.0).map(drop).is_some();
        for path in ["b", "a/b", ".gitignore", "a/.github", "ä", "...", "a/..b"] {
            assert!(is_trusted(path), "{path}");
        }
        for path in [
            "",
            "/etc/passwd",
            "../b",
            "a/../../b",
            "a/./b",
            "a//b",
            "a/",
            ".git/hooks/pre-commit",
            ".GIT/config",
            "sub/.Git/config",
            ".git",
            ".git. .",
            "GIT~1/config",
            ".g\u{200c}it/hooks/pre-commit",
        ] {
            assert!(!is_trusted(path), "{path}");
        }
    }

    #[test]
    fn packs_are_named_without_their_folder() {
        let index = |names: &[u8], tables: usize| {
            let mut bytes = b"MIDX\x01\x01".to_vec();
            bytes.extend([tables as u8, 0, 0, 0, 0, 1]);
            let start = CHUNK_TABLE_AT + (tables + 1) * CHUNK_BYTES;
            for _ in 0..tables {
                bytes.extend(b"PNAM");
                bytes.extend((start as u64).to_be_bytes());
            }
            bytes.extend([0; 4]);
            bytes.extend(((start + names.len()) as u64).to_be_bytes());
            bytes.extend(names);
            bytes
        };
        let is_trusted = |names: &[u8], tables| {
            pack_names(&index(names, tables)).is_some_and(are_names_of_packs)
        };
        assert!(is_trusted(b"pack-0a.idx\0pack-1b.idx\0\0\0", 1));
        assert!(!is_trusted(b"pack-0a.idx\0", 2));
        assert!(!is_trusted(b"pack-0a.idx\0", 0));
        for name in [
            "../pack-0a.idx",
            "pack-../0a.idx",
            "pack-.idx",
            "0a.idx",
            "pack-0a",
        ] {
            assert!(!is_trusted(name.as_bytes(), 1), "{name}");
        }
        let whole = index(b"pack-0a.idx\0", 1);
        for length in 0..whole.len() {
            assert_eq!(pack_names(&whole[..length]), None, "{length}");
        }
    }

    #[test]
    fn long_paths_do_not_repeat_without_end() {
        // Version 4 keeps the beginning of the path before: each entry is short, and its path is long.
        let mut bytes = b"DIRC".to_vec();
        bytes.extend(4_u32.to_be_bytes());
        let count = MAX_NAME_BYTES / 2000 + 1;
        bytes.extend((count as u32).to_be_bytes());
        for number in 0..count {
            bytes.extend([0; MODE_AT]);
            bytes.extend(MODES[0].to_be_bytes());
            bytes.extend([0; STATUS_BYTES - MODE_AT - 4 + HASH_BYTES.0]);
            bytes.extend(2008_u16.to_be_bytes());
            match number {
                0 => {
                    bytes.push(0);
                    bytes.extend([b'a'; 2000]);
                }
                _ => bytes.push(8),
            }
            bytes.extend(format!("{number:08}\0").bytes());
        }
        bytes.extend([0; HASH_BYTES.0]);
        assert_eq!(read(&bytes, HASH_BYTES.0).map(drop), None);
    }

    #[test]
    fn a_broken_index_is_not_trusted() {
        let whole = index(2, &["a", "b/c"]);
        for length in 0..whole.len() {
            assert_eq!(
                read(&whole[..length], HASH_BYTES.0).map(drop),
                None,
                "{length}"
            );
        }
        for version in [0, 1, 5] {
            assert_eq!(read(&index(version, &["a"]), HASH_BYTES.0).map(drop), None);
        }
        assert_eq!(read(&whole, HASH_BYTES.1).map(drop), None);
    }

    #[test]
    fn what_git_could_read_otherwise_is_not_trusted() {
        let whole = index(2, &["a", "b/c"]);
        assert!(read(&whole, HASH_BYTES.0).map(drop).is_some());
        // The length in the flags says that the name ends before its NUL.
        let mut hidden = whole.clone();
        let flags = 12 + STATUS_BYTES + HASH_BYTES.0;
        hidden[flags + 1] = 0;
        let mut odd_mode = whole.clone();
        odd_mode[12 + MODE_AT + 3] ^= 1;
        let with_extension = |name: &[u8; 4], text: &[u8]| {
            let mut bytes = whole[..whole.len() - HASH_BYTES.0].to_vec();
            bytes.extend(name);
            bytes.extend((text.len() as u32).to_be_bytes());
            bytes.extend(text);
            bytes.extend([0; HASH_BYTES.0]);
            bytes
        };
        let end = (whole.len() - HASH_BYTES.0) as u32;
        let blocks = |begin: u32, count: u32| {
            let numbers = [BLOCKS_VERSION, begin, count];
            numbers
                .iter()
                .flat_map(|n| n.to_be_bytes())
                .collect::<Vec<u8>>()
        };
        for bytes in [
            with_extension(b"TREE", b""),
            with_extension(b"EOIE", &end.to_be_bytes()),
            with_extension(b"IEOT", &blocks(12, 2)),
        ] {
            assert!(read(&bytes, HASH_BYTES.0).map(drop).is_some());
        }
        for bytes in [
            hidden,
            odd_mode,
            with_extension(b"ZZZZ", b"x"),
            with_extension(b"EOIE", &12_u32.to_be_bytes()),
            with_extension(b"IEOT", &blocks(13, 2)),
            with_extension(b"IEOT", &blocks(12, 1)),
            index(2, &["b", "a"]),
            index(2, &["a", "a"]),
        ] {
            assert_eq!(read(&bytes, HASH_BYTES.0).map(drop), None);
        }
    }

    #[test]
    fn what_git_writes_is_trusted() {
        let folder = tempfile::tempdir().unwrap();
        for format in ["sha1", "sha256"] {
            let project = folder.path().join(format);
            let git = |arguments: &str| {
                let mut git = Command::new("git");
                git.args(arguments.split(' ')).current_dir(&project);
                git.env_remove("GIT_DIR")
                    .env("GIT_CONFIG_SYSTEM", "/dev/null");
                let done = git.env("GIT_CONFIG_GLOBAL", "/dev/null").output().unwrap();
                assert!(done.status.success(), "{arguments}: {done:?}");
            };
            fs::create_dir_all(project.join("src/deep")).unwrap();
            git(&format!("init -q --object-format={format}"));
            let long = format!("src/{}", "x".repeat(250));
            for name in ["a", "src/b", "src/deep/ä", "src/deep/c", &long] {
                fs::write(project.join(name), name).unwrap();
            }
            let kept = project.join(".git");
            let is_trusted = || is_trustworthy(&kept.join("index"), &kept);
            git("add a src/b");
            git("add -N src/deep/c");
            assert!(is_trusted(), "version 3, {format}");
            git("add .");
            assert!(is_trusted(), "version 2, {format}");
            git("update-index --index-version 4");
            assert!(is_trusted(), "version 4, {format}");
            git("update-index --split-index");
            fs::write(project.join("src/b"), "other").unwrap();
            git("add src/b");
            assert!(is_trusted(), "split, {format}");
            let mut shared = 0;
            for entry in fs::read_dir(&kept).unwrap().flatten() {
                let name = entry.file_name();
                if name.to_string_lossy().starts_with("sharedindex.") {
                    assert!(is_trustworthy(&entry.path(), &kept), "shared, {format}");
                    shared += 1;
                }
            }
            assert!(shared > 0, "{format}");
            git("update-index --no-split-index");
            git("-c user.name=A -c user.email=a@example.org commit -q -m one");
            git("sparse-checkout set --cone --sparse-index src/deep");
            assert!(is_trusted(), "sparse, {format}");
        }
    }

    proptest! {
        /// Whatever a command leaves is read without a panic.
        #[test]
        fn any_bytes_are_read(
            version in 0_u32..6,
            count in 0_u32..4,
            more in proptest::collection::vec(any::<u8>(), 0..400),
        ) {
            let mut bytes = b"DIRC".to_vec();
            bytes.extend(version.to_be_bytes());
            bytes.extend(count.to_be_bytes());
            bytes.extend(more);
            let _ = read(&bytes, HASH_BYTES.0).map(drop);
            let _ = read(&bytes, HASH_BYTES.1).map(drop);
        }
    }
}
