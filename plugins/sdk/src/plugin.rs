//! The contract as an author meets it: what a plugin says of itself, and what a call gets and gives.

use std::borrow::Cow;

use crate::error::Failure;
use crate::files::{LineEdit, TextEdit};
use crate::need::{Need, Operation, Target};
use crate::process::CommandLine;
use crate::schema::Schema;
use crate::web::Request;

/// The version of the contract this crate was written for.
pub const CONTRACT: &str = "0.1.0";

/// A whole plugin, below the comfort of [`Tool`](crate::Tool): three functions and free hands.
///
/// [`export!`](crate::export) writes one of these out of tools. Implement it yourself when tools are
/// only known at run time, as in a bridge, and hand it to [`export_plugin!`](crate::export_plugin).
pub trait Plugin {
    /// Says what the plugin offers. Using a file, the chat or the log here traps.
    fn describe() -> PluginInfo;

    /// Says what a call will touch, without doing it. Of the imports only [`log`](crate::log) and
    /// `search.address` work here.
    fn prepare(call: Call) -> Result<Plan, Failure>;

    /// Does the work. Nothing is left in memory of what `prepare` did.
    fn run(call: Call) -> Result<Output, Failure>;
}

/// What a plugin says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PluginInfo {
    /// At least one.
    pub tools: Vec<ToolInfo>,
    /// What the user can set, see [`settings`](crate::settings).
    pub settings: Option<Parameters>,
}

impl PluginInfo {
    /// A plugin of these tools.
    pub fn new(tools: Vec<ToolInfo>) -> Self {
        Self {
            tools,
            settings: None,
        }
    }

    /// The same, with settings that a type is read from.
    #[must_use]
    pub fn with_settings<T: Schema>(self) -> Self {
        Self {
            settings: Some(Parameters::of::<T>()),
            ..self
        }
    }
}

/// What a tool says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ToolInfo {
    /// 1 to 64 of `a-z A-Z 0-9 _ -`, without `__`.
    pub name: String,
    /// What it does and when to use it, for the model.
    pub description: String,
    /// What it takes.
    pub parameters: Parameters,
    /// A name for people.
    pub title: Option<String>,
    /// The JSON Schema of the structured result, see [`Output::structured`].
    pub output_schema: Option<String>,
    /// Whether it may remove or overwrite something, if it says so.
    pub is_destructive: Option<bool>,
    /// Whether a second call with the same arguments changes nothing more, if it says so.
    pub is_idempotent: Option<bool>,
}

impl ToolInfo {
    /// A tool.
    pub fn new(
        name: impl Into<String>,
        description: impl Into<String>,
        parameters: Parameters,
    ) -> Self {
        Self {
            name: name.into(),
            description: description.into(),
            parameters,
            title: None,
            output_schema: None,
            is_destructive: None,
            is_idempotent: None,
        }
    }
}

/// The parameters of a tool: the JSON Schema of an object.
///
/// Three ways to write them: [`parameters!`](crate::parameters) lines, a [`Schema`](crate::Schema) that is derived from the
/// type of the arguments, or the JSON itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parameters(Cow<'static, str>);

impl Parameters {
    /// A tool without parameters.
    pub const NONE: Self =
        Self::json_schema(r#"{"type":"object","properties":{},"additionalProperties":false}"#);

    /// A JSON Schema of an object.
    pub const fn json_schema(text: &'static str) -> Self {
        Self(Cow::Borrowed(text))
    }

    /// The same, made while the plugin runs.
    pub fn of_text(text: String) -> Self {
        Self(Cow::Owned(text))
    }

    /// Those of a type that arguments are read into.
    pub const fn of<T: Schema>() -> Self {
        Self::json_schema(T::SCHEMA)
    }

    /// The JSON.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The JSON, where it is a constant.
    pub(crate) const fn constant(&self) -> &'static str {
        match &self.0 {
            Cow::Borrowed(text) => text,
            Cow::Owned(_) => panic!("the parameters of a tool are a constant text"),
        }
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
    /// [`web::Request::send`](crate::web::Request::send) with exactly this `GET`; shown with its query and headers.
    Get(Request),
    /// [`files::edit`](crate::files::edit) with exactly this; shown as a diff.
    Edit {
        /// Which file.
        path: String,
        /// In order, without overlaps.
        edits: Vec<LineEdit>,
    },
    /// [`files::append`](crate::files::append) with exactly this; shown as a diff.
    Append {
        /// Which file.
        path: String,
        /// What is added.
        text: String,
    },
    /// [`files::replace`](crate::files::replace) with exactly this; shown as a diff.
    Replace {
        /// Which file.
        path: String,
        /// What is replaced.
        old: String,
        /// What takes its place.
        new: String,
    },
    /// [`files::replace_texts`](crate::files::replace_texts) with exactly this; shown as a diff.
    ReplaceTexts {
        /// Which file.
        path: String,
        /// Without overlaps.
        edits: Vec<TextEdit>,
    },
    /// [`files::replace_lines`](crate::files::replace_lines) with exactly this; shown as a diff.
    ReplaceLines {
        /// Which file.
        path: String,
        /// All lines that it will have.
        text: String,
    },
    /// [`files::write`](crate::files::write) with exactly this; shown as a diff.
    Write {
        /// Which file.
        path: String,
        /// All that it will hold.
        text: String,
    },
    /// [`files::write_bytes`](crate::files::write_bytes) with exactly this.
    WriteBytes {
        /// Which file.
        path: String,
        /// All that it will hold.
        bytes: Vec<u8>,
    },
    /// [`files::remove`](crate::files::remove); shown with what goes.
    Remove {
        /// Which file.
        path: String,
    },
    /// [`files::rename`](crate::files::rename) with exactly this.
    Rename {
        /// Which file.
        path: String,
        /// Its new name.
        to: String,
    },
    /// [`files::create_folder`](crate::files::create_folder).
    CreateFolder {
        /// Which folder.
        path: String,
    },
    /// [`files::remove_folder`](crate::files::remove_folder).
    RemoveFolder {
        /// Which folder.
        path: String,
    },
    /// A change of this file that only `run` can tell; shown as a diff then.
    Change {
        /// Which file.
        path: String,
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

    /// Adds reading everything in a folder, and in those below it, except what holds secrets.
    pub fn reads_all_in(self, folder: impl Into<String>) -> Self {
        self.needs(Target::Folder(folder.into()), Operation::Read)
    }

    /// Adds creating, changing and removing whatever is in a folder, and in those below it, except what holds secrets or
    /// settings of git.
    pub fn writes_all_in(self, folder: impl Into<String>) -> Self {
        self.needs(Target::Folder(folder.into()), Operation::Write)
    }

    /// Adds running a program.
    pub fn executes(self, program: impl Into<String>) -> Self {
        self.needs(Target::Program(program.into()), Operation::Execute)
    }

    /// Adds sending a request. A `GET` is shown as it is, so that nothing is asked about when it is sent; a `POST` is asked
    /// about then.
    pub fn sends(mut self, request: Request) -> Self {
        if request.is_get() {
            self.actions.push(Action::Get(request));
            return self;
        }
        let url = request.url().to_owned();
        self.writes_url(url)
    }

    /// Adds fetching an address, with this query and without headers: those that need not be shown may go along. See
    /// [`Plan::sends`].
    pub fn reads_url(self, url: impl Into<String>) -> Self {
        self.needs(Target::Url(url.into()), Operation::Read)
    }

    /// Adds sending to an address.
    pub fn writes_url(self, url: impl Into<String>) -> Self {
        self.needs(Target::Url(url.into()), Operation::Write)
    }

    /// Adds fetching an address, which ends with `/`, and whatever is below it, with any query and headers.
    pub fn reads_site(self, url: impl Into<String>) -> Self {
        self.needs(Target::Site(url.into()), Operation::Read)
    }

    /// Adds sending to an address, which ends with `/`, and to whatever is below it.
    pub fn writes_site(self, url: impl Into<String>) -> Self {
        self.needs(Target::Site(url.into()), Operation::Write)
    }

    /// Adds changing lines of a file, or creating it. The user is shown the difference.
    pub fn edits(mut self, path: impl Into<String>, edits: Vec<LineEdit>) -> Self {
        let path = path.into();
        self.actions.push(Action::Edit { path, edits });
        self
    }

    /// Adds appending to a file, or creating it. The user is shown the difference.
    pub fn appends(mut self, path: impl Into<String>, text: impl Into<String>) -> Self {
        let (path, text) = (path.into(), text.into());
        self.actions.push(Action::Append { path, text });
        self
    }

    /// Adds replacing the only occurrence of a text in a file. The user is shown the difference.
    pub fn replaces(
        mut self,
        path: impl Into<String>,
        old: impl Into<String>,
        new: impl Into<String>,
    ) -> Self {
        let (path, old, new) = (path.into(), old.into(), new.into());
        self.actions.push(Action::Replace { path, old, new });
        self
    }

    /// Adds replacing texts in a file. The user is shown the difference.
    pub fn replaces_texts(mut self, path: impl Into<String>, edits: Vec<TextEdit>) -> Self {
        let path = path.into();
        self.actions.push(Action::ReplaceTexts { path, edits });
        self
    }

    /// Adds replacing all lines of a file that was read, or creating it. The user is shown the difference.
    pub fn replaces_lines(mut self, path: impl Into<String>, text: impl Into<String>) -> Self {
        let (path, text) = (path.into(), text.into());
        self.actions.push(Action::ReplaceLines { path, text });
        self
    }

    /// Adds replacing all of a file, or creating it. The user is shown the difference.
    pub fn rewrites(mut self, path: impl Into<String>, text: impl Into<String>) -> Self {
        let (path, text) = (path.into(), text.into());
        self.actions.push(Action::Write { path, text });
        self
    }

    /// Adds replacing all of a file, or creating it, with bytes that need not be text. The user is shown how many there are,
    /// their digest and the first of them.
    pub fn rewrites_bytes(mut self, path: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Self {
        let (path, bytes) = (path.into(), bytes.into());
        self.actions.push(Action::WriteBytes { path, bytes });
        self
    }

    /// Adds removing a file, or a symbolic link itself. The user is shown what goes.
    pub fn removes(mut self, path: impl Into<String>) -> Self {
        let path = path.into();
        self.actions.push(Action::Remove { path });
        self
    }

    /// Adds giving a file another name, which may be in another folder.
    pub fn renames(mut self, path: impl Into<String>, to: impl Into<String>) -> Self {
        let (path, to) = (path.into(), to.into());
        self.actions.push(Action::Rename { path, to });
        self
    }

    /// Adds making a folder, and those above it that are missing.
    pub fn creates_folder(mut self, path: impl Into<String>) -> Self {
        let path = path.into();
        self.actions.push(Action::CreateFolder { path });
        self
    }

    /// Adds removing an empty folder. What the plan removes before may be in it until then.
    pub fn removes_folder(mut self, path: impl Into<String>) -> Self {
        let path = path.into();
        self.actions.push(Action::RemoveFolder { path });
        self
    }

    /// Adds a file that the call changes in a way that only `run` can tell, as it has to read it first. The user is shown the
    /// difference when it is known, with the question of this plan. Where it is known now, use one of the others. It does not
    /// stand for removing or renaming the file.
    pub fn changes(mut self, path: impl Into<String>) -> Self {
        let path = path.into();
        self.actions.push(Action::Change { path });
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
#[non_exhaustive]
pub struct Output {
    /// The parts. None at all is an empty result.
    pub parts: Vec<Content>,
    /// The structured result as JSON, see [`Output::structured`].
    pub structured: Option<String>,
}

impl Output {
    /// A result of one text.
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            parts: vec![Content::Text(text.into())],
            structured: None,
        }
    }

    /// A structured result, which fits the tool's output schema. Without a text of its own the model gets the JSON.
    pub fn structured(value: &serde_json::Value) -> Self {
        Self {
            parts: Vec::new(),
            structured: Some(value.to_string()),
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
