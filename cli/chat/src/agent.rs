//! An agent: which model answers, where, and how it is to be asked.

use dunlin_host::Tool;
use dunlin_host::mcp::{LOADER, SEPARATOR};
use url::Url;

use crate::endpoint::EndpointOptions;
use crate::secret::Secret;
use dunlin_host::nearest::nearest;

/// Which protocol the endpoint speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Api {
    /// Chat completions as OpenAI defined them and most servers copied them.
    OpenAi,
    /// Ollama's own: `/api/chat`.
    Ollama,
    /// None: the model runs in this process.
    Local,
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
    /// Nucleus sampling; `None` leaves it to the endpoint.
    pub top_p: Option<f64>,
    /// What stands before every conversation.
    pub system_prompt: Option<String>,
    /// The names of the tools it may use; `None`: all.
    pub tools: Option<Vec<String>>,
    /// Whether `@` attaches files to a message.
    pub files: bool,
    /// What its endpoint wants otherwise than most.
    pub endpoint: EndpointOptions,
}

impl Agent {
    /// Those of its tools that do not exist, each with the nearest that does. What servers may offer is not known
    /// before they are connected.
    pub fn unknown_tools<'a>(&'a self, tools: &'a [Tool]) -> Vec<(&'a str, Option<&'a str>)> {
        unknown_tools(self.tools.as_deref().unwrap_or_default(), tools)
    }

    /// Whether the agent may use this tool. Whoever may connect servers may use what they offer.
    pub fn may_use(&self, tool: &str) -> bool {
        let is_of_server = tool.contains(SEPARATOR);
        self.tools.as_ref().is_none_or(|names| {
            let mut names = names.iter();
            names.any(|name| name == tool || (is_of_server && name == LOADER))
        })
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
            top_p: None,
            system_prompt: None,
            tools: None,
            files: true,
            endpoint: EndpointOptions::default(),
        }
    }
}
