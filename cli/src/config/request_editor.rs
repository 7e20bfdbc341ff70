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
    /// How many sections of a request are shown whose edits are saved.
    pub preview_limit: Option<Spanned<u16>>,
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
    /// None; saved edits are applied
    Auto,
}

impl PauseMode {
    /// All of them.
    pub const ALL: [PauseMode; 5] = [
        PauseMode::Off,
        PauseMode::Next,
        PauseMode::Turn,
        PauseMode::Every,
        PauseMode::Auto,
    ];

    /// As it is written in the file.
    pub fn as_str(self) -> &'static str {
        match self {
            PauseMode::Off => "off",
            PauseMode::Next => "next",
            PauseMode::Turn => "turn",
            PauseMode::Every => "every",
            PauseMode::Auto => "auto",
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
            PauseMode::Auto => "saved edits are applied to every request, without a pause",
        }
    }

    /// The mode with this name.
    pub fn named(name: &str) -> Option<PauseMode> {
        PauseMode::ALL
            .into_iter()
            .find(|mode| mode.as_str() == name)
    }
}
