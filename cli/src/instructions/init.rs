//! `/init`: the message that has the model write the project's instruction file.

use crate::app::App;
use crate::config::instruction_files::{NAMES, in_folder};

/// The tool that improves a file that is there.
const EDIT: &str = "edit_file";

/// The tool that writes a new one.
const WRITE: &str = "write_file";

/// What is to be found out, and what goes into the file.
const CONTENT: &str = "\
Look at the project with your tools first: its README, manifests and build files, the checks that it runs, the layout of its \
folders, and enough of the source to see how it is written.

The file is read at the beginning of each conversation with a coding agent. It should hold what an agent needs and would \
otherwise have to find out or get wrong:

- what the project is, in a sentence or two
- the commands that build it, run it, check its style, and run all tests and a single one
- the layout: what is where, as far as names do not tell
- conventions that the code follows, and rules that are easy to break

Write only what you have found in the project, no general advice. Keep it below 60 lines, in Markdown.";

/// The tool that the message names.
pub fn tool(app: &App) -> &'static str {
    match in_folder(&app.settings.project) {
        Some(_) => EDIT,
        None => WRITE,
    }
}

/// What there is to say before the message, and the message.
pub fn message(app: &App) -> (Option<String>, String) {
    let existing = in_folder(&app.settings.project);
    let name = existing.as_deref().and_then(|path| path.file_name());
    match name.map(|name| name.to_string_lossy()) {
        Some(name) => (
            Some(format!(
                "{name} exists already, so the model is asked to improve it."
            )),
            format!(
                "Improve {name} in the project's folder with {EDIT}. Read it before anything else. Correct what is wrong or \
                 outdated, add what is missing, and keep the user's own rules.\n\n{CONTENT}"
            ),
        ),
        None => {
            let [name, _] = NAMES;
            let message =
                format!("Write {name} in the project's folder with {WRITE}.\n\n{CONTENT}");
            (None, message)
        }
    }
}
