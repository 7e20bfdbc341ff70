//! Takes reasoning out of a reply that carries it in its text.
//!
//! Some servers pass on what a model writes as it is: the reasoning between two tags, then the answer. Others have
//! put the opening tag into the prompt already, so that only the closing one arrives. And a model that
//! explains such tags writes them without thinking anything. Told apart so:
//!
//! - an opening tag counts at the very start of a reply, before anything but white space;
//! - a closing tag without an opening one counts where it ends a line or a paragraph, not in code, and not
//!   after an opening tag that was only mentioned; what came before it was reasoning;
//! - reasoning that is never closed, in a reply that is whole and says nothing else, is the reply.

use super::markdown::Code;

/// The tags that models have for their reasoning: how one begins and ends.
const TAGS: [(&str, &str); 10] = [
    ("<think>", "</think>"),
    ("<thinking>", "</thinking>"),
    ("<thought>", "</thought>"),
    ("<reasoning>", "</reasoning>"),
    ("<reflection>", "</reflection>"),
    ("<seed:think>", "</seed:think>"),
    ("<|begin_of_thought|>", "<|end_of_thought|>"),
    ("<|START_THINKING|>", "<|END_THINKING|>"),
    ("[THINK]", "[/THINK]"),
    ("◁think▷", "◁/think▷"),
];

/// The longest reasoning that is kept in case it is never closed, in bytes. What is longer is none of the mistakes
/// that this is for.
const MAX_UNCLOSED_BYTES: usize = 1024 * 1024;

/// A part of a reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Part {
    /// A piece of the answer.
    Text(String),
    /// A piece of the reasoning.
    Reasoning(String),
    /// All text until here was reasoning.
    WasReasoning,
}

/// Reads one reply.
#[derive(Debug, Default)]
pub(super) struct ReasoningInText {
    state: State,
    /// What cannot be told yet.
    held: String,
    /// Whether reasoning has ended: white space up to the answer belongs to neither.
    has_reasoned: bool,
    /// Whether tags in the text are only mentioned from now on.
    mentioned: bool,
    code: Code,
    last: Option<char>,
}

#[derive(Debug, Default)]
enum State {
    /// Before anything but white space.
    #[default]
    Start,
    Thinking(Thinking),
    Text,
}

#[derive(Debug)]
struct Thinking {
    /// What ends the reasoning.
    close: &'static str,
    /// The reasoning as it was written, with its tag, in case it never ends.
    unclosed: String,
    /// Whether anything but white space has come.
    begun: bool,
}

impl Thinking {
    /// The printable part of the next piece.
    fn take(&mut self, piece: &str) -> String {
        if self.unclosed.len() < MAX_UNCLOSED_BYTES {
            self.unclosed.push_str(piece);
        }
        let shown = if self.begun {
            piece
        } else {
            piece.trim_start()
        };
        self.begun |= !shown.is_empty();
        shown.to_owned()
    }
}

impl ReasoningInText {
    /// Takes the next piece of the text and adds what is known of it to `out`.
    pub(super) fn text(&mut self, piece: &str, out: &mut Vec<Part>) {
        self.held.push_str(piece);
        while self.advance(out) {}
    }

    /// The text is over. `whole`: the reply is complete and has nothing beside its text.
    pub(super) fn end(&mut self, whole: bool, out: &mut Vec<Part>) {
        let held = std::mem::take(&mut self.held);
        match std::mem::take(&mut self.state) {
            State::Start if self.has_reasoned => push_text(held.trim_start().to_owned(), out),
            State::Start | State::Text => push_text(held, out),
            State::Thinking(mut thinking) => {
                push_reasoning(thinking.take(&held), out);
                let all = thinking.unclosed.len() < MAX_UNCLOSED_BYTES;
                if whole && !self.has_reasoned && all {
                    push_text(thinking.unclosed, out);
                }
            }
        }
    }

    /// Does one step; `false` once more text is needed.
    fn advance(&mut self, out: &mut Vec<Part>) -> bool {
        match &mut self.state {
            State::Start => {
                let begun = self.held.trim_start();
                if let Some((open, close)) = TAGS.iter().find(|(open, _)| begun.starts_with(open)) {
                    let tag_end = self.held.len() - begun.len() + open.len();
                    self.state = State::Thinking(Thinking {
                        close,
                        unclosed: self.held.drain(..tag_end).collect(),
                        begun: false,
                    });
                    // With both tags there, no other closing one tells anything.
                    self.mentioned = true;
                    return true;
                }
                if TAGS.iter().any(|(open, _)| open.starts_with(begun)) {
                    return false;
                }
                if self.has_reasoned {
                    self.held = begun.to_owned();
                }
                self.state = State::Text;
                true
            }
            State::Thinking(thinking) => {
                if let Some(at) = self.held.find(thinking.close) {
                    let reasoning = thinking.take(self.held[..at].trim_end());
                    self.held.drain(..at + thinking.close.len());
                    push_reasoning(reasoning, out);
                    self.has_reasoned = true;
                    self.state = State::Start;
                    return true;
                }
                let free = self.held.len() - kept_for(&self.held, [thinking.close]);
                // White space before the closing tag is no part of the reasoning.
                let free = self.held[..free].trim_end().len();
                let piece: String = self.held.drain(..free).collect();
                push_reasoning(thinking.take(&piece), out);
                false
            }
            State::Text => self.advance_text(out),
        }
    }

    /// Looks for a closing tag whose opening one stood in the prompt.
    fn advance_text(&mut self, out: &mut Vec<Part>) -> bool {
        if self.mentioned {
            let text = std::mem::take(&mut self.held);
            self.say(text, out);
            return false;
        }
        let tags = || TAGS.iter().flat_map(|(open, close)| [*open, *close]);
        let found = tags()
            .filter_map(|tag| Some((self.held.find(tag)?, tag)))
            .min();
        let Some((at, tag)) = found else {
            let free = self.held.len() - kept_for(&self.held, tags());
            let text: String = self.held.drain(..free).collect();
            self.say(text, out);
            return false;
        };
        let before: String = self.held.drain(..at).collect();
        self.say(before, out);
        let closes = TAGS.iter().any(|(_, close)| *close == tag);
        let behind = &self.held[tag.len()..];
        let counts = if self.code.inside() || !closes {
            false
        } else if self.stands_apart() {
            true
        } else {
            // In the midst of a line it counts where a paragraph ends with it.
            let line_end = behind.trim_start_matches([' ', '\t', '\r']);
            let paragraph_end = line_end
                .strip_prefix('\n')
                .map(|rest| rest.trim_start_matches([' ', '\t', '\r']));
            match paragraph_end {
                _ if line_end.is_empty() => return false,
                Some("") => return false,
                Some(rest) => rest.starts_with('\n'),
                None => false,
            }
        };
        if counts {
            self.held.drain(..tag.len());
            out.push(Part::WasReasoning);
            self.has_reasoned = true;
            self.state = State::Start;
        }
        // Where one is mentioned others are too, and no reply has reasoning twice without an opening tag.
        self.mentioned = true;
        true
    }

    /// Whether a tag at this place is none that a sentence mentions: it begins a line, or sticks to a word.
    fn stands_apart(&self) -> bool {
        let sticks = |c: char| c.is_alphanumeric() || matches!(c, '.' | '!' | '?' | ':');
        self.code.at_line_start() || self.last.is_some_and(sticks)
    }

    fn say(&mut self, text: String, out: &mut Vec<Part>) {
        self.code.pass(&text);
        self.last = text.chars().next_back().or(self.last);
        push_text(text, out);
    }
}

/// How many bytes at the end of a text may be the beginning of one of these.
pub(super) fn kept_for(text: &str, tags: impl IntoIterator<Item = &'static str> + Clone) -> usize {
    let longest = tags.clone().into_iter().map(str::len).max().unwrap_or(0);
    let from = text.len().saturating_sub(longest);
    (from..text.len())
        .filter(|start| text.is_char_boundary(*start))
        .find(|start| {
            tags.clone()
                .into_iter()
                .any(|tag| tag.starts_with(&text[*start..]))
        })
        .map_or(0, |start| text.len() - start)
}

fn push_text(text: String, out: &mut Vec<Part>) {
    match out.last_mut() {
        _ if text.is_empty() => {}
        Some(Part::Text(before)) => before.push_str(&text),
        _ => out.push(Part::Text(text)),
    }
}

fn push_reasoning(text: String, out: &mut Vec<Part>) {
    if !text.is_empty() {
        out.push(Part::Reasoning(text));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a reply comes to: reasoning and answer, after everything that was taken back.
    fn read(pieces: &[&str], whole: bool) -> (String, String) {
        let mut reasoning = ReasoningInText::default();
        let mut parts = Vec::new();
        for piece in pieces {
            reasoning.text(piece, &mut parts);
        }
        reasoning.end(whole, &mut parts);
        let (mut reasoning, mut text) = (String::new(), String::new());
        for part in parts {
            match part {
                Part::Text(piece) => text += &piece,
                Part::Reasoning(piece) => reasoning += &piece,
                Part::WasReasoning => reasoning += &std::mem::take(&mut text),
            }
        }
        (reasoning, text)
    }

    /// The reply is this reasoning and this answer, in one piece and however it is cut.
    #[track_caller]
    fn check(reply: &str, reasoning: &str, text: &str) {
        let expected = (reasoning.to_owned(), text.to_owned());
        assert_eq!(read(&[reply], true), expected, "{reply:?}");
        for (cut, _) in reply.char_indices() {
            let (head, tail) = reply.split_at(cut);
            assert_eq!(read(&[head, tail], true), expected, "{reply:?} at {cut}");
        }
        let single: Vec<String> = reply.chars().map(String::from).collect();
        let single: Vec<&str> = single.iter().map(String::as_str).collect();
        assert_eq!(read(&single, true), expected, "{reply:?} by characters");
    }

    #[test]
    fn reasoning_at_the_start() {
        check("<think>hm\n</think>\n\nHi", "hm", "Hi");
        check("\n <think>\nhm</think>Hi", "hm", "Hi");
        check("<think>\n\n</think>\n\nHi", "", "Hi");
        check("<thinking>a</thinking> b", "a", "b");
        check("[THINK]a[/THINK]b", "a", "b");
        check("◁think▷a◁/think▷b", "a", "b");
        check("<think>a</thinking>b</think>c", "a</thinking>b", "c");
        check("<think>a</think>\n<think>b</think>\nc", "ab", "c");
        check("<think>a < b</think>c", "a < b", "c");
    }

    #[test]
    fn only_the_closing_tag() {
        check("I think.\n</think>\n\nHi", "I think.\n", "Hi");
        check("I think.</think>Hi", "I think.", "Hi");
        check("I think </think>\n\nHi", "I think ", "Hi");
        check("</think>Hi", "", "Hi");
        check("a\n</think>\n\nb\n</think>\nc", "a\n", "b\n</think>\nc");
        check("a\n</think>", "a\n", "");
    }

    #[test]
    fn tags_that_are_mentioned() {
        for text in [
            "It ends with </think> and goes on.",
            "It ends with </think>\nand goes on.",
            "It ends with </think>",
            "The tags `<think>` and `</think>`.",
            "```\n</think>\n```\nAs shown.",
            "First <think> then\n</think>\n\nand done.",
            "{\"tag\":\"</think>\"}",
            "Hi <think>no</think>",
            "<thin",
            "<",
            "1 < 2 </",
            "  \n",
            "",
        ] {
            check(text, "", text);
        }
    }

    #[test]
    fn never_closed() {
        let reply = "<think> is a tag.";
        assert_eq!(read(&[reply], true).1, reply);
        let cut = ("is a tag.".to_owned(), String::new());
        assert_eq!(read(&[reply], false), cut);
    }

    proptest::proptest! {
        #[test]
        fn chunk_boundaries_change_nothing_and_nothing_is_lost(
            words in proptest::collection::vec(
                proptest::sample::select(vec!["<think>", "</think>", "[THINK]", "[/THINK]", "a", ".", " ", "\n", "`", "```", "<", "ß"]),
                0..14,
            ),
            cuts in proptest::collection::vec(proptest::prelude::any::<proptest::sample::Index>(), 0..6),
        ) {
            let reply = words.concat();
            let mut cuts: Vec<usize> = cuts
                .iter()
                .map(|cut| reply.floor_char_boundary(cut.index(reply.len() + 1)))
                .collect();
            cuts.sort_unstable();
            let mut pieces = Vec::new();
            let mut start = 0;
            for cut in cuts.into_iter().chain([reply.len()]) {
                pieces.push(&reply[start..cut]);
                start = cut;
            }
            let (reasoning, text) = read(&[&reply], true);
            proptest::prop_assert_eq!(read(&pieces, true), (reasoning.clone(), text.clone()));
            let kept = |text: &str| text.matches(['a', '.', 'ß']).count();
            proptest::prop_assert!(kept(&reasoning) + kept(&text) >= kept(&reply));
        }
    }
}
