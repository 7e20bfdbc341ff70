//! Pasted text in a line that is being read.
//!
//! The line editor reads a paste as a whole and gives up in the middle when the window changes its size or the line is ended
//! from elsewhere; the rest would be keys. So the keys of a paste are collected one by one, from the mark at its beginning to
//! the mark at its end, and none of them does what it does when it is typed.
//!
//! The line editor also reads more than the line at once, and drops what is left of it when the line ends. So Enter does not end
//! a line at once, but after the keys that were read with it, which are collected like those of a paste ([`Ended`]).

use std::sync::Arc;

use parking_lot::Mutex;
use rustyline::{Cmd, EventContext, EventHandler, KeyCode, KeyEvent, Modifiers};
use signal_hook::consts::SIGINT;
use signal_hook::low_level::raise;

use super::on_key::on_key;
use super::rest_of_line::Ended;

/// What a line is in the middle of: a paste, or what arrived in one piece with the Enter that ended it.
#[derive(Debug, Clone, Default)]
pub struct LinePaste(Arc<Mutex<State>>);

/// How often the signal is raised that ends a line. The line editor takes up to 64 from its pipe at once and acts on the first of
/// them, which may be one that says that the window has changed its size.
const SIGNALS: usize = 65;

#[derive(Debug, Default)]
struct State {
    /// The paste: what came of it.
    open: Option<String>,
    /// Whether the line ends only when all keys have come that arrived together with its Enter.
    waits: bool,
    /// Whether Enter ends this line. Without it, Enter ends every line.
    is_complete: Option<fn(&str) -> bool>,
    /// Such a line after its Enter.
    ended: Option<Ended>,
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
    /// Whether a paste goes on, or the line has ended: no key does what it does otherwise.
    pub fn is_open(&self) -> bool {
        let state = self.0.lock();
        state.open.is_some() || state.ended.is_some()
    }

    /// Forgets a paste that does not go on.
    pub fn end(&self) {
        self.0.lock().open = None;
    }

    /// Has Enter end only a line for which this holds. In others it does what the line editor does with it.
    pub fn ends_where(&self, is_complete: fn(&str) -> bool) {
        self.0.lock().is_complete = Some(is_complete);
    }

    /// A line begins. `waits`: see [`LinePaste::ends`].
    pub(super) fn begin_line(&self, waits: bool) {
        let mut state = self.0.lock();
        (state.waits, state.ended) = (waits, None);
    }

    /// The line that [`LinePaste::ends`] has ended, with what came behind it; given once.
    pub(super) fn take_ended(&self) -> Option<Ended> {
        self.0.lock().ended.take()
    }

    /// What this key does to the line if it is the Enter that ends it: the line is complete now, and the line editor is left
    /// when it has handed out all keys that it has read. It would drop them. `None`: the key does what it does otherwise.
    pub fn ends(&self, key: KeyEvent, line: &str) -> Option<Cmd> {
        let mut state = self.0.lock();
        let waits = state.waits && state.open.is_none() && state.ended.is_none();
        let ends = waits && is_enter(key) && state.is_complete.is_none_or(|ends| ends(line));
        // The line editor looks for signals only where no key is left.
        if !ends || (0..SIGNALS).any(|_| raise(SIGINT).is_err()) {
            return None;
        }
        state.ended = Some(Ended::new(line));
        // The hint behind it is taken away. In a line with text, this key does nothing else; in an empty one there is no such key,
        // and the helper has no hint any more.
        Some(match line.is_empty() {
            true => Cmd::Repaint,
            false => Cmd::EndOfFile,
        })
    }

    /// What a key comes to; `None`: it is not part of a paste.
    pub fn key(&self, key: KeyEvent) -> Option<Pasted> {
        let mut state = self.0.lock();
        if let Some(ended) = &mut state.ended {
            ended.push(key);
            return Some(Pasted::More);
        }
        let open = &mut state.open;
        let Some(text) = open else {
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

    /// Inserts pastes into the line as they came, and has Enter end it. For [`rustyline::Event::Any`].
    pub fn inserts(&self) -> EventHandler {
        let paste = self.clone();
        on_key(move |event, count, context| {
            let key = *event.get(0)?;
            let Some(pasted) = paste.key(key) else {
                return paste.ends(key, context.line());
            };
            Some(match pasted {
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

fn is_enter(key: KeyEvent) -> bool {
    let enters = [
        KeyEvent(KeyCode::Enter, Modifiers::NONE),
        KeyEvent::ctrl('M'),
        KeyEvent::ctrl('J'),
    ];
    enters.contains(&key)
}
