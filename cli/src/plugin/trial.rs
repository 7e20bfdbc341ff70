//! Makes the tests that `plugin.toml` names, each in a temporary project of its own.
//!
//! Reading and writing there is granted, within the declared permissions, and what the test allows; nothing else is, and nobody is asked.

use std::collections::VecDeque;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use dunlin_host::ask::{Answer, Ask, Question, TextQuestion, Unplanned};
use dunlin_host::call::{Action, Call, PlanStatus};
use dunlin_host::display::chain;
use dunlin_host::egress::{Egress, EgressOptions, Network};
use dunlin_host::settings::SettingsError;
use dunlin_host::{Host, HostError, HostOptions, LoadError, NoProgress, PermissionError, Plugin};
use dunlin_provider::http::USER_AGENT;
use parking_lot::Mutex;
use serde_json::Value;

use super::differences;
use super::manifest::{Expected, Trial};
use super::played_web::{PlayedWeb, PlayedWebError};

/// How many of the plugin's messages are shown with what was not as expected.
const MAX_MESSAGES: usize = 20;

/// Differences between plan and run that are said of one call. Whoever has more begins with the first.
const MAX_NOTES: usize = 10;

/// Why a test could not be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TrialError {
    /// The project could not be made.
    #[error("cannot write the files of the project")]
    Project(#[from] io::Error),
    /// The host does not take the plugin.
    #[error(transparent)]
    Host(#[from] HostError),
    /// The project could not be granted.
    #[error(transparent)]
    Permission(#[from] PermissionError),
    /// The plugin cannot say what it holds.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The plugin does not take its settings.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// What servers answer makes no sense.
    #[error(transparent)]
    Web(#[from] PlayedWebError),
    /// TOML can say what JSON cannot.
    #[error("cannot write the arguments as JSON")]
    Arguments(#[from] serde_json::Error),
}

/// What was not as the test expects. Nothing is escaped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Miss {
    /// Where: `call 2, diary` or `after, diary.md`.
    pub place: String,
    /// What was expected.
    pub expected: String,
    /// What was there instead.
    pub found: String,
    /// What the plugin has logged and printed, the last lines.
    pub log: Vec<String>,
}

/// What a test came to.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Tested {
    /// `None`: all is as expected.
    pub miss: Option<Miss>,
    /// What the calls did otherwise than their plans say, a line each, with the call. Nothing is escaped.
    pub notes: Vec<String>,
}

/// Makes the calls of a test in one temporary project.
///
/// # Errors
/// The calls cannot be made.
pub async fn run(
    options: HostOptions,
    plugin: Plugin,
    trial: &Trial,
) -> Result<Tested, TrialError> {
    let folder = tempfile::tempdir()?;
    let project = folder.path().join("project");
    prepare(&project, trial)?;
    // As the host resolves what a call names.
    let project = fs::canonicalize(project)?;
    let log_file = folder.path().join("log.jsonl");
    let mut options = HostOptions {
        project: project.clone(),
        is_project: true,
        permissions_file: folder.path().join("permissions.json"),
        audit_file: folder.path().join("audit.jsonl"),
        log_file: log_file.clone(),
        undo_dir: folder.path().join("undo"),
        stores_dir: folder.path().join("stores"),
        // What a plugin is tried with leaves the machine as little as its files.
        embedder: None,
        hooks: Vec::new(),
        ..options
    };
    let web = Arc::new(PlayedWeb::of(&trial.web)?);
    let played: Vec<String> = web.targets().collect();
    if !trial.web.is_empty() {
        options.web.sites = Arc::default();
        options.web.egress = Egress::new(EgressOptions {
            network: Arc::clone(&web) as Arc<dyn Network>,
            ..EgressOptions::system(USER_AGENT)
        });
    }
    let name = plugin.name.clone();
    let host = Host::new(options, vec![plugin])?;
    // Without its tools every call would only say that there is none of that name.
    let (_, broken) = host.tools().await;
    if let Some(error) = broken.into_iter().next() {
        return Err(error.into());
    }
    host.permissions()
        .allow_for_session(&format!("{}/", project.display()), "rw?")?;
    for target in played {
        host.permissions().allow_for_session(&target, "rw?")?;
    }
    for (target, bits) in &trial.allow {
        host.permissions()
            .allow_for_session(target, &bits.replace('-', "?"))?;
    }
    if !trial.settings.is_empty() {
        let settings = serde_json::to_value(&trial.settings)?;
        let settings = settings.as_object().cloned().unwrap_or_default();
        let settings = settings
            .into_iter()
            .map(|(name, value)| (name, Some(value)));
        host.set_settings(&name, settings.collect()).await?;
    }
    let answers = Arc::new(Answers {
        texts: Mutex::new(trial.answers.clone().into()),
        web,
        project: project.clone(),
        actions: Mutex::default(),
        unanswered: Mutex::default(),
        notes: Mutex::default(),
    });
    let mut notes = Vec::new();
    for (number, tried) in (1..).zip(trial.calls()) {
        let call = Call {
            id: format!("call-{number}"),
            tool: tried.tool.clone(),
            arguments: serde_json::to_value(&tried.arguments)?,
        };
        let found = made(&host, &call, &answers).await;
        for note in std::mem::take(&mut *answers.notes.lock()) {
            notes.push(format!("call {number}, {}: {note}", tried.tool));
        }
        let (expected, is_met) = match (tried.expected(), &found) {
            (Expected::Result(text), Ok(found)) => (shown(text), is_in(text, found)),
            (Expected::Result(text), Err(_)) => (shown(text), false),
            (Expected::Failure(text), Err(found)) => {
                (format!("a failure: {text}"), found.contains(text))
            }
            (Expected::Failure(text), Ok(_)) => (format!("a failure: {text}"), false),
        };
        if !is_met {
            let miss = Miss {
                place: format!("call {number}, {}", tried.tool),
                expected,
                found: found.unwrap_or_else(|failure| answers.explained(failure)),
                log: last_messages(&log_file),
            };
            return Ok(Tested {
                miss: Some(miss),
                notes,
            });
        }
    }
    let miss = missed_behind_calls(trial, &project, &log_file);
    Ok(Tested { miss, notes })
}

/// What is not as it should be when the calls were made.
fn missed_behind_calls(trial: &Trial, project: &Path, log_file: &Path) -> Option<Miss> {
    for (name, text) in &trial.after {
        let found = fs::read(project.join(name));
        let found = found.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        if !found.as_ref().is_ok_and(|found| found == text) {
            return Some(Miss {
                place: format!("after, {name}"),
                expected: text.clone(),
                found: found.unwrap_or_else(|error| match error.kind() {
                    io::ErrorKind::NotFound => {
                        format!("no call has made the file {name}, which the test has in after")
                    }
                    _ => format!("cannot read {name}: {error}"),
                }),
                log: last_messages(log_file),
            });
        }
    }
    if let Some(text) = &trial.logs {
        let log = last_messages(log_file);
        if !log.iter().any(|message| message.contains(text)) {
            return Some(Miss {
                place: "logs".to_owned(),
                expected: text.clone(),
                found: "no message with this text".to_owned(),
                log,
            });
        }
    }
    None
}

/// What is expected, with what is wrong with it if it looks like JSON and is none.
fn shown(expected: &str) -> String {
    match serde_json::from_str::<Value>(expected) {
        Err(error) if expected.starts_with(['{', '[']) => {
            format!("{expected} (as text, because it is not JSON: {error})")
        }
        _ => expected.to_owned(),
    }
}

/// Whether a result holds what is expected: this text or, where both are JSON, all of its members, in whatever order and form.
fn is_in(expected: &str, found: &str) -> bool {
    let value = |text: &str| serde_json::from_str::<Value>(text).ok();
    found.contains(expected)
        || match (value(expected), value(found)) {
            (Some(expected @ (Value::Object(_) | Value::Array(_))), Some(found)) => {
                has(&found, &expected)
            }
            _ => false,
        }
}

fn has(found: &Value, expected: &Value) -> bool {
    match (found, expected) {
        (Value::Object(found), Value::Object(expected)) => expected
            .iter()
            .all(|(name, value)| found.get(name).is_some_and(|it| has(it, value))),
        (Value::Array(found), Value::Array(expected)) => {
            found.len() == expected.len() && found.iter().zip(expected).all(|(a, b)| has(a, b))
        }
        // 94 and 94.0 are one number.
        (Value::Number(found), Value::Number(expected)) => {
            found == expected || found.as_f64() == expected.as_f64()
        }
        (found, expected) => found == expected,
    }
}

/// Nobody who allows anything, and somebody who answers when a plugin asks for a text.
struct Answers {
    texts: Mutex<VecDeque<String>>,
    web: Arc<PlayedWeb>,
    project: PathBuf,
    /// What the plan of the call announces.
    actions: Mutex<Vec<Action>>,
    /// What an author has to know of the last thing that nobody allowed: that the test has no answer for a request, or how a
    /// change differs from the plan.
    unanswered: Mutex<Option<String>>,
    /// What the call does otherwise than its plan says.
    notes: Mutex<Vec<String>>,
}

impl Answers {
    fn note(&self, note: String) {
        let mut notes = self.notes.lock();
        if notes.len() < MAX_NOTES && !notes.contains(&note) {
            notes.push(note);
        }
    }

    /// A failure, with what the test or the plan lacks where that is the reason.
    fn explained(&self, failure: String) -> String {
        match self.unanswered.lock().take() {
            Some(unanswered) => format!("{failure}\n{unanswered}"),
            None => failure,
        }
    }
}

#[async_trait]
impl Ask for Answers {
    async fn ask(&self, _question: Question) -> Answer {
        Answer::DENY
    }

    async fn ask_text(&self, _question: TextQuestion) -> Option<String> {
        self.texts.lock().pop_front()
    }

    fn is_attended(&self) -> bool {
        false
    }

    fn answers_texts(&self) -> bool {
        !self.texts.lock().is_empty()
    }

    fn went_unasked(&self, question: &Question) {
        for action in &question.actions {
            if let Action::Request(request) = action {
                let unanswered = self.web.no_answer(&request.method, &request.url);
                *self.unanswered.lock() = Some(unanswered);
            }
        }
        let actions = self.actions.lock();
        if let Some(differs) = differences::of_question(&actions, &self.project, question) {
            *self.unanswered.lock() = Some(differs);
        }
    }

    fn uses_unplanned(&self, unplanned: &Unplanned<'_>) {
        let note = differences::of_use(&self.actions.lock(), unplanned);
        self.note(note);
    }
}

/// The result of a call, or why there is none.
async fn made(host: &Host, call: &Call, answers: &Arc<Answers>) -> Result<String, String> {
    *answers.unanswered.lock() = None;
    let plan = host.prepare(call).await.map_err(|error| chain(&error))?;
    if let PlanStatus::Denied { need, rule, .. } = &plan.status {
        return Err(match need {
            Some(need) => format!("cannot {} '{}': {rule}", need.operation.verb(), need.target),
            None => format!("it is denied: {rule}"),
        });
    }
    answers.actions.lock().clone_from(&plan.actions);
    let asked: Arc<dyn Ask> = Arc::clone(answers) as _;
    let outcome = host.run(call, &plan, asked, Arc::new(NoProgress)).await;
    let success = outcome.result.map_err(|error| chain(&error))?;
    // A change that differs from its plan and was denied is said already, even if the tool says nothing of it.
    if let Some(unanswered) = answers.unanswered.lock().take() {
        answers.note(unanswered);
    } else {
        for note in differences::not_made(&plan, &answers.project, &outcome.edits) {
            answers.note(note);
        }
    }
    Ok(success.text)
}

/// The last messages in a log.
fn last_messages(log: &Path) -> Vec<String> {
    let text = fs::read_to_string(log).unwrap_or_default();
    let lines = text.lines().filter_map(|line| {
        let line: serde_json::Value = serde_json::from_str(line).ok()?;
        Some(line.get("message")?.as_str()?.to_owned())
    });
    let mut messages: Vec<String> = lines.collect();
    messages.drain(..messages.len().saturating_sub(MAX_MESSAGES));
    messages
}

fn prepare(project: &Path, trial: &Trial) -> io::Result<()> {
    fs::create_dir(project)?;
    for (name, text) in &trial.files {
        let path = project.join(name);
        if let Some(above) = path.parent() {
            fs::create_dir_all(above)?;
        }
        fs::write(path, text)?;
    }
    Ok(())
}

#[cfg(test)]
#[path = "trial_tests.rs"]
mod tests;
