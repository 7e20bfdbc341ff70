//! The difference that an edit makes, as it stands in a question.

use dunlin_host::call::Action;
use dunlin_host::display::escape;
use dunlin_host::edit::FileEdit;
use dunlin_host::edit::diff::{Change, Diff};

use super::style::Label;

/// How a tab is shown: escaped like other controls it would make most indentation unreadable.
const TAB: &str = "→   ";

/// The lines of all edits with their looks, escaped. Several files are headed by their names.
pub fn lines(actions: &[Action]) -> Vec<(String, Option<Label>)> {
    let edits: Vec<&FileEdit> = actions
        .iter()
        .filter_map(|action| match action {
            Action::Edit(edit) => Some(edit),
            _ => None,
        })
        .collect();
    let mut lines = Vec::new();
    for edit in &edits {
        if edits.len() > 1 {
            let path = shown(&edit.path.to_string_lossy());
            lines.push((path, Some(Label::Target)));
        }
        add(&mut lines, &edit.diff);
    }
    lines
}

fn add(lines: &mut Vec<(String, Option<Label>)>, diff: &Diff) {
    for hunk in &diff.hunks {
        lines.push((hunk.header(), Some(Label::Place)));
        for line in &hunk.lines {
            let text = shown(&format!("{}{}", line.change.mark(), line.text));
            let label = match line.change {
                Change::Kept => None,
                Change::Added => Some(Label::Added),
                Change::Removed => Some(Label::Removed),
            };
            lines.push((text, label));
            if !line.ended {
                let note = "\\ no newline at the end".to_owned();
                lines.push((note, Some(Label::Quiet)));
            }
        }
    }
    if diff.hunks.is_empty() {
        lines.push(("(an empty file)".to_owned(), Some(Label::Quiet)));
    }
}

/// Foreign text that can neither act nor hide, nor leave its line.
fn shown(text: &str) -> String {
    let parts: Vec<_> = text.split('\t').map(escape).collect();
    parts.join(TAB)
}

#[cfg(test)]
mod tests {
    use dunlin_host::edit::ContentHash;

    use super::*;

    fn edit(old: &str, new: &str) -> Action {
        Action::Edit(FileEdit {
            path: "/p/a.rs".into(),
            base: Some(ContentHash::of(old.as_bytes())),
            new: ContentHash::of(new.as_bytes()),
            new_folder: None,
            diff: Diff::between(old, new),
        })
    }

    fn texts(action: &[Action]) -> Vec<String> {
        lines(action).into_iter().map(|(text, _)| text).collect()
    }

    #[test]
    fn changes_are_marked_and_coloured() {
        let action = [edit("a\n\tb\nc", "a\n\tB\nc")];
        assert_eq!(
            lines(&action),
            [
                ("@@ -1,3 +1,3 @@", Some(Label::Place)),
                (" a", None),
                ("-→   b", Some(Label::Removed)),
                ("+→   B", Some(Label::Added)),
                (" c", None),
                ("\\ no newline at the end", Some(Label::Quiet)),
            ]
            .map(|(text, label)| (text.to_owned(), label))
        );
        let both = [edit("a\n", "b\n"), edit("", "")];
        assert_eq!(
            texts(&both),
            [
                "/p/a.rs",
                "@@ -1 +1 @@",
                "-a",
                "+b",
                "/p/a.rs",
                "(an empty file)"
            ]
        );
    }

    #[test]
    fn foreign_lines_neither_act_nor_hide() {
        let new = format!("x\x1b[2J\u{202e}\r\n{}\n", "y".repeat(500));
        let shown = texts(&[edit("", &new)]);
        assert_eq!(shown[1], "+x\\u{1b}[2J\\u{202e}\\r");
        assert_eq!(shown[2].len(), 501);
    }
}
