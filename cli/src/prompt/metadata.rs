//! The metadata of a request, and which fields of it `/metadata` shows.

use dunlin_host::display::{escape, grouped, one_line};

use crate::app::App;
use crate::config::edit;
use crate::config::request_editor::MetadataField;
use crate::error::CliError;
use crate::requests::{Log, net_edits};
use dunlin_chat::agent::Agent;
use dunlin_chat::provider::Provider;
use dunlin_chat::provider::error::Endpoint;
use dunlin_chat::session::requests::LoggedRequest;
use dunlin_chat::tokens::counted;
use dunlin_terminal::request::paused::Paused;

/// Columns of the names of the fields.
const NAME_COLUMNS: usize = 8;

/// Columns of the margin.
const MARGIN: usize = 2;

/// What stands for all fields, and for none of them, where fields are chosen.
pub const SETS: [&str; 2] = ["all", "none"];

/// Who answers the requests of a turn.
#[derive(Clone, Copy)]
pub struct Answering<'a> {
    pub agent: &'a Agent,
    /// The way to its model.
    pub provider: &'a dyn Provider,
}

/// The metadata of one request. Texts are as they were sent: escape before showing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Metadata {
    pub(super) session: String,
    request: String,
    pub(super) agent: String,
    model: String,
    endpoint: String,
    mode: String,
    edited: String,
    budget: String,
}

impl Metadata {
    /// That of a paused request.
    pub fn of_paused(app: &App, answering: Answering<'_>, paused: &Paused) -> Metadata {
        let (session, request) = match paused.number() {
            Some(number) => (app.session_id(), id(&app.session_id(), number)),
            None => ("not stored".to_owned(), "not stored".to_owned()),
        };
        let endpoint = answering.provider.endpoint();
        let endpoint = endpoint.unwrap_or_else(|| Endpoint::of(&answering.agent.base_url));
        Metadata {
            session,
            request,
            agent: answering.agent.name.clone(),
            model: paused
                .model()
                .unwrap_or_else(|| answering.agent.model.clone()),
            endpoint: endpoint.to_string(),
            mode: app.pausing.typed(),
            edited: edited(paused.is_edited(), paused.edits()),
            budget: paused.total(),
        }
    }

    /// The value of a field.
    pub fn get(&self, field: MetadataField) -> &str {
        match field {
            MetadataField::Session => &self.session,
            MetadataField::Request => &self.request,
            MetadataField::Agent => &self.agent,
            MetadataField::Model => &self.model,
            MetadataField::Endpoint => &self.endpoint,
            MetadataField::Mode => &self.mode,
            MetadataField::Edited => &self.edited,
            MetadataField::Budget => &self.budget,
        }
    }

    /// That of a request in the log. `window`: the context window of its model, in tokens.
    pub fn of_logged(
        app: &App,
        log: &Log,
        request: &LoggedRequest,
        window: Option<u64>,
    ) -> Metadata {
        let entry = &request.entry;
        let budget = match (entry.tokens, window) {
            (None, _) => "not counted".to_owned(),
            (Some(tokens), Some(window)) => {
                format!("{} of {} tokens", grouped(tokens), grouped(window))
            }
            (Some(tokens), None) => format!("{} tokens", grouped(tokens)),
        };
        Metadata {
            session: log.entry.id.clone(),
            request: id(&log.entry.id, entry.number),
            agent: entry.agent.clone(),
            model: log.file.model(request).into_owned(),
            endpoint: entry.endpoint.clone(),
            mode: app.pausing.typed(),
            edited: edited(entry.is_edited(), net_edits(request, &log.file)),
            budget,
        }
    }

    /// The same after edits of the request.
    pub fn after_edits(&self, paused: &Paused) -> Metadata {
        Metadata {
            model: paused.model().unwrap_or_else(|| self.model.clone()),
            edited: edited(paused.is_edited(), paused.edits()),
            budget: paused.total(),
            ..self.clone()
        }
    }

    /// The fields with their values; the budget is always there.
    pub fn fields(&self, fields: &[MetadataField]) -> Vec<(&'static str, &str)> {
        let budget = MetadataField::Budget;
        let budget = (!fields.contains(&budget)).then_some(budget);
        let fields = fields.iter().copied().chain(budget);
        fields
            .map(|field| (field.as_str(), self.get(field)))
            .collect()
    }

    /// A row for each field.
    pub fn rows(&self, fields: &[MetadataField]) -> Vec<String> {
        let fields = self.fields(fields).into_iter();
        let row = |(name, value): (&str, &str)| {
            let value = one_line(value);
            format!("{:MARGIN$}{name:NAME_COLUMNS$}  {value}", "")
        };
        fields.map(row).collect()
    }
}

/// The request as `dunlin requests` takes it.
fn id(session: &str, number: u64) -> String {
    format!("{session}/{number}")
}

fn edited(is_edited: bool, edits: usize) -> String {
    match (is_edited, edits) {
        (false, _) => "no".to_owned(),
        (true, 0) => "yes".to_owned(),
        (true, edits) => format!("yes, {}", counted(edits, "edit", "edits")),
    }
}

/// What stands before the field that is to be copied.
pub const COPY: &str = "copy ";

/// Copies a field to the clipboard; what to say.
pub fn copy(app: &App, metadata: &Metadata, name: &str) -> String {
    let field = match MetadataField::named(name.trim()) {
        Ok(field) => field,
        Err(error) => return escape(&error.to_string()).into_owned(),
    };
    let value = metadata.get(field);
    let what = format!("{} {}", field.as_str(), one_line(value));
    app.ui.copy(value, &what, "/metadata shows the fields")
}

/// How far in the further rows of a long value stand.
pub const INDENT: usize = MARGIN + NAME_COLUMNS + 2;

/// Chooses what is shown, here and in the configuration; what to say.
///
/// # Errors
/// The configuration cannot be changed; nothing is then.
pub fn choose(app: &App, typed: &str) -> Result<String, CliError> {
    let words = typed
        .split([' ', ',', '\t'])
        .filter(|word| !word.is_empty());
    let words: Vec<&str> = words.collect();
    let fields = match words.as_slice() {
        ["all"] => Ok(MetadataField::ALL.to_vec()),
        ["none"] => Ok(Vec::new()),
        words => MetadataField::list(words.iter().copied()),
    };
    let fields = match fields {
        Ok(fields) => fields,
        Err(error) => return Ok(format!("{}; or all, or none", escape(&error.to_string()))),
    };
    let path = app.settings.folders.config_file();
    edit::set_metadata(&path, &fields).map_err(CliError::failed)?;
    let names: Vec<&str> = fields.iter().map(|field| field.as_str()).collect();
    app.set_metadata_fields(fields);
    let path = app.settings.folders.short(&path);
    let names = match names.is_empty() {
        true => "nothing but the budget".to_owned(),
        false => names.join(", "),
    };
    Ok(format!(
        "/metadata shows {names}; saved in {}.",
        escape(&path)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_shown_in_their_order_and_the_budget_always() {
        let metadata = Metadata {
            session: "k7mq2x9d".to_owned(),
            request: id("k7mq2x9d", 3),
            agent: "bird\u{1b}[2J".to_owned(),
            model: "small".to_owned(),
            endpoint: "http://127.0.0.1:8080/v1".to_owned(),
            mode: "turn".to_owned(),
            edited: edited(true, 2),
            budget: "1,802 of 32,768 tokens".to_owned(),
        };
        let check = |fields: &[MetadataField], expected: &[&str]| {
            assert_eq!(metadata.rows(fields), expected, "{fields:?}");
        };
        check(&[], &["  budget    1,802 of 32,768 tokens"]);
        check(
            &[MetadataField::Agent, MetadataField::Request],
            &[
                "  agent     bird\\u{1b}[2J",
                "  request   k7mq2x9d/3",
                "  budget    1,802 of 32,768 tokens",
            ],
        );
        check(
            &[MetadataField::Budget, MetadataField::Edited],
            &[
                "  budget    1,802 of 32,768 tokens",
                "  edited    yes, 2 edits",
            ],
        );
        let all = metadata.rows(&MetadataField::ALL);
        let names: Vec<&str> = all
            .iter()
            .filter_map(|row| row.split_whitespace().next())
            .collect();
        assert_eq!(
            names,
            [
                "session", "request", "agent", "model", "endpoint", "mode", "edited", "budget"
            ]
        );
        assert_eq!(
            (edited(false, 0), edited(true, 0)),
            ("no".to_owned(), "yes".to_owned())
        );
    }
}
