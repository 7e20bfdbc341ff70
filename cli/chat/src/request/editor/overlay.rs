//! The body as composed, and what lies over it.
//!
//! [`Base`] is the original text with its sections and never changes. [`Overlay`] is what all edits together come to.
//! [`render`] makes the current body of both.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;

use bytestring::ByteString;

use super::document::{self, LeafKind, Member, Node, Shape};
use super::edits::Edit;
use super::items::INPUT;
use super::json_string::{self, Found};
use super::path::{Path, Step};
use super::sections::{KnownOption, Section, SectionId};

/// The body as composed.
#[derive(Debug, Clone)]
pub(super) struct Base {
    /// Shares its memory with the body as composed.
    pub(super) text: ByteString,
    pub(super) root: Node,
    pub(super) sections: Vec<Section>,
    pub(super) options: Vec<KnownOption>,
    pub(super) by_id: HashMap<SectionId, usize>,
    /// For each section those that are deleted and restored with it, itself included.
    pub(super) together: Vec<Vec<usize>>,
    /// The arrays that sections are elements of, each before those in it.
    pub(super) lists: Vec<List>,
}

/// An array of which each element is a section, or has a list of sections in it: an array at the top of the body, or one in
/// an element of that.
#[derive(Debug, Clone)]
pub(super) struct List {
    pub(super) path: Path,
    pub(super) elements: Vec<Element>,
}

/// An element of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Element {
    /// The section with this index.
    Section(usize),
    /// It stands around the list with this index, and is left out where all of that is.
    Around(usize),
}

impl Base {
    /// The value of a section as composed.
    pub(super) fn node(&self, section: usize) -> Option<&Node> {
        self.root.find(&self.sections.get(section)?.path)
    }

    /// The section with everything beside the lists, if there is one.
    pub(super) fn options_section(&self) -> Option<usize> {
        self.by_id.get(&SectionId::Options).copied()
    }

    /// Whether this key at the top is a list of sections, and so no part of the options.
    pub(super) fn is_list(&self, key: &str) -> bool {
        let is_it = |list: &List| matches!(list.path.steps(), [Step::Key(at)] if **at == *key);
        self.lists.iter().any(is_it)
    }

    /// Whether a path relative to a section leads out of it.
    fn leads_out(&self, section: usize, path: &Path) -> bool {
        let is_options = self.options_section() == Some(section);
        let first = path.steps().first();
        is_options && matches!(first, Some(Step::Key(key)) if self.is_list(key))
    }
}

/// What all edits that are done come to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Overlay {
    /// Leaves of the original with other texts.
    pub(super) leaves: BTreeMap<(usize, Path), String>,
    /// Options that the original has not, in the order in which they were added.
    pub(super) added: Vec<(Path, String)>,
    /// Options of the original that are left out. One of them may be among those that were added.
    pub(super) removed: BTreeSet<Path>,
    pub(super) deleted: BTreeSet<usize>,
}

impl Overlay {
    /// What these edits come to, one after the other.
    pub(super) fn of(base: &Base, edits: &[Edit]) -> Overlay {
        let mut overlay = Overlay::default();
        for edit in edits {
            overlay.apply(base, edit);
        }
        overlay
    }

    /// Adds one edit. It was checked when it was made.
    pub(super) fn apply(&mut self, base: &Base, edit: &Edit) {
        let indices = |ids: &[SectionId]| -> Vec<usize> {
            let ids = ids.iter();
            ids.filter_map(|id| base.by_id.get(id).copied()).collect()
        };
        match edit {
            Edit::Set { target, new, .. } => {
                if let Some(section) = base.by_id.get(&target.section) {
                    match new {
                        Some(new) => drop(self.set(base, *section, &target.path, new)),
                        None => self.remove(base, *section, &target.path),
                    }
                }
            }
            Edit::Delete { sections } => self.deleted.extend(indices(sections)),
            Edit::Restore { sections } => {
                for section in indices(sections) {
                    self.deleted.remove(&section);
                }
            }
            Edit::Reset => *self = Overlay::default(),
        }
    }

    fn set(&mut self, base: &Base, section: usize, path: &Path, new: &str) -> Option<()> {
        if base.options_section() == Some(section)
            && let Some((raw, inner)) = self.added(path)
        {
            let text = json_string::set_within(raw, inner, new)?;
            let outer = path.steps().len() - inner.len();
            let outer = Path::root().join(path.steps().get(..outer)?);
            if self.take_back_removal(base, section, &outer, &text) {
                self.added.retain(|(added, _)| *added != outer);
                return Some(());
            }
            let mut added = self.added.iter_mut();
            added.find(|(added, _)| *added == outer)?.1 = text;
            return Some(());
        }
        let node = base.node(section)?;
        let (leaf, inner) = node.reach(path.steps());
        let is_options = base.options_section() == Some(section);
        if is_options {
            // Set as a whole, an object stands for all that was added in it.
            self.added
                .retain(|(added, _)| !added.steps().starts_with(path.steps()));
        }
        if is_options && self.is_removed(path) {
            if !self.take_back_removal(base, section, path, new) {
                self.added.push((path.clone(), new.to_owned()));
            }
            return Some(());
        }
        let kind = match leaf.shape {
            Shape::Leaf(kind) => Some(kind),
            Shape::Object(_) | Shape::Array(_) => None,
        };
        if is_options && inner.is_empty() && kind_of(new) != kind || kind.is_none() {
            // An option of another shape stands behind the others, as one that was added.
            if inner.is_empty() {
                self.remove(base, section, path);
            }
            self.added.push((path.clone(), new.to_owned()));
            return Some(());
        }
        let original = base.text.get(leaf.span.clone())?;
        let outer = path.steps().len() - inner.len();
        let key = (section, Path::root().join(path.steps().get(..outer)?));
        let current = self.leaves.get(&key).map_or(original, String::as_str);
        let text = json_string::set(current, inner, new)?;
        if text == original {
            self.leaves.remove(&key);
        } else {
            self.leaves.insert(key, text);
        }
        Some(())
    }

    /// Forgets that an option was removed, if this is what it was composed as. Whether it did.
    fn take_back_removal(&mut self, base: &Base, section: usize, path: &Path, new: &str) -> bool {
        let composed = base.node(section).and_then(|node| node.find(path));
        let composed = composed.and_then(|node| base.text.get(node.span.clone()));
        composed == Some(new) && self.removed.remove(path)
    }

    /// The options of the original that are left out and were not added again.
    pub(super) fn gone(&self) -> impl Iterator<Item = &Path> {
        let is_added = |path: &Path| self.added.iter().any(|(added, _)| added == path);
        self.removed.iter().filter(move |path| !is_added(path))
    }

    /// Leaves an option out, with all that is in it.
    fn remove(&mut self, base: &Base, section: usize, path: &Path) {
        let is_within = |other: &Path| other.steps().starts_with(path.steps());
        self.added.retain(|(added, _)| !is_within(added));
        self.leaves
            .retain(|(of, leaf), _| *of != section || !is_within(leaf));
        let is_composed = base.node(section).and_then(|node| node.find(path));
        if is_composed.is_some() && !self.is_removed(path) {
            self.removed.retain(|removed| !is_within(removed));
            self.removed.insert(path.clone());
        }
    }

    /// Whether an option of the original is left out, by itself or with the one that it is in.
    fn is_removed(&self, path: &Path) -> bool {
        let mut removed = self.removed.iter();
        removed.any(|removed| path.steps().starts_with(removed.steps()))
    }

    /// The added option that a path leads to or into, and the rest of the path.
    fn added<'a>(&self, path: &'a Path) -> Option<(&str, &'a [Step])> {
        let mut added = self.added.iter();
        added.find_map(|(added, raw)| {
            let inner = path.steps().strip_prefix(added.steps())?;
            Some((raw.as_str(), inner))
        })
    }

    /// The current value at a path relative to a section. The text of an object or array is the original one.
    pub(super) fn find<'a>(
        &'a self,
        base: &'a Base,
        section: usize,
        path: &Path,
    ) -> Option<Found<'a>> {
        if base.leads_out(section, path) {
            return None;
        }
        let node = base.node(section)?;
        let (value, inner) = node.reach(path.steps());
        let is_options = base.options_section() == Some(section);
        match value.shape {
            _ if is_options && self.is_removed(path) => self.find_added(path),
            Shape::Leaf(kind) => {
                let outer = path.steps().len() - inner.len();
                let key = (section, Path::root().join(path.steps().get(..outer)?));
                let raw = match self.leaves.get(&key) {
                    Some(raw) => raw,
                    None => base.text.get(value.span.clone())?,
                };
                json_string::find_in(raw, kind, inner)
            }
            _ if inner.is_empty() => json_string::find(&base.text, value, &[]),
            _ if is_options => self.find_added(path),
            _ => None,
        }
    }

    /// The value at a path to or into an option that was added.
    fn find_added(&self, path: &Path) -> Option<Found<'_>> {
        if let Some((raw, inner)) = self.added(path) {
            return json_string::find(raw, &document::parse(raw)?, inner);
        }
        // The object around one.
        let mut added = self.added.iter();
        let is_around = added.any(|(added, _)| added.steps().starts_with(path.steps()));
        is_around.then_some(Found {
            raw: Cow::Borrowed(""),
            kind: None,
        })
    }

    /// Whether an element of a list is left out.
    pub(super) fn leaves_out(&self, base: &Base, element: Element) -> bool {
        match element {
            Element::Section(section) => self.deleted.contains(&section),
            Element::Around(list) => base.lists.get(list).is_some_and(|list| {
                let mut elements = list.elements.iter();
                elements.all(|element| self.leaves_out(base, *element))
            }),
        }
    }

    /// Whether anything of a section is other than composed, deletion aside.
    pub(super) fn is_edited(&self, base: &Base, section: usize) -> bool {
        let from = (section, Path::root());
        let mut leaves = self.leaves.range(from..);
        let next = leaves.next().is_some_and(|((of, _), _)| *of == section);
        let has_other_options = !self.added.is_empty() || !self.removed.is_empty();
        next || (base.options_section() == Some(section) && has_other_options)
    }
}

/// What the text of a leaf is.
pub(super) fn kind_of(raw: &str) -> Option<LeafKind> {
    match raw.bytes().next()? {
        b'"' => Some(LeafKind::String),
        b't' | b'f' => Some(LeafKind::Boolean),
        b'n' => Some(LeafKind::Null),
        b'-' | b'0'..=b'9' => Some(LeafKind::Number),
        _ => None,
    }
}

/// A piece of the original that is replaced.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Splice {
    start: usize,
    end: usize,
    text: String,
}

/// What makes the current body of the original, for [`apply`], and in it the place of each section that is not deleted and
/// not the body itself.
pub(super) fn render(base: &Base, overlay: &Overlay) -> (Vec<Splice>, Vec<Option<Range<usize>>>) {
    let mut splices = Vec::new();
    for ((section, path), text) in &overlay.leaves {
        let leaf = base.node(*section).and_then(|node| node.find(path));
        if let Some(leaf) = leaf.filter(|_| !overlay.deleted.contains(section)) {
            let (start, end, text) = (leaf.span.start, leaf.span.end, text.clone());
            splices.push(Splice { start, end, text });
        }
    }
    let mut left_out = BTreeSet::new();
    for list in &base.lists {
        let Some(Shape::Array(items)) = base.root.find(&list.path).map(|node| &node.shape) else {
            continue;
        };
        let is_deleted = |element: &Element| overlay.leaves_out(base, *element);
        let key = match list.path.steps() {
            [Step::Key(key)] => Some(&**key),
            _ => None,
        };
        if list.elements.iter().all(is_deleted) {
            match key {
                // An empty list of tools or instructions is refused by some endpoints; no list means none everywhere.
                Some(key) if key != "messages" && key != INPUT => {
                    left_out.insert(key);
                    continue;
                }
                Some(_) => {}
                // The element around it is left out.
                None => continue,
            }
        }
        let deleted = list.elements.iter().map(is_deleted);
        let spans = items.iter().map(|item| item.span.clone());
        remove(spans.zip(deleted), &mut splices);
    }
    if let Shape::Object(members) = &base.root.shape {
        for member in members {
            let around = Path::root().then(&*member.key);
            if let Shape::Object(inner) = &member.value.shape
                && !overlay.removed.contains(&around)
            {
                let is_removed = |key: &str| overlay.removed.contains(&around.then(key));
                remove_members(inner, is_removed, &mut splices);
            }
        }
        let is_left_out =
            |key: &str| left_out.contains(key) || overlay.removed.contains(&Path::root().then(key));
        remove_members(members, is_left_out, &mut splices);
        let keeps_one = members.iter().any(|member| !is_left_out(&member.key));
        add(base, overlay, keeps_one, &mut splices);
    }
    splices.sort();
    let places = places(base, overlay, &splices);
    (splices, places)
}

/// Removes elements of a list with the commas that they leave over.
fn remove(elements: impl Iterator<Item = (Range<usize>, bool)>, splices: &mut Vec<Splice>) {
    let mut previous_end = None;
    let mut keeps_one = false;
    for (span, is_removed) in elements {
        let start = previous_end.unwrap_or(span.start);
        previous_end = Some(span.end);
        let end = match (is_removed, keeps_one) {
            (true, _) => span.end,
            // What separates it from a removed one before.
            (false, false) => span.start,
            (false, true) => continue,
        };
        keeps_one |= !is_removed;
        if start < end {
            let text = String::new();
            splices.push(Splice { start, end, text });
        }
    }
}

fn remove_members(
    members: &[Member],
    is_removed: impl Fn(&str) -> bool,
    splices: &mut Vec<Splice>,
) {
    let spans = members.iter().map(|member| {
        let span = member.start..member.value.span.end;
        (span, is_removed(&member.key))
    });
    remove(spans, splices);
}

/// Adds options behind those that the body has, and an object for them where it has none.
fn add(base: &Base, overlay: &Overlay, has_members: bool, splices: &mut Vec<Splice>) {
    let mut within: Vec<(&str, Vec<String>)> = Vec::new();
    let mut at_top = Vec::new();
    for (path, raw) in &overlay.added {
        let member = |key: &str| format!("{}:{raw}", document::encode(key));
        match path.steps() {
            [Step::Key(key)] => at_top.push(member(key)),
            [Step::Key(parent), Step::Key(key)] => {
                match within.iter_mut().find(|(within, _)| *within == &**parent) {
                    Some((_, members)) => members.push(member(key)),
                    None => within.push((parent, vec![member(key)])),
                }
            }
            _ => {}
        }
    }
    let mut insert = |node: &Node, has_members: bool, members: &[String]| {
        let Shape::Object(before) = &node.shape else {
            return;
        };
        let last = before.last().map(|member| member.value.span.end);
        let at = last.unwrap_or(node.span.start + 1);
        let comma = if has_members { "," } else { "" };
        splices.push(Splice {
            start: at,
            end: at,
            text: format!("{comma}{}", members.join(",")),
        });
    };
    for (parent, members) in within {
        let around = Path::root().then(parent);
        let node = base.root.find(&around);
        match node.filter(|_| !overlay.removed.contains(&around)) {
            Some(node) => {
                let is_kept = |key: &str| !overlay.removed.contains(&around.then(key));
                let keeps_one = matches!(&node.shape, Shape::Object(members) if members.iter().any(|it| is_kept(&it.key)));
                insert(node, keeps_one, &members);
            }
            None => at_top.push(format!(
                "{}:{{{}}}",
                document::encode(parent),
                members.join(",")
            )),
        }
    }
    if !at_top.is_empty() {
        insert(&base.root, has_members, &at_top);
    }
}

/// A text with pieces of it replaced, which are in order.
pub(super) fn apply(text: &str, splices: &[Splice]) -> String {
    let grows: usize = splices.iter().map(|splice| splice.text.len()).sum();
    let mut out = String::with_capacity(text.len() + grows);
    let mut at = 0;
    for splice in splices {
        out.push_str(text.get(at..splice.start).unwrap_or_default());
        out.push_str(&splice.text);
        at = splice.end;
    }
    out.push_str(text.get(at..).unwrap_or_default());
    out
}

/// The text of one section that is an element of a list, whether or not it is deleted.
pub(super) fn render_section(base: &Base, overlay: &Overlay, section: usize) -> Option<String> {
    let node = base.node(section)?;
    let from = (section, Path::root());
    let leaves = overlay.leaves.range(from..);
    let leaves = leaves.take_while(|((of, _), _)| *of == section);
    let mut splices: Vec<Splice> = leaves
        .filter_map(|((_, path), text)| {
            let span = &node.find(path)?.span;
            Some(Splice {
                start: span.start.checked_sub(node.span.start)?,
                end: span.end.checked_sub(node.span.start)?,
                text: text.clone(),
            })
        })
        .collect();
    splices.sort();
    Some(apply(base.text.get(node.span.clone())?, &splices))
}

fn places(base: &Base, overlay: &Overlay, splices: &[Splice]) -> Vec<Option<Range<usize>>> {
    // How far everything behind the first so many splices has moved: what was added, and what was taken away.
    let mut moved = vec![(0, 0)];
    let (mut added, mut removed) = (0, 0);
    for splice in splices {
        added += splice.text.len();
        removed += splice.end - splice.start;
        moved.push((added, removed));
    }
    let shift = |position: usize| {
        let before = splices.partition_point(|splice| splice.end <= position);
        let (added, removed) = moved.get(before).copied().unwrap_or_default();
        (position + added).saturating_sub(removed)
    };
    let mut places = vec![None; base.sections.len()];
    // Of a list that is left out all sections are deleted.
    for (section, place) in places.iter_mut().enumerate() {
        let is_element = base.sections.get(section);
        let is_element = is_element.is_some_and(|section| !section.path.steps().is_empty());
        if let Some(node) = base.node(section)
            && is_element
            && !overlay.deleted.contains(&section)
        {
            *place = Some(shift(node.span.start)..shift(node.span.end));
        }
    }
    places
}
