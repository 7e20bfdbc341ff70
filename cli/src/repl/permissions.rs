//! `/permissions`: what is in force and why, rules that the user makes or takes back, and taking back answers of the session.
//!
//! All of it is typed by the user, so it does what `dunlin permissions` does, in the same words.

use std::borrow::Cow;

use clap::ValueEnum;
use dunlin_host::Stored;
use dunlin_host::display::{escape, one_line};
use dunlin_host::permission::SessionMode;
use dunlin_host::permission::key::Decided;

use crate::app::App;
use crate::args::{OperationName, PermissionArgs, probable_operation};
use crate::error::CliError;
use crate::modes;
use crate::permission_rules::{decide, explain};
use crate::prompt::slash_table::{ALLOW, ASK, FORGET, PERMISSIONS};
use crate::tools;
use dunlin_terminal::approval::storing;
use dunlin_terminal::ui::style::Label;

/// Lists what is in force, explains it, or changes it. The result says whether anything was changed.
///
/// # Errors
/// The store cannot be read or written, or what was typed names no target.
pub fn run(app: &App, typed: &str) -> Result<bool, CliError> {
    let (verb, rest) = first_word(typed);
    let decided = match verb {
        "" => return show_permissions(app).map(|()| false),
        "list" if rest.is_empty() => return show_permissions(app).map(|()| false),
        FORGET => return forget(app, rest),
        "explain" if !rest.is_empty() => {
            let permissions = app.host()?.permissions();
            let words = match first_word(rest) {
                (operation, target) if is_operation(operation) && !target.is_empty() => {
                    vec![operation.to_owned(), unquoted(target).into_owned()]
                }
                _ => vec![unquoted(rest).into_owned()],
            };
            return explain::target(app, permissions, &words).map(|()| false);
        }
        ALLOW => Decided::Allow,
        "deny" => Decided::Deny,
        ASK => Decided::Open,
        "list" | "explain" => {
            app.ui.status(USAGE);
            return Ok(false);
        }
        unknown => {
            app.ui.status(&format!(
                "There is no {PERMISSIONS} {}. {USAGE}",
                one_line(unknown)
            ));
            return Ok(false);
        }
    };
    let (operation, target) = first_word(rest);
    match OperationName::from_str(operation, false) {
        Ok(operation) if !target.is_empty() => {
            let target = vec![unquoted(target).into_owned()];
            let args = PermissionArgs { operation, target };
            decide(app, app.host()?.permissions(), &args, decided).map(|()| true)
        }
        Ok(operation) => {
            let operation = storing::word(operation.into());
            let example = format!("{PERMISSIONS} {verb} {operation} TARGET");
            app.ui.status(&format!("A target is missing: {example}"));
            Ok(false)
        }
        Err(_) if rest.is_empty() => {
            app.ui.status(USAGE);
            Ok(false)
        }
        Err(_) => {
            let meant = probable_operation(rest);
            app.ui.status(&format!(
                "The operation is missing (read, write or run). Did you mean {PERMISSIONS} {verb} {meant} {}?",
                one_line(rest)
            ));
            Ok(false)
        }
    }
}

/// What can be typed.
const USAGE: &str = "Usage: /permissions [list], /permissions explain TARGET, /permissions allow|deny|ask read|write|run TARGET, /permissions forget [KEY]";

/// The first word and what stands behind it.
fn first_word(text: &str) -> (&str, &str) {
    let parts = text.trim().split_once(char::is_whitespace);
    parts.map_or((text.trim(), ""), |(first, rest)| (first, rest.trim()))
}

fn is_operation(word: &str) -> bool {
    OperationName::from_str(word, false).is_ok()
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
        heading("stored, in all projects (/permissions forget KEY takes one back):");
        tools::print_stored(app, &stored);
    }
    heading(
        "everything else: reading inside the project is allowed, secrets excepted; the rest asks",
    );
    Ok(())
}

/// A key as it is, which may be quoted as for a shell.
fn unquoted(key: &str) -> Cow<'_, str> {
    const QUOTE: &str = r"'\''";
    let within = |quote| key.strip_prefix(quote)?.strip_suffix(quote);
    // Quotes that are no pair belong to it: 'my tool' --name 'x'.
    let single = within('\'').filter(|key| !key.replace(QUOTE, "").contains('\''));
    match (single, within('"').filter(|key| !key.contains('"'))) {
        (Some(key), _) => Cow::Owned(key.replace(QUOTE, "'")),
        (None, Some(key)) => Cow::Borrowed(key),
        (None, None) => Cow::Borrowed(key),
    }
}

/// Takes back answers of the session, or what is stored under a key.
fn forget(app: &App, typed: &str) -> Result<bool, CliError> {
    let ui = &app.ui;
    let typed = unquoted(typed);
    let permissions = app.host()?.permissions();
    let answers = permissions.session_answers();
    let meant = match typed.is_empty() {
        true => Vec::new(),
        false => found(&answers, &typed),
    };
    let key = match meant.as_slice() {
        [] if typed.is_empty() => None,
        [] => return forget_stored(app, &typed),
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
    if let Some(key) = key
        && permissions.list()?.iter().any(|it| it.key == key)
    {
        ui.status(&format!(
            "More is stored under this key: {PERMISSIONS} {FORGET} {} takes that back.",
            escape(key)
        ));
    }
    Ok(count > 0)
}

/// Takes back what is stored under a key, which has to be named whole: it holds for all projects, and the beginning of a key
/// may be one of another that nobody thinks of.
fn forget_stored(app: &App, typed: &str) -> Result<bool, CliError> {
    let ui = &app.ui;
    let permissions = app.host()?.permissions();
    let stored = permissions.list()?;
    let similar = found(&stored, typed);
    let is_whole = |it: &&&Stored| it.key == typed || command(&it.key) == Some(typed);
    let whole: Vec<&Stored> = similar.iter().filter(is_whole).copied().collect();
    match (whole.as_slice(), similar.is_empty()) {
        ([only], _) => {
            let is_changed = permissions.unset(&only.key)?;
            ui.status("Taken back:");
            tools::print_stored(app, &[(*only).clone()]);
            Ok(is_changed)
        }
        (_, true) => {
            ui.status("No answer of this session and no stored key begins like this.");
            Ok(false)
        }
        (_, false) => {
            ui.status("Nothing was forgotten. What is stored is taken back by its whole key:");
            for it in similar {
                ui.data(&format!("  {PERMISSIONS} forget {}", escape(&it.key)));
            }
            Ok(false)
        }
    }
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

/// The command of a key, or its path, without what stands before the name of the program or the file.
fn command(key: &str) -> Option<&str> {
    let (_, command) = match key.starts_with('/') {
        true => return key.rsplit('/').next().filter(|name| !name.is_empty()),
        false => key.split_once(' ').filter(|(mark, _)| mark.len() == 1)?,
    };
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
        check("a.t", &keys[3..4]);
    }

    #[test]
    fn a_verb_ends_with_its_word() {
        assert_eq!(
            first_word(" explain  run  cargo test "),
            ("explain", "run  cargo test")
        );
        assert_eq!(first_word("forget"), ("forget", ""));
        assert_eq!(first_word(""), ("", ""));
        assert!(is_operation("run") && is_operation("execute") && !is_operation("runs"));
    }

    #[test]
    fn keys_may_be_quoted() {
        assert_eq!(unquoted("$ /usr/bin/git"), "$ /usr/bin/git");
        assert_eq!(unquoted("'$ /usr/bin/git'"), "$ /usr/bin/git");
        assert_eq!(unquoted("\"a b\""), "a b");
        assert_eq!(unquoted(r"'it'\''s'"), "it's");
        assert_eq!(unquoted("'"), "'");
        for no_pair in [r"'my tool' --name 'x y'", "\"a\" \"b\""] {
            assert_eq!(unquoted(no_pair), no_pair);
        }
    }
}
