//! `[request_editor]`: which requests are paused before they are sent.

use clap::ValueEnum;
use serde::Deserialize;
use toml::Spanned;

/// `[request_editor]`
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RequestEditor {
    /// Which requests are paused.
    pub mode: Option<Spanned<PauseMode>>,
}

/// Which requests are paused before they are sent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum PauseMode {
    /// None
    #[default]
    Off,
    /// The next one
    Next,
    /// The first one of every turn
    Turn,
    /// Every one, those after tool results too
    Every,
}

impl PauseMode {
    /// All of them.
    pub const ALL: [PauseMode; 4] = [
        PauseMode::Off,
        PauseMode::Next,
        PauseMode::Turn,
        PauseMode::Every,
    ];

    /// As it is written in the file.
    pub fn as_str(self) -> &'static str {
        match self {
            PauseMode::Off => "off",
            PauseMode::Next => "next",
            PauseMode::Turn => "turn",
            PauseMode::Every => "every",
        }
    }

    /// What it does, as the end of a sentence.
    pub fn about(self) -> &'static str {
        match self {
            PauseMode::Off => "requests are sent without a pause",
            PauseMode::Next => "the next request is paused before it is sent",
            PauseMode::Turn => "the first request of every message is paused before it is sent",
            PauseMode::Every => {
                "every request is paused before it is sent, those after tool results too"
            }
        }
    }

    /// The mode with this name.
    pub fn named(name: &str) -> Option<PauseMode> {
        PauseMode::ALL
            .into_iter()
            .find(|mode| mode.as_str() == name)
    }
}
