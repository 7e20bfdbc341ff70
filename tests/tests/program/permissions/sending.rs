//! What a plugin sends to a server, as the user sees it before it is sent.

use std::fs;
use std::path::PathBuf;

use dunlin_tests::{Environment, Page, Provider, Response, Site};
use serde_json::{Value, json};

use crate::stage::{Chat, environment};

/// A chat in which a plugin posts this file of the project, which its arguments do not show: in each turn, which ends with a
/// reply where the post is allowed.
fn asked(site: &Site, body: &[u8], more: Value, allowed: &[bool]) -> (Provider, Environment, Chat) {
    let mut arguments = json!({ "url": site.url("/up"), "path": "letter" });
    let more = more.as_object().cloned().unwrap_or_default();
    let object = arguments.as_object_mut().expect("an object");
    object.extend(more);
    let mut script = Vec::new();
    for allowed in allowed {
        script.push(Response::call("post_otherwise", arguments.clone()));
        script.extend(allowed.then(|| Response::reply("Sent.")));
    }
    let provider = Provider::play(script);
    let environment = environment(&provider);
    let letter = environment.project().join("letter");
    fs::write(letter, body).expect("a file of the project");
    let terminal = environment
        .command::<&str>([])
        .guests(&["post_otherwise"])
        .variable("PAGER", &format!("cat > {}", pages(&environment).display()))
        .terminal();
    let mut chat = Chat::of(terminal);
    chat.say("greet them");
    (provider, environment, chat)
}

/// What the pager was given.
fn pages(environment: &Environment) -> PathBuf {
    environment.root().join("pages")
}

fn site() -> Site {
    Site::of(Page::of("text/plain", "thanks"))
}

/// What came.
fn bodies(site: &Site) -> Vec<String> {
    let requests = site.requests().into_iter();
    let body = |request: String| request.split_once("\r\n\r\n").expect("a body").1.to_owned();
    requests.map(body).collect()
}

#[test]
fn a_body_is_shown_and_a_yes_sends_it() {
    let site = site();
    let body = "dear server,\n\tthe key is hunter2\u{1b}[2J\u{202e}\n  allow? y\n";
    let (provider, environment, mut chat) =
        asked(&site, body.as_bytes(), json!({}), &[true, false]);
    let screen = chat.question();
    assert!(!screen.contains("arguments"), "{:?}", chat.terminal);
    assert_eq!(site.requests(), [""; 0]);
    chat.answer("v");
    chat.question();
    chat.answer("n too much");
    chat.question();
    chat.answer("y");
    chat.prompt();
    assert_eq!(bodies(&site), [body]);
    assert!(provider.requests()[1].results()[0].contains("200"));
    let audit = environment.run(["audit"]);
    assert!(audit.stdout.contains("51 bytes; sha256 "), "{audit}");
    // The next one is asked about anew.
    chat.say("again");
    chat.question();
    chat.answer("n");
    chat.prompt();
    // The hint names no answer that the question refuses.
    insta::assert_snapshot!(chat.terminal.screen());
    chat.leave();
    assert_eq!(site.requests().len(), 1);
}

/// A request that reads can carry data out as well: the question shows all that it says.
#[test]
fn a_get_is_shown_with_its_query_and_headers() {
    let site = site();
    let (url, other) = (site.url("/a?q=tern"), site.url("/a?q=hunter2"));
    let provider = Provider::play(vec![Response::call(
        "fetch_otherwise",
        json!({
            "url": url, "declares": format!("get {url} user-agent: a \u{202e}tern"),
            "header": "user-agent: a \u{202e}tern", "then": other,
        }),
    )]);
    let environment = environment(&provider);
    let terminal = environment
        .command::<&str>([])
        .guests(&["fetch_otherwise"])
        .terminal();
    let mut chat = Chat::of(terminal);
    chat.say("greet them");
    chat.question();
    chat.answer("y");
    chat.question();
    chat.answer("n");
    chat.prompt();
    insta::assert_snapshot!(chat.terminal.screen());
    chat.leave();
    let requests = site.requests();
    assert_eq!(requests.len(), 1, "{requests:?}");
    let audit = environment.run(["audit"]).stdout;
    let sent = "/a?q=tern  (user-agent: a \\u{202e}tern)";
    assert!(audit.contains(sent), "{audit}");
}

#[test]
fn a_long_body_is_viewed_before_a_yes_counts() {
    let site = site();
    let lines: Vec<String> = (1..=500)
        .map(|number| format!("line {number} of it"))
        .collect();
    let body = lines.join("\n");
    let (_provider, environment, mut chat) = asked(&site, body.as_bytes(), json!({}), &[true]);
    let screen = chat.question();
    assert!(!screen.contains("line 20 of it"), "{:?}", chat.terminal);
    chat.answer("y");
    chat.question();
    assert_eq!(site.requests(), [""; 0]);
    chat.answer("v");
    chat.question();
    let shown = fs::read_to_string(pages(&environment)).expect("what was viewed");
    for line in &lines {
        assert!(shown.contains(line), "{line}: {shown}");
    }
    chat.answer("y");
    chat.prompt();
    insta::assert_snapshot!(chat.terminal.screen());
    chat.leave();
    assert_eq!(bodies(&site), [body]);
}

#[test]
fn what_is_not_text_is_counted() {
    let site = site();
    let mut body = b"\xff\xfe key=hunter2 ".to_vec();
    body.resize(5_000, 0);
    let kind = json!({ "kind": "image/png" });
    let (_provider, _environment, mut chat) = asked(&site, &body, kind, &[false]);
    chat.question();
    chat.answer("n");
    chat.prompt();
    insta::assert_snapshot!(chat.terminal.screen());
    chat.leave();
    assert_eq!(site.requests(), [""; 0]);
}

/// What a lasting yes means is said before it and after it, and it means that.
#[test]
fn always_covers_whatever_is_sent_there() {
    let site = site();
    let (_provider, environment, mut chat) =
        asked(&site, b"hello", json!({ "times": 2 }), &[true, true]);
    chat.question();
    chat.answer("always");
    chat.prompt();
    chat.turn("again");
    insta::assert_snapshot!(chat.terminal.screen());
    chat.leave();
    assert_eq!(bodies(&site), ["hello", "hellox", "hello", "hellox"]);
    let granted = environment.run(["permissions", "list"]);
    assert!(granted.stdout.contains("/up  post_otherwise"), "{granted}");
}
