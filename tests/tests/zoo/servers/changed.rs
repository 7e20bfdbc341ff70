//! Servers outside of the sandbox whose files change between two starts.

use std::fs;
use std::sync::Arc;

use dunlin_host::Host;
use dunlin_host::ask::Scope;
use dunlin_host::call::{Failure, PlanStatus};
use dunlin_host::mcp::ServerAt;
use dunlin_host::target::Target;
use dunlin_tests::sandbox::{Asker, Sandbox, call, play};
use serde_json::{Value, json};

use super::{host_with, load, use_tool};

/// Servers that start in the project, each with a script there in its command line.
fn host(sandbox: &Sandbox, behaviours: &[&str]) -> Host {
    for behaviour in behaviours {
        let script = sandbox.project().join(format!("{behaviour}.py"));
        fs::write(script, "1").expect("a script");
    }
    host_with(sandbox, behaviours, |server| {
        let script = format!("{}.py", server.name);
        if let ServerAt::Program(program) = &mut server.at {
            program.folder = sandbox.project();
            program.arguments.push(script);
        }
    })
}

/// What the user is told before answering; `None`: there is no question.
async fn told(host: &Host, tool: &str, arguments: Value) -> Option<Vec<String>> {
    let wanted = call(tool, arguments);
    let plan = host.prepare(&wanted).await.expect("a plan");
    let told = match plan.status {
        PlanStatus::Ask {
            notices, longest, ..
        } => {
            assert_eq!(longest, Scope::Once);
            Some(notices)
        }
        PlanStatus::Allowed => None,
        denied @ PlanStatus::Denied { .. } => panic!("{denied:?}"),
    };
    host.cancelled(&wanted);
    told
}

#[tokio::test(flavor = "multi_thread")]
async fn each_question_about_a_start_says_what_changed_since_the_last() {
    let sandbox = Sandbox::new();
    let host = host(&sandbox, &["dies"]);
    let ask = async || {
        let loader = told(&host, "mcp_loader", json!({})).await;
        let tool = told(&host, "dies__echo", json!({"text": "a"})).await;
        assert_eq!(loader, tool);
        tool.expect("a question")
    };
    let folder = format!(
        "dies starts in {}, where commands and edits can change what it runs.",
        sandbox.project().display()
    );
    let changed = "Changed since dies was last started: dies.py.";
    load(&host, json!({})).await.expect("a connection");
    use_tool(&host, "dies__echo").await.expect_err("an end");
    assert_eq!(ask().await[..], [folder.as_str()]);
    fs::write(sandbox.project().join("dies.py"), "2").expect("a script");
    assert_eq!(ask().await[..], [folder.as_str(), changed]);
    fs::remove_file(sandbox.project().join("dies.py")).expect("removed");
    assert_eq!(ask().await[..], [folder.as_str(), changed]);
    // Another session does not make it the first start.
    host.begin_session("another");
    let loader = told(&host, "mcp_loader", json!({})).await;
    assert_eq!(loader.expect("a question")[..], [folder.as_str(), changed]);
    load(&host, json!({})).await.expect("a connection");
    use_tool(&host, "dies__echo").await.expect_err("an end");
    assert_eq!(ask().await[..], [folder.as_str()]);
}

/// Allowed by hand, so that nobody is asked otherwise.
#[tokio::test(flavor = "multi_thread")]
async fn a_start_that_was_allowed_beforehand_asks_once_its_files_changed() {
    let sandbox = Sandbox::new();
    let host = host(&sandbox, &["dies", "good"]);
    for server in ["dies", "good"] {
        let wanted = call("mcp_loader", json!({"server": server}));
        let plan = host.prepare(&wanted).await.expect("a plan");
        let Some(Target::Command(command)) = plan.needs.first().map(|need| &need.target) else {
            panic!("{plan:?}");
        };
        let key = command.key.to_string();
        host.permissions().set(&key, "??x").expect("stored");
    }
    let tool = json!({"text": "a"});
    // Each change counts, also before the first start of this session: nothing is known of an earlier one.
    fs::write(sandbox.project().join("dies.py"), "0").expect("a script");
    assert_eq!(told(&host, "mcp_loader", json!({})).await, None);
    load(&host, json!({})).await.expect("connections");
    use_tool(&host, "dies__echo").await.expect_err("an end");
    assert_eq!(told(&host, "dies__echo", tool.clone()).await, None);

    fs::write(sandbox.project().join("dies.py"), "2").expect("a script");
    let notices = told(&host, "dies__echo", tool.clone()).await;
    let changed = "Changed since dies was last started: dies.py.".to_owned();
    assert!(notices.expect("a question").contains(&changed));
    let wanted = call("dies__echo", tool.clone());
    let denied = play(&host, &wanted, Arc::new(Asker::no())).await;
    assert!(matches!(denied, Err(Failure::Denied { .. })), "{denied:?}");
    let audit = sandbox.audit();
    let rule = |line: &Value| line["rule"].as_str().unwrap_or_default().to_owned();
    assert!(
        audit.iter().any(|line| line["event"] == "denied"),
        "{:?}",
        audit.iter().map(rule).collect::<Vec<String>>()
    );

    // One that did not change starts beside it, with the same answer.
    assert!(host.disconnect_server("good").await);
    let told_now = load(&host, json!({})).await.expect("connections");
    for server in ["dies is connected", "good is connected"] {
        assert!(told_now.contains(server), "{told_now}");
    }
    use_tool(&host, "dies__echo").await.expect_err("an end");
    assert_eq!(told(&host, "dies__echo", tool).await, None);
}
