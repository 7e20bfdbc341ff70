//! What stands at the prompt, and what can be completed there.

use dunlin_host::display::escape;
use dunlin_host::permission::ToolMode;
use dunlin_terminal::ui::input_marks;

use crate::app::App;
use crate::dialogue::Dialogue;
use crate::modes;
use crate::prompt::complete::Names;
use crate::settings::Origin;

/// Where messages are typed.
const PROMPT: &str = input_marks::MESSAGE;

/// The prompt, which says what is paused and what is not asked about.
pub fn prompt(app: &App) -> String {
    let modes = app.made_host().map(|host| host.permissions().tool_modes());
    let modes = modes.unwrap_or_default().into_iter();
    let always = modes.filter(|(_, mode)| *mode == ToolMode::Always);
    let mode = modes::label(app.mode.get());
    let mut marks: Vec<String> = mode.into_iter().map(str::to_owned).collect();
    if let Some(pauses) = app.pausing.for_prompt() {
        marks.insert(0, format!("pause: {}", escape(&pauses)));
    }
    marks.extend(always.map(|(tool, _)| format!("{}: always", escape(&tool))));
    match marks.as_slice() {
        [] => PROMPT.to_owned(),
        [mark] => format!("{PROMPT}({mark}) "),
        [_, others @ ..] if others.len() > 1 => {
            format!(
                "{PROMPT}({} and {} more: /permissions) ",
                marks[0],
                others.len()
            )
        }
        marks => format!("{PROMPT}({}) ", marks.join(", ")),
    }
}

/// What stands at the prompt as long as nothing was typed. Where no files can be attached it says nothing of them.
pub fn placeholder(app: &App, dialogue: Option<&Dialogue>) -> String {
    let configured = &app.settings.general.placeholder;
    match (attaches(app, dialogue), &configured.origin) {
        (false, Origin::Default) => "Type a message".to_owned(),
        _ => configured.value.clone(),
    }
}

/// Whether the agent takes what is attached.
pub fn attaches(app: &App, dialogue: Option<&Dialogue>) -> bool {
    match dialogue {
        Some(dialogue) => dialogue.agent().files,
        None => {
            let entry = app.settings.agent_entry();
            entry.is_ok_and(|(_, entry)| entry.options.files.unwrap_or(true))
        }
    }
}

/// How many numbers of requests are offered for completion.
const MAX_OFFERED_REQUESTS: usize = 20;

/// What names can be completed at the prompt.
pub fn names(app: &App, dialogue: Option<&Dialogue>) -> Names {
    Names {
        agents: app.settings.agents.keys().cloned().collect(),
        models: dialogue.map_or_else(Vec::new, |dialogue| dialogue.models().to_vec()),
        recipients: crate::pausing::names_of(app),
        apps: app.app_store().names().unwrap_or_default(),
        servers: {
            let servers = app.settings.mcp_servers.iter();
            let usable = servers.filter(|(_, server)| server.value.is_enabled());
            usable.map(|(name, _)| name.clone()).collect()
        },
        requests: {
            let session = dialogue.and_then(Dialogue::session);
            let next = session.map_or(1, |session| session.next_request_number());
            let numbers = (1..next).rev().take(MAX_OFFERED_REQUESTS);
            numbers.map(|number| number.to_string()).collect()
        },
    }
}
