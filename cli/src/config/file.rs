//! A configuration file: its typed form, and errors that name the file, the line and the way out.

mod key;

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use toml::Spanned;
use toml::de::DeTable;
use url::Url;

use super::mcp::{self, Mcp};
use super::meaning::CodebaseSearch;
use super::request_editor::{MetadataField, RequestEditor};
use super::schema;
use super::search::WebSearch;
use super::sites::WebFetch;
use super::variables;
use dunlin_chat::endpoint::EndpointOptions;
use dunlin_host::files::open_regular;

/// Longest time-out, in seconds: a day. More is a mistake, and some clocks cannot count it.
const MAX_TIMEOUT_SECS: u64 = 86_400;

/// The largest configuration file in bytes. Real ones have a few kilobytes; this only keeps a mistake
/// such as a device or a data file under that name from filling the memory.
const MAX_FILE_BYTES: u64 = 1024 * 1024;

/// What one file says. A missing key is `None`: another layer may say it.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct File {
    /// The agent that answers when none is named.
    pub default_agent: Option<Spanned<String>>,
    /// What follows a denied call.
    pub on_denial: Option<Spanned<OnDenial>>,
    /// Whether calls, reasoning and notices are shown.
    pub show_intermediate_steps: Option<Spanned<bool>>,
    /// What stands dimmed where a message is typed as long as nothing is; empty: nothing.
    pub placeholder: Option<Spanned<String>>,
    /// What a chat says in which nothing was said yet; empty: nothing.
    pub empty_state: Option<Spanned<String>>,
    /// Which requests are paused before they are sent.
    #[serde(default)]
    pub request_editor: RequestEditor,
    /// Limits of a turn.
    #[serde(default)]
    pub limits: Limits,
    /// What commands may do.
    #[serde(default)]
    pub commands: Commands,
    /// Where API keys are found, by name.
    #[serde(default)]
    pub keys: BTreeMap<String, Spanned<KeyEntry>>,
    /// The agents, by name.
    #[serde(default)]
    pub agents: BTreeMap<String, Spanned<AgentPatch>>,
    /// The servers whose tools a chat may use.
    #[serde(default)]
    pub mcp: Mcp,
    /// Which search engine answers.
    pub web_search: Option<Spanned<WebSearch>>,
    /// What `codebase_search` knows meanings by.
    pub codebase_search: Option<Spanned<CodebaseSearch>>,
    /// What goes along with requests to certain sites.
    #[serde(default)]
    pub web_fetch: WebFetch,
}

/// What follows a denied call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OnDenial {
    /// The turn ends quietly.
    Stop,
    /// The model is told and goes on.
    Continue,
}

impl OnDenial {
    /// As it stands in the file.
    pub fn as_str(self) -> &'static str {
        match self {
            OnDenial::Stop => "stop",
            OnDenial::Continue => "continue",
        }
    }
}

/// `[limits]`
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// Requests within one turn.
    pub max_tool_rounds: Option<Spanned<u32>>,
    /// Tokens of the conversation that a request carries.
    pub max_history_tokens: Option<Spanned<u64>>,
    /// Lines of the conversation that a request carries.
    pub max_history_lines: Option<Spanned<u64>>,
    /// Which share of the room is full when earlier turns are compacted; 0: they never are.
    pub compact_at: Option<Spanned<f64>>,
    /// Seconds without a byte from the provider.
    pub request_timeout_secs: Option<Spanned<u64>>,
    /// Repetitions of a request that failed before an answer began.
    pub max_retries: Option<Spanned<u32>>,
    /// Seconds that a command may run.
    pub command_timeout_secs: Option<Spanned<u64>>,
}

/// `[commands]`
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Commands {
    /// Whether every command may reach the network.
    pub network: Option<Spanned<bool>>,
    /// Folders and files that commands may write besides the project.
    pub write: Option<Spanned<Vec<String>>>,
    /// Variables that commands and MCP servers get besides those that every program needs. Names alone.
    pub environment: Option<Spanned<Vec<Spanned<String>>>>,
}

/// `[keys.NAME]`: exactly one of the three.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeyEntry {
    /// An environment variable.
    pub env: Option<String>,
    /// A file whose first line is the key; relative to the configuration folder.
    pub file: Option<String>,
    /// A name in the system's keyring.
    pub keyring: Option<String>,
}

/// `[agents.NAME]`, as far as a file says it. The user's file says all that an agent needs; a project's may
/// change one of the user's agents in a few points.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgentPatch {
    /// What kind of agent.
    pub kind: Option<Kind>,
    /// The protocol.
    pub api: Option<ApiName>,
    /// Where the endpoint is, `/v1` included.
    pub base_url: Option<Url>,
    /// The model's name at the endpoint.
    pub model: Option<String>,
    /// A name of `[keys]`.
    pub api_key: Option<String>,
    /// 0 to 2.
    pub temperature: Option<f64>,
    /// The longest reply in tokens.
    pub max_tokens: Option<u32>,
    /// What the model is believed to see at once, in tokens.
    pub context_window: Option<u64>,
    /// 0 to 1.
    pub top_p: Option<f64>,
    /// What the model is told first.
    pub system_prompt: Option<String>,
    /// The tools it may use; all without it.
    pub tools: Option<Vec<String>>,
    /// Whether `@` attaches files to a message.
    pub files: Option<bool>,
    /// What the endpoint wants otherwise than most.
    pub endpoint: Option<EndpointOptions>,
}

/// An agent with all that it needs.
#[derive(Debug, Clone)]
pub struct AgentEntry {
    /// What kind of agent.
    pub kind: Kind,
    /// The protocol.
    pub api: ApiName,
    /// Where the endpoint is, `/v1` included.
    pub base_url: Url,
    /// The model's name at the endpoint.
    pub model: String,
    /// A name of `[keys]`.
    pub api_key: Option<String>,
    /// 0 to 2.
    pub temperature: Option<f64>,
    /// The longest reply in tokens.
    pub max_tokens: Option<u32>,
    /// What the model is believed to see at once, in tokens.
    pub context_window: Option<u64>,
    /// 0 to 1.
    pub top_p: Option<f64>,
    /// What the model is told first.
    pub system_prompt: Option<String>,
    /// The tools it may use; all without it.
    pub tools: Option<Vec<String>>,
    /// Whether `@` attaches files to a message; it does without it.
    pub files: Option<bool>,
    /// What the endpoint wants otherwise than most.
    pub endpoint: Option<EndpointOptions>,
}

/// The kinds of agents.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Answers in the chat.
    #[default]
    Chat,
}

/// The protocols.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ApiName {
    /// Chat completions.
    #[default]
    OpenAi,
    /// Ollama's own.
    Ollama,
    /// None: the model runs in this process.
    Local,
}

impl ApiName {
    /// As it is written in the file.
    pub fn as_str(self) -> &'static str {
        match self {
            ApiName::OpenAi => "openai",
            ApiName::Ollama => "ollama",
            ApiName::Local => "local",
        }
    }
}

impl ApiName {
    /// Where an endpoint of this protocol is unless a file says otherwise.
    fn usual_address(self) -> &'static str {
        match self {
            ApiName::OpenAi => "https://api.openai.com/v1",
            ApiName::Ollama => "http://127.0.0.1:11434",
            ApiName::Local => THIS_PROCESS,
        }
    }
}

/// What stands for the endpoint of models that run in this process; only the settings know where their
/// files are.
const THIS_PROCESS: &str = "file:///";

impl AgentPatch {
    /// Where the endpoint is: the address that was given, or the usual one of the protocol.
    pub fn address_or_default(&self) -> Option<Url> {
        let usual = || self.api.unwrap_or_default().usual_address();
        self.address().or_else(|| Url::parse(usual()).ok())
    }

    /// Where the endpoint is, if that was said or need not be.
    pub fn address(&self) -> Option<Url> {
        match self.api {
            Some(ApiName::Local) => Url::parse(THIS_PROCESS).ok(),
            _ => self.base_url.clone(),
        }
    }
}

/// A configuration file with its path and its text's lines.
#[derive(Debug)]
pub struct Loaded {
    /// Where it is.
    pub path: PathBuf,
    /// What it says.
    pub file: File,
    /// Its text.
    pub text: String,
    /// SHA-256 of the text.
    pub digest: String,
    /// Where each line ends, in bytes: turns the place of a value into a line.
    line_ends: Vec<usize>,
}

/// Who wrote a configuration file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Author {
    /// The user: every agent is whole, and its key is named in the same file.
    User,
    /// Whoever made the project: it may change agents of the user's.
    Project,
}

/// Why a configuration file cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FileError {
    /// It is there and cannot be read.
    #[error("cannot read the configuration {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It says something that it may not say.
    #[error("{}:{line}: {problem}", path.display())]
    Invalid {
        /// The file.
        path: PathBuf,
        /// The line, counted from 1.
        line: usize,
        /// What is wrong.
        problem: String,
        /// The way out, if there is a good guess.
        hint: Option<String>,
    },
}

impl Loaded {
    /// Reads a file. `Ok(None)`: there is none.
    pub fn read(path: &Path, author: Author) -> Result<Option<Loaded>, FileError> {
        match read_bounded(path) {
            Ok(text) => Loaded::parse(path, &text, author).map(Some),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(FileError::Read {
                path: path.to_path_buf(),
                source,
            }),
        }
    }

    /// Understands the text of a file.
    pub fn parse(path: &Path, text: &str, author: Author) -> Result<Loaded, FileError> {
        let mut loaded = Loaded {
            path: path.to_path_buf(),
            file: File::default(),
            text: text.to_owned(),
            digest: dunlin_host::sha256_hex(text.as_bytes()),
            line_ends: text.match_indices('\n').map(|(at, _)| at).collect(),
        };
        let broken = |error: toml::de::Error| {
            let offset = error.span().map_or(0, |span| span.start);
            let key = key_before(text, offset);
            loaded.error_at(offset, in_words(&first_line(error.message()), key), None)
        };
        // There may be no keys and values yet.
        let unreadable = |error: toml::de::Error| {
            let offset = error.span().map_or(0, |span| span.start);
            loaded.error_at(offset, first_line(error.message()), None)
        };
        let document = DeTable::parse(text).map_err(unreadable)?;
        if let Some(misfit) = schema::first_misfit(document.get_ref()) {
            return Err(loaded.error_at(misfit.offset, misfit.problem, misfit.hint));
        }
        let file = toml::from_str(text).map_err(broken)?;
        loaded.file = file;
        loaded.check(author)?;
        Ok(loaded)
    }

    /// The line of a value, counted from 1.
    pub fn line_of<T>(&self, value: &Spanned<T>) -> usize {
        self.line_at(value.span().start)
    }

    /// The line of a key in a table; where it cannot be told, as in an inline table, that of the table.
    pub fn line_of_key<T>(&self, table: &Spanned<T>, key: &str) -> usize {
        line_of_key(&self.text, self.line_of(table), key)
    }

    /// An error at a value of this file.
    pub fn error_of<T>(&self, value: &Spanned<T>, problem: impl Into<String>) -> FileError {
        self.error_at(value.span().start, problem.into(), None)
    }

    /// Checks what the types leave open.
    fn check(&self, author: Author) -> Result<(), FileError> {
        let limits = &self.file.limits;
        if let Some(rounds) = limits
            .max_tool_rounds
            .as_ref()
            .filter(|value| *value.get_ref() == 0)
        {
            return Err(self.error_of(rounds, "max_tool_rounds must be at least 1"));
        }
        for (name, most) in [
            ("max_history_tokens", &limits.max_history_tokens),
            ("max_history_lines", &limits.max_history_lines),
        ] {
            if let Some(most) = most.as_ref().filter(|most| *most.get_ref() == 0) {
                return Err(self.error_of(most, format!("{name} must be at least 1")));
            }
        }
        if let Some(share) = &limits.compact_at
            && !(0.0..=1.0).contains(share.get_ref())
        {
            return Err(self.error_of(share, "compact_at must be from 0 to 1"));
        }
        for (name, seconds) in [
            ("request_timeout_secs", &limits.request_timeout_secs),
            ("command_timeout_secs", &limits.command_timeout_secs),
        ] {
            let Some(seconds) = seconds else { continue };
            if *seconds.get_ref() == 0 {
                return Err(self.error_of(seconds, format!("{name} must be at least 1")));
            }
            if *seconds.get_ref() > MAX_TIMEOUT_SECS {
                let problem = format!("{name} must be at most {MAX_TIMEOUT_SECS}, a day");
                return Err(self.error_of(seconds, problem));
            }
        }
        if let Some(names) = &self.file.request_editor.metadata {
            let listed = names.get_ref().iter().map(|name| name.get_ref().as_str());
            if let Err((index, problem)) = MetadataField::list(listed) {
                return Err(match names.get_ref().get(index) {
                    Some(name) => self.error_of(name, problem),
                    None => self.error_of(names, problem),
                });
            }
        }
        for (name, entry) in &self.file.keys {
            if let Some(problem) = key::entry_problem(name, entry.get_ref()) {
                return Err(self.error_of(entry, problem));
            }
        }
        let names = self.file.commands.environment.iter();
        for (number, name) in (1..).zip(names.flat_map(Spanned::get_ref)) {
            let text = name.get_ref();
            let keys = self.file.keys.iter();
            let mut keys = keys.filter(|(_, key)| key.get_ref().env.as_deref() == Some(text));
            let problem = variables::name_problem(text, number).or_else(|| {
                let (key, _) = keys.next()?;
                Some(format!(
                    "commands.environment names {text}, which holds the key of [keys.{key}]: no command gets that"
                ))
            });
            if let Some(problem) = problem {
                return Err(self.error_of(name, problem));
            }
        }
        for (name, agent) in &self.file.agents {
            let patch = agent.get_ref();
            let heading = format!("agents.{name}");
            if let Some(problem) = problem_of(patch) {
                return Err(self.error_of(agent, format!("[{heading}]: {problem}")));
            }
            let key = patch.api_key.as_deref();
            self.check_key_name(agent, &heading, "api_key", key, author)?;
            if author == Author::User && patch.model.is_none() {
                return Err(self.error_of(agent, "missing field `model`"));
            }
        }
        for (name, server) in &self.file.mcp.servers {
            let entry = server.get_ref();
            // A project may switch one of the user's off, and need not repeat it for that.
            let is_off = author == Author::Project && !entry.is_enabled();
            let heading = format!("mcp.servers.{name}");
            let problem = mcp::name_problem(name).or_else(|| entry.problem().filter(|_| !is_off));
            if let Some(problem) = problem {
                return Err(self.error_of(server, format!("[{heading}]: {problem}")));
            }
            let (key, secret) = (entry.api_key.as_deref(), entry.client_secret.as_deref());
            self.check_key_name(server, &heading, "api_key", key, author)?;
            self.check_key_name(server, &heading, "client_secret", secret, author)?;
        }
        for (name, site) in &self.file.web_fetch.auth {
            if let Err(error) = site.get_ref().headers(name) {
                return Err(self.error_of(site, format!("[web_fetch.auth]: {error}")));
            }
        }
        if let Some(search) = &self.file.web_search {
            let entry = search.get_ref();
            if let Some(problem) = entry.problem() {
                return Err(self.error_of(search, format!("[web_search]: {problem}")));
            }
            let key = entry.api_key.as_deref();
            self.check_key_name(search, "web_search", "api_key", key, author)?;
        }
        if let Some(search) = &self.file.codebase_search {
            let entry = search.get_ref();
            if let Some(problem) = entry.problem() {
                return Err(self.error_of(search, format!("[codebase_search]: {problem}")));
            }
            let key = entry.api_key.as_deref();
            self.check_key_name(search, "codebase_search", "api_key", key, author)?;
        }
        Ok(())
    }

    /// Checks that a `field` of a table names one of the keys.
    fn check_key_name<T>(
        &self,
        table: &Spanned<T>,
        heading: &str,
        field: &str,
        key: Option<&str>,
        author: Author,
    ) -> Result<(), FileError> {
        let problem = key::name_problem(field, key, &self.file.keys, author);
        problem.map_or(Ok(()), |problem| {
            Err(FileError::Invalid {
                path: self.path.clone(),
                line: self.line_of_key(table, field),
                problem: format!("[{heading}]: {problem}"),
                hint: None,
            })
        })
    }

    fn error_at(&self, offset: usize, problem: String, hint: Option<String>) -> FileError {
        FileError::Invalid {
            path: self.path.clone(),
            line: self.line_at(offset),
            problem,
            hint,
        }
    }

    fn line_at(&self, offset: usize) -> usize {
        self.line_ends.partition_point(|&end| end < offset) + 1
    }
}

fn problem_of(agent: &AgentPatch) -> Option<String> {
    let within =
        |value: Option<f64>, most: f64| value.is_none_or(|value| (0.0..=most).contains(&value));
    if let Some(problem) = agent.base_url.as_ref().and_then(address_problem) {
        return Some(problem);
    }
    if agent.api == Some(ApiName::Local) {
        if cfg!(not(feature = "local-model")) {
            return Some("api = \"local\" was left out when this dunlin was built".to_owned());
        }
        if agent.base_url.is_some() {
            return Some("a local model has no base_url".to_owned());
        }
        if agent.api_key.is_some() {
            return Some("a local model needs no api_key".to_owned());
        }
    }
    if agent
        .model
        .as_ref()
        .is_some_and(|model| model.trim().is_empty())
    {
        return Some("model must not be empty".to_owned());
    }
    if !within(agent.temperature, 2.0) {
        return Some("temperature must be from 0 to 2".to_owned());
    }
    if !within(agent.top_p, 1.0) {
        return Some("top_p must be from 0 to 1".to_owned());
    }
    if agent.max_tokens == Some(0) {
        return Some("max_tokens must be at least 1".to_owned());
    }
    None
}

fn address_problem(url: &Url) -> Option<String> {
    if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
        return Some(format!(
            "base_url must start with http:// or https://, not {:?}",
            url.scheme()
        ));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Some("base_url must hold no user name and no password; use api_key".to_owned());
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Some("base_url must end with its path, without ? and #".to_owned());
    }
    None
}

fn read_bounded(path: &Path) -> io::Result<String> {
    let file = open_regular(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    let mut text = String::new();
    file.take(MAX_FILE_BYTES + 1).read_to_string(&mut text)?;
    if text.len() as u64 > MAX_FILE_BYTES {
        return Err(io::Error::other(format!(
            "it has more than {MAX_FILE_BYTES} bytes"
        )));
    }
    Ok(text)
}

/// The line of a key in the table whose header is in line `table`; where it cannot be told, that of the table.
pub fn line_of_key(text: &str, table: usize, key: &str) -> usize {
    let mut lines = text.lines().enumerate().skip(table);
    let found = lines
        .by_ref()
        .take_while(|(_, line)| !line.trim_start().starts_with('['))
        .find(|(_, line)| {
            let rest = line.trim_start().strip_prefix(key);
            rest.is_some_and(|rest| rest.trim_start().starts_with('='))
        });
    found.map_or(table, |(index, _)| index + 1)
}

/// The key whose value stands here, if it is written on the same line.
fn key_before(text: &str, offset: usize) -> Option<&str> {
    let before = text.get(..offset)?;
    let line = before.rsplit('\n').next()?;
    let (key, _) = line.split_once('=')?;
    let key = key.trim();
    let is_bare = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    (!key.is_empty() && key.chars().all(is_bare)).then_some(key)
}

/// What serde says of a value, in words that do not need to know Rust.
fn in_words(message: &str, key: Option<&str>) -> String {
    let subject = key.unwrap_or("this");
    // An address without its scheme.
    if message.starts_with("relative URL without a base") {
        return format!("{subject} must start with http:// or https://");
    }
    let stripped = ["invalid type: ", "invalid value: ", "unknown variant "]
        .iter()
        .find_map(|start| message.strip_prefix(start));
    let Some((found, expected)) = stripped.and_then(|rest| rest.rsplit_once(", expected ")) else {
        return match key {
            Some(key) => format!("{key}: {message}"),
            None => message.to_owned(),
        };
    };
    let expected = match expected {
        "u8" | "u16" | "u32" | "u64" | "usize" if found.starts_with("integer `-") => {
            // None at all is something to say only of what may fail.
            let least = if key == Some("max_retries") { 0 } else { 1 };
            return format!("{subject} must be at least {least}");
        }
        "u8" | "u16" | "u32" | "u64" | "usize" | "i64" => "a whole number",
        "f64" => "a number",
        "a boolean" => "true or false",
        "a sequence" => "a list",
        "a string" => "a text",
        "a map" => "a table",
        table if table.starts_with("struct ") => "a table",
        other => other,
    };
    let found = match found.split_once(' ') {
        Some(("string", text)) => format!("the text {text}"),
        Some(("integer" | "floating", value)) => {
            value.trim_start_matches("point ").replace('`', "")
        }
        Some(("boolean", value)) => value.replace('`', ""),
        _ => match found {
            "sequence" => "a list".to_owned(),
            "map" => "a table".to_owned(),
            other => other.to_owned(),
        },
    };
    format!("{subject} must be {expected}, not {found}")
}

/// The parser's messages may have several lines; an error of ours has one.
fn first_line(message: &str) -> String {
    message
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect::<Vec<_>>()
        .join(", ")
}

#[cfg(test)]
mod tests;
