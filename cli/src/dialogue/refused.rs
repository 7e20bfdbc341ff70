//! What is said where a server does not accept what the user attached.

use dunlin_chat::media::{Media, MediaKind};
use dunlin_chat::provider::error::ProviderError;
use dunlin_chat::request::verdicts::names;
use dunlin_host::display::chain;

/// The server did not accept a message because of what is attached to it, as it seems.
#[derive(Debug, thiserror::Error)]
#[error("the server did not accept the message with {names}")]
pub struct NotAccepted {
    names: String,
    source: ProviderError,
}

impl NotAccepted {
    pub fn new(error: ProviderError, media: &[Media]) -> NotAccepted {
        NotAccepted {
            names: names(media),
            source: error,
        }
    }
}

/// The same in one line.
pub fn in_one_line(error: &ProviderError, media: &[Media]) -> String {
    format!(
        "the server did not accept the message with {}: {}",
        names(media),
        chain(error)
    )
}

/// The way out. In the chat the message is in the input line again.
pub fn hint(media: &[Media], is_chat: bool) -> String {
    let is = |kind| media.iter().all(|it| it.about().format.kind() == kind);
    let (how, takes) = match (is(MediaKind::Image), is(MediaKind::Document)) {
        (true, _) => ("without the attachment", "images"),
        (_, true) => ("with the text instead (pdftotext FILE)", "PDF documents"),
        _ => ("without the attachment", "images and PDF documents"),
    };
    match is_chat {
        true => format!(
            "your message is back in the line: send it {how}, or choose a model that takes {takes} with /model"
        ),
        false => format!("send it {how}, or use a model that takes {takes}"),
    }
}
