//! `[agents.NAME]`: what answers, and where.

use serde::{Deserialize, Serialize};
use url::Url;

use super::value::{Count, UpTo, table};
use dunlin_chat::agent::{Api, Effort};
use dunlin_chat::endpoint::EndpointOptions;
use dunlin_provider::http::is_this_machine;

table! {
    /// `[agents.NAME]`, as far as a file says it. The user's file says all that an agent needs; a project's may
    /// change one of the user's agents in a few points.
    #[derive(Debug, Clone, Default, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct AgentPatch {
        /// The kind of agent: `"chat"` by default, or `"app"`, which [writes apps](apps.md) and has no tools.
        pub kind: Option<Kind>,
        /// What the agent is for: for lists, and for the model that chooses a subagent.
        pub description: Option<String>,
        /// Whether `run_subagent` may start the agent; `false` by default. It needs a `description`.
        pub subagent: Option<bool>,
        /// The protocol; by default `"openai"`, which most servers speak.
        pub api: Option<ApiName>,
        /// The URL of the endpoint, `/v1` included; by default that of OpenAI or Anthropic, or of Ollama on this machine.
        pub base_url: Option<Url>,
        /// The model's name at the endpoint.
        pub model: Option<String>,
        /// A name of `[keys]`.
        pub api_key: Option<String>,
        /// Whether the key may be sent unencrypted, to an `http://` address that is not of this machine; `false` by default.
        pub key_over_http: Option<bool>,
        /// How freely the model chooses its words.
        pub temperature: Option<UpTo<2>>,
        /// Tokens of one answer.
        pub max_tokens: Option<Count>,
        /// Tokens that the model sees at once: for Ollama the window to request (`num_ctx`), elsewhere what the server has.
        pub context_window: Option<Count>,
        /// The model's entry in the [table of models](providers.md#the-table-of-models), such as `"openai/gpt-4o"`, where
        /// `base_url` and `model` do not lead to it, as behind a proxy.
        pub known_as: Option<String>,
        /// The share of likely words that the model chooses from.
        pub top_p: Option<UpTo<1>>,
        /// How much the model [thinks](providers.md#reasoning-effort); by default as the server chooses.
        pub reasoning_effort: Option<Effort>,
        /// What the model is told first; a [short default](instructions.md#the-default-system-prompt) without it, and
        /// nothing for `""`.
        pub system_prompt: Option<String>,
        /// Whether conversations begin with the [instruction files](instructions.md), such as `AGENTS.md`; `true` by
        /// default.
        pub instructions: Option<bool>,
        /// The tools that the agent may use; all by default, and none with `[]`.
        pub tools: Option<Vec<String>>,
        /// Whether `@` attaches files to a message; `true` by default.
        pub files: Option<bool>,
        /// What this server needs, see [profiles](providers.md#profiles).
        pub endpoint: Option<EndpointOptions>,
    }
}

/// An agent with what it needs.
#[derive(Debug, Clone)]
pub struct AgentEntry {
    /// The URL of the endpoint, `/v1` included.
    pub base_url: Url,
    /// The model's name at the endpoint.
    pub model: String,
    /// All that files say of it.
    pub options: AgentPatch,
}

/// The kinds of agents.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Answers in the chat.
    #[default]
    Chat,
    /// Writes small programs that run in the browser. It has no tools.
    App,
}

/// The protocols.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ApiName {
    /// Chat completions.
    #[default]
    OpenAi,
    /// OpenAI's Responses API.
    #[serde(rename = "openai-responses")]
    Responses,
    /// Ollama's own.
    Ollama,
    /// Anthropic's Messages API.
    Anthropic,
    /// None: the model runs in this process.
    Local,
}

impl From<ApiName> for Api {
    fn from(name: ApiName) -> Api {
        match name {
            ApiName::OpenAi => Api::OpenAi,
            ApiName::Responses => Api::Responses,
            ApiName::Ollama => Api::Ollama,
            ApiName::Anthropic => Api::Anthropic,
            ApiName::Local => Api::Local,
        }
    }
}

impl ApiName {
    /// Where an endpoint of this protocol is unless a file says otherwise.
    fn usual_address(self) -> &'static str {
        match self {
            ApiName::OpenAi | ApiName::Responses => "https://api.openai.com/v1",
            ApiName::Ollama => "http://127.0.0.1:11434",
            ApiName::Anthropic => "https://api.anthropic.com",
            ApiName::Local => THIS_PROCESS,
        }
    }
}

/// What stands for the endpoint of models that run in this process; only the settings know where their
/// files are.
const THIS_PROCESS: &str = "file:///";

const APP_AS_SUBAGENT: &str =
    "an agent with kind = \"app\" cannot be a subagent: remove `subagent` or `kind`";

impl AgentPatch {
    /// Where the endpoint is: the address that was given, or the usual one of the protocol.
    fn address_or_default(&self) -> Option<Url> {
        let usual = || self.api.unwrap_or_default().usual_address();
        self.address().or_else(|| Url::parse(usual()).ok())
    }

    /// Where the endpoint is, if that was said or need not be.
    fn address(&self) -> Option<Url> {
        match self.api {
            Some(ApiName::Local) => Url::parse(THIS_PROCESS).ok(),
            _ => self.base_url.clone(),
        }
    }

    /// The agent, if nothing is missing.
    pub fn complete(self) -> Option<AgentEntry> {
        Some(AgentEntry {
            base_url: self.address_or_default()?,
            model: self.model.clone()?,
            options: self,
        })
    }

    /// The agent that comes of putting this over another; without a key.
    pub fn over(self, mine: &AgentEntry) -> Option<AgentEntry> {
        let base_url = self.address().unwrap_or_else(|| mine.base_url.clone());
        let mut options = toml::Table::try_from(&mine.options).ok()?;
        options.extend(toml::Table::try_from(&self).ok()?);
        // Which model mine is says nothing of another one.
        let is_mine = self.model.is_none() && self.base_url.is_none();
        let known_as = self.known_as.clone();
        let known_as = known_as.or_else(|| mine.options.known_as.clone().filter(|_| is_mine));
        let options = AgentPatch {
            api_key: None,
            known_as,
            ..options.try_into().ok()?
        };
        // One that ran in this process has no endpoint to go on with, and the other way round.
        if (options.api == Some(ApiName::Local)) != (base_url.scheme() == "file") {
            return None;
        }
        Some(AgentEntry {
            base_url,
            model: options.model.clone()?,
            options,
        })
    }

    /// Why the whole agent cannot be the subagent that it is said to be, if it is.
    pub fn subagent_problem(&self) -> Option<&'static str> {
        if self.subagent != Some(true) {
            return None;
        }
        if self.kind == Some(Kind::App) {
            return Some(APP_AS_SUBAGENT);
        }
        let description = self.description.as_deref().unwrap_or_default();
        description.trim().is_empty().then_some(
            "subagent = true needs `description`: a model chooses the agent by what it is for",
        )
    }

    /// Why the whole agent would show its key to whoever is between, if it would.
    pub fn exposed_key_problem(&self) -> Option<&'static str> {
        let is_sent = self.api_key.is_some() && self.base_url.as_ref().is_some_and(is_exposed);
        (is_sent && self.key_over_http != Some(true)).then_some(
            "api_key would be sent unencrypted; base_url must start with https://, or key_over_http = true allows it",
        )
    }

    /// What is wrong with it, if anything.
    pub(super) fn problem(&self) -> Option<String> {
        if let Some(problem) = self.base_url.as_ref().and_then(address_problem) {
            return Some(problem);
        }
        if self.api == Some(ApiName::Local) {
            if cfg!(not(feature = "local-model")) {
                return Some("api = \"local\" was left out when this dunlin was built".to_owned());
            }
            if self.base_url.is_some() {
                return Some("a local model has no base_url".to_owned());
            }
            if self.api_key.is_some() {
                return Some("a local model needs no api_key".to_owned());
            }
            if self.reasoning_effort.is_some() {
                return Some("a local model takes no reasoning_effort".to_owned());
            }
            if self.known_as.is_some() {
                return Some("a local model is in no table of models: remove known_as".to_owned());
            }
        }
        let is_entry = |name: &String| matches!(name.split_once('/'), Some((service, model)) if !service.is_empty() && !model.is_empty());
        if let Some(name) = self.known_as.as_ref().filter(|name| !is_entry(name)) {
            return Some(format!(
                "known_as must be a service and its model, such as \"openai/gpt-4o\", not {name:?}"
            ));
        }
        if self.kind == Some(Kind::App) && self.tools.is_some() {
            return Some(
                "an agent with kind = \"app\" has no tools: remove `tools` or `kind`".to_owned(),
            );
        }
        if self.kind == Some(Kind::App) && self.subagent == Some(true) {
            return Some(APP_AS_SUBAGENT.to_owned());
        }
        if self.kind == Some(Kind::App) && self.instructions == Some(true) {
            return Some(
                "an agent with kind = \"app\" reads no instruction files: remove `instructions` or `kind`"
                    .to_owned(),
            );
        }
        let is_empty = self.model.as_ref().is_some_and(|it| it.trim().is_empty());
        is_empty.then(|| "model must not be empty".to_owned())
    }
}

/// Whether what is sent there can be read on the way.
pub fn is_exposed(url: &Url) -> bool {
    url.scheme() == "http" && !is_this_machine(url)
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
