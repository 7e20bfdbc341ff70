//! `web_search`: whom it asks, with what, and how often.

use dunlin_tests::{Environment, Page, Provider, Response, Site, program};
use serde_json::json;

use crate::stage::{Chat, assert_in_no_file, environment};

const RESULTS: &str = include_str!("../../../../plugins/guests/web_search/pages/duckduckgo.html");
const EMPTY: &str =
    include_str!("../../../../plugins/guests/web_search/pages/duckduckgo-empty.html");
const BLOCKED: &str =
    include_str!("../../../../plugins/guests/web_search/pages/duckduckgo-blocked.html");
const GOOGLE: &str = include_str!("../../../../plugins/guests/web_search/pages/google.json");
const SEARXNG: &str = include_str!("../../../../plugins/guests/web_search/pages/searxng.json");

/// A key that may show up in the address of one request and nowhere else.
const KEY: &str = "AIza-test-key-9f3c";

fn html(body: &str) -> Site {
    Site::of(Page::html(body))
}

/// What was asked for, request by request.
fn paths(site: &Site) -> Vec<String> {
    let first = |request: &String| request.lines().next().unwrap_or_default().to_owned();
    site.requests().iter().map(first).collect()
}

fn search(words: &str) -> Response {
    Response::call("web_search", json!({ "query": words }))
}

/// Folders in which this is configured.
fn configured(table: &str) -> Environment {
    let environment = Environment::warm(program!());
    environment.configure(&format!("[web_search]\n{table}\n"));
    environment
}

fn duckduckgo(pages: &Site) -> Environment {
    configured(&format!("base_url = \"{}\"", pages.url("/html/")))
}

/// Searches by hand; the status and all that was printed.
fn by_hand(environment: &Environment) -> (Option<i32>, String) {
    let arguments = [
        "tools",
        "call",
        "web_search",
        "--args",
        r#"{"query":"sandpiper nests"}"#,
    ];
    let output = environment.run(arguments);
    (output.status, format!("{}{}", output.stdout, output.stderr))
}

#[test]
fn an_engine_of_the_configuration_is_asked_without_a_question() {
    let pages = html(RESULTS);
    let environment = duckduckgo(&pages);
    let (status, said) = by_hand(&environment);
    assert_eq!(status, Some(0), "{said}");
    assert!(
        said.contains(
            "1. [Sandpiper - Wikipedia](<https://en.wikipedia.org/wiki/Sandpiper_(bird)>)"
        )
    );
    assert!(
        said.contains("3. [Without a wrapping](<https://plain.example/>)"),
        "{said}"
    );
    assert!(!said.contains("Shoes") && !said.contains("Hats"), "{said}");
    assert_eq!(paths(&pages), ["GET /html/?q=sandpiper+nests HTTP/1.1"]);
    let audit = environment.run(["audit"]).stdout;
    assert!(
        audit.contains("the search engine of the configuration"),
        "{audit}"
    );
}

#[test]
fn what_is_in_the_way_is_said() {
    for (pages, status, expected) in [
        (html(EMPTY), 0, "Nothing was found for 'sandpiper nests'."),
        (html(BLOCKED), 1, "takes this for a robot"),
        (html("<html>hello</html>"), 1, "its page has changed"),
        (
            Site::of(Page::redirect("/elsewhere")),
            1,
            "DuckDuckGo answered 302",
        ),
        (
            Site::of(Page::html(" ".repeat(3 * 1024 * 1024))),
            1,
            "bytes",
        ),
    ] {
        let environment = duckduckgo(&pages);
        let (ended, said) = by_hand(&environment);
        assert_eq!(ended, Some(status), "{said}");
        assert!(said.contains(expected), "{said}");
        assert_eq!(pages.requests().len(), 1, "{said}");
    }
    // A port that was free a moment ago.
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let gone = format!("http://{}/", free.local_addr().unwrap());
    drop(free);
    let (status, said) = by_hand(&configured(&format!("base_url = \"{gone}\"")));
    assert_eq!(status, Some(1), "{said}");
    assert!(said.contains("nothing listens there"), "{said}");
}

#[test]
fn the_key_goes_into_one_address_and_nowhere_else() {
    let pages = Site::start(|request| match request.contains("q=sandpiper") {
        true => Page::of("application/json", GOOGLE),
        // Servers like to quote what they refuse.
        false => {
            let refusal = json!({"error": {"message": format!("key={KEY} is not valid.")}});
            Page::of("application/json", refusal.to_string()).with_status(400)
        }
    });
    let provider = Provider::play([
        search("sandpiper"),
        search("refused"),
        Response::reply("Seen."),
    ]);
    let environment = environment(&provider);
    let url = pages.url("/customsearch/v1");
    environment.configure_more(
        "",
        &format!(
            "[keys.search]\nenv = \"SEARCH_KEY\"\n\n[web_search]\nengine = \"google\"\nbase_url = \"{url}\"\n\
             api_key = \"search\"\nengine_id = \"id1\"\n"
        ),
    );
    let ask = || {
        environment
            .command(["ask", "--json", "find"])
            .variable("SEARCH_KEY", KEY)
    };
    let output = ask().run();
    assert_eq!(output.status, Some(0), "{output}");
    let path = format!("GET /customsearch/v1?key={KEY}&cx=id1&num=10&q=sandpiper HTTP/1.1");
    assert_eq!(paths(&pages)[0], path);
    let expected = [
        "https://en.wikipedia.org/wiki/Sandpiper",
        "Google answered 400: key=**** is not valid; look at api_key and engine_id",
    ];
    for (number, expected) in (1..).zip(expected) {
        let request = provider.wait_for_request(number);
        assert!(request.results()[0].contains(expected), "{request:?}");
    }
    assert!(!output.to_string().contains(KEY), "{output}");
    assert_in_no_file(&environment, KEY);

    // Without the variable there is nothing to send.
    let (status, said) = by_hand(&environment);
    assert_eq!(status, Some(1), "{said}");
    assert!(
        said.contains("needs the environment variable SEARCH_KEY"),
        "{said}"
    );
    assert_eq!(pages.requests().len(), 2);
}

#[test]
fn searxng_is_asked_for_json() {
    let pages = Site::of(Page::of("application/json", SEARXNG));
    let table = format!(
        "engine = \"searxng\"\nbase_url = \"{}\"",
        pages.url("/searx")
    );
    let environment = configured(&table);
    let (status, said) = by_hand(&environment);
    assert_eq!(status, Some(0), "{said}");
    assert!(
        said.contains("2. [Without words](<https://plain.example/>)"),
        "{said}"
    );
    assert_eq!(
        paths(&pages),
        ["GET /searx/search?q=sandpiper+nests&format=json HTTP/1.1"]
    );

    let pages = Site::of(Page::html("no").with_status(403));
    let table = format!("engine = \"searxng\"\nbase_url = \"{}\"", pages.url("/"));
    let (status, said) = by_hand(&configured(&table));
    assert_eq!(status, Some(1), "{said}");
    assert!(said.contains("add json to search.formats"), "{said}");
}

#[test]
fn nobody_is_asked_who_was_not_chosen() {
    // Without a configuration the engine that needs no key is asked like any other address: not without the user.
    let environment = Environment::warm(program!());
    let (status, said) = by_hand(&environment);
    assert_eq!(status, Some(3), "{said}");
    assert!(
        said.contains("Permission denied: Search the web for 'sandpiper nests'?"),
        "{said}"
    );
    // A no is stronger than the configuration.
    let pages = html(RESULTS);
    let environment = duckduckgo(&pages);
    let deny = environment.run(["permissions", "set", &pages.url("/"), "-??"]);
    assert_eq!(deny.status, Some(0), "{deny}");
    assert_eq!(by_hand(&environment).0, Some(3));
    assert!(pages.requests().is_empty());
    // Only searches go there without a question.
    let environment = duckduckgo(&pages);
    let fetch = json!({"method": "GET", "url": pages.url("/html/")}).to_string();
    let output = environment.run(["tools", "call", "web_fetch", "--args", &fetch]);
    assert_ne!(output.status, Some(0), "{output}");
    assert!(pages.requests().is_empty());
}

#[test]
fn the_eleventh_search_is_asked_about_and_a_yes_begins_anew() {
    let pages = html(RESULTS);
    let mut script: Vec<Response> = (0..21)
        .map(|number| search(&format!("word {number}")))
        .collect();
    script.push(Response::reply("Found."));
    script.push(search("again"));
    script.push(Response::reply("Not found."));
    let provider = Provider::play(script);
    let environment = environment(&provider);
    let table = format!("[web_search]\nbase_url = \"{}\"\n", pages.url("/html/"));
    environment.configure_more("", &table);
    let mut chat = Chat::open(&environment);
    chat.say("find everything");
    let question = chat.question();
    assert!(
        question
            .text
            .contains("10 searches went out within 15 minutes."),
        "{question:?}"
    );
    assert_eq!(pages.requests().len(), 10);
    chat.answer("y");
    chat.question();
    assert_eq!(pages.requests().len(), 20);
    chat.answer("y");
    chat.prompt();
    assert_eq!(pages.requests().len(), 21);
    chat.turn("find more");
    assert_eq!(pages.requests().len(), 22);
    chat.leave();
    let audit = environment.run(["audit", "-n", "0"]).stdout;
    assert_eq!(audit.matches("more than 10 searches").count(), 2, "{audit}");

    // With nobody there it fails, and says for how long.
    let mut script: Vec<Response> = (0..11).map(|_| search("word")).collect();
    script.push(Response::reply("Enough."));
    let provider = Provider::play(script);
    let environment = crate::stage::environment(&provider);
    environment.configure_more("", &table);
    let output = environment.run(["ask", "find"]);
    assert_eq!(output.status, Some(0), "{output}");
    let request = provider.wait_for_request(11);
    let results = request.results();
    assert!(
        results[0].contains("nobody is there to be asked; the next one is possible in 15 min"),
        "{}",
        results[0]
    );
}

#[test]
fn the_project_has_no_say() {
    let pages = html(RESULTS);
    let environment = duckduckgo(&pages);
    let other = "[web_search]\nbase_url = \"http://127.0.0.1:1/\"\n";
    environment.project_file(".dunlin/config.toml", other);
    assert_eq!(by_hand(&environment).0, Some(0));
    let check = environment.run(["config", "show"]);
    assert!(check.stdout.contains("web_search.base_url"), "{check}");
    assert!(!check.stdout.contains("127.0.0.1:1/"), "{check}");
    let output = configured("engine = \"gogle\"").run(["config", "check"]);
    assert_eq!(output.status, Some(2), "{output}");
    let output = configured("engine = \"google\"").run(["config", "check"]);
    assert!(
        output
            .stderr
            .contains("config.toml:1: [web_search]: engine = \"google\" needs api_key"),
        "{output}"
    );
}
