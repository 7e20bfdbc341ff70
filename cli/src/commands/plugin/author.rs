//! `dunlin plugin new`, `build`, `test` and `dev`: from an empty folder to a tool in an open chat.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use dunlin_host::display::{escape, escape_multiline, size};
use dunlin_host::{Code, Plugin, sha256_hex};
use dunlin_terminal::ui::review::Review;

use super::install::{put, same_origin};
use super::{changes, report};
use crate::app::{App, host_options};
use crate::error::{CliError, Exit};
use crate::plugin::BUILT;
use crate::plugin::build::{BuildFailed, Built, build as build_in};
use crate::plugin::examine::{Beside, describes, examine_file};
use crate::plugin::installed::is_name;
use crate::plugin::manifest::{Language, Manifest};
use crate::plugin::sources::Sources;
use crate::plugin::{new_project, trial};
use dunlin_terminal::ui::style::Label;

/// How often the folder is looked at. Somebody waits who has just saved a file.
const LOOK_PERIOD: Duration = Duration::from_millis(250);

/// It cannot be written there.
#[derive(Debug, thiserror::Error)]
enum CannotWrite {
    #[error("a plugin cannot be called {0:?}: it takes 1 to 64 of a-z A-Z 0-9 _ -")]
    Name(String),
    #[error("{} already exists", .0.display())]
    There(PathBuf),
    #[error("cannot write {}", folder.display())]
    Io {
        folder: PathBuf,
        source: std::io::Error,
    },
}

/// A test did not come out as it should.
#[derive(Debug, thiserror::Error)]
#[error("{0} of {1} tests failed")]
struct Failed(usize, usize);

/// There is nothing to try.
#[derive(Debug, thiserror::Error)]
#[error("plugin.toml has no [[test]]")]
struct NoTests;

impl From<BuildFailed> for CliError {
    fn from(failed: BuildFailed) -> CliError {
        let hint = failed.hint().map(str::to_owned);
        match failed {
            BuildFailed::Manifest(_)
            | BuildFailed::DeclaredPermissions(_)
            | BuildFailed::Metadata { .. } => CliError::usage(failed),
            failed => CliError::failed(failed),
        }
        .with_hint(hint)
    }
}

/// Writes the start of a plugin.
pub fn new(app: &App, name: &str, language: Language) -> Result<Exit, CliError> {
    if !is_name(name) {
        return Err(CliError::usage(CannotWrite::Name(name.to_owned())));
    }
    let folder = PathBuf::from(name);
    if folder.exists() {
        return Err(CliError::usage(CannotWrite::There(folder)));
    }
    new_project::write(&folder, name, language).map_err(|source| {
        CliError::failed(CannotWrite::Io {
            folder: folder.clone(),
            source,
        })
    })?;
    app.ui.status(&format!(
        "{name}/ is a plugin in {}. Its README.md says how to continue.",
        language.word()
    ));
    Ok(Exit::Done)
}

/// Brings what a plugin's folder has of Dunlin to what this Dunlin has.
pub fn upgrade(app: &App, folder: &Path) -> Result<Exit, CliError> {
    let manifest = Manifest::read(folder).map_err(BuildFailed::Manifest)?;
    let changed = new_project::upgrade(folder, manifest.language).map_err(|source| {
        CliError::failed(CannotWrite::Io {
            folder: folder.to_owned(),
            source,
        })
    })?;
    for path in &changed {
        app.ui.data(path);
    }
    app.ui.status(match changed.is_empty() {
        true => "The contract and the SDK are those of this Dunlin.",
        false => "These are those of this Dunlin now. dunlin plugin build shows what they change for the source.",
    });
    Ok(Exit::Done)
}

/// Builds the plugin of a folder.
pub fn build(app: &App, folder: &Path) -> Result<Exit, CliError> {
    let began = Instant::now();
    let built = built(app, folder)?;
    let manifest = Manifest::read(folder).map_err(BuildFailed::Manifest)?;
    // What is wrong with what it says of itself is not found only by whoever installs it.
    describes(app, &built.path, manifest.name)?;
    say_built(app, &built, began);
    Ok(Exit::Done)
}

/// Builds, shows in one line how far it is, and what a tool says of what it does not understand or warns of, as it says it.
fn built(app: &App, folder: &Path) -> Result<Built, CliError> {
    let mut warnings = Warnings::default();
    let notes = app.settings.folders.built_plugins_file();
    let built = build_in(folder, &notes, &mut |line| {
        app.ui.progress(&escape(line.trim()));
        warnings.add(line);
    });
    app.ui.end_progress();
    let said = match &built {
        Ok(_) => warnings.lines.join("\n"),
        Err(failed) => failed.said().unwrap_or_default().to_owned(),
    };
    for line in said.lines() {
        app.ui.status(&escape_multiline(line));
    }
    built.map_err(CliError::from)
}

/// What a tool warns of, out of all that it says: a line that does, and those behind it up to a blank one.
#[derive(Default)]
struct Warnings {
    lines: Vec<String>,
    is_one: bool,
}

impl Warnings {
    /// Lines that are kept: whoever has more warnings begins with the first.
    const MAX: usize = 200;

    fn add(&mut self, line: &str) {
        let low = line.to_ascii_lowercase();
        let begins = low.contains("warning:") || low.contains("[warning]");
        // How many there were is no warning.
        let counts = low.starts_with("warning:") && low.contains(" generated ");
        self.is_one = (self.is_one || begins) && !line.trim().is_empty() && !counts;
        if self.is_one && self.lines.len() < Self::MAX {
            self.lines.push(line.to_owned());
        }
    }
}

fn say_built(app: &App, built: &Built, began: Instant) {
    let bytes = fs::metadata(&built.path).map_or(0, |meta| meta.len());
    let how = match built.is_unchanged {
        true => "its source has not changed".to_owned(),
        false => format!("built in {:.1} s", began.elapsed().as_secs_f64()),
    };
    app.ui.status(&format!(
        "{} · {} · {how}",
        escape(&app.settings.folders.short(&built.path)),
        size(bytes),
    ));
}

/// Builds the plugin of a folder and makes its tests.
pub fn test(app: &App, folder: &Path) -> Result<Exit, CliError> {
    let manifest = Manifest::read(folder)
        .map_err(BuildFailed::Manifest)
        .map_err(CliError::from)?;
    if manifest.test.is_empty() {
        return Err(CliError::usage(NoTests));
    }
    build(app, folder)?;
    let bytes = fs::read(folder.join(BUILT)).map_err(CliError::failed)?;
    let digest = sha256_hex(&bytes);
    let ui = &app.ui;
    let mut failed = 0;
    for trial in &manifest.test {
        let plugin = Plugin {
            name: manifest.name.clone(),
            bytes: Code::from(bytes.clone()),
            digest: digest.clone(),
            built_in: false,
            origin: None,
            description: None,
            tools_digest: None,
        };
        let options = host_options(&app.settings, &app.session_id());
        let began = Instant::now();
        let tested = app.runtime()?.block_on(trial::run(options, plugin, trial));
        let trial::Tested { miss, notes } = tested.map_err(CliError::failed)?;
        let took = began.elapsed().as_millis();
        let name = escape(trial.name()).into_owned();
        let (mark, label) = match miss {
            None => ("✓", Label::Name),
            Some(_) => ("✗", Label::Error),
        };
        let mark = ui.styles().paint(label, mark);
        ui.data(&format!("{mark} {name} · {took} ms"));
        let row = |about: &str, text: &str| {
            let text = escape_multiline(text).into_owned();
            let indented = text.trim_end().replace('\n', "\n           ");
            ui.data(&format!("  {about:8} {indented}"));
        };
        if let Some(miss) = miss {
            failed += 1;
            row("in", &miss.place);
            let (expected, found) = visible(&miss.expected, &miss.found);
            row("expected", &expected);
            row("found", &found);
            for message in &miss.log {
                row("logged", message);
            }
        }
        for note in &notes {
            row("note", note);
        }
    }
    match failed {
        0 => Ok(Exit::Done),
        failed => Err(CliError::failed(Failed(failed, manifest.test.len()))),
    }
}

/// Two texts so that their difference can be seen, also where it is blank space at the end.
fn visible(expected: &str, found: &str) -> (String, String) {
    match expected.trim_end() == found.trim_end() {
        true => (format!("{expected:?}"), format!("{found:?}")),
        false => (expected.to_owned(), found.to_owned()),
    }
}

/// Builds and installs at each change. The first time it is asked about; what comes later is the same author's.
pub fn dev(app: &App, folder: &Path, yes: bool) -> Result<Exit, CliError> {
    let ui = &app.ui;
    // A folder that is not a plugin's does not become one by waiting.
    Manifest::read(folder).map_err(BuildFailed::Manifest)?;
    let mut agreed = yes;
    loop {
        let seen = Sources::of(folder);
        let began = Instant::now();
        let done =
            built(app, folder).and_then(|_| examine_file(app, folder, None, Beside::Installed));
        match done {
            Err(error) if error.exit() == Exit::Interrupted => return Err(error),
            // What is wrong is corrected, and built again.
            Err(error) => ui.error(&error),
            Ok(examined) => {
                let installed = app.installed_plugins().record(&examined.name);
                same_origin(&examined, installed.as_ref())?;
                if !agreed {
                    let report = |window| report::rows(&examined, window);
                    if !app.asks() {
                        ui.data_all(&report(ui.data_window()));
                        return Err(CliError::new(Exit::Denied, NobodyToAsk)
                            .with_hint("--yes installs without asking".to_owned()));
                    }
                    let agrees = ui.review(&Review {
                        rows: &report,
                        whole: None,
                        question: "Install it now and after each change?",
                    });
                    if agrees != Some(true) {
                        ui.status("Nothing was installed.");
                        return Ok(Exit::Done);
                    }
                    agreed = true;
                }
                // Nobody is asked about what the same author changes, but the author has to see what users will be asked about,
                // and what the plugin cannot do any more.
                let changed = installed
                    .as_ref()
                    .map(|old| changes::marked(old, &examined));
                for (mark, line) in changed.into_iter().flatten() {
                    ui.status(&format!("  {mark} {}", escape(&line)));
                }
                put(app, &examined)?;
                ui.status(&format!(
                    "{} reinstalled · {:.1} s · Ctrl-C ends",
                    escape(&examined.name),
                    began.elapsed().as_secs_f64()
                ));
            }
        }
        while Sources::of(folder) == seen {
            std::thread::sleep(LOOK_PERIOD);
        }
    }
}

/// There is nobody to ask.
#[derive(Debug, thiserror::Error)]
#[error("nothing was installed: can't ask for confirmation here")]
struct NobodyToAsk;

#[cfg(test)]
mod tests {
    use super::{Warnings, visible};

    #[test]
    fn warnings_are_told_from_the_rest() {
        let said = "   Compiling words v0.1.0\nwarning: unused variable: `a`\n --> src/lib.rs:3:9\n  |\n\n\
                    warning: `words` (lib) generated 1 warning\n    Finished in 0.1s\n\
                    src/tool.c:4:5: warning: unused variable 'a'\n    4 |     int a;\n\nComponent built\n";
        let mut warnings = Warnings::default();
        said.lines().for_each(|line| warnings.add(line));
        assert_eq!(
            warnings.lines,
            [
                "warning: unused variable: `a`",
                " --> src/lib.rs:3:9",
                "  |",
                "src/tool.c:4:5: warning: unused variable 'a'",
                "    4 |     int a;",
            ]
        );
    }

    #[test]
    fn a_difference_can_be_seen() {
        let check = |expected, found, shown: (&str, &str)| {
            let (expected, found) = visible(expected, found);
            assert_eq!((expected.as_str(), found.as_str()), shown);
        };
        check("a", "b", ("a", "b"));
        check("a\nb", "a\nc\n", ("a\nb", "a\nc\n"));
        check("a", "a\n", (r#""a""#, r#""a\n""#));
        check("a ", "a", (r#""a ""#, r#""a""#));
    }
}
