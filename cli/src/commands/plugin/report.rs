//! What is shown of a plugin before it is installed. All of its words are foreign.

use std::collections::BTreeMap;

use dunlin_host::display::{escape, shorten};
use dunlin_host::limits::CONTRACT;
use serde_json::Value;

use crate::app::App;
use crate::models::size;
use crate::plugin::examine::{Examined, Tried};
use crate::plugin::in_words;
use crate::plugin::installed::Record;
use dunlin_terminal::ui::style::Label;

/// Columns of what stands before the first item of a list.
const HEADING_COLUMNS: usize = 11;

/// Columns of a name within a list.
const NAME_COLUMNS: usize = 16;

/// Characters of a description or a question.
const MAX_WORDS_CHARS: usize = 200;

/// Shows what it holds and may ask for.
pub fn show(app: &App, examined: &Examined) {
    let ui = &app.ui;
    let styles = ui.styles();
    ui.data(&format!(
        "{} · {} · ready in {} ms",
        styles.paint(Label::Name, &escape(&examined.name)),
        size(examined.bytes.len() as u64),
        examined.took.as_millis()
    ));
    row(app, "from", "", &examined.source);
    row(app, "sha256", "", &examined.digest);
    // No other is loaded.
    row(app, "contract", "", &format!("dunlin:tool {CONTRACT}"));
    let mut heading = "tools";
    for tool in &examined.tools {
        let about = tool.description.split_whitespace().collect::<Vec<_>>();
        row(app, heading, &tool.name, &about.join(" "));
        heading = "";
    }
    let mut heading = "takes";
    for tool in &examined.tools {
        row(app, heading, &tool.name, &takes(&tool.parameters));
        heading = "";
    }
    let mut heading = "abilities";
    let abilities = examined.abilities();
    if abilities.is_empty() {
        row(app, heading, "none", "it computes, and touches nothing");
    }
    for ability in &abilities {
        // Streams are a way to use the others.
        if ability == "wasi:io" {
            continue;
        }
        row(app, heading, ability, in_words(ability).unwrap_or_default());
        heading = "";
    }
    match &examined.may {
        None => row(
            app,
            "may ask",
            "",
            "whatever its abilities reach: it declares no ceiling",
        ),
        Some(may) if may.is_empty() => row(app, "may ask", "", "nothing at all"),
        Some(may) => {
            let mut heading = "may ask";
            for (target, bits) in may {
                row(app, heading, bits, target);
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
        row(app, heading, tool, &said);
        heading = "";
    }
}

/// Shows what is different from the version that is installed.
pub fn changes(app: &App, old: &Record, new: &Examined) {
    let ui = &app.ui;
    if old.digest == new.digest {
        ui.data("  This very version is installed.");
        return;
    }
    let short: String = old.digest.chars().take(8).collect();
    ui.data(&format!(
        "  Another version is installed ({short}). What was allowed to that one for always is asked again."
    ));
    let tools: Vec<String> = new.tools.iter().map(|tool| tool.name.clone()).collect();
    let abilities = new.abilities();
    let mut lines = Vec::new();
    compare(&old.tools, &tools, "the tool", &mut lines);
    compare(&old.abilities, &abilities, "the ability", &mut lines);
    lines.extend(compare_ceilings(old.may.as_ref(), new.may.as_ref()));
    if lines.is_empty() {
        lines.push("= the same tools, abilities and ceiling".to_owned());
    }
    for line in lines {
        ui.data(&format!("  {}", escape(&line)));
    }
}

/// The parameters of a schema, in one line: `file_path string, lines array?`, where a question mark says that it may be left
/// out.
fn takes(schema: &Value) -> String {
    let required = schema.get("required").and_then(Value::as_array);
    let is_required = |name: &str| required.is_some_and(|all| all.iter().any(|it| it == name));
    let properties = schema.get("properties").and_then(Value::as_object);
    let all: Vec<String> = properties
        .into_iter()
        .flatten()
        .map(|(name, of)| {
            let kind = of.get("type").and_then(Value::as_str).unwrap_or("value");
            let mark = if is_required(name) { "" } else { "?" };
            format!("{name} {kind}{mark}")
        })
        .collect();
    match all.is_empty() {
        true => "nothing".to_owned(),
        false => all.join(", "),
    }
}

fn compare(old: &[String], new: &[String], what: &str, lines: &mut Vec<String>) {
    let added = new.iter().filter(|it| !old.contains(it));
    lines.extend(added.map(|it| format!("+ {what} {it}")));
    let gone = old.iter().filter(|it| !new.contains(it));
    lines.extend(gone.map(|it| format!("- {what} {it}")));
}

type May = BTreeMap<String, String>;

fn compare_ceilings(old: Option<&May>, new: Option<&May>) -> Vec<String> {
    let (old, new) = match (old, new) {
        (None, None) => return Vec::new(),
        (Some(_), None) => return vec!["+ may ask for whatever its abilities reach".to_owned()],
        (None, new) => (May::new(), new.cloned().unwrap_or_default()),
        (Some(old), Some(new)) => (old.clone(), new.clone()),
    };
    let mut lines = Vec::new();
    for (target, bits) in &new {
        match old.get(target) {
            Some(before) if before == bits => {}
            Some(before) => lines.push(format!("~ may ask {bits} {target} (was {before})")),
            None => lines.push(format!("+ may ask {bits} {target}")),
        }
    }
    let gone = old.iter().filter(|(target, _)| !new.contains_key(*target));
    lines.extend(gone.map(|(target, bits)| format!("- may ask {bits} {target}")));
    lines
}

fn row(app: &App, heading: &str, name: &str, words: &str) {
    let ui = &app.ui;
    let words = escape(words);
    let words = shorten(&words, MAX_WORDS_CHARS);
    let heading = format!("  {heading:<HEADING_COLUMNS$}");
    let heading = ui.styles().paint(Label::Quiet, &heading);
    let name = match name {
        "" => String::new(),
        name => format!("{:<NAME_COLUMNS$} ", escape(name)),
    };
    ui.data(format!("{heading}{name}{words}").trim_end());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_fit_a_line() {
        let schema = serde_json::json!({
            "type": "object",
            "properties": { "file_path": { "type": "string" }, "more": {}, "lines": { "type": "array" } },
            "required": ["file_path", "more"],
        });
        assert_eq!(takes(&schema), "file_path string, more value, lines array?");
        assert_eq!(takes(&serde_json::json!({})), "nothing");
        assert_eq!(takes(&serde_json::json!(true)), "nothing");
    }

    #[test]
    fn ceilings_are_compared_target_by_target() {
        let may = |all: &[(&str, &str)]| -> May {
            all.iter()
                .map(|(target, bits)| ((*target).to_owned(), (*bits).to_owned()))
                .collect()
        };
        let old = may(&[("./", "r--"), ("git", "--x")]);
        let new = may(&[("./", "rw-"), ("https://docs.rs/", "r--")]);
        assert_eq!(
            compare_ceilings(Some(&old), Some(&new)),
            [
                "~ may ask rw- ./ (was r--)",
                "+ may ask r-- https://docs.rs/",
                "- may ask --x git"
            ]
        );
        assert_eq!(compare_ceilings(Some(&old), Some(&old)), [""; 0]);
        assert_eq!(compare_ceilings(None, None), [""; 0]);
        assert_eq!(
            compare_ceilings(Some(&old), None),
            ["+ may ask for whatever its abilities reach"]
        );
    }
}
