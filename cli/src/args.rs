//! What may be typed on the command line: clap structs and nothing else.
//!
//! This is the low level of two: values are checked for their form only, without a file, a clock or the
//! network, so that `--help` and `--version` work with a broken configuration. [`crate::settings`]
//! combines them with the configuration.

mod apps;
mod ask;
mod help;
mod mcp;
mod plugin;
mod requests;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::error::ErrorKind;
use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum, ValueHint};
use dunlin_host::permission::SessionMode;
use dunlin_host::target::Operation;

use crate::config::request_editor::PauseMode;

pub use self::apps::AppCommand;
pub use self::ask::{Allow, AskArgs, OutputFormat};
pub use self::help::probable_operation;
pub use self::mcp::{McpAddArgs, McpCommand, McpServeArgs};
pub use self::plugin::{
    PluginArgs, PluginCommand, PluginFolder, PluginInstallArgs, PluginKeyCommand,
    PluginSourceCommand, Required,
};
pub use self::requests::{RequestArgs, RequestId, RequestsCommand, RequestsShowArgs};

/// An AI chat for the terminal whose tools cannot touch anything you did not grant
#[derive(Debug, Default, Parser)]
#[command(
    name = "dunlin",
    version,
    propagate_version = false,
    disable_help_subcommand = true
)]
pub struct Cli {
    /// What every command understands.
    #[command(flatten)]
    pub global: Global,
    /// `dunlin` alone is `dunlin chat`.
    #[command(flatten)]
    pub chat: ChatArgs,
    /// What to do; without it, the chat.
    #[command(subcommand)]
    pub command: Option<Command>,
}

impl Cli {
    /// What the arguments of this process say.
    pub fn of_process() -> Result<Cli, clap::Error> {
        Cli::of(std::env::args_os().collect())
    }

    /// Whether there is a command of this name.
    pub fn has_command(name: &str) -> bool {
        Cli::command().find_subcommand(name).is_some()
    }

    /// The chat opens sooner without the definition of every command, and so does the version appear.
    fn of(words: Vec<OsString>) -> Result<Cli, clap::Error> {
        match &words[..] {
            [] | [_] => Ok(Cli::default()),
            [_, only] if only == "--version" || only == "-V" => clap::Command::new("dunlin")
                .version(env!("CARGO_PKG_VERSION"))
                .try_get_matches_from(words)
                .map(|_| Cli::default()),
            _ => Cli::try_parse_from(&words)
                .and_then(Cli::validated)
                .map_err(|error| help::improved(error, &words)),
        }
    }

    /// Refuses what the definition cannot: an option of the chat before another command.
    fn validated(self) -> Result<Cli, clap::Error> {
        match &self.command {
            Some(Command::Help { topic }) if !help::is_page(topic) => Err(help::of_command(topic)),
            Some(_) if self.chat.fresh => Err(Cli::command().error(
                ErrorKind::ArgumentConflict,
                "--fresh belongs to the chat: dunlin --fresh, or dunlin chat --fresh",
            )),
            Some(_) if self.chat.intercept.is_some() => Err(Cli::command().error(
                ErrorKind::ArgumentConflict,
                "--intercept belongs to the chat or to ask: dunlin --intercept MODE, or dunlin ask --intercept MODE",
            )),
            Some(_) if self.chat.mode.is_some() => Err(Cli::command().error(
                ErrorKind::ArgumentConflict,
                "--mode belongs to the chat or to ask: dunlin --mode MODE, or dunlin ask --mode MODE",
            )),
            Some(_) if self.chat.resume.is_some() => Err(Cli::command().error(
                ErrorKind::ArgumentConflict,
                "--resume belongs to the chat: dunlin --resume, or dunlin chat --resume",
            )),
            _ => Ok(self),
        }
    }
}

/// Options that every command understands, before it or after it.
#[derive(Debug, Clone, Default, Args)]
pub struct Global {
    /// Use this agent of the configuration
    #[arg(long, global = true, help_heading = "Everywhere", value_name = "NAME")]
    pub agent: Option<String>,
    /// Use this model instead of the agent's
    #[arg(long, global = true, help_heading = "Everywhere", value_name = "MODEL")]
    pub model: Option<String>,
    /// Work in this project [default: the nearest folder above with .git or .dunlin]
    #[arg(long, global = true, help_heading = "Everywhere", value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub project: Option<PathBuf>,
    /// Use colours: auto, always or never
    #[arg(
        long,
        global = true,
        help_heading = "Everywhere",
        value_name = "WHEN",
        default_value = "auto",
        hide_possible_values = true
    )]
    pub color: ColorChoice,
    /// Print no status, only results and errors
    #[arg(
        short,
        long,
        global = true,
        help_heading = "Everywhere",
        conflicts_with = "verbose"
    )]
    pub quiet: bool,
    /// Print more: the model's reasoning, the tokens used
    #[arg(short, long, global = true, help_heading = "Everywhere")]
    pub verbose: bool,
}

/// When to use colours.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum ColorChoice {
    /// On a terminal, unless NO_COLOR is set
    #[default]
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

impl Global {
    /// What the terminal is told.
    pub fn terminal(&self) -> dunlin_terminal::ui::Options {
        use dunlin_terminal::ui::style::ColorChoice as Color;
        dunlin_terminal::ui::Options {
            color: match self.color {
                ColorChoice::Auto => Color::Auto,
                ColorChoice::Always => Color::Always,
                ColorChoice::Never => Color::Never,
            },
            quiet: self.quiet,
            verbose: self.verbose,
        }
    }
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Open the chat
    Chat(ChatArgs),
    /// Ask one question, print the answer and exit
    Ask(AskArgs),
    /// Serve an editor (Zed, JetBrains, Neovim) as its agent, over standard input and output
    Acp,
    /// List, show and call the tools
    #[command(subcommand, arg_required_else_help = true)]
    Tools(ToolsCommand),
    /// List, set, remove and explain permissions
    #[command(subcommand, arg_required_else_help = true)]
    Permissions(PermissionsCommand),
    /// List, show, search, rename, copy, export and delete conversations
    #[command(subcommand, arg_required_else_help = true)]
    Sessions(SessionsCommand),
    /// List, show, export and replay the requests that were sent to models
    #[command(subcommand, arg_required_else_help = true)]
    Requests(RequestsCommand),
    /// List, open, serve, show, export and delete the apps that agents have written in chats
    #[command(subcommand, arg_required_else_help = true)]
    App(AppCommand),
    /// Read, edit, send and cancel the requests of running chats from another terminal
    Inspect(InspectArgs),
    /// Manage MCP servers, or run Dunlin as one
    #[command(subcommand, arg_required_else_help = true)]
    Mcp(McpCommand),
    /// Write, build, check, install and remove tools of your own
    #[command(subcommand, arg_required_else_help = true)]
    Plugin(PluginCommand),
    /// Search the code of this project by meaning
    Search(SearchArgs),
    /// Show what tools were allowed to do, what they did and what Dunlin refused
    Audit(AuditArgs),
    /// List models with their context windows and prices; download and remove those that run in Dunlin itself
    #[command(subcommand, arg_required_else_help = true)]
    Model(ModelCommand),
    /// Show and check the configuration
    #[command(subcommand, arg_required_else_help = true)]
    Config(ConfigCommand),
    /// Check the installation
    Doctor,
    /// Print the completion script for a shell
    Completions(CompletionsArgs),
    /// Print the help of a command, or a page of the documentation
    Help {
        /// A command (ask, plugin new) or a topic; without one, all of them are listed
        #[arg(value_name = "COMMAND|TOPIC")]
        topic: Vec<String>,
    },
}

/// Options of the chat.
#[derive(Debug, Default, Args)]
pub struct ChatArgs {
    /// Resume the latest session of the project, or the one with this id prefix or title
    #[arg(long, alias = "continue", short = 'c', short_alias = 'r', value_name = "SESSION", num_args = 0..=1)]
    pub resume: Option<Option<String>>,
    /// Start a new session without offering earlier ones
    #[arg(long, conflicts_with = "resume")]
    pub fresh: bool,
    /// Pause requests before they are sent, to read and edit them: next, turn or every; or auto, to apply saved edits
    #[arg(long, value_name = "MODE", hide_possible_values = true)]
    pub intercept: Option<PauseMode>,
    /// Begin in this mode: ask, accept-edits or plan
    #[arg(long, value_name = "MODE", hide_possible_values = true, value_parser = modes())]
    pub mode: Option<SessionMode>,
}

/// What `--mode` takes.
fn modes() -> impl TypedValueParser<Value = SessionMode> {
    let modes = SessionMode::ALL.map(SessionMode::as_str);
    PossibleValuesParser::new(modes).try_map(|word| word.parse::<SessionMode>())
}

/// Arguments of a command that lists something.
#[derive(Debug, Args)]
pub struct ListArgs {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `inspect`.
#[derive(Debug, Args)]
pub struct InspectArgs {
    /// Print what happens as JSON lines, for scripts
    #[arg(long)]
    pub json: bool,
    /// Begin with the chat of this session, by the beginning of its id
    #[arg(value_name = "SESSION")]
    pub session: Option<String>,
}

/// Arguments of `search`.
#[derive(Debug, Args)]
pub struct SearchArgs {
    /// Print a JSON list of `{path, start_line, end_line, symbol, score}`
    #[arg(long)]
    pub json: bool,
    /// Print at most this many results, 1 to 50 [default: 10]
    #[arg(short = 'n', long = "count", value_name = "N", value_parser = clap::value_parser!(u8).range(1..=50))]
    pub count: Option<u8>,
    /// Search only below this folder or glob, relative to the project; repeat it for several
    #[arg(long, value_name = "GLOB")]
    pub within: Vec<String>,
    /// A complete question, such as: How does file reading work?
    #[arg(value_name = "QUERY", required = true)]
    pub query: Vec<String>,
}

/// What can be done with tools.
#[derive(Debug, Subcommand)]
pub enum ToolsCommand {
    /// List the tools
    List(ListArgs),
    /// Show one tool: its description, its parameters, its abilities
    Show {
        /// The name of the tool
        name: String,
    },
    /// Call a tool yourself, under the same permissions as a model
    Call {
        /// The name of the tool
        name: String,
        /// The arguments, as a JSON object
        #[arg(long, value_name = "JSON", default_value = "{}")]
        args: String,
    },
}

/// What can be done with permissions.
#[derive(Debug, Subcommand)]
pub enum PermissionsCommand {
    /// List the stored permissions
    List(ListArgs),
    /// Allow one operation on a target, in all projects and for every tool
    Allow(PermissionArgs),
    /// Deny one operation on a target, in all projects and for every tool
    Deny(PermissionArgs),
    /// Take back an allow or a deny: Dunlin asks about this operation on the target again
    Ask(PermissionArgs),
    /// Store the three characters of a target (r, w, x) at once, for every tool
    Set {
        /// A file, `folder/`, a program, a command such as 'cargo test', `https://host/`
        target: String,
        /// Three characters: r, w and x allow, - denies, ? leaves the operation undecided
        #[arg(allow_hyphen_values = true)]
        bits: String,
    },
    /// Remove the stored permissions of a target
    Unset {
        /// The target, as `permissions list` prints it
        target: String,
    },
    /// Explain what is allowed for a target, and which rule decides
    Explain {
        /// A file, `folder/`, a program, `https://host/`, or a command line (cargo test --lib)
        #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
        target: Vec<String>,
    },
}

/// An operation and what it is done with.
#[derive(Debug, Args)]
pub struct PermissionArgs {
    /// The operation
    #[arg(value_enum)]
    pub operation: OperationName,
    /// A file, `folder/`, a program, `https://host/`, a key as listed, or the words of a command (cargo test)
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    pub target: Vec<String>,
}

/// An operation as it is typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum OperationName {
    /// Read a file, list a folder, fetch an address
    Read,
    /// Create, change or remove files, send data to an address
    Write,
    /// Run a program or a command
    #[value(alias = "execute")]
    Run,
}

impl From<OperationName> for Operation {
    fn from(name: OperationName) -> Operation {
        match name {
            OperationName::Read => Operation::Read,
            OperationName::Write => Operation::Write,
            OperationName::Run => Operation::Execute,
        }
    }
}

/// What can be done with sessions.
#[derive(Debug, Subcommand)]
pub enum SessionsCommand {
    /// List the sessions of the project, newest first
    List {
        /// List the sessions of every project
        #[arg(long)]
        all: bool,
        /// Maximum number to list; 0 for all
        #[arg(short = 'n', long, value_name = "COUNT", default_value_t = 50)]
        lines: usize,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Print a conversation
    Show {
        /// The session: the beginning of its id, or its title
        session: String,
    },
    /// Search the sessions for a text
    Search {
        /// The text; upper and lower case count as the same
        text: String,
        /// Search the sessions of every project
        #[arg(long)]
        all: bool,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Give a session a title
    Rename {
        /// The session: the beginning of its id, or its title
        session: String,
        /// The title
        #[arg(required = true)]
        title: Vec<String>,
    },
    /// Copy a session into this project and print the id of the copy
    Fork {
        /// The session: the beginning of its id, or its title
        session: String,
    },
    /// Write a conversation into a file, or print it
    Export {
        /// The session: the beginning of its id, or its title
        session: String,
        /// The output format
        #[arg(long, value_name = "FORMAT", default_value = "md")]
        format: ExportFormat,
        /// Write to this file [default: standard output]
        #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
        output: Option<PathBuf>,
        /// Replace an existing file
        #[arg(long, requires = "output")]
        force: bool,
    },
    /// Delete sessions permanently
    Delete {
        /// The sessions: the beginnings of their ids, or their titles
        #[arg(required = true)]
        sessions: Vec<String>,
        /// Don't ask for confirmation
        #[arg(long)]
        yes: bool,
    },
}

/// As what a conversation is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ExportFormat {
    /// Markdown, for reading
    Md,
    /// JSON with everything that Dunlin stored but the bytes of images and documents, for programs
    Json,
}

/// Arguments of `audit`: which lines of the audit log.
#[derive(Debug, Clone, Default, Args)]
pub struct AuditArgs {
    /// Print only the entries of this tool
    #[arg(long, value_name = "NAME")]
    pub tool: Option<String>,
    /// Print only entries whose target or command line contains this text
    #[arg(long, value_name = "TEXT")]
    pub target: Option<String>,
    /// Print only entries of sessions whose id starts with this
    #[arg(long, value_name = "ID")]
    pub session: Option<String>,
    /// Print only entries since this time: 1h, 2d, today, yesterday, 2026-01-31, 2026-01-31T12:00 (with Z: UTC)
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub since: Option<String>,
    /// Print only what Dunlin refused
    #[arg(long)]
    pub denied: bool,
    /// Print at most this many of the newest lines; 0 prints all
    #[arg(short = 'n', long, value_name = "COUNT", default_value_t = 50)]
    pub lines: usize,
    /// Keep printing new entries
    #[arg(short, long)]
    pub follow: bool,
    /// Print the lines as the log stores them (JSON)
    #[arg(long)]
    pub json: bool,
}

/// What can be done with models.
#[derive(Debug, Subcommand)]
pub enum ModelCommand {
    /// List the models of your agents, with what is known of them, and the models that you can download
    List {
        /// List the entries of the table of models that have this text in their names instead, such as openai/gpt-4o
        text: Option<String>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Fetch the newest table of context windows and prices from models.dev
    Refresh {
        /// Fetch it from another place that has the file
        #[arg(long)]
        url: Option<String>,
    },
    /// Download a model; without a name, the smallest
    #[cfg(feature = "local-model")]
    Pull {
        /// The model, as `model list` prints it
        name: Option<String>,
    },
    /// Remove a model
    #[cfg(feature = "local-model")]
    Remove {
        /// The model, as `model list` prints it
        name: String,
    },
    /// Print the folder of the models
    #[cfg(feature = "local-model")]
    Path,
}

/// What can be done with the configuration.
#[derive(Debug, Clone, Subcommand)]
pub enum ConfigCommand {
    /// Print the path of the configuration file
    Path,
    /// Choose who answers: a server, a service and its key, or a model that runs here
    Init,
    /// Open the configuration file in your editor, and write it if it is valid
    Edit,
    /// Print every setting and where it comes from
    Show,
    /// Check the configuration files
    Check,
    /// Show what the project's configuration sets, and trust this version of it
    Trust {
        /// Don't ask for confirmation
        #[arg(long)]
        yes: bool,
    },
    /// Stop trusting the project's configuration
    Untrust,
    /// Store a key in the system's keyring, or delete it
    #[command(subcommand, arg_required_else_help = true)]
    Key(KeyCommand),
}

/// What can be done with keys.
#[derive(Debug, Clone, Subcommand)]
pub enum KeyCommand {
    /// Store a key; type it hidden, or pipe it in
    Set {
        /// Its name in the configuration
        name: String,
    },
    /// Delete a key
    Delete {
        /// Its name in the configuration
        name: String,
    },
}

/// Arguments of `completions`.
#[derive(Debug, Args)]
pub struct CompletionsArgs {
    /// The shell
    pub shell: Shell,
}

/// The shells for which there is a script.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Shell {
    Bash,
    Elvish,
    Fish,
    Powershell,
    Zsh,
}

#[cfg(test)]
mod tests;
