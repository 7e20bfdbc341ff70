//! Lets the hostile guests loose on this installation, and says what stopped each.
//!
//! The engine, the checks and the command sandbox are those that every call has here. What they could harm is a [`Stage`]: a
//! project, a secret and a permission file of their own, in a temporary folder. Whatever a guest answers, a trial is only passed
//! if nothing on the stage changed, no secret turned up in what it gave, nobody was connected to, and a well-behaved tool
//! works afterwards.

mod stage;

use std::sync::Arc;
use std::time::Duration;

use dunlin_host::ask::{Answer, DenyAll, Scope};
use dunlin_host::call::{Call, Failure, PlanStatus, Success};
use dunlin_host::display::{escape, escape_multiline};
use dunlin_host::{Host, Limits, NoProgress, Plugin};
use dunlin_zoo::{Attempt, End, Trial, WELL_BEHAVED};
use serde_json::{Value, json};

pub use stage::Stage;

use super::wording;

/// The guest of the trials of WASI.
const WASI: &str = "wasi";

/// Time for a step of a guest that is to reach its own end.
const PATIENCE: Duration = Duration::from_secs(60);

/// How often another tool may try to work.
const TRIES: usize = 3;

/// What came of one trial.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// The guest.
    pub guest: &'static str,
    /// What it tried, as a sentence that starts with the guest.
    pub tries: &'static str,
    /// What stopped it, in one line that can be shown as it is.
    pub stopped: String,
    /// What is wrong: nothing where all is well.
    pub wrong: Vec<String>,
}

/// How a trial ended; like [`End`].
enum Found {
    LeftOut(String),
    NotInstalled(String),
    Refused(String),
    Asks(String),
    Ended(Result<Success, Failure>),
}

/// Plays one trial.
pub async fn play(stage: &Stage, trial: &Trial) -> Verdict {
    let before = stage.picture();
    let end = attempt(stage, trial).await;
    let mut verdict = Verdict {
        guest: trial.guest,
        tries: trial.tries,
        stopped: trial.end.line().to_owned(),
        wrong: Vec::new(),
    };
    match end {
        Ok(found) => {
            for text in found.texts() {
                verdict.wrong.extend(stage.leak(text));
            }
            match found.stopped_by(trial.end, stage) {
                Ok(stopped) => verdict.stopped = stopped,
                Err(wrong) => verdict.wrong.push(wrong),
            }
        }
        Err(problem) => verdict.wrong.push(problem),
    }
    verdict.wrong.extend(stage.changes(&before));
    verdict
}

/// Plays all the calls of an attempt through WASI.
pub async fn play_wasi(stage: &Stage, attempt: &Attempt) -> Verdict {
    let before = stage.picture();
    let mut wrong = Vec::new();
    match host(stage, WASI, PATIENCE, PATIENCE) {
        Ok(host) => {
            for (steps, expected) in attempt.calls {
                let answers = answers(&host, steps).await;
                wrong.extend(stage.leak(&answers));
                if answers != expected.join("\n") {
                    wrong.push(format!("{}: {}", steps.join(", "), escape(&answers)));
                }
            }
            wrong.extend(unwell(&host).await);
        }
        Err(problem) => wrong.push(problem),
    }
    wrong.extend(stage.changes(&before));
    Verdict {
        guest: WASI,
        tries: attempt.tries,
        stopped: attempt.stopped.to_owned(),
        wrong,
    }
}

/// What each step answered, or how the call failed.
async fn answers(host: &Host, steps: &[&str]) -> String {
    let call = call(WASI, json!({ "steps": steps }));
    let result = match host.prepare(&call).await {
        Ok(plan) => {
            let run = host.run(&call, &plan, Arc::new(DenyAll), Arc::new(NoProgress));
            run.await.result
        }
        Err(failure) => Err(failure),
    };
    result.map_or_else(|failure| failure.to_string(), |success| success.text)
}

/// Leads the call of a trial through its steps, and looks whether others work afterwards. The error says what is wrong.
async fn attempt(stage: &Stage, trial: &Trial) -> Result<Found, String> {
    let time = Duration::from_secs(trial.seconds);
    let host = match trial.end {
        End::LeftOut(_) => host(stage, trial.guest, time, PATIENCE)?,
        // On a busy machine, saying what it is may take longer than what it then does.
        _ => host(stage, trial.guest, PATIENCE, time)?,
    };
    host.begin_turn();
    let found = lead(stage, trial, &host).await?;
    // They write into the stage, which is looked at and removed next.
    host.commands_ended().await;
    match unwell(&host).await {
        Some(problem) => Err(problem),
        None => Ok(found),
    }
}

async fn lead(stage: &Stage, trial: &Trial, host: &Host) -> Result<Found, String> {
    let (tools, errors) = host.tools().await;
    if let Some(error) = errors.into_iter().next() {
        return Ok(Found::LeftOut(error.to_string()));
    }
    if let End::NotInstalled(_) = trial.end {
        let mut own = tools.iter().filter(|tool| tool.plugin == trial.guest);
        if let Some(character) = own.find_map(wording::invisible) {
            let character = u32::from(character);
            return Ok(Found::NotInstalled(format!(
                "it describes its tool with the invisible character U+{character:04X}"
            )));
        }
    }
    for (target, bits) in trial.granted {
        let granted = host.permissions().allow_for_session(target, bits);
        granted.map_err(|error| format!("cannot grant {target}: {error}"))?;
    }
    if trial.read {
        let call = call("read_file", json!({ "file_path": "README.md" }));
        let plan = host.prepare(&call).await;
        let plan = plan.map_err(|failure| failure.to_string())?;
        host.run(&call, &plan, Arc::new(DenyAll), Arc::new(NoProgress))
            .await;
    }
    let arguments = stage.fill(trial.arguments);
    let arguments: Value = serde_json::from_str(&arguments).map_err(|error| error.to_string())?;
    let call = call(trial.guest, arguments);
    let mut swapping = trial.swapped.then(|| stage.link());
    let plan = match host.prepare(&call).await {
        Ok(plan) => plan,
        Err(failure) => return Ok(Found::Ended(Err(failure))),
    };
    if let Some(swapping) = &mut swapping {
        swapping.begin();
    }
    if let End::Asks(_) = trial.end {
        return Ok(Found::Asks(plan.question));
    }
    match &plan.status {
        PlanStatus::Denied { rule, .. } => return Ok(Found::Refused(rule.clone())),
        PlanStatus::Ask { .. } if trial.agreed => {
            let yes = Answer {
                allow: true,
                scope: Scope::Once,
            };
            let answered = host.answer(&call, &plan, yes).await;
            answered.map_err(|failure| failure.to_string())?;
        }
        PlanStatus::Ask { .. } => return Ok(Found::Asks(plan.question)),
        PlanStatus::Allowed => {}
    }
    let run = host.run(&call, &plan, Arc::new(DenyAll), Arc::new(NoProgress));
    Ok(Found::Ended(run.await.result))
}

/// A host with Dunlin's own plugins, a guest, and one that behaves. The times are those to describe itself, and to do what
/// it does.
fn host(
    stage: &Stage,
    guest: &str,
    describe_time: Duration,
    time: Duration,
) -> Result<Host, String> {
    let mut plugins = crate::built_in_plugins::all();
    for name in [guest, WELL_BEHAVED] {
        let guest =
            dunlin_zoo::guest(name).ok_or_else(|| format!("{name} is not in this program"))?;
        plugins.push(Plugin {
            name: guest.name.to_owned(),
            bytes: guest.bytes.into(),
            digest: guest.digest.to_owned(),
            built_in: false,
            origin: None,
            description: None,
            tools_digest: None,
        });
    }
    let limits = Limits {
        run_time: time,
        prepare_time: time,
        describe_time,
        ..Limits::standard()
    };
    Host::new(stage.options(limits), plugins).map_err(|error| error.to_string())
}

/// What is wrong with a host after an attack: nothing if a well-behaved tool works. On a busy machine, it may be late
/// where time is short.
async fn unwell(host: &Host) -> Option<String> {
    let mut problem = None;
    for _ in 0..TRIES {
        problem = fails(host).await;
        if problem.is_none() {
            break;
        }
    }
    problem
}

async fn fails(host: &Host) -> Option<String> {
    const TEXT: &str = "still here";
    let call = call(WELL_BEHAVED, json!({ "text": TEXT }));
    let plan = match host.prepare(&call).await {
        Ok(plan) => plan,
        Err(failure) => return Some(format!("no other tool works: {failure}")),
    };
    let run = host.run(&call, &plan, Arc::new(DenyAll), Arc::new(NoProgress));
    match run.await.result {
        Ok(success) if success.text == TEXT => None,
        Ok(success) => Some(format!("another tool says {}", escape(&success.text))),
        Err(failure) => Some(format!("no other tool works: {failure}")),
    }
}

fn call(tool: &str, arguments: Value) -> Call {
    Call {
        id: format!("trial of {tool}"),
        tool: tool.to_owned(),
        arguments,
    }
}

impl Found {
    /// Everything that whoever called could see.
    fn texts(&self) -> Vec<&str> {
        match self {
            Found::LeftOut(text)
            | Found::NotInstalled(text)
            | Found::Refused(text)
            | Found::Asks(text) => vec![text],
            Found::Ended(Ok(success)) => vec![&success.text],
            Found::Ended(Err(_)) => Vec::new(),
        }
    }

    /// What stopped it, if that is what has to; else what is wrong.
    fn stopped_by(self, end: End, stage: &Stage) -> Result<String, String> {
        let said = stage.without_port(&match (&self, end) {
            // The words of a guest, which are escaped by whoever shows them.
            (Found::Asks(text), _) => escape(text).into_owned(),
            (Found::Ended(Ok(success)), _) => escape_multiline(&success.text).into_owned(),
            (Found::Ended(Err(failure)), _) => failure.to_string(),
            (Found::LeftOut(text) | Found::NotInstalled(text) | Found::Refused(text), _) => {
                text.clone()
            }
        });
        let is_clean = escape_multiline(&said) == said;
        let has_come = match (&self, end) {
            (Found::Ended(_), End::Harmless(_)) => return clean(end.line(), is_clean),
            (Found::Ended(Ok(success)), End::Sandboxed(_)) => success.text != "Exited(0)",
            (Found::Ended(Err(_)), End::Sandboxed(_)) => true,
            (Found::LeftOut(_), End::LeftOut(line))
            | (Found::NotInstalled(_), End::NotInstalled(line))
            | (Found::Refused(_), End::Refused(line))
            | (Found::Asks(_), End::Asks(line))
            | (Found::Ended(Err(_)), End::Fails(line))
            | (Found::Ended(Ok(_)), End::Gives(line)) => said == line,
            _ => false,
        };
        match (has_come, end) {
            (true, End::Sandboxed(line)) => clean(&format!("{line}: {said}"), is_clean),
            (true, _) => clean(&said, is_clean),
            (false, _) => Err(format!("{} {}", self.happened(), escape(&said))),
        }
    }

    fn happened(&self) -> &'static str {
        match self {
            Found::LeftOut(_) => "left out:",
            Found::NotInstalled(_) => "not installed:",
            Found::Refused(_) => "refused:",
            Found::Asks(_) => "would ask:",
            Found::Ended(Ok(_)) => "came to its end:",
            Found::Ended(Err(_)) => "failed:",
        }
    }
}

fn clean(line: &str, is_clean: bool) -> Result<String, String> {
    match is_clean {
        true => Ok(line.to_owned()),
        false => Err(format!("acts on the terminal: {}", escape(line))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stage() -> Stage {
        let folder = std::path::PathBuf::from("/nowhere");
        let options = dunlin_host::HostOptions {
            project: folder.clone(),
            is_project: true,
            home: None,
            search_path: Vec::new(),
            permissions_file: folder.clone(),
            audit_file: folder.clone(),
            log_file: folder.clone(),
            cache_dir: folder.clone(),
            undo_dir: folder.clone(),
            stores_dir: folder,
            protected: Vec::new(),
            session: String::new(),
            mode: dunlin_host::permission::ModeSwitch::default(),
            limits: Limits::standard(),
            commands: dunlin_host::CommandOptions::none(),
            hooks: Vec::new(),
            web: dunlin_host::WebOptions::system("tests"),
            mcp: dunlin_host::mcp::McpOptions::none(),
            syntax: None,
            app_engine: None,
            embedder: None,
        };
        Stage::new(options).unwrap()
    }

    #[test]
    fn any_other_end_is_wrong() {
        let stage = stage();
        let gave = |text: &str| {
            let text = text.to_owned();
            Found::Ended(Ok(Success {
                text,
                ..Success::default()
            }))
        };
        let failed = || Found::Ended(Err(Failure::Cancelled));
        for (found, end, right) in [
            (gave("a"), End::Gives("a"), true),
            (gave("a"), End::Gives("b"), false),
            (gave("a"), End::Fails("a"), false),
            (failed(), End::Fails("cancelled by user"), true),
            (failed(), End::Gives("cancelled by user"), false),
            (Found::LeftOut("a".into()), End::LeftOut("a"), true),
            (Found::LeftOut("a".into()), End::Harmless("a"), false),
            (Found::Asks("a".into()), End::Fails("a"), false),
            (gave("Exited(0)"), End::Sandboxed("the sandbox"), false),
            (gave("Exited(1)"), End::Sandboxed("the sandbox"), true),
            (failed(), End::Sandboxed("the sandbox"), true),
            (gave("anything"), End::Harmless("as it is"), true),
            (
                Found::LeftOut("\u{1b}[2J".into()),
                End::LeftOut("\u{1b}[2J"),
                false,
            ),
        ] {
            let judged = found.stopped_by(end, &stage);
            assert_eq!(judged.is_ok(), right, "{end:?}: {judged:?}");
        }
    }

    #[test]
    fn what_is_left_behind_is_seen() {
        let stage = stage();
        let project = stage.options(Limits::standard()).project;
        let before = stage.picture();
        assert_eq!(stage.changes(&before), [""; 0]);
        std::fs::write(project.join("new"), "").unwrap();
        std::fs::write(project.join("README.md"), "Every bird knew this.\n").unwrap();
        std::fs::remove_file(project.join(".env")).unwrap();
        let mut changes = stage.changes(&before);
        changes.sort();
        let expected = [
            "it changed project/README.md",
            "it made project/new",
            "it removed project/.env",
        ];
        assert_eq!(changes, expected);
        let address = stage.fill("127.0.0.1:PORT");
        let _connection = std::net::TcpStream::connect(address).unwrap();
        let before = stage.picture();
        assert_eq!(stage.changes(&before), ["it connected to this machine"]);
        assert!(stage.leak("…the-secret-outside-the-project…").is_some());
        assert!(stage.leak("nothing").is_none());
    }
}
