//! `/permissions`: what is in force, and taking answers of the session back.

use std::borrow::Cow;

use dunlin_host::Stored;
use dunlin_host::display::{escape, shell_word};
use dunlin_host::permission::SessionMode;

use crate::app::App;
use crate::error::CliError;
use crate::modes;
use crate::tools;
use dunlin_terminal::ui::style::Label;

/// Lists what is in force, or takes answers back. The result says whether any was.
///
/// # Errors
/// The store cannot be read.
pub fn run(app: &App, rest: &str) -> Result<bool, CliError> {
    match rest {
        "" => show_permissions(app).map(|()| false),
        _ => forget_answers(app, rest),
    }
}

fn show_permissions(app: &App) -> Result<(), CliError> {
    let ui = &app.ui;
    let store = app.host()?.permissions();
    let (modes, stored, session) = (store.tool_modes(), store.list()?, store.session_answers());
    let heading = |text: &str| ui.status(&ui.status_styles().paint(Label::Quiet, text));
    let mode = app.mode.get();
    let is_usual = mode == SessionMode::default();
    if modes.is_empty() && stored.is_empty() && session.is_empty() && is_usual {
        ui.status("Nothing is stored or answered for this session.");
    }
    if !modes.is_empty() {
        heading("tools, until the session ends (/tools NAME prompt takes it back):");
        for (tool, mode) in &modes {
            ui.data(&format!("{:<6}  {}", mode.as_str(), escape(tool)));
        }
    }
    if !is_usual {
        heading("mode, until the session ends (Shift-Tab and /mode change it):");
        ui.data(&format!("{mode}  {}", modes::about(mode)));
    }
    if !session.is_empty() || !stored.is_empty() {
        heading(tools::STORED_LEGEND);
    }
    if !session.is_empty() {
        heading("answers, until the session ends (/permissions forget takes them back):");
        tools::print_stored(app, &session);
    }
    if !stored.is_empty() {
        heading("stored, in all projects (dunlin permissions ask takes one back):");
        tools::print_stored(app, &stored);
    }
    heading(
        "everything else: reading inside the project is allowed, secrets excepted; the rest asks",
    );
    Ok(())
}

/// A key as it is, which may be quoted as for a shell.
fn unquoted(key: &str) -> Cow<'_, str> {
    let within = |quote| key.strip_prefix(quote)?.strip_suffix(quote);
    match (within('\''), within('"')) {
        (Some(key), _) => Cow::Owned(key.replace(r"'\''", "'")),
        (None, Some(key)) => Cow::Borrowed(key),
        (None, None) => Cow::Borrowed(key),
    }
}

/// Takes back answers of the session.
fn forget_answers(app: &App, typed: &str) -> Result<bool, CliError> {
    let ui = &app.ui;
    let rest = typed.strip_prefix("forget");
    let is_word = |rest: &&str| rest.is_empty() || rest.starts_with(char::is_whitespace);
    let Some(key) = rest.filter(is_word) else {
        ui.status("Usage: /permissions, /permissions forget, or /permissions forget KEY");
        return Ok(false);
    };
    let typed = unquoted(key.trim());
    let permissions = app.host()?.permissions();
    let answers = permissions.session_answers();
    let meant = match typed.is_empty() {
        true => Vec::new(),
        false => found(&answers, &typed),
    };
    let key = match meant.as_slice() {
        [] if typed.is_empty() => None,
        [] => {
            ui.status("No answer of this session has a key that begins like this.");
            let stored = permissions.list()?;
            let ways: Vec<String> = found(&stored, &typed).into_iter().flat_map(ways).collect();
            if !ways.is_empty() {
                ui.status("What is stored is taken back in a shell:");
                ways.iter().for_each(|way| ui.data(&format!("  {way}")));
            }
            return Ok(false);
        }
        [only] => Some(only.key.as_str()),
        several => {
            let several: Vec<Stored> = several.iter().map(|&it| it.clone()).collect();
            ui.status("Nothing was forgotten: several answers begin like this.");
            tools::print_stored(app, &several);
            return Ok(false);
        }
    };
    let count = permissions.forget_answers(key);
    ui.status(&match (count, key) {
        (0, _) => "There is no answer of this session to forget.".to_owned(),
        (1, Some(key)) => {
            let bits = answers.iter().find(|it| it.key == key);
            let bits = bits.map_or("", |it| it.bits.as_str());
            format!("Forgot the answer {bits} about {}.", escape(key))
        }
        (1, None) => "Forgot 1 answer of this session.".to_owned(),
        (count, _) => format!("Forgot {count} answers of this session."),
    });
    Ok(count > 0)
}

/// The commands that take back what is stored under a key.
fn ways(stored: &Stored) -> Vec<String> {
    let decided = stored.bits.chars().zip(["read", "write", "run"]);
    let decided = decided.filter(|(bit, _)| *bit != '?');
    let way = |(_, operation)| {
        let key = shell_word(&escape(&stored.key));
        format!("dunlin permissions ask {operation} {key}")
    };
    decided.map(way).collect()
}

/// The answers that a typed key means: the one with exactly this key, or all whose keys begin like this. A command may begin
/// with the name of its program, without the folder.
fn found<'a>(answers: &'a [Stored], typed: &str) -> Vec<&'a Stored> {
    let exact: Vec<&Stored> = answers.iter().filter(|it| it.key == typed).collect();
    if !exact.is_empty() {
        return exact;
    }
    let begins = |stored: &&Stored| {
        stored.key.starts_with(typed)
            || command(&stored.key).is_some_and(|command| command.starts_with(typed))
    };
    answers.iter().filter(begins).collect()
}

/// The command of a key without what stands before the name of its program.
fn command(key: &str) -> Option<&str> {
    let (_, command) = key.split_once(' ').filter(|(mark, _)| mark.len() == 1)?;
    let program = command.split(' ').next().unwrap_or(command);
    let name = program.rfind('/').map_or(0, |slash| slash + 1);
    command.get(name..)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_found_by_a_beginning_of_its_own() {
        let keys = [
            "$ /usr/bin/git push",
            "$ /usr/bin/git push origin",
            "$ /usr/bin/grep",
            "/p/a.txt",
            "https://example.org/",
        ];
        let answers = keys.map(|key| Stored {
            key: key.to_owned(),
            bits: "--x".to_owned(),
            bound_to: None,
            lapsed: None,
        });
        let check = |typed: &str, expected: &[&str]| {
            let found: Vec<&str> = found(&answers, typed).iter().map(|it| &*it.key).collect();
            assert_eq!(found, expected, "{typed:?}");
        };
        check("$ /usr/bin/git push", &keys[..1]);
        check("git push", &keys[..2]);
        check("git push o", &keys[1..2]);
        check("$ /usr/bin/gr", &keys[2..3]);
        check("g", &keys[..3]);
        check("/p/", &keys[3..4]);
        check("https:", &keys[4..]);
        check("push", &[]);
        check("/usr", &[]);
    }

    #[test]
    fn keys_may_be_quoted() {
        assert_eq!(unquoted("$ /usr/bin/git"), "$ /usr/bin/git");
        assert_eq!(unquoted("'$ /usr/bin/git'"), "$ /usr/bin/git");
        assert_eq!(unquoted("\"a b\""), "a b");
        assert_eq!(unquoted(r"'it'\''s'"), "it's");
        assert_eq!(unquoted("'"), "'");
    }
}
