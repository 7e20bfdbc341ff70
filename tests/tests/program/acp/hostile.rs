//! What an editor can do wrong.

use dunlin_tests::{Environment, Gate, Provider, Response, RpcClient, program};
use rustix::process::Signal;
use serde_json::{Value, json};

use super::editor::Editor;
use crate::stage::{environment, read};

/// The codes of the first errors in which no request is named, in their order.
fn nameless(client: &RpcClient, count: usize) -> Vec<i64> {
    let is_nameless = |it: &Value| it["id"].is_null() && it.get("error").is_some();
    let errors = (0..count).map(|number| client.wait_for(number, is_nameless));
    errors
        .filter_map(|it| it["error"]["code"].as_i64())
        .collect()
}

#[test]
fn lines_that_are_no_messages_are_answered() {
    let environment = Environment::warm(program!());
    let mut client = RpcClient::start(environment.command(["acp"]));
    let early = client.request("session/new", json!({"cwd": "/", "mcpServers": []}));
    assert_eq!(client.answer(early)["error"]["code"], -32600);
    let mut editor = Editor { client };
    let initialize = json!({"protocolVersion": 7, "clientCapabilities": "all of them"});
    let id = editor.client.request("initialize", initialize);
    let answer = editor.client.answer(id);
    assert_eq!(answer["result"]["protocolVersion"], 1);
    assert_eq!(answer["result"]["authMethods"], json!([]));
    let client = &mut editor.client;
    let long = vec![b'x'; 16 * 1024 * 1024 + 7];
    let deep = "[".repeat(100_000);
    let lines: [(&[u8], i64); 11] = [
        (b"hello", -32700),
        (b"{\"jsonrpc\":", -32700),
        (b"\xff\xfe", -32700),
        (&long, -32600),
        (deep.as_bytes(), -32700),
        (b"[]", -32600),
        (b"7", -32600),
        (b"{}", -32600),
        (
            br#"{"jsonrpc":"2.0","id":1.5,"method":"initialize"}"#,
            -32600,
        ),
        (
            br#"{"jsonrpc":"2.0","id":null,"method":"initialize"}"#,
            -32600,
        ),
        (br#"{"jsonrpc":"2.0","id":9,"method":7}"#, -32600),
    ];
    let mut expected = Vec::new();
    for (line, code) in lines {
        client.line(line);
        expected.push(code);
    }
    assert_eq!(nameless(client, expected.len()), expected);
    // Neither is answered: nobody asked, and nobody waits.
    client.line(br#"{"jsonrpc":"2.0","id":1,"result":{"outcome":{"outcome":"selected","optionId":"allow"}}}"#);
    client.line(br#"{"jsonrpc":"2.0","id":{"a":1},"error":"no"}"#);
    client.line(br#"{"jsonrpc":"2.0","method":"session/cancel","params":7}"#);
    client.line(br#"{"jsonrpc":"2.0","method":"no/such"}"#);
    client.line("\u{feff}\n\n  \r\n");
    let old = json!({"jsonrpc": "1.0", "id": "old", "method": "initialize"});
    client.line(old.to_string());
    let answer = client.wait(|it| it["id"] == "old");
    assert_eq!(answer["error"]["code"], -32600);
    for (method, params, code) in [
        ("no/such", json!({}), -32601),
        ("fs/read_text_file", json!({"path": "/etc/passwd"}), -32601),
        ("session/new", json!({}), -32602),
        ("session/new", json!({"cwd": 7, "mcpServers": []}), -32602),
        ("session/new", json!([]), -32602),
        (
            "session/load",
            json!({"cwd": "/", "mcpServers": []}),
            -32602,
        ),
        (
            "session/prompt",
            json!({"sessionId": "a", "prompt": "text"}),
            -32602,
        ),
        (
            "session/prompt",
            json!({"sessionId": "a", "prompt": []}),
            -32002,
        ),
        ("session/close", json!({"sessionId": "a"}), -32002),
        ("session/list", json!({"cursor": "2"}), -32602),
    ] {
        let id = client.request(method, params.clone());
        assert_eq!(
            client.answer(id)["error"]["code"],
            code,
            "{method} {params}"
        );
    }
    let output = editor.close();
    assert_eq!(output.status, Some(0), "{output}");
}

#[test]
fn an_id_that_is_under_way_and_an_answer_of_another_shape() {
    let gate = Gate::new();
    let provider = Provider::play([
        Response::stream().text("a").wait(&gate).finish("stop"),
        read("../outside/b.txt"),
        read("../outside/b.txt"),
    ]);
    let environment = environment(&provider);
    environment.outside_file("b.txt", "text of b\n");
    let mut editor = Editor::open(&environment);
    let session = editor.session(&environment.project());
    let turn = editor.say(&session, "go");
    gate.wait_reached();
    let again = json!({"jsonrpc": "2.0", "id": turn, "method": "session/close", "params": {"sessionId": session}});
    editor.client.line(again.to_string());
    assert_eq!(nameless(&editor.client, 1), [-32600]);
    gate.open();
    assert_eq!(editor.ended(turn), "end_turn");

    let turn = editor.say(&session, "read");
    let question = editor.question(0);
    let other = json!({"id": 4711});
    editor.choose(&other, "allow");
    let text = json!({"id": question["id"].to_string()});
    editor.choose(&text, "allow");
    editor.answer(&question, &json!({"outcome": "allow"}));
    assert_eq!(editor.ended(turn), "end_turn");
    assert_eq!(editor.call(&session, 0)["status"], "failed");

    // An editor that cannot ask.
    let turn = editor.say(&session, "read");
    let question = editor.question(1);
    let error = json!({"jsonrpc": "2.0", "id": question["id"], "error": {"code": -32601, "message": "no such method"}});
    editor.client.line(error.to_string());
    assert_eq!(editor.ended(turn), "end_turn");
    let said = editor.text(&session, "agent_message_chunk");
    assert!(
        said.ends_with("The editor cannot ask, so the call is denied: no such method\n\n"),
        "{said}"
    );
    assert_eq!(editor.close().status, Some(0));
}

#[test]
fn the_end_of_the_editor_ends_a_turn() {
    let gate = Gate::new();
    let slow = || Response::stream().text("It be").wait(&gate).finish("stop");
    let provider = Provider::play([slow(), slow()]);
    let environment = environment(&provider);
    for by_signal in [false, true] {
        let mut editor = Editor::open(&environment);
        let session = editor.session(&environment.project());
        editor.say(&session, "go");
        editor
            .client
            .wait(|it| it["params"]["update"]["content"]["text"] == "It be");
        let (output, status) = match by_signal {
            true => {
                editor.client.running().signal(Signal::INT);
                (editor.client.wait_for_end(), 130)
            }
            false => (editor.close(), 0),
        };
        assert_eq!(output.status, Some(status), "{output}");
        // What was said until then is kept.
        let shown = environment.run(["sessions", "show", &session]);
        assert!(shown.stdout.contains("It be"), "{shown}");
    }
    gate.open();
}

#[test]
fn text_of_the_model_is_harmless_on_the_wire() {
    let provider = Provider::play([Response::reply("a\u{1b}[2J\u{202e}b")]);
    let environment = environment(&provider);
    let mut editor = Editor::open(&environment);
    let session = editor.session(&environment.project());
    let turn = editor.say(&session, "go");
    assert_eq!(editor.ended(turn), "end_turn");
    assert_eq!(
        editor.text(&session, "agent_message_chunk"),
        "a\u{1b}[2J\u{202e}b"
    );
    let output = editor.close();
    assert!(output.stdout.contains("a\\u001b[2J\\u202eb"), "{output}");
}
