//! A configuration of a project: what it may narrow, and what it sets once it is trusted.

use dunlin_tests::{Provider, Response};

use crate::stage::{Chat, environment};

#[test]
fn a_project_may_narrow_but_not_widen() {
    let provider = Provider::play([Response::reply("Yes.")]);
    let environment = environment(&provider);
    environment.project_file(
        ".dunlin/config.toml",
        "on_denial = \"continue\"\n[limits]\nmax_tool_rounds = 1\n\
         [agents.assistant]\nbase_url = \"http://127.0.0.1:1/v1\"\nmodel = \"theirs\"\n",
    );
    let output = environment.run(["ask", "hello"]);
    assert_eq!(
        (output.status, output.stdout.as_str()),
        (Some(0), "Yes.\n"),
        "{output}"
    );
    assert!(output.stderr.contains("warning: "), "{output}");
    assert_eq!(provider.requests()[0].body["model"], "scripted");
}

#[test]
fn a_trusted_project_sets_agents_until_its_file_changes() {
    let provider = Provider::play([Response::reply("Yes."), Response::reply("Yes.")]);
    let environment = environment(&provider);
    let file = "[agents.assistant]\nmodel = \"theirs\"\n";
    environment.project_file(".dunlin/config.toml", file);

    let check = environment.run(["config", "check"]);
    assert!(
        check
            .stdout
            .contains("agents.assistant.model = \"theirs\"  line 2"),
        "{check}"
    );
    let trusted = environment.run(["config", "trust", "--yes"]);
    assert_eq!(trusted.status, Some(0), "{trusted}");
    let output = environment.run(["ask", "hello"]);
    let warning = "warning: the server does not list the model \"theirs\"\n";
    assert_eq!(output.stderr, warning, "{output}");
    assert_eq!(provider.requests()[0].body["model"], "theirs");
    let shown = environment.run(["config", "show"]);
    let line = shown
        .stdout
        .lines()
        .find(|line| line.starts_with("agents.assistant.model"));
    assert!(line.unwrap().contains(".dunlin/config.toml:2"), "{shown}");

    environment.project_file(".dunlin/config.toml", format!("{file}# changed\n"));
    let output = environment.run(["ask", "hello"]);
    assert!(
        output.stderr.contains("changed since you trusted it"),
        "{output}"
    );
    assert_eq!(provider.requests()[1].body["model"], "scripted");
}

#[test]
fn the_chat_asks_once_whether_a_project_is_trusted() {
    let provider = Provider::play([]);
    let environment = environment(&provider);
    environment.project_file(".dunlin/config.toml", "on_denial = \"continue\"\n");
    let mut terminal = environment.terminal::<&str>([]);
    let screen = terminal.wait_for("Trust this version of the file? [y/n]");
    assert!(screen.contains("on_denial = \"continue\""), "{screen:?}");
    terminal.type_line("n");
    let _ = Chat::of(terminal);
    // A no is an answer too: the next chat only says what is ignored.
    let chat = Chat::open(&environment);
    let screen = chat.terminal.screen();
    assert!(screen.contains("ignored: on_denial"), "{screen:?}");
    assert!(!screen.contains("Trust this"), "{screen:?}");
}
