//! Tells what a line is: empty, a comment, a declaration of which name.

use super::{Line, LineKind};

/// How a language marks comments and declares names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// `//` comments, `fn`, `func`, `class`: a keyword before every declared name.
    Keyword,
    /// `//` comments; functions are declared by a name before a parenthesis.
    Brace,
    /// `#` comments and documentation strings; `def`, `class`, `function`.
    Hash,
    /// `--` or `;` or `%` comments; `function`, `def`.
    Other,
    /// Prose: headings begin chunks.
    Prose,
}

impl Style {
    /// The style of a file, by the end of its name.
    pub fn of(path: &str) -> Self {
        let name = path.rsplit('/').next().unwrap_or(path);
        let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
        match extension.to_ascii_lowercase().as_str() {
            "rs" | "go" | "swift" | "kt" | "kts" | "scala" | "zig" | "dart" | "v" => Self::Keyword,
            "c" | "h" | "cc" | "cpp" | "cxx" | "hh" | "hpp" | "hxx" | "inl" | "java" | "cs"
            | "js" | "mjs" | "cjs" | "jsx" | "ts" | "tsx" | "mts" | "cts" | "php" | "phtml"
            | "inc" | "vala" | "m" | "mm" | "d" | "groovy" | "qml" | "y" | "l" | "proto"
            | "css" | "scss" | "cu" => Self::Brace,
            "md" | "markdown" | "rst" | "txt" | "adoc" | "org" | "html" | "htm" | "tex" => {
                Self::Prose
            }
            "lua" | "sql" | "hs" | "elm" | "ads" | "adb" | "el" | "lisp" | "clj" | "scm"
            | "erl" | "hrl" | "asm" => Self::Other,
            _ => Self::Hash,
        }
    }
}

/// Words that may stand before the word that declares.
const MODIFIERS: [&[u8]; 28] = [
    b"pub",
    b"async",
    b"const",
    b"unsafe",
    b"extern",
    b"export",
    b"default",
    b"static",
    b"inline",
    b"public",
    b"private",
    b"protected",
    b"internal",
    b"final",
    b"abstract",
    b"override",
    b"virtual",
    b"sealed",
    b"partial",
    b"readonly",
    b"declare",
    b"typedef",
    b"open",
    b"data",
    b"suspend",
    b"local",
    b"case",
    b"strictfp",
];

/// Words that are followed by a name they declare.
const KEYWORDS: [&[u8]; 32] = [
    b"fn",
    b"def",
    b"func",
    b"function",
    b"function*",
    b"class",
    b"struct",
    b"enum",
    b"union",
    b"trait",
    b"interface",
    b"impl",
    b"mod",
    b"module",
    b"namespace",
    b"type",
    b"macro_rules!",
    b"record",
    b"sub",
    b"proc",
    b"protocol",
    b"extension",
    b"object",
    b"defmodule",
    b"defp",
    b"defun",
    b"procedure",
    b"package",
    b"fun",
    b"@interface",
    b"#define",
    b"defmacro",
];

/// Words before a parenthesis that are not a function's name.
const CONTROL: [&[u8]; 24] = [
    b"if",
    b"else",
    b"for",
    b"foreach",
    b"while",
    b"do",
    b"switch",
    b"case",
    b"catch",
    b"try",
    b"return",
    b"throw",
    b"new",
    b"using",
    b"lock",
    b"sizeof",
    b"synchronized",
    b"await",
    b"super",
    b"elseif",
    b"elif",
    b"and",
    b"or",
    b"not",
];

/// Reads line after line.
#[derive(Debug)]
pub struct Reader {
    style: Style,
    /// What ends the comment or string that is open.
    open: Option<&'static [u8]>,
}

impl Reader {
    /// At the start of a file.
    pub fn new(style: Style) -> Self {
        Self { style, open: None }
    }

    /// Tells what the next line is.
    pub fn line<'a>(&mut self, text: &'a [u8]) -> Line<'a> {
        let trimmed = text.trim_ascii();
        let indent = text.len() - text.trim_ascii_start().len();
        let kind = self.kind(trimmed);
        let declares = match kind {
            LineKind::Code if self.style == Style::Prose => heading(trimmed),
            LineKind::Code => self.declared(trimmed, indent),
            _ => None,
        };
        let declares = declares.map(|(start, end)| (start + indent, end + indent));
        Line {
            text,
            kind,
            declares,
        }
    }

    fn kind(&mut self, line: &[u8]) -> LineKind {
        if let Some(end) = self.open {
            if contains(line, end) {
                self.open = None;
            }
            return LineKind::Comment;
        }
        let Some(first) = line.first() else {
            return LineKind::Empty;
        };
        match self.style {
            Style::Prose => return LineKind::Code,
            Style::Keyword | Style::Brace => match first {
                b'/' if line.starts_with(b"//") => return LineKind::Comment,
                b'/' if line.starts_with(b"/*") => {
                    if !contains(&line[2..], b"*/") {
                        self.open = Some(b"*/");
                    }
                    return LineKind::Comment;
                }
                b'*' => return LineKind::Comment,
                _ => {}
            },
            Style::Hash => match first {
                b'#' if !line.starts_with(b"#[") => return LineKind::Comment,
                b'=' if line.starts_with(b"=begin") || line.starts_with(b"=head") => {
                    self.open = Some(if line.starts_with(b"=begin") {
                        b"=end"
                    } else {
                        b"=cut"
                    });
                    return LineKind::Comment;
                }
                b'"' | b'\'' | b'r' | b'u' => {
                    let quoted = line.strip_prefix(b"r").unwrap_or(line);
                    let quoted = quoted.strip_prefix(b"u").unwrap_or(quoted);
                    for quotes in [&b"\"\"\""[..], b"'''"] {
                        if let Some(rest) = quoted.strip_prefix(quotes) {
                            if !contains(rest, quotes) {
                                self.open =
                                    Some(if quotes[0] == b'"' { b"\"\"\"" } else { b"'''" });
                            }
                            return LineKind::Comment;
                        }
                    }
                }
                _ => {}
            },
            Style::Other => {
                if line.starts_with(b"--") || matches!(first, b';' | b'%' | b'#') {
                    return LineKind::Comment;
                }
            }
        }
        LineKind::Code
    }

    /// The name that a line of code declares, as a range of it.
    fn declared(&self, line: &[u8], indent: usize) -> Option<(usize, usize)> {
        let by_keyword = by_keyword(line);
        if by_keyword.is_some() || self.style != Style::Brace {
            return by_keyword;
        }
        arrow(line).or_else(|| before_parenthesis(line, indent))
    }
}

/// The name after a keyword that declares, which may follow modifiers.
fn by_keyword(line: &[u8]) -> Option<(usize, usize)> {
    let mut at = 0;
    // No declaration has more modifiers than this.
    for _ in 0..6 {
        let end = word_end(line, at);
        let word = &line[at..end];
        if word.is_empty() {
            return None;
        }
        if KEYWORDS.contains(&word) {
            let mut name = skip_space(line, end);
            // Go's receiver, Rust's type parameters.
            if line.get(name) == Some(&b'(') && word == b"func" {
                name = skip_space(line, name + 1 + position(&line[name + 1..], b')')? + 1);
            } else if line.get(name) == Some(&b'<') && word == b"impl" {
                name = skip_space(line, name + 1 + position(&line[name + 1..], b'>')? + 1);
            }
            let name_end = name_end(line, name);
            let follows = line.get(skip_space(line, name_end));
            let is_value =
                matches!(follows, Some(b'=' | b'.' | b',' | b')' | b';')) && word != b"type";
            return (name_end > name && !is_value).then_some((name, name_end));
        }
        let plain = word.split(|byte| *byte == b'(').next().unwrap_or(word);
        if !MODIFIERS.contains(&plain) {
            return None;
        }
        at = skip_space(line, end);
    }
    None
}

/// `const name = (a, b) => {`, `exports.name = function (`.
fn arrow(line: &[u8]) -> Option<(usize, usize)> {
    let equals = position(line, b'=')?;
    let value = line[equals + 1..].trim_ascii_start();
    let value = value.strip_prefix(b"async ").unwrap_or(value);
    let is_function =
        value.starts_with(b"function") || (value.starts_with(b"(") && contains(value, b"=>"));
    if !is_function {
        return None;
    }
    last_name(&line[..equals])
}

/// `static int name(int a)`, `public void name() {`, `name(a, b) {` in a class.
fn before_parenthesis(line: &[u8], indent: usize) -> Option<(usize, usize)> {
    let first = *line.first()?;
    let last = *line.last()?;
    if !(first.is_ascii_alphabetic() || matches!(first, b'_' | b'#' | b'~')) || last == b';' {
        return None;
    }
    let open = position(line, b'(')?;
    let before = &line[..open];
    if before
        .iter()
        .any(|byte| matches!(byte, b'=' | b'.' | b'"' | b'\'' | b'?' | b'+' | b'|' | b'{'))
    {
        return None;
    }
    let first_word = &line[..word_end(line, 0)];
    let first_plain = &first_word[..position(first_word, b'(').unwrap_or(first_word.len())];
    if CONTROL.contains(&first_plain) {
        return None;
    }
    let (start, end) = last_name(before)?;
    if CONTROL.contains(&&before[start..end]) {
        return None;
    }
    let fits = if indent == 0 {
        // A call at the left margin ends with a semicolon or stands within a function; a declaration opens a body
        // here or on a later line.
        matches!(last, b'{' | b')' | b',' | b'(') || line.ends_with(b"const")
    } else {
        last == b'{' || (MODIFIERS.contains(&first_plain) && matches!(last, b')' | b',' | b'('))
    };
    fits.then_some((start, end))
}

/// A heading of prose.
fn heading(line: &[u8]) -> Option<(usize, usize)> {
    let rest = line.len() - line.iter().take_while(|byte| **byte == b'#').count();
    let marks = line.len() - rest;
    ((1..=6).contains(&marks) && line.get(marks) == Some(&b' ')).then_some((marks + 1, line.len()))
}

/// The last name of a text, with nothing but space after it.
fn last_name(text: &[u8]) -> Option<(usize, usize)> {
    let text = text.trim_ascii_end();
    let length = text.iter().rev().take_while(|byte| is_name(**byte)).count();
    (length > 0 && !text[text.len() - length].is_ascii_digit())
        .then_some((text.len() - length, text.len()))
}

fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$') || byte >= 0x80
}

fn name_end(line: &[u8], start: usize) -> usize {
    let rest = line.get(start..).unwrap_or_default();
    start + rest.iter().take_while(|byte| is_name(**byte)).count()
}

fn word_end(line: &[u8], start: usize) -> usize {
    let rest = line.get(start..).unwrap_or_default();
    start
        + rest
            .iter()
            .take_while(|byte| !matches!(byte, b' ' | b'\t' | b'<' | b'{'))
            .count()
}

fn skip_space(line: &[u8], start: usize) -> usize {
    let rest = line.get(start..).unwrap_or_default();
    start
        + rest
            .iter()
            .take_while(|byte| byte.is_ascii_whitespace())
            .count()
}

fn position(text: &[u8], byte: u8) -> Option<usize> {
    memchr::memchr(byte, text)
}

fn contains(text: &[u8], needle: &[u8]) -> bool {
    memchr::memmem::find(text, needle).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(path: &str, line: &str, name: Option<&str>) {
        let line = Reader::new(Style::of(path)).line(line.as_bytes());
        let found = line
            .name()
            .map(|name| String::from_utf8_lossy(name).into_owned());
        assert_eq!(found.as_deref(), name);
    }

    #[test]
    fn declarations_are_found() {
        check(
            "a.rs",
            "    pub(crate) async fn read_all(&self) {",
            Some("read_all"),
        );
        check("a.rs", "impl<T> Store<T> for Memory {", Some("Store"));
        check("a.rs", "    let x = call(1);", None);
        check(
            "a.go",
            "func (s *Server) Serve(l net.Listener) error {",
            Some("Serve"),
        );
        check("a.py", "    async def read(self):", Some("read"));
        check("a.py", "def_x = 3", None);
        check("a.js", "export const read = async (a) => {", Some("read"));
        check("a.js", "  read(a, b) {", Some("read"));
        check("a.js", "  if (a) {", None);
        check("a.js", "  } else if (a) {", None);
        check(
            "a.c",
            "static int read_all(int fd, char *to)",
            Some("read_all"),
        );
        check("a.c", "read_all (int fd,", Some("read_all"));
        check("a.c", "  call (a, b);", None);
        check("a.c", "#define MAX_BYTES 3", Some("MAX_BYTES"));
        check(
            "A.java",
            "    public List<String> names(int a) throws E {",
            Some("names"),
        );
        check("a.md", "## How to read", Some("How to read"));
        check("a.sh", "function read_all {", Some("read_all"));
    }

    #[test]
    fn comments_are_told_from_code() {
        let mut reader = Reader::new(Style::Brace);
        let kinds: Vec<LineKind> = ["/* a", "   b", " */", "int c;", "// d", ""]
            .iter()
            .map(|line| reader.line(line.as_bytes()).kind)
            .collect();
        use LineKind::{Code, Comment, Empty};
        assert_eq!(kinds, [Comment, Comment, Comment, Code, Comment, Empty]);

        let mut reader = Reader::new(Style::Hash);
        let kinds: Vec<LineKind> = ["\"\"\"Reads.", "All of it.", "\"\"\"", "x = 1", "# y"]
            .iter()
            .map(|line| reader.line(line.as_bytes()).kind)
            .collect();
        assert_eq!(kinds, [Comment, Comment, Comment, Code, Comment]);
    }
}
