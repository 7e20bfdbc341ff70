//! What an editor puts into a prompt: text, links, files and pictures.

use dunlin_chat::media::samples::picture;
use dunlin_tests::Response;
use serde_json::json;

use super::editor::Editor;
use super::project;

#[test]
fn parts_of_a_prompt_reach_the_model() {
    let (provider, environment) = project([
        Response::reply("I see."),
        Response::reply("Mine."),
        Response::reply("Read."),
        Response::reply("A tern."),
    ]);
    let uri = |path: &str| format!("file://{}/{path}", environment.root().display());
    let mut editor = Editor::open(&environment);
    let session = editor.session(&environment.project());
    let turn = editor.say_blocks(
        &session,
        json!([
            {"type": "text", "text": "Compare"},
            {"type": "resource_link", "uri": uri("project/a.txt"), "name": "a.txt"},
            {"type": "resource", "resource": {"uri": uri("project/d.txt"), "text": "text of @a.txt"}},
        ]),
    );
    assert_eq!(editor.ended(turn), "end_turn");
    let request = provider.wait_for_request(0);
    let content = request.messages()[0]["content"]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    for part in ["Compare @a.txt ", "text of @a.txt", "     2\ttwo"] {
        assert!(content.contains(part), "{part}: {content}");
    }

    // A file elsewhere is read as by any tool: the user is asked.
    let link = json!([
        {"type": "text", "text": "And"},
        {"type": "resource_link", "uri": uri("outside/b.txt"), "name": "b.txt"},
    ]);
    let turn = editor.say_blocks(&session, link.clone());
    let question = editor.question(0);
    editor.choose(&question, "reject");
    let (code, message) = editor.error(turn);
    assert_eq!(code, -32602);
    assert!(
        message.contains("b.txt was not read: it was denied"),
        "{message}"
    );
    let turn = editor.say(&session, "alone");
    assert_eq!(editor.ended(turn), "end_turn");
    let turn = editor.say_blocks(&session, link);
    let question = editor.question(1);
    editor.choose(&question, "allow");
    assert_eq!(editor.ended(turn), "end_turn");
    let request = provider.wait_for_request(2);
    assert!(request.bytes.windows(9).any(|it| it == b"text of b"));

    let image = json!([{"type": "image", "data": "", "mimeType": "image/png"}]);
    let turn = editor.say_blocks(&session, image);
    let why = "an image cannot be attached: it is neither a PNG, JPEG, GIF or WebP image nor a PDF document";
    let refused = (-32602, why.to_owned());
    assert_eq!(editor.error(turn), refused);
    let image = picture("tern.png", 8, 6);
    let blocks = json!([
        {"type": "text", "text": "Which bird?"},
        {"type": "image", "data": image.base64(), "mimeType": "image/png"},
    ]);
    let turn = editor.say_blocks(&session, blocks);
    assert_eq!(editor.ended(turn), "end_turn");
    let request = provider.wait_for_request(3);
    let said = request.messages().last().expect("a message").clone();
    assert_eq!(said["content"][1]["image_url"]["url"], image.data_url());
    assert_eq!(editor.close().status, Some(0));

    // The editor gets the words back without what was read.
    let mut editor = Editor::open(&environment);
    editor.load(&session, &environment.project());
    let said = editor.text(&session, "user_message_chunk");
    assert!(said.contains("Compare @a.txt "), "{said}");
    assert!(!said.contains("two") && !said.contains("text of"), "{said}");
    assert_eq!(editor.close().status, Some(0));
}

/// Whoever wrote a link may have chosen its name: it attaches nothing.
#[test]
fn the_name_of_a_link_mentions_no_file() {
    let (provider, environment) = project([Response::reply("Seen.")]);
    let mut editor = Editor::open(&environment);
    let session = editor.session(&environment.project());
    let link = |name: &str, uri: &str| json!({"type": "resource_link", "name": name, "uri": uri});
    let blocks = json!([{"type": "text", "text": "look"}, link("@a.txt", "https://example.com/")]);
    let turn = editor.say_blocks(&session, blocks);
    assert_eq!(editor.ended(turn), "end_turn");
    let said = provider
        .wait_for_request(0)
        .messages()
        .last()
        .expect("a message")["content"]
        .clone();
    let said = said.as_str().expect("a text");
    assert!(said.contains("[@a.txt](https://example.com/)"), "{said}");
    assert!(!said.contains("two"), "{said}");
    assert_eq!(editor.close().status, Some(0));
}
