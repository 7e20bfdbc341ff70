use super::*;

struct Fixture {
    _folder: tempfile::TempDir,
    store: Store,
}

fn fixture() -> Fixture {
    let folder = tempfile::tempdir().unwrap();
    Fixture {
        store: Store::new(folder.path().join("apps")),
        _folder: folder,
    }
}

/// The name of the app that a session works on.
fn of_session(store: &Store, session: &str) -> Option<String> {
    let (apps, _) = store.all().unwrap();
    let mut apps = apps.into_iter();
    let app = apps.find(|app| app.session() == Some(session))?;
    Some(app.name().to_owned())
}

/// The versions that have a folder, sorted.
fn numbers(app: &StoredApp) -> Vec<u32> {
    let entries = fs::read_dir(app.folder().join(VERSIONS)).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut numbers: Vec<u32> = names.map(|name| name.parse().unwrap()).collect();
    numbers.sort_unstable();
    numbers
}

fn parts(texts: &[(Part, &str)]) -> Parts {
    let mut parts = Parts::default();
    for (part, text) in texts {
        parts.set(*part, (*text).to_owned());
    }
    parts
}

#[test]
fn an_app_has_versions() {
    let Fixture { store, _folder } = fixture();
    assert_eq!(store.names().unwrap(), Vec::<String>::new());
    let first = parts(&[(Part::Html, "<title>Tides</title>"), (Part::Main, "1")]);
    let mut app = store.create("Tide table", Some("s1"), &first).unwrap();
    // What it calls itself is its title; its name stays the one it began with.
    assert_eq!((app.name(), app.title()), ("tide-table", "Tides"));
    assert_eq!((app.version(), app.earlier()), (1, 0));
    assert_eq!(app.undo().unwrap(), None);

    let second = parts(&[(Part::Html, "<title>Ebb</title>"), (Part::Main, "2")]);
    assert_eq!(app.save(&second).unwrap(), 2);
    assert_eq!(app.title(), "Ebb");
    let again = store.open("tide-table").unwrap();
    assert_eq!(again.parts().unwrap(), second);
    assert_eq!(again.id(), app.id());
    assert_eq!(of_session(&store, "s1").as_deref(), Some("tide-table"));
    assert_eq!(of_session(&store, "s2"), None);

    assert_eq!(app.undo().unwrap(), Some(1));
    assert_eq!(app.parts().unwrap(), first);
    assert_eq!(app.title(), "Tides");
    // A version that was undone is not overwritten.
    assert_eq!(app.save(&parts(&[(Part::Renderer, "3")])).unwrap(), 3);
    assert_eq!(app.parts().unwrap().get(Part::Main), Some("1"));
    assert_eq!(app.undo().unwrap(), Some(1));

    app.set_session("s2").unwrap();
    assert_eq!(of_session(&store, "s2").as_deref(), Some("tide-table"));

    app.leave_session().unwrap();
    assert_eq!(of_session(&store, "s2"), None);

    let other = store.create("Tide table", None, &first).unwrap();
    assert_eq!(other.name(), "tide-table-2");
    assert_ne!(other.id(), app.id());
    assert_eq!(store.names().unwrap(), ["tide-table", "tide-table-2"]);
    store.delete("tide-table").unwrap();
    assert_eq!(store.names().unwrap(), ["tide-table-2"]);
    assert!(matches!(
        store.open("tide-table"),
        Err(StoreError::Unknown(_))
    ));
    // Nothing is left aside.
    assert_eq!(fs::read_dir(&store.folder).unwrap().count(), 1);
}

#[test]
fn what_two_programs_save_is_kept() {
    let Fixture { store, _folder } = fixture();
    let first = parts(&[(Part::Html, "0")]);
    let app = store.create("a", None, &first).unwrap();
    std::thread::scope(|scope| {
        for part in [Part::Renderer, Part::Main] {
            let mut app = app.clone();
            scope.spawn(move || {
                for _ in 0..20 {
                    app.save(&parts(&[(part, part.name())])).unwrap();
                }
            });
        }
    });
    let app = store.open("a").unwrap();
    assert_eq!((app.version(), app.earlier()), (41, 40));
    assert_eq!(app.parts().unwrap().iter().count(), 3);
}

#[test]
fn versions_that_nothing_leads_to_go() {
    let Fixture { store, _folder } = fixture();
    let mut app = store
        .create("a", None, &parts(&[(Part::Html, "0")]))
        .unwrap();
    let save = |app: &mut StoredApp| app.save(&parts(&[(Part::Main, "1")])).unwrap();
    for _ in 1..MAX_VERSIONS {
        save(&mut app);
    }
    for _ in 0..50 {
        app.undo().unwrap().unwrap();
    }
    // The number of a version that was undone is not used again, and the oldest ones stay as long as there is room.
    assert_eq!(save(&mut app), 101);
    assert_eq!((app.record.versions[0], app.earlier()), (1, 50));
    assert_eq!(numbers(&app), app.record.versions);
    for _ in 0..MAX_VERSIONS {
        save(&mut app);
    }
    assert_eq!(app.earlier(), MAX_VERSIONS - 1);
    assert_eq!(numbers(&app), app.record.versions);
    while app.undo().unwrap().is_some() {
        app.parts().unwrap();
    }
}

#[test]
fn what_cannot_be_read_has_a_reason() {
    let Fixture { store, _folder } = fixture();
    let app = store
        .create("a", None, &parts(&[(Part::Html, "0")]))
        .unwrap();
    let record = app.folder().join(RECORD);
    let good = fs::read_to_string(&record).unwrap();
    for (text, expected) in [
        ("", "EOF while parsing"),
        ("[]", "invalid"),
        (&good.replace("\"format\": 1", "\"format\": 2"), "format 2"),
        (&good.replace(app.id(), "../../x"), "its id"),
        (&good.replace('1', ""), "cannot read"),
        (&" ".repeat(100_000), "more than 65536 bytes"),
    ] {
        fs::write(&record, text).unwrap();
        let error = store.open("a").unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
        assert!(error.contains("app.json"), "{error}");
        // It is named beside those that can be read.
        let (apps, broken) = store.all().unwrap();
        assert_eq!((apps.len(), broken.len()), (0, 1));
        assert_eq!(of_session(&store, "s"), None);
    }
    fs::write(&record, good).unwrap();
    fs::remove_dir_all(app.folder().join(VERSIONS)).unwrap();
    let error = app.parts().unwrap_err().to_string();
    assert!(error.contains("no part of the app in"), "{error}");
    for name in ["..", "a/../a", "", "A"] {
        let error = store.open(name).unwrap_err();
        assert!(matches!(error, StoreError::Unknown(_)), "{name}");
    }
}

#[test]
fn links_and_pipes_in_an_app_are_not_followed() {
    use std::os::unix::fs::symlink;
    let Fixture { store, _folder } = fixture();
    let first = parts(&[(Part::Html, "<title>Tides</title>"), (Part::Main, "1")]);
    let outside = _folder.path().join("outside.txt");
    let others = _folder.path().join("others");
    fs::create_dir_all(others.join("7")).unwrap();
    fs::write(others.join("7/index.html"), "of somebody else").unwrap();
    for (file, is_folder) in [
        ("app.json", false),
        ("lock", false),
        ("versions/1/main.js", false),
        ("versions/1", true),
        ("versions", true),
    ] {
        let mut app = store.create("Tides", None, &first).unwrap();
        let path = app.folder().join(file);
        let original = app.folder().join("original");
        fs::rename(&path, &original).unwrap();
        // What it leads to would do.
        match is_folder {
            true => symlink(&original, &path).unwrap(),
            false => {
                fs::copy(&original, &outside).unwrap();
                symlink(&outside, &path).unwrap();
            }
        }
        let before = fs::read(&outside).unwrap();
        let is_refused = |error: StoreError| match error {
            StoreError::Io { path: at, source } => {
                assert_eq!(at, path);
                assert!(source.to_string().contains("it is a link"), "{source}");
            }
            other => panic!("{file}: {other}"),
        };
        if file == "app.json" {
            is_refused(store.open("tides").unwrap_err());
        }
        if file.starts_with("versions") {
            is_refused(app.parts().unwrap_err());
        }
        is_refused(app.save(&parts(&[(Part::Main, "2")])).unwrap_err());
        assert_eq!(fs::read(&outside).unwrap(), before, "{file}");
        // A pipe is not waited for.
        fs::remove_file(&path).unwrap();
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, mode, 0).unwrap();
        is_refused(app.save(&parts(&[(Part::Main, "2")])).unwrap_err());
        fs::remove_dir_all(app.folder()).unwrap();
    }
    // Versions elsewhere are not cleaned up.
    let mut app = store.create("Tides", None, &first).unwrap();
    fs::remove_dir_all(app.folder().join(VERSIONS)).unwrap();
    symlink(&others, app.folder().join(VERSIONS)).unwrap();
    app.save(&first).unwrap_err();
    app.undo().unwrap_err();
    assert!(others.join("7/index.html").exists());
}

#[test]
fn the_lock_keeps_what_is_in_it() {
    let Fixture { store, _folder } = fixture();
    let first = parts(&[(Part::Html, "<title>Tides</title>")]);
    let mut app = store.create("Tides", None, &first).unwrap();
    let lock = app.folder().join(LOCK);
    fs::write(&lock, "text").unwrap();
    app.set_session("s1").unwrap();
    assert_eq!(fs::read_to_string(&lock).unwrap(), "text");
}

#[test]
fn a_copy_is_not_taken_for_the_app() {
    let Fixture { store, _folder } = fixture();
    let first = parts(&[(Part::Html, "<title>Tides</title>")]);
    let app = store.create("Tides", Some("s1"), &first).unwrap();
    store.create("Ebb", None, &first).unwrap();
    let copy = app.folder().with_file_name("copy");
    fs::create_dir(&copy).unwrap();
    fs::copy(app.folder().join(RECORD), copy.join(RECORD)).unwrap();
    for (name, other) in [("tides", "copy"), ("copy", "tides")] {
        let error = store.open(name).unwrap_err();
        let is_same = matches!(
            &error,
            StoreError::SameId { name: a, other: b, .. } if (a.as_str(), b.as_str()) == (name, other)
        );
        assert!(is_same, "{error}");
        assert!(store.delete(name).is_err());
    }
    let (apps, broken) = store.all().unwrap();
    assert_eq!(
        apps.iter().map(StoredApp::name).collect::<Vec<_>>(),
        ["ebb"]
    );
    assert_eq!(broken.len(), 2, "{broken:?}");
    fs::remove_dir_all(copy).unwrap();
    assert_eq!(store.open("tides").unwrap().id(), app.id());
}
