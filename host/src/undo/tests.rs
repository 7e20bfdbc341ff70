use std::fs;

use super::*;
use crate::edit::EntryKind;
use crate::edit::replace::replace;

/// A project and a journal.
struct Place {
    _folder: tempfile::TempDir,
    root: PathBuf,
    journal: Journal,
    /// Which one edits.
    session: &'static str,
}

impl Place {
    fn new() -> Place {
        let folder = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(folder.path()).unwrap();
        fs::create_dir(root.join("project")).unwrap();
        Place {
            journal: Journal::new(&root.join("undo")),
            session: "a session",
            _folder: folder,
            root,
        }
    }

    fn project(&self) -> PathBuf {
        self.root.join("project")
    }

    fn file(&self, name: &str) -> PathBuf {
        self.project().join(name)
    }

    fn text(&self, name: &str) -> Option<String> {
        fs::read_to_string(self.file(name)).ok()
    }

    /// Writes a file as a tool does in some turn.
    fn edit(&self, turn: u64, name: &str, new: &str) {
        self.keep(turn, name, new, true).unwrap();
    }

    /// Keeps an edit; it happens or the program is killed before.
    fn keep(&self, turn: u64, name: &str, new: &str, happens: bool) -> Result<(), UndoError> {
        let path = self.file(name);
        let content = fs::read(&path).ok();
        let base = content.as_deref().map(ContentHash::of);
        let mut kept = Ok(());
        let replaced = replace(&path, base, new.as_bytes(), |new_folders| {
            kept = self
                .journal
                .keep(&Kept {
                    session: self.session,
                    turn,
                    project: &self.project(),
                    path: &path,
                    base,
                    new: Some(ContentHash::of(new.as_bytes())),
                    kind: EntryKind::File,
                    mode: None,
                    new_folders,
                    content: content.as_deref().unwrap_or_default(),
                })
                .map(drop);
            if happens && kept.is_ok() {
                Ok(())
            } else {
                Err(ReplaceError::Changed { path: path.clone() })
            }
        });
        assert_eq!(replaced.is_ok(), happens && kept.is_ok());
        kept
    }

    /// Removes a file as a tool does in some turn; it happens or the program is killed before.
    fn remove(&self, turn: u64, name: &str, happens: bool) {
        let path = self.file(name);
        let content = fs::read(&path).unwrap();
        let base = ContentHash::of(&content);
        let removed = remove(&path, EntryKind::File, base, &[], |mode| {
            let kept = Kept {
                session: self.session,
                turn,
                project: &self.project(),
                path: &path,
                base: Some(base),
                new: None,
                kind: EntryKind::File,
                mode,
                new_folders: &[],
                content: &content,
            };
            self.journal.keep(&kept).unwrap();
            match happens {
                true => Ok(()),
                false => Err(ReplaceError::Changed { path: path.clone() }),
            }
        });
        assert_eq!(removed.is_ok(), happens);
        assert_eq!(path.exists(), !happens);
    }

    /// Removes a folder as a tool does in some turn.
    fn remove_folder(&self, turn: u64, name: &str) {
        let path = self.file(name);
        let base = Found::Folder.hash();
        let removed = remove(&path, EntryKind::Folder, base, &[], |mode| {
            let kept = Kept {
                session: self.session,
                turn,
                project: &self.project(),
                path: &path,
                base: Some(base),
                new: None,
                kind: EntryKind::Folder,
                mode,
                new_folders: &[],
                content: &[],
            };
            self.journal.keep(&kept).unwrap();
            Ok::<_, ReplaceError>(())
        });
        removed.unwrap();
    }

    /// What was taken back, or the error.
    fn undo(&self) -> Result<Vec<(String, UndoOutcome)>, String> {
        let undone = self
            .journal
            .undo_last(self.session, &self.project())
            .map_err(|error| {
                error
                    .to_string()
                    .replace(self.project().to_str().unwrap(), "")
            })?;
        let files = undone.map(|undone| undone.files).unwrap_or_default();
        Ok(files
            .into_iter()
            .map(|(path, outcome)| {
                let name = path.strip_prefix(self.project()).unwrap();
                (name.display().to_string(), outcome)
            })
            .collect())
    }
}

fn files(files: &[(&str, UndoOutcome)]) -> Result<Vec<(String, UndoOutcome)>, String> {
    Ok(files
        .iter()
        .map(|(name, outcome)| ((*name).to_owned(), *outcome))
        .collect())
}

#[test]
fn turns_are_taken_back_one_after_the_other() {
    let place = Place::new();
    assert_eq!(place.undo(), files(&[]));
    fs::write(place.file("a"), "a0").unwrap();
    place.edit(1, "a", "a1");
    place.edit(1, "new/folder/b", "b1");
    place.edit(1, "a", "a2");
    place.edit(2, "a", "a3");

    assert_eq!(place.undo(), files(&[("a", UndoOutcome::Restored)]));
    assert_eq!(place.text("a").as_deref(), Some("a2"));
    // Another Dunlin sees the same journal.
    let again = Place {
        journal: Journal::new(&place.root.join("undo")),
        ..place
    };
    let expected = files(&[
        ("a", UndoOutcome::Restored),
        ("new/folder/b", UndoOutcome::Removed),
    ]);
    assert_eq!(again.undo(), expected);
    assert_eq!(again.text("a").as_deref(), Some("a0"));
    assert!(!again.file("new").exists());
    assert_eq!(again.undo(), files(&[]));
}

#[test]
fn all_since_a_turn_is_taken_back_together() {
    let place = Place::new();
    fs::write(place.file("a"), "a0").unwrap();
    place.edit(9, "a", "a1");
    place.edit(10, "a", "a2");
    place.edit(10, "b", "b1");
    place.edit(12, "a", "a3");
    place.edit(12, "folder/c", "c1");
    let other = Place {
        journal: Journal::new(&place.root.join("undo")),
        session: "another session",
        _folder: tempfile::tempdir().unwrap(),
        root: place.root.clone(),
    };
    other.edit(11, "theirs", "x");
    let edited = |turn: u64| {
        let edited = place
            .journal
            .edited_since(place.session, &place.project(), turn);
        let edited = edited.unwrap().into_iter();
        let names = |paths: Vec<PathBuf>| -> Vec<String> {
            let names = paths
                .iter()
                .filter_map(|it| it.strip_prefix(place.project()).ok());
            names.map(|it| it.display().to_string()).collect()
        };
        let edited = edited.map(|it| (it.turn, names(it.paths).join(" ")));
        edited.collect::<Vec<_>>()
    };
    let last = (12, "a folder/c".to_owned());
    assert_eq!(edited(12), std::slice::from_ref(&last));
    assert_eq!(edited(11), std::slice::from_ref(&last));
    assert_eq!(edited(10), [(10, "a b".to_owned()), last]);
    assert_eq!(edited(13), []);
    // Somebody's change of one file keeps all of them.
    fs::write(place.file("b"), "theirs").unwrap();
    let shown = |turn: u64| {
        let project = place.project();
        place
            .journal
            .edited_since(place.session, &project, turn)
            .unwrap()
    };
    let since_as_shown = |turn: u64, shown: &[EditedFiles]| {
        let project = place.project();
        let undone = place
            .journal
            .undo_since(place.session, &project, turn, shown);
        undone.map_err(|error| error.to_string())
    };
    let since = |turn: u64| since_as_shown(turn, &shown(turn));
    // Only what was shown is taken back.
    let refused = since_as_shown(10, &shown(11)).unwrap_err();
    assert_eq!(
        refused,
        "nothing was taken back: files were edited meanwhile"
    );
    let refused = since(10).unwrap_err();
    assert!(
        refused.starts_with("nothing was taken back: ") && refused.contains("/b changed"),
        "{refused}"
    );
    assert_eq!(place.text("a").as_deref(), Some("a3"));
    fs::write(place.file("b"), "b1").unwrap();
    let undone = since(10).unwrap().unwrap();
    assert_eq!(undone.turns, [10, 12]);
    assert_eq!(place.text("a").as_deref(), Some("a1"));
    assert!(!place.file("b").exists() && !place.file("folder").exists());
    assert_eq!(place.text("theirs").as_deref(), Some("x"));
    assert_eq!(since(10), Ok(None));
    assert_eq!(place.undo(), files(&[("a", UndoOutcome::Restored)]));
    assert_eq!(place.text("a").as_deref(), Some("a0"));
}

/// What is left of the edits since a turn is not all of them.
#[test]
fn what_made_room_is_known() {
    let place = Place::new();
    let large = "x".repeat(MAX_BYTES_OF_A_FILE);
    let turns = journal::MAX_BYTES / MAX_BYTES_OF_A_FILE as u64 + 3;
    for turn in 1..=turns {
        place.edit(turn, "a", &format!("{turn}{large}"));
    }
    let edited = |session: &str, turn: u64| {
        let edited = place.journal.edited_since(session, &place.project(), turn);
        edited
            .map(|turns| turns.len())
            .map_err(|error| error.to_string())
    };
    let dropped =
        "nothing was taken back: some of the edits since then are too long ago to be kept";
    assert_eq!(edited(place.session, 1), Err(dropped.to_owned()));
    assert_eq!(edited("another session", 1), Ok(0));
    let first = (1..=turns).find(|turn| edited(place.session, *turn).is_ok());
    let first = first.expect("a turn whose edits are kept");
    assert_eq!(
        edited(place.session, first),
        Ok((turns - first + 1) as usize)
    );
    let project = place.project();
    let shown = place.journal.edited_since(place.session, &project, first);
    let shown = shown.unwrap();
    let undone = place
        .journal
        .undo_since(place.session, &project, first, &shown);
    assert_eq!(undone.unwrap().unwrap().files.len(), 1);
    let before = format!("{}{large}", first - 1);
    assert!(
        place.text("a") == Some(before),
        "not what was there before turn {first}"
    );
}

/// Each step is a letter: `w` writes the file, `r` removes it, `k` is killed before it removes it.
#[test]
fn removals_are_taken_back() {
    use std::os::unix::fs::PermissionsExt;
    let check = |before: Option<&str>, steps: &str, outcome: UndoOutcome| {
        let place = Place::new();
        let path = place.file("a");
        if let Some(text) = before {
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        }
        for (count, step) in steps.chars().enumerate() {
            match step {
                'w' => place.edit(1, "a", &format!("a{count}")),
                step => place.remove(1, "a", step == 'r'),
            }
        }
        assert_eq!(place.undo(), files(&[("a", outcome)]), "{before:?} {steps}");
        assert_eq!(place.text("a").as_deref(), before, "{steps}");
        if before.is_some() {
            let mode = fs::metadata(&path).unwrap().permissions().mode();
            assert_eq!(mode & 0o7777, 0o640, "{steps}");
        }
        assert_eq!(place.undo(), files(&[]), "{before:?} {steps}");
    };
    check(Some("old"), "r", UndoOutcome::Restored);
    check(Some("old"), "k", UndoOutcome::WasSo);
    check(Some("old"), "wr", UndoOutcome::Restored);
    check(Some("old"), "rw", UndoOutcome::Restored);
    check(Some("old"), "wrwr", UndoOutcome::Restored);
    check(Some(""), "r", UndoOutcome::Restored);
    check(None, "wr", UndoOutcome::WasSo);
    check(None, "wrw", UndoOutcome::Removed);
    check(None, "wk", UndoOutcome::Removed);
}

#[test]
fn a_removal_is_not_taken_back_over_something_new() {
    let place = Place::new();
    fs::create_dir(place.file("folder")).unwrap();
    for name in ["a", "folder/b"] {
        fs::write(place.file(name), "old").unwrap();
    }
    place.remove(1, "folder/b", true);
    fs::remove_dir(place.file("folder")).unwrap();
    place.remove(1, "a", true);
    let refused = Err("nothing was taken back: /a changed since Dunlin edited it".to_owned());
    let nothing_happened = || {
        assert_eq!(place.undo(), refused);
        assert!(!place.file("folder").exists());
    };
    fs::write(place.file("a"), "somebody's").unwrap();
    nothing_happened();
    assert_eq!(place.text("a").as_deref(), Some("somebody's"));
    fs::remove_file(place.file("a")).unwrap();
    fs::create_dir(place.file("a")).unwrap();
    nothing_happened();
    fs::remove_dir(place.file("a")).unwrap();
    // A link to nothing is found only when the file is put in its place: what was restored before goes again.
    std::os::unix::fs::symlink("nowhere", place.file("a")).unwrap();
    assert!(place.undo().is_err());
    assert!(fs::symlink_metadata(place.file("a")).unwrap().is_symlink());
    assert!(!place.file("folder").exists());
    fs::remove_file(place.file("a")).unwrap();
    // Its folder is made again.
    let expected = files(&[
        ("folder/b", UndoOutcome::Restored),
        ("a", UndoOutcome::Restored),
    ]);
    assert_eq!(place.undo(), expected);
    assert_eq!(place.text("folder/b").as_deref(), Some("old"));
}

/// What the folder of a file was made for is gone again, or the folder is a file by now.
#[test]
fn folders_of_removed_files_are_taken_back() {
    let place = Place::new();
    place.edit(1, "new/d/f", "f1");
    place.remove(1, "new/d/f", true);
    assert_eq!(place.undo(), files(&[("new/d/f", UndoOutcome::WasSo)]));
    assert!(!place.file("new").exists());

    fs::create_dir(place.file("d")).unwrap();
    fs::write(place.file("d/f"), "old").unwrap();
    place.remove(2, "d/f", true);
    place.remove_folder(2, "d");
    place.edit(2, "d", "a file");
    // What somebody else made of the folder is refused.
    fs::write(place.file("d"), "somebody's").unwrap();
    let refused = "nothing was taken back: /d changed since Dunlin edited it";
    assert_eq!(place.undo(), Err(refused.to_owned()));
    fs::write(place.file("d"), "a file").unwrap();
    let expected = files(&[("d/f", UndoOutcome::Restored), ("d", UndoOutcome::Restored)]);
    assert_eq!(place.undo(), expected);
    assert_eq!(place.text("d/f").as_deref(), Some("old"));
}

#[test]
fn what_somebody_changed_since_is_left_alone() {
    let place = Place::new();
    place.edit(1, "a", "a1");
    place.edit(1, "b", "b1");
    fs::write(place.file("b"), "somebody's").unwrap();
    let refused = "nothing was taken back: /b changed since Dunlin edited it";
    assert_eq!(place.undo(), Err(refused.to_owned()));
    assert_eq!(place.text("a").as_deref(), Some("a1"));
    fs::remove_file(place.file("a")).unwrap();
    fs::create_dir(place.file("a")).unwrap();
    let refused = "nothing was taken back: /a, /b changed since Dunlin edited them";
    assert_eq!(place.undo(), Err(refused.to_owned()));
    // Put right again, it goes.
    fs::remove_dir(place.file("a")).unwrap();
    fs::write(place.file("b"), "b1").unwrap();
    let expected = files(&[("a", UndoOutcome::WasSo), ("b", UndoOutcome::Removed)]);
    assert_eq!(place.undo(), expected);
}

/// Between two edits of a turn somebody changed the file, and the model read it again: that change is not
/// ours to take back.
#[test]
fn a_change_in_between_is_left_alone() {
    let place = Place::new();
    place.edit(1, "a", "a1");
    fs::write(place.file("a"), "somebody's").unwrap();
    place.edit(1, "a", "somebody's and ours");
    let refused = "nothing was taken back: /a changed since Dunlin edited it";
    assert_eq!(place.undo(), Err(refused.to_owned()));
}

#[test]
fn an_edit_that_never_happened_is_no_obstacle() {
    let place = Place::new();
    fs::write(place.file("a"), "a0").unwrap();
    place.edit(1, "a", "a1");
    place.keep(1, "a", "a2", false).unwrap();
    place.keep(1, "b", "b1", false).unwrap();
    let expected = files(&[("a", UndoOutcome::Restored), ("b", UndoOutcome::WasSo)]);
    assert_eq!(place.undo(), expected);
    assert_eq!(place.text("a").as_deref(), Some("a0"));
    assert_eq!(place.text("b"), None);
}

#[test]
fn other_sessions_are_not_touched() {
    let mut place = Place::new();
    place.edit(1, "a", "a1");
    place.session = "another session";
    place.edit(1, "b", "b1");
    place.session = "a session";
    assert_eq!(place.undo(), files(&[("a", UndoOutcome::Removed)]));
    assert_eq!(place.text("b").as_deref(), Some("b1"));
    assert_eq!(place.undo(), files(&[]));
    // What another session edited since goes first.
    place.edit(2, "b", "b2");
    place.session = "another session";
    let refused = "nothing was taken back: /b changed since Dunlin edited it".to_owned();
    assert_eq!(place.undo(), Err(refused));
    place.session = "a session";
    assert_eq!(place.undo(), files(&[("b", UndoOutcome::Restored)]));
    place.session = "another session";
    assert_eq!(place.undo(), files(&[("b", UndoOutcome::Removed)]));
}

#[test]
fn other_projects_are_not_touched() {
    let place = Place::new();
    place.edit(1, "a", "a1");
    let elsewhere = place
        .journal
        .undo_last(place.session, &place.root.join("elsewhere"));
    assert_eq!(elsewhere.unwrap(), None);
    assert_eq!(place.text("a").as_deref(), Some("a1"));
}

#[test]
fn when_one_file_cannot_be_restored_none_is() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new();
    let mode_of = |name| fs::metadata(place.file(name)).unwrap().permissions().mode() & 0o7777;
    let set_mode = |name, mode| {
        fs::set_permissions(place.file(name), fs::Permissions::from_mode(mode)).unwrap();
    };
    fs::create_dir(place.file("locked")).unwrap();
    for name in ["a", "locked/b"] {
        fs::write(place.file(name), "0").unwrap();
        place.edit(1, name, "1");
    }
    fs::create_dir(place.file("c")).unwrap();
    place.edit(1, "c/new", "1");
    place.edit(1, "made/new", "1");
    place.edit(1, "empty/gone", "1");
    place.remove(1, "empty/gone", true);
    // Removed and made again, with other bits.
    fs::write(place.file("again"), "0").unwrap();
    set_mode("again", 0o640);
    place.remove(1, "again", true);
    place.edit(1, "again", "1");
    let bits = [
        ("a", 0o750),
        ("c/new", 0o711),
        ("made", 0o700),
        ("made/new", 0o600),
        ("empty", 0o750),
        ("again", 0o755),
    ];
    for (name, mode) in bits {
        set_mode(name, mode);
    }
    let lock = |mode| fs::set_permissions(place.file("locked"), fs::Permissions::from_mode(mode));
    lock(0o500).unwrap();
    if fs::write(place.file("locked/probe"), "").is_ok() {
        // Whoever may do anything is not stopped by bits: a temporary file in use stands in the way as well.
        fs::remove_file(place.file("locked/probe")).unwrap();
        let name = crate::edit::sibling::temporary_name(std::ffi::OsStr::new("b"));
        fs::create_dir(place.file("locked").join(name)).unwrap();
    }
    let refused = "nothing was taken back: /locked/b cannot be restored";
    assert_eq!(place.undo(), Err(refused.to_owned()));
    lock(0o700).unwrap();
    for name in ["a", "locked/b", "c/new", "made/new", "again"] {
        assert_eq!(place.text(name).as_deref(), Some("1"), "{name}");
    }
    for (name, mode) in bits {
        assert_eq!(mode_of(name), mode, "{name}");
    }
}

#[test]
fn the_journal_is_private_and_bounded() {
    use std::os::unix::fs::MetadataExt;
    let place = Place::new();
    let large = "x".repeat(MAX_BYTES_OF_A_FILE);
    let turns = journal::MAX_BYTES as usize / MAX_BYTES_OF_A_FILE + 3;
    for turn in 0..turns {
        place.edit(turn as u64, "a", &format!("{turn}{large}"));
    }
    let mut bytes = 0;
    for entry in fs::read_dir(place.root.join("undo")).unwrap() {
        let meta = entry.unwrap().metadata().unwrap();
        assert_eq!(meta.mode() & 0o777, 0o600);
        bytes += meta.len();
    }
    assert!(bytes <= journal::MAX_BYTES, "{bytes}");
    let mode = fs::metadata(place.root.join("undo")).unwrap().mode();
    assert_eq!(mode & 0o777, 0o700);
    // The newest are kept.
    assert_eq!(place.undo(), files(&[("a", UndoOutcome::Restored)]));
}

#[test]
fn a_turn_without_end_is_stopped() {
    let place = Place::new();
    let large = "x".repeat(MAX_BYTES_OF_A_FILE);
    let mut turn = 0;
    let refused = loop {
        turn += 1;
        assert!(turn < 20, "it never ends");
        if let Err(error) = place.keep(1, "a", &format!("{turn}{large}"), true) {
            break error.to_string();
        }
    };
    let expected = "this turn has edited more than can be taken back (1000 files or 64 MiB); continue in a new turn";
    assert_eq!(refused, expected);
    assert_eq!(place.undo(), files(&[("a", UndoOutcome::Removed)]));
}

const MAX_BYTES_OF_A_FILE: usize = 7 * 1024 * 1024;

#[test]
fn a_damaged_file_is_named() {
    let place = Place::new();
    place.edit(1, "a", "a1");
    let folder = place.root.join("undo");
    let kept = fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .find(|path| path.extension().is_some_and(|suffix| suffix == "undo"));
    let kept = kept.unwrap();
    fs::write(&kept, "{}").unwrap();
    let error = place
        .journal
        .undo_last(place.session, &place.project())
        .unwrap_err();
    let expected = format!(
        "{} is damaged; remove it to take back what lies before",
        kept.display()
    );
    assert_eq!(error.to_string(), expected);
}
