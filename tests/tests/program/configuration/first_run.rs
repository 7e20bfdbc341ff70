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
    terminal.wait_for("Which one? 1-4 [1]");
    terminal.type_line("");
    terminal.wait_for("Save this configuration? [y/n]");
    terminal
}

#[test]
fn a_found_server_is_written_down_and_answers() {
    let provider = Provider::play([
        Response::reply("I am here."),
        Response::reply("Hello from the new server"),
    ]);
    let environment = Environment::new(program!());
    let mut terminal = offered(&environment, &provider);
    assert!(!environment.config_file().exists());
    terminal.type_line("y");
    terminal.wait_for("I am here.");
    let tried = provider.wait_for_request(0);
    assert_eq!(tried.messages().len(), 1);
    assert_eq!(tried.body.get("tools"), None);
    let mut chat = Chat::of(terminal);
    let mode = fs::metadata(environment.config_file())
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
    chat.turn("hello");
    insta::assert_snapshot!(chat.terminal.screen());
    chat.leave();
}

#[test]
fn no_means_no() {
    let provider = Provider::play([]);
    for (answer, name) in [("n", "n"), ("\x03", "ctrl_c"), ("\x04", "ctrl_d")] {
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
        insta::assert_snapshot!(format!("the_offer_is_refused_by_{name}"), terminal.screen());
        assert!(!environment.config_file().exists());
    }
}

#[test]
fn a_server_in_the_configuration_does_not_keep_the_offer_away() {
    let provider = Provider::play([Response::reply("Hello."), Response::reply("Here I am")]);
    let environment = Environment::new(program!());
    let added = environment.run(["mcp", "add", "far", "--url", "https://mcp.example/mcp"]);
    assert_eq!(added.status, Some(0), "{added}");
    let before = fs::read_to_string(environment.config_file()).unwrap();
    let mut terminal = offered(&environment, &provider);
    terminal.type_line("y");
    let mut chat = Chat::of(terminal);
    chat.turn("hello");
    insta::assert_snapshot!(chat.terminal.screen());
    chat.leave();
    let after = fs::read_to_string(environment.config_file()).unwrap();
    assert!(after.contains(before.trim()), "{after}");
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
    terminal.wait_for("Which one? 1-4 [1]");
    terminal.type_line("");
    terminal.wait_for("Save this configuration? [y/n]");
    terminal.type_line("y");
    assert_eq!(terminal.wait_end(), Some(0), "{terminal:?}");
    insta::assert_snapshot!(terminal.screen());
}

#[test]
fn of_several_one_is_chosen_and_a_key_stays_where_it_is() {
    let provider = Provider::play([]);
    let environment = Environment::new(program!());
    let mut terminal = first(&environment, &provider.base_url())
        .variable("OPENAI_API_KEY", API_KEY)
        .terminal();
    terminal.wait_for("Which one? 1-5 [1]");
    terminal.type_line("6");
    terminal.wait_until("the choice again", |screen| screen.count("Which one?") == 2);
    terminal.type_line("2");
    terminal.wait_for("Which model of OpenAI?");
    terminal.type_line("");
    terminal.wait_for("Save this configuration? [y/n]");
    terminal.assert_absent(API_KEY);
    // A yes would be followed by a request to the service.
    terminal.type_line("n");
    assert_eq!(terminal.wait_end(), Some(0), "{terminal:?}");
    insta::assert_snapshot!(terminal.screen());
}

#[test]
fn with_nothing_found_three_lines_say_what_to_do() {
    let environment = Environment::new(program!());
    let _ = first(&environment, "").stdin("hello\n").run();
    let _ = environment
        .command(["ask", "hello"])
        .variable("OPENAI_API_KEY", "")
        .run();
    insta::assert_snapshot!(environment.transcript());
}

#[test]
fn without_a_terminal_what_was_found_is_named() {
    let provider = Provider::play([]);
    let environment = Environment::new(program!());
    let _ = first(&environment, &provider.base_url())
        .stdin("hello\n")
        .run();
    insta::assert_snapshot!(environment.transcript());
}

#[test]
fn a_broken_configuration_is_named_by_file_line_and_nearest_key() {
    let mut outputs = String::new();
    for toml in [
        "\n[agents.assistant]\nbase_url = \"http://127.0.0.1:1/v1\"\nmodle = \"a\"\n",
        "on_denial = \"ask\"\n",
        "= what\n",
    ] {
        let environment = Environment::new(program!());
        environment.configure(toml);
        let expected = environment.run(["config", "check"]).to_string();
        for arguments in [&["ask", "hello"][..], &["tools", "list"], &[]] {
            let output = environment.run(arguments).to_string();
            assert_eq!(output, expected, "{arguments:?}");
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
        outputs += &format!("{}\n{expected}\n", toml.trim());
    }
    insta::assert_snapshot!(outputs);
}

/// A first run in which nothing is found.
fn nothing_found(environment: &Environment) -> Terminal {
    let terminal = first(environment, "").terminal();
    terminal.wait_for("Which one? 1-3 [1]");
    terminal
}

fn saved(environment: &Environment, mut terminal: Terminal) -> (Terminal, String) {
    terminal.wait_for("Save this configuration? [y/n]");
    terminal.type_line("y");
    terminal.wait_for("Trying it with one small request");
    let written = fs::read_to_string(environment.config_file()).expect("the file");
    (terminal, written)
}

#[test]
fn the_words_that_leave_the_chat_leave_the_first_run() {
    let environment = Environment::new(program!());
    for word in ["q", "exit", "/quit"] {
        let mut terminal = nothing_found(&environment);
        terminal.type_line("/model");
        terminal.wait_until("the question again", |screen| {
            screen.count("Which one?") == 2
        });
        terminal.type_line(word);
        assert_eq!(terminal.wait_end(), Some(0), "{word}");
        let name = format!("a_first_run_is_left_by_{}", word.trim_start_matches('/'));
        insta::assert_snapshot!(name, terminal.screen());
        assert!(!environment.config_file().exists());
    }
}

#[test]
fn an_address_leads_to_a_server() {
    let provider = Provider::play([Response::reply("Hello."), Response::reply("Yes.")]);
    let environment = Environment::new(program!());
    let mut terminal = nothing_found(&environment);
    for (number, typed) in (2..).zip(["127.0.0.1:1", "frobnicate", "sk-ant-0123456789"]) {
        terminal.type_line(typed);
        terminal.wait_until("the question again", |screen| {
            screen.count("Which one?") == number
        });
    }
    terminal.type_line(&provider.base_url());
    let (terminal, written) = saved(&environment, terminal);
    assert!(written.contains("model = \"scripted\""), "{written}");
    let mut chat = Chat::of(terminal);
    chat.turn("there?");
    insta::assert_snapshot!(chat.terminal.screen());
    chat.leave();
}

#[test]
fn a_key_is_typed_unseen_and_kept_in_private() {
    let environment = Environment::new(program!());
    let mut terminal = nothing_found(&environment);
    terminal.type_line("3");
    terminal.wait_for("Which service?");
    terminal.type_line("nobody");
    terminal.wait_until("the question again", |screen| {
        screen.count("Which service?") == 2
    });
    terminal.type_line("groq");
    terminal.wait_for("Key of Groq, not shown:");
    terminal.type_line(API_KEY);
    terminal.wait_for("Which model of Groq?");
    terminal.assert_absent(API_KEY);
    terminal.type_line("");
    terminal.wait_for("Save this configuration? [y/n]");
    terminal.type_line("n");
    assert_eq!(terminal.wait_end(), Some(0));
    terminal.assert_absent(API_KEY);
    insta::assert_snapshot!(terminal.screen());
    assert!(!environment.config_file().with_file_name("keys").exists());
}

#[test]
fn a_server_that_wants_a_key_is_given_one() {
    let provider = Provider::play([Response::reply("Hello."), Response::reply("Yes.")]);
    provider.want_key();
    let environment = Environment::new(program!());
    let mut terminal = nothing_found(&environment);
    terminal.type_line(&provider.base_url());
    terminal.wait_for("not shown:");
    terminal.type_line("wrong");
    terminal.wait_until("the key again", |screen| screen.count("not shown:") == 2);
    terminal.type_line(API_KEY);
    let (terminal, written) = saved(&environment, terminal);
    assert!(!written.contains(API_KEY), "{written}");
    let name = provider.root().replace("http://", "").replace(':', "-");
    let file = format!("keys/{name}");
    assert!(written.contains(&format!("file = {file:?}")), "{written}");
    let file = environment.config_file().with_file_name(file);
    assert_eq!(fs::read_to_string(&file).unwrap(), API_KEY);
    let mode = fs::metadata(&file).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let mut chat = Chat::of(terminal);
    chat.turn("there?");
    chat.terminal.assert_absent(API_KEY);
    let screen = chat.terminal.screen().to_string();
    insta::assert_snapshot!(screen.replace(&name, "127.0.0.1-[PORT]"));
    chat.leave();
    let key = format!("Bearer {API_KEY}");
    let sent = provider.requests();
    assert!(
        sent.iter()
            .all(|it| it.header("authorization") == Some(&key))
    );
}

#[test]
fn what_does_not_answer_is_no_dead_end() {
    let deaf = Provider::always(Response::status(400, "no such model"));
    let other = Provider::play([Response::reply("Hello."), Response::reply("Yes.")]);
    let environment = Environment::new(program!());
    let mut terminal = nothing_found(&environment);
    terminal.type_line(&deaf.base_url());
    let (mut terminal, _) = saved(&environment, terminal);
    terminal.wait_for("Choose something else? [y/n]");
    terminal.type_line("y");
    terminal.wait_until("the list again", |screen| screen.count("Which one?") == 2);
    terminal.type_line(&other.base_url());
    terminal.wait_until("another offer", |screen| {
        screen.count("Save this configuration?") == 2
    });
    terminal.type_line("y");
    let mut chat = Chat::of(terminal);
    chat.turn("there?");
    insta::assert_snapshot!(chat.terminal.screen());
    chat.leave();
    let written = fs::read_to_string(environment.config_file()).unwrap();
    assert!(written.contains(&other.base_url()), "{written}");
    assert!(!written.contains(&deaf.base_url()), "{written}");
}

#[test]
fn one_more_agent_can_be_added() {
    let provider = Provider::always(Response::reply("Hello."));
    let environment = Environment::with_provider(program!(), &provider);
    let mut terminal = environment
        .command(["config", "init"])
        .variable("DUNLIN_DISCOVER", "")
        .terminal();
    terminal.wait_for("What is the new agent called? [assistant-2]");
    for wrong in ["assistant", "http://127.0.0.1:1"] {
        let asked = terminal.screen().count("What is the new agent called?");
        terminal.type_line(wrong);
        terminal.wait_until("the question again", |screen| {
            screen.count("What is the new agent called?") == asked + 1
        });
    }
    terminal.type_line("second");
    terminal.wait_for("Which one?");
    terminal.type_line(&provider.base_url());
    let (terminal, written) = saved(&environment, terminal);
    assert_eq!(terminal.wait_end(), Some(0), "{terminal:?}");
    insta::assert_snapshot!("one_more_agent_is_added", terminal.screen());
    assert!(written.contains("[agents.second]"), "{written}");
    let output = environment.run(["ask", "--agent", "second", "hi"]);
    assert_eq!(output.stdout, "Hello.\n", "{output}");
    let output = environment.run(["config", "init"]);
    assert_eq!(output.status, Some(2), "{output}");
}
