//! A session with subagents that is resumed.

use dunlin_tests::{Gate, Provider, Response};
use rustix::process::{Signal, kill_process};

use super::{requests_of, start};
use crate::stage::{Chat, environment, read};

/// What `/agents`, `/cost` and `/expand` know of a session is the same after a resume.
#[test]
fn a_session_that_is_resumed_knows_its_subagents() {
    let provider = Provider::play_each([
        (
            "look around",
            vec![start(&["Task one", "Task two"]), Response::reply("Well.")],
        ),
        (
            "Task one",
            vec![read("notes.txt"), Response::reply("Speckled.")],
        ),
        (
            "Task two",
            vec![Response::status(
                400,
                "{\"error\":{\"message\":\"no such luck\"}}",
            )],
        ),
    ]);
    let environment = environment(&provider);
    environment.project_file("notes.txt", "The eggs are speckled.");
    let mut chat = Chat::open(&environment);
    chat.turn("look around");
    chat.leave();
    let mut chat = Chat::of(environment.terminal(["--resume"]));
    chat.say("/agents");
    chat.prompt();
    chat.say("/cost");
    chat.prompt();
    chat.say("/expand 1");
    chat.prompt();
    // A call of a subagent, too.
    chat.say("/expand 3");
    chat.prompt();
    insta::assert_snapshot!(chat.terminal.screen());
    chat.leave();
}

#[test]
fn a_session_that_was_killed_goes_on_with_the_call_closed() {
    let gate = Gate::new();
    let provider = Provider::play_each([
        (
            "look around",
            vec![start(&["Task one"]), Response::reply("Again.")],
        ),
        (
            "Task one",
            vec![Response::stream().text("half an answer\n").wait(&gate)],
        ),
    ])
    .lenient();
    let environment = environment(&provider);
    let mut chat = Chat::open(&environment);
    chat.say("look around");
    chat.terminal.wait_for("assistant 1: Task one · writing");
    kill_process(chat.terminal.id(), Signal::KILL).expect("a process to kill");
    drop(chat);
    let mut chat = Chat::of(environment.terminal(["--resume"]));
    chat.say("/agents");
    chat.prompt();
    chat.say("/agents 1");
    chat.prompt();
    chat.turn("and now");
    let parents = requests_of(&provider, "look around");
    let result = parents[1].messages().iter().find(|it| it["role"] == "tool");
    let result = result
        .and_then(|it| it["content"].as_str())
        .unwrap_or_default();
    assert!(result.contains("interrupted"), "{result}");
    insta::assert_snapshot!(chat.terminal.screen());
    chat.leave();
}
