//! Subagents as rows: those that run, below the turn; and all of them, for `/agents`.

use dunlin_chat::turn::{CallState, Changes};
use dunlin_host::display::{escape, one_line};
use dunlin_host::subagent::SubagentEnd;
use dunlin_terminal::approval::look::Window;
use dunlin_terminal::ui::Ui;
use dunlin_terminal::ui::calls::{elapsed, fit};
use dunlin_terminal::ui::style::Label;
use dunlin_terminal::ui::wrap::visible;

use super::{Live, Roster, Subagent};
use dunlin_chat::tokens::counted;

/// What can be typed while they run.
const HINT: &str = "  /agents stop N ends one, Esc all";

impl Roster {
    /// Draws a row for each that runs.
    pub fn draw(&self, ui: &Ui) {
        let window = ui.window();
        let of_turn = self.of_turn();
        let running = of_turn.iter().filter(|it| !it.has_ended());
        let mut rows: Vec<String> = running.map(|it| row(it, window)).collect();
        // What scrolls off the screen cannot be taken away again.
        rows.truncate(window.rows.saturating_sub(4));
        if !rows.is_empty() && ui.is_chat() {
            rows.push(ui.status_styles().paint(Label::Quiet, HINT));
        }
        ui.show_rows(rows);
    }
}

/// `1 research 1 · read_file src/auth.rs · 4 calls · 12.3k tokens · 41 s`, in the columns of the window.
fn row(subagent: &Subagent, window: Window) -> String {
    let styles = window.styles;
    let live = subagent.live();
    // The last column stays free: writing into it wraps on some terminals.
    let columns = window.columns.saturating_sub(1);
    let head = format!("  … {} ", fit(&one_line(&subagent.name), columns / 3));
    let end = fit(&format!(" · {}", figures(&live)), columns / 2);
    let room = columns.saturating_sub(visible(&head) + visible(&end) + 2);
    let activity = fit(&one_line(&live.activity), room);
    [
        styles.paint(Label::Name, &head),
        "· ".to_owned(),
        styles.paint(Label::Target, &activity),
        styles.paint(Label::Quiet, &end),
    ]
    .concat()
}

/// `4 calls · 12.3k tokens · 41 s`
pub fn figures(live: &Live) -> String {
    let calls = counted(live.calls as usize, "call", "calls");
    let tokens = live.usage.input_tokens + live.usage.output_tokens;
    let time = elapsed(live.elapsed());
    format!("{calls} · {} tokens · {time}", thousands(tokens))
}

/// `812`, `12.3k`, `1.2M`
fn thousands(count: u64) -> String {
    match count {
        0..1_000 => count.to_string(),
        1_000..1_000_000 => format!("{:.1}k", count as f64 / 1e3),
        _ => format!("{:.1}M", count as f64 / 1e6),
    }
}

/// Why it is over, in a few words; empty where it has answered.
pub fn end_in_words(end: &SubagentEnd) -> String {
    match end {
        SubagentEnd::Answered => String::new(),
        SubagentEnd::CutOff => "cut off".to_owned(),
        SubagentEnd::Denied(question) => format!("denied: {}", one_line(question)),
        SubagentEnd::RoundLimit => "stopped at its limit of rounds".to_owned(),
        SubagentEnd::Stopped => "stopped".to_owned(),
        SubagentEnd::TooLong(why) | SubagentEnd::Failed(why) => one_line(why),
    }
}

/// How the call of a subagent that is over is marked.
pub fn state(subagent: &Subagent) -> CallState {
    match subagent.live().end {
        None | Some(SubagentEnd::Answered) => CallState::Completed,
        Some(SubagentEnd::Stopped) => CallState::Cancelled,
        Some(_) => CallState::Failed,
    }
}

/// What stands behind the line of the call once it is over, why it is over first: `research 1 · 4 calls · 12.3k tokens`.
pub fn note(subagent: &Subagent) -> String {
    let live = subagent.live();
    let calls = counted(live.calls as usize, "call", "calls");
    let tokens = thousands(live.usage.input_tokens + live.usage.output_tokens);
    let mut figures = format!("{} · {calls} · {tokens} tokens", escape(&subagent.name));
    if let Some(changes) = Changes::of(live.edits.iter().flat_map(|it| it.iter())) {
        figures.push_str(&format!(" · {changes}"));
    }
    let end = live.end.as_ref().map(end_in_words).unwrap_or_default();
    match end.is_empty() {
        true => figures,
        false => format!("{end} · {figures}"),
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
}
