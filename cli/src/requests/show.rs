//! `dunlin requests show`.

use std::borrow::Cow;

use bytes::Bytes;
use dunlin_host::display::{escape, one_line, own_command};
use dunlin_host::json;

use super::about::{About, Whole, cost, edits, ending, net_edits, size};
use super::curl;
use super::log::{Log, sent};
use crate::app::App;
use crate::args::RequestsShowArgs;
use crate::error::CliError;
use dunlin_chat::media::without_base64;
use dunlin_chat::request::editor::EditableRequest;
use dunlin_chat::session::requests::{LoggedRequest, Side};
use dunlin_chat::tokens::counted;
use dunlin_terminal::request::{difference, show as editor};
use dunlin_terminal::ui::Ui;
use dunlin_terminal::ui::style::Label;

/// How far in the values stand.
const LABEL_COLUMNS: usize = 10;

/// What of a request is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// What is known of it.
    About,
    Json,
    Original,
    Sent,
    Diff,
    /// A command that sends it.
    Curl,
}

impl Part {
    /// What the flags say.
    pub fn of(args: &RequestsShowArgs) -> Part {
        let flags = [
            (args.original, Part::Original),
            (args.sent, Part::Sent),
            (args.diff, Part::Diff),
            (args.curl, Part::Curl),
            (args.json, Part::Json),
        ];
        let set = flags.into_iter().find(|(is_set, _)| *is_set);
        set.map_or(Part::About, |(_, part)| part)
    }
}

/// Prints a part of a request.
///
/// # Errors
/// It is not there, or its bytes are not those that were sent.
pub fn print(app: &App, log: &Log, number: u64, part: Part) -> Result<(), CliError> {
    let ui = &app.ui;
    let request = log.file.request(number)?;
    match part {
        Part::About => about(app, log, request),
        Part::Json => {
            let editable = sent(&log.file, number)?;
            let about = About::of(&log.entry.id, &log.file, request);
            let whole = Whole::of(about, &editable);
            app.print_json(&whole)?;
        }
        Part::Original => body(ui, &log.file.body(number, Side::Original)?),
        Part::Sent => body(ui, &log.file.body(number, Side::Sent)?),
        Part::Diff => {
            let original = log.file.body(number, Side::Original)?;
            let sent = log.file.body(number, Side::Sent)?;
            if original == sent {
                ui.status("The request was sent as composed: nothing was edited.");
            }
            ui.data_all(&edited(ui, original, &sent));
        }
        Part::Curl => {
            let command = curl::of(app, request, &log.file.body(number, Side::Sent)?)?;
            for note in &command.notes {
                ui.status(&ui.status_styles().paint(Label::Quiet, note));
            }
            match ui.streams().output {
                // Within JSON this is the same text.
                true => ui.data(&json::harmless(&named(ui, &command.text))),
                false => ui.data(&command.text),
            }
        }
    }
    Ok(())
}

/// Values of two bodies that are compared one by one. Each becomes a line, and a file from elsewhere may hold millions.
const MAX_VALUES: usize = 1 << 20;

/// What is said instead of comparing more values.
const TOO_MANY: &str =
    "The two bodies hold too many values to compare them here: --original and --sent print them.";

/// How many values a body holds, or more: each but the first stands behind one of these.
fn values(body: &[u8]) -> usize {
    body.iter().filter(|byte| b",:[{".contains(byte)).count()
}

/// What was edited, as the editor shows it. Where no edits of its kind make one body the other, the bodies are compared.
fn edited(ui: &Ui, original: Vec<u8>, sent: &[u8]) -> Vec<String> {
    let original = Bytes::from(original);
    if let Some(request) = EditableRequest::between(original.clone(), sent) {
        let mut window = ui.window();
        if !ui.streams().output {
            // A pipe has no edge.
            window.columns = usize::MAX;
        }
        return editor::differences(&request, &[], window);
    }
    if values(&original) + values(sent) > MAX_VALUES {
        return vec![TOO_MANY.to_owned()];
    }
    let (original, sent) = (
        String::from_utf8_lossy(&original),
        String::from_utf8_lossy(sent),
    );
    difference::of_bodies(&original, &sent).rows(ui.styles())
}

/// Prints a body: exactly to a pipe. On a terminal characters that control it are written as JSON allows, and pictures and
/// documents are only named.
fn body(ui: &Ui, bytes: &[u8]) {
    match ui.streams().output {
        true => {
            let text = String::from_utf8_lossy(bytes);
            ui.data(&json::harmless(&named(ui, &text)));
        }
        false => ui.data_bytes(bytes),
    }
}

/// A text for a terminal, and what there is to say about it.
fn named<'a>(ui: &Ui, text: &'a str) -> Cow<'a, str> {
    let named = without_base64(text);
    if named.len() != text.len() {
        let note = "Images and documents are named here; a pipe or a file gets them whole.";
        ui.status(&ui.status_styles().paint(Label::Quiet, note));
    }
    named
}

fn about(app: &App, log: &Log, request: &LoggedRequest) {
    let ui = &app.ui;
    let entry = &request.entry;
    let number = entry.number;
    let row = |label: &str, value: &str| {
        let label = ui
            .styles()
            .paint(Label::Quiet, &format!("  {label:<LABEL_COLUMNS$}"));
        ui.data_rows(&format!("{label}{value}"), LABEL_COLUMNS + 2);
    };
    let id = escape(&log.entry.id);
    ui.data(&format!("request {number} of session {id}"));
    if let Some(time) = request.time {
        row("time", &time.to_string());
    }
    row("kind", entry.kind.name());
    row("agent", &one_line(&entry.agent));
    row("model", &one_line(&log.file.model(request)));
    row("endpoint", &one_line(&entry.endpoint));
    row("size", &size(request));
    row("SHA-256", &one_line(&entry.sent_body().sha256));
    let edits = edits(log.file.edits(request));
    match (entry.is_edited(), edits.is_empty()) {
        (false, _) => row("edits", "none"),
        (true, true) => row("edits", "sent with changes"),
        (true, false) => {
            let net = net_edits(request, &log.file);
            if net != edits.len() {
                let steps = counted(edits.len(), "step", "steps");
                let all = format!("{} left of {steps}", counted(net, "edit", "edits"));
                row("edits", &all);
            }
            for edit in edits {
                row("edit", &edit);
            }
        }
    }
    row("end", &ending(request));
    if let Some(answer) = &request.answer {
        row("cost", &cost(answer));
    }
    let note = format!(
        "{} --sent|--original|--diff|--curl prints the rest",
        own_command(&["requests", "show", &format!("{id}/{number}")])
    );
    ui.status(&ui.status_styles().paint(Label::Quiet, &note));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_body_holds_more_values_than_are_counted() {
        let check = |body: &str, values_in_it: usize| {
            assert!(values(body.as_bytes()) + 1 >= values_in_it, "{body}");
        };
        check("1", 1);
        check("[1,2,3]", 4);
        check("[[],[[]],{}]", 5);
        check(r#"{"a":{"b":[1,{"c":2}]}}"#, 6);
        assert_eq!(values(b"\"words\""), 0);
    }
}
