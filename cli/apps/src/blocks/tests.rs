use proptest::prelude::*;

use super::*;

/// What is found, in short: `name: text` of each part, then the notes.
fn short(reply: &str) -> String {
    match find(reply) {
        Ok(found) => {
            let parts = found.parts.iter();
            let parts = parts.map(|(part, text)| format!("{part}: {text:?}"));
            let notes = found.notes.iter().map(|note| format!("note: {note}"));
            parts.chain(notes).collect::<Vec<_>>().join("; ")
        }
        Err(e) => format!("broken: {e}"),
    }
}

#[test]
fn blocks_are_found() {
    const UNCLOSED: &str = "block is not closed; it ends with the reply";
    for (reply, expected) in [
        ("Just talk.", String::new()),
        ("a\n```html\n<p>\n```\nb", r#"html: "<p>\n""#.to_owned()),
        (
            "```html\r\n<p>\r\n\r\n</p>\r\n```\r\n",
            r#"html: "<p>\n\n</p>\n""#.to_owned(),
        ),
        (
            "````js main.js\n```\nx\n```\n````\n~~~renderer-js\n1\n```\n~~~",
            r#"renderer-js: "1\n```\n"; main-js: "```\nx\n```\n""#.to_owned(),
        ),
        // An inner block with an info string.
        (
            "```main-js\n/*\n```js\n1\n```\n*/\n2\n```\nend",
            r#"main-js: "/*\n```js\n1\n```\n*/\n2\n""#.to_owned(),
        ),
        (
            "```html\n<pre>\n```html\n<b>\n```\n</pre>\n```",
            r#"html: "<pre>\n```html\n<b>\n```\n</pre>\n""#.to_owned(),
        ),
        // Below an item of a list.
        (
            "1. Page:\n\n     ```html\n     <p>\n       x\n   y\n     ```\n",
            r#"html: "<p>\n  x\ny\n""#.to_owned(),
        ),
        // In a block of another language.
        ("````markdown\n```html\n<p>\n```\n````", String::new()),
        ("```markdown\n```html\n<p>\n```\n```", String::new()),
        // The last fence is missing.
        (
            "```main-js\n1\n",
            format!(r#"main-js: "1\n"; note: the main-js {UNCLOSED}"#),
        ),
        (
            "```main-js\n1\n```js\n2\n```\n3",
            format!(r#"main-js: "1\n```js\n2\n```\n3\n"; note: the main-js {UNCLOSED}"#),
        ),
        // One before it is missing.
        (
            "```html\n<p>\n```renderer-js\n1\n```\n```main-js\n2\n```\n",
            r#"html: "<p>\n"; renderer-js: "1\n"; main-js: "2\n"; note: the html block is not closed; it ends where the next part begins"#.to_owned(),
        ),
        // The same of a block that is no part.
        (
            "```\n````html\n``\n````\n````\n```renderer-js\n",
            r#"html: "``\n"; note: a block is not closed; it ends where the next part begins"#.to_owned(),
        ),
        // Both may be; that the page would be there twice decides.
        (
            "```html\n<p>\n```\n```main-js\n/*\n```html\n<b>\n```\n*/\n1",
            format!(
                r#"html: "<p>\n"; main-js: "/*\n```html\n<b>\n```\n*/\n1\n"; note: the main-js {UNCLOSED}"#
            ),
        ),
        (
            "```html\n1\n```\n\n```html\n2\n```",
            "broken: the reply has two html blocks".to_owned(),
        ),
        ("```html\n \n```", "broken: the html block is empty".to_owned()),
        (
            "```html\n<p>\n```\n```js\n1\n```",
            "html: \"<p>\\n\"; note: a js block does not say which part it is (renderer-js or main-js), and is left out"
                .to_owned(),
        ),
    ] {
        assert_eq!(short(reply), expected, "{reply}");
    }
    let long = format!("```html\n{}\n```", "x".repeat(MAX_PART_BYTES));
    assert_eq!(find(&long), Err(Broken::TooLong(Part::Html)));
}

/// What a reply shows when it comes in such pieces: text, and a line for each part.
fn folded(pieces: &[&str]) -> String {
    let mut folding = Folding::default();
    let mut shown = Vec::new();
    for piece in pieces {
        shown.extend(folding.piece(piece));
    }
    shown.extend(folding.end());
    let texts = shown.into_iter().filter_map(|shown| match shown {
        Shown::Text(text) => Some(text),
        Shown::Growing(_) => None,
        Shown::Complete(folded) => Some(format!("[{folded}]\n")),
    });
    texts.collect()
}

#[test]
fn parts_are_folded_while_a_reply_streams() {
    let reply = "Here:\n\n```html\n<p>\n```\n\n```sh\nls\n```\n```main-js\n1\n2\n";
    let expected = "Here:\n\n[html · 1 line]\n\n```sh\nls\n```\n[main-js · 2 lines]\n";
    assert_eq!(folded(&[reply]), expected);
    let letters: Vec<&str> = reply.split("").collect();
    assert_eq!(folded(&letters), expected);

    // Text is shown at once, and a line that may be a fence when it is none.
    let mut folding = Folding::default();
    assert_eq!(folding.piece("ab"), [Shown::Text("ab".to_owned())]);
    assert_eq!(folding.piece("``\n``"), [Shown::Text("``\n".to_owned())]);
    assert_eq!(folding.piece(""), []);
    assert_eq!(folding.piece(" c"), []);
    assert_eq!(folding.piece("\n"), [Shown::Text("`` c\n".to_owned())]);
    let begun = Folded {
        part: Part::Html,
        lines: 0,
    };
    assert_eq!(folding.piece("```html\n<p"), [Shown::Growing(begun)]);
    let grown = Folded { lines: 1, ..begun };
    assert_eq!(folding.piece(">\n``"), [Shown::Growing(grown)]);
    assert_eq!(folding.piece("`\n"), [Shown::Complete(grown)]);
}

/// A reply, what it shows while it streams, and its parts.
#[derive(Debug, Clone)]
struct Written {
    reply: String,
    shown: String,
    parts: Vec<(Part, String)>,
}

/// Text, blocks of other languages and up to one block of each part, one after the other.
fn written() -> impl Strategy<Value = Written> {
    let line = "[a-zä<> ]{0,6}";
    let lines = proptest::collection::vec(line, 0..4);
    let fence = ("(`{3,5}|~{3,4})", 0_usize..3, "(\n|\r\n)");
    let gap = prop_oneof![
        lines.prop_map(|lines| lines.iter().map(|line| format!("{line}\n")).collect()),
        Just("```sh\nls `x`\n```\n".to_owned()),
        Just("a `b` ``c\n~~\n".to_owned()),
    ];
    let parts = Just(Part::ALL.to_vec()).prop_shuffle();
    let blocks =
        proptest::collection::vec((gap, fence, proptest::collection::vec(line, 0..4)), 0..=3);
    (blocks, parts, "[a-z]{0,4}").prop_map(|(blocks, parts, end)| {
        let mut written = Written {
            reply: String::new(),
            shown: String::new(),
            parts: Vec::new(),
        };
        for ((gap, (fence, indent, newline), lines), part) in blocks.into_iter().zip(parts) {
            let indent = " ".repeat(indent);
            // A part has something in it.
            let lines: Vec<String> = lines.into_iter().chain(["x".to_owned()]).collect();
            let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
            written.reply += &format!("{gap}{indent}{fence}{part}{newline}");
            for line in &lines {
                written.reply += &format!("{indent}{line}{newline}");
            }
            written.reply += &format!("{indent}{fence}{newline}");
            written.shown += &format!("{gap}[{}]\n", Folded::of(part, &text));
            written.parts.push((part, text));
        }
        written.reply += &end;
        written.shown += &end;
        written
    })
}

fn pieces() -> impl Strategy<Value = Vec<String>> {
    let piece = prop_oneof![
        "(`{2,5}|~{3})(html|main-js|js|renderer-js)?\r?\n",
        "[a-z `~]{0,6}\n?",
        "\\PC{0,4}",
    ];
    proptest::collection::vec(piece, 0..20)
}

proptest! {
    /// The parts are those that were written, and in whatever two pieces the reply comes, or letter by letter, the same is
    /// shown of it.
    #[test]
    fn parts_are_what_was_written(written in written()) {
        let Written { reply, shown, mut parts } = written;
        let found = find(&reply).expect("each part once");
        prop_assert_eq!(&found.notes, &[""; 0]);
        let found: Vec<(Part, String)> = found
            .parts
            .iter()
            .map(|(part, text)| (part, text.to_owned()))
            .collect();
        parts.sort_by_key(|(part, _)| *part);
        prop_assert_eq!(found, parts);
        for (at, _) in reply.char_indices() {
            let (begin, end) = reply.split_at(at);
            prop_assert_eq!(&folded(&[begin, end]), &shown, "at {}", at);
        }
        let letters: Vec<&str> = reply.split("").collect();
        prop_assert_eq!(folded(&letters), shown);
    }

    /// Whatever comes, in whatever pieces: the same is shown, nothing outside of parts is lost, and nothing panics.
    #[test]
    fn pieces_do_not_matter(pieces in pieces()) {
        let pieces: Vec<&str> = pieces.iter().map(String::as_str).collect();
        let reply = pieces.concat();
        let whole = folded(&[&reply]);
        prop_assert_eq!(folded(&pieces), whole.clone());
        let letters: Vec<&str> = reply.split("").collect();
        prop_assert_eq!(folded(&letters), whole.clone());
        match find(&reply) {
            // Without parts, all of it is shown; with a part in it, a line in its place.
            Ok(found) if found.parts.is_empty() => prop_assert_eq!(whole, reply),
            Ok(found) if found.notes.is_empty() => for (part, text) in found.parts.iter() {
                let line = format!("[{}]\n", Folded::of(part, text));
                prop_assert!(whole.contains(&line), "{} in {}", line, whole);
            },
            _ => {}
        }
    }
}
