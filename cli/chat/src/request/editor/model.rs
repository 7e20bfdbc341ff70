//! A request with its edits, and what follows from them.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use bytestring::ByteString;

use super::document::{self, Node, Shape};
use super::edits::Edit;
use super::overlay::{Base, List, Overlay, apply, render, render_section};
use super::path::{Path, Step};
use super::sections::{Outline, Section, SectionId, SectionKind};

/// A request that is not sent yet, as composed, with the edits done to it and undone.
///
/// Sections are numbered from 1 in the order of the payload as composed. A section keeps its number when others are
/// deleted.
#[derive(Debug, Clone)]
pub struct EditableRequest {
    original: Bytes,
    pub(super) base: Arc<Base>,
    /// All edits in order; those from `done` on are undone.
    pub(super) history: Vec<Edit>,
    pub(super) done: usize,
    pub(super) overlay: Overlay,
    current: Bytes,
    /// For each section its place in the current body.
    places: Vec<Option<Range<usize>>>,
    /// For each section its index in its list as it would be sent.
    positions: Vec<Option<usize>>,
    revision: u64,
}

impl EditableRequest {
    /// A request with this body and no edits. The bytes are shared, not written anew.
    ///
    /// Where the outline does not fit the body, the request is one raw section. A body that is not JSON has no leaves
    /// and can only be sent as it is.
    pub fn new(body: Bytes, outline: Outline) -> EditableRequest {
        let text = ByteString::try_from(body.clone()).unwrap_or_default();
        let unreadable = Node {
            span: 0..text.len(),
            shape: Shape::Array(Box::default()),
        };
        let base = match document::parse(&text) {
            Some(root) => match lists(&root, &outline.sections) {
                Some(lists) if has_unique_ids(&outline) => Base::new(text, root, outline, lists),
                _ => Base::new(text, root, Outline::raw(), Vec::new()),
            },
            None => Base::new(text, unreadable, Outline::raw(), Vec::new()),
        };
        let mut request = EditableRequest {
            current: body.clone(),
            original: body,
            base: Arc::new(base),
            history: Vec::new(),
            done: 0,
            overlay: Overlay::default(),
            places: Vec::new(),
            positions: Vec::new(),
            revision: 0,
        };
        let (_, places) = render(&request.base, &request.overlay);
        request.moved(places);
        request
    }

    pub fn original(&self) -> &Bytes {
        &self.original
    }

    /// The body as it would be sent now. A clone shares the memory.
    pub fn bytes(&self) -> &Bytes {
        &self.current
    }

    /// The sections in the order of their numbers.
    pub fn sections(&self) -> &[Section] {
        &self.base.sections
    }

    /// What the dialect said of the body: with the original and the edits it makes the same request elsewhere.
    pub fn outline(&self) -> Outline {
        Outline {
            sections: self.base.sections.clone(),
            options: self.base.options.clone(),
        }
    }

    /// The section with this number, counted from 1.
    pub fn section(&self, number: usize) -> Option<&Section> {
        self.base.sections.get(number.checked_sub(1)?)
    }

    /// The number of the section with this id.
    pub fn number(&self, id: &SectionId) -> Option<usize> {
        self.base.by_id.get(id).map(|index| index + 1)
    }

    /// Where this section is in the body as it would be sent; `None`: it is deleted, or there is no such section.
    pub fn path(&self, number: usize) -> Option<Path> {
        let section = self.section(number)?;
        match section.path.steps() {
            [list, Step::Index(_)] => {
                let position = self.positions.get(number.checked_sub(1)?)?.as_ref()?;
                Some(Path::root().then(list.clone()).then(*position))
            }
            _ => Some(Path::root()),
        }
    }

    /// The section's text as it would be sent. Of the options and of a raw request it is the whole body. A deleted
    /// section has none.
    pub fn text(&self, number: usize) -> Option<&str> {
        let section = self.section(number)?;
        let bytes = match section.path.steps() {
            [] => self.current.as_ref(),
            _ => self.current.get(self.place(number)?)?,
        };
        std::str::from_utf8(bytes).ok()
    }

    /// The section's text with its edits, deleted or not.
    pub(super) fn text_of(&self, number: usize) -> Option<Cow<'_, str>> {
        match self.is_deleted(number) {
            true => {
                let index = number.checked_sub(1)?;
                render_section(&self.base, &self.overlay, index).map(Cow::Owned)
            }
            false => self.text(number).map(Cow::Borrowed),
        }
    }

    /// The same, sharing the memory of the current body where the section is in it.
    pub(super) fn shared_text(&self, number: usize) -> Option<ByteString> {
        let section = self.section(number)?;
        if self.is_deleted(number) {
            let index = number.checked_sub(1)?;
            return render_section(&self.base, &self.overlay, index).map(ByteString::from);
        }
        let bytes = match section.path.steps() {
            [] => self.current.clone(),
            _ => self.current.slice(self.place(number)?),
        };
        ByteString::try_from(bytes).ok()
    }

    /// Where the section is in the current bytes.
    pub(super) fn place(&self, number: usize) -> Option<Range<usize>> {
        self.places.get(number.checked_sub(1)?)?.clone()
    }

    /// The section at a place of a list as it would be sent, by its index.
    pub(super) fn section_at(&self, list: &List, position: usize) -> Option<usize> {
        let mut sections = list.sections.iter().copied();
        sections.find(|section| self.positions.get(*section) == Some(&Some(position)))
    }

    /// Whether this section is left out of what is sent.
    pub fn is_deleted(&self, number: usize) -> bool {
        let index = number.checked_sub(1);
        index.is_some_and(|index| self.overlay.deleted.contains(&index))
    }

    /// Whether a leaf of this section is other than composed.
    pub fn is_edited(&self, number: usize) -> bool {
        let index = number.checked_sub(1);
        index.is_some_and(|index| self.overlay.is_edited(&self.base, index))
    }

    /// Whether the body differs from the one composed.
    pub fn is_dirty(&self) -> bool {
        self.overlay != Overlay::default()
    }

    /// How many [`differences`](Self::differences) there are.
    pub fn difference_count(&self) -> usize {
        let overlay = &self.overlay;
        let options = overlay.added.len() + overlay.gone().count();
        overlay.leaves.len() + options + overlay.deleted.len()
    }

    /// The edits that are done, oldest first. With the original they give the current body.
    pub fn edits(&self) -> &[Edit] {
        self.history.get(..self.done).unwrap_or_default()
    }

    /// The edits that are undone and can be redone, the next one first.
    pub fn undone(&self) -> &[Edit] {
        self.history.get(self.done..).unwrap_or_default()
    }

    /// A number that grows with every edit, undo and redo. An edit that was made against an older one is outdated.
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// Makes the current body anew.
    pub(super) fn refresh(&mut self) {
        self.revision += 1;
        let (splices, places) = render(&self.base, &self.overlay);
        // The one before goes first: both together may be large.
        self.current = self.original.clone();
        if self.is_dirty() {
            self.current = Bytes::from(apply(&self.base.text, &splices));
        }
        self.moved(places);
    }

    fn moved(&mut self, places: Vec<Option<Range<usize>>>) {
        let mut positions = vec![None; places.len()];
        for list in &self.base.lists {
            let sent = list.sections.iter();
            let sent = sent.filter(|section| !self.overlay.deleted.contains(section));
            for (position, section) in sent.enumerate() {
                if let Some(slot) = positions.get_mut(*section) {
                    *slot = Some(position);
                }
            }
        }
        self.positions = positions;
        self.places = places;
    }
}

impl Base {
    fn new(text: ByteString, root: Node, outline: Outline, lists: Vec<List>) -> Base {
        let sections = outline.sections;
        let ids = sections.iter().enumerate();
        let by_id = ids.map(|(index, section)| (section.id.clone(), index));
        let mut base = Base {
            by_id: by_id.collect(),
            together: Vec::new(),
            options: outline.options,
            text,
            root,
            sections,
            lists,
        };
        base.together = together(&base);
        base
    }
}

fn has_unique_ids(outline: &Outline) -> bool {
    let ids: HashSet<&SectionId> = outline.sections.iter().map(|section| &section.id).collect();
    ids.len() == outline.sections.len()
}

/// The arrays that the sections are elements of. `None`: the sections are not what the body consists of.
fn lists(root: &Node, sections: &[Section]) -> Option<Vec<List>> {
    let mut lists: Vec<List> = Vec::new();
    let mut whole = 0;
    for (index, section) in sections.iter().enumerate() {
        match section.path.steps() {
            [] => whole += 1,
            [Step::Key(key), Step::Index(at)] => {
                if !lists.iter().any(|list| list.key == *key) {
                    let (key, sections) = (key.clone(), Vec::new());
                    lists.push(List { key, sections });
                }
                let list = lists.iter_mut().find(|list| list.key == *key)?;
                if *at != list.sections.len() {
                    return None;
                }
                list.sections.push(index);
            }
            _ => return None,
        }
    }
    for list in &lists {
        match &root.child(&Step::Key(Arc::clone(&list.key)))?.shape {
            Shape::Array(items) if items.len() == list.sections.len() => {}
            _ => return None,
        }
    }
    let is_whole_object = matches!(root.shape, Shape::Object(_)) || lists.is_empty();
    (whole == 1 && is_whole_object).then_some(lists)
}

/// For each section those that go with it: a call and its results are deleted and restored together.
fn together(base: &Base) -> Vec<Vec<usize>> {
    let mut together: Vec<Vec<usize>> = (0..base.sections.len()).map(|index| vec![index]).collect();
    let mut calls: HashMap<String, usize> = HashMap::new();
    let string = |node: &Node| document::decode(base.text.get(node.span.clone())?);
    for (index, section) in base.sections.iter().enumerate() {
        let Some(node) = base.node(index) else {
            continue;
        };
        match section.kind {
            SectionKind::Assistant => {
                let Some(Shape::Array(items)) =
                    node.child(&"tool_calls".into()).map(|node| &node.shape)
                else {
                    continue;
                };
                for item in items {
                    if let Some(id) = item.child(&"id".into()).and_then(string) {
                        calls.insert(id, index);
                    }
                }
            }
            SectionKind::ToolResult => {
                let id = node.child(&"tool_call_id".into()).and_then(string);
                let caller = id.and_then(|id| calls.get(&id).copied());
                if let Some(all) = caller.and_then(|caller| together.get_mut(caller)) {
                    all.push(index);
                }
            }
            _ => {}
        }
    }
    for index in 0..together.len() {
        let all = together.get(index).cloned().unwrap_or_default();
        if all.first() != Some(&index) {
            continue;
        }
        for member in all.iter().skip(1) {
            if let Some(slot) = together.get_mut(*member) {
                slot.clone_from(&all);
            }
        }
    }
    together
}
