//! Apps in the chat: what a reply makes of one, `/app`, `/fix`, and `/undo` where the agent writes apps.

use dunlin_apps::Part;
use dunlin_apps::blocks::{Folded, find};
use dunlin_apps::store::{StoredApp, title_of};
use dunlin_host::display::escape;
use dunlin_host::permission::SessionMode;
use dunlin_host::stored_bytes;

use crate::app::App;
use crate::apps;
use crate::apps::open::OpenApp;
use crate::dialogue::{Dialogue, hands_off};
use crate::error::CliError;
use crate::prompt::slash_table::APP_VERBS;
use dunlin_chat::message::UserMessage;
use dunlin_chat::tokens::counted;
use dunlin_terminal::ui::style::Label;

/// How many lines of what `/fix` sends are shown: three errors with their calls, and one line of each other.
const MAX_FIX_LINES: usize = 40;

/// Said where the chat has no app.
const NONE_YET: &str = "This chat has no app yet. An agent with kind = \"app\" writes one; /app list lists those that there are.";

/// Takes over what a reply says of the app of this chat. `message` is what the user has asked for, and `is_complete` says
/// whether the model has said everything.
pub fn take_reply(
    app: &App,
    (message, reply): (&str, &str),
    is_complete: bool,
) -> Result<(), CliError> {
    let unchanged = |why: &str| app.ui.warn(&format!("the app is unchanged: {why}"));
    let found = match find(reply) {
        Ok(found) if found.parts.is_empty() && found.notes.is_empty() => return Ok(()),
        _ if !is_complete => {
            unchanged("the reply is not complete");
            return Ok(());
        }
        _ if app.mode.get() == SessionMode::Plan => {
            unchanged("plan mode is on");
            return Ok(());
        }
        Ok(found) => found,
        Err(broken) => {
            unchanged(&broken.to_string());
            return Ok(());
        }
    };
    for note in &found.notes {
        app.ui.warn(&escape(note));
    }
    if found.parts.is_empty() {
        return Ok(());
    }
    let mut title_before = None;
    let stored = match current(app)? {
        Some(mut stored) => {
            let title = stored.title().to_owned();
            stored.save(&found.parts).map_err(CliError::failed)?;
            title_before = Some(title).filter(|title| title != stored.title());
            stored
        }
        None => {
            let Some(html) = found.parts.get(Part::Html) else {
                unchanged("a new app needs an html block");
                return Ok(());
            };
            apps::all(&app.ui, &app.app_store())?;
            let first = message.lines().find(|line| !line.trim().is_empty());
            let title = title_of(html).unwrap_or_else(|| first.unwrap_or_default().to_owned());
            let session = app.session_id();
            let created = app.app_store().create(&title, Some(&session), &found.parts);
            created.map_err(CliError::failed)?
        }
    };
    // What the errors were about is replaced.
    app.app_output().take_errors(stored.name());
    let names: Vec<&str> = found.parts.iter().map(|(part, _)| part.name()).collect();
    let (name, version) = (stored.name(), stored.version());
    let line = format!("app '{name}', version {version}: {}", names.join(", "));
    app.ui
        .status(&app.ui.status_styles().paint(Label::Good, &line));
    if let Some(before) = title_before {
        let note = format!(
            "  still the app that was called '{}': /undo goes back to it, /new begins a chat for another app",
            escape(&before)
        );
        app.ui
            .status_with_foreign(&app.ui.status_styles().paint(Label::Quiet, &note));
    }
    show(app, stored)
}

/// Says that a reply has the parts of an app although its agent writes none, and which agents do. A page alone may be anything,
/// unless the chat has an app.
pub fn say_not_written(app: &App, agent: &str, reply: &str) -> Result<(), CliError> {
    let parts = find(reply).map_or(0, |found| found.parts.iter().count());
    if parts > 1 || (parts > 0 && current(app)?.is_some()) {
        let (agent, writers) = (escape(agent), app.settings.app_agents());
        let writers: Vec<_> = writers.map(|it| format!("/agent {}", escape(it))).collect();
        app.ui.status(&format!(
            "No app is made of this reply: agent {agent} does not write apps. Use {} and ask again.",
            writers.join(" or ")
        ));
    }
    Ok(())
}

/// A message with those parts of the app that the conversation does not have: it was begun, cleared or compacted since they
/// were written.
pub fn with_source(
    app: &App,
    dialogue: &Dialogue,
    said: UserMessage,
) -> Result<UserMessage, CliError> {
    if !app.settings.writes_apps(&dialogue.agent().name) {
        return Ok(said);
    }
    let Some(stored) = current(app)? else {
        return Ok(said);
    };
    let parts = stored.parts().map_err(CliError::failed)?;
    let messages = dialogue.messages().iter().map(|it| it.content.as_str());
    let texts: Vec<&str> = messages.chain([said.text.as_str()]).collect();
    let is_unknown = |text: &str| !texts.iter().any(|it| it.contains(text.trim()));
    let unknown: Vec<_> = parts.iter().filter(|(_, it)| is_unknown(it)).collect();
    if unknown.is_empty() {
        return Ok(said);
    }
    let folded = unknown
        .iter()
        .map(|(part, text)| Folded::of(*part, text).to_string());
    let folded = folded.collect::<Vec<_>>().join(", ");
    let line = format!("  with app '{}' as it is: {folded}", stored.name());
    let ui = &app.ui;
    ui.status(&ui.status_styles().paint(Label::Quiet, &line));
    let blocks = unknown.iter().map(|(part, text)| block(*part, text));
    let blocks: String = blocks.collect();
    Ok(UserMessage {
        text: format!("{}\n\nThe app as it is now:\n{blocks}", said.text),
        typed: said.typed.or(Some(said.text.len())),
        ..said
    })
}

/// A part as a model writes it.
fn block(part: Part, text: &str) -> String {
    const MARK: &str = "```";
    let mut fence = MARK.to_owned();
    while text.contains(&fence) {
        fence.push('`');
    }
    format!("\n{fence}{part}\n{}\n{fence}\n", text.trim_end())
}

/// The app that this session works on.
fn current(app: &App) -> Result<Option<StoredApp>, CliError> {
    let session = app.session_id();
    // The list warns of those that cannot be read.
    let (apps, _) = app.app_store().all().map_err(CliError::failed)?;
    let mut apps = apps.into_iter();
    Ok(apps.find(|stored| stored.session() == Some(&session)))
}

/// Shows the current version of an app: in the page that is open, or in a new one.
fn show(app: &App, stored: StoredApp) -> Result<(), CliError> {
    close_deleted(app)?;
    let (host, runtime) = (app.host()?, app.runtime()?);
    let name = stored.name().to_owned();
    let mut open = app.apps.open.borrow_mut();
    match open.get_mut(&name) {
        Some(open) => {
            open.reload(host, runtime, stored)?;
            if !open.is_shown() {
                app.show_page(&name, &open.url());
            }
        }
        None => {
            let opened = OpenApp::open((host, runtime), app.app_output(), stored)?;
            app.show_page(&name, &opened.url());
            open.insert(name, opened);
        }
    }
    Ok(())
}

/// `/app`.
pub fn run(app: &App, rest: &str) -> Result<(), CliError> {
    let ui = &app.ui;
    let (verb, name) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let (verb, name) = match APP_VERBS.contains(&verb) || verb.is_empty() {
        true => (verb, name.trim()),
        false => ("", rest),
    };
    // No name has spaces.
    if name.contains(char::is_whitespace) {
        ui.status(
            "Usage: /app [open|close|list] [NAME]. `dunlin app` has more, in another terminal.",
        );
        return Ok(());
    }
    if verb == "close" {
        return close(app, name);
    }
    close_deleted(app)?;
    match verb {
        "list" if name.is_empty() => return list(app),
        "list" => ui.status("Usage: /app list"),
        _ => match named_or_current(app, name)? {
            None => ui.status(NONE_YET),
            Some(stored) if verb == "open" => {
                let url = app.apps.open.borrow().get(stored.name()).map(OpenApp::url);
                match url {
                    // Again in a browser; what it shows elsewhere is left alone.
                    Some(url) => app.show_page(stored.name(), &url),
                    None => return show(app, stored),
                }
            }
            Some(mut stored) if !name.is_empty() => {
                let session = app.session_id();
                if stored.session() != Some(&session) {
                    leave_current(app)?;
                    stored.set_session(&session).map_err(CliError::failed)?;
                }
                ui.status(&format!(
                    "app '{}', version {}: this chat works on it now.",
                    stored.name(),
                    stored.version()
                ));
                return show(app, stored);
            }
            Some(stored) => describe(app, &stored)?,
        },
    }
    Ok(())
}

/// Closes those that another process has deleted, and says so.
fn close_deleted(app: &App) -> Result<(), CliError> {
    let runtime = app.runtime()?;
    let mut open = app.apps.open.borrow_mut();
    open.retain(|_, open| !open.closes_if_deleted(runtime));
    Ok(())
}

/// The chat is left: closes all apps, so that their pages say so.
pub fn close_all(app: &App) -> Result<(), CliError> {
    for (_, open) in app.apps.open.take() {
        open.close(app.runtime()?);
    }
    Ok(())
}

/// The app that this session had worked on, and that is still open although it was deleted.
fn lost(app: &App) -> Option<String> {
    let session = app.session_id();
    let open = app.apps.open.borrow();
    let mut lost = open.iter().filter(|(_, open)| open.is_lost_to(&session));
    lost.next().map(|(name, _)| name.clone())
}

/// Closes an app, which another process may have deleted meanwhile.
fn close(app: &App, name: &str) -> Result<(), CliError> {
    let ui = &app.ui;
    let name = match name {
        "" => match current(app)? {
            Some(stored) => Some(stored.name().to_owned()),
            None => lost(app),
        },
        name => Some(name.to_owned()),
    };
    let Some(name) = name else {
        ui.status(NONE_YET);
        return Ok(());
    };
    let opened = app.apps.open.borrow_mut().remove(&name);
    match opened {
        Some(open) => {
            let runtime = app.runtime()?;
            if !open.closes_if_deleted(runtime) {
                open.close(runtime);
            }
            ui.status(&format!("app '{name}' is closed."));
        }
        None => ui.status(&format!("app '{}' is not open.", escape(&name))),
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
        name => apps::find(&app.app_store(), name).map(Some),
    }
}

fn list(app: &App) -> Result<(), CliError> {
    let ui = &app.ui;
    let apps = apps::all(ui, &app.app_store())?;
    if apps.is_empty() {
        ui.status("There is no app yet.");
    }
    for stored in apps {
        let is_open = app.apps.open.borrow().contains_key(stored.name());
        let open = if is_open { " · open" } else { "" };
        let bytes = stored_bytes(&apps::store_of(&app.settings.folders, &stored));
        ui.data(&format!("{}{open}", apps::line(ui, &stored, bytes)));
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
        ui.data(&format!("  {}", Folded::of(part, text)));
    }
    match app.apps.open.borrow().get(stored.name()) {
        Some(open) => ui.data(&format!("  {}", open.url())),
        None => ui.data("  not open; /app open opens it"),
    }
    Ok(())
}

/// `/fix`: a message with the latest errors, which is shown; `None`: there is none to send.
pub fn fix(app: &App, dialogue: Option<&Dialogue>) -> Result<Option<UserMessage>, CliError> {
    let ui = &app.ui;
    if !is_written_here(app, dialogue) {
        ui.status("/fix sends the errors of an app to an agent with kind = \"app\". This chat has another one.");
        return Ok(None);
    }
    let Some(stored) = current(app)? else {
        ui.status(NONE_YET);
        return Ok(None);
    };
    let errors = app.app_output().take_errors(stored.name());
    if errors.is_empty() {
        ui.status("The app has reported no error since its last version.");
        return Ok(None);
    }
    let errors: Vec<String> = errors
        .iter()
        .map(|error| format!("- {}", error.replace('\n', "\n  ")))
        .collect();
    let message = format!(
        "The app reports these errors. Find their cause and send the parts that have to change.\n\n{}",
        errors.join("\n")
    );
    // An app wrote them, and they were escaped: what is sent is what is seen.
    let lines: Vec<&str> = message.lines().collect();
    for line in lines.iter().take(MAX_FIX_LINES) {
        let line = format!("  {line}");
        ui.status(&ui.status_styles().paint(Label::Quiet, line.trim_end()));
    }
    if lines.len() > MAX_FIX_LINES {
        let more = counted(lines.len() - MAX_FIX_LINES, "more line", "more lines");
        let note = format!("  … {more}: /show shows the message in full");
        ui.status(&ui.status_styles().paint(Label::Quiet, &note));
    }
    Ok(Some(UserMessage::from(message)))
}

/// Whether the agent of this chat writes apps.
fn is_written_here(app: &App, dialogue: Option<&Dialogue>) -> bool {
    match dialogue {
        Some(dialogue) => app.settings.writes_apps(&dialogue.agent().name),
        // Nothing was said yet.
        None => {
            let entry = app.settings.agent_entry();
            entry.is_ok_and(|(name, _)| app.settings.writes_apps(name))
        }
    }
}

/// Goes back one version of the app. `false`: there is no app in this chat, or no version before.
pub fn undo(app: &App, dialogue: Option<&mut Dialogue>) -> Result<bool, CliError> {
    if !is_written_here(app, dialogue.as_deref()) {
        return Ok(false);
    }
    let Some(mut stored) = current(app)? else {
        return Ok(false);
    };
    let Some(version) = stored.undo().map_err(CliError::failed)? else {
        app.ui.status(
            "This is the first version of the app; /undo takes back changes of files from here on.",
        );
        return Ok(false);
    };
    if let Some(dialogue) = dialogue {
        dialogue.note_undone_version();
    }
    app.app_output().take_errors(stored.name());
    let line = format!("app '{}' is back at version {version}.", stored.name());
    app.ui.status(&line);
    let is_open = app.apps.open.borrow().contains_key(stored.name());
    if is_open {
        show(app, stored)?;
    }
    Ok(true)
}

/// Asks what the programs of open apps wait for.
pub fn answer(app: &App) -> Result<(), CliError> {
    match app.apps.made_output() {
        Some(output) => hands_off(app, output.answer()),
        None => Ok(()),
    }
}
