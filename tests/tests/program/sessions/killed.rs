//! What is left of a chat that was killed.

use super::*;

#[test]
fn a_killed_stream_is_there_up_to_its_last_line() {
    let gate = Gate::new();
    let lines = "The first line of it.\nThe second line, which is longer.\n\nThe third\nhalf";
    let provider = Provider::play([
        Response::stream().text(lines).wait(&gate),
        Response::reply("of it."),
    ]);
    let environment = environment(&provider);
    let mut chat = Chat::open(&environment);
    chat.say("tell me");
    chat.terminal.wait_for("The third");
    kill(chat);
    let mut chat = resumed(&environment);
    let screen = chat.terminal.screen();
    for line in [
        "› tell me",
        "The first line of it.",
        "The third",
        "(interrupted)",
    ] {
        assert!(screen.contains(line), "{line}: {:?}", chat.terminal);
    }
    chat.turn("go on");
    chat.leave();
    let messages = told(&provider.wait_for_request(1));
    assert_eq!(messages.len(), 3, "{messages:?}");
    assert_eq!(messages[1].0, "assistant");
    let kept = &messages[1].1;
    assert!(
        lines.starts_with(kept.as_str()) && kept.contains("The third\n"),
        "{kept}"
    );
}

#[test]
fn a_killed_call_is_closed_as_interrupted() {
    let calls = [("bare", json!({})), ("loop_forever", json!({}))];
    let provider = Provider::play([Response::calls(calls), Response::reply("All right.")]);
    let environment = environment(&provider);
    let guests = ["bare", "loop_forever"];
    let mut chat = Chat::with_guests(&environment, &guests);
    chat.say("work");
    chat.terminal.wait_for("… 2 loop_forever");
    kill(chat);
    let terminal = environment.command(["--resume"]).guests(&guests).terminal();
    let mut chat = Chat::of(terminal);
    let screen = chat.terminal.screen();
    assert!(
        screen.contains("– 2 loop_forever · cancelled"),
        "{:?}",
        chat.terminal
    );
    assert!(chat.turn("and?").contains("All right."));
    chat.leave();
    let request = provider.wait_for_request(1);
    let results: Vec<(String, String)> = told(&request)
        .into_iter()
        .filter(|(role, _)| role == "tool")
        .collect();
    assert_eq!(results.len(), 2, "{results:?}");
    assert!(!results[0].1.starts_with("interrupted"), "{results:?}");
    assert!(
        results[1].1.starts_with("interrupted: Dunlin ended before"),
        "{results:?}"
    );
}

#[test]
fn a_call_that_waited_for_an_answer_was_not_started() {
    let provider = Provider::play([read("../outside/a.txt"), Response::reply("All right.")]);
    let environment = environment(&provider);
    environment.outside_file("a.txt", "the text of a");
    let mut chat = Chat::open(&environment);
    chat.say("work");
    chat.question();
    kill(chat);
    let mut chat = resumed(&environment);
    assert!(
        chat.terminal
            .screen()
            .contains("– 1 read_file ../outside/a.txt · not run"),
        "{:?}",
        chat.terminal
    );
    chat.turn("and?");
    chat.leave();
    let request = provider.wait_for_request(1);
    let result = told(&request).into_iter().find(|(role, _)| role == "tool");
    assert_eq!(
        result.expect("a result").1,
        "not started: Dunlin ended before this call ran, as far as was noted"
    );
    let id = only_id(&environment);
    let exported = environment.run(["sessions", "export", &id, "--format", "json"]);
    let exported: Value = serde_json::from_str(&exported.stdout).unwrap();
    let call = &exported["messages"][2]["toolCall"];
    assert_eq!(
        (&call["toolName"], &call["status"], &call["type"]),
        (&json!("read_file"), &json!("not_run"), &json!("function")),
        "{call}"
    );
}
