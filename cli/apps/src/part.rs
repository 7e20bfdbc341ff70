//! The three parts of an app.

use std::fmt;
use std::str::FromStr;

/// A part of an app, as the model names it in the info string of a fenced block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Part {
    /// The document of the page.
    Html,
    /// The script of the page.
    Renderer,
    /// The program of the back end.
    Main,
}

impl Part {
    /// All of them, in the order in which they are shown.
    pub const ALL: [Part; 3] = [Part::Html, Part::Renderer, Part::Main];

    /// The word that the block of this part has after its fence.
    pub fn name(self) -> &'static str {
        match self {
            Part::Html => "html",
            Part::Renderer => "renderer-js",
            Part::Main => "main-js",
        }
    }

    /// The name of its file in a folder.
    pub fn file_name(self) -> &'static str {
        match self {
            Part::Html => "index.html",
            Part::Renderer => "renderer.js",
            Part::Main => "main.js",
        }
    }

    /// The part that a block with this info string is. Models write the name alone (`main-js`), after a language (`js
    /// main-js`), as a file (`js main.js`) or as an attribute (`js title="main.js"`). Behind the language of a script nothing
    /// else may stand: an example that mentions `main.js` is no part.
    pub fn of_info(info: &str) -> Option<Part> {
        let info = info.to_ascii_lowercase();
        let (first, rest) = first_word(&info);
        match first {
            "html" => Some(Part::Html),
            _ if is_script(first) => Part::of_script(named(rest)),
            _ => Part::of_script(first),
        }
    }

    fn of_script(name: &str) -> Option<Part> {
        match name {
            "renderer-js" | "renderer.js" => Some(Part::Renderer),
            "main-js" | "main.js" => Some(Part::Main),
            _ => None,
        }
    }
}

/// The first word of an info string, which is the language, and what follows.
fn first_word(info: &str) -> (&str, &str) {
    let ends = |c: char| c.is_whitespace() || ":=\"'{},".contains(c);
    let info = info.trim();
    info.split_at(info.find(ends).unwrap_or(info.len()))
}

fn is_script(language: &str) -> bool {
    ["js", "javascript", "mjs"].contains(&language)
}

/// The name in what stands behind a language: alone, or as the value of the only attribute.
fn named(rest: &str) -> &str {
    let rest = rest.trim_start_matches(':').trim();
    let rest = rest.strip_prefix('{').unwrap_or(rest);
    let rest = rest.strip_suffix('}').unwrap_or(rest).trim();
    let value = match rest.split_once('=') {
        Some((key, value)) if ["title", "name", "file", "filename"].contains(&key.trim()) => {
            value.trim()
        }
        _ => rest,
    };
    value.trim_matches(['"', '\''])
}

impl FromStr for Part {
    type Err = UnknownPart;

    fn from_str(name: &str) -> Result<Part, UnknownPart> {
        let mut parts = Part::ALL.into_iter();
        parts.find(|part| part.name() == name).ok_or(UnknownPart)
    }
}

/// No part has this name.
#[derive(Debug, thiserror::Error)]
#[error("no part has this name")]
pub struct UnknownPart;

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Whether a block with this info string is a script that does not say which part it is.
pub(crate) fn is_unnamed_script(info: &str) -> bool {
    let info = info.to_ascii_lowercase();
    is_script(first_word(&info).0) && Part::of_info(&info).is_none()
}

/// The parts of an app, as far as there are any.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Parts {
    html: Option<String>,
    renderer: Option<String>,
    main: Option<String>,
}

impl Parts {
    /// The text of a part.
    pub fn get(&self, part: Part) -> Option<&str> {
        match part {
            Part::Html => self.html.as_deref(),
            Part::Renderer => self.renderer.as_deref(),
            Part::Main => self.main.as_deref(),
        }
    }

    /// Replaces a part, and returns what it was.
    pub fn set(&mut self, part: Part, text: String) -> Option<String> {
        let place = match part {
            Part::Html => &mut self.html,
            Part::Renderer => &mut self.renderer,
            Part::Main => &mut self.main,
        };
        place.replace(text)
    }

    /// The parts that are there, with their texts.
    pub fn iter(&self) -> impl Iterator<Item = (Part, &str)> {
        let all = Part::ALL.into_iter();
        all.filter_map(|part| Some((part, self.get(part)?)))
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.iter().next().is_none()
    }

    /// These parts, and of `earlier` those that are missing here.
    #[must_use]
    pub fn over(self, earlier: &Parts) -> Parts {
        let mut parts = earlier.clone();
        for (part, text) in self.iter() {
            parts.set(part, text.to_owned());
        }
        parts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn info_strings_name_parts() {
        for (info, part) in [
            ("html", Some(Part::Html)),
            ("HTML", Some(Part::Html)),
            ("html index.html", Some(Part::Html)),
            ("renderer-js", Some(Part::Renderer)),
            ("js renderer-js", Some(Part::Renderer)),
            ("javascript renderer.js", Some(Part::Renderer)),
            ("js:main.js", Some(Part::Main)),
            ("js title=\"main.js\"", Some(Part::Main)),
            ("js {name=main-js}", Some(Part::Main)),
            ("js file='renderer.js'", Some(Part::Renderer)),
            ("JS Main.js", Some(Part::Main)),
            ("main-js", Some(Part::Main)),
            ("js", None),
            ("json main-js", None),
            ("text html", None),
            ("", None),
        ] {
            assert_eq!(Part::of_info(info), part, "{info}");
            assert_eq!(is_unnamed_script(info), info == "js", "{info}");
        }
        for info in [
            "js // see main.js for details",
            "js example, compare with main.js",
            "js main.js renderer.js",
            "js main.js (excerpt)",
            "js title=\"main.js\" lines=1-3",
            "js alt=main.js",
            "js:",
        ] {
            assert_eq!(Part::of_info(info), None, "{info}");
            assert!(is_unnamed_script(info), "{info}");
        }
    }

    #[test]
    fn parts_that_are_missing_stay() {
        let parts = |texts: &[(Part, &str)]| {
            let mut parts = Parts::default();
            for (part, text) in texts {
                parts.set(*part, (*text).to_owned());
            }
            parts
        };
        let earlier = parts(&[(Part::Html, "h1"), (Part::Main, "m1")]);
        let later = parts(&[(Part::Html, "h2"), (Part::Renderer, "r2")]);
        let expected = parts(&[
            (Part::Html, "h2"),
            (Part::Renderer, "r2"),
            (Part::Main, "m1"),
        ]);
        assert_eq!(later.over(&earlier), expected);
        assert!(Parts::default().is_empty());
    }
}
