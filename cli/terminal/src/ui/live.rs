//! The end of the screen while a turn runs: the line of what goes on, below it a row for each thing that runs beside it, and
//! last what the user types.
//!
//! It is drawn again in place, and whatever else is printed takes it away first. While somebody reads a line, the screen
//! is theirs: what other threads print meanwhile is held until the line has ended.

use std::borrow::Cow;
use std::thread;

use dunlin_chat::turn::CallView;

use super::calls;
use super::live_state::in_one_piece;
use super::sink::Sink;
use super::wrap::{self, Rows};
use super::{CLEAR_LINE, Screen, Ui, edge, rows_above_cursor, terminal};

/// Keeps the place and the looks of the cursor, and goes back there (DECSC, DECRC).
const SAVE_CURSOR: &str = "\x1b7";
const RESTORE_CURSOR: &str = "\x1b8";

/// How many lines that wait for the end of a line of the reply are shown below it: the last ones.
const MAX_INTERJECTED: usize = 3;

impl Ui {
    /// Shows a row for each thing that runs beside the turn, below everything else, until there are others. They are escaped
    /// and fit the window. Nothing is shown where the cursor cannot be moved.
    pub fn show_rows(&self, rows: Vec<String>) {
        if self.quiet || !self.redraws {
            return;
        }
        let mut screen = self.screen();
        if screen.live.rows == rows {
            return;
        }
        screen.live.rows = rows;
        if !screen.live.is_others() {
            self.draw(&mut screen);
        }
    }

    /// Draws what stands below the reply, as the window is now, if anything does.
    pub(super) fn draw_below(&self, screen: &mut Screen) {
        let live = &screen.live;
        let is_empty = live.typing.is_empty() && live.interjected.is_empty();
        if self.redraws && !is_empty && !live.is_others() {
            self.draw(screen);
        }
    }

    /// Draws what stays only until something else is printed: whole lines that fit the screen.
    pub(super) fn draw_live(&self, text: String) {
        let mut screen = self.screen();
        screen.waiting = None;
        screen.live.line = Some(text);
        if !screen.live.is_others() {
            self.draw(&mut screen);
        }
    }

    /// Draws it as it is now, in one piece: nothing flickers. A line of the reply goes on above it, unless there is a line of
    /// what goes on.
    pub(super) fn draw(&self, screen: &mut Screen) {
        if screen.mid_line && screen.live.line.is_none() && self.one_screen {
            let away = self.clear_drawn(screen);
            let below = self.below_line(screen);
            if !(away.is_empty() && below.is_empty()) {
                self.write(screen, Sink::Out, &in_one_piece(&away, &below));
            }
            return;
        }
        self.end_line(screen);
        let whole = self.whole(screen);
        if whole == screen.live.drawn {
            return;
        }
        let away = self.clear_drawn(screen);
        match whole {
            Some(whole) => {
                self.write_rows(screen, self.status_sink(), &format!("{away}{whole}"));
                screen.live.drawn = Some(whole);
            }
            None => self.write(screen, self.status_sink(), &away),
        }
    }

    /// All that stands at the end of the screen.
    fn whole(&self, screen: &Screen) -> Option<String> {
        let mut rows: Vec<Cow<'_, str>> = screen.live.rows().into_iter().map(Cow::from).collect();
        if screen.live.reader.is_none() {
            // The last column stays free: writing into it wraps on some terminals.
            let room = terminal::size().0.saturating_sub(1);
            let interjected = screen.live.interjected.iter().rev().take(MAX_INTERJECTED);
            let first = |text: &String| {
                let rows = wrap::lines(text, room, Rows::Plain);
                rows.lines().next().map(|row| row.to_owned().into())
            };
            rows.extend(interjected.rev().filter_map(first));
            let typing = &screen.live.typing;
            rows.extend(
                typing
                    .rows(terminal::size(), self.styles)
                    .into_iter()
                    .map(Cow::from),
            );
        }
        (!rows.is_empty()).then(|| rows.join("\n"))
    }

    /// What draws it below a line of the reply that goes on, and goes back there. Where that line is just full, the next
    /// piece of it draws.
    pub(super) fn below_line(&self, screen: &mut Screen) -> String {
        let live = &screen.live;
        if live.rows().is_empty() && live.interjected.is_empty() && live.typing.is_empty() {
            return String::new();
        }
        let window = terminal::size();
        let is_full = screen.column > 0 && screen.column.is_multiple_of(window.0);
        let Some(whole) = self.whole(screen).filter(|_| !is_full) else {
            return String::new();
        };
        // The rows are made first, so that the window does not scroll any more when the cursor is saved. A vertical tab
        // keeps its column.
        let rows = whole.split('\n').count();
        let room = format!("{}\x1b[{rows}A{SAVE_CURSOR}", "\x0b".repeat(rows));
        let drawn = format!("{room}\x1b[0m\n{}", edge::fitting(&whole, window.0));
        screen.live.below = Some(window);
        screen.live.drawn = Some(whole);
        drawn
    }

    /// Takes the line of what went on away for good, and what is drawn with it.
    pub(super) fn take_live_line_away(&self) {
        let mut screen = self.screen();
        self.end_waiting(&mut screen);
        screen.live.line = None;
        self.take_live_away(&mut screen);
    }

    /// Takes away what is drawn, until it is drawn again.
    pub(super) fn take_live_away(&self, screen: &mut Screen) {
        let away = self.clear_drawn(screen);
        if !away.is_empty() {
            self.write(screen, self.status_sink(), &away);
        }
    }

    /// What takes away what is drawn.
    pub(super) fn clear_drawn(&self, screen: &mut Screen) -> String {
        let below = screen.live.below.take();
        let Some(drawn) = screen.live.drawn.take() else {
            return String::new();
        };
        let window = terminal::size();
        let above = rows_above_cursor(&drawn, window.0);
        match below {
            Some(then) if then == window => format!("{RESTORE_CURSOR}\x1b[J"),
            // The terminal may have moved the lines.
            Some(_) => {
                let column = screen.column % window.0.max(1);
                format!("\r\x1b[{}A\x1b[{}G\x1b[J", above + 1, column + 1)
            }
            None if above == 0 => CLEAR_LINE.to_owned(),
            None => format!("\r\x1b[{above}A\x1b[J"),
        }
    }

    /// From now on this thread reads a line.
    pub(super) fn begin_reading(&self) {
        let live = &mut self.screen().live;
        live.reader = Some(thread::current().id());
        if let Some(call) = &mut live.call {
            call.pause();
        }
    }

    /// Nobody reads a line any more. What was held is printed, and the rows come back.
    pub(super) fn end_reading(&self) {
        let mut screen = self.screen();
        self.print_held(&mut screen);
        screen.live.reader = None;
        if let Some(call) = &mut screen.live.call {
            call.resume();
            self.wait_begun.notify_one();
        }
        let live = &screen.live;
        if !live.rows.is_empty() || live.line.is_some() || !live.typing.is_empty() {
            self.draw(&mut screen);
        }
    }

    /// Shows a call that has ended, and not in place of the line of what goes on: it is that of something beside it.
    pub fn ended_beside(&self, call: &CallView) {
        if !self.quiet {
            let lines = calls::ended(call, self.status_styles, self.status_columns());
            self.line(self.status_sink(), &lines);
        }
    }

    /// Prints what others have printed while this thread read a line.
    pub(super) fn print_held(&self, screen: &mut Screen) {
        for (sink, text) in std::mem::take(&mut screen.live.held) {
            self.end_line(screen);
            self.take_live_away(screen);
            self.write_rows(screen, sink, &text);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::record;

    #[test]
    fn rows_stand_below_everything_else() {
        let rows = |texts: &[&str]| texts.iter().map(|it| (*it).to_owned()).collect();
        let written = record(
            |ui| ui.redraws = true,
            |ui| {
                ui.show_rows(rows(&["one", "two"]));
                ui.show_rows(rows(&["one", "two"]));
                ui.status("said");
                ui.draw_live("line".to_owned());
                ui.take_live_line_away();
                ui.show_rows(rows(&["one"]));
                ui.show_rows(Vec::new());
            },
        );
        let expected = "[one\ntwo][\r\x1b[1A\x1b[J][said\n][one\ntwo][\r\x1b[1A\x1b[Jline\none\ntwo][\r\x1b[2A\x1b[J][one][<clear>]";
        assert_eq!(written, expected);
    }

    #[test]
    fn what_others_print_waits_for_the_line_that_is_read() {
        let written = record(
            |ui| ui.redraws = true,
            |ui| {
                ui.begin_reading();
                ui.status("of the reader");
                std::thread::scope(|scope| {
                    let other = || {
                        ui.status("of another");
                        ui.show_rows(vec!["row".to_owned()]);
                        ui.draw_live("line".to_owned());
                    };
                    scope.spawn(other).join().expect("it ends");
                });
                ui.status("of the reader again");
                ui.end_reading();
            },
        );
        let expected =
            "[of the reader\n][of the reader again\n][of another\n][line\nrow][\r\x1b[1A\x1b[J]";
        assert_eq!(written, expected);
    }
}
