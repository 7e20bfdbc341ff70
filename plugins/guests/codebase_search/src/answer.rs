//! What was found, as text: for a model, and for a person who reads over its shoulder.
//!
//! A result is a line `## path:first-last in symbol (score)` and its lines with their numbers, so a line of a file never
//! looks like the head of a result. `dunlin search` reads these heads.

use std::fmt::Write as _;

use dunlin_code_index::{Answer, Hit, Progress, Query};

/// Bytes of the lines of all results together. Of what is beyond only the heads are shown.
const MAX_BYTES: usize = 28_000;

/// Of results that fit less well, only the heads are shown; the best one has 1. They are seldom what the question is about.
const SHOWN_SCORE: f32 = 0.5;

/// How much of the project was searched.
#[derive(Debug, Clone, Default)]
pub struct Coverage {
    /// What the index knows of the files.
    pub progress: Progress,
    /// Files that were left out because somebody would have to be asked.
    pub withheld: u64,
    /// Whether there are more files than a host lists.
    pub is_truncated: bool,
    /// Why the embedding model could not be used.
    pub trouble: Option<String>,
}

/// The whole answer.
pub fn text(query: &Query, answer: &Answer, coverage: &Coverage) -> String {
    let mut text = String::new();
    if answer.hits.is_empty() {
        text += if answer.is_empty_question {
            "No searchable words; describe what the code does."
        } else if query.globs.is_empty() {
            "Nothing in this project has to do with the question. Ask in other words, those that the code itself would use."
        } else {
            "Nothing below target_directories has to do with the question. Ask in other words, or leave them out."
        };
        text.push('\n');
    }
    let mut bytes = 0;
    for hit in &answer.hits {
        if !text.is_empty() {
            text.push('\n');
        }
        head(&mut text, hit);
        if hit.score < SHOWN_SCORE {
            continue;
        }
        bytes += hit.text.len();
        if bytes <= MAX_BYTES {
            lines(&mut text, hit);
        }
    }
    for note in notes(coverage) {
        text.push('\n');
        text += &note;
    }
    text
}

fn head(text: &mut String, hit: &Hit) {
    let Hit {
        path,
        start_line,
        end_line,
        symbol,
        score,
        ..
    } = hit;
    // Writing to a string cannot fail. A name with a line break in it would begin a line of its own.
    let _ = write!(
        text,
        "## {}:{start_line}-{end_line}",
        path.replace(char::is_control, "?")
    );
    if let Some(symbol) = symbol {
        let _ = write!(text, " in {}", symbol.replace(char::is_control, " "));
    }
    let _ = writeln!(text, " ({score:.2})");
}

fn lines(text: &mut String, hit: &Hit) {
    for (line, number) in hit.text.lines().zip(hit.start_line..) {
        let _ = writeln!(text, "{number:>6}\t{line}");
    }
}

/// What the reader has to know about the answer.
fn notes(coverage: &Coverage) -> Vec<String> {
    let Coverage {
        progress,
        withheld,
        is_truncated,
        trouble,
    } = coverage;
    let mut notes = Vec::new();
    if !progress.is_complete() {
        notes.push(format!(
            "This is from {} of {} files: the others are being read. Search again for all of them.",
            progress.indexed, progress.files
        ));
    }
    if progress.left_out > 0 {
        notes.push(format!(
            "{} files are not searched: the index is as large as it may be.",
            progress.left_out
        ));
    }
    if *is_truncated {
        notes.push("The project has more files than are looked at.".to_owned());
    }
    if let Some(trouble) = trouble {
        let trouble = trouble.replace(char::is_control, " ");
        notes.push(format!(
            "The words alone decided: the embedding model could not be used ({trouble})."
        ));
    }
    match withheld {
        0 => {}
        1 => notes.push("1 file was left out: it may not be read without a question.".to_owned()),
        _ => notes.push(format!(
            "{withheld} files were left out: they may not be read without a question."
        )),
    }
    notes
}
