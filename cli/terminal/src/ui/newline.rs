//! Shift+Enter at the prompt: a new line, where the terminal tells it from Enter.
//!
//! Two forms are common: `CSI 13;2u` (kitty's protocol, also sent by terminals that were told so) and `CSI 27;2;13~`
//! (xterm's `modifyOtherKeys`, which is asked for while a message is typed). The line editor decodes neither. It reports
//! both as an unknown key, and names the sequence only in its log; of xterm's form it takes `13~` for text. So its log is
//! listened to, and the rest is swallowed.
//!
//! A shell that has the terminal after Ctrl-Z must not get xterm's form: `stop` gives it up meanwhile.
//!
//! Kitty's protocol itself is not asked for: it changes what Ctrl and Esc send, which the line editor would not
//! understand any more.

use std::sync::{Arc, Once};

use log::{Level, LevelFilter, Log, Metadata, Record};
use parking_lot::Mutex;
use rustyline::history::History;
use rustyline::{Cmd, Editor, EventContext, Helper, KeyCode, KeyEvent, Modifiers};

use super::on_key::on_key;

/// Asks for xterm's form, and gives it up.
pub(super) const ASK: &str = "\x1b[>4;1m";
pub(super) const GIVE_UP: &str = "\x1b[>4m";

/// Kitty's form of Shift+Enter, as the log names it.
const SHIFT_ENTER: &str = "[13;2u";

/// How xterm's form of any key with Shift, Alt or Ctrl begins.
const XTERM: &str = "[27;";

/// The number of Enter there.
const ENTER: &str = "13";

/// What the log of the line editor says before a sequence.
const UNSUPPORTED: &str = "unsupported esc sequence: \\E";

/// The last sequence that the line editor did not know.
static LAST: Mutex<Option<String>> = Mutex::new(None);

/// Binds Shift+Enter. `text` says what other unknown sequences do, and the keys of its sequences where they are text.
pub fn bind<H: Helper, I: History>(
    editor: &mut Editor<H, I>,
    text: impl Fn(KeyEvent, &str) -> Option<Cmd> + Send + Sync + 'static,
) {
    let text = Arc::new(text);
    static LISTENS: Once = Once::new();
    LISTENS.call_once(|| {
        // Another one cannot be there; if it were, Shift+Enter would do nothing.
        let _ = log::set_logger(&Listener);
    });
    let begun = Arc::<Begun>::default();
    let (unknown, also_text) = (Arc::clone(&begun), Arc::clone(&text));
    editor.bind_sequence(
        UNKNOWN,
        on_key(move |_, _, line| {
            let sequence = LAST.lock().take()?;
            also_text(UNKNOWN, line.line()).or_else(|| unknown.begin(&sequence, line))
        }),
    );
    for digit in ('0'..='9').chain(['~']) {
        let (begun, text) = (Arc::clone(&begun), Arc::clone(&text));
        let key = KeyEvent(KeyCode::Char(digit), Modifiers::NONE);
        editor.bind_sequence(
            key,
            on_key(move |_, _, line| match begun.take(line) {
                Some(form) => Some(begun.continue_sequence(form, digit)),
                None => text(key, line.line()),
            }),
        );
    }
}

/// How the line editor calls each key that it does not know.
const UNKNOWN: KeyEvent = KeyEvent(KeyCode::UnknownEscSeq, Modifiers::NONE);

/// What came of xterm's form: where the cursor stood when it began, and the digits since then.
#[derive(Default)]
struct Begun(Mutex<Option<(usize, String)>>);

impl Begun {
    /// What a sequence does that the line editor does not know.
    fn begin(&self, sequence: &str, line: &EventContext<'_>) -> Option<Cmd> {
        let begins = sequence.starts_with(XTERM);
        *self.0.lock() = begins.then(|| (line.pos(), String::new()));
        (sequence == SHIFT_ENTER).then_some(Cmd::Newline)
    }

    /// The form that the next key belongs to; elsewhere digits are text.
    fn take(&self, line: &EventContext<'_>) -> Option<(usize, String)> {
        self.0.lock().take().filter(|(at, _)| *at == line.pos())
    }

    fn continue_sequence(&self, (at, mut number): (usize, String), key: char) -> Cmd {
        if key != '~' {
            number.push(key);
            *self.0.lock() = Some((at, number));
            return Cmd::Noop;
        }
        match number.as_str() {
            ENTER => Cmd::Newline,
            // Another key, to which nothing is bound.
            _ => Cmd::Noop,
        }
    }
}

/// Writes past everything that holds output back: the line editor has the terminal.
pub fn say(text: &str) {
    let mut rest = text.as_bytes();
    while !rest.is_empty() {
        match rustix::io::write(std::io::stdout(), rest) {
            Ok(written) => rest = rest.get(written..).unwrap_or_default(),
            Err(rustix::io::Errno::INTR) => {}
            // A terminal that has gone shows nothing.
            Err(_) => return,
        }
    }
}

/// Listens to the log as long as it lives.
pub(super) struct Listening;

impl Listening {
    pub(super) fn begin() -> Listening {
        log::set_max_level(LevelFilter::Debug);
        Listening
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        log::set_max_level(LevelFilter::Off);
    }
}

/// Remembers the last unknown sequence; everything else that is logged is dropped.
struct Listener;

impl Log for Listener {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.level() == Level::Debug && metadata.target() == "rustyline"
    }

    fn log(&self, record: &Record<'_>) {
        if !self.enabled(record.metadata()) {
            return;
        }
        let text = record.args().to_string();
        if let Some(sequence) = text.strip_prefix(UNSUPPORTED) {
            *LAST.lock() = Some(sequence.to_owned());
        }
    }

    fn flush(&self) {}
}
