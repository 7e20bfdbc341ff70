//! Draws the list of chats, and the request of the selected one below it.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout};
use ratatui::style::{Modifier, Style};
use ratatui::text::Line;
use ratatui::widgets::Paragraph;

use super::state::{ChatList, Row, help_rows, label};
use crate::inspector::view;
use crate::ui::calls::fit;

/// The most chats that are listed at once; of more, those around the selected one.
const MAX_ROWS: usize = 6;

/// In windows of fewer rows only the selected chat is listed.
const MIN_ROWS_FOR_LIST: u16 = 20;

/// What is said as long as there is no chat.
const NO_CHAT: &str =
    "No chat is running. This waits for one: open `dunlin` in another terminal. q leaves.";

/// Draws everything.
pub fn draw(frame: &mut Frame<'_>, list: &mut ChatList) {
    let area = frame.area();
    let most = match area.height < MIN_ROWS_FOR_LIST {
        true => 1,
        false => MAX_ROWS,
    };
    let selected = list.selected().map(str::to_owned);
    let at = list
        .rows()
        .iter()
        .position(|row| Some(&row.chat) == selected.as_ref());
    let first = at.unwrap_or_default().saturating_sub(most - 1);
    let columns = usize::from(area.width);
    let mut lines = vec![Line::styled(
        fit(&heading(list), columns),
        Style::default().add_modifier(Modifier::BOLD),
    )];
    for (index, row) in list.rows().iter().enumerate().skip(first).take(most) {
        let text = fit(&row_text(row, Some(index) == at), columns);
        let style = match row.flash > 0 {
            true => Style::default().add_modifier(Modifier::REVERSED),
            false => Style::default(),
        };
        lines.push(Line::styled(text, style));
    }
    let height = u16::try_from(lines.len()).unwrap_or(1);
    let [top, rest] =
        Layout::vertical([Constraint::Length(height), Constraint::Min(0)]).areas(area);
    frame.render_widget(Paragraph::new(lines), top);
    let note = list.note().to_owned();
    let shows_keys = list.shows_keys();
    let is_empty = list.rows().is_empty();
    match list.shown() {
        Some((inspector, paused)) => {
            inspector.keys_act(shows_keys);
            view::draw_in(frame, rest, inspector, paused);
        }
        None => {
            let text = match is_empty {
                true => NO_CHAT.to_owned(),
                false => format!("No request yet. q leaves. {note}"),
            };
            let text = Paragraph::new(text).wrap(ratatui::widgets::Wrap { trim: true });
            frame.render_widget(text, rest);
        }
    }
    draw_help(frame, list);
}

/// Draws the help over everything, while it is shown.
fn draw_help(frame: &mut Frame<'_>, list: &mut ChatList) {
    let (area, styles) = (frame.area(), list.styles());
    if let Some(help) = &mut list.help {
        let rows: Vec<_> = help_rows().collect();
        help.draw(frame, area, styles, &rows);
    }
}

fn heading(list: &ChatList) -> String {
    let paused = list.rows().iter().filter(|row| row.is_paused).count();
    let follows = match list.follows() {
        true => "on",
        false => "off",
    };
    let keys = match list.shows_keys() {
        true => " · Ctrl-N Ctrl-P select · q leave · ? keys",
        false => "",
    };
    let chats = dunlin_chat::tokens::counted(list.rows().len(), "chat", "chats");
    format!(" {chats} · {paused} paused · f follow: {follows}{keys}")
}

fn row_text(row: &Row, is_selected: bool) -> String {
    let mark = match is_selected {
        true => "▸",
        false => " ",
    };
    let state = match (row.is_ended, row.is_paused, row.flash > 0) {
        (true, ..) => "ended",
        (_, true, true) => "⏸ PAUSED new",
        (_, true, false) => "⏸ PAUSED",
        _ => "",
    };
    let mode = dunlin_host::display::one_line(&row.mode);
    format!(
        "{mark} {state:12} {} · pause: {mode}",
        label(&row.conversation)
    )
}
