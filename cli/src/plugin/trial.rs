//! Makes the tests that `plugin.toml` names, each in a temporary project of its own.
//!
//! Reading and writing there is granted, within the ceiling, and what the test allows; nothing else is, and nobody is asked.

use std::collections::VecDeque;
use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use dunlin_host::ask::{Answer, Ask, Question, TextQuestion};
use dunlin_host::call::{Action, Call, Standing};
use dunlin_host::display::chain;
use dunlin_host::egress::{Egress, EgressOptions, Network};
use dunlin_host::settings::SettingsError;
use dunlin_host::{Host, HostError, HostOptions, LoadError, NoProgress, PermissionError, Plugin};
use dunlin_provider::http::USER_AGENT;
use parking_lot::Mutex;
use serde_json::Value;

use super::manifest::{Expected, Trial};
use super::played_web::PlayedWeb;

/// How many of the plugin's messages are shown with what was not as expected.
const MAX_MESSAGES: usize = 20;

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
    #[error("{0}")]
    Web(String),
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

/// Makes the calls of a test in one temporary project. `None`: all is as expected.
///
/// # Errors
/// The calls cannot be made.
pub async fn run(
    options: HostOptions,
    plugin: Plugin,
    trial: &Trial,
) -> Result<Option<Miss>, TrialError> {
    let folder = tempfile::tempdir()?;
    let project = folder.path().join("project");
    prepare(&project, trial)?;
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
        ..options
    };
    let web = Arc::new(PlayedWeb::of(&trial.web).map_err(TrialError::Web)?);
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
        unanswered: Mutex::default(),
    });
    for (number, tried) in (1..).zip(trial.calls()) {
        let call = Call {
            id: format!("call-{number}"),
            tool: tried.tool.clone(),
            arguments: serde_json::to_value(&tried.arguments)?,
        };
        let asked: Arc<dyn Ask> = Arc::clone(&answers) as _;
        let found = made(&host, &call, &asked).await;
        let (expected, is_met) = match (tried.expected(), &found) {
            (Expected::Result(text), Ok(found)) => (text.to_owned(), is_in(text, found)),
            (Expected::Result(text), Err(_)) => (text.to_owned(), false),
            (Expected::Failure(text), Err(found)) => {
                (format!("a failure: {text}"), found.contains(text))
            }
            (Expected::Failure(text), Ok(_)) => (format!("a failure: {text}"), false),
        };
        if !is_met {
            return Ok(Some(Miss {
                place: format!("call {number}, {}", tried.tool),
                expected,
                found: found.unwrap_or_else(|failure| answers.explained(failure)),
                log: last_messages(&log_file),
            }));
        }
    }
    for (name, text) in &trial.after {
        let found = fs::read(project.join(name));
        let found = found.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        if !found.as_ref().is_ok_and(|found| found == text) {
            return Ok(Some(Miss {
                place: format!("after, {name}"),
                expected: text.clone(),
                found: found.unwrap_or_else(|error| match error.kind() {
                    io::ErrorKind::NotFound => {
                        format!("no call has made the file {name}, which the test has in after")
                    }
                    _ => format!("cannot read {name}: {error}"),
                }),
                log: last_messages(&log_file),
            }));
        }
    }
    if let Some(text) = &trial.logs {
        let log = last_messages(&log_file);
        if !log.iter().any(|message| message.contains(text)) {
            return Ok(Some(Miss {
                place: "logs".to_owned(),
                expected: text.clone(),
                found: "no message with this text".to_owned(),
                log,
            }));
        }
    }
    Ok(None)
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
    /// What an author has to know of the last request that nobody allowed, because the test has no answer for it.
    unanswered: Mutex<Option<String>>,
}

impl Answers {
    /// A failure, with what the test lacks where that is the reason.
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
    }
}

/// The result of a call, or why there is none.
async fn made(host: &Host, call: &Call, answers: &Arc<dyn Ask>) -> Result<String, String> {
    let plan = host.prepare(call).await.map_err(|error| chain(&error))?;
    if let Standing::Denied { need, rule, .. } = &plan.standing {
        let verb = need.operation.verb();
        return Err(format!("cannot {verb} '{}': {rule}", need.target));
    }
    let outcome = host
        .run(call, &plan, Arc::clone(answers), Arc::new(NoProgress))
        .await;
    let success = outcome.result.map_err(|error| chain(&error))?;
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
mod tests {
    use dunlin_zoo::guest;

    use super::super::manifest::Manifest;
    use super::*;

    /// What a test comes to, made with the guest that fetches.
    fn tried(test: &str) -> Option<(String, String)> {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let text = format!("name = \"fetch_otherwise\"\nlanguage = \"rust\"\n[[test]]\n{test}");
        fs::write(at("plugin.toml"), text).unwrap();
        let manifest = Manifest::read(folder.path()).unwrap();
        let options = HostOptions {
            project: at("project"),
            is_project: true,
            home: None,
            search_path: Vec::new(),
            permissions_file: at("permissions.json"),
            audit_file: at("audit.jsonl"),
            log_file: at("log.jsonl"),
            cache_dir: at("cache"),
            undo_dir: at("undo"),
            stores_dir: at("stores"),
            protected: Vec::new(),
            session: String::new(),
            limits: dunlin_host::Limits::standard(),
            commands: dunlin_host::CommandOptions::none(),
            web: dunlin_host::WebOptions::system("tests"),
            mcp: dunlin_host::mcp::McpOptions::none(),
            syntax: None,
            app_engine: None,
            embedder: None,
        };
        let guest = guest("fetch_otherwise").unwrap();
        let plugin = Plugin {
            name: manifest.name.clone(),
            digest: dunlin_host::sha256_hex(guest.bytes),
            bytes: guest.bytes.into(),
            built_in: false,
            origin: None,
            description: None,
        };
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        let miss = runtime.block_on(run(options, plugin, &manifest.test[0]));
        miss.unwrap().map(|miss| (miss.expected, miss.found))
    }

    #[test]
    fn json_is_compared_by_what_it_holds() {
        for (expected, found, is) in [
            ("two", "one two three", true),
            (
                r#"{"b": 2, "a": {"c": [1, 2]}}"#,
                r#"{"a":{"c":[1,2.0],"d":0},"b":2}"#,
                true,
            ),
            (r#"{"a": 1}"#, r#"{"a":2}"#, false),
            (r#"{"a": 1}"#, r#"{"b":1}"#, false),
            ("[1]", "[1,2]", false),
            // A number alone is a text.
            ("1.0", "1", false),
            (r#"{"a": 1}"#, "not JSON", false),
        ] {
            assert_eq!(is_in(expected, found), is, "{expected} {found}");
        }
    }

    #[test]
    fn servers_are_played() {
        const CALL: &str = "tool = \"fetch_otherwise\"\n";
        let queried = "arguments = { url = \"https://example.com/a?b=c\" }\n";
        let get = "arguments = { url = \"https://example.com/a\" }\n";
        let post = "arguments = { url = \"https://example.com/a\", body = \"hello\" }\n";
        let web = |answer: &str| format!("web = {{ {answer} }}\n");
        let is_as_expected = |test: &[&str]| assert_eq!(tried(&test.concat()), None, "{test:?}");
        is_as_expected(&[
            CALL,
            get,
            "expect = \"200 https://example.com/a\\nx-rate: 9\\nbirds\"\n",
            &web("\"https://example.com/a\" = { body = \"birds\", headers = { x-rate = \"9\" } }"),
        ]);
        is_as_expected(&[
            CALL,
            queried,
            "expect = \"birds\"\n",
            &web("\"https://example.com/a?b=c\" = { body = \"birds\" }"),
        ]);
        // A server on this machine is played like any other.
        is_as_expected(&[
            CALL,
            "arguments = { url = \"http://127.0.0.1:1/a\" }\n",
            "expect = \"birds\"\n",
            &web("\"http://127.0.0.1:1/a\" = { body = \"birds\" }"),
        ]);
        is_as_expected(&[
            CALL,
            post,
            "expect = \"404\"\n",
            &web("\"POST https://example.com/a\" = { status = 404, sent = \"ell\" }"),
        ]);
        is_as_expected(&[
            CALL,
            get,
            "expect = \"home\"\n",
            &web(
                "\"https://example.com/a\" = { status = 302, headers = { location = \"/b\" } }, \"https://example.com/b\" = { body = \"home\" }",
            ),
        ]);
        // What is not answered for is not asked of anybody.
        is_as_expected(&[
            CALL,
            get,
            "allow = { \"https://example.com/\" = \"rw-\" }\n",
            "fails = \"no answer for GET https://example.com/a: add \\\"https://example.com/a\\\" = \"\n",
            &web("\"https://example.com/b\" = { body = \"home\" }"),
        ]);
        is_as_expected(&[
            CALL,
            post,
            "fails = \"\\\"bye\\\" was to be sent, not \\\"hello\\\"\"\n",
            &web("\"POST https://example.com/a\" = { sent = \"bye\" }"),
        ]);
        // It is allowed no more than what is answered for.
        let other = web("\"https://example.net/b\" = { body = \"home\" }");
        for (declared, answers) in [
            ("", "it answers nothing"),
            (&*other, "it answers GET https://example.net/b"),
        ] {
            let test = [CALL, get, "expect = \"a\"\n", declared].concat();
            let (_, found) = tried(&test).unwrap();
            let unanswered = format!(
                "\nthe test has no answer for GET https://example.com/a: add \"https://example.com/a\" = {{ body = \"…\" }} \
                 to its web in plugin.toml; {answers}"
            );
            assert!(found.contains("was denied"), "{found}");
            assert!(found.ends_with(&unanswered), "{found}");
        }
    }
}
