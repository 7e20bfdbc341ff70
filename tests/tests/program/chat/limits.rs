//! Conversations that are too long for what may be sent: seen from the other end of the socket.

use dunlin_tests::{Environment, Provider, Received, Response};
use serde_json::{Value, json};

use crate::stage::{Chat, environment, read};

/// What a provider that answers like this is sent when these lines are said, a turn each, under these limits.
fn converse(limits: &str, script: Vec<Response>, lines: &[&str]) -> (String, Vec<Received>) {
    converse_with("", limits, script, lines)
}

/// The same with more keys of the agent.
fn converse_with(
    agent: &str,
    limits: &str,
    script: Vec<Response>,
    lines: &[&str],
) -> (String, Vec<Received>) {
    let provider = Provider::play(script);
    let environment = environment(&provider);
    environment.configure_for(&provider, &format!("{agent}\n[limits]\n{limits}"));
    files(&environment);
    let said = lines.join("\n");
    let output = environment.command::<&str>([]).stdin(said).run();
    assert_eq!(output.status, Some(0), "{output}");
    (output.stderr, provider.requests())
}

fn files(environment: &Environment) {
    for name in ["a.txt", "b.txt", "c.txt"] {
        let text: String = (0..100)
            .map(|line| format!("line {line} of {name}\n"))
            .collect();
        environment.project_file(name, text);
    }
}

fn contents<'a>(request: &'a Received, role: &str) -> Vec<&'a str> {
    let of_role = |message: &&Value| message["role"] == role;
    let messages = request.messages().iter().filter(of_role);
    messages
        .filter_map(|message| message["content"].as_str())
        .collect()
}

#[test]
fn old_results_are_left_out_first() {
    let files = ["a.txt", "b.txt", "c.txt"];
    let script = files
        .iter()
        .flat_map(|name| [read(name), Response::reply("I see.")]);
    let (status, requests) = converse(
        "max_history_tokens = 5907",
        script.collect(),
        &["read a", "read b", "read c"],
    );
    assert_eq!(requests.len(), 6);
    // Each file comes to some 1,000 tokens: the third does not fit beside the first.
    let results = contents(&requests[4], "tool");
    assert!(
        results.iter().all(|result| result.contains("line 50 of")),
        "{results:?}"
    );
    let results = contents(&requests[5], "tool");
    assert!(
        results[0].starts_with("[The result of read_file is left out here: "),
        "{results:?}"
    );
    assert!(results[2].contains("line 50 of c.txt"), "{results:?}");
    assert_eq!(
        contents(&requests[5], "user"),
        ["read a", "read b", "read c"]
    );
    assert!(status.contains("old tool result"), "{status}");
    assert!(
        status.contains("not sent (max_history_tokens is 5,907)"),
        "{status}"
    );
}

#[test]
fn requests_begin_alike_between_the_strides() {
    let answer = "word ".repeat(150);
    let turns = 24;
    let script: Vec<Response> = (0..turns).map(|_| Response::reply(&answer)).collect();
    let lines: Vec<String> = (0..turns)
        .map(|turn| format!("This is question number {turn}."))
        .collect();
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let (status, requests) = converse("max_history_tokens = 5007", script, &lines);
    let mut cuts = 0;
    for (before, after) in requests.iter().zip(&requests[1..]) {
        let (before, after) = (before.messages(), after.messages());
        if after.starts_with(before) {
            continue;
        }
        cuts += 1;
        assert!(after.len() < before.len(), "cut and not shorter");
        assert!(contents(&requests[0], "user")[0] == "This is question number 0.");
    }
    // Of some eight turns that fit two go at a time.
    assert!((4..=9).contains(&cuts), "{cuts} cuts");
    assert_eq!(status.matches("not sent").count(), cuts, "{status}");
    for (turn, request) in requests.iter().enumerate() {
        let said = contents(request, "user");
        assert!(
            said[0].starts_with("This is question number 0."),
            "{said:?}"
        );
        assert!(said.last().unwrap().ends_with(lines[turn]), "{said:?}");
        assert!(
            request.bytes.len() < 1600 * 6 + 13_500,
            "{} bytes",
            request.bytes.len()
        );
    }
}

#[test]
fn lines_are_limited_too() {
    let files = ["a.txt", "b.txt"];
    let script = files
        .iter()
        .flat_map(|name| [read(name), Response::reply("I see.")]);
    let (status, requests) = converse(
        "max_history_lines = 150",
        script.collect(),
        &["read a", "read b"],
    );
    let results = contents(&requests[3], "tool");
    assert!(
        results[0].starts_with("[The result of read_file is left out"),
        "{results:?}"
    );
    assert!(results[1].contains("line 50 of b.txt"), "{results:?}");
    assert!(status.contains("(max_history_lines is 150)"), "{status}");
}

#[test]
fn a_result_that_is_too_long_is_sent_in_part() {
    let script = vec![read("a.txt"), Response::reply("I see.")];
    let (_, requests) = converse("max_history_tokens = 4007", script, &["read a"]);
    let results = contents(&requests[1], "tool");
    assert!(
        results[0].contains("bytes are left out here: the result is too long"),
        "{results:?}"
    );
    assert!(results[0].contains("line 99 of a.txt"), "{results:?}");
}

#[test]
fn the_tools_count() {
    let provider = Provider::play([]);
    let environment = environment(&provider);
    environment.configure_more("", "[limits]\nmax_history_tokens = 1000");
    let output = environment.run(["ask", "hello"]);
    assert_eq!(output.status, Some(1), "{output}");
    assert!(
        output
            .stderr
            .contains("the system prompt and the tools alone come to about")
            && output
                .stderr
                .contains("and max_history_tokens is 1,000\nhint: give the agent a shorter"),
        "{output}"
    );
}

#[test]
fn what_cannot_be_sent_is_not_sent() {
    let provider = Provider::play([Response::reply("Fine.")]);
    let environment = environment(&provider);
    environment.configure_more("", "[limits]\nmax_history_tokens = 200");
    // Their declarations would count as well.
    let config = std::fs::read_to_string(environment.config_file()).expect("a configuration");
    environment.configure(&config.replace("model = ", "tools = []\nmodel = "));
    let long = "too long ".repeat(300);
    let output = environment.command(["ask"]).stdin(long.as_str()).run();
    let expected = "error: the last turn alone comes to about 682 tokens, and max_history_tokens is 200\n\
         hint: send less of it, or max_history_tokens under [limits] can be raised\n";
    assert_eq!(
        (output.status, output.stderr.as_str()),
        (Some(1), expected),
        "{output}"
    );
    let output = environment
        .command(["ask", "--json"])
        .stdin(long.as_str())
        .run();
    let document: Value = serde_json::from_str(&output.stdout).expect("a document");
    assert_eq!(document["end"], "too_long", "{document}");
    assert_eq!(provider.requests().len(), 0);

    // The chat goes on, without it.
    let mut chat = Chat::open(&environment);
    assert!(
        chat.turn(&"no ".repeat(400))
            .contains("the last turn alone comes to")
    );
    assert!(chat.turn("hello").contains("Fine."));
    chat.leave();
    let said = provider.wait_for_request(0);
    let note =
        "[1 earlier message is left out here: the conversation has become too long.]\n\nhello";
    assert_eq!(contents(&said, "user"), [note]);
}

#[test]
fn limits_are_shown_and_a_project_may_only_lower_them() {
    let provider = Provider::play([]);
    let environment = environment(&provider);
    environment.configure_more("", "[limits]\nmax_history_lines = 300");
    environment.project_file(
        ".dunlin/config.toml",
        "[limits]\nmax_history_tokens = 4000\nmax_history_lines = 301",
    );
    let output = environment.run(["config", "show"]);
    let row = |name: &str| {
        let rows = output.stdout.lines();
        rows.clone()
            .find(|row| row.starts_with(name))
            .unwrap_or_default()
            .to_owned()
    };
    assert!(
        row("limits.max_history_tokens").contains("= 4000 "),
        "{output}"
    );
    assert!(
        row("limits.max_history_lines").contains("= 300 "),
        "{output}"
    );
    assert!(
        output.stderr.contains("ignored: limits.max_history_lines"),
        "{output}"
    );
}

/// What a provider is sent when six questions are asked that fill half of the room, under these limits beside it, and
/// it answers the request after the fifth like this.
fn compact(limits: &str, sixth: Option<Response>) -> (String, Vec<Received>) {
    let answer = "word ".repeat(150);
    let mut script: Vec<Response> = (0..5).map(|_| Response::reply(&answer)).collect();
    script.extend(sixth);
    script.push(Response::reply("Done."));
    let lines = ["one", "two", "three", "four", "five", "six"];
    // The texts of tools would take a part of the room that changes with them.
    let limits = format!("max_history_tokens = 1500\n{limits}");
    converse_with("tools = []", &limits, script, &lines)
}

#[test]
fn compacting_is_off_unless_it_is_wanted() {
    for limits in ["", "compact_at = 0"] {
        let (status, requests) = compact(limits, None);
        assert_eq!(requests.len(), 6, "{limits}");
        assert_eq!(requests[5].messages().len(), 11, "{limits}");
        assert!(!status.contains("compact"), "{status}");
    }
}

#[test]
fn earlier_turns_are_compacted() {
    let summary = Response::reply("They counted to five.");
    let (status, requests) = compact("compact_at = 0.5", Some(summary));
    assert_eq!(requests.len(), 7);
    let asked = &requests[5];
    assert_eq!((asked.messages().len(), asked.tools().len()), (1, 0));
    let asked = contents(asked, "user")[0];
    assert!(asked.contains("<conversation>\nUser: one\n"), "{asked}");
    assert!(!asked.contains("User: six"), "{asked}");
    let said = contents(&requests[6], "user");
    let note = "earlier messages are left out here. This is your own summary of them:]\n\nThey counted to five.\n\n";
    assert!(said[0].contains(note), "{said:?}");
    assert_eq!(said.last(), Some(&"six"));
    assert!(requests[6].messages().len() < 11);
    assert!(status.contains("earlier messages …"), "{status}");
    assert!(
        status.contains("compacted into 4 words for the model"),
        "{status}"
    );
    assert!(!status.contains("They counted"), "{status}");
}

#[test]
fn a_summary_that_cannot_be_had_is_done_without() {
    for response in [
        Response::status(500, "no"),
        Response::stream().text("They").finish("length"),
        Response::stream().text("They").cut(),
        Response::reply(" "),
    ] {
        let (status, requests) = compact("compact_at = 0.5", Some(response));
        assert_eq!(requests.len(), 7, "{status}");
        assert_eq!(requests[6].messages().len(), 11, "{status}");
        assert!(status.contains("· they were not compacted: "), "{status}");
    }
}

#[test]
fn compacting_can_be_interrupted_and_done_by_hand() {
    let provider = Provider::play([
        Response::reply("First."),
        Response::reply("Second."),
        Response::silence(),
        Response::reply("Two were said."),
        Response::reply("Third."),
        Response::reply("Fourth."),
    ]);
    let environment = environment(&provider);
    let mut chat = Chat::open(&environment);
    chat.turn("/compact");
    chat.turn("one");
    chat.turn("two");
    chat.say("/compact");
    provider.wait_for_request(2);
    chat.interrupt("compacting");
    chat.turn("/compact");
    chat.turn("three");
    insta::assert_snapshot!("compacting_by_hand", chat.terminal.screen());
    chat.leave();
    let said = provider.wait_for_request(4);
    assert_eq!(said.messages().len(), 3);
    let first = contents(&said, "user")[0];
    assert!(
        first.contains("Two were said.\n\n[The conversation continues.]\n\ntwo"),
        "{first}"
    );
    // A resumed session goes on with the summary.
    let mut chat = Chat::of(environment.terminal(["--resume"]));
    chat.turn("four");
    chat.turn("/history");
    insta::assert_snapshot!(
        "a_compacted_session_that_is_resumed",
        chat.terminal.screen()
    );
    chat.leave();
    let resumed = provider.wait_for_request(5);
    assert!(resumed.messages().starts_with(said.messages()));
    assert_eq!(resumed.messages().len(), 5);
}

#[test]
fn what_fills_the_window_and_what_it_cost_can_be_seen() {
    let provider = Provider::play([read("a.txt"), Response::reply("I see.")]);
    let environment = environment(&provider);
    files(&environment);
    let mut chat = Chat::open(&environment);
    assert!(
        chat.turn("/context")
            .contains("Nothing was said yet: the window is empty.")
    );
    assert!(chat.turn("/cost").contains("Nothing was asked yet."));
    chat.turn("read a");
    let screen = chat.turn("/context");
    for row in [
        "  scripted · ",
        "  results of calls ",
        "  the largest results",
        "/show 1  read_file",
        "  run_terminal_command",
        "  limits    100,000 tokens, 50,000 lines of conversation",
        "  counted   estimated",
    ] {
        assert!(screen.contains(row), "{row}: {:?}", chat.terminal);
    }
    // The scripted server counts 11 tokens in and 7 out, whatever it is asked.
    let screen = chat.turn("/cost");
    assert!(
        screen.contains("  last turn             2         22          0         14"),
        "{:?}",
        chat.terminal
    );
    assert!(screen.contains("  next request  "), "{:?}", chat.terminal);
    chat.leave();
}

/// A refusal as OpenAI words it.
fn overflow(window: u64, needed: u64) -> Response {
    let message = format!(
        "This model's maximum context length is {window} tokens. However, your messages resulted in {needed} tokens. \
         Please reduce the length of the messages."
    );
    let error = json!({ "message": message, "code": "context_length_exceeded" });
    Response::json(400, &json!({ "error": error }))
}

/// Three questions with long answers, and a fourth that is answered like this.
fn overflowing(fourth: Vec<Response>) -> (String, Vec<Received>) {
    let answer = "word ".repeat(800);
    let mut script: Vec<Response> = (0..3).map(|_| Response::reply(&answer)).collect();
    script.extend(fourth);
    converse("", script, &["one", "two", "three", "four"])
}

#[test]
fn what_is_too_long_for_the_model_is_sent_again_shorter() {
    let in_the_stream = |error: Value| Response::stream().event(&json!({ "error": error }));
    let error = json!({ "message": "context length exceeded", "code": "context_length_exceeded" });
    for (refusal, limit) in [
        (overflow(4096, 4400), "the model's window has 4,096 tokens"),
        (
            Response::status(413, "too large"),
            "the server has refused more than ",
        ),
        (in_the_stream(error), "the server has refused more than "),
    ] {
        let (status, requests) = overflowing(vec![refusal, Response::reply("Done.")]);
        assert_eq!(requests.len(), 5, "{status}");
        assert_eq!(requests[3].messages().len(), 7);
        assert!(requests[4].messages().len() < 7, "{status}");
        assert!(
            contents(&requests[4], "user")
                .last()
                .unwrap()
                .ends_with("four")
        );
        assert!(status.contains(limit), "{status}");
        let notice = "· the request was too long for the model and is sent again, shorter";
        assert_eq!(status.matches(notice).count(), 1, "{status}");
    }
}

#[test]
fn a_second_refusal_is_an_error_and_the_message_is_kept() {
    let answer = "word ".repeat(800);
    let mut script: Vec<Response> = (0..3).map(|_| Response::reply(&answer)).collect();
    script.extend([
        overflow(4096, 4400),
        overflow(4096, 4300),
        Response::reply("Done."),
    ]);
    let provider = Provider::play(script);
    let environment = environment(&provider);
    let said = "one\ntwo\nthree\nfour\nfive";
    let output = environment.command::<&str>([]).stdin(said).run();
    assert_eq!(output.status, Some(4), "{output}");
    let hint = "hint: your message is kept; /context shows what uses the context";
    assert!(
        output.stderr.contains("maximum context length is 4096"),
        "{output}"
    );
    assert!(output.stderr.contains(hint), "{output}");
    let last = provider.wait_for_request(5);
    assert!(
        contents(&last, "user")
            .last()
            .unwrap()
            .ends_with("four\n\nfive")
    );
}

#[test]
fn what_has_begun_is_never_asked_again() {
    let error = json!({ "message": "context length exceeded", "code": "context_length_exceeded" });
    let broken = Response::stream()
        .text("Well")
        .event(&json!({ "error": error }));
    let provider = Provider::play([broken]);
    let environment = environment(&provider);
    let output = environment.run(["ask", "hello"]);
    assert_eq!(
        (output.status, output.stdout.as_str()),
        (Some(4), "Well\n"),
        "{output}"
    );
    assert_eq!(provider.requests().len(), 1);
}

#[test]
fn the_last_turn_alone_may_be_too_long_for_the_model() {
    let provider = Provider::play([overflow(5000, 6000)]);
    let environment = environment(&provider);
    let output = environment.run(["ask", &"word ".repeat(1000)]);
    assert_eq!(output.status, Some(1), "{output}");
    assert!(
        output.stderr.contains("the last turn alone comes to about"),
        "{output}"
    );
    assert!(
        output
            .stderr
            .contains("and the model's window has 5,000 tokens"),
        "{output}"
    );
}
