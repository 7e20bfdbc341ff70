//! Each layer of the settings over those before it.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use toml::Spanned;

use super::Settings;
use super::project;
use crate::args::Global;
use crate::config::env;
use crate::config::file::Loaded;
use crate::config::request_editor::MetadataField;
use crate::config::sites;
use crate::config::trust::{self, Trust};

/// A value and where it comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sourced<T> {
    /// The value.
    pub value: T,
    /// Where it comes from.
    pub origin: Origin,
}

/// A layer; each wins over those before it, but for the project's file, which only narrows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// Built in.
    Default,
    /// A configuration file and the line in it.
    File(PathBuf, usize),
    /// An environment variable.
    Environment(&'static str),
    /// A flag.
    Flag(&'static str),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Default => f.write_str("default"),
            Origin::File(path, line) => write!(f, "{}:{line}", path.display()),
            Origin::Environment(name) => write!(f, "${name}"),
            Origin::Flag(name) => f.write_str(name),
        }
    }
}

impl<T> Sourced<T> {
    pub(super) fn default(value: T) -> Sourced<T> {
        Sourced {
            value,
            origin: Origin::Default,
        }
    }
}

impl Settings {
    /// Whether the user's own file sends this key to the origin of an address.
    pub fn sends_key_to(&self, key: &str, to: &url::Url) -> bool {
        let mut endpoints = self.endpoints_of_keys.iter();
        endpoints.any(|(name, url)| name == key && url.origin() == to.origin())
    }

    pub(super) fn apply_user(&mut self, loaded: Loaded) {
        let file = &loaded.file;
        set(&mut self.default_agent, loaded.sourced(&file.default_agent));
        set(&mut self.on_denial, loaded.sourced(&file.on_denial));
        set(
            &mut self.show_intermediate_steps,
            loaded.sourced(&file.show_intermediate_steps),
        );
        set(&mut self.placeholder, loaded.sourced(&file.placeholder));
        set(&mut self.empty_state, loaded.sourced(&file.empty_state));
        set(
            &mut self.pause_mode,
            loaded.sourced(&file.request_editor.mode),
        );
        set(
            &mut self.preview_limit,
            loaded.sourced(&file.request_editor.preview_limit),
        );
        set(
            &mut self.metadata,
            file.request_editor.metadata.as_ref().and_then(|names| {
                let Sourced { value, origin } = loaded.source(names);
                let names = value.iter().map(|name| name.get_ref().as_str());
                // Checked when it was read.
                let value = MetadataField::list(names).ok()?;
                Some(Sourced { value, origin })
            }),
        );
        set(
            &mut self.max_tool_rounds,
            loaded.sourced(&file.limits.max_tool_rounds),
        );
        set(
            &mut self.max_history_tokens,
            loaded.sourced(&file.limits.max_history_tokens),
        );
        set(
            &mut self.max_history_lines,
            loaded.sourced(&file.limits.max_history_lines),
        );
        set(
            &mut self.compact_at,
            loaded.sourced(&file.limits.compact_at),
        );
        set(
            &mut self.request_timeout,
            loaded.seconds(&file.limits.request_timeout_secs),
        );
        set(
            &mut self.max_retries,
            loaded.sourced(&file.limits.max_retries),
        );
        set(
            &mut self.command_timeout,
            loaded.seconds(&file.limits.command_timeout_secs),
        );
        set(
            &mut self.command_network,
            loaded.sourced(&file.commands.network),
        );
        set(
            &mut self.command_write,
            loaded.sourced(&file.commands.write),
        );
        set(
            &mut self.command_environment,
            file.commands.environment.as_ref().map(|names| {
                let Sourced { value, origin } = loaded.source(names);
                let value = value.into_iter().map(Spanned::into_inner).collect();
                Sourced { value, origin }
            }),
        );
        self.keys = file
            .keys
            .iter()
            .map(|(name, key)| (name.clone(), loaded.source(key)))
            .collect();
        self.agents = file
            .agents
            .iter()
            .filter_map(|(name, agent)| {
                let Sourced { value, origin } = loaded.source(agent);
                // Checked when it was read: an agent of the user's is whole.
                let value = value.complete()?;
                Some((name.clone(), Sourced { value, origin }))
            })
            .collect();
        self.web_search = file.web_search.as_ref().map(|search| loaded.source(search));
        self.codebase_search = file
            .codebase_search
            .as_ref()
            .map(|search| loaded.source(search));
        self.mcp_servers = file
            .mcp
            .servers
            .iter()
            .map(|(name, server)| (name.clone(), loaded.source(server)))
            .collect();
        let shown = self.folders.short(&loaded.path);
        let (mut sites, warning) = sites::configured(&file.web_fetch, &loaded.path, &shown);
        sites.merge(&self.sites);
        self.sites = Arc::new(sites);
        self.notices.extend(warning);
        self.endpoints_of_keys = project::endpoints_of_keys(&self.agents, &self.mcp_servers);
    }

    /// Takes over what the project's file may say, and says what was left out.
    pub(super) fn apply_project(&mut self, loaded: &Loaded) {
        let answers = self.folders.trust_file();
        let trust =
            trust::look_up(&answers, &loaded.path, &loaded.digest).unwrap_or_else(|error| {
                let cause = std::error::Error::source(&error).map(ToString::to_string);
                self.notices.push(format!(
                    "{error}, so no project is trusted: {}",
                    cause.unwrap_or_default()
                ));
                Trust::Unknown
            });
        let file = project::apply(self, loaded, trust);
        let path = self.folders.short(&loaded.path);
        self.notices.extend(file.notice(&path));
        self.project_file = Some(file);
    }

    pub(super) fn apply_environment(&mut self) {
        let text = |variable: &'static str| {
            let value = self.environment.text(variable)?.to_owned();
            Some(Sourced {
                value,
                origin: Origin::Environment(variable),
            })
        };
        let (agent, model) = (text(env::DUNLIN_AGENT), text(env::DUNLIN_MODEL));
        set(&mut self.default_agent, agent);
        self.model = model;
    }

    pub(super) fn apply_flags(&mut self, global: &Global) {
        let flag = |value: &Option<String>, name| {
            value.clone().map(|value| Sourced {
                value,
                origin: Origin::Flag(name),
            })
        };
        set(&mut self.default_agent, flag(&global.agent, "--agent"));
        self.model = flag(&global.model, "--model").or(self.model.take());
    }
}

impl Loaded {
    pub(crate) fn source<T: Clone>(&self, value: &Spanned<T>) -> Sourced<T> {
        let origin = Origin::File(self.path.clone(), self.line_of(value));
        Sourced {
            value: value.get_ref().clone(),
            origin,
        }
    }

    fn sourced<T: Clone>(&self, value: &Option<Spanned<T>>) -> Option<Sourced<T>> {
        value.as_ref().map(|value| self.source(value))
    }

    fn seconds(&self, value: &Option<Spanned<u64>>) -> Option<Sourced<Duration>> {
        let Sourced { value, origin } = self.sourced(value)?;
        Some(Sourced {
            value: Duration::from_secs(value),
            origin,
        })
    }
}

fn set<T>(setting: &mut Sourced<T>, layer: Option<Sourced<T>>) {
    if let Some(value) = layer {
        *setting = value;
    }
}
