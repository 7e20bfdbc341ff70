//! A reply as it streams: filtered, rendered where there is a terminal, guarded, printed.

use parking_lot::MutexGuard;

use super::guard::Guard;
use super::live_state::in_one_piece;
use super::markdown::Markdown;
use super::sink::Sink;
use super::stream::Filter;
use super::style::Label;
use super::wrap::{Rows, usually_visible};
use super::{Screen, Ui, backstop, terminal};

/// Where in a reply the screen is.
#[derive(Default)]
pub(super) struct ReplyState {
    filter: Filter,
    guard: Guard,
    /// What renders it; made with its first piece.
    markdown: Option<Markdown>,
    started: bool,
    /// Line ends that are printed only if more text follows: replies end with exactly one.
    held_newlines: usize,
    reasoning: bool,
}

impl Ui {
    /// Prints a line of status that has nothing to do with the reply: where that is in the middle of a line, it stands below
    /// the reply until the line has ended.
    pub fn interject(&self, text: &str) {
        let mut screen = self.screen();
        let reply = &screen.reply;
        if screen.mid_line && (reply.started || reply.markdown.is_some()) {
            if !self.quiet {
                screen.live.interjected.push(text.to_owned());
                self.draw_below(&mut screen);
            }
        } else {
            drop(screen);
            self.status(text);
        }
    }

    /// Has what was interjected printed behind the line of the reply that ends in this piece, if one does; what follows of
    /// the piece.
    fn interjections<'a>(&self, piece: &'a str) -> &'a str {
        let end = piece.find('\n').map(|at| at + 1);
        let Some((line, rest)) = end.and_then(|end| piece.split_at_checked(end)) else {
            return piece;
        };
        if self.screen().live.interjected.is_empty() {
            return piece;
        }
        self.reply_text(line);
        self.end_line(&mut self.screen());
        rest
    }

    /// Prints the next piece of a reply as it comes.
    pub fn reply_piece(&self, piece: &str) {
        self.reply_text(self.interjections(piece));
    }

    fn reply_text(&self, piece: &str) {
        let mut screen = self.screen();
        if screen.reply.reasoning {
            self.end_text(&mut screen);
        }
        let text = screen.reply.filter.piece(piece);
        if self.renders {
            return self.rendered(screen, &text, Markdown::new(self.styles));
        }
        let text = self.guarded(&mut screen, text);
        self.flow(&mut screen, &text, None);
    }

    /// Prints the next piece of what the model thinks, where more was asked for.
    pub fn reasoning_piece(&self, piece: &str) {
        if !self.verbose || self.quiet || !self.shows_steps() {
            return self.wait_for("thinking");
        }
        let mut screen = self.screen();
        let text = screen.reply.filter.piece(piece);
        screen.reply.reasoning = true;
        if self.renders && self.one_screen {
            return self.rendered(screen, &text, Markdown::without_marks(self.styles));
        }
        let text = self.guarded(&mut screen, text);
        self.flow(&mut screen, &text, Some(Label::Quiet));
    }

    /// Ends the reply's last line.
    pub fn end_reply(&self) {
        let mut screen = self.screen();
        self.end_text(&mut screen);
        self.draw_below(&mut screen);
    }

    /// Prints what is held of a reply or of what the model thinks, and ends its last line.
    fn end_text(&self, screen: &mut Screen) {
        let columns = terminal::size().0;
        self.end_waiting(screen);
        if let Some(mut markdown) = screen.reply.markdown.take() {
            let text = markdown.end(columns);
            let text = screen.reply.guard.piece(&text, columns) + &screen.reply.guard.rest();
            self.put(screen, &text, Sink::Out);
        } else {
            let rest = screen.reply.guard.rest();
            let label = screen.reply.reasoning.then_some(Label::Quiet);
            self.flow(screen, &rest, label);
        }
        self.end_line(screen);
        screen.reply = ReplyState::default();
    }

    /// Renders a piece; `new` does it if none was rendered before.
    fn rendered(&self, mut screen: MutexGuard<'_, Screen>, text: &str, new: Markdown) {
        let columns = terminal::size().0;
        let reply = &mut screen.reply;
        let markdown = reply.markdown.get_or_insert(new);
        let text = markdown.piece(text, columns);
        let text = reply.guard.piece(&text, columns);
        let holds_table = markdown.holds_table();
        self.put(&mut screen, &text, Sink::Out);
        drop(screen);
        // Nothing else is held for long.
        if holds_table {
            self.wait_for("writing a table");
        }
    }

    /// On one screen with questions nothing may look like one.
    fn guarded(&self, screen: &mut Screen, text: String) -> String {
        if self.one_screen {
            screen.reply.guard.piece(&text, terminal::size().0)
        } else {
            text
        }
    }

    /// Prints text that may end anywhere, without the line ends at its very start and end.
    fn flow(&self, screen: &mut Screen, text: &str, label: Option<Label>) {
        let body = if screen.reply.started {
            text
        } else {
            text.trim_start_matches(['\n', ' '])
        };
        let visible = body.trim_end_matches('\n');
        let newlines = body.len() - visible.len();
        if visible.is_empty() {
            screen.reply.held_newlines += newlines;
            return;
        }
        let held = "\n".repeat(std::mem::replace(&mut screen.reply.held_newlines, newlines));
        let text = match label {
            Some(label) => held + &self.styles.paint(label, visible),
            None => held + visible,
        };
        screen.reply.started = true;
        let sink = if label.is_some() {
            self.status_sink()
        } else {
            Sink::Out
        };
        self.put(screen, &text, sink);
    }

    /// Prints text in which the cursor stays.
    fn put(&self, screen: &mut Screen, text: &str, sink: Sink) {
        if text.is_empty() {
            return;
        }
        screen.waiting = None;
        screen.live.line = None;
        let away = self.clear_drawn(screen);
        screen.mid_line = true;
        screen.column = match text.rsplit_once('\n') {
            Some((_, last)) => usually_visible(last),
            None => screen.column + usually_visible(text),
        };
        if !self.one_screen {
            self.write(screen, self.status_sink(), &away);
            return self.write(screen, sink, text);
        }
        let below = self.below_line(screen);
        self.write(
            screen,
            sink,
            &in_one_piece(&format!("{away}{text}"), &below),
        );
    }

    /// Ends the line of the reply in which the cursor is: something else is to be printed.
    pub(super) fn end_line(&self, screen: &mut Screen) {
        if !screen.mid_line {
            return;
        }
        if self.one_screen {
            self.take_live_away(screen);
        }
        (screen.mid_line, screen.column) = (false, 0);
        let reply = &mut screen.reply;
        reply.held_newlines = 0;
        reply.guard.interrupted();
        if let Some(markdown) = &mut reply.markdown {
            markdown.interrupted();
        }
        let sink = if reply.reasoning {
            self.status_sink()
        } else {
            Sink::Out
        };
        self.write(screen, sink, "\n");
        for text in std::mem::take(&mut screen.live.interjected) {
            let sink = self.status_sink();
            let rows = self.rows_of(sink, &text, Rows::Plain);
            self.write_rows(screen, sink, &format!("{}\n", backstop::harmless(&rows)));
        }
    }
}
