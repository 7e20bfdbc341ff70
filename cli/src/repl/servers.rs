//! `/mcp` and `/prompt`: the MCP servers as the chat sees them, and the messages that they prepared.

use dunlin_host::ServerPrompt;
use dunlin_host::display::escape;

use crate::dialogue::{HandsOff, interrupted};
use crate::error::CliError;
use crate::ui::style::Label;
use crate::workshop::Workshop;

/// How many columns a name takes in the list.
const NAME_COLUMNS: usize = 16;

/// Lists the configured servers. Starts none.
pub fn list(workshop: &Workshop) -> Result<(), CliError> {
    let ui = &workshop.ui;
    let servers = workshop.host()?.servers();
    if servers.is_empty() {
        ui.status("No MCP server is configured; dunlin mcp add NAME -- COMMAND adds one.");
    }
    for server in servers {
        let name = format!("{:<NAME_COLUMNS$}", server.name);
        let name = ui.styles().paint(Label::Name, &name);
        let state = match (server.is_connected, server.is_used) {
            (true, _) => {
                let facts = &server.facts;
                format!("connected · {} {}", facts.name, facts.version)
            }
            (false, true) => "connects when a tool of it is called".to_owned(),
            (false, false) => "not connected".to_owned(),
        };
        let place = ui.styles().paint(Label::Quiet, &escape(&server.place));
        ui.data(&format!("{name} {state} · {place}"));
        for (tool, is_destructive) in &server.tools {
            let mark = if *is_destructive {
                "  (may destroy)"
            } else {
                ""
            };
            ui.data(&format!("{:NAME_COLUMNS$} {}{mark}", "", escape(tool)));
        }
        for left_out in &server.left_out {
            let text = format!("{:NAME_COLUMNS$} left out: {left_out}", "");
            ui.data(&ui.styles().paint(Label::Quiet, &text));
        }
    }
    Ok(())
}

/// Lists the prompts of the connected servers, or gives the text of one: `SERVER NAME [ARGUMENT=VALUE]...`.
pub fn prompt(workshop: &Workshop, typed: &str) -> Result<Option<String>, CliError> {
    let ui = &workshop.ui;
    let mut words = typed.split_whitespace();
    let (server, name) = match (words.next(), words.next()) {
        (Some(server), Some(name)) => (server, name),
        _ => return list_prompts(workshop).map(|()| None),
    };
    let Some(arguments) = arguments(words) else {
        ui.status("It takes: /prompt SERVER NAME [ARGUMENT=VALUE]...");
        return Ok(None);
    };
    let host = workshop.host()?;
    let filled = wait(workshop, host.prompt(server, name, arguments))?;
    match filled {
        Some(Ok(text)) => return Ok(Some(text)),
        Some(Err(why)) => ui.warn(&why),
        None => ui.status("(interrupted)"),
    }
    Ok(None)
}

/// `ARGUMENT=VALUE`, the value up to the next word that holds a `=`.
fn arguments<'a>(words: impl Iterator<Item = &'a str>) -> Option<Vec<(String, String)>> {
    let mut arguments: Vec<(String, String)> = Vec::new();
    for word in words {
        match (word.split_once('='), arguments.last_mut()) {
            (Some((name, value)), _) if !name.is_empty() => {
                arguments.push((name.to_owned(), value.to_owned()));
            }
            (_, Some((_, value))) => {
                value.push(' ');
                value.push_str(word);
            }
            (_, None) => return None,
        }
    }
    Some(arguments)
}

fn list_prompts(workshop: &Workshop) -> Result<(), CliError> {
    let ui = &workshop.ui;
    let host = workshop.host()?;
    let Some((prompts, failed)) = wait(workshop, host.prompts())? else {
        ui.status("(interrupted)");
        return Ok(());
    };
    for line in failed {
        ui.warn(&line);
    }
    if prompts.is_empty() {
        ui.status("No connected MCP server has prompts.");
    }
    for prompt in prompts {
        ui.data(&row(&prompt));
    }
    Ok(())
}

fn row(prompt: &ServerPrompt) -> String {
    let mut row = format!("/prompt {} {}", prompt.server, escape(&prompt.name));
    for (name, is_required) in &prompt.arguments {
        let name = escape(name);
        row += &match is_required {
            true => format!(" {name}=…"),
            false => format!(" [{name}=…]"),
        };
    }
    if !prompt.description.is_empty() {
        row += &format!("  {}", prompt.description);
    }
    row
}

/// Waits, until Ctrl-C. `None`: interrupted.
fn wait<T>(workshop: &Workshop, work: impl Future<Output = T>) -> Result<Option<T>, CliError> {
    let interrupt = interrupted(workshop)?;
    let _hands_off = HandsOff::begin(workshop);
    Ok(workshop.runtime()?.block_on(async {
        tokio::select! {
            biased;
            () = interrupt => None,
            done = work => Some(done),
        }
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_may_have_several_words() {
        let of = |typed: &str| arguments(typed.split_whitespace());
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(of(""), Some(Vec::new()));
        assert_eq!(
            of("bird=little stint place=sea"),
            Some(vec![pair("bird", "little stint"), pair("place", "sea")])
        );
        assert_eq!(of("stint"), None);
    }
}
