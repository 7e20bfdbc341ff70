//! Reads a text that may be calls, as far as it goes.
//!
//! Where a text goes wrong does not depend on how much of it is there: whatever is refused is refused at the
//! start of the word that is wrong. The caller relies on that.

use dunlin_host::Tool;
use serde_json::{Map, Value};

use super::{FENCE, Recovered, TAGS};
use crate::MAX_CALLS;

/// How deep calls may be wrapped: `{"tool_calls": [{"function": {...}}]}` is three.
const MAX_DEPTH: usize = 4;

/// The longest mark between a name and its arguments, in bytes.
const MAX_MARK_BYTES: usize = 64;

/// What a fence with a call may be labelled.
const LABELS: [&str; 9] = [
    "",
    "json",
    "jsonc",
    "json5",
    "tool",
    "tool_call",
    "tool_code",
    "tool_use",
    "xml",
];

/// What may stand behind a call and means nothing: the ends of messages and of lists of calls.
const NOISE: [&str; 9] = [
    "<|im_end|>",
    "<|eot_id|>",
    "<|eom_id|>",
    "<|end|>",
    "<|endoftext|>",
    "</s>",
    "</tool_call>",
    "<|tool_calls_section_end|>",
    "<｜tool▁calls▁end｜>",
];

/// What a key of a call says.
#[derive(Debug, Clone, Copy)]
enum Key {
    /// The tool's name, or an object with name and arguments.
    Name,
    Arguments,
    /// That it is a call.
    Type,
    Calls,
    /// Nothing that matters.
    Other,
}

const KEYS: [(&str, Key); 19] = [
    ("name", Key::Name),
    ("toolname", Key::Name),
    ("tool_name", Key::Name),
    ("tool", Key::Name),
    ("function", Key::Name),
    ("function_name", Key::Name),
    ("tool_call", Key::Name),
    ("arguments", Key::Arguments),
    ("parameters", Key::Arguments),
    ("params", Key::Arguments),
    ("args", Key::Arguments),
    ("input", Key::Arguments),
    ("tool_input", Key::Arguments),
    ("type", Key::Type),
    ("tool_calls", Key::Calls),
    ("id", Key::Other),
    ("call_id", Key::Other),
    ("tool_call_id", Key::Other),
    ("index", Key::Other),
];

const TYPES: [&str; 4] = ["function", "function_call", "tool_call", "tool_use"];

/// What a text is.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Verdict {
    /// The beginning of calls.
    Open,
    /// These calls and nothing else.
    Calls(Vec<Recovered>),
    /// Something else, from this byte on.
    Wrong(usize),
}

#[derive(Debug, Clone, Copy)]
enum Stop {
    /// The text ends here.
    Short,
    /// It is not a call, from this byte on.
    Wrong(usize),
}

type Read<T> = Result<T, Stop>;

/// Reads one text from its start.
pub(super) struct Reader<'a> {
    text: &'a str,
    at: usize,
    tools: &'a [Tool],
    /// Whether it is the message as a whole: it needs neither fence nor tag.
    bare: bool,
    /// Whether the text goes on no further.
    last: bool,
    calls: Vec<Recovered>,
}

#[derive(Default)]
struct Draft<'a> {
    tool: Option<&'a Tool>,
    arguments: Option<Map<String, Value>>,
    several: bool,
}

impl<'a> Reader<'a> {
    pub(super) fn new(text: &'a str, tools: &'a [Tool], bare: bool, last: bool) -> Reader<'a> {
        Reader {
            text,
            at: 0,
            tools,
            bare,
            last,
            calls: Vec::new(),
        }
    }

    /// What the text is.
    pub(super) fn read(mut self) -> Verdict {
        match self.message() {
            Ok(()) if self.calls.is_empty() => Verdict::Wrong(self.text.len()),
            Ok(()) => Verdict::Calls(self.calls),
            Err(Stop::Short) if self.last => Verdict::Wrong(self.text.len()),
            Err(Stop::Short) => Verdict::Open,
            Err(Stop::Wrong(at)) => Verdict::Wrong(at),
        }
    }

    fn message(&mut self) -> Read<()> {
        self.blank();
        if self.bare && self.rest().starts_with("<|p") {
            self.one_of(&["<|python_tag|>"])?;
            self.blank();
        }
        loop {
            self.item(false)?;
            self.noise()?;
            if self.rest().is_empty() {
                return Ok(());
            }
        }
    }

    /// A call, or several within one wrapping.
    fn item(&mut self, listed: bool) -> Read<()> {
        let start = self.at;
        // The last stands only within another.
        let mut begins = vec![FENCE, "<｜tool▁call▁begin｜>"];
        begins.extend(TAGS);
        if self.bare {
            begins.extend(["{", "[", "functions."]);
        }
        match self.one_of(&begins)? {
            "{" => self.object(start),
            "[" => self.array(0),
            "functions." => self.named(start, &[' ', '\n', '\t', '{', '('], &[]),
            "```" => self.fence(),
            "<tool_call>" => self.tagged("</tool_call>"),
            "<tool_calls>" => self.tagged("</tool_calls>"),
            "<function_call>" => self.tagged("</function_call>"),
            "<|tool_call|>" => self.tagged("<|/tool_call|>"),
            "<function=" => self.function(start),
            "<|tool_call_begin|>" => {
                self.blank();
                self.named(start, &['<', '{', ' ', '\n'], &["<|"])?;
                self.close("<|tool_call_end|>")
            }
            "[TOOL_CALLS]" => {
                self.blank();
                match self.peek()? {
                    '[' | '{' => self.objects(),
                    _ => self.named(start, &['[', '{', ' ', '\n'], &["["]),
                }
            }
            "<｜tool▁call▁begin｜>" => self.deepseek(start),
            // The beginning of a list.
            _ if listed => Err(Stop::Wrong(start)),
            _ => {
                self.blank();
                self.item(true)
            }
        }
    }

    /// Behind the backticks of a fence.
    fn fence(&mut self) -> Read<()> {
        let start = self.at;
        let line = self.rest().find('\n');
        let label = self.rest()[..line.unwrap_or(self.rest().len())].trim_end();
        match line {
            Some(length) if LABELS.contains(&label) => self.at += length + 1,
            None if LABELS.iter().any(|known| known.starts_with(label)) => return Err(Stop::Short),
            _ => return Err(Stop::Wrong(start)),
        }
        self.tagged("```")
    }

    /// Behind an opening tag.
    fn tagged(&mut self, close: &str) -> Read<()> {
        self.blank();
        let start = self.at;
        match self.peek()? {
            '{' | '[' => self.objects()?,
            '<' => {
                match self.one_of(&["<function=", "<tool_call>"])? {
                    "<function=" => self.function(start)?,
                    _ => self.tagged_again()?,
                }
                self.blank();
            }
            'f' if self.rest().starts_with("functions.")
                || "functions.".starts_with(self.rest()) =>
            {
                self.one_of(&["functions."])?;
                self.named(start, &[' ', '\n', '\t', '{'], &[])?;
            }
            _ if close == "</tool_call>" => return self.pairs(start),
            _ => return Err(Stop::Wrong(start)),
        }
        self.close(close)
    }

    /// Calls within tags of their own within tags.
    fn tagged_again(&mut self) -> Read<()> {
        loop {
            self.blank();
            self.objects()?;
            self.close("</tool_call>")?;
            self.blank();
            if !self.rest().starts_with("<tool_call>") {
                return Ok(());
            }
            self.at += "<tool_call>".len();
        }
    }

    /// Objects and arrays of them, one behind the other.
    fn objects(&mut self) -> Read<()> {
        loop {
            let start = self.at;
            match self.one_of(&["{", "["])? {
                "{" => self.object(start)?,
                _ => self.array(0)?,
            }
            self.blank();
            if !self.rest().starts_with('{') {
                return Ok(());
            }
        }
    }

    /// Behind the `[` of an array of calls.
    fn array(&mut self, depth: usize) -> Read<()> {
        loop {
            self.blank();
            let start = self.at;
            self.one_of(&["{"])?;
            self.object_within(start, depth)?;
            self.blank();
            if self.one_of(&[",", "]"])? == "]" {
                return Ok(());
            }
        }
    }

    /// Behind the `{` of a call that begins at `start`.
    fn object(&mut self, start: usize) -> Read<()> {
        self.object_within(start, 0)
    }

    fn object_within(&mut self, start: usize, depth: usize) -> Read<()> {
        let mut draft = Draft::default();
        self.fields(&mut draft, depth)?;
        match draft {
            Draft {
                tool: Some(tool),
                arguments: Some(arguments),
                several: false,
            } => self.propose(tool, arguments, start),
            Draft {
                tool: None,
                arguments: None,
                several: true,
            } => Ok(()),
            _ => Err(Stop::Wrong(start)),
        }
    }

    fn fields(&mut self, draft: &mut Draft<'a>, depth: usize) -> Read<()> {
        loop {
            self.blank();
            let start = self.at;
            let key = self.key()?;
            self.blank();
            self.one_of(&[":"])?;
            self.blank();
            let first = self.peek()?;
            let twice = match key {
                Key::Name if first == '{' && depth < MAX_DEPTH => {
                    self.at += 1;
                    self.fields(draft, depth + 1)?;
                    false
                }
                Key::Name => {
                    let tool = self.tool_name()?;
                    draft.tool.replace(tool).is_some()
                }
                Key::Arguments => {
                    let arguments = self.arguments()?;
                    draft.arguments.replace(arguments).is_some()
                }
                Key::Calls if depth < MAX_DEPTH => {
                    self.one_of(&["["])?;
                    self.array(depth + 1)?;
                    std::mem::replace(&mut draft.several, true)
                }
                Key::Type => {
                    let value = self.at;
                    match self.value()? {
                        Value::String(word) if TYPES.contains(&word.as_str()) => false,
                        _ => return Err(Stop::Wrong(value)),
                    }
                }
                Key::Other => {
                    let value = self.at;
                    if matches!(self.value()?, Value::Object(_) | Value::Array(_)) {
                        return Err(Stop::Wrong(value));
                    }
                    false
                }
                _ => true,
            };
            if twice {
                return Err(Stop::Wrong(start));
            }
            self.blank();
            if self.one_of(&[",", "}"])? == "}" {
                return Ok(());
            }
        }
    }

    fn key(&mut self) -> Read<Key> {
        let start = self.at;
        self.one_of(&["\""])?;
        let rest = self.rest();
        let Some(length) = rest.find('"') else {
            let part = KEYS.iter().any(|(known, _)| known.starts_with(rest));
            return Err(if part {
                Stop::Short
            } else {
                Stop::Wrong(start)
            });
        };
        let found = KEYS.iter().find(|(known, _)| *known == &rest[..length]);
        let (_, key) = found.ok_or(Stop::Wrong(start))?;
        self.at += length + 1;
        Ok(*key)
    }

    /// A tool's name as a JSON text.
    fn tool_name(&mut self) -> Read<&'a Tool> {
        let start = self.at;
        self.one_of(&["\""])?;
        let tool = self.name_up_to(start, &['"'])?;
        self.at += 1;
        Ok(tool)
    }

    /// A tool's name that ends before one of these.
    fn name_up_to(&mut self, start: usize, stops: &[char]) -> Read<&'a Tool> {
        let rest = self.rest();
        let Some(length) = rest.find(stops) else {
            let part = self.may_be_name(rest) && !self.last;
            return Err(if part {
                Stop::Short
            } else {
                Stop::Wrong(start)
            });
        };
        let name = bare_name(&rest[..length]);
        let tool = self.tools.iter().find(|tool| tool.name == name);
        let tool = tool.ok_or(Stop::Wrong(start))?;
        self.at += length;
        Ok(tool)
    }

    fn may_be_name(&self, part: &str) -> bool {
        "functions.".starts_with(part)
            || self.tools.iter().any(|tool| {
                let part = part.strip_prefix("functions.").unwrap_or(part);
                tool.name.starts_with(part)
                    || part.strip_prefix(&tool.name).is_some_and(|rest| {
                        rest.strip_prefix(':')
                            .is_some_and(|rest| rest.chars().all(|c| c.is_ascii_digit()))
                    })
            })
    }

    /// A name, perhaps something that sets it off, and the arguments.
    fn named(&mut self, start: usize, stops: &[char], marks: &[&str]) -> Read<()> {
        let tool = self.name_up_to(start, stops)?;
        self.blank();
        while marks.iter().any(|mark| self.rest().starts_with(mark)) {
            let end = if self.rest().starts_with('[') {
                "]"
            } else {
                "|>"
            };
            let length = self.rest().find(end).unwrap_or(self.rest().len());
            if length >= MAX_MARK_BYTES {
                return Err(Stop::Wrong(start));
            }
            self.up_to(end)?;
            // An id may stand between two marks.
            let id = |c: char| c.is_ascii_alphanumeric() || c == '_';
            let behind = self.rest().trim_start_matches(id);
            if behind.is_empty() {
                return Err(Stop::Short);
            } else if behind.starts_with('[') {
                self.at = self.text.len() - behind.len();
            }
            self.blank();
        }
        let rest = self.rest();
        if !rest.is_empty() && marks.iter().any(|mark| mark.starts_with(rest)) {
            return Err(Stop::Short);
        }
        if self.peek()? != '{' {
            return Err(Stop::Wrong(self.at));
        }
        let arguments = self.arguments()?;
        self.propose(tool, arguments, start)
    }

    /// Behind `<function=`: arguments as JSON, or one by one.
    fn function(&mut self, start: usize) -> Read<()> {
        let tool = self.name_up_to(start, &['>'])?;
        self.at += 1;
        self.blank();
        if self.peek()? == '{' {
            let arguments = self.arguments()?;
            self.propose(tool, arguments, start)?;
            return self.close("</function>");
        }
        let mut arguments = Map::new();
        loop {
            self.blank();
            if self.last && self.rest().is_empty() {
                break;
            }
            if self.one_of(&["<parameter=", "</function>"])? == "</function>" {
                break;
            }
            let key = self.up_to(">")?.trim().to_owned();
            let value = self.up_to("</parameter>")?;
            arguments.insert(key.clone(), typed(tool, &key, value));
        }
        self.propose(tool, arguments, start)
    }

    /// A name and pairs of tags for each argument.
    fn pairs(&mut self, start: usize) -> Read<()> {
        let tool = self.name_up_to(start, &['\n', '<', ' '])?;
        let mut arguments = Map::new();
        loop {
            self.blank();
            if self.last && self.rest().is_empty() {
                break;
            }
            if self.one_of(&["<arg_key>", "</tool_call>"])? == "</tool_call>" {
                break;
            }
            let key = self.up_to("</arg_key>")?.trim().to_owned();
            self.blank();
            self.one_of(&["<arg_value>"])?;
            let value = self.up_to("</arg_value>")?;
            arguments.insert(key.clone(), typed(tool, &key, value));
        }
        self.propose(tool, arguments, start)
    }

    /// Behind `<｜tool▁call▁begin｜>`: the kind or the name, and for the kind the name and a fence.
    fn deepseek(&mut self, start: usize) -> Read<()> {
        const SEPARATOR: &str = "<｜tool▁sep｜>";
        let fenced = self.rest().starts_with("function<");
        let tool = if fenced {
            self.at += "function".len();
            self.one_of(&[SEPARATOR])?;
            self.name_up_to(start, &['\n'])?
        } else if "function<".starts_with(self.rest()) {
            return Err(Stop::Short);
        } else {
            let tool = self.name_up_to(start, &['<'])?;
            self.one_of(&[SEPARATOR])?;
            tool
        };
        self.blank();
        if fenced {
            self.one_of(&["```json"])?;
            self.blank();
        }
        let arguments = self.arguments()?;
        if fenced {
            self.blank();
            self.one_of(&["```"])?;
        }
        self.propose(tool, arguments, start)?;
        self.close("<｜tool▁call▁end｜>")
    }

    /// The arguments: an object, or a text that holds one.
    fn arguments(&mut self) -> Read<Map<String, Value>> {
        let start = self.at;
        let first = self.peek()?;
        if !matches!(first, '{' | '"' | 'n') {
            return Err(Stop::Wrong(start));
        }
        match self.value()? {
            Value::Object(arguments) => Ok(arguments),
            Value::Null => Ok(Map::new()),
            Value::String(text) => serde_json::from_str(&text).map_err(|_| Stop::Wrong(start)),
            _ => Err(Stop::Wrong(start)),
        }
    }

    fn propose(&mut self, tool: &Tool, arguments: Map<String, Value>, at: usize) -> Read<()> {
        let arguments = Value::Object(arguments);
        if self.calls.len() >= MAX_CALLS || tool.check_arguments(&arguments).is_err() {
            return Err(Stop::Wrong(at));
        }
        if let Value::Object(arguments) = arguments {
            let tool = tool.name.clone();
            self.calls.push(Recovered { tool, arguments });
        }
        Ok(())
    }

    fn value(&mut self) -> Read<Value> {
        let start = self.at;
        let mut values = serde_json::Deserializer::from_str(self.rest()).into_iter::<Value>();
        match values.next() {
            None => Err(Stop::Short),
            Some(Ok(value)) => {
                self.at += values.byte_offset();
                Ok(value)
            }
            Some(Err(error)) if error.is_eof() => Err(Stop::Short),
            Some(Err(_)) => Err(Stop::Wrong(start)),
        }
    }

    /// The closing tag. A server may have taken it for the end of the message and away.
    fn close(&mut self, close: &str) -> Read<()> {
        self.blank();
        if self.last && self.rest().is_empty() {
            return Ok(());
        }
        self.one_of(&[close]).map(drop)
    }

    fn noise(&mut self) -> Read<()> {
        loop {
            self.blank();
            let rest = self.rest();
            if let Some(token) = NOISE.iter().find(|token| rest.starts_with(**token)) {
                self.at += token.len();
            } else if !self.last
                && !rest.is_empty()
                && NOISE.iter().any(|token| token.starts_with(rest))
            {
                return Err(Stop::Short);
            } else {
                return Ok(());
            }
        }
    }

    /// Goes over the one of these that comes next.
    fn one_of<'o>(&mut self, options: &[&'o str]) -> Read<&'o str> {
        let rest = self.rest();
        let longer = options
            .iter()
            .any(|option| option.len() > rest.len() && option.starts_with(rest));
        let found = options
            .iter()
            .filter(|option| rest.starts_with(**option))
            .max_by_key(|option| option.len());
        match found {
            // A `[` alone may be the beginning of a longer one, but is one itself.
            Some(found) if !longer || rest.len() == found.len() => {
                self.at += found.len();
                Ok(found)
            }
            _ if longer => Err(Stop::Short),
            _ => Err(Stop::Wrong(self.at)),
        }
    }

    fn up_to(&mut self, end: &str) -> Read<&'a str> {
        let rest = self.rest();
        let length = rest.find(end).ok_or(Stop::Short)?;
        self.at += length + end.len();
        Ok(&rest[..length])
    }

    fn peek(&self) -> Read<char> {
        self.rest().chars().next().ok_or(Stop::Short)
    }

    fn blank(&mut self) {
        self.at += self.rest().len() - self.rest().trim_start().len();
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }
}

/// The name without what some models put around it: `functions.read_file:0`.
fn bare_name(name: &str) -> &str {
    let name = name.strip_prefix("functions.").unwrap_or(name);
    match name.rsplit_once(':') {
        Some((bare, number)) if number.chars().all(|c| c.is_ascii_digit()) => bare,
        _ => name,
    }
}

/// A value that was written without quotes, as what the schema says it is.
fn typed(tool: &Tool, key: &str, written: &str) -> Value {
    // One line end on either side belongs to the tags.
    let text = written.strip_prefix('\n').unwrap_or(written);
    let text = text.strip_suffix('\n').unwrap_or(text);
    let types = &tool.parameters["properties"][key]["type"];
    if types == "string" {
        return text.into();
    }
    serde_json::from_str(text.trim()).unwrap_or_else(|_| text.into())
}
