mod changeable;

use std::os::unix::fs::PermissionsExt;

use super::*;
use crate::config::trust;
use dunlin_chat::turn::OnDenial;

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

pub(super) struct Home {
    pub(super) folder: tempfile::TempDir,
}

impl Home {
    pub(super) fn new(user: &str, project: &str) -> Home {
        let home = Home {
            folder: tempfile::tempdir().unwrap(),
        };
        home.write("config/dunlin/config.toml", user);
        home.write("repo/.dunlin/config.toml", project);
        home
    }

    pub(super) fn write(&self, path: &str, text: &str) {
        let path = self.folder.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    pub(super) fn load(
        &self,
        global: &Global,
        variables: &[(&str, &str)],
    ) -> Result<Settings, SettingsError> {
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
fn an_agent_is_told_what_its_entry_says() {
    let home = Home::new(
        "[agents.plain]\nmodel = \"m\"\n\
         [agents.silent]\nmodel = \"m\"\nsystem_prompt = \"\"\ninstructions = false\n\
         [agents.app]\nkind = \"app\"\nmodel = \"m\"\n",
        "",
    );
    let settings = home.load(&Global::default(), &[]).unwrap();
    let check = |name: &str, prompt: Option<&str>, takes: bool| {
        let (agent, _) = settings.agent_named(name).unwrap();
        assert_eq!(agent.system_prompt.as_deref(), prompt, "{name}");
        assert_eq!(settings.takes_instructions(name), takes, "{name}");
    };
    check("plain", None, true);
    check("silent", Some(""), false);
    check("app", Some(dunlin_apps::PROMPT), false);
    assert!(!settings.takes_instructions("research"));
    assert!(settings.takes_instructions("of a file"));
    home.write(
        "config/dunlin/agents/research.md",
        "---\ndescription: x\n---\nx\n",
    );
    let settings = home.load(&Global::default(), &[]).unwrap();
    assert!(settings.takes_instructions("research"));

    let app = "[agents.a]\nkind = \"app\"\nmodel = \"m\"\ninstructions = true\n";
    let error = Home::new(app, "")
        .load(&Global::default(), &[])
        .unwrap_err();
    let error = dunlin_host::display::chain(&error);
    assert!(error.contains("reads no instruction files"), "{error}");
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
        let origin = settings.general.default_agent.origin.to_string();
        let origin = origin
            .rsplit_once('/')
            .map_or(origin.as_str(), |(_, file)| file);
        assert_eq!(
            (settings.general.default_agent.value.as_str(), origin),
            expected
        );
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
    let check = |project: &str, expected: (&str, OnDenial, u64, u64), ignored: &str| {
        let home = Home::new(USER, project);
        let settings = home.load(&Global::default(), &[]).unwrap();
        let found = (
            settings.general.default_agent.value.as_str(),
            settings.general.on_denial.value,
            settings.limits.max_tool_rounds.value.get(),
            settings
                .limits
                .request_timeout_secs
                .value
                .duration()
                .as_secs(),
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
        "limits.max_tool_rounds, limits.request_timeout_secs",
    );
    check(
        "[limits]\nmax_history_tokens = 200000\nmax_history_lines = 50001\ncompact_at = 0.5",
        ("local", Continue, 20, 60),
        "limits.max_history_tokens, limits.max_history_lines, limits.compact_at",
    );
    check(
        "default_agent = \"remote\"",
        ("local", Continue, 20, 60),
        "default_agent",
    );
    for (key, value) in [
        ("mode", "\"every\""),
        ("preview_limit", "1"),
        ("metadata", "[]"),
    ] {
        let project = format!("[request_editor]\n{key} = {value}");
        let ignored = format!("request_editor.{key}");
        check(&project, ("local", Continue, 20, 60), &ignored);
    }
    check(
        "show_intermediate_steps = false",
        ("local", Continue, 20, 60),
        "show_intermediate_steps",
    );
    check(
        "on_denial = \"continue\"\n[keys.main]\nenv = \"HOME\"\n[agents.local]\nbase_url = \"http://evil/v1\"\nmodel = \"m\"",
        ("local", Continue, 20, 60),
        "on_denial, agents.local.base_url, agents.local.model, keys",
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
    // The missing variable is not an error until the agent is used.
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
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
    let folder = path.parent().unwrap();
    for (mode, warns) in [(0o700, false), (0o755, false), (0o775, true), (0o707, true)] {
        std::fs::set_permissions(folder, std::fs::Permissions::from_mode(mode)).unwrap();
        let (_, warning) = home.load(&filed, &[]).unwrap().agent().unwrap();
        let said = warning.is_some_and(|it| it.contains("others may replace the key file"));
        assert_eq!(said, warns, "{mode:o}");
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

#[test]
fn what_a_model_is_known_as_says_nothing_of_another() {
    let user = "[agents.a]\nbase_url = \"http://127.0.0.1:1/v1\"\nmodel = \"m\"\nknown_as = \"openai/gpt-4o\"\n";
    let known = |settings: &Settings| {
        let (agent, _) = settings.agent().unwrap();
        settings.known_of(&agent).map(|entry| entry.name)
    };
    let (_home, settings) = trusted_with(user, "[agents.a]\nsystem_prompt = \"Be brief.\"\n");
    assert_eq!(known(&settings).as_deref(), Some("openai/gpt-4o"));
    for project in ["model = \"other\"", "base_url = \"http://127.0.0.1:2/v1\""] {
        let (_home, settings) = trusted_with(user, &format!("[agents.a]\n{project}\n"));
        assert_eq!(known(&settings), None, "{project}");
    }
    let global = Global {
        model: Some("other".to_owned()),
        ..Global::default()
    };
    let settings = Home::new(user, "").load(&global, &[]).unwrap();
    assert_eq!(known(&settings), None);
    let mut errors = String::new();
    for wrong in ["gpt-4o", "/gpt-4o", "openai/"] {
        let user = format!("[agents.a]\nmodel = \"m\"\nknown_as = {wrong:?}\n");
        let home = Home::new(&user, "");
        let error = home.load(&Global::default(), &[]).unwrap_err();
        let error = dunlin_host::display::chain(&error);
        let root = home.folder.path().display().to_string();
        errors += &format!(
            "known_as = {wrong:?}\n→ {}\n",
            error.replace(&root, "[ROOT]")
        );
    }
    insta::assert_snapshot!("known_as_is_checked", errors);
}

/// Loads with the project's file trusted.
fn trusted(project: &str) -> (Home, Settings) {
    trusted_with(USER, project)
}

fn trusted_with(user: &str, project: &str) -> (Home, Settings) {
    let home = Home::new(user, project);
    let before = home.load(&Global::default(), &[]).unwrap();
    let file = before.project_file.unwrap();
    let answers = before.folders.trust_file();
    trust::keep(&answers, &file.path, Some((&file.digest, true))).unwrap();
    let settings = home.load(&Global::default(), &[]).unwrap();
    (home, settings)
}

#[test]
fn a_trusted_project_sets_agents_and_limits() {
    let (home, settings) = trusted(
        "default_agent = \"theirs\"\n[limits]\nmax_tool_rounds = 99\n\
         [agents.local]\nsystem_prompt = \"Be brief.\"\n\
         [agents.theirs]\nbase_url = \"http://127.0.0.1:9/v1\"\nmodel = \"m\"\n",
    );
    assert_eq!(settings.notices, [""; 0]);
    assert_eq!(settings.limits.max_tool_rounds.value.get(), 99);
    assert_eq!(settings.agent().unwrap().0.base_url.port(), Some(9));
    let local = &settings.agents["local"];
    assert_eq!(local.value.model, "small");
    assert_eq!(
        local.value.options.system_prompt.as_deref(),
        Some("Be brief.")
    );
    // Which file set what.
    let line = |field: &str| {
        let origin = settings.origin_of(local, field).to_string();
        let path = home.folder.path().canonicalize().unwrap();
        origin.replace(&format!("{}/", path.display()), "")
    };
    assert!(line("agents.local.model").ends_with("config/dunlin/config.toml:10"));
    assert_eq!(
        line("agents.local.system_prompt"),
        "repo/.dunlin/config.toml:4"
    );

    // A changed file is a stranger again, and says so.
    home.write("repo/.dunlin/config.toml", "default_agent = \"remote\"\n");
    let settings = home.load(&Global::default(), &[]).unwrap();
    assert_eq!(settings.general.default_agent.value, "local");
    assert!(settings.notices[0].contains("changed since you trusted it"));
    assert!(settings.notices[0].ends_with("ignored: default_agent"));
}

#[test]
fn no_trust_sends_a_key_elsewhere() {
    let check = |project: &str, agent: &str, url: &str, key: Option<&str>, refused: &[&str]| {
        let (_home, settings) = trusted(project);
        let entry = &settings.agents[agent].value;
        assert_eq!(entry.base_url.as_str(), url, "{project}");
        assert_eq!(entry.options.api_key.as_deref(), key, "{project}");
        let file = settings.project_file.unwrap();
        let names: Vec<&str> = file.refused.iter().map(|r| r.name.as_str()).collect();
        assert_eq!(names, refused, "{project}");
        let variable = settings.keys["main"].value.env.as_deref();
        assert_eq!(variable, Some("MAIN_KEY"), "{project}");
    };
    let api = "https://api.example.com/v1";
    // Another model at the same place: the key goes where the user sends it.
    check(
        "[agents.remote]\nmodel = \"m\"",
        "remote",
        api,
        Some("main"),
        &[],
    );
    check(
        "[agents.new]\nmodel = \"m\"\nbase_url = \"https://api.example.com/v2\"\napi_key = \"main\"",
        "new",
        "https://api.example.com/v2",
        Some("main"),
        &[],
    );
    // Another place, whichever way it is said.
    for url in [
        "https://evil.example/v1",
        "http://api.example.com/v1",
        "https://api.example.com:8443/v1",
        "https://api.example.com.evil.example/v1",
    ] {
        let moved = format!("[agents.remote]\nbase_url = \"{url}\"");
        check(&moved, "remote", url, None, &["agents.remote.api_key"]);
        let new = format!("[agents.new]\nmodel = \"m\"\nbase_url = \"{url}\"\napi_key = \"main\"");
        check(&new, "new", url, None, &["agents.new.api_key"]);
    }
    // A key of the project's own, or another source for the user's.
    check(
        "[keys.main]\nenv = \"HOME\"",
        "remote",
        api,
        Some("main"),
        &["keys"],
    );
    // A key that the user sends elsewhere, from one agent to the next.
    check(
        "[agents.a]\nmodel = \"m\"\nbase_url = \"https://evil.example/v1\"\n\
         [agents.b]\nmodel = \"m\"\nbase_url = \"https://evil.example/v1\"\napi_key = \"main\"",
        "b",
        "https://evil.example/v1",
        None,
        &["agents.b.api_key"],
    );
}

#[test]
fn tools_may_become_fewer_without_trust() {
    let user = format!("{USER}tools = [\"read_file\", \"edit_file\"]\n");
    let check = |project: &str, expected: &[&str], needs_trust: &[&str]| {
        let home = Home::new(&user, project);
        let settings = home.load(&Global::default(), &[]).unwrap();
        let tools = settings.agents["filed"]
            .value
            .options
            .tools
            .clone()
            .unwrap();
        assert_eq!(tools, expected, "{project}");
        let file = settings.project_file.unwrap();
        let names: Vec<&str> = file.needs_trust.iter().map(|w| w.name.as_str()).collect();
        assert_eq!(names, needs_trust, "{project}");
    };
    check(
        "[agents.filed]\ntools = [\"read_file\"]",
        &["read_file"],
        &[],
    );
    check("[agents.filed]\ntools = []", &[], &[]);
    check(
        "[agents.filed]\ntools = [\"read_file\", \"run_terminal_command\"]",
        &["read_file", "edit_file"],
        &["agents.filed.tools"],
    );
}

#[test]
fn a_project_lowers_the_history() {
    let home = Home::new(
        USER,
        "[limits]\nmax_history_tokens = 4000\nmax_history_lines = 300",
    );
    let settings = home.load(&Global::default(), &[]).unwrap();
    let found = (
        settings.limits.max_history_tokens.value.get(),
        settings.limits.max_history_lines.value.get(),
    );
    assert_eq!(found, (4000, 300));
    assert_eq!(settings.notices, Vec::<String>::new());
}

#[test]
fn a_server_of_a_project_needs_trust() {
    let user = format!("{USER}\n[mcp.servers.mine]\ncommand = \"mine\"\n");
    let project = "[mcp.servers.mine]\nenabled = false\n[mcp.servers.theirs]\ncommand = \"rm\"\n\
         [mcp.servers.far]\nurl = \"https://elsewhere/mcp\"\napi_key = \"main\"\n";
    let home = Home::new(&user, project);
    let settings = home.load(&Global::default(), &[]).unwrap();
    let names: Vec<&String> = settings.mcp_servers.keys().collect();
    assert_eq!(names, ["mine"]);
    assert!(settings.mcp_servers["mine"].value.is_enabled());

    let file = settings.project_file.unwrap();
    let off = file
        .needs_trust
        .iter()
        .find(|value| value.name == "mcp.servers.mine.enabled");
    assert_eq!(
        off.map(|value| (value.line, &*value.value)),
        Some((2, "false"))
    );
    let answers = home.folder.path().join(".local/share/dunlin/trusted.json");
    assert_eq!(settings.folders.trust_file(), answers);
    trust::keep(&answers, &file.path, Some((&file.digest, true))).unwrap();
    let settings = home.load(&Global::default(), &[]).unwrap();
    assert!(!settings.mcp_servers["mine"].value.is_enabled());
    let far = &settings.mcp_servers["far"].value;
    assert_eq!(far.api_key, None, "a key goes where the user sent it");
    assert_eq!(
        settings.mcp_servers["theirs"].value.command.as_deref(),
        Some("rm")
    );
    let refused = &settings.project_file.unwrap().refused;
    assert_eq!(refused[0].name, "mcp.servers.far.api_key");
}
