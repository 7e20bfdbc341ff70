//! What is typed while a turn runs, as rows at the end of the screen: messages that are queued, and below them the one that is
//! being typed.

use dunlin_host::display::{escape, width};

use super::calls::{cut, fit};
use super::input_marks;
use super::style::{Label, Styles};
use super::typed_line::TypedLine;

/// Stands behind what is kept, as long as no other line is begun.
const TAKES_BACK: &str = "  (Up takes it back)";

/// How many queued and kept lines are shown, where the window has the room; of more of them, the last ones, and how many others
/// there are.
const MAX_QUEUED_ROWS: usize = 3;

/// Rows of the window for each that shows a queued message.
const WINDOW_ROWS: usize = 6;

/// What of the line behind the cursor is seen at least where not all of it fits: one part of so many.
const BEHIND_CURSOR: usize = 4;

/// What the user types while a turn runs.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Typing {
    /// What stands above it, escaped.
    pub status: Option<String>,
    pub queued: Vec<String>,
    /// How many of them are sent after the turn; the others wait for the user.
    pub sent: usize,
    /// What had to end for a question, and comes back.
    pub kept: Vec<String>,
    pub line: TypedLine,
}

impl Typing {
    /// Whether there is nothing to show.
    pub(super) fn is_empty(&self) -> bool {
        self.status.is_none()
            && self.queued.is_empty()
            && self.kept.is_empty()
            && self.line.text.is_empty()
    }

    /// The rows in a window with so many columns and rows. The cursor is where the last one leaves it.
    pub(super) fn rows(&self, (columns, rows): (usize, usize), styles: Styles) -> Vec<String> {
        // The last column stays free: writing into it wraps on some terminals.
        let room = |mark: &str| columns.saturating_sub(width(mark) + 1);
        let status = self.status.iter();
        let status = status.map(|status| styles.paint(Label::Quiet, &cut(status, room(""))));
        let mut shown: Vec<String> = status.collect();
        let all = self.queued.len() + self.kept.len();
        let count = all.min(MAX_QUEUED_ROWS).min(rows / WINDOW_ROWS);
        let others = all - count;
        if others > 0 {
            let more = if count == 0 { "" } else { " more" };
            let queued = others.min(self.queued.len());
            let counts = [(queued, "queued"), (others - queued, "kept")];
            let counts = counts.iter().filter(|(count, _)| *count > 0);
            let counts: Vec<String> = counts
                .map(|(count, what)| format!("{count}{more} {what}"))
                .collect();
            let dots = if count == 0 { "" } else { "… " };
            let text = format!("  {dots}{}", counts.join(", "));
            shown.push(styles.paint(Label::Quiet, &fit(&text, room(""))));
        }
        let mark = |at| match at {
            _ if at < self.sent => input_marks::QUEUED,
            _ if at < self.queued.len() => input_marks::WAITS,
            _ => input_marks::KEPT,
        };
        let texts = self.queued.iter().chain(&self.kept);
        for (at, text) in texts.enumerate().skip(others) {
            let mark = mark(at);
            let text = escape(text);
            let mut row = format!("{mark}{}", fit(&text, room(mark)));
            let is_next = at + 1 == all && !self.kept.is_empty() && self.line.text.is_empty();
            if is_next && width(&text) + TAKES_BACK.len() <= room(mark) {
                row.push_str(TAKES_BACK);
            }
            shown.push(styles.paint(Label::Quiet, &row));
        }
        if !self.line.text.is_empty() {
            let mark = input_marks::MESSAGE;
            let (text, behind) = around_cursor(&self.line, room(mark));
            let mark = styles.paint(Label::Prompt, mark);
            let back = match behind {
                0 => String::new(),
                columns => format!("\x1b[{columns}D"),
            };
            shown.push(format!("{mark}{text}{back}"));
        }
        shown
    }
}

/// What fits of a line, and how many columns of that stand behind the cursor.
fn around_cursor(line: &TypedLine, columns: usize) -> (String, usize) {
    let (before, behind) = line
        .text
        .split_at_checked(line.cursor)
        .unwrap_or((&line.text, ""));
    let (before, behind) = (escape(before), escape(behind));
    let room = match width(&before) + width(&behind) <= columns {
        true => width(&behind),
        false => width(&behind).min(columns / BEHIND_CURSOR),
    };
    let behind = cut(&behind, room);
    let before = end_of(&before, columns.saturating_sub(width(&behind)));
    let columns = width(&behind);
    (before + &behind, columns)
}

/// The end of a text that fits, where somebody types.
pub(super) fn end_of(text: &str, columns: usize) -> String {
    let reversed: String = text.chars().rev().collect();
    cut(&reversed, columns).chars().rev().collect()
}

#[cfg(test)]
mod tests {
    use super::super::wrap::visible;
    use super::*;

    #[test]
    fn the_end_of_a_long_line_is_shown() {
        for (text, columns, end) in [
            ("", 0, ""),
            ("one two", 7, "one two"),
            ("one two", 6, "…e two"),
            ("größe", 4, "…öße"),
            ("日本語", 5, "…本語"),
            ("日本語", 4, "…語"),
            ("one", 1, "…"),
            ("one", 0, ""),
        ] {
            assert_eq!(end_of(text, columns), end, "{text:?}");
        }
    }

    fn typing(queued: &[&str], text: &str, cursor: usize) -> Typing {
        Typing {
            status: None,
            queued: queued.iter().map(|it| (*it).to_owned()).collect(),
            sent: queued.len(),
            kept: Vec::new(),
            line: TypedLine {
                text: text.to_owned(),
                cursor,
            },
        }
    }

    #[test]
    fn the_line_stands_below_what_is_queued() {
        let check = |typing: &Typing, window, rows: &[&str]| {
            assert_eq!(typing.rows(window, Styles::plain()), rows, "{typing:?}");
        };
        let window = (40, 24);
        check(&Typing::default(), window, &[]);
        check(&typing(&[], "fix", 3), window, &["› fix"]);
        check(&typing(&[], "fix it", 3), window, &["› fix it\x1b[3D"]);
        check(
            &typing(&["one", "two\nlines"], "", 0),
            window,
            &["  queued: one", "  queued: two\\nlines"],
        );
        let waits = Typing {
            sent: 1,
            ..typing(&["one", "/new", "two"], "", 0)
        };
        let rows = ["  queued: one", "  waits: /new", "  waits: two"];
        check(&waits, window, &rows);
        let many = typing(&["1", "2", "3", "4", "5"], "6", 1);
        check(
            &many,
            window,
            &[
                "  … 2 more queued",
                "  queued: 3",
                "  queued: 4",
                "  queued: 5",
                "› 6",
            ],
        );
        check(&many, (40, 7), &["  … 4 more queued", "  queued: 5", "› 6"]);
        check(&many, (40, 5), &["  5 queued", "› 6"]);
        let mut kept = Typing {
            kept: vec!["fix the te".to_owned(), "and the docs".to_owned()],
            ..typing(&["one", "two"], "", 0)
        };
        let rows = [
            "  … 1 more queued",
            "  queued: two",
            "  kept: fix the te",
            "  kept: and the docs  (Up takes it back)",
        ];
        check(&kept, (44, 24), &rows);
        check(&kept, (40, 5), &["  2 queued, 2 kept"]);
        kept.line.text = "new".to_owned();
        kept.line.cursor = 3;
        check(
            &kept,
            (40, 7),
            &[
                "  … 2 more queued, 1 more kept",
                "  kept: and the docs",
                "› new",
            ],
        );
        // What does not fit is shortened; the cursor stays in view.
        let long = typing(&["look at the directory"], "look at the directory", 12);
        check(
            &long,
            (17, 24),
            &["  queued: loo…ry", "› …ok at the di…\x1b[3D"],
        );
        check(&typing(&[], "日本語", 3), (8, 24), &["› 日…\x1b[1D"]);
        let status = Typing {
            status: Some("  a-model · assistant".to_owned()),
            ..typing(&["one"], "two", 3)
        };
        check(
            &status,
            (16, 24),
            &["  a-model · as…", "  queued: one", "› two"],
        );
    }

    #[test]
    fn every_row_fits() {
        let typing = typing(&["日本語", "größe"], "日本語 größe\u{202e}", 6);
        for columns in 1..40 {
            for row in typing.rows((columns, 24), Styles::plain()) {
                let marks = visible(input_marks::QUEUED);
                assert!(visible(&row) < columns.max(marks + 1), "{columns}: {row:?}");
            }
        }
    }
}
