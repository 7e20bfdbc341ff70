//! The settings, each declared once: its name, type (with unit and limits), default, what a project's file may do to it,
//! and what it is for.
//!
//! Everything else follows from the declarations at the end of this file: the keys that a file may have, the values that
//! they take, the layers, `dunlin config show`, and the reference in `docs/configuration.md`, which a test compares. So a
//! new setting is one more declaration, and the code that uses it. With these two lines in `[limits]`,
//! `settings.limits.max_attachments.value` exists:
//!
//! ```text
//! /// Files that one message may attach.
//! max_attachments: Count = Count(20), lower();
//! ```

use std::collections::BTreeMap;

use dunlin_chat::provider::retry::DEFAULT_RETRIES;
use dunlin_chat::request::HistoryLimits;
use dunlin_chat::turn::{OnDenial, TurnRules};
use dunlin_host::permission::SessionMode;
use serde::{Deserialize, Serialize};
use toml::Spanned;

use super::agent::AgentPatch;
use super::embedding::CodebaseSearch;
use super::file::KeyEntry;
use super::hook::HookEntry;
use super::mcp::Mcp;
use super::notifications::SignalName;
use super::origin::{Origin, Sourced};
use super::request_editor::{MetadataField, PauseMode};
use super::search::WebSearch;
use super::sites::WebFetch;
use super::value::{Count, Seconds, UpTo, written};

/// What a project's file may do to a setting before the user trusts it.
pub enum Narrowing<T> {
    /// Nothing: it counts with trust.
    Trusted,
    /// It counts if this holds of its value and the user's, else with trust. In words for the reference.
    If(fn(&T, &T) -> bool, &'static str),
    /// Nothing, and trust changes that as little; why, as a sentence.
    Never(&'static str),
}

/// A project may lower the value.
fn lower<T: PartialOrd>() -> Narrowing<T> {
    Narrowing::If(|theirs, mine| theirs <= mine, "may lower it")
}

/// One layer over those before it.
pub trait Layer {
    /// Puts a value of this layer, if it has one and may set it, in place of what those before it say.
    fn set<T: Clone + Serialize>(
        &mut self,
        name: &'static str,
        setting: &mut Sourced<T>,
        value: Option<&Spanned<T>>,
        narrowing: &Narrowing<T>,
    );
}

/// A setting as `dunlin config show` prints it.
pub struct Row<'a> {
    /// Its whole name.
    pub name: &'static str,
    /// Its value, as it stands in a file.
    pub value: String,
    /// Where that comes from.
    pub origin: &'a Origin,
}

/// Declares the settings of a table: the table as a file has it, and as all layers together have it.
macro_rules! settings {
    (
        $(#[doc = $about:literal])+
        $path:literal, $file:ident => $table:ident {
            $(
                $(#[doc = $help:literal])+
                $key:ident: $type:ty = $default:expr, $narrowing:expr;
            )*
        }
        $($(#[doc = $more_help:literal])+ $(#[serde($serde:ident)])? $more:ident: $more_type:ty;)*
    ) => {
        $(#[doc = $about])+
        ///
        /// As a file has it. A missing key is `None`: another layer may have it.
        #[derive(Debug, Default, Deserialize)]
        #[serde(deny_unknown_fields)]
        pub struct $file {
            $($(#[doc = $help])+ pub $key: Option<Spanned<$type>>,)*
            $($(#[doc = $more_help])+ $(#[serde($serde)])? pub $more: $more_type,)*
        }

        $(#[doc = $about])+
        #[derive(Debug)]
        pub struct $table {
            $($(#[doc = $help])+ pub $key: Sourced<$type>,)*
        }

        impl Default for $table {
            fn default() -> $table {
                $table { $($key: Sourced::from($default),)* }
            }
        }

        impl $table {
            /// Puts a layer over those before it.
            pub fn apply(&mut self, file: &$file, layer: &mut impl Layer) {
                $(layer.set(
                    concat!($path, stringify!($key)),
                    &mut self.$key,
                    file.$key.as_ref(),
                    &$narrowing,
                );)*
            }

            /// What it comes to.
            pub fn rows(&self) -> Vec<Row<'_>> {
                vec![$(Row {
                    name: concat!($path, stringify!($key)),
                    value: written(&self.$key.value),
                    origin: &self.$key.origin,
                },)*]
            }

            /// The declarations, for the reference.
            #[cfg(test)]
            pub(super) fn declared() -> Vec<crate::config::reference_tests::Declared> {
                vec![$(crate::config::reference_tests::Declared::setting::<$type>(
                    stringify!($key),
                    concat!($($help),+),
                    &$default,
                    &$narrowing,
                ),)*]
            }
        }
    };
}

settings! {
    /// The file as a whole.
    "", File => General {
        /// The agent that answers if you name none.
        default_agent: String = "assistant".to_owned(), Narrowing::Trusted;
        /// The mode in which a chat begins: Dunlin asks, accepts edits of ordinary files in the project, or changes nothing and
        /// ends replies with a plan.
        mode: SessionMode = SessionMode::Ask,
            Narrowing::If(|theirs, mine| theirs <= mine, "may narrow it: `\"plan\"`");
        /// What happens after you deny a call without a text, or nobody can be asked: the turn ends, or the model is told and continues. After a denial by a rule, a mode or a hook it always continues.
        on_denial: OnDenial = OnDenial::Stop,
            Narrowing::If(|theirs, _| *theirs == OnDenial::Stop, "may set `\"stop\"`");
        /// Whether the chat shows successful calls, text between calls, reasoning and notices.
        // More to see is not a danger.
        show_intermediate_steps: bool = true, Narrowing::If(|theirs, _| *theirs, "may set `true`");
        /// The dimmed text at the empty prompt; `""` for none.
        placeholder: String = "Type a message, @ to attach a file".to_owned(), Narrowing::Trusted;
        /// The line above the prompt of a new chat; `""` for none.
        empty_state: String = "/help for commands, Ctrl-D to quit".to_owned(), Narrowing::Trusted;
        /// Whether the chat shows a dimmed line with the model, the agent, how much of the context window is left, and the
        /// tokens used with their cost: during a turn, and at the prompt when it has changed.
        status_line: bool = false, Narrowing::Trusted;
    }
    /// Which requests are paused before they are sent.
    #[serde(default)]
    request_editor: RequestEditorFile;
    /// How you are told that the chat waits for you.
    #[serde(default)]
    notifications: NotificationsFile;
    /// Limits of a turn.
    #[serde(default)]
    limits: LimitsFile;
    /// What commands may do.
    #[serde(default)]
    commands: CommandsFile;
    /// Where API keys are found, by name.
    #[serde(default)]
    keys: BTreeMap<String, Spanned<KeyEntry>>;
    /// The agents, by name.
    #[serde(default)]
    agents: BTreeMap<String, Spanned<AgentPatch>>;
    /// The servers whose tools a chat may use.
    #[serde(default)]
    mcp: Mcp;
    /// What runs before calls, after edits and at the end of turns, in this order.
    #[serde(default)]
    hook: Vec<Spanned<HookEntry>>;
    /// Which search engine answers.
    web_search: Option<Spanned<WebSearch>>;
    /// What `codebase_search` understands questions with.
    codebase_search: Option<Spanned<CodebaseSearch>>;
    /// Headers for certain sites.
    #[serde(default)]
    web_fetch: WebFetch;
}

settings! {
    /// `[request_editor]`
    "request_editor.", RequestEditorFile => RequestEditor {
        /// Which requests the chat pauses before it sends them.
        mode: PauseMode = PauseMode::Off, Narrowing::Never(YOURS_TO_EDIT);
        /// Sections that are listed of a request whose edits are saved.
        // What a person takes in at a glance.
        preview_limit: Count = Count(10), Narrowing::Never(YOURS_TO_EDIT);
        /// The fields that `/metadata` shows, in this order.
        metadata: Vec<MetadataField> = MetadataField::ALL.to_vec(), Narrowing::Never(YOURS_TO_EDIT);
    }
}

const YOURS_TO_EDIT: &str = "what is paused and edited is for you to decide, not for a project";

settings! {
    /// `[notifications]`
    "notifications.", NotificationsFile => Notifications {
        /// What the terminal is sent when the chat waits for you after you have typed nothing for a while: at a question, or at
        /// the end of a turn.
        signal: SignalName = SignalName::Bell, Narrowing::Never(TERMINAL_IS_YOURS);
        /// Seconds that you have typed nothing.
        after_secs: Seconds = Seconds(10), Narrowing::Never(TERMINAL_IS_YOURS);
        /// Whether the title of the window names the project, and says with `…` that a turn runs.
        title: bool = true, Narrowing::Never(TERMINAL_IS_YOURS);
    }
}

const TERMINAL_IS_YOURS: &str = "what your terminal shows and plays is yours to say";

settings! {
    /// `[limits]`
    "limits.", LimitsFile => Limits {
        /// Requests within one turn.
        max_tool_rounds: Count = Count(TurnRules::default().max_tool_rounds.into()), lower();
        /// Tokens of a request: conversation, tools and system prompt.
        max_history_tokens: Count = Count(HistoryLimits::default().max_tokens), lower();
        /// Lines of the conversation that a request carries.
        max_history_lines: Count = Count(HistoryLimits::default().max_lines), lower();
        /// The share of the limit at which the model summarises earlier turns; `0` for never.
        // A summary costs a request that nobody sees: never more often than the user wants it.
        compact_at: UpTo<1> = UpTo::default(), Narrowing::If(
            |theirs, mine| theirs.get() == 0.0 || (mine.get() > 0.0 && theirs >= mine),
            "may raise it or set `0`",
        );
        /// Seconds that the provider may send nothing.
        // Large local models need most of it for their first token.
        request_timeout_secs: Seconds = Seconds(60), lower();
        /// How often a request is repeated that failed before an answer began.
        max_retries: u32 = DEFAULT_RETRIES, lower();
        /// Seconds that one command may run.
        // Builds and test runs of most projects need less, and one that waits for input that never comes should not be
        // waited for much longer.
        command_timeout_secs: Seconds = Seconds(120), lower();
    }
}

settings! {
    /// `[commands]`
    "commands.", CommandsFile => Commands {
        /// Whether every command may use the network.
        network: bool = false, Narrowing::Never(YOURS_TO_OPEN);
        /// Folders and files that commands may write besides the project.
        write: Vec<String> = Vec::new(), Narrowing::Never(YOURS_TO_OPEN);
        /// Variables that commands and MCP servers get besides those that toolchains need: their names.
        environment: Vec<Spanned<String>> = Vec::new(), Narrowing::Never(YOURS_TO_OPEN);
    }
}

const YOURS_TO_OPEN: &str = "what commands may reach is yours to say";

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::config::file::{Author, Loaded};

    settings! {
        /// `[sample]`
        "sample.", SampleFile => Sample {
            /// Files that one message may attach.
            max_attachments: Count = Count(20), lower();
        }
    }

    /// One declaration is all that a setting takes.
    #[test]
    fn a_setting_follows_from_its_declaration() {
        let shown = |sample: &Sample| {
            let rows = sample.rows();
            let row = rows
                .iter()
                .map(|row| format!("{} = {} ({})", row.name, row.value, row.origin));
            row.collect::<String>()
        };
        let mut sample = Sample::default();
        assert_eq!(shown(&sample), "sample.max_attachments = 20 (default)");
        let file: SampleFile = toml::from_str("max_attachments = 3").unwrap();
        let loaded = Loaded::parse(Path::new("config.toml"), "", Author::User).unwrap();
        sample.apply(&file, &mut &loaded);
        assert_eq!(shown(&sample), "sample.max_attachments = 3 (config.toml:1)");
        let cells = &Sample::declared()[0].0;
        let expected = ["`max_attachments`", "whole number from 1", "`20`"];
        assert_eq!(cells[..3], expected);
        assert_eq!(
            cells[3..],
            ["Files that one message may attach.", "may lower it"]
        );
        for (text, problem) in [
            ("max_attachment = 1", "expected `max_attachments`"),
            ("max_attachments = 0", "must be at least 1"),
        ] {
            let error = toml::from_str::<SampleFile>(text).unwrap_err();
            assert!(error.message().contains(problem), "{error}");
        }
    }
}
