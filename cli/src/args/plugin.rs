//! What may be typed after `dunlin plugin`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};

use crate::plugin::manifest::Language;

/// What can be done with plugins.
#[derive(Debug, Subcommand)]
pub enum PluginCommand {
    /// Write a small plugin into a new folder
    New {
        /// What it is called, and the folder
        name: String,
        /// What it is written in
        #[arg(long, value_name = "LANGUAGE", default_value = "rust")]
        lang: Language,
    },
    /// Make a component of the folder of a plugin
    Build(PluginFolder),
    /// Build a plugin, and make the calls of its plugin.toml in a temporary project
    Test(PluginFolder),
    /// Build and install a plugin at each change of its folder, until Ctrl-C
    Dev {
        /// The folder.
        #[command(flatten)]
        plugin: PluginFolder,
        /// Without asking
        #[arg(long)]
        yes: bool,
    },
    /// Say what a plugin holds, what it may ask for, and whether anything is wrong with it
    Check(PluginArgs),
    /// Install a plugin from a file, a folder or a registry
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
    /// Let hostile plugins loose in a temporary project, and say what stopped each
    Zoo {
        /// These only [default: all]
        #[arg(value_name = "GUEST")]
        guests: Vec<String>,
    },
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
    /// A component (.wasm), the folder of a plugin, or what is in a registry (ghcr.io/who/tool:1.0)
    #[arg(default_value = ".", value_name = "FILE|FOLDER|REFERENCE", value_hint = ValueHint::AnyPath)]
    pub from: PathBuf,
}

/// Arguments of `plugin install`.
#[derive(Debug, Args)]
pub struct PluginInstallArgs {
    /// Which plugin.
    #[command(flatten)]
    pub plugin: PluginArgs,
    /// What it is to be called [default: the name of the file, the folder or the repository]
    #[arg(long)]
    pub name: Option<String>,
    /// Without asking
    #[arg(long)]
    pub yes: bool,
}
