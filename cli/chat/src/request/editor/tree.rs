//! Editing an object or an array, or the whole request, as JSON text.
//!
//! What such a text comes to are edits of single leaves, and of whole options. What cannot be said by these is refused, and
//! nothing is changed: members and elements elsewhere that came or went, values of another type.

use super::document::{self, LeafKind, Node, Shape};
use super::edits::{Change, EditError, Target};
use super::model::EditableRequest;
use super::path::Path;
use super::sections::SectionId;

/// What makes one value another one.
enum Step {
    /// A leaf with its new value: the text of a string, or JSON.
    Set(Path, String),
    /// An option that came, as JSON.
    Add(Path, String),
    Remove(Path),
    /// An option of another shape, as JSON.
    Replace(Path, String),
}

impl EditableRequest {
    /// The object or array at a path of the payload as it would be sent now, as indented JSON.
    ///
    /// # Errors
    /// There is none.
    pub fn tree(&self, path: &str) -> Result<String, EditError> {
        let (_, text) = self.value_at(path)?;
        dunlin_host::json::indented(&text).ok_or_else(|| self.unknown(path))
    }

    /// Sets every leaf below a path in which the JSON `edited` differs, and adds and removes options, in one step of the
    /// history each.
    ///
    /// # Errors
    /// The text is not JSON, or differs in more than that. Nothing has changed then.
    pub fn set_tree(&mut self, path: &str, edited: &str) -> Result<Vec<Change>, EditError> {
        let (path, text) = self.value_at(path)?;
        if let Err(error) = serde_json::from_str::<serde_json::Value>(edited) {
            return Err(EditError::NotJson(error.to_string()));
        }
        let (old, new) = (document::parse(&text), document::parse(edited));
        let twice = || EditError::NotJson("an object has a key twice".to_owned());
        let (old, new) = old.zip(new).ok_or_else(twice)?;
        let mut steps = Vec::new();
        if let Err(error) = self.steps((&text, &old), (edited, &new), &path, &mut steps) {
            if !self.has_option_at(&path) {
                return Err(error);
            }
            steps = vec![Step::Replace(path, edited.trim().to_owned())];
        }
        let mut request = self.clone();
        let option = |path| Target {
            section: SectionId::Options,
            path,
        };
        let mut changes = Vec::new();
        for step in steps {
            changes.push(match step {
                Step::Set(path, value) => request.set(&path.to_string(), &value)?,
                Step::Add(path, json) => request.add_target(&option(path), &json)?,
                Step::Remove(path) => request.remove_target(&option(path))?,
                Step::Replace(path, json) => request.replace_option(&option(path), &json)?,
            });
        }
        *self = request;
        Ok(changes)
    }

    fn value_at(&self, path: &str) -> Result<(Path, String), EditError> {
        let found: Path = path.parse()?;
        let body = std::str::from_utf8(self.bytes()).unwrap_or_default();
        let root = document::parse(body);
        let node = root.as_ref().and_then(|root| root.find(&found));
        let node = node.filter(|node| !matches!(node.shape, Shape::Leaf(_)));
        let text = node.and_then(|node| body.get(node.span.clone()));
        let text = text.ok_or_else(|| self.unknown(path))?;
        Ok((found, text.to_owned()))
    }

    /// What makes the old value at a path the new one.
    fn steps(
        &self,
        (old_text, old): (&str, &Node),
        (new_text, new): (&str, &Node),
        path: &Path,
        steps: &mut Vec<Step>,
    ) -> Result<(), EditError> {
        let refused = |path: &Path| {
            let path = path.to_string();
            Err(EditError::Structure { path })
        };
        match (&old.shape, &new.shape) {
            (Shape::Leaf(before), Shape::Leaf(after)) if before == after => {
                let (old, new) = (raw(old_text, old), raw(new_text, new));
                // The same value may be written in another way.
                let value = |raw: &str| serde_json::from_str::<serde_json::Value>(raw).ok();
                if value(old) != value(new) {
                    steps.push(Step::Set(path.clone(), leaf(*after, new)));
                }
            }
            (Shape::Array(before), Shape::Array(after)) if before.len() == after.len() => {
                for (index, (old, new)) in before.iter().zip(after).enumerate() {
                    self.steps((old_text, old), (new_text, new), &path.then(index), steps)?;
                }
            }
            (Shape::Object(before), Shape::Object(after)) => {
                for member in before {
                    let path = path.then(&*member.key);
                    let same = after.iter().find(|it| it.key == member.key);
                    let Some(same) = same else {
                        match self.has_option_at(&path) {
                            true => steps.push(Step::Remove(path)),
                            false => return refused(&path),
                        }
                        continue;
                    };
                    let (old, new) = (&member.value, &same.value);
                    let begun = steps.len();
                    let inner = self.steps((old_text, old), (new_text, new), &path, steps);
                    if let Err(error) = inner {
                        if !self.has_option_at(&path) {
                            return Err(error);
                        }
                        steps.truncate(begun);
                        steps.push(Step::Replace(path, raw(new_text, new).to_owned()));
                    }
                }
                let is_new = |key: &str| before.iter().all(|it| *it.key != *key);
                for member in after.iter().filter(|it| is_new(&it.key)) {
                    let path = path.then(&*member.key);
                    match self.has_option_at(&path) {
                        true => {
                            let json = raw(new_text, &member.value).to_owned();
                            steps.push(Step::Add(path, json));
                        }
                        false => return refused(&path),
                    }
                }
            }
            _ => return refused(path),
        }
        Ok(())
    }

    /// Whether an option could be at a path of the payload.
    fn has_option_at(&self, path: &Path) -> bool {
        let options = self.base.options_section();
        options.is_some_and(|index| self.is_option(index, path))
    }
}

fn raw<'a>(text: &'a str, node: &Node) -> &'a str {
    text.get(node.span.clone()).unwrap_or_default()
}

fn leaf(kind: LeafKind, raw: &str) -> String {
    match kind {
        LeafKind::String => document::decode(raw).unwrap_or_default(),
        _ => raw.to_owned(),
    }
}
