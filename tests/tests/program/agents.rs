//! Agents: what one may use, and which one answers.

use dunlin_tests::{Provider, Response};
use serde_json::json;

use crate::stage::{environment, read};

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
