//! An agent: which model answers, where, and how it is to be asked.

use std::borrow::Cow;
use std::sync::Arc;

use dunlin_host::Tool;
use dunlin_host::mcp::{LOADER, SEPARATOR};
use serde::{Deserialize, Serialize};
use url::Url;

use crate::endpoint::EndpointOptions;
use crate::instructions::Instructions;
use crate::secret::Secret;
use dunlin_host::nearest::nearest;

/// The tool that starts subagents. No subagent may use it.
pub const RUN_SUBAGENT: &str = "run_subagent";

/// The tool that takes the patches which OpenAI trains its models to write.
pub const APPLY_PATCH: &str = "apply_patch";

/// How the names of models begin that were trained to write such patches, by
/// [OpenAI's guide](https://developers.openai.com/cookbook/examples/gpt4-1_prompting_guide) and its open models.
const WRITE_PATCHES: [&str; 5] = ["gpt-4.1", "gpt-5", "gpt-oss", "codex", "o4-mini"];

/// Which protocol the endpoint speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Api {
    /// Chat completions as OpenAI defined them and most servers copied them.
    OpenAi,
    /// OpenAI's newer one, the Responses API: `/responses`.
    Responses,
    /// Ollama's own: `/api/chat`.
    Ollama,
    /// Anthropic's Messages API: `/v1/messages`.
    Anthropic,
    /// None: the model runs in this process.
    Local,
}

/// How much a model is to think before it answers, where that can be asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Effort {
    /// Not at all.
    None,
    Low,
    Medium,
    High,
}

impl Effort {
    /// All of them, the least first.
    pub const ALL: [Effort; 4] = [Effort::None, Effort::Low, Effort::Medium, Effort::High];

    /// Its name, in files as in requests.
    pub fn name(self) -> &'static str {
        match self {
            Effort::None => "none",
            Effort::Low => "low",
            Effort::Medium => "medium",
            Effort::High => "high",
        }
    }

    /// The effort of this name.
    pub fn named(name: &str) -> Option<Effort> {
        Effort::ALL.into_iter().find(|effort| effort.name() == name)
    }
}

/// One agent, complete: the configuration has filled in its defaults and looked up the key.
#[derive(Debug, Clone, PartialEq)]
pub struct Agent {
    /// Its name in the configuration.
    pub name: String,
    /// The protocol.
    pub api: Api,
    /// What the protocol's paths are appended to, for example `http://127.0.0.1:8080/v1`. `http` or
    /// `https`; of a model in this process its file, as `file`.
    pub base_url: Url,
    /// The model, as the endpoint calls it.
    pub model: String,
    /// The key, if the endpoint wants one.
    pub api_key: Option<Secret>,
    /// Sampling temperature; `None` leaves it to the endpoint.
    pub temperature: Option<f64>,
    /// The longest reply, in tokens; `None` leaves it to the endpoint.
    pub max_tokens: Option<u32>,
    /// How many tokens the model is believed to see at once; `None`: as many as the endpoint says.
    pub context_window: Option<u64>,
    /// Its entry in the table of models, `service/model`; `None`: the one that its address and its model lead to.
    pub known_as: Option<String>,
    /// Nucleus sampling; `None` leaves it to the endpoint.
    pub top_p: Option<f64>,
    /// How much the model thinks; `None` leaves it to the endpoint.
    pub reasoning_effort: Option<Effort>,
    /// Its own system prompt; `None`: the default of the session, empty: none at all.
    pub system_prompt: Option<String>,
    /// What the session tells it besides.
    pub instructions: Arc<Instructions>,
    /// The names of the tools it may use; `None`: all.
    pub tools: Option<Vec<String>>,
    /// The names of tools it may not use, whatever `tools` says.
    pub denied_tools: Vec<String>,
    /// Whether `@` attaches files to a message.
    pub files: bool,
    /// What its endpoint wants otherwise than most.
    pub endpoint: EndpointOptions,
}

impl Agent {
    /// Its system prompt without the instruction files, if there is one.
    pub fn prompt(&self) -> Option<&str> {
        let default = self.instructions.default_prompt.as_deref();
        let prompt = self.system_prompt.as_deref().or(default);
        prompt.filter(|prompt| !prompt.trim().is_empty())
    }

    /// All that stands before its conversations.
    pub fn system_text(&self) -> Option<Cow<'_, str>> {
        self.instructions.after(self.prompt())
    }

    /// The same agent, told nothing but this.
    #[must_use]
    pub fn with_prompt_only(self, system_prompt: Option<String>) -> Agent {
        Agent {
            system_prompt,
            instructions: Arc::default(),
            ..self
        }
    }

    /// Those of its tools that do not exist, each with the nearest that does. What servers may offer is not known
    /// before they are connected.
    pub fn unknown_tools<'a>(&'a self, tools: &'a [Tool]) -> Vec<(&'a str, Option<&'a str>)> {
        unknown_tools(self.tools.as_deref().unwrap_or_default(), tools)
    }

    /// Whether the agent may use this tool. Whoever may connect servers may use what they offer.
    pub fn may_use(&self, tool: &str) -> bool {
        let is_of_server = tool.contains(SEPARATOR);
        let is_allowed = self.tools.as_ref().is_none_or(|names| {
            let mut names = names.iter();
            names.any(|name| name == tool || (is_of_server && name == LOADER))
        });
        is_allowed && !self.denied_tools.iter().any(|name| name == tool)
    }

    /// Whether a request offers this tool to the model. A model that was not trained to write patches is not told of the tool
    /// for them, unless the configuration names it; it may still call it.
    pub fn is_offered(&self, tool: &str) -> bool {
        let is_named = || self.tools.iter().flatten().any(|name| name == tool);
        self.may_use(tool) && (tool != APPLY_PATCH || self.writes_patches() || is_named())
    }

    /// Whether the model was trained to write patches.
    fn writes_patches(&self) -> bool {
        let model = self.known_as.as_deref().unwrap_or(&self.model);
        // Routers put the maker before the name: `openai/gpt-5`.
        let name = model.rsplit('/').next().unwrap_or(model);
        WRITE_PATCHES.iter().any(|start| name.starts_with(start))
    }

    /// Those of `tools` that this agent may use, too; `None`: all.
    pub fn shared_tools(&self, tools: Option<&[String]>) -> Option<Vec<String>> {
        let Some(tools) = tools else {
            return self.tools.clone();
        };
        let shared = tools.iter().filter(|tool| self.may_use(tool)).cloned();
        let mut shared: Vec<String> = shared.collect();
        // Whoever may connect servers may use what they offer, so of that there remains what this agent may use.
        if tools.iter().any(|tool| tool == LOADER) && !self.may_use(LOADER) {
            let own = self.tools.iter().flatten();
            let of_servers = own.filter(|tool| tool.contains(SEPARATOR) && self.may_use(tool));
            for tool in of_servers {
                if !shared.contains(tool) {
                    shared.push(tool.clone());
                }
            }
        }
        Some(shared)
    }
}

/// Those names that no tool has, each with the nearest that one has.
pub fn unknown_tools<'a>(
    names: &'a [String],
    tools: &'a [Tool],
) -> Vec<(&'a str, Option<&'a str>)> {
    let exists = |name: &str| {
        name == LOADER || name.contains(SEPARATOR) || tools.iter().any(|tool| tool.name == name)
    };
    let unknown = names.iter().map(String::as_str);
    let unknown = unknown.filter(|name| !exists(name));
    let known = || tools.iter().map(|tool| tool.name.as_str());
    unknown.map(|name| (name, nearest(name, known()))).collect()
}

#[cfg(any(test, feature = "samples"))]
#[expect(clippy::unwrap_used, reason = "for tests")]
impl Agent {
    /// A local agent for tests, with nothing set that need not be.
    pub fn sample() -> Agent {
        Agent {
            name: "assistant".to_owned(),
            api: Api::OpenAi,
            base_url: "http://127.0.0.1:8080/v1".parse().unwrap(),
            model: "small".to_owned(),
            api_key: None,
            temperature: None,
            max_tokens: None,
            context_window: None,
            known_as: None,
            top_p: None,
            reasoning_effort: None,
            system_prompt: None,
            instructions: Arc::default(),
            tools: None,
            denied_tools: Vec::new(),
            files: true,
            endpoint: EndpointOptions::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn a_denied_tool_is_never_used() {
        let of_server = format!("files{SEPARATOR}read");
        for tools in [None, Some(names(&["read_file", RUN_SUBAGENT, LOADER]))] {
            let agent = Agent {
                tools,
                denied_tools: names(&[RUN_SUBAGENT]),
                ..Agent::sample()
            };
            assert!(agent.may_use("read_file"));
            assert!(agent.may_use(&of_server));
            assert!(!agent.may_use(RUN_SUBAGENT));
        }
    }

    #[test]
    fn patches_are_offered_to_models_that_write_them() {
        let is_offered = |model: &str, known_as: Option<&str>, tools: Option<&[&str]>| {
            let agent = Agent {
                model: model.to_owned(),
                known_as: known_as.map(str::to_owned),
                tools: tools.map(names),
                ..Agent::sample()
            };
            assert_eq!(agent.is_offered("read_file"), agent.may_use("read_file"));
            agent.is_offered(APPLY_PATCH)
        };
        for model in [
            "gpt-5.1-codex",
            "openai/gpt-5",
            "gpt-oss:20b",
            "codex-mini-latest",
        ] {
            assert!(is_offered(model, None, None), "{model}");
            assert!(!is_offered(model, None, Some(&["read_file"])), "{model}");
        }
        assert!(is_offered("mine", Some("openai/gpt-5"), None));
        assert!(is_offered("qwen3", None, Some(&[APPLY_PATCH])));
        for model in ["qwen3", "claude-opus-4-1", "gpt-4o", "my-gpt-5"] {
            assert!(!is_offered(model, None, None), "{model}");
        }
    }

    #[test]
    fn shared_tools_are_those_of_both() {
        let of_server = format!("files{SEPARATOR}read");
        let check = |mine: Option<&[&str]>, theirs: Option<&[&str]>, shared: Option<&[&str]>| {
            let agent = Agent {
                tools: mine.map(names),
                denied_tools: names(&["denied"]),
                ..Agent::sample()
            };
            let theirs = theirs.map(names);
            let found = agent.shared_tools(theirs.as_deref());
            assert_eq!(found, shared.map(names), "{mine:?} {theirs:?}");
        };
        check(None, None, None);
        check(None, Some(&["a", "denied"]), Some(&["a"]));
        check(Some(&["a"]), None, Some(&["a"]));
        check(Some(&["a", "b"]), Some(&["b", "c"]), Some(&["b"]));
        check(Some(&["a"]), Some(&[]), Some(&[]));
        // Who may connect servers may use the tools of each, and the other way round.
        check(Some(&[LOADER]), Some(&[&of_server]), Some(&[&of_server]));
        check(
            Some(&["a", &of_server]),
            Some(&[LOADER, "a"]),
            Some(&["a", &of_server]),
        );
    }
}
