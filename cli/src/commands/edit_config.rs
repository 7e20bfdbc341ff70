//! `dunlin config edit`: the user's configuration file in the user's editor.

use std::env;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use dunlin_host::Plugin;
use dunlin_host::display::escape;

use super::make_app::app_of;
use crate::args::Global;
use crate::config::edit::{EditError, replace};
use crate::config::env::Environment;
use crate::config::file::{FileError, read_text};
use crate::error::{CliError, Exit};
use crate::settings::Settings;
use dunlin_terminal::editor;
use dunlin_terminal::ui::Ui;

/// The file in which it is edited: what is not valid yet must not take the place of what is.
const CONFIG: editor::Draft = editor::Draft {
    prefix: "config-",
    suffix: ".toml",
    what: "the configuration",
};

/// What a file begins with.
const NEW: &str = "\
# The configuration of Dunlin. `dunlin help configuration` explains each key, `dunlin config init` writes an agent.
";

/// Nobody sees an editor here.
#[derive(Debug, thiserror::Error)]
#[error("an editor needs a terminal")]
struct NoTerminal;

/// What was written has nowhere to go.
#[derive(Debug, thiserror::Error)]
#[error("cannot keep what you wrote in {}", path.display())]
struct NotKept {
    path: PathBuf,
    source: std::io::Error,
}

/// Has the file edited until it is valid or the user gives up.
pub fn run(
    ui: &Arc<Ui>,
    global: &Global,
    environment: Environment,
    plugins: Vec<Plugin>,
) -> Result<Exit, CliError> {
    // A file that is not valid is what an editor is needed for.
    let settings = match Settings::load_here(global, environment.clone()) {
        Ok(settings) => settings,
        Err(_) => {
            let current = env::current_dir().map_err(CliError::failed)?;
            Settings::without_files(global, environment, &current)?
        }
    };
    let app = app_of(ui, settings, plugins);
    let folders = &app.settings.folders;
    let path = folders.config_file();
    let short = escape(&folders.short(&path)).into_owned();
    if !app.asks() {
        let hint = format!("it is {short}");
        return Err(CliError::usage(NoTerminal).with_hint(hint));
    }
    let before = read_text(&path).map_err(EditError::from)?;
    let mut text = before.clone().unwrap_or_else(|| NEW.to_owned());
    loop {
        let program = app.editor().map_err(editor::EditorError::from);
        let edited = program.and_then(|program| {
            editor::edit(&program, &app.replaced(), &folders.config, CONFIG, &text)
        });
        let edited = edited.map_err(CliError::failed)?;
        let is_as_before = before.as_ref() == Some(&edited.text);
        if is_as_before || (before.is_none() && !edited.is_saved) {
            ui.status("Nothing was changed.");
            return Ok(Exit::Done);
        }
        text = edited.text;
        match replace(&path, before.as_deref(), &text) {
            Ok(()) => {
                ui.status(&format!("{short} is valid and written."));
                return Ok(Exit::Done);
            }
            Err(error @ EditError::File(FileError::Invalid { .. })) => {
                ui.error(&CliError::from(error));
                if !ui.confirms("Edit it again? If not, your changes are dropped.") {
                    ui.status("Nothing was changed.");
                    return Ok(Exit::Failed);
                }
            }
            Err(error) => {
                keep(ui, &path, &text)?;
                return Err(error.into());
            }
        }
    }
}

/// Puts down what was written beside the file that it was for.
fn keep(ui: &Ui, path: &Path, text: &str) -> Result<(), CliError> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let kept = tempfile::Builder::new()
        .prefix("config-edited-")
        .suffix(".toml")
        .tempfile_in(folder)
        .and_then(|mut file| {
            std::io::Write::write_all(&mut file, text.as_bytes())?;
            let (_, path) = file.keep()?;
            Ok(path)
        });
    let kept = kept.map_err(|source| {
        CliError::failed(NotKept {
            path: path.to_path_buf(),
            source,
        })
    })?;
    let kept = kept.display().to_string();
    ui.status(&format!("What you wrote is in {}.", escape(&kept)));
    Ok(())
}
