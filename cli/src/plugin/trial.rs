//! Makes the calls that `plugin.toml` names, each in a temporary project of its own.
//!
//! Reading and writing there is granted, within the ceiling; nothing else is, and nobody is asked.

use std::fs;
use std::io;
use std::sync::Arc;

use dunlin_host::ask::DenyAll;
use dunlin_host::call::{Call, Failure, Standing};
use dunlin_host::target::Need;
use dunlin_host::{Host, HostError, HostOptions, NoProgress, PermissionError, Plugin};

use super::manifest::Trial;

/// How a call failed.
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
    /// TOML can say what JSON cannot.
    #[error("cannot write the arguments as JSON")]
    Arguments(#[from] serde_json::Error),
    /// Something is denied.
    #[error("cannot {} '{}': {rule}", need.operation.verb(), need.target)]
    Denied {
        /// What.
        need: Need,
        /// The rule that decided.
        rule: String,
    },
    /// The call was made, and failed.
    #[error(transparent)]
    Call(#[from] Failure),
}

/// Makes one call.
pub async fn run(
    options: HostOptions,
    plugin: Plugin,
    trial: &Trial,
) -> Result<String, TrialError> {
    let folder = tempfile::tempdir()?;
    let project = folder.path().join("project");
    prepare(&project, trial)?;
    let options = HostOptions {
        project: project.clone(),
        is_project: true,
        permissions_file: folder.path().join("permissions.json"),
        audit_file: folder.path().join("audit.jsonl"),
        log_file: folder.path().join("log.jsonl"),
        undo_dir: folder.path().join("undo"),
        // What a plugin is tried with leaves the machine as little as its files.
        embedder: None,
        ..options
    };
    let host = Host::new(options, vec![plugin])?;
    host.permissions()
        .allow_for_session(&format!("{}/", project.display()), "rw?")?;
    let arguments = serde_json::to_value(&trial.arguments)?;
    let call = Call {
        id: "trial".to_owned(),
        tool: trial.tool.clone(),
        arguments,
    };
    let plan = host.prepare(&call).await?;
    if let Standing::Denied { need, rule, .. } = &plan.standing {
        let (need, rule) = (need.clone(), rule.clone());
        return Err(TrialError::Denied { need, rule });
    }
    let outcome = host
        .run(&call, &plan, Arc::new(DenyAll), Arc::new(NoProgress))
        .await;
    Ok(outcome.result?.text)
}

fn prepare(project: &std::path::Path, trial: &Trial) -> io::Result<()> {
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
