//! What the model wants changed.

use dunlin_sdk::Failure;
use dunlin_sdk::files::LineEdit;
use serde::Deserialize;

/// The arguments of one call.
#[derive(Debug, Clone, Deserialize)]
pub struct Arguments {
    file_path: String,
    edits: Vec<Edit>,
}

/// One change as the model writes it.
#[derive(Debug, Clone, Deserialize)]
struct Edit {
    range: [i64; 2],
    replacement: String,
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

    /// The edits for the host, which checks how they fit together and into the file.
    pub fn edits(&self) -> Result<Vec<LineEdit>, Failure> {
        if self.edits.is_empty() {
            return Err(Failure::invalid_arguments(
                "edits: the list is empty; give at least one edit",
            ));
        }
        let edits = self.edits.iter().zip(1..);
        edits.map(|(edit, number)| edit.checked(number)).collect()
    }
}

impl Edit {
    fn checked(&self, number: usize) -> Result<LineEdit, Failure> {
        let [first, end] = self.range;
        let line = |line: i64| {
            u64::try_from(line).ok().filter(|&line| line > 0).ok_or_else(|| {
                Failure::invalid_arguments(format!(
                    "edit {number}: range [{first}, {end}] names line {line}; lines count from 1"
                ))
            })
        };
        Ok(LineEdit {
            first: line(first)?,
            end: line(end)?,
            replacement: self.replacement.clone(),
        })
    }
}
