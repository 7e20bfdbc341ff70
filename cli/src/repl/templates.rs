//! `/NAME`: sends a prompt template, as `/prompt` sends a prompt that an MCP server prepared.

use dunlin_host::display::{escape, one_line, shorten};
use dunlin_host::nearest::nearest;

use super::servers;
use super::slash::Next;
use super::table::{self, commands};
use crate::app::App;
use crate::commands::trust;
use crate::error::CliError;
use crate::templates::folder::{ReadError, understand};
use crate::templates::text::TemplateText;
use crate::templates::{Owner, Places, Template};
use dunlin_terminal::request::paused::Saved;

/// How long the description of a saved template is, in characters.
const MAX_LABEL_CHARS: usize = 100;

/// What a template says of itself where it stands in a list.
pub struct Row {
    /// What is typed.
    pub typed: String,
    /// What it is for, escaped.
    pub about: String,
}

/// Whether Dunlin has a command of this name, which is without its slash.
pub fn is_command(name: &str) -> bool {
    let mut names = commands().map(|command| command.name);
    names.any(|command| command.strip_prefix('/') == Some(name))
}

/// Sends the template of this name: what follows its name are its arguments.
///
/// # Errors
/// Its file cannot be used, or it is a project's that is not trusted and nobody can be asked.
pub fn run(
    app: &App,
    word: &str,
    rest: &str,
    near: Option<&'static str>,
) -> Result<Next, CliError> {
    let places = Places::of(&app.settings);
    let Some(template) = named(&places, word) else {
        app.ui.status(&no_such(app, word, near));
        return Ok(Next::Prompt);
    };
    let typed = format!("{word} {rest}");
    let back = || {
        if app.ui.is_chat() && app.asks() {
            app.ui.keep_for_later(typed.trim_end());
        }
    };
    let read = places.read(&template).and_then(|file| {
        let text = understand(&template, &file)?;
        Ok((file, text))
    });
    let (file, text) = read.map_err(|error| {
        back();
        CliError::failed(error)
    })?;
    let Some(filled) = filled(app, &template, &text, rest) else {
        back();
        return Ok(Next::Prompt);
    };
    let is_sent = template.owner == Owner::User
        || trust::of_template(&app.ui, &app.settings, app.asks(), &template.path, &file)?;
    match is_sent {
        true => Ok(Next::AsItIs(filled.into())),
        false => {
            app.ui.status("Nothing is sent.");
            back();
            Ok(Next::Prompt)
        }
    }
}

/// The text that is sent. `None`: the arguments are wrong, which was said.
fn filled(app: &App, template: &Template, text: &TemplateText, rest: &str) -> Option<String> {
    let ui = &app.ui;
    let arguments = servers::arguments(rest.split_whitespace());
    let problem = match arguments {
        Some(arguments) => match text.fill(&arguments) {
            Ok(filled) => return Some(filled),
            Err(problem) => format!("{problem} "),
        },
        None => String::new(),
    };
    let name = &template.name;
    let usage = match text.usage() {
        usage if usage.is_empty() => format!("/{name} takes no arguments."),
        usage => format!("Usage: /{name} {usage}"),
    };
    ui.status(&escape(&format!("{problem}{usage}")));
    None
}

/// Says that there is no such command and no such template.
pub fn no_such(app: &App, word: &str, near: Option<&'static str>) -> String {
    let name = word.strip_prefix('/').unwrap_or(word);
    let templates = Places::of(&app.settings).list(is_command).templates;
    let commands = commands().filter_map(|it| it.name.strip_prefix('/'));
    let names = templates.iter().map(|it| it.name.as_str());
    match nearest(name, commands.chain(names)).filter(|near| !is_command(near)) {
        Some(near) => table::no_such_command(word, Some(&format!("/{near}"))),
        None => table::no_such_command(word, near),
    }
}

/// What is said where a template cannot be sent now: that it has to wait, or that there is none.
pub fn has_to_wait(app: &App, word: &str, near: Option<&'static str>, why: &str) -> String {
    match named(&Places::of(&app.settings), word) {
        Some(template) => format!("/{} has to wait: {why}", template.name),
        None => no_such(app, word, near),
    }
}

/// Saves a text of a paused request as a template of the user's. What came of it, escaped.
pub fn save(app: &App, saved: &Saved) -> String {
    let folders = &app.settings.folders;
    let places = Places::of(&app.settings);
    let description = format!("saved from a request: {}", saved.label);
    let description = shorten(&description, MAX_LABEL_CHARS);
    match places.save(&saved.name, is_command, &description, &saved.text) {
        Ok((path, escaped)) => {
            let path = folders.short(&path);
            let kept = match escaped {
                0 => String::new(),
                _ => " A {{name}} in it is kept as text: remove the backslash before it, and name it in arguments, to make it \
                      a placeholder."
                    .to_owned(),
            };
            let name = &saved.name;
            escape(&format!("Saved as {path}: /{name} sends it.{kept}")).into_owned()
        }
        Err(error) => escape(&format!("Not saved: {error}.")).into_owned(),
    }
}

/// The templates with what they take and are for. Warns of those that cannot be used.
pub fn rows(app: &App) -> Vec<Row> {
    let places = Places::of(&app.settings);
    let listing = places.list(is_command);
    let mut rows = Vec::with_capacity(listing.templates.len());
    for template in &listing.templates {
        match described(&places, template) {
            Ok(text) => {
                let mut about = match text.description.is_empty() {
                    true => "no description".to_owned(),
                    false => one_line(&text.description),
                };
                if template.owner == Owner::Project {
                    about.push_str(" (project)");
                }
                let typed = format!("/{} {}", template.name, text.usage());
                rows.push(Row {
                    typed: typed.trim_end().to_owned(),
                    about,
                });
            }
            Err(error) => app.ui.warn(&error.to_string()),
        }
    }
    for problem in &listing.problems {
        app.ui.warn(problem);
    }
    rows
}

/// The names of the arguments of a template, for completion.
pub fn arguments(places: &Places, word: &str) -> Vec<String> {
    let text = named(places, word).and_then(|template| described(places, &template).ok());
    let arguments = text.map_or_else(Vec::new, |text| text.arguments);
    arguments.into_iter().map(|it| it.name).collect()
}

fn named(places: &Places, word: &str) -> Option<Template> {
    places.find(word.strip_prefix('/')?, is_command)
}

fn described(places: &Places, template: &Template) -> Result<TemplateText, ReadError> {
    understand(template, &places.read(template)?)
}
