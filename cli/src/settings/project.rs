//! The project's own configuration, `.dunlin/config.toml`: it may narrow what the user chose, and more only
//! when the user trusts it.
//!
//! A project may come from anywhere. If its file could name an endpoint, opening a folder would send the
//! conversation to a stranger; if it could choose among the user's agents, or hide calls, nobody would see
//! what happened. So until the user said yes to this very text, limits only count where they are lower,
//! tools only where they are fewer, a denial can only stop a turn, and whatever is left out is said.
//!
//! Two things it cannot do with any trust: name where a key is found, and send one of the user's keys
//! to an endpoint that the user did not give it to. Permissions are not part of a configuration at all.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use toml::Spanned;

use super::{Origin, Settings, Sourced};
use crate::config::file::{AgentEntry, AgentPatch, ApiName, Loaded, OnDenial};
use crate::config::mcp::ServerEntry;
use crate::config::trust::Trust;

/// What there is to say about a project's configuration.
#[derive(Debug)]
pub struct ProjectFile {
    /// Where it is.
    pub path: PathBuf,
    /// Its text, for whoever is to trust it.
    pub text: String,
    /// SHA-256 of the text.
    pub digest: String,
    /// What the user said of it.
    pub trust: Trust,
    /// What needs trust: it counts if that is given.
    pub wishes: Vec<Wish>,
    /// What never counts.
    pub refused: Vec<Refused>,
}

/// A value that needs trust.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wish {
    /// The name of the setting.
    pub name: String,
    /// What it would be, as it stands in the file.
    pub value: String,
    /// The line it stands on, or its table begins on.
    pub line: usize,
}

/// A value that no trust makes count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// The name of the setting.
    pub name: String,
    /// Why, as a sentence.
    pub why: String,
}

impl ProjectFile {
    /// Whether the user could make more of it count.
    pub fn wants_trust(&self) -> bool {
        self.trust != Trust::Trusted && !self.wishes.is_empty()
    }

    /// What does not count, in one line; `path` as it is shown.
    pub fn notice(&self, path: &str) -> Option<String> {
        let refused = self.refused.iter().map(|refused| refused.name.as_str());
        if !self.wants_trust() {
            let names: Vec<&str> = refused.collect();
            return (!names.is_empty()).then(|| {
                format!(
                    "{path} sets what no project may set; ignored: {}",
                    names.join(", ")
                )
            });
        }
        let wishes = self.wishes.iter().map(|wish| wish.name.as_str());
        let names: Vec<&str> = wishes.chain(refused).collect();
        let why = match self.trust {
            Trust::Changed => {
                "changed since you trusted it and may only narrow your settings until"
            }
            _ => "may only narrow your settings until",
        };
        Some(format!(
            "{path} {why} `dunlin config trust`; ignored: {}",
            names.join(", ")
        ))
    }
}

/// Puts the project's file over the user's settings, as far as it may.
pub fn apply(settings: &mut Settings, loaded: &Loaded, trust: Trust) -> ProjectFile {
    let mut layer = Layer {
        settings,
        loaded,
        is_trusted: trust == Trust::Trusted,
        wishes: Vec::new(),
        refused: Vec::new(),
    };
    layer.apply();
    ProjectFile {
        path: loaded.path.clone(),
        text: loaded.text.clone(),
        digest: loaded.digest.clone(),
        trust,
        wishes: layer.wishes,
        refused: layer.refused,
    }
}

struct Layer<'a> {
    settings: &'a mut Settings,
    loaded: &'a Loaded,
    is_trusted: bool,
    wishes: Vec<Wish>,
    refused: Vec<Refused>,
}

impl Layer<'_> {
    fn apply(&mut self) {
        let file = &self.loaded.file;
        if let Some(agent) = &file.default_agent
            && self.wish("default_agent", agent, &quoted(agent.get_ref()))
        {
            self.settings.default_agent = self.loaded.source(agent);
        }
        if let Some(denial) = &file.on_denial {
            let narrows = *denial.get_ref() == OnDenial::Stop;
            let value = quoted(denial.get_ref().as_str());
            if narrows || self.wish("on_denial", denial, &value) {
                self.settings.on_denial = self.loaded.source(denial);
            }
        }
        if let Some(steps) = &file.show_intermediate_steps {
            // More to see is not a danger.
            let narrows = *steps.get_ref();
            let value = steps.get_ref().to_string();
            if narrows || self.wish("show_intermediate_steps", steps, &value) {
                self.settings.show_intermediate_steps = self.loaded.source(steps);
            }
        }
        if let Some(text) = &file.placeholder
            && self.wish("placeholder", text, &quoted(text.get_ref()))
        {
            self.settings.placeholder = self.loaded.source(text);
        }
        if let Some(text) = &file.empty_state
            && self.wish("empty_state", text, &quoted(text.get_ref()))
        {
            self.settings.empty_state = self.loaded.source(text);
        }
        let editor = &file.request_editor;
        if editor.mode.is_some() || editor.preview_limit.is_some() || editor.metadata.is_some() {
            self.refuse(
                "request_editor",
                "what is paused and edited is for you to decide, not for a project",
            );
        }
        if let Some(rounds) = &file.limits.max_tool_rounds {
            let narrows = *rounds.get_ref() <= self.settings.max_tool_rounds.value;
            let value = rounds.get_ref().to_string();
            if narrows || self.wish("limits.max_tool_rounds", rounds, &value) {
                self.settings.max_tool_rounds = self.loaded.source(rounds);
            }
        }
        if let Some(most) = &file.limits.max_history_tokens
            && self.lowers(
                "limits.max_history_tokens",
                most,
                self.settings.max_history_tokens.value,
            )
        {
            self.settings.max_history_tokens = self.loaded.source(most);
        }
        if let Some(most) = &file.limits.max_history_lines
            && self.lowers(
                "limits.max_history_lines",
                most,
                self.settings.max_history_lines.value,
            )
        {
            self.settings.max_history_lines = self.loaded.source(most);
        }
        if let Some(share) = &file.limits.compact_at {
            // A summary costs a request that nobody sees: never more often than the user wants it.
            let (wanted, mine) = (*share.get_ref(), self.settings.compact_at.value);
            let narrows = wanted == 0.0 || (mine > 0.0 && wanted >= mine);
            if narrows || self.wish("limits.compact_at", share, &wanted.to_string()) {
                self.settings.compact_at = self.loaded.source(share);
            }
        }
        if let Some(seconds) = &file.limits.request_timeout_secs {
            let time = Duration::from_secs(*seconds.get_ref());
            let narrows = time <= self.settings.request_timeout.value;
            let value = seconds.get_ref().to_string();
            if narrows || self.wish("limits.request_timeout_secs", seconds, &value) {
                let origin = self.loaded.source(seconds).origin;
                self.settings.request_timeout = Sourced {
                    value: time,
                    origin,
                };
            }
        }
        if let Some(retries) = &file.limits.max_retries {
            let narrows = *retries.get_ref() <= self.settings.max_retries.value;
            let value = retries.get_ref().to_string();
            if narrows || self.wish("limits.max_retries", retries, &value) {
                self.settings.max_retries = self.loaded.source(retries);
            }
        }
        if let Some(seconds) = &file.limits.command_timeout_secs {
            let time = Duration::from_secs(*seconds.get_ref());
            let narrows = time <= self.settings.command_timeout.value;
            let value = seconds.get_ref().to_string();
            if narrows || self.wish("limits.command_timeout_secs", seconds, &value) {
                let origin = self.loaded.source(seconds).origin;
                self.settings.command_timeout = Sourced {
                    value: time,
                    origin,
                };
            }
        }
        for (is_there, name) in [
            (file.commands.network.is_some(), "commands.network"),
            (file.commands.write.is_some(), "commands.write"),
            (file.commands.environment.is_some(), "commands.environment"),
        ] {
            if is_there {
                self.refuse(name, "what commands may reach is yours to say");
            }
        }
        if file.web_search.is_some() {
            self.refuse("web_search", "where searches go is yours to say");
        }
        if file.codebase_search.is_some() {
            self.refuse(
                "codebase_search",
                "who reads pieces of code is yours to say",
            );
        }
        if !file.web_fetch.auth.is_empty() {
            self.refuse("web_fetch", "what goes along with requests is yours to say");
        }
        if !file.keys.is_empty() {
            self.refuse("keys", "where keys are found is yours to say");
        }
        for (name, agent) in &file.agents {
            self.agent(name, agent);
        }
        for (name, server) in &file.mcp.servers {
            self.server(name, server);
        }
    }

    /// A server is a program that runs with all that the user may do: only trust adds one, or switches one of the user's off.
    fn server(&mut self, name: &str, server: &Spanned<ServerEntry>) {
        let place = format!("mcp.servers.{name}");
        let mut entry = server.get_ref().clone();
        if self.settings.mcp_servers.contains_key(name) {
            if entry.is_enabled() {
                return self.refuse(&place, "you have a server of that name");
            }
            let line = self.loaded.line_of_key(server, "enabled");
            if self.wish_at(&format!("{place}.enabled"), line, "false")
                && let Some(mine) = self.settings.mcp_servers.get_mut(name)
            {
                mine.value.enabled = Some(false);
            }
            return;
        }
        if !entry.is_enabled() || !self.wish(&place, server, &entry.values()) {
            return;
        }
        if let (Some(key), Some(url)) = (entry.api_key.take(), &entry.url) {
            if self.settings.sends_key_to(&key, url) {
                entry.api_key = Some(key);
            } else {
                let why = format!(
                    "your configuration does not send the key {key:?} to {}",
                    url.origin().ascii_serialization()
                );
                self.refuse(&format!("{place}.api_key"), &why);
            }
        }
        if entry.client_secret.take().is_some() {
            // Where it goes is for the server to say: to whoever it refers to for a login.
            let why = "which client you are to whom is yours to say";
            self.refuse(&format!("{place}.client_secret"), why);
        }
        let origin = self.loaded.source(server).origin;
        let value = Sourced {
            value: entry,
            origin,
        };
        self.settings.mcp_servers.insert(name.to_owned(), value);
    }

    fn agent(&mut self, name: &str, agent: &Spanned<AgentPatch>) {
        let mut patch = agent.get_ref().clone();
        let place = |field: &str| format!("agents.{name}.{field}");
        let mine = self
            .settings
            .agents
            .get(name)
            .map(|entry| entry.value.clone());
        // Fewer tools are always possible.
        if let (Some(mine), Some(tools)) = (&mine, &patch.tools)
            && narrows(tools, mine.tools.as_deref())
        {
            let tools = patch.tools.take();
            self.put(
                name,
                agent,
                &["tools"],
                AgentEntry {
                    tools,
                    ..mine.clone()
                },
            );
        }
        let values = patch.values();
        if values.is_empty() {
            return;
        }
        let mut is_wanted = false;
        for (field, value) in &values {
            let line = self.loaded.line_of_key(agent, field);
            is_wanted |= self.wish_at(&place(field), line, value);
        }
        if !is_wanted {
            return;
        }
        let mine = self
            .settings
            .agents
            .get(name)
            .map(|entry| entry.value.clone());
        let keyless = AgentPatch {
            api_key: None,
            ..patch.clone()
        };
        let entry = match &mine {
            Some(mine) => keyless.over(mine),
            None => keyless.complete(),
        };
        let Some(mut entry) = entry else {
            let why = "it names no model, and you have no agent of that name";
            return self.refuse(&format!("agents.{name}"), why);
        };
        // A key goes where the user sent it, and nowhere else.
        let key = patch.api_key.or_else(|| mine.and_then(|mine| mine.api_key));
        entry.api_key = None;
        if let Some(key) = key {
            if self.settings.sends_key_to(&key, &entry.base_url) {
                entry.api_key = Some(key);
            } else {
                let why = format!(
                    "your configuration does not send the key {key:?} to {}",
                    entry.base_url.origin().ascii_serialization()
                );
                self.refuse(&place("api_key"), &why);
            }
        }
        let fields: Vec<&'static str> = values.iter().map(|(field, _)| *field).collect();
        self.put(name, agent, &fields, entry);
    }

    fn put(
        &mut self,
        name: &str,
        agent: &Spanned<AgentPatch>,
        fields: &[&'static str],
        value: AgentEntry,
    ) {
        let origin = self.loaded.source(agent).origin;
        for field in fields {
            let field = format!("agents.{name}.{field}");
            self.settings.origins.insert(field, origin.clone());
        }
        match self.settings.agents.get_mut(name) {
            Some(mine) => mine.value = value,
            None => {
                let agent = Sourced { value, origin };
                self.settings.agents.insert(name.to_owned(), agent);
            }
        }
    }

    /// Whether a limit counts: where it is not higher than the user's, or with trust.
    fn lowers(&mut self, name: &str, limit: &Spanned<u64>, mine: u64) -> bool {
        *limit.get_ref() <= mine || self.wish(name, limit, &limit.get_ref().to_string())
    }

    /// Notes a value that needs trust; whether it counts.
    fn wish<T>(&mut self, name: &str, place: &Spanned<T>, value: &str) -> bool {
        self.wish_at(name, self.loaded.line_of(place), value)
    }

    fn wish_at(&mut self, name: &str, line: usize, value: &str) -> bool {
        self.wishes.push(Wish {
            name: name.to_owned(),
            value: value.to_owned(),
            line,
        });
        self.is_trusted
    }

    fn refuse(&mut self, name: &str, why: &str) {
        self.refused.push(Refused {
            name: name.to_owned(),
            why: why.to_owned(),
        });
    }
}

/// Whether tools are among those that the user allows; `None` allows all.
fn narrows(tools: &[String], mine: Option<&[String]>) -> bool {
    mine.is_none_or(|mine| tools.iter().all(|tool| mine.contains(tool)))
}

/// A text as it stands in a file.
fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

/// Which endpoints the user's own file sends which keys to.
pub fn endpoints_of_keys(
    agents: &BTreeMap<String, Sourced<AgentEntry>>,
    servers: &BTreeMap<String, Sourced<ServerEntry>>,
) -> Vec<(String, url::Url)> {
    let agents = agents.values().map(|agent| &agent.value);
    let agents = agents.filter_map(|it| Some((it.api_key.clone()?, it.base_url.clone())));
    let servers = servers.values().map(|server| &server.value);
    let servers = servers.filter_map(|it| Some((it.api_key.clone()?, it.url.clone()?)));
    agents.chain(servers).collect()
}

impl ServerEntry {
    /// All of it in one line, as it could stand in the file, for whoever is to trust it.
    pub fn values(&self) -> String {
        let text = |value: &Option<String>| value.as_deref().map(quoted);
        let list = |values: &[String]| (!values.is_empty()).then(|| format!("{values:?}"));
        let table = |values: &BTreeMap<String, String>| {
            let pairs = values.iter();
            let pairs = pairs.map(|(name, value)| format!("{name:?} = {}", quoted(value)));
            let pairs: Vec<String> = pairs.collect();
            (!pairs.is_empty()).then(|| format!("{{ {} }}", pairs.join(", ")))
        };
        let values = [
            ("command", text(&self.command)),
            ("args", list(&self.args)),
            ("env", table(&self.env)),
            ("cwd", text(&self.cwd)),
            ("roots", self.roots.as_ref().map(|it| format!("{it:?}"))),
            ("sandbox", self.sandbox.map(|it| it.to_string())),
            ("url", self.url.as_ref().map(|url| quoted(url.as_str()))),
            ("api_key", text(&self.api_key)),
            ("client_id", text(&self.client_id)),
            ("client_secret", text(&self.client_secret)),
            (
                "issuer",
                self.issuer.as_ref().map(|url| quoted(url.as_str())),
            ),
            (
                "client_credentials",
                self.client_credentials.map(|it| it.to_string()),
            ),
            ("headers", table(&self.headers)),
            ("description", text(&self.description)),
            ("ask", self.ask.map(|it| it.to_string())),
            ("ask_tools", list(&self.ask_tools)),
            ("timeout_secs", self.timeout_secs.map(|it| it.to_string())),
            ("enabled", self.enabled.map(|it| it.to_string())),
        ];
        let values = values.into_iter();
        let values = values.filter_map(|(name, value)| Some(format!("{name} = {}", value?)));
        format!("{{ {} }}", values.collect::<Vec<_>>().join(", "))
    }
}

impl AgentPatch {
    /// The fields that are there and their values, as they stand in the file.
    fn values(&self) -> Vec<(&'static str, String)> {
        let text = |value: &Option<String>| value.as_deref().map(quoted);
        let number = |value: Option<f64>| value.map(|value| value.to_string());
        [
            ("kind", self.kind.map(|_| quoted("chat"))),
            ("api", self.api.map(|api| quoted(api.as_str()))),
            (
                "base_url",
                self.base_url.as_ref().map(|url| quoted(url.as_str())),
            ),
            ("model", text(&self.model)),
            ("api_key", text(&self.api_key)),
            ("temperature", number(self.temperature)),
            ("max_tokens", self.max_tokens.map(|value| value.to_string())),
            (
                "context_window",
                self.context_window.map(|value| value.to_string()),
            ),
            ("top_p", number(self.top_p)),
            ("system_prompt", text(&self.system_prompt)),
            (
                "tools",
                self.tools.as_ref().map(|tools| format!("{tools:?}")),
            ),
            ("files", self.files.map(|files| files.to_string())),
            (
                "endpoint",
                self.endpoint.map(|endpoint| {
                    let values = endpoint.values().into_iter();
                    let values = values.map(|(name, value)| format!("{name} = {value}"));
                    format!("{{ {} }}", values.collect::<Vec<_>>().join(", "))
                }),
            ),
        ]
        .into_iter()
        .filter_map(|(field, value)| Some((field, value?)))
        .collect()
    }

    /// The agent, if nothing is missing.
    pub fn complete(self) -> Option<AgentEntry> {
        Some(AgentEntry {
            kind: self.kind.unwrap_or_default(),
            api: self.api.unwrap_or_default(),
            base_url: self.address_or_default()?,
            model: self.model?,
            api_key: self.api_key,
            temperature: self.temperature,
            max_tokens: self.max_tokens,
            context_window: self.context_window,
            top_p: self.top_p,
            system_prompt: self.system_prompt,
            tools: self.tools,
            files: self.files,
            endpoint: self.endpoint,
        })
    }

    /// The agent that comes of putting this over another; without a key.
    fn over(self, mine: &AgentEntry) -> Option<AgentEntry> {
        let mine = mine.clone();
        let api = self.api.unwrap_or(mine.api);
        let base_url = self.address().unwrap_or(mine.base_url);
        // One that ran in this process has no endpoint to go on with, and the other way round.
        if (api == ApiName::Local) != (base_url.scheme() == "file") {
            return None;
        }
        Some(AgentEntry {
            kind: self.kind.unwrap_or(mine.kind),
            api,
            base_url,
            model: self.model.unwrap_or(mine.model),
            api_key: None,
            temperature: self.temperature.or(mine.temperature),
            max_tokens: self.max_tokens.or(mine.max_tokens),
            context_window: self.context_window.or(mine.context_window),
            top_p: self.top_p.or(mine.top_p),
            system_prompt: self.system_prompt.or(mine.system_prompt),
            tools: self.tools.or(mine.tools),
            files: self.files.or(mine.files),
            endpoint: self.endpoint.or(mine.endpoint),
        })
    }
}

impl Settings {
    /// Where a setting of an agent comes from.
    pub fn origin_of(&self, agent: &Sourced<AgentEntry>, field: &str) -> Origin {
        self.origins.get(field).unwrap_or(&agent.origin).clone()
    }
}
