//! What commands and edits can change of a server that runs outside of the sandbox, and what of it they have changed.
//!
//! An answer to its start is not bound to these files: servers start side by side, and what one of them writes as it starts
//! must not take the answer from another.

use std::path::PathBuf;

use super::McpTools;
use crate::capability;
use crate::display::{escape, shown};
use crate::mcp::offered::some_of;
use crate::mcp::{Contents, Server, ServerAt};
use crate::permission::{Change, Rule};

impl McpTools {
    /// What the user should know before answering about a start. `rule`: why it is asked about.
    pub(super) fn notices_of_start(&self, server: &Server, rule: &Rule) -> Vec<String> {
        let ServerAt::Program(program) = &server.config.at else {
            return capability::notices(rule);
        };
        if program.sandbox {
            return capability::notices(rule);
        }
        let mut notices = match rule {
            // All of them are named below.
            Rule::CommandChanged(_, Change::Content(_)) => Vec::new(),
            rule => capability::notices(rule),
        };
        let name = server.name();
        let files = self.files_of_start(server);
        if self
            .shared
            .permissions
            .is_writable_for_commands(&program.folder)
        {
            let folder = escape(&program.folder.to_string_lossy()).into_owned();
            notices.push(format!(
                "{name} starts in {folder}, where commands and edits can change what it runs."
            ));
        } else if !files.is_empty() {
            let files = self.in_words(files.into_keys());
            notices.push(format!(
                "The command line of {name} names what commands and edits can change: {files}."
            ));
        }
        if program.whole_line().is_incomplete(&self.shared.permissions) {
            notices.push(format!(
                "Not all that the command line of {name} names can be checked for changes."
            ));
        }
        let changed = self.changed_since_start(server);
        if !changed.is_empty() {
            let changed = self.in_words(changed.into_iter());
            notices.push(format!("Changed since {name} was last started: {changed}."));
        }
        notices
    }

    /// The files that are not what they were when the server was started last.
    pub(super) fn changed_since_start(&self, server: &Server) -> Vec<PathBuf> {
        server.changed_files(&self.files_of_start(server))
    }

    /// What the files in its command line hold, as far as commands can change them; nothing for a server that the sandbox keeps,
    /// since a yes to its start is bound to them. Blocks for the file system.
    pub(super) fn files_of_start(&self, server: &Server) -> Contents {
        match &server.config.at {
            ServerAt::Program(program) if !program.sandbox => {
                program.whole_line().contents(&self.shared.permissions)
            }
            ServerAt::Program(_) | ServerAt::Web { .. } => Contents::new(),
        }
    }

    fn in_words(&self, files: impl Iterator<Item = PathBuf>) -> String {
        let project = self.shared.permissions.project();
        let names = files.map(|path| shown(path.strip_prefix(project).unwrap_or(&path)));
        some_of(&names.collect::<Vec<String>>())
    }
}
