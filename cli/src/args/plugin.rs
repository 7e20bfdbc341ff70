//! What may be typed after `dunlin plugin`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum, ValueHint};

use super::ListArgs;
use crate::plugin::manifest::Language;

/// What can be done with plugins.
#[derive(Debug, Subcommand)]
pub enum PluginCommand {
    /// Create a small plugin in a new folder
    New {
        /// The name of the plugin and of its folder
        name: String,
        /// The programming language
        #[arg(long, value_name = "LANGUAGE", default_value = "rust")]
        lang: Language,
    },
    /// Build a plugin into a component
    Build(PluginFolder),
    /// Build a plugin and run the calls of its plugin.toml in a temporary project
    Test(PluginFolder),
    /// Build and install a plugin whenever its folder changes, until Ctrl-C
    Dev {
        /// The folder.
        #[command(flatten)]
        plugin: PluginFolder,
        /// Don't ask for confirmation
        #[arg(long)]
        yes: bool,
    },
    /// Bring the contract and the SDK in a plugin's folder to those of this Dunlin
    Upgrade(PluginFolder),
    /// Print what a plugin contains, what it may ask for and what is wrong with it
    Check(PluginArgs),
    /// Install a plugin from a file, a folder or a registry
    Install(PluginInstallArgs),
    /// Remove installed plugins
    Remove {
        /// The plugins
        #[arg(required = true, value_name = "NAME")]
        names: Vec<String>,
        /// Don't ask for confirmation
        #[arg(long)]
        yes: bool,
    },
    /// Show what a plugin lets you set, and set it
    Settings {
        /// The plugin
        name: String,
        /// What to set; a value is a text, or JSON where the plugin wants something else
        #[arg(value_name = "NAME=VALUE")]
        values: Vec<String>,
        /// Go back to the plugin's default
        #[arg(long, value_name = "NAME")]
        unset: Vec<String>,
    },
    /// Print what a plugin has logged and printed, and why it crashed
    Log {
        /// The plugin [default: all of them]
        name: Option<String>,
        /// Print at most this many of the newest lines; 0 prints all
        #[arg(short = 'n', long, value_name = "COUNT", default_value_t = 50)]
        lines: usize,
        /// Keep printing what comes
        #[arg(short, long)]
        follow: bool,
    },
    /// List the installed plugins
    List(ListArgs),
    /// Print what is known of an installed plugin: version, licence, origin, abilities, what the model reads
    Info {
        /// The plugin
        name: String,
    },
    /// List the plugins of which their origin has a newer version
    Outdated(ListArgs),
    /// Install the newer versions of plugins, each after a question
    Update {
        /// Only these plugins [default: all]
        #[arg(value_name = "NAME")]
        names: Vec<String>,
        /// Don't ask for confirmation
        #[arg(long)]
        yes: bool,
    },
    /// Go back to the version of a plugin that was installed before
    Rollback {
        /// The plugin
        name: String,
        /// Don't ask for confirmation
        #[arg(long)]
        yes: bool,
    },
    /// Publish a plugin in a registry, with the login of `docker login`
    Publish {
        /// Where to: a reference with a tag (ghcr.io/who/tool:1.0)
        reference: String,
        /// Which plugin.
        #[command(flatten)]
        from: PluginArgs,
        /// Move a tag that already names another component
        #[arg(long)]
        replace: bool,
    },
    /// Search the sources for plugins
    Search {
        /// Words of the name or the description [default: all plugins]
        #[arg(value_name = "WORD")]
        words: Vec<String>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Choose the sources that are searched
    Source {
        /// What is done with them.
        #[command(subcommand)]
        command: PluginSourceCommand,
    },
    /// Pin the keys that plugins have to be signed with
    Key {
        /// What is done with them.
        #[command(subcommand)]
        command: PluginKeyCommand,
    },
    /// Run hostile plugins in a temporary project and print what stopped each of them
    Zoo {
        /// Run only these plugins [default: all]
        #[arg(value_name = "GUEST")]
        guests: Vec<String>,
    },
}

/// What can be done with the sources of plugins.
#[derive(Debug, Subcommand)]
pub enum PluginSourceCommand {
    /// Add a source: the address of an index (https), a git repository (git+https), or a reference in a registry
    Add {
        /// The source
        source: String,
    },
    /// Remove a source
    Remove {
        /// The source
        source: String,
    },
    /// List the sources
    List(ListArgs),
}

/// What can be done with the keys of those who sign plugins.
#[derive(Debug, Subcommand)]
pub enum PluginKeyCommand {
    /// Pin a key: what comes from this origin has to be signed with it
    Add {
        /// A repository (ghcr.io/who/words), or all below a path (ghcr.io/who/)
        origin: String,
        /// The public key, such as cosign.pub
        #[arg(value_hint = ValueHint::FilePath)]
        file: PathBuf,
    },
    /// Remove the keys that are pinned for an origin
    Remove {
        /// The origin, as it was added
        origin: String,
    },
    /// List the keys, each with its SHA-256
    List(ListArgs),
    /// Install only plugins that are signed with a pinned key, or others, too
    Require {
        /// Whether a pinned key is required
        state: Required,
    },
}

/// Whether every plugin has to be signed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Required {
    /// Only signed ones are installed.
    On,
    /// Others are installed, too.
    Off,
}

/// Which folder.
#[derive(Debug, Args)]
pub struct PluginFolder {
    /// The folder of the plugin
    #[arg(default_value = ".", value_name = "FOLDER", value_hint = ValueHint::DirPath)]
    pub folder: PathBuf,
}

/// Which plugin.
#[derive(Debug, Args)]
pub struct PluginArgs {
    /// A component (.wasm), the folder of a plugin, or a reference in a registry (ghcr.io/who/tool:1.0)
    #[arg(default_value = ".", value_name = "FILE|FOLDER|REFERENCE", value_hint = ValueHint::AnyPath)]
    pub from: PathBuf,
}

/// Arguments of `plugin install`.
#[derive(Debug, Args)]
pub struct PluginInstallArgs {
    /// Which plugin.
    #[command(flatten)]
    pub plugin: PluginArgs,
    /// The name of the plugin [default: the name of the file, the folder or the repository]
    #[arg(long)]
    pub name: Option<String>,
    /// Don't ask for confirmation
    #[arg(long)]
    pub yes: bool,
}
