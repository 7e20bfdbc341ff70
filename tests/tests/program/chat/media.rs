//! Images and PDF documents: attached by the user, read by tools, kept in the session.

use std::fs;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use dunlin_chat::media::samples::{self, pdf, png};
use dunlin_tests::{Environment, Key, Provider, Response, Screen, program};
use serde_json::{Value, json};

use crate::stage::{Chat, environment, files_below, read};

/// A picture whose base64 no terminal could show.
fn picture() -> Vec<u8> {
    png(800, 600, 45_000)
}

/// The bytes of a data URL, with its type.
fn bytes_of(url: &Value) -> (String, Vec<u8>) {
    let url = url.as_str().expect("a URL");
    let (kind, data) = url.split_once(";base64,").expect("base64");
    (kind.to_owned(), STANDARD.decode(data).expect("base64"))
}

fn of_picture() -> (String, Vec<u8>) {
    ("data:image/png".to_owned(), picture())
}

/// Some base64 of the middle of the picture.
fn base64() -> String {
    STANDARD.encode(picture())[20_000..20_100].to_owned()
}

#[test]
fn an_image_is_sent_and_stays_in_the_session() {
    let provider = Provider::always(Response::reply("A tern."));
    let environment = environment(&provider);
    environment.project_file("tern.png", picture());
    let mut chat = Chat::of(environment.terminal(["--fresh"]));
    chat.turn("Which bird is in @tern.png?");
    let content = provider.requests()[0].messages()[0]["content"].clone();
    assert_eq!(content[0]["text"], "Which bird is in @tern.png?");
    assert_eq!(bytes_of(&content[1]["image_url"]["url"]), of_picture());
    insta::assert_snapshot!("an_image_that_is_sent", chat.terminal.screen());
    chat.leave();

    let mut chat = Chat::of(environment.terminal(["--resume"]));
    let screen = chat.turn("And its beak?");
    assert!(!screen.contains(&base64()[..40]), "{screen:?}");
    let requests = provider.requests();
    // The same bytes go first again.
    assert_eq!(requests[1].messages()[0], requests[0].messages()[0]);
    chat.turn("/history");
    chat.turn("/show m1");
    insta::assert_snapshot!("an_image_in_a_resumed_session", chat.terminal.screen());
    chat.leave();

    // Once, however often it was sent.
    let stored = files_below(&environment.data().join("sessions"));
    let stored: String = stored
        .iter()
        .map(|path| fs::read_to_string(path).unwrap_or_default())
        .collect();
    assert_eq!(stored.matches(&base64()).count(), 1);
    let session = "Which bird is in @tern.png?";
    let export = environment.command(["sessions", "export", session]).run();
    assert!(!export.stdout.contains(&base64()), "{}", export.stdout);
    assert!(
        export
            .stdout
            .contains("[tern.png: image PNG 800×600, 45 kB]"),
        "{export}"
    );
    let arguments = ["sessions", "export", session, "--format", "json"];
    let export = environment.command(arguments).run();
    let value: Value = serde_json::from_str(&export.stdout).expect("JSON");
    let named = json!([{"name": "tern.png", "type": "image/png", "bytes": 45_033, "width": 800, "height": 600}]);
    assert_eq!(value["messages"][0]["media"], named);
    assert!(!export.stdout.contains(&base64()), "{}", export.stdout);
    let sent = environment
        .command(["requests", "show", "1", "--sent"])
        .run();
    assert!(sent.stdout.contains(&base64()), "{}", sent.stderr);
}

#[test]
fn files_of_ask_are_sent_as_what_they_are() {
    let provider = Provider::always(Response::reply("Yes."));
    let environment = environment(&provider);
    let outside = environment.outside_file("tern.png", picture());
    environment.project_file("eggs.pdf", pdf(2));
    environment.project_file("notes.md", "four eggs\n");
    let outside = outside.to_str().expect("a path");
    let arguments = ["ask", "-f", outside, "compare @eggs.pdf and @notes.md"];
    let output = environment.command(arguments).run();
    assert_eq!(output.status, Some(0), "{output}");
    let content = provider.requests()[0].messages()[0]["content"].clone();
    let text = content[0]["text"].as_str().unwrap_or_default();
    assert!(
        text.contains("in this order:\neggs.pdf, tern.png\n"),
        "{text}"
    );
    assert!(text.contains("     1\tfour eggs"), "{text}");
    let file = &content[1]["file"];
    assert_eq!(file["filename"], "eggs.pdf");
    let document = ("data:application/pdf".to_owned(), pdf(2));
    assert_eq!(bytes_of(&file["file_data"]), document);
    assert_eq!(bytes_of(&content[2]["image_url"]["url"]), of_picture());
}

#[test]
fn what_a_model_does_not_take_is_said_before_anything_is_sent() {
    let provider = Provider::always(Response::reply("Yes."));
    let environment = environment(&provider);
    environment.configure_more(
        "",
        "[agents.assistant.endpoint]\nimages = false\npdf = false",
    );
    environment.project_file("tern.png", picture());
    environment.project_file("eggs.pdf", pdf(1));
    environment.project_file("wide.png", png(9_000, 2, 0));
    let check = |file: &str, problem: &str| {
        let output = environment.command(["ask", "see", file]).run();
        assert_eq!(output.status, Some(2), "{output}");
        assert!(output.stderr.contains(problem), "{output}");
    };
    check(
        "@tern.png",
        "tern.png cannot be sent to scripted: this model takes no images; choose an agent whose model does \
         (if this one does: images = true under [agents.assistant.endpoint])",
    );
    check("@eggs.pdf", "attach its text (pdftotext FILE)");
    environment.project_file("page.PNG", "<html>not found</html>");
    environment.project_file("half.png", b"\x89PNG\r\n\x1a\n");
    environment.project_file("part.png", &picture()[..20_000]);
    check(
        "@page.PNG",
        "page.PNG cannot be attached: it is neither a PNG, JPEG, GIF or WebP image nor a PDF document",
    );
    check(
        "@half.png",
        "half.png cannot be attached: its header does not say how large the image is: the file is damaged",
    );
    check(
        "@part.png",
        "part.png cannot be attached: the PNG image is damaged: it is cut off",
    );
    check(
        "@wide.png",
        "wide.png cannot be attached: it has 9000×2 pixels, and at most 8,000 on each side",
    );
    assert_eq!(provider.requests().len(), 0);
}

#[test]
fn a_model_sees_the_image_that_it_reads() {
    let provider = Provider::play(vec![read("tern.png"), Response::reply("A tern.")]);
    let environment = environment(&provider);
    environment.project_file("tern.png", picture());
    let output = environment.command(["ask", "look"]).run();
    assert_eq!(output.stdout, "A tern.\n", "{output}");
    let requests = provider.requests();
    let messages = requests[1].messages();
    assert_eq!(messages[2]["content"], "[image PNG 800×600, 45 kB]");
    let image = &messages[3]["content"][1]["image_url"]["url"];
    assert_eq!(bytes_of(image), of_picture());
}

/// Folders whose agent speaks Anthropic's protocol.
fn of_anthropic(provider: &Provider) -> Environment {
    let environment = Environment::warm(program!());
    environment.configure(&format!(
        "[keys.test]\nenv = \"OPENAI_API_KEY\"\n\n[agents.assistant]\napi = \"anthropic\"\nbase_url = {:?}\nmodel = \"scripted\"\n\
         api_key = \"test\"\nsystem_prompt = \"\"\n",
        provider.root()
    ));
    environment
}

#[test]
fn a_result_holds_the_image_where_the_protocol_allows_it() {
    let arguments = json!({ "file_path": "tern.png" });
    let call = Response::messages()
        .block_of_call(0, "toolu_01", "read_file", &arguments)
        .messages_end("tool_use");
    let provider = Provider::play(vec![call, Response::messages_reply("A tern.")]);
    let environment = of_anthropic(&provider);
    environment.project_file("tern.png", picture());
    let output = environment.command(["ask", "look"]).run();
    assert_eq!(output.stdout, "A tern.\n", "{output}");
    let requests = provider.requests();
    let content = &requests[1].messages()[2]["content"][0]["content"];
    assert_eq!(content[0]["text"], "[image PNG 800×600, 45 kB]");
    let data = content[1]["source"]["data"].as_str().unwrap_or_default();
    assert_eq!(STANDARD.decode(data).ok(), Some(picture()));
}

#[test]
fn an_image_of_a_server_goes_to_the_model() {
    let provider = Provider::play([
        Response::call("mcp_loader", json!({})),
        Response::call("camera__echo", json!({ "text": "smile" })),
        Response::reply("A tern."),
    ]);
    let environment = environment(&provider);
    let server = env!("CARGO_BIN_EXE_served");
    let table = format!("[mcp.servers.camera]\ncommand = {server:?}\nargs = [\"camera\"]\n");
    environment.configure_more("", &table);
    let mut chat = Chat::open(&environment);
    chat.say("look");
    chat.question();
    chat.terminal.type_line("y");
    chat.prompt();
    let screen = chat.turn("/expand");
    assert!(screen.contains("[image PNG 8×6, 57 bytes]"), "{screen:?}");
    let requests = provider.requests();
    let messages = requests[2].messages();
    assert_eq!(messages[4]["content"], "Click.\n[image PNG 8×6, 57 bytes]");
    let expected = samples::picture("", 8, 6).data_url();
    assert_eq!(messages[5]["content"][1]["image_url"]["url"], expected);
    chat.leave();
}

/// All that is on the screen as one line.
fn said(screen: &Screen) -> String {
    let words: Vec<&str> = screen
        .text
        .split_whitespace()
        .filter(|it| *it != "│")
        .collect();
    words.join(" ")
}

/// What a server says that does not accept a request.
fn refusal(message: &str) -> Response {
    Response::json(400, &json!({"error": {"message": message}}))
}

#[test]
fn a_refused_attachment_does_not_stay_in_the_conversation() {
    let provider = Provider::play([
        refusal("Invalid content type 'file'"),
        Response::reply("Hello."),
        refusal("Could not process image"),
    ]);
    let environment = environment(&provider);
    environment.project_file("eggs.pdf", pdf(1));
    environment.project_file("notes.md", "four eggs\n");
    environment.project_file("tern.png", picture());
    let mut chat = Chat::open(&environment);
    chat.turn("@notes.md");
    chat.say("Count @eggs.pdf");
    let screen = chat.prompt_with("Count @eggs.pdf");
    for line in [
        "error: the server did not accept the message with eggs.pdf",
        "answered 400: Invalid content type 'file'",
        "hint: your message is back in the line: send it with the text instead (pdftotext FILE), or choose a model that takes \
         PDF documents with /model",
    ] {
        assert!(said(&screen).contains(line), "{screen:?}");
    }
    assert!(!screen.contains("stays in the conversation"), "{screen:?}");
    // Without it the message is sent, and the other file has waited for it.
    chat.terminal.press(Key::CtrlC);
    chat.prompt_cleared();
    chat.turn("Count");
    let messages = provider.requests()[1].messages().to_vec();
    assert_eq!(messages.len(), 1, "{messages:?}");
    let content = messages[0]["content"].as_str().unwrap_or_default();
    assert!(content.starts_with("Count\n\n") && content.contains("four eggs"));
    chat.leave();

    let output = environment
        .command(["ask", "--continue", "see @tern.png"])
        .run();
    assert_eq!(output.status, Some(4), "{output}");
    let hint = "hint: send it without the attachment, or use a model that takes images";
    assert!(output.stderr.contains(hint), "{output}");
    let shown = environment.command(["sessions", "show"]).run();
    assert!(!shown.stdout.contains("tern.png"), "{shown}");
}

#[test]
fn a_refused_image_of_a_result_is_only_named() {
    let provider = Provider::play([
        read("tern.png"),
        refusal("Could not process image"),
        Response::reply("I cannot see it."),
        Response::reply("No."),
        refusal("something else"),
    ]);
    let environment = environment(&provider);
    environment.project_file("tern.png", picture());
    let mut chat = Chat::open(&environment);
    let screen = chat.turn("Look");
    let line = "answered 400: Could not process image: the request is sent again without [image PNG 800×600, 45 kB]; later \
                ones only name it";
    assert!(said(&screen).contains(line), "{screen:?}");
    chat.turn("Really?");
    let requests = provider.requests();
    let result = "[image PNG 800×600, 45 kB]\n[not shown: the server did not accept a request with it] [image PNG 800×600, 45 kB]";
    for request in &requests[2..] {
        assert_eq!(request.messages()[2]["content"], result);
        let images = request
            .messages()
            .iter()
            .filter(|it| it["content"].is_array());
        assert_eq!(images.count(), 0);
    }
    // A refusal with nothing new in it has another reason.
    chat.turn("And now?");
    insta::assert_snapshot!(chat.terminal.screen());
    chat.leave();
}

#[test]
fn an_attachment_of_a_kind_that_a_model_does_not_take_is_put_back() {
    let provider = Provider::play([
        refusal("image input is not supported"),
        Response::reply("Hello."),
        refusal("this model does not support pdf"),
    ]);
    let environment = environment(&provider);
    environment.project_file("tern.png", picture());
    environment.project_file("eggs.pdf", pdf(1));
    let mut chat = Chat::open(&environment);
    chat.say("See @tern.png");
    let screen = chat.prompt_with("See @tern.png");
    for line in [
        "error: the server did not accept the message with tern.png",
        "hint: your message is back in the line",
    ] {
        assert!(said(&screen).contains(line), "{screen:?}");
    }
    chat.terminal.press(Key::CtrlC);
    chat.prompt_cleared();
    chat.turn("See");
    assert_eq!(provider.requests()[1].messages().len(), 1);
    // What the server said is known from now on.
    chat.say("See @tern.png");
    let screen = chat.prompt_with("See @tern.png");
    let line = "tern.png cannot be sent to scripted: this model takes no images";
    assert!(said(&screen).contains(line), "{screen:?}");
    chat.terminal.press(Key::CtrlC);
    chat.prompt_cleared();
    chat.leave();
    let output = environment.command(["ask", "see @eggs.pdf"]).run();
    assert_eq!(output.status, Some(4), "{output}");
}

#[test]
fn an_image_that_is_refused_later_is_only_named() {
    let provider = Provider::play([
        read("tern.png"),
        Response::reply("A tern."),
        refusal("Could not process image"),
        Response::reply("I see it no more."),
        Response::reply("No."),
    ]);
    let environment = environment(&provider);
    environment.project_file("tern.png", picture());
    let mut chat = Chat::open(&environment);
    chat.turn("Look");
    let screen = chat.turn("And now?");
    let line =
        "the request is sent again without [image PNG 800×600, 45 kB]; later ones only name it";
    assert!(said(&screen).contains(line), "{screen:?}");
    assert!(screen.contains("I see it no more."), "{screen:?}");
    chat.turn("Really?");
    chat.leave();
}

#[test]
fn a_session_with_a_refused_attachment_goes_on() {
    let provider = Provider::play([
        Response::json(401, &json!({"error": {"message": "no such key"}})),
        refusal("Could not process image"),
        Response::reply("Hello."),
    ]);
    let environment = environment(&provider);
    environment.project_file("tern.png", picture());
    let mut chat = Chat::open(&environment);
    chat.turn("See @tern.png");
    // It was not for the image.
    insta::assert_snapshot!("a_turn_with_an_image_that_failed", chat.terminal.screen());
    chat.leave();
    let mut chat = Chat::of(environment.terminal(["--resume"]));
    let screen = chat.turn("Hello?");
    let line = "the request is sent again without tern.png; later ones only name it";
    assert!(said(&screen).contains(line), "{screen:?}");
    let requests = provider.requests();
    let content = requests[2].messages()[0]["content"]
        .as_str()
        .unwrap_or_default();
    assert!(
        content.contains("[not shown: the server did not accept"),
        "{content}"
    );
    // To attach it again says so at once.
    chat.say("See @tern.png");
    let screen = chat.prompt_with("See @tern.png");
    let line = "tern.png cannot be sent to scripted: the server did not accept a request with it";
    assert!(said(&screen).contains(line), "{screen:?}");
    chat.terminal.press(Key::CtrlC);
    chat.prompt_cleared();
    insta::assert_snapshot!(
        "a_refused_image_in_a_resumed_session",
        chat.terminal.screen()
    );
    chat.leave();
}
