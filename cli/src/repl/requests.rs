//! `/request`: what would be sent next. `/requests`: what was sent in this session, and sending it again.

use crate::app::App;
use crate::dialogue::Dialogue;
use crate::error::CliError;
use crate::inspect::logs::SessionLogs;
use crate::prompt::inspecting;
use crate::prompt::metadata::Metadata;
use crate::requests::{Log, Part, fork, print, replay, rows};
use crate::value_in_editor::EditValue;
use dunlin_chat::session::requests::LogError;
use dunlin_host::display::{chain, escape};
use dunlin_terminal::inspector::{self, Inspector, Logs, Mode};
use dunlin_terminal::ui::style::Label;

/// What the inspector says of a request that is not paused.
const NOT_PAUSED: &str =
    "no request is paused: this would be sent for an empty message; /pause next holds the next one";

/// How the command is typed.
const USAGE: &str =
    "/requests [N [PART]], where PART is sent, original, diff, curl, replay, replay edited or fork";

/// Said where there is no request.
const NOTHING_SENT: &str = "Nothing was sent in this session yet.";

/// How many requests are listed.
const MAX_LISTED: usize = 20;

/// What is done with one request.
enum What {
    Show(Part),
    /// Send it again, edited before that or as it is.
    Replay {
        is_edited: bool,
    },
    Fork,
}

/// Lists the requests, or shows, replays or forks one: `[N [PART]]`.
///
/// # Errors
/// There is no such request, it cannot be restored, or the provider failed.
pub fn run(app: &App, dialogue: Option<&Dialogue>, rest: &str) -> Result<(), CliError> {
    let ui = &app.ui;
    let session = dialogue.and_then(Dialogue::session);
    let Some(session) = session.filter(|session| session.exists()) else {
        ui.status(NOTHING_SENT);
        return Ok(());
    };
    session.requests().flush();
    let log = Log::of(session.entry())?;
    if rest.is_empty() {
        let all = log.file.requests();
        if let Some(before) = log.before(app) {
            ui.status(&ui.status_styles().paint(Label::Quiet, &before));
        }
        if all.is_empty() {
            ui.status(NOTHING_SENT);
            return Ok(());
        }
        let left_out = all.len().saturating_sub(MAX_LISTED);
        rows(app, &log.file, all.get(left_out..).unwrap_or_default());
        let note = match left_out {
            0 => "/requests N shows one".to_owned(),
            _ => {
                format!("{left_out} earlier ones: dunlin requests list -n 0; /requests N shows one")
            }
        };
        ui.status(&ui.status_styles().paint(Label::Quiet, &note));
        return Ok(());
    }
    let mut words = rest.split_whitespace();
    let first = words.next().unwrap_or_default();
    let Ok(number) = first.parse::<u64>() else {
        ui.status(&format!(
            "{} is not a number. Usage: {USAGE}",
            escape(first)
        ));
        return Ok(());
    };
    // The way to the others is another one in the chat.
    if let Err(error @ LogError::Unknown { .. }) = log.file.request(number) {
        return Err(CliError::usage(error).with_hint("/requests lists them".to_owned()));
    }
    let what = match (words.next(), words.next()) {
        (None, None) => Some(What::Show(Part::About)),
        (Some("sent"), None) => Some(What::Show(Part::Sent)),
        (Some("original"), None) => Some(What::Show(Part::Original)),
        (Some("diff"), None) => Some(What::Show(Part::Diff)),
        (Some("curl"), None) => Some(What::Show(Part::Curl)),
        (Some("replay"), None) => Some(What::Replay { is_edited: false }),
        (Some("replay"), Some("edited")) => Some(What::Replay { is_edited: true }),
        (Some("fork"), None) => Some(What::Fork),
        _ => None,
    };
    match (what, words.next()) {
        (Some(What::Show(part)), None) => print(app, &log, number, part)?,
        (Some(What::Replay { is_edited }), None) => {
            // An interruption ends the replay and is said.
            replay(app, &log, number, None, is_edited)?;
        }
        (Some(What::Fork), None) => fork(app, &log, number)?,
        _ => ui.status(&format!("Usage: {USAGE}")),
    }
    Ok(())
}

/// `/request [N]`: shows the request that would be sent for an empty message, or one as it was sent. Nothing can be changed
/// in it.
///
/// # Errors
/// The agent has no key, or the conversation does not fit the model's context window.
pub fn look_at(app: &App, dialogue: &mut Option<Dialogue>, rest: &str) -> Result<(), CliError> {
    let ui = &app.ui;
    if !ui.has_full_screen() {
        ui.status(inspecting::NO_SCREEN);
        return Ok(());
    }
    let dialogue = match dialogue {
        Some(dialogue) => dialogue,
        none => none.insert(Dialogue::begin(app)?.saved(app)),
    };
    dialogue.read_instructions(app);
    let (paused, why) = match rest.parse::<u64>() {
        _ if rest.is_empty() => (dialogue.preview(app)?, NOT_PAUSED.to_owned()),
        Ok(number) => {
            if let Some(session) = dialogue.session() {
                session.requests().flush();
            }
            match SessionLogs(app.store()).sent(&app.session_id(), number) {
                Ok(sent) => (sent, format!("request {number} as it was sent")),
                Err(error) => {
                    let error = escape(&chain(&*error)).into_owned();
                    ui.status(&format!("{error}; /requests lists the requests."));
                    return Ok(());
                }
            }
        }
        Err(_) => {
            let rest = escape(rest);
            ui.status(&format!("{rest} is not a number. Usage: /request [N]"));
            return Ok(());
        }
    };
    let mut paused = paused.with_pins(app.pausing.pins());
    let metadata = Metadata::of_paused(app, dialogue.answering(), &paused);
    let sides = inspecting::sides(app, metadata);
    let mut inspector = Inspector::new(Mode::ReadOnly(why), sides, ui.styles(), &paused);
    let edit = EditValue::of(app);
    let shown = inspector::run(
        ui,
        &mut inspector,
        &mut paused,
        &|draft| edit.run(draft),
        &inspector::Alone,
    );
    app.pausing.set_pins(paused.pins());
    shown
        .map(drop)
        .map_err(|source| CliError::failed(inspecting::NoInspector { source }))
}
