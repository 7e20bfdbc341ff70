//! Apps while they are open: the page that is served, the program behind it, and what both have to say.
//!
//! [`dunlin_apps`] knows how an app is written, kept and served; the host runs its program. Here both come together. The chat
//! ([`crate::repl`]) and `dunlin app` ([`crate::commands`]) open apps the same way and differ in when they show what an app
//! says: the chat waits for a moment in which nothing else is on the screen.

pub mod browser;
pub mod export;
pub mod open;
pub mod output;

use std::cell::{OnceCell, RefCell};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use dunlin_apps::blocks::find as find_parts;
use dunlin_apps::store::{Store, StoreError, StoredApp};
use dunlin_host::app::subject;
use dunlin_host::display::{escape, own_command, size};
use dunlin_host::nearest::nearest;
use dunlin_host::store_folder;

use self::open::OpenApp;
use self::output::AppOutput;
use crate::config::paths::Folders;
use crate::error::{CliError, Exit};
use crate::settings::Settings;
use dunlin_terminal::ui::Ui;
use dunlin_terminal::ui::style::Label;

/// The apps that are open, and what they say.
#[derive(Default)]
pub struct Apps {
    /// The apps that are open, by their names.
    pub open: RefCell<BTreeMap<String, OpenApp>>,
    output: OnceCell<Arc<AppOutput>>,
}

impl Apps {
    /// Where apps say something; made at the first need.
    pub fn output(&self, make: impl FnOnce() -> AppOutput) -> &Arc<AppOutput> {
        self.output.get_or_init(|| Arc::new(make()))
    }

    /// The same, if an app was open before.
    pub fn made_output(&self) -> Option<&Arc<AppOutput>> {
        self.output.get()
    }
}

/// The app of this name.
///
/// # Errors
/// There is none, or it cannot be read.
pub fn find(store: &Store, name: &str) -> Result<StoredApp, CliError> {
    store.open(name).map_err(|error| {
        let is_unknown = matches!(error, StoreError::Unknown(_));
        let error = CliError::new(Exit::Failed, error);
        if !is_unknown {
            return error;
        }
        let names = store.names().unwrap_or_default();
        error.with_hint(match nearest(name, names.iter().map(String::as_str)) {
            Some(near) => format!("the nearest is '{near}'"),
            None => "dunlin app list lists the apps".to_owned(),
        })
    })
}

/// All apps that can be read, after a warning of the others. For a list, and before one is made that could be among them.
///
/// # Errors
/// Their folder cannot be read.
pub fn all(ui: &Ui, store: &Store) -> Result<Vec<StoredApp>, CliError> {
    let (apps, broken) = store.all().map_err(CliError::failed)?;
    for error in broken {
        ui.warn(&escape(&error.to_string()));
    }
    Ok(apps)
}

/// Outside of a chat, says that nothing is made of the parts of an app in a reply. Whether it said so.
pub fn say_not_made(ui: &Ui, settings: &Settings, agent: &str, reply: &str) -> bool {
    let has_parts = settings.writes_apps(agent)
        && find_parts(reply).map_or(true, |found| !found.parts.is_empty());
    if has_parts {
        ui.warn(&format!(
            "no app is made of this reply: apps are made in a chat in a terminal ({})",
            own_command(&["--agent", agent])
        ));
    }
    has_parts
}

/// What permissions say of those to whom things are granted, with the names of apps.
pub fn with_names(store: &Store, grantees: &str) -> String {
    let mut named = grantees.to_owned();
    // What cannot be read keeps the name that it has there.
    let (apps, _) = store.all().unwrap_or_default();
    for app in apps {
        let (id, name) = (subject(app.id()), app.name());
        if named.contains(&id) {
            let digest = app.parts().ok().and_then(|parts| open::digest_of(&parts));
            if let Some(digest) = digest.as_deref().and_then(|it| it.get(..SHORT_DIGEST)) {
                let current = format!("app '{name}', version {}", app.version());
                named = named.replace(&format!("{id} ({digest})"), &current);
            }
            named = named.replace(
                &format!("{id} ("),
                &format!("app '{name}', another version ("),
            );
            named = named.replace(&id, &format!("app '{name}'"));
        }
    }
    named
}

/// How much of a digest permissions show, in characters.
const SHORT_DIGEST: usize = 8;

/// An app in a list, with how many bytes it has stored.
pub fn line(ui: &Ui, app: &StoredApp, stored: u64) -> String {
    let name = ui.styles().paint(Label::Name, app.name());
    let stored = match stored {
        0 => String::new(),
        stored => format!(" · {} stored", size(stored)),
    };
    format!(
        "{name}  {} · version {}{stored}",
        escape(app.title()),
        app.version()
    )
}

/// Where an app stores what it keeps, of all projects.
pub fn store_of(folders: &Folders, app: &StoredApp) -> PathBuf {
    store_folder(&folders.stores(), &subject(app.id()), None)
}
