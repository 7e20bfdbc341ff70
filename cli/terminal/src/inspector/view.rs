//! Draws the inspector into a frame.

use dunlin_chat::request::editor::SectionKind;
use dunlin_chat::tokens::counted;
use dunlin_host::display::{grouped, one_line, usual_width, usual_width_of_char};
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Paragraph};

use super::keymap::{self, Action};
use super::lines;
use super::list::Sections;
use super::palette::Palette;
use super::state::{Inspector, Mode, Pane};
use super::tabs::Tab;
use crate::request::list::beginning;
use crate::request::paused::Paused;
use crate::ui::calls::fit;
use crate::ui::style::Label;
use crate::ui::wrap;

/// From this width on both panes are side by side.
const MIN_COLUMNS_FOR_PANES: u16 = 72;

/// Narrower windows have no room to say what edits do not change.
const MIN_COLUMNS_TO_EXPLAIN: u16 = 100;

/// The smallest window that has room for anything.
const MIN_COLUMNS: u16 = 20;
const MIN_ROWS: u16 = 8;

/// The widest list of sections, and the narrowest beside a section.
const MAX_LIST_COLUMNS: u16 = 64;
const MIN_LIST_COLUMNS: u16 = 36;

/// Columns of the longest bar, and of the one of the context window.
const BAR_COLUMNS: usize = 6;
const WINDOW_BAR_COLUMNS: usize = 10;

/// Lists that are narrower show no bars.
const MIN_COLUMNS_FOR_BARS: usize = 44;

/// Columns of a section's kind.
const KIND_COLUMNS: usize = 9;

/// Rows of the longest note: a reason why a request cannot be sent, in a narrow window.
const MAX_NOTE_ROWS: usize = 4;

/// What stands between the parts of a row.
const SEPARATOR: &str = " · ";

/// Draws everything, and notes where it is.
pub fn draw(frame: &mut Frame<'_>, inspector: &mut Inspector, paused: &Paused) {
    draw_in(frame, frame.area(), inspector, paused, None);
    let (area, styles) = (frame.area(), inspector.styles());
    if let Some(help) = &mut inspector.on_top().help {
        help.draw(frame, area, styles);
    }
}

/// The same in a part of the screen, without the help. `chats`: how many chats are listed above it.
pub(super) fn draw_in(
    frame: &mut Frame<'_>,
    area: Rect,
    inspector: &mut Inspector,
    paused: &Paused,
    chats: Option<usize>,
) {
    inspector.has_room = area.width >= MIN_COLUMNS && area.height >= MIN_ROWS;
    if let Some(opened) = &mut inspector.opened {
        let (inspector, sent) = &mut **opened;
        draw_in(frame, area, inspector, sent, chats);
        return;
    }
    if !inspector.has_room {
        let text = Paragraph::new(match &inspector.entry {
            Some(_) => "This window is too small: enlarge it.",
            None => "This window is too small: q closes the inspector.",
        });
        frame.render_widget(text.wrap(ratatui::widgets::Wrap { trim: true }), area);
        return;
    }
    let notes = notes(inspector, usize::from(area.width));
    let [title, status, tabs, body, note, keys] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Length(1),
        Constraint::Length(1),
        Constraint::Min(1),
        Constraint::Length(u16::try_from(notes.len()).unwrap_or(1).max(1)),
        Constraint::Length(1),
    ])
    .areas(area);
    // What is selected stays visible above the text that is typed.
    let typed = entry_height(inspector, body);
    let [body, entry] =
        Layout::vertical([Constraint::Min(0), Constraint::Length(typed)]).areas(body);
    let palette = Palette(inspector.styles());
    frame.render_widget(title_line(inspector, paused, palette, title.width), title);
    frame.render_widget(
        status_line(&inspector.sections, paused, palette, status.width),
        status,
    );
    draw_tabs(frame, inspector, palette, tabs);
    let (list, detail) = panes(inspector, body);
    inspector.hides_list = list.width == 0;
    inspector.refresh(paused, usize::from(detail.width.saturating_sub(1)).max(1));
    inspector.areas.list = list;
    inspector.areas.detail = detail;
    draw_list(frame, inspector, paused, palette, list);
    draw_detail(frame, inspector, palette, detail);
    frame.render_widget(
        Paragraph::new(note_lines(&notes, inspector, paused, palette, note)),
        note,
    );
    let can_change = *inspector.mode() == Mode::Paused;
    let line = match (&inspector.entry, inspector.keys_act) {
        (_, false) => Line::default(),
        (Some(entry), _) => {
            Line::from(palette.span(Label::Key, format!(" {}", entry.keys(can_change))))
        }
        (None, _) => key_line(palette, keys.width, chats, |action| {
            can_change || !super::state::changes(action)
        }),
    };
    frame.render_widget(line, keys);
    draw_entry(frame, inspector, palette, entry);
}

/// Where the panes are. In a narrow window only the one that has the keys has room.
fn panes(inspector: &Inspector, body: Rect) -> (Rect, Rect) {
    let wants_all = inspector.tab != Tab::Request;
    if body.width < MIN_COLUMNS_FOR_PANES {
        return match inspector.pane {
            Pane::Sections if !wants_all => (body, Rect { width: 0, ..body }),
            _ => (Rect { width: 0, ..body }, body),
        };
    }
    let list = (body.width * 2 / 5).clamp(MIN_LIST_COLUMNS, MAX_LIST_COLUMNS);
    let [list, _, detail] = Layout::horizontal([
        Constraint::Length(list),
        Constraint::Length(1),
        Constraint::Min(1),
    ])
    .areas(body);
    (list, detail)
}

fn title_line(
    inspector: &Inspector,
    paused: &Paused,
    palette: Palette,
    columns: u16,
) -> Line<'static> {
    let what = match inspector.mode() {
        Mode::Paused => format!("⏸ PAUSED  {}", paused.title()),
        Mode::ReadOnly(why) => format!("READ ONLY  {}", one_line(why)),
    };
    let conversation = one_line(&inspector.sides().conversation);
    let conversation = conversation.split(SEPARATOR).filter(|it| !it.is_empty());
    let model = paused.model().map(|model| one_line(&model));
    let parts = std::iter::once(what.as_str()).chain(conversation);
    let time = paused.time().map(|time| {
        let here = |time: Timestamp| time.to_zoned(TimeZone::system());
        clock_time(&here(time), &here(Timestamp::now()))
    });
    let parts = parts.chain(model.as_deref()).chain(time.as_deref());
    let text = fields(parts, usize::from(columns));
    let padding = usize::from(columns).saturating_sub(usual_width(&text));
    let style = palette
        .style(Label::Warning)
        .add_modifier(Modifier::REVERSED | Modifier::BOLD);
    Line::styled(format!("{text}{}", " ".repeat(padding)), style)
}

/// When something was; the day only where it was not today.
fn clock_time(then: &Zoned, now: &Zoned) -> String {
    match then.date() == now.date() {
        true => then.strftime("%H:%M").to_string(),
        false => then.strftime("%Y-%m-%d %H:%M").to_string(),
    }
}

/// As many parts as fit into a row; what is cut out of the middle of several would read as something else.
fn fields<'a>(parts: impl Iterator<Item = &'a str>, columns: usize) -> String {
    let mut row = " ".to_owned();
    for (number, part) in parts.enumerate() {
        let separator = if number == 0 { "" } else { SEPARATOR };
        let used = usual_width(&row) + usual_width(separator);
        if number > 0 && used + usual_width(part) > columns {
            continue;
        }
        row.push_str(separator);
        row.push_str(&beginning(part, columns.saturating_sub(used)));
    }
    row
}

fn status_line(
    sections: &Sections,
    paused: &Paused,
    palette: Palette,
    columns: u16,
) -> Line<'static> {
    let request = paused.request();
    let mut total = paused.total();
    if let Some(window) = paused.window_tokens().filter(|window| *window > 0) {
        total.push(' ');
        total.push_str(&bar(paused.tokens(), window, WINDOW_BAR_COLUMNS));
    }
    let mut parts = vec![total];
    let all = counted(request.sections().len(), "section", "sections");
    parts.push(match sections.filter() {
        "" => all,
        filter => format!(
            "{} of {all}, with {}",
            sections.shown().len(),
            one_line(filter)
        ),
    });
    parts.extend(paused.pinned());
    if paused.edits() > 0 {
        let edits = counted(paused.edits(), "edit", "edits");
        parts.push(match columns >= MIN_COLUMNS_TO_EXPLAIN {
            true => format!("{edits} (the conversation is unchanged)"),
            false => edits,
        });
    }
    parts.extend(paused.kept());
    let text = fields(parts.iter().map(String::as_str), usize::from(columns));
    Line::from(palette.span(Label::Name, text))
}

fn draw_tabs(frame: &mut Frame<'_>, inspector: &mut Inspector, palette: Palette, area: Rect) {
    inspector.areas.tabs.clear();
    let mut spans = vec![Span::raw(" ")];
    let mut x = area.x + 1;
    for tab in Tab::ALL {
        let is_shown = tab == inspector.tab;
        let text = match is_shown {
            true => format!("[{}]", tab.title()),
            false => format!(" {} ", tab.title()),
        };
        let width = u16::try_from(text.len()).unwrap_or(u16::MAX);
        let place = Rect { x, width, ..area };
        inspector.areas.tabs.push((place.intersection(area), tab));
        x = x.saturating_add(width);
        spans.push(match is_shown {
            true => palette.span(Label::Key, text),
            false => palette.span(Label::Quiet, text),
        });
    }
    frame.render_widget(Line::from(spans), area);
}

fn draw_list(
    frame: &mut Frame<'_>,
    inspector: &mut Inspector,
    paused: &Paused,
    palette: Palette,
    area: Rect,
) {
    if area.is_empty() {
        return;
    }
    let count = inspector.sections.shown().len();
    inspector.list.scroll(usize::from(area.height), count);
    let cursor = inspector.list;
    let numbers = inspector.sections.shown().iter();
    let numbers = numbers.skip(cursor.top).take(usize::from(area.height));
    let numbers: Vec<usize> = numbers.copied().collect();
    let mut rows = Vec::new();
    for (offset, number) in numbers.into_iter().enumerate() {
        let is_selected = cursor.top + offset == cursor.at && inspector.selected() == number;
        let preview = inspector.preview(paused.request(), number).to_owned();
        let row = section_row(paused, number, &preview, palette, usize::from(area.width));
        rows.push(match is_selected {
            true => selected(row, inspector.focus() == Pane::Sections, area.width),
            false => row,
        });
    }
    frame.render_widget(Paragraph::new(rows), area);
}

/// The selected row: reversed where the keys go, otherwise marked only.
fn selected(row: Line<'static>, has_keys: bool, columns: u16) -> Line<'static> {
    let style = match has_keys {
        true => Modifier::REVERSED,
        false => Modifier::UNDERLINED,
    };
    let padding = usize::from(columns).saturating_sub(row.width());
    let mut row = row;
    row.push_span(Span::raw(" ".repeat(padding)));
    row.patch_style(Style::default().add_modifier(style))
}

fn section_row(
    paused: &Paused,
    number: usize,
    preview: &str,
    palette: Palette,
    columns: usize,
) -> Line<'static> {
    let request = paused.request();
    let Some(section) = request.section(number) else {
        return Line::default();
    };
    let (mark, look) = match (request.is_deleted(number), request.is_edited(number)) {
        (true, _) => ("-", Label::Removed),
        (false, true) => ("*", Label::Warning),
        (false, false) => (" ", Label::Name),
    };
    let pin = match paused.pins().has(&section.id) {
        true => "^",
        false => " ",
    };
    let digits = request.sections().len().to_string().len();
    let tokens = paused.section_tokens(number);
    let share = match request.is_deleted(number) {
        true => 0,
        false => tokens,
    };
    let head = format!("{mark}{pin}{number:>digits$} ");
    let kind = kind(section.kind);
    let widest = grouped(paused.tokens()).len();
    let count = format!("{:>widest$} ", grouped(tokens));
    let bar = match columns >= MIN_COLUMNS_FOR_BARS {
        true => format!("{:BAR_COLUMNS$} ", bar(share, paused.tokens(), BAR_COLUMNS)),
        false => String::new(),
    };
    let state = match (request.is_deleted(number), request.is_edited(number)) {
        (true, _) => "deleted ",
        (false, true) => "edited ",
        (false, false) => "",
    };
    let kind_column = format!("{kind:KIND_COLUMNS$} ");
    let fixed: usize = [&head, &kind_column, &count, &bar]
        .map(|text| usual_width(text))
        .iter()
        .sum();
    let label = match section.kind {
        SectionKind::User | SectionKind::System | SectionKind::Assistant => preview,
        _ => "",
    };
    let label = match label.is_empty() {
        // The column before says `tool` already.
        true => one_line(section.label.strip_prefix(kind).unwrap_or(&section.label)),
        false => label.to_owned(),
    };
    let label = beginning(
        label.trim_start(),
        columns.saturating_sub(fixed + state.len()),
    );
    Line::from(vec![
        Span::styled(head, palette.style(look)),
        palette.span(Label::Quiet, kind_column),
        Span::raw(count),
        palette.span(Label::Quiet, bar),
        Span::styled(state, palette.style(look)),
        Span::raw(label),
    ])
}

fn kind(kind: SectionKind) -> &'static str {
    match kind {
        SectionKind::ToolResult => "result",
        SectionKind::ToolDefinition => "tool",
        kind => kind.name(),
    }
}

/// A bar of a share; a little one where there is anything.
fn bar(share: u64, total: u64, columns: usize) -> String {
    let filled = u128::from(share) * columns as u128 / u128::from(total.max(1));
    let filled = usize::try_from(filled).unwrap_or(columns).min(columns);
    match (filled, share) {
        (0, 0) => String::new(),
        (0, _) => "▏".to_owned(),
        _ => "▇".repeat(filled),
    }
}

fn draw_detail(frame: &mut Frame<'_>, inspector: &mut Inspector, palette: Palette, area: Rect) {
    if area.is_empty() {
        return;
    }
    let count = inspector.lines().len();
    inspector.detail.scroll(usize::from(area.height), count);
    let cursor = inspector.detail;
    let has_keys = inspector.focus() == Pane::Detail;
    let visible = cursor.top..cursor.top + usize::from(area.height);
    let rows = visible.filter_map(|at| {
        let row = row(&inspector.lines().get(at)?, &inspector.needle, palette);
        Some(match has_keys && at == cursor.at {
            true => selected(row, true, area.width),
            false => row,
        })
    });
    let rows: Vec<Line<'_>> = rows.collect();
    frame.render_widget(Paragraph::new(rows), area);
}

/// A row of the right pane, with the text that was searched marked.
fn row(line: &lines::Line, needle: &str, palette: Palette) -> Line<'static> {
    let mut spans = Vec::new();
    for (look, text) in &line.pieces {
        let style = palette.look(*look);
        let lower = text.to_lowercase();
        // Where lower case has another length, its places are not those of the text.
        let can_mark = !needle.is_empty() && lower.len() == text.len();
        let mut rest = text.as_str();
        let mut at = 0;
        while can_mark
            && let Some(found) = lower.get(at..).and_then(|lower| lower.find(needle))
            && let Some((before, found)) = rest.split_at_checked(found)
            && let Some((found, after)) = found.split_at_checked(needle.len())
        {
            at += before.len() + found.len();
            spans.push(Span::styled(before.to_owned(), style));
            spans.push(Span::styled(
                found.to_owned(),
                style.add_modifier(Modifier::REVERSED | Modifier::BOLD),
            ));
            rest = after;
        }
        spans.push(Span::styled(rest.to_owned(), style));
    }
    Line::from(spans)
}

/// What was said last, in at most [`MAX_NOTE_ROWS`] rows.
fn notes(inspector: &Inspector, columns: usize) -> Vec<String> {
    let Some(note) = &inspector.note else {
        return Vec::new();
    };
    let mut rows = wrap::rows(note, columns.saturating_sub(2));
    if rows.len() > MAX_NOTE_ROWS {
        rows.truncate(MAX_NOTE_ROWS);
        if let Some(last) = rows.last_mut() {
            last.push('…');
        }
    }
    rows
}

/// What was said last, or what the selected section is, or where the selected value is.
fn note_lines(
    notes: &[String],
    inspector: &Inspector,
    paused: &Paused,
    palette: Palette,
    area: Rect,
) -> Vec<Line<'static>> {
    let line = |label, text: &str| Line::from(palette.span(label, format!(" {text}")));
    let columns = usize::from(area.width).saturating_sub(2);
    match (notes, inspector.value()) {
        ([], _) if inspector.focus() == Pane::Sections => {
            let about = paused.about(inspector.selected()).unwrap_or_default();
            let parts = one_line(&about);
            let row = fields(parts.split(SEPARATOR), columns);
            vec![line(Label::Quiet, row.trim_start())]
        }
        ([], Some(row)) => {
            let path = match &row.path {
                Some(path) => path.to_string(),
                None => format!("{} (deleted)", row.target.path),
            };
            vec![line(Label::Quiet, &fit(&one_line(&path), columns))]
        }
        (notes, _) => notes
            .iter()
            .map(|note| line(Label::Warning, note))
            .collect(),
    }
}

/// The most important keys that act, as many as fit; `?` is always there.
pub(super) fn key_line(
    palette: Palette,
    columns: u16,
    chats: Option<usize>,
    acts: impl Fn(Action) -> bool,
) -> Line<'static> {
    let bindings = keymap::line(chats).filter(|binding| acts(binding.action));
    let mut bindings: Vec<_> = bindings
        .map(|binding| {
            let key = binding.keys.split(' ').next().unwrap_or_default();
            (key, binding.about)
        })
        .collect();
    let width = |bindings: &[(&str, &str)]| -> usize {
        bindings
            .iter()
            .map(|(key, about)| key.len() + about.len() + 4)
            .sum()
    };
    while width(&bindings) > usize::from(columns) && bindings.len() > 2 {
        bindings.remove(bindings.len() - 3);
    }
    let mut spans = vec![Span::raw(" ")];
    for (key, about) in bindings {
        spans.push(palette.span(Label::Key, key));
        spans.push(Span::raw(format!(" {about}   ")));
    }
    Line::from(spans)
}

/// How many rows the box takes in which a text is typed.
fn entry_height(inspector: &Inspector, body: Rect) -> u16 {
    let Some(entry) = &inspector.entry else {
        return 0;
    };
    let columns = usize::from(body.width.saturating_sub(2).max(1));
    let most = usize::from(body.height);
    let mut rows = 0;
    for line in entry.area().lines() {
        // A line may be as long as a file.
        let chars = line.chars().take(columns * most);
        rows += chars.map(usual_width_of_char).sum::<usize>() / columns + 1;
        if rows > most {
            break;
        }
    }
    let least = if entry.is_long() { 8 } else { 3 };
    let wanted = u16::try_from(rows + 2).unwrap_or(u16::MAX).max(least);
    // What is selected has one row beside a long text.
    match body.height {
        0..=3 => wanted.min(body.height),
        height => wanted.min(height - 1),
    }
}

fn draw_entry(frame: &mut Frame<'_>, inspector: &Inspector, palette: Palette, area: Rect) {
    let Some(entry) = &inspector.entry else {
        return;
    };
    let title = fit(entry.title(), usize::from(area.width.saturating_sub(4)));
    let block = Block::bordered()
        .title(format!(" {title} "))
        .border_style(palette.style(Label::Key));
    let inside = block.inner(area);
    frame.render_widget(block, area);
    frame.render_widget(entry.area(), inside);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_day_is_said_where_it_was_another_one() {
        let time = |text: &str| text.parse::<Zoned>().unwrap();
        let now = time("2026-03-01T00:10:00+01:00[Europe/Berlin]");
        let today = time("2026-03-01T00:05:59+01:00[Europe/Berlin]");
        assert_eq!(clock_time(&today, &now), "00:05");
        let yesterday = time("2026-02-28T23:59:00+01:00[Europe/Berlin]");
        assert_eq!(clock_time(&yesterday, &now), "2026-02-28 23:59");
    }

    #[test]
    fn a_part_that_does_not_fit_leaves_room_for_the_next() {
        let parts = ["request 3", "a-model-of-a-long-name", "14:05"];
        assert_eq!(fields(parts.into_iter(), 24), " request 3 · 14:05");
        assert_eq!(fields(parts.into_iter(), 12), " request 3");
    }
}
