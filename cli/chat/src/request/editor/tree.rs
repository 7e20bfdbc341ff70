//! Editing an object or an array, or the whole request, as JSON text.
//!
//! What such a text comes to are edits of single leaves. What cannot be said by these is refused, and nothing is changed:
//! members and elements that came or went, values of another type.

use super::document::{self, LeafKind, Node, Shape};
use super::edits::{Change, EditError};
use super::model::EditableRequest;
use super::path::Path;

/// A leaf and its new value: the text of a string, or JSON.
type Leaf = (Path, String);

impl EditableRequest {
    /// The object or array at a path of the payload as it would be sent now, as indented JSON.
    ///
    /// # Errors
    /// There is none.
    pub fn tree(&self, path: &str) -> Result<String, EditError> {
        let (_, text) = self.value_at(path)?;
        dunlin_host::json::indented(&text).ok_or_else(|| self.unknown(path))
    }

    /// Sets every leaf below a path in which the JSON `edited` differs, in one step of the history each. Options that the
    /// dialect knows can be added.
    ///
    /// # Errors
    /// The text is not JSON, or differs in more than leaves. Nothing has changed then.
    pub fn set_tree(&mut self, path: &str, edited: &str) -> Result<Vec<Change>, EditError> {
        let (path, text) = self.value_at(path)?;
        if let Err(error) = serde_json::from_str::<serde_json::Value>(edited) {
            return Err(EditError::NotJson(error.to_string()));
        }
        let (old, new) = (document::parse(&text), document::parse(edited));
        let twice = || EditError::NotJson("an object has a key twice".to_owned());
        let (old, new) = old.zip(new).ok_or_else(twice)?;
        let mut leaves = Vec::new();
        differences((&text, &old), (edited, &new), &path, &mut leaves)?;
        let mut request = self.clone();
        let mut changes = Vec::new();
        for (path, value) in leaves {
            changes.push(request.set(&path.to_string(), &value)?);
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
}

/// The leaves in which two values differ.
fn differences(
    (old_text, old): (&str, &Node),
    (new_text, new): (&str, &Node),
    path: &Path,
    leaves: &mut Vec<Leaf>,
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
                leaves.push((path.clone(), leaf(*after, new)));
            }
        }
        (Shape::Array(before), Shape::Array(after)) if before.len() == after.len() => {
            for (index, (old, new)) in before.iter().zip(after).enumerate() {
                differences((old_text, old), (new_text, new), &path.then(index), leaves)?;
            }
        }
        (Shape::Object(before), Shape::Object(after)) => {
            for member in before {
                let path = path.then(&*member.key);
                let same = after.iter().find(|it| it.key == member.key);
                match same {
                    Some(same) => {
                        let (old, new) = (&member.value, &same.value);
                        differences((old_text, old), (new_text, new), &path, leaves)?;
                    }
                    None => return refused(&path),
                }
            }
            let is_added = |key: &str| before.iter().all(|it| *it.key != *key);
            for member in after.iter().filter(|it| is_added(&it.key)) {
                let path = path.then(&*member.key);
                match member.value.shape {
                    Shape::Leaf(kind) => {
                        leaves.push((path, leaf(kind, raw(new_text, &member.value))))
                    }
                    _ => return refused(&path),
                }
            }
        }
        _ => return refused(path),
    }
    Ok(())
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
