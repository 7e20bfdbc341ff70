//! Reads a line that is ended once from another thread and is away until a key was pressed. Says when it is away, and what
//! came of it in the end.

use std::ffi::OsStr;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use dunlin_terminal::ui::line_paste::LinePaste;
use dunlin_terminal::ui::style::ColorChoice;
use dunlin_terminal::ui::wake::TypedSoFar;
use dunlin_terminal::ui::{Options, Ui};
use dunlin_terminal::variables::Variables;
use rustix::event::{PollFd, PollFlags, poll};
use rustyline::DefaultEditor;

/// Whoever ends a line tries again.
const AGAIN: Duration = Duration::from_millis(10);

/// A terminal of which nothing is known.
struct NoVariables;

impl Variables for NoVariables {
    fn get(&self, _: &str) -> Option<&OsStr> {
        None
    }

    fn shows_links(&self) -> bool {
        false
    }
}

fn main() -> ExitCode {
    let options = Options {
        color: ColorChoice::Never,
        quiet: false,
        verbose: false,
    };
    let ui = Arc::new(Ui::new(options, &NoVariables, true));
    let Ok(mut editor) = DefaultEditor::new() else {
        return ExitCode::FAILURE;
    };
    let is_away = Arc::new(AtomicBool::new(false));
    let waker = {
        let (ui, is_away) = (Arc::clone(&ui), Arc::clone(&is_away));
        thread::spawn(move || {
            while !is_away.load(Ordering::Relaxed) {
                ui.wake();
                thread::sleep(AGAIN);
            }
        })
    };
    let line = (&TypedSoFar::default(), &LinePaste::default());
    let mut is_first = true;
    let read = ui.read_message(&mut editor, "", line, |_| {
        if !std::mem::take(&mut is_first) && !is_away.swap(true, Ordering::Relaxed) {
            ui.status("the line is away");
            let stdin = std::io::stdin();
            let mut keys = [PollFd::new(&stdin, PollFlags::IN)];
            poll(&mut keys, None).ok()?;
        }
        Some("line> ".to_owned())
    });
    ui.status(&format!("read: {read:?}"));
    match waker.join() {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}
