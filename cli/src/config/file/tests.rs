use super::*;

/// The error of a file as the user sees it, hint included.
fn error_of(text: &str) -> String {
    match Loaded::parse(Path::new("config.toml"), text, Author::User) {
        Ok(_) => "valid".to_owned(),
        Err(FileError::Invalid {
            hint: Some(hint),
            path,
            line,
            problem,
        }) => {
            format!("{}:{line}: {problem} | {hint}", path.display())
        }
        Err(error) => error.to_string(),
    }
}

/// Each text with its error, as it is kept in a snapshot.
fn errors_of<T: AsRef<str>>(texts: impl IntoIterator<Item = T>) -> String {
    let entry = |text: T| {
        let text = text.as_ref();
        let rows: String = text.lines().map(|row| format!("  {row}\n")).collect();
        format!("{rows}→ {}\n\n", error_of(text))
    };
    texts.into_iter().map(entry).collect()
}

const AGENT: &str = "[agents.a]\nbase_url = \"http://127.0.0.1:1/v1\"\nmodel = \"m\"\n";

#[test]
fn errors_name_the_line_and_the_way_out() {
    insta::assert_snapshot!(errors_of([
        "",
        AGENT,
        "default_agent = \"a\"\n[limits]\nmax_tool_round = 3",
        "[agents.a]\nzzz = 1",
        "[mcp.servers.x]\ncommand = \"npx\"",
        "[mcp.servers.x]\ncommand = \"npx\"\narg = []",
        "[mcp.servers.x__y]\ncommand = \"npx\"",
        "[mcp.servers.x]\nurl = \"https://h/mcp\"\napi_key = \"k\"",
        "[keys.k]\nkeyring = \"x\"",
        "[keys.k]\nkeyring = \"x\"\nenv = \"X\"",
        "[agents.a]\nkind = \"bot\"",
        "[agents.a]\nmodel = \"m\"\nkind = \"app\"\ntools = []",
        "[agents.a]\nmodel = \"m\"\nkind = \"app\"\nsubagent = true\ndescription = \"x\"",
        "[agents.a]\nmodel = \"m\"\nkind = \"app\"\nsubagent = false",
        "[agents.a]\nmodel = \"m\"\nsubagent = true",
        "[agents.a]\nmodel = \"m\"\ndescription = \" \"\nsubagent = true",
        "[agents.a]\nmodel = \"m\"\nsubagent = true\ndescription = \"x\"",
        "[limits]\nmax_tool_rounds = 0",
        "[limits]\nmax_history_tokens = 0",
        "[limits]\nmax_history_lines = 0",
        "[limits]\ncondense_at = 0.8",
        "[limits]\ncompact_at = 80.0",
        "[limits]\nmax_retries = -1",
        "[limits]\nrequest_timeout_secs = 86401",
        "[mcp.servers.x]\ncommand = \"a\"\ntimeout_secs = 0",
        "[request_editor]\nmetadata = [\n  \"session\",\n  \"modle\",\n]",
        "[request_editor]\nmetadata = [\"mode\", \"mode\"]",
        "[request_editor]\nmode = \"always\"",
        "[request_editor]\nmode = true",
        "[keys.k]\n",
        "on_denial = \"go\"",
        "[agents.a]\nbase_url = \"http://127.0.0.1:1/v1\"",
    ]));
}

#[test]
fn errors_of_lists_of_tables_name_the_right_key() {
    let hook = "[[hook]]\nevent = \"turn-end\"\ncommand = \"a\"\n";
    let behind = |row: &str| format!("{hook}{row}");
    insta::assert_snapshot!(errors_of([
        hook.to_owned(),
        "[hook]\nevent = \"turn-end\"\ncommand = \"a\"".to_owned(),
        behind("[[hook]]\nevents = \"turn-end\""),
        behind("cmd = 1"),
        behind("timeout = 1"),
        behind("tool = 1"),
        behind("when = 1"),
        "[[hook]]\ncommand = \"a\"".to_owned(),
        "[[hooks.before_call]]\ncommand = \"a\"".to_owned(),
        "[[hook]]\nevent = \"before-cal\"\ncommand = \"a\"".to_owned(),
        behind("tools = {}"),
        // What stands there may be the key itself, and errors are passed on.
        "[keys]\nservice = \"sk-abcdef\"".to_owned(),
    ]));
}

#[test]
fn an_agent_without_an_address_has_that_of_its_protocol() {
    for (api, expected) in [
        ("", "https://api.openai.com/v1"),
        ("api = \"openai\"\n", "https://api.openai.com/v1"),
        ("api = \"ollama\"\n", "http://127.0.0.1:11434/"),
    ] {
        let text = format!("[agents.a]\n{api}model = \"m\"");
        let loaded = Loaded::parse(Path::new("config.toml"), &text, Author::User).unwrap();
        let patch = loaded.file.agents["a"].get_ref().clone();
        assert_eq!(patch.complete().unwrap().base_url.as_str(), expected);
    }
}

#[test]
fn agents_are_checked() {
    let agent = |row: &str| format!("[keys.openai]\nenv = \"K\"\n{AGENT}{row}\n");
    let rows = [
        "temperature = 2.5",
        "top_p = -1.0",
        "max_tokens = 0",
        "max_tokens = -5",
        "max_tokens = 1.5",
        "context_window = true",
        "api_key = \"openia\"",
        "api_key = \"zz\"",
    ];
    insta::assert_snapshot!(errors_of(rows.map(agent)));
}

#[test]
fn a_key_in_place_of_its_name_is_not_repeated() {
    let mut errors = String::new();
    for (begin, key) in [
        ("api_key", "sk-1234"),
        ("api_key", "0123456789abcdef0123456789"),
        ("[keys.mine]\nenv", "sk-1234"),
        ("[keys.mine]\nkeyring", "sk_1234"),
    ] {
        let error = error_of(&format!("{AGENT}{begin} = {key:?}\n"));
        assert!(!error.contains(key), "{error}");
        errors += &format!("{error}\n");
    }
    insta::assert_snapshot!(errors);
}

#[test]
fn the_base_url_is_checked() {
    let agent = |url: &str| format!("[agents.a]\nmodel = \"m\"\nbase_url = {url:?}");
    let urls = [
        "ftp://host/v1",
        "http://me:pw@host/v1",
        "localhost:8080/v1",
        "127.0.0.1:8080",
        "http://host/v1?key=1",
    ];
    insta::assert_snapshot!(errors_of(urls.map(agent)));
}

/// A file that cannot be read is not an absent one, and the error says what helps.
#[test]
fn a_file_that_cannot_be_read_says_how_it_can() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let hint = |path: &Path| read_text(path).err().and_then(|error| error.hint());
    let folder = root.join(".dunlin");
    let path = folder.join("config.toml");
    assert!(matches!(read_text(&path), Ok(None)));
    std::fs::write(&folder, "").unwrap();
    let said = format!("{} has to be a folder: move it away", folder.display());
    assert_eq!(hint(&path), Some(said));
    std::fs::remove_file(&folder).unwrap();
    std::fs::create_dir(&folder).unwrap();
    std::os::unix::fs::symlink("nowhere", &path).unwrap();
    let said = "it is a link that leads nowhere: correct or remove it";
    assert_eq!(hint(&path).as_deref(), Some(said));
    std::fs::remove_file(&path).unwrap();
    // What root may read all the same.
    let denied = || FileError::Read {
        path: path.clone(),
        source: io::ErrorKind::PermissionDenied.into(),
    };
    let said = format!("chmod u+rx {} opens its folder", folder.display());
    assert_eq!(denied().hint(), Some(said));
    std::fs::write(&path, "").unwrap();
    let said = format!("chmod u+r {} makes it readable", path.display());
    assert_eq!(denied().hint(), Some(said));
}

#[test]
fn a_key_is_sent_unencrypted_only_where_that_is_said() {
    let check = |agent: &str, expected: &str| {
        let text = format!("[keys.k]\nenv = \"K\"\n[agents.a]\nmodel = \"m\"\n{agent}");
        assert_eq!(error_of(&text), expected, "{agent}");
    };
    let refused = "config.toml:5: [agents.a]: api_key would be sent unencrypted; base_url must start with https://, or key_over_http = true allows it";
    let key = "api_key = \"k\"\n";
    for host in [
        "models.lan:8080",
        "192.168.1.5",
        "[fd00::1]",
        "localhost.example.com",
    ] {
        let url = format!("base_url = \"http://{host}/v1\"\n");
        check(&url, "valid");
        check(&format!("{url}{key}"), refused);
        check(&format!("{url}{key}key_over_http = false"), refused);
        check(&format!("{url}{key}key_over_http = true"), "valid");
        check(&format!("{}{key}", url.replace("http:", "https:")), "valid");
    }
    for host in [
        "127.0.0.1:8080",
        "127.8.0.1",
        "[::1]:1",
        "localhost",
        "a.localhost.",
    ] {
        check(&format!("base_url = \"http://{host}/v1\"\n{key}"), "valid");
    }
    check(key, "valid");
}

proptest::proptest! {
    #![proptest_config(proptest::test_runner::Config::with_cases(256))]

    #[test]
    fn no_text_makes_it_panic(text in "[\\[\\]a-z_.=\"'0-9{}, \n]{0,80}") {
        let first = error_of(&text);
        proptest::prop_assert!(!first.is_empty());
    }
}

/// A value of an agent is on its own line, not on that of the table.
#[test]
fn the_line_of_a_key_is_told() {
    let text = "[agents.a]\n# model = 1\nmodel = \"m\"\nbase_url = \"http://127.0.0.1:1/v1\"\n\n[agents.b]\nsystem_prompt = \"x\"\n";
    let loaded = Loaded::parse(Path::new("/c.toml"), text, Author::Project).unwrap();
    let line = |agent: &str, key: &str| loaded.line_of_key(&loaded.file.agents[agent], key);
    assert_eq!(line("a", "model"), 3);
    assert_eq!(line("a", "base_url"), 4);
    assert_eq!(line("b", "system_prompt"), 7);
    // What is not there has the line of the table.
    assert_eq!(line("a", "system_prompt"), 1);
}
