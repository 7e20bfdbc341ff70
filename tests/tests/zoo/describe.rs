//! Guests that say odd things of themselves.

use std::sync::Arc;
use std::time::{Duration, Instant};

use dunlin::built_in_plugins;
use dunlin_host::ask::DenyAll;
use dunlin_host::permission::ToolMode;
use dunlin_host::{Limits, Plugin, Tool, tools_digest};
use dunlin_tests::DEADLINE;
use dunlin_tests::sandbox::{PATIENT, README, Sandbox, assert_alive, call, leaks, play, plugin};
use serde_json::json;

use crate::assert_one_clear_line;

fn names(tools: &[Tool]) -> Vec<&str> {
    tools.iter().map(|tool| tool.name.as_str()).collect()
}

/// Each is left out with one line, and the others work.
#[tokio::test]
async fn each_is_left_out_with_one_line() {
    let short = Limits {
        describe_time: Duration::from_secs(1),
        ..PATIENT
    };
    for (guest, limits) in [
        ("bad_contract", PATIENT),
        ("bad_name", PATIENT),
        ("bad_schema", PATIENT),
        ("deep_schema", PATIENT),
        ("huge_description", PATIENT),
        ("many_tools", PATIENT),
        ("loop_in_describe", short),
        ("open_in_describe", PATIENT),
    ] {
        let expected = dunlin_zoo::line_of(guest).expect("a trial of the guest");
        let sandbox = Sandbox::new();
        let host = sandbox.host(&[guest], limits);
        let (tools, errors) = host.tools().await;
        assert_eq!(names(&tools), ["echo"]);
        let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
        assert_eq!(errors, [expected]);
        assert_one_clear_line(expected);
        assert_eq!(leaks(&errors[0]), [""; 0]);
        assert!(!errors[0].contains(README.trim()));
        assert_alive(&host).await;
        // Not called by its name either.
        let failure = host.prepare(&call(guest, json!({}))).await.unwrap_err();
        assert_eq!(
            failure.to_string(),
            format!("there is no tool named {guest:?}")
        );
    }
}

/// That a tool is always allowed was said of one plugin in one version.
#[tokio::test]
async fn always_ends_with_the_version_of_the_plugin() {
    let sandbox = Sandbox::new();
    let host = sandbox.host(&["undeclared"], PATIENT);
    host.tools().await;
    let mode = || host.permissions().tool_mode("undeclared");
    host.permissions()
        .set_tool_mode("undeclared", ToolMode::Always);
    host.replace_plugins(vec![plugin("undeclared"), plugin("echo")]);
    assert_eq!(mode(), ToolMode::Always);
    let other = Plugin {
        digest: "0".repeat(64),
        ..plugin("undeclared")
    };
    host.replace_plugins(vec![other, plugin("echo")]);
    assert_eq!(mode(), ToolMode::Prompt);
    // What was taken away stays away.
    host.permissions()
        .set_tool_mode("undeclared", ToolMode::Never);
    host.tools().await;
    host.replace_plugins(vec![plugin("undeclared")]);
    assert_eq!(mode(), ToolMode::Never);
}

/// A plugin that was left out is not asked again at every call of another one.
#[tokio::test]
async fn a_failed_plugin_costs_its_time_once() {
    let sandbox = Sandbox::new();
    let limits = Limits {
        describe_time: Duration::from_secs(5),
        ..PATIENT
    };
    let host = sandbox.host(&["loop_in_describe"], limits);
    let (_, errors) = host.tools().await;
    assert_eq!(errors.len(), 1);
    let start = Instant::now();
    assert_alive(&host).await;
    let spent = start.elapsed();
    assert!(spent < limits.describe_time, "a call took {spent:?}");
}

/// What was written beside the code when a tool was built is what it says when it is asked.
#[tokio::test]
async fn built_in_tools_are_known_as_they_describe_themselves() {
    let sandbox = Sandbox::new();
    let known = built_in_plugins::all();
    assert!(known.iter().all(|plugin| plugin.description.is_some()));
    let asked = known.iter().cloned().map(|plugin| Plugin {
        description: None,
        ..plugin
    });
    let (asked, errors) = sandbox.host_of(asked.collect(), PATIENT).tools().await;
    assert!(errors.is_empty(), "{errors:?}");
    let (known, errors) = sandbox.host_of(known, PATIENT).tools().await;
    assert!(errors.is_empty(), "{errors:?}");
    assert_eq!(known, asked);
}

/// The model reads what somebody agreed to.
#[tokio::test]
async fn a_plugin_says_what_it_said_when_it_was_installed() {
    let sandbox = Sandbox::new();
    let (tools, _) = sandbox.host(&["echo"], PATIENT).tools().await;
    let agreed = |digest: String| {
        let echo = Plugin {
            tools_digest: Some(digest),
            ..plugin("echo")
        };
        sandbox.host_of(vec![echo], PATIENT)
    };
    let (same, errors) = agreed(tools_digest(&tools)).tools().await;
    assert_eq!((same.len(), errors.len()), (1, 0), "{errors:?}");
    let (none, errors) = agreed(tools_digest(&[])).tools().await;
    assert!(none.is_empty());
    assert_eq!(
        errors[0].to_string(),
        "the plugin echo describes its tools differently than when it was installed; it is disabled until you install it \
         again"
    );
}

/// The built-in tool stays what it is, and the user is told who wanted its name.
#[tokio::test]
async fn a_name_cannot_be_taken_over() {
    let sandbox = Sandbox::new();
    let built_in = built_in_plugins::all()
        .into_iter()
        .find(|plugin| plugin.name == "read_file")
        .expect("the built-in tool");
    let host = sandbox.host_of(vec![built_in, plugin("shadow"), plugin("echo")], PATIENT);
    let (tools, errors) = host.tools().await;
    assert_eq!(names(&tools), ["echo", "read_file"]);
    assert_eq!(tools[1].plugin, "read_file");
    let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
    assert_eq!(
        errors,
        [
            "the tool read_file of the plugin shadow is left out: the plugin read_file has one of that name"
        ]
    );
    let call = call("read_file", json!({ "file_path": "README.md" }));
    let outcome = play(&host, &call, Arc::new(DenyAll)).await.unwrap();
    let text = outcome.result.unwrap().text;
    assert!(text.contains(README.trim()), "{text}");
    assert_alive(&host).await;
}

/// Checking arguments against what a guest wrote takes no longer than checking arguments does.
#[tokio::test]
async fn schemas_cannot_hang_the_host() {
    for guest in ["endless_schema", "explosive_schema"] {
        let sandbox = Sandbox::new();
        let host = sandbox.host(&[guest], PATIENT);
        let start = Instant::now();
        let (_, errors) = host.tools().await;
        for error in &errors {
            assert_one_clear_line(&error.to_string());
        }
        // Refused or answered: both are fine.
        if let Err(failure) = host.prepare(&call(guest, json!({ "a": 1 }))).await {
            assert_one_clear_line(&failure.to_string());
        }
        assert_alive(&host).await;
        let spent = start.elapsed();
        assert!(spent < DEADLINE, "{guest} took {spent:?}");
    }
}

/// Its name stands for the host's own tool, whether or not there are servers.
#[tokio::test]
async fn the_name_of_the_hosts_own_tool_is_taken() {
    let sandbox = Sandbox::new();
    let mut impostor = built_in_plugins::all()
        .into_iter()
        .find(|plugin| plugin.name == "read_file")
        .expect("a plugin");
    impostor.name = "impostor".to_owned();
    let described = impostor.description.as_mut().expect("a description");
    described.tools[0].name = "mcp_loader".to_owned();
    let host = sandbox.host_of(vec![impostor], PATIENT);
    let (tools, errors) = host.tools().await;
    assert_eq!(names(&tools), [""; 0]);
    let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
    let expected =
        "the plugin impostor has a tool named mcp_loader, which is a name of Dunlin's own";
    assert_eq!(errors, [expected]);
    let call = call("mcp_loader", json!({ "file_path": "README.md" }));
    let failure = host.prepare(&call).await.unwrap_err();
    assert!(
        matches!(failure, dunlin_host::call::Failure::UnknownTool { .. }),
        "{failure:?}"
    );
}
