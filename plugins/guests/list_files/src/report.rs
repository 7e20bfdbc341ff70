//! The answer: paths, and where the ones are that had no room.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use dunlin_project_files::{Files, Scope};

/// Bytes of the paths of one answer, about 10,000 tokens.
const MAX_BYTES: usize = 40_000;

/// Folders that are named with the number of their files.
const MAX_FOLDERS: usize = 25;

/// The whole answer.
pub fn text(scope: &Scope, files: &Files, limit: usize, sizes: bool) -> String {
    let all = files.entries.len();
    let mut paths = String::new();
    let mut shown = 0;
    for entry in files.entries.iter().take(limit) {
        let mut line = scope.shown(&entry.path);
        if sizes {
            // Writing to a string cannot fail.
            let _ = write!(line, "  {}", entry.size_bytes);
        }
        if paths.len() + line.len() > MAX_BYTES {
            break;
        }
        paths.push_str(&line);
        paths.push('\n');
        shown += 1;
    }
    let what = match (all, scope.has_globs()) {
        (1, false) => "1 file".to_owned(),
        (1, true) => "1 matching file".to_owned(),
        (count, false) => format!("{count} files"),
        (count, true) => format!("{count} matching files"),
    };
    let mut text = format!("{what} in {}", scope.name());
    match sizes && all > 0 {
        true => text.push_str(", sizes in bytes:\n"),
        false => text.push_str(if all > 0 { ":\n" } else { "\n" }),
    }
    text.push_str(&paths);
    if shown < all {
        let _ = writeln!(
            text,
            "[{} more not listed; narrow the list with path and globs, or raise max_results. All by folder: {}]",
            all - shown,
            folders(files)
        );
    }
    if all == 0 {
        text.push_str(&scope.nothing(files));
    }
    for note in scope.notes(files) {
        let _ = writeln!(text, "[{note}]");
    }
    text
}

/// The folders with the most files, each with their number: those below the folder that holds all files.
fn folders(files: &Files) -> String {
    let paths = || files.entries.iter().map(|entry| entry.path.as_str());
    let first = paths().next().unwrap_or_default();
    let last = paths().next_back().unwrap_or_default();
    // They are sorted: what both ends begin with, all do.
    let common = first
        .bytes()
        .zip(last.bytes())
        .take_while(|(a, b)| a == b)
        .count();
    let common = first.get(..common).and_then(|it| it.rfind('/'));
    let common = common.map_or(0, |at| at + 1);
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for path in paths() {
        let below = path.get(common..).unwrap_or_default();
        let end = below.find('/').map_or(common, |at| common + at + 1);
        let folder = path.get(..end).unwrap_or_default();
        *counts.entry(folder).or_default() += 1;
    }
    let mut counts: Vec<(&str, usize)> = counts.into_iter().collect();
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let more = counts.len().saturating_sub(MAX_FOLDERS);
    let mut parts: Vec<String> = counts
        .iter()
        .take(MAX_FOLDERS)
        .map(|(folder, count)| match *folder {
            "" => format!("./ {count}"),
            folder => format!("{} {count}", folder.replace(char::is_control, "?")),
        })
        .collect();
    if more > 0 {
        parts.push(format!("{more} more folders"));
    }
    parts.join(" · ")
}
