//! `dunlin requests export`: everything that is known of the requests of a session, as JSON lines or as an HTTP Archive.

use std::cell::{Cell, RefCell};
use std::io::{self, Write};
use std::iter;
use std::path::PathBuf;

use dunlin_host::display::escape;
use dunlin_host::json;
use serde::Serialize;

use super::about::About;
use super::har::{self, Damage};
use super::log::Log;
use crate::app::App;
use crate::error::CliError;
use crate::output_file::{may_write, with_real_folder, write_with};
use dunlin_chat::message::Message;
use dunlin_chat::session::requests::{LoggedRequest, Restorer, Side};
use dunlin_chat::tokens::counted;
use dunlin_terminal::ui::style::Label;

/// The most that the bodies of an export come to together, in bytes. Each is stored as what is new in it, so a file of a megabyte
/// could be written to come to a hundred gigabytes; a long day's conversation comes to some hundred megabytes.
const MAX_BODIES_BYTES: usize = 4 << 30;

/// The bodies of an export.
struct Bodies<'a> {
    restorer: Restorer<'a>,
    /// How many bytes more there may be.
    bytes_left: usize,
}

impl Bodies<'_> {
    /// A body as text.
    fn text(&mut self, request: &LoggedRequest, side: Side) -> Result<String, Damage> {
        if self.bytes_left == 0 {
            return Err(Damage::TooMuch(MAX_BODIES_BYTES >> 30));
        }
        let bytes = self.restorer.body(request.entry.number, side)?;
        self.bytes_left = self.bytes_left.saturating_sub(bytes.len());
        Ok(String::from_utf8(bytes.to_vec())?)
    }
}

/// A line of an export. The bodies are texts, so that a program gets their exact bytes.
#[derive(Serialize)]
struct Exported<'a> {
    #[serde(flatten)]
    about: About<'a>,
    /// The body as sent; null: it cannot be restored.
    sent: Option<String>,
    /// The body as composed, where that is another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    original: Option<String>,
    /// What the model replied.
    #[serde(skip_serializing_if = "Option::is_none")]
    reply: Option<Message>,
    /// Why there is no body.
    #[serde(skip_serializing_if = "Option::is_none")]
    damage: Option<String>,
}

/// Writes the requests of a session: as JSON lines, or as an HTTP Archive.
pub fn run(
    app: &App,
    log: &Log,
    is_har: bool,
    output: Option<PathBuf>,
    force: bool,
) -> Result<(), CliError> {
    let ui = &app.ui;
    if let Some(path) = &output {
        may_write(path, force)?;
    }
    let id = escape(&log.entry.id);
    let all = log.file.requests().len();
    let counted = counted(all, "request", "requests");
    if output.is_none() || all == 0 {
        ui.status(&match all {
            0 => format!("No request of session {id} was logged."),
            _ => format!("{counted} of session {id}:"),
        });
    }
    if let Some(before) = log.before(app) {
        ui.status(&ui.status_styles().paint(Label::Quiet, &before));
    }
    let (damaged, left_out) = (Cell::new(0_usize), Cell::new(0_usize));
    let add = |count: &Cell<usize>, more: bool| count.set(count.get() + usize::from(more));
    let requests = log.file.requests().iter();
    // They come in the order of the file.
    let bodies = RefCell::new(Bodies {
        restorer: log.file.restorer(),
        bytes_left: MAX_BODIES_BYTES,
    });
    let lines: Box<dyn Iterator<Item = serde_json::Result<String>>> = match is_har {
        false => Box::new(requests.map(|request| {
            let exported = exported(log, &mut bodies.borrow_mut(), request);
            add(&damaged, exported.damage.is_some());
            json::to_string(&exported)
        })),
        true => {
            let entries = requests.filter_map(|request| {
                let body = bodies.borrow_mut().text(request, Side::Sent);
                let is_damaged = body.is_err();
                let entry = har::entry(log, request, body);
                add(&left_out, entry.is_none());
                add(&damaged, is_damaged && entry.is_some());
                entry
            });
            let entries = entries.enumerate().map(|(index, entry)| {
                let comma = if index > 0 { "," } else { "" };
                Ok(format!("{comma}{}", json::to_string(&entry?)?))
            });
            let begin = iter::once(Ok(har::beginning()));
            Box::new(
                begin
                    .chain(entries)
                    .chain(iter::once(Ok(har::END.to_owned()))),
            )
        }
    };
    let mut lines = lines.map(|line| line.map_err(io::Error::other));
    match output {
        Some(path) => {
            let path = with_real_folder(path);
            write_with(&path, force, |file| {
                let mut file = io::BufWriter::new(file);
                lines.try_for_each(|line| writeln!(file, "{}", line?))?;
                file.flush()
            })?;
            if all > 0 {
                let path = path.display().to_string();
                ui.status(&format!("{counted} of session {id}, to {}.", escape(&path)));
            }
        }
        None => {
            for line in lines {
                // The output may be large, and nobody may be reading any more.
                ui.check()?;
                ui.data(&line?);
            }
        }
    }
    for (count, what) in [
        (&damaged, "requests whose bodies cannot be restored"),
        (
            &left_out,
            "requests left out because they went to no HTTP address, as those to a model in Dunlin itself",
        ),
    ] {
        if count.get() > 0 {
            ui.warn(&format!("{what}: {}", count.get()));
        }
    }
    Ok(())
}

fn exported<'a>(log: &'a Log, bodies: &mut Bodies<'_>, request: &'a LoggedRequest) -> Exported<'a> {
    let mut body = |side| bodies.text(request, side);
    let is_edited = request.entry.is_edited();
    let (sent, damage) = match body(Side::Sent) {
        Ok(sent) => (Some(sent), None),
        Err(damage) => (None, Some(damage.to_string())),
    };
    Exported {
        about: About::of(&log.entry.id, &log.file, request),
        sent,
        original: is_edited.then(|| body(Side::Original).ok()).flatten(),
        reply: log.file.reply(request),
        damage,
    }
}
