//! What the terminal is in the middle of: text, an escape sequence, or pasted text.
//!
//! This is a state of the terminal and not of whoever reads it. There is one for as long as the program runs, and it follows
//! every byte, also those that are thrown away: the mark that ends a paste may come long after the question before which
//! the paste began, and what lies between is no key.

use std::time::Duration;

/// How long the rest of pasted text is waited for while nothing of it comes. Longer than a network stalls that is still in
/// use; afterwards the mark at the end counts as lost.
pub(super) const LONGEST_STALL: Duration = Duration::from_secs(20);

/// The same for other escape sequences. A terminal sends them in one piece, and Alt with a key may look like the beginning of
/// one.
const SEQUENCE_STALL: Duration = Duration::from_secs(1);

const ESCAPE: u8 = 0x1b;
const BELL: u8 = 0x07;

/// What begins pasted text.
pub(super) const PASTE_MARK: &[u8] = b"\x1b[200~";

pub(super) const PASTE_END: &[u8] = b"\x1b[201~";

/// The parameter of the sequence that begins pasted text, `ESC [ 200 ~`.
const PASTE_BEGIN: u16 = 200;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum State {
    #[default]
    Text,
    /// After ESC: the key, or the beginning of a sequence.
    Escape,
    /// After an ESC that was taken for the key, with so many bytes behind it of the mark that begins a paste: the network may
    /// have parted it there.
    Late(usize),
    /// After `ESC O`: one more byte.
    Single,
    /// After `ESC [`, with the number that stands there.
    Control(u16),
    /// In a string, such as a terminal's answer about its colours; `true` after an ESC, which may end it.
    String(bool),
    /// In pasted text, with so many bytes of its end.
    Paste(usize),
}

impl State {
    /// How long the rest of what was begun is waited for; `None` between two keys.
    pub(super) fn longest_stall(self) -> Option<Duration> {
        match self {
            State::Text | State::Late(0) => None,
            State::Paste(_) | State::Late(_) | State::Control(0 | 2 | 20 | PASTE_BEGIN) => {
                Some(LONGEST_STALL)
            }
            State::Escape | State::Single | State::Control(_) | State::String(_) => {
                Some(SEQUENCE_STALL)
            }
        }
    }

    pub(super) fn after(self, byte: u8) -> State {
        match (self, byte) {
            (State::Paste(matched), _) if PASTE_END.get(matched) == Some(&byte) => {
                if matched + 1 == PASTE_END.len() {
                    State::Text
                } else {
                    State::Paste(matched + 1)
                }
            }
            (State::Paste(_), ESCAPE) => State::Paste(1),
            (State::Paste(_), _) => State::Paste(0),
            (State::String(_), ESCAPE) => State::String(true),
            (State::String(true), b'\\') | (State::String(_), BELL) => State::Text,
            (State::String(_), _) => State::String(false),
            (_, ESCAPE) => State::Escape,
            (State::Late(matched), _) if PASTE_MARK.get(matched + 1) == Some(&byte) => {
                if matched + 2 == PASTE_MARK.len() {
                    State::Paste(0)
                } else {
                    State::Late(matched + 1)
                }
            }
            (State::Escape, b'[') => State::Control(0),
            (State::Escape, b'O') => State::Single,
            (State::Escape, b']' | b'P' | b'X' | b'^' | b'_') => State::String(false),
            (State::Control(number), b'0'..=b'9') => {
                let digit = u16::from(byte - b'0');
                State::Control(number.saturating_mul(10).saturating_add(digit))
            }
            // Several numbers: none of those that matter here.
            (State::Control(_), b' '..=b'?') => State::Control(u16::MAX),
            (State::Control(PASTE_BEGIN), b'~') => State::Paste(0),
            _ => State::Text,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PASTE: &[u8] = b"\x1b[200~# log\ry\ralways\rsend\r\x1b[20\x1b[201~";

    fn after(state: State, bytes: &[u8]) -> State {
        bytes.iter().fold(state, |state, byte| state.after(*byte))
    }

    #[test]
    fn a_paste_is_open_wherever_it_is_parted() {
        for at in 0..=PASTE.len() {
            let (first, rest) = PASTE.split_at(at);
            let state = after(State::Text, first);
            let stall = (at > 0 && at < PASTE.len()).then_some(match at {
                1 => SEQUENCE_STALL,
                _ => LONGEST_STALL,
            });
            assert_eq!(state.longest_stall(), stall, "parted at {at}");
            assert_eq!(after(state, rest), State::Text, "parted at {at}");
            // No byte of it is one of a key.
            let keys = (0..rest.len())
                .filter(|more| after(state, &rest[..*more]) == State::Text)
                .count();
            assert_eq!(keys, usize::from(at == 0), "parted at {at}");
        }
    }

    #[test]
    fn a_mark_whose_first_byte_was_taken_for_a_key_begins_a_paste() {
        for at in 1..PASTE_MARK.len() {
            let state = after(State::Late(0), &PASTE_MARK[1..at]);
            assert_eq!(state.longest_stall().is_some(), at > 1, "parted at {at}");
            assert_eq!(after(state, &PASTE_MARK[at..]), State::Paste(0));
        }
        assert_eq!(after(State::Late(0), b"[A"), State::Text);
        assert_eq!(after(State::Late(0), b"hello"), State::Text);
        assert_eq!(after(State::Late(0), b"[2\x1b[200~"), State::Paste(0));
    }
}
