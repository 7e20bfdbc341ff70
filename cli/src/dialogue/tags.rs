//! The files that are attached to a conversation, and those that wait for the next message.

use std::time::SystemTime;

use crate::mentions;
use dunlin_chat::media::{About, Media};
use dunlin_chat::tokens::estimate;

/// How the name of what a command printed begins in `/tags`.
const OUTPUT_MARK: &str = "!!";

/// A file that was read for a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tag {
    /// In the user's words.
    pub path: String,
    /// What the model gets of it.
    pub(super) content: String,
    /// What it gets beside the text.
    pub(super) media: Option<Media>,
    /// By which a change of the file is noticed.
    pub(super) stamp: Option<(SystemTime, u64)>,
    /// Whether it is what a command printed, and no file.
    pub(super) is_output: bool,
    /// Whether it was sent; else it waits for the next message.
    pub is_sent: bool,
}

/// What is attached, and what went wrong with it the last time.
#[derive(Debug, Default)]
pub struct Tags {
    pub(super) tags: Vec<Tag>,
    /// The message that came back, and the mentions in it that are text if it is sent again as it is.
    pub(super) excused: Option<(String, Vec<String>)>,
    /// What was read for that message.
    pub(super) read: Vec<Tag>,
    /// How many calls there were.
    pub(super) calls: u64,
}

impl Tag {
    /// How many bytes the file had, where that is known.
    pub fn bytes(&self) -> Option<u64> {
        self.stamp.map(|(_, bytes)| bytes)
    }

    /// About how many tokens that is.
    pub fn tokens(&self) -> u64 {
        let media = self.media.as_ref().map(|media| media.about().tokens());
        estimate(&self.content) + media.unwrap_or_default()
    }

    /// Which lines of the file it has, where that is too long to be attached whole: `lines 1-1177 of 2001`.
    pub fn part(&self) -> Option<&str> {
        let (_, read) = self.content.lines().next()?.rsplit_once("': ")?;
        let which = read.split(';').next()?;
        (!self.is_output && which.starts_with("line") && which.contains(" of ")).then_some(which)
    }

    /// What it is, if it is no text.
    pub fn media(&self) -> Option<About> {
        self.media.as_ref().map(Media::about)
    }
}

impl Tags {
    /// All of them, those that wait first.
    pub fn list(&self) -> impl Iterator<Item = &Tag> {
        let waiting = self.tags.iter().filter(|tag| !tag.is_sent);
        waiting.chain(self.tags.iter().filter(|tag| tag.is_sent))
    }

    /// Takes away those that wait and for which `wanted` holds. Returns their paths.
    pub fn remove(&mut self, wanted: impl Fn(&Tag) -> bool) -> Vec<String> {
        let goes = |tag: &&Tag| !tag.is_sent && wanted(tag);
        let gone = self.tags.iter().filter(goes).map(|tag| tag.path.clone());
        let gone = gone.collect();
        self.tags.retain(|tag| tag.is_sent || !wanted(tag));
        gone
    }

    /// A message with these files is in the input line again. Those that it does not mention wait for the next one, except
    /// those that go: their paths are returned.
    pub fn take_back(
        &mut self,
        text: &str,
        attached: &[String],
        goes: impl Fn(&str) -> bool,
    ) -> Vec<String> {
        let mentions = mentions::find(text);
        let is_mentioned = |path: &str| mentions.iter().any(|it| it.means(path));
        let mut gone = Vec::new();
        self.tags.retain_mut(|tag| {
            if !tag.is_sent || !attached.contains(&tag.path) {
                return true;
            }
            if is_mentioned(&tag.path) {
                return false;
            }
            tag.is_sent = false;
            let goes = goes(&tag.path);
            if goes {
                gone.push(tag.path.clone());
            }
            !goes
        });
        gone
    }

    /// Forgets what was sent with messages that are gone.
    pub(super) fn forget_sent(&mut self) {
        self.tags.retain(|tag| !tag.is_sent);
    }

    /// Has what a command printed go with the next message.
    pub fn add_output(&mut self, command: &str, content: String) -> Tag {
        let tag = Tag {
            path: format!("{OUTPUT_MARK}{command}"),
            content,
            media: None,
            stamp: None,
            is_output: true,
            is_sent: false,
        };
        self.add(tag.clone());
        tag
    }

    pub(super) fn add(&mut self, tag: Tag) {
        self.tags.retain(|other| other.path != tag.path);
        self.tags.push(tag);
    }
}
