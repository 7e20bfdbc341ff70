//! Files that go with a message: what is said of them, `/tags` and `/untag`.

use std::ops::Range;

use dunlin_host::display::{escape, grouped, size};

use crate::app::App;
use crate::dialogue::Dialogue;
use crate::dialogue::attach::Attached;
use crate::dialogue::tags::Tag;
use crate::error::CliError;
use crate::prompt::line::Recall;
use dunlin_chat::media::Media;
use dunlin_chat::message::UserMessage;
use dunlin_terminal::ui::Ui;
use dunlin_terminal::ui::calls::fit;
use dunlin_terminal::ui::style::Label;

/// How many columns beside its path the line of a file takes.
const DETAILS_COLUMNS: usize = 44;

/// Attaches the files that a message mentions outside of these ranges of it, in bytes, and says so. `None`: there is nothing to
/// send yet.
pub fn attach(
    app: &App,
    dialogue: &mut Dialogue,
    (text, pasted): (&str, &[Range<usize>]),
    recall: Recall,
) -> Result<Option<UserMessage>, CliError> {
    let ui = &app.ui;
    let before: Vec<Tag> = dialogue.tags().list().cloned().collect();
    let attached = dialogue.attach(app, (text, pasted, Vec::new()), recall)?;
    let quiet = |text: &str| ui.status(&ui.status_styles().paint(Label::Quiet, text));
    match attached {
        Attached::Message(message, words) => {
            if message.text.len() > words || !message.media.is_empty() {
                let added = dialogue.tags().list().filter(|tag| !before.contains(tag));
                added.for_each(|tag| quiet(&format!("  + {}", line(ui, tag))));
            }
            Ok(Some(message))
        }
        Attached::Waiting => {
            let added = dialogue.tags().list().filter(|tag| !before.contains(tag));
            added.for_each(|tag| quiet(&format!("  + {}", line(ui, tag))));
            quiet("  attached to your next message; /untag removes it");
            Ok(None)
        }
        Attached::Back { problems, .. } => {
            let mark = ui.status_styles().paint(Label::Bad, "✗");
            for problem in problems {
                ui.status(&format!("  {mark} {}", escape(&problem)));
            }
            quiet("  Not sent. Press Enter to send without it.");
            ui.keep_message(text);
            Ok(None)
        }
    }
}

/// A message came back because of some of its files. The others that it does not mention wait for the next one again.
pub fn message_is_back(
    app: &App,
    dialogue: &mut Dialogue,
    (text, attached): (&str, &[String]),
    refused: &[Media],
) {
    let is_refused = |path: &str| refused.iter().any(|media| media.name() == path);
    for path in dialogue.tags_mut().take_back(text, attached, is_refused) {
        app.ui.status(&format!("  - {}", escape(&path)));
    }
}

/// `/tags`
pub fn list(app: &App, dialogue: Option<&Dialogue>) {
    let ui = &app.ui;
    let tags: Vec<&Tag> = dialogue.map_or_else(Vec::new, |it| it.tags().list().collect());
    if tags.is_empty() {
        return ui.status("No file is attached: @ and a path in a message attaches one.");
    }
    for (tag, number) in tags.into_iter().zip(1..) {
        let when = match tag.is_sent {
            true => "sent",
            false => "attached to your next message",
        };
        let when = ui.styles().paint(Label::Quiet, when);
        ui.data(&format!("{number:>4} {} · {when}", line(ui, tag)));
    }
}

/// `/untag N|NAME|all`
pub fn untag(app: &App, dialogue: Option<&mut Dialogue>, which: &str) {
    let ui = &app.ui;
    let Some(dialogue) = dialogue.filter(|dialogue| dialogue.tags().list().next().is_some()) else {
        return ui.status("No file is attached.");
    };
    let tags: Vec<Tag> = dialogue.tags().list().cloned().collect();
    let which = which.trim().trim_start_matches('@').trim_matches('"');
    let named: Vec<&Tag> = match which.parse::<usize>() {
        _ if which == "all" => tags.iter().collect(),
        Ok(number) => number
            .checked_sub(1)
            .and_then(|at| tags.get(at))
            .into_iter()
            .collect(),
        Err(_) => tags.iter().filter(|tag| tag.path == which).collect(),
    };
    if named.is_empty() {
        return ui.status("Which one? A number of /tags, a path, or all.");
    }
    let gone = dialogue
        .tags_mut()
        .remove(|tag| named.iter().any(|it| it.path == tag.path));
    for path in &gone {
        ui.status(&format!("  - {}", escape(path)));
    }
    if gone.is_empty() {
        ui.status("That was sent already, and is part of its message: /retry and /clear take messages back.");
    }
}

/// A file, or what a command printed, in a row.
pub fn line(ui: &Ui, tag: &Tag) -> String {
    let room = ui.window().columns.saturating_sub(DETAILS_COLUMNS).max(16);
    let about = match tag.bytes() {
        _ if let Some(media) = tag.media() => format!("{media}, "),
        None => String::new(),
        Some(bytes) => format!("{}, ", size(bytes)),
    };
    let part = tag.part().map(|part| format!("; only {}", escape(part)));
    format!(
        "{} · {about}about {} tokens{}",
        fit(&escape(&tag.path), room),
        grouped(tag.tokens()),
        part.unwrap_or_default()
    )
}
