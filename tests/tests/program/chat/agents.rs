//! Agents: what one may use, and which one answers.

use std::fs;

use dunlin_tests::{Environment, Provider, Response};
use serde_json::json;

use crate::stage::{Chat, environment, read};

#[test]
fn a_tool_that_the_agent_has_not_does_not_run() {
    let check = |users: &str, projects: Option<&str>, call: Response, expected: &str| {
        let provider = Provider::play([call, Response::reply("Well.")]);
        let environment = environment(&provider);
        environment.configure_more("", users);
        environment.project_file("notes.txt", "The eggs are speckled.");
        if let Some(projects) = projects {
            environment.project_file(".dunlin/config.toml", projects);
        }
        let output = environment.run(["ask", "--json", "look"]);
        assert_eq!(output.status, Some(0), "{output}");
        let requests = provider.requests();
        let results = requests[1].results();
        assert!(
            results
                .last()
                .is_some_and(|result| result.contains(expected)),
            "{users} {projects:?}: {results:?}"
        );
    };
    let unknown = "there is no tool named \"read_file\"";
    let read = || read("notes.txt");
    check("", None, read(), "The eggs are speckled.");
    check("tools = [\"ask_user\"]", None, read(), unknown);
    check("tools = []", None, read(), unknown);
    check(
        "",
        Some("[agents.assistant]\ntools = []\n"),
        read(),
        unknown,
    );
    let near = "there is no tool named \"reed_file\"; similar: read_file";
    let reed = Response::call("reed_file", json!({"file_path": "notes.txt"}));
    check("tools = [\"read_file\"]", None, reed, near);
}

#[test]
fn a_tool_that_does_not_exist_is_said_so() {
    let provider = Provider::play([Response::reply("Well.")]);
    let environment = environment(&provider);
    environment.configure_more("", "tools = [\"reed_file\", \"mcp_loader\", \"far__sing\"]");
    let output = environment.run(["ask", "look"]);
    let warning = "warning: [agents.assistant] names the tool \"reed_file\", which does not exist; \
                   the nearest is \"read_file\"\n";
    assert_eq!(
        (output.status, output.stderr.as_str()),
        (Some(0), warning),
        "{output}"
    );
    let output = environment.run(["doctor"]);
    let said = "the agent's \"reed_file\" does not exist";
    assert!(output.stdout.contains(said), "{output}");
    assert!(!output.stdout.contains("web_fetch"), "{output}");
}

#[test]
fn of_several_agents_one_is_chosen_in_the_configuration() {
    let provider = Provider::play([]);
    let environment = environment(&provider);
    let agent = |name: &str| {
        let url = provider.base_url();
        format!("[agents.{name}]\nbase_url = {url:?}\nmodel = \"m\"\n")
    };
    environment.configure(&format!("{}{}", agent("near"), agent("far")));
    let output = environment.run(["ask", "hello"]);
    assert_eq!(output.status, Some(2), "{output}");
    let hint = "hint: default_agent = \"NAME\" in config.toml chooses one of: far, near";
    assert!(output.stderr.contains(hint), "{output}");
}

/// Opens a chat that asks about the project's agent file as in this snapshot, and answers.
fn answer_at_start(environment: &Environment, snapshot: &str, answer: &str) -> Chat {
    const QUESTION: &str = "Trust this version of the file? [y/n], v shows all of it";
    let mut terminal = environment.terminal::<&str>([]);
    let screen = terminal.wait_until("the question", |screen| {
        screen.cursor_line.trim_end() == QUESTION
    });
    insta::assert_snapshot!(snapshot, screen);
    terminal.type_line(answer);
    let mut chat = Chat::waiting(terminal);
    chat.prompt();
    chat
}

#[test]
fn a_projects_agent_file_is_asked_about_when_the_chat_opens() {
    let provider = Provider::play([]);
    let environment = environment(&provider);
    let file = ".dunlin/agents/counter.md";
    let text = "---\ndescription: Counts terns\ncolor: red\n---\nCount the terns.\n";
    environment.project_file(file, text);
    let is_offered = || {
        let output = environment.run(["doctor"]);
        let subagents = |line: &&str| line.contains(" subagents ");
        let line = output.stdout.lines().find(subagents).expect("the line");
        line.ends_with("counter, research")
    };
    assert!(!is_offered());

    let chat = answer_at_start(&environment, "an_agent_file_of_a_project", "n");
    chat.terminal
        .wait_for("not used until `dunlin config trust`");
    chat.leave();
    assert!(!is_offered());
    // Nobody is asked twice about the same text.
    let chat = Chat::open(&environment);
    chat.terminal
        .wait_for("not used until `dunlin config trust`");
    chat.leave();
    let output = environment.run(["config", "trust", "--yes"]);
    assert!(output.stdout.contains("5: Count the terns."), "{output}");
    assert!(is_offered());
    let output = environment.run(["config", "show"]);
    let shown = "agents.counter.description";
    assert!(output.stdout.contains(shown), "{output}");
    let warning = "counter.md:3: the key \"color\" is not used; known keys: name, description, tools, model, agent, \
                   temperature";
    assert!(output.stderr.contains(warning), "{output}");

    environment.project_file(file, text.replace("Count the", "Mail the"));
    assert!(!is_offered());
    let chat = answer_at_start(&environment, "an_agent_file_that_changed", "y");
    chat.leave();
    assert!(is_offered());
    let output = environment.run(["config", "untrust"]);
    let said = "1 agent file is no longer trusted";
    assert!(output.stdout.contains(said), "{output}");
    assert!(!is_offered());
    assert!(provider.requests().is_empty());
}

#[test]
fn a_tool_of_an_agent_file_that_does_not_exist_is_said_so() {
    let provider = Provider::play([]);
    let environment = environment(&provider);
    let folder = environment.config_file().with_file_name("agents");
    fs::create_dir(&folder).expect("the folder");
    let text = "---\ndescription: x\ntools: reed_file, Grep\n---\n";
    fs::write(folder.join("reader.md"), text).expect("the file");
    let output = environment.run(["config", "check"]);
    for warning in [
        "warning: [agents.reader] names the tool \"reed_file\", which does not exist; the nearest is \"read_file\"\n",
        "reader.md:3: tools of another program stand for those here: Grep for search_text\n",
    ] {
        assert!(output.stderr.contains(warning), "{output}");
    }
}
