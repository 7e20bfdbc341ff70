//! Messages that are typed while a turn runs: Enter queues them, and they are sent after the turn, one after the other.
//!
//! They are kept with what was typed early otherwise ([`super::keys`]), and only what was ended before the user's eyes is one:
//! a line that was ended while something else was asked had to be ended for the answer. It stands above the line that is being
//! typed until the user takes it back or the next prompt gives it back, and becomes no part of what is typed since.

use std::sync::atomic::Ordering;

use super::Ui;
use super::input_row::Typing;
use super::keys::{ActingKeys, EarlyLines};
use crate::approval::line::is_answer;

/// While it lives, what is typed is shown, and Enter queues it.
#[derive(Debug)]
pub struct QueuesMessages<'a>(&'a Ui);

impl Drop for QueuesMessages<'_> {
    fn drop(&mut self) {
        self.0.queues_messages.store(false, Ordering::Relaxed);
        let mut screen = self.0.screen();
        if !std::mem::take(&mut screen.live.typing).is_empty() {
            self.0.end_line(&mut screen);
            self.0.draw(&mut screen);
        }
    }
}

impl Ui {
    /// Shows what is typed below a status line, and has Enter queue it, in the chat and where the cursor can be moved. The
    /// status is escaped.
    pub fn queue_messages(&self, status: Option<String>) -> QueuesMessages<'_> {
        let queues = self.one_screen && self.redraws;
        self.queues_messages.store(queues, Ordering::Relaxed);
        if queues {
            self.screen().live.typing.status = status.filter(|_| !self.quiet);
            // Whoever listens takes in what was read together with the end of the last line.
            self.keyboard_free.notify_one();
        }
        self.show_typing();
        QueuesMessages(self)
    }

    /// Whether Enter queues what is typed.
    pub(super) fn queues_messages(&self) -> bool {
        self.queues_messages.load(Ordering::Relaxed)
    }

    /// Takes in what was typed: Enter queues it, and an arrow upwards takes back what was kept or queued last.
    pub(super) fn queue_typed(&self) {
        self.take_keys(|early, typed, commands| {
            if typed.is_empty() {
                return ActingKeys::default();
            }
            early.keep_ended();
            let acting = early.feed(typed);
            early.recall(&|lines| commands.is_none_or(|it| it.is_complete(lines)));
            early.queue_lines();
            acting
        });
    }

    /// Shows what is typed as it is now.
    pub(super) fn show_typing(&self) {
        if !self.queues_messages() {
            return;
        }
        let (queued, kept, line) = {
            let early = self.early.lock();
            (early.queued(), early.kept(), early.input())
        };
        let sent = self.sent_of(&queued);
        let mut screen = self.screen();
        let typing = Typing {
            status: screen.live.typing.status.clone(),
            queued,
            sent,
            kept,
            line,
        };
        let is_drawn = screen.live.drawn.is_some();
        if screen.live.typing != typing || !(is_drawn || typing.is_empty()) {
            screen.live.typing = typing;
            if !screen.live.is_others() {
                self.draw(&mut screen);
            }
        }
    }

    /// Sends what is queued and typed as soon as the turn is over, however it ends.
    pub fn send_typed(&self) {
        if self.queues_messages() && self.early.lock().queue_all() {
            self.sends_queue.store(true, Ordering::Relaxed);
        }
    }

    /// Whether what is queued is to be sent however the turn ended; says so once.
    pub fn takes_sending(&self) -> bool {
        self.sends_queue.swap(false, Ordering::Relaxed)
    }

    /// The next message that is queued; given once. Answers are dropped with a note: nothing was asked. A command is no
    /// message, and what comes after it is sent by nobody but the user.
    pub fn take_queued(&self, lines: &dyn EarlyLines) -> Option<String> {
        loop {
            let message = self.early.lock().take_message(lines)?;
            if !is_answer(&message) {
                return Some(message);
            }
            self.say_answers_nothing(&message);
        }
    }

    /// Sends nothing that is queued: it comes back with the next line.
    pub fn keep_queued(&self) {
        self.early.lock().unqueue();
    }
}
