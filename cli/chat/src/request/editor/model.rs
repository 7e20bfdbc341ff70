//! A request with its edits, and what follows from them.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use bytestring::ByteString;

use super::document::{self, Node, Shape};
use super::edits::Edit;
use super::overlay::{Base, Element, List, Overlay, apply, render, render_section};
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
    /// For each section that is an element of a list its path as it would be sent.
    paths: Vec<Option<Path>>,
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
            paths: Vec::new(),
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
            [] => Some(Path::root()),
            _ => self.paths.get(number.checked_sub(1)?)?.clone(),
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

    /// The section that is an element of a list and that a path as it would be sent leads to or into, by its index, and the
    /// rest of the path.
    pub(super) fn section_at<'a>(&self, path: &'a Path) -> Option<(usize, &'a [Step])> {
        let mut paths = self.paths.iter().enumerate();
        paths.find_map(|(section, at)| {
            let rest = path.steps().strip_prefix(at.as_ref()?.steps())?;
            Some((section, rest))
        })
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
        let mut paths = vec![None; places.len()];
        // The paths of the lists as they would be sent: each list comes before those in it.
        let lists = self.base.lists.iter();
        let mut of_lists: Vec<Path> = lists.map(|list| list.path.clone()).collect();
        for (number, list) in self.base.lists.iter().enumerate() {
            let around = of_lists.get(number).cloned().unwrap_or_default();
            let sent = list.elements.iter();
            let sent = sent.filter(|element| !self.overlay.leaves_out(&self.base, **element));
            for (position, element) in sent.enumerate() {
                let path = around.then(position);
                match *element {
                    Element::Section(section) => {
                        if let Some(slot) = paths.get_mut(section) {
                            *slot = Some(path);
                        }
                    }
                    Element::Around(inner) => {
                        // What follows the element's own place stays the same.
                        let own = self.base.lists.get(inner).map(|inner| &inner.path);
                        let rest = own.and_then(|own| own.steps().get(path.steps().len()..));
                        if let Some(slot) = of_lists.get_mut(inner) {
                            *slot = path.join(rest.unwrap_or_default());
                        }
                    }
                }
            }
        }
        self.paths = paths;
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
            [key, Step::Index(at)] => {
                let list = list_at(&mut lists, Path::root().then(key.clone()));
                push(&mut lists, list, *at, Element::Section(index))?;
            }
            [key, Step::Index(at), inner, Step::Index(inner_at)] => {
                let around = list_at(&mut lists, Path::root().then(key.clone()));
                let path = Path::root().then(key.clone()).then(*at).then(inner.clone());
                let list = list_at(&mut lists, path);
                if *inner_at == 0 {
                    push(&mut lists, around, *at, Element::Around(list))?;
                }
                push(&mut lists, list, *inner_at, Element::Section(index))?;
            }
            _ => return None,
        }
    }
    for list in &lists {
        match &root.find(&list.path)?.shape {
            Shape::Array(items) if items.len() == list.elements.len() => {}
            _ => return None,
        }
    }
    let is_whole_object = matches!(root.shape, Shape::Object(_)) || lists.is_empty();
    (whole == 1 && is_whole_object).then_some(lists)
}

/// The index of the list at a path, which is added if there is none.
fn list_at(lists: &mut Vec<List>, path: Path) -> usize {
    let known = lists.iter().rposition(|list| list.path == path);
    known.unwrap_or_else(|| {
        let elements = Vec::new();
        lists.push(List { path, elements });
        lists.len() - 1
    })
}

/// Adds the next element of a list. `None`: it is not the next one.
fn push(lists: &mut [List], list: usize, at: usize, element: Element) -> Option<()> {
    let elements = &mut lists.get_mut(list)?.elements;
    if at != elements.len() {
        return None;
    }
    elements.push(element);
    Some(())
}

/// For each section those that go with it: a call and its results are deleted and restored together, as are the sections of
/// one message.
fn together(base: &Base) -> Vec<Vec<usize>> {
    let mut together: Vec<Vec<usize>> = (0..base.sections.len()).map(|index| vec![index]).collect();
    let mut calls: HashMap<String, usize> = HashMap::new();
    let string = |node: &Node| document::decode(base.text.get(node.span.clone())?);
    // The first section of the message that the last section is of.
    let mut first = 0;
    for (index, section) in base.sections.iter().enumerate() {
        let Some(node) = base.node(index) else {
            continue;
        };
        match (&section.id, together.get_mut(first)) {
            (SectionId::Item(..), Some(all)) => all.push(index),
            _ => first = index,
        }
        match section.kind {
            SectionKind::Assistant => {
                // Either a call,
                if let Some(id) = node.child(&"call_id".into()).and_then(string) {
                    calls.insert(id, first);
                }
                // or its calls, or blocks of which only calls have an id.
                for list in ["tool_calls", "content"] {
                    let Some(Shape::Array(items)) =
                        node.child(&list.into()).map(|node| &node.shape)
                    else {
                        continue;
                    };
                    for item in items {
                        if let Some(id) = item.child(&"id".into()).and_then(string) {
                            calls.insert(id, first);
                        }
                    }
                }
            }
            SectionKind::ToolResult => {
                let fields = ["tool_call_id", "tool_use_id", "call_id"].into_iter();
                let mut ids = fields.filter_map(|field| node.child(&field.into()));
                let id = ids.next().and_then(string);
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
