//! `[notifications]`: how the user is told that Dunlin waits for them.

use clap::ValueEnum;
use dunlin_terminal::ui::idle::Signal;
use serde::{Deserialize, Serialize};

/// By what the user is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum SignalName {
    /// By nothing.
    Off,
    /// The terminal's bell.
    Bell,
    /// A notification of the desktop: iTerm2, WezTerm, Ghostty, kitty, Windows Terminal.
    Osc9,
    /// A notification of the desktop: urxvt, foot, Ghostty.
    Osc777,
}

impl SignalName {
    /// What the terminal is sent.
    pub fn signal(self) -> Option<Signal> {
        match self {
            SignalName::Off => None,
            SignalName::Bell => Some(Signal::Bell),
            SignalName::Osc9 => Some(Signal::Osc9),
            SignalName::Osc777 => Some(Signal::Osc777),
        }
    }
}
