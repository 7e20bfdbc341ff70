//! The inspector on a real terminal: the alternate screen, keys and mouse, and giving all of it back.
//!
//! The terminal is restored when [`Screen`] is dropped, also by a panic.

use std::io::{self, Stdout};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::event::{self, KeyEventKind, MouseButton, MouseEventKind};
use ratatui::layout::Position;
use ratatui_textarea::{Input, Key};
use rustix::process::Signal;
use signal_hook::SigId;
use signal_hook::flag;
use signal_hook::low_level::unregister;

use super::state::{Effect, Event, Inspector};
use super::view;
use crate::editor::EditorError;
use crate::request::paused::{Draft, Paused};
use crate::ui::answer::SILENCE;
use crate::ui::{Ui, alternate, stop};

/// How often a continued program looks whether it was stopped.
const SIGNALS: Duration = Duration::from_millis(250);

/// Whoever types longer than this does not look at the inspector.
const LONGEST_TYPING: Duration = Duration::from_secs(5);

/// How the inspector was left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Closed {
    /// The request is to be sent.
    Send,
    /// It is cancelled.
    Cancel,
    /// Neither: it stays paused.
    Closed,
}

/// Has a value edited in the user's editor; the new text, or why there is none. The terminal is in its usual mode
/// meanwhile.
pub type EditText<'a> = &'a dyn Fn(&Draft) -> Result<String, EditorError>;

/// Shows the inspector until it is left. Blocks; has the keyboard alone.
///
/// Keystrokes are discarded until the first frame is there, and again after an editor or a stop: they were meant for
/// something else. The row of keys is shown once they act.
///
/// # Errors
/// The terminal cannot be used. The request is as it was.
pub fn run(
    ui: &Ui,
    inspector: &mut Inspector,
    paused: &mut Paused,
    edit: EditText<'_>,
) -> io::Result<Closed> {
    ui.lend(|| {
        let mut screen = Screen::enter()?;
        loop {
            if std::mem::take(&mut screen.is_new) {
                inspector.keys_act(false);
                screen.draw(inspector, paused)?;
                if !drop_typed()? {
                    return Ok(Closed::Closed);
                }
                inspector.keys_act(true);
            }
            screen.draw(inspector, paused)?;
            let Some(event) = screen.next(inspector)? else {
                continue;
            };
            match inspector.handle(event, paused) {
                Effect::None => {}
                Effect::Send => return Ok(Closed::Send),
                Effect::Cancel => return Ok(Closed::Cancel),
                Effect::Close => return Ok(Closed::Closed),
                Effect::Copy(text, what) => {
                    inspector.say(&match ui.copy(&text) {
                        true => format!("On the clipboard: {what}."),
                        false => "This terminal does not accept clipboard data.".to_owned(),
                    });
                }
                Effect::EditOutside(target, draft) => {
                    let edited = screen.outside(|| edit(&draft))?;
                    match edited {
                        Ok(text) if text == draft.text => inspector.say("Nothing is changed."),
                        Ok(text) => inspector.set(&target, &text, paused),
                        Err(error) => inspector.say(&error.to_string()),
                    }
                }
            }
        }
    })
}

/// The alternate screen. Dropping it gives the terminal back.
struct Screen {
    terminal: Terminal<CrosstermBackend<Stdout>>,
    /// Whether nothing was drawn since it was entered.
    is_new: bool,
    /// Whether the program was stopped and goes on. The shell has the terminal in its own mode meanwhile.
    is_continued: Arc<AtomicBool>,
    continued: SigId,
}

impl Screen {
    fn enter() -> io::Result<Screen> {
        let is_continued = Arc::new(AtomicBool::new(false));
        let continued = flag::register(Signal::CONT.as_raw(), Arc::clone(&is_continued))?;
        let terminal = alternate::enter().and_then(|()| {
            let terminal = Terminal::new(CrosstermBackend::new(io::stdout()));
            terminal.inspect_err(|_| alternate::leave())
        });
        match terminal {
            Ok(terminal) => Ok(Screen {
                terminal,
                is_new: true,
                is_continued,
                continued,
            }),
            Err(error) => {
                unregister(continued);
                Err(error)
            }
        }
    }

    fn draw(&mut self, inspector: &mut Inspector, paused: &Paused) -> io::Result<()> {
        let drawn = self
            .terminal
            .draw(|frame| view::draw(frame, inspector, paused));
        drawn.map(drop)
    }

    /// Waits for something that the user does. `None`: draw again.
    fn next(&mut self, inspector: &mut Inspector) -> io::Result<Option<Event>> {
        while !event::poll(SIGNALS)? {
            if self.is_continued.swap(false, Ordering::Relaxed) {
                // It was stopped from outside, so the terminal is not in the inspector's mode.
                self.outside(|| ())?;
                return Ok(None);
            }
        }
        Ok(match event::read()? {
            event::Event::Key(key) if key.kind == KeyEventKind::Release => None,
            event::Event::Key(key) => {
                let input = Input::from(key);
                if is_suspend(&input) {
                    self.outside(stop::stop_and_wait)?.unwrap_or_else(|error| {
                        inspector.say(&format!("Dunlin cannot be suspended: {error}"));
                    });
                    return Ok(None);
                }
                Some(Event::Key(input))
            }
            event::Event::Paste(text) => Some(Event::Paste(text)),
            event::Event::Mouse(mouse) => {
                let at = Position {
                    x: mouse.column,
                    y: mouse.row,
                };
                match mouse.kind {
                    MouseEventKind::Down(MouseButton::Left) => Some(Event::Press(at)),
                    MouseEventKind::Drag(MouseButton::Left) => Some(Event::Drag(at)),
                    MouseEventKind::ScrollDown => Some(Event::Wheel { at, down: true }),
                    MouseEventKind::ScrollUp => Some(Event::Wheel { at, down: false }),
                    _ => None,
                }
            }
            event::Event::Resize(..) | event::Event::FocusGained | event::Event::FocusLost => None,
        })
    }

    /// Gives the terminal to something else, and takes it again.
    fn outside<T>(&mut self, work: impl FnOnce() -> T) -> io::Result<T> {
        alternate::end_reports();
        alternate::leave();
        let done = work();
        alternate::enter()?;
        // Clearing the old one would ask the terminal for its cursor, and the answer would stand behind what was typed.
        self.terminal = Terminal::new(CrosstermBackend::new(io::stdout()))?;
        self.is_new = true;
        self.is_continued.store(false, Ordering::Relaxed);
        Ok(done)
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        unregister(self.continued);
        alternate::end_reports();
        alternate::leave();
    }
}

/// Reads away what was typed until now. From then on changes of the window's size are noticed, too.
///
/// It takes a moment without any input until keys act, as where a line answers a question: the rest of what is being typed is
/// meant for something else. `false`: somebody types without end.
fn drop_typed() -> io::Result<bool> {
    let deadline = Instant::now() + LONGEST_TYPING;
    while event::poll(SILENCE)? {
        event::read()?;
        if Instant::now() > deadline {
            return Ok(false);
        }
    }
    Ok(true)
}

fn is_suspend(input: &Input) -> bool {
    input.key == Key::Char('z') && input.ctrl && !input.alt
}
