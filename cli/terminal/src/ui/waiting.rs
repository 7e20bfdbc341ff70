//! What goes on while nothing is to be seen: one calm line that says what is waited for and for how long.
//!
//! It comes only after a moment, so that what is quick never flickers, stands where the next text will, and is taken
//! away by whatever is printed next. Where the terminal cannot do that, or the output is read by something else,
//! there is no such line.

use std::convert::Infallible;
use std::time::{Duration, Instant};

use dunlin_host::display::escape;

use super::calls::fit;
use super::running_call::counted;
use super::style::Label;
use super::{Screen, Ui, terminal};

/// What is quicker than this is not waited for.
const DELAY: Duration = Duration::from_millis(400);

/// How long one picture stays.
const FRAME: Duration = Duration::from_millis(120);

const FRAMES: [char; 10] = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];

/// What is waited for.
#[derive(Debug)]
pub(super) struct Waiting {
    what: String,
    since: Instant,
    /// Whether the live line is this one's.
    is_drawn: bool,
}

impl Ui {
    /// Says what is waited for, until something is printed; what was waited for before does not matter any more. It
    /// is shown only while somebody runs [`Ui::animate`].
    pub fn wait_for(&self, what: &str) {
        if self.quiet || !self.redraws || !self.streams.output {
            return;
        }
        let what = escape(what);
        let mut screen = self.screen();
        match &mut screen.waiting {
            Some(waiting) if waiting.what == what => {}
            Some(waiting) => {
                waiting.what = what.into_owned();
                waiting.since = Instant::now();
            }
            none => {
                *none = Some(Waiting {
                    what: what.into_owned(),
                    since: Instant::now(),
                    is_drawn: false,
                });
            }
        }
        drop(screen);
        self.wait_begun.notify_one();
    }

    /// Keeps the line of what is waited for alive, and that of a call that runs. Never ends; to be polled beside what is
    /// waited for.
    pub async fn animate(&self) -> Infallible {
        loop {
            self.wait_begun.notified().await;
            tokio::time::sleep(DELAY).await;
            loop {
                if self.draw_waiting() {
                    tokio::time::sleep(FRAME).await;
                    continue;
                }
                let Some(next) = self.count_call() else {
                    break;
                };
                tokio::select! {
                    () = tokio::time::sleep(next) => {}
                    () = self.wait_begun.notified() => tokio::time::sleep(DELAY).await,
                }
            }
        }
    }

    /// Draws the next picture. `false`: nothing is waited for.
    pub(super) fn draw_waiting(&self) -> bool {
        let mut screen = self.screen();
        let live = &screen.live;
        let is_drawn = live.drawn.is_some() && !live.rows().is_empty();
        let has_other_line = is_drawn || live.is_others();
        let Some(waiting) = &mut screen.waiting else {
            return false;
        };
        let elapsed = waiting.since.elapsed();
        // Another line says what goes on.
        if has_other_line && !waiting.is_drawn || elapsed < DELAY {
            return true;
        }
        let is_first = !std::mem::replace(&mut waiting.is_drawn, true);
        let line = line(&waiting.what, elapsed, terminal::size().0);
        let text = self.status_styles.paint(Label::Quiet, &line);
        let columns = terminal::size().0;
        if !screen.live.typing.is_empty() {
            screen.live.line = Some(text);
            self.draw(&mut screen);
            return true;
        }
        let is_broken = |drawn: &String| super::rows_above_cursor(drawn, columns) > 0;
        if is_first {
            self.end_line(&mut screen);
            self.write_rows(&mut screen, self.status_sink(), &text);
        } else if screen.live.drawn.as_ref().is_some_and(is_broken) {
            // The window was made narrower.
            self.take_live_away(&mut screen);
            self.write_rows(&mut screen, self.status_sink(), &text);
        } else {
            // In one piece, and over what stands there: nothing flickers.
            let again = format!("\r{text}\x1b[K");
            self.write_rows(&mut screen, self.status_sink(), &again);
        }
        screen.live.line = Some(text.clone());
        screen.live.drawn = Some(text);
        true
    }

    /// Lets it be waited for longer than it was.
    #[cfg(test)]
    pub(super) fn wait_longer(&self, by: Duration) {
        if let Some(waiting) = &mut self.screen().waiting
            && let Some(earlier) = waiting.since.checked_sub(by)
        {
            waiting.since = earlier;
        }
    }

    /// Forgets what is waited for, and takes its line away.
    pub(super) fn end_waiting(&self, screen: &mut Screen) {
        if screen
            .waiting
            .take()
            .is_some_and(|waiting| waiting.is_drawn)
        {
            screen.live.line = None;
            self.take_live_away(screen);
        }
    }
}

fn line(what: &str, elapsed: Duration, columns: usize) -> String {
    let frame = elapsed.as_millis() / FRAME.as_millis();
    let frame = usize::try_from(frame).unwrap_or_default() % FRAMES.len();
    let picture = FRAMES.get(frame).copied().unwrap_or(' ');
    let time = counted(elapsed);
    let room = columns.saturating_sub(time.chars().count() + 5);
    format!("  {picture} {}{time}", fit(what, room))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_says_what_and_for_how_long() {
        let check = |millis, columns, expected: &str| {
            assert_eq!(
                line(
                    "waiting for a-model",
                    Duration::from_millis(millis),
                    columns
                ),
                expected
            );
        };
        check(400, 80, "  ⠸ waiting for a-model");
        check(3_000, 80, "  ⠴ waiting for a-model · 3 s");
        check(125_000, 80, "  ⠙ waiting for a-model · 2 min 5 s");
        check(3_000, 24, "  ⠴ waitin…-model · 3 s");
    }
}
