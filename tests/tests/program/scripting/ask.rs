//! `dunlin ask`: one turn for scripts.

use dunlin_tests::{Output, Provider, Response};
use serde_json::{Value, json};

use crate::stage::{environment, read};

/// How a run ended, as a value and as it is kept in snapshots, and what the provider was asked in it.
struct Run {
    output: Output,
    transcript: String,
    provider: Provider,
    /// The folder of the test.
    root: String,
}

/// Runs the program with `arguments` and this configuration on top, against a provider with this script.
fn ask(keys: &str, script: Vec<Response>, arguments: &[&str]) -> Run {
    let provider = Provider::play(script);
    let environment = environment(&provider);
    environment.configure_more(keys, "");
    environment.project_file("a.txt", "text of a");
    environment.outside_file("b.txt", "text of b");
    Run {
        output: environment.command(arguments).run(),
        // Some machines have git in another folder.
        transcript: environment
            .transcript()
            .replace("/usr/local/bin/git", "/usr/bin/git"),
        root: environment.root().display().to_string(),
        provider,
    }
}

fn outside() -> Response {
    read("../outside/b.txt")
}

#[test]
fn the_reply_is_all_there_is_on_stdout() {
    let reply = vec![Response::reply("Four.")];
    let Run {
        output, provider, ..
    } = ask("", reply, &["ask", "two", "and", "two?"]);
    assert_eq!(output.to_string(), "status: 0\n----- stdout\nFour.\n");
    let request = provider.wait_for_request(0);
    assert_eq!(request.messages()[0]["content"], "two and two?");
    let key = format!("Bearer {}", dunlin_tests::API_KEY);
    assert_eq!(request.header("authorization"), Some(key.as_str()));
}

#[test]
fn what_is_piped_in_is_appended() {
    let provider = Provider::always(Response::reply("Yes."));
    let environment = environment(&provider);
    for (arguments, stdin) in [
        (&["ask", "summarise"][..], "a\nb\n"),
        (&["ask"], "only this\n"),
        (&["ask"], " \n"),
    ] {
        let _ = environment.command(arguments).stdin(stdin).run();
    }
    insta::assert_snapshot!(environment.transcript());
    let said = provider.requests();
    assert_eq!(said[0].messages()[0]["content"], "summarise\n\na\nb");
    assert_eq!(said[1].messages()[0]["content"], "only this");
    assert_eq!(said.len(), 2);
}

#[test]
fn json_is_one_document() {
    let script = vec![read("a.txt"), Response::reply("It says \u{1b}[2J so.")];
    let Run { output, .. } = ask("", script, &["ask", "--json", "read"]);
    assert_eq!(output.status, Some(0), "{output}");
    let document: Value = serde_json::from_str(&output.stdout).unwrap();
    assert_eq!(document["end"], "answered");
    assert_eq!(document["reply"], "It says \u{1b}[2J so.");
    assert_eq!(document["rounds"], 2);
    assert_eq!(document["denials"], json!([]));
    assert_eq!(document["calls"][0]["state"], "completed");
    assert_eq!(
        document["calls"][0]["arguments"],
        json!({ "file_path": "a.txt" })
    );
    assert_eq!(document["usage"]["input_tokens"], 22);
    assert!(!output.stdout.contains('\u{1b}'));
}

#[test]
fn json_says_what_was_denied_and_what_failed() {
    let Run { output, .. } = ask("", vec![outside()], &["ask", "--json", "read"]);
    assert_eq!(output.status, Some(3), "{output}");
    let document: Value = serde_json::from_str(&output.stdout).unwrap();
    assert_eq!(document["end"], "denied");
    let question = "Read file '../outside/b.txt'?";
    assert_eq!(document["denials"][0]["question"], question);
    let expected = format!("ERROR: Permission denied: {question}");
    assert_eq!(document["calls"][0]["result"], expected);

    let refusal = vec![Response::status(400, "no")];
    let Run { output, .. } = ask("", refusal, &["ask", "--json", "hi"]);
    assert_eq!(output.status, Some(4), "{output}");
    let document: Value = serde_json::from_str(&output.stdout).unwrap();
    assert_eq!(document["end"], "failed");
    let error = document["error"].as_str().unwrap();
    insta::assert_snapshot!("an_error_in_json", error);
}

#[test]
fn allow_opens_one_target_for_one_run() {
    let script = || vec![outside(), Response::reply("Read.")];
    let mut transcripts = String::new();
    let mut run = |target: &str, script: Vec<Response>| {
        let run = ask("", script, &["ask", "--allow", target, "read"]);
        transcripts += &run.transcript;
        run.provider
    };
    for target in ["../outside/b.txt=r", "../outside/=r", "../outside/b.txt=rw"] {
        let provider = run(target, script());
        assert!(provider.requests()[1].results()[0].contains("text of b"));
    }
    for target in ["../outside/c.txt=r", "../outside/b.txt=w", "../outside=r"] {
        run(target, vec![outside()]);
    }
    for target in ["nothing", "a=", "a=q", "=r", "a=rr"] {
        run(target, vec![]);
    }
    // Without gaps it is no file either.
    for line in ["cat|sort", "cat | sort"] {
        run(line, vec![]);
    }
    insta::assert_snapshot!(transcripts);
}

#[test]
fn allow_never_opens_dunlins_own_folders() {
    let own = "../home/config/dunlin/config.toml";
    for (target, status) in [(own, 2), ("../home/config/dunlin/", 2), ("/", 3)] {
        let script = match status {
            3 => vec![read(own), Response::reply("I cannot.")],
            _ => vec![],
        };
        let allow = format!("{target}=r");
        let Run { output, .. } = ask("", script, &["ask", "--allow", &allow, "read"]);
        assert_eq!(output.status, Some(status), "{target}: {output}");
    }
}

#[test]
fn with_on_denial_continue_the_model_is_told_and_goes_on() {
    let script = vec![outside(), Response::reply("Then not.")];
    let run = ask("on_denial = \"continue\"", script, &["ask", "read"]);
    insta::assert_snapshot!(run.transcript);
    let request = run.provider.wait_for_request(1);
    assert_eq!(
        request.results(),
        ["ERROR: Permission denied: Read file '../outside/b.txt'?"]
    );
}

#[test]
fn the_rounds_are_limited() {
    let provider = Provider::always(read("a.txt"));
    let environment = environment(&provider);
    environment.project_file("a.txt", "text");
    environment.configure_more("", "[limits]\nmax_tool_rounds = 3");
    let _ = environment.run(["ask", "read"]);
    insta::assert_snapshot!(environment.transcript());
    assert_eq!(provider.requests().len(), 3);
}

#[test]
fn a_failed_call_goes_back_to_the_model() {
    let calls = [
        ("read_file", json!({ "file_path": "none.txt" })),
        ("read_fiel", json!({ "file_path": "a.txt" })),
        ("read_file", json!({ "path": "a.txt" })),
    ];
    let script = vec![
        Response::calls(calls),
        read("a.txt"),
        Response::reply("Some."),
    ];
    let run = ask("", script, &["ask", "read"]);
    let results = [1, 2].map(|request| {
        let request = run.provider.wait_for_request(request);
        request.results().join("\n----- next result\n")
    });
    let results = results.join("\n----- next request\n");
    let results = results.replace(&run.root, "[ROOT]");
    insta::assert_snapshot!(format!("{}\n----- results\n{results}", run.transcript));
}

#[test]
fn a_hostile_tool_fails_alone() {
    for guest in ["trap", "return_100_mb", "allocate_forever"] {
        let calls = [
            (guest, json!({})),
            ("read_file", json!({ "file_path": "a.txt" })),
        ];
        let provider = Provider::play([Response::calls(calls), Response::reply("Done.")]);
        let environment = environment(&provider);
        environment.project_file("a.txt", "text of a");
        let _ = environment.command(["ask", "work"]).guests(&[guest]).run();
        insta::assert_snapshot!(format!("a_hostile_tool_{guest}"), environment.transcript());
        let request = provider.wait_for_request(1);
        assert!(request.results()[1].contains("text of a"), "{guest}");
    }
}

#[test]
fn in_a_terminal_the_user_is_asked() {
    for (answer, status) in [("y", 0), ("n", 3)] {
        let mut script = vec![outside()];
        script.extend((answer == "y").then(|| Response::reply("Read.")));
        let provider = Provider::play(script);
        let environment = environment(&provider);
        environment.outside_file("b.txt", "text of b");
        let mut terminal = environment.terminal(["ask", "read"]);
        terminal.wait_for("allow?");
        terminal.type_line(answer);
        assert_eq!(terminal.wait_end(), Some(status), "{terminal:?}");
        insta::assert_snapshot!(format!("asked_in_a_terminal_{answer}"), terminal.screen());
    }
}

#[test]
fn a_model_without_tools_is_told_of_them_in_words() {
    let refused = json!({ "error": { "message": "this model does not support tools" } });
    let provider = Provider::play([
        Response::json(400, &refused),
        Response::reply(
            "Let me look.\n{\"toolname\": \"read_file\", \"parameters\": {\"file_path\": \"a.txt\"}}",
        ),
        Response::reply("It says hello."),
    ]);
    let environment = environment(&provider);
    environment.project_file("a.txt", "hello");
    let _ = environment.run(["ask", "what does a.txt say?"]);
    insta::assert_snapshot!(environment.transcript());
    let requests = provider.requests();
    assert!(requests[1].tools().is_empty());
    let system = requests[1].messages()[0]["content"]
        .as_str()
        .expect("a prompt");
    assert!(
        system.contains("{\"toolname\": \"NAME\", \"parameters\": {...}}")
            && system.contains("\n\nread_file: "),
        "{system}"
    );
    let told: Vec<(&str, &str)> = requests[2].messages()[1..]
        .iter()
        .filter_map(|it| Some((it["role"].as_str()?, it["content"].as_str()?)))
        .collect();
    assert_eq!(told[1].0, "assistant");
    assert!(
        told[1]
            .1
            .starts_with("Let me look.\n{\"toolname\":\"read_file\""),
        "{told:?}"
    );
    assert_eq!(told[2].0, "user");
    assert!(
        told[2].1.starts_with("Result of read_file:\n") && told[2].1.contains("hello"),
        "{told:?}"
    );
}

/// Everything that the chat can allow, a run can be given; and a denial says what it would take.
#[test]
fn a_run_can_be_given_all_that_the_chat_can_allow() {
    let run = |line: &str| Response::call("run_terminal_command", json!({ "command": line }));
    let compound = || vec![run("cat a.txt | sort"), Response::reply("Sorted.")];
    let simple = || vec![run("touch made.txt"), Response::reply("Made.")];
    let mut transcripts = String::new();
    // What looks like letters of a target behind `=` is a part of the line. By hand, the leading words would cover more than an
    // answer does.
    for line in [
        "cat a.txt | sort",
        "touch made.txt",
        "make CC=x",
        "git log -1",
    ] {
        transcripts += &ask("", vec![run(line)], &["ask", "do it"]).transcript;
    }
    let mut allowed = |script: Vec<Response>, flags: [&str; 2]| {
        let provider = Provider::play(script);
        let environment = environment(&provider);
        environment.project_file("a.txt", "text of a");
        let output = environment.run(["ask", flags[0], flags[1], "do it"]);
        assert_eq!(output.status, Some(0), "{flags:?}: {output}");
        // The log names the option.
        let _ = environment.run(["audit"]);
        transcripts += &environment.transcript();
    };
    allowed(compound(), ["--allow-line", "cat a.txt | sort"]);
    let make = vec![run("make CC=x"), Response::reply("Made.")];
    allowed(make, ["--allow-line", "make CC=x"]);
    allowed(compound(), ["--allow-tool", "run_terminal_command"]);
    allowed(simple(), ["--allow", "touch made.txt"]);
    allowed(simple(), ["--allow", "touch"]);
    // Another line is not that line.
    let arguments = ["ask", "--allow-line", "cat a.txt | sort", "do it"];
    transcripts += &ask("", vec![run("cat a.txt | sort -r")], &arguments).transcript;
    let arguments = ["ask", "--allow-tool", "run_terminl_command", "do it"];
    transcripts += &ask("", Vec::new(), &arguments).transcript;
    insta::assert_snapshot!(transcripts);
}

#[test]
fn a_denial_by_a_rule_names_the_rule() {
    let provider = Provider::play([read("a.txt"), Response::reply("Without it.")]);
    let environment = environment(&provider);
    environment.project_file("a.txt", "text");
    let denied = environment.run(["permissions", "deny", "read", "a.txt"]);
    assert_eq!(denied.status, Some(0), "{denied}");
    // The model is told, and continues.
    let _ = environment.run(["ask", "read it"]);
    insta::assert_snapshot!(environment.transcript());
    // It is said once: below the call where calls are shown, and otherwise by itself.
    let provider = Provider::play([read("a.txt"), read("a.txt"), Response::reply("Without it.")]);
    let environment = self::environment(&provider);
    environment.project_file("a.txt", "text");
    let denied = environment.run(["permissions", "deny", "read", "a.txt"]);
    assert_eq!(denied.status, Some(0), "{denied}");
    let output = environment.run(["ask", "--json", "read it twice"]);
    assert_eq!(
        output
            .stderr
            .matches("denied by a rule (stored under ")
            .count(),
        1,
        "{output}"
    );
    assert_eq!(
        output
            .stderr
            .matches("/a.txt takes the rule back\n")
            .count(),
        1,
        "{output}"
    );
    assert!(!output.stderr.contains("nobody to ask"), "{output}");
}
