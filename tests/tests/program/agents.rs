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
