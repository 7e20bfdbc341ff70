//! Since when the user has typed nothing, and what the terminal is sent then: a bell or a notification, and the title of the
//! window.
//!
//! Nobody knows whether somebody looks at the screen. What is known is when the last line was typed: who has just typed one is
//! there, and is not rung for.

use std::time::{Duration, Instant};

use dunlin_host::display::{escape, shorten};

/// The longest name in a title, in characters: windows show some forty.
const MAX_NAME_CHARS: usize = 40;

/// By what the user is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signal {
    /// The terminal's bell.
    Bell,
    /// A notification of the desktop as iTerm2 began it (OSC 9).
    Osc9,
    /// One as urxvt began it (OSC 777).
    Osc777,
}

/// When and how the user is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attention {
    /// `None`: not at all.
    pub signal: Option<Signal>,
    /// How long after the last typed line.
    pub after: Duration,
    /// The name in the title of the window; `None`: the title is left alone.
    pub title: Option<String>,
}

/// Since when the user has typed nothing.
#[derive(Debug)]
pub(super) struct Absence {
    attention: Attention,
    last_line: Instant,
    is_told: bool,
}

impl Absence {
    pub(super) fn new(attention: Attention, now: Instant) -> Absence {
        Absence {
            attention,
            last_line: now,
            is_told: false,
        }
    }

    /// Whether the title of the window is set.
    pub(super) fn has_title(&self) -> bool {
        self.attention.title.is_some()
    }

    /// The user has typed something.
    pub(super) fn is_over(&mut self, now: Instant) {
        self.last_line = now;
        self.is_told = false;
    }

    /// What is sent to the terminal when a line begins to be read.
    pub(super) fn waits(&mut self, now: Instant, is_in_tmux: bool) -> String {
        let mut sent = self.title("");
        let is_away = now.duration_since(self.last_line) >= self.attention.after;
        if is_away && !self.is_told {
            self.is_told = true;
            sent.push_str(&self.signal(is_in_tmux));
        }
        sent
    }

    fn signal(&self, is_in_tmux: bool) -> String {
        let notification = match self.attention.signal {
            None => return String::new(),
            Some(Signal::Bell) => return "\x07".to_owned(),
            Some(Signal::Osc9) => "\x1b]9;Dunlin is waiting for you\x07",
            Some(Signal::Osc777) => "\x1b]777;notify;Dunlin;Waiting for you\x07",
        };
        match is_in_tmux {
            // Only so tmux passes it to the terminal around it.
            true => format!("\x1bPtmux;\x1b{notification}\x1b\\"),
            false => notification.to_owned(),
        }
    }

    pub(super) fn title(&self, mark: &str) -> String {
        match &self.attention.title {
            Some(name) => format!("\x1b]2;{mark}dunlin: {}\x07", title_name(name)),
            None => String::new(),
        }
    }
}

/// A name that ends no title and begins nothing else.
fn title_name(name: &str) -> String {
    shorten(&escape(name), MAX_NAME_CHARS).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn absence(signal: Option<Signal>, title: Option<&str>) -> (Absence, Instant) {
        let now = Instant::now();
        let attention = Attention {
            signal,
            after: Duration::from_secs(10),
            title: title.map(str::to_owned),
        };
        (Absence::new(attention, now), now)
    }

    #[test]
    fn who_was_away_is_told_once() {
        let (mut absence, start) = absence(Some(Signal::Bell), None);
        let at = |seconds| start + Duration::from_secs(seconds);
        assert_eq!(absence.waits(at(9), false), "");
        assert_eq!(absence.waits(at(10), false), "\x07");
        assert_eq!(absence.waits(at(60), false), "");
        absence.is_over(at(61));
        assert_eq!(absence.waits(at(62), false), "");
        assert_eq!(absence.waits(at(71), false), "\x07");
    }

    #[test]
    fn each_signal_is_one_that_terminals_know() {
        let signal = |signal, is_in_tmux| absence(signal, None).0.signal(is_in_tmux);
        assert_eq!(signal(None, true), "");
        assert_eq!(signal(Some(Signal::Bell), true), "\x07");
        let osc9 = "\x1b]9;Dunlin is waiting for you\x07";
        assert_eq!(signal(Some(Signal::Osc9), false), osc9);
        assert_eq!(
            signal(Some(Signal::Osc9), true),
            format!("\x1bPtmux;\x1b{osc9}\x1b\\")
        );
        assert!(signal(Some(Signal::Osc777), false).starts_with("\x1b]777;notify;Dunlin;"));
    }

    #[test]
    fn a_title_holds_no_more_than_a_name() {
        let (mut with_title, now) = absence(None, Some("a\x07\x1b]0;b"));
        let sent = with_title.waits(now, false);
        assert!(sent.starts_with("\x1b]2;dunlin: a"), "{sent:?}");
        assert!(sent.ends_with('\x07'), "{sent:?}");
        assert_eq!(sent.matches(['\x07', '\x1b']).count(), 2, "{sent:?}");
        assert_eq!(absence(None, None).0.waits(now, false), "");
    }
}
