//! What was found, and how a model reads it.

use std::fmt::Write;

use dunlin_sdk::Failure;

/// How many results are returned: more than ten are rarely looked at, more than twenty never.
pub const MAX_RESULTS: usize = 20;

/// Characters of a title, a snippet and a link that are kept. Engines cut earlier; pages that want to be found may not.
const MAX_TITLE_CHARS: usize = 200;
const MAX_SNIPPET_CHARS: usize = 500;
const MAX_LINK_CHARS: usize = 1_000;

/// One result. Its texts are somebody else's: one line each, and no marks of Markdown act in them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    title: String,
    link: String,
    snippet: String,
}

/// A failure that names the engine and, where there is one, what it said.
pub fn failed(engine: &str, status: u16, problem: &str) -> Failure {
    Failure::failed(match status {
        200..=299 => format!("{engine}: {problem}"),
        _ => format!("{engine} answered {status}: {problem}"),
    })
}

impl Found {
    /// A result; `None` where there is no link to follow.
    pub fn new(title: &str, link: &str, snippet: &str) -> Option<Found> {
        let link = url::Url::parse(link.trim()).ok()?;
        if !matches!(link.scheme(), "http" | "https") {
            return None;
        }
        let link: String = link.into();
        if link.chars().count() > MAX_LINK_CHARS {
            return None;
        }
        let title = one_line(title, MAX_TITLE_CHARS);
        Some(Found {
            title: if title.is_empty() {
                link.clone()
            } else {
                title
            },
            link,
            snippet: one_line(snippet, MAX_SNIPPET_CHARS),
        })
    }

    #[cfg(test)]
    pub fn parts(&self) -> (&str, &str, &str) {
        (&self.title, &self.link, &self.snippet)
    }
}

/// The results as Markdown, the best ones, each address once.
pub fn markdown(words: &str, found: &[Found]) -> String {
    let mut shown: Vec<&Found> = Vec::new();
    for result in found {
        if shown.len() < MAX_RESULTS && !shown.iter().any(|other| other.link == result.link) {
            shown.push(result);
        }
    }
    if shown.is_empty() {
        return format!("Nothing was found for '{words}'. Try other or fewer words.");
    }
    let mut text = String::new();
    for (
        number,
        Found {
            title,
            link,
            snippet,
        },
    ) in (1..).zip(shown)
    {
        // In angle brackets no other character of an address can end it; the address itself holds none of them.
        // Writing into a text cannot fail.
        let _ = writeln!(text, "{number}. [{}](<{link}>)", escape(title));
        if !snippet.is_empty() {
            let _ = writeln!(text, "   {}", escape(snippet));
        }
    }
    text
}

/// The words of a text with single spaces between them, at most so many characters.
fn one_line(text: &str, most: usize) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let visible = line.chars().filter(|c| !c.is_control());
    let mut kept: String = visible.clone().take(most).collect();
    if visible.count() > most {
        kept.pop();
        kept.push('…');
    }
    kept
}

/// Marks that would end a link or begin one.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        if matches!(c, '[' | ']' | '\\' | '<' | '`') {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    escaped
}
