//! `dunlin sessions`: the conversations that were kept.

use std::path::Path;

use dunlin_host::display::escape;
use jiff::Timestamp;
use serde::Serialize;

use crate::app::App;
use crate::args::{ExportFormat, SessionsCommand};
use crate::error::{CliError, Exit};
use crate::money;
use crate::output_file::{may_write, with_real_folder, write};
use crate::requests::spent;
use crate::sessions::{fork, render};
use crate::summary::describe;
use dunlin_chat::session::search::{MAX_PLACES, Place, places};
use dunlin_chat::session::{Entry, Loaded, Session, Summary};
use dunlin_chat::usage::Usage;
use dunlin_terminal::ui::calls::fit;
use dunlin_terminal::ui::style::Label;

/// How many columns an id takes in a list.
const ID_COLUMNS: usize = 8;

/// There is nobody to ask whether sessions may be deleted.
#[derive(Debug, thiserror::Error)]
#[error("nothing was deleted: can't ask for confirmation here")]
struct NobodyToAsk;

/// Runs one of the commands.
pub fn run(app: &App, command: SessionsCommand) -> Result<Exit, CliError> {
    let ui = &app.ui;
    let store = app.store();
    let find = |typed: &str| store.find(Some(typed));
    match command {
        SessionsCommand::List { all, lines, json } => list(app, all, lines, json)?,
        SessionsCommand::Show { session } => {
            let entry = find(&session)?;
            let loaded = load(app, &entry)?;
            let text = render(&loaded, &entry.id, ExportFormat::Md)?;
            text.lines().for_each(|line| ui.data(line));
            if loaded.charge.usage != Usage::default() {
                let mut cost = spent(loaded.charge.usage);
                if let Some(money) = money::spent(loaded.charge.money) {
                    cost.push_str(&format!(" · {money}"));
                }
                ui.data(&ui.styles().paint(Label::Quiet, &cost));
            }
        }
        SessionsCommand::Search { text, all, json } => search(app, &text, all, json)?,
        SessionsCommand::Rename { session, title } => {
            let entry = find(&session)?;
            let title = title.join(" ");
            let (session, _) = Session::open(&store, &entry)?;
            session.rename(title.trim());
            if let Some(trouble) = session.take_trouble() {
                ui.warn(&trouble);
                return Ok(Exit::Failed);
            }
            ui.status(&format!("{} is called: {}", entry.id, escape(title.trim())));
        }
        SessionsCommand::Fork { session } => {
            let entry = find(&session)?;
            let (copy, loaded) = fork(app, &entry)?;
            warn_of_damage(app, &entry, &loaded);
            ui.data(&copy.id());
        }
        SessionsCommand::Export {
            session,
            format,
            output,
            force,
        } => {
            let entry = find(&session)?;
            let loaded = load(app, &entry)?;
            let text = render(&loaded, &entry.id, format)?;
            match output {
                Some(path) => {
                    may_write(&path, force)?;
                    write(&with_real_folder(path), &text, force)?;
                }
                None => ui.data(text.trim_end()),
            }
        }
        SessionsCommand::Delete { sessions, yes } => return delete(app, &sessions, yes),
    }
    Ok(Exit::Done)
}

fn list(app: &App, all: bool, lines: usize, json: bool) -> Result<(), CliError> {
    let ui = &app.ui;
    let most = if lines == 0 { usize::MAX } else { lines };
    // One more tells whether there are more.
    let mut sessions = app.store().list(all, most.saturating_add(1));
    let more = sessions.len() > most;
    sessions.truncate(most);
    if json {
        return app.print_json(&sessions);
    }
    if sessions.is_empty() {
        ui.status(if all {
            "No conversation was kept yet."
        } else {
            "No conversation of this project was kept yet; --all lists those of every project."
        });
    }
    let now = Timestamp::now();
    // A pipe has no edge.
    let columns = if ui.streams().output {
        ui.window().columns
    } else {
        usize::MAX
    };
    for summary in &sessions {
        ui.data(&row(app, summary, all, now, columns));
    }
    if more {
        let note = format!("These are the newest {most}; -n 0 lists all.");
        ui.status(&ui.status_styles().paint(Label::Quiet, &note));
    }
    Ok(())
}

fn row(app: &App, summary: &Summary, all: bool, now: Timestamp, columns: usize) -> String {
    let styles = app.ui.styles();
    let id = format!("{:<ID_COLUMNS$}", escape(&summary.id));
    let mut about = describe(summary, now);
    if all && !summary.project.is_empty() {
        let project = app.settings.folders.short(Path::new(&summary.project));
        about.push_str(" · ");
        about.push_str(&escape(&project));
    }
    let room = columns.saturating_sub(id.chars().count() + 2);
    format!("{} {}", styles.paint(Label::Key, &id), fit(&about, room))
}

/// A session in which a text was found, for `--json`.
#[derive(Serialize)]
struct Found {
    #[serde(flatten)]
    session: Summary,
    places: Vec<Place>,
}

fn search(app: &App, text: &str, all: bool, json: bool) -> Result<(), CliError> {
    let ui = &app.ui;
    let store = app.store();
    let project = store.project_name();
    let now = Timestamp::now();
    let (mut found, mut unreadable) = (Vec::new(), 0);
    for entry in store.entries(all) {
        // A search goes through everything that can be read, and stops when nobody looks any more.
        ui.check()?;
        let Ok(loaded) = entry.load() else {
            unreadable += 1;
            continue;
        };
        if !all && !loaded.is_of(&project) {
            continue;
        }
        let places = places(&loaded, text);
        if places.is_empty() {
            continue;
        }
        let mut session = entry.summary();
        session.title.clone_from(&loaded.title);
        found.push(Found { session, places });
        let (true, Some(Found { session, places })) = (!json, found.last()) else {
            continue;
        };
        ui.data(&row(app, session, all, now, usize::MAX));
        for place in places.iter().take(MAX_PLACES) {
            let who = ui.styles().paint(Label::Quiet, &escape(&place.who));
            ui.data(&format!("  {who}  {}", place.excerpt));
        }
        if places.len() > MAX_PLACES {
            let more = places.len() - MAX_PLACES;
            ui.data(&ui.styles().paint(Label::Quiet, &format!("  {more} more")));
        }
    }
    if json {
        app.print_json(&found)?;
    } else if found.is_empty() {
        ui.status(if all {
            "No matches."
        } else {
            "No matches in this project; --all searches every project."
        });
    }
    if unreadable > 0 {
        ui.warn(&format!("sessions that cannot be read: {unreadable}"));
    }
    Ok(())
}

fn delete(app: &App, sessions: &[String], yes: bool) -> Result<Exit, CliError> {
    let ui = &app.ui;
    let store = app.store();
    // All are found before one is deleted.
    let mut entries = Vec::new();
    for typed in sessions {
        let entry = store.find(Some(typed))?;
        if !entries.contains(&entry) {
            entries.push(entry);
        }
    }
    if !yes {
        if !app.asks() {
            return Err(CliError::new(Exit::Denied, NobodyToAsk)
                .with_hint("--yes deletes without asking".to_owned()));
        }
        let now = Timestamp::now();
        for entry in &entries {
            ui.data(&row(app, &entry.summary(), true, now, ui.window().columns));
        }
        if !ui.confirms("Delete permanently?") {
            ui.status("Nothing was deleted.");
            return Ok(Exit::Done);
        }
    }
    for entry in &entries {
        store.delete(entry)?;
        ui.status(&format!("{} is deleted.", escape(&entry.id)));
    }
    Ok(Exit::Done)
}

fn load(app: &App, entry: &Entry) -> Result<Loaded, CliError> {
    let loaded = entry.load()?;
    warn_of_damage(app, entry, &loaded);
    Ok(loaded)
}

fn warn_of_damage(app: &App, entry: &Entry, loaded: &Loaded) {
    if let Some(notice) = loaded.damage.notice() {
        app.ui
            .warn(&format!("the file of {} is damaged; {notice}", entry.id));
    }
}
