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
    assert_eq!(
        store.of_session("s1").unwrap().unwrap().name(),
        "tide-table"
    );
    assert!(store.of_session("s2").unwrap().is_none());

    assert_eq!(app.undo().unwrap(), Some(1));
    assert_eq!(app.parts().unwrap(), first);
    assert_eq!(app.title(), "Tides");
    // A version that was undone is not overwritten.
    assert_eq!(app.save(&parts(&[(Part::Renderer, "3")])).unwrap(), 3);
    assert_eq!(app.parts().unwrap().get(Part::Main), Some("1"));
    assert_eq!(app.undo().unwrap(), Some(1));

    app.set_session("s2").unwrap();
    assert_eq!(
        store.of_session("s2").unwrap().unwrap().name(),
        "tide-table"
    );

    app.leave_session().unwrap();
    assert!(store.of_session("s2").unwrap().is_none());

    let other = store.create("Tide table", None, &first).unwrap();
    assert_eq!(other.name(), "tide-table-2");
    assert_ne!(other.id(), app.id());
    assert_eq!(store.names().unwrap(), ["tide-table", "tide-table-2"]);
    assert_eq!(store.delete("tide-table").unwrap(), app.id());
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
fn the_oldest_versions_go() {
    let Fixture { store, _folder } = fixture();
    let mut app = store
        .create("a", None, &parts(&[(Part::Html, "0")]))
        .unwrap();
    for _ in 0..MAX_VERSIONS + 5 {
        app.save(&parts(&[(Part::Main, "1")])).unwrap();
    }
    assert_eq!(app.earlier(), MAX_VERSIONS - 1);
    let kept = numbers(&app.folder().join(VERSIONS)).unwrap();
    assert_eq!(kept, app.record.versions);
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
        // It can be seen, and the others still work.
        assert_eq!(store.names().unwrap(), ["a"]);
        assert!(store.of_session("s").unwrap().is_none());
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
