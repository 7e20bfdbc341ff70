//! What keys do in the line editor of the prompt.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use dunlin_terminal::ui::on_key::on_key;
use dunlin_terminal::ui::terminal;
use rustyline::{Cmd, EventContext, EventHandler, KeyCode, KeyEvent, Modifiers, Movement};

use crate::prompt::paste::Pastes;
use crate::prompt::put_back::PutBack;

/// Ctrl-C on a line with text clears it; on an empty one it is the prompt's to decide.
pub(super) fn clear_line(context: &EventContext<'_>) -> Option<Cmd> {
    (!context.line().is_empty()).then_some(Cmd::Kill(Movement::WholeBuffer))
}

/// A key to which nothing else is bound.
#[derive(Clone)]
pub(super) struct AnyKey {
    pub(super) early: Arc<PutBack>,
    pub(super) pastes: Arc<Pastes>,
    /// Whether Ctrl-X was the last key.
    pub(super) is_after_x: Arc<AtomicBool>,
    /// Set by Ctrl-X Ctrl-E, which leaves the line as it is, as in shells, to be gone on with in an editor of texts.
    pub(super) to_editor: Arc<AtomicBool>,
}

impl AnyKey {
    pub(super) fn key(&self, key: KeyEvent, (line, at): (&str, usize)) -> Option<Cmd> {
        let columns = terminal::size().0;
        if self.pastes.open().is_open() {
            return self.pastes.key(key, (line, at), columns);
        }
        let is_x = key == KeyEvent::ctrl('X');
        if self.is_after_x.swap(is_x, Ordering::Relaxed) && key == KeyEvent::ctrl('E') {
            self.to_editor.store(true, Ordering::Relaxed);
            return Some(Cmd::AcceptLine);
        }
        let instead = self.early.key(key, line);
        let instead = instead.or(self.pastes.key(key, (line, at), columns));
        let is_newline = key == KeyEvent(KeyCode::Enter, Modifiers::ALT);
        instead
            .or(is_x.then_some(Cmd::Noop))
            .or(is_newline.then_some(Cmd::Newline))
    }

    pub(super) fn handler(self) -> EventHandler {
        on_key(move |event, count, context| {
            let key = *event.get(0)?;
            match self.key(key, (context.line(), context.pos())) {
                Some(Cmd::Insert(_, text)) if count != 1 => Some(self.pastes.insert_once(text)),
                instead => instead,
            }
        })
    }
}
