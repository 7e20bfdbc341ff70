//! What a program may use, and how it is asked about.

use super::*;
use crate::limits::{
    APP_COUNT_PERIOD, MAX_APP_FETCHES, MAX_APP_STORE_BYTES, MAX_UNDECLARED_QUESTIONS,
};

/// Handlers that do what their arguments say; a failure is its name.
const USES: &str = "
    const named = (use) => async (argument) => { try { return await use(argument); } catch (e) { return e.name; } };
    dunlin.handle('read', named((path) => dunlin.files.readText(path)));
    dunlin.handle('write', named(([path, text]) => dunlin.files.writeText(path, text)));
    dunlin.handle('list', named(async (path) => (await dunlin.files.list(path)).map((e) => e.name)));
    dunlin.handle('fetch', named(async (url) => (await fetch(url)).status));
    dunlin.handle('get', named((key) => dunlin.store.get(key)));
    dunlin.handle('set', named(([key, value]) => dunlin.store.set(key, value)));
    dunlin.handle('refusal', async (path) => dunlin.files.readText(path));
";

const DENIED: &str = "\"PermissionDeniedError\"";

async fn invoke(app: &AppProgram, name: &str, arguments: &str) -> String {
    app.invoke(name, arguments).await.unwrap()
}

#[tokio::test]
async fn what_nothing_allows_is_asked_under_its_name() {
    let place = Place::new();
    for (name, arguments, what) in [
        ("read", "\"../outside.txt\"", "read '{root}/outside.txt'"),
        ("read", "\".env\"", "read '{root}/project/.env'"),
        ("list", "\"..\"", "read '{root}'"),
        (
            "write",
            r#"["new.txt","a"]"#,
            "edit file '{root}/project/new.txt'",
        ),
        (
            "fetch",
            "\"http://127.0.0.1:9/x\"",
            "read 'http://127.0.0.1:9/x'",
        ),
        (
            "fetch",
            "\"http://localhost:9/\"",
            "read 'http://localhost:9/'",
        ),
        (
            "fetch",
            "\"https://example.com/?q=1\"",
            "read 'https://example.com/?q=1'",
        ),
    ] {
        let ask = Answers::new(false, Scope::Once);
        let (app, _heard) = place.open_as("tide-table", USES, ask.clone());
        assert_eq!(invoke(&app, name, arguments).await, DENIED, "{name}");
        let root = place.path("");
        let root = root.display().to_string();
        let what = what.replace("{root}", root.trim_end_matches('/'));
        let wording = ask.wordings();
        assert_eq!(wording.len(), 1, "{name} {arguments}: {wording:?}");
        assert!(
            wording[0].starts_with("Allow app 'tide-table' to ") && wording[0].contains(&what),
            "{wording:?} {what}"
        );
        assert!(!wording[0].contains("announce"), "{wording:?}");
        let question = ask.questions.lock().pop().unwrap();
        assert_eq!(question.tool, "app 'tide-table'");
    }
    // What no user can allow is not asked about.
    let ask = Answers::new(true, Scope::Once);
    let (app, _heard) = place.open_as("tide-table", USES, ask.clone());
    for (name, arguments) in [
        ("read", "\"../tool.permissions.json\"".to_owned()),
        ("list", "\"../data/stores\"".to_owned()),
        ("fetch", "\"http://169.254.169.254/latest\"".to_owned()),
        ("read", format!("\"/proc/{}/environ\"", std::process::id())),
    ] {
        assert_eq!(invoke(&app, name, &arguments).await, DENIED, "{arguments}");
    }
    assert_eq!(ask.wordings(), [""; 0]);
    // The project may be read; paths start there.
    assert_eq!(invoke(&app, "read", "\"notes.txt\"").await, "\"Grüße\"");
    let error = thrown(
        place
            .open(USES)
            .0
            .invoke("refusal", "\"../outside.txt\"")
            .await,
    );
    assert_eq!(
        error.to_string(),
        "PermissionDeniedError: permission to read '../outside.txt' was denied (line 9, column 68)"
    );
    let audit = place.audit();
    assert!(
        audit.contains(r#""tool":"app 'tide-table'","plugin":"app.tide-table""#),
        "{audit}"
    );
}

#[tokio::test]
async fn what_it_was_granted_is_its_own() {
    let place = Place::new();
    let outside = "\"../outside.txt\"";
    for (scope, lasts) in [
        (Scope::Once, false),
        (Scope::Session, true),
        (Scope::Always, true),
    ] {
        let place = Place::new();
        let ask = Answers::new(true, scope);
        let (app, _heard) = place.open_as("a", USES, ask.clone());
        for _ in 0..2 {
            assert_eq!(invoke(&app, "read", outside).await, "\"far away\"");
        }
        assert_eq!(ask.wordings().len(), if lasts { 1 } else { 2 }, "{scope:?}");
        // Opened once more, it is the same.
        drop(app);
        let (again, _heard) = place.open_as("a", USES, Arc::new(DenyAll));
        assert_eq!(
            invoke(&again, "read", outside).await == DENIED,
            !lasts,
            "{scope:?}"
        );
        // Another app, one that is called like a tool or the first one, and another version of it are not.
        let newer = format!("{USES} ");
        for (id, source) in [
            ("b", USES),
            ("read_file", USES),
            ("../a", USES),
            ("a", &newer),
        ] {
            let ask = Answers::new(false, Scope::Once);
            let (other, _heard) = place.open_as(id, source, ask.clone());
            assert_eq!(invoke(&other, "read", outside).await, DENIED, "{id}");
            let earlier = ask.questions.lock()[0].notices.iter().any(|notice| {
                notice == "You allowed this before, to an earlier version of the app."
            });
            assert_eq!(
                earlier,
                id == "a" && scope == Scope::Always,
                "{id} {scope:?}"
            );
        }
    }
    // The page belongs to the version, too.
    let options = |version: &str| AppOptions {
        name: "x".into(),
        id: "x".into(),
        source: String::new(),
        version: version.into(),
        page: page().0,
        ask: Arc::new(DenyAll),
    };
    assert_ne!(
        options("1").identity().digest,
        options("2").identity().digest
    );
    drop(place);
}

#[test]
fn a_name_stays_within_its_quotation_marks() {
    for (name, expected) in [
        ("Tide table", "app 'Tide table'"),
        ("x' to read '/etc", "app 'x’ to read ’/etc'"),
        ("a\n\u{1b}[2Jb\u{202e}", "app 'a\\n\\u{1b}[2Jb\\u{202e}'"),
    ] {
        let options = AppOptions {
            name: name.into(),
            id: "x".into(),
            source: String::new(),
            version: String::new(),
            page: page().0,
            ask: Arc::new(DenyAll),
        };
        assert_eq!(options.caller(), expected);
    }
}

#[tokio::test]
async fn what_it_writes_can_be_taken_back() {
    let place = Place::new();
    let ask = Answers::new(true, Scope::Session);
    let (app, _heard) = place.open_as("a", USES, ask.clone());
    let notes = place.path("project/notes.txt");
    assert_eq!(
        invoke(&app, "write", r#"["notes.txt","one"]"#).await,
        "null"
    );
    // A rule that allows writing is enough: nobody could announce what is written.
    assert_eq!(
        invoke(&app, "write", r#"["notes.txt","two"]"#).await,
        "null"
    );
    assert_eq!(std::fs::read_to_string(&notes).unwrap(), "two");
    assert_eq!(ask.wordings().len(), 1, "{:?}", ask.wordings());
    let question = ask.questions.lock().pop().unwrap();
    assert!(
        matches!(question.actions.as_slice(), [crate::call::Action::Edit(edit)] if edit.path == notes),
        "the difference is shown: {question:?}"
    );
    assert!(place.host.undo_last().unwrap().is_some());
    assert_eq!(std::fs::read_to_string(&notes).unwrap(), "Grüße");
    let audit = place.audit();
    let writes = audit
        .lines()
        .filter(|line| line.contains(r#""event":"used""#) && line.contains("app.a"));
    assert_eq!(writes.count(), 2, "{audit}");
}

#[tokio::test]
async fn the_store_is_its_own_and_lasts() {
    let place = Place::new();
    let (app, _heard) = place.open_as("a", USES, Arc::new(DenyAll));
    assert_eq!(invoke(&app, "set", r#"["key",{"x":[1]}]"#).await, "null");
    app.close();
    let (again, _heard) = place.open_as("a", &format!("{USES}//2"), Arc::new(DenyAll));
    assert_eq!(invoke(&again, "get", "\"key\"").await, r#"{"x":[1]}"#);
    for id in ["b", "../stores/app.a", "A", ""] {
        let (other, _heard) = place.open_as(id, USES, Arc::new(DenyAll));
        assert_eq!(invoke(&other, "get", "\"key\"").await, "null", "{id}");
        assert_eq!(invoke(&other, "set", "[\"key\",2]").await, "null", "{id}");
    }
    assert_eq!(invoke(&again, "get", "\"key\"").await, r#"{"x":[1]}"#);
}

#[tokio::test]
async fn the_store_has_a_bound_of_its_own() {
    let place = Place::new();
    let (app, _heard) = place.open_as("a", USES, Arc::new(DenyAll));
    assert_eq!(invoke(&app, "set", "[\"key\",1]").await, "null");
    let stored = crate::store_folder(&place.path("data/stores"), &subject("a"), None);
    let before = crate::stored_bytes(&stored);
    let mut projects = std::fs::read_dir(&stored).unwrap();
    let project = projects.next().unwrap().unwrap().path();
    let other = std::fs::File::create(project.join("other")).unwrap();
    other.set_len(MAX_APP_STORE_BYTES - before).unwrap();
    assert_eq!(crate::stored_bytes(&stored), MAX_APP_STORE_BYTES);
    // The same again fits, and one digit more does not.
    assert_eq!(invoke(&app, "set", "[\"key\",2]").await, "null");
    let refused = invoke(&app, "set", "[\"key\",10]").await;
    assert_ne!(refused, "null");
    assert_eq!(invoke(&app, "get", "\"key\"").await, "2");
    drop(other);
    std::fs::remove_file(project.join("other")).unwrap();
    assert_eq!(invoke(&app, "set", "[\"key\",10]").await, "null");
}

#[tokio::test]
async fn timers_do_not_wear_the_user_down() {
    let place = Place::new();
    let ask = Answers::new(false, Scope::Once);
    let (app, mut heard) = place.open_as(
        "nag",
        "let n = 0; setInterval(async () => { await dunlin.files.readText(`../${n}.txt`).catch(() => {}); n += 1; dunlin.emit('n', n); }, 4);",
        ask.clone(),
    );
    app.start().await.unwrap();
    let most = MAX_UNDECLARED_QUESTIONS;
    for _ in 0..2 * most {
        heard.next().await;
    }
    assert_eq!(ask.wordings().len(), most);
}

#[tokio::test]
async fn an_idle_program_fills_no_log() {
    let place = Place::new();
    let (app, mut heard) = place.open(
        "let n = 0; setInterval(() => dunlin.emit('n', n++), 4); dunlin.handle('x', () => 1);",
    );
    app.start().await.unwrap();
    for _ in 0..20 {
        heard.next().await;
    }
    assert_eq!(app.invoke("x", "1").await.as_deref(), Ok("1"));
    assert_eq!(place.audit(), "");
}

#[tokio::test]
async fn what_the_user_has_just_refused_is_told_from_what_is_denied_anyway() {
    let place = Place::new();
    let both = format!(
        "{USES} dunlin.handle('both', async () => {{
           try {{ await dunlin.files.readText('../outside.txt'); }} catch {{}}
           await dunlin.files.readText('../tool.permissions.json');
         }});"
    );
    let no: Arc<dyn Ask> = Answers::new(false, Scope::Once);
    let nobody: Arc<dyn Ask> = Arc::new(DenyAll);
    for (ask, handler, arguments, by_user) in [
        (&no, "refusal", "\"../outside.txt\"", true),
        (&no, "refusal", "\"../tool.permissions.json\"", false),
        (&no, "refusal", "\"missing.txt\"", false),
        (&no, "both", "1", false),
        (&nobody, "refusal", "\"../outside.txt\"", false),
    ] {
        let (app, _heard) = place.open_as("a", &both, Arc::clone(ask));
        let error = thrown(app.invoke(handler, arguments).await);
        assert_eq!(error.is_refused_by_user, by_user, "{arguments}: {error:?}");
    }
    // A lasting no is the user's answer once, and a rule from then on.
    let (app, _heard) = place.open_as("a", USES, Answers::new(false, Scope::Session));
    for by_user in [true, false] {
        let error = thrown(app.invoke("refusal", "\"../outside.txt\"").await);
        assert_eq!(error.is_refused_by_user, by_user, "{error:?}");
    }
}

#[tokio::test]
async fn requests_of_a_minute_are_counted_together() {
    let place = Place::new();
    let breaks = format!("{USES} dunlin.handle('large', () => 'x'.repeat(12000000));");
    let (app, heard) = place.open(&breaks);
    let url = "\"https://example.com/\"";
    // Each is denied, which counts as well.
    for n in 0..MAX_APP_FETCHES {
        assert_eq!(invoke(&app, "fetch", url).await, DENIED, "{n}");
    }
    assert_eq!(heard.messages(), []);
    for _ in 0..2 {
        assert_eq!(invoke(&app, "fetch", url).await, "\"TooLargeError\"");
    }
    let note = "more than 120 requests over the web in a minute: the rest fails".to_owned();
    assert_eq!(heard.messages(), [(LogLevel::Warn, note)]);
    // Other uses go on, and so do requests in the next minute.
    assert_eq!(invoke(&app, "read", "\"notes.txt\"").await, "\"Grüße\"");
    // It does not help to break.
    let crash = app.invoke("large", "1").await.unwrap_err();
    assert!(matches!(crash, AppError::Crash(_)), "{crash}");
    assert_eq!(invoke(&app, "fetch", url).await, "\"TooLargeError\"");
    assert_eq!(heard.messages().len(), 1, "it was said");
    tokio::time::pause();
    tokio::time::advance(APP_COUNT_PERIOD).await;
    tokio::time::resume();
    assert_eq!(invoke(&app, "fetch", url).await, DENIED);
}
