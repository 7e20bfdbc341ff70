//! Makes the calls that `plugin.toml` names, each in a temporary project of its own.
//!
//! Reading and writing there is granted, within the ceiling; nothing else is, and nobody is asked.

use std::fs;
use std::io;
use std::sync::Arc;

use dunlin_host::ask::DenyAll;
use dunlin_host::call::{Call, Standing};
use dunlin_host::{Host, HostOptions, NoProgress, Plugin};

use super::manifest::Trial;

/// Makes one call and says what came of it: the result, or how it failed.
pub async fn run(options: HostOptions, plugin: Plugin, trial: &Trial) -> Result<String, String> {
    let folder = tempfile::tempdir().map_err(|e| e.to_string())?;
    let project = folder.path().join("project");
    prepare(&project, trial).map_err(|e| format!("cannot write the files: {e}"))?;
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
    let host = Host::new(options, vec![plugin]).map_err(|e| e.to_string())?;
    host.permissions()
        .allow_for_session(&format!("{}/", project.display()), "rw?")
        .map_err(|e| e.to_string())?;
    let arguments = serde_json::to_value(&trial.arguments).map_err(|e| e.to_string())?;
    let call = Call {
        id: "trial".to_owned(),
        tool: trial.tool.clone(),
        arguments,
    };
    let plan = host.prepare(&call).await.map_err(|e| e.to_string())?;
    if let Standing::Denied { need, rule, .. } = &plan.standing {
        return Err(format!(
            "{} '{}': {rule}",
            need.operation.verb(),
            need.target
        ));
    }
    let outcome = host
        .run(&call, &plan, Arc::new(DenyAll), Arc::new(NoProgress))
        .await;
    outcome
        .result
        .map(|success| success.text)
        .map_err(|failure| failure.to_string())
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
