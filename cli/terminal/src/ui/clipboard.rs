//! The clipboard of the terminal, wherever that runs (OSC 52). No terminal says whether it took a text, so what is said
//! names the way to the text where it did not.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use dunlin_chat::tokens::counted;

use super::Ui;
use super::sink::Sink;

/// How much most terminals take, in bytes: some 100,000 in base64. They drop the rest, or all of it.
const MAX_COPY_BYTES: usize = 74_000;

/// What lets a program in tmux set the clipboard.
const TMUX: &str = "In tmux, `set -s set-clipboard on` allows it";

impl Ui {
    /// Sends a text to the clipboard of the terminal; what to say. `what` names the text, `otherwise` says where else it can be
    /// had.
    pub fn copy(&self, text: &str, what: &str, otherwise: &str) -> String {
        if !self.streams.output || self.dumb {
            return format!("This terminal has no clipboard; {otherwise}.");
        }
        let encoded = STANDARD.encode(text);
        self.write(
            &mut self.screen(),
            Sink::Out,
            &format!("\x1b]52;c;{encoded}\x07"),
        );
        said(text, what, self.is_in_tmux, otherwise)
    }
}

fn said(text: &str, what: &str, is_in_tmux: bool, otherwise: &str) -> String {
    let characters = counted(text.chars().count(), "character", "characters");
    let reason = match (text.len() > MAX_COPY_BYTES, is_in_tmux) {
        (true, _) => "Most terminals take 74 kB at most",
        (false, true) => TMUX,
        (false, false) => "The terminal may not allow it",
    };
    format!(
        "Sent {what} ({characters}) to the terminal's clipboard. Not there? {reason}; {otherwise}."
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_done_is_said_and_not_what_came_of_it() {
        let check = |text: &str, is_in_tmux, expected: &str| {
            assert_eq!(said(text, "the value", is_in_tmux, "o opens it"), expected);
        };
        check(
            "größe",
            false,
            "Sent the value (5 characters) to the terminal's clipboard. Not there? The terminal may not allow it; o opens it.",
        );
        check(
            "x",
            true,
            "Sent the value (1 character) to the terminal's clipboard. Not there? In tmux, `set -s set-clipboard on` allows it; o opens it.",
        );
        let long = "x".repeat(MAX_COPY_BYTES + 1);
        let said = said(&long, "the request", true, "o opens it");
        assert!(said.contains("(74,001 characters)") && said.contains("Most terminals take 74 kB"));
    }
}
