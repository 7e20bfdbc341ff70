//! `/new`, `/sessions`, `/rename`, `/fork` and `/export`: sessions from within the chat.

use std::path::Path;

use dunlin_host::display::escape;

use super::session_picker;
use crate::app::App;
use crate::args::ExportFormat;
use crate::dialogue::Dialogue;
use crate::dialogue::resume::resume;
use crate::error::CliError;
use crate::output_file::{with_real_folder, write};
use crate::sessions::{fork, render};
use dunlin_chat::session::export::file_name;
use dunlin_chat::session::store::{Entry, StoreError};
use dunlin_terminal::ui::Ui;
use dunlin_terminal::ui::style::Label;

/// Said of a session that is the current one.
pub const IS_OPEN: &str = "That session is open already.";

/// Said where nothing was said yet.
pub const NOTHING_TO_FORK: &str = "Nothing to fork yet; /fork ID forks another session.";

/// Starts a new session.
pub fn new(app: &App, dialogue: Option<&mut Dialogue>) {
    let ui = &app.ui;
    match dialogue {
        Some(dialogue) if !dialogue.messages().is_empty() => {
            let stays = dialogue.session().filter(|session| session.exists());
            let stays = stays
                .map(|session| format!(" The old one ({}) is saved: /sessions.", session.id()));
            dialogue.start_afresh(app);
            ui.status(&format!(
                "Started a new session.{}",
                stays.unwrap_or_default()
            ));
        }
        dialogue => {
            if let Some(dialogue) = dialogue {
                dialogue.reload_instructions(app);
            }
            ui.status("This session is already empty.");
        }
    }
}

/// Lists the sessions, or goes on with one.
///
/// # Errors
/// There is no such session, it is open elsewhere, or it cannot be read; everything is as it was then.
pub fn sessions(app: &App, dialogue: &mut Option<Dialogue>, rest: &str) -> Result<(), CliError> {
    let ui = &app.ui;
    let session = dialogue.as_ref().and_then(Dialogue::session);
    let current = session.map(|session| session.entry());
    if rest.is_empty() {
        let title = session.filter(|session| session.exists());
        let title = title.map(|session| session.title());
        list(app, current.as_ref().map(|entry| (entry, title.as_deref())));
        return Ok(());
    }
    let entry = named(app, current.as_ref(), rest)?;
    if Some(&entry) == current.as_ref() {
        ui.status(IS_OPEN);
        return Ok(());
    }
    let loaded = resume(app, dialogue, &entry)?;
    if let Some(dialogue) = dialogue {
        session_picker::show_resumed(app, dialogue, &loaded);
    }
    Ok(())
}

/// Lists the sessions of the project, the current one first with its title, if it has one.
pub fn list(app: &App, current: Option<(&Entry, Option<&str>)>) {
    let ui = &app.ui;
    if let Some((entry, Some(title))) = current {
        ui.data(&format!("    {} {} · this one", entry.id, escape(title)));
    }
    if !session_picker::list(app, current.map(|(entry, _)| entry)).is_empty() {
        let note = "/sessions N, or the id, resumes one";
        ui.status(&ui.status_styles().paint(Label::Quiet, note));
    }
}

/// The session with this id or title.
///
/// # Errors
/// There is none, or there are several.
pub fn find(app: &App, typed: &str) -> Result<Entry, CliError> {
    app.store().find(Some(typed)).map_err(|error| match error {
        StoreError::Unknown { .. } => {
            CliError::usage(error).with_hint("/sessions lists them".to_owned())
        }
        error => error.into(),
    })
}

/// The session with this number in the list of the others than the current one, or with this id or title.
///
/// # Errors
/// There is none, or there are several.
pub fn named(app: &App, current: Option<&Entry>, typed: &str) -> Result<Entry, CliError> {
    let numbered = typed.parse::<usize>().ok().and_then(|number| {
        let others = app.store().entries(false).into_iter();
        let mut others = others.filter(|entry| Some(entry) != current);
        others.nth(number.checked_sub(1)?)
    });
    match numbered {
        Some(entry) => Ok(entry),
        None => find(app, typed),
    }
}

/// Looks whether a session could be resumed now.
///
/// # Errors
/// It cannot be read, belongs to another project, or is open elsewhere.
pub fn check(app: &App, entry: &Entry) -> Result<(), CliError> {
    let loaded = entry.load()?;
    let is_here = loaded.is_of(&app.store().project_name());
    if let Some(head) = loaded.head.filter(|_| !is_here) {
        let (id, project) = (entry.id.clone(), head.project);
        return Err(StoreError::Elsewhere { id, project }.into());
    }
    match entry.summary().open {
        true => Err(StoreError::Locked {
            id: entry.id.clone(),
            pid: None,
        }
        .into()),
        false => Ok(()),
    }
}

/// Gives the session a title.
pub fn rename(ui: &Ui, dialogue: Option<&Dialogue>, title: &str) {
    let session = dialogue.and_then(Dialogue::session);
    match session.filter(|session| session.exists()) {
        None => ui.status("There is no session yet; it begins with your first message."),
        Some(session) if title.is_empty() => {
            ui.status(&format!("Title: \"{}\"", escape(&session.title())));
        }
        Some(session) => {
            session.rename(title);
            match session.take_trouble() {
                Some(trouble) => ui.warn(&trouble),
                None => ui.status(&format!("Renamed to \"{}\"", escape(title))),
            }
        }
    }
}

/// Goes on with a copy: of this session, or of another one, wherever it is open.
///
/// # Errors
/// There is no such session, or a file cannot be written; everything is as it was then.
pub fn fork_here(app: &App, dialogue: &mut Option<Dialogue>, rest: &str) -> Result<(), CliError> {
    let ui = &app.ui;
    let entry = if rest.is_empty() {
        let session = dialogue.as_ref().and_then(Dialogue::session);
        match session.filter(|session| session.exists()) {
            Some(session) => session.entry(),
            None => {
                ui.status(NOTHING_TO_FORK);
                return Ok(());
            }
        }
    } else {
        find(app, rest)?
    };
    let (copy, loaded) = fork(app, &entry)?;
    let (id, was) = (copy.id(), entry.id);
    let is_this = rest.is_empty();
    let dialogue = match dialogue {
        Some(dialogue) => dialogue,
        none => none.insert(Dialogue::begin(app)?),
    };
    if !is_this {
        dialogue.forget_undone();
    }
    dialogue.continue_with(app, copy, &loaded);
    if !is_this {
        session_picker::show_resumed(app, dialogue, &loaded);
    }
    ui.status(&format!("Forked {was} into {id}; continuing in {id}."));
    Ok(())
}

/// `[md|json] [FILE]`: without a file one in the project is named after the title; `-` prints.
///
/// # Errors
/// The file cannot be written.
pub fn export(app: &App, dialogue: Option<&Dialogue>, rest: &str) -> Result<(), CliError> {
    let (ui, settings) = (&app.ui, &app.settings);
    let Some(dialogue) = dialogue.filter(|dialogue| !dialogue.messages().is_empty()) else {
        ui.status("Nothing was said yet.");
        return Ok(());
    };
    let (format, file) = understand(rest).map_err(CliError::usage)?;
    let loaded = dialogue.loaded();
    let id = dialogue
        .session()
        .map_or_else(|| "chat".to_owned(), |session| session.id());
    let text = render(&loaded, &id, format)?;
    if file == Some("-") {
        for line in dunlin_terminal::ui::stream::Filter::default()
            .piece(&text)
            .lines()
        {
            ui.data(line);
        }
        return Ok(());
    }
    let extension = match format {
        ExportFormat::Md => "md",
        ExportFormat::Json => "json",
    };
    let path = match file {
        Some(file) => settings.folders.resolve(file, &settings.project),
        None => settings.project.join(file_name(&loaded, &id, extension)),
    };
    // What is asked about, written and named is the place that links lead to.
    let path = with_real_folder(path);
    let short = settings.folders.short(&path);
    let exists = path.symlink_metadata().is_ok();
    let agreed = match exists {
        true => may_replace(app, &short),
        false => !app.asks() || ui.confirms(&format!("Write {}?", escape(&short))),
    };
    if !agreed {
        ui.status(&format!("{} was not written.", escape(&short)));
        return Ok(());
    }
    write(&path, &text, exists)?;
    ui.status(&format!("Saved to {}", escape(&short)));
    Ok(())
}

/// A word that is neither a format nor looks like the name of a file.
#[derive(Debug, PartialEq, thiserror::Error)]
#[error("{0:?} is not a format; use md or json, as in /export md FILE")]
struct NoFormat(String);

/// Format and file; a format that is not named follows from the file's name.
fn understand(rest: &str) -> Result<(ExportFormat, Option<&str>), NoFormat> {
    let (first, other) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let named = match first {
        "md" | "markdown" => Some(ExportFormat::Md),
        "json" => Some(ExportFormat::Json),
        _ => None,
    };
    let is_word = !rest.is_empty() && rest != "-" && !rest.contains(['.', '/', '~', ' ']);
    if named.is_none() && is_word {
        return Err(NoFormat(rest.to_owned()));
    }
    let file = if named.is_some() { other } else { rest }.trim();
    // Another kind of file would not be one.
    let kind = Path::new(file)
        .extension()
        .map(|it| it.to_string_lossy().to_lowercase());
    let is_known = |kind: &str| ["md", "markdown", "txt", "json"].contains(&kind);
    if named.is_none() && file != "-" {
        match kind {
            Some(kind) if !is_known(&kind) => return Err(NoFormat(kind)),
            None if !file.contains(['.', '/', '~']) && !file.is_empty() => {
                return Err(NoFormat(first.to_owned()));
            }
            _ => {}
        }
    }
    let file = (!file.is_empty()).then_some(file);
    let is_json = |file: &str| Path::new(file).extension().is_some_and(|it| it == "json");
    let format = named.unwrap_or(match file {
        Some(file) if is_json(file) => ExportFormat::Json,
        _ => ExportFormat::Md,
    });
    Ok((format, file))
}

fn may_replace(app: &App, file: &str) -> bool {
    let question = format!("{} already exists. Overwrite?", escape(file));
    app.asks() && app.ui.confirms(&question)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exports_are_understood() {
        use ExportFormat::{Json, Md};
        for (rest, format, file) in [
            ("", Md, None),
            ("md", Md, None),
            ("json", Json, None),
            ("-", Md, Some("-")),
            ("json -", Json, Some("-")),
            ("notes.md", Md, Some("notes.md")),
            ("notes.json", Json, Some("notes.json")),
            ("md notes.json", Md, Some("notes.json")),
            ("my notes.md", Md, Some("my notes.md")),
            ("json  my notes", Json, Some("my notes")),
        ] {
            assert_eq!(understand(rest), Ok((format, file)), "{rest:?}");
        }
        for (rest, unknown) in [
            ("notes.html", "html"),
            ("my notes.PDF", "pdf"),
            ("html page", "html"),
        ] {
            assert_eq!(
                understand(rest),
                Err(NoFormat(unknown.to_owned())),
                "{rest:?}"
            );
        }
        assert_eq!(understand("html/page"), Ok((Md, Some("html/page"))));
        assert_eq!(understand("md notes.html"), Ok((Md, Some("notes.html"))));
        assert_eq!(understand("xml"), Err(NoFormat("xml".to_owned())));
        assert_eq!(understand("./xml"), Ok((Md, Some("./xml"))));
    }
}
