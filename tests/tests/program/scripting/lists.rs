//! Lists for programs: `--json` of each command that lists something, and the words that a shell offers.

use dunlin_tests::{Environment, Provider, Response};
use serde_json::{Value, json};

use crate::stage::{Chat, environment};

#[track_caller]
fn listed(environment: &Environment, arguments: &[&str]) -> Value {
    let output = environment.run(arguments);
    assert_eq!(
        (output.status, output.stderr.as_str()),
        (Some(0), ""),
        "{output}"
    );
    serde_json::from_str(&output.stdout).expect("JSON")
}

#[test]
fn a_list_is_json() {
    let provider = Provider::play([Response::reply("A dunlin is a small bird.")]);
    let environment = environment(&provider);
    for arguments in [
        &["permissions", "list", "--json"][..],
        &["mcp", "list", "--json"],
        &["app", "list", "--json"],
        &["plugin", "list", "--json"],
        &["plugin", "outdated", "--json"],
        &["plugin", "source", "list", "--json"],
        &["plugin", "key", "list", "--json"],
        &["sessions", "list", "--json"],
        &["sessions", "search", "bird", "--json"],
    ] {
        assert_eq!(listed(&environment, arguments), json!([]), "{arguments:?}");
    }
    let tools = listed(&environment, &["tools", "list", "--json"]);
    let read = tools.as_array().into_iter().flatten();
    let mut read = read.filter(|tool| tool["name"] == "read_file");
    let read = read.next().expect("the tool that reads files");
    assert_eq!(read["parameters"]["type"], "object");

    for arguments in [
        &["permissions", "allow", "read", "https://example.com/"][..],
        &["mcp", "add", "far", "--url", "https://mcp.example/mcp"],
        &[
            "mcp",
            "add",
            "near",
            "--env",
            "TOKEN=secret",
            "--",
            "near",
            "-v",
        ],
    ] {
        let output = environment.run(arguments);
        assert_eq!(output.status, Some(0), "{output}");
    }
    let mut chat = Chat::open(&environment);
    chat.turn("What is a dunlin?");
    chat.leave();
    assert_eq!(
        listed(&environment, &["permissions", "list", "--json"]),
        json!([{ "target": "https://example.com/", "bits": "r??", "bound_to": null, "lapsed": null }])
    );
    // Its folder is that of the test: what is printed names it so.
    let file = "[HOME]/config/dunlin/config.toml";
    assert_eq!(
        listed(&environment, &["mcp", "list", "--json"]),
        json!([
            { "name": "far", "url": "https://mcp.example/mcp", "enabled": true, "file": file },
            {
                "name": "near", "command": ["near", "-v"], "variables": ["TOKEN"], "sandbox": false,
                "enabled": true, "file": file,
            },
        ])
    );
    let found = listed(&environment, &["sessions", "search", "bird", "--json"]);
    let sessions = listed(&environment, &["sessions", "list", "--json"]);
    assert_eq!(found[0]["id"], sessions[0]["id"]);
    assert_eq!(
        found[0]["places"],
        json!([{ "who": "model", "excerpt": "A dunlin is a small bird." }])
    );
}

/// What a shell offers for the last of these words.
#[track_caller]
fn offered(environment: &Environment, words: &[&str]) -> Vec<String> {
    let index = words.len().to_string();
    let arguments = ["--", "dunlin"].iter().chain(words);
    let output = environment
        .command(arguments)
        .variable("DUNLIN_COMPLETE", "fish")
        .variable("_CLAP_COMPLETE_INDEX", &index)
        .run();
    assert_eq!(
        (output.status, output.stderr.as_str()),
        (Some(0), ""),
        "{output}"
    );
    output.stdout.lines().map(str::to_owned).collect()
}

#[test]
fn a_shell_offers_names_with_what_they_are() {
    let provider = Provider::play([Response::reply("A bird.")]);
    let environment = environment(&provider);
    let added = environment.run(["mcp", "add", "far", "--url", "https://mcp.example/mcp"]);
    assert_eq!(added.status, Some(0), "{added}");
    let mut chat = Chat::open(&environment);
    chat.turn("What is a dunlin?");
    chat.leave();
    let sessions = listed(&environment, &["sessions", "list", "--json"]);
    let id = sessions[0]["id"].as_str().expect("an id");

    let session = format!("{id}\tWhat is a dunlin?");
    for (words, expected) in [
        (&["sessions", "show", ""][..], session.as_str()),
        (&["--resume", ""], &session),
        (&["--agent", "assis"], "assistant\tscripted"),
        (&["ask", "--model", ""], "scripted"),
        (&["mcp", "test", ""], "far"),
        (
            &["sess"],
            "sessions\tList, show, search, rename, copy, export and delete conversations",
        ),
        (&["help", "perm"], "permissions"),
    ] {
        let offered = offered(&environment, words);
        assert!(
            offered.iter().any(|it| it == expected),
            "{words:?}: {offered:?}"
        );
    }
    let tools = offered(&environment, &["tools", "show", "read"]);
    assert!(tools[0].starts_with("read_file\t"), "{tools:?}");

    environment.configure("modle = 1\n");
    assert_eq!(offered(&environment, &["--agent", ""]), [""; 0]);
}
