//! Each layer of the settings over those before it.

use std::sync::Arc;

use dunlin_host::display::chain;
use dunlin_host::hooks::{HookPlaces, Pinned};
use serde::Serialize;
use toml::Spanned;

use super::project;
use super::{ConfiguredHook, Origin, Settings, Sourced};
use crate::args::Global;
use crate::config::env;
use crate::config::file::{FileError, Loaded};
use crate::config::hook::{HookEntry, trusted_digest};
use crate::config::setting::{File, Layer, Narrowing};
use crate::config::sites;
use crate::config::trust::{self, Trust};

impl Layer for &Loaded {
    /// The user's own file: all of it counts.
    fn set<T: Clone + Serialize>(
        &mut self,
        _: &'static str,
        setting: &mut Sourced<T>,
        value: Option<&Spanned<T>>,
        _: &Narrowing<T>,
    ) {
        set(setting, value.map(|value| self.source(value)));
    }
}

impl Settings {
    /// Whether the user's own file sends this key to the origin of an address.
    pub fn sends_key_to(&self, key: &str, to: &url::Url) -> bool {
        let mut endpoints = self.endpoints_of_keys.iter();
        endpoints.any(|(name, url)| name == key && url.origin() == to.origin())
    }

    /// Puts the settings of a file over those before it.
    pub(super) fn apply(&mut self, file: &File, layer: &mut impl Layer) {
        self.general.apply(file, layer);
        self.request_editor.apply(&file.request_editor, layer);
        self.notifications.apply(&file.notifications, layer);
        self.limits.apply(&file.limits, layer);
        self.commands.apply(&file.commands, layer);
    }

    pub(super) fn apply_user(&mut self, loaded: Loaded) {
        let file = &loaded.file;
        self.apply(file, &mut &loaded);
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
        let hooks = file.hook.iter();
        self.hooks = hooks.map(|hook| self.hook(&loaded, hook)).collect();
        let shown = self.folders.short(&loaded.path);
        let (mut sites, warning) = sites::configured(&file.web_fetch, &loaded.path, &shown);
        sites.merge(&self.sites);
        self.sites = Arc::new(sites);
        self.notices.extend(warning);
        self.endpoints_of_keys = project::endpoints_of_keys(&self.agents, &self.mcp_servers);
    }

    /// A hook of a file, with the files of the project as they are now.
    pub(super) fn hook(&self, loaded: &Loaded, hook: &Spanned<HookEntry>) -> ConfiguredHook {
        ConfiguredHook {
            entry: loaded.source(hook),
            pinned: match self.is_project {
                true => hook.get_ref().pins(HookPlaces {
                    project: &self.project,
                    home: self.folders.home.as_deref(),
                    search_path: &self.environment.search_path(),
                }),
                false => Vec::new(),
            },
        }
    }

    /// Takes over what the project's file may say, and says what was left out.
    pub(super) fn apply_project(&mut self, loaded: &Loaded) {
        let answers = self.folders.trust_file();
        let hooks = loaded.file.hook.iter();
        let hooks: Vec<ConfiguredHook> = hooks.map(|hook| self.hook(loaded, hook)).collect();
        let pinned: Vec<Pinned> = hooks.iter().flat_map(|it| it.pinned.clone()).collect();
        let digest = trusted_digest(&loaded.digest, &pinned);
        let trust = trust::look_up(&answers, &loaded.path, &digest).unwrap_or_else(|error| {
            let cause = std::error::Error::source(&error).map(ToString::to_string);
            self.notices.push(format!(
                "{error}, so no project is trusted: {}",
                cause.unwrap_or_default()
            ));
            Trust::Unknown
        });
        let mut file = project::apply(self, loaded, hooks, (digest, trust));
        if trust == Trust::Changed {
            // What cannot be read was said above, and is not trusted.
            let before = trust::answered_files(&answers, &loaded.path).unwrap_or_default();
            file.compare(&before, &self.project);
        }
        let path = self.folders.short(&loaded.path);
        self.notices.extend(file.notice(&path));
        self.project_file = Some(file);
    }

    /// Goes on without the project's file, and says why.
    pub(super) fn leave_out_project(&mut self, error: FileError) {
        let hint = error.hint().map(|hint| format!(" ({hint})"));
        let hint = hint.unwrap_or_default();
        self.notices.push(format!(
            "{}{hint}; all of this file is ignored, also where it narrows your settings",
            chain(&error)
        ));
        self.project_problem = Some(error);
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
        set(&mut self.general.default_agent, agent);
        self.model = model;
    }

    pub(super) fn apply_flags(&mut self, global: &Global) {
        let flag = |value: &Option<String>, name| {
            value.clone().map(|value| Sourced {
                value,
                origin: Origin::Flag(name),
            })
        };
        set(
            &mut self.general.default_agent,
            flag(&global.agent, "--agent"),
        );
        self.model = flag(&global.model, "--model").or(self.model.take());
    }
}

fn set<T>(setting: &mut Sourced<T>, layer: Option<Sourced<T>>) {
    if let Some(value) = layer {
        *setting = value;
    }
}
