//! `dunlin config key`: keys in the system's keyring.

use std::io::{self, BufRead, Read};

use dunlin_host::display::escape;

use crate::args::KeyCommand;
use crate::commands::setup::in_heading;
use crate::error::{CliError, Exit};
use crate::keyring;
use crate::settings::Settings;
use dunlin_terminal::ui::style::Label;
use dunlin_terminal::ui::{Typed, Ui};

/// The longest key, in bytes. Keys have some hundred; more is something else.
const MAX_KEY_BYTES: u64 = 16 * 1024;

/// There is no key in what was typed or piped in.
#[derive(Debug, thiserror::Error)]
enum NoKey {
    #[error("no key was given: its line is empty")]
    Empty,
    #[error("cannot read the key from standard input")]
    Read(#[source] io::Error),
    #[error("the key has characters that no header can carry")]
    Unfit,
}

/// Runs one of the commands.
pub fn run(ui: &Ui, settings: &Settings, command: &KeyCommand) -> Result<Exit, CliError> {
    let (KeyCommand::Set { name } | KeyCommand::Delete { name }) = command;
    let account = settings
        .keys
        .get(name)
        .and_then(|key| key.value.keyring.as_deref())
        .unwrap_or(name);
    if let KeyCommand::Delete { .. } = command {
        keyring::delete(account).map_err(CliError::failed)?;
        ui.status(&format!("The key {} is deleted.", escape(account)));
        return Ok(Exit::Done);
    }
    // Nobody should type a key that can be put nowhere.
    let usable = match keyring::get(account) {
        Ok(_) | Err(keyring::KeyringError::NoEntry { .. }) => Ok(()),
        Err(error) => Err(error),
    };
    let unusable = |error| {
        let hint = "env = or file = in its place works everywhere".to_owned();
        CliError::failed(error).with_hint(hint)
    };
    usable.map_err(unusable)?;
    let Some(key) = read(ui, name)? else {
        return Ok(Exit::Interrupted);
    };
    let place = keyring::set(account, &key).map_err(unusable)?;
    ui.status(&format!("The key {} is in {place}.", escape(account)));
    if settings
        .keys
        .get(name)
        .is_none_or(|key| key.value.keyring.is_none())
    {
        let path = settings.folders.short(&settings.folders.config_file());
        let quiet = |text: &str| ui.status(&ui.status_styles().paint(Label::Quiet, text));
        let table = toml::Value::String(name.clone());
        quiet(&format!("  {} names it so:", escape(&path)));
        quiet(&format!("  [keys.{}]", in_heading(name)));
        quiet(&format!("  keyring = {table}"));
    }
    Ok(Exit::Done)
}

/// The key as it is typed, unseen, or piped in. `None`: the user left it.
fn read(ui: &Ui, name: &str) -> Result<Option<String>, CliError> {
    let line = if ui.streams().input {
        match ui.hidden_line(&format!("Key {}, not shown: ", escape(name))) {
            Typed::Line(line) => line,
            Typed::Interrupted | Typed::End | Typed::Woken => return Ok(None),
        }
    } else {
        let mut line = String::new();
        #[expect(clippy::disallowed_methods, reason = "a key that is piped in")]
        let mut input = io::stdin().lock().take(MAX_KEY_BYTES);
        let read = input.read_line(&mut line);
        read.map_err(|error| CliError::failed(NoKey::Read(error)))?;
        line
    };
    let key = line.trim();
    if key.is_empty() {
        return Err(CliError::usage(NoKey::Empty));
    }
    if !key.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(CliError::usage(NoKey::Unfit));
    }
    Ok(Some(key.to_owned()))
}
