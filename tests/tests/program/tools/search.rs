//! `codebase_search`: what it finds, what it leaves out, and how it follows the files.

use std::os::unix::fs::symlink;

use dunlin_tests::{Environment, Page, Provider, Response, Site, program};
use serde_json::{Value, json};

use crate::stage::{Chat, environment};

const UPLOAD: &str = "use std::fs;\n\n\
    /// Keeps what a browser sends.\n\
    pub fn store_upload(name: &str, bytes: &[u8]) -> std::io::Result<()> {\n    \
        let folder = upload_folder();\n    fs::create_dir_all(&folder)?;\n    \
        fs::write(folder.join(name), bytes)\n}\n\n\
    fn upload_folder() -> std::path::PathBuf {\n    \"uploads\".into()\n}\n";

const SESSION: &str = "class Sessions:\n    def expire(self, token):\n        \"\"\"Ends a session whose token is too old.\"\"\"\n        \
    if token.age() > self.limit:\n            del self.open[token.id]\n";

/// A small project with secrets, waste and ways out.
fn project() -> Environment {
    let environment = Environment::warm(program!());
    environment.project_file("src/upload.rs", UPLOAD);
    environment.project_file("app/sessions.py", SESSION);
    environment.project_file(
        "README.md",
        "# Uploads\n\nA server for uploads and sessions.\n",
    );
    environment.project_file(".gitignore", "generated/\n");
    environment.project_file(
        "generated/upload.rs",
        UPLOAD.replace("upload", "upload_generated"),
    );
    environment.project_file("id_rsa", "upload upload upload PRIVATE KEY upload\n");
    let outside = environment.outside_file("outside.rs", "fn upload_from_outside() { upload() }\n");
    symlink(&outside, environment.project().join("src/link.rs")).expect("a link");
    environment
}

fn search(environment: &Environment, arguments: &[&str]) -> dunlin_tests::Output {
    environment.run(["search"].iter().chain(arguments))
}

fn found(environment: &Environment, arguments: &[&str]) -> Vec<Value> {
    let arguments: Vec<&str> = ["--json"].iter().chain(arguments).copied().collect();
    let output = search(environment, &arguments);
    assert_eq!(output.status, Some(0), "{output}");
    serde_json::from_str(&output.stdout).expect("a list of hits")
}

fn paths(found: &[Value]) -> Vec<&str> {
    found
        .iter()
        .map(|it| it["path"].as_str().expect("a path"))
        .collect()
}

#[test]
fn a_question_finds_the_function() {
    let environment = project();
    let hits = found(&environment, &["How are uploaded files stored?"]);
    assert_eq!(hits[0]["path"], "src/upload.rs", "{hits:?}");
    assert!(hits[0]["start_line"].as_u64().unwrap() <= 4, "{hits:?}");
    assert!(hits[0]["end_line"].as_u64().unwrap() >= 8, "{hits:?}");
    assert!(
        hits[0]["symbol"].as_str().unwrap().contains("store_upload"),
        "{hits:?}"
    );
    let hits = found(
        &environment,
        &["-n", "1", "When does a session token expire?"],
    );
    assert_eq!(paths(&hits), ["app/sessions.py"]);
    let hits = found(
        &environment,
        &["--within", "app", "How are uploads stored?"],
    );
    assert!(paths(&hits).iter().all(|path| path.starts_with("app/")));

    let output = search(&environment, &["How are uploaded files stored?"]);
    assert_eq!(output.status, Some(0), "{output}");
    assert!(
        output.stdout.starts_with("## src/upload.rs:")
            || output.stdout.starts_with("src/upload.rs:"),
        "{output}"
    );
    assert!(
        output.stdout.contains("    4\tpub fn store_upload("),
        "{output}"
    );
}

#[test]
fn secrets_waste_and_ways_out_are_left_out() {
    let environment = project();
    let output = search(&environment, &["-n", "50", "upload"]);
    assert_eq!(output.status, Some(0), "{output}");
    for absent in ["PRIVATE KEY", "upload_generated", "upload_from_outside"] {
        assert!(!output.stdout.contains(absent), "{absent}: {output}");
    }
    assert!(output.stdout.contains("1 file was left out"), "{output}");
    let refused = environment.project().join("app/");
    let refused = environment.run(["permissions", "set", &refused.display().to_string(), "-??"]);
    assert_eq!(refused.status, Some(0), "{refused}");
    let output = search(&environment, &["When does a session token expire?"]);
    assert!(!output.stdout.contains("def expire"), "{output}");
    let project = environment.project().display().to_string() + "/";
    let refused = environment.run(["permissions", "set", &project, "-??"]);
    assert_eq!(refused.status, Some(0), "{refused}");
    let output = search(&environment, &["upload"]);
    assert_eq!(output.status, Some(3), "{output}");
    assert_eq!(output.stdout, "");
}

/// Files that were made to take all memory there is, or never to end: the others are found as ever.
#[test]
fn hostile_files_are_in_nobodys_way() {
    let environment = project();
    let mut number = 0_u32;
    let mut word = || {
        number += 1;
        let letter = |place: u32| char::from(b'a' + (number / 26_u32.pow(place) % 26) as u8);
        (0..5).map(letter).collect::<String>()
    };
    // Nothing but names that nobody else has.
    for name in ["a.c", "b.c"] {
        let mut names = String::new();
        while names.len() < 1_000_000 {
            let words: Vec<String> = (0..5).map(|_| word()).collect();
            names += &format!("int {};\n", words.join("_"));
        }
        environment.project_file(&format!("names/{name}"), names);
    }
    // One text many times over.
    let same: String = (0..20_000)
        .map(|line| format!("upload_browser_sends_{line}();\n"))
        .collect();
    for number in 0..12 {
        environment.project_file(&format!("same/{number}.c"), format!("{same}// {number}\n"));
    }
    environment.project_file("lines.c", "\n".repeat(1_000_000));
    symlink("/dev/zero", environment.project().join("src/.ignore")).expect("a link");
    let patterns: String = (0..100_000)
        .map(|number| format!("a{number}/**/b\n"))
        .collect();
    environment.project_file("names/.gitignore", patterns);
    let hits = found(
        &environment,
        &["-n", "50", "How are uploaded files stored?"],
    );
    assert!(paths(&hits).contains(&"src/upload.rs"), "{hits:?}");
    let hits = found(&environment, &["upload_browser_sends"]);
    assert!(
        hits[0]["path"].as_str().unwrap().starts_with("same/"),
        "{hits:?}"
    );
}

#[test]
fn the_index_follows_the_files() {
    let environment = project();
    let question = ["Where are invoices sent by mail?"];
    let before = found(&environment, &question);
    assert!(!paths(&before).contains(&"src/mail.rs"));
    let mail = "/// Sends an invoice by mail.\npub fn mail_invoice(invoice: &Invoice) {\n    send(invoice);\n}\n";
    let file = environment.project_file("src/mail.rs", mail);
    assert_eq!(found(&environment, &question)[0]["path"], "src/mail.rs");
    environment.project_file("src/mail.rs", format!("// A line more.\n{mail}"));
    let moved = found(&environment, &question);
    assert_eq!(moved[0]["path"], "src/mail.rs");
    let output = search(&environment, &question);
    assert!(
        output.stdout.contains("    3\tpub fn mail_invoice("),
        "{output}"
    );
    std::fs::remove_file(file).unwrap();
    assert!(!paths(&found(&environment, &question)).contains(&"src/mail.rs"));

    // What stands in the store is only believed where it is what was written.
    for entry in walk(&environment.data().join("stores")) {
        std::fs::write(entry, "damaged").unwrap();
    }
    let after = found(&environment, &["How are uploaded files stored?"]);
    assert_eq!(after[0]["path"], "src/upload.rs");
}

/// All files below a folder.
fn walk(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(folder)
        .expect("a folder")
        .map(|entry| entry.expect("an entry").path());
    let files = |path: std::path::PathBuf| {
        if path.is_dir() {
            walk(&path)
        } else {
            vec![path]
        }
    };
    let files: Vec<_> = entries.flat_map(files).collect();
    assert!(!files.is_empty(), "nothing in {}", folder.display());
    files
}

#[test]
fn what_is_asked_wrongly_is_said() {
    let environment = project();
    for (arguments, said) in [
        (&[" "][..], "the question is empty"),
        (&["-n", "0", "x"], "0 is not in 1..=50"),
        (
            &["--within", "nope", "x"],
            "there is no \"nope\" in the project",
        ),
        (&["--within", "a[", "x"], "target_directories: "),
    ] {
        let output = search(&environment, arguments);
        assert!(matches!(output.status, Some(1 | 2)), "{output}");
        assert_eq!(output.stdout, "");
        assert!(output.stderr.contains(said), "{output}");
    }
    assert_eq!(search(&environment, &[]).status, Some(2));
    let output = search(&environment, &["zyxwv"]);
    assert_eq!(output.status, Some(0), "{output}");
    assert!(output.stdout.contains("Ask in other words"), "{output}");
}

#[test]
fn a_model_searches_without_a_question_to_the_user() {
    let provider = Provider::play([
        Response::call(
            "codebase_search",
            json!({ "query": "How are uploaded files stored?", "explanation": "to change it" }),
        ),
        Response::reply("In store_upload."),
    ]);
    let environment = environment(&provider);
    environment.project_file("src/upload.rs", UPLOAD);
    let mut chat = Chat::open(&environment);
    chat.say("where do uploads go?");
    let screen = chat.prompt();
    assert!(screen.contains("In store_upload."), "{screen:?}");
    assert!(!screen.contains("allow?"), "{screen:?}");
    chat.leave();
    let requests = provider.requests();
    let result = &requests[1].results()[0];
    assert!(result.starts_with("## src/upload.rs:"), "{result}");
    let audit = environment.run(["audit"]).stdout;
    assert!(audit.contains("codebase_search"), "{audit}");
}

/// A server that finds everything about sessions near to every question.
fn embeddings() -> Site {
    Site::start(|request| {
        let body = request.split_once("\r\n\r\n").map_or("", |(_, body)| body);
        let body: Value = serde_json::from_str(body).unwrap_or_default();
        let texts = body["input"].as_array().cloned().unwrap_or_default();
        let vectors = texts.iter().enumerate().map(|(index, text)| {
            let is_near = index == 0 || text.as_str().is_some_and(|text| text.contains("expire"));
            let vector = if is_near { [1.0, 0.0] } else { [0.0, 1.0] };
            json!({"object": "embedding", "index": index, "embedding": vector})
        });
        let vectors: Vec<Value> = vectors.collect();
        Page::of("application/json", json!({ "data": vectors }).to_string())
    })
}

fn asks_of(environment: &Environment, site: &Site, key: &str) {
    let key_file = environment.outside_file("key", key);
    environment.configure(&format!(
        "[keys.mine]\nfile = {key_file:?}\n[codebase_search]\nbase_url = \"{}\"\nmodel = \"small\"\napi_key = \"mine\"\n",
        site.url("/v1/")
    ));
}

#[test]
fn a_server_of_the_configuration_says_what_is_near_in_meaning() {
    let question = "Where are upload sessions stored?";
    let environment = project();
    let by_words = found(&environment, &[question]);
    let site = embeddings();
    asks_of(&environment, &site, "sk-of-the-embeddings");
    let by_meaning = found(&environment, &[question]);
    // As good as an upload, by comparison.
    let share = |hits: &[Value]| {
        let score = |path: &str| {
            let hit = hits.iter().find(|hit| hit["path"] == path);
            hit.and_then(|hit| hit["score"].as_f64()).expect("a score")
        };
        score("app/sessions.py") / score("src/upload.rs")
    };
    assert!(
        share(&by_meaning) > 1.5 * share(&by_words),
        "{by_words:?} {by_meaning:?}"
    );
    let requests = site.requests();
    assert_eq!(requests.len(), 1, "{requests:?}");
    assert!(requests[0].starts_with("POST /v1/embeddings HTTP/1.1"));
    for part in [
        "Bearer sk-of-the-embeddings",
        "\"model\":\"small\"",
        question,
    ] {
        assert!(requests[0].contains(part), "{part}: {}", requests[0]);
    }
    // What was kept need not be sent again; the secret of the project never was.
    found(&environment, &[question]);
    let requests = site.requests();
    assert!(requests[1].len() < requests[0].len(), "{requests:?}");
    assert!(!requests.concat().contains("PRIVATE KEY"), "{requests:?}");
    // Without meaning nothing is sent.
    environment.configure("[codebase_search]\nsemantic = false\n");
    assert_eq!(found(&environment, &[question]), by_words);
    assert_eq!(site.requests().len(), 2);
}

#[test]
fn a_server_that_refuses_leaves_it_to_the_words() {
    let environment = project();
    let site = Site::of(
        Page::of(
            "application/json",
            r#"{"error":{"message":"bad key sk-of-the-embeddings"}}"#,
        )
        .with_status(401),
    );
    asks_of(&environment, &site, "sk-of-the-embeddings");
    let output = search(&environment, &["--json", "How are uploaded files stored?"]);
    assert_eq!(output.status, Some(0), "{output}");
    let hits: Vec<Value> = serde_json::from_str(&output.stdout).expect("a list of hits");
    assert_eq!(hits[0]["path"], "src/upload.rs", "{output}");
    assert!(
        output.stderr.contains("answered 401: bad key ****"),
        "{output}"
    );
    let audit = environment.run(["audit"]);
    for said in [&output, &audit] {
        assert!(!said.to_string().contains("sk-of-the"), "{said}");
    }
}

#[test]
fn what_sends_code_away_is_not_for_a_project_to_configure() {
    let environment = project();
    let site = embeddings();
    environment.project_file(
        ".dunlin/config.toml",
        format!(
            "[codebase_search]\nbase_url = \"{}\"\nmodel = \"small\"\n",
            site.url("/v1")
        ),
    );
    let trusted = environment.run(["config", "trust", "--yes"]);
    let output = search(&environment, &["How are uploaded files stored?"]);
    assert_eq!(output.status, Some(0), "{trusted}{output}");
    assert_eq!(site.requests(), [""; 0], "{output}");
}
