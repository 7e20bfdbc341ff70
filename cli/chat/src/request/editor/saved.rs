//! Edits that are kept for later requests.
//!
//! A saved edit names its leaf by section and path, and holds a digest of the text that it replaces: where that text is
//! another one by then, the edit is not done. A tool that is left out is left out by its name: whoever describes the tool
//! also chooses that text, and could bring the tool back by changing it.

use dunlin_host::sha256_hex;
use serde::{Deserialize, Serialize};

use super::blocks::without_cache_marks;
use super::edits::Target;
use super::leaves::Difference;
use super::model::EditableRequest;
use super::overlay::{Overlay, kind_of};
use super::path::Path;
use super::sections::SectionId;

/// One edit as it is kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SavedEdit {
    /// The section, as [`SectionId`] is written.
    pub section: String,
    /// The leaf within the section; `None`: the section is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// SHA-256 of the value or section as composed, in hexadecimal digits; `None`: an option that was added, or a tool that
    /// is left out whatever it says of itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaces: Option<String>,
    /// The new value as JSON; `None` where the section or the option is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
}

/// What became of a saved edit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    Done,
    /// The request was like that already.
    Present,
    /// What it replaces is another text now.
    Changed,
    /// The request has nothing that it could be done to.
    Absent,
}

impl SavedEdit {
    /// Whether it means the same in every session: the messages of another session are others.
    pub fn outlives_session(&self) -> bool {
        let id = self.section.parse();
        !matches!(
            id,
            Ok(SectionId::Message(_) | SectionId::Item(..) | SectionId::Summary | SectionId::Raw)
                | Err(_)
        )
    }

    /// Whether it only adds an option. Without any other edit, something is sent that the user replaced or removed.
    pub fn only_adds(&self) -> bool {
        self.value.is_some() && self.replaces.is_none()
    }

    /// The tool that it leaves out.
    pub fn left_out_tool(&self) -> Option<String> {
        match self.section.parse() {
            Ok(SectionId::Tool(name)) if self.deletes() => Some(name),
            _ => None,
        }
    }

    /// The index of the message that it is about.
    pub fn message(&self) -> Option<usize> {
        self.section.parse::<SectionId>().ok()?.message()
    }

    fn deletes(&self) -> bool {
        self.path.is_none()
    }

    /// What it is about, for people. Escape before showing.
    pub fn about(&self) -> String {
        match &self.path {
            Some(path) if self.value.is_none() => format!("{} {path} removed", self.section),
            Some(path) => format!("{} {path}", self.section),
            None => format!("{} deleted", self.section),
        }
    }
}

impl EditableRequest {
    /// What was changed, to be kept.
    pub fn to_save(&self) -> Vec<SavedEdit> {
        let differences = self.differences();
        differences.iter().filter_map(|it| self.saved(it)).collect()
    }

    /// One of the differences, as it is kept. `None`: it is none of this request.
    pub fn saved(&self, difference: &Difference) -> Option<SavedEdit> {
        match difference {
            Difference::Deleted { number } => {
                let id = &self.section(*number)?.id;
                let is_tool = matches!(id, SectionId::Tool(_));
                let replaces = digest(self.composed(*number)?);
                Some(SavedEdit {
                    section: id.to_string(),
                    path: None,
                    replaces: Some(replaces).filter(|_| !is_tool),
                    value: None,
                })
            }
            Difference::Set {
                target, old, new, ..
            } => Some(SavedEdit {
                section: target.section.to_string(),
                path: Some(target.path.to_string()),
                replaces: old.as_deref().map(digest),
                value: new.clone(),
            }),
        }
    }

    /// Does a saved edit, if what it replaces is still there.
    pub fn apply_saved(&mut self, saved: &SavedEdit) -> Outcome {
        let Ok(section) = saved.section.parse::<SectionId>() else {
            return Outcome::Absent;
        };
        let Some(number) = self.number(&section) else {
            return Outcome::Absent;
        };
        match &saved.path {
            Some(path) => self.set_saved((section, number), path, saved),
            None => self.delete_saved(number, saved),
        }
    }

    fn set_saved(
        &mut self,
        (section, number): (SectionId, usize),
        path: &str,
        saved: &SavedEdit,
    ) -> Outcome {
        let Ok(path) = path.parse::<Path>() else {
            return Outcome::Absent;
        };
        let index = number.saturating_sub(1);
        if self.sent(index).is_err() {
            return Outcome::Absent;
        }
        let target = Target { section, path };
        let now = self.overlay.find(&self.base, index, &target.path);
        let now = now.map(|found| found.raw.into_owned());
        if now == saved.value {
            return Outcome::Present;
        }
        // Another saved edit may have changed it before: what counts is the text as composed.
        let composed = Overlay::default();
        let composed = composed.find(&self.base, index, &target.path);
        if composed.map(|found| digest(&found.raw)) != saved.replaces {
            return Outcome::Changed;
        }
        let change = match (&saved.value, now) {
            (None, _) => self.remove_target(&target),
            (Some(value), None) => self.add_target(&target, value),
            (Some(value), Some(_)) => {
                let found = self.overlay.find(&self.base, index, &target.path);
                let kind = found.and_then(|found| found.kind);
                // A string is set by its text, everything else by its JSON.
                let text = serde_json::from_str::<String>(value);
                let text = text.as_deref().unwrap_or(value);
                match kind.is_some() && kind == kind_of(value) {
                    true => self.set_target(&target, text),
                    false => self.replace_option(&target, value),
                }
            }
        };
        match change {
            Ok(_) => Outcome::Done,
            Err(_) => Outcome::Absent,
        }
    }

    fn delete_saved(&mut self, number: usize, saved: &SavedEdit) -> Outcome {
        if self.is_deleted(number) {
            return Outcome::Present;
        }
        // Earlier builds kept a digest of the tool as well.
        let is_by_name = saved.left_out_tool().is_some();
        if !is_by_name && self.composed(number).map(digest) != saved.replaces {
            return Outcome::Changed;
        }
        match self.delete(number) {
            Ok(_) => Outcome::Done,
            Err(_) => Outcome::Absent,
        }
    }

    /// A section as composed.
    fn composed(&self, number: usize) -> Option<&str> {
        let node = self.base.node(number.checked_sub(1)?)?;
        self.base.text.get(node.span.clone())
    }
}

/// Where the endpoint may cache is another place in the next request.
fn digest(text: &str) -> String {
    sha256_hex(without_cache_marks(text).as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::editor::{KnownOption, OptionKind, Outline};
    use serde_json::{Value, json};

    fn request(system: &str, tool: &str) -> EditableRequest {
        let body = json!({
            "model": "m",
            "messages": [
                {"role": "system", "content": system},
                {"role": "user", "content": "Count"},
            ],
            "tools": [{"type": "function", "function": {"name": tool, "description": "Reads"}}],
        });
        let origins = [SectionId::Message(0).into()];
        let options = vec![KnownOption::new(&["seed"], OptionKind::WholeNumber)];
        let outline = Outline::of_chat(&body, &origins, options);
        EditableRequest::new(body.to_string().into(), outline)
    }

    fn body(request: &EditableRequest) -> Value {
        serde_json::from_slice(request.bytes()).unwrap()
    }

    fn saved() -> Vec<SavedEdit> {
        let mut request = request("Be brief", "read_file");
        request.set("messages[0].content", "Be \"long\"").unwrap();
        request.set("seed", "7").unwrap();
        request.delete(3).unwrap();
        let saved = request.to_save();
        let lines = serde_json::to_string(&saved).unwrap();
        assert_eq!(
            serde_json::from_str::<Vec<SavedEdit>>(&lines).unwrap(),
            saved
        );
        saved
    }

    #[test]
    fn edits_are_done_again() {
        let saved = saved();
        let mut later = request("Be brief", "read_file");
        let outcomes: Vec<Outcome> = saved.iter().map(|edit| later.apply_saved(edit)).collect();
        assert_eq!(outcomes, [Outcome::Done; 3]);
        let body = body(&later);
        assert_eq!(body["messages"][0]["content"], "Be \"long\"");
        // Some endpoints refuse an empty list.
        assert_eq!((&body["seed"], body.get("tools")), (&json!(7), None));
        // One of a narrower scope comes after it, and counts.
        let narrower = SavedEdit {
            value: Some("\"Be kind\"".to_owned()),
            ..saved[0].clone()
        };
        assert_eq!(later.apply_saved(&narrower), Outcome::Done);
        assert_eq!(later.apply_saved(&saved[0]), Outcome::Done);
        let again: Vec<Outcome> = saved.iter().map(|edit| later.apply_saved(edit)).collect();
        assert_eq!(again, [Outcome::Present; 3]);
    }

    #[test]
    fn an_edit_of_another_text_is_not_done() {
        let saved = saved();
        let mut later = request("Be polite", "write_file");
        let before = later.bytes().clone();
        let outcomes: Vec<Outcome> = saved
            .iter()
            .filter(|edit| edit.section != "options")
            .map(|edit| later.apply_saved(edit))
            .collect();
        assert_eq!(outcomes, [Outcome::Changed, Outcome::Absent]);
        assert_eq!(later.bytes(), &before);
        let hostile = SavedEdit {
            section: "tool:\u{1b}".to_owned(),
            path: Some("[".to_owned()),
            replaces: None,
            value: Some("{".to_owned()),
        };
        assert_eq!(later.apply_saved(&hostile), Outcome::Absent);
    }

    #[test]
    fn a_tool_is_left_out_by_its_name() {
        let mut saved = saved();
        let deleted = saved.remove(1);
        assert_eq!(deleted.left_out_tool().as_deref(), Some("read_file"));
        // As earlier builds have kept it.
        let with_digest = SavedEdit {
            replaces: Some("00".to_owned()),
            ..deleted.clone()
        };
        for deleted in [deleted, with_digest] {
            let original = request("Be brief", "read_file");
            let text = String::from_utf8(original.bytes().to_vec()).unwrap();
            let text = text.replace("Reads", "Reads in another way");
            let outline = Outline {
                sections: original.sections().to_vec(),
                options: Vec::new(),
            };
            let mut later = EditableRequest::new(text.into(), outline);
            assert_eq!(later.apply_saved(&deleted), Outcome::Done);
            assert_eq!(body(&later).get("tools"), None);
        }
    }

    #[test]
    fn only_an_option_that_was_added_may_be_missing() {
        let saved = saved();
        let only_adds = saved.iter().map(SavedEdit::only_adds);
        assert_eq!(only_adds.collect::<Vec<_>>(), [false, false, true]);
    }

    #[test]
    fn what_belongs_to_one_session_is_known() {
        let outlives: Vec<bool> = saved().iter().map(SavedEdit::outlives_session).collect();
        assert_eq!(outlives, [true; 3]);
        let mut request = request("Be brief", "read_file");
        request.set("messages[1].content", "Name").unwrap();
        assert!(!request.to_save()[0].outlives_session());
    }
}
