//! Draws the list of chats, and the request of the selected one below it.

use dunlin_host::display::one_line;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Clear, Paragraph, Wrap};

use super::row::{Row, label, name};
use super::state::{ChatList, MODES};
use super::subagents::Subagent;
use crate::inspector::keymap::Action;
use crate::inspector::palette::Palette;
use crate::inspector::view::{self, key_line};
use crate::ui::calls::fit;
use crate::ui::style::Label;

/// The most chats that are listed at once; of more, those around the selected one.
const MAX_ROWS: usize = 6;

/// In windows of fewer rows only the selected chat is listed.
const MIN_ROWS_FOR_LIST: u16 = 20;

/// In narrower windows a chat is listed without its agent and mode.
const MIN_COLUMNS_FOR_ALL: usize = 60;

/// What is said as long as there is no chat.
const NO_CHAT: &str = "No chat is running. This waits for one: open `dunlin` in another terminal.";

/// Draws everything.
pub fn draw(frame: &mut Frame<'_>, list: &mut ChatList) {
    let area = frame.area();
    let palette = Palette(list.styles());
    let lines = lines(list, palette, area);
    let height = u16::try_from(lines.len()).unwrap_or(1);
    let [top, rest] =
        Layout::vertical([Constraint::Length(height), Constraint::Min(0)]).areas(area);
    frame.render_widget(Paragraph::new(lines), top);
    let shows_keys = list.shows_keys();
    let text = without_request(list);
    let chats = Some(list.rows().len());
    match list.shown() {
        Some((inspector, paused)) => {
            inspector.keys_act(shows_keys);
            view::draw_in(frame, rest, inspector, paused, chats);
        }
        None => {
            let [rest, keys] =
                Layout::vertical([Constraint::Min(0), Constraint::Length(1)]).areas(rest);
            let text = Paragraph::new(text).wrap(Wrap { trim: true });
            frame.render_widget(text, rest);
            if shows_keys {
                let has_chat = list.selected().is_some();
                let line = key_line(palette, keys.width, chats, |action| acts(action, has_chat));
                frame.render_widget(line, keys);
            }
        }
    }
    if list.chooses() && area.height > 0 {
        let last = Rect {
            y: area.bottom() - 1,
            height: 1,
            ..area
        };
        frame.render_widget(Clear, last);
        frame.render_widget(choice(palette), last);
    }
    let styles = list.styles();
    if let Some(help) = &mut list.help {
        help.draw(frame, area, styles);
    }
}

/// Whether a key does something where no request is shown.
fn acts(action: Action, has_chat: bool) -> bool {
    match action {
        Action::Close | Action::Help => true,
        Action::NextChat | Action::PreviousChat | Action::Follow | Action::PauseMode => has_chat,
        _ => false,
    }
}

/// The heading, and a row for each chat.
fn lines(list: &ChatList, palette: Palette, area: Rect) -> Vec<Line<'static>> {
    let most = match area.height < MIN_ROWS_FOR_LIST {
        true => 1,
        false => MAX_ROWS,
    };
    let selected = list.selected();
    let mut rows = list.rows().iter();
    let at = rows.position(|row| Some(row.chat.as_str()) == selected);
    let first = at.unwrap_or_default().saturating_sub(most - 1);
    let columns = usize::from(area.width);
    let bold = Style::default().add_modifier(Modifier::BOLD);
    let mut heading = heading(list);
    let count = list.rows().len();
    if count > most {
        let last = count.min(first + most);
        heading += &format!(" · {}-{last} of {count} listed", first + 1);
    }
    let mut lines = vec![Line::styled(fit(&heading, columns), bold)];
    if let Some(problem) = list.problem().filter(|_| !list.rows().is_empty()) {
        let text = fit(&format!(" {problem}"), columns);
        lines.push(Line::from(palette.span(Label::Warning, text)));
    }
    for (index, row) in list.rows().iter().enumerate().skip(first).take(most) {
        let is_selected = Some(index) == at;
        let text = match &row.of {
            Some(of) => subagent_text(&of.subagent, is_selected, columns),
            None => row_text(row, is_selected, columns),
        };
        let is_over = row.ended.is_some() || row.of.as_ref().is_some_and(|of| of.is_over());
        let style = match (is_over, row.is_paused) {
            (true, _) => palette.style(Label::Quiet),
            (false, true) => palette.style(Label::Warning),
            (false, false) => Style::default(),
        };
        lines.push(Line::styled(
            text,
            match row.flash {
                Some(_) => style.add_modifier(Modifier::REVERSED),
                None => style,
            },
        ));
    }
    lines
}

/// What is said where there is no request to show.
fn without_request(list: &ChatList) -> String {
    let selected = list.selected();
    let mut rows = list.rows().iter();
    let row = rows.find(|row| Some(row.chat.as_str()) == selected);
    let text = match row.map(|row| (&row.ended, &row.last_event)) {
        None => list.problem().unwrap_or(NO_CHAT).to_owned(),
        Some((Some(ended), _)) => sentence(ended),
        Some((None, Some(event))) => sentence(event),
        Some((None, None)) if row.is_some_and(|row| row.of.is_some()) => {
            "This subagent has not sent a request yet, or its requests are not kept.".to_owned()
        }
        Some((None, None)) => {
            "No request yet. M chooses which requests this chat pauses.".to_owned()
        }
    };
    match list.note() {
        "" => text,
        note => format!("{text} {note}"),
    }
}

fn sentence(text: &str) -> String {
    let text = one_line(text);
    let mut chars = text.chars();
    let first = chars.next().map(|first| first.to_uppercase().to_string());
    format!("{}{}.", first.unwrap_or_default(), chars.as_str())
}

/// The keys that choose a mode of pausing.
fn choice(palette: Palette) -> Line<'static> {
    let mut spans = vec![Span::raw(" ")];
    for (key, mode) in MODES {
        spans.push(palette.span(Label::Key, key.to_string()));
        spans.push(Span::raw(format!(" {mode}  ")));
    }
    Line::from(spans)
}

fn heading(list: &ChatList) -> String {
    let paused = list.rows().iter().filter(|row| row.is_paused).count();
    let follows = match list.follows() {
        true => "on",
        false => "off",
    };
    let chats = list.rows().iter().filter(|row| row.of.is_none()).count();
    let chats = dunlin_chat::tokens::counted(chats, "chat", "chats");
    format!(" {chats} · {paused} paused · follow: {follows}")
}

fn mark(is_selected: bool) -> &'static str {
    match is_selected {
        true => "▸",
        false => " ",
    }
}

/// A subagent below its chat, as below a turn.
fn subagent_text(subagent: &Subagent, is_selected: bool, columns: usize) -> String {
    let start = format!("{}   ", mark(is_selected));
    let room = columns.saturating_sub(dunlin_host::display::width(&start));
    start + &subagent.row.parts(room).concat()
}

fn row_text(row: &Row, is_selected: bool, columns: usize) -> String {
    let mark = mark(is_selected);
    let state = match (&row.ended, row.is_paused, row.flash.is_some(), row.has_sent) {
        (Some(_), ..) => "ended",
        (None, true, true, _) => "⏸ PAUSED new",
        (None, true, false, _) => "⏸ PAUSED",
        (None, false, true, true) => "sent new",
        (None, false, true, false) => "new",
        (None, false, false, true) => "sent",
        (None, false, false, false) => "",
    };
    let is_narrow = columns < MIN_COLUMNS_FOR_ALL;
    let label = match (row.conversation.session.as_str(), is_narrow) {
        ("", _) => one_line(&row.chat),
        (_, true) => name(&row.conversation),
        (_, false) => label(&row.conversation),
    };
    let end = match (&row.ended, is_narrow) {
        (Some(why), _) => format!(" · {}", one_line(why)),
        (None, false) => format!(" · pause: {}", one_line(&row.mode)),
        (None, true) => String::new(),
    };
    let start = format!("{mark} {state:12} ");
    let room = columns.saturating_sub(dunlin_host::display::width(&start));
    format!("{start}{}", fit(&format!("{label}{end}"), room))
}
