//! Subagents as rows: those that run, below the turn; and all of them, for `/agents`.

use dunlin_chat::turn::{CallState, CallView, Changes};
use dunlin_host::display::{escape, one_line};
use dunlin_host::subagent::SubagentEnd;
use dunlin_terminal::approval::look::Window;
use dunlin_terminal::ui::Ui;
use dunlin_terminal::ui::style::Label;
use dunlin_terminal::ui::subagents::{SubagentRow, SubagentStatus, thousands};

use super::{Roster, Subagent};
use dunlin_chat::tokens::counted;

impl Roster {
    /// Draws a row for each that runs, and tells whoever watches.
    pub fn draw(&self, ui: &Ui) {
        let window = ui.window();
        let of_turn = self.of_turn();
        let running = of_turn.iter().filter(|it| !it.has_ended());
        let mut rows: Vec<String> = running.map(|it| row(it, window)).collect();
        let hint = hint(rows.len());
        // What scrolls off the screen cannot be taken away again.
        rows.truncate(window.rows.saturating_sub(4));
        if !rows.is_empty() && ui.is_chat() {
            rows.push(ui.status_styles().paint(Label::Quiet, &hint));
        }
        ui.show_rows(rows);
        self.notify();
    }
}

/// What can be typed while they run, and how many there are: a low window does not show all of them.
fn hint(running: usize) -> String {
    match running {
        0 | 1 => "  /agents stop N ends one, Esc all".to_owned(),
        running => format!("  {running} subagents run · /agents stop N ends one, Esc all"),
    }
}

/// `  … research 1: Find the eggs · read_file src/auth.rs · 12.3k tokens · 41.0 s`, in the columns of the window.
fn row(subagent: &Subagent, window: Window) -> String {
    let styles = window.styles;
    // The last column stays free: writing into it wraps on some terminals.
    let columns = window.columns.saturating_sub(3);
    let [head, state, end] = subagent.row().running_parts(&subagent.task, columns);
    [
        "  ".to_owned(),
        styles.paint(Label::Name, &head),
        styles.paint(Label::Target, &state),
        styles.paint(Label::Quiet, &end),
    ]
    .concat()
}

impl Subagent {
    /// What is said of it in a row.
    pub fn row(&self) -> SubagentRow {
        let live = self.live();
        let (status, state) = match &live.end {
            None => (SubagentStatus::Running, live.activity),
            Some(SubagentEnd::Answered) => (SubagentStatus::Answered, String::new()),
            Some(end) => (SubagentStatus::Failed, end_in_words(end)),
        };
        SubagentRow {
            name: self.name.clone(),
            status,
            state,
            calls: live.calls,
            tokens: live.charge.usage.input_tokens + live.charge.usage.output_tokens,
            begun: live.begun,
            duration: live.duration,
        }
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

/// Has the call of a subagent that is over say how that ended.
pub fn tell(call: &mut CallView, subagent: &Subagent) {
    if call.note.is_some() {
        return;
    }
    call.note = Some(note(subagent));
    // The call itself has completed, and its result says why.
    if call.state == CallState::Completed {
        call.state = state(subagent);
    }
}

/// How the call of a subagent that is over is marked.
fn state(subagent: &Subagent) -> CallState {
    match subagent.live().end {
        None | Some(SubagentEnd::Answered) => CallState::Completed,
        Some(SubagentEnd::Stopped) => CallState::Cancelled,
        Some(_) => CallState::Failed,
    }
}

/// What stands behind the line of the call once it is over, why it is over first: `research 1 · 4 calls · 12.3k tokens`.
fn note(subagent: &Subagent) -> String {
    let live = subagent.live();
    let calls = counted(live.calls as usize, "call", "calls");
    let tokens = thousands(live.charge.usage.input_tokens + live.charge.usage.output_tokens);
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
