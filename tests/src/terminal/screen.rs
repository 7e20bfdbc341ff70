//! The screen's side of the terminal: an emulator, and what else the program's output did.

use std::fmt;
use std::num::NonZeroU16;
use std::path::PathBuf;

use crate::normalise::{for_snapshot, normalise};

/// Lines that left the screen at the top and still count as seen; more than any test writes.
const SCROLLBACK_LINES: usize = 10_000;

/// The private mode of a terminal that shows what comes in one piece.
const SYNCHRONISED_OUTPUT: u16 = 2026;

/// How a program begins and ends what is to be shown in one piece.
const SHOW_LATER: &[u8] = b"\x1b[?2026h";
const SHOW_NOW: &[u8] = b"\x1b[?2026l";

/// Whether a row that is too long is continued on the next one. The emulator always does that.
const WRAPPING: u16 = 7;

/// What a person sees at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Screen {
    /// All lines, with those that left the screen at the top. Long lines are not broken.
    pub text: String,
    /// What stands in the line of the cursor.
    pub cursor_line: String,
    /// Where the cursor is in it, from 0.
    pub cursor_column: u16,
    /// Whether a message is being read at the prompt.
    pub reads_message: bool,
    /// The folder of the test.
    root: PathBuf,
}

/// What is known of a program in a terminal, changed by the threads that listen to it.
pub(super) struct Seen {
    emulator: vt100::Parser<Effects>,
    /// What is to be shown in one piece and is not complete.
    held: Vec<u8>,
    /// Everything as it was written.
    pub(super) bytes: Vec<u8>,
    /// The program's side is closed.
    pub(super) closed: bool,
    /// The program ended: its exit status, or `None` after a signal.
    pub(super) ended: Option<Option<i32>>,
    /// The folder of the test.
    root: PathBuf,
}

/// What the program did to the terminal apart from writing on it.
#[derive(Debug, Default)]
struct Effects {
    all: Vec<String>,
    /// Whether it asks for keys with Shift to be told apart, as it does while a message is typed.
    tells_shift: bool,
}

impl Screen {
    /// Whether `text` is shown.
    pub fn contains(&self, text: &str) -> bool {
        self.text.contains(text)
    }

    /// How often `text` is shown.
    pub fn count(&self, text: &str) -> usize {
        self.text.matches(text).count()
    }

    /// The last line that contains `text`.
    pub fn line_with(&self, text: &str) -> Option<&str> {
        self.text.lines().rev().find(|line| line.contains(text))
    }
}

/// As it is kept in snapshots: all rows, without what differs from run to run.
impl fmt::Display for Screen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = for_snapshot(&normalise(&self.text, &self.root), &self.root);
        for line in text.trim_end().lines() {
            writeln!(f, "{}", line.trim_end())?;
        }
        Ok(())
    }
}

impl Seen {
    /// An empty screen of this size.
    pub(super) fn new(rows: NonZeroU16, columns: NonZeroU16, root: PathBuf) -> Self {
        let effects = Effects::default();
        let emulator = vt100::Parser::new_with_callbacks(rows, columns, SCROLLBACK_LINES, effects);
        Seen {
            emulator,
            held: Vec::new(),
            bytes: Vec::new(),
            closed: false,
            ended: None,
            root,
        }
    }

    /// Takes in what the program wrote. What it wants shown in one piece is shown when all of it is there.
    pub(super) fn show(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        self.held.extend_from_slice(bytes);
        let last = |mark: &[u8]| self.held.windows(mark.len()).rposition(|it| it == mark);
        let complete = match (last(SHOW_LATER), last(SHOW_NOW)) {
            (Some(begin), end) if end.is_none_or(|end| end < begin) => begin,
            _ => self.held.len(),
        };
        // The mark may be cut itself.
        let is_cut = |length: &usize| self.held.ends_with(&SHOW_LATER[..*length]);
        let cut = (1..SHOW_LATER.len()).rev().find(is_cut).unwrap_or(0);
        let complete = complete.min(self.held.len() - cut);
        let held = self.held.split_off(complete);
        self.emulator.process(&self.held);
        self.held = held;
    }

    /// Nothing more will come.
    pub(super) fn close(&mut self) {
        self.emulator.process(&std::mem::take(&mut self.held));
        self.closed = true;
    }

    /// Takes on another size.
    pub(super) fn resize(&mut self, rows: NonZeroU16, columns: NonZeroU16) {
        self.emulator.set_size(rows, columns);
    }

    /// What the program did apart from writing.
    pub(super) fn effects(&self) -> &[String] {
        &self.emulator.callbacks().all
    }

    /// The screen as it is.
    pub(super) fn screen(&self) -> Screen {
        use vt100::capture::{BasicFormattedCaptureRange, basic_formatted_to_plain};

        let screen = self.emulator.screen();
        let mut all = String::new();
        let range = BasicFormattedCaptureRange::Full(&mut Default::default());
        screen
            .write_contents_formatted_basic(&mut all, range)
            .expect("writing into a string");
        Screen {
            text: basic_formatted_to_plain(&all).collect(),
            cursor_line: self.cursor_line(),
            cursor_column: screen.cursor_position().1,
            reads_message: self.emulator.callbacks().tells_shift,
            root: self.root.clone(),
        }
    }

    /// What stands in the line of the cursor.
    pub(super) fn cursor_line(&self) -> String {
        let screen = self.emulator.screen();
        let (row, _) = screen.cursor_position();
        let (_, width) = screen.size();
        let mut rows = screen.rows(0, width.get());
        rows.nth(usize::from(row)).unwrap_or_default()
    }

    /// Nothing will change any more.
    pub(super) fn over(&self) -> bool {
        self.closed && self.ended.is_some()
    }
}

impl vt100::Callbacks for Effects {
    fn audible_bell(&mut self, _: &mut vt100::Screen) {
        self.all.push("bell".to_owned());
    }

    fn visual_bell(&mut self, _: &mut vt100::Screen) {
        self.all.push("visual bell".to_owned());
    }

    fn resize(&mut self, _: &mut vt100::Screen, request: (u16, u16)) {
        self.all.push(format!("resize {request:?}"));
    }

    fn set_window_icon_name(&mut self, _: &mut vt100::Screen, name: &[u8]) {
        self.all.push(format!("icon name {}", name.escape_ascii()));
    }

    fn set_window_title(&mut self, _: &mut vt100::Screen, title: &[u8]) {
        self.all.push(format!("title {}", title.escape_ascii()));
    }

    fn copy_to_clipboard(&mut self, _: &mut vt100::Screen, _kind: &[u8], data: &[u8]) {
        self.all.push(format!("clipboard {}", data.escape_ascii()));
    }

    fn paste_from_clipboard(&mut self, _: &mut vt100::Screen, _kind: &[u8]) {
        self.all.push("reads the clipboard".to_owned());
    }

    fn unhandled_control(&mut self, _: &mut vt100::Screen, control: u8) {
        self.all.push(format!("control {control:#04x}"));
    }

    fn unhandled_escape(
        &mut self,
        _: &mut vt100::Screen,
        _first: Option<u8>,
        _second: Option<u8>,
        last: u8,
    ) {
        self.all.push(format!("escape {}", last.escape_ascii()));
    }

    fn unhandled_csi(
        &mut self,
        _: &mut vt100::Screen,
        first: Option<u8>,
        _second: Option<u8>,
        parameters: &[&[u16]],
        last: char,
    ) {
        // Frames a redrawn line, so that nobody sees half of it; other terminals ignore it, too.
        if (first, parameters) == (Some(b'?'), &[&[SYNCHRONISED_OUTPUT]]) {
            return;
        }
        if (first, parameters) == (Some(b'?'), &[&[WRAPPING]]) {
            return;
        }
        // Other terminals ignore it.
        if (first, last) == (Some(b'>'), 'm') && matches!(parameters, [[4], [1]] | [[4]]) {
            self.tells_shift = parameters.len() > 1;
            return;
        }
        let first = first.map(char::from).unwrap_or_default();
        self.all.push(format!("csi {first}{parameters:?}{last}"));
    }

    fn unhandled_osc(&mut self, _: &mut vt100::Screen, parameters: &[&[u8]]) {
        self.all
            .push(format!("osc {}", parameters.join(&b';').escape_ascii()));
    }
}
