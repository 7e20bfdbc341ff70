//! What the model wants changed.

use dunlin_sdk::files::{LineEdit, TextEdit};
use dunlin_sdk::{Failure, Plan};
use serde::Deserialize;

/// The arguments of one call.
#[derive(Debug, Clone, Deserialize)]
pub struct Arguments {
    file_path: String,
    edits: Vec<Edit>,
}

/// One change as the model writes it: of lines, or of a text.
#[derive(Debug, Clone, Deserialize)]
struct Edit {
    range: Option<[i64; 2]>,
    replacement: Option<String>,
    old_text: Option<String>,
    new_text: Option<String>,
    #[serde(default)]
    replace_all: bool,
}

/// The changes of one call for the host, which checks how they fit together and into the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Edits {
    Lines(Vec<LineEdit>),
    Texts(Vec<TextEdit>),
}

impl Edits {
    /// What the call needs. Reading is for the answer, which shows the new lines with some around them.
    pub fn plan(self, path: &str) -> Plan {
        let plan = Plan::of_actions().reads(path);
        match self {
            Self::Lines(edits) => plan.edits(path, edits),
            Self::Texts(edits) => plan.replaces_texts(path, edits),
        }
    }
}

/// One change, understood.
enum Checked {
    Lines(LineEdit),
    Text(TextEdit),
}

impl Arguments {
    /// The path of the file, never empty.
    pub fn path(&self) -> Result<&str, Failure> {
        match self.file_path.as_str() {
            "" => Err(Failure::invalid_arguments(
                "file_path: it is empty; give the path of a file",
            )),
            path => Ok(path),
        }
    }

    /// The edits, all of one kind: of lines, or of texts.
    pub fn edits(&self) -> Result<Edits, Failure> {
        let (mut lines, mut texts) = (Vec::new(), Vec::new());
        for (edit, number) in self.edits.iter().zip(1..) {
            match edit.checked(number)? {
                Checked::Lines(edit) => lines.push(edit),
                Checked::Text(edit) => texts.push(edit),
            }
        }
        match (lines.is_empty(), texts.is_empty()) {
            (true, true) => Err(Failure::invalid_arguments(
                "edits: the list is empty; give at least one edit",
            )),
            (false, true) => Ok(Edits::Lines(lines)),
            (true, false) => Ok(Edits::Texts(texts)),
            (false, false) => Err(Failure::invalid_arguments(
                "edits: some have a range and some an old_text; use one of them for all edits of a call",
            )),
        }
    }
}

impl Edit {
    fn checked(&self, number: usize) -> Result<Checked, Failure> {
        let wrong = |problem: &str| Failure::invalid_arguments(format!("edit {number}: {problem}"));
        match (self.range, &self.old_text) {
            (Some(_), Some(_)) => Err(wrong("it has both range and old_text; leave one out")),
            (None, None) => Err(wrong(
                "it has neither old_text nor range; give the text or the lines to replace",
            )),
            (Some(range), None) => {
                let replacement = self.replacement.clone();
                let replacement = replacement.ok_or_else(|| {
                    wrong("replacement is missing; give the new lines, or \"\" to remove")
                })?;
                if self.new_text.is_some() || self.replace_all {
                    return Err(wrong(
                        "new_text and replace_all belong to old_text, not to range",
                    ));
                }
                lines(number, range, replacement).map(Checked::Lines)
            }
            (None, Some(old)) => {
                let new = self.new_text.clone();
                let new = new.ok_or_else(|| {
                    wrong("new_text is missing; give the new text, or \"\" to remove")
                })?;
                if self.replacement.is_some() {
                    return Err(wrong("replacement belongs to range; write new_text"));
                }
                if old.is_empty() {
                    return Err(wrong(
                        "old_text is empty; give the text to replace, or use write_file for a new file",
                    ));
                }
                Ok(Checked::Text(TextEdit {
                    old: old.clone(),
                    new,
                    every: self.replace_all,
                }))
            }
        }
    }
}

fn lines(number: usize, [first, end]: [i64; 2], replacement: String) -> Result<LineEdit, Failure> {
    let line =
        |line: i64| {
            u64::try_from(line).ok().filter(|&line| line > 0).ok_or_else(|| {
            Failure::invalid_arguments(format!(
                "edit {number}: range [{first}, {end}] names line {line}; lines count from 1"
            ))
        })
        };
    Ok(LineEdit {
        first: line(first)?,
        end: line(end)?,
        replacement,
    })
}
