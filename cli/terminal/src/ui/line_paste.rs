//! Pasted text in a line that is being read.
//!
//! The line editor reads a paste as a whole and gives up in the middle when the window changes its size or the line is ended
//! from elsewhere; the rest would be keys. So the keys of a paste are collected one by one, from the mark at its beginning to
//! the mark at its end, and none of them does what it does when it is typed.

use std::sync::Arc;

use parking_lot::Mutex;
use rustyline::{Cmd, EventContext, EventHandler, KeyCode, KeyEvent, Modifiers};

use super::on_key::on_key;

/// The paste that a line is in the middle of: what came of it.
#[derive(Debug, Clone, Default)]
pub struct LinePaste(Arc<Mutex<Option<String>>>);

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
        self.0.lock().is_some()
    }

    /// Forgets a paste that does not go on.
    pub fn end(&self) {
        *self.0.lock() = None;
    }

    /// What a key comes to; `None`: it is not part of a paste.
    pub fn key(&self, key: KeyEvent) -> Option<Pasted> {
        let mut open = self.0.lock();
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
        on_key(move |_, _, context| match paste.is_open() {
            true => Some(Cmd::Noop),
            false => work(context),
        })
    }
}
