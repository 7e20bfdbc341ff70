//! How connections end: by themselves, at a limit, when nobody wants them any more, in good order.

use std::sync::Arc;
use std::time::{Duration, Instant};

use dunlin_host::NoProgress;
use dunlin_host::ask::DenyAll;
use dunlin_host::call::Plan;
use dunlin_host::mcp::ServerAt;
use dunlin_tests::DEADLINE;
use dunlin_tests::sandbox::{Asker, Sandbox, assert_alive, call, play};
use serde_json::json;

use super::{heard_file, host, host_with, load, names, use_tool};

#[tokio::test(flavor = "multi_thread")]
async fn an_ended_server_is_started_again_a_few_times() {
    let sandbox = Sandbox::new();
    let host = host(&sandbox, &["dies"]);
    load(&host, json!({})).await.expect("a connection");
    for _ in 0..4 {
        let why = use_tool(&host, "dies__echo").await.expect_err("an end");
        assert!(why.contains("out of memory"), "{why}");
    }
    let notices = host.take_notices();
    assert_eq!(notices, vec!["The MCP server dies is started again."; 3]);
    // Refused calls are not starts.
    for _ in 0..3 {
        let why = use_tool(&host, "dies__echo").await.expect_err("an end");
        assert!(
            why.contains("ended 4 times in this session and is left alone now; the user can start it again with /mcp connect dies"),
            "{why}"
        );
    }
    host.forgive_server("dies");
    load(&host, json!({})).await.expect("a connection");
    assert_alive(&host).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_disconnects_a_server_is_not_told_that_it_is_started_again() {
    let sandbox = Sandbox::new();
    let host = host(&sandbox, &["good"]);
    for _ in 0..6 {
        load(&host, json!({})).await.expect("a connection");
        assert!(host.disconnect_server("good").await);
    }
    assert_eq!(host.take_notices(), [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn time_is_the_hosts() {
    let sandbox = Sandbox::new();
    let host = host_with(&sandbox, &["slow"], |server| {
        server.timeout = Duration::from_secs(2);
    });
    load(&host, json!({})).await.expect("a connection");
    let why = use_tool(&host, "slow__echo").await.expect_err("too late");
    assert!(
        why.contains("did not answer within 2 s (timeout_secs)"),
        "{why}"
    );
    heard_at_last(&sandbox, "slow", "notifications/cancelled").await;
    // The line is as good as before.
    let report = &host.servers()[0];
    assert!(report.is_connected, "{report:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn who_gives_up_tells_the_server() {
    let sandbox = Sandbox::new();
    let host = host(&sandbox, &["slow"]);
    load(&host, json!({})).await.expect("a connection");
    let call = call("slow__echo", json!({}));
    let plan = host.prepare(&call).await.expect("a plan");
    let running = host.run(&call, &plan, Arc::new(DenyAll), Arc::new(NoProgress));
    tokio::select! {
        outcome = running => panic!("{outcome:?}"),
        () = heard_at_last(&sandbox, "slow", "tools/call") => {}
    }
    heard_at_last(&sandbox, "slow", "notifications/cancelled").await;
}

/// Waits until this is the last that a server heard.
async fn heard_at_last(sandbox: &Sandbox, behaviour: &str, what: &str) {
    let begin = Instant::now();
    loop {
        let heard = std::fs::read_to_string(heard_file(sandbox, behaviour)).unwrap_or_default();
        if heard.lines().last() == Some(what) {
            return;
        }
        assert!(begin.elapsed() < DEADLINE, "{heard}");
        tokio::task::yield_now().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_that_changed_is_not_called_as_it_was() {
    let sandbox = Sandbox::new();
    let host = host(&sandbox, &["changing"]);
    load(&host, json!({})).await.expect("a connection");
    let prepared = call("changing__echo", json!({"text": "x"}));
    let plan: Plan = host.prepare(&prepared).await.expect("a plan");
    let other = dunlin_host::call::Call {
        id: "other".to_owned(),
        ..prepared.clone()
    };
    play(&host, &other, Arc::new(Asker::yes()))
        .await
        .expect("allowed")
        .result
        .expect("a result");
    let begin = Instant::now();
    while names(&host) != ["changing__echo", "changing__new"] {
        assert!(begin.elapsed() < DEADLINE, "{:?}", names(&host));
        tokio::task::yield_now().await;
    }
    let notices = host.take_notices();
    assert_eq!(
        notices,
        ["the tools of the MCP server changing changed: new: new; changed: echo"]
    );
    let outcome = host
        .run(&prepared, &plan, Arc::new(DenyAll), Arc::new(NoProgress))
        .await;
    let why = outcome.result.expect_err("another tool").to_string();
    assert!(why.contains("changed its tool changing__echo"), "{why}");
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_outlives_its_session() {
    let sandbox = Sandbox::new();
    let host = host(&sandbox, &["family"]);
    load(&host, json!({})).await.expect("a connection");
    let pids = use_tool(&host, "family__echo")
        .await
        .expect("two processes");
    let is_alive = |pid: &str| std::path::Path::new(&format!("/proc/{pid}/exe")).exists();
    assert!(pids.split(' ').all(is_alive), "{pids}");
    host.begin_session("another");
    assert_eq!(names(&host), Vec::<String>::new());
    let begin = Instant::now();
    while pids.split(' ').any(is_alive) {
        assert!(begin.elapsed() < DEADLINE, "{pids}");
        tokio::task::yield_now().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_goes_on_with_its_servers() {
    let sandbox = Sandbox::new();
    let first = host(&sandbox, &["good"]);
    load(&first, json!({})).await.expect("a connection");
    assert_eq!(first.used_servers(), ["good"]);
    first.close_servers().await;
    std::fs::remove_file(heard_file(&sandbox, "good")).expect("what it heard");

    let second = host(&sandbox, &["good"]);
    second.use_servers(&["good".to_owned(), "gone".to_owned()]);
    assert_eq!(names(&second), ["good__echo"]);
    assert!(
        !heard_file(&sandbox, "good").exists(),
        "nothing starts early"
    );
    let notices = second.take_notices();
    assert_eq!(
        notices,
        [
            "this session uses the MCP server good: it is connected when a tool of it is called",
            "this session used the MCP server gone, which is not configured any more",
        ]
    );
    assert_eq!(
        use_tool(&second, "good__echo").await,
        Ok("tereu".to_owned())
    );
}

fn heard(sandbox: &Sandbox, behaviour: &str) -> String {
    std::fs::read_to_string(heard_file(sandbox, behaviour)).unwrap_or_default()
}

#[tokio::test(flavor = "multi_thread")]
async fn leave_is_taken_in_good_order() {
    let sandbox = Sandbox::new();
    let host = host(&sandbox, &["good", "lingering"]);
    load(&host, json!({})).await.expect("two connections");
    assert!(host.has_connections());
    let begin = Instant::now();
    host.close_servers().await;
    // One that does not end is not waited for.
    assert!(begin.elapsed() < DEADLINE);
    assert!(!host.has_connections());
    for behaviour in ["good", "lingering"] {
        let heard = heard(&sandbox, behaviour);
        assert!(heard.ends_with("end of input\n"), "{behaviour}: {heard}");
    }
    // The session goes on using them.
    assert_eq!(host.used_servers(), ["good", "lingering"]);
    assert_eq!(use_tool(&host, "good__echo").await, Ok("tereu".to_owned()));
    host.close_servers().await;
    host.close_servers().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_in_the_sandbox_writes_where_it_may() {
    let sandbox = Sandbox::new();
    let host = host_with(&sandbox, &["writing", "dead"], |server| {
        if let ServerAt::Program(program) = &mut server.at {
            program.sandbox = true;
            program.folder = sandbox.project();
        }
    });
    let wanted = call("mcp_loader", json!({"server": "writing"}));
    let plan = host.prepare(&wanted).await.expect("a plan");
    let said = "Start the MCP server 'writing'? It runs in the sandbox for commands: OWN=… /";
    assert!(plan.question.starts_with(said), "{}", plan.question);
    load(&host, json!({})).await.expect("a connection");
    let (inside, outside) = (sandbox.project().join("new"), sandbox.secret());
    let text = format!("{} {}", inside.display(), outside.display());
    let tried = call("writing__echo", json!({"text": text}));
    let outcome = play(&host, &tried, Arc::new(Asker::yes())).await;
    let told = outcome.expect("allowed").result.expect("a result").text;
    assert_eq!(told, "written refused no network");
    host.close_servers().await;
    assert!(heard(&sandbox, "writing").ends_with("end of input\n"));
    let why = load(&host, json!({"server": "dead"}))
        .await
        .expect_err("an end");
    assert!(
        why.contains("has ended; its last words: cannot \\u{1b}[31mopen"),
        "{why}"
    );
    assert_alive(&host).await;
}
