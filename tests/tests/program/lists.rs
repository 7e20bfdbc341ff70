//! Lists for programs: `--json` of each command that lists something.

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
    let file = environment.config_file();
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
