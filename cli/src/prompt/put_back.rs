//! Text that was put back into the line: nobody has seen it there yet, so the next text that is typed or pasted replaces
//! it, and a message never holds both. Enter sends it, and any other key takes it over.
//!
//! Text that the user did not type, such as one of a session file, stays foreign as long as anything of it may be left in
//! the line.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use parking_lot::Mutex;
use rustyline::{Cmd, KeyCode, KeyEvent, Modifiers, Movement};

/// What was put back into the line that is being read.
#[derive(Debug, Default)]
pub struct PutBack {
    text: Mutex<String>,
    /// What was typed in place of the text, until the completion takes it.
    replacement: Mutex<Option<char>>,
    /// Whether a key took the text over.
    is_taken: AtomicBool,
    /// All of the foreign text, also where a word stands for it in the line.
    foreign: Mutex<Option<String>>,
    /// Whether the line still holds foreign text.
    holds_foreign: AtomicBool,
    /// Whether it is a command.
    is_command: AtomicBool,
    /// How many lines come after it.
    left: AtomicUsize,
    /// Whether something was typed in its place.
    is_replaced: AtomicBool,
}

impl PutBack {
    /// Begins a line with this text; an empty one ends the state. `foreign`: all of the text, if it is foreign.
    pub fn begin(&self, text: &str, foreign: Option<&str>) {
        self.holds_foreign
            .store(foreign.is_some(), Ordering::Relaxed);
        *self.foreign.lock() = foreign.map(str::to_owned);
        text.clone_into(&mut self.text.lock());
        *self.replacement.lock() = None;
        if !text.is_empty() {
            self.is_replaced.store(false, Ordering::Relaxed);
        }
        self.describe(false, 0);
        self.is_taken.store(false, Ordering::Relaxed);
    }

    /// What it is that was put back, and how many lines come after it.
    pub fn describe(&self, is_command: bool, left: usize) {
        self.is_command.store(is_command, Ordering::Relaxed);
        self.left.store(left, Ordering::Relaxed);
    }

    /// Stands behind the line as long as nobody has touched it.
    pub fn hint(&self) -> String {
        let does = match self.is_command.load(Ordering::Relaxed) {
            true => "runs",
            false => "sends",
        };
        let after = match self.left.load(Ordering::Relaxed) {
            0 => String::new(),
            1 => "; 1 line waits behind it".to_owned(),
            left => format!("; {left} lines wait behind it"),
        };
        format!("  (put back: Enter {does} it{after})")
    }

    /// Whether something was typed in its place; says so once.
    pub fn takes_replaced(&self) -> bool {
        self.is_replaced.swap(false, Ordering::Relaxed)
    }

    /// Whether the line is what was put back, and nobody has touched it.
    pub fn is(&self, line: &str) -> bool {
        let text = self.text.lock();
        !text.is_empty() && *text == line && !self.is_taken.load(Ordering::Relaxed)
    }

    /// The same for a text that a key has taken over already.
    pub fn begin_taken(&self, text: &str, foreign: Option<&str>) {
        self.begin(text, foreign);
        self.take_over();
    }

    /// A key that leaves the line as it is has taken it over.
    pub fn take_over(&self) {
        self.is_taken.store(true, Ordering::Relaxed);
    }

    /// Whether the line that was read holds foreign text.
    pub fn is_foreign(&self, line: &str) -> bool {
        self.follow(line);
        self.holds_foreign.load(Ordering::Relaxed)
    }

    /// Notes what a key has left in the line: an empty line ends it, and undoing may bring it back.
    fn follow(&self, line: &str) {
        if line.is_empty() {
            self.holds_foreign.store(false, Ordering::Relaxed);
        } else if let Some(foreign) = &*self.foreign.lock() {
            let texts = [foreign.trim(), self.text.lock().trim()].map(|text| text == line.trim());
            if texts.contains(&true) {
                self.holds_foreign.store(true, Ordering::Relaxed);
            }
        }
    }

    /// Whether anything was put back into this line.
    pub fn is_some(&self) -> bool {
        let text = self.text.lock();
        !text.is_empty()
    }

    /// What completes the line in place of all of it; says so once.
    pub fn take_replacement(&self) -> Option<String> {
        self.replacement.lock().take().map(String::from)
    }

    /// What a key does instead of its usual work.
    pub fn key(&self, key: KeyEvent, line: &str) -> Option<Cmd> {
        self.follow(line);
        if !self.is(line) {
            // The line was cleared: what is typed from now on may come to the same text.
            self.is_taken.store(true, Ordering::Relaxed);
            return None;
        }
        match key {
            // No other command replaces the line and leaves the cursor behind the new text.
            KeyEvent(KeyCode::Char(c), Modifiers::NONE | Modifiers::SHIFT) => {
                *self.replacement.lock() = Some(c);
                self.is_replaced.store(true, Ordering::Relaxed);
                self.holds_foreign.store(false, Ordering::Relaxed);
                // What follows may come to the same text.
                self.is_taken.store(true, Ordering::Relaxed);
                Some(Cmd::Complete)
            }
            // All of it, also where it has several lines.
            key if key == KeyEvent::ctrl('U') => Some(Cmd::Kill(Movement::WholeBuffer)),
            KeyEvent(KeyCode::BracketedPasteStart, _) => {
                self.is_replaced.store(true, Ordering::Relaxed);
                self.holds_foreign.store(false, Ordering::Relaxed);
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

#[cfg(test)]
mod tests {
    use super::*;

    const A: KeyEvent = KeyEvent(KeyCode::Char('a'), Modifiers::NONE);
    const END: KeyEvent = KeyEvent(KeyCode::End, Modifiers::NONE);

    #[test]
    fn text_replaces_what_was_put_back_unless_a_key_took_it_over() {
        let put_back = PutBack::default();
        assert_eq!(put_back.key(A, ""), None);
        put_back.begin("early", None);
        assert_eq!(put_back.key(A, "early"), Some(Cmd::Complete));
        assert_eq!(put_back.take_replacement().as_deref(), Some("a"));
        assert_eq!(put_back.key(A, "a"), None);
        assert_eq!(put_back.key(A, "early"), None, "the same was typed");
        put_back.begin("early", None);
        // After Ctrl-C.
        assert_eq!(put_back.key(A, ""), None);
        assert_eq!(put_back.key(A, "early"), None, "the same was typed again");
        put_back.begin("two\nlines", None);
        let all = Some(Cmd::Kill(Movement::WholeBuffer));
        assert_eq!(put_back.key(KeyEvent::ctrl('U'), "two\nlines"), all);
        put_back.begin("early", None);
        assert_eq!(put_back.key(END, "early"), None);
        assert!(!put_back.is("early"));
        assert_eq!(put_back.key(A, "early"), None);
    }

    #[test]
    fn foreign_text_stays_foreign_until_nothing_of_it_is_left() {
        let put_back = PutBack::default();
        put_back.begin("/exit", Some("/exit"));
        assert!(put_back.is_foreign("/exit") && put_back.is_foreign("/exit now"));
        put_back.key(END, "/exit");
        put_back.key(A, "/exit now");
        assert!(put_back.is_foreign("/exi"));
        // Cleared, and typed anew; then undone.
        put_back.key(A, "");
        assert!(!put_back.is_foreign("/help"));
        put_back.key(END, "/exit");
        assert!(put_back.is_foreign("/exit "));
        put_back.begin("/exit", Some("/exit"));
        put_back.key(A, "/exit");
        assert!(!put_back.is_foreign("a"));
        assert!(put_back.is_foreign("/exit"));
        put_back.begin("[pasted]", Some("/exit"));
        put_back.key(A, "");
        assert!(!put_back.is_foreign("a"));
        assert!(put_back.is_foreign("/exit") && put_back.is_foreign("[pasted]"));
        put_back.begin_taken("/exit", None);
        assert!(!put_back.is_foreign("/exit") && !put_back.is("/exit"));
    }

    #[test]
    fn a_paste_replaces_it() {
        let put_back = PutBack::default();
        put_back.begin("early", None);
        let key = |code| KeyEvent(code, Modifiers::NONE);
        let begun = put_back.key(key(KeyCode::BracketedPasteStart), "early");
        assert_eq!(begun, Some(Cmd::Kill(Movement::WholeBuffer)));
    }
}
