//! MCP servers that lie, die, flood and dawdle, behind the real bridge.

mod asking;
mod changed;
mod life;
mod web;

use std::path::PathBuf;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use dunlin_host::ask::{Answer, Scope};
use dunlin_host::call::{Failure, PlanStatus};
use dunlin_host::mcp::{McpOptions, McpServer, Program, ServerAt};
use dunlin_host::permission::{ModeSwitch, SessionMode, ToolMode, Verdict};
use dunlin_host::process::SUPERVISOR_FLAG;
use dunlin_host::target::Target;
use dunlin_host::{CommandOptions, Host, NoProgress, Plugin};
use dunlin_tests::program;
use dunlin_tests::sandbox::{Asker, PATIENT, Sandbox, assert_alive, call, play, plugin};
use serde_json::{Value, json};
use tempfile::TempDir;

/// A host with `echo` and these servers, each named after what it does.
fn host(sandbox: &Sandbox, behaviours: &[&str]) -> Host {
    host_with(sandbox, behaviours, |_| {})
}

fn host_with(sandbox: &Sandbox, behaviours: &[&str], change: impl Fn(&mut McpServer)) -> Host {
    host_in(sandbox, behaviours, &ModeSwitch::default(), change)
}

fn host_in(
    sandbox: &Sandbox,
    behaviours: &[&str],
    mode: &ModeSwitch,
    change: impl Fn(&mut McpServer),
) -> Host {
    let servers = behaviours.iter().map(|behaviour| {
        let mut server = McpServer {
            name: (*behaviour).replace('_', "-"),
            description: Some(format!("Is {behaviour}.")),
            at: ServerAt::Program(Program {
                supervisor: vec![program!().into(), SUPERVISOR_FLAG.into()],
                command: env!("CARGO_BIN_EXE_served").to_owned(),
                arguments: vec![
                    (*behaviour).to_owned(),
                    heard_file(sandbox, behaviour).display().to_string(),
                ],
                environment: vec![("PATH".into(), "/usr/bin:/bin".into())],
                own_variables: vec![("OWN".to_owned(), "1".to_owned())],
                folder: sandbox.root().join("data/servers").join(behaviour),
                makes_folder: true,
                folder_lists: Vec::new(),
                search_path: Vec::new(),
                sandbox: false,
            }),
            ask: false,
            ask_tools: Vec::new(),
            roots: vec![sandbox.project()],
            timeout: Duration::from_secs(20),
        };
        change(&mut server);
        server
    });
    let bridge = dunlin_plugins::bridge::ALL.first().expect("the bridge");
    let mut options = sandbox.options(PATIENT);
    options.mode = mode.clone();
    options.commands = CommandOptions {
        supervisor: vec![program!().into(), SUPERVISOR_FLAG.into()],
        ..CommandOptions::none()
    };
    // The bridge is the largest component there is: it is compiled once.
    static CACHE: LazyLock<TempDir> = LazyLock::new(|| tempfile::tempdir().expect("a folder"));
    options.cache_dir = CACHE.path().to_owned();
    options.mcp = McpOptions {
        bridge: Some(Plugin {
            origin: None,
            name: bridge.name.to_owned(),
            bytes: bridge.bytes.into(),
            digest: bridge.digest.to_owned(),
            built_in: true,
            description: None,
            tools_digest: None,
        }),
        version: "1".to_owned(),
        servers: servers.collect(),
    };
    Host::new(options, vec![plugin("echo")]).expect("a host")
}

/// Where a server notes what it hears.
fn heard_file(sandbox: &Sandbox, behaviour: &str) -> PathBuf {
    // Outside of the project, since a yes is bound to what commands can change; in the sandbox there is nothing else to
    // write to.
    let folder = if behaviour == "writing" { "." } else { ".." };
    sandbox
        .project()
        .join(folder)
        .join(format!("{behaviour}.heard"))
}

async fn load(host: &Host, arguments: Value) -> Result<String, String> {
    let call = call("mcp_loader", arguments);
    let outcome = play(host, &call, Arc::new(Asker::yes())).await;
    let result = outcome.map_err(|e| e.to_string())?.result;
    result.map(|it| it.text).map_err(|e| e.to_string())
}

async fn use_tool(host: &Host, tool: &str) -> Result<String, String> {
    let call = call(tool, json!({"text": "tereu"}));
    let outcome = play(host, &call, Arc::new(Asker::yes())).await;
    let result = outcome.map_err(|e| e.to_string())?.result;
    result.map(|it| it.text).map_err(|e| e.to_string())
}

fn names(host: &Host) -> Vec<String> {
    host.joined().into_iter().map(|tool| tool.name).collect()
}

/// Whatever a server says of its tools, and whatever was answered about them.
#[tokio::test(flavor = "multi_thread")]
async fn in_plan_mode_no_server_is_started_or_called() {
    let sandbox = Sandbox::new();
    let mode = ModeSwitch::default();
    let host = host_in(&sandbox, &["good", "dead"], &mode, |_| {});
    let good = json!({ "server": "good" });
    load(&host, good).await.expect("a connection");
    assert!(use_tool(&host, "good__echo").await.is_ok());
    host.permissions()
        .set_tool_mode("good__echo", ToolMode::Always);
    let call = call("good__echo", json!({ "text": "tereu" }));
    let before = host.prepare(&call).await.expect("a plan");
    assert_eq!(before.status, PlanStatus::Allowed);
    let heard = || std::fs::read_to_string(heard_file(&sandbox, "good")).unwrap_or_default();
    let until_now = heard();
    mode.set(SessionMode::Plan);
    // What was planned before does not run any more.
    let asker = Arc::new(Asker::yes());
    let outcome = host.run(&call, &before, asker.clone(), Arc::new(NoProgress));
    let refused = outcome.await.result.expect_err("a refusal");
    assert!(matches!(refused, Failure::Denied { .. }), "{refused}");
    let why = use_tool(&host, "good__echo").await.expect_err("a refusal");
    assert!(why.starts_with("Permission denied: Call 'echo'"), "{why}");
    let dead = json!({ "server": "dead" });
    let why = load(&host, dead).await.expect_err("a refusal");
    assert!(why.starts_with("Permission denied: "), "{why}");
    assert!(asker.questions().is_empty());
    assert_eq!(heard(), until_now);
    assert!(!heard_file(&sandbox, "dead").exists());
    let audit = sandbox.audit();
    let rule = "mode plan: nothing is changed";
    assert!(audit.iter().any(|line| line["rule"] == rule), "{audit:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn tools_join_when_they_are_wanted() {
    let sandbox = Sandbox::new();
    let host = host(&sandbox, &["good", "pages", "dead"]);
    let (tools, _) = host.tools().await;
    let loader = tools.iter().find(|tool| tool.name == "mcp_loader");
    let loader = loader.expect("the loader");
    assert!(
        loader
            .description
            .ends_with("- good: Is good.\n- pages: Is pages.\n- dead: Is dead.")
    );
    assert_eq!(names(&host), Vec::<String>::new());
    assert!(
        !heard_file(&sandbox, "good").exists(),
        "nothing starts early"
    );

    let told = load(&host, json!({})).await.expect("two of three");
    assert!(
        told.contains("Its tool can be called now: good__echo."),
        "{told}"
    );
    assert!(told.contains("pages__first, pages__last"), "{told}");
    assert!(told.contains("It says about its use: Be gentle."), "{told}");
    assert!(
        told.contains(
            "dead is not available: it has ended; its last words: cannot \\u{1b}[31mopen"
        ),
        "{told}"
    );
    assert_eq!(names(&host), ["good__echo", "pages__first", "pages__last"]);
    assert_eq!(use_tool(&host, "good__echo").await, Ok("tereu".to_owned()));
    let told = load(&host, json!({"server": "good"})).await;
    assert_eq!(
        told,
        Ok("good is connected already: good__echo.".to_owned())
    );
    assert_alive(&host).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_is_started_when_it_was_granted() {
    let sandbox = Sandbox::new();
    let host = host(&sandbox, &["good"]);
    let wanted = call("mcp_loader", json!({"server": "good"}));
    let plan = host.prepare(&wanted).await.expect("a plan");
    assert!(
        plan.question
            .starts_with("Start the MCP server 'good'? It runs without a sandbox, with access to all that you have access to: OWN=… /")
    );
    assert!(plan.question.contains("served good "), "{}", plan.question);
    let denied = play(&host, &wanted, Arc::new(Asker::no())).await;
    assert!(matches!(denied, Err(Failure::Denied { .. })), "{denied:?}");
    assert!(!heard_file(&sandbox, "good").exists());
    host.cancelled(&wanted);

    let outcome = play(&host, &wanted, Arc::new(Asker::yes())).await;
    outcome.expect("allowed").result.expect("connected");
    let again = super::servers::host(&sandbox, &["good"]);
    let plan = again.prepare(&wanted).await.expect("a plan");
    assert!(matches!(plan.status, PlanStatus::Ask { .. }), "{plan:?}");
}

/// What its words come to run can be changed in more ways than a list can name.
#[tokio::test(flavor = "multi_thread")]
async fn each_start_outside_of_the_sandbox_is_asked_about() {
    let sandbox = Sandbox::new();
    let wanted = call("mcp_loader", json!({"server": "good"}));
    let host = host(&sandbox, &["good"]);
    let always = dunlin_host::permission::ToolMode::Always;
    host.permissions().set_tool_mode("mcp_loader", always);
    let plan = host.prepare(&wanted).await.expect("a plan");
    let PlanStatus::Ask {
        longest, notices, ..
    } = &plan.status
    else {
        panic!("{plan:?}");
    };
    assert_eq!((*longest, notices.len()), (Scope::Once, 0));
    assert_eq!(host.permissions().ways_to_allow(&plan.needs), []);
    let in_project = host_with(&sandbox, &["good"], |server| {
        if let ServerAt::Program(program) = &mut server.at {
            program.folder = sandbox.project();
        }
    });
    let plan = in_project.prepare(&wanted).await.expect("a plan");
    let PlanStatus::Ask { notices, .. } = &plan.status else {
        panic!("{plan:?}");
    };
    let folder = sandbox.project();
    let said = format!(
        "good starts in {}, where commands and edits can change what it runs.",
        folder.display()
    );
    assert_eq!(notices[..], [said]);
    // Who writes it down means it.
    let Some(Target::Command(command)) = plan.needs.first().map(|need| &need.target) else {
        panic!("{plan:?}");
    };
    in_project
        .permissions()
        .set(&command.key.to_string(), "??x")
        .expect("stored");
    let plan = in_project.prepare(&wanted).await.expect("a plan");
    assert_eq!(plan.status, PlanStatus::Allowed);
}

/// A link in a folder of the search path, where no command can write, leads into the project.
#[tokio::test(flavor = "multi_thread")]
async fn a_program_that_commands_can_change_is_not_found() {
    let sandbox = Sandbox::new();
    let bin = sandbox.root().join("bin");
    std::fs::create_dir(&bin).expect("a folder");
    let real = sandbox.project().join("srv");
    std::fs::copy(env!("CARGO_BIN_EXE_served"), &real).expect("a program");
    std::os::unix::fs::symlink(&real, bin.join("srv")).expect("a link");
    let host = host_with(&sandbox, &["good"], |server| {
        if let ServerAt::Program(program) = &mut server.at {
            program.search_path = vec![bin.clone()];
            "srv".clone_into(&mut program.command);
        }
    });
    let wanted = call("mcp_loader", json!({"server": "good"}));
    let refused = play(&host, &wanted, Arc::new(Asker::no())).await;
    let refused = refused.expect("allowed").result.unwrap_err().to_string();
    assert!(
        refused.contains("commands can change the file"),
        "{refused}"
    );
    assert!(!heard_file(&sandbox, "good").exists());
}

/// A program that appears after its server was decided about.
#[tokio::test(flavor = "multi_thread")]
async fn a_program_that_was_not_there_is_not_started() {
    for in_sandbox in [false, true] {
        let sandbox = Sandbox::new();
        let host = host_with(&sandbox, &["good"], |server| {
            if let ServerAt::Program(program) = &mut server.at {
                program.sandbox = in_sandbox;
                program.folder = sandbox.project();
                "./srv".clone_into(&mut program.command);
            }
        });
        let wanted = call("mcp_loader", json!({"server": "good"}));
        let plan = host.prepare(&wanted).await.expect("a plan");
        assert_eq!(
            (&plan.status, &plan.needs[..]),
            (&PlanStatus::Allowed, &[][..])
        );
        let missing = play(&host, &wanted, Arc::new(Asker::no())).await;
        let missing = missing.expect("allowed").result.unwrap_err().to_string();
        let expected = "cannot be started: there is no program \"./srv\"";
        assert!(missing.contains(expected), "{missing}");
        let calls = || {
            let lines = sandbox.audit().into_iter();
            lines.filter(|line| line["event"] == "used").count()
        };
        assert_eq!(calls(), 0, "it was not used");

        // It is made between the check and the start.
        let plan = host.prepare(&wanted).await.expect("a plan");
        assert_eq!(plan.status, PlanStatus::Allowed);
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_served"), sandbox.project().join("srv"))
            .expect("a link");
        let result = host
            .run(&wanted, &plan, Arc::new(Asker::yes()), Arc::new(NoProgress))
            .await
            .result;
        let refused = result.unwrap_err().to_string();
        assert!(refused.contains("permission denied"), "{refused}");
        assert_eq!(calls(), 0);
        assert!(!heard_file(&sandbox, "good").exists());
        // From now on it is asked about.
        let plan = host.prepare(&wanted).await.expect("a plan");
        assert!(matches!(plan.status, PlanStatus::Ask { .. }), "{plan:?}");
    }
}

/// Many variables decide what runs.
#[tokio::test(flavor = "multi_thread")]
async fn with_other_variables_it_is_another_start() {
    for in_sandbox in [false, true] {
        let sandbox = Sandbox::new();
        let host = |name: &str, value: &str| {
            host_with(&sandbox, &["good"], |server| {
                if let ServerAt::Program(program) = &mut server.at {
                    program.sandbox = in_sandbox;
                    program.folder = sandbox.project();
                    let variables = &mut program.own_variables;
                    variables.retain(|(existing, _)| existing != name);
                    variables.push((name.to_owned(), value.to_owned()));
                }
            })
        };
        let wanted = call("mcp_loader", json!({"server": "good"}));
        let first = host("OWN", "1");
        let plan = first.prepare(&wanted).await.expect("a plan");
        let Some(Target::Command(command)) = plan.needs.first().map(|need| &need.target) else {
            panic!("{plan:?}");
        };
        let key = command.key.to_string();
        first.permissions().set(&key, "??x").expect("stored");
        let plan = first.prepare(&wanted).await.expect("a plan");
        assert_eq!(plan.status, PlanStatus::Allowed, "{key}");
        for (name, value) in [("OWN", "2"), ("BASH_ENV", "evil.sh")] {
            let plan = host(name, value).prepare(&wanted).await.expect("a plan");
            let asks = matches!(plan.status, PlanStatus::Ask { .. });
            assert!(asks, "{name}, sandbox {in_sandbox}: {plan:?}");
        }
        // A command that sets the digest itself as the value is another one, too.
        let permissions = first.permissions();
        let (prefix, words) = key.split_once(' ').expect("a key");
        let typed = permissions.explain_command(words).expect("a command");
        assert_ne!(typed.execute.verdict, Verdict::Allow, "{words}");
        // A yes to the line without variables was none to them.
        let own = |word: &&str| *word != "/usr/bin/env" && !word.starts_with("OWN=");
        let line: Vec<&str> = words.split(' ').filter(own).collect();
        let prefix = if in_sandbox { "=" } else { prefix };
        let line = format!("{prefix} {}", line.join(" "));
        permissions.set(&key, "???").expect("taken back");
        permissions.set(&line, "??x").expect("stored");
        let plan = first.prepare(&wanted).await.expect("a plan");
        assert!(
            matches!(plan.status, PlanStatus::Ask { .. }),
            "{line}: {plan:?}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_yes_to_one_server_is_none_to_another_of_the_same_program() {
    let sandbox = Sandbox::new();
    let host = host(&sandbox, &["good", "pages"]);
    let wanted = call("mcp_loader", json!({"server": "good"}));
    let always = Answer {
        allow: true,
        scope: Scope::Always,
    };
    let outcome = play(&host, &wanted, Arc::new(Asker::new(always))).await;
    outcome.expect("allowed").result.expect("connected");
    let other = call("mcp_loader", json!({"server": "pages"}));
    let plan = host.prepare(&other).await.expect("a plan");
    assert!(
        matches!(plan.status, PlanStatus::Ask { .. }),
        "{:?}",
        plan.status
    );
    // What is off is off for this tool, too.
    let never = dunlin_host::permission::ToolMode::Never;
    host.permissions().set_tool_mode("mcp_loader", never);
    let plan = host.prepare(&other).await.expect("a plan");
    assert!(
        matches!(plan.status, PlanStatus::Denied { .. }),
        "{:?}",
        plan.status
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn servers_that_lie_break_nothing() {
    for (behaviour, tools) in [
        ("greeting", &["greeting__echo"][..]),
        ("wrong_ids", &["wrong-ids__echo"]),
        ("huge_schema", &["huge-schema__echo"]),
        ("escapes", &["escapes____0_x_tool"]),
        ("double", &["double__echo", "double__echo_"]),
    ] {
        let sandbox = Sandbox::new();
        let host = host(&sandbox, &[behaviour]);
        let told = load(&host, json!({})).await;
        let told = told.unwrap_or_else(|why| panic!("{behaviour}: {why}"));
        assert!(
            !told.contains(['\u{1b}', '\u{202e}']),
            "{behaviour}: {told}"
        );
        let found = names(&host);
        assert_eq!(found.len(), tools.len(), "{behaviour}: {found:?}");
        for (found, tool) in found.iter().zip(tools) {
            assert!(found.starts_with(tool.trim_end_matches("_tool")), "{found}");
        }
        let said = use_tool(&host, &found[0]).await;
        assert!(said.is_ok(), "{behaviour}: {said:?}");
        assert_alive(&host).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn servers_that_cannot_be_used_say_why() {
    for (behaviour, said) in [
        ("refusing", "refused: the licence has run out\\u{1b}[2J"),
        ("endless_line", "sent a line longer than 4 MiB"),
        ("many", "cannot be understood: it offers more than 128"),
        (
            "endless_pages",
            "cannot be understood: its list has more than 100 pages",
        ),
        ("silent", "did not answer within 1 s"),
    ] {
        let sandbox = Sandbox::new();
        let host = host_with(&sandbox, &[behaviour], |server| {
            if server.name == "silent" {
                server.timeout = Duration::from_secs(1);
            }
        });
        let why = load(&host, json!({})).await.expect_err("no connection");
        assert!(why.contains(said), "{behaviour}: {why}");
        assert_eq!(names(&host), Vec::<String>::new());
        assert_alive(&host).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_tools_give() {
    for (behaviour, expected) in [
        ("failing", Err("no\\u{1b}[2J luck")),
        ("escapes", Ok("\u{1b}[2Jdone")),
        ("flood", Ok("tereu")),
        ("progress", Ok("tereu")),
        (
            "large",
            Err("echo returned 3145728 bytes; at most 1048576 are allowed"),
        ),
        ("dies", Err("has ended; its last words: out of memory")),
    ] {
        let sandbox = Sandbox::new();
        let host = host(&sandbox, &[behaviour]);
        load(&host, json!({})).await.expect("a connection");
        let tool = names(&host).remove(0);
        match (use_tool(&host, &tool).await, expected) {
            (Ok(text), Ok(expected)) => assert_eq!(text, expected, "{behaviour}"),
            (Err(why), Err(expected)) => assert!(why.contains(expected), "{behaviour}: {why}"),
            (found, _) => panic!("{behaviour}: {found:?}"),
        }
        assert_alive(&host).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_can_be_read_and_what_was_prepared() {
    let sandbox = Sandbox::new();
    let host = host(&sandbox, &["library"]);
    load(&host, json!({})).await.expect("a connection");
    assert_eq!(
        names(&host),
        ["library__list_resources", "library__read_resource"]
    );
    assert_eq!(
        use_tool(&host, "library__list_resources").await,
        Err("the arguments of library__list_resources do not fit: Additional properties are not allowed ('text' was \
             unexpected)"
            .to_owned())
    );
    let read = |arguments: Value, tool: &'static str| {
        let call = call(tool, arguments);
        let host = host.clone();
        async move {
            let outcome = play(&host, &call, Arc::new(Asker::yes())).await;
            outcome.expect("allowed").result.expect("a result").text
        }
    };
    assert_eq!(
        read(json!({}), "library__list_resources").await,
        "bird://sandpiper  sandpiper"
    );
    assert_eq!(
        read(json!({"uri": "bird://sandpiper"}), "library__read_resource").await,
        "It lives in the sand."
    );
    let (prompts, failed) = host.prompts().await;
    assert_eq!((prompts.len(), failed.len()), (1, 0));
    assert_eq!(prompts[0].arguments, [("bird".to_owned(), true)]);
    let arguments = vec![("bird".to_owned(), "dunlin".to_owned())];
    let text = host.prompt("library", "describe", arguments).await;
    assert_eq!(text.unwrap(), "Describe the dunlin.");
}

#[tokio::test(flavor = "multi_thread")]
async fn pictures_are_blobs() {
    let sandbox = Sandbox::new();
    let host = host(&sandbox, &["picture"]);
    load(&host, json!({})).await.expect("a connection");
    let call = call("picture__echo", json!({}));
    let outcome = play(&host, &call, Arc::new(Asker::yes())).await;
    let success = outcome.expect("allowed").result.expect("a result");
    assert_eq!(success.blobs, [("image/png".to_owned(), vec![0, 1, 2])]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_gets_what_was_configured_and_no_more() {
    let sandbox = Sandbox::new();
    let host = host(&sandbox, &["environment"]);
    load(&host, json!({})).await.expect("a connection");
    let names = use_tool(&host, "environment__echo").await;
    assert_eq!(names, Ok("OWN PATH".to_owned()));
}
