//! `dunlin ask`: one turn, then the end. For scripts and pipes.

mod document;
mod events;
mod schema;

use std::io::{self, Read};
use std::num::NonZeroU32;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use document::AskOutcome;
use dunlin_host::display::escape;
use dunlin_host::json;
use events::Events;
use schema::{OutputSchema, ReplyError};

use crate::app::App;
use crate::apps;
use crate::args::{AskArgs, Global, OutputFormat};
use crate::config::value::Count;
use crate::dialogue::attach::{self, Attached};
use crate::dialogue::resume::resume_named;
use crate::dialogue::way_out::say_unasked;
use crate::dialogue::{Dialogue, choice, conclude_one};
use crate::error::{CliError, Exit};
use crate::mentions;
use crate::modes;
use crate::pausing;
use crate::prompt::line::Recall;
use crate::settings::{Origin, current_folder};
use crate::subagents::Subagent;
use dunlin_chat::message::UserMessage;
use dunlin_chat::session::StoreError;
use dunlin_chat::turn::{CallState, TurnEnd, TurnReport};

/// The longest piped text in bytes: more than any model reads, less than fills the memory.
const MAX_INPUT_BYTES: u64 = 16 * 1024 * 1024;

/// How often the model may correct a reply that does not fit the schema.
const MAX_CORRECTIONS: usize = 2;

/// What is wrong with the question.
#[derive(Debug, thiserror::Error)]
enum PromptError {
    #[error("there is no question")]
    Empty,
    #[error("cannot read standard input")]
    Read(#[source] io::Error),
    #[error("standard input has more than {} MiB", MAX_INPUT_BYTES / 1024 / 1024)]
    TooLong,
    /// A name with characters that end a mention.
    #[error("the file {0:?} cannot be attached because of its name")]
    Name(PathBuf),
    #[error("{0}")]
    Attach(String),
    /// What the schema asks for is not there, after the model could correct it.
    #[error("the reply does not fit the schema: {0}")]
    Misfit(ReplyError),
}

/// Asks, prints, ends.
pub fn run(app: &mut App, args: AskArgs, global: &Global) -> Result<Exit, CliError> {
    let format = args.format();
    let schema = args
        .output_schema
        .as_deref()
        .map(OutputSchema::read)
        .transpose()?;
    let question = question(&args.prompt, app.ui.streams().input).map_err(|error| {
        let hint = matches!(error, PromptError::Empty)
            .then(|| "dunlin ask QUESTION, or pipe the question in".to_owned());
        CliError::usage(error).with_hint(hint)
    })?;
    if let Some(exit) = super::setup::see_to_agent(app, global, super::setup::Try::No)? {
        return Ok(exit);
    }
    if format != OutputFormat::Text {
        // The lines are all there is on standard output; a question would be in their midst.
        app.never_ask();
    }
    pausing::intercept(app, args.intercept)?;
    let configured = app.settings.general.mode.value;
    app.begin_in(modes::beginning(args.mode, configured, false));
    super::permissions::allow_for_run(app, &args)?;
    if let Some(rounds) = args.max_rounds {
        let limit = &mut app.settings.limits.max_tool_rounds;
        limit.value = Count::from(rounds);
        limit.origin = Origin::Flag("--max-rounds");
    }
    let (mut dialogue, begun) = begin(app, &args)?;
    if format != OutputFormat::Text || schema.is_some() {
        dialogue = dialogue.silent();
    }
    if format == OutputFormat::StreamJson {
        dialogue = dialogue.with_frontend(Events::beside);
    }
    if !choice::may_use_its_own(app, &mut dialogue)? {
        return Ok(Exit::Failed);
    }
    let mut message = with_files(app, &mut dialogue, question, &args.file)?;
    if let Some(schema) = &schema {
        message.text.push_str(&schema.request());
    }
    let is_begun = begun.is_some();
    if let (Some(title), Some(session)) = (begun, dialogue.session()) {
        session.begin_titled(title)?;
        app.ui.status(&format!("new session \"{}\"", escape(title)));
    }
    let report = dialogue.turn(app, message, Recall::default());
    // One that holds nothing would be found the next time.
    if let Some(session) = dialogue.session()
        && is_begun
        && dialogue.messages().is_empty()
    {
        session.unsent(None);
    }
    let mut report = report?;
    let mut subagents = app.subagents.of_turn();
    let output = match &schema {
        Some(schema) => Some(corrected(
            app,
            &mut dialogue,
            schema,
            (&mut report, &mut subagents),
        )?),
        None => None,
    };
    let (output, misfit) = match output {
        Some(Ok(value)) => (Some(value), None),
        Some(Err(misfit)) => (None, Some(PromptError::Misfit(misfit))),
        None => (None, None),
    };
    match (format, &output) {
        (OutputFormat::Text, Some(value)) => {
            let text = json::to_string(value).map_err(CliError::failed)?;
            app.ui.data(&text);
        }
        (OutputFormat::Text, None) => {}
        (OutputFormat::Json | OutputFormat::StreamJson, _) => {
            let session = dialogue.session().map(|session| session.id());
            let outcome = AskOutcome {
                is_streamed: format == OutputFormat::StreamJson,
                report: &report,
                subagents: &subagents,
                session,
                output: output.as_ref(),
                misfit: misfit.as_ref().map(PromptError::to_string),
            };
            document::print(app, outcome)?;
        }
    }
    apps::say_not_made(
        &app.ui,
        &app.settings,
        &dialogue.agent().name,
        &report.reply,
    );
    let failed = report
        .calls
        .iter()
        .any(|call| call.state == CallState::Failed);
    let report = conclude_one(app, report)?;
    if !app.asks() {
        let are_shown = app.ui.shows_denials() && format == OutputFormat::Text && schema.is_none();
        say_unasked(app, &report.denials, are_shown);
    }
    if let (Some(misfit), TurnEnd::Answered | TurnEnd::CutOff) = (misfit, &report.end) {
        if format == OutputFormat::Text {
            app.ui
                .status(&format!("the reply was: {}", escape(&report.reply)));
        }
        return Err(CliError::failed(misfit));
    }
    Ok(match report.end {
        TurnEnd::Interrupted | TurnEnd::Withdrawn { .. } => Exit::Interrupted,
        _ if !report.denials.is_empty() => Exit::Denied,
        TurnEnd::RoundLimit => Exit::Failed,
        // Every call fails then, which the model may answer with an apology.
        _ if failed && app.permissions()?.list().is_err() => Exit::Failed,
        _ => Exit::Done,
    })
}

/// The dialogue that the options choose, and the title of the session that it begins.
fn begin<'a>(app: &App, args: &'a AskArgs) -> Result<(Dialogue, Option<&'a str>), CliError> {
    let Some(named) = &args.session else {
        let dialogue = match args.continues {
            true => resume_named(app, None)?,
            false => Dialogue::begin(app)?,
        };
        return Ok((dialogue, None));
    };
    match app.store().find(Some(named)) {
        Err(StoreError::Unknown { .. }) => {
            let dialogue = Dialogue::begin(app)?.saved(app);
            Ok((dialogue, Some(named.as_str())))
        }
        _ => Ok((resume_named(app, Some(named))?, None)),
    }
}

/// Lets the model correct a reply that does not fit. What all of it has cost is in the report in the end. `Err`: what does not
/// fit.
fn corrected(
    app: &mut App,
    dialogue: &mut Dialogue,
    schema: &OutputSchema,
    (report, subagents): (&mut TurnReport, &mut Vec<Arc<Subagent>>),
) -> Result<Result<serde_json::Value, ReplyError>, CliError> {
    let mut value = schema.value(&report.reply);
    for _ in 0..MAX_CORRECTIONS {
        let (Err(misfit), TurnEnd::Answered) = (&value, &report.end) else {
            break;
        };
        // The limit is one of the whole command.
        let limit = app.settings.limits.max_tool_rounds.value.clamped();
        let left = NonZeroU32::new(limit.saturating_sub(report.rounds));
        let Some(left) = left else {
            break;
        };
        app.settings.limits.max_tool_rounds.value = Count::from(left);
        let before = report.rounds;
        app.ui.status(&format!(
            "(the reply does not fit the schema: {}; the model may correct it)",
            escape(&misfit.to_string())
        ));
        let again = dialogue.turn(
            app,
            OutputSchema::correction(misfit).into(),
            Recall::default(),
        )?;
        app.settings.limits.max_tool_rounds.value =
            Count::from(NonZeroU32::new(limit).unwrap_or(NonZeroU32::MIN));
        subagents.extend(app.subagents.of_turn());
        report.calls.extend(again.calls);
        report.denials.extend(again.denials);
        report.charge = report.charge.plus(again.charge);
        report.rounds = before.saturating_add(again.rounds);
        report.reply = again.reply;
        report.end = again.end;
        value = schema.value(&report.reply);
    }
    Ok(value)
}

/// The question with the files that it mentions and those that were named. What was piped in mentions none: it is data, and an
/// `@` in it means nothing.
fn with_files(
    app: &App,
    dialogue: &mut Dialogue,
    (mut text, piped): (String, Option<Range<usize>>),
    files: &[PathBuf],
) -> Result<UserMessage, CliError> {
    let project = &app.settings.project;
    let folder = current_folder()?;
    for file in files {
        let whole = folder.join(file);
        let shown = whole.strip_prefix(project).unwrap_or(&whole);
        // In a text it could be a word with an @.
        if !whole.exists() {
            let missing = attach::missing(&shown.to_string_lossy(), app);
            return Err(CliError::usage(PromptError::Attach(missing)));
        }
        let mention = shown.to_str().and_then(mentions::typed);
        let mention = mention.ok_or_else(|| CliError::usage(PromptError::Name(file.clone())))?;
        text.push_str("\n\n");
        text.push_str(&mention);
        // Naming it is saying that it may be read.
        super::permissions::allow_file(app, &whole)?;
    }
    let said = (text.as_str(), piped.as_slice(), Vec::new());
    match dialogue.attach(app, said, Recall::default())? {
        Attached::Message(message, _) => {
            for tag in dialogue.tags().list() {
                if let Some(part) = tag.part() {
                    app.ui
                        .warn(&format!("of {}, only {part} are attached", tag.path));
                }
            }
            Ok(message)
        }
        Attached::Waiting => Err(CliError::usage(PromptError::Empty)),
        Attached::Back {
            problems,
            is_denied,
        } => {
            let error = PromptError::Attach(problems.join("; "));
            Err(match is_denied {
                true => CliError::new(Exit::Denied, error).with_hint(Some(
                    "--file FILE attaches a file wherever it is".to_owned(),
                )),
                false => CliError::usage(error),
            })
        }
    }
}

/// The words of the command line and what is piped in below them, and where that is.
fn question(
    words: &[String],
    is_terminal: bool,
) -> Result<(String, Option<Range<usize>>), PromptError> {
    let mut prompt = words.join(" ");
    let mut piped = None;
    if !is_terminal {
        let mut bytes = Vec::new();
        #[expect(clippy::disallowed_methods, reason = "text that is piped in")]
        let read = io::stdin()
            .lock()
            .take(MAX_INPUT_BYTES + 1)
            .read_to_end(&mut bytes);
        read.map_err(PromptError::Read)?;
        if bytes.len() as u64 > MAX_INPUT_BYTES {
            return Err(PromptError::TooLong);
        }
        piped = append(&mut prompt, &String::from_utf8_lossy(&bytes));
    }
    if prompt.trim().is_empty() {
        Err(PromptError::Empty)
    } else {
        Ok((prompt, piped))
    }
}

/// Puts a text below the prompt. Where it is then, if it is anything.
fn append(prompt: &mut String, piped: &str) -> Option<Range<usize>> {
    let piped = piped.trim_end();
    if piped.is_empty() {
        return None;
    }
    if !prompt.is_empty() {
        prompt.push_str("\n\n");
    }
    let start = prompt.len();
    prompt.push_str(piped);
    Some(start..prompt.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_piped_in_stands_below() {
        let check = |words: &str, piped: &str, expected: &str| {
            let mut prompt = words.to_owned();
            let range = append(&mut prompt, piped);
            assert_eq!(prompt, expected);
            let appended = range.map_or("", |range| &prompt[range]);
            assert_eq!(appended, piped.trim_end());
        };
        check("summarise", "a\nb\n", "summarise\n\na\nb");
        check("", "a\n", "a");
        check("hello", "", "hello");
    }

    #[test]
    fn nothing_is_no_question() {
        assert!(matches!(question(&[], true), Err(PromptError::Empty)));
        assert!(matches!(
            question(&["  ".to_owned()], true),
            Err(PromptError::Empty)
        ));
    }
}
