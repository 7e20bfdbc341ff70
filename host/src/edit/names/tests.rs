use std::fs;
use std::os::unix::fs::symlink;

use super::super::found::Found;
use super::super::prepare::look;
use super::*;

fn folder() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let root = fs::canonicalize(folder.path()).unwrap();
    (folder, root)
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

fn remove_found(path: &Path, found: &Found) -> Result<(), ReplaceError> {
    remove(path, found.kind(), found.hash(), &[], |_| Ok(()))
}

fn is_changed<T: std::fmt::Debug>(result: Result<T, ReplaceError>, what: &str) {
    assert!(
        matches!(result, Err(ReplaceError::Changed { .. })),
        "{what}: {result:?}"
    );
}

#[test]
fn a_link_is_removed_and_what_it_leads_to_is_not() {
    let (_folder, root) = folder();
    let link = root.join("link");
    for to in ["file", "folder", "nowhere", ".."] {
        fs::write(root.join("file"), "old").unwrap();
        let _ = fs::create_dir(root.join("folder"));
        symlink(to, &link).unwrap();
        assert_eq!(look(&link).unwrap(), Some(Found::Link(to.into())));
        is_changed(remove_found(&link, &Found::Link("other".into())), to);
        let found = Found::Link(to.into());
        remove_found(&link, &found).unwrap();
        assert_eq!(names(&root), ["file", "folder"], "{to}");
        is_changed(remove_found(&link, &found), to);
        // It comes back as it was, and never over something else.
        put_link(&link, Path::new(to)).unwrap();
        assert_eq!(fs::read_link(&link).unwrap(), Path::new(to));
        is_changed(put_link(&link, Path::new(to)), to);
        fs::remove_file(&link).unwrap();
    }
    is_changed(put_link(&root.join("file"), Path::new("x")), "a file");
}

/// What comes under the name after it was looked at last is somebody else's, and stays.
#[test]
fn what_is_put_in_the_place_of_a_file_stays() {
    let (_folder, root) = folder();
    let path = root.join("file");
    fs::write(&path, "old").unwrap();
    let place = Place::open(&path, false).unwrap();
    let seen = place.current(Some(ContentHash::of(b"old"))).unwrap();
    fs::rename(&path, root.join("elsewhere")).unwrap();
    fs::write(&path, "old").unwrap();
    let id = seen.unwrap().id;
    let base = ContentHash::of(b"old");
    is_changed(place.take_away_file(id, base), "another file");
    assert_eq!(names(&root), ["elsewhere", "file"]);
    assert_eq!(fs::read_to_string(&path).unwrap(), "old");
    // Neither is what somebody writes into the same file.
    let id = place.current(Some(base)).unwrap().unwrap().id;
    fs::write(&path, "new").unwrap();
    is_changed(place.take_away_file(id, base), "another content");
    assert_eq!(names(&root), ["elsewhere", "file"]);
    assert_eq!(fs::read_to_string(&path).unwrap(), "new");
    // Where the name is taken meanwhile, the file that had it is kept under another, which the error names.
    let error = place.take_away(|_| {
        fs::write(&path, "third").unwrap();
        false
    });
    let Err(ReplaceError::LeftAside { aside, .. }) = error else {
        panic!("{error:?}");
    };
    assert_eq!(fs::read_to_string(&path).unwrap(), "third");
    place
        .take_away_file(place.id_of(place.name).unwrap(), ContentHash::of(b"third"))
        .unwrap();
    assert_eq!(fs::read_to_string(aside).unwrap(), "new");
}

#[test]
fn what_cannot_be_removed_gets_its_name_back() {
    let (_folder, root) = folder();
    let path = root.join("file");
    fs::write(&path, "old").unwrap();
    let place = Place::open(&path, false).unwrap();
    let error = place.take_away(|aside| {
        // A folder cannot be removed like a file.
        fs::remove_file(root.join(aside)).unwrap();
        fs::create_dir(root.join(aside)).unwrap();
        true
    });
    assert!(matches!(error, Err(ReplaceError::Io { .. })), "{error:?}");
    assert_eq!(names(&root), ["file"]);
}

#[test]
fn what_a_killed_one_left_of_a_removal_is_kept() {
    let (_folder, root) = folder();
    let path = root.join("file");
    let removed = || remove_found(&path, &Found::File(b"old".to_vec()));
    let aside = root.join(aside_name("file".as_ref()));
    let kept = || {
        let names = names(&root);
        names.iter().filter(|name| name.ends_with(".kept")).count()
    };
    for left in ["file", "link"] {
        let leave = || match left {
            "file" => fs::write(&aside, "old").unwrap(),
            _ => symlink("nowhere", &aside).unwrap(),
        };
        leave();
        fs::write(&path, "old").unwrap();
        removed().unwrap();
        assert!(!path.exists() && aside.symlink_metadata().is_err());
        assert_eq!(kept(), 1, "{left}: a removal");
        leave();
        super::super::replace::replace(&path, None, b"old", |_| Ok::<_, ReplaceError>(())).unwrap();
        assert_eq!(kept(), 2, "{left}: a new file");
        removed().unwrap();
        for name in names(&root) {
            fs::remove_file(root.join(name)).unwrap();
        }
    }
    // One that is at work is left alone.
    fs::write(&path, "old").unwrap();
    let place = Place::open(&path, false).unwrap();
    let working = Temporary::make(&place, None, None).unwrap();
    assert!(matches!(removed(), Err(ReplaceError::Busy { .. })));
    drop(working);
    removed().unwrap();
    assert_eq!(names(&root), [""; 0]);
}

#[test]
fn a_file_is_renamed_where_nothing_is() {
    let (_folder, root) = folder();
    let (path, to) = (root.join("file"), root.join("a/b/new"));
    fs::write(&path, "old").unwrap();
    let base = ContentHash::of(b"old");
    let renamed = |to: &Path, base| rename(&path, to, base, |_, _| Ok::<_, ReplaceError>(()));
    // Nothing is left of an attempt.
    is_changed(renamed(&to, ContentHash::of(b"other")), "another content");
    let stopped = rename(&path, &to, base, |_, made| {
        assert_eq!(made, [root.join("a"), root.join("a/b")]);
        Err(ReplaceError::NotFound { path: to.clone() })
    });
    assert!(stopped.is_err());
    assert_eq!(names(&root), ["file"]);
    symlink("nowhere", root.join("link")).unwrap();
    fs::create_dir(root.join("folder")).unwrap();
    for name in ["link", "folder", "file"] {
        let taken = renamed(&root.join(name), base);
        assert!(
            matches!(taken, Err(ReplaceError::Exists { .. })),
            "{name}: {taken:?}"
        );
    }
    renamed(&to, base).unwrap();
    assert_eq!(fs::read_to_string(&to).unwrap(), "old");
    // A link is not what was shown, whatever it leads to.
    symlink(&to, &path).unwrap();
    is_changed(renamed(&root.join("other"), base), "a link");
    assert_eq!(names(&root), ["a", "file", "folder", "link"]);
}

#[test]
fn only_empty_folders_are_removed() {
    let (_folder, root) = folder();
    let path = root.join("a/folder");
    make_folder(&path, Some(0o750), |made| {
        assert_eq!(made, [root.join("a")]);
        Ok::<_, ReplaceError>(())
    })
    .unwrap();
    let mode = fs::metadata(&path).unwrap();
    assert_eq!(std::os::unix::fs::MetadataExt::mode(&mode) & 0o777, 0o750);
    let removed = |path: &Path| remove_found(path, &Found::Folder);
    fs::write(path.join("file"), "").unwrap();
    assert!(matches!(removed(&path), Err(ReplaceError::NotEmpty { .. })));
    fs::remove_file(path.join("file")).unwrap();
    symlink("folder", root.join("a/link")).unwrap();
    assert!(matches!(
        removed(&root.join("a/link")),
        Err(ReplaceError::NotFolder { .. })
    ));
    removed(&path).unwrap();
    assert!(matches!(removed(&path), Err(ReplaceError::NotFound { .. })));
    assert_eq!(names(&root.join("a")), ["link"]);
}
