//! `/permissions`: what is in force, and taking answers of the session back.

use std::borrow::Cow;

use dunlin_host::display::escape;
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
    let key = unquoted(key.trim());
    let key = Some(&*key).filter(|key| !key.is_empty());
    let count = app.host()?.permissions().forget_answers(key);
    ui.status(&match (count, key) {
        (0, Some(_)) => {
            "No answer of this session has this key. One that is stored is taken back in a shell: dunlin permissions ask OPERATION TARGET".to_owned()
        }
        (0, None) => "There is no answer of this session to forget.".to_owned(),
        (1, _) => "Forgot 1 answer of this session.".to_owned(),
        (count, _) => format!("Forgot {count} answers of this session."),
    });
    Ok(count > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_may_be_quoted() {
        assert_eq!(unquoted("$ /usr/bin/git"), "$ /usr/bin/git");
        assert_eq!(unquoted("'$ /usr/bin/git'"), "$ /usr/bin/git");
        assert_eq!(unquoted("\"a b\""), "a b");
        assert_eq!(unquoted(r"'it'\''s'"), "it's");
        assert_eq!(unquoted("'"), "'");
    }
}
