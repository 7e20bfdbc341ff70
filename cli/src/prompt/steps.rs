//! `/steps`, and the keys that change how it goes on while a line is read: Ctrl-V for the steps to a reply, Shift+Tab for the
//! mode.

use rustyline::Cmd;

use dunlin_host::display::width;
use dunlin_host::permission::ModeSwitch;
use dunlin_terminal::ui::{Ui, terminal};

use crate::modes;

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
    match fits_one_row(line) {
        // The line is drawn again below what is said.
        true => ui.say_above_line(|| ui.toggle_steps()),
        false => ui.show_steps(!ui.shows_steps()),
    }
    Cmd::Repaint
}

/// Shift+Tab on a line that is no message.
pub fn choose_mode(ui: &Ui, switch: &ModeSwitch, line: &str) -> Cmd {
    let next = switch.get().next();
    match fits_one_row(line) {
        true => ui.say_above_line(|| modes::choose(ui, switch, next)),
        // Nothing can be said above it, so nothing is changed.
        false => return Cmd::Noop,
    }
    Cmd::Repaint
}

fn fits_one_row(line: &str) -> bool {
    let room = terminal::size().0.saturating_sub(PROMPT_COLUMNS);
    !line.contains('\n') && width(line) < room
}
