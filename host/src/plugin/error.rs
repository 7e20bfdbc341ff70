//! Why a plugin cannot be used.

use crate::limits::{self, CONTRACT};

/// Why a plugin cannot be used. `Display` covers this level only.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// Too large to be a tool.
    #[error(
        "the plugin {plugin} is {bytes} bytes large; at most {} are allowed",
        limits::MAX_COMPONENT_BYTES
    )]
    TooLarge {
        /// The plugin's name.
        plugin: String,
        /// Its size.
        bytes: usize,
    },
    /// The engine will not have it.
    #[error("the plugin {plugin} is not a component that can be run: {problem}")]
    Compile {
        /// The plugin's name.
        plugin: String,
        /// What the engine says.
        problem: String,
    },
    /// It was made for another contract, or for none.
    #[error(
        "the plugin {plugin} was built for {found}; this host serves dunlin:tool up to {CONTRACT}"
    )]
    Contract {
        /// The plugin's name.
        plugin: String,
        /// What it was built for.
        found: String,
    },
    /// It imports something that this host does not have.
    #[error("the plugin {plugin} needs something that this host does not offer: {problem}")]
    Imports {
        /// The plugin's name.
        plugin: String,
        /// What the linker says.
        problem: String,
    },
    /// What it says that it may ever ask for makes no sense.
    #[error("the declared permissions of the plugin {plugin} cannot be used: {problem}")]
    DeclaredPermissions {
        /// The plugin's name.
        plugin: String,
        /// What is wrong.
        problem: String,
    },
    /// Its `describe` failed.
    #[error("the plugin {plugin} cannot describe itself: it {problem}")]
    Describe {
        /// The plugin's name.
        plugin: String,
        /// What happened, as the end of a sentence.
        problem: String,
    },
    /// It describes other tools than those that somebody agreed to.
    #[error(
        "the plugin {plugin} describes its tools differently than when it was installed; it is disabled until you \
         install it again"
    )]
    Changed {
        /// The plugin's name.
        plugin: String,
    },
    /// Its `describe` answered nonsense.
    #[error("the plugin {plugin} describes itself badly: {problem}")]
    Description {
        /// The plugin's name.
        plugin: String,
        /// What is wrong.
        problem: String,
    },
    /// Another plugin has a tool of that name.
    #[error(
        "the tool {tool} of the plugin {plugin} is left out: the plugin {other} has one of that name"
    )]
    Taken {
        /// The plugin that came later.
        plugin: String,
        /// The name.
        tool: String,
        /// The plugin that has it.
        other: String,
    },
    /// One of its tools has a name that the host keeps for itself.
    #[error("the plugin {plugin} has a tool named {tool}, which is a name of Dunlin's own")]
    Reserved {
        /// The plugin's name.
        plugin: String,
        /// The tool's name.
        tool: String,
    },
}
