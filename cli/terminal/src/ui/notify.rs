//! Tells the user through the terminal that Dunlin waits for them.

use std::time::Instant;

use super::Ui;
use super::idle::{Absence, Attention};
use super::sink::Sink;

/// Keeps the title that the window has, and gives it back (xterm's stack of titles).
const KEEP_TITLE: &str = "\x1b[22;0t";
const TITLE_BACK: &str = "\x1b[23;0t";

impl Ui {
    /// Tells the user from now on.
    pub fn call_for_attention(&self, attention: Attention) {
        if !self.one_screen || self.dumb {
            return;
        }
        let absence = Absence::new(attention, Instant::now());
        let has_title = absence.has_title();
        *self.absence.lock() = Some(absence);
        if has_title {
            self.write(&mut self.screen(), Sink::Out, KEEP_TITLE);
        }
    }

    /// Gives the window its title back.
    pub(super) fn end_attention(&self) {
        let absence = self.absence.lock().take();
        if absence.is_some_and(|it| it.has_title()) {
            self.write(&mut self.screen(), Sink::Out, TITLE_BACK);
        }
    }

    /// A line begins to be read.
    pub(super) fn waits_for_user(&self) {
        let mut absence = self.absence.lock();
        let sent = absence
            .as_mut()
            .map(|it| it.waits(Instant::now(), self.is_in_tmux));
        if let Some(sent) = sent.filter(|sent| !sent.is_empty()) {
            self.write(&mut self.screen(), Sink::Out, &sent);
        }
    }

    /// The user has typed a line, or something while nobody read one.
    pub(super) fn user_is_there(&self, ended_line: bool) {
        let mut absence = self.absence.lock();
        let Some(absence) = absence.as_mut() else {
            return;
        };
        absence.is_over(Instant::now());
        let title = absence.title("… ");
        if ended_line && !title.is_empty() {
            self.write(&mut self.screen(), Sink::Out, &title);
        }
    }
}
