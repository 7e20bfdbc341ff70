//! What the model has to know of that the user did between two messages: it is told with the next one.

use std::collections::BTreeSet;

use super::Dialogue;

/// What is to be told.
#[derive(Debug, Default)]
pub(super) struct Notes {
    /// Files that the user has put back.
    undone: BTreeSet<String>,
    /// Files that were edited in turns that the user has taken out of the conversation.
    changed: BTreeSet<String>,
    /// How many versions of the app the user has gone back.
    versions: usize,
}

impl Notes {
    /// All of it, behind a message.
    pub(super) fn text(&self) -> Option<String> {
        let undone = list(&self.undone).map(|files| {
            format!(
                "(The user has undone your last edits. These files are as they were before; read them again before you \
                 edit them: {files})"
            )
        });
        let changed = list(&self.changed).map(|files| {
            format!(
                "(The user has gone back in this conversation. These files were edited since and stay so; read them again \
                 before you edit them: {files})"
            )
        });
        let versions = match self.versions {
            0 => None,
            1 => Some("(The user has undone the last version of the app. It is as it was before that version.)".to_owned()),
            count => Some(format!(
                "(The user has undone the last {count} versions of the app. It is as it was before them.)"
            )),
        };
        let notes = undone.into_iter().chain(changed).chain(versions);
        let notes: Vec<String> = notes.collect();
        (!notes.is_empty()).then(|| notes.join("\n\n"))
    }
}

impl Dialogue {
    /// What the user has undone belongs to another conversation, or the model was told of it.
    pub fn forget_undone(&mut self) {
        self.notes = Notes::default();
    }

    /// Tells the model with the next message that the user has taken its edits of these files back.
    pub fn note_undone(&mut self, files: Vec<String>) {
        if !self.conversation.messages().is_empty() {
            self.notes.undone.extend(files);
        }
    }

    /// Tells the model with the next message that these files are not as it saw them last.
    pub fn note_changed(&mut self, files: impl Iterator<Item = String>) {
        if !self.conversation.messages().is_empty() {
            self.notes.changed.extend(files);
        }
    }

    /// Tells the model with the next message that the user has gone back to the version of the app before.
    pub fn note_undone_version(&mut self) {
        if !self.conversation.messages().is_empty() {
            self.notes.versions += 1;
        }
    }
}

/// Names of files as a list that no name can leave; `None`: there are none.
fn list(files: &BTreeSet<String>) -> Option<String> {
    let list = serde_json::to_string(files).ok();
    list.filter(|_| !files.is_empty())
}
