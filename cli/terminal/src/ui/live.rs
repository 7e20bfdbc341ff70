//! The end of the screen while a turn runs: the line of what goes on, and below it a row for each thing that runs beside it.
//!
//! It is drawn again in place, and whatever else is printed takes it away first. While somebody reads a line, the screen
//! is theirs: what other threads print meanwhile is held until the line has ended.

use std::thread;

use dunlin_chat::turn::CallView;
use dunlin_host::display::escape;

use super::calls::{self, fit};
use super::style::Label;
use super::{CLEAR_LINE, Screen, Ui, input_marks, rows_above_cursor, terminal};

impl Ui {
    /// Shows a row for each thing that runs beside the turn, below everything else, until there are others. They are escaped
    /// and fit the window. Nothing is shown where the cursor cannot be moved.
    pub fn show_rows(&self, rows: Vec<String>) {
        if self.quiet || !self.redraws {
            return;
        }
        let typed = self.typed_early();
        let mut screen = self.screen();
        if screen.live.rows == rows {
            return;
        }
        screen.live.rows = rows;
        if !screen.live.is_others() {
            self.draw(&mut screen, typed);
        }
    }

    /// Shows the line that is being typed below the rows, where there are any.
    pub(super) fn show_typed_early(&self) {
        let typed = self.typed_early();
        let mut screen = self.screen();
        if !screen.live.rows.is_empty() && !screen.live.is_others() {
            self.draw(&mut screen, typed);
        }
    }

    /// The line that is being typed, as a row.
    fn typed_early(&self) -> Option<String> {
        let line = self.early.lock().open_line()?;
        let room = terminal::size()
            .0
            .saturating_sub(input_marks::MESSAGE.len());
        let mark = self.styles.paint(Label::Prompt, input_marks::MESSAGE);
        Some(format!("{mark}{}", fit(&escape(&line), room)))
    }

    /// Draws what stays only until something else is printed: whole lines that fit the screen.
    pub(super) fn draw_live(&self, text: String) {
        let mut screen = self.screen();
        screen.waiting = None;
        screen.live.line = Some(text);
        if !screen.live.is_others() {
            self.draw(&mut screen, None);
        }
    }

    /// Draws it as it is now, in one piece: nothing flickers.
    pub(super) fn draw(&self, screen: &mut Screen, typed: Option<String>) {
        self.end_line(screen);
        let whole = screen.live.whole(typed);
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
    fn clear_drawn(&self, screen: &mut Screen) -> String {
        let Some(drawn) = screen.live.drawn.take() else {
            return String::new();
        };
        match rows_above_cursor(&drawn, terminal::size().0) {
            0 => CLEAR_LINE.to_owned(),
            above => format!("\r\x1b[{above}A\x1b[J"),
        }
    }

    /// From now on this thread reads a line.
    pub(super) fn begin_reading(&self) {
        self.screen().live.reader = Some(thread::current().id());
    }

    /// Nobody reads a line any more. What was held is printed, and the rows come back.
    pub(super) fn end_reading(&self) {
        let mut screen = self.screen();
        self.print_held(&mut screen);
        screen.live.reader = None;
        if !screen.live.rows.is_empty() || screen.live.line.is_some() {
            self.draw(&mut screen, None);
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
