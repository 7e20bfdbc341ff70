//! The values of a section as a tree, and paths to them.

use std::borrow::Cow;

use bytestring::ByteString;

use super::document::{self, LeafKind, Node, Shape};
use super::edits::{EditError, Target};
use super::json_string;
use super::model::EditableRequest;
use super::overlay::Overlay;
use super::path::{Path, Step};
use super::sections::SectionKind;
use crate::media::About;

/// How many paths an error names.
const NEAREST: usize = 3;

/// How much of a wrong path is compared with the right ones, in bytes: real ones are shorter, and comparing takes time in
/// proportion.
const MAX_COMPARED: usize = 160;

/// The longest path that an error names or a completion offers, in bytes. A model can make longer ones, which nobody types.
const MAX_OFFERED: usize = 2 * MAX_COMPARED;

/// One value of a section. Rows are in the order of the payload, each value before those in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// The value by section and relative path.
    pub target: Target,
    /// Its path in the payload as it would be sent; `None`: the section is deleted.
    pub path: Option<Path>,
    /// How deep it is in the section, from 0; values in a string that holds JSON are one deeper than the string.
    pub depth: usize,
    pub value: RowValue,
}

/// What a row shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RowValue {
    /// An object with so many members.
    Object(usize),
    /// An array with so many elements.
    Array(usize),
    /// A value that can be edited.
    Leaf(Leaf),
}

/// A value that can be edited.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leaf {
    pub kind: LeafKind,
    /// The value as JSON, as it is written in the body or in the string around it. Shares the memory of that.
    pub json: ByteString,
    /// Whether it differs from the one composed.
    pub is_edited: bool,
    /// Whether it is a string that holds an object or an array; the rows of that follow.
    pub holds_json: bool,
}

impl Row {
    /// Whether it is a leaf whose text contains this, which is given in lower case.
    pub fn contains(&self, text: &str) -> bool {
        match &self.value {
            RowValue::Leaf(leaf) if leaf.media().is_some() => false,
            RowValue::Leaf(leaf) => leaf.text().to_lowercase().contains(text),
            RowValue::Object(_) | RowValue::Array(_) => false,
        }
    }
}

impl Leaf {
    /// The text of a string, or the JSON of any other value. Escape before showing.
    pub fn text(&self) -> Cow<'_, str> {
        let written = self.json.strip_prefix('"');
        match written.and_then(|text| text.strip_suffix('"')) {
            Some(text) if self.kind == LeafKind::String => match text.contains('\\') {
                false => Cow::Borrowed(text),
                true => Cow::Owned(document::decode(&self.json).unwrap_or_default()),
            },
            _ => Cow::Borrowed(&self.json),
        }
    }

    /// What it is where it is a picture or a document, which nobody reads as text.
    pub fn media(&self) -> Option<About> {
        let text = self.json.strip_prefix('"')?.strip_suffix('"')?;
        About::of_long_text(text)
    }

    /// The text, or the beginning of a long one. Takes no longer for one than for the other.
    pub fn beginning(&self) -> Cow<'_, str> {
        /// How much of what is written is read, in bytes.
        const READ: usize = 4096;
        /// The longest way in which one character can be written.
        const LONGEST: usize = r"\ud83c\udf0a".len();
        if self.json.len() <= READ || self.kind != LeafKind::String {
            return self.text();
        }
        let end = self.json.floor_char_boundary(READ);
        // One that is cut in the middle is left out.
        let mut ends = (end.saturating_sub(LONGEST)..=end).rev();
        let text = ends.find_map(|end| document::decode(&format!("{}\"", self.json.get(..end)?)));
        Cow::Owned(text.unwrap_or_default())
    }
}

/// One difference between the body as composed and the current one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Difference {
    /// A section is left out.
    Deleted { number: usize },
    /// A leaf has another value, or an option was added or removed.
    Set {
        number: usize,
        target: Target,
        /// The value composed, as JSON; `None`: an option that was added.
        old: Option<String>,
        /// The value now, as JSON; `None`: an option that was removed.
        new: Option<String>,
    },
}

impl EditableRequest {
    /// All values of a section, those in strings that hold JSON included. Empty: there is no such section, or the body
    /// is not JSON.
    ///
    /// Reads the section anew: ask when a section is opened, not for all of them.
    pub fn rows(&self, number: usize) -> Vec<Row> {
        let mut rows = Vec::new();
        if let (Some(section), Some(text)) = (self.section(number), self.shared_text(number))
            && let Some(node) = document::parse(&text)
        {
            let mut walk = Walk {
                request: self,
                index: number - 1,
                path: self.path(number),
                rows: &mut rows,
                is_whole: section.path.steps().is_empty(),
            };
            let composed = self.base.node(number - 1).map(|node| Composed {
                text: &self.base.text,
                node,
            });
            let composed = match self.is_edited(number) {
                true => Original::At(composed),
                false => Original::Same,
            };
            walk.value((&text, &node), composed, &Path::root(), 0);
        }
        rows
    }

    /// What differs from the body as composed, in the order of the sections. A deletion comes before the section's
    /// leaves.
    pub fn differences(&self) -> Vec<Difference> {
        let mut differences = Vec::new();
        let composed = Overlay::default();
        for (index, section) in self.base.sections.iter().enumerate() {
            let number = index + 1;
            if self.is_deleted(number) {
                differences.push(Difference::Deleted { number });
            }
            let set = |path: &Path, new: Option<&str>| Difference::Set {
                number,
                target: Target {
                    section: section.id.clone(),
                    path: path.clone(),
                },
                old: composed
                    .find(&self.base, index, path)
                    .map(|found| found.raw.into_owned()),
                new: new.map(str::to_owned),
            };
            let leaves = self.overlay.leaves.range((index, Path::root())..);
            let leaves = leaves.take_while(|((of, _), _)| *of == index);
            differences.extend(leaves.map(|((_, path), new)| set(path, Some(new))));
            if self.base.options_section() == Some(index) {
                let (added, gone) = (self.overlay.added.iter(), self.overlay.gone());
                differences.extend(gone.map(|path| set(path, None)));
                differences.extend(added.map(|(path, new)| set(path, Some(new))));
            }
        }
        differences
    }

    /// The target that a path of the payload as it would be sent now leads to, or the option with that key.
    ///
    /// # Errors
    /// Nothing is there.
    pub fn target(&self, path: &str) -> Result<Target, EditError> {
        let path: Path = path.parse()?;
        let (index, inside) = self
            .split(&path)
            .ok_or_else(|| self.unknown(&path.to_string()))?;
        let section = self.base.sections.get(index);
        let section = section.ok_or_else(|| self.unknown(&path.to_string()))?;
        let target = |path| Target {
            section: section.id.clone(),
            path,
        };
        let is_there = self.overlay.find(&self.base, index, &inside).is_some();
        if is_there || self.known_option(index, &inside).is_some() {
            return Ok(target(inside));
        }
        let mut named = self.paths_named(&inside).into_iter();
        if let Some(path) = named.find(|path| self.known_option(index, path).is_some()) {
            return Ok(target(path));
        }
        Err(self.unknown(&path.to_string()))
    }

    /// The leaf at a target; `None`: an option that the request does not have yet.
    ///
    /// # Errors
    /// There is no leaf, or its section is deleted.
    pub fn leaf(&self, target: &Target) -> Result<Option<Leaf>, EditError> {
        let index = self.index_of(&target.section)?;
        self.sent(index)?;
        let mut rows = self.rows(index + 1).into_iter();
        match rows.find(|row| row.target == *target).map(|row| row.value) {
            Some(RowValue::Leaf(leaf)) => Ok(Some(leaf)),
            Some(_) => Err(self.not_a_leaf(index, &target.path)),
            None => Ok(None),
        }
    }

    /// The text of the model's name, as it would be sent. Reads nothing else: this is asked for every frame.
    pub fn model(&self) -> Option<String> {
        let mut sections = self.base.sections.iter();
        let whole = sections.position(|section| section.path.steps().is_empty())?;
        let path = Path::root().then("model");
        let found = self.overlay.find(&self.base, whole, &path)?;
        document::decode(&found.raw)
    }

    /// The path of a leaf in the payload as it would be sent now.
    pub fn path_of(&self, target: &Target) -> String {
        match self.index_of(&target.section) {
            Ok(index) => self.shown(index, &target.path),
            Err(_) => target.path.to_string(),
        }
    }

    /// The section that a path of the payload leads into, and the rest of the path.
    fn split(&self, path: &Path) -> Option<(usize, Path)> {
        if let Some((section, rest)) = self.section_at(path) {
            return Some((section, Path::root().join(rest)));
        }
        let mut sections = self.base.sections.iter();
        let whole = sections.position(|section| section.path.steps().is_empty())?;
        Some((whole, path.clone()))
    }

    /// The only text of a section: that of a message, or a tool's description.
    ///
    /// # Errors
    /// The section has none, or several.
    pub fn only_text(&self, number: usize) -> Result<Target, EditError> {
        self.only_row(number).map(|row| row.target)
    }

    /// The same as a leaf. `None`: the section has none, or several.
    pub fn only_leaf(&self, number: usize) -> Option<Leaf> {
        match self.only_row(number).ok()?.value {
            RowValue::Leaf(leaf) => Some(leaf),
            RowValue::Object(_) | RowValue::Array(_) => None,
        }
    }

    fn only_row(&self, number: usize) -> Result<Row, EditError> {
        let section = self
            .section(number)
            .ok_or_else(|| EditError::UnknownSection {
                name: number.to_string(),
                count: self.base.sections.len(),
            })?;
        let is_tool = section.kind == SectionKind::ToolDefinition;
        let is_text = |row: &Row| match row.target.path.steps() {
            // The message, or the block or the item that is the section.
            [Step::Key(content)] if section.kind.is_message() => {
                matches!(&**content, "content" | "text" | "output")
            }
            [Step::Key(content), Step::Index(_), Step::Key(text)] if section.kind.is_message() => {
                &**content == "content" && &**text == "text"
            }
            [Step::Key(description)] if is_tool => &**description == "description",
            [Step::Key(function), Step::Key(description)] if is_tool => {
                &**function == "function" && &**description == "description"
            }
            _ => false,
        };
        let rows = self.rows(number);
        let strings = || {
            let is_string = |row: &&Row| matches!(&row.value, RowValue::Leaf(leaf) if leaf.kind == LeafKind::String);
            rows.iter().filter(is_string)
        };
        let mut texts = strings().filter(|row| is_text(row));
        match (texts.next(), texts.next()) {
            (Some(text), None) => Ok(text.clone()),
            _ => Err(EditError::NoSingleText {
                number,
                nearest: strings()
                    .take(NEAREST)
                    .map(|row| self.shown(number - 1, &row.target.path).to_string())
                    .collect(),
            }),
        }
    }

    /// The path of a leaf for people; that of a deleted section is the one composed.
    pub(super) fn shown(&self, index: usize, path: &Path) -> String {
        let composed = || Some(self.base.sections.get(index)?.path.clone());
        let section = self.path(index + 1).or_else(composed).unwrap_or_default();
        section.join(path.steps()).to_string()
    }

    /// What a path that is typed up to here can become, each path one step longer at most; then the options that can be
    /// added. Escape before showing.
    ///
    /// Reads one section: the others are completed by their number only.
    pub fn completions(&self, typed: &str) -> Vec<String> {
        let mut found: Vec<String> = Vec::new();
        let mut add = |path: Option<String>| {
            // Paths that share a step follow each other.
            if let Some(path) = path.filter(|path| found.last() != Some(path)) {
                found.push(path);
            }
        };
        for number in 1..=self.base.sections.len() {
            let Some(path) = self.path(number) else {
                continue;
            };
            match path.steps() {
                [] => {}
                _ if !typed.starts_with(&path.to_string()) => {
                    add(one_step_beyond(&path, typed));
                    continue;
                }
                _ => {}
            }
            let rows = self.rows(number).into_iter();
            for path in rows.filter_map(offered) {
                add(one_step_beyond(&path, typed));
            }
        }
        for path in self.missing_options() {
            add(one_step_beyond(&path, typed));
        }
        found
    }

    /// The error for a path to nothing.
    pub(super) fn unknown(&self, path: &str) -> EditError {
        let compared = path.get(..path.floor_char_boundary(MAX_COMPARED));
        let compared = compared.unwrap_or_default();
        // What was typed may be the beginning of a path, which the distance would count as many mistakes.
        let distance = |path: &str| match path.starts_with(compared) {
            true => 0,
            false => strsim::levenshtein(compared, path),
        };
        let mut paths: Vec<(usize, String)> = Vec::new();
        for number in 1..=self.base.sections.len() {
            if self.is_deleted(number) {
                continue;
            }
            for path in self.rows(number).into_iter().filter_map(offered) {
                let path = path.to_string();
                paths.push((distance(&path), path));
                // Only the best are kept: the paths of a long request never are all in memory.
                paths.sort();
                paths.truncate(NEAREST);
            }
        }
        let absent = self
            .base
            .options
            .iter()
            .map(|option| option.path.to_string());
        paths.extend(absent.map(|path| (distance(&path), path)));
        paths.sort();
        paths.dedup();
        EditError::UnknownPath {
            path: path.to_owned(),
            nearest: paths
                .into_iter()
                .map(|(_, path)| path)
                .take(NEAREST)
                .collect(),
        }
    }

    /// The error for a path to an object or an array.
    pub(super) fn not_a_leaf(&self, index: usize, path: &Path) -> EditError {
        let rows = self.rows(index + 1).into_iter();
        let inside = rows.filter(|row| row.target.path.steps().starts_with(path.steps()));
        EditError::NotALeaf {
            path: self.shown(index, path),
            nearest: inside
                .filter_map(offered)
                .take(NEAREST)
                .map(|path| path.to_string())
                .collect(),
        }
    }
}

/// The beginning of a path that goes on from a typed one, one step longer at most; the whole path where it is typed
/// already. `None`: it goes elsewhere.
fn one_step_beyond(path: &Path, typed: &str) -> Option<String> {
    let steps = path.steps();
    let beginnings = (1..=steps.len()).filter_map(|count| steps.get(..count));
    let mut beginnings = beginnings.map(|steps| Path::root().join(steps).to_string());
    let longer = beginnings.find(|text| text.len() > typed.len());
    let text = longer.unwrap_or_else(|| path.to_string());
    text.starts_with(typed).then_some(text)
}

/// The path of a leaf, where it may be named.
fn offered(row: Row) -> Option<Path> {
    let path = row.path.filter(|path| path.key_bytes() <= MAX_OFFERED);
    path.filter(|_| matches!(row.value, RowValue::Leaf(_)))
}

/// Makes the rows of one section.
struct Walk<'a> {
    request: &'a EditableRequest,
    index: usize,
    /// The section's path in the payload.
    path: Option<Path>,
    rows: &'a mut Vec<Row>,
    /// Whether the section is the body, without the lists that are sections.
    is_whole: bool,
}

/// A value of the body as composed, or of a string in it.
#[derive(Clone, Copy)]
struct Composed<'a> {
    text: &'a str,
    node: &'a Node,
}

impl<'a> Composed<'a> {
    fn raw(self) -> &'a str {
        self.text.get(self.node.span.clone()).unwrap_or_default()
    }

    fn at(self, node: &'a Node) -> Composed<'a> {
        Composed { node, ..self }
    }
}

/// What a value was composed as. It is walked beside the current one: to look each value up from the root takes quadratic
/// time, and strings that hold JSON would be parsed once for every value in them.
#[derive(Clone, Copy)]
enum Original<'a> {
    /// The section is as it was composed.
    Same,
    /// This value; `None`: there was none.
    At(Option<Composed<'a>>),
}

impl<'a> Original<'a> {
    /// What a member of an object was, which is likely still the `index`th.
    fn member(self, index: usize, key: &str) -> Original<'a> {
        self.inside(|composed| {
            let Shape::Object(members) = &composed.node.shape else {
                return None;
            };
            let same = members.get(index).filter(|member| *member.key == *key);
            let member = same.or_else(|| members.iter().find(|member| *member.key == *key))?;
            Some(composed.at(&member.value))
        })
    }

    fn item(self, index: usize) -> Original<'a> {
        self.inside(|composed| match &composed.node.shape {
            Shape::Array(items) => items.get(index).map(|item| composed.at(item)),
            Shape::Object(_) | Shape::Leaf(_) => None,
        })
    }

    fn inside(self, find: impl FnOnce(Composed<'a>) -> Option<Composed<'a>>) -> Original<'a> {
        match self {
            Original::Same => Original::Same,
            Original::At(composed) => Original::At(composed.and_then(find)),
        }
    }

    fn is(self, raw: &str) -> bool {
        match self {
            Original::Same => true,
            Original::At(composed) => composed.is_some_and(|composed| composed.raw() == raw),
        }
    }
}

impl Walk<'_> {
    fn value(
        &mut self,
        (text, node): (&ByteString, &Node),
        original: Original<'_>,
        path: &Path,
        depth: usize,
    ) {
        let value = match &node.shape {
            Shape::Object(members) => RowValue::Object(members.len()),
            Shape::Array(items) => RowValue::Array(items.len()),
            Shape::Leaf(kind) => return self.leaf((text, node), *kind, original, path, depth),
        };
        self.push(path, depth, value);
        self.inside((text, node), original, path, depth);
    }

    /// The values in an object or an array.
    fn inside(
        &mut self,
        (text, node): (&ByteString, &Node),
        original: Original<'_>,
        path: &Path,
        depth: usize,
    ) {
        match &node.shape {
            Shape::Object(members) => {
                for (index, member) in members.iter().enumerate() {
                    let is_list = || self.request.base.is_list(&member.key);
                    if !(self.is_whole && depth == 0 && is_list()) {
                        let path = path.then(&*member.key);
                        let original = original.member(index, &member.key);
                        self.value((text, &member.value), original, &path, depth + 1);
                    }
                }
            }
            Shape::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    let original = original.item(index);
                    self.value((text, item), original, &path.then(index), depth + 1);
                }
            }
            Shape::Leaf(_) => {}
        }
    }

    fn leaf(
        &mut self,
        (text, node): (&ByteString, &Node),
        kind: LeafKind,
        original: Original<'_>,
        path: &Path,
        depth: usize,
    ) {
        let raw = text.get(node.span.clone()).unwrap_or_default();
        let opened = json_string::open(raw).filter(|_| kind == LeafKind::String);
        let leaf = Leaf {
            kind,
            json: text.slice_ref(raw),
            is_edited: !original.is(raw),
            holds_json: opened.is_some(),
        };
        self.push(path, depth, RowValue::Leaf(leaf));
        let Some((text, root)) = opened else {
            return;
        };
        let text = ByteString::from(text);
        let composed = match original {
            Original::At(Some(composed)) => json_string::open(composed.raw()),
            Original::Same | Original::At(None) => None,
        };
        let composed = composed
            .as_ref()
            .map(|(text, node)| Composed { text, node });
        let original = match original {
            Original::Same => Original::Same,
            Original::At(_) => Original::At(composed),
        };
        self.inside((&text, &root), original, path, depth);
    }

    fn push(&mut self, path: &Path, depth: usize, value: RowValue) {
        let section = self.request.base.sections.get(self.index);
        let Some(section) = section.map(|section| section.id.clone()) else {
            return;
        };
        let shown = self.path.as_ref().map(|section| section.join(path.steps()));
        let path = path.clone();
        self.rows.push(Row {
            target: Target { section, path },
            path: shown,
            depth,
            value,
        });
    }
}
