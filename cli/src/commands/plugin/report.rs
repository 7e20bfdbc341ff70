//! What is shown of a plugin before it is installed. All of its words are foreign.

use dunlin_host::Tool;
use dunlin_host::display::{escape, shorten};
use dunlin_host::limits::CONTRACT;

use crate::models::size;
use crate::plugin::examine::{Examined, Tried};
use crate::plugin::in_words;
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
    let mut row = |heading: &str, name: &str, words: &str| {
        rows.extend(row(heading, name, words, window));
    };
    row("from", "", &examined.source);
    row("sha256", "", &examined.digest);
    // No other is loaded.
    row("contract", "", &format!("dunlin:tool {CONTRACT}"));
    let tools: Vec<&str> = examined
        .tools
        .iter()
        .map(|tool| tool.name.as_str())
        .collect();
    row("tools", "", &tools.join(", "));
    let mut heading = "abilities";
    let abilities = examined.abilities();
    if abilities.is_empty() {
        row(heading, "none", "it computes, and touches nothing");
    }
    for ability in &abilities {
        // Streams are a way to use the others.
        if ability == "wasi:io" {
            continue;
        }
        row(heading, ability, in_words(ability).unwrap_or_default());
        heading = "";
    }
    match &examined.may {
        None => row(
            "may ask",
            "",
            "whatever its abilities reach: it declares no ceiling",
        ),
        Some(may) if may.is_empty() => row("may ask", "", "nothing at all"),
        Some(may) => {
            let mut heading = "may ask";
            for (target, bits) in may {
                row(heading, bits, target);
                heading = "";
            }
        }
    }
    let mut heading = "tried";
    for (tool, tried) in &examined.tried {
        let said = match tried {
            Tried::Asks(question) => format!("asks: {question}"),
            Tried::Allowed => "needs nothing that is not allowed".to_owned(),
            Tried::Refuses(said) => format!("refuses the made-up call: {said}"),
            Tried::Broke(problem) => format!("broke: it {problem}"),
        };
        row(heading, tool, &said);
        heading = "";
    }
    rows.extend(model_reads(&examined.tools, window));
    rows
}

/// All that the model will read of the tools, in full: whoever agrees to a plugin agrees to these words.
fn model_reads(tools: &[Tool], window: Window) -> Vec<String> {
    let columns = window.columns.saturating_sub(1);
    let sentence =
        "The model will read this with each request, and follow it. Dunlin does not judge it:";
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
