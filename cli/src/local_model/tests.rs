//! A tiny model behind the provider, as the turn sees it.

use std::path::Path;

use dunlin_local::Rendering;
use dunlin_local::tiny::Tiny;
use futures::StreamExt;
use serde_json::{Value, json};

use super::*;
use dunlin_chat::agent::Api;

struct Rig {
    _folder: tempfile::TempDir,
    local: Local,
}

fn rig(tiny: &Tiny<'_>) -> Rig {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tiny.gguf");
    tiny.write(&path).unwrap();
    Rig {
        local: local(&path),
        _folder: folder,
    }
}

fn agent(path: &Path) -> Agent {
    Agent {
        api: Api::Local,
        base_url: url::Url::from_file_path(path).unwrap(),
        model: "tiny".to_owned(),
        ..Agent::sample()
    }
}

fn local(path: &Path) -> Local {
    Local::new(&agent(path), Rendering::run)
}

fn asks(text: &str) -> Value {
    json!({"model": "tiny", "messages": [{"role": "user", "content": text}], "temperature": 0})
}

fn with_tool(mut body: Value) -> Request {
    let schema = json!({
        "type": "object",
        "properties": {"file_path": {"type": "string"}},
        "required": ["file_path"],
    });
    body["tools"] =
        json!([{"type": "function", "function": {"name": "read_file", "parameters": schema}}]);
    Request::new(body).with_tools([Tool {
        name: "read_file".to_owned(),
        plugin: "read_file".to_owned(),
        description: String::new(),
        parameters: schema,
        imports: Vec::new(),
        annotations: dunlin_host::Annotations::default(),
    }])
}

#[derive(Debug, Default, PartialEq)]
struct Reply {
    text: String,
    notices: Vec<String>,
    usage: Usage,
    started: usize,
    calls: Vec<ProposedCall>,
    finish: Option<Finish>,
}

async fn reply_of(local: &Local, request: &Request) -> Result<Reply, ProviderError> {
    let mut stream = local.send(request).await?;
    let mut reply = Reply::default();
    while let Some(event) = stream.next().await {
        match event? {
            StreamEvent::Text(text) => reply.text += &text,
            StreamEvent::Notice(notice) => reply.notices.push(notice),
            StreamEvent::Usage(usage) => reply.usage = usage,
            StreamEvent::CallStarted { .. } => reply.started += 1,
            StreamEvent::End(end) => {
                reply.calls = end.calls;
                reply.finish = Some(end.finish);
            }
            other => panic!("{other:?}"),
        }
    }
    Ok(reply)
}

#[tokio::test]
async fn a_model_answers_and_remembers_what_it_read() {
    let rig = rig(&Tiny::default());
    let first = reply_of(&rig.local, &Request::new(asks("When do they nest?")))
        .await
        .unwrap();
    assert_eq!(first.text, "Sandpipers nest in June.");
    assert_eq!(first.finish, Some(Finish::Complete));
    assert_eq!(
        (first.usage.cached_tokens, first.usage.output_tokens),
        (0, 5)
    );
    let mut longer = asks("When do they nest?");
    let more = [
        json!({"role": "assistant", "content": first.text}),
        json!({"role": "user", "content": "Sure?"}),
    ];
    longer["messages"].as_array_mut().unwrap().extend(more);
    let second = reply_of(&rig.local, &Request::new(longer)).await.unwrap();
    assert!(
        second.usage.cached_tokens >= first.usage.input_tokens,
        "{second:?}"
    );
}

#[tokio::test]
async fn what_stands_between_marks_is_a_call() {
    let rig = rig(&Tiny {
        says: &[
            "I look.\n",
            "<tool_call>",
            "{\"name\": \"read_file\", ",
            "\"arguments\": {\"file_path\": \"a.txt\"}}",
            "</tool_call>",
        ],
        ..Tiny::default()
    });
    let reply = reply_of(&rig.local, &with_tool(asks("Read a.txt")))
        .await
        .unwrap();
    assert_eq!((reply.text.as_str(), reply.started), ("I look.\n", 1));
    let arguments = json!({"file_path": "a.txt"}).as_object().unwrap().clone();
    assert_eq!(
        reply.calls,
        [ProposedCall {
            recovered: true,
            ..ProposedCall::new("", "read_file", arguments)
        }]
    );
    // It is how this model calls, and not worth a word.
    assert!(reply.notices.is_empty(), "{reply:?}");
    // Without tools the same words are words.
    let reply = reply_of(&rig.local, &Request::new(asks("Read a.txt")))
        .await
        .unwrap();
    assert!(reply.text.contains("<tool_call>"), "{reply:?}");
    assert!(reply.calls.is_empty(), "{reply:?}");
}

#[tokio::test]
async fn a_model_without_a_place_for_tools_is_said_so_and_offered_none() {
    let rig = rig(&Tiny {
        chat_ml: false,
        ..Tiny::default()
    });
    assert_eq!(rig.local.takes_tools(), None);
    assert!(rig.local.dialect().offers_tools());
    let reply = reply_of(&rig.local, &with_tool(asks("Read a.txt")))
        .await
        .unwrap();
    assert_eq!(
        reply.notices,
        ["tiny does not support tools; it can only chat"]
    );
    assert_eq!(rig.local.takes_tools(), Some(false));
    assert!(!rig.local.dialect().offers_tools());
}

#[tokio::test]
async fn a_reply_that_is_cut_runs_nothing() {
    let rig = rig(&Tiny::default());
    let mut body = asks("When?");
    body["max_tokens"] = 2.into();
    let reply = reply_of(&rig.local, &Request::new(body)).await.unwrap();
    assert_eq!(
        (reply.text.as_str(), reply.finish),
        ("Sandpipers nest", Some(Finish::Cut))
    );
}

#[tokio::test]
async fn a_dropped_reply_stops_the_model() {
    let rig = rig(&Tiny {
        endless: true,
        ..Tiny::default()
    });
    let mut body = asks("a");
    body["max_tokens"] = 4000.into();
    let request = Request::new(body);
    let mut stream = rig.local.send(&request).await.unwrap();
    let event = stream.next().await.unwrap().unwrap();
    assert_eq!(event, StreamEvent::Text("Sandpipers".to_owned()));
    drop(stream);
    // The thread gives the model back; were it still speaking, this would wait for thousands of tokens that
    // nobody takes.
    let shared = Arc::clone(&rig.local.0);
    let free = tokio::task::spawn_blocking(move || shared.model.lock().is_some());
    assert!(free.await.unwrap());
    // So does a dropped request, whether the model was still loading at that moment or had begun to answer.
    let fresh = local(&rig.local.0.path);
    {
        let sending = fresh.send(&request);
        futures::pin_mut!(sending);
        drop(futures::poll!(sending.as_mut()));
    }
    let shared = Arc::clone(&fresh.0);
    let free = tokio::task::spawn_blocking(move || drop(shared.model.lock()));
    free.await.unwrap();
}

#[tokio::test]
async fn what_cannot_be_used_is_named_with_a_way_out() {
    let folder = tempfile::tempdir().unwrap();
    let check = async |path: &Path, body: Value, expected: &str, hint: &str| {
        let error = reply_of(&local(path), &Request::new(body))
            .await
            .unwrap_err();
        let source = std::error::Error::source(&error).map(ToString::to_string);
        let said = format!("{error}: {}", source.unwrap_or_default());
        assert!(said.contains(expected), "{said}");
        assert!(error.hint().unwrap_or_default().contains(hint), "{error:?}");
    };
    let missing = folder.path().join("none.gguf");
    check(
        &missing,
        asks("a"),
        "tiny cannot answer",
        "dunlin model list",
    )
    .await;
    let page = folder.path().join("page.gguf");
    std::fs::write(&page, "<html>").unwrap();
    check(
        &page,
        asks("a"),
        "is not a GGUF model",
        "copy the file from its source again",
    )
    .await;
    let rig = rig(&Tiny::default());
    let long = asks(&"x".repeat(9000));
    check(
        &rig.local.0.path,
        long,
        "the model's window is 8192",
        "/clear",
    )
    .await;
}

#[tokio::test]
async fn the_window_is_known_once_the_model_is_there() {
    let rig = rig(&Tiny::default());
    assert_eq!(rig.local.window(), None);
    let refused = rig.local.send(&Request::new(asks(&"x".repeat(9000)))).await;
    let overflow = refused.err().and_then(|error| error.context_overflow());
    let window = overflow.and_then(|overflow| overflow.window);
    assert_eq!(window, Some(8192));
    assert_eq!(rig.local.window().map(|window| window.tokens), Some(8192));
    // What is configured bounds the memory that is spent.
    let narrow = Agent {
        context_window: Some(300),
        ..agent(&rig.local.0.path)
    };
    let configured = Local::new(&narrow, Rendering::run);
    let refused = configured.send(&Request::new(asks(&"x".repeat(400)))).await;
    let overflow = refused.err().and_then(|error| error.context_overflow());
    assert_eq!(overflow.and_then(|overflow| overflow.window), Some(300));
}
