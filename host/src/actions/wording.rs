//! What a plan does, as one question in the host's own words.

use crate::bindings::declared::DeclaredAction;
use crate::display::listed;
use crate::edit::FileChange;

/// Of so many changes a question says each.
const MOST_IN_WORDS: usize = 4;

/// What is done to files and folders, in the order in which a question counts it.
const COUNTED: [(&str, &str, &str); 6] = [
    ("create", "file", "files"),
    ("edit", "file", "files"),
    ("remove", "file", "files"),
    ("rename", "file", "files"),
    ("make", "folder", "folders"),
    ("remove", "empty folder", "empty folders"),
];

/// One action, in the words of a question.
#[derive(Debug)]
pub(super) struct Step {
    /// With names: `rename file 'a' to 'b'`.
    words: String,
    /// What it says where it is the only one.
    alone: String,
    /// What is done, and to what; `None`: a command is run.
    counted: Option<(&'static str, &'static str)>,
}

impl Step {
    pub(super) fn of(action: &DeclaredAction) -> Step {
        match action {
            DeclaredAction::Command(command) => {
                let words = format!("run command: {}", command.line);
                Step {
                    alone: asked(&words),
                    words,
                    counted: None,
                }
            }
            DeclaredAction::Edit { path, change } => {
                let phrase = change.phrase();
                Step {
                    words: change.in_words(path),
                    alone: alone(path, change),
                    counted: Some((phrase.infinitive, phrase.object)),
                }
            }
            DeclaredAction::EditLater { path } => {
                let words = format!("edit file '{path}'");
                Step {
                    alone: asked(&words),
                    words,
                    counted: Some(("edit", "file")),
                }
            }
        }
    }

    /// It makes the file that it is said to change.
    pub(super) fn creates(&mut self, path: &str) {
        self.words = format!("create file '{path}'");
        self.alone = asked(&self.words);
        self.counted = Some(("create", "file"));
    }

    /// Whether it changes or makes a file, and no more.
    fn is_of_content(&self) -> bool {
        matches!(self.counted, Some(("create" | "edit", _)))
    }
}

/// The question about all of them: each is said, or they are counted.
pub(super) fn of(steps: &[Step]) -> String {
    if let [only] = steps {
        return only.alone.clone();
    }
    let is_counted = steps.iter().all(|step| step.counted.is_some());
    if steps.iter().all(Step::is_of_content) || is_counted && steps.len() > MOST_IN_WORDS {
        return asked(&counts(steps));
    }
    let words: Vec<&str> = steps.iter().map(|step| step.words.as_str()).collect();
    asked(&words.join(", and "))
}

/// `create 2 and edit 5 files, and make 1 folder`.
fn counts(steps: &[Step]) -> String {
    let mut objects: Vec<(&str, String, Vec<String>)> = Vec::new();
    for (verb, object, plural) in COUNTED {
        let is_it = |step: &&Step| step.counted == Some((verb, object));
        let count = steps.iter().filter(is_it).count();
        if count == 0 {
            continue;
        }
        let noun = if count == 1 { object } else { plural };
        let part = format!("{verb} {count}");
        match objects.last_mut().filter(|(last, ..)| *last == object) {
            // The noun agrees with the number before it.
            Some((_, last, parts)) => {
                noun.clone_into(last);
                parts.push(part);
            }
            None => objects.push((object, noun.to_owned(), vec![part])),
        }
    }
    let objects = objects.iter();
    let objects = objects.map(|(_, noun, parts)| format!("{} {noun}", listed(parts)));
    objects.collect::<Vec<_>>().join(", and ")
}

/// As a question: `Remove file 'a'?`
fn asked(words: &str) -> String {
    let mut question = format!("{words}?");
    // The first letter is ours, and ASCII.
    if let Some(first) = question.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    question
}

fn alone(path: &str, change: &FileChange) -> String {
    match change {
        FileChange::Lines(edits) if edits.len() == 1 => format!("Edit file '{path}' with 1 edit?"),
        FileChange::Lines(edits) => format!("Edit file '{path}' with {} edits?", edits.len()),
        FileChange::Append(_) => format!("Append to file '{path}'?"),
        FileChange::Texts(edits) if edits.len() == 1 => format!("Replace text in file '{path}'?"),
        FileChange::Texts(edits) => format!("Replace {} texts in file '{path}'?", edits.len()),
        FileChange::AllLines(_) | FileChange::Write(_) | FileChange::WriteBytes(_) => {
            format!("Rewrite file '{path}'?")
        }
        change => asked(&change.in_words(path)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(change: FileChange) -> Step {
        let path = "a".to_owned();
        Step::of(&DeclaredAction::Edit { path, change })
    }

    #[test]
    fn several_changes_are_counted_by_what_they_do() {
        let edit = || step(FileChange::Append("x".to_owned()));
        let create = || {
            let mut step = edit();
            step.creates("b");
            step
        };
        let remove = || step(FileChange::Remove);
        let rename = || step(FileChange::Rename { to: "c".to_owned() });
        let several = |make: &dyn Fn() -> Step, count| (0..count).map(|_| make()).collect();
        let check = |steps: Vec<Vec<Step>>, question: &str| {
            let steps: Vec<Step> = steps.into_iter().flatten().collect();
            assert_eq!(of(&steps), question);
        };
        check(vec![several(&create, 1)], "Create file 'b'?");
        check(vec![several(&create, 7)], "Create 7 files?");
        check(vec![several(&edit, 2)], "Edit 2 files?");
        check(
            vec![several(&edit, 5), several(&create, 2)],
            "Create 2 and edit 5 files?",
        );
        check(
            vec![several(&edit, 1), several(&create, 1)],
            "Create 1 and edit 1 file?",
        );
        // A few names are said.
        check(
            vec![vec![create(), remove(), rename()]],
            "Create file 'b', and remove file 'a', and rename file 'a' to 'c'?",
        );
        check(
            vec![
                several(&remove, 1),
                several(&edit, 3),
                several(&create, 2),
                several(&rename, 1),
            ],
            "Create 2, edit 3, remove 1 and rename 1 file?",
        );
        check(
            vec![
                several(&|| step(FileChange::CreateFolder), 1),
                several(&remove, 2),
                several(&|| step(FileChange::RemoveFolder), 2),
            ],
            "Remove 2 files, and make 1 folder, and remove 2 empty folders?",
        );
    }
}
