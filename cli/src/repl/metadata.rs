//! `/metadata`: what is known of the paused request, or of the last one, beside its text.

use dunlin_host::display::{escape, grouped, one_line};
use serde_json::Value;

use crate::app::App;
use crate::commands::requests::Log;
use crate::config::edit;
use crate::config::request_editor::MetadataField;
use crate::dialogue::Dialogue;
use crate::error::CliError;
use dunlin_chat::agent::Agent;
use dunlin_chat::provider::Provider;
use dunlin_chat::provider::error::Endpoint;
use dunlin_chat::session::requests::{Kind, LoggedRequest, RequestFile, Side};
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
    /// The agent.
    pub agent: &'a Agent,
    /// The way to its model.
    pub provider: &'a dyn Provider,
}

/// What is known of one request. Texts are as they were sent: escape before showing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Metadata {
    session: String,
    request: String,
    agent: String,
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
            mode: app.pausing.mode().as_str().to_owned(),
            edited: edited(paused.is_edited(), paused.edits()),
            budget: paused.total(),
        }
    }

    /// That of a request in the log. `window`: the context window of the model that answers now, in tokens.
    fn of_logged(
        app: &App,
        session: &str,
        file: &RequestFile,
        request: &LoggedRequest,
        window: Option<u64>,
    ) -> Metadata {
        let entry = &request.entry;
        let budget = match (entry.tokens, window) {
            (None, _) => "not counted".to_owned(),
            (Some(tokens), Some(window)) => {
                format!("{} of {} tokens", grouped(tokens), grouped(window))
            }
            (Some(tokens), None) => {
                format!("{} tokens (context window not known)", grouped(tokens))
            }
        };
        Metadata {
            session: session.to_owned(),
            request: id(session, entry.number),
            agent: entry.agent.clone(),
            model: sent_model(file, request).unwrap_or_else(|| entry.model.clone()),
            endpoint: entry.endpoint.clone(),
            mode: app.pausing.mode().as_str().to_owned(),
            edited: edited(entry.is_edited(), file.edits(request).len()),
            budget,
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

    /// A row for each field; the budget is always there.
    pub fn rows(&self, fields: &[MetadataField]) -> Vec<String> {
        let budget = MetadataField::Budget;
        let budget = (!fields.contains(&budget)).then_some(budget);
        let fields = fields.iter().copied().chain(budget);
        let row = |field: MetadataField| {
            let name = field.as_str();
            let value = one_line(self.get(field));
            format!("{:MARGIN$}{name:NAME_COLUMNS$}  {value}", "")
        };
        fields.map(row).collect()
    }
}

/// The model that an edited request names.
fn sent_model(file: &RequestFile, request: &LoggedRequest) -> Option<String> {
    let number = Some(request.entry.number).filter(|_| request.entry.is_edited())?;
    let body: Value = serde_json::from_slice(&file.body(number, Side::Sent).ok()?).ok()?;
    body.get("model")?.as_str().map(str::to_owned)
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

/// `/metadata [FIELD ...]` at the prompt: the last request of a turn.
///
/// # Errors
/// The log or the configuration cannot be read.
pub fn run(app: &App, dialogue: Option<&Dialogue>, rest: &str) -> Result<(), CliError> {
    let ui = &app.ui;
    if !rest.is_empty() {
        ui.status(&choose(app, rest)?);
        return Ok(());
    }
    let session = dialogue.and_then(Dialogue::session);
    if let Some((session, dialogue)) = session.filter(|it| it.exists()).zip(dialogue) {
        session.requests().flush();
        let log = Log::of(session.entry())?;
        let requests = log.file.requests().iter().rev();
        let mut turns = requests.filter(|request| request.entry.kind == Kind::Turn);
        if let Some(request) = turns.next() {
            let window = dialogue.report(app).window.map(|window| window.tokens);
            let metadata = Metadata::of_logged(app, &log.entry.id, &log.file, request, window);
            let rows = metadata.rows(&app.metadata_fields());
            rows.iter().for_each(|row| ui.data_rows(row, INDENT));
            return Ok(());
        }
    }
    ui.status("Nothing was sent in this session yet.");
    Ok(())
}

/// How far in the further rows of a long value stand.
const INDENT: usize = MARGIN + NAME_COLUMNS + 2;

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
        Err((_, problem)) => return Ok(format!("{}; or all, or none", escape(&problem))),
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
        assert_eq!(metadata.rows(&MetadataField::ALL).len(), 8);
        assert_eq!(
            (edited(false, 0), edited(true, 0)),
            ("no".to_owned(), "yes".to_owned())
        );
    }
}
