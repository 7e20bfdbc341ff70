//! `dunlin ask`: one turn for scripts.

use dunlin_tests::{Output, Provider, Response};
use serde_json::{Value, json};

use crate::stage::{environment, read};

/// What a provider that reads a file outside the project and then answers is asked with `arguments`, and with this
/// configuration on top.
fn ask(keys: &str, script: Vec<Response>, arguments: &[&str]) -> (Output, Provider) {
    let provider = Provider::play(script);
    let environment = environment(&provider);
    environment.configure_more(keys, "");
    environment.project_file("a.txt", "text of a");
    environment.outside_file("b.txt", "text of b");
    let output = environment.command(arguments).run();
    (output, provider)
}

fn outside() -> Response {
    read("../outside/b.txt")
}

#[test]
fn the_reply_is_all_there_is_on_stdout() {
    let (output, provider) = ask(
        "",
        vec![Response::reply("Four.")],
        &["ask", "two", "and", "two?"],
    );
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
    let output = environment
        .command(["ask", "summarise"])
        .stdin("a\nb\n")
        .run();
    assert_eq!(output.status, Some(0), "{output}");
    let output = environment.command(["ask"]).stdin("only this\n").run();
    assert_eq!(output.status, Some(0), "{output}");
    let said = provider.requests();
    assert_eq!(said[0].messages()[0]["content"], "summarise\n\na\nb");
    assert_eq!(said[1].messages()[0]["content"], "only this");
    let output = environment.command(["ask"]).stdin(" \n").run();
    assert_eq!(output.status, Some(2), "{output}");
    assert!(
        output
            .stderr
            .starts_with("error: there is no question\nhint: "),
        "{output}"
    );
}

#[test]
fn json_is_one_document() {
    let script = vec![read("a.txt"), Response::reply("It says \u{1b}[2J so.")];
    let (output, _) = ask("", script, &["ask", "--json", "read"]);
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
    let (output, _) = ask("", vec![outside()], &["ask", "--json", "read"]);
    assert_eq!(output.status, Some(3), "{output}");
    let document: Value = serde_json::from_str(&output.stdout).unwrap();
    assert_eq!(document["end"], "denied");
    let question = "Read file '../outside/b.txt'?";
    assert_eq!(document["denials"][0]["question"], question);
    let expected = format!("ERROR: Permission denied: {question}");
    assert_eq!(document["calls"][0]["result"], expected);

    let (output, _) = ask(
        "",
        vec![Response::status(400, "no")],
        &["ask", "--json", "hi"],
    );
    assert_eq!(output.status, Some(4), "{output}");
    let document: Value = serde_json::from_str(&output.stdout).unwrap();
    assert_eq!(document["end"], "failed");
    assert!(
        document["error"]
            .as_str()
            .unwrap()
            .ends_with("answered 400: no")
    );
}

#[test]
fn allow_opens_one_target_for_one_run() {
    let script = || vec![outside(), Response::reply("Read.")];
    for target in ["../outside/b.txt=r", "../outside/=r", "../outside/b.txt=rw"] {
        let (output, provider) = ask("", script(), &["ask", "--allow", target, "read"]);
        assert_eq!(
            (output.status, output.stdout.as_str()),
            (Some(0), "Read.\n"),
            "{target}: {output}"
        );
        assert!(provider.requests()[1].results()[0].contains("text of b"));
    }
    for target in ["../outside/c.txt=r", "../outside/b.txt=w", "../outside=r"] {
        let (output, _) = ask("", vec![outside()], &["ask", "--allow", target, "read"]);
        assert_eq!(output.status, Some(3), "{target}: {output}");
    }
    for target in ["nothing", "a=", "a=q", "=r", "a=rr"] {
        let (output, _) = ask("", vec![], &["ask", "--allow", target, "read"]);
        assert_eq!(output.status, Some(2), "{target}: {output}");
        assert!(output.stderr.contains("--allow"), "{target}: {output}");
    }
    // Without gaps it is no file either.
    for line in ["cat|sort", "cat | sort"] {
        let (output, _) = ask("", vec![], &["ask", "--allow", line, "read"]);
        assert_eq!(output.status, Some(2), "{line}: {output}");
        let hint = format!(
            "hint: --allow-line '{line}' allows exactly this line, --allow cat --allow sort its commands"
        );
        assert!(output.stderr.contains(&hint), "{output}");
    }
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
        let (output, _) = ask("", script, &["ask", "--allow", &allow, "read"]);
        assert_eq!(output.status, Some(status), "{target}: {output}");
    }
}

#[test]
fn with_on_denial_continue_the_model_is_told_and_goes_on() {
    let script = vec![outside(), Response::reply("Then not.")];
    let (output, provider) = ask("on_denial = \"continue\"", script, &["ask", "read"]);
    assert_eq!(
        (output.status, output.stdout.as_str()),
        (Some(3), "Then not.\n"),
        "{output}"
    );
    let request = provider.wait_for_request(1);
    assert_eq!(
        request.results(),
        ["ERROR: Permission denied: Read file '../outside/b.txt'?"]
    );
    let said =
        "denied, with nobody to ask: Read file '../outside/b.txt'?\nhint: dunlin ask --allow ";
    assert!(output.stderr.contains(said), "{output}");
    assert!(
        output
            .stderr
            .contains("/outside/b.txt=r' allows it for one run, dunlin permissions allow read "),
        "{output}"
    );
}

#[test]
fn the_rounds_are_limited() {
    let provider = Provider::always(read("a.txt"));
    let environment = environment(&provider);
    environment.project_file("a.txt", "text");
    environment.configure_more("", "[limits]\nmax_tool_rounds = 3");
    let output = environment.run(["ask", "read"]);
    assert_eq!(output.status, Some(1), "{output}");
    let said = "(stopped after 3 rounds: max_tool_rounds is the limit)";
    assert!(output.stderr.contains(said), "{output}");
    assert_eq!(provider.requests().len(), 3);
}

#[test]
fn a_failed_call_goes_back_to_the_model() {
    let calls = [
        ("read_file", json!({ "file_path": "none.txt" })),
        ("read_fiel", json!({ "file_path": "a.txt" })),
        ("read_file", json!({ "path": "a.txt" })),
        ("read_file", json!({ "file_path": "a.txt" })),
    ];
    let script = vec![Response::calls(calls), Response::reply("Some.")];
    let (output, provider) = ask("", script, &["ask", "read"]);
    assert_eq!(
        (output.status, output.stdout.as_str()),
        (Some(0), "Some.\n"),
        "{output}"
    );
    let request = provider.wait_for_request(1);
    let results = request.results();
    assert!(results[0].starts_with("ERROR: "), "{results:?}");
    assert!(
        results[1].starts_with("ERROR: there is no tool named \"read_fiel\"; similar: read_file"),
        "{results:?}"
    );
    assert!(
        results[2].starts_with("ERROR: the arguments of read_file do not fit"),
        "{results:?}"
    );
    assert!(results[3].contains("text of a"), "{results:?}");
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
        let output = environment.command(["ask", "work"]).guests(&[guest]).run();
        assert_eq!(
            (output.status, output.stdout.as_str()),
            (Some(0), "Done.\n"),
            "{output}"
        );
        let request = provider.wait_for_request(1);
        assert!(request.results()[1].contains("text of a"), "{guest}");
        let line = format!("✗ 1 {guest} · failed");
        assert!(output.stderr.contains(&line), "{guest}: {output}");
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
    let output = environment.run(["ask", "what does a.txt say?"]);
    assert_eq!(
        (output.status, output.stdout.as_str()),
        (Some(0), "Let me look.\nIt says hello.\n"),
        "{output}"
    );
    assert!(
        output.stderr.contains(
            "the model takes no tools: from here on they are described in the system prompt"
        ),
        "{output}"
    );
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
    let denied = |line: &str, hint: &str| {
        let (output, _) = ask("", vec![run(line)], &["ask", "do it"]);
        assert_eq!(output.status, Some(3), "{output}");
        assert!(output.stderr.contains(hint), "{hint:?}: {output}");
    };
    denied(
        "cat a.txt | sort",
        "hint: dunlin ask --allow-line 'cat a.txt | sort' allows it for one run, dunlin permissions allow run '= ",
    );
    denied(
        "touch made.txt",
        "touch made.txt' allows it for one run, dunlin permissions allow run '= ",
    );
    // What looks like letters of a target behind `=` is a part of the line.
    denied(
        "make CC=x",
        "make CC=x' allows it for one run, dunlin permissions allow run '= ",
    );
    // By hand, the leading words would cover more than an answer does.
    denied(
        "git log -1",
        "/git log -1' from now on (exactly this line)\n",
    );
    let allowed = |script: Vec<Response>, flags: [&str; 2]| {
        let provider = Provider::play(script);
        let environment = environment(&provider);
        environment.project_file("a.txt", "text of a");
        let output = environment
            .command(["ask", flags[0], flags[1], "do it"])
            .run();
        assert_eq!(output.status, Some(0), "{flags:?}: {output}");
        // The log names the option.
        let word = match flags[1].contains(' ') {
            true => format!("'{}'", flags[1]),
            false => flags[1].to_owned(),
        };
        let said = format!("(allowed for this run by the option {} {word}", flags[0]);
        let audit = environment.run(["audit"]);
        assert!(audit.stdout.contains(&said), "{said}: {audit}");
    };
    allowed(compound(), ["--allow-line", "cat a.txt | sort"]);
    let make = vec![run("make CC=x"), Response::reply("Made.")];
    allowed(make, ["--allow-line", "make CC=x"]);
    allowed(compound(), ["--allow-tool", "run_terminal_command"]);
    allowed(simple(), ["--allow", "touch made.txt"]);
    allowed(simple(), ["--allow", "touch"]);
    // Another line is not that line.
    let (output, _) = ask(
        "",
        vec![run("cat a.txt | sort -r")],
        &["ask", "--allow-line", "cat a.txt | sort", "do it"],
    );
    assert_eq!(output.status, Some(3), "{output}");
    let (output, _) = ask(
        "",
        Vec::new(),
        &["ask", "--allow-tool", "run_terminl_command", "do it"],
    );
    assert_eq!(output.status, Some(2), "{output}");
    assert!(output.stderr.contains("run_terminal_command"), "{output}");
}

#[test]
fn a_denial_by_a_rule_names_the_rule() {
    let provider = Provider::play([read("a.txt"), Response::reply("Without it.")]);
    let environment = environment(&provider);
    environment.project_file("a.txt", "text");
    let denied = environment.run(["permissions", "deny", "read", "a.txt"]);
    assert_eq!(denied.status, Some(0), "{denied}");
    let output = environment.run(["ask", "read it"]);
    // The model is told, and continues.
    assert_eq!(
        (output.status, output.stdout.as_str()),
        (Some(3), "Without it.\n"),
        "{output}"
    );
    for said in [
        "    denied by: stored under ",
        "    undo: dunlin permissions ask read ",
    ] {
        assert!(output.stderr.contains(said), "{said:?}: {output}");
    }
    // It is said once: below the call where calls are shown, and otherwise by itself.
    assert_eq!(
        output.stderr.matches("dunlin permissions").count(),
        1,
        "{output}"
    );
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
