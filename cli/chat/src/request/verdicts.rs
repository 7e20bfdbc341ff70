//! What a server made of the pictures and documents that it was sent.
//!
//! Servers refuse a broken picture, or a kind that their model does not read, with all sorts of statuses and sentences. What
//! they have in common: the request is refused as long as it holds that. So everything that no accepted request has held yet
//! is under suspicion once a request is refused, and the request is tried without it.

use std::borrow::{Borrow, Cow};

use crate::media::Media;
use crate::message::{Message, Role};
use crate::provider::error::ContentFault;

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
    /// model has answered to the rest. What was accepted before is suspected last, and only where it is sure that the server
    /// refuses the request: some change their mind, and the conversation would be refused for as long as it holds that.
    pub fn refused(
        &mut self,
        sent: &[Media],
        messages: &[Message],
        fault: ContentFault,
    ) -> Suspicion {
        let own = attached(messages);
        let answered = messages.iter().rposition(|it| it.role == Role::Assistant);
        let unanswered = messages.get(answered.unwrap_or_default()..);
        let unanswered = media_of(unanswered.unwrap_or_default().iter());
        let results = media_of(messages.iter().filter(|it| it.role == Role::Tool));
        let (known, new): (Vec<&Media>, Vec<&Media>) =
            sent.iter().partition(|media| has(&self.accepted, media));
        let known = match fault {
            ContentFault::Refused => known,
            ContentFault::Failed => Vec::new(),
        };
        let suspects = [(new, &unanswered), (known, &results)];
        for (suspects, first) in suspects {
            let (own, others): (Vec<&Media>, Vec<&Media>) =
                suspects.into_iter().partition(|it| has(own, it));
            let are_first: Vec<&Media> =
                others.iter().copied().filter(|it| has(first, it)).collect();
            let left_out = match are_first.is_empty() {
                true => others,
                false => are_first,
            };
            if !left_out.is_empty() {
                let left_out: Vec<Media> = left_out.into_iter().cloned().collect();
                self.suspected.extend(left_out.iter().cloned());
                return Suspicion::LeftOut(left_out);
            }
            if !own.is_empty() {
                self.suspected.clear();
                return Suspicion::OfMessage(own.into_iter().cloned().collect());
            }
        }
        self.suspected.clear();
        Suspicion::Nothing
    }
}

/// What the user has attached to the message that waits for its answer.
pub fn attached(messages: &[Message]) -> &[Media] {
    let said = messages.last().filter(|it| it.role == Role::User);
    said.map_or(&[], |message| &message.media)
}

fn media_of<'a>(messages: impl Iterator<Item = &'a Message>) -> Vec<&'a Media> {
    messages.flat_map(|it| &it.media).collect()
}

fn has<M: Borrow<Media>>(list: &[M], media: &Media) -> bool {
    list.iter().any(|it| it.borrow().has_bytes_of(media))
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
        let first = verdicts.refused(&all, &messages, ContentFault::Failed);
        assert_eq!(first, Suspicion::LeftOut(vec![result.clone()]));
        let sent = [old.clone(), own.clone()];
        let second = verdicts.refused(&sent, &messages, ContentFault::Failed);
        assert_eq!(second, Suspicion::LeftOut(vec![old.clone()]));
        assert!(verdicts.is_refused(&old) && verdicts.is_refused(&result));
        let third = verdicts.refused(std::slice::from_ref(&own), &messages, ContentFault::Failed);
        assert_eq!(third, Suspicion::OfMessage(vec![own.clone()]));
        // It was not for the others, so they are sent again.
        assert!(all.iter().all(|media| !verdicts.is_refused(media)));
        let rest = verdicts.refused(&[], &messages, ContentFault::Failed);
        assert_eq!(rest, Suspicion::Nothing);
    }

    #[test]
    fn what_was_accepted_is_suspected_last() {
        let [good, bad, result] = [("good.png", 1), ("bad.png", 2), ("result.png", 3)]
            .map(|(name, width)| picture(name, width, 1));
        let mut verdicts = Verdicts::default();
        verdicts.accepted(&[good.clone(), result.clone()]);
        let mut messages = vec![
            message(Role::User, &[&good]),
            message(Role::Tool, &[&result]),
            message(Role::Assistant, &[]),
            message(Role::Tool, &[&bad]),
        ];
        let all = [good.clone(), result.clone(), bad.clone()];
        let suspicion = verdicts.refused(&all, &messages, ContentFault::Refused);
        assert_eq!(suspicion, Suspicion::LeftOut(vec![bad.clone()]));
        let sent = [good.clone(), result.clone()];
        // It may have failed for another reason.
        let failed = verdicts
            .clone()
            .refused(&sent, &messages, ContentFault::Failed);
        assert_eq!(failed, Suspicion::Nothing);
        let mut refused = |sent: &[Media]| verdicts.refused(sent, &messages, ContentFault::Refused);
        assert_eq!(refused(&sent), Suspicion::LeftOut(vec![result.clone()]));
        let sent = std::slice::from_ref(&good);
        assert_eq!(refused(sent), Suspicion::LeftOut(vec![good.clone()]));
        assert!(all.iter().all(|media| verdicts.is_refused(media)));
        // It was for none of them.
        let nothing = verdicts.refused(&[], &messages, ContentFault::Refused);
        assert_eq!(nothing, Suspicion::Nothing);
        assert!(all.iter().all(|media| !verdicts.is_refused(media)));
        // What the user attaches once more is theirs to take away.
        messages.push(message(Role::User, &[&good]));
        let again = verdicts.refused(sent, &messages, ContentFault::Refused);
        assert_eq!(again, Suspicion::OfMessage(vec![good]));
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
