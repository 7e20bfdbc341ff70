//! `/steps` and Ctrl-V: whether the steps to a reply are shown.

use rustyline::Cmd;

use dunlin_host::display::width;
use dunlin_terminal::ui::{Ui, terminal};

/// How many columns the prompt takes at most.
const PROMPT_COLUMNS: usize = 12;

/// Does what was typed behind `/steps`.
pub fn run(ui: &Ui, typed: &str) {
    match typed {
        "" => ui.toggle_steps(),
        "on" | "off" => {
            ui.show_steps(typed == "on");
            ui.say_steps();
        }
        _ => ui.status("/steps takes \"on\", \"off\" or nothing."),
    }
}

/// Ctrl-V on a line: the line stays as it is.
pub fn toggle(ui: &Ui, line: &str) -> Cmd {
    let room = terminal::size().0.saturating_sub(PROMPT_COLUMNS);
    if !line.contains('\n') && width(line) < room {
        // The line is drawn again below what is said.
        ui.say_above_line(|| ui.toggle_steps());
    } else {
        ui.show_steps(!ui.shows_steps());
    }
    Cmd::Repaint
}
