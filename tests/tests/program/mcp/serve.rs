//! `dunlin mcp serve`: the tools for other programs, and what a client can do wrong.

use dunlin_tests::{DEADLINE, Environment, McpClient, program};
use serde_json::{Value, json};

use crate::stage::files_below;

fn environment() -> Environment {
    let environment = Environment::warm(program!());
    environment.project_file("a.txt", "text of a\n");
    environment.outside_file("b.txt", "text of b\n");
    environment
}

fn serve(environment: &Environment) -> McpClient {
    McpClient::open(environment.command(["mcp", "serve"]))
}

fn with_guests(environment: &Environment, guests: &[&str]) -> McpClient {
    McpClient::open(environment.command(["mcp", "serve"]).guests(guests))
}

/// The text of a result, which is an error or not.
fn text(answer: &Value, is_error: bool) -> &str {
    assert_eq!(answer["result"]["isError"], is_error, "{answer}");
    answer["result"]["content"][0]["text"]
        .as_str()
        .expect("a text")
}

fn names(client: &mut McpClient) -> Vec<String> {
    let id = client.request("tools/list", json!({}));
    let answer = client.answer(id);
    let tools = answer["result"]["tools"].as_array().expect("tools");
    let name = |tool: &Value| tool["name"].as_str().expect("a name").to_owned();
    tools.iter().map(name).collect()
}

#[test]
fn tools_are_offered_and_called() {
    let environment = environment();
    let mut client = McpClient::start(environment.command(["mcp", "serve"]));
    let answer = client.initialize(json!({}));
    assert_eq!(answer["result"]["serverInfo"]["name"], "dunlin");
    assert_eq!(answer["result"]["capabilities"], json!({"tools": {}}));
    let id = client.request("tools/list", json!({}));
    let answer = client.answer(id);
    let tools = answer["result"]["tools"].as_array().expect("tools");
    let tool = |name: &str| tools.iter().find(|tool| tool["name"] == name).unwrap();
    assert_eq!(tool("read_file")["annotations"]["readOnlyHint"], true);
    assert_eq!(tool("edit_file")["annotations"]["destructiveHint"], true);
    assert_eq!(tool("edit_file")["annotations"]["idempotentHint"], false);
    assert_eq!(tool("read_file")["title"], "Read a file");
    assert_eq!(tool("read_file")["inputSchema"]["type"], "object");
    for absent in ["ask_user", "run_subagent", "todo"] {
        assert!(tools.iter().all(|tool| tool["name"] != absent), "{answer}");
    }
    assert_eq!(answer["result"].get("nextCursor"), None);

    let answer = client.call("read_file", json!({"file_path": "a.txt"}));
    assert!(text(&answer, false).contains("text of a"), "{answer}");
    let id = client.request("ping", json!({}));
    assert_eq!(client.answer(id)["result"], json!({}));
    let output = client.close();
    assert_eq!(
        (output.status, output.stderr.as_str()),
        (Some(0), ""),
        "{output}"
    );
}

#[test]
fn what_is_not_allowed_beforehand_is_denied_and_can_be_allowed() {
    let environment = environment();
    let mut client = serve(&environment);
    let outside = json!({"file_path": "../outside/b.txt"});
    let answer = client.call("read_file", outside.clone());
    let said = text(&answer, true);
    assert!(
        said.starts_with("ERROR: Permission denied: Read file '../outside/b.txt'?"),
        "{said}"
    );
    // What it says is what helps, in the running server as well.
    let command = said
        .lines()
        .find_map(|line| line.trim().strip_prefix("dunlin "))
        .unwrap();
    let words: Vec<&str> = command.split(' ').collect();
    let b = environment.root().join("outside/b.txt");
    assert_eq!(words, ["permissions", "allow", "read", b.to_str().unwrap()]);
    assert_eq!(environment.run(words).status, Some(0));
    let answer = client.call("read_file", outside);
    assert!(text(&answer, false).contains("text of b"), "{answer}");

    // A rule that says no is named.
    let denied = environment.run(["permissions", "set", "a.txt", "-??"]);
    assert_eq!(denied.status, Some(0), "{denied}");
    let answer = client.call("read_file", json!({"file_path": "a.txt"}));
    let said = text(&answer, true);
    assert!(said.contains("\nThe reason: stored under "), "{said}");

    // Dunlin's own folders stay closed.
    let own = environment.config_file();
    environment.configure("on_denial = \"stop\"");
    let answer = client.call("read_file", json!({"file_path": own}));
    assert!(
        text(&answer, true).ends_with("\nNothing can allow it."),
        "{answer}"
    );

    // A line that is judged each time cannot be allowed in advance.
    let answer = client.call("run_terminal_command", json!({"command": "true && true"}));
    assert!(
        text(&answer, true).contains("asked about each time"),
        "{answer}"
    );

    assert_eq!(client.close().status, Some(0));
    let audit = environment.run(["audit", "--denied"]);
    assert!(audit.stdout.contains("outside/b.txt"), "{audit}");
    assert!(audit.stdout.contains("there was nobody to ask"), "{audit}");
    assert!(!audit.stdout.contains("answered"), "{audit}");
}

#[test]
fn a_use_that_was_not_declared_is_denied_and_named() {
    let environment = environment();
    let mut client = with_guests(&environment, &["undeclared"]);
    let answer = client.call("undeclared", json!({"path": "../outside/b.txt"}));
    let said = text(&answer, true);
    assert!(said.contains("dunlin permissions allow read "), "{said}");
    assert!(!said.contains("text of b"), "{said}");
}

#[test]
fn allow_and_agent_open_and_narrow() {
    let environment = environment();
    environment.configure(
        "[agents.reader]\nbase_url = \"http://127.0.0.1:1/v1\"\nmodel = \"m\"\ntools = [\"read_file\"]\n",
    );
    let arguments = [
        "mcp",
        "serve",
        "--agent",
        "reader",
        "--allow",
        "../outside/=r",
    ];
    let mut client = McpClient::open(environment.command(arguments));
    assert_eq!(names(&mut client), ["read_file"]);
    let answer = client.call("read_file", json!({"file_path": "../outside/b.txt"}));
    assert!(text(&answer, false).contains("text of b"), "{answer}");
    let answer = client.call("edit_file", json!({}));
    assert_eq!(answer["error"]["code"], -32602, "{answer}");
    assert_eq!(client.close().status, Some(0));

    // Without a name no agent's list counts.
    assert!(names(&mut serve(&environment)).contains(&"edit_file".to_owned()));

    for arguments in [["--agent", "nobody"], ["--allow", "a.txt=q"]] {
        let output = environment.run(["mcp", "serve"].into_iter().chain(arguments));
        assert_eq!(output.status, Some(2), "{output}");
        assert_eq!(output.stdout, "");
    }
    let elsewhere = environment.outside_file("other/c.txt", "text of c");
    let folder = elsewhere.parent().unwrap().to_str().unwrap();
    let arguments = ["mcp", "serve", "--project", folder];
    let mut client = McpClient::open(environment.command(arguments));
    let answer = client.call("read_file", json!({"file_path": "c.txt"}));
    assert!(text(&answer, false).contains("text of c"), "{answer}");
}

#[test]
fn edits_and_commands_work_once_they_are_allowed() {
    let environment = environment();
    let allow = [
        "mcp",
        "serve",
        "--allow",
        "./=w",
        "--allow",
        "/usr/bin/sleep=x",
    ];
    let mut client = McpClient::open(environment.command(allow));
    client.call("read_file", json!({"file_path": "a.txt"}));
    let edits = json!([{"range": [1, 2], "replacement": "changed"}]);
    let edit = json!({"file_path": "a.txt", "edits": edits});
    let answer = client.call("edit_file", edit);
    let after = std::fs::read_to_string(environment.project().join("a.txt")).unwrap();
    assert_eq!(after, "changed\n", "{answer}");

    assert_eq!(client.close().status, Some(0));
}

#[test]
fn a_call_that_is_cancelled_stops_at_once_and_has_no_answer() {
    let environment = environment();
    let allow = ["mcp", "serve", "--allow", "/usr/bin/tail=x"];
    let mut client = McpClient::open(environment.command(allow));
    let follow = json!({
        "name": "run_terminal_command",
        "arguments": {"command": "tail -f a.txt"},
        "_meta": {"progressToken": 1},
    });
    let id = client.request("tools/call", follow);
    // What it prints is told, so it runs.
    client.wait(|message| message["params"]["message"] == "text of a");
    let took = client.measure(|client| {
        client.notify(
            "notifications/cancelled",
            json!({"requestId": id, "reason": "enough"}),
        );
        client.request("ping", json!({}))
    });
    assert!(took < DEADLINE, "{took:?}");
    let start = std::time::Instant::now();
    let output = client.close();
    // Nothing was left that would have been waited for.
    assert!(start.elapsed() < DEADLINE, "{:?}", start.elapsed());
    assert_eq!(output.status, Some(0), "{output}");
    let answer = format!("\"id\":{id},\"result\"");
    assert!(!output.stdout.contains(&answer), "{output}");
    let audit = environment.run(["audit"]);
    assert!(audit.stdout.contains("cancelled"), "{audit}");
}

#[test]
fn the_end_of_the_input_ends_calls_that_run() {
    let environment = environment();
    let mut client = with_guests(&environment, &["loop_forever", "echo"]);
    let id = client.begin_call("loop_forever", json!({}));
    client.call("echo", json!({"text": "it runs"}));
    client.hang_up();
    let answer = client.answer(id);
    assert_eq!(
        answer["error"]["message"], "the client has gone",
        "{answer}"
    );
    assert_eq!(client.close().status, Some(0));

    // Whoever pipes lines in gets what they ask for.
    let lines = [
        r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#,
        r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"read_file","arguments":{"file_path":"a.txt"}}}"#,
    ];
    let output = environment
        .command(["mcp", "serve"])
        .stdin(lines.join("\n"))
        .run();
    assert_eq!(output.status, Some(0), "{output}");
    assert!(output.stdout.contains("2025-06-18"), "{output}");
    assert!(output.stdout.contains("text of a"), "{output}");

    // Nobody speaks at all.
    let output = environment.run(["mcp", "serve"]);
    assert_eq!(output.to_string(), "status: 0\n");
}

#[test]
fn nonsense_is_answered_and_survived() {
    let environment = environment();
    let mut client = McpClient::start(environment.command(["mcp", "serve"]));
    // Before anything was agreed on.
    client.notify("notifications/initialized", json!({}));
    client.notify("notifications/cancelled", json!({"requestId": 7}));
    let early = client.request("tools/list", json!({}));
    assert_eq!(client.answer(early)["error"]["code"], -32600);
    let ping = client.request("ping", json!({}));
    assert_eq!(client.answer(ping)["result"], json!({}));
    client.initialize(json!({}));

    for line in ["hello", "{", "[]", "\u{1b}[2J", "null"] {
        client.line(line);
    }
    client.line(b"\xff\xfe\x00");
    client.line(vec![b'x'; 17 * 1024 * 1024]);
    client.wait(|message| {
        let said = message["error"]["message"].as_str().unwrap_or_default();
        message.get("id").is_none() && said.contains("longer than 16 MiB")
    });
    let refused = |code: i64| {
        let is_one =
            |message: &&Value| message["error"]["code"] == code && message.get("id").is_none();
        client.messages().iter().filter(is_one).count()
    };
    assert_eq!(
        (refused(-32700), refused(-32600)),
        (4, 3),
        "{:?}",
        client.messages()
    );

    for (method, params, code) in [
        ("no/such", json!({}), -32601),
        ("prompts/list", json!({}), -32601),
        ("resources/list", json!({}), -32601),
        ("tools/call", json!({"arguments": {}}), -32602),
        (
            "tools/call",
            json!({"name": "read_file", "arguments": []}),
            -32602,
        ),
        ("tools/call", json!({"name": "none"}), -32602),
        ("tools/list", json!({"cursor": "x"}), -32602),
    ] {
        let id = client.request(method, params.clone());
        let answer = client.answer(id);
        assert_eq!(answer["error"]["code"], code, "{method} {params}: {answer}");
    }
    let answer = client.call("read_flie", json!({}));
    let said = answer["error"]["message"].as_str().unwrap();
    assert!(said.ends_with("similar: read_file"), "{said}");

    // What the model wrote wrongly goes back to the model.
    for arguments in [
        json!({}),
        json!({"file_path": 7}),
        json!({"file_path": "a.txt", "x": 1}),
    ] {
        let answer = client.call("read_file", arguments);
        assert!(text(&answer, true).contains("do not fit"), "{answer}");
    }
    let answer = client.call("read_file", json!({"file_path": "none.txt"}));
    assert!(text(&answer, true).starts_with("ERROR: "), "{answer}");
    assert_eq!(client.close().status, Some(0));
}

#[test]
fn calls_run_side_by_side() {
    // All of them need what is not compiled yet; that must not happen once for each.
    let environment = environment().cold();
    let mut client = with_guests(&environment, &["loop_forever", "trap", "echo"]);
    let forever = client.begin_call("loop_forever", json!({}));
    let ids: Vec<u64> = (0..40)
        .map(|number| match number % 2 {
            0 => client.begin_call("read_file", json!({"file_path": "a.txt"})),
            _ => client.begin_call("trap", json!({})),
        })
        .collect();
    for (number, id) in ids.into_iter().enumerate() {
        let answer = client.answer(id);
        assert_eq!(answer["result"]["isError"], number % 2 == 1, "{answer}");
    }
    client.notify("notifications/cancelled", json!({"requestId": forever}));
    assert_eq!(client.close().status, Some(0));
}

#[test]
fn progress_is_told_while_it_is_wanted() {
    let environment = environment();
    let mut client = with_guests(&environment, &["progress_flood"]);
    let wanted =
        json!({"name": "progress_flood", "arguments": {}, "_meta": {"progressToken": "p"}});
    let id = client.request("tools/call", wanted);
    assert_eq!(text(&client.answer(id), false), "done");
    let messages = client.messages();
    let told = |message: &&Value| message["method"] == "notifications/progress";
    let steps: Vec<f64> = messages
        .iter()
        .filter(told)
        .map(|message| {
            assert_eq!(message["params"]["progressToken"], "p");
            assert_eq!(message["params"]["total"], 100.0);
            message["params"]["progress"].as_f64().unwrap()
        })
        .collect();
    assert!(steps.is_sorted_by(|a, b| a < b), "{steps:?}");
    // The answer is the last word.
    assert_eq!(messages.last().unwrap()["id"], id);

    client.call("progress_flood", json!({}));
    let after = client.messages();
    assert_eq!(after.iter().filter(told).count(), steps.len());
}

#[test]
fn a_client_that_shows_forms_is_asked_in_words_but_grants_nothing() {
    let environment = environment();
    let mut client = McpClient::start(environment.command(["mcp", "serve"]));
    client.initialize(json!({"elicitation": {}}));
    assert!(names(&mut client).contains(&"ask_user".to_owned()));
    for (which, reply, expected) in [
        (
            "One?",
            json!({"action": "accept", "content": {"answer": "2"}}),
            "blue",
        ),
        (
            "Two?",
            json!({"action": "decline"}),
            "ERROR: the user did not want to answer",
        ),
    ] {
        let call = json!({"question": which, "options": ["red", "blue"]});
        let id = client.begin_call("ask_user", call);
        let form = client.wait(|message| {
            let said = message["params"]["message"].as_str().unwrap_or_default();
            said.contains(which) && said.contains("2. blue")
        });
        let reply = json!({"jsonrpc": "2.0", "id": form["id"], "result": reply});
        client.line(reply.to_string());
        let answer = client.answer(id);
        assert_eq!(answer["result"]["content"][0]["text"], expected, "{answer}");
    }
    let answer = client.call("read_file", json!({"file_path": "../outside/b.txt"}));
    assert!(
        text(&answer, true).contains("Permission denied"),
        "{answer}"
    );
}

#[test]
fn a_form_for_a_call_that_is_cancelled_is_withdrawn() {
    let environment = environment();
    let mut client = McpClient::start(environment.command(["mcp", "serve"]));
    client.initialize(json!({"elicitation": {}}));
    let id = client.begin_call("ask_user", json!({"question": "Well?"}));
    let form = client.wait(|message| message["method"] == "elicitation/create");
    client.notify("notifications/cancelled", json!({"requestId": id}));
    let withdrawn = client.wait(|message| message["method"] == "notifications/cancelled");
    assert_eq!(withdrawn["params"]["requestId"], form["id"], "{withdrawn}");
    // An answer that comes all the same is nobody's.
    let late = json!({"action": "accept", "content": {"answer": "x"}});
    client.line(json!({"jsonrpc": "2.0", "id": form["id"], "result": late}).to_string());
    assert!(names(&mut client).contains(&"ask_user".to_owned()));
}

#[test]
fn a_broken_plugin_is_told_of_on_stderr_and_the_rest_is_there() {
    let environment = environment();
    let mut client = with_guests(&environment, &["bad_schema"]);
    assert!(names(&mut client).contains(&"read_file".to_owned()));
    let output = client.close();
    assert!(
        output.stderr.starts_with("warning: the plugin bad_schema"),
        "{output}"
    );
}

#[test]
fn the_second_start_compiles_nothing() {
    let environment = environment();
    names(&mut serve(&environment));
    let compiled = |name: &std::path::PathBuf| name.extension().is_some_and(|end| end == "cwasm");
    let components: Vec<_> = files_below(&environment.cache())
        .into_iter()
        .filter(compiled)
        .collect();
    assert!(
        !components.is_empty(),
        "{:?}",
        files_below(&environment.cache())
    );
    for component in components {
        std::fs::remove_file(component).unwrap();
    }
    let mut client = serve(&environment);
    assert!(!names(&mut client).is_empty());
    assert!(!files_below(&environment.cache()).iter().any(compiled));
}
