//! `dunlin plugin outdated`, `update` and `rollback`: other versions of what is installed.

use std::path::{Path, PathBuf};
use std::{fmt, fs};

use dunlin_host::display::{escape, own_command};
use dunlin_host::sha256_hex;
use oci_spec::distribution::Reference;
use serde::Serialize;

use super::changes::version;
use super::install::{find, offer};
use crate::app::App;
use crate::dialogue::unless_interrupted;
use crate::error::{CliError, Exit};
use crate::plugin::examine::{
    Beside, ComesFrom, Examined, examine_bytes, examine_file, examine_reference,
};
use crate::plugin::installed::Record;
use crate::plugin::registry::{self, Newer};
use crate::plugin::{BUILT, MAX_COMPONENT_BYTES, read_regular};
use dunlin_terminal::ui::style::Label;

/// There is no version before.
#[derive(Debug, thiserror::Error)]
#[error("no version of {0} before the installed one is kept")]
struct NoPrevious(String);

/// Some could not be looked at.
#[derive(Debug, thiserror::Error)]
#[error("{0} of {1} plugins could not be looked at")]
struct NotSeen(usize, usize);

/// Some could not be updated.
#[derive(Debug, thiserror::Error)]
#[error("not updated: {0}; the installed versions stay")]
struct NotUpdated(String);

/// What a registry has under a later tag is not a later version of the plugin.
#[derive(Debug, thiserror::Error)]
#[error(
    "{name} is not updated: {from} states {offered}, which is not above the installed one ({installed})"
)]
struct NotLater {
    name: String,
    from: String,
    offered: String,
    installed: String,
}

/// What a registry has under a later tag is what is installed.
#[derive(Debug, thiserror::Error)]
#[error(
    "{name} is not updated: {from} names the component that is installed already ({installed})"
)]
struct SameUnderLaterTag {
    name: String,
    from: String,
    installed: String,
}

/// A version that can take the place of the installed one.
struct Newest {
    from: From,
    /// What it is, in words.
    about: String,
}

/// Where a version is.
enum From {
    Registry(Reference),
    File(PathBuf),
}

impl fmt::Display for From {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            From::Registry(reference) => reference.fmt(f),
            From::File(path) => path.display().fmt(f),
        }
    }
}

/// A plugin of which there is a newer version, for `--json`.
#[derive(Serialize)]
struct Outdated<'a> {
    name: &'a str,
    version: Option<&'a str>,
    digest: &'a str,
    /// Where the newer version is: a reference of a registry, or a file.
    newest: String,
}

/// Lists the plugins of which there is a newer version, one a line.
pub fn outdated(app: &App, json: bool) -> Result<Exit, CliError> {
    let (records, _) = app.installed_plugins().records();
    let all: Vec<&Record> = records.iter().collect();
    let ui = &app.ui;
    let (found, result) = newer(app, &all)?;
    if json {
        let listed = found.iter().map(|(record, newest)| Outdated {
            name: &record.name,
            version: record.metadata.version.as_deref(),
            digest: &record.digest,
            newest: newest.from.to_string(),
        });
        app.print_json(&listed.collect::<Vec<_>>())?;
        return result.map(|()| Exit::Done);
    }
    for (record, newest) in &found {
        let name = ui.styles().paint(Label::Name, &escape(&record.name));
        ui.data(&format!(
            "{name} {} · {}",
            version(record),
            escape(&newest.about)
        ));
    }
    if found.is_empty() && result.is_ok() {
        ui.status("Every plugin is the newest version of its origin.");
    }
    result.map(|()| Exit::Done)
}

/// Installs newer versions, each after a question.
pub fn update(app: &App, names: &[String], yes: bool) -> Result<Exit, CliError> {
    let (records, _) = app.installed_plugins().records();
    let chosen: Vec<&Record> = match names {
        [] => records.iter().collect(),
        names => {
            let found = names.iter().map(|name| find(&records, name));
            found.collect::<Result<_, _>>()?
        }
    };
    let (found, result) = newer(app, &chosen)?;
    let mut failed = Vec::new();
    for (record, newest) in &found {
        let name = Some(record.name.as_str());
        let examined = match &newest.from {
            From::Registry(reference) => examine_reference(app, reference, name),
            From::File(path) => examine_file(app, path, name, Beside::Installed),
        };
        let offered = examined.and_then(|examined| {
            if let From::Registry(reference) = &newest.from {
                is_update(record, &examined, reference)?;
            }
            offer(app, &examined, "Replace the installed version?", yes)?;
            Ok(())
        });
        match offered {
            Ok(()) => {}
            Err(error) if matches!(error.exit(), Exit::Interrupted | Exit::Denied) => {
                return Err(error);
            }
            // The others have nothing to do with it.
            Err(error) => {
                app.ui.error(&error);
                failed.push(escape(&record.name).into_owned());
            }
        }
    }
    if found.is_empty() && result.is_ok() {
        app.ui.status("There is nothing newer.");
    }
    if !failed.is_empty() {
        // What could not be looked at was said.
        return Err(CliError::failed(NotUpdated(failed.join(", "))));
    }
    result.map(|()| Exit::Done)
}

/// Whether the component from a registry is a later version than the installed one, as it states itself. Tags are what the
/// registry says, and a signature of the publisher is on each of their versions: an old one would be as good as a new one.
///
/// # Errors
/// It is another component and not a later one, or has a later tag and is the same.
fn is_update(record: &Record, examined: &Examined, from: &Reference) -> Result<(), CliError> {
    let offered = examined.metadata.version.as_deref();
    let installed = record.metadata.version.as_deref();
    let stated = |version: Option<&str>| match version {
        Some(version) => format!("version {}", escape(version)),
        None => "no version".to_owned(),
    };
    if examined.digest == record.digest {
        let source = record.source.parse::<Reference>().ok();
        let is_same_tag = source.is_some_and(|source| source.tag() == from.tag());
        if is_same_tag {
            return Ok(());
        }
        let same = SameUnderLaterTag {
            name: escape(&record.name).into_owned(),
            from: escape(&from.to_string()).into_owned(),
            installed: stated(installed),
        };
        return Err(CliError::failed(same).with_hint(
            "nothing has to be done here: its publisher put the same component under both tags"
                .to_owned(),
        ));
    }
    if registry::is_later(installed, offered) {
        return Ok(());
    }
    let hint = format!(
        "{} installs it, if that is what you want",
        own_command(&["plugin", "install", &examined.source])
    );
    let not_later = NotLater {
        name: escape(&record.name).into_owned(),
        from: escape(&from.to_string()).into_owned(),
        offered: stated(offered),
        installed: stated(installed),
    };
    Err(CliError::failed(not_later).with_hint(hint))
}

/// Goes back to the version before, after a question. The one that was installed is then the version before.
pub fn rollback(app: &App, name: &str, yes: bool) -> Result<Exit, CliError> {
    let installed = app.installed_plugins();
    let (records, _) = installed.records();
    let record = find(&records, name)?;
    let Some(previous) = &record.previous else {
        let name = escape(name).into_owned();
        return Err(CliError::failed(NoPrevious(name)));
    };
    let bytes = installed.bytes(previous).map_err(CliError::failed)?;
    let from = ComesFrom {
        origin: previous.origin.clone(),
        signer: previous.signer.clone(),
        source: previous.source.clone(),
    };
    let examined = examine_bytes(app, previous.name.clone(), bytes, from)?;
    let question = format!("Go back to this version ({})?", version(previous));
    offer(app, &examined, &question, yes)?;
    Ok(Exit::Done)
}

/// A plugin and what is newer.
type Found<'a> = Vec<(&'a Record, Newest)>;

/// What is newer of each; and whether all of them could be looked at. What could not is said.
fn newer<'a>(
    app: &App,
    records: &[&'a Record],
) -> Result<(Found<'a>, Result<(), CliError>), CliError> {
    let mut found = Vec::new();
    let mut failed = 0;
    for record in records {
        match newest(app, record) {
            Ok(newest) => found.extend(newest.map(|newest| (*record, newest))),
            Err(error) if error.exit() == Exit::Interrupted => return Err(error),
            Err(error) => {
                failed += 1;
                app.ui.error(&error);
            }
        }
    }
    let result = match failed {
        0 => Ok(()),
        failed => Err(CliError::failed(NotSeen(failed, records.len()))),
    };
    Ok((found, result))
}

/// What is newer than the installed version, where that came from.
fn newest(app: &App, record: &Record) -> Result<Option<Newest>, CliError> {
    if record.origin.starts_with('/') {
        return Ok(newer_file(record));
    }
    let Ok(installed) = record.source.parse::<Reference>() else {
        return Ok(None);
    };
    let home = app.settings.folders.home.as_deref();
    let newer = unless_interrupted(app, registry::newer(&installed, home))??;
    Ok(newer.map(|newer| match newer {
        Newer::Tag(reference) => Newest {
            about: format!(
                "{} is newer: {}",
                reference.tag().unwrap_or_default(),
                own_command(&["plugin", "update", &record.name])
            ),
            from: From::Registry(reference),
        },
        Newer::Moved(reference, digest) => Newest {
            about: format!(
                "the tag {} was moved, and now names {digest}",
                reference.tag().unwrap_or_default()
            ),
            from: From::Registry(reference),
        },
    }))
}

/// The file from which a plugin was installed, if it is another by now.
fn newer_file(record: &Record) -> Option<Newest> {
    let origin = Path::new(&record.origin);
    let path = match origin.is_dir() {
        true => origin.join(BUILT),
        false => origin.to_owned(),
    };
    // A file that is gone is no newer version.
    let bytes = fs::metadata(&path).ok()?.len();
    let bytes = (bytes <= MAX_COMPONENT_BYTES).then(|| read_regular(&path, MAX_COMPONENT_BYTES))?;
    (sha256_hex(&bytes.ok()?) != record.digest).then(|| Newest {
        from: From::File(origin.to_owned()),
        about: format!("{} was rebuilt", path.display()),
    })
}
