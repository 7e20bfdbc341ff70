use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

use super::super::EntryKind;
use super::super::names::remove;
use super::*;

fn hash(text: &str) -> ContentHash {
    ContentHash::of(text.as_bytes())
}

fn put(path: &Path, base: Option<&str>, new: &str) -> Result<(), ReplaceError> {
    replace(path, base.map(hash), new.as_bytes(), |_| Ok(()))
}

fn gone(path: &Path, base: &str, folders: &[PathBuf]) -> Result<(), ReplaceError> {
    remove(path, EntryKind::File, hash(base), folders, |_| Ok(()))
}

fn folder() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let root = fs::canonicalize(folder.path()).unwrap();
    (folder, root)
}

/// The names in a folder.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn a_file_is_replaced_with_its_bits() {
    let (_folder, root) = folder();
    let path = root.join("script");
    for mode in [0o644, 0o755, 0o600, 0o444] {
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        put(&path, Some("old"), "new").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, mode);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    }
    assert_eq!(names(&root), ["script"]);
}

#[test]
fn a_new_file_gets_its_folders() {
    let (_folder, root) = folder();
    let mut made = Vec::new();
    replace(&root.join("a/b/c"), None, b"new", |folders| {
        made = folders.to_vec();
        Ok::<_, ReplaceError>(())
    })
    .unwrap();
    assert_eq!(made, [root.join("a"), root.join("a/b")]);
    assert_eq!(fs::read_to_string(root.join("a/b/c")).unwrap(), "new");
    // Like any program's.
    fs::write(root.join("plain"), "").unwrap();
    let mode = |name: &str| fs::metadata(root.join(name)).unwrap().mode();
    assert_eq!(mode("a/b/c"), mode("plain"));
    gone(&root.join("a/b/c"), "new", &made).unwrap();
    assert_eq!(names(&root), ["plain"]);
}

#[test]
fn nothing_but_the_expected_content_is_replaced() {
    let (_folder, root) = folder();
    let path = root.join("file");
    let changed = |result: Result<(), ReplaceError>| {
        assert!(
            matches!(result, Err(ReplaceError::Changed { .. })),
            "{result:?}"
        );
    };
    changed(put(&path, Some("old"), "new"));
    fs::write(&path, "other").unwrap();
    changed(put(&path, Some("old"), "new"));
    changed(put(&path, None, "new"));
    changed(gone(&path, "old", &[]));
    // In the last moment.
    let late = |base: Option<&str>| {
        replace(&path, base.map(hash), b"new", |_| {
            fs::write(&path, "late").unwrap();
            Ok(())
        })
    };
    changed(late(Some("other")));
    fs::remove_file(&path).unwrap();
    changed(late(None));
    assert_eq!(fs::read_to_string(&path).unwrap(), "late");
    assert_eq!(names(&root), ["file"]);
}

#[test]
fn nothing_but_the_expected_file_is_removed() {
    let (_folder, root) = folder();
    let (path, other) = (root.join("file"), root.join("other"));
    std::fs::write(&other, "old").unwrap();
    let refused = |what: &str| {
        let removed = gone(&path, "old", &[]);
        assert!(
            matches!(removed, Err(ReplaceError::Changed { .. })),
            "{what}: {removed:?}"
        );
    };
    refused("nothing");
    std::os::unix::fs::symlink(&other, &path).unwrap();
    refused("a link to the same content");
    std::fs::remove_file(&path).unwrap();
    std::fs::create_dir(&path).unwrap();
    refused("a folder");
    std::fs::remove_dir(&path).unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, &path, Mode::from_raw_mode(0o600)).unwrap();
    refused("a pipe");
    std::fs::remove_file(&path).unwrap();
    // Changed while it is being kept.
    std::fs::write(&path, "old").unwrap();
    let removed = remove(&path, EntryKind::File, hash("old"), &[], |_| {
        std::fs::write(&path, "new").unwrap();
        Ok::<_, ReplaceError>(())
    });
    assert!(matches!(removed, Err(ReplaceError::Changed { .. })));
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "new");
    // One name of several.
    std::fs::remove_file(&path).unwrap();
    std::fs::hard_link(&other, &path).unwrap();
    gone(&path, "old", &[]).unwrap();
    assert_eq!(names(&root), ["other"]);
    assert_eq!(std::fs::read_to_string(&other).unwrap(), "old");
}

#[test]
fn links_are_never_followed() {
    let (_folder, root) = folder();
    fs::create_dir(root.join("real")).unwrap();
    fs::write(root.join("real/file"), "old").unwrap();
    symlink("real/file", root.join("link")).unwrap();
    symlink("real", root.join("folder")).unwrap();
    symlink("real/none", root.join("nowhere")).unwrap();
    for (path, base) in [
        ("link", Some("old")),
        ("link", None),
        ("folder/file", Some("old")),
        ("folder/new", None),
        ("folder/new/new", None),
        ("nowhere", None),
    ] {
        put(&root.join(path), base, "new").unwrap_err();
    }
    // A folder becomes a link while everything is ready: the file stays in the folder that was opened.
    fs::create_dir(root.join("moved")).unwrap();
    fs::write(root.join("moved/file"), "old").unwrap();
    replace(&root.join("moved/file"), Some(hash("old")), b"new", |_| {
        fs::rename(root.join("moved"), root.join("away")).unwrap();
        symlink("real", root.join("moved")).unwrap();
        Ok::<_, ReplaceError>(())
    })
    .unwrap();
    assert_eq!(fs::read_to_string(root.join("away/file")).unwrap(), "new");
    assert_eq!(fs::read_to_string(root.join("real/file")).unwrap(), "old");
    assert_eq!(names(&root.join("real")), ["file"]);
}

#[test]
fn a_failure_leaves_nothing_behind() {
    let (_folder, root) = folder();
    fs::write(root.join("file"), "old").unwrap();
    for (path, base) in [("file", Some("old")), ("new/folder/file", None)] {
        let refused = replace(&root.join(path), base.map(hash), b"new", |_| {
            Err(ReplaceError::Busy {
                path: root.join(path),
            })
        });
        assert!(matches!(refused, Err(ReplaceError::Busy { .. })));
    }
    assert_eq!(names(&root), ["file"]);
    assert_eq!(fs::read_to_string(root.join("file")).unwrap(), "old");
}

#[test]
fn what_a_killed_one_left_is_swept_and_a_living_one_is_not() {
    let (_folder, root) = folder();
    let path = root.join("file");
    fs::write(&path, "old").unwrap();
    fs::write(root.join(temporary_name(OsStr::new("file"))), "half").unwrap();
    replace(&path, Some(hash("old")), b"new", |_| {
        let second = put(&path, Some("old"), "second");
        assert!(
            matches!(second, Err(ReplaceError::Busy { .. })),
            "{second:?}"
        );
        Ok::<_, ReplaceError>(())
    })
    .unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "new");
    assert_eq!(names(&root), ["file"]);
}

#[test]
fn the_longest_names_have_room() {
    let (_folder, root) = folder();
    let long = "ü".repeat(127) + "x";
    let path = root.join(&long);
    put(&path, None, "new").unwrap();
    put(&path, Some("new"), "newer").unwrap();
    assert_eq!(names(&root), [long]);
}

/// While a folder and a link to another one change places as fast as they can, what is written, removed and created
/// lands in the folder or nowhere.
#[test]
fn a_folder_that_is_swapped_for_a_link_leads_nowhere() {
    let (_folder, root) = folder();
    let (inside, outside, link) = (root.join("in"), root.join("out"), root.join("link"));
    for folder in [&inside, &outside] {
        std::fs::create_dir(folder).unwrap();
        std::fs::write(folder.join("a.txt"), "0").unwrap();
    }
    std::os::unix::fs::symlink(&outside, &link).unwrap();
    let is_over = std::sync::atomic::AtomicBool::new(false);
    let (mut written, mut refused) = (0, 0);
    std::thread::scope(|scope| {
        let swapper = scope.spawn(|| {
            while !is_over.load(std::sync::atomic::Ordering::Relaxed) {
                let flags = RenameFlags::EXCHANGE;
                rustix::fs::renameat_with(rustix::fs::CWD, &inside, rustix::fs::CWD, &link, flags)
                    .unwrap();
            }
        });
        let mut holds = "0".to_owned();
        let mut number = 0;
        // A swapper that failed would leave one of the two numbers as it is.
        while (written < 50 || refused < 50) && !swapper.is_finished() {
            number += 1;
            let new = number.to_string();
            let outcome = put(&inside.join("a.txt"), Some(&holds), &new);
            match outcome {
                Ok(()) => {
                    holds = new;
                    written += 1;
                }
                Err(_) => refused += 1,
            }
            let made = inside.join(format!("sub/{number}.txt"));
            if put(&made, None, "new").is_ok() {
                // It may fail as well; what it must not do is to remove something else.
                let _ = gone(&made, "new", &[inside.join("sub")]);
            }
        }
        is_over.store(true, std::sync::atomic::Ordering::Relaxed);
        swapper.join().unwrap();
    });
    assert_eq!(names(&outside), ["a.txt"]);
    assert_eq!(std::fs::read_to_string(outside.join("a.txt")).unwrap(), "0");
}
