//! A value of a request in the user's editor.

use std::ffi::OsString;
use std::path::PathBuf;

use crate::app::App;
use dunlin_host::command::StartError;
use dunlin_terminal::editor;
use dunlin_terminal::request::paused::{Draft, Edited};
use dunlin_terminal::variables::Replaced;

/// The file in which a value is edited.
const VALUE: editor::Draft = editor::Draft {
    prefix: "request-",
    suffix: ".md",
    what: "the value",
};

/// The file in which several values are edited.
const TREE: editor::Draft = editor::Draft {
    suffix: ".json",
    what: "the values",
    ..VALUE
};

/// What it takes to start the editor; it can go to another thread.
#[derive(Debug, Clone)]
pub struct EditValue {
    program: Result<OsString, StartError>,
    variables: Replaced,
    folder: PathBuf,
}

impl EditValue {
    /// The editor of the user.
    pub fn of(app: &App) -> EditValue {
        let settings = &app.settings;
        EditValue {
            program: app.editor(),
            variables: app.replaced(),
            folder: settings.folders.data.clone(),
        }
    }

    /// Has a value edited. Blocks until the editor has ended; the terminal must be the editor's until then.
    ///
    /// # Errors
    /// The editor failed.
    pub fn run(&self, draft: &Draft) -> Result<String, editor::EditorError> {
        let file = match draft.edited {
            Edited::Leaf(_) => VALUE,
            Edited::Tree(_) => TREE,
        };
        let (variables, folder) = (&self.variables, &self.folder);
        let edited =
            editor::edit(&self.program.clone()?, variables, folder, file, &draft.text)?.text;
        // Editors end a file with a line end, which the value need not have.
        let ends = draft.text.ends_with('\n');
        let whole = edited.strip_suffix('\n').filter(|_| !ends);
        Ok(whole.map_or_else(|| edited.clone(), str::to_owned))
    }
}
