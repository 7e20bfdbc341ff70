//! Trusting what a project brings: its configuration, its agent files and its instruction files, asked about at the start
//! of a chat, and its prompt templates, asked about when one is sent. `dunlin config trust` and `untrust` give and take back
//! trust in all.
//!
//! What is trusted is the text that was read. The question shows what it would set, each value whole and with its line, and
//! what the files of the project hold that its hooks name. A yes counts only if all of that was on the screen, or if it was
//! read to its end with `v`. Where nobody can be asked nothing is trusted, and the settings say what they left out.

mod named;

use std::path::{Path, PathBuf};

use dunlin_host::display::{chain, escape, shorten};

use crate::args::Global;
use crate::config::env::Environment;
use crate::config::instruction_files::{InstructionFile, NAMES};
use crate::config::markdown::Owner as FileOwner;
use crate::config::trust::{self, Trust};
use crate::error::{CliError, Exit};
use crate::settings::Settings;
use crate::settings::project::{HOOK, ProjectFile, ValueNeedingTrust};
use crate::templates::{Owner, Places};
use dunlin_chat::tokens::counted;
use dunlin_terminal::approval::look::Window;
use dunlin_terminal::ui::Ui;
use dunlin_terminal::ui::review::{Review, quoted};
use dunlin_terminal::ui::style::Label;

/// Characters of a value in lists that nothing is decided by.
const MAX_SHOWN_CHARS: usize = 120;

/// Why an instruction file is asked about that the user has seen as an edit. An edit is read as a change to one file, and often
/// only a part of the file is in it; a model that writes what later conversations follow must need more than that yes.
const WHY_AGAIN: &str = "Dunlin asks about every version, even one you approved as an edit, because every conversation here would follow it.";

/// Margin of foreign text, in columns.
const INDENT: usize = 2;

/// There is nobody to ask.
#[derive(Debug, thiserror::Error)]
#[error("nothing was trusted: can't ask for confirmation here")]
struct NobodyToAsk;

/// A project's template that nobody has looked at.
#[derive(Debug, thiserror::Error)]
#[error("the template {} comes with this project and is not trusted", path.display())]
struct NotTrusted {
    path: PathBuf,
}

/// There is nothing that could be trusted.
#[derive(Debug, thiserror::Error)]
#[error("this project has no configuration: {} does not exist", path.display())]
struct NoProjectFile {
    path: PathBuf,
}

/// Loads the settings, and asks once whether the project's configuration and its agent files are to be trusted, if they
/// want that and somebody can be asked.
pub fn offer(ui: &Ui, global: &Global, environment: Environment) -> Result<Settings, CliError> {
    let mut settings = offer_file(ui, global, environment)?;
    if ui.can_ask() {
        let ignored = offer_agents(ui, &settings)?;
        settings.notices.extend(ignored);
        // Without an agent there is no conversation yet.
        let agent = settings.agent_entry().map(|(name, _)| name);
        if agent.is_ok_and(|agent| settings.takes_instructions(agent)) {
            offer_instructions(ui, &settings)?;
        }
    }
    Ok(settings)
}

/// Asks about each instruction file of the project that nobody has answered for.
///
/// # Errors
/// The answers cannot be read or kept.
pub fn offer_instructions(ui: &Ui, settings: &Settings) -> Result<(), CliError> {
    // What cannot be read is said when a conversation begins.
    for file in &settings.instruction_places().read().files {
        if file.owner == FileOwner::User {
            continue;
        }
        let file = ForeignText::of_instructions(settings, file)?;
        if !matches!(file.trust, Trust::Unknown | Trust::Changed) {
            continue;
        }
        let Some(trusted) = file.ask(ui, settings) else {
            break;
        };
        file.keep(settings, trusted)?;
    }
    Ok(())
}

/// Asks about each agent file of the project that nobody has answered for. Says which do not count after that.
fn offer_agents(ui: &Ui, settings: &Settings) -> Result<Option<String>, CliError> {
    let folders = settings.agent_folders();
    // What cannot be read is said when subagents are looked for.
    let (files, _) = folders.foreign();
    for file in &files {
        let file = ForeignText::new(settings, Use::Agent, &file.path, &file.text)?;
        if !matches!(file.trust, Trust::Unknown | Trust::Changed) {
            continue;
        }
        let Some(trusted) = file.ask(ui, settings) else {
            break;
        };
        file.keep(settings, trusted)?;
    }
    Ok(folders.ignored(&files))
}

fn offer_file(ui: &Ui, global: &Global, environment: Environment) -> Result<Settings, CliError> {
    let settings = Settings::load_here(global, environment.clone())?;
    let Some(file) = settings.project_file.as_ref() else {
        return Ok(settings);
    };
    let is_new = matches!(file.trust, Trust::Unknown | Trust::Changed);
    if !(is_new && file.wants_trust() && ui.can_ask()) {
        return Ok(settings);
    }
    let Some(trusted) = ask(ui, &settings, file) else {
        return Ok(settings);
    };
    keep(&settings, file, Some(trusted))?;
    // Read anew: had the file changed meanwhile, it is not the one that was trusted.
    Ok(Settings::load_here(global, environment)?)
}

/// `dunlin config trust`: shows what the file would set, what the project's agent files and instruction files say and what
/// its templates would send, and asks.
pub fn give(ui: &Ui, settings: &Settings, yes: bool) -> Result<Exit, CliError> {
    let mut texts = project_agents(ui, settings)?;
    texts.extend(project_instructions(ui, settings)?);
    texts.extend(project_templates(ui, settings)?);
    match &settings.project_file {
        Some(file) => give_file(ui, settings, file, yes)?,
        None if texts.is_empty() => return Err(no_project_file(settings)),
        None => {}
    }
    for text in texts {
        give_text(ui, settings, &text, yes)?;
    }
    Ok(Exit::Done)
}

fn give_file(ui: &Ui, settings: &Settings, file: &ProjectFile, yes: bool) -> Result<(), CliError> {
    let short = settings.folders.short(&file.path);
    let short = escape(&short);
    if file.needs_trust.is_empty() {
        ui.data(&format!(
            "{short} only narrows your settings; it needs no trust."
        ));
        show_refused(ui, file);
        return Ok(());
    }
    if file.trust == Trust::Trusted {
        ui.data(&format!("{short} is already trusted."));
        return Ok(());
    }
    let trusted = match yes {
        true => {
            ui.data(&format!("{short} sets:"));
            show_needing_trust(ui, file);
            show_refused(ui, file);
            ui.data_all(&named::Texts::of(file).rows(ui.window()));
            Some(true)
        }
        false if !ui.can_ask() => return Err(nobody_to_ask()),
        false => ask(ui, settings, file),
    };
    if let Some(trusted) = trusted {
        keep(settings, file, Some(trusted))?;
    }
    match (trusted, named::list(file)) {
        (Some(true), Some(named)) => ui.data(&format!(
            "{short} is trusted until it changes, and so is what its hooks name: {}.",
            escape(&named)
        )),
        _ => say_trust(ui, &short, trusted),
    }
    Ok(())
}

fn say_trust(ui: &Ui, short: &str, trusted: Option<bool>) {
    ui.data(&match trusted {
        Some(true) => format!("{short} is trusted until it changes."),
        Some(false) => format!("{short} is not trusted."),
        None => "Nothing was changed.".to_owned(),
    });
}

/// What a text of a project is for.
#[derive(Debug, Clone, Copy)]
enum Use {
    /// It is sent.
    Template,
    /// It makes a subagent.
    Agent,
    /// Conversations begin with it.
    Instructions,
}

/// A text of a project, as it was read.
struct ForeignText {
    of: Use,
    path: PathBuf,
    text: String,
    /// The SHA-256 of the text, in hex.
    digest: String,
    trust: Trust,
}

impl ForeignText {
    fn new(settings: &Settings, of: Use, path: &Path, text: &str) -> Result<ForeignText, CliError> {
        let answers = settings.folders.trust_file();
        let digest = dunlin_host::sha256_hex(text.as_bytes());
        Ok(ForeignText {
            of,
            path: path.to_path_buf(),
            text: text.to_owned(),
            trust: trust::look_up(&answers, path, &digest).map_err(CliError::failed)?,
            digest,
        })
    }

    fn of_instructions(
        settings: &Settings,
        file: &InstructionFile,
    ) -> Result<ForeignText, CliError> {
        ForeignText::new(settings, Use::Instructions, &file.path, &file.text)
    }

    fn keep(&self, settings: &Settings, trusted: bool) -> Result<(), CliError> {
        let answers = settings.folders.trust_file();
        let kept = trust::keep(&answers, &self.path, Some((&self.digest, trusted)));
        kept.map_err(CliError::failed).map(drop)
    }

    fn ask(&self, ui: &Ui, settings: &Settings) -> Option<bool> {
        let short = settings.folders.short(&self.path);
        let what = match (self.of, self.trust) {
            (Use::Template, Trust::Changed) => {
                "changed since you trusted it; this would be sent now:"
            }
            (Use::Template, _) => "comes with this project; this would be sent:",
            (Use::Agent, Trust::Changed) => {
                "changed since you trusted it; a subagent would now be:"
            }
            (Use::Agent, _) => "comes with this project; a subagent would be:",
            (Use::Instructions, Trust::Changed) => {
                "changed since you trusted it; conversations here would now begin with:"
            }
            (Use::Instructions, _) => {
                "comes with this project; conversations here would begin with:"
            }
        };
        let heading = format!("{} {what}", escape(&short));
        let heading = match self.of {
            Use::Instructions => format!("{heading}\n{WHY_AGAIN}"),
            Use::Template | Use::Agent => heading,
        };
        let rows = |window| text_rows(&self.text, window);
        ask_about(ui, &heading, &rows, &rows)
    }
}

/// The agent files of a project that can be read; warns of the others.
fn project_agents(ui: &Ui, settings: &Settings) -> Result<Vec<ForeignText>, CliError> {
    let (files, problems) = settings.agent_folders().foreign();
    for problem in problems {
        ui.warn(&problem);
    }
    let files = files.iter();
    files
        .map(|file| ForeignText::new(settings, Use::Agent, &file.path, &file.text))
        .collect()
}

/// The instruction files of a project that can be read; warns of the others.
fn project_instructions(ui: &Ui, settings: &Settings) -> Result<Vec<ForeignText>, CliError> {
    let found = settings.instruction_places().read();
    for notice in &found.notices {
        ui.warn(notice);
    }
    let files = found.files.iter();
    files
        .filter(|file| file.owner == FileOwner::Project)
        .map(|file| ForeignText::of_instructions(settings, file))
        .collect()
}

/// The templates of a project that can be read; warns of the others.
fn project_templates(ui: &Ui, settings: &Settings) -> Result<Vec<ForeignText>, CliError> {
    let places = Places::of(settings);
    // One that has the name of a command is never sent; trusting it does no harm.
    let listing = places.list(|_| false);
    let templates = listing.templates.into_iter();
    let mut found = Vec::new();
    for template in templates.filter(|template| template.owner == Owner::Project) {
        match places.read(&template) {
            Ok(text) => found.push(ForeignText::new(
                settings,
                Use::Template,
                &template.path,
                &text,
            )?),
            Err(error) => ui.warn(&chain(&error)),
        }
    }
    Ok(found)
}

fn give_text(ui: &Ui, settings: &Settings, text: &ForeignText, yes: bool) -> Result<(), CliError> {
    let short = settings.folders.short(&text.path);
    let short = escape(&short);
    let trusted = match (text.trust, yes) {
        (Trust::Trusted, _) => {
            ui.data(&format!("{short} is already trusted."));
            return Ok(());
        }
        (_, true) => {
            ui.data(&match text.of {
                Use::Template => format!("{short} sends:"),
                Use::Agent => format!("{short} makes a subagent:"),
                Use::Instructions => format!("{short} begins each conversation here:"),
            });
            ui.data_all(&text_rows(&text.text, ui.window()));
            Some(true)
        }
        (_, false) if !ui.can_ask() => return Err(nobody_to_ask()),
        (_, false) => text.ask(ui, settings),
    };
    // Only a yes is kept: who asks for the question gets it again.
    if trusted == Some(true) {
        text.keep(settings, true)?;
    }
    say_trust(ui, &short, trusted);
    Ok(())
}

/// Whether a project's template may be sent with this text: it is trusted, or the user trusts it now, having seen it.
///
/// # Errors
/// Nobody can be asked, or the answers cannot be read or kept.
pub fn of_template(
    ui: &Ui,
    settings: &Settings,
    asks: bool,
    path: &Path,
    text: &str,
) -> Result<bool, CliError> {
    let template = ForeignText::new(settings, Use::Template, path, text)?;
    if template.trust == Trust::Trusted {
        return Ok(true);
    }
    if !asks {
        let path = path.to_path_buf();
        let hint = "`dunlin config trust` shows and trusts it".to_owned();
        return Err(CliError::new(Exit::Denied, NotTrusted { path }).with_hint(hint));
    }
    let trusted = template.ask(ui, settings);
    // Only a yes is kept: a no is asked about again.
    if trusted == Some(true) {
        template.keep(settings, true)?;
    }
    Ok(trusted == Some(true))
}

/// `dunlin config untrust`
pub fn take_back(ui: &Ui, settings: &Settings) -> Result<(), CliError> {
    let below = |folder: Option<PathBuf>| {
        move |path: &Path| {
            folder
                .as_ref()
                .is_some_and(|folder| path.starts_with(folder))
        }
    };
    let templates = below(Places::of(settings).project());
    let templates = forget(ui, settings, templates, "template is", "templates are")?;
    let agents = below(settings.agent_folders().project());
    let agents = forget(ui, settings, agents, "agent file is", "agent files are")?;
    let is_instruction = |path: &Path| {
        let name = path.file_name().and_then(|name| name.to_str());
        path.starts_with(&settings.project) && name.is_some_and(|name| NAMES.contains(&name))
    };
    let instructions = forget(
        ui,
        settings,
        is_instruction,
        "instruction file is",
        "instruction files are",
    )?;
    let Some(file) = &settings.project_file else {
        return match templates + agents + instructions {
            0 => Err(no_project_file(settings)),
            _ => Ok(()),
        };
    };
    let short = settings.folders.short(&file.path);
    if keep(settings, file, None)? {
        ui.data(&format!(
            "{short} is no longer trusted; it can only narrow your settings"
        ));
    } else {
        ui.data(&format!("{short} was not trusted"));
    }
    Ok(())
}

/// Forgets the answers about some files; how many there were.
fn forget(
    ui: &Ui,
    settings: &Settings,
    is_one: impl Fn(&Path) -> bool,
    one: &str,
    more: &str,
) -> Result<usize, CliError> {
    let forgotten = trust::forget(&settings.folders.trust_file(), is_one);
    let forgotten = forgotten.map_err(CliError::failed)?;
    if forgotten > 0 {
        ui.data(&format!(
            "{} no longer trusted",
            counted(forgotten, one, more)
        ));
    }
    Ok(forgotten)
}

/// What needs trust, a line each.
pub fn show_needing_trust(ui: &Ui, file: &ProjectFile) {
    for setting in &file.needs_trust {
        let value = match setting.name.as_str() {
            // It runs: all of it is shown.
            HOOK => setting.value.as_str().into(),
            _ => shorten(&setting.value, MAX_SHOWN_CHARS),
        };
        let line = ui
            .styles()
            .paint(Label::Quiet, &format!("line {}", setting.line));
        ui.data(&format!(
            "  {} = {}  {line}",
            escape(&setting.name),
            escape(&value)
        ));
    }
    for line in named::about_hooks(file) {
        ui.data(&format!("  {}", escape(&line)));
    }
}

/// What no trust makes count, a line each.
pub fn show_refused(ui: &Ui, file: &ProjectFile) {
    for refused in &file.refused {
        ui.data(&format!(
            "  {} is never used: {}",
            escape(&refused.name),
            escape(&refused.why)
        ));
    }
}

/// Asks whether a project's configuration is trusted.
fn ask(ui: &Ui, settings: &Settings, file: &ProjectFile) -> Option<bool> {
    let short = settings.folders.short(&file.path);
    let short = escape(&short);
    let named = file.only_named_changed();
    let heading = match (&named, file.trust) {
        (Some(what), _) => format!(
            "{} since you trusted it with {short}; a hook names it:",
            escape(what)
        ),
        (None, Trust::Changed) => {
            format!("{short} changed since you trusted it; it now wants to set:")
        }
        _ => format!("{short} wants to set more than a project may by itself:"),
    };
    let texts = named::Texts::of(file);
    let is_wanted = |value: &&ValueNeedingTrust| named.is_none() || value.name == HOOK;
    let rows = |window| {
        let mut rows = question_rows(file, is_wanted, window);
        rows.extend(texts.rows(window));
        rows
    };
    let whole = |window| {
        let mut rows = match named {
            Some(_) => Vec::new(),
            None => text_rows(&file.text, window),
        };
        rows.extend(texts.rows(window));
        rows
    };
    ask_about(ui, &heading, &rows, &whole)
}

/// Shows rows about a file, and asks until there is an answer that counts. `None`: there is none.
fn ask_about(
    ui: &Ui,
    heading: &str,
    rows: &dyn Fn(Window) -> Vec<String>,
    whole: &dyn Fn(Window) -> Vec<String>,
) -> Option<bool> {
    for row in heading.lines() {
        ui.data_rows(row, 0);
    }
    ui.review(&Review {
        rows,
        whole: Some(whole),
        question: "Trust this version of the file?",
    })
}

/// What of it the file would set and what never counts, each value whole.
fn question_rows(
    file: &ProjectFile,
    is_wanted: impl Fn(&&ValueNeedingTrust) -> bool,
    window: Window,
) -> Vec<String> {
    let needing = file
        .needs_trust
        .iter()
        .filter(is_wanted)
        .map(|value| format!("{}: {} = {}", value.line, value.name, value.value));
    let refused = file
        .refused
        .iter()
        .map(|refused| format!("never used: {}: {}", refused.name, refused.why));
    needing
        .chain(named::about_hooks(file))
        .chain(refused)
        .flat_map(|line| quoted(&line, INDENT, window))
        .collect()
}

/// A file, with the numbers of its lines.
fn text_rows(text: &str, window: Window) -> Vec<String> {
    let lines = (1..).zip(text.lines());
    lines
        .flat_map(|(number, line)| quoted(&format!("{number}: {line}"), INDENT, window))
        .collect()
}

fn keep(settings: &Settings, file: &ProjectFile, trusted: Option<bool>) -> Result<bool, CliError> {
    let answer = trusted.map(|trusted| (file.digest.as_str(), trusted));
    let answers = settings.folders.trust_file();
    trust::keep_with(&answers, &file.path, answer, &file.files()).map_err(CliError::failed)
}

fn no_project_file(settings: &Settings) -> CliError {
    let path = settings.project.join(".dunlin/config.toml");
    CliError::failed(NoProjectFile { path })
}

fn nobody_to_ask() -> CliError {
    let hint = "--yes trusts it without asking".to_owned();
    CliError::new(Exit::Denied, NobodyToAsk).with_hint(hint)
}
