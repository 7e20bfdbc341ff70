//! The line of a call, which is drawn again in place until the call ends.
//!
//! While it runs, the line counts the seconds from the first one on, so that a silent call does not look stuck, and says what
//! stops it. The line of a call that has ended says how long it took.

use std::time::{Duration, Instant};

use dunlin_chat::turn::{CallState, CallView};

use super::reply::ReplyState;
use super::running_call::RunningCall;
use super::tail::Tail;
use super::{Screen, Ui, calls};

/// What stops a call in the chat. Elsewhere no key is read, and Ctrl-C does what it does to every program.
const STOPPED_BY: &str = "Esc interrupts";

impl Ui {
    /// Shows where a call stands.
    pub fn call(&self, call: &CallView) {
        self.call_with_output(call, &Tail::default());
    }

    /// The same; below a call that has ended the last lines of its output stay.
    pub fn call_with_output(&self, call: &CallView, output: &Tail) {
        if self.quiet {
            return;
        }
        let columns = self.status_columns();
        let sink = self.status_sink();
        let mut screen = self.screen();
        if !call.state.is_settled() {
            if self.redraws {
                screen.reply = ReplyState::default();
                self.draw_call(&mut screen, call, String::new());
            }
            return;
        }
        screen.live.line = None;
        let running = screen.live.call.take().filter(|it| it.call.id == call.id);
        // Of one that was interrupted nobody else knows it.
        let counted = running.and_then(|running| running.counted());
        let call = &CallView {
            duration: call.duration.or(counted),
            ..call.clone()
        };
        let is_shown = self.shows_steps() || call.state != CallState::Completed;
        let text = is_shown.then(|| {
            let lines = calls::ended(call, self.status_styles, columns);
            let output = self.last_output(call, output, columns);
            format!("{lines}{output}\n")
        });
        if screen.live.is_others() {
            if let Some(text) = text {
                screen.live.hold(sink, text);
            }
            return;
        }
        self.end_line(&mut screen);
        screen.reply = ReplyState::default();
        screen.waiting = None;
        self.take_live_away(&mut screen);
        if let Some(text) = text {
            self.write_rows(&mut screen, sink, &text);
        }
        self.draw(&mut screen);
    }

    /// Draws a call that has not ended, and its newest output below it.
    pub(super) fn draw_call(&self, screen: &mut Screen, call: &CallView, output: String) {
        let before = screen.live.call.take();
        let before = before.filter(|it| it.call.id == call.id && it.call.state == call.state);
        let (since, asked) = match before {
            Some(before) => (before.since, before.asked),
            None => (Instant::now(), None),
        };
        let mut running = RunningCall {
            call: call.clone(),
            since,
            asked,
            output,
            drawn: String::new(),
        };
        running.drawn = self.text_of(&running);
        screen.waiting = None;
        screen.live.line = Some(running.drawn.clone());
        screen.live.call = Some(running);
        if !screen.live.is_others() {
            self.draw(screen);
        }
        self.wait_begun.notify_one();
    }

    /// Draws the call that runs as it is now, and returns when its line changes next. `None`: none runs.
    pub(super) fn count_call(&self) -> Option<Duration> {
        let mut screen = self.screen();
        let live = &screen.live;
        let running = live.call.as_ref();
        // As long as the user is asked, nothing changes.
        let counts = |it: &&RunningCall| it.call.state == CallState::Running && it.asked.is_none();
        let running = running.filter(counts)?;
        let of_second = Duration::from_nanos(running.ran().subsec_nanos().into());
        let next = Duration::from_secs(1).saturating_sub(of_second);
        // Another line may say what goes on, such as a question; when that is gone, this one comes back.
        let is_its = live.line.as_ref().is_none_or(|it| *it == running.drawn);
        let text = self.text_of(running);
        if is_its && !live.is_others() && live.line.as_ref() != Some(&text) {
            if let Some(running) = &mut screen.live.call {
                running.drawn.clone_from(&text);
            }
            screen.live.line = Some(text);
            self.draw(&mut screen);
        }
        Some(next)
    }

    /// The line of a call with its newest output, as they are now.
    fn text_of(&self, running: &RunningCall) -> String {
        let hint = self.one_screen.then_some(STOPPED_BY);
        let (styles, columns) = (self.status_styles, self.status_columns());
        let line = calls::running(&running.call, running.ran(), hint, styles, columns);
        line + &running.output
    }

    /// Lets the call that runs have begun earlier, and the question that it waits for, if there is one.
    #[cfg(test)]
    pub(super) fn run_longer(&self, by: Duration) {
        if let Some(running) = &mut self.screen().live.call {
            for then in std::iter::once(&mut running.since).chain(&mut running.asked) {
                *then = then.checked_sub(by).unwrap_or(*then);
            }
        }
    }
}
