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
