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

const AGENT: &str = "[agents.a]\nbase_url = \"http://127.0.0.1:1/v1\"\nmodel = \"m\"\n";

#[test]
fn errors_name_the_line_and_the_way_out() {
    let check = |text: &str, expected: &str| assert_eq!(error_of(text), expected, "{text}");
    check("", "valid");
    check(AGENT, "valid");
    check(
        "default_agent = \"a\"\n[limits]\nmax_tool_round = 3",
        "config.toml:3: unknown key \"max_tool_round\" in [limits] | the nearest known key is \"max_tool_rounds\"",
    );
    check(
        "[agents.a]\nzzz = 1",
        "config.toml:2: unknown key \"zzz\" in [agents.a] | known keys in [agents.a]: kind, description, \
         subagent, api, base_url, model, api_key, key_over_http, temperature, max_tokens, context_window, known_as, top_p, reasoning_effort, system_prompt, instructions, tools, files, endpoint",
    );
    check("[mcp.servers.x]\ncommand = \"npx\"", "valid");
    check(
        "[mcp.servers.x]\ncommand = \"npx\"\narg = []",
        "config.toml:3: unknown key \"arg\" in [mcp.servers.x] | the nearest known key is \"args\"",
    );
    check(
        "[mcp.servers.x__y]\ncommand = \"npx\"",
        "config.toml:1: [mcp.servers.x__y]: the name of a server has no __ in it and no _ at its ends: \
         its tools are called NAME__TOOL",
    );
    check(
        "[mcp.servers.x]\nurl = \"https://h/mcp\"\napi_key = \"k\"",
        "config.toml:3: [mcp.servers.x]: api_key names no [keys.k]",
    );
    check("[keys.k]\nkeyring = \"x\"", "valid");
    check(
        "[keys.k]\nkeyring = \"x\"\nenv = \"X\"",
        "config.toml:1: [keys.k] needs one of env, file and keyring",
    );
    check(
        "[agents.a]\nkind = \"bot\"",
        "config.toml:2: kind must be `chat` or `app`, not `bot`",
    );
    check(
        "[agents.a]\nmodel = \"m\"\nkind = \"app\"\ntools = []",
        "config.toml:1: [agents.a]: an agent with kind = \"app\" has no tools: remove `tools` or `kind`",
    );
    let app_as_subagent = "config.toml:1: [agents.a]: an agent with kind = \"app\" cannot be a subagent: \
                           remove `subagent` or `kind`";
    check(
        "[agents.a]\nmodel = \"m\"\nkind = \"app\"\nsubagent = true\ndescription = \"x\"",
        app_as_subagent,
    );
    check(
        "[agents.a]\nmodel = \"m\"\nkind = \"app\"\nsubagent = false",
        "valid",
    );
    for description in ["", "description = \" \"\n"] {
        check(
            &format!("[agents.a]\nmodel = \"m\"\n{description}subagent = true"),
            &format!(
                "config.toml:{}: [agents.a]: subagent = true needs `description`: a model chooses the agent by \
                 what it is for",
                3 + description.lines().count()
            ),
        );
    }
    check(
        "[agents.a]\nmodel = \"m\"\nsubagent = true\ndescription = \"x\"",
        "valid",
    );
    check(
        "[limits]\nmax_tool_rounds = 0",
        "config.toml:2: max_tool_rounds must be at least 1",
    );
    check(
        "[limits]\nmax_history_tokens = 0",
        "config.toml:2: max_history_tokens must be at least 1",
    );
    check(
        "[limits]\nmax_history_lines = 0",
        "config.toml:2: max_history_lines must be at least 1",
    );
    check(
        "[limits]\ncondense_at = 0.8",
        "config.toml:2: unknown key \"condense_at\" in [limits] | it is called \"compact_at\" now",
    );
    check(
        "[limits]\ncompact_at = 80.0",
        "config.toml:2: compact_at must be from 0 to 1",
    );
    check(
        "[limits]\nmax_retries = -1",
        "config.toml:2: max_retries must be at least 0",
    );
    check(
        "[limits]\nrequest_timeout_secs = 86401",
        "config.toml:2: request_timeout_secs must be at most 86400",
    );
    check(
        "[mcp.servers.x]\ncommand = \"a\"\ntimeout_secs = 0",
        "config.toml:3: timeout_secs must be at least 1",
    );
    check(
        "[request_editor]\nmetadata = [\n  \"session\",\n  \"modle\",\n]",
        "config.toml:4: metadata must be one of `session`, `request`, `agent`, `model`, `endpoint`, `mode`, `edited`, \
         `budget`, not `modle` | the nearest known value is \"model\"",
    );
    check(
        "[request_editor]\nmetadata = [\"mode\", \"mode\"]",
        "config.toml:2: metadata has the field mode twice",
    );
    let modes = "mode must be one of `off`, `next`, `turn`, `every`, `auto`, not";
    for (value, found) in [("\"always\"", "`always`"), ("true", "true")] {
        check(
            &format!("[request_editor]\nmode = {value}"),
            &format!("config.toml:2: {modes} {found}"),
        );
    }
    check(
        "[keys.k]\n",
        "config.toml:1: [keys.k] needs one of env, file and keyring",
    );
    check(
        "on_denial = \"go\"",
        "config.toml:1: on_denial must be `stop` or `continue`, not `go`",
    );
    check(
        "[agents.a]\nbase_url = \"http://127.0.0.1:1/v1\"",
        "config.toml:1: missing field `model`",
    );
}

#[test]
fn errors_of_lists_of_tables_name_the_right_key() {
    let check = |text: &str, expected: &str| assert_eq!(error_of(text), expected, "{text}");
    let hook = "[[hook]]\nevent = \"turn-end\"\ncommand = \"a\"\n";
    check(hook, "valid");
    check(
        "[hook]\nevent = \"turn-end\"\ncommand = \"a\"",
        "config.toml:1: hook must be a list, not a table | write [[hook]]: each begins one more entry of a list",
    );
    check(
        &format!("{hook}[[hook]]\nevents = \"turn-end\""),
        "config.toml:5: unknown key \"events\" in [[hook]] | the nearest known key is \"event\"",
    );
    for (wrong, near) in [
        ("cmd", "command"),
        ("timeout", "timeout_secs"),
        ("tool", "tools"),
    ] {
        check(
            &format!("{hook}{wrong} = 1"),
            &format!(
                "config.toml:4: unknown key {wrong:?} in [[hook]] | the nearest known key is {near:?}"
            ),
        );
    }
    check(
        &format!("{hook}when = 1"),
        "config.toml:4: unknown key \"when\" in [[hook]] | known keys in [[hook]]: event, command, tools, timeout_secs",
    );
    check(
        "[[hook]]\ncommand = \"a\"",
        "config.toml:1: [[hook]]: event is missing",
    );
    check(
        "[[hooks.before_call]]\ncommand = \"a\"",
        "config.toml:1: unknown key \"hooks\" | the nearest known key is \"hook\"",
    );
    check(
        "[[hook]]\nevent = \"before-cal\"\ncommand = \"a\"",
        "config.toml:2: event must be one of `before-call`, `after-edit`, `turn-end`, not `before-cal` | the nearest \
         known value is \"before-call\"",
    );
    check(
        &format!("{hook}tools = {{}}"),
        "config.toml:4: tools must be a list, not a table",
    );
    // What stands there may be the key itself, and errors are passed on.
    check(
        "[keys]\nservice = \"sk-abcdef\"",
        "config.toml:2: service must be a table, not a text",
    );
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
    let check = |line: &str, expected: &str| {
        let error = error_of(&format!("[keys.openai]\nenv = \"K\"\n{AGENT}{line}\n"));
        assert_eq!(error, format!("config.toml:6: {expected}"), "{line}");
    };
    check("temperature = 2.5", "temperature must be from 0 to 2");
    check("top_p = -1.0", "top_p must be from 0 to 1");
    check("max_tokens = 0", "max_tokens must be at least 1");
    check("max_tokens = -5", "max_tokens must be at least 1");
    check(
        "max_tokens = 1.5",
        "max_tokens must be a whole number, not 1.5",
    );
    check(
        "context_window = true",
        "context_window must be a whole number, not true",
    );
    let named = "[agents.a]: api_key names no ";
    check(
        "api_key = \"openia\"",
        &format!("{named}[keys.openia]; the nearest is [keys.openai]"),
    );
    check("api_key = \"zz\"", &format!("{named}[keys.zz]"));
}

#[test]
fn a_key_in_place_of_its_name_is_not_repeated() {
    for (begin, key) in [
        ("api_key", "sk-1234"),
        ("api_key", "0123456789abcdef0123456789"),
        ("[keys.mine]\nenv", "sk-1234"),
        ("[keys.mine]\nkeyring", "sk_1234"),
    ] {
        let error = error_of(&format!("{AGENT}{begin} = {key:?}\n"));
        assert!(!error.contains(key), "{error}");
        assert!(error.contains("this looks like the key itself"), "{error}");
        assert!(error.contains("dunlin config key set "), "{error}");
    }
}

#[test]
fn the_base_url_is_checked() {
    let check = |url: &str, expected: &str| {
        let error = error_of(&format!("[agents.a]\nmodel = \"m\"\nbase_url = {url:?}"));
        assert_eq!(
            error,
            format!("config.toml:1: [agents.a]: {expected}"),
            "{url}"
        );
    };
    check(
        "ftp://host/v1",
        "base_url must start with http:// or https://, not \"ftp\"",
    );
    check(
        "http://me:pw@host/v1",
        "base_url must hold no user name and no password; use api_key",
    );
    check(
        "localhost:8080/v1",
        "base_url must start with http:// or https://, not \"localhost\"",
    );
    let error = error_of("[agents.a]\nbase_url = \"127.0.0.1:8080\"");
    let said = "config.toml:2: base_url must start with http:// or https://";
    assert_eq!(error, said);
    check(
        "http://host/v1?key=1",
        "base_url must end with its path, without ? and #",
    );
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
