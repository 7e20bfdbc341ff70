//! Text that was put back into the line: nobody has seen it there yet, so the next text that is typed or pasted replaces
//! it, and a message never holds both. Enter sends it, and any other key takes it over.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustyline::{Cmd, KeyCode, KeyEvent, Modifiers, Movement};

/// What was put back into the line that is being read.
#[derive(Debug, Default)]
pub struct PutBack {
    text: Mutex<String>,
    /// What was typed in place of the text, until the completion takes it.
    replacement: Mutex<Option<char>>,
    /// Whether a key took the text over.
    is_taken: AtomicBool,
}

impl PutBack {
    /// Begins a line with this text; an empty one ends the state.
    pub fn begin(&self, text: &str) {
        text.clone_into(&mut locked(&self.text));
        *locked(&self.replacement) = None;
        self.is_taken.store(false, Ordering::Relaxed);
    }

    /// Whether the line is what was put back, and nobody has touched it.
    pub fn is(&self, line: &str) -> bool {
        let text = locked(&self.text);
        !text.is_empty() && *text == line && !self.is_taken.load(Ordering::Relaxed)
    }

    /// Whether anything was put back into this line.
    pub fn is_some(&self) -> bool {
        let text = locked(&self.text);
        !text.is_empty()
    }

    /// What completes the line in place of all of it; says so once.
    pub fn take_replacement(&self) -> Option<String> {
        locked(&self.replacement).take().map(String::from)
    }

    /// What a key does instead of its usual work.
    pub fn key(&self, key: KeyEvent, line: &str) -> Option<Cmd> {
        if !self.is(line) {
            // The line was cleared: what is typed from now on may come to the same text.
            self.is_taken.store(true, Ordering::Relaxed);
            return None;
        }
        match key {
            // No other command replaces the line and leaves the cursor behind the new text.
            KeyEvent(KeyCode::Char(c), Modifiers::NONE | Modifiers::SHIFT) => {
                *locked(&self.replacement) = Some(c);
                // What follows may come to the same text.
                self.is_taken.store(true, Ordering::Relaxed);
                Some(Cmd::Complete)
            }
            // All of it, also where it has several lines.
            key if key == KeyEvent::ctrl('U') => Some(Cmd::Kill(Movement::WholeBuffer)),
            KeyEvent(KeyCode::BracketedPasteStart, _) => {
                self.is_taken.store(true, Ordering::Relaxed);
                Some(Cmd::Kill(Movement::WholeBuffer))
            }
            _ => {
                self.is_taken.store(true, Ordering::Relaxed);
                None
            }
        }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: KeyEvent = KeyEvent(KeyCode::Char('a'), Modifiers::NONE);
    const END: KeyEvent = KeyEvent(KeyCode::End, Modifiers::NONE);

    #[test]
    fn text_replaces_what_was_put_back_unless_a_key_took_it_over() {
        let put_back = PutBack::default();
        assert_eq!(put_back.key(A, ""), None);
        put_back.begin("early");
        assert_eq!(put_back.key(A, "early"), Some(Cmd::Complete));
        assert_eq!(put_back.take_replacement().as_deref(), Some("a"));
        assert_eq!(put_back.key(A, "a"), None);
        assert_eq!(put_back.key(A, "early"), None, "the same was typed");
        put_back.begin("early");
        // After Ctrl-C.
        assert_eq!(put_back.key(A, ""), None);
        assert_eq!(put_back.key(A, "early"), None, "the same was typed again");
        put_back.begin("two\nlines");
        let all = Some(Cmd::Kill(Movement::WholeBuffer));
        assert_eq!(put_back.key(KeyEvent::ctrl('U'), "two\nlines"), all);
        put_back.begin("early");
        assert_eq!(put_back.key(END, "early"), None);
        assert!(!put_back.is("early"));
        assert_eq!(put_back.key(A, "early"), None);
    }

    #[test]
    fn a_paste_replaces_it() {
        let put_back = PutBack::default();
        put_back.begin("early");
        let key = |code| KeyEvent(code, Modifiers::NONE);
        let begun = put_back.key(key(KeyCode::BracketedPasteStart), "early");
        assert_eq!(begun, Some(Cmd::Kill(Movement::WholeBuffer)));
    }
}
