//! Which pictures and documents go with a request, and in which message.
//!
//! A conversation keeps all of them. What the model does not take, and what is too much for one request, is named in the text
//! instead: a request that a server refuses for its size would be refused again with every later message.

use std::borrow::Cow;

use super::verdicts::Verdicts;
use crate::media::{MAX_BASE64_IN_REQUEST, MAX_IN_REQUEST, Media, Takes, UnsupportedMedia};
use crate::message::{Message, Role};

/// How the message begins that carries what results hold.
pub(super) const OF_RESULTS: &str = "Images and documents of the results above, in their order:";

/// What stands before the same where the user's message carries it.
const FIRST_OF_RESULTS: &str =
    "With this message come first the images and documents of the results above, in their order:";

/// Why something stays out of a request.
#[derive(Debug, thiserror::Error)]
pub(super) enum LeftOut {
    #[error(transparent)]
    UnsupportedMedia(#[from] UnsupportedMedia),
    #[error("the server did not accept a request with it")]
    Refused,
    #[error("there are too many later ones")]
    TooMany,
}

impl LeftOut {
    /// The line of text that stands for it.
    pub(super) fn note(&self, media: &Media) -> String {
        format!("\n[not shown: {self}] {media}")
    }
}

/// What a request still takes. It is filled from its end: the latest matter most.
pub(super) struct MediaBudget<'a> {
    takes: Takes,
    verdicts: Option<&'a Verdicts>,
    count: usize,
    base64: usize,
}

impl MediaBudget<'_> {
    /// `verdicts`: what the server made of what was sent before.
    pub(super) fn new(takes: Takes, verdicts: Option<&Verdicts>) -> MediaBudget<'_> {
        MediaBudget {
            takes,
            verdicts,
            count: 0,
            base64: 0,
        }
    }

    /// Takes this in.
    ///
    /// # Errors
    /// It is not sent.
    pub(super) fn take(&mut self, media: &Media) -> Result<(), LeftOut> {
        self.takes.check(media)?;
        let base64 = self.base64.saturating_add(media.base64().len());
        if self.verdicts.is_some_and(|it| it.is_refused(media)) {
            return Err(LeftOut::Refused);
        }
        if self.count == MAX_IN_REQUEST || base64 > MAX_BASE64_IN_REQUEST {
            return Err(LeftOut::TooMany);
        }
        (self.count, self.base64) = (self.count + 1, base64);
        Ok(())
    }
}

/// Leaves out what the endpoint does not take, and what is too much, the earliest first.
pub(super) fn fit(messages: &mut [Cow<'_, Message>], mut budget: MediaBudget<'_>) {
    for message in messages.iter_mut().rev() {
        if message.media.is_empty() {
            continue;
        }
        let mut notes: Vec<String> = Vec::new();
        let mut kept: Vec<Media> = Vec::new();
        for media in message.media.iter().rev() {
            match budget.take(media) {
                Ok(()) => kept.push(media.clone()),
                Err(why) => notes.push(why.note(media)),
            }
        }
        if notes.is_empty() {
            continue;
        }
        let message = message.to_mut();
        kept.reverse();
        message.media = kept;
        message.content.extend(notes.into_iter().rev());
    }
}

/// Moves what results hold into what the user says next, or into a message of its own: results are text in chat
/// completions.
pub(super) fn behind_results<'a>(messages: Vec<Cow<'a, Message>>) -> Vec<Cow<'a, Message>> {
    let mut moved: Vec<Cow<'a, Message>> = Vec::with_capacity(messages.len());
    let mut held: Vec<Media> = Vec::new();
    for mut message in messages {
        if message.role == Role::Tool {
            if !message.media.is_empty() {
                held.append(&mut message.to_mut().media);
            }
        } else if !held.is_empty() {
            if message.role == Role::User {
                let message = message.to_mut();
                if !message.content.is_empty() {
                    message.content.push_str("\n\n");
                }
                message.content.push_str(&label(FIRST_OF_RESULTS, &held));
                held.append(&mut message.media);
                message.media = std::mem::take(&mut held);
            } else {
                moved.push(Cow::Owned(of_results(&mut held)));
            }
        }
        moved.push(message);
    }
    if !held.is_empty() {
        moved.push(Cow::Owned(of_results(&mut held)));
    }
    moved
}

fn of_results(held: &mut Vec<Media>) -> Message {
    let text = label(OF_RESULTS, held);
    Message {
        media: std::mem::take(held),
        ..Message::text(Role::User, text)
    }
}

/// Says whose these are: in a message of the user they would look like the user's own.
fn label(heading: &str, held: &[Media]) -> String {
    let names: Vec<String> = held.iter().map(Media::to_string).collect();
    format!("{heading} {}", names.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::media::samples::{document, picture, png};

    fn with(role: Role, content: &str, media: &[Media]) -> Message {
        Message {
            media: media.to_vec(),
            ..Message::text(role, content)
        }
    }

    fn shape(messages: &[Cow<'_, Message>]) -> Vec<String> {
        let line = |message: &Cow<'_, Message>| {
            let names: Vec<&str> = message.media.iter().map(Media::name).collect();
            format!(
                "{:?} {:?} {}",
                message.role,
                message.content,
                names.join(",")
            )
        };
        messages.iter().map(line).collect()
    }

    fn fitted(messages: &[Message], takes: Takes) -> Vec<String> {
        let mut messages: Vec<_> = messages.iter().map(Cow::Borrowed).collect();
        fit(&mut messages, MediaBudget::new(takes, None));
        shape(&messages)
    }

    #[test]
    fn what_is_not_taken_is_named() {
        let said = with(
            Role::User,
            "Look",
            &[picture("a.png", 1, 2), document("b.pdf", 1)],
        );
        let said = [said];
        assert_eq!(fitted(&said, Takes::ALL), ["User \"Look\" a.png,b.pdf"]);
        let images = Takes {
            documents: false,
            ..Takes::ALL
        };
        let note =
            "\\n[not shown: this model takes no PDF documents] [b.pdf: PDF, 1 page, 65 bytes]";
        assert_eq!(
            fitted(&said, images),
            [format!("User \"Look{note}\" a.png")]
        );
        let small = Takes {
            image_base64: 8,
            ..Takes::ALL
        };
        let note = "\\n[not shown: this server takes images of at most 6 bytes] [a.png: image PNG 1×2, 57 bytes]";
        assert_eq!(fitted(&said, small), [format!("User \"Look{note}\" b.pdf")]);
        assert!(!fitted(&said, Takes::NOTHING)[0].contains("a.png,"));
    }

    #[test]
    fn the_latest_are_sent() {
        let many: Vec<Message> = (0..MAX_IN_REQUEST + 2)
            .map(|number| with(Role::User, "x", &[picture(&number.to_string(), 1, 1)]))
            .collect();
        let sent = fitted(&many, Takes::ALL);
        let note = "not shown: there are too many later ones";
        assert!(sent[0].contains(note) && sent[1].contains(note), "{sent:?}");
        assert_eq!(sent[2], "User \"x\" 2");
        let large = Media::new("large", &png(1, 1, crate::media::MAX_BYTES - 100)).unwrap();
        let sent = fitted(&[with(Role::User, "x", &vec![large; 3])], Takes::ALL);
        assert!(
            sent[0].contains(note) && sent[0].ends_with(" large,large"),
            "{sent:?}"
        );
    }

    #[test]
    fn what_results_hold_follows_them() {
        let (one, two) = (picture("1", 1, 1), picture("2", 1, 1));
        let (of_result, of_user) = ([one.clone()], [two.clone()]);
        let check = |messages: &[Message], expected: &[&str]| {
            let messages = messages.iter().map(Cow::Borrowed).collect();
            assert_eq!(shape(&behind_results(messages)), expected);
        };
        let result = with(Role::Tool, "r", &of_result);
        let other = with(Role::Tool, "s", &[]);
        let own = "User \"Images and documents of the results above, in their order: [1: image PNG 1×1, 57 bytes]\" 1";
        check(
            &[result.clone(), other.clone()],
            &["Tool \"r\" ", "Tool \"s\" ", own],
        );
        let reply = Message::text(Role::Assistant, "a");
        check(
            &[result.clone(), reply],
            &["Tool \"r\" ", own, "Assistant \"a\" "],
        );
        let said = with(Role::User, "u", &of_user);
        let labelled = |text: &str, names: &str| {
            format!("User \"{text}{FIRST_OF_RESULTS} [1: image PNG 1×1, 57 bytes]\" {names}")
        };
        check(
            &[result.clone(), said.clone()],
            &["Tool \"r\" ", &labelled("u\\n\\n", "1,2")],
        );
        let silent = with(Role::User, "", &[]);
        check(&[result, silent], &["Tool \"r\" ", &labelled("", "1")]);
        check(&[other, said], &["Tool \"s\" ", "User \"u\" 2"]);
    }
}
