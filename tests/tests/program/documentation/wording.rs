//! What users and readers of the documentation read is plain English: no message or page has a phrase that stands for a
//! common word, and none denies a noun ("is no file") where it means the verb ("is not a file").
//!
//! The strings are those of the product's sources, read as Rust, so that comments and tests are left out. The help texts of
//! the command line are doc comments, and count. Of the contract and of the other texts that are built in, such as what a new
//! plugin gets, everything counts: authors of plugins read their comments.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use regex::Regex;

/// A phrase, and what to write in its place.
const PHRASES: [(&str, &str); 17] = [
    (r"\bgo(es|ing)? on\b", "resume, continue, or keep doing it"),
    (
        r"(^|[^-])\bfresh(ly)?\b",
        "new (the option --fresh keeps its name)",
    ),
    (r"\b(stays|remains) as it is\b", "is saved, is unchanged"),
    (r"\bfor always\b", "permanently"),
    (r"\bmend(s|ed|ing)?\b", "fix"),
    (r"\bto be had\b", "available"),
    (r"\bof no use\b", "what does not work, and why"),
    (r"\bis there already\b", "already exists"),
    (r"\bof (mine|yours|ours)\b", "your, our"),
    (r"\botherwise than\b", "what changed"),
    (r"\bon and on\b", "too many"),
    (
        r"\bwhat came so far\b",
        "the partial answer, the partial download",
    ),
    (r"\bthis once\b", "once"),
    (r"\ball the same\b", "anyway, still"),
    (r"\bnobody says\b", "what is missing"),
    (r"\btakes nothing\b", "takes no arguments"),
    (r"\banew\b", "again, or what is reset or replaced"),
];

/// Words that "is no" may stand in front of.
const COMPARED: [&str; 6] = ["larger", "less", "longer", "more", "need", "way"];

static PATTERNS: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    let patterns = PHRASES.iter();
    let read = |(pattern, better): &(&str, &'static str)| {
        let pattern = format!("(?i){pattern}");
        (Regex::new(&pattern).expect("a pattern"), *better)
    };
    patterns.map(read).collect()
});

static NO_NOUN: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(?i)(\S+) (?:is|are|was|were) no (\w+)").expect("a pattern"));

/// What is wrong with a text: the phrase as it stands there and what to write in its place.
fn odd(text: &str) -> Option<(String, &'static str)> {
    // A long message may be broken anywhere.
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let phrase = PATTERNS.iter().find_map(|(pattern, better)| {
        let found = pattern.find(&text)?;
        Some((found.as_str().to_owned(), *better))
    });
    let denied = || {
        let mut found = NO_NOUN.captures_iter(&text);
        let noun = found.find(|it| {
            let exists = it[1].to_lowercase().ends_with("there");
            !exists && !COMPARED.contains(&&it[2])
        })?;
        Some((noun[0].to_owned(), "is not a ..."))
    };
    phrase.or_else(denied)
}

/// The string literals of a piece of source, without those of tests and attributes. `has_help`: the doc comments are shown
/// to users.
fn strings(tokens: TokenStream, has_help: bool, found: &mut Vec<String>) {
    let mut tokens = tokens.into_iter().peekable();
    while let Some(token) = tokens.next() {
        match token {
            TokenTree::Literal(literal) => found.push(literal.to_string()),
            TokenTree::Punct(mark) if mark.as_char() == '#' => {
                // `#![...]` is about a whole file.
                tokens.next_if(|next| matches!(next, TokenTree::Punct(it) if it.as_char() == '!'));
                let Some(TokenTree::Group(attribute)) = tokens.next() else {
                    continue;
                };
                let text = attribute.stream().to_string();
                if text.starts_with("cfg (test") || text.starts_with("cfg(test") {
                    // Leaves out the item: up to its body or its semicolon.
                    let is_end = |token: &TokenTree| match token {
                        TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
                        TokenTree::Punct(mark) => mark.as_char() == ';',
                        _ => false,
                    };
                    tokens.find(is_end);
                } else if text.starts_with("error") || text.starts_with("doc") && has_help {
                    strings(attribute.stream(), has_help, found);
                }
            }
            TokenTree::Group(group) => strings(group.stream(), has_help, found),
            TokenTree::Ident(_) | TokenTree::Punct(_) => {}
        }
    }
}

/// What texts that are built in, other than Rust, are written in.
const BUILT_IN: [&str; 10] = [
    "c", "css", "h", "html", "jinja", "js", "md", "mjs", "py", "ts",
];

/// The files below a folder that belong to the product and have one of these extensions.
fn files(folder: &Path, extensions: &[&str], found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let stem = path
            .file_stem()
            .expect("a name")
            .to_string_lossy()
            .into_owned();
        let is_test = stem == "tests" || stem.ends_with("_tests");
        if is_test || ["benches", "examples", "target", "fuzz"].contains(&stem.as_str()) {
            continue;
        }
        if path.is_dir() {
            files(&path, extensions, found);
        } else if let Some(extension) = path.extension().and_then(|it| it.to_str())
            && extensions.contains(&extension)
        {
            found.push(path);
        }
    }
}

/// The paragraphs of a text, without the marks of comments in front of its lines.
fn paragraphs(text: &str) -> Vec<String> {
    let lines = text.lines();
    let lines = lines.map(|line| line.trim().trim_start_matches(['/', '*', '#']).trim_start());
    let text = lines.collect::<Vec<_>>().join("\n");
    text.split("\n\n").map(str::to_owned).collect()
}

#[test]
fn messages_and_pages_are_plain_english() {
    let repository = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
    let mut sources = Vec::new();
    for folder in ["cli", "host", "plugins"] {
        files(&repository.join(folder), &["rs"], &mut sources);
    }
    let mut texts = Vec::new();
    for path in sources {
        let source = fs::read_to_string(&path).expect("a source");
        let tokens: TokenStream = source.parse().expect("Rust");
        let has_help = path.starts_with(repository.join("cli/src/args"))
            || path == repository.join("cli/src/args.rs");
        let mut found = Vec::new();
        strings(tokens, has_help, &mut found);
        texts.extend(found.into_iter().map(|text| (path.clone(), text)));
    }
    assert!(texts.len() > 5_000, "{} strings were found", texts.len());
    let mut pages = vec![repository.join("README.md")];
    for (folder, extensions, least) in [
        ("docs", &["md"][..], 30),
        ("wit", &["wit"], 15),
        ("host/wit/syntax", &["wit"], 1),
        ("cli", &BUILT_IN, 20),
        ("cli/src/plugin/templates", &["txt", "wit"], 5),
        ("plugins/guests/js_engine", &BUILT_IN, 4),
        ("plugins/sdk", &BUILT_IN, 1),
    ] {
        let before = pages.len();
        files(&repository.join(folder), extensions, &mut pages);
        let count = pages.len() - before;
        assert!(count >= least, "{folder}: {count} texts were found");
    }
    for path in pages {
        let page = fs::read_to_string(&path).expect("a page");
        texts.extend(
            paragraphs(&page)
                .into_iter()
                .map(|text| (path.clone(), text)),
        );
    }
    let wrong: Vec<String> = texts
        .iter()
        .filter_map(|(path, text)| {
            let (phrase, better) = odd(text)?;
            let path = path.strip_prefix(repository).expect("below").display();
            Some(format!("{path}: {phrase:?}; better: {better}\n    {text}"))
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn odd_phrases_are_found_where_they_stand() {
    for (text, phrase) in [
        ("the chat goes\n on without it", Some("goes on")),
        ("it is no regular file", Some("it is no regular")),
        ("There is no session yet", None),
        ("it is no longer there", None),
        ("run dunlin --fresh", None),
        ("a fresh session", Some(" fresh")),
    ] {
        assert_eq!(odd(text).map(|it| it.0).as_deref(), phrase, "{text}");
    }
    let comment = "  /// The call goes\n  /// on.\n  ///\n  /// It is\n * no file.";
    let found: Vec<String> = paragraphs(comment)
        .iter()
        .filter_map(|text| Some(odd(text)?.0))
        .collect();
    assert_eq!(found, ["goes on", "It is no file"]);
    let source = r#"
        /// It goes on.
        #[error("it is no file")]
        struct A;
        #[cfg(test)]
        mod tests { const B: &str = "goes on"; }
        const C: &str = "kept";
    "#;
    let mut found = Vec::new();
    strings(source.parse().expect("Rust"), false, &mut found);
    assert_eq!(found, ["\"it is no file\"", "\"kept\""]);
    found.clear();
    strings(source.parse().expect("Rust"), true, &mut found);
    assert_eq!(found.len(), 3, "{found:?}");
}
