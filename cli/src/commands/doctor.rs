//! `dunlin doctor`: what works, what is missing, and the way out of it.
//!
//! Nothing is changed and nothing is asked of a model. A line is ✓ where all is well, ✗ where something must
//! be done before Dunlin can work, and – for what is only worth knowing.

#[cfg(feature = "local-model")]
mod local_model;
mod model;
mod protection;
mod report;

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use dunlin_host::display::{chain, own_command};

use self::report::{Report, Verdict};
use crate::app::{self, App};
use crate::args::Global;
use crate::built_in_plugins;
use crate::commands::setup;
use crate::config::env::{self, Environment};
use crate::config::paths::OPEN_TO_OTHERS;
use crate::discover::{ProbeError, models_of};
use crate::error::{CliError, Exit};
use crate::host_options;
use crate::mcp::{find_program, warning};
use crate::settings::{Settings, SettingsError, current_folder};
use dunlin_chat::agent::Api;
use dunlin_chat::tokens::counted;
use dunlin_provider::ollama;
use dunlin_terminal::ui::Ui;
use dunlin_terminal::ui::terminal;

/// How long the configured endpoint may take to list its models. It may be on another continent.
const ENDPOINT_TIMEOUT: Duration = Duration::from_secs(5);

/// Looks at everything. Status 1 where something must be done.
pub fn run(
    ui: &std::sync::Arc<Ui>,
    global: &Global,
    environment: Environment,
) -> Result<Exit, CliError> {
    let mut report = Report { ui, bad: false };
    let version = env!("CARGO_PKG_VERSION");
    let plugins = built_in_plugins::all().len();
    report.line(
        Verdict::Good,
        "version",
        &format!("dunlin {version}, built-in plugins: {plugins}"),
    );
    terminal_report(&mut report, &environment);
    let runtime = app::runtime()?;
    let current = current_folder()?;
    match Settings::load(global, environment.clone(), &current) {
        Ok(settings) => {
            let app = super::make_app::app_of(ui, settings, Vec::new());
            configuration(&mut report, &app.settings);
            folders(&mut report, &app.settings);
            protection::own_files(&mut report, &app.settings);
            permissions(&mut report, &app);
            keys(&mut report, &app.settings);
            runtime.block_on(endpoint(&mut report, &app.settings));
            runtime.block_on(other_agents(&mut report, &app.settings));
            #[cfg(feature = "local-model")]
            {
                local_model::installed(&mut report, &app.settings.folders);
                local_model::embedding(&mut report, &app.settings);
            }
            instructions(&mut report, &app.settings);
            subagents(&mut report, &app.settings);
            tools(&mut report, &app);
            servers(&mut report, &app.settings);
            hooks(&mut report, &app.settings);
            commands(&mut report, &app);
            protection::set_aside(&mut report, &app.settings);
            protection::variables(&mut report, &app.settings);
        }
        Err(error) => broken(&mut report, &error),
    }
    match runtime.block_on(setup::findings(&environment)) {
        Ok(findings) => found(&mut report, &findings),
        Err(error) => report.line(Verdict::Bad, "found", &error.to_string()),
    }
    Ok(if report.bad { Exit::Failed } else { Exit::Done })
}

fn terminal_report(report: &mut Report<'_>, environment: &Environment) {
    let streams = report.ui.streams();
    let kind = environment.text(env::TERM).unwrap_or("unknown");
    let colours = if report.ui.styles().is_coloured() {
        "colours"
    } else {
        "no colours"
    };
    if streams.can_ask() {
        let (columns, rows) = terminal::size();
        report.line(
            Verdict::Good,
            "terminal",
            &format!("{kind}, {columns}×{rows}, {colours}"),
        );
    } else {
        report.line(
            Verdict::Note,
            "terminal",
            "no terminal: undecided requests are denied",
        );
    }
}

fn configuration(report: &mut Report<'_>, settings: &Settings) {
    let path = settings.folders.config_file();
    let short = settings.folders.short(&path);
    if path.exists() {
        report.line(Verdict::Good, "config", &format!("{short} is valid"));
    } else {
        report.line(Verdict::Bad, "config", &format!("{short} does not exist"));
        report.way_out("run dunlin: it offers to write it");
    }
    for notice in &settings.notices {
        report.line(Verdict::Note, "config", notice);
    }
    let project = settings.folders.short(&settings.project);
    match settings.is_project {
        true => report.line(Verdict::Good, "project", &project),
        false => report.line(
            Verdict::Note,
            "project",
            &format!("none: started in {project}"),
        ),
    }
}

fn folders(report: &mut Report<'_>, settings: &Settings) {
    let folders = &settings.folders;
    for (name, folder) in [
        ("config", &folders.config),
        ("data", &folders.data),
        ("cache", &folders.cache),
    ] {
        let subject = format!("{name} folder");
        let short = folders.short(folder);
        match can_write(folder) {
            Ok(true) => report.line(Verdict::Good, &subject, &short),
            Ok(false) => report.line(
                Verdict::Note,
                &subject,
                &format!("{short} will be made when it is needed"),
            ),
            Err(problem) => {
                report.line(
                    Verdict::Bad,
                    &subject,
                    &format!("{short} cannot be used: {problem}"),
                );
                report.way_out(&format!(
                    "make it a folder that you may write: ls -ld {short}"
                ));
            }
        }
    }
}

/// Whether the folder is there, and can be written. Asks the system, without leaving a trace.
fn can_write(folder: &Path) -> Result<bool, String> {
    match folder.metadata() {
        Ok(metadata) if !metadata.is_dir() => Err("it is not a folder".to_owned()),
        Ok(_) => rustix::fs::access(
            folder,
            rustix::fs::Access::WRITE_OK | rustix::fs::Access::EXEC_OK,
        )
        .map(|()| true)
        .map_err(|error| error.to_string()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let above = folder
                .ancestors()
                .skip(1)
                .find(|above| above.exists())
                .unwrap_or(Path::new("/"));
            can_write(above).map(|_| false)
        }
        Err(error) => Err(error.to_string()),
    }
}

fn permissions(report: &mut Report<'_>, app: &App) {
    let path = app.settings.folders.permissions_file();
    let short = app.settings.folders.short(&path);
    let listed = app
        .permissions()
        .and_then(|permissions| Ok(permissions.list()?));
    match (listed, path.metadata()) {
        (Ok(_), Err(_)) => report.line(Verdict::Note, "permissions", "nothing is stored yet"),
        (Ok(_), Ok(metadata)) if metadata.permissions().mode() & OPEN_TO_OTHERS != 0 => {
            report.line(
                Verdict::Bad,
                "permissions",
                &format!("{short} is open to others"),
            );
            report.way_out(&format!("chmod 600 {short}"));
        }
        (Ok(stored), Ok(_)) => {
            report.line(
                Verdict::Good,
                "permissions",
                &format!(
                    "{} stored in {short}",
                    counted(stored.len(), "decision", "decisions")
                ),
            );
        }
        (Err(error), _) => {
            report.line(Verdict::Bad, "permissions", &error.in_one_line());
            report.way_out(&format!("fix {short}, or move it aside to start over"));
        }
    }
}

/// Whether the keys are where the configuration says; that of the agent in use is said with the agent.
fn keys(report: &mut Report<'_>, settings: &Settings) {
    let in_use = settings.agent_entry().ok();
    let in_use = in_use.and_then(|(_, entry)| entry.options.api_key.as_deref());
    for (name, key) in &settings.keys {
        let found = settings.read_key(name);
        let place = match (&key.value.env, &key.value.file, &key.value.keyring) {
            (Some(variable), ..) => format!("${variable}"),
            (_, Some(file), _) => file.clone(),
            (_, _, Some(account)) => format!("{account} in the system's keyring"),
            (None, None, None) => continue,
        };
        match found {
            Ok(_) => report.line(Verdict::Good, "key", &format!("{name}: found, {place}")),
            Err(_) if in_use == Some(name) => {}
            Err(error) => {
                report.line(Verdict::Note, "key", &chain(&error));
            }
        }
    }
}

async fn endpoint(report: &mut Report<'_>, settings: &Settings) {
    let (agent, warning) = match settings.agent() {
        Ok(agent) => agent,
        Err(error) => return broken(report, &error),
    };
    let model = &agent.model;
    #[cfg(feature = "local-model")]
    if agent.api == Api::Local {
        return local_model::agent(report, &agent, &settings.folders);
    }
    let what = format!("{} · {model} at {}", agent.name, agent.base_url);
    match models_of(
        agent.api,
        &agent.base_url,
        agent.api_key.as_ref(),
        ENDPOINT_TIMEOUT,
    )
    .await
    {
        Ok(models) if has(&models, agent.api, model) => {
            report.line(Verdict::Good, "agent", &what);
            model::abilities(report, settings, &agent).await;
        }
        Ok(models) => {
            report.line(
                Verdict::Bad,
                "agent",
                &format!("{what}: there is no such model"),
            );
            let near = dunlin_host::nearest::nearest(model, models.iter().map(String::as_str));
            report.way_out(&match near {
                Some(near) => format!("the nearest of {} models there: {near}", models.len()),
                None => format!("models there: {}", first_few(&models)),
            });
        }
        // Many services list their models elsewhere or not at all.
        Err(ProbeError::NoList { .. } | ProbeError::Status { status: 404, .. }) => {
            report.line(
                Verdict::Note,
                "agent",
                &format!("{what}: answers, but does not list its models"),
            );
        }
        Err(
            error @ ProbeError::Status {
                status: 401 | 403, ..
            },
        ) => {
            report.line(Verdict::Bad, "agent", &format!("{what}: {error}"));
            report.way_out("check the key: dunlin config show names where it comes from");
        }
        Err(error) => {
            report.line(Verdict::Bad, "agent", &format!("{what}: {error}"));
            report.way_out("start the server, or correct base_url");
        }
    }
    if let Some(warning) = warning {
        report.line(Verdict::Note, "key", &warning);
    }
}

/// The files that conversations begin with, and what of others is not used.
fn instructions(report: &mut Report<'_>, settings: &Settings) {
    let (files, notices) = settings.instruction_places().read().usable();
    let names: Vec<String> = files.into_iter().map(|file| file.name).collect();
    if !names.is_empty() {
        report.line(Verdict::Good, "instructions", &names.join(", "));
    }
    for notice in &notices {
        report.line(Verdict::Note, "instructions", notice);
    }
}

/// The agents that may be started by the one in use, and what cannot be used of their files.
fn subagents(report: &mut Report<'_>, settings: &Settings) {
    let names = settings.subagents().into_iter().map(|choice| choice.name);
    let names: Vec<String> = names.collect();
    report.line(Verdict::Good, "subagents", &names.join(", "));
    for notice in &settings.agent_files().notices {
        report.line(Verdict::Note, "subagents", notice);
    }
}

/// The agents that are not in use: whether somebody answers where they are. Those of this process are listed with their
/// models.
async fn other_agents(report: &mut Report<'_>, settings: &Settings) {
    let Ok((in_use, _)) = settings.agent_entry() else {
        return;
    };
    let names = settings.agents.keys().filter(|name| *name != in_use);
    let agents = names.filter_map(|name| settings.agent_named(name).ok());
    let agents = agents.map(|(agent, _)| agent);
    let probes = agents
        .filter(|agent| agent.api != Api::Local)
        .map(|agent| async move {
            let key = agent.api_key.as_ref();
            let listed = models_of(agent.api, &agent.base_url, key, ENDPOINT_TIMEOUT).await;
            (agent, listed)
        });
    for (agent, listed) in futures::future::join_all(probes).await {
        let what = format!("{} · {} at {}", agent.name, agent.model, agent.base_url);
        match listed {
            Ok(models) if has(&models, agent.api, &agent.model) => {
                report.line(Verdict::Good, "other agent", &what);
            }
            Ok(_) => {
                let text = format!("{what}: there is no such model");
                report.line(Verdict::Note, "other agent", &text);
            }
            Err(ProbeError::NoList { .. } | ProbeError::Status { status: 404, .. }) => {
                let text = format!("{what}: answers, but does not list its models");
                report.line(Verdict::Note, "other agent", &text);
            }
            Err(error) => {
                report.line(Verdict::Note, "other agent", &format!("{what}: {error}"));
            }
        }
    }
}

/// Whether a model is in a list. Ollama's names without a tag mean the latest.
fn has(models: &[String], api: Api, model: &str) -> bool {
    models.iter().any(|listed| {
        listed == model || (api == Api::Ollama && ollama::is_same_model(listed, model))
    })
}

fn first_few(models: &[String]) -> String {
    const SHOWN: usize = 5;
    let mut text = models
        .iter()
        .take(SHOWN)
        .cloned()
        .collect::<Vec<_>>()
        .join(", ");
    if models.len() > SHOWN {
        text += &format!(" and {} more", models.len() - SHOWN);
    }
    if text.is_empty() {
        "none".to_owned()
    } else {
        text
    }
}

fn tools(report: &mut Report<'_>, app: &App) {
    let listed = app
        .host()
        .and_then(|host| Ok(app.runtime()?.block_on(host.tools())));
    match listed {
        Ok((tools, broken)) => {
            let agent = app.settings.agent().ok().map(|(agent, _)| agent);
            let is_its = |name: &str| agent.as_ref().is_none_or(|agent| agent.may_use(name));
            let names = tools.iter().map(|tool| tool.name.as_str());
            let names: Vec<&str> = names.filter(|name| is_its(name)).collect();
            for (name, near) in agent.iter().flat_map(|agent| agent.unknown_tools(&tools)) {
                let problem = format!("the agent's {name:?} does not exist");
                report.line(Verdict::Bad, "tools", &problem);
                if let Some(near) = near {
                    report.way_out(&format!("the nearest is {near:?}"));
                }
            }
            let verdict = if names.is_empty() {
                Verdict::Bad
            } else {
                Verdict::Good
            };
            let names = if names.is_empty() {
                "none".to_owned()
            } else {
                names.join(", ")
            };
            report.line(verdict, "tools", &names);
            for error in broken {
                report.line(Verdict::Bad, "tools", &chain(&error));
            }
        }
        Err(error) => {
            report.line(Verdict::Bad, "tools", &error.in_one_line());
        }
    }
}

/// The MCP servers, without connecting to one: a program may do anything once it is started.
fn servers(report: &mut Report<'_>, settings: &Settings) {
    for (name, server) in &settings.mcp_servers {
        let entry = &server.value;
        if !entry.is_enabled() {
            report.line(
                Verdict::Note,
                "MCP server",
                &format!("{name} · switched off"),
            );
            continue;
        }
        match (find_program(settings, name, entry), &entry.url) {
            (Some(Ok(path)), _) => {
                let path = settings.folders.short(&path);
                let text = format!("{name} · program found, {path}");
                report.line(Verdict::Good, "MCP server", &text);
                if let Some(problem) = warning(settings, name, entry) {
                    report.way_out(&problem);
                }
            }
            (Some(Err(problem)), _) => {
                report.line(Verdict::Note, "MCP server", &format!("{name} · {problem}"));
            }
            (None, Some(url)) => {
                let text = format!(
                    "{name} · at {url}; {} connects",
                    own_command(&["mcp", "test", name])
                );
                report.line(Verdict::Note, "MCP server", &text);
            }
            (None, None) => {}
        }
    }
}

/// The hooks that count, in the order in which they run.
fn hooks(report: &mut Report<'_>, settings: &Settings) {
    for hook in &settings.hooks {
        let text = host_options::hooks::line(settings, hook);
        report.line(Verdict::Good, "hook", &text);
    }
}

/// What commands of the machine run in.
fn commands(report: &mut Report<'_>, app: &App) {
    let found = app
        .host()
        .and_then(|host| Ok(app.runtime()?.block_on(host.command_sandbox())));
    let sandbox = match found {
        Ok(Ok(sandbox)) => sandbox,
        Ok(Err(error)) => return report.line(Verdict::Bad, "commands", &chain(&error)),
        Err(error) => return report.line(Verdict::Bad, "commands", &error.in_one_line()),
    };
    let mut parts = Vec::new();
    if sandbox.no_namespaces.is_none() {
        parts.push("namespaces".to_owned());
    }
    if sandbox.landlock > 0 {
        parts.push(format!("Landlock (ABI {})", sandbox.landlock));
    }
    if sandbox.no_filter.is_none() {
        parts.push("seccomp".to_owned());
    }
    let network = match app.settings.commands.network.value {
        true => "with the network",
        false => "no network unless granted",
    };
    let gaps = sandbox.gaps();
    let verdict = if gaps.is_empty() {
        Verdict::Good
    } else {
        Verdict::Note
    };
    let held = match (parts.pop(), parts.is_empty()) {
        (None, _) => "not sandboxed".to_owned(),
        (Some(only), true) => format!("sandboxed with {only}"),
        (Some(last), false) => format!("sandboxed with {} and {last}", parts.join(", ")),
    };
    report.line(verdict, "commands", &format!("{held}; {network}"));
    for gap in gaps {
        report.line(Verdict::Note, "commands", &gap);
    }
    if let Some(why) = sandbox.no_namespaces {
        report.way_out(&format!("namespaces are unavailable: {why}"));
    }
}

fn found(report: &mut Report<'_>, found: &[String]) {
    if found.is_empty() {
        report.line(
            Verdict::Note,
            "found",
            "no model server on this machine, no API key in the environment",
        );
    }
    for what in found {
        report.line(Verdict::Note, "found", what);
    }
}

fn broken(report: &mut Report<'_>, error: &SettingsError) {
    // The missing file was said before, with its way out.
    if matches!(error, SettingsError::NoAgents) {
        return report.line(Verdict::Bad, "agent", "none is configured");
    }
    let subject = match error {
        SettingsError::UnknownAgent { .. } => "agent",
        SettingsError::KeyVariable { .. }
        | SettingsError::KeyFile { .. }
        | SettingsError::Keyring { .. } => "key",
        SettingsError::Project { .. } => "project",
        _ => "config",
    };
    report.line(Verdict::Bad, subject, &chain(error));
    if let Some(hint) = error.hint() {
        report.way_out(&hint);
    }
}
