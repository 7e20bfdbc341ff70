//! What is shown between turns: a message that was queued and is sent now, and the status line.

use dunlin_host::display::escape;
use dunlin_terminal::ui::Ui;
use dunlin_terminal::ui::calls::cut;
use dunlin_terminal::ui::style::Label;

use crate::app::App;
use crate::dialogue::Dialogue;

/// Shows a message that was queued as if it had been typed at this prompt.
pub fn show(ui: &Ui, prompt: &str, line: &str) {
    let prompt = ui.styles().paint(Label::Prompt, prompt);
    let mut rows = line.lines().map(escape);
    let first = rows.next().unwrap_or_default();
    ui.data(&format!("{prompt}{first}"));
    rows.for_each(|row| ui.data(&format!("  {row}")));
}

/// Shows the status line, if it is wanted and has changed.
pub fn show_status(app: &App, dialogue: Option<&Dialogue>, shown: &mut String) {
    let status = dialogue.and_then(|dialogue| dialogue.status_line(app));
    if let Some(status) = status.filter(|status| status != shown) {
        let ui = &app.ui;
        let row = cut(&status, ui.window().columns.saturating_sub(1));
        ui.status(&ui.status_styles().paint(Label::Quiet, &row));
        *shown = status;
    }
}
