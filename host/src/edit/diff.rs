//! What an edit changes, as people read it: hunks of lines that go and come, with some around them.

use std::fmt;
use std::ops::Range;
use std::time::Duration;

use similar::{DiffOp, DiffTag, TextDiff};

/// Lines around a change that are shown with it.
const CONTEXT_LINES: usize = 3;

/// How long the smallest difference is searched. After that a larger one will do: it is as true, and
/// texts that take longer have little in common.
const SEARCH_TIME: Duration = Duration::from_millis(200);

/// The difference between two texts.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Diff {
    /// The places where they differ, in order; empty when they do not.
    pub hunks: Vec<Hunk>,
    /// How many lines come.
    pub added: usize,
    /// How many lines go.
    pub removed: usize,
}

/// One place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hunk {
    /// Lines of the old text, counted from 0.
    pub old: Range<usize>,
    /// Lines of the new text, counted from 0.
    pub new: Range<usize>,
    /// The lines.
    pub lines: Vec<DiffLine>,
}

/// One line of a difference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiffLine {
    /// What happens to it.
    pub change: Change,
    /// Without its ending, as it stands in the file: escape before showing. A CR at its end is kept where
    /// not all lines have one.
    pub text: String,
    /// Whether it ends with a newline.
    pub ended: bool,
}

/// What happens to a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// It stays.
    Kept,
    /// It goes.
    Removed,
    /// It comes.
    Added,
}

impl Change {
    /// The character that stands before such a line.
    pub fn mark(self) -> char {
        match self {
            Change::Kept => ' ',
            Change::Removed => '-',
            Change::Added => '+',
        }
    }
}

impl Diff {
    /// Compares two texts. Takes at most some tenths of a second, however large they are.
    pub fn between(old: &str, new: &str) -> Diff {
        let old: Vec<&str> = old.split_inclusive('\n').collect();
        let new: Vec<&str> = new.split_inclusive('\n').collect();
        let compared = TextDiff::configure()
            .timeout(SEARCH_TIME)
            .diff_slices(&old, &new);
        let mut diff = Diff::default();
        for group in compared.grouped_ops(CONTEXT_LINES) {
            diff.hunks.extend(hunk(&group, &old, &new));
        }
        let lines = || diff.hunks.iter().flat_map(|hunk| &hunk.lines);
        diff.added = lines().filter(|line| line.change == Change::Added).count();
        diff.removed = lines()
            .filter(|line| line.change == Change::Removed)
            .count();
        diff.hide_common_returns();
        diff
    }

    /// Where all lines end with CR LF, and did before, the CR says nothing.
    fn hide_common_returns(&mut self) {
        let lines = || self.hunks.iter().flat_map(|hunk| &hunk.lines);
        let is_new = lines().all(|line| line.change == Change::Added);
        if is_new || lines().any(|line| line.ended && !line.text.ends_with('\r')) {
            return;
        }
        for line in self.hunks.iter_mut().flat_map(|hunk| &mut hunk.lines) {
            if line.ended {
                line.text.pop();
            }
        }
    }
}

impl Hunk {
    /// Its heading in a unified diff: `@@ -3,2 +3 @@`.
    pub fn header(&self) -> String {
        let range = |range: &Range<usize>| match range.len() {
            // An empty range is named by the line before it.
            0 => format!("{},0", range.start),
            1 => format!("{}", range.start + 1),
            length => format!("{},{length}", range.start + 1),
        };
        format!("@@ -{} +{} @@", range(&self.old), range(&self.new))
    }
}

/// A unified diff without file names. Not escaped.
impl fmt::Display for Diff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for hunk in &self.hunks {
            writeln!(f, "{}", hunk.header())?;
            for line in &hunk.lines {
                writeln!(f, "{}{}", line.change.mark(), line.text)?;
                if !line.ended {
                    writeln!(f, "\\ No newline at end of file")?;
                }
            }
        }
        Ok(())
    }
}

fn hunk(group: &[DiffOp], old: &[&str], new: &[&str]) -> Option<Hunk> {
    let (first, last) = (group.first()?, group.last()?);
    let mut lines = Vec::new();
    let mut push = |change, texts: &[&str]| {
        lines.extend(texts.iter().map(|text| DiffLine {
            change,
            text: text.strip_suffix('\n').unwrap_or(text).to_owned(),
            ended: text.ends_with('\n'),
        }));
    };
    for op in group {
        match op.tag() {
            DiffTag::Equal => push(Change::Kept, &old[op.old_range()]),
            DiffTag::Delete | DiffTag::Insert | DiffTag::Replace => {
                push(Change::Removed, &old[op.old_range()]);
                push(Change::Added, &new[op.new_range()]);
            }
        }
    }
    Some(Hunk {
        old: first.old_range().start..last.old_range().end,
        new: first.new_range().start..last.new_range().end,
        lines,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_reads_like_one() {
        let check = |old: &str, new: &str, expected: &str| {
            assert_eq!(Diff::between(old, new).to_string(), expected, "{old:?}");
        };
        check("", "", "");
        check("same\n", "same\n", "");
        check("", "a\nb\n", "@@ -0,0 +1,2 @@\n+a\n+b\n");
        check("a\n", "", "@@ -1 +0,0 @@\n-a\n");
        check(
            "1\n2\n3\n4\n5\n6\n7\n8\n9\n",
            "1\n2\n3\n4\nfive\n6\n7\n8\n9\n",
            "@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n",
        );
        check(
            "a",
            "a\n",
            "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n",
        );
        // An ending that all lines share is not shown, one that changes is.
        check("a\r\nb\r\n", "a\r\nc\r\n", "@@ -1,2 +1,2 @@\n a\n-b\n+c\n");
        check("a\r\nb\n", "a\nb\n", "@@ -1,2 +1,2 @@\n-a\r\n+a\n b\n");
        // In a new file it is news.
        check("", "a\r\nb\r\n", "@@ -0,0 +1,2 @@\n+a\r\n+b\r\n");
        // A CR alone ends no line.
        check("a\rb\n", "a\rc\n", "@@ -1 +1 @@\n-a\rb\n+a\rc\n");
    }

    #[test]
    fn far_changes_are_hunks_of_their_own() {
        let old: String = (1..=40).map(|n| format!("{n}\n")).collect();
        let new = old.replace("3\n", "three\n");
        let diff = Diff::between(&old, &new);
        let headers: Vec<String> = diff.hunks.iter().map(Hunk::header).collect();
        assert_eq!(
            headers,
            [
                "@@ -1,6 +1,6 @@",
                "@@ -10,7 +10,7 @@",
                "@@ -20,7 +20,7 @@",
                "@@ -30,7 +30,7 @@"
            ]
        );
        assert_eq!((diff.added, diff.removed), (4, 4));
    }
}
