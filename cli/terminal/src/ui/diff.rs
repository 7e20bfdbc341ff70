//! What an edit does, as it stands in a question: the difference that it makes, and what is not told by lines.

use dunlin_host::ask::Question;
use dunlin_host::call::Action;
use dunlin_host::edit::diff::{Change, Diff};
use dunlin_host::edit::{ContentHash, EditKind, FileEdit};
use dunlin_host::target::Need;

use super::calls::fit;
use super::dump;
use super::foreign_line;
use super::style::Label;
use super::wrap;
use crate::approval::look::Window;
use crate::approval::text::{BAR, BAR_COLUMNS};
use dunlin_chat::turn::{ChangedLines, Changes};

/// What stands before the bar.
const ROW_MARGIN: &str = "  ";

/// The lines of all edits with their looks, escaped. Several files are headed by their names. `whole`: of what is not text
/// more than the beginning.
pub fn lines(actions: &[Action], whole: bool) -> Vec<(String, Option<Label>)> {
    lines_of(&edits(actions), whole)
}

/// Whether the question leaves out some bytes that are not text.
pub fn is_cut(actions: &[Action]) -> bool {
    edits(actions).iter().any(|edit| match &edit.kind {
        EditKind::Bytes { start, .. } => start.len() > dump::FEW_BYTES,
        _ => false,
    })
}

/// The edits among these.
fn edits(actions: &[Action]) -> Vec<&FileEdit> {
    let edits = actions.iter().filter_map(|action| match action {
        Action::Edit(edit) => Some(edit),
        _ => None,
    });
    edits.collect()
}

/// A file of a question, in one row.
#[derive(Debug)]
pub struct ListedFile {
    /// What is done to it.
    pub verb: &'static str,
    /// Its name and how much of it changes. Escaped.
    pub text: String,
    needs: Vec<Need>,
}

impl ListedFile {
    /// Whether the row says of what this need is.
    pub fn says(&self, need: &Need) -> bool {
        self.needs.contains(need)
    }
}

/// The files of a question about several, which are an overview of its difference; none where it is about one.
pub fn files(question: &Question) -> Vec<ListedFile> {
    let edits = edits(&question.actions);
    let listed = |edit: &&FileEdit| {
        let mut text = edit.path.to_string_lossy().into_owned();
        match &edit.kind {
            EditKind::Renamed(to) => text = format!("{text} → {}", to.display()),
            EditKind::Bytes { .. } => text.push_str("  not text"),
            EditKind::Text => {
                if let Some(lines) = ChangedLines::of([*edit]) {
                    text = format!("{text}  {lines}");
                }
            }
            EditKind::Link(_) | EditKind::Folder => {}
        }
        // A folder that is made for it has a row of its own.
        let mut needs = edit.needs();
        needs.retain(|need| edit.paths().any(|path| need.target.path() == Some(path)));
        let is_open = needs.iter().any(|it| question.needs.contains(it));
        if !is_open {
            text.push_str(", allowed already");
        }
        let is_new = edit.base.is_none() && edit.is_of_text();
        ListedFile {
            verb: match is_new {
                true => "create",
                false => edit.phrase().infinitive,
            },
            text: foreign_line::shown(&text),
            needs,
        }
    };
    match edits.len().min(question.needs.len()) {
        0 | 1 => Vec::new(),
        _ => edits.iter().map(listed).collect(),
    }
}

/// A row for each file that is edited: its name, and how many lines come and go.
pub fn counts(actions: &[Action]) -> Vec<String> {
    let row = |edit: &FileEdit| {
        let path = foreign_line::shown(&edit.path.to_string_lossy());
        format!("{path}  {}", count([edit]))
    };
    edits(actions).into_iter().map(row).collect()
}

/// A sentence for each file that does not parse any more. Not escaped.
pub fn broken(actions: &[Action]) -> Vec<String> {
    let edits = edits(actions).into_iter();
    edits.filter_map(FileEdit::broken).collect()
}

/// How many lines come and go in all of them, and what else happens: `+12 −3`, `+0 −12, 1 removed`.
pub fn count<'a>(edits: impl IntoIterator<Item = &'a FileEdit>) -> String {
    Changes::of(edits).map_or_else(String::new, |changes| changes.to_string())
}

/// The rows of edits that were made, behind the bar, at most so many: what is left out is the last. The number of those.
pub fn rows(edits: &[FileEdit], most: usize, window: Window) -> (Vec<String>, usize) {
    let edits: Vec<&FileEdit> = edits.iter().collect();
    let lines = lines_of(&edits, false);
    let room = window
        .columns
        .saturating_sub(ROW_MARGIN.len() + BAR_COLUMNS + 1);
    let bar = window.styles.paint(Label::Quiet, BAR);
    let row = |(text, label): &(String, Option<Label>)| {
        let text = fit(text, room);
        let text = match label {
            Some(label) => window.styles.paint(*label, &text),
            None => text,
        };
        format!("{ROW_MARGIN}{bar}{text}")
    };
    let shown = lines.iter().take(most).map(row).collect();
    (shown, lines.len().saturating_sub(most))
}

/// The rows of the difference between two foreign texts, behind a margin and the bar; whole lines, in as many rows as they
/// need. Without a difference, nothing.
pub fn rows_between(old: &str, new: &str, margin: usize, window: Window) -> Vec<String> {
    let diff = Diff::between(old, new);
    let mut lines = Vec::new();
    if !diff.hunks.is_empty() {
        add(&mut lines, &diff);
    }
    let room = window.columns.saturating_sub(margin + BAR_COLUMNS + 1);
    let bar = window.styles.paint(Label::Quiet, BAR);
    let mut rows = Vec::new();
    for (text, label) in lines {
        for row in wrap::rows(&text, room) {
            let row = match label {
                Some(label) => window.styles.paint(label, &row),
                None => row,
            };
            rows.push(format!("{:margin$}{bar}{row}", ""));
        }
    }
    rows
}

fn lines_of(edits: &[&FileEdit], whole: bool) -> Vec<(String, Option<Label>)> {
    let mut lines = Vec::new();
    for edit in edits {
        if edits.len() > 1 {
            let path = foreign_line::shown(&edit.path.to_string_lossy());
            lines.push((path, Some(Label::Target)));
        }
        // Whatever the tool's question is: that a file goes is in Dunlin's own words.
        if let Some(what) = heading(edit) {
            lines.push((what, Some(Label::Place)));
        }
        match &edit.kind {
            EditKind::Text => add(&mut lines, &edit.diff),
            EditKind::Bytes {
                before,
                after,
                start,
            } => {
                lines.extend(sizes(edit, (*before, *after)).map(|row| (row, Some(Label::Quiet))));
                let shown = if *after > 0 { *after } else { *before };
                let all = usize::try_from(shown).unwrap_or(usize::MAX);
                dump::add(&mut lines, start, all, whole);
            }
            EditKind::Renamed(_) | EditKind::Folder => {}
            EditKind::Link(to) => {
                let to = foreign_line::shown(&format!("  leads to {}", to.display()));
                lines.push((to, None));
            }
        }
    }
    lines
}

/// What happens to a file beside a change of its text.
fn heading(edit: &FileEdit) -> Option<String> {
    let phrase = edit.phrase();
    let what = format!("{} the {}", phrase.present, phrase.object);
    match (&edit.kind, edit.new) {
        (EditKind::Renamed(to), _) => {
            let names = format!("{} → {}", edit.path.display(), to.display());
            Some(format!("{what}: {}", foreign_line::shown(&names)))
        }
        (EditKind::Bytes { after: 0, .. }, Some(_)) => Some("empties the file".to_owned()),
        (EditKind::Bytes { .. }, Some(_)) => Some("not all of it is text".to_owned()),
        (EditKind::Text, Some(_)) => None,
        _ => Some(what),
    }
}

/// `before: 1,234 bytes, SHA-256 …`, where there is something before, and the same for afterwards.
fn sizes(edit: &FileEdit, (before, after): (u64, u64)) -> impl Iterator<Item = String> {
    let row = |when, bytes, hash: Option<ContentHash>| {
        let size = dump::counted(bytes);
        hash.map(|hash| format!("{when}: {size}, SHA-256 {}", hash.to_hex()))
    };
    let rows = [
        row("before", before, edit.base),
        row("afterwards", after, edit.new),
    ];
    rows.into_iter().flatten()
}

fn add(lines: &mut Vec<(String, Option<Label>)>, diff: &Diff) {
    for hunk in &diff.hunks {
        lines.push((hunk.header(), Some(Label::Place)));
        for line in &hunk.lines {
            let text = foreign_line::shown(&format!("{}{}", line.change.mark(), line.text));
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

#[cfg(test)]
mod tests {
    use dunlin_host::edit::{FileChange, Syntax};

    use super::*;

    fn edit(old: &str, new: &str) -> Action {
        Action::Edit(FileEdit {
            path: "/p/a.rs".into(),
            base: Some(ContentHash::of(old.as_bytes())),
            new: Some(ContentHash::of(new.as_bytes())),
            new_folder: None,
            diff: Diff::between(old, new),
            kind: EditKind::Text,
            syntax: Syntax::default(),
            change: FileChange::Write(String::new()).into(),
            hook: None,
        })
    }

    fn texts(action: &[Action]) -> Vec<String> {
        lines(action, false)
            .into_iter()
            .map(|(text, _)| text)
            .collect()
    }

    #[test]
    fn changes_are_marked_and_coloured() {
        let action = [edit("a\n\tb\nc", "a\n\tB\nc")];
        assert_eq!(
            lines(&action, false),
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

    fn changed(action: Action, change: impl FnOnce(&mut FileEdit)) -> Action {
        let Action::Edit(mut edit) = action else {
            panic!("no edit");
        };
        change(&mut edit);
        Action::Edit(edit)
    }

    #[test]
    fn a_removal_says_so() {
        let removed = |action| {
            changed(action, |edit| {
                edit.new = None;
                edit.change = FileChange::Remove.into();
            })
        };
        let text = [removed(edit("a\n", ""))];
        let shown = ["removes the file", "@@ -1 +0,0 @@", "-a"];
        assert_eq!(texts(&text), shown);
        assert_eq!(counts(&text), ["/p/a.rs  +0 −1, 1 removed"]);
        let link = changed(removed(edit("", "")), |edit| {
            edit.kind = EditKind::Link("../b\u{1b}".into());
        });
        let shown = ["removes the symbolic link", "  leads to ../b\\u{1b}"];
        assert_eq!(texts(&[link]), shown);
        let bytes = changed(removed(edit("\0", "")), |edit| {
            edit.kind = EditKind::Bytes {
                before: 100,
                after: 0,
                start: vec![0xff; 100].into(),
            };
        });
        let shown = texts(&[bytes]);
        assert_eq!(shown[0], "removes the file");
        assert_eq!(
            shown[1],
            format!(
                "before: 100 bytes, SHA-256 {}",
                ContentHash::of(b"\0").to_hex()
            )
        );
        assert_eq!(shown[6], "… 36 more bytes: v shows more of them");
    }

    #[test]
    fn a_file_that_becomes_empty_says_so() {
        let emptied = changed(edit("\0", ""), |edit| {
            edit.kind = EditKind::Bytes {
                before: 1,
                after: 0,
                start: vec![0xff].into(),
            };
        });
        let shown = texts(&[emptied]);
        assert_eq!(shown[0], "empties the file");
        assert!(shown[1].starts_with("before: 1 byte, "), "{shown:?}");
        assert!(shown[2].starts_with("afterwards: 0 bytes, "), "{shown:?}");
    }

    #[test]
    fn names_that_change_are_said() {
        let of = |kind, change: FileChange, new: Option<&str>| {
            let action = changed(edit("", ""), |edit| {
                edit.kind = kind;
                edit.change = change.into();
                edit.new = new.map(|new| ContentHash::of(new.as_bytes()));
            });
            (texts(std::slice::from_ref(&action)), counts(&[action]))
        };
        let (rows, count) = of(
            EditKind::Renamed("/p/b\u{1b}.rs".into()),
            FileChange::Rename { to: "b".into() },
            None,
        );
        assert_eq!(rows, ["renames the file: /p/a.rs → /p/b\\u{1b}.rs"]);
        assert_eq!(count, ["/p/a.rs  1 renamed"]);
        let (rows, count) = of(EditKind::Folder, FileChange::CreateFolder, Some(""));
        assert_eq!(rows, ["makes the folder"]);
        assert_eq!(count, ["/p/a.rs  1 folder"]);
        let (rows, count) = of(EditKind::Folder, FileChange::RemoveFolder, None);
        assert_eq!(rows, ["removes the empty folder"]);
        assert_eq!(count, ["/p/a.rs  1 folder removed"]);
        let Action::Edit(folder) = changed(edit("", ""), |edit| {
            edit.kind = EditKind::Folder;
            edit.new = None;
        }) else {
            panic!("no edit");
        };
        assert_eq!(super::count([&folder, &folder]), "2 folders removed");
    }

    #[test]
    fn foreign_lines_neither_act_nor_hide() {
        let new = format!("x\x1b[2J\u{202e}\r\n{}\n", "y".repeat(500));
        let shown = texts(&[edit("", &new)]);
        assert_eq!(shown[1], "+x\\u{1b}[2J\\u{202e}\\r");
        assert_eq!(shown[2].len(), 501);
    }
}
