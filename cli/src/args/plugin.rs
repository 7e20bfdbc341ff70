//! What may be typed after `dunlin plugin`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};

/// What can be done with plugins.
#[derive(Debug, Subcommand)]
pub enum PluginCommand {
    /// Say what a plugin holds, what it may ask for, and whether anything is wrong with it
    Check(PluginArgs),
    /// Install a plugin from a file or a folder
    Install(PluginInstallArgs),
    /// Remove installed plugins
    Remove {
        /// The plugins
        #[arg(required = true, value_name = "NAME")]
        names: Vec<String>,
        /// Without asking
        #[arg(long)]
        yes: bool,
    },
    /// List the installed plugins
    List,
}

/// Which plugin.
#[derive(Debug, Args)]
pub struct PluginArgs {
    /// A component (.wasm), or the folder of a plugin
    #[arg(default_value = ".", value_name = "FILE|FOLDER", value_hint = ValueHint::AnyPath)]
    pub from: PathBuf,
}

/// Arguments of `plugin install`.
#[derive(Debug, Args)]
pub struct PluginInstallArgs {
    /// Which plugin.
    #[command(flatten)]
    pub plugin: PluginArgs,
    /// What it is to be called [default: the name of the file or the folder]
    #[arg(long)]
    pub name: Option<String>,
    /// Without asking
    #[arg(long)]
    pub yes: bool,
}
