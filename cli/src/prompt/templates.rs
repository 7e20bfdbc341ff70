//! Prompt templates at the prompt: which there are, what they take, and saving one.

use dunlin_host::display::{chain, escape, one_line, shorten};

use super::slash_table::SlashTable;
use crate::app::App;
use crate::templates::text::{self, FillError, TemplateText};
use crate::templates::{Listing, Owner, Places, Template};
use dunlin_terminal::request::paused::Saved;
use dunlin_terminal::ui::style::Label;
use dunlin_terminal::ui::{Ui, wrap};

/// How long the description of a saved template is, in characters.
const MAX_LABEL_CHARS: usize = 100;

/// What a template says of itself where it stands in a list.
pub struct Row {
    pub typed: String,
    /// What it is for, escaped.
    pub about: String,
}

/// What can stand behind a slash: commands, and templates.
#[derive(Debug, Clone)]
pub struct SlashNames {
    pub commands: SlashTable,
    pub places: Places,
}

impl SlashNames {
    pub fn of(app: &App) -> SlashNames {
        SlashNames {
            commands: app.commands.table(),
            places: Places::of(&app.settings),
        }
    }

    /// The templates that no command hides.
    pub fn templates(&self) -> Listing {
        self.places.list(|name| self.commands.is_command(name))
    }

    /// The template of this name, which is with its slash, unless a command has it.
    pub fn template(&self, word: &str) -> Option<Template> {
        let name = word.strip_prefix('/')?;
        self.places
            .find(name, |name| self.commands.is_command(name))
    }
}

/// The message for a word that is neither a command nor a template.
pub fn no_such(app: &App, word: &str) -> String {
    let names = SlashNames::of(app);
    let templates = names.templates().templates;
    let templates = templates.iter().map(|it| it.name.as_str());
    names.commands.no_such_command(word, templates)
}

/// The message for a template that cannot be sent now: that it has to wait, or that it does not exist.
pub fn has_to_wait(app: &App, word: &str, why: &str) -> String {
    match SlashNames::of(app).template(word) {
        Some(template) => format!("/{} has to wait: {why}", template.name),
        None => no_such(app, word),
    }
}

/// Saves a text of a paused request as a template of the user's. What came of it, escaped.
pub fn save(app: &App, saved: &Saved) -> String {
    let folders = &app.settings.folders;
    let names = SlashNames::of(app);
    let is_command = |name: &str| names.commands.is_command(name);
    let description = format!("saved from a request: {}", saved.label);
    let description = shorten(&description, MAX_LABEL_CHARS);
    match names
        .places
        .save(&saved.name, is_command, &description, &saved.text)
    {
        Ok((path, is_escaped)) => {
            let path = folders.short(&path);
            let kept = match is_escaped {
                true => {
                    " {{name}} is escaped as \\{{name}}; to make it a placeholder, remove the backslash and add it to `arguments`."
                }
                false => "",
            };
            let name = &saved.name;
            escape(&format!("Saved as {path}: /{name} sends it.{kept}")).into_owned()
        }
        Err(error) => escape(&format!("Not saved: {}.", chain(&error))).into_owned(),
    }
}

/// The templates with what they take and are for. Warns of those that cannot be used.
pub fn rows(app: &App) -> Vec<Row> {
    let names = SlashNames::of(app);
    let listing = names.templates();
    let mut rows = Vec::with_capacity(listing.templates.len());
    for template in &listing.templates {
        match names.places.load(template) {
            Ok((_, text)) => {
                let about = match text.description.is_empty() {
                    true => "no description".to_owned(),
                    false => one_line(&text.description),
                };
                let about = match template.owner {
                    Owner::Project => format!("(project) {about}"),
                    Owner::User => about,
                };
                let typed = format!("/{} {}", template.name, text.usage());
                rows.push(Row {
                    typed: typed.trim_end().to_owned(),
                    about,
                });
            }
            Err(error) => app.ui.warn(&chain(&error)),
        }
    }
    for problem in &listing.problems {
        app.ui.warn(problem);
    }
    rows
}

/// Prints rows of templates. What one is for may be a project's words: a bar stands before all rows but the first.
pub fn print(ui: &Ui, rows: &[Row]) {
    let columns = ui.data_window().columns.saturating_sub(1);
    for Row { typed, about } in rows {
        let typed = ui.styles().paint(Label::Key, typed);
        ui.data_all(&wrap::barred(&format!("  {typed}  "), 4, about, columns));
    }
}

/// The names of the arguments of a template, for completion.
pub fn arguments(names: &SlashNames, word: &str) -> Vec<String> {
    let loaded = names
        .template(word)
        .and_then(|template| names.places.load(&template).ok());
    let arguments = loaded.map_or_else(Vec::new, |(_, text)| text.arguments);
    arguments.into_iter().map(|it| it.name).collect()
}

/// What is wrong with what was typed behind the name of a template, in sentences. Not escaped.
#[derive(Debug, thiserror::Error)]
pub enum ArgumentsError {
    #[error("{usage}")]
    NotNamed { usage: String },
    #[error("{problem} {usage}")]
    NotFilled { problem: FillError, usage: String },
}

/// The text that a template sends with what was typed behind its name.
///
/// # Errors
/// The arguments are wrong.
pub fn filled(
    template: &Template,
    text: &TemplateText,
    rest: &str,
) -> Result<String, ArgumentsError> {
    let name = &template.name;
    let usage = || match text.usage() {
        usage if usage.is_empty() => format!("/{name} takes no arguments."),
        usage => format!("Usage: /{name} {usage}"),
    };
    let arguments = text::arguments(rest.split_whitespace())
        .ok_or_else(|| ArgumentsError::NotNamed { usage: usage() })?;
    text.fill(&arguments)
        .map_err(|problem| ArgumentsError::NotFilled {
            problem,
            usage: usage(),
        })
}
