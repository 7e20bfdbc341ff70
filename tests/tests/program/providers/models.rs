//! What is known of models before anybody is asked: the table, its refresh, and what requests cost.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use dunlin_tests::{Environment, Page, Provider, Response, Site};
use serde_json::{Value, json};

use crate::stage::{Chat, environment, session_file};

/// A file like that of models.dev. The scripted server counts 11 tokens in and 7 out, which come to $0.0250.
const SITE: &str = r#"{
    "shop": {"api": "https://shop.example/v1", "models": {
        "dear": {"limit": {"context": 40000}, "cost": {"input": 1000, "output": 2000}},
        "broken": {"limit": {"context": "many"}}
    }},
    "other": {"models": {"quiet": {"limit": {"context": 8192}}}}
}"#;

/// An environment that has refreshed its table from a site of the test, and whose agent is known as this model.
fn known_as(provider: &Provider, name: &str) -> Environment {
    let environment = environment(provider);
    environment.configure_for(provider, &format!("known_as = \"{name}\""));
    let site = Site::of(Page::of("application/json", SITE));
    let output = environment.run(["model", "refresh", "--url", &site.url("/api.json")]);
    assert_eq!(output.status, Some(0), "{output}");
    environment
}

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).expect("a JSON document")
}

#[test]
fn requests_cost_money() {
    let replies = ["One.", "Two.", "Three."].map(Response::reply);
    let provider = Provider::play(replies);
    let environment = known_as(&provider, "shop/dear");
    let output = environment.run(["ask", "--json", "one"]);
    assert_eq!(output.status, Some(0), "{output}");
    let document = parsed(&output.stdout);
    assert_eq!(
        document["cost"],
        json!({"currency": "USD", "amount": 0.025, "complete": true})
    );

    let mut chat = Chat::open(&environment);
    chat.turn("two");
    let screen = chat.turn("/cost");
    let row = screen.line_with("  session").unwrap_or_default();
    assert!(row.ends_with("7    $0.0250"), "{screen:?}");
    let screen = chat.turn("/context");
    let window = "40,000 tokens, as the table of models says";
    assert!(screen.contains(window), "{screen:?}");
    chat.leave();
    let file = session_file(&environment);
    let name = file.file_stem().unwrap().to_str().unwrap();
    let (id, _) = name.split_once('-').unwrap();

    // What was spent belongs to the session, whatever the table says later.
    fs::remove_file(environment.data().join("model-table.tsv")).unwrap();
    let output = environment.run(["sessions", "show", id]);
    let last = output.stdout.lines().last().unwrap_or_default();
    assert_eq!(last, "11 tokens in, 7 out · $0.0250", "{output}");
    let output = environment.run(["requests", "list", "--json", "--session", id]);
    let listed = parsed(&output.stdout);
    assert_eq!(listed[0]["cost"]["amount"], 0.025, "{output}");
    let mut chat = Chat::of(environment.terminal(["--resume", id]));
    chat.turn("three");
    let screen = chat.turn("/cost");
    let row = screen.line_with("  session").unwrap_or_default();
    assert!(row.ends_with("14    $0.0250"), "{screen:?}");
    let said = "The price of scripted is unknown; set known_as in [agents.assistant] to the model's usual name.";
    assert!(screen.contains(said), "{screen:?}");
    chat.leave();
}

#[test]
fn what_subagents_cost_is_in_the_sum() {
    let task = [("run_subagent", json!({ "task": "Task one" }))];
    let provider = Provider::play_each([
        (
            "look around",
            vec![Response::calls(task), Response::reply("Well.")],
        ),
        ("Task one", vec![Response::reply("First.")]),
    ]);
    let environment = known_as(&provider, "shop/dear");
    let output = environment.run(["ask", "--json", "look around"]);
    let document = parsed(&output.stdout);
    assert_eq!(document["cost"]["amount"], 0.075, "{output}");
    assert_eq!(
        document["subagents"][0]["cost"]["amount"], 0.025,
        "{output}"
    );
}

#[test]
fn without_a_price_there_are_tokens_only() {
    let provider = Provider::play(["One.", "Two."].map(Response::reply));
    let environment = known_as(&provider, "other/quiet");
    let output = environment.run(["ask", "--json", "one"]);
    let document = parsed(&output.stdout);
    assert_eq!(
        document["cost"],
        json!({"currency": "USD", "amount": null, "complete": false})
    );
    assert_eq!(document["usage"]["output_tokens"], 7, "{output}");

    environment.configure_for(&provider, "known_as = \"other/loud\"");
    let output = environment.run(["ask", "--json", "one"]);
    let said = "[agents.assistant] known_as = \"other/loud\" is not in the table of models";
    assert!(output.stderr.contains(said), "{output}");
}

#[test]
fn the_table_is_refreshed_and_listed() {
    let provider = Provider::play([]);
    let environment = known_as(&provider, "shop/dear");
    let file = environment.data().join("model-table.tsv");
    let mode = file.metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let site = Site::of(Page::of("application/json", SITE));
    let output = environment.run(["model", "refresh", "--url", &site.url("/api.json")]);
    for expected in [
        "model-table.tsv: 2 models of 2 services",
        "left out, because they cannot be read: shop/broken",
    ] {
        assert!(output.stderr.contains(expected), "{expected}: {output}");
    }

    let output = environment.run(["model", "list"]);
    assert_eq!(
        (output.status, output.stderr.as_str()),
        (Some(0), ""),
        "{output}"
    );
    for expected in [
        "assistant      scripted at http://127.0.0.1:",
        "shop/dear: 40,000 tokens · $1000.00 in · $2000.00 out, for a million tokens",
        "model-table.tsv); dunlin model refresh fetches the newest.",
    ] {
        assert!(output.stdout.contains(expected), "{expected}: {output}");
    }
    let output = environment.run(["model", "list", "--json"]);
    let document = parsed(&output.stdout);
    let agent = &document["agents"][0];
    assert_eq!(agent["known_as"], "shop/dear", "{output}");
    assert_eq!(agent["context_window"]["source"], "table");
    assert_eq!(agent["price"]["output"], 2000.0);
    let output = environment.run(["model", "list", "QUI"]);
    assert!(
        output
            .stdout
            .starts_with("other/quiet  8,192 tokens  price unknown\n"),
        "{output}"
    );
    let output = environment.run(["model", "list", "xyzzy"]);
    assert!(
        output
            .stderr
            .contains("No name in the table of models has \"xyzzy\" in it."),
        "{output}"
    );
}

#[test]
fn a_refresh_that_fails_changes_nothing() {
    let provider = Provider::play([]);
    let environment = known_as(&provider, "shop/dear");
    let file = environment.data().join("model-table.tsv");
    let before = fs::read(&file).unwrap();
    let check = |page: Page, expected: &str| {
        let site = Site::of(page);
        let output = environment.run(["model", "refresh", "--url", &site.url("/api.json")]);
        assert_eq!(output.status, Some(1), "{output}");
        assert!(output.stderr.contains(expected), "{expected}: {output}");
        assert!(output.stderr.contains("hint:"), "{output}");
        assert_eq!(fs::read(&file).unwrap(), before);
    };
    check(
        Page::html("<h1>Hello</h1>"),
        "is not the file of models.dev",
    );
    check(Page::of("application/json", "{}"), "it names no model");
    let deep = format!("{{\"a\":{}", "[".repeat(100_000));
    check(
        Page::of("application/json", deep),
        "it is not a JSON object",
    );
    check(Page::html("").with_status(503), "answered 503");
    check(Page::redirect("/elsewhere"), "answered 302");
    check(
        Page::of("application/json", vec![b' '; 33 * 1024 * 1024]),
        "sends more than 32 MiB",
    );
    let output = environment.run(["model", "refresh", "--url", "http://models.dev/api.json"]);
    assert_eq!(output.status, Some(1), "{output}");
    assert!(output.stderr.contains("is not an address"), "{output}");
}

#[test]
fn a_damaged_table_is_named_and_the_one_in_the_program_used() {
    let provider = Provider::play([Response::reply("One.")]);
    let environment = known_as(&provider, "openai/gpt-4o");
    let file = environment.data().join("model-table.tsv");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replace("40000", "50000")).unwrap();
    let output = environment.run(["ask", "--json", "one"]);
    assert_eq!(output.status, Some(0), "{output}");
    let expected = "the table of models in ~/data/dunlin/model-table.tsv cannot be used: it was changed or cut";
    assert_eq!(output.stderr.matches(expected).count(), 1, "{output}");
    assert!(
        output
            .stderr
            .contains("`dunlin model refresh` replaces the file"),
        "{output}"
    );
    let document = parsed(&output.stdout);
    assert_eq!(document["cost"]["complete"], true, "{output}");
}
