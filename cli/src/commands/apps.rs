//! `dunlin app`: the apps that were written in chats.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use dunlin_apps::Part;
use dunlin_apps::blocks::Folded;
use dunlin_apps::store::StoredApp;
use dunlin_host::app::subject;
use dunlin_host::display::{escape, size};
use dunlin_host::permission::identity;
use dunlin_host::stored_bytes;
use serde::Serialize;

use crate::app::App;
use crate::apps::open::OpenApp;
use crate::apps::{self, export};
use crate::args::AppCommand;
use crate::dialogue::interrupted;
use crate::error::{CliError, Exit};

/// There is nobody to ask whether apps may be deleted.
#[derive(Debug, thiserror::Error)]
#[error("nothing was deleted: can't ask for confirmation here")]
struct NobodyToAsk;

/// It has no such part.
#[derive(Debug, thiserror::Error)]
#[error("app '{app}' has no part {part}")]
struct NoSuchPart {
    app: String,
    part: Part,
}

/// What it has stored cannot be removed.
#[derive(Debug, thiserror::Error)]
#[error("cannot remove {}", stored.display())]
struct CannotForget {
    stored: PathBuf,
    source: std::io::Error,
}

/// The folder cannot be written.
#[derive(Debug, thiserror::Error)]
#[error("cannot write the folder {}", folder.display())]
struct CannotExport {
    folder: PathBuf,
    source: std::io::Error,
}

/// An app as a list has it.
#[derive(Debug, Serialize)]
struct Listed<'a> {
    name: &'a str,
    title: &'a str,
    version: u32,
    session: Option<&'a str>,
    folder: &'a Path,
    stored_bytes: u64,
}

/// Runs one of the commands.
pub fn run(app: &App, command: AppCommand) -> Result<Exit, CliError> {
    match command {
        AppCommand::List { json } => list(app, json),
        AppCommand::Open { name } => serve(app, &name, true),
        AppCommand::Serve { name } => serve(app, &name, false),
        AppCommand::Show { name, part } => show(app, &name, part),
        AppCommand::Export { name, folder } => export(app, &name, folder),
        AppCommand::Delete { names, yes } => delete(app, &names, yes),
    }
}

fn list(app: &App, json: bool) -> Result<Exit, CliError> {
    let ui = &app.ui;
    let apps = apps::all(ui, &app.app_store())?;
    let bytes = |stored: &StoredApp| stored_bytes(&apps::store_of(&app.settings.folders, stored));
    if json {
        let listed = apps.iter().map(|stored| Listed {
            name: stored.name(),
            title: stored.title(),
            version: stored.version(),
            session: stored.session(),
            folder: stored.folder(),
            stored_bytes: bytes(stored),
        });
        let listed: Vec<Listed<'_>> = listed.collect();
        app.print_json(&listed)?;
        return Ok(Exit::Done);
    }
    if apps.is_empty() {
        ui.status("There is no app yet. In a chat, an agent with kind = \"app\" writes one.");
    }
    for stored in apps {
        ui.data(&apps::line(ui, &stored, bytes(&stored)));
    }
    Ok(Exit::Done)
}

/// Runs an app until the user ends it.
fn serve(app: &App, name: &str, opens: bool) -> Result<Exit, CliError> {
    let ui = &app.ui;
    let stored = apps::find(&app.app_store(), name)?;
    let interrupt = interrupted(app)?;
    let runtime = app.runtime()?;
    let open = OpenApp::open((app.host()?, runtime), app.app_output(), stored)?;
    ui.status(&format!("app '{name}' is open; Ctrl-C closes it."));
    match opens {
        true => app.show_page(name, &open.url()),
        false => ui.data(&open.url()),
    }
    let is_deleted = runtime.block_on(async {
        tokio::select! {
            () = interrupt => false,
            () = open.deleted() => true,
        }
    });
    open.close(runtime);
    // It was said.
    Ok(match is_deleted {
        true => Exit::Failed,
        false => Exit::Done,
    })
}

fn show(app: &App, name: &str, part: Option<Part>) -> Result<Exit, CliError> {
    let ui = &app.ui;
    let stored = apps::find(&app.app_store(), name)?;
    let parts = stored.parts().map_err(CliError::failed)?;
    if let Some(part) = part {
        let Some(text) = parts.get(part) else {
            let app = name.to_owned();
            return Err(CliError::failed(NoSuchPart { app, part }));
        };
        text.lines().for_each(|line| ui.data(&escape(line)));
        return Ok(Exit::Done);
    }
    ui.data(&format!("title    {}", escape(stored.title())));
    ui.data(&format!("version  {}", stored.version()));
    if let Some(session) = stored.session() {
        ui.data(&format!("session  {}", escape(session)));
    }
    ui.data(&format!(
        "folder   {}",
        escape(&stored.folder().to_string_lossy())
    ));
    let bytes = stored_bytes(&apps::store_of(&app.settings.folders, &stored));
    ui.data(&format!("stored   {}", size(bytes)));
    for (part, text) in parts.iter() {
        ui.data(&format!("part     {}", Folded::of(part, text)));
    }
    Ok(Exit::Done)
}

fn export(app: &App, name: &str, folder: Option<PathBuf>) -> Result<Exit, CliError> {
    let ui = &app.ui;
    let parts = apps::find(&app.app_store(), name)?
        .parts()
        .map_err(CliError::failed)?;
    let folder = folder.unwrap_or_else(|| PathBuf::from(name));
    export::export(&folder, &parts).map_err(|source| {
        let kind = source.kind();
        let error = CliError::failed(CannotExport {
            folder: folder.clone(),
            source,
        });
        match kind {
            ErrorKind::AlreadyExists => {
                error.with_hint("name a folder that does not exist".to_owned())
            }
            ErrorKind::NotFound => error.with_hint("make the folder around it first".to_owned()),
            _ => error,
        }
    })?;
    let page = folder.join(Part::Html.file_name());
    ui.status(&format!(
        "{} shows the app in a browser.",
        escape(&page.to_string_lossy())
    ));
    if parts.get(Part::Main).is_some() {
        ui.warn(&format!(
            "its back end (main.js) runs only in Dunlin: without it, calls of dunlin.invoke fail; dunlin app open {name} runs all of it"
        ));
    }
    Ok(Exit::Done)
}

fn delete(app: &App, names: &[String], yes: bool) -> Result<Exit, CliError> {
    let ui = &app.ui;
    for name in names {
        apps::find(&app.app_store(), name)?;
    }
    if !yes {
        if !app.asks() {
            let error = CliError::new(Exit::Usage, NobodyToAsk);
            return Err(error.with_hint("--yes deletes without asking".to_owned()));
        }
        let what = match names {
            [name] => format!("the app '{name}'"),
            names => format!("the apps '{}'", names.join("', '")),
        };
        if !ui.confirms(&format!(
            "Delete {what} with all versions and all that was stored?"
        )) {
            ui.status("Nothing was deleted.");
            return Ok(Exit::Done);
        }
    }
    for name in names {
        // First what is only found by its id, which nobody knows afterwards.
        forget(app, &apps::find(&app.app_store(), name)?)?;
        app.app_store().delete(name).map_err(CliError::failed)?;
        ui.status(&format!("app '{name}' is deleted."));
    }
    Ok(Exit::Done)
}

/// Removes what an app was granted and has stored.
fn forget(app: &App, stored: &StoredApp) -> Result<(), CliError> {
    let identity = identity(&subject(stored.id()), None);
    let forgotten = app.permissions()?.forget_plugin(&identity);
    forgotten.map_err(CliError::failed)?;
    let stored = apps::store_of(&app.settings.folders, stored);
    // A chat that has the app open closes it within a second; until then its program may go on storing.
    for last in [false, false, false, true] {
        match fs::remove_dir_all(&stored) {
            Err(source) if source.kind() == ErrorKind::DirectoryNotEmpty && !last => {}
            Err(source) if source.kind() != ErrorKind::NotFound => {
                return Err(CliError::failed(CannotForget { stored, source }));
            }
            _ => break,
        }
    }
    Ok(())
}
