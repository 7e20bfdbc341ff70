//! The settings: configuration layers and flags combined once, never changed afterwards.
//!
//! Each value remembers the layer it comes from, for `dunlin config show` and for errors. API keys are
//! not read here: [`Settings::agent`] does so when a request is about to be sent.

mod error;
mod key;
mod layers;
pub mod project;
mod subagents;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use dunlin_host::Permissions;
use dunlin_host::command::StartError;
use dunlin_host::egress::SiteHeaders;
use dunlin_host::hooks::Pinned;
use dunlin_host::mounted_elsewhere;

pub use self::error::SettingsError;
pub use self::key::KeyPlace;
pub use self::subagents::SubagentChoice;
use crate::args::Global;
use crate::config::agent::{AgentEntry, Kind};
use crate::config::agent_files::AgentFiles;
use crate::config::command_variables;
use crate::config::embedding::CodebaseSearch;
use crate::config::env::Environment;
use crate::config::file::{Author, FileError, KeyEntry, Loaded};
use crate::config::hook::HookEntry;
use crate::config::instruction_files::InstructionPlaces;
use crate::config::mcp::ServerEntry;
pub use crate::config::origin::{Origin, Sourced};
use crate::config::paths::{Folders, can_be_project, find_project, home_folders};
use crate::config::search::WebSearch;
use crate::config::setting::{Commands, General, Limits, Notifications, RequestEditor};
use crate::config::sites;
use crate::config::value::{Count, UpTo};
use crate::model_table::in_use::{self, TableInUse};
use crate::model_table::{Entry as KnownModel, host_of};
use crate::models;
use dunlin_chat::agent::{Agent, Api};
use dunlin_chat::request::HistoryLimits;
use dunlin_chat::secret::Secret;
use dunlin_terminal::variables::Replaced;
use project::ProjectFile;

/// A hook, and the files of the project that its command names.
#[derive(Debug)]
pub struct ConfiguredHook {
    pub entry: Sourced<HookEntry>,
    /// As they were when the settings were read.
    pub pinned: Vec<Pinned>,
}

/// Everything that was decided at the start of the program.
#[derive(Debug)]
pub struct Settings {
    /// Dunlin's folders.
    pub folders: Folders,
    /// Where relative paths start and, if it is a project, reading is allowed. Absolute, symbolic links resolved.
    pub project: PathBuf,
    /// The folder that the program was started in. Symbolic links resolved.
    pub started_in: PathBuf,
    /// Whether the folder of the project is one, see [`can_be_project`].
    pub is_project: bool,
    /// The home folders of this machine's users, the user's own first. Symbolic links resolved where they exist.
    pub homes: Vec<PathBuf>,
    /// The same folders by all of their names: mounts can show them under other paths, too.
    pub names_of_homes: Vec<PathBuf>,
    /// What the file sets outside its tables.
    pub general: General,
    /// `[request_editor]`
    pub request_editor: RequestEditor,
    /// `[notifications]`
    pub notifications: Notifications,
    /// `[limits]`
    pub limits: Limits,
    /// `[commands]`
    pub commands: Commands,
    /// The model, if another than the agent's.
    pub model: Option<Sourced<String>>,
    /// The agents of the user's file, and of the project's as far as that is trusted.
    pub agents: BTreeMap<String, Sourced<AgentEntry>>,
    /// The MCP servers of the user's file, and of the project's as far as that is trusted.
    pub mcp_servers: BTreeMap<String, Sourced<ServerEntry>>,
    /// The hooks of the user's file, and behind them those of the project's as far as that is trusted.
    pub hooks: Vec<ConfiguredHook>,
    /// The search engine that the user has chosen.
    pub web_search: Option<Sourced<WebSearch>>,
    /// The embedding model of `codebase_search`, where the user has said so.
    pub codebase_search: Option<Sourced<CodebaseSearch>>,
    /// Where keys are found.
    pub keys: BTreeMap<String, Sourced<KeyEntry>>,
    /// Settings of agents that come from elsewhere than the agent, by their whole names.
    pub origins: BTreeMap<String, Origin>,
    /// Which keys the user's own file sends to which endpoints.
    pub endpoints_of_keys: Vec<(String, url::Url)>,
    /// Headers that go along with requests of tools to certain sites.
    pub sites: Arc<SiteHeaders>,
    /// What the project's own configuration wants, if it has one.
    pub project_file: Option<ProjectFile>,
    /// Why that cannot be used, if it cannot.
    pub project_problem: Option<FileError>,
    /// What the user should know about the configuration, one line each.
    pub notices: Vec<String>,
    /// The environment, for keys that it holds.
    pub environment: Environment,
    /// Agents in files of their own, read at the first use.
    agent_files: OnceLock<AgentFiles>,
    /// The table of models, read at the first use.
    model_table: OnceLock<TableInUse>,
}

impl Settings {
    /// Combines all layers for the folder that the program was started in, see [`Settings::load`].
    pub fn load_here(global: &Global, environment: Environment) -> Result<Settings, SettingsError> {
        Settings::load(global, environment, &current_folder()?)
    }

    /// Combines all layers. Reads three small files at most and touches nothing else.
    ///
    /// `current` is the folder the program was started in.
    pub fn load(
        global: &Global,
        environment: Environment,
        current: &Path,
    ) -> Result<Settings, SettingsError> {
        let mut settings = Settings::without_files(global, environment, current)?;
        if let Some(user) = Loaded::read(&settings.folders.config_file(), Author::User)? {
            settings.apply_user(user);
        }
        let project_file = settings.project.join(".dunlin/config.toml");
        if settings.is_project {
            match Loaded::read(&project_file, Author::Project) {
                Ok(Some(project)) => settings.apply_project(&project),
                Ok(None) => {}
                // A text that nobody has trusted, as it could not be read: it must not keep anybody from working.
                Err(error) => settings.leave_out_project(error),
            }
        }
        settings.apply_environment();
        settings.apply_flags(global);
        Ok(settings)
    }

    /// The defaults, for this folder: what there is to work with where a configuration file is not valid.
    pub fn without_files(
        global: &Global,
        environment: Environment,
        current: &Path,
    ) -> Result<Settings, SettingsError> {
        let folders = Folders::find(&environment)?;
        let homes = home_folders(folders.home.as_deref());
        let mut names_of_homes = homes.clone();
        names_of_homes.extend(mounted_elsewhere(&homes));
        let started_in = current
            .canonicalize()
            .unwrap_or_else(|_| current.to_path_buf());
        let project = project_folder(global, &names_of_homes, current)?;
        let is_project = can_be_project(&project, &names_of_homes);
        let sites_file = folders.sites_file();
        let (sites, mut notices) = sites::read(&sites_file, &folders.short(&sites_file));
        if !is_project {
            notices.push(no_project(&folders, &project));
        }
        Ok(Settings {
            folders,
            project,
            started_in,
            is_project,
            homes,
            names_of_homes,
            general: General::default(),
            request_editor: RequestEditor::default(),
            notifications: Notifications::default(),
            limits: Limits::default(),
            commands: Commands::default(),
            model: None,
            agents: BTreeMap::new(),
            mcp_servers: BTreeMap::new(),
            hooks: Vec::new(),
            web_search: None,
            codebase_search: None,
            keys: BTreeMap::new(),
            origins: BTreeMap::new(),
            endpoints_of_keys: Vec::new(),
            sites: Arc::new(sites),
            project_file: None,
            project_problem: None,
            notices,
            environment,
            agent_files: OnceLock::new(),
            model_table: OnceLock::new(),
        })
    }

    /// Whether the user has configured anything that can answer.
    pub fn has_agents(&self) -> bool {
        !self.agents.is_empty()
    }

    /// Whether the command line or the environment names an agent.
    pub fn is_agent_named(&self) -> bool {
        let origin = &self.general.default_agent.origin;
        matches!(origin, Origin::Flag(_) | Origin::Environment(_))
    }

    /// Whether this agent answers where the command line names none. Not known where it or the environment names one.
    pub fn is_answered_by_default(&self, agent: &str) -> bool {
        let default = self.agent_entry();
        !self.is_agent_named() && default.is_ok_and(|(name, _)| name == agent)
    }

    /// The entry of the agent that is to answer, its name with it.
    pub fn agent_entry(&self) -> Result<(&str, &AgentEntry), SettingsError> {
        let Sourced {
            value: name,
            origin,
        } = &self.general.default_agent;
        if let Some((name, entry)) = self.agents.get_key_value(name) {
            return Ok((name, &entry.value));
        }
        // Nobody chose: then a single agent is the choice.
        match (origin, self.agents.len()) {
            (_, 0) => Err(SettingsError::NoAgents),
            (Origin::Default, 1) => {
                let only = self.agents.first_key_value();
                only.map(|(name, entry)| (name.as_str(), &entry.value))
                    .ok_or(SettingsError::NoAgents)
            }
            _ => Err(SettingsError::UnknownAgent {
                name: name.clone(),
                origin: origin.clone(),
                known: self.agents.keys().cloned().collect(),
            }),
        }
    }

    /// The model that is to answer.
    pub fn model_of<'a>(&'a self, entry: &'a AgentEntry) -> &'a str {
        self.model
            .as_ref()
            .map_or(entry.model.as_str(), |model| model.value.as_str())
    }

    /// Where a model is: at the endpoint, or in a file where it runs in this process.
    pub fn address_of(&self, api: Api, endpoint: &url::Url, model: &str) -> url::Url {
        let file = (api == Api::Local).then(|| models::file_of(model, &self.folders));
        // The folders are absolute; without one nothing would be found there.
        file.and_then(|file| url::Url::from_file_path(file).ok())
            .unwrap_or_else(|| endpoint.clone())
    }

    /// The agent that is to answer, its key not read yet, and where that is, if it has one.
    pub fn agent_without_key(&self) -> Result<(Agent, Option<KeyPlace>), SettingsError> {
        let (name, entry) = self.agent_entry()?;
        Ok(self.without_key(name, entry, self.model_of(entry)))
    }

    /// The same for the agent of this name, with the model that is configured for it.
    pub fn agent_named_without_key(
        &self,
        name: &str,
    ) -> Result<(Agent, Option<KeyPlace>), SettingsError> {
        let (name, entry) = self.entry_named(name, Origin::Flag("/agent"))?;
        Ok(self.without_key(name, entry, &entry.model))
    }

    /// The agent that is to answer, its key read now; with a warning about the key, if there is one. May wait for the user
    /// to unlock the keyring.
    pub fn agent(&self) -> Result<(Agent, Option<String>), SettingsError> {
        complete(self.agent_without_key()?)
    }

    /// The same for the agent of this name, with the model that is configured for it.
    pub fn agent_named(&self, name: &str) -> Result<(Agent, Option<String>), SettingsError> {
        complete(self.agent_named_without_key(name)?)
    }

    /// The agent of this name, which comes from `origin`, as it is configured.
    ///
    /// # Errors
    /// There is none.
    pub fn entry_named(
        &self,
        name: &str,
        origin: Origin,
    ) -> Result<(&str, &AgentEntry), SettingsError> {
        match self.agents.get_key_value(name) {
            Some((name, entry)) => Ok((name, &entry.value)),
            None => Err(SettingsError::UnknownAgent {
                name: name.to_owned(),
                origin,
                known: self.agents.keys().cloned().collect(),
            }),
        }
    }

    /// An agent whose key is not read yet, and where that is, if it has one.
    fn without_key(
        &self,
        name: &str,
        entry: &AgentEntry,
        model: &str,
    ) -> (Agent, Option<KeyPlace>) {
        let options = &entry.options;
        let api = options.api.unwrap_or_default().into();
        let own_prompt = options.system_prompt.clone();
        let (system_prompt, tools) = match options.kind.unwrap_or_default() {
            Kind::Chat => (own_prompt, options.tools.clone()),
            Kind::App => (
                Some(own_prompt.unwrap_or_else(|| dunlin_apps::PROMPT.to_owned())),
                Some(Vec::new()),
            ),
        };
        let agent = Agent {
            name: name.to_owned(),
            api,
            base_url: self.address_of(api, &entry.base_url, model),
            model: model.to_owned(),
            api_key: None,
            temperature: options.temperature.map(UpTo::get),
            max_tokens: options.max_tokens.map(Count::clamped),
            context_window: options.context_window.map(Count::get),
            // Which model the configured one is says nothing of another one.
            known_as: options.known_as.clone().filter(|_| model == entry.model),
            top_p: options.top_p.map(UpTo::get),
            reasoning_effort: options.reasoning_effort,
            system_prompt,
            instructions: Arc::default(),
            tools,
            denied_tools: Vec::new(),
            files: options.files.unwrap_or(true),
            endpoint: options.endpoint.unwrap_or_default(),
        };
        let key = options.api_key.as_deref().map(|key| self.key_place(key));
        (agent, key)
    }

    /// What is known of models before anybody is asked. The first call reads the table.
    pub fn model_table(&self) -> &TableInUse {
        self.model_table.get_or_init(|| in_use::load(&self.folders))
    }

    /// What the table of models has of an agent's model.
    pub fn known_of(&self, agent: &Agent) -> Option<KnownModel> {
        match &agent.known_as {
            Some(name) => self.model_table().table.named(name),
            None => self.known_at(&agent.base_url, &agent.model),
        }
    }

    /// What the table of models has of a model at an address.
    pub fn known_at(&self, base_url: &url::Url, model: &str) -> Option<KnownModel> {
        // Most servers are on this machine, and the table need not be read for them.
        host_of(base_url)?;
        self.model_table().table.find(base_url, model)
    }

    /// What is wrong with the table of models, said once, and with the agent's entry in it.
    pub fn warnings_of_table(&self, agent: &Agent, known: Option<&KnownModel>) -> Vec<String> {
        let table = self.model_table.get();
        let of_table = table.and_then(TableInUse::take_warning);
        let of_entry = agent.known_as.as_ref().filter(|_| known.is_none()).map(|name| {
            format!(
                "[agents.{}] known_as = {name:?} is not in the table of models; `dunlin model list TEXT` searches it",
                agent.name
            )
        });
        of_table.into_iter().chain(of_entry).collect()
    }

    /// All agents as they would answer, without their keys.
    pub fn agents_without_keys(&self) -> impl Iterator<Item = Agent> {
        let in_use = self.agent_entry().map(|(name, _)| name).ok();
        self.agents.iter().map(move |(name, entry)| {
            let entry = &entry.value;
            let model = match in_use == Some(name.as_str()) {
                true => self.model_of(entry),
                false => &entry.model,
            };
            self.without_key(name, entry, model).0
        })
    }

    /// Whether the agent of this name writes apps.
    pub fn writes_apps(&self, agent: &str) -> bool {
        let entry = self.agents.get(agent);
        entry.is_some_and(|entry| entry.value.options.kind == Some(Kind::App))
    }

    /// Whether the conversations of the agent of this name begin with the instruction files.
    pub fn takes_instructions(&self, agent: &str) -> bool {
        match self.agents.get(agent).map(|agent| &agent.value.options) {
            Some(options) => {
                options.kind != Some(Kind::App) && options.instructions.unwrap_or(true)
            }
            None => !subagents::is_built_in(agent) || self.has_agent_file(agent),
        }
    }

    /// Where instruction files are.
    pub fn instruction_places(&self) -> InstructionPlaces<'_> {
        InstructionPlaces {
            folders: &self.folders,
            project: self.is_project.then_some(self.project.as_path()),
            started_in: &self.started_in,
            protected: self.own_files(),
        }
    }

    /// Dunlin's own files and folders, which tools never touch.
    pub fn own_files(&self) -> Vec<PathBuf> {
        let folders = [
            self.folders.config.clone(),
            self.folders.data.clone(),
            self.folders.cache.clone(),
            self.folders.run.clone(),
            self.project.join(".dunlin"),
        ];
        folders.into_iter().chain(self.key_files()).collect()
    }

    /// The names of the agents whose replies can be apps.
    pub fn app_agents(&self) -> impl Iterator<Item = &str> {
        let names = self.agents.keys().map(String::as_str);
        names.filter(|name| self.writes_apps(name))
    }

    /// How much of a conversation a request carries.
    pub fn history_limits(&self) -> HistoryLimits {
        let share = self.limits.compact_at.value.get();
        HistoryLimits {
            max_tokens: self.limits.max_history_tokens.value.get(),
            max_lines: self.limits.max_history_lines.value.get(),
            compact_at: (share > 0.0).then_some((share * 1000.0) as u64),
            window: None,
        }
    }

    /// The files that hold keys.
    pub fn key_files(&self) -> impl Iterator<Item = PathBuf> {
        let files = self
            .keys
            .values()
            .filter_map(|key| key.value.file.as_deref());
        files.map(|file| self.folders.resolve(file, &self.folders.config))
    }

    /// The variables that hold keys.
    pub fn key_variables(&self) -> impl Iterator<Item = &str> {
        self.keys
            .values()
            .filter_map(|key| key.value.env.as_deref())
    }

    /// The folders and files that commands may write besides the project.
    pub fn writable_for_commands(&self) -> impl Iterator<Item = PathBuf> {
        let typed = self.commands.write.value.iter();
        typed.map(|path| self.folders.resolve(path, &self.project))
    }

    /// The `PATH` for programs that run with the user's rights, without the folders in which commands could put a program of
    /// the same name, as the permission store says at this moment.
    pub fn search_path(&self, permissions: &Permissions) -> OsString {
        let folders = self.environment.search_path().into_iter();
        let kept = folders.filter(|folder| !permissions.can_commands_change(folder));
        // None holds a separator: they were separated.
        std::env::join_paths(kept).unwrap_or_default()
    }

    /// The variables that the editor, the pager and pip get otherwise: without what commands can change, as the permission
    /// store says at this moment.
    pub fn replaced(&self, permissions: &Permissions) -> Replaced {
        command_variables::replaced(
            &self.environment,
            |folder| permissions.can_commands_change(folder),
            |path| permissions.can_commands_replace(path),
        )
    }

    /// A command line of the user's with a program that commands cannot change, in the folders of [`Settings::search_path`].
    pub fn started_line(
        &self,
        line: OsString,
        permissions: &Permissions,
    ) -> Result<OsString, StartError> {
        let folders: Vec<PathBuf> = std::env::split_paths(&self.search_path(permissions)).collect();
        match line.to_str() {
            Some(text) => permissions.started_line(text, &folders).map(Into::into),
            None => Err(StartError::Missing {
                name: line.to_string_lossy().into_owned(),
            }),
        }
    }

    /// Reads a key of the configuration, with a warning about it, if there is one. May wait for the user to unlock
    /// the keyring.
    pub fn read_key(&self, name: &str) -> Result<(Secret, Option<String>), SettingsError> {
        self.key_place(name).read()
    }

    /// Where a key of the configuration is, to be read later.
    pub fn key_place(&self, name: &str) -> KeyPlace {
        let entry = self.keys.get(name).map(|key| key.value.clone());
        let variable = entry.as_ref().and_then(|entry| entry.env.as_deref());
        let value = variable.and_then(|variable| self.environment.text(variable));
        KeyPlace {
            name: name.to_owned(),
            value: value.map(|value| Secret::new(name, value)),
            entry: entry.map(|entry| (entry, self.folders.clone())),
        }
    }

    /// For commands that are about no project: nobody is told that there is none.
    pub fn drop_project_notice(&mut self) {
        let dropped = no_project(&self.folders, &self.project);
        self.notices.retain(|notice| *notice != dropped);
    }
}

/// The agent with its key, and a warning about that, if there is one.
fn complete(
    (mut agent, key): (Agent, Option<KeyPlace>),
) -> Result<(Agent, Option<String>), SettingsError> {
    let mut warning = None;
    if let Some(key) = key {
        let (secret, said) = key.read()?;
        (agent.api_key, warning) = (Some(secret), said);
    }
    Ok((agent, warning))
}

/// The folder that the program was started in.
pub fn current_folder() -> Result<PathBuf, SettingsError> {
    std::env::current_dir().map_err(|source| SettingsError::Project {
        path: PathBuf::from("."),
        source,
    })
}

/// What follows from being started where there is no project, and the way to one.
fn no_project(folders: &Folders, folder: &Path) -> String {
    format!(
        "{} is a home folder or lies above one, so it is not a project: every read asks, commands write only to \
         $TMPDIR, nothing is searched. Choose a folder: cd into it, or dunlin --project DIR",
        folders.short(folder)
    )
}

fn project_folder(
    global: &Global,
    homes: &[PathBuf],
    current: &Path,
) -> Result<PathBuf, SettingsError> {
    let canonical = |path: &Path| {
        let real = path.canonicalize().and_then(|real| {
            if real.is_dir() {
                Ok(real)
            } else {
                Err(io::ErrorKind::NotADirectory.into())
            }
        });
        real.map_err(|source| SettingsError::Project {
            path: path.to_path_buf(),
            source,
        })
    };
    match &global.project {
        Some(given) => canonical(&current.join(given)),
        None => Ok(find_project(&canonical(current)?, homes)),
    }
}

#[cfg(test)]
mod tests;
