//! An editor that speaks the Agent Client Protocol.

use std::path::Path;

use dunlin_tests::{Environment, Invocation, Output, RpcClient};
use serde_json::{Value, json};

/// One editor with one agent.
pub struct Editor {
    pub client: RpcClient,
}

impl Editor {
    /// Starts the agent and agrees on the protocol.
    pub fn open(environment: &Environment) -> Editor {
        Editor::of(environment.command(["acp"]), json!({}))
    }

    /// The same with these abilities.
    pub fn of(invocation: Invocation<'_>, capabilities: Value) -> Editor {
        let mut editor = Editor {
            client: RpcClient::start(invocation),
        };
        let params = json!({"protocolVersion": 1, "clientCapabilities": capabilities});
        let id = editor.client.request("initialize", params);
        assert_eq!(editor.result(id)["protocolVersion"], 1);
        editor
    }

    /// What a request is answered with.
    pub fn result(&self, id: u64) -> Value {
        let answer = self.client.answer(id);
        assert!(answer.get("error").is_none(), "{answer}");
        answer["result"].clone()
    }

    /// The code of the error that a request is answered with, and its text.
    pub fn error(&self, id: u64) -> (i64, String) {
        let answer = self.client.answer(id);
        let error = &answer["error"];
        let code = error["code"].as_i64();
        let message = error["message"].as_str();
        (
            code.unwrap_or_else(|| panic!("{answer}")),
            message.unwrap_or_else(|| panic!("{answer}")).to_owned(),
        )
    }

    pub fn begin_session(&mut self, folder: &Path, servers: Value) -> u64 {
        let params = json!({"cwd": folder, "mcpServers": servers});
        self.client.request("session/new", params)
    }

    /// Begins a session in this folder; its id.
    pub fn session(&mut self, folder: &Path) -> String {
        let id = self.begin_session(folder, json!([]));
        let id = self.result(id)["sessionId"].clone();
        id.as_str().expect("an id").to_owned()
    }

    /// Goes on with a session.
    pub fn load(&mut self, session: &str, folder: &Path) {
        let params = json!({"sessionId": session, "cwd": folder, "mcpServers": []});
        let id = self.client.request("session/load", params);
        assert_eq!(self.result(id)["modes"]["currentModeId"], "ask");
    }

    /// Begins a turn.
    pub fn say(&mut self, session: &str, text: &str) -> u64 {
        self.say_blocks(session, json!([{"type": "text", "text": text}]))
    }

    pub fn say_blocks(&mut self, session: &str, blocks: Value) -> u64 {
        let params = json!({"sessionId": session, "prompt": blocks});
        self.client.request("session/prompt", params)
    }

    /// Waits for the end of a turn; why it ended.
    pub fn ended(&self, id: u64) -> String {
        let reason = self.result(id)["stopReason"].clone();
        reason.as_str().expect("a text").to_owned()
    }

    /// Chooses a mode; the answer's error, if it is one.
    pub fn set_mode(&mut self, session: &str, mode: &str) -> Option<String> {
        let params = json!({"sessionId": session, "modeId": mode});
        let id = self.client.request("session/set_mode", params);
        let answer = self.client.answer(id);
        let error = answer["error"]["message"].as_str().map(str::to_owned);
        assert!(error.is_some() || answer["result"] == json!({}), "{answer}");
        error
    }

    pub fn cancel(&mut self, session: &str) {
        let params = json!({"sessionId": session});
        self.client.notify("session/cancel", params);
    }

    /// Waits for the question number `index`, from 0.
    pub fn question(&self, index: usize) -> Value {
        self.client.wait_for(index, |message| {
            message["method"] == "session/request_permission"
        })
    }

    /// Answers a question.
    pub fn choose(&mut self, question: &Value, option: &str) {
        let outcome = json!({"outcome": {"outcome": "selected", "optionId": option}});
        self.answer(question, &outcome);
    }

    pub fn answer(&mut self, question: &Value, result: &Value) {
        let answer = json!({"jsonrpc": "2.0", "id": question["id"], "result": result});
        self.client.line(answer.to_string());
    }

    /// What the editor was told of a session so far.
    pub fn updates(&self, session: &str) -> Vec<Value> {
        let messages = self.client.messages().into_iter();
        let of_session = messages
            .filter(|it| it["method"] == "session/update" && it["params"]["sessionId"] == session);
        of_session
            .map(|it| it["params"]["update"].clone())
            .collect()
    }

    /// All pieces of this kind, put together.
    pub fn text(&self, session: &str, kind: &str) -> String {
        let updates = self.updates(session).into_iter();
        let pieces = updates.filter(|it| it["sessionUpdate"] == kind);
        let text = |it: Value| {
            it["content"]["text"]
                .as_str()
                .unwrap_or_default()
                .to_owned()
        };
        pieces.map(text).collect()
    }

    /// What the editor shows of the call number `index` in the end.
    pub fn call(&self, session: &str, index: usize) -> Value {
        let updates = self.updates(session);
        let calls: Vec<&Value> = updates
            .iter()
            .filter(|it| it["sessionUpdate"] == "tool_call")
            .collect();
        let mut call = calls[index].clone();
        let id = call["toolCallId"].clone();
        for update in &updates {
            if update["sessionUpdate"] == "tool_call_update" && update["toolCallId"] == id {
                for (key, value) in update.as_object().expect("an object") {
                    call[key] = value.clone();
                }
            }
        }
        call
    }

    /// Hangs up and waits for the end of the agent. All that it wrote was a message of the protocol.
    pub fn close(self) -> Output {
        let messages = self.client.messages();
        messages.iter().for_each(check);
        self.client.close()
    }
}

/// Methods of a client, with the fields that their parameters may have.
const METHODS: [(&str, &[&str]); 4] = [
    ("session/update", &["sessionId", "update"]),
    (
        "session/request_permission",
        &["sessionId", "toolCall", "options"],
    ),
    (
        "elicitation/create",
        &[
            "sessionId",
            "toolCallId",
            "mode",
            "message",
            "requestedSchema",
        ],
    ),
    ("$/cancel_request", &["requestId"]),
];

/// Kinds of updates, with the fields that they may have.
const UPDATES: [(&str, &[&str]); 7] = [
    ("user_message_chunk", &["content"]),
    ("agent_message_chunk", &["content"]),
    ("agent_thought_chunk", &["content"]),
    ("tool_call", CALL),
    ("tool_call_update", CALL),
    ("plan", &["entries"]),
    ("available_commands_update", &["availableCommands"]),
];

const CALL: &[&str] = &[
    "toolCallId",
    "title",
    "kind",
    "status",
    "content",
    "locations",
    "rawInput",
];

/// Fails where a message is none of the protocol.
fn check(message: &Value) {
    let Some(method) = message["method"].as_str() else {
        return;
    };
    let params = &message["params"];
    let known = METHODS.iter().find(|(name, _)| *name == method);
    let (_, fields) = known.unwrap_or_else(|| panic!("no method: {message}"));
    check_fields(params, fields);
    if method == "session/update" {
        let mut update = params["update"].clone();
        let kind = update["sessionUpdate"].take();
        let known = UPDATES.iter().find(|(name, _)| kind == *name);
        let (_, fields) = known.unwrap_or_else(|| panic!("no update: {message}"));
        update
            .as_object_mut()
            .expect("an object")
            .remove("sessionUpdate");
        check_fields(&update, fields);
    }
}

fn check_fields(value: &Value, fields: &[&str]) {
    let object = value.as_object().expect("an object");
    for (key, value) in object {
        assert!(fields.contains(&key.as_str()), "{key}: {value}");
        // What is not there is left out.
        assert!(!value.is_null(), "{key}");
    }
}
