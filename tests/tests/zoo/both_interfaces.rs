//! `dunlin:tool` and WASI are two ways to the same things: both ask the same, about the same targets.

use std::sync::Arc;

use dunlin_host::ask::Ask;
use dunlin_host::target::Need;
use dunlin_tests::sandbox::{Asker, PATIENT, Sandbox, call, play};
use dunlin_tests::{Page, Site};
use serde_json::{Value, json};

/// What one call asks, answered with no: the needs and the notices of each question.
async fn asked(sandbox: &Sandbox, guest: &str, arguments: Value) -> Vec<(Vec<Need>, Vec<String>)> {
    let host = sandbox.host(&[guest], PATIENT);
    let asker = Arc::new(Asker::no());
    let ask: Arc<dyn Ask> = asker.clone();
    let _ = play(&host, &call(guest, arguments), ask).await;
    let questions = asker.questions().into_iter();
    questions
        .map(|question| (question.needs, question.notices))
        .collect()
}

#[tokio::test]
async fn files_are_asked_about_alike() {
    let sandbox = Sandbox::new();
    std::fs::write(sandbox.project().join(".env"), "KEY=1").expect("a file");
    std::fs::write(sandbox.project().join("notes.txt"), "one\n").expect("a file");
    for folder in ["empty", ".git"] {
        std::fs::create_dir(sandbox.project().join(folder)).expect("a folder");
    }
    std::os::unix::fs::symlink("../outside/secret.txt", sandbox.project().join("way-out"))
        .expect("a link");
    let own = |path: &str| ("undeclared", json!({ "path": path }));
    let append = |path: &str| {
        let arguments = json!({ "path": path, "how": "append", "text": "x", "silent": true });
        ("diary", arguments)
    };
    let name = |step: &str| ("names", json!({ "plan": [], "steps": [step] }));
    let wasi = |step: &str| json!({ "steps": [step] });
    for ((guest, arguments), steps, asks) in [
        (own("notes.txt"), wasi("open notes.txt r"), false),
        (own(".env"), wasi("open .env r"), true),
        (own("way-out"), wasi("open way-out r"), true),
        (
            own("../outside/secret.txt"),
            wasi("open ../outside/secret.txt r"),
            true,
        ),
        (
            own("../config/config.toml"),
            wasi("open ../config/config.toml r"),
            false,
        ),
        (append("notes.txt"), wasi("open notes.txt w"), true),
        (append("new.txt"), wasi("open new.txt wc"), true),
        (name("remove notes.txt"), wasi("unlink notes.txt"), true),
        (name("remove way-out"), wasi("unlink way-out"), true),
        (
            name("rename notes.txt new.txt"),
            wasi("rename notes.txt new.txt"),
            true,
        ),
        (
            name("rename notes.txt ../outside/new.txt"),
            wasi("rename notes.txt ../outside/new.txt"),
            true,
        ),
        (
            name("rename notes.txt .git/config"),
            wasi("rename notes.txt .git/config"),
            true,
        ),
        (
            name("rename notes.txt .env.local"),
            wasi("rename notes.txt .env.local"),
            true,
        ),
        (name("mkdir new"), wasi("mkdir new"), true),
        (
            name("mkdir ../outside/new"),
            wasi("mkdir ../outside/new"),
            true,
        ),
        (name("rmdir empty"), wasi("rmdir empty"), true),
        (
            name("rename notes.txt ../config/new"),
            wasi("rename notes.txt ../config/new"),
            false,
        ),
    ] {
        let expected = asked(&sandbox, guest, arguments.clone()).await;
        let found = asked(&sandbox, "wasi", steps).await;
        assert_eq!(!found.is_empty(), asks, "{arguments}");
        // A change of text may be shown, so reading is asked about with it.
        let operation = |(needs, notices): &(Vec<Need>, Vec<String>)| {
            let needs: Vec<Need> = match guest {
                "diary" => needs
                    .iter()
                    .filter(|need| need.operation.letter() == 'w')
                    .cloned()
                    .collect(),
                _ => needs.clone(),
            };
            // WASI changes bytes, and a file may be granted for that.
            let mut notices = notices.clone();
            notices.retain(|notice| !notice.contains("not announced"));
            (needs, notices)
        };
        let expected: Vec<_> = expected.iter().map(operation).collect();
        assert_eq!(found, expected, "{arguments}");
    }
}

#[tokio::test]
async fn addresses_are_asked_about_alike() {
    let sandbox = Sandbox::new();
    let site = Site::of(Page::of("text/plain", "hello"));
    let port = site.port();
    let here = format!("127.0.0.1:{port}");
    for (own, wasi) in [
        (
            json!({ "url": format!("http://{here}/a?b=c") }),
            json!({ "authority": here, "path": "/a?b=c" }),
        ),
        (
            json!({ "url": format!("http://{here}/a"), "body": "x" }),
            json!({ "authority": here, "path": "/a", "method": "POST", "body": ["data", 1] }),
        ),
        (
            json!({ "url": "http://169.254.169.254/latest" }),
            json!({ "authority": "169.254.169.254", "path": "/latest" }),
        ),
    ] {
        let expected = asked(&sandbox, "fetch_otherwise", own.clone()).await;
        let found = asked(&sandbox, "wasi_http", wasi).await;
        assert_eq!(found, expected, "{own}");
    }
    assert_eq!(site.requests(), [""; 0]);
}
