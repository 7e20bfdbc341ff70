//! `dunlin search`: asks the project a question from the shell, with the tool that a model uses.

use dunlin_host::display::{escape, escape_multiline};
use serde::Serialize;
use serde_json::json;

use super::tools::by_hand;
use crate::app::App;
use crate::args::SearchArgs;
use crate::error::{CliError, Exit};
use dunlin_chat::provider::ProposedCall;
use dunlin_terminal::ui::style::Label;

/// The file that says that somebody was told of the model.
#[cfg(feature = "local-model")]
const SAID: &str = "search-hint";

const TOOL: &str = "codebase_search";

/// There is nothing to search in.
#[derive(Debug, thiserror::Error)]
#[error("there is no {0:?} in the project")]
struct Nowhere(String);

/// There is nothing to search for.
#[derive(Debug, thiserror::Error)]
#[error("the question is empty; ask a whole one, such as \"How are sessions stored?\"")]
struct NoQuestion;

/// One result, as `--json` prints it.
#[derive(Debug, PartialEq, Serialize)]
struct Found<'a> {
    path: &'a str,
    start_line: u64,
    end_line: u64,
    symbol: Option<&'a str>,
    score: f64,
}

/// Asks, and prints what was found.
///
/// # Errors
/// It was denied, it failed, or it was interrupted.
pub fn run(app: &App, args: &SearchArgs) -> Result<Exit, CliError> {
    let query = args.query.join(" ");
    if query.trim().is_empty() {
        return Err(CliError::usage(NoQuestion));
    }
    let mut arguments = serde_json::Map::new();
    arguments.insert("query".to_owned(), json!(query));
    for within in &args.within {
        let is_glob = within.contains(['*', '?', '[', '{', '!']);
        if !is_glob && !app.settings.project.join(within).exists() {
            return Err(CliError::usage(Nowhere(within.clone())).with_hint(
                "--within takes folders and globs, relative to the project".to_owned(),
            ));
        }
    }
    if !args.within.is_empty() {
        arguments.insert("target_directories".to_owned(), json!(args.within));
    }
    if let Some(count) = args.count {
        arguments.insert("max_results".to_owned(), json!(count));
    }
    let call = ProposedCall::new("by-hand", TOOL.to_owned(), arguments);
    let Some((text, _)) = by_hand(app, call)? else {
        return Ok(Exit::Done);
    };
    let ui = &app.ui;
    if ui.streams().output && !args.json {
        say_once_that_there_is_more(app);
    }
    if args.json {
        let found: Vec<Found<'_>> = text.lines().filter_map(head).collect();
        app.print_json(&found)?;
        // What is not a result is about the search: how much of the project it covers.
        for note in text.lines().filter(|line| is_note(line)) {
            ui.status(&escape(note));
        }
        return Ok(Exit::Done);
    }
    for line in text.lines() {
        match line.strip_prefix("## ").filter(|_| head(line).is_some()) {
            Some(head) => ui.data(&ui.styles().paint(Label::Target, &escape(head))),
            // Tabs are the indentation of the lines of a file.
            None => ui.data(&escape_multiline(line)),
        }
    }
    Ok(Exit::Done)
}

/// Says to whoever searches by words alone, and has not chosen to, that there is a model: the first time.
#[cfg(feature = "local-model")]
fn say_once_that_there_is_more(app: &App) {
    let settings = &app.settings;
    let embedder = crate::host_options::embedding::embedder(settings);
    let is_semantic = embedder.is_some_and(|embedder| embedder.name().is_some());
    let said = settings.folders.data.join(SAID);
    if is_semantic || settings.codebase_search.is_some() || said.exists() {
        return;
    }
    // Where that cannot be noted, nobody is told each time.
    if std::fs::write(&said, "").is_ok() {
        let name = crate::models::EMBEDDING_MODEL.name;
        app.ui.status(&format!(
            "this search goes by words alone; `dunlin model pull {name}` adds what they mean"
        ));
    }
}

#[cfg(not(feature = "local-model"))]
fn say_once_that_there_is_more(_app: &App) {}

/// Reads `## path:first-last in symbol (score)`; the lines of a file never look like that, they begin with their number.
fn head(line: &str) -> Option<Found<'_>> {
    let (rest, score) = line
        .strip_prefix("## ")?
        .strip_suffix(')')?
        .rsplit_once(" (")?;
    let score: f64 = score.parse().ok()?;
    // A path may hold ` in `, and a symbol a colon: what ends with the lines is the path.
    let at_lines = |at: usize| {
        let (path, rest) = (&rest[..at], &rest[at + 1..]);
        let (lines, symbol) = match rest.split_once(" in ") {
            Some((lines, symbol)) => (lines, Some(symbol)),
            None => (rest, None),
        };
        let (first, last) = lines.split_once('-')?;
        Some(Found {
            path,
            start_line: first.parse().ok()?,
            end_line: last.parse().ok()?,
            symbol,
            score,
        })
    };
    rest.match_indices(':').find_map(|(at, _)| at_lines(at))
}

fn is_note(line: &str) -> bool {
    !line.is_empty() && !line.starts_with("## ") && !line.starts_with(' ') && {
        // The lines of a file begin with their number, also where it has more than five digits.
        !line.starts_with(|letter: char| letter.is_ascii_digit())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_are_read_whatever_the_names() {
        for (line, path, symbol) in [
            (
                "## src/a.rs:3-9 in fn read (0.83)",
                "src/a.rs",
                Some("fn read"),
            ),
            ("## a in b.rs:3-9 (0.83)", "a in b.rs", None),
            (
                "## a:b.rs:3-9 in A::b (x) (0.83)",
                "a:b.rs",
                Some("A::b (x)"),
            ),
        ] {
            let expected = Found {
                path,
                start_line: 3,
                end_line: 9,
                symbol,
                score: 0.83,
            };
            assert_eq!(head(line), Some(expected), "{line}");
        }
        for line in [
            "   10 ## src/evil.rs:1-2 (1.00)",
            "## no lines (1.00)",
            "## a.rs:1-2",
            "## a.rs:1-x (0.5)",
            "",
        ] {
            assert_eq!(head(line), None, "{line}");
        }
    }

    #[test]
    fn what_is_said_about_the_search_is_no_line_of_a_file() {
        assert!(is_note(
            "This is from 3 of 9 files: the others are being read."
        ));
        for line in ["", "   10 code", "123456 code", "## a.rs:1-2 (0.50)"] {
            assert!(!is_note(line), "{line}");
        }
    }
}
