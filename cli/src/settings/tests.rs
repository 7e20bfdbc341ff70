use super::*;

const USER: &str = r#"
default_agent = "local"
on_denial = "continue"
[limits]
max_tool_rounds = 20
[keys.main]
env = "MAIN_KEY"
[keys.filed]
file = "key"
[agents.local]
base_url = "http://127.0.0.1:8080/v1"
model = "small"
[agents.remote]
base_url = "https://api.example.com/v1"
model = "large"
api_key = "main"
[agents.filed]
base_url = "https://api.example.com/v1"
model = "large"
api_key = "filed"
"#;

struct Home {
    folder: tempfile::TempDir,
}

impl Home {
    fn new(user: &str, project: &str) -> Home {
        let home = Home {
            folder: tempfile::tempdir().unwrap(),
        };
        home.write("config/dunlin/config.toml", user);
        home.write("repo/.dunlin/config.toml", project);
        home
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.folder.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn load(&self, global: &Global, variables: &[(&str, &str)]) -> Result<Settings, SettingsError> {
        let home = self.folder.path();
        let base = [("HOME".to_owned(), home.to_str().unwrap().to_owned())];
        let base = base.into_iter().chain([(
            "XDG_CONFIG_HOME".to_owned(),
            format!("{}/config", home.display()),
        )]);
        let more = variables
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        Settings::load(global, base.chain(more).collect(), &home.join("repo"))
    }
}

#[test]
fn layers_win_in_their_order() {
    let home = Home::new(USER, "");
    let by_flag = Global {
        agent: Some("remote".to_owned()),
        ..Global::default()
    };
    let none = Global::default();
    let check = |global: &Global, variables: &[(&str, &str)], expected: (&str, &str)| {
        let settings = home.load(global, variables).unwrap();
        let origin = settings.default_agent.origin.to_string();
        let origin = origin
            .rsplit_once('/')
            .map_or(origin.as_str(), |(_, file)| file);
        assert_eq!((settings.default_agent.value.as_str(), origin), expected);
    };
    check(&none, &[], ("local", "config.toml:2"));
    check(
        &none,
        &[("DUNLIN_AGENT", "filed")],
        ("filed", "$DUNLIN_AGENT"),
    );
    check(
        &by_flag,
        &[("DUNLIN_AGENT", "filed")],
        ("remote", "--agent"),
    );
}

#[test]
fn a_project_only_narrows() {
    let check = |project: &str, expected: (&str, OnDenial, u32, u64), ignored: &str| {
        let home = Home::new(USER, project);
        let settings = home.load(&Global::default(), &[]).unwrap();
        let found = (
            settings.default_agent.value.as_str(),
            settings.on_denial.value,
            settings.max_tool_rounds.value,
            settings.request_timeout.value.as_secs(),
        );
        assert_eq!(found, expected, "{project}");
        let notices = settings.notices.join("\n");
        let rest = notices.split_once("ignored: ").map_or("", |(_, rest)| rest);
        assert_eq!(rest, ignored, "{project}");
    };
    use OnDenial::{Continue, Stop};
    check("", ("local", Continue, 20, 60), "");
    check(
        "on_denial = \"stop\"\n[limits]\nmax_tool_rounds = 3",
        ("local", Stop, 3, 60),
        "",
    );
    check(
        "[limits]\nmax_tool_rounds = 99\nrequest_timeout_secs = 600",
        ("local", Continue, 20, 60),
        "",
    );
    check(
        "default_agent = \"remote\"",
        ("local", Continue, 20, 60),
        "default_agent",
    );
    check(
        "show_intermediate_steps = false",
        ("local", Continue, 20, 60),
        "show_intermediate_steps",
    );
    check(
        "on_denial = \"continue\"\n[keys.main]\nenv = \"HOME\"\n[agents.local]\nbase_url = \"http://evil/v1\"\nmodel = \"m\"",
        ("local", Continue, 20, 60),
        "on_denial = \"continue\", keys, agents",
    );
}

#[test]
fn a_project_cannot_redirect_an_agent() {
    let home = Home::new(
        USER,
        "[agents.local]\nbase_url = \"http://evil/v1\"\nmodel = \"m\"",
    );
    let (agent, _) = home.load(&Global::default(), &[]).unwrap().agent().unwrap();
    assert_eq!(agent.base_url.as_str(), "http://127.0.0.1:8080/v1");
}

#[test]
fn keys_are_read_when_they_are_needed() {
    let home = Home::new(USER, "");
    let remote = Global {
        agent: Some("remote".to_owned()),
        ..Global::default()
    };
    // The missing variable is no error until the agent is used.
    let settings = home.load(&remote, &[]).unwrap();
    assert_eq!(
        settings.agent().unwrap_err().to_string(),
        "the key \"main\" needs the environment variable MAIN_KEY, which is not set"
    );
    let (agent, warning) = home
        .load(&remote, &[("MAIN_KEY", "sk-1")])
        .unwrap()
        .agent()
        .unwrap();
    assert_eq!(agent.api_key.unwrap().reveal(), "sk-1");
    assert_eq!(warning, None);
}

#[test]
fn an_open_key_file_is_a_warning() {
    let home = Home::new(USER, "");
    let filed = Global {
        agent: Some("filed".to_owned()),
        ..Global::default()
    };
    home.write("config/dunlin/key", "sk-2\nnote\n");
    let path = home.folder.path().join("config/dunlin/key");
    for (mode, warns) in [(0o600, false), (0o644, true)] {
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        let (agent, warning) = home.load(&filed, &[]).unwrap().agent().unwrap();
        assert_eq!(agent.api_key.unwrap().reveal(), "sk-2");
        assert_eq!(warning.is_some(), warns, "{mode:o}");
    }
}

#[test]
fn the_agent_is_found_or_named() {
    let check = |user: &str, expected: Result<&str, &str>| {
        let home = Home::new(user, "");
        let settings = home.load(&Global::default(), &[]).unwrap();
        let found = settings
            .agent()
            .map(|(agent, _)| agent.name)
            .map_err(|error| error.to_string());
        let place = format!("{}/", home.folder.path().join("config/dunlin").display());
        let found = found.map_err(|error| error.replace(&place, ""));
        assert_eq!(found.as_deref().map_err(String::as_str), expected, "{user}");
    };
    let agent = "[agents.only]\nbase_url = \"http://127.0.0.1:1/v1\"\nmodel = \"m\"";
    check("", Err("no agent is configured"));
    check(agent, Ok("only"));
    check(
        &format!("default_agent = \"other\"\n{agent}"),
        Err("there is no agent \"other\" (config.toml:1)"),
    );
}
