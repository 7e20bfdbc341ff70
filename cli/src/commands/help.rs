//! `dunlin help TOPIC`: prints a page of the documentation. The help of a command is printed where arguments are read.

use crate::args::Cli;
use crate::error::Exit;
use crate::pages;
use dunlin_terminal::ui::Ui;

/// Prints the page: rendered on a terminal, its Markdown in a pipe.
pub fn run(ui: &Ui, topic: &[String]) -> Exit {
    match topic.first().and_then(|name| pages::find(name)) {
        Some(page) => {
            ui.reply_piece(page.text);
            ui.end_reply();
            if Cli::has_command(page.name) {
                ui.status(&format!("\nOptions: dunlin {} --help", page.name));
            }
            Exit::Done
        }
        None => Exit::Usage,
    }
}
