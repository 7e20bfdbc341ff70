//! `dunlin config`, `dunlin doctor`, and arguments that are wrong.

use dunlin_tests::Provider;

use crate::stage::environment;

#[test]
fn config() {
    let provider = Provider::play([]);
    let environment = environment(&provider);
    let output = environment.run(["config", "path"]);
    assert_eq!(
        output.to_string(),
        "status: 0\n----- stdout\n[HOME]/config/dunlin/config.toml\n"
    );
    let output = environment.run(["config", "check"]);
    assert_eq!(
        output.to_string(),
        "status: 0\n----- stdout\n~/config/dunlin/config.toml is valid\n"
    );
    let command = environment.command(["config", "show", "--model", "other"]);
    let output = command.variable("DUNLIN_AGENT", "assistant").run();
    assert_eq!(output.status, Some(0), "{output}");
    for (name, origin) in [
        ("default_agent", "$DUNLIN_AGENT"),
        ("model ", "--model"),
        ("on_denial", "default"),
        ("agents.assistant.model", "config.toml:"),
        ("keys.test.env", "config.toml:"),
    ] {
        let mut lines = output.stdout.lines();
        let line = lines
            .find(|line| line.starts_with(name))
            .unwrap_or_default();
        assert!(line.contains(origin), "{name}: {output}");
    }
    assert!(!output.to_string().contains(dunlin_tests::API_KEY));
    let output = environment.run(["config", "check", "--agent", "asistant"]);
    assert_eq!(output.status, Some(2), "{output}");
    assert!(
        output.stderr.contains("configured agents: assistant"),
        "{output}"
    );
}

#[test]
fn a_tool_that_is_not_there_is_said_by_the_check() {
    let provider = Provider::play([]);
    let environment = environment(&provider);
    environment.configure(&format!(
        "[agents.assistant]\nbase_url = \"{}\"\nmodel = \"m\"\ntools = [\"readfile\"]\n",
        provider.base_url()
    ));
    let output = environment.run(["config", "check"]);
    assert_eq!(output.status, Some(0), "{output}");
    let said = "[agents.assistant] names the tool \"readfile\", which does not exist; the nearest is \"read_file\"";
    assert!(output.stderr.contains(said), "{output}");
}

#[test]
fn doctor() {
    let provider = Provider::play([]);
    let environment = environment(&provider);
    let output = environment.run(["doctor"]);
    assert_eq!(output.status, Some(0), "{output}");
    assert!(
        output
            .stdout
            .contains("✓ agent         assistant · scripted at http://127.0.0.1:[PORT]/v1\n"),
        "{output}"
    );
    assert!(
        output.stdout.contains(
            "✓ tools         apply_patch, ask_user, codebase_search, edit_file, list_files, read_file, run_subagent, \
             run_terminal_command, search_text, todo, web_fetch, web_search, write_file\n"
        ),
        "{output}"
    );
    assert!(!output.stdout.contains('✗'), "{output}");
    assert!(!output.to_string().contains(dunlin_tests::API_KEY));
    assert!(!output.stdout.contains("moved repositories"), "{output}");

    std::fs::create_dir_all(environment.data().join("set-aside/0123/lib")).unwrap();
    let output = environment.run(["doctor"]);
    assert_eq!(output.status, Some(0), "{output}");
    assert!(
        output.stdout.contains(
            "– git           Dunlin moved repositories that commands made out of a project, 1 time:"
        ),
        "{output}"
    );

    let output = environment.run(["doctor", "--model", "scriptd"]);
    assert_eq!(output.status, Some(1), "{output}");
    assert!(output.stdout.contains("models there: scripted"), "{output}");

    environment.configure("modle = 1\n");
    let output = environment.run(["doctor"]);
    assert_eq!(output.status, Some(1), "{output}");
    assert!(
        output
            .stdout
            .contains("config.toml:1: unknown key \"modle\""),
        "{output}"
    );
}

#[test]
fn completions_and_wrong_usage() {
    let provider = Provider::play([]);
    let environment = environment(&provider);
    for shell in ["bash", "zsh", "fish"] {
        let output = environment.run(["completions", shell]);
        assert_eq!(output.status, Some(0));
        assert!(output.stdout.contains("DUNLIN_COMPLETE"), "{output}");
    }
    for arguments in [
        &["chatt"][..],
        &["ask", "--jso", "x"],
        &["--fresh", "tools", "list"],
        &["completions", "csh"],
    ] {
        let output = environment.run(arguments);
        assert_eq!(
            (output.status, output.stdout.as_str()),
            (Some(2), ""),
            "{output}"
        );
        assert!(output.stderr.starts_with("error: "), "{output}");
    }
}
