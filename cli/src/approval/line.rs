//! What was typed at an approval.

use dunlin_host::ask::{Answer, Scope};

/// A word that can be typed, and what it does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Word {
    /// One of the six answers.
    Answer(Answer),
    /// Not run, not denied.
    Skip,
    /// Everything about a call.
    View,
    /// Its arguments, in an editor.
    Edit,
    /// Starts the round.
    Run,
    /// Explains the words.
    Help,
}

const fn answer(allow: bool, scope: Scope) -> Word {
    Word::Answer(Answer { allow, scope })
}

/// Every word with what it means. The help and the completion are made of this table.
pub const WORDS: &[(&str, Word, &str)] = &[
    ("y", answer(true, Scope::Once), "yes, this once"),
    ("n", answer(false, Scope::Once), "no, this once"),
    (
        "s",
        answer(true, Scope::Session),
        "yes, until the session ends",
    ),
    (
        "ns",
        answer(false, Scope::Session),
        "no, until the session ends",
    ),
    (
        "always",
        answer(true, Scope::Always),
        "yes, and remember it (see dunlin permissions list)",
    ),
    ("never", answer(false, Scope::Always), "no, and remember it"),
    ("skip", Word::Skip, "leave it out: not run, nothing denied"),
    ("v", Word::View, "show everything about it"),
    ("e", Word::Edit, "change its arguments in your editor"),
    ("run", Word::Run, "start now; what is undecided is skipped"),
    ("?", Word::Help, "show this"),
];

/// What people type instead, and the word that they mean. A yes is not guessed.
const NEAR: &[(&str, &str)] = &[
    ("yes", "y"),
    ("yy", "y"),
    ("ok", "y"),
    ("okay", "y"),
    ("allow", "y"),
    ("approve", "y"),
    ("nn", "n"),
    ("deny", "n"),
    ("view", "v"),
    ("edit", "e"),
    ("help", "?"),
    ("session", "s"),
];

/// Which calls are meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Which {
    /// Not said: the only one there is.
    Only,
    /// These, by the numbers that they are shown with.
    Numbers(Vec<usize>),
    /// All that are undecided.
    All,
}

/// A line, understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Line {
    /// Nothing.
    Empty,
    /// A word, the calls that it is about, and what is said about them.
    Word(Word, Which, Option<String>),
    /// Something that was meant as an answer and is none: the sentence to show.
    Wrong(String),
    /// A slash command.
    Slash,
    /// Anything else.
    Other,
}

/// Understands a line: the words exactly, in either case, and nothing that only begins like one.
pub fn parse(line: &str) -> Line {
    let text = line.trim();
    if text.is_empty() {
        return Line::Empty;
    }
    if text.starts_with('/') {
        return Line::Slash;
    }
    let (first, rest) = text
        .split_once(char::is_whitespace)
        .map_or((text, ""), |(first, rest)| (first, rest.trim()));
    let mut first = first.to_ascii_lowercase();
    // Whoever is refused a yes in so many letters types another one; a no must not wait for that.
    if first == "no" {
        first.truncate(1);
    }
    let Some((name, word, _)) = WORDS.iter().find(|(name, ..)| *name == first) else {
        return match NEAR.iter().find(|(near, _)| *near == first) {
            Some((near, word)) if rest.is_empty() => {
                Line::Wrong(format!("\"{near}\" is no answer: type {word}"))
            }
            _ if text.bytes().all(|byte| byte.is_ascii_digit()) => {
                Line::Wrong("a number needs a word before it, such as y or n".to_owned())
            }
            _ => Line::Other,
        };
    };
    let (which, comment) = match calls_of(rest) {
        Ok(parts) => parts,
        Err(problem) => return Line::Wrong(problem),
    };
    let commented = !comment.is_empty();
    let denied_once = answer(false, Scope::Once);
    match word {
        // Words that begin many a message.
        Word::Run | Word::Help if !rest.is_empty() => Line::Other,
        Word::View | Word::Edit if commented => Line::Other,
        // What follows may take back what stands before it: "y all but 3", "always 1 not 2".
        Word::Answer(Answer { allow: true, .. }) if commented => Line::Wrong(format!(
            "nothing was approved: \"{name}\" takes numbers and nothing else, as in {name} all or {name} 1 2"
        )),
        // "never mind" denies nothing. Only a no is safe to take with whatever follows it.
        Word::Answer(_) if commented && which == Which::Only && *word != denied_once => {
            Line::Wrong(format!(
                "\"{name}\" answers alone or with a number; what you want to say about a call comes after it"
            ))
        }
        _ => Line::Word(*word, which, commented.then(|| comment.to_owned())),
    }
}

/// The calls named at the beginning of `rest`, and what comes after them.
fn calls_of(rest: &str) -> Result<(Which, &str), String> {
    let mut numbers = Vec::new();
    let mut rest = rest;
    loop {
        let end = rest
            .find(|c: char| c.is_whitespace() || c == ',')
            .unwrap_or(rest.len());
        let token = &rest[..end];
        let after = rest[end..].trim_start_matches(|c: char| c.is_whitespace() || c == ',');
        if numbers.is_empty() && token.eq_ignore_ascii_case("all") {
            return Ok((Which::All, after));
        }
        if token.is_empty() || !token.bytes().all(|byte| byte.is_ascii_digit()) {
            let which = if numbers.is_empty() {
                Which::Only
            } else {
                Which::Numbers(numbers)
            };
            return Ok((which, rest));
        }
        let number: usize = token
            .parse()
            .map_err(|_| "there is no call with such a number".to_owned())?;
        if !numbers.contains(&number) {
            numbers.push(number);
        }
        rest = after;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_words_answer() {
        let check = |line: &str, allow, scope| {
            let expected = Line::Word(answer(allow, scope), Which::Only, None);
            assert_eq!(parse(line), expected, "{line:?}");
        };
        check("y", true, Scope::Once);
        check(" Y \n", true, Scope::Once);
        check("n", false, Scope::Once);
        check("s", true, Scope::Session);
        check("ns", false, Scope::Session);
        check("always", true, Scope::Always);
        check("never", false, Scope::Always);
        for line in [
            "yes",
            "yy",
            "ok",
            "1",
            "2 3",
            "y n",
            "y yes",
            "always y",
            "never mind",
            "s tuff",
        ] {
            let found = parse(line);
            assert!(
                matches!(found, Line::Wrong(_) | Line::Other),
                "{line:?}: {found:?}"
            );
        }
        for line in [
            "a",
            "alway",
            "true",
            "\u{ff59}",
            "run the tests",
            "? what",
            "e is wrong",
            "v1",
            "yall",
        ] {
            assert_eq!(parse(line), Line::Other, "{line:?}");
        }
        assert_eq!(parse("  "), Line::Empty);
        assert_eq!(parse("/help y"), Line::Slash);
    }

    #[test]
    fn calls_are_named_by_number() {
        let yes = answer(true, Scope::Once);
        let no = answer(false, Scope::Once);
        let numbers = |numbers: &[usize]| Which::Numbers(numbers.to_vec());
        let check = |line: &str, word, which, comment: Option<&str>| {
            let expected = Line::Word(word, which, comment.map(str::to_owned));
            assert_eq!(parse(line), expected, "{line:?}");
        };
        check("y 2", yes, numbers(&[2]), None);
        check("y 1 3 1", yes, numbers(&[1, 3]), None);
        check("y 1,3, 2", yes, numbers(&[1, 3, 2]), None);
        check("y all", yes, Which::All, None);
        check("n ALL too much", no, Which::All, Some("too much"));
        check("n 3 not that one", no, numbers(&[3]), Some("not that one"));
        check("no", no, Which::Only, None);
        check("No 2", no, numbers(&[2]), None);
        check("no not that one", no, Which::Only, Some("not that one"));
        check("n not that one", no, Which::Only, Some("not that one"));
        check("skip 2", Word::Skip, numbers(&[2]), None);
        check("skip not now", Word::Skip, Which::Only, Some("not now"));
        check("v 2", Word::View, numbers(&[2]), None);
        check("e", Word::Edit, Which::Only, None);
        check("run", Word::Run, Which::Only, None);
        check("?", Word::Help, Which::Only, None);
        assert!(matches!(parse("y 99999999999999999999999"), Line::Wrong(_)));
    }

    #[test]
    fn a_yes_with_words_behind_it_approves_nothing() {
        for line in [
            "y all but 3",
            "y all of them",
            "y 1 not 2",
            "y 2 go on",
            "y not this one",
            "s all except 1",
            "always all except 2",
            "always 1, 2 and 3",
        ] {
            let Line::Wrong(why) = parse(line) else {
                panic!("{line:?} is taken for an answer")
            };
            assert!(why.starts_with("nothing was approved"), "{line:?}: {why}");
        }
    }
}
