//! What was typed at an approval.

use dunlin_host::ask::{Answer, Scope};
use dunlin_host::nearest::misspelt;
use dunlin_host::permission::ToolMode;

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
    /// What holds for the tool of a call until the session ends.
    Tool(ToolMode),
    Help,
}

impl Word {
    /// Whether a call may run because of it.
    pub fn allows(&self) -> bool {
        match self {
            Word::Answer(answer) => answer.allow,
            Word::Run | Word::Tool(ToolMode::Always) => true,
            Word::Tool(ToolMode::Prompt | ToolMode::Never)
            | Word::Skip
            | Word::View
            | Word::Edit
            | Word::Help => false,
        }
    }
}

const fn answer(allow: bool, scope: Scope) -> Word {
    Word::Answer(Answer { allow, scope })
}

/// Every word with what it means. The help and the completion are made of this table.
pub const WORDS: &[(&str, Word, &str)] = &[
    ("y", answer(true, Scope::Once), "yes, once"),
    ("n", answer(false, Scope::Once), "no, once"),
    (
        "s",
        answer(true, Scope::Session),
        "yes, also from now on until the session ends",
    ),
    (
        "ns",
        answer(false, Scope::Session),
        "no, also from now on until the session ends",
    ),
    (
        "always",
        answer(true, Scope::Always),
        "yes, and store it for all projects, as the question says",
    ),
    (
        "never",
        answer(false, Scope::Always),
        "no, and store it for all projects, as the question says",
    ),
    (
        "skip",
        Word::Skip,
        "don't run it; the model is told it was skipped",
    ),
    (
        "v",
        Word::View,
        "show everything about it, also what takes the answers back",
    ),
    ("e", Word::Edit, "change its arguments in your editor"),
    (
        "run",
        Word::Run,
        "run the approved calls now and skip the rest",
    ),
    ("?", Word::Help, "show this"),
];

/// Other words that people type for these.
const ALIASES: &[(&str, &str)] = &[
    ("yes", "y"),
    ("no", "n"),
    ("a", "always"),
    ("session", "s"),
    ("view", "v"),
    ("details", "v"),
    ("edit", "e"),
    ("help", "?"),
];

/// What people type instead, and the word that they mean. A yes is not guessed.
const NEAR: &[(&str, &str)] = &[
    ("yy", "y"),
    ("ok", "y"),
    ("okay", "y"),
    ("allow", "y"),
    ("approve", "y"),
    ("nn", "n"),
    ("deny", "n"),
];

/// Sets what holds for the tool of a call: `tool always`, `tool 2 never`.
const TOOL: &str = "tool";

/// The longest single word that counts as a mistyped answer, in characters.
const MAX_MISTYPED_CHARS: usize = 10;

/// Which calls are meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Which {
    /// Not said: the only one there is.
    Only,
    /// These, by the numbers that they are shown with.
    Numbers(Vec<usize>),
    All,
}

/// A line, understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Line {
    Empty,
    /// A word, the calls that it is about, and what is said about them.
    Word(Word, Which, Option<String>),
    /// Something that was meant as an answer and is none: the sentence to show. It is not a message either.
    Wrong(String),
    /// A single word that is none of the words: most likely a mistyped answer. It, and the word that it is most like.
    Mistyped(String, Option<&'static str>),
    /// Words that may be meant as an answer or as a message: the sentence to show.
    Unclear(String),
    Slash,
    Other,
}

/// Understands a line: the words exactly, in either case, and nothing that only begins like one. `pending`: the numbers of
/// the calls that are asked about, which the sentences take for their examples.
pub fn parse(line: &str, pending: &[usize]) -> Line {
    let text = line.trim();
    if text.is_empty() {
        return Line::Empty;
    }
    // An answer is one line. More of them were pasted, and may have pushed the question off the screen.
    if line.lines().count() > 1 {
        return Line::Other;
    }
    if text.starts_with('/') {
        return Line::Slash;
    }
    let (first, rest) = text
        .split_once(char::is_whitespace)
        .map_or((text, ""), |(first, rest)| (first, rest.trim()));
    let first = first.to_ascii_lowercase();
    if first == TOOL {
        return tool(rest);
    }
    let typed = first.as_str();
    let alias = ALIASES.iter().find(|(alias, _)| *alias == first);
    let first = alias.map_or(typed, |(_, word)| word);
    // Words that also begin sentences: what follows them may be a message.
    let unclear =
        |problem: String| match matches!(typed, "a" | "always" | "never" | "session" | "run") {
            true => Line::Unclear(problem),
            false => Line::Wrong(problem),
        };
    let Some((name, word, _)) = WORDS.iter().find(|(name, ..)| *name == first) else {
        return unknown(first, rest);
    };
    let call = pending.first().copied().unwrap_or(1);
    if is_range(rest) && *word != Word::Help {
        let calls: Vec<String> = pending.iter().take(3).map(usize::to_string).collect();
        let calls = match calls.is_empty() {
            true => call.to_string(),
            false => calls.join(" "),
        };
        return Line::Wrong(format!(
            "Dunlin takes no ranges here: name each call, as in {name} {calls}."
        ));
    }
    let (which, comment) = match calls_of(rest) {
        Ok(parts) => parts,
        Err(problem) => return Line::Wrong(problem),
    };
    let commented = !comment.is_empty();
    let denied_once = answer(false, Scope::Once);
    match word {
        // Words that begin many a message.
        Word::Help if !rest.is_empty() => Line::Other,
        Word::View | Word::Edit if commented => Line::Other,
        // "run all" is not a word of ours: what is not approved is not run by it.
        Word::Run if which == Which::All => Line::Wrong(
            "Nothing was run: y all approves and runs all calls; run alone runs those that are approved."
                .to_owned(),
        ),
        // "always 1 space too many" is not an answer: what is kept for longer takes no words.
        Word::Answer(Answer { allow, scope }) if commented && *scope != Scope::Once => {
            let nothing = if *allow { "approved" } else { "answered" };
            unclear(format!(
                "Nothing was {nothing}: {name} is kept for longer than this call, so it takes numbers alone; a text goes with y or n."
            ))
        }
        // What follows may take back what stands before it, as in "y all but 3"; a number that begins it would be taken
        // for a call, as in "y 1 3 files are enough".
        Word::Run | Word::Answer(Answer { allow: true, .. })
            if commented && !names_one(&which) && (*word != Word::Run || which != Which::Only) =>
        {
            unclear(format!(
                "Nothing was approved: to say something with it, name one call, as in {name} {call} TEXT."
            ))
        }
        // "run 1 more time" is none either.
        Word::Run if commented && names_one(&which) => unclear(
            "Nothing was run: run takes numbers alone; a text goes with y or n.".to_owned(),
        ),
        // "never mind" denies nothing. Only a no is safe to take with whatever follows it.
        Word::Answer(_) if commented && which == Which::Only && *word != denied_once => {
            unclear(format!(
                "Nothing was answered: {name} stands alone or before a number; what you want to say comes after that."
            ))
        }
        _ => Line::Word(*word, which, commented.then(|| comment.to_owned())),
    }
}

/// Whether a text is an answer or what people type for one, as opposed to a message.
pub fn looks_like_answer(text: &str) -> bool {
    // A word and numbers; what has more words is something to say.
    let is_number = |word: &&str| word.starts_with(|c: char| c.is_ascii_digit());
    let words = text.split_whitespace().filter(|word| !is_number(word));
    match parse(text, &[]) {
        Line::Word(_, _, None) => true,
        Line::Wrong(_) => words.count() <= 1,
        _ => false,
    }
}

/// Whether a text is an answer, word for word.
pub fn is_answer(text: &str) -> bool {
    matches!(parse(text, &[]), Line::Word(_, _, None))
}

/// Whether a text cannot be meant as anything but an answer. A plain `y` or `no` may answer what the model asked in its last
/// reply.
pub fn only_answers(text: &str) -> bool {
    let is_short = |words: &[&str]| words.contains(&text.trim().to_ascii_lowercase().as_str());
    match parse(text, &[]) {
        Line::Word(Word::Tool(_), ..) => true,
        Line::Word(_, Which::Numbers(_) | Which::All, None) => true,
        Line::Word(_, Which::Only, None) => is_short(&["s", "ns", "always", "never"]),
        _ => false,
    }
}

fn names_one(which: &Which) -> bool {
    matches!(which, Which::Numbers(numbers) if numbers.len() == 1)
}

/// A line that begins with none of the words.
fn unknown(first: &str, rest: &str) -> Line {
    let numbers = rest
        .chars()
        .all(|c| c.is_ascii_digit() || c.is_whitespace() || c == ',');
    if let Some((near, word)) = NEAR.iter().find(|(near, _)| *near == first)
        && numbers
    {
        return Line::Wrong(format!("\"{near}\" is not an answer: type {word}"));
    }
    if first.bytes().all(|byte| byte.is_ascii_digit()) && numbers {
        return Line::Wrong("A number needs a word before it, such as y or n.".to_owned());
    }
    // A message has more than one word.
    let is_word = first.chars().count() <= MAX_MISTYPED_CHARS
        && first.chars().all(char::is_alphanumeric)
        && numbers;
    match is_word {
        true => Line::Mistyped(first.to_owned(), meant(first)),
        false => Line::Other,
    }
}

/// The word that a mistyped one is most like.
fn meant(typed: &str) -> Option<&'static str> {
    let words = || {
        let aliases = ALIASES.iter().map(|(alias, _)| *alias);
        WORDS.iter().map(|(name, ..)| *name).chain(aliases)
    };
    let letters = |word: &str| {
        let mut letters: Vec<char> = word.chars().collect();
        letters.sort_unstable();
        letters
    };
    // In a short word, even two letters in the wrong order are too many to be near.
    let is_swapped = |word: &&str| word.len() > 1 && letters(word) == letters(typed);
    words()
        .find(is_swapped)
        .or_else(|| misspelt(typed, words()))
}

/// What stands behind the word for the tool of a call: a mode, and perhaps the number of the call.
fn tool(rest: &str) -> Line {
    let words: Vec<&str> = rest.split_whitespace().collect();
    let number = |word: &str| word.parse::<usize>().ok();
    let (mode, which) = match words.as_slice() {
        [mode] => (*mode, Which::Only),
        [mode, call] | [call, mode] if number(call).is_some() => {
            (*mode, Which::Numbers(number(call).into_iter().collect()))
        }
        [] => ("", Which::Only),
        _ => return Line::Other,
    };
    match mode.to_ascii_lowercase().parse() {
        Ok(mode) => Line::Word(Word::Tool(mode), which, None),
        Err(_) => Line::Wrong(
            "Usage: tool prompt, tool always or tool never, and a number where several calls are pending."
                .to_owned(),
        ),
    }
}

/// Whether all of it is something like `5-9`.
fn is_range(rest: &str) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    rest.split_once(['-', '–'])
        .is_some_and(|(from, to)| is_number(from.trim()) && is_number(to.trim()))
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
            .map_err(|_| "No call has such a number.".to_owned())?;
        if !numbers.contains(&number) {
            numbers.push(number);
        }
        rest = after;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Line {
        super::parse(line, &[])
    }

    #[test]
    fn examples_name_calls_that_are_pending() {
        for (line, expected) in [
            ("y all but 8", "as in y 7 TEXT."),
            ("y 7-9", "name each call, as in y 7 8 9."),
            ("skip 7 - 9", "name each call, as in skip 7 8 9."),
        ] {
            let (Line::Unclear(why) | Line::Wrong(why)) = super::parse(line, &[7, 8, 9, 10]) else {
                panic!("{line:?} is taken for an answer")
            };
            assert!(why.ends_with(expected), "{line:?}: {why}");
        }
        // Words behind it make it something to say.
        assert!(matches!(
            parse("n 5-9 lines are enough"),
            Line::Word(_, _, Some(_))
        ));
    }

    #[test]
    fn only_the_words_answer() {
        let check = |line: &str, allow, scope| {
            let expected = Line::Word(answer(allow, scope), Which::Only, None);
            assert_eq!(parse(line), expected, "{line:?}");
        };
        for several in ["\n\ny", "y\n\n", "y\nor n"] {
            assert_eq!(parse(several), Line::Other, "{several:?}");
        }
        check("y", true, Scope::Once);
        check(" Y \n", true, Scope::Once);
        check("yes", true, Scope::Once);
        check("YES", true, Scope::Once);
        check("n", false, Scope::Once);
        check("No", false, Scope::Once);
        check("s", true, Scope::Session);
        check("ns", false, Scope::Session);
        check("always", true, Scope::Always);
        check("a", true, Scope::Always);
        check("never", false, Scope::Always);
        for line in ["yy", "ok", "Okay", "1", "2 3", "ok 2"] {
            let found = parse(line);
            assert!(matches!(found, Line::Wrong(_)), "{line:?}: {found:?}");
            assert!(looks_like_answer(line) && !is_answer(line), "{line:?}");
        }
        for line in ["yse", "alway", "true", "yall", "v1", "thanks", "yse 2"] {
            assert!(matches!(parse(line), Line::Mistyped(..)), "{line:?}");
            assert!(!looks_like_answer(line), "{line:?}");
        }
        for line in ["y n", "y yes", "yes please", "s tuff", "run all"] {
            assert!(matches!(parse(line), Line::Wrong(_)), "{line:?}");
        }
        for line in ["always y", "never mind", "a file is missing"] {
            let found = parse(line);
            assert!(matches!(found, Line::Unclear(_)), "{line:?}: {found:?}");
            assert!(!looks_like_answer(line), "{line:?}");
        }
        for line in [
            "\u{ff59}!",
            "? what",
            "e is wrong",
            "tell me more",
            "ok then do it",
            "help me",
        ] {
            assert_eq!(parse(line), Line::Other, "{line:?}");
        }
        assert_eq!(parse("  "), Line::Empty);
        assert_eq!(parse("/help y"), Line::Slash);
    }

    #[test]
    fn a_mistyped_word_is_told_what_it_is_like() {
        for (typed, near) in [
            ("alway", "always"),
            ("allways", "always"),
            ("yse", "yes"),
            ("nevr 2", "never"),
            ("sesion", "session"),
        ] {
            let Line::Mistyped(_, meant) = parse(typed) else {
                panic!("{typed:?} is taken for an answer")
            };
            assert_eq!(meant, Some(near), "{typed:?}");
        }
        assert_eq!(parse("thanks"), Line::Mistyped("thanks".to_owned(), None));
    }

    #[test]
    fn without_a_question_only_what_cannot_be_a_message_is_an_answer() {
        for line in [
            "y 12",
            "y all",
            "n 3",
            "run 3",
            "v 2",
            "s",
            "NS",
            "always",
            "never",
            "tool always",
        ] {
            assert!(only_answers(line), "{line}");
        }
        for line in [
            "y",
            "yes",
            "no",
            "N",
            "a",
            "run",
            "skip",
            "?",
            "e",
            "12",
            "y 1 carefully",
            "never mind",
            "/help",
        ] {
            assert!(!only_answers(line), "{line}");
        }
    }

    #[test]
    fn the_tool_of_a_call_is_set_with_a_word() {
        for (line, mode, which) in [
            ("tool always", ToolMode::Always, Which::Only),
            ("tool never", ToolMode::Never, Which::Only),
            ("Tool 3 Prompt", ToolMode::Prompt, Which::Numbers(vec![3])),
            ("tool never 3", ToolMode::Never, Which::Numbers(vec![3])),
        ] {
            assert_eq!(
                parse(line),
                Line::Word(Word::Tool(mode), which, None),
                "{line}"
            );
        }
        assert!(matches!(parse("tool"), Line::Wrong(_)));
        assert!(matches!(parse("tool sometimes"), Line::Wrong(_)));
        assert_eq!(parse("tool calls are slow today"), Line::Other);
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
        check("run 2", Word::Run, numbers(&[2]), None);
        check(
            "run and then stop",
            Word::Run,
            Which::Only,
            Some("and then stop"),
        );
        check("y 1 carefully", yes, numbers(&[1]), Some("carefully"));
        check("yes 2", yes, numbers(&[2]), None);
        check("?", Word::Help, Which::Only, None);
        assert!(matches!(parse("y 99999999999999999999999"), Line::Wrong(_)));
    }

    #[test]
    fn a_yes_with_words_behind_it_needs_the_number_of_one_call() {
        for line in [
            "y all but 3",
            "y all of them",
            "y not this one",
            "y 1 3 files are enough",
            "s all except 1",
            "always all except 2",
            "always 1, 2 and 3",
        ] {
            let (Line::Unclear(why) | Line::Wrong(why)) = parse(line) else {
                panic!("{line:?} is taken for an answer")
            };
            assert!(why.starts_with("Nothing was approved"), "{line:?}: {why}");
        }
    }
}
