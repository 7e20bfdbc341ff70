//! `dunlin plugin key`: whose signatures are believed.

use std::io;
use std::path::{Path, PathBuf};

use dunlin_host::display::escape;
use dunlin_host::nearest::nearest;
use serde::Serialize;

use crate::app::App;
use crate::args::{PluginKeyCommand, Required};
use crate::config::json_file;
use crate::error::{CliError, Exit};
use crate::plugin::read_regular;
use crate::plugin::signing::{
    KeyError, PinnedKey, PinnedKeys, fingerprint, pinned_origin, read_key, to_pem,
};

/// Bytes of a file with a key.
const MAX_KEY_BYTES: u64 = 64 * 1024;

/// A key cannot be pinned.
#[derive(Debug, thiserror::Error)]
enum KeyFailed {
    #[error("{0:?} is not an origin of plugins")]
    Origin(String),
    #[error("cannot use the key {}", path.display())]
    Key { path: PathBuf, source: KeyError },
    #[error("cannot read or write {}", path.display())]
    File { path: PathBuf, source: io::Error },
    #[error("no key is pinned for {0:?}")]
    Unknown(String),
}

/// Adds, removes or lists the pinned keys, and says whether one is required.
pub fn run(app: &App, command: PluginKeyCommand) -> Result<Exit, CliError> {
    let ui = &app.ui;
    match command {
        PluginKeyCommand::List(args) => list(app, args.json)?,
        PluginKeyCommand::Add { origin, file } => {
            let pinned = PinnedKey {
                origin: checked(origin)?,
                key: read(&file)?,
            };
            let shown = escape(&pinned.origin).into_owned();
            change(app, |keys| {
                if !keys.keys.contains(&pinned) {
                    keys.keys.push(pinned);
                }
            })?;
            let signed = "has to be signed with this key from now on";
            ui.status(&match shown.ends_with('/') {
                true => format!("Every plugin whose origin begins with {shown} {signed}."),
                false => format!(
                    "The plugin {shown} {signed}; a name that ends with / is for all below it."
                ),
            });
        }
        PluginKeyCommand::Remove { origin } => {
            let origin = pinned_origin(&origin).unwrap_or(origin);
            let origins = change(app, |keys| {
                let all = keys.keys.iter().map(|pinned| pinned.origin.clone());
                let all: Vec<_> = all.collect();
                keys.keys.retain(|pinned| pinned.origin != origin);
                all
            })?;
            if !origins.contains(&origin) {
                let near = nearest(&origin, origins.iter().map(String::as_str));
                let hint = near.map(|near| format!("the nearest is {near:?}"));
                return Err(CliError::usage(KeyFailed::Unknown(origin)).with_hint(hint));
            }
            let origin = escape(&origin);
            ui.status(&format!("No key is pinned for {origin} any more."));
        }
        PluginKeyCommand::Require { state } => {
            let required = state == Required::On;
            change(app, |keys| keys.required = required)?;
            ui.status(match required {
                true => {
                    "Only plugins that are signed with a pinned key are installed from now on. Those that are installed already \
                     stay, and dunlin plugin dev loads folders as before."
                }
                false => "Plugins without a pinned key are installed, too.",
            });
        }
    }
    Ok(Exit::Done)
}

/// A pinned key, for `--json`.
#[derive(Serialize)]
struct Listed<'a> {
    origin: &'a str,
    /// Missing where the key cannot be read.
    sha256: Option<String>,
}

fn list(app: &App, json: bool) -> Result<(), CliError> {
    let ui = &app.ui;
    let keys = PinnedKeys::read(&app.settings.folders.plugin_keys_file())?;
    if json {
        let listed = keys.keys.iter().map(|pinned| Listed {
            origin: &pinned.origin,
            sha256: read_key(&pinned.key).ok().map(|der| fingerprint(&der)),
        });
        return app.print_json(&listed.collect::<Vec<_>>());
    }
    for pinned in &keys.keys {
        let about = match read_key(&pinned.key) {
            Ok(der) => format!("sha256:{}", fingerprint(&der)),
            Err(error) => error.to_string(),
        };
        ui.data(&format!("{} {about}", escape(&pinned.origin)));
    }
    if keys.keys.is_empty() {
        ui.status("No key is pinned; dunlin plugin key add ORIGIN FILE pins one.");
    }
    if keys.required {
        ui.status("Only plugins that are signed with a pinned key are installed.");
    }
    Ok(())
}

fn checked(written: String) -> Result<String, CliError> {
    pinned_origin(&written).ok_or_else(|| {
        let hint = "such as ghcr.io/who/words, or ghcr.io/who/ for all below it, without a tag";
        CliError::usage(KeyFailed::Origin(written)).with_hint(hint.to_owned())
    })
}

fn read(path: &Path) -> Result<String, CliError> {
    let bytes = read_regular(path, MAX_KEY_BYTES).map_err(|source| {
        CliError::failed(KeyFailed::File {
            path: path.to_owned(),
            source,
        })
    })?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    match read_key(&text) {
        Ok(der) => Ok(to_pem(&der)),
        Err(source) => Err(CliError::failed(KeyFailed::Key {
            path: path.to_owned(),
            source,
        })),
    }
}

fn change<T>(app: &App, change: impl FnOnce(&mut PinnedKeys) -> T) -> Result<T, CliError> {
    let path = app.settings.folders.plugin_keys_file();
    json_file::update(&path, change)
        .map_err(|source| CliError::failed(KeyFailed::File { path, source }))
}
