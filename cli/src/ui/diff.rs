//! The difference that an edit makes, as it stands in a question.

use dunlin_host::call::Action;
use dunlin_host::display::escape;
use dunlin_host::edit::FileEdit;
use dunlin_host::edit::diff::{Change, Diff};

use super::calls::fit;
use super::style::{Label, Styles};

/// How a tab is shown: escaped like other controls it would make most indentation unreadable.
const TAB: &str = "→   ";

/// The lines of all edits, each at most `columns` wide; with `None` nothing is shortened. Several files are
/// headed by their names.
pub fn lines(actions: &[Action], styles: Styles, columns: Option<usize>) -> Vec<String> {
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
            let path = shown(&edit.path.to_string_lossy(), columns);
            lines.push(styles.paint(Label::Target, &path));
        }
        add(&mut lines, &edit.diff, styles, columns);
    }
    lines
}

fn add(lines: &mut Vec<String>, diff: &Diff, styles: Styles, columns: Option<usize>) {
    for hunk in &diff.hunks {
        lines.push(styles.paint(Label::Place, &hunk.header()));
        for line in &hunk.lines {
            let text = shown(&format!("{}{}", line.change.mark(), line.text), columns);
            lines.push(match line.change {
                Change::Kept => text,
                Change::Added => styles.paint(Label::Added, &text),
                Change::Removed => styles.paint(Label::Removed, &text),
            });
            if !line.ended {
                lines.push(styles.paint(Label::Quiet, "\\ no newline at the end"));
            }
        }
    }
    if diff.hunks.is_empty() {
        lines.push(styles.paint(Label::Quiet, "(an empty file)"));
    }
}

/// Foreign text that can neither act nor hide, nor leave its line.
fn shown(text: &str, columns: Option<usize>) -> String {
    let parts: Vec<_> = text.split('\t').map(escape).collect();
    let text = parts.join(TAB);
    match columns {
        Some(columns) => fit(&text, columns),
        None => text,
    }
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

    #[test]
    fn changes_are_marked_and_coloured() {
        let action = [edit("a\n\tb\nc", "a\n\tB\nc")];
        assert_eq!(
            lines(&action, Styles::plain(), Some(40)),
            [
                "@@ -1,3 +1,3 @@",
                " a",
                "-→   b",
                "+→   B",
                " c",
                "\\ no newline at the end"
            ]
        );
        let coloured = lines(&action, Styles::coloured(), Some(40));
        assert_eq!(coloured[2], "\x1b[31m-→   b\x1b[0m");
        assert_eq!(coloured[3], "\x1b[32m+→   B\x1b[0m");
        let both = [edit("a\n", "b\n"), edit("", "")];
        let shown = lines(&both, Styles::plain(), Some(40));
        assert_eq!(
            shown,
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
    fn foreign_lines_neither_act_nor_hide_nor_wrap() {
        let new = format!("x\x1b[2J\u{202e}\r\n{}\n", "y".repeat(500));
        let action = [edit("", &new)];
        let shown = lines(&action, Styles::plain(), Some(40));
        assert_eq!(shown[1], "+x\\u{1b}[2J\\u{202e}\\r");
        assert_eq!(shown[2].chars().count(), 40);
        assert!(shown[2].contains('…'));
        let whole = lines(&action, Styles::plain(), None);
        assert_eq!(whole[2].len(), 501);
    }
}
