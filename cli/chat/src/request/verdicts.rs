//! What a server made of the pictures and documents that it was sent.
//!
//! Servers refuse a broken picture, or a kind that their model does not read, with all sorts of statuses and sentences. What
//! they have in common: the request is refused as long as it holds that. So everything that no accepted request has held yet
//! is under suspicion once a request is refused, and the request is tried without it.

use std::borrow::Cow;

use crate::media::Media;
use crate::message::{Message, Role};

/// What is known of pictures and documents at one server and model.
#[derive(Debug, Clone, Default)]
pub struct Verdicts {
    /// An accepted request held them.
    accepted: Vec<Media>,
    /// They are only named from now on.
    refused: Vec<Media>,
    /// The same, if the next request is accepted without them.
    suspected: Vec<Media>,
}

/// What is to be done about a refused request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Suspicion {
    /// It held nothing new: the refusal has another reason.
    Nothing,
    /// These are left out, and the request may be accepted without them.
    LeftOut(Vec<Media>),
    /// These came with the user's last message, which means little without them.
    OfMessage(Vec<Media>),
}

impl Verdicts {
    /// Whether this is only named in requests.
    pub fn is_refused(&self, media: &Media) -> bool {
        has(&self.refused, media) || has(&self.suspected, media)
    }

    /// A request with these was accepted.
    pub fn accepted(&mut self, sent: &[Media]) {
        self.refused.append(&mut self.suspected);
        for media in sent {
            if !has(&self.accepted, media) {
                self.accepted.push(media.clone());
            }
        }
    }

    /// A request with these was refused. What is the latest is suspected first, except for what the user just attached: the
    /// model has answered to the rest.
    pub fn refused(&mut self, sent: &[Media], messages: &[Message]) -> Suspicion {
        let said = messages.last().filter(|it| it.role == Role::User);
        let said = said.map_or(&[][..], |message| &message.media);
        let answered = messages.iter().rposition(|it| it.role == Role::Assistant);
        let unanswered = messages.get(answered.unwrap_or_default()..);
        let unanswered = || {
            unanswered
                .unwrap_or_default()
                .iter()
                .flat_map(|it| &it.media)
        };
        let new = sent.iter().filter(|media| !has(&self.accepted, media));
        let (said, earlier): (Vec<&Media>, Vec<&Media>) = new.partition(|it| has(said, it));
        let is_latest = |media: &&&Media| unanswered().any(|it| it.has_bytes_of(media));
        let latest = earlier.iter().filter(is_latest).copied();
        let latest: Vec<Media> = latest.cloned().collect();
        let left_out = match latest.is_empty() {
            true => earlier.into_iter().cloned().collect(),
            false => latest,
        };
        if !left_out.is_empty() {
            self.suspected.extend(left_out.iter().cloned());
            return Suspicion::LeftOut(left_out);
        }
        self.suspected.clear();
        match said.is_empty() {
            true => Suspicion::Nothing,
            false => Suspicion::OfMessage(said.into_iter().cloned().collect()),
        }
    }
}

fn has(list: &[Media], media: &Media) -> bool {
    list.iter().any(|it| it.has_bytes_of(media))
}

/// What they are called in a sentence; what has no name, as what it is.
pub fn names(media: &[Media]) -> String {
    let mut names: Vec<Cow<'_, str>> = Vec::new();
    for media in media {
        let name = match media.name() {
            "" => Cow::Owned(media.to_string()),
            name => dunlin_host::display::escape(name),
        };
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::media::samples::{document, picture};

    fn message(role: Role, media: &[&Media]) -> Message {
        Message {
            media: media.iter().map(|media| (*media).clone()).collect(),
            ..Message::text(role, "")
        }
    }

    #[test]
    fn the_latest_is_suspected_first_and_the_users_own_last() {
        let [old, result, own] = [("old.png", 1), ("result.png", 2), ("own.png", 3)]
            .map(|(name, width)| picture(name, width, 1));
        let messages = [
            message(Role::User, &[&old]),
            message(Role::Assistant, &[]),
            message(Role::Tool, &[&result]),
            message(Role::User, &[&own]),
        ];
        let all = [old.clone(), result.clone(), own.clone()];
        let mut verdicts = Verdicts::default();
        let first = verdicts.refused(&all, &messages);
        assert_eq!(first, Suspicion::LeftOut(vec![result.clone()]));
        let sent = [old.clone(), own.clone()];
        let second = verdicts.refused(&sent, &messages);
        assert_eq!(second, Suspicion::LeftOut(vec![old.clone()]));
        assert!(verdicts.is_refused(&old) && verdicts.is_refused(&result));
        let third = verdicts.refused(std::slice::from_ref(&own), &messages);
        assert_eq!(third, Suspicion::OfMessage(vec![own.clone()]));
        // It was not for the others, so they are sent again.
        assert!(all.iter().all(|media| !verdicts.is_refused(media)));
        assert_eq!(verdicts.refused(&[], &messages), Suspicion::Nothing);
    }

    #[test]
    fn what_was_accepted_is_not_suspected_again() {
        let [good, bad] =
            [("good.png", 1), ("bad.png", 2)].map(|(name, width)| picture(name, width, 1));
        let mut verdicts = Verdicts::default();
        verdicts.accepted(std::slice::from_ref(&good));
        let messages = [message(Role::User, &[&good]), message(Role::Tool, &[&bad])];
        let suspicion = verdicts.refused(&[good.clone(), bad.clone()], &messages);
        assert_eq!(suspicion, Suspicion::LeftOut(vec![bad.clone()]));
        verdicts.accepted(std::slice::from_ref(&good));
        // A later refusal has another reason.
        let sent = std::slice::from_ref(&good);
        assert_eq!(verdicts.refused(sent, &messages), Suspicion::Nothing);
        assert!(verdicts.is_refused(&bad) && !verdicts.is_refused(&good));
    }

    #[test]
    fn each_has_a_name_once() {
        let media = [
            picture("a.png", 1, 1),
            document("", 1),
            picture("a.png", 2, 2),
        ];
        assert_eq!(names(&media), "a.png, [PDF, 1 page, 65 bytes]");
    }
}
