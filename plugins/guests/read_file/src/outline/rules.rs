//! Which lines are landmarks, for each language.

use super::Language;

/// Words that may stand before the word that makes a declaration, and those words.
struct Words {
    modifiers: &'static [&'static str],
    keywords: &'static [&'static str],
}

const RUST: Words = Words {
    modifiers: &[
        "pub",
        "async",
        "const",
        "unsafe",
        "extern",
        "\"C\"",
        "\"system\"",
        "default",
    ],
    keywords: &[
        "fn",
        "struct",
        "enum",
        "trait",
        "impl",
        "mod",
        "type",
        "union",
        "macro_rules!",
    ],
};
const PYTHON: Words = Words {
    modifiers: &["async"],
    keywords: &["def", "class"],
};
const JAVASCRIPT: Words = Words {
    modifiers: &["export", "default", "async", "declare", "abstract"],
    keywords: &[
        "function",
        "function*",
        "class",
        "interface",
        "type",
        "enum",
        "namespace",
    ],
};
const GO: Words = Words {
    modifiers: &[],
    keywords: &["func", "type"],
};
const C: Words = Words {
    modifiers: &["typedef", "static", "inline", "extern", "\"C\"", "export"],
    keywords: &["struct", "class", "enum", "union", "namespace"],
};
const JAVA: Words = Words {
    modifiers: &[
        "public",
        "private",
        "protected",
        "internal",
        "static",
        "final",
        "abstract",
        "sealed",
        "partial",
        "readonly",
        "non-sealed",
        "strictfp",
        "unsafe",
        "file",
    ],
    keywords: &[
        "class",
        "interface",
        "enum",
        "record",
        "struct",
        "namespace",
        "@interface",
    ],
};
const RUBY: Words = Words {
    modifiers: &["private", "protected", "public"],
    keywords: &["def", "class", "module"],
};
const SHELL: Words = Words {
    modifiers: &[],
    keywords: &["function"],
};

/// Words that look like the name of a function because a parenthesis follows them.
const CONTROL: [&str; 19] = [
    "if",
    "else",
    "for",
    "foreach",
    "while",
    "do",
    "switch",
    "case",
    "catch",
    "try",
    "return",
    "throw",
    "new",
    "using",
    "lock",
    "sizeof",
    "synchronized",
    "await",
    "super",
];

/// Whether a line, without the space around it, is a landmark.
pub(super) fn is_landmark(language: Language, line: &str, indent: usize) -> bool {
    match language {
        Language::Rust => declares(&RUST, line),
        Language::Python => declares(&PYTHON, line),
        Language::JavaScript => {
            declares(&JAVASCRIPT, line) || is_arrow(line) || (indent > 0 && is_method(line))
        }
        Language::Go => indent == 0 && declares(&GO, line),
        Language::C => {
            !line.ends_with(';') && (declares(&C, line) || (indent == 0 && is_c_function(line)))
        }
        Language::Java => {
            !line.ends_with(';') && (declares(&JAVA, line) || (indent > 0 && is_java_method(line)))
        }
        Language::Ruby => declares(&RUBY, line),
        Language::Shell => declares(&SHELL, line) || is_shell_function(line),
        Language::Markdown => is_heading(line),
        Language::Sections => line.starts_with('[') && line.contains(']') && !line.contains('"'),
    }
}

/// The line as an outline shows it.
pub(super) fn heading(language: Language, line: &str) -> String {
    match language {
        Language::Markdown | Language::Sections => line.to_owned(),
        _ => line.trim_end_matches(['{', ' ', ':', '\t']).to_owned(),
    }
}

/// Whether a keyword follows the modifiers, and a name the keyword.
fn declares(words: &Words, line: &str) -> bool {
    let mut rest = line;
    loop {
        let (word, after) = first_word(rest);
        if words.keywords.contains(&word) {
            return !after.is_empty() && !after.starts_with(['=', '.', ',', ')', ';']);
        }
        // `pub(crate)` is the modifier `pub`.
        let plain = word.split('(').next().unwrap_or(word);
        if word.is_empty() || !words.modifiers.contains(&plain) {
            return false;
        }
        rest = after;
    }
}

/// The first word, up to a space or a bracket that belongs to what follows; and the rest.
fn first_word(text: &str) -> (&str, &str) {
    let in_parentheses = text
        .starts_with("pub(")
        .then(|| text.find(')'))
        .flatten()
        .map(|end| end + 1);
    let end = in_parentheses
        .or_else(|| text.find([' ', '\t', '<', '{']))
        .unwrap_or(text.len());
    let (word, rest) = text.split_at(end);
    (word, rest.trim_start())
}

/// `const name = (a, b) =>`, `export const name = async function (`.
fn is_arrow(line: &str) -> bool {
    let line = line.strip_prefix("export ").unwrap_or(line);
    let Some(rest) = ["const ", "let ", "var "]
        .iter()
        .find_map(|word| line.strip_prefix(word))
    else {
        return false;
    };
    let Some((_, value)) = rest.split_once('=') else {
        return false;
    };
    let value = value.trim_start();
    let value = value.strip_prefix("async ").unwrap_or(value);
    value.starts_with("function")
        || (value.starts_with('(') && (value.contains("=>") || !value.contains(')')))
}

/// `name(a, b) {` in a class; not `a = name(b, {` and `a.name(b) {`, which are calls.
fn is_method(line: &str) -> bool {
    let before = line.split('(').next().unwrap_or(line);
    line.ends_with('{')
        && line.contains(')')
        && !line.contains("=>")
        && !before.contains(['=', '.', '}'])
        && calls_no_control(line)
}

/// `static int name(int a)`, with the brace on this line or the next.
fn is_c_function(line: &str) -> bool {
    let starts_well = line.starts_with(|c: char| c.is_alphabetic() || c == '_');
    let ends_well = line.ends_with('{')
        || line.ends_with(')')
        || line.ends_with(',')
        || line.ends_with("const");
    let before = line.split('(').next().unwrap_or(line);
    starts_well
        && ends_well
        && before.trim_end().contains([' ', ':', '*'])
        && !before.contains('=')
        && calls_no_control(line)
}

/// `public void name(int a) throws E {`, or with the brace on the next line.
fn is_java_method(line: &str) -> bool {
    let before = line.split('(').next().unwrap_or(line).trim_end();
    let (first, _) = first_word(before);
    let has_modifier =
        JAVA.modifiers.contains(&first) || matches!(first, "async" | "override" | "virtual");
    let ends_well = line.ends_with('{') || (has_modifier && line.ends_with([')', ',', '(']));
    line.starts_with(char::is_alphabetic)
        && ends_well
        && before.contains(' ')
        && !before.contains(['=', '.'])
        && calls_no_control(line)
}

/// Whether there is something before a parenthesis, and it is no `if` or `while`.
fn calls_no_control(line: &str) -> bool {
    let Some((before, _)) = line.split_once('(') else {
        return false;
    };
    let mut words = before
        .split(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '$' | '#')))
        .filter(|w| !w.is_empty());
    words.next().is_some_and(|first| !CONTROL.contains(&first))
        && !words.any(|word| CONTROL.contains(&word))
}

/// `name() {`
fn is_shell_function(line: &str) -> bool {
    line.split_once("()").is_some_and(|(name, _)| {
        !name.is_empty()
            && name
                .trim_end()
                .chars()
                .all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | ':'))
    })
}

/// `## Title`
fn is_heading(line: &str) -> bool {
    let rest = line.trim_start_matches('#');
    (1..=6).contains(&(line.len() - rest.len())) && rest.starts_with(' ')
}
