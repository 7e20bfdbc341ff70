//! What a session tells its model at the beginning: the default prompt, and the instruction files of the user and of the
//! project.
//!
//! Both are fixed with the first message of a session, as the program has it: servers keep what they have read of a request,
//! and would have to read all of it again. A session that is resumed begins with what there is by then.

mod default_prompt;
pub mod init;
pub mod remember;

use std::collections::BTreeMap;
use std::sync::Arc;

use dunlin_chat::agent::Agent;
use dunlin_chat::instructions::{InstructionFile, Instructions};

use crate::app::App;
use crate::config::instruction_files::InstructionFiles;
use crate::settings::Settings;
use crate::trust;
use default_prompt::Surroundings;

/// The SHA-256 of each file, by its name.
type Digests = BTreeMap<String, String>;

/// What the agents of a session are told.
#[derive(Debug)]
pub struct SessionInstructions {
    surroundings: Surroundings,
    files: Vec<InstructionFile>,
    /// What there was when they were read, trusted or not.
    taken: Digests,
    /// What there was when the user was last told of a change.
    reported: Digests,
}

/// How a file stands to what is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileStatus {
    /// The session begins with it.
    Sent,
    /// The session begins with what it said before.
    Changed,
    /// The session begins with it, and it is gone.
    Gone,
    /// It has come since, or was trusted since.
    New,
    /// It is a project's, and not trusted as it is.
    NotTrusted,
}

impl SessionInstructions {
    /// Reads what a conversation with this agent begins with. In the chat it asks about files that nobody has answered for;
    /// says what is not used.
    pub fn read(app: &App, agent: &str) -> SessionInstructions {
        let (ui, settings) = (&app.ui, &app.settings);
        let is_wanted = settings.takes_instructions(agent);
        if is_wanted
            && ui.is_chat()
            && app.asks()
            && let Err(error) = trust::offer_instructions(ui, settings)
        {
            ui.error(&error);
        }
        let found = settings.instruction_places().read();
        let taken = digests(&found);
        let (files, notices) = found.usable();
        // Each session reads them, and so does each change of the agent; once is enough.
        for notice in notices.iter().filter(|it| is_wanted && app.is_new(it)) {
            ui.warn(notice);
        }
        let files = files.into_iter();
        let files = files.map(|file| InstructionFile {
            name: file.name,
            text: file.text,
        });
        SessionInstructions {
            surroundings: Surroundings::of(app),
            files: files.collect(),
            reported: taken.clone(),
            taken,
        }
    }

    /// For a conversation that reads no files.
    pub fn none(app: &App) -> SessionInstructions {
        let now = digests(&app.settings.instruction_places().read());
        SessionInstructions {
            surroundings: Surroundings::of(app),
            files: Vec::new(),
            reported: now.clone(),
            taken: now,
        }
    }

    /// Tells an agent of the session.
    pub fn apply_to(&self, settings: &Settings, agent: &mut Agent) {
        let files = match settings.takes_instructions(&agent.name) {
            true => self.files.clone(),
            false => Vec::new(),
        };
        let is_default = agent.system_prompt.is_none();
        agent.instructions = Arc::new(Instructions {
            default_prompt: is_default.then(|| self.surroundings.prompt(agent)),
            files,
        });
    }

    /// What has changed in the files since the user was last told, in a sentence.
    pub fn changes(&mut self, settings: &Settings) -> Option<String> {
        let now = digests(&settings.instruction_places().read());
        if now == self.reported {
            return None;
        }
        self.reported.clone_from(&now);
        let before = self
            .taken
            .iter()
            .filter(|(name, it)| now.get(*name) != Some(*it));
        let new = now
            .iter()
            .filter(|(name, _)| !self.taken.contains_key(*name));
        let mut names: Vec<&str> = before.chain(new).map(|(name, _)| name.as_str()).collect();
        names.sort_unstable();
        // Back to what it was, which nobody has to know.
        let (first, others) = names.split_first()?;
        let (names, have) = match others {
            [] => ((*first).to_owned(), "has"),
            _ => (names.join(", "), "have"),
        };
        Some(format!(
            "{names} {have} changed since this session began: /instructions reload sends the new text, as /new does"
        ))
    }

    /// The user knows how the files are now.
    pub fn mark_reported(&mut self, settings: &Settings) {
        self.reported = digests(&settings.instruction_places().read());
    }

    /// How each file stands to what is sent, by its name.
    pub fn status(&self, settings: &Settings) -> Vec<(String, FileStatus)> {
        let found = settings.instruction_places().read().files;
        let sent = |name: &str| self.files.iter().any(|file| file.name == name);
        let mut all: Vec<(String, FileStatus)> = Vec::new();
        for file in self
            .files
            .iter()
            .filter(|it| !found.iter().any(|now| now.name == it.name))
        {
            all.push((file.name.clone(), FileStatus::Gone));
        }
        for file in found {
            let is_same = self.taken.get(&file.name) == Some(&file.digest());
            let status = match (sent(&file.name), is_same, file.counts()) {
                (true, true, _) => FileStatus::Sent,
                (true, false, _) => FileStatus::Changed,
                (false, _, true) => FileStatus::New,
                (false, _, false) => FileStatus::NotTrusted,
            };
            all.push((file.name, status));
        }
        all
    }
}

fn digests(found: &InstructionFiles) -> Digests {
    let files = found.files.iter();
    files
        .map(|file| (file.name.clone(), file.digest()))
        .collect()
}
