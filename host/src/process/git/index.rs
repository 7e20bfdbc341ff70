//! Reads what a command has written of an index, to tell one that git can be trusted with.
//!
//! Git verifies a path when it is added to an index and not when an index is read: what an index names is written by
//! the user's next `git checkout`, outside of the project or among the hooks, too. So every path is verified here,
//! as git does before it adds one. The format is that of [gitformat-index]; whatever is not understood is not trusted.
//!
//! [gitformat-index]: https://git-scm.com/docs/gitformat-index

use std::path::Path;

use super::read::read_short;
use super::settings;

/// Bytes of an index that is read: some millions of files.
const MAX_INDEX_BYTES: usize = 512 * 1024 * 1024;

/// Bytes of a `MERGE_RR`: one line for each file in conflict.
const MAX_CONFLICTS_BYTES: usize = 1024 * 1024;

/// Bytes of SHA-1 and of SHA-256.
const HASH_BYTES: (usize, usize) = (20, 32);

/// Bytes of times, numbers and sizes before the hash of an entry, and where its mode is among them.
const STATUS_BYTES: usize = 40;
const MODE_AT: usize = 24;

/// The mode of a folder of which a sparse index holds no files.
const FOLDER_MODE: u32 = 0o040_000;

/// Entries begin at multiples of this before version 4.
const ENTRY_ALIGNMENT: usize = 8;

/// The flag of an entry with a second half of flags.
const EXTENDED: u16 = 0x4000;

/// Whether the index at this path, of a repository kept in `folder`, names nothing but files of its worktree.
pub(super) fn is_trustworthy(path: &Path, folder: &Path) -> bool {
    let Ok(bytes) = read_short(path, MAX_INDEX_BYTES) else {
        return false;
    };
    let hash_bytes = match settings::uses_sha256(&folder.join("config")) {
        true => HASH_BYTES.1,
        false => HASH_BYTES.0,
    };
    read(&bytes, hash_bytes).is_some()
}

/// Whether a `MERGE_RR` (`HASH[.NUMBER] TAB PATH NUL`, repeated) names nothing but files of the worktree. Git writes to them.
pub(super) fn conflicts_are_trustworthy(path: &Path) -> bool {
    let bytes = read_short(path, MAX_CONFLICTS_BYTES).unwrap_or_else(|_| vec![0]);
    let mut rest = bytes.as_slice();
    while !rest.is_empty() {
        let Some(named) = split_at_nul(&mut rest) else {
            return false;
        };
        let tab = named.iter().position(|byte| *byte == b'\t');
        if !tab.is_some_and(|tab| is_of_worktree(&named[tab + 1..])) {
            return false;
        }
    }
    true
}

/// Reads a whole index. `None`: it is broken, or holds a path that git would not add.
fn read(bytes: &[u8], hash_bytes: usize) -> Option<()> {
    let (content, _checksum) = bytes.split_at_checked(bytes.len().checked_sub(hash_bytes)?)?;
    let mut rest = content;
    if take(&mut rest, 4)? != b"DIRC" {
        return None;
    }
    let version = number(&mut rest)?;
    if !(2..=4).contains(&version) {
        return None;
    }
    let mut name = Vec::new();
    let mut has_empty_name = false;
    for _ in 0..number(&mut rest)? {
        let start = rest.len();
        let status = take(&mut rest, STATUS_BYTES)?;
        let mode = u32::from_be_bytes(status.get(MODE_AT..MODE_AT + 4)?.try_into().ok()?);
        take(&mut rest, hash_bytes)?;
        if short_number(&mut rest)? & EXTENDED != 0 {
            if version == 2 {
                return None;
            }
            short_number(&mut rest)?;
        }
        if version == 4 {
            let kept = name.len().checked_sub(offset(&mut rest)?)?;
            name.truncate(kept);
            name.extend_from_slice(split_at_nul(&mut rest)?);
        } else {
            name.clear();
            name.extend_from_slice(split_at_nul(&mut rest)?);
            // At least one NUL was taken.
            let over = (start - rest.len()) % ENTRY_ALIGNMENT;
            let padding = (ENTRY_ALIGNMENT - over) % ENTRY_ALIGNMENT;
            if take(&mut rest, padding)?.iter().any(|byte| *byte != 0) {
                return None;
            }
        }
        has_empty_name |= name.is_empty();
        let path = match (mode == FOLDER_MODE, name.strip_suffix(b"/")) {
            (true, Some(path)) => path,
            _ => &name,
        };
        if !path.is_empty() && !is_of_worktree(path) {
            return None;
        }
    }
    let mut is_split = false;
    while !rest.is_empty() {
        is_split |= take(&mut rest, 4)? == b"link";
        let length = number(&mut rest)?;
        take(&mut rest, usize::try_from(length).ok()?)?;
    }
    // Only a split index has entries without a name: those of the shared one that they replace.
    (is_split || !has_empty_name).then_some(())
}

/// Whether git would add this path: relative, without `.` and `..`, and not in a `.git`.
fn is_of_worktree(path: &[u8]) -> bool {
    let mut parts = path.split(|byte| *byte == b'/');
    parts.all(|part| {
        !part.is_empty() && part != b"." && part != b".." && !part.eq_ignore_ascii_case(b".git")
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
            bytes.extend([0; STATUS_BYTES + HASH_BYTES.0]);
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
        let is_trusted = |path: &str| read(&index(2, &["a", path]), HASH_BYTES.0).is_some();
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
        ] {
            assert!(!is_trusted(path), "{path}");
        }
    }

    #[test]
    fn a_broken_index_is_not_trusted() {
        let whole = index(2, &["a", "b/c"]);
        for length in 0..whole.len() {
            assert_eq!(read(&whole[..length], HASH_BYTES.0), None, "{length}");
        }
        for version in [0, 1, 5] {
            assert_eq!(read(&index(version, &["a"]), HASH_BYTES.0), None);
        }
        assert_eq!(read(&whole, HASH_BYTES.1), None);
    }

    #[test]
    fn what_git_writes_is_trusted() {
        let folder = tempfile::tempdir().unwrap();
        for format in ["sha1", "sha256"] {
            let project = folder.path().join(format);
            let git = |arguments: &str| {
                let mut git = Command::new("git");
                git.args(arguments.split(' ')).current_dir(&project);
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
            for entry in fs::read_dir(&kept).unwrap().flatten() {
                let name = entry.file_name();
                if name.to_string_lossy().starts_with("sharedindex.") {
                    assert!(is_trustworthy(&entry.path(), &kept), "shared, {format}");
                }
            }
            git("update-index --no-split-index");
            git("-c user.name=A -c user.email=a@example.org commit -q -m one");
            git("sparse-checkout set --cone --sparse-index src/deep");
            assert!(is_trusted(), "sparse, {format}");
        }
    }

    #[test]
    fn conflicts_name_files_of_the_worktree() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("MERGE_RR");
        let check = |content: &str, expected: bool| {
            fs::write(&path, content).unwrap();
            assert_eq!(conflicts_are_trustworthy(&path), expected, "{content:?}");
        };
        check("", true);
        check("0123abcd\ta\x000123abcd.1\tsrc/b\0", true);
        check("0123abcd\t../a\0", false);
        check("0123abcd\ta", false);
        check("0123abcd a\0", false);
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
            let _ = read(&bytes, HASH_BYTES.0);
            let _ = read(&bytes, HASH_BYTES.1);
        }
    }
}
