//! The sections of a request as rows.

use dunlin_chat::media::About;
use dunlin_chat::request::editor::{
    Counts, EditableRequest, Leaf, LeafKind, RowValue, SectionKind, Step,
};
use dunlin_host::display::{grouped, one_line, usual_width, width, width_of_char};

use crate::approval::look::{MARGIN, Window};
use crate::ui::calls::fit;
use crate::ui::style::Label;

/// The longest label, in columns, and the longest in a narrow window.
const LABEL_COLUMNS: usize = 26;
const NARROW_LABEL_COLUMNS: usize = 14;

/// How wide the longest bar is.
const BAR_COLUMNS: usize = 10;

/// Windows that are narrower show no bars.
const MIN_COLUMNS_FOR_BARS: usize = 72;

/// Columns of a number of tokens.
const TOKEN_COLUMNS: usize = 9;

/// How much of a text is looked at for a preview, in characters.
const PREVIEW_CHARS: usize = 200;

/// Columns of the numbers, where none is longer.
const MIN_DIGITS: usize = 3;

/// What one row stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Entry {
    Section(usize),
    /// From a section to another, both included.
    Folded(usize, usize),
}

impl Entry {
    /// How its sections are typed.
    fn numbers(&self) -> String {
        match self {
            Entry::Section(number) => number.to_string(),
            Entry::Folded(first, last) => format!("{first}-{last}"),
        }
    }
}

/// The sections in at most `most` rows, as far as that is possible, pins first: runs of sections that are old and as composed are one
/// row each. `most`: `None` folds nothing.
pub fn rows(
    request: &EditableRequest,
    counts: &Counts,
    tokens: impl Fn(u64) -> u64,
    (pins, most): (&[usize], Option<usize>),
    window: Window,
) -> Vec<String> {
    let mut entries = match most {
        Some(most) => folded(request, pins, most),
        None => (1..=request.sections().len()).map(Entry::Section).collect(),
    };
    // Each pin has an entry of its own.
    let place = |entry: &Entry| match entry {
        Entry::Section(number) => pins.iter().position(|pin| pin == number),
        Entry::Folded(..) => None,
    };
    entries.sort_by_key(|entry| place(entry).unwrap_or(pins.len()));
    Lister::new(request, counts, &tokens, (pins, window)).rows(&entries)
}

/// These sections, a row for each.
pub fn rows_of(
    numbers: &[usize],
    request: &EditableRequest,
    counts: &Counts,
    tokens: impl Fn(u64) -> u64,
    (pins, window): (&[usize], Window),
) -> Vec<String> {
    let entries = numbers.iter().copied().map(Entry::Section);
    let entries: Vec<Entry> = entries.collect();
    Lister::new(request, counts, &tokens, (pins, window)).rows(&entries)
}

/// Which sections have a row of their own: the system prompt, the options, what was changed, and of the others as many as
/// there is room for, the newest messages first.
fn folded(request: &EditableRequest, pins: &[usize], most: usize) -> Vec<Entry> {
    let count = request.sections().len();
    if count <= most {
        return (1..=count).map(Entry::Section).collect();
    }
    let sections = request.sections().iter().enumerate();
    let mut own: Vec<bool> = sections
        .map(|(index, section)| {
            let is_single = matches!(
                section.kind,
                SectionKind::System | SectionKind::Options | SectionKind::Raw
            );
            is_single
                || pins.contains(&(index + 1))
                || request.is_deleted(index + 1)
                || request.is_edited(index + 1)
        })
        .collect();
    let messages: Vec<usize> = request
        .sections()
        .iter()
        .enumerate()
        .filter(|(index, section)| section.kind.is_message() && own.get(*index) == Some(&false))
        .map(|(index, _)| index)
        .collect();
    // The last message is what the request is about, however little room there is.
    for (done, index) in messages.iter().rev().enumerate() {
        if let Some(slot) = own.get_mut(*index) {
            *slot = true;
        }
        if entries(request, &own).len() > most && done > 0 {
            if let Some(slot) = own.get_mut(*index) {
                *slot = false;
            }
            break;
        }
    }
    entries(request, &own)
}

/// Sections that have a row of their own, and runs of the others. A run does not mix messages and tools.
fn entries(request: &EditableRequest, own: &[bool]) -> Vec<Entry> {
    let mut entries: Vec<Entry> = Vec::new();
    let is_message = |number: usize| {
        let section = request.section(number);
        section.is_some_and(|section| section.kind.is_message())
    };
    for (index, own) in own.iter().enumerate() {
        let number = index + 1;
        match entries.last_mut() {
            _ if *own => entries.push(Entry::Section(number)),
            Some(Entry::Folded(first, last)) if is_message(*first) == is_message(number) => {
                *last = number;
            }
            _ => entries.push(Entry::Folded(number, number)),
        }
    }
    for entry in &mut entries {
        if let Entry::Folded(first, last) = entry
            && first == last
        {
            *entry = Entry::Section(*first);
        }
    }
    entries
}

struct Lister<'a> {
    request: &'a EditableRequest,
    counts: &'a Counts,
    tokens: &'a dyn Fn(u64) -> u64,
    total: u64,
    /// Columns of the numbers.
    digits: usize,
    pins: &'a [usize],
    window: Window,
}

impl<'a> Lister<'a> {
    fn new(
        request: &'a EditableRequest,
        counts: &'a Counts,
        tokens: &'a dyn Fn(u64) -> u64,
        (pins, window): (&'a [usize], Window),
    ) -> Lister<'a> {
        Lister {
            request,
            counts,
            tokens,
            total: counts.total().max(1),
            digits: MIN_DIGITS,
            pins,
            window,
        }
    }

    fn rows(mut self, entries: &[Entry]) -> Vec<String> {
        let digits = entries.iter().map(|entry| entry.numbers().len()).max();
        self.digits = digits.unwrap_or_default().max(MIN_DIGITS);
        entries.iter().map(|entry| self.row(entry)).collect()
    }

    fn row(&self, entry: &Entry) -> String {
        match *entry {
            Entry::Section(number) => self.section(number, entry),
            Entry::Folded(first, last) => self.run(first, last, entry),
        }
    }

    fn section(&self, number: usize, entry: &Entry) -> String {
        let request = self.request;
        let label = request
            .section(number)
            .map_or_else(String::new, |section| one_line(&section.label));
        let (mark, state, look) = match (request.is_deleted(number), request.is_edited(number)) {
            (true, _) => ("-", "deleted", Label::Removed),
            (false, true) => ("*", "edited", Label::Warning),
            (false, false) => (" ", "", Label::Name),
        };
        let count = self.counts.section(number);
        let share = match request.is_deleted(number) {
            true => 0,
            false => count,
        };
        let preview = preview(request, number);
        self.columns(
            mark,
            &entry.numbers(),
            &label,
            count,
            share,
            (&preview, state),
            look,
        )
    }

    fn run(&self, first: usize, last: usize, entry: &Entry) -> String {
        let is_message = self
            .request
            .section(first)
            .is_some_and(|section| section.kind.is_message());
        let noun = match is_message {
            true => "messages",
            false => "tools",
        };
        let label = format!("{} {noun}", last - first + 1);
        let count = (first..=last)
            .map(|number| self.counts.section(number))
            .sum();
        let numbers = entry.numbers();
        let preview = format!("show {numbers} lists them");
        self.columns(
            " ",
            &numbers,
            &label,
            count,
            count,
            (&preview, ""),
            Label::Quiet,
        )
    }

    #[expect(clippy::too_many_arguments, reason = "the columns of one row")]
    fn columns(
        &self,
        mark: &str,
        numbers: &str,
        label: &str,
        count: u64,
        share: u64,
        (preview, state): (&str, &str),
        look: Label,
    ) -> String {
        let styles = self.window.styles;
        let has_bars = self.window.columns >= MIN_COLUMNS_FOR_BARS;
        let label_columns = match has_bars {
            true => LABEL_COLUMNS,
            false => NARROW_LABEL_COLUMNS,
        };
        let digits = self.digits;
        let label = fit(label, label_columns);
        let padding = " ".repeat(label_columns.saturating_sub(usual_width(&label)));
        let tokens = grouped((self.tokens)(count));
        let pin = match numbers
            .parse()
            .is_ok_and(|number| self.pins.contains(&number))
        {
            true => "^",
            false => " ",
        };
        let head = format!("{MARGIN}{mark}{pin}{numbers:>digits$} ");
        let bar = match has_bars {
            true => format!("  {}", self.bar(share)),
            false => String::new(),
        };
        let rest = format!("{padding}{tokens:>TOKEN_COLUMNS$}{bar}");
        let state = match state.is_empty() {
            true => String::new(),
            false => format!("  {state}"),
        };
        let used = width(&head)
            + label_columns.max(width(&label))
            + tokens.len().max(TOKEN_COLUMNS)
            + usual_width(&bar)
            + width(&state)
            + 3;
        let preview = beginning(preview, self.window.columns.saturating_sub(used));
        let preview = match preview.is_empty() {
            true => String::new(),
            false => format!("  {}", styles.paint(Label::Quiet, &preview)),
        };
        let row = [
            head,
            styles.paint(look, &label),
            rest,
            preview,
            styles.paint(look, &state),
        ];
        row.concat().trim_end().to_owned()
    }

    fn bar(&self, share: u64) -> String {
        const FULL: &str = "▇";
        const LITTLE: &str = "▏";
        let filled = u128::from(share) * BAR_COLUMNS as u128 / u128::from(self.total);
        let filled = usize::try_from(filled)
            .unwrap_or(BAR_COLUMNS)
            .min(BAR_COLUMNS);
        let bar = match (filled, share) {
            (0, 0) => String::new(),
            (0, _) => LITTLE.to_owned(),
            _ => FULL.repeat(filled),
        };
        let padding = BAR_COLUMNS.saturating_sub(usual_width(&bar));
        format!("{bar}{}", " ".repeat(padding))
    }
}

/// As much of the beginning of a text as fits.
pub fn beginning(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let mut used = 1;
    let fits = |c: &char| {
        used += width_of_char(*c);
        used <= columns
    };
    let mut shown: String = text.chars().take_while(fits).collect();
    if columns > 0 {
        shown.push('…');
    }
    shown
}

/// The beginning of what a section says.
fn preview(request: &EditableRequest, number: usize) -> String {
    /// Where the text of a section is, the best place first.
    const TEXTS: [&str; 5] = ["content", "text", "description", "arguments", "thinking"];
    let rows = request.rows(number);
    let is_options = request
        .section(number)
        .is_some_and(|section| section.kind == SectionKind::Options);
    let leaf = |value: &RowValue| match value {
        RowValue::Leaf(leaf) => Some(leaf.clone()),
        _ => None,
    };
    if is_options {
        let options = rows.iter().filter_map(|row| {
            let leaf = leaf(&row.value)?;
            let Some(Step::Key(key)) = row.target.path.steps().last() else {
                return None;
            };
            Some(format!("{key} {}", leaf.text()))
        });
        return one_line(&options.collect::<Vec<String>>().join(" · "));
    }
    let place = |row: &dunlin_chat::request::editor::Row| {
        let Some(Step::Key(key)) = row.target.path.steps().last() else {
            return None;
        };
        TEXTS.iter().position(|text| **text == **key)
    };
    let texts = rows.iter().filter_map(|row| {
        let leaf = leaf(&row.value)?;
        let is_text = leaf.kind == LeafKind::String && leaf.json.len() > 2;
        Some((place(row)?, leaf)).filter(|(_, leaf)| is_text && leaf.media().is_none())
    });
    let media = rows.iter().filter_map(|row| leaf(&row.value)?.media());
    let media: Vec<About> = media.collect();
    let best = texts.min_by_key(|(place, _)| *place);
    let leaf = best.map(|(_, leaf)| leaf);
    let text = leaf.as_ref().map(Leaf::beginning).unwrap_or_default();
    let beginning: String = text.trim_start().chars().take(PREVIEW_CHARS).collect();
    let media = media.iter().map(|media| format!("[{media}]"));
    let media: Vec<String> = media.collect();
    let shown = [&media[..], &[beginning.replace(['\n', '\t'], " ")]].concat();
    one_line(shown.join(" ").trim_end())
}

#[cfg(test)]
mod tests {
    use dunlin_chat::request::editor::{Outline, SectionId};
    use dunlin_chat::request::measure::Measure;
    use serde_json::{Value, json};

    use super::*;
    use crate::ui::style::Styles;

    #[test]
    fn a_long_request_is_listed_in_one_screenful() {
        let message = |index: usize| match index % 2 {
            0 => json!({"role": "user", "content": format!("question {index}")}),
            _ => json!({"role": "assistant", "content": "answer"}),
        };
        let messages: Vec<Value> = (0..299).map(message).collect();
        let body = json!({"model": "small", "messages": messages});
        let origins: Vec<_> = (0..299).map(|it| SectionId::Message(it).into()).collect();
        let outline = Outline::of_chat(&body, &origins, Vec::new());
        let mut request = EditableRequest::new(body.to_string().into(), outline);
        request.set_text(101, "other").unwrap();
        let counts = Counts::of(&request, &Measure::default());
        let window = Window {
            columns: 80,
            rows: 24,
            styles: Styles::plain(),
        };
        let listed = rows(&request, &counts, |count| count, (&[], Some(16)), window);
        assert_eq!(listed.len(), 16);
        let begin = |row: usize| listed[row].split_whitespace().take(3).collect::<Vec<_>>();
        assert_eq!(begin(0), ["1-100", "100", "messages"]);
        assert_eq!(begin(1), ["*", "101", "user"]);
        assert_eq!(begin(2), ["102-287", "186", "messages"]);
        assert_eq!(begin(3), ["288", "assistant", "6"]);
        assert!(listed[2].contains("  show 102-287 "), "{}", listed[2]);
        // Numbers and tokens stand below each other.
        let ends: Vec<Option<usize>> = listed.iter().map(|row| row.find("  ▏")).collect();
        assert_eq!(ends[1], ends[3]);
        let unfolded = rows_of(&[101, 102], &request, &counts, |count| count, (&[], window));
        assert_eq!(unfolded.len(), 2);
        assert!(unfolded[0].ends_with("other  edited"), "{}", unfolded[0]);
    }
}
