//! One calm line per call: what is going on, replaced in place by how it ended.

use std::time::Duration;

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::style::{Label, Styles};

/// Where a call stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallState {
    /// The model proposed it, or the user is being asked.
    Proposed,
    /// It runs.
    Running,
    /// Done.
    Completed,
    /// The tool failed.
    Failed,
    /// The user or a rule refused it.
    Denied,
    /// It did not come to it.
    NotRun,
    /// Ctrl-C.
    Cancelled,
}

impl CallState {
    /// Whether nothing more will happen.
    pub fn is_final(self) -> bool {
        !matches!(self, CallState::Proposed | CallState::Running)
    }

    /// Whether it ended as it should.
    pub fn is_good(self) -> bool {
        self == CallState::Completed
    }

    fn mark(self) -> (&'static str, Label) {
        match self {
            CallState::Proposed | CallState::Running => ("·", Label::Quiet),
            CallState::Completed => ("✓", Label::Good),
            CallState::Failed | CallState::Denied => ("✗", Label::Bad),
            CallState::NotRun | CallState::Cancelled => ("–", Label::Quiet),
        }
    }

    fn word(self) -> Option<&'static str> {
        match self {
            CallState::Proposed | CallState::Running | CallState::Completed => None,
            CallState::Failed => Some("failed"),
            CallState::Denied => Some("denied"),
            CallState::NotRun => Some("not run"),
            CallState::Cancelled => Some("cancelled"),
        }
    }
}

/// What the line of a call shows. Texts are foreign and escaped here.
#[derive(Debug, Clone, Copy)]
pub struct CallLine<'a> {
    /// The tool.
    pub tool: &'a str,
    /// What it acts on, in short.
    pub target: &'a str,
    /// Where it stands.
    pub state: CallState,
    /// Why it failed, or what it is doing.
    pub note: Option<&'a str>,
    /// How long it ran.
    pub duration: Option<Duration>,
}

impl CallLine<'_> {
    /// The line, at most `columns` wide. The target is shortened before the note is: both ends of a path
    /// tell more than its middle.
    pub fn render(&self, styles: Styles, columns: usize) -> String {
        let (mark, label) = self.state.mark();
        let tool = escape(self.tool);
        let mut end = String::new();
        if let Some(word) = self.state.word() {
            end.push_str(&format!(" · {word}"));
        }
        if let Some(duration) = self.duration.filter(|_| self.state.is_final()) {
            end.push_str(&format!(" · {}", elapsed(duration)));
        }
        // The last column stays free: writing into it wraps on some terminals.
        let mut room = columns.saturating_sub(1);
        let mut take = |text: &str| {
            let shown = fit(text, room);
            room = room.saturating_sub(shown.width());
            shown
        };
        let head = take(&format!("  {mark} "));
        let tool = take(&tool);
        let end = take(&end);
        let target = escape(self.target);
        let target = if target.is_empty() {
            String::new()
        } else {
            take(&format!(" {target}"))
        };
        let note = match self.note {
            Some(note) if !note.is_empty() => take(&format!(" · {}", escape(note))),
            _ => String::new(),
        };
        format!(
            "{}{}{}{}{}",
            styles.paint(label, &head),
            styles.paint(Label::Name, &tool),
            styles.paint(Label::Target, &target),
            styles.paint(label, &end),
            styles.paint(Label::Quiet, &note),
        )
    }
}

/// A duration for people: three digits at most.
pub fn elapsed(duration: Duration) -> String {
    let seconds = duration.as_secs_f64();
    match duration.as_millis() {
        0 => format!("{:.1} ms", seconds * 1000.0),
        millis @ 1..=999 => format!("{millis} ms"),
        1000..=59_999 => format!("{seconds:.1} s"),
        millis => format!("{} min {} s", millis / 60_000, millis / 1000 % 60),
    }
}

/// Shortens in the middle to at most `columns` columns on the screen.
pub fn fit(text: &str, columns: usize) -> String {
    if text.width() <= columns {
        return text.to_owned();
    }
    if columns == 0 {
        return String::new();
    }
    let tail_room = (columns - 1) / 2;
    let head = take_columns(text.chars(), columns - 1 - tail_room);
    let tail: String = take_columns(text.chars().rev(), tail_room)
        .chars()
        .rev()
        .collect();
    format!("{head}…{tail}")
}

fn take_columns(characters: impl Iterator<Item = char>, columns: usize) -> String {
    let mut used = 0;
    characters
        .take_while(|c| {
            used += c.width().unwrap_or(0);
            used <= columns
        })
        .collect()
}

fn escape(text: &str) -> String {
    dunlin_host::display::escape(text).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(state: CallState, note: Option<&str>, columns: usize) -> String {
        let duration = Some(Duration::from_millis(12));
        CallLine {
            tool: "read_file",
            target: "/project/src/main.rs",
            state,
            note,
            duration,
        }
        .render(Styles::plain(), columns)
    }

    #[test]
    fn each_state_has_its_line() {
        let check = |state, note, expected: &str| assert_eq!(line(state, note, 80), expected);
        check(
            CallState::Proposed,
            None,
            "  · read_file /project/src/main.rs",
        );
        check(
            CallState::Running,
            Some("half"),
            "  · read_file /project/src/main.rs · half",
        );
        check(
            CallState::Completed,
            None,
            "  ✓ read_file /project/src/main.rs · 12 ms",
        );
        check(
            CallState::Failed,
            Some("no such\nfile\x1b[2J"),
            "  ✗ read_file /project/src/main.rs · failed · 12 ms · no such\\nfile\\u{1b}[2J",
        );
        check(
            CallState::Denied,
            None,
            "  ✗ read_file /project/src/main.rs · denied · 12 ms",
        );
        check(
            CallState::Cancelled,
            None,
            "  – read_file /project/src/main.rs · cancelled · 12 ms",
        );
    }

    #[test]
    fn a_line_never_wraps() {
        assert_eq!(
            line(CallState::Completed, None, 30),
            "  ✓ read_file /pr….rs · 12 ms"
        );
        for columns in 0..90 {
            for state in [CallState::Completed, CallState::Failed, CallState::NotRun] {
                let line = line(state, Some("日本語 日本語 日本語"), columns);
                assert!(line.width() < columns.max(1), "{columns}: {line:?}");
            }
        }
    }

    #[test]
    fn durations_are_short() {
        let check =
            |micros, expected: &str| assert_eq!(elapsed(Duration::from_micros(micros)), expected);
        check(240, "0.2 ms");
        check(12_300, "12 ms");
        check(1_240_000, "1.2 s");
        check(61_000_000, "1 min 1 s");
    }
}
