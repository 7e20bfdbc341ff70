//! Pasted text in a line that is being read.
//!
//! The line editor reads a paste as a whole and gives up in the middle when the window changes its size or the line is ended
//! from elsewhere; the rest would be keys. So the keys of a paste are collected one by one, from the mark at its beginning to
//! the mark at its end, and none of them does what it does when it is typed.
//!
//! The line editor also drops the keys that it has read together with the one that ended its line. So a message ends only when
//! they are done, and until then they are collected here, too: they are typed for what comes next.

use std::sync::Arc;

use parking_lot::Mutex;
use rustyline::{Cmd, EventContext, EventHandler, KeyCode, KeyEvent, Modifiers};

use super::decoder::{PASTE_END, PASTE_MARK};
use super::on_key::on_key;

/// The paste that a line is in the middle of.
#[derive(Debug, Clone, Default)]
pub struct LinePaste {
    /// What came of it.
    paste: Arc<Mutex<Option<String>>>,
    /// What was typed behind the end of the line, as a terminal sends it; `None`: it has not ended.
    behind: Arc<Mutex<Option<Vec<u8>>>>,
}

/// What a key of a paste comes to.
#[derive(Debug, PartialEq, Eq)]
pub enum Pasted {
    /// There is more of it.
    More,
    /// It was the last one, of this text.
    All(String),
}

impl LinePaste {
    /// Whether a paste goes on.
    pub fn is_open(&self) -> bool {
        self.paste.lock().is_some()
    }

    /// The line has ended: the keys that follow are not for it.
    pub(super) fn end_line(&self) {
        *self.behind.lock() = Some(Vec::new());
    }

    /// Whether the line has ended.
    pub fn is_line_over(&self) -> bool {
        self.behind.lock().is_some()
    }

    /// What was typed behind the end of the line, if that has ended; given once.
    pub(super) fn take_behind(&self) -> Option<Vec<u8>> {
        self.behind.lock().take()
    }

    /// Whether a key comes behind the end of the line. It is kept then.
    pub fn is_behind(&self, key: KeyEvent) -> bool {
        let mut behind = self.behind.lock();
        let is_behind = behind.is_some();
        behind
            .iter_mut()
            .for_each(|bytes| bytes.extend(bytes_of(key)));
        is_behind
    }

    /// Forgets a paste that does not go on.
    pub fn end(&self) {
        *self.paste.lock() = None;
    }

    /// What a key comes to; `None`: it is not part of a paste.
    pub fn key(&self, key: KeyEvent) -> Option<Pasted> {
        let mut open = self.paste.lock();
        let Some(text) = &mut *open else {
            let begins = key.0 == KeyCode::BracketedPasteStart;
            return begins.then(|| {
                *open = Some(String::new());
                Pasted::More
            });
        };
        match key {
            KeyEvent(KeyCode::Char(c), Modifiers::NONE | Modifiers::SHIFT) => text.push(c),
            KeyEvent(KeyCode::Tab, _) => text.push('\t'),
            KeyEvent(KeyCode::Enter, _) => text.push('\r'),
            key if key == KeyEvent::ctrl('M') => text.push('\r'),
            key if key == KeyEvent::ctrl('J') => text.push('\n'),
            KeyEvent(KeyCode::BracketedPasteEnd, _) => {
                return open.take().map(Pasted::All);
            }
            // No text: a control character or an escape sequence.
            _ => {}
        }
        Some(Pasted::More)
    }

    /// Inserts pastes into the line as they came. For [`rustyline::Event::Any`].
    pub fn inserts(&self) -> EventHandler {
        let paste = self.clone();
        on_key(move |event, count, _| {
            Some(match paste.key(*event.get(0)?)? {
                // The line editor would insert it as often as digits with Alt said, which only a hostile paste holds.
                Pasted::All(text) if count == 1 => {
                    Cmd::Insert(1, text.replace("\r\n", "\n").replace('\r', "\n"))
                }
                Pasted::All(_) | Pasted::More => Cmd::Noop,
            })
        })
    }

    /// The handler of a key that does its work where it is typed, and none within a paste.
    pub fn typed(
        &self,
        work: impl Fn(&EventContext<'_>) -> Option<Cmd> + Send + Sync + 'static,
    ) -> EventHandler {
        let paste = self.clone();
        on_key(move |event, _, context| {
            let is_behind = event.get(0).is_some_and(|key| paste.is_behind(*key));
            match is_behind || paste.is_open() {
                true => Some(Cmd::Noop),
                false => work(context),
            }
        })
    }
}

/// A key as a terminal sends it; nothing, where it could not be text or a key of early typing.
fn bytes_of(key: KeyEvent) -> Vec<u8> {
    let KeyEvent(code, modifiers) = key;
    let known: &[u8] = match code {
        KeyCode::Char(c) if modifiers == Modifiers::CTRL && c.is_ascii() => {
            return vec![c as u8 & 0x1f];
        }
        KeyCode::Char(c) => {
            let escape = modifiers.contains(Modifiers::ALT).then_some('\x1b');
            return escape.into_iter().chain([c]).collect::<String>().into();
        }
        KeyCode::Enter if modifiers == Modifiers::ALT => b"\x1b\r",
        KeyCode::Enter => b"\r",
        KeyCode::Tab => b"\t",
        KeyCode::BackTab => b"\x1b[Z",
        KeyCode::Backspace => b"\x7f",
        KeyCode::Esc => b"\x1b",
        KeyCode::Up => b"\x1b[A",
        KeyCode::Down => b"\x1b[B",
        KeyCode::Right => b"\x1b[C",
        KeyCode::Left => b"\x1b[D",
        KeyCode::Home => b"\x1b[H",
        KeyCode::End => b"\x1b[F",
        KeyCode::Delete => b"\x1b[3~",
        KeyCode::BracketedPasteStart => PASTE_MARK,
        KeyCode::BracketedPasteEnd => PASTE_END,
        _ => b"",
    };
    known.to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_behind_the_end_are_what_the_terminal_sent() {
        let paste = LinePaste::default();
        let key = |code| KeyEvent(code, Modifiers::NONE);
        assert!(!paste.is_behind(key(KeyCode::Enter)));
        assert_eq!(paste.take_behind(), None);
        paste.end_line();
        for key in [
            key(KeyCode::Char('ß')),
            KeyEvent::ctrl('U'),
            KeyEvent::ctrl('M'),
            KeyEvent::alt('p'),
            KeyEvent(KeyCode::Enter, Modifiers::ALT),
            key(KeyCode::Enter),
            key(KeyCode::BackTab),
            key(KeyCode::BracketedPasteStart),
            key(KeyCode::Tab),
            key(KeyCode::BracketedPasteEnd),
            key(KeyCode::F(1)),
            key(KeyCode::Up),
        ] {
            assert!(paste.is_behind(key));
        }
        let bytes = "ß\x15\r\x1bp\x1b\r\r\x1b[Z\x1b[200~\t\x1b[201~\x1b[A";
        assert_eq!(paste.take_behind().as_deref(), Some(bytes.as_bytes()));
        assert!(!paste.is_line_over());
    }
}
