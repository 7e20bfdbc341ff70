//! How many tokens a model can see at once.
//!
//! No protocol says it, and nearly every server does, each in its own place. What comes out of here is a help:
//! a server that says nothing, or nonsense, leaves the window unknown, and nobody waits for it.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use dunlin_chat::provider::{Window, WindowSource};
use serde_json::Value;

/// The smallest window that is believed, in tokens. Less is a mistake, or a limit of something else.
const SMALLEST: u64 = 256;

/// The largest window that is believed, in tokens: ten times the largest there is.
const LARGEST: u64 = 100_000_000;

/// Whether a window can have this size.
pub fn is_believed(tokens: u64) -> bool {
    (SMALLEST..=LARGEST).contains(&tokens)
}

/// How often a server is asked in one dialogue: again only where the reply was over before the answer came.
const MAX_LOOK_UPS: u32 = 3;

/// What is known of the window of one model at one endpoint.
#[derive(Debug, Default)]
pub struct KnownWindow {
    configured: Option<u64>,
    server: OnceLock<u64>,
    look_ups: AtomicU32,
}

impl KnownWindow {
    /// Begins with what is configured.
    pub fn new(configured: Option<u64>) -> KnownWindow {
        KnownWindow {
            configured,
            ..KnownWindow::default()
        }
    }

    /// The window. What is configured counts, unless the server has less: it does not see more by being told.
    pub fn get(&self) -> Option<Window> {
        let server = self.server.get().map(|tokens| Window {
            tokens: *tokens,
            source: WindowSource::Server,
        });
        let configured = self.configured.map(|tokens| Window {
            tokens,
            source: WindowSource::Configured,
        });
        match (server, configured) {
            (Some(server), Some(configured)) if server.tokens < configured.tokens => Some(server),
            (server, configured) => configured.or(server),
        }
    }

    /// Whether the server should be asked now. Counts as having been asked.
    pub fn wants_look_up(&self) -> bool {
        self.server.get().is_none() && self.look_ups.fetch_add(1, Ordering::Relaxed) < MAX_LOOK_UPS
    }

    /// The server has answered: nobody asks again.
    pub fn answered(&self, tokens: Option<u64>) {
        self.look_ups.store(MAX_LOOK_UPS, Ordering::Relaxed);
        if let Some(tokens) = tokens.filter(|tokens| is_believed(*tokens)) {
            // Only one look-up can be under way; a second answer would say the same.
            let _ = self.server.set(tokens);
        }
    }
}

/// What a list of models (`GET /models`) says about one of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Listed {
    /// The window that is in force.
    pub(super) window: Option<u64>,
    /// The longest window that the model was trained for: an upper bound.
    pub(super) trained: Option<u64>,
    /// Who to ask for more.
    pub(super) more: Option<More>,
}

/// Servers that say more in a place of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum More {
    /// llama.cpp: `GET /props`.
    LlamaCpp,
    /// LM Studio: `GET /api/v0/models`.
    LmStudio,
    /// Ollama: `GET /api/ps`.
    Ollama,
}

/// Reads a list of models.
pub(super) fn listed(list: &Value, model: &str) -> Listed {
    let Some(entry) = entry(list, model) else {
        return Listed::default();
    };
    let number = |paths: &[&str]| {
        paths
            .iter()
            .find_map(|path| entry.pointer(path).and_then(Value::as_u64))
    };
    let more = match entry.get("owned_by").and_then(Value::as_str) {
        Some("llamacpp") => Some(More::LlamaCpp),
        Some("organization_owner" | "organization-owner") => Some(More::LmStudio),
        Some("library") => Some(More::Ollama),
        _ => None,
    };
    // Two limits where a router sends to several: the one of the endpoint that it prefers is in force.
    let window = [
        number(&[
            "/context_length",
            "/max_model_len",
            "/context_window",
            "/max_context_length",
            "/max_input_tokens",
            "/meta/n_ctx",
        ]),
        number(&["/top_provider/context_length"]),
    ];
    Listed {
        window: window.into_iter().flatten().min(),
        trained: number(&["/meta/n_ctx_train"]),
        more,
    }
}

/// Reads the properties of a llama.cpp server.
pub(super) fn llama_cpp(props: &Value) -> Option<u64> {
    props
        .pointer("/default_generation_settings/n_ctx")
        .or_else(|| props.get("n_ctx"))
        .and_then(Value::as_u64)
}

/// Reads LM Studio's own list of models.
pub(super) fn lm_studio(list: &Value, model: &str) -> Option<u64> {
    let entry = entry(list, model)?;
    ["loaded_context_length", "max_context_length"]
        .iter()
        .find_map(|field| entry.get(field).and_then(Value::as_u64))
}

/// The entry of a model in a list; the only one there is, if that bears another name: servers with one model
/// take any name.
fn entry<'a>(list: &'a Value, model: &str) -> Option<&'a Value> {
    let entries = list
        .get("data")
        .or_else(|| list.get("models"))
        .unwrap_or(list)
        .as_array()?;
    let named = |entry: &&Value| {
        ["id", "name", "model"]
            .iter()
            .any(|field| entry.get(field).and_then(Value::as_str) == Some(model))
    };
    match entries.as_slice() {
        [only] => Some(only),
        entries => entries.iter().find(named),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn servers_say_the_window_each_in_their_place() {
        let check = |who: &str,
                     entry: Value,
                     window: Option<u64>,
                     trained: Option<u64>,
                     more: Option<More>| {
            let other = json!({"id": "other", "context_length": 1, "max_model_len": 1});
            let mut entry = entry;
            entry["id"] = "small".into();
            let list = json!({"object": "list", "data": [other, entry]});
            assert_eq!(
                listed(&list, "small"),
                Listed {
                    window,
                    trained,
                    more
                },
                "{who}"
            );
        };
        check(
            "vLLM",
            json!({"owned_by": "vllm", "max_model_len": 8192}),
            Some(8192),
            None,
            None,
        );
        check(
            "OpenRouter",
            json!({"context_length": 131_072, "top_provider": {"context_length": 32_768}}),
            Some(32_768),
            None,
            None,
        );
        check(
            "Groq",
            json!({"context_window": 131_072}),
            Some(131_072),
            None,
            None,
        );
        check(
            "Mistral",
            json!({"max_context_length": 32_768}),
            Some(32_768),
            None,
            None,
        );
        check(
            "Anthropic",
            json!({"type": "model", "max_input_tokens": 1_000_000, "max_tokens": 128_000}),
            Some(1_000_000),
            None,
            None,
        );
        check(
            "llama.cpp",
            json!({"owned_by": "llamacpp", "meta": {"n_ctx_train": 8192, "n_params": 1}}),
            None,
            Some(8192),
            Some(More::LlamaCpp),
        );
        check(
            "LM Studio",
            json!({"owned_by": "organization_owner"}),
            None,
            None,
            Some(More::LmStudio),
        );
        check(
            "Ollama",
            json!({"owned_by": "library"}),
            None,
            None,
            Some(More::Ollama),
        );
        check(
            "OpenAI",
            json!({"owned_by": "system", "created": 1}),
            None,
            None,
            None,
        );
        check(
            "nonsense",
            json!({"context_length": "many", "max_model_len": -1}),
            None,
            None,
            None,
        );
    }

    #[test]
    fn places_of_their_own() {
        let props = json!({"default_generation_settings": {"n_ctx": 4096}, "total_slots": 1});
        assert_eq!(llama_cpp(&props), Some(4096));
        assert_eq!(llama_cpp(&json!([])), None);
        let list = json!({"data": [
            {"id": "small", "state": "loaded", "max_context_length": 131_072, "loaded_context_length": 4096},
            {"id": "other", "state": "not-loaded", "max_context_length": 32_768},
        ]});
        assert_eq!(lm_studio(&list, "small"), Some(4096));
        assert_eq!(lm_studio(&list, "other"), Some(32_768));
        assert_eq!(lm_studio(&list, "third"), None);
    }

    #[test]
    fn the_only_model_answers_to_any_name() {
        let list = json!({"data": [{"id": "/models/a.gguf", "max_model_len": 2048}]});
        assert_eq!(listed(&list, "gpt-4").window, Some(2048));
        for nonsense in [
            json!(null),
            json!({"data": 1}),
            json!({"data": []}),
            json!([]),
            json!("x"),
        ] {
            assert_eq!(listed(&nonsense, "a"), Listed::default());
        }
    }

    #[test]
    fn what_is_configured_counts_unless_the_server_has_less() {
        let check = |configured: Option<u64>,
                     server: Option<u64>,
                     expected: Option<(u64, WindowSource)>| {
            let known = KnownWindow::new(configured);
            assert!(known.wants_look_up());
            known.answered(server);
            let expected = expected.map(|(tokens, source)| Window { tokens, source });
            assert_eq!(known.get(), expected, "{configured:?} {server:?}");
            assert!(!known.wants_look_up());
        };
        check(None, None, None);
        check(None, Some(4096), Some((4096, WindowSource::Server)));
        check(Some(8192), None, Some((8192, WindowSource::Configured)));
        check(Some(8192), Some(4096), Some((4096, WindowSource::Server)));
        check(
            Some(8192),
            Some(131_072),
            Some((8192, WindowSource::Configured)),
        );
        check(None, Some(0), None);
        check(None, Some(u64::MAX), None);
    }

    #[test]
    fn a_server_is_asked_a_few_times_at_most() {
        let known = KnownWindow::new(None);
        let asked = (0..100).filter(|_| known.wants_look_up()).count();
        assert_eq!(asked, 3);
    }
}
