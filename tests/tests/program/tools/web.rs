//! `web_fetch` in the chat: the question, the page as the model gets it, and what a no leaves.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use dunlin_tests::{Page, Provider, Response, Site};
use serde_json::{Value, json};

use crate::stage::{Chat, assert_in_no_file, environment};

const PAGE: &str = "<html><head><title>Sandpipers</title><script>track()</script></head><body>\
    <nav><a href='/'>Home</a></nav><main><h1>Sandpipers</h1><p>They nest in <b>June</b>, see \
    <a href='/eggs'>eggs</a>.</p></main></body></html>";

fn last_result(provider: &Provider) -> String {
    let requests = provider.requests();
    let last = requests.last().expect("a request");
    last.results().last().expect("a result").to_string()
}

fn fetch(arguments: Value) -> [Response; 2] {
    [
        Response::call("web_fetch", arguments),
        Response::reply("I see."),
    ]
}

#[test]
fn a_page_is_asked_about_and_becomes_markdown() {
    let site = Site::of(Page::html(PAGE));
    let provider = Provider::play(fetch(json!({ "url": site.url("/birds?all#top") })));
    let environment = environment(&provider);
    let mut chat = Chat::open(&environment);
    chat.say("what do they do?");
    let screen = chat.question();
    for expected in [
        format!("Fetch webpage '{}' (GET)?", site.url("/birds?all#top")),
        format!("read    {}", site.url("/birds")),
        "! This is a server on this machine, not on the internet.".to_owned(),
    ] {
        assert!(
            screen.contains(&expected),
            "{expected}: {:?}",
            chat.terminal
        );
    }
    assert_eq!(site.requests(), [""; 0]);
    chat.answer("y");
    chat.prompt();
    chat.leave();
    assert_eq!(
        last_result(&provider),
        format!(
            "# Sandpipers\n\nThey nest in **June**, see [eggs]({}).",
            site.url("/eggs")
        )
    );
}

#[test]
fn a_no_sends_nothing_and_ends_the_turn() {
    let site = Site::of(Page::html(PAGE));
    let provider = Provider::play([fetch(json!({ "url": site.url("/") }))[0].clone()]);
    let environment = environment(&provider);
    let mut chat = Chat::open(&environment);
    chat.say("what do they do?");
    chat.question();
    chat.answer("n");
    chat.prompt();
    chat.leave();
    assert_eq!(site.requests(), [""; 0]);
}

#[test]
fn posting_needs_writing() {
    let site = Site::start(|request| {
        Page::of(
            "application/json",
            request.split("\r\n\r\n").nth(1).unwrap_or_default(),
        )
    });
    let arguments = json!({ "url": site.url("/"), "method": "POST", "post_data": "{\"a\": 1}" });
    let provider = Provider::play(fetch(arguments));
    let environment = environment(&provider);
    let output = environment.run(["permissions", "set", &site.target("/"), "r??"]);
    assert_eq!(output.status, Some(0), "{output}");
    let mut chat = Chat::open(&environment);
    chat.say("send it");
    let screen = chat.question();
    assert!(
        screen.contains(&format!("write   {}", site.url("/"))),
        "{:?}",
        chat.terminal
    );
    chat.answer("y");
    chat.prompt();
    chat.leave();
    assert_eq!(last_result(&provider), "{\"a\": 1}");
}

#[test]
fn a_script_needs_a_grant() {
    let site = Site::of(Page::html(PAGE));
    let url = site.url("/");
    let provider = Provider::play([
        Response::call("web_fetch", json!({ "url": url })),
        Response::call("web_fetch", json!({ "url": url })),
        Response::reply("I see."),
    ]);
    let environment = environment(&provider);
    let output = environment.run(["ask", "what do they do?"]);
    assert_eq!(output.status, Some(3), "{output}");
    assert_eq!(site.requests(), [""; 0]);
    let grant = format!("{url}=r");
    let output = environment.run(["ask", "--allow", &grant, "what do they do?"]);
    assert_eq!(output.status, Some(0), "{output}");
    assert!(last_result(&provider).starts_with("# Sandpipers"));
}

#[test]
fn trouble_is_told_to_the_model() {
    let moved = Site::of(Page::redirect("http://169.254.169.254/latest/meta-data"));
    let gone = Site::of(Page::html("<h1>Gone fishing</h1>").with_status(404));
    let call = |url: &str| Response::call("web_fetch", json!({ "url": url }));
    for (url, expected) in [
        (
            gone.url("/"),
            format!(
                "ERROR: {} answered with status 404 Not Found: # Gone fishing",
                gone.url("/")
            ),
        ),
        (
            "http://localhost:1/".to_owned(),
            "ERROR: localhost:1 refused the connection".to_owned(),
        ),
        (
            "mailto:a@b.example".to_owned(),
            "is not an http or https address".to_owned(),
        ),
    ] {
        let provider = Provider::play([call(&url), Response::reply("Hm.")]);
        let environment = environment(&provider);
        let allowed = [
            "ask",
            "--allow",
            &format!("{}=r", gone.url("/")),
            "--allow",
            "http://localhost:1/=r",
            "go",
        ];
        let output = environment.run(allowed);
        assert_eq!(output.status, Some(0), "{output}");
        let result = last_result(&provider);
        assert!(result.contains(&expected), "{url}: {result}");
    }
    // What is never granted is denied, wherever it comes from.
    let redirected = moved.url("/");
    for url in ["http://169.254.169.254/", redirected.as_str()] {
        let provider = Provider::play([call(url), Response::reply("I cannot.")]);
        let environment = environment(&provider);
        let all = format!("{redirected}=r");
        let output = environment.run([
            "ask",
            "--allow",
            &all,
            "--allow",
            "http://169.254.169.254/=rwx",
            "go",
        ]);
        assert_eq!(output.status, Some(3), "{url}: {output}");
    }
}

/// With nobody to ask, a redirect is named as one, with the flag that allows it.
#[test]
fn a_denied_redirect_names_what_allows_it() {
    let there = Site::of(Page::html(PAGE));
    let here = Site::of(Page::redirect(&there.url("/page")));
    let call = Response::call("web_fetch", json!({ "url": here.url("/r") }));
    let provider = Provider::play([call]);
    let environment = environment(&provider);
    let grant = format!("{}=r", here.url("/r"));
    let output = environment.run(["ask", "--allow", &grant, "go"]);
    assert_eq!(output.status, Some(3), "{output}");
    for expected in [
        "warning: denied, with nobody to ask: Allow web_fetch to follow a redirect from 127.0.0.1",
        "hint: dunlin ask --allow ",
    ] {
        assert!(output.stderr.contains(expected), "{expected}: {output}");
    }
    assert_eq!(there.requests(), [""; 0]);
}

/// What is never granted has no command that would grant it.
#[test]
fn addresses_are_explained() {
    let provider = Provider::play([]);
    let environment = environment(&provider);
    let explain = |url: &str| environment.run(["permissions", "explain", url]).stdout;
    let never = explain("http://169.254.169.254/latest");
    assert!(
        never.contains("deny   an address at which a cloud gives out credentials"),
        "{never}"
    );
    assert!(!never.contains("permissions set"), "{never}");
    let near = explain("http://localhost:3000/");
    assert!(
        near.contains("ask    default: servers on this machine are asked"),
        "{near}"
    );
    assert!(
        near.contains("dunlin permissions allow read https://localhost:3000/"),
        "{near}"
    );
}

/// Headers of the user's own are sent, and stand nowhere but in their file.
#[test]
fn the_users_headers_are_sent_and_seen_by_nobody() {
    const SECRET: &str = "s3cret-in-web-fetch-json";
    let site = Site::of(Page::of("text/plain", "for members"));
    let provider = Provider::play(fetch(json!({ "url": site.url("/") })));
    let environment = environment(&provider);
    let file = environment.config_file().with_file_name("web_fetch.json");
    let headers = json!({ "auth": {
        format!("127.0.0.1:{}", site.port()): { "headers": { "Authorization": format!("Bearer {SECRET}") } },
        "no host": { "headers": { "a": SECRET } },
    } });
    fs::write(&file, headers.to_string()).expect("the headers");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).expect("its permissions");
    let grant = format!("{}=r", site.url("/"));
    let output = environment.run(["ask", "--allow", &grant, "read it"]);
    assert_eq!(output.status, Some(0), "{output}");
    // A site that is none is a warning, and no more.
    assert!(
        output
            .stderr
            .contains("web_fetch.json: a header is ignored: \"no host\""),
        "{output}"
    );
    assert!(site.requests().concat().contains(SECRET));
    assert_eq!(last_result(&provider), "for members");
    let seen = format!("{output}{:?}", provider.requests());
    assert!(!seen.contains(SECRET), "{seen}");
    fs::remove_file(&file).expect("the file");
    assert_in_no_file(&environment, SECRET);
}
