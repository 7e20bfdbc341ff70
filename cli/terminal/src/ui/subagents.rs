//! What is said of a subagent in a row: below the turn, in `/agents`, and in the inspector.

use std::time::{Duration, Instant};

use dunlin_chat::tokens::counted;
use dunlin_host::display::one_line;

use super::calls::{cut, elapsed, fit};
use super::style::Label;
use super::wrap::visible;

/// In fewer columns there is no room for the number of calls and the time.
const MIN_COLUMNS_FOR_ALL: usize = 72;

/// Columns of ` · `.
const SEPARATOR_COLUMNS: usize = 3;

/// How a subagent is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SubagentStatus {
    Running,
    Answered,
    /// It is over, and has not answered.
    Failed,
}

impl SubagentStatus {
    /// What stands before its name.
    pub fn mark(self) -> (&'static str, Label) {
        match self {
            SubagentStatus::Running => ("…", Label::Quiet),
            SubagentStatus::Answered => ("✓", Label::Good),
            SubagentStatus::Failed => ("–", Label::Quiet),
        }
    }
}

/// A subagent in a row. Its texts are foreign.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubagentRow {
    pub name: String,
    pub status: SubagentStatus,
    /// What it does, or why it is over; empty once it has answered.
    pub state: String,
    /// How many calls it has made.
    pub calls: u32,
    /// How many tokens its requests and replies had.
    pub tokens: u64,
    pub begun: Instant,
    /// How long it ran, once it is over.
    pub duration: Option<Duration>,
}

impl SubagentRow {
    /// `… research 1`, ` · read_file src/auth.rs` and ` · 4 calls · 12.3k tokens · 41 s`, together in so many columns.
    pub fn parts(&self, columns: usize) -> [String; 3] {
        let (mark, _) = self.status.mark();
        let head = fit(&format!("{mark} {}", one_line(&self.name)), columns * 2 / 5);
        let figures = match (self.is_known(), columns < MIN_COLUMNS_FOR_ALL) {
            (true, true) => format!(" · {} tokens", thousands(self.tokens)),
            (true, false) => format!(" · {}", self.figures()),
            (false, _) => String::new(),
        };
        let end = fit(&figures, columns * 3 / 5);
        let room = columns.saturating_sub(visible(&head) + visible(&end) + SEPARATOR_COLUMNS);
        let state = match fit(&one_line(&self.state), room) {
            state if state.is_empty() => String::new(),
            state => format!(" · {state}"),
        };
        [head, state, end]
    }

    /// The row of one that runs, among others that do much the same: `… research 1: Find the eggs`, ` · read_file src/auth.rs`
    /// and ` · 12.3k tokens · 41.0 s`, together in so many columns.
    pub fn running_parts(&self, task: &str, columns: usize) -> [String; 3] {
        const BEHIND_NAME: &str = ": ";
        let (mark, _) = self.status.mark();
        let name = fit(&format!("{mark} {}", one_line(&self.name)), columns * 2 / 5);
        let (tokens, time) = (thousands(self.tokens), elapsed(self.time()));
        let end = fit(&format!(" · {tokens} tokens · {time}"), columns * 2 / 5);
        let separators = BEHIND_NAME.len() + SEPARATOR_COLUMNS;
        let room = columns.saturating_sub(visible(&name) + visible(&end) + separators);
        let (task, state) = (one_line(task), one_line(&self.state));
        let task = cut(&task, room.saturating_sub(visible(&state)).max(room / 2));
        let state = fit(&state, room.saturating_sub(visible(&task)));
        let behind = |separator: &str, text: String| match text.is_empty() {
            true => text,
            false => format!("{separator}{text}"),
        };
        [name + &behind(BEHIND_NAME, task), behind(" · ", state), end]
    }

    fn time(&self) -> Duration {
        self.duration.unwrap_or_else(|| self.begun.elapsed())
    }

    /// Whether it is known what it came to: not of one that ended with Dunlin.
    fn is_known(&self) -> bool {
        self.status == SubagentStatus::Running || self.duration.is_some()
    }

    /// `4 calls · 12.3k tokens · 41 s`; empty where that is not known.
    pub fn figures(&self) -> String {
        if !self.is_known() {
            return String::new();
        }
        format!(
            "{} · {} tokens · {}",
            counted(self.calls as usize, "call", "calls"),
            thousands(self.tokens),
            elapsed(self.time())
        )
    }
}

/// `812`, `12.3k`, `1.2M`
pub fn thousands(count: u64) -> String {
    match count {
        0..1_000 => count.to_string(),
        1_000..1_000_000 => format!("{:.1}k", count as f64 / 1e3),
        _ => format!("{:.1}M", count as f64 / 1e6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_numbers_are_short() {
        for (count, expected) in [
            (0, "0"),
            (999, "999"),
            (1_000, "1.0k"),
            (12_345, "12.3k"),
            (1_234_567, "1.2M"),
        ] {
            assert_eq!(thousands(count), expected);
        }
    }

    #[test]
    fn a_row_fits_into_its_columns() {
        let row = SubagentRow {
            name: "research 1".to_owned(),
            status: SubagentStatus::Running,
            state: "read_file src/dates/parse\u{1b}.rs".to_owned(),
            calls: 4,
            tokens: 12_345,
            begun: Instant::now(),
            duration: Some(Duration::from_secs(41)),
        };
        assert_eq!(
            row.parts(80).concat(),
            "… research 1 · read_file src/d…/parse\\u{1b}.rs · 4 calls · 12.3k tokens · 41.0 s"
        );
        assert_eq!(
            row.parts(40).concat(),
            "… research 1 · read_…}.rs · 12.3k tokens"
        );
        let task = "Find what parses dates, and list the functions without a test";
        let check = |state: &str, columns, expected: &str| {
            let row = SubagentRow {
                state: state.to_owned(),
                ..row.clone()
            };
            assert_eq!(row.running_parts(task, columns).concat(), expected);
        };
        let reads = "read_file src/dates/parse.rs";
        check(
            reads,
            107,
            "… research 1: Find what parses dates, and list the … · read_file src/dates/parse.rs · 12.3k tokens · 41.0 s",
        );
        check(
            reads,
            77,
            "… research 1: Find what parses … · read_file…parse.rs · 12.3k tokens · 41.0 s",
        );
        check(
            "writing",
            77,
            "… research 1: Find what parses dates, and … · writing · 12.3k tokens · 41.0 s",
        );
        for columns in 0..120 {
            assert!(visible(&row.parts(columns).concat()) <= columns);
            let running = row.running_parts(task, columns).concat();
            assert!(visible(&running) <= columns, "{running}");
        }
        let answered = SubagentRow {
            status: SubagentStatus::Answered,
            state: String::new(),
            ..row
        };
        assert_eq!(answered.parts(40).concat(), "✓ research 1 · 12.3k tokens");
    }
}
