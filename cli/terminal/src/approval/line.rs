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

/// The word that gives this answer.
pub fn word_of(answer: Answer) -> &'static str {
    match (answer.allow, answer.scope) {
        (true, Scope::Once) => "y",
        (true, Scope::Session) => "s",
        (true, Scope::Always) => "always",
        (false, Scope::Once) => "n",
        (false, Scope::Session) => "ns",
        (false, Scope::Always) => "never",
    }
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

/// What people say for a yes or a no, once. It answers alone or before the numbers of calls; with a text behind it, it may
/// begin a message.
const SPOKEN: &[(&str, &str)] = &[
    ("ok", "y"),
    ("okay", "y"),
    ("yep", "y"),
    ("sure", "y"),
    ("allow", "y"),
    ("approve", "y"),
    ("yes please", "y"),
    ("nope", "n"),
    ("deny", "n"),
];

/// What people type instead, and the word that they mean: a key that was hit twice may have been hit by accident.
const NEAR: &[(&str, &str)] = &[("yy", "y"), ("nn", "n")];

/// How a shell begins what `/permissions` does in the chat: rows that say how something is taken back name it.
pub const IN_A_SHELL: &str = "dunlin permissions ";

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
    /// An answer that holds for longer than one call, with a text behind it. What the text is depends on the question.
    Lasting {
        answer: Answer,
        which: Which,
        text: String,
        /// Whether it may be a message that begins with the word.
        may_be_message: bool,
    },
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
    if text.starts_with('/') || text.starts_with(IN_A_SHELL) {
        return Line::Slash;
    }
    // "Yes." says no more than "yes".
    let plain = text.trim_end_matches(['.', '!']);
    let is_answer = plain != text && yes_or_no(plain).is_some();
    let text = if is_answer { plain } else { text };
    let (first, rest) = spoken(text).unwrap_or_else(|| {
        let parts = text.split_once(char::is_whitespace);
        parts.map_or((text, ""), |(first, rest)| (first, rest.trim()))
    });
    let first = first.to_ascii_lowercase();
    if first == TOOL {
        return tool(rest);
    }
    let typed = first.as_str();
    let alias = ALIASES.iter().find(|(alias, _)| *alias == first);
    let first = alias.map_or(typed, |(_, word)| word);
    // Words that also begin sentences: what follows them may be a message.
    let may_be_message = matches!(typed, "a" | "always" | "never" | "session" | "run");
    let unclear = |problem: String| match may_be_message {
        true => Line::Unclear(problem),
        false => Line::Wrong(problem),
    };
    let Some((name, word, _)) = WORDS.iter().find(|(name, ..)| *name == first) else {
        return unknown(first, rest, pending);
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
        // "always 1 space too many" and "never mind" answer nothing; "always cargo test" may name what is stored.
        Word::Answer(answer) if commented && answer.scope != Scope::Once => Line::Lasting {
            answer: *answer,
            which,
            text: comment.to_owned(),
            may_be_message,
        },
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
        // Only a no, once, is safe to take with whatever follows it.
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

/// The word that a line stands for which begins with what people say for a yes or a no, and the numbers behind that.
fn spoken(text: &str) -> Option<(&'static str, &str)> {
    SPOKEN.iter().find_map(|(spoken, word)| {
        let begins = text.get(..spoken.len())?.eq_ignore_ascii_case(spoken);
        let rest = text.get(spoken.len()..)?;
        let is_whole = rest.is_empty() || rest.starts_with(char::is_whitespace);
        let rest = rest.trim();
        (begins && is_whole && matches!(calls_of(rest), Ok((_, "")))).then_some((*word, rest))
    })
}

/// What else can be typed for a word, in the order of the tables.
pub fn others_for(word: &str) -> impl Iterator<Item = &'static str> {
    let tables = ALIASES.iter().chain(SPOKEN);
    tables
        .filter(move |(_, meant)| *meant == word)
        .map(|(other, _)| *other)
}

/// What a line says that answers a plain yes-or-no question: the words for a yes or a no once, and nothing else. It is one
/// line: more of them may have pushed the question off the screen.
pub fn yes_or_no(line: &str) -> Option<bool> {
    match parse(line, &[]) {
        Line::Word(Word::Answer(answer), Which::Only, None) if answer.scope == Scope::Once => {
            Some(answer.allow)
        }
        _ => None,
    }
}

/// A line that begins with none of the words.
fn unknown(first: &str, rest: &str, pending: &[usize]) -> Line {
    let numbers = rest
        .chars()
        .all(|c| c.is_ascii_digit() || c.is_whitespace() || c == ',');
    if let Some((near, word)) = NEAR.iter().find(|(near, _)| *near == first)
        && numbers
    {
        return Line::Wrong(format!("\"{near}\" is not an answer: type {word}"));
    }
    if first.bytes().all(|byte| byte.is_ascii_digit()) && numbers {
        let call = first.parse().ok().filter(|call| pending.contains(call));
        let call = call.or(pending.first().copied()).unwrap_or(1);
        return Line::Wrong(format!(
            "A number alone answers nothing: y {call} approves call {call}, n {call} denies it."
        ));
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
#[path = "line_tests.rs"]
mod tests;
