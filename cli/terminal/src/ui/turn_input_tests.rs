//! The input line of a chat over several turns, against a table of what each key does in it.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::super::keys::{EarlyKeys, EarlyLines};
use super::super::typed_line;

/// What happens while a turn runs, and how it ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Event {
    Word,
    /// A word that is a command, if it begins the line.
    Command,
    Enter,
    /// Takes back what was kept or queued last.
    Up,
    /// Ctrl-U.
    Erase,
    /// A line that ends while a question is asked.
    InQuestion,
    Ends,
    /// Ctrl-C.
    Interrupts,
    /// Esc.
    SendsTyped,
    /// The turn ends, and at the prompt a message is typed in place of what was put back.
    Replaced,
}

const EVENTS: &[Event] = &[
    Event::Word,
    Event::Word,
    Event::Command,
    Event::Enter,
    Event::Enter,
    Event::Up,
    Event::Erase,
    Event::InQuestion,
    Event::Ends,
    Event::Interrupts,
    Event::SendsTyped,
    Event::Replaced,
];

/// Lines that begin with a slash are commands.
struct Slashes;

impl EarlyLines for Slashes {
    fn is_alone(&self, line: &str) -> bool {
        line.starts_with('/') && !line.contains('\n')
    }

    fn is_complete(&self, _: &str) -> bool {
        true
    }
}

/// A chat, and what its input line should be.
#[derive(Default)]
struct Chat {
    keys: EarlyKeys,
    queue: Vec<String>,
    line: String,
    words: usize,
    /// How many prompts there were, and how many when each word was typed.
    prompts: usize,
    typed: BTreeMap<String, usize>,
    /// What was sent or put back into the line, one text for each.
    given: Vec<String>,
}

impl Chat {
    fn word(&mut self, slash: &str) -> String {
        self.words += 1;
        let word = format!("<{}>", self.words);
        self.typed.insert(word.clone(), self.prompts);
        format!("{slash}{word}")
    }

    /// Types while the turn runs.
    fn types(&mut self, keys: &str) {
        self.keys.keep_ended();
        self.keys.feed(keys.as_bytes());
        self.keys.recall(&|_| true);
        self.keys.queue_lines();
    }

    /// The user goes on with this line now.
    fn takes_back(&mut self, line: String) {
        for (word, prompt) in &mut self.typed {
            if line.contains(word.as_str()) {
                *prompt = self.prompts;
            }
        }
        self.line = line;
    }

    fn event(&mut self, event: Event) {
        match event {
            Event::Word | Event::Command => {
                let is_command = event == Event::Command && self.line.is_empty();
                let word = self.word(if is_command { "/" } else { "" });
                self.types(&word);
                self.line.push_str(&word);
            }
            Event::Enter => {
                self.types("\r");
                let line = std::mem::take(&mut self.line);
                self.queue
                    .extend(Some(line).filter(|line| !line.is_empty()));
            }
            Event::Up => {
                let kept = self.keys.kept();
                self.types("\x1b[A");
                if self.line.is_empty() {
                    let line = kept.last().cloned().or_else(|| self.queue.pop());
                    self.takes_back(line.unwrap_or_default());
                }
            }
            Event::Erase => {
                self.types("\x15");
                let line = std::mem::take(&mut self.line);
                self.typed.retain(|word, _| !line.contains(word.as_str()));
            }
            Event::InQuestion => {
                let word = self.word("");
                self.keys.feed(format!("{word}\r").as_bytes());
                let line = std::mem::take(&mut self.line) + &word;
                assert_eq!(self.keys.kept().pop(), Some(line));
            }
            Event::Ends | Event::Replaced => self.goes_on(true, event),
            Event::Interrupts => self.goes_on(false, event),
            Event::SendsTyped => {
                self.types("\x1b");
                self.keys.take_escape();
                self.keys.queue_all();
                let line = std::mem::take(&mut self.line);
                self.queue
                    .extend(Some(line).filter(|line| !line.is_empty()));
                self.goes_on(true, event);
            }
        }
        assert_eq!(self.keys.queued(), self.queue, "{event:?}");
        assert_eq!(self.keys.input().text, self.line, "{event:?}");
    }

    /// The turn is over: the next one begins with what is queued, or with what is sent at the prompt.
    fn goes_on(&mut self, sends: bool, how: Event) {
        if sends && let Some(message) = self.keys.take_message(&Slashes) {
            assert_eq!(message, self.queue.remove(0), "it was queued first");
            return self.given.push(message);
        }
        self.keys.unqueue();
        self.prompts += 1;
        let text = typed_line::text(&self.keys.take_next(&Slashes));
        (self.line, self.queue) = Default::default();
        self.given.push(text);
        if how == Event::Replaced {
            let word = self.word("");
            self.given.push(word);
        }
    }
}

fn check(events: &[Event]) {
    let mut chat = Chat::default();
    for event in events {
        chat.event(*event);
    }
    // The prompts that follow give back what is left, with no message in between.
    loop {
        let before = chat.given.len();
        chat.goes_on(false, Event::Interrupts);
        if chat.given.get(before).is_some_and(String::is_empty) {
            break;
        }
    }
    let mut found = BTreeMap::new();
    for text in &chat.given {
        let words = text
            .split_inclusive('>')
            .filter_map(|it| it.split_once('<'));
        let words: Vec<String> = words.map(|(_, word)| format!("<{word}")).collect();
        for word in &words {
            assert_eq!(found.insert(word.clone(), ()), None, "twice: {text:?}");
        }
        let mut prompts = words.iter().map(|word| chat.typed.get(word));
        let first = prompts.next();
        let is_of_one = prompts.all(|prompt| Some(prompt) == first);
        assert!(is_of_one, "typed before and after a prompt: {text:?}");
    }
    let typed: Vec<_> = chat.typed.keys().collect();
    assert_eq!(typed, found.keys().collect::<Vec<_>>(), "nothing is lost");
}

#[test]
fn a_line_that_was_taken_back_becomes_no_part_of_a_later_message() {
    use Event::*;
    for events in [
        &[
            Command, Enter, Word, Enter, Up, SendsTyped, Replaced, Word, Enter,
        ][..],
        &[Command, Enter, Word, Enter, Ends, Word, Interrupts],
        &[Command, Enter, Word, Enter, Up, Ends, Word, Enter, Ends],
        &[
            Word, Enter, Command, Enter, Word, Enter, Up, Erase, SendsTyped, Up, Word,
        ],
        &[Word, InQuestion, Up, Command, Enter, Interrupts, Up, Enter],
    ] {
        check(events);
    }
}

proptest! {
    /// No text is lost, comes twice, or becomes a part of a message that was typed after another prompt.
    #[test]
    fn whatever_happens_to_the_line_its_text_comes_back_once(
        events in proptest::collection::vec(proptest::sample::select(EVENTS), 0..40)
    ) {
        check(&events);
    }
}
