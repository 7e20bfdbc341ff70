//! What keys do in the line editor of the prompt.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use dunlin_terminal::ui::line_paste::LinePaste;
use dunlin_terminal::ui::terminal;
use dunlin_terminal::ui::wake::TypedSoFar;
use rustyline::{
    Cmd, ConditionalEventHandler, Editor, Event, EventContext, KeyCode, KeyEvent, Modifiers,
    Movement, RepeatCount,
};

use super::helper::LineHelper;
use crate::prompt::paste::Pastes;
use crate::prompt::put_back::PutBack;

/// Binds a key that is one only where it is typed.
pub(super) fn bind<I: rustyline::history::History>(
    editor: &mut Editor<LineHelper, I>,
    paste: &LinePaste,
    key: impl Into<Event>,
    handler: impl ConditionalEventHandler + 'static,
) {
    editor.bind_sequence(key, paste.typed(handler));
}

/// Ctrl-C on a line with text clears it; on an empty one it is the prompt's to decide.
pub(super) struct ClearLine;

impl ConditionalEventHandler for ClearLine {
    fn handle(
        &self,
        _: &Event,
        _: RepeatCount,
        _: bool,
        context: &EventContext<'_>,
    ) -> Option<Cmd> {
        (!context.line().is_empty()).then_some(Cmd::Kill(Movement::WholeBuffer))
    }
}

/// A key that begins to search the history, or goes on with it. What it does is the line editor's.
pub(super) struct BeginSearch(pub(super) Arc<AtomicBool>);

impl ConditionalEventHandler for BeginSearch {
    fn handle(&self, _: &Event, _: RepeatCount, _: bool, _: &EventContext<'_>) -> Option<Cmd> {
        self.0.store(true, Ordering::Relaxed);
        None
    }
}

/// Ctrl-C on a line with text clears it, and ends a search that has found nothing yet.
pub(super) struct ClearOrEndSearch(pub(super) Arc<AtomicBool>, pub(super) TypedSoFar);

impl ConditionalEventHandler for ClearOrEndSearch {
    fn handle(
        &self,
        event: &Event,
        count: RepeatCount,
        is_positive: bool,
        context: &EventContext<'_>,
    ) -> Option<Cmd> {
        let is_search = self.0.swap(false, Ordering::Relaxed);
        let clear = ClearLine.handle(event, count, is_positive, context);
        let instead = clear.or(is_search.then_some(Cmd::Abort));
        if instead.is_none() {
            self.1.interrupt();
        }
        instead
    }
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
}

impl ConditionalEventHandler for AnyKey {
    fn handle(
        &self,
        event: &Event,
        count: RepeatCount,
        _: bool,
        context: &EventContext<'_>,
    ) -> Option<Cmd> {
        let key = *event.get(0)?;
        match self.key(key, (context.line(), context.pos())) {
            Some(Cmd::Insert(_, text)) if count != 1 => Some(self.pastes.insert_once(text)),
            instead => instead,
        }
    }
}
