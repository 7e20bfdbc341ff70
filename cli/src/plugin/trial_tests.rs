use super::super::manifest::Manifest;
use super::*;

/// What a test comes to, made with the guest that fetches.
fn tried(test: &str) -> Option<(String, String)> {
    let miss = tested("fetch_otherwise", test).miss;
    miss.map(|miss| (miss.expected, miss.found))
}

/// What a test of a guest comes to.
fn tested(guest: &str, test: &str) -> Tested {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let text = format!("name = \"{guest}\"\nlanguage = \"rust\"\n[[test]]\n{test}");
    fs::write(at("plugin.toml"), text).unwrap();
    let manifest = Manifest::read(folder.path()).unwrap();
    let options = HostOptions {
        project: at("project"),
        is_project: true,
        home: None,
        search_path: Vec::new(),
        permissions_file: at("permissions.json"),
        audit_file: at("audit.jsonl"),
        log_file: at("log.jsonl"),
        cache_dir: at("cache"),
        undo_dir: at("undo"),
        stores_dir: at("stores"),
        protected: Vec::new(),
        session: String::new(),
        mode: dunlin_host::permission::ModeSwitch::default(),
        limits: dunlin_host::Limits::standard(),
        commands: dunlin_host::CommandOptions::none(),
        hooks: Vec::new(),
        web: dunlin_host::WebOptions::system("tests"),
        mcp: dunlin_host::mcp::McpOptions::none(),
        syntax: None,
        app_engine: None,
        embedder: None,
    };
    let guest = dunlin_zoo::guest(guest).unwrap();
    let plugin = Plugin {
        name: manifest.name.clone(),
        digest: dunlin_host::sha256_hex(guest.bytes),
        bytes: guest.bytes.into(),
        built_in: false,
        origin: None,
        description: None,
        tools_digest: None,
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let tested = runtime.block_on(run(options, plugin, &manifest.test[0]));
    tested.unwrap()
}

#[test]
fn json_is_compared_by_what_it_holds() {
    for (expected, found, is) in [
        ("two", "one two three", true),
        (
            r#"{"b": 2, "a": {"c": [1, 2]}}"#,
            r#"{"a":{"c":[1,2.0],"d":0},"b":2}"#,
            true,
        ),
        (r#"{"a": 1}"#, r#"{"a":2}"#, false),
        (r#"{"a": 1}"#, r#"{"b":1}"#, false),
        ("[1]", "[1,2]", false),
        // A number alone is a text.
        ("1.0", "1", false),
        (r#"{"a": 1}"#, "not JSON", false),
    ] {
        assert_eq!(is_in(expected, found), is, "{expected} {found}");
        assert_eq!(shown(expected), expected);
    }
    let shown = shown("{words: 3}");
    assert!(
        shown.starts_with("{words: 3} (as text, because it is not JSON: "),
        "{shown}"
    );
}

#[test]
fn servers_are_played() {
    const CALL: &str = "tool = \"fetch_otherwise\"\n";
    let queried = "arguments = { url = \"https://example.com/a?b=c\" }\n";
    let get = "arguments = { url = \"https://example.com/a\" }\n";
    let post = "arguments = { url = \"https://example.com/a\", body = \"hello\" }\n";
    let web = |answer: &str| format!("web = {{ {answer} }}\n");
    let is_as_expected = |test: &[&str]| assert_eq!(tried(&test.concat()), None, "{test:?}");
    is_as_expected(&[
        CALL,
        get,
        "expect = \"200 https://example.com/a\\nx-rate: 9\\nbirds\"\n",
        &web("\"https://example.com/a\" = { body = \"birds\", headers = { x-rate = \"9\" } }"),
    ]);
    is_as_expected(&[
        CALL,
        queried,
        "expect = \"birds\"\n",
        &web("\"https://example.com/a?b=c\" = { body = \"birds\" }"),
    ]);
    // A server on this machine is played like any other.
    is_as_expected(&[
        CALL,
        "arguments = { url = \"http://127.0.0.1:1/a\" }\n",
        "expect = \"birds\"\n",
        &web("\"http://127.0.0.1:1/a\" = { body = \"birds\" }"),
    ]);
    is_as_expected(&[
        CALL,
        post,
        "expect = \"404\"\n",
        &web("\"POST https://example.com/a\" = { status = 404, sent = \"ell\" }"),
    ]);
    is_as_expected(&[
        CALL,
        get,
        "expect = \"home\"\n",
        &web(
            "\"https://example.com/a\" = { status = 302, headers = { location = \"/b\" } }, \"https://example.com/b\" = { body = \"home\" }",
        ),
    ]);
    // What is not answered for is not asked of anybody.
    is_as_expected(&[
        CALL,
        get,
        "allow = { \"https://example.com/\" = \"rw-\" }\n",
        "fails = \"no answer for GET https://example.com/a: add \\\"https://example.com/a\\\" = \"\n",
        &web("\"https://example.com/b\" = { body = \"home\" }"),
    ]);
    is_as_expected(&[
        CALL,
        post,
        "fails = \"\\\"bye\\\" was to be sent, not \\\"hello\\\"\"\n",
        &web("\"POST https://example.com/a\" = { sent = \"bye\" }"),
    ]);
    // It is allowed no more than what is answered for.
    let other = web("\"https://example.net/b\" = { body = \"home\" }");
    for (declared, answers) in [
        ("", "it answers nothing"),
        (&*other, "it answers GET https://example.net/b"),
    ] {
        let test = [CALL, get, "expect = \"a\"\n", declared].concat();
        let (_, found) = tried(&test).unwrap();
        let unanswered = format!(
            "\nthe test has no answer for GET https://example.com/a: add \"https://example.com/a\" = {{ body = \"…\" }} \
             to its web in plugin.toml; {answers}"
        );
        assert!(found.contains("was denied"), "{found}");
        assert!(found.ends_with(&unanswered), "{found}");
    }
}
#[test]
fn what_differs_from_the_plan_is_said() {
    let check = |guest: &str, arguments: &str, rest: &str, expected: &[&str]| {
        let test = format!("tool = \"{guest}\"\narguments = {{ {arguments} }}\n{rest}");
        let tested = tested(guest, &test);
        assert_eq!(tested.miss, None, "{test}");
        let prefix = format!("call 1, {guest}: ");
        let notes = tested.notes.iter().map(|note| note.strip_prefix(&prefix));
        let expected = expected.iter().copied().map(Some);
        assert_eq!(notes.collect::<Vec<_>>(), expected.collect::<Vec<_>>());
    };
    const ASKED: &str = "or the user is asked in the middle of the call";
    let file = "files = { \"a.txt\" = \"one\\n\", \"README.md\" = \"\" }\nexpect = \"one\"\n";
    let undeclared = format!(
        "run reads 'a.txt', which prepare does not declare: add a need to read it to the plan, {ASKED}"
    );
    check("undeclared", "path = \"a.txt\"", file, &[&undeclared]);
    check("lie_in_prepare", "path = \"a.txt\"", file, &[&undeclared]);
    let file = file.replace("\"one\"\n", "\"\"\n");
    check("lie_in_prepare", "path = \"README.md\"", &file, &[]);

    let web = "expect = \"200\"\nweb = { \"https://a.example/x\" = {}, \"https://a.example/x?q=1\" = {}, \"POST https://a.example/x\" = {} }\n";
    let sends = |arguments: &str, expected: &[&str]| {
        let arguments = format!("url = \"https://a.example/x\", {arguments}");
        check("fetch_otherwise", &arguments, web, expected);
    };
    let exactly = format!("announce exactly this request in prepare, {ASKED}");
    sends("declares = \"get https://a.example/x\"", &[]);
    sends("declares = \"site https://a.example/\"", &[]);
    sends(
        "times = 2",
        &[&format!(
            "run sends GET https://a.example/x, which prepare does not announce: {exactly}"
        )],
    );
    sends(
        "declares = \"get https://a.example/x?q=1\"",
        &[&format!(
            "run sends GET https://a.example/x, where prepare announces GET https://a.example/x?q=1: {exactly}"
        )],
    );
    sends(
        "declares = \"get https://a.example/x accept-language: de\", header = \"user-agent: me\"",
        &[&format!(
            "run sends GET https://a.example/x with other headers than prepare announces (accept-language: none instead \
             of de, user-agent: me instead of none): {exactly}"
        )],
    );
    sends(
        "declares = \"get https://a.example/x\", body = \"hello\"",
        &[&format!(
            "run sends POST https://a.example/x, where prepare announces a GET: add a need to write the address to the \
             plan, {ASKED}"
        )],
    );

    let names = |plan: &str, steps: &str, rest: &str, expected: &[&str]| {
        let arguments = format!("plan = [{plan}], steps = [{steps}]");
        check("names", &arguments, rest, expected);
    };
    names(
        "\"write a.txt x\"",
        "\"write a.txt x\"",
        "expect = \"ok\"",
        &[],
    );
    names(
        "\"write a.txt x\", \"change b.txt\"",
        "",
        "expect = \"\"",
        &[
            "prepare announces a change of 'a.txt', and run does not make it: make it with dunlin:tool/files, or do not \
             announce it",
        ],
    );
}

#[test]
fn a_denied_change_says_how_it_differs() {
    let check = |guest: &str, arguments: &str, expected: &str| {
        let test = format!(
            "tool = \"{guest}\"\narguments = {{ {arguments} }}\nexpect = \"-\"\nfiles = {{ \"a.txt\" = \"one\\n\" }}"
        );
        let found = tested(guest, &test).miss.unwrap().found;
        assert!(found.contains("was denied"), "{found}");
        assert!(found.ends_with(expected), "{found}");
    };
    let diary = "path = \"a.txt\", how = \"append\", text = \"harmful\"";
    check(
        "diary",
        &format!("{diary}, declared = \"harmless\""),
        "\nrun makes another change of 'a.txt' than prepare announces (announced +\"harmless\", made +\"harmful\"): the same \
         text has to come of both, or it is asked about each time",
    );
    check(
        "diary",
        &format!("{diary}, silent = true"),
        "\nrun changes 'a.txt', which prepare does not announce: add exactly this change to the plan, or one that is not \
         known yet, or it is asked about each time",
    );
    check(
        "names",
        "plan = [\"write a.txt x\"], steps = [\"remove a.txt\"]",
        "\nrun makes another change of 'a.txt' than prepare announces (announced +\"x\", made no more): the same text has to \
         come of both, or it is asked about each time",
    );
}
