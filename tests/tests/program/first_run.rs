//! Without a configuration: what is found is offered, and what is wrong is named.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use dunlin_tests::{API_KEY, Environment, Invocation, Provider, Response, Terminal, program};

use crate::stage::Chat;

/// The chat of a first run that finds `servers`, and no key.
fn first<'a>(environment: &'a Environment, servers: &str) -> Invocation<'a> {
    environment
        .command::<&str>([])
        .variable("DUNLIN_DISCOVER", servers)
        .variable("OPENAI_API_KEY", "")
}

fn offered(environment: &Environment, provider: &Provider) -> Terminal {
    let mut terminal = first(environment, &provider.base_url()).terminal();
    // The model that runs in Dunlin itself is the last choice, whatever else there is.
    terminal.wait_for("Which one? 1-2 [1]");
    assert!(
        terminal
            .screen()
            .contains("  2  built in · smollm2-135m: downloads 98 MB")
    );
    terminal.type_line("");
    terminal.wait_for("Save this configuration? [y/n]");
    terminal
}

#[test]
fn a_found_server_is_written_down_and_answers() {
    let provider = Provider::play([Response::reply("Hello from the new server")]);
    let environment = Environment::new(program!());
    let mut terminal = offered(&environment, &provider);
    assert!(!environment.config_file().exists());
    terminal.type_line("y");
    let mut chat = Chat::of(terminal);
    let mode = fs::metadata(environment.config_file())
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
    assert!(chat.turn("hello").contains("Hello from the new server"));
    chat.leave();
}

#[test]
fn no_means_no() {
    let provider = Provider::play([]);
    for answer in ["n", "\x03", "\x04"] {
        let environment = Environment::new(program!());
        let mut terminal = offered(&environment, &provider);
        terminal.type_line("maybe");
        terminal.wait_until("the question again", |screen| {
            screen.count("Save this configuration?") == 2
        });
        terminal.type_text(answer);
        if answer == "n" {
            terminal.type_line("");
        }
        let status = if answer == "\x03" { 130 } else { 0 };
        assert_eq!(terminal.wait_end(), Some(status), "{answer:?}");
        terminal.wait_for("Nothing was written.");
        terminal.assert_absent("Start Ollama");
        assert!(!environment.config_file().exists());
    }
}

#[test]
fn a_server_in_the_configuration_does_not_keep_the_offer_away() {
    let provider = Provider::play([Response::reply("Here I am")]);
    let environment = Environment::new(program!());
    let added = environment.run(["mcp", "add", "far", "--url", "https://mcp.example/mcp"]);
    assert_eq!(added.status, Some(0), "{added}");
    let before = fs::read_to_string(environment.config_file()).unwrap();
    let mut terminal = offered(&environment, &provider);
    assert!(
        terminal.screen().contains("This will be added to"),
        "{terminal:?}"
    );
    terminal.type_line("y");
    let mut chat = Chat::of(terminal);
    assert!(chat.turn("hello").contains("Here I am"));
    chat.leave();
    let after = fs::read_to_string(environment.config_file()).unwrap();
    assert!(after.contains(before.trim()), "{after}");
    assert!(after.contains("[agents.assistant]"), "{after}");
    assert_eq!(
        environment.run(["config", "check"]).status,
        Some(0),
        "{after}"
    );
}

#[test]
fn a_question_at_the_first_run_is_answered_after_the_offer() {
    let provider = Provider::play([Response::reply("Forty-two")]);
    let environment = Environment::new(program!());
    let mut terminal = environment
        .command(["ask", "the question"])
        .variable("DUNLIN_DISCOVER", &provider.base_url())
        .variable("OPENAI_API_KEY", "")
        .terminal();
    terminal.wait_for("Which one? 1-2 [1]");
    terminal.type_line("");
    terminal.wait_for("Save this configuration? [y/n]");
    terminal.type_line("y");
    assert_eq!(terminal.wait_end(), Some(0), "{terminal:?}");
    terminal.wait_for("Forty-two");
}

#[test]
fn of_several_one_is_chosen_and_a_key_stays_where_it_is() {
    let provider = Provider::play([]);
    let environment = Environment::new(program!());
    let mut terminal = first(&environment, &provider.base_url())
        .variable("OPENAI_API_KEY", API_KEY)
        .terminal();
    terminal.wait_for("Which one? 1-3 [1]");
    terminal.type_line("4");
    terminal.wait_for("Enter a number from the list");
    terminal.wait_until("the choice again", |screen| screen.count("Which one?") == 2);
    terminal.type_line("2");
    terminal.wait_for("Which model of OpenAI?");
    terminal.type_line("");
    terminal.wait_for("Save this configuration? [y/n]");
    terminal.type_line("y");
    Chat::of(terminal).leave();
    let written = fs::read_to_string(environment.config_file()).unwrap();
    assert!(written.contains("env = \"OPENAI_API_KEY\""), "{written}");
    assert!(!written.contains(API_KEY), "{written}");
}

#[test]
fn with_nothing_found_three_lines_say_what_to_do() {
    let advice = "No agent is configured: ~/config/dunlin/config.toml does not exist. \
        No model is available.\n\
        Start Ollama, llama.cpp or LM Studio with a model, or set an API key\n\
        (export OPENAI_API_KEY=…), or fetch a small model with dunlin model pull; then run dunlin again.\n";
    let environment = Environment::new(program!());
    let output = first(&environment, "").stdin("hello\n").run();
    assert_eq!(
        output.to_string(),
        format!("status: 2\n----- stderr\n{advice}")
    );
    let output = environment
        .command(["ask", "hello"])
        .variable("OPENAI_API_KEY", "")
        .run();
    assert_eq!((output.status, output.stderr), (Some(2), advice.to_owned()));
}

#[test]
fn without_a_terminal_what_was_found_is_named() {
    let provider = Provider::play([]);
    let environment = Environment::new(program!());
    let output = first(&environment, &provider.base_url())
        .stdin("hello\n")
        .run();
    assert_eq!((output.status, output.stdout.as_str()), (Some(2), ""));
    assert_eq!(output.stderr.lines().count(), 3, "{output}");
    assert!(
        output.stderr.contains("at 127.0.0.1:[PORT] · scripted"),
        "{output}"
    );
}

#[test]
fn a_broken_configuration_is_named_by_file_line_and_nearest_key() {
    let check = |toml: &str, expected: &str| {
        let environment = Environment::new(program!());
        environment.configure(toml);
        for arguments in [
            &["ask", "hello"][..],
            &["config", "check"],
            &["tools", "list"],
            &[],
        ] {
            let output = environment.run(arguments);
            let expected = format!("status: 2\n----- stderr\n{expected}\n");
            assert_eq!(output.to_string(), expected, "{arguments:?}");
        }
        let terminal = environment.terminal::<&str>([]);
        assert_eq!(terminal.wait_end(), Some(2));
        for flag in ["--help", "--version"] {
            let output = environment.run([flag]);
            assert_eq!(
                (output.status, output.stderr.as_str()),
                (Some(0), ""),
                "{flag}"
            );
        }
    };
    check(
        "\n[agents.assistant]\nbase_url = \"http://127.0.0.1:1/v1\"\nmodle = \"a\"\n",
        "error: [HOME]/config/dunlin/config.toml:4: unknown key \"modle\" in [agents.assistant]\n\
         hint: the nearest known key is \"model\"",
    );
    check(
        "on_denial = \"ask\"\n",
        "error: [HOME]/config/dunlin/config.toml:1: on_denial must be `stop` or `continue`, not `ask`",
    );
    check(
        "= what\n",
        "error: [HOME]/config/dunlin/config.toml:1: unquoted keys cannot be empty, \
         expected letters, numbers, `-`, `_`",
    );
}
