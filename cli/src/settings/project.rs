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
use std::path::{Path, PathBuf};

use dunlin_host::hooks::Pinned;
use dunlin_host::sha256_hex;
use serde::Serialize;
use toml::Spanned;

use super::{ConfiguredHook, Origin, Settings, Sourced};
use crate::config::agent::{AgentEntry, AgentPatch};
use crate::config::file::Loaded;
use crate::config::hook::digest_of;
use crate::config::mcp::ServerEntry;
use crate::config::setting::{Layer, Narrowing};
use crate::config::trust::{self, Files, Trust};
use crate::config::value::{fields, written};

/// The name of a hook among the values that need trust.
pub const HOOK: &str = "hook";

/// What there is to say about a project's configuration.
#[derive(Debug)]
pub struct ProjectFile {
    pub path: PathBuf,
    /// Its text, for whoever is to trust it.
    pub text: String,
    /// What it is trusted by: SHA-256 of the text, and of the files that its hooks name.
    pub digest: String,
    /// What the user said of it.
    pub trust: Trust,
    /// What needs trust: it counts if that is given.
    pub needs_trust: Vec<ValueNeedingTrust>,
    /// What never counts.
    pub refused: Vec<Refused>,
    /// The files of the project that the commands of its hooks name: trusted with it, as they are.
    pub named: Vec<Pinned>,
    /// Which of them are not what the user trusted, where that is known.
    pub differences: Vec<Difference>,
    /// Whether its own text is still what the user trusted.
    pub is_text_trusted: bool,
}

/// A file that hooks name, and that is not what the user trusted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    pub path: PathBuf,
    /// The path in the project.
    pub shown: String,
    /// What became of it: `changed`, `is new`, `is gone`.
    pub what: &'static str,
}

/// A value that needs trust.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ValueNeedingTrust {
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
    pub why: String,
}

impl ProjectFile {
    /// Whether the user could make more of it count.
    pub fn wants_trust(&self) -> bool {
        self.trust != Trust::Trusted && !self.needs_trust.is_empty()
    }

    /// All that is trusted together, each file with its digest.
    pub fn files(&self) -> Files {
        if self.named.is_empty() {
            return Files::new();
        }
        let own = (trust::key(&self.path), sha256_hex(self.text.as_bytes()));
        let named = self.named.iter();
        let named = named.map(|file| (trust::key(&file.path), digest_of(file).to_owned()));
        named.chain([own]).collect()
    }

    /// Finds out what is different from what the user trusted before.
    pub fn compare(&mut self, before: &Files, project: &Path) {
        let own = trust::key(&self.path);
        self.is_text_trusted = before.get(&own) == Some(&sha256_hex(self.text.as_bytes()));
        // An answer about one other text does not tell what was named there.
        if before.len() < 2 && !self.is_text_trusted {
            return;
        }
        let now = self.files();
        let mut paths: Vec<&String> = before.keys().chain(now.keys()).collect();
        paths.sort();
        paths.dedup();
        let paths = paths.into_iter().filter(|path| **path != own);
        let differences = paths.filter_map(|path| {
            let what = match (before.get(path), now.get(path)) {
                (before, now) if before == now => return None,
                (None, _) => "is new",
                (_, None) => "is gone",
                _ => "changed",
            };
            let path = PathBuf::from(path);
            let shown = path.strip_prefix(project).unwrap_or(&path);
            let shown = shown.display().to_string();
            Some(Difference { path, shown, what })
        });
        self.differences = differences.collect();
    }

    /// What became of files that hooks name, where that alone is why the file is not trusted any more.
    pub fn only_named_changed(&self) -> Option<String> {
        let is_alone = self.trust == Trust::Changed && self.is_text_trusted;
        let said: Vec<String> = self
            .differences
            .iter()
            .map(|file| format!("{} {}", file.shown, file.what))
            .collect();
        (is_alone && !said.is_empty()).then(|| said.join(", "))
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
        let needing = self.needs_trust.iter().map(|value| value.name.as_str());
        let names: Vec<&str> = needing.chain(refused).collect();
        let why = match (self.only_named_changed(), self.trust) {
            (Some(what), _) => {
                format!(
                    "{what} since you trusted it with {path}, which may only narrow your settings until"
                )
            }
            (None, Trust::Changed) => {
                format!(
                    "{path} changed since you trusted it and may only narrow your settings until"
                )
            }
            _ => format!("{path} may only narrow your settings until"),
        };
        Some(format!(
            "{why} `dunlin config trust`; ignored: {}",
            names.join(", ")
        ))
    }
}

/// Puts the project's file over the user's settings, as far as it may.
pub fn apply(
    settings: &mut Settings,
    loaded: &Loaded,
    hooks: Vec<ConfiguredHook>,
    (digest, trust): (String, Trust),
) -> ProjectFile {
    let pinned = hooks.iter().flat_map(|hook| &hook.pinned);
    let mut named: Vec<Pinned> = pinned.cloned().collect();
    named.sort_by(|a, b| a.path.cmp(&b.path));
    named.dedup_by(|a, b| a.path == b.path);
    let mut answers = Answers {
        loaded,
        is_trusted: trust == Trust::Trusted,
        needs_trust: Vec::new(),
        refused: Vec::new(),
    };
    settings.apply(&loaded.file, &mut answers);
    answers.tables(settings);
    answers.hooks(settings, hooks);
    ProjectFile {
        path: loaded.path.clone(),
        text: loaded.text.clone(),
        digest,
        trust,
        needs_trust: answers.needs_trust,
        refused: answers.refused,
        named,
        differences: Vec::new(),
        is_text_trusted: false,
    }
}

/// What becomes of each value of the file.
struct Answers<'a> {
    loaded: &'a Loaded,
    is_trusted: bool,
    needs_trust: Vec<ValueNeedingTrust>,
    refused: Vec<Refused>,
}

impl Layer for Answers<'_> {
    fn set<T: Clone + Serialize>(
        &mut self,
        name: &'static str,
        setting: &mut Sourced<T>,
        value: Option<&Spanned<T>>,
        narrowing: &Narrowing<T>,
    ) {
        let Some(value) = value else { return };
        let needs_trust = match narrowing {
            Narrowing::Never(why) => return self.refuse(name, why),
            Narrowing::Trusted => true,
            Narrowing::If(narrows, _) => !narrows(value.get_ref(), &setting.value),
        };
        if !needs_trust || self.counts_if_trusted(name, value, &written(value.get_ref())) {
            *setting = self.loaded.source(value);
        }
    }
}

impl Answers<'_> {
    /// What the file says besides settings.
    fn tables(&mut self, settings: &mut Settings) {
        let file = &self.loaded.file;
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
            self.agent(settings, name, agent);
        }
        for (name, server) in &file.mcp.servers {
            self.server(settings, name, server);
        }
    }

    /// A hook is a command that nobody is asked about when it runs: trust is the yes to it. It comes behind the user's own.
    fn hooks(&mut self, settings: &mut Settings, hooks: Vec<ConfiguredHook>) {
        for (place, hook) in self.loaded.file.hook.iter().zip(hooks) {
            if self.counts_if_trusted(HOOK, place, &hook.entry.value.written()) {
                settings.hooks.push(hook);
            }
        }
    }

    /// A server is a program that runs with all that the user may do: only trust adds one, or switches one of the user's off.
    fn server(&mut self, settings: &mut Settings, name: &str, server: &Spanned<ServerEntry>) {
        let place = format!("mcp.servers.{name}");
        let mut entry = server.get_ref().clone();
        if settings.mcp_servers.contains_key(name) {
            if entry.is_enabled() {
                return self.refuse(&place, "you have a server of that name");
            }
            let line = self.loaded.line_of_key(server, "enabled");
            if self.counts_at_if_trusted(&format!("{place}.enabled"), line, "false")
                && let Some(mine) = settings.mcp_servers.get_mut(name)
            {
                mine.value.enabled = Some(false);
            }
            return;
        }
        if !entry.is_enabled() || !self.counts_if_trusted(&place, server, &entry.written()) {
            return;
        }
        if let (Some(key), Some(url)) = (entry.api_key.take(), &entry.url) {
            if settings.sends_key_to(&key, url) {
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
        settings.mcp_servers.insert(name.to_owned(), value);
    }

    fn agent(&mut self, settings: &mut Settings, name: &str, agent: &Spanned<AgentPatch>) {
        let mut patch = agent.get_ref().clone();
        let place = |field: &str| format!("agents.{name}.{field}");
        let mine = settings.agents.get(name).map(|entry| entry.value.clone());
        // Fewer tools are always possible.
        if let (Some(mine), Some(tools)) = (&mine, &patch.tools)
            && narrows(tools, mine.options.tools.as_deref())
        {
            let mut mine = mine.clone();
            mine.options.tools = patch.tools.take();
            self.put(settings, name, agent, &["tools"], mine);
        }
        let values = fields(&patch);
        let mut is_wanted = false;
        for (field, value) in &values {
            let line = self.loaded.line_of_key(agent, field);
            is_wanted |= self.counts_at_if_trusted(&place(field), line, &value.to_string());
        }
        if !is_wanted {
            return;
        }
        let mine = settings.agents.get(name).map(|entry| entry.value.clone());
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
        if let Some(problem) = entry.options.subagent_problem() {
            entry.options.subagent = None;
            self.refuse(&place("subagent"), problem);
        }
        // A key goes where the user sent it, and nowhere else.
        let mine = mine.and_then(|mine| mine.options.api_key);
        let key = patch.api_key.or(mine);
        if let Some(key) = key {
            if settings.sends_key_to(&key, &entry.base_url) {
                entry.options.api_key = Some(key);
            } else {
                let why = format!(
                    "your configuration does not send the key {key:?} to {}",
                    entry.base_url.origin().ascii_serialization()
                );
                self.refuse(&place("api_key"), &why);
            }
        }
        let fields: Vec<&str> = values.iter().map(|(field, _)| field.as_str()).collect();
        self.put(settings, name, agent, &fields, entry);
    }

    fn put(
        &self,
        settings: &mut Settings,
        name: &str,
        agent: &Spanned<AgentPatch>,
        fields: &[&str],
        value: AgentEntry,
    ) {
        let origin = self.loaded.source(agent).origin;
        for field in fields {
            let field = format!("agents.{name}.{field}");
            settings.origins.insert(field, origin.clone());
        }
        match settings.agents.get_mut(name) {
            Some(mine) => mine.value = value,
            None => {
                let agent = Sourced { value, origin };
                settings.agents.insert(name.to_owned(), agent);
            }
        }
    }

    /// Notes a value that needs trust; whether it counts.
    fn counts_if_trusted<T>(&mut self, name: &str, place: &Spanned<T>, value: &str) -> bool {
        self.counts_at_if_trusted(name, self.loaded.line_of(place), value)
    }

    fn counts_at_if_trusted(&mut self, name: &str, line: usize, value: &str) -> bool {
        self.needs_trust.push(ValueNeedingTrust {
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

/// Which endpoints the user's own file sends which keys to.
pub fn endpoints_of_keys(
    agents: &BTreeMap<String, Sourced<AgentEntry>>,
    servers: &BTreeMap<String, Sourced<ServerEntry>>,
) -> Vec<(String, url::Url)> {
    let agents = agents.values().map(|agent| &agent.value);
    let agents = agents.filter_map(|it| Some((it.options.api_key.clone()?, it.base_url.clone())));
    let servers = servers.values().map(|server| &server.value);
    let servers = servers.filter_map(|it| Some((it.api_key.clone()?, it.url.clone()?)));
    agents.chain(servers).collect()
}

impl Settings {
    /// Where a setting of an agent comes from.
    pub fn origin_of(&self, agent: &Sourced<AgentEntry>, field: &str) -> Origin {
        self.origins.get(field).unwrap_or(&agent.origin).clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file whose text is `text`, with the script `check.sh` as given.
    fn file(text: &str, script: Option<&str>) -> ProjectFile {
        let pinned = |digest: &str| Pinned {
            path: "/p/check.sh".into(),
            digest: Some(digest.to_owned()),
        };
        ProjectFile {
            path: "/p/.dunlin/config.toml".into(),
            text: text.to_owned(),
            digest: String::new(),
            trust: Trust::Changed,
            needs_trust: Vec::new(),
            refused: Vec::new(),
            named: script.map(pinned).into_iter().collect(),
            differences: Vec::new(),
            is_text_trusted: false,
        }
    }

    #[test]
    fn what_changed_alone_is_named() {
        let check = |before: &Files, now: ProjectFile, expected: Option<&str>| {
            let mut now = now;
            now.compare(before, Path::new("/p"));
            assert_eq!(now.only_named_changed().as_deref(), expected);
        };
        let with_script = file("a", Some("1")).files();
        check(&with_script, file("a", Some("2")), Some("check.sh changed"));
        check(&with_script, file("a", None), Some("check.sh is gone"));
        check(&with_script, file("b", Some("2")), None);
        let key = trust::key(Path::new("/p/.dunlin/config.toml"));
        let alone = Files::from([(key.clone(), sha256_hex(b"a"))]);
        check(&alone, file("a", Some("1")), Some("check.sh is new"));
        // What an earlier version kept does not say what it was about.
        let of_all = Files::from([(key, "of all".to_owned())]);
        check(&of_all, file("a", Some("1")), None);
    }
}
