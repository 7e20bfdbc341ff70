//! The contract as an author meets it: what a plugin says of itself, and what a call gets and gives.

use std::borrow::Cow;

use crate::error::Failure;
use crate::files::LineEdit;
use crate::need::{Need, Operation, Target};
use crate::process::CommandLine;

/// The version of the contract this crate was written for.
pub const CONTRACT: &str = "0.1.0";

/// A whole plugin, below the comfort of [`Tool`](crate::Tool): three functions and free hands.
///
/// [`export!`](crate::export) writes one of these out of tools. Implement it yourself when tools are
/// only known at run time, as in a bridge, and hand it to [`export_plugin!`](crate::export_plugin).
pub trait Plugin {
    /// Says what the plugin offers. Using a file, the chat or the log here traps.
    fn describe() -> PluginInfo;

    /// Says what a call will touch, without doing it. Of the imports only [`log`](crate::log) works here.
    fn prepare(call: Call) -> Result<Plan, Failure>;

    /// Does the work. Nothing is left in memory of what `prepare` did.
    fn run(call: Call) -> Result<Output, Failure>;
}

/// What a plugin says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PluginInfo {
    /// The contract it was written for: [`CONTRACT`].
    pub contract: String,
    /// How long an instance lives.
    pub life: Life,
    /// At least one.
    pub tools: Vec<ToolInfo>,
    /// Name and value pairs for hosts that know them.
    pub annotations: Vec<(String, String)>,
}

impl PluginInfo {
    /// A plugin of these tools, with one instance per call.
    pub fn new(tools: Vec<ToolInfo>) -> Self {
        Self {
            contract: CONTRACT.to_owned(),
            life: Life::Call,
            tools,
            annotations: Vec::new(),
        }
    }
}

/// How long one instance of a plugin lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Life {
    /// For one function call. The rule.
    Call,
    /// For the session, for bridges that hold connections.
    Session,
}

/// What a tool says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolInfo {
    /// 1 to 64 of `a-z A-Z 0-9 _ -`.
    pub name: String,
    /// What it does and when to use it, for the model.
    pub description: String,
    /// What it takes.
    pub parameters: Parameters,
    /// Name and value pairs for hosts that know them.
    pub annotations: Vec<(String, String)>,
}

/// The parameters of a tool, in one of two notations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Parameters {
    /// `@param` lines.
    Lines(Cow<'static, str>),
    /// A JSON Schema of an object.
    JsonSchema(Cow<'static, str>),
}

impl Parameters {
    /// A tool without parameters.
    pub const NONE: Self = Self::lines("");

    /// Lines `@param name {type} [required|optional] Description`.
    ///
    /// Types: string, integer, number, boolean, object, array. Without either word a parameter is
    /// required. Members of an object are `name.field`, the items of an array `name[]`, their
    /// members `name[].field`.
    pub const fn lines(text: &'static str) -> Self {
        Self::Lines(Cow::Borrowed(text))
    }

    /// A JSON Schema, for what the lines cannot say.
    pub const fn json_schema(text: &'static str) -> Self {
        Self::JsonSchema(Cow::Borrowed(text))
    }
}

/// One call that the model proposed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// Which of the plugin's tools.
    pub tool: String,
    /// A JSON object.
    pub arguments: String,
}

/// Something a call is going to do that a target and an operation cannot describe. The host works out
/// what it needs, shows it, and binds the user's answer to exactly that.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// [`files::edit`](crate::files::edit) with exactly this; shown as a diff.
    Edit {
        /// Which file.
        path: String,
        /// In order, without overlaps.
        edits: Vec<LineEdit>,
    },
    /// [`process::Command::start`](crate::process::Command::start) with exactly this; shown whole.
    Command(CommandLine),
}

/// What a tool says of a call before it runs: a question for the user, and everything it will touch.
///
/// ```
/// use dunlin_sdk::Plan;
///
/// let plan = Plan::ask("Copy 'a.txt' to 'b.txt'?").reads("a.txt").writes("b.txt");
/// assert_eq!(plan.needs.len(), 2);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub struct Plan {
    /// One line: `Read file 'src/main.rs'?`
    pub question: String,
    /// What is missing here is asked about later, in the host's own words.
    pub needs: Vec<Need>,
    /// What the host has to work out the needs of. They do not stand in `needs` as well.
    pub actions: Vec<Action>,
}

impl Plan {
    /// A plan that touches nothing yet. The question ends with a question mark.
    pub fn ask(question: impl Into<String>) -> Self {
        Self {
            question: question.into(),
            needs: Vec::new(),
            actions: Vec::new(),
        }
    }

    /// A plan whose actions say it all: the host words the question from them, and knows what the tool
    /// cannot know yet, such as whether a file exists.
    pub fn of_actions() -> Self {
        Self::ask("")
    }

    /// Adds reading a file, or listing a folder.
    pub fn reads(self, path: impl Into<String>) -> Self {
        self.needs(Target::Path(path.into()), Operation::Read)
    }

    /// Adds creating, changing or removing a file.
    pub fn writes(self, path: impl Into<String>) -> Self {
        self.needs(Target::Path(path.into()), Operation::Write)
    }

    /// Adds running a program.
    pub fn executes(self, program: impl Into<String>) -> Self {
        self.needs(Target::Program(program.into()), Operation::Execute)
    }

    /// Adds fetching an address.
    pub fn reads_url(self, url: impl Into<String>) -> Self {
        self.needs(Target::Url(url.into()), Operation::Read)
    }

    /// Adds sending to an address.
    pub fn writes_url(self, url: impl Into<String>) -> Self {
        self.needs(Target::Url(url.into()), Operation::Write)
    }

    /// Adds changing lines of a file, or creating it. The user is shown the difference.
    pub fn edits(mut self, path: impl Into<String>, edits: Vec<LineEdit>) -> Self {
        let path = path.into();
        self.actions.push(Action::Edit { path, edits });
        self
    }

    /// Adds a command line. The user is shown all of it.
    pub fn command(mut self, command: CommandLine) -> Self {
        self.actions.push(Action::Command(command));
        self
    }

    /// Adds any need.
    pub fn needs(mut self, target: Target, operation: Operation) -> Self {
        self.needs.push(Need { target, operation });
        self
    }
}

/// One part of a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// Text for the model.
    Text(String),
    /// Anything else.
    Blob {
        /// For example `image/png`.
        media_type: String,
        /// The content.
        bytes: Vec<u8>,
    },
}

/// The result of a call: parts in the order in which the model sees them.
///
/// Text converts into it: `Ok("done".into())`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Output {
    /// The parts. None at all is an empty result.
    pub parts: Vec<Content>,
}

impl Output {
    /// A result of one text.
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            parts: vec![Content::Text(text.into())],
        }
    }

    /// Adds a part that is not text.
    #[must_use]
    pub fn with_blob(mut self, media_type: impl Into<String>, bytes: Vec<u8>) -> Self {
        self.parts.push(Content::Blob {
            media_type: media_type.into(),
            bytes,
        });
        self
    }
}

impl From<String> for Output {
    fn from(text: String) -> Self {
        Self::text(text)
    }
}

impl From<&str> for Output {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}
