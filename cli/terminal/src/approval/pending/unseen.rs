//! What a yes does not count for yet, because not all of it was shown.

use dunlin_host::ask::Origin;

use super::super::entry::Entry;
use super::super::look::{self, Window};
use super::{PendingApprovals, form, sentences_in_rows};

impl PendingApprovals {
    /// Whether a yes to it does not count yet, because not all of it was shown.
    pub(super) fn is_unseen(&self, entry: &Entry) -> bool {
        entry.is_asking() && !self.seen.contains(&form(entry))
    }

    /// Why these calls cannot be allowed yet, if not all of them were shown in full.
    pub(super) fn seen_in_full<'a>(
        &self,
        entries: impl IntoIterator<Item = &'a Entry>,
        window: Window,
    ) -> Result<(), String> {
        let unseen = entries.into_iter().find(|entry| self.is_unseen(entry));
        unseen.map_or(Ok(()), |entry| {
            Err(match is_too_long(entry, window) {
                true => self.too_long(entry, window),
                false => self.view_first(entry),
            })
        })
    }

    /// What is shown in place of allowing something with a command: as long as a pending call of this tool, or without one
    /// any, was not shown in full in this window, that could allow what nobody has seen.
    pub fn refuses_to_allow(&mut self, tool: Option<&str>, window: Window) -> Option<Vec<String>> {
        let pending: Vec<&Entry> = self
            .asking()
            .filter(|entry| tool.is_none_or(|tool| entry.question.tool == tool))
            .collect();
        if pending.is_empty() {
            return None;
        }
        if self.shown_in != (window.columns, window.rows) {
            return Some(self.window_changed(window));
        }
        let problem = self.seen_in_full(pending, window).err()?;
        Some(sentences_in_rows([problem], window))
    }

    pub(super) fn window_changed(&mut self, window: Window) -> Vec<String> {
        let sentence =
            "Nothing was approved: the window has changed, so here is the question again.";
        let mut rows = sentences_in_rows([sentence], window);
        rows.extend(self.show_again(window));
        rows
    }

    pub(super) fn view_first(&self, entry: &Entry) -> String {
        let view = if self.several {
            format!("v {}", entry.index)
        } else {
            "v".to_owned()
        };
        format!("The screen does not show all of it: {view} does, then answer again.")
    }

    /// Why a yes to it never counts as it is, and what to do.
    pub(super) fn too_long(&self, entry: &Entry, window: Window) -> String {
        let which = match self.several {
            true => format!(" {}", entry.index),
            false => String::new(),
        };
        let call = match entry.index {
            0 => "This call".to_owned(),
            index => format!("Call {index}"),
        };
        let what_to_do = match entry.question.origin {
            Origin::Declared
                if entry.index > 0 && !entry.runs && !lacks_arguments(entry, window) =>
            {
                format!("n{which} TEXT asks the model for a shorter one.")
            }
            Origin::Declared if entry.index > 0 && !entry.runs => format!(
                "e{which} opens it in your editor, and a yes counts after that; n{which} TEXT asks the model for a shorter one."
            ),
            _ => format!("n{which} denies it."),
        };
        format!(
            "{call} is too long to be shown whole, so it can't be allowed from here: {what_to_do}"
        )
    }
}

/// Whether not even a view shows all of it.
pub(super) fn is_too_long(entry: &Entry, window: Window) -> bool {
    !look::view(entry, false, window).complete
}

/// Whether all that a view does not show is what an editor shows.
pub(super) fn lacks_arguments(entry: &Entry, window: Window) -> bool {
    look::view(entry, false, window).lacks_arguments
}

/// Whether the user wrote the arguments in an editor and nothing else shows them whole.
pub(super) fn was_in_editor(entry: &Entry, window: Window) -> bool {
    entry.edited && lacks_arguments(entry, window)
}
