//! Apps that are served, listed and deleted by commands.

use std::fs;
use std::net::TcpStream;

use dunlin_tests::{Key, Provider, Response};
use serde_json::{Value, json};

use crate::apps::{FIRST, address, environment, invoke, ready};
use crate::stage::Chat;

#[test]
fn an_app_that_is_deleted_elsewhere_is_closed() {
    // It stores something all the time.
    let storing = FIRST.replace(
        "console.log",
        "let n = 0;\nsetInterval(() => dunlin.store.set('n', n++), 20);\n\
         await dunlin.store.set('n', n);\nconsole.log",
    );
    let provider = Provider::play([Response::reply(&storing), Response::reply(&storing)]);
    let environment = environment(&provider);
    let stores = environment.data().join("stores");
    let stored = || match fs::read_dir(&stores) {
        Ok(entries) => entries.count(),
        Err(_) => 0,
    };
    let delete = || {
        let deleted = environment.run(["app", "delete", "--yes", "tide-table"]);
        assert_eq!(deleted.status, Some(0), "{deleted}");
    };
    let mut chat = Chat::open(&environment);
    chat.turn("a tide table please");
    let page = ready(&chat);
    let (host, _) = page["http://".len()..].split_once('/').unwrap();
    assert_eq!(stored(), 1);
    delete();
    // Nothing was typed.
    chat.terminal
        .wait_for("app 'tide-table': it was deleted, and is closed");
    assert!(TcpStream::connect(host).is_err(), "the page is gone");
    assert_eq!(stored(), 0);
    for (said, expected) in [
        ("/app list", "There is no app yet."),
        ("/app close tide-table", "app 'tide-table' is not open."),
        ("/app close", "This chat has no app yet."),
    ] {
        chat.say(said);
        let screen = chat.prompt();
        assert!(screen.contains(expected), "{said}: {:?}", chat.terminal);
    }

    // Who closes it is not told that it does not exist.
    chat.turn("once more");
    let page = ready(&chat);
    let (host, _) = page["http://".len()..].split_once('/').unwrap();
    delete();
    chat.say("/app close");
    let screen = chat.prompt();
    assert!(
        screen.contains("app 'tide-table' is closed."),
        "{:?}",
        chat.terminal
    );
    assert!(TcpStream::connect(host).is_err(), "the page is gone");
    assert_eq!(stored(), 0);
    chat.leave();
}

#[test]
fn a_command_that_serves_an_app_ends_with_it() {
    let provider = Provider::play([Response::reply(FIRST)]);
    let environment = environment(&provider);
    let mut chat = Chat::open(&environment);
    chat.turn("a tide table please");
    ready(&chat);
    chat.leave();
    let served = environment.terminal(["app", "serve", "tide-table"]);
    served.wait_for("app 'tide-table': ready");
    let deleted = environment.run(["app", "delete", "--yes", "tide-table"]);
    assert_eq!(deleted.status, Some(0), "{deleted}");
    served.wait_for("app 'tide-table': it was deleted, and is closed");
    assert_eq!(served.wait_end(), Some(1), "{served:?}");
}

#[test]
fn apps_are_managed_on_the_command_line() {
    let provider = Provider::play([Response::reply(FIRST)]);
    let environment = environment(&provider);
    let run = |words: &[&str]| environment.run(words);
    let none = run(&["app", "list"]);
    assert!(none.stderr.contains("There is no app yet."), "{none}");
    let mut chat = Chat::open(&environment);
    chat.turn("a tide table please");
    ready(&chat);
    chat.leave();

    let list = run(&["app", "list"]);
    assert_eq!(
        list.stdout, "tide-table  Tide table · version 1\n",
        "{list}"
    );
    let listed: Value = serde_json::from_str(&run(&["app", "list", "--json"]).stdout).unwrap();
    assert_eq!(
        (&listed[0]["name"], &listed[0]["version"]),
        (&json!("tide-table"), &json!(1))
    );
    let _ = run(&["app", "show", "tide-table"]);
    let source = run(&["app", "show", "tide-table", "--part", "renderer-js"]);
    assert_eq!(source.stdout, "dunlin.invoke(\"hello\", {});\n", "{source}");
    let unknown = run(&["app", "show", "tide-tabel"]);
    assert_eq!(unknown.status, Some(1), "{unknown}");
    assert!(
        unknown.stderr.contains("there is no app 'tide-tabel'"),
        "{unknown}"
    );
    assert!(
        unknown.stderr.contains("the nearest is 'tide-table'"),
        "{unknown}"
    );

    let folder = environment.root().join("exported");
    let folder = folder.to_str().unwrap();
    let exported = run(&["app", "export", "tide-table", folder]);
    assert_eq!(exported.status, Some(0), "{exported}");
    assert!(
        exported
            .stderr
            .contains("its back end (main.js) runs only in Dunlin"),
        "{exported}"
    );
    let html = fs::read_to_string(format!("{folder}/index.html")).unwrap();
    assert!(
        html.contains("<h1>Tides</h1>") && html.contains("renderer.js"),
        "{html}"
    );
    let again = run(&["app", "export", "tide-table", folder]);
    assert_eq!(again.status, Some(1), "{again}");
    assert!(
        again.stderr.contains("name a folder that does not exist"),
        "{again}"
    );

    // Nobody can be asked there, and the address is data.
    let mut served = environment.terminal(["app", "serve", "tide-table"]);
    let page = address(&served.wait_for("http://127.0.0.1:"));
    served.wait_for("app 'tide-table': ready");
    assert_eq!(invoke(&page, 1, "hello", json!({})), (200, json!("hi")));
    served.press(Key::CtrlC);
    assert_eq!(served.wait_end(), Some(0), "{served:?}");

    // What an app has stored is listed.
    let record = fs::read_to_string(environment.data().join("apps/tide-table/app.json"));
    let record: Value = serde_json::from_str(&record.unwrap()).unwrap();
    let id = record["id"].as_str().unwrap();
    let store = environment.data().join(format!("stores/app.{id}/project"));
    fs::create_dir_all(&store).unwrap();
    fs::write(store.join("laps"), "x".repeat(2000)).unwrap();
    let list = run(&["app", "list"]);
    assert_eq!(
        list.stdout, "tide-table  Tide table · version 1 · 2 kB stored\n",
        "{list}"
    );
    // A copy is not used: it would have what the app was granted and has stored.
    let apps = environment.data().join("apps");
    let copy = apps.join("copy");
    fs::create_dir(&copy).unwrap();
    fs::copy(apps.join("tide-table/app.json"), copy.join("app.json")).unwrap();
    for words in [["show", "copy", ""], ["delete", "--yes", "copy"]] {
        let words: Vec<&str> = words.into_iter().filter(|it| !it.is_empty()).collect();
        let refused = run(&[&["app"], words.as_slice()].concat());
        assert_eq!(refused.status, Some(1), "{refused}");
        let why = "the apps 'copy' and 'tide-table' have the same id";
        assert!(refused.stderr.contains(why), "{refused}");
    }
    assert!(store.join("laps").exists());
    fs::remove_dir_all(copy).unwrap();

    let refused = run(&["app", "delete", "tide-table"]);
    assert_eq!(refused.status, Some(2), "{refused}");
    let deleted = run(&["app", "delete", "--yes", "tide-table"]);
    assert_eq!(deleted.status, Some(0), "{deleted}");
    assert!(!store.exists());
    let none = run(&["app", "list"]);
    assert!(none.stderr.contains("There is no app yet."), "{none}");
    insta::assert_snapshot!(environment.transcript());
}
