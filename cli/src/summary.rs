//! What is said of a session where several are listed.

use dunlin_host::display::escape;
use jiff::Timestamp;

use crate::age::ago;
use dunlin_chat::session::Summary;
use dunlin_chat::tokens::counted;

/// A session in one line, escaped.
pub fn describe(summary: &Summary, now: Timestamp) -> String {
    let title = match summary.title.trim() {
        "" => "(without a title)",
        title => title,
    };
    let mut about = escape(title).into_owned();
    if let Some(problem) = &summary.problem {
        return format!("({})", escape(problem));
    }
    if let Some(changed) = summary.changed {
        about.push_str(" · ");
        about.push_str(&ago(changed, now));
    }
    if let Some(said) = summary.said {
        about.push_str(" · ");
        about.push_str(&counted(said, "message", "messages"));
    }
    if summary.open {
        about.push_str(" · open in another Dunlin");
    }
    about
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_is_one_line() {
        let summary = Summary {
            title: "Birds\u{1b}[2J".to_owned(),
            changed: "2026-03-01T11:00:00Z".parse().ok(),
            said: Some(1),
            ..Summary::default()
        };
        let now = "2026-03-01T12:00:00Z".parse().unwrap();
        assert_eq!(
            describe(&summary, now),
            "Birds\\u{1b}[2J · 1 h ago · 1 message"
        );
        let open = Summary {
            open: true,
            ..summary.clone()
        };
        assert_eq!(
            describe(&open, now),
            "Birds\\u{1b}[2J · 1 h ago · 1 message · open in another Dunlin"
        );
        let broken = Summary {
            problem: Some("empty".to_owned()),
            ..summary
        };
        assert_eq!(describe(&broken, now), "(empty)");
    }
}
