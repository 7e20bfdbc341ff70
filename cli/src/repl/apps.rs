//! Apps in the chat: what a reply makes of one, `/app`, `/fix`, and `/undo` where the agent writes apps.

use dunlin_apps::Part;
use dunlin_apps::blocks::find;
use dunlin_apps::store::{App as StoredApp, StoreError, title_of};
use dunlin_host::display::escape;

use super::slash::Next;
use crate::app::App;
use crate::apps::browser;
use crate::apps::open::OpenApp;
use crate::dialogue::{Dialogue, hands_off};
use crate::error::{CliError, Exit};
use dunlin_chat::message::UserMessage;
use dunlin_chat::tokens::counted;
use dunlin_terminal::ui::style::Label;

/// The verbs of `/app`. Any other word is the name of an app.
const VERBS: [&str; 3] = ["open", "close", "list"];

/// Said where the chat has no app.
const NONE_YET: &str = "This chat has no app yet. An agent with kind = \"app\" writes one; /app list lists those that there are.";

/// Takes over what a reply says of the app of this chat. `message` is what the user has asked for, and `is_complete` says
/// whether the model has said everything.
pub fn take_reply(
    app: &App,
    (message, reply): (&str, &str),
    is_complete: bool,
) -> Result<(), CliError> {
    let unchanged =
        |why: &dyn std::fmt::Display| app.ui.warn(&format!("the app is unchanged: {why}"));
    let found = match find(reply) {
        Ok(found) if found.parts.is_empty() && found.notes.is_empty() => return Ok(()),
        Ok(_) if !is_complete => {
            unchanged(&"the reply is not complete");
            return Ok(());
        }
        Ok(found) => found,
        Err(broken) => {
            unchanged(&broken);
            return Ok(());
        }
    };
    for note in &found.notes {
        app.ui.warn(&escape(note));
    }
    if found.parts.is_empty() {
        return Ok(());
    }
    let names: Vec<&str> = found.parts.iter().map(|(part, _)| part.name()).collect();
    let session = app.session_id();
    let name = match current(app)? {
        Some(mut stored) => {
            stored.save(&found.parts).map_err(CliError::failed)?;
            stored.name().to_owned()
        }
        None => {
            let Some(html) = found.parts.get(Part::Html) else {
                unchanged(&"a new app needs an html block");
                return Ok(());
            };
            let first = message.lines().find(|line| !line.trim().is_empty());
            let title = title_of(html).unwrap_or_else(|| first.unwrap_or_default().to_owned());
            let stored = app.app_store().create(&title, Some(&session), &found.parts);
            stored.map_err(CliError::failed)?.name().to_owned()
        }
    };
    // What the errors were about is replaced.
    app.says().take_errors();
    let stored = app.app_store().open(&name).map_err(CliError::failed)?;
    let line = format!(
        "app '{name}', version {}: {}",
        stored.version(),
        names.join(", ")
    );
    app.ui
        .status(&app.ui.status_styles().paint(Label::Good, &line));
    show(app, stored)
}

/// The app that this session works on.
fn current(app: &App) -> Result<Option<StoredApp>, CliError> {
    let found = app.app_store().of_session(&app.session_id());
    found.map_err(CliError::failed)
}

/// Shows the current version of an app: in the page that is open, or in a new one.
fn show(app: &App, stored: StoredApp) -> Result<(), CliError> {
    let (host, runtime) = (app.host()?, app.runtime()?);
    let mut open = app.apps.open.borrow_mut();
    let name = stored.name().to_owned();
    let (url, is_shown) = match open.get_mut(&name) {
        Some(open) => {
            open.app = stored;
            open.reload(host, runtime)?;
            (open.url(), open.is_shown())
        }
        None => {
            let opened = OpenApp::open((host, runtime), app.says(), stored)?;
            let url = opened.url();
            open.insert(name, opened);
            (url, false)
        }
    };
    drop(open);
    if !is_shown {
        let ui = (app.ui.as_ref(), &app.settings.environment);
        browser::show(ui, || app.opener(), || app.replaced(), &url);
    }
    Ok(())
}

/// `/app`.
pub fn run(app: &App, rest: &str) -> Result<(), CliError> {
    let ui = &app.ui;
    let (verb, name) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let (verb, name) = match VERBS.contains(&verb) || verb.is_empty() {
        true => (verb, name.trim()),
        false => ("", rest),
    };
    match verb {
        "list" if name.is_empty() => return list(app),
        "list" => ui.status("Usage: /app list"),
        "close" => {
            let stored = named_or_current(app, name)?;
            let name = stored.as_ref().map_or(name, StoredApp::name);
            match app.apps.open.borrow_mut().remove(name) {
                Some(_) => ui.status(&format!("app '{name}' is closed.")),
                None if name.is_empty() => ui.status(NONE_YET),
                None => ui.status(&format!("app '{}' is not open.", escape(name))),
            }
        }
        _ => match named_or_current(app, name)? {
            None => ui.status(NONE_YET),
            Some(stored) if verb == "open" => {
                let is_open = app.apps.open.borrow().contains_key(stored.name());
                if !is_open {
                    return show(app, stored);
                }
                // Again in a browser, with what it shows elsewhere left alone.
                let url = app.apps.open.borrow()[stored.name()].url();
                let ui = (ui.as_ref(), &app.settings.environment);
                browser::show(ui, || app.opener(), || app.replaced(), &url);
            }
            Some(mut stored) if !name.is_empty() => {
                let session = app.session_id();
                if stored.session() != Some(&session) {
                    leave_current(app)?;
                    stored.set_session(&session).map_err(CliError::failed)?;
                }
                let line = format!(
                    "app '{}', version {}: this chat works on it now.",
                    stored.name(),
                    stored.version()
                );
                ui.status(&line);
                return show(app, stored);
            }
            Some(stored) => describe(app, &stored)?,
        },
    }
    Ok(())
}

/// The app of this session is no longer the one that it works on.
fn leave_current(app: &App) -> Result<(), CliError> {
    match current(app)? {
        Some(mut before) => before.leave_session().map_err(CliError::failed),
        None => Ok(()),
    }
}

fn named_or_current(app: &App, name: &str) -> Result<Option<StoredApp>, CliError> {
    match name {
        "" => current(app),
        name => {
            match app.app_store().open(name) {
                Ok(stored) => Ok(Some(stored)),
                Err(error @ StoreError::Unknown(_)) => Err(CliError::new(Exit::Failed, error)
                    .with_hint("/app list lists the apps".to_owned())),
                Err(error) => Err(CliError::failed(error)),
            }
        }
    }
}

fn list(app: &App) -> Result<(), CliError> {
    let ui = &app.ui;
    let store = app.app_store();
    let names = store.names().map_err(CliError::failed)?;
    if names.is_empty() {
        ui.status("There is no app yet.");
    }
    for name in names {
        let is_open = app.apps.open.borrow().contains_key(&name);
        let open = if is_open { " · open" } else { "" };
        match store.open(&name) {
            Ok(stored) => ui.data(&format!(
                "{name}  {} · version {}{open}",
                escape(stored.title()),
                stored.version()
            )),
            Err(error) => ui.warn(&escape(&format!("{name}: {error}"))),
        }
    }
    Ok(())
}

/// Shows what is known of the app of this chat.
fn describe(app: &App, stored: &StoredApp) -> Result<(), CliError> {
    let ui = &app.ui;
    let parts = stored.parts().map_err(CliError::failed)?;
    ui.data(&format!(
        "app '{}': {}",
        stored.name(),
        escape(stored.title())
    ));
    let earlier = match stored.earlier() {
        0 => "no earlier one".to_owned(),
        count => format!(
            "/undo goes back ({})",
            counted(count, "earlier version", "earlier versions")
        ),
    };
    ui.data(&format!("  version {}, {earlier}", stored.version()));
    for (part, text) in parts.iter() {
        ui.data(&format!(
            "  {part} · {}",
            counted(text.lines().count(), "line", "lines")
        ));
    }
    match app.apps.open.borrow().get(stored.name()) {
        Some(open) => ui.data(&format!("  {}", open.url())),
        None => ui.data("  not open; /app open opens it"),
    }
    Ok(())
}

/// `/fix`: sends the latest errors to the model.
pub fn fix(app: &App, dialogue: Option<&Dialogue>) -> Next {
    let ui = &app.ui;
    // Before the first message there are no errors either.
    let is_other = dialogue.is_some_and(|it| !app.settings.writes_apps(&it.agent().name));
    if is_other {
        ui.status("/fix sends the errors of an app to an agent with kind = \"app\". This chat has another one.");
        return Next::Prompt;
    }
    let errors = app.says().take_errors();
    if errors.is_empty() {
        ui.status("The app has reported no error since its last version.");
        return Next::Prompt;
    }
    let errors: Vec<String> = errors
        .iter()
        .map(|error| format!("- {}", error.replace('\n', "\n  ")))
        .collect();
    // An app wrote them: no file is attached because of what they say.
    Next::AsItIs(UserMessage::from(format!(
        "The app reports these errors. Find their cause and send the parts that have to change.\n\n{}",
        errors.join("\n")
    )))
}

/// Goes back one version of the app. `false`: there is no app in this chat, or none before.
pub fn undo(app: &App, dialogue: &mut Dialogue) -> Result<bool, CliError> {
    if !app.settings.writes_apps(&dialogue.agent().name) {
        return Ok(false);
    }
    let Some(mut stored) = current(app)? else {
        return Ok(false);
    };
    let Some(version) = stored.undo().map_err(CliError::failed)? else {
        app.ui
            .status("This is the first version of the app; /app shows it.");
        return Ok(true);
    };
    dialogue.tell_undone_version();
    app.says().take_errors();
    app.ui.status(&format!(
        "app '{}' is back at version {version}.",
        stored.name()
    ));
    let is_open = app.apps.open.borrow().contains_key(stored.name());
    if is_open {
        show(app, stored)?;
    }
    Ok(true)
}

/// Asks what the programs of open apps wait for.
pub fn answer(app: &App) -> Result<(), CliError> {
    match app.apps.said() {
        Some(says) => hands_off(app, says.answer()),
        None => Ok(()),
    }
}
