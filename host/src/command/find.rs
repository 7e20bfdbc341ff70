//! Finds the commands in a line that is not simple.
//!
//! The line is asked about in any case. What is found here says what else is refused (a program that is denied) or
//! pointed out (a file that looks like a secret), and which files a yes is bound to. So whatever is not read exactly as
//! shells read it makes the result incomplete, and then a yes holds only once. It is linear in the line but for
//! substitutions, which are read again one level deeper, and those end at [`MAX_DEPTH`].
//!
//! No parser of others reads the line: the ones there are for shells overflow their stack, take exponential
//! time or crash on lines that a model can write, and each of those would end the chat.

use super::builtins;
use super::words::depends_on_locale;

/// Substitutions within one another that are looked into.
const MAX_DEPTH: usize = 8;

/// Commands of one line that are looked at.
const MAX_COMMANDS: usize = 256;

/// A word; `None` where it is not known before the line runs.
pub(super) type Word = Option<String>;

/// What stands in a line.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// The words of each command, its name first.
    pub(super) commands: Vec<Vec<Word>>,
    /// Where redirections lead.
    pub(super) files: Vec<String>,
    /// Whether the line says more than its commands and redirections: it sets variables, or has the head of a loop or a
    /// function.
    pub(super) says_more: bool,
    /// Whether `time` stands in front of a command. To some shells it is a program.
    pub(super) takes_time: bool,
    /// Whether a variable or a redirection has a value that is not known before the line runs.
    pub(super) hides_values: bool,
    /// Whether there was more than is looked at, or something that shells may read in another way.
    pub(super) is_incomplete: bool,
}

/// Finds what can be found.
pub(super) fn commands(line: &str) -> Found {
    let mut found = Found {
        is_incomplete: depends_on_locale(line),
        ..Found::default()
    };
    look(line, 0, &mut found);
    found
}

fn look(text: &str, depth: usize, found: &mut Found) {
    if depth > MAX_DEPTH {
        found.is_incomplete = true;
        return;
    }
    Finder::new(text.chars().collect(), depth, found).run();
}

struct Finder<'a> {
    chars: Vec<char>,
    at: usize,
    depth: usize,
    command: Vec<Word>,
    word: String,
    has_word: bool,
    is_known: bool,
    is_quoted: bool,
    /// The word under way is where a redirection leads.
    is_file: bool,
    /// Here-documents that begin at the next line.
    here_documents: Vec<HereDocument>,
    /// `&>` has been read. Some shells end a command at its `&`, and the words behind the file are another one.
    is_both: bool,
    found: &'a mut Found,
}

struct HereDocument {
    delimiter: String,
    /// Nothing in its text means anything.
    is_literal: bool,
    /// Tabs before the delimiter do not count.
    has_tabs: bool,
}

impl<'a> Finder<'a> {
    fn new(chars: Vec<char>, depth: usize, found: &'a mut Found) -> Finder<'a> {
        Finder {
            chars,
            at: 0,
            depth,
            command: Vec::new(),
            word: String::new(),
            has_word: false,
            is_known: true,
            is_quoted: false,
            is_file: false,
            here_documents: Vec::new(),
            is_both: false,
            found,
        }
    }

    fn peek(&self, ahead: usize) -> Option<char> {
        self.chars.get(self.at + ahead).copied()
    }

    fn run(&mut self) {
        while let Some(c) = self.peek(0) {
            self.at += 1;
            match c {
                ' ' | '\t' => self.end_word(),
                '\n' => {
                    self.end_command();
                    self.skip_here_documents();
                }
                '&' if self.peek(0) == Some('>') => {
                    self.end_word();
                    self.is_both = true;
                }
                // Arithmetic, in which `<<` and `#` mean something else.
                '(' if self.peek(0) == Some('(') => {
                    self.found.is_incomplete = true;
                    self.end_command();
                }
                ';' | '&' | '|' | '(' | ')' => self.end_command(),
                '<' | '>' => self.redirection(c),
                '#' if !self.has_word => {
                    while self.peek(0).is_some_and(|c| c != '\n') {
                        self.at += 1;
                    }
                }
                '\\' => match self.peek(0) {
                    Some('\n') => self.at += 1,
                    Some(next) => {
                        self.at += 1;
                        self.push(next, true);
                    }
                    None => self.found.is_incomplete = true,
                },
                '\'' => {
                    self.has_word = true;
                    self.is_quoted = true;
                    self.single_quoted();
                }
                '"' => {
                    self.has_word = true;
                    self.is_quoted = true;
                    if !self.double_quoted() {
                        self.found.is_incomplete = true;
                    }
                }
                '$' => self.dollar(false),
                '`' => self.backquoted(),
                // A pattern may stand for any name; a single `[` is a command.
                '*' | '?' | '{' | '}' | '~' | '[' | ']' => {
                    let is_alone =
                        !self.has_word && self.peek(0).is_none_or(|c| " \t\n;".contains(c));
                    self.is_known &= is_alone || c == '~';
                    self.push(c, false);
                }
                c => self.push(c, false),
            }
        }
        self.end_command();
        // Their texts have not begun.
        self.found.is_incomplete |= !self.here_documents.is_empty();
    }

    fn single_quoted(&mut self) {
        while let Some(c) = self.peek(0) {
            self.at += 1;
            if c == '\'' {
                return;
            }
            self.word.push(c);
        }
        self.found.is_incomplete = true;
    }

    fn push(&mut self, c: char, quoted: bool) {
        self.has_word = true;
        self.is_quoted |= quoted;
        self.word.push(c);
    }

    /// Reads up to the closing quote; `false`: there is none.
    fn double_quoted(&mut self) -> bool {
        while let Some(c) = self.peek(0) {
            self.at += 1;
            match c {
                '"' => return true,
                '\\' => {
                    let Some(next) = self.peek(0) else {
                        return false;
                    };
                    self.at += 1;
                    if !"\"\\$`\n".contains(next) {
                        self.word.push('\\');
                    }
                    if next != '\n' {
                        self.word.push(next);
                    }
                }
                '$' => self.dollar(true),
                '`' => self.backquoted(),
                c => self.word.push(c),
            }
        }
        false
    }

    /// Behind a `$`. `is_quoted`: within `"`, where `$'` is no quote.
    fn dollar(&mut self, is_quoted: bool) {
        self.has_word = true;
        self.is_known = false;
        match self.peek(0) {
            Some('(') => {
                self.at += 1;
                self.substitution('(', ')');
            }
            Some('{') => {
                self.at += 1;
                self.substitution('{', '}');
            }
            // Arithmetic as well.
            Some('[') => self.found.is_incomplete = true,
            Some('\'') if !is_quoted => {
                // To some shells it is a `$` and a quote that ends elsewhere.
                self.found.is_incomplete = true;
                self.at += 1;
                while let Some(c) = self.peek(0) {
                    self.at += 1;
                    match c {
                        '\'' => return,
                        '\\' => self.at += 1,
                        _ => {}
                    }
                }
                self.found.is_incomplete = true;
            }
            _ => {}
        }
    }

    /// Looks into what stands up to the closing bracket, or as far as there is anything.
    fn substitution(&mut self, open: char, close: char) {
        let start = self.at;
        let mut level = 1;
        let mut quote = None;
        while let Some(c) = self.peek(0) {
            self.at += 1;
            match (quote, c) {
                (None, '\'' | '"') => quote = Some(c),
                (Some(q), c) if q == c => quote = None,
                (None | Some('"'), '\\') => self.at += 1,
                (None, c) if c == open => level += 1,
                (None, c) if c == close => level -= 1,
                _ => {}
            }
            if level == 0 {
                break;
            }
        }
        self.at = self.at.min(self.chars.len());
        self.found.is_incomplete |= level > 0;
        let end = if level == 0 { self.at - 1 } else { self.at };
        let inside: String = self.chars[start..end].iter().collect();
        if open == '{' {
            // Within `"`, some shells take a quote there as it is.
            self.found.is_incomplete |= inside.contains('\'');
            // What it stands for may hold substitutions itself.
            if let Some(at) = inside.find(['$', '`']) {
                look(&inside[at..], self.depth + 1, self.found);
            }
        } else {
            look(&inside, self.depth + 1, self.found);
        }
    }

    fn backquoted(&mut self) {
        self.has_word = true;
        self.is_known = false;
        let mut inside = String::new();
        let mut is_closed = false;
        while let Some(c) = self.peek(0) {
            self.at += 1;
            match c {
                '`' => {
                    is_closed = true;
                    break;
                }
                '\\' => {
                    if let Some(next) = self.peek(0) {
                        self.at += 1;
                        if !"`\\$".contains(next) {
                            inside.push('\\');
                        }
                        inside.push(next);
                    }
                }
                c => inside.push(c),
            }
        }
        self.found.is_incomplete |= !is_closed;
        look(&inside, self.depth + 1, self.found);
    }

    fn redirection(&mut self, c: char) {
        // The number in front belongs to it.
        let is_number = self.has_word && self.is_known && !self.is_quoted;
        if is_number && self.word.chars().all(|c| c.is_ascii_digit()) {
            self.word.clear();
            self.has_word = false;
        }
        self.end_word();
        let next = self.peek(0);
        let operator_goes_on = match (c, next) {
            (_, Some('(')) => {
                self.at += 1;
                self.substitution('(', ')');
                // It stands for the name of a file, and what follows belongs to it: `<(ls)#x` has no comment.
                self.has_word = true;
                self.is_known = false;
                return;
            }
            ('<', Some('<')) => {
                self.at += 1;
                if self.peek(0) != Some('<') {
                    self.here_document();
                    return;
                }
                true
            }
            ('<', Some('>')) | ('>', Some('>' | '|')) => true,
            (_, Some('&')) => {
                self.at += 1;
                if self.closes() {
                    return;
                }
                false
            }
            _ => false,
        };
        self.at += usize::from(operator_goes_on);
        self.is_file = true;
    }

    /// Takes the `-` of `>&-`, which leads nowhere. Behind it the line goes on; not all shells begin a word there.
    fn closes(&mut self) -> bool {
        let blanks = self.chars[self.at..].iter();
        let blanks = blanks.take_while(|c| matches!(c, ' ' | '\t')).count();
        if self.peek(blanks) != Some('-') {
            return false;
        }
        self.at += blanks + 1;
        let is_end = |c: char| " \t\n;&|()<>".contains(c);
        self.found.is_incomplete |= !self.peek(0).is_none_or(is_end);
        true
    }

    /// Reads the delimiter. Only plain ones, with quotes around all of them or none, are the same in all shells.
    fn here_document(&mut self) {
        let has_tabs = self.peek(0) == Some('-');
        self.at += usize::from(has_tabs);
        while self.peek(0).is_some_and(|c| matches!(c, ' ' | '\t')) {
            self.at += 1;
        }
        let quote = self.peek(0).filter(|c| matches!(c, '\'' | '"' | '\\'));
        self.at += usize::from(quote.is_some());
        let mut delimiter = String::new();
        while let Some(c) = self
            .peek(0)
            .filter(|c| c.is_ascii_alphanumeric() || *c == '_')
        {
            self.at += 1;
            delimiter.push(c);
        }
        let is_closed = match quote.filter(|quote| *quote != '\\') {
            Some(quote) => {
                let is_closed = self.peek(0) == Some(quote);
                self.at += usize::from(is_closed);
                is_closed
            }
            None => true,
        };
        let is_end = |c: char| " \t\n;&|()<>".contains(c);
        if delimiter.is_empty() || !is_closed || !self.peek(0).is_none_or(is_end) {
            self.found.is_incomplete = true;
        }
        self.here_documents.push(HereDocument {
            delimiter,
            is_literal: quote.is_some(),
            has_tabs,
        });
    }

    /// The text of here-documents is not a command, but may hold some.
    fn skip_here_documents(&mut self) {
        for document in std::mem::take(&mut self.here_documents) {
            let start = self.at;
            let mut end = None;
            while self.at < self.chars.len() {
                let line = self.at;
                while self.peek(0).is_some_and(|c| c != '\n') {
                    self.at += 1;
                }
                let text: String = self.chars[line..self.at].iter().collect();
                // Some shells join such lines before they look for the delimiter.
                self.found.is_incomplete |= !document.is_literal && text.ends_with('\\');
                self.at += 1;
                let text = match document.has_tabs {
                    true => text.trim_start_matches('\t'),
                    false => &text,
                };
                if text == document.delimiter {
                    end = Some(line);
                    break;
                }
            }
            self.found.is_incomplete |= end.is_none();
            let end = end.unwrap_or(self.chars.len());
            self.at = self.at.min(self.chars.len());
            if !document.is_literal && self.depth < MAX_DEPTH {
                let text = self.chars[start..end].to_vec();
                let mut inside = Finder::new(text, self.depth + 1, self.found);
                // A quote ends nothing there, so it is read on behind each.
                while inside.at < inside.chars.len() {
                    let _ = inside.double_quoted();
                }
            }
        }
    }

    fn end_word(&mut self) {
        if !self.has_word {
            return;
        }
        let word = std::mem::take(&mut self.word);
        let is_quoted = std::mem::take(&mut self.is_quoted);
        let is_known = std::mem::replace(&mut self.is_known, true);
        self.has_word = false;
        if std::mem::take(&mut self.is_file) {
            match is_known {
                true => self.found.files.push(word),
                false => self.found.hides_values = true,
            }
            return;
        }
        self.found.is_incomplete |= self.is_both;
        if self.command.is_empty() && !is_quoted {
            self.found.says_more |= is_known && builtins::is_header(&word);
            // What it runs stands in places of its own, which are not read.
            self.found.is_incomplete |= word == "coproc";
            self.found.takes_time |= word == "time";
            self.found.says_more |= is_assignment(&word);
            self.found.hides_values |= is_assignment(&word) && !is_known;
            let value = word.split_once('=').filter(|_| is_assignment(&word));
            self.found
                .files
                .extend(value.map(|(_, value)| value.to_owned()));
            if (is_known && builtins::is_before_command(&word)) || is_assignment(&word) {
                return;
            }
        }
        self.command.push(is_known.then_some(word));
    }

    fn end_command(&mut self) {
        self.end_word();
        // A redirection that leads nowhere is an error to a shell, if it is read as one.
        self.found.is_incomplete |= std::mem::take(&mut self.is_file);
        self.is_both = false;
        let command = std::mem::take(&mut self.command);
        if lists_words(&command) {
            self.found.files.extend(command.into_iter().flatten());
        } else if !command.is_empty() {
            match self.found.commands.len() < MAX_COMMANDS {
                true => self.found.commands.push(command),
                false => self.found.is_incomplete = true,
            }
        }
    }
}

/// Whether these words up to a separator are the head of a loop or a `case`, and run nothing: `for NAME in a b`, `case a in b`.
/// Without `in`, as in `for NAME do git push`, and behind the name of a function, a command can follow.
fn lists_words(command: &[Word]) -> bool {
    let word = |at: usize| command.get(at).and_then(Option::as_deref);
    match word(0) {
        Some("case" | "in" | "[[") => true,
        Some("for" | "select") => word(2) == Some("in"),
        _ => false,
    }
}

/// `NAME=value`, `NAME+=value`.
fn is_assignment(word: &str) -> bool {
    let Some((name, _)) = word.split_once('=') else {
        return false;
    };
    let name = name.strip_suffix('+').unwrap_or(name);
    let is_letter = |c: char| c.is_ascii_alphanumeric() || c == '_';
    !name.is_empty()
        && name.chars().all(is_letter)
        && !name.starts_with(|c: char| c.is_ascii_digit())
}

/// All that may be words of a line, also of one that is more than a simple command: what it is read as, and what stands between its
/// spaces.
pub(crate) fn words_of(line: &str) -> Vec<String> {
    let found = commands(line);
    let words = found.commands.into_iter().flatten().flatten();
    let words = words.chain(found.files);
    words
        .chain(line.split_whitespace().map(str::to_owned))
        .collect()
}
