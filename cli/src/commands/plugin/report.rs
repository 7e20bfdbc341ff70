//! What is shown of a plugin, before and after it is installed. All of its words are foreign.

use std::collections::BTreeMap;

use dunlin_host::Tool;
use dunlin_host::display::{escape, shorten, size};
use dunlin_host::limits::CONTRACT;
use dunlin_host::metadata::Metadata;

use super::changes::version;
use crate::plugin::examine::{Examined, Tried};
use crate::plugin::in_words;
use crate::plugin::installed::Record;
use crate::plugin::wording::for_model;
use dunlin_terminal::approval::look::Window;
use dunlin_terminal::approval::text::BAR;
use dunlin_terminal::ui::style::Label;
use dunlin_terminal::ui::wrap;

/// Columns of what stands before the first item of a list.
const HEADING_COLUMNS: usize = 11;

/// Columns of a name within a list.
const NAME_COLUMNS: usize = 16;

/// Characters of a question and of what else is only shown here.
const MAX_WORDS_CHARS: usize = 200;

/// What it holds and may ask for, in rows for the window.
pub fn rows(examined: &Examined, window: Window) -> Vec<String> {
    let mut rows = vec![format!(
        "{} · {} · ready in {} ms",
        window.styles.paint(Label::Name, &escape(&examined.name)),
        size(examined.bytes.len() as u64),
        examined.took.as_millis()
    )];
    rows.extend(about(&examined.metadata, window));
    let mut row = |heading: &str, name: &str, words: &str| {
        rows.extend(row(heading, name, words, window));
    };
    row("from", "", &examined.source);
    row("sha256", "", &examined.digest);
    if let Some(signer) = &examined.signer {
        row(
            "signed",
            "",
            &format!("with the pinned key sha256:{signer}"),
        );
    }
    // No other is loaded.
    row("contract", "", &format!("dunlin:tool {CONTRACT}"));
    let tools: Vec<&str> = examined
        .tools
        .iter()
        .map(|tool| tool.name.as_str())
        .collect();
    row("tools", "", &tools.join(", "));
    rows.extend(abilities(&examined.abilities(), window));
    rows.extend(declared_permissions_rows(
        examined.declared_permissions.as_ref(),
        window,
    ));
    let said = examined.tried.iter().map(|(tool, tried)| {
        let said = match tried {
            Tried::Asks(question) => format!("asks: {question}"),
            Tried::Allowed => "needs nothing that is not allowed".to_owned(),
            Tried::Refuses(said) => format!("refuses the made-up call: {said}"),
            Tried::Broke(problem) => format!("broke: it {problem}"),
        };
        (tool.as_str(), said)
    });
    rows.extend(list("tried", said, window));
    rows.extend(model_reads(&examined.tools, window));
    rows
}

/// What is known of an installed plugin, in rows for the window.
pub fn installed(record: &Record, tools: &[Tool], window: Window) -> Vec<String> {
    let name = window.styles.paint(Label::Name, &escape(&record.name));
    let before = match &record.previous {
        Some(previous) => format!("{}: plugin rollback goes back to it", version(previous)),
        None => "no version is kept".to_owned(),
    };
    let mut rows = vec![format!("{name} · {}", size(record.bytes))];
    rows.extend(about(&record.metadata, window));
    for (heading, text) in [
        ("origin", &record.origin),
        ("from", &record.source),
        ("sha256", &record.digest),
        ("installed", &record.installed),
        ("before", &before),
        ("tools", &record.tools.join(", ")),
    ] {
        rows.extend(row(heading, "", text, window));
    }
    if let Some(signer) = &record.signer {
        let signed = format!("with the pinned key sha256:{signer}");
        rows.extend(row("signed", "", &signed, window));
    }
    rows.extend(abilities(&record.abilities, window));
    rows.extend(declared_permissions_rows(
        record.declared_permissions.as_ref(),
        window,
    ));
    if !tools.is_empty() {
        rows.extend(model_reads(tools, window));
    }
    rows
}

/// What its author says of it for people.
fn about(metadata: &Metadata, window: Window) -> Vec<String> {
    const HEADINGS: [&str; 6] = [
        "version", "about", "authors", "licence", "homepage", "source",
    ];
    let texts = HEADINGS.into_iter().zip(metadata.texts());
    texts
        .filter_map(|(heading, (_, text))| Some(row(heading, "", text?, window)))
        .flatten()
        .collect()
}

fn abilities(abilities: &[String], window: Window) -> Vec<String> {
    if abilities.is_empty() {
        return row(
            "abilities",
            "none",
            "it computes, and touches nothing",
            window,
        );
    }
    // Streams are a way to use the others.
    let abilities = abilities.iter().filter(|ability| *ability != "wasi:io");
    let in_words = abilities.map(|it| (it.as_str(), in_words(it).unwrap_or_default().to_owned()));
    list("abilities", in_words, window)
}

/// What a plugin says that it may ever ask for.
fn declared_permissions_rows(
    declared_permissions: Option<&BTreeMap<String, String>>,
    window: Window,
) -> Vec<String> {
    match declared_permissions {
        None => {
            let all = "whatever its abilities reach: it declares no permissions";
            row("may ask", "", all, window)
        }
        Some(declared_permissions) if declared_permissions.is_empty() => {
            row("may ask", "", "nothing at all", window)
        }
        Some(declared_permissions) => {
            let targets = declared_permissions
                .iter()
                .map(|(target, bits)| (bits.as_str(), target.clone()));
            list("may ask", targets, window)
        }
    }
}

/// Names and what is said of each; the heading stands before the first.
fn list<'a>(
    heading: &str,
    items: impl Iterator<Item = (&'a str, String)>,
    window: Window,
) -> Vec<String> {
    let headings = std::iter::once(heading).chain(std::iter::repeat(""));
    headings
        .zip(items)
        .flat_map(|(heading, (name, words))| row(heading, name, &words, window))
        .collect()
}

/// All that the model will read of the tools, in full: whoever agrees to a plugin agrees to these words.
fn model_reads(tools: &[Tool], window: Window) -> Vec<String> {
    let columns = window.columns.saturating_sub(1);
    let sentence =
        "The model reads this with each request, and follows it. Dunlin does not judge it:";
    let mut rows = wrap::hanging("  ", 2, sentence, columns);
    for tool in tools {
        let name = window.styles.paint(Label::Name, &escape(&tool.name));
        rows.push(format!("    {name}"));
        for line in for_model(tool).lines() {
            rows.extend(foreign(&format!("    {BAR}"), line, 4, window));
        }
    }
    rows
}

fn row(heading: &str, name: &str, words: &str, window: Window) -> Vec<String> {
    let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
    let words = shorten(&words, MAX_WORDS_CHARS);
    let heading = format!("  {heading:<HEADING_COLUMNS$}");
    let margin = heading.len();
    let heading = window.styles.paint(Label::Quiet, &heading);
    let text = match name {
        "" => words.into_owned(),
        name => format!("{name:<NAME_COLUMNS$} {words}"),
    };
    foreign(&heading, text.trim_end(), margin, window)
}

/// Foreign text behind what stands before it; on the rows below, that is a bar.
pub(super) fn foreign(first: &str, text: &str, margin: usize, window: Window) -> Vec<String> {
    let columns = window.columns.saturating_sub(1);
    wrap::barred(first, margin, &escape(text), columns)
}
